"""The benchmark runner, small: every part runs, what it writes is complete, and values agree."""

from __future__ import annotations

import json
import pkgutil
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import (
    growth,
    machine,
    run,
    side_by_side,
    startup,
    streaming,
    streams,
    tables,
    threads,
    versions,
)
from benchmarks.checkout import ROOT
from benchmarks.comparisons import FAMILIES
from benchmarks.workloads import SIZES, generate
from xmleval import Evaluator, states
from xmleval.states.state import state_class


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "read_bandwidth", lambda threads: 1e10 * threads)
    monkeypatch.setattr(machine, "available_processors", lambda: 2)
    monkeypatch.setattr(side_by_side, "TURN", 0.0)
    monkeypatch.setattr(growth, "BUDGET", 0.0)
    monkeypatch.setattr(threads, "BUDGET", 0.0)
    monkeypatch.setattr(threads, "available_processors", lambda: 2)
    monkeypatch.setattr(startup, "COLD_RUNS", 1)


def results(folder: Path, *words: str) -> dict[str, Any]:
    """Run one part with few rounds, and return what it wrote."""
    arguments = ["--rounds", "1", "--scale", "0.001", "--output", str(folder), "--parts", *words]
    assert run.main(arguments) == 0
    found: dict[str, Any] = json.loads((folder / f"{words[0]}.json").read_text())
    return found


def only(monkeypatch: pytest.MonkeyPatch, family: str, *libraries: str) -> None:
    """Leave out the other libraries of a family; each takes seconds to start."""
    case = FAMILIES[family]
    few = {name: case.libraries[name] for name in libraries}
    monkeypatch.setitem(FAMILIES, family, replace(case, libraries=few))


@pytest.mark.slow
def test_libraries_take_turns_and_agree(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = results(tmp_path, "comparison", "--workloads", "W0b")
    printed = capfd.readouterr()
    for family, case in FAMILIES.items():
        names = {"W0b"} & set(case.workloads)
        own = [record for record in found["records"] if record["family"] == family]
        assert (f"**{case.title}**" in printed.out) == bool(names)
        assert {record["workload"] for record in own} == names
        assert {record["library"] for record in own} == (set(case.libraries) if names else set())
        for record in own:
            if "absent" in record:
                assert "xmleval" not in record["library"]
                continue
            assert 0 < record["fastest_seconds"] <= record["seconds"]
            assert record["difference"] < 1e-3
            if record["library"].startswith("xmleval"):
                assert list(record["values"]) == case.metrics
                assert record["inputs_bytes"] > 0
    assert " cores: 1 and 2 threads read 10 and 20 GB/s and sort " in printed.out
    assert printed.out.count("\n| W0b | ") == sum("W0b" in case.workloads for case in FAMILIES.values())
    for record in found["records"]:
        if "absent" in record:
            assert f"skipped {record['library']} on {record['workload']}: " in printed.err


@pytest.mark.slow
def test_growth_is_measured_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "ENTRIES", (10**6, 10**7))
    monkeypatch.setattr(growth, "LABELS", (1000, 2000))
    monkeypatch.setattr(growth, "FIXED_LABELS", 1000)
    found = results(tmp_path, "growth")
    assert {point["case"] for point in found["by_entries"]} == set(growth.CASES)
    assert {point["labels"] for point in found["by_labels"]} == {1000, 2000}
    assert all(point["seconds"] > 0 for point in found["by_entries"] + found["by_labels"])
    assert "| micro-AUC, top-100 arrays | 1e+03 to 1e+04 | " in (tmp_path / "tables.md").read_text()
    pytest.importorskip("matplotlib")
    assert "stored entries" in (tmp_path / "growth.svg").read_text()


def test_threads_are_measured(tmp_path: Path) -> None:
    found = results(tmp_path, "threads")
    assert [case["case"] for case in found["cases"]] == list(threads.CASES)
    for case in found["cases"]:
        assert list(case["seconds"]) == ["1", "2"]
        assert all(value > 0 for value in case["seconds"].values())
    written = (tmp_path / "tables.md").read_text()
    assert "| statistic | data | 1 thread, s | 2 threads, s | ratio |" in written
    assert "\n| LabelSets | W4 | " in written


def test_every_state_is_timed_on_threads() -> None:
    beside = {"RowBounds", "Gaps", "Seen", "Ceiling", "LabelGroups", "RowGroups", "RowCounts"}  # as others
    modules = [
        import_module(f"xmleval.states.{found.name}") for found in pkgutil.iter_modules(states.__path__)
    ]
    wanted = {module.STATE.__name__ for module in modules if hasattr(module, "STATE")} - beside
    timed = set()
    for title, case in threads.CASES.items():
        if not case.metrics:
            continue
        given = case.given(generate(case.workload, case.depth, 0.001))
        n_labels, propensity = given["y_true"].shape[1], given.pop("inverse_propensity", None)
        evaluator = Evaluator(case.metrics, n_labels=n_labels, inverse_propensity=propensity)
        evaluator.update(**given)
        plan = evaluator._counted.plan
        assert plan
        names = {state_class(name).__name__ for name in plan.states} - beside
        assert {name for name in wanted if name in title} == names
        timed |= names
    assert timed == wanted


@pytest.mark.slow
def test_startup_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bibtex"
    folder.mkdir()
    for name in ("Y_test", "scores_pecos", "Y_train"):
        sp.save_npz(folder / f"{name}.npz", sp.csr_array(np.eye(4, dtype=np.float32)))
    monkeypatch.setenv("XMLEVAL_DATA", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # for the processes that are timed; compiling takes seconds
    found = results(tmp_path, "startup")
    assert len(found["seconds"]) == 8
    assert all(value > 0 for value in found["seconds"].values())
    assert "| import xmleval | " in (tmp_path / "tables.md").read_text()


def test_versions_are_timed_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"TURN": 0.0, "BUDGET": 0.0, "MIN_ROUNDS": 2}.items():
        monkeypatch.setattr(versions, name, value)
    lines = "^sets W1$|^at_k_matrix W2, 1 thread$|^import xmleval$"
    file = tmp_path / "versions.json"
    words = [str(ROOT), "--lines", lines, "--scale", "0.001", "--output", str(file)]
    assert versions.main(words) in (0, 1)  # so small and so few rounds, times tell nothing
    found = json.loads(file.read_text())
    assert [one["line"] for one in found["lines"]] == ["at_k_matrix W2, 1 thread", "sets W1"]
    assert [one["line"] for one in found["startup"]] == ["import xmleval"]
    assert all(one["differ"] == [] for one in found["lines"])
    assert all(len(seconds) == 2 for one in found["lines"] for seconds in one["rounds"].values())
    assert "\ngeometric mean without start-up: " in capfd.readouterr().out


def test_missed_targets_are_told() -> None:
    line = {"line": "at_k_lists W2", "old": 1.0, "new": 1.1, "ratio": 1.1, "differ": []}
    text, missed = versions.report([line], [])
    assert missed
    assert "1.100  over\n" in text
    text, missed = versions.report([line | {"ratio": 1.04}, line | {"line": "sets W1", "ratio": 1.05}], [])
    assert not missed
    text, missed = versions.report([line | {"ratio": 1.0, "differ": ["p@1"]}], [])
    assert missed
    assert "values differ: p@1" in text


@pytest.mark.parametrize("name", SIZES)
def test_workloads_are_what_they_say(name: str) -> None:
    workload = generate(name, 7, 0.001)
    rows, labels = workload.truth.shape
    assert workload.scores.shape == ((rows, labels) if SIZES[name].dense else (rows, 7))
    assert np.diff(workload.truth.indptr).min() >= 1
    assert workload.truth.has_canonical_format
    again = generate(name, 7, 0.001)
    assert (again.scores == workload.scores).all()
    if not SIZES[name].dense:
        dense = workload.truth.toarray()
        assert (workload.hits() == np.take_along_axis(dense, workload.labels.astype(np.int64), axis=1)).all()
        assert workload.hits().mean() > 2 * dense.mean()  # better than chance
        sets = workload.sets().toarray()
        assert (np.take_along_axis(sets, workload.labels[:, :5].astype(np.int64), axis=1) == 1).all()
        assert sets.sum() == 5 * rows


def test_memory_beyond_what_is_allowed_is_told() -> None:
    record = {"library": "xmleval", "family": "sets", "workload": "W3", "inputs_bytes": 0, "labels": 0}
    record |= {"threads": 2, "entries": 10**6, "seconds": 1.0, "runs": 1}
    assert tables.over_memory([record | {"above_bytes": 64 << 20}]) == []
    assert tables.allowed_bytes(record | {"labels": 1000}) == (64 << 20) + 3 * 1000
    assert tables.allowed_bytes(record | {"family": "micro_auc"}) == (64 << 20) + 4.8e6
    assert tables.allowed_bytes(record | {"family": "macro_auc"}) == (64 << 20) + 9.6e6
    records = [record | {"above_bytes": 65 << 20}, record | {"library": "xmleval threads=1"}]
    records += [{"library": "a", "absent": "no a"}, {"library": "b", "failed": "killed by signal 9"}]
    records[0]["inputs_bytes"] = 1
    row = tables.case_row("sets", "W3", records, {"read_bytes_per_second": {"1": 1e9}}, False)
    assert row.endswith("| 65 of 64, **over** | a absent, b failed (killed by signal 9) |")
    (line,) = tables.over_memory([record | {"above_bytes": 65 << 20}])
    assert line == "xmleval takes 65 MiB above the inputs, more than 64, in sets of W3"


@pytest.mark.slow
def test_a_library_that_fails_or_is_slow_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    workload = generate("W1", 5, 0.001)
    only(monkeypatch, "sets", "xmleval", "xmleval threads=1", "scikit-learn")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # values do not matter here, and kernels take long to load
    monkeypatch.setattr(side_by_side, "SLOW", 0.0)
    for very_slow in (60.0, 0.0):
        monkeypatch.setattr(side_by_side, "VERY_SLOW", very_slow)
        found = side_by_side.compare("sets", workload, sys.executable, 3)
        runs = {record["library"]: record.get("runs") for record in found}
        assert runs["xmleval"] == 3
        assert runs["scikit-learn"] == 1
        once = next(record for record in found if record["library"] == "scikit-learn")
        assert (once["first_seconds"] == once["seconds"]) == (very_slow == 0)
        assert "(once)" in tables.seconds(once)
    known = FAMILIES["sets"].libraries
    monkeypatch.setitem(known, "no such library", known.pop("scikit-learn"))
    found = side_by_side.compare("sets", workload, sys.executable, 1)
    (record,) = (record for record in found if record["library"] == "no such library")
    assert record["crashed"]
    assert record["failed"] == "ended with exit code 1"
    with monkeypatch.context() as patch:
        patch.setattr(run, "compare_all", lambda *arguments: found)
        assert run.main(["--parts", "comparison", "--scale", "0.001", "--output", str(tmp_path)]) == 1
    monkeypatch.setattr(side_by_side, "TOO_LONG", 0.0)
    with pytest.raises(SystemExit, match="xmleval stopped after 0 s"):
        side_by_side.compare("at_k_lists", workload, sys.executable, 1)


@pytest.mark.slow
def test_memory_of_the_first_call_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = generate("W2", 100, 0.05)
    only(monkeypatch, "micro_auc", "xmleval", "xmleval threads=1")
    found = side_by_side.compare("micro_auc", workload, sys.executable, 1)
    ours = [record for record in found if record["library"].startswith("xmleval")]
    assert len(ours) == 2
    for record in ours:
        assert record["above_bytes"] >= 4 * workload.scores.size


def test_values_that_are_not_finite_differ() -> None:
    nan, inf = float("nan"), float("inf")
    expected = {"a": 0.1, "b": 0.5}
    assert side_by_side.difference({"a": 0.1, "b": nan}, expected) == inf
    assert side_by_side.difference({"b": inf, "a": 0.1}, expected) == inf
    assert side_by_side.difference({"a": nan}, {"a": 0.1}) == inf
    assert side_by_side.difference({"a": nan, "b": 1.0}, {"a": nan, "b": 0.5}) == 0.5
    assert side_by_side.difference({}, expected) == 0.0


def test_files_larger_than_memory_run_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(streaming, "SHARD_ROWS", 50)
    monkeypatch.setattr(sys, "argv", ["streaming", str(tmp_path), "0.0001"])
    streaming.main()
    printed = capfd.readouterr().out
    assert len(list((tmp_path / "truth").iterdir())) == 2
    assert "\nxmleval evaluate: " in printed
    assert "\nevaluate in memory: " in printed


@pytest.mark.parametrize("distribution", [*streams.DISTRIBUTIONS])
def test_streams_run_small(distribution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "ROWS", 50)
    record = streams.run_named(distribution, 100_000, 1, 1.0, "1GiB", 1, ["auc.micro", "ap.micro"])
    printed = streams.printed(record)
    assert f"{distribution}: 1e+05 scores, memory 1GiB" in printed
    assert "\nauc.micro 0." in printed


def test_workloads_are_counted_several_times(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = tmp_path / "streams.json"
    given = ["--distributions", "--workloads", "W1", "--scale", "0.02", "--passes", "3"]
    streams.main([*given, "--output", str(found)])
    assert "\nW1, 3 times: 2.28e+04 scores, memory 1GiB" in f"\n{capfd.readouterr().out}"
    (record,) = json.loads(found.read_text())
    streams.keep(record | {"updates": 9.0}, found)
    streams.keep(record | {"threads": 2}, found)
    again = json.loads(found.read_text())
    assert [(one["threads"], one["updates"]) for one in again] == [(1, 9.0), (2, record["updates"])]
    assert streams.table_of(again).splitlines()[2].startswith("| W1, 3 times | 2.28e+04 | 9.0 | ")
