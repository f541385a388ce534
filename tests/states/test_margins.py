"""Margins: worked vectors, sums of any size, gaps in lists, and the theorems about effective scores."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.examples import V1_SCORES, V1_TRUTH
from xmleval import Running, evaluate
from xmleval.effectiveness import effectiveness, f1_bound, hamming_bound, threshold_error
from xmleval.numerics.exact import LARGE

NAMES = ["margin.samples", "margin.macro", "margin_share.samples", "margin_share.macro"]
WILD = [0.0, -0.0, 5e-324, -2.5e-310, 1e-300, 0.1, -7.0, 3.5, 1e16, -1e300, 1.7e308, -1.7e308]


def test_v1() -> None:
    report = evaluate(V1_TRUTH, V1_SCORES, metrics=NAMES, per_row=True, per_label=True)
    assert report.per_row()["margin.samples"] == pytest.approx([-0.1, -0.1], abs=1e-15)
    assert report.per_label()["margin"] == pytest.approx([math.nan] * 4 + [0.45], abs=1e-15, nan_ok=True)
    assert report.per_label()["support"].tolist() == [2, 0, 2, 0, 1]
    assert dict(report) == pytest.approx(dict(zip(NAMES, [-0.1, 0.45, 0.0, 1.0], strict=True)))
    assert report.undefined_labels == {"margin.macro": 4, "margin_share.macro": 4}
    assert effectiveness(report) == (False, True, False)


@given(
    st.lists(st.one_of(st.sampled_from(WILD), st.floats(allow_nan=False, allow_infinity=False)), min_size=1)
)
@example([math.inf, 1.0])
@example([-math.inf, 1.0])
@example([-math.inf, math.inf])
def test_means_are_exact_at_any_size(values: list[float]) -> None:
    """Margins of a row with one relevant label and a score of 0 for another; large ones count as infinite."""
    truth, scores = np.tile([1, 0], (len(values), 1)), np.stack([values, np.zeros(len(values))], axis=1)
    report = evaluate(truth, scores, metrics=NAMES[:1], running=Running(block_rows=2))
    large = [math.copysign(math.inf, value) for value in values if abs(value) >= LARGE]
    small = [int(Fraction(value) * 2**108) for value in values if abs(value) < LARGE]
    expected = float(Fraction(sum(small), len(values) << 108)) + sum(large)
    assert report[NAMES[0]] == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_infinite_scores_that_are_equal_are_level() -> None:
    truth, scores = np.array([[1, 0], [1, 0], [1, 0]]), np.array([[1, 0], [np.inf, np.inf], [np.inf, 0]])
    report = evaluate(truth, scores, metrics=NAMES[:1], per_row=True)
    assert report.per_row()["margin.samples"].tolist() == [1.0, 0.0, math.inf]
    assert json.loads(report.to_json())["values"] == {"margin.samples": "inf"}


def test_gaps_are_refused_in_rows_with_pairs() -> None:
    scores = sp.csr_array(V1_SCORES * np.array([[1], [0]]))
    for name in NAMES:
        needed = 'conventions="unlisted=..." or a score for every label'
        expected = f"row 1: scores of 0 of 5 labels; {name} needs {needed}$"
        with pytest.raises(ValueError, match=expected):
            evaluate(V1_TRUTH, scores, metrics=[name], running=Running(block_rows=1))
    report = evaluate(V1_TRUTH, scores, metrics="all", threads=1, running=Running(block_rows=1))
    assert {report.not_computed[name] for name in NAMES} == {
        'conventions="unlisted=..." or a score for every label'
    }
    report = evaluate(V1_TRUTH * [[1], [0]], scores, metrics=["margin.samples"])  # its row has no pairs
    assert report["margin.samples"] == pytest.approx(-0.1)
    assert report.undefined_rows == {"margin.samples": 1}


@st.composite
def effective(draw: st.DrawFn, by_label: bool) -> tuple[Any, Any]:
    """Draw truth and scores whose margins of rows, or of labels, are all positive."""
    rng = np.random.default_rng(draw(seeds))
    m, n = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    truth = (rng.random((m, n)) < rng.choice([0.2, 0.5, 0.8])).astype(int)
    scores = rng.integers(0, 4, (m, n)) / 4 + truth  # relevant ones in 1..1.75, others in 0..0.75
    scores += rng.normal(size=(1, n) if by_label else (m, 1)) * 10
    return truth, scores


@given(effective(by_label=False))
def test_label_wise_effective_scores_are_optimal(problem: tuple[Any, Any]) -> None:
    """Theorem 1."""
    truth, scores = problem
    names = ["ranking_loss", "lrap", "auc.samples", "margin_share.samples"]
    report = evaluate(truth, scores, metrics=[*names, "one_error", "coverage", "margin_share.macro"])
    assert effectiveness(report).label_wise
    size = truth.sum(axis=1)
    if np.any((size > 0) & (size < truth.shape[1])):
        assert [report[name] for name in names] == [0.0, 1.0, 1.0, 1.0]
    assert report["one_error"] == np.mean(size == 0)
    if size.any():
        assert report["coverage"] == pytest.approx((size[size > 0] - 1).mean(), abs=1e-15)


@given(effective(by_label=True))
def test_instance_wise_effective_scores_are_optimal(problem: tuple[Any, Any]) -> None:
    """Theorem 2."""
    truth, scores = problem
    report = evaluate(truth, scores, metrics=["auc.macro", "margin_share.samples", "margin_share.macro"])
    assert effectiveness(report).instance_wise
    assert report["auc.macro"] == 1.0 or not np.any((truth.min(0) == 0) & (truth.max(0) == 1))


@given(data=st.data())
def test_threshold_errors_bound_measures_of_sets(data: st.DataObject) -> None:
    """Theorems 4 and 5."""
    for axis, f1, by_label in ((1, "f1.samples", False), (0, "f1.macro", True)):
        truth, scores = data.draw(effective(by_label))
        rng = np.random.default_rng(data.draw(seeds))
        shape = [1 if a == axis else size for a, size in enumerate(truth.shape)]
        predicted = (scores > np.quantile(scores, rng.random()) + rng.normal(size=shape)).astype(int)
        report = evaluate(truth, y_pred=predicted, metrics=[f1, "hamming_loss"])
        errors = threshold_error(truth.sum(axis), predicted.sum(axis))
        assert report["hamming_loss"] == pytest.approx(hamming_bound(errors, truth.size), abs=1e-15)
        assert report[f1] >= f1_bound(truth.sum(axis), errors) - 1e-15


def test_theorem_4_as_printed_is_false_for_micro_f1() -> None:
    """The bounds of F1 by rows and of the Hamming loss are reached here."""
    truth, predicted = np.zeros((2, 150), int), np.zeros((2, 150), int)
    truth[0, 0] = predicted[0, 0] = predicted[1, 1] = 1
    truth[1, 1:101] = 1
    errors = threshold_error(truth.sum(1), predicted.sum(1))
    assert errors.tolist() == [0, 99]
    assert f1_bound([1, 100], errors) == pytest.approx(0.5099, abs=5e-5)
    report = evaluate(truth, y_pred=predicted, metrics=["f1.micro", "f1.samples", "hamming_loss"])
    assert report["f1.micro"] == pytest.approx(0.0388, abs=5e-5)
    assert report["f1.samples"] == pytest.approx(f1_bound([1, 100], errors))
    assert report["hamming_loss"] == hamming_bound(errors, truth.size)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: f1_bound(1, -1), r"^errors: .* is not a vector of counts"),
    (lambda: f1_bound([1, 2, 3], [1]), "^errors: length 1 does not match length 3 of n_relevant$"),
    (lambda: hamming_bound([5, 5], 3), "^errors: sum 10 exceeds n_cells=3"),
])  # fmt: skip
def test_no_counts_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
