"""Texts with the labels of a row on each line: XMC repository, svmlight, and bare labels."""

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
from xmleval.base.errors import ONE_BASED, counted, shown
from xmleval.base.numerals import DECIMAL, ID, decimal_number, score_number
from xmleval.files.input import InputFile
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import (
    Lines,
    in_order,
    listed_rows,
    open_text,
    parsed_lines,
    split_words,
    whole_lines,
)
from xmleval.input.pieces import Pieces
from xmleval.input.plausibility import VECTORS, vector_width, without_vectors
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
WITHOUT_HEADER = "; for labels only, give --input-format lines; for TREC's lines, --input-format "
HEADER = re.compile(rb"[ \t]*(\d{1,15})[ \t]+(\d{1,15})(?:[ \t]+(\d{1,15}))?[ \t]*\r?\n?")
HEADER_BYTES = 1024
MOST_DIGITS = 15  # of a label id, so that it is far within an int64
ADVICE = "write the ids of the labels that are 1"
BLANKS = re.compile(rb"[ \t]+")
UP_TO_BLANK = re.compile(rb"[^ \t\n]+?(?=[ \t\n]|\r\n)")
LABEL = re.compile(rb"(0|[1-9]\d*)(?:\.0*)?")
CODE = re.compile(rb"0\d+(?:\.0*)?")
CODES = "has a leading zero, as codes have; ids are whole numbers; give names as NAME.lines or .csv"
FEATURE = re.compile(rb"\d[\d.+a-z-]*(?<=\d):[\d.+a-z-]+", re.IGNORECASE)
ENTRY = re.compile(rb"\d+:" + DECIMAL.encode(), re.IGNORECASE)
LABELS = "labels of a row on each line: ids, names, '__label__name ...', or 'label:score ...'"
LINES_ADVICE = (
    "convert vectors with np.save(NAME.npy, np.loadtxt(...)), "
    "or write a header 'rows 0 labels' above ids"
)
IDS = re.compile(rb"\s*[0-9]{1,15}(?:[ \t,]+[0-9]{1,15})*[ \t,\r]*(?:\n|$)")
ZERO, NINE = b"09"
SCANNED_BYTES = 1 << 20
PREFIX = "__label__"  # of fastText
BEGIN_BYTES = 1 << 16  # from which the kind of labels is decided


def xmc_pieces(path: Path, kind: str) -> Pieces:
    """Return the rows of an Extreme Classification Repository file; a truth precedes features."""
    source = InputFile(path)
    expected = SCORES if kind == "scores" else TRUTH
    hint = WITHOUT_HEADER + ("run" if kind == "scores" else "qrels")
    with naming(path, expected + hint), open_text(source) as file:
        first = file.readline(HEADER_BYTES)
        sizes = _parse_header(first, kind)
    n_rows = sizes[0]
    n_labels = sizes[-1]
    parse = partial(_parse_entries, n_labels, kind)
    if len(sizes) == 3:
        parse = partial(_parse_labels, n_labels)

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


def _parse_header(first: bytes, kind: str) -> list[int]:
    """Return the sizes in a header: rows, features if there are any, and labels."""
    header = HEADER.fullmatch(first)
    line = shown(first.removesuffix(b"\n"))
    if header is None:
        raise ValueError(f"line 1: {line} is not a header of two or three integers")
    sizes = [int(size) for size in header.groups() if size is not None]
    if len(sizes) == 3 and kind == "scores":
        raise ValueError(
            f"line 1: header {line} has three integers, as in files of labels with features"
        )
    return sizes


def svmlight_pieces(path: Path, kind: str) -> Pieces:
    """Return the labels of a multi-label svmlight file in batches of rows."""
    source = InputFile(path)
    with naming(path, SVMLIGHT_LINES), open_text(source):
        pass

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, SVMLIGHT_LINES), open_text(source) as file:
            n_read = 0
            parse = partial(_parse_labels, 10**MOST_DIGITS, loose=True)
            batches = in_order(parse, whole_lines(file, n_bytes, 1))
            for rows in without_vectors(batches, ADVICE):
                n_read += rows.n_rows
                yield rows
            if not n_read:
                raise ValueError("it has no rows")

    return Pieces(None, None, read)


def _parse_labels(n_labels: int, lines: Lines, loose: bool = False) -> Rows:
    """Return the labels before the features on each line.

    ``loose`` accepts comments, blank lines and ``qid:``.
    """
    text = lines.text
    n_lines = lines.n_lines
    if loose and count_byte(text, HASH):
        blank_comments(text[:-SPARE])
    ptr = np.empty(n_lines + 1, np.int64)
    numbers = np.empty(n_lines, np.int64)
    labels = np.empty(n_lines + count_byte(text, COMMA), label_dtype(n_labels))
    n_rows, n_parsed = parse_lists(text, n_lines, n_labels, loose, ptr, labels, numbers)
    labels = labels[: ptr[n_rows]]
    ptr = ptr[: n_rows + 1]
    # before sorting, which takes the zeros and ones of vectors for ids that repeat
    if loose and ptr.size > 1 and vector_width(ptr, labels)[1]:
        raise ValueError(f"{VECTORS}; {ADVICE}")
    width = n_labels
    if loose:
        width = int(labels.max(initial=-1)) + 1
    rows = sorted_rows(ptr, labels, None, width, lines.first + numbers)._replace(are_lists=loose)
    if n_parsed < n_lines:
        fault = _describe_fault(lines.line(n_parsed), n_labels, True, loose)
        raise ValueError(f"line {lines.first + n_parsed}: {fault}")
    return rows


def _parse_entries(n_labels: int, kind: str, lines: Lines) -> Rows:
    """Return the labels and scores on each line; refuse the first line that is wrong."""
    text = lines.text
    n_lines = lines.n_lines
    n_most = count_byte(lines.text, COLON)
    ptr = np.empty(n_lines + 1, np.int64)
    labels = np.empty(n_most, label_dtype(n_labels))
    scores = np.empty(n_most)
    powers = np.empty(n_most, np.int16)
    n_parsed = parse_entries(text, n_lines, n_labels, ptr, labels, scores, powers)
    n_numbers = _finish_scores(text, scores[: ptr[n_parsed]], powers)
    n_parsed = int(np.searchsorted(ptr[: n_parsed + 1], n_numbers, side="right")) - 1
    scores = scores[: ptr[n_parsed]]
    labels = labels[: ptr[n_parsed]]
    ptr = ptr[: n_parsed + 1]
    are_scores = kind == "scores"
    numbers = range(lines.first, lines.first + n_parsed)
    rows = sorted_rows(ptr, labels, None if are_scores else scores, n_labels, numbers)
    if n_parsed < n_lines:
        fault = _describe_fault(lines.line(n_parsed), n_labels, False)
        raise ValueError(f"line {lines.first + n_parsed}: {fault}")
    if are_scores:  # they stay in the order of the file
        return rows_by_id(ptr, labels, scores)._replace(is_written=True)
    if (scores == 1).all():
        return rows._replace(values=None)
    return rows


def _finish_scores(text: NDArray[np.uint8], scores: Floats, powers: NDArray[np.int16]) -> int:
    """Turn what `parse_entries` left into scores, in place.

    Return the place of the first entry that is not a number, or the number of entries.
    """
    bits = scores.view(np.uint64)
    entry = round_decimals(scores, powers, 0)
    while entry < scores.size:
        sign, digits = divmod(int(bits[entry]), 1 << 63)
        token = None
        if powers[entry] == ODD:  # the digits are the place of the number in the text
            token = UP_TO_BLANK.match(text.data, digits)
        if token:
            number = decimal_number(token[0])
        else:
            number = decimal_number(f"{'-' * sign}{digits}e{powers[entry]}")
        if number is None:
            break
        scores[entry] = number
        entry = round_decimals(scores, powers, entry + 1)
    return entry


def _describe_fault(line: bytes, n_labels: int, has_features: bool, loose: bool = False) -> str:
    """Return why a line is not ``label:score`` tokens, or not labels before ``feature:value``."""
    words = BLANKS.split(line.lstrip(b" \t") if loose else line)
    if has_features:
        pattern = FEATURE
        expected = "feature:value"
        ids = list[bytes]()
        if b":" not in words[0]:
            ids = words.pop(0).split(b",")
    else:
        pattern = ENTRY
        expected = "label:score"
        ids = [word.partition(b":")[0] for word in words if word]
    if loose and words and words[0].startswith(b"qid:"):
        del words[0]
    for word in words:
        if word and not pattern.fullmatch(word):
            return f"{shown(word)} is not {expected}"
    faults = (_describe_id_fault(text, n_labels) for text in ids)
    return next(filter(None, faults), f"{shown(line)} cannot be read")


def _describe_id_fault(text: bytes, n_labels: int) -> str:
    """Return why a text is not a label id, an empty text if it is one."""
    number = LABEL.fullmatch(text)
    if CODE.fullmatch(text):
        return f"{shown(text)} {CODES}"
    if number is None:
        return f"{shown(text)} is not a label id, a whole number from 0 up"
    if len(number[1]) > MOST_DIGITS or int(number[1]) >= n_labels:
        hint = ""
        if number[1] == str(n_labels).encode():
            hint = ONE_BASED
        return f"label id {number[1][:40].decode()} is not in 0..{n_labels - 1}{hint}"
    return ""


def save_xmc(path: Path, data: Any, kind: str, n_labels: int | None) -> None:
    """Write rows of sets or of scores below a header."""
    width = known_labels(data, n_labels) or width_of(data.labels)
    with replacing_text(path) as file:
        file.write(f"{data.n_rows} {width}\n".encode())
        for _, block in canonical(data, "truth" if kind == "truth" else "entries", width):
            values = getattr(block, "values", np.ones(block.labels.size, np.uint8))
            if values.dtype.kind == "f" and values.dtype.itemsize <= 4:
                # with the shortest digits that a float32 needs
                values = values.astype(np.float32).astype("U32").astype(np.float64)
            elif values.dtype.kind == "b":
                values = values.astype(np.uint8)
            entries = [*map("{}:{!r}".format, block.labels.tolist(), values.tolist())]
            lines = (
                f"{' '.join(entries[start:stop])}\n" for start, stop in pairwise(block.ptr.tolist())
            )
            file.write("".join(lines).encode())


def _read_beginning(file: InputFile) -> bytes:
    with naming(file.path, LABELS), open_text(file) as text:
        return text.read(BEGIN_BYTES)


def ids_pieces(path: Path, kind: str) -> Pieces:
    """Return rows of ids in batches, as sets or lists, unless the labels are names."""
    source = InputFile(path)
    beginning = _read_beginning(source)
    are_ids = IDS.match(beginning) is not None

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, LABELS):
            batches = listed_rows(parsed_lines(source, _parse_ids), n_bytes)
            if kind == "scores":
                for rows in batches:
                    yield rows._replace(best_first=True)
                return
            lists = (rows._replace(are_lists=True) for rows in batches)
            first_line = 1
            for rows in without_vectors(lists, LINES_ADVICE):
                lines = range(first_line, first_line + rows.n_rows)
                width = int(rows.labels.max(initial=0)) + 1
                yield sorted_rows(rows.ptr, rows.labels, None, width, lines)
                first_line = lines.stop

    has_names = _has_codes(source) if are_ids else bool(beginning.strip())
    return Pieces(None, None, read, named=has_names)


def _has_codes(file: InputFile) -> bool:
    """Return whether a word of digits has a leading zero; then all words are names."""
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


def _parse_ids(line: str) -> list[int]:
    words = split_words(line.replace(",", " "))
    for word in words:
        if not ID.fullmatch(word) or len(word) > MOST_DIGITS:
            raise ValueError(f"{shown(word)} is not a label id, a whole number from 0 up")
    return [*map(int, words)]


def named_lines(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield rows of label names, one for each line."""
    facts = Origin()
    batches = RowBatches(by_key=False, best_first=True)
    parse: Callable[[str], tuple[list[str], list[float] | None]] | None = None
    for path in paths:
        file = InputFile(path)
        beginning = _read_beginning(file)
        if parse is None and IDS.match(beginning):
            parse = partial(_parse_codes, notes=facts.notes)
        elif parse is None:
            is_fasttext = re.search(f"^{PREFIX}".encode(), beginning, re.MULTILINE) is not None
            parse = partial(_parse_names, kind=kind, prefix=PREFIX if is_fasttext else "")
        entries = (("", *labels, number) for number, labels in parsed_lines(file, parse))
        with naming(path, LABELS):
            yield from batches.read(entries, facts.of_file(path, paths))


def _parse_codes(line: str, notes: list[str]) -> tuple[list[str], None]:
    """Return names between blanks or commas, and add one note if a name has a leading zero."""
    words = split_words(line.replace(",", " "))
    if not notes:
        code = next((word for word in words if word[0] == "0" != word), None)
        if code:
            notes.append(f"read as names, as {shown(code)} has a leading zero")
    return words, None


def _parse_names(line: str, kind: str, prefix: str) -> tuple[list[str], list[float] | None]:
    """Return names and any scores, behind a colon or, with fastText's prefix, in the next word."""
    words = split_words(line)
    if prefix:
        labels = [*takewhile(lambda word: word.startswith(prefix), words)]
        if kind != "scores" or len(labels) == len(words):
            return [label.removeprefix(prefix) for label in labels], None
        words = _join_fasttext_pairs(words, prefix)
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


def _join_fasttext_pairs(words: list[str], prefix: str) -> list[str]:
    """Return ``label:score`` for each pair of words; without a score if the first is no label."""
    pairs = list[str]()
    for label, score in zip_longest(words[::2], words[1::2], fillvalue=""):
        if label.startswith(prefix):
            pairs.append(f"{label.removeprefix(prefix)}:{score}")
        else:
            pairs.append(f"{label}:")
    return pairs


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
