"""Rows times labels that are too many to count are refused before anything is counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator

N_LABELS, LIMIT = 1 << 40, 1 << 22  # rows that have 2^62 cells
SCORED: dict[str, Any] = {"conventions": "unlisted=0"}
# measures that count all cells, with what they need and the number of rows that is refused
COUNTING: dict[str, tuple[dict[str, Any], int]] = {
    "auc.micro": ({}, LIMIT),
    "ap.micro": (SCORED, LIMIT),
    "peak_f1.micro": ({}, LIMIT),
    "precision_at_recall.micro(r=0.5)": ({}, LIMIT),
    "p@1": ({"curve_points": 2}, LIMIT),
    "accuracy.micro@1": ({}, LIMIT),
    "specificity.micro@1": ({}, LIMIT),
    "ece(bins=3)": (SCORED, LIMIT),
    "ace(bins=3)": (SCORED, LIMIT),
    "brier": (SCORED, LIMIT),
    "log_loss": (SCORED, LIMIT >> 6),
}


def rows(n_rows: int) -> tuple[Any, Any]:
    """Return rows with one relevant label each, which no list has."""
    ptr, labels = np.arange(n_rows + 1), np.full(n_rows, 5)
    truth = sp.csr_array((np.ones(n_rows, np.uint8), labels, ptr), shape=(n_rows, N_LABELS))
    return truth, sp.csr_array((n_rows, N_LABELS), dtype=np.float32)


def counting(name: str, n_rows: int) -> Evaluator:
    evaluator = Evaluator([name], n_labels=N_LABELS, **COUNTING[name][0])
    evaluator.update(*rows(n_rows))
    return evaluator


FAST = ("ap.micro", "log_loss")  # the others need a second each
NAMES = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in COUNTING]


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_counted_below_the_limit_and_refused_from_it_on(name: str, tmp_path: Path) -> None:
    limit = COUNTING[name][1]
    evaluator, one = counting(name, limit - 1), counting(name, 1)
    assert evaluator.compute()[name] == pytest.approx(one.compute()[name], rel=1e-9)
    many = rf"{limit} rows of {N_LABELS} labels have 2\^\d+ cells or more; give fewer rows or labels, or "
    with pytest.raises(ValueError, match=f"^y_true: {many}"):
        evaluator.update(*rows(1))
    for first, second in ((evaluator, one), (one, evaluator)):
        with pytest.raises(ValueError, match=f"^merge: {many}"):
            first.merge(second)
    assert (evaluator.n_rows, one.n_rows) == (limit - 1, 1)
    evaluator.save(tmp_path / "state")
    assert Evaluator.load(tmp_path / "state").compute().to_json() == evaluator.compute().to_json()


@pytest.mark.parametrize("name", ["p@1", "f1.micro@1", "lrap", "ece(bins=3)@1"])
def test_measures_that_do_not_count_cells_take_any_number(name: str) -> None:
    options = SCORED if name.startswith("ece") else {}
    evaluator = Evaluator([name], n_labels=N_LABELS, **options)
    evaluator.update(*rows(LIMIT + 1))
    one = Evaluator([name], n_labels=N_LABELS, **options)
    one.update(*rows(1))
    assert evaluator.compute()[name] == pytest.approx(one.compute()[name], rel=1e-9)
