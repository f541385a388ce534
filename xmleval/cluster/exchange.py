"""A folder, local or in object storage, for states passed between processes and between runs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from xmleval.files.output import locked, refuse_link
from xmleval.files.remote import RemotePath

PROPENSITY = "propensity.npy"
PART = re.compile(r"[0-9a-f]{32}\.npz")  # a complete state, named by its key
# files that were being written
DRAFT = re.compile(rf"\.({PART.pattern}|{re.escape(PROPENSITY)})\.[0-9a-f]{{16}}")


def names_in(folder: Path) -> list[str]:
    """Return the names of the files of a folder; object storage has no empty folders."""
    with contextlib.suppress(FileNotFoundError):
        return [path.name for path in folder.iterdir()]
    return []


def parts_in(folder: Path) -> set[str]:
    """Return the names of the parts in a folder."""
    return {*filter(PART.fullmatch, names_in(folder))}


@contextlib.contextmanager
def locked_for_run(folder: Path, resume: bool) -> Iterator[int]:
    """Use a folder for a run, and yield the number of its parts that exist.

    At the end the parts are removed; after an error they are kept. Object storage has no locks: of
    two processes with the same run there, the one that ends last may miss parts, and then fails.

    Raises
    ------
    ValueError
        If there are parts but the run is not resumed, or another process uses them.
    """
    refuse_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    if not isinstance(folder, RemotePath):
        lock = locked(folder)
    with lock:
        n_parts = len(parts_in(folder))
        if n_parts and not resume:
            raise ValueError(
                f"{folder}: contains parts of this run; resume the run, or remove them"
            )
        yield n_parts
        for name in names_in(folder):
            if PART.fullmatch(name) or DRAFT.fullmatch(name) or name == PROPENSITY:
                (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # a task that ran twice may put its part after the end
        folder.rmdir()
