"""The examples of `xmleval/docs/training.md` that need torch: they run as they are printed."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning
import pytest
import torch
import transformers

from xmleval import evaluate

PAGE = Path(__file__).parents[2] / "xmleval" / "docs" / "training.md"
MARK = "<!-- run by tests/hosts/test_pages.py -->\n```python\n"
M = 24
L = 4000
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(M, 5, generator=GENERATOR)
Y = (torch.rand(M, L, generator=GENERATOR) < 0.01).float()
Q = 1 + torch.rand(L, generator=GENERATOR, dtype=torch.float64).numpy()


def block(word: str) -> str:
    """Return the block of the page in which a word occurs."""
    blocks = re.findall(rf"{re.escape(MARK)}(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (text,) = [each for each in blocks if word in each]
    return str(text)


def weights() -> Any:
    torch.manual_seed(1)
    return torch.nn.Linear(5, L)


class Linear(torch.nn.Module):  # type: ignore[misc]
    """A linear model that takes and returns what a Trainer hands on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = weights()

    def forward(self, x: Any, labels: Any) -> Any:
        logits = self.layer(x)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        return {"loss": loss, "logits": logits}


@pytest.mark.filterwarnings("ignore")  # about hardware that is not used
def test_trainer_gives_the_values_of_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {
        "Trainer": transformers.Trainer,
        "TrainingArguments": lambda *names, **options: transformers.TrainingArguments(
            *names, **options, use_cpu=True, report_to=[]
        ),
        "model": Linear(),
        "data": [{"x": x, "labels": y} for x, y in zip(X, Y, strict=True)],
    }
    exec(block("TrainerMetrics"), space)
    values = space["trainer"].evaluate()
    expected = evaluate(Y, weights()(X).detach(), metrics=["p@1", "p@5", "ndcg@5"])
    for name, value in expected.flat().items():
        assert values[f"eval_{name}"] == value


@pytest.mark.filterwarnings("ignore")  # about workers that load data
def test_lightning_logs_the_values_of_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"LightningModule": lightning.LightningModule, "q": Q}
    exec(block("EvaluatorMetric"), space)
    model = space["Model"]()
    layer = weights()
    model.forward = layer.forward
    rows = [{"x": X[start : start + 8], "y": Y[start : start + 8]} for start in range(0, M, 8)]
    trainer = lightning.Trainer(
        logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu"
    )
    loader = torch.utils.data.DataLoader(rows, batch_size=None)
    (values,) = trainer.validate(model, loader, verbose=False)
    expected = evaluate(Y, layer(X).detach(), metrics=["p@1", "psp@5", "p@5"], inverse_propensity=Q)
    for name in ("p@1", "psp@5"):
        assert values[name.replace("@", "_at_")] == pytest.approx(expected[name], rel=1e-6)
    assert values["p@5"] == pytest.approx(expected["p@5"], rel=1e-6)


def test_loggers_get_flat_names() -> None:
    logged: list[Any] = []
    space = {
        "report": evaluate(Y, weights()(X).detach(), metrics=["p@1"]),
        "mlflow": SimpleNamespace(log_metrics=logged.append),
        "wandb": SimpleNamespace(log=logged.append),
    }
    exec(block("wandb"), space)
    assert [list(values) for values in logged] == [["p_at_1"]] * 2
