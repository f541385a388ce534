"""The scikit-learn conventions against scikit-learn itself, on densified data."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import seeds
from xmleval import Conventions, evaluate
from xmleval.conventions import PRESETS

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


def agree(found: dict[str, float], want: dict[str, float]) -> None:
    assert found.keys() == want.keys()
    wrong = {
        name: (value, want[name])
        for name, value in found.items()
        if not math.isclose(value, want[name], rel_tol=1e-12, abs_tol=1e-12)
        and not (math.isnan(value) and math.isnan(want[name]))
    }
    assert wrong == {}


def conventions(division: float) -> Conventions:
    return dataclasses.replace(PRESETS["sklearn"], zero_division=division)


def ours(data: Data, names: list[str], given_sets: bool = False, division: float = 0.0) -> dict[str, float]:
    inputs = {"y_pred": data.pred} if given_sets else {"y_score": data.score}
    fields = "sklearn" if division == 0 else conventions(division)
    return dict(evaluate(data.true, **inputs, metrics=names, conventions=fields, sample_weight=data.weight))


def ours_by_label(data: Data) -> dict[str, Any]:
    report = evaluate(
        data.true, data.score, metrics="ap.macro", conventions="sklearn", sample_weight=data.weight,
        per_label=True,
    )  # fmt: skip
    return report.per_label()


@every_form
@every_type
@peers
@given(data=st.data())
def test_rankings(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    true, score, weight = problem.true, problem.dense_score, problem.weight
    named = {"sample_weight": weight}
    want = {
        "ranking_loss": quiet(sk.label_ranking_loss, true, score, **named),
        "coverage_error": quiet(sk.coverage_error, true, score, **named),
        "lrap": quiet(sk.label_ranking_average_precision_score, true, score, **named),
        "ndcg@all": quiet(sk.ndcg_score, true, score, **named),
    }
    for k in KS:
        want[f"ndcg@{k}"] = quiet(sk.ndcg_score, true, score, k=k, **named)
        want[f"dcg@{k}"] = quiet(sk.dcg_score, true, score, k=k, **named)
    defined = [i for i, row in enumerate(true) if 0 < row.sum() < len(row)]
    areas = [quiet(sk.roc_auc_score, true[i], score[i]) for i in defined]
    units = np.ones(problem.n) if weight is None else weight
    some = sum(units[defined])
    want["auc.samples"] = float(np.dot(areas, units[defined]) / some) if some else math.nan
    agree(ours(problem, list(want)), want)


@peers
@given(problem=problems())
def test_tie_free_rankings_also_agree_by_order(problem: Data) -> None:
    rng = np.random.default_rng(0)
    score = np.argsort(rng.random(problem.true.shape), axis=1) - 2.5
    found = evaluate(problem.true, score, metrics=["ndcg@all", "ndcg@3"])
    want = {
        "ndcg@all": quiet(sk.ndcg_score, problem.true, score, ignore_ties=True),
        "ndcg@3": quiet(sk.ndcg_score, problem.true, score, k=3, ignore_ties=True),
    }
    agree(dict(found), want)


def precision_recall_f(problem: Data, average: str, division: float) -> dict[str, float]:
    named = {"average": average, "zero_division": division, "sample_weight": problem.weight}
    pair = problem.true, problem.pred
    return {
        f"precision.{average}": quiet(sk.precision_score, *pair, **named),
        f"recall.{average}": quiet(sk.recall_score, *pair, **named),
        f"f1.{average}": quiet(sk.f1_score, *pair, **named),
        f"fbeta.{average}(beta=0.5)": quiet(sk.fbeta_score, *pair, beta=0.5, **named),
        f"fbeta.{average}(beta=2)": quiet(sk.fbeta_score, *pair, beta=2, **named),
    }


@every_division
@pytest.mark.parametrize("average", AVERAGES)
@peers
@given(problem=problems())
def test_sets(average: str, division: float, problem: Data) -> None:
    want = precision_recall_f(problem, average, division)
    agree(ours(problem, list(want), True, division), want)


@pytest.mark.parametrize("division", [0.0, 1.0])  # nan is refused by scikit-learn's
@pytest.mark.parametrize("average", AVERAGES)
@peers
@given(problem=problems())
def test_jaccard(average: str, division: float, problem: Data) -> None:
    named = {"average": average, "zero_division": division, "sample_weight": problem.weight}
    want = {f"jaccard.{average}": quiet(sk.jaccard_score, problem.true, problem.pred, **named)}
    agree(ours(problem, list(want), True, division), want)


@peers
@given(problem=problems())
def test_counts_of_cells(problem: Data) -> None:
    pair, named = (problem.true, problem.pred), {"sample_weight": problem.weight}
    columns = list(zip(problem.true.T, problem.pred.T, strict=True))
    want = {
        "hamming_loss": quiet(sk.hamming_loss, *pair, **named),
        "subset_accuracy": quiet(sk.accuracy_score, *pair, **named),
        "accuracy.macro": float(np.mean([quiet(sk.accuracy_score, *both, **named) for both in columns])),
        "mcc.macro": float(np.mean([quiet(sk.matthews_corrcoef, *both, **named) for both in columns])),
    }
    agree(ours(problem, list(want), True), want)
    for j, both in enumerate(columns):
        one = dataclasses.replace(problem, true=problem.true[:, [j]], pred=problem.pred[:, [j]])
        want = {"mcc.macro": quiet(sk.matthews_corrcoef, *both, **named)}
        units = np.ones(problem.n) if problem.weight is None else problem.weight
        if 0 < np.dot(units, both[0]) < units.sum():
            want["balanced_accuracy.macro"] = quiet(sk.balanced_accuracy_score, *both, **named)
        agree(ours(one, list(want), True), want)


@every_division
@pytest.mark.parametrize("form", ["csr", "csc", "lists"])
@peers
@given(problem=problems())
def test_forms_of_sets(form: str, division: float, problem: Data) -> None:
    assume(problem.true.any())
    n_labels = problem.true.shape[1] + 1 if form == "lists" else None  # pairs of two labels may be vectors

    def shaped(cells: Any) -> Any:
        if form == "lists":
            return [np.flatnonzero(row).tolist() for row in cells]
        return sp.csr_array(cells) if form == "csr" else sp.csc_array(cells)

    want = precision_recall_f(problem, "samples", division)
    found = evaluate(
        shaped(problem.true),
        y_pred=shaped(problem.pred),
        n_labels=n_labels,
        metrics=list(want),
        conventions=conventions(division),
        sample_weight=problem.weight,
    )
    agree(dict(found), want)


@every_form
@every_type
@peers
@given(data=st.data())
def test_curves(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    true, score, named = problem.true, problem.dense_score, {"sample_weight": problem.weight}
    pair = true, score
    averages = ("micro", "macro", "weighted")
    want = {f"ap.{a}": quiet(sk.average_precision_score, *pair, average=a, **named) for a in averages}
    agree(ours(problem, list(want)), want)
    want = {f"auc.{a}": quiet(sk.roc_auc_score, *pair, average=a, **named) for a in averages}
    of_labels = [quiet(sk.roc_auc_score, true[:, j], score[:, j], **named) for j in range(true.shape[1])]
    areas = np.array(of_labels)
    if not np.isfinite(areas).all():  # then scikit-learn's averages over labels are undefined
        support = (true.T if problem.weight is None else true.T * problem.weight).sum(axis=1)
        known, areas = np.isfinite(areas), np.nan_to_num(areas)
        want["auc.macro"] = float(np.mean(areas[known])) if known.any() else math.nan
        want["auc.weighted"] = (
            float(np.average(areas[known], weights=support[known])) if known.any() else math.nan
        )
    agree(ours(problem, list(want)), want)
    per_label = ours_by_label(problem)
    for j in range(true.shape[1]):
        value = quiet(sk.average_precision_score, true[:, j], score[:, j], **named)
        assert per_label["ap"][j] == pytest.approx(value, rel=1e-12, abs=1e-12)


@every_form
@peers
@given(data=st.data())
def test_decisions(form: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form))
    cells = (problem.dense_score > 0.25).astype(int)
    want = precision_recall_f(dataclasses.replace(problem, pred=cells), "micro", 0.0)
    found = evaluate(
        problem.true, problem.score, metrics=list(want), decision="threshold0.25", conventions="sklearn",
        sample_weight=problem.weight,
    )  # fmt: skip
    agree(dict(found), want)
