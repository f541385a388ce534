"""A view in which equal scores are in the best or the worst order for the relevant labels."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.cached import cached
from xmleval.kernels.tie_orders import order_ties
from xmleval.view.view import View


class TieOrder(View):
    """The rows of a view, where relevant labels are before or behind others of equal scores.

    view : the rows
    best : whether relevant labels come first, the largest gain first; else the other way round
    gains : gain of each relevant label; None if all are the same
    label_gains : gains of all labels, of which ``gains`` are those of the relevant ones, if any
    """

    all_ranked = False  # places in lists are not the ranks

    def __init__(
        self, view: View, best: bool, gains: Floats | None, label_gains: Floats | None = None
    ) -> None:
        super().__init__(view.block, view.n_labels, view.unlisted)
        self._view = view
        self._best = best
        self._gains = gains
        self._label_gains = label_gains

    @cached
    def _inside(self) -> View:
        return TieOrder(self._view.inside, self._best, self._gains, self._label_gains)

    def _relevant_from(self, least_gain: float) -> View | None:
        view = self._view.relevant_from(least_gain)
        if view is self._view:
            return None
        return order_by_label_gains(view, self._best, self._label_gains)

    @cached
    def _of_gains(self) -> View | None:
        graded = self._view.of_gains
        return TieOrder(graded, self._best, graded.gains)

    @cached
    def judged_view(self) -> View:
        """The same ranking, in which all judged labels are relevant."""
        return TieOrder(self._view.judged_view, self._best, None)

    @cached
    def _places(self) -> Ints:
        """Places of relevant labels among all labels, from 1."""
        places = np.empty_like(self.block.truth.labels, np.int64)
        gains = np.empty(0) if self._gains is None else self._gains
        order_ties(self.block.truth.ptr, *self._view.standing, gains, self._best, places)
        return places

    @cached
    def ranks(self) -> Ints:
        """Ranks of relevant labels, 0 for labels that earn nothing."""
        n_credited = np.repeat(self._view.n_credited, self.n_relevant)
        return np.where(self._places <= n_credited, self._places, 0)

    @cached
    def standing(self) -> tuple[Ints, Ints]:
        """Numbers of labels above each relevant label, and tied with it: itself alone."""
        return self._places - 1, np.ones_like(self._places)


def order_by_label_gains(view: View, best: bool, label_gains: Floats | None) -> TieOrder:
    """Return the rows of a view in an order of equal scores, by gains of labels if there are any.

    label_gains : float64 (n_labels,), such as inverse propensities
    """
    gains = None if label_gains is None else label_gains[view.block.truth.labels]
    return TieOrder(view, best, gains, label_gains)
