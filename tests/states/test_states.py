"""Evaluators share nothing that is written, failed updates leave no trace, and sums are exact."""

import copy
import math
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.limits import small_limits
from tests.problems import PER_ROW, Problem, groups_of_clusters, law, problems
from tests.routes import comparable, contents_of, differences, needs_numbers, resources, usual_tolerance
from xmleval import Evaluator, Running, evaluate


def numbered(problem: Problem) -> bool:
    return needs_numbers(problem) or problem.has(PER_ROW)


def counted(problem: Problem, data: st.DataObject, first: int = 0) -> Evaluator:
    evaluator = problem.evaluator(**resources(problem, data.draw))
    evaluator.update(**problem.rows(), first_row=first if numbered(problem) else None)
    return evaluator


@pytest.mark.slow
@law
@given(problem=problems(least_rows=3), data=st.data())
def test_merged_evaluators_share_no_memory_that_is_written(problem: Problem, data: st.DataObject) -> None:
    ends = [0, *sorted(data.draw(st.lists(st.integers(0, problem.n_rows), min_size=2, max_size=2)))]
    parts = [problem.take(range(lo, hi)) for lo, hi in zip(ends, [*ends[1:], problem.n_rows], strict=True)]
    tolerance, whole = usual_tolerance(problem), contents_of(problem.evaluate())
    with small_limits() if data.draw(st.booleans()) else nullcontext():
        pair = [counted(part, data, first) for part, first in zip(parts[1:], ends[1:], strict=True)]
        before = [contents_of(each.compute()) for each in pair]
        merged = copy.copy(pair[0]).merge(pair[1])
        merged.update(**parts[0].rows(), first_row=0 if numbered(problem) else None)
        for contents, each in zip(before, pair, strict=True):
            assert differences(contents, contents_of(each.compute()), tolerance) == []
        after = contents_of(merged.compute())
        assert differences(comparable(whole), comparable(after), tolerance) == []
        for each in pair:
            each.update(**parts[0].rows(), first_row=0 if numbered(problem) else None)
        assert differences(after, contents_of(merged.compute()), tolerance) == []


@pytest.mark.slow
@law
@given(problem=problems(least_rows=2, forms=("csr", "dense")), data=st.data())
def test_failed_update_leaves_no_trace(problem: Problem, data: st.DataObject) -> None:
    """Its last row is refused, when blocks of other rows have been counted."""
    with small_limits() if data.draw(st.booleans()) else nullcontext():
        options = resources(problem, data.draw) | {"block_rows": 1}
        evaluator, alone = problem.evaluator(**options), problem.evaluator(**options)
        wrong = problem.rows()
        if not wrong["y_score"][[-1]].size:
            return
        dense = problem.form == "dense"
        (wrong["y_score"][-1] if dense else wrong["y_score"].data)[-1:] = math.nan
        for _ in range(2):
            with pytest.raises(ValueError, match="nan"):
                evaluator.update(**wrong)
        evaluator.update(**problem.rows())
        alone.update(**problem.rows())
    assert differences(contents_of(alone.compute()), contents_of(evaluator.compute()), lambda _: None) == []


LARGEST_Q = [1.0, 1.0 + 2.0**-52, 2.0**30, 2.0**30 - 2.0**-22, 2.0**29 / 3.0]


@given(seed=seeds, n_rows=st.sampled_from([1, 7, 8, 9, 40]), weighted=st.booleans())
def test_sums_of_rows_are_rounded_once(seed: int, n_rows: int, weighted: bool) -> None:
    """Eight rows of the largest propensity are more than what is summed in integers."""
    rng = np.random.default_rng(seed)
    q, labels = rng.choice(LARGEST_Q, 6), rng.integers(0, 6, n_rows)
    q[0] = 2.0**30
    truth = rng.random((n_rows, 6)) < 0.5
    weight = 2.0 ** rng.integers(-30, 1, n_rows) * (1 + rng.random(n_rows)) if weighted else np.ones(n_rows)
    options: dict[str, Any] = {"metrics": ["p@1", "psp_raw@1"], "inverse_propensity": q}
    options["sample_weight"] = weight if weighted else None
    lists = labels[:, None], None
    reports = [
        evaluate(truth.astype(int), lists, running=Running(block_rows=rows), **options)
        for rows in (None, 1, 7, 8, 9)
    ]
    assert len({report.to_json() for report in reports}) == 1
    hits, total = truth[np.arange(n_rows), labels], sum(map(Fraction, weight))
    expected = sum((Fraction(w) for w, hit in zip(weight, hits, strict=True) if hit), Fraction()) / total
    assert reports[0]["p@1"] == pytest.approx(float(expected), rel=2e-16)
    gains = sum((Fraction(q[j]) * Fraction(w) for j, w, hit in zip(labels, weight, hits, strict=True) if hit))
    assert reports[0]["psp_raw@1"] == pytest.approx(float(Fraction(gains) / total), rel=1e-15)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_labels_beyond_a_byte(small: bool, weighted: bool) -> None:
    """Counts of labels overflow bytes, alone and within a part of the rows."""
    rng = np.random.default_rng(4)
    truth, predicted = (rng.random((2, 1500, 9)) < np.linspace(0, 1, 9)).astype(int)
    weight = rng.integers(1, 4, 1500) / 2 if weighted else None
    metrics = ["f1.macro", "recall.weighted", "mcc.macro", "f1.micro"]

    def inputs(rows: Any) -> dict[str, Any]:
        inputs = {"y_true": truth[rows], "y_pred": predicted[rows]}
        return inputs if weight is None else inputs | {"sample_weight": weight[rows]}

    options: dict[str, Any] = {"per_label": True, "block_rows": 70, "threads": 2, "confidence": 0.9}
    with small_limits() if small else nullcontext():
        parts = [Evaluator(metrics, n_labels=9, **options) for _ in range(2)]
        for part, rows in zip(parts, (slice(700), slice(700, 1500)), strict=True):
            part.update(**inputs(rows), clusters=np.arange(1500)[rows] % 9)
        report = parts[0].merge(parts[1]).compute()
    unit = np.ones(1500) if weight is None else weight
    tp, n_true, n_pred = unit @ (truth * predicted), unit @ truth, unit @ predicted
    assert report.per_label()["tp"].tolist() == tp.tolist()
    assert report.per_label()["support"].tolist() == n_true.tolist()
    f1 = np.append(0.0, 2 * tp[1:] / (n_true + n_pred)[1:])  # the first label is nowhere
    assert report["f1.macro"] == pytest.approx(f1.mean(), rel=1e-15)
    groups = groups_of_clusters(np.arange(1500) % 9, 1500)
    without = [evaluate(**inputs(groups != group), metrics=metrics) for group in np.unique(groups)]
    for name, values in report.results.replicates.items():
        assert values.tolist() == [part[name] for part in without]
