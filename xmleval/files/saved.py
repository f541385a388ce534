"""Saved evaluators and rules: .npz archives without pickle, written atomically."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from xmleval.files.archive import read_archive, write_archive
from xmleval.files.input import InputFile

LARGE = "score_runs/c"  # prefix of score arrays, which may exceed memory
DAMAGE = (
    zipfile.BadZipFile, ArithmeticError, AttributeError, EOFError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


class Form(NamedTuple):
    """A kind of saved file: its format mark, version, and name in messages."""

    mark: str
    version: int
    name: str


STATE = Form("xmleval state", 3, "saved evaluator")
CHECKPOINT = Form("xmleval checkpoint", 3, "checkpoint")
RULE = Form("xmleval rule", 2, "saved rule")


class Saved(NamedTuple):
    """Contents of a saved file: JSON values and arrays."""

    meta: dict[str, Any]
    arrays: dict[str, Any]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary binary file, renamed to ``path`` on success and deleted on failure."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} exists and is not a regular file")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp creates files readable by the owner only
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, name):
            raise type(error)(error.errno, error.strerror, str(path)) from None  # ENOSPC names no file
        raise


def save_state(path: Path, saved: Saved, form: Form = STATE) -> None:
    """Write a saved file atomically."""
    meta = json.dumps(
        {"format": form.mark, "version": form.version, "arrays": sorted(saved.arrays), **saved.meta}
    ).encode()
    with replacing(path) as file:
        write_archive(file, {"meta": np.frombuffer(meta, np.uint8), **saved.arrays})


def load_state(path: Path, form: Form = STATE) -> Saved:
    """Read a saved file; raise ValueError if it is of another kind or version, or damaged."""
    with naming_damage(path, form):
        arrays: dict[str, Any] = read_archive(InputFile(path), in_pieces=LARGE)
        meta = json.loads(arrays.pop("meta").tobytes())
        if meta["format"] != form.mark:
            raise KeyError("format")
        version = meta["version"]
        if version == form.version and sorted(arrays) != meta["arrays"]:
            raise KeyError("arrays")
    if version != form.version:
        raise ValueError(f"{path}: saved as version {version}; this program reads version {form.version}")
    return Saved(meta, arrays)


@contextlib.contextmanager
def naming_damage(path: Path, form: Form = STATE) -> Iterator[None]:
    """Convert errors of a foreign or damaged file to a ValueError that names it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise ValueError(f"{path}: not a {form.name}, or damaged ({error})") from None
    except DAMAGE as error:
        raise ValueError(f"{path}: not a {form.name}, or damaged ({error})") from None


def first_difference(
    mine: Any, theirs: Any, name: str = "", where: tuple[str, str] = ("here", "there")
) -> str | None:
    """Describe the first difference of two settings in one line; None if they are equal."""
    if mine == theirs:
        return None
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        found = (first_difference(mine[key], theirs[key], key, where) for key in mine)
        return next(filter(None, found), None)
    if isinstance(mine, list) and isinstance(theirs, list):
        pairs = list(itertools.zip_longest(mine, theirs))
        mine, theirs = next((a, b) for a, b in pairs if a != b)
        if isinstance(mine, list) and isinstance(theirs, list):  # [measure, whether requested by name]
            mine, theirs = (mine[0], theirs[0]) if mine[0] != theirs[0] else (mine, theirs)
    return f"{name} differs: {mine} {where[0]}, {theirs} {where[1]}"
