"""Differences of models on the same rows: intervals, p-values corrected for their number, wins by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError, Keyword, Message, shown
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import bound_rounding, subtract
from xmleval.results.places import GROUPS_OF
from xmleval.results.record import (
    ESTIMATED,
    MEASURE,
    SIGNS,
    UNKNOWN,
    Fields,
    Number,
    fields_of,
    half_width,
    signed,
)
from xmleval.states.results import Results
from xmleval.statistics.jackknife import Estimate, difference_p, estimate
from xmleval.statistics.paired import Outcomes, holm, paired_t_p, sign_flip_p, wilcoxon_p, wins_ties_losses

Vectors = tuple[Floats | None, Ints | None]  # weights of rows, and numbers of their clusters from 0
JACKKNIFE = "t"
OF_ROWS = {"randomisation": sign_flip_p, "paired_t": paired_t_p, "wilcoxon": wilcoxon_p}
TESTS = {
    JACKKNIFE: "paired t-test by the jackknife",
    "randomisation": "randomisation test of paired rows (sign flips)",
    "paired_t": "paired t-test of rows",
    "wilcoxon": "Wilcoxon signed-rank test of rows",
}


class Difference(NamedTuple):
    """The difference of a measure, or of a group's share of it, between two models on the same rows."""

    spec: Spec
    a: str
    b: str
    value: float  # of a minus that of b
    value_a: float
    value_b: float
    kind: str  # ``groups`` of labels, their ``shares``, or ``row_groups``; empty for all rows and labels
    group: str
    estimate: Estimate | None  # confidence interval and standard error; None for measures without
    p_value: float  # NaN where there is no test
    outcomes: Outcomes | None  # rows on which a is better, as good and worse; None unless a mean over rows
    corrected_p: float = math.nan  # by Holm's method for all tests that were asked for
    better: str | None = None  # the better model where the corrected p-value is below 1 - confidence
    same_as: str | None = None  # an earlier measure with the same differences, corrected as one test with it

    def __repr__(self) -> str:
        """Return the measure, the models and their difference, with any interval and p-value."""
        place = ", share of" if self.kind == "shares" else " within"
        group = f"{place} {self.group}" if self.kind else ""
        parts = [f"{self.a} - {self.b} = {self.value:+.6g}"]
        if self.estimate is not None:
            parts.append(f"interval {self.estimate.lower:.6g} to {self.estimate.upper:.6g}")
        if not math.isnan(self.corrected_p):
            parts.append(f"corrected p {self.corrected_p:.3g}")
        parts += [f"{self.better} better"] * (self.better is not None)
        return f"<Difference of {self.name}{group}: {', '.join(parts)}>"

    @property
    def name(self) -> str:
        """Canonical name of the measure."""
        return self.spec.name

    @property
    def n_rows(self) -> int | None:
        """Number of rows on which the measure is defined for both models, None as for ``outcomes``."""
        return None if self.outcomes is None else sum(self.outcomes)

    def text(self, number: Number) -> str:
        """Return the difference, with half the width of its confidence interval."""
        return signed(self.value, partial(number, self.spec)) + half_width(self.spec, self.estimate, number)


FIELDS: Fields = {  # of a line of CSV, and of a JSON object
    **MEASURE,
    **fields_of(a="a", b="b", value_a="value_a", value_b="value_b", difference="value"),
    **ESTIMATED,
    **fields_of(p_value="p_value", corrected_p_value="corrected_p"),
    **fields_of(wins="outcomes.wins", ties="outcomes.ties", losses="outcomes.losses"),
    **fields_of(n_rows="n_rows", better="better"),
}
PLACE: Fields = {"group_of": lambda difference: GROUPS_OF[difference.kind], **fields_of(group="group")}


def check_test(test: str, weighted: bool, clusters: object) -> None:
    """Refuse a test that does not exist, or that takes rows for independent where they are not."""
    if test not in TESTS:
        raise InputError("test", f"{shown(test)} is none of {', '.join(TESTS)}")
    if test in ("paired_t", "wilcoxon") and (weighted or clusters is not None):
        needs = f"{shown(test)} takes rows that count alike and are independent, which "
        argument = Keyword("sample_weight" if weighted else "clusters")
        raise InputError("test", Message(needs, argument, " says they are not; give 't' or 'randomisation'"))


def find_differences(
    tests: Iterable[tuple[Spec, str | None]], a: Results, b: Results, level: float, vectors: Vectors
) -> Iterator[Difference]:
    """Yield the differences of two models on the same rows, without names and with uncorrected p-values."""
    firsts = list[Spec]()
    for spec, test in tests:
        value = float(subtract(a.values[spec.name], b.values[spec.name]))
        of_a, of_b = (each.replicates.get(spec.name, UNKNOWN) for each in (a, b))
        replicates = subtract(of_a, of_b) if of_a.size == of_b.size else UNKNOWN
        width = spec.metric.range[1] - spec.metric.range[0]
        interval = estimate(value, replicates, level, -width, width)
        outcomes, p = None, difference_p(value, replicates) if test == JACKKNIFE else math.nan
        if spec.name in a.rows and spec.name in b.rows:
            rows = a.rows[spec.name], b.rows[spec.name]
            outcomes = wins_ties_losses(*rows, spec.metric.direction)
            p = OF_ROWS[test](_terms(*rows, *vectors)) if test in OF_ROWS else p
        values = value, a.values[spec.name], b.values[spec.name]
        same = (first.name for first in firsts if _have_same_differences(a, b, first, spec))
        same_as = None if math.isnan(p) else next(same, None)
        firsts += [] if math.isnan(p) or same_as else [spec]
        yield Difference(spec, "", "", *values, "", "", interval, p, outcomes, same_as=same_as)


def correct(differences: Sequence[Difference], confidence: float) -> list[Difference]:
    """Correct the p-values of all differences, and say which model is better where p < 1 - confidence."""
    firsts = [math.nan if difference.same_as else difference.p_value for difference in differences]
    corrected: dict[tuple[str, ...], float] = {}
    complete = []
    for difference, first_p in zip(differences, holm(firsts).tolist(), strict=True):
        place = difference.kind, difference.group, difference.a, difference.b
        p = corrected.setdefault((difference.same_as or difference.name, *place), first_p)
        gain = SIGNS[difference.spec.metric.direction] * difference.value
        winner = difference.a if gain > 0 else difference.b if gain < 0 else None
        complete.append(difference._replace(corrected_p=p, better=winner if p < 1 - confidence else None))
    return complete


def _have_same_differences(a: Results, b: Results, first: Spec, second: Spec) -> bool:
    """Tell whether two measures gain the same on every row or, without these, without each group."""
    in_rows = {first.name, second.name} <= a.rows.keys() & b.rows.keys()
    for kind in ("values", "rows" if in_rows else "replicates"):
        of_a, of_b = (vars(results)[kind] for results in (a, b))
        pairs = [(np.asarray(of_a[spec.name]), np.asarray(of_b[spec.name])) for spec in (first, second)]
        if pairs[0][0].shape != pairs[1][0].shape:
            return False
        signs = (-1 if spec.metric.direction == "down" else 1 for spec in (first, second))
        gains = [sign * subtract(*pair) for sign, pair in zip(signs, pairs, strict=True)]
        bound = bound_rounding(*pairs[0]) + bound_rounding(*pairs[1])
        if not (np.isnan(gains[0]) & np.isnan(gains[1]) | (np.abs(gains[0] - gains[1]) <= bound)).all():
            return False
    return True


def _terms(a: Floats, b: Floats, weight: Floats | None, clusters: Ints | None) -> Floats:
    """Return the differences of the weighted sums of each cluster, or of weighted values of rows."""
    if weight is not None:
        a, b = a * weight, b * weight
    if clusters is not None:
        defined = ~np.isnan(a + b)
        a, b = (np.bincount(clusters[defined], rows[defined]).astype(np.float64) for rows in (a, b))
    return subtract(a, b)
