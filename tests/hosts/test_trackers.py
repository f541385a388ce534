"""Trackers of experiments take the names and the values of `report.flat()`."""

import math
from pathlib import Path

import mlflow
import numpy as np
import pytest
import wandb

from tests.examples import H, S, T
from xmleval import Report, evaluate


def made_report() -> Report:
    """All measures that scores and sets have, of rows with all labels: some are undefined."""
    made = evaluate(np.ones_like(T), S, y_pred=H, metrics=["all", "fbeta.macro(beta=2)"])
    assert any(math.isnan(value) for value in made.values())
    return made


def test_mlflow_keeps_all_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = made_report()
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    # it makes the first experiment with the folder
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        mlflow.log_metrics(report.flat())
    assert mlflow.get_run(run.info.run_id).data.metrics == report.flat()


def test_wandb_keeps_all_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = made_report()
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(mode="offline", dir=tmp_path, project="xmleval") as run:
        run.log(report.flat())
        kept = dict(run.summary)
    assert {
        name: value for name, value in kept.items() if not name.startswith("_")
    } == report.flat()
