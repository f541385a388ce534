"""Multi-label svmlight files: labels with features, without a header."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.errors import InputError
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.line_errors import MOST_DIGITS, explain_list
from xmleval.input.formats.xmc import PER_PIECE
from xmleval.input.glances import VectorRows
from xmleval.input.lines import Lines, in_order, open_text, whole_lines
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows
from xmleval.input.stack import sorted_rows
from xmleval.kernels.decimal import SPARE
from xmleval.kernels.parsing import COMMA, HASH, blank_comments, count_byte, parse_lists
from xmleval.records import label_dtype

EXPECTED = "lines of 'label,label feature:value ...'"
ADVICE = "write the ids of the ones"
MOST_LABELS = 10**MOST_DIGITS


def svmlight_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read the labels of a multi-label svmlight file, packed by gzip or not, some rows at a time.

    Comments, blank lines and ``qid:`` tokens are passed over. Ids rise within each row.
    """
    source = InputFile(path)
    with naming(path, EXPECTED), open_text(source):
        pass

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, EXPECTED), open_text(source) as file:
            n_read = 0
            vectors = VectorRows(ADVICE)
            for rows in in_order(_parse, whole_lines(file, n_bytes // PER_PIECE, 1, allowance)):
                n_read += rows.n_rows
                vectors.take(rows.ptr, rows.labels)
                if rows.n_rows:
                    yield rows
            if not n_read:
                raise ValueError("no row in it")
            vectors.close()

    return Pieces(None, None, read)


def _parse(lines: Lines) -> Rows:
    """Return the rows of some lines."""
    text, n_lines = lines.text, lines.n_lines
    if count_byte(text, HASH):
        blank_comments(text[:-SPARE])
    ptr, row_lines = np.empty(n_lines + 1, np.int64), np.empty(n_lines, np.int64)
    labels = np.empty(n_lines + count_byte(text, COMMA), np.int64)
    n_rows, n_fine = parse_lists(text, n_lines, MOST_LABELS, True, ptr, labels, row_lines)
    ptr = ptr[: n_rows + 1]
    labels = labels[: ptr[-1]]
    VectorRows(ADVICE).take(ptr, labels)  # before they are sorted
    width = int(labels.max(initial=-1)) + 1
    labels = labels.astype(label_dtype(width), copy=False)
    try:
        rows = sorted_rows(ptr, labels, None, width)
    except InputError as error:
        raise ValueError(f"line {lines.first + row_lines[error.row or 0]}: {error.reason}") from None
    if n_fine < n_lines:
        wrong = explain_list(lines.line(n_fine), MOST_LABELS, loose=True)
        raise ValueError(f"line {lines.first + n_fine}: {wrong}")
    return rows


SVMLIGHT = Format(
    name="svmlight",
    title="multi-label svmlight file",
    files="NAME.svm, NAME.svmlight, NAME.libsvm, each also with .gz",
    extensions=(".svm", ".svmlight", ".libsvm", ".svm.gz", ".svmlight.gz", ".libsvm.gz"),
    kinds=("truth",),
    pieces=svmlight_pieces,
)
