"""`check` in Python: the answers of the command, results of any form, and limits of groups."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.damage import answer
from xmleval import Comparison, Report, check, compare, evaluate

RNG = np.random.default_rng(5)
TRUTH = (RNG.random((100, 6)) < 0.3).astype(np.int8)
MODELS = {"a": TRUTH + RNG.normal(size=TRUTH.shape), "b": TRUTH + 4 * RNG.normal(size=TRUTH.shape)}
GROUPS: dict[str, Any] = {"label_groups": [*"xxyyyz"], "row_groups": ["de", "en"] * 50}


def report(model: str = "a", metrics: Any = ("p@1", "ndcg@3", "coverage"), **options: Any) -> Report:
    return evaluate(TRUTH, MODELS[model], metrics=metrics, **options)


OLD = "--no-worse-than no_worse_than"
CHECKS: list[tuple[dict[str, Any], str]] = [
    ({"min": {"p@1": 0.5}, "max": {"coverage": 5}}, "--min p@1=0.5 --max coverage=5"),
    ({"min": {"x:p@1": 0.99, "en:ndcg@3": 0.01}}, "--min x:p@1=0.99 --min en:ndcg@3=0.01"),
    ({"min": {"tail:p@1": 0.1, "groups y:p@1": 0.99}}, "--min 'tail:p@1=0.1,groups y:p@1=0.99'"),
    ({"no_worse_than": True, "margin": {"": 0.1, "y:p@1": 0.5, "p@1": 0.3}},
     f"{OLD} --margin 0.1,y:p@1=0.5 --margin p@1=0.3"),
    ({"no_worse_than": True, "margin": 9.0}, f"{OLD} --margin 9"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), CHECKS, ids=[words for _, words in CHECKS])
@pytest.mark.usefixtures("folder")
def test_check_answers_as_the_command_does(arguments: dict[str, Any], words: str) -> None:
    new, old = (report(model, **GROUPS) for model in ("b", "a"))
    Path("results").write_text(new.to_json())
    Path("no_worse_than").write_text(old.to_json())
    checked = check(new, **arguments | ({"no_worse_than": old} if "no_worse_than" in arguments else {}))
    code, out, _ = answer(["check", "results", *shlex.split(words)])
    assert (code, out) == (0 if checked else 1, f"{checked}\n")


def test_failures_name_measure_value_and_limit() -> None:
    new, old = (report(model, **GROUPS) for model in ("b", "a"))
    (low,) = check(new, min={"x:p@1": 0.9}).failures
    assert (low.model, low.measure, low.value, low.limit) == ("", "x:p@1", new.groups["x"]["p@1"], 0.9)
    margin = {"": 0.01, "coverage": 0.02, "en:coverage": 0.03}
    failures = {one.measure: one for one in check(new, no_worse_than=old, margin=margin).failures}
    assert failures["p@1"].limit == old["p@1"] - 0.01
    assert failures["de:coverage"].limit == old.row_groups["de"]["coverage"] + 0.02
    assert failures["en:coverage"].limit == old.row_groups["en"]["coverage"] + 0.03
    assert failures["en:coverage"].value == new.row_groups["en"]["coverage"]


FORMS: dict[str, Callable[[Report, Path], Any]] = {
    "report": lambda made, path: made,
    "path": lambda made, path: str(path),
    "JSON": lambda made, path: json.loads(made.to_json()),
    "reports": lambda made, path: {"m": made},
    "comparison": lambda made, path: Comparison({"m": made}),
}


@pytest.mark.parametrize("form", FORMS)
def test_results_come_in_any_form(form: str, tmp_path: Path) -> None:
    new, old = report("b"), report("a")
    (tmp_path / "a.json").write_text(new.to_json())
    results, last = (FORMS[form](each, tmp_path / "a.json") for each in (new, old))
    failures = check(results, min={"p@1": 1}, no_worse_than=last).failures
    assert failures[0].measure == "p@1"
    assert {one.model for one in failures} == ({"m"} if form in ("reports", "comparison") else {""})
    compared = compare(MODELS, TRUTH, metrics=["p@1"])
    assert [one.model for one in check(compared, min={"p@1": 1}).failures] == ["a", "b"]
    assert len(check(compared, min={"p@1": 1}, model="a").failures) == 1


def test_rows_in_reports_are_paired() -> None:
    reports = [report(model, ["p@3"], per_row=True) for model in ("b", "a")]
    (failure,) = check(reports[0], no_worse_than=reports[1]).failures
    assert "95% interval of the difference" in failure.told
    assert "over 100 rows" in failure.told


def test_groups_of_other_labels_and_of_one_name_are_refused() -> None:
    new, old = report(label_groups=[*"xyyyyz"]), report(label_groups=GROUPS["label_groups"])
    message = r"^no_worse_than: not comparable: .*n_labels of group x is 2 instead of 1"
    with pytest.raises(ValueError, match=message):
        check(new, no_worse_than=old)
    assert "'x:p@1': no group 'x' in this report; it has none" in str(check(report(), no_worse_than=old))
    both = report(label_groups=GROUPS["label_groups"], row_groups=["x", "en"] * 50)
    message = "'x' is a group of labels and one of rows; expected groups x or row_groups x"
    with pytest.raises(ValueError, match=message):
        check(both, min={"x:p@1": 0.1})
    failures = check(both, min={"row_groups x:p@1": 1, "groups x:p@1": 1}).failures
    assert [one.value for one in failures] == [both.row_groups["x"]["p@1"], both.groups["x"]["p@1"]]
    assert check(both, no_worse_than=both)


def test_results_without_different_labels_are_not_compared() -> None:
    pairs: dict[str, Any] = {"exclude": [(0, 0), (1, 2)]}
    kinds: list[Any] = [{}, pairs, pairs | {"exclude_from": "predictions"}, {"candidates": TRUTH}]
    for new, old in itertools.product([report(metrics=["p@1"], **options) for options in kinds], repeat=2):
        if old is new:
            assert check(new, no_worse_than=old)
        else:
            with pytest.raises(ValueError, match=r"not comparable: (exclude|candidates) is "):
                check(new, no_worse_than=old)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "results: nothing to check: give min=, max= or no_worse_than="),
        ({"min": 0.5}, "min: 0.5 is no dict of limits by measure"),
        ({"min": {"x:p@1": 50}}, "min: 'x:p@1=50': x:p@1 is between 0 and 1"),
        ({"min": {"p@1": 0.1, "P@1": 0.2}}, "min: p@1 is given twice"),
        ({"no_worse_than": "gone.json"}, "gone.json"),
        ({"no_worse_than": report(), "margin": -1}, "margin: '-1' is negative"),
        ({"no_worse_than": report(), "margin": {"p@9": 1}}, "no_worse_than: margin=: 'p@9' is not in this"),
        ({"min": {"p@1": 0.1}, "model": "a"}, "model='a': results holds one report, which has no name"),
    ],
)  # fmt: skip
def test_check_refuses_by_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, OSError)) as raised:
        check(report(), **arguments)
    assert message in str(raised.value)
