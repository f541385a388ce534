"""Multi-label svmlight files: labels with features, without a header."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.line_errors import MOST_DIGITS
from xmleval.input.formats.xmc import ADVICE, PER_PIECE, parse_labels
from xmleval.input.glances import VectorRows
from xmleval.input.lines import Lines, in_order, open_text, whole_lines
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows
from xmleval.kernels.decimal import SPARE
from xmleval.kernels.parsing import HASH, blank_comments, count_byte

EXPECTED = "lines of 'label,label feature:value ...'"
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
            n_read, vectors = 0, VectorRows(ADVICE)
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
    if count_byte(lines.text, HASH):
        blank_comments(lines.text[:-SPARE])
    return parse_labels(lines, MOST_LABELS, loose=True)


SVMLIGHT = Format(
    name="svmlight",
    title="multi-label svmlight file",
    files="NAME.svm, NAME.svmlight, NAME.libsvm, each also with .gz",
    extensions=(".svm", ".svmlight", ".libsvm", ".svm.gz", ".svmlight.gz", ".libsvm.gz"),
    holds=("truth",),
    pieces=svmlight_pieces,
)
