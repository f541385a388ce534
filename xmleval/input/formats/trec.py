"""TREC's files: qrels with judgements, runs with scores; rows and labels have names in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import numbered_lines, shown
from xmleval.input.names import truth_named
from xmleval.input.pieces import Pieces, whole
from xmleval.input.rows import BY_KEY, CHECKED_BYTES, ENTRY_BYTES, Facts, Rows, numbered, rows_by_id
from xmleval.input.writing import canonical, replacing_text
from xmleval.numerals import whole_number
from xmleval.records import Ints

MOST_FIELDS, MOST_DIGITS = 6, 18
Names = list[str] | None  # of rows or labels; numbers from 0 where there are none
BY_NUMBER = "instances and labels that are called by their numbers, from 0"


class Layout(NamedTuple):
    """What the fields of lines are: an instance is the first; ``label`` and ``value`` are places of others.

    ``read`` makes a number of the text of a value, which is ``least`` or more; ``wrong`` says that it is not.
    """

    n_fields: int
    label: int
    value: int
    read: Callable[[str], float]
    wrong: str
    least: float = -np.inf
    sign: int = 1
    told: Sequence[str] = ()

    def rows(self, columns: tuple[list[str], list[str], list[str], list[int]], facts: Facts) -> Rows:
        """Return columns of instances, labels, values and numbers of lines as rows of one label each."""
        keys, labels, texts, numbers = columns
        try:
            values = self._values(texts)
        except (ValueError, OverflowError):
            for number, text in zip(numbers, texts, strict=True):
                try:
                    self._values([text])
                except (ValueError, OverflowError):
                    raise ValueError(f"line {number}: {self.wrong.format(shown(text))}") from None
            raise
        places, ptr = np.array(numbers, np.int64), np.arange(len(keys) + 1)
        of_names = *numbered(labels), self.sign * values, False, places
        return Rows(keys, BY_KEY, ptr, *of_names, is_long=True, beside=facts)

    def _values(self, texts: Sequence[str]) -> NDArray[np.float64]:
        joined = "".join(texts)
        if not joined.isascii() or "_" in joined:
            raise ValueError  # `int` and `float` read more than plain numbers
        values = np.fromiter(map(self.read, texts), np.float64, len(texts))
        if not (values >= self.least).all():  # NaN is not
            raise ValueError
        return values


QRELS_LINES = "TREC qrels, lines of: instance, 0, label, relevance"
RUN_LINES = "a run, lines of: instance, Q0, label, rank, score, tag; or MS MARCO's: instance, label, rank"
JUDGEMENTS = Layout(4, 2, 3, int, "relevance {} is not an integer")
SCORES = Layout(6, 2, 4, float, "score {} is not a number")
BY_RANK = ["read as a run of MS MARCO, by rank"]
RANKS = Layout(3, 1, 2, int, "rank {} is not a number from 1 up", 1, -1, BY_RANK)


def qrels_batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield judgements, a row for each."""
    return _batches(path, QRELS_LINES, [JUDGEMENTS], allowance)


def run_batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield scores, a row for each; the first line tells whether there are ranks alone."""
    return _batches(path, RUN_LINES, [SCORES, RANKS], allowance)


def _batches(path: Path, expected: str, layouts: Sequence[Layout], allowance: Allowance) -> Iterator[Rows]:
    layout: Layout | None = None
    columns: Any = [], [], [], []  # lists of texts, which garbage collection passes over
    keys, labels, values, numbers = columns
    n_bytes, facts = 0, Facts()
    with naming(path, expected):
        for number, line in numbered_lines(InputFile(path), "strict", allowance):
            fields = line.split(maxsplit=MOST_FIELDS)
            if layout is None:
                layout = next((own for own in layouts if own.n_fields == len(fields)), layouts[0])
                facts.told += layout.told
                n_fields, label, value = layout[:3]
            if len(fields) != n_fields:
                layout.rows(columns, facts)  # what is wrong before
                raise ValueError(f"line {number}: {len(line.split())} fields, not {n_fields}")
            keys.append(fields[0])
            labels.append(fields[label])
            values.append(fields[value])
            numbers.append(number)
            n_bytes += len(line) + ENTRY_BYTES
            if n_bytes > CHECKED_BYTES:
                yield layout.rows(columns, facts)
                keys, labels, values, numbers = columns = [], [], [], []
                n_bytes = 0
        if layout is not None:
            yield layout.rows(columns, facts)


def qrels_by_number(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces | None:
    """Read qrels whose names are the numbers of their rows and labels; None where others are.

    The first lines mostly tell; if they do not, all of the file is read.
    """
    batches, taken = partial(qrels_batches, path, kind, allowance), allowance.taken
    for first in islice(batches(), 1):
        if _numbers(first.keys) is None or _numbers(first.names) is None:
            return None
    named = truth_named(str(path), batches, None, kind == "grades", allowance)
    rows, labels = _numbers(named.row_names), _numbers(named.label_names)
    if rows is None or labels is None or rows.max(initial=-1) >= rows.size:  # some are left out
        allowance.taken = taken  # it is read again
        return None
    matrix = named.matrix[np.argsort(rows)]
    by_id = rows_by_id(matrix.indptr.astype(np.int64), labels[matrix.indices], matrix.data)
    return whole(by_id, int(labels.max(initial=-1)) + 1)


def _numbers(names: Sequence[str] | None) -> Ints | None:
    """Return names as the numbers that they are, None where one is none."""
    for name in names or ():
        if len(name) > MOST_DIGITS or str(whole_number(name)) != name or name[0] == "-":
            return None
    return np.array([*map(int, names or ())], np.int64)


def qrels_pieces(path: Path, kind: str, allowance: Allowance) -> Pieces:
    """Read qrels whose names are the numbers of their rows and labels, as `write_qrels` writes them."""
    pieces = qrels_by_number(path, kind, allowance)
    if pieces is None:
        first = next(qrels_batches(path, kind, allowance))
        names = (name for name in (*(first.keys or ()), *(first.names or ())) if _numbers([name]) is None)
        told = next((f"{shown(name)} is no number" for name in names), "it has names, or leaves numbers out")
        raise ValueError(f"{path}: {told}; expected {BY_NUMBER}")
    return pieces


def save_qrels(path: Path, truth: Any, row_names: Names = None, label_names: Names = None) -> None:
    """Write relevant labels, as `xmleval.io.write_qrels` does."""
    with replacing_text(path) as file:
        first, last, last_is_there = 0, -1, False
        for n_labels, block in canonical(truth, "truth"):
            last = n_labels - 1
            for row, labels, _ in _rows(block, first):
                name = _name(row_names, row, "row")
                last_is_there |= not labels or last in labels[-1:]
                judged = [(label, 1) for label in labels] or [(last, 0)]
                lines = (f"{name} 0 {_name(label_names, label, 'label')} {rel}\n" for label, rel in judged)
                file.write("".join(lines).encode())
            first += block.ptr.size - 1
        if first and not last_is_there:
            line = f"{_name(row_names, 0, 'row')} 0 {_name(label_names, last, 'label')} 0\n"
            file.write(line.encode())


def save_run(path: Path, scores: Any, row_names: Names = None, label_names: Names = None) -> None:
    """Write scores, as `xmleval.io.write_run` does."""
    with replacing_text(path) as file:
        first = 0
        for _, block in canonical(scores, "scores"):
            for row, labels, values in _rows(block, first):
                name = _name(row_names, row, "row")
                lines = [
                    f"{name} Q0 {_name(label_names, label, 'label')} {rank} {value!r} xmleval\n"
                    for rank, (label, value) in enumerate(zip(labels, values, strict=True), start=1)
                ]
                file.write("".join(lines).encode())
            first += block.ptr.size - 1


def _rows(block: Any, first: int) -> Iterator[tuple[int, list[int], list[float]]]:
    """Yield the number, labels and scores of each row of a canonical block."""
    scores = getattr(block, "scores", None)
    for i in range(block.ptr.size - 1):
        cut = slice(block.ptr[i], block.ptr[i + 1])
        labels = block.labels[cut].tolist()
        values = [-float(rank + 1) for rank in range(len(labels))] if scores is None else scores[cut].tolist()
        yield first + i, labels, values


def _name(names: Names, number: int, kind: str) -> str:
    if names is None:
        return str(number)
    if number >= len(names):
        raise ValueError(f"{kind}_names has {len(names)} names; {kind} {number} has none")
    if names[number].split() != [names[number]]:
        raise ValueError(f"{kind}_names: {shown(names[number])} is not one word, as TREC's files need")
    return names[number]


QRELS = Format(
    name="qrels",
    title="TREC qrels with numbers for names",
    files="NAME.qrels or NAME.qrels.gz",
    extensions=(".qrels", ".qrels.gz"),
    sibling="run",
    holds=("truth",),
    pieces=qrels_pieces,
    rows=qrels_batches,
    by_number=qrels_by_number,
    write=lambda path, data, kind, n_labels: save_qrels(path, data),
)
RUN = Format(
    name="run",
    title="TREC run",
    files="NAME.run or NAME.run.gz, with TREC qrels or a named truth",
    extensions=(".run", ".run.gz"),
    sibling="qrels",
    holds=("scores",),
    rows=run_batches,
    write=lambda path, data, kind, n_labels: save_run(path, data),
    by_pieces=True,
)
