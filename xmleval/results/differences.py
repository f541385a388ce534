"""Differences of models on the same rows: intervals, corrected p-values, and wins by row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError, Keyword, Message, printable, shown
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
from xmleval.show.tables import short
from xmleval.states.results import Results
from xmleval.statistics.jackknife import Estimate, difference_p, estimate
from xmleval.statistics.paired import (
    Outcomes,
    holm,
    paired_t_p,
    sign_flip_p,
    wilcoxon_p,
    wins_ties_losses,
)

Vectors = tuple[Floats | None, Ints | None]  # weights of rows, and numbers of their clusters from 0
JACKKNIFE = "t"
ROW_TESTS = {"randomisation": sign_flip_p, "paired_t": paired_t_p, "wilcoxon": wilcoxon_p}
TESTS = {
    JACKKNIFE: "jackknife t-test over groups of rows",
    "randomisation": "randomisation test of paired rows (sign flips)",
    "paired_t": "paired t-test of rows",
    "wilcoxon": "Wilcoxon signed-rank test of rows",
}


class Difference(NamedTuple):
    """The difference of a measure, or of a group's share of it, between two models."""

    spec: Spec
    a: str
    b: str
    value: float  # of a minus that of b
    value_a: float
    value_b: float
    # ``groups`` of labels, their ``shares``, or ``row_groups``; empty for all rows and labels
    kind: str
    group: str
    estimate: Estimate | None  # confidence interval and standard error; None for measures without
    p_value: float  # NaN where there is no test
    # rows on which a is better, as good and worse; None unless a mean over rows
    outcomes: Outcomes | None
    corrected_p: float = math.nan  # by Holm's method for all tests that were asked for
    # the better model where the corrected p-value is below 1 - confidence
    better: str | None = None
    # an earlier measure with the same differences, corrected as one test with it
    same_as: str | None = None

    def __str__(self) -> str:
        """Return the measure, the models and their difference, with any interval and p-value."""
        subject = self.spec.symbol
        if self.kind == "shares":
            subject += f", share of {self.group}"
        elif self.kind:
            subject += f" within {self.group}"
        text = f"{subject}: {self.a} - {self.b} = {signed(self.value)}"
        if self.estimate is not None:
            text += f" [{short(self.estimate.lower)}, {short(self.estimate.upper)}]"
        if not math.isnan(self.corrected_p):
            verdict = "no difference seen" if self.better is None else f"{self.better} better"
            text += f", p {p_text(self.corrected_p)} ({verdict})"
        return printable(text)

    def __repr__(self) -> str:
        """Return the same in angle brackets."""
        return f"<Difference of {self}>"

    @property
    def name(self) -> str:
        """Canonical name of the measure."""
        return self.spec.name

    @property
    def n_rows(self) -> int | None:
        """Number of rows on which the measure is defined for both models; None as ``outcomes``."""
        return None if self.outcomes is None else sum(self.outcomes)

    def _text(self, number: Number) -> str:
        """Return the difference, with half the width of its confidence interval."""
        value = signed(self.value, partial(number, self.spec))
        return value + half_width(self.spec, self.estimate, number)


FIELDS: Fields = {  # of a line of CSV
    **MEASURE,
    **fields_of(a="a", b="b", value_a="value_a", value_b="value_b", difference="value"),
    **ESTIMATED,
    **fields_of(p_value="p_value", corrected_p_value="corrected_p"),
    **fields_of(wins="outcomes.wins", ties="outcomes.ties", losses="outcomes.losses"),
    **fields_of(n_rows="n_rows", better="better"),
}
MEMBERS: Fields = {**FIELDS, **fields_of(same_as="same_as")}  # of a JSON object
PLACE: Fields = {
    "group_of": lambda difference: GROUPS_OF[difference.kind],
    **fields_of(group="group"),
}


def p_text(p: float) -> str:
    """Return a p-value as tables show it; nothing if there is no test."""
    if math.isnan(p):
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def check_test(test: str, weighted: bool, clusters: object) -> None:
    """Refuse an unknown test, and tests of independent rows if rows are not independent."""
    if test not in TESTS:
        raise InputError("test", f"{shown(test)} is not one of {', '.join(TESTS)}")
    if test in ("paired_t", "wilcoxon") and (weighted or clusters is not None):
        assumption = f"{shown(test)} needs independent rows of equal weight, but "
        argument = Keyword("sample_weight" if weighted else "clusters")
        advice = " says otherwise; give 't' or 'randomisation'"
        raise InputError("test", Message(assumption, argument, advice))


def find_differences(
    tests: Iterable[tuple[Spec, str | None]], a: Results, b: Results, level: float, vectors: Vectors
) -> Iterator[Difference]:
    """Yield the differences of two models on the same rows.

    They have no names yet, and p-values are not corrected.
    """
    tested = list[Spec]()
    for spec, test in tests:
        value_a = a.values[spec.name]
        value_b = b.values[spec.name]
        value = float(subtract(value_a, value_b))
        replicates = _difference_replicates(spec, a, b)
        width = spec.metric.range[1] - spec.metric.range[0]
        interval = estimate(value, replicates, level, -width, width)
        outcomes = None
        p = math.nan
        if test == JACKKNIFE:
            p = difference_p(value, replicates)
        if spec.name in a.rows and spec.name in b.rows:
            rows = (a.rows[spec.name], b.rows[spec.name])
            outcomes = wins_ties_losses(*rows, spec.metric.direction)
            if test in ROW_TESTS:
                p = ROW_TESTS[test](_terms(*rows, *vectors))
        same_as = None
        if not math.isnan(p):
            same_as = _find_same(spec, tested, a, b)
            if same_as is None:
                tested.append(spec)
        yield Difference(
            spec=spec,
            a="",
            b="",
            value=value,
            value_a=value_a,
            value_b=value_b,
            kind="",
            group="",
            estimate=interval,
            p_value=p,
            outcomes=outcomes,
            same_as=same_as,
        )


def _difference_replicates(spec: Spec, a: Results, b: Results) -> Floats:
    """Return the differences without each jackknife group; none if a model has none."""
    replicates_a = a.replicates.get(spec.name, UNKNOWN)
    replicates_b = b.replicates.get(spec.name, UNKNOWN)
    if replicates_a.size != replicates_b.size:
        return UNKNOWN
    return subtract(replicates_a, replicates_b)


def _find_same(spec: Spec, tested: Iterable[Spec], a: Results, b: Results) -> str | None:
    """Return the first tested measure with the same differences, if there is any."""
    for earlier in tested:
        if _have_same_differences(a, b, earlier, spec):
            return earlier.name
    return None


def correct(differences: Sequence[Difference], confidence: float) -> list[Difference]:
    """Return differences with corrected p-values, and the better model if p < 1 - confidence."""
    p_values = [
        math.nan if difference.same_as else difference.p_value for difference in differences
    ]
    corrected: dict[tuple[str, ...], float] = {}
    complete = []
    for difference, first_p in zip(differences, holm(p_values).tolist(), strict=True):
        place = difference.kind, difference.group, difference.a, difference.b
        p = corrected.setdefault((difference.same_as or difference.name, *place), first_p)
        better = None
        if p < 1 - confidence:
            better = _winner(difference)
        complete.append(difference._replace(corrected_p=p, better=better))
    return complete


def _winner(difference: Difference) -> str | None:
    """Return the model with the better value; None if the values are equal."""
    gain = SIGNS[difference.spec.metric.direction] * difference.value
    if gain > 0:
        return difference.a
    return difference.b if gain < 0 else None


def _have_same_differences(a: Results, b: Results, first: Spec, second: Spec) -> bool:
    """Return whether two measures have the same gains, in total and on every row.

    Without row values, gains without each jackknife group are compared.
    """
    if not _have_same_gains(a.values, b.values, first, second):
        return False
    if {first.name, second.name} <= a.rows.keys() & b.rows.keys():
        return _have_same_gains(a.rows, b.rows, first, second)
    return _have_same_gains(a.replicates, b.replicates, first, second)


def _have_same_gains(
    a: Mapping[str, float | Floats], b: Mapping[str, float | Floats], first: Spec, second: Spec
) -> bool:
    """Return whether two measures gain the same from b to a, up to rounding."""
    first_pair = (np.asarray(a[first.name]), np.asarray(b[first.name]))
    second_pair = (np.asarray(a[second.name]), np.asarray(b[second.name]))
    if first_pair[0].shape != second_pair[0].shape:
        return False
    first_gains = _gains(first, *first_pair)
    second_gains = _gains(second, *second_pair)
    bound = bound_rounding(*first_pair) + bound_rounding(*second_pair)
    are_undefined = np.isnan(first_gains) & np.isnan(second_gains)
    are_equal = np.abs(first_gains - second_gains) <= bound
    return bool((are_undefined | are_equal).all())


def _gains(spec: Spec, a: Floats, b: Floats) -> Floats:
    """Return how much better a is than b."""
    sign = -1 if spec.metric.direction == "down" else 1
    return sign * subtract(a, b)


def _terms(a: Floats, b: Floats, weight: Floats | None, clusters: Ints | None) -> Floats:
    """Return the differences of the weighted values by row, or of their sums by cluster."""
    if weight is not None:
        a = a * weight
        b = b * weight
    if clusters is not None:
        is_defined = ~np.isnan(a + b)
        clusters = clusters[is_defined]
        a = np.bincount(clusters, a[is_defined]).astype(np.float64)
        b = np.bincount(clusters, b[is_defined]).astype(np.float64)
    return subtract(a, b)
