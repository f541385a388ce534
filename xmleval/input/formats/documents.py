"""Documents with labels in CSV or JSON Lines, also a row per label; JSON objects of rows."""

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
from dataclasses import dataclass, replace
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
from xmleval.input.cell_marks import keeps_values
from xmleval.input.columns import (
    HIT_LABELS,
    PRED,
    ColumnsError,
    DecidingColumnError,
    NoJudgementsError,
    NoLabelsError,
    TableColumns,
    find_instance,
    named_as,
)
from xmleval.input.fields import LineFields, in_blocks
from xmleval.input.formats.csv_lines import CsvBlocks, CsvRecords, csv_rows
from xmleval.input.formats.field_names import choose_fields, naming_labels, without_values_of_rows
from xmleval.input.formats.format import Fields, FileAt, Format, RowCells, naming, naming_each
from xmleval.input.formats.json_lists import (
    ListedLabels,
    ListFields,
    is_written_plainly,
    read_in_blocks,
)
from xmleval.input.formats.label_columns import EXPECTED as EXPECTED_TABLE
from xmleval.input.formats.label_columns import (
    LabelColumnsReader,
    are_named_labels,
    choose_label_columns,
)
from xmleval.input.further_columns import (
    Coded,
    EntryColumns,
    ListColumns,
    is_blank,
    notes_on_ranks,
)
from xmleval.input.lines import (
    ASCII_BLANKS,
    SHOWN,
    open_text,
    parsed_block,
    parsed_lines,
    read_at_once,
    split_words,
)
from xmleval.input.plausibility import LIKE_A_SCORE, VectorGlance
from xmleval.input.rows import BY_KEY, MISSING_WORDS, Origin, RowBatches, Rows, entries_in_batches
from xmleval.input.writing import WrittenRow, replacing_text, written_rows
from xmleval.kernels.json_lists import ID, NUMBERS, TEXTS

EXPECTED = "a line of field names, then documents with labels in a field"
EXPECTED_JSON = "one JSON object on each line, with labels in a field"
EXPECTED_RUN = "one JSON object of objects, {instance: {label: relevance or score}}"
LABEL_SEPARATORS = "|;, "  # any of them may separate the labels in a text
ADVICE = 'write the names or ids of the labels that are 1, or label names as ["0", "1"]'
BETWEEN_NUMBERS = re.compile(r"[|;,\s]+")
# a list, a dict, a tuple of strings or tuples, or a set or array as Python prints them
LIST_TEXT = re.compile(
    r"""[\[{].*[\]}]|\(\s*+(?:\(*+\s*+['"].*)?\)|(?:frozenset|set|array)\(.*\)""", re.DOTALL
)
# what Python prints: brackets, words, plain numbers, and strings that do not follow one another
PRINTED_TEXT = re.compile(
    r"""(?:[\s\[\](){},:=-]|[A-Za-z][\w.]*+|[0-9]++(?:\.[0-9]*+)?(?:e[+-]?[0-9]++)?(?!\w)"""
    r"""|'(?:[^'\\]++|\\[\\'"nrtxuU])*+'(?!\s*['"])"""
    r"""|"(?:[^"\\]++|\\[\\'"nrtxuU])*+"(?!\s*['"]))*+""",
    re.DOTALL,
)
SAMPLED_RECORDS = 10_000  # of which some have the same key, where there is a row for each label
NODE_BYTES = 500  # of memory for a value that Python prints, while it is parsed
MOST_RELEVANCE = 1 << 62
TRUTH_WORDS = {"true": 1.0, "false": 0.0}  # as judgements
Labels = tuple[list[str], list[float] | None]
Records = Callable[[InputFile], Iterator[tuple[int, Any]]]
Sample = Callable[[], Iterator[tuple[int, Any]]]


def json_rows(file: InputFile) -> Iterator[tuple[int, Any]]:
    """Yield the names of fields in the first object, then each object with its line."""
    for place, (number, record) in enumerate(parsed_lines(file, _json_record)):
        if place == 0:
            yield 0, [*record]
        yield number, record


def _json_record(line: str) -> dict[str, Any] | None:
    line = line.strip()
    if not line:
        return None
    try:
        record = parse_json(line)
    except ValueError as error:
        raise ValueError(f"{shown(line)} is not JSON: {error}") from None
    if isinstance(record, list):
        raise ValueError(f'{shown(line)} is a list; write it in a field, {{"labels": [...]}}')
    if not isinstance(record, dict):
        raise ValueError(f"{shown(line)} is not an object")
    return record


class _DocumentReader:
    """Reads the rows of files: relevant labels, judged labels with grades, or predictions.

    ``names`` are the fields of the first file, which the other files have, too.
    """

    def __init__(
        self,
        names: list[str],
        record: dict[str, Any],
        kind: str,
        fields: Fields,
        sample: Sample,
    ) -> None:
        self.names = names
        self._kind = kind
        self.facts = Origin(join_option="instance_field")
        self.facts.how_to_repeat = "; if each row is a label, call the field of labels 'label'"

        def lists_scores(name: str) -> bool:
            """Return whether a field of the first record has several values."""
            return len(split_cell(record.get(name), fields.separator) or ()) > 1

        def repeats(name: str) -> bool:
            """Return whether a field has one value in several of the first records."""
            cells = [str(record.get(name)) for _, record in sample()]
            return len({*cells}) < len(cells)

        are_entries = _repeat_keys(sample, names, kind, fields)
        self._columns = choose_fields(
            names,
            kind,
            fields,
            self.facts,
            lists_scores=lists_scores,
            are_entries=are_entries,
            repeats=repeats,
        )
        if are_entries:
            instance = shown(self._columns.instance)
            self.facts.notes.append(f"a row for each label, as values of {instance} repeat")
        self._reader = _RecordReader(self._columns, kind, fields, self.facts)
        self._batches = RowBatches(by_key=self._columns.instance is not None, best_first=True)
        self._glance = VectorGlance(ADVICE)
        self._n_rows = 0

    @property
    def have_entries(self) -> bool:
        """Whether a file has a row for each label, not lists of labels."""
        return not self._columns.lists

    @property
    def entry(self) -> tuple[str, str] | None:
        """The fields of instances and labels of a file with a row for each label, else None."""
        if self._columns.lists:
            return None
        assert self._columns.instance is not None  # as in all tables with a row for each label
        return self._columns.instance, self._columns.label

    @property
    def are_in_blocks(self) -> bool:
        """Whether a file has a row for each label, with its name, and can be read in blocks."""
        return self.have_entries and not self._columns.are_numbered

    def read(self, records: Iterator[tuple[int, Any]], origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a file, or of some lines of it."""
        entries = self._entries(records)
        if self.have_entries:
            for rows in entries_in_batches(entries, origin, partial(values_of, kind=self._kind)):
                self._reader.add_cells(rows.keys or ())
                yield rows
            return
        for rows in self._batches.read(entries, origin):
            memory_limit().check(
                sum(hashes.itemsize * len(hashes) for hashes in origin.columns.values())
            )
            documents = rows._replace(are_lists=self._reader.are_lists)
            self._glance.refuse(documents)
            yield documents

    def read_blocks(self, blocks: CsvBlocks, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a file with a row for each label, many lines at a time."""
        columns = self._columns.instance, self._columns.label, self._columns.value
        for block in blocks.read(columns, lambda: self._reader.undecided):
            rows = None
            if block.fields is not None:
                rows = self._block_rows(block.fields, block.further, origin)
            if rows is None:
                yield from self.read(block.records(), origin)
            else:
                yield rows

    def _block_rows(
        self, fields: LineFields, further: Sequence[str], origin: Origin
    ) -> Rows | None:
        """Return the rows of a block, None for a wrong value, which its records show."""
        values = fields.values
        if values is None:
            values = np.ones(fields.lines.size)
        if self._kind == "truth" and not are_whole(values):
            return None
        rows = fields.rows(values, origin)
        self._reader.add_coded(rows, dict(zip(further, fields.further, strict=True)))
        self._n_rows += fields.lines.size
        return rows

    def list_fields(self, record: dict[str, Any]) -> ListFields | None:
        """Return the fields of an object, None if they are not just an id, labels and scores."""
        _, instance, label, value, unused, *_ = self._columns
        kind_of = {instance: ID, label: TEXTS, value: NUMBERS}
        kind_of.pop(None, None)
        is_read = self._kind == "scores" or (not keeps_values(self._kind) and value is None)
        if self.have_entries or unused or not is_read or record.keys() != kind_of.keys():
            return None
        if not all(map(is_written_plainly, record)):
            return None
        return ListFields([*record], [kind_of[name] for name in record])

    def read_lists(
        self,
        file: InputFile,
        fields: ListFields,
        records: Iterator[tuple[int, Any]],
        origin: Origin,
    ) -> Iterator[Rows]:
        """Yield the rows of JSON Lines in whole blocks, or of a small file line by line."""
        with open_text(file) as opened:
            blocks = in_blocks(opened)
            first = next(blocks)
            second = next(blocks, None)
            if second is None:
                yield from self.read(records, origin)
                return
            all_blocks = itertools.chain([first, second], blocks)
            for block, listed in read_in_blocks(fields, self._batches.names, all_blocks):
                rows = None
                if listed is not None:
                    rows = self._list_rows(listed, origin)
                if rows is None:
                    yield from self.read(parsed_block(block, _json_record), origin)
                else:
                    yield rows

    def _list_rows(self, listed: ListedLabels, origin: Origin) -> Rows | None:
        """Return the rows of a block, None if only some rows have scores, as its records show."""
        ids, ptr, labels, names, values, lines = listed
        if labels.size:
            is_scored = values is not None
            if self._batches.is_scored not in (None, is_scored):
                return None
            self._batches.is_scored = is_scored
            self._reader.are_lists = False
        rows = Rows(
            ids,
            None if ids is None else BY_KEY,
            ptr,
            labels,
            names,
            values if labels.size else None,
            best_first=True,
            places=lines,
            are_lists=self._reader.are_lists,
            origin=origin,
        )
        self._glance.refuse(rows)
        self._n_rows += len(lines)
        return rows

    def _entries(self, records: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        """Yield the entries that the record reader makes from records."""
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
        """Refuse files without rows or with unlikely ones, once all are read."""
        if not self._n_rows:
            raise ValueError("it has no rows")
        self._reader.close()
        self._glance.close()


def _repeat_keys(sample: Sample, names: Sequence[str], kind: str, fields: Fields) -> bool:
    """Return whether the field of labels that an option names has one label in each record.

    Two of the records must then have the same key; lists have one record for each key.
    """
    label = fields.pred if kind == "scores" else fields.true
    if not label:
        return False
    instance = fields.id
    if instance is None:
        with contextlib.suppress(ColumnsError):  # raised again where columns are chosen
            names = without_values_of_rows(names, fields)
            instance = find_instance([name for name in names if name != label])
    if instance is None:
        return False
    keys = set[str]()
    are_repeated = False
    for _, record in sample():
        key = str(record.get(instance))
        are_repeated |= key in keys
        keys.add(key)
        if not _is_one_label(record.get(label), fields.separator):
            return False
    return are_repeated


def _is_one_label(cell: object, separator: str | None) -> bool:
    """Return whether a cell is a label, not a list of labels in any form."""
    if not isinstance(cell, str):
        return isinstance(cell, int)
    return not LIST_TEXT.fullmatch(cell.strip()) and (separator is None or separator not in cell)


def _notes_on_fields(columns: TableColumns[str], kind: str, fields: Fields) -> list[str]:
    """Return notes on fields that are read by their usual names, and on scores not read."""
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
    return [
        Message(f"{shown(name)} is not read (to read scores, give ", option, ")") for name in unread
    ]


class _RecordReader:
    """Reads the labels of documents with their values, or single labels, and collects notes."""

    def __init__(
        self, columns: TableColumns[str], kind: str, fields: Fields, facts: Origin
    ) -> None:
        self._columns = columns
        self._kind = kind
        self._separator = fields.separator
        self._entry_columns = EntryColumns(columns, kind)
        self._list_columns = ListColumns(columns, kind)
        self._cells: dict[str, list[Any]] = {name: [] for name in self._entry_columns.undecided}
        self._missing = Counter[str]()  # counts cells that are a word for a missing value
        # such lists may be the zeros and ones of all labels
        self.are_lists = columns.lists and columns.value is None
        self._notes = facts.notes
        self._counter = facts.counter
        if columns.lists:
            self._notes += _notes_on_fields(columns, kind, fields)
        self._notes += notes_on_ranks(columns, kind)
        compared = list[str]()
        if columns.lists and columns.instance is None and fields.joined:
            compared = columns.unused
        self._hashes = {name: array("q") for name in compared}
        facts.columns = self._hashes

    def read_entry(self, record: dict[str, Any], line: int) -> tuple[str, str, Any, int]:
        """Return the id of a row, one of its labels, the cell of its value, and the line."""
        _, instance, label, value, *_ = self._columns
        assert instance is not None  # as in all tables with a row for each label
        for field, cells in self._cells.items():
            cells.append(record.get(field))
        key = id_of(record[instance])
        name = name_of(record[label]) if self._counter is None else self._counter.next(key)
        return key, name, "1" if value is None else record[value], line

    def read_document(self, record: dict[str, Any], line: int) -> tuple[str, *Labels, int]:
        """Return the id of a row or "", its labels, their values if there are any, and the line."""
        _, instance, label, value, *_ = self._columns
        key = "" if instance is None else id_of(record[instance])
        for name, hashes in self._hashes.items():
            hashes.append(hash(str(record.get(name))))
        labels, values = self._labels(record[label])
        undecided = self._list_columns.undecided
        if undecided:
            cells = {name: split_cell(record.get(name), self._separator) for name in undecided}
            self._list_columns.add(len(labels), cells)
        if value is not None:
            if values:
                raise ValueError("scores are both with the labels and in a field of scores")
            values = self._read_values(record[value], len(labels))
        elif self._kind == "truth" and values:
            message = f"{shown(label)} has scores, but relevant labels are expected"
            raise ValueError(f"{message}; grades need gains")
        if keeps_values(self._kind) and not values:
            values = [1.0] * len(labels)
        return key, labels, values, line

    def _read_values(self, cell: object, n_labels: int) -> list[float]:
        """Return the scores or judgements in a cell, or refuse another number of them."""
        values = numbers_of(cell, self._kind)
        if len(values) != n_labels:
            raise ValueError(f"{counted(n_labels, 'labels')}, but {counted(len(values), 'scores')}")
        return values

    def _labels(self, cell: object) -> Labels:
        """Return the labels of a cell and any scores; a text may be split by a separator."""
        if isinstance(cell, str):
            text = cell.strip(ASCII_BLANKS)
            if text in MISSING_WORDS:
                self._missing[text] += 1
                return [], None
            if not LIST_TEXT.fullmatch(text):
                return self._split(text), None
            cell = parsed(text)
        self.are_lists &= isinstance(cell, list) and all(type(item) is int for item in cell)
        return labels_of(cell)

    def _split(self, text: str) -> list[str]:
        """Return the labels of a text; without a separator, refuse one that may be several."""
        separator = self._separator
        if separator is None:
            mark = next((mark for mark in LABEL_SEPARATORS if mark in text), None)
            if mark is not None:
                message = f"{shown(text)} may be one label or several; give "
                option = ScanField("separator", shown(mark))
                raise ValueError(
                    Message(message, option, " for several, or another separator for one")
                )
            parts = [text]
        elif separator == " ":
            return split_words(text)
        else:
            parts = text.split(separator)
        names = [part.strip(ASCII_BLANKS) for part in parts]
        return [name for name in names if name]

    @property
    def undecided(self) -> list[str]:
        """Names of the further columns that are not decided yet."""
        return [*self._cells]

    def add_cells(self, keys: Sequence[str]) -> None:
        """Add the further cells of the rows read last, which have these keys."""
        self._add(keys, self._cells)

    def add_coded(self, rows: Rows, cells: Mapping[str, Coded]) -> None:
        """Add the further cells of rows."""
        if self._cells:
            keys = np.repeat(np.array(rows.keys, object), np.diff(rows.ptr))
            self._add(keys.tolist(), cells)

    def _add(self, keys: Sequence[str], cells: Mapping[str, Sequence[Any] | Coded]) -> None:
        with _naming_option(self._kind):
            self._entry_columns.add(keys, cells)
        self._cells = {name: [] for name in self._entry_columns.undecided}

    def close(self) -> None:
        """Note ignored columns and missing values; refuse a column that may be needed."""
        further: EntryColumns[str] | ListColumns[str] = self._entry_columns
        if self._columns.lists:
            further = self._list_columns
        with _naming_option(self._kind):
            self._notes += further.notes()
        if self._counter is not None:
            self._counter.add_digests(self._entry_columns.digests)
        label = shown(self._columns.label)
        for word, n_cells in self._missing.items():
            fields = f"{counted(n_cells, 'fields')} {shown(word)}"
            self._notes.append(f"{fields} in {label} read as no label")


def split_cell(cell: object, separator: str | None) -> list[Any] | tuple[Any, ...] | None:
    """Return the items of a list, or of a number or text as a tuple; None for other values."""
    if isinstance(cell, list):
        return cell
    if isinstance(cell, int | float):
        return (cell,)
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if LIST_TEXT.fullmatch(text):
        with contextlib.suppress(ValueError):
            return split_cell(parsed(text), separator)
        return None
    if separator == " ":
        return (*text.split(),)
    if separator is not None:
        return (*text.split(separator),) if text else ()
    numbers = BETWEEN_NUMBERS.split(text)
    if any(decimal_number(number) is None for number in numbers):
        return None
    return (*numbers,)


@contextlib.contextmanager
def _naming_option(kind: str) -> Iterator[None]:
    """Name the option for a column of labels or scores in errors about a column that may be one."""
    try:
        yield
    except DecidingColumnError as error:
        if error.labels is not None:
            raise ValueError(naming_labels(error, kind)) from None
        if error.column is None:
            raise
        field = ScanField("score_field", str(error.column))
        raise ValueError(Message(f"{error}; ", field, " if it does, or leave it out")) from None


def parsed(text: str) -> object:
    """Return the value of JSON, or of a list, tuple, dict, set or array as Python prints it."""
    try:
        return parse_json(text)
    except json.JSONDecodeError:  # it may be printed by Python
        if len(text) > SMALL_BYTES:
            memory_limit().check(2 * len(text) + NODE_BYTES * sum(map(text.count, ",:[{(")))
    with contextlib.suppress(SyntaxError, RecursionError, MemoryError):
        if PRINTED_TEXT.fullmatch(text):
            return _evaluate_printed(ast.parse(text, mode="eval").body)
    raise ValueError(f"{shown(text)} is not a list of labels in JSON or Python")


def _evaluate_printed(node: ast.expr) -> object:
    """Return the value of an expression that Python prints, with sequences and sets as lists."""
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_evaluate_printed(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [_evaluate_printed(key) for key in keys if key is not None]
            if all(isinstance(name, str) for name in names):
                return distinct_names(zip(names, map(_evaluate_printed, values), strict=True))
        case ast.Call(func=ast.Name(id=name), args=args) if name in ("set", "frozenset", "array"):
            return _evaluate_printed(args[0]) if args else []
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np")), args=[value]):
            return _evaluate_printed(value)
    raise SyntaxError


def labels_of(value: object) -> Labels:
    """Return the labels of a list, and the scores of pairs, of objects or of a dict."""
    if isinstance(value, dict):
        # equal scores rank by name, others in the order of the dict
        pairs: list[Any] = sorted(value.items(), reverse=True)
    elif not isinstance(value, list):
        raise ValueError(f"{_describe_json(value)} is not a list of labels")
    elif not value or not isinstance(value[0], list | dict):
        return label_names(value), None
    else:
        pairs = [_read_pair(item) for item in value]
    return [name_of(name) for name, _ in pairs], [number_of(score) for _, score in pairs]


def numbers_of(cell: object, kind: str) -> list[float]:
    """Return the scores or judgements in a cell without labels."""
    if isinstance(cell, str):
        text = cell.strip()
        if text in ("", *MISSING_WORDS):
            return []
        is_list = text.startswith(("[", "array("))
        cell = parsed(text) if is_list else BETWEEN_NUMBERS.split(text)
    if not isinstance(cell, list):
        return [number_of(cell, kind)]
    are_floats = kind == "scores" and {*map(type, cell)} == {float}
    if are_floats and not any(map(math.isnan, cell)):
        return cell
    return [number_of(item, kind) for item in cell]


def _read_pair(item: object) -> Sequence[Any]:
    if isinstance(item, list) and len(item) == 2:
        return item
    if isinstance(item, dict) and "score" in item:
        for name in HIT_LABELS:
            if name in item:
                return item[name], item["score"]
    raise ValueError(
        f"{_describe_json(item)} is not a label with a score, "
        'such as {"label": "a", "score": 0.5}'
    )


def label_names(items: list[Any]) -> list[str]:
    """Return the names in a list of JSON."""
    if {*map(type, items)} == {str}:
        return [item.strip(ASCII_BLANKS) for item in items]
    return [*map(name_of, items)]


def name_of(item: object, noun: str = "a label") -> str:
    """Return a name of JSON, an integer as its digits."""
    if type(item) is str:
        return item.strip(ASCII_BLANKS)
    if type(item) is int:
        return str(item)
    raise ValueError(f"{_describe_json(item)} is not {noun}")


def id_of(item: object) -> str:
    """Return the name of a row, or refuse an empty one."""
    key = name_of(item, "an id")
    if not key:
        raise ValueError("an id is empty")
    return key


def number_of(value: object, kind: str = "scores") -> float:
    """Return a number of JSON or text; only judgements may be true or false, a truth's integers."""
    number = _read_number(value, kind)
    if number is None or number != number:
        noun = "an integer relevance" if kind == "truth" else "a score"
        raise ValueError(f"{_describe_json(value)} is not {noun}")
    if kind == "truth" and not (number.is_integer() and abs(number) < MOST_RELEVANCE):
        raise ValueError(f"relevance {number} is not an integer; {LIKE_A_SCORE}; grades need gains")
    return number


def _read_number(value: object, kind: str) -> float | None:
    """Return a value as a number, None if it is not one."""
    if type(value) is float:
        return value
    if type(value) is int and abs(value) < MOST_RELEVANCE:  # larger ones as text, up to infinity
        return float(value)
    text = value if isinstance(value, str) else json.dumps(value)
    text = text.strip()
    number = decimal_number(text)
    if number is None and kind != "scores":
        return TRUTH_WORDS.get(text.lower())
    return number


def values_of(cells: Sequence[Any], lines: Sequence[int], kind: str) -> NDArray[np.float64]:
    """Return the numbers in cells; refuse the first other cell with its line."""
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
    """Return whether all numbers are integers that a truth can have as judgements."""
    return bool(((np.floor(values) == values) & (np.abs(values) < MOST_RELEVANCE)).all())


def _describe_json(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return shown(value)
    return json.dumps(value)[:SHOWN]


def run_rows(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Yield the rows of scores, or of judgements, integers unless ``kind`` is "grades"."""
    batches = RowBatches()
    for path in paths:
        with naming(path, EXPECTED_RUN):
            yield from batches.read(_run_entries(path, kind), Origin("row").of_file(path, paths))


def _run_entries(path: Path, kind: str) -> Iterator[tuple[str, list[str], list[float], int]]:
    """Yield the name, labels, values and place of rows in a JSON object."""
    try:
        objects = parse_json(read_at_once(path).decode())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(objects, dict):
        hint = ""
        if isinstance(objects, list):
            hint = "; write a list of documents one per line (.jsonl)"
        raise ValueError(f"a JSON {type(objects).__name__}{hint}")
    for place, (row, labels) in enumerate(objects.items()):
        if not isinstance(labels, dict):
            raise ValueError(f"instance {shown(row)}: {shown(str(labels))} is not an object")
        try:
            yield row, [*labels], [number_of(value, kind) for value in labels.values()], place
        except ValueError as error:
            raise ValueError(f"instance {shown(row)}: {error}") from None


def _refuse_bare_objects(number: int, record: dict[str, Any]) -> None:
    """Refuse an object that belongs in a field, or that is a row of one object of all rows."""
    kinds = {*map(type, record.values())}
    if kinds and kinds <= {int, float}:
        text = 'only labels with scores; write them in a field, {"labels": {...}}'
        raise ValueError(f"line {number}: {text}")
    if kinds == {dict}:
        raise ValueError(f"line {number}: rows by name; write one object of all rows (NAME.json)")


def _shown_names(names: list[str]) -> str:
    return shown(", ".join(names))


def save_json_lines(path: Path, data: object, kind: str, n_labels: int | None) -> None:
    """Write an object per row: its instance if rows have keys, its labels, and any scores."""
    with replacing_text(path) as file:
        for row in written_rows(data, kind, n_labels, _refuse_name):
            fields = dict[str, str]()
            if row.key is not None:
                fields["instance"] = _dump_json(row.key)
            fields |= _row_fields(row)
            members = (f'"{name}": {text}' for name, text in fields.items())
            file.write(f"{{{', '.join(members)}}}\n".encode())


def save_csv(path: Path, data: object, kind: str, n_labels: int | None) -> None:
    """Write the same fields as CSV, lists as JSON; with tabs if the name ends in .tsv."""
    is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
    with replacing_text(path) as file:
        encoded = SimpleNamespace(write=lambda text: file.write(text.encode()))
        table = csv.writer(encoded, delimiter="\t" if is_tsv else ",", lineterminator="\n")
        is_first = True
        for row in written_rows(data, kind, n_labels, _refuse_field):
            fields = dict[str, str]()
            if row.key is not None:
                fields["instance"] = row.key
            fields |= _row_fields(row)
            if is_first:
                table.writerow([*fields])
            table.writerow([*fields.values()])
            is_first = False


def _row_fields(row: WrittenRow) -> dict[str, str]:
    """Return the labels of a row, and any scores, as JSON."""
    fields = {"labels": _dump_json(row.labels)}
    if row.scores is not None:
        fields["scores"] = f"[{', '.join(map(_number_text, row.scores))}]"
    return fields


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number_text(number: float) -> str:
    """Return a number as JSON; infinity as a number too large for a float."""
    return repr(number).replace("inf", "1e999")


def _refuse_name(name: str, noun: str) -> None:
    """Refuse a name that would be read as another one."""
    fault = ""
    if not name:
        fault = "is empty"
    elif name != name.strip():
        fault = "begins or ends with a blank"
    if fault:
        text = f"{noun} {shown(name)} {fault}, which CSV and JSON Lines do not keep; rename it"
        raise InputError(f"{noun}_names", text)


def _refuse_field(name: str, noun: str) -> None:
    """Refuse a name that CSV would not keep."""
    _refuse_name(name, noun)
    if noun == "row" and name.splitlines() != [name]:
        text = f"row {shown(name)} has a line break, which CSV does not keep; rename it"
        raise InputError("row_names", text)


@dataclass(frozen=True)
class _TextFiles:
    """Readers of files of documents or tables, whose fields have the given names.

    records : yields the names of fields, then the records of a file
    expected : what is expected of files, in messages
    """

    records: Records
    expected: str
    fields: Fields
    file_at: FileAt

    def read_rows(self, paths: Sequence[Path], kind: str) -> Iterator[Rows]:
        """Yield the rows of files that follow one another."""
        reader: _DocumentReader | LabelColumnsReader | None = None
        for path in paths:
            with naming(path, self.expected):
                file = self.file_at(path)
                header = self.records(file)
                names, first, file_records = _read_header(header)
                if reader is None:
                    reader = self._open(file, names, first, kind)
                elif self.records is csv_rows and {*names} != {*reader.names}:
                    fields_of_first = _shown_names([*reader.names])
                    raise ValueError(
                        f"has fields {_shown_names(names)}, but {paths[0]} has {fields_of_first}"
                    )
            origin = reader.facts.of_file(path, paths)
            if isinstance(reader, LabelColumnsReader):
                with naming(path, EXPECTED_TABLE):
                    yield from _read_table(reader, file, header, file_records, origin)
                continue
            with naming(path, self.expected):
                if isinstance(header, CsvRecords):
                    yield from _read_csv(reader, file, header, file_records, origin)
                else:
                    yield from _read_json_lines(reader, file, first[1], file_records, origin)
                if path is paths[-1]:
                    reader.close()

    def _open(
        self, file: InputFile, names: list[str], first: tuple[int, dict[str, Any]], kind: str
    ) -> _DocumentReader | LabelColumnsReader:
        """Return a reader for the fields of a file, whose first record is given."""

        def sample() -> Iterator[tuple[int, Any]]:
            return itertools.islice(self.records(file), 1, 1 + SAMPLED_RECORDS)

        return _open_reader(names, first, kind, self.fields, sample)

    def read_columns(self, path: Path) -> list[str]:
        """Return the names of the fields of a file."""
        with naming(path, self.expected):
            _, names = next(self.records(self.file_at(path)), (0, []))
            return [*names]

    def read_label_columns(self, path: Path, kind: str) -> Sequence[str] | None:
        """Return the labels of a table with a column for each label, None of documents."""
        with naming(path, self.expected):
            file = self.file_at(path)
            names, first, _ = _read_header(self.records(file))
            reader = self._open(file, names, first, kind)
            return reader.columns.labels if isinstance(reader, LabelColumnsReader) else None

    def holds_both(self, path: Path) -> bool:
        """Return whether a file of relevant labels also has predictions."""
        with naming(path, self.expected):
            _, names = next(self.records(self.file_at(path)), (0, []))
            names = without_values_of_rows(names, self.fields)
            return self.fields.pred is not None or bool(named_as(names, PRED))

    def read_cells(self, path: Path, kind: str, wanted: Sequence[str]) -> RowCells:
        """Return the cells of some fields of a file."""
        with naming(path, self.expected):
            file = self.file_at(path)
            header = self.records(file)
            names, first, records = _read_header(header)
            reader = self._open(file, names, first, kind)
        entry = None if isinstance(reader, LabelColumnsReader) else reader.entry
        if isinstance(reader, LabelColumnsReader) or entry is None:
            entries = _cells_of_records(records, None, wanted)
        elif isinstance(header, CsvRecords) and reader.are_in_blocks:
            entries = _cells_of_blocks(CsvBlocks(file, header), entry, wanted)
        else:
            entries = _cells_of_records(records, entry[0], wanted)
        return RowCells("line", naming_each(path, self.expected, entries))


def _make_format(
    file_format: Format,
    records: Records,
    expected: str,
    fields: Fields,
    file_at: FileAt = InputFile,
) -> Format:
    """Return a format with readers of documents and tables, whose fields have the given names."""
    files = _TextFiles(records, expected, fields, file_at)

    def for_fields(fields: Fields, file_at: FileAt) -> Format:
        return _make_format(file_format, records, expected, fields, file_at)

    return replace(
        file_format,
        rows=files.read_rows,
        columns=files.read_columns,
        label_columns=files.read_label_columns,
        row_cells=files.read_cells,
        holds_both=files.holds_both,
        for_fields=for_fields,
    )


def _read_csv(
    documents: _DocumentReader,
    file: InputFile,
    header: CsvRecords,
    records: Iterator[tuple[int, Any]],
    origin: Origin,
) -> Iterator[Rows]:
    """Yield the rows of CSV; those with a row for each label in blocks."""
    if documents.are_in_blocks:
        return documents.read_blocks(CsvBlocks(file, header), origin)
    return documents.read(records, origin)


def _read_json_lines(
    documents: _DocumentReader,
    file: InputFile,
    first: dict[str, Any],
    records: Iterator[tuple[int, Any]],
    origin: Origin,
) -> Iterator[Rows]:
    """Yield the rows of JSON Lines; those of ids, labels and scores alone in blocks."""
    listed = documents.list_fields(first)
    if listed is None:
        return documents.read(records, origin)
    return documents.read_lists(file, listed, records, origin)


def _read_table(
    table: LabelColumnsReader,
    file: InputFile,
    header: Iterator[tuple[int, Any]],
    records: Iterator[tuple[int, Any]],
    origin: Origin,
) -> Iterator[Rows]:
    """Yield the rows of a table with a column for each label; those of CSV in blocks."""
    number_of = partial(_read_number, kind="grades")  # numbers, and true or false
    if not isinstance(header, CsvRecords) or table.columns.joining:
        yield from table.read(records, origin, id_of, number_of)
        return
    blocks = CsvBlocks(file, header)
    for block, lines in blocks.read_cells(table.columns.instance, table.columns.labels):
        if block is None:
            yield from table.read(lines(), origin, id_of, number_of)
        else:
            yield table.rows(block.cells, block.keys, block.lines, origin)


def _cells_of_records(
    records: Iterator[tuple[int, Any]], instance: str | None, wanted: Sequence[str]
) -> Iterator[tuple[str | None, list[Any], int]]:
    """Yield record by record the key, None without ``instance``, the wanted cells and the line."""
    for line, record in records:
        key = None
        try:
            if instance is not None:
                key = id_of(record[instance])
            cells = [_trimmed(record[name]) for name in wanted]
        except KeyError as error:
            raise ValueError(f"line {line}: no field {shown(error.args[0])}") from None
        yield key, cells, line


def _cells_of_blocks(
    blocks: CsvBlocks, entry: tuple[str, str], wanted: Sequence[str]
) -> Iterator[tuple[str | None, list[Any], int]]:
    """Yield the key, the wanted cells and the line of lines that differ in these from the last.

    ``entry`` are the columns of instances and labels.
    """
    instance, label = entry
    for block in blocks.read((instance, label, None), lambda: wanted):
        if block.fields is None:
            yield from _cells_of_records(block.records(), instance, wanted)
            continue
        ptr, keys = block.fields.runs()
        is_new = np.zeros(block.fields.lines.size, np.bool_)
        is_new[ptr[:-1]] = True
        for coded in block.fields.further:
            is_new[1:] |= coded.codes[1:] != coded.codes[:-1]
        run_of_line = np.repeat(np.arange(len(keys)), np.diff(ptr))
        texts = [[*map(_trimmed, coded.values)] for coded in block.fields.further]
        for place in np.flatnonzero(is_new).tolist():
            cells = [
                names[coded.codes[place]]
                for names, coded in zip(texts, block.fields.further, strict=True)
            ]
            yield keys[run_of_line[place]], cells, int(block.fields.lines[place])


def _trimmed(cell: object) -> object:
    """Return a text without blanks at its ends; other values are returned unchanged."""
    return cell.strip(ASCII_BLANKS) if isinstance(cell, str) else cell


def _read_header(
    records: Iterator[tuple[int, Any]],
) -> tuple[list[str], tuple[int, dict[str, Any]], Iterator[tuple[int, Any]]]:
    """Return the names of fields, the first record with its line, and all records."""
    names: list[str] = next(records, (0, []))[1]
    first: tuple[int, dict[str, Any]] = next(records, (0, {}))
    if first[0]:
        return names, first, itertools.chain([first], records)
    return names, first, records


def _open_reader(
    names: list[str],
    first: tuple[int, dict[str, Any]],
    kind: str,
    fields: Fields,
    sample: Sample,
) -> _DocumentReader | LabelColumnsReader:
    """Return a reader for fields, or refuse a first record that has no labels.

    ``sample`` returns the first records, to see what some fields hold.
    """
    line, record = first
    table = names, record, kind, fields, sample
    try:
        reader = None
        if are_named_labels(names, fields):
            reader = _read_label_columns(*table)
        return reader or _DocumentReader(*table)
    except NoLabelsError:
        reader = _read_label_columns(*table)
        if reader is not None:
            return reader
        _refuse_bare_objects(line, record)
        raise
    except NoJudgementsError:
        raise
    except ValueError:
        _refuse_bare_objects(line, record)
        raise


def _read_label_columns(
    names: list[str], record: dict[str, Any], kind: str, fields: Fields, sample: Sample
) -> LabelColumnsReader | None:
    """Return a reader of a table with a column for each label; None if most have no numbers.

    ``record`` is the first record, ``sample`` returns the first ones.
    """

    def is_number(name: str) -> bool | None:
        """Return whether a cell of the first record is a number, None if it is blank."""
        cell = record.get(name)
        if is_blank(cell):
            return None
        return _read_number(cell, "grades") is not None

    def sampled_cells() -> Iterator[list[object]]:
        """Yield the cells of the first records, in the order of all fields."""
        for _, each in sample():
            yield [each.get(name) for name in names]

    columns = choose_label_columns(names, kind, fields, is_number, sampled_cells)
    if columns is None:
        return None
    return LabelColumnsReader(names, columns, kind, Origin(join_option="instance_field"))


CSV = Format(
    name="csv",
    title="CSV file of documents",
    extensions=(".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    write=save_csv,
    keeps_names=True,
    keeps_order=True,
)
CSV = _make_format(CSV, csv_rows, EXPECTED, Fields())
JSONL = Format(
    name="jsonl",
    title="JSON Lines of documents",
    extensions=(".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    write=save_json_lines,
    keeps_names=True,
    keeps_order=True,
)
JSONL = _make_format(JSONL, json_rows, EXPECTED_JSON, Fields())
JSON = Format(
    name="json",
    title="JSON object of judgements or of scores",
    extensions=(".json", ".json.gz"),
    rows=run_rows,
)
