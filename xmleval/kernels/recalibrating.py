"""Kernels that fit maps from scores to probabilities and apply them; see `kernels.calibrating`."""

from __future__ import annotations

from xmleval.base.arrays import Floats
from xmleval.kernels.calibrating import exp_of, log_of, sigmoid_of
from xmleval.kernels.jit import kernel
from xmleval.kernels.products import multiply

# columns of a block
N = 0
HITS = 1
LOWEST = 2
HIGHEST = 3
# sums of Platt's loss and derivatives
LOSS = 0
SLOPE = 1
INTERCEPT = 2
SLOPES = 3
BOTH = 4
INTERCEPTS = 5


@kernel
def is_level(first: Floats, second: Floats) -> bool:
    """Whether the share of hits of a block is at least that of the next one; exact for counts."""
    a, a_rest = multiply(first[HITS], second[N])
    b, b_rest = multiply(second[HITS], first[N])
    level: bool = a > b or (a == b and a_rest >= b_rest)
    return level


@kernel
def pool_violators(hits: Floats, misses: Floats, blocks: Floats, n_blocks: int) -> int:
    """Add scores, ascending, to blocks of rising shares of hits; return the number of blocks.

    hits, misses : float64 (n, 3), score and sum of weights, scores rising
    blocks : float64 (b, 4), weights of pairs and of hits, lowest and highest score; has room for
        all scores
    """
    i = 0
    j = 0
    while i < hits.shape[0] or j < misses.shape[0]:
        is_hit = j == misses.shape[0] or (i < hits.shape[0] and hits[i, 0] <= misses[j, 0])
        is_miss = i == hits.shape[0] or (j < misses.shape[0] and misses[j, 0] <= hits[i, 0])
        block = blocks[n_blocks]
        block[LOWEST] = block[HIGHEST] = hits[i, 0] if is_hit else misses[j, 0]
        block[HITS] = hits[i, 1] if is_hit else 0.0
        block[N] = block[HITS] + (misses[j, 1] if is_miss else 0.0)
        i = i + is_hit
        j = j + is_miss
        n_blocks = n_blocks + 1
        while n_blocks > 1 and is_level(blocks[n_blocks - 2], blocks[n_blocks - 1]):
            last = blocks[n_blocks - 1]
            n_blocks = n_blocks - 1
            blocks[n_blocks - 1, N] += last[N]
            blocks[n_blocks - 1, HITS] += last[HITS]
            blocks[n_blocks - 1, HIGHEST] = last[HIGHEST]
    return n_blocks


@kernel
def interpolate(values: Floats, scores: Floats, levels: Floats, out: Floats) -> None:
    """Write the level of values: linear between the scores around, constant beyond the ends.

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
            # scores[low] <= value < scores[high]
            low = 0
            high = last
            while high - low > 1:
                middle = (low + high) // 2
                if scores[middle] <= value:
                    low = middle
                else:
                    high = middle
            rise = levels[high] - levels[low]
            run = scores[high] - scores[low]
            out[i] = levels[low] + (value - scores[low]) / run * rise


@kernel
def write_platt(values: Floats, slope: float, intercept: float, out: Floats) -> None:
    """Write 1 / (1 + exp(-(slope * value + intercept))) of values, float64 (n,), maybe infinite."""
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
        score = table[i, 0]
        mass = table[i, 1]
        z = slope * score + intercept
        p = sigmoid_of(z)
        error = mass * (p - target)
        spread = mass * p * (1.0 - p)
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
