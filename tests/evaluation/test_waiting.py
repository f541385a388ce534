"""Small batches of rows wait before they are added to larger tables."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.evaluation.data import COPIES
from tests.problems import indicator
from xmleval import Evaluator, Report, evaluate

N_LABELS = 1000  # tables of these are larger than a few rows
METRICS = ["f1.macro@3", "f1.macro", "p@3"]
MATRICES = ("y_true", "y_score", "y_pred")


def make_matrix(rng: np.random.Generator, n_rows: int, n_labels: int, n_stored: int) -> Any:
    """Return rows in types that need no conversion; those with five labels have scores."""
    sets = [set(rng.permutation(n_labels)[:n_stored].tolist()) for _ in range(n_rows)]
    stored = indicator(sets, n_labels)
    values = np.ones(stored.nnz)
    if n_stored == 5:
        values = rng.random(stored.nnz)
    arrays = (
        values.astype(np.float32),
        stored.indices.astype(np.int32),
        stored.indptr.astype(np.int32),
    )
    return sp.csr_array(arrays, stored.shape)


def make_updates(n_labels: int, weighted: bool, n_updates: int = 40) -> list[dict[str, Any]]:
    """Return updates of 0 to 3 rows each."""
    rng = np.random.default_rng(11)
    updates = []
    for n_rows in rng.integers(0, 4, n_updates).tolist():
        updates.append(
            {
                "y_true": make_matrix(rng, n_rows, n_labels, 4),
                "y_score": make_matrix(rng, n_rows, n_labels, 5),
                "y_pred": make_matrix(rng, n_rows, n_labels, 4),
                "sample_weight": rng.random(n_rows) if weighted else None,
            }
        )
    return updates


def joined(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all rows of some updates."""
    rows: dict[str, Any] = {}
    for name in MATRICES:
        rows[name] = sp.vstack([update[name] for update in updates])
    weights = [update["sample_weight"] for update in updates]
    rows["sample_weight"] = None
    if weights[0] is not None:
        rows["sample_weight"] = np.concatenate(weights)
    return rows


def evaluated(updates: list[dict[str, Any]]) -> str:
    report: Report = evaluate(**joined(updates), metrics=METRICS)
    return report.to_json()


def wide(**options: Any) -> Evaluator:
    return Evaluator(METRICS, n_labels=N_LABELS, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_waiting_rows_are_counted_before_results_copies_and_merges(
    weighted: bool, tmp_path: Path
) -> None:
    updates = make_updates(N_LABELS, weighted)
    plain, computed, saved, copied, merged = (wide(block_rows=1) for _ in range(5))
    n_waiting = []
    for number, rows in enumerate(updates):
        for evaluator in (plain, computed, saved, copied):
            evaluator.update(**rows)
        n_waiting.append(len(plain._counted.waiting))
        if number % 5 == 2:
            report = json.loads(computed.compute().to_json())
            assert report["n_rows"] == computed.n_rows
        if number % 7 == 3:
            saved.save(tmp_path / "state.npz")
            saved = Evaluator.load(tmp_path / "state.npz")
        if number % 3 == 1:
            make_copy = [*COPIES.values()][number % len(COPIES)]
            copied = make_copy(copied)
        shard = wide()
        for _ in range(2):  # the second time they wait
            shard.update(**rows)
        if number % 2:
            n_rows = shard.n_rows
            merged = merged.merge(shard)
            assert shard.n_rows == n_rows
        else:
            merged = shard.merge(merged)
            assert shard is merged
    if not weighted:  # they were counted when there were many
        assert sorted(n_waiting) != n_waiting
    expected = evaluated(updates)
    for evaluator in (plain, computed, saved, copied):
        assert evaluator.compute().to_json() == expected
    assert merged.compute().to_json() == evaluated(updates * 2)


def test_waiting_rows_are_refused_at_once() -> None:
    evaluator = wide()
    updates = make_updates(N_LABELS, weighted=True)
    for rows in updates[:9]:
        evaluator.update(**rows)
    wrong = joined(updates)
    wrong["sample_weight"][-1] = -1.0
    with pytest.raises(ValueError, match="sample_weight"):
        evaluator.update(**wrong)
    with pytest.raises(ValueError, match="sample_weight: given earlier, but not now"):
        evaluator.update(**{**joined(updates[:5]), "sample_weight": None})
    assert evaluator.compute().to_json() == evaluated(updates[:9])


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize(("n_labels", "weighted"), [(9, False), (9, True), (N_LABELS, True)])
def test_waiting_rows_do_not_share_arrays_of_the_caller(
    n_labels: int, weighted: bool, per_row: bool
) -> None:
    updates = make_updates(n_labels, weighted, 12)
    options: Any = {"n_labels": n_labels, "per_row": per_row, "conventions": {"unlisted": 0.0}}
    whole, evaluator = (Evaluator(["all", *METRICS], **options) for _ in range(2))
    whole.update(**copy.deepcopy(joined(updates)))
    for rows in updates:
        evaluator.update(**rows)
        for name in MATRICES:
            rows[name].data[:] = np.nan
            rows[name].indices[:] = 0
            rows[name].indptr[:] = 0
        if weighted:
            rows["sample_weight"][:] = -1
    actual = evaluator.compute()
    expected = whole.compute()
    assert actual.to_json() == expected.to_json()
    if per_row:
        np.testing.assert_equal(actual.per_row(), expected.per_row())
