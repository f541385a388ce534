"""Powers of a number by multiplication, with the same bits on every processor, and their sums."""

from __future__ import annotations

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel


@kernel
def power_of(base: float, exponent: int) -> float:
    """Return a number to the power of an integer that is not negative, by squaring."""
    power = 1.0
    square = base
    while exponent > 0:
        if exponent & 1:
            power *= square
        square *= square
        exponent >>= 1
    return power


@kernel
def write_powers(base: float, exponents: Ints, powers: Floats) -> None:
    """Write the powers of a number; int64 and float64 (n,)."""
    for i in range(exponents.size):
        powers[i] = power_of(base, exponents[i])


@kernel
def sum_powers(true_ptr: Ints, sorted_ranks: Ints, deepest: int, base: float, sums: Floats) -> None:
    """Sum base^(rank - 1) over ranks, best first, row by row.

    true_ptr : int64 (n + 1,); sorted_ranks : int64 (t,), increasing, 0 for labels without a rank
    deepest : largest rank that counts
    sums : float64 (n,), written
    """
    for i in range(true_ptr.size - 1):
        sums[i] = 0.0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            rank = sorted_ranks[t]
            if 0 < rank <= deepest:
                sums[i] += power_of(base, rank - 1)
