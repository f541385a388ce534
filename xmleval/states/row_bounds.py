"""RowBounds: sums of row values under the worst and the best possible scores of unlisted labels."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.cached import cached
from xmleval.kernels.rows import complete_ties
from xmleval.metrics.spec import Spec
from xmleval.states.results import Results
from xmleval.states.row_sums import RowSums, row_values
from xmleval.view.view import View

ENDS = ("worst", "best")


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


class RowBounds(RowSums):
    """The sums of `RowSums` for the worst and the best completion of the lists."""

    by_group = False
    with_unknown = False
    keeps = False

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the measure of each."""
        return {f"{spec} {end}": spec for spec in self.specs for end in ENDS}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        ends = [Completion(view, best=end == "best") for end in ENDS]
        return [row_values(spec, end, self.plan) for spec in self.specs for end in ends]

    def finish(self) -> Results:
        """Return the intervals of the means."""
        of_ends = self.means()
        means = {spec.name: [of_ends[f"{spec} {end}"] for end in ENDS] for spec in self.specs}
        return Results(intervals={name: (worst, best) for name, (worst, best) in means.items()})


STATE = RowBounds
