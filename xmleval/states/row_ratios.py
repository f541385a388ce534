"""RowRatios: ratios of exact sums over rows."""

from __future__ import annotations

import math

from xmleval.base.arrays import Floats, Ints
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_integer
from xmleval.states.row_sums import RowSums, carry_sums
from xmleval.view.view import View

BELOW = " below"  # ends the name of a denominator


class RowRatios(RowSums):
    """Sums of the numerators and of the denominators of rows.

    Formulas receive the `View` of a block and return both, one value for each row.
    """

    keeps = False

    def names(self) -> dict[str, Spec]:
        """Return measures by the name of their sum."""
        return {f"{spec.name}{end}": spec for spec in self.specs for end in ("", BELOW)}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, an array for each sum."""
        columns = list[Floats]()
        for spec in self.specs:
            ranked = view.inside if spec.metric.every_label else view
            columns += spec.metric.value(ranked, self.plan.setting(spec))
        return columns

    def _means(self, totals: Ints, n_large: Ints, n_defined: Ints) -> dict[str, float]:
        """Return the ratios of measures; the sums are carried first."""
        sums = map(as_integer, carry_sums(totals)[:, 0])
        sums_by_key = dict(zip(self.keys, sums, strict=True))
        ratios = {}
        for spec in self.specs:
            numerator = sums_by_key[spec.name]
            denominator = sums_by_key[f"{spec.name}{BELOW}"]
            ratios[spec.name] = math.nan
            if denominator:  # rounding can raise a ratio to the ideal sum above 1
                ratios[spec.name] = min(numerator / denominator, spec.metric.range[1])
        return ratios


STATE = RowRatios
