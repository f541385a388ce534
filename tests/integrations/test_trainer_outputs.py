"""Outputs of a Trainer as NumPy arrays, with other outputs of the model and with padding."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xmleval import evaluate
from xmleval.integrations.transformers import TrainerMetrics

RNG = np.random.default_rng(0)
M = 23
L = 6
LOGITS = RNG.normal(size=(M, L)).astype(np.float32)
TRUTH = (RNG.random((M, L)) < 0.3).astype(np.int64)
HIDDEN = RNG.normal(size=(M, 8))
ATTENTION = RNG.normal(size=(M, 2, 4))
EXPECTED = evaluate(TRUTH, LOGITS, metrics=["p@1", "lrap"]).flat()
IDS = np.full((M, L), -100)
for row, row_truth in enumerate(TRUTH):
    labels = np.flatnonzero(row_truth)
    IDS[row, : labels.size] = labels


def answer(predictions: Any, label_ids: Any) -> dict[str, float]:
    """Return the metrics of what a Trainer predicts."""
    metrics = TrainerMetrics(["p@1", "lrap"], n_labels=L)
    prediction = SimpleNamespace(predictions=predictions, label_ids=label_ids)
    return metrics.compute_metrics(prediction)


@pytest.mark.parametrize(
    "further",
    [
        (),
        (HIDDEN,),
        (-LOGITS,),
        (HIDDEN, ATTENTION),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_compute_metrics_takes_the_first_output(further: tuple[Any, ...], dtype: type) -> None:
    logits: Any = LOGITS.astype(np.float16).astype(dtype)
    expected = evaluate(TRUTH, logits, metrics=["p@1", "lrap"]).flat()
    outputs = (logits, *further)
    assert answer(outputs, TRUTH) == expected
    first = tuple(output[:9] for output in outputs)
    second = tuple(output[9:] for output in outputs)
    assert answer([first, second], [TRUTH[:9], TRUTH[9:]]) == expected


@pytest.mark.parametrize("label_ids", [TRUTH, TRUTH.astype(np.float32), IDS, IDS.astype(np.int32)])
def test_compute_metrics_takes_padded_ids_as_wide_as_the_labels(label_ids: Any) -> None:
    before = label_ids.copy()
    assert answer(LOGITS, label_ids) == EXPECTED
    assert np.array_equal(label_ids, before)


@pytest.mark.parametrize(
    "order",
    [
        [0, 1, -100],
        [1, 0, -100],
        [-100, 0, 1],
    ],
)
def test_compute_metrics_takes_padded_ids_of_two_labels(order: list[int]) -> None:
    metrics = TrainerMetrics(["f1.micro"], n_labels=2, decision="top2")
    prediction = SimpleNamespace(predictions=LOGITS[:, :2], label_ids=np.array([order] * M))
    assert metrics.compute_metrics(prediction)["f1_micro"] == 1.0


@pytest.mark.parametrize(
    ("label_ids", "message"),
    [
        (np.array([[3, 3]]), "y_true: row 0: label id 3 occurs twice"),
        (np.array([[0, 6]]), "y_true: row 0: label id 6 is not in"),
        (np.array([[0, -7]]), "y_true: row 0: label id -7 is"),
        ((TRUTH, TRUTH), "label_ids: 2 arrays, one for each of label_names; pass"),
    ],
)
def test_compute_metrics_refuses_other_ids_and_several_arrays(label_ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        answer(LOGITS[:1], label_ids)
