"""Arrays and named objects matched: all rows at once, with `xmleval.input.match.Match`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import InputError, Keyword, Message, positive_integer, renaming, shown
from xmleval.files.remote import is_file
from xmleval.input.columns import INSTANCE, is_written_index, named_as
from xmleval.input.glances import refuse_vectors
from xmleval.input.match import Match, as_scores, as_sets, names_of_truth, refuse_scores
from xmleval.input.objects.named import CLASS_ONE, PAIRED, dense_list, rows_of_ids, without_labels
from xmleval.input.opened import UNSIZED, OpenedValue, check_labels, keyed, refuse_other_count
from xmleval.input.rows import BY_KEY, Named, Rows, missing_names_note
from xmleval.input.sets import list_sets, refuse_ids
from xmleval.input.tensors import shape_of


class MatchOptions(NamedTuple):
    """What matching depends on in addition to the inputs.

    n_labels, labels : number of labels, and the names of all, where the caller gives them
    graded : whether values of the truth are grades of relevance; None where they cannot be any
    fits : whether something is fitted, for which all labels must be ``labels``, or become labels
    nodes : those of a hierarchy; nodes that are not labels are numbered right after the labels
    """

    n_labels: int | None = None
    labels: object = None
    graded: bool | None = None
    fits: bool = False
    nodes: Collection[Any] = ()


@dataclass(frozen=True)
class Naming:
    """The names of the rows and labels of a report, and what was counted as they were matched.

    label_names : names of labels by number, None where labels have ids
    closed : whether all labels were known before the rows, in this order
    row_names : names of rows in order, None where they have none
    by_key : whether these tell rows apart from those of other batches
    unknown : names of labels that the truth does not have, whose ids are the next ones
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
        """Names of rows that tell them apart from those of other batches."""
        return self.row_names if self.by_key else None

    @property
    def reported_row_names(self) -> list[Any] | None:
        """Names of rows, None where they are an index that counts, which names nothing."""
        if self.row_names is None or self.row_names == [*range(len(self.row_names))]:
            return None
        return self.row_names

    @property
    def by_id(self) -> bool:
        """Whether labels have no names, or are called by their numbers."""
        return self.label_names is None or self.label_names == [*range(len(self.label_names))]


class MatchedValues(NamedTuple):
    """Values by argument, whose rows are in one order and whose labels have the truth's numbers.

    ``n_labels`` is None where nothing but the columns of an array tells it.
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
    """Match rows and labels of values with those of the truth; what has no names stays as it is.

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
    labels = None if options.labels is None else check_labels(options.labels, n_labels)
    if all(each.is_nameless for each in opened.values()):
        return _match_arrays(opened, n_labels, labels)
    opened = {argument: replace(each, labels=labels) for argument, each in opened.items()}
    return _ValueMatch(opened, n_labels, labels, options).matched()


def _match_arrays(
    opened: Mapping[str, OpenedValue], n_labels: int | None, labels: list[Any] | None
) -> MatchedValues:
    """Return arrays as they are, whose rows are in order."""
    values = {argument: each.value for argument, each in opened.items()}
    _refuse_transposed(values, n_labels)
    if labels is None:
        return MatchedValues(values, n_labels, Naming(), [])
    return MatchedValues(values, len(labels), Naming(labels), missing_names_note(labels))


class _ValueMatch:
    """The match of values of which some have names.

    values : all of them, by argument
    rows : the rows of those with names
    n_labels : number of labels, as far as it is known
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
        if y_score is not None and isinstance(y_score.value, list) and isinstance(y_score.plain, np.ndarray):
            self.notes.append(CLASS_ONE)

    def matched(self) -> MatchedValues:
        """Return the values with numbers in place of names."""
        _refuse_transposed({**self.values, **self.rows}, self.n_labels)
        self._note_columns()
        self.rows = join_by_ids(self.rows, self.notes)
        match = self._numbering()
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
        """Note columns that are labels by their place alone, and what was settled in reading frames."""
        for argument, rows in self.rows.items():
            if self.labels is None and rows.are_columns:
                for name in named_as(rows.names or [], INSTANCE):
                    self.notes.append(f"{argument}: column {shown(name)} is read as a label")
        for argument, rows in self.rows.items():
            if rows.origin is not None:
                self.notes += rows.origin.noted(argument)

    def _numbering(self) -> Match:
        """Return the numbers of the labels that are known before the rows."""
        names = self._known_names()
        match = Match("y_true", names, listed=self.options.labels is not None, fits=self.options.fits)
        match.notes = self.notes
        match.n_labels = max(self.n_labels or 0, match.n_labels)
        if "y_true" not in self.rows and any(rows.match == BY_KEY for rows in self.rows.values()):
            match.n_rows = _count_rows(self.truth)
        if match.closed:
            refuse_other_count(self.n_labels, match.n_labels)
        return match

    def _known_names(self) -> list[Any] | None:
        """Return the names of labels that are known before the rows, None where labels have ids."""
        if self.labels is not None:
            return self.labels
        truth = self.rows.get("y_true")
        if truth is not None and truth.names is not None and isinstance(self.truth, Named):
            return [*truth.names]
        given = [argument for argument, value in self.values.items() if value is not None]
        others = {argument: self.rows.get(argument) for argument in given if argument != "y_true"}
        return names_of_truth(truth, others, self.notes)

    def _read_dense_lists(self, match: Match) -> None:
        """Read lists of the rows of an array as one, where no number of labels says that they list ids."""
        if self.n_labels is not None:
            return
        shapes = map(shape_of, {**self.values, **self.rows}.values())
        width = match.n_labels or next((shape[1] for shape in shapes if shape), None)
        lists = [a for a, value in self.values.items() if isinstance(value, list) and a not in self.rows]
        for argument in lists:
            self.values[argument] = dense_list(argument, self.values[argument], width)
        are_left = any(isinstance(self.values[argument], list) for argument in lists)
        if match.number is None and (self.rows or (width and are_left)):
            self.n_labels = width
            match.n_labels = width or 0

    def _place(self, match: Match) -> dict[str, Rows]:
        """Return the rows of values with names in the order of the truth's, their labels by number."""
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
        return placed

    def _place_rows(self, match: Match, argument: str, rows: Rows) -> Rows:
        """Return rows with names in the order of the truth's, their labels by number."""
        if self.truth is None:
            rows = rows._replace(keys=None, match=None)
        if argument != "y_score" and not rows.are_columns:
            refuse_scores(argument, rows, self.options.graded)
            if rows.are_lists and rows.names is None and rows.values is None:
                refuse_vectors(argument, rows.ptr, rows.labels, match.n_labels)
        return match.place_rows(argument, argument, rows)

    def _settle_labels(self, match: Match) -> None:
        """Settle the number of labels, once all names are known."""
        if self.options.fits:
            match.know_all()
        if match.number is not None:
            if self.n_labels and len(match.number) > self.n_labels:
                refuse_other_count(self.n_labels, len(match.number))
            self.n_labels = match.n_labels
        if self.rows and not self.n_labels:
            raise _unsized(self.rows, "y_score" if self.truth is None else "y_true")

    def _as_batch_value(self, argument: str, value: Any, placed: Rows | None, names: list[Any]) -> Any:
        """Return a value as batches take it."""
        if placed is not None:
            return self._with_names(argument, placed, names)
        if argument == "y_score" and isinstance(value, list) and self.n_labels is not None:
            return rows_of_ids(argument, value)._replace(best_first=True)
        if isinstance(value, list) or argument not in PAIRED:
            return list_sets(argument, value, self.n_labels)
        return value

    def _with_names(self, argument: str, rows: Rows, names: list[Any]) -> Rows:
        """Return placed rows with the names that order equal scores, or that go beyond the labels."""
        n_labels = self.n_labels or 0
        width = max(n_labels, int(rows.labels.max(initial=-1)) + 1)
        are_texts = bool(names) and isinstance(names[0], str)
        is_ordered = argument == "y_score" and are_texts and self.rows[argument].names is not None
        used_names = names[:width] if is_ordered or width != n_labels else None
        if argument == "y_score":
            return as_scores(rows, used_names)
        graded = self.options.graded if argument == "y_true" else None
        return as_sets(rows, graded)._replace(names=used_names)

    def _naming(self, match: Match) -> Naming:
        """Return the names of rows and labels."""
        names = match.label_names
        truth = self.rows.get("y_true")
        values = None if truth is None else truth.values
        return Naming(
            label_names=names if names and self.n_labels == len(names) else None,
            closed=match.number is None or match.closed,
            row_names=match.keys,
            by_key=match.by == BY_KEY,
            unknown=match.unknown_names,
            has_unread_grades=not self.options.graded and values is not None and bool((values > 1).any()),
            n_unmatched_pairs=match.n_unmatched_pairs,
        )


def _rows_of(opened: Mapping[str, OpenedValue]) -> dict[str, Rows]:
    """Return the rows of values with names; beside these, lists that are all empty may have names, too."""
    rows = {argument: each.rows for argument, each in opened.items()}
    if any(each is not None for each in rows.values()):
        for argument, each in opened.items():
            if rows[argument] is None:
                rows[argument] = without_labels(each.plain)
    return {argument: each for argument, each in rows.items() if each is not None}


def _count_rows(truth: object) -> int | None:
    """Return the number of rows of a truth without names, whose numbers may be keys; None if it has none."""
    shape = shape_of(truth)
    if shape:
        return shape[0]
    return len(truth) if isinstance(truth, list) else None


def _unsized(rows_of: Mapping[str, Rows], argument: str) -> InputError:
    """Return what to raise where no input tells the labels: of ids, not even how many there are."""
    which = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", a list of all"
    example = next((rows.label(0) for rows in rows_of.values() if rows.labels.size), None)
    hint = ""
    if isinstance(example, int):
        hint = f"; or ids as text, {str(example)!r} for {example}, which are names"
    return InputError(argument, Message(UNSIZED, *which, hint))


def join_by_ids(rows_of: Mapping[str, Rows], notes: list[str]) -> dict[str, Rows]:
    """Return rows by their columns of ids, or an index of ids, if the truth and predictions have keys."""
    with_ids = {argument: keyed(rows) for argument, rows in rows_of.items()}
    truth = with_ids.get("y_true")
    joined = set[str]()
    if truth is not None:
        joined = {a for a, rows in with_ids.items() if a != "y_true" and _have_keys(rows, truth)}
    for argument, rows in rows_of.items():
        notes += _notes_on_ids(argument, rows, rows_of, joined)
    if joined:
        joined.add("y_true")
    return {argument: with_ids[argument] if argument in joined else rows_of[argument] for argument in rows_of}


def _notes_on_ids(
    argument: str, rows: Rows, rows_of: Mapping[str, Rows], joined: Collection[str]
) -> list[str]:
    """Return notes on columns that name rows, by which these are matched or which are left out."""
    notes = list[str]()
    if rows.are_columns and rows.origin is not None:
        for name in filter(is_written_index, rows.origin.columns):
            notes.append(f"{argument}: column {shown(name)} is left out, as an index that pandas wrote")
    column = _id_column(rows)
    if argument in joined:
        if column is None:
            column = _id_column(rows_of["y_true"])
        if column is not None:
            notes.append(f"{argument}: rows are matched by column {shown(column)}")
    elif column is not None and not (joined and argument == "y_true"):
        side = "predictions have" if argument == "y_true" else "y_true has"
        left_out = f"{argument}: column {shown(column)} is left out"
        notes.append(f"{left_out}; {side} no ids of rows, so they are in order")
    return notes


def _id_column(rows: Rows) -> Hashable | None:
    """Return the column of a frame that names its rows, None if there is none."""
    return None if rows.origin is None else rows.origin.id_column


def _have_keys(rows: Rows, truth: Rows) -> bool:
    """Tell whether rows and those of the truth can be matched by key; one side may have an index instead."""
    if rows.keys is None or truth.keys is None or BY_KEY not in (rows.match, truth.match):
        return False
    keys, true_keys = {*rows.keys}, {*truth.keys}
    return rows.match == truth.match or keys <= true_keys or true_keys <= keys


def _refuse_transposed(values: Mapping[str, Any], n_labels: int | None) -> None:
    """Refuse predictions whose rows and columns are those of the truth turned round."""
    truth = shape_of(values.get("y_true"))
    if truth is None:
        return
    for argument in ("y_score", "y_pred"):
        shape = shape_of(values.get(argument))
        if shape is None or shape == truth:
            continue
        if shape[0] == truth[0]:
            _refuse_ids_beside(values["y_true"], shape[1])
        if shape[::-1] == truth:
            wrong, right = ("y_true", shape) if n_labels == shape[1] else (argument, truth)
            message = f"shape {right[::-1]} is the transpose of {right}; rows are instances: give {wrong}.T"
            raise InputError(wrong, message)


def _refuse_ids_beside(truth: object, n_labels: int) -> None:
    """Refuse a truth whose columns hold label ids, next to arrays of all labels."""
    array = truth.values if isinstance(truth, Rows) else truth
    if isinstance(array, np.ndarray) and array.ndim == 2:
        refuse_ids("y_true", truth, array, n_labels)


def match_truth(argument: str, value: object, n_labels: int | None, labels: object = None) -> MatchedValues:
    """Return a truth that is called otherwise, in memory or in a file, without names."""
    if is_file(value):
        from xmleval.input.shards import read_sets  # imports all formats

        value = read_sets(value)
    opened = {"y_true": OpenedValue(argument, "truth", "y_true", value=value)}
    with renaming("y_true", argument):
        return match_values(opened, MatchOptions(n_labels, labels))
