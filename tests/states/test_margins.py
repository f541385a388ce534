"""Margins: a worked example, exact means, gaps in lists, and theorems on effective scores."""

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
from xmleval import Evaluator, Running, evaluate
from xmleval.effectiveness import effectiveness, f1_bound, hamming_bound, threshold_error
from xmleval.numerics.exact import LARGE

NAMES = ["margin.samples", "margin.macro", "margin_share.samples", "margin_share.macro"]
WILD = [0.0, -0.0, 5e-324, -2.5e-310, 1e-300, 0.1, -7.0, 3.5, 1e16, -1e300, 1.7e308, -1.7e308]


def test_margins_of_the_worked_example() -> None:
    report = evaluate(V1_TRUTH, V1_SCORES, metrics=NAMES, per_row=True, per_label=True)
    row_margins = [-0.1, -0.1]
    label_margins = [math.nan] * 4 + [0.45]
    values = {
        "margin.samples": -0.1,
        "margin.macro": 0.45,
        "margin_share.samples": 0.0,
        "margin_share.macro": 1.0,
    }
    by_label = report.per_label()
    assert report.per_row()["margin.samples"] == pytest.approx(row_margins, abs=1e-15)
    assert by_label["margin"] == pytest.approx(label_margins, abs=1e-15, nan_ok=True)
    assert by_label["support"].tolist() == [2, 0, 2, 0, 1]
    assert dict(report) == pytest.approx(values)
    assert report.undefined_labels == {"margin.macro": 4, "margin_share.macro": 4}
    assert effectiveness(report) == (False, True, False)


finite_values = st.one_of(
    st.sampled_from(WILD),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(st.lists(finite_values, min_size=1))
@example([math.inf, 1.0])
@example([-math.inf, 1.0])
@example([-math.inf, math.inf])
def test_margin_mean_is_exact_at_any_size(values: list[float]) -> None:
    """Each row has a relevant label and another one with score 0; large margins are infinite."""
    n_rows = len(values)
    truth = np.tile([1, 0], (n_rows, 1))
    scores = np.stack([values, np.zeros(n_rows)], axis=1)
    report = evaluate(truth, scores, metrics=["margin.samples"], running=Running(block_rows=2))
    infinities = [math.copysign(math.inf, value) for value in values if abs(value) >= LARGE]
    fixed_point = [int(Fraction(value) * 2**108) for value in values if abs(value) < LARGE]
    mean = Fraction(sum(fixed_point), n_rows << 108)
    expected = float(mean) + sum(infinities)
    assert report["margin.samples"] == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_margin_of_equal_infinite_scores_is_zero() -> None:
    truth = np.array([[1, 0], [1, 0], [1, 0]])
    scores = np.array([[1, 0], [np.inf, np.inf], [np.inf, 0]])
    report = evaluate(truth, scores, metrics=["margin.samples"], per_row=True)
    assert report.per_row()["margin.samples"].tolist() == [1.0, 0.0, math.inf]
    assert json.loads(report.to_json())["values"] == {"margin.samples": "inf"}


def test_margins_refuse_unlisted_labels_in_rows_with_pairs() -> None:
    scores = sp.csr_array(V1_SCORES * np.array([[1], [0]]))
    running = Running(block_rows=1)
    needed = 'conventions="unlisted=..." or a score for every label'
    for name in NAMES:
        message = f"row 1: scores of 0 of 5 labels; {name} needs {needed}$"
        with pytest.raises(ValueError, match=message):
            evaluate(V1_TRUTH, scores, metrics=[name], running=running)
    report = evaluate(V1_TRUTH, scores, metrics="all", threads=1, running=running)
    assert {report.not_computed[name] for name in NAMES} == {needed}
    # its row has no pairs
    report = evaluate(V1_TRUTH * [[1], [0]], scores, metrics=["margin.samples"])
    assert report["margin.samples"] == pytest.approx(-0.1)
    assert report.undefined_rows == {"margin.samples": 1}


@st.composite
def effective(draw: st.DrawFn, by_label: bool) -> tuple[Any, Any]:
    """Draw truth and scores whose margins of rows, or of labels, are all positive."""
    rng = np.random.default_rng(draw(seeds))
    n_rows = draw(st.integers(1, 7))
    n_labels = draw(st.integers(1, 7))
    shape = (n_rows, n_labels)
    uniform = rng.random(shape)
    density = rng.choice([0.2, 0.5, 0.8])
    truth = (uniform < density).astype(int)
    scores = rng.integers(0, 4, shape) / 4 + truth  # relevant ones in 1..1.75, others in 0..0.75
    shift_shape = (1, n_labels) if by_label else (n_rows, 1)
    scores += rng.normal(size=shift_shape) * 10
    return truth, scores


@given(effective(by_label=False))
def test_label_wise_effective_scores_are_optimal(problem: tuple[Any, Any]) -> None:
    """Theorem 1."""
    truth, scores = problem
    optimum = {
        "ranking_loss": 0.0,
        "lrap": 1.0,
        "auc.samples": 1.0,
        "margin_share.samples": 1.0,
    }
    metrics = [*optimum, "one_error", "coverage", "margin_share.macro"]
    report = evaluate(truth, scores, metrics=metrics)
    assert effectiveness(report).label_wise
    n_relevant = truth.sum(axis=1)
    has_relevant = n_relevant > 0
    has_irrelevant = n_relevant < truth.shape[1]
    if np.any(has_relevant & has_irrelevant):
        assert {name: report[name] for name in optimum} == optimum
    assert report["one_error"] == np.mean(~has_relevant)
    if has_relevant.any():
        coverage = (n_relevant[has_relevant] - 1).mean()
        assert report["coverage"] == pytest.approx(coverage, abs=1e-15)


@given(effective(by_label=True))
def test_instance_wise_effective_scores_are_optimal(problem: tuple[Any, Any]) -> None:
    """Theorem 2."""
    truth, scores = problem
    metrics = ["auc.macro", "margin_share.samples", "margin_share.macro"]
    report = evaluate(truth, scores, metrics=metrics)
    assert effectiveness(report).instance_wise
    has_pairs = (truth.min(axis=0) == 0) & (truth.max(axis=0) == 1)
    if has_pairs.any():
        assert report["auc.macro"] == 1.0


@given(data=st.data())
def test_threshold_errors_bound_measures_of_sets(data: st.DataObject) -> None:
    """Theorems 4 and 5."""
    for axis, f1, by_label in ((1, "f1.samples", False), (0, "f1.macro", True)):
        truth, scores = data.draw(effective(by_label))
        rng = np.random.default_rng(data.draw(seeds))
        shape = [*truth.shape]
        shape[axis] = 1
        quantile = np.quantile(scores, rng.random())
        thresholds = quantile + rng.normal(size=shape)
        predicted = (scores > thresholds).astype(int)
        report = evaluate(truth, y_pred=predicted, metrics=[f1, "hamming_loss"])

        n_relevant = truth.sum(axis)
        errors = threshold_error(n_relevant, predicted.sum(axis))
        largest_loss = hamming_bound(errors, truth.size)
        assert report["hamming_loss"] == pytest.approx(largest_loss, abs=1e-15)
        assert report[f1] >= f1_bound(n_relevant, errors) - 1e-15


def test_f1_bound_of_theorem_4_is_false_for_micro_f1() -> None:
    """The theorem claims it as printed; the bounds of F1 by rows and Hamming loss are reached."""
    truth = np.zeros((2, 150), int)
    predicted = np.zeros((2, 150), int)
    truth[0, 0] = 1
    predicted[0, 0] = 1
    truth[1, 1:101] = 1
    predicted[1, 1] = 1
    errors = threshold_error(truth.sum(1), predicted.sum(1))
    bound = f1_bound([1, 100], errors)
    assert errors.tolist() == [0, 99]
    assert bound == pytest.approx(0.5099, abs=5e-5)
    report = evaluate(truth, y_pred=predicted, metrics=["f1.micro", "f1.samples", "hamming_loss"])
    assert report["f1.micro"] == pytest.approx(0.0388, abs=5e-5)
    assert report["f1.samples"] == pytest.approx(bound)
    assert report["hamming_loss"] == hamming_bound(errors, truth.size)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: f1_bound(1, -1),
            r"^errors: .* is not a vector of counts",
        ),
        (
            lambda: f1_bound([1, 2, 3], [1]),
            "^errors: length 1 does not match length 3 of n_relevant$",
        ),
        (
            lambda: hamming_bound([5, 5], 3),
            "^errors: sum 10 exceeds n_cells=3",
        ),
    ],
)
def test_bounds_refuse_errors_that_are_no_counts(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_score_of_unlisted_labels_has_the_type_of_merged_scores() -> None:
    listed = sp.csr_array(np.array([[0.9, 0.0], [0.4, 0.0], [0.0, 0.7]]))
    first, second = (
        Evaluator("margin.macro", n_labels=2, conventions="unlisted=0.1") for _ in range(2)
    )
    second.update(np.array([[1, 0], [0, 1], [1, 0]]), listed)
    assert first.merge(second).compute()["margin.macro"] == np.mean([0.1 - 0.4, 0.1 - 0.7])


def test_large_scores_of_rows_without_weight_do_not_count_as_infinite() -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    scores = np.array([[0.9, 0.1, 0.2], [0.1, 1e30, 0.2], [-1e30, 0.5, 0.25]])
    for weight, expected in (
        ([1, 0, 0], 0.7),
        ([1, 0, 3], (0.7 - 3 * 0.25) / 4),
        ([1, 1, 1], math.inf),
        ([0, 5, 1], math.inf),
    ):
        options: dict[str, Any] = {"metrics": "margin.samples", "sample_weight": weight}
        assert evaluate(truth, scores, **options)["margin.samples"] == pytest.approx(expected)


def test_threshold_errors_and_bounds_take_counts_of_any_form() -> None:
    """Sums of matrices of SciPy have two dimensions."""
    counts = [3, 0, 2]
    for form in (counts, np.array([counts]), np.array([counts]).T, np.array(counts, np.uint8)):
        assert threshold_error(form, [1, 1, 1]).tolist() == [2, 1, 1]
        assert threshold_error(1, form).tolist() == [2, 1, 1]
        assert f1_bound(form, [1, 0, 3]) == pytest.approx((4 / 5 + 0 + 0) / 3, rel=1e-15)
        assert hamming_bound(form, n_cells=10) == 0.5
    assert hamming_bound(counts, n_cells=5) == 1.0
    assert f1_bound([1, 100], 0) == 1.0
    assert threshold_error(2**52, 0) == 2**52


@pytest.mark.parametrize(
    ("relevant", "predicted", "message"),
    [
        ([[1, 1], [1, 1]], 1, "n_relevant: shape (2, 2) is not a vector"),
        ([1, 2], [1, 2, 3], "n_predicted: length 3 does not match length 2 of n_relevant"),
        ([], [], "n_relevant: [] is not a vector of counts (integers >= 0)"),
        (1, [1.0], "n_predicted: [1.0] is not a vector of counts (integers >= 0)"),
        ([1], [True], "n_predicted: [True] is not a vector of counts (integers >= 0)"),
        ([0, -1], 1, "n_relevant: [0, -1] is not a vector of counts (integers >= 0)"),
        (2**52 + 1, 1, "n_relevant: count 4503599627370497 is more than 2^52"),
    ],
)
def test_threshold_error_refuses_by_argument(relevant: Any, predicted: Any, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        threshold_error(relevant, predicted)
    assert str(refused.value) == message


def test_hamming_bound_refuses_more_errors_than_cells() -> None:
    with pytest.raises(ValueError, match="errors: sum 6 exceeds n_cells=5"):
        hamming_bound([3, 3], n_cells=5)
    with pytest.raises(ValueError, match="n_cells: "):
        hamming_bound([0], n_cells=0)


@pytest.mark.parametrize("cells", ["none", "exclude", "unjudged", "judged"])
def test_margins_leave_out_rows_without_weight(cells: str) -> None:
    rng = np.random.default_rng(12)
    shape = (9, 5)
    truth = (rng.random(shape) < 0.5).astype(int)
    scores = rng.integers(-8, 9, shape) / 8
    weight = rng.choice([0.0, 0.5, 2.0], 9)
    given = (rng.random(shape) < 0.3).astype(int)
    options: dict[str, Any] = {"metrics": NAMES, "per_label": True}
    rows = weight > 0
    sets: dict[str, Any] = (
        {} if cells == "none" else {cells: given if cells != "judged" else 1 - given}
    )
    counted = {name: matrix[rows] for name, matrix in sets.items()}
    expected = evaluate(truth[rows], scores[rows], sample_weight=weight[rows], **options, **counted)
    for block_rows in (None, 2):
        running = Running(block_rows=block_rows)
        report = evaluate(truth, scores, sample_weight=weight, running=running, **options, **sets)
        assert dict(report) == dict(expected)
        assert report.undefined_labels == expected.undefined_labels
        margins = expected.per_label()["margin"]
        np.testing.assert_array_equal(report.per_label()["margin"], margins)
        is_seen = (given == 0)[rows] if sets else np.ones(shape, bool)[rows]
        for label in range(shape[1]):
            seen = is_seen[:, label]
            is_relevant = truth[rows][seen, label] == 1
            column = scores[rows][seen, label]
            if is_relevant.all() or not is_relevant.any():
                assert math.isnan(margins[label])
            else:
                assert margins[label] == column[is_relevant].min() - column[~is_relevant].max()


@pytest.mark.parametrize(
    ("size", "is_infinite"), [(2.0**80, True), (math.nextafter(2.0**80, 0.0), False)]
)
def test_margins_are_infinite_from_2_to_the_power_of_80_on(size: float, is_infinite: bool) -> None:
    report = evaluate(np.eye(2), np.eye(2) * size, metrics=["margin.samples", "margin.macro"])
    value = math.inf if is_infinite else size
    assert [*report.values()] == [value, value]
    noted = [note.partition(":")[0] for note in report.notes]
    assert noted == (["margin.samples", "margin.macro"] if is_infinite else [])
