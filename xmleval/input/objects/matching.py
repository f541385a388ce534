"""Columns and rows of arguments that have names, in line with those of the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.input.csr import WithOthers
from xmleval.input.errors import InputError
from xmleval.input.missing import missing_names_note
from xmleval.input.objects.named import BY_KEY, NamedInput, NamedRows, Wide
from xmleval.input.objects.numbered import (
    IN_ORDER,
    SAME_ORDER,
    as_numbers,
    column_numbers,
    dense_lists,
    name_nothing,
    numbered_entries,
    numbered_matrix,
    refuse_order,
    shapes_of,
)
from xmleval.input.objects.row_ids import joined_by_ids, notes_on_indexes, refuse_other_order_of
from xmleval.message import Keyword, Message, counted
from xmleval.notes import Note
from xmleval.records import Bools, Ints

SHOWN_COLUMNS = 3  # in a note
PREDICTIONS = ("y_score", "y_pred")
BESIDE = ("exclude", "candidates")  # which take labels out of rows, and may name other ones than the truth


def refuse_other_count(n_labels: int | None, known: int) -> None:
    """Refuse a number of labels other than that of their names."""
    if n_labels not in (None, known):
        raise InputError("n_labels", f"{n_labels!r} does not match the {known} names of labels")


class Taken(NamedTuple):
    """Truth, scores and sets without names, the names that were there, and what was seen in matching them."""

    inputs: tuple[Any, ...]
    n_labels: int | None
    label_names: list[Any] | None = None
    closed: bool = True  # whether all labels were known before the rows
    row_names: list[Any] | None = None
    notes: tuple[str, ...] = ()
    grades: bool = False  # whether the truth has grades that are not asked for
    others: Sequence[Any] = ()  # names of predicted labels beside those that are evaluated
    keys: list[Any] | None = None  # names of rows that tell them apart from those of other batches
    n_unmatched_pairs: int = 0  # to exclude, whose row or label is in no other argument

    @property
    def by_id(self) -> bool:
        """Whether labels have no names, or are called by their numbers."""
        return self.label_names is None or self.label_names == [*range(len(self.label_names))]


class Matching:
    """Columns and rows of arguments, of which some have names."""

    def __init__(
        self,
        given: dict[str, Any],
        held: dict[str, NamedInput],
        n_labels: int | None,
        names: list[Any] | None,
        graded: bool | None,
        counts_others: bool,
    ) -> None:
        self.notes: list[str] = notes_on_indexes(held)
        held = joined_by_ids(held, self.notes)
        self.given, self.held, self.graded = given, held, graded
        truth = held.get("y_true")
        self.truth = truth
        self.n_unmatched_pairs = 0
        self.closed = names is not None or isinstance(truth, Wide)
        self.listed = names is not None  # by the caller, so that there can be no others
        self.others: dict[Any, int] | None = {} if self.listed and counts_others else None
        known: Iterable[Any] | None = names
        if names is None and isinstance(truth, Wide):
            known = self._columns_of(truth)
        elif names is None and isinstance(truth, NamedRows):
            lists = [rows for rows in held.values() if isinstance(rows, NamedRows)]
            if truth.named or (not truth.labels and any(rows.named for rows in lists)):
                known = truth.labels
        self.index: dict[Any, int] | None = None
        if known is not None:
            self.index = {name: number for number, name in enumerate(dict.fromkeys(known))}
            if self.closed:
                refuse_other_count(n_labels, len(self.index))
        self.n_known = 0 if self.index is None else len(self.index)
        self.n_labels = n_labels

    def taken(self) -> Taken:
        """Return the arguments by number."""
        if self.index is None and self.n_labels is None:
            self.n_labels = self._width()
        codes: dict[str, Ints | None] = {}
        for argument, held in self.held.items():  # the truth first: others add labels behind its own
            if isinstance(held, NamedRows):
                self.held[argument] = counted = self._counted(argument, held)
                codes[argument] = self._codes(argument, counted)
            else:
                codes[argument] = self._columns(argument, held)
        n_labels = self.n_labels
        if self.index is not None:
            n_labels = n_labels or len(self.index)
            if not n_labels:
                raise InputError(
                    "y_true", Message("names no label; give ", Keyword("labels"), ", their names")
                )
            if len(self.index) > n_labels:
                raise InputError(
                    "n_labels", f"{n_labels} is less than the {len(self.index)} labels with names"
                )
        found: dict[str, Any] = {}
        for argument, value in self.given.items():
            if value is None:
                found[argument] = None
                continue
            order = None if self.given["y_true"] is None or argument == "y_true" else self._order(argument)
            rows = self.held.get(argument)
            names = self._ranking_names(rows) if argument == "y_score" else None
            if rows is None:
                self._refuse_nameless(argument)
                one = {argument: value}
                found |= dense_lists(one, n_labels, self.n_labels) if n_labels else one
            elif isinstance(rows, Wide):
                if codes[argument] is None and self.index is not None and len(self.index) > self.n_known:
                    codes[argument] = np.arange(self.n_known)  # other predictions name more labels
                found[argument] = numbered_matrix(rows, codes[argument], order, n_labels, names)
            else:
                of_labels = codes[argument]
                assert n_labels is not None
                assert of_labels is not None
                graded = self.graded if argument == "y_true" else None
                has_others = int(of_labels.max(initial=-1)) >= n_labels and argument in PREDICTIONS
                width = n_labels + len(self.others or ()) if has_others else n_labels
                numbered = numbered_entries(argument, rows, of_labels, order, width, graded, names)
                found[argument] = WithOthers(numbered, width) if has_others else numbered
        label_names = None if self.index is None or n_labels != len(self.index) else [*self.index]
        row_names = None if self.truth is None else self.truth.keys
        closed = self.index is None or self.closed
        values = getattr(self.truth, "values", None)
        grades = not self.graded and values is not None and bool((values > 1).any())
        others = list(self.others or ())
        notes = *self.notes, *missing_names_note(self.index or (), others)
        keys = row_names if _keys(self.truth)[1] == BY_KEY else None
        more = closed, row_names, notes, grades, others, keys, self.n_unmatched_pairs
        return Taken(tuple(found.values()), n_labels, label_names, *more)

    def _ranking_names(self, rows: NamedInput | None) -> list[Any] | None:
        """Return the names of all labels, where equal scores rank by them, not by label id."""
        names = [*(self.index or ()), *(self.others or ())]
        if not names or not isinstance(names[0], str):
            return None
        return None if isinstance(rows, NamedRows) and rows.labels and not rows.named else names

    def _width(self) -> int | None:
        """Return the number of labels, where the arguments without names of labels tell it."""
        lists = [argument for argument, rows in self.held.items() if isinstance(rows, NamedRows)]
        width = next((shape[1] for shape in shapes_of(self.given, self.held).values() if shape), None)
        if width is None and lists:
            which = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", their names"
            raise InputError(lists[0], Message("labels that are integers need ", *which))
        return width

    def _counted(self, argument: str, rows: NamedRows) -> NamedRows:
        """Return rows without the labels of those that do not count, as y_true has no such row."""
        true_keys, true_match = _keys(self.truth)
        if rows.keys is None or true_keys is None or BY_KEY not in (rows.match, true_match):
            return rows
        known = {*true_keys}
        counted = np.array([key in known for key in rows.keys], np.bool_)
        return rows if counted.all() else self._only(argument, rows, np.repeat(counted, rows.sizes))

    def _only(self, argument: str, rows: NamedRows, kept: Bools) -> NamedRows:
        """Return rows with some of their entries, and count the pairs to exclude that go."""
        self.n_unmatched_pairs += kept.size - int(kept.sum()) if argument == "exclude" else 0
        return rows.only(kept)

    def _codes(self, argument: str, rows: NamedRows) -> Ints:
        """Return the number of each label."""
        index = self.index
        if index is None:
            if rows.named:
                which = "; give ", Keyword("labels"), ", the name of each column"
                raise InputError(argument, Message("names its labels, which y_true has by number", *which))
            return np.array(rows.labels, np.int64)
        if rows.labels and not rows.named and isinstance(next(iter(index), 0), str):
            if self.closed:
                return np.array(rows.labels, np.int64)
            which = "; give ", Keyword("labels"), ", the name of each"
            raise InputError(argument, Message("has integer ids of labels, which y_true names", *which))
        others = not self.closed or (not self.listed and rows.named and isinstance(next(iter(index)), str))
        if others and argument in BESIDE:
            codes = np.array([index.get(name, -1) for name in rows.labels], np.int64)
            self.held[argument] = self._only(argument, rows, codes >= 0)  # neither relevant nor predicted
            return codes[codes >= 0]
        if others:
            before = len(index)
            for name in dict.fromkeys(rows.labels):
                index.setdefault(name, len(index))
            codes = np.fromiter(map(index.__getitem__, rows.labels), np.int64, len(rows.labels))
            self._note_new(argument, len(index) - before, codes)
            self.closed &= len(index) == self.n_known
            return codes
        codes = np.array([index.get(name, -1) for name in rows.labels], np.int64)
        if self.others is not None and argument in PREDICTIONS and (codes < 0).any():
            return self._with_others(argument, rows.labels, codes)
        if (codes < 0).any():
            entry = int((codes < 0).argmax())
            name = rows.labels[entry]
            missing = {label for label, code in zip(rows.labels, codes.tolist(), strict=True) if code < 0}
            told = f"label {name!r} is not one of the {self.n_known} given ones; "
            more = f" must name {counted(len(missing), 'labels')} more"
            fix = Message(told, Keyword("labels"), more)
            raise InputError(argument, fix, row=rows.row_of(entry), value=name)
        return codes

    def _with_others(self, argument: str, labels: list[Any], codes: Ints) -> Ints:
        """Return the number of each label, of others behind those that are listed; and note them."""
        assert self.others is not None
        unlisted = [name for name, code in zip(labels, codes.tolist(), strict=True) if code < 0]
        codes[codes < 0] = [
            self.n_known + self.others.setdefault(name, len(self.others)) for name in unlisted
        ]
        example = repr(unlisted[0])
        self.notes.append(Note(argument, "labels beyond the list", len({*unlisted}), example=example))
        return codes

    def _note_new(self, argument: str, n_new: int, codes: Ints) -> None:
        if argument == "y_true":
            return
        n_new = max(n_new, np.unique(codes[codes >= self.n_known]).size)
        if n_new:
            self.notes.append(Note(argument, "unknown labels", n_new))

    def _columns_of(self, truth: Wide) -> list[Any]:
        """Return the labels of a truth in the order of their numbers, which arrays beside it are in."""
        numbers = as_numbers(truth.columns)
        bare = [a for a, value in self.given.items() if value is not None and not self._has_names(a)]
        if numbers is None:
            if not name_nothing(truth.columns):
                told = "labels were read by position, as it has no names of them"
                self.notes += [f"{argument}: {told}" for argument in bare]
            return truth.columns
        order = np.argsort(numbers)
        if bare and not np.array_equal(order, np.arange(order.size)):
            self.notes.append(f"y_true: {IN_ORDER}")
        return [truth.columns[place] for place in order]

    def _has_names(self, argument: str) -> bool:
        rows = self.held.get(argument)
        return rows is not None and (isinstance(rows, Wide) or rows.named or not rows.labels)

    def _columns(self, argument: str, rows: Wide) -> Ints | None:
        """Return the number of the label of each column; None where columns are in order already."""
        index = self.index
        if index is None:
            return column_numbers(argument, rows.columns, self.n_labels, self.notes)
        if self.closed:
            own = {*rows.columns}
            missing = next((name for name in index if name not in own), None)
            if missing is not None:
                hint = SAME_ORDER.format(argument) if len(rows.columns) == len(index) else ""
                raise InputError(argument, f"no column for label {missing!r}{hint}")
            extra = next((name for name in rows.columns if name not in index), None)
            if extra is not None:
                raise InputError(argument, f"column {extra!r} is no label of y_true; labels= picks columns")
            codes = np.array([index[name] for name in rows.columns], np.int64)
            return None if np.array_equal(codes, np.arange(codes.size)) else codes
        n_without = len({*list(index)[: self.n_known]}.difference(rows.columns))
        if n_without:
            self.notes.append(Note(argument, "labels without column", n_without))
        new = [name for name in rows.columns if index.get(name, self.n_known) >= self.n_known]
        if new:
            names = ", ".join(map(repr, new[:SHOWN_COLUMNS]))
            self.notes.append(Note(argument, "unknown columns", len(new), example=names))
        return np.array([index.setdefault(name, len(index)) for name in rows.columns], np.int64)

    def _refuse_nameless(self, argument: str) -> None:
        """Refuse numbers beside a truth that names its labels as they come."""
        if self.index is not None and not self.closed:
            which = " has none; give ", Keyword("labels"), ", the name of each column"
            raise InputError(argument, Message("y_true has names of labels and this", *which))

    def _order(self, argument: str) -> Ints | None:
        """Return the row of an argument for each row of the truth, -1 for none; None for the same rows."""
        rows = self.held.get(argument)
        keys, match = _keys(rows)
        true_keys, true_match = _keys(self.truth)
        if BY_KEY not in (match, true_match):
            refuse_other_order_of(argument, rows, self.truth)
            if true_keys is None:
                refuse_order(argument, keys, "y_true")
            if keys is None:
                refuse_order("y_true", true_keys, argument)
            if keys is None or true_keys is None or keys == true_keys:
                return None
            return self._by_index(argument, keys, true_keys)
        if keys is None or true_keys is None:
            named, other = (argument, "y_true") if true_keys is None else ("y_true", argument)
            raise InputError(
                argument, f"rows of {named} have names and those of {other} have none; give names to both"
            )
        numbers = _distinct(argument, keys)
        order = np.array([numbers.get(key, -1) for key in true_keys], np.int64)
        n_empty = int((order < 0).sum())
        if n_empty and isinstance(rows, Wide):
            missing = true_keys[int((order < 0).argmax())]
            raise InputError(argument, f"no row {missing!r}, which y_true has")
        if n_empty == order.size and numbers and order.size and argument not in BESIDE:
            raise InputError(
                argument,
                f"no row is one of y_true, as {keys[0]!r} is not; expected names like {true_keys[0]!r}",
            )
        n_ignored = len(keys) - (order.size - n_empty)
        if n_empty and argument not in BESIDE:
            self.notes.append(Note(argument, "rows without predictions", n_empty))
        if n_ignored and argument not in BESIDE:
            self.notes.append(Note(argument, "ignored rows", n_ignored))
        return order

    def _by_index(self, argument: str, keys: list[Any], true_keys: list[Any]) -> Ints:
        numbers, expected = _distinct(argument, keys), _distinct("y_true", true_keys)
        for one, other, where in ((true_keys, numbers, "has no row"), (keys, expected, "has a row more,")):
            missing = next((key for key in one if key not in other), None)
            if missing is not None:
                raise InputError(
                    argument,
                    f"the index {where} {missing!r} compared to y_true; where the order is the same, give "
                    f"{argument}.reset_index(drop=True) and y_true.reset_index(drop=True)",
                )
        self.notes.append(f"{argument}: rows were brought in the order of y_true's index")
        return np.array([numbers[key] for key in true_keys], np.int64)


def _keys(rows: NamedInput | None) -> tuple[list[Any] | None, str | None]:
    if rows is None:
        return None, None
    return rows.keys, None if rows.keys is None else rows.match


def _distinct(argument: str, keys: list[Any]) -> dict[Any, int]:
    numbers: dict[Any, int] = {}
    for number, key in enumerate(keys):
        if numbers.setdefault(key, number) != number:
            raise InputError(argument, f"two rows are called {key!r}", row=number, value=key)
    return numbers
