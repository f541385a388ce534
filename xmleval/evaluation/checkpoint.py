"""Checkpoints: evaluators on their way through a stream, kept in a folder so that a killed run can go on.

Sorted scores are written once each, to files that never change; everything else is small and written anew
each time, under a name that was never used. A manifest names the files that belong together, with a sum of
each, and is replaced last. A lock keeps other processes away, and holds a token that is part of the names of
all files: those with it that no manifest names are left from a run that was killed, and removed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from xmleval.budget import UNLIMITED, Allowance
from xmleval.evaluator import Evaluator
from xmleval.files.archive import open_npy, write_chunks
from xmleval.files.folder_lock import Lock
from xmleval.files.input import InputFile, digest
from xmleval.files.output import replacing
from xmleval.files.saved import (
    CHECKPOINT,
    Saved,
    first_difference,
    load_state,
    naming_damage,
    save_state,
    whole,
)
from xmleval.message import Keyword, Message
from xmleval.records import Chunks

MANIFEST = "checkpoint.json"
LOCK = "checkpoint.lock"
PART = re.compile(r"checkpoint-[0-9a-f]{16}-\d+-\d+\.np[yz]")
LEAST_SECONDS, SHARE = 1.0, 20  # saving takes at most one part in so many of the time


class Checkpoint:
    """A folder that holds how far a stream was counted, made if it does not exist; `close` it.

    Files of others in it are left alone. ``settings`` are what must be the same when the run goes on, as
    plain JSON values.

    Raises
    ------
    ValueError
        If another process uses the folder.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.settings = json.loads(json.dumps(settings))
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        self._lock = Lock(folder / LOCK)
        self._prefix = f"checkpoint-{self._lock.token}-"
        self._generation = max(self._own_files().values(), default=0)
        self._written: dict[object, str] = {}  # the files of sorted scores, which never change
        self._sums: dict[str, str] = {}
        self._saved_at, self._took = time.monotonic(), 0.0

    def read(self) -> dict[str, Any] | None:
        """Return the manifest, None if there is none; refuse what is not one, or damaged."""
        path = self.folder / MANIFEST
        if not os.path.lexists(path):
            return None
        with naming_damage(path, CHECKPOINT):
            with InputFile(path).open() as file:
                held = json.loads(file.read())
            if held["format"] != CHECKPOINT.mark:
                raise KeyError("format")
            version = held["version"]
        if version != CHECKPOINT.version:
            raise ValueError(f"{path}: of version {version}; this program reads version {CHECKPOINT.version}")
        with naming_damage(path, CHECKPOINT):
            manifest: dict[str, Any] = held["manifest"]
            if held["sum"] != _sum_of(manifest):
                raise ValueError("checksum mismatch")
        return manifest

    def load(
        self, manifest: dict[str, Any], allowance: Allowance = UNLIMITED, **more: Any
    ) -> tuple[int, list[Evaluator]]:
        """Return how many rows were counted, and the evaluators; ``more`` are arguments of `Evaluator`.

        A checkpoint that is damaged, or of a run with other settings, is refused.
        """
        path = self.folder / MANIFEST
        with naming_damage(path, CHECKPOINT):
            rows, states, sums = _checked(manifest)
            settings = manifest["settings"]
        differs = first_difference(settings, self.settings, "settings", ("in the checkpoint", "now"))
        if differs:
            name, what, rest = differs.partition(" ")
            told = f"{self.folder}: holds a checkpoint of another run; "
            raise ValueError(Message(told, Keyword(name), what, rest))
        for name, wanted in sums.items():
            self._check(name, wanted)
        evaluators = []
        with naming_damage(path, CHECKPOINT):
            for name, runs in states:
                saved = load_state(self.folder / name, allowance=allowance)
                for key, file in runs.items():
                    saved.arrays[key] = open_npy(InputFile(self.folder / file)).chunks()
                evaluators.append(Evaluator.from_saved(saved, **more))
                if evaluators[-1].n_rows != rows:
                    raise ValueError(f"{name} is of other rows")
                arrays = evaluators[-1].as_saved().arrays
                spilled = {arrays[key].of: file for key, file in runs.items()}
                self._written |= {run: file for run, file in spilled.items() if run is not None}
            own = json.loads(json.dumps([evaluator.settings for evaluator in evaluators]))
            if own != self.settings["evaluators"]:
                raise ValueError("its states are of other evaluators")
        self._sums = dict(sums)
        self._remove_all_but(self._sums)
        return rows, evaluators

    def save_sometimes(self, rows: int, evaluators: Sequence[Evaluator]) -> None:
        """Save if the last time is long enough ago."""
        start = time.monotonic()
        if start - self._saved_at >= max(LEAST_SECONDS, SHARE * self._took):
            self.save(rows, evaluators)
            self._saved_at = time.monotonic()
            self._took = self._saved_at - start

    def save(self, rows: int, evaluators: Sequence[Evaluator]) -> None:
        """Save evaluators that have counted so many rows; on failure the previous checkpoint stays intact."""
        self._generation += 1
        sums: dict[str, str] = {}
        states: list[tuple[str, dict[str, str]]] = []
        written: dict[object, str] = {}
        for evaluator in evaluators:
            meta, arrays = evaluator.as_saved(spill=True)
            files: dict[str, str] = {}
            for key, array in arrays.items():
                if isinstance(array, Chunks):
                    files[key] = self._written.get(array.of) or self._write(sums, ".npy", array)
                    if array.of is not None:  # scores in memory may change until the next time
                        written[array.of] = files[key]
            small = Saved(meta, {key: array for key, array in arrays.items() if key not in files})
            states.append((self._write(sums, ".npz", small), files))
        kept = {file for _, files in states for file in files.values()}
        sums |= {name: found for name, found in self._sums.items() if name in kept}
        manifest = {"settings": self.settings, "rows": rows, "states": states, "sums": sums}
        held = {
            "format": CHECKPOINT.mark, "version": CHECKPOINT.version, "manifest": manifest,
            "sum": _sum_of(manifest),
        }  # fmt: skip
        draft = self.folder / f"{self._prefix}{self._generation}.json"
        with replacing(draft) as file:
            file.write(json.dumps(held).encode())
        os.replace(draft, self.folder / MANIFEST)
        self._sums, self._written = sums, written
        self._remove_all_but(sums)

    def remove(self) -> None:
        """Remove the checkpoint; without its manifest the other files are nothing."""
        (self.folder / MANIFEST).unlink(missing_ok=True)

    def close(self) -> None:
        """Leave the folder to others, as it was found if it holds no checkpoint."""
        if not os.path.lexists(self.folder / MANIFEST):
            self._remove_all_but([])
        if self._own_files():
            self._lock.release()
            return
        self._lock.remove()
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _write(self, sums: dict[str, str], ending: str, held: Chunks | Saved) -> str:
        """Write a file of this generation, note its sum, and return its name."""
        name = f"{self._prefix}{self._generation}-{len(sums)}{ending}"
        path = self.folder / name
        if isinstance(held, Saved):
            save_state(path, held)
        else:
            with replacing(path) as file:
                write_chunks(file, held)
        sums[name] = digest(path)
        return name

    def _check(self, name: str, wanted: str) -> None:
        path = self.folder / name
        with naming_damage(path, CHECKPOINT):
            found = digest(path)
        if found != wanted:
            raise ValueError(f"{path}: damaged, its sum is not that in {MANIFEST}; remove the checkpoint")

    def _own_files(self) -> dict[str, int]:
        """Return the files that this run, or those it goes on from, made, and their generations."""
        own = re.compile(rf"\.?{self._prefix}(\d+)[-.].*")
        found = (own.fullmatch(path.name) for path in self.folder.iterdir())
        return {name[0]: int(name[1]) for name in found if name}

    def _remove_all_but(self, kept: Collection[str]) -> None:
        """Remove files of checkpoints, but not those of the one that counts."""
        for name in {*self._own_files(), *self._sums}.difference(kept):
            (self.folder / name).unlink(missing_ok=True)


def _checked(manifest: dict[str, Any]) -> tuple[int, list[tuple[str, dict[str, str]]], dict[str, str]]:
    """Return the rows, the states with their files of sorted scores, and the sums of all files."""
    sums, states = manifest["sums"], [(name, runs) for name, runs in manifest["states"]]
    named = [file for name, runs in states for file in (name, *runs.values())]
    if not isinstance(sums, dict) or sorted(named) != sorted(sums) or not all(map(PART.fullmatch, named)):
        raise ValueError("its files are not those that it has sums of")
    return whole(manifest["rows"], "rows"), states, sums


def _sum_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
