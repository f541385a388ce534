"""RowBounds: sums of row values under the worst and the best possible scores of unlisted labels."""

from __future__ import annotations

from xmleval.records import Floats
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.row_sums import RowSums, row_values
from xmleval.view.changed import Completion
from xmleval.view.view import View

ENDS = ("worst", "best")


class RowBounds(RowSums):
    """The sums of `RowSums` for the worst and the best completion of the lists."""

    by_fold = False
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
        found = self.means()
        means = {spec.name: [found[f"{spec} {end}"] for end in ENDS] for spec in self.specs}
        return Results(intervals={name: (worst, best) for name, (worst, best) in means.items()})


STATE = RowBounds
