"""Checkpoints: the evaluators of a run in one file, to resume a run that was killed."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from xmleval.base.errors import Keyword, Message
from xmleval.evaluation.evaluator import Evaluator, restore_evaluator, saved_of
from xmleval.files.archive import write_archive
from xmleval.files.output import refuse_link, replacing
from xmleval.files.saved import (
    CHECKPOINT,
    Saved,
    first_difference,
    load_state,
    meta_of,
    naming_damage,
)

DRAFT = ".checkpoint.npz." + 16 * "[0-9a-f]"  # an unfinished file of a run that was killed
LEAST_SECONDS = 1.0  # between two checkpoints
SHARE = 20  # saving takes at most one part in so many of the time
WRITING: ContextVar[contextlib.ExitStack | None] = ContextVar("writing", default=None)


@contextlib.contextmanager
def kept_until_written() -> Iterator[None]:
    """Keep checkpoints, and locks on their folders, until the results are written."""
    with contextlib.ExitStack() as opened:
        opened.callback(WRITING.reset, WRITING.set(opened))
        yield


class Checkpoint:
    """A file in a folder that this process has locked.

    ``settings`` must be the same when the run is resumed, and so must those of its evaluators; they
    are JSON values.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.path = folder / "checkpoint.npz"
        self.settings = json.loads(json.dumps(settings))
        self._saved_at = time.monotonic()
        self._took = 0.0
        for draft in folder.glob(DRAFT):
            draft.unlink()

    def load(self, memory: int, threads: int | None) -> list[Evaluator]:
        """Return the saved evaluators, or refuse a checkpoint of another run."""
        refuse_link(self.path)
        meta, arrays = load_state(self.path, CHECKPOINT)
        with naming_damage(self.path, CHECKPOINT):
            saved = meta["evaluators"]
            settings = meta["settings"]
        difference = first_difference(
            settings, self.settings, "settings", ("in the checkpoint", "now")
        )
        if difference:
            name, *values = difference.partition(" ")
            text = f"{self.path.parent}: contains a checkpoint of another run; "
            raise ValueError(Message(text, Keyword(name), *values))
        evaluators = []
        with naming_damage(self.path, CHECKPOINT):
            for place, evaluator_meta in enumerate(saved):
                prefix = f"{place}/"
                evaluator_arrays = dict[str, Any]()
                for name in [name for name in arrays if name.startswith(prefix)]:
                    evaluator_arrays[name.removeprefix(prefix)] = arrays.pop(name)
                state = Saved(evaluator_meta, evaluator_arrays)
                evaluators.append(restore_evaluator(state, memory, threads))
        return evaluators

    def save_sometimes(self, evaluators: Sequence[Evaluator]) -> None:
        """Save evaluators that have counted the same rows, if enough time has passed."""
        start = time.monotonic()
        if start - self._saved_at < max(LEAST_SECONDS, SHARE * self._took):
            return
        with replacing(self.path, follow_links=False) as file:
            write_archive(file, self._arrays(evaluators))
        self._saved_at = time.monotonic()
        self._took = self._saved_at - start

    def _arrays(self, evaluators: Sequence[Evaluator]) -> Iterator[tuple[str, Any]]:
        """Yield the contents of the file for one evaluator at a time: arrays may be copies."""
        saved: dict[str, Any] = {"settings": self.settings, "evaluators": []}
        for place, evaluator in enumerate(evaluators):
            meta, arrays = saved_of(evaluator)
            saved["evaluators"].append(meta)
            yield from ((f"{place}/{name}", array) for name, array in arrays.items())
        yield "meta", meta_of(saved, CHECKPOINT)
