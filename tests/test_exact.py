"""Fixed-point sums as floats: no bit that a float can hold is lost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import exact
from xmleval.exact import as_floats, as_integer, exact_quotient
from xmleval.kernels.exact import N_LIMBS, SIZE
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
