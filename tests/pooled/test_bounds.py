"""Least and most: intervals over every completion of truncated lists, and of areas from leading bits."""

import math
from dataclasses import replace
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
    draw: st.DrawFn, form: str, dtype: str, *, rows: int = 3, labels: int = 4, most_open: int = 99
) -> Problem:
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
    if draw(st.booleans()):
        weights = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=n_rows, max_size=n_rows)
        arguments["sample_weight"] = draw(weights)
    truth = [dict.fromkeys(row, 1.0) for row in draw(label_sets(n_rows, n_labels))]
    form = "list" if bare else form
    return Problem(n_labels, truth, listed, form, dtype, bare, arguments, (*(ROWS if bare else NAMES),))


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
    problem = data.draw(truncated(*form, most_open=2))
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


POOLS: dict[str, list[float]] = {
    "equal": [0.5],
    "powers of two": [s * 2.0**e for e in range(-6, 7) for s in (1, -1)],
    "denormal": [0.0, 1e-45, -1e-45, 3e-45, 1e-40, -1e-40, 2.0**-126, 5e-324, -5e-324],
    "infinite": [math.inf, -math.inf, 0.0, 1.0, 3.4028234663852886e38, -3.4028234663852886e38],
    "zeros": [0.0, -0.0, 1.0, -1.0],
    "close": [1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-40, 1.0 + 2.0**-23, 1.0 - 2.0**-53, 1.0 - 2.0**-24],
    "huge": [1e300, -1e300, 1e308, -1e308, 3.5e38, -3.5e38, 3.4e38, math.inf, -math.inf],
    "plain": [n / 7 for n in range(-20, 21)],
}
UNLISTED = ["below", 0.0, -0.5, 1.0 + 2.0**-40, 1e300, -1e300, math.inf, -math.inf, 5e-324, 1e-45]


def as_type(values: Any, dtype: str) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.array(values, np.float64).astype(dtype)


@st.composite
def bracketed(draw: st.DrawFn) -> Problem:
    """Draw scores with few or many leading bits, and how many are read."""
    n_rows, n_labels = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    form = draw(st.sampled_from(["csr", "list", "dense"]))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    pool = POOLS[draw(st.sampled_from(sorted(POOLS)))]
    score = st.sampled_from([float(s) for s in as_type(pool, dtype)])
    if draw(st.integers(0, 4)) == 0:
        score = st.floats(allow_nan=False, width=32 if dtype == "float32" else 64)
    listed: list[list[tuple[int, float | None]]] = []
    for _ in range(n_rows):
        order = draw(st.permutations(range(n_labels)))
        kept = order if form == "dense" else order[: draw(st.integers(0, n_labels))]
        listed.append([(j, draw(score)) for j in (kept if form == "list" else sorted(kept))])
    arguments = {
        "unlisted": "below" if form == "dense" else draw(st.sampled_from(UNLISTED)),
        "conventions": {"auc_ties": draw(st.sampled_from(["half", "full", "none"]))},
    }
    truth = [dict.fromkeys(row, 1.0) for row in draw(label_sets(n_rows, n_labels))]
    metrics = "auc.micro", f"auc.micro(bits={draw(st.integers(1, 24))})"
    return Problem(n_labels, truth, listed, form, dtype, False, arguments, metrics)


@pytest.mark.slow
@settings(max_examples=90)
@given(problem=bracketed())
def test_interval_is_that_of_the_oracle(problem: Problem) -> None:
    report, name = problem.evaluate(), problem.metrics[1]
    least, most = report.intervals[name]
    assert list(report.intervals) == [name]
    level, below = problem.unlisted, problem.unlisted is None
    if not below:
        problem = problem.with_conventions(unlisted=float(as_type(level, problem.dtype)))
    case = case_of(problem)
    case = replace(case, kind="list") if below else case  # stored scores of -inf are above unlisted ones
    cells = [
        (float(as_type(c[0], "float32")), *c[1:]) for column in oracle_curves.cells_of(case) for c in column
    ]
    bits = int(name.removeprefix("auc.micro(bits=").removesuffix(")"))
    expected = oracle_curves.auc_bracket(cells, problem.conventions.auc_ties, bits, below)
    close: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose((least, most), expected, **close)
    exact, value = report["auc.micro"], report[name]
    assert least <= exact <= most or all(x != x for x in (least, exact, most))
    np.testing.assert_allclose(value, (least + most) / 2, **close)
