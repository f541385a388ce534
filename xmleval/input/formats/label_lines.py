"""Texts with the labels of a row on each line and no header: ids, names, or either with scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

from xmleval.files.input import InputFile
from xmleval.input.formats.format import Format, naming
from xmleval.input.glances import VectorRows
from xmleval.input.lines import listed_rows, open_text, parsed_lines, shown
from xmleval.input.pieces import Pieces
from xmleval.input.rows import FileNotes, Rows, rows_in_batches
from xmleval.input.stack import sorted_rows
from xmleval.numerals import score_number

EXPECTED = "labels of a row on each line: ids, names, '__label__name ...', or 'label:score ...'"
ADVICE = (
    "convert vectors with np.save(NAME.npy, np.loadtxt(...)), or write a header 'rows 0 labels' above ids"
)
IDS = re.compile(rb"\s*[0-9]{1,15}(?:[ \t,]+[0-9]{1,15})*[ \t,\r]*(?:\n|$)")
MOST_DIGITS = 15
PREFIX = "__label__"  # of fastText
BEGIN_BYTES = 1 << 16  # which tell what is on the lines


def _begin(file: InputFile) -> bytes:
    with naming(file.path, EXPECTED), open_text(file) as text:
        return text.read(BEGIN_BYTES)


def ids_pieces(path: Path, kind: str) -> Pieces:
    """Read ids some rows at a time, as sets or as lists, unless the first line has names."""
    source = InputFile(path)
    begin = _begin(source)

    def read(n_bytes: int) -> Iterator[Any]:
        vectors, line = VectorRows(ADVICE), 1
        with naming(path, EXPECTED):
            for rows in listed_rows(parsed_lines(source, _ids), n_bytes):
                if kind == "scores":
                    yield rows._replace(best_first=True)
                    continue
                vectors.take(rows.ptr, rows.labels)
                lines, width = range(line, line + rows.n_rows), int(rows.labels.max(initial=0)) + 1
                yield sorted_rows(rows.ptr, rows.labels, None, width, lines)
                line = lines.stop
            vectors.close()

    return Pieces(None, None, read, named=bool(begin.strip()) and not IDS.match(begin))


def _ids(line: str) -> list[int]:
    words = line.replace(",", " ").split()
    for word in words:
        if not (word.isdigit() and word.isascii()) or len(word) > MOST_DIGITS:
            raise ValueError(f"{shown(word)} is not a label id, a whole number from 0 up")
    return [*map(int, words)]


def batches(path: Path, kind: str) -> Iterator[Rows]:
    """Yield the labels of each line that have names."""
    file = InputFile(path)
    is_fasttext = re.search(f"^{PREFIX}".encode(), _begin(file), re.MULTILINE) is not None
    parse = partial(_labels, kind=kind, prefix=PREFIX if is_fasttext else "")

    def entries() -> Iterator[tuple[str, list[str], list[float] | None, int]]:
        scored = None
        for number, (labels, scores) in parsed_lines(file, parse):
            if labels and scored not in (None, scores is not None):
                raise ValueError(f"line {number}: labels with scores, and others without")
            scored = scores is not None if labels else scored
            yield "", labels, scores, number

    with naming(path, EXPECTED):
        yield from rows_in_batches(entries(), FileNotes(), by_key=False, best_first=True)


def _labels(line: str, kind: str, prefix: str) -> tuple[list[str], list[float] | None]:
    """Return labels, and their scores if they have any: behind a colon, or as the words that follow them.

    Of fastText, labels stand in front of a text, or each is followed by its probability, or all by none.
    """
    words = line.split()
    if prefix:
        labels = [*takewhile(lambda word: word.startswith(prefix), words)]
        if kind != "scores" or len(labels) == len(words):
            return [label.removeprefix(prefix) for label in labels], None
        pairs = zip_longest(words[::2], words[1::2], fillvalue="")
        words = [f"{label.removeprefix(prefix)}:{label.startswith(prefix) * text}" for label, text in pairs]
    elif kind != "scores":
        return words, None
    parts = [word.rpartition(":") for word in words]
    scores = [score_number(text) if name else None for name, _, text in parts]
    known = [score for score in scores if score is not None]
    if not known and not prefix:
        return words, None
    if len(known) < len(words):
        raise ValueError(f"{shown(words[scores.index(None)])} is not a label with its score")
    return [name for name, _, _ in parts], known


LINES = Format(
    name="lines",
    title="text of labels, a row on each line",
    files="NAME.lines or NAME.lines.gz",
    extensions=(".lines", ".lines.gz"),
    pieces=ids_pieces,
    rows=batches,
)
