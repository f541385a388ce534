"""Documents with their labels, a row each: CSV and JSON Lines; and CSV with a row for each label of one."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from xmleval.budget import Allowance
from xmleval.files.input import InputFile
from xmleval.input.columns import (
    INSTANCE,
    JUDGEMENT,
    LABEL_COLUMN,
    PRED,
    SCORE_COLUMNS,
    TRUE,
    AmbiguousError,
    ColumnHashes,
    EntryColumns,
    find_entries,
    find_instance,
    may_hold_values,
    named_as,
)
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.label_cells import LabelCells, json_value, judgement_of, scores_of
from xmleval.input.lines import LINE_BYTES, LONGEST_LINE, SPLIT_BYTES, numbered_lines, parsed_lines, shown
from xmleval.input.rows import CHECKED_BYTES, ENTRY_BYTES, INDEX_BYTES, Batch, Facts, Rows
from xmleval.message import counted
from xmleval.numerals import decimal_number

EXPECTED = "fields of documents, labels among them, below a line of the fields' names"
EXPECTED_JSON = "an object on each line, labels among its fields"
DELIMITERS = "\t,;"
SCORES = SCORE_COLUMNS[1:]  # a score alone is none of several labels
TRUTHS = {"true": 1.0, "false": 0.0}  # as judgements
FieldChoice = Callable[[list[str]], tuple[list[str], list[str]]]  # of fields that all rows have, and others
Records = Callable[[InputFile, Allowance, FieldChoice], Iterator[tuple[int, list[Any]]]]


class Fields(NamedTuple):
    """What fields of documents are called, and what stands between the labels in them.

    None where a field has one of the usual names. ``id`` is not looked for where no files are ``joined``.
    """

    true: str | None = None
    pred: str | None = None
    score: str | None = None
    id: str | None = None
    separator: str | None = None
    joined: bool = True
    score_of_truth: bool = False  # whether the truth has the field of scores, which predictions may lack


def csv_rows(file: InputFile, allowance: Allowance, choose: FieldChoice) -> Iterator[tuple[int, list[Any]]]:
    """Yield fields of each record of CSV that are chosen by name, with the line that it begins on.

    The first of tab, comma and semicolon in the first line parts the fields.
    """
    first, size = 0, 0  # of a record
    names, places = list[str](), list[int]()

    def lines() -> Iterator[str]:
        nonlocal first, size
        for number, line in parsed_lines(file, str, allowance):
            if line.strip(" \r"):
                first, size = first or number, size + len(line)
                if size > SPLIT_BYTES:
                    allowance.check(LINE_BYTES * size, f"line {first}: ")
                yield line.removesuffix("\r") + "\n"

    texts = lines()
    head = next(texts, "")
    delimiter = next((mark for mark in DELIMITERS if mark in head), ",")
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    try:
        for record in csv.reader(itertools.chain([head], texts), delimiter=delimiter, strict=True):
            number, first, size = first, 0, 0
            if not names:
                names = [name.strip() for name in record]
                chosen, others = choose(names)
                places = [names.index(name) for name in chosen + others]
            elif len(record) != len(names):
                raise ValueError(f"line {number}: {len(record)} fields, not {len(names)}")
            else:
                yield number, [record[place] for place in places]
    except csv.Error as error:
        hint = "a field in quotes must end with one, and have two for each that it holds"
        if "new-line" in str(error):  # a carriage return alone
            hint = "save the file with lines that end in \\n"
        raise ValueError(f"line {first}: {error}; {hint}") from None


def json_rows(file: InputFile, allowance: Allowance, choose: FieldChoice) -> Iterator[tuple[int, list[Any]]]:
    """Yield fields of each object of JSON Lines that are chosen by name, with its line."""
    chosen: list[str] | None = None
    others: list[str] = []
    for number, line in numbered_lines(file, allowance):
        record = _parsed_line(number, line, allowance)
        if chosen is None:
            chosen, others = choose([*record])
        for name in chosen:
            if name not in record:
                raise ValueError(f"line {number}: no field {shown(name)}")
        yield number, [record[name] for name in chosen] + [record.get(name) for name in others]


def _parsed_line(number: int, line: str, allowance: Allowance) -> dict[str, Any]:
    if len(line) > CHECKED_BYTES:
        allowance.check(2 * len(line) + ENTRY_BYTES * sum(map(line.count, ",:[{")), f"line {number}: ")
    try:
        record = json_value(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {shown(line)} is no JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"line {number}: {shown(line)} is no object")
    return record


class Documents:
    """Readers of files of documents, whose fields have certain names."""

    def __init__(self, records: Records, expected: str, fields: Fields) -> None:
        self._records, self._expected, self._fields = records, expected, fields
        self._files: dict[Path, InputFile] = {}  # each is the same version whenever it is read

    def _file(self, path: Path) -> InputFile:
        return self._files.setdefault(path, InputFile(path))

    def holds_both(self, path: Path, allowance: Allowance) -> bool:
        """Tell whether a file of relevant labels also has predictions."""
        if self._fields.pred is not None:
            return True
        found: list[list[str]] = []

        def choose(names: list[str]) -> tuple[list[str], list[str]]:
            found.append(names)
            return [], []

        with naming(path, self._expected):
            next(self._records(self._file(path), allowance, choose), None)
        return any(named_as(names, PRED) for names in found)

    def batches(self, path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
        """Yield the rows of a file: relevant labels, judged ones with their grades, or predictions."""
        with naming(path, self._expected):
            reading = _Reading(kind, self._fields, allowance)
            for number, cells in self._records(self._file(path), allowance, reading.choose):
                try:
                    reading.take(cells, number)
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
                if reading.batch.is_full:
                    allowance.check(reading.n_bytes)
                    yield reading.batch.rows()
            yield reading.finish()


class _Reading:
    """What is read of a file, and what it settles."""

    def __init__(self, kind: str, fields: Fields, allowance: Allowance) -> None:
        self._kind, self._fields, self._allowance = kind, fields, allowance
        self._facts = Facts(how_to_join="--id-field {!r} joins the rows")
        self._told = self._facts.told
        self.batch = Batch(self._facts)
        self._lines: dict[str, int] = {}  # of ids
        self._has_id = self._has_scores = self._is_long = False
        self._n_rows = 0
        self._scored: bool | None = None  # as long as there was no label
        self._cells: LabelCells | None = None
        self._unknown: dict[str, bool | None] = {}  # fields: whether they hold numbers, None of empty ones

    @property
    def n_bytes(self) -> int:
        """Memory that is taken so far."""
        return INDEX_BYTES * len(self._lines) + self._facts.columns.n_bytes

    def choose(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Return the fields to read: id, labels, scores, as far as there are any; and others to look at."""
        try:
            entries = None if self._of_labels is not None else find_entries(names, self._kind != "scores")
            if entries is not None:
                return self._choose_entries(names, entries)
            instance = self._instance_field(names)
        except AmbiguousError as error:
            raise ValueError(f"its fields {error}; an option tells which") from None
        labels = self._labels_field(names)
        self._cells = LabelCells(labels, self._fields.separator)
        score = self._list_values(names)
        self._has_id, self._has_scores = instance is not None, score is not None
        chosen = self._distinct([name for name in (instance, labels, score) if name is not None], names)
        if score is not None and (self._fields.score is None or self._kind != "scores"):
            self._told.append(f"{'scores' if self._kind == 'scores' else 'judgements'} in {shown(score)}")
        if score is None and self._kind == "scores":
            passed = [name for name in names if "score" in name.lower()]
            self._told += [f"{shown(name)} not read (--score-field reads scores)" for name in passed]
        if instance is not None and self._fields.id is None:
            self._told.append(f"ids in {shown(instance)}")
        others = [] if self._has_id or not self._fields.joined else [n for n in names if n not in chosen]
        columns = ColumnHashes([name for name in others if names.count(name) == 1])
        self._facts.columns = columns
        self.batch = Batch(self._facts, by_key=self._has_id, best_first=True)
        return chosen, columns.names

    def _instance_field(self, names: list[str]) -> str | None:
        """Return the field of ids, None where rows are in order."""
        if self._fields.id is not None:
            return self._named(names, self._fields.id, INSTANCE)
        found: str | None = find_instance(names) if self._fields.joined else None
        return found

    def _list_values(self, names: list[str]) -> str | None:
        """Return the field with lists of scores, or of judgements of a truth."""
        if self._kind == "scores":
            return self._named(names, self._fields.score, SCORES)
        found = self._named(names, None, JUDGEMENT)
        if found is None and not named_as(names, PRED):  # whose scores they are
            found = self._named(names, None, SCORES)
            if found is not None and self._kind == "truth":
                raise ValueError(f"a field {found!r} in what should be relevant labels; grades need gains")
        return found

    def _choose_entries(self, names: list[str], entries: EntryColumns) -> tuple[list[str], list[str]]:
        """Return the fields of a row for each label, and those of a truth that may be judgements."""
        instance, label, value = entries
        given, others = self._fields.score, list[str]()
        self._is_long, self._has_id = True, True
        self.batch = Batch(self._facts, is_long=True)
        if self._kind == "scores":
            if given is not None and (given in names or not self._fields.score_of_truth):
                value = given
            if value not in names:
                raise ValueError(f"no field {shown(value or SCORE_COLUMNS[0])} beside {label!r}")
        elif value is None and given in names:
            value = self._facts.judged_by = given
        elif value is None:
            others = [name for name in names if name not in (instance, label) and may_hold_values(name)]
        elif self._kind == "truth" and label == LABEL_COLUMN and named_as([value], SCORE_COLUMNS):
            raise ValueError(f"a field {value!r} in what should be relevant labels; grades need gains")
        self._has_scores = value is not None
        self._unknown = dict.fromkeys(others)
        return self._distinct([instance, label, *([value] if self._has_scores else [])], names), others

    @staticmethod
    def _distinct(chosen: list[str], names: list[str]) -> list[str]:
        for name in chosen:
            if names.count(name) > 1:
                raise ValueError(f"{names.count(name)} fields {shown(name)}")
        return chosen

    @property
    def _of_labels(self) -> str | None:
        return self._fields.pred if self._kind == "scores" else self._fields.true

    def _labels_field(self, names: list[str]) -> str:
        """Return the field with labels; in a file of predictions alone, they may have a truth's name."""
        usual = [PRED, TRUE] if self._kind == "scores" else [TRUE]
        option = "--pred-field" if self._kind == "scores" else "--true-field"
        for several in usual:
            found = self._named(names, self._of_labels, several)
            if found is not None:
                return found
        shown_names = ", ".join(map(shown, names[:9])) or "none"
        columns = "a column for each label is read from a frame in Python"
        raise ValueError(f"its fields are {shown_names}; {option} tells which holds labels; {columns}")

    def _named(self, names: list[str], given: str | None, usual: Sequence[str]) -> str | None:
        """Return the given field, or the one that has a usual name."""
        if given is not None:
            if given not in names:
                raise ValueError(f"no field {shown(given)} among {', '.join(map(shown, names[:9]))}")
            return given
        found = named_as(names, usual)
        if len(found) > 1:
            names_found = " and ".join(map(shown, found))
            raise ValueError(f"its fields {names_found} may both be meant; an option tells which")
        return found[0] if found else None

    def take(self, cells: list[Any], number: int) -> None:
        """Take a row."""
        name = _instance(cells[0]) if self._has_id else str(self._n_rows)
        self._n_rows += 1
        if self._is_long:
            self._take_entry(name, cells, number)
            return
        if self._has_id:
            first = self._lines.setdefault(name, number)
            if first != number:
                raise ValueError(f"id {shown(name)} a second time, first in line {first}")
        assert self._cells is not None
        labels, scores = self._cells.read(cells[self._has_id], number, self._allowance)
        if self._has_scores:
            if scores:
                raise ValueError("labels with scores, and others in a field of scores")
            scores = scores_of(cells[self._has_id + 1], self._allowance)
            if len(scores) != len(labels):
                raise ValueError(f"{counted(len(labels), 'labels')} with {counted(len(scores), 'scores')}")
            if self._kind == "truth":
                scores = [*map(judgement_of, scores)]
        elif self._kind == "truth" and scores:
            told = f"{shown(self._cells.field)} has scores, in what should be relevant labels"
            raise ValueError(f"{told}; grades need gains")
        if labels and self._kind == "scores":
            self._refuse_some_scored(scores is not None)
        if self._kind == "grades" and not scores:
            scores = [1.0] * len(labels)
        self._facts.columns.add(cells[1 + self._has_id + self._has_scores :])
        self.batch.add(name, labels, scores, number)

    def _refuse_some_scored(self, scored: bool) -> None:
        if self._scored is None:
            self._scored = scored
        if scored != self._scored:
            kinds = ("no scores", "scores") if scored else ("scores", "none")
            raise ValueError(f"labels with {kinds[1]}, where those before have {kinds[0]}")

    def _take_entry(self, name: str, cells: list[Any], number: int) -> None:
        label, value = _instance(cells[1]), 1.0
        if self._has_scores:
            text = str(cells[2]).strip()
            told = decimal_number(text)
            if told is None and self._kind != "scores":
                told = TRUTHS.get(text.lower())
            if told is None or math.isnan(told):
                what = "relevance, an integer" if self._kind == "truth" else "score"
                raise ValueError(f"{shown(text)} is no {what}")
            value = judgement_of(told) if self._kind == "truth" else told
        for field, other in zip(self._unknown, cells[2:], strict=False):
            if self._unknown[field] is not False and other not in ("", None):
                self._unknown[field] = decimal_number(str(other).strip()) is not None
        self.batch.add(name, [label], [value], number)

    def finish(self) -> Rows:
        """Return the last rows, and settle what the file alone tells."""
        cells, told = self._cells, self._told
        if not self._n_rows:
            raise ValueError("no row in it")
        unknown = next((field for field, is_number in self._unknown.items() if is_number), None)
        if unknown is not None:
            told_by = f"field {unknown!r} may hold judgements of the labels"
            raise ValueError(f"{told_by}; --score-field {unknown!r} takes it for them, or leave it out")
        if cells is not None:
            cells.close(self._has_scores)
            what = f"{'predicted' if self._kind == 'scores' else 'relevant'} labels in {shown(cells.field)}"
            if cells.found is not None:
                told = [f"{what} cut at {cells.found!r}", *told]
            elif self._of_labels is None:
                told = [what, *told]
            for word, n_cells in cells.n_missing.items():
                told.append(f"{counted(n_cells, 'fields')} {word!r} in {shown(cells.field)} read as no label")
        self._facts.told = told
        return self.batch.rows()


def _instance(value: Any) -> str:
    if isinstance(value, str) and (name := value.strip()):
        return name
    if type(value) is int:
        return str(value)
    raise ValueError("an id is empty" if value == "" else f"an id is {type(value).__name__}, not text")


def _format(
    name: str, title: str, extensions: tuple[str, ...], records: Records, expected: str, fields: Fields
) -> Format:
    files = Documents(records, expected, fields)
    return Format(
        name=name,
        title=title,
        files=" or ".join(f"NAME{ending}" for ending in extensions) + ", each also with .gz",
        extensions=tuple(ending + packed for ending in extensions for packed in ("", ".gz")),
        rows=files.batches,
        holds_both=files.holds_both,
        for_fields=partial(_format, name, title, extensions, records, expected),
    )


CSV = _format("csv", "CSV file of documents", (".csv", ".tsv"), csv_rows, EXPECTED, Fields())
JSONL = _format("jsonl", "JSON Lines of documents", (".jsonl", ".ndjson"), json_rows, EXPECTED_JSON, Fields())
