"""Sets that are made from whole rows which are not sorted are those made from sorted rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import BlockRows, Measure, evaluate

N_LABELS = 60
OF_SETS = ["f1.micro", "f1.macro", "f1.samples", "subset_accuracy", "hamming_loss"]
AT_K = ["f1.macro@1", "f1.samples@5", "jaccard.micro@5", "f1.micro@33", "p@3", "ece@2"]
OF_WHOLE_ROWS = ["auc.micro", "ranking_loss"]  # without others, they do not need sorted rows
DECISIONS = ["top2", "top40", "threshold0.4", "threshold>=0.4", "top3&threshold0.2"]


def drawn(seed: int) -> tuple[np.ndarray, sp.csr_array]:
    """Return a truth, and scores with ties of which some are not listed."""
    rng = np.random.default_rng(seed)
    truth = rng.random((40, N_LABELS)) < 0.1
    scores = np.round(rng.random((40, N_LABELS)), 1)
    return truth, sp.csr_array(np.where(rng.random(scores.shape) < 0.7, scores, 0))


@pytest.mark.parametrize("unlisted", ["below", 0.0])
@pytest.mark.parametrize("decision", [*DECISIONS, list(np.linspace(0.1, 0.9, N_LABELS))])
def test_sets_do_not_depend_on_measures_of_whole_rows(decision: Any, unlisted: Any) -> None:
    truth, scores = drawn(1)
    options: dict[str, Any] = {
        "decision": decision,
        "conventions": {"unlisted": unlisted},
        "per_label": True,
        "per_row": True,
    }
    metrics = [*OF_SETS, *AT_K]
    alone = evaluate(truth, scores, metrics=metrics, **options)
    report = evaluate(truth, scores, metrics=[*metrics, *OF_WHOLE_ROWS], **options)
    for name, value in alone.items():
        np.testing.assert_equal(report[name], value)
    tables = (alone.per_row(), report.per_row()), (alone.per_label(), report.per_label())
    for expected, table in tables:
        for name, values in expected.items():
            np.testing.assert_array_equal(table[name], values)


@pytest.mark.parametrize("decision", ["threshold0.4", "top3"])
def test_sets_of_an_own_formula_are_best_first_beside_measures_of_whole_rows(decision: str) -> None:
    truth, scores = drawn(2)

    def first_label(rows: BlockRows) -> np.ndarray:
        """Return the id of the first predicted label of each row, from 1."""
        predicted = rows.predicted
        first = np.zeros(rows.n_rows)
        is_first = predicted.ranks == 1
        first[predicted.rows[is_first]] = 1 + predicted.labels[is_first]
        return first / rows.n_labels

    measure = Measure("lab-first", rows=first_label, needs=("scores", "sets"))
    options: dict[str, Any] = {"decision": decision, "per_row": True}
    alone = evaluate(truth, scores, metrics=[measure], **options).per_row()
    beside = evaluate(truth, scores, metrics=[measure, "auc.micro"], **options).per_row()
    dense = scores.toarray()
    expected = (1 + dense.argmax(axis=1)) / N_LABELS
    np.testing.assert_array_equal(alone["lab-first"], expected)
    np.testing.assert_array_equal(beside["lab-first"], expected)


def test_link_is_noted_where_whole_rows_have_no_logits() -> None:
    truth = np.array([[1, 0, 0]])
    metrics = ["brier", "auc.micro"]
    note = "link=sigmoid is for logits, but all scores are within 0 and 1"
    for middle, is_noted in [(0.3, True), (-3.0, False), (3.0, False)]:
        scores = sp.csr_array([[0.5, middle, 0.2]])
        report = evaluate(truth, scores, metrics=metrics, conventions="link=sigmoid")
        assert any(note in text.replace('"', "") for text in report.notes) == is_noted
