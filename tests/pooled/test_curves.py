"""Measures of pooled scores beside scikit-learn and values by hand; exact products and weighted sums."""

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
ASKED = ("recall_at_precision.{}(p=0.6)", "precision_at_recall.{}(r=0.8)", "fpr_at_tpr.{}(tpr=0.9)",
         "auc.{}(max_fpr=0.2)")  # fmt: skip
MEASURES = ("auc.{}", "ap.{}", *ASKED)
AVERAGES = ("micro", "macro", "weighted")
N_ROWS, N_LABELS = 90, 6


def drawn(seed: int) -> tuple[Any, Any, Any]:
    """Return truth, scores with ties and with unlisted labels, and the same scores of all cells."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(int)
    truth[0], truth[1] = 1, 0  # every label has both classes
    dense = np.round(rng.random(truth.shape) + 0.4 * truth, 1).astype([np.float32, np.float64][seed % 2])
    dense *= rng.random(truth.shape) < 0.6
    return truth, sp.csr_array(dense), dense


def of_scikit_learn(truth: Any, scores: Any, weight: Any) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, _ = sk.precision_recall_curve(truth, scores, sample_weight=weight)
        fpr, tpr, _ = sk.roc_curve(truth, scores, sample_weight=weight)
        areas = [sk.roc_auc_score(truth, scores, max_fpr=most, sample_weight=weight) for most in (None, 0.2)]
        ap = sk.average_precision_score(truth, scores, sample_weight=weight)
    points = recall[precision >= 0.6].max(), precision[recall >= 0.8].max(), fpr[tpr >= 0.9].min()
    return [areas[0], ap, *points, areas[1]]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["below", 0.0, -0.25])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_scikit_learn(seed: int, weighted: bool, level: Any) -> None:
    truth, scores, dense = drawn(seed)
    dense = np.where(dense == 0, -100 if level == "below" else level, dense)
    weight = np.random.default_rng(seed).integers(0, 4, N_ROWS) / 2 if weighted else None
    names = [name.format(average) for average in AVERAGES for name in MEASURES]
    names += ["peak_f1.micro"]
    with small_limits() if seed % 3 else nullcontext():
        report = evaluate(
            truth, scores, metrics=names, sample_weight=weight, conventions={"unlisted": level},
            running=Running(block_rows=seed + 1),
            curve_points=10**4,
        )  # fmt: skip
    unit = np.ones(N_ROWS) if weight is None else weight
    of_labels = np.array([of_scikit_learn(truth[:, j], dense[:, j], weight) for j in range(N_LABELS)])
    cells = truth.ravel(), dense.ravel()
    of_cells = np.repeat(unit, N_LABELS)
    averages = [*of_labels.mean(axis=0), *np.average(of_labels, axis=0, weights=unit @ truth)]
    precision, recall, _ = sk.precision_recall_curve(*cells, sample_weight=of_cells)
    with np.errstate(invalid="ignore"):
        peak = np.nan_to_num(2 * precision * recall / (precision + recall)).max()
    expected = [*of_scikit_learn(*cells, of_cells), *averages, peak]
    assert [report[name] for name in names] == pytest.approx(expected, abs=1e-12)
    fpr, tpr, at = sk.roc_curve(*cells, drop_intermediate=False, sample_weight=of_cells)
    curve = report.roc_curve()
    if not weighted:
        assert np.where(curve[2] == -np.inf, -100, curve[2]).tolist() == at.tolist()
        np.testing.assert_allclose(curve[:2], (fpr, tpr), rtol=1e-12)
        np.testing.assert_allclose(report.pr_curve()[0][1:], precision[-2::-1], rtol=1e-12)


def test_thresholds_are_those_at_which_points_are_reached() -> None:
    truth, scores, dense = drawn(7)
    names = [name.format("micro") for name in ASKED[:3]]
    report = evaluate(truth, scores, metrics=names, per_label=True, conventions="unlisted=0")
    columns = report.per_label()
    for name in ASKED[:3]:
        micro, column = name.format("micro"), name.replace(".{}", "")
        points = [(truth, dense, report.thresholds[micro], report[micro])]
        for j, value in enumerate(columns.get(column, ())):
            points.append((truth[:, j], dense[:, j], columns[f"threshold_of_{column}"][j], value))
        for relevant, cells, threshold, value in points:
            tp, fp = (((cells >= threshold) & (relevant == kind)).sum() for kind in (1, 0))
            rates = {"recall": tp / relevant.sum(), "precision": tp / (tp + fp)}
            rates["fpr"] = fp / (relevant == 0).sum()
            assert rates[name.partition("_at_")[0]] == pytest.approx(value, abs=1e-12)


def test_ties_with_a_million_unlisted_cells_are_one_group() -> None:
    truth = sp.csr_array(([1, 1], ([0, 1], [5, 6])), shape=(2, 1_000_000))
    scores = sp.csr_array((np.array([0.5, 0.4], np.float32), ([0, 1], [5, 7])), shape=truth.shape)
    names = [
        "recall_at_precision.micro(p=0.9)", "precision_at_recall.micro(r=0.9)", "fpr_at_tpr.micro(tpr=1)",
        "auc.micro(max_fpr=1)",
    ]  # fmt: skip
    report = evaluate(truth, scores, metrics=[*names, "auc.micro"])
    assert [report[name] for name in names] == [0.5, 1e-6, 1.0, pytest.approx(report["auc.micro"], abs=1e-12)]
    assert report.thresholds[names[2]] == -np.inf
    level = np.zeros((3000, 1000), np.int8)
    level[:, :300] = 1  # so many pairs that whoever looks at each does not come to an end
    assert evaluate(level, np.zeros(level.shape, np.float32), metrics=["auc.micro"])["auc.micro"] == 0.5


ONE_CLASS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]])  # in every row, in some, in none
RANKED = np.array([[0.9, 0.2, 0.1], [0.8, 0.95, 0.0], [0.7, 0.6, 0.4], [0.1, 0.3, 0.5]])  # hits at ranks 2, 4


@pytest.mark.parametrize(("rule", "of_none"), [("skip", np.nan), ("zero", 0.0)])
def test_average_precision_of_labels_of_one_class(rule: str, of_none: float) -> None:
    names = ["ap.macro", "ap.weighted", "ap.geometric"]
    report = evaluate(ONE_CLASS, RANKED, metrics=names, conventions={"ap_empty": rule}, per_label=True)
    assert report.per_label()["ap"].tolist() == pytest.approx([1.0, 0.5, of_none], nan_ok=True)
    assert [*report.values()] == pytest.approx([0.75 if rule == "skip" else 0.5, 5 / 6, 0.5**0.5])
    assert report.undefined_labels == {name: 1 for name in names if rule == "skip" or "geo" in name}


def test_infinite_scores_are_ordered() -> None:
    truth, scores = np.array([[1, 0, 1, 0]]), np.array([[np.inf, 1.0, -np.inf, -np.inf]], np.float32)
    for form in (scores, sp.csr_array(np.nan_to_num(scores, neginf=0))):
        assert evaluate(truth, form, metrics=["auc.micro"])["auc.micro"] == (2 + 0.5) / 4


def test_rows_of_equal_scores_are_accepted_together() -> None:
    truth = np.array([[1, 0], [1, 0], [1, 0], [1, 0]])
    scores = np.array([[0.9, 0.1], [0.5, 0.8], [0.8, 0.2], [0.1, 0.3]])
    names = ["aurc@1", "risk(coverage=0.5)@1", "risk(coverage=1)@1"]
    report = evaluate(truth, scores, metrics=names)
    assert [*report.values()] == pytest.approx([(0 + 1 / 3 + 1 / 3 + 1 / 2) / 4, 1 / 3, 1 / 2], abs=1e-15)
    assert report.thresholds[names[1]] == 0.8
    distances = evaluate(truth, -scores, metrics=names, higher_is_better=False)
    assert distances.thresholds[names[1]] == -0.8
    assert "accept rows whose smallest score is <= it" in str(distances)


@pytest.mark.parametrize("kind", ["one bucket", "any", "special"])
def test_many_scores_counted_by_value_are_those_that_are_sorted(kind: str) -> None:
    """Scores of float32 are counted by value, those of float64 are sorted."""
    rng = np.random.default_rng(3)
    shape = 4000, 50
    bits = rng.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)
    special = np.array([0.0, -0.0, 1e-45, -1e-45, 1, 1 + 2**-23, np.inf, -np.inf, 3e38, -3e38], np.float32)
    scores: Any = {
        "one bucket": 1 + rng.integers(0, 1 << 16, shape) * 2.0**-23,
        "any": np.nan_to_num(bits.view(np.float32), nan=0.5), "special": rng.choice(special, shape),
    }[kind].astype(np.float32)  # fmt: skip
    truth = (rng.random(shape) < 0.1).astype(int)
    options: dict[str, Any] = {"metrics": ["auc.micro", "ap.micro", "peak_f1.micro"], "curve_points": 99}
    expected = evaluate(truth, scores.astype(np.float64), **options)
    for memory in ("1GiB", "100kB"):
        report = evaluate(truth, scores, memory=memory, threads=2, running=Running(block_rows=900), **options)
        assert dict(report) == dict(expected)
        assert report.thresholds == expected.thresholds
        np.testing.assert_array_equal(report.roc_curve(), expected.roc_curve())


@given(st.lists(st.tuples(*[st.integers(0, 62).flatmap(lambda bits: st.integers(0, 2**bits - 1))] * 2)))
def test_pairs_are_exact_beyond_64_bits(factors: list[tuple[int, int]]) -> None:
    limbs, total = np.zeros(2, np.int64), sum(a * b for a, b in factors)
    for a, b in factors:
        add_product(limbs, a, b)
    assert (int(limbs[0]) << LIMB_BITS) + int(limbs[1]) == total
    assert product_sum(limbs) == float(total)


LARGE = st.integers(0, 2**62 - 1)


@given(a=LARGE, b=LARGE, c=LARGE, d=LARGE)
@example(a=2**61, b=2**61 - 1, c=2**61 - 1, d=2**61)
@example(a=2**61 + 1, b=2**61 - 1, c=2**61, d=2**61)
@example(a=2**62 - 1, b=0, c=0, d=1)
def test_products_are_compared_exactly(a: int, b: int, c: int, d: int) -> None:
    assert is_larger_product(a, b, c, d) == (a * b > c * d)


NAMES = [f"{name}.{average}" for name in ("auc", "ap", "peak_f1") for average in ("micro", "macro")]
NAMES += ["auc.weighted", "ap.weighted"]
SCORES = [-2.5, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 0.25, 1.0, 3.0, math.inf]


@given(seed=seeds, level=st.sampled_from(["below", 0.0, 0.25]))
def test_values_of_wide_weights_are_those_of_fractions(seed: int, level: Any) -> None:
    rng = np.random.default_rng(seed)
    n_rows, n_labels = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    weight = 2.0 ** rng.integers(-30, 20, n_rows) * (1 + rng.random(n_rows)) * (rng.random(n_rows) < 0.9)
    truth = [dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for row in rng.random((n_rows, n_labels)) < 0.4]
    listed: list[list[tuple[int, float | None]]] = [
        [(j, float(rng.choice(SCORES))) for j in range(n_labels) if rng.random() < 0.7] for _ in range(n_rows)
    ]
    arguments = {"sample_weight": weight.tolist(), "conventions": {"unlisted": level}}
    problem = Problem(n_labels, truth, listed, "list", "float64", False, arguments, (*NAMES,))
    report, case = problem.evaluate(), case_of(problem)
    for spec in problem.specs:
        assert report[spec.name] == pytest.approx(value_of(spec, case), rel=1e-15, nan_ok=True), spec.name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_of_unlisted_labels_is_rounded_as_all_scores_are(dtype: Any) -> None:
    evaluator = Evaluator(["auc.micro"], n_labels=2, conventions="unlisted=0.1")
    evaluator.update([[0]], (np.array([[0]]), np.array([[0.1]], dtype)), sample_weight=[0.3])
    assert evaluator.compute()["auc.micro"] == 0.5


def test_curves_of_light_weights_end_at_1() -> None:
    truth, scores = np.eye(3, dtype=int), np.array([[3.0, 1, 2], [1, 2, 3], [2, 3, 1]])
    light, heavy = (
        evaluate(truth, scores, metrics=["auc.micro"], curve_points=9, sample_weight=np.arange(1, 4) * unit)
        for unit in (1e-6, 1)
    )
    assert [curve[-1] for curve in (*light.roc_curve()[:2], light.pr_curve()[1])] == [1.0] * 3
    assert np.allclose(light.roc_curve(), heavy.roc_curve(), rtol=1e-12)
