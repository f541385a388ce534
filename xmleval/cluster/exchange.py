"""A folder, or one of object storage, through which parts go from process to process, and from run to run."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xmleval.cluster.job import Job, digest_of
from xmleval.files.output import locked
from xmleval.files.remote import RemotePath

PROPENSITY = "propensity.npy"
PART = re.compile(r"([0-9a-f]{32})\.npz")


@dataclass(frozen=True)
class Exchange:
    """A folder that all processes see, for the parts of one run: each is put whole under its key."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, keys: Sequence[str]) -> Exchange:
        """Return the place of the run that counts parts of these keys, in a folder that several may share."""
        return cls(folder.absolute() / digest_of([*keys]))

    def path(self, key: str) -> Path:
        """Return where the part of a key is."""
        return self.folder / f"{key}.npz"

    def with_propensity(self, job: Job) -> Job:
        """Return the job with its propensities in a file of the folder."""
        return job.with_file(self.folder / PROPENSITY)

    def keys(self) -> set[str]:
        """Return the keys of the parts that are there."""
        return {part[1] for name in self._names() if (part := PART.fullmatch(name))}

    def _names(self) -> list[str]:
        """Return the names of its files; object storage has no empty folders."""
        with contextlib.suppress(FileNotFoundError):
            return [path.name for path in self.folder.iterdir()]
        return []

    @contextlib.contextmanager
    def locked(self, resume: bool) -> Iterator[int]:
        """Use the folder for a run, and yield how many parts of it there are.

        At the end the parts are removed; after an error they are kept. Object storage has no locks: of two
        processes with the same run there, the one that ends last may miss parts, and then fails.

        Raises
        ------
        ValueError
            If there are parts, unless they are to be used, or another process uses them.
        """
        remote = isinstance(self.folder, RemotePath)
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.nullcontext() if remote else locked(self.folder):
            n_parts = len(self.keys())
            if n_parts and not resume:
                raise ValueError(f"{self.folder}: holds parts of this run; resume it, or remove them")
            yield n_parts
            for name in self._names():
                if PART.fullmatch(name) or name.startswith(".") or name == PROPENSITY:
                    (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a task that ran twice may put its part after the end
            self.folder.rmdir()
