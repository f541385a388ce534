"""Runs of the command line that are killed at chosen moments, each in a separate process.

`python -m tests.cli.killed_runs COUNT... -- WORDS...` runs `xmleval WORDS...` once for each COUNT,
in a fork that is killed at this call of the functions in MOMENTS, and once more to the end; it
prints how each run ended.
"""

import contextlib
import io
import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tests.commands import main
from tests.file_routes import saving_each_time
from xmleval import Evaluator
from xmleval.evaluation import files as evaluation
from xmleval.files.spill import SpillFile

MOMENTS: list[tuple[Any, str]] = [(os, name) for name in ("replace", "fsync", "unlink", "rmdir")]
MOMENTS += [(Evaluator, "update"), (SpillFile, "write")]


def kill_at(count: int) -> None:
    """Kill the process at this call of the functions: before odd ones, after even ones."""
    numbers = itertools.count(1)

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            is_last = next(numbers) == count
            if is_last and count % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **options)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

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
            with saving_each_time():
                code = main(words)
            sys.stdout.flush()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    evaluation.LEAST_MEMORY = 1
    cut = sys.argv.index("--")
    words = sys.argv[cut + 1 :]
    without = words[: words.index("--checkpoint")]
    with contextlib.redirect_stdout(io.StringIO()):  # so that the forks have what it loads
        assert main([word.replace("resumed", "first") for word in without]) == 0
    ends = [run(words, int(count)) for count in sys.argv[1:cut]]
    ends.append(run(words, None))
    print(*ends, file=sys.stderr)
