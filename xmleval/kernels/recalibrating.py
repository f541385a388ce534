"""Kernels that fit maps from scores to probabilities, and apply them; see `kernels.calibrating` on bits."""

from __future__ import annotations

from xmleval.base.arrays import Floats
from xmleval.kernels.calibrating import exp_of, log_of, sigmoid_of
from xmleval.kernels.jit import kernel
from xmleval.kernels.products import multiply

N, HITS, LOWEST, HIGHEST = 0, 1, 2, 3  # columns of a block
LOSS, SLOPE, INTERCEPT, SLOPES, BOTH, INTERCEPTS = 0, 1, 2, 3, 4, 5  # sums of Platt's loss and derivatives


@kernel
def is_level(first: Floats, second: Floats) -> bool:
    """Tell whether the share of hits of a block is at least that of the next one; exact for counts."""
    a, a_rest = multiply(first[HITS], second[N])
    b, b_rest = multiply(second[HITS], first[N])
    level: bool = a > b or (a == b and a_rest >= b_rest)
    return level


@kernel
def pool_violators(hits: Floats, misses: Floats, blocks: Floats, n_blocks: int) -> int:
    """Add scores, ascending, to blocks of rising shares of hits; return the number of blocks.

    hits, misses : float64 (n, 3), score and sum of weights, scores rising
    blocks : float64 (b, 4), weights of pairs and of hits, lowest and highest score; has room for all scores
    """
    i, j = 0, 0
    while i < hits.shape[0] or j < misses.shape[0]:
        of_hit = j == misses.shape[0] or (i < hits.shape[0] and hits[i, 0] <= misses[j, 0])
        of_miss = i == hits.shape[0] or (j < misses.shape[0] and misses[j, 0] <= hits[i, 0])
        block = blocks[n_blocks]
        block[LOWEST] = block[HIGHEST] = hits[i, 0] if of_hit else misses[j, 0]
        block[HITS] = hits[i, 1] if of_hit else 0.0
        block[N] = block[HITS] + (misses[j, 1] if of_miss else 0.0)
        i, j, n_blocks = i + of_hit, j + of_miss, n_blocks + 1
        while n_blocks > 1 and is_level(blocks[n_blocks - 2], blocks[n_blocks - 1]):
            last, n_blocks = blocks[n_blocks - 1], n_blocks - 1
            blocks[n_blocks - 1, N] += last[N]
            blocks[n_blocks - 1, HITS] += last[HITS]
            blocks[n_blocks - 1, HIGHEST] = last[HIGHEST]
    return n_blocks


@kernel
def interpolate(values: Floats, scores: Floats, levels: Floats, out: Floats) -> None:
    """Write the level of each value: on the line between the scores around it; beyond the ends, theirs.

    values, out : float64 (n,); scores : float64 (p,), rising; levels : float64 (p,)
    """
    last = scores.size - 1
    for i in range(values.size):
        value = values[i]
        if value <= scores[0] or last == 0:
            out[i] = levels[0]
        elif value >= scores[last]:
            out[i] = levels[last]
        else:
            low, high = 0, last  # scores[low] <= value < scores[high]
            while high - low > 1:
                middle = (low + high) // 2
                if scores[middle] <= value:
                    low = middle
                else:
                    high = middle
            rise, run = levels[high] - levels[low], scores[high] - scores[low]
            out[i] = levels[low] + (value - scores[low]) / run * rise


@kernel
def write_platt(values: Floats, slope: float, intercept: float, out: Floats) -> None:
    """Write 1 / (1 + exp(-(slope * value + intercept))) of each value, float64 (n,), maybe infinite."""
    if slope == 0.0:
        out[:] = sigmoid_of(intercept)
        return
    for i in range(values.size):
        out[i] = sigmoid_of(slope * values[i] + intercept)


@kernel
def add_platt(table: Floats, slope: float, intercept: float, target: float, sums: Floats) -> None:
    """Add Platt's loss of scores with one target, its derivatives and its second derivatives.

    table : float64 (n, 3), score and sum of weights; sums : float64 (6,), added to
    """
    for i in range(table.shape[0]):
        score, mass = table[i, 0], table[i, 1]
        z = slope * score + intercept
        p = sigmoid_of(z)
        error, spread = mass * (p - target), mass * p * (1.0 - p)
        sums[LOSS] += mass * (max(z, 0.0) - target * z - log_of(1.0 / (1.0 + exp_of(-abs(z)))))
        sums[SLOPE] += error * score
        sums[INTERCEPT] += error
        sums[SLOPES] += spread * score * score
        sums[BOTH] += spread * score
        sums[INTERCEPTS] += spread


@kernel
def log_ratio(above: float, below: float) -> float:
    """Return the natural logarithm of above / below, both positive."""
    return log_of(above / below) if above <= below else -log_of(below / above)
