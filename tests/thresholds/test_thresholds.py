"""Decision rules: equal to exhaustive search, applied, saved, and part of an evaluation."""

from __future__ import annotations

import contextlib
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles import thresholds as exhaustive
from tests.oracles.metrics import Case, convention
from tests.strategies import DTYPES, FORMS, PROBABILITIES, Problem, problems
from tests.thresholds.drawn_rules import ranked_labels, weighted_rule
from xmleval import Evaluator, evaluate
from xmleval.threads import Work
from xmleval.thresholds import Rule, fit
from xmleval.thresholds.entries import Entries
from xmleval.thresholds.fitting import Fitting, row_thresholds
from xmleval.thresholds.rule import MEASURES, TUNABLE

SET_MEASURES = [*TUNABLE, "subset_accuracy", "precision.macro"]
EVERY = [
    (rule, measure and measure.replace("@k", "@2"))
    for rule, several in MEASURES.items()
    for measure in several or (None,)
]
WORK = Work(1 << 20, 2)
law = settings(max_examples=20)
untold = pytest.mark.filterwarnings("ignore:.* by weighted scores")  # scores by chance are not calibrated
every_form = pytest.mark.parametrize(("form", "dtype"), [(f, d) for f in FORMS for d in DTYPES])


def drawn(data: st.DataObject, form: str, dtype: str, **more: Any) -> Problem:
    problem = data.draw(problems(form, dtype, weighted=False, graded=False, **more))
    assume(not problem.bare)
    unlisted = convention(problem.case, "unlisted")
    problem.case.conventions = {"unlisted": unlisted}
    return problem


def sizes(rule: str) -> dict[str, Any]:
    return {"k": 2} if rule in ("top", "row") else {}


def arguments(problem: Problem, rule: str) -> dict[str, Any]:
    unlisted = convention(problem.case, "unlisted")
    return sizes(rule) if rule in ("rank", "top", "weighted") else {"unlisted": unlisted, **sizes(rule)}


def sets_of(matrix: Any) -> list[set[int]]:
    return [set(map(int, matrix.indices[lo:hi])) for lo, hi in itertools.pairwise(matrix.indptr)]


@every_form
@law
@given(data=st.data())
def test_one_threshold_is_the_best_of_all(form: str, dtype: str, data: st.DataObject) -> None:
    problem = drawn(data, form, dtype)
    for rule, measure in [("cardinality", None), *(("constant", measure) for measure in TUNABLE)]:
        found = fit(problem.y_true(), problem.y_score(), measure, rule=rule, **arguments(problem, rule))
        assert sets_of(found.apply(problem.y_score())) == exhaustive.constant(problem.case, measure), measure


@every_form
@law
@given(data=st.data())
def test_thresholds_of_labels_are_the_best_of_all(form: str, dtype: str, data: st.DataObject) -> None:
    problem = drawn(data, form, dtype)
    for measure in MEASURES["label"]:
        found = fit(problem.y_true(), problem.y_score(), measure, rule="label", **arguments(problem, "label"))
        assert sets_of(found.apply(problem.y_score())) == exhaustive.label(problem.case, measure)
    for fallback in ("never", "highest"):
        found = fit(
            problem.y_true(), problem.y_score(), "f1.macro", rule="label", fbr=0.6, fallback=fallback,
            **arguments(problem, "label"),
        )  # fmt: skip
        assert sets_of(found.apply(problem.y_score())) == exhaustive.label(problem.case, "f1.macro", 0.6)


@every_form
@law
@given(data=st.data())
def test_cut_of_ranks_is_the_best_of_all(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, weighted=False, graded=False))
    problem.case.conventions = {}
    case = problem.case
    ranked = ranked_labels(case)
    for measure in MEASURES["rank"]:
        found = fit(problem.y_true(), problem.y_score(), measure, rule="rank")
        assert sets_of(found.apply(problem.y_score())) == exhaustive.rank(case, measure, ranked)
    top = fit(problem.y_true(), problem.y_score(), rule="top", k=2)
    assert sets_of(top.apply(problem.y_score())) == [set(row[:2]) for row in ranked]


@every_form
@law
@given(data=st.data())
def test_best_thresholds_of_rows_are_the_best_of_all(form: str, dtype: str, data: st.DataObject) -> None:
    problem = drawn(data, form, dtype)
    case = problem.case
    for measure in MEASURES["row"]:
        fitting = Fitting("row", measure, unlisted=arguments(problem, "row")["unlisted"])
        entries = fitting.entries(case.n_labels, WORK)
        assert isinstance(entries, Entries)
        entries.update(problem.y_true(), problem.y_score())
        found = row_thresholds(entries.pool(), measure == "f1.samples")
        rows = exhaustive.scores_of(case)
        sets = [{j for j, s in row.items() if s > t} for row, t in zip(rows, found, strict=True)]
        assert sets == exhaustive.rows(case, measure)


def test_thresholds_of_rows_lie_in_the_middle_and_are_fitted_by_least_squares() -> None:
    rng = np.random.default_rng(5)
    truth, scores = rng.random((40, 6)) < 0.4, rng.random((40, 6))
    ordered = -np.sort(-scores, axis=1)
    entries = Entries(6, None, ordered=True, scored=True)
    entries.update(truth.astype(int), scores)
    wanted = row_thresholds(entries.pool(), True)
    for t, row, order in zip(wanted, scores, ordered, strict=True):
        n = int((row > t).sum())
        middle = order[0] if n == 0 else (order[n - 1] + order[n]) / 2 if n < 6 else np.nextafter(order[5], 0)
        assert t == pytest.approx(middle, rel=1e-15)
    design = np.hstack([np.ones((40, 1)), ordered[:, :3]])
    rule = fit(truth.astype(int), scores, "f1.samples", rule="row", k=3)
    weights = np.linalg.solve(design.T @ design, design.T @ wanted)
    np.testing.assert_allclose(rule.decision.numbers, weights, rtol=1e-9)
    np.testing.assert_array_equal(rule.apply(scores).toarray(), scores > (design @ weights)[:, None])
    features = rng.random((40, 4))
    for given_as in (features, sp.csr_array(features)):
        rule = fit(truth.astype(int), scores, "f1.samples", rule="row", features=given_as)
        design = np.hstack([np.ones((40, 1)), features])
        weights = np.linalg.solve(design.T @ design, design.T @ wanted)
        np.testing.assert_allclose(rule.decision.numbers, weights, rtol=1e-6)
        found = rule.apply(scores, features=given_as).toarray()
        np.testing.assert_array_equal(found, scores > (design @ weights)[:, None])


@pytest.mark.parametrize("unlisted", [-0.3, 0.25, 2.0, "below"])
def test_linear_thresholds_see_all_labels_and_pass_no_unlisted_one(unlisted: Any) -> None:
    rng = np.random.default_rng(11)
    truth, scores = (rng.random((60, 6)) < 0.4).astype(int), rng.normal(size=(60, 6))
    stored = rng.random((60, 6)) < 0.6
    stored[:, 0] = scores[:, 0] = 3.0
    sparse = sp.csr_array((scores[stored], np.nonzero(stored)), shape=truth.shape)
    rule = fit(truth, sparse, "hamming_loss", rule="row", k=5, unlisted=unlisted)
    last = np.where(stored, scores, np.inf).min(axis=1, keepdims=True)  # is repeated where others are below
    filled = np.where(stored, scores, last if unlisted == "below" else unlisted)
    design = np.hstack([np.ones((60, 1)), -np.sort(-filled, axis=1)[:, :5]])
    least = -np.inf if unlisted == "below" else unlisted
    thresholds = np.maximum(design @ rule.decision.numbers, least)[:, None]
    np.testing.assert_array_equal(rule.apply(sparse).toarray(), stored & (scores > thresholds))


def test_predicting_nothing_is_no_cut_of_ranks() -> None:
    truth = np.array([[0, 0], [0, 0], [1, 1]])
    lists = np.array([[0, -1], [0, -1], [0, 1]]), np.ones((3, 2))
    assert fit(truth, lists, "hamming_loss", rule="rank").decision.value == 2
    assert fit(0 * truth, lists, "hamming_loss", rule="rank").decision.value == 1


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "measure"), EVERY)
@law
@given(data=st.data())
def test_rules_decide_as_their_sets_however_rows_are_cut(
    rule: str, measure: str | None, data: st.DataObject
) -> None:
    levels = {"levels": PROBABILITIES} if rule == "weighted" else {}
    form, dtype = data.draw(st.sampled_from(FORMS)), data.draw(st.sampled_from(DTYPES))
    problem = drawn(data, form, dtype, max_rows=9, **levels)
    if rule == "row":
        scores = [s for row in exhaustive.scores_of(problem.case) for s in row.values()]
        assume(any(s > exhaustive.floor(problem.case) for s in scores))
    if rule == "weighted":  # with ties
        found = weighted_rule(data, problem.case.n_labels, 2)
    else:
        found = fit(problem.y_true(), problem.y_score(), measure, rule=rule, **arguments(problem, rule))
    inputs: dict[str, Any] = {"y_true": problem.y_true(), "y_score": problem.y_score()}
    how: dict[str, Any] = {"conventions": problem.case.conventions, "metrics": SET_MEASURES}
    direct = evaluate(**inputs, **how, decision=found, per_label=True)
    given_sets = evaluate(problem.y_true(), y_pred=found.apply(problem.y_score()), **how)
    assert dict(direct) == dict(given_sets)
    assert f"decision={found.decision}" in direct.signature()
    cut = data.draw(st.integers(0, problem.n_rows))
    n = problem.case.n_labels
    parts = [Evaluator(**how, n_labels=n, decision=found, per_label=True) for _ in "ab"]
    for part, rows in zip(parts, (range(cut), range(cut, problem.n_rows)), strict=True):
        own = problem.cut(list(rows))
        part.update(own.y_true(), own.y_score())
    assert parts[1].merge(parts[0]).compute().to_json() == direct.to_json()
    whole = found.apply(problem.y_score())
    pieces = [
        found.apply(problem.cut(list(rows)).y_score()) for rows in (range(cut), range(cut, problem.n_rows))
    ]
    assert (sp.vstack(pieces) != whole).nnz == 0


@untold
@pytest.mark.parametrize(("rule", "measure"), EVERY)
def test_saved_rules_and_evaluators_come_back(rule: str, measure: str | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth, scores = (rng.random((30, 5)) < 0.4).astype(int), sp.random_array((30, 5), density=0.7, rng=rng)
    found = fit(truth, scores, measure, rule=rule, **sizes(rule))
    found.save(tmp_path / "rule.npz")
    again = Rule.load(tmp_path / "rule.npz")
    assert (str(again), again.n_labels, again.measure) == (str(found), 5, measure)
    assert again.decision == found.decision
    assert hash(again.decision) == hash(found.decision)
    assert (again.apply(scores) != found.apply(scores)).nnz == 0
    whole = evaluate(truth, scores, decision=found, metrics=SET_MEASURES)
    ev = Evaluator(SET_MEASURES, n_labels=5, decision=found)
    ev.update(truth[:9], sp.csr_array(scores)[:9])
    ev.save(tmp_path / "state.npz")
    ev = Evaluator.load(tmp_path / "state.npz")
    other = Evaluator(SET_MEASURES, n_labels=5, decision=again)
    other.update(truth[9:], sp.csr_array(scores)[9:])
    assert ev.merge(other).compute().to_json() == whole.to_json()


def test_other_rules_are_not_merged() -> None:
    truth, scores = np.eye(3, dtype=int), np.eye(3) + np.arange(3)
    rules = [fit(truth, scores * n, "f1.macro", rule="label") for n in (2, 3)]
    one, other = (Evaluator("sets", n_labels=3, decision=rule) for rule in rules)
    with pytest.raises(ValueError, match=r"^merge: decision differs: label\(f1\.macro\)#.* here, label"):
        one.merge(other)


def test_damaged_rules_are_refused(tmp_path: Path) -> None:
    truth, scores = np.eye(3, dtype=int), np.eye(3) + np.arange(3)
    rule = fit(truth, scores, "f1.macro", rule="label")
    path = tmp_path / "rule.npz"
    rule.save(path)
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        with contextlib.suppress(ValueError):  # or else the byte did not matter
            assert Rule.load(path).decision == rule.decision
    path.write_bytes(data[:100])
    with pytest.raises(ValueError, match="not a saved rule, or damaged"):
        Rule.load(path)
    Evaluator("p@1", n_labels=3).save(path)
    with pytest.raises(ValueError, match="not a saved rule"):
        Rule.load(path)
    rule.save(path)
    with pytest.raises(ValueError, match="not a saved evaluator"):
        Evaluator.load(path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_thresholds_hold_between_neighbouring_numbers(dtype: str) -> None:
    one = np.nextafter(np.array(1, dtype), np.array(2, dtype))
    truth, scores = np.array([[1, 0, 1]]), np.array([[one, 1, np.inf]], dtype)
    for rule, measure in (("constant", "f1.micro"), ("label", "f1.macro")):
        found = fit(truth, scores, measure, rule=rule)
        assert found.apply(scores).toarray().tolist() == truth.tolist()
    assert fit(truth, scores, "f1.micro").decision.value == 1.0


def test_rare_labels_fall_back() -> None:
    truth = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])
    scores = np.array([[0.9, 0.2], [0.8, 0.9], [0.1, 0.3], [0.2, 0.8], [0.1, 0.4]])
    plain = fit(truth, scores, "f1.macro", rule="label").decision.numbers
    assert plain.tolist() == [0.2, 0.2]
    never = fit(truth, scores, "f1.macro", rule="label", fbr=0.5)
    highest = fit(truth, scores, "f1.macro", rule="label", fbr=0.5, fallback="highest")
    assert never.decision.numbers.tolist() == [0.2, math.inf]
    assert highest.decision.numbers.tolist() == [0.2, 0.9]
    assert never.decision != highest.decision


def test_nothing_to_tune_on() -> None:
    truth, none = np.eye(3, dtype=int), sp.csr_array((3, 3), dtype=np.float32)
    for rule, measure in EVERY:
        if rule == "row":
            with pytest.raises(ValueError, match="no row has a score"):
                fit(truth, none, measure, rule=rule)
        else:
            found = fit(truth, none, measure, rule=rule, **sizes(rule))
            assert found.apply(none).nnz == 0
    assert fit(truth, none, "f1.micro").decision.value == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "rule: 'best' is not one of constant, cardinality"),
        ({}, "measure: not given: rule='constant' is tuned to hamming_loss, f1.micro"),
        ({"measure": "lrap"}, "measure: 'lrap': rules are tuned to hamming_loss, .*f1.macro@k, .* alone"),
        ({"measure": "f1"}, "measure: 'f1': needs an average"),
        ({"measure": "f1.micro", "rule": "label"}, "measure: 'f1.micro': rule='label' is tuned to"),
        ({"measure": "f1.micro", "rule": "top"}, "measure: 'f1.micro': rule='top' takes no measure"),
        ({"measure": "f1.macro@3", "rule": "label"}, "measure: 'f1.macro@3': rule='label' is tuned to"),
        ({"measure": "ece@5"}, "measure: 'ece@5': rules are tuned to hamming_loss, .*f1.macro@k, .* alone"),
        ({"measure": "f1.macro@3", "k": 2}, "k: not for rule='weighted'"),
        ({"rule": "top"}, "k: rule='top' needs it"),
        ({"rule": "top", "k": 0}, "k: 0 is not a positive integer"),
        ({"rule": "top", "k": 1, "unlisted": 0.0}, "unlisted: not for rule='top'"),
        ({"measure": "f1.micro", "k": 2}, "k: not for rule='constant' and f1.micro"),
        ({"measure": "hamming_loss", "rule": "label", "fbr": 0.1}, "fbr: not for rule='label'"),
        ({"measure": "f1.macro", "rule": "label", "fbr": 2}, "fbr: 2 is not within 0..1"),
        ({"measure": "f1.macro", "rule": "label", "fallback": "never"}, "fallback: not for"),
        ({"measure": "f1.macro", "rule": "label", "fbr": 0.1, "fallback": "x"}, "fallback: 'x' is not"),
        ({"measure": "f1.micro", "features": np.eye(2)}, "features: not for rule='constant'"),
        ({"measure": "f1.samples", "rule": "row", "features": np.eye(3)}, "features: shape .3, 3. does"),
        ({"measure": "f1.micro", "unlisted": "x"}, "unlisted='x' is neither"),
    ],
)  # fmt: skip
def test_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fit(np.eye(2, dtype=int), np.eye(2), **arguments)


def test_refused_by_data() -> None:
    truth, labels = np.eye(2, dtype=int), np.array([[0], [1]])
    with pytest.raises(ValueError, match=r"^y_score: rule='constant' needs scores; this list has none"):
        fit(truth, (labels, None), "f1.micro")
    with pytest.raises(ValueError, match=r"^y_score: row 1: score nan"):
        fit(truth, np.array([[0, 1], [np.nan, 0]]), "f1.micro")
    with pytest.raises(ValueError, match=r"^y_score: 1 row does not match the 2 of y_true"):
        fit(truth, np.eye(2)[:1], "f1.micro")
    with pytest.raises(ValueError, match=r"^y_score: row 1: score inf is infinite"):
        fit(truth, np.array([[0, 1], [np.inf, 0]]), "f1.samples", rule="row")
    with pytest.raises(
        ValueError, match=r"^y_score: row 1: score 1.5 is no probability; .*xmleval calibrate"
    ):
        fit(truth, np.array([[0, 1], [1.5, 0]]), "f1.macro@1")
    rule = fit(truth, np.eye(2), "f1.macro", rule="label")
    with pytest.raises(ValueError, match=r"^y_score: shape .* has 3 labels; 2 were expected"):
        rule.apply(np.eye(3))
    with pytest.raises(ValueError, match=r"has 2 labels; 3 were expected"):
        Evaluator("sets", n_labels=3, decision=rule)
    with pytest.raises(ValueError, match=r"needs scores; this list has none"):
        evaluate(truth, (labels, None), metrics="sets", decision=rule)
    with pytest.raises(ValueError, match=r"would predict every unlisted label"):
        evaluate(truth, sp.csr_array(np.eye(2)), metrics="sets", decision=rule, unlisted=0.5)
    by_features = fit(truth, np.eye(2), "f1.samples", rule="row", features=np.eye(2))
    with pytest.raises(ValueError, match=r"reads features; apply the rule and pass y_pred="):
        evaluate(truth, np.eye(2), metrics="sets", decision=by_features)
    for features, message in ((None, "required by the rule"), (np.eye(2, 3), "3 columns; the rule has 2")):
        with pytest.raises(ValueError, match=rf"^features: .*{message}"):
            by_features.apply(np.eye(2), features=features)
    with pytest.raises(ValueError, match=r"^features: the rule does not use features"):
        rule.apply(np.eye(2), features=np.eye(2))
    by_scores = fit(truth, np.eye(2), "f1.samples", rule="row")
    with pytest.raises(ValueError, match=r"was not fitted with unlisted=0"):
        evaluate(truth, np.eye(2), metrics="sets", decision=by_scores, unlisted=0.0)


@untold
def test_entries_in_batches_give_the_same_rule() -> None:
    rng = np.random.default_rng(8)
    truth, scores = (
        (rng.random((50, 7)) < 0.3).astype(int),
        sp.random_array((50, 7), density=0.6, rng=rng).tocsr(),
    )
    for rule, measure in EVERY:
        fitting = Fitting(rule, measure, 2 if rule in ("top", "row") else None)
        entries = fitting.entries(7, WORK)
        for lo, hi in ((0, 0), (0, 13), (13, 50)):
            entries.update(truth[lo:hi], scores[lo:hi])
        assert (
            fitting.rule_of(entries).decision
            == fit(truth, scores, measure, rule=rule, **sizes(rule)).decision
        )


def test_arrays_of_files_may_be_read_only() -> None:
    truth = np.eye(3, dtype=int)
    labels, scores = (
        np.array([[0, 1], [1, 2], [2, 0]], np.int32),
        np.array([[0.75, 0.5], [0.75, 0.5], [0.75, 0.5]], np.float32),
    )
    for array in (truth, labels, scores):
        array.flags.writeable = False
    for rule, measure in EVERY:
        found = fit(truth, (labels, scores), measure, rule=rule, **sizes(rule))
        report = evaluate(truth, (labels, scores), decision=found, metrics=["f1.micro"])
        direct = evaluate(truth, y_pred=found.apply((labels, scores)), metrics=["f1.micro"])
        assert dict(report) == dict(direct)


def test_lists_take_ids_and_pairs() -> None:
    case = Case([{0}, {1, 2}], 3, [[(0, 0.9), (1, 0.2)], [(2, 0.8), (1, 0.7)]])
    lists = [[list(pair) for pair in row] for row in case.listed or []]
    rule = fit([[0], [1, 2]], lists, "f1.micro", n_labels=3)
    assert sets_of(rule.apply(lists)) == case.truth
