"""Saved evaluators and rules: .npz archives without pickle."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.budget import OverLimitError, memory_limit
from xmleval.base.errors import Message, UnknownMeasureError, shown
from xmleval.files.archive import DAMAGE, Archive, read_arrays, write_archive
from xmleval.files.input import InputFile
from xmleval.files.output import ARCHIVE, refuse_ending, replacing

# arrays of scores, which may exceed memory
is_large = re.compile("(^|/)(score_runs|weighted_scores)/c").search
JSON_VALUE_BYTES = 100  # of memory for an empty list, or a short string and its place in a list
SMALL_BYTES = 1 << 12  # of a text whose values take little memory
SHOWN = 40  # characters of a name that a message quotes


class StateForm(NamedTuple):
    """A kind of saved file: its format mark, version, and name in messages."""

    mark: str
    version: int
    name: str


STATE = StateForm("xmleval state", 19, "saved evaluator")
CHECKPOINT = StateForm("xmleval checkpoint", 18, "checkpoint")
RULE = StateForm("xmleval rule", 3, "saved rule")


class Saved(NamedTuple):
    """Contents of a saved file: JSON values and arrays."""

    meta: dict[str, Any]
    arrays: dict[str, Any]


def meta_of(meta: dict[str, Any], form: StateForm) -> NDArray[np.uint8]:
    """Return the JSON values of a saved file as the array that it contains."""
    text = json.dumps({"format": form.mark, "version": form.version, **meta})
    return np.frombuffer(text.encode(), np.uint8)


def save_state(
    path: Path, saved: Saved, form: StateForm = STATE, follow_links: bool = True
) -> None:
    """Write a saved file atomically."""
    refuse_ending(path, f"a {form.name}", ARCHIVE)
    with replacing(path, follow_links) as file:
        write_archive(file, [("meta", meta_of(saved.meta, form)), *saved.arrays.items()])


def to_bytes(saved: Saved) -> bytes:
    """Return the contents of a saved file, to send to another process of the same program."""
    file = io.BytesIO()
    write_archive(file, [("meta", meta_of(saved.meta, STATE)), *saved.arrays.items()])
    return file.getvalue()


def from_bytes(sent: bytes) -> Saved:
    """Return the values that were given to `to_bytes`."""
    arrays = dict(np.load(io.BytesIO(sent), allow_pickle=False))
    return Saved(json.loads(arrays.pop("meta").tobytes()), arrays)


def load_state(path: Path, form: StateForm = STATE) -> Saved:
    """Read a saved file; raise ValueError if it is of another form, damaged, or too large."""
    with naming_damage(path, form):
        archive = Archive(InputFile(path))
        memory_limit().take(archive["meta"].n_bytes)
        (text,) = read_arrays([archive.pop("meta")])
        meta = parse_json(text.tobytes().decode())
        if meta["format"] != form.mark:
            raise KeyError("format")
        version = meta["version"]
        if version == form.version:
            return Saved(meta, _load_arrays(archive))
    raise ValueError(
        f"{path}: saved as version {version}; this program reads version {form.version}"
    )


def state_of_bytes(content: bytes) -> Saved:
    """Return what `to_bytes` was given, checked as a saved file is."""
    name = Path("content")
    with naming_damage(name):
        if not isinstance(content, bytes):
            raise TypeError(f"{type(content).__name__} instead of bytes")
        memory_limit().take(len(content))
        arrays = dict(np.load(io.BytesIO(content), allow_pickle=False))
        meta = parse_json(arrays.pop("meta").tobytes().decode())
        if meta["format"] != STATE.mark:
            raise KeyError("format")
        if meta["version"] == STATE.version:
            return Saved(meta, arrays)
    raise ValueError(
        f"{name}: saved as version {meta['version']}; this program reads version {STATE.version}"
    )


def is_state(path: Path) -> bool:
    """Return whether an archive is a saved evaluator, of any version."""
    try:
        archive = Archive(InputFile(path))
        memory_limit().take(archive["meta"].n_bytes)
        (text,) = read_arrays([archive.pop("meta")])
        meta = parse_json(text.tobytes().decode())
    except (OSError, *DAMAGE):
        return False
    return isinstance(meta, dict) and meta.get("format") == STATE.mark


def _load_arrays(archive: Archive) -> dict[str, Any]:
    """Return the arrays of an archive, the large ones first, as chunks to read later."""
    small = [name for name in archive if not is_large(name)]
    memory_limit().take(sum(archive[name].n_bytes for name in small))
    small_arrays = read_arrays([archive[name] for name in small])
    arrays = dict[str, Any]()
    for name in filter(is_large, archive):
        arrays[name] = archive[name].chunks()
    arrays.update(zip(small, small_arrays, strict=True))
    return arrays


def parse_json(text: str) -> Any:
    """Parse JSON after a check of its memory; refuse objects with a name twice."""
    if len(text) > SMALL_BYTES:
        n_values = sum(map(text.count, ",:[")) + 3 * text.count("{")
        memory_limit().check(2 * len(text) + JSON_VALUE_BYTES * n_values)
    try:
        return json.loads(text, object_pairs_hook=distinct_names)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def distinct_names(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the fields of an object; refuse a name that occurs twice."""
    fields = dict[Any, Any]()
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"{shown(name[:SHOWN])} occurs twice in an object")
        fields[name] = value
    return fields


@contextlib.contextmanager
def naming_damage(path: Path, form: StateForm = STATE) -> Iterator[None]:
    """Convert errors of a foreign or damaged file to a ValueError that names it."""
    try:
        yield
    except OverLimitError as error:
        raise OverLimitError(Message(f"{path}: ", error.args[0])) from None
    except MemoryError:
        raise ValueError(f"{path}: does not fit in memory") from None
    except UnknownMeasureError as error:
        raise ValueError(Message(f"{path}: ", error.args[0])) from None
    except (OSError, *DAMAGE) as error:
        if getattr(error, "filename", None) is not None:
            raise
        reason = str(error)
        if isinstance(error, KeyError):
            reason = f"no {error} in it"
        raise ValueError(f"{path}: not a {form.name}, or damaged ({reason})") from None


def first_difference(
    first: object, second: object, name: str = "", places: tuple[str, str] = ("here", "there")
) -> str | None:
    """Describe the first difference of two settings in one line; None if they are equal."""
    if first == second:
        return None
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        key = next(key for key in first if first[key] != second[key])
        return first_difference(first[key], second[key], key, places)
    if isinstance(first, list) and isinstance(second, list):
        a, b = next((a, b) for a, b in itertools.zip_longest(first, second) if a != b)
        if not isinstance(a, bool):  # whether a measure was requested by name
            return first_difference(a, b, name, places)
    return f"{name} differs: {first} {places[0]}, {second} {places[1]}"
