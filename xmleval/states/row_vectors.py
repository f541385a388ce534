"""RowVectors: exact means over rows of several numbers, from which one value follows."""

from __future__ import annotations

import math

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.measure import total_of, trial_values
from xmleval.metrics.spec import Spec
from xmleval.states.results import Results
from xmleval.states.row_sums import RowSums, own_values
from xmleval.view.formulas import FormulaError
from xmleval.view.view import View


class RowVectors(RowSums):
    """Sums of the values of rows at each place of a vector, such as one for each threshold.

    A measure's ``total`` turns their means over rows into its value.
    """

    keeps = False

    def names(self) -> dict[str, Spec]:
        """Return measures by the name of their sum."""
        names = dict[str, Spec]()
        self.places = dict[str, list[str]]()
        for spec in self.specs:
            n = trial_values(spec.metric, spec.k, dict(spec.params)).shape[1]
            self.places[spec.name] = [f"{spec.name}[{place}]" for place in range(n)]
            names |= dict.fromkeys(self.places[spec.name], spec)
        return names

    def columns(self, view: View) -> list[Floats]:
        """Return the values of rows of a block, an array for each sum."""
        columns = list[Floats]()
        for spec in self.specs:
            values = own_values(spec, view, self.plan)
            n_expected = len(self.places[spec.name])
            refuse_other_length(spec, values.shape[1], n_expected)
            columns += [*values.T.copy()]
        return columns

    def finish(self) -> Results:
        """Return the values of the measures."""
        results = super().finish()
        results.undefined_rows.clear()
        results.values = self._totals(results.values)
        if results.replicates:
            keys = [*results.replicates]
            table = np.array([*results.replicates.values()])
            totals = [self._totals(dict(zip(keys, means, strict=True))) for means in table.T]
            names = [spec.name for spec in self.specs]
            results.replicates = {
                name: np.array([values[name] for values in totals]) for name in names
            }
        return results

    def means(self) -> dict[str, float]:
        """Return the values of the measures."""
        return self._totals(super().means())

    def _totals(self, means: dict[str, float]) -> dict[str, float]:
        """Return the values of measures from the means at their places."""
        values = dict[str, float]()
        for spec in self.specs:
            vector = np.array([means[key] for key in self.places[spec.name]])
            value = math.nan
            if not np.isnan(vector).any():
                value = total_of(spec.metric, vector, self.plan.setting(spec))
            values[spec.name] = value
        return values


def refuse_other_length(spec: Spec, n: int, n_expected: int) -> None:
    """Refuse vectors of another length than that of the example."""
    if n != n_expected:
        reason = f"the formula returned {n} values for each row, but {n_expected} when defined"
        raise FormulaError(reason, measure=spec.name)


STATE = RowVectors
