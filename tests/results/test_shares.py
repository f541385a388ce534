"""Comparisons by the shares of groups of labels in the values of all labels."""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import load_npz

from tests.conftest import DATA, NO_DATA
from tests.results.models import (
    CLUSTERS,
    GROUPS,
    MODELS,
    TOPICS,
    TRUTH,
    TWO,
    L,
    N,
    Q,
    compared,
    errors_of,
    top,
)
from xmleval import Comparison, Evaluator, compare
from xmleval.results.differences import Difference

LINEAR = ["p@1", "p@3", "r@3", "rcap@3", "ndcg@3", "dcg@3", "psp@3", "psndcg@3", "psp_raw@3"]
WEIGHTS = np.random.default_rng(2).integers(0, 4, N) / 2


def share_differences(comparison: Comparison) -> list[Difference]:
    return [difference for difference in comparison.differences if difference.kind == "shares"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sample_weight": WEIGHTS},
        {"clusters": CLUSTERS},
        {"conventions": {"empty": "skip"}},
    ],
    ids=" ".join,
)
def test_differences_of_shares_add_up_to_that_of_all_labels(options: dict[str, Any]) -> None:
    comparison = compared(metrics=LINEAR, **GROUPS, **options)
    for whole in comparison.differences:
        if not whole.kind:
            key = (whole.name, whole.a, whole.b)
            rare = comparison.difference(*key, "rare", "shares").value
            common = comparison.difference(*key, "common", "shares").value
            assert abs(math.fsum([rare, common]) - whole.value) < 1e-12


def test_shares_of_lists_cut_below_the_cutoff_do_not_differ() -> None:
    models: dict[str, Any] = {f"cut at {k}": top(MODELS["good"], k) for k in (2, 3, 5, 9)}
    models["whole"] = MODELS["good"]
    comparison = compared(models, metrics=LINEAR, baseline="whole", label_groups=TOPICS)
    assert share_differences(comparison)
    for each in share_differences(comparison):
        if each.a == "cut at 2" and each.spec.k == 3:
            assert math.isnan(each.p_value)
        else:
            assert (each.value, each.p_value, each.better) == (0, 1, None)


def shares_by_row(scores: Any, labels: set[int]) -> list[list[float]]:
    """Return by row what labels add to p@3, r@3 and ndcg@3."""
    rows = []
    for truth, row_scores in zip(TRUTH.tolist(), scores.tolist(), strict=True):
        ranking = sorted(range(L), key=lambda label: -row_scores[label])
        hits = []
        for rank, label in enumerate(ranking[:3]):
            if truth[label] and label in labels:
                hits.append(rank)
        n_relevant = sum(truth)
        ideal = sum(1 / math.log2(rank + 2) for rank in range(min(3, n_relevant)))
        gain = sum(1 / math.log2(rank + 2) for rank in hits)
        rows.append([len(hits) / 3, len(hits) / max(n_relevant, 1), gain / (ideal or 1)])
    return rows


def test_standard_errors_of_shares_are_those_of_paired_rows() -> None:
    comparison = compared(
        TWO, metrics=["p@3", "r@3", "ndcg@3"], clusters=CLUSTERS, label_groups=TOPICS
    )
    for group in ("rare", "common"):
        labels = {label for label, topic in enumerate(TOPICS) if topic == group}
        good, fair = (np.array(shares_by_row(scores, labels)) for scores in TWO.values())
        differences = good - fair

        def means_of(rows: Any, differences: Any = differences) -> list[float]:
            means: list[float] = differences[rows].mean(axis=0).tolist()
            return means

        errors = errors_of(means_of)
        for name, error in zip(["p@3", "r@3", "ndcg@3"], errors, strict=True):
            estimate = comparison.difference(name, "good", "fair", group, "shares").estimate
            assert estimate is not None
            np.testing.assert_allclose(estimate.standard_error, error, rtol=1e-9)


def test_model_that_is_better_in_one_group_has_a_star_there() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((300, 40)) < 0.1
    is_rare = np.arange(40) >= 20
    old = truth + rng.normal(size=truth.shape) * np.where(is_rare, 0.8, 0.1)
    new = np.where(is_rare, truth + 0.1 * rng.normal(size=truth.shape), old)
    models = {"old": top(old, 5), "new": top(new, 5)}
    groups = np.where(is_rare, "rare", "frequent")
    comparison = compare(truth, models, metrics="r@5", label_groups=groups)
    within, share = (
        comparison.difference("r@5", "old", "new", "rare", kind) for kind in ("groups", "shares")
    )
    assert math.isnan(within.p_value)
    assert share.better == "new"
    (note,) = [note for note in comparison.notes if "not tested" in note]
    assert "shares of groups are tested for r@5" in note
    texts = str(comparison), comparison.to_markdown()
    for text in texts:
        _, values, pair = [line for line in text.splitlines() if "rare, R@5" in line]
        assert f"{share.value_b:.4f}" in values
        assert "*" in values
        assert "new better" in pair
    assert "share of group of labels rare" in comparison.to_latex()
    assert "shares of groups of labels in the values of all" in comparison.to_html()
    assert repr(share).startswith("<Difference of R@5, share of rare: old - new = -")


def test_shares_are_tested_where_lists_hold_other_numbers_of_labels_of_a_group() -> None:
    folder = DATA / "bibtex"
    if not folder.exists():
        pytest.skip(NO_DATA)
    models = {
        name: tuple(np.load(folder / f"topk_{name}_{part}.npy") for part in ("indices", "scores"))
        for name in ("lr", "knn10")
    }
    train = load_npz(folder / "Y_train.npz")
    truth = load_npz(folder / "Y_test.npz")
    comparison = compare(
        truth, models, y_train=train, label_groups=[50, 100], metrics=["p@5", "r@5"]
    )
    shares = share_differences(comparison)
    assert {each.better for each in shares} == {"lr"}
    whole = comparison.difference("p@5", "lr", "knn10")
    assert abs(sum(each.value for each in shares if each.name == "p@5") - whole.value) < 1e-12


def test_differences_of_shares_have_the_same_bits_however_rows_are_merged() -> None:
    pieces = [slice(0, 130), slice(130, 131), slice(131, N)]

    def part_of(scores: Any, rows: slice) -> Evaluator:
        evaluator = Evaluator(LINEAR, n_labels=L, confidence=0.95, label_groups=TOPICS, **Q)
        evaluator.update(TRUTH[rows], scores[rows], first_row=rows.start)
        return evaluator

    def differences(order: Sequence[int]) -> list[Any]:
        reports = {}
        for name, scores in TWO.items():
            evaluators = [part_of(scores, pieces[n]) for n in order]
            merged = evaluators[0]
            for evaluator in evaluators[1:]:
                merged.merge(evaluator)
            reports[name] = merged.compute()
        return [each[1:] for each in share_differences(Comparison(reports, test="t"))]

    expected = [
        each[1:] for each in share_differences(compared(TWO, metrics=LINEAR, label_groups=TOPICS))
    ]
    for order in permutations(range(3)):
        assert str(differences(order)) == str(expected)


def test_undefined_shares_are_not_tested() -> None:
    options: dict[str, Any] = {"conventions": {"empty": "one"}, "label_groups": TOPICS}
    comparison = compared(TWO, metrics=["p@3", "ndcg@3"], **options)
    for each in share_differences(comparison):
        assert math.isnan(each.p_value) == (each.name == "ndcg@3") == math.isnan(each.value)


def test_ties_and_short_lists_leave_shares_untested_as_the_whole() -> None:
    constant = np.ones((N, L), np.float32)
    comparison = compared(
        {"tied": constant, "good": MODELS["good"]}, metrics=["p@3"], label_groups=TOPICS
    )
    assert [math.isnan(each.p_value) for each in share_differences(comparison)] == [True, True]
    assert not any("shares of groups are tested" in note for note in comparison.notes)


@pytest.mark.parametrize("unlisted", ["below", -1.0])
def test_shares_are_not_tested_where_relevant_labels_tie_at_the_cutoff(
    unlisted: float | str,
) -> None:
    truth = np.random.default_rng(3).random((N, L)) < 0.5
    models = {"tied": truth * 1.0, "falling": truth - 0.01 * np.arange(L)}
    options: dict[str, Any] = {"label_groups": TOPICS, "conventions": {"unlisted": unlisted}}
    comparison = compare(truth, models, metrics=["p@3", "p@12"], **options)
    for each in comparison.differences:
        is_decided = each.name == "p@3" and each.kind == "shares"
        assert math.isnan(each.p_value) == is_decided, each
    (note,) = [note for note in comparison.notes if "decided by ties" in note]
    assert "which of tied and falling is better" in note
    assert "not tested for shares of groups of p@3;" in note
