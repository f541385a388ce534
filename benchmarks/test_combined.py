"""The combined report (P, nDCG, R, PSP, PSnDCG at 1, 3, 5), timed and checked.

XMLEVAL_BENCH_SCALE shrinks the workloads, so that a test run can execute every body quickly;
XMLEVAL_BENCH_W4=1 adds the largest workload.
"""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import pytest
from comparisons import COMBINED, COMPARISONS, INPUTS, module_of
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture
from workloads import SIZES, Workload, generate

SCALE = float(os.environ.get("XMLEVAL_BENCH_SCALE", "1"))
WORKLOADS = [name for name in SIZES if name != "W4" or os.environ.get("XMLEVAL_BENCH_W4") == "1"]
LIBRARIES = COMPARISONS["combined"]
OURS = [library for library in LIBRARIES if module_of(library) == "xmleval"]
PEERS = [library for library in LIBRARIES if module_of(library) != "xmleval"]


@lru_cache(maxsize=1)
def workload_of(name: str, form: str) -> Workload:
    """Generate a workload once for the cases that follow one another on it."""
    return generate(name, INPUTS[form], SCALE)


@pytest.mark.parametrize("library", OURS)
@pytest.mark.parametrize("form", INPUTS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_combined(benchmark: BenchmarkFixture, name: str, form: str, library: str) -> None:
    """Time one library on one form of the predictions."""
    workload = workload_of(name, form)
    call = LIBRARIES[library](workload, form)
    call()  # compiles, or loads compiled kernels
    values = benchmark(call)
    expected = reference(workload)
    assert list(values) == COMBINED
    assert values == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", INPUTS)
@pytest.mark.parametrize("library", PEERS)
def test_peer_agrees(library: str, form: str) -> None:
    """Hold the peers' column of the table to the same values."""
    pytest.importorskip(module_of(library))
    workload = generate("W1", INPUTS[form], min(SCALE, 0.2))
    assert LIBRARIES[library](workload, form)() == pytest.approx(reference(workload), abs=1e-9)


def reference(workload: Workload) -> dict[str, float]:
    """Compute the combined report from its formulas with whole-array NumPy."""
    truth, weights = workload.truth, workload.propensity
    labels = workload.top(5)[0].astype(np.int64)
    n_labels, lengths = truth.shape[1], np.diff(truth.indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    keys = rows * n_labels + truth.indices
    hits = np.isin(np.arange(len(lengths))[:, None] * n_labels + labels, keys).astype(np.float64)

    # The best propensities of a row, descending: its first five places after a sort within rows.
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
    return {name: float(values[name]) for name in COMBINED}


def _ratio(got: NDArray[np.float64], best: NDArray[np.float64], ideal: NDArray[np.float64]) -> np.float64:
    """Divide the sums over rows of two terms, each normalised by the row's own ideal."""
    return np.float64((got / ideal).sum() / (best / ideal).sum())
