"""Rank-biased precision and its residual: values of ir_measures, and judged labels."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.metrics.graded_problems import LEVELS, SEEDS, graded_problem
from xmleval import evaluate

VALUES = json.loads((Path(__file__).parent / "ir_measures.json").read_text())["values"]
QRELS = {"a": {"x": 1, "y": 0, "z": 2}, "b": {"x": 0}}
RUN = {"a": {"x": 3.0, "w": 2.0, "z": 1.0}, "b": {"y": 1.0, "x": 0.5}}


@pytest.mark.parametrize("level", LEVELS)
def test_rbp_is_that_of_ir_measures(level: int) -> None:
    names = {f"rbp(p={p})@{k}": f"RBP(p={p},rel={level})" for p, k in ((0.5, "all"), (0.8, 30))}
    conventions = f"relevant_from={level},gains=linear"
    values: dict[str, list[float]] = {name: [] for name in names}
    for seed in SEEDS:
        qrels, run = graded_problem(seed)
        report = evaluate(qrels, run, metrics=[*names], conventions=conventions, per_row=True)
        for name in names:
            values[name] += report.per_row()[name].tolist()
    for name, theirs in names.items():
        np.testing.assert_allclose(values[name], VALUES[theirs], rtol=1e-9, atol=1e-11)


def test_residual_counts_unjudged_ranks_and_those_beyond_the_list() -> None:
    options: Any = {"conventions": "gains=linear", "labels": [*"wxyz"], "per_row": True}
    metrics = ["rbp(p=0.5)@2", "rbp_residual(p=0.5)@2", "rbp_residual(p=0.5)@9"]
    report = evaluate(QRELS, RUN, metrics=[*metrics, "rbp_residual(p=0.5)@all"], **options)
    rows = report.per_row()
    # a: rank 2 is unjudged; b: rank 1
    assert rows["rbp(p=0.5)@2"].tolist() == [0.5, 0.0]
    assert rows["rbp_residual(p=0.5)@2"].tolist() == [0.25 + 0.25, 0.5 + 0.25]
    assert rows["rbp_residual(p=0.5)@9"].tolist() == [0.25 + 0.125, 0.5 + 0.25]
    assert rows["rbp_residual(p=0.5)@all"].tolist() == rows["rbp_residual(p=0.5)@9"].tolist()


def test_residual_without_grades_is_that_of_ranks_beyond_the_list() -> None:
    truth = np.array([[1, 0, 0, 0], [0, 0, 0, 0]])
    scores = np.array([[4, 3, 2, 1], [4, 3, 2, 1]])
    metrics = ["rbp_residual(p=0.5)@2", "rbp_residual(p=0.5)@9"]
    assert [*evaluate(truth, scores, metrics=metrics).values()] == [0.25, 0.5**4]
    report = evaluate(truth, scores, metrics=metrics, conventions="empty=skip", per_row=True)
    np.testing.assert_array_equal(report.per_row()[metrics[0]], [0.25, np.nan])


def test_rbp_and_its_residual_are_at_most_one() -> None:
    for seed in range(50):
        qrels, run = graded_problem(seed)
        metrics = ["rbp(p=0.7)@5", "rbp_residual(p=0.7)@5"]
        values = evaluate(qrels, run, metrics=metrics, conventions="gains=linear")
        assert 0 <= sum(values.values()) <= 1 + 1e-12


def test_rbp_reads_p_from_its_name() -> None:
    truth = np.eye(3)
    assert [*evaluate(truth, truth, metrics=["RBP@2", "rbp(p=0.5)@all"])] == [
        "rbp(p=0.8)@2",
        "rbp(p=0.5)@all",
    ]
    for p in ("0", "1", "1.5"):
        message = f"'rbp(p={p})@2': p={p} is not above 0 and below 1"
        with pytest.raises(ValueError, match=re.escape(message)):
            evaluate(truth, truth, metrics=[f"rbp(p={p})@2"])


@pytest.mark.parametrize("p", [0.09, 0.21, 0.22])
def test_residual_of_a_long_list_of_judged_labels_is_not_negative(p: float) -> None:
    n = 60
    name = f"rbp_residual(p={p})@all"
    scores = -np.arange(float(n))[None]
    report = evaluate(np.ones((1, n)), scores, metrics=name, conventions="gains=linear")
    assert 0 <= report[name] < 1e-15
