"""Least and most: intervals over every completion of truncated lists."""

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

DTYPES = ("float32", "float64")
FORMS = ("csr", "list", "bare")
NAMES = (*ROWS, *POOLED)
EVERY_FORM = st.sampled_from([(form, dtype) for form in FORMS for dtype in DTYPES][:-1])
SCORED_FORM = st.sampled_from([(form, dtype) for form in FORMS[:2] for dtype in DTYPES])
law = settings(max_examples=60)


@st.composite
def truncated(
    draw: st.DrawFn, form: str, dtype: str, *, rows: int = 3, labels: int = 4, most_open: int = 99,
    weighted: bool = True,
) -> Problem:  # fmt: skip
    """Draw lists of which at most so many cells are left out in all."""
    n_rows, n_labels = draw(st.integers(1, rows)), draw(st.integers(1, labels))
    cells = [(i, j) for i in range(n_rows) for j in range(n_labels)]
    whole_row = [{(i, j) for j in range(n_labels)} for i in range(n_rows if n_labels <= most_open else 0)]
    some = st.sets(st.sampled_from(cells), max_size=most_open)
    left_out = draw(st.one_of(some, st.sampled_from(whole_row or [set()])))
    bare, score = form == "bare", st.sampled_from([*LEVELS, math.inf])
    listed: list[list[tuple[int, float | None]]] = []
    for i in range(n_rows):
        kept = [j for j in draw(st.permutations(range(n_labels))) if (i, j) not in left_out]
        kept = sorted(kept) if form == "csr" else kept
        listed.append([(j, None if bare else draw(score)) for j in kept])
    ties = st.sampled_from(["half", "full", "none"])
    no_pairs = st.sampled_from(["skip", "perfect", "perfect_except_auc", "perfect_if_relevant"])
    conventions = {"auc_ties": draw(ties), "loss_ties": draw(ties), "no_pairs": draw(no_pairs)}
    arguments: dict[str, Any] = {"conventions": conventions, "bounds": True}
    if weighted and draw(st.booleans()):
        weights = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=n_rows, max_size=n_rows)
        arguments["sample_weight"] = draw(weights)
    truth = [dict.fromkeys(row, 1.0) for row in draw(label_sets(n_rows, n_labels))]
    form = "list" if bare else form
    names = ROWS if bare or "sample_weight" in arguments else NAMES
    return Problem(n_labels, truth, listed, form, dtype, bare, arguments, (*names,))


def check(report: Report, expected: dict[str, tuple[float, float]]) -> None:
    for name, ends in expected.items():
        assert report.intervals[name] == pytest.approx(ends, rel=1e-12, abs=1e-12, nan_ok=True), name


@pytest.mark.slow
@law
@given(data=st.data(), form=EVERY_FORM)
def test_rows_run_over_every_completion(form: tuple[str, str], data: st.DataObject) -> None:
    problem = data.draw(truncated(*form))
    check(problem.evaluate(), oracle_bounds.intervals(case_of(problem)))


@pytest.mark.slow
@law
@given(data=st.data(), form=SCORED_FORM)
def test_pooled_cells_run_over_every_completion(form: tuple[str, str], data: st.DataObject) -> None:
    problem = data.draw(truncated(*form, most_open=2, weighted=False))
    check(problem.evaluate(), oracle_bounds.pooled_ends(case_of(problem)))


@law
@given(data=st.data(), form=EVERY_FORM)
def test_both_ends_are_reached(form: tuple[str, str], data: st.DataObject) -> None:
    """Problems too large to try every completion: the extreme ones have the values of both ends."""
    problem = data.draw(truncated(*form, rows=6, labels=7))
    report = problem.evaluate()
    assert list(report.intervals) == [name for name in NAMES if name in report]
    cases = [oracle_bounds.extreme(case_of(problem), best) for best in (False, True)]
    expected = {}
    for name in report.intervals:
        measure, _, average = name.partition(".")
        value: Any = oracle_curves.value if name in POOLED else oracle.value
        least, most = (value(measure, case, average or None) for case in cases)
        loss = name in ("coverage", "coverage_error", "ranking_loss")
        expected[name] = (most, least) if loss else (least, most)
    check(report, expected)


def test_only_where_asked_for_and_where_they_can_be_told() -> None:
    truth, scores = np.eye(3, dtype=int), (np.arange(3)[:, None], np.ones((3, 1)))
    assert evaluate(truth, scores, metrics=NAMES).intervals == {}
    assert [*evaluate(truth, scores, metrics="all", decision="top1", bounds=True).intervals] == [
        name for name in evaluate(truth, scores, metrics="all", decision="top1") if name in NAMES
    ]
    for options in ({"metrics": ["auc.macro"]}, {"metrics": ["auc.micro"], "sample_weight": [0.5, 1, 1]}):
        report = evaluate(truth, scores, bounds=True, **options)
        assert report.intervals == {}
        assert any("bounds= has no effect on auc." in note for note in report.notes)
