"""Saved results are read back unchanged; any other file is refused by name."""

import errno
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import Comparison, Ranking, Rankings, Report, Trend, check, evaluate, rank


def report(metrics: Any = ("p@1", "ranking_loss", "lrap"), **more: Any) -> Report:
    return evaluate(Y_TEST, (LABELS, SCORES), metrics=metrics, **more)


SCHEMA = report().to_dict()["schema"]
SHORT: dict[str, Any] = {  # without members that have a default
    "schema": SCHEMA,
    "values": {"p@1": 0.5},
    "n_rows": 4,
    "n_labels": 5,
    "conventions": {"empty": "skip"},
    "decision": None,
    "higher_is_better": True,
    "propensity": None,
    "undefined_rows": {},
    "not_computed": {},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.json"


def changed(**members: Any) -> str:
    return json.dumps(SHORT | members)


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["", "byte order mark"])
def test_load_and_check_read_every_bit_of_a_report(path: Path, start: str) -> None:
    written = report(conventions="sklearn", higher_is_better=False)
    path.write_text(start + written.to_json(), encoding="utf-8")
    failures = check(path, min=dict.fromkeys(written, 1.0)).failures
    assert {each.measure: each.value for each in failures} == dict(written)
    assert check(path, no_worse_than=written)
    groups = {
        "label_groups": ["a", "b", "b", "a", "a"],
        "row_groups": ["x", "x", "y", "y"],
    }
    for whole in (written, report(["p@1", "ece@1"], confidence=0.9, **groups)):
        path.write_text(whole.to_json())
        assert Report.load(path).to_dict() == whole.to_dict()
    path.write_text(Comparison({"b": written, "a": report()}).to_json())
    values = {each.model: each.value for each in check(path, min={"lrap": 1}).failures}
    assert values == {"b": written["lrap"], "a": report()["lrap"]}


def test_load_prints_intervals_that_end_at_0_or_1_as_before(path: Path) -> None:
    scores = np.eye(40) + 0.5 * np.random.default_rng(0).random((40, 40))
    scores[0] *= -1
    options: dict[str, Any] = {"metrics": ["p@1", "one_error"], "confidence": 0.95}
    written = evaluate(np.eye(40), scores, **options)
    assert written.confidence["p@1"][1] == 1
    assert written.confidence["one_error"][0] == 0
    path.write_text(written.to_json())
    assert "±" in str(written)
    assert str(Report.load(path)) == str(written)


def test_check_reads_undefined_absent_and_unknown_members(path: Path) -> None:
    path.write_text(evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss"]).to_json())
    assert "undefined" in str(check(path, max={"ranking_loss": 1}))
    path.write_text(
        changed(values={"p@1": 0.5, "later@1": 0.5}, confidence={"p@1": [0, 1]}, groups=None)
    )
    assert check(path, min={"p@1": 0.5})
    path.write_text(changed(values={"psp@1": 0.5}, propensity={"a": 0.5, "b": 1.5, "n": None}))
    assert "propensity=(a=0.5 b=1.5 n=None)" in str(Report.load(path))
    path.write_text(changed(confidence={"p@1": [0, 1]}))
    assert check(report(["p@1"], conventions={"empty": "skip"}), no_worse_than=path, margin=1)


DAMAGE: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "cut": (json.dumps(SHORT, indent=2)[:50], "line 5 column 5 (char 50)); expected results as"),
    "table": (
        "4 rows x 5 labels",
        "not JSON (Extra data: line 1 column 3 (char 2)); expected results as",
    ),
    "packed": (b"PK\x03\x04\xff\xfe", "not a saved evaluator"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "run": ('{"q1": {"d1": 0.5}}', "JSON without 'values' or 'reports'"),
    "no values": (changed(values=None), "'values' is null; expected an object"),
    "no reports": (f'{{"schema": {SCHEMA}, "reports": {{}}}}', "'reports' is empty"),
    "NaN": (
        changed(values={"p@1": math.nan}),
        "p@1 is NaN; expected a number, or null if it is undefined",
    ),
    "text": (changed(values={"p@1": "0.5"}), 'p@1 is "0.5"; expected a number, or null'),
    "too large": (changed(values={"p@1": 10**400}), "p@1 is 1000000000"),
    "interval": (changed(intervals={"p@1": [0]}), "intervals: p@1 is [0]; expected two numbers"),
    "no rows": (changed(n_rows=None), "'n_rows' is null; expected a whole number"),
    "name twice": ('{"values": {"p@1": 1, "p@1": 0}}', "'p@1' occurs twice in an object"),
    "spelled twice": (changed(values={"p@1": 1, "P@1": 0}), "'p@1' occurs twice in an object"),
    "later": (
        changed(schema=SCHEMA + 1),
        f"results of schema {SCHEMA + 1}, written by a later version",
    ),
    "earlier": (
        changed(schema=SCHEMA - 1),
        f"results of schema {SCHEMA - 1}, written by an earlier version",
    ),
    "no version": (changed(schema=None), "'schema' is null; expected a whole number"),
    "ranking": (
        rank(
            {
                "x": {"a": 1, "b": 0},
                "y": {"a": 1, "b": 0},
            },
            "p@1",
        ).to_json(),
        "a ranking of models, not",
    ),
    "rankings": (
        '{"rankings": {}}',
        "a ranking of models, not results; expected results as `xmleval eval",
    ),
    "notes": (changed(notes=3), "'notes' is 3; expected a list of texts"),
    "note": (changed(notes=["as it is", 3]), "'notes' is [\"as it is\", 3]; expected texts"),
    "decision": (changed(decision=3), "'decision' is 3; expected a text"),
    "hierarchy": (changed(hierarchy=[]), "'hierarchy' is []; expected a text"),
    "propensity": (changed(propensity=3), "'propensity' is 3; expected an object or a text"),
    "direction": (
        changed(higher_is_better="no"),
        "'higher_is_better' is \"no\"; expected true or false",
    ),
    "level": (changed(confidence_level="95%"), "'confidence_level' is \"95%\"; expected a number"),
    "candidates": (changed(candidates="x.npz"), "'candidates' is \"x.npz\"; expected an object"),
    "rows": (
        changed(undefined_rows={"p@1": "3"}),
        'undefined_rows: p@1 is "3"; expected a whole number',
    ),
    "group": (
        changed(groups={"tail": {"values": {}, "n_rows": "3"}}),
        "groups: tail: 'n_rows' is \"3\"; expected a whole number",
    ),
    "reason": (changed(not_computed={"p@3": 3}), "not_computed: p@3 is 3; expected a text"),
    "lists": (
        changed(short_lists={"p@1": 3}),
        "short_lists: p@1 is 3; expected an object with mean and deepest",
    ),
    "mean length": (
        changed(short_lists={"p@1": {"mean": "2.5", "deepest": 3}}),
        'short_lists: p@1: mean is "2.5"; expected a number',
    ),
    "deepest list": (
        changed(short_lists={"p@1": {"mean": 2.5, "deepest": 2.5}}),
        "short_lists: p@1: deepest is 2.5; expected a whole number",
    ),
    "bins": (changed(reliability={"ece@1": 3}), "reliability: ece@1 is 3; expected lists "),
    "bin": (
        changed(reliability={"ece@1": {"count": 3}}),
        'reliability: ece@1 is {"count": 3}; expected lists ',
    ),
    "huge": (b" " * ((1 << 26) + 1), "more than 64 MiB"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_check_refuses_other_files_by_name(path: Path, name: str) -> None:
    contents, expected = DAMAGE[name]
    if isinstance(contents, str):
        contents = contents.encode()
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=f"^{path}: ") as caught:
        check(path, min={"p@1": 0})
    message = str(caught.value)
    assert expected in message
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))


def test_check_refuses_devices() -> None:
    with pytest.raises(ValueError, match=f"{os.devnull}: not a regular file"):
        check(os.devnull, min={"p@1": 0})


def test_load_refuses_bins_without_a_list_or_with_texts(path: Path) -> None:
    contents = report(["ece@1"], conventions="link=sigmoid").to_dict()
    ((name, bins),) = contents["reliability"].items()
    for member in bins:
        for value in (None, 3, ["a"]):
            path.write_text(
                json.dumps({**contents, "reliability": {name: {**bins, member: value}}})
            )
            with pytest.raises(
                ValueError, match=rf"reliability: {re.escape(name)} is .*; expected "
            ):
                Report.load(path)


def test_load_keeps_the_reason_and_the_file_of_an_error_of_the_system(path: Path) -> None:
    for read in (Report.load, Comparison.load, Ranking.load, Rankings.load, Trend.load):
        with pytest.raises(FileNotFoundError) as refused:
            read(path)
        assert refused.value.errno == errno.ENOENT
        assert refused.value.filename == str(path)
