"""Read files, or files and values, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any

import numpy as np

from xmleval.base.budget import Resources
from xmleval.base.errors import InputError, counted, other_rows
from xmleval.evaluation.batch import Batch, BatchLocation, Counter, take_cells
from xmleval.evaluation.matched_inputs import MatchedInputs, NamedPieces
from xmleval.evaluation.request import row_fields
from xmleval.input.cell_marks import RESTRICTIONS
from xmleval.input.label_filter import LabelFilter, pairs_of_rows
from xmleval.input.pieces import Piece, Pieces, RowReader
from xmleval.input.rows import rows_by_id
from xmleval.input.scores import has_scores, list_width
from xmleval.input.text_columns import noun_of

FIRST_BYTES = 1 << 16  # read to find out what the values of a file are


def count_rows(
    counters: Sequence[Counter],
    matched: MatchedInputs,
    resources: Resources,
    skipped: int = 0,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[int]:
    """Count all rows after the first ``skipped``, and yield how many are counted so far.

    There is one counter for the scores of each model, or one if there are none. ``sources`` are
    the names of the files of the truth in saved counts, by their names in messages.
    """
    readers = Readers(matched, resources, skipped, sources)
    try:
        for batches in readers.batches():
            for counter, batch in zip(counters, batches, strict=True):
                add_located(counter, batch)
            yield readers.truth.n_taken
    finally:
        readers.close()


def add_located(counter: Counter, batch: Batch) -> None:
    """Count a batch; errors name the files that the arguments were read from."""
    try:
        counter.add(batch)
    except InputError as error:
        if batch.location is None:
            raise
        raise batch.location.located(error) from None


class Readers:
    """Readers of inputs whose rows belong together: the same number of rows is read from all."""

    def __init__(
        self, matched: MatchedInputs, resources: Resources, skipped: int, sources: Mapping[str, str]
    ) -> None:
        inputs = [matched.truth, *matched.scores, *matched.sets.values()]
        n_bytes = resources.piece(len(inputs))
        n_ranked = 1 + len(matched.scores)
        self.matched = matched
        self.sources = sources
        self.all = [RowReader(name, pieces, n_bytes, skipped) for name, pieces in inputs]
        self.truth = self.all[0]
        self.scores = self.all[1:n_ranked]
        self.sets = dict(zip(matched.sets, self.all[n_ranked:], strict=True))
        self.files: dict[str, object] = {
            argument: name for argument, (name, _) in matched.row_values.items()
        }
        self.files |= {argument: pairs.path for argument, pairs in matched.pairs.items()}

    def batches(self) -> Iterator[list[Batch]]:
        """Yield batches of all rows: one for the scores of every model, or one without scores.

        Without any rows, an empty batch lets counters know which inputs are given.
        """
        self._refuse_other_counts()
        while n := min(reader.ready() for reader in self.all):
            self._refuse_few_values(self.truth.n_taken + n)
            yield self._take(n)
        self._refuse_other_counts_at_end()
        if not self.truth.n_taken:
            yield self._empty()

    def _take(self, n: int) -> list[Batch]:
        """Return the next rows, for each model.

        When these are counted, the readers are already further: errors locate a row by the number
        of the first row of the batch.
        """
        first = self.truth.n_taken
        place = self._place(first)
        truth = self.truth.take(n)
        sets = {argument: reader.take(n) for argument, reader in self.sets.items()}
        batches = list[Batch]()
        readers: Sequence[RowReader | None] = self.scores or [None]
        for scores in readers:
            by_argument = {"y_true": self.truth, "y_score": scores, **self.sets}
            location = BatchLocation(by_argument, self.files, first, self.matched.start)
            y_score = None if scores is None else scores.take(n)
            with location.locating_errors():
                batch = self._batch(truth, y_score, sets, first, first + n)
            batches.append(batch._replace(place=place, location=location))
        return batches

    def _empty(self) -> list[Batch]:
        """Return batches without rows, for each model."""
        no_rows = rows_by_id(np.zeros(1, np.int64), np.empty(0, np.int32))
        sets: dict[str, Any] = dict.fromkeys(self.sets, no_rows)
        if not self.scores:
            return [self._batch(no_rows, None, sets, 0, 0)]
        no_scores = no_rows._replace(values=np.empty(0, np.float32))
        batch = self._batch(no_rows, no_scores, sets, 0, 0)
        return [batch for _ in self.scores]

    def _batch(
        self, truth: Piece, y_score: Piece | None, sets: Mapping[str, Any], start: int, stop: int
    ) -> Batch:
        """Return rows start..stop-1 of all inputs."""
        matched = self.matched
        restrictions = {name: sets[name] for name in RESTRICTIONS if name in sets}
        for argument, pairs in matched.pairs.items():
            restrictions[argument] = pairs_of_rows(pairs.rows, pairs.labels, start, stop)
        label_filter = LabelFilter(restrictions, matched.exclude_from == "both")
        truth_rows, label_filter = take_cells(truth, label_filter, matched.marks, matched.graded)
        row_values = {name: values[start:stop] for name, (_, values) in matched.row_values.items()}
        inputs = row_fields(row_values)
        if y_score is not None:
            inputs["y_score"] = y_score
        if "y_pred" in sets:
            inputs["y_pred"] = sets["y_pred"]
        first_row = matched.first_row
        if first_row is not None:
            first_row += start
        return Batch(
            truth_rows,
            label_filter=label_filter,
            inputs=label_filter.names.union(inputs),
            first_row=first_row,
            **inputs,
        )

    def _place(self, row: int) -> tuple[str, int] | None:
        """Return the name of the file of a row in saved counts, and the number of the row there."""
        if not self.sources:
            return None
        name, row_of_file = self.truth.locate(row)
        source = self.sources.get(name)
        return (source, row_of_file) if source else None

    def _refuse_other_counts(self) -> None:
        """Refuse inputs whose known number of rows is not that of the truth."""
        for reader in self.all:
            _refuse_other_count(self.matched.truth, reader, reader.n_rows, self.truth.n_rows)

    def _refuse_few_values(self, n_rows: int) -> None:
        """Refuse fewer values of rows, such as clusters, than there are rows so far."""
        for argument, (name, values) in self.matched.row_values.items():
            if len(values) < n_rows:
                n_all_rows = self.truth.count() or n_rows
                _refuse_other_length(argument, name, len(values), self.truth, n_all_rows)

    def _refuse_other_counts_at_end(self) -> None:
        """Refuse inputs with another number of rows than the truth, once all rows are read."""
        for reader in self.all:
            _refuse_other_count(self.matched.truth, reader, reader.count(), self.truth.count())
        for argument, (name, values) in self.matched.row_values.items():
            _refuse_other_length(argument, name, len(values), self.truth, self.truth.n_taken)
        for pairs in self.matched.pairs.values():
            pairs.refuse_outside(self.truth.n_taken, None)

    def close(self) -> None:
        """Close all files."""
        for reader in self.all:
            reader.close()


def _refuse_other_count(
    truth: NamedPieces, reader: RowReader, n_rows: int | None, expected: int | None
) -> None:
    """Refuse an input with another number of rows than the truth, if both are known."""
    if n_rows is None or expected is None or n_rows == expected:
        return
    n = reader.ready()
    width = list_width(reader.take(n), 0) if n else None
    reason = other_rows(n_rows, expected, truth[0], truth[1].n_labels, width)
    raise ValueError(f"{reader.name}: {reason}")


def _refuse_other_length(
    argument: str, name: str, n_values: int, truth: RowReader, n_rows: int
) -> None:
    """Refuse values of rows, such as clusters, whose number is not that of the rows."""
    if n_values != n_rows:
        noun = noun_of(argument)
        text = counted(n_values, f"{noun}s do not match", f"{noun} does not match")
        raise ValueError(f"{name}: {text} the {n_rows} rows of {truth.name}")


def first_rows(name: str, pieces: Pieces) -> Piece | None:
    """Return the first rows of an input; None if it has no rows."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        n = reader.ready()
        return reader.take(n) if n else None


def have_scores(name: str, pieces: Pieces) -> bool:
    """Return whether the labels of predictions have scores, from the first rows with any label."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        for n in iter(reader.ready, 0):
            are_scored = has_scores(reader.take(n))
            if are_scored is not None:
                return are_scored
    return True
