"""--input-format tells the format of texts, whatever they are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.made_files import (
    SCORES,
    TRUTHS,
    make_scores,
    make_truth,
    npy,
    npz,
    qrels,
    svmlight,
    trec_run,
    xmc,
)
from xmleval import evaluate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def p1_of(printed: str) -> float:
    return float(json.loads(printed)["values"]["p@1"])


@pytest.mark.parametrize("ending", [".txt", ".dat", ""])
@pytest.mark.parametrize("name", ["qrels", "run"])
def test_trec_files_called_otherwise(folder: Path, run: Any, name: str, ending: str) -> None:
    qrels(folder / "q", make_truth()).rename(f"q{ending}")
    trec_run(folder / "r", make_scores()).rename(f"r{ending}")
    want = evaluate(make_truth(), make_scores(), metrics=["p@1"])["p@1"]
    line = f"evaluate q{ending} r{ending} --input-format {name} --metrics p@1 --format json"
    assert p1_of(run(line)) == want


def test_a_text_of_a_known_ending(folder: Path, run: Any, refused: Any) -> None:
    svmlight(folder / "Y", make_truth()).rename("Y.txt")
    npy(folder / "m", make_scores())
    want = evaluate(make_truth(), make_scores(), metrics=["p@1"])["p@1"]
    line = "evaluate Y.txt {} --input-format svmlight --metrics p@1 --format json"
    assert p1_of(run(line.format("m_indices.npy"))) == want  # which holds no scores
    assert p1_of(run(line.format("m"))) == want
    assert refused("evaluate Y.txt m").startswith("Y.txt: line 1: ")
    printed = run("stats Y.txt --input-format svmlight --format json")
    assert json.loads(printed)["n_rows"] == 60
    run("convert Y.txt Y.npz --input-format svmlight")
    run("convert Y.txt Z.npz --kind truth --input-format svmlight")
    assert run("evaluate Y.npz --pred Z.npz --metrics subset_accuracy --format csv").endswith("1.0,,\n")


@pytest.mark.parametrize("form", ["npz", "parquet", "npz-list"])
def test_what_is_no_text_is_told_by_its_ending(folder: Path, run: Any, form: str) -> None:
    npz(folder / "Y", make_truth())
    xmc(folder / "m", make_scores(), "scores").rename("m.out")
    path = SCORES[form](folder / "n", make_scores())
    want = evaluate(make_truth(), make_scores(), metrics=["p@1"])["p@1"]
    line = "evaluate Y.npz {} --input-format xmc --metrics p@1 --format json"
    assert p1_of(run(line.format("m.out"))) == want
    assert p1_of(run(line.format(path.name))) == want


def test_what_no_format_can_hold(folder: Path, refused: Any) -> None:
    npz(folder / "Y", make_truth())
    TRUTHS["svmlight"](folder / "m", make_truth()).rename("m.dat")
    said = "m.dat: a multi-label svmlight file holds no scores; expected a "
    assert refused("evaluate Y.npz m.dat --input-format svmlight").startswith(said)
    assert refused("evaluate Y.npz m.dat").endswith(", or --input-format")
