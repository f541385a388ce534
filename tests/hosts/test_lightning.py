"""The recipe for Lightning: measures are computed, logged and reset by its trainer."""

import os
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch

from xmleval import evaluate
from xmleval.integrations.torchmetrics import EvaluatorMetric

M = 40
L = 12
BATCH = 16
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(M, 5, generator=GENERATOR)
Y = (torch.rand(M, L, generator=GENERATOR) < 0.3).float()
Q = 1 + torch.rand(L, generator=GENERATOR, dtype=torch.float64).numpy()
NAMES = ["p@1", "psp@5", "lrap"]


class Model(lightning.LightningModule):  # type: ignore[misc]
    """A linear model with the metrics of the page on training."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(5, L)
        self.p5 = EvaluatorMetric("p@5", n_labels=L)
        self.metric = EvaluatorMetric(NAMES, n_labels=L, inverse_propensity=Q)

    def forward(self, x: Any) -> Any:
        return self.layer(x)

    def training_step(self, batch: Any, index: int) -> Any:
        return torch.nn.functional.binary_cross_entropy_with_logits(self(batch[0]), batch[1])

    def validation_step(self, batch: Any, index: int) -> None:
        logits = self(batch[0])
        self.p5.update(logits, batch[1])
        self.log("p@5", self.p5)
        self.metric.update(logits, batch[1])

    def on_validation_epoch_end(self) -> None:
        self.log_dict(self.metric.compute())
        self.metric.reset()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.5)


class Checked(lightning.Callback):  # type: ignore[misc]
    """Compares logged values with an evaluation of all rows by the same weights."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_validation_end(self, trainer: Any, model: Any) -> None:
        if trainer.sanity_checking:
            return
        logits = torch.cat(
            [model(X[start : start + BATCH]) for start in range(0, M, BATCH)]
        ).detach()
        expected = evaluate(Y, logits, metrics=[*NAMES, "p@5"], inverse_propensity=Q).flat()
        logged = {
            name.replace("@", "_at_"): float(value)
            for name, value in trainer.callback_metrics.items()
        }
        # Lightning keeps numbers in single precision
        assert logged == pytest.approx(expected, rel=1e-6)
        self.values.append(logged["p_at_5"])


@pytest.mark.filterwarnings("ignore")  # about workers that load data, and hardware that is not used
def test_a_trainer_logs_the_values_of_each_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = torch.utils.data.TensorDataset(X, Y)
    loader = torch.utils.data.DataLoader(rows, BATCH)
    checked = Checked()
    model = Model()
    best = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, "best", monitor="p@5", mode="max")
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        callbacks=[checked, best],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader, loader)
    assert len(checked.values) == 3
    assert float(best.best_model_score) == max(checked.values)
    assert os.listdir(tmp_path) == ["best.ckpt"]
    (validated,) = trainer.validate(model, loader, verbose=False)
    assert validated["p@5"] == checked.values[-1]
