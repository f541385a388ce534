"""The benchmarks run in small, write their tables and notice values that differ."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import comparison, files, machine, peers, run, startup, versions
from benchmarks.cases import CASES
from benchmarks.tables import read_results
from benchmarks.worker import ROOT
from scripts.readme import RESULTS

ROWS = {  # of tables
    "comparison": "| W1 | ",
    "threads": "| diversity of the labels | W4 | ",
    "growth": "| 1,000 labels, seconds by rows | 10 | 100 |\n",
    "intervals": "| measures | W2, s | ",
    "startup": "| import xmleval | ",
    "files": "| TREC run | ",
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XMLEVAL_DATA", raising=False)
    monkeypatch.setattr(machine, "READ_BYTES", 8000)
    monkeypatch.setattr(comparison, "TURN", 0.0)
    monkeypatch.setattr(startup, "COLD_RUNS", 1)
    monkeypatch.setattr(files, "SIZE", replace(files.SIZE, rows=100, labels=1000))
    sizes = {"ROWS": (10**4, 10**5), "LABELS": (1000,), "FIXED_LABELS": 1000, "INTERVALS": ("W2",)}
    budgets = {"GROWTH_BUDGET": 0.0, "THREADS_BUDGET": 0.0}
    cases = {
        "CASES": {
            name: CASES[name] for name in ("P", "P from 100", "sets", "LabelSets", "micro_auc")
        }
    }
    for name, value in (sizes | budgets | cases).items():
        monkeypatch.setattr(run, name, value)
    monkeypatch.setitem(peers.PEERS, "sets", {"scikit-learn": peers.PEERS["sets"]["scikit-learn"]})


def run_part(part: str, folder: Path) -> int:
    words = [
        "--parts",
        part,
        "--families",
        "sets",
        "--workloads",
        "W1",
        "--rounds",
        "1",
        "--scale",
        "0.001",
    ]
    return run.main([*words, "--output", str(folder)])


@pytest.mark.slow
@pytest.mark.parametrize("part", ROWS)
def test_a_part_writes_its_table(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # which start processes, where compiling would take seconds
    if part in (
        "comparison",
        "startup",
    ):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert run_part(part, tmp_path) == 0
    assert ROWS[part] in (tmp_path / "tables.md").read_text()
    assert json.loads((tmp_path / f"{part}.json").read_text())["scale"] == 0.001


def test_values_that_differ_end_in_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        record
        for record in read_results(RESULTS)["comparison"]["records"]
        if "crashed" not in record
    ]
    monkeypatch.setattr(run, "measure_comparison", lambda *arguments: {"records": records})
    assert run_part("comparison", tmp_path) == 0
    monkeypatch.setattr(run, "tolerance_of", lambda library: -1.0)
    assert run_part("comparison", tmp_path) == 1


def test_a_difference_from_nan_is_infinite() -> None:
    nan = float("nan")
    inf = float("inf")
    assert comparison.difference({"a": 0.1, "b": nan}, {"a": 0.1, "b": 0.5}) == inf
    assert comparison.difference({"a": nan, "b": 1.0}, {"a": nan, "b": 0.5}) == 0.5


@pytest.mark.slow
def test_versions_time_and_compare_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TURN": 0.0, "BUDGET": 0.0, "MIN_ROUNDS": 2}.items():
        monkeypatch.setattr(versions, name, value)
    file = tmp_path / "versions.json"
    versions.main([str(ROOT), "--lines", "^sets W1$", "--scale", "0.001", "--output", str(file)])
    (line,) = json.loads(file.read_text())["lines"]
    assert line["differ"] == []
    assert all(len(seconds) == 2 for seconds in line["rounds"].values())


@pytest.mark.parametrize(("ratio", "differ"), [(1.1, []), (1.0, ["p@1"]), (1.0, [])])
def test_a_slower_version_or_another_value_is_missed(ratio: float, differ: list[str]) -> None:
    line = {"line": "sets W1", "old": 1.0, "new": ratio, "ratio": ratio, "differ": differ}
    text, missed = versions.report([line], [])
    assert missed == (ratio > 1.05 or bool(differ))
    assert ("values differ: p@1" in text) == bool(differ)
