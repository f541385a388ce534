"""Results are read as they were written; anything else is refused by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import Comparison, Report, evaluate
from xmleval.conventions import Conventions
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
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))
    return message.removeprefix(f"{path}: ")


def changed(**members: Any) -> str:
    return json.dumps(SHORT | members)


def settings_of(conventions: Conventions, higher_is_better: bool) -> dict[str, Any]:
    absent = ("decision", "propensity", "sample_weight", "exclude", "candidates", "hierarchy")
    return conventions.as_dict() | dict.fromkeys(absent) | {"higher_is_better": higher_is_better}


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["", "byte order mark"])
def test_a_report_is_read_with_every_bit(path: Path, start: str) -> None:
    written = report(conventions="sklearn", higher_is_better=False)
    path.write_text(start + written.to_json(), encoding="utf-8")
    (name, saved), *others = load_results(path).items()
    assert (name, others) == ("", [])
    assert saved.values == dict(written)
    assert (saved.n_rows, saved.n_labels) == (4, 5)
    assert saved.settings == settings_of(written.conventions, False)
    assert [saved.direction(name) for name in saved.values] == ["up", "down", "up"]
    reports = {"b": written, "a": report(["p@1"])}
    path.write_text(Comparison(reports).to_json())
    values = [(name, each.values) for name, each in load_results(path).items()]
    assert values == [(name, dict(each)) for name, each in reports.items()]


def test_undefined_absent_and_unknown_members_are_read(path: Path) -> None:
    path.write_text(evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss"]).to_json())
    assert np.isnan(load_results(path)[""].values["ranking_loss"])
    path.write_text(json.dumps(SHORT))
    assert load_results(path)[""].settings == settings_of(Conventions(empty="skip"), True)
    path.write_text(changed(values={"p@1": 0.5, "later@1": 0.5}, confidence={"p@1": [0, 1]}, groups=None))
    saved = load_results(path)[""]
    assert saved.values == {"p@1": 0.5, "later@1": 0.5}
    with pytest.raises(ValueError, match="'later@1' is not a measure of this version"):
        saved.direction("later@1")


DAMAGE: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "cut": (json.dumps(SHORT, indent=2)[:50], "line 5: not JSON"),
    "table": ("4 rows x 5 labels", "line 1: not JSON (Extra data); expected results as `xmleval evaluate"),
    "packed": (b"PK\x03\x04\xff\xfe", "not text in UTF-8"),
    "nested": ("[" * 100_000, "nested without end"),
    "run": ('{"q1": {"d1": 0.5}}', "JSON without 'values' or 'reports'"),
    "no reports": ('{"schema": 2, "reports": {}}', "'reports' is empty"),
    "NaN": ('{"values": {"p@1": NaN}}', "NaN is not JSON; an undefined value is null"),
    "text": (changed(values={"p@1": "0.5"}), 'p@1 is "0.5"; expected a number, or null'),
    "too large": (changed(values={"p@1": 10**400}), "p@1 is 1000000000"),
    "no rows": (changed(n_rows=None), "'n_rows' is null; expected a whole number"),
    "name twice": ('{"values": {"p@1": 1, "p@1": 0}}', '"p@1" is there twice'),
    "spelled twice": (changed(values={"p@1": 1, "P@1": 0}), "\"P@1\" is there twice, also as 'p@1'"),
    "later": (changed(schema=SCHEMA + 1), f"results of schema {SCHEMA + 1}, written by a later version"),
    "earlier": (changed(schema=SCHEMA - 1), f"results of schema {SCHEMA - 1}, written by an earlier version"),
    "no version": (changed(schema=None), "'schema' is null; expected a whole number"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_anything_else_is_refused_by_file(path: Path, name: str) -> None:
    text, message = DAMAGE[name]
    assert message in refused(path, text)


def test_devices_and_huge_files_are_refused(tmp_path: Path) -> None:
    assert "more than 64 MiB" in refused(tmp_path / "huge", b" " * ((1 << 26) + 1))
    with pytest.raises(ValueError, match=f"{os.devnull}: not a regular file"):
        load_results(Path(os.devnull))
