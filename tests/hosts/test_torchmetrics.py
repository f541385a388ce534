"""The torchmetrics metric: batches, collections, and several processes."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse as sp
import torch
import torchmetrics

from xmleval import Report, evaluate
from xmleval.integrations.torchmetrics import EvaluatorMetric

GENERATOR = torch.Generator().manual_seed(0)
M = 24
L = 9
SCORES = torch.randn(M, L, generator=GENERATOR)
TRUTH = (torch.rand(M, L, generator=GENERATOR) < 0.3).int()
CUTS = [slice(0, 10), slice(10, 11), slice(11, M)]
NAMES = ["p@1", "ndcg@3", "f1.macro@2", "lrap", "auc.micro"]


def expected(names: Any = NAMES, rows: slice = slice(0, M)) -> dict[str, float]:
    report: Report = evaluate(TRUTH[rows].numpy(), SCORES[rows].numpy(), metrics=names)
    return report.flat()


def plain(values: Any) -> Any:
    return {name: float(value) for name, value in values.items()}


def test_update_and_forward_of_batches_give_the_values_of_all_rows() -> None:
    metric = EvaluatorMetric(NAMES, n_labels=L)
    forward = EvaluatorMetric(NAMES, n_labels=L)
    for cut in CUTS:
        metric.update(SCORES[cut], TRUTH[cut])
        batch_values = forward(SCORES[cut], TRUTH[cut])
        assert plain(batch_values) == expected(rows=cut)
    assert plain(metric.compute()) == expected()
    assert plain(forward.compute()) == expected()
    assert forward.update_count == 3
    metric.reset()
    metric.update(SCORES[CUTS[0]], TRUTH[CUTS[0]])
    assert plain(metric.compute()) == expected(rows=CUTS[0])


def value_of(scores: Any, **options: Any) -> Any:
    """Return P@3."""
    metric = EvaluatorMetric("p@3", n_labels=L, **options)
    metric.update(scores, TRUTH)
    return metric.compute()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_update_takes_predictions_of_every_form() -> None:
    value = value_of(SCORES)
    assert value.dtype == torch.float64
    assert value.shape == ()
    assert float(value) == expected("p@3")["p_at_3"]
    forms = (torch.topk(SCORES, 3), SCORES.to_sparse_csr(), SCORES.numpy())
    for scores in (*forms, sp.csr_array(SCORES.numpy())):
        assert value_of(scores) == value
    assert value_of(-SCORES, higher_is_better=False) == value
    # no score is missing
    assert value_of(SCORES - SCORES.max() - 1, conventions="unlisted=0") == value
    # unlisted labels come first
    assert value_of(torch.topk(-SCORES.abs(), 3), conventions="unlisted=0") != value
    with pytest.raises(ValueError, match=r"^y_score: "):
        value_of(SCORES[:, 1:])


def test_clone_and_pickle_are_independent() -> None:
    metric = EvaluatorMetric("p@1", n_labels=L)
    metric.update(SCORES[:10], TRUTH[:10])
    for copied in (metric.clone(), pickle.loads(pickle.dumps(metric))):
        copied.update(SCORES[10:], TRUTH[10:])
        assert float(copied.compute()) == expected("p@1")["p_at_1"]
    assert float(metric.compute()) == expected("p@1", slice(0, 10))["p_at_1"]


def test_metric_collection_counts_each_metric() -> None:
    metrics = torchmetrics.MetricCollection(
        {
            "p@1": EvaluatorMetric("p@1", n_labels=L),
            "lrap": EvaluatorMetric("lrap", n_labels=L),
            "f1": torchmetrics.classification.MultilabelF1Score(L),
        }
    )
    for cut in CUTS:
        metrics.update(SCORES[cut], TRUTH[cut])
    values = metrics.compute()
    assert [float(values["p@1"]), float(values["lrap"])] == [*expected(["p@1", "lrap"]).values()]
    whole = evaluate(
        TRUTH.numpy(), SCORES.sigmoid().numpy(), metrics="f1.macro", decision="threshold0.5"
    )
    assert float(values["f1"]) == pytest.approx(whole["f1.macro"], rel=1e-6)


@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_metric_refuses_options_and_rows() -> None:
    with pytest.raises(ValueError, match=r"^dist_sync_on_step: "):
        EvaluatorMetric("p@1", n_labels=L, dist_sync_on_step=True)
    metric = EvaluatorMetric("p@1", n_labels=L)
    wrong = TRUTH + torch.eye(M, L, dtype=torch.int32).roll(1, 0) * 2
    with pytest.raises(ValueError, match="row 1"):
        metric.update(SCORES, wrong)
    with pytest.raises(ValueError, match="nothing was counted"):
        metric.compute()


PROCESS = """
import sys, torch, torch.distributed as dist
from xmleval.integrations.torchmetrics import EvaluatorMetric
rank = int(sys.argv[1])
folder = sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
scores, truth = torch.load(f"{folder}/rows.pt")
rows = slice(0, 7) if rank == 0 else slice(7, None)
metric = EvaluatorMetric(NAMES, n_labels=scores.shape[1], per_row=True)
metric.update(scores[rows], truth[rows])
first = metric.compute()
metric.update(scores[rows], truth[rows])  # the synchronised state is gone
second = metric.compute()
empty = EvaluatorMetric("p@1", n_labels=scores.shape[1])
if rank == 0:
    empty.update(scores, truth)
for values in (first, second, {"p_at_1": empty.compute()}):
    print(repr({name: float(value) for name, value in values.items()}))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_compute_in_two_processes_gives_the_values_of_one(tmp_path: Path) -> None:
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("torch was built without gloo")
    torch.save((SCORES, TRUTH), tmp_path / "rows.pt")
    code = PROCESS.replace("NAMES", repr(NAMES))
    started = []
    for rank in range(2):
        command = [sys.executable, "-c", code, str(rank), str(tmp_path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    for process in started:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        first, second, empty = [eval(line) for line in out.splitlines()]
        assert first == expected()
        assert second == pytest.approx(expected(), abs=1e-15)
        assert empty == expected("p@1")
