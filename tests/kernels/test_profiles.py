"""Kernels of hits, gains and ideals by rank against exact fractions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Case, cases, exact, find_positions
from xmleval.kernels import gains as leading
from xmleval.kernels import hit_tables
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.hit_tables import LARGEST_SUM


def by_slot(case: Case, slots: Any, terms: Any) -> dict[tuple[int, int], Fraction]:
    """Sum (row, place, term) by the row's slot and the place."""
    found: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for i, place, term in terms:
        found[int(slots[len(case.truth[i])]), place] += Fraction(float(term))
    return {key: total for key, total in found.items() if total}


def nonzero(table: Any, value: Any) -> dict[tuple[int, int], Fraction]:
    found = {(s, r): value(x) for s, row in enumerate(table) for r, x in enumerate(row)}
    return {key: total for key, total in found.items() if total}


def fraction_of_pair(pair: Any) -> Fraction:
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


@given(case=cases(), depth=st.sampled_from([0, 1, 3, 24, 200]), large=st.booleans())
def test_profiles(case: Case, depth: int, large: bool) -> None:
    true_ptr, true_labels, *_ = case.arrays()
    ranks, slots = find_positions(case), case.rng.integers(0, 3, case.n_labels + 1)
    of_row = slots[np.diff(true_ptr)]
    some = [1.0, 1.0 + 2.0**-52, 9.649, case.rng.random() + 1, 2.0**29 + 0.3 if large else 2.5]
    q = case.rng.choice(some, case.n_labels)
    weight: Any = 1.1 * 2.0 ** case.rng.integers(-50, 20, case.n)
    hits, best = [], []
    for i, y in enumerate(case.truth):
        places = [case.listed[i].index(j) if j in case.listed[i] else depth for j in y]
        hits += [(i, r, j) for r, j in zip(places, y, strict=True) if r < depth]
        best += [(i, r, j) for r, j in enumerate(sorted(y, key=lambda j: -q[j])[:depth])]

    counts = np.zeros((3, depth + 1), np.int64)
    hit_tables.count_hits(true_ptr, ranks, of_row, counts, np.empty((case.n, 0), np.uint8))
    assert nonzero(counts[:, 1:], Fraction) == by_slot(case, slots, [(i, r, 1) for i, r, _ in hits])
    assert counts.sum() <= ranks.size
    weights, weighted = np.zeros((3, LIMBS), np.int64), np.zeros((3, depth, LIMBS), np.int64)
    hit_tables.sum_hits(true_ptr, ranks, of_row, weight, weights, weighted)
    assert nonzero(weights[:, None], exact) == by_slot(case, slots, [(i, 0, w) for i, w in enumerate(weight)])
    assert nonzero(weighted, exact) == by_slot(case, slots, [(i, r, weight[i]) for i, r, _ in hits])

    none = np.empty(0)
    for values, unit, w in ((q, none, np.ones(case.n)), (q / 7, none, np.ones(case.n)), (q, weight, weight)):
        gains, ideals = np.zeros((2, 3, depth, LIMBS), np.int64)
        hit_tables.sum_gains(true_ptr, true_labels, ranks, of_row, values, unit, gains)
        assert nonzero(gains, exact) == by_slot(case, slots, [(i, r, values[j] * w[i]) for i, r, j in hits])
        hit_tables.sum_ideals(true_ptr, true_labels, of_row, values, unit, ideals)
        assert nonzero(ideals, exact) == by_slot(case, slots, [(i, r, values[j] * w[i]) for i, r, j in best])

    split_gains, split_ideals = np.zeros((3, depth + 1, 2)), np.zeros((3, depth, 2))
    hit_tables.sum_exact_gains(true_ptr, true_labels, ranks, of_row, q, split_gains, split_ideals)
    hit_tables.sum_gains(true_ptr, true_labels, ranks, of_row, q, none, gains := np.zeros_like(gains))
    hit_tables.sum_ideals(true_ptr, true_labels, of_row, q, none, ideals := np.zeros_like(ideals))
    for split, limbs, terms in ((split_gains[:, 1:], gains, hits), (split_ideals, ideals, best)):
        assert nonzero(split, fraction_of_pair) == by_slot(case, slots, [(i, r, q[j]) for i, r, j in terms])
        normal = np.zeros((3 * depth, LIMBS), np.int64)
        hit_tables.add_split_sums(split.reshape(-1, 2), normal)
        assert normal.tobytes() == limbs.tobytes()

    marks, own_gains = np.zeros((case.n, -(-depth // 8)), np.uint8), np.zeros((case.n, depth))
    hit_tables.mark_hits(true_ptr, ranks, depth, marks)
    hit_tables.keep_gains(true_ptr, true_labels, ranks, q, own_gains)
    own = np.unpackbits(marks, axis=1, bitorder="little")
    assert {(i, r) for i, r in np.argwhere(own).tolist()} == {(i, r) for i, r, _ in hits}
    assert [own_gains[i, r] for i, r, _ in hits] == [q[j] for *_, j in hits]
    assert own.sum() == np.count_nonzero(own_gains) == len(hits)


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_tables_are_united(one: set[int], other: set[int]) -> None:
    first, second = (np.array(sorted(own), np.int64) for own in (one, other))
    both, of_first, of_second = (np.empty(n, np.int64) for n in (20, first.size, second.size))
    both = both[: hit_tables.unite(first, second, both, of_first, of_second)]
    assert both.tolist() == sorted(one | other)
    table = np.zeros((both.size, 3), np.int64)
    for own, places in ((first, of_first), (second, of_second)):
        assert both[places].tolist() == own.tolist()
        hit_tables.add_at(places, np.column_stack([own, 2 * own]), table)
    expected = [[n * ((n in one) + (n in other)) * times for times in (1, 2, 0)] for n in both.tolist()]
    assert table.tolist() == expected


def test_split_sums_at_their_limits() -> None:
    ptr, ids, ranks, slots = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, int), np.zeros(2, int)
    for q in (1.0, 1.5 - 2.0**-52, 2.0 - 2.0**-21, 2.0**30 - 2.0**-22, 2.0**30):
        gains = np.array([[[0.0, 0.0], [LARGEST_SUM - q - 1, 1.0 - 2.0**-21 - 2.0**-52]]])
        ideals, before = gains[:, 1:].copy(), fraction_of_pair(gains[0, 1])
        hit_tables.sum_exact_gains(ptr, ids, ranks, slots, np.array([q]), gains, ideals)
        assert fraction_of_pair(gains[0, 1]) == fraction_of_pair(ideals[0, 0]) == before + Fraction(q)


@given(
    case=cases(),
    depth=st.sampled_from([0, 1, 3, 8]),
    repeats=st.sampled_from([1, 1, 40]),
    n_folds=st.sampled_from([1, 2, 32]),
    kept=st.booleans(),
)
def test_leading_gains(case: Case, depth: int, repeats: int, n_folds: int, kept: bool) -> None:
    true_ptr, true_labels, list_ptr, list_labels, _ = case.arrays()
    sizes, n_listed = np.tile(np.diff(true_ptr), repeats), np.tile(np.diff(list_ptr), repeats)
    true_ptr, list_ptr = (np.concatenate([[0], np.cumsum(each)]) for each in (sizes, n_listed))
    true_labels, ranks, list_labels = (
        np.tile(each, repeats) for each in (true_labels, find_positions(case), list_labels)
    )
    fold = case.rng.integers(0, n_folds, sizes.size).astype(np.uint8)
    keys, order = np.empty_like(sizes), np.empty_like(sizes)
    per_key = np.zeros((sizes.max(initial=0) + 1) * n_folds, np.int64)
    leading.key_rows(sizes, fold, n_folds, keys, per_key)
    assert per_key.tolist() == np.bincount(sizes * n_folds + fold, minlength=per_key.size).tolist()
    leading.group_rows(keys, np.cumsum(per_key) - per_key, order)
    assert order.tolist() == np.lexsort((fold, sizes)).tolist()
    group_ptr = np.concatenate([[0], np.cumsum(per_key[per_key > 0])])
    n_slots = group_ptr.size - 1
    slots = case.rng.permutation(n_slots)
    of_rows = slots[(np.cumsum(per_key > 0) - 1)[keys]]

    q = case.rng.choice([1.0, 1.0 + 2.0**-52, 9.649, case.rng.random() + 1, 2.0**20 + 0.3], case.n_labels)
    expected_hits = np.zeros((n_slots, depth + 1), np.int64)
    expected_gains, expected_ideals = np.zeros((n_slots, depth + 1, 2)), np.zeros((n_slots, depth, 2))
    counted_marks = np.zeros((sizes.size, 1), np.uint8)
    hit_tables.count_hits(true_ptr, ranks, of_rows, expected_hits, counted_marks)
    hit_tables.sum_exact_gains(true_ptr, true_labels, ranks, of_rows, q, expected_gains, expected_ideals)
    hits, gains = np.zeros((n_slots, depth), np.int64), np.zeros((n_slots, depth, 2))
    ideals = np.zeros((n_slots, depth, 2))
    lists = (true_ptr, true_labels, list_ptr, list_labels)
    marks = np.zeros((sizes.size, 1), np.uint8)
    per_size = np.bincount(sizes, minlength=1)
    n_lanes = sum(-(-n // leading.LANES) * -(-size // leading.WIDTH) for size, n in enumerate(per_size))
    relevant = np.empty((n_lanes * kept, leading.SIZE), true_labels.dtype)
    given = (*lists, order, group_ptr, slots, q, relevant)
    leading.sum_leading_gains(*given, marks, hits, gains, ideals)
    before = hits.copy(), gains.copy()
    for array in (marks, hits, gains):
        array.fill(0)
    leading.sum_leading_gains(*given, marks, hits, gains, ideals[:, :0])
    np.testing.assert_array_equal(hits, before[0])
    np.testing.assert_array_equal(gains, before[1])
    hit_tables.mark_hits(true_ptr, ranks, depth, expected_marks := np.zeros_like(marks))
    np.testing.assert_array_equal(marks, expected_marks)
    np.testing.assert_array_equal(counted_marks, expected_marks)
    np.testing.assert_array_equal(hits, expected_hits[:, 1:])
    np.testing.assert_array_equal(gains, expected_gains[:, 1:])
    np.testing.assert_array_equal(ideals, expected_ideals)
