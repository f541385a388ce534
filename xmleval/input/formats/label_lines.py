"""Texts with the labels of a row on each line and no header: ids, names, or either with scores."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import PIECE_BYTES, UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.input.errors import InputError
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.line_errors import MOST_DIGITS
from xmleval.input.formats.xmc import HEADER
from xmleval.input.glances import VectorRows
from xmleval.input.lines import LINE_BYTES, Lines, open_text, shown, whole_lines
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Batch, Facts, Rows, rows_by_id
from xmleval.input.stack import sorted_rows
from xmleval.kernels.decimal import SPARE
from xmleval.numerals import decimal_number

EXPECTED = "labels of a row on each line: ids, names, '__label__name ...', or 'label:score ...'"
ADVICE = (
    "convert vectors with np.save(NAME.npy, np.loadtxt(...)), or write a header 'rows 0 labels' above ids"
)
IDS = re.compile(rb"[ \t]*[0-9]{1,15}(?:[ \t,]+[0-9]{1,15})*[ \t,]*")
PER_PIECE = 2 * LINE_BYTES  # of memory for each byte of a line of ids
PREFIX = "__label__"  # of fastText
BEGIN_BYTES = 1 << 16


def first_lines(path: Path) -> list[bytes]:
    """Return the first lines of a text; the last may be cut."""
    with open_text(InputFile(path)) as file:
        begin = file.read(BEGIN_BYTES)
    lines = [line.rstrip(b"\r") for line in begin.split(b"\n")]
    return lines if len(begin) < BEGIN_BYTES or len(lines) == 1 else lines[:-1]


def claims(path: Path, kind: str | None) -> bool:
    """Tell by its first lines whether a text is of this kind, and not of a repository with its header."""
    if not path.name.lower().endswith((".txt", ".txt.gz")):
        return False
    try:
        lines = first_lines(path)
    except (OSError, ValueError):
        return False  # which another reader says
    filled = [line for line in lines if line.strip()]
    if _is_fasttext(lines):
        return True
    if kind in ("truth", "scores") and _begins_with_ids(filled):
        alone = kind == "scores" and lines[1:] in ([], [b""])
        return _is_lone_row(lines[0]) if alone else not _has_header(lines[0], filled[1:])
    words = filled[0].decode("utf-8", "replace").split() if filled else []
    scored = [_scored(word) for word in words]
    return kind == "scores" and None not in scored and not all(one and one[0].isdecimal() for one in scored)


def _begins_with_ids(filled: list[bytes]) -> bool:
    """Tell whether the first of the lines that are not blank has ids alone, and none has values."""
    return bool(filled) and IDS.fullmatch(filled[0]) is not None and not any(b":" in line for line in filled)


def _has_header(first: bytes, following: list[bytes]) -> bool:
    """Tell whether a first line may be a header, by others that are not blank: ids alone cannot follow it.

    Below a header of three numbers, there may be rows of ids without features, with commas between them.
    """
    header = HEADER.fullmatch(first)
    if header is None or not following or not IDS.fullmatch(following[0]):
        return header is not None
    return header[3] is not None and not any(
        IDS.fullmatch(line) and len(line.split()) > 1 for line in following
    )


def _is_lone_row(line: bytes) -> bool:
    """Tell whether the only line of scores is a row of ids: a header has two numbers, and promises no row."""
    header = HEADER.fullmatch(line)
    return header is None or header[3] is not None or int(header[1]) > 0


def lines_hint(name: str) -> str:
    """Return what to do where the header of a text may be its first row of ids; nothing where it cannot."""
    path = as_path(name)
    if not path.name.lower().endswith((".txt", ".txt.gz")):
        return ""
    try:
        lines = first_lines(path)
    except (OSError, ValueError):
        return ""  # the name stands for several files, or another message tells
    filled = [line for line in lines if line.strip()]
    may_be = _begins_with_ids(filled) and _has_header(lines[0], filled[1:])
    return "; of ids without a header, --input-format lines" if may_be else ""


def _is_fasttext(lines: list[bytes]) -> bool:
    return any(line.startswith(PREFIX.encode()) for line in lines)


def _scored(word: str) -> tuple[str, float] | None:
    """Return the label and the score of a word, None if it has none."""
    name, _, text = word.rpartition(":")
    score = decimal_number(text)
    return None if score is None or math.isnan(score) or not name else (name, score)


def by_number(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces | None:
    """Read ids some rows at a time; None where the first line that is not blank has names."""
    with naming(path, EXPECTED):
        filled = [line for line in first_lines(path) if line.strip()]
    return ids_pieces(path, kind, allowance) if not filled or IDS.fullmatch(filled[0]) else None


def ids_pieces(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces:
    """Read ids some rows at a time, as sets or as lists."""
    source = InputFile(path)
    with naming(path, EXPECTED), open_text(source):
        pass

    def read(n_bytes: int) -> Iterator[Any]:
        vectors = VectorRows(ADVICE)
        with naming(path, EXPECTED), open_text(source) as file:
            for lines in whole_lines(file, n_bytes // PER_PIECE, 1, allowance):
                rows = _parse(lines)
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

    return Pieces(None, None, read)


def _parse(lines: Lines) -> list[list[int]]:
    """Return the ids of each line."""
    rows = []
    for number, line in enumerate(lines.text[:-SPARE].tobytes().split(b"\n")[: lines.n_lines], lines.first):
        words = line.replace(b",", b" ").split()
        for word in words:
            if not word.isdigit() or len(word) > MOST_DIGITS:
                raise ValueError(f"line {number}: {shown(word)} is not a label id, a whole number from 0 up")
        rows.append([int(word) for word in words])
    return rows


def batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the labels of each line that have names."""
    scored: bool | None = None
    place = 0
    with naming(path, EXPECTED):
        is_fasttext = _is_fasttext(first_lines(path))
    batch = Batch(Facts(), by_key=False, best_first=True)
    with naming(path, EXPECTED), open_text(InputFile(path)) as file:
        for lines in whole_lines(file, PIECE_BYTES // PER_PIECE, 1, allowance):
            for line in lines.text[:-SPARE].tobytes().split(b"\n")[: lines.n_lines]:
                place += 1
                try:
                    labels, scores = _labels(line.decode("utf-8"), kind, is_fasttext)
                except UnicodeDecodeError as error:
                    raise ValueError(f"line {place} is not in UTF-8 ({error.reason})") from None
                except ValueError as error:
                    raise ValueError(f"line {place}: {error}") from None
                if labels:
                    if scored not in (None, scores is not None):
                        raise ValueError(f"line {place}: labels with scores, and others without")
                    scored = scores is not None
                batch.add("", labels, scores, place)
                if batch.is_full:
                    yield batch.rows()
        yield batch.rows()


def _labels(line: str, kind: str, is_fasttext: bool) -> tuple[list[str], list[float] | None]:
    """Return the labels of a line, and their scores if they have any."""
    words = line.split()
    if is_fasttext:
        return _labels_of_fasttext(words, kind)
    pairs = [_scored(word) for word in words] if kind == "scores" else []
    scored = [pair for pair in pairs if pair is not None]
    if not scored:
        return words, None
    if len(scored) < len(words):
        raise ValueError("labels with scores, and others without")
    return [name for name, _ in scored], [score for _, score in scored]


def _labels_of_fasttext(words: list[str], kind: str) -> tuple[list[str], list[float] | None]:
    """Return labels in front of a text, or labels each followed by its probability or all by none."""
    n_labels = next((n for n, word in enumerate(words) if not word.startswith(PREFIX)), len(words))
    if kind != "scores" or n_labels == len(words):
        return [word.removeprefix(PREFIX) for word in words[:n_labels]], None
    labels, scores = list[str](), list[float]()
    for word, text in zip(words[::2], [*words[1::2], ""], strict=False):
        score = decimal_number(text)
        if not word.startswith(PREFIX) or score is None or math.isnan(score):
            raise ValueError(f"{shown(f'{word} {text}')} is not {PREFIX}name and its probability")
        labels.append(word.removeprefix(PREFIX))
        scores.append(score)
    return labels, scores


LINES = Format(
    name="lines",
    title="text of labels, a row on each line",
    files="NAME.txt without header",
    pieces=ids_pieces,
    rows=batches,
    by_number=by_number,
    claims=claims,
)
