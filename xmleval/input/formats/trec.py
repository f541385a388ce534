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
from xmleval.base.errors import InputError, counted, first_repeated, shown
from xmleval.base.numerals import ID
from xmleval.files.input import InputFile
from xmleval.input.fields import FieldPlaces, LineFields, in_blocks, read_in_order
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import Lines, open_text, parsed_block, split_words
from xmleval.input.matched_rows import ADVICE_OF_RANKS
from xmleval.input.names import Names
from xmleval.input.pieces import Pieces, whole, with_names
from xmleval.input.rows import Origin, Rows, entries_in_batches, rows_by_id
from xmleval.input.stack import read_named
from xmleval.input.writing import canonical, names_of, replacing_text

MOST_FIELDS = 6
OptionalNames = list[str] | None  # of rows or labels; without any, numbers from 0 are written
# a row, and its labels with the text or number that follows each
NumberedEntries = tuple[int, Iterable[tuple[int, object]]]


class Layout(NamedTuple):
    """The fields of lines: the instance is first, ``label`` and ``value`` are places of others.

    read : makes a number, ``lowest`` or more, from the text of a value
    wrong : message about a text that is not such a number
    """

    n_fields: int
    label: int
    value: int
    read: Callable[[str], float]
    wrong: str
    lowest: float = -np.inf

    @property
    def field_places(self) -> FieldPlaces:
        """How lines are split; integers have few distinct values and are read as text."""
        if self.read is float:
            return FieldPlaces(self.n_fields, (0, self.label, self.value))
        return FieldPlaces(self.n_fields, (0, self.label, -1), further=(self.value,))

    def values(self, texts: Sequence[str], numbers: Sequence[int]) -> NDArray[np.float64]:
        """Return texts as numbers; refuse the first wrong one with the number of its line."""
        joined = "".join(texts)
        try:
            values = np.fromiter(map(self.read, texts), np.float64, len(texts))
            # false for NaN
            are_in_range = (values >= self.lowest).all()
            if joined.isascii() and "_" not in joined and are_in_range:
                return values
        except (ValueError, OverflowError):
            pass
        if len(texts) == 1:
            raise ValueError(f"line {numbers[0]}: {self.wrong.format(shown(joined))}")
        return np.concatenate(
            [self.values([texts[i]], [number]) for i, number in enumerate(numbers)]
        )


JUDGEMENTS = Layout(4, 2, 3, int, "relevance {} is not an integer")
SCORES = Layout(6, 2, 4, float, "score {} is not a number")
RANKS = Layout(3, 1, 2, int, "rank {} is not a number from 1 up", 1)
QRELS_LINES = "TREC qrels, lines of: instance, 0, label, relevance"
RUN_LINES = (
    "a run, lines of: instance, Q0, label, rank, score, tag; or MS MARCO's: instance, label, rank"
)


class _LineReader:
    """Reads the lines of files; the first line decides whether a run has only ranks."""

    def __init__(self, kind: str) -> None:
        self._layout = SCORES if kind == "scores" else JUDGEMENTS
        self._is_first = True
        self._has_first_rank = False
        self.facts = Origin()

    def batches(self, path: Path, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a file in whole blocks of lines, or of a small file line by line."""
        with open_text(InputFile(path)) as file:
            blocks = in_blocks(file)
            first = next(blocks, None)
            second = next(blocks, None)
            if first is None:
                yield from entries_in_batches((), origin, self.values)
                return
            if second is None:
                yield from self._line_by_line(first, origin)
                return
            for _, fields in islice(parsed_block(first, _split_fields), 1):
                self._choose_layout(fields)
            all_blocks = chain([first, second], blocks)
            pairs = read_in_order(self._layout.field_places, Names(), all_blocks)
            for block, block_fields in pairs:
                rows = None
                if block_fields is not None:
                    rows = self._rows(block_fields, origin)
                if rows is None:
                    yield from self._line_by_line(block, origin)
                else:
                    yield rows

    def _choose_layout(self, fields: Sequence[str]) -> None:
        """Decide from the fields of the very first line whether a run has only ranks."""
        if self._is_first and self._layout is SCORES and len(fields) == RANKS.n_fields:
            self._layout = RANKS
            self.facts.are_ranks = True
            self.facts.notes.append("read as a run of MS MARCO, by rank")
        self._is_first = False

    def _line_by_line(self, block: Lines, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a block, or refuse the first line that is wrong."""
        yield from entries_in_batches(self._entries(block), origin, self.values)

    def _entries(self, block: Lines) -> Iterator[tuple[str, str, str, int]]:
        """Yield instance, label, text of the value and number for each line."""
        for number, fields in parsed_block(block, _split_fields):
            self._choose_layout(fields)
            n_fields, label, value = self._layout[:3]
            if len(fields) != n_fields:
                n_read = sum(len(split_words(field)) for field in fields)
                raise ValueError(f"line {number}: {n_read} fields, not {n_fields}")
            yield fields[0], fields[label], fields[value], number

    def _rows(self, fields: LineFields, origin: Origin) -> Rows | None:
        """Return the rows of a block, one per run of lines of an instance; None on wrong values."""
        values = fields.values
        if values is None:
            places, texts = fields.further[0]
            try:
                values = self.values(texts, range(len(texts)))[places]
            except ValueError:
                return None
        return fields.rows(values, origin)

    def values(self, texts: Sequence[str], numbers: Sequence[int]) -> NDArray[np.float64]:
        """Return judgements or scores; from ranks, the negatives, so that the first is highest."""
        values = self._layout.values(texts, numbers)
        if self._layout is not RANKS:
            return values
        self._has_first_rank |= bool((values == 1).any())
        return -values

    def close(self) -> None:
        """Refuse ranks without a 1, once all lines are read."""
        if self._layout is RANKS and not self._has_first_rank:
            raise ValueError(f"no rank is 1; {ADVICE_OF_RANKS}")


def batches(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield judgements or scores, a row for each."""
    reader = _LineReader(kind)
    expected = RUN_LINES if kind == "scores" else QRELS_LINES
    for path in paths:
        with naming(path, expected):
            yield from reader.batches(path, reader.facts.of_file(path, paths))
            if path is paths[-1]:
                reader.close()


def _split_fields(line: str) -> list[str] | None:
    """Return the fields of a line, the last with all that follows; None for a blank line."""
    fields = line.split(None, MOST_FIELDS) if line.isascii() else split_words(line, MOST_FIELDS)
    return fields or None


def qrels_pieces(paths: Sequence[Path], kind: str) -> Pieces:
    """Return qrels as rows by number if all names are numbers of rows and labels.

    The names in the first lines usually suffice to decide that they are not.
    """
    read = partial(batches, paths, kind)
    path = paths[0]
    for first in islice(read(), 1):
        for name in (*(first.keys or ()), *(first.names or ())):
            if not ID.fullmatch(name):
                return with_names(path, f"{shown(name)} is not a number")
    with memory_limit().lent():
        named = read_named(str(path), read, kind, None)
    rows = _as_numbers(named.row_names)
    labels = _as_numbers(named.label_names)
    if rows is None or labels is None:
        return with_names(path)
    if max(rows, default=-1) >= len(rows):  # some numbers have no row
        return with_names(path)
    matrix = named.matrix[np.argsort(rows)]
    ids = np.array(labels, np.int64)
    by_id = rows_by_id(matrix.indptr.astype(np.int64), ids[matrix.indices], matrix.data)
    memory_limit().take(by_id.n_bytes)
    return replace(whole(by_id, max(labels, default=-1) + 1), ends_at_largest=True)


def _as_numbers(names: Sequence[str]) -> list[int] | None:
    """Return names as numbers, None if any is not the plain digits of one."""
    if not all(map(ID.fullmatch, names)):
        return None
    return [*map(int, names)]


def save(
    path: Path,
    data: object,
    kind: str,
    row_names: OptionalNames = None,
    label_names: OptionalNames = None,
) -> None:
    """Write relevant labels or scores, as `xmleval.io.write_qrels` and `write_run` do."""
    _refuse_same_names("row_names", row_names)
    _refuse_same_names("label_names", label_names)
    if kind == "truth":
        word = "0"
        rows: Iterator[NumberedEntries] = _judgements(data, label_names)
    else:
        word = "Q0"
        rows = _ranked_scores(data)
    with replacing_text(path) as file:
        for row, entries in rows:
            name = _name_of(row_names, row, "row")
            lines = [
                f"{name} {word} {_name_of(label_names, i, 'label')} {fields}\n"
                for i, fields in entries
            ]
            file.write("".join(lines).encode())


def _refuse_same_names(argument: str, names: OptionalNames) -> None:
    """Refuse a name that is given twice, which readers would take for one row or label."""
    if names is not None and len({*names}) < len(names):
        twice = shown(first_repeated(names))
        raise InputError(argument, f"{twice} is given twice; give each its own name")


def _judgements(data: object, label_names: OptionalNames) -> Iterator[NumberedEntries]:
    """Yield each row with its relevant labels, then unused labels as not relevant in row 0.

    So every label occurs. A row without labels has the last one, not relevant.
    """
    row = 0
    last = -1
    used = set[int]()
    for n_labels, block in canonical(data, "truth"):
        labels = block.labels.tolist()
        last = n_labels - 1
        used.update(labels)
        for start, stop in pairwise(block.ptr.tolist()):
            if start < stop:
                yield row, [(label, 1) for label in labels[start:stop]]
            else:
                yield row, [(last, 0)]
                used.add(last)
            row += 1
    if row:
        expected = [last] if label_names is None else range(len(label_names))
        yield 0, [(label, 0) for label in expected if label not in used]


def _ranked_scores(data: object) -> Iterator[NumberedEntries]:
    """Yield each row with its labels, and the rank, score and tag that follow each."""
    row = 0
    for _, block in canonical(data, "scores"):
        labels = block.labels.tolist()
        scores = None if block.scores is None else block.scores.tolist()
        for start, stop in pairwise(block.ptr.tolist()):
            ranks = range(1, stop - start + 1)
            values = _scores_of(ranks) if scores is None else scores[start:stop]
            fields = map("{} {!r} xmleval".format, ranks, values)
            yield row, zip(labels[start:stop], fields, strict=True)
            row += 1


def _scores_of(ranks: Iterable[int]) -> list[float]:
    return [-float(rank) for rank in ranks]


def _name_of(names: OptionalNames, number: int, kind: str) -> str:
    if names is None:
        return str(number)
    if number >= len(names):
        n_names = counted(len(names), "names")
        raise ValueError(f"{kind}_names has {n_names}; {kind} {number} has none")
    name = names[number]
    if split_words(name) != [name]:
        message = f"{shown(name)} is not one word, which TREC files need"
        raise InputError(f"{kind}_names", message)
    return name


QRELS = Format(
    name="qrels",
    title="TREC qrels: judgements of documents, by name or number",
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
