"""Files in another format: rows that are written as they are read, with names, or numbers in their place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, counted
from xmleval.evaluation.batch import BatchLocation
from xmleval.evaluation.inputs import open_input
from xmleval.evaluation.match_files import notes_of, prediction_batches, read_scores_alone, read_truth
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.request import Progress
from xmleval.input.argument_types import FilePath
from xmleval.input.formats.arrays import NPY, NPZ
from xmleval.input.formats.arrow import ARROW
from xmleval.input.formats.documents import CSV, JSONL
from xmleval.input.formats.format import Format
from xmleval.input.formats.label_lines import XMC
from xmleval.input.formats.trec import RUN
from xmleval.input.match import as_sets, listed_scores
from xmleval.input.opened import Opened
from xmleval.input.pieces import Pieces, RowReader, whole
from xmleval.input.rows import Rows
from xmleval.input.shards import FORMATS, find_scan_of, with_fields
from xmleval.input.stack import as_rows, stack_rows
from xmleval.input.writing import canonical, names_of, ranked

STREAMED_BYTES = 8 << 20  # of rows that are read while others are written
ARGUMENTS = ("y_score", "truth", "scores", "matrix")  # that writers and calibrators name in errors
CONTENTS = {"truth": "relevant labels", "scores": "scores", "sets": "predicted sets"}  # by kind


def convert_files(
    source: FilePath,
    target: Path,
    kind: str | None = None,
    n_labels: int | None = None,
    like: FilePath | None = None,
    shown: Progress = False,
) -> list[str]:
    """Write files in the format that the name of the target tells, and return notes.

    The data are held in memory, but for a matrix by number that becomes text or Parquet. Names of rows and
    labels are kept; in a matrix or a list of ids, and with a truth ``like``, they become numbers.
    """
    data, truth = find_files([(source, kind), (like, "truth")])
    writer = writer_of(target, data.kind)
    if truth is None and not data.named:
        return write_rows(data.name, data.pieces(), data.kind, target, writer, n_labels, shown=shown)
    if n_labels is not None:
        raise InputError("n_labels", f"is for labels by number, and {data.name} has names")
    if truth is not None:
        pieces, notes = _numbered_rows(data, truth)
        return [*notes, *write_rows(data.name, pieces, data.kind, target, writer)]
    if writer.keeps_names and writer is not NPZ:  # whose matrix is for programs that know numbers alone
        rows, notes = _named_rows(data)
        return [*notes, *write_data(data.name, rows, data.kind, target)]
    if data.kind == "scores":
        endings = endings_of("scores", named=True, without=NPZ)
        hint = f"expected --like with the truth that they belong to, or a name that ends in {endings}"
        raise ValueError(f"{data.name}: has names; {hint}")
    rows, notes = _named_rows(data, "rows and labels are numbered in the order in which it names them first")
    pieces = whole(rows._replace(keys=None, match=None, names=None), len(rows.names or ()))
    return [*notes, *write_rows(data.name, pieces, data.kind, target, writer)]


def _named_rows(data: Opened, *remarks: str) -> tuple[Rows, list[str]]:
    """Return all rows of a file with their names, and notes."""
    if data.kind == "scores":
        rows = read_scores_alone(data, None)
        return rows, notes_of(data.name, rows.origin, *remarks)
    pieces, match, has_grades = read_truth(data, None)
    rows = stack_rows(pieces.read(sys.maxsize))
    remarks = (*remarks, *["grades are written as relevant or not"] * bool(has_grades))
    notes = notes_of(data.name, match.origin, *remarks)
    return rows._replace(keys=match.keys, match=match.by, names=match.label_names), notes


def _numbered_rows(data: Opened, truth: Opened) -> tuple[Pieces, list[str]]:
    """Return the rows of a file by the numbers of a truth, and notes."""
    role = "y_score" if data.kind == "scores" else "y_pred"
    match = read_truth(truth, None, [data]).match.fork()
    placed = match.place(role, data.name, prediction_batches(data, match.origin))
    notes = [*notes_of(truth.name, match.origin), *notes_of(data.name, placed.origin), *match.notes]
    rows = placed.rows()
    if role == "y_pred":
        return whole(as_sets(rows)._replace(names=None), len(match.names)), notes
    if not placed.scored:
        notes.append(f"{data.name}: no scores, taken best first and written as -1, -2 and so on")
    lists = ranked(listed_scores(rows, match.names), None)  # of equal scores in the order of the names
    return whole(lists._replace(names=None), len(match.names)), notes


def write_object(data: object, kind: str, target: Path) -> list[str]:
    """Write truth, scores or sets in memory in the format that the name of the target tells; return notes."""
    held = open_input({"truth": "y_true", "scores": "y_score", "sets": "y_pred"}[kind], data)
    writer = writer_of(target, kind, held.name if held.named else None)
    if held.named:
        rows, notes = _named_rows(held)
        return [*notes, *write_data(held.name, rows, kind, target)]
    return write_rows(held.name, held.pieces(), "scores" if kind == "scores" else "truth", target, writer)


def find_files(
    sources: Iterable[tuple[Any, str | None]],
) -> list[Any]:
    """Return the files that paths, or scans of them, stand for, with what is in them."""
    inputs = [None if source is None else find_scan_of(kind, source) for source, kind in sources]
    return with_fields(True, *inputs)


def writer_of(target: Path, kind: str | None = None, named_by: str | None = None) -> Format:
    """Return the format that the name of a file tells, or refuse one that cannot hold what is written.

    ``kind`` is "truth", "scores" or, of predicted sets, "sets"; ``named_by`` is what has names, if any.
    """
    name = target.name.lower()
    form = next((form for form in FORMATS for end in form.extensions if name.endswith(end)), None)
    endings = endings_of(kind, named_by is not None)
    if form is None or form.write is None:
        text = "its name does not tell a format that is written"
        raise ValueError(f"{target}: {text}; expected one of {endings}")
    if kind is not None and not form.writes(kind, named=False):
        text = f"a {form.title} holds no {CONTENTS[kind]}"
        raise ValueError(f"{target}: {text}; expected a name that ends in {endings}")
    if kind is not None and not form.writes(kind, named_by is not None):
        text = f"no {CONTENTS[kind]} with names, as {named_by} has, are written in this format"
        raise ValueError(f"{target}: {text}; expected a name that ends in {endings}")
    return form


def endings_of(kind: str | None, named: bool, without: Format | None = None) -> str:
    """Return the endings of files that hold what is written, of which one format may be left out."""
    kinds = [*CONTENTS] if kind is None else [kind]
    forms = [form for form in FORMATS if any(form.writes(each, named) for each in kinds)]
    return ", ".join(form.endings for form in forms if form is not without)


def write_data(name: str, rows: Rows, kind: str, target: Path, n_labels: int | None = None) -> list[str]:
    """Write rows with names or without, in the format that the name of the target tells, and return notes.

    ``kind`` is that of `writer_of`, ``name`` what messages call the data.
    """
    is_named = rows.keys is not None or rows.names is not None
    writer = writer_of(target, kind, name if is_named else None)
    pieces = whole(rows, None if is_named or rows.best_first else n_labels)
    return write_rows(name, pieces, "scores" if kind == "scores" else "truth", target, writer)


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
    """Write rows, changed, as they are read where sizes are known and the format allows it.

    Notes tell in how many rows equal scores rank in another order in the written file, and how many labels
    of a truth it does not have.
    """
    is_sized = None not in (pieces.n_rows, pieces.n_labels) and pieces.locate is None  # one type of data
    is_streamed = is_sized and writer not in (NPZ, NPY)  # whose files have sizes of arrays at their beginning
    n_labels, reordered = n_labels or pieces.n_labels, list[int]()
    reader, lost = RowReader(name, pieces, STREAMED_BYTES), _LostLabels(writer, kind, n_labels)
    arguments = dict.fromkeys((*ARGUMENTS, "row_names", "label_names"), reader)

    def changed(show: Callable[[int], object]) -> Iterator[Any]:
        for n in iter(reader.ready, 0):
            with BatchLocation(arguments, first=reader.n_taken).locating_errors():
                rows = as_rows(change(reader.take(n)), kind)
                _refuse_bare_list(target, writer, rows)
                reordered.append(_count_reordered(writer, rows, n_labels) if kind == "scores" else 0)
            lost.see(rows)
            yield rows
            show(reader.n_taken)

    source = BatchLocation(arguments)
    with closing(reader), show_progress(reader.n_rows, 0, shown) as show, source.locating_errors():
        rows = changed(show)
        width = max(n_labels or 0, pieces.n_labels or 0)
        data = Pieces(pieces.n_rows, width, lambda n_bytes: rows) if is_streamed else stack_rows(rows)
        assert writer.write
        writer.write(target, data, kind, n_labels)
    notes = lost.notes(target)
    if any(reordered):
        keeping = ", ".join(form.extensions[0] for form in FORMATS if form.keeps_order)
        text = counted(sum(reordered), "rows have", "row has")
        notes.append(f"{target}: {text} equal scores whose order is not kept; {keeping} keep it")
    return notes


def _refuse_bare_list(target: Path, writer: Format, rows: Rows) -> None:
    """Refuse a list without scores in a text of scores."""
    if writer is XMC and rows.best_first and rows.values is None and rows.labels.size:
        endings = endings_of("scores", rows.names is not None, without=XMC)
        text = f"a {writer.title} holds no list without scores"
        raise ValueError(f"{target}: {text}; expected a name that ends in {endings}")


class _LostLabels:
    """Labels of a truth that no row has, which formats without a list of labels do not keep."""

    def __init__(self, writer: Format, kind: str, n_labels: int | None) -> None:
        self._writer, self._is_truth, self._n_labels = writer, kind == "truth", n_labels
        self._listed = set[int]()

    def see(self, rows: Rows) -> None:
        """Look at the labels of rows."""
        keeps_labels = self._writer not in (CSV, JSONL) and (self._writer is not ARROW or rows.names is None)
        if self._is_truth and not keeps_labels:
            self._n_labels = self._n_labels if rows.names is None else len(rows.names)
            self._listed.update(np.unique(rows.labels).tolist())
        else:
            self._is_truth = False

    def notes(self, target: Path) -> list[str]:
        """Return a note on those that a file does not have."""
        n_lost = (self._n_labels or 0) - len(self._listed)
        if not self._is_truth or n_lost < 1:
            return []
        text = counted(n_lost, "labels that no row has are", "label that no row has is")
        return [f"{target}: {text} not in it, which averages over labels count; --labels lists all"]


def _count_reordered(writer: Format, data: Rows, n_labels: int | None) -> int:
    """Count rows with equal scores that rank otherwise in a format: by name in runs, by label id in most."""
    is_list, is_named = data.best_first, data.named
    by_name = writer is RUN or (writer is NPZ and is_named)
    by_id = not (is_list or by_name or is_named)  # before and after
    if by_id or data.values is None or writer.keeps_order or (is_list and writer is NPZ and n_labels is None):
        return 0
    n_rows, names = 0, names_of(data)[1]
    for _, (ptr, labels, scores, *_) in canonical(data, "scores", n_labels):
        ties = np.setdiff1d(np.flatnonzero(scores[1:] == scores[:-1]), ptr - 1)  # in the same row
        first, second = labels[ties], labels[ties + 1]
        if by_name and names is None:
            is_moved = first.astype(str) < second.astype(str)
        elif by_name and names is not None:
            is_moved = np.array(
                [names[one] < names[two] for one, two in zip(first, second, strict=True)], bool
            )
        else:
            is_moved = first > second
        n_rows += np.unique(np.searchsorted(ptr, ties[is_moved], side="right")).size
    return n_rows
