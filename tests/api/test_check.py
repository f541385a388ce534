"""`check` in Python says what the command says, takes results in any form, and looks into groups."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_check import MODELS, TRUTH, report
from xmleval import Evaluator, check, compare, evaluate
from xmleval.cli import main
from xmleval.report.comparison import Comparison
from xmleval.report.report import Report

TOPICS, LANGUAGES = [*"xxyyyz"], ["de", "en"] * 50
GROUPS: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what the command prints on the files of two results, and its exit code."""
    monkeypatch.chdir(tmp_path)

    def command(new: Any, old: Any, *words: str) -> tuple[int, str]:
        Path("results").write_text(new.to_json())
        Path("no_worse_than").write_text(old.to_json())
        code = main(["check", "results", *words])
        out, err = capsys.readouterr()
        return code, out + err

    return command


CHECKS: list[tuple[dict[str, Any], list[str]]] = [
    ({"min": {"p@1": 0.5}, "max": {"coverage": 5}}, ["--min", "p@1=0.5", "--max", "coverage=5"]),
    ({"min": {"P@1": 0.99, "ndcg@9": 0.1}}, ["--min", "P@1=0.99,ndcg@9=0.1"]),
    ({"min": {"x:p@1": 0.99, "en:ndcg@3": 0.01}}, ["--min", "x:p@1=0.99", "--min", "en:ndcg@3=0.01"]),
    ({"min": {"shares x:p@1": 0.99}}, ["--min", "shares x:p@1=0.99"]),
    ({"min": {"tail:p@1": 0.1, "groups y:p@1": 0.99}}, ["--min", "tail:p@1=0.1,groups y:p@1=0.99"]),
    ({"no_worse_than": True}, ["--no-worse-than", "no_worse_than"]),
    (
        {"no_worse_than": True, "margin": {"": 0.1, "y:p@1": 0.5, "p@1": 0.3}},
        ["--no-worse-than", "no_worse_than", "--margin", "0.1,y:p@1=0.5", "--margin", "p@1=0.3"],
    ),
    ({"no_worse_than": True, "margin": 9.0}, ["--no-worse-than", "no_worse_than", "--margin", "9"]),
]


@pytest.mark.parametrize(("given", "words"), CHECKS, ids=lambda own: str(own)[:40])
def test_it_says_what_the_command_says(
    told: Callable[..., Any], given: dict[str, Any], words: list[str]
) -> None:
    new, old = (report(model, per_row=False, **GROUPS) for model in ("b", "a"))
    own = given | ({"no_worse_than": old} if "no_worse_than" in given else {})
    found = check(new, **own)
    code, text = told(new, old, *words)
    assert (code, text) == (0 if found else 1, f"{found}\n")
    assert bool(found) == (not found.failures)


def test_failures_name_measure_value_and_limit() -> None:
    new, old = (report(model, **GROUPS) for model in ("b", "a"))
    (low,) = check(new, min={"x:p@1": 0.9}).failures
    assert (low.model, low.measure, low.value, low.limit) == ("", "x:p@1", new.groups["x"]["p@1"], 0.9)
    (gone,) = check(new, min={"lrap": 0.9}).failures
    assert math.isnan(gone.value)
    assert gone.limit == 0.9
    found = {one.measure: one for one in check(new, no_worse_than=old, margin=0.01).failures}
    assert found["en:coverage"].limit == old.row_groups["en"]["coverage"] + 0.01
    assert found["en:coverage"].value == new.row_groups["en"]["coverage"]
    assert check(new, min={"p@1": 0}).n_held == 1
    assert repr(check(new, min={"p@1": 1})).startswith("<Checked: p@1 0.")


FORMS: dict[str, Callable[[Report, Path], Any]] = {
    "report": lambda own, path: own,
    "dict": lambda own, path: own.to_dict(),
    "path": lambda own, path: str(path),
    "JSON": lambda own, path: json.loads(own.to_json()),
    "reports": lambda own, path: {"m": own},
    "comparison": lambda own, path: Comparison({"m": own}),
}


@pytest.mark.parametrize("form", FORMS)
def test_results_come_in_any_form(form: str, tmp_path: Path) -> None:
    new, old = report("b"), report("a")
    (tmp_path / "a.json").write_text(new.to_json())
    given = FORMS[form](new, tmp_path / "a.json")
    found = check(given, min={"p@1": 1}, no_worse_than=FORMS[form](old, tmp_path / "a.json"))
    assert found.failures[0].measure == "p@1"
    assert {one.model for one in found.failures} == ({"m"} if form in ("reports", "comparison") else {""})
    compared = compare(MODELS, TRUTH, metrics=["p@1"])
    assert [one.model for one in check(compared, min={"p@1": 1}).failures] == ["a", "b"]
    assert len(check(compared, min={"p@1": 1}, model="a").failures) == 1


def test_kept_rows_are_paired(told: Callable[..., Any]) -> None:
    scores = MODELS["a"].copy()
    scores[np.flatnonzero(TRUTH[:, 0])[0]] = -TRUTH[np.flatnonzero(TRUTH[:, 0])[0]]
    old = evaluate(TRUTH, MODELS["a"], metrics=["p@3"], per_row=True)
    for keeps, holds in ((True, True), (False, False)):
        new = evaluate(TRUTH, scores, metrics=["p@3"], per_row=keeps)
        assert new["p@3"] < old["p@3"]
        assert bool(check(new, no_worse_than=old)) is holds
    (failure,) = check(report("b", ["p@3"]), no_worse_than=old).failures
    assert "95% interval of the difference" in failure.told
    assert "over 100 rows" in failure.told


def test_groups_of_other_labels_are_not_compared() -> None:
    new, old = report(label_groups=[*"xyyyyz"]), report(label_groups=TOPICS)
    with pytest.raises(
        ValueError, match=r"^no_worse_than: not comparable: .*n_labels of group x is 2 instead of 1"
    ):
        check(new, no_worse_than=old)
    without = check(report(), no_worse_than=old)
    assert "'x:p@1': no group 'x' in this report; it has none" in str(without)


def test_groups_of_one_name_are_told_apart() -> None:
    own = report(label_groups=TOPICS, row_groups=["x", "en"] * 50)
    with pytest.raises(
        ValueError, match="'x' is a group of labels and one of rows; expected groups x or row_groups x"
    ):
        check(own, min={"x:p@1": 0.1})
    found = check(own, min={"row_groups x:p@1": 1, "groups x:p@1": 1}).failures
    assert [one.value for one in found] == [own.row_groups["x"]["p@1"], own.groups["x"]["p@1"]]
    assert check(own, no_worse_than=own)


PAIRS = [(0, 0), (1, 2)]
OUT: dict[str, dict[str, Any]] = {
    "nothing": {}, "pairs": {"exclude": PAIRS}, "candidates": {"candidates": TRUTH},
    "predictions": {"exclude": PAIRS, "exclude_from": "predictions"},
}  # fmt: skip


@pytest.mark.parametrize("one", OUT)
@pytest.mark.parametrize("other", OUT)
def test_results_without_some_labels_are_not_compared_with_others(one: str, other: str) -> None:
    new, old = (evaluate(TRUTH, MODELS["a"], metrics=["p@1"], **OUT[kind]) for kind in (one, other))
    if one == other:
        assert check(new, no_worse_than=old)
        return
    with pytest.raises(ValueError, match=r"not comparable: (exclude|candidates) is "):
        check(new, no_worse_than=old)


@pytest.mark.parametrize("kind", [kind for kind in OUT if kind != "nothing"])
def test_an_evaluator_names_what_is_left_out(kind: str) -> None:
    own = Evaluator(["p@1"], n_labels=TRUTH.shape[1])
    own.update(TRUTH, MODELS["a"], **OUT[kind])
    assert own.compute().to_dict() == evaluate(TRUTH, MODELS["a"], metrics=["p@1"], **OUT[kind]).to_dict()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "results: nothing to check: give min=, max= or no_worse_than="),
        ({"min": 0.5}, "min: 0.5 is no dict of limits by measure"),
        ({"min": {"p@1": 50}}, "min: 'p@1=50': p@1 is between 0 and 1"),
        ({"min": {"x:p@1": 50}}, "min: 'x:p@1=50': x:p@1 is between 0 and 1"),
        ({"min": {"p@1": "high"}}, "min: 'high' is not a number"),
        ({"min": {"p@1": 0.1, "P@1": 0.2}}, "min: p@1 is given twice"),
        ({"min": {1: 0.1}}, "min: 1 is not the name of a measure"),
        ({"max": {"ngcg@5": 0.1}}, "did you mean ndcg"),
        ({"no_worse_than": 3}, "no_worse_than: int is no results"),
        ({"no_worse_than": "gone.json"}, "gone.json"),
        ({"no_worse_than": report(), "margin": -1}, "margin: '-1' is negative"),
        ({"no_worse_than": report(), "margin": {"p@9": 1}}, "no_worse_than: margin=: 'p@9' is not in this"),
        ({"min": {"p@1": 0.1}, "model": "a"}, "model='a': results holds one report, which has no name"),
    ],
)  # fmt: skip
def test_refusals(given: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, OSError)) as caught:
        check(report(), **given)
    assert said in str(caught.value)
