"""Match the rows and labels of an input with those of a truth, and number both."""

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
from xmleval.base.errors import (
    Field,
    InputError,
    Keyword,
    Message,
    ScanField,
    counted,
    other_rows,
    shown,
)
from xmleval.base.notes import Note
from xmleval.input.cell_marks import PAIRS_OF_ROWS
from xmleval.input.columns import is_other_order
from xmleval.input.csr import check_shape
from xmleval.input.matched_rows import PlacedRows
from xmleval.input.names import NameTable, TableNames
from xmleval.input.numbered_labels import LabelCounter
from xmleval.input.pieces import Pieces
from xmleval.input.plausibility import similar_names
from xmleval.input.rows import (
    BY_KEY,
    INDEX_BYTES,
    LabelNames,
    Origin,
    Rows,
    called_like,
    no_labels,
    numbered,
    order_ties,
)

PREDICTIONS = ("y_score", "y_pred")
# matched rows use at most one part in so many of the memory; further ones are spilled
MATCHED_SHARE = 8
SHOWN_COLUMNS = 3  # in a note
IN_ORDER = "columns were sorted by their numbers"
LEFT_OUT = "column {} is ignored, as {} no ids of rows; rows are matched in order"
BY_POSITION = "labels were read by position, as {} has no names of labels"
SAME_ORDER = "; if both have the same order, give {}.to_numpy()"
SAME_NAMES = "; if it is the same label, call its column alike in both"
SAME_ROWS = "; if both have the same order, call reset_index(drop=True) on both"
Batches = Callable[[], Iterable[Rows]]  # yields the rows of an input from the beginning


class Match:
    """Numbers of the rows and labels of a truth, and notes on the inputs matched with it.

    truth : name of the truth in messages
    names : label names that get the first numbers; None if labels are ids
    listed : whether the caller listed all labels, so that the truth can have no other
    fits : whether something is fitted, which needs all labels: they are listed, or unknown labels
        become labels
    keys, by, n_rows : keys of the rows, how rows are matched, and number of rows, unless a truth
        is still to be placed
    number : label number by name, for the listed labels or those of the truth; does not grow after
        the truth
    unknown : number of each label that only other inputs name, from ``n_labels`` upward
    n_nodes, nodes_named : how many of the first unknown labels are nodes of a hierarchy, and the
        numbers of those that occur in an input
    closed : whether all labels were known before the rows
    higher_is_better : whether the highest of several scores of a label is the best, as of several
        judgements
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
        self.truth = truth
        self.keys = keys
        self.by = by
        self.n_rows = n_rows if keys is None else len(keys)
        self.number: dict[Any, int] | None = None
        if names is not None:
            self.number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        self.n_labels = len(self.number or ())
        self.listed = listed
        self.fits = fits
        self.closed = bool(self.number)
        self.unknown: dict[Any, int] = {}
        self.n_nodes = 0
        self.nodes_named = set[int]()
        self.notes: list[str] = []
        self.n_unmatched_pairs = 0
        self.n_bytes = 0  # of names of rows and labels
        self.origin: Origin | None = None
        self.higher_is_better = True
        self.of_file = False  # whether the truth is read from a file
        self.names_labels = False  # whether the truth has rows whose labels have names

    def fork(self) -> Match:
        """Return a copy for another model: the same labels, its own unknown labels, no notes."""
        copied = copy.copy(self)
        copied.unknown = dict(self.unknown)
        copied.notes = list[str]()
        copied.nodes_named = set(self.nodes_named)
        return copied

    def add_nodes(self, nodes: Collection[Any]) -> None:
        """Add the nodes of a hierarchy as unknown labels, once the labels are known."""
        if self.number is not None and nodes:
            names = nodes_without_labels(nodes, self.number)
            self.unknown = {name: self.n_labels + place for place, name in enumerate(names)}
            self.n_nodes = len(self.unknown)

    @property
    def are_texts(self) -> bool:
        """Whether labels have names that are texts."""
        return isinstance(next(iter(self.number or ()), None), str)

    @property
    def unknown_names(self) -> list[Any]:
        """Names of the unknown labels that occur in inputs, by number."""
        end = self.n_labels + self.n_nodes
        return [name for name, n in self.unknown.items() if n >= end or n in self.nodes_named]

    @property
    def label_names(self) -> list[Any]:
        """Names of the labels by number."""
        return [*(self.number or ())]

    @property
    def names(self) -> list[Any]:
        """Names of all labels by number, then those of unknown labels; empty if labels are ids."""
        if self.number is None:
            return []
        names = self.label_names
        nameless = [""] * (self.n_labels - len(names))
        return [*names, *nameless, *self.unknown]

    @property
    def row_names(self) -> Sequence[Any]:
        """Keys of the rows; the text of its number for a row without key."""
        if self.keys is not None:
            return self.keys
        return [*map(str, range(self.n_rows or 0))]

    @cached
    def row_number(self) -> dict[Any, int]:
        """Number by key of the rows; a row without key has the text of its number."""
        return distinct(self.truth, self.row_names)

    @cached
    def are_numbers(self) -> bool:
        """Whether the keys of the rows are their numbers, as text or as integers."""
        keys: list[Any] = [*range(self.n_rows or 0)]
        return self.keys in (keys, [*map(str, keys)])

    def know_all(self) -> None:
        """Turn unknown labels into labels, as fitting needs."""
        if self.number is not None and self.unknown:
            self.number |= self.unknown
            self.n_labels = max(self.n_labels, len(self.number))
            self.unknown = {}

    def _add(
        self, names: Sequence[Any], number: dict[Any, int], added: dict[Any, int], first: int
    ) -> Ints:
        """Return the numbers of names, after adding new ones to ``added``, from ``first`` on."""
        ids = numbers_of(names, number)
        missing = np.flatnonzero(ids < 0)
        if missing.size:
            places, distinct_names = numbered([names[i] for i in missing.tolist()])
            ids[missing] = self._add_distinct(distinct_names, added, first)[places]
        return ids

    def _add_labels(
        self, names: Sequence[Any], new_names: list[Any], added: dict[Any, int], first: int
    ) -> Ints:
        """Return numbers for new names, which may repeat unless ``names`` are those of a table."""
        if isinstance(names, TableNames):
            return self._add_distinct(new_names, added, first)
        places, distinct_names = numbered(new_names)
        return self._add_distinct(distinct_names, added, first)[places]

    def _add_distinct(self, names: Sequence[Any], added: dict[Any, int], first: int) -> Ints:
        """Return the numbers in ``added`` of distinct names, after adding new ones."""
        ids = numbers_of(names, added)
        missing = np.flatnonzero(ids < 0)
        start = first + len(added)
        new_names = names
        if missing.size < len(names):
            new_names = [names[i] for i in missing.tolist()]
        added.update(zip(new_names, count(start)))
        ids[missing] = np.arange(start, start + missing.size)
        self.n_bytes += INDEX_BYTES * missing.size + sum(map(sys.getsizeof, new_names))
        if self.n_nodes and added is self.unknown:
            end = self.n_labels + self.n_nodes
            self.nodes_named.update(ids[(ids >= self.n_labels) & (ids < end)].tolist())
        return ids

    def note(self, argument: str, kind: str, n: int, example: str = "") -> None:
        """Add a note on ``n`` rows or labels, if there are any."""
        if n > 0:
            self.notes.append(Note(argument, kind, n, example=example))

    def row_numbers(self, role: str, argument: str, rows: Rows | None) -> Ints | None:
        """Return the truth's number by row, -1 for ignored rows; None if rows are in order."""
        progress = MatchProgress(role, argument)
        numbers = self._number_rows(progress, rows)
        self._finish(progress)
        return numbers

    def place(self, role: str, argument: str, batches: Batches) -> PlacedRows:
        """Return the rows of an input in the order of the truth's, with their labels by number.

        ``role`` is the argument of `xmleval.evaluate` that the input is, ``argument`` its name in
        messages.
        """
        progress = MatchProgress(role, argument)
        batch_iterator = iter(batches())
        first = next(batch_iterator, None)
        if first is None:
            first = no_labels(0)._replace(keys=[], match=BY_KEY, origin=Origin())
        is_predicted = progress.role in PREDICTIONS
        limit = memory_limit().left / MATCHED_SHARE
        placed = PlacedRows(argument, limit, self._names_of_cell, is_predicted)
        for rows in map(Rows.without_empty_names, chain([first], batch_iterator)):
            self._place_batch(progress, rows, placed)
        self._finish(progress)
        n_rows = progress.n_rows
        if progress.present is not None:
            n_rows = self.n_rows or 0
        placed.close(n_rows, lowest=not self.higher_is_better)
        self.note(argument, "repeated labels", placed.n_repeated)
        memory_limit().take(placed.n_bytes, f"{argument}: ")
        return placed

    def _place_batch(self, progress: MatchProgress, rows: Rows, placed: PlacedRows) -> None:
        """Add a batch to the placed rows, without the rows that the truth does not have."""
        n_bytes = self.n_bytes
        numbers = self._number_rows(progress, rows)
        if numbers is not None:
            kept = np.repeat(numbers >= 0, np.diff(rows.ptr))
            if progress.role == "exclude":
                self.n_unmatched_pairs += int((~kept).sum())
            rows = rows.only(kept)
        placed.add(rows, self._number_labels(progress, rows), numbers)
        memory_limit().take(self.n_bytes - n_bytes, f"{progress.argument}: ")

    def place_rows(self, role: str, argument: str, rows: Rows) -> Rows:
        """Return all rows of an input in the order of the truth's, with their labels by number."""
        if not rows.is_matrix:
            return self.place(role, argument, lambda: [rows]).rows()
        in_order = rows.in_order(self.row_numbers(role, argument, rows))
        return in_order._replace(keys=None, match=None, labels=self._number_columns(argument, rows))

    def _names_of_cell(self, row: int, label: int) -> tuple[Any, Any]:
        """Return the key of a row and the name of a label by number."""
        key = [*self.row_number][row]
        if self.number is None:
            return key, label
        return key, self.names[label]

    def _number_rows(self, progress: MatchProgress, rows: Rows | None) -> Ints | None:
        """Return the truth's number by row, -1 for ignored rows; None if rows are in order."""
        keys = None
        match_by = None
        if rows is not None:
            progress.rows = rows
            progress.n_rows += rows.n_rows
            match_by = rows.match
            keys = _as_list(rows.keys)
            if progress.role == "y_true":
                return self._number_true_rows(progress, rows, keys)
            if rows.are_columns:
                self._refuse_ids_as_labels(progress.argument, rows)
        self._refuse_rows_without_names(progress, keys)
        if BY_KEY not in (match_by, self.by):
            return self._number_rows_by_index(progress, keys)
        if keys is None and self.are_numbers:
            return None
        if keys is not None and self.keys is None and _are_integers(keys):
            keys = [*map(str, keys)]
        if keys is None or (self.keys is None and {*keys} - self.row_number.keys()):
            raise self._error_without_keys(progress.argument)
        if self.keys is not None:
            keys = called_like(self.keys, keys)
        return self._number_keys(progress, keys)

    @property
    def numbers_rows(self) -> bool:
        """Whether the rows of the truth have no names, as groups that are given by their sizes."""
        return _numbers_rows(self.counter)

    @property
    def counter(self) -> LabelCounter | None:
        """What numbered the labels of the truth, None if these have names or ids."""
        return None if self.origin is None else self.origin.counter

    def _refuse_rows_without_names(self, progress: MatchProgress, keys: list[Any] | None) -> None:
        """Refuse groups given by their sizes on one side, where rows have names on the other."""
        numbers_rows = _numbers_rows(progress.counter)
        true_numbers_rows = self.numbers_rows
        if numbers_rows == true_numbers_rows:
            return
        names = self.keys if numbers_rows else keys
        match_by = self.by if numbers_rows or progress.rows is None else progress.rows.match
        if names is None or (match_by != BY_KEY and names == [*range(len(names))]):
            return
        groups = progress.argument
        named = self.truth
        if true_numbers_rows:
            groups = self.truth
            named = progress.argument
        text = f"rows of {named} have names, but groups by sizes in {groups} have none"
        raise InputError(progress.argument, f"{text}; give qid= to both")

    def _number_rows_by_index(self, progress: MatchProgress, keys: list[Any] | None) -> Ints | None:
        """Return the truth's number by row of a frame; None if rows are in order."""
        refuse_order({progress.argument: keys, self.truth: self.keys})
        if keys is None or self.keys is None or keys == self.keys:
            return None
        progress.by_index = True
        return self._number_keys(progress, keys)

    def _error_without_keys(self, argument: str) -> InputError:
        """Return the error for rows that have keys on one side only."""
        with_names = self.truth
        without = argument
        hint = ""
        if self.keys is None:
            with_names = argument
            without = self.truth
            if self.n_rows:
                hint = f", or use the numbers of rows, 0 to {self.n_rows - 1}, as keys"
        message = (
            f"rows of {with_names} have keys, but those of {without} have none; "
            f"give keys to both{hint}"
        )
        return InputError(argument, message)

    def _number_true_rows(
        self, progress: MatchProgress, rows: Rows, keys: list[Any] | None
    ) -> Ints | None:
        """Return the numbers of rows of the truth; None if rows are in order."""
        self.origin = rows.origin
        self.by = rows.match
        self.of_file = rows.places is not None
        self.names_labels |= self._has_names(rows)
        if keys is not None and rows.match == BY_KEY:
            return self._number_keys(progress, keys)
        self.keys = keys
        self.n_rows = progress.n_rows
        return None

    def _number_keys(self, progress: MatchProgress, keys: Sequence[Any]) -> Ints:
        """Return the truth's number for each key, -1 for ignored rows."""
        row_number = self.row_number
        if progress.role == "y_true":
            numbers = self._add(keys, row_number, row_number, 0)
        else:
            numbers = self._add(keys, row_number, progress.ignored, len(row_number))
        progress.refuse_other_file(numbers)
        if progress.present is None:
            progress.present = np.zeros(len(row_number), np.bool_)
        n_numbers = int(numbers.max(initial=-1)) + 1
        if n_numbers > progress.present.size:
            progress.present.resize(2 * n_numbers, refcheck=False)
        # in long rows, a key may occur in several rows of one label each
        if not getattr(progress.rows, "is_long", False):
            is_repeated = progress.present[numbers]
            if is_repeated.any() or np.unique(numbers).size < numbers.size:
                earlier_keys = {keys[i] for i in np.flatnonzero(is_repeated).tolist()}
                distinct(progress.argument, keys, progress.rows, earlier_keys)
        progress.present[numbers] = True
        return np.where(numbers < len(row_number), numbers, -1)

    def _number_labels(self, progress: MatchProgress, rows: Rows) -> Ints:
        """Return label numbers by entry."""
        number = self.number
        names = rows.names
        labels = rows.labels
        if rows.are_columns:
            if progress.columns is not rows.names:  # the same in all batches of a file
                progress.columns = rows.names
                progress.column_numbers = self._number_columns(progress.argument, rows)
            return progress.column_numbers[labels]
        self._refuse_unlike(progress.argument, rows)
        if number is None or (names is None and self.are_texts and self.closed):
            return labels
        if names is None:
            ids, labels = np.unique(labels, return_inverse=True)
            names = ids.tolist()
            if not self.closed:
                self._refuse_negative(progress.argument, rows)
                names = [*map(str, names)]
        if isinstance(names, TableNames):
            codes, entries = self._look_up(progress, names, labels)
        else:
            codes = numbers_of(names, number)
            entries = first_entries(labels, codes)
        if entries.size:
            codes[labels[entries]] = self._number_new(progress, rows, names, labels, entries)
        return codes[labels]

    def _refuse_negative(self, argument: str, rows: Rows) -> None:
        """Refuse negative label ids, which may be empty slots, where ids are names."""
        for entry in np.flatnonzero(rows.labels < 0)[:1].tolist():
            label = int(rows.labels[entry])
            reason = f"label {label} is not an integer id from 0 up"
            raise rows.error_of_entry(argument, reason, entry, label)

    def _refuse_unlike(self, argument: str, rows: Rows) -> None:
        """Refuse names where the truth has label ids, and ids where its names are no digits."""
        if not rows.labels.size:
            return
        if self.number is None:
            is_unlike = rows.named
        else:
            is_open = rows.names is None and self.are_texts and not self.closed
            is_unlike = is_open and not have_ids(self.number)
        if is_unlike:
            raise self.unlike(argument, rows)

    def _look_up(
        self, progress: MatchProgress, names: TableNames, labels: Ints
    ) -> tuple[Labels, Ints]:
        """Return label numbers by name of a table, and the first entries of names without number.

        Only names that no earlier row had are looked up; names without number have -1.
        """
        assert self.number is not None
        codes = progress.codes_of(names)
        entries = first_entries(labels, codes)
        numbers = numbers_of(names.at(labels[entries]), self.number)
        codes[labels[entries]] = numbers
        return codes, entries[numbers < 0]

    def _number_new(
        self, progress: MatchProgress, rows: Rows, names: Sequence[Any], labels: Ints, entries: Ints
    ) -> Ints:
        """Return new numbers for the labels of entries that have none yet."""
        assert self.number is not None
        new_names = names_at(names, labels[entries])
        is_truth = progress.role == "y_true"
        if is_truth and not self.closed:
            numbers = self._add_labels(names, new_names, self.number, 0)
            self.n_labels = max(self.n_labels, len(self.number))
            return numbers
        if self.listed and (self.fits or is_truth):
            reason = self._not_listed(new_names, is_text_of_id=rows.places is None)
            raise rows.error_of_entry(progress.argument, reason, int(entries[0]), new_names[0])
        numbers = self._add_labels(names, new_names, self.unknown, self.n_labels)
        progress.unknown |= dict.fromkeys(numbers.tolist())
        return numbers

    def _number_columns(self, argument: str, rows: Rows) -> Ints:
        """Return label numbers by column, and note how columns were matched."""
        columns = [*(rows.names or ())]
        number = self.number
        if number is None:
            check_shape(argument, (rows.n_rows, len(columns)), self.n_labels)
            return self._number_columns_without_names(argument, columns)
        present = {*columns}
        missing = [name for name in number if name not in present]
        unknown = [name for name in columns if name not in number]
        if self.closed and missing:
            hint: Sequence[object] = ()
            if len(columns) == len(number):
                hint = _hint_of_other_names(argument, rows, len(columns))
            raise InputError(argument, Message(f"no column for label {shown(missing[0])}", *hint))
        self.note(argument, "labels without column", len(missing))
        examples = ", ".join(map(shown, unknown[:SHOWN_COLUMNS]))
        self.note(argument, "unknown columns", len(unknown), examples)
        self._note_similar(argument, unknown)
        return self._add(columns, number, self.unknown, self.n_labels)

    def _refuse_ids_as_labels(self, argument: str, rows: Rows) -> None:
        """Refuse a column that names the rows on one side for its contents, and is a label here."""
        origin = rows.origin
        if origin is None:
            return
        found = origin.found_ids
        if found is not None and found in (self.number or ()):
            text = f"column {shown(found)} is read as ids, but is a label of {self.truth}; give "
            names = Keyword("labels"), ", the names of all labels"
            raise InputError(argument, Message(text, *names))
        expected = None if self.origin is None else self.origin.found_ids
        if expected is not None and expected in [*(rows.names or ())]:
            text = f"column {shown(expected)} is read as a label, but has the ids of {self.truth}; "
            raise InputError(argument, Message(text, *origin.joined_by(expected)))

    def _number_columns_without_names(self, argument: str, columns: Sequence[Any]) -> Ints:
        """Return label ids by column where the truth has no names: from its name or position."""
        numbers = numbers_of_columns(columns)
        if numbers is None:
            self.notes.append(f"{argument}: {BY_POSITION.format('y_true')}")
            return np.arange(len(columns))
        if (np.diff(numbers) < 0).any():
            self.notes.append(f"{argument}: {IN_ORDER}")
        return numbers

    def unlike(self, argument: str, rows: Rows | None = None) -> InputError:
        """Return the error for named labels where the truth has ids, or vice versa."""
        names: Sequence[Any] = self.label_names
        with_names = self.truth
        without = argument
        if rows is not None and rows.named:
            names = rows.names or ()
            with_names = argument
            without = self.truth
        message = f"labels of {with_names} have names, but those of {without} have none; give "
        example = next(iter(names), None)
        hint = ""
        is_from_file = self.of_file or (rows is not None and rows.places is not None)
        if _is_text_of_id(example) and not is_from_file:
            hint = f"; {example!r} is text: if it is an id, give an integer"
        return InputError(
            argument, Message(message, Keyword("labels"), ", the name of each column", hint)
        )

    def _not_listed(self, names: Sequence[Any], is_text_of_id: bool) -> Message:
        """Return the reason to refuse names that the caller did not list."""
        message = f"label {names[0]!r} is not one of the {self.n_labels} listed labels"
        similar = similar_names(names[:1], self.number or ())
        if similar:
            message += f", but {similar[0][1]!r} is"
        hint = ""
        if is_text_of_id and self._may_be_places(names):
            hint = "; it is text: as an integer, it would be a place in the list"
        more = f" must list {counted(len(names), 'more labels', 'more label')}"
        return Message(f"{message}; ", Keyword("labels"), more, hint)

    def _may_be_places(self, names: Sequence[Any]) -> bool:
        """Tell whether names look like places in the list of labels, and listed names do not."""
        listed = next(iter(self.number or ()), None)
        if not self.listed or not isinstance(listed, str) or _is_text_of_id(listed):
            return False
        return all(_is_text_of_id(name) and int(name) < self.n_labels for name in names)

    def _note_similar(self, argument: str, unknown: Sequence[Any]) -> None:
        """Note unknown labels that look like labels of the truth, or like their ids."""
        pairs = similar_names(unknown, self.number or ())
        if pairs:
            name, similar_name = pairs[0]
            self.note(argument, "similar labels", len(pairs), f"{name!r} for {similar_name!r}")

    def _finish(self, progress: MatchProgress) -> None:
        """Note what all rows of an input show together, or refuse the input."""
        if progress.role == "y_true":
            if progress.present is not None:
                self.keys = [*self.row_number]
                self.n_rows = len(self.keys)
            return
        if progress.present is not None:
            self._note_rows(progress, progress.present[: len(self.row_number)])
        elif progress.rows is not None:
            self._refuse_other_order(progress.argument, progress.rows)
            if self.n_rows not in (None, progress.n_rows):
                message = other_rows(progress.n_rows, self.n_rows or 0, self.truth)
                advice: tuple[str | Keyword, ...] = ()
                if progress.rows.origin is not None:
                    advice = progress.rows.origin.matched_by_name()
                raise InputError(progress.argument, Message(message, *advice))
        if progress.role in PREDICTIONS:
            self._refuse_other_sizes(progress)
        if progress.unknown and progress.role in PREDICTIONS and not self.fits:
            self._note_unknown(progress)

    def _refuse_other_sizes(self, progress: MatchProgress) -> None:
        """Refuse numbered labels that cannot be those of the truth.

        These are named there, more or fewer in a row, or of rows whose further columns differ.
        """
        counter = progress.counter
        expected = self.counter
        if counter is None or expected is None:
            self._refuse_numbered_beside_named(progress)
            return
        difference = expected.first_difference(counter.sizes)
        if difference is not None:
            key, n_expected, size = difference
            text = f"row {shown(key)} has {counted(size, 'labels')}, but {n_expected} in "
            hint = "labels without a column are matched by their order; give both the same number"
            raise InputError(progress.argument, f"{text}{self.truth}; {hint}")
        n_true_rows = len(expected.sizes)
        if _numbers_rows(counter) and len(counter.sizes) != n_true_rows:
            message = other_rows(len(counter.sizes), n_true_rows, self.truth)
            raise InputError(progress.argument, message)
        column = expected.other_column(counter)
        if column is not None:
            text = f"column {shown(column)} differs from {self.truth}, but labels are matched by "
            hint = "their order; give both a column 'label', or leave it out"
            raise InputError(progress.argument, f"{text}{hint}")

    def _has_names(self, rows: Rows) -> bool:
        """Tell whether labels of rows have names, or ids that are not those of listed names."""
        return bool(rows.labels.size) and (rows.names is not None or not self.closed)

    def _refuse_numbered_beside_named(self, progress: MatchProgress) -> None:
        """Refuse labels that are numbered on one side only, and have names on the other."""
        rows = progress.rows
        numbered_side = self.truth
        named_side = progress.argument
        are_named = rows is not None and self._has_names(rows)
        if self.counter is None:
            numbered_side = progress.argument
            named_side = self.truth
            are_named = progress.counter is not None and self.names_labels
        if are_named:
            text = f"labels of {named_side} have names, but those of {numbered_side} are numbered"
            hint = "as it has no column of labels; give both a column 'label', or neither"
            raise InputError(progress.argument, f"{text}, {hint}")

    def _refuse_other_order(self, argument: str, rows: Rows) -> None:
        """Refuse rows in order if a column has the truth's values in another order."""
        origin = rows.origin
        if origin is None or self.origin is None or BY_KEY in (rows.match, self.by):
            return
        for column in filter(self.origin.columns.__contains__, origin.columns):
            if is_other_order(origin.hashes(column), self.origin.hashes(column)):
                message = (
                    f"rows are in another order than those of {self.truth}, "
                    f"as column {shown(column)} shows"
                )
                raise InputError(argument, Message(f"{message}; ", *origin.joined_by(column)))

    def _note_unknown(self, progress: MatchProgress) -> None:
        """Note the unknown labels of predictions."""
        argument = progress.argument
        names = [*self.unknown]
        unknown = [names[number - self.n_labels] for number in progress.unknown]
        self.note(argument, "unknown labels", len(unknown), shown(unknown[0]))
        self._note_similar(argument, unknown)
        is_from_file = progress.rows is not None and progress.rows.places is not None
        if not is_from_file and self._may_be_places(unknown):
            text = f"{argument}: {unknown[0]!r} is text, which is a name; integers are places in "
            self.notes.append(Message(text, Keyword("labels")))

    def _note_rows(self, progress: MatchProgress, present: Bools) -> None:
        """Note or refuse rows by key that only one side has.

        ``present`` : whether each row of the truth occurred
        """
        argument = progress.argument
        n_empty = int((~present).sum())
        if progress.by_index:
            self.notes.append(f"{argument}: rows were reordered by the index of {self.truth}")
            self._refuse_more_rows(progress)
        elif progress.role not in PAIRS_OF_ROWS and progress.n_rows and n_empty == present.size > 0:
            self._refuse_different_keys(progress)
        has_columns = progress.rows is not None and progress.rows.are_columns
        if n_empty and (progress.by_index or has_columns):
            missing = [*self.row_number][int(present.argmin())]
            text = f"row {shown(missing)} of {self.truth} is missing; add it, or remove it there"
            raise InputError(argument, text)
        if progress.role in PREDICTIONS:
            self.note(argument, "rows without predictions", n_empty)
            self.note(argument, "ignored rows", len(progress.ignored))
        if progress.role == "candidates":
            self.note(argument, "rows without candidates", n_empty)

    def _refuse_more_rows(self, progress: MatchProgress) -> None:
        """Refuse rows by index that the truth does not have."""
        if not progress.ignored:
            return
        hint = f"; remove it, or add it to {self.truth}"
        if progress.n_rows == self.n_rows:
            hint = SAME_ROWS
        extra = f"row {shown(next(iter(progress.ignored)))} is not in {self.truth}"
        raise InputError(progress.argument, extra + hint)

    def _refuse_different_keys(self, progress: MatchProgress) -> None:
        """Refuse an input that has no row of the truth."""
        extra = shown(next(iter(progress.ignored)))
        expected = shown(next(iter(self.row_number)))
        message = f"no row key is in {self.truth}, such as {extra}"
        raise InputError(progress.argument, f"{message}; expected keys like {expected}")


def _as_list(keys: Sequence[Any] | None) -> list[Any] | None:
    """Return keys of rows as a list, without a copy if they are one."""
    if keys is None or isinstance(keys, list):
        return keys
    return [*keys]


def _numbers_rows(counter: LabelCounter | None) -> bool:
    """Tell whether rows have no names, as groups that are given by their sizes."""
    return counter is not None and counter.numbers_rows


def _are_integers(keys: Sequence[Any]) -> bool:
    """Tell whether all keys are integers."""
    return all(issubclass(kind, int | np.integer) for kind in {*map(type, keys)})


def have_ids(names: Iterable[object]) -> bool:
    """Tell whether any name is the text of a label id."""
    return any(map(_is_text_of_id, names))


def _is_text_of_id(name: object) -> bool:
    """Tell whether a name is the text of a label id."""
    return isinstance(name, str) and name.isascii() and name.isdecimal()


def nodes_without_labels(nodes: Iterable[Any], names: Collection[Any]) -> list[Any]:
    """Return the nodes of a hierarchy that are not labels, sorted; this order numbers them."""
    are_texts = isinstance(next(iter(names), ""), str)
    same_kind = {
        node for node in nodes if isinstance(node, str) == are_texts and not isinstance(node, bool)
    }
    return sorted(same_kind.difference(names))


def names_of_truth(
    truth: Rows | None, rows_of: Mapping[str, Rows | None], notes: list[str]
) -> list[Any] | None:
    """Return the label names that are known before the rows of a truth; None if labels are ids.

    ``rows_of`` are the rows of the other arguments, None for arguments without names.
    """
    if truth is None or truth.names is None:
        return None
    if not truth.are_columns:
        # without any label, the truth has names if other inputs have
        is_empty = not len(truth.names)
        are_named = truth.named or (is_empty and any(map(_has_named_labels, rows_of.values())))
        return [] if are_named else None
    nameless = [argument for argument, rows in rows_of.items() if rows is None or _has_ids(rows)]
    return names_of_columns([*truth.names], nameless, notes)


def names_of_columns(
    columns: Sequence[Any], nameless: Sequence[str], notes: list[str]
) -> list[Any]:
    """Return the columns of a truth, in the order of their numbers if all are numbers.

    ``nameless`` are the arguments without label names, which are matched by this order.
    """
    numbers = numbers_of_columns(columns)
    if numbers is None:
        for argument in nameless:
            notes.append(f"{argument}: {BY_POSITION.format('it')}")
        return [*columns]
    if nameless and (np.diff(numbers) < 0).any():
        notes.append(f"y_true: {IN_ORDER}")
    return [columns[place] for place in np.argsort(numbers)]


def _has_named_labels(rows: Rows | None) -> bool:
    """Tell whether rows list labels that have names."""
    return rows is not None and not rows.are_columns and rows.named


def _has_ids(rows: Rows) -> bool:
    """Tell whether rows list labels by id only."""
    return not rows.are_columns and bool(rows.labels.size) and not rows.named


@dataclass
class MatchProgress:
    """The state of matching one input, whose rows come in batches.

    role : argument of `xmleval.evaluate` that the input is
    argument : name of the input in messages
    rows : the last batch
    n_rows : number of rows so far
    present : for rows by key, whether each row number occurred
    by_index : whether both sides must have the same keys
    ignored : number of each key that the truth does not have, after those of the truth
    unknown : numbers of unknown labels that occurred
    files : files that were read, of an input of several
    file_of : place in ``files``, from 1, of the file that had a row, by row number; 0 for none
    table, codes : names of labels in the file, and their label numbers, -1 until looked up
    columns, column_numbers : names of columns of the last batch, and their label numbers
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
    columns: Sequence[Any] | None = None
    column_numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def counter(self) -> LabelCounter | None:
        """What numbered the labels of the last batch, None if these have names or ids."""
        if self.rows is None or self.rows.origin is None:
            return None
        return self.rows.origin.counter

    def codes_of(self, names: TableNames) -> Labels:
        """Return label numbers by name of a table, -1 until the caller fills them in."""
        if self.table is not names.table:
            self.table = names.table
            self.codes = np.empty(0, np.int32)
        n_more = len(names) - self.codes.size
        if n_more > 0:
            n_more += len(names) // 4
            self.codes = np.concatenate((self.codes, np.full(n_more, -1, np.int32)))
        return self.codes

    def refuse_other_file(self, row_numbers: Ints) -> None:
        """Refuse rows that another file of the input has, too."""
        rows = self.rows
        if rows is None or rows.origin is None or not rows.origin.file:
            return
        if self.files[-1:] != [rows.origin.file]:
            self.files.append(rows.origin.file)
        n_numbers = int(row_numbers.max(initial=-1)) + 1
        if n_numbers > self.file_of.size:
            self.file_of.resize(2 * n_numbers, refcheck=False)
        files = self.file_of[row_numbers]
        is_in_other = (files > 0) & (files < len(self.files))
        if is_in_other.any():
            row = int(is_in_other.argmax())
            key = None if rows.keys is None else rows.keys[row]
            other_file = self.files[files[row] - 1]
            reason = f"row {key!r} is also in {other_file}; expected each row in one file"
            raise rows.error(self.argument, reason, row, key)
        self.file_of[row_numbers] = len(self.files)


def join_models(
    models: Sequence[tuple[str, Rows]],
) -> tuple[list[Rows], list[Any], list[Any] | None]:
    """Return the matched scores by model, the names of all labels, and the keys of rows, if any.

    Label names are in the order that breaks ties: later names first.
    """
    first_model, first_rows = models[0]
    _refuse_unlike_models(models)
    names = _names_of_all(models)
    if not names:
        raise InputError("predictions", "no model lists a label")
    keys = None
    by = None
    if first_rows.keys is not None:
        first_keys = [*first_rows.keys]
        all_keys = chain.from_iterable(
            called_like(first_keys, [*(rows.keys or ())]) for _, rows in models
        )
        keys = [*dict.fromkeys(all_keys)]
        by = BY_KEY
    match = Match(first_model, names, listed=True, keys=keys, by=by, n_rows=first_rows.n_rows)
    scores = [as_scores(match.place_rows("y_score", *model), None) for model in models]
    return scores, names, keys


def _refuse_unlike_models(models: Sequence[tuple[str, Rows]]) -> None:
    """Refuse models whose rows or kind of labels do not match those of the first one."""
    first_model, first_rows = models[0]
    keys = None
    by = None
    if first_rows.keys is not None:
        keys = [*first_rows.keys]
        by = BY_KEY
    if keys is not None and first_rows.is_long:
        keys = [*dict.fromkeys(keys)]
    match = Match(first_model, None, keys=keys, by=by, n_rows=first_rows.n_rows)
    match.origin = first_rows.origin
    match.names_labels = first_rows.labels.size > 0
    for model, rows in models[1:]:
        match.row_numbers("y_score", model, rows)
        have_labels = rows.labels.size and first_rows.labels.size
        if not have_labels or (rows.names is None) == (first_rows.names is None):
            continue
        if rows.names is None:
            problem = f"its labels are integers, but those of {first_model} text"
        else:
            problem = f"its labels are text, but those of {first_model} integers"
        raise InputError(model, problem)


def _names_of_all(models: Sequence[tuple[str, Rows]]) -> list[Any]:
    """Return the names or ids of the labels of all models, in the order that breaks ties."""
    labels = set[Any]()
    for _, rows in models:
        if rows.names is None:
            labels.update(np.unique(rows.labels).tolist())
        else:
            labels.update(rows.names)
    return sorted(labels, reverse=any(isinstance(label, str) for label in labels))


def first_entries(labels: Ints, codes: Labels) -> Ints:
    """Return the first entry per label whose code is negative, in order."""
    entries = np.flatnonzero(codes[labels] < 0)
    first = np.empty(codes.size if entries.size else 0, label_dtype(labels.size))
    first[labels[entries[::-1]]] = entries[::-1]  # the last one that is written stays
    is_first: Bools = first[labels[entries]] == entries
    return entries[is_first]


def names_at(names: Sequence[Any], places: Ints) -> list[Any]:
    """Return the names at some places."""
    if isinstance(names, TableNames):
        return names.at(places)
    return [names[place] for place in places.tolist()]


def numbers_of(names: Sequence[Any], number: dict[Any, int]) -> Ints:
    """Return the numbers of names, -1 for a name without number."""
    return np.fromiter(map(number.get, names, repeat(-1)), np.int64, len(names))


def distinct(
    argument: str, keys: Sequence[Any], rows: Rows | None = None, before: Collection[Any] = ()
) -> dict[Any, int]:
    """Return the place by key; refuse a key that repeats, or that is among those ``before``."""
    place = dict(zip(keys, count()))
    if not before and len(place) == len(keys):
        return place
    first_row: dict[Any, int] = dict.fromkeys(before, -1)
    row = next(row for row, key in enumerate(keys) if first_row.setdefault(key, row) != row)
    message = f"two rows are called {shown(keys[row])}"
    if rows is None:
        raise InputError(argument, message, row=row, value=keys[row])
    if rows.origin is not None:
        message += rows.origin.how_to_repeat
    raise rows.error(argument, message, row=row, value=keys[row])


def refuse_order(index_of: dict[str, Sequence[Any] | None]) -> None:
    """Refuse an index that numbers the rows in another order if the other argument has no index."""
    for (argument, index), (companion, companion_index) in permutations(index_of.items(), 2):
        if index is None or companion_index is not None:
            continue
        numbers = as_numbers(index)
        if numbers is not None and (np.diff(numbers) < 0).any():
            problem = (
                "its index has the numbers of the rows in another order, but "
                f"{companion} has no index"
            )
            hint = "call sort_index() to sort by it, or reset_index(drop=True) to ignore it"
            raise InputError(argument, f"{problem}; {hint}")


def as_numbers(names: Sequence[Any]) -> Ints | None:
    """Return names as numbers if they are 0, 1, .. in any order, also as text; None otherwise.

    Some frames have only texts as names.
    """
    if names == [*range(len(names))]:
        return np.arange(len(names))
    number_of = {str(number): number for number in range(len(names))}
    numbers = [number_of.pop(str(name), -1) for name in names]
    if number_of:
        return None
    return np.array(numbers, np.int64)


def are_in_other_order(columns: Sequence[Any]) -> bool:
    """Tell whether columns are numbers, 0, 1, .., in another order."""
    numbers = numbers_of_columns(columns)
    return numbers is not None and bool((np.diff(numbers) < 0).any())


def _hint_of_other_names(argument: str, rows: Rows, n_columns: int) -> list[object]:
    """Return advice on columns whose names are not those of as many labels of the truth."""
    is_from_file = rows.places is not None
    has_ids = rows.origin is not None and rows.origin.id_column is not None
    if has_ids and n_columns == 1:
        option: object = "xmleval.from_df(df, label='')"
        if is_from_file:
            option = ScanField("label_field", "''")
        return ["; if each row has one label without a name, give ", option, " for both"]
    return [SAME_NAMES if is_from_file or has_ids else SAME_ORDER.format(argument)]


def refuse_other_numbers(argument: str, numbers: Ints, companion: str) -> None:
    """Refuse ids 0, 1, .. of rows in another order, where another input has no ids."""
    expected = np.arange(numbers.size)
    if (numbers != expected).any() and (np.sort(numbers) == expected).all():
        text = f"its ids number the rows in another order, but {companion} has no ids"
        raise InputError(argument, f"{text}; sort its rows by them, or give ids to both")


def numbers_of_columns(columns: Sequence[Any]) -> Ints | None:
    """Return columns as numbers if they are 0, 1, .. in any order, or column_0, .. as of polars."""
    return as_numbers([str(name).removeprefix("column_") for name in columns])


def refuse_scores(argument: str, rows: Rows, graded: bool | None) -> None:
    """Refuse values of label sets that cannot be judgements, unless they are read as grades.

    ``graded`` is None if the caller cannot ask for grades.
    """
    if rows.values is None or (graded and argument == "y_true"):
        return
    fractions = np.flatnonzero(rows.values != np.floor(rows.values))[:1].tolist()
    if not fractions and not rows.best_first:
        return
    problem = "labels have scores"
    if fractions:
        problem = f"value {rows.values[fractions[0]]} is not an integer judgement"
    parts: list[str | Keyword] = [f"{problem}; give scores as y_score"]
    if argument != "y_pred":
        parts = [f"{problem}; give scores as y_score; are the truth and the scores swapped?"]
        if graded is False:
            parts += [" Grades need ", Field("gains", "linear")]
    message = Message(*parts)
    if fractions:
        raise rows.error_of_entry(argument, message, fractions[0])
    raise InputError(argument, message)


def as_sets(rows: Rows, graded: bool | None = None) -> Rows:
    """Return matched label sets: labels with a positive value; if ``graded``, or columns, all."""
    if rows.is_matrix:
        return rows.by_label(None)
    if rows.values is not None and not graded and not rows.are_columns:
        rows = rows.only(rows.values > 0)._replace(values=None)
    return rows._replace(best_first=False, are_columns=False)


def as_scores(rows: Rows, label_names: Sequence[Any] | None) -> Rows:
    """Return matched scores, or rankings if labels have no scores.

    Equal scores are in the order of the label names if these are texts.
    """
    tie_names = None
    if label_names and isinstance(label_names[0], str):
        tie_names = label_names
    best_first = rows.best_first or rows.values is None
    if rows.is_matrix:
        rows = rows.by_label(tie_names)
    elif rows.values is not None and not best_first and tie_names:
        labels = rows.labels
        # label ids without a name are refused later, when rows are ranked
        if labels.max(initial=-1) < len(tie_names):
            labels = order_ties(rows.ptr, labels, rows.values, tie_names)
        rows = rows._replace(labels=labels)
    return rows._replace(names=label_names, best_first=best_first, are_columns=rows.is_matrix)


def listed_scores(rows: Rows, label_names: list[Any]) -> Rows:
    """Return matched scores as those of a matrix; labels without scores have -1, -2 and so on."""
    if rows.values is None:
        values = np.repeat(rows.ptr[:-1], np.diff(rows.ptr)) - np.arange(rows.labels.size) - 1.0
        rows = rows._replace(values=values)
    return as_scores(rows, label_names)._replace(best_first=False)


def score_pieces(placed: PlacedRows, match: Match, *, by_number: bool = False) -> Pieces:
    """Return matched scores, some rows at a time.

    Equal scores are in the order of the label numbers if ``by_number``, or else of the names.
    """
    names = LabelNames(match.names)
    if by_number:
        return placed.pieces(
            match.n_labels, lambda rows: as_scores(rows, None)._replace(names=names)
        )
    return placed.pieces(match.n_labels, lambda rows: as_scores(rows, names))


def set_pieces(placed: PlacedRows, match: Match, grades: bool = False) -> Pieces:
    """Return matched label sets, or all grades, some rows at a time."""
    names = match.names
    return placed.pieces(match.n_labels, lambda rows: as_sets(rows, grades)._replace(names=names))
