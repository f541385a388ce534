"""RowCounts: formulas of the contingency tables of rows, added up."""

from __future__ import annotations

import numpy as np

from xmleval.exact import as_integer
from xmleval.kernels.fixed import BITS, LIMBS
from xmleval.records import MOST_ENTRIES, Counts, Floats, Ints
from xmleval.spec import Spec
from xmleval.states.row_sums import RowSums, carried, counts_of
from xmleval.view.view import View


class RowCounts(RowSums):
    """Sums of the contingency tables of rows; formulas receive the sums as `Counts`."""

    keeps = False
    most = MOST_ENTRIES
    of_labels = True

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the first measure that reads each."""
        specs = {self._sets(spec): spec for spec in reversed(self.specs)}
        return {f"{sets} {part}": spec for sets, spec in specs.items() for part in Counts._fields}

    def _sets(self, spec: Spec) -> str:
        """Return a name for the sets that a measure compares: with ancestors, evaluated labels, or all."""
        kind = "" if "hierarchy" in spec.needs else " inside" if self._is_inside(spec) else " alone"
        return f"{self.plan.decide(spec)}{kind}"

    def _is_inside(self, spec: Spec) -> bool:
        """Return whether labels that are not evaluated do not count."""
        return self.plan.others and spec.metric.of_cells

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        read = {self._sets(spec): spec for spec in reversed(self.specs)}
        counts = [
            counts_of(spec, view.inside if self._is_inside(spec) else view, self.plan)
            for spec in read.values()
        ]
        columns = [column for own in counts for column in own]
        if self.plan.others:  # there may be more wrong labels than labels that are evaluated
            columns = [np.maximum(column, 0.0) for column in columns]
        return columns

    def _means(self, totals: Ints, exact: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the values of the formulas for sums, which are carried first, by the name of the measure."""
        carried(totals, exact)
        one = 1 << (LIMBS - 1) * BITS
        sums = dict(zip(self.keys, map(as_integer, totals[:, 0]), strict=True))
        found = {}
        for spec in self.specs:
            own = [sums[f"{self._sets(spec)} {part}"] for part in Counts._fields]
            counts = Counts(*(np.float64(column / one) for column in own))  # type: ignore[arg-type]
            found[spec.name] = float(spec.metric.value(counts, self.plan.setting(spec)))
        return found


STATE = RowCounts
