"""Checkpoints: the evaluators of a run in one file, so that a run that is killed can go on."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from xmleval.base.errors import Keyword, Message
from xmleval.evaluation.evaluator import Evaluator
from xmleval.files.archive import write_archive
from xmleval.files.output import refuse_link, replacing
from xmleval.files.saved import CHECKPOINT, Saved, first_difference, load_state, meta_of, naming_damage

DRAFT = ".checkpoint.npz." + 16 * "[0-9a-f]"  # what a run was writing when it was killed
LEAST_SECONDS, SHARE = 1.0, 20  # saving takes at most one part in so many of the time
WRITING: ContextVar[contextlib.ExitStack | None] = ContextVar("writing", default=None)


@contextlib.contextmanager
def kept_until_written() -> Iterator[None]:
    """Keep checkpoints, and their folders locked, until the results are written within it."""
    with contextlib.ExitStack() as opened:
        opened.callback(WRITING.reset, WRITING.set(opened))
        yield


class Checkpoint:
    """A file in a folder that this process has locked.

    ``settings`` are what must be the same when the run goes on, as JSON values; those of ``evaluators``, too.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.path = folder / "checkpoint.npz"
        self.settings = json.loads(json.dumps(settings))
        self._saved_at, self._took = time.monotonic(), 0.0
        for draft in folder.glob(DRAFT):
            draft.unlink()

    def load(self, memory: int, threads: int | None) -> list[Evaluator]:
        """Return the evaluators; those of another run are refused."""
        refuse_link(self.path)
        meta, arrays = load_state(self.path, CHECKPOINT)
        with naming_damage(self.path, CHECKPOINT):
            saved, settings = meta["evaluators"], meta["settings"]
        if differs := first_difference(settings, self.settings, "settings", ("in the checkpoint", "now")):
            name, *difference = differs.partition(" ")
            where = f"{self.path.parent}: holds a checkpoint of another run; "
            raise ValueError(Message(where, Keyword(name), *difference))
        evaluators = []
        with naming_damage(self.path, CHECKPOINT):
            for place, counted in enumerate(saved):
                names = [name for name in arrays if name.startswith(f"{place}/")]
                arrays_of = {name.removeprefix(f"{place}/"): arrays.pop(name) for name in names}
                evaluators.append(Evaluator.from_saved(Saved(counted, arrays_of), memory, threads))
        return evaluators

    def save_sometimes(self, evaluators: Sequence[Evaluator]) -> None:
        """Save evaluators that have counted the same rows, if the last time is long enough ago."""
        start = time.monotonic()
        if start - self._saved_at < max(LEAST_SECONDS, SHARE * self._took):
            return
        with replacing(self.path, follow_links=False) as file:
            write_archive(file, self._arrays(evaluators))
        self._saved_at = time.monotonic()
        self._took = self._saved_at - start

    def _arrays(self, evaluators: Sequence[Evaluator]) -> Iterator[tuple[str, Any]]:
        """Yield what is saved, one evaluator after another, as their arrays may be copies."""
        saved: dict[str, Any] = {"settings": self.settings, "evaluators": []}
        for place, evaluator in enumerate(evaluators):
            meta, arrays = evaluator.as_saved()
            saved["evaluators"].append(meta)
            yield from ((f"{place}/{name}", array) for name, array in arrays.items())
        yield "meta", meta_of(saved, CHECKPOINT)
