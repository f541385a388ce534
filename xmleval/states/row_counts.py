"""RowCounts: sums of the contingency tables of rows, for micro averages."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.input.cell_marks import JUDGED
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import SCALE, as_integer, limbs_of
from xmleval.states.plan import Plan
from xmleval.states.relabelling import Relabelling
from xmleval.states.row_sums import RowSums, carry_sums, count_cells
from xmleval.states.state import MOST_CELLS, Arrays
from xmleval.view.facts import Counts
from xmleval.view.view import View


class RowCounts(RowSums):
    """Sums of the contingency tables of rows; formulas receive the sums as `Counts`."""

    keeps = False
    counts_labels = True

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of true negatives, if any measure reads them."""
        if any(spec.metric.every_label for spec in specs):
            return MOST_CELLS
        return None

    def names(self) -> dict[str, Spec]:
        """Return the first measure that reads each sum, by the name of the sum."""
        self._sets = {spec.name: self._name_sets(spec) for spec in self.specs}
        readers = {self._sets[spec.name]: spec for spec in reversed(self.specs)}
        with_cells = {self._sets[spec.name] for spec in self.specs if spec.metric.every_label}
        return {
            f"{sets} {part}": spec
            for sets, spec in readers.items()
            for part in Counts._fields
            if part != "tn" or sets in with_cells
        }

    def _name_sets(self, spec: Spec) -> str:
        """Return a name for the sets that a measure compares.

        They have ancestors, only known labels (``inside``), or neither (``alone``).
        """
        decision = self.plan.decide(spec)
        if "hierarchy" in spec.needs:
            return f"{decision}"
        if self._is_inside(spec):
            return f"{decision} inside"
        return f"{decision} alone"

    def _is_inside(self, spec: Spec) -> bool:
        """Return whether unknown labels do not count."""
        return self.plan.unknown and spec.metric.every_label

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, an array for each sum."""
        counts = dict[str, Counts]()
        for spec in self.specs:
            rows = view.inside if self._is_inside(spec) else view
            counts[self._sets[spec.name]] = count_cells(spec, rows, self.plan)
        columns = list[Floats]()
        for key in self.keys:
            sets, part = key.rsplit(" ", 1)
            columns.append(getattr(counts[sets], part))
        return columns

    def add(self, values: Floats, weight: Floats, total: Ints, total_weight: Ints) -> int:
        """Add values, and weights, if any, to their sums; return the number of values."""
        if weight.size:
            return super().add(values, weight, total, total_weight)
        total[0] += values.astype(np.int64).sum()
        return values.size

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save; each added label is a true negative of rows that judge it."""
        n_added = labels.n_labels - labels.numbers.size
        if self.plan.cells_are == JUDGED:
            n_added = 0
        totals = self.totals.copy()
        for group in range(self.n_groups):
            n_rows = int(self.n_rows[group]) * SCALE
            for i, key in enumerate(self.keys):
                if key.endswith(" tn"):
                    weight = n_rows
                    if self.plan.weighted:
                        weight = as_integer(totals[group, i, 1])
                    total = as_integer(totals[group, i, 0]) + n_added * weight
                    totals[group, i, 0] = limbs_of(total)
        return {**self.arrays(), "totals": totals}

    def _means(self, totals: Ints, n_large: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the values of measures: formulas applied to sums, which are carried first."""
        sums = [as_integer(limbs) / SCALE for limbs in carry_sums(totals)[:, 0]]
        sums_by_key = dict(zip(self.keys, sums, strict=True))
        values = {}
        for spec in self.specs:
            keys = [f"{self._sets[spec.name]} {part}" for part in Counts._fields]
            cells = [np.float64(sums_by_key.get(key, np.nan)) for key in keys]
            counts = Counts(*cells)  # type: ignore[arg-type]
            values[spec.name] = float(spec.metric.value(counts, self.plan.setting(spec)))
        return values


STATE = RowCounts
