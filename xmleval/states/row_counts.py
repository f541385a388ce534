"""RowCounts: formulas of the contingency tables of rows, added up."""

from __future__ import annotations

import numpy as np

from xmleval.exact import as_integer
from xmleval.kernels.fixed import BITS, LIMBS
from xmleval.records import Counts, Floats, Ints
from xmleval.spec import Spec
from xmleval.states.row_sums import RowSums, carried, counts_of
from xmleval.view.view import View

PARTS = ("tp", "fp", "fn")


class RowCounts(RowSums):
    """Sums of the counts of rows; formulas receive them as `Counts`, without true negatives."""

    keeps = False
    of_labels = True

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the first measure that reads each."""
        specs = {self._sets(spec): spec for spec in reversed(self.specs)}
        return {f"{sets} {part}": spec for sets, spec in specs.items() for part in PARTS}

    def _sets(self, spec: Spec) -> str:
        """Return a name for the sets that a measure compares: predicted ones, or these with all ancestors."""
        alone = "" if "hierarchy" in spec.metric.needs else " alone"
        return f"{self.plan.decide(spec)}{alone}"

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        read = {self._sets(spec): spec for spec in reversed(self.specs)}
        counts = [counts_of(spec, view, self.plan) for spec in read.values()]
        return [getattr(own, part) for own in counts for part in PARTS]

    def _means(self, totals: Ints, exact: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the values of the formulas for sums, which are carried first, by the name of the measure."""
        carried(totals, exact)
        sums = [as_integer(limbs) / (1 << (LIMBS - 1) * BITS) for limbs in totals[:, 0]]
        of_key = dict(zip(self.keys, sums, strict=True))
        found = {}
        for spec in self.specs:
            own = [np.float64(of_key[f"{self._sets(spec)} {part}"]) for part in PARTS]
            counts = Counts(own[0], own[1], own[2], np.float64(np.nan))  # type: ignore[arg-type]
            found[spec.name] = float(spec.metric.value(counts, self.plan.setting(spec)))
        return found


STATE = RowCounts
