"""Calibration against code of its authors and libraries, and refused scores."""

import itertools
import json
import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.oracles import calibration as oracle
from xmleval import evaluate
from xmleval.kernels.calibrating import exp_of, log_of
from xmleval.view.pairs import sigmoid

NAMES = ["ece", "ece_over", "ece_under", "ace", "brier", "log_loss"]


def sample(seed: int, m: int = 40, n: int = 9) -> tuple[Any, Any]:
    """Return truth that scores overstate, with ties and scores of 0 and 1."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((m, n)), rng.integers(1, 5))
    return (rng.random((m, n)) < scores**2).astype(np.int8), scores


def leading(truth: Any, scores: Any, k: int) -> tuple[Any, Any]:
    """Return scores and hits of the first k labels, row by row."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    leading_scores = np.take_along_axis(scores, order, 1).ravel()
    hits = np.take_along_axis(truth, order, 1).ravel()
    return leading_scores, hits


def authors_gaps(scores: Any, hits: Any, bins: int) -> tuple[Any, Any]:
    """Return gaps of bins and their shares of the pairs, as in the code of Ullah et al. 2025."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    edges[-1] = 1.1
    bin_of = np.digitize(scores, edges) - 1
    gaps = []
    shares = []
    for b in np.unique(bin_of):
        inside = bin_of == b
        gaps.append(hits[inside].mean() - scores[inside].mean())
        shares.append(inside.mean())
    return np.array(gaps), np.array(shares)


def authors_ace(scores: Any, hits: Any, bins: int) -> float:
    """Return the mean gap of bins of equal mass, as in the same code but for rounding of cuts."""
    order = np.argsort(scores)
    cuts = np.arange(bins + 1) * scores.size // bins
    parts = [order[start:stop] for start, stop in itertools.pairwise(cuts)]
    gaps = [abs(hits[part].sum() - scores[part].sum()) for part in parts]
    return float(sum(gaps) / scores.size)


SIZES = [(15, 1), (10, 3), (15, 5), (1, 2), (29, 4), (7, 6), (2, 3), (33, 6)]  # bins and k


def test_calibration_errors_are_those_of_the_code_of_the_authors() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 7)
    for bins, k in SIZES:
        truth = rng.integers(0, 2, (84, 6))
        scores = rng.random((84, 6))
        scores[:, :1][rng.random((84, 1)) < 0.1] = 1.0
        names = [f"{name}(bins={bins})@{k}" for name in NAMES[:4]]
        parts = evaluate(truth, scores, metrics=names, row_groups=groups).row_groups
        for group in range(12):
            rows = slice(7 * group, 7 * group + 7)
            first, hits = leading(truth[rows], scores[rows], k)
            gaps, shares = authors_gaps(first, hits, bins)
            expected = [
                (abs(gaps) * shares).sum(),
                (np.maximum(-gaps, 0) * shares).sum(),
                (np.maximum(gaps, 0) * shares).sum(),
            ]
            *values, ace = parts[str(group)].values()
            np.testing.assert_allclose(values, expected, atol=1e-12)
            has_ties = np.unique(first).size < first.size
            if not has_ties:  # their order of ties is undefined
                assert math.isclose(ace, authors_ace(first, hits, bins), abs_tol=1e-12)


@pytest.mark.parametrize("k", [None, 1, 4])
def test_brier_and_log_loss_are_those_of_sklearn(k: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, scores = sample(3)
    first, hits = leading(truth, scores, k or 9)
    at_k = f"@{k}" if k else ""
    report = evaluate(truth, scores, metrics=[f"brier{at_k}", f"log_loss{at_k}"])
    expected = [metrics.brier_score_loss(hits, first), metrics.log_loss(hits, first)]
    assert [*report.values()] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_calibration_bins_and_clips_in_the_type_of_the_scores(dtype: Any) -> None:
    for bins in (3, 10, 15, 999):
        name = f"ece(bins={bins})"
        edges = (np.arange(bins + 1) / bins).astype(dtype)
        lowest = edges[:-1]
        highest = np.nextafter(edges[1:], dtype(0))
        for scores in (lowest, highest):
            report = evaluate(np.eye(1, bins), scores[None], metrics=[name])
            assert report.reliability[name]["n"].tolist() == [1] * bins
    value = evaluate([[1, 0]], np.array([[0.0, 1.0]], dtype), metrics=["log_loss"])["log_loss"]
    assert math.isclose(value, -math.log(np.finfo(dtype).eps), rel_tol=1e-6)


def test_exp_of_and_log_of_are_exact_to_the_last_place() -> None:
    context = Context(prec=40)
    rng = np.random.default_rng(2)
    powers = [*(-(10.0 ** rng.uniform(-12, 2.8, 100))), 0.0, -745.0]
    for x in map(float, powers):
        exact = float(context.exp(Decimal(x)))
        assert abs(exp_of(x) - exact) <= 2 * np.spacing(abs(exact))
    near_zero = 10.0 ** rng.uniform(-16, 0, 100)
    near_one = 1 - 10.0 ** rng.uniform(-15, -1, 50)
    for x in map(float, [*near_zero, *near_one, 1.0]):
        exact = float(context.ln(Decimal(x)))
        assert abs(log_of(x) - exact) <= 2 * np.spacing(abs(exact))
    ends = sigmoid(np.array([-np.inf, -800.0, -0.0, 0.0, 40.0, np.inf]))
    assert ends.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    values = np.sort(rng.normal(0, 12, 4000))
    for typed in (values, values.astype(np.float32)):
        assert (np.diff(sigmoid(typed)) >= 0).all()


SCORES = np.array([[0.5, 0.2], [0.5, 0.1]])
DEFAULTS: dict[str, Any] = {"y_true": np.eye(2), "y_score": SCORES, "metrics": ["ece@1"]}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"y_score": 3 * SCORES}, "row 0: score 1.5 of label 0 is outside 0..1; ece(bins=15)@1"),
    (
        {"higher_is_better": False},
        "ece(bins=15)@1 needs probabilities, but scores are distances by higher_is_better=",
    ),
    (
        {"conventions": "unlisted=-1"},
        'y_score: conventions="unlisted=-1" is outside 0..1; ece(bins=15)@1 needs probabilities',
    ),
    ({"metrics": ["ece(bins=0)"]}, "bins=0 is not an integer in 1..1000"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_calibration_refuses_scores_that_are_no_probabilities(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=" ") as error:
        evaluate(**DEFAULTS | arguments)
    assert message in str(error.value)


def test_calibration_of_label_groups_reads_the_first_k_of_all_labels() -> None:
    truth, scores = sample(6)
    head = np.arange(9) % 3 == 0
    names = np.where(head, "head", "tail")
    groups = evaluate(truth, scores, label_groups=names, metrics=["ece@3", "brier@3"]).groups
    first = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    pairs: dict[str, list[oracle.Pair]] = {"head": [], "tail": []}
    for i, labels in enumerate(first):
        for j in labels:
            pairs[names[j]].append((float(scores[i, j]), bool(truth[i, j]), 1.0))
    for name, group in groups.items():
        brier = oracle.value_of_pairs("brier", pairs[name])
        ece = oracle.value_of_pairs("ece", pairs[name], 15)
        assert math.isclose(group["brier@3"], brier, rel_tol=1e-12)
        assert math.isclose(group["ece@3"], ece, abs_tol=1e-12)


def test_reliability_is_a_table_by_any_spelling_and_in_json() -> None:
    truth, scores = sample(7)
    report = evaluate(truth, scores, metrics=["ece(bins=5)@3", "ece_over(bins=5)@3", "p@1"])
    bins = report.reliability["ECE(bins=5)@3"]
    gaps = bins["n"] * np.abs(bins["hit_rate"] - bins["mean_score"])
    assert math.isclose(report["ece(bins=5)@3"], np.nansum(gaps) / bins["n"].sum(), rel_tol=1e-12)
    assert json.loads(report.to_json())["reliability"]["ece(bins=5)@3"]["n"] == bins["n"].tolist()
    with pytest.raises(KeyError, match="ece"):
        report.reliability["ece@5"]


@pytest.mark.parametrize("weights", [[2.0, 4.0, 6.0], [0.5, 0.25, 3.0], [1e-6, 1e6, 1.0]])
def test_bins_have_the_weights_of_their_rows(weights: list[float]) -> None:
    truth = np.eye(3)
    scores = np.diag([0.1, 0.5, 0.9])
    name = "ece(bins=2)@1"
    bins = evaluate(truth, scores, metrics=name, sample_weight=weights).reliability[name]
    np.testing.assert_allclose(bins["n"], [weights[0], weights[1] + weights[2]], rtol=1e-9)
    assert bins["hit_rate"].tolist() == [1.0, 1.0]


def test_link_maps_the_score_of_unlisted_labels_too() -> None:
    truth = np.array([[1, 0, 1], [0, 1, 0]])
    listed = csr_array(np.array([[2.0, -1, 0], [0, 1, 0]]))
    dense = np.array([[2.0, -1, -0.5], [-0.5, 1, -0.5]])
    linked = "link=sigmoid"
    expected = evaluate(truth, dense, metrics="log_loss.samples", conventions=linked)
    report = evaluate(
        truth, listed, metrics="log_loss.samples", conventions=f"{linked},unlisted=-0.5"
    )
    assert report["log_loss.samples"] == pytest.approx(expected["log_loss.samples"], rel=1e-14)


def test_score_of_unlisted_labels_is_binned_as_narrow_scores_are() -> None:
    listed = csr_array(np.array([[0.75, 0.72, 0, 0]], np.float32))
    dense = np.array([[0.75, 0.72, 0.7, 0.7]], np.float32)
    truth = np.array([[1, 1, 0, 0]])
    ece = "ece(bins=10)"
    expected = evaluate(truth, dense, metrics=ece)
    assert evaluate(truth, listed, metrics=ece, conventions="unlisted=0.7")[ece] == expected[ece]


def test_unlisted_labels_rank_before_lower_scores() -> None:
    listed = csr_array(np.array([[0.9, 0.1, 0, 0, 0, 0]]))
    dense = np.array([[0.9, 0.1, 0.3, 0.3, 0.3, 0.3]])
    truth = np.array([[1, 1, 0, 0, 0, 0]])
    metrics = ["brier@2", "brier@5", "ece(bins=5)@2"]
    report = evaluate(truth, listed, metrics=metrics, conventions="unlisted=0.3")
    assert dict(report) == pytest.approx(dict(evaluate(truth, dense, metrics=metrics)), rel=1e-15)


@pytest.mark.parametrize("unlisted", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weight", [None, [3, 0, 1, 2]])
def test_calibration_with_a_score_of_unlisted_labels_is_that_of_the_dense_matrix(
    unlisted: float, weight: Any
) -> None:
    rng = np.random.default_rng(4)
    truth = (rng.random((40, 7)) < 0.4).astype(int)
    stored = rng.random(truth.shape) < 0.5
    scores = np.where(stored, rng.random(truth.shape).astype(np.float32), np.float32(unlisted))
    sparse = csr_array((scores[stored], np.nonzero(stored)), shape=truth.shape)
    options: dict[str, Any] = {"metrics": [*NAMES, *(f"{name}@3" for name in NAMES)]}
    options["metrics"] += ["ece(bins=4)", "ace(bins=3)"]
    if weight is not None:
        options["sample_weight"] = weight * 10
    report = evaluate(truth, sparse, conventions=f"unlisted={unlisted}", **options)
    expected = evaluate(truth, scores, **options)
    assert dict(report) == pytest.approx(dict(expected), rel=1e-12)
    bins = expected.to_dict()["reliability"]
    for name, columns in report.to_dict()["reliability"].items():
        assert columns["n"] == bins[name]["n"]


def test_sigmoid_of_large_scores_is_0_or_1() -> None:
    truth = np.array([[1, 0, 1, 0]])
    scores = np.array([[800.0, -800.0, -1e6, np.inf]])
    options: dict[str, Any] = {"metrics": ["brier", "ece(bins=5)"], "conventions": "link=sigmoid"}
    for factor in (1, -1):  # half of the labels are right, in both bins that have any
        report = evaluate(truth, factor * scores, **options)
        assert dict(report) == {"brier": 0.5, "ece(bins=5)": 0.5}
    for factor, value in ((1, 0.0), (-1, 1.0)):
        report = evaluate(truth[:, :2], factor * scores[:, :2], **options)
        assert dict(report) == {"brier": value, "ece(bins=5)": value}
