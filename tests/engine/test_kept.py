"""A list of measures keeps their values by row and by label, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, evaluate

RNG = np.random.default_rng(5)
TRUTH, SCORES = RNG.random((60, 12)) < 0.2, RNG.random((60, 12))
METRICS = ["p@1", "p@3", "f1.macro@5", "mrr@1", "mrr@3", "lrap", "auc.macro", "hamming_loss"]


@pytest.mark.parametrize(
    ("named", "columns"),
    [
        (["p@3"], {"tp@3", "f1@3"}),
        (["f1.macro@5"], {"tp@5", "f1@5"}),
        (["auc.macro"], {"auc", "ap"}),
        (["hamming_loss"], {"tp", "f1"}),
        (["lrap", "p@1"], {"tp@1", "f1@1"}),
    ],
)
def test_labels_have_values_of_the_measures_named(named: list[str], columns: set[str]) -> None:
    more: dict[str, Any] = {"metrics": METRICS, "unlisted": 0.0, "decision": "top2"}
    every = evaluate(TRUTH, SCORES, per_label=True, **more).per_label()
    some = evaluate(TRUTH, SCORES, per_label=named, **more).per_label()
    assert columns < {*some}
    assert {name.partition("@")[2] for name in some} <= {"", *(name.partition("@")[2] for name in columns)}
    for name, values in some.items():
        np.testing.assert_array_equal(values, every[name])


@pytest.mark.parametrize("named", [["p@3"], ["mrr@1", "lrap"], ["p"]])
def test_rows_have_values_of_the_measures_named(named: list[str]) -> None:
    every = evaluate(TRUTH, SCORES, metrics=METRICS, k=[1, 3], per_row=True, decision="top2").per_row()
    some = evaluate(TRUTH, SCORES, metrics=METRICS, k=[1, 3], per_row=named, decision="top2").per_row()
    assert {*some} == ({"p@1", "p@3"} if named == ["p"] else {*named})
    for name, values in some.items():
        np.testing.assert_array_equal(values, every[name])


def test_what_is_kept_is_merged_and_saved(tmp_path: Path) -> None:
    more: dict[str, Any] = {"n_labels": 12, "per_row": ["lrap"], "per_label": ["p@1"]}
    first, second = (Evaluator(["p@1", "p@3", "lrap"], **more) for _ in range(2))
    first.update(TRUTH[:20], SCORES[:20])
    second.update(TRUTH[20:], SCORES[20:], first_row=20)
    first.save(tmp_path / "state")
    found = Evaluator.load(tmp_path / "state").merge(second).compute()
    whole = evaluate(TRUTH, SCORES, metrics=["p@1", "p@3", "lrap"], per_row=True, per_label=True)
    assert {*found.per_row()} == {"lrap"}
    assert found.per_row()["lrap"].tolist() == whole.per_row()["lrap"].tolist()
    assert found.per_label()["tp@1"].tolist() == whole.per_label()["tp@1"].tolist()
    assert "tp@3" not in found.per_label()
    other = Evaluator(["p@1", "p@3", "lrap"], n_labels=12, per_label=["p@3"], per_row=["lrap"])
    with pytest.raises(ValueError, match="per_label"):
        first.merge(other)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("p@1", "per_label: 'p@1' is neither True nor False nor a list of measures"),
        (3, "per_label: 3 is neither True nor False nor a list of measures"),
        (["p@9"], "per_label: 'p@9' is none of the measures p@1, lrap"),
        (["lrap"], "per_label: none of lrap has values by label"),
        (["pp@1"], "pp"),
    ],
)
def test_what_cannot_be_kept_is_refused(named: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(TRUTH, SCORES, metrics=["p@1", "lrap"], per_label=named)
