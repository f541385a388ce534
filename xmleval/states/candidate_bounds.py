"""CandidateBounds: the largest precision at k of lists that may contain only candidate labels."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import Resources
from xmleval.base.errors import counted
from xmleval.input.cell_marks import CANDIDATES
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.contents import Contents
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.row_sums import RowSums
from xmleval.states.state import Arrays
from xmleval.view.view import View


class CandidateBounds(RowSums):
    """Sums of the precision of the best lists, and numbers of relevant labels.

    A relevant label is reachable if it is a candidate. The sums are named ``P@k``.
    """

    by_group = False
    keeps = False

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n_relevant: Ints = np.zeros(2, np.int64)  # reachable, and all

    def names(self) -> dict[str, Spec]:
        """Return measures by the name of their sum."""
        cutoffs = sorted({spec.k for spec in self.plan.specs if spec.k}) or [1]
        return {f"P@{k}": parse_spec(f"p@{k}") for k in cutoffs}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, an array for each sum."""
        n_reachable = view.block.n_reachable
        assert n_reachable is not None
        cutoffs = [spec.k or 1 for spec in self.names().values()]
        return [np.minimum(n_reachable, k) / k for k in cutoffs]

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        super().update(view)
        assert view.block.n_reachable is not None
        n_reachable = int(view.block.n_reachable.sum())
        n_relevant = int(view.block.truth.labels.size)
        self.n_relevant = self.n_relevant + np.array([n_reachable, n_relevant])

    def merge(self, added: RowSums) -> None:
        """Merge a state of other rows."""
        super().merge(added)
        assert isinstance(added, CandidateBounds)
        self.n_relevant = self.n_relevant + added.n_relevant

    def finish(self) -> Results:
        """Return a note on how many relevant labels are candidates, and on the precisions."""
        n_reachable, n_relevant = self.n_relevant.tolist()
        shown = ", ".join(f"{name} {mean:.4f}" for name, mean in self.means().items())
        text = f"{CANDIDATES}: contain {n_reachable} of {counted(n_relevant, 'relevant labels')}"
        return Results(notes={CANDIDATES: f"{text}, so at most {shown} is possible"})

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {**super().arrays(), "n_relevant": self.n_relevant}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        super().from_contents(contents)
        self.n_relevant = contents.take("n_relevant", 2)


STATE = CandidateBounds
