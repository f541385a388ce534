"""Results of every label and points of curves, against counting cells one by one."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.definitions import case_of
from tests.limits import small_limits
from tests.oracles import curves as oracle
from tests.oracles import metrics
from tests.problems import Problem, free_problems, label_sets, law
from xmleval import evaluate

CURVES = ["auc.macro", "auc.micro", "peak_f1.micro"]


def drawn(data: st.DataObject, rows: int = 6) -> Problem:
    """Draw truth, predictions and conventions, with ties that count half, as in columns by label."""
    problem = data.draw(free_problems(forms=("csr", "dense", "list"), least_rows=1, most_rows=rows))
    problem = problem.with_conventions(auc_ties="half")
    if problem.bare or problem.form == "dense":
        problem = problem.with_conventions(unlisted="below")
    return replace(problem, arguments={"conventions": problem.conventions}, metrics=(*CURVES,))


def best_threshold(cells: list[oracle.Cell]) -> float:
    """Return the highest score that reaches the largest F1; nan where nothing is relevant."""
    relevant, levels = oracle.weight_of(c for c in cells if c[1]), sorted({c[0] for c in cells}, reverse=True)
    values = [2 * hits / (size + relevant) for hits, size in oracle.cuts(cells)]
    return levels[values.index(max(values))] + 0.0 if relevant else math.nan


def same(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@law
@given(data=st.data())
def test_curves_of_every_label(data: st.DataObject) -> None:
    problem = drawn(data)
    assume(not problem.bare)
    case = case_of(problem)
    report, columns = problem.evaluate(per_label=True), oracle.cells_of(case)
    by_label = report.per_label()
    assert list(by_label) == ["support", "auc", "ap", "peak_f1", "threshold"]
    same(by_label["support"], [sum(j in row for row in case.truth) for j in range(case.n_labels)])
    same(by_label["auc"], [oracle.auc(cells, "half") for cells in columns])
    otherwise = 0.0 if case.conventions["ap_empty"] == "zero" else math.nan
    same(by_label["ap"], [oracle.ap(cells, otherwise) for cells in columns])
    same(by_label["peak_f1"], [oracle.peak_f1(cells) for cells in columns])
    np.testing.assert_array_equal(by_label["threshold"], [best_threshold(cells) for cells in columns])
    together = [cell for cells in columns for cell in cells]
    np.testing.assert_array_equal(report.thresholds["peak_f1.micro"], best_threshold(together))


@law
@given(data=st.data(), decision=st.sampled_from(["pred", "top1", "top3", "threshold1"]))
def test_decisions_of_every_label(decision: str, data: st.DataObject) -> None:
    problem = replace(drawn(data), metrics=("f1.macro", "f1.macro@2"))
    assume(decision != "threshold1" or not (problem.bare or (problem.unlisted or 0) > 1))
    case, rows = case_of(problem), range(problem.n_rows)
    predicted: Any = data.draw(label_sets(problem.n_rows, problem.n_labels))
    if decision.startswith("top"):
        predicted = [metrics.top(case, i, int(decision[3:])) for i in rows]
    elif decision == "threshold1":
        predicted = [{j for j, s in row if s is not None and s > 1} for row in problem.listed]
    sets_of = {"y_pred": predicted} if decision == "pred" else {"decision": decision}
    by_label = problem.with_arguments(**sets_of).evaluate(per_label=True).per_label()
    for end, of_rows in (("", predicted), ("@2", [metrics.top(case, i, 2) for i in rows])):
        counts = [
            metrics.count((j in y, j in h, 1.0) for y, h in zip(case.truth, of_rows, strict=True))
            for j in range(case.n_labels)
        ]
        for n, name in enumerate(("tp", "fp", "fn")):
            same(by_label[f"{name}{end}"], [each[n] for each in counts])
        for name in ("precision", "recall", "f1"):
            zero = metrics.zero_division(case)
            same(by_label[f"{name}{end}"], [metrics.set_formula(name, each, zero, 1.0) for each in counts])
    assert ("auc" in by_label) == (not problem.bare)


@law
@given(data=st.data(), n_points=st.sampled_from([1, 2, 3, 5, 8, 200]))
def test_points_of_the_curve(n_points: int, data: st.DataObject) -> None:
    problem = drawn(data, 12)
    assume(not problem.bare)
    report = problem.evaluate(curve_points=n_points)
    cells = [cell for column in oracle.cells_of(case_of(problem)) for cell in column]
    n_good = sum(c[1] for c in cells)
    n_bad = len(cells) - n_good
    fpr, tpr, thresholds = report.roc_curve()
    precision, recall, _ = report.pr_curve()
    assert fpr.size <= n_points + (2 if problem.unlisted is None else 5)  # a jump over many cells
    assert (np.diff(thresholds[1:]) < 0).all()
    assert (fpr[0], tpr[0], thresholds[0], precision[0], recall[0]) == (0, 0, math.inf, 1, 0)
    assert (fpr[-1], tpr[-1]) == (float(n_bad > 0), float(n_good > 0))
    np.testing.assert_array_equal(recall, tpr)
    for n, threshold in [*enumerate(thresholds)][1:]:
        tp, size = sum(c[1] and c[0] >= threshold for c in cells), sum(c[0] >= threshold for c in cells)
        assert (fpr[n], tpr[n]) == (metrics.ratio(size - tp, n_bad, 0.0), metrics.ratio(tp, n_good, 0.0))
        assert precision[n] == float(Fraction(tp, size))
    assert n_points < 200 or fpr.size == 1 + len({c[0] for c in cells})


def test_only_what_the_input_gives() -> None:
    truth, labels = np.eye(4, dtype=int), np.arange(4)[:, None]
    of_curves = {"auc", "ap", "peak_f1", "threshold"}
    of_sets = ["tp", "fp", "fn", "precision", "recall", "f1"]
    of_lists = {"support", *(f"{name}@1" for name in of_sets)}
    for scores, names in ((np.ones((4, 1)), of_lists | of_curves), (None, of_lists)):
        assert {*evaluate(truth, (labels, scores), metrics="p@1", per_label=True).per_label()} == names
    columns = evaluate(truth, y_pred=truth, metrics="f1.micro", per_label=True).per_label()
    assert list(columns) == ["support", *of_sets]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_listed", [0, 1])
def test_threshold_that_is_the_score_of_unlisted_labels(dtype: str, n_listed: int) -> None:
    """It takes them all, so it must not be rounded to another type than that of the scores."""
    truth = np.array([[1, 0, 1], [0, 1, 1]])
    scores = sp.csr_array((np.full(n_listed, -1.0), ([0] * n_listed, [1] * n_listed)), shape=(2, 3))
    options: dict[str, Any] = {"conventions": "unlisted=0.1", "per_label": True, "curve_points": 9}
    report = evaluate(truth, scores.astype(dtype), metrics=CURVES, **options)
    level = float(np.dtype(dtype).type(0.1))
    assert report.thresholds["peak_f1.micro"] == level
    assert report.per_label()["threshold"].tolist() == [level] * 3
    assert report.roc_curve()[2].tolist() == [math.inf, level, -1.0][: 2 + n_listed]


def test_of_equal_peaks_the_highest_threshold_where_ranges_of_scores_are_apart() -> None:
    """Both the first cell alone and all four have F1 2/3."""
    truth, scores = np.array([[1], [0], [0], [1]]), np.array([[4.0], [3.0], [2.0], [1.0]])
    with small_limits():
        report = evaluate(truth, scores, metrics=CURVES, per_label=True, memory=1)
    assert report.thresholds == {"peak_f1.micro": 4.0}
    assert report.per_label()["threshold"].tolist() == [4.0]


@pytest.mark.parametrize("metrics", [["f1.macro", "margin.macro"], ["margin.macro"]])
def test_support_of_a_label_is_weighted_with_any_measure(metrics: list[str]) -> None:
    truth, scores = np.eye(4, dtype=int)[[0, 1, 1, 3]], np.arange(16.0).reshape(4, 4)
    options: dict[str, Any] = {"decision": "top2", "sample_weight": np.full(4, 3.0), "per_label": True}
    report = evaluate(truth, scores, metrics=metrics, **options)
    assert report.per_label()["support"].tolist() == [3, 6, 0, 3]
