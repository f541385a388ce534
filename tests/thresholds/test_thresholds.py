"""Decision rules: equal to exhaustive search; the same applied, evaluated, merged and saved."""

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
    "constant": TUNABLE,
    "cardinality": [None],
    "label": ["f1.macro", "hamming_loss"],
    "rank": TUNABLE,
    "row": ["f1.samples", "hamming_loss"],
    "top": [None],
    "weighted": ["f1.macro@2", "precision.macro@2", "recall.macro@2"],
}
SET_MEASURES = [*TUNABLE, "subset_accuracy", "precision.macro"]
EVERY = [(rule, measure) for rule, measures in MEASURES.items() for measure in measures]
# scores by chance are not calibrated
unwarned = pytest.mark.filterwarnings("ignore:.* by weighted scores")
every_form = pytest.mark.parametrize("form", ["csr", "dense", "list", "ragged"])


def drawn(data: st.DataObject, *forms: str, rows: int = 6, probable: bool = False) -> Problem:
    """Draw a truth, scores, and a score of unlisted labels."""
    problem = data.draw(free_problems(forms=forms, least_rows=1, most_rows=rows))
    assume(not problem.bare)
    unlisted: float | str = "below"
    if problem.form != "dense" and problem.unlisted is not None:
        unlisted = problem.unlisted
    arguments = {"conventions": {"unlisted": unlisted}}
    problem = dataclasses.replace(binary(problem, data.draw), arguments=arguments)
    if probable:
        return map_scores(problem, lambda score: min(abs(score), 1.0))
    return problem


def cutoff_of(rule: str) -> int | None:
    """Return the argument ``k`` of a rule."""
    return 2 if rule in ("top", "row") else None


def fitted(problem: Problem, rule: str, measure: str | None, **options: Any) -> Rule:
    """Return the rule that is fitted to a problem."""
    options |= {"k": cutoff_of(rule), "n_labels": problem.n_labels}
    if rule not in ("rank", "top", "weighted"):
        options["conventions"] = problem.conventions
    return fit(problem.y_true(), problem.y_score(), measure, rule=rule, **options)


def sets_of(matrix: Any) -> list[set[int]]:
    """Return the sets of label ids in the rows of a sparse matrix."""
    rows = itertools.pairwise(matrix.indptr)
    return [{*matrix.indices[start:stop].tolist()} for start, stop in rows]


def ranked_labels(case: Case) -> list[list[int]]:
    """Return the listed labels by row, best first, ties in the order that counts."""
    rows = []
    for row in range(len(case.truth)):
        groups, n_listed = tie_groups(case, row)
        labels = [*itertools.chain.from_iterable(groups)]
        rows.append(labels[:n_listed])
    return rows


def weighted_rule(data: st.DataObject, n_labels: int, k: int) -> Rule:
    """Return a rule with few distinct weights and offsets, so that there are ties."""
    numbers = data.draw(st.lists(st.sampled_from([-0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=8))
    fitted_rule = fit(np.eye(2, dtype=int), np.eye(2), f"f1.macro@{k}")
    decision = dataclasses.replace(fitted_rule.decision, numbers=np.resize(numbers, 2 * n_labels))
    return dataclasses.replace(fitted_rule, n_labels=n_labels, decision=decision)


def best_of_rows(problem: Problem, measure: str) -> list[set[int]]:
    """Return the sets by the best thresholds of rows, to which linear rules are fitted."""
    entries = Entries(problem.n_labels, problem.unlisted, ordered=True, scored=True)
    listed = problem
    if problem.form == "ragged":
        listed = dataclasses.replace(problem, form="list")
    entries.add(Batch(problem.y_true(), listed.y_score()))
    thresholds = row_thresholds(entries.pool(), measure == "f1.samples")
    sets = []
    for row, threshold in zip(exhaustive.scores_of(case_of(problem)), thresholds, strict=True):
        sets.append({label for label, score in row.items() if score > threshold})
    return sets


@pytest.mark.slow
@every_form
@given(data=st.data())
def test_fit_finds_the_best_rule_of_all(form: str, data: st.DataObject) -> None:
    problem = drawn(data, form)
    case = case_of(problem)

    def sets(rule: str, measure: str | None, **options: Any) -> list[set[int]]:
        return sets_of(fitted(problem, rule, measure, **options).apply(problem.y_score()))

    assert sets("cardinality", None) == exhaustive.constant(case, None)
    for measure in TUNABLE:
        assert sets("constant", measure) == exhaustive.constant(case, measure), measure
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
def test_weighted_rule_predicts_the_best_labels_of_each_row(form: str, data: st.DataObject) -> None:
    problem = drawn(data, form, probable=True).with_conventions(unlisted="below")
    case = case_of(problem)
    k = data.draw(st.integers(1, 3))
    rule = weighted_rule(data, case.n_labels, k)
    weights, offsets = rule.decision.numbers.reshape(2, -1).tolist()
    expected = exhaustive.by_weight(case, k, ranked_labels(case), weights, offsets)
    assert sets_of(rule.apply(problem.y_score())) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "measure"), EVERY)
@given(data=st.data())
def test_evaluate_by_rule_is_that_of_its_sets_in_any_batches(
    rule: str, measure: str | None, data: st.DataObject
) -> None:
    problem = drawn(data, "csr", "dense", "list", rows=9, probable=rule == "weighted")
    if rule == "row":
        assume(has_score_above_unlisted(problem))
    if rule == "weighted":
        decision = weighted_rule(data, problem.n_labels, 2)
    else:
        decision = fitted(problem, rule, measure)
    problem = problem.with_arguments(decision=decision)
    problem = dataclasses.replace(problem, metrics=(*SET_MEASURES,))
    direct = problem.evaluate()
    sets = decision.apply(problem.y_score())
    report_of_sets = problem.without("decision").with_arguments(y_pred=sets_of(sets)).evaluate()
    assert dict(direct) == dict(report_of_sets)
    assert f"decision={decision.decision}" in direct.signature()
    n_first = data.draw(st.integers(0, problem.n_rows))
    batches = [problem.take(range(n_first)), problem.take(range(n_first, problem.n_rows))]
    evaluators = []
    for batch in batches:
        evaluator = batch.evaluator()
        evaluator.update(**batch.rows())
        evaluators.append(evaluator)
    first, second = evaluators
    assert second.merge(first).compute().to_json() == direct.to_json()
    sets_of_batches = [decision.apply(batch.y_score()) for batch in batches]
    assert (sp.vstack(sets_of_batches) != sets).nnz == 0


def has_score_above_unlisted(problem: Problem) -> bool:
    """Return whether any score is above that of unlisted labels."""
    floor = -math.inf if problem.unlisted is None else problem.unlisted
    for row in problem.listed:
        for _, score in row:
            if score is not None and score > floor:
                return True
    return False


@unwarned
@pytest.mark.parametrize(("rule", "measure"), EVERY)
def test_rule_is_the_same_in_little_memory_saved_and_merged(
    rule: str, measure: str | None, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    k = cutoff_of(rule)
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
    assert str(loaded) == str(decision)
    assert loaded.n_labels == 5
    assert loaded.measure == measure
    assert loaded.decision == decision.decision
    assert hash(loaded.decision) == hash(decision.decision)
    first = Evaluator(SET_MEASURES, n_labels=5, decision=decision)
    first.update(truth[:9], scores[:9])
    first.save(tmp_path / "state.npz")
    second = Evaluator(SET_MEASURES, n_labels=5, decision=loaded)
    second.update(truth[9:], scores[9:])
    whole = evaluate(truth, scores, decision=decision, metrics=SET_MEASURES)
    merged = Evaluator.load(tmp_path / "state.npz").merge(second)
    assert merged.compute().to_json() == whole.to_json()
    if rule != "row":
        nothing = sp.csr_array((3, 3), dtype=np.float32)
        without_scores = fit(np.eye(3, dtype=int), nothing, measure, rule=rule, k=k)
        assert without_scores.apply(nothing).nnz == 0


def middle_of_best_cut(scores: Any, size: int) -> float:
    """Return the threshold in the middle between the last score of a set and the next.

    scores : falling; size : of the set
    """
    if size == 0:
        return float(scores[0])
    if size == scores.size:
        return float(np.nextafter(scores[-1], 0))
    return float((scores[size - 1] + scores[size]) / 2)


def test_fit_takes_middle_thresholds_of_rows_for_least_squares() -> None:
    rng = np.random.default_rng(5)
    truth = (rng.random((40, 6)) < 0.4).astype(int)
    scores = rng.random((40, 6))
    ordered = -np.sort(-scores, axis=1)
    hits = np.take_along_axis(truth, np.argsort(-scores, axis=1), axis=1).cumsum(axis=1)
    f1 = 2 * hits / (np.arange(1, 7) + truth.sum(axis=1, keepdims=True))
    sizes = np.where(f1.max(axis=1) > 0, f1.argmax(axis=1) + 1, 0)  # of the best sets
    thresholds = [
        middle_of_best_cut(row, size) for row, size in zip(ordered, sizes.tolist(), strict=True)
    ]
    features = rng.random((40, 4))
    inputs: list[tuple[Any, int | None, dict[str, Any]]] = [
        (ordered[:, :3], 3, {}),
        (features, None, {"features": features}),
        (features, None, {"features": sp.csr_array(features)}),
    ]
    for columns, k, options in inputs:
        design = np.hstack([np.ones((40, 1)), columns])
        rule = fit(truth, scores, "f1.samples", rule="row", k=k, **options)
        weights = np.linalg.solve(design.T @ design, design.T @ thresholds)
        np.testing.assert_allclose(rule.decision.numbers, weights, rtol=1e-6)
        sets = rule.apply(scores, **options).toarray()
        np.testing.assert_array_equal(sets, scores > (design @ weights)[:, None])


@pytest.mark.parametrize("unlisted", [-0.3, 0.0, 0.25, 2.0, "below"])
def test_linear_rule_reads_all_labels_and_predicts_no_unlisted_one(unlisted: Any) -> None:
    rng = np.random.default_rng(11)
    truth = (rng.random((60, 6)) < 0.4).astype(int)
    scores = rng.normal(size=(60, 6))
    stored = rng.random((60, 6)) < 0.6
    stored[:, 0] = scores[:, 0] = 3.0
    stored[7] = False  # a row without scores has zeros, or the score of unlisted labels
    sparse = sp.csr_array((scores[stored], np.nonzero(stored)), shape=truth.shape)
    options: dict[str, Any] = {"rule": "row", "conventions": {"unlisted": unlisted}}
    rule = fit(truth, sparse, "hamming_loss", k=5, **options)
    if unlisted == "below":  # the last score of the row is repeated
        least = -np.inf
        filling = np.where(stored, scores, np.inf).min(axis=1, keepdims=True)
        filling[7] = 0.0
    else:
        least = unlisted
        filling = unlisted
    filled = np.where(stored, scores, filling)
    design = np.hstack([np.ones((60, 1)), -np.sort(-filled, axis=1)[:, :5]])
    thresholds = np.maximum(design @ rule.decision.numbers, least)[:, None]
    np.testing.assert_array_equal(rule.apply(sparse).toarray(), stored & (scores > thresholds))
    by_features = fit(truth, sparse, "f1.samples", features=scores[:, 3:], **options)
    sets = by_features.apply(sparse, features=scores[:, 3:]).toarray().astype(bool)
    assert sets.any()
    assert scores[sets].min() > least


@pytest.mark.parametrize("k", [2, 4, 6, 9])
@pytest.mark.parametrize("unlisted", [-0.5, 0.0, 0.5])
def test_linear_rule_reads_listed_scores_below_that_of_unlisted_labels(
    unlisted: float, k: int
) -> None:
    """On many other rows, so that a small change of a threshold changes a set."""
    rng = np.random.default_rng(12)
    shape = (3000, 6)
    scores = rng.normal(size=shape)
    stored = rng.random(shape) < 0.7
    sparse = sp.csr_array((scores[stored], np.nonzero(stored)), shape=shape)
    truth = (scores + rng.normal(size=shape) > 1).astype(int)
    options: dict[str, Any] = {"rule": "row", "conventions": {"unlisted": unlisted}}
    rule = fit(truth[:200], sparse[:200], "f1.samples", k=k, **options)
    filled = -np.sort(-np.where(stored, scores, unlisted), axis=1)
    design = np.hstack([np.ones((len(filled), 1)), filled[:, :k]])
    thresholds = np.maximum(design @ rule.decision.numbers, unlisted)[:, None]
    expected = stored & (scores > thresholds)
    assert (expected.sum(axis=1) < (stored & (scores > unlisted)).sum(axis=1)).sum() > 100
    np.testing.assert_array_equal(rule.apply(sparse).toarray(), expected)


@unwarned
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_weighted_rule_raises_the_expected_macro_average_most(name: str) -> None:
    rng = np.random.default_rng(6)
    for k in (1, 2, 5):
        truth = (rng.random((9, 5)) < 0.3).astype(int)
        scores = rng.random((9, 5))
        scores[rng.random((9, 5)) < 0.1] = 0
        stored = sp.csr_array(scores)
        rows = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in stored]
        n_true = truth.sum(axis=0).tolist()
        sets = exhaustive.ascent(name, k, rows, n_true)
        rule = fit(truth, stored, f"{name}.macro@{k}")
        assert (rule.rule, rule.decision.value) == ("weighted", k)
        before = exhaustive.expected(name, rows, sets, n_true)
        # one more row raises it by its weighted score
        one_more = [*rows, dict.fromkeys(range(5), 0.25)]
        weights, offsets = rule.decision.numbers.reshape(2, -1)
        for label in range(5):
            gain = exhaustive.expected(name, one_more, [*sets, {label}], n_true) - before
            weighted_score = weights[label] * 0.25 + offsets[label]
            assert weighted_score == pytest.approx(float(gain), rel=1e-12)


def test_fit_warns_with_the_values_of_the_rule_and_of_the_best_scores() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = (rng.random((6, 4)) < 0.4).astype(int)
        scores = rng.random((6, 4))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rule = fit(truth, scores, "f1.macro@2")
        weighted = evaluate(truth, scores, metrics="f1.macro", decision=rule)["f1.macro"]
        plain = evaluate(truth, scores, metrics="f1.macro@2")["f1.macro@2"]
        values = f"{weighted:.4g} by weighted scores and {plain:.4g} by the scores themselves"
        assert len(caught) == (1 if weighted < plain else 0)
        for warning in caught:
            assert str(warning.message).startswith(f"f1.macro@2 is {values}")


def test_fit_adds_shares_exactly() -> None:
    truth = np.array(
        [
            [1, 1, 0],
            [1, 0, 0],
            [1, 0, 0],
        ]
    )
    scores = np.array(
        [
            [6.0, 1.0, 0.0],
            [8.0, 5.0, 3.0],
            [4.0, 2.0, 7.0],
        ]
    )
    # three times 2/3 as 1 + 1/2 + 1/2 at 0
    assert fit(truth, scores, "f1.samples").decision.value == 3.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fit_separates_neighbouring_numbers(dtype: str) -> None:
    one = np.nextafter(np.array(1, dtype), np.array(2, dtype))
    truth = np.array([[1, 0, 1]])
    scores = np.array([[one, 1, np.inf]], dtype)
    for rule, measure in (("constant", "f1.micro"), ("label", "f1.macro")):
        sets = fit(truth, scores, measure, rule=rule).apply(scores)
        assert sets.toarray().tolist() == truth.tolist()
    assert fit(truth, scores, "f1.micro").decision.value == 1.0


def numbers_of(rule: Rule) -> tuple[bytes, bytes]:
    """Return the bytes of the numbers of a rule, which differ between -0.0 and 0.0."""
    return np.float64(rule.decision.value).tobytes(), rule.decision.numbers.tobytes()


@unwarned
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rule", "measure"), EVERY)
def test_fit_takes_minus_zero_for_zero(rule: str, measure: str | None, dtype: str) -> None:
    rng = np.random.default_rng(7)
    scores = rng.choice([0.0, 0.5, 1.0], (40, 5)).astype(dtype)
    share = np.where(scores > 0, 0.9, 0.1)  # so that some best thresholds are 0
    truth = (rng.random(scores.shape) < share).astype(int)
    k = cutoff_of(rule)
    expected = fit(truth, scores, measure, rule=rule, k=k)
    for is_negated in (truth == 0, truth == 1):
        mixed = np.where(is_negated & (scores == 0), -scores, scores)
        assert np.signbit(mixed).any()
        fitted_rule = fit(truth, mixed, measure, rule=rule, k=k)
        assert numbers_of(fitted_rule) == numbers_of(expected)


def test_fit_takes_the_fallback_for_rare_labels() -> None:
    truth = np.array(
        [
            [1, 0],
            [1, 0],
            [0, 1],
            [0, 0],
            [0, 0],
        ]
    )
    scores = np.array(
        [
            [0.9, 0.2],
            [0.8, 0.9],
            [0.1, 0.3],
            [0.2, 0.8],
            [0.1, 0.4],
        ]
    )
    for fbr, fallback, second in [
        (0.4, None, 0.2),
        (0.5, None, math.inf),
        (0.5, "highest", 0.9),
    ]:
        rule = fit(truth, scores, "f1.macro", rule="label", fbr=fbr, fallback=fallback)
        assert rule.decision.numbers.tolist() == [0.2, second]


def test_fallback_is_for_no_label_from_0_on_and_for_all_but_perfect_ones_below_1() -> None:
    truth = np.array([[1, 0], [0, 1], [0, 0]])
    scores = np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.125]])
    label: dict[str, Any] = {"measure": "f1.macro", "rule": "label"}
    plain, none, most = (fit(truth, scores, **label, fbr=fbr) for fbr in (None, 0, 1))
    assert plain.decision.numbers.tolist() == none.decision.numbers.tolist() == [0.5, 0.125]
    assert none.decision.name == plain.decision.name
    assert most.decision.numbers.tolist() == [0.5, math.inf]


def test_fit_shows_progress() -> None:
    shown = list[Any]()
    fit(np.eye(3), np.eye(3), "f1.micro", progress=lambda *rows: shown.append(rows))
    assert shown[-1] == (3, 3)


@pytest.mark.parametrize("scores", [[[-1.0, -2.0, -3.0], [-1.5, -2.5, -0.5]], [[-1.0, 0, 0]] * 2])
def test_no_label_is_predicted_where_all_scores_are_below_unlisted_ones(scores: Any) -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0]])
    rule = fit(truth, np.array(scores), "f1.micro", conventions="unlisted=0")
    assert rule.decision.value == math.inf


def test_a_threshold_does_not_depend_on_the_memory_for_scores() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = (rng.random((200, 30)) < 0.3).astype(int)
        scores = np.round(rng.random((200, 30)) + truth * 0.3, 1)
        found = {
            fit(truth, scores, "f1.micro", rule="constant", memory=memory).decision.value
            for memory in ("1GiB", "16kB", "1kB")
        }
        assert len(found) == 1


@pytest.mark.parametrize("rule", ["constant", "label"])
def test_threshold_at_the_score_of_unlisted_labels_is_that_score(rule: str) -> None:
    """As it was given, not rounded to the type of the scores."""
    truth = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    scores = np.array([[0.5, 0, 0], [0, 0.75, 0], [0.5, 0, 0]], np.float32)
    found = fit(
        truth, sp.csr_array(scores), "f1.macro", rule=rule, conventions={"unlisted": 0.1}
    ).decision
    thresholds = [found.value, *found.numbers.tolist()]
    assert 0.1 in thresholds
    assert float(np.float32(0.1)) not in thresholds
