"""Least and most: the interval of a measure over every completion of truncated lists."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles import bounds as oracle_bounds
from tests.oracles import curves as oracle_curves
from tests.oracles import metrics as oracle
from tests.oracles.bounds import POOLED, ROWS
from tests.strategies import DTYPES, LEVELS, Problem, label_sets
from xmleval import Evaluator, Report, evaluate
from xmleval.pooled.curves import Unlisted, sweep_piles
from xmleval.pooled.piles import Pile
from xmleval.threads import Work

FORMS = ("csr", "list", "bare")
NAMES = (*ROWS, *POOLED)
WITH_INFINITE = [*LEVELS, math.inf]
every_form = pytest.mark.parametrize(("form", "dtype"), [(f, d) for f in FORMS for d in DTYPES][:-1])
scored_form = pytest.mark.parametrize(("form", "dtype"), [(f, d) for f in FORMS[:2] for d in DTYPES])
law = settings(
    max_examples=16, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@st.composite
def conventions(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "auc_ties": draw(st.sampled_from(["half", "full", "none"])),
        "loss_ties": draw(st.sampled_from(["half", "full", "none"])),
        "no_pairs": draw(st.sampled_from(["skip", "perfect", "perfect_except_auc", "perfect_if_relevant"])),
    }


@st.composite
def truncated(
    draw: st.DrawFn,
    form: str,
    dtype: str,
    *,
    rows: int = 3,
    labels: int = 4,
    most_open: int = 99,
    weighted: bool = False,
    fixed: dict[str, Any] | None = None,
) -> Problem:
    """Draw lists of which at most so many cells are left out in all."""
    n_rows, n_labels = draw(st.integers(1, rows)), draw(st.integers(1, labels))
    cells = [(i, j) for i in range(n_rows) for j in range(n_labels)]
    whole_row = [[(i, j) for j in range(n_labels)] for i in range(n_rows if n_labels <= most_open else 0)]
    left_out = draw(
        st.one_of(
            st.sets(st.sampled_from(cells), max_size=most_open),
            st.sampled_from([set(row) for row in whole_row] or [set()]),
        )
    )
    score = st.sampled_from(WITH_INFINITE)
    listed: list[list[tuple[int, float | None]]] = []
    for i in range(n_rows):
        kept = [j for j in draw(st.permutations(range(n_labels))) if (i, j) not in left_out]
        row = [(j, None if form == "bare" else draw(score)) for j in kept]
        listed.append(sorted(row, key=lambda pair: pair[0]) if form == "csr" else row)
    weights = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=n_rows, max_size=n_rows)
    case = oracle.Case(
        truth=draw(label_sets(n_rows, n_labels)),
        n_labels=n_labels,
        listed=listed,
        kind="matrix" if form == "csr" else "list",
        weights=draw(weights) if weighted and draw(st.booleans()) else None,
        conventions=draw(conventions()) if fixed is None else fixed,
    )
    return Problem(case, "csr" if form == "csr" else "list", dtype, bare=form == "bare")


def bounded(problem: Problem, **more: Any) -> Report:
    names = ROWS if problem.bare else NAMES
    conventions = problem.case.conventions
    return evaluate(**problem.inputs(), conventions=conventions, metrics=names, bounds=True, **more)


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) or (a != a and b != b)


def assert_equal(report: Report, want: dict[str, tuple[float, float]]) -> None:
    for name, (least, most) in want.items():
        found = report.intervals[name]
        assert close(found[0], least), (name, "least", found, least)
        assert close(found[1], most), (name, "most", found, most)


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_rows_run_over_every_completion(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(truncated(form, dtype, weighted=True))
    assert_equal(bounded(problem), oracle_bounds.intervals(problem.case))


@pytest.mark.slow
@scored_form
@law
@given(data=st.data())
def test_pooled_cells_run_over_every_completion(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(truncated(form, dtype, most_open=2, weighted=True))
    assert_equal(bounded(problem), oracle_bounds.pooled_ends(problem.case))


@settings(law, max_examples=15)
@given(data=st.data())
def test_three_open_cells_run_over_every_completion(data: st.DataObject) -> None:
    problem = data.draw(truncated("csr", "float64", rows=2, labels=3, most_open=3))
    assert_equal(bounded(problem), oracle_bounds.pooled_ends(problem.case))


@every_form
@law
@given(data=st.data())
def test_both_ends_are_reached(form: str, dtype: str, data: st.DataObject) -> None:
    """Problems too large to try every completion: the extreme ones have the values of both ends."""
    problem = data.draw(truncated(form, dtype, rows=6, labels=7, weighted=True))
    report = bounded(problem)
    worst, best = (oracle_bounds.extreme(problem.case, end) for end in (False, True))
    for name, interval in report.intervals.items():
        measure, _, average = name.partition(".")
        pooled = average in ("micro", "macro", "weighted")
        ends = [
            oracle_curves.value(measure, case, average)
            if pooled
            else oracle.value(measure, case, average or None)
            for case in (worst, best)
        ]
        if name in ("coverage", "coverage_error", "ranking_loss"):
            ends.reverse()
        assert close(interval[0], ends[0]), name
        assert close(interval[1], ends[1]), name


@scored_form
@law
@given(data=st.data())
def test_any_completion_lies_within(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(truncated(form, dtype, rows=5, labels=6, fixed={}))
    report, case = bounded(problem), problem.case
    assert case.listed is not None
    scores = np.full((problem.n_rows, case.n_labels), np.nan)
    for i, row in enumerate(case.listed):
        known = oracle_bounds.scored(row)
        scores[i, [j for j, _ in known]] = [s for _, s in known]
        last = min((s for _, s in known), default=math.inf)
        below = [s for s in (-math.inf, -9.0, -1.5, -0.25, 0.1, 0.3, *LEVELS) if s <= last]
        for j in np.flatnonzero(np.isnan(scores[i])):
            scores[i, j] = data.draw(st.sampled_from([*below, last]))
    complete = evaluate(problem.y_true(), scores, metrics=NAMES)
    for name, (least, most) in report.intervals.items():
        value = complete[name]
        assert least - 1e-12 <= value <= most + 1e-12 or (value != value and least != least), name


@every_form
@law
@given(data=st.data())
def test_the_value_lies_within(form: str, dtype: str, data: st.DataObject) -> None:
    report = bounded(data.draw(truncated(form, dtype, rows=6, labels=7, weighted=True)))
    assert list(report.intervals) == [name for name in NAMES if name in report]
    for name, (least, most) in report.intervals.items():
        assert least <= report[name] <= most or (
            least != least and most != most and report[name] != report[name]
        )


@every_form
@law
@given(data=st.data())
def test_complete_lists_leave_nothing_open(form: str, dtype: str, data: st.DataObject) -> None:
    report = bounded(data.draw(truncated(form, dtype, rows=6, labels=7, most_open=0, weighted=True)))
    for name, interval in report.intervals.items():
        assert [*interval] == [report[name]] * 2 or report[name] != report[name], name


@scored_form
@law
@given(data=st.data())
def test_no_width_where_nothing_can_move(form: str, dtype: str, data: st.DataObject) -> None:
    """Pooled, with half credit: any open irrelevant label that reaches a relevant one shows."""
    problem = data.draw(truncated(form, dtype, fixed={}))
    case = problem.case
    assert case.listed is not None
    rows = [dict(oracle_bounds.scored(row)) for row in case.listed]
    last = [min(row.values(), default=math.inf) for row in rows]
    cells = list(itertools.product(range(problem.n_rows), range(case.n_labels)))
    open_to = [last[i] for i, j in cells if j not in rows[i] and j not in case.truth[i]]
    relevant = [rows[i].get(j, -math.inf) for i, j in cells if j in case.truth[i]]
    missing = any(j not in rows[i] and j in case.truth[i] for i, j in cells)
    reached = bool(open_to) and bool(relevant) and (missing or min(relevant) <= max(open_to))
    n_below = [  # a missing relevant label may also pass listed irrelevant ones
        s
        for i, j in cells
        if j in case.truth[i] and j not in rows[i]
        for a, b in cells
        if b not in case.truth[a] and b in rows[a] and (s := rows[a][b]) <= last[i]
    ]
    least, most = bounded(problem).intervals["auc.micro"]
    assert (least < most) == (reached or bool(n_below)) or least != least


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_cutting_merging_saving_and_spilling_leave_the_bits(
    form: str, dtype: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    problem = data.draw(truncated(form, dtype, rows=8, labels=5, weighted=True))
    want = bounded(problem, threads=1).to_json()
    size = data.draw(st.integers(1, 4))
    assert bounded(problem, threads=2, block_rows=size, memory=1).to_json() == want
    path: Path = tmp_path_factory.getbasetemp() / "state.npz"
    names = ROWS if problem.bare else NAMES
    parts = []
    cuts = sorted(data.draw(st.lists(st.integers(0, problem.n_rows), max_size=3)))
    for lo, hi in itertools.pairwise([0, *cuts, problem.n_rows]):
        memory: Any = data.draw(st.sampled_from([1, "100B", "1GiB"]))
        later: Any = data.draw(st.sampled_from([1, "1GiB"]))
        part = Evaluator(
            names, n_labels=problem.case.n_labels, conventions=problem.case.conventions, bounds=True,
            memory=memory, block_rows=size,
        )  # fmt: skip
        part.update(**problem.cut(list(range(lo, hi))).inputs())
        part.save(path)
        parts.append(Evaluator.load(path, memory=later))
    while len(parts) > 1:
        parts[0].merge(parts.pop(data.draw(st.integers(1, len(parts) - 1))))
    assert parts[0].compute().to_json() == want


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("level", [None, 0.5, 0.4, -5.0, 9.0])
def test_pairs_are_exact_beyond_64_bits(level: float | None, threads: int) -> None:
    rng = np.random.default_rng(1)
    good, bad = (rng.integers(-8, 9, n) / 4 for n in (300, 500))
    many, huge = 2**33 + 7, 2**45 - 12345  # their lower halves carry over
    piles = [Pile(), Pile()]
    piles[0].add([good.astype(np.float32)])
    piles[1].add([bad.astype(np.float32)])
    found = sweep_piles([piles[0]], piles[1], Unlisted(many, huge, level), Work(1 << 20, threads))
    place = -np.inf if level is None else float(np.float32(level))
    right = sum(int((bad < s).sum()) for s in good) + many * int((bad < place).sum())
    right += huge * int((good > place).sum())
    tied = sum(int((bad == s).sum()) for s in good) + many * int((bad == place).sum())
    tied += huge * int((good == place).sum()) + many * huge
    assert found.pairs == (right, tied)
    assert tied > 2**64


@pytest.mark.parametrize("more", [{"unlisted": 0.0}, {"conventions": "sklearn"}, {"unlisted": -math.inf}])
def test_a_score_of_unlisted_labels_leaves_nothing_open(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^bounds: unlisted=.* gives every label a score"):
        evaluate(np.eye(3, dtype=int), np.eye(3), metrics=["lrap"], bounds=True, **more)


def test_only_where_asked_for_and_where_they_can_be_told() -> None:
    truth, scores = np.eye(3, dtype=int), (np.arange(3)[:, None], np.ones((3, 1)))
    assert evaluate(truth, scores, metrics=NAMES).intervals == {}
    assert [*evaluate(truth, scores, metrics="all", decision="top1", bounds=True).intervals] == [
        name for name in evaluate(truth, scores, metrics="all", decision="top1") if name in NAMES
    ]


def test_the_table_shows_both_ends() -> None:
    labels, scores = np.array([[0, 1], [3, 2]]), np.array([[0.9, 0.5], [0.5, 0.25]])
    report = evaluate([[0, 1, 0, 1], [0, 0, 1, 1]], (labels, scores), metrics=["lrap", "p@1"], bounds=True)
    title, _, *lines = str(report).splitlines()[1:]
    assert title.split()[-2:] == ["lower", "upper"]
    (row,) = [line.split() for line in lines if line.startswith("LRAP")]
    assert row[-2:] == [f"{end:.4f}" for end in report.intervals["lrap"]]


def test_by_hand() -> None:
    """One row of five labels, [0, 1] listed, [1, 4] relevant; 4, 2 and 3 may tie with 1 or be below."""
    report = evaluate(
        np.array([[0, 1, 0, 0, 1]]),
        (np.array([[0, 1]]), np.array([[0.9, 0.5]])),
        metrics=NAMES,
        bounds=True,
        conventions={"loss_ties": "half"},
    )
    assert report.intervals["coverage"] == (2.0, 4.0)
    assert report.intervals["coverage_error"] == (3.0, 5.0)
    # worst: 0 > 1 = 2 = 3 > 4, two reversed pairs and two level ones of 1, 4 with 0, and three of 4
    assert report.intervals["ranking_loss"] == ((1 + 1) / 6, (1 + 2 / 2 + 3) / 6)
    np.testing.assert_allclose(report.intervals["auc.samples"], (1 / 6, 4 / 6))
    assert report.intervals["auc.micro"] == (1 / 6, 4 / 6)
    assert report.intervals["lrap"] == ((1 / 4 + 2 / 5) / 2, 2 / 3)
    assert math.isnan(report.intervals["auc.macro"][0])
    assert math.isnan(report["auc.macro"])
