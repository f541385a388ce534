"""What a newcomer sees first: the demo, the list of measures, and every command that they suggest."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.damage import answer
from xmleval import demo
from xmleval.cli import COMMANDS
from xmleval.cli.forms import WRITERS
from xmleval.cli.metrics import example
from xmleval.conventions import PRESETS
from xmleval.input.formats.registry import FORMATS, read_truth
from xmleval.metrics import ALIASES, GROUPS, TABLE, Metric

Run = Callable[..., str]


def suggested(line: str) -> str:
    """Run a command that a text suggests, and return what it printed."""
    code, out, err = answer(shlex.split(line.removeprefix("xmleval ")))
    assert (code, err) == (0, "")
    return out


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first look")
    demo.save_demo(demo.make_demo(), folder / "demo")
    return folder


def test_demo_prints_two_models_that_disagree(run: Run) -> None:
    text, first, second = run("demo"), demo.make_demo(), demo.make_demo()
    reports = demo.evaluate_demo(first)
    for name, value in reports["head"].items():
        assert f"{value:.4f}" in text
        assert f"{reports['tail'][name]:.4f}" in text
    for k in (1, 3, 5):
        for name, better, worse in (("p", "head", "tail"), ("psp", "tail", "head")):
            assert reports[better][f"{name}@{k}"] > reports[worse][f"{name}@{k}"] + 0.02
    assert [(getattr(first, y) != getattr(second, y)).nnz for y in ("y_train", "y_valid", "y_test")] == [
        0
    ] * 3
    for models in ("models", "models_valid"):
        for name, arrays in getattr(first, models).items():
            for array, again in zip(arrays, getattr(second, models)[name], strict=True):
                np.testing.assert_array_equal(array, again)


def test_commands_that_the_demo_suggests_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line.strip() for line in run("demo").partition("Next:")[2].splitlines() if line.strip()]
    assert commands[0] == "xmleval demo --save demo"
    for command in commands:
        suggested(command)
    made = demo.make_demo()
    values, expected = json.loads(Path("tail.json").read_text())["values"], demo.evaluate_demo(made)["tail"]
    assert values == {name: expected[name] for name in values}
    assert read_truth("demo/Y_test.npz").shape == made.y_test.shape
    values = {}
    run("threshold fit demo/Y_valid.npz demo/model_head_valid --measure f1.micro --output rule.npz")
    for decision in ("top3", "rule.npz"):
        line = f"evaluate demo/Y_test.npz demo/model_head --metrics f1.micro --decision {decision}"
        values[decision] = json.loads(run(f"{line} --format json"))["values"]["f1.micro"]
    assert values["rule.npz"] > values["top3"] + 0.02


def test_suggestions_run_where_no_shell_finds_the_program(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "my tools" / "xmleval"
    program.parent.mkdir()
    program.touch(mode=0o755)
    for started, expected in (
        (program, shlex.quote(str(program))),
        (Path("somewhere/xmleval/__main__.py"), f"{shlex.quote(sys.executable)} -m xmleval"),
    ):
        monkeypatch.setattr(sys, "argv", [str(started)])
        assert f"\n  {expected} demo --save demo\n" in run("demo")
        assert f"\nexample: {expected} evaluate " in run("metrics p")
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(program.parent))
    assert "\n  xmleval demo --save demo\n" in run("demo")


def test_demo_is_saved_to_a_folder_of_its_own(run: Run, refused: Run, tmp_path: Path) -> None:
    folder = tmp_path / "my demo"
    line = f"demo --save {shlex.quote(str(folder))}"
    text = run(line)
    files = sorted(folder.iterdir())
    assert f"Wrote {len(files)} files to {folder}\n" in text
    assert run(line) == text
    suggested(next(each for each in text.splitlines() if "--train" in each).strip())
    (folder / "mine.txt").touch()
    for path, message in (folder, "holds 'mine.txt'"), (files[0], "File exists"):
        assert refused(f"demo --save {shlex.quote(str(path))}").startswith(f"{path}: {message}")


@pytest.mark.parametrize("metric", TABLE, ids=lambda metric: f"{metric.name}-{'-'.join(metric.averages)}")
def test_measure_is_explained_by_an_example_that_works(
    run: Run, demo_folder: Path, monkeypatch: pytest.MonkeyPatch, metric: Metric
) -> None:
    monkeypatch.chdir(demo_folder)
    text = run(f"metrics {metric.name}")
    for part in (metric.title, metric.formula, metric.reference, *metric.conventions):
        assert part in text
    assert all(f"{metric.name}.{average}" in text for average in metric.averages)
    assert len(json.loads(suggested(f"{example(metric)} --format json"))["values"]) == 1


def test_list_of_measures_covers_the_table(run: Run) -> None:
    text = run("metrics")
    names = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert len(names) == len(TABLE)
    for metric in TABLE:
        line = next(line for line in text.splitlines() if metric.title in line)
        assert all(average in line for average in metric.averages)
    groups = next(line for line in text.splitlines() if line.startswith("groups: "))
    assert {*GROUPS, "all"} <= {*groups.replace(";", "").split()}
    for group, members in GROUPS.items():
        bases, text = {name.rstrip("@").partition(".")[0] for name in members}, run(f"metrics {group}")
        assert all(re.search(rf"^  {base}\b", text, re.MULTILINE) for base in bases)


def test_measures_are_explained_by_other_names(run: Run) -> None:
    assert run("metrics P@5") == run("metrics precision@5") == run("metrics p")
    assert run("metrics psndcg_repo") == run("metrics psdcg")
    assert run("metrics ap.samples") == run("metrics lrap")
    assert "also read   precision@k" in run("metrics p")
    assert "whole ranking" not in run("metrics ndcg@5")
    assert "whole ranking" in run("metrics ndcg")
    assert all(run(f"metrics {alias.rstrip('@')}") for alias in ALIASES)


def test_help_reads_the_tables(run: Run) -> None:
    text, commands = run("evaluate --help"), run("--help")
    words = [*GROUPS, *PRESETS, *WRITERS, *(each.name for each in FORMATS)]
    assert all(word in text for word in words)
    assert all(command in commands for command in COMMANDS)
