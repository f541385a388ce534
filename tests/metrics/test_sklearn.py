"""The scikit-learn conventions against scikit-learn itself, on densified data."""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.problems import Problem, free_problems, indicator, label_sets
from tests.relations import binary

pytestmark = pytest.mark.slow

sk: Any = pytest.importorskip("sklearn.metrics")

peers = settings(max_examples=50)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw ties, negative scores, stored zeros, unlisted labels, rows without labels and with all."""
    problem = binary(draw(free_problems(forms=("csr", "dense"), least_rows=1)), draw)
    assume(problem.n_labels > 1)
    arguments: dict[str, Any] = {"y_pred": draw(label_sets(problem.n_rows, problem.n_labels))}
    if problem.has("sample_weight"):
        arguments["sample_weight"] = [1.0, *problem.arguments["sample_weight"][1:]]
    return replace(problem, arguments=arguments)


def arrays(problem: Problem) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return truth, scores and sets as dense arrays, and the weights by name."""
    pred, scores = indicator(problem.arguments["y_pred"], problem.n_labels), csr_array(problem.y_score())
    true, sets = (matrix.toarray().astype(int) for matrix in (problem.y_true(), pred))
    return true, scores.toarray(), sets, {"sample_weight": problem.arguments.get("sample_weight")}


def quiet(function: Callable[..., Any], *args: Any, **named: Any) -> float:
    """Call a function of scikit-learn without its remarks on empty rows and labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(*args, **named))


INEXACT = ("mcc.macro",)  # scikit-learn's goes beyond -1 where weights are small


def check(problem: Problem, expected: dict[str, float], division: float = 0.0) -> None:
    problem = problem.with_arguments(conventions=f"sklearn,zero_division={division}")
    report = replace(problem, metrics=(*expected,)).evaluate()
    inexact = {name: expected.pop(name) for name in INEXACT if name in expected}
    values = dict(report)
    assert {name: values.pop(name) for name in inexact} == pytest.approx(inexact, abs=1e-9, nan_ok=True)
    assert values == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@peers
@given(problem=problems())
def test_rankings(problem: Problem) -> None:
    true, score, _, named = arrays(problem)
    expected = {
        "ranking_loss": quiet(sk.label_ranking_loss, true, score, **named),
        "coverage_error": quiet(sk.coverage_error, true, score, **named),
        "lrap": quiet(sk.label_ranking_average_precision_score, true, score, **named),
        "ndcg@all": quiet(sk.ndcg_score, true, score, **named),
    }
    for k in (1, 3, 50):
        expected[f"ndcg@{k}"] = quiet(sk.ndcg_score, true, score, k=k, **named)
        expected[f"dcg@{k}"] = quiet(sk.dcg_score, true, score, k=k, **named)
    for average in ("micro", "macro", "weighted"):
        area = quiet(sk.average_precision_score, true, score, average=average, **named)
        expected[f"ap.{average}"] = area
    defined = [i for i, row in enumerate(true) if 0 < row.sum() < len(row)]
    areas = [quiet(sk.roc_auc_score, true[i], score[i]) for i in defined]
    weights = np.array(named["sample_weight"] or [1.0] * len(true))[defined]
    expected["auc.samples"] = float(np.average(areas, weights=weights)) if weights.any() else math.nan
    check(problem, expected)


@pytest.mark.parametrize("average", ["samples", "micro", "macro", "weighted"])
@settings(peers, max_examples=100)
@given(problem=problems(), division=st.sampled_from([0.0, 1.0, math.nan]))
def test_sets(average: str, division: float, problem: Problem) -> None:
    true, _, pred, weights = arrays(problem)
    named = {"average": average, "zero_division": division, **weights}
    expected = {
        f"precision.{average}": quiet(sk.precision_score, true, pred, **named),
        f"recall.{average}": quiet(sk.recall_score, true, pred, **named),
        f"f1.{average}": quiet(sk.f1_score, true, pred, **named),
        f"fbeta.{average}(beta=0.5)": quiet(sk.fbeta_score, true, pred, beta=0.5, **named),
        f"fbeta.{average}(beta=2)": quiet(sk.fbeta_score, true, pred, beta=2, **named),
    }
    if not math.isnan(division):  # which scikit-learn refuses
        expected[f"jaccard.{average}"] = quiet(sk.jaccard_score, true, pred, **named)
    check(problem, expected, division)


@peers
@given(problem=problems())
def test_counts_of_cells(problem: Problem) -> None:
    true, _, pred, named = arrays(problem)
    columns = list(zip(true.T, pred.T, strict=True))
    expected = {
        "hamming_loss": quiet(sk.hamming_loss, true, pred, **named),
        "subset_accuracy": quiet(sk.accuracy_score, true, pred, **named),
        "accuracy.macro": float(np.mean([quiet(sk.accuracy_score, *both, **named) for both in columns])),
        "mcc.macro": float(np.mean([quiet(sk.matthews_corrcoef, *both, **named) for both in columns])),
    }
    weighing = true[np.array(named["sample_weight"] or [1.0] * len(true)) > 0]
    if (weighing.max(axis=0, initial=0) > weighing.min(axis=0, initial=1)).all():  # both classes
        balanced = [quiet(sk.balanced_accuracy_score, *both, **named) for both in columns]
        expected["balanced_accuracy.macro"] = float(np.mean(balanced))
    check(problem, expected)
