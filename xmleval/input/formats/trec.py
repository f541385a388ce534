"""TREC's files: qrels with judgements, runs with scores; rows and labels have names in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.budget import memory_limit
from xmleval.base.errors import InputError, shown
from xmleval.base.numerals import ID
from xmleval.files.input import InputFile
from xmleval.input.fields import FieldPlaces, LineFields, in_blocks, read_in_order
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import Lines, open_text, parsed_block, words_of
from xmleval.input.names import Names
from xmleval.input.pieces import Pieces, whole, with_names
from xmleval.input.placed import ADVICE_OF_RANKS
from xmleval.input.rows import Origin, Rows, entries_in_batches, rows_by_id
from xmleval.input.stack import read_named
from xmleval.input.writing import canonical, names_of, replacing_text

MOST_FIELDS = 6
GivenNames = list[str] | None  # of rows or labels; numbers from 0 where there are none
WrittenEntries = tuple[int, Iterable[tuple[int, object]]]  # a row, and its labels with what follows them


class Layout(NamedTuple):
    """What the fields of lines are: first the instance; ``label`` and ``value`` are places of others."""

    n_fields: int
    label: int
    value: int
    read: Callable[[str], float]  # makes a number, of ``lowest`` or more, of the text of a value
    wrong: str
    lowest: float = -np.inf

    @property
    def field_places(self) -> FieldPlaces:
        """How lines are cut; integers, of which there are few, are read as text."""
        if self.read is float:
            return FieldPlaces(self.n_fields, (0, self.label, self.value))
        return FieldPlaces(self.n_fields, (0, self.label, -1), further=(self.value,))

    def values(self, texts: Sequence[str], numbers: Sequence[int]) -> NDArray[np.float64]:
        """Return the numbers that texts are, or refuse the first that is none with the number of its line."""
        joined = "".join(texts)
        try:
            values = np.fromiter(map(self.read, texts), np.float64, len(texts))
            if joined.isascii() and "_" not in joined and (values >= self.lowest).all():  # NaN is not
                return values
        except (ValueError, OverflowError):
            pass
        if len(texts) == 1:
            raise ValueError(f"line {numbers[0]}: {self.wrong.format(shown(joined))}")
        return np.concatenate([self.values([texts[i]], [number]) for i, number in enumerate(numbers)])


JUDGEMENTS = Layout(4, 2, 3, int, "relevance {} is not an integer")
SCORES = Layout(6, 2, 4, float, "score {} is not a number")
RANKS = Layout(3, 1, 2, int, "rank {} is not a number from 1 up", 1)
QRELS_LINES = "TREC qrels, lines of: instance, 0, label, relevance"
RUN_LINES = "a run, lines of: instance, Q0, label, rank, score, tag; or MS MARCO's: instance, label, rank"


class _Lines:
    """Reads the lines of files, of which the first tells whether a run has ranks alone."""

    def __init__(self, kind: str) -> None:
        self._layout = SCORES if kind == "scores" else JUDGEMENTS
        self._is_first = True
        self._has_first_rank = False
        self.facts = Origin()

    def batches(self, path: Path, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a file, in whole blocks of lines; of a small file, line by line."""
        with open_text(InputFile(path)) as file:
            blocks = in_blocks(file)
            first, second = next(blocks, None), next(blocks, None)
            if first is None:
                yield from entries_in_batches((), origin, self.values)
                return
            if second is None:
                yield from self._line_by_line(first, origin)
                return
            for _, fields in islice(parsed_block(first, _fields_of), 1):
                self._settle(fields)
            all_blocks = chain([first, second], blocks)
            for block, found in read_in_order(self._layout.field_places, Names(), all_blocks):
                rows = None if found is None else self._rows(found, origin)
                if rows is None:
                    yield from self._line_by_line(block, origin)
                else:
                    yield rows

    def _settle(self, fields: Sequence[str]) -> None:
        """Learn from the fields of the first line of all whether a run has ranks alone."""
        if self._is_first and self._layout is SCORES and len(fields) == RANKS.n_fields:
            self._layout = RANKS
            self.facts.are_ranks = True
            self.facts.notes.append("read as a run of MS MARCO, by rank")
        self._is_first = False

    def _line_by_line(self, block: Lines, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a block, or refuse the first line that is wrong."""
        yield from entries_in_batches(self._entries(block), origin, self.values)

    def _entries(self, block: Lines) -> Iterator[tuple[str, str, str, int]]:
        """Yield the instance, the label, the text of the value and the number of each line."""
        for number, fields in parsed_block(block, _fields_of):
            self._settle(fields)
            n_fields, label, value = self._layout[:3]
            if len(fields) != n_fields:
                n_read = sum(len(words_of(field)) for field in fields)
                raise ValueError(f"line {number}: {n_read} fields, not {n_fields}")
            yield fields[0], fields[label], fields[value], number

    def _rows(self, found: LineFields, origin: Origin) -> Rows | None:
        """Return the rows of a block, one for each run of lines of an instance; None if a value is wrong."""
        values = found.values
        if values is None:
            places, texts = found.further[0]
            try:
                values = self.values(texts, range(len(texts)))[places]
            except ValueError:
                return None
        return found.rows(values, origin)

    def values(self, texts: Sequence[str], numbers: Sequence[int]) -> NDArray[np.float64]:
        """Return judgements or scores; of ranks, the first is the highest score."""
        values = self._layout.values(texts, numbers)
        if self._layout is not RANKS:
            return values
        self._has_first_rank |= bool((values == 1).any())
        return -values

    def close(self) -> None:
        """Refuse ranks of which none is 1, once all lines are read."""
        if self._layout is RANKS and not self._has_first_rank:
            raise ValueError(f"no rank is 1; {ADVICE_OF_RANKS}")


def batches(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield judgements or scores, a row for each."""
    lines = _Lines(kind)
    expected = RUN_LINES if kind == "scores" else QRELS_LINES
    for path in paths:
        with naming(path, expected):
            facts = lines.facts
            yield from lines.batches(path, facts.of_file(path, paths))
            if path is paths[-1]:
                lines.close()


def _fields_of(line: str) -> list[str] | None:
    """Return the fields of a line, the last with all that follow, None of a blank line."""
    fields = line.split(None, MOST_FIELDS) if line.isascii() else words_of(line, MOST_FIELDS)
    return fields or None


def qrels_pieces(paths: Sequence[Path], kind: str) -> Pieces:
    """Read qrels whose names are the numbers of their rows and labels; the first lines mostly tell."""
    read = partial(batches, paths, kind)
    path = paths[0]
    for first in islice(read(), 1):
        for name in (*(first.keys or ()), *(first.names or ())):
            if not ID.fullmatch(name):
                return with_names(path, f"{shown(name)} is no number")
    with memory_limit().lent():
        named = read_named(str(path), read, kind, None)
    names = named.row_names, named.label_names
    rows, labels = ([*map(int, each)] if all(map(ID.fullmatch, each)) else None for each in names)
    if rows is None or labels is None or max(rows, default=-1) >= len(rows):  # some are left out
        return with_names(path)
    matrix = named.matrix[np.argsort(rows)]
    ids = np.array(labels, np.int64)
    by_id = rows_by_id(matrix.indptr.astype(np.int64), ids[matrix.indices], matrix.data)
    memory_limit().take(by_id.n_bytes)
    return replace(whole(by_id, max(labels, default=-1) + 1), ends_at_largest=True)


def save(
    path: Path, data: object, kind: str, row_names: GivenNames = None, label_names: GivenNames = None
) -> None:
    """Write relevant labels or scores, as `xmleval.io.write_qrels` and `write_run` do."""
    if kind == "truth":
        word = "0"
        rows: Iterator[WrittenEntries] = _judgements(data, label_names)
    else:
        word = "Q0"
        rows = _ranked_scores(data)
    with replacing_text(path) as file:
        for row, entries in rows:
            name = _name(row_names, row, "row")
            lines = [f"{name} {word} {_name(label_names, i, 'label')} {fields}\n" for i, fields in entries]
            file.write("".join(lines).encode())


def _judgements(data: object, label_names: GivenNames) -> Iterator[WrittenEntries]:
    """Yield each row with its relevant labels; others follow as not relevant, so that every label occurs."""
    row = 0
    last = -1
    listed = set[int]()
    for n_labels, block in canonical(data, "truth"):
        labels = block.labels.tolist()
        last = n_labels - 1
        listed.update(labels)
        for start, stop in pairwise(block.ptr.tolist()):
            if start < stop:
                yield row, [(label, 1) for label in labels[start:stop]]
            else:
                yield row, [(last, 0)]
                listed.add(last)
            row += 1
    if row:
        expected = [last] if label_names is None else range(len(label_names))
        yield 0, [(label, 0) for label in expected if label not in listed]


def _ranked_scores(data: object) -> Iterator[WrittenEntries]:
    """Yield each row with its labels, and the rank, score and tag behind them."""
    row = 0
    for _, block in canonical(data, "scores"):
        labels = block.labels.tolist()
        scores = None if block.scores is None else block.scores.tolist()
        for start, stop in pairwise(block.ptr.tolist()):
            ranks = range(1, stop - start + 1)
            values = [-float(rank) for rank in ranks] if scores is None else scores[start:stop]
            fields = map("{} {!r} xmleval".format, ranks, values)
            yield row, zip(labels[start:stop], fields, strict=True)
            row += 1


def _name(names: GivenNames, number: int, kind: str) -> str:
    if names is None:
        return str(number)
    if number >= len(names):
        raise ValueError(f"{kind}_names has {len(names)} names; {kind} {number} has none")
    if words_of(names[number]) != [names[number]]:
        raise InputError(f"{kind}_names", f"{shown(names[number])} is not one word, as TREC's files need")
    return names[number]


QRELS = Format(
    name="qrels",
    title="TREC qrels with numbers for names",
    extensions=(".qrels", ".qrels.gz"),
    holds=("truth",),
    pieces=lambda path, kind: qrels_pieces([path], kind),
    together=qrels_pieces,
    rows=batches,
    write=lambda path, data, kind, n_labels: save(path, data, "truth", *names_of(data)),
    keeps_names=True,
)
RUN = Format(
    name="run",
    title="TREC run",
    extensions=(".run", ".run.gz"),
    holds=("scores",),
    rows=batches,
    write=lambda path, data, kind, n_labels: save(path, data, "scores", *names_of(data)),
    keeps_names=True,
)
