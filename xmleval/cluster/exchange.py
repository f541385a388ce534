"""A folder, or one of object storage, through which parts go from process to process, and from run to run."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmleval.cluster.job import Job, digest_of
from xmleval.files.input import InputFile
from xmleval.files.output import replacing

OWNER, MARK = "run.json", "xmleval run"
PROPENSITY = "propensity.npy"
PART = re.compile(r"([0-9a-f]{32})(-range[0-9]+)?\.npz")


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

    def keys(self) -> dict[str, int]:
        """Return the keys of the parts that are there, and how many ranges of each are in files beside it."""
        with contextlib.suppress(FileNotFoundError):
            names = self._parts()
            n_ranges = Counter(name[1] for name in names if name[2])
            return {name[1]: n_ranges[name[1]] for name in names if not name[2]}
        return {}

    def _parts(self) -> list[re.Match[str]]:
        """Return the files of parts by name."""
        found = (PART.fullmatch(path.name) for path in self.folder.iterdir())
        return [name for name in found if name]

    @contextlib.contextmanager
    def taken(self, resume: bool) -> Iterator[int]:
        """Use the folder for a run, and yield how many parts of it there are.

        At the end the parts are removed; after an error they are kept. No lock keeps other processes away, as
        object storage has none: a file tells which one began last, and that one alone removes parts.

        Raises
        ------
        ValueError
            If there are parts, or a process that uses them, unless they are to be used.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        keys, owner = self.keys(), self._owner()
        if not resume and (keys or owner):
            begun = " begun by process {process} on {host}".format(**owner) if owner else ""
            raise ValueError(f"{self.folder}: holds parts of this run{begun}; resume it, or remove them")
        own = {
            "format": MARK,
            "token": os.urandom(8).hex(),
            "process": os.getpid(),
            "host": os.uname().nodename,
        }
        with replacing(self.folder / OWNER) as file:
            file.write(json.dumps(own).encode())
        try:
            yield len(keys)
        except BaseException as error:
            with contextlib.suppress(OSError):  # what went wrong first is told
                if self._owner() == own:
                    self._remove([OWNER])
                elif isinstance(error, FileNotFoundError):
                    raise ValueError(f"{self.folder}: another process has taken over this run") from error
            raise
        if self._owner() == own:
            # a part that is left where this is killed has its files of ranges
            parts = sorted(self._parts(), key=lambda name: bool(name[2]))
            unfinished = [path.name for path in self.folder.iterdir() if path.name.startswith(".")]
            self._remove([name[0] for name in parts] + [*unfinished, PROPENSITY, OWNER])

    def _owner(self) -> dict[str, Any] | None:
        """Return what is told of the process that began last, None if it has ended."""
        path = self.folder / OWNER
        try:
            with InputFile(path).open() as file:
                found = json.loads(file.read())
            if found["format"] == MARK:
                return {key: found[key] for key in ("format", "token", "process", "host")}
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError):
            pass
        raise ValueError(f"{path}: not of a run, or damaged; remove it")

    def _remove(self, names: Sequence[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a task that ran twice may put its part after the end
            self.folder.rmdir()
