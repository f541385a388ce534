"""Rows times labels that are too many to count are refused before anything is counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator

# rows that have 2^62 cells
N_LABELS = 1 << 40
LIMIT = 1 << 22
SCORED: dict[str, Any] = {"conventions": "unlisted=0"}
# measures that count all cells, with their options and the number of rows that is refused
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


def make_rows(n_rows: int) -> tuple[Any, Any]:
    """Return rows with one relevant label each, and no scores."""
    ptr = np.arange(n_rows + 1)
    labels = np.full(n_rows, 5)
    shape = (n_rows, N_LABELS)
    truth = sp.csr_array((np.ones(n_rows, np.uint8), labels, ptr), shape=shape)
    scores = sp.csr_array(shape, dtype=np.float32)
    return truth, scores


def count_rows(name: str, n_rows: int, options: dict[str, Any]) -> Evaluator:
    evaluator = Evaluator([name], n_labels=N_LABELS, **options)
    evaluator.update(*make_rows(n_rows))
    return evaluator


def marked(name: str) -> Any:
    """Mark all measures but two as slow, as they need a second each."""
    if name in ("ap.micro", "log_loss"):
        return pytest.param(name)
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [marked(name) for name in COUNTING])
def test_cells_are_counted_below_the_limit_and_refused_from_it_on(
    name: str, tmp_path: Path
) -> None:
    options, limit = COUNTING[name]
    evaluator = count_rows(name, limit - 1, options)
    single = count_rows(name, 1, options)
    assert evaluator.compute()[name] == pytest.approx(single.compute()[name], rel=1e-9)

    message = (
        rf"{limit} rows of {N_LABELS} labels have 2\^\d+ cells or more; "
        "give fewer rows or labels, or "
    )
    with pytest.raises(ValueError, match=f"^y_true: {message}"):
        evaluator.update(*make_rows(1))
    for first, second in ((evaluator, single), (single, evaluator)):
        with pytest.raises(ValueError, match=f"^merge: {message}"):
            first.merge(second)
    assert (evaluator.n_rows, single.n_rows) == (limit - 1, 1)

    evaluator.save(tmp_path / "state")
    loaded = Evaluator.load(tmp_path / "state")
    assert loaded.compute().to_json() == evaluator.compute().to_json()


@pytest.mark.parametrize("name", ["p@1", "f1.micro@1", "lrap", "ece(bins=3)@1"])
def test_measures_that_do_not_count_cells_take_any_number(name: str) -> None:
    options = SCORED if name.startswith("ece") else {}
    evaluator = count_rows(name, LIMIT + 1, options)
    single = count_rows(name, 1, options)
    assert evaluator.compute()[name] == pytest.approx(single.compute()[name], rel=1e-9)


def test_losses_at_a_cutoff_do_not_count_all_cells() -> None:
    """Calibration without a cutoff does, up to a higher limit."""
    names = ["ece(bins=3)", "log_loss@1"]
    evaluator = Evaluator(names, n_labels=N_LABELS, **SCORED)
    evaluator.update(*make_rows(LIMIT >> 6))
    assert evaluator.compute()["ece(bins=3)"] == pytest.approx(1 / N_LABELS, rel=1e-9)
