"""Results in JSON follow the schema, which allows further members and no other change."""

import json
import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval import Comparison, Report, compare, diff, evaluate

jsonschema = pytest.importorskip("jsonschema")

TEXT = files("xmleval.results").joinpath("schema.json").read_text(encoding="utf-8")
VALIDATOR = jsonschema.Draft202012Validator(json.loads(TEXT))
SCHEMA = VALIDATOR.schema["$defs"]["report"]["properties"]["schema"]["const"]  # its version


def report(metrics: Any = "all", **more: Any) -> Report:
    return evaluate(Y_TEST, (LABELS, SCORES), metrics=metrics, **more)


REPORTS: dict[str, Callable[[], Report]] = {
    "all": report,
    "trained": lambda: report(["psp@1", "p@1"], y_train=Y_TRAIN),
    "bounds": lambda: report(["lrap"], bounds=True),
    "decision": lambda: report("sets", decision="top2", conventions={"zero_division": math.nan}),
    "undefined": lambda: evaluate(
        np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss", "auc.micro"]
    ),
    "thresholds": lambda: report(["peak_f1.micro"], conventions="unlisted=0"),
    "weights": lambda: report(["p@1"], sample_weight=[1, 2, 3, 4], higher_is_better=False),
    "confidence": lambda: report(confidence=0.9),
    "confidence of one row": lambda: evaluate(
        np.eye(3)[:1], np.eye(3)[:1], metrics="all", confidence=0.9
    ),
    "groups": lambda: report(label_groups=list("aabbc"), row_groups=[1, 1, 2, 3], confidence=0.9),
    "kept": lambda: report(["p@1"], per_row=True, per_label=True),
}


def follows(text: str) -> dict[str, Any]:
    """Return the contents of JSON, after checking that the schema describes all its members."""
    contents: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    VALIDATOR.validate(contents)
    kind = "reports" if "reports" in contents else "report"
    assert {*contents} <= members(kind)
    for report_of_model in contents.get("reports", {}).values():
        assert {*report_of_model} <= members("report")
    return contents


def members(kind: str) -> set[str]:
    """Return the members that the schema describes."""
    return {*VALIDATOR.schema["$defs"][kind]["properties"]}


def test_schema_is_valid_and_names_its_version() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)
    assert VALIDATOR.schema["$defs"]["reports"]["properties"]["schema"] == {"const": SCHEMA}


@pytest.mark.parametrize("name", REPORTS)
def test_reports_follow_the_schema(name: str) -> None:
    example = REPORTS[name]()
    assert follows(example.to_json())["schema"] == SCHEMA
    pair = Comparison({"a": example, "b": example})
    assert [*follows(pair.to_json())["reports"]] == ["a", "b"]


TWO = {
    "a": (LABELS, SCORES),
    "b": (LABELS[::-1], SCORES[::-1]),
}


@pytest.mark.parametrize("seeds", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_comparisons_follow_the_schema(seeds: bool) -> None:
    models: dict[str, Any] = TWO
    groups: dict[str, Any] = {}
    if seeds:
        models = {name: [scores, scores] for name, scores in TWO.items()}
        groups = {"label_groups": list("aabbc"), "row_groups": [1, 1, 2, 3]}
    comparison = compare(Y_TEST, models, metrics="all", seeds=seeds, **groups)
    contents = follows(comparison.to_json())["comparison"]
    assert {*contents} <= members("comparison")
    assert ("seeds" in contents) == seeds
    parts = [contents]
    if seeds:
        assert [*contents["groups"]] == ["a", "b", "c"]
        assert [*contents["row_groups"]] == ["1", "2", "3"]
        parts += [*contents["groups"].values(), *contents["row_groups"].values()]
    for part in parts:
        for difference in part["differences"]:
            assert {*difference} == members("difference")


@pytest.mark.parametrize("metric", ["p@1", "f1.macro@2", "lrap"])
def test_changes_follow_the_schema(metric: str) -> None:
    contents = json.loads(diff(Y_TEST, *TWO.values(), metric=metric).to_json())
    VALIDATOR.validate(contents)
    assert {*contents} == members("changes")
    changes = contents["changes"]
    for change in [*(changes["rows"] or []), *(changes["labels"] or [])]:
        assert {*change} < members("change")


INVALID_CHANGES = [
    {"schema": SCHEMA + 1},
    {"values": {"p@1": "0.5"}},
    {"n_rows": -1},
    {"intervals": {"lrap": [0.5]}},
    {"conventions": {"empty": None}},
    {"notes": "one"},
]


def test_schema_takes_further_members_but_neither_changed_nor_missing_ones() -> None:
    contents = json.loads(report(["p@1"]).to_json())
    VALIDATOR.validate(contents | {"more": {"tail": {"p@1": 0.5}}, "other": None})
    VALIDATOR.validate({"schema": SCHEMA, "reports": {"a": contents}, "notes": [], "other": 1})
    required = VALIDATOR.schema["$defs"]["report"]["required"]
    assert required
    invalid_reports = [contents | change for change in INVALID_CHANGES]
    for missing in required:
        without = dict(contents)
        del without[missing]
        invalid_reports.append(without)
    for invalid in invalid_reports:
        assert not VALIDATOR.is_valid(invalid), invalid
        reports = {"schema": SCHEMA, "reports": {"a": invalid}, "notes": []}
        assert not VALIDATOR.is_valid(reports), invalid
