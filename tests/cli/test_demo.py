"""What a newcomer sees first: the demo, and every command that it and the list of measures suggest."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from xmleval import demo
from xmleval.cli import COMMANDS, main, program
from xmleval.cli.forms import WRITERS
from xmleval.cli.metrics import example
from xmleval.conventions import PRESETS
from xmleval.input.formats.registry import FORMATS, read_scores, read_truth
from xmleval.metrics import ALIASES, GROUPS, TABLE


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Run a command line that succeeds, and return what it printed."""

    def runs(line: str) -> str:
        code = main(shlex.split(line.removeprefix("xmleval ")))
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return runs


# ------------------------------------------------------------------------------------------------- demo


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the demo's files in ``demo``."""
    where = tmp_path_factory.mktemp("first look")
    demo.save_demo(demo.make_demo(), where / "demo")
    return where


def test_the_demo_prints_both_models_and_they_disagree(run: Any) -> None:
    printed = run("demo")
    reports = demo.evaluate_demo(demo.make_demo())
    for name, value in reports["head"].items():
        assert f"{value:.4f}" in printed
        assert f"{reports['tail'][name]:.4f}" in printed
    for k in (1, 3, 5):
        for name, better, worse in (("p", "head", "tail"), ("psp", "tail", "head")):
            assert reports[better][f"{name}@{k}"] > reports[worse][f"{name}@{k}"] + 0.02


def test_the_demo_is_the_same_every_time() -> None:
    one, other = demo.make_demo(), demo.make_demo()
    for part in ("y_train", "y_valid", "y_test"):
        assert (getattr(one, part) != getattr(other, part)).nnz == 0
    for models, again in ((one.models, other.models), (one.models_valid, other.models_valid)):
        for name, (labels, scores) in models.items():
            np.testing.assert_array_equal(labels, again[name][0])
            np.testing.assert_array_equal(scores, again[name][1])
    assert one.y_train.shape[1] == one.y_test.shape[1]
    assert set(np.unique(one.y_train.data)) == {1}


def test_what_the_demo_suggests_works(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = run("demo")
    commands = [line.strip() for line in printed.partition("Next:")[2].splitlines() if line.strip()]
    assert commands[0] == "xmleval demo --save demo"
    for command in commands:
        run(command)
    reports = demo.evaluate_demo(demo.make_demo())
    values = json.loads(Path("tail.json").read_text())["values"]
    assert values == {name: reports["tail"][name] for name in values}
    assert read_truth("demo/Y_test.npz").shape == demo.make_demo().y_test.shape
    assert read_scores("demo/model_head")[1] is not None


def test_what_is_suggested_runs_where_no_shell_finds_the_program(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = tmp_path / "my tools" / "xmleval"
    there.parent.mkdir()
    there.touch(mode=0o755)
    for started, expected in (
        (there, shlex.quote(str(there))),
        (Path("somewhere/xmleval/__main__.py"), f"{shlex.quote(sys.executable)} -m xmleval"),
    ):
        monkeypatch.setattr(sys, "argv", [str(started)])
        assert f"\n  {expected} demo --save demo\n" in run("demo")
        assert f"\nexample: {expected} evaluate " in run("metrics p")
    monkeypatch.setattr(sys, "argv", [str(there)])
    monkeypatch.setenv("PATH", str(there.parent))
    assert "\n  xmleval demo --save demo\n" in run("demo")


def test_rules_are_fitted_to_other_instances_than_they_are_evaluated_on(saved: Path, run: Any) -> None:
    folder = shlex.quote(str(saved / "demo"))
    values = {}
    run(
        f"threshold fit {folder}/Y_valid.npz {folder}/model_head_valid --measure f1.micro "
        f"--output {shlex.quote(str(saved / 'rule.npz'))}"
    )
    for decision in ("top3", shlex.quote(str(saved / "rule.npz"))):
        sets = f"--metrics f1.micro --format json --decision {decision}"
        values[decision] = json.loads(run(f"evaluate {folder}/Y_test.npz {folder}/model_head {sets}"))[
            "values"
        ]
    top, fitted = (value["f1.micro"] for value in values.values())
    assert fitted > top + 0.02


def test_the_demo_keeps_to_a_folder_of_its_own(
    run: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "my demo"
    printed = run(f"demo --save {shlex.quote(str(folder))}")
    files = sorted(folder.iterdir())
    assert f"Wrote {len(files)} files to {folder}\n" in printed
    run(f"demo --save {shlex.quote(str(folder))}")
    command = next(line for line in printed.splitlines() if "--train" in line).strip()
    run(command)
    (folder / "mine.txt").touch()
    for refused, said in ((folder, "holds 'mine.txt'"), (files[0], "File exists")):
        assert main(["demo", "--save", str(refused)]) == 2
        assert capsys.readouterr().err.startswith(f"xmleval: {refused}: {said}")


@pytest.mark.parametrize("metric", TABLE, ids=lambda metric: f"{metric.name}-{'-'.join(metric.averages)}")
def test_every_example_works(run: Any, saved: Path, monkeypatch: pytest.MonkeyPatch, metric: Any) -> None:
    monkeypatch.chdir(saved)
    assert metric.name in run("metrics " + metric.name)
    values = json.loads(run(example(metric) + " --format json"))["values"]
    assert len(values) == 1


# ------------------------------------------------------------------------------------- metrics and help


def test_the_list_of_measures_covers_the_table(run: Any) -> None:
    printed = run("metrics")
    names = [line.split()[0] for line in printed.splitlines() if line.startswith("  ")]
    assert len(names) == len(TABLE)
    for metric in TABLE:
        line = next(line for line in printed.splitlines() if metric.title in line)
        assert re.match(rf"  {metric.name}\b", line) or metric.title in printed
        assert all(average in line for average in metric.averages)
    groups = next(line for line in printed.splitlines() if line.startswith("groups: "))
    assert {*GROUPS, "all"} <= {*groups.replace(";", "").split()}


@pytest.mark.parametrize("name", sorted({metric.name for metric in TABLE}))
def test_a_measure_is_explained(run: Any, name: str) -> None:
    printed = run(f"metrics {name}")
    for metric in TABLE:
        if metric.name == name:
            for known in (metric.title, metric.formula, metric.reference, *metric.conventions):
                assert known in printed
            assert all(f"{name}.{average}" in printed for average in metric.averages)


def test_measures_by_other_names(run: Any) -> None:
    assert run("metrics P@5") == run("metrics precision@5") == run("metrics p")
    assert run("metrics psndcg_repo") == run("metrics psdcg")
    assert run("metrics ap.samples") == run("metrics lrap")
    assert "also read   precision@k" in run("metrics p")
    assert "whole ranking" not in run("metrics ndcg@5")
    assert "whole ranking" in run("metrics ndcg")
    assert all(run(f"metrics {alias.rstrip('@')}") for alias in ALIASES)


@pytest.mark.parametrize("group", list(GROUPS))
def test_a_group_is_explained(run: Any, group: str) -> None:
    printed = run(f"metrics {group}")
    bases = {name.rstrip("@").partition(".")[0] for name in GROUPS[group]}
    assert all(re.search(rf"^  {base}\b", printed, re.MULTILINE) for base in bases)


def test_help_reads_the_tables() -> None:
    shown = CliRunner().invoke(program, ["evaluate", "--help"]).output
    words = [*GROUPS, *PRESETS, *WRITERS, *(known.name for known in FORMATS)]
    assert all(word in shown for word in words)
    everything = CliRunner().invoke(program, []).output
    assert all(command in everything for command in COMMANDS)
