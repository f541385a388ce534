"""What a Trainer hands over as NumPy arrays, with other outputs of the model and with padding."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xmleval import evaluate
from xmleval.integrations.transformers import TrainerMetrics

RNG = np.random.default_rng(0)
M, L = 23, 6
LOGITS = RNG.normal(size=(M, L)).astype(np.float32)
TRUTH = (RNG.random((M, L)) < 0.3).astype(np.int64)
HIDDEN, ATTENTION = RNG.normal(size=(M, 8)), RNG.normal(size=(M, 2, 4))
EXPECTED = evaluate(TRUTH, LOGITS, metrics=["p@1", "lrap"]).flat()
IDS = np.full((M, L), -100)
for row, labels in enumerate(TRUTH):
    IDS[row, : labels.sum()] = labels.nonzero()[0]


def answer(predictions: Any, label_ids: Any) -> dict[str, float]:
    metrics = TrainerMetrics(["p@1", "lrap"], n_labels=L)
    return metrics.compute_metrics(SimpleNamespace(predictions=predictions, label_ids=label_ids))


@pytest.mark.parametrize("further", [(), (HIDDEN,), (-LOGITS,), (HIDDEN, ATTENTION)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_logits_are_taken_in_front_of_other_outputs(further: tuple[Any, ...], dtype: type) -> None:
    logits: Any = LOGITS.astype(np.float16).astype(dtype)
    expected = evaluate(TRUTH, logits, metrics=["p@1", "lrap"]).flat()
    assert answer((logits, *further), TRUTH) == expected
    cuts = [slice(0, 9), slice(9, M)]
    batches = [(logits[cut], *(part[cut] for part in further)) for cut in cuts]
    assert answer(batches, [TRUTH[cut] for cut in cuts]) == expected


@pytest.mark.parametrize("label_ids", [TRUTH, TRUTH.astype(np.float32), IDS, IDS.astype(np.int32)])
def test_padded_ids_may_be_as_wide_as_the_labels(label_ids: Any) -> None:
    before = label_ids.copy()
    assert answer(LOGITS, label_ids) == EXPECTED
    assert np.array_equal(label_ids, before)


@pytest.mark.parametrize("order", [[0, 1, -100], [1, 0, -100], [-100, 0, 1]])
def test_padded_ids_of_two_labels_are_no_vectors(order: list[int]) -> None:
    metrics = TrainerMetrics(["f1.micro"], n_labels=2, decision="top2")
    prediction = SimpleNamespace(predictions=LOGITS[:, :2], label_ids=np.array([order] * M))
    assert metrics.compute_metrics(prediction)["f1_micro"] == 1.0


@pytest.mark.parametrize(("label_ids", "message"), [
    (np.array([[3, 3]]), "y_true: row 0: label id 3 occurs twice"),
    (np.array([[0, 6]]), "y_true: row 0: label id 6 is not in"),
    (np.array([[0, -7]]), "y_true: row 0: label id -7 is"),
    ((TRUTH, TRUTH), "label_ids: 2 arrays, one for each of label_names; pass"),
])  # fmt: skip
def test_ids_of_no_label_and_more_arrays_are_refused(label_ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        answer(LOGITS[:1], label_ids)
