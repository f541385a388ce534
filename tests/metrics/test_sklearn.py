"""The scikit-learn conventions against scikit-learn itself, on densified data."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import seeds
from xmleval import evaluate

pytestmark = pytest.mark.slow

sk: Any = pytest.importorskip("sklearn.metrics")

LEVELS = [-2.0, -0.5, 0.0, 0.0, 0.25, 0.5, 1.0, 3.0]  # exact in float32; zeros are stored
AVERAGES = ("samples", "micro", "macro", "weighted")
KS = (1, 3, 50)

peers = settings(max_examples=20)
every_form = pytest.mark.parametrize("form", ["sparse", "dense"])
every_type = pytest.mark.parametrize("dtype", ["float32", "float64"])
every_division = pytest.mark.parametrize("division", [0.0, 1.0, math.nan])


@dataclasses.dataclass
class Data:
    """Truth, scores and sets as they are given, and the same as dense arrays."""

    true: Any
    score: Any
    pred: Any
    weight: Any
    dense_score: Any

    @property
    def n(self) -> int:
        return len(self.true)


@st.composite
def problems(draw: st.DrawFn, form: str = "sparse", dtype: str = "float64") -> Data:
    """Draw ties, negative scores, stored zeros, unlisted labels, rows without labels and with all."""
    n, n_labels = draw(st.integers(1, 9)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(seeds))
    true, pred = (rng.random((2, n, n_labels)) < rng.choice([0.0, 0.3, 0.7, 1.0], (2, n, 1))).astype(int)
    if draw(st.booleans()):  # labels that nothing has or that nothing is said to have
        true[:, 0], pred[:, -1] = 0, 0
    stored = rng.random((n, n_labels)) < rng.choice([0.0, 0.5, 1.0], (n, 1))
    values = rng.choice(LEVELS, (n, n_labels)).astype(dtype)
    score: Any = values
    if form == "sparse":
        rows, labels = np.nonzero(stored)
        score = sp.csr_array((values[rows, labels], (rows, labels)), shape=(n, n_labels))
    weights = rng.choice([0.25, 0.1, 1.0, 3.0, 0.0], n) if draw(st.booleans()) else None
    if weights is not None:
        weights[0] = 1.0
    dense = score.toarray() if form == "sparse" else values
    return Data(true, score, pred, weights, dense)


def quiet(function: Callable[..., Any], *args: Any, **named: Any) -> float:
    """Call a function of scikit-learn without its remarks on empty rows and labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(*args, **named))


def agree(actual: dict[str, float], expected: dict[str, float]) -> None:
    assert actual.keys() == expected.keys()
    close = functools.partial(np.isclose, rtol=1e-12, atol=1e-12, equal_nan=True)
    wrong = {name: (value, expected[name]) for name, value in actual.items()
             if not close(value, expected[name])}  # fmt: skip
    assert wrong == {}


def ours(data: Data, names: list[str], of_sets: bool = False, division: float = 0.0) -> dict[str, float]:
    inputs = {"y_pred": data.pred} if of_sets else {"y_score": data.score}
    fields = f"sklearn,zero_division={division}"
    return dict(evaluate(data.true, **inputs, metrics=names, conventions=fields, sample_weight=data.weight))


@every_form
@every_type
@peers
@given(data=st.data())
def test_rankings(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    true, score, weight = problem.true, problem.dense_score, problem.weight
    named = {"sample_weight": weight}
    expected = {
        "ranking_loss": quiet(sk.label_ranking_loss, true, score, **named),
        "coverage_error": quiet(sk.coverage_error, true, score, **named),
        "lrap": quiet(sk.label_ranking_average_precision_score, true, score, **named),
        "ndcg@all": quiet(sk.ndcg_score, true, score, **named),
    }
    for k in KS:
        expected[f"ndcg@{k}"] = quiet(sk.ndcg_score, true, score, k=k, **named)
        expected[f"dcg@{k}"] = quiet(sk.dcg_score, true, score, k=k, **named)
    defined = [i for i, row in enumerate(true) if 0 < row.sum() < len(row)]
    areas = [quiet(sk.roc_auc_score, true[i], score[i]) for i in defined]
    units = np.ones(problem.n) if weight is None else weight
    some = sum(units[defined])
    expected["auc.samples"] = float(np.dot(areas, units[defined]) / some) if some else math.nan
    agree(ours(problem, list(expected)), expected)


@every_division
@pytest.mark.parametrize("average", AVERAGES)
@peers
@given(problem=problems())
def test_sets(average: str, division: float, problem: Data) -> None:
    named = {"average": average, "zero_division": division, "sample_weight": problem.weight}
    pair = problem.true, problem.pred
    expected = {
        f"precision.{average}": quiet(sk.precision_score, *pair, **named),
        f"recall.{average}": quiet(sk.recall_score, *pair, **named),
        f"f1.{average}": quiet(sk.f1_score, *pair, **named),
        f"fbeta.{average}(beta=0.5)": quiet(sk.fbeta_score, *pair, beta=0.5, **named),
        f"fbeta.{average}(beta=2)": quiet(sk.fbeta_score, *pair, beta=2, **named),
    } | ({} if division != division else {  # which scikit-learn refuses
        f"jaccard.{average}": quiet(sk.jaccard_score, *pair, **named),
    })  # fmt: skip
    agree(ours(problem, [*expected], True, division), expected)


@peers
@given(problem=problems())
def test_counts_of_cells(problem: Data) -> None:
    pair, named = (problem.true, problem.pred), {"sample_weight": problem.weight}
    columns = list(zip(problem.true.T, problem.pred.T, strict=True))
    expected = {
        "hamming_loss": quiet(sk.hamming_loss, *pair, **named),
        "subset_accuracy": quiet(sk.accuracy_score, *pair, **named),
        "accuracy.macro": float(np.mean([quiet(sk.accuracy_score, *both, **named) for both in columns])),
        "mcc.macro": float(np.mean([quiet(sk.matthews_corrcoef, *both, **named) for both in columns])),
    }
    agree(ours(problem, list(expected), True), expected)
    for j, both in enumerate(columns):
        one = dataclasses.replace(problem, true=problem.true[:, [j]], pred=problem.pred[:, [j]])
        expected = {"mcc.macro": quiet(sk.matthews_corrcoef, *both, **named)}
        units = np.ones(problem.n) if problem.weight is None else problem.weight
        if 0 < np.dot(units, both[0]) < units.sum():
            expected["balanced_accuracy.macro"] = quiet(sk.balanced_accuracy_score, *both, **named)
        agree(ours(one, list(expected), True), expected)
