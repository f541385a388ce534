"""The law of names: the rows and labels of an input, by the numbers that those of a truth have."""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Sequence
from itertools import chain, count, islice, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.cached import cached
from xmleval.input.errors import InputError
from xmleval.input.rows import BY_KEY, Rows, first_places, index_bytes, pointer, rows_by_id
from xmleval.input.ties import order_ties
from xmleval.message import NO_MATCH, Keyword, Message, counted
from xmleval.notes import Note
from xmleval.records import Ints

PREDICTIONS = ("y_score", "y_pred")
NO_IDS: Ints = np.empty(0, np.int64)


class Match:
    """Numbers of the rows and labels of a truth, and what was noted of inputs that were matched with them.

    Parameters
    ----------
    truth : str
        What messages call the truth.
    names : iterable or None
        Names of labels that take the first numbers; None where labels have ids.
    n_labels : int or None
        Number of labels, if the caller gave more than have names.
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
        self.n_bytes = 0  # of names of rows and labels
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

    def label_ids(self, names: Sequence[Any]) -> Ints:
        """Return the number of each label; those that have none are unknown, and get one."""
        ids = numbers_of(names, self.number or {})
        missing = np.flatnonzero(ids < 0)
        ids[missing] = self._unknown_ids([names[place] for place in missing.tolist()])
        return ids

    def _unknown_ids(self, names: Sequence[Any]) -> Ints:
        """Return the number of each unknown label."""
        ids, unknown = numbers_of(names, self.unknown), self.unknown
        new = [names[place] for place in np.flatnonzero(ids < 0).tolist()]
        unknown.update(zip(new, count(self.n_labels + len(unknown))))
        self.n_bytes += index_bytes(new)
        return numbers_of(names, unknown) if new else ids

    # ---- rows

    def take_truth(self, argument: str, rows: Rows) -> Rows:
        """Return the rows of a truth by number; others are matched with them from now on."""
        return self._placed(argument, rows, *self.add_truth(argument, rows))

    def add_truth(self, argument: str, rows: Rows) -> tuple[Ints, Ints | None]:
        """Return the numbers of labels, and of rows or None for new ones, of a batch of a truth."""
        of_row, keys = None, rows.keys or []
        self.beside, self.by = rows.beside, rows.match
        if rows.keys is None:
            self.n_in_order = (self.n_in_order or 0) + rows.n_rows
        elif rows.is_long or rows.match == BY_KEY:
            if not rows.is_long:
                distinct(argument, keys, rows, self.place)
            new = [key for key in dict.fromkeys(keys) if key not in self.place]
            self.place.update(zip(new, count(len(self.place))))
            self.n_bytes += index_bytes(new)
            if rows.is_long:
                of_row = numbers_of(keys, self.place)
            self.keys = self.keys or []
            self.keys += new
        else:
            self.keys = [*keys]
        labels = self.label_numbers("y_true", argument, rows)[0]
        self.n_labels = max(self.n_labels, len(self.number or ()))
        return labels, of_row

    def take(self, role: str, argument: str, rows: Rows) -> Rows:
        """Return rows in the order of the truth's, and their labels by number.

        ``role`` is the argument of `xmleval.evaluate` that they are, ``argument`` what messages call them.
        """
        matching = Matching(self, role, argument)
        numbers = matching.take(rows)
        matching.close()
        return self._placed(argument, *numbers)

    def row_numbers(self, role: str, argument: str, rows: Any) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for the same rows in the same order."""
        matching = Matching(self, role, argument)
        of_row = matching.row_numbers(rows)
        matching.close()
        return of_row

    @property
    def n_rows(self) -> int:
        """Number of rows of a truth."""
        return self.n_in_order or 0 if self.keys is None else len(self.keys)

    @cached
    def place(self) -> dict[Any, int]:
        """Number of each row by its name; rows without names are called by their numbers."""
        keys = map(str, range(self.n_in_order or 0)) if self.keys is None else self.keys
        return dict(zip(keys, count()))

    @cached
    def are_numbers(self) -> bool:
        """Whether the rows are called by their numbers."""
        return self.keys == [*map(str, range(len(self.keys or ())))]

    def by_index(self, argument: str, keys: Sequence[Any]) -> Ints:
        """Return the truth's number of each row, all of which both must have."""
        true_keys = self.keys or []
        place, number = distinct(argument, keys), distinct(self.truth, true_keys)
        for side, among, where in ((true_keys, place, "has no row"), (keys, number, "has a row more,")):
            missing = next((key for key in side if key not in among), None)
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
        cells = row * (int(labels.max(initial=0)) + 1) + labels  # fewer than 2^63 for what fits in memory
        if (np.diff(np.sort(cells)) == 0).any():
            order = np.argsort(cells, kind="stable")
            raise label_twice(argument, rows, int(order[1:][np.diff(cells[order]) == 0].min()))
        if of_row is not None:
            if (np.diff(of_row) < 0).any():
                order = np.argsort(of_row, kind="stable")
                sizes, starts = sizes[order], ptr[:-1][order]
                places = np.arange(row.size) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
                row, labels, values = row[places], labels[places], None if values is None else values[places]
            ptr = pointer(np.bincount(row, minlength=self.n_rows))
        return rows._replace(
            keys=None, match=None, ptr=ptr, labels=labels, names=None, values=values, places=None
        )

    # ---- labels

    def label_numbers(self, role: str, argument: str, rows: Rows) -> tuple[Ints, Ints]:
        """Return the number of the label of each entry, and of unknown labels in order of appearance."""
        number = self.number
        if number is None:
            if rows.named and rows.labels.size:
                which = "; give ", Keyword("labels"), ", the name of each column"
                message = f"names its labels, which {self.truth} has by number"
                raise InputError(argument, Message(message, *which))
            return rows.labels, NO_IDS
        names, labels = rows.names, rows.labels
        if names is None:
            if isinstance(next(iter(number), 0), str) and labels.size:
                if self.closed:
                    return labels, NO_IDS
                which = "; give ", Keyword("labels"), ", the name of each"
                message = f"has integer ids of labels, which {self.truth} names"
                raise InputError(argument, Message(message, *which))
            ids, labels = np.unique(labels, return_inverse=True)
            names = ids.tolist()
        codes = numbers_of(names, number)
        if codes.size and codes.min() >= 0:
            return codes[labels], NO_IDS
        first = first_places(labels, len(names))
        unknown = np.flatnonzero((codes < 0) & (first < labels.size))
        if not unknown.size:
            return codes[labels], NO_IDS
        unknown = unknown[np.argsort(first[unknown])]
        new = [names[code] for code in unknown.tolist()]
        if role == "y_true" and not self.closed:
            codes[unknown] = len(number) + np.arange(len(new))
            number.update(zip(new, codes[unknown].tolist(), strict=True))
            self.n_bytes += index_bytes(new)
        elif self.listed and (self.fits or role == "y_true"):
            raise self._unlisted(argument, rows, len(new), int(first[unknown[0]]))
        else:
            codes[unknown] = self._unknown_ids(new)
        return codes[labels], codes[unknown]

    def _unlisted(self, argument: str, rows: Rows, n_unlisted: int, entry: int) -> InputError:
        label = rows.label(entry)
        message = f"label {label!r} is not one of the {self.n_labels} given ones; "
        more = f" must name {counted(n_unlisted, 'labels')} more"
        return rows.error(argument, Message(message, Keyword("labels"), more), rows.row_of(entry), label)


class Matching:
    """Rows of an input, matched batch by batch with those of a truth; `close` it behind the last one.

    ``role`` is the argument of `xmleval.evaluate` that they are, ``argument`` what messages call them.
    """

    def __init__(self, match: Match, role: str, argument: str) -> None:
        self.match, self.role, self.argument = match, role, argument
        self.rows: Any = None  # the last ones
        self.n_rows = 0
        self._first_new = match.n_labels + len(match.unknown)  # unknown labels from it upward are new in it
        self._first_unknown: int | None = None
        self._shared = set[int]()
        self._present: NDArray[np.bool_] | None = None  # which rows of the truth are there, if they have keys
        self._ignored: dict[Any, None] = {}
        self._keys = ("", "")  # the first one, and that of the truth
        self._expected: int | None = None  # rows

    def take(self, rows: Rows) -> tuple[Rows, Ints, Ints | None]:
        """Return rows without those that the truth does not have, and the numbers of labels and of rows."""
        match, of_row = self.match, self.row_numbers(rows)
        if of_row is not None:
            kept = np.repeat(of_row >= 0, np.diff(rows.ptr))
            match.n_unmatched_pairs += kept.size - int(kept.sum()) if self.role == "exclude" else 0
            rows = rows.only(kept)
        labels, unknown = match.label_numbers(self.role, self.argument, rows)
        if unknown.size:
            self._first_unknown = int(unknown[0]) if self._first_unknown is None else self._first_unknown
            self._shared.update(unknown[unknown < self._first_new].tolist())
        return rows, labels, of_row

    def row_numbers(self, rows: Any) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for rows in order."""
        match, argument = self.match, self.argument
        keys, by = (None, None) if rows is None else (rows.keys, rows.match)
        self.rows, self.n_rows = rows, self.n_rows + (0 if rows is None else rows.n_rows)
        if BY_KEY not in (by, match.by):
            if match.keys is None:
                refuse_order(argument, keys, match.truth)
            if keys is None:
                refuse_order(match.truth, match.keys, argument)
                if getattr(rows, "places", None) is not None:  # rows of objects are checked with their shapes
                    self._expected = match.n_in_order
            if keys is None or match.keys is None or keys == match.keys:
                return None
            return match.by_index(argument, keys)
        if keys is None and match.keys is not None and match.are_numbers:
            self._expected = len(match.keys)
            return None
        by_number = match.keys is None and match.n_in_order is not None
        if keys is None or (match.keys is None and not (by_number and {*keys}.issubset(match.place))):
            named, other = (argument, match.truth) if match.keys is None else (match.truth, argument)
            message = f"rows of {named} have names and those of {other} have none; give ids to both"
            if match.n_in_order:
                message += f", or call rows by their numbers, 0 to {match.n_in_order - 1}"
            raise InputError(argument, message)
        return self._by_key(keys)

    def _by_key(self, keys: Sequence[Any]) -> Ints:
        match, rows, place = self.match, self.rows, self.match.place
        of_row = numbers_of(keys, place)
        if self._present is None:
            self._present = np.zeros(len(place), np.bool_)
            self._keys = next(iter(keys), ""), next(iter(place), "")
        ignored = [keys[row] for row in np.flatnonzero(of_row < 0).tolist()]
        if not getattr(rows, "is_long", False):
            distinct(self.argument, keys, rows, self._ignored)
            if self._present[of_row[of_row >= 0]].any():
                before = [key for key in keys if key in place and self._present[place[key]]]
                distinct(self.argument, keys, rows, before)
        self._present[of_row[of_row >= 0]] = True
        new = dict.fromkeys(key for key in ignored if key not in self._ignored)
        self._ignored |= new
        match.n_bytes += index_bytes(new)
        return of_row

    def close(self) -> None:
        """Note what all rows tell, or refuse it."""
        match, argument, rows = self.match, self.argument, self.rows
        if self._present is None:
            self._refuse_other_order()
            if None not in (self._expected, rows) and self.n_rows != self._expected:
                message = f"{counted(self.n_rows, *NO_MATCH)} the {self._expected} of {match.truth}"
                raise InputError(argument, message)
        else:
            self._note_rows(int(self._present.size - self._present.sum()))
        if self._first_unknown is not None and self.role in PREDICTIONS and not match.fits:
            example = next(islice(match.unknown, self._first_unknown - match.n_labels, None))
            n_unknown = match.n_labels + len(match.unknown) - self._first_new + len(self._shared)
            match.note(argument, "unknown labels", n_unknown, repr(example))

    def _refuse_other_order(self) -> None:
        """Refuse rows in order where another column has the truth's values, each once, in another order."""
        beside, truth = getattr(self.rows, "beside", None), self.match.beside
        if beside is None or truth is None or BY_KEY in (self.rows.match, self.match.by):
            return
        column = beside.in_other_order(truth)
        if column is not None:
            message = f"column {column!r} has the values of {self.match.truth}'s in another order"
            raise InputError(self.argument, f"{message}; {beside.how_to_join.format(column)}")

    def _note_rows(self, n_empty: int) -> None:
        match, argument, present = self.match, self.argument, self._present
        assert present is not None
        key, true_key = self._keys
        if n_empty == present.size and self.n_rows and present.size and self.role != "exclude":
            message = f"no row is one of {match.truth}, as {key!r} is not; expected names like"
            raise InputError(argument, f"{message} {true_key!r}")
        if n_empty and not isinstance(self.rows, Rows):  # a matrix
            missing = [*match.place][int(present.argmin())]
            raise InputError(argument, f"no row {missing!r}, which {match.truth} has")
        if self.role in PREDICTIONS:
            match.note(argument, "rows without predictions", n_empty)
            match.note(argument, "ignored rows", len(self._ignored))
        if self.role == "candidates":
            match.note(argument, "rows without candidates", n_empty)


class Joined(NamedTuple):
    """Rows of several models by number, the names of their labels, and of rows, None for the same order."""

    scores: list[Rows]
    label_names: list[Any]
    row_names: list[Any] | None


def join_models(models: Sequence[tuple[str, Rows]], first: Sequence[Any] = ()) -> Joined:
    """Match several models, by what messages call them, with one another.

    Rows are numbered as they are first mentioned; a model lists nothing in rows that it does not have. Labels
    are those of ``first``, then the rest, sorted so that of equal scores the later name is first.
    """
    name, rows = models[0]
    for model, model_rows in models:
        if (model_rows.keys is None) != (rows.keys is None):
            less, more = (model, name) if model_rows.keys is None else (name, model)
            raise InputError(less, f"its rows have no names, which those of {more} have")
        if model_rows.labels.size and rows.labels.size and (model_rows.names is None) != (rows.names is None):
            raise InputError(model, f"its labels are {_kind(model_rows)}, and those of {name} {_kind(rows)}")
        if model_rows.keys is None and model_rows.n_rows != rows.n_rows:
            raise InputError(model, f"{counted(model_rows.n_rows, *NO_MATCH)} the {rows.n_rows} of {name}")
        if model_rows.keys and rows.keys and {*model_rows.keys}.isdisjoint(rows.keys):
            message = f"no row is one of {name}, as {model_rows.keys[0]!r} is not"
            raise InputError(model, f"{message}; expected names like {rows.keys[0]!r}")
    labels = (
        np.unique(model_rows.labels).tolist() if model_rows.names is None else model_rows.names
        for _, model_rows in models
    )
    new = {*chain.from_iterable(labels)}.difference(first)
    names = [*first, *sorted(new, reverse=any(isinstance(label, str) for label in new))]
    if not names:
        raise InputError("predictions", "none of them lists a label")
    every_key = dict.fromkeys(chain.from_iterable(model_rows.keys or () for _, model_rows in models))
    keys = None if rows.keys is None else [*every_key]
    match = Match(name, names, listed=True, keys=keys, by=None if keys is None else BY_KEY)
    scores = [match.take("y_score", model, model_rows) for model, model_rows in models]
    return Joined(scores, names, keys)


def _kind(rows: Rows) -> str:
    return "integers" if rows.names is None else "text"


def numbers_of(names: Sequence[Any], number: dict[Any, int]) -> Ints:
    """Return the number of each name, -1 where it has none."""
    return np.fromiter(map(number.get, names, repeat(-1)), np.int64, len(names))


def label_twice(argument: str, rows: Rows, entry: int) -> InputError:
    """Return what to raise about the second entry of a label in a row."""
    label, of_row = rows.label(entry), rows.row_of(entry)
    where = f" for {rows.keys[of_row]!r}" if rows.is_long and rows.keys else ""
    message = f"label {label!r} occurs twice{where}; expected each label once in a row"
    return rows.error(argument, message, of_row, label)


def distinct(
    argument: str, keys: Sequence[Any], rows: Any = None, before: Container[Any] = ()
) -> dict[Any, int]:
    """Return the place of each key, or refuse one that two rows have, or a row ``before`` these."""
    place = dict(zip(keys, range(len(keys)), strict=True))
    if len(place) < len(keys) or (before and any(key in before for key in place)):
        first: dict[Any, int] = {}
        row = next(row for row, key in enumerate(keys) if first.setdefault(key, row) != row or key in before)
        message = f"two rows are called {keys[row]!r}"
        if isinstance(rows, Rows):
            raise rows.error(argument, message, row, keys[row])
        raise InputError(argument, message, row=row, value=keys[row])
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
    message: list[object] = [f"{seen}; scores go to {where}"]
    message += (
        [" Grades need ", Keyword("gains", "'linear'")] if graded is not None and role == "y_true" else []
    )
    if not bad.size:
        raise InputError(argument, Message(*message))
    raise rows.error(argument, Message(*message), rows.row_of(int(bad[0])))


def as_sets(rows: Rows, graded: bool | None = None) -> Rows:
    """Return matched label sets: those with a positive value, or all with their grades if ``graded``."""
    if rows.values is not None and not graded:
        rows = rows.only(rows.values > 0)._replace(values=None)
    return rows_by_id(rows.ptr, rows.labels, rows.values)


def as_scores(rows: Rows, label_names: list[Any] | None) -> Rows:
    """Return matched scores, best first where there are none.

    With ``label_names``, those of all labels, equal ones stand in the order of names.
    """
    labels, best_first = rows.labels, rows.best_first or rows.values is None
    if rows.values is not None and not best_first and label_names and isinstance(label_names[0], str):
        labels = order_ties(rows.ptr, labels, rows.values, label_names)
    return Rows(None, None, rows.ptr, labels, label_names, rows.values, best_first, is_written=True)


def listed_scores(rows: Rows, label_names: list[Any]) -> Rows:
    """Return matched scores as those of a matrix; without scores, labels have -1, -2 and so on."""
    if rows.values is None:
        values = np.repeat(rows.ptr[:-1], np.diff(rows.ptr)) - np.arange(rows.labels.size) - 1.0
        rows = rows._replace(values=values)
    return as_scores(rows, label_names)._replace(best_first=False)


def score_matrix(rows: Rows, label_names: list[Any]) -> Any:
    """Return `listed_scores` as a sparse array."""
    from xmleval.input.written import NamedScores  # imported here to keep start-up fast

    rows = listed_scores(rows, label_names)
    matrix = NamedScores((rows.values, rows.labels, rows.ptr), shape=(rows.n_rows, len(label_names)))
    matrix.label_names = label_names
    return matrix
