"""Intervals: values without a jackknife group are those of the other rows, and what follows from them."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.limits import small_limits
from tests.problems import CLUSTERS, SPECS, Problem, groups_of_clusters, law, problems
from tests.routes import agree, usual_tolerance
from xmleval import evaluate


@pytest.mark.slow
@law
@given(problem=problems(least_rows=2), data=st.data())
def test_replicates_are_the_values_of_the_other_rows(problem: Problem, data: st.DataObject) -> None:
    n_rows = problem.n_rows
    names = data.draw(st.lists(st.sampled_from(["a", "b", "c", 7]), min_size=n_rows, max_size=n_rows))
    problem = problem.without("per_row", "bounds", "row_groups")
    problem = problem.with_arguments(confidence=0.9, **{CLUSTERS: names})
    groups = groups_of_clusters(names, n_rows)
    weight = np.array(problem.arguments.get("sample_weight", np.ones(n_rows)))
    with small_limits() if data.draw(st.booleans()) else nullcontext():
        replicates = problem.evaluate().results.replicates
    left = [np.flatnonzero(groups != group) for group in np.unique(groups[weight > 0])]
    tolerance = usual_tolerance(problem)
    plain = problem.without("confidence", CLUSTERS, "label_groups")
    for place, rows in enumerate(left if len(left) > 1 else ()):
        values = plain.take(rows.tolist()).evaluate()
        wrong = [
            (name, of_groups[place], values[name])
            for name, of_groups in replicates.items()
            if not agree(float(of_groups[place]), values[name], tolerance((name,)))
            and not (math.isnan(of_groups[place]) and math.isnan(values[name]))
        ]
        assert wrong == []


def test_most_measures_have_replicates() -> None:
    table = [spec.metric for spec in SPECS.values()]
    rough = {f"{m.name}.{average}" for m in table for average in m.unsmooth}
    at_points = {f"{m.name}.{average}" for m in table if m.asks and m.threshold for average in m.averages}
    assert rough - at_points == {
        "label_coverage.", "label_coverage.macro", "label_diversity.", "margin.macro",
        "margin_share.macro", "peak_f1.macro", "peak_f1.micro", "pred_coverage.", "proportional_diversity.",
    }  # fmt: skip


N_ROWS = 300
rng = np.random.default_rng(4)
LISTED = rng.random((N_ROWS, 8)) < [1, 1, 1, 0.4, 0.4, 0.1, 0, 1]
TRUTH = (rng.random((N_ROWS, 8)) < [0.5, 0.05, 1, 0.5, 0.02, 0.3, 0.2, 0]).astype(int)


@pytest.mark.parametrize("unlisted", ["below", 0.75])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("small", [False, True])
def test_labels_with_few_and_with_many_scores(dtype: Any, unlisted: Any, small: bool) -> None:
    """Labels have from none to 150 scores of each kind, many of which are equal."""
    values = (rng.integers(1, 9, LISTED.sum()) / 8).astype(dtype)
    for value in (np.inf, -np.inf, -0.0):
        values[rng.random(values.size) < 0.02] = value
    scores = sp.csr_array((values, np.nonzero(LISTED)), shape=LISTED.shape)
    metrics = ["auc.macro", "auc.weighted", "ap.macro", "ap.geometric", "f1.macro@2"]
    options: dict[str, Any] = {"metrics": metrics, "conventions": {"unlisted": unlisted}}
    clusters = rng.integers(0, 9, N_ROWS)
    groups = groups_of_clusters(clusters, N_ROWS)
    with small_limits() if small else nullcontext():
        report = evaluate(TRUTH, scores, confidence=0.9, clusters=clusters, **options)
    for place, group in enumerate(np.unique(groups)):
        others = evaluate(TRUTH[groups != group], scores[groups != group], **options)
        for name, values in report.results.replicates.items():
            assert agree(float(values[place]), others[name], None), name


def test_standard_error_of_a_mean() -> None:
    scores = rng.random(TRUTH.shape)
    clusters = np.arange(N_ROWS) % 7
    report = evaluate(TRUTH, scores, metrics="p@3", confidence=0.95, per_row=True, clusters=clusters)
    rows, groups = report.per_row()["p@3"], groups_of_clusters(clusters, N_ROWS)
    without = np.array([rows[groups != group].mean() for group in np.unique(groups)])
    error = math.sqrt((without.size - 1) / without.size * ((without - without.mean()) ** 2).sum())
    assert report.standard_errors["p@3"] == pytest.approx(error, rel=1e-12)
    lower, upper = report.confidence["p@3"]
    assert (lower + upper) / 2 == pytest.approx(report["p@3"], rel=1e-12)


def test_intervals_are_cut_to_what_is_possible_and_absent_where_undefined() -> None:
    truth, scores, clusters = np.eye(2)[[0] * 39 + [1]], np.tile([1.0, 0.0], (40, 1)), np.arange(40) % 2
    options: dict[str, Any] = {"metrics": ["p@1", "r@1"], "conventions": "empty=skip", "confidence": 0.95}
    report = evaluate(truth, scores, clusters=clusters, **options)
    assert report.confidence["p@1"][0] < 0.95
    assert report.confidence["p@1"][1] == 1.0
    truth[::2] = 0
    # without one cluster no row counts
    assert evaluate(truth, scores, clusters=clusters, **options).confidence == {}
    assert evaluate(truth * 0, scores, clusters=clusters, **options).confidence == {}
    report = evaluate(np.eye(40), np.eye(40), metrics=["p@1", "p@3"], confidence=0.95)
    assert report.confidence == {}
    assert "standard error not known: p@1, p@3" in str(report)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"confidence": 95}, "confidence: 95 is not a probability"),
    ({"clusters": [1, 2]}, "give confidence="),
    ({"confidence": 0.9, "clusters": [1, 2]}, "clusters: shape (2,) does not match 300 rows"),
    ({"confidence": 0.9, "clusters": [*range(299), math.nan]}, "nan is neither"),
    ({"confidence": 0.9, "clusters": np.full(300, 0.5)}, "clusters: row 0: 0.5 is neither a string"),
    ({"confidence": 0.9, "clusters": [*range(299), 2**70]}, "is neither a string nor an integer of 64 bits"),
    ({"confidence": 0.9, "metrics": "f1.macro@1", "memory": 100}, "confidence: tables of 32 groups"),
])  # fmt: skip
def test_wrong_arguments_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        evaluate(TRUTH, rng.random(TRUTH.shape), **{"metrics": "p@1"} | arguments)
    assert message in str(refused.value)
