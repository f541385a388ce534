"""Results: values by name, and what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xmleval.records import Floats


@dataclass
class Results:
    """Values by name (NaN where they are undefined), and what belongs to them.

    Parameters
    ----------
    values : dict of str to float
        Values of the specs.
    intervals : dict of str to tuple of float
        Lowest and highest value, where the scores do not tell it.
    rows_left_out, labels_left_out : dict of str to int
        Rows, and labels, that a mean leaves out as undefined, where there are any.
    thresholds : dict of str to float
        Lowest score that is predicted where a measure looks for the best one.
    rows : dict of str to array
        Kept values of every row, NaN where a mean leaves the row out.
    labels : dict of str to array
        Results of every label.
    points : dict of str to array
        Points of curves, float64 (p, 3): score, relevant and irrelevant entries at or above it.
    left_open : dict of str to str
        Specs without a value because of what the rows turned out to be, and what they need.
    """

    values: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    rows_left_out: dict[str, int] = field(default_factory=dict)
    labels_left_out: dict[str, int] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, Floats] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    points: dict[str, Floats] = field(default_factory=dict)
    left_open: dict[str, str] = field(default_factory=dict)

    def add(self, other: Results) -> None:
        """Take over what another state found."""
        for kind, found in vars(self).items():
            found.update(getattr(other, kind))

    def only(self, names: list[str]) -> Results:
        """Return what belongs to some specs, in their order; results of labels and points stay."""
        kept = Results(labels=self.labels, points=self.points, left_open=self.left_open)
        for kind in ("values", "intervals", "rows_left_out", "labels_left_out", "thresholds", "rows"):
            held = getattr(self, kind)
            if held:
                setattr(kept, kind, {name: held[name] for name in names if name in held})
        return kept
