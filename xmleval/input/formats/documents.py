"""Documents with their labels in CSV and JSON Lines, or a row for each label; and JSON objects of rows."""

from __future__ import annotations

import ast
import contextlib
import csv
import itertools
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.budget import memory_limit
from xmleval.base.errors import InputError, Message, ScanField, counted, shown
from xmleval.base.numerals import decimal_number
from xmleval.files.input import InputFile
from xmleval.files.saved import SMALL_BYTES, distinct_names, parse_json
from xmleval.input.columns import (
    PRED,
    Chosen,
    ColumnsError,
    DecidingColumnError,
    TableColumns,
    choose_columns,
    named_as,
)
from xmleval.input.fields import LineFields, in_blocks
from xmleval.input.formats.csv_lines import CsvBlocks, CsvRecords, csv_rows
from xmleval.input.formats.format import Fields, FileAt, Format, naming
from xmleval.input.formats.json_lists import ListedLabels, ListFields, is_written_plainly, read_in_blocks
from xmleval.input.further_columns import Coded, EntryColumns, ListColumns, notes_on_ranks
from xmleval.input.glances import LIKE_A_SCORE, VectorGlance
from xmleval.input.lines import (
    ASCII_BLANKS,
    SHOWN,
    open_text,
    parsed_block,
    parsed_lines,
    read_at_once,
    words_of,
)
from xmleval.input.rows import BY_KEY, MISSING_WORDS, Origin, RowBatches, Rows, entries_in_batches
from xmleval.input.writing import WrittenRow, replacing_text, written_rows
from xmleval.kernels.json_lists import ID, NUMBERS, TEXTS

EXPECTED = "fields of documents, labels among them, below a line of the fields' names"
EXPECTED_JSON = "an object on each line, labels among its fields"
EXPECTED_RUN = "one JSON object of objects, {instance: {label: relevance or score}}"
SEPARATORS = "|;, "  # of labels in text, any of which may be
ADVICE = 'write the names or ids of the ones, or label names as ["0", "1"]'
BETWEEN_NUMBERS = re.compile(r"[|;,\s]+")
# a list, a dict, a tuple of strings or tuples, or a set or array as Python prints them
LISTS = re.compile(r"""[\[{].*[\]}]|\(\s*+(?:\(*+\s*+['"].*)?\)|(?:frozenset|set|array)\(.*\)""", re.DOTALL)
# what Python prints: brackets, words, plain numbers, and strings, which do not follow one another
PRINTED = re.compile(
    r"""(?:[\s\[\](){},:=-]|[A-Za-z][\w.]*+|[0-9]++(?:\.[0-9]*+)?(?:e[+-]?[0-9]++)?(?!\w)"""
    r"""|'(?:[^'\\]++|\\[\\'"nrtxuU])*+'(?!\s*['"])|"(?:[^"\\]++|\\[\\'"nrtxuU])*+"(?!\s*['"]))*+""",
    re.DOTALL,
)
NODE_BYTES = 500  # of memory for a value that Python prints, as it is parsed
MOST_RELEVANCE = 1 << 62
TRUTHS = {"true": 1.0, "false": 0.0}  # as judgements
Labels = tuple[list[str], list[float] | None]
Records = Callable[[InputFile], Iterator[tuple[int, Any]]]


def json_rows(file: InputFile) -> Iterator[tuple[int, Any]]:
    """Yield the names of fields in the first object of JSON Lines, then each object with its line."""
    for place, (number, record) in enumerate(parsed_lines(file, _json_record)):
        if place == 0:
            yield 0, [*record]
        yield number, record


def _json_record(line: str) -> dict[str, Any] | None:
    if not (line := line.strip()):
        return None
    try:
        record = parse_json(line)
    except ValueError as error:
        raise ValueError(f"{shown(line)} is no JSON: {error}") from None
    if isinstance(record, list):
        raise ValueError(f'{shown(line)} is a list; write it in a field, {{"labels": [...]}}')
    if not isinstance(record, dict):
        raise ValueError(f"{shown(line)} is no object")
    return record


class _Documents:
    """Reads the rows of files: relevant labels, judged ones with their grades, or predictions.

    ``names`` are those of the fields of the first file, which the others have, too.
    """

    def __init__(self, names: list[str], record: dict[str, Any], kind: str, fields: Fields) -> None:
        self.names = names
        self._kind = kind
        self.facts = Origin(join_option="instance_field")
        self.facts.how_to_repeat = "; a file with a row for each label calls the field of labels 'label'"
        self._columns = _columns(names, record, kind, fields, self.facts)
        self._reader = _Reader(self._columns, kind, fields, self.facts)
        self._batches = RowBatches(by_key=self._columns.instance is not None, best_first=True)
        self._glance = VectorGlance(ADVICE)
        self._n_rows = 0

    @property
    def have_entries(self) -> bool:
        """Whether a file has a row for each label, not lists of them."""
        return not self._columns.lists

    def read(self, records: Iterator[tuple[int, Any]], origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a file, or of a part of one."""
        entries = self._entries(records)
        if self.have_entries:
            for rows in entries_in_batches(entries, origin, partial(values_of, kind=self._kind)):
                self._reader.add_cells(rows.keys or ())
                yield rows
            return
        for rows in self._batches.read(entries, origin):
            memory_limit().check(sum(hashes.itemsize * len(hashes) for hashes in origin.columns.values()))
            documents = rows._replace(are_lists=self._reader.are_lists)
            self._glance.refuse(documents)
            yield documents

    def read_blocks(self, blocks: CsvBlocks, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a file with a row for each label, many lines at a time."""
        columns = self._columns.instance, self._columns.label, self._columns.value
        for block in blocks.read(columns, lambda: self._reader.undecided):
            rows = None if block.fields is None else self._block_rows(block.fields, block.further, origin)
            if rows is None:
                yield from self.read(block.records(), origin)
            else:
                yield rows

    def _block_rows(self, fields: LineFields, further: Sequence[str], origin: Origin) -> Rows | None:
        """Return the rows of a block; None if a value is none, which its records tell."""
        values = np.ones(fields.lines.size) if fields.values is None else fields.values
        if self._kind == "truth" and not are_whole(values):
            return None
        rows = fields.rows(values, origin)
        self._reader.add_coded(rows, dict(zip(further, fields.further, strict=True)))
        self._n_rows += fields.lines.size
        return rows

    def list_fields(self, record: dict[str, Any]) -> ListFields | None:
        """Return the fields of an object, None if there are others than an id, labels and scores, or were."""
        _, instance, label, value, unused, _ = self._columns
        kind_of = {instance: ID, label: TEXTS, value: NUMBERS}
        kind_of.pop(None, None)
        is_read = self._kind == "scores" or (self._kind != "grades" and value is None)
        if self.have_entries or unused or not is_read or record.keys() != kind_of.keys():
            return None
        if not all(map(is_written_plainly, record)):
            return None
        return ListFields([*record], [kind_of[name] for name in record])

    def read_lists(
        self, file: InputFile, fields: ListFields, records: Iterator[tuple[int, Any]], origin: Origin
    ) -> Iterator[Rows]:
        """Yield the rows of JSON Lines, in whole blocks of lines; of a small file, line by line."""
        with open_text(file) as opened:
            blocks = in_blocks(opened)
            first, second = next(blocks), next(blocks, None)
            if second is None:
                yield from self.read(records, origin)
                return
            for block, listed in read_in_blocks(
                fields, self._batches.names, itertools.chain([first, second], blocks)
            ):
                rows = None if listed is None else self._list_rows(listed, origin)
                if rows is None:
                    yield from self.read(parsed_block(block, _json_record), origin)
                else:
                    yield rows

    def _list_rows(self, listed: ListedLabels, origin: Origin) -> Rows | None:
        """Return the rows of a block; None if they have scores unlike others, which their records tell."""
        ids, ptr, labels, names, values, lines = listed
        if labels.size:
            is_scored = values is not None
            if self._batches.is_scored not in (None, is_scored):
                return None
            self._batches.is_scored = is_scored
            self._reader.are_lists = False
        match = None if ids is None else BY_KEY
        scores = values if labels.size else None
        are_lists = self._reader.are_lists
        columns = ids, match, ptr, labels, names, scores
        rows = Rows(*columns, best_first=True, places=lines, are_lists=are_lists, origin=origin)
        self._glance.refuse(rows)
        self._n_rows += len(lines)
        return rows

    def _entries(self, records: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        """Yield what the reader makes of each record."""
        read: Callable[[dict[str, Any], int], tuple[Any, ...]] = self._reader.read_entry
        if self._columns.lists:
            read = self._reader.read_document
        for number, record in records:
            try:
                entry = read(record, number)
            except KeyError as error:
                raise ValueError(f"line {number}: no field {shown(error.args[0])}") from None
            except ValueError as error:
                raise ValueError(Message(f"line {number}: ", *error.args[:1])) from None
            self._n_rows += 1
            yield entry

    def close(self) -> None:
        """Refuse files without a row, or with what may be something else, once all are read."""
        if not self._n_rows:
            raise ValueError("no row in it")
        self._reader.close()
        self._glance.close()


def _columns(
    names: list[str], record: dict[str, Any], kind: str, fields: Fields, facts: Origin
) -> TableColumns[str]:
    """Return what the fields are, as options, their names and the first record tell."""
    is_scores = kind == "scores"
    labels = fields.pred if is_scores else fields.true
    score = fields.score if is_scores and (fields.score in names or not fields.score_of_truth) else None

    def lists_scores(name: str) -> bool:
        """Tell whether a field of the first record holds several values."""
        return len(cut(record.get(name), fields.separator) or ()) > 1

    chosen = Chosen(fields.id, labels, score)
    try:
        columns = choose_columns(names, kind, None, chosen, joined=fields.joined, lists_scores=lists_scores)
    except ColumnsError as error:
        raise ValueError(Message(f"{error}; ", *_naming_fields(kind))) from None
    if fields.beside_truth and labels is None and not named_as([columns.label], PRED):
        taken = f"the labels in {shown(columns.label)} are the truth's; ", ScanField("scores_label_field")
        raise ValueError(Message(*taken, " names the predicted ones"))
    if is_scores or columns.value is not None or fields.score not in columns.unused:
        return columns
    if columns.lists and (fields.pred in names or named_as(names, PRED)):
        return columns  # it has the scores of predictions
    facts.judged_by = fields.score
    return columns._replace(value=fields.score)


def _naming_fields(kind: str) -> list[object]:
    """Return what a message says on fields that are not found."""
    label = ScanField("scores_label_field" if kind == "scores" else "label_field")
    return [label, ", ", ScanField("score_field"), " and ", ScanField("instance_field"), " name them"]


def _notes_on_fields(columns: TableColumns[str], kind: str, fields: Fields) -> list[str]:
    """Return notes on the fields that are read by their usual names, and on scores that are not read."""
    notes = list[str]()
    if kind == "scores":
        if fields.pred is None:
            notes.append(f"predicted labels in {shown(columns.label)}")
        if columns.value is None:
            notes += _notes_on_unread_scores(columns.unused)
        elif not fields.score:
            notes.append(f"scores in {shown(columns.value)}")
    else:
        if fields.true is None:
            notes.append(f"relevant labels in {shown(columns.label)}")
        if columns.value is not None:
            notes.append(f"judgements in {shown(columns.value)}")
    if columns.instance is not None and fields.id is None:
        notes.append(f"ids in {shown(columns.instance)}")
    return notes


def _notes_on_unread_scores(names: Sequence[str]) -> list[Message]:
    unread = [name for name in names if "score" in name.lower()]
    option = ScanField("score_field")
    return [Message(f"{shown(name)} not read (", option, " reads scores)") for name in unread]


class _Reader:
    """Reads the labels of each document and their values, or a label with its value, and notes on them."""

    def __init__(self, columns: TableColumns[str], kind: str, fields: Fields, facts: Origin) -> None:
        self._columns = columns
        self._kind = kind
        self._separator = fields.separator
        self._entry_columns = EntryColumns(columns, kind)
        self._list_columns = ListColumns(columns, kind)
        self._cells: dict[str, list[Any]] = {name: [] for name in self._entry_columns.undecided}
        self._missing = Counter[str]()  # cells that are a word for a missing value
        self.are_lists = columns.lists and columns.value is None  # as zeros and ones of each label may be
        self._notes = facts.notes
        if columns.lists:
            self._notes += _notes_on_fields(columns, kind, fields)
        self._notes += notes_on_ranks(columns, kind)
        compared = list[str]()
        if columns.lists and columns.instance is None and fields.joined:
            compared = columns.unused
        self._hashes = {name: array("q") for name in compared}
        facts.columns = self._hashes

    def read_entry(self, record: dict[str, Any], line: int) -> tuple[str, str, Any, int]:
        """Return the id of a row, a label of it, the cell of its value, and the line."""
        _, instance, label, value, _, _ = self._columns
        assert instance is not None  # as of all tables with a row for each label
        for field, cells in self._cells.items():
            cells.append(record.get(field))
        key = id_of(record[instance])
        name = name_of(record[label])
        return key, name, "1" if value is None else record[value], line

    def read_document(self, record: dict[str, Any], line: int) -> tuple[str, *Labels, int]:
        """Return the id of a row, "" without one, its labels, their values if they have any, and the line."""
        _, instance, label, value, _, _ = self._columns
        key = "" if instance is None else id_of(record[instance])
        for name, hashes in self._hashes.items():
            hashes.append(hash(str(record.get(name))))
        labels, values = self._labels(record[label])
        if undecided := self._list_columns.undecided:
            cells = {name: cut(record.get(name), self._separator) for name in undecided}
            self._list_columns.add(len(labels), cells)
        if value is not None:
            if values:
                raise ValueError("labels with scores, and others in a field of scores")
            values = numbers_of(record[value], self._kind)
            if len(values) != len(labels):
                raise ValueError(f"{counted(len(labels), 'labels')} with {counted(len(values), 'scores')}")
        elif self._kind == "truth" and values:
            message = f"{shown(label)} has scores, in what should be relevant labels"
            raise ValueError(f"{message}; grades need gains")
        values = [1.0] * len(labels) if self._kind == "grades" and not values else values
        return key, labels, values, line

    def _labels(self, cell: object) -> Labels:
        """Return the labels of a cell, and their scores where it has some; a separator cuts those of text."""
        if isinstance(cell, str):
            text = cell.strip(ASCII_BLANKS)
            if text in MISSING_WORDS:
                self._missing[text] += 1
                return [], None
            if not LISTS.fullmatch(text):
                return self._split(text), None
            cell = parsed(text)
        self.are_lists &= isinstance(cell, list) and all(type(item) is int for item in cell)
        return labels_of(cell)

    def _split(self, text: str) -> list[str]:
        """Return the labels of a text, or refuse one that may be several where no separator is given."""
        separator = self._separator
        if separator is None and (mark := next((mark for mark in SEPARATORS if mark in text), None)):
            text = f"{shown(text)} may be one label or several; "
            option = ScanField("separator", shown(mark))
            raise ValueError(Message(text, option, " cuts it, another one does not"))
        if separator == " ":
            return words_of(text)
        parts = [text] if separator is None else text.split(separator)
        return [name for part in parts if (name := part.strip(ASCII_BLANKS))]

    @property
    def undecided(self) -> list[str]:
        """Names of the columns beside, of which more must be seen."""
        return [*self._cells]

    def add_cells(self, keys: Sequence[str]) -> None:
        """Look at the cells beside the labels of rows with these keys, which were read last."""
        self._look_at(keys, self._cells)

    def add_coded(self, rows: Rows, cells: Mapping[str, Coded]) -> None:
        """Look at the cells beside the labels of some rows."""
        if self._cells:
            keys = np.repeat(np.array(rows.keys, object), np.diff(rows.ptr))
            self._look_at(keys.tolist(), cells)

    def _look_at(self, keys: Sequence[str], cells: Mapping[str, Sequence[Any] | Coded]) -> None:
        with _naming_field():
            self._entry_columns.add(keys, cells)
        self._cells = {name: [] for name in self._entry_columns.undecided}

    def close(self) -> None:
        """Note columns that are left out and missing values, or refuse a column that may decide."""
        further = self._list_columns if self._columns.lists else self._entry_columns
        with _naming_field():
            self._notes += further.notes()
        for word, n_cells in self._missing.items():
            note = (
                f"{counted(n_cells, 'fields')} {shown(word)} in {shown(self._columns.label)} read as no label"
            )
            self._notes.append(note)


def cut(cell: object, separator: str | None) -> list[Any] | tuple[Any, ...] | None:
    """Return what a cell lists, as a tuple where it is a number or text that is cut; None of other values."""
    if isinstance(cell, list):
        return cell
    if not isinstance(cell, str):
        return (cell,) if isinstance(cell, int | float) else None
    text = cell.strip()
    if LISTS.fullmatch(text):
        with contextlib.suppress(ValueError):
            return cut(parsed(text), separator)
        return None
    if separator is not None:
        return (*text.split(None if separator == " " else separator),) if text else ()
    numbers = BETWEEN_NUMBERS.split(text)
    return (*numbers,) if all(decimal_number(number) is not None for number in numbers) else None


@contextlib.contextmanager
def _naming_field() -> Iterator[None]:
    """Say how to name a column that may decide."""
    try:
        yield
    except DecidingColumnError as error:
        if error.column is None:
            raise
        field = ScanField("score_field", str(error.column))
        raise ValueError(Message(f"{error}; ", field, " takes it for them, or leave it out")) from None


def parsed(text: str) -> object:
    """Return the value that JSON is, or a list, tuple, dict, set or array as Python prints it."""
    try:
        return parse_json(text)
    except json.JSONDecodeError:  # of what Python prints, or of nothing
        if len(text) > SMALL_BYTES:
            memory_limit().check(2 * len(text) + NODE_BYTES * sum(map(text.count, ",:[{(")))
    with contextlib.suppress(SyntaxError, RecursionError, MemoryError):
        if PRINTED.fullmatch(text):
            return _printed(ast.parse(text, mode="eval").body)
    raise ValueError(f"{shown(text)} is no list of labels in JSON or Python")


def _printed(node: ast.expr) -> object:
    """Return the value of an expression as Python prints it: any sequence or set as a list."""
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_printed(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [_printed(key) for key in keys if key is not None]
            if all(isinstance(name, str) for name in names):
                return distinct_names(zip(names, map(_printed, values), strict=True))
        case ast.Call(func=ast.Name(id=name), args=args) if name in ("set", "frozenset", "array"):
            return _printed(args[0]) if args else []
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np")), args=[value]):
            return _printed(value)
    raise SyntaxError


def labels_of(value: object) -> Labels:
    """Return the labels of a list, and their scores: of pairs, {"label": ..., "score": ...}, or a dict."""
    if isinstance(value, dict):
        pairs: list[Any] = sorted(value.items(), reverse=True)  # equal scores rank by name, others as listed
    elif not isinstance(value, list):
        raise ValueError(f"{_json(value)} is no list of labels")
    elif not value or not isinstance(value[0], list | dict):
        return label_texts(value), None
    else:
        pairs = [_pair(item) for item in value]
    return [name_of(name) for name, _ in pairs], [number_of(score) for _, score in pairs]


def numbers_of(cell: object, kind: str) -> list[float]:
    """Return the scores or judgements in a cell that has no labels."""
    if isinstance(cell, str):
        text = cell.strip()
        if text in ("", *MISSING_WORDS):
            return []
        cell = parsed(text) if text.startswith(("[", "array(")) else BETWEEN_NUMBERS.split(text)
    if isinstance(cell, list) and kind == "scores" and {*map(type, cell)} == {float}:
        return cell if not any(map(math.isnan, cell)) else [*map(number_of, cell)]
    return [number_of(item, kind) for item in (cell if isinstance(cell, list) else [cell])]


def _pair(item: object) -> Sequence[Any]:
    if isinstance(item, list) and len(item) == 2:
        return item
    if isinstance(item, dict) and "score" in item:
        for name in ("corpus_id", "label"):
            if name in item:
                return item[name], item["score"]
    raise ValueError(f'{_json(item)} is no label with a score, such as {{"label": "a", "score": 0.5}}')


def label_texts(items: list[Any]) -> list[str]:
    """Return the names of a list of JSON."""
    if {*map(type, items)} == {str}:
        return [item.strip(ASCII_BLANKS) for item in items]
    return [*map(name_of, items)]


def name_of(item: object, noun: str = "label") -> str:
    """Return a name of JSON, also as an integer."""
    if type(item) is str:
        return item.strip(ASCII_BLANKS)
    if type(item) is int:
        return str(item)
    raise ValueError(f"{_json(item)} is no {noun}")


def id_of(item: object) -> str:
    """Return the name of a row, or refuse an empty one."""
    if key := name_of(item, "id"):
        return key
    raise ValueError("an id is empty")


def number_of(value: object, kind: str = "scores") -> float:
    """Return a number of JSON or text; a judgement of a truth is whole, and true is 1, as of a grade."""
    number = value if type(value) is float else None
    if type(value) is int and abs(value) < MOST_RELEVANCE:  # text makes the largest infinite
        number = float(value)
    if number is None:
        text = (value if isinstance(value, str) else json.dumps(value)).strip()
        number = decimal_number(text)
        if number is None and kind != "scores":
            number = TRUTHS.get(text.lower())
    if number is None or number != number:
        raise ValueError(f"{_json(value)} is no {'relevance, an integer' if kind == 'truth' else 'score'}")
    if kind == "truth" and not (number.is_integer() and abs(number) < MOST_RELEVANCE):
        raise ValueError(f"{number} is no relevance, an integer; {LIKE_A_SCORE}; grades need gains")
    return number


def values_of(cells: Sequence[Any], lines: Sequence[int], kind: str) -> NDArray[np.float64]:
    """Return the numbers of cells, or refuse the first that is none with its line."""
    with contextlib.suppress(ValueError, TypeError):
        text = "".join(cells)
        values = np.fromiter(map(float, cells), np.float64, len(cells))
        is_fine = text.isascii() and "_" not in text and not np.isnan(values).any()
        if is_fine and (kind != "truth" or are_whole(values)):
            return values
    numbers = array("d")
    for cell, line in zip(cells, lines, strict=True):
        try:
            numbers.append(number_of(cell, kind))
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
    return np.array(numbers)


def are_whole(values: NDArray[np.float64]) -> bool:
    """Tell whether all numbers are whole, as judgements of a truth are."""
    return bool(((np.floor(values) == values) & (np.abs(values) < MOST_RELEVANCE)).all())


def _json(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return shown(value) if isinstance(value, str) else json.dumps(value)[:SHOWN]


def run_rows(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of judgements, which are integers unless grades are asked for, or of scores."""

    def entries(path: Path) -> Iterator[tuple[str, list[str], list[float], int]]:
        try:
            objects = parse_json(read_at_once(path).decode())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"no JSON: {error}") from None
        if not isinstance(objects, dict):
            hint = "; of a list of documents, write one a line (.jsonl)" if isinstance(objects, list) else ""
            raise ValueError(f"a JSON {type(objects).__name__}{hint}")
        for place, (row, labels) in enumerate(objects.items()):
            if not isinstance(labels, dict):
                raise ValueError(f"instance {shown(row)}: {shown(str(labels))} is no object")
            try:
                yield row, [*labels], [number_of(value, kind) for value in labels.values()], place
            except ValueError as error:
                raise ValueError(f"instance {shown(row)}: {error}") from None

    batches = RowBatches()
    for path in paths:
        with naming(path, EXPECTED_RUN):
            yield from batches.read(entries(path), Origin("row").of_file(path, paths))


def _refuse_bare_objects(number: int, record: dict[str, Any]) -> None:
    """Refuse an object that is what a field should hold, or a row of an object of all rows."""
    kinds = {*map(type, record.values())}
    if kinds and kinds <= {int, float}:
        text = 'labels with scores alone; write them in a field, {"labels": {...}}'
        raise ValueError(f"line {number}: {text}")
    if kinds == {dict}:
        raise ValueError(f"line {number}: rows by name; write one object of all rows (NAME.json)")


def _listed(names: list[str]) -> str:
    return shown(", ".join(names))


def save_json_lines(path: Path, data: object, kind: str, n_labels: int | None) -> None:
    """Write an object for each row: its instance, if rows have keys, its labels, and their scores."""
    with replacing_text(path) as file:
        for row in written_rows(data, kind, n_labels, _refuse_name):
            fields = {} if row.key is None else {"instance": _json_text(row.key)}
            members = (f'"{name}": {text}' for name, text in (fields | _lists_of(row)).items())
            file.write(f"{{{', '.join(members)}}}\n".encode())


def save_csv(path: Path, data: object, kind: str, n_labels: int | None) -> None:
    """Write the same fields as CSV, lists as JSON; between tabs where the name ends in .tsv."""
    delimiter = "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
    with replacing_text(path) as file:
        encoded = SimpleNamespace(write=lambda text: file.write(text.encode()))
        table = csv.writer(encoded, delimiter=delimiter, lineterminator="\n")
        is_first = True
        for row in written_rows(data, kind, n_labels, _refuse_field):
            fields = {} if row.key is None else {"instance": row.key}
            fields |= _lists_of(row)
            if is_first:
                table.writerow([*fields])
            table.writerow([*fields.values()])
            is_first = False


def _lists_of(row: WrittenRow) -> dict[str, str]:
    """Return the labels of a row, and their scores if they have some, as JSON."""
    if row.scores is None:
        return {"labels": _json_text(row.labels)}
    return {"labels": _json_text(row.labels), "scores": f"[{', '.join(map(_number_text, row.scores))}]"}


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number_text(number: float) -> str:
    """Return a number as JSON has it, of which one beyond the largest is read as infinity."""
    return repr(number).replace("inf", "1e999")


def _refuse_name(name: str, noun: str) -> None:
    """Refuse a name that would be read as another one."""
    if not name or name != name.strip():
        fault = "is empty" if not name else "has a blank at an end"
        text = f"{noun} {shown(name)} {fault}, which CSV and JSON Lines do not keep; rename it"
        raise InputError(f"{noun}_names", text)


def _refuse_field(name: str, noun: str) -> None:
    """Refuse a name that CSV would not keep."""
    _refuse_name(name, noun)
    if noun == "row" and name.splitlines() != [name]:
        text = f"row {shown(name)} has a line break, which CSV does not keep; rename it"
        raise InputError("row_names", text)


def _format(
    files: Format, records: Records, expected: str, fields: Fields, file_at: FileAt = InputFile
) -> Format:
    def rows(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
        documents: _Documents | None = None
        for path in paths:
            with naming(path, expected):
                file = file_at(path)
                of_file = header = records(file)
                names: list[str] = next(of_file, (0, []))[1]
                first: tuple[int, dict[str, Any]] = next(of_file, (0, {}))
                of_file = itertools.chain([first] if first[0] else [], of_file)
                if documents is None:
                    try:
                        documents = _Documents(names, first[1], kind, fields)
                    except ValueError:
                        _refuse_bare_objects(*first)
                        raise
                elif records is csv_rows and {*names} != {*documents.names}:
                    raise ValueError(f"fields {_listed(names)}, not {_listed(documents.names)} of {paths[0]}")
                origin = documents.facts.of_file(path, paths)
                if isinstance(header, CsvRecords) and documents.have_entries:
                    yield from documents.read_blocks(CsvBlocks(file, header), origin)
                elif records is json_rows and (listed := documents.list_fields(first[1])):
                    yield from documents.read_lists(file, listed, of_file, origin)
                else:
                    yield from documents.read(of_file, origin)
                if path is paths[-1]:
                    documents.close()

    def holds_both(path: Path) -> bool:
        with naming(path, expected):
            _, names = next(records(file_at(path)), (0, []))
            return fields.pred is not None or bool(named_as(names, PRED))

    def for_fields(fields: Fields, file_at: FileAt) -> Format:
        return _format(files, records, expected, fields, file_at)

    return replace(files, rows=rows, holds_both=holds_both, for_fields=for_fields)


CSV = Format(
    name="csv",
    title="CSV file of documents",
    extensions=(".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    write=save_csv,
    keeps_names=True,
    keeps_order=True,
)
CSV = _format(CSV, csv_rows, EXPECTED, Fields())
JSONL = Format(
    name="jsonl",
    title="JSON Lines of documents",
    extensions=(".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    write=save_json_lines,
    keeps_names=True,
    keeps_order=True,
)
JSONL = _format(JSONL, json_rows, EXPECTED_JSON, Fields())
JSON = Format(
    name="json",
    title="JSON object of judgements or of scores",
    extensions=(".json", ".json.gz"),
    rows=run_rows,
)
