"""Worked vectors, checked by hand and against other software."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.examples import V1_SCORES, V1_SETS, V1_TRUTH
from xmleval import evaluate

V1_OF_SETS = {
    "hamming_loss": 1 / 2, "subset_accuracy": 0, "jaccard.samples": 7 / 24, "precision.samples": 1 / 2,
    "recall.samples": 5 / 12, "f1.of_means": 5 / 11, "f1.samples": 9 / 20,
    "fbeta.of_means(beta=0.5)": 25 / 52, "fbeta.of_means(beta=2)": 25 / 58,
    "fbeta.samples(beta=0.5)": 21 / 44, "fbeta.samples(beta=2)": 3 / 7, "precision.micro": 1 / 2,
    "recall.micro": 2 / 5, "f1.micro": 4 / 9, "precision.macro": 2 / 5, "recall.macro": 1 / 5,
    "f1.macro": 4 / 15, "jaccard.macro": 1 / 5, "label_cardinality": 2.5, "label_density": 0.5,
    "label_diversity": 2, "proportional_diversity": 1,
}  # fmt: skip
V2_SCORES = np.array([[0.8, 0.7, 0.6, 0.5, 0.4]])
V4_TRUTH = np.array([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
V4_SETS = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
V1_OF_SCORES = {
    "one_error": 0, "coverage": 2.5, "ranking_loss": 1 / 6, "auc.samples": 5 / 6, "lrap": 7 / 8,
    "ndcg@all": 0.9435943864,
}  # fmt: skip


def check(report: Any, expected: dict[str, float], tolerance: float = 1e-12) -> None:
    for name, value in expected.items():
        assert report[name] == pytest.approx(value, abs=tolerance), name


def test_v1_sets() -> None:
    check(evaluate(V1_TRUTH, y_pred=V1_SETS, metrics=list(V1_OF_SETS)), V1_OF_SETS)


def test_v1_scores() -> None:
    report = evaluate(V1_TRUTH, V1_SCORES, metrics=[*V1_OF_SCORES, "peak_f1.samples"], per_row=True)
    check(report, V1_OF_SCORES, 1e-10)  # nDCG is given to ten digits
    assert report.per_row()["peak_f1.samples"] == pytest.approx([4 / 5, 6 / 7], abs=1e-12)


@pytest.mark.parametrize(("truth", "inputs", "expected"), [
    (V1_TRUTH, {"y_pred": V1_SETS, "conventions": {"labels": "seen"}}, {"f1.macro": 1 / 3}),
    (V1_TRUTH, {"y_pred": V1_SETS, "conventions": {"labels": "present"}}, {"f1.macro": 4 / 9}),
    ([[1, 0, 1, 1, 0]], {"y_score": V2_SCORES}, {"coverage": 3}),
    ([[1, 1, 0, 1, 1]], {"y_score": V2_SCORES}, {"ranking_loss": 1 / 2}),
    ([[1, 1, 1, 1, 1, 0, 0]], {"y_pred": np.array([[1, 1, 0, 0, 0, 1, 1]])}, {"jaccard.samples": 2 / 7}),
    (V4_TRUTH, {"y_pred": V4_SETS}, {"f1.macro": 5 / 18, "f1.micro": 2 / 3, "f1.samples": 0.75}),
    (V4_TRUTH, {"y_pred": V4_SETS, "conventions": {"labels": "seen"}}, {"f1.macro": 5 / 9}),
])  # fmt: skip
def test_v1_v2_and_v4(truth: Any, inputs: dict[str, Any], expected: dict[str, float]) -> None:
    check(evaluate(np.array(truth), **inputs, metrics=[*expected]), expected)


@pytest.mark.parametrize(
    ("ties", "loss", "auc"), [("full", 3 / 4, 3 / 4), ("half", 1 / 2, 1 / 2), ("none", 1 / 4, 1 / 4)]
)
def test_v3_ties(ties: str, loss: float, auc: float) -> None:
    truth, scores = np.array([[1, 0, 0, 1]]), np.array([[0.5, 0.5, 0.2, 0.2]])
    names = ["ranking_loss", "auc.samples", "coverage", "lrap"]
    report = evaluate(truth, scores, metrics=names, conventions={"loss_ties": ties, "auc_ties": ties})
    check(report, {"ranking_loss": loss, "auc.samples": auc, "coverage": 3, "lrap": 1 / 2})
    constant, credit = np.full((1, 4), 0.5), {"full": 1, "half": 1 / 2, "none": 0}[ties]
    report = evaluate(truth, constant, metrics=names, conventions={"loss_ties": ties, "auc_ties": ties})
    check(report, {"ranking_loss": credit, "auc.samples": credit})


def test_v5_two_forms_of_psndcg() -> None:
    truth = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 1, 0]])
    scores = np.array([[0.1, 0.9, 0.8, 0.7, 0.05], [0.9, 0.8, 0.1, 0.05, 0.7]])
    q, names = np.array([5, 2, 3, 4, 1]), ["psndcg_repo", "psndcg"]
    report = evaluate(truth, scores, metrics=names, k=(1, 2, 3, 4), inverse_propensity=q)
    of_repository, by_row = (0, 0.1158436, 0.1061029, 0.3958089), (0, 0.0898284, 0.0719113, 0.4070450)
    for k, (repository, per_row) in enumerate(zip(of_repository, by_row, strict=True), 1):
        check(report, {f"psndcg_repo@{k}": repository, f"psndcg@{k}": per_row}, 5e-8)


@pytest.mark.parametrize(("ties", "micro"), [("none", 0.80), ("half", 0.84), ("full", 0.88)])
def test_v1_pooled_scores(ties: str, micro: float) -> None:
    names = ["auc.micro", "auc.macro", "peak_f1.micro"]
    report = evaluate(V1_TRUTH, V1_SCORES, metrics=names, conventions={"auc_ties": ties})
    check(report, {"auc.micro": micro, "auc.macro": 1.0, "peak_f1.micro": 5 / 6})
    assert report.undefined_labels == {"auc.macro": 4}


@pytest.mark.parametrize(("lists", "expected"), [
    ([[2], [2], [2]], {"pred_coverage@1": 0.25, "gini@1": 0.75, "entropy@1": 0.0}),
    ([[0], [1], [2], [3]], {"pred_coverage@1": 1.0, "gini@1": 0.0, "entropy@1": 1.0}),
    ([[], []], {"pred_coverage@1": 0.0, "gini@1": np.nan, "entropy@1": np.nan}),
])  # fmt: skip
def test_extremes_are_exact(lists: list[list[int]], expected: dict[str, float]) -> None:
    actual = evaluate([[0] for _ in lists], lists, metrics=[*expected], n_labels=4)
    assert repr(dict(actual)) == repr(expected)


def test_gini_and_entropy_are_those_of_recbole_and_scipy() -> None:
    rng, n = np.random.default_rng(5), 90
    lists = [rng.choice(n, 4, replace=False, p=np.arange(n) / 4005) for _ in range(70)]
    slots = np.sort(np.bincount(np.array(lists)[:, :3].ravel(), minlength=n))
    gini = (np.arange(1 - n, n, 2) * slots).sum() / (n * slots.sum())
    report = evaluate([[0]] * 70, lists, metrics=["gini@3", "entropy@3"], n_labels=n)
    assert [*report.values()] == pytest.approx([gini, scipy.stats.entropy(slots) / np.log(n)], rel=1e-13)


def test_training_counts_follow_names() -> None:
    train = [["a", "b"], ["a"], ["a", "c"]]
    names = ["popularity@2", "tail_share(count=1)@2", "tail_share@2"]
    truth, scores = [["d"], ["b"]], [{"a": 0.9, "d": 0.5}, {"b": 0.7, "a": 0.2}]
    actual = evaluate(truth, scores, y_train=train, labels=["d", "b", "a", "c"], metrics=names)
    assert list(actual.values()) == [7 / 4, 0.25, 0.75]
    assert actual["tail_share@2"] == actual["tail_share(count=10)@2"]


def test_empty_slots_are_dropped_and_ranks_beyond_a_list_are_misses() -> None:
    names = ["p@2", "p@3", "ndcg@2", "mrr@3", "f1.samples@3"]
    truth = np.array([[1, 0, 1, 0]])
    full = evaluate(truth, (np.array([[0, 2]]), None), metrics=names)
    assert full["p@2"] == full["ndcg@2"] == full["mrr@3"] == full["f1.samples@3"] == 1
    assert full["p@3"] == 2 / 3
    for slots in ([0, -1, 2], [-1, 0, 2], [0, 2, -1], [-1, -1, 0, 2, -1]):
        for scores in (None, np.zeros((1, len(slots)))):
            assert dict(evaluate(truth, (np.array([slots]), scores), metrics=names)) == dict(full)


def test_empty_one_is_of_measures_whose_formula_is_0_by_0() -> None:
    truth, scores = np.array([[0, 0, 0], [0, 1, 0]]), np.array([[0.3, 0.2, 0.1]] * 2)
    names = ["p@3", "dcg@3", "hit@3", "mrr@3", "ndcg@3", "r@3", "rcap@3", "map@3", "map_r@3", "rprec"]
    reports = {
        empty: evaluate(truth, scores, metrics=names, conventions={"empty": empty}, per_row=True)
        for empty in ("zero", "skip", "one")
    }
    for name in names:
        second = reports["zero"].per_row()[name][1]
        is_quotient = name in ("ndcg@3", "r@3", "rcap@3", "map@3", "map_r@3", "rprec")
        assert reports["zero"][name] == second / 2
        assert reports["skip"][name] == second
        assert reports["one"][name] == (second + is_quotient) / 2


def test_ties_within_the_first_k_move_measures_that_read_ranks_alone() -> None:
    by_rank = {"ndcg@2", "dcg@2", "mrr@2", "map@2", "map_r@2", "psndcg@2", "psdcg@2"}
    names = [*sorted(by_rank), "p@2", "r@2", "rcap@2", "hit@2", "psp@2", "psr@2", "f1.samples@2"]
    first, second = (
        evaluate(np.array([row]), np.array([[0.5, 0.5, 0.2]]), metrics=names, inverse_propensity=[2, 2, 2])
        for row in ([1, 0, 0], [0, 1, 0])
    )
    assert {name for name in names if first[name] != second[name]} == by_rank
    assert not first.notes
    assert not second.notes
    grades = (np.array([row]) for row in ([3, 1, 0], [1, 3, 0]))
    options: dict[str, Any] = {
        "metrics": ["ndcg@2", "dcg@2"],
        "conventions": "gains=linear,ndcg_ties=average",
    }
    one, other = (evaluate(each, np.array([[0.5, 0.5, 0.2]]), **options) for each in grades)
    assert dict(one) == dict(other)


def test_groups_of_labels_and_rows_and_shares_have_intervals() -> None:
    rng = np.random.default_rng(1)
    truth, scores = rng.random((60, 6)) < 0.4, rng.random((60, 6))
    report = evaluate(
        truth, scores, metrics=["p@1"], confidence=0.9, label_groups=[*"aabbcc"], row_groups=[*"xy"] * 30
    )
    for part in (*report.groups.values(), *report.row_groups.values()):
        low, high = part.confidence["p@1"]
        assert low < part["p@1"] < high
    assert str(report).count("±") > 9
