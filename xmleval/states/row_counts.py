"""RowCounts: formulas of the contingency tables of rows, added up."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import SCALE, as_integer
from xmleval.states.plan import Plan
from xmleval.states.row_sums import RowSums, carried, counts_of
from xmleval.states.state import MOST_CELLS
from xmleval.view.facts import Counts
from xmleval.view.view import View


class RowCounts(RowSums):
    """Sums of the contingency tables of rows; formulas receive the sums as `Counts`."""

    keeps = False
    of_labels = True

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of true negatives."""
        return MOST_CELLS if any(spec.metric.every_label for spec in specs) else None

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the first measure that reads each."""
        self._sets = {spec.name: self._sets_of(spec) for spec in self.specs}
        read = {self._sets[spec.name]: spec for spec in reversed(self.specs)}
        of_cells = {self._sets[spec.name] for spec in self.specs if spec.metric.every_label}
        return {
            f"{sets} {part}": spec
            for sets, spec in read.items()
            for part in Counts._fields
            if part != "tn" or sets in of_cells
        }

    def _sets_of(self, spec: Spec) -> str:
        """Return a name for the sets that a measure compares: with ancestors, known labels, or all."""
        kind = "" if "hierarchy" in spec.needs else " inside" if self._is_inside(spec) else " alone"
        return f"{self.plan.decide(spec)}{kind}"

    def _is_inside(self, spec: Spec) -> bool:
        """Return whether unknown labels do not count."""
        return self.plan.unknown and spec.metric.every_label

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        counts = {
            self._sets[spec.name]: counts_of(spec, view.inside if self._is_inside(spec) else view, self.plan)
            for spec in self.specs
        }
        return [getattr(counts[sets], part) for sets, part in (key.rsplit(" ", 1) for key in self.keys)]

    def add(self, values: Floats, weight: Floats, total: Ints, total_weight: Ints) -> int:
        """Add values to their sum, and weights, if any, to theirs; return how many there are."""
        if weight.size:
            return super().add(values, weight, total, total_weight)
        total[0] += values.astype(np.int64).sum()
        return values.size

    def _means(self, totals: Ints, n_large: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the values of the formulas for sums, which are carried first, by the name of the measure."""
        sums = [as_integer(limbs) / SCALE for limbs in carried(totals)[:, 0]]
        of_key = dict(zip(self.keys, sums, strict=True))
        values = {}
        for spec in self.specs:
            sets = self._sets[spec.name]
            cells = [np.float64(of_key.get(f"{sets} {part}", np.nan)) for part in Counts._fields]
            counts = Counts(*cells)  # type: ignore[arg-type]
            values[spec.name] = float(spec.metric.value(counts, self.plan.setting(spec)))
        return values


STATE = RowCounts
