"""Whatever writes results as JSON follows the schema, and the schema says what may change."""

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
    "undefined": lambda: evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss", "auc.micro"]),
    "thresholds": lambda: report(["peak_f1.micro"], conventions="unlisted=0"),
    "weights": lambda: report(["p@1"], sample_weight=[1, 2, 3, 4], higher_is_better=False),
    "confidence": lambda: report(confidence=0.9),
    "confidence of one row": lambda: evaluate(np.eye(3)[:1], np.eye(3)[:1], metrics="all", confidence=0.9),
    "groups": lambda: report(label_groups=list("aabbc"), row_groups=[1, 1, 2, 3], confidence=0.9),
    "kept": lambda: report(["p@1"], per_row=True, per_label=True),
}


def follows(text: str) -> dict[str, Any]:
    """Return the contents of JSON, which follows the schema and has no member that it does not describe."""
    contents: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    VALIDATOR.validate(contents)
    assert {*contents} <= members("reports" if "reports" in contents else "report")
    for each in contents.get("reports", {}).values():
        assert {*each} <= members("report")
    return contents


def members(kind: str) -> set[str]:
    """Return the members that the schema describes."""
    return {*VALIDATOR.schema["$defs"][kind]["properties"]}


def test_the_schema_is_one_and_names_its_version() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)
    assert VALIDATOR.schema["$defs"]["reports"]["properties"]["schema"] == {"const": SCHEMA}


@pytest.mark.parametrize("name", REPORTS)
def test_reports_follow_the_schema(name: str) -> None:
    made = REPORTS[name]()
    assert follows(made.to_json())["schema"] == SCHEMA
    assert [*follows(Comparison({"a": made, "b": made}).to_json())["reports"]] == ["a", "b"]


TWO = {"a": (LABELS, SCORES), "b": (LABELS[::-1], SCORES[::-1])}


@pytest.mark.parametrize("seeds", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_comparisons_follow_the_schema(seeds: bool) -> None:
    models = {name: [scores, scores] for name, scores in TWO.items()} if seeds else TWO
    groups: dict[str, Any] = {"label_groups": list("aabbc"), "row_groups": [1, 1, 2, 3]} if seeds else {}
    comparison = compare(Y_TEST, models, metrics="all", seeds=seeds, **groups)
    contents = follows(comparison.to_json())["comparison"]
    assert {*contents} <= members("comparison")
    assert ("seeds" in contents) == seeds
    kinds = {"groups": ["a", "b", "c"], "row_groups": ["1", "2", "3"]} if seeds else {}
    assert {kind: [*contents[kind]] for kind in kinds} == kinds
    for part in (contents, *(part for kind in kinds for part in contents[kind].values())):
        assert all({*one} == members("difference") for one in part["differences"])


@pytest.mark.parametrize("metric", ["p@1", "f1.macro@2", "lrap"])
def test_changes_follow_the_schema(metric: str) -> None:
    contents = json.loads(diff(Y_TEST, *TWO.values(), metric=metric).to_json())
    VALIDATOR.validate(contents)
    assert {*contents} == members("changes")
    for one in (*(contents["changes"]["rows"] or []), *(contents["changes"]["labels"] or [])):
        assert {*one} < members("change")


CHANGES = [
    {"schema": SCHEMA + 1}, {"values": {"p@1": "0.5"}}, {"n_rows": -1}, {"intervals": {"lrap": [0.5]}},
    {"conventions": {"empty": None}}, {"notes": "one"},
]  # fmt: skip


def test_members_may_be_added_but_neither_changed_nor_missing() -> None:
    contents = json.loads(report(["p@1"]).to_json())
    VALIDATOR.validate(contents | {"more": {"tail": {"p@1": 0.5}}, "other": None})
    VALIDATOR.validate({"schema": SCHEMA, "reports": {"a": contents}, "notes": [], "other": 1})
    required = VALIDATOR.schema["$defs"]["report"]["required"]
    without = [{name: contents[name] for name in contents if name != missing} for missing in required]
    assert required
    for invalid in (*without, *(contents | change for change in CHANGES)):
        assert not VALIDATOR.is_valid(invalid), invalid
        assert not VALIDATOR.is_valid({"schema": SCHEMA, "reports": {"a": invalid}, "notes": []}), invalid
