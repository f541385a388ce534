"""Texts with the labels of a row on each line and no header: ids, names, or either with scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import PIECE_BYTES, UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.errors import InputError
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.line_errors import MOST_DIGITS
from xmleval.input.glances import VectorRows
from xmleval.input.lines import LINE_BYTES, Lines, open_text, shown, whole_lines
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Batch, Facts, Rows, rows_by_id
from xmleval.input.stack import sorted_rows
from xmleval.kernels.decimal import SPARE
from xmleval.numerals import score_number

EXPECTED = "labels of a row on each line: ids, names, '__label__name ...', or 'label:score ...'"
ADVICE = (
    "convert vectors with np.save(NAME.npy, np.loadtxt(...)), or write a header 'rows 0 labels' above ids"
)
IDS = re.compile(rb"\s*[0-9]{1,15}(?:[ \t,]+[0-9]{1,15})*[ \t,\r]*(?:\n|$)")
PER_PIECE = 2 * LINE_BYTES  # of memory for each byte of a line of ids
PREFIX = "__label__"  # of fastText
BEGIN_BYTES = 1 << 16  # which tell what is on the lines


def _begin(path: Path) -> bytes:
    with naming(path, EXPECTED), open_text(InputFile(path)) as file:
        return file.read(BEGIN_BYTES)


def ids_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read ids some rows at a time, as sets or as lists, unless the first line has names."""
    begin = _begin(path)
    source = InputFile(path)

    def read(n_bytes: int) -> Iterator[Any]:
        vectors = VectorRows(ADVICE)
        with naming(path, EXPECTED), open_text(source) as file:
            for lines in whole_lines(file, n_bytes // PER_PIECE, 1, allowance):
                rows = [_ids(number, line) for number, line in _numbered(lines)]
                flat = np.array([label for row in rows for label in row], np.int64)
                ptr = np.cumsum([0, *map(len, rows)])
                if kind == "scores":
                    yield rows_by_id(ptr, flat, best_first=True)
                    continue
                vectors.take(ptr, flat)
                try:
                    yield sorted_rows(ptr, flat, None, int(flat.max(initial=0)) + 1)
                except InputError as error:
                    raise ValueError(f"line {lines.first + (error.row or 0)}: {error.reason}") from None
            vectors.close()

    return Pieces(None, None, read, named=bool(begin.strip()) and not IDS.match(begin))


def _numbered(lines: Lines) -> Iterator[tuple[int, bytes]]:
    texts = lines.text[:-SPARE].tobytes().split(b"\n")
    return enumerate(texts[: lines.n_lines], lines.first)


def _ids(number: int, line: bytes) -> list[int]:
    words = line.replace(b",", b" ").split()
    for word in words:
        if not word.isdigit() or len(word) > MOST_DIGITS:
            raise ValueError(f"line {number}: {shown(word)} is not a label id, a whole number from 0 up")
    return [*map(int, words)]


def batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the labels of each line that have names."""
    is_fasttext = re.search(f"^{PREFIX}".encode(), _begin(path), re.MULTILINE) is not None
    batch, scored = Batch(Facts(), by_key=False, best_first=True), None
    with naming(path, EXPECTED), open_text(InputFile(path)) as file:
        for lines in whole_lines(file, PIECE_BYTES // PER_PIECE, 1, allowance):
            for number, line in _numbered(lines):
                try:
                    labels, scores = _labels(line.decode("utf-8").split(), kind, is_fasttext)
                    if labels and scored not in (None, scores is not None):
                        raise ValueError("labels with scores, and others without")
                except UnicodeDecodeError as error:
                    raise ValueError(f"line {number} is not in UTF-8 ({error.reason})") from None
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
                scored = scores is not None if labels else scored
                batch.add("", labels, scores, number)
                if batch.is_full:
                    yield batch.rows()
        yield batch.rows()


def _labels(words: list[str], kind: str, is_fasttext: bool) -> tuple[list[str], list[float] | None]:
    """Return labels, and their scores if they have any: behind a colon, or as the words that follow them.

    Of fastText, labels stand in front of a text, or each is followed by its probability, or all by none.
    """
    if is_fasttext:
        n_labels = next((n for n, word in enumerate(words) if not word.startswith(PREFIX)), len(words))
        if kind != "scores" or n_labels == len(words):
            return [word.removeprefix(PREFIX) for word in words[:n_labels]], None
        pairs = [*zip(words[::2], [*words[1::2], ""], strict=False)]
        pairs = [(word.removeprefix(PREFIX), text * word.startswith(PREFIX)) for word, text in pairs]
    elif kind == "scores":
        pairs = [(name, text) for name, _, text in (word.rpartition(":") for word in words)]
    else:
        return words, None
    scores = [score_number(text) if name else None for name, text in pairs]
    if not is_fasttext and not any(score is not None for score in scores):
        return words, None
    if None in scores:
        raise ValueError(f"{shown(' '.join(pairs[scores.index(None)]))} is not a label with its score")
    return [name for name, _ in pairs], [score for score in scores if score is not None]


LINES = Format(
    name="lines",
    title="text of labels, a row on each line",
    files="NAME.lines or NAME.lines.gz",
    extensions=(".lines", ".lines.gz"),
    pieces=ids_pieces,
    rows=batches,
)
