"""Confidence intervals: replicates are the values of the rows outside a jackknife group."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tests.limits import small_limits
from tests.problems import CLUSTERS, SPECS, Problem, groups_of_clusters, law, problems
from tests.routes import agree, usual_tolerance
from xmleval import evaluate
from xmleval.statistics import jackknife


def limits(is_small: bool) -> AbstractContextManager[None]:
    if is_small:
        return small_limits()
    return nullcontext()


@pytest.mark.slow
@law
@given(problem=problems(least_rows=2), data=st.data())
def test_replicates_are_the_values_of_the_other_rows(problem: Problem, data: st.DataObject) -> None:
    n_rows = problem.n_rows
    cluster = st.sampled_from(["a", "b", "c", 7])
    clusters = data.draw(st.lists(cluster, min_size=n_rows, max_size=n_rows))
    problem = problem.without("per_row", "bounds", "row_groups")
    problem = problem.with_arguments(confidence=0.9, **{CLUSTERS: clusters})
    groups = groups_of_clusters(clusters, n_rows)
    weight = np.array(problem.arguments.get("sample_weight", np.ones(n_rows)))
    with limits(data.draw(st.booleans())):
        replicates = problem.evaluate().results.replicates
    weighted_groups = np.unique(groups[weight > 0])
    if weighted_groups.size < 2:
        return
    tolerance = usual_tolerance(problem)
    plain = problem.without("confidence", CLUSTERS, "label_groups")
    for position, group in enumerate(weighted_groups):
        rows = np.flatnonzero(groups != group)
        report = plain.take(rows.tolist()).evaluate()
        wrong = []
        for name, values in replicates.items():
            replicate = float(values[position])
            expected = report[name]
            if math.isnan(replicate) and math.isnan(expected):
                continue
            if not agree(replicate, expected, tolerance((name,))):
                wrong.append((name, replicate, expected))
        assert wrong == []


def test_replicates_are_defined_for_most_measures() -> None:
    unsmooth = set()
    at_curve_points = set()
    for spec in SPECS.values():
        metric = spec.metric
        unsmooth |= {f"{metric.name}.{average}" for average in metric.unsmooth}
        if metric.curve_query and metric.threshold:
            at_curve_points |= {f"{metric.name}.{average}" for average in metric.averages}
    assert unsmooth - at_curve_points == {
        "label_coverage.",
        "label_coverage.macro",
        "label_diversity.",
        "margin.macro",
        "margin_share.macro",
        "peak_f1.macro",
        "peak_f1.micro",
        "pred_coverage.",
        "proportional_diversity.",
    }


N_ROWS = 300
RNG = np.random.default_rng(4)  # of the data that all tests have
SHARE_LISTED = [1, 1, 1, 0.4, 0.4, 0.1, 0, 1]
SHARE_RELEVANT = [0.5, 0.05, 1, 0.5, 0.02, 0.3, 0.2, 0]
LISTED = RNG.random((N_ROWS, 8)) < SHARE_LISTED
TRUTH = (RNG.random((N_ROWS, 8)) < SHARE_RELEVANT).astype(int)


@pytest.mark.parametrize("unlisted", ["below", 0.75])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("small", [False, True])
def test_replicates_of_labels_with_few_and_many_scores(
    dtype: Any, unlisted: Any, small: bool
) -> None:
    """Labels have 0 to 150 scores per kind, with many ties."""
    rng = np.random.default_rng(5)
    values = (rng.integers(1, 9, LISTED.sum()) / 8).astype(dtype)
    for value in (np.inf, -np.inf, -0.0):
        is_replaced = rng.random(values.size) < 0.02
        values[is_replaced] = value
    scores = sp.csr_array((values, np.nonzero(LISTED)), shape=LISTED.shape)
    metrics = ["auc.macro", "auc.weighted", "ap.macro", "ap.geometric", "f1.macro@2"]
    if dtype == np.float64:  # others have a table of all their values, which takes long
        metrics += ["auc.micro", "ap.micro"]
    options: dict[str, Any] = {"metrics": metrics, "conventions": {"unlisted": unlisted}}
    clusters = rng.integers(0, 9, N_ROWS)
    groups = groups_of_clusters(clusters, N_ROWS)
    with limits(small):
        report = evaluate(TRUTH, scores, confidence=0.9, clusters=clusters, **options)
    for position, group in enumerate(np.unique(groups)):
        is_outside = groups != group
        expected = evaluate(TRUTH[is_outside], scores[is_outside], **options)
        for name, replicates in report.results.replicates.items():
            # averages of precision may differ in the last bit
            tolerance = 1e-15 if name.startswith("ap.") else None
            assert agree(float(replicates[position]), expected[name], tolerance), name


def test_standard_error_of_a_mean() -> None:
    scores = np.random.default_rng(6).random(TRUTH.shape)
    clusters = np.arange(N_ROWS) % 7
    report = evaluate(
        TRUTH,
        scores,
        metrics="p@3",
        confidence=0.95,
        per_row=True,
        clusters=clusters,
    )
    row_values = report.per_row()["p@3"]
    groups = groups_of_clusters(clusters, N_ROWS)
    replicates = np.array([row_values[groups != group].mean() for group in np.unique(groups)])
    n_groups = replicates.size
    squares = (replicates - replicates.mean()) ** 2
    error = math.sqrt((n_groups - 1) / n_groups * squares.sum())
    assert report.standard_errors["p@3"] == pytest.approx(error, rel=1e-12)
    lower, upper = report.confidence["p@3"]
    assert (lower + upper) / 2 == pytest.approx(report["p@3"], rel=1e-12)


def test_intervals_are_cut_to_possible_values_and_absent_where_undefined() -> None:
    truth = np.eye(2)[[0] * 39 + [1]]
    scores = np.tile([1.0, 0.0], (40, 1))
    clusters = np.arange(40) % 2
    options: dict[str, Any] = {
        "metrics": ["p@1", "r@1"],
        "conventions": "empty=skip",
        "confidence": 0.95,
    }
    report = evaluate(truth, scores, clusters=clusters, **options)
    lower, upper = report.confidence["p@1"]
    assert lower < 0.95
    assert upper == 1.0
    truth[::2] = 0
    # without one cluster no row counts
    assert evaluate(truth, scores, clusters=clusters, **options).confidence == {}
    assert evaluate(truth * 0, scores, clusters=clusters, **options).confidence == {}
    report = evaluate(np.eye(40), np.eye(40), metrics=["p@1", "p@3"], confidence=0.95)
    assert report.confidence == {}
    assert "standard error not known: p@1, p@3" in str(report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"confidence": 95},
            "confidence: 95 is not a probability",
        ),
        (
            {"clusters": [1, 2]},
            "give confidence=",
        ),
        (
            {"confidence": 0.9, "clusters": [1, 2]},
            "clusters: shape (2,) does not match 300 rows",
        ),
        (
            {"confidence": 0.9, "clusters": [*range(299), math.nan]},
            "nan is neither",
        ),
        (
            {"confidence": 0.9, "clusters": np.full(300, 0.5)},
            "clusters: row 0: 0.5 is neither a string",
        ),
        (
            {"confidence": 0.9, "clusters": [*range(299), 2**70]},
            "is neither a string nor an integer of 64 bits",
        ),
        (
            {"confidence": 0.9, "metrics": "f1.macro@1", "memory": 100},
            "confidence: tables of 32 groups",
        ),
    ],
)
def test_intervals_refuse_wrong_arguments_by_name(arguments: dict[str, Any], message: str) -> None:
    options = {"metrics": "p@1", **arguments}
    with pytest.raises(ValueError) as refused:
        evaluate(TRUTH, np.ones(TRUTH.shape), **options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("replicates", "error", "p"),
    [
        ([], math.nan, math.nan),
        ([0.5], math.nan, math.nan),
        ([0.5, 0.5], 0.0, 0.0),
        ([0.25, 0.75], 0.25, 2 * scipy.stats.t.sf(2.0, 1)),
        ([0.25, math.nan], math.nan, math.nan),
        ([0.25, math.inf], math.nan, math.nan),
    ],
)
def test_standard_error_needs_two_groups_of_rows(
    replicates: list[float], error: float, p: float
) -> None:
    values = np.array(replicates)
    assert jackknife.standard_error(values) == pytest.approx(error, nan_ok=True)
    assert jackknife.difference_p(0.5, values) == pytest.approx(p, nan_ok=True)
    assert (jackknife.estimate(0.5, values, 0.95) is None) == math.isnan(error)
