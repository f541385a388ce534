"""Results of every label and points of curves, against counting cells one by one; the command line."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles import metrics as oracle
from tests.oracles import sets as oracle_sets
from tests.strategies import DTYPES, FORMS, Problem, problems
from xmleval import Evaluator, evaluate
from xmleval.pooled import curves

sk = pytest.importorskip("sklearn.metrics")

CURVES = ["auc.macro", "auc.micro", "peak_f1.micro"]
law = settings(
    max_examples=16, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
every_form = pytest.mark.parametrize(("form", "dtype"), [(f, d) for f in FORMS for d in DTYPES])
Cells = list[tuple[float, bool]]  # score, relevant; -inf with None below all


def columns_of(problem: Problem) -> list[Cells]:
    """Scores of every label's cells; unlisted ones have their score, or one that is below all others."""
    case = problem.case
    fill = oracle.convention(case, "unlisted")
    below = -math.inf if fill == "below" else float(np.float64(str(fill)).astype(problem.dtype))
    assert case.listed is not None
    found: list[Cells] = [[] for _ in range(case.n_labels)]
    for y, row in zip(case.truth, case.listed, strict=True):
        known = {j: float(s) + 0.0 for j, s in row if s is not None}
        for j, column in enumerate(found):
            column.append((known.get(j, below), j in y))
    return found


def counts_from(cells: Cells, threshold: float) -> tuple[int, int]:
    """Relevant and irrelevant cells with a score of at least a threshold."""
    taken = [y for s, y in cells if s >= threshold]
    return sum(taken), len(taken) - sum(taken)


def f1_from(cells: Cells, threshold: float) -> float:
    tp, fp = counts_from(cells, threshold)
    return oracle_sets.ratio(2 * tp, tp + fp + sum(y for _, y in cells), 0.0)


def best_threshold(cells: Cells) -> tuple[float, float]:
    """Largest F1 and the highest score that reaches it; nan where nothing is relevant."""
    levels = sorted({s for s, _ in cells}, reverse=True)
    most = max((f1_from(cells, t) for t in levels), default=0.0)
    return most, next((t for t in levels if most and f1_from(cells, t) == most), math.nan)


def area(cells: Cells) -> float:
    """Right pairs, level ones by half."""
    pairs = [(s > t) + 0.5 * (s == t) for s, y in cells if y for t, z in cells if not z]
    return sum(pairs) / len(pairs) if pairs else math.nan


def precision_area(cells: Cells, otherwise: float = math.nan) -> float:
    """Mean precision over relevant cells, each at the end of its tie group."""
    good = [s for s, y in cells if y]
    if not good:
        return otherwise
    hits = [counts_from(cells, s) for s in good]
    return math.fsum(tp / (tp + fp) for tp, fp in hits) / len(good)


def same(found: Any, want: Any, what: str = "") -> None:
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12, err_msg=what)


def trapezoids(x: Any, y: Any) -> float:
    return float((np.diff(x) * (y[1:] + y[:-1])).sum() / 2)


# ------------------------------------------------------------------------------------------ every label


@every_form
@law
@given(data=st.data())
def test_curves_of_every_label(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, weighted=False))
    if problem.bare:
        return
    conventions = {**problem.case.conventions, "auc_ties": "half"}
    report = evaluate(
        problem.y_true(), problem.y_score(), metrics=CURVES, conventions=conventions, per_label=True
    )
    found, columns = report.per_label(), columns_of(problem)
    assert list(found) == ["support", "auc", "ap", "peak_f1", "threshold"]
    assert all(column.shape == (problem.case.n_labels,) for column in found.values())
    same(found["support"], [sum(y for _, y in cells) for cells in columns])
    same(found["auc"], [area(cells) for cells in columns])
    otherwise = 0.0 if conventions.get("ap_empty") == "zero" else math.nan
    same(found["ap"], [precision_area(cells, otherwise) for cells in columns])
    best = [best_threshold(cells) for cells in columns]
    same(found["peak_f1"], [most for most, _ in best])
    np.testing.assert_array_equal(found["threshold"], [at for _, at in best])
    for cells, most, at in zip(columns, found["peak_f1"].tolist(), found["threshold"].tolist(), strict=True):
        assert f1_from(cells, at) == pytest.approx(most) or not most
    together = [cell for cells in columns for cell in cells]
    most, at = best_threshold(together)
    same(report["peak_f1.micro"], most)
    np.testing.assert_array_equal(report.thresholds["peak_f1.micro"], at)


DECISIONS = ["pred", "top1", "top3", "threshold0.25", "threshold1"]


@pytest.mark.slow
@every_form
@pytest.mark.parametrize("decision", DECISIONS)
@settings(law, max_examples=12)
@given(data=st.data())
def test_decisions_of_every_label(form: str, dtype: str, decision: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, weighted=False))
    case, inputs = problem.case, problem.inputs()
    fill = oracle.convention(case, "unlisted")
    at = float(decision.removeprefix("threshold")) if decision.startswith("threshold") else math.nan
    if at == at and (problem.bare or (fill != "below" and float(str(fill)) > at)):
        return
    if decision == "pred":
        sets: list[set[int]] = case.pred or []
    elif decision.startswith("top"):
        sets = [oracle.top(case, i, int(decision[3:])) for i in range(problem.n_rows)]  # type: ignore[misc]
    else:
        sets = [{j for j, s in row if s is not None and s > at} for row in case.listed or []]
    del inputs["y_pred"]
    inputs |= {"y_pred": problem.y_pred()} if decision == "pred" else {"decision": decision}
    report = evaluate(
        **inputs, metrics=["f1.macro", "f1.macro@2"], conventions=case.conventions, per_label=True
    )
    found = report.per_label()
    tops = [set(oracle.top(case, i, 2)) for i in range(problem.n_rows)]
    for end, predicted in (("", [set(h) for h in sets]), ("@2", tops)):
        each = [
            oracle_sets.count((j in y, j in h, 1.0) for y, h in zip(case.truth, predicted, strict=True))
            for j in range(case.n_labels)
        ]
        for n, name in enumerate(("tp", "fp", "fn")):
            same(found[f"{name}{end}"], [counts[n] for counts in each], name + end)
        for name in ("precision", "recall", "f1"):
            zero = oracle.zero_division(case)
            want = [oracle_sets.set_formula(name, counts, zero, 1.0) for counts in each]
            same(found[f"{name}{end}"], want, name + end)
    same(found["support"], [sum(j in y for y in case.truth) for j in range(case.n_labels)])
    assert ("auc" in found) == (not problem.bare)


def test_only_what_the_input_gives() -> None:
    truth, labels = np.eye(4, dtype=int), np.arange(4)[:, None]
    scored = (labels, np.ones((4, 1)))
    of_curves = ["support", "auc", "ap", "peak_f1", "threshold"]
    of_sets = ["support", "tp", "fp", "fn", "precision", "recall", "f1"]
    found = evaluate(truth, scored, metrics=["p@1"], per_label=True).per_label()
    assert sorted(found) == sorted([*of_curves, "tp@1", "fp@1", "fn@1", "precision@1", "recall@1", "f1@1"])
    bare = evaluate(truth, (labels, None), metrics=["p@1"], per_label=True).per_label()
    assert {*found} - {*bare} == {*of_curves} - {"support"}
    found = evaluate(truth, y_pred=truth, metrics=["f1.micro"], per_label=True).per_label()
    assert list(found) == of_sets
    report = evaluate(truth, (labels, None), metrics=["f1.macro@3"], decision="top1", per_label=True)
    assert sorted(report.per_label()) == sorted(of_sets + [f"{name}@3" for name in of_sets[1:]])


def test_weighted_counts_of_every_label() -> None:
    truth, weights = np.eye(4, dtype=int), np.array([1.0, 0.5, 2.0, 0.0])
    found = evaluate(
        truth, truth * 0.5, metrics=["p@1"], decision="top1", sample_weight=weights, per_label=True
    ).per_label()
    of_sets = ["tp", "fp", "fn", "precision", "recall", "f1"]
    at_1 = [f"{name}@1" for name in of_sets]  # of the same rule
    assert sorted(found) == sorted(["support", *of_sets, *at_1, "auc", "ap", "peak_f1", "threshold"])
    np.testing.assert_array_equal(found["support"], weights)
    np.testing.assert_array_equal(found["tp"], weights)


def test_refused_where_nothing_was_or_can_be_kept() -> None:
    truth, labels = np.eye(3, dtype=int), np.arange(3)[:, None]
    report = evaluate(truth, truth * 0.5, metrics="curves")
    with pytest.raises(ValueError, match="labels were not kept: evaluate with per_label=True"):
        report.per_label()
    for curve in (report.roc_curve, report.pr_curve):
        with pytest.raises(ValueError, match="no curve was kept: evaluate with curve_points="):
            curve()
    with pytest.raises(ValueError, match=r"^per_label= needs"):
        evaluate(truth, (labels, None), metrics=["one_error"], per_label=True)
    with pytest.raises(ValueError, match=r"^curve_points= needs scores in y_score="):
        evaluate(truth, (labels, None), metrics=["p@1"], curve_points=10)
    wrong: list[Any] = [-1, 1.5, True, "7"]
    for points in wrong:
        with pytest.raises(ValueError, match=r"^curve_points: .* is not a non-negative integer"):
            evaluate(truth, truth * 0.5, metrics="curves", curve_points=points)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_listed", [0, 1])
def test_a_threshold_that_is_the_score_of_unlisted_labels(dtype: str, n_listed: int) -> None:
    """It takes them all, so it must not be rounded to another type than that of the scores."""
    truth = np.array([[1, 0, 1], [0, 1, 1]])
    scores = sp.csr_array((np.full(n_listed, -1.0), ([0] * n_listed, [1] * n_listed)), shape=(2, 3))
    report = evaluate(
        truth, scores.astype(dtype), metrics=CURVES, unlisted=0.1, per_label=True, curve_points=9
    )
    level = float(np.dtype(dtype).type(0.1))
    assert report.thresholds["peak_f1.micro"] == level
    np.testing.assert_array_equal(report.per_label()["threshold"], [level] * 3)
    assert report.roc_curve()[2].tolist() == [math.inf, level, -1.0][: 2 + n_listed]


@pytest.mark.parametrize("least", [4, 1 << 12])
def test_of_equal_peaks_the_highest_threshold(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Both the first cell alone and all four have F1 2/3, also where ranges of scores are apart."""
    monkeypatch.setattr(curves, "LEAST_RANGE", least)
    truth, scores = np.array([[1], [0], [0], [1]]), np.array([[4.0], [3.0], [2.0], [1.0]])
    report = evaluate(truth, scores, metrics=CURVES, per_label=True, memory=1)
    assert report.thresholds == {"peak_f1.micro": 4.0}
    assert report.per_label()["threshold"].tolist() == [4.0]


# ----------------------------------------------------------------------------------- points of the curve


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_points_of_the_curve(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, weighted=False, max_rows=12))
    if problem.bare:
        return
    n_points = data.draw(st.sampled_from([1, 2, 3, 5, 8, 200]))
    report = evaluate(
        problem.y_true(), problem.y_score(), metrics=CURVES, curve_points=n_points,
        conventions={**problem.case.conventions, "auc_ties": "half"},
    )  # fmt: skip
    cells = [cell for column in columns_of(problem) for cell in column]
    n_good, n_bad = counts_from(cells, -math.inf)
    fpr, tpr, thresholds = report.roc_curve()
    precision, recall, same_thresholds = report.pr_curve()
    assert fpr.shape == tpr.shape == precision.shape == recall.shape == thresholds.shape
    at_once = oracle.convention(problem.case, "unlisted") != "below"  # a jump over many cells
    assert fpr.size <= n_points + (5 if at_once else 2)
    assert (np.diff(fpr) >= 0).all()
    assert (np.diff(tpr) >= 0).all()
    assert (np.diff(thresholds[1:]) < 0).all()
    assert (fpr[0], tpr[0], thresholds[0], precision[0], recall[0]) == (0, 0, math.inf, 1, 0)
    assert (fpr[-1], tpr[-1]) == (float(n_bad > 0), float(n_good > 0))
    np.testing.assert_array_equal(thresholds, same_thresholds)
    np.testing.assert_array_equal(recall, tpr)
    for n in range(1, fpr.size):
        tp, fp = counts_from(cells, thresholds[n])
        assert (fpr[n], tpr[n]) == (oracle_sets.ratio(fp, n_bad, 0.0), oracle_sets.ratio(tp, n_good, 0.0))
        assert precision[n] == tp / (tp + fp)
    if n_points == 200:
        assert fpr.size == 1 + len({s for s, _ in cells})
        if n_good and n_bad:
            same(trapezoids(fpr, tpr), report["auc.micro"])


@pytest.mark.parametrize("unlisted", ["below", 0.0, 0.5])
@pytest.mark.parametrize("seed", range(10))
def test_enough_points_are_those_of_scikit_learn(seed: int, unlisted: Any) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random((30, 7)) < 0.3).astype(int)
    scores, stored = rng.integers(-8, 9, truth.shape) / 8, rng.random(truth.shape) < 0.6
    sparse = sp.csr_array((scores[stored], np.nonzero(stored)), shape=truth.shape)
    dense = np.where(stored, scores, -99.0 if unlisted == "below" else unlisted)
    report = evaluate(truth, sparse, metrics=CURVES, unlisted=unlisted, curve_points=10_000)
    fpr, tpr, thresholds = report.roc_curve()
    want = sk.roc_curve(truth.ravel(), dense.ravel(), drop_intermediate=False)
    same(fpr, want[0])
    same(tpr, want[1])
    np.testing.assert_array_equal(np.where(thresholds == -math.inf, -99.0, thresholds), want[2])
    same(sk.auc(fpr, tpr), report["auc.micro"])
    precision, recall, _ = report.pr_curve()
    exact = sk.precision_recall_curve(truth.ravel(), dense.ravel())
    same(precision[1:], exact[0][-2::-1])
    same(recall, exact[1][::-1])


@pytest.mark.parametrize("unlisted", ["below", 0.0])
def test_no_more_points_than_were_asked_for_and_both_ends(unlisted: Any) -> None:
    scores = sp.csr_array(([-2.0, -0.5], ([2, 2], [0, 1])), shape=(3, 3))
    report = evaluate(np.zeros((3, 3), int), scores, metrics=CURVES, unlisted=unlisted, curve_points=1)
    assert report.roc_curve()[0].size <= 1 + 2


def test_few_points_are_spread_over_the_curve() -> None:
    rng = np.random.default_rng(0)
    truth, scores = (rng.random((400, 5)) < 0.3).astype(int), rng.random((400, 5))
    report = evaluate(truth, scores, metrics=CURVES, curve_points=50)
    fpr, tpr, _ = report.roc_curve()
    assert 40 <= fpr.size <= 52
    assert max(np.diff(fpr).max(), np.diff(tpr).max()) < 0.05
    assert abs(trapezoids(fpr, tpr) - report["auc.micro"]) < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_holds_few_points_and_the_report_says_so(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    truth, scores = (rng.random((400, 5)) < 0.3).astype(int), rng.random((400, 5))
    given: Any = {"metrics": CURVES, "sample_weight": np.full(400, 2.0) if weighted else None}
    whole = evaluate(truth, scores, curve_points=10**9, **given)
    limited = evaluate(truth, scores, curve_points=10**9, memory="40kB", **given)
    assert whole.roc_curve()[0].size > 1900
    assert 500 <= limited.roc_curve()[0].size <= 1002
    told = "curve_points=1000000000: at most 1000 points are kept, the share of memory="
    assert told in limited.notes
    assert dict(limited) == dict(whole)
    assert told not in evaluate(truth, scores, curve_points=1000, memory="40kB", **given).notes


# ------------------------------------------------------------------------------------ the command line


def test_a_folder_for_temporary_files_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, truth = tmp_path / "gone", np.eye(3, dtype=int)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    evaluator = Evaluator("curves", n_labels=3, memory=1)
    with pytest.raises(FileNotFoundError, match=r"while .* bytes of scores were spilled") as caught:
        evaluator.update(truth, truth * 0.5)
    assert caught.value.filename == str(folder)
    folder.mkdir()
    evaluator.update(truth, truth * 0.5)
    assert evaluator.compute().to_json() == evaluate(truth, truth * 0.5, metrics="curves").to_json()


@pytest.mark.parametrize("metrics", [["f1.macro", "margin.macro"], ["margin.macro"]])
def test_support_of_a_label_is_the_same_beside_other_measures(metrics: list[str]) -> None:
    """Labels of sets have weighted support, and measures of scores do not replace it."""
    truth, scores = np.eye(4, dtype=int)[[0, 1, 1, 3]], np.arange(16.0).reshape(4, 4)
    weights = np.full(4, 3.0)
    table = evaluate(
        truth, scores, metrics=metrics, decision="top2", sample_weight=weights, per_label=True
    ).per_label()
    assert table["support"].tolist() == [3, 6, 0, 3]
