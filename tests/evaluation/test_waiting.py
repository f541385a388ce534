"""Few rows wait while they are smaller than the tables that they are added to."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.evaluation.data import COPIES
from tests.problems import indicator
from xmleval import Evaluator, evaluate

N_LABELS = 1000  # of which tables are larger than a few rows
METRICS = ["f1.macro@3", "f1.macro", "p@3"]
MATRICES = ("y_true", "y_score", "y_pred")


def make_updates(n_labels: int, weighted: bool, n_updates: int = 40) -> list[dict[str, Any]]:
    """Return updates of 0 to 3 rows each, in types that are taken as they are."""
    rng = np.random.default_rng(11)

    def matrix(n_rows: int, n_stored: int) -> Any:
        sets = [set(rng.permutation(n_labels)[:n_stored].tolist()) for _ in range(n_rows)]
        stored = indicator(sets, n_labels)
        data = (rng.random(stored.nnz) if n_stored == 5 else np.ones(stored.nnz)).astype(np.float32)
        arrays = data, stored.indices.astype(np.int32), stored.indptr.astype(np.int32)
        return sp.csr_array(arrays, stored.shape)

    return [
        {name: matrix(n_rows, 4 + (name == "y_score")) for name in MATRICES}
        | {"sample_weight": rng.random(n_rows) if weighted else None}
        for n_rows in rng.integers(0, 4, n_updates).tolist()
    ]


def joined(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all rows of some updates."""
    rows = {name: [update[name] for update in updates] for name in updates[0]}
    weights = rows.pop("sample_weight")
    matrices = {name: sp.vstack(matrices) for name, matrices in rows.items()}
    return {**matrices, "sample_weight": None if weights[0] is None else np.concatenate(weights)}


def wide(**options: Any) -> Evaluator:
    return Evaluator(METRICS, n_labels=N_LABELS, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_waiting_rows_are_counted_when_they_are_asked_for(weighted: bool, tmp_path: Path) -> None:
    updates = make_updates(N_LABELS, weighted)
    plain, asked, saved, copied, merged = (wide(block_rows=1) for _ in range(5))
    n_waiting = []
    for number, rows in enumerate(updates):
        for evaluator in (plain, asked, saved, copied):
            evaluator.update(**rows)
        n_waiting.append(len(plain._counted.waiting))
        if number % 5 == 2:
            assert json.loads(asked.compute().to_json())["n_rows"] == asked.n_rows
        if number % 7 == 3:
            saved.save(tmp_path / "state.npz")
            saved = Evaluator.load(tmp_path / "state.npz")
        if number % 3 == 1:
            copied = [*COPIES.values()][number % len(COPIES)](copied)
        shard = wide()
        for _ in range(2):  # the second time they wait
            shard.update(**rows)
        n_rows = shard.n_rows
        merged = merged.merge(shard) if number % 2 else shard.merge(merged)
        assert shard.n_rows == n_rows or shard is merged
    assert weighted or sorted(n_waiting) != n_waiting  # they were counted when there were many
    expected = evaluate(**joined(updates), metrics=METRICS).to_json()
    assert [each.compute().to_json() for each in (plain, asked, saved, copied)] == [expected] * 4
    assert merged.compute().to_json() == evaluate(**joined(updates * 2), metrics=METRICS).to_json()


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
    assert evaluator.compute().to_json() == evaluate(**joined(updates[:9]), metrics=METRICS).to_json()


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize(("n_labels", "weighted"), [(9, False), (9, True), (N_LABELS, True)])
def test_callers_may_write_over_what_they_gave(n_labels: int, weighted: bool, per_row: bool) -> None:
    updates = make_updates(n_labels, weighted, 12)
    options: Any = {"n_labels": n_labels, "per_row": per_row, "conventions": {"unlisted": 0.0}}
    whole, evaluator = (Evaluator(["all", *METRICS], **options) for _ in range(2))
    whole.update(**copy.deepcopy(joined(updates)))
    for rows in updates:
        evaluator.update(**rows)
        for name in MATRICES:
            rows[name].data[:], rows[name].indices[:], rows[name].indptr[:] = np.nan, 0, 0
        if weighted:
            rows["sample_weight"][:] = -1
    actual, expected = evaluator.compute(), whole.compute()
    assert actual.to_json() == expected.to_json()
    if per_row:
        np.testing.assert_equal(actual.per_row(), expected.per_row())
