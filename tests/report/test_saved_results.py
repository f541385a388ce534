"""Results are read as they were written; anything else is refused by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import evaluate
from xmleval.conventions import Conventions
from xmleval.report import saved_results
from xmleval.report.comparison import Comparison
from xmleval.report.report import Report
from xmleval.report.saved_results import load_results
from xmleval.version import SCHEMA

SHORT: dict[str, Any] = {  # without members that have a default
    "schema": SCHEMA, "values": {"p@1": 0.5}, "n_rows": 4, "n_labels": 5, "conventions": {"empty": "skip"},
    "decision": None, "higher_is_better": True, "propensity": None, "undefined_rows": {}, "not_computed": {},
}  # fmt: skip


def report(metrics: Any = ("p@1", "ranking_loss", "lrap"), **more: Any) -> Report:
    return evaluate(Y_TEST, (LABELS, SCORES), metrics=metrics, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.json"


def refused(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=f"^{path}: ") as caught:
        load_results(path)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 300 + len(str(path))
    return told.removeprefix(f"{path}: ")


def changed(**members: Any) -> str:
    return json.dumps(SHORT | members)


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["", "byte order mark"])
def test_a_report_is_read_with_every_bit(path: Path, start: str) -> None:
    written = report(conventions="sklearn", higher_is_better=False)
    path.write_text(start + written.to_json(), encoding="utf-8")
    (name, found), *others = load_results(path).items()
    assert (name, others) == ("", [])
    assert found.values == dict(written)
    assert (found.n_rows, found.n_labels) == (4, 5)
    assert found.settings == written.conventions.as_dict() | {
        "decision": None, "higher_is_better": False, "propensity": None, "sample_weight": None,
        "exclude": None, "candidates": None, "hierarchy": None,
    }  # fmt: skip
    assert [found.direction(one) for one in found.values] == ["up", "down", "up"]


def test_several_reports_are_read_by_name(path: Path) -> None:
    several = {"b": report(), "a": report(["p@1"])}
    path.write_text(Comparison(several).to_json())
    found = load_results(path)
    assert {name: own.values for name, own in found.items()} == {n: dict(own) for n, own in several.items()}
    assert [*found] == ["b", "a"]


def test_undefined_values_are_nan(path: Path) -> None:
    path.write_text(evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss"]).to_json())
    assert np.isnan(load_results(path)[""].values["ranking_loss"])


def test_results_without_optional_members_are_read(path: Path) -> None:
    path.write_text(json.dumps(SHORT))
    settings = load_results(path)[""].settings
    assert settings == Conventions(empty="skip").as_dict() | {
        "decision": None, "higher_is_better": True, "propensity": None, "sample_weight": None,
        "exclude": None, "candidates": None, "hierarchy": None,
    }  # fmt: skip


def test_members_and_measures_that_are_not_known_are_passed_over(path: Path) -> None:
    path.write_text(changed(values={"p@1": 0.5, "later@1": 0.5}, confidence={"p@1": [0, 1]}, groups=None))
    found = load_results(path)[""]
    assert found.values == {"p@1": 0.5, "later@1": 0.5}
    with pytest.raises(ValueError, match="'later@1' is not a measure of this version"):
        found.direction("later@1")


DAMAGE: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "cut": (json.dumps(SHORT, indent=2)[:50], "line 5: not JSON"),
    "table": ("4 rows x 5 labels", "line 1: not JSON (Extra data); expected results as `xmleval evaluate"),
    "packed": (b"PK\x03\x04\xff\xfe", "not text in UTF-8"),
    "nested": ("[" * 100_000, "nested without end"),
    "list": ("[1]", "JSON without 'values' or 'reports'"),
    "run": ('{"q1": {"d1": 0.5}}', "JSON without 'values' or 'reports'"),
    "no object": (changed(values=[0.5]), "'values' is [0.5]; expected an object"),
    "no reports": ('{"schema": 2, "reports": {}}', "'reports' is empty"),
    "no report": ('{"schema": 2, "reports": {"a": 3}}', "'a' is 3; expected an object"),
    "of a model": (
        json.dumps({"schema": SCHEMA, "reports": {"a": {"values": {}, "n_rows": 1}}}),
        "a: 'n_labels' is null",
    ),
    "NaN": ('{"values": {"p@1": NaN}}', "NaN is not JSON; an undefined value is null"),
    "text": (changed(values={"p@1": "0.5"}), 'p@1 is "0.5"; expected a number, or null'),
    "truth value": (changed(values={"p@1": True}), "p@1 is true; expected a number"),
    "too large": (changed(values={"p@1": 10**400}), "p@1 is 1000000000"),
    "digits": ('{"values": {"p@1": ' + "9" * 5000 + "}}", "digits"),
    "no rows": (changed(n_rows=None), "'n_rows' is null; expected a whole number"),
    "rows": (changed(n_rows=True), "'n_rows' is true"),
    "name twice": ('{"values": {"p@1": 1, "p@1": 0}}', '"p@1" is there twice'),
    "spelled twice": (changed(values={"p@1": 1, "P@1": 0}), "\"P@1\" is there twice, also as 'p@1'"),
    "model twice": ('{"reports": {"a": {}, "a": {}}}', '"a" is there twice'),
    "later": (changed(schema=SCHEMA + 1), f"results of schema {SCHEMA + 1}, written by a later version"),
    "earlier": (changed(schema=SCHEMA - 1), f"results of schema {SCHEMA - 1}, written by an earlier version"),
    "no version": (changed(schema=None), "'schema' is null; expected a whole number"),
    "version as text": (changed(schema="1"), "'schema' is \"1\"; expected a whole number"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_anything_else_is_refused_by_name(path: Path, name: str) -> None:
    text, told = DAMAGE[name]
    assert told in refused(path, text)


def test_huge_files_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_results, "MOST_BYTES", 1 << 20)
    assert "more than 1 MiB" in refused(path, " " * ((1 << 20) + 1))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in (str(tmp_path / "fifo"), os.devnull):
        with pytest.raises(ValueError, match=f"{name}: not a regular file"):
            load_results(Path(name))
    for path in (tmp_path, tmp_path / "gone"):
        with pytest.raises(OSError, match=str(path)):
            load_results(path)
