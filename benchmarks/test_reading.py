"""Reading of text files as large as Eurlex-4K and AmazonCat-13K, compared with scikit-learn.

XMLEVAL_BENCH_SCALE shrinks the workloads, for quick test runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from scipy import sparse

from benchmarks.workloads import generate
from xmleval.io import read_scores, read_truth, write_xmc

SCALE = float(os.environ.get("XMLEVAL_BENCH_SCALE", "1"))
FORMS: dict[str, Callable[[Path], Any]] = {"features": read_truth, "scores": read_scores}
N_FEATURES, ROW_FEATURES, DEPTH = 100_000, 75, 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


@lru_cache(maxsize=1)
def written(name: str, form: str, folder: Path) -> tuple[Path, Path]:
    """Write a workload with a header for xmleval, and without one for scikit-learn."""
    workload = generate(name, DEPTH, SCALE)
    ours, theirs = folder / "ours.txt", folder / "theirs.svm"
    if form == "features":
        rng = np.random.default_rng(0)
        lines = [f"{workload.truth.shape[0]} {N_FEATURES} {workload.truth.shape[1]}"]
        for labels in np.split(workload.truth.indices, workload.truth.indptr[1:-1]):
            features = np.unique(rng.integers(0, N_FEATURES, ROW_FEATURES)).tolist()
            words = (f"{feature}:{rng.random():.6f}" for feature in features)
            lines.append(f"{','.join(map(str, labels))} {' '.join(words)}")
        ours.write_text("\n".join(lines) + "\n")
    else:
        write_xmc(ours, sparse.csr_array(workload.score_matrix().astype(np.float64)), "scores")
    theirs.write_bytes(ours.read_bytes().split(b"\n", 1)[1])
    return ours, theirs


@pytest.mark.parametrize("library", ["xmleval", "sklearn"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["W1", "W2"])
def test_reading(benchmark: BenchmarkFixture, folder: Path, name: str, form: str, library: str) -> None:
    """Time one library on one kind of file."""
    sklearn = pytest.importorskip("sklearn.datasets")
    ours, theirs = written(name, form, folder)
    load = partial(sklearn.load_svmlight_file, str(theirs), multilabel=True, zero_based=True)
    if library == "sklearn":
        benchmark.pedantic(load, rounds=1 if name == "W2" else 5)  # type: ignore[no-untyped-call]
        return
    FORMS[form](ours)  # compiles, or loads compiled kernels
    matrix = benchmark(FORMS[form], ours)
    features, labels = load()
    if form == "features":
        assert [tuple(row) for row in np.split(matrix.indices, matrix.indptr[1:-1])] == labels
    else:
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(matrix, part), getattr(features, part))
