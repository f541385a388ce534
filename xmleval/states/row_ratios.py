"""RowRatios: ratios of exact sums over rows."""

from __future__ import annotations

import math

from xmleval.base.arrays import Floats, Ints
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_integer
from xmleval.states.row_sums import RowSums, carried
from xmleval.view.view import View

BELOW = " below"  # ends the name of the sum that is divided by


class RowRatios(RowSums):
    """Sums of two values of each row; formulas receive the `View` of a block and return both."""

    keeps = False

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the measure of each."""
        return {f"{spec.name}{end}": spec for spec in self.specs for end in ("", BELOW)}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        return [terms for spec in self.specs for terms in spec.metric.value(view, self.plan.setting(spec))]

    def _means(self, totals: Ints, n_large: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the ratios of sums, which are carried first, by the name of the measure."""
        of_key = dict(zip(self.keys, map(as_integer, carried(totals)[:, 0]), strict=True))
        sums = [(spec.name, of_key[spec.name], of_key[f"{spec.name}{BELOW}"]) for spec in self.specs]
        return {name: above / below if below else math.nan for name, above, below in sums}


STATE = RowRatios
