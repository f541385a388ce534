"""`repr` of each result is one line with its most important values; `str` is its tables."""

from typing import Any

import numpy as np

from xmleval import compare, diff, evaluate, rank

RANKED = {"d": {"a": 0.1, "b": 0.2}, "e": {"a": 0.1, "b": 0.2}}
TRUTH = np.eye(40)
HALF = np.eye(40)[np.arange(40) // 2 * 2]
MODELS = {"a": TRUTH + 1, "b": HALF + 1}
NAMES = {"new\nline": TRUTH, "x" * 1000: HALF}
SAME = "(no difference seen)"
OPTIONS: dict[str, Any] = {"metrics": ["p@1", "p@2", "p@3", "p@4"], "confidence": 0.95}


def test_repr_is_one_line_with_the_first_values() -> None:
    report = evaluate(TRUTH, HALF + 1, **OPTIONS)
    values = "P@1 0.5000 ±0.1558, P@2 0.2625 ±0.0863, P@3 0.1750 ±0.0575"
    assert repr(report) == f"<Report: 40 rows x 40 labels, {values}, ...>"
    assert repr(report.specs[0]) == "<Spec p@1>"
    comparison = compare(TRUTH, MODELS, **OPTIONS)
    models = "P@1 of a 1.0000, b 0.5000 ±0.1558"
    assert repr(comparison) == f"<Comparison: 40 rows x 40 labels, {models}>"
    changes = diff(TRUTH, MODELS["a"], MODELS["b"], metric="p@1")
    change = "1.0000 (a) -> 0.5000 (b), -0.5000; 0 rows better, 20 worse, 20 equal"
    assert repr(changes) == f"<Diff of P@1 ↑: {change}>"
    ranking = rank(RANKED, "p@1")
    assert repr(ranking) == "<Ranking: average ranks by P@1 on 2 data sets: b 1, a 2>"
    for result in (report, comparison, ranking):
        assert str(result) == result.to_text()
        assert len(str(result).splitlines()) > 3


def test_repr_stays_short_with_any_names() -> None:
    comparison = compare(TRUTH, NAMES, metrics=["p@1"])
    ranks = dict.fromkeys(NAMES, 0.1)
    ranking = rank({"d": ranks, "e": ranks}, "p@1")
    for result in (comparison, ranking, comparison.differences[0]):
        assert "\n" not in repr(result)
    assert len(repr(comparison)) < 200


def test_difference_tells_groups_and_what_is_not_tested() -> None:
    groups = ["x", "y"] * 20
    comparison = compare(TRUTH, MODELS, metrics=["p@1"], label_groups=groups)
    within, share = (
        comparison.difference("p@1", "a", "b", "x", kind) for kind in ("groups", "shares")
    )
    assert str(within) == "P@1 within x: a - b = 0.0000 [0.0000, 0.0000], p 1.000 " + SAME
    assert str(share) == "P@1, share of x: a - b = 0.0000 [0.0000, 0.0000], p 1.000 " + SAME
    untested = compare(TRUTH, MODELS, metrics=["auc.macro"], test="randomisation").differences
    assert "p " not in str(untested[0])
