"""Convert files and data in memory to other formats, by name or by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.budget import PIECE_BYTES
from xmleval.base.errors import InputError, Keyword, Message, counted
from xmleval.evaluation.batch import BatchLocation
from xmleval.evaluation.inputs import open_input
from xmleval.evaluation.match_files import (
    notes_of,
    prediction_batches,
    read_scores_alone,
    read_truth,
)
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.request import Progress
from xmleval.input.argument_types import FilePath
from xmleval.input.formats.arrays import NPY, NPZ
from xmleval.input.formats.arrow import ARROW
from xmleval.input.formats.documents import CSV, JSONL
from xmleval.input.formats.format import Format
from xmleval.input.formats.known import format_of_ending, known_formats
from xmleval.input.formats.label_lines import XMC
from xmleval.input.formats.trec import RUN
from xmleval.input.match import as_sets, listed_scores
from xmleval.input.opened import Opened
from xmleval.input.pieces import Pieces, RowReader, whole
from xmleval.input.rows import Rows
from xmleval.input.shards import find_scan_of, with_fields
from xmleval.input.stack import as_rows, stack_rows
from xmleval.input.writing import canonical, names_of, ranked

STREAMED_BYTES = 8 << 20  # of rows that are read while others are written
ARGUMENTS = ("y_score", "truth", "scores", "matrix")  # names in errors of writers and calibrators
ARGUMENT_OF_KIND = {"truth": "y_true", "scores": "y_score", "sets": "y_pred"}
CONTENTS = {"truth": "relevant labels", "scores": "scores", "sets": "predicted sets"}  # by kind


def convert_files(
    source: FilePath,
    target: Path,
    kind: str | None = None,
    n_labels: int | None = None,
    like: FilePath | None = None,
    shown: Progress = False,
) -> list[str]:
    """Write files in the format of the target's name, and return notes.

    The data are read into memory, unless a matrix by number becomes text or Parquet. Names of rows
    and labels are kept; in a matrix or a list of ids, and with a truth ``like``, they become
    numbers.
    """
    data, truth = find_files([(source, kind), (like, "truth")])
    writer = writer_of(target, data.kind)
    if truth is None and not data.named:
        return write_rows(
            data.name, data.pieces(), data.kind, target, writer, n_labels, shown=shown
        )
    if n_labels is not None:
        raise InputError("n_labels", f"is for labels without names, but {data.name} has names")
    if truth is not None:
        pieces, notes = _numbered_rows(data, truth)
        return [*notes, *write_rows(data.name, pieces, data.kind, target, writer)]
    # a matrix in NPZ is for programs that use numbers
    if writer.keeps_names and writer is not NPZ:
        rows, notes = _named_rows(data)
        return [*notes, *write_data(data.name, rows, data.kind, target)]
    if data.kind == "scores":
        endings = endings_of("scores", named=True, without=NPZ)
        text = "give --like, the truth of these predictions, or an output that ends in "
        raise ValueError(f"{data.name}: has names; {text}{endings}")
    rows, notes = _named_rows(
        data, "rows and labels are numbered in the order in which they occur first"
    )
    pieces = whole(rows._replace(keys=None, match=None, names=None), len(rows.names or ()))
    return [*notes, *write_rows(data.name, pieces, data.kind, target, writer)]


def _named_rows(data: Opened, *remarks: str) -> tuple[Rows, list[str]]:
    """Return all rows of a file with their names, and notes."""
    if data.kind == "scores":
        rows = read_scores_alone(data, None)
        return rows, notes_of(data.name, rows.origin, *remarks)
    pieces, match, has_grades = read_truth(data, None)
    rows = stack_rows(pieces.read(PIECE_BYTES))
    if has_grades:
        remarks = (*remarks, "grades are written as relevant or not")
    notes = notes_of(data.name, match.origin, *remarks)
    return rows._replace(keys=match.keys, match=match.by, names=match.label_names), notes


def _numbered_rows(data: Opened, truth: Opened) -> tuple[Pieces, list[str]]:
    """Return the rows of a file by the numbers of a truth, and notes."""
    role = "y_pred"
    if data.kind == "scores":
        role = "y_score"
    match = read_truth(truth, None, [data]).match.fork()
    placed = match.place(role, data.name, prediction_batches(data, match.origin))
    notes = [*notes_of(truth.name, match.origin), *notes_of(data.name, placed.origin), *match.notes]
    rows = placed.rows()
    if role == "y_pred":
        return whole(as_sets(rows)._replace(names=None), len(match.names)), notes
    if not placed.scored:
        notes.append(
            f"{data.name}: has no scores; labels are written best first, "
            "with scores -1, -2 and so on"
        )
    # ties are in the order of the names
    lists = ranked(listed_scores(rows, match.names), None)
    return whole(lists._replace(names=None), len(match.names)), notes


def write_object(data: object, kind: str, target: Path) -> list[str]:
    """Write truth, scores or sets in memory in the format of the target's name; return notes."""
    opened = open_input(ARGUMENT_OF_KIND[kind], data)
    writer = writer_of(target, kind, opened.name if opened.named else None)
    if opened.named:
        rows, notes = _named_rows(opened)
        return [*notes, *write_data(opened.name, rows, kind, target)]
    kind_of_rows = "scores" if kind == "scores" else "truth"
    return write_rows(opened.name, opened.pieces(), kind_of_rows, target, writer)


def find_files(sources: Iterable[tuple[Any, str | None]]) -> list[Any]:
    """Return the opened files of paths or scans, each with its kind of data; None for None."""
    inputs = list[Any]()
    for source, kind in sources:
        inputs.append(None if source is None else find_scan_of(kind, source))
    return with_fields(True, *inputs)


def writer_of(target: Path, kind: str | None = None, named_by: str | None = None) -> Format:
    """Return the format of a file from its name, or refuse one that cannot contain the data.

    ``kind`` is "truth", "scores" or, for predicted sets, "sets"; ``named_by`` is the name of data
    with names of rows or labels.
    """
    form = format_of_ending(target.name)
    endings = endings_of(kind, named_by is not None)
    if form is None or form.write is None:
        text = "its ending is not that of a format that can be written"
        raise ValueError(f"{target}: {text}; expected one of {endings}")
    if kind is not None and not form.writes(kind, named=False):
        text = f"a {form.title} cannot contain {CONTENTS[kind]}"
        raise ValueError(f"{target}: {text}; expected a name that ends in {endings}")
    if kind is not None and not form.writes(kind, named_by is not None):
        text = f"this format cannot contain {CONTENTS[kind]} with names, as {named_by} has"
        raise ValueError(f"{target}: {text}; expected a name that ends in {endings}")
    return form


def endings_of(kind: str | None, named: bool, without: Format | None = None) -> str:
    """Return the endings of the formats that can contain the data, except those of ``without``."""
    kinds = [*CONTENTS] if kind is None else [kind]
    endings = list[str]()
    for form in known_formats():
        if form is not without and any(form.writes(each, named) for each in kinds):
            endings.append(form.endings)
    return ", ".join(endings)


def write_data(
    name: str, rows: Rows, kind: str, target: Path, n_labels: int | None = None
) -> list[str]:
    """Write rows with or without names in the format of the target's name; return notes.

    ``kind`` is that of `writer_of`, ``name`` the name of the data in messages.
    """
    is_named = rows.keys is not None or rows.names is not None
    writer = writer_of(target, kind, name if is_named else None)
    if is_named or rows.best_first:
        n_labels = None
    kind_of_rows = "scores" if kind == "scores" else "truth"
    return write_rows(name, whole(rows, n_labels), kind_of_rows, target, writer)


def write_rows(
    name: str,
    pieces: Pieces,
    kind: str,
    target: Path,
    writer: Format,
    n_labels: int | None = None,
    change: Callable[[Any], Any] = lambda rows: rows,
    shown: Progress = False,
) -> list[str]:
    """Write rows after a ``change``; stream them if sizes are known and the format allows it.

    Notes are on rows whose equal scores rank in another order in the written file, and on labels of
    a truth that it lacks.
    """
    # rows of several files may have different types
    is_sized = None not in (pieces.n_rows, pieces.n_labels) and pieces.locate is None
    # files of arrays begin with their sizes
    is_streamed = is_sized and writer not in (NPZ, NPY)
    n_labels = n_labels or pieces.n_labels
    reordered = list[int]()
    reader = RowReader(name, pieces, STREAMED_BYTES)
    lost = _LostLabels(writer, kind, n_labels)
    arguments = dict.fromkeys((*ARGUMENTS, "row_names", "label_names"), reader)

    def changed_rows(show: Callable[[int], object]) -> Iterator[Any]:
        for n in iter(reader.ready, 0):
            with BatchLocation(arguments, first=reader.n_taken).locating_errors():
                rows = as_rows(change(reader.take(n)), kind)
                _refuse_bare_list(target, writer, rows)
                if kind == "scores":
                    reordered.append(_count_reordered(writer, rows, n_labels))
            lost.see(rows)
            yield rows
            show(reader.n_taken)

    source = BatchLocation(arguments)
    with closing(reader), show_progress(reader.n_rows, 0, shown) as show, source.locating_errors():
        rows = changed_rows(show)
        data: Pieces | Rows
        if is_streamed:
            width = max(n_labels or 0, pieces.n_labels or 0)
            data = Pieces(pieces.n_rows, width, lambda n_bytes: rows)
        else:
            data = stack_rows(rows)
        assert writer.write
        writer.write(target, data, kind, n_labels)
    notes = lost.notes(target)
    if any(reordered):
        keeping = ", ".join(form.extensions[0] for form in known_formats() if form.keeps_order)
        text = counted(sum(reordered), "rows have", "row has")
        notes.append(f"{target}: {text} equal scores whose order is not kept; {keeping} keep it")
    return notes


def _refuse_bare_list(target: Path, writer: Format, rows: Rows) -> None:
    """Refuse a list without scores in the text format of scores."""
    if writer is XMC and rows.best_first and rows.values is None and rows.labels.size:
        endings = endings_of("scores", rows.names is not None, without=XMC)
        text = f"a {writer.title} cannot contain a list without scores"
        raise ValueError(f"{target}: {text}; expected a name that ends in {endings}")


class _LostLabels:
    """Labels of a truth that no row has; formats without a list of labels lose them."""

    def __init__(self, writer: Format, kind: str, n_labels: int | None) -> None:
        self._writer = writer
        self._is_truth = kind == "truth"
        self._n_labels = n_labels
        self._listed = set[int]()

    def see(self, rows: Rows) -> None:
        """Add the labels of rows."""
        loses_labels = self._writer in (CSV, JSONL) or (
            self._writer is ARROW and rows.names is not None
        )
        if self._is_truth and loses_labels:
            if rows.names is not None:
                self._n_labels = len(rows.names)
            self._listed.update(np.unique(rows.labels).tolist())
        else:
            self._is_truth = False

    def notes(self, target: Path) -> list[str]:
        """Return a note on the lost labels, if there are any."""
        n_lost = (self._n_labels or 0) - len(self._listed)
        if not self._is_truth or n_lost < 1:
            return []
        text = counted(n_lost, "labels without rows are", "label without rows is")
        hint = f"{target}: {text} not in it, but averages over labels count them; give "
        return [Message(hint, Keyword("labels"), ", the names of all")]


def _count_reordered(writer: Format, data: Rows, n_labels: int | None) -> int:
    """Count rows in which a format puts equal scores in another order.

    Runs order ties by name, most formats by label id.
    """
    by_name = writer is RUN or (writer is NPZ and data.named)
    by_id = not (data.best_first or by_name or data.named)  # in both files
    if by_id or data.values is None or writer.keeps_order:
        return 0
    if data.best_first and writer is NPZ and n_labels is None:
        return 0
    n_rows = 0
    names = names_of(data)[1]
    for _, (ptr, labels, scores, *_) in canonical(data, "scores", n_labels):
        ties = np.setdiff1d(np.flatnonzero(scores[1:] == scores[:-1]), ptr - 1)  # in the same row
        first = labels[ties]
        second = labels[ties + 1]
        if not by_name:
            is_moved = first > second
        elif names is None:
            is_moved = first.astype(str) < second.astype(str)
        else:
            pairs = zip(first, second, strict=True)
            is_moved = np.array([names[i] < names[j] for i, j in pairs], bool)
        n_rows += np.unique(np.searchsorted(ptr, ties[is_moved], side="right")).size
    return n_rows
