"""The inputs of an evaluation, before and after their rows and labels are matched."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from xmleval.input.cell_marks import NO_MARKS, RESTRICTIONS, CellMarks
from xmleval.input.match_values import Naming
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import Pieces
from xmleval.input.text_columns import TextPairs

NamedPieces = tuple[str, Pieces]  # the name of an input in messages, and its rows
LOG = logging.getLogger("xmleval.evaluation")


class MatchedInputs(NamedTuple):
    """Inputs whose rows are in one order and whose labels have the truth's numbers.

    truth, scores, sets : relevant labels, scores of each model, and sets of labels by argument
    namings, notes : names of rows and labels, and notes on matching them, for each report
    by_name : whether rows or labels are matched by name
    pairs : numbers of rows and labels by argument, such as those to exclude, from the part that
        ``exclude_from`` names
    marks, graded : what the truth tells of judged cells, and whether it keeps its grades
    row_values : weights, clusters and groups of rows, by argument, each with a name for messages
    first_row, start : number of the first row in the whole data of many files, and in these
    """

    truth: NamedPieces
    scores: list[NamedPieces]
    sets: dict[str, NamedPieces]
    namings: Sequence[Naming] = ()
    notes: Sequence[list[str]] = ()  # lists that matching and reading add to
    by_name: bool = False
    pairs: Mapping[str, TextPairs] = MappingProxyType({})
    exclude_from: str = "both"
    marks: CellMarks = NO_MARKS
    graded: bool = False
    row_values: Mapping[str, tuple[str, Sequence[Any]]] = MappingProxyType({})
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
        for report_notes in self.notes:
            report_notes += notes


class OpenedInputs(NamedTuple):
    """The arguments that have a row for each instance, before they are matched.

    The file of the truth may contain predicted sets, too; then ``sets["y_pred"]`` is ``truth``.
    """

    truth: Opened
    models: Sequence[Opened]
    sets: Mapping[str, Opened]

    @property
    def predictions(self) -> list[Opened]:
        """Predicted sets, and the scores of models."""
        predictions = [*self.models]
        if "y_pred" in self.sets:
            predictions.insert(0, self.sets["y_pred"])
        return predictions

    @property
    def in_truth_file(self) -> bool:
        """Whether the file of the truth contains predictions."""
        return self.sets.get("y_pred") is self.truth

    @property
    def are_values(self) -> bool:
        """Whether all inputs are values in memory."""
        inputs = self.truth, *self.models, *self.sets.values()
        return all(isinstance(opened, OpenedValue) for opened in inputs)

    @property
    def have_names(self) -> bool:
        """Whether rows or labels of the truth or of predictions have names."""
        return self.truth.named or any(model.named for model in self.predictions)

    @property
    def share_restrictions(self) -> bool:
        """Whether several models share exclusions or candidates.

        Each model numbers the unknown labels of these differently.
        """
        return len(self.models) > 1 and not self.sets.keys().isdisjoint(RESTRICTIONS)
