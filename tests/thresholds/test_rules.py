"""Decision rules: what holds at the edges of data, rounding and files, and what is refused in which words."""

from __future__ import annotations

import dataclasses
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import seeds
from xmleval import Evaluator, evaluate
from xmleval.files.saved import RULE, Saved, save_state
from xmleval.kernels.fixed import LIMBS, add_share
from xmleval.records import Ranking
from xmleval.thresholds import Rule, fit
from xmleval.thresholds.linear import check_features, least_squares, linear_values
from xmleval.view.decision import Decision, leading_scores

NAMES = ["f1.micro", "precision.micro", "hamming_loss"]


def sample(n: int = 40, n_labels: int = 5, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return (rng.random((n, n_labels)) < 0.4).astype(int), rng.normal(size=(n, n_labels))


@pytest.mark.parametrize("how", [{"unlisted": 0.0}, {"unlisted": 0.85}, {"conventions": "sklearn"}])
def test_labels_without_a_score_are_never_among_the_best(how: dict[str, Any]) -> None:
    truth = np.array([[1, 0, 0, 0], [0, 1, 1, 0]])
    stored = np.array([[1, 1, 0, 0], [0, 1, 0, 1]], bool)
    scores = sp.csr_array((np.array([0.9, 0.0, 0.8, -0.3]), np.nonzero(stored)), shape=(2, 4))
    lists = np.array([[0, 1, -1], [1, 3, -1]]), np.array([[0.9, 0, 7], [0.8, -0.3, 7]])
    by_rank, weighted = fit(truth, scores, "f1.micro", rule="rank"), fit(truth, abs(scores), "f1.macro@3")
    forms, chances = (scores, lists), (abs(scores), (lists[0], abs(lists[1])))
    for rule in (fit(truth, scores, rule="top", k=3), by_rank, weighted):
        for given_as in chances if rule is weighted else forms:
            sets = rule.apply(given_as)
            assert sets.nnz == min(2, rule.decision.value) * 2
            direct = evaluate(truth, given_as, decision=rule, metrics=NAMES, per_label=True, **how)
            by_sets = evaluate(truth, y_pred=sets, metrics=NAMES, per_label=True, **how)
            assert dict(direct) == dict(by_sets)
            np.testing.assert_array_equal(direct.per_label()["tp"], by_sets.per_label()["tp"])
    by_name = evaluate(truth, scores, decision="top3", metrics=["precision.micro"], unlisted=0.0)
    assert by_name["precision.micro"] == 0.5  # of six labels: unlisted ones compete here


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("unlisted", [0.7, 5e-324, -5e-324, 0.1, -1e300])
def test_rules_go_with_the_unlisted_score_they_were_fitted_with(dtype: str, unlisted: float) -> None:
    truth = np.array([[1, 1, 0, 0], [0, 1, 0, 0]])
    dense = np.array([[0.9, 0.75, 0, 0], [0, 0.8, 0, 0]], dtype)
    lists = np.array([[0, 1], [1, -1]]), np.array([[0.9, 0.75], [0.8, 0]], dtype)
    for rule, measure in (("constant", "f1.micro"), ("label", "f1.macro"), ("cardinality", None)):
        for scores in (dense, lists):
            found = fit(truth, scores, measure, rule=rule, unlisted=unlisted)
            direct = evaluate(truth, scores, decision=found, metrics=NAMES, unlisted=unlisted)
            assert dict(direct) == dict(evaluate(truth, y_pred=found.apply(scores), metrics=NAMES))


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_scores_are_refused_by_linear_rules_alike(value: float) -> None:
    truth, scores = sample()
    rule = fit(truth, scores, "f1.samples", rule="row", k=5)
    wild = scores.copy()
    wild[7, 2] = value
    said = rf"^y_score: row 7: score {value} is infinite; a linear rule needs finite ones$"
    with pytest.raises(ValueError, match=said):
        fit(truth, wild, "f1.samples", rule="row", k=5)
    with pytest.raises(ValueError, match=said):
        rule.apply(wild)
    for block_rows in (3, 100):
        with pytest.raises(ValueError, match=said):
            evaluate(truth, wild, decision=rule, metrics=NAMES, block_rows=block_rows)
    evaluate(truth, wild, decision=rule, metrics=["f1.samples@2"])  # makes no sets of the rule
    short = fit(truth, scores, "f1.samples", rule="row", k=1)
    if value < 0:
        assert (short.apply(wild) != short.apply(scores)).nnz == 0  # it does not look there
    features = np.eye(40)
    if value < 0:
        fit(truth, wild, "f1.samples", rule="row", features=features)


def exact_best(truth: Any, scores: Any) -> float:
    """Return the highest of the best thresholds by exact fractions."""

    def f1(y: set[int], h: set[int]) -> Fraction:
        return Fraction(2 * len(y & h), len(y) + len(h)) if y or h else Fraction(0)

    def value(t: float) -> Fraction:
        rows = zip(truth, scores, strict=True)
        return sum((f1({*np.flatnonzero(y)}, {*np.flatnonzero(s > t)}) for y, s in rows), Fraction())

    levels = sorted({-math.inf, *scores.ravel().tolist()}, reverse=True)  # above the highest there is none
    return float(max(levels, key=value))


@given(seeds)
def test_equals_are_equal_as_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 6), rng.integers(2, 8)
    truth, scores = (rng.random((m, n)) < 0.5).astype(int), rng.random((m, n))
    assert fit(truth, scores, "f1.samples").decision.value == exact_best(truth, scores)


def test_three_times_two_thirds_are_two() -> None:
    truth = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    scores = np.array([[6.0, 1.0, 0.0], [8.0, 5.0, 3.0], [4.0, 2.0, 7.0]])
    assert fit(truth, scores, "f1.samples").decision.value == 3.0  # as 1 + 1/2 + 1/2 at 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 1 << 36)), min_size=1, max_size=20))
def test_shares_add_up(parts: list[tuple[int, int]]) -> None:
    total = np.zeros(LIMBS, np.int64)
    shares = [(min(part, whole), whole) for part, whole in parts]
    for part, whole in shares:
        add_share(total, part, whole, 1)
    value = sum((Fraction(int(limb), 1 << 52 * i) for i, limb in enumerate(total)), Fraction())
    want = sum((Fraction(*share) for share in shares), Fraction())
    assert 0 <= want - value < Fraction(len(shares), 1 << 104)
    for part, whole in shares:
        add_share(total, part, whole, -1)
    assert not total.any()


@pytest.mark.parametrize("scale", [[1e-6, 1, 1e3, 1e6, 1, 1e8], [1e-300, 1, 1, 1e150, 1, 1e300]])
def test_sparse_and_dense_features_give_one_model(scale: list[float]) -> None:
    truth, scores = sample(60)
    features = np.random.default_rng(1).normal(size=(60, 6)) * np.array(scale)
    same_units = fit(truth, scores, "f1.samples", rule="row", features=features / np.array(scale))
    for given_as in (features, sp.csr_array(features), sp.coo_array(features)):
        rule = fit(truth, scores, "f1.samples", rule="row", features=given_as)
        weights = rule.decision.numbers * np.array([1, *scale])
        np.testing.assert_allclose(weights, same_units.decision.numbers, rtol=1e-7)
        assert (rule.apply(scores, features=given_as) != rule.apply(scores, features=features)).nnz == 0


def test_columns_that_repeat_others_share_the_weight() -> None:
    rng = np.random.default_rng(2)
    once, wanted = rng.normal(size=(50, 3)), rng.normal(size=50)
    twice = np.hstack([once, once[:, :1] * 1000, np.zeros((50, 1))])
    dense = least_squares("features", twice, wanted)
    np.testing.assert_allclose(
        least_squares("features", sp.csr_array(twice), wanted), dense, rtol=1e-7, atol=1e-12
    )
    assert dense[1] == pytest.approx(dense[4] * 1000)
    assert dense[5] == 0


def test_models_that_do_not_settle_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    monkeypatch.setattr("xmleval.thresholds.linear.MAX_STEPS", 2)
    with pytest.raises(ValueError, match=r"^features: least squares did not converge in 2 steps"):
        least_squares("features", sp.csr_array(rng.normal(size=(50, 9))), rng.normal(size=50))
    tiny = np.array([[1.0, 1e-308], [1.0, 1.001e-308], [1.0, 1e-308]])
    with pytest.raises(ValueError, match=r"^features: no finite weight for column 1"):
        least_squares("features", tiny, np.array([0.0, 1.0, 0.1]))
    for form in (np.asarray, sp.csr_array):
        weights = least_squares("features", form(tiny / 1e10), np.array([0.0, 9.0, 1.0]))
        assert weights[2] == 0.0


@pytest.mark.parametrize("width", [3, 17, 100])
def test_thresholds_of_features_do_not_depend_on_other_rows(width: int) -> None:
    rng = np.random.default_rng(width)
    weights, features = rng.normal(size=width + 1), rng.normal(size=(200, width))
    features *= rng.random(features.shape) < 0.7
    whole = linear_values(weights, features)
    order = np.asfortranarray(features)
    for size in (1, 3, 64):
        for given_as in (features, order, sp.csr_array(features)):
            parts = [given_as[lo : lo + size] for lo in range(0, 200, size)]
            cut = [linear_values(weights, check_features(part, part.shape[0])) for part in parts]
            np.testing.assert_array_equal(np.concatenate(cut), whole)


def test_features_keep_to_the_unlisted_score() -> None:
    truth, scores = sample(60)
    sparse = sp.csr_array(scores * (np.random.default_rng(4).random(scores.shape) < 0.6))
    features = np.random.default_rng(5).normal(size=(60, 3))
    rule = fit(truth, sparse, "f1.samples", rule="row", features=features, unlisted=0.5)
    sets = rule.apply(sparse, features=features)
    assert sets.nnz
    assert sparse.toarray()[sets.toarray()].min() > 0.5


def test_rules_for_other_labels_are_refused() -> None:
    truth, scores = sample(n_labels=8)
    rules = [("constant", "f1.micro"), ("rank", "f1.micro"), ("row", "f1.samples"), ("label", "f1.macro")]
    for rule, measure in rules:
        found = fit(truth, scores, measure, rule=rule)
        with pytest.raises(ValueError, match=r"^decision=.* has 8 labels; 3 were expected$"):
            evaluate(np.eye(3, dtype=int), np.eye(3), decision=found, metrics=NAMES)
        with pytest.raises(ValueError, match=r"has 3 labels; 8 were expected$"):
            found.apply(np.eye(3))


@pytest.mark.parametrize(("level", "want"), [(-5.0, [-5.0] * 5), (math.nan, [0.0] * 5)])
def test_rows_with_fewer_labels_than_a_model_looks_at(level: float, want: list[float]) -> None:
    around = np.full(100, 7.0)
    none = Ranking(np.zeros(3, np.int64), np.empty(0, np.int32), around[50:50], np.zeros(2, np.int64))
    unlisted = None if math.isnan(level) else level
    assert leading_scores(none, 3, unlisted, 5).tolist() == [want, want]
    scores = np.array([2.0, 1.0, -6.0])
    full = Ranking(np.array([0, 3]), np.arange(3, dtype=np.int32), scores, np.array([2]))
    assert leading_scores(full, 3, -5.0, 5).tolist() == [[2.0, 1.0, -6.0, -6.0, -6.0]]


def test_a_rule_stays_what_its_name_tells() -> None:
    truth, scores = sample()
    rule = fit(truth, scores, "f1.macro", rule="label")
    with pytest.raises(ValueError, match="read-only"):
        rule.decision.numbers[0] = 99
    own = np.arange(3.0)
    decision = Decision("labels", 0.0, own, "label")
    name = str(decision)
    own[:] = 7
    assert decision.numbers.tolist() == [0.0, 1.0, 2.0]
    assert str(dataclasses.replace(decision)) == name


def test_rules_for_labels_in_another_order() -> None:
    truth, scores = sample()
    rule = fit(truth, scores, "f1.macro", rule="label")
    with pytest.raises(ValueError, match="was fitted without label names, so it cannot match names"):
        rule.for_labels(["a", "b"])
    named = dataclasses.replace(rule, label_names=tuple("abcde"))
    other = named.for_labels(list("ecxab"))
    thresholds = rule.decision.numbers
    assert other.decision.numbers.tolist() == [*thresholds[[4, 2]], math.inf, *thresholds[:2]]
    assert (other.n_labels, other.label_names) == (5, tuple("ecxab"))
    assert fit(truth, scores, "f1.micro").for_labels(["a"]).n_labels == 1


def test_names_are_saved(tmp_path: Path) -> None:
    truth, scores = sample()
    named = dataclasses.replace(
        fit(truth, scores, "f1.macro", rule="label"), label_names=("ä", "b", "c c", "d", "e")
    )
    named.save(tmp_path / "rule.npz")
    assert Rule.load(tmp_path / "rule.npz").label_names == named.label_names


LABEL = {"measure": "f1.macro", "rule": "label"}
GOOD = {
    "rule": "constant",
    "measure": "f1.micro",
    "n_labels": 4,
    "decision": ["threshold", "0.5", ""],
    "label_names": None,
}
ROW = {"rule": "row", "measure": "f1.samples"}
TOP = {"rule": "top", "measure": None}


@pytest.mark.parametrize(
    ("meta", "numbers"),
    [
        ({"decision": ["labels", "0", "x"]}, [0.0] * 4),
        ({"decision": ["top", "2", ""]}, []),
        ({"decision": ["pred", None, ""]}, []),
        ({"decision": ["threshold", "nan", ""]}, []),
        ({"decision": ["threshold", "0.5", ""]}, [1.0]),
        ({"decision": ["threshold", "1_0", ""]}, []),
        ({"decision": ["threshold", 0.5, ""]}, []),
        ({**TOP, "decision": ["listed", "2.5", ""]}, []),
        ({**TOP, "decision": ["listed", "inf", ""]}, []),
        ({**TOP, "decision": ["listed", "0", ""]}, []),
        ({**TOP, "decision": ["threshold", "0.5", ""]}, []),
        ({**ROW, "decision": ["rows", None, "x"]}, [math.inf, 1.0]),
        ({**ROW, "decision": ["rows", None, "x"]}, [1.0]),
        ({**ROW, "decision": ["rows", None, "x"]}, [1.0] * 6),
        ({**ROW, "decision": ["rows", None, "x\ny"]}, [1.0] * 3),
        ({**ROW, "decision": ["rows", None, ""]}, [1.0] * 3),
        ({**ROW, "decision": ["features", None, "x"]}, [1.0]),
        ({**ROW, "measure": "f1.macro", "decision": ["features", None, "x"]}, [1.0, 2.0]),
        ({**LABEL, "decision": ["labels", "0", "x"]}, [1.0] * 3),
        ({**LABEL, "decision": ["labels", "0", "x"]}, [math.nan] * 4),
        ({"rule": "cardinality"}, []),
        ({"rule": ["constant"]}, []),
        ({"measure": None}, []),
        ({"measure": 5}, []),
        ({"n_labels": -3}, []),
        ({"n_labels": "4"}, []),
        ({"n_labels": 4.0}, []),
        ({"n_labels": True}, []),
        ({"n_labels": 2**50}, []),
        ({"label_names": ["a", "b"]}, []),
        ({"label_names": ["a", "b", "c", "a"]}, []),
        ({"label_names": ["a", "b", "c", 4.5]}, []),
        ({"label_names": "abcd"}, []),
    ],
)  # fmt: skip
def test_files_that_hold_no_rule_are_refused(
    tmp_path: Path, meta: dict[str, Any], numbers: list[float]
) -> None:
    path = tmp_path / "rule.npz"
    save_state(path, Saved(GOOD, {"numbers": np.empty(0)}), RULE)
    assert Rule.load(path).decision == Decision("threshold", 0.5)
    save_state(path, Saved({**GOOD, **meta}, {"numbers": np.array(numbers, np.float64)}), RULE)
    with pytest.raises(ValueError, match=r"^[^\n]*rule\.npz: not a saved rule, or damaged \([^\n]*\)$"):
        Rule.load(path)
    save_state(path, Saved(GOOD, {"numbers": np.empty(0), "more": np.empty(0)}), RULE)
    with pytest.raises(ValueError, match=r"rule\.npz: not a saved rule, or damaged"):
        Rule.load(path)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array])
def test_features_that_are_no_numbers_are_named(form: Any) -> None:
    truth, scores = sample()
    features = np.random.default_rng(0).random((40, 3))
    features[7, 1] = math.nan
    with pytest.raises(ValueError, match=r"^features: row 7: nan in column 1 is not a finite number"):
        fit(truth, scores, "f1.samples", rule="row", features=form(features))
    with pytest.raises(ValueError, match=r"^features: dtype complex128 does not hold real numbers"):
        fit(truth, scores, "f1.samples", rule="row", features=form(features + 1j))


def test_damaged_sparse_features_are_refused() -> None:
    truth, scores = sample(3)
    features = sp.csr_array(np.eye(3))
    features.indices[2] = 77
    with pytest.raises(ValueError, match=r"^features: not a valid sparse matrix"):
        fit(truth, scores, "f1.samples", rule="row", features=features)
    features = sp.csr_array(np.eye(3))
    features.indptr[1:3] = 2**30 + 2**29, -(2**30)  # whose difference is positive in int32
    with pytest.raises(ValueError, match=r"^features: not a valid sparse matrix: indptr is falling"):
        fit(truth, scores, "f1.samples", rule="row", features=features)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"measure": 5}, "measure: 5 is not a name"),
        ({"measure": "f1.micro", "rule": ["top"]}, r"rule: \['top'\] is not one of constant"),
        ({**LABEL, "fbr": "x"}, r"fbr: 'x' is not a number"),
        ({**LABEL, "fbr": math.nan}, r"fbr: nan is not within 0\.\.1"),
        ({**LABEL, "fbr": 0.1, "fallback": ["never"]}, r"fallback: \['never'\] is"),
        ({**ROW, "features": [["a"]] * 40}, "features: dtype <U1 does not hold"),
        ({**ROW, "features": np.empty((40, 0))}, r"features: shape \(40, 0\) has no"),
        ({**ROW, "features": np.empty(40)}, r"features: shape \(40,\) does not"),
        ({"rule": "top", "k": "x"}, "k: 'x' is not a positive integer"),
    ],
)  # fmt: skip
def test_arguments_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        fit(*sample(), **arguments)


def test_rules_are_applied_to_scores() -> None:
    with pytest.raises(ValueError, match=r"^y_score: missing; a rule is applied to scores"):
        fit(*sample(), "f1.micro").apply(None)


def test_saved_evaluators_keep_a_rule_of_ranks(tmp_path: Path) -> None:
    truth, scores = sample()
    rule = fit(truth, scores, rule="top", k=2)
    ev = Evaluator(NAMES, n_labels=5, decision=rule)
    ev.update(truth, scores)
    ev.save(tmp_path / "state.npz")
    again = Evaluator.load(tmp_path / "state.npz").compute()
    assert again.to_json() == ev.compute().to_json()
    assert "decision=listed2" in again.signature()


def test_names_of_a_rule_are_not_left_out_in_silence() -> None:
    names = list("abcde")
    truth, scores = sample()
    named = dataclasses.replace(fit(truth, scores, "f1.macro", rule="label"), label_names=tuple(names))
    expected = dict(
        evaluate(truth, scores, metrics=["f1.macro"], decision=dataclasses.replace(named, label_names=None))
    )
    for decide in (
        lambda **more: evaluate(truth, scores, metrics=["f1.macro"], decision=named, **more),
        lambda **more: Evaluator(["f1.macro"], n_labels=5, decision=named, **more),
    ):
        with pytest.raises(
            ValueError, match=r"^decision: knows labels by name, and y_true has none; give label"
        ):
            decide()
    assert dict(evaluate(truth, scores, metrics=["f1.macro"], decision=named, labels=names)) == expected
    ev = Evaluator(["f1.macro"], labels=names, decision=named)
    ev.update(truth, scores)
    assert dict(ev.compute()) == expected
    with pytest.warns(
        UserWarning, match="y_score has no names: its columns are taken in the order of the rule"
    ):
        found = named.apply(scores)
    rows = [dict(zip(names, row, strict=True)) for row in np.asarray(scores).tolist()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (named.apply(rows) != found).nnz == 0
        constant = dataclasses.replace(fit(truth, scores, "f1.micro"), label_names=tuple(names))
        constant.apply(scores)  # one threshold needs no names
        evaluate(truth, scores, metrics=["f1.micro"], decision=constant)


def test_rules_know_labels_that_are_integers(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    names = [5, 3, 1, 4, 2]
    truth, scores = (pd.DataFrame(rows, columns=names) for rows in sample())
    rule = fit(truth, scores, "f1.macro", rule="label")
    rule.save(tmp_path / "rule.npz")
    expected = evaluate(truth, scores, metrics=["f1.macro"], decision=rule)["f1.macro"]
    for known in (rule, Rule.load(tmp_path / "rule.npz")):
        assert known.label_names == (5, 3, 1, 4, 2)
        turned = truth[sorted(names)], scores[sorted(names)]
        assert evaluate(*turned, metrics=["f1.macro"], decision=known)["f1.macro"] == expected
    with pytest.raises(ValueError, match=r"knows none of these labels: 5 is unlike '5'$"):
        rule.for_labels(["5", "3"])
    unnamed = [pd.DataFrame(rows) for rows in sample()]
    assert fit(unnamed[0], unnamed[1], "f1.macro").label_names is None
