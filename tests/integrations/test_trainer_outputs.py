"""Outputs of a Trainer as NumPy arrays, with other outputs of the model and with padding."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xmleval import evaluate
from xmleval.integrations.topk import TopKSelector
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


class Scores:
    """An array that selects its best scores as tensors do."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape = values.shape

    def topk(self, k: int, dim: int, largest: bool) -> tuple[Any, Any]:
        """Return the scores and the labels of the first k of each row."""
        assert dim == 1
        order = np.argsort(-self.values if largest else self.values, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(self.values, order, 1), order


@pytest.mark.parametrize(
    ("metrics", "options", "width"),
    [
        (["p@1"], {}, 1),
        (["p@1", "ndcg@4"], {}, 4),
        (["p"], {"k": [2, 3]}, 3),
        (["p@9"], {}, L),
        (["f1.micro"], {"decision": "top2"}, 2),
        (["p@2", "f1.micro@3"], {}, 3),
        (["p@1"], {"higher_is_better": False}, 1),
        (["r@2", "ece@3"], {"conventions": "link=sigmoid"}, 3),
        (["p@1", "lrap"], {}, None),
        (["mrr@all"], {}, None),
        (["auc.micro"], {}, None),
        (["p@1"], {"conventions": "ties=expected"}, None),
        (["f1.micro"], {"decision": "threshold0.5"}, None),
    ],
)
@pytest.mark.parametrize("further", [(), (HIDDEN,)])
def test_preprocess_keeps_as_many_labels_as_the_measures_read(
    metrics: list[str], options: dict[str, Any], width: int | None, further: tuple[Any, ...]
) -> None:
    trainer = TrainerMetrics(metrics, n_labels=L, **options)
    expected = evaluate(TRUTH, LOGITS, metrics=metrics, **options).flat()
    logits: Any = Scores(LOGITS)
    kept: Any = trainer.preprocess_logits_for_metrics((logits, *further) if further else logits)
    if width is None:
        assert kept is logits
        kept = LOGITS
    else:
        labels, scores = kept
        assert labels.shape == scores.shape == (M, width)
        np.testing.assert_array_equal(scores, np.take_along_axis(LOGITS, labels, 1))
    prediction: Any = SimpleNamespace(predictions=kept, label_ids=TRUTH)
    assert trainer.compute_metrics(prediction) == expected


def test_unlisted_score_of_conventions_has_no_effect_as_every_label_has_a_logit() -> None:
    for text in ("unlisted=0", "unlisted=5"):
        trainer = TrainerMetrics(["p@1"], n_labels=L, conventions=text)
        labels, _ = trainer.preprocess_logits_for_metrics(Scores(LOGITS))
        assert labels.shape == (M, 1)


@pytest.mark.parametrize("shape", [(2, 3), (2, 7), (6,), (2, L, 1)])
def test_preprocess_refuses_logits_of_another_shape(shape: tuple[int, ...]) -> None:
    trainer = TrainerMetrics(["p@1"], n_labels=L)
    logits: Any = Scores(np.zeros(shape))
    message = f"logits: shape {shape} is not (m, {L}) for n_labels={L}"
    for value in (logits, (logits, HIDDEN), [logits]):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            trainer.preprocess_logits_for_metrics(value)


def test_batches_count_once_until_the_last_and_a_new_evaluation_begins() -> None:
    trainer = TrainerMetrics(["p@1", "lrap"], n_labels=L)

    def batch(rows: slice) -> Any:
        return SimpleNamespace(predictions=LOGITS[rows], label_ids=TRUTH[rows])

    for _ in range(2):
        assert trainer.compute_metrics(batch(slice(0, 9)), compute_result=False) == {}
        assert trainer.compute_metrics(batch(slice(9, M)), compute_result=True) == EXPECTED
        assert trainer.report is not None
        assert trainer.report.n_rows == M
    trainer.compute_metrics(batch(slice(0, 9)), compute_result=False)  # interrupted
    assert trainer.compute_metrics(batch(slice(0, M))) == EXPECTED
    trainer.compute_metrics(batch(slice(0, 9)), compute_result=False)
    trainer.reset()
    assert trainer.compute_metrics(batch(slice(0, M)), compute_result=True) == EXPECTED


@pytest.mark.parametrize(
    ("label_ids", "message"),
    [
        (TRUTH[:, :3] / 2, f"label_ids: float64 of shape ({M}, 3); expected 0/1 of shape (m, {L})"),
        (TRUTH[:, 0], f"label_ids: int64 of shape ({M},); expected 0/1 of shape (m, {L}), or ids"),
    ],
)
def test_compute_metrics_refuses_labels_that_are_no_ids(label_ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        answer(LOGITS, label_ids)


@pytest.mark.parametrize(("conventions", "depth"), [("unlisted=below", 1), ("unlisted=0.5", None)])
def test_all_labels_are_kept_where_unlisted_ones_have_a_score(
    conventions: str, depth: int | None
) -> None:
    select = TopKSelector(["p@1"], L, {"conventions": conventions})
    scores: Any = Scores(LOGITS)
    kept: Any = select(scores)
    if depth is None:
        assert kept is scores
    else:
        assert [each.shape for each in kept] == [(M, depth)] * 2
