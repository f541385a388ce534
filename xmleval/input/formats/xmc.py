"""Text files of the Extreme Classification Repository: labels with features, and labels with scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.errors import InputError
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.line_errors import explain_entries, explain_list, number_at
from xmleval.input.glances import VectorRows
from xmleval.input.lines import Lines, in_order, open_text, shown, whole_lines
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.stack import sorted_rows
from xmleval.input.writing import canonical, known_labels, replacing_text
from xmleval.kernels.decimal import ODD, round_decimals
from xmleval.kernels.parsing import COLON, COMMA, count_byte, parse_entries, parse_lists
from xmleval.message import counted
from xmleval.records import Floats, Ints, Labels, label_dtype

SCORES = "'rows labels' above lines of 'label:score ...'"
TRUTH = "'rows features labels' above lines of 'label,label feature:value ...', or " + SCORES
WITHOUT_HEADER = "; of labels alone, --input-format lines or NAME.lines; of TREC's lines, --input-format run"
HEADER = re.compile(rb"[ \t]*(\d{1,15})[ \t]+(\d{1,15})(?:[ \t]+(\d{1,15}))?[ \t]*\r?\n?")
HEADER_BYTES = 1024
PER_PIECE = 4  # no text is shorter than a fourth of what is made of it
ADVICE = "write the ids of the ones"


def xmc_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read a file of the Extreme Classification Repository, packed by gzip or not, some rows at a time.

    Truth is what lies before the features, or every label with a value other than 0; scores and grades are
    all stored values, zeros included. Scores are in the order of the file, other ids rise within a row. The
    first line is read at once; faults of others are found with the rows.
    """
    source, expected = InputFile(path), SCORES if kind == "scores" else TRUTH
    with naming(path, expected + WITHOUT_HEADER), open_text(source) as file:
        first = file.readline(HEADER_BYTES)
        header = HEADER.fullmatch(first)
        line = shown(first.removesuffix(b"\n"))
        if header is None:
            raise ValueError(f"line 1: {line} is not a header of two or three integers")
        sizes = [int(size) for size in header.groups() if size is not None]
        n_rows, n_labels, has_features = sizes[0], sizes[-1], len(sizes) == 3
        if has_features and kind == "scores":
            raise ValueError(f"line 1: header {line} of three integers, as above labels with features")

    def parse(lines: Lines) -> Rows:
        return parse_labels(lines, n_labels) if has_features else _parse_entries(lines, n_labels, kind)

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, expected), open_text(source) as file:
            file.read(len(first))
            lines = whole_lines(file, n_bytes // PER_PIECE, 2, allowance)
            yield from in_order(parse, _promised(lines, n_rows))

    return Pieces(n_rows, n_labels, read)


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


def parse_labels(lines: Lines, n_labels: int, *, loose: bool = False) -> Rows:
    """Return the labels before the features of each line, or refuse the first line that is wrong.

    ``loose`` passes over blank lines and ``qid:`` tokens; then other rows may have larger ids.
    """
    text, n_lines = lines.text, lines.n_lines
    ptr, numbers = np.empty(n_lines + 1, np.int64), np.empty(n_lines, np.int64)
    labels = np.empty(n_lines + count_byte(text, COMMA), label_dtype(n_labels))
    n_rows, n_fine = parse_lists(text, n_lines, n_labels, loose, ptr, labels, numbers)
    ptr, labels = ptr[: n_rows + 1], labels[: ptr[n_rows]]
    width = n_labels
    if loose:
        VectorRows(ADVICE).take(ptr, labels)  # before they are sorted
        width = int(labels.max(initial=-1)) + 1
    rows = _by_id(ptr, labels.astype(label_dtype(width), copy=False), None, width, lines.first + numbers)
    if n_fine < n_lines:
        raise ValueError(f"line {lines.first + n_fine}: {explain_list(lines.line(n_fine), n_labels, loose)}")
    return rows


def _by_id(ptr: Ints, labels: Labels, values: Any, n_labels: int, numbers: Sequence[int] | Ints) -> Rows:
    """Return rows with rising ids, or refuse an id that a row repeats by the number of its line."""
    try:
        return sorted_rows(ptr, labels, values, n_labels)
    except InputError as error:
        raise ValueError(f"line {numbers[error.row or 0]}: {error.reason}") from None


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
    numbers = range(lines.first, lines.first + n_fine)
    rows = _by_id(ptr, labels, None if kind == "scores" else scores, n_labels, numbers)
    if n_fine < lines.n_lines:
        raise ValueError(f"line {lines.first + n_fine}: {explain_entries(lines.line(n_fine), n_labels)}")
    if kind == "scores":  # which stay in the order of the file
        return rows_by_id(ptr, labels, scores)._replace(is_written=True)
    if kind == "truth":
        assert rows.values is not None
        rows = rows.only(rows.values != 0)
        return rows._replace(values=None) if np.all(rows.values == 1) else rows
    return rows


def _settle(text: NDArray[np.uint8], scores: Floats, powers: NDArray[np.int16]) -> int:
    """Turn what `parse_entries` left into scores, in place; return the first that is no number, or all."""
    bits, e = scores.view(np.uint64), 0
    while (e := round_decimals(scores, powers, e)) < scores.size:
        sign, digits = divmod(int(bits[e]), 1 << 63)
        is_odd = powers[e] == ODD
        number = number_at(text, digits) if is_odd else float(f"{'-' * sign}{digits}e{powers[e]}")
        if number is None:
            break
        scores[e] = number
        e += 1
    return e


def save_xmc(path: Path, data: Rows | Pieces, kind: str, n_labels: int | None) -> None:
    """Write rows of sets or of scores below a header."""
    if (width := known_labels(data, n_labels)) is None:
        assert isinstance(data, Rows)
        width = int(data.labels.max(initial=0)) + 1
    with replacing_text(path) as file:
        file.write(f"{data.n_rows} {width}\n".encode())
        for _, block in canonical(data, "truth" if kind == "truth" else "entries", width):
            file.write(_text(block.ptr, block.labels, getattr(block, "values", None)))


def _text(ptr: Ints, labels: Labels, data: NDArray[Any] | None) -> bytes:
    """Return the lines of some rows; sets have no data."""
    data = np.ones(labels.size, np.uint8) if data is None else data
    numbers = data.astype(np.uint8 if data.dtype.kind == "b" else data.dtype)
    if data.dtype.kind == "f" and data.dtype.itemsize <= 4:  # with digits of its own, but as `repr` has them
        numbers = data.astype(np.float32).astype("U32").astype(np.float64)
    entries = [*map("{}:{!r}".format, labels.tolist(), numbers.tolist())]
    return "".join(f"{' '.join(entries[start:stop])}\n" for start, stop in pairwise(ptr.tolist())).encode()


XMC = Format(
    name="xmc",
    title="text file of the Extreme Classification Repository",
    files="NAME.txt, NAME.txt.gz",
    extensions=(".txt", ".txt.gz"),
    pieces=xmc_pieces,
    write=save_xmc,
    by_pieces=True,
)
