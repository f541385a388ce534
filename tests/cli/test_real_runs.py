"""Whole runs of the command line on real predictions: values, and memory far below the dense matrix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import DATA, NO_DATA
from tests.oracles.metrics import Case, value
from xmleval import inverse_propensity
from xmleval.cli import main
from xmleval.spec import expand_metrics

ROOT = Path(__file__).parents[2]
SETS = {"bibtex": 40, "corel5k": 25, "debian_depends": 2}  # and how many rows the oracle bears
LISTS = [(name, file.name) for name in SETS for file in sorted((DATA / name).glob("topk_*_indices.npy"))]
NAPKINXC = {
    "p": "precision_at_k",
    "r": "recall_at_k",
    "ndcg": "ndcg_at_k",
    "psp": "psprecision_at_k (A=0.55,B=1.5, normalize=True)",
    "psndcg": "psndcg_at_k (A=0.55,B=1.5, normalize=True)",
}
KS = (1, 3, 5)

if not (DATA / "expected.json").is_file():
    pytest.skip(NO_DATA, allow_module_level=True)
EXPECTED = json.loads((DATA / "expected.json").read_text())
Run = Callable[..., dict[str, float]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return the values that `xmleval evaluate` prints for the given words."""

    def values(*words: object) -> dict[str, float]:
        assert main(["evaluate", *map(str, words), "--format", "json"]) == 0
        found: dict[str, float] = json.loads(capsys.readouterr().out)["values"]
        return found

    return values


def recorded(name: str, file: str) -> dict[str, float]:
    expected = EXPECTED[name][file]["napkinxc.metrics 0.7.2"]
    return {f"{ours}@{k}": expected[theirs][str(k)] for ours, theirs in NAPKINXC.items() for k in KS}


@pytest.mark.parametrize(("name", "file"), LISTS)
def test_top_k_arrays_print_the_recorded_values(name: str, file: str, run: Run) -> None:
    folder = DATA / name
    found = run(folder / "Y_test.npz", folder / file, "--train", folder / "Y_train.npz")
    assert found == pytest.approx(recorded(name, file), abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_csr_scores_print_what_was_recorded_for_their_best(name: str, run: Run) -> None:
    folder = DATA / name
    found = run(folder / "Y_test.npz", folder / "scores_pecos.npz", "--train", folder / "Y_train.npz")
    assert found == pytest.approx(recorded(name, "topk_pecos_indices.npy"), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("unlisted", ["below", "0.0"])
def test_csr_scores_print_the_values_of_the_oracle(
    name: str, unlisted: str, tmp_path: Path, run: Run
) -> None:
    folder, n_rows = DATA / name, SETS[name]
    truth = sp.csr_array(sp.load_npz(folder / "Y_test.npz"))[:n_rows]
    scores = sp.csr_array(sp.load_npz(folder / "scores_pecos.npz"))[:n_rows]
    sp.save_npz(tmp_path / "Y.npz", truth)
    sp.save_npz(tmp_path / "S.npz", scores)
    by_row = [(scores[[i]].indices.tolist(), scores[[i]].data.tolist()) for i in range(n_rows)]
    case = Case(
        truth=[set(ids.tolist()) for ids in np.split(truth.indices, truth.indptr[1:-1])],
        n_labels=truth.shape[1],
        listed=[sorted(zip(ids, row, strict=True)) for ids, row in by_row],
        inverse_propensity=inverse_propensity(sp.load_npz(folder / "Y_train.npz")).tolist(),
        conventions={"unlisted": unlisted if unlisted == "below" else float(unlisted)},
    )
    specs = [spec for spec, _ in expand_metrics(["xmc", "ranking", "ps", "mrr", "map", "hit"], KS)]
    words = [
        "--train",
        folder / "Y_train.npz",
        "--unlisted",
        unlisted,
        "--metrics",
        ",".join(map(str, specs)),
    ]
    found = run(tmp_path / "Y.npz", tmp_path / "S.npz", *words)
    want = {str(s): value(s.metric.name, case, s.average, s.cutoff) for s in specs}
    assert found == pytest.approx(want, rel=1e-12)


@pytest.mark.slow
def test_no_dense_matrix_is_allocated() -> None:
    code = """
import resource, sys, xmleval.cli
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for file in sys.argv[1:3]:
    assert xmleval.cli.main(["evaluate", sys.argv[3], file, *sys.argv[4:]]) == 0
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    folder = DATA / "debian_depends"
    words: list[str | Path] = [
        folder / name for name in ("topk_pecos_indices.npy", "scores_pecos.npz", "Y_test.npz")
    ]
    words += ["--train", folder / "Y_train.npz", "--output", os.devnull]
    words += ["--metrics", "all", "--decision", "top5"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert max(map(float, done.stdout.split())) < 200  # MiB; the matrix would take 1.4 GiB in float64
