"""A batch: rows of all inputs that are counted at once, and where they come from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from xmleval.base.errors import InputError, LabelRangeError, Message, counted
from xmleval.evaluation.request import Data, cells_of, row_fields
from xmleval.evaluation.settings import MISSING
from xmleval.input.cell_marks import (
    JUDGED,
    NO_MARKS,
    UNJUDGED,
    CellMarks,
    marks_of,
)
from xmleval.input.label_filter import NO_FILTER, LabelFilter, make_label_filter
from xmleval.input.marked_cells import listed_cells, take_marked
from xmleval.input.match import PREDICTIONS, as_sets, refuse_scores
from xmleval.input.match_values import NO_NAMES, MatchOptions, Naming, match_values
from xmleval.input.opened import OpenedValue, kind_of
from xmleval.input.pieces import RowReader
from xmleval.input.plausibility import swapped_notes
from xmleval.input.rows import Rows
from xmleval.input.sets import set_rows
from xmleval.input.vectors import match_row_values


class BatchLocation(NamedTuple):
    """Where the rows of a batch come from.

    readers : readers of the arguments that are read row by row
    files : names of the files of other arguments
    first : number of the first row, over all files of a reader
    start : number of the first row of a task, to be added for arguments without a reader
    """

    readers: Mapping[str, RowReader | None]
    files: Mapping[str, object] = {}
    first: int = 0
    start: int = 0

    @contextlib.contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Raise errors about arguments as errors about their files."""
        try:
            yield
        except InputError as error:
            raise self.located(error) from None

    def located(self, error: InputError) -> ValueError:
        """Return an error about an argument as one about its file and the row there."""
        argument = error.argument
        reason = error.reason
        row = self.first + (error.row or 0)
        reader = self.readers.get(argument)
        truth = self.readers.get("y_true")
        if reader is None:
            name = self.files.get(argument)
            row = self.start + row
        else:
            name, row = reader.locate(row)
        if isinstance(error, LabelRangeError) and truth not in (None, reader) and truth.n_labels:
            reason = Message(reason, f"; {truth.name} has {counted(truth.n_labels, 'labels')}")
        error = InputError(
            argument, reason, row=None if error.row is None else row, value=error.value
        )
        if name is None or name == argument:
            return error
        return ValueError(Message(name, ": ", error.message))


class Batch(NamedTuple):
    """Rows of all inputs, with label ids.

    truth : relevant labels: rows by id, a matrix or, by `with_checked_truth`, a source of checked
        rows
    naming : names of rows and labels
    label_filter : exclusions and candidates
    inputs : names of the arguments other than the truth
    notes : notes on the match and on the values
    first_row : number of the first row in the whole data, if it is known
    place : source of the rows, and the number of the first in it, if these are known
    location : where the rows were read from; None for values in memory
    """

    truth: Any
    y_score: Any = None
    y_pred: Any = None
    sample_weight: Any = None
    clusters: Any = None
    row_groups: Any = None
    row_data: Mapping[str, Any] = MappingProxyType({})
    naming: Naming = NO_NAMES
    label_filter: LabelFilter = NO_FILTER
    inputs: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    first_row: int | None = None
    place: tuple[str, int] | None = None
    location: BatchLocation | None = None

    @property
    def marked_cells(self) -> dict[str, Any]:
        """Sets of labels that the truth marked as judged or not, by argument."""
        return {name: self.label_filter.sets[name] for name in self.label_filter.marks}

    def with_checked_truth(self, n_labels: int | None, gains: str | None = None) -> Batch:
        """Return the batch with a truth of so many labels as a source of checked rows."""
        return self._replace(truth=set_rows("y_true", self.truth, n_labels, gains=gains))


def take_cells(
    truth: Any, label_filter: LabelFilter, marks: CellMarks, graded: bool
) -> tuple[Any, LabelFilter]:
    """Return the truth without marks of cells, and the filter with the marked cells.

    ``graded`` is whether the truth keeps its grades, also those of irrelevant labels.
    """
    if marks == NO_MARKS:
        return truth, label_filter
    cells = dict[str, Any]()
    if marks.are_listed:
        cells[JUDGED] = listed_cells(truth)
    if marks.unjudged is not None:
        truth, cells[UNJUDGED] = take_marked(truth, marks.unjudged)
    if isinstance(truth, Rows) and not graded:
        if truth.values is not None and truth.values.ndim == 1:
            refuse_scores("y_true", truth, graded)
        truth = as_sets(truth, graded)
    sets = label_filter.sets | cells
    return truth, replace(label_filter, sets=sets, marks=marks.by_argument)


class Counter(Protocol):
    """Anything that counts batches, such as an evaluator."""

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch, or refuse them all."""


def open_batch(data: Data, options: MatchOptions, gains: str, look_at: bool) -> Batch:
    """Return values as a batch, with rows and labels matched.

    ``gains`` are those that grades of the truth are read as, "binary" for none; ``look_at`` is
    whether to note grades and scores that look swapped.
    """
    label_filter = _open_filter(data)
    opened = _open_values(data, label_filter, options.n_labels)
    marks = marks_of(data.unjudged, data.judged)
    if marks != NO_MARKS:
        options = options._replace(has_marks=True)
    values, n_labels, naming, matched_notes = match_values(opened, options)
    if label_filter.sets:
        label_filter = label_filter.with_sets(
            [values[name] for name in label_filter.sets], naming.n_unmatched_pairs
        )
    values["y_true"], label_filter = take_cells(
        values["y_true"], label_filter, marks, graded=gains != "binary"
    )
    inputs: dict[str, Any] = {name: values[name] for name in PREDICTIONS if name in values}
    matched_values = dict[str, Any]()
    for argument, row_values in data.row_values.items():
        matched_values[argument] = match_row_values(argument, row_values, naming.row_names)
    inputs |= row_fields(matched_values)
    notes = [*matched_notes]
    if look_at:
        notes += swapped_notes("y_true", values["y_true"], "y_score", values.get("y_score"))
    batch = Batch(
        values["y_true"],
        naming=naming,
        label_filter=label_filter,
        inputs=label_filter.names.union(inputs),
        notes=notes,
        **inputs,
    )
    return batch.with_checked_truth(n_labels, gains)


def _open_filter(data: Data) -> LabelFilter:
    """Return the labels that arguments leave out of rows; marks of the truth are not among them."""
    arguments = data.exclude, data.unjudged, data.judged, data.candidates
    if data.exclude_from == "both" and all(value is None for value in arguments):
        return NO_FILTER
    return make_label_filter(data.exclude, data.exclude_from, data.candidates, **cells_of(data))


def _open_values(
    data: Data, label_filter: LabelFilter, n_labels: int | None
) -> dict[str, OpenedValue]:
    """Return the values that have a row for each instance, by argument, the truth first."""
    if data.y_true is None:
        raise InputError("y_true", MISSING)
    values_by_argument = {
        "y_true": data.y_true,
        "y_score": data.y_score,
        "y_pred": data.y_pred,
        **label_filter.sets,
    }
    opened = dict[str, OpenedValue]()
    for argument, value in values_by_argument.items():
        if value is not None:
            opened[argument] = OpenedValue(
                argument, kind_of(argument), argument, value=value, n_labels=n_labels
            )
    return opened
