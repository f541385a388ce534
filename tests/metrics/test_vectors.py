"""Worked vectors, checked by hand and against other software."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.examples import V1_SCORES, V1_SETS, V1_TRUTH
from xmleval import evaluate

V1_OF_SETS = {
    "hamming_loss": 1 / 2,
    "subset_accuracy": 0,
    "jaccard.samples": 7 / 24,
    "precision.samples": 1 / 2,
    "recall.samples": 5 / 12,
    "f1.of_means": 5 / 11,
    "f1.samples": 9 / 20,
    "fbeta.of_means(beta=0.5)": 25 / 52,
    "fbeta.of_means(beta=2)": 25 / 58,
    "fbeta.samples(beta=0.5)": 21 / 44,
    "fbeta.samples(beta=2)": 3 / 7,
    "precision.micro": 1 / 2,
    "recall.micro": 2 / 5,
    "f1.micro": 4 / 9,
    "precision.macro": 2 / 5,
    "recall.macro": 1 / 5,
    "f1.macro": 4 / 15,
    "jaccard.macro": 1 / 5,
    "label_cardinality": 2.5,
    "label_density": 0.5,
    "label_diversity": 2,
    "proportional_diversity": 1,
}
V2_SCORES = np.array([[0.8, 0.7, 0.6, 0.5, 0.4]])
V4_TRUTH = np.array([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
V4_SETS = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
V1_OF_SCORES = {
    "one_error": 0,
    "coverage": 2.5,
    "ranking_loss": 1 / 6,
    "auc.samples": 5 / 6,
    "lrap": 7 / 8,
    "ndcg@all": 0.9435943864,
}


def check(report: Any, expected: dict[str, float], tolerance: float = 1e-12) -> None:
    for name, value in expected.items():
        assert report[name] == pytest.approx(value, abs=tolerance), name


def test_evaluate_v1_sets() -> None:
    report = evaluate(V1_TRUTH, y_pred=V1_SETS, metrics=[*V1_OF_SETS])
    check(report, V1_OF_SETS)


def test_evaluate_v1_scores() -> None:
    metrics = [*V1_OF_SCORES, "peak_f1.samples"]
    report = evaluate(V1_TRUTH, V1_SCORES, metrics=metrics, per_row=True)
    check(report, V1_OF_SCORES, 1e-10)  # nDCG has ten digits
    assert report.per_row()["peak_f1.samples"] == pytest.approx([4 / 5, 6 / 7], abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "inputs", "expected"),
    [
        (V1_TRUTH, {"y_pred": V1_SETS, "conventions": {"labels": "seen"}}, {"f1.macro": 1 / 3}),
        (V1_TRUTH, {"y_pred": V1_SETS, "conventions": {"labels": "present"}}, {"f1.macro": 4 / 9}),
        ([[1, 0, 1, 1, 0]], {"y_score": V2_SCORES}, {"coverage": 3}),
        ([[1, 1, 0, 1, 1]], {"y_score": V2_SCORES}, {"ranking_loss": 1 / 2}),
        (
            [[1, 1, 1, 1, 1, 0, 0]],
            {"y_pred": np.array([[1, 1, 0, 0, 0, 1, 1]])},
            {"jaccard.samples": 2 / 7},
        ),
        (
            V4_TRUTH,
            {"y_pred": V4_SETS},
            {"f1.macro": 5 / 18, "f1.micro": 2 / 3, "f1.samples": 0.75},
        ),
        (V4_TRUTH, {"y_pred": V4_SETS, "conventions": {"labels": "seen"}}, {"f1.macro": 5 / 9}),
    ],
)
def test_evaluate_v1_v2_and_v4(
    truth: Any, inputs: dict[str, Any], expected: dict[str, float]
) -> None:
    check(evaluate(np.array(truth), **inputs, metrics=[*expected]), expected)


@pytest.mark.parametrize(
    ("ties", "loss", "auc"),
    [("full", 3 / 4, 3 / 4), ("half", 1 / 2, 1 / 2), ("none", 1 / 4, 1 / 4)],
)
def test_evaluate_v3_ties(ties: str, loss: float, auc: float) -> None:
    truth = np.array([[1, 0, 0, 1]])
    scores = np.array([[0.5, 0.5, 0.2, 0.2]])
    options: dict[str, Any] = {
        "metrics": ["ranking_loss", "auc.samples", "coverage", "lrap"],
        "conventions": {"loss_ties": ties, "auc_ties": ties},
    }
    report = evaluate(truth, scores, **options)
    check(report, {"ranking_loss": loss, "auc.samples": auc, "coverage": 3, "lrap": 1 / 2})
    constant = np.full((1, 4), 0.5)
    credit = {"full": 1, "half": 1 / 2, "none": 0}[ties]
    report = evaluate(truth, constant, **options)
    check(report, {"ranking_loss": credit, "auc.samples": credit})


def test_evaluate_v5_two_forms_of_psndcg() -> None:
    truth = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 1, 0]])
    scores = np.array([[0.1, 0.9, 0.8, 0.7, 0.05], [0.9, 0.8, 0.1, 0.05, 0.7]])
    q = np.array([5, 2, 3, 4, 1])
    names = ["psndcg_repo", "psndcg"]
    report = evaluate(truth, scores, metrics=names, k=(1, 2, 3, 4), inverse_propensity=q)
    expected = {
        "psndcg_repo@1": 0,
        "psndcg_repo@2": 0.1158436,
        "psndcg_repo@3": 0.1061029,
        "psndcg_repo@4": 0.3958089,
        "psndcg@1": 0,
        "psndcg@2": 0.0898284,
        "psndcg@3": 0.0719113,
        "psndcg@4": 0.4070450,
    }
    check(report, expected, 5e-8)


@pytest.mark.parametrize(("ties", "micro"), [("none", 0.80), ("half", 0.84), ("full", 0.88)])
def test_evaluate_v1_pooled_scores(ties: str, micro: float) -> None:
    names = ["auc.micro", "auc.macro", "peak_f1.micro"]
    report = evaluate(V1_TRUTH, V1_SCORES, metrics=names, conventions={"auc_ties": ties})
    check(report, {"auc.micro": micro, "auc.macro": 1.0, "peak_f1.micro": 5 / 6})
    assert report.undefined_labels == {"auc.macro": 4}


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([[2], [2], [2]], {"pred_coverage@1": 0.25, "gini@1": 0.75, "entropy@1": 0.0}),
        ([[0], [1], [2], [3]], {"pred_coverage@1": 1.0, "gini@1": 0.0, "entropy@1": 1.0}),
        ([[], []], {"pred_coverage@1": 0.0, "gini@1": np.nan, "entropy@1": np.nan}),
    ],
)
def test_predicted_measures_are_exact_at_their_extremes(
    lists: list[list[int]], expected: dict[str, float]
) -> None:
    actual = evaluate([[0] for _ in lists], lists, metrics=[*expected], n_labels=4)
    assert repr(dict(actual)) == repr(expected)


def test_gini_and_entropy_are_those_of_recbole_and_scipy() -> None:
    rng = np.random.default_rng(5)
    n = 90
    lists = [rng.choice(n, 4, replace=False, p=np.arange(n) / 4005) for _ in range(70)]
    slots = np.sort(np.bincount(np.array(lists)[:, :3].ravel(), minlength=n))
    gini = (np.arange(1 - n, n, 2) * slots).sum() / (n * slots.sum())
    entropy = scipy.stats.entropy(slots) / np.log(n)
    report = evaluate([[0]] * 70, lists, metrics=["gini@3", "entropy@3"], n_labels=n)
    assert [*report.values()] == pytest.approx([gini, entropy], rel=1e-13)


def test_popularity_and_tail_share_match_training_labels_by_name() -> None:
    train = [["a", "b"], ["a"], ["a", "c"]]
    names = ["popularity@2", "tail_share(count=1)@2", "tail_share@2"]
    truth = [["d"], ["b"]]
    scores = [{"a": 0.9, "d": 0.5}, {"b": 0.7, "a": 0.2}]
    actual = evaluate(truth, scores, y_train=train, labels=["d", "b", "a", "c"], metrics=names)
    assert list(actual.values()) == [7 / 4, 0.25, 0.75]
    assert actual["tail_share@2"] == actual["tail_share(count=10)@2"]


def test_lists_drop_empty_slots_and_ranks_beyond_their_end_are_misses() -> None:
    names = ["p@2", "p@3", "ndcg@2", "mrr@3", "f1.samples@3"]
    truth = np.array([[1, 0, 1, 0]])
    full = evaluate(truth, (np.array([[0, 2]]), None), metrics=names)
    assert full["p@2"] == full["ndcg@2"] == full["mrr@3"] == full["f1.samples@3"] == 1
    assert full["p@3"] == 2 / 3
    for slots in ([0, -1, 2], [-1, 0, 2], [0, 2, -1], [-1, -1, 0, 2, -1]):
        for scores in (None, np.zeros((1, len(slots)))):
            report = evaluate(truth, (np.array([slots]), scores), metrics=names)
            assert dict(report) == dict(full)


def test_empty_one_applies_to_measures_that_are_0_by_0() -> None:
    truth = np.array([[0, 0, 0], [0, 1, 0]])
    scores = np.array([[0.3, 0.2, 0.1]] * 2)
    others = ["p@3", "dcg@3", "hit@3", "mrr@3"]
    quotients = ["ndcg@3", "r@3", "rcap@3", "map@3", "map_r@3", "rprec"]
    names = others + quotients
    zero, skip, one = (
        evaluate(truth, scores, metrics=names, conventions={"empty": empty}, per_row=True)
        for empty in ("zero", "skip", "one")
    )
    for name in names:
        second = zero.per_row()[name][1]
        first = 1 if name in quotients else 0
        assert zero[name] == second / 2
        assert skip[name] == second
        assert one[name] == (first + second) / 2


@pytest.mark.parametrize(
    ("zero_division", "expected"), [(0.0, 0.0), (1.0, 1.0), ("both_empty", 0.0)]
)
@pytest.mark.parametrize("average", ["of_means", "of_macros"])
def test_f1_of_a_precision_and_a_recall_of_0_is_a_division_by_0(
    average: str, zero_division: float | str, expected: float
) -> None:
    truth = np.array([[1, 0], [0, 1]])
    conventions: Any = {"zero_division": zero_division}
    metric = f"f1.{average}"
    assert evaluate(truth, y_pred=1 - truth, metrics=metric, conventions=conventions)[metric] == (
        expected
    )


def test_ties_within_the_first_k_change_only_measures_of_ranks() -> None:
    by_rank = {"ndcg@2", "dcg@2", "mrr@2", "map@2", "map_r@2", "psndcg@2", "psdcg@2"}
    names = [*sorted(by_rank), "p@2", "r@2", "rcap@2", "hit@2", "psp@2", "psr@2", "f1.samples@2"]
    scores = np.array([[0.5, 0.5, 0.2]])
    options: dict[str, Any] = {"metrics": names, "inverse_propensity": [2, 2, 2]}
    first = evaluate(np.array([[1, 0, 0]]), scores, **options)
    second = evaluate(np.array([[0, 1, 0]]), scores, **options)
    assert {name for name in names if first[name] != second[name]} == by_rank
    assert not first.notes
    assert not second.notes
    options = {
        "metrics": ["ndcg@2", "dcg@2"],
        "conventions": "gains=linear,ties=expected_dcg",
    }
    first = evaluate(np.array([[3, 1, 0]]), scores, **options)
    second = evaluate(np.array([[1, 3, 0]]), scores, **options)
    assert dict(first) == dict(second)


def test_label_groups_and_row_groups_have_confidence_intervals() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((60, 6)) < 0.4
    scores = rng.random((60, 6))
    report = evaluate(
        truth,
        scores,
        metrics=["p@1"],
        confidence=0.9,
        label_groups=[*"aabbcc"],
        row_groups=[*"xy"] * 30,
    )
    for part in (*report.groups.values(), *report.row_groups.values()):
        low, high = part.confidence["p@1"]
        assert low < part["p@1"] < high
    assert str(report).count("±") > 9


@pytest.mark.parametrize(("n_labels", "n_rows"), [(6, 7), (10, 5), (11, 3), (12, 7), (36, 7)])
def test_entropy_of_equal_shares_is_one(n_labels: int, n_rows: int) -> None:
    """Without a limit, rounding would put it above."""
    sets = np.ones((n_rows, n_labels))
    assert evaluate(sets, y_pred=sets, metrics="entropy")["entropy"] == 1.0
