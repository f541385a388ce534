"""Areas under the curve in an interval, from leading bits of scores."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.curves import leading_bits
from tests.oracles.metrics import TIE_WEIGHT, Case, convention
from tests.strategies import DTYPES, Problem, label_sets
from xmleval import Report, evaluate

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
law = settings(max_examples=90)


def as_type(values: Any, dtype: str) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.array(values, np.float64).astype(dtype)


@st.composite
def problems(draw: st.DrawFn, form: str, dtype: str, rows: int = 5) -> Problem:
    n_rows, n_labels = draw(st.integers(1, rows)), draw(st.integers(1, 5))
    pool = POOLS[draw(st.sampled_from(sorted(POOLS)))]
    score = st.sampled_from([float(s) for s in as_type(pool, dtype)])
    if draw(st.integers(0, 4)) == 0:
        score = st.floats(allow_nan=False, width=32 if dtype == "float32" else 64)
    listed: list[list[tuple[int, float | None]]] = []
    for _ in range(n_rows):
        order = draw(st.permutations(range(n_labels)))
        kept = order if form == "dense" else order[: draw(st.integers(0, n_labels))]
        listed.append([(j, draw(score)) for j in (kept if form == "list" else sorted(kept))])
    case = Case(
        truth=draw(label_sets(n_rows, n_labels)),
        n_labels=n_labels,
        listed=listed,
        kind="list" if form == "list" else "matrix",
        conventions={
            "auc_ties": draw(st.sampled_from(["half", "full", "none"])),
            "unlisted": "below" if form == "dense" else draw(st.sampled_from(UNLISTED)),
        },
    )
    return Problem(case, form, dtype)


def named(bits: int) -> str:
    return f"auc.micro(bits={bits})"


def of_problem(problem: Problem, *bits: int, **more: Any) -> Report:
    metrics = ["auc.micro", *map(named, bits)]
    conventions = problem.case.conventions
    return evaluate(problem.y_true(), problem.y_score(), metrics=metrics, conventions=conventions, **more)


def leading(score: float, bits: int) -> int:
    """Return the leading bits of a score as float32, in an order that integers have too."""
    return leading_bits(float(as_type(score, "float32")), bits)


def bracket(problem: Problem, bits: int) -> tuple[float, float]:
    """Least and most share of right pairs: equal bits may stand any way, unlisted cells are level."""
    case = problem.case
    fill = convention(case, "unlisted")
    level = None if fill == "below" else float(as_type(fill, problem.dtype))
    cells = []  # (bits, listed, relevant)
    assert case.listed is not None
    for row, y in zip(case.listed, case.truth, strict=True):
        scores = {j: float(s) for j, s in row if s is not None}
        for j in range(case.n_labels):
            stored = j in scores and not (case.kind == "matrix" and scores[j] == level)
            score = scores[j] if stored else level
            cells.append((-1 if score is None else leading(score, bits), stored, j in y))
    credit, unknown, n_pairs = 0.0, 0, 0
    for u, v in itertools.product(cells, cells):
        if not u[2] or v[2]:
            continue
        n_pairs += 1
        if not u[1] and not v[1]:
            credit += TIE_WEIGHT[str(convention(case, "auc_ties"))]
        elif u[0] == v[0]:
            unknown += 1
        else:
            credit += u[0] > v[0]
    return (credit / n_pairs, (credit + unknown) / n_pairs) if n_pairs else (math.nan, math.nan)


def same(a: Any, b: Any) -> bool:
    return np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)


@law
@given(data=st.data(), form=st.sampled_from(["csr", "list", "dense"]), dtype=st.sampled_from(DTYPES))
def test_interval_is_that_of_the_oracle(form: str, dtype: str, data: st.DataObject) -> None:
    problem, bits = data.draw(problems(form, dtype)), data.draw(st.integers(1, 18))
    report = of_problem(problem, bits)
    least, most = report.intervals[named(bits)]
    assert list(report.intervals) == [named(bits)]
    assert same((least, most), bracket(problem, bits))
    exact, value = report["auc.micro"], report[named(bits)]
    assert least <= exact <= most or all(x != x for x in (least, exact, most))
    assert same(value, (least + most) / 2)


@pytest.mark.slow
@settings(law, max_examples=8)
@given(data=st.data(), dtype=st.sampled_from(DTYPES))
def test_the_widest_and_the_narrowest(dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems("csr", dtype))
    report = of_problem(problem, 1, 8, 24)
    assert same(report.intervals[named(24)], bracket(problem, 24))
    assert same(report.intervals[named(1)], bracket(problem, 1))
    ends = [report.intervals[named(bits)] for bits in (24, 8, 1)]
    for (least, most), (lower, higher) in itertools.pairwise([(report["auc.micro"],) * 2, *ends]):
        assert (lower <= least and most <= higher) or lower != lower


def test_by_hand() -> None:
    """One bit tells signs apart: 2 relevant and 3 irrelevant cells, one of each unlisted."""
    truth = np.array([[1, 1, 0, 0, 0]])
    scores = sp.csr_array(([0.5, 0.25, -1.0], ([0, 0, 0], [0, 2, 3])), shape=(1, 5))
    report = evaluate(truth, scores, metrics=[named(1)])
    # correctly ordered: 0.5 against -1.0 and against the unlisted one; undecided: 0.5 against 0.25; tied: one
    assert report.intervals[named(1)] == (2.5 / 6, 3.5 / 6)
    assert report[named(1)] == 3 / 6


def test_without_both_classes_it_is_undefined() -> None:
    report = evaluate(np.ones((2, 2), int), np.ones((2, 2)), metrics=[named(4)])
    assert math.isnan(report[named(4)])
    assert all(map(math.isnan, report.intervals[named(4)]))
    assert '"auc.micro(bits=4)": null' in report.to_json()
