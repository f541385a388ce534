"""Text files of the Extreme Classification Repository: labels with features, and labels with scores."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.csr import (
    Source,
    checked,
    cut_entries,
    is_sparse,
    matrix_rows,
    rows_at_a_time,
)
from xmleval.input.errors import InputError
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.line_errors import explain_entries, explain_list, number_at
from xmleval.input.lines import Lines, in_order, open_text, shown, whole_lines
from xmleval.input.pieces import Pieces
from xmleval.input.reader import whole
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.scores import refuse_padding
from xmleval.input.sets import set_rows
from xmleval.input.stack import sorted_rows
from xmleval.input.writing import entries_of, known_labels, replacing_text
from xmleval.kernels.decimal import ODD, round_decimals
from xmleval.kernels.formatting import LONGEST, write_floats, write_integers
from xmleval.kernels.parsing import COLON, COMMA, count_byte, parse_entries, parse_lists
from xmleval.message import counted
from xmleval.records import Floats, Ints, Labels, label_dtype

SCORES = "'rows labels' above lines of 'label:score ...'"
EXPECTED = {
    "truth": "'rows features labels' above lines of 'label,label feature:value ...', "
    "or 'rows labels' above lines of 'label:1 ...'; of ids without a header, --input-format lines",
    "scores": f"{SCORES}; of labels without a header, --input-format lines",
}
EXPECTED["grades"] = EXPECTED["truth"]
KINDS = ("truth", "scores")
HEADER = re.compile(rb"[ \t]*(\d{1,15})[ \t]+(\d{1,15})(?:[ \t]+(\d{1,15}))?[ \t]*\r?")
HEADER_BYTES = 1024
PER_PIECE = 4  # no text is shorter than a fourth of what is made of it
WHOLE_BYTES = 4 << 20  # pieces of a file that is read at once
PER_PART = 8  # rows are written in parts of an eighth of a block, whose text stays in the cache


class Header(NamedTuple):
    """What the first line promises, and its bytes."""

    n_rows: int
    n_labels: int
    has_features: bool
    line: bytes


def xmc_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a file of the Extreme Classification Repository, packed by gzip or not, some rows at a time.

    Truth is what lies before the features, or every label with a value other than 0; scores and grades are
    all stored values, zeros included. Scores are in the order of the file, other ids rise within a row. The
    first line is read at once; faults of others are found with the rows.
    """
    source = InputFile(path)
    with naming(path, EXPECTED[kind]), open_text(source) as file:
        header = _read_header(file, kind)

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, EXPECTED[kind]), open_text(source) as file:
            file.read(len(header.line))
            yield from _read_rows(file, header, kind, n_bytes, allowance)

    return Pieces(header.n_rows, header.n_labels, read)


def _read_header(file: IO[bytes], kind: str) -> Header:
    start = file.read(HEADER_BYTES)
    line, newline, _ = start.partition(b"\n")
    found = HEADER.fullmatch(line)
    if found is None:
        raise ValueError(f"line 1: {shown(line)} is not a header of two or three integers")
    sizes = [int(size) for size in found.groups() if size is not None]
    if len(sizes) == 3 and kind == "scores":
        raise ValueError(f"line 1: header {shown(line)} of three integers, as above labels with features")
    return Header(sizes[0], sizes[-1], len(sizes) == 3, line + newline)


def _read_rows(
    file: IO[bytes], header: Header, kind: str, n_bytes: int, allowance: Allowance
) -> Iterator[Any]:
    def parse(lines: Lines) -> Rows:
        try:
            if header.has_features:
                return _parse_lists(lines, header.n_labels)
            return _parse_entries(lines, header.n_labels, kind)
        except InputError as error:
            raise ValueError(f"line {lines.first + (error.row or 0)}: {error.reason}") from None

    lines = whole_lines(file, n_bytes // PER_PIECE, 2, allowance)
    return in_order(parse, _promised(lines, header.n_rows))


def _promised(blocks: Iterable[Lines], n_rows: int) -> Iterator[Lines]:
    """Pass on as many lines as the header promises, and refuse more and fewer."""
    n_read = 0
    for lines in blocks:
        n_lines = min(lines.n_lines, n_rows - n_read)
        n_read += n_lines
        if n_lines:
            yield lines._replace(n_lines=n_lines)
        if n_lines < lines.n_lines:
            raise ValueError(f"line {n_read + 2}: more than the {n_read} rows that the header promises")
    if n_read < n_rows:
        raise ValueError(f"{counted(n_read, 'rows')} where the header promises {n_rows}")


def _parse_lists(lines: Lines, n_labels: int) -> Rows:
    n_lines = lines.n_lines
    ptr, row_lines = np.empty(n_lines + 1, np.int64), np.empty(n_lines, np.int64)
    labels = np.empty(n_lines + count_byte(lines.text, COMMA), label_dtype(n_labels))
    n_fine, _ = parse_lists(lines.text, n_lines, n_labels, False, ptr, labels, row_lines)
    ptr, labels = ptr[: n_fine + 1], labels[: ptr[n_fine]]
    rows = sorted_rows(ptr, labels, None, n_labels)
    if n_fine < n_lines:
        wrong = explain_list(lines.line(n_fine), n_labels, loose=False)
        raise ValueError(f"line {lines.first + n_fine}: {wrong}")
    return rows


def _parse_entries(lines: Lines, n_labels: int, kind: str) -> Rows:
    # an entry takes four bytes, so that no memory is taken for colons alone
    n_most = min(count_byte(lines.text, COLON), lines.text.size // 4)
    ptr, labels = np.empty(lines.n_lines + 1, np.int64), np.empty(n_most, label_dtype(n_labels))
    scores, powers = np.empty(n_most), np.empty(n_most, np.int16)
    n_fine = parse_entries(lines.text, lines.n_lines, n_labels, ptr, labels, scores, powers)
    n_entries = int(ptr[n_fine])
    n_settled = _settle(lines.text, scores[:n_entries], powers)
    if n_settled < n_entries:
        n_fine = int(np.searchsorted(ptr[: n_fine + 1], n_settled, side="right")) - 1
        n_entries = int(ptr[n_fine])
    ptr, labels, scores = ptr[: n_fine + 1], labels[:n_entries], scores[:n_entries]
    rows = sorted_rows(ptr, labels, None if kind == "scores" else scores, n_labels)
    if kind == "scores":  # which stay in the order of the file
        rows = rows_by_id(ptr, labels, scores)._replace(is_written=True)
    if n_fine < lines.n_lines:
        raise ValueError(f"line {lines.first + n_fine}: {explain_entries(lines.line(n_fine), n_labels)}")
    if kind != "truth":
        return rows
    assert rows.values is not None
    rows = rows.only(rows.values != 0)
    return rows._replace(values=None) if np.all(rows.values == 1) else rows


def _settle(text: NDArray[np.uint8], scores: Floats, powers: NDArray[np.int16]) -> int:
    """Turn what `parse_entries` left into scores, in place; return the first that is no number, or all."""
    bits = scores.view(np.uint64)
    e = 0
    while (e := round_decimals(scores, powers, e)) < scores.size:
        held, power = int(bits[e]), int(powers[e])
        if power == ODD:
            number = number_at(text, held)
            if number is None:
                break
        else:
            sign, digits = divmod(held, 1 << 63)
            number = float(f"{'-' * sign}{digits}e{power}")
        scores[e] = number
        e += 1
    return e


def write_xmc(path: str | os.PathLike[str], matrix: Any, kind: str) -> None:
    r"""Write a matrix as lines of ``label:score`` below a header of its numbers of rows and labels.

    Parameters
    ----------
    path : path
        File to write, whole or not at all; compressed by gzip where its name ends in .gz.
    matrix : sparse matrix or array of shape (m, l)
        Every stored entry of scores is written, zeros included, in the shortest text that float64, or
        float32 for narrower types, reads back as itself. A truth may hold 0 and 1 only; its zeros are
        left out.
    kind : {"truth", "scores"}
        What the matrix holds.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the matrix is not sparse or not valid, or holds values that a truth cannot have.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import scipy.sparse
    >>> from xmleval.io import write_xmc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.txt"
    ...     write_xmc(path, scipy.sparse.csr_array([[0.5, 0, 0.25], [0, 1e-7, 0]]), "scores")
    ...     path.read_text()
    '2 3\n0:0.5 2:0.25\n1:1e-07\n'
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(KINDS)}")
    if not is_sparse(matrix):
        raise InputError("matrix", "not a SciPy sparse matrix or array")
    if kind == "scores":
        refuse_padding("matrix", matrix)
    _write(Path(path), whole(matrix_rows("matrix", matrix, None), matrix.shape[1]), kind)


def _write(path: Path, pieces: Pieces, kind: str) -> None:
    """Write sparse rows, while threads turn those behind them into text."""
    with replacing_text(path) as file:
        file.write(f"{pieces.n_rows} {pieces.n_labels}\n".encode())
        for text in in_order(_lines_of, _parts(pieces, kind)):
            file.write(text)


class _Part(NamedTuple):
    """Some rows of a piece; ``first`` is the number of the first row of the piece."""

    rows: Source[Any]
    first: int
    start: int
    stop: int


def _parts(pieces: Pieces, kind: str) -> Iterator[_Part]:
    first = 0
    assert pieces.n_labels is not None
    for own in pieces.read(WHOLE_BYTES):
        cut = partial(cut_entries, "matrix", own, pieces.n_labels)
        row_bytes = 16.0 * own.labels.size / max(own.n_rows, 1)
        entries = Source(own.n_rows, pieces.n_labels, row_bytes, cut)
        rows: Source[Any] = entries if kind == "scores" else set_rows("matrix", own, None, pieces.n_labels)
        size = rows_at_a_time(PER_PART * rows.bytes_per_row)
        for start in range(0, rows.n_rows, size):
            yield _Part(rows, first, start, min(start + size, rows.n_rows))
        first += rows.n_rows


def _lines_of(part: _Part) -> NDArray[np.uint8]:
    """Return the lines of some rows, or refuse the first offending one."""
    try:
        block = checked(part.rows.block, part.start, part.stop)
    except InputError as error:
        row = None if error.row is None else part.first + error.row
        raise InputError(error.argument, error.reason, row=row, value=error.value) from None
    data = getattr(block, "data", None)  # which sets have not
    return _text(block.ptr, block.labels, np.ones(block.labels.size, np.uint8) if data is None else data)


def _as_pieces(data: Any, n_labels: int | None) -> Pieces:
    if isinstance(data, Pieces):
        return data
    rows = entries_of(data, n_labels)
    return whole(rows, known_labels(rows, n_labels))


def _text(ptr: Ints, labels: Labels, data: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the lines of some rows."""
    text = np.empty(LONGEST * labels.size + ptr.size, np.uint8)
    if data.dtype.kind in "biu":
        negative, sizes = data < 0, data.astype(np.uint64)
        n = write_integers(ptr, labels, negative, np.where(negative, 0 - sizes, sizes), text)
    elif data.dtype.itemsize > 4:
        bits = np.ascontiguousarray(data, np.float64).view(np.uint64)
        n = write_floats(ptr, labels, bits, 52, 11, text)
    else:
        n = write_floats(ptr, labels, np.ascontiguousarray(data, np.float32).view(np.uint32), 23, 8, text)
    return text[:n]


XMC = Format(
    name="xmc",
    title="text file of the Extreme Classification Repository",
    files="NAME.txt, NAME.txt.gz",
    extensions=(".txt", ".txt.gz"),
    pieces=xmc_pieces,
    write=lambda path, data, kind, n_labels: _write(path, _as_pieces(data, n_labels), kind),
    by_pieces=True,
)
