"""The law of names: the rows and labels of an input, by the numbers that those of a truth have."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from xmleval.input.csr import Stored
from xmleval.input.errors import InputError
from xmleval.input.rows import BY_KEY, Rows, first_places, numbered, pointer
from xmleval.input.ties import order_ties
from xmleval.message import NO_MATCH, Keyword, Message, counted
from xmleval.notes import Note
from xmleval.records import Ints

PREDICTIONS = ("y_score", "y_pred")
BESIDE = ("exclude", "candidates")  # which take labels out of rows, and may name other ones than the truth


class Match:
    """Numbers of the rows and labels of a truth, and what was noted of inputs that were matched with them.

    Parameters
    ----------
    truth : str
        What messages call the truth.
    names : iterable or None
        Names of labels that take the first numbers; None where labels have ids.
    n_labels : int or None
        Number of labels, if the caller told more than have names.
    listed : bool
        Whether the caller listed all labels, so that the truth can have no other.
    fits : bool
        Whether something is fitted, for which all labels must be known: a list has them, or all are known.
    keys, by : list and str, or None
        Names of the rows, where these are not those of a truth that is still to be taken.

    Notes
    -----
    ``number`` is that of each label of the list or of the truth; after the truth it stays as it is. What only
    other inputs name is in ``unknown``, by numbers from ``n_labels`` upward. ``closed`` tells whether all
    labels were known before the rows.
    """

    def __init__(
        self,
        truth: str,
        names: Iterable[Any] | None,
        *,
        n_labels: int | None = None,
        listed: bool = False,
        fits: bool = False,
        keys: list[Any] | None = None,
        by: str | None = None,
    ) -> None:
        self.truth, self.keys, self.by = truth, keys, by
        self.number = None if names is None else {name: i for i, name in enumerate(dict.fromkeys(names))}
        self.n_labels = max(n_labels or 0, len(self.number or ()))
        self.listed, self.fits, self.closed = listed, fits, bool(self.number)
        self.unknown: dict[Any, int] = {}
        self.notes: list[str] = []
        self.n_unmatched_pairs = 0
        self.n_in_order: int | None = None  # rows of a truth, where these have no names
        self.beside: Any = None

    def fork(self) -> Match:
        """Return the same labels for another model, whose unknown labels and notes are its own."""
        other = copy.copy(self)
        other.unknown, other.notes = dict(self.unknown), list[str]()
        return other

    @property
    def label_names(self) -> list[Any]:
        """Names of the labels by number."""
        return [*(self.number or ())]

    @property
    def names(self) -> list[Any]:
        """Names of all labels by number, of unknown ones, too."""
        known = self.label_names
        return [*known, *[""] * (self.n_labels - len(known)), *self.unknown]

    def know_all(self) -> None:
        """Take unknown labels for labels, as where something is fitted."""
        if self.number is not None and self.unknown:
            self.number |= self.unknown
            self.n_labels, self.unknown = max(self.n_labels, len(self.number)), {}

    def label_ids(self, names: Iterable[Any]) -> list[int]:
        """Return the number of each label; those that have none are unknown, and get one."""
        known, unknown, first = self.number or {}, self.unknown, self.n_labels
        return [
            known[name] if name in known else unknown.setdefault(name, first + len(unknown)) for name in names
        ]

    # ---- rows

    def take_truth(self, argument: str, rows: Rows) -> Rows:
        """Return the rows of a truth by number; others are matched with them from now on."""
        of_row = None
        self.beside = rows.beside
        if rows.is_long:
            of_row, self.keys = numbered(rows.keys or ())
        else:
            self.keys = None if rows.keys is None else [*rows.keys]
            if rows.match == BY_KEY:
                distinct(argument, self.keys or [], rows)
        self.by = rows.match
        if self.keys is None:
            self.n_in_order = rows.n_rows
        placed = self._placed(argument, rows, self._label_numbers("y_true", argument, rows), of_row)
        self.n_labels = max(self.n_labels, len(self.number or ()))
        return placed

    def take(self, role: str, argument: str, rows: Rows) -> Rows:
        """Return rows in the order of the truth's, and their labels by number.

        ``role`` is the argument of `xmleval.evaluate` that they are, ``argument`` what messages call them.
        """
        of_row = self.row_numbers(role, argument, rows)
        if of_row is not None:
            kept = np.repeat(of_row >= 0, np.diff(rows.ptr))
            self.n_unmatched_pairs += kept.size - int(kept.sum()) if role == "exclude" else 0
            rows = rows.only(kept)
        return self._placed(argument, rows, self._label_numbers(role, argument, rows), of_row)

    def row_numbers(self, role: str, argument: str, rows: Any) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for the same rows in the same order."""
        keys, by = (None, None) if rows is None else (rows.keys, rows.match)
        n_rows = None if rows is None else rows.n_rows
        true_keys, true_by = self.keys, self.by
        if BY_KEY not in (by, true_by):
            self._refuse_other_order(argument, rows)
            if true_keys is None:
                refuse_order(argument, keys, self.truth)
            if keys is None:
                refuse_order(self.truth, true_keys, argument)
                if getattr(rows, "places", None) is not None:  # others are checked with what they may be
                    self._refuse_other_count(argument, n_rows, self.n_in_order)
            if keys is None or true_keys is None or keys == true_keys:
                return None
            return self._by_index(argument, keys, true_keys)
        if keys is None and true_keys == [*map(str, range(len(true_keys or ())))]:
            self._refuse_other_count(argument, n_rows, len(true_keys))
            return None
        if true_keys is None and self.n_in_order is not None:
            true_keys = [*map(str, range(self.n_in_order))]
            true_keys = true_keys if {*true_keys}.issuperset(keys or ()) else None
        if keys is None or true_keys is None:
            named, other = (argument, self.truth) if self.keys is None else (self.truth, argument)
            told = f"rows of {named} have names and those of {other} have none; give ids to both"
            if self.n_in_order:
                told += f", or call rows by their numbers, 0 to {self.n_in_order - 1}"
            raise InputError(argument, told)
        return self._by_key(role, argument, rows, true_keys)

    def _refuse_other_order(self, argument: str, rows: Any) -> None:
        """Refuse rows in order where another column has the truth's values, each once, in another order."""
        beside = getattr(rows, "beside", None)
        if beside is None or self.beside is None:
            return
        column = beside.in_other_order(self.beside)
        if column is not None:
            told = f"column {column!r} has the values of {self.truth}'s in another order"
            raise InputError(argument, f"{told}; {beside.how_to_join.format(column)}")

    def _refuse_other_count(self, argument: str, n_rows: int | None, expected: int | None) -> None:
        if None not in (n_rows, expected) and n_rows != expected:
            told = f"{counted(n_rows or 0, *NO_MATCH)} the {expected} of {self.truth}"
            raise InputError(argument, told)

    def _by_key(self, role: str, argument: str, rows: Any, true_keys: list[Any]) -> Ints:
        keys = rows.keys
        if not getattr(rows, "is_long", False):
            distinct(argument, keys, rows)
        number = dict(zip(true_keys, range(len(true_keys)), strict=True))
        of_row = np.fromiter(map(number.get, keys, repeat(-1)), np.int64, len(keys))
        met = np.zeros(len(true_keys), np.bool_)
        met[of_row[of_row >= 0]] = True
        n_empty = int(met.size - met.sum())
        if n_empty == met.size and len(keys) and met.size and role != "exclude":
            told = f"no row is one of {self.truth}, as {keys[0]!r} is not; expected names like"
            raise InputError(argument, f"{told} {true_keys[0]!r}")
        if n_empty and not isinstance(rows, Rows):  # a matrix
            missing = true_keys[int(met.argmin())]
            raise InputError(argument, f"no row {missing!r}, which {self.truth} has")
        n_ignored = len({keys[row] for row in np.flatnonzero(of_row < 0).tolist()})
        if role in PREDICTIONS:
            self.note(argument, "rows without predictions", n_empty)
            self.note(argument, "ignored rows", n_ignored)
        if role == "candidates":
            self.note(argument, "rows without candidates", n_empty)
        return of_row

    def _by_index(self, argument: str, keys: list[Any], true_keys: list[Any]) -> Ints:
        own, number = distinct(argument, keys), distinct(self.truth, true_keys)
        for one, other, where in ((true_keys, own, "has no row"), (keys, number, "has a row more,")):
            missing = next((key for key in one if key not in other), None)
            if missing is not None:
                raise InputError(
                    argument,
                    f"the index {where} {missing!r} compared to {self.truth}; where the order is the same, "
                    f"give {argument}.reset_index(drop=True) and {self.truth}.reset_index(drop=True)",
                )
        self.notes.append(f"{argument}: rows were brought in the order of {self.truth}'s index")
        return np.array([number[key] for key in keys], np.int64)

    def note(self, argument: str, kind: str, n: int, example: str = "") -> None:
        """Add a note on so many rows or labels, if there are any."""
        self.notes += [Note(argument, kind, n, example=example)] * (n > 0)

    def _placed(self, argument: str, rows: Rows, labels: Ints, of_row: Ints | None) -> Rows:
        """Return rows in the order of their numbers, with these labels; a label twice in one is refused."""
        sizes, values, ptr = np.diff(rows.ptr), rows.values, rows.ptr
        row = np.repeat(np.arange(rows.n_rows) if of_row is None else of_row, sizes)
        self._refuse_twice(argument, rows, row, labels)
        if of_row is not None:
            if (np.diff(of_row) < 0).any():
                order = np.argsort(of_row, kind="stable")
                sizes, starts = sizes[order], ptr[:-1][order]
                places = np.arange(row.size) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
                row, labels, values = row[places], labels[places], None if values is None else values[places]
            ptr = pointer(np.bincount(row, minlength=len(self.keys or ()) or self.n_in_order or 0))
        return rows._replace(
            keys=None, match=None, ptr=ptr, labels=labels, names=None, values=values, places=None
        )

    def _refuse_twice(self, argument: str, rows: Rows, row: Ints, labels: Ints) -> None:
        cells = row * (int(labels.max(initial=0)) + 1)  # fewer than 2^63 for what fits in memory
        cells += labels
        if (np.diff(np.sort(cells)) == 0).any():
            order = np.argsort(cells, kind="stable")
            entry = int(order[1:][np.diff(cells[order]) == 0].min())
            label, of_row = rows.label(entry), rows.row_of(entry)
            where = f" for {rows.keys[of_row]!r}" if rows.is_long and rows.keys else ""
            told = f"label {label!r} occurs twice{where}; expected each label once in a row"
            raise rows.error(argument, told, of_row, label)

    # ---- labels

    def _label_numbers(self, role: str, argument: str, rows: Rows) -> Ints:
        """Return the number of the label of each entry."""
        number = self.number
        if number is None:
            if rows.named and rows.labels.size:
                which = "; give ", Keyword("labels"), ", the name of each column"
                told = f"names its labels, which {self.truth} has by number"
                raise InputError(argument, Message(told, *which))
            return rows.labels
        names, labels = rows.names, rows.labels
        if names is None:
            if isinstance(next(iter(number), 0), str) and labels.size:
                if self.closed:
                    return labels
                which = "; give ", Keyword("labels"), ", the name of each"
                told = f"has integer ids of labels, which {self.truth} names"
                raise InputError(argument, Message(told, *which))
            ids, labels = np.unique(labels, return_inverse=True)
            names = ids.tolist()
        codes = np.fromiter(map(number.get, names, repeat(-1)), np.int64, len(names))
        if codes.size and codes.min() >= 0:
            return codes[labels]
        first = first_places(labels, len(names))
        unknown = np.flatnonzero((codes < 0) & (first < labels.size))
        if not unknown.size:
            return codes[labels]
        unknown = unknown[np.argsort(first[unknown])]
        new = [names[code] for code in unknown.tolist()]
        if role == "y_true" and not self.closed:
            number.update(zip(new, range(len(number), len(number) + len(new)), strict=True))
        elif self._lists_all(role, rows):
            raise self._unlisted(argument, rows, len(new), int(first[unknown[0]]))
        elif role in PREDICTIONS and self.listed:
            self.note(argument, "labels beyond the list", len(new), repr(new[0]))
        elif role in PREDICTIONS:
            self.note(argument, "unknown labels", len(new))
        codes[unknown] = self.label_ids(new)
        return codes[labels]

    def _lists_all(self, role: str, rows: Rows) -> bool:
        """Whether labels that are not listed, or are no columns of the truth, are refused."""
        if self.listed:
            return self.fits or role not in PREDICTIONS
        by_text = isinstance(next(iter(self.number or ()), None), str)
        return self.closed and not (rows.named and by_text)

    def _unlisted(self, argument: str, rows: Rows, n_unlisted: int, entry: int) -> InputError:
        label = rows.label(entry)
        told = f"label {label!r} is not one of the {self.n_labels} given ones; "
        more = f" must name {counted(n_unlisted, 'labels')} more"
        return rows.error(argument, Message(told, Keyword("labels"), more), rows.row_of(entry), label)


class Joined(NamedTuple):
    """Rows of several models by number, the names of their labels, and of rows, None for the same order."""

    scores: list[Rows]
    label_names: list[Any]
    row_names: list[Any] | None


def join_models(models: Sequence[tuple[str, Rows]], first: Sequence[Any] = ()) -> Joined:
    """Match several models, by what messages call them, with one another.

    Rows are numbered as they are first mentioned; a model lists nothing in rows that it does not have. Labels
    are those of ``first``, then others, sorted so that of equal scores the later name is first.
    """
    name, rows = models[0]
    for other, own in models:
        if (own.keys is None) != (rows.keys is None):
            less, more = (other, name) if own.keys is None else (name, other)
            raise InputError(less, f"its rows have no names, which those of {more} have")
        if own.labels.size and rows.labels.size and (own.names is None) != (rows.names is None):
            raise InputError(other, f"its labels are {_kind(own)}, and those of {name} {_kind(rows)}")
        if own.keys is None and own.n_rows != rows.n_rows:
            raise InputError(other, f"{counted(own.n_rows, *NO_MATCH)} the {rows.n_rows} of {name}")
        if own.keys and rows.keys and {*own.keys}.isdisjoint(rows.keys):
            told = f"no row is one of {name}, as {own.keys[0]!r} is not"
            raise InputError(other, f"{told}; expected names like {rows.keys[0]!r}")
    labels = (np.unique(own.labels).tolist() if own.names is None else own.names for _, own in models)
    others = {*chain.from_iterable(labels)}.difference(first)
    names = [*first, *sorted(others, reverse=any(isinstance(label, str) for label in others))]
    if not names:
        raise InputError("predictions", "none of them lists a label")
    every_key = dict.fromkeys(chain.from_iterable(own.keys or () for _, own in models))
    keys = None if rows.keys is None else [*every_key]
    match = Match(name, names, listed=True, keys=keys, by=None if keys is None else BY_KEY)
    scores = [match.take("y_score", other, own) for other, own in models]
    return Joined(scores, names, keys)


def _kind(rows: Rows) -> str:
    return "integers" if rows.names is None else "text"


def distinct(argument: str, keys: Sequence[Any], rows: Any = None) -> dict[Any, int]:
    """Return the place of each key, or refuse one that two rows have."""
    place = dict(zip(keys, range(len(keys)), strict=True))
    if len(place) < len(keys):
        first: dict[Any, int] = {}
        row = next(row for row, key in enumerate(keys) if first.setdefault(key, row) != row)
        told = f"two rows are called {keys[row]!r}"
        if isinstance(rows, Rows):
            raise rows.error(argument, told, row, keys[row])
        raise InputError(argument, told, row=row, value=keys[row])
    return place


def refuse_order(argument: str, keys: Sequence[Any] | None, other: str) -> None:
    """Refuse an index that numbers the rows in another order, where another argument has no index."""
    if keys is None or keys == [*range(len(keys))] or (numbers := as_numbers(keys)) is None:
        return
    if not np.array_equal(numbers, np.arange(numbers.size)):
        wrong = f"its index has the numbers of the rows in another order, and {other} has no index"
        raise InputError(
            argument, f"{wrong}; sort_index() or reset_index(drop=True) says which rows are meant"
        )


def as_numbers(names: Sequence[Any]) -> Ints | None:
    """Return names as numbers, if they are 0, 1, .. in any order; some frames have only texts as names."""
    known = {str(number): number for number in range(len(names))}
    numbers = [known.pop(str(name), -1) for name in names]
    return None if known else np.array(numbers, np.int64)


def refuse_scores(role: str, argument: str, rows: Rows, graded: bool | None) -> None:
    """Refuse values of label sets that can be no judgements, unless they are grades of a truth.

    ``graded`` is None where grades cannot be asked for.
    """
    if rows.values is None or (graded and role == "y_true"):
        return
    bad = np.flatnonzero(rows.values != np.floor(rows.values))
    if not bad.size and not rows.best_first:
        return
    seen = f"value {rows.values[bad[0]]} is no judgement, an integer" if bad.size else "labels have scores"
    where = "y_score" if role == "y_pred" else "y_score; are the truth and the scores swapped?"
    told: list[object] = [f"{seen}; scores go to {where}"]
    told += [" Grades need ", Keyword("gains", "'linear'")] if graded is not None and role == "y_true" else []
    if not bad.size:
        raise InputError(argument, Message(*told))
    raise rows.error(argument, Message(*told), rows.row_of(int(bad[0])))


def as_sets(rows: Rows, n_labels: int, graded: bool | None = None) -> Stored:
    """Return matched label sets: those with a positive value, or all with their grades if ``graded``."""
    if rows.values is not None and not graded:
        rows = rows.only(rows.values > 0)._replace(values=None)
    return Stored(rows.ptr, rows.labels, rows.values, n_labels)


def as_scores(rows: Rows, n_labels: int, label_names: Sequence[Any] | None) -> Any:
    """Return matched scores; with ``label_names``, those of all labels, equal ones rank by name."""
    if rows.best_first:
        return Stored(rows.ptr, rows.labels, rows.values, n_labels, label_names)
    return score_matrix(rows, n_labels, label_names)


def score_matrix(rows: Rows, n_labels: int, label_names: Sequence[Any] | None) -> Any:
    """Return matched scores as an array whose equal scores rank by name, or as they are listed.

    Those of lists without scores are -1, -2 and so on.
    """
    from xmleval.input.written import NamedScores, WrittenRows  # imported here to keep start-up fast

    labels, values = rows.labels, rows.values
    if values is None:
        values = np.repeat(rows.ptr[:-1], np.diff(rows.ptr)) - np.arange(labels.size) - 1.0
    elif not rows.best_first and label_names is not None:
        labels = order_ties(rows.ptr, labels, values, label_names)
    matrix: Any = (WrittenRows if label_names is None else NamedScores)((rows.n_rows, n_labels))
    if label_names is not None:
        matrix.label_names = label_names
    matrix.data, matrix.indices, matrix.indptr = values, labels, rows.ptr
    return matrix
