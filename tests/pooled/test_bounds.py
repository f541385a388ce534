"""Intervals of values over every completion of truncated lists (bounds=True)."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.definitions import case_of
from tests.oracles import bounds as oracle_bounds
from tests.oracles import curves as oracle_curves
from tests.oracles import metrics as oracle
from tests.oracles.bounds import POOLED, ROWS
from tests.problems import LEVELS, Problem, label_sets
from xmleval import Report, evaluate

NAMES = (*ROWS, *POOLED)
SCORED_FORMS = [(form, dtype) for form in ("csr", "list") for dtype in ("float32", "float64")]
SCORED_FORM = st.sampled_from(SCORED_FORMS)
EVERY_FORM = st.sampled_from([*SCORED_FORMS, ("bare", "float32")])
law = settings(max_examples=60)


NO_PAIRS = st.sampled_from(["skip", "perfect", "perfect_except_auc", "perfect_if_relevant"])
TIES = st.sampled_from(["half", "full", "none"])
SCORE = st.sampled_from([*LEVELS, math.inf])
WEIGHT = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])

Cells = set[tuple[int, int]]


@st.composite
def unlisted_cells(draw: st.DrawFn, n_rows: int, n_labels: int, most: int) -> Cells:
    """Draw any cells, at most so many, or those of a row."""
    cells = [(i, j) for i in range(n_rows) for j in range(n_labels)]
    any_cells = st.sets(st.sampled_from(cells), max_size=most)
    rows: list[Cells] = [set()]
    if n_labels <= most:
        rows = [{(i, j) for j in range(n_labels)} for i in range(n_rows)]
    return draw(st.one_of(any_cells, st.sampled_from(rows)))


@st.composite
def truncated(
    draw: st.DrawFn,
    form: str,
    dtype: str,
    *,
    rows: int = 3,
    labels: int = 4,
    most_open: int = 99,
    weighted: bool = True,
) -> Problem:
    """Draw truncated lists, with at most ``most_open`` unlisted cells in all."""
    n_rows = draw(st.integers(1, rows))
    n_labels = draw(st.integers(1, labels))
    unlisted = draw(unlisted_cells(n_rows, n_labels, most_open))
    is_bare = form == "bare"
    listed: list[list[tuple[int, float | None]]] = []
    for i in range(n_rows):
        row = [j for j in draw(st.permutations(range(n_labels))) if (i, j) not in unlisted]
        if form == "csr":
            row.sort()
        if is_bare:
            listed.append([(j, None) for j in row])
        else:
            listed.append([(j, draw(SCORE)) for j in row])
    arguments: dict[str, Any] = {
        "conventions": {
            "auc_ties": draw(TIES),
            "loss_ties": draw(TIES),
            "no_pairs": draw(NO_PAIRS),
        },
        "bounds": True,
    }
    if weighted and draw(st.booleans()):
        weights = st.lists(WEIGHT, min_size=n_rows, max_size=n_rows)
        arguments["sample_weight"] = draw(weights)
    truth = [dict.fromkeys(row, 1.0) for row in draw(label_sets(n_rows, n_labels))]
    names: tuple[str, ...] = NAMES
    if is_bare:
        form = "list"
        names = ROWS
    elif "sample_weight" in arguments:
        names = ROWS
    return Problem(n_labels, truth, listed, form, dtype, is_bare, arguments, names)


def check_intervals(report: Report, expected: dict[str, tuple[float, float]]) -> None:
    for name, ends in expected.items():
        close = pytest.approx(ends, rel=1e-12, abs=1e-12, nan_ok=True)
        assert report.intervals[name] == close, name


@pytest.mark.slow
@law
@given(data=st.data(), form=EVERY_FORM)
def test_bounds_of_row_measures_run_over_every_completion(
    form: tuple[str, str], data: st.DataObject
) -> None:
    problem = data.draw(truncated(*form))
    check_intervals(problem.evaluate(), oracle_bounds.intervals(case_of(problem)))


@pytest.mark.slow
@law
@given(data=st.data(), form=SCORED_FORM)
def test_bounds_of_pooled_measures_run_over_every_completion(
    form: tuple[str, str], data: st.DataObject
) -> None:
    problem = data.draw(truncated(*form, most_open=2, weighted=False))
    check_intervals(problem.evaluate(), oracle_bounds.pooled_ends(case_of(problem)))


@law
@given(data=st.data(), form=EVERY_FORM)
def test_bounds_are_reached_by_extreme_completions(
    form: tuple[str, str], data: st.DataObject
) -> None:
    """The extreme completions have the values of both ends, in problems too large to try all."""
    problem = data.draw(truncated(*form, rows=6, labels=7))
    report = problem.evaluate()
    assert list(report.intervals) == [name for name in NAMES if name in report]
    cases = [oracle_bounds.extreme(case_of(problem), best) for best in (False, True)]
    expected = {}
    for name in report.intervals:
        measure, _, average = name.partition(".")
        value: Any = oracle.value
        if name in POOLED:
            value = oracle_curves.value
        worst, best = (value(measure, case, average or None) for case in cases)
        if name in ("coverage", "coverage_error", "ranking_loss"):
            expected[name] = (best, worst)
        else:
            expected[name] = (worst, best)
    check_intervals(report, expected)


def test_bounds_only_where_requested_and_defined() -> None:
    truth = np.eye(3, dtype=int)
    scores = (np.arange(3)[:, None], np.ones((3, 1)))
    assert evaluate(truth, scores, metrics=NAMES).intervals == {}
    options: dict[str, Any] = {"metrics": "all", "decision": "top1"}
    with_bounds = evaluate(truth, scores, bounds=True, **options)
    without = evaluate(truth, scores, **options)
    assert [*with_bounds.intervals] == [name for name in without if name in NAMES]
    for options in (
        {"metrics": ["auc.macro"]},
        {"metrics": ["auc.micro"], "sample_weight": [0.5, 1, 1]},
    ):
        report = evaluate(truth, scores, bounds=True, **options)
        assert report.intervals == {}
        assert any("bounds= has no effect on auc." in note for note in report.notes)
