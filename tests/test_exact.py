"""Fixed-point sums as floats: no bit that a float can hold is lost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import exact, seeds
from xmleval.exact import SCALE, as_floats, as_integer, exact_mean, exact_quotient, scaled_sum
from xmleval.kernels.exact import N_LIMBS, SIZE, SMALL
from xmleval.kernels.fixed import BITS, LIMBS, ONE

limbs = st.tuples(
    st.integers(-(1 << 40), 1 << 40),
    *(st.sampled_from([0, 1, ONE - 1]) | st.integers(0, ONE - 1),) * (LIMBS - 1),
)


@given(rows=st.lists(limbs, min_size=1, max_size=4))
def test_floats_are_those_of_the_sum(rows: list[tuple[int, ...]]) -> None:
    found = as_floats(np.array(rows, np.int64))
    for value, row in zip(found.tolist(), rows, strict=True):
        wanted = exact(row)
        assert abs(Fraction(value) - wanted) <= Fraction(math.ulp(float(wanted)))
        assert as_integer(np.array(row, np.int64)) == wanted * (1 << BITS * (LIMBS - 1))


def test_every_limb_counts() -> None:
    for place in range(LIMBS):
        row = np.zeros(LIMBS, np.int64)
        row[place] = 3
        assert as_floats(row) == 3 * 2.0 ** (-BITS * place)


def test_sums_beyond_all_floats_are_infinite() -> None:
    total = np.zeros(SIZE, np.int64)
    for sign in (1, -1):
        total[N_LIMBS - 1] = sign << 40
        assert exact_quotient(total, 3) == sign * math.inf


@given(
    values=st.lists(st.integers(-(1 << 53), 1 << 53).map(lambda n: n / (1 << 60)) | st.just(math.nan)),
    seed=seeds,
)
def test_sums_of_values_taken_several_times_are_exact(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = np.array(values)
    times = rng.choice([1, 2, 1000, (1 << 26) - 1, 1 << 26, (1 << 40) + 1], array.size)
    wanted = sum(
        (Fraction(x) * int(n) for x, n in zip(values, times, strict=True) if not math.isnan(x)), Fraction()
    )
    found = Fraction(scaled_sum(array, times), SCALE)
    assert found == wanted
    one, other = np.split(np.arange(array.size), [int(rng.integers(array.size + 1))])
    parts = [scaled_sum(array[part], times[part]) for part in (one, other)]
    assert sum(parts) == scaled_sum(array, times)
    repeated = np.repeat(array, times % 50)
    assert scaled_sum(repeated) == scaled_sum(array, times % 50)


def test_sums_of_infinite_values_are_infinite() -> None:
    assert scaled_sum(np.array([1.0, np.inf, np.nan])) == np.inf
    assert scaled_sum(np.array([1.0, -np.inf]), np.array([1, 3])) == -np.inf


edges = st.sampled_from([0.0, -0.0, 1.0, SMALL - 1.0, 1.0 * SMALL, SMALL + 1.0, SMALL - 0.5, 0.1, 2.0**-1074])


@given(values=st.lists(edges | edges.map(float.__neg__) | st.integers(-1000, 1000).map(float), min_size=1))
def test_means_of_integers_and_fractions_are_rounded_once(values: list[float]) -> None:
    assert exact_mean(np.array(values)) == float(sum(map(Fraction, values)) / len(values))


def test_many_integers_are_carried() -> None:
    values = np.full((1 << 20) + 5, SMALL - 1.0)
    assert exact_mean(values) == SMALL - 1
    assert exact_mean(-values) == 1 - SMALL
