"""`xmleval compare` gives what the function gives, and stars what differs alone; `evaluate` likewise."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import DATA, NO_DATA
from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval import compare
from xmleval.cli import main
from xmleval.cli.evaluate import SECTIONS
from xmleval.input.reader import RowReader

OTHER = LABELS[::-1].copy(), SCORES[::-1].copy()
MODELS = {"m": (LABELS, SCORES), "n.npz": OTHER}
OPTIONS = "--metrics p@1,ndcg@2,psp@2,f1.macro@2 --train Y_train.npz"
METRICS = ["p@1", "ndcg@2", "psp@2", "f1.macro@2"]


@pytest.fixture
def files(folder: Path) -> Path:
    np.savez("n.npz", indices=OTHER[0], scores=OTHER[1])
    Path("labels.csv").write_text("".join(f"{label},{group}\n" for label, group in enumerate("xxyyy")))
    Path("rows.txt").write_text("a\na\nb\nb\n")
    return folder


@pytest.mark.parametrize(
    "more",
    [
        "", "--baseline n.npz", "--test randomisation", "--confidence 0.9",
        "--label-groups labels.csv --row-groups rows.txt", "--clusters rows.txt --test randomisation",
    ],
)  # fmt: skip
def test_it_gives_what_the_function_gives(files: Path, run: Callable[..., str], more: str) -> None:
    found = json.loads(run(f"compare Y_test.npz m_indices.npy n.npz {OPTIONS} {more} --format json"))
    words = more.replace("--", "").split()
    given: dict[str, Any] = dict(zip(words[::2], words[1::2], strict=True))
    if "confidence" in given:
        given["confidence"] = float(given["confidence"])
    of_rows = [*"aabb"]
    values = {"label_groups": [*"xxyyy"], "row_groups": of_rows, "clusters": of_rows}
    given = {(key := name.replace("-", "_")): values.get(key, given[name]) for name in given}
    wanted = compare(MODELS, Y_TEST, metrics=METRICS, y_train=Y_TRAIN, **given).to_dict()
    renamed = json.loads(json.dumps(found["comparison"]).replace("m_indices.npy", "m"))
    assert renamed == json.loads(json.dumps(wanted["comparison"]))


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex"])
def test_every_form_is_printed(files: Path, run: Callable[..., str], form: str) -> None:
    text = run(f"compare Y_test.npz m_indices.npy n.npz --metrics p@1 --format {form}")
    assert "n.npz" in text or form == "table"


def test_the_truth_is_read_once(
    files: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    reader = RowReader

    def counted(name: str, *more: Any) -> Any:
        read.append(name)
        return reader(name, *more)

    monkeypatch.setattr("xmleval.cli.counting.RowReader", counted)
    run("compare Y_test.npz m_indices.npy n.npz scores.npz --metrics p@1")
    assert read.count("Y_test.npz") == 1


def test_excluded_pairs_and_sections_of_the_help(files: Path, run: Callable[..., str]) -> None:
    Path("pairs.txt").write_text("0 0\n")
    without = run("compare Y_test.npz m_indices.npy n.npz --metrics p@1 --exclude pairs.txt")
    assert without != run("compare Y_test.npz m_indices.npy n.npz --metrics p@1")
    told = run("compare --help")
    assert "Comparison:" in told
    assert "--baseline" in told.split("Inputs:")[0]
    assert "--bounds" not in told


def test_labels_that_changed_most_are_named(
    files: Path, run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("names.txt").write_text("".join(f"label {n}\n" for n in range(5)))
    found = run("compare Y_test.npz m_indices.npy n.npz --metrics p@1 --worst 2 --labels names.txt")
    (moved,) = compare(MODELS, Y_TEST, metrics=["p@1"], worst=2).labels
    assert [f"label {one.number} " in found for one in moved.labels] == [True] * len(moved.labels)
    line = "evaluate Y_test.npz m_indices.npy n.npz --metrics p@1 --per-label out.csv"
    assert main(line.split(" ")) == 0
    told = ", ".join(f"{one.number} {-one.change:+.0f}" for one in moved.labels)
    assert f"out.csv: labels that changed most from m_indices.npy to n.npz by tp@1: {told}" in (
        capsys.readouterr().err
    )


def test_seeds_are_patterns(files: Path, run: Callable[..., str]) -> None:
    for n, scores in enumerate((LABELS, LABELS[::-1])):
        np.savez(f"a_{n}.npz", indices=scores, scores=SCORES if not n else SCORES[::-1])
        np.savez(f"b_{n}.npz", indices=OTHER[0], scores=OTHER[1])
    found = json.loads(
        run("compare Y_test.npz 'a_*.npz' 'b_*.npz' --seeds --metrics p@1 --baseline 'b_*.npz' --format json")
    )
    wanted = compare(
        {"a": [(LABELS, SCORES), OTHER], "b": [OTHER, OTHER]}, Y_TEST, metrics=["p@1"], seeds=True
    )
    assert found["comparison"]["differences"][0]["difference"] == wanted.differences[0].value
    assert [len(own) for own in found["comparison"]["seeds"].values()] == [2, 2]


needs_data = pytest.mark.skipif(not (DATA / "expected.json").is_file(), reason=NO_DATA)


def stars(table: str) -> dict[str, bool]:
    """Return which measures of the first table have a star."""
    lines = table.split("\n\n")[0].splitlines()[3:]
    return {line.split()[0]: "*" in line for line in lines if " ↑ " in line}


@needs_data
def test_real_models_are_starred_where_they_differ(run: Callable[..., str]) -> None:
    data = DATA / "bibtex"
    inputs = f"{data}/Y_test.npz {data}/topk_lr_indices.npy {data}/topk_pecos_indices.npy --metrics p"
    everything, nothing = dict.fromkeys(["P@1", "P@3", "P@5"], True), {"P@1": False, "P@3": True, "P@5": True}
    assert stars(run(f"evaluate {inputs}")) == everything  # the highest, and no more is said
    assert stars(run(f"evaluate {inputs} --confidence 0.95")) == nothing
    told = run(f"compare {inputs}")
    assert stars(told) == nothing
    assert "no difference seen" in told.split("P@3")[1].split("P@1")[1]
    by_flips = run(f"compare {inputs} --test randomisation")
    assert stars(by_flips) == nothing


@needs_data
@pytest.mark.parametrize("name", ["corel5k", "medical", "debian_depends"])
def test_two_models_of_real_data(run: Callable[..., str], name: str) -> None:
    data = DATA / name
    lists = sorted(data.glob("topk_*_indices.npy"))[:2]
    truth = sp.load_npz(data / "Y_test.npz")
    models = {one.name: (np.load(one), np.load(str(one).replace("indices", "scores"))) for one in lists}
    line = f"compare {data}/Y_test.npz {lists[0]} {lists[1]} --metrics p@1,ndcg@5 --format json"
    found = json.loads(run(line))["comparison"]["differences"]
    wanted = compare(models, truth, metrics=["p@1", "ndcg@5"]).differences
    assert [(one["difference"], one["p_value"], one["wins"]) for one in found] == [
        (one.value, one.p_value, one.outcomes.wins if one.outcomes else None) for one in wanted
    ]


@pytest.mark.parametrize("command", ["compare", "report", "plot", "diff"])
def test_help_names_the_inputs_of_evaluate_that_a_command_lacks(run: Any, command: str) -> None:
    words = " ".join(run(f"{command} --help").split())
    (told,) = re.findall("Inputs are those of `xmleval evaluate` except ([^.;]*)[.;]", words)
    inputs = f"{SECTIONS['Inputs']} {SECTIONS['Predictions to sets']}".split()
    own = {param.name for param in importlib.import_module(f"xmleval.cli.{command}").__dict__[command].params}
    lacking = {f"--{name}".replace("_", "-") for name in inputs if name not in own}
    assert {*re.findall("--[a-z-]+", told)} == lacking
