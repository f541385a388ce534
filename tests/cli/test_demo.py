"""First steps of a user: the demo, the list of measures, and the commands that they suggest."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Run, json_of
from xmleval import demo
from xmleval.cli.demo import next_commands
from xmleval.io import known_formats
from xmleval.metrics import ALIASES, GROUPS, TABLE
from xmleval.metrics.spec import parse_spec

PRESETS = ("default", "sklearn", "wu2017", "mulan", "meka", "beir", "pyxclib", "napkinxc")


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first look")
    demo.save_demo(demo.make_demo(), folder / "demo")
    return folder


@pytest.mark.slow
def test_demo_prints_two_models_that_disagree(run: Run) -> None:
    text = run("demo")
    reports = demo.evaluate_demo(demo.make_demo())
    assert text == run("demo")
    for name, value in reports["head"].items():
        assert f"{value:.4f}" in text
        assert f"{reports['tail'][name]:.4f}" in text
    for name, better, worse in (("p@3", "head", "tail"), ("psp@3", "tail", "head")):
        assert reports[better][name] > reports[worse][name] + 0.02


@pytest.mark.slow
def test_demo_suggests_commands_that_work(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    lines = run("demo").partition("Next:")[2].splitlines()
    commands = [line.strip() for line in lines if line.strip()]
    assert commands[0] == "xmleval demo --save demo"
    for command in commands:
        run(command.removeprefix("xmleval "))
    values = json.loads(Path("tail.json").read_text())["values"]
    expected = demo.evaluate_demo(demo.make_demo())["tail"]
    assert values == {name: expected[name] for name in values}


def test_suggestions_run_outside_the_search_path(
    run: Run, monkeypatch: Any, tmp_path: Path
) -> None:
    program = tmp_path / "my tools" / "xmleval"
    program.parent.mkdir()
    program.touch(mode=0o755)
    module = f"{shlex.quote(sys.executable)} -m xmleval"
    commands = {str(program): shlex.quote(str(program)), "xmleval/__main__.py": module}
    for started, expected in commands.items():
        monkeypatch.setattr(sys, "argv", [started])
        assert f"\nexample: {expected} evaluate " in run("metrics p")


@pytest.mark.slow
def test_demo_is_saved_to_an_empty_or_earlier_folder(
    run: Run, refused: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "my demo"
    line = f"demo --save {shlex.quote(str(folder))}"
    text = run(line)
    files = sorted(folder.iterdir())
    assert f"Wrote {len(files)} files to {folder}\n" in text
    assert run(line) == text
    (folder / "mine.txt").touch()
    for path, message in (folder, "contains 'mine.txt'"), (files[0], "File exists"):
        assert refused(f"demo --save {shlex.quote(str(path))}").startswith(f"{path}: {message}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", TABLE, ids=lambda metric: f"{metric.name}-{'-'.join(metric.averages)}"
)
def test_example_of_a_measure_works(
    run: Run, demo_folder: Path, monkeypatch: Any, metric: Any
) -> None:
    monkeypatch.chdir(demo_folder)
    text = run(f"metrics {metric.name}")
    for part in (metric.title, metric.formula, metric.reference, *metric.conventions):
        assert part in text
    assert all(f"{metric.name}.{average}" in text for average in metric.averages)
    example = text.partition("\nexample: xmleval ")[2].splitlines()[0]
    assert len(json_of(example)["values"]) == 1


def test_list_of_measures_covers_the_table(run: Run) -> None:
    text = run("metrics")
    for metric in TABLE:
        line = next(line for line in text.splitlines() if metric.title in line)
        assert all(average in line for average in metric.averages)
    groups = next(line for line in text.splitlines() if line.startswith("groups: "))
    assert {*GROUPS, "all"} <= {*groups.replace(";", "").split()}


# options of an example, by what a measure needs
OPTIONS = {
    "sets": ["--decision", "top3"],
    "propensity": ["--train", "demo/Y_train.npz"],
    "training": ["--train", "demo/Y_train.npz"],
    "hierarchy": ["--hierarchy", "demo/hierarchy.tsv"],
    "grades": ["--gains", "linear"],
    "probabilities": ["--link", "sigmoid"],
}


@pytest.mark.parametrize("name", [*dict.fromkeys(metric.name for metric in TABLE)])
def test_examples_have_the_average_the_cutoff_and_the_inputs_of_a_measure(
    run: Run, name: str
) -> None:
    metrics = [metric for metric in TABLE if metric.name == name]
    lines = run(f"metrics {name}").splitlines()
    examples = [line.removeprefix("example: ") for line in lines if line.startswith("example: ")]
    for example, metric in zip(examples, metrics, strict=True):
        words = shlex.split(example)
        spec = parse_spec(words.pop(words.index("--metrics") + 1))
        assert spec.metric is metric
        assert spec.average == (metric.averages[0] if metric.averages else None)
        assert spec.k == (5 if metric.cutoff == "required" else None)
        expected = ["xmleval", "evaluate", "demo/Y_test.npz"]
        expected += ["demo/model_head_indices.npy"] * bool(spec.needs)
        expected.append("--metrics")
        options: list[str] = []
        for need in spec.needs:
            if need in OPTIONS and OPTIONS[need][0] not in options:
                options += OPTIONS[need]
        if metric.gapless:
            options += ["--unlisted", "0.0"]
        assert words == expected + options


def test_demo_is_refused_a_folder_with_other_files(tmp_path: Path) -> None:
    made = demo.make_demo()
    paths = demo.save_demo(made, tmp_path / "new" / "demo")
    assert {*paths} == {*(tmp_path / "new" / "demo").iterdir()}
    before = {path: path.read_bytes() for path in paths}
    assert demo.save_demo(made, tmp_path / "new" / "demo") == paths
    assert {path: path.read_bytes() for path in paths} == before
    (tmp_path / "new" / "demo" / "mine.txt").touch()
    paths[0].unlink()
    message = "demo: contains 'mine.txt'; give a new folder or that of an earlier demo"
    with pytest.raises(ValueError, match=re.escape(message)):
        demo.save_demo(made, tmp_path / "new" / "demo")
    assert not paths[0].exists()


def listed_measures(line: str) -> set[str]:
    """Return the measures of a line of the list, with each of their averages."""
    name = re.sub(r"(\(.*\))?(\[@k\]|@k|@all)?$", "", line.split()[0])
    if not name.endswith(".AVG"):
        return {name}
    averages = line.partition("; AVG ")[2].split()
    return {name.removesuffix("AVG") + average for average in averages}


@pytest.mark.parametrize("group", [*GROUPS])
def test_group_is_listed_with_its_measures_alone(run: Run, group: str) -> None:
    text = run(f"metrics {group}")
    first, blank, *table = text.splitlines()
    names = first.removeprefix(f"{group}: ").split(", ")
    assert names == [f"{name}k" if name.endswith("@") else name for name in GROUPS[group]]
    assert blank == ""
    expected = {re.sub("@(k|all)$", "", ALIASES.get(name, name)) for name in names}
    listed = [listed_measures(line) for line in table if line.startswith("  ")]
    assert all(measures & expected for measures in listed)
    assert expected <= set.union(*listed)
    assert run(f"metrics {group.upper()}") == run(f"metrics ' {group} '") == text


def test_group_all_lists_the_general_measures(run: Run) -> None:
    lines = [line for line in run("metrics all").splitlines() if line.startswith("  ")]
    general = [metric for metric in TABLE if metric.general]
    assert len(lines) == len(general) < len(TABLE)
    for metric in general:
        assert any(metric.title in line for line in lines)


def test_measures_are_explained_by_other_names(run: Run) -> None:
    assert run("metrics P@5") == run("metrics precision@5") == run("metrics p")
    assert run("metrics psndcg_repo") == run("metrics psdcg")
    assert run("metrics ap.samples") == run("metrics lrap")
    assert "whole ranking" not in run("metrics ndcg@5")
    assert "whole ranking" in run("metrics ndcg")
    assert all(run(f"metrics {alias.rstrip('@')}") for alias in ALIASES)


def test_help_names_groups_conventions_and_formats(run: Run) -> None:
    text = run("evaluate --help")
    forms = ("table", "json", "csv", "markdown", "latex")
    for word in (*GROUPS, *PRESETS, *forms, *(each.name for each in known_formats())):
        assert word in text


@pytest.mark.parametrize("name", ["my data", "it's", "plain"])
def test_suggestions_name_the_folder_of_the_demo_as_a_shell_reads_it(name: str) -> None:
    for command in next_commands(Path(name))[:3]:
        words = shlex.split(command)
        assert words[1:3] == ["evaluate", f"{name}/Y_test.npz"]
        assert words[3] in (f"{name}/model_head_indices.npy", f"{name}/model_tail_indices.npy")
    assert shlex.split(next_commands(None)[0])[1:] == ["demo", "--save", "demo"]
