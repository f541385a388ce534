"""The law of names: the rows and labels of an input, by the numbers that those of a truth have."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, count, islice, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance, OverLimitError
from xmleval.cached import cached
from xmleval.input.errors import InputError
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, Rows, index_bytes, rows_by_id, with_one, without_empty_names
from xmleval.input.ties import order_ties
from xmleval.message import NO_MATCH, Keyword, Message, counted
from xmleval.notes import Note
from xmleval.records import Ints

PREDICTIONS = ("y_score", "y_pred")
HELD_SHARE = 8  # one part in so many of the memory holds rows that are matched; the others are spilled
Batches = Callable[[], Iterable[Rows]]  # gives the rows of an input from its beginning


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
        Names of the rows, where these are not those of a truth that is still to be placed.

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
        """Names of all labels by number, of unknown ones, too; none where labels have ids."""
        names = self.label_names
        return [] if self.number is None else [*names, *[""] * (self.n_labels - len(names)), *self.unknown]

    @property
    def n_rows(self) -> int:
        """Number of rows of a truth."""
        return self.n_in_order or 0 if self.keys is None else len(self.keys)

    @property
    def row_names(self) -> Sequence[Any]:
        """Names of the rows; those without are called by their numbers."""
        return RowNumbers(self.n_rows) if self.keys is None else self.keys

    @cached
    def row_number(self) -> dict[Any, int]:
        """Number of each row by its name; rows without names are called by their numbers."""
        return distinct(self.truth, self.row_names)

    @cached
    def are_numbers(self) -> bool:
        """Whether the rows are called by their numbers."""
        return self.keys == [*RowNumbers(self.n_rows)]

    def are_places(self, keys: Sequence[Any]) -> bool:
        """Tell whether keys are the numbers of rows without names."""
        return self.n_in_order is not None and {*keys}.issubset(self.row_number)

    def know_all(self) -> None:
        """Take unknown labels for labels, as where something is fitted."""
        if self.number is not None and self.unknown:
            self.number |= self.unknown
            self.n_labels, self.unknown = max(self.n_labels, len(self.number)), {}

    def label_ids(self, names: Sequence[Any]) -> Ints:
        """Return the number of each label; those that have none are unknown, and get one."""
        ids = numbers_of(names, self.number or {})
        missing = np.flatnonzero(ids < 0)
        ids[missing] = self.add([names[i] for i in missing.tolist()], self.unknown, self.n_labels)
        return ids

    def add(self, names: Sequence[Any], number: dict[Any, int], first: int = 0) -> Ints:
        """Return the number of each name; new ones get the next, of which the least is ``first``."""
        ids = numbers_of(names, number)
        if (missing := np.flatnonzero(ids < 0)).size:
            new = dict.fromkeys(names[i] for i in missing.tolist())
            number.update(zip(new, count(first + len(number))))
            self.n_bytes += index_bytes(new)
            ids = numbers_of(names, number)
        return ids

    def note(self, argument: str, kind: str, n: int, example: str = "") -> None:
        """Add a note on so many rows or labels, if there are any."""
        self.notes += [Note(argument, kind, n, example=example)] * (n > 0)

    def row_numbers(self, role: str, argument: str, rows: Any) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for the same rows in the same order."""
        matching = Matching(self, role, argument)
        of_row = matching.row_numbers(rows)
        matching.close()
        return of_row

    def place(
        self, role: str, argument: str, batches: Batches, allowance: Allowance = UNLIMITED
    ) -> PlacedRows:
        """Return rows in the order of the truth's, and their labels by number.

        ``role`` is the argument of `xmleval.evaluate` that they are, ``argument`` what messages call them.
        Others are matched with the rows of "y_true" from then on.
        """

        def refuse(row: int) -> None:
            """Find the label that stands twice in a row."""
            again, first, labels = Matching(self, role, argument), 0, set[Any]()
            for rows in map(without_empty_names, batches()):
                of_row = again.row_numbers(rows)
                of_row = first + np.arange(rows.n_rows) if of_row is None else of_row
                first += rows.n_rows
                for entry in np.flatnonzero(np.repeat(of_row, np.diff(rows.ptr)) == row).tolist():
                    label, at = rows.label(entry), rows.row_of(entry)
                    if label in labels:
                        where = f" for {rows.keys[at]!r}" if rows.is_long and rows.keys else ""
                        message = f"label {label!r} occurs twice{where}; expected each label once in a row"
                        raise rows.error(argument, message, at, label)
                    labels.add(label)
            raise ValueError(f"{argument}: was changed while it was read")

        matching = Matching(self, role, argument)
        placed = PlacedRows(allowance.left / HELD_SHARE, refuse)
        try:
            for rows in with_one(batches()):
                n_bytes = self.n_bytes
                rows = without_empty_names(rows)
                of_row = matching.row_numbers(rows)
                if of_row is not None:
                    kept = np.repeat(of_row >= 0, np.diff(rows.ptr))
                    self.n_unmatched_pairs += int((~kept).sum()) if role == "exclude" else 0
                    rows = rows.only(kept)
                placed.add(rows, matching.label_numbers(rows), of_row)
                allowance.take(self.n_bytes - n_bytes)
            matching.close()
            placed.close(matching.n_rows if matching.present is None else self.n_rows)
            allowance.take(placed.n_bytes)
        except OverLimitError as error:
            raise ValueError(Message(f"{argument}: ", error.args[0])) from None
        return placed

    def place_rows(self, role: str, argument: str, rows: Rows) -> Rows:
        """Return all rows of an input likewise."""
        return self.place(role, argument, lambda: [rows]).rows()


class RowNumbers(Sequence[str]):
    """Names of rows that have none: their numbers, made where they are asked for."""

    def __init__(self, n_rows: int) -> None:
        self._rows = range(n_rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        """Return the name of a row."""
        return str(self._rows[row])


class Matching:
    """Rows of one input, matched batch by batch with those of a truth; `close` it behind the last one."""

    def __init__(self, match: Match, role: str, argument: str) -> None:
        self.match, self.role, self.argument = match, role, argument
        self.rows: Any = None  # the last ones
        self.n_rows = 0
        self.present: NDArray[np.bool_] | None = None  # which numbers of rows occurred, of rows by key
        self.by_index = False  # whether both must have the same keys
        self._key: Any = ""  # the first one
        self.ignored: dict[Any, int] = {}  # rows that the truth does not have, by the next numbers
        self.unknown: dict[int, None] = {}  # numbers of unknown labels
        self.expected: int | None = None  # rows in order

    def row_numbers(self, rows: Any) -> Ints | None:
        """Return the truth's number of each row, -1 for none; None for rows in order."""
        match, argument = self.match, self.argument
        keys, by = (None, None) if rows is None else (rows.keys, rows.match)
        self.rows, self.n_rows = rows, self.n_rows + (0 if rows is None else rows.n_rows)
        if self.role == "y_true":
            match.beside, match.by = rows.beside, by
            if keys is not None and by == BY_KEY:
                return self._by_key(keys)
            match.keys, match.n_in_order = keys, self.n_rows if keys is None else None
            return None
        if not (is_keyed := BY_KEY in (by, match.by)):
            if match.keys is None:
                refuse_order(argument, keys, match.truth)
            if keys is None:
                refuse_order(match.truth, match.keys, argument)
                self.expected = match.n_in_order
            if keys is None or match.keys is None or keys == match.keys:
                return None
        elif keys is None and match.keys is not None and match.are_numbers:
            self.expected = len(match.keys)
            return None
        elif keys is None or (match.keys is None and not match.are_places(keys)):
            named, other = (argument, match.truth) if match.keys is None else (match.truth, argument)
            message = f"rows of {named} have names and those of {other} have none; give ids to both"
            if match.n_in_order:
                message += f", or call rows by their numbers, 0 to {match.n_in_order - 1}"
            raise InputError(argument, message)
        self.by_index = not is_keyed
        return self._by_key(keys)

    def _by_key(self, keys: Sequence[Any]) -> Ints:
        """Return the number of each row; a key may stand in several rows of one label each."""
        match, is_truth = self.match, self.role == "y_true"
        n_rows = 0 if is_truth else len(match.row_number)
        of_row = match.add(keys, match.row_number) if is_truth else numbers_of(keys, match.row_number)
        ignored = np.flatnonzero(of_row < 0)
        of_row[ignored] = match.add([keys[row] for row in ignored.tolist()], self.ignored, n_rows)
        if self.present is None:
            self.present = np.zeros(n_rows, np.bool_)
            self._key = next(iter(keys), "")
        if (n_numbers := int(of_row.max(initial=-1)) + 1) > self.present.size:
            self.present.resize(2 * n_numbers, refcheck=False)
        if not getattr(self.rows, "is_long", False):
            before = self.present[of_row]
            if before.any() or np.unique(of_row).size < of_row.size:
                distinct(self.argument, keys, self.rows, {keys[i] for i in np.flatnonzero(before).tolist()})
        self.present[of_row] = True
        of_row[ignored] = -1
        return of_row

    def label_numbers(self, rows: Rows) -> Ints:
        """Return the number of the label of each entry."""
        match, argument, number = self.match, self.argument, self.match.number
        if number is None:
            if rows.named and rows.labels.size:
                which = "; give ", Keyword("labels"), ", the name of each column"
                message = f"names its labels, which {match.truth} has by number"
                raise InputError(argument, Message(message, *which))
            return rows.labels
        names, labels = rows.names, rows.labels
        if names is None:
            if isinstance(next(iter(number), 0), str) and labels.size:
                if match.closed:
                    return labels
                which = "; give ", Keyword("labels"), ", the name of each"
                message = f"has integer ids of labels, which {match.truth} names"
                raise InputError(argument, Message(message, *which))
            ids, labels = np.unique(labels, return_inverse=True)
            names = ids.tolist()
        codes = numbers_of(names, number)
        if codes.min(initial=0) >= 0:
            return codes[labels]
        first = np.full(len(names), labels.size)
        first[labels[::-1]] = np.arange(labels.size)[::-1]  # of assignments to one place, the last holds
        new = np.flatnonzero((codes < 0) & (first < labels.size))
        new = new[np.argsort(first[new])]
        new_names = [names[code] for code in new.tolist()]
        is_truth = self.role == "y_true"
        if is_truth and not match.closed:
            codes[new] = match.add(new_names, number)
            match.n_labels = max(match.n_labels, len(number))
        elif new_names and match.listed and (match.fits or is_truth):
            message = f"label {new_names[0]!r} is not one of the {match.n_labels} given ones; "
            more = Keyword("labels"), f" must name {counted(len(new_names), 'labels')} more"
            row = rows.row_of(int(first[new[0]]))
            raise rows.error(argument, Message(message, *more), row, new_names[0])
        else:
            codes[new] = match.add(new_names, match.unknown, match.n_labels)
            self.unknown |= dict.fromkeys(codes[new].tolist())
        return codes[labels]

    def close(self) -> None:
        """Note what all rows tell, or refuse it."""
        match, argument = self.match, self.argument
        if self.role == "y_true":
            match.keys = match.keys if self.present is None else [*match.row_number]
            return
        if self.present is not None:
            self._note_rows(self.present[: len(match.row_number)], self._key)
        elif self.rows is not None:
            self._refuse_other_order()
            if self.expected not in (None, self.n_rows):
                message = f"{counted(self.n_rows, *NO_MATCH)} the {self.expected} of {match.truth}"
                raise InputError(argument, message)
        if self.unknown and self.role in PREDICTIONS and not match.fits:
            example = next(islice(match.unknown, next(iter(self.unknown)) - match.n_labels, None))
            match.note(argument, "unknown labels", len(self.unknown), repr(example))

    def _refuse_other_order(self) -> None:
        """Refuse rows in order where another column has the truth's values, each once, in another order."""
        beside, truth = self.rows.beside, self.match.beside
        if beside is None or truth is None or BY_KEY in (self.rows.match, self.match.by):
            return
        if (column := beside.in_other_order(truth)) is not None:
            message = f"column {column!r} has the values of {self.match.truth}'s in another order"
            raise InputError(self.argument, f"{message}; {beside.how_to_join.format(column)}")

    def _note_rows(self, present: NDArray[np.bool_], key: Any) -> None:
        match, argument, n_empty = self.match, self.argument, int((~present).sum())
        missing = [*match.row_number][int(present.argmin())] if n_empty else None
        if self.by_index:
            if n_empty or self.ignored:
                where = "has no row" if n_empty else "has a row more,"
                key = missing if n_empty else next(iter(self.ignored))
                raise InputError(
                    argument,
                    f"the index {where} {key!r} compared to {match.truth}; where the order is the same, "
                    f"give {argument}.reset_index(drop=True) and {match.truth}.reset_index(drop=True)",
                )
            match.notes.append(f"{argument}: rows were brought in the order of {match.truth}'s index")
            return
        if n_empty == present.size and self.n_rows and present.size and self.role != "exclude":
            message = f"no row is one of {match.truth}, as {key!r} is not; expected names like"
            raise InputError(argument, f"{message} {next(iter(match.row_number))!r}")
        if n_empty and not isinstance(self.rows, Rows):  # a matrix
            raise InputError(argument, f"no row {missing!r}, which {match.truth} has")
        if self.role in PREDICTIONS:
            match.note(argument, "rows without predictions", n_empty)
            match.note(argument, "ignored rows", len(self.ignored))
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
    keys = None if rows.keys is None else [*(dict.fromkeys(rows.keys) if rows.is_long else rows.keys)]
    by, n_in_order = (None, rows.n_rows) if keys is None else (BY_KEY, None)
    match = Match(name, None, keys=keys, by=by)
    match.n_in_order = n_in_order
    for model, other in models[1:]:
        match.row_numbers("y_score", model, other)
        if other.labels.size and rows.labels.size and (other.names is None) != (rows.names is None):
            kinds = ("text", "integers") if other.names is None else ("integers", "text")
            raise InputError(model, f"its labels are {kinds[1]}, and those of {name} {kinds[0]}")
    ids_or_names = [np.unique(r.labels).tolist() if r.names is None else r.names for _, r in models]
    new = {*chain.from_iterable(ids_or_names)}.difference(first)
    names = [*first, *sorted(new, reverse=any(isinstance(label, str) for label in new))]
    if not names:
        raise InputError("predictions", "none of them lists a label")
    keys = [*dict.fromkeys(chain.from_iterable(r.keys or () for _, r in models))] if by else None
    match = Match(name, names, listed=True, keys=keys, by=by)
    match.n_in_order = n_in_order
    return Joined([match.place_rows("y_score", *model) for model in models], names, keys)


def numbers_of(names: Sequence[Any], number: dict[Any, int]) -> Ints:
    """Return the number of each name, -1 where it has none."""
    return np.fromiter(map(number.get, names, repeat(-1)), np.int64, len(names))


def distinct(
    argument: str, keys: Sequence[Any], rows: Any = None, before: Collection[Any] = ()
) -> dict[Any, int]:
    """Return the place of each key, or refuse one that two rows have, or a row ``before`` these."""
    place = dict(zip(keys, count()))
    if before or len(place) < len(keys):
        first: dict[Any, int] = dict.fromkeys(before, -1)
        row = next(row for row, key in enumerate(keys) if first.setdefault(key, row) != row)
        message = f"two rows are called {keys[row]!r}"
        if isinstance(rows, Rows):
            raise rows.error(argument, message, row, keys[row])
        raise InputError(argument, message, row=row, value=keys[row])
    return place


def refuse_order(argument: str, keys: Sequence[Any] | None, other: str) -> None:
    """Refuse an index that numbers the rows in another order, where another argument has no index."""
    if keys is not None and (numbers := as_numbers(keys)) is not None and (np.diff(numbers) < 0).any():
        wrong = f"its index has the numbers of the rows in another order, and {other} has no index"
        hint = "sort_index() or reset_index(drop=True) says which rows are meant"
        raise InputError(argument, f"{wrong}; {hint}")


def as_numbers(names: Sequence[Any]) -> Ints | None:
    """Return names as numbers, if they are 0, 1, .. in any order; some frames have only texts as names."""
    if names == [*range(len(names))]:
        return np.arange(len(names))
    number_of = {str(number): number for number in range(len(names))}
    numbers = [number_of.pop(str(name), -1) for name in names]
    return None if number_of else np.array(numbers, np.int64)


def refuse_scores(argument: str, rows: Rows, graded: bool | None) -> None:
    """Refuse values of label sets that can be no judgements, unless they are grades of a truth.

    ``graded`` is None where grades cannot be asked for.
    """
    is_truth = argument == "y_true"
    if rows.values is None or (graded and is_truth):
        return
    bad = np.flatnonzero(rows.values != np.floor(rows.values))
    if not bad.size and not rows.best_first:
        return
    seen = f"value {rows.values[bad[0]]} is no judgement, an integer" if bad.size else "labels have scores"
    where = "y_score" if argument == "y_pred" else "y_score; are the truth and the scores swapped?"
    grades = [" Grades need ", Keyword("gains", "'linear'")] if is_truth and graded is not None else []
    message = Message(f"{seen}; scores go to {where}", *grades)
    if bad.size:
        raise rows.error(argument, message, rows.row_of(int(bad[0])))
    raise InputError(argument, message)


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
