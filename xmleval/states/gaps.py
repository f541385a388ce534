"""Gaps: rows without a score for every label, which leave some measures undefined."""

from __future__ import annotations

import numpy as np

from xmleval.budget import Resources
from xmleval.plan import NO_GAPS, Plan
from xmleval.records import Ints, row_sizes
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.state import Arrays, State
from xmleval.view.view import View

AVERAGES = ("samples", "macro")  # those that read rows with pairs, and all rows


class Gaps(State):
    """Counts of the rows that do not list every label: among rows with pairs, and among all rows."""

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Resources) -> None:
        super().__init__(plan, specs, work)
        self.n_short: Ints = np.zeros(2, np.int64)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        short = row_sizes(view.ranking.ptr) < view.n_labels
        pairs = (view.n_relevant > 0) & (view.n_relevant < view.n_labels)
        self.n_short = self.n_short + np.array([np.count_nonzero(short & pairs), np.count_nonzero(short)])

    def merge(self, other: Gaps) -> None:
        """Merge a state of other rows."""
        self.n_short = self.n_short + other.n_short

    def finish(self) -> Results:
        """Return the measures that are undefined."""
        short = [average for average, n in zip(AVERAGES, self.n_short, strict=True) if n]
        return Results(not_computed={spec.name: NO_GAPS for spec in self.specs if spec.average in short})

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"n_short": self.n_short}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_short = contents.take("n_short", 2)


STATE = Gaps
