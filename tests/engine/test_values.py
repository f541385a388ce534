"""Values and remarks of evaluators, and saved files that were tampered with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tests.engine.data import SCORES, TRUTH, counting
from xmleval import Evaluator, evaluate


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("label_totals/top3/held", lambda a: a[:, :3]),
        ("label_totals/top3/rows", lambda a: a[:, :1]),
        ("row_sums/totals", lambda a: a[:, :, :1]),
        ("row_sums/n_defined", lambda a: a.astype(float)),
        ("rank_profile/n_relevant", lambda a: a[::-1]),
        ("rank_profile/hits", lambda a: a[:-1]),
        ("rank_profile/gains", lambda a: a[..., :2]),
        ("label_sets/fingerprints", lambda a: a[:, :1]),
        ("label_extremes/ends", lambda a: a[:, :8]),
        ("key_counts/counts8", lambda a: a[:, :8]),
        ("gaps/n_short", lambda a: a[:1]),
        ("score_runs/n_true", lambda a: a.astype(float)),
    ],
)
def test_tampered_arrays_are_refused(name: str, change: Any, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    counting().save(path)
    with np.load(path) as arrays:
        held = dict(arrays)
    held[name] = change(held[name])
    np.savez(path, **held)
    with pytest.raises(ValueError, match=r"state\.npz: not a saved evaluator, or damaged"):
        Evaluator.load(path)


def test_perfect_gains_are_no_more_than_the_best() -> None:
    q = 1 + 9 * np.random.default_rng(4).random(6)
    truth = np.array([[1, 1, 1, 1, 1, 0]])
    for seed in range(20):
        scores = np.where(truth, np.random.default_rng(seed).random((1, 6)) + 1, 0)
        report = evaluate(truth, scores, metrics="ps", inverse_propensity=q)
        assert all(report[name] <= 1 for name in ("psp@5", "psr@5", "psdcg@5", "psndcg@5"))


@pytest.mark.parametrize("depth", [1, 3, 5, 8, 13, 18, 19, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_first_ranks_are_those_of_the_whole_ranking(depth: int, dtype: Any) -> None:
    rng = np.random.default_rng(depth)
    n_labels, n_relevant, n_scored = 200, rng.integers(0, 60, 80), rng.choice([0, 2, 17, 60, 99, 200], 80)

    def matrix(sizes: Any, values: Any) -> Any:
        ids = [np.sort(rng.permutation(n_labels)[:size]) for size in sizes]
        ptr = np.cumsum([0, *sizes])
        return csr_matrix((values(ptr[-1]), np.concatenate(ids), ptr), (len(sizes), n_labels))

    truth = matrix(n_relevant, lambda n: np.ones(n, int))
    levels = rng.choice([-np.inf, 0.0, 0.5, np.inf], 2000)
    scores = matrix(n_scored, lambda n: rng.choice([*rng.random(2000), *levels], n).astype(dtype))
    by_row = [f"{name}@{depth}" for name in ("p", "r", "ndcg", "map", "psp_raw", "mrr")] + ["one_error"]
    names = [*by_row, f"psp@{depth}", f"psndcg@{depth}"]
    q = 1 + 9 * rng.random(n_labels)
    found = [
        evaluate(truth, scores, metrics=[*names, *more], inverse_propensity=q, per_row=True)
        for more in ([], ["coverage"], ["f1.micro@2"])  # the best alone, all in no order, the best in order
    ]
    for other in found[1:]:
        assert [found[0][name] for name in names] == [other[name] for name in names]
        for name in by_row:
            np.testing.assert_array_equal(found[0].per_row()[name], other.per_row()[name])


def test_propensities_below_one_are_remarked_on() -> None:
    report = evaluate(TRUTH, SCORES, metrics="psp", inverse_propensity=np.full(9, 0.5))
    assert "values below 1" in str(report)
