"""Measures of scores pooled over rows: against scikit-learn, and where they cannot be had."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from xmleval import Evaluator, evaluate
from xmleval.kernels.products import LIMB_BITS, add_product, product_sum

sk = pytest.importorskip("sklearn.metrics")


def make_problem(seed: int) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return truth, scores, which are stored, and scikit-learn's functions by name."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 40)), int(rng.integers(1, 12))
    truth = (rng.random(shape) < rng.choice([0.1, 0.4])).astype(int)
    scores = rng.integers(-4, 5, shape) / 4 * (rng.random(shape) < rng.choice([0.3, 1.0]))
    stored = rng.random(shape) < 0.6
    return truth, scores.astype(rng.choice(["float32", "float64"])), stored, {
        "auc": sk.roc_auc_score, "ap": sk.average_precision_score,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unlisted", ["below", 0.0, -0.25])
@pytest.mark.parametrize("seed", range(60))
def test_equal_to_scikit_learn_on_the_dense_matrix(seed: int, unlisted: Any) -> None:
    truth, scores, stored, functions = make_problem(seed)
    sparse = sp.csr_array((scores[stored], np.nonzero(stored)), shape=truth.shape)
    dense = np.where(stored, scores, -100 if unlisted == "below" else unlisted)
    found = evaluate(truth, sparse, metrics="curves", unlisted=unlisted, threads=2, block_rows=seed % 7 + 1)
    occurs = truth.max(0) == 1
    defined = {"auc": np.flatnonzero(occurs & (truth.min(0) == 0)), "ap": np.flatnonzero(occurs)}
    least = {"auc": 0 < truth.sum() < truth.size, "ap": truth.any()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions.items():
            labels = defined[name]
            each = [function(truth[:, j], dense[:, j]) for j in labels]
            support = truth.sum(0)[labels]
            want = {
                "micro": function(truth.ravel(), dense.ravel()) if least[name] else np.nan,
                "macro": np.mean(each) if each else np.nan,
                "weighted": np.average(each, weights=support) if each else np.nan,
            }
            for average, value in want.items():
                assert found[f"{name}.{average}"] == pytest.approx(value, abs=1e-12, nan_ok=True)
            assert found.undefined_labels.get(f"{name}.macro", 0) == truth.shape[1] - labels.size


ONE_CLASS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]])  # in every row, in some, in none
RANKED = np.array([[0.9, 0.2, 0.1], [0.8, 0.95, 0.0], [0.7, 0.6, 0.4], [0.1, 0.3, 0.5]])  # hits at ranks 2, 4


@pytest.mark.parametrize("weight", [None, np.array([1.0, 1.0, 1.0, 1.0])])
@pytest.mark.parametrize("form", ["dense", "sparse", "lists"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_precision_of_labels_of_one_class(dtype: Any, form: str, weight: Any) -> None:
    scores = RANKED.astype(dtype)
    given: Any = {"dense": scores, "sparse": sp.csr_array(scores)}.get(form)
    if form == "lists":
        order = np.argsort(-scores, axis=1)
        given = order, np.take_along_axis(scores, order, axis=1)
    names = ["ap.micro", "ap.macro", "ap.weighted", "ap.geometric", "precision_at_recall.macro(r=0.9)"]
    kwargs: dict[str, Any] = {"metrics": names, "unlisted": 0.0, "sample_weight": weight, "per_label": True}
    skipped, counted = (
        evaluate(ONE_CLASS, given, conventions={"ap_empty": rule}, **kwargs) for rule in ("skip", "zero")
    )
    assert skipped.per_label()["ap"].tolist()[:2] == counted.per_label()["ap"].tolist()[:2] == [1.0, 0.5]
    assert np.isnan(skipped.per_label()["ap"][2])
    assert counted.per_label()["ap"][2] == 0.0
    assert skipped.per_label()["precision_at_recall(r=0.9)"].tolist()[:2] == [1.0, 0.5]
    assert (skipped["ap.macro"], counted["ap.macro"]) == (0.75, 0.5)
    assert skipped["ap.weighted"] == counted["ap.weighted"] == pytest.approx((4 * 1 + 2 * 0.5) / 6)
    assert skipped["ap.geometric"] == counted["ap.geometric"] == pytest.approx(0.5**0.5)
    assert skipped["ap.micro"] == counted["ap.micro"]
    assert skipped.undefined_labels["ap.macro"] == 1
    assert {*counted.undefined_labels} == {"ap.geometric", "precision_at_recall.macro(r=0.9)"}


@pytest.mark.parametrize(("cell", "skipped", "counted"), [(1, 1.0, 1.0), (0, np.nan, 0.0)])
@pytest.mark.parametrize("name", ["ap.micro", "ap.macro", "ap.weighted"])
def test_average_precision_of_cells_of_one_class(
    name: str, cell: int, skipped: float, counted: float
) -> None:
    truth = np.full_like(ONE_CLASS, cell)
    for rule, value in (("skip", skipped), ("zero", counted)):
        for more in ({}, {"sample_weight": np.ones(4)}, {"row_groups": ["a", "b", "a", "b"]}):
            report = evaluate(truth, RANKED, metrics=name, conventions={"ap_empty": rule}, **more)
            groups = [report, *(report.row_groups or {}).values()]
            assert [own[name] for own in groups] == pytest.approx([value] * len(groups), nan_ok=True)
        bounded = evaluate(truth, RANKED, metrics=["auc.macro(max_fpr=0.5)"], conventions={"ap_empty": rule})
        assert np.isnan(bounded["auc.macro(max_fpr=0.5)"])


def test_infinite_scores_are_ordered() -> None:
    truth = np.array([[1, 0, 1, 0]])
    scores = np.array([[np.inf, 1.0, -np.inf, -np.inf]], np.float32)
    assert evaluate(truth, scores, metrics=["auc.micro"])["auc.micro"] == (2 + 0.5) / 4
    below = evaluate(truth, sp.csr_array(np.nan_to_num(scores, neginf=0)), metrics=["auc.micro"])
    assert below["auc.micro"] == (2 + 0.5) / 4


@given(st.lists(st.tuples(*[st.integers(0, 62).flatmap(lambda bits: st.integers(0, 2**bits - 1))] * 2)))
def test_pairs_are_exact_beyond_64_bits(factors: list[tuple[int, int]]) -> None:
    limbs, total = np.zeros(2, np.int64), sum(a * b for a, b in factors)
    for a, b in factors:
        add_product(limbs, a, b)
    assert (int(limbs[0]) << LIMB_BITS) + int(limbs[1]) == total
    assert product_sum(limbs) == float(total)
    last = np.zeros(2, np.int64)
    for a, b in factors[-1:]:
        add_product(last, a, b)
    assert product_sum(limbs - last) == float(sum(a * b for a, b in factors[:-1]))


def test_mixed_types_saved_and_merged_give_the_same_bits(tmp_path: Path) -> None:
    truth, scores, stored, _ = make_problem(3)
    wide = sp.csr_array((scores[stored].astype(np.float64), np.nonzero(stored)), shape=truth.shape)
    whole = evaluate(truth, wide, metrics="curves").to_json()
    parts = []
    for lo, hi, dtype in ((0, 2, np.float32), (2, len(truth), np.float64)):
        part = Evaluator("curves", n_labels=truth.shape[1])
        part.update(truth[lo:hi], wide[lo:hi].astype(dtype))
        part.save(tmp_path / "part.npz")
        parts.append(Evaluator.load(tmp_path / "part.npz"))
    assert parts[1].merge(parts[0]).compute().to_json() == whole


def test_refused_by_name_without_scores() -> None:
    truth, labels = np.eye(3, dtype=int), np.arange(3)[:, None]
    with pytest.raises(ValueError, match=r"^auc\.micro needs scores in y_score="):
        evaluate(truth, (labels, None), metrics=["auc.micro"])
    report = evaluate(truth, (labels, None), metrics="curves")
    assert "auc.micro" not in report
    assert report.not_computed["auc.micro"] == "scores in y_score="
    evaluator = Evaluator(["auc.micro"], n_labels=3)
    evaluator.update(truth, (labels, labels * 0.5))
    with pytest.raises(ValueError, match=r"^y_score's scores: given earlier, but not now"):
        evaluator.update(truth, (labels, None))
