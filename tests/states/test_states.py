"""Evaluators share nothing that is written, failed updates leave no trace, and sums are exact."""

import copy
import math
import pickle
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.limits import small_limits
from tests.problems import PER_ROW, Problem, groups_of_clusters, law, problems
from tests.routes import (
    comparable,
    contents_of,
    differences,
    needs_numbers,
    resources,
    usual_tolerance,
)
from tests.small_problems import drawn_problem
from xmleval import Evaluator, Running, evaluate


def limits(is_small: bool) -> AbstractContextManager[None]:
    if is_small:
        return small_limits()
    return nullcontext()


def update(evaluator: Evaluator, problem: Problem, first_row: int = 0) -> None:
    """Count the rows, with their numbers where the problem needs them."""
    if needs_numbers(problem) or problem.has(PER_ROW):
        evaluator.update(**problem.rows(), first_row=first_row)
    else:
        evaluator.update(**problem.rows())


def draw_counted(problem: Problem, data: st.DataObject, first_row: int) -> Evaluator:
    evaluator = problem.evaluator(**resources(problem, data.draw))
    update(evaluator, problem, first_row)
    return evaluator


@pytest.mark.slow
@law
@given(problem=problems(least_rows=3), data=st.data())
def test_merged_evaluators_share_no_memory_that_is_written(
    problem: Problem, data: st.DataObject
) -> None:
    two_rows = st.lists(st.integers(0, problem.n_rows), min_size=2, max_size=2)
    second_start, third_start = sorted(data.draw(two_rows))
    first = problem.take(range(second_start))
    second = problem.take(range(second_start, third_start))
    third = problem.take(range(third_start, problem.n_rows))
    tolerance = usual_tolerance(problem)
    expected = comparable(contents_of(problem.evaluate()))
    with limits(data.draw(st.booleans())):
        evaluators = [
            draw_counted(second, data, second_start),
            draw_counted(third, data, third_start),
        ]
        before = [contents_of(evaluator.compute()) for evaluator in evaluators]
        merged = copy.copy(evaluators[0]).merge(evaluators[1])
        update(merged, first)
        for contents, evaluator in zip(before, evaluators, strict=True):
            assert differences(contents, contents_of(evaluator.compute()), tolerance) == []
        contents_of_merged = contents_of(merged.compute())
        assert differences(expected, comparable(contents_of_merged), tolerance) == []
        for evaluator in evaluators:
            update(evaluator, first)
        assert differences(contents_of_merged, contents_of(merged.compute()), tolerance) == []


@pytest.mark.slow
@law
@given(problem=problems(least_rows=2, forms=("csr", "dense")), data=st.data())
def test_failed_update_leaves_no_trace(problem: Problem, data: st.DataObject) -> None:
    """The last row is refused when blocks of other rows are counted already."""
    with limits(data.draw(st.booleans())):
        options = resources(problem, data.draw) | {"block_rows": 1}
        evaluator = problem.evaluator(**options)
        without_failure = problem.evaluator(**options)
        wrong = problem.rows()
        scores = wrong["y_score"]
        if not scores[[-1]].size:
            return
        is_dense = problem.form == "dense"
        values = scores[-1] if is_dense else scores.data
        values[-1:] = math.nan
        for _ in range(2):
            with pytest.raises(ValueError, match="nan"):
                evaluator.update(**wrong)
        evaluator.update(**problem.rows())
        without_failure.update(**problem.rows())
    expected = contents_of(without_failure.compute())
    assert differences(expected, contents_of(evaluator.compute()), lambda _: None) == []


LARGEST_Q = [1.0, 1.0 + 2.0**-52, 2.0**30, 2.0**30 - 2.0**-22, 2.0**29 / 3.0]


@given(seed=seeds, n_rows=st.sampled_from([1, 7, 8, 9, 40]), weighted=st.booleans())
def test_sums_of_rows_are_rounded_once(seed: int, n_rows: int, weighted: bool) -> None:
    """Eight rows of the largest propensity exceed the sums of integers."""
    rng = np.random.default_rng(seed)
    q = rng.choice(LARGEST_Q, 6)
    labels = rng.integers(0, 6, n_rows)
    q[0] = 2.0**30
    truth = rng.random((n_rows, 6)) < 0.5
    weights = np.ones(n_rows)
    if weighted:
        weights = 2.0 ** rng.integers(-30, 1, n_rows) * (1 + rng.random(n_rows))
    options: dict[str, Any] = {
        "metrics": ["p@1", "psp_raw@1"],
        "inverse_propensity": q,
        "sample_weight": weights if weighted else None,
    }
    lists = labels[:, None], None
    reports = [
        evaluate(truth.astype(int), lists, running=Running(block_rows=block_rows), **options)
        for block_rows in (None, 1, 7, 8, 9)
    ]
    assert len({report.to_json() for report in reports}) == 1

    n_hits = Fraction()
    gain = Fraction()
    for row, label in enumerate(labels):
        if truth[row, label]:
            weight = Fraction(weights[row])
            n_hits += weight
            gain += Fraction(q[label]) * weight
    total = sum(map(Fraction, weights))
    precision = float(n_hits / total)
    mean_gain = float(gain / total)
    assert reports[0]["p@1"] == pytest.approx(precision, rel=2e-16)
    assert reports[0]["psp_raw@1"] == pytest.approx(mean_gain, rel=1e-15)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_label_counts_exceed_a_byte(small: bool, weighted: bool) -> None:
    """Counts of labels overflow bytes, in all rows and within each of two shards."""
    n_rows = 1500
    rng = np.random.default_rng(4)
    truth, predicted = (rng.random((2, n_rows, 9)) < np.linspace(0, 1, 9)).astype(int)
    weights = np.ones(n_rows)
    if weighted:
        weights = rng.integers(1, 4, n_rows) / 2
    clusters = np.arange(n_rows) % 9
    metrics = ["f1.macro", "recall.weighted", "mcc.macro", "f1.micro"]

    def inputs(rows: Any) -> dict[str, Any]:
        arguments = {"y_true": truth[rows], "y_pred": predicted[rows]}
        if weighted:
            arguments["sample_weight"] = weights[rows]
        return arguments

    options: dict[str, Any] = {
        "per_label": True,
        "block_rows": 70,
        "threads": 2,
        "confidence": 0.9,
    }
    with limits(small):
        shards = [Evaluator(metrics, n_labels=9, **options) for _ in range(2)]
        for shard, rows in zip(shards, (slice(700), slice(700, n_rows)), strict=True):
            shard.update(**inputs(rows), clusters=clusters[rows])
        report = shards[0].merge(shards[1]).compute()

    tp = weights @ (truth * predicted)
    n_true = weights @ truth
    n_pred = weights @ predicted
    by_label = report.per_label()
    assert by_label["tp"].tolist() == tp.tolist()
    assert by_label["support"].tolist() == n_true.tolist()
    f1 = 2 * tp[1:] / (n_true + n_pred)[1:]
    f1 = np.append(0.0, f1)  # the first label is nowhere
    assert report["f1.macro"] == pytest.approx(f1.mean(), rel=1e-15)

    groups = groups_of_clusters(clusters, n_rows)
    without_group = [
        evaluate(**inputs(groups != group), metrics=metrics) for group in np.unique(groups)
    ]
    for name, replicates in report.results.replicates.items():
        assert replicates.tolist() == [values[name] for values in without_group]


EACH_STATE: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"sample_weight": True},
    "judged": {"judged": 0.7, "sample_weight": True},
    "excluded": {"exclude": 0.3, "conventions": {"unlisted": "below"}},
    "scored": {"conventions": {"unlisted": 0.25}},
    "distances": {"higher_is_better": False, "sample_weight": True},
    "groups": {
        "label_groups": ["head", "tail", "tail", "head", "tail", "head"],
        "row_groups": [*"aababca"],
    },
    "intervals": {"confidence": 0.9, "clusters": [1, 2, 2, 3, 4, 1, 4]},
    "kept": {"per_label": True, "curve_points": 5, "bounds": True},
}


@pytest.mark.parametrize("name", EACH_STATE)
def test_each_state_is_saved_copied_and_merged_in_any_memory(name: str, tmp_path: Path) -> None:
    number = [*EACH_STATE].index(name)
    problem = drawn_problem(("csr", "list")[number % 2], EACH_STATE[name], 5)
    measures = dict[Any, str]()  # the last one of each state and average, at k and not
    for spec in problem.specs:
        measures[spec.state, spec.average, spec.k is None] = spec.name
    problem = replace(problem, metrics=(*measures.values(),))
    first = problem.take(range(3))
    second = problem.take(range(3, 7))
    tolerance = usual_tolerance(problem)
    expected = comparable(contents_of(problem.evaluate()))
    memory: Any = 1
    if problem.has("confidence"):
        memory = "64MiB"
    evaluator = problem.evaluator(memory=memory)
    update(evaluator, first)
    evaluator.save(tmp_path / "first")
    other = problem.evaluator(memory=memory)
    update(other, second, 3)
    other.save(tmp_path / "second")
    loaded = Evaluator.load(tmp_path / "first", memory=memory)
    same = contents_of(loaded.compute())
    assert differences(contents_of(evaluator.compute()), same, lambda _: None) == []
    merged = copy.copy(loaded).merge(Evaluator.load(tmp_path / "second", memory=memory))
    update(loaded, second, 3)
    evaluator.merge(other)
    for counted in (merged, loaded, evaluator, pickle.loads(pickle.dumps(merged))):
        actual = comparable(contents_of(counted.compute()))
        assert differences(expected, actual, tolerance) == []


@pytest.mark.parametrize("name", ["p@1", "map@2", "ndcg@2", "mrr@2", "aurc@1"])
def test_rows_that_are_left_out_add_up_in_merged_evaluators(name: str) -> None:
    """Two rows of one part and three of the other have no relevant label."""
    parts = [Evaluator(name, n_labels=3, conventions="empty=skip") for _ in range(2)]
    for part, n_empty in zip(parts, (2, 3), strict=True):
        truth = np.eye(3, dtype=int)[[0] * 4] * (np.arange(4) >= n_empty)[:, None]
        part.update(truth, np.eye(3)[[0, 1, 2, 0]])
    first, second = parts
    assert first.compute().undefined_rows == {name: 2}
    assert first.merge(second).compute().undefined_rows == {name: 5}
