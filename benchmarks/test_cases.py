"""Time our calls of every case, and check that installed libraries agree.

XMLEVAL_BENCH_SCALE shrinks the workloads, for quick test runs; XMLEVAL_BENCH_W4=1 adds the largest workload.
"""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.comparisons import FAMILIES, is_own, module_of, tolerance_of
from benchmarks.ours import AT_K, Prepared
from benchmarks.workloads import Workload, generate

SCALE = float(os.environ.get("XMLEVAL_BENCH_SCALE", "1"))
LARGEST = os.environ.get("XMLEVAL_BENCH_W4") == "1"
CASES = [
    (family, name) for family in FAMILIES for name in FAMILIES[family].workloads if name != "W4" or LARGEST
]
OWN = [(*case, library) for case in CASES for library in FAMILIES[case[0]].libraries if is_own(library)]
PEERS = [
    (family, library) for family in FAMILIES for library in FAMILIES[family].libraries if not is_own(library)
]


@lru_cache(maxsize=1)
def workload_of(name: str, depth: int, scale: float) -> Workload:
    """Generate a workload once for consecutive cases."""
    return generate(name, depth, scale)


def values_of(prepared: Prepared) -> dict[str, float]:
    """Run all steps once."""
    return {name: value for step in prepared.steps.values() for name, value in step().items()}


@pytest.mark.parametrize(("family", "name", "library"), OWN)
def test_own(benchmark: BenchmarkFixture, family: str, name: str, library: str) -> None:
    """Time one of our calls, or the sort that bounds it."""
    case = FAMILIES[family]
    prepared = case.libraries[library](workload_of(name, case.depth, SCALE))
    values_of(prepared)  # compiles, or loads compiled kernels
    values = benchmark(values_of, prepared)
    assert prepared.n_bytes > 0
    if module_of(library) == "xmleval":
        assert list(values) == case.metrics
        assert np.isfinite(list(values.values())).all()


@pytest.mark.parametrize(("family", "library"), PEERS)
def test_peers_agree(family: str, library: str) -> None:
    """Compare another library's values with ours."""
    pytest.importorskip(module_of(library))
    case = FAMILIES[family]
    workload = workload_of(case.workloads[0], case.depth, min(SCALE, 0.02))
    expected = values_of(case.libraries["xmleval"](workload))
    found = values_of(case.libraries[library](workload))
    assert found
    assert found == pytest.approx({name: expected[name] for name in found}, abs=tolerance_of(library))


@pytest.mark.parametrize("family", ["at_k_lists", "at_k_matrix"])
@pytest.mark.parametrize("name", ["W1", "W2", "W3"])
def test_values_at_k_are_those_of_the_formulas(family: str, name: str) -> None:
    """Compare our values with the formulas."""
    case = FAMILIES[family]
    workload = workload_of(name, case.depth, min(SCALE, 0.1))
    assert values_of(case.libraries["xmleval"](workload)) == pytest.approx(reference(workload), abs=1e-9)


def reference(workload: Workload) -> dict[str, float]:
    """Compute the measures from their formulas with NumPy."""
    truth, weights = workload.truth, workload.propensity
    labels = workload.top(5)[0].astype(np.int64)
    n_labels, lengths = truth.shape[1], np.diff(truth.indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    keys = rows * n_labels + truth.indices
    hits = np.isin(np.arange(len(lengths))[:, None] * n_labels + labels, keys).astype(np.float64)

    # The five largest inverse propensities of each row, descending
    order = np.lexsort((-weights[truth.indices], rows))
    place = np.arange(len(keys)) - np.repeat(truth.indptr[:-1], lengths)
    best = np.zeros(labels.shape)
    best[rows[place < 5], place[place < 5]] = weights[truth.indices[order]][place < 5]

    discount = 1 / np.log2(np.arange(2, 7))
    gains = hits * weights[labels]
    values = {}
    for k in (1, 3, 5):
        ideal = np.cumsum(discount)[np.minimum(k, lengths) - 1]
        values[f"p@{k}"] = hits[:, :k].sum() / (k * len(lengths))
        values[f"ndcg@{k}"] = np.mean(hits[:, :k] @ discount[:k] / ideal)
        values[f"r@{k}"] = np.mean(hits[:, :k].sum(axis=1) / lengths)
        values[f"psp@{k}"] = gains[:, :k].sum() / best[:, :k].sum()
        values[f"psndcg@{k}"] = _ratio(gains[:, :k] @ discount[:k], best[:, :k] @ discount[:k], ideal)
    return {name: float(values[name]) for name in AT_K}


def _ratio(got: NDArray[np.float64], best: NDArray[np.float64], ideal: NDArray[np.float64]) -> np.float64:
    """Divide the sums over rows of two terms, each divided by the row's ideal."""
    return np.float64((got / ideal).sum() / (best / ideal).sum())
