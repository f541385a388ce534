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
COUNTS = ["tp", "fp", "fn"]
SET_MEASURES = ["precision", "recall", "f1"]


def draw_problem(data: st.DataObject, most_rows: int = 6) -> Problem:
    """Draw truth, predictions and conventions, with ties that count half as in columns by label."""
    forms = ("csr", "dense", "list")
    problem = data.draw(free_problems(forms=forms, least_rows=1, most_rows=most_rows))
    problem = problem.with_conventions(auc_ties="half")
    if problem.bare or problem.form == "dense":
        problem = problem.with_conventions(unlisted="below")
    arguments = {"conventions": problem.conventions}
    return replace(problem, arguments=arguments, metrics=(*CURVES,))


def best_threshold(cells: list[oracle.Cell]) -> float:
    """Return the highest score that reaches the largest F1; nan where nothing is relevant."""
    n_relevant = oracle.weight_of(oracle.relevant_of(cells))
    if not n_relevant:
        return math.nan
    thresholds = sorted({cell.score for cell in cells}, reverse=True)
    f1 = [2 * hits / (size + n_relevant) for hits, size in oracle.cuts(cells)]
    return thresholds[f1.index(max(f1))] + 0.0


def assert_close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@law
@given(data=st.data())
def test_per_label_curves_match_their_definitions(data: st.DataObject) -> None:
    problem = draw_problem(data)
    assume(not problem.bare)
    case = case_of(problem)
    report = problem.evaluate(per_label=True)
    columns = oracle.cells_of(case)
    by_label = report.per_label()
    assert list(by_label) == ["support", "auc", "ap", "peak_f1", "threshold"]

    support = [sum(j in row for row in case.truth) for j in range(case.n_labels)]
    empty_ap = math.nan
    if case.conventions["ap_empty"] == "zero":
        empty_ap = 0.0
    assert_close(by_label["support"], support)
    assert_close(by_label["auc"], [oracle.auc(cells, "half") for cells in columns])
    assert_close(by_label["ap"], [oracle.ap(cells, empty_ap) for cells in columns])
    assert_close(by_label["peak_f1"], [oracle.peak_f1(cells) for cells in columns])

    thresholds = [best_threshold(cells) for cells in columns]
    np.testing.assert_array_equal(by_label["threshold"], thresholds)
    all_cells = [cell for cells in columns for cell in cells]
    micro_threshold = best_threshold(all_cells)
    np.testing.assert_array_equal(report.thresholds["peak_f1.micro"], micro_threshold)


def draw_predicted_sets(decision: str, problem: Problem, data: st.DataObject) -> list[Any]:
    """Draw sets; return them for the decision "pred", else the sets of the decision."""
    sets: list[Any] = data.draw(label_sets(problem.n_rows, problem.n_labels))
    if decision.startswith("top"):
        return top_labels(problem, int(decision[3:]))
    if decision == "threshold1":
        return [{j for j, s in row if s is not None and s > 1} for row in problem.listed]
    return sets


def top_labels(problem: Problem, k: int) -> list[Any]:
    case = case_of(problem)
    return [metrics.top(case, i, k) for i in range(problem.n_rows)]


def count_label(truth: Any, predicted: list[Any], label: int) -> metrics.Counts:
    cells = []
    for relevant, labels in zip(truth, predicted, strict=True):
        cells.append((label in relevant, label in labels, 1.0))
    return metrics.count(cells)


@law
@given(data=st.data(), decision=st.sampled_from(["pred", "top1", "top3", "threshold1"]))
def test_per_label_counts_match_the_decision(decision: str, data: st.DataObject) -> None:
    problem = replace(draw_problem(data), metrics=("f1.macro", "f1.macro@2"))
    if decision == "threshold1":
        assume(not problem.bare and (problem.unlisted or 0) <= 1)
    case = case_of(problem)
    predicted = draw_predicted_sets(decision, problem, data)
    arguments: dict[str, Any] = {"decision": decision}
    if decision == "pred":
        arguments = {"y_pred": predicted}
    by_label = problem.with_arguments(**arguments).evaluate(per_label=True).per_label()

    zero = metrics.zero_division(case)
    for suffix, sets in (("", predicted), ("@2", top_labels(problem, 2))):
        counts = [count_label(case.truth, sets, label) for label in range(case.n_labels)]
        for position, name in enumerate(COUNTS):
            expected = [label_counts[position] for label_counts in counts]
            assert_close(by_label[f"{name}{suffix}"], expected)
        for name in SET_MEASURES:
            values = [metrics.set_formula(name, c, zero, 1.0) for c in counts]
            assert_close(by_label[f"{name}{suffix}"], values)
    assert ("auc" in by_label) == (not problem.bare)


@law
@given(data=st.data(), n_points=st.sampled_from([1, 2, 3, 5, 8, 200]))
def test_curve_points_match_counted_cells(n_points: int, data: st.DataObject) -> None:
    problem = draw_problem(data, 12)
    assume(not problem.bare)
    report = problem.evaluate(curve_points=n_points)
    cells = [cell for column in oracle.cells_of(case_of(problem)) for cell in column]
    n_relevant = sum(cell.relevant for cell in cells)
    n_irrelevant = len(cells) - n_relevant
    fpr, tpr, thresholds = report.roc_curve()
    precision, recall, _ = report.pr_curve()

    n_more = 2 if problem.unlisted is None else 5  # a jump over many cells
    assert fpr.size <= n_points + n_more
    assert (np.diff(thresholds[1:]) < 0).all()
    assert (fpr[0], tpr[0], thresholds[0]) == (0, 0, math.inf)
    assert (precision[0], recall[0]) == (1, 0)
    assert (fpr[-1], tpr[-1]) == (float(n_irrelevant > 0), float(n_relevant > 0))
    np.testing.assert_array_equal(recall, tpr)

    for point in range(1, thresholds.size):
        predicted = [cell for cell in cells if cell.score >= thresholds[point]]
        n_hits = sum(cell.relevant for cell in predicted)
        n_wrong = len(predicted) - n_hits
        assert fpr[point] == metrics.ratio(n_wrong, n_irrelevant, 0.0)
        assert tpr[point] == metrics.ratio(n_hits, n_relevant, 0.0)
        assert precision[point] == float(Fraction(n_hits, len(predicted)))
    if n_points == 200:
        assert fpr.size == 1 + len({cell.score for cell in cells})


def test_per_label_has_the_columns_that_the_input_allows() -> None:
    truth = np.eye(4, dtype=int)
    labels = np.arange(4)[:, None]
    curve_columns = {"auc", "ap", "peak_f1", "threshold"}
    set_columns = [*COUNTS, *SET_MEASURES]
    list_columns = {"support", *(f"{name}@1" for name in set_columns)}
    expected_columns = [
        (np.ones((4, 1)), list_columns | curve_columns),
        (None, list_columns),
    ]
    for scores, expected in expected_columns:
        report = evaluate(truth, (labels, scores), metrics="p@1", per_label=True)
        assert {*report.per_label()} == expected
    columns = evaluate(truth, y_pred=truth, metrics="f1.micro", per_label=True).per_label()
    assert list(columns) == ["support", *set_columns]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_listed", [0, 1])
def test_threshold_at_the_score_of_unlisted_labels_is_not_rounded(
    dtype: str, n_listed: int
) -> None:
    """The threshold predicts all unlisted labels, so it has the type of the scores."""
    truth = np.array([[1, 0, 1], [0, 1, 1]])
    values = np.full(n_listed, -1.0)
    positions = ([0] * n_listed, [1] * n_listed)
    scores = sp.csr_array((values, positions), shape=(2, 3))
    report = evaluate(
        truth,
        scores.astype(dtype),
        metrics=CURVES,
        conventions="unlisted=0.1",
        per_label=True,
        curve_points=9,
    )
    threshold = float(np.dtype(dtype).type(0.1))
    curve_thresholds = [math.inf, threshold, -1.0][: 2 + n_listed]
    assert report.thresholds["peak_f1.micro"] == threshold
    assert report.per_label()["threshold"].tolist() == [threshold] * 3
    assert report.roc_curve()[2].tolist() == curve_thresholds


def test_threshold_of_equal_peaks_is_the_highest_in_separate_score_ranges() -> None:
    """Both the first cell alone and all four have F1 2/3."""
    truth = np.array([[1], [0], [0], [1]])
    scores = np.array([[4.0], [3.0], [2.0], [1.0]])
    with small_limits():
        report = evaluate(truth, scores, metrics=CURVES, per_label=True, memory=1)
    assert report.thresholds == {"peak_f1.micro": 4.0}
    assert report.per_label()["threshold"].tolist() == [4.0]


@pytest.mark.parametrize("metrics", [["f1.macro", "margin.macro"], ["margin.macro"]])
def test_support_of_a_label_is_weighted_with_any_measure(metrics: list[str]) -> None:
    truth = np.eye(4, dtype=int)[[0, 1, 1, 3]]
    scores = np.arange(16.0).reshape(4, 4)
    report = evaluate(
        truth,
        scores,
        metrics=metrics,
        decision="top2",
        sample_weight=np.full(4, 3.0),
        per_label=True,
    )
    assert report.per_label()["support"].tolist() == [3, 6, 0, 3]
