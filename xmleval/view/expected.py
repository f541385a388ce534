"""Expected values of rows over all orders of equal scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.tie_orders import (
    expect_any_hit,
    expect_gains,
    expect_hits,
    expect_last_rank,
    expect_powers,
    expect_precisions,
    expect_reciprocal_rank,
)


@dataclass(frozen=True, eq=False)
class Expected:
    """Mean values over all orders of equal scores, each as likely as any other.

    McSherry & Najork 2008 (ECIR): of a tie group of n labels with r relevant ones, g of which are
    in the first k, g r / n are hits.

    ptr : int64 (n + 1,), relevant labels of rows
    standing : int64 (t,), numbers of labels above and tied with each relevant label
    placed : the same, worst first within each row
    n_credited : int64 (n,), number of labels above those that earn nothing
    n_ranked : number of ranks
    """

    ptr: Ints
    standing: tuple[Ints, Ints]
    placed: tuple[Ints, Ints]
    n_credited: Ints
    n_ranked: int

    def hits(self, k: int | Ints) -> Floats:
        """Return the number of hits in the first k, one k for all rows or one for each."""
        n_rows = self.ptr.size - 1
        cutoffs = np.broadcast_to(np.asarray(k, np.int64), (n_rows,)).copy()
        out = np.empty(n_rows)
        expect_hits(self.ptr, *self.placed, self.n_credited, cutoffs, out)
        return out

    def any_hit(self, k: int | None) -> Floats:
        """Return the chance of a hit in the first k, or in the whole ranking."""
        out = np.empty(self.ptr.size - 1)
        expect_any_hit(self.ptr, *self.placed, self.n_credited, k or self.n_ranked, out)
        return out

    def reciprocal_rank(self, k: int | None) -> Floats:
        """Return 1 / rank of the first hit in the first k, or in the whole ranking."""
        out = np.empty(self.ptr.size - 1)
        expect_reciprocal_rank(self.ptr, *self.placed, self.n_credited, k or self.n_ranked, out)
        return out

    def precision_sum(self, k: int | None) -> Floats:
        """Return the sum of the precisions at the hits in the first k, or in the whole ranking."""
        out = np.empty(self.ptr.size - 1)
        expect_precisions(self.ptr, *self.placed, self.n_credited, k or self.n_ranked, out)
        return out

    def gain(self, k: int, gains: Floats) -> Floats:
        """Return the gains of the first k; ``gains`` are those of the relevant labels."""
        out = np.empty(self.ptr.size - 1)
        expect_gains(self.ptr, *self.standing, self.n_credited, k, gains, out)
        return out

    def power_sum(self, base: float, k: int | None) -> Floats:
        """Return the sum of base^(rank - 1) over hits in the first k, or in the whole ranking."""
        out = np.empty(self.ptr.size - 1)
        expect_powers(self.ptr, *self.placed, self.n_credited, k or self.n_ranked, base, out)
        return out

    def last_rank(self) -> Floats:
        """Return the rank of the last relevant label, 0 without one."""
        out = np.empty(self.ptr.size - 1)
        expect_last_rank(self.ptr, *self.placed, out)
        return out
