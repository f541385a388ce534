"""States are monoids to the last bit: any cutting, any order, any grouping, saved or not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import exact, seeds
from tests.states.data import N_LABELS, PRED, TOP, Data, add, random_data
from xmleval.exact import as_floats, as_integer
from xmleval.input.weights import check_propensity
from xmleval.kernels.profiles import LARGEST_SUM, MOST_TERMS
from xmleval.records import Propensity
from xmleval.states.label_sets import LabelSets
from xmleval.states.label_totals import LabelTotals
from xmleval.states.rank_profile import RankProfile
from xmleval.states.row_sums import RowSums
from xmleval.view.view import TABULATED, discount_sums

KEYS = ["short", "wide", "empty"]
Q = np.random.default_rng(5).choice([1.0, 1.1, 2.5, 9.649, 1.0 + 2.0**-52], N_LABELS)


def checked(q: Any) -> Propensity:
    return check_propensity(q, N_LABELS)


law = settings(max_examples=25)


Make = Callable[[], Any]
KINDS: dict[str, tuple[bool, Make]] = {
    "hits": (False, lambda: RankProfile(5)),
    "deep hits": (False, lambda: RankProfile(10**9)),
    "weighted hits": (True, lambda: RankProfile(5, weighted=True)),
    "gains": (False, lambda: RankProfile(3, checked(Q))),
    "deep gains": (False, lambda: RankProfile(100, checked(Q))),
    "weighted gains": (True, lambda: RankProfile(3, checked(Q), weighted=True)),
    "small gains": (False, lambda: RankProfile(4, checked(Q / 10))),
    "large gains": (False, lambda: RankProfile(4, checked(Q * 2.0**26))),
    "kept hits": (False, lambda: RankProfile(5, keep=True)),
    "kept gains": (True, lambda: RankProfile(5, checked(Q), weighted=True, keep=True)),
    "rows": (False, lambda: RowSums(KEYS)),
    "weighted rows": (True, lambda: RowSums(KEYS)),
    "kept rows": (False, lambda: RowSums(KEYS, keep=True)),
    "labels of sets": (False, lambda: LabelTotals(PRED, N_LABELS, False)),
    "labels of the top": (False, lambda: LabelTotals(TOP, N_LABELS, False)),
    "weighted labels": (True, lambda: LabelTotals(TOP, N_LABELS, True)),
    "label sets": (False, LabelSets),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def frozen(state: Any) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Every bit of a state; kept rows in row order, for their pieces show how the data were cut."""
    arrays = {name: array for name, array in state.arrays().items() if not name.startswith("kept")}
    if getattr(state, "keep", False):
        kept = [state.rows(key) for key in KEYS] if isinstance(state, RowSums) else state.rows()
        arrays |= {f"kept {i}": array for i, array in enumerate(kept) if array is not None}
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


def pieces(kind: str, seed: int, cuts: list[int]) -> tuple[Data, Make, list[tuple[int, int]]]:
    weighted, make = KINDS[kind]
    ends = list(itertools.accumulate(cuts, initial=0))
    return random_data(seed, ends[-1], weighted), make, list(itertools.pairwise(ends))


cuttings = st.lists(st.integers(0, 5), min_size=1, max_size=5)


@every_kind
@law
@given(seed=seeds, cuts=cuttings, data=st.data())
def test_cutting_order_and_grouping_leave_no_trace(
    kind: str, seed: int, cuts: list[int], data: st.DataObject
) -> None:
    rows, make, spans = pieces(kind, seed, cuts)
    whole = frozen(add(make(), rows, 0, rows.n))
    gradual = make()
    for span in spans:
        add(gradual, rows, *span)
    assert frozen(gradual) == whole
    parts = [add(make(), rows, *span) for span in spans] + [make()]
    parts = [parts[i] for i in data.draw(st.permutations(range(len(parts))))]
    while len(parts) > 1:
        at = data.draw(st.integers(0, len(parts) - 2))
        parts[at].prepare_merge(parts.pop(at + 1))()
    assert frozen(parts[0]) == whole


@every_kind
@law
@given(seed=seeds, cuts=st.tuples(*[st.integers(0, 5)] * 3))
def test_monoid_laws(kind: str, seed: int, cuts: tuple[int, int, int]) -> None:
    rows, make, spans = pieces(kind, seed, list(cuts))

    def merged(*states: Any) -> Any:
        before = [frozen(other) for other in states[1:]]
        for other in states[1:]:
            states[0].prepare_merge(other)()
        assert [frozen(other) for other in states[1:]] == before
        return states[0]

    def part(number: int) -> Any:
        return add(make(), rows, *spans[number])

    assert frozen(merged(part(0), make())) == frozen(merged(make(), part(0))) == frozen(part(0))
    assert frozen(merged(make(), make())) == frozen(make())
    assert frozen(merged(part(0), part(1))) == frozen(merged(part(1), part(0)))
    left = merged(merged(part(0), part(1)), part(2))
    assert frozen(left) == frozen(merged(part(0), merged(part(1), part(2))))


@every_kind
@law
@given(seed=seeds, cuts=st.tuples(*[st.integers(1, 5)] * 3))
def test_merged_states_share_no_memory(kind: str, seed: int, cuts: tuple[int, int, int]) -> None:
    rows, make, spans = pieces(kind, seed, list(cuts))
    for first in (make(), add(make(), rows, *spans[0])):
        other = add(make(), rows, *spans[1])
        before = frozen(other)
        first.prepare_merge(other)()
        add(first, rows, *spans[2])
        assert frozen(other) == before
        after = frozen(first)
        add(other, rows, *spans[2])
        assert frozen(first) == after


@every_kind
@law
@given(seed=seeds, cuts=cuttings)
def test_restored_state_is_the_same_and_goes_on(kind: str, seed: int, cuts: list[int]) -> None:
    rows, make, spans = pieces(kind, seed, [*cuts, 2])
    state, back = make(), make()
    for span in spans[:-1]:
        add(state, rows, *span)
    before = frozen(state)
    saved = state.arrays()
    assert all(isinstance(name, str) and isinstance(array, np.ndarray) for name, array in saved.items())
    back.restore(saved)
    assert frozen(back) == before
    assert back.arrays().keys() == saved.keys()
    add(back, rows, *spans[-1])
    assert frozen(state) == before
    add(state, rows, *spans[-1])
    assert frozen(state) == frozen(back)


class Slow(RankProfile):
    """Sums every gain in fixed point."""

    def _splits(self, n_rows: int) -> bool:
        return False


LARGEST_Q = np.array([1.0, 1.0 + 2.0**-52, 2.0**30, 2.0**30 - 2.0**-22, 2.0**29 / 3.0])


@example(seed=0, cuts=[7, 8, 1, 9])
@given(seed=seeds, cuts=st.lists(st.sampled_from([0, 1, 7, 8, 9]), min_size=1, max_size=4))
def test_fast_and_slow_sums_of_gains_mix(seed: int, cuts: list[int]) -> None:
    q = np.random.default_rng(seed).choice(LARGEST_Q, N_LABELS)
    q[0] = 2.0**30  # eight rows of it reach the largest sum
    assert 8 * q[0] == LARGEST_SUM
    fast = RankProfile(6, checked(q))
    assert [fast._splits(n) for n in (7, 8)] == [True, False]
    ends = list(itertools.accumulate(cuts, initial=0))
    rows = random_data(seed, ends[-1])
    for span in itertools.pairwise(ends):
        add(fast, rows, *span)
    slow, alone = add(Slow(6, checked(q)), rows, 0, rows.n), RankProfile(6, checked(q))
    assert frozen(fast) == frozen(slow)
    for i in range(rows.n):
        alone.prepare_merge(add(RankProfile(6, checked(q)), rows, i, i + 1))()
    assert frozen(fast) == frozen(alone)


def test_fast_sums_keep_to_their_limits() -> None:
    assert RankProfile(3, checked(Q))._splits(MOST_TERMS - 1)
    assert not RankProfile(3, checked(Q))._splits(MOST_TERMS)
    assert not RankProfile(3, checked(Q), weighted=True)._splits(1)
    assert not RankProfile(3, checked(Q / 2))._splits(1)
    assert not RankProfile(3)._splits(1)


def test_fast_and_slow_sums_agree_on_a_large_block() -> None:
    n = 4000
    q = 1.0 + np.random.default_rng(1).random(N_LABELS) * 10
    rows = random_data(2, n)
    slow, fast = add(Slow(6, checked(q)), rows, 0, n), add(RankProfile(6, checked(q)), rows, 0, n)
    assert fast._splits(n)
    assert frozen(fast) == frozen(slow)


@given(seed=seeds, n=st.integers(0, 12), weighted=st.booleans(), depth=st.sampled_from([1, 4, 99]))
def test_profile_holds_exact_sums(seed: int, n: int, weighted: bool, depth: int) -> None:
    rows = random_data(seed, n, weighted)
    state = add(RankProfile(depth, checked(Q), weighted), rows, 0, n)
    sizes = sorted({len(y) for y in rows.truth})
    assert state.n_relevant.tolist() == sizes

    def table(name: str) -> Any:
        found = state.tables[name]
        whole = found.ndim == 2
        return {
            (sizes[s], r): Fraction(int(found[s, r])) if whole else exact(found[s, r])
            for s, r in np.ndindex(*found.shape[:2])
            if np.any(found[s, r])
        }

    want: dict[str, dict[tuple[int, int], Fraction]] = {"rows": {}, "hits": {}, "gains": {}, "ideals": {}}

    def count(name: str, size: int, rank: int, term: float) -> None:
        if term:
            want[name][size, rank] = want[name].get((size, rank), Fraction(0)) + Fraction(term)

    for i, relevant in enumerate(rows.truth):
        unit, size = float(rows.weight[i]) if weighted else 1.0, len(relevant)
        count("rows", size, 0, unit)
        for r, j in enumerate(rows.listed[i][:depth]):
            if j in relevant:
                count("hits", size, r, unit)
                count("gains", size, r, float(Q[j]) * unit)
        for r, q in enumerate(sorted((float(Q[j]) for j in relevant), reverse=True)[:depth]):
            count("ideals", size, r, q * unit)
    assert {name: table(name) for name in want} == want
    profile = state.profile()
    assert profile.gains is not None
    assert profile.gains.tolist() == as_floats(state.tables["gains"]).tolist()


def test_tables_grow_in_both_directions() -> None:
    rows = random_data(0, 3)
    rows.truth, rows.listed = [[0], [0, 1, 2], [1, 2]], [[0], [9, 8, 7, 0, 1], [5, 2]]
    state = RankProfile(4, checked(Q))
    shapes = []
    for i in (0, 1, 2):
        add(state, rows, i, i + 1)
        shapes.append([state.tables[name].shape[:2] for name in ("rows", "hits", "gains", "ideals")])
    assert shapes == [
        [(1, 1), (1, 1), (1, 1), (1, 1)],
        [(2, 1), (2, 4), (2, 4), (2, 3)],
        [(3, 1), (3, 4), (3, 4), (3, 3)],
    ]
    assert state.n_relevant.tolist() == [1, 2, 3]
    assert state.tables["hits"].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]


@given(seed=seeds, n=st.integers(0, 12), weighted=st.booleans())
def test_row_sums_hold_exact_means(seed: int, n: int, weighted: bool) -> None:
    rows = random_data(seed, n, weighted)
    state = add(RowSums(KEYS, keep=True), rows, 0, n)
    for i, (key, column) in enumerate(zip(KEYS, rows.values, strict=True)):
        units = rows.weight if weighted else np.ones(n)
        defined = [(float(v * w), float(w)) for v, w in zip(column, units, strict=True) if v == v]
        total = sum(int(Fraction(v) * 2**156) for v, _ in defined)
        weight = sum(Fraction(w) for _, w in defined)
        assert state.n_defined[i] == len(defined)
        assert as_integer(state.totals[i, 0]) == total
        mean = state.mean(key, weighted)
        assert mean == float(Fraction(total, 2**156) / weight) if weight else math.isnan(mean)
        assert state.rows(key).tobytes() == column.tobytes()
    assert state.n_rows == n


def test_discounts_far_down_the_list_need_no_table() -> None:
    deepest = 4 * TABULATED
    each = (1.0 / np.log2(np.arange(2, deepest + 2))).tolist()
    ranks = np.array([0, 1, TABULATED - 1, TABULATED, TABULATED + 1, 2 * TABULATED, deepest])
    want = [math.fsum(each[:rank]) for rank in ranks]
    np.testing.assert_allclose(discount_sums(ranks), want, rtol=1e-13)
