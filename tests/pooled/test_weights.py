"""Measures of pooled scores under weights: exact, and the same for any cutting."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.examples import as_other_rows
from tests.oracles import curves as oracle
from tests.oracles.metrics import Case
from tests.pooled.problems import Problem, bits, problems
from tests.states.crafted import contents
from xmleval import Evaluator, Report, evaluate, inverse_propensity
from xmleval.files.saved import Saved, save_state
from xmleval.input.weights import HEAVIEST
from xmleval.kernels import weight_sums as kernels
from xmleval.kernels.weighted_sweeps import scale_of
from xmleval.metrics import TABLE
from xmleval.pooled import weight_sums
from xmleval.pooled.weight_sums import ONE, KeySums, as_units, from_units, tabulated
from xmleval.records import MOST_ENTRIES
from xmleval.states.weighted_scores import WeightedScores

NAMES = [f"{name}.{average}" for name in ("auc", "ap", "peak_f1") for average in ("micro", "macro")]
NAMES += ["auc.weighted", "ap.weighted", "auc.micro(bits=9)"]
law = settings(max_examples=20, deadline=None)
SCORES = [-math.inf, -2.5, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 0.25, 1.0, 3.0, math.inf]


def weighed(problem: Problem, weight: Any, **more: Any) -> Report:
    truth, scores = problem.whole()
    return evaluate(truth, scores, sample_weight=weight, **asked(problem), **more)


def asked(problem: Problem) -> dict[str, Any]:
    return {**problem.more, "metrics": NAMES}


def plain(report: Report) -> list[Any]:
    """Everything a report says that its values decide, to the last bit."""
    said = json.loads(bits(report)[0])
    names = "values", "intervals", "thresholds", "undefined_labels"
    return [*(json.dumps(said[name]) for name in names), *bits(report)[1:]]


def test_no_measure_refuses_weights() -> None:
    scored: Any = {"y_score": np.eye(3) + 0.5, "sample_weight": [1, 2, 0.5], "unlisted": 0.0}
    more: Any = {
        "inverse_propensity": inverse_propensity(label_counts=[1, 2, 1], n_instances=5),
        "decision": "top1",
    }
    more |= {"hierarchy": [(1, 0)], "gains": "linear"}
    report = evaluate(np.eye(3, dtype=int), **scored, **more, metrics="all", curve_points=4, per_label=True)
    assert report.not_computed == {}
    assert {spec.metric.name for spec in report.specs} == {
        metric.name for metric in TABLE if not metric.params and "probabilities" not in metric.needs
    }
    assert len(report.roc_curve()[0]) == 3
    assert report.per_label()["support"].tolist() == [1.0, 2.0, 0.5]


@law
@given(problem=problems())
def test_weights_of_one_leave_every_bit(problem: Problem) -> None:
    truth, scores = problem.whole()
    alone = evaluate(truth, scores, **asked(problem))
    assert plain(weighed(problem, np.ones(problem.n_rows))) == plain(alone)


@law
@example(problem=Problem(1253253060, "float32", 0.0), seed=0)  # no relevant label is listed
@given(problem=problems(), seed=seeds)
def test_whole_weights_are_repeated_rows_to_the_last_bit(problem: Problem, seed: int) -> None:
    times = np.random.default_rng(seed).integers(0, 5, problem.n_rows)
    truth, scores = problem.whole()
    rows = np.repeat(np.arange(problem.n_rows), times)
    many = evaluate(truth[rows], sp.csr_array(scores[rows]), **asked(problem))
    assert plain(weighed(problem, times)) == plain(many)


@law
@given(problem=problems(), seed=seeds)
def test_rows_of_weight_0_do_not_count(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.random(problem.n_rows) + 0.01
    kept = np.flatnonzero(rng.random(problem.n_rows) < 0.6)
    truth, scores = problem.whole()
    masked = np.zeros(problem.n_rows)
    masked[kept] = weight[kept]
    some = evaluate(
        truth[kept],
        sp.csr_array(scores[kept]),
        sample_weight=weight[kept],
        **asked(problem),
    )
    assert plain(weighed(problem, masked)) == plain(some)


@law
@given(problem=problems(), seed=seeds)
def test_one_factor_of_two_on_all_weights_leaves_every_value(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.1, 0.3, 1.0, 7.0], problem.n_rows)
    one, other = (weighed(problem, factor * weight) for factor in (1.0, 2.0**-20))
    assert dict(one).keys() == dict(other).keys()
    for name, value in one.items():
        assert math.isclose(value, other[name], rel_tol=1e-15) or value != value
    assert str(one.thresholds) == str(other.thresholds)


def close(found: float, wanted: float) -> bool:
    return math.isclose(found, wanted, rel_tol=1e-15) or (found != found and wanted != wanted)


@law
@given(seed=seeds, level=st.sampled_from(["below", 0.0, 0.25]), wide=st.booleans())
def test_values_are_those_of_fractions(seed: int, level: Any, wide: bool) -> None:
    rng = np.random.default_rng(seed)
    n_rows, n_labels = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    weight = (
        2.0 ** rng.integers(-30, 20, n_rows) * (1 + rng.random(n_rows)) if wide else rng.random(n_rows) + 0.1
    )
    weight = np.where(rng.random(n_rows) < 0.1, 0.0, weight)
    truth = rng.random((n_rows, n_labels)) < 0.4
    stored = rng.random(truth.shape) < 0.7
    scores = rng.choice(SCORES, truth.shape)
    case = Case(
        truth=[{*np.flatnonzero(row).tolist()} for row in truth],
        n_labels=n_labels,
        listed=[[(int(j), float(scores[i, j])) for j in np.flatnonzero(stored[i])] for i in range(n_rows)],
        kind="list",
        weights=weight.tolist(),
        conventions={"unlisted": level},
    )
    lists = np.full(truth.shape, -1), np.zeros(truth.shape)
    for i, row in enumerate(case.listed or []):
        for slot, (label, score) in enumerate(row):
            lists[0][i, slot], lists[1][i, slot] = label, score
    names = [name for name in NAMES if "bits" not in name]
    found = evaluate(truth.astype(int), lists, metrics=names, sample_weight=weight, unlisted=level)
    below_all = level == "below" and any(score == -math.inf for row in case.listed or [] for _, score in row)
    for name in names:
        measure, _, average = name.partition(".")
        if not below_all:  # which the oracle takes for unlisted ones
            assert close(found[name], oracle.value(measure, case, average)), name


def test_scikit_learn_has_the_same_values() -> None:
    sk: Any = pytest.importorskip("sklearn.metrics")
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(5, 40)), int(rng.integers(2, 7))
        truth = (rng.random(shape) < 0.4).astype(int)
        truth[:2] = [[1] * shape[1], [0] * shape[1]]
        scores = rng.normal(size=shape) if seed % 2 else rng.choice([-3.0, -0.0, 0.0, 5e-324, 0.5], shape)
        weight = rng.choice([0.0, 0.1, 1.0, 2.5, 1e-3], shape[0])
        weight[:2] = 1.0
        found = evaluate(truth, scores, metrics=NAMES, sample_weight=weight)
        flat = truth.ravel(), scores.ravel()
        for name, function in (("auc", sk.roc_auc_score), ("ap", sk.average_precision_score)):
            micro = function(*flat, sample_weight=np.repeat(weight, shape[1]))
            assert found[f"{name}.micro"] == pytest.approx(micro, rel=1e-12)
            for average in ("macro", "weighted"):
                theirs = function(truth, scores, average=average, sample_weight=weight)
                assert found[f"{name}.{average}"] == pytest.approx(theirs, rel=1e-12)
        curve = sk.precision_recall_curve(*flat, sample_weight=np.repeat(weight, shape[1]))
        with np.errstate(invalid="ignore"):
            f1 = np.nan_to_num(2 * curve[0] * curve[1] / (curve[0] + curve[1]))
        assert found["peak_f1.micro"] == pytest.approx(f1.max(), rel=1e-12)
        at = found.thresholds["peak_f1.micro"]
        assert f1[:-1][curve[2] == at][0] == pytest.approx(f1.max(), rel=1e-12)


@law
@given(problem=problems(), seed=seeds, size=st.integers(1, 9), data=st.data())
def test_cutting_threads_spilling_and_files_leave_every_bit(
    problem: Problem, seed: int, size: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    weight = np.random.default_rng(seed).choice([0.0, 0.1, 1.0, 3.0, 1e-9, 1e6], problem.n_rows)
    want = bits(weighed(problem, weight, threads=1))
    memory = data.draw(st.sampled_from([1, "2kB", "20kB"]))
    assert bits(weighed(problem, weight, threads=2, block_rows=size, memory=memory)) == want
    path: Path = tmp_path_factory.getbasetemp() / "weighted.npz"
    parts = []
    for lo, hi in problem.cuts():
        more: Any = problem.more | {"metrics": NAMES, "memory": data.draw(st.sampled_from([1, "1GiB"]))}
        part = Evaluator(n_labels=problem.n_labels, **more)
        truth, scores = problem.part(lo, hi)
        part.update(truth, scores, sample_weight=weight[lo:hi])
        part.save(path)
        later: Any = data.draw(st.sampled_from([1, "1GiB"]))
        parts.append(Evaluator.load(path, memory=later))
    while len(parts) > 1:
        parts[0].merge(parts.pop(data.draw(st.integers(1, len(parts) - 1))))
    assert bits(parts[0].compute()) == want


def test_pairs_are_exact_beyond_2_to_the_33_equal_scores() -> None:
    truth, scores = np.array([[1, 0, 0], [0, 1, 0]]), np.array([[0.5, 0.5, 0.25], [0.5, 0.125, -1.0]])
    weight = np.array([0.1, 0.7])
    found = Evaluator(["auc.micro", "ap.micro", "peak_f1.micro", "auc.macro"], n_labels=3, curve_points=9)
    found.update(truth, scores, sample_weight=weight)
    once = found.compute()
    for _ in range(34):
        found.merge(as_other_rows(found))
    many = found.compute()
    assert many.n_rows == 2**35
    assert dict(many) == dict(once)  # all sums are multiplied by a power of two
    low, high = map(Fraction, weight)
    right = low * (low + high) + high * high
    level = low * (low + high)
    area = (right + level / 2) / ((low + high) * (2 * low + 2 * high))
    assert many["auc.micro"] == float(area)
    assert all(map(np.array_equal, many.roc_curve(), once.roc_curve()))


def test_a_score_of_unlisted_labels_is_rounded_as_all_scores_are() -> None:
    truth, labels = np.array([[1, 0]]), np.array([[0]])
    for dtype in (np.float32, np.float64):
        parts = [Evaluator(["auc.micro"], n_labels=2, unlisted=0.1) for _ in range(2)]
        for part in parts:
            part.update(truth, (labels, np.array([[0.1]], dtype)), sample_weight=[0.3])  # float32: larger
        assert parts[0].merge(as_other_rows(parts[1])).compute()["auc.micro"] == 0.5


def test_curves_of_light_weights_end_at_1() -> None:
    truth, scores = np.eye(3, dtype=int), np.array([[3.0, 1, 2], [1, 2, 3], [2, 3, 1]])
    report = evaluate(truth, scores, metrics=["auc.micro"], curve_points=9, sample_weight=[1e-6, 2e-6, 3e-6])
    for curve in (report.roc_curve()[:2], report.pr_curve()[1:2]):
        assert [own[-1] for own in curve] == [1.0] * len(curve)
    same = evaluate(truth, scores, metrics=["auc.micro"], curve_points=9, sample_weight=[1, 2, 3])
    assert np.allclose(report.roc_curve(), same.roc_curve(), rtol=1e-12)


CHANGED = {  # arrays of a state, and what becomes of the words of a row
    "columns.relevant.held0": lambda table: table[:, 2:].__imul__(2),
    "columns.truth.held0": lambda table: table[:, 1:].__imul__(2),
    "cells.left.held0": lambda table: table[:, 1:].__imul__(2),
    "columns.taken.held0": lambda table: table[:, 2:].__imul__(2),
    "columns.last.held0": lambda table: table[:, 1:].__imul__(2),
    "cells.irrelevant.held0": lambda table: table[0, :1].__iadd__(1 << 62),
}


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("name", CHANGED)
def test_saved_sums_that_do_not_fit_together_are_refused(name: str, bounds: bool, tmp_path: Path) -> None:
    truth, path = np.array([[1, 0, 1], [0, 1, 0]]), tmp_path / "state.npz"
    found = Evaluator(["auc.micro", "auc.macro"], n_labels=3, bounds=bounds)
    lists = np.array([[0, 1], [2, 1]]), np.array([[0.5, 0.25], [0.75, 0.5]])
    found.update(truth, lists, sample_weight=[2.0**18, 2.0**17])
    saved = contents(found.as_saved())
    if f"weighted_scores/{name}" not in saved.arrays:
        assert not bounds
        return
    array = saved.arrays[f"weighted_scores/{name}"].copy()
    words = 2 if name.startswith(("columns.relevant", "columns.taken")) else 1
    CHANGED[name](array.reshape(-1, words + 3))
    save_state(path, Saved(saved.meta, {**saved.arrays, f"weighted_scores/{name}": array}))
    with pytest.raises(
        ValueError, match=r"\(weighted_scores/.* (than there are|than its entries|not sorted)\)$"
    ):
        Evaluator.load(path)


def stored(evaluator: Evaluator) -> WeightedScores:
    states = evaluator._counted.states
    assert states
    found = states._states["weighted_scores"]
    assert isinstance(found, WeightedScores)
    return found


@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_many_small_updates_leave_few_tables_of_distinct_scores(memory: Any) -> None:
    rng = np.random.default_rng(0)
    found = Evaluator(["auc.micro", "ap.macro"], n_labels=4, memory=memory)
    scores, truth = np.round(rng.random((300, 4)), 2), (rng.random((300, 4)) < 0.3).astype(int)
    weight = rng.random(300) + 0.5
    for row in range(300):
        part = slice(row, row + 1)
        found.update(truth[part], scores[part], sample_weight=weight[part])
    for name, sums in stored(found).sums.items():
        sizes = [len(table) for table in sums.tables] + [run.size for run in sums.runs]
        assert len(sizes) <= 9, name
        assert name.startswith("columns") or sum(sizes) <= 2 * 101
        assert bool(sums.runs) == (memory == 1)
    assert dict(found.compute()) == dict(
        evaluate(truth, scores, metrics=["auc.micro", "ap.macro"], sample_weight=weight)
    )


@pytest.mark.parametrize("level", ["below", 0.5])
def test_spilled_ranges_are_cut_anywhere(level: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    truth, scores = (rng.random((4000, 6)) < 0.2).astype(int), rng.normal(size=(4000, 6))
    weight = rng.random(4000) + 0.01
    names: Any = {"metrics": [*NAMES], "curve_points": 50, "per_label": True}
    names |= {"unlisted": level, "bounds": level == "below"}
    lists = np.argsort(-scores, axis=1)[:, :4]
    given = lists, np.take_along_axis(scores, lists, axis=1)
    whole = bits(evaluate(truth, given, sample_weight=weight, **names))
    n_ranges: list[int] = []
    before = weight_sums.Ranges.__init__

    def counted(self: Any, *arguments: Any) -> None:
        before(self, *arguments)
        n_ranges.append(self.n)

    monkeypatch.setattr(weight_sums.Ranges, "__init__", counted)
    parts = Evaluator(n_labels=6, memory="100kB", **names)
    for lo in range(0, 4000, 500):
        some = slice(lo, lo + 500)
        parts.update(truth[some], (given[0][some], given[1][some]), sample_weight=weight[some])
    assert bits(parts.compute()) == whole
    assert max(n_ranges) > 20


@given(st.integers(0, 2**62 - 1), st.integers(0, 2**52 - 1), st.integers(0, 2**52 - 1))
def test_sums_are_rounded_once(whole: int, first: int, second: int) -> None:
    for limbs in ([whole, first, second], [0, first, second], [0, 0, second], [whole >> 40, first, 0]):
        total = np.array(limbs, np.int64)
        assert kernels.round_sum(total) == float(Fraction(as_units(total), ONE))
        assert from_units(as_units(total)).tolist() == limbs


units = st.integers(0, 166).flatmap(lambda n: st.integers(0, (1 << n) - 1))


@given(st.lists(st.tuples(units, units), min_size=1, max_size=200))
def test_products_are_exact_and_rounded_once(pairs: list[tuple[int, int]]) -> None:
    total, digits = np.zeros(kernels.PRODUCTS, np.int64), np.zeros((2, kernels.N_DIGITS), np.int64)
    for number, pair in enumerate(pairs):
        for place, value in enumerate(pair):
            kernels.split_digits(from_units(value), digits[place])
        kernels.add_products(digits[0], digits[1], total)
        if number % kernels.UNCARRIED == kernels.UNCARRIED - 1:
            kernels.carry_products(total)
    kernels.carry_products(total)
    want = sum(one * other for one, other in pairs)
    assert sum(digit << kernels.DIGIT * place for place, digit in enumerate(total.tolist())) == want
    assert kernels.round_products(total) == float(Fraction(want, ONE * ONE))


@given(st.integers(0, 2**53 - 1), st.integers(0, 50), st.integers(0, 2**41))
def test_weights_are_added_many_times(mantissa: int, down: int, times: int) -> None:
    weight = math.ldexp(mantissa, -53 - down)
    weight = weight if weight >= 2.0**-50 else 0.0
    total = from_units(3)
    kernels.add_times(total, weight, times)
    assert as_units(total) == 3 + Fraction(weight) * ONE * times


@given(seed=seeds, n_words=st.sampled_from([1, 2]), sizes=st.lists(st.integers(0, 40), max_size=12))
def test_sums_by_key_are_those_of_a_dict(seed: int, n_words: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    sums, want = KeySums(n_words), dict[tuple[int, ...], Fraction]()
    for size in sizes:
        words = [rng.integers(-3, 4, size) for _ in range(n_words)]
        weight = rng.choice([0.0, 0.1, 2.0**-50, 1.0], size)
        sums.add(tabulated(words, weight))
        if rng.random() < 0.3:
            sums.spill()
        for *key, own in zip(*words, weight, strict=True):
            if own:
                name = tuple(map(int, key))
                want[name] = want.get(name, Fraction(0)) + Fraction(own)
    table = weight_sums.Ranges([sums], 1).load(0, 0)
    found = {tuple(row[:-3]): Fraction(as_units(np.array(row[-3:])), ONE) for row in table.tolist()}
    assert found == want
    assert list(found) == sorted(found)
    assert Fraction(as_units(sums.total), ONE) == sum(want.values())


def test_scales_of_terms_hold_every_total() -> None:
    for weight in (2.0**-30, 1.0, 2.0**59, 2.0**82):
        assert weight / HEAVIEST * scale_of(weight, HEAVIEST) < 2.0**63
    assert scale_of(3.0, HEAVIEST) == HEAVIEST
    assert MOST_ENTRIES == 2**62
