"""Files in another format: rows that are written as they are read, and names that become numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import counted
from xmleval.evaluation.files import fields_of
from xmleval.evaluation.inputs import notes_of, prediction_batches, read_truth
from xmleval.evaluation.reading import Progress, naming_rows, progress
from xmleval.input.formats.arrays import NPY, NPZ
from xmleval.input.formats.format import Format
from xmleval.input.formats.trec import QRELS, RUN, save
from xmleval.input.lines import words_of
from xmleval.input.match import Match, listed_scores
from xmleval.input.pieces import Pieces, RowReader, whole
from xmleval.input.rows import Rows
from xmleval.input.shards import FORMATS, find_input, with_fields
from xmleval.input.stack import as_rows, stack_rows
from xmleval.input.writing import canonical

STREAMED_BYTES = 8 << 20  # of rows that are read while others are written


def convert_files(
    source: Path,
    target: Path,
    kind: str | None = None,
    n_labels: int | None = None,
    like: Path | None = None,
    shown: Progress = False,
    **options: Any,
) -> list[str]:
    """Write files in the format that the name of the target tells, by number, and return notes.

    The data are held in memory, but for a matrix that becomes text or Parquet. TREC's files keep names of
    rows and labels that are one word each; in others they become numbers, in the order of the truth ``like``.
    """
    data, truth = find_files([(source, kind), (like, "truth")], **options)
    writer = writer_of(target, data.kind)
    if truth is None and not data.named:
        return write_rows(data.name, data.pieces(), data.kind, target, writer, n_labels, shown=shown)
    if data.kind == "truth":
        pieces, match, _ = read_truth(data, None)
        if _keeps_names(writer, match):
            save(target, stack_rows(pieces.read(STREAMED_BYTES)), "truth", match.keys, match.names)
            return notes_of(data.name, match.origin)
        order = "rows and labels are numbered in the order in which it names them first"
        notes = notes_of(data.name, match.origin, order)
    elif truth is None:
        raise ValueError(f"{data.name}: has names; expected --like with the truth that they belong to")
    else:
        match = read_truth(truth, None, [data])[1].fork()
        placed = match.place("y_score", data.name, prediction_batches(data, match.origin))
        notes = [*notes_of(truth.name, match.origin), *notes_of(data.name, placed.origin), *match.notes]
        if not placed.scored:
            notes.append(f"{data.name}: no scores, taken best first and written as -1, -2 and so on")
        if _keeps_names(writer, match):
            save(target, listed_scores(placed.rows(), match.names), "scores", match.keys, match.names)
            return notes
        pieces = whole(listed_scores(placed.rows(), match.names), len(match.names))
    return [*notes, *write_rows(data.name, pieces, data.kind, target, writer, shown=shown)]


def _keeps_names(writer: Format, match: Match) -> bool:
    """Tell whether a format holds the names of rows and labels, which are words in TREC's files."""
    names = itertools.chain(match.keys or (), match.names)
    return writer in (QRELS, RUN) and all(words_of(name) == [name] for name in names)


def find_files(
    paths: Iterable[tuple[Path | None, str | None]], input_format: str | None = None, **fields: Any
) -> list[Any]:
    """Return the files that names stand for, with what is in them and the names of their fields."""
    inputs = [None if path is None else find_input(path, kind, input_format) for path, kind in paths]
    return with_fields(fields_of(fields), *inputs)


def writer_of(target: Path, kind: str | None = None) -> Format:
    """Return the format that the name of a file to be written tells, or refuse one for other kinds."""
    written = {end: form for form in FORMATS if form.write for end in form.extensions}
    form = next((written[end] for end in written if target.name.lower().endswith(end)), None)
    if form is None:
        expected = f"expected one of {', '.join(written)}"
        raise ValueError(f"{target}: its name does not tell a format that is written; {expected}")
    if kind not in (None, *form.holds):
        contents = "relevant labels" if kind == "truth" else "scores"
        raise ValueError(f"{target}: a {form.title} holds no {contents}; expected another name")
    return form


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
    """Write rows by number, changed, as they are read where sizes are known and the format allows it.

    A note tells in how many rows equal scores rank in another order in the written file.
    """
    is_sized = None not in (pieces.n_rows, pieces.n_labels) and pieces.locate is None  # one type of data
    is_streamed = is_sized and writer not in (NPZ, NPY)  # whose files have sizes of arrays at their beginning
    n_labels, reordered = n_labels or pieces.n_labels, list[int]()
    reader = RowReader(name, pieces, STREAMED_BYTES)
    arguments = dict.fromkeys(("y_score", "truth", "scores", "matrix"), reader)

    def changed(show: Callable[[int], object]) -> Iterator[Any]:
        for n in iter(reader.ready, 0):
            with naming_rows(arguments, reader.n_taken):
                rows = as_rows(change(reader.take(n)), kind)
                reordered.append(_count_reordered(writer, rows, n_labels) if kind == "scores" else 0)
            yield rows
            show(reader.n_taken)

    with closing(reader), progress(reader.n_rows, 0, shown) as show, naming_rows(arguments, 0):
        rows = changed(show)
        width = max(n_labels or 0, pieces.n_labels or 0)
        data = Pieces(pieces.n_rows, width, lambda n_bytes: rows) if is_streamed else stack_rows(rows)
        assert writer.write
        writer.write(target, data, kind, n_labels)
    keeping = " and ".join(form.extensions[0] for form in FORMATS if form.keeps_order)
    text = counted(sum(reordered), "rows have", "row has")
    return [f"{target}: {text} equal scores whose order is not kept; {keeping} keep it"] * any(reordered)


def write_scores(target: Path, rows: Rows, n_labels: int, name: str) -> list[str]:
    """Write scores with names or without, and return notes."""
    writer = writer_of(target, "scores")
    if rows.names is None:
        pieces = whole(rows, None if rows.best_first else n_labels)
        return write_rows(name, pieces, "scores", target, writer)
    save_run(target, writer, name, rows, rows.keys, rows.names)
    return []


def _count_reordered(writer: Format, data: Rows, n_labels: int | None) -> int:
    """Count rows with equal scores that rank otherwise in a format: by name in runs, by label id in most."""
    is_list, by_name = data.best_first, writer is RUN
    by_id = not (is_list or by_name or data.named)  # before and after
    if by_id or data.values is None or writer.keeps_order or (is_list and writer is NPZ and n_labels is None):
        return 0
    n_rows = 0
    for _, (ptr, labels, scores, *_) in canonical(data, "scores", n_labels):
        ties = np.setdiff1d(np.flatnonzero(scores[1:] == scores[:-1]), ptr - 1)  # in the same row
        first, second = labels[ties], labels[ties + 1]
        moved = ties[first.astype(str) < second.astype(str) if by_name else first > second]
        n_rows += np.unique(np.searchsorted(ptr, moved, side="right")).size
    return n_rows


def save_run(target: Path, writer: Format, name: str, rows: Rows, *names: Any) -> None:
    """Write scores with names of rows and labels, which a TREC run alone has."""
    if writer is not RUN:
        raise ValueError(f"{name}: has names; expected a TREC run (.run) as --output")
    save(target, rows, "scores", *names)
