"""Totals of labels and distinct label sets: kernels and states against plain Python."""

from __future__ import annotations

import copy
import itertools
import tracemalloc
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import csr, exact, int_types, seeds
from tests.states.data import (
    N_LABELS,
    PRED,
    TOP,
    WORK,
    add,
    counted,
    doubled,
    make_plan,
    merged,
    random_data,
    random_weights,
)
from xmleval.kernels import fixed, labels, rows
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.labels import FULL, N_TALLIES, SMALL
from xmleval.records import Counts, Ints
from xmleval.states import label_sets as label_sets_module
from xmleval.states import label_table as label_table_module
from xmleval.states.contents import Contents
from xmleval.states.label_sets import LabelSets
from xmleval.states.label_table import LabelTable
from xmleval.states.state import States
from xmleval.threads import Work, in_turns
from xmleval.view.decision import Decision

Table = tuple[float, ...]
works = st.builds(Work, st.just(1 << 20), st.integers(1, 3))


def all_tables(totals: LabelTable, work: Work) -> Counter[Table]:
    """How many labels have each contingency table, as `map_tables` hands them out."""

    def listed(counts: Counts, times: Ints | None) -> Counter[Table]:
        each = [1] * counts.tp.size if times is None else times.tolist()
        found: Counter[Table] = Counter()
        for table, n in zip(zip(*counts, strict=True), each, strict=True):
            found[tuple(map(float, table))] += n
        return found

    return +sum(totals.map_tables(listed, work), Counter())


@given(seed=seeds, n=st.integers(0, 600), first=st.integers(0, 4), dtype=int_types)
def test_bytes_carry(seed: int, n: int, first: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    before = rng.choice([0, 1, 254, 255], 9).astype(np.uint8)
    entries = rng.choice(9 - first, n).astype(dtype)
    counts, carried = before.copy(), np.full(n, -9, np.int64)
    n_carried = labels.count_in_bytes(entries, first, counts, carried)
    found = counts.astype(np.int64) + 256 * np.bincount(carried[:n_carried], minlength=9)
    assert found.tolist() == (before + np.bincount(entries + first, minlength=9)).tolist()


def sums_of(sums: Ints, times: Ints | None = None) -> list[Fraction]:
    """The sums that pairs of numbers hold, and so many times what was carried; each must be in order."""
    assert ((sums >= 0) & (sums < [FULL, 2**52])).all()
    carried = [0] * len(sums) if times is None else times.tolist()
    return [
        Fraction(high + FULL * k, 2**52) + Fraction(low, 2**104)
        for (high, low), k in zip(sums.tolist(), carried, strict=True)
    ]


@given(
    seed=seeds,
    n=st.one_of(st.integers(0, 30), st.integers(0, 3 * labels.BATCH)),
    first=st.integers(0, 4),
    cut=st.integers(0, 7),
    dtype=int_types,
)
def test_weights_add_up_by_label(seed: int, n: int, first: int, cut: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    entries, n_within = rng.choice(7, n).astype(dtype), np.bincount(rng.choice(5, n), minlength=5)
    weight = random_weights(rng, 5)
    each = np.repeat(weight, n_within)
    before = np.stack([rng.choice([0, FULL - 1], 7 + first), rng.integers(0, 2**52, 7 + first)], axis=1)
    sums, carried = before.copy(), np.full(n, -9, np.int64)
    n_carried = 0
    for ends in ((0, cut), (cut, 7)):
        n_carried += labels.add_weights(entries, n_within, weight, first, ends, sums, carried[n_carried:])
    times = np.bincount(carried[:n_carried], minlength=7 + first)
    want = sums_of(before)
    for label, term in zip(entries.tolist(), each.tolist(), strict=True):
        want[first + label] += Fraction(term)
    assert sums_of(sums, times) == want


@given(seed=seeds, n=st.integers(1, 20), itself=st.booleans())
def test_sums_of_weights_are_merged(seed: int, n: int, itself: bool) -> None:
    rng = np.random.default_rng(seed)
    one, other = (
        np.stack([rng.choice([0, 1, FULL // 2, FULL - 1], n), rng.integers(0, 2**52, n)], axis=1)
        for _ in range(2)
    )
    other = one if itself else other
    want = [a + b for a, b in zip(sums_of(one), sums_of(other), strict=True)]
    carried = np.full(n, -9, np.int64)
    n_carried = labels.add_sums(one, other, carried)
    assert sums_of(one, np.bincount(carried[:n_carried], minlength=n)) == want


@given(seed=seeds, n=st.integers(1, 20))
def test_sums_of_weights_become_contingency_tables(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows_sum = np.zeros(LIMBS, np.int64)
    parts = random_weights(rng, 4 * n).reshape(4, n) * (rng.random((4, n)) < 0.7)
    times = rng.choice([0, 0, 1, 2**20], (3, n))  # carried by tp, by fp alone, by fn alone
    fulls = Fraction(FULL, 2**52)
    exact_parts = [
        [Fraction(x) + k * fulls for x, k in zip(row, more, strict=True)]
        for row, more in zip(parts[:3].tolist(), times.tolist(), strict=True)
    ]
    tp, fp, fn = exact_parts
    sums, places, carries = np.zeros((3, n, 2), np.int64), [], []
    for kind, extra in enumerate(([0] * n, fp, fn)):
        for j in range(n):
            whole, low = divmod(int((tp[j] + extra[j]) * 2**104), 2**52)
            carry, high = divmod(whole, FULL)
            sums[kind, j] = high, low
            if carry:
                places.append(kind * n + j)
                carries.append(carry)
    fixed.add_term(rows_sum, 2.0**50)
    for term in parts.ravel().tolist():
        fixed.add_term(rows_sum, term)
    found: dict[int, list[float]] = {}
    for start, stop in ((0, n // 2), (n // 2, n)):
        numbers, cells = np.full(stop - start, -9, np.int64), np.full((4, stop - start), -9.0)
        ends = np.array(places, np.int64), np.array(carries, np.int64)
        n_found = labels.subtract_sums(sums, *ends, start, stop, rows_sum, numbers, cells)
        found |= dict(zip(numbers[:n_found].tolist(), cells[:, :n_found].T.tolist(), strict=True))
    assert list(found) == [j for j in range(n) if tp[j] or fp[j] or fn[j]]
    rows = exact(rows_sum)
    for j, table in found.items():
        want = [float(x) for x in (tp[j], fp[j], fn[j], rows - tp[j] - fp[j] - fn[j])]
        np.testing.assert_allclose(table, want, rtol=1e-15, atol=0)


@given(seed=seeds, n=st.integers(1, 300))
def test_labels_with_small_counts_are_tallied(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.choice([0, 1, 2, SMALL - 1, SMALL, 255], (3, n), p=[0.4, 0.3, 0.15, 0.05, 0.05, 0.05])
    skipped = rng.random(n) < 0.1
    tallies, others = np.zeros(N_TALLIES + 1, np.int64), np.full(n + 1, -9, np.int64)
    n_others = labels.tally_labels(counts.astype(np.uint8), skipped, 0, n, tallies, others)
    large = (counts >= SMALL).any(axis=0)
    assert others[:n_others].tolist() == np.flatnonzero(large & ~skipped).tolist()
    want = Counter(map(tuple, counts[:, ~large & ~skipped].T.tolist()))
    places = np.flatnonzero(tallies[:N_TALLIES])
    digits = zip(*(axis.tolist() for axis in np.unravel_index(places, (SMALL,) * 3)), strict=True)
    assert dict(zip(digits, tallies[places].tolist(), strict=True)) == want


@pytest.mark.parametrize("decision", [PRED, TOP])
@given(seed=seeds, n=st.integers(0, 12), weighted=st.booleans(), work=works)
def test_label_totals_hold_exact_tables(
    decision: Decision, seed: int, n: int, weighted: bool, work: Work
) -> None:
    rows = random_data(seed, n)
    totals = counted(LabelTable(decision, N_LABELS, weighted), rows, n)
    counts = totals.counts(work)
    cells = [[Fraction(0)] * N_LABELS for _ in range(4)]
    for i, relevant in enumerate(rows.truth):
        predicted = rows.pred[i] if decision is PRED else rows.listed[i][:3]
        for j in range(N_LABELS):
            cell = {(True, True): 0, (False, True): 1, (True, False): 2}.get(
                (j in relevant, j in predicted), 3
            )
            cells[cell][j] += Fraction(float(rows.weight[i])) if weighted else 1
    for found, want in zip(counts, cells, strict=True):
        # limbs are rounded one by one: what is nothing is 0, all else within a unit or two
        np.testing.assert_allclose(found, np.array(want, np.float64), rtol=1e-15, atol=0)
    assert all_tables(totals, work) == Counter(zip(*(cell.tolist() for cell in counts), strict=True))


@pytest.mark.parametrize("enough", [0, 1 << 16])
@given(seed=seeds, doublings=st.integers(0, 36), work=works, few_labels=st.sampled_from([7, 100]))
def test_frequent_labels_carry(enough: int, seed: int, doublings: int, work: Work, few_labels: int) -> None:
    rows = random_data(seed, 12)
    few = counted(LabelTable(TOP, N_LABELS, False), rows, 12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_table_module, "ENOUGH", enough)
        patch.setattr(label_table_module, "MANY", enough)
        patch.setattr(label_table_module, "LABELS_AT_A_TIME", 16)
        patch.setattr(label_table_module, "FEW_LABELS", few_labels)
        patch.setattr(label_table_module, "PIECE", 3)
        patch.setattr(label_table_module, "AT_ONCE", 7)
        many = LabelTable(TOP, N_LABELS, False)
        many.merge(doubled(few, doublings))
        for _ in range(3):
            counted(many, rows, 12)
        want = few.totals * (2**doublings + 3)
        assert many.rows[0, 0] == 12 * (2**doublings + 3)
        counts = many.counts(work)
        assert all_tables(many, work) == Counter(zip(*(cell.tolist() for cell in counts), strict=True))
        again = LabelTable(TOP, N_LABELS, False)
        again.from_contents(Contents(many.arrays(), 12 * (2**doublings + 3)))
        again.merge(few)
    assert many.totals.tolist() == want.tolist()
    tp, n_pred, n_true = want
    n_rows = 12 * (2**doublings + 3)
    assert [cell.tolist() for cell in counts] == [
        cell.tolist() for cell in (tp, n_pred - tp, n_true - tp, n_rows - n_pred - n_true + tp)
    ]
    assert again.totals.tolist() == (want + few.totals).tolist()


def test_counts_are_merged_in_place() -> None:
    one, other = (LabelTable(TOP, 1 << 21, False) for _ in range(2))
    tracemalloc.start()
    one.merge(other)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < one.n_bytes // 4


def fractions(totals: LabelTable) -> list[list[Fraction]]:
    """Exact sums of weights of each kind and label."""
    assert ((totals.totals[..., 1:] >= 0) & (totals.totals[..., 1:] < 2**52)).all()
    return [[exact(limbs) for limbs in kind] for kind in totals.totals]


@pytest.mark.slow
@given(seed=seeds, doublings=st.integers(0, 50), work=works)
def test_heavy_labels_carry(seed: int, doublings: int, work: Work) -> None:
    rows = random_data(seed, 12)
    few = counted(LabelTable(TOP, N_LABELS, True), rows, 12)
    many = LabelTable(TOP, N_LABELS, True)
    many.merge(doubled(few, doublings))
    counted(many, rows, 12)
    want = [[total * (2**doublings + 1) for total in kind] for kind in fractions(few)]
    assert fractions(many) == want
    again = LabelTable(TOP, N_LABELS, True)
    again.from_contents(Contents(many.arrays(), 12 * (2**doublings + 1)))
    for found in (many, again):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(label_table_module, "FEW_LABELS", 5)
            patch.setattr(label_table_module, "PIECE", 2)
            counts, tables = found.counts(work), all_tables(found, work)
        weight = sum(map(Fraction, rows.weight.tolist()), Fraction(0)) * (2**doublings + 1)
        for j, (tp, n_pred, n_true) in enumerate(zip(*want, strict=True)):
            cells = tp, n_pred - tp, n_true - tp, weight - n_pred - n_true + tp
            np.testing.assert_allclose([cell[j] for cell in counts], [*map(float, cells)], 1e-15)
        assert tables == Counter(zip(*(cell.tolist() for cell in counts), strict=True))
    again.merge(few)
    assert fractions(again) == [
        [total / (2**doublings + 1) * (2**doublings + 2) for total in kind] for kind in want
    ]


@pytest.mark.parametrize("weighted", [False, True])
@given(seed=seeds, n_workers=st.integers(1, 4), n=st.integers(0, 40))
def test_workers_count_in_one_table(weighted: bool, seed: int, n_workers: int, n: int) -> None:
    rows = random_data(seed, 10 * n)
    plan = make_plan("f1.macro@3", "f1.macro", weighted=weighted, pred=True)
    states = States(plan, WORK)
    parts = states.divided(n_workers, n)
    assert parts[0] is states

    def counting(part: States) -> Callable[[int], None]:
        return lambda i: part.update(rows.view(10 * i, 10 * i + 10, plan).block)

    in_turns(n, [counting(part) for part in parts])
    for part in parts[1:]:
        assert part._states["label_totals"] is states._states["label_totals"]
        states.merge(part)
    want = States(plan, WORK)
    want.update(rows.view(0, 10 * n, plan).block)
    assert {name: array.tobytes() for name, array in states.arrays().items()} == {
        name: array.tobytes() for name, array in want.arrays().items()
    }
    copy.deepcopy(states)


@pytest.mark.parametrize("weighted", [False, True])
def test_workers_count_with_locks(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LabelTable(TOP, N_LABELS, weighted)
    table.share()
    parts = table._parts(shared=True)
    ranges: list[list[int]] = []

    def locked(labels: Any, *arguments: Any) -> int:
        place = next(argument for argument in arguments if isinstance(argument, int))
        kind, ends = place // N_LABELS, next((a for a in arguments if isinstance(a, tuple)), (0, N_LABELS))
        held = [lock.locked() for lock in table._locks]
        assert held == [*(part == (kind, ends) for part in parts), False]
        ranges.append([*range(place + ends[0], place + ends[1])])
        return 0

    monkeypatch.setattr(label_table_module, "add_weights" if weighted else "count_in_bytes", locked)
    counted(table, random_data(1, 20), 20)
    assert sorted(itertools.chain(*ranges)) == [*range(3 * N_LABELS)]


@given(lists=st.lists(st.sets(st.integers(0, 2**31 - 1), max_size=4).map(sorted), max_size=5))
def test_fingerprints_tell_sets_apart(lists: list[list[int]]) -> None:
    found = []
    for dtype in (np.int32, np.int64):
        ptr, ids = csr([*lists, *lists, [], [0], [1], [0, 1]], dtype)
        found.append(np.zeros((ptr.size - 1, 2), np.int64))
        rows.hash_rows(ptr, ids, found[-1])
    assert found[0].tobytes() == found[1].tobytes()
    distinct = len({tuple(row) for row in [*lists, [], [0], [1], [0, 1]]})
    assert [len(np.unique(column)) for column in found[0].T] == [distinct, distinct]


@given(seed=seeds, n=st.integers(0, 60))
def test_repeats_are_dropped_where_hashes_share_halves(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    hashes = rng.integers(-(2**63), 2**63 - 1, 4)
    given_rows = hashes[rng.integers(0, 4, (n, 2))]  # most share one half with others, or both
    starts = np.full(rows.HASH_GROUPS + 1, -9, np.int64)
    grouped = np.empty_like(given_rows)
    rows.group_by_hash(given_rows, starts, grouped)
    assert starts[0] == 0
    assert sorted(map(tuple, grouped.tolist())) == sorted(map(tuple, given_rows.tolist()))
    ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    for group, (start, end) in enumerate(ends):
        leading = (grouped[start:end, 0] >> 64 - rows.HASH_BITS) + rows.HASH_GROUPS // 2
        assert (leading == group).all()
    distinct = np.empty_like(given_rows)
    found = distinct[: rows.drop_repeats(given_rows, distinct)]
    assert [*map(tuple, found.tolist())] == list(dict.fromkeys(map(tuple, given_rows.tolist())))


@pytest.mark.parametrize("enough", [0, 5, 1 << 16])
@given(seed=seeds, n=st.integers(0, 30), threads=st.integers(1, 3), doublings=st.integers(0, 12))
def test_label_sets_count_distinct_sets(enough: int, seed: int, n: int, threads: int, doublings: int) -> None:
    rows = random_data(seed, n)
    rows.truth = [row[:1] if i % 3 else row for i, row in enumerate(rows.truth)]
    plan, work = make_plan("label_diversity"), Work(1 << 20, threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_sets_module, "ENOUGH", enough)
        state = LabelSets(plan, plan.states["label_sets"], work)
        for start in range(0, n, 7):
            add(state, rows, start, min(start + 7, n))
        for _ in range(doublings):
            state = merged(state, state)
        add(state, rows, 0, n)
        assert len(state._recent) + len(state._distinct) <= n + label_sets_module.MOST_PARTS + 1
        assert len(state.fingerprints()) == len({tuple(row) for row in rows.truth})
    assert state.n_rows == n * (2**doublings + 1)
