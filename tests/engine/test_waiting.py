"""Rows that wait, because they are few beside the tables that they go to."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.engine.data import COPIES
from tests.strategies import indicator
from xmleval import Evaluator, evaluate

N_WIDE = 5000
WIDE = ["f1.macro@3", "f1.macro", "p@3"]
MATRICES = ("y_true", "y_score", "y_pred")


def some_rows(n_labels: int, weighted: bool, n_updates: int = 40) -> list[dict[str, Any]]:
    """Return updates of a few rows each."""
    rng = np.random.default_rng(11)

    def matrix(n_rows: int, scored: bool = False) -> Any:
        """In types that are taken as they are."""
        sets = [set(rng.permutation(n_labels)[: 4 + scored].tolist()) for _ in range(n_rows)]
        found = indicator(sets, n_labels)
        data = (rng.random(found.nnz) if scored else np.ones(found.nnz)).astype(np.float32)
        return sp.csr_array((data, *(x.astype(np.int32) for x in (found.indices, found.indptr))), found.shape)

    return [
        {
            "y_true": matrix(n_rows),
            "y_score": matrix(n_rows, scored=True),
            "y_pred": matrix(n_rows),
            "sample_weight": rng.random(n_rows) if weighted else None,
        }
        for n_rows in rng.integers(0, 4, n_updates).tolist()
    ]


def joined(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all rows of some updates."""
    found = {name: sp.vstack([update[name] for update in updates]) for name in MATRICES}
    weights = [update["sample_weight"] for update in updates]
    weight = None if weights[0] is None else np.concatenate(weights)
    return {**found, "sample_weight": weight}


def wide(**more: Any) -> Evaluator:
    return Evaluator(WIDE, n_labels=N_WIDE, **more)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_wait_are_counted_when_they_are_asked_for(weighted: bool, tmp_path: Path) -> None:
    updates = some_rows(N_WIDE, weighted)
    want = evaluate(**joined(updates), metrics=WIDE).to_json()
    plain, asked, saved, copied, merged = (wide() for _ in range(5))
    for number, rows in enumerate(updates):
        plain.update(**rows)
        assert asked.n_rows == plain.n_rows - rows["y_true"].shape[0]
        asked.update(**rows)
        if number % 5 == 2:
            assert json.loads(asked.compute().to_json())["n_rows"] == asked.n_rows
        saved.update(**rows)
        if number % 7 == 3:
            saved.save(tmp_path / "state.npz")
            saved = Evaluator.load(tmp_path / "state.npz")
        copied.update(**rows)
        if number % 3 == 1:
            copied = [*COPIES.values()][number % len(COPIES)](copied)
        other = wide()
        other.update(**rows)
        other.update(**rows)  # waits
        before = other.n_rows
        if number % 2:
            merged.merge(other)
        else:
            merged = other.merge(merged)
        assert other.n_rows == before or other is merged
    assert plain._counted.waiting
    assert plain.compute().to_json() == want
    assert not plain._counted.waiting
    assert [e.compute().to_json() for e in (asked, saved, copied)] == [want] * 3
    assert merged.compute().to_json() == evaluate(**joined(updates * 2), metrics=WIDE).to_json()


@pytest.mark.parametrize("threads", [1, 2])
def test_updates_of_several_blocks_wait_while_they_are_few_beside_the_tables(threads: int) -> None:
    updates = some_rows(N_WIDE, weighted=False, n_updates=12)
    evaluator = wide(block_rows=1, threads=threads)
    for rows in updates:
        evaluator.update(**rows)
    n_waiting = sum(max(1, rows["y_true"].shape[0]) for rows in updates[1:])
    assert len(evaluator._counted.waiting) == n_waiting > len(updates)
    many = joined(updates * 40)
    evaluator.update(**many)
    assert not evaluator._counted.waiting
    want = evaluate(**joined(updates * 41), metrics=WIDE).to_json()
    assert evaluator.compute().to_json() == want


def test_rows_that_wait_are_refused_at_once() -> None:
    evaluator = wide()
    rows = some_rows(N_WIDE, weighted=True)
    for one in rows[:9]:
        evaluator.update(**one)
    before = evaluator._counted
    assert before.waiting
    wrong = joined(rows)
    wrong["sample_weight"][-1] = -1.0
    with pytest.raises(ValueError, match="sample_weight"):
        evaluator.update(**wrong)
    wrong = {**joined(rows[:5]), "sample_weight": None}
    with pytest.raises(ValueError, match="sample_weight: given earlier, but not now"):
        evaluator.update(**wrong)
    assert evaluator._counted is before


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize(("n_labels", "weighted"), [(9, False), (9, True), (N_WIDE, False), (N_WIDE, True)])
def test_callers_may_write_over_what_they_gave(n_labels: int, weighted: bool, per_row: bool) -> None:
    updates = some_rows(n_labels, weighted, 12)
    settings: dict[str, Any] = {
        "n_labels": n_labels,
        "per_row": per_row,
        "conventions": {"unlisted": 0.0},
    }
    whole, evaluator = (Evaluator(["all", *WIDE], **settings) for _ in range(2))
    whole.update(**copy.deepcopy(joined(updates)))
    for rows in updates:
        evaluator.update(**rows)
        for name in MATRICES:
            rows[name].data[:], rows[name].indices[:], rows[name].indptr[:] = np.nan, 0, 0
        if weighted:
            rows["sample_weight"][:] = -1
    found, want = evaluator.compute(), whole.compute()
    assert found.to_json() == want.to_json()
    if per_row:
        np.testing.assert_equal(found.per_row(), want.per_row())
