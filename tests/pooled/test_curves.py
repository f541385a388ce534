"""Measures of pooled scores against scikit-learn and values by hand; exact products and sums."""

import math
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.definitions import case_of, value_of
from tests.limits import small_limits
from tests.problems import Problem
from xmleval import Evaluator, Running, evaluate
from xmleval.kernels.products import LIMB_BITS, add_product, product_sum
from xmleval.kernels.thresholds import is_larger_product

sk = pytest.importorskip("sklearn.metrics")
POINTS = (
    "recall_at_precision.{}(p=0.6)",
    "precision_at_recall.{}(r=0.8)",
    "fpr_at_tpr.{}(tpr=0.9)",
)
MEASURES = ("auc.{}", "ap.{}", *POINTS, "auc.{}(max_fpr=0.2)")
AVERAGES = ("micro", "macro", "weighted")
N_ROWS = 90
N_LABELS = 6


def draw_data(seed: int) -> tuple[Any, Any, Any]:
    """Return truth, scores with ties and unlisted labels, and these scores as a dense array."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(int)
    # every label has both classes
    truth[0] = 1
    truth[1] = 0
    dtype = np.float64 if seed % 2 else np.float32
    dense: Any = np.round(rng.random(truth.shape) + 0.4 * truth, 1).astype(dtype)
    dense *= rng.random(truth.shape) < 0.6
    return truth, sp.csr_array(dense), dense


def values_of_scikit_learn(truth: Any, scores: Any, weight: Any) -> list[float]:
    """Return the values of `MEASURES`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, _ = sk.precision_recall_curve(truth, scores, sample_weight=weight)
        fpr, tpr, _ = sk.roc_curve(truth, scores, sample_weight=weight)
        auc = sk.roc_auc_score(truth, scores, sample_weight=weight)
        partial_auc = sk.roc_auc_score(truth, scores, max_fpr=0.2, sample_weight=weight)
        ap = sk.average_precision_score(truth, scores, sample_weight=weight)
    return [
        auc,
        ap,
        recall[precision >= 0.6].max(),
        precision[recall >= 0.8].max(),
        fpr[tpr >= 0.9].min(),
        partial_auc,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["below", 0.0, -0.25])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_curve_measures_equal_scikit_learn(seed: int, weighted: bool, level: Any) -> None:
    truth, scores, dense = draw_data(seed)
    unlisted_score = -100 if level == "below" else level
    dense = np.where(dense == 0, unlisted_score, dense)
    weight = None
    row_weights = np.ones(N_ROWS)
    if weighted:
        weight = np.random.default_rng(seed).integers(0, 4, N_ROWS) / 2
        row_weights = weight
    names = [measure.format(average) for average in AVERAGES for measure in MEASURES]
    names.append("peak_f1.micro")
    with small_limits() if seed % 3 else nullcontext():
        report = evaluate(
            truth,
            scores,
            metrics=names,
            sample_weight=weight,
            conventions={"unlisted": level},
            running=Running(block_rows=seed + 1),
            curve_points=10**4,
        )

    relevant = truth.ravel()
    cells = dense.ravel()
    cell_weights = np.repeat(row_weights, N_LABELS)
    micro = values_of_scikit_learn(relevant, cells, cell_weights)
    label_values = np.array(
        [values_of_scikit_learn(truth[:, j], dense[:, j], weight) for j in range(N_LABELS)]
    )
    macro = label_values.mean(axis=0)
    support = row_weights @ truth
    weighted_macro = np.average(label_values, axis=0, weights=support)
    precision, recall, _ = sk.precision_recall_curve(relevant, cells, sample_weight=cell_weights)
    with np.errstate(invalid="ignore"):
        f1 = 2 * precision * recall / (precision + recall)
    peak = np.nan_to_num(f1).max()
    expected = [*micro, *macro, *weighted_macro, peak]
    assert [report[name] for name in names] == pytest.approx(expected, abs=1e-12)

    fpr, tpr, thresholds = sk.roc_curve(
        relevant, cells, drop_intermediate=False, sample_weight=cell_weights
    )
    curve = report.roc_curve()
    if not weighted:
        assert np.where(curve[2] == -np.inf, -100, curve[2]).tolist() == thresholds.tolist()
        np.testing.assert_allclose(curve[:2], (fpr, tpr), rtol=1e-12)
        np.testing.assert_allclose(report.pr_curve()[0][1:], precision[-2::-1], rtol=1e-12)


def rates_at(threshold: float, relevant: Any, scores: Any) -> dict[str, float]:
    """Return rates of a decision by threshold."""
    accepted = scores >= threshold
    tp = (accepted & (relevant == 1)).sum()
    fp = (accepted & (relevant == 0)).sum()
    return {
        "recall": tp / relevant.sum(),
        "precision": tp / (tp + fp),
        "fpr": fp / (relevant == 0).sum(),
    }


def test_thresholds_reach_their_points() -> None:
    truth, scores, dense = draw_data(7)
    names = [name.format("micro") for name in POINTS]
    report = evaluate(truth, scores, metrics=names, per_label=True, conventions="unlisted=0")
    columns = report.per_label()
    for name in POINTS:
        rate = name.partition("_at_")[0]
        micro = name.format("micro")
        rates = rates_at(report.thresholds[micro], truth, dense)
        assert rates[rate] == pytest.approx(report[micro], abs=1e-12)
        column = name.replace(".{}", "")
        for j, value in enumerate(columns.get(column, ())):
            threshold = columns[f"threshold_of_{column}"][j]
            rates = rates_at(threshold, truth[:, j], dense[:, j])
            assert rates[rate] == pytest.approx(value, abs=1e-12)


# of a measure at a point: the rate that is bounded, its bound, and how the best of the other is
BOUNDED = {
    "recall_at_precision.{}(p=0.6)": ("recall", "precision", 0.6, max),
    "precision_at_recall.{}(r=0.8)": ("precision", "recall", 0.8, max),
    "fpr_at_tpr.{}(tpr=0.9)": ("fpr", "recall", 0.9, min),
}


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("seed", [7, 8])
def test_thresholds_of_labels_are_the_best_of_a_loop(name: str, seed: int) -> None:
    truth, scores, dense = draw_data(seed)
    rate, bounded, bound, best = BOUNDED[name]
    metrics = [name.format(average) for average in ("macro", "weighted")]
    report = evaluate(truth, scores, metrics=metrics, per_label=True, conventions="unlisted=0")
    columns = report.per_label()
    column = name.replace(".{}", "")
    values = []
    for j in range(N_LABELS):
        rates = [rates_at(level, truth[:, j], dense[:, j]) for level in np.unique(dense[:, j])]
        values.append(best(each[rate] for each in rates if each[bounded] >= bound - 1e-12))
        reached = rates_at(columns[f"threshold_of_{column}"][j], truth[:, j], dense[:, j])
        assert reached[rate] == pytest.approx(values[j], abs=1e-12)
        assert reached[bounded] >= bound - 1e-12
    assert columns[column] == pytest.approx(values, abs=1e-12)
    support = truth.sum(axis=0)
    assert report[metrics[0]] == pytest.approx(np.mean(values), abs=1e-12)
    assert report[metrics[1]] == pytest.approx(np.average(values, weights=support), abs=1e-12)


@pytest.mark.parametrize("seed", [7, 8])
def test_interpolated_precision_of_labels_is_that_of_a_loop(seed: int) -> None:
    """Each relevant entry has the largest precision at its score or any lower one."""
    truth, scores, dense = draw_data(seed)
    name = "ap.macro(interpolated=voc2010)"
    options: dict[str, Any] = {"metrics": [name, "ap.macro"], "per_label": True}
    report = evaluate(truth, scores, conventions="unlisted=0", **options)
    values = []
    for j in range(N_LABELS):
        levels = np.unique(dense[:, j])
        precisions = [
            rates_at(level, truth[:, j], dense[:, j])["precision"] for level in levels
        ]  # from the lowest score on
        largest = dict(zip(levels.tolist(), np.maximum.accumulate(precisions), strict=True))
        values.append(np.mean([largest[score] for score in dense[truth[:, j] == 1, j].tolist()]))
    assert report[name] == pytest.approx(np.mean(values), abs=1e-12)
    assert report[name] > report["ap.macro"]
    columns = report.per_label()
    column = name.replace(".macro", "")
    assert columns[column] == pytest.approx(values, abs=1e-12)


@pytest.mark.parametrize("unlisted", [-1.0, 0.0, 0.5, 0.55, 9.0])
@pytest.mark.parametrize("seed", [7, 8])
def test_curves_with_a_score_of_unlisted_labels_are_those_of_the_dense_matrix(
    seed: int, unlisted: float
) -> None:
    """The score is below all, equal to some, between two, or above all."""
    truth, scores, dense = draw_data(seed)
    dense = np.where(dense == 0, dense.dtype.type(unlisted), dense)
    names = [name.format(average) for name in MEASURES for average in ("micro", "macro")]
    options: dict[str, Any] = {
        "metrics": [*names, "peak_f1.micro", "peak_f1.macro"],
        "per_label": True,
        "curve_points": 2000,
        "confidence": 0.9,
    }
    report = evaluate(truth, scores, conventions=f"unlisted={unlisted}", **options)
    expected = evaluate(truth, dense, **options)
    assert dict(report) == pytest.approx(dict(expected), rel=1e-13)
    assert report.thresholds == pytest.approx(expected.thresholds, nan_ok=True)
    np.testing.assert_array_equal(report.roc_curve(), expected.roc_curve())
    np.testing.assert_array_equal(report.pr_curve(), expected.pr_curve())
    for name, estimate in report.estimates.items():
        error = expected.estimates[name].standard_error
        assert estimate.standard_error == pytest.approx(error, rel=1e-9)
    assert report.estimates.keys() == expected.estimates.keys()
    columns = expected.per_label()
    for name, values in report.per_label().items():
        np.testing.assert_allclose(values, columns[name], rtol=1e-13)


def test_ties_with_a_million_unlisted_cells_are_one_group() -> None:
    shape = (2, 1_000_000)
    rows = [0, 1]
    truth = sp.csr_array(([1, 1], (rows, [5, 6])), shape=shape)
    stored = np.array([0.5, 0.4], np.float32)
    scores = sp.csr_array((stored, (rows, [5, 7])), shape=shape)
    names = [
        "recall_at_precision.micro(p=0.9)",
        "precision_at_recall.micro(r=0.9)",
        "fpr_at_tpr.micro(tpr=1)",
        "auc.micro(max_fpr=1)",
    ]
    report = evaluate(truth, scores, metrics=[*names, "auc.micro"])
    assert [report[name] for name in names] == [
        0.5,
        1e-6,
        1.0,
        pytest.approx(report["auc.micro"], abs=1e-12),
    ]
    assert report.thresholds[names[2]] == -np.inf
    # so many pairs that looking at each does not come to an end
    large_truth = np.zeros((3000, 1000), np.int8)
    large_truth[:, :300] = 1
    equal_scores = np.zeros(large_truth.shape, np.float32)
    assert evaluate(large_truth, equal_scores, metrics=["auc.micro"])["auc.micro"] == 0.5


# the labels are relevant in every row, in some, in none
ONE_CLASS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]])
# hits at ranks 2, 4
RANKED = np.array([[0.9, 0.2, 0.1], [0.8, 0.95, 0.0], [0.7, 0.6, 0.4], [0.1, 0.3, 0.5]])
AP_AVERAGES = ["ap.macro", "ap.weighted", "ap.geometric"]


@pytest.mark.parametrize(
    ("rule", "ap_of_empty", "macro", "undefined"),
    [
        ("skip", np.nan, 0.75, AP_AVERAGES),
        ("zero", 0.0, 0.5, ["ap.geometric"]),
    ],
)
def test_average_precision_of_labels_of_one_class(
    rule: str, ap_of_empty: float, macro: float, undefined: list[str]
) -> None:
    report = evaluate(
        ONE_CLASS, RANKED, metrics=AP_AVERAGES, conventions={"ap_empty": rule}, per_label=True
    )
    assert report.per_label()["ap"].tolist() == pytest.approx([1.0, 0.5, ap_of_empty], nan_ok=True)
    assert [*report.values()] == pytest.approx([macro, 5 / 6, 0.5**0.5])
    assert report.undefined_labels == dict.fromkeys(undefined, 1)


def test_auc_orders_infinite_scores() -> None:
    truth = np.array([[1, 0, 1, 0]])
    scores = np.array([[np.inf, 1.0, -np.inf, -np.inf]], np.float32)
    sparse = sp.csr_array(np.nan_to_num(scores, neginf=0))
    for form in (scores, sparse):
        assert evaluate(truth, form, metrics=["auc.micro"])["auc.micro"] == (2 + 0.5) / 4


def test_risk_accepts_rows_of_equal_scores_together() -> None:
    truth = np.array([[1, 0], [1, 0], [1, 0], [1, 0]])
    scores = np.array([[0.9, 0.1], [0.5, 0.8], [0.8, 0.2], [0.1, 0.3]])
    names = ["aurc@1", "risk(coverage=0.5)@1", "risk(coverage=1)@1"]
    report = evaluate(truth, scores, metrics=names)
    expected = [(0 + 1 / 3 + 1 / 3 + 1 / 2) / 4, 1 / 3, 1 / 2]
    assert [*report.values()] == pytest.approx(expected, abs=1e-15)
    assert report.thresholds[names[1]] == 0.8
    distances = evaluate(truth, -scores, metrics=names, higher_is_better=False)
    assert distances.thresholds[names[1]] == -0.8
    assert "accept rows whose smallest score is <= it" in str(distances)


@pytest.mark.parametrize("kind", ["one bucket", "any", "special"])
def test_scores_counted_by_value_give_the_results_of_sorted_scores(kind: str) -> None:
    """Scores of float32 are counted by value, those of float64 are sorted."""
    rng = np.random.default_rng(3)
    shape = 4000, 50
    bits = rng.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)
    special = np.array(
        [0.0, -0.0, 1e-45, -1e-45, 1, 1 + 2**-23, np.inf, -np.inf, 3e38, -3e38], np.float32
    )
    scores: Any = {
        "one bucket": 1 + rng.integers(0, 1 << 16, shape) * 2.0**-23,
        "any": np.nan_to_num(bits.view(np.float32), nan=0.5),
        "special": rng.choice(special, shape),
    }[kind].astype(np.float32)
    truth = (rng.random(shape) < 0.1).astype(int)
    options: dict[str, Any] = {
        "metrics": ["auc.micro", "ap.micro", "peak_f1.micro"],
        "curve_points": 99,
    }
    expected = evaluate(truth, scores.astype(np.float64), **options)
    for memory in ("1GiB", "100kB"):
        report = evaluate(
            truth, scores, memory=memory, threads=2, running=Running(block_rows=900), **options
        )
        assert dict(report) == dict(expected)
        assert report.thresholds == expected.thresholds
        np.testing.assert_array_equal(report.roc_curve(), expected.roc_curve())


@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_peak_f1_is_reached_at_the_highest_threshold_in_any_memory(memory: Any) -> None:
    truth = np.repeat([[1, 0, 1]], [1000, 2000, 1000], axis=1)  # F1 is 2/3 after 1000, and 4000
    scores = np.arange(4000.0, 0, -1)[None]
    report = evaluate(truth, scores, metrics="peak_f1.micro", memory=memory)
    assert dict(report) == {"peak_f1.micro": 2 / 3}
    assert report.thresholds == {"peak_f1.micro": 3001.0}


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize("weights", [None, [2.0, 2.0, 2.0, 2.0]])
def test_peaks_of_equal_height_have_the_highest_threshold(weights: Any, memory: Any) -> None:
    truth = np.array([[1], [0], [0], [1]])
    scores = np.array([[4.0], [3.0], [2.0], [1.0]])
    options: dict[str, Any] = {"metrics": "peak_f1.micro,peak_f1.macro", "per_label": True}
    report = evaluate(truth, scores, sample_weight=weights, memory=memory, **options)
    assert report["peak_f1.micro"] == 2 / 3
    assert report.thresholds == {"peak_f1.micro": 4.0}
    assert report.per_label()["threshold"].tolist() == [4.0]


FACTOR = st.integers(0, 62).flatmap(lambda bits: st.integers(0, 2**bits - 1))


@given(factors=st.lists(st.tuples(FACTOR, FACTOR)))
def test_add_product_is_exact_beyond_64_bits(factors: list[tuple[int, int]]) -> None:
    limbs = np.zeros(2, np.int64)
    for a, b in factors:
        add_product(limbs, a, b)
    expected = sum(a * b for a, b in factors)
    assert (int(limbs[0]) << LIMB_BITS) + int(limbs[1]) == expected
    assert product_sum(limbs) == float(expected)


LARGE = st.integers(0, 2**62 - 1)


@given(a=LARGE, b=LARGE, c=LARGE, d=LARGE)
@example(a=2**61, b=2**61 - 1, c=2**61 - 1, d=2**61)
@example(a=2**61 + 1, b=2**61 - 1, c=2**61, d=2**61)
@example(a=2**62 - 1, b=0, c=0, d=1)
def test_is_larger_product_is_exact(a: int, b: int, c: int, d: int) -> None:
    assert is_larger_product(a, b, c, d) == (a * b > c * d)


NAMES = (
    "auc.micro",
    "auc.macro",
    "ap.micro",
    "ap.macro",
    "peak_f1.micro",
    "peak_f1.macro",
    "auc.weighted",
    "ap.weighted",
)
SCORES = [-2.5, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 0.25, 1.0, 3.0, math.inf]


@given(seed=seeds, level=st.sampled_from(["below", 0.0, 0.25]))
def test_values_of_wide_weights_are_those_of_fractions(seed: int, level: Any) -> None:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 9))
    n_labels = int(rng.integers(1, 5))
    weight = 2.0 ** rng.integers(-30, 20, n_rows) * (1 + rng.random(n_rows))
    weight *= rng.random(n_rows) < 0.9
    is_relevant = rng.random((n_rows, n_labels)) < 0.4
    truth = [dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for row in is_relevant]
    listed: list[list[tuple[int, float | None]]] = []
    for _ in range(n_rows):
        row: list[tuple[int, float | None]] = []
        for j in range(n_labels):
            if rng.random() < 0.7:
                row.append((j, float(rng.choice(SCORES))))
        listed.append(row)
    arguments = {"sample_weight": weight.tolist(), "conventions": {"unlisted": level}}
    problem = Problem(n_labels, truth, listed, "list", "float64", False, arguments, NAMES)
    report = problem.evaluate()
    case = case_of(problem)
    for spec in problem.specs:
        expected = pytest.approx(value_of(spec, case), rel=1e-15, nan_ok=True)
        assert report[spec.name] == expected, spec.name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_of_unlisted_labels_is_rounded_as_all_scores_are(dtype: Any) -> None:
    evaluator = Evaluator(["auc.micro"], n_labels=2, conventions="unlisted=0.1")
    evaluator.update([[0]], (np.array([[0]]), np.array([[0.1]], dtype)), sample_weight=[0.3])
    assert evaluator.compute()["auc.micro"] == 0.5


def test_curves_of_light_weights_end_at_1() -> None:
    truth = np.eye(3, dtype=int)
    scores = np.array([[3.0, 1, 2], [1, 2, 3], [2, 3, 1]])
    options: dict[str, Any] = {"metrics": ["auc.micro"], "curve_points": 9}
    light = evaluate(truth, scores, sample_weight=np.arange(1, 4) * 1e-6, **options)
    heavy = evaluate(truth, scores, sample_weight=np.arange(1, 4), **options)
    fpr, tpr, _ = light.roc_curve()
    recall = light.pr_curve()[1]
    assert [fpr[-1], tpr[-1], recall[-1]] == [1.0] * 3
    assert np.allclose(light.roc_curve(), heavy.roc_curve(), rtol=1e-12)


def test_merged_evaluators_count_the_rows_that_risk_leaves_out() -> None:
    truth = np.array([[1, 0, 0], [0, 0, 0]])
    scores = np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.2]])
    parts = [Evaluator("aurc@1", n_labels=3, conventions="empty=skip") for _ in range(2)]
    for part in parts:
        part.update(truth, scores)
    first, second = parts
    assert first.merge(second).compute().undefined_rows == {"aurc@1": 2}


def points_of(truth: Any, scores: Any, **options: Any) -> list[list[float]]:
    report = evaluate(truth, scores, metrics=["auc.micro"], **options)
    return [curve.tolist() for curve in (*report.roc_curve(), *report.pr_curve())]


@pytest.mark.parametrize("n_points", [1, 2, 5, 9, 99])
@pytest.mark.parametrize("unlisted", ["below", 0.5])
def test_points_of_whole_weights_are_those_of_repeated_rows(n_points: int, unlisted: Any) -> None:
    rng = np.random.default_rng(17)
    shape = (30, 5)
    truth = (rng.random(shape) < 0.4).astype(int)
    listed = rng.random(shape) < 0.7
    scores = sp.csr_array((rng.integers(1, 40, listed.sum()) / 32, np.nonzero(listed)), shape=shape)
    weight = rng.integers(0, 4, 30)
    repeated = np.repeat(np.arange(30), weight)
    conventions = {"unlisted": unlisted}
    options: dict[str, Any] = {"curve_points": n_points, "conventions": conventions}
    expected = points_of(truth[repeated], scores[repeated], **options)
    weighted = points_of(truth, scores, sample_weight=weight, **options)
    assert np.shape(weighted) == np.shape(expected)
    np.testing.assert_allclose(weighted, expected, rtol=1e-12)
    n_more = 2 if unlisted == "below" else 5
    assert len(expected[0]) <= n_points + n_more
    assert len(expected[0]) >= min(n_points, 30)
    every_point = {**options, "curve_points": 10**4}
    whole = points_of(truth, scores, sample_weight=weight, **every_point)
    for factor in (0.125, 8.0):
        scaled = factor * weight
        same = points_of(truth, scores, sample_weight=scaled, **every_point)
        np.testing.assert_allclose(same, whole, rtol=1e-12)
        thinned = points_of(truth, scores, sample_weight=scaled, **options)
        assert len(thinned[0]) <= n_points + n_more
        assert {*zip(*thinned[:3], strict=True)} <= {*zip(*same[:3], strict=True)}


def test_memory_limits_the_points_of_curves_and_a_note_says_so() -> None:
    truth = np.tile([[1, 0]], (1500, 1))
    scores = np.arange(3000.0).reshape(1500, 2)
    options: dict[str, Any] = {"metrics": ["auc.micro"], "curve_points": 2500}
    small = evaluate(truth, scores, memory=1, **options)
    note = "curve_points=2500: at most 1000 points are kept, the share of memory="
    assert [each for each in small.notes if "curve_points" in each] == [note]
    assert 900 < small.roc_curve()[0].size <= 1002
    large = evaluate(truth, scores, memory="1GiB", **options)
    assert not any("curve_points" in each for each in large.notes)
    assert 1400 < large.roc_curve()[0].size <= 2502
    assert dict(small) == dict(large)
    fewer = evaluate(truth, scores, memory=1, **{**options, "curve_points": 1000})
    assert not any("curve_points" in each for each in fewer.notes)
    for curve in (small.roc_curve(), large.roc_curve()):
        whole = [[*map(float, point)] for point in zip(*curve, strict=True)]
        assert whole[0] == [0.0, 0.0, math.inf]
        for fpr, tpr, threshold in whole[1::97]:
            assert fpr == np.mean(scores[:, 1] >= threshold)
            assert tpr == np.mean(scores[:, 0] >= threshold)


def test_labels_have_the_thresholds_of_measures_that_have_one() -> None:
    truth = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]])
    scores = np.array([[0.9, 0.2], [0.8, 0.4], [0.7, 0.1], [0.6, 0.3], [0.5, 0.5]])
    names = ["recall_at_precision.macro(p=0.6)", "precision_at_recall.macro(r=1)"]
    names += ["fpr_at_tpr.macro(tpr=0.5)", "auc.macro(max_fpr=0.5)"]
    for sign in (1, -1):
        report = evaluate(
            truth, sign * scores, metrics=names, per_label=True, higher_is_better=sign > 0
        )
        columns = report.per_label()
        thresholds = {name: column for name, column in columns.items() if "threshold_" in name}
        assert [sign * column[0] for column in thresholds.values()] == [0.5, 0.5, 0.7]
        values = [columns[name.removeprefix("threshold_of_")] for name in thresholds]
        assert [column[0] for column in values] == [1.0, 0.6, 0.5]
        assert "threshold_of_auc(max_fpr=0.5)" not in columns
        means = [np.mean(column) for column in values]
        assert means == pytest.approx([report[name] for name in names[:3]])


MIXED = [np.float32, np.float64, np.float32, np.float16, np.float64]


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_batches_of_narrow_and_wide_scores_are_pooled_exactly(memory: Any, weighted: bool) -> None:
    rng = np.random.default_rng(6)
    metrics = ["auc.macro", "ap.macro", "peak_f1.macro", "auc.micro", "ap.micro", "peak_f1.micro"]
    options: dict[str, Any] = {"metrics": metrics, "per_label": True, "n_labels": 4}
    mixed = Evaluator(**options, memory=memory)
    merged = Evaluator(**options, memory=memory)
    truths = []
    wide = []
    weights = rng.choice([0.5, 1.0, 3.0], (5, 6))
    for number, dtype in enumerate(MIXED):
        truth = (rng.random((6, 4)) < 0.4).astype(int)
        scores = (rng.integers(0, 6, (6, 4)) / 4).astype(dtype)
        if dtype == np.float64:
            scores += 2.0**-40 * rng.integers(0, 2, (6, 4))
        weight = weights[number] if weighted else None
        mixed.update(truth, scores, sample_weight=weight)
        part = Evaluator(**options, memory=memory)
        part.update(truth, scores, sample_weight=weight)
        merged.merge(part)
        truths.append(truth)
        wide.append(scores.astype(np.float64))
    whole = evaluate(
        np.concatenate(truths),
        np.concatenate(wide),
        metrics=metrics,
        per_label=True,
        sample_weight=weights.ravel() if weighted else None,
    )
    for evaluator in (mixed, merged):
        report = evaluator.compute()
        assert dict(report) == pytest.approx(dict(whole), rel=1e-14)
        assert report.thresholds == whole.thresholds
        for name, column in whole.per_label().items():
            np.testing.assert_allclose(report.per_label()[name], column, rtol=1e-14)
