"""Benchmark the calls of xmleval, and check that installed libraries agree.

XMLEVAL_BENCH_SCALE shrinks the workloads, for quick test runs; XMLEVAL_BENCH_W4=1 adds the largest
workload.
"""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import peers
from benchmarks.cases import CASES, Prepared, prepare
from benchmarks.workloads import Workload, generate

SCALE = float(os.environ.get("XMLEVAL_BENCH_SCALE", "1"))
LARGEST = os.environ.get("XMLEVAL_BENCH_W4") == "1"
OURS = [
    (name, workload, f"xmleval{words}")
    for name, case in CASES.items()
    for workload in case.libraries or [case.threads or "W2"]
    for words in ("", " threads=1")
    if workload != "W4" or LARGEST
]


@lru_cache(maxsize=1)
def workload_of(name: str, depth: int, scale: float) -> Workload:
    """Generate a workload once for consecutive cases."""
    return generate(name, depth, scale)


def values_of(prepared: Prepared) -> dict[str, float]:
    """Run all steps once."""
    return {name: value for step in prepared.steps.values() for name, value in step().items()}


@pytest.mark.parametrize(("name", "workload", "library"), OURS)
def test_ours(benchmark: BenchmarkFixture, name: str, workload: str, library: str) -> None:
    """Time one of our calls."""
    prepared = prepare(name, library, workload_of(workload, CASES[name].depth, SCALE))
    values_of(prepared)  # compiles, or loads compiled kernels
    values = benchmark(values_of, prepared)
    assert prepared.n_bytes > 0
    assert len(values) >= len(CASES[name].metrics)
    assert np.isfinite(list(values.values())).all()


@pytest.mark.parametrize(
    ("name", "library"), [(name, library) for name in peers.PEERS for library in peers.PEERS[name]]
)
def test_peers_agree(name: str, library: str) -> None:
    """Compare another library's values with ours."""
    pytest.importorskip(peers.module_of(library))
    case = CASES[name]
    workload = workload_of(case.libraries[0], case.depth, min(SCALE, 0.02))
    expected = values_of(prepare(name, "xmleval", workload))
    values = values_of(peers.prepare(name, library, workload))
    assert values
    assert values == pytest.approx(
        {name: expected[name] for name in values}, abs=peers.tolerance_of(library)
    )
