"""Labels that differ most between two of several models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from xmleval.metrics.spec import Spec
from xmleval.results.changes import Change, changed_labels, label_column, values_of_label
from xmleval.show.tables import Cell, Table, as_json_value


class MovedLabels(NamedTuple):
    """The labels that differ most between two models.

    Attributes
    ----------
    a, b : str
        Names of the models.
    column : str
        What is compared, such as ``f1@5``, or ``tp@5``, the hits at 5.
    labels : list of Change
        The labels with their values by both, ``b`` and ``a``: ``change`` is the value of a minus that of b.
    """

    a: str
    b: str
    column: str
    labels: list[Change]

    def table(self, names: Mapping[str, str]) -> Table:
        """Return a table under names of the models."""
        header = ["label", names[self.a], names[self.b], "difference", "rows with it"]
        rows = [[*map(Cell, header)]]
        for one in self.labels:
            second, first, difference = values_of_label(self.column, one)
            called = str(one.number) if one.name is None else one.name
            rows.append([*map(Cell, (called, first, second, difference, str(one.support)))])
        return Table(f"{names[self.a]} - {names[self.b]}: labels that differ most by {self.column}", rows)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        labels = [
            {
                "number": one.number,
                "name": one.name,
                "value_a": as_json_value(one.b),
                "value_b": as_json_value(one.a),
                "difference": as_json_value(one.change),
                "support": one.support,
            }
            for one in self.labels
        ]
        return {"a": self.a, "b": self.b, "labels_by": self.column, "labels": labels}


def find_moved(
    specs: Iterable[Spec],
    columns: Mapping[str, Mapping[str, Any]],
    pairs: Iterable[tuple[str, str]],
    worst: int,
    names: Sequence[Any] | None,
) -> list[MovedLabels]:
    """Find the labels that differ most between pairs of models.

    Parameters
    ----------
    specs : iterable of Spec
        Measures; the first that has values by label, or a cutoff to count hits at, is what is compared.
    columns : dict of str to dict of str to array
        Values by label of each model.
    pairs : iterable of (str, str)
        The models to compare.
    worst : int
        Largest number of labels of a pair.
    names : sequence, optional
        Names of the labels.
    """
    shared = set[str].intersection(*({*own} for own in columns.values()))
    column = next(filter(None, (label_column(spec, shared) for spec in specs)), "")
    if not column:
        return []
    return [
        MovedLabels(a, b, column, changed_labels(column, columns[b], columns[a], worst, names))
        for a, b in pairs
    ]
