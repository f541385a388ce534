"""The functions for a Trainer, with a tiny model on the processor."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from xmleval import Report, evaluate, inverse_propensity
from xmleval.integrations.transformers import TrainerMetrics

GENERATOR = torch.Generator().manual_seed(0)
M, L = 23, 12
LOGITS = torch.randn(M, L, generator=GENERATOR)
TRUTH = (torch.rand(M, L, generator=GENERATOR) < 0.3).float()
NAMES = ["p@1", "p@3", "ndcg@3", "psndcg@1"]
Q = inverse_propensity(label_counts=TRUTH.sum(dim=0).numpy(), n_instances=M)


def expected(names: Any = NAMES, truth: Any = TRUTH, logits: Any = LOGITS, **more: Any) -> dict[str, float]:
    more = {"inverse_propensity": Q} | more
    report: Report = evaluate(truth.numpy(), logits.float().numpy(), metrics=names, **more)
    return report.flat()


def prediction(predictions: Any, label_ids: Any) -> Any:
    return SimpleNamespace(predictions=predictions, label_ids=label_ids)


def padded(truth: Any) -> Any:
    """Ids of each row, filled up as the Trainer does."""
    ids = [row.nonzero()[:, 0] for row in truth]
    return torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=-100)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_only_the_first_k_labels_are_kept(dtype: str) -> None:
    metrics = TrainerMetrics(NAMES, n_labels=L, inverse_propensity=Q)
    spread = torch.argsort(torch.argsort(LOGITS, dim=1), dim=1).to(getattr(torch, dtype))  # without ties
    kept = metrics.preprocess_logits_for_metrics((spread, "hidden states"), TRUTH)
    assert [tuple(part.shape) for part in kept] == [(M, 3), (M, 3)]
    assert metrics.compute_metrics(prediction(kept, TRUTH)) == expected(logits=spread)


@pytest.mark.parametrize(("names", "options", "depth"), [
    (["p@1", "f1.micro@4"], {}, 4), ("f1.micro", {"decision": "top2"}, 2), ("p@20", {}, L),
    ("lrap", {}, None), ("f1.micro", {"decision": "threshold0.0"}, None),
    ("ndcg@3", {"conventions": "sklearn"}, None), ("p@3", {"higher_is_better": False}, 3),
])  # fmt: skip
def test_as_many_labels_as_the_measures_read(names: Any, options: dict[str, Any], depth: int | None) -> None:
    metrics = TrainerMetrics(names, n_labels=L, **options)
    kept = metrics.preprocess_logits_for_metrics(LOGITS)
    assert kept is LOGITS if depth is None else kept[0].shape == (M, depth)
    values = metrics.compute_metrics(prediction(kept, TRUTH))
    assert values == expected(names if isinstance(names, list) else [names], **options)
    assert metrics.report is not None
    assert metrics.report.n_rows == M


@pytest.mark.parametrize("form", ["tensors", "arrays", "ids", "ids as arrays"])
def test_labels_of_every_form(form: str) -> None:
    metrics = TrainerMetrics("p", n_labels=L)
    kept = metrics.preprocess_logits_for_metrics(LOGITS)
    labels = padded(TRUTH) if form.startswith("ids") else TRUTH.long() if form == "tensors" else TRUTH
    if form.endswith("arrays"):
        kept, labels = tuple(part.numpy() for part in kept), labels.numpy()
    assert metrics.compute_metrics(prediction(kept, labels)) == expected("p")


def test_batches_and_lists_of_batches() -> None:
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


@pytest.mark.parametrize(("logits", "label_ids", "message"), [
    (LOGITS, TRUTH[:, 1:], r"^label_ids: float32 of shape"), (LOGITS, padded(TRUTH) + 1, r"^y_true: row"),
    (LOGITS[1:], TRUTH, "22 rows do not match the 23"),
])  # fmt: skip
def test_outputs_that_do_not_fit_are_refused(logits: Any, label_ids: Any, message: str) -> None:
    metrics = TrainerMetrics("p@1", n_labels=L)
    with pytest.raises(ValueError, match=message):
        metrics.compute_metrics(prediction(logits, label_ids))
    with pytest.raises(ValueError, match=r"^logits: shape \(23, 11\) is not \(m, 12\)"):
        metrics.preprocess_logits_for_metrics(LOGITS[:, 1:])


@pytest.mark.slow
@pytest.mark.parametrize("by_batch", [False, True])
def test_a_trainer_logs_the_values(by_batch: bool, tmp_path: Any) -> None:

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
    metrics = TrainerMetrics(["p@1", "p@3", "ranking_loss"], n_labels=L)
    lean = TrainerMetrics(["p@1", "p@3"], n_labels=L)
    model = Tiny()
    for used in (metrics, lean):
        trainer = transformers.Trainer(
            model,
            transformers.TrainingArguments(
                str(tmp_path), per_device_eval_batch_size=5, batch_eval_metrics=by_batch, use_cpu=True,
                report_to=[], eval_strategy="epoch", num_train_epochs=2, disable_tqdm=True,
                save_strategy="epoch", metric_for_best_model="p_at_3", load_best_model_at_end=True,
            ),
            train_dataset=data, eval_dataset=data, compute_metrics=used.compute_metrics,
            preprocess_logits_for_metrics=used.preprocess_logits_for_metrics,
        )  # fmt: skip
        trainer.train()
        values = trainer.evaluate()
        names = ["p@1", "p@3", *(["ranking_loss"] if used is metrics else [])]
        wanted = expected(names, logits=model.linear(rows).detach())
        assert {name: values[f"eval_{name}"] for name in wanted} == pytest.approx(wanted, abs=1e-12)
        assert [log["eval_p_at_3"] for log in trainer.state.log_history if "eval_p_at_3" in log]
        if not by_batch:
            kept = trainer.predict(data).predictions
            assert (kept.shape == (M, L)) if used is metrics else (kept[0].shape == (M, 3))
