"""Kernels of sorting, checking and exact sums against plain Python, compiled or (NUMBA_DISABLE_JIT=1) not."""

import itertools
import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import LEVELS, SIZES, csr, cut, exact, float_types, int_types, seeds
from xmleval.base.arrays import Ints
from xmleval.kernels import checking, fixed, keys, labels, matching, parsing, ranking, sorting, ties
from xmleval.kernels.labels import FULL

FINE, BIG = (checking.FINE, -1, -1), 2**31 + 7


@given(
    sizes=st.lists(st.sampled_from([*SIZES, 1000]), max_size=4), seed=seeds, float_type=float_types,
    int_type=int_types,
)  # fmt: skip
def test_order_within_rows(sizes: list[int], seed: int, float_type: Any, int_type: Any) -> None:
    rng = np.random.default_rng(seed)
    ptr, ids = csr([rng.permutation(1000)[:size].tolist() for size in sizes], int_type)
    scores = rng.choice(LEVELS, ids.size).astype(float_type)
    want = [
        sorted(zip(*row, strict=True), key=lambda item: -item[1])
        for row in zip(cut(ptr, ids), cut(ptr, scores), strict=True)
    ]
    steps = [*itertools.chain.from_iterable(map(itertools.pairwise, cut(ptr, scores)))]
    compared = [sum(compare(b, a) for a, b in steps) for compare in (operator.gt, operator.lt, operator.eq)]
    assert ranking.steps_of(ptr, scores) == (*compared, 0)
    assert sorting.longest_row(ptr) == max(sizes, default=0)
    ranking.rank_rows(ptr, ids, scores)
    assert cut(ptr, ids) == [[j for j, _ in row] for row in want]
    assert cut(ptr, scores) == [[s for _, s in row] for row in want]
    assert ranking.steps_of(ptr, scores)[0] == 0
    for place in range(scores.size):
        other = scores.copy()
        other[place] = np.nan
        assert ranking.steps_of(ptr, other)[3] == 1
    for value in LEVELS:
        for with_equal in (False, True):
            passes = operator.ge if with_equal else operator.gt
            out = np.full(len(sizes), -9)
            ranking.count_leading(ptr, scores, value, with_equal, out)
            assert out.tolist() == [sum(passes(s, value) for _, s in row) for row in want]


terms = st.builds(math.ldexp, st.integers(0, 2**53 - 1), st.integers(-104, -13))
negative = st.builds(math.ldexp, st.integers(-(2**53) + 1, 0), st.integers(-104, -13))


@given(values=st.lists(terms | negative | st.floats(2.0**-50, 2.0**40), max_size=30), data=st.data())
def test_sums_are_exact_in_any_order(values: list[float], data: st.DataObject) -> None:
    def total(some: list[float]) -> Any:
        limbs = np.zeros(fixed.LIMBS, np.int64)
        for term in some:
            fixed.add_term(limbs, term)
        return limbs

    whole = total(values)
    assert exact(whole) * 8**fixed.BITS == sum(int(Fraction(v) * 8**fixed.BITS) for v in values)
    assert total(data.draw(st.permutations(values))).tobytes() == whole.tobytes()
    at = data.draw(st.integers(0, len(values)))
    parts = np.stack([total(values[:at]) + total(values[at:]), whole - total(values[:at])])
    fixed.carry(parts)
    assert parts.tobytes() == np.stack([whole, total(values[at:])]).tobytes()
    weights = np.array([data.draw(st.sampled_from([0.0, 0.5, 3.0])) for _ in values])
    some = np.where(weights == 3.0, np.nan, values)
    for weight in (np.empty(0), weights):
        sums = np.zeros((2, fixed.LIMBS), np.int64)
        kept = [(v, w) for v, w in zip(some.tolist(), weights.tolist(), strict=True) if v == v]
        assert fixed.sum_terms(some, weight, sums[0], sums[1]) == len(kept)
        assert sums[0].tobytes() == total([v * w if weight.size else v for v, w in kept]).tobytes()
        assert sums[1].tobytes() == total([w for _, w in kept] if weight.size else []).tobytes()


@pytest.mark.parametrize("n", [fixed.UNCARRIED - 1, fixed.UNCARRIED, 3 * fixed.UNCARRIED + 1])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_many_terms_are_carried_in_time(n: int, sign: float) -> None:
    largest = sign * (1.0 - 2.0**-53)
    values = np.array([largest, largest * 2.0**-51, np.nan, largest * 2.0**-103])[np.arange(n) % 4]
    for weight in (np.empty(0), np.full(n, 1.0 - 2.0**-53)):
        want = np.full((2, fixed.LIMBS), fixed.MASK)
        want[:, 0] = 0
        sums = want.copy()
        defined = values[~np.isnan(values)]
        for term in defined * (weight[0] if weight.size else 1.0):
            fixed.add_term(want[0], term)
        for term in weight[: defined.size]:
            fixed.add_term(want[1], term)
        assert fixed.sum_terms(values, weight, sums[0], sums[1]) == defined.size
        assert sums.tolist() == want.tolist()


@given(ptr=st.lists(st.integers(-2, 6), min_size=1, max_size=6), rising=st.booleans(), dtype=int_types)
def test_check_pointer_names_the_first_offence(ptr: list[int], rising: bool, dtype: Any) -> None:
    ptr = sorted(ptr) if rising else ptr
    offences = [i for i in range(len(ptr) - 1) if ptr[i + 1] < ptr[i] or ptr[i + 1] > 5]
    bad = checking.BAD_POINTER
    want = (bad, offences[0], offences[0] + 1) if offences else FINE
    assert checking.check_pointer(np.array(ptr, dtype), 5) == ((bad, 0, 0) if ptr[0] else want)


def id_lists(longest: int) -> st.SearchStrategy[list[list[int]]]:
    """Return lists of distinct ids below 50, in any order, the top five among them."""
    ids = st.integers(0, 49)
    sizes = st.sampled_from([0, 5, longest])
    row = sizes.flatmap(lambda n: st.lists(ids, min_size=n, max_size=n, unique=True))
    return st.lists(row, min_size=1, max_size=6)


id_rows = st.lists(st.lists(st.integers(-1, 7), max_size=5), max_size=5)


@example(lists=[[1], [3, 1]], tidy=False, dtype=np.dtype(np.int64))
@example(lists=[[2, 3], [], [1], [], []], tidy=False, dtype=np.dtype(np.int32))
@given(lists=id_rows | id_rows.map(lambda r: [sorted(x) for x in r]), tidy=st.booleans(), dtype=int_types)
def test_check_and_sort_labels(lists: list[list[int]], tidy: bool, dtype: Any) -> None:
    lists = [sorted({abs(j) % 6 for j in row}) for row in lists] if tidy else lists
    ptr, ids = csr(lists, dtype)
    cells = [(i, int(ptr[i]) + s, row[:s], j) for i, row in enumerate(lists) for s, j in enumerate(row)]
    outside = [(checking.BAD_LABEL, i, p) for i, p, _, j in cells if not 0 <= j < 7]
    level = [(checking.DUPLICATE, i, p) for i, p, before, j in cells if before and before[-1] == j]
    found = checking.check_labels(ptr, ids, 7)
    if not outside and any(before and before[-1] > j for *_, before, j in cells):
        assert found in [(checking.UNSORTED, -1, -1), *level]  # to be sorted, and then checked again
    else:
        assert found == (outside or level or [FINE])[0]
    twice = [(checking.DUPLICATE, i, p) for i, p, before, j in cells if j in before]
    found = checking.check_list(ptr, ids, 7, np.empty(2, np.int64))
    if outside and twice:
        assert found in (outside[0], twice[0])
    else:
        assert found == (outside or twice or [FINE])[0]
    if not outside:
        given_ids, order = ids.copy(), np.arange(ids.size)
        checking.sort_labels(ptr, ids, order)
        assert cut(ptr, ids) == [sorted(row) for row in lists]
        assert given_ids[order].tolist() == ids.tolist()


long_rows = st.lists(st.sampled_from([*SIZES, 2047, 2048, 2049, 3000]), min_size=1, max_size=3)


@given(sizes=long_rows, seed=seeds, dtype=int_types)
def test_a_duplicate_is_found_in_long_rows(sizes: list[int], seed: int, dtype: Any) -> None:
    rng, base = np.random.default_rng(seed), (BIG if dtype == np.int64 else 0)
    ptr, ids = csr([(base + rng.permutation(3000)[:size]).tolist() for size in sizes], dtype)
    assert checking.check_list(ptr, ids, base + 3000, np.empty(2, np.int64)) == FINE
    ordered = ids.copy()
    checking.sort_labels(ptr, ordered, np.arange(ids.size))
    assert checking.check_labels(ptr, ordered, base + 3000) == FINE
    if sizes[row := int(rng.integers(len(sizes)))] > 1:
        first, second = sorted(int(ptr[row]) + rng.permutation(sizes[row])[:2])
        ids[second] = ids[first]
        expected = checking.DUPLICATE, row, second
        assert checking.check_list(ptr, ids, base + 3000, np.empty(2, np.int64)) == expected


@pytest.mark.parametrize("length", [4, 5, 6])
@given(dtype=int_types)
def test_every_pair_of_equal_ids_of_a_short_row_is_found(length: int, dtype: Any) -> None:
    for second in range(length):
        for first in range(second):
            row = [*range(length)]
            row[second] = row[first]
            ptr, ids = csr([[*range(length)], row], dtype)
            expected = checking.DUPLICATE, 1, length + second
            assert checking.check_list(ptr, ids, length, np.empty(2, np.int64)) == expected


@given(listed=id_lists(6), relevant=id_lists(40), dtype=int_types)
def test_positions_are_places_in_short_lists(
    listed: list[list[int]], relevant: list[list[int]], dtype: Any
) -> None:
    n = min(len(listed), len(relevant))
    lists, truth = listed[:n], [sorted(row) for row in relevant[:n]]
    (list_ptr, list_ids), (true_ptr, true_ids) = csr(lists, dtype), csr(truth, dtype)
    positions = np.empty(true_ids.size, np.int64)
    matching.find_positions(list_ptr, list_ids, true_ptr, true_ids, positions)
    places = [
        row.index(j) + 1 if j in row else 0 for row, wanted in zip(lists, truth, strict=True) for j in wanted
    ]
    assert positions.tolist() == places


@given(
    sizes=st.lists(
        st.sampled_from([*range(10), keys.FEW_RELEVANT, keys.FEW_RELEVANT + 1, keys.HASHED, keys.HASHED + 1])
    ),
    seed=seeds,
    dtype=int_types,
)
def test_relevant_entries_are_flagged(sizes: list[int], seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    truth = [sorted(rng.choice(3000, size, replace=False).tolist()) for size in sizes]
    listed = [rng.permutation([*y, *range(3000, 3000 + int(rng.integers(70)))]).tolist() for y in truth]
    listed = [row[int(rng.integers(3)) :] for row in listed]
    list_ptr, labels = csr(listed, dtype)
    flags = rng.random(labels.size) < 0.5
    keys.flag_listed(list_ptr, labels, *csr(truth, dtype), flags)
    assert cut(list_ptr, flags) == [[j in y for j in row] for row, y in zip(listed, truth, strict=True)]


def test_arrays_that_are_too_short_are_not_overrun() -> None:
    text, lists = (np.array([*words, *b"\n7777777"], np.uint8) for words in (b"1:1 2:2\n3:3", b"1\n2,3\n4"))
    ptr, labels = np.full(3, -9), np.full(1, -9, np.int32)
    assert parsing.parse_entries(text, 2, 9, ptr, labels, np.empty(1), np.empty(1, np.int16)) == 0
    assert parsing.parse_lists(lists, 3, 9, False, np.empty(4, np.int64), labels, ptr) == (1, 1)


HEADS = [*range(1, 9), 12, 13, ranking.SHARE * ranking.MOST_PARTS, ranking.SHARE * ranking.MOST_PARTS + 1, 40]
WIDTHS = [0, 1, 5, 15, 16, 18, 19, 20, 31, 32, 33, 37, 55, 58, 63, 64, 65, 80, 81, 127, 128, 129, 300]
SHAPES: dict[str, Any] = {
    "ties": lambda rng, n: rng.choice(LEVELS, n),
    "level": lambda rng, n: np.full(n, 0.25),
    "infinite": lambda rng, n: rng.choice([-math.inf, -math.inf, math.inf], n),
    "none finite": lambda rng, n: np.full(n, -math.inf),
    "distinct": lambda rng, n: rng.random(n),
    "rising": lambda rng, n: np.sort(rng.random(n)),
    "in one lane": lambda rng, n: rng.random(n) + (np.arange(n) % ranking.BOUND_LANES == 3),
    "few above many": lambda rng, n: np.where(rng.random(n) < 0.02, 2.0, rng.choice([0.0, 1.0], n)),
}


@given(
    sizes=st.lists(st.sampled_from(WIDTHS), max_size=4), seed=seeds, kind=st.sampled_from([*SHAPES]),
    depth=st.sampled_from(HEADS), float_type=float_types, int_type=int_types,
)  # fmt: skip
def test_heads_of_rows(
    sizes: list[int], seed: int, kind: str, depth: int, float_type: Any, int_type: Any
) -> None:
    rng = np.random.default_rng(seed)
    ptr, ids = csr([rng.permutation(400)[:size].tolist() for size in sizes], int_type)
    scores = np.concatenate([np.empty(0), *(SHAPES[kind](rng, size) for size in sizes)]).astype(float_type)
    head_ptr = ranking.head_pointer(ptr, depth)
    heads, head_scores = np.empty(head_ptr[-1], int_type), np.empty(head_ptr[-1], float_type)
    tied = np.empty(len(sizes), np.bool_)
    ranking.select_heads(ptr, ids, scores, head_ptr, heads, head_scores, tied)
    rows_of_both = zip(cut(ptr, ids), cut(ptr, scores), strict=True)
    whole = [sorted(zip(*row, strict=True), key=lambda item: -item[1]) for row in rows_of_both]
    want = [row[:depth] for row in whole]
    rest = [[j for j, s in row[depth:] if s == row[depth - 1][1]] for row in whole]
    assert tied.tolist() == [bool(row) for row in rest]
    cut_ptr = np.empty(ptr.size, np.int64)
    ties.count_cut_ties(ptr, scores, head_ptr, head_scores, tied, cut_ptr)
    left = np.empty(cut_ptr[-1], int_type)
    ties.collect_cut_ties(ptr, ids, scores, head_ptr, head_scores, cut_ptr, left)
    assert cut(cut_ptr, left) == rest
    assert cut(head_ptr, heads) == [[j for j, _ in row] for row in want]
    assert cut(head_ptr, head_scores) == [[s for _, s in row] for row in want]
    for row in cut(ptr, scores):
        for share in range(1, min(8, depth) + 1):
            if len(row) < ranking.BOUND_LANES:
                break
            part, best = np.array(row, float_type), np.empty(ranking.BOUND_LANES, float_type)
            bound = ranking.bound_part(part, share, best)
            assert sum(score >= bound for score in part) >= share


@pytest.mark.parametrize("depth", HEADS)
def test_heads_that_need_one_more_than_stands_out(depth: int) -> None:
    for size in WIDTHS[1:]:
        scores = np.zeros(size)
        high = sorted({int((s + 0.5) * size / depth) for s in range(depth - 1)})  # evenly over the row
        scores[high] = 1.0
        ptr, ids, head_ptr = np.array([0, size]), np.arange(size), np.array([0, min(depth, size)])
        heads, head_scores = np.full(head_ptr[1], -9), np.empty(head_ptr[1])
        tied = np.empty(1, np.bool_)
        ranking.select_heads(ptr, ids, scores, head_ptr, heads, head_scores, tied)
        assert tied[0] == (depth < size)
        assert heads.tolist() == [*high, *(j for j in range(size) if j not in high)][:depth]


def random_weights(rng: np.random.Generator, n: int) -> Any:
    """Return weights of all sizes that blocks may have, and some of 0."""
    weight = np.minimum(2.0 ** rng.integers(-50, 1, n) * (1.0 + rng.random(n)), 1.0)
    return np.where(rng.random(n) < 0.2, 0.0, weight)


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
    expected = sums_of(before)
    for label, term in zip(entries.tolist(), each.tolist(), strict=True):
        expected[first + label] += Fraction(term)
    assert sums_of(sums, times) == expected
