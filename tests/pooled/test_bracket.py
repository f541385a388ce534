"""Areas under the curve in an interval, from leading bits of scores; and states that are shared or copied."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
import pickle
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import as_other_rows
from tests.oracles.metrics import TIE_WEIGHT, Case, convention
from tests.pooled.problems import Problem as Rows
from tests.pooled.problems import bits as all_bits
from tests.pooled.problems import ending_within
from tests.strategies import DTYPES, Problem, label_sets
from xmleval import Evaluator, Report, evaluate

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
law = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
every_type = pytest.mark.parametrize("dtype", DTYPES)
every_form = pytest.mark.parametrize("form", ["csr", "list", "dense"])


def as_type(values: Any, dtype: str) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.array(values, np.float64).astype(dtype)


@st.composite
def problems(draw: st.DrawFn, form: str, dtype: str, rows: int = 5) -> Problem:
    n_rows, n_labels = draw(st.integers(1, rows)), draw(st.integers(1, 5))
    pool = POOLS[draw(st.sampled_from(sorted(POOLS)))]
    score = st.sampled_from([float(s) for s in as_type(pool, dtype)])
    any_score = st.floats(allow_nan=False, width=32) if dtype == "float32" else st.floats(allow_nan=False)
    if draw(st.integers(0, 4)) == 0:
        score = any_score
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


# ------------------------------------------------------------------------------------------- the oracle


def leading(score: float, bits: int) -> int:
    """The leading bits of a score as float32, in an order that integers have too."""
    try:
        held = struct.pack(">f", score)
    except OverflowError:
        held = struct.pack(">f", math.copysign(math.inf, score))
    (pattern,) = struct.unpack(">I", held)
    if pattern == 1 << 31:
        pattern = 0  # -0.0 equals 0.0
    ordered = (1 << 32) - 1 - pattern if pattern >> 31 else pattern + (1 << 31)
    return int(ordered >> (32 - bits))


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


# --------------------------------------------------------------------------------------------------- laws


@every_form
@every_type
@law
@given(data=st.data())
def test_it_holds_the_exact_value_and_equals_the_oracle(form: str, dtype: str, data: st.DataObject) -> None:
    problem, bits = data.draw(problems(form, dtype)), data.draw(st.integers(1, 18))
    report = of_problem(problem, bits)
    least, most = report.intervals[named(bits)]
    assert list(report.intervals) == [named(bits)]
    assert same((least, most), bracket(problem, bits))
    exact, value = report["auc.micro"], report[named(bits)]
    assert least <= exact <= most or all(x != x for x in (least, exact, most))
    assert same(value, (least + most) / 2)


@pytest.mark.slow
@every_type
@settings(law, max_examples=4)
@given(data=st.data())
def test_the_widest_and_the_narrowest(dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems("csr", dtype))
    report = of_problem(problem, 1, 8, 24)
    assert same(report.intervals[named(24)], bracket(problem, 24))
    assert same(report.intervals[named(1)], bracket(problem, 1))
    ends = [report.intervals[named(bits)] for bits in (24, 8, 1)]
    for (least, most), (lower, higher) in itertools.pairwise([(report["auc.micro"],) * 2, *ends]):
        assert (lower <= least and most <= higher) or lower != lower


@every_type
@law
@given(data=st.data())
def test_more_bits_are_never_wider(dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems("list", dtype))
    several = sorted(data.draw(st.sets(st.integers(1, 17), min_size=2, max_size=4)), reverse=True)
    report = of_problem(problem, *several)
    ends = [report.intervals[named(bits)] for bits in several]
    for (least, most), (lower, higher) in itertools.pairwise(ends):
        assert (lower <= least and most <= higher) or lower != lower


@pytest.mark.slow
@every_form
@every_type
@settings(law, max_examples=30)
@given(data=st.data())
def test_cutting_merging_and_saving_leave_the_bits(
    form: str, dtype: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    problem, bits = data.draw(problems(form, dtype, rows=9)), data.draw(st.integers(1, 14))
    want = of_problem(problem, bits, threads=1).to_json()
    size = data.draw(st.integers(1, 4))
    assert of_problem(problem, bits, threads=2, block_rows=size, memory=1).to_json() == want
    path: Path = tmp_path_factory.getbasetemp() / "state.npz"
    parts = []
    cuts = sorted(data.draw(st.lists(st.integers(0, problem.n_rows), max_size=3)))
    for lo, hi in itertools.pairwise([0, *cuts, problem.n_rows]):
        part = Evaluator(
            ["auc.micro", named(bits)], n_labels=problem.case.n_labels,
            conventions=problem.case.conventions, block_rows=size,
        )  # fmt: skip
        inputs = problem.cut(list(range(lo, hi)))
        part.update(inputs.y_true(), inputs.y_score())
        part.save(path)
        parts.append(Evaluator.load(path))
    while len(parts) > 1:
        parts[0].merge(parts.pop(data.draw(st.integers(1, len(parts) - 1))))
    assert parts[0].compute().to_json() == want


def test_float32_and_float64_in_one_stream() -> None:
    rng = np.random.default_rng(5)
    truth, wide = (rng.random((40, 6)) < 0.3).astype(int), rng.normal(size=(40, 6)).astype(np.float32)
    names = ["auc.micro", named(10)]
    whole = evaluate(truth, wide, metrics=names).to_json()
    one, other = (Evaluator(names, n_labels=6) for _ in range(2))
    one.update(truth[:15], wide[:15].astype(np.float64))
    other.update(truth[15:], wide[15:])
    assert one.merge(other).compute().to_json() == whole


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


# ---------------------------------------------------------------------------------- copies and processes


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda ev: pickle.loads(pickle.dumps(ev))])
def test_an_evaluator_can_be_copied_and_sent_to_another_process(memory: Any, copied: Any) -> None:
    problem = Rows(5, "float32", "below")
    evaluator = problem.evaluator(memory=memory)
    evaluator.update(*problem.whole())
    assert all_bits(copied(evaluator).compute()) == all_bits(evaluator.compute())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork_both_processes_count_on() -> None:
    problem = Rows(17, "float32", "below")
    first, second, third = (problem.part(lo, lo + 7) for lo in (0, 7, 14))
    forked, in_child, in_parent = (problem.evaluator(memory=memory) for memory in (1, "1GiB", "1GiB"))
    for evaluator, part in ((in_child, second), (in_parent, third)):
        evaluator.update(*first)
        evaluator.update(*part)
    forked.update(*first)
    written, may_read = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        same = False
        try:
            forked.update(*second)
            os.write(written[1], b".")
            os.read(may_read[0], 1)
            same = all_bits(forked.compute()) == all_bits(in_child.compute())
        finally:
            os._exit(0 if same else 1)
    os.read(written[0], 1)
    forked.update(*third)
    os.write(may_read[1], b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all_bits(forked.compute()) == all_bits(in_parent.compute())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_that_cannot_spill_does_no_harm_to_the_other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    problem = Rows(17, "float32", "below")
    evaluator = problem.evaluator(memory=1)
    evaluator.update(*problem.part(0, 7))
    go = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(go[0], 1)
        tempfile.tempdir = str(tmp_path / "gone")
        with contextlib.suppress(FileNotFoundError):
            evaluator.update(*problem.part(0, 7))
        os._exit(0)
    evaluator.update(*problem.part(7, problem.n_rows))
    os.write(go[1], b".")
    os.waitpid(child, 0)
    assert all_bits(evaluator.compute()) == all_bits(evaluate(*problem.whole(), **problem.more))


@pytest.mark.parametrize("memory", [1, 2200, 2600, 4000, 6000, 8000, "1GiB"])
def test_merging_with_itself_counts_everything_twice(memory: Any) -> None:
    problem = Rows(8, "float32", "below")
    evaluator = problem.evaluator(memory=memory)
    evaluator.update(*problem.whole())
    twice = np.tile(problem.truth, (2, 1)), sp.vstack([problem.whole()[1]] * 2, format="csr")
    with ending_within(20):
        assert all_bits(evaluator.merge(as_other_rows(evaluator)).compute()) == all_bits(
            evaluate(*twice, **problem.more)
        )


def test_merging_many_rows_with_themselves_ends() -> None:
    truth, scores = np.arange(200_000)[:, None] % 2, np.arange(200_000, dtype=np.float32)[:, None]
    evaluator = Evaluator(["auc.micro"], n_labels=1)
    evaluator.update(truth, scores)
    with ending_within(5):
        evaluator.merge(as_other_rows(evaluator))
    assert (
        evaluator.compute().to_json()
        == evaluate(np.tile(truth, (2, 1)), np.tile(scores, (2, 1)), metrics=["auc.micro"]).to_json()
    )


@pytest.mark.parametrize(
    ("memory", "n_bytes"),
    [(1, 1), ("1", 1), ("256MB", 256_000_000), ("1GiB", 1 << 30), (np.int64(7), 7), (" 2.5 kib ", 2560),
     (".5kB", 500), (1 << 59, 1 << 59)],
)  # fmt: skip
def test_amounts_of_memory(memory: Any, n_bytes: int) -> None:
    assert Evaluator("curves", n_labels=3, memory=memory).memory == n_bytes
    assert "auc.micro" in evaluate(np.eye(3, dtype=int), np.eye(3), metrics="curves", memory=memory)


@pytest.mark.parametrize(
    "memory",
    ["0", "x", -1, 0, True, 1.5, None, "", "MB", "-5MB", "1e9", "1 GB GB", "0.5B", "1.5.5", b"1MB", [1],
     float("inf"), "inf", "nan", "9" * 400, "9" * 400 + "TB"],
)  # fmt: skip
def test_what_is_no_amount_of_memory(memory: Any) -> None:
    with pytest.raises(ValueError, match=r"^memory: .* is not (an amount of memory|a positive integer)"):
        Evaluator("curves", n_labels=3, memory=memory)


# ------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("bits", ["0", "25", "1.5", "32", "1e9"])
def test_bits_out_of_range(bits: str) -> None:
    with pytest.raises(ValueError, match=rf"bits={bits} is not an integer in 1\.\.24"):
        evaluate([[1, 0]], [[0.5, 0.1]], metrics=[f"auc.micro(bits={bits})"])


@pytest.mark.parametrize("name", ["auc.micro(bits)", "auc.micro(bits=)", "auc.micro(bits=many)"])
def test_bits_that_are_no_number(name: str) -> None:
    with pytest.raises(ValueError, match=r"bits='(many)?' is not a number"):
        evaluate([[1, 0]], [[0.5, 0.1]], metrics=[name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("auc.micro(bits=-1)", "bits=-1 is not a non-negative number"),
        ("auc.micro(bits=nan)", "bits=nan is not"),
        ("auc.micro(bits=8,bits=9)", "bits is given twice"),
        ("auc.micro(bit=8)", "auc.micro has no parameter 'bit'"),
        ("auc.macro(bits=8)", "auc.macro has no parameter 'bits'"),
        ("ap.micro(bits=8)", "ap.micro has no parameter 'bits'"),
        ("auc(bits=8)", "needs an average"),
        ("auc.micro(bits=8)@3", "auc takes no @k"),
    ],
)
def test_other_names_are_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        evaluate([[1, 0]], [[0.5, 0.1]], metrics=[name])
    assert said in str(caught.value)


def test_the_averages_that_are_offered_are_named_once() -> None:
    with pytest.raises(ValueError) as caught:
        evaluate([[1, 0]], [[0.5, 0.1]], metrics=["auc"])
    offered = str(caught.value).partition("choose from ")[2].split(", ")
    assert sorted(offered) == ["auc.macro", "auc.micro", "auc.samples", "auc.weighted"]


def test_spellings_are_one_name() -> None:
    report = evaluate([[1, 0]], [[0.5, 0.1]], metrics=["AUC.micro( bits = 8 )", "auc.micro(bits=8.0)"])
    assert list(report) == ["auc.micro(bits=8)"]
    assert report["auc.micro(bits=08)"] == report["auc.micro(bits=8)"]


def test_refused_by_name_without_scores() -> None:
    truth, labels = np.eye(3, dtype=int), np.arange(3)[:, None]
    with pytest.raises(ValueError, match=r"^auc\.micro\(bits=8\) needs scores in y_score="):
        evaluate(truth, (labels, None), metrics=[named(8)])
