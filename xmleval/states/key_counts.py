"""KeyCounts: scores counted by the leading bits of their keys, which brackets what all bits would tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.exact import Commit, saved
from xmleval.kernels.keys import count_leading_bits
from xmleval.kernels.runs import sum_products
from xmleval.pooled.curves import as_integers
from xmleval.records import Floats, Ints, as_score
from xmleval.view.view import View

MOST_BITS = 24  # two tables of 128 MiB


class Bracket(NamedTuple):
    """(relevant, irrelevant) pairs of cells, exact: in all, surely right, surely level, and unknown."""

    pairs: int
    right: int
    level: int
    unknown: int


class KeyCounts:
    """Listed cells by the leading bits of their scores as float32, in two tables.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of the unlisted cells; None where they stand below everything.
    bits : int
        How many leading bits count.
    """

    def __init__(self, n_labels: int, unlisted: float | None, bits: int) -> None:
        self.n_labels = n_labels
        self.unlisted = unlisted
        self.bits = bits
        self.counts: Ints = np.zeros((2, 1 << bits), np.int64)  # relevant, irrelevant
        self.sizes: Ints = np.zeros(2, np.int64)  # rows, relevant cells

    def prepare(self, view: View) -> Commit:
        """Count a block, in place."""
        ranking, flags = view.ranking, view.relevant_entries
        assert ranking.scores is not None
        with np.errstate(over="ignore"):  # rounding keeps the order, also to infinity
            scores = ranking.scores.astype(np.float32, copy=False)
        sizes = view.n_rows, view.block.truth.labels.size

        def commit() -> None:
            count_leading_bits(flags, scores.view(np.int32), 32 - self.bits, self.counts)
            self.sizes += sizes

        return commit

    def prepare_merge(self, other: KeyCounts) -> Commit:
        """Add another state of as many bits, in place."""

        def commit() -> None:
            self.counts += other.counts
            self.sizes += other.sizes

        return commit

    def bracket(self) -> Bracket:
        """Return what is known of the pairs."""
        n_rows, n_true = self.sizes.tolist()
        totals = np.array([n_true, n_rows * self.n_labels - n_true])
        without = totals - self.counts.sum(axis=1)
        good, bad = self.counts
        if self.unlisted is None:
            good, bad = np.append(without[:, None], self.counts, axis=1)
        else:
            place = self._place(self.unlisted)
            good, bad = self.counts.copy()
            good[place] += without[0]
            bad[place] += without[1]
        below = np.cumsum(bad) - bad
        level = int(without[0]) * int(without[1])
        known = _products(good, below)
        return Bracket(int(totals[0]) * int(totals[1]), known, level, _products(good, bad) - level)

    def _place(self, score: float) -> int:
        counts = np.zeros_like(self.counts)
        key = np.array([as_score(score, np.empty(0, np.float32))], np.float32)
        count_leading_bits(np.ones(1, np.bool_), key.view(np.int32), 32 - self.bits, counts)
        return int(counts[0].argmax())

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        return {"counts": self.counts, "sizes": self.sizes}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        self.counts = saved(arrays, "counts", *self.counts.shape)
        self.sizes = saved(arrays, "sizes", 2)


def _products(one: Ints, other: Ints) -> int:
    """Return the sum of products, exactly."""
    limbs = np.zeros((2, 2), np.int64)
    sum_products(one, other, limbs)
    low, high = as_integers(limbs)
    return low + (high << 31)
