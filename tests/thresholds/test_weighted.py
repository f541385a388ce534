"""Weights of labels for macro averages at k: the sets that they choose, and the ascent to them."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles import thresholds as exhaustive
from tests.strategies import DTYPES, FORMS, PROBABILITIES, problems
from tests.thresholds.drawn_rules import ranked_labels, weighted_rule
from tests.thresholds.test_thresholds import sets_of, untold
from xmleval import evaluate
from xmleval.thresholds import fit


@pytest.mark.parametrize(("form", "dtype"), [(f, d) for f in FORMS for d in DTYPES])
@settings(max_examples=20)
@given(data=st.data())
def test_weighted_scores_choose_the_best_of_each_row(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, weighted=False, levels=PROBABILITIES))
    assume(not problem.bare)
    problem.case.conventions = {}
    case, k = problem.case, data.draw(st.integers(1, 3))
    ranked = ranked_labels(case)
    rule = weighted_rule(data, case.n_labels, k)
    sets = exhaustive.by_weight(case, k, ranked, *rule.decision.numbers.reshape(2, -1).tolist())
    assert sets_of(rule.apply(problem.y_score())) == sets


@untold
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_rows_take_what_raises_the_expected_macro_average_most(name: str) -> None:
    rng = np.random.default_rng(6)
    for k in (1, 2, 5):
        truth, scores = (rng.random((9, 5)) < 0.3).astype(int), rng.random((9, 5))
        scores[rng.random((9, 5)) < 0.1] = 0
        stored = sp.csr_array(scores)
        rows = [dict(zip(*map(list, (row.indices, row.data)), strict=True)) for row in stored]
        n_true = truth.sum(axis=0).tolist()
        sets = exhaustive.ascent(name, k, rows, n_true)
        found = fit(truth, stored, f"{name}.macro@{k}")
        assert (found.rule, found.decision.value) == ("weighted", k)
        without = exhaustive.expected(name, rows, sets, n_true)
        more = [*rows, dict.fromkeys(range(5), 0.25)]  # what one more row raises it by, is its weighted score
        weights, offsets = found.decision.numbers.reshape(2, -1)
        for j in range(5):
            gain = exhaustive.expected(name, more, [*sets, {j}], n_true) - without
            assert weights[j] * 0.25 + offsets[j] == pytest.approx(float(gain), rel=1e-12)


def test_weights_of_scores_that_are_no_probabilities_are_told() -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random((400, 10)) < np.linspace(0.4, 0.01, 10)).astype(int)
    scores = 0.5 + 0.4 * truth * rng.random((400, 10)) + 0.1 * rng.random((400, 10))
    seen = r"^f1.macro@2 is 0\..* by weighted scores and 0\..* by the scores themselves: are"
    with pytest.warns(UserWarning, match=seen):
        fit(truth, scores**0.01, "f1.macro@2")


def test_values_told_are_those_of_the_rule_and_of_the_best_scores() -> None:
    rng = np.random.default_rng(1)
    n_told = 0
    for _ in range(20):
        truth, scores = (rng.random((6, 4)) < 0.4).astype(int), rng.random((6, 4))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rule = fit(truth, scores, "f1.macro@2")
        own = evaluate(truth, scores, metrics="f1.macro", decision=rule)["f1.macro"]
        plain = evaluate(truth, scores, metrics="f1.macro@2")["f1.macro@2"]
        assert len(caught) == (own < plain)
        if caught:
            n_told += 1
            said = f"f1.macro@2 is {own:.4g} by weighted scores and {plain:.4g} by the scores themselves"
            assert str(caught[0].message).startswith(said)
    assert 0 < n_told < 20


@untold
def test_scores_that_are_no_probabilities_are_refused_wherever_a_rule_is_used() -> None:
    truth, scores = np.array([[1, 0, 0], [0, 1, 1]]), np.array([[0.9, 0.3, 0.1], [0.6, 0.5, 0.2]])
    rule = fit(truth, scores, "f1.macro@2")
    logits = scores.copy()
    logits[1, 2] = -0.5
    said = (
        r"^y_score: row 1: score -0.5 is no probability; a weighted rule needs them \(`xmleval calibrate`\)$"
    )
    for unlisted in ("below", 0.0):
        more: dict[str, Any] = {"unlisted": unlisted, "block_rows": 1}
        with pytest.raises(ValueError, match=said):
            evaluate(truth, sp.csr_array(logits), metrics="f1.macro", decision=rule, **more)
    with pytest.raises(ValueError, match=said):
        rule.apply(logits)
    with pytest.raises(ValueError, match=said):
        fit(truth, logits, "f1.macro@2")
    assert evaluate(truth, logits, metrics="f1.macro@2", decision=rule)["f1.macro@2"] > 0  # reads no rule


def test_weights_go_by_name() -> None:
    truth, scores = np.array([[1, 0], [0, 1], [0, 1]]), np.array([[0.9, 0.3], [0.6, 0.5], [0.7, 0.4]])
    rule = fit(truth, scores, "f1.macro@1", labels=["a", "b"])
    a, b = rule.decision.numbers.reshape(2, 2).T.tolist()
    swapped = rule.for_labels(["b", "new", "a"])
    assert swapped.decision.numbers.reshape(2, 3).T.tolist() == [b, [0.0, -1e300], a]
    swapped = dataclasses.replace(swapped, label_names=None)
    assert swapped.apply(np.array([[0.1, 0.9, 0.1]])).indices.tolist() != [1]
