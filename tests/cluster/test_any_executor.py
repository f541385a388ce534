"""Evaluations on executors of other libraries have the results of one process."""

import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.executors import SerialExecutor
from tests.own_measures import NOVELTY
from xmleval import Running, compare, evaluate

RANDOM = np.random.default_rng(5)
Y = sp.csr_array(RANDOM.random((300, 12)) < 0.2)
S = sp.csr_array(RANDOM.random((300, 12)) * (RANDOM.random((300, 12)) < 0.5))


def write_parts(folder: Path) -> None:
    for number, rows in enumerate((slice(0, 120), slice(120, 300))):
        sp.save_npz(folder / f"truth_{number}.npz", Y[rows])
        sp.save_npz(folder / f"model_{number}.npz", S[rows])


def executors() -> list[tuple[str, Executor]]:
    return [
        ("serial", SerialExecutor()),
        ("threads", ThreadPoolExecutor(2)),
    ]


@pytest.mark.parametrize(("name", "executor"), executors())
def test_any_executor_has_the_bits_of_one_process(
    name: str, executor: Executor, folder: Path
) -> None:
    write_parts(folder)
    options: Any = {"metrics": ["p@2", "auc.micro", NOVELTY], "k": 2, "confidence": 0.9}
    data = {"popularity": np.linspace(0.1, 0.9, 12)}
    expected = evaluate("truth_*.npz", "model_*.npz", label_data=data, **options)
    running = Running(executor=executor)
    report = evaluate("truth_*.npz", "model_*.npz", label_data=data, running=running, **options)
    assert report.to_json() == expected.to_json()
    assert executor.submit(int, "3").result() == 3  # it is not shut down


def test_a_comparison_on_an_executor(folder: Path) -> None:
    write_parts(folder)
    models = {"a": "model_*.npz", "b": "model_*.npz"}
    expected = compare("truth_*.npz", models, metrics=["p@1"])
    running = Running(executor=ThreadPoolExecutor(2))
    assert compare("truth_*.npz", models, metrics=["p@1"], running=running).to_json() == (
        expected.to_json()
    )


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("arrays")
def test_dask_reads_every_kind_of_file() -> None:
    distributed = pytest.importorskip("distributed")
    from xmleval.dask import evaluate as evaluate_on_dask

    options: dict[str, Any] = {"metrics": ["p@3", "f1.micro", "r@3"]}
    files: dict[str, Any] = {"y_pred": "pred_0.npz", "candidates": "c_*"}
    expected = evaluate("Y_*", "m_*", **files, **options)
    assert dict(expected) != dict(evaluate("Y_*", "m_*", y_pred="pred_0.npz", **options))
    in_process = {"processes": False, "n_workers": 1, "dashboard_address": None}
    with mock.patch.dict(os.environ), distributed.Client(**in_process) as client:
        report = evaluate_on_dask("Y_*", "m_*", **files, client=client, **options)
    assert report.to_json() == expected.to_json()


@pytest.mark.slow
def test_processes_of_the_standard_library(folder: Path) -> None:
    write_parts(folder)
    expected = evaluate(
        "truth_*.npz",
        "model_*.npz",
        metrics=["p@2", NOVELTY],
        k=2,
        label_data={"popularity": np.linspace(0.1, 0.9, 12)},
    )
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        report = evaluate(
            "truth_*.npz",
            "model_*.npz",
            metrics=["p@2", NOVELTY],
            k=2,
            label_data={"popularity": np.linspace(0.1, 0.9, 12)},
            running=Running(executor=executor),
        )
    assert report.to_json() == expected.to_json()


def test_an_executor_must_be_one(folder: Path) -> None:
    write_parts(folder)
    with pytest.raises(ValueError, match="executor"):
        evaluate("truth_*.npz", "model_*.npz", metrics=["p@1"], running=Running(executor=object()))  # type: ignore[arg-type]
