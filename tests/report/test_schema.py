"""Whatever writes results as JSON follows the schema, and the schema says what may change."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval import compare, diff, evaluate
from xmleval.report.comparison import Comparison
from xmleval.report.report import Report
from xmleval.version import SCHEMA

jsonschema = pytest.importorskip("jsonschema")

TEXT = files("xmleval.report").joinpath("schema.json").read_text(encoding="utf-8")
VALIDATOR = jsonschema.Draft202012Validator(json.loads(TEXT))


def report(metrics: Any = "all", **more: Any) -> Report:
    return evaluate(Y_TEST, (LABELS, SCORES), metrics=metrics, **more)


REPORTS: dict[str, Callable[[], Report]] = {
    "all": report,
    "trained": lambda: report(["psp@1", "p@1"], y_train=Y_TRAIN),
    "published": lambda: report(["psp@1"], y_train=Y_TRAIN, dataset="EURLex-4K"),
    "inverse propensities": lambda: report(["psp@1"], inverse_propensity=np.arange(1.0, 6.0)),
    "bounds": lambda: report(["lrap"], bounds=True),
    "sets": lambda: evaluate(Y_TEST, y_pred=Y_TEST[::-1], metrics="sets"),
    "decision": lambda: report("sets", decision="top2", conventions={"zero_division": math.nan}),
    "undefined": lambda: evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss", "auc.micro"]),
    "thresholds": lambda: report(["peak_f1.micro"], unlisted=0.0),
    "weights": lambda: report(["p@1"], sample_weight=[1, 2, 3, 4], higher_is_better=False),
    "confidence": lambda: report(confidence=0.9),
    "confidence of one row": lambda: evaluate(np.eye(3)[:1], np.eye(3)[:1], metrics="all", confidence=0.9),
    "groups": lambda: report(label_groups=list("aabbc"), row_groups=[1, 1, 2, 3], confidence=0.9),
    "kept": lambda: report(["p@1"], per_row=True, per_label=True),
}


def follows(text: str) -> dict[str, Any]:
    """Return what JSON holds, which follows the schema and has no member that it does not describe."""
    found: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    VALIDATOR.validate(found)
    described = VALIDATOR.schema["$defs"]
    kind = "reports" if "reports" in found else "report"
    assert {*found} <= {*described[kind]["properties"]}
    for own in found.get("reports", {}).values():
        assert {*own} <= {*described["report"]["properties"]}
    return found


def test_the_schema_is_one_and_names_its_version() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)
    versions = [VALIDATOR.schema["$defs"][kind]["properties"]["schema"] for kind in ("report", "reports")]
    assert versions == [{"const": SCHEMA}] * 2


@pytest.mark.parametrize("name", REPORTS)
def test_reports_follow_the_schema(name: str) -> None:
    assert follows(REPORTS[name]().to_json())["schema"] == SCHEMA


def test_several_reports_follow_the_schema() -> None:
    several = {name: REPORTS[name]() for name in ("weights", "kept")}
    assert [*follows(Comparison(several).to_json())["reports"]] == [*several]


@pytest.mark.parametrize("seeds", [False, True])
def test_comparisons_follow_the_schema(seeds: bool) -> None:
    scores = {"a": (LABELS, SCORES), "b": (LABELS[::-1], SCORES[::-1])}
    models = {name: [own, own] for name, own in scores.items()} if seeds else scores
    more: dict[str, Any] = {"label_groups": list("aabbc"), "row_groups": [1, 1, 2, 3]} if seeds else {}
    found = follows(compare(models, Y_TEST, metrics="all", seeds=seeds, **more).to_json())
    described = VALIDATOR.schema["$defs"]
    assert {*found["comparison"]} <= {*described["comparison"]["properties"]}
    assert ("seeds" in found["comparison"]) == seeds
    groups = [found["comparison"][kind] for kind in ("groups", "row_groups")] if seeds else []
    for own in [found["comparison"], *(own for several in groups for own in several.values())]:
        for one in own["differences"]:
            assert {*one} == {*described["difference"]["properties"]}
    assert [[*several] for several in groups] == ([["a", "b", "c"], ["1", "2", "3"]] if seeds else [])


@pytest.mark.parametrize("metric", ["p@1", "f1.macro@2", "lrap"])
def test_changes_follow_the_schema(metric: str) -> None:
    models = {"a": (LABELS, SCORES), "b": (LABELS[::-1], SCORES[::-1])}
    found = json.loads(diff(models, Y_TEST, metric=metric).to_json())
    VALIDATOR.validate(found)
    described = VALIDATOR.schema["$defs"]
    assert {*found} == {*described["changes"]["properties"]}
    for one in [*(found["changes"]["rows"] or []), *(found["changes"]["labels"] or [])]:
        assert {*one} < {*described["change"]["properties"]}


@pytest.mark.parametrize("scores", ["m", "scores.npz", "m scores.npz"])
@pytest.mark.parametrize(
    "words", ["--metrics all", "--metrics p,psp --train Y_train.npz", "--metrics sets --confidence 0.9"]
)
def test_commands_follow_the_schema(folder: Path, run: Callable[..., str], scores: str, words: str) -> None:
    line = f"evaluate Y_test.npz {scores} {words} --decision top1"
    printed = run(f"{line} --format json")
    follows(printed)
    run(f"{line} --output out.json")
    assert Path("out.json").read_text() == printed


def test_merged_states_follow_the_schema(folder: Path, run: Callable[..., str]) -> None:
    printed = run("evaluate Y_test.npz m --metrics p@1,lrap --format json --save s.npz")
    assert follows(run("merge s.npz --format json")) == json.loads(printed)


def test_what_may_be_added_within_a_version_is_valid() -> None:
    found = json.loads(report(["p@1"]).to_json())
    found |= {"more": {"tail": {"p@1": 0.5}}, "other": None}
    VALIDATOR.validate(found)
    VALIDATOR.validate({"schema": SCHEMA, "reports": {"a": found}, "notes": [], "other": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"schema": SCHEMA + 1},
        {"values": {"p@1": "0.5"}},
        {"values": [0.5]},
        {"n_rows": -1},
        {"n_rows": 1.5},
        {"intervals": {"lrap": [0.5]}},
        {"confidence": {"p@1": [0.5]}},
        {"standard_errors": {"p@1": "0.5"}},
        {"conventions": {"empty": None}},
        {"higher_is_better": None},
        {"notes": "one"},
    ],
    ids=str,
)
def test_other_values_are_invalid(change: dict[str, Any]) -> None:
    found = json.loads(report(["p@1"]).to_json())
    assert VALIDATOR.is_valid(found)
    assert not VALIDATOR.is_valid(found | change)
    assert not VALIDATOR.is_valid({"schema": SCHEMA, "reports": {"a": found | change}, "notes": []})


@pytest.mark.parametrize("name", VALIDATOR.schema["$defs"]["report"]["required"])
def test_no_member_may_be_missing(name: str) -> None:
    found = json.loads(report(["p@1"]).to_json())
    assert VALIDATOR.is_valid(found)
    assert not VALIDATOR.is_valid({other: found[other] for other in found if other != name})
