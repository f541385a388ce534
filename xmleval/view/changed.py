"""Views of the same rows with other predictions: without some labels, or with scores of unlisted ones."""

from __future__ import annotations

import weakref

import numpy as np

from xmleval.cached import cached
from xmleval.kernels.rows import complete_ties
from xmleval.records import Bools, Ints, Truth, row_sizes
from xmleval.view.decision import Chosen, Decision
from xmleval.view.view import View


class Inside(View):
    """A view without unknown labels; sets are decided with them before."""

    def __init__(self, view: View) -> None:
        block, ranking, pred = view.block, view.block.ranking, view.block.pred
        if ranking is not None:
            keep = ranking.labels < view.n_labels
            ptr = _kept_ptr(ranking.ptr, keep)
            scores = None if ranking.scores is None else ranking.scores[keep]
            ranking = ranking._replace(
                ptr=ptr, labels=ranking.labels[keep], scores=scores, n_above=row_sizes(ptr)
            )
        if pred is not None:
            keep = pred.labels < view.n_labels
            pred = Truth(_kept_ptr(pred.ptr, keep), pred.labels[keep])
        super().__init__(
            block._replace(ranking=ranking, pred=pred, unknown=False), view.n_labels, view.unlisted
        )
        self._whole = weakref.ref(view)  # which keeps this one

    def predicted(self, decision: Decision) -> Chosen:
        """Return the predicted sets under a decision."""
        if decision.of_each:
            return super().predicted(decision)
        if decision not in self._predicted:
            whole = self._whole()
            assert whole is not None
            cut, ptr, labels = whole.predicted(decision)
            own_ptr = np.concatenate(([0], np.cumsum(cut)))
            labels = labels[np.repeat(ptr[:-1] - own_ptr[:-1], cut) + np.arange(own_ptr[-1])]
            keep = labels < self.n_labels
            own_ptr = _kept_ptr(own_ptr, keep)
            self._predicted[decision] = Chosen(row_sizes(own_ptr), own_ptr, labels[keep])
        return self._predicted[decision]


def _kept_ptr(ptr: Ints, keep: Bools) -> Ints:
    """Return where rows begin among the entries that are kept."""
    found: Ints = np.concatenate(([0], np.cumsum(keep)))[ptr]
    return found


class Completion(View):
    """A view whose unlisted labels take the best or the worst scores up to the lowest score of their row.

    Best: unlisted relevant labels tie with the lowest score and irrelevant ones rank below. Worst: irrelevant
    ones tie with it and relevant ones take the last ranks, without ties.
    """

    def __init__(self, view: View, best: bool) -> None:
        super().__init__(view.block, view.n_labels, None)
        self._view = view
        self._best = best

    @cached
    def standing(self) -> tuple[Ints, Ints]:
        """Numbers of labels above and tied with each relevant label."""
        truth, ranking = self.block.truth, self.ranking
        above, tied = (array.copy() for array in self._view.standing)
        scores = np.empty(0, np.float32) if ranking.scores is None else ranking.scores
        positions = self._view.positions
        complete_ties(positions, truth.ptr, ranking.ptr, scores, self.n_labels, self._best, above, tied)
        return above, tied
