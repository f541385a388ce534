"""Results of states: values by name, with their intervals, counts and kept details."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xmleval.base.arrays import Floats
from xmleval.statistics.jackknife import Estimate

NOT_BY_SPEC = ("labels", "points", "not_computed", "notes", "groups", "shares", "row_groups")


class Reliability(NamedTuple):
    """Bins of scores, float64 (bins,) each.

    lower, upper : ends of the bins
    n : weight of pairs
    mean_score : mean score of the pairs, NaN without pairs
    hit_rate : share of hits, NaN without pairs
    """

    lower: Floats
    upper: Floats
    n: Floats
    mean_score: Floats
    hit_rate: Floats


class ListLength(NamedTuple):
    """Mean and largest number of labels that rows list, without empty lists."""

    mean: float
    deepest: int


@dataclass
class Results:
    """Values by name (NaN if undefined), with their intervals, counts and kept details."""

    values: dict[str, float] = field(default_factory=dict)
    # lower and upper bounds, where the scores do not determine the value
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    # numbers of undefined rows and labels that a mean excludes, if any
    undefined_rows: dict[str, int] = field(default_factory=dict)
    undefined_labels: dict[str, int] = field(default_factory=dict)
    # lowest predicted score, for measures that search for the best threshold
    thresholds: dict[str, float] = field(default_factory=dict)
    # kept per-row values, NaN for excluded rows
    rows: dict[str, Floats] = field(default_factory=dict)
    # smallest and largest value of each kept row over all orders of equal scores
    row_intervals: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    # points of curves, float64 (p, 3): score, numbers of relevant and irrelevant entries at or
    # above it
    points: dict[str, Floats] = field(default_factory=dict)
    # specs that the counted rows leave undefined, and the input they need
    not_computed: dict[str, str] = field(default_factory=dict)
    # notes on the rows and what they do to the values, by kind
    notes: dict[str, str] = field(default_factory=dict)
    # specs that read lists which lack labels; where unlisted labels have a score, only if several
    # rows list the same, largest number of labels, as cut lists do
    cut: dict[str, bool] = field(default_factory=dict)
    # specs in ``cut`` that read more labels than the lists contain. Within label groups, specs that
    # read more than some row lists, whether or not lists are cut
    short: dict[str, ListLength] = field(default_factory=dict)
    # share of the rows with relevant labels in which the value depends on the order of equal scores
    tied: dict[str, float] = field(default_factory=dict)
    # the same for shares of label groups, which also depend on the order of relevant labels
    tied_shares: dict[str, float] = field(default_factory=dict)
    # smallest and largest value over all orders of equal scores, where models are compared
    tie_bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    # results within label groups, their shares of the values of all labels, and results of row
    # groups, by the name of the group
    groups: dict[str, Part] = field(default_factory=dict)
    shares: dict[str, Part] = field(default_factory=dict)
    row_groups: dict[str, Part] = field(default_factory=dict)
    # values without each of the jackknife groups of the rows, float64 (n_groups,), for standard
    # errors
    replicates: dict[str, Floats] = field(default_factory=dict)
    # bins of measures of calibration
    reliability: dict[str, Reliability] = field(default_factory=dict)
    # confidence intervals of saved results, whose values without each jackknife group are not kept
    estimates: dict[str, Estimate] = field(default_factory=dict)

    def add(self, results: Results) -> None:
        """Add the results of another state."""
        for kind, values in vars(results).items():
            if values:
                vars(self)[kind].update(values)

    def negate_thresholds(self) -> None:
        """Convert thresholds of negated scores to thresholds of the scores."""
        self.thresholds = {name: 0 - score for name, score in self.thresholds.items()}
        for name, column in self.labels.items():
            if name.startswith("threshold"):
                self.labels[name] = 0 - column
        self.points = {name: points * [-1, 1, 1] + 0.0 for name, points in self.points.items()}

    def keep_only(self, names: list[str]) -> None:
        """Keep the results of some specs, in this order, and all labels, points and notes."""
        for kind, values in vars(self).items():
            if values and kind not in NOT_BY_SPEC:
                vars(self)[kind] = {name: values[name] for name in names if name in values}

    def leave_out(self, names: Collection[str]) -> None:
        """Remove some specs, in groups, too."""
        if not names:
            return
        parts = (*self.groups.values(), *self.shares.values(), *self.row_groups.values())
        for results in (self, *(part.results for part in parts)):
            results.keep_only([name for name in results.values if name not in names])


class Part(NamedTuple):
    """Results of a part of the data, and its size."""

    results: Results
    n_rows: int
    n_labels: int
