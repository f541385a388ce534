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
    """A view whose lists are completed with the best or the worst scores of unlisted labels.

    These scores do not exceed the lowest score of the row. Best: unlisted relevant labels tie with
    the lowest score and irrelevant ones rank below. Worst: irrelevant ones tie with it and relevant
    ones take the last ranks, without ties.
    """

    def __init__(self, view: View, best: bool) -> None:
        super().__init__(view.block, view.n_labels, None)
        self._view = view
        self._best = best

    @property
    def ranks_are_places(self) -> bool:
        """False: other labels than those in the lists take ranks."""
        return False

    @cached
    def standing(self) -> tuple[Ints, Ints]:
        """Numbers of labels above and tied with each relevant label."""
        truth = self.block.truth
        ranking = self.ranking
        above, tied = (array.copy() for array in self._view.standing)
        scores = ranking.scores
        if scores is None:
            scores = np.empty(0, np.float32)
        complete_ties(
            self._view.positions,
            truth.ptr,
            ranking.ptr,
            scores,
            self.n_cells,
            self._best,
            above,
            tied,
        )
        return above, tied


class RowBounds(RowSums):
    """The sums of `RowSums` for the worst and the best completion of the lists."""

    by_group = False
    with_unknown = False
    keeps = False

    def names(self) -> dict[str, Spec]:
        """Return measures by the name of their sum."""
        return {f"{spec} {end}": spec for spec in self.specs for end in ENDS}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, an array for each sum."""
        views = [Completion(view, best=end == "best") for end in ENDS]
        return [
            row_values(spec, completed, self.plan) for spec in self.specs for completed in views
        ]

    def finish(self) -> Results:
        """Return the intervals of the means."""
        means = self.means()
        intervals = {}
        for spec in self.specs:
            worst, best = [means[f"{spec} {end}"] for end in ENDS]
            intervals[spec.name] = worst, best
        return Results(intervals=intervals)


STATE = RowBounds
