"""What is given for an evaluation, and its rows once they are matched."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any, NamedTuple

from xmleval.base.notes import Note
from xmleval.input.door import PAIRS, RESTRICTIONS
from xmleval.input.match_values import Naming
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import Piece, Pieces, RowReader
from xmleval.input.scores import has_scores
from xmleval.input.small_texts import Pairs
from xmleval.metrics.spec import Spec

NamedPieces = tuple[str, Pieces]  # an input, and the name that messages call it by
LOG = logging.getLogger("xmleval.evaluation")
FIRST_BYTES = 1 << 16  # read to tell what the values of a file are


class MatchedInputs(NamedTuple):
    """Inputs whose rows are in one order and whose labels have the truth's numbers.

    truth, scores, sets : rows, those of the scores of each model, and sets of labels by argument
    namings, notes : names of rows and labels of each report, and what was seen in matching them
    by_name : whether rows or labels are matched by name
    pairs : what is excluded by the numbers of a row and a label, from what ``exclude_from`` tells
    of_rows : a name and an entry for each row, by argument
    first_row, start : number of the first row in the whole data of many files, and in these
    """

    truth: NamedPieces
    scores: list[NamedPieces]
    sets: dict[str, NamedPieces]
    namings: Sequence[Naming] = ()
    notes: Sequence[list[str]] = ()  # which grow
    by_name: bool = False
    pairs: Pairs | None = None
    exclude_from: str = "both"
    of_rows: Mapping[str, tuple[str, Sequence[Any]]] = MappingProxyType({})
    first_row: int | None = None
    start: int = 0

    @property
    def label_names(self) -> list[Any] | None:
        """Names of labels by number, if they have any."""
        return self.namings[0].label_names

    @property
    def row_names(self) -> list[Any] | None:
        """Names of rows in order, if they have any."""
        return self.namings[0].row_names

    def note(self, notes: Sequence[str]) -> None:
        """Add notes to each report."""
        for of_report in self.notes:
            of_report += notes


class OpenedInputs(NamedTuple):
    """What is given for each argument that has a row for each instance, before it is matched.

    Predicted sets may stand in the truth's own file, which is then both.
    """

    truth: Opened
    models: Sequence[Opened]
    sets: Mapping[str, Opened]

    @property
    def predictions(self) -> list[Opened]:
        """Predicted sets, and the scores of models."""
        y_pred = self.sets.get("y_pred")
        return [*self.models] if y_pred is None else [y_pred, *self.models]

    @property
    def in_truth_file(self) -> bool:
        """Whether predictions stand in the file of the truth."""
        return self.sets.get("y_pred") is self.truth

    @property
    def are_values(self) -> bool:
        """Whether none of them is a file."""
        return all(isinstance(each, OpenedValue) for each in (self.truth, *self.models, *self.sets.values()))

    @property
    def have_names(self) -> bool:
        """Whether rows or labels of the truth or of predictions have names."""
        return self.truth.named or any(model.named for model in self.predictions)

    @property
    def share_restrictions(self) -> bool:
        """Whether several models share sets whose unknown labels each of them numbers in its own way."""
        return len(self.models) > 1 and not self.sets.keys().isdisjoint(RESTRICTIONS)


def first_rows(name: str, pieces: Pieces) -> Piece | None:
    """Return the first rows of an input, None where it has none."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        n = reader.ready()
        return reader.take(n) if n else None


def have_scores(name: str, pieces: Pieces) -> bool:
    """Tell whether labels of predictions come with scores, from the first rows that list any."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        scored = (has_scores(reader.take(n)) for n in iter(reader.ready, 0))
        return next((each for each in scored if each is not None), True)


def read_grades(asked: Sequence[tuple[Spec, bool]]) -> bool:
    """Tell whether any measure would read grades of the truth."""
    return any(spec.metric.by_row for spec, _ in asked)


def unmatched_pairs(exclude_from: str, n_pairs: int) -> list[Note]:
    """Return a note on pairs to exclude whose row or label is in no other input, if there are any."""
    return [Note("exclude", PAIRS[exclude_from == "both"], 0, n_pairs)] if n_pairs else []
