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
    both = np.flatnonzero((truth.min(0) == 0) & (truth.max(0) == 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions.items():
            each = [function(truth[:, j], dense[:, j]) for j in both]
            support = truth.sum(0)[both]
            want = {
                "micro": function(truth.ravel(), dense.ravel()) if 0 < truth.sum() < truth.size else np.nan,
                "macro": np.mean(each) if each else np.nan,
                "weighted": np.average(each, weights=support) if each else np.nan,
            }
            for average, value in want.items():
                assert found[f"{name}.{average}"] == pytest.approx(value, abs=1e-12, nan_ok=True)
            assert found.labels_left_out.get(f"{name}.macro", 0) == truth.shape[1] - both.size


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
    assert report.left_out["auc.micro"] == "scores in y_score="
    evaluator = Evaluator(["auc.micro"], n_labels=3)
    evaluator.update(truth, (labels, labels * 0.5))
    with pytest.raises(ValueError, match=r"^y_score's scores: given earlier, but not now"):
        evaluator.update(truth, (labels, None))
