"""The law of names: the rows and labels of an input, by the numbers that those of a truth have."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, permutations, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints, Labels, label_dtype
from xmleval.base.budget import memory_limit
from xmleval.base.cached import cached
from xmleval.base.errors import Field, InputError, Keyword, Message, counted, other_rows, shown
from xmleval.base.notes import Note
from xmleval.input.columns import is_other_order
from xmleval.input.csr import check_shape
from xmleval.input.glances import similar_names
from xmleval.input.names import NameTable, TableNames
from xmleval.input.pieces import Pieces
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import (
    BY_KEY,
    INDEX_BYTES,
    LabelNames,
    Origin,
    Rows,
    no_labels,
    numbered,
    order_ties,
)

PREDICTIONS = ("y_score", "y_pred")
HELD_SHARE = 8  # one part in so many of the memory holds rows that are matched; the others are spilled
SHOWN_COLUMNS = 3  # in a note
IN_ORDER = "columns were brought in the order of their numbers"
BY_POSITION = "labels were read by position, as {} has no names of them"
SAME_ORDER = "; where the order is the same, give {}.to_numpy()"
SAME_ROWS = "; where the order is the same, give both after reset_index(drop=True)"
Batches = Callable[[], Iterable[Rows]]  # gives the rows of an input from its beginning


class Match:
    """Numbers of the rows and labels of a truth, and what was noted of inputs that were matched with them.

    truth : what messages call the truth
    names : names of labels that take the first numbers; None where labels have ids
    listed : whether the caller listed all labels, so that the truth can have no other
    fits : whether something is fitted, for which all labels must be known: a list has them, or all are known
    keys, by, n_rows : names or number of the rows, where these are not those of a truth still to be placed
    number : that of each label of the list or of the truth; after the truth it stays as it is
    unknown : what only other inputs name, by numbers from ``n_labels`` upward
    n_nodes, nodes_named : how many of these come first, as a hierarchy names them, and which are in an input
    closed : whether all labels were known before the rows
    """

    def __init__(
        self,
        truth: str,
        names: Iterable[Any] | None,
        *,
        listed: bool = False,
        fits: bool = False,
        keys: list[Any] | None = None,
        by: str | None = None,
        n_rows: int | None = None,
    ) -> None:
        self.truth, self.keys, self.by = truth, keys, by
        self.n_rows = n_rows if keys is None else len(keys)
        self.number = None if names is None else {name: i for i, name in enumerate(dict.fromkeys(names))}
        self.n_labels = len(self.number or ())
        self.listed, self.fits, self.closed = listed, fits, bool(self.number)
        self.unknown: dict[Any, int] = {}
        self.n_nodes = 0
        self.nodes_named = set[int]()
        self.notes: list[str] = []
        self.n_unmatched_pairs = 0
        self.n_bytes = 0  # of names of rows and labels
        self.origin: Origin | None = None
        self.of_file = False  # whether the truth is read from one

    def fork(self) -> Match:
        """Return the same labels for another model, whose unknown labels and notes are its own."""
        copied = copy.copy(self)
        copied.unknown, copied.notes = dict(self.unknown), list[str]()
        copied.nodes_named = set(self.nodes_named)
        return copied

    def add_nodes(self, nodes: Collection[Any]) -> None:
        """Give nodes of a hierarchy the numbers behind the labels, once these are known."""
        if self.number is not None and nodes:
            names = nodes_beside(nodes, self.number)
            self.unknown = {name: self.n_labels + place for place, name in enumerate(names)}
            self.n_nodes = len(self.unknown)

    @property
    def are_texts(self) -> bool:
        """Whether labels have names that are texts."""
        return isinstance(next(iter(self.number or ()), None), str)

    @property
    def unknown_names(self) -> list[Any]:
        """Names of unknown labels that inputs have, by number."""
        end = self.n_labels + self.n_nodes
        return [name for name, n in self.unknown.items() if n >= end or n in self.nodes_named]

    @property
    def label_names(self) -> list[Any]:
        """Names of the labels by number."""
        return [*(self.number or ())]

    @property
    def names(self) -> list[Any]:
        """Names of all labels by number, of unknown ones, too; none where labels have ids."""
        names = self.label_names
        return [] if self.number is None else [*names, *[""] * (self.n_labels - len(names)), *self.unknown]

    @property
    def row_names(self) -> Sequence[Any]:
        """Names of the rows; those without are called by their numbers."""
        return [*map(str, range(self.n_rows or 0))] if self.keys is None else self.keys

    @cached
    def row_number(self) -> dict[Any, int]:
        """Number of each row by its name; rows without names are called by their numbers."""
        return distinct(self.truth, self.row_names)

    @cached
    def are_numbers(self) -> bool:
        """Whether the rows are called by their numbers, as text or as integers."""
        keys: list[Any] = [*range(self.n_rows or 0)]
        return self.keys in (keys, [*map(str, keys)])

    def know_all(self) -> None:
        """Take unknown labels for labels, as where something is fitted."""
        if self.number is not None and self.unknown:
            self.number |= self.unknown
            self.n_labels, self.unknown = max(self.n_labels, len(self.number)), {}

    def _add(self, names: Sequence[Any], number: dict[Any, int], added: dict[Any, int], first: int) -> Ints:
        """Return the number of each name; those without one get the next in ``added``, from ``first`` on."""
        ids = numbers_of(names, number)
        if (missing := np.flatnonzero(ids < 0)).size:
            places, distinct_names = numbered([names[i] for i in missing.tolist()])
            ids[missing] = self._add_distinct(distinct_names, added, first)[places]
        return ids

    def _add_labels(
        self, names: Sequence[Any], new_names: list[Any], added: dict[Any, int], first: int
    ) -> Ints:
        """Return the number of each new name of some; other names than those of a table may repeat."""
        if isinstance(names, TableNames):
            return self._add_distinct(new_names, added, first)
        places, distinct_names = numbered(new_names)
        return self._add_distinct(distinct_names, added, first)[places]

    def _add_distinct(self, names: Sequence[Any], added: dict[Any, int], first: int) -> Ints:
        """Do as `_add` for names of which none repeats, by their numbers in ``added`` alone."""
        ids = numbers_of(names, added)
        missing, start = np.flatnonzero(ids < 0), first + len(added)
        new = names if missing.size == len(names) else [names[i] for i in missing.tolist()]
        added.update(zip(new, count(start)))
        ids[missing] = np.arange(start, start + missing.size)
        self.n_bytes += INDEX_BYTES * missing.size + sum(map(sys.getsizeof, new))
        if self.n_nodes and added is self.unknown:
            end = self.n_labels + self.n_nodes
            self.nodes_named.update(ids[(ids >= self.n_labels) & (ids < end)].tolist())
        return ids

    def note(self, argument: str, kind: str, n: int, example: str = "") -> None:
        """Add a note on so many rows or labels, if there are any."""
        self.notes += [Note(argument, kind, n, example=example)] * (n > 0)

    def row_numbers(self, role: str, argument: str, rows: Rows | None) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for the same rows in the same order."""
        seen = Seen(role, argument)
        of_row = self._number_rows(seen, rows)
        self._close(seen)
        return of_row

    def place(self, role: str, argument: str, batches: Batches) -> PlacedRows:
        """Return rows in the order of the truth's, and their labels by number.

        ``role`` is the argument of `xmleval.evaluate` that they are, ``argument`` what messages call them.
        """
        seen, batch_iterator = Seen(role, argument), iter(batches())
        first = next(batch_iterator, None) or no_labels(0)._replace(keys=[], match=BY_KEY, origin=Origin())
        placed = PlacedRows(argument, memory_limit().left / HELD_SHARE, self._cell)
        for rows in map(Rows.without_empty_names, chain([first], batch_iterator)):
            n_bytes = self.n_bytes
            if (of_row := self._number_rows(seen, rows)) is not None:
                kept = np.repeat(of_row >= 0, np.diff(rows.ptr))
                self.n_unmatched_pairs += int((~kept).sum()) if role == "exclude" else 0
                rows = rows.only(kept)
            placed.add(rows, self._number_labels(seen, rows), of_row)
            memory_limit().take(self.n_bytes - n_bytes, f"{argument}: ")
        self._close(seen)
        placed.close(seen.n_rows if seen.present is None else self.n_rows or 0)
        memory_limit().take(placed.n_bytes, f"{argument}: ")
        return placed

    def place_rows(self, role: str, argument: str, rows: Rows) -> Rows:
        """Return all rows of an input likewise."""
        if not rows.is_matrix:
            return self.place(role, argument, lambda: [rows]).rows()
        in_order = rows.in_order(self.row_numbers(role, argument, rows))
        return in_order._replace(keys=None, match=None, labels=self._number_columns(argument, rows))

    def _cell(self, row: int, label: int) -> tuple[Any, Any]:
        """Return the names of a row and of a label by number."""
        return [*self.row_number][row], self.names[label] if self.number is not None else label

    def _number_rows(self, seen: Seen, rows: Rows | None) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for rows in order."""
        argument, by, keys = seen.argument, None, None
        if rows is not None:
            seen.rows = rows
            seen.n_rows += rows.n_rows
            by = rows.match
            keys = _as_list(rows.keys)
            if seen.role == "y_true":
                return self._number_true_rows(seen, rows, keys)
        if BY_KEY not in (by, self.by):
            refuse_order({argument: keys, self.truth: self.keys})
            if keys is None or self.keys is None or keys == self.keys:
                return None
            seen.by_index = True
        elif keys is None and self.are_numbers:
            return None
        elif self.keys is None and keys is not None and _are_integers(keys):
            keys = [*map(str, keys)]
        if keys is None or (self.keys is None and {*keys} - self.row_number.keys()):
            with_names, without = (argument, self.truth) if self.keys is None else (self.truth, argument)
            message = f"rows of {with_names} have names and those of {without} have none; give ids to both"
            hint = f", or call rows by their numbers, 0 to {self.n_rows - 1}" if self.n_rows else ""
            raise InputError(argument, message + hint * (self.keys is None))
        return self._number_keys(seen, keys)

    def _number_true_rows(self, seen: Seen, rows: Rows, keys: list[Any] | None) -> Ints | None:
        """Return the number of each row of the truth; None for rows in order."""
        self.origin, self.by = rows.origin, rows.match
        self.of_file = rows.places is not None
        if keys is not None and rows.match == BY_KEY:
            return self._number_keys(seen, keys)
        self.keys, self.n_rows = keys, seen.n_rows
        return None

    def _number_keys(self, seen: Seen, keys: Sequence[Any]) -> Ints:
        """Return the number of each row; a key may stand in several rows of one label each."""
        number = self.row_number
        added, first = (number, 0) if seen.role == "y_true" else (seen.ignored, len(number))
        of_row = self._add(keys, number, added, first)
        seen.refuse_other_file(of_row)
        if seen.present is None:
            seen.present = np.zeros(len(number), np.bool_)
        if (n_numbers := int(of_row.max(initial=-1)) + 1) > seen.present.size:
            seen.present.resize(2 * n_numbers, refcheck=False)
        if not getattr(seen.rows, "is_long", False):
            before = seen.present[of_row]
            if before.any() or np.unique(of_row).size < of_row.size:
                distinct(seen.argument, keys, seen.rows, {keys[i] for i in np.flatnonzero(before).tolist()})
        seen.present[of_row] = True
        return np.where(of_row < len(number), of_row, -1)

    def _number_labels(self, seen: Seen, rows: Rows) -> Ints:
        """Return the number of the label of each entry."""
        number, names, labels = self.number, rows.names, rows.labels
        if rows.are_columns:
            return self._number_columns(seen.argument, rows)[labels]
        self._refuse_unlike(seen.argument, rows)
        if number is None or (names is None and self.are_texts):
            return labels
        if names is None:
            ids, labels = np.unique(labels, return_inverse=True)
            names = ids.tolist()
        if isinstance(names, TableNames):
            codes, entries = self._look_up(seen, names, labels)
        else:
            codes = numbers_of(names, number)
            entries = first_entries(labels, codes)
        if entries.size:
            codes[labels[entries]] = self._number_new(seen, rows, names, labels, entries)
        return codes[labels]

    def _refuse_unlike(self, argument: str, rows: Rows) -> None:
        """Refuse labels that have names, or none, unlike those of the truth."""
        if not rows.labels.size:
            return
        if self.number is None:
            is_unlike = rows.named
        else:
            is_unlike = rows.names is None and self.are_texts and not self.closed
        if is_unlike:
            raise self.unlike(argument, rows)

    def _look_up(self, seen: Seen, names: TableNames, labels: Ints) -> tuple[Labels, Ints]:
        """Return numbers of the names of a table, and the first entries of those without a number.

        Names of the table that no earlier row had are looked up; -1 stands for others.
        """
        assert self.number is not None
        codes = seen.codes_of(names)
        entries = first_entries(labels, codes)
        known = numbers_of(names.at(labels[entries]), self.number)
        codes[labels[entries]] = known
        return codes, entries[known < 0]

    def _number_new(self, seen: Seen, rows: Rows, names: Sequence[Any], labels: Ints, entries: Ints) -> Ints:
        """Return the numbers of the labels of some entries, which have none yet."""
        assert self.number is not None
        new_names = names_at(names, labels[entries])
        is_truth = seen.role == "y_true"
        if is_truth and not self.closed:
            numbers = self._add_labels(names, new_names, self.number, 0)
            self.n_labels = max(self.n_labels, len(self.number))
            return numbers
        if self.listed and (self.fits or is_truth):
            reason = self._not_listed(new_names, is_text_of_id=rows.places is None)
            raise rows.error_of_entry(seen.argument, reason, int(entries[0]), new_names[0])
        numbers = self._add_labels(names, new_names, self.unknown, self.n_labels)
        seen.unknown |= dict.fromkeys(numbers.tolist())
        return numbers

    def _number_columns(self, argument: str, rows: Rows) -> Ints:
        """Return the number of the label of each column, and note what is seen."""
        columns, number = [*(rows.names or ())], self.number
        if number is None:  # beside a truth without names
            check_shape(argument, (rows.n_rows, len(columns)), self.n_labels)
            numbers = numbers_of_columns(columns)
            if numbers is None:
                self.notes.append(f"{argument}: {BY_POSITION.format('y_true')}")
                return np.arange(len(columns))
            if (np.diff(numbers) < 0).any():
                self.notes.append(f"{argument}: {IN_ORDER}")
            return numbers
        present = {*columns}
        missing = [name for name in number if name not in present]
        unknown = [name for name in columns if name not in number]
        if self.closed and missing:
            hint = SAME_ORDER.format(argument) if len(columns) == len(number) else ""
            raise InputError(argument, f"no column for label {shown(missing[0])}{hint}")
        self.note(argument, "labels without column", len(missing))
        self.note(argument, "unknown columns", len(unknown), ", ".join(map(shown, unknown[:SHOWN_COLUMNS])))
        self._note_similar(argument, unknown)
        return self._add(columns, number, self.unknown, self.n_labels)

    def unlike(self, argument: str, rows: Rows | None = None) -> InputError:
        """Return what to raise of rows whose labels have names, or none, unlike those of the truth."""
        names: Sequence[Any] = self.label_names
        with_names, without = self.truth, argument
        if rows is not None and rows.named:
            names, with_names, without = rows.names or (), argument, self.truth
        message = f"labels of {with_names} have names and those of {without} have none; give "
        example, hint = next(iter(names), None), ""
        of_files = self.of_file or (rows is not None and rows.places is not None)
        if _is_text_of_id(example) and not of_files:
            hint = f"; {example!r} is text: as an integer, it is an id"
        return InputError(argument, Message(message, Keyword("labels"), ", the name of each column", hint))

    def _not_listed(self, names: Sequence[Any], is_text_of_id: bool) -> Message:
        """Return what is wrong with names that are not among the listed ones."""
        similar, hint = similar_names(names[:1], self.number or ()), ""
        but = f", but {similar[0][1]!r} is" if similar else ""
        message = f"label {names[0]!r} is not one of the {self.n_labels} given ones{but}; "
        if is_text_of_id and self._may_be_places(names):
            hint = "; it is text: as an integer, it is a place in the list"
        more = f" must name {counted(len(names), 'labels')} more"
        return Message(message, Keyword("labels"), more, hint)

    def _may_be_places(self, names: Sequence[Any]) -> bool:
        """Tell whether names are texts of places among the listed labels, whose names are other texts."""
        listed = next(iter(self.number or ()), None)
        if not self.listed or not isinstance(listed, str) or _is_text_of_id(listed):
            return False
        return all(_is_text_of_id(name) and int(name) < self.n_labels for name in names)

    def _note_similar(self, argument: str, unknown: Sequence[Any]) -> None:
        """Note unknown labels that look like those of the truth, or like ids of these."""
        pairs = similar_names(unknown, self.number or ())
        example = f"{pairs[0][0]!r} for {pairs[0][1]!r}" if pairs else ""
        self.note(argument, "similar labels", len(pairs), example)

    def _close(self, seen: Seen) -> None:
        """Note what all rows of an input tell, or refuse it."""
        if seen.role == "y_true":
            if seen.present is not None:
                self.keys, self.n_rows = [*self.row_number], len(self.row_number)
            return
        if seen.present is not None:
            self._note_rows(seen, seen.present[: len(self.row_number)])
        elif seen.rows is not None:
            self._refuse_other_order(seen.argument, seen.rows)
            if self.n_rows not in (None, seen.n_rows):
                raise InputError(seen.argument, other_rows(seen.n_rows, self.n_rows or 0, self.truth))
        if seen.unknown and seen.role in PREDICTIONS and not self.fits:
            self._note_unknown(seen)

    def _refuse_other_order(self, argument: str, rows: Rows) -> None:
        """Refuse rows in order if a column has the truth's values in another order."""
        origin = rows.origin
        if origin is None or self.origin is None or BY_KEY in (rows.match, self.by):
            return
        for column in filter(self.origin.columns.__contains__, origin.columns):
            if is_other_order(origin.hashes(column), self.origin.hashes(column)):
                message = f"column {shown(column)} has the values of {self.truth}'s in another order"
                raise InputError(argument, Message(f"{message}; ", *origin.joined_by(column)))

    def _note_unknown(self, seen: Seen) -> None:
        """Note the unknown labels of predictions."""
        argument, names = seen.argument, [*self.unknown]
        unknown = [names[number - self.n_labels] for number in seen.unknown]
        self.note(argument, "unknown labels", len(unknown), shown(unknown[0]))
        self._note_similar(argument, unknown)
        is_of_file = seen.rows is not None and seen.rows.places is not None
        if not is_of_file and self._may_be_places(unknown):
            text = f"{argument}: {unknown[0]!r} is text, which is a name; integers are places in "
            self.notes.append(Message(text, Keyword("labels")))

    def _refuse_more_rows(self, seen: Seen) -> None:
        """Refuse rows by index that the truth does not have."""
        if not seen.ignored:
            return
        hint = f"; leave it out, or add it to {self.truth}"
        if seen.n_rows == self.n_rows:
            hint = SAME_ROWS
        extra = f"row {shown(next(iter(seen.ignored)))} is not one of {self.truth}"
        raise InputError(seen.argument, extra + hint)

    def _note_rows(self, seen: Seen, present: NDArray[np.bool_]) -> None:
        """Note rows by key that one side alone has, or refuse them."""
        argument, n_empty = seen.argument, int((~present).sum())
        missing = [*self.row_number][int(present.argmin())] if n_empty else None
        if seen.by_index:
            self.notes.append(f"{argument}: rows were brought in the order of {self.truth}'s index")
            self._refuse_more_rows(seen)
        expects_rows = seen.role != "exclude" and not seen.by_index and bool(seen.n_rows and present.size)
        if expects_rows and n_empty == present.size:
            extra, expected = (shown(next(iter(names))) for names in (seen.ignored, self.row_number))
            message = f"no row is one of {self.truth}, as {extra} is not; expected names like {expected}"
            raise InputError(argument, message)
        has_columns = seen.rows is not None and seen.rows.are_columns
        if n_empty and (seen.by_index or has_columns):
            hint = f"; add it, or leave it out of {self.truth}"
            raise InputError(argument, f"no row {shown(missing)}, which {self.truth} has{hint}")
        if seen.role in PREDICTIONS:
            self.note(argument, "rows without predictions", n_empty)
            self.note(argument, "ignored rows", len(seen.ignored))
        if seen.role == "candidates":
            self.note(argument, "rows without candidates", n_empty)


def _as_list(keys: Sequence[Any] | None) -> list[Any] | None:
    """Return names of rows as a list, the same if they are one."""
    return keys if keys is None or isinstance(keys, list) else [*keys]


def _are_integers(keys: Sequence[Any]) -> bool:
    """Tell whether all keys are integers."""
    return all(issubclass(kind, int | np.integer) for kind in {*map(type, keys)})


def _is_text_of_id(name: object) -> bool:
    """Tell whether a name is the text of a label id."""
    return isinstance(name, str) and name.isascii() and name.isdecimal()


def nodes_beside(nodes: Iterable[Any], names: Collection[Any]) -> list[Any]:
    """Return the nodes of a hierarchy that are none of the labels, sorted: their order numbers them."""
    are_texts = isinstance(next(iter(names), ""), str)
    same_kind = {node for node in nodes if isinstance(node, str) == are_texts and not isinstance(node, bool)}
    return sorted(same_kind.difference(names))


def names_of_truth(
    truth: Rows | None, others: Mapping[str, Rows | None], notes: list[str]
) -> list[Any] | None:
    """Return the names of labels that a truth tells before its rows, None where labels have ids.

    ``others`` are the rows of other arguments, None of those without names.
    """
    if truth is None or truth.names is None:
        return None
    columns = [*truth.names]
    if not truth.are_columns:
        lists_none = not columns
        are_named = truth.named or (lists_none and any(map(_has_named_labels, others.values())))
        return [] if are_named else None
    nameless = [argument for argument, rows in others.items() if rows is None or _has_ids(rows)]
    numbers = numbers_of_columns(columns)
    if numbers is None:
        notes += [f"{argument}: {BY_POSITION.format('it')}" for argument in nameless]
        return columns
    if nameless and (np.diff(numbers) < 0).any():
        notes.append(f"y_true: {IN_ORDER}")
    return [columns[place] for place in np.argsort(numbers)]


def _has_named_labels(rows: Rows | None) -> bool:
    """Tell whether rows list labels that have names."""
    return rows is not None and not rows.are_columns and rows.named


def _has_ids(rows: Rows) -> bool:
    """Tell whether rows list labels that have ids alone."""
    return not rows.are_columns and bool(rows.labels.size) and not rows.named


@dataclass
class Seen:
    """What was seen of an input, some of whose rows are matched.

    present : of rows by key, which numbers of rows occurred
    by_index : whether both sides must have the same keys
    ignored : rows that the truth does not have, by the next numbers
    files : those that were read of several
    file_of : which of them had a row by number, counted from 1; 0 for none
    table, codes : names in the file, and the number of each among labels, -1 before it is looked up
    """

    role: str
    argument: str
    rows: Rows | None = None
    n_rows: int = 0
    present: NDArray[np.bool_] | None = None
    by_index: bool = False
    ignored: dict[Any, int] = field(default_factory=dict)
    unknown: dict[int, None] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    file_of: Ints = field(default_factory=lambda: np.zeros(1, np.int32))
    table: NameTable | None = None
    codes: Labels = field(default_factory=lambda: np.empty(0, np.int32))

    def codes_of(self, names: TableNames) -> Labels:
        """Return the number of each name of a table among labels, to be changed where it is looked up."""
        if self.table is not names.table:
            self.table, self.codes = names.table, np.empty(0, np.int32)
        if (n_more := len(names) - self.codes.size) > 0:
            n_more += len(names) // 4
            self.codes = np.concatenate((self.codes, np.full(n_more, -1, np.int32)))
        return self.codes

    def refuse_other_file(self, of_row: Ints) -> None:
        """Refuse rows that another file of several has, too."""
        rows = self.rows
        file = "" if rows is None or rows.origin is None else rows.origin.file
        if rows is None or not file:
            return
        if self.files[-1:] != [file]:
            self.files.append(file)
        if (n_numbers := int(of_row.max(initial=-1)) + 1) > self.file_of.size:
            self.file_of.resize(2 * n_numbers, refcheck=False)
        files = self.file_of[of_row]
        if (is_other := (files > 0) & (files < len(self.files))).any():
            row = int(is_other.argmax())
            key = None if rows.keys is None else rows.keys[row]
            reason = f"row {key!r} is also in {self.files[files[row] - 1]}; expected each row in one file"
            raise rows.error(self.argument, reason, row, key)
        self.file_of[of_row] = len(self.files)


def join_models(models: Sequence[tuple[str, Rows]]) -> tuple[list[Rows], list[Any], list[Any] | None]:
    """Return scores of several models by number, names of labels, later ones first, and of rows, if any."""
    first, rows = models[0]
    _refuse_unlike_models(models)
    names = _names_of_all(models)
    if not names:
        raise InputError("predictions", "none of them lists a label")
    keys = None
    if rows.keys is not None:
        keys = [*dict.fromkeys(chain.from_iterable(each.keys or () for _, each in models))]
    by = None if keys is None else BY_KEY
    match = Match(first, names, listed=True, keys=keys, by=by, n_rows=rows.n_rows)
    return [as_scores(match.place_rows("y_score", *model), None) for model in models], names, keys


def _refuse_unlike_models(models: Sequence[tuple[str, Rows]]) -> None:
    """Refuse models whose rows cannot be matched with those of the first one, or other kinds of labels."""
    first, rows = models[0]
    keys, by = None, None
    if rows.keys is not None:
        keys, by = [*rows.keys], BY_KEY
    if keys is not None and rows.is_long:
        keys = [*dict.fromkeys(keys)]
    match = Match(first, None, keys=keys, by=by, n_rows=rows.n_rows)
    for model, model_rows in models[1:]:
        match.row_numbers("y_score", model, model_rows)
        are_listed = model_rows.labels.size and rows.labels.size
        if are_listed and (model_rows.names is None) != (rows.names is None):
            kinds = ("text", "integers") if model_rows.names is None else ("integers", "text")
            raise InputError(model, f"its labels are {kinds[1]}, and those of {first} {kinds[0]}")


def _names_of_all(models: Sequence[tuple[str, Rows]]) -> list[Any]:
    """Return the names or ids of the labels of all models, in the order in which equal scores rank."""
    labels = set[Any]()
    for _, rows in models:
        labels.update(np.unique(rows.labels).tolist() if rows.names is None else rows.names)
    return sorted(labels, reverse=any(isinstance(label, str) for label in labels))


def first_entries(labels: Ints, codes: Labels) -> Ints:
    """Return the first entry of each label without a code, in order."""
    entries = np.flatnonzero(codes[labels] < 0)
    first = np.empty(codes.size if entries.size else 0, label_dtype(labels.size))
    first[labels[entries[::-1]]] = entries[::-1]  # the last one that is written stays
    is_first: Bools = first[labels[entries]] == entries
    return entries[is_first]


def names_at(names: Sequence[Any], places: Ints) -> list[Any]:
    """Return the names at some places."""
    return names.at(places) if isinstance(names, TableNames) else [names[place] for place in places.tolist()]


def numbers_of(names: Sequence[Any], number: dict[Any, int]) -> Ints:
    """Return the number of each name, -1 where it has none."""
    return np.fromiter(map(number.get, names, repeat(-1)), np.int64, len(names))


def distinct(
    argument: str, keys: Sequence[Any], rows: Rows | None = None, before: Collection[Any] = ()
) -> dict[Any, int]:
    """Return the place of each key, or refuse one that two rows have, or a row ``before`` these."""
    place = dict(zip(keys, count()))
    if before or len(place) < len(keys):
        first: dict[Any, int] = dict.fromkeys(before, -1)
        row = next(row for row, key in enumerate(keys) if first.setdefault(key, row) != row)
        error = rows.error if isinstance(rows, Rows) else InputError
        hint = rows.origin.how_to_repeat if isinstance(rows, Rows) and rows.origin is not None else ""
        raise error(argument, f"two rows are called {shown(keys[row])}{hint}", row=row, value=keys[row])
    return place


def refuse_order(index_of: dict[str, Sequence[Any] | None]) -> None:
    """Refuse an index that numbers the rows in another order, where the other argument has none."""
    for (argument, index), (companion, of_companion) in permutations(index_of.items(), 2):
        numbers = None if index is None or of_companion is not None else as_numbers(index)
        if numbers is not None and (np.diff(numbers) < 0).any():
            wrong = f"its index has the numbers of the rows in another order, and {companion} has no index"
            hint = "sort_index() or reset_index(drop=True) says which rows are meant"
            raise InputError(argument, f"{wrong}; {hint}")


def as_numbers(names: Sequence[Any]) -> Ints | None:
    """Return names as numbers, if they are 0, 1, .. in any order; some frames have only texts as names."""
    if names == [*range(len(names))]:
        return np.arange(len(names))
    number_of = {str(number): number for number in range(len(names))}
    numbers = [number_of.pop(str(name), -1) for name in names]
    return None if number_of else np.array(numbers, np.int64)


def numbers_of_columns(columns: Sequence[Any]) -> Ints | None:
    """Return columns as numbers, if they are 0, 1, .. in any order, or column_0, column_1, .. of polars."""
    return as_numbers([str(name).removeprefix("column_") for name in columns])


def refuse_scores(argument: str, rows: Rows, graded: bool | None) -> None:
    """Refuse values of label sets that can be no judgements, unless they are grades (None: not asked for)."""
    if rows.values is None or (graded and argument == "y_true"):
        return
    bad = np.flatnonzero(rows.values != np.floor(rows.values))[:1].tolist()
    if bad or rows.best_first:
        seen = f"value {rows.values[bad[0]]} is no judgement, an integer" if bad else "labels have scores"
        swapped = "; are the truth and the scores swapped?" if argument != "y_pred" else ""
        grades = [" Grades need ", Field("gains", "linear")] if swapped and graded is False else []
        message = Message(f"{seen}; scores go to y_score{swapped}", *grades)
        raise rows.error_of_entry(argument, message, bad[0]) if bad else InputError(argument, message)


def as_sets(rows: Rows, graded: bool | None = None) -> Rows:
    """Return matched label sets: those with a positive value; of columns, or if ``graded``, all values."""
    if rows.is_matrix:
        return rows.by_label(None)
    if rows.values is not None and not graded and not rows.are_columns:
        rows = rows.only(rows.values > 0)._replace(values=None)
    return rows._replace(best_first=False, are_columns=False)


def as_scores(rows: Rows, label_names: Sequence[Any] | None) -> Rows:
    """Return matched scores, best first where there are none, equal ones in the order of names, if given."""
    by_name = label_names if label_names and isinstance(label_names[0], str) else None
    best_first = rows.best_first or rows.values is None
    if rows.is_matrix:
        rows = rows.by_label(by_name)
    elif rows.values is not None and not best_first and by_name:
        rows = rows._replace(labels=order_ties(rows.ptr, rows.labels, rows.values, by_name))
    return rows._replace(names=label_names, best_first=best_first, are_columns=rows.is_matrix)


def listed_scores(rows: Rows, label_names: list[Any]) -> Rows:
    """Return matched scores as those of a matrix; without scores, labels have -1, -2 and so on."""
    if rows.values is None:
        values = np.repeat(rows.ptr[:-1], np.diff(rows.ptr)) - np.arange(rows.labels.size) - 1.0
        rows = rows._replace(values=values)
    return as_scores(rows, label_names)._replace(best_first=False)


def score_pieces(placed: PlacedRows, match: Match) -> Pieces:
    """Return matched scores, some rows at a time."""
    names = LabelNames(match.names)
    return placed.pieces(match.n_labels, lambda rows: as_scores(rows, names))


def set_pieces(placed: PlacedRows, match: Match, grades: bool = False) -> Pieces:
    """Return matched label sets, or all grades."""
    names = match.names
    return placed.pieces(match.n_labels, lambda rows: as_sets(rows, grades)._replace(names=names))
