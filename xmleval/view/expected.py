"""Expected values of rows over all orders of equal scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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
from xmleval.view.facts import FirstGroup


class TiedRows(Protocol):
    """Rows with their tie groups, as `View` has them."""

    n_rows: int

    @property
    def n_ranked(self) -> int:
        """Number of ranks."""

    @property
    def n_credited(self) -> Ints:
        """Number of labels above the labels that earn nothing, int64 (n,)."""

    @property
    def standing(self) -> tuple[Ints, Ints]:
        """Numbers of labels above and tied with each relevant label, int64 (t,) each."""

    @property
    def placed(self) -> tuple[Ints, Ints]:
        """The same, worst first within each row."""

    @property
    def first_group(self) -> FirstGroup:
        """The first tie group with relevant labels, by row."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Mean values over all orders of equal scores, each as likely as any other.

    McSherry & Najork 2008 (ECIR): of a tie group of n labels with r relevant ones, g of which are
    in the first k, g r / n are hits.

    ptr : int64 (n + 1,), relevant labels of rows
    view : the rows
    """

    ptr: Ints
    view: TiedRows

    def _places(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return relevant labels, worst first, with their tie groups, and what has a rank."""
        return self.ptr, *self.view.placed, self.view.n_credited

    def hits(self, k: int | Ints) -> Floats:
        """Return the number of hits in the first k, one k for all rows or one for each."""
        out = np.empty(self.view.n_rows)
        cutoffs = np.broadcast_to(np.asarray(k, np.int64), out.shape).copy()
        expect_hits(*self._places(), cutoffs, out)
        return out

    def any_hit(self, k: int | None) -> Floats:
        """Return the chance of a hit in the first k, or in the whole ranking."""
        out = np.empty(self.view.n_rows)
        group = self.view.first_group
        expect_any_hit(*group, self.view.n_credited, k or self.view.n_ranked, out)
        return out

    def reciprocal_rank(self, k: int | None) -> Floats:
        """Return 1 / rank of the first hit in the first k, or in the whole ranking."""
        out = np.empty(self.view.n_rows)
        group = self.view.first_group
        expect_reciprocal_rank(*group, self.view.n_credited, k or self.view.n_ranked, out)
        return out

    def precision_sum(self, k: int | None) -> Floats:
        """Return the sum of the precisions at the hits in the first k, or in the whole ranking."""
        out = np.empty(self.view.n_rows)
        expect_precisions(*self._places(), k or self.view.n_ranked, out)
        return out

    def gain(self, k: int, gains: Floats) -> Floats:
        """Return the gains of the first k; ``gains`` are those of the relevant labels."""
        out = np.empty(self.view.n_rows)
        expect_gains(self.ptr, *self.view.standing, self.view.n_credited, k, gains, out)
        return out

    def power_sum(self, base: float, k: int | None) -> Floats:
        """Return the sum of base^(rank - 1) over hits in the first k, or in the whole ranking."""
        out = np.empty(self.view.n_rows)
        expect_powers(*self._places(), k or self.view.n_ranked, base, out)
        return out

    def last_rank(self) -> Floats:
        """Return the rank of the last relevant label, 0 without one."""
        out = np.empty(self.view.n_rows)
        expect_last_rank(*self._places()[:3], out)
        return out
