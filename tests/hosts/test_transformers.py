"""The functions for a Trainer, with a tiny model on the processor."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from xmleval import Report, evaluate, inverse_propensity
from xmleval.integrations.transformers import TrainerMetrics

GENERATOR = torch.Generator().manual_seed(0)
M = 23
L = 12
LOGITS = torch.randn(M, L, generator=GENERATOR)
TRUTH = (torch.rand(M, L, generator=GENERATOR) < 0.3).float()
NAMES = ["p@1", "p@3", "ndcg@3", "psndcg@1"]
Q = inverse_propensity(label_counts=TRUTH.sum(dim=0).numpy(), n_instances=M)


def expected(
    names: Any = NAMES, truth: Any = TRUTH, logits: Any = LOGITS, **more: Any
) -> dict[str, float]:
    more = {"inverse_propensity": Q} | more
    report: Report = evaluate(truth.numpy(), logits.float().numpy(), metrics=names, **more)
    return report.flat()


def prediction(predictions: Any, label_ids: Any) -> Any:
    return SimpleNamespace(predictions=predictions, label_ids=label_ids)


def padded(truth: Any) -> Any:
    """Return label ids by row, padded as by the Trainer."""
    ids = [row.nonzero()[:, 0] for row in truth]
    return torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=-100)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_preprocess_logits_keeps_the_first_k_labels(dtype: str) -> None:
    metrics = TrainerMetrics(NAMES, n_labels=L, inverse_propensity=Q)
    # without ties
    spread = torch.argsort(torch.argsort(LOGITS, dim=1), dim=1).to(getattr(torch, dtype))
    kept = metrics.preprocess_logits_for_metrics((spread, "hidden states"), TRUTH)
    assert [tuple(part.shape) for part in kept] == [(M, 3), (M, 3)]
    assert metrics.compute_metrics(prediction(kept, TRUTH)) == expected(logits=spread)


@pytest.mark.parametrize(
    ("names", "options", "depth"),
    [
        (["p@1", "f1.micro@4"], {}, 4),
        ("f1.micro", {"decision": "top2"}, 2),
        ("p@20", {}, L),
        ("lrap", {}, None),
        ("f1.micro", {"decision": "threshold0.0"}, None),
        ("ndcg@3", {"conventions": "sklearn"}, None),
        ("p@3", {"higher_is_better": False}, 3),
    ],
)
def test_preprocess_logits_keeps_the_labels_that_measures_read(
    names: Any, options: dict[str, Any], depth: int | None
) -> None:
    metrics = TrainerMetrics(names, n_labels=L, **options)
    kept = metrics.preprocess_logits_for_metrics(LOGITS)
    if depth is None:
        assert kept is LOGITS
    else:
        assert kept[0].shape == (M, depth)
    values = metrics.compute_metrics(prediction(kept, TRUTH))
    assert values == expected(names if isinstance(names, list) else [names], **options)
    assert metrics.report is not None
    assert metrics.report.n_rows == M


@pytest.mark.parametrize(
    ("labels", "as_arrays"),
    [
        pytest.param(TRUTH.long(), False, id="tensors"),
        pytest.param(TRUTH, True, id="arrays"),
        pytest.param(padded(TRUTH), False, id="ids"),
        pytest.param(padded(TRUTH), True, id="ids as arrays"),
    ],
)
def test_compute_metrics_takes_labels_of_every_form(labels: Any, as_arrays: bool) -> None:
    metrics = TrainerMetrics("p", n_labels=L)
    kept = metrics.preprocess_logits_for_metrics(LOGITS)
    if as_arrays:
        kept = tuple(part.numpy() for part in kept)
        labels = labels.numpy()
    assert metrics.compute_metrics(prediction(kept, labels)) == expected("p")


def test_compute_metrics_of_batches_and_lists_of_batches() -> None:
    metrics = TrainerMetrics(NAMES, n_labels=L, inverse_propensity=Q)
    cuts = [slice(0, 9), slice(9, 10), slice(10, M)]
    kept = [metrics.preprocess_logits_for_metrics(LOGITS[cut]) for cut in cuts]
    labels = [TRUTH[:9], padded(TRUTH[9:10]), padded(TRUTH[10:])]
    assert metrics.compute_metrics(prediction(kept, labels)) == expected()
    for _ in range(2):  # two evaluations
        for place, (part, truth) in enumerate(zip(kept, labels, strict=True)):
            values = metrics.compute_metrics(prediction(part, truth), compute_result=place == 2)
            assert values == (expected() if place == 2 else {})
    first = prediction(kept[0], labels[0])
    metrics.compute_metrics(first, compute_result=False)  # an evaluation that is interrupted
    assert metrics.compute_metrics(prediction(kept, labels)) == expected()
    metrics.compute_metrics(first, compute_result=False)
    metrics.reset()
    metrics.compute_metrics(first, compute_result=True)
    assert metrics.report is not None
    assert metrics.report.n_rows == 9


@pytest.mark.parametrize(
    ("logits", "label_ids", "message"),
    [
        (LOGITS, TRUTH[:, 1:], r"^label_ids: float32 of shape"),
        (LOGITS, padded(TRUTH) + 1, r"^y_true: row"),
        (LOGITS[1:], TRUTH, "22 rows do not match the 23"),
    ],
)
def test_compute_metrics_refuses_shapes_that_do_not_fit(
    logits: Any, label_ids: Any, message: str
) -> None:
    metrics = TrainerMetrics("p@1", n_labels=L)
    with pytest.raises(ValueError, match=message):
        metrics.compute_metrics(prediction(logits, label_ids))
    with pytest.raises(ValueError, match=r"^logits: shape \(23, 11\) is not \(m, 12\)"):
        metrics.preprocess_logits_for_metrics(LOGITS[:, 1:])


@pytest.mark.slow
@pytest.mark.parametrize("by_batch", [False, True])
def test_trainer_logs_values(by_batch: bool, tmp_path: Any) -> None:

    class Tiny(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, L)

        def forward(self, rows: Any, labels: Any = None) -> dict[str, Any]:
            logits = self.linear(rows)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
            return {"loss": loss, "logits": logits}

    rows = torch.randn(M, 3, generator=GENERATOR)
    data = [{"rows": row, "labels": labels} for row, labels in zip(rows, TRUTH, strict=True)]
    requests = [
        (["p@1", "p@3", "ranking_loss"], True),
        (["p@1", "p@3"], False),
    ]
    model = Tiny()
    for names, needs_all_labels in requests:
        metrics = TrainerMetrics(names, n_labels=L)
        trainer = transformers.Trainer(
            model,
            transformers.TrainingArguments(
                str(tmp_path),
                per_device_eval_batch_size=5,
                batch_eval_metrics=by_batch,
                use_cpu=True,
                report_to=[],
                eval_strategy="epoch",
                num_train_epochs=2,
                disable_tqdm=True,
                save_strategy="epoch",
                metric_for_best_model="p_at_3",
                load_best_model_at_end=True,
            ),
            train_dataset=data,
            eval_dataset=data,
            compute_metrics=metrics.compute_metrics,
            preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics,
        )
        trainer.train()
        values = trainer.evaluate()
        expected_values = expected(names, logits=model.linear(rows).detach())
        logged = {name: values[f"eval_{name}"] for name in expected_values}
        assert logged == pytest.approx(expected_values, abs=1e-12)
        assert [log["eval_p_at_3"] for log in trainer.state.log_history if "eval_p_at_3" in log]
        if by_batch:
            continue
        kept = trainer.predict(data).predictions
        if needs_all_labels:
            assert kept.shape == (M, L)
        else:
            assert kept[0].shape == (M, 3)
