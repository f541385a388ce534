"""A batch: rows of all inputs that are counted at once, with what tells where they come from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from xmleval.base.conventions import Conventions
from xmleval.base.errors import InputError, LabelRangeError, Message, counted
from xmleval.evaluation.request import Data
from xmleval.evaluation.settings import MISSING
from xmleval.input.door import OPEN, Door, make_door
from xmleval.input.glances import swapped_notes
from xmleval.input.match import PREDICTIONS
from xmleval.input.match_values import MatchOptions, Naming, match_values
from xmleval.input.opened import OpenedValue, kind_of
from xmleval.input.pieces import RowReader
from xmleval.input.sets import set_rows
from xmleval.input.vectors import of_rows

OF_ROWS = ("sample_weight", "clusters", "row_groups")  # arguments with a value for each row
NO_NAMES = Naming()


class BatchLocation(NamedTuple):
    """Where the rows of a batch come from.

    readers : of arguments that are read row by row
    files : names of what other arguments were read from
    first : number of the first row, over all files of each reader
    start : what to add to it for arguments without a reader, as the rows of a task begin there
    """

    readers: Mapping[str, RowReader | None]
    files: Mapping[str, object] = {}
    first: int = 0
    start: int = 0

    @contextlib.contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Raise errors about arguments as errors about what was read."""
        try:
            yield
        except InputError as error:
            raise self.located(error) from None

    def located(self, error: InputError) -> ValueError:
        """Return an error about an argument as one about what it was read from, and its row there."""
        argument, reason = error.argument, error.reason
        row = self.first + (error.row or 0)
        reader, truth = self.readers.get(argument), self.readers.get("y_true")
        if reader is None:
            name, row = self.files.get(argument), self.start + row
        else:
            name, row = reader.locate(row)
        if isinstance(error, LabelRangeError) and truth not in (None, reader) and truth.n_labels:
            reason = Message(reason, f"; {truth.name} has {counted(truth.n_labels, 'labels')}")
        error = InputError(argument, reason, row=None if error.row is None else row, value=error.value)
        return error if name in (None, argument) else ValueError(Message(name, ": ", error.message))


class Batch(NamedTuple):
    """Rows of all inputs, whose labels are called by number.

    truth : relevant labels: rows by id, a matrix or, by `with_checked_truth`, a source of checked rows
    naming : names of rows and labels
    door : what takes labels out of rows
    inputs : names of the arguments that are given beside the truth
    notes : what was seen in matching and in the values
    first_row : number of the first row in the whole data, where it is known
    place : source of the rows, and the number of the first in it, where these are known
    location : what they were read from; None of values that were given
    """

    truth: Any
    y_score: Any = None
    y_pred: Any = None
    sample_weight: Any = None
    clusters: Any = None
    row_groups: Any = None
    naming: Naming = NO_NAMES
    door: Door = OPEN
    inputs: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    first_row: int | None = None
    place: tuple[str, int] | None = None
    location: BatchLocation | None = None

    def with_checked_truth(self, n_labels: int | None, gains: str | None = None) -> Batch:
        """Return the batch with a truth of so many labels as a source of checked rows."""
        return self._replace(truth=set_rows("y_true", self.truth, n_labels, gains=gains))


class Counter(Protocol):
    """What takes batches, as evaluators do."""

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch, or refuse them all."""


def open_batch(data: Data, options: MatchOptions, conventions: Conventions, look_at: bool) -> Batch:
    """Return values as a batch, their rows and labels matched.

    ``look_at`` tells whether to look if grades and scores are swapped.
    """
    door = OPEN
    if data.exclude is not None or data.candidates is not None or data.exclude_from != "both":
        door = make_door(data.exclude, data.exclude_from, data.candidates)
    if data.y_true is None:
        raise InputError("y_true", MISSING)
    given = {"y_true": data.y_true, "y_score": data.y_score, "y_pred": data.y_pred, **door.sets}
    opened = {
        argument: OpenedValue(argument, kind_of(argument), argument, value=value, n_labels=options.n_labels)
        for argument, value in given.items()
        if value is not None
    }
    values, n_labels, naming, matched_notes = match_values(opened, options)
    if door.sets:
        door = door.with_sets([values[name] for name in door.sets], naming.n_unmatched_pairs)
    inputs: dict[str, Any] = {name: values[name] for name in PREDICTIONS if name in values}
    for name in OF_ROWS:
        vector = getattr(data, name)
        if vector is not None:
            inputs[name] = of_rows(name, vector, naming.row_names)
    notes = [*matched_notes]
    if look_at:
        notes += swapped_notes("y_true", values["y_true"], "y_score", values.get("y_score"))
    batch = Batch(
        values["y_true"],
        naming=naming,
        door=door,
        inputs=door.names.union(inputs),
        notes=notes,
        **inputs,
    )
    return batch.with_checked_truth(n_labels, conventions.gains)
