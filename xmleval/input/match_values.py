"""Match arrays and named objects, all rows at once, by `xmleval.input.match.Match`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import InputError, Keyword, Message, positive_integer, renaming, shown
from xmleval.files.remote import is_file
from xmleval.input.cell_marks import JUDGED
from xmleval.input.columns import INSTANCE, is_written_index, named_as
from xmleval.input.match import (
    LEFT_OUT,
    Match,
    as_scores,
    as_sets,
    have_ids,
    names_of_truth,
    refuse_scores,
)
from xmleval.input.objects.named import (
    CLASS_ONE_NOTE,
    PAIRED,
    dense_list,
    read_id_rows,
    without_labels,
)
from xmleval.input.opened import UNSIZED, OpenedValue, check_labels, keyed, refuse_other_count
from xmleval.input.plausibility import refuse_vectors
from xmleval.input.rows import BY_KEY, Named, Rows, missing_names_note
from xmleval.input.sets import list_sets, refuse_ids
from xmleval.input.tensors import shape_of

IDS_AS_NAMES = (
    "integer labels are read as names, as ",
    Keyword("n_labels"),
    " is not given",
)


class MatchOptions(NamedTuple):
    """Options of the match.

    n_labels, labels : number of labels, and the names of all labels, if the caller gives them
    graded : whether values of the truth are grades of relevance; None if they cannot be grades
    fits : whether something is fitted, which needs all labels: unknown ones are refused if the
        caller gives ``labels``, and become labels otherwise
    nodes : nodes of a hierarchy; those that are not labels are numbered right after the labels
    higher_is_better : whether higher scores are better
    has_marks : whether the truth marks cells, so that all its values are kept
    """

    n_labels: int | None = None
    labels: object = None
    graded: bool | None = None
    fits: bool = False
    nodes: Collection[Any] = ()
    higher_is_better: bool = True
    has_marks: bool = False

    @property
    def keeps_values(self) -> bool:
        """Whether the truth keeps its values, not only the relevant labels."""
        return bool(self.graded) or self.has_marks


@dataclass(frozen=True)
class Naming:
    """Names of the rows and labels of a report, and facts that matching found.

    label_names : names of labels by number; None if labels are ids
    closed : whether all labels were known before the rows, in this order
    row_names : names of rows in order; None if rows have no names
    by_key : whether row names are keys, which identify rows across batches
    unknown : names of labels that the truth does not have, whose ids follow those of the labels
    has_unread_grades : whether the truth has grades that are not asked for
    n_unmatched_pairs : number of pairs to exclude whose row or label is in no other input
    """

    label_names: list[Any] | None = None
    closed: bool = True
    row_names: list[Any] | None = None
    by_key: bool = False
    unknown: Sequence[Any] = ()
    has_unread_grades: bool = False
    n_unmatched_pairs: int = 0

    @property
    def keys(self) -> list[Any] | None:
        """Names of rows if they are keys, which identify rows across batches."""
        return self.row_names if self.by_key else None

    @property
    def reported_row_names(self) -> list[Any] | None:
        """Names of rows; None for an index 0, 1, .., which names nothing."""
        if self.row_names is None or self.row_names == [*range(len(self.row_names))]:
            return None
        return self.row_names

    @property
    def by_id(self) -> bool:
        """Whether labels have no names, or their names are their numbers."""
        return self.label_names is None or self.label_names == [*range(len(self.label_names))]


NO_NAMES = Naming()


class MatchedValues(NamedTuple):
    """Values by argument, whose rows are in one order and whose labels have the truth's numbers.

    ``n_labels`` is None if only the columns of an array determine it.
    """

    values: dict[str, Any]
    n_labels: int | None
    naming: Naming
    notes: list[str]

    @property
    def truth(self) -> Any:
        """Relevant labels."""
        return self.values["y_true"]


def match_values(opened: Mapping[str, OpenedValue], options: MatchOptions) -> MatchedValues:
    """Match rows and labels of values with those of the truth; values without names are unchanged.

    Parameters
    ----------
    opened : dict of str to OpenedValue
        Values by argument, the truth first.
    options : MatchOptions
        Settings of the match.
    """
    n_labels = options.n_labels
    if n_labels is not None:
        n_labels = positive_integer("n_labels", n_labels)
    labels = None
    if options.labels is not None:
        labels = check_labels(options.labels, n_labels)
    if all(each.is_nameless for each in opened.values()):
        return _match_arrays(opened, n_labels, labels)
    opened = {argument: replace(each, labels=labels) for argument, each in opened.items()}
    return _ValueMatch(opened, n_labels, labels, options).matched()


def _match_arrays(
    opened: Mapping[str, OpenedValue], n_labels: int | None, labels: list[Any] | None
) -> MatchedValues:
    """Return arrays, whose rows are in order, unchanged."""
    values = {argument: each.value for argument, each in opened.items()}
    _refuse_transposed(values, n_labels)
    if labels is None:
        return MatchedValues(values, n_labels, NO_NAMES, [])
    return MatchedValues(values, len(labels), Naming(labels), missing_names_note(labels))


class _ValueMatch:
    """The match of values with and without names.

    values : all values by argument
    rows : rows of the values with names, by argument
    n_labels : number of labels; None until it is known
    labels : names of all labels, if the caller gives them
    """

    def __init__(
        self,
        opened: Mapping[str, OpenedValue],
        n_labels: int | None,
        labels: list[Any] | None,
        options: MatchOptions,
    ) -> None:
        self.options = options
        self.n_labels = n_labels
        self.labels = labels
        self.values = {argument: each.plain for argument, each in opened.items()}
        self.rows = _rows_of(opened)
        self.notes = list[str]()
        self.truth = self.values.get("y_true")
        y_score = opened.get("y_score")
        if (
            y_score is not None
            and isinstance(y_score.value, list)
            and isinstance(y_score.plain, np.ndarray)
        ):
            self.notes.append(CLASS_ONE_NOTE)

    def matched(self) -> MatchedValues:
        """Return the values with numbers in place of names."""
        _refuse_transposed({**self.values, **self.rows}, self.n_labels)
        self._note_columns()
        self.rows = join_by_ids(self.rows, self.notes)
        match = self._new_match()
        self._read_dense_lists(match)
        placed = self._place(match)
        self._settle_labels(match)
        names = match.names
        values = {
            argument: self._as_batch_value(argument, value, placed.get(argument), names)
            for argument, value in self.values.items()
        }
        naming = self._naming(match)
        notes = [*match.notes, *missing_names_note(match.number or (), naming.unknown)]
        return MatchedValues(values, self.n_labels, naming, notes)

    def _note_columns(self) -> None:
        """Note columns that are read as labels despite their names, and how frames were read."""
        for argument, rows in self.rows.items():
            if self.labels is None and rows.are_columns:
                for name in named_as(rows.names or [], INSTANCE):
                    self.notes.append(f"{argument}: column {shown(name)} is read as a label")
        for argument, rows in self.rows.items():
            if rows.origin is not None:
                self.notes += rows.origin.noted(argument)

    def _new_match(self) -> Match:
        """Return a match with the labels that are known before the rows."""
        names = self._known_names()
        if names is None and self._are_ids_names():
            names = []
            self.notes.append(Message(*IDS_AS_NAMES))
        match = Match(
            "y_true", names, listed=self.options.labels is not None, fits=self.options.fits
        )
        match.notes = self.notes
        match.n_labels = max(self.n_labels or 0, match.n_labels)
        if "y_true" not in self.rows and any(rows.match == BY_KEY for rows in self.rows.values()):
            match.n_rows = _count_rows(self.truth)
        if match.closed:
            refuse_other_count(self.n_labels, match.n_labels)
        return match

    def _known_names(self) -> list[Any] | None:
        """Return the label names that are known before the rows; None if labels are ids."""
        if self.labels is not None:
            return self.labels
        truth = self.rows.get("y_true")
        if truth is not None and truth.names is not None and isinstance(self.truth, Named):
            return [*truth.names]
        other_rows = {
            argument: self.rows.get(argument)
            for argument, value in self.values.items()
            if value is not None and argument != "y_true"
        }
        return names_of_truth(truth, other_rows, self.notes)

    def _are_ids_names(self) -> bool:
        """Return whether label ids are names: nothing gives their number, and all rows list them.

        Labels that have names must be the texts of ids.
        """
        given = [argument for argument, value in self.values.items() if value is not None]
        if self.n_labels is not None or not self.rows.keys() >= {*given}:
            return False
        if any(rows.are_columns for rows in self.rows.values()):
            return False
        return all(
            rows.names is None or not len(rows.names) or have_ids(rows.names)
            for rows in self.rows.values()
        )

    def _read_dense_lists(self, match: Match) -> None:
        """Turn lists of rows of an array into arrays; with ``n_labels``, all lists are of ids."""
        if self.n_labels is not None:
            return
        width = match.n_labels or self._first_width()
        has_lists_of_ids = False
        for argument, value in self.values.items():
            if isinstance(value, list) and argument not in self.rows:
                self.values[argument] = dense_list(argument, value, width)
                has_lists_of_ids |= isinstance(self.values[argument], list)
        if match.number is None and (self.rows or (width and has_lists_of_ids)):
            self.n_labels = width
            match.n_labels = width or 0

    def _first_width(self) -> int | None:
        """Return the number of columns of the first value that has columns."""
        for value in {**self.values, **self.rows}.values():
            shape = shape_of(value)
            if shape:
                return shape[1]
        return None

    def _place(self, match: Match) -> dict[str, Rows]:
        """Return the rows of values with names in the truth's order, with labels by number."""
        placed = dict[str, Rows]()
        for argument, value in self.values.items():  # the truth first
            if argument in self.rows:
                placed[argument] = self._place_rows(match, argument, self.rows[argument])
            elif value is not None and argument != "y_true":
                if match.number is not None and not match.closed:
                    raise match.unlike(argument)
                match.row_numbers(argument, argument, None)
            if argument == "y_true":
                match.add_nodes(self.options.nodes)
                match.higher_is_better = self.options.higher_is_better
        return placed

    def _place_rows(self, match: Match, argument: str, rows: Rows) -> Rows:
        """Return rows with names in the truth's order, with labels by number."""
        if self.truth is None:
            rows = rows._replace(keys=None, match=None)
        if argument != "y_score" and not rows.are_columns:
            if not (argument == "y_true" and self.options.has_marks):
                refuse_scores(argument, rows, self.options.graded)
            if rows.are_lists and rows.names is None and rows.values is None:
                refuse_vectors(argument, rows.ptr, rows.labels, match.n_labels)
        return match.place_rows(argument, argument, rows)

    def _settle_labels(self, match: Match) -> None:
        """Set the number of labels, once all names are known."""
        if self.options.fits:
            match.know_all()
        if match.number is not None:
            if self.n_labels and len(match.number) > self.n_labels:
                refuse_other_count(self.n_labels, len(match.number))
            self.n_labels = match.n_labels
        if self.rows and not self.n_labels:
            raise _unsized(self.rows, "y_score" if self.truth is None else "y_true")

    def _as_batch_value(
        self, argument: str, value: Any, placed: Rows | None, names: list[Any]
    ) -> Any:
        """Return a value in the form that batches take."""
        if placed is not None:
            return self._with_names(argument, placed, names)
        if argument == "y_score" and isinstance(value, list) and self.n_labels is not None:
            return read_id_rows(argument, value)._replace(best_first=True)
        if isinstance(value, list) or argument not in PAIRED:
            return list_sets(argument, value, self.n_labels)
        return value

    def _with_names(self, argument: str, rows: Rows, names: list[Any]) -> Rows:
        """Return placed rows with label names if these break ties, or include unknown labels."""
        n_labels = self.n_labels or 0
        width = max(n_labels, int(rows.labels.max(initial=-1)) + 1)
        are_texts = bool(names) and isinstance(names[0], str)
        break_ties = argument == "y_score" and are_texts and self.rows[argument].names is not None
        used_names = None
        if break_ties or width != n_labels:
            used_names = names[:width]
        if argument == "y_score":
            return as_scores(rows, used_names)
        if argument == "y_true":
            return as_sets(rows, self.options.keeps_values)._replace(names=used_names)
        return as_sets(rows, argument == JUDGED)._replace(names=used_names)

    def _naming(self, match: Match) -> Naming:
        """Return the names of rows and labels."""
        label_names: list[Any] | None = match.label_names
        if not label_names or self.n_labels != len(label_names):
            label_names = None
        return Naming(
            label_names=label_names,
            closed=match.number is None or match.closed,
            row_names=match.keys,
            by_key=match.by == BY_KEY and not match.numbers_rows,
            unknown=match.unknown_names,
            has_unread_grades=self._has_unread_grades(),
            n_unmatched_pairs=match.n_unmatched_pairs,
        )

    def _has_unread_grades(self) -> bool:
        """Tell whether the truth has values above 1 that are not read as grades."""
        truth = self.rows.get("y_true")
        if self.options.graded or truth is None or truth.values is None:
            return False
        return bool((truth.values > 1).any())


def _rows_of(opened: Mapping[str, OpenedValue]) -> dict[str, Rows]:
    """Return the rows of values with names, and then also the rows of lists that are all empty."""
    rows_of = {argument: value.rows for argument, value in opened.items()}
    if any(rows is not None for rows in rows_of.values()):
        for argument, value in opened.items():
            if rows_of[argument] is None:
                rows_of[argument] = without_labels(value.plain)
    return {argument: rows for argument, rows in rows_of.items() if rows is not None}


def _count_rows(truth: object) -> int | None:
    """Return the number of rows of a truth without keys; other inputs may name them by number."""
    shape = shape_of(truth)
    if shape:
        return shape[0]
    if isinstance(truth, list):
        return len(truth)
    return None


def _unsized(rows_of: Mapping[str, Rows], argument: str) -> InputError:
    """Return the error for inputs that do not determine the labels, or the number of label ids."""
    options = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", a list of all"
    example = next((rows.label(0) for rows in rows_of.values() if rows.labels.size), None)
    hint = ""
    if isinstance(example, int):
        hint = f"; or give ids as text, {str(example)!r} for {example}, to read them as names"
    return InputError(argument, Message(UNSIZED, *options, hint))


def join_by_ids(rows_of: Mapping[str, Rows], notes: list[str]) -> dict[str, Rows]:
    """Return rows by a column or index of ids, if both the truth and the predictions have ids."""
    keyed_rows = {argument: keyed(rows) for argument, rows in rows_of.items()}
    truth = keyed_rows.get("y_true")
    joined = set[str]()
    if truth is not None:
        for argument, rows in keyed_rows.items():
            if argument != "y_true" and _have_keys(rows, truth):
                joined.add(argument)
    for argument, rows in rows_of.items():
        notes += _notes_on_ids(argument, rows, rows_of, joined)
    if joined:
        joined.add("y_true")
    return {
        argument: keyed_rows[argument] if argument in joined else rows
        for argument, rows in rows_of.items()
    }


def _notes_on_ids(
    argument: str, rows: Rows, rows_of: Mapping[str, Rows], joined: Collection[str]
) -> list[str]:
    """Return notes on columns that name rows: rows are matched by them, or they are ignored."""
    notes = list[str]()
    if rows.are_columns and rows.origin is not None:
        for name in filter(is_written_index, rows.origin.columns):
            notes.append(
                f"{argument}: column {shown(name)} is ignored, as it is an index that pandas wrote"
            )
    column = _id_column(rows)
    if argument in joined:
        if column is None:
            column = _id_column(rows_of["y_true"])
        if column is not None:
            notes.append(f"{argument}: rows are matched by column {shown(column)}")
    elif column is not None and not (joined and argument == "y_true"):
        companion = "predictions have" if argument == "y_true" else "y_true has"
        notes.append(f"{argument}: {LEFT_OUT.format(shown(column), companion)}")
    return notes


def _id_column(rows: Rows) -> Hashable | None:
    """Return the column of a frame that names its rows, if any."""
    if rows.origin is None:
        return None
    return rows.origin.id_column


def _have_keys(rows: Rows, truth: Rows) -> bool:
    """Tell whether rows can be matched with the truth's by key; one side may have an index."""
    if rows.keys is None or truth.keys is None or BY_KEY not in (rows.match, truth.match):
        return False
    keys = {*rows.keys}
    true_keys = {*truth.keys}
    return rows.match == truth.match or keys <= true_keys or true_keys <= keys


def _refuse_transposed(values: Mapping[str, Any], n_labels: int | None) -> None:
    """Refuse predictions whose shape is the transpose of the truth's."""
    truth = shape_of(values.get("y_true"))
    if truth is None:
        return
    for argument in ("y_score", "y_pred"):
        shape = shape_of(values.get(argument))
        if shape is None or shape == truth:
            continue
        if shape[0] == truth[0]:
            _refuse_truth_of_ids(values["y_true"], shape[1])
        if shape[::-1] == truth:
            is_truth = n_labels == shape[1]
            wrong = "y_true" if is_truth else argument
            expected = shape if is_truth else truth
            problem = f"shape {expected[::-1]} is the transpose of {expected}"
            raise InputError(wrong, f"{problem}; rows are instances: give {wrong}.T")


def _refuse_truth_of_ids(truth: object, n_labels: int) -> None:
    """Refuse a truth whose columns contain label ids, next to arrays of all labels."""
    array = truth
    if isinstance(truth, Rows):
        array = truth.values
    if isinstance(array, np.ndarray) and array.ndim == 2:
        refuse_ids("y_true", truth, array, n_labels)


def match_truth(
    argument: str, value: object, n_labels: int | None, labels: object = None
) -> MatchedValues:
    """Return a truth in memory or in a file, with numbers for names; errors name ``argument``."""
    if is_file(value):
        from xmleval.input.shards import read_sets  # imports all formats

        value = read_sets(value)
    opened = {"y_true": OpenedValue(argument, "truth", "y_true", value=value)}
    with renaming("y_true", argument):
        return match_values(opened, MatchOptions(n_labels, labels))
