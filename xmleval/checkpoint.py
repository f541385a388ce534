"""Checkpoints: evaluators on their way through a stream, kept in a folder so that a killed run can go on.

Sorted scores are written once each, to files that never change; everything else is small and written anew
each time. A manifest names the files that belong together, and is replaced last.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xmleval.archive import npy_chunks, write_chunks
from xmleval.arrays import Chunks
from xmleval.evaluator import Evaluator
from xmleval.store import Saved, first_difference, load_state, naming_damage, replacing, save_state

FORMAT, VERSION = "xmleval checkpoint", 1
MANIFEST = "manifest.json"
OURS = re.compile(r"manifest\.json|state-\d+-\d+\.npz|\d+-[a-z.]+\d+\.npy")
LEAST_SECONDS, SHARE = 1.0, 20  # saving takes at most one part in so many of the time


class Checkpoint:
    """A folder that holds how far a stream was counted.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    settings : dict
        What must be the same when the run goes on, as plain JSON values.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.settings = json.loads(json.dumps(settings))
        folder.mkdir(parents=True, exist_ok=True)
        self._saved_at, self._took = time.monotonic(), 0.0

    @property
    def found(self) -> bool:
        """Whether the folder holds a checkpoint."""
        return (self.folder / MANIFEST).exists()

    def load(self, **more: Any) -> tuple[int, list[Evaluator]]:
        """Return how many rows were counted, and the evaluators; ``more`` are arguments of `Evaluator`.

        Raises
        ------
        ValueError
            If the checkpoint is damaged, or of a run with other settings or inputs.
        """
        path = self.folder / MANIFEST
        with naming_damage(path):
            manifest = json.loads(path.read_text())
            if manifest["format"] != FORMAT or manifest["version"] != VERSION:
                raise ValueError("not a checkpoint of this version")
        differs = first_difference(manifest["settings"], self.settings, "checkpoint")
        if differs:
            raise ValueError(f"{self.folder}: {differs}")
        evaluators = []
        with naming_damage(path):
            for name, runs in manifest["states"]:
                saved = load_state(self.folder / name)
                for key, file in runs.items():
                    saved.arrays[key] = npy_chunks(self.folder / file)
                evaluators.append(Evaluator._restored(saved, **more))
        self._remove_all_but(manifest)
        return int(manifest["rows"]), evaluators

    def save_sometimes(self, rows: int, evaluators: Sequence[Evaluator]) -> None:
        """Save if the last time is long enough ago."""
        start = time.monotonic()
        if start - self._saved_at >= max(LEAST_SECONDS, SHARE * self._took):
            self.save(rows, evaluators)
            self._saved_at = time.monotonic()
            self._took = self._saved_at - start

    def save(self, rows: int, evaluators: Sequence[Evaluator]) -> None:
        """Save evaluators that have counted so many rows.

        Raises
        ------
        OSError
            If the folder cannot be written; the checkpoint before is then still whole.
        """
        states = []
        for number, evaluator in enumerate(evaluators):
            evaluator._spill_held()
            meta, arrays = evaluator._saved()
            runs = {key: array for key, array in arrays.items() if isinstance(array, Chunks)}
            files = {key: f"{number}-{key.removeprefix('runs/')}.npy" for key in runs}
            for key, run in runs.items():
                path = self.folder / files[key]
                if not path.exists():
                    with replacing(path) as file:
                        write_chunks(file, run)
            name = f"state-{rows}-{number}.npz"
            save_state(self.folder / name, Saved(meta, {k: a for k, a in arrays.items() if k not in runs}))
            states.append([name, files])
        manifest = {
            "format": FORMAT, "version": VERSION, "settings": self.settings, "rows": rows, "states": states
        }  # fmt: skip
        with replacing(self.folder / MANIFEST) as file:
            file.write(json.dumps(manifest).encode())
        self._remove_all_but(manifest)

    def remove(self) -> None:
        """Remove the checkpoint, and the folder if nothing else is in it."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / MANIFEST).unlink()  # first: without it the rest is nothing
        self._remove_all_but({"states": []})
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _remove_all_but(self, manifest: dict[str, Any]) -> None:
        """Remove files that an earlier checkpoint, or one that was not finished, has left."""
        kept = {MANIFEST} | {name for name, _ in manifest["states"]}
        kept |= {file for _, runs in manifest["states"] for file in runs.values()}
        for path in self.folder.iterdir():
            unfinished = re.fullmatch(r"\.(.+)\.[^.]+", path.name)
            if path.name not in kept and OURS.fullmatch(unfinished[1] if unfinished else path.name):
                path.unlink()
