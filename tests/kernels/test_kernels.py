"""Kernels that sort, check and sum exactly, against plain Python."""

import itertools
import math
import operator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import LEVELS, SIZES, csr, cut, exact, float_types, int_types, seeds
from xmleval.base.arrays import Ints
from xmleval.io import read_scores
from xmleval.kernels import checking, fixed, keys, labels, matching, parsing, ranking, sorting, ties
from xmleval.kernels.labels import FULL

Offence = tuple[int, int, int]  # code, row, position
FINE: Offence = (checking.FINE, -1, -1)
BIG = 2**31 + 7


Item = tuple[int, float]  # label id and score


def row_items(ptr: Any, ids: Any, scores: Any) -> list[list[Item]]:
    """Return pairs of label id and score by row."""
    id_rows = cut(ptr, ids)
    score_rows = cut(ptr, scores)
    return [
        [*zip(row_ids, row_scores, strict=True)]
        for row_ids, row_scores in zip(id_rows, score_rows, strict=True)
    ]


def ranked(row: list[Item]) -> list[Item]:
    """Return a row by falling score; ties keep their order."""
    return sorted(row, key=lambda item: -item[1])


def ids_of(rows: list[list[Item]]) -> list[list[int]]:
    return [[label for label, _ in row] for row in rows]


def scores_of(rows: list[list[Item]]) -> list[list[float]]:
    return [[score for _, score in row] for row in rows]


def count_steps(ptr: Any, scores: Any) -> tuple[int, int, int]:
    """Return how often a score is followed by a larger, a smaller or an equal one of its row."""
    n_rising = 0
    n_falling = 0
    n_equal = 0
    for row in cut(ptr, scores):
        for before, after in itertools.pairwise(row):
            n_rising += after > before
            n_falling += after < before
            n_equal += after == before
    return n_rising, n_falling, n_equal


@given(
    sizes=st.lists(st.sampled_from([*SIZES, 1000]), max_size=4),
    seed=seeds,
    float_type=float_types,
    int_type=int_types,
)
def test_order_within_rows(sizes: list[int], seed: int, float_type: Any, int_type: Any) -> None:
    rng = np.random.default_rng(seed)
    ptr, ids = csr([rng.permutation(1000)[:size].tolist() for size in sizes], int_type)
    scores = rng.choice(LEVELS, ids.size).astype(float_type)
    expected = [ranked(row) for row in row_items(ptr, ids, scores)]
    assert ranking.steps_of(ptr, scores) == (*count_steps(ptr, scores), 0)
    assert sorting.longest_row(ptr) == max(sizes, default=0)
    ranking.rank_rows(ptr, ids, scores)
    assert cut(ptr, ids) == ids_of(expected)
    assert cut(ptr, scores) == scores_of(expected)
    assert ranking.steps_of(ptr, scores)[0] == 0
    for place in range(scores.size):
        with_nan = scores.copy()
        with_nan[place] = np.nan
        assert ranking.steps_of(ptr, with_nan)[3] == 1
    for value in LEVELS:
        for with_equal in (False, True):
            passes = operator.ge if with_equal else operator.gt
            counts = np.full(len(sizes), -9)
            ranking.count_leading(ptr, scores, value, with_equal, counts)
            expected_counts = [
                sum(passes(score, value) for score in row) for row in scores_of(expected)
            ]
            assert counts.tolist() == expected_counts


terms = st.builds(math.ldexp, st.integers(0, 2**53 - 1), st.integers(-104, -13))
negative = st.builds(math.ldexp, st.integers(-(2**53) + 1, 0), st.integers(-104, -13))


def sum_limbs(values: list[float]) -> Ints:
    limbs = np.zeros(fixed.LIMBS, np.int64)
    for value in values:
        fixed.add_term(limbs, value)
    return limbs


@given(
    values=st.lists(terms | negative | st.floats(2.0**-50, 2.0**40), max_size=30), data=st.data()
)
def test_sums_are_exact_in_any_order(values: list[float], data: st.DataObject) -> None:
    whole = sum_limbs(values)
    expected = sum(int(Fraction(value) * 8**fixed.BITS) for value in values)
    assert exact(whole) * 8**fixed.BITS == expected
    permuted = data.draw(st.permutations(values))
    assert sum_limbs(permuted).tobytes() == whole.tobytes()

    at = data.draw(st.integers(0, len(values)))
    first = sum_limbs(values[:at])
    last = sum_limbs(values[at:])
    uncarried = np.stack([first + last, whole - first])
    fixed.carry(uncarried)
    assert uncarried.tobytes() == np.stack([whole, last]).tobytes()

    weights = np.array([data.draw(st.sampled_from([0.0, 0.5, 3.0])) for _ in values])
    is_undefined = weights == 3.0
    terms_and_nan = np.where(is_undefined, np.nan, values)
    defined = np.array(values)[~is_undefined]
    weights_of_defined = weights[~is_undefined]
    sums = np.zeros((2, fixed.LIMBS), np.int64)
    n_defined = fixed.sum_terms(terms_and_nan, np.empty(0), sums[0], sums[1])
    assert n_defined == defined.size
    assert sums[0].tobytes() == sum_limbs(defined.tolist()).tobytes()
    assert sums[1].tobytes() == sum_limbs([]).tobytes()

    sums = np.zeros((2, fixed.LIMBS), np.int64)
    n_defined = fixed.sum_terms(terms_and_nan, weights, sums[0], sums[1])
    assert n_defined == defined.size
    weighted_terms = defined * weights_of_defined
    assert sums[0].tobytes() == sum_limbs(weighted_terms.tolist()).tobytes()
    assert sums[1].tobytes() == sum_limbs(weights_of_defined.tolist()).tobytes()


@pytest.mark.parametrize("n", [fixed.UNCARRIED - 1, fixed.UNCARRIED, 3 * fixed.UNCARRIED + 1])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_sum_terms_carries_in_time(n: int, sign: float) -> None:
    largest = sign * (1.0 - 2.0**-53)
    kinds = np.array([largest, largest * 2.0**-51, np.nan, largest * 2.0**-103])
    values = kinds[np.arange(n) % 4]
    defined = values[~np.isnan(values)]
    for weight in (np.empty(0), np.full(n, 1.0 - 2.0**-53)):
        sums = np.full((2, fixed.LIMBS), fixed.MASK)
        sums[:, 0] = 0
        expected = sums.copy()
        factor = weight[0] if weight.size else 1.0
        for term in defined * factor:
            fixed.add_term(expected[0], term)
        for term in weight[: defined.size]:
            fixed.add_term(expected[1], term)
        assert fixed.sum_terms(values, weight, sums[0], sums[1]) == defined.size
        assert sums.tolist() == expected.tolist()


@given(
    ptr=st.lists(st.integers(-2, 6), min_size=1, max_size=6), rising=st.booleans(), dtype=int_types
)
def test_check_pointer_names_the_first_offence(ptr: list[int], rising: bool, dtype: Any) -> None:
    if rising:
        ptr = sorted(ptr)
    expected = FINE
    for row, (start, end) in enumerate(itertools.pairwise(ptr)):
        if end < start or end > 5:
            expected = (checking.BAD_POINTER, row, row + 1)
            break
    if ptr[0]:
        expected = (checking.BAD_POINTER, 0, 0)
    assert checking.check_pointer(np.array(ptr, dtype), 5) == expected


def id_lists(longest: int) -> st.SearchStrategy[list[list[int]]]:
    """Return lists of distinct ids below 50, in any order, the top five among them."""
    ids = st.integers(0, 49)
    sizes = st.sampled_from([0, 5, longest])
    row = sizes.flatmap(lambda n: st.lists(ids, min_size=n, max_size=n, unique=True))
    return st.lists(row, min_size=1, max_size=6)


id_rows = st.lists(st.lists(st.integers(-1, 7), max_size=5), max_size=5)


class LabelOffences(NamedTuple):
    """Offences of lists of label ids below 7, each in their order; kernels return the first."""

    outside: list[Offence]
    repeated: list[Offence]
    repeated_at_once: list[Offence]
    has_descent: bool


def find_offences(lists: list[list[int]], ptr: Any) -> LabelOffences:
    outside = []
    repeated = []
    repeated_at_once = []
    has_descent = False
    for i, row in enumerate(lists):
        for place, label in enumerate(row):
            position = int(ptr[i]) + place
            before = row[:place]
            if not 0 <= label < 7:
                outside.append((checking.BAD_LABEL, i, position))
            if label in before:
                repeated.append((checking.DUPLICATE, i, position))
            if before and before[-1] == label:
                repeated_at_once.append((checking.DUPLICATE, i, position))
            if before and before[-1] > label:
                has_descent = True
    return LabelOffences(outside, repeated, repeated_at_once, has_descent)


@example(lists=[[1], [3, 1]], tidy=False, dtype=np.dtype(np.int64))
@example(lists=[[2, 3], [], [1], [], []], tidy=False, dtype=np.dtype(np.int32))
@given(
    lists=id_rows | id_rows.map(lambda rows: [sorted(row) for row in rows]),
    tidy=st.booleans(),
    dtype=int_types,
)
def test_check_and_sort_labels(lists: list[list[int]], tidy: bool, dtype: Any) -> None:
    if tidy:
        lists = [sorted({abs(label) % 6 for label in row}) for row in lists]
    ptr, ids = csr(lists, dtype)
    outside, repeated, repeated_at_once, has_descent = find_offences(lists, ptr)

    offence = checking.check_labels(ptr, ids, 7)
    if has_descent and not outside:  # to be sorted, and then checked again
        assert offence in [(checking.UNSORTED, -1, -1), *repeated_at_once]
    else:
        assert offence == (outside or repeated_at_once or [FINE])[0]

    offence = checking.check_list(ptr, ids, 7, np.empty(2, np.int64))
    if outside and repeated:
        assert offence in (outside[0], repeated[0])
    else:
        assert offence == (outside or repeated or [FINE])[0]

    if not outside:
        unsorted_ids = ids.copy()
        order = np.arange(ids.size)
        checking.sort_labels(ptr, ids, order)
        assert cut(ptr, ids) == [sorted(row) for row in lists]
        assert unsorted_ids[order].tolist() == ids.tolist()


long_rows = st.lists(st.sampled_from([*SIZES, 2047, 2048, 2049, 3000]), min_size=1, max_size=3)


@given(sizes=long_rows, seed=seeds, dtype=int_types)
def test_check_list_finds_duplicate_in_long_row(sizes: list[int], seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    base = BIG if dtype == np.int64 else 0
    n_labels = base + 3000
    ptr, ids = csr([(base + rng.permutation(3000)[:size]).tolist() for size in sizes], dtype)
    assert checking.check_list(ptr, ids, n_labels, np.empty(2, np.int64)) == FINE
    ordered = ids.copy()
    checking.sort_labels(ptr, ordered, np.arange(ids.size))
    assert checking.check_labels(ptr, ordered, n_labels) == FINE
    row = int(rng.integers(len(sizes)))
    if sizes[row] > 1:
        first, second = sorted(int(ptr[row]) + rng.permutation(sizes[row])[:2])
        ids[second] = ids[first]
        expected = (checking.DUPLICATE, row, second)
        assert checking.check_list(ptr, ids, n_labels, np.empty(2, np.int64)) == expected


@pytest.mark.parametrize("length", [4, 5, 6])
@given(dtype=int_types)
def test_check_list_finds_every_duplicate_in_short_row(length: int, dtype: Any) -> None:
    for first, second in itertools.combinations(range(length), 2):
        row = [*range(length)]
        row[second] = row[first]
        ptr, ids = csr([[*range(length)], row], dtype)
        expected = (checking.DUPLICATE, 1, length + second)
        assert checking.check_list(ptr, ids, length, np.empty(2, np.int64)) == expected


@given(listed=id_lists(6), relevant=id_lists(40), dtype=int_types)
def test_find_positions_in_short_lists(
    listed: list[list[int]], relevant: list[list[int]], dtype: Any
) -> None:
    n = min(len(listed), len(relevant))
    lists = listed[:n]
    truth = [sorted(row) for row in relevant[:n]]
    list_ptr, list_ids = csr(lists, dtype)
    true_ptr, true_ids = csr(truth, dtype)
    positions = np.empty(true_ids.size, np.int64)
    matching.find_positions(list_ptr, list_ids, true_ptr, true_ids, positions)
    expected = []
    for row, labels_of_row in zip(lists, truth, strict=True):
        for label in labels_of_row:
            expected.append(row.index(label) + 1 if label in row else 0)
    assert positions.tolist() == expected


LIST_SIZES = [
    *range(10),
    keys.FEW_RELEVANT,
    keys.FEW_RELEVANT + 1,
    keys.HASHED,
    keys.HASHED + 1,
]


@given(sizes=st.lists(st.sampled_from(LIST_SIZES)), seed=seeds, dtype=int_types)
def test_flag_listed_flags_relevant_labels(sizes: list[int], seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    truth = [sorted(rng.choice(3000, size, replace=False).tolist()) for size in sizes]
    lists = []
    for relevant in truth:
        irrelevant = range(3000, 3000 + int(rng.integers(70)))
        lists.append(rng.permutation([*relevant, *irrelevant]).tolist())
    lists = [row[int(rng.integers(3)) :] for row in lists]
    list_ptr, list_ids = csr(lists, dtype)
    true_ptr, true_ids = csr(truth, dtype)
    flags = rng.random(list_ids.size) < 0.5
    keys.flag_listed(list_ptr, list_ids, true_ptr, true_ids, flags)
    expected = []
    for row, relevant in zip(lists, truth, strict=True):
        expected.append([label in relevant for label in row])
    assert cut(list_ptr, flags) == expected


def test_parsers_do_not_overrun_short_arrays() -> None:
    entries = np.array([*b"1:1 2:2\n3:3\n7777777"], np.uint8)
    lists = np.array([*b"1\n2,3\n4\n7777777"], np.uint8)
    ptr = np.full(3, -9)
    ids = np.full(1, -9, np.int32)
    n_parsed = parsing.parse_entries(entries, 2, 9, ptr, ids, np.empty(1), np.empty(1, np.int16))
    assert n_parsed == 0
    assert parsing.parse_lists(lists, 3, 9, False, np.empty(4, np.int64), ids, ptr) == (1, 1)


HEADS = [
    *range(1, 9),
    12,
    13,
    ranking.SHARE * ranking.MOST_PARTS,
    ranking.SHARE * ranking.MOST_PARTS + 1,
    40,
]
WIDTHS = [
    *(0, 1, 5, 15, 16, 18, 19, 20, 31, 32, 33, 37, 55, 58, 63, 64, 65, 80, 81),
    *(127, 128, 129, 300),
]
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


def check_bounds(row: Any, depth: int) -> None:
    """Assert that at least as many scores as asked for reach the bound of a part."""
    if row.size < ranking.BOUND_LANES:
        return
    for share in range(1, min(8, depth) + 1):
        best = np.empty(ranking.BOUND_LANES, row.dtype)
        bound = ranking.bound_part(row, share, best)
        assert sum(score >= bound for score in row) >= share


class Heads(NamedTuple):
    """The first labels by row, and whether the last one is tied with a label beyond."""

    ptr: Any
    ids: Any
    scores: Any
    is_tied: Any


def select_heads(ptr: Any, ids: Any, scores: Any, depth: int) -> Heads:
    head_ptr = ranking.head_pointer(ptr, depth)
    n_heads = head_ptr[-1]
    head_ids = np.full(n_heads, -9, ids.dtype)
    head_scores = np.empty(n_heads, scores.dtype)
    is_tied = np.empty(ptr.size - 1, np.bool_)
    ranking.select_heads(ptr, ids, scores, head_ptr, head_ids, head_scores, is_tied)
    return Heads(head_ptr, head_ids, head_scores, is_tied)


def collect_cut_ties(ptr: Any, ids: Any, scores: Any, heads: Heads) -> list[list[int]]:
    cut_ptr = np.empty(ptr.size, np.int64)
    ties.count_cut_ties(ptr, scores, heads.ptr, heads.scores, heads.is_tied, cut_ptr)
    cut_ids = np.empty(cut_ptr[-1], ids.dtype)
    ties.collect_cut_ties(ptr, ids, scores, heads.ptr, heads.scores, cut_ptr, cut_ids)
    return cut(cut_ptr, cut_ids)


@given(
    sizes=st.lists(st.sampled_from(WIDTHS), max_size=4),
    seed=seeds,
    kind=st.sampled_from([*SHAPES]),
    depth=st.sampled_from(HEADS),
    float_type=float_types,
    int_type=int_types,
)
def test_heads_of_rows(
    sizes: list[int], seed: int, kind: str, depth: int, float_type: Any, int_type: Any
) -> None:
    rng = np.random.default_rng(seed)
    ptr, ids = csr([rng.permutation(400)[:size].tolist() for size in sizes], int_type)
    drawn_rows = [SHAPES[kind](rng, size) for size in sizes]
    scores = np.concatenate([np.empty(0), *drawn_rows]).astype(float_type)
    heads = select_heads(ptr, ids, scores, depth)

    rankings = [ranked(row) for row in row_items(ptr, ids, scores)]
    expected = [row[:depth] for row in rankings]
    expected_ties = []
    for row in rankings:
        beyond = row[depth:]
        expected_ties.append([label for label, score in beyond if score == row[depth - 1][1]])
    assert heads.is_tied.tolist() == [bool(row) for row in expected_ties]
    assert collect_cut_ties(ptr, ids, scores, heads) == expected_ties
    assert cut(heads.ptr, heads.ids) == ids_of(expected)
    assert cut(heads.ptr, heads.scores) == scores_of(expected)
    for row_scores in cut(ptr, scores):
        check_bounds(np.array(row_scores, float_type), depth)


@pytest.mark.parametrize("depth", HEADS)
def test_heads_need_one_more_than_the_high_scores(depth: int) -> None:
    for size in WIDTHS[1:]:
        scores = np.zeros(size)
        # evenly over the row
        high = sorted({int((place + 0.5) * size / depth) for place in range(depth - 1)})
        scores[high] = 1.0
        low = [label for label in range(size) if label not in high]
        heads = select_heads(np.array([0, size]), np.arange(size), scores, depth)
        assert heads.ptr.tolist() == [0, min(depth, size)]
        assert heads.is_tied[0] == (depth < size)
        assert heads.ids.tolist() == [*high, *low][:depth]


def random_weights(rng: np.random.Generator, n: int) -> Any:
    """Return weights of all sizes that blocks may have, and some of 0."""
    weight = np.minimum(2.0 ** rng.integers(-50, 1, n) * (1.0 + rng.random(n)), 1.0)
    return np.where(rng.random(n) < 0.2, 0.0, weight)


def exact_sums(sums: Ints, n_carried: Ints) -> list[Fraction]:
    """Return exact sums of pairs of numbers with their carries; check their ranges."""
    assert ((sums >= 0) & (sums < [FULL, 2**52])).all()
    exact = []
    for (high, low), n in zip(sums.tolist(), n_carried.tolist(), strict=True):
        exact.append(Fraction(high + FULL * n, 2**52) + Fraction(low, 2**104))
    return exact


@given(
    seed=seeds,
    n=st.one_of(st.integers(0, 30), st.integers(0, 3 * labels.BATCH)),
    first=st.integers(0, 4),
    cut=st.integers(0, 7),
    dtype=int_types,
)
def test_add_weights_sums_by_label(seed: int, n: int, first: int, cut: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    n_sums = 7 + first
    entries = rng.choice(7, n).astype(dtype)
    n_within = np.bincount(rng.choice(5, n), minlength=5)
    weight = random_weights(rng, 5)
    high = rng.choice([0, FULL - 1], n_sums)
    low = rng.integers(0, 2**52, n_sums)
    sums = np.stack([high, low], axis=1)
    expected = exact_sums(sums, np.zeros(n_sums, np.int64))
    entry_weights = np.repeat(weight, n_within)
    for label, term in zip(entries.tolist(), entry_weights.tolist(), strict=True):
        expected[first + label] += Fraction(term)

    carried = np.full(n, -9, np.int64)
    n_carried = 0
    for ends in ((0, cut), (cut, 7)):
        free = carried[n_carried:]
        n_carried += labels.add_weights(entries, n_within, weight, first, ends, sums, free)
    carried_by_label = np.bincount(carried[:n_carried], minlength=n_sums)
    assert exact_sums(sums, carried_by_label) == expected


def hard_numbers(rng: np.random.Generator) -> list[str]:
    """Return numbers next to and half-way between doubles, and at the ends of their range."""
    texts = ["5e-324", "2.4703282292062327e-324", "2.4703282292062329e-324", "1e-400", "0e999"]
    texts += ["2.2250738585072014e-308", "2.2250738585072011e-308", "4.9e-320", "1e-310"]
    texts += ["1.7976931348623157e308", "1.7976931348623158e308", "17976931348623157e292"]
    texts += ["1.7976931348623159e308", "1.8e308", "3e308", "1e309", "2e-308", "1e-308", "2.2e-308"]
    texts += ["0.99999999999999999", "1.99999999999999999", "4095.9999999999999999", "1e308"]
    texts += ["9007199254740993", "9007199254740995", "9007199254740992.5", "1e22", "1e23", "1e-22"]
    texts += ["0.1", "0.30000000000000004", "123456789012345678", "1234567890123456789e-30"]
    texts += ["8.5e16", "1.00000000000000011102230246251565404", "0.000001e306", "6.02e+23"]
    texts += ["0.9999999999999999444888487687421760603063", "4503599627370497.5", "1e-27", "1e55"]
    for _ in range(300):
        number = float(rng.integers(1, 1 << 53)) * 2.0 ** int(rng.integers(-60, 10))
        exact = Decimal(number)
        half = (Decimal(math.nextafter(number, math.inf)) - exact) / 2
        texts += [f"{exact + half:.{digits}e}" for digits in (16, 17, 18)]
        texts.append(f"{exact + half:e}")
        digits = int(rng.integers(1, 1 << 63))
        texts.append(f"{digits}e{rng.integers(-320, 289)}")
        texts.append(f"{digits % 10**17}e{rng.integers(-300, 290)}")
    return texts


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_in_texts_are_the_nearest_doubles(sign: str, tmp_path: Path) -> None:
    texts = [sign + text for text in hard_numbers(np.random.default_rng(1))]
    lines = [f"{len(texts)} 9", *(f"{i % 9}:{text}" for i, text in enumerate(texts))]
    path = tmp_path / "scores.txt"
    path.write_text("\n".join(lines) + "\n")
    scores = read_scores(path)
    assert scores.indices.tolist() == [i % 9 for i in range(len(texts))]
    expected = np.array([float(text) for text in texts]) + 0.0
    wrong = scores.data + 0.0 != expected
    assert [text for text, is_wrong in zip(texts, wrong, strict=True) if is_wrong] == []
