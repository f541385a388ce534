"""Shards of any size, drawn row by row from the numbers of the rows, so that their cut changes nothing.

The labels are in as many ranges as a row has scores, and each row lists one label of each range. Within a
range, labels are drawn by a power law: that of rank r with a frequency of r^-0.75. A row ranks the ranges in
an order of its own, and most of its relevant labels are among the first ones of its list.
"""

from __future__ import annotations

from math import gcd
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from xmleval.kernels.jit import kernel
from xmleval.records import Ints, Labels, Scores

MOST_RELEVANT = 9  # labels of a row
GOLDEN, BETWEEN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)  # odd
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of splitmix64
SCATTER = 611_953  # odd: labels of like ranks are far from one another
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
UNIT = 2.0**-32


@kernel
def mix(number: np.uint64) -> np.uint64:
    """Return 64 random bits of a number (splitmix64)."""
    number = (number ^ (number >> np.uint64(30))) * FIRST
    number = (number ^ (number >> np.uint64(27))) * SECOND
    return number ^ (number >> np.uint64(31))


@kernel
def rank_of(bits: np.uint64, width: int) -> int:
    """Return the rank of a label within its range, by a power law."""
    u = np.float64(np.int64(bits & LOW)) * UNIT
    return int(width * (u * u) * (u * u))


@kernel
def scattered(rank: int, mask: int) -> int:
    """Return where the label of a rank is in its range; ``mask``: 2^b - 1, below the size of the range."""
    return (rank * SCATTER) & mask if rank <= mask else rank


@kernel
def draw_rows(
    first_row: int, depth: int, width: int, mask: int, steps: Ints, as_lists: bool,
    labels: Labels, scores: Scores, true_ptr: Ints, true_labels: Labels,
) -> None:  # fmt: skip
    """Draw rows.

    width, mask : the size of a range, as in `scattered`
    steps : int64, coprime with ``depth``
    as_lists : labels best first, else ascending
    labels, scores : (rows, depth), written
    true_ptr, true_labels : int64 (rows + 1,), (rows * MOST_RELEVANT,), written
    """
    true_ptr[0] = n_true = 0
    places = np.empty(MOST_RELEVANT, np.int64)
    for row in range(labels.shape[0]):
        key = mix(np.uint64(first_row + row + 1) * GOLDEN)
        start, step = int(key % np.uint64(depth)), int(steps[(key >> HALF) % np.uint64(steps.size)])
        scale = (0.5 + 0.5 * np.float64(np.int64(mix(key) >> HALF)) * UNIT) / (depth * depth)
        place = start
        for rank in range(depth):
            bits = mix(key + np.uint64(rank + 1) * BETWEEN)
            at = np.uint64(rank if as_lists else place)
            labels[row, at] = place * width + scattered(rank_of(bits, width), mask)
            # scores of two ranks are never the same
            height = depth - rank - 1 + np.float64(np.int64(bits >> HALF)) * (0.999 * UNIT)
            scores[row, at] = height * height * scale
            place += step
            if place >= depth:
                place -= depth
        n = 0
        for i in range(2 + (key >> np.uint64(40)) % np.uint64(MOST_RELEVANT - 1)):
            bits = mix(~key + np.uint64(i) * BETWEEN)
            u = np.float64(np.int64(bits & LOW)) * UNIT
            rank = int(depth * u * u * u)
            place = (start + rank * step) % depth
            known = False
            for other in places[:n]:
                known |= other == place
            if known:
                continue
            places[n] = place
            n += 1
            of_list = rank_of(mix(key + np.uint64(rank + 1) * BETWEEN), width)
            if (bits >> HALF) & np.uint64(3) == 0:  # one in four is not listed
                other_rank = rank_of(mix(bits), width)
                of_list = other_rank if other_rank != of_list else (of_list + 1) % width
            label, last = place * width + scattered(of_list, mask), n_true + n - 1
            while last > n_true and true_labels[last - 1] > label:
                true_labels[last] = true_labels[last - 1]
                last -= 1
            true_labels[last] = label
        n_true += n
        true_ptr[row + 1] = n_true


class Shards(NamedTuple):
    """Shards of one size, whose arrays are used again by the next one.

    Parameters
    ----------
    n_labels : int
        Number of labels, at least twice ``depth``.
    depth : int
        Scores a row.
    labels, scores : (rows, depth)
        Of the largest shard.
    true_ptr, true_labels : int64 (rows + 1,), (rows * MOST_RELEVANT,)
        Its truth.
    """

    n_labels: int
    depth: int
    labels: Labels
    scores: Scores
    true_ptr: Ints
    true_labels: Labels

    @classmethod
    def of(cls, n_labels: int, depth: int, n_rows: int) -> Shards:
        """Return shards of up to ``n_rows`` rows."""
        if not 2 * depth <= n_labels < 1 << 31:
            raise ValueError(f"{n_labels} labels for {depth} scores a row; expected {2 * depth} to 2^31 - 1")
        shape = n_rows, depth
        return cls(
            n_labels, depth, np.empty(shape, np.int32), np.empty(shape, np.float32),
            np.empty(n_rows + 1, np.int64), np.empty(n_rows * MOST_RELEVANT, np.int32),
        )  # fmt: skip

    @property
    def n_bytes(self) -> int:
        """Size of the arrays."""
        return sum(array.nbytes for array in self[2:])

    @property
    def range_size(self) -> tuple[int, int]:
        """The number of labels of a range, and the mask of `scattered`."""
        width = self.n_labels // self.depth
        return width, (1 << (width.bit_length() - 1)) - 1

    def draw(self, first_row: int, n_rows: int, as_lists: bool) -> tuple[Any, Any]:
        """Return the truth and the scores of some rows, as a matrix or as lists, until the next call."""
        depth, shape = self.depth, (n_rows, self.n_labels)
        steps = np.array([step for step in range(1, depth + 1) if gcd(step, depth) == 1])
        labels, scores, true_ptr = self.labels[:n_rows], self.scores[:n_rows], self.true_ptr[: n_rows + 1]
        draw_rows(
            first_row, depth, *self.range_size, steps, as_lists, labels, scores, true_ptr, self.true_labels
        )
        n_true = int(true_ptr[-1])
        ones = np.broadcast_to(np.uint8(1), n_true)
        truth = sp.csr_array((ones, self.true_labels[:n_true], true_ptr), shape=shape)
        if as_lists:
            return truth, (labels, scores)
        ptr = np.arange(n_rows + 1) * depth
        return truth, sp.csr_array((scores.reshape(-1), labels.reshape(-1), ptr), shape=shape)

    def label_counts(self, n_rows: int) -> NDArray[np.int32]:
        """Return how often each label is relevant in so many rows, on average."""
        (width, mask), n_relevant = self.range_size, 5
        ranks = np.arange(width)
        share = np.diff((np.arange(width + 1) / width) ** 0.25) * (n_rows * n_relevant / self.depth)
        places = np.where(ranks <= mask, (ranks * SCATTER) & mask, ranks)
        counts = np.zeros(self.n_labels, np.int32)
        of_range = np.zeros(width, np.int32)
        of_range[places] = np.minimum(share, n_rows)
        for place in range(self.depth):
            counts[place * width : (place + 1) * width] = of_range
        return counts
