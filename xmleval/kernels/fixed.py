"""Fixed-point sums: exact addition of float64 terms, so that their order changes no bit.

A sum is four int64 limbs, the last axis of its array: the whole part, then three fractions of 52
bits. Fractions are carried at every addition and lie in [0, 2^52), so that equal sums have equal
limbs. Each term is truncated below 2^-156 on its own, so that the blocks of the input do not
matter.
"""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel

LIMBS = 4
BITS = 52
ONE = 1 << BITS
MASK = ONE - 1
UNCARRIED = 1 << 10  # terms that can be added without a carry: their fractions fit in 63 bits
Limbs = tuple[np.int64, np.int64, np.int64, np.int64]


@kernel
def split_term(term: float) -> Limbs:
    """Split a float64 term into its whole part and three fractions, all with its sign."""
    whole = np.int64(term)  # towards zero, so that the rest of a negative term is exact as well
    fraction = (term - whole) * ONE
    first = np.int64(fraction)
    fraction = (fraction - first) * ONE
    second = np.int64(fraction)
    return whole, first, second, np.int64((fraction - second) * ONE)


@kernel
def add_limbs(
    limbs: Ints, whole: np.int64, first: np.int64, second: np.int64, third: np.int64
) -> None:
    """Add a whole part and three fractions, int64 and not yet carried, to a sum, int64 (4,)."""
    third += limbs[3]
    limbs[3] = third & MASK
    second += limbs[2] + (third >> BITS)
    limbs[2] = second & MASK
    first += limbs[1] + (second >> BITS)
    limbs[1] = first & MASK
    limbs[0] += whole + (first >> BITS)


@kernel
def add_term(limbs: Ints, term: float) -> None:
    """Add a float64 term to a sum, int64 (4,)."""
    whole, first, second, third = split_term(term)
    add_limbs(limbs, whole, first, second, third)


@kernel
def add_share(limbs: Ints, part: int, whole: int, sign: int) -> None:
    """Add part / whole, in 0..1, truncated below 2^-104, or subtract it (sign -1); whole < 2^37.

    Integer division makes 1/3 and 2/6 the same.

    limbs : int64 (4,), a sum, changed
    """
    units = part // whole
    left = part - units * whole
    half = BITS // 2
    for limb in range(1, 3):
        high = (left << half) // whole
        left = (left << half) - high * whole
        low = (left << half) // whole
        left = (left << half) - low * whole
        limbs[limb] += sign * ((high << half) + low)
    limbs[0] += sign * units
    limbs[1] += limbs[2] >> BITS
    limbs[2] &= MASK
    limbs[0] += limbs[1] >> BITS
    limbs[1] &= MASK


@kernel
def sum_terms(values: Floats, weight: Floats, total: Ints, weight_total: Ints) -> int:
    """Add weighted values and their weights, skipping NaN; return how many were added.

    values : float64 (n,), finite or NaN; weight : float64 (n,), or (0,) for equal weights
    total, weight_total : int64 (4,), added to; the latter only with weights
    """
    n_added = 0
    for start in range(0, values.size, UNCARRIED):
        stop = min(start + UNCARRIED, values.size)
        chunk = values[start:stop]
        n_added += sum_few(chunk, weight[start:stop], total, False)
        if weight.size:
            sum_few(chunk, weight[start:stop], weight_total, True)
    return n_added


@kernel
def sum_few(values: Floats, weight: Floats, total: Ints, alone: bool) -> int:
    """Add up to `UNCARRIED` values like `sum_terms`, with one carry at the end; return the number.

    With ``alone``, the weights of the values are added.

    values : float64 (n,); weight : float64 (n,), or (0,) for equal weights; total : int64 (4,),
        added to
    """
    n_added = 0
    limb_0 = np.int64(0)
    limb_1 = np.int64(0)
    limb_2 = np.int64(0)
    limb_3 = np.int64(0)
    for i in range(values.size):
        term = values[i] * weight[i] if weight.size else values[i]
        defined = term == term
        n_added += defined
        whole, first, second, third = split_term((weight[i] if alone else term) if defined else 0.0)
        limb_0 += whole
        limb_1 += first
        limb_2 += second
        limb_3 += third
    add_limbs(total, limb_0, limb_1, limb_2, limb_3)
    return n_added


@kernel
def carry(limbs: Ints) -> None:
    """Carry between the limbs of sums, int64 (n, 4), until they are canonical."""
    for i in range(limbs.shape[0]):
        for limb in range(LIMBS - 1, 0, -1):
            limbs[i, limb - 1] += limbs[i, limb] >> BITS
            limbs[i, limb] &= MASK


@kernel
def as_float(limbs: Ints) -> float:
    """Return a sum, int64 (4,), as float64; same bits as `xmleval.numerics.exact.as_floats`."""
    total = 0.0
    for limb in range(LIMBS - 1, -1, -1):
        total = total / ONE + limbs[limb]
    return total
