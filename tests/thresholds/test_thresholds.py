"""Decision rules: equal to exhaustive search, and the same applied, evaluated, cut, merged and saved."""

import dataclasses
import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.definitions import case_of
from tests.limits import small_limits
from tests.oracles import thresholds as exhaustive
from tests.oracles.metrics import Case, tie_groups
from tests.problems import Problem, free_problems
from tests.relations import binary, map_scores
from xmleval import Evaluator, evaluate
from xmleval.evaluation.batch import Batch
from xmleval.thresholds import Rule, fit
from xmleval.thresholds.entries import Entries
from xmleval.thresholds.fitting import row_thresholds

TUNABLE = ["hamming_loss", "f1.micro", "f1.macro", "f1.samples"]
MEASURES: dict[str, list[Any]] = {
    "constant": TUNABLE, "cardinality": [None], "label": ["f1.macro", "hamming_loss"], "rank": TUNABLE,
    "row": ["f1.samples", "hamming_loss"], "top": [None],
    "weighted": ["f1.macro@2", "precision.macro@2", "recall.macro@2"],
}  # fmt: skip
SET_MEASURES = [*TUNABLE, "subset_accuracy", "precision.macro"]
EVERY = [(rule, measure) for rule, measures in MEASURES.items() for measure in measures]
# scores by chance are not calibrated
unwarned = pytest.mark.filterwarnings("ignore:.* by weighted scores")
every_form = pytest.mark.parametrize("form", ["csr", "dense", "list", "ragged"])


def drawn(data: st.DataObject, *forms: str, rows: int = 6, probable: bool = False) -> Problem:
    """Draw a truth, scores, and a score of unlisted labels."""
    problem = data.draw(free_problems(forms=forms, least_rows=1, most_rows=rows))
    assume(not problem.bare)
    unlisted = "below" if problem.form == "dense" or problem.unlisted is None else problem.unlisted
    arguments = {"conventions": {"unlisted": unlisted}}
    problem = dataclasses.replace(binary(problem, data.draw), arguments=arguments)
    return map_scores(problem, lambda s: min(abs(s), 1.0)) if probable else problem


def options(problem: Problem, rule: str) -> dict[str, Any]:
    thresholds = rule not in ("rank", "top", "weighted")
    conventions = {"conventions": problem.conventions} if thresholds else {}
    return conventions | ({"k": 2} if rule in ("top", "row") else {})


def fitted(problem: Problem, rule: str, measure: str | None, **more: Any) -> Rule:
    more |= options(problem, rule) | {"n_labels": problem.n_labels}
    return fit(problem.y_true(), problem.y_score(), measure, rule=rule, **more)


def sets_of(matrix: Any) -> list[set[int]]:
    return [set(map(int, matrix.indices[lo:hi])) for lo, hi in itertools.pairwise(matrix.indptr)]


def ranked_labels(case: Case) -> list[list[int]]:
    """Listed labels of each row, best first, ties in the order that counts."""
    tied = [tie_groups(case, row) for row in range(len(case.truth))]
    return [[label for group in groups for label in group][:n_listed] for groups, n_listed in tied]


def weighted_rule(data: st.DataObject, n_labels: int, k: int) -> Rule:
    """Return a rule with few distinct weights and offsets, so that there are ties."""
    numbers = data.draw(st.lists(st.sampled_from([-0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=8))
    fitted_rule = fit(np.eye(2, dtype=int), np.eye(2), f"f1.macro@{k}")
    decision = dataclasses.replace(fitted_rule.decision, numbers=np.resize(numbers, 2 * n_labels))
    return dataclasses.replace(fitted_rule, n_labels=n_labels, decision=decision)


def best_of_rows(problem: Problem, measure: str) -> list[set[int]]:
    """Return the sets by the best threshold of each row, to which rules are fitted."""
    entries = Entries(problem.n_labels, problem.unlisted, ordered=True, scored=True)
    listed = problem if problem.form != "ragged" else dataclasses.replace(problem, form="list")
    entries.add(Batch(problem.y_true(), listed.y_score()))
    thresholds = row_thresholds(entries.pool(), measure == "f1.samples")
    pairs = zip(exhaustive.scores_of(case_of(problem)), thresholds, strict=True)
    return [{label for label, score in row.items() if score > threshold} for row, threshold in pairs]


@pytest.mark.slow
@every_form
@given(data=st.data())
def test_fitted_rules_are_the_best_of_all(form: str, data: st.DataObject) -> None:
    problem = drawn(data, form)
    case = case_of(problem)

    def sets(rule: str, measure: str | None, **more: Any) -> list[set[int]]:
        return sets_of(fitted(problem, rule, measure, **more).apply(problem.y_score()))

    for rule, measure in [("cardinality", None), *(("constant", measure) for measure in TUNABLE)]:
        assert sets(rule, measure) == exhaustive.constant(case, measure), measure
    for measure in MEASURES["label"]:
        assert sets("label", measure) == exhaustive.label(case, measure), measure
    by_fbr = exhaustive.label(case, "f1.macro", 0.6)
    for fallback in ("never", "highest"):
        assert sets("label", "f1.macro", fbr=0.6, fallback=fallback) == by_fbr
    for measure in MEASURES["row"]:
        assert best_of_rows(problem, measure) == exhaustive.rows(case, measure), measure
    ranked = ranked_labels(case_of(problem.with_conventions(unlisted="below")))
    for measure in MEASURES["rank"]:
        assert sets("rank", measure) == exhaustive.rank(case, measure, ranked), measure
    assert sets("top", None) == [set(row[:2]) for row in ranked]


@every_form
@given(data=st.data())
def test_weighted_scores_choose_the_best_of_each_row(form: str, data: st.DataObject) -> None:
    problem = drawn(data, form, probable=True).with_conventions(unlisted="below")
    case, k = case_of(problem), data.draw(st.integers(1, 3))
    rule = weighted_rule(data, case.n_labels, k)
    sets = exhaustive.by_weight(case, k, ranked_labels(case), *rule.decision.numbers.reshape(2, -1).tolist())
    assert sets_of(rule.apply(problem.y_score())) == sets


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "measure"), EVERY)
@given(data=st.data())
def test_rules_decide_as_their_sets_however_cut(rule: str, measure: str | None, data: st.DataObject) -> None:
    problem = drawn(data, "csr", "dense", "list", rows=9, probable=rule == "weighted")
    if rule == "row":
        floor = -math.inf if problem.unlisted is None else problem.unlisted
        assume(any(score is not None and score > floor for row in problem.listed for _, score in row))
    weighted = rule == "weighted"
    decision = weighted_rule(data, problem.n_labels, 2) if weighted else fitted(problem, rule, measure)
    problem = dataclasses.replace(problem.with_arguments(decision=decision), metrics=(*SET_MEASURES,))
    direct, sets = problem.evaluate(), decision.apply(problem.y_score())
    assert dict(direct) == dict(problem.without("decision").with_arguments(y_pred=sets_of(sets)).evaluate())
    assert f"decision={decision.decision}" in direct.signature()
    cut = data.draw(st.integers(0, problem.n_rows))
    parts = [problem.take(rows) for rows in (range(cut), range(cut, problem.n_rows))]
    counted = [part.evaluator() for part in parts]
    for part, evaluator in zip(parts, counted, strict=True):
        evaluator.update(**part.rows())
    assert counted[1].merge(counted[0]).compute().to_json() == direct.to_json()
    assert (sp.vstack([decision.apply(part.y_score()) for part in parts]) != sets).nnz == 0


@unwarned
@pytest.mark.parametrize(("rule", "measure"), EVERY)
def test_rules_are_fitted_in_pieces_saved_and_merged(rule: str, measure: str | None, tmp_path: Path) -> None:
    rng, k = np.random.default_rng(3), 2 if rule in ("top", "row") else None
    truth = (rng.random((30, 5)) < 0.4).astype(int)
    scores = sp.random_array((30, 5), density=0.7, rng=rng).tocsr()
    for array in (truth, scores.data, scores.indices, scores.indptr):
        array.flags.writeable = False  # as arrays of files may be
    decision = fit(truth, scores, measure, rule=rule, k=k)
    with small_limits():
        small = fit(truth, scores, measure, rule=rule, k=k, memory="1kB", threads=2)
    assert small.decision == decision.decision
    decision.save(tmp_path / "rule.npz")
    loaded = Rule.load(tmp_path / "rule.npz")
    assert (str(loaded), loaded.n_labels, loaded.measure) == (str(decision), 5, measure)
    assert (loaded.decision, hash(loaded.decision)) == (decision.decision, hash(decision.decision))
    parts = [Evaluator(SET_MEASURES, n_labels=5, decision=each) for each in (decision, loaded)]
    for part, rows in zip(parts, (slice(0, 9), slice(9, 30)), strict=True):
        part.update(truth[rows], scores[rows])
    parts[0].save(tmp_path / "state.npz")
    whole = evaluate(truth, scores, decision=decision, metrics=SET_MEASURES)
    assert Evaluator.load(tmp_path / "state.npz").merge(parts[1]).compute().to_json() == whole.to_json()
    if rule != "row":
        nothing = sp.csr_array((3, 3), dtype=np.float32)
        assert fit(np.eye(3, dtype=int), nothing, measure, rule=rule, k=k).apply(nothing).nnz == 0


def test_thresholds_of_rows_lie_in_the_middle_and_are_fitted_by_least_squares() -> None:
    rng = np.random.default_rng(5)
    truth, scores = (rng.random((40, 6)) < 0.4).astype(int), rng.random((40, 6))
    ordered = -np.sort(-scores, axis=1)
    hits = np.take_along_axis(truth, np.argsort(-scores, axis=1), axis=1).cumsum(axis=1)
    f1 = 2 * hits / (np.arange(1, 7) + truth.sum(axis=1, keepdims=True))
    sizes = np.where(f1.max(axis=1) > 0, f1.argmax(axis=1) + 1, 0)  # of the best sets
    thresholds = [
        order[0] if n == 0 else (order[n - 1] + order[n]) / 2 if n < 6 else np.nextafter(order[5], 0)
        for n, order in zip(sizes, ordered, strict=True)
    ]
    features = rng.random((40, 4))
    for columns, k in [(ordered[:, :3], 3), (features, None), (sp.csr_array(features), None)]:
        given_as: dict[str, Any] = {} if k else {"features": columns}
        design = np.hstack([np.ones((40, 1)), features if sp.issparse(columns) else columns])
        rule = fit(truth, scores, "f1.samples", rule="row", k=k, **given_as)
        weights = np.linalg.solve(design.T @ design, design.T @ thresholds)
        np.testing.assert_allclose(rule.decision.numbers, weights, rtol=1e-6)
        sets = rule.apply(scores, **given_as).toarray()
        np.testing.assert_array_equal(sets, scores > (design @ weights)[:, None])


@pytest.mark.parametrize("unlisted", [-0.3, 0.25, 2.0, "below"])
def test_linear_thresholds_read_all_labels_and_pass_no_unlisted_one(unlisted: Any) -> None:
    rng = np.random.default_rng(11)
    truth, scores = (rng.random((60, 6)) < 0.4).astype(int), rng.normal(size=(60, 6))
    stored = rng.random((60, 6)) < 0.6
    stored[:, 0] = scores[:, 0] = 3.0
    stored[7] = False  # a row without scores has zeros, or the score of unlisted labels
    sparse = sp.csr_array((scores[stored], np.nonzero(stored)), shape=truth.shape)
    rule = fit(truth, sparse, "hamming_loss", rule="row", k=5, conventions={"unlisted": unlisted})
    last = np.where(stored, scores, np.inf).min(axis=1, keepdims=True)  # is repeated where others are below
    last[7] = 0.0
    filled = np.where(stored, scores, last if unlisted == "below" else unlisted)
    design = np.hstack([np.ones((60, 1)), -np.sort(-filled, axis=1)[:, :5]])
    least = -np.inf if unlisted == "below" else unlisted
    thresholds = np.maximum(design @ rule.decision.numbers, least)[:, None]
    np.testing.assert_array_equal(rule.apply(sparse).toarray(), stored & (scores > thresholds))
    by_features = fit(
        truth, sparse, "f1.samples", rule="row", features=scores[:, 3:], conventions={"unlisted": unlisted}
    )
    sets = by_features.apply(sparse, features=scores[:, 3:]).toarray().astype(bool)
    assert sets.any()
    assert scores[sets].min() > least


@unwarned
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_rows_take_what_raises_the_expected_macro_average_most(name: str) -> None:
    rng = np.random.default_rng(6)
    for k in (1, 2, 5):
        truth, scores = (rng.random((9, 5)) < 0.3).astype(int), rng.random((9, 5))
        scores[rng.random((9, 5)) < 0.1] = 0
        stored = sp.csr_array(scores)
        rows = [dict(zip(*map(list, (row.indices, row.data)), strict=True)) for row in stored]
        n_true = truth.sum(axis=0).tolist()
        sets = exhaustive.ascent(name, k, rows, n_true)
        rule = fit(truth, stored, f"{name}.macro@{k}")
        assert (rule.rule, rule.decision.value) == ("weighted", k)
        before = exhaustive.expected(name, rows, sets, n_true)
        more = [*rows, dict.fromkeys(range(5), 0.25)]  # what one more row raises it by, is its weighted score
        weights, offsets = rule.decision.numbers.reshape(2, -1)
        for label in range(5):
            gain = exhaustive.expected(name, more, [*sets, {label}], n_true) - before
            assert weights[label] * 0.25 + offsets[label] == pytest.approx(float(gain), rel=1e-12)


def test_warning_has_the_values_of_the_rule_and_of_the_best_scores() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth, scores = (rng.random((6, 4)) < 0.4).astype(int), rng.random((6, 4))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rule = fit(truth, scores, "f1.macro@2")
        weighted = evaluate(truth, scores, metrics="f1.macro", decision=rule)["f1.macro"]
        plain = evaluate(truth, scores, metrics="f1.macro@2")["f1.macro@2"]
        message = f"f1.macro@2 is {weighted:.4g} by weighted scores and {plain:.4g} by the scores themselves"
        assert [str(each.message).startswith(message) for each in caught] == [True] * (weighted < plain)


def test_sums_of_shares_are_exact() -> None:
    truth = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    scores = np.array([[6.0, 1.0, 0.0], [8.0, 5.0, 3.0], [4.0, 2.0, 7.0]])
    assert fit(truth, scores, "f1.samples").decision.value == 3.0  # three times 2/3 as 1 + 1/2 + 1/2 at 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_thresholds_lie_between_neighbouring_numbers(dtype: str) -> None:
    one = np.nextafter(np.array(1, dtype), np.array(2, dtype))
    truth, scores = np.array([[1, 0, 1]]), np.array([[one, 1, np.inf]], dtype)
    for rule, measure in (("constant", "f1.micro"), ("label", "f1.macro")):
        assert fit(truth, scores, measure, rule=rule).apply(scores).toarray().tolist() == truth.tolist()
    assert fit(truth, scores, "f1.micro").decision.value == 1.0


def test_rare_labels_fall_back() -> None:
    truth = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])
    scores = np.array([[0.9, 0.2], [0.8, 0.9], [0.1, 0.3], [0.2, 0.8], [0.1, 0.4]])
    for fbr, fallback, second in [(0.4, None, 0.2), (0.5, None, math.inf), (0.5, "highest", 0.9)]:
        rule = fit(truth, scores, "f1.macro", rule="label", fbr=fbr, fallback=fallback)
        assert rule.decision.numbers.tolist() == [0.2, second]
