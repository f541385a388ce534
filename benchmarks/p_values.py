"""Whether p-values are uniform where two models do not differ, and how often a difference is seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.simulation import Population, Rows
from xmleval import Report, evaluate
from xmleval.comparing.paired import paired_t_p, sign_flip_p, wilcoxon_p
from xmleval.jackknife import difference_p

ALPHA = 0.05
MEANS_OVER_ROWS = ("p@5", "ndcg@5", "lrap")
REAL = 4  # the models are compared as they are on one of so many data sets
MOST_ROWS = 1000  # for SciPy's permutations
Differences = NDArray[np.float64]


def permutation_p(differences: Differences) -> float:
    """Return SciPy's p-value of sign flips, NaN for many rows, which take it too long."""
    if differences.size > MOST_ROWS:
        return math.nan
    given = {"permutation_type": "samples", "n_resamples": 9_999, "rng": np.random.default_rng(0)}
    return float(stats.permutation_test((differences,), np.mean, vectorized=True, **given).pvalue)


TESTS: dict[str, tuple[Callable[[Differences], float], Callable[[Differences], float]]] = {  # and SciPy's
    "sign flips": (sign_flip_p, permutation_p),
    "paired t": (paired_t_p, lambda differences: float(stats.ttest_1samp(differences, 0.0).pvalue)),
    "Wilcoxon": (wilcoxon_p, lambda differences: float(stats.wilcoxon(np.round(differences, 12)).pvalue)),
}


def measure_p_values(
    population: Population, n_rows: int, n_draws: int, metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """Compare the models on many data sets, swapped in half of the clusters, and some as they are.

    Swapped at random, the models are the same up to noise, and p-values should be uniform.
    """
    null: dict[tuple[str, str], list[float]] = {}
    real: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(n_draws):
        random = np.random.default_rng([n_rows, number])
        drawn = population.draw(n_rows, random)
        swapped = swap(drawn, random.integers(2, size=drawn.cluster[-1] + 1)[drawn.cluster] == 1)
        for key, (p, _) in p_values_of(swapped, metrics, population, False).items():
            null.setdefault(key, []).append(p)
        if number % REAL == 0:
            for key, both in p_values_of(drawn, metrics, population, True).items():
                real.setdefault(key, []).append(both)
    return [
        {"measure": name, "test": test, "rows": n_rows, "clusters": population.clustered, "draws": n_draws}
        | summary(np.array(null[name, test]), *np.array(real[name, test]).T)
        for name, test in null
    ]


def swap(rows: Rows, where: NDArray[np.bool_]) -> Rows:
    """Swap the models of some rows."""
    (a, b), (c, d) = rows.models
    column = where[:, None]
    first = np.where(column, c, a), np.where(column, d, b)
    return Rows(rows.truth, (first, (np.where(column, a, c), np.where(column, b, d))), rows.cluster)


def p_values_of(
    rows: Rows, metrics: Sequence[str], population: Population, with_scipy: bool
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return p-values by measure and test, and SciPy's or NaN."""
    a, b = (
        evaluate(
            rows.truth, model, metrics=metrics, inverse_propensity=population.inverse_propensity, threads=1,
            decision="threshold0.5", per_row=True, confidence=0.95, clusters=rows.cluster,
        )
        for model in rows.models
    )  # fmt: skip
    found = {}
    for name in metrics:
        found[name, "jackknife"] = (jackknife_p(a, b, name), math.nan)
        if name in MEANS_OVER_ROWS:
            differences = np.asarray(a.results.rows[name]) - np.asarray(b.results.rows[name])
            for test, (own, scipys) in TESTS.items():
                found[name, test] = (own(differences), scipys(differences) if with_scipy else math.nan)
            if population.clustered:
                of_clusters = np.bincount(rows.cluster, differences).astype(np.float64)
                found[name, "sign flips of clusters"] = (sign_flip_p(of_clusters), math.nan)
    return found


def jackknife_p(a: Report, b: Report, name: str) -> float:
    """Return the p-value of a difference by the jackknife."""
    return difference_p(a[name] - b[name], a.results.replicates[name] - b.results.replicates[name])


def summary(null: Differences, real: Differences, scipys: Differences) -> dict[str, Any]:
    """Test by Kolmogorov-Smirnov whether p-values are uniform or too small, and count rejections at 0.05."""
    sides = {"ks_p": "two-sided", "ks_small": "greater"}  # more small ones than uniform ones have
    record = {
        key: float(stats.kstest(null, "uniform", alternative=side).pvalue) for key, side in sides.items()
    }
    record |= {"false": float(np.mean(null <= ALPHA)), "power": float(np.mean(real <= ALPHA))}
    if np.isnan(scipys).any():
        return record
    return record | {"scipy": float(np.mean(scipys <= ALPHA)), "apart": float(np.abs(real - scipys).max())}
