"""NumPy's .npy files: top-k lists in pairs of them, and vectors."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import PIECE_BYTES, UNLIMITED, Allowance
from xmleval.files.archive import NpyArray
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.files.remote import is_there
from xmleval.input.formats.array_rows import list_pieces
from xmleval.input.formats.format import Format, NamedReaders, naming
from xmleval.input.names import Gathering, Named
from xmleval.input.pieces import Pieces
from xmleval.input.row_order import refuse_other_order
from xmleval.input.writing import as_lists

LABELS, SCORES = "_indices.npy", "_scores.npy"
OTHER_LABELS, OTHER_SCORES = "-labels.npy", "-scores.npy"  # as AttentionXML and LightXML call them
PAIRS = {LABELS: SCORES, OTHER_LABELS: OTHER_SCORES}
STRINGS = "strings, of a fixed length, not Python objects: numpy.save(file, labels.astype(str))"


def open_array(path: Path, expected: str, kinds: str = "biuf") -> NpyArray:
    """Read the header of an array of real numbers, or of dtypes of other kinds."""
    with naming(path, expected):
        array = NpyArray(InputFile(path))
        if array.dtype.kind not in kinds:
            raise ValueError(f"dtype {array.dtype} does not hold real numbers")
        return array


def _pair(path: Path) -> tuple[Path, Path] | None:
    """Return the files of labels and of scores that a name stands for; None where it is of labels alone."""
    for labels, scores in PAIRS.items():
        if path.name.endswith((labels, scores)):
            stem = path.name.removesuffix(labels).removesuffix(scores)
            return path.with_name(stem + labels), path.with_name(stem + scores)
    return None


def _open_list(path: Path, kinds: str = "iu") -> list[tuple[NpyArray, str]]:
    """Return the labels of a top-k list and, where there are any, its scores, with what is expected."""
    pair = _pair(path)
    labels_path = pair[0] if pair else path  # a file of another name holds labels alone
    expected = "labels of a top-k list, integers of shape (instances, k)"
    known = "biuf"
    if labels_path.name.endswith(OTHER_LABELS):
        expected, known = f"{expected}, or {STRINGS}", "biufU"
    labels = open_array(labels_path, expected, known)
    with naming(labels_path, expected):
        if len(labels.shape) != 2 or labels.dtype.kind not in kinds:
            raise ValueError(f"{labels.dtype} of shape {labels.shape}")
    if pair is None or not is_there(pair[1]):
        return [(labels, expected)]
    scores_expected = f"scores of the labels in {labels_path.name}, of shape {labels.shape}"
    scores = open_array(pair[1], scores_expected)
    with naming(pair[1], scores_expected):
        if scores.shape != labels.shape or scores.dtype.kind == "b":
            raise ValueError(f"{scores.dtype} of shape {scores.shape}")
    return [(labels, expected), (scores, scores_expected)]


def claims(path: Path, kind: str | None) -> bool:
    """Tell whether a file of another tool's name is a list: labels, or scores with labels beside them."""
    if kind != "scores" or not path.name.endswith((OTHER_LABELS, OTHER_SCORES)):
        return False
    pair = _pair(path)
    return pair is not None and (path == pair[0] or is_there(pair[0]))


def by_number(path: Path, kind: str, allowance: Allowance) -> Pieces | None:
    """Return the rows of a list, None where its labels have names."""
    found = _open_list(path, "iuU")
    return None if found[0][0].dtype.kind == "U" else list_pieces(found, allowance)


def scores_by_name(path: Path, like: Named | list[str], allowance: Allowance) -> Named:
    """Read a list of names of labels, its rows in the order of those of the truth."""
    arrays = _open_list(path, "iuU")
    if arrays[0][0].dtype.kind != "U":
        raise ValueError(f"{path}: expected one file of predictions with names, as TRUTH has them")
    entries = Gathering(like)
    entries.as_listed = True
    place = 0
    for labels, scores in list_pieces(arrays, allowance).read(PIECE_BYTES):
        with naming(path, arrays[0][1]):
            values = [None] * len(labels) if scores is None else scores.tolist()
            for names, own in zip(labels.tolist(), values, strict=True):
                entries.add_row(str(place))
                for rank, name in enumerate(map(str, names)):
                    if name:  # an empty slot
                        value = -1.0 - rank if own is None else float(own[rank])
                        if math.isnan(value):
                            raise ValueError(f"row {place}: a score is NaN")
                        entries.add(str(place), name, value, place)
                place += 1
            allowance.check(entries.n_bytes)
    with naming(path, arrays[0][1]):
        found = replace(entries.finish(allowance, "row"), unscored=len(arrays) < 2, by_order=True)
        if isinstance(like, Named):
            refuse_other_order(like, place)
        return found


def read_list(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Map the labels of a top-k list and, where they are there, its scores."""
    arrays = []
    for array, expected in _open_list(path):
        with naming(array.file.path, expected):
            arrays.append(array.mapped())
    return arrays[0], arrays[1] if len(arrays) > 1 else None


def other_half(path: Path) -> list[Path]:
    """Return the scores of a file of labels, or the labels of a file of scores, if they are there."""
    return [other for other in _pair(path) or () if other != path and is_there(other)]


def npy_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a top-k list some rows at a time."""
    return list_pieces(_open_list(path), allowance)


def write_list(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write a top-k list as a pair of files, the scores first."""
    stem = str(path).removesuffix(LABELS).removesuffix(SCORES)
    labels, scores = as_lists(data, kind, n_labels)
    if scores is None and os.path.lexists(stem + SCORES):
        raise ValueError(f"{stem + SCORES}: would be taken for scores of the list, which has none")
    with contextlib.ExitStack() as both:  # neither appears before both are written
        for name, array in ((LABELS, labels), (SCORES, scores)):
            if array is not None:
                file = both.enter_context(replacing(Path(stem + name)))
                np.save(file, array, allow_pickle=False)
                file.flush()  # so that a full disk is met here


NPY = Format(
    name="npy",
    title="top-k list",
    files=f"NAME{LABELS}, with NAME{SCORES} or without; or NAME{OTHER_LABELS}, with NAME{OTHER_SCORES}",
    container="npy",
    extensions=(LABELS, SCORES),
    scores=read_list,
    pieces=npy_pieces,
    named=NamedReaders(by_number, None, scores_by_name),
    claims=claims,
    completions=(LABELS, SCORES, OTHER_LABELS),
    beside=other_half,
    write=write_list,
    keeps_order=True,
)
