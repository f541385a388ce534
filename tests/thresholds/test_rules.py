"""Decision rules: features, names of labels, files, and refused arguments."""

import dataclasses
import json
import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.limits import small_limits
from xmleval import Evaluator, Running, evaluate
from xmleval.thresholds import Rule, fit
from xmleval.view.linear import check_features, linear_values

LABEL: dict[str, Any] = {"measure": "f1.macro", "rule": "label"}
ROW: dict[str, Any] = {"rule": "row", "measure": "f1.samples"}
NAMES = ["f1.micro", "precision.micro", "hamming_loss"]
EYE = np.eye(2, dtype=int)
UNDEFINED = [[0, 1], [0, math.nan]]


def with_pointer(pointer: list[int], columns: Any = (0, 1)) -> Any:
    """Return a sparse matrix of two rows whose arrays need not be valid."""
    matrix = sp.csr_array(np.eye(2))
    matrix.indptr = np.array(pointer, np.int32)
    matrix.indices = np.array(columns, np.int32)
    return matrix


def sample(n: int = 40, n_labels: int = 5) -> tuple[Any, Any]:
    """Return truth and scores."""
    rng = np.random.default_rng(0)
    truth = (rng.random((n, n_labels)) < 0.4).astype(int)
    return truth, rng.normal(size=(n, n_labels))


def label_rule() -> Rule:
    return fit(*sample(), "f1.macro", rule="label")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("unlisted", [0.7, 5e-324, -5e-324, 0.1, -1e300])
def test_apply_takes_the_unlisted_score_of_the_fit(dtype: str, unlisted: float) -> None:
    truth = np.array([[1, 1, 0, 0], [0, 1, 0, 0]])
    dense = np.array([[0.9, 0.75, 0, 0], [0, 0.8, 0, 0]], dtype)
    lists = np.array([[0, 1], [1, -1]]), np.array([[0.9, 0.75], [0.8, 0]], dtype)
    conventions = {"unlisted": unlisted}
    for rule, measure in (("constant", "f1.micro"), ("label", "f1.macro"), ("cardinality", None)):
        for scores in (dense, lists):
            decision = fit(truth, scores, measure, rule=rule, conventions=conventions)
            options: dict[str, Any] = {"metrics": NAMES, "conventions": conventions}
            direct = evaluate(truth, scores, decision=decision, **options)
            sets = decision.apply(scores)
            assert dict(direct) == dict(evaluate(truth, y_pred=sets, metrics=NAMES))


@pytest.mark.parametrize("scale", [[1e-6, 1, 1e3, 1e6, 1, 1e8], [1e-300, 1, 1, 1e150, 1, 1e300]])
def test_fit_gives_one_model_for_sparse_and_dense_features(scale: list[float]) -> None:
    truth, scores = sample(60)
    features = np.random.default_rng(1).normal(size=(60, 6)) * np.array(scale)
    same_units = fit(truth, scores, **ROW, features=features / np.array(scale))
    for matrix in (features, sp.csr_array(features), sp.coo_array(features)):
        rule = fit(truth, scores, **ROW, features=matrix)
        weights = rule.decision.numbers * np.array([1, *scale])
        np.testing.assert_allclose(weights, same_units.decision.numbers, rtol=1e-7)
        sets = rule.apply(scores, features=matrix)
        expected = rule.apply(scores, features=features)
        assert (sets != expected).nnz == 0


def test_fit_shares_the_weight_among_repeated_columns() -> None:
    once = np.random.default_rng(2).normal(size=(40, 3))
    twice = np.hstack([once, once[:, :1] * 1000, np.zeros((40, 1))])
    dense, sparse = (
        fit(*sample(), **ROW, features=form(twice)).decision.numbers
        for form in (np.asarray, sp.csr_array)
    )
    np.testing.assert_allclose(sparse, dense, rtol=1e-7, atol=1e-12)
    assert dense[1] == pytest.approx(dense[4] * 1000)
    assert dense[5] == 0


@pytest.mark.parametrize(
    ("unlisted", "second"), [(0, False), (-0.5, False), (-0.75, True), ("below", True)]
)
def test_rule_of_features_predicts_labels_above_unlisted_ones(unlisted: Any, second: bool) -> None:
    """Thresholds, 0.6 and 0.8 of the rows that it is fitted to, fall with the feature below 0."""
    truth = np.array([[1, 0], [1, 0]])
    scores = np.array([[0.9, 0.3], [0.9, 0.7]])
    conventions = {"unlisted": unlisted}
    rule = fit(truth, scores, **ROW, features=[[1.0], [2.0]], conventions=conventions)
    sets = rule.apply(np.array([[0.5, -0.5]]), features=[[-9.0]])
    assert sets.toarray().tolist() == [[True, second]]


@pytest.mark.parametrize("width", [3, 17, 100])
def test_linear_values_do_not_depend_on_other_rows(width: int) -> None:
    rng = np.random.default_rng(width)
    weights = rng.normal(size=width + 1)
    features = rng.normal(size=(200, width))
    features *= rng.random(features.shape) < 0.7
    whole = linear_values(weights, features)
    for size in (1, 3, 64):
        for form in (np.asarray, np.asfortranarray, sp.csr_array):
            values = []
            for start in range(0, 200, size):
                rows = form(features)[start : start + size]
                values.append(linear_values(weights, check_features(rows, rows.shape[0])))
            np.testing.assert_array_equal(np.concatenate(values), whole)


def test_for_labels_matches_thresholds_by_name() -> None:
    truth, scores = sample()
    names = list("abcde")
    rule = label_rule()
    message = "was fitted without label names, so it cannot match names"
    with pytest.raises(ValueError, match=message):
        rule.for_labels(["a", "b"])
    assert fit(truth, scores, "f1.micro").for_labels(["a"]).n_labels == 1
    named = dataclasses.replace(rule, label_names=(*names,))
    thresholds = rule.decision.numbers
    turned = named.for_labels(list("ecxab"))
    assert turned.decision.numbers.tolist() == [*thresholds[[4, 2]], math.inf, *thresholds[:2]]
    assert turned.n_labels == 5
    assert turned.label_names == tuple("ecxab")
    options: dict[str, Any] = {"metrics": ["f1.macro"], "decision": named}
    message = r"^decision: has names of labels, but y_true has none; give label"
    with pytest.raises(ValueError, match=message):
        evaluate(truth, scores, **options)
    expected = evaluate(truth, scores, metrics=["f1.macro"], decision=rule)["f1.macro"]
    assert evaluate(truth, scores, labels=names, **options)["f1.macro"] == expected
    message = "has no names: its columns are taken in the order of the rule"
    with pytest.warns(UserWarning, match=message):
        sets = named.apply(scores)
    rows = [dict(zip(names, row, strict=True)) for row in scores.tolist()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_name = [[names[label] for label in np.flatnonzero(row)] for row in sets.toarray()]
        assert named.apply(rows) == by_name
        constant = dataclasses.replace(fit(truth, scores, "f1.micro"), label_names=(*names,))
        constant.apply(scores)  # one threshold needs no names
        evaluate(truth, scores, metrics=["f1.micro"], decision=constant)


def test_for_labels_matches_weights_by_name() -> None:
    truth = np.array(
        [
            [1, 0],
            [0, 1],
            [0, 1],
        ]
    )
    scores = np.array(
        [
            [0.9, 0.3],
            [0.6, 0.5],
            [0.7, 0.4],
        ]
    )
    rule = fit(truth, scores, "f1.macro@1", labels=["a", "b"])
    a, b = rule.decision.numbers.reshape(2, 2).T.tolist()
    swapped = rule.for_labels(["b", "new", "a"])
    assert swapped.decision.numbers.reshape(2, 3).T.tolist() == [b, [0.0, -1e300], a]
    sets = dataclasses.replace(swapped, label_names=None).apply(np.array([[0.1, 0.9, 0.1]]))
    assert sets.indices.tolist() != [1]


def test_rule_keeps_names_that_are_integers(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    names = [5, 3, 1, 4, 2]
    truth, scores = (pd.DataFrame(rows, columns=names) for rows in sample())
    rule = fit(truth, scores, "f1.macro", rule="label")
    rule.save(tmp_path / "rule.npz")
    expected = evaluate(truth, scores, metrics=["f1.macro"], decision=rule)["f1.macro"]
    turned = truth[sorted(names)], scores[sorted(names)]
    for decision in (rule, Rule.load(tmp_path / "rule.npz")):
        assert decision.label_names == (5, 3, 1, 4, 2)
        report = evaluate(*turned, metrics=["f1.macro"], decision=decision)
        assert report["f1.macro"] == expected
    with pytest.raises(ValueError, match=r"has none of these labels: it has 5, the input '5'$"):
        rule.for_labels(["5", "3"])
    unnamed = [pd.DataFrame(rows) for rows in sample()]
    assert fit(unnamed[0], unnamed[1], "f1.macro").label_names is None


def test_rule_has_read_only_numbers() -> None:
    with pytest.raises(ValueError, match="read-only"):
        label_rule().decision.numbers[0] = 99
    numbers = np.arange(5.0)
    decision = dataclasses.replace(label_rule().decision, numbers=numbers)
    numbers[:] = 7
    assert decision.numbers.tolist() == [0, 1, 2, 3, 4]


DAMAGE: list[tuple[dict[str, Any], list[float]]] = [
    ({}, []),  # no damage
    ({"decision": ["labels", "0", "x"]}, [0.0] * 4),
    ({"decision": ["threshold", "nan", ""]}, []),
    ({"decision": ["threshold", "1_0", ""]}, []),
    ({"decision": ["threshold", "0.5", ""]}, [1.0]),
    ({"decision": ["threshold", 0.5, ""]}, []),
    ({"rule": "top", "measure": None, "decision": ["listed", "2.5", ""]}, []),
    ({**ROW, "decision": ["rows", None, "x"]}, [math.inf, 1.0]),
    ({**ROW, "decision": ["rows", None, "x"]}, [1.0] * 6),
    ({**ROW, "decision": ["rows", None, "x\ny"]}, [1.0] * 3),
    ({**ROW, "measure": "f1.macro", "decision": ["features", None, "x"]}, [1.0, 2.0]),
    ({**LABEL, "decision": ["labels", "0", "x"]}, [1.0] * 3),
    ({**LABEL, "decision": ["labels", "0", "x"]}, [math.nan] * 4),
    ({"n_labels": -3}, []),
    ({"n_labels": "4"}, []),
    ({"n_labels": 2**50}, []),
    ({"label_names": ["a", "b"]}, []),
    ({"label_names": [*"abca"]}, []),
    ({"label_names": ["a", "b", "c", 4.5]}, []),
    ({"rule": "cardinality"}, []),
    ({"measure": None}, []),
]


def test_load_refuses_files_without_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "rule.npz"
    message = r"^[^\n]*rule\.npz: not a saved rule, or damaged \([^\n]*\)$"
    fit(np.eye(4, dtype=int), np.eye(4), "f1.micro").save(path)
    with np.load(path) as archive:
        meta = json.loads(archive["meta"].tobytes())
    for change, numbers in DAMAGE:
        changed = np.frombuffer(json.dumps(meta | change).encode(), np.uint8)
        np.savez(path, meta=changed, numbers=np.array(numbers, np.float64))
        if change:
            with pytest.raises(ValueError, match=message):
                Rule.load(path)
        else:
            assert str(Rule.load(path).decision) == "threshold0"
    Evaluator("p@1", n_labels=3).save(path)
    with pytest.raises(ValueError, match="not a saved rule"):
        Rule.load(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "lrap"}, "measure: 'lrap': rules can only be tuned to hamming_loss, "),
        ({"measure": "f1"}, "measure: 'f1': needs an average"),
        ({"measure": "p"}, "measure: 'p': p needs a cutoff, as in @5"),
        ({"measure": 3}, "measure: 3 is not a name"),
        ({"measure": None}, "measure: not given: rule='constant' is tuned to hamming_loss, f1.mi"),
        (
            {"measure": "f1.micro", "rule": "lable"},
            "rule: 'lable' is not one of constant, cardinality, label, rank, given, row, top, weig",
        ),
        ({"measure": "f1.micro", "rule": 3}, "rule: 3 is not one of constant, "),
        (
            {"measure": "f1.micro", "conventions": "labels=present"},
            "conventions: labels has no effect on rules, which only read unlisted",
        ),
        (
            {"measure": "f1.micro", "conventions": {"labels": "present", "unlisted": 0}},
            "conventions: labels has no effect on rules",
        ),
        ({**LABEL, "fbr": "x"}, "fbr: 'x' is not a number"),
        ({**LABEL, "fbr": 0.1, "fallback": "neverr"}, "fallback: 'neverr' is not one of "),
        ({"measure": "f1.micro", "y_score": None}, "y_score: missing; a rule is fitted to scores"),
        (
            {**ROW, "k": 1, "y_score": sp.csr_array((2, 2))},
            "y_score: no row has a score that can be a threshold",
        ),
        (
            {"measure": "f1.micro", "y_score": np.ones((3, 2))},
            "y_score: 3 rows do not match the 2 of y_true",
        ),
        ({"measure": "f1.micro", "rule": "label"}, "measure: 'f1.micro': rule='label' is tuned to"),
        (
            {"measure": "f1.micro", "rule": "top"},
            "measure: 'f1.micro': rule='top' takes no measure",
        ),
        ({"measure": "f1.macro@3", "k": 2}, "k: not for rule='weighted'"),
        ({"rule": "top", "k": 0}, "k: 0 is not a positive integer"),
        ({"rule": "top", "k": 1, "conventions": "unlisted=0"}, "unlisted: not for rule='top'"),
        (
            {"measure": "f1.micro", "conventions": "unlisted=x"},
            'conventions="unlisted=x" is neither',
        ),
        ({"measure": "hamming_loss", "rule": "label", "fbr": 0.1}, "fbr: not for rule='label'"),
        ({**LABEL, "fbr": 2}, "fbr: 2 is not within 0..1"),
        ({**LABEL, "fallback": "never"}, "fallback: not for"),
        ({"measure": "f1.micro", "features": EYE}, "features: not for rule='constant'"),
        (
            {"measure": "f1.samples", "rule": "row", "features": EYE, "k": 2},
            "k: not for rule='row'",
        ),
        ({**ROW, "features": np.eye(3)}, "features: shape (3, 3) does"),
        ({**ROW, "features": EYE + 1j}, "features: dtype complex128 is not a type of real numbers"),
        (
            {**ROW, "features": sp.csr_array(EYE + 1j)},
            "features: dtype complex128 is not a type of real numbers",
        ),
        ({**ROW, "features": np.empty((2, 0))}, "features: shape (2, 0) has no columns"),
        ({**ROW, "features": sp.csr_array((2, 0))}, "features: shape (2, 0) has no columns"),
        ({**ROW, "features": np.ones(2)}, "features: shape (2,) does not match 2 rows"),
        (
            {**ROW, "features": with_pointer([0, 2, 1])},
            "features: not a valid sparse matrix: indptr is falling",
        ),
        (
            {**ROW, "features": with_pointer([0, 1, 2], [0, 7])},
            "features: not a valid sparse matrix: ",
        ),
        ({**ROW, "features": np.array(UNDEFINED)}, "features: row 1: nan in column 1 is"),
        ({**ROW, "features": sp.csr_array(UNDEFINED)}, "features: row 1: nan in column 1 is"),
        ({**ROW, "features": sp.coo_array(UNDEFINED)}, "features: row 1: nan in column 1 is"),
        ({"measure": "f1.micro", "y_score": (EYE, None)}, "y_score: thresholds need scores"),
        (
            {"measure": "f1.micro", "y_score": EYE[:1]},
            "y_score: 1 row does not match the 2 of y_true",
        ),
        (
            {"measure": "f1.micro", "y_score": np.array([[0, 1], [math.nan, 0]])},
            "y_score: row 1: score nan",
        ),
        (
            {**ROW, "y_score": np.array([[0, 1], [math.inf, 0]])},
            "y_score: row 1: score inf is infinite",
        ),
    ],
)
def test_fit_refuses_by_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        fit(**{"y_true": EYE, "y_score": EYE} | arguments)


def test_apply_and_evaluate_refuse_rules_that_do_not_fit_the_data() -> None:
    label = fit(EYE, EYE, "f1.macro", rule="label")
    by_scores = fit(EYE, EYE, "f1.samples", rule="row")
    by_features = fit(EYE, EYE, **ROW, features=EYE)
    sparse = sp.csr_array(np.eye(2))
    lists = (np.array([[0], [1]]), None)
    weighted = fit(EYE, EYE, "f1.macro@1")

    def sets(
        rule: Rule, y_score: Any = EYE, y_true: Any = EYE, **options: Any
    ) -> Callable[[], Any]:
        return partial(evaluate, y_true, y_score, metrics="sets", decision=rule, **options)

    logits = np.array([[0.5, 0.25], [0.5, -0.5]])
    three = np.eye(3)
    improbable = (
        "y_score: row 1: score -0.5 of label 1 is outside 0..1; a weighted rule needs probabilities"
    )
    in_blocks: dict[str, Any] = {
        "conventions": "unlisted=0",
        "running": Running(block_rows=1),
    }
    refused: list[tuple[str, Callable[[], Any]]] = [
        ("y_score: missing; a rule is applied to scores", lambda: label.apply(None)),
        ("needs scores; this list has none", sets(label, lists)),
        ("would predict every unlisted label", sets(label, sparse, conventions="unlisted=0.5")),
        (
            'was not fitted with conventions="unlisted=0.0"',
            sets(by_scores, conventions="unlisted=0"),
        ),
        ("reads features; apply the rule and pass y_pred=", sets(by_features)),
        (improbable, lambda: weighted.apply(logits)),
        (improbable, sets(weighted, sp.csr_array(logits), **in_blocks)),
        ("has 2 labels; 3 were expected", sets(label, three, three)),
    ]
    rules = (label, by_scores, weighted, fit(EYE, EYE, "f1.micro", rule="rank"))
    refused += [("has 3 labels; 2 were expected", partial(rule.apply, three)) for rule in rules]
    for message, call in refused:
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_linear_rules_refuse_infinite_scores(value: float) -> None:
    truth, scores = sample()
    rule = fit(truth, scores, **ROW, k=5)
    wild = scores.copy()
    wild[7, 2] = value
    message = rf"^y_score: row 7: score {value} is infinite; a linear rule needs"
    calls: list[Callable[..., Any]] = [
        partial(fit, truth, **ROW, k=5),
        rule.apply,
        partial(evaluate, truth, decision=rule, metrics=NAMES),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call(y_score=wild)
    evaluate(truth, wild, decision=rule, metrics=["f1.samples@2"])  # makes no sets of the rule
    if value < 0:  # rules that read the first score, or features, do not look there
        short = fit(truth, scores, **ROW, k=1)
        assert (short.apply(wild) != short.apply(scores)).nnz == 0
        fit(truth, wild, **ROW, features=np.eye(40))


def test_best_thresholds_of_rows_do_not_overflow() -> None:
    scores = np.array([[1.5e308, 1e308], [1.0, 1.5e308]])
    rule = fit([[1, 0], [0, 1]], scores, **ROW, features=EYE)
    np.testing.assert_allclose(rule.apply(scores, features=EYE).toarray(), EYE)


@pytest.mark.parametrize("k", [1, 2])
def test_linear_rule_of_all_labels_or_of_one_is_saved(k: int, tmp_path: Path) -> None:
    rule = fit(np.eye(2)[:, :k], np.array([[0.75, 0.25], [0.125, 0.5]])[:, :k], **ROW, k=k)
    assert rule.decision.numbers.size == k + 1
    rule.save(tmp_path / "rule.npz")
    assert Rule.load(tmp_path / "rule.npz").decision == rule.decision


def test_features_in_later_blocks_are_those_of_their_rows() -> None:
    truth, scores = sample()
    features = np.random.default_rng(1).random((40, 3))
    rule = fit(truth, scores, **ROW, features=features)
    expected = rule.apply(scores, features=features)
    with small_limits():
        assert (rule.apply(scores, features=features) != expected).nnz == 0


def test_features_in_any_order_stay_as_they_are() -> None:
    data = np.array([1.0, 2.0, 3.0, 4.0])
    features = sp.csr_array((data, np.array([1, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    before = [array.copy() for array in (features.data, features.indices, features.indptr)]
    rule = fit(EYE, np.array([[0.75, 0.25], [0.125, 0.5]]), **ROW, features=features)
    rule.apply(np.eye(2), features=features)
    for array, expected in zip(
        (features.data, features.indices, features.indptr), before, strict=True
    ):
        np.testing.assert_array_equal(array, expected)


def test_fit_takes_features_beside_names_in_memory() -> None:
    truth = {"q1": ["a"], "q2": ["b"]}
    scores = {"q1": {"a": 0.75, "b": 0.25}, "q2": {"a": 0.125, "b": 0.5}}
    rule = fit(truth, scores, **ROW, features=EYE)
    by_number = fit(EYE, np.array([[0.75, 0.25], [0.125, 0.5]]), **ROW, features=EYE)
    np.testing.assert_array_equal(rule.decision.numbers, by_number.decision.numbers)
    assert rule.apply(scores, features=EYE) == truth


@pytest.mark.parametrize("measure", ["f1.macro", "f1.samples"])
def test_threshold_is_never_the_score_of_unlisted_labels_where_these_would_gain(
    measure: str,
) -> None:
    """The label at that score is relevant, but it cannot be predicted."""
    lists = np.array([[0, 1]]), np.array([[0.75, 0.25]])
    conventions = {"unlisted": 0.25}
    rule = fit([[1]], lists, measure, n_labels=3, conventions=conventions)
    assert rule.decision.value == 0.75
    assert not rule.apply(lists).nnz


@pytest.mark.parametrize("unlisted", [-2.0, 0.0, 0.25])
@pytest.mark.parametrize("form", ["csr", "list"])
def test_thresholds_of_rows_follow_from_the_highest_scores_with_unlisted_ones(
    form: str, unlisted: float
) -> None:
    truth, dense = sample(60, 6)
    is_listed = np.random.default_rng(3).random(dense.shape) < 0.5
    is_listed[0] = False
    is_listed[1] = True
    scores: Any = sp.csr_array((dense[is_listed], np.nonzero(is_listed)), shape=dense.shape)
    if form == "list":
        scores = (np.where(is_listed, np.arange(6), -1), dense)
    highest = -np.sort(-np.where(is_listed, dense, unlisted), axis=1)[:, :4]
    options: dict[str, Any] = {**ROW, "conventions": {"unlisted": unlisted}}
    rule = fit(truth, scores, **options, k=4)
    by_features = fit(truth, scores, **options, features=highest)
    numbers = by_features.decision.numbers
    np.testing.assert_allclose(rule.decision.numbers, numbers, rtol=1e-9)
    sets = rule.apply(scores).toarray()
    np.testing.assert_array_equal(sets, by_features.apply(scores, features=highest).toarray())
    above = dense > np.maximum(numbers[0] + highest @ numbers[1:], unlisted)[:, None]
    np.testing.assert_array_equal(sets, above & is_listed)


@pytest.mark.parametrize("rule", ["given", "fitted"])
def test_rules_of_similarities_are_refused_with_distances(rule: str) -> None:
    truth, scores = sample()
    numbers = np.linspace(-0.5, 0.5, 5)
    decisions = {
        "given": (Rule.given(numbers, 5), "is for scores whose higher values are better"),
        "fitted": (label_rule(), "was fitted to scores whose higher values are better"),
    }
    decision, message = decisions[rule]
    options: dict[str, Any] = {"metrics": "f1.micro", "decision": decision}
    assert evaluate(truth, scores, **options)["f1.micro"] > 0
    with pytest.raises(ValueError, match=rf"^decision: label\(.*\)\S* {message}$|{message}$"):
        evaluate(truth, scores, higher_is_better=False, **options)
    near = evaluate(truth, -scores, metrics="f1.micro", decision=-numbers, higher_is_better=False)
    high = evaluate(truth, scores, metrics="f1.micro", decision=numbers)
    assert near["f1.micro"] == high["f1.micro"]
    top = fit(truth, scores, rule="top", k=2)
    by_rank = evaluate(truth, scores, metrics="f1.micro", decision=top, higher_is_better=False)
    lowest = evaluate(truth, -scores, metrics="f1.micro", decision="top2")
    assert by_rank["f1.micro"] == lowest["f1.micro"]


@pytest.mark.filterwarnings("ignore:.* by weighted scores")
@pytest.mark.parametrize("form", ["csr", "dense", "list"])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
def test_weighted_rule_predicts_the_labels_of_the_highest_weighted_scores(
    k: int, form: str
) -> None:
    """Equal weighted scores are in the order of the list, or of the labels."""
    rng = np.random.default_rng(k)
    n_labels = 7
    truth = (rng.random((30, n_labels)) < [0.6, 0.1, 0.3, 0.3, 0.05, 0.5, 0.2]).astype(int)
    rule = fit(truth, rng.random(truth.shape), f"f1.macro@{k}")
    weights, offsets = rule.decision.numbers.reshape(2, -1)
    scores = rng.integers(1, 8, (40, n_labels)) / 8
    scores[::4] = 0.5
    keys = weights * scores + offsets
    order = np.argsort(-keys, axis=1, kind="stable")[:, :k]
    expected = np.zeros(scores.shape, int)
    np.put_along_axis(expected, order, 1, axis=1)
    given: Any = scores
    if form == "csr":
        given = sp.csr_array(scores)
    if form == "list":
        by_score = np.argsort(-scores, axis=1, kind="stable")
        given = (by_score, np.take_along_axis(scores, by_score, axis=1))
    sets = rule.apply(given).toarray()
    assert (sets.sum(axis=1) == min(k, n_labels)).all()
    np.testing.assert_array_equal(sets, expected)
    y_true = (rng.random(scores.shape) < 0.3).astype(int)
    names = ["f1.macro", "f1.micro", "precision.samples"]
    direct = evaluate(y_true, given, metrics=names, decision=rule)
    assert dict(direct) == dict(evaluate(y_true, y_pred=expected, metrics=names))
