"""Runs of the command line that are killed at chosen moments, each in a process of its own.

Called as ``python -m tests.cli.killed_runs COUNT...  -- WORDS...``: runs `xmleval WORDS...` once for each
COUNT, each time in a fork that is killed when it makes that call of those below, and once more to the end.
Before, it runs once without a checkpoint, so that the forks have what it loads.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from xmleval.cli import checkpoint, evaluation, main
from xmleval.evaluator import Evaluator
from xmleval.states.score_runs import ScoreRuns

MOMENTS = (
    *((os, name) for name in ("link", "replace", "fsync", "unlink")),
    (Evaluator, "update"),
    (ScoreRuns, "spill"),
)
evaluation.LEAST_MEMORY = 1


def kill_at(count: int) -> None:
    """Kill the process when it makes so many of the calls, before or after the call by turns."""
    made = [0]

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **more: Any) -> Any:
            made[0] += 1
            if made[0] == count and count % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            found = call(*arguments, **more)
            if made[0] == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return counted

    for owner, name in MOMENTS:
        setattr(owner, name, counting(getattr(owner, name)))


def run(words: list[str], count: int | None) -> int:
    """Return how a run ended: its exit code, or the signal that killed it, negative."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            if count is not None:
                kill_at(count)
            code = main(words)
            sys.stdout.flush()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    checkpoint.LEAST_SECONDS, checkpoint.SHARE = 0.0, 0  # after every piece
    cut = sys.argv.index("--")
    words = sys.argv[cut + 1 :]
    first = [word.replace("found", "first") for word in words[: words.index("--checkpoint")]]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(first) == 0
    ends = [run(words, int(count)) for count in sys.argv[1:cut]]
    ends.append(run(words, None))
    print(*ends, file=sys.stderr)
