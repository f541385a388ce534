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
    """Draw ties, negative scores, stored zeros, unlisted labels, and rows with no or all labels."""
    problem = binary(draw(free_problems(forms=("csr", "dense"), least_rows=1)), draw)
    assume(problem.n_labels > 1)
    arguments: dict[str, Any] = {"y_pred": draw(label_sets(problem.n_rows, problem.n_labels))}
    if problem.has("sample_weight"):
        arguments["sample_weight"] = [1.0, *problem.arguments["sample_weight"][1:]]
    return replace(problem, arguments=arguments)


def arrays(problem: Problem) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return truth, scores and sets as dense arrays, and the weights by name."""
    pred = indicator(problem.arguments["y_pred"], problem.n_labels)
    scores = csr_array(problem.y_score())
    true = problem.y_true().toarray().astype(int)
    sets = pred.toarray().astype(int)
    weights = {"sample_weight": problem.arguments.get("sample_weight")}
    return true, scores.toarray(), sets, weights


def quiet(function: Callable[..., Any], *args: Any, **named: Any) -> float:
    """Call a function of scikit-learn without its warnings on empty rows and labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(*args, **named))


INEXACT = ("mcc.macro",)  # scikit-learn's goes beyond -1 where weights are small


def check(problem: Problem, expected: dict[str, float], division: float = 0.0) -> None:
    problem = problem.with_arguments(conventions=f"sklearn,zero_division={division}")
    report = replace(problem, metrics=(*expected,)).evaluate()
    assert {*report} == {*expected}
    for name, value in expected.items():
        relative = 1e-6 if name in INEXACT else 1e-12
        absolute = 1e-9 if name in INEXACT else 1e-12
        approximate = pytest.approx(value, rel=relative, abs=absolute, nan_ok=True)
        assert report[name] == approximate, name


@peers
@given(problem=problems())
def test_ranking_measures_are_those_of_sklearn(problem: Problem) -> None:
    true, score, _, named = arrays(problem)
    expected = {
        "ranking_loss": quiet(sk.label_ranking_loss, true, score, **named),
        "coverage_error": quiet(sk.coverage_error, true, score, **named),
        "lrap": quiet(sk.label_ranking_average_precision_score, true, score, **named),
        "ndcg@all": quiet(sk.ndcg_score, true, score, **named),
    }
    sizes = true.sum(axis=1) * (named["sample_weight"] or 1.0)
    expected["lwlrap"] = math.nan
    if sizes.any():
        lwlrap = quiet(sk.label_ranking_average_precision_score, true, score, sample_weight=sizes)
        expected["lwlrap"] = lwlrap
    for k in (1, 3, 50):
        expected[f"ndcg@{k}"] = quiet(sk.ndcg_score, true, score, k=k, **named)
        expected[f"dcg@{k}"] = quiet(sk.dcg_score, true, score, k=k, **named)
    for average in ("micro", "macro", "weighted"):
        area = quiet(sk.average_precision_score, true, score, average=average, **named)
        expected[f"ap.{average}"] = area
    defined = [i for i, row in enumerate(true) if 0 < row.sum() < len(row)]
    areas = [quiet(sk.roc_auc_score, true[i], score[i]) for i in defined]
    weights = np.array(named["sample_weight"] or [1.0] * len(true))[defined]
    expected["auc.samples"] = math.nan
    if weights.any():
        expected["auc.samples"] = float(np.average(areas, weights=weights))
    check(problem, expected)


@pytest.mark.parametrize("average", ["samples", "micro", "macro", "weighted"])
@settings(peers, max_examples=100)
@given(problem=problems(), division=st.sampled_from([0.0, 1.0, math.nan]))
def test_set_measures_are_those_of_sklearn(average: str, division: float, problem: Problem) -> None:
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
def test_measures_of_cells_are_those_of_sklearn(problem: Problem) -> None:
    true, _, pred, named = arrays(problem)

    def macro(function: Callable[..., Any]) -> float:
        columns = zip(true.T, pred.T, strict=True)
        return float(np.mean([quiet(function, y, h, **named) for y, h in columns]))

    expected = {
        "hamming_loss": quiet(sk.hamming_loss, true, pred, **named),
        "subset_accuracy": quiet(sk.accuracy_score, true, pred, **named),
        "accuracy.macro": macro(sk.accuracy_score),
        "mcc.macro": macro(sk.matthews_corrcoef),
    }
    weighted = true[np.array(named["sample_weight"] or [1.0] * len(true)) > 0]
    has_both_classes = weighted.max(axis=0, initial=0) > weighted.min(axis=0, initial=1)
    if has_both_classes.all():
        expected["balanced_accuracy.macro"] = macro(sk.balanced_accuracy_score)
    check(problem, expected)
