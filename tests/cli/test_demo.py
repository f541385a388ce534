"""What a newcomer sees first: the demo, the list of measures, and every command that they suggest."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.damage import answer
from xmleval import demo
from xmleval.cli import COMMANDS
from xmleval.cli.forms import WRITERS
from xmleval.cli.metrics import example
from xmleval.conventions import PRESETS
from xmleval.input.formats.registry import FORMATS
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
    text, reports = run("demo"), demo.evaluate_demo(demo.make_demo())
    assert text == run("demo")
    for name, value in reports["head"].items():
        assert f"{value:.4f}" in text
        assert f"{reports['tail'][name]:.4f}" in text
    for name, better, worse in (("p@3", "head", "tail"), ("psp@3", "tail", "head")):
        assert reports[better][name] > reports[worse][name] + 0.02


def test_commands_that_the_demo_suggests_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line.strip() for line in run("demo").partition("Next:")[2].splitlines() if line.strip()]
    assert commands[0] == "xmleval demo --save demo"
    for command in commands:
        suggested(command)
    values = json.loads(Path("tail.json").read_text())["values"]
    expected = demo.evaluate_demo(demo.make_demo())["tail"]
    assert values == {name: expected[name] for name in values}


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
        assert f"\nexample: {expected} evaluate " in run("metrics p")


def test_demo_is_saved_to_a_folder_of_its_own(run: Run, refused: Run, tmp_path: Path) -> None:
    folder = tmp_path / "my demo"
    line = f"demo --save {shlex.quote(str(folder))}"
    text = run(line)
    files = sorted(folder.iterdir())
    assert f"Wrote {len(files)} files to {folder}\n" in text
    assert run(line) == text
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
    for metric in TABLE:
        line = next(line for line in text.splitlines() if metric.title in line)
        assert all(average in line for average in metric.averages)
    groups = next(line for line in text.splitlines() if line.startswith("groups: "))
    assert {*GROUPS, "all"} <= {*groups.replace(";", "").split()}


def test_measures_are_explained_by_other_names(run: Run) -> None:
    assert run("metrics P@5") == run("metrics precision@5") == run("metrics p")
    assert run("metrics psndcg_repo") == run("metrics psdcg")
    assert run("metrics ap.samples") == run("metrics lrap")
    assert "whole ranking" not in run("metrics ndcg@5")
    assert "whole ranking" in run("metrics ndcg")
    assert all(run(f"metrics {alias.rstrip('@')}") for alias in ALIASES)


def test_help_reads_the_tables(run: Run) -> None:
    text, commands = run("evaluate --help"), run("--help")
    words = [*GROUPS, *PRESETS, *WRITERS, *(each.name for each in FORMATS)]
    assert all(word in text for word in words)
    assert all(command in commands for command in COMMANDS)
