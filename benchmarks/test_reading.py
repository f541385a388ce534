"""Reading of text files as large as Eurlex-4K and AmazonCat-13K, compared with other libraries.

XMLEVAL_BENCH_SCALE shrinks the workloads, for quick test runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from scipy import sparse

from benchmarks.files import Named, readers, write_named
from benchmarks.workloads import generate
from xmleval import evaluate
from xmleval.io import read_scores, read_truth, write_xmc

SCALE = float(os.environ.get("XMLEVAL_BENCH_SCALE", "1"))
FORMS: dict[str, Callable[[Path], Any]] = {"features": read_truth, "scores": read_scores}
N_FEATURES = 100_000
ROW_FEATURES = 75
DEPTH = 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


@lru_cache(maxsize=1)
def written(name: str, form: str, folder: Path) -> tuple[Path, Path]:
    """Write a workload with a header for xmleval, and without one for scikit-learn."""
    workload = generate(name, DEPTH, SCALE)
    ours = folder / "ours.txt"
    theirs = folder / "theirs.svm"
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
def test_reading(
    benchmark: BenchmarkFixture, folder: Path, name: str, form: str, library: str
) -> None:
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


@cache
def named(name: str, folder: Path) -> tuple[Named, float]:
    """Write a workload with names; return its files and its P@5."""
    workload = generate(name, DEPTH, SCALE)
    expected = evaluate(workload.truth, (workload.labels, workload.scores), metrics="p@5")
    return write_named(workload, folder), expected["p@5"]


@pytest.mark.parametrize("form", ["run", "csv", "jsonl"])
def test_evaluating_files_with_names(benchmark: BenchmarkFixture, folder: Path, form: str) -> None:
    """Time P@5 of a file, from reading on."""
    files, expected = named("W1", folder)
    report = benchmark(partial(evaluate, files.truth, files.scores[form], metrics="p@5"))
    assert report["p@5"] == expected


@pytest.mark.parametrize(
    ("form", "library"),
    [(form, library) for form, libraries in readers().items() for library in libraries],
)
def test_reading_alone(benchmark: BenchmarkFixture, folder: Path, form: str, library: str) -> None:
    """Time other readers on the same files."""
    files, _ = named("W1", folder)
    benchmark(readers()[form][library], files.scores[form])
