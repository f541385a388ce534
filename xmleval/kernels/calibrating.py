"""Kernels of probabilities: exponentials and logarithms, sums by bin, and losses.

Exponentials and logarithms of NumPy and the C library differ in the last bit between processors.
These use only +, -, * and /, and powers of two, which IEEE 754 rounds identically everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from xmleval.base.arrays import Bools, Bytes, Floats, Ints, Scores
from xmleval.kernels.fixed import LIMBS, add_term, as_float
from xmleval.kernels.jit import kernel, kernel_with_work, slow_entries
from xmleval.kernels.products import split_number
from xmleval.kernels.weight_sums import add_to, plus, times

LOG2E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # 33 bits, so that products with exponents are exact
LN2_LOW = 1.90821492927058770002e-10
POWERS = np.array([1.0 / math.factorial(n) for n in range(15)])  # of the exponential
ODD = np.array([1.0 / n for n in range(3, 27, 2)])  # of the inverse hyperbolic tangent
SQRT_HALF = 0.7071067811865476
LEAST_EXPONENT = -745.0  # below which the exponential is 0
N_COLUMNS = 3  # of sums by bin: pairs, hits, scores
# of sums of losses
BRIER = 0
LOG_LOSS = 1


@kernel
def exp_of(x: float) -> float:
    """Return the exponential of a number <= 0, within about one unit in the last place."""
    if x < LEAST_EXPONENT:
        return 0.0
    n = math.floor(x * LOG2E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = 0.0
    for term in range(POWERS.size - 1, -1, -1):
        series = POWERS[term] + series * r
    power: float = math.ldexp(series, int(n))
    return power


@kernel
def log_of(x: float) -> float:
    """Return the natural logarithm of a number in (0, 1], to about one unit in the last place."""
    mantissa, exponent = math.frexp(x)
    if mantissa < SQRT_HALF:
        mantissa = 2.0 * mantissa
        exponent = exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    series = 0.0
    for term in range(ODD.size - 1, -1, -1):
        series = square * (ODD[term] + series)
    return exponent * LN2_HIGH + (2.0 * s + (2.0 * s * series + exponent * LN2_LOW))


@kernel
def sigmoid_of(x: float) -> float:
    """Return 1 / (1 + exp(-x)); 0 and 1 at the infinities."""
    power = exp_of(-abs(x))
    return 1.0 / (1.0 + power) if x >= 0.0 else power / (1.0 + power)


@kernel
def write_sigmoid(values: Scores, out: Floats) -> None:
    """Write the sigmoid of every value, float64 (n,)."""
    for i in range(values.size):
        out[i] = sigmoid_of(float(values[i]))


@kernel
def find_outside(ptr: Ints, scores: Scores, depth: int) -> int:
    """Return the first position of a score outside 0..1 in the first ``depth`` of rows, or -1."""
    for row in range(ptr.size - 1):
        for place in range(ptr[row], min(ptr[row + 1], ptr[row] + depth)):
            if not 0.0 <= scores[place] <= 1.0:
                return place
    return -1


@kernel
def find_tiers(
    ptr: Ints, flags: Bools, n_above: Ints, n_unlisted: Ints, sizes: Ints, tiers: Bytes, hits: Ints
) -> None:
    """Find the first cutoff that includes each listed entry, and count hits by cutoff.

    ptr : int64 (n + 1,); flags : bool (s,), whether each listed entry is relevant
    n_above, n_unlisted : int64 (n,), leading entries that rank above the unlisted labels, and how
        many of these rank next
    sizes : int64 (c, n), labels, listed or not, of each row at each of the cutoffs, which ascend
    tiers : uint8 (s,), number of the cutoff; c beyond the last one
    hits : int64 (c, n), listed relevant labels at each cutoff
    """
    n_cutoffs = sizes.shape[0]
    for row in range(ptr.size - 1):
        start = ptr[row]
        above = n_above[row]
        tier = 0
        for place in range(start, ptr[row + 1]):
            rank = place - start
            rank += n_unlisted[row] if rank >= above else 0
            while tier < n_cutoffs and rank >= sizes[tier, row]:
                tier += 1
            tiers[place] = tier
            if flags[place]:
                for cutoff in range(tier, n_cutoffs):
                    hits[cutoff, row] += 1


@kernel
def add_weighted(limbs: Ints, value: float, weight: float) -> None:
    """Add a value times a weight to a sum, int64 (4,); exact if the weight has at most 26 bits."""
    high, low = split_number(value)
    add_term(limbs, high * weight)
    add_term(limbs, low * weight)


@kernel
def find_bin(value: float, edges: Floats) -> int:
    """Return the bin [lower, upper) of a value in 0..1; the last bin includes 1.

    edges : float64 (bins + 1,), from 0 to 1
    """
    last = edges.size - 2
    number = min(int(value * (last + 1)), last)
    while value < edges[number]:
        number -= 1
    while number < last and value >= edges[number + 1]:
        number += 1
    return number


@kernel
def add_to_bins(
    scores: Floats, hits: Bools, tiers: Bytes, rows: Ints, weight: Floats, edges: Floats, sums: Ints
) -> None:
    """Add pairs of a score and a hit to the sums of their bins.

    scores : float64 (p,) within 0..1; hits : bool (p,); tiers : uint8 (p,); rows : int64 (p,)
    weight : float64 (n,) of rows, or (0,) for equal weights
    sums : int64 (c, bins, 3, 4), weights of pairs and of hits, and weighted scores, of each tier
    """
    for i in range(scores.size):
        if tiers[i] >= sums.shape[0]:
            continue
        bin_sums = sums[tiers[i], find_bin(scores[i], edges)]
        if weight.size:
            mass = weight[rows[i]]
            add_term(bin_sums[0], mass)
            add_term(bin_sums[1], mass if hits[i] else 0.0)
            add_weighted(bin_sums[2], scores[i], mass)
        else:
            bin_sums[0, 0] += 1
            bin_sums[1, 0] += hits[i]
            add_term(bin_sums[2], scores[i])


@kernel
def losses_of(score: float, hit: bool, floor: float) -> tuple[float, float]:
    """Return the squared error of a probability, and its log loss, clipped to floor..1 - floor."""
    error = 1.0 - score if hit else score
    kept = min(max(score, floor), 1.0 - floor)
    return error * error, -log_of(kept if hit else 1.0 - kept)


@kernel
def limited_loss(score: float, hit: bool, floor: float, ceiling: float) -> float:
    """Return the log loss of a probability clipped to floor..1 - floor, at most ``ceiling``."""
    kept = min(max(score, floor), 1.0 - floor)
    right = kept if hit else 1.0 - kept
    if right <= 0.0:
        return ceiling
    return min(-log_of(right), ceiling)


@kernel
def sum_log_losses(
    ptr: Ints, scores: Floats, hits: Bools, floor: float, ceiling: float, out: Floats
) -> None:
    """Sum the losses of listed entries by row, see `limited_loss`; the order changes no bit.

    ptr : int64 (n + 1,); scores : float64 (s,) within 0..1; hits : bool (s,); out : float64 (n,)
    """
    total = np.zeros(LIMBS, np.int64)
    for row in range(out.size):
        total[:] = 0
        for place in range(ptr[row], ptr[row + 1]):
            add_term(total, limited_loss(scores[place], hits[place], floor, ceiling))
        out[row] = as_float(total)


@kernel
def add_losses(
    scores: Floats, hits: Bools, tiers: Bytes, rows: Ints, weight: Floats, floor: float, sums: Ints
) -> None:
    """Add the losses of pairs; see `add_to_bins` and `losses_of`; sums : int64 (c, 2, 4)."""
    for i in range(scores.size):
        if tiers[i] >= sums.shape[0]:
            continue
        brier, log_loss = losses_of(scores[i], hits[i], floor)
        if weight.size:
            add_weighted(sums[tiers[i], BRIER], brier, weight[rows[i]])
            add_weighted(sums[tiers[i], LOG_LOSS], log_loss, weight[rows[i]])
        else:
            add_term(sums[tiers[i], BRIER], brier)
            add_term(sums[tiers[i], LOG_LOSS], log_loss)


@kernel_with_work(slow_entries(4))
def add_to_masses(
    hits: Floats, misses: Floats, total: Floats, reached: Floats, sums: Ints, ends: Floats
) -> None:
    """Add scores, ascending, to bins of equal weight; a bin ends once its share is passed.

    hits, misses : float64 (n, 3), score and sum of weights, scores rising
    total : float64 (2,), sum of all weights; reached : float64 (2,), that so far, added to
    sums : int64 (bins, 3, 4), as of `add_to_bins`; ends : float64 (2, bins), lowest and highest
        score, or NaN
    """
    i = 0
    j = 0
    place = 0
    while i < hits.shape[0] or j < misses.shape[0]:
        is_hit = j == misses.shape[0] or (i < hits.shape[0] and hits[i, 0] <= misses[j, 0])
        is_miss = i == hits.shape[0] or (j < misses.shape[0] and misses[j, 0] <= hits[i, 0])
        score = hits[i, 0] if is_hit else misses[j, 0]
        if is_hit:
            add_to(reached, hits[i, 1], hits[i, 2])
        if is_miss:
            add_to(reached, misses[j, 1], misses[j, 2])
        while place < sums.shape[0] - 1 and passes(reached, total, place + 1, sums.shape[0]):
            place += 1
        mass = 0.0
        bin_sums = sums[place]
        if is_hit:
            mass += hits[i, 1]
            for number in hits[i, 1:]:
                add_term(bin_sums[0], number)
                add_term(bin_sums[1], number)
            i += 1
        if is_miss:
            mass += misses[j, 1]
            for number in misses[j, 1:]:
                add_term(bin_sums[0], number)
            j += 1
        add_weighted(bin_sums[2], score, mass)
        if np.isnan(ends[0, place]):
            ends[0, place] = score
        ends[1, place] = score


@kernel
def passes(reached: Floats, total: Floats, part: int, n_parts: int) -> bool:
    """Tell whether a sum of weights, float64 (2,), is above so many parts of a total."""
    high, low = times(reached[0], reached[1], float(n_parts), 0.0)
    share, share_low = times(total[0], total[1], float(part), 0.0)
    return bool(plus(high, low, -share, -share_low)[0] > 0.0)
