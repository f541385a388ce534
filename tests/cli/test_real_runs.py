"""Whole runs of the command line on real predictions: values, and memory far below the dense matrix."""

from __future__ import annotations

import json
import os

import pytest

from tests.commands import json_of, process
from tests.conftest import DATA, NO_DATA

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


@pytest.mark.parametrize(("name", "file"), [*LISTS, *((name, "scores_pecos.npz") for name in SETS)])
def test_values_are_those_of_napkinxc(name: str, file: str) -> None:
    folder, best = DATA / name, file.replace("scores_pecos.npz", "topk_pecos_indices.npy")
    recorded = EXPECTED[name][best]["napkinxc.metrics 0.7.2"]
    expected = {f"{ours}@{k}": recorded[theirs][str(k)] for ours, theirs in NAPKINXC.items() for k in KS}
    line = f"evaluate {folder / 'Y_test.npz'} {folder / file} --train {folder / 'Y_train.npz'}"
    assert json_of(line)["values"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_no_dense_matrix_is_allocated() -> None:
    code = """
import resource, sys, xmleval.cli
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for file in sys.argv[1:3]:
    assert xmleval.cli.main(["evaluate", sys.argv[3], file, *sys.argv[4:]]) == 0
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    data = DATA / "debian_depends"
    names = ("topk_pecos_indices.npy", "scores_pecos.npz", "Y_test.npz")
    words = [*(data / name for name in names), "--train", data / "Y_train.npz", "--output", os.devnull]
    done = process(code, *map(str, words), "--metrics", "all", "--decision", "top5", python="-c")
    assert done.returncode == 0, done.stderr
    assert max(map(float, done.stdout.split())) < 200  # MiB; the matrix would take 1.4 GiB in float64
