"""Texts with the labels of a row on each line: the Extreme Classification Repository, svmlight, bare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, label_dtype
from xmleval.base.errors import counted, shown
from xmleval.base.numerals import DECIMAL, decimal_number, score_number
from xmleval.files.input import InputFile
from xmleval.input.formats.format import Format, naming
from xmleval.input.glances import VECTORS, vector_width, without_vectors
from xmleval.input.lines import (
    Lines,
    in_order,
    listed_rows,
    open_text,
    parsed_lines,
    whole_lines,
    words_of,
)
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Origin, RowBatches, Rows, rows_by_id
from xmleval.input.stack import sorted_rows, width_of
from xmleval.input.writing import canonical, known_labels, replacing_text
from xmleval.kernels.decimal import ODD, SPARE, round_decimals
from xmleval.kernels.parsing import (
    COLON,
    COMMA,
    HASH,
    SPACE,
    blank_comments,
    count_byte,
    parse_entries,
    parse_lists,
)

SCORES = "'rows labels' above lines of 'label:score ...'"
TRUTH = "'rows features labels' above lines of 'label,label feature:value ...', or " + SCORES
SVMLIGHT_LINES = "lines of 'label,label feature:value ...'"
WITHOUT_HEADER = "; of labels alone, --input-format lines or NAME.lines; of TREC's lines, --input-format "
HEADER = re.compile(rb"[ \t]*(\d{1,15})[ \t]+(\d{1,15})(?:[ \t]+(\d{1,15}))?[ \t]*\r?\n?")
HEADER_BYTES = 1024
MOST_DIGITS = 15  # of a label id, which leaves it far within an int64
ADVICE = "write the ids of the ones"
BLANKS = re.compile(rb"[ \t]+")
UP_TO_BLANK = re.compile(rb"[^ \t\n]+?(?=[ \t\n]|\r\n)")
LABEL = re.compile(rb"(0|[1-9]\d*)(?:\.0*)?")
CODE = re.compile(rb"0\d+(?:\.0*)?")
CODES = "has a leading zero, as codes have; ids are whole numbers, and NAME.lines and .csv may hold names"
FEATURE = re.compile(rb"\d[\d.+a-z-]*(?<=\d):[\d.+a-z-]+", re.IGNORECASE)
ENTRY = re.compile(rb"\d+:" + DECIMAL.encode(), re.IGNORECASE)
LABELS = "labels of a row on each line: ids, names, '__label__name ...', or 'label:score ...'"
ADVICE_OF_LINES = (
    "convert vectors with np.save(NAME.npy, np.loadtxt(...)), or write a header 'rows 0 labels' above ids"
)
IDS = re.compile(rb"\s*[0-9]{1,15}(?:[ \t,]+[0-9]{1,15})*[ \t,\r]*(?:\n|$)")
ZERO, NINE = b"09"
SCANNED_BYTES = 1 << 20
PREFIX = "__label__"  # of fastText
BEGIN_BYTES = 1 << 16  # which tell what is on the lines


def xmc_pieces(path: Path, kind: str) -> Pieces:
    """Read a file of the Extreme Classification Repository; truth is what lies before any features."""
    source = InputFile(path)
    expected = SCORES if kind == "scores" else TRUTH
    hint = WITHOUT_HEADER + ("run" if kind == "scores" else "qrels")
    with naming(path, expected + hint), open_text(source) as file:
        first = file.readline(HEADER_BYTES)
        header = HEADER.fullmatch(first)
        line = shown(first.removesuffix(b"\n"))
        if header is None:
            raise ValueError(f"line 1: {line} is not a header of two or three integers")
        sizes = [int(size) for size in header.groups() if size is not None]
        n_rows = sizes[0]
        n_labels = sizes[-1]
        has_features = len(sizes) == 3
        if has_features and kind == "scores":
            raise ValueError(f"line 1: header {line} of three integers, as above labels with features")
    parse = partial(_parse_labels, n_labels) if has_features else partial(_parse_entries, n_labels, kind)

    def read(n_bytes: int) -> Iterator[Any]:
        n_read = 0
        with naming(path, expected), open_text(source) as file:
            file.read(len(first))
            for rows in in_order(parse, whole_lines(file, n_bytes, 2)):
                n_read += rows.n_rows
                if n_read > n_rows:
                    promise = f"more than the {n_rows} rows that the header promises"
                    raise ValueError(f"line {n_rows + 2}: {promise}")
                yield rows
            if n_read < n_rows:
                raise ValueError(f"{counted(n_read, 'rows')} where the header promises {n_rows}")

    return Pieces(n_rows, n_labels, read)


def svmlight_pieces(path: Path, kind: str) -> Pieces:
    """Read the labels of a multi-label svmlight file, some rows at a time."""
    source = InputFile(path)
    with naming(path, SVMLIGHT_LINES), open_text(source):
        pass

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, SVMLIGHT_LINES), open_text(source) as file:
            n_read = 0
            parse = partial(_parse_labels, 10**MOST_DIGITS, loose=True)
            for rows in without_vectors(in_order(parse, whole_lines(file, n_bytes, 1)), ADVICE):
                n_read += rows.n_rows
                yield rows
            if not n_read:
                raise ValueError("no row in it")

    return Pieces(None, None, read)


def _parse_labels(n_labels: int, lines: Lines, loose: bool = False) -> Rows:
    """Return the labels before the features of each line; ``loose`` of comments, blank lines and ``qid:``."""
    text, n_lines = lines.text, lines.n_lines
    if loose and count_byte(text, HASH):
        blank_comments(text[:-SPARE])
    ptr, numbers = np.empty(n_lines + 1, np.int64), np.empty(n_lines, np.int64)
    labels = np.empty(n_lines + count_byte(text, COMMA), label_dtype(n_labels))
    n_rows, n_fine = parse_lists(text, n_lines, n_labels, loose, ptr, labels, numbers)
    ptr, labels = ptr[: n_rows + 1], labels[: ptr[n_rows]]
    if loose and ptr.size > 1 and vector_width(ptr, labels)[1]:  # which sorting takes for ids that repeat
        raise ValueError(f"{VECTORS}; {ADVICE}")
    width = int(labels.max(initial=-1)) + 1 if loose else n_labels
    rows = sorted_rows(ptr, labels, None, width, lines.first + numbers)._replace(are_lists=loose)
    if n_fine < n_lines:
        raise ValueError(f"line {lines.first + n_fine}: {_fault(lines.line(n_fine), n_labels, True, loose)}")
    return rows


def _parse_entries(n_labels: int, kind: str, lines: Lines) -> Rows:
    """Return the labels and scores of each line, or refuse the first line that is wrong."""
    text = lines.text
    n_lines = lines.n_lines
    n_most = count_byte(lines.text, COLON)
    ptr, labels = np.empty(n_lines + 1, np.int64), np.empty(n_most, label_dtype(n_labels))
    scores, powers = np.empty(n_most), np.empty(n_most, np.int16)
    n_fine = parse_entries(text, n_lines, n_labels, ptr, labels, scores, powers)
    n_numbers = _settle(text, scores[: ptr[n_fine]], powers)
    n_fine = int(np.searchsorted(ptr[: n_fine + 1], n_numbers, side="right")) - 1
    ptr, labels, scores = ptr[: n_fine + 1], labels[: ptr[n_fine]], scores[: ptr[n_fine]]
    are_scores = kind == "scores"
    numbers = range(lines.first, lines.first + n_fine)
    rows = sorted_rows(ptr, labels, None if are_scores else scores, n_labels, numbers)
    if n_fine < n_lines:
        raise ValueError(f"line {lines.first + n_fine}: {_fault(lines.line(n_fine), n_labels, False)}")
    if are_scores:  # which stay in the order of the file
        return rows_by_id(ptr, labels, scores)._replace(is_written=True)
    return rows._replace(values=None) if bool((scores == 1).all()) else rows


def _settle(text: NDArray[np.uint8], scores: Floats, powers: NDArray[np.int16]) -> int:
    """Turn what `parse_entries` left into scores, in place; return the first that is no number, or all."""
    bits = scores.view(np.uint64)
    e = 0
    while (e := round_decimals(scores, powers, e)) < scores.size:
        sign, digits = divmod(int(bits[e]), 1 << 63)
        token = UP_TO_BLANK.match(text.data, digits) if powers[e] == ODD else None
        number = decimal_number(token[0] if token else f"{'-' * sign}{digits}e{powers[e]}")
        if number is None:
            break
        scores[e] = number
        e += 1
    return e


def _fault(line: bytes, n_labels: int, has_features: bool, loose: bool = False) -> str:
    """Say what keeps a line from being ``label:score`` tokens, or labels and then ``feature:value`` ones."""
    words = BLANKS.split(line.lstrip(b" \t") if loose else line)
    if has_features:
        pattern, sought = FEATURE, "feature:value"
        ids = [] if b":" in words[0] else words.pop(0).split(b",")
    else:
        pattern, sought = ENTRY, "label:score"
        ids = [word.partition(b":")[0] for word in words if word]
    if loose and words and words[0].startswith(b"qid:"):
        del words[0]
    for word in words:
        if word and not pattern.fullmatch(word):
            return f"{shown(word)} is not {sought}"
    faults = (_fault_of_id(text, n_labels) for text in ids)
    return next(filter(None, faults), f"{shown(line)} cannot be read")


def _fault_of_id(text: bytes, n_labels: int) -> str:
    """Say what keeps a text from being a label id, nothing of one that is."""
    number = LABEL.fullmatch(text)
    if CODE.fullmatch(text):
        return f"{shown(text)} {CODES}"
    if number is None:
        return f"{shown(text)} is not a label id, a whole number from 0 up"
    if len(number[1]) > MOST_DIGITS or int(number[1]) >= n_labels:
        hint = "; ids look one-based" if number[1] == str(n_labels).encode() else ""
        return f"label id {number[1][:40].decode()} is not in 0..{n_labels - 1}{hint}"
    return ""


def save_xmc(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write rows of sets or of scores below a header."""
    width = known_labels(data, n_labels) or width_of(data.labels)
    with replacing_text(path) as file:
        file.write(f"{data.n_rows} {width}\n".encode())
        for _, block in canonical(data, "truth" if kind == "truth" else "entries", width):
            values = getattr(block, "values", np.ones(block.labels.size, np.uint8))
            if values.dtype.kind == "f" and values.dtype.itemsize <= 4:  # with digits of its own
                values = values.astype(np.float32).astype("U32").astype(np.float64)
            numbers = values.astype(np.uint8) if values.dtype.kind == "b" else values
            entries = [*map("{}:{!r}".format, block.labels.tolist(), numbers.tolist())]
            lines = (f"{' '.join(entries[start:stop])}\n" for start, stop in pairwise(block.ptr.tolist()))
            file.write("".join(lines).encode())


def _begin(file: InputFile) -> bytes:
    with naming(file.path, LABELS), open_text(file) as text:
        return text.read(BEGIN_BYTES)


def ids_pieces(path: Path, kind: str) -> Pieces:
    """Read ids some rows at a time, as sets or as lists, unless they are names."""
    source = InputFile(path)
    begin = _begin(source)
    are_ids = IDS.match(begin) is not None

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, LABELS):
            batches = listed_rows(parsed_lines(source, _ids_of), n_bytes)
            line = 1
            if kind == "scores":
                yield from (rows._replace(best_first=True) for rows in batches)
                return
            for rows in without_vectors((rows._replace(are_lists=True) for rows in batches), ADVICE_OF_LINES):
                lines = range(line, line + rows.n_rows)
                width = int(rows.labels.max(initial=0)) + 1
                yield sorted_rows(rows.ptr, rows.labels, None, width, lines)
                line = lines.stop

    has_names = bool(begin.strip()) and not are_ids
    return Pieces(None, None, read, named=has_names or (are_ids and _has_codes(source)))


def _has_codes(file: InputFile) -> bool:
    """Tell whether a word of digits has a leading zero; then all words are names."""
    with naming(file.path, LABELS), open_text(file) as text:
        before = b"\n"
        while chunk := text.read(SCANNED_BYTES):
            read = np.frombuffer(before + chunk, np.uint8)
            is_first = (read[:-2] == COMMA) | (read[:-2] <= SPACE)
            is_digit = (read[2:] >= ZERO) & (read[2:] <= NINE)
            if (is_first & (read[1:-1] == ZERO) & is_digit).any():
                return True
            before = read[-2:].tobytes()
    return False


def _ids_of(line: str) -> list[int]:
    words = words_of(line.replace(",", " "))
    for word in words:
        if not (word.isdigit() and word.isascii()) or len(word) > MOST_DIGITS:
            raise ValueError(f"{shown(word)} is not a label id, a whole number from 0 up")
    return [*map(int, words)]


def named_lines(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the labels of each line that have names."""
    facts = Origin()
    batches = RowBatches(by_key=False, best_first=True)
    parse: Callable[[str], tuple[list[str], list[float] | None]] | None = None
    for path in paths:
        file = InputFile(path)
        begin = _begin(file)
        if parse is None and IDS.match(begin):
            parse = partial(_codes_of, notes=facts.notes)
        elif parse is None:
            is_fasttext = re.search(f"^{PREFIX}".encode(), begin, re.MULTILINE) is not None
            parse = partial(_names_of, kind=kind, prefix=PREFIX if is_fasttext else "")
        entries = (("", *labels, number) for number, labels in parsed_lines(file, parse))
        with naming(path, LABELS):
            yield from batches.read(entries, facts.of_file(path, paths))


def _codes_of(line: str, notes: list[str]) -> tuple[list[str], None]:
    """Return names between blanks or commas, as ids are; note once that one has a leading zero."""
    words = words_of(line.replace(",", " "))
    if not notes and (code := next((word for word in words if word[0] == "0" != word), None)):
        notes.append(f"read as names, as {shown(code)} has a leading zero")
    return words, None


def _names_of(line: str, kind: str, prefix: str) -> tuple[list[str], list[float] | None]:
    """Return labels, and their scores if they have any: behind a colon or, of fastText, in the next word."""
    words = words_of(line)
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
    numbers = [score for score in scores if score is not None]
    if not numbers and not prefix:
        return words, None
    if len(numbers) < len(words):
        raise ValueError(f"{shown(words[scores.index(None)])} is not a label with its score")
    return [name for name, _, _ in parts], numbers


XMC = Format(
    name="xmc",
    title="text file of the Extreme Classification Repository",
    extensions=(".txt", ".txt.gz"),
    pieces=xmc_pieces,
    write=save_xmc,
)
SVMLIGHT = Format(
    name="svmlight",
    title="multi-label svmlight file",
    extensions=(".svm", ".svmlight", ".libsvm", ".svm.gz", ".svmlight.gz", ".libsvm.gz"),
    holds=("truth",),
    pieces=svmlight_pieces,
)
LINES = Format(
    name="lines",
    title="text of labels, a row on each line",
    extensions=(".lines", ".lines.gz"),
    pieces=ids_pieces,
    rows=named_lines,
)
