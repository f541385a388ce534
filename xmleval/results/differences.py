"""Differences of models on the same rows: intervals, p-values corrected for their number, wins by rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError, Keyword, Message, did_you_mean
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import bound_rounding, subtract
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

JACKKNIFE = "t"
OF_ROWS: dict[str, Callable[[Floats], float]] = {
    "randomisation": sign_flip_p,
    "paired_t": paired_t_p,
    "wilcoxon": wilcoxon_p,
}
TESTS = {
    JACKKNIFE: "paired t-test by the jackknife",
    "randomisation": "randomisation test of paired rows (sign flips)",
    "paired_t": "paired t-test of rows",
    "wilcoxon": "Wilcoxon signed-rank test of rows",
}


class Difference(NamedTuple):
    """The difference of a measure between two models on the same rows.

    Attributes
    ----------
    name : str
        Canonical name of the measure.
    a, b : str
        Names of the models.
    value : float
        Value of a minus that of b.
    estimate : Estimate or None
        Its confidence interval and standard error, None for measures without.
    p_value, corrected_p : float
        p-value of the test, and that corrected by Holm's method for all tests that were asked for; NaN where
        there is none.
    outcomes : Outcomes or None
        Rows on which a is better, as good and worse; None for measures that are no means over rows.
    better : str or None
        The better model where the corrected p-value is below 1 - confidence, otherwise None.
    same_as : str or None
        Name of an earlier measure that has the same differences on every row, with which this one is
        corrected as one test, otherwise None.
    """

    name: str
    a: str
    b: str
    value: float
    estimate: Estimate | None
    p_value: float
    corrected_p: float
    outcomes: Outcomes | None
    better: str | None
    same_as: str | None = None

    @property
    def n_rows(self) -> int | None:
        """Number of rows on which the measure is defined for both models, None as for ``outcomes``."""
        return None if self.outcomes is None else sum(self.outcomes)


def check_test(test: str, weighted: bool, clusters: Any) -> None:
    """Refuse a test that does not exist, or that takes rows for independent where they are not."""
    if test not in TESTS:
        near = did_you_mean(str(test), TESTS)
        raise InputError("test", f"{test!r} is none of {', '.join(TESTS)}{near and f'; {near}'}")
    if test in OF_ROWS and test != "randomisation" and (weighted or clusters is not None):
        given = Keyword("sample_weight" if weighted else "clusters")
        needs = f"{test!r} takes rows that count alike and are independent, which ", given
        raise InputError("test", Message(*needs, " says they are not; expected 't' or 'randomisation'"))


def find_differences(
    results: Mapping[str, Results],
    pairs: Iterable[tuple[str, str]],
    specs: Sequence[Spec],
    confidence: float,
    test: str = JACKKNIFE,
    comparable: Callable[[Spec, str, str], bool] = lambda spec, a, b: True,
    weight: Floats | None = None,
    clusters: Ints | None = None,
) -> list[Difference]:
    """Compare pairs of models by each measure; p-values are not corrected yet.

    Parameters
    ----------
    results : dict of str to Results
        Results of the same rows, with values without each jackknife group of them, by name of the model.
    pairs : iterable of (str, str)
        The models to compare.
    specs : sequence of Spec
        The measures.
    confidence : float
        Probability that an interval covers; 1 - confidence is the level of the tests.
    test : str
        A key of `TESTS`.
    comparable : callable
        Whether a measure says which of two models is better; it is not tested where it does not.
    weight : float64 (n_rows,), optional
        Weights of rows.
    clusters : int64 (n_rows,), optional
        Number of the cluster of each row, from 0; the randomisation test flips the signs of whole clusters.
    """
    differences = list[Difference]()
    for pair in pairs:
        of_pair = [
            _difference(results, spec, pair, confidence, test, comparable, weight, clusters) for spec in specs
        ]
        tested = [spec for spec, one in zip(specs, of_pair, strict=True) if not math.isnan(one.p_value)]
        repeated = find_repeated(results[pair[0]], results[pair[1]], tested)
        differences += [one._replace(same_as=repeated.get(one.name)) for one in of_pair]
    return differences


def corrected(found: Sequence[Difference], specs: Iterable[Spec], confidence: float) -> list[Difference]:
    """Correct the p-values of differences for their number, and tell which model is better where they hold.

    Parameters
    ----------
    found : sequence of Difference
        All that was asked for, from `find_differences`.
    specs : iterable of Spec
        Their measures.
    confidence : float
        1 - confidence is the level of the tests.
    """
    p_values = holm([one.p_value if one.same_as is None else math.nan for one in found]).tolist()
    directions = {spec.name: spec.metric.direction for spec in specs}
    known: dict[tuple[str, str, str], float] = {}  # of the same groups: those of others are replaced
    differences = []
    for one, own_p in zip(found, p_values, strict=True):
        p = own_p if one.same_as is None else known[one.same_as, one.a, one.b]
        known[one.name, one.a, one.b] = p
        better = _better(one, directions[one.name]) if p < 1 - confidence else None
        differences.append(one._replace(corrected_p=p, better=better))
    return differences


def find_repeated(a: Results, b: Results, specs: Iterable[Spec]) -> dict[str, str]:
    """Return the measures whose differences are those of an earlier one, with the name of that.

    Parameters
    ----------
    a, b : Results
        Results of two models on the same rows.
    specs : iterable of Spec
        Measures that have values by row, or without each jackknife group of the rows.
    """
    first_specs, repeated = list[Spec](), dict[str, str]()
    for spec in specs:
        first = next((one.name for one in first_specs if _have_same_differences(a, b, one, spec)), None)
        if first is None:
            first_specs.append(spec)
        else:
            repeated[spec.name] = first
    return repeated


def _have_same_differences(a: Results, b: Results, first: Spec, second: Spec) -> bool:
    """Tell whether two measures gain the same on every row or, without these, without each group."""
    in_rows = {first.name, second.name} <= a.rows.keys() & b.rows.keys()
    for kind in ("values", "rows" if in_rows else "replicates"):
        pairs = [[np.asarray(getattr(one, kind)[spec.name]) for one in (a, b)] for spec in (first, second)]
        if pairs[0][0].shape != pairs[1][0].shape:
            return False
        gains = [
            subtract(other, own) if spec.metric.direction == "down" else subtract(own, other)
            for spec, (own, other) in zip((first, second), pairs, strict=True)
        ]
        bound = bound_rounding(*pairs[0]) + bound_rounding(*pairs[1])
        is_same = np.isnan(gains[0]) & np.isnan(gains[1]) | (np.abs(gains[0] - gains[1]) <= bound)
        if not is_same.all():
            return False
    return True


def _better(one: Difference, direction: str) -> str | None:
    signed = {"up": one.value, "down": -one.value}.get(direction, 0.0)
    return one.a if signed > 0 else one.b if signed < 0 else None


def _difference(
    results: Mapping[str, Results],
    spec: Spec,
    pair: tuple[str, str],
    confidence: float,
    test: str,
    comparable: Callable[[Spec, str, str], bool],
    weight: Floats | None,
    clusters: Ints | None,
) -> Difference:
    a, b = (results[model] for model in pair)
    name = spec.name
    value = float(subtract(a.values[name], b.values[name]))
    replicates = without_groups(a, b, name)
    least, most = spec.metric.range
    interval = (
        None if replicates is None else estimate(value, replicates, confidence, least - most, most - least)
    )
    outcomes, p = None, math.nan
    if name in a.rows and name in b.rows:
        outcomes = wins_ties_losses(a.rows[name], b.rows[name], spec.metric.direction)
        if test in OF_ROWS and comparable(spec, *pair):
            p = OF_ROWS[test](_terms(a.rows[name], b.rows[name], weight, clusters))
    if test == JACKKNIFE and replicates is not None and comparable(spec, *pair):
        p = difference_p(value, replicates)
    return Difference(name, *pair, value, interval, p, p, outcomes, None)


def without_groups(a: Results, b: Results, name: str) -> Floats | None:
    """Return the difference of a measure without each jackknife group, None if it is not known."""
    own, other = a.replicates.get(name), b.replicates.get(name)
    return None if own is None or other is None or own.size != other.size else subtract(own, other)


def _terms(a: Floats, b: Floats, weight: Floats | None, clusters: Ints | None) -> Floats:
    """Return the differences of the weighted sums of each cluster, or of weighted values of rows."""
    if weight is not None:
        a, b = a * weight, b * weight
    if clusters is not None:
        known = ~np.isnan(a + b)
        a, b = (np.bincount(clusters[known], values[known]).astype(np.float64) for values in (a, b))
    return subtract(a, b)
