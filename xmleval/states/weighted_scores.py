"""WeightedScores: weights of relevant and of irrelevant entries by score, for measures of pooled scores."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import as_score, row_sizes
from xmleval.base.budget import Resources
from xmleval.input.vectors import HEAVIEST
from xmleval.kernels.weight_sums import MOST, SUM, add_to, add_weights, minus, times
from xmleval.metrics.spec import Spec
from xmleval.pooled.curves import Curves, thinned
from xmleval.pooled.weight_sums import KeySums, tabulated
from xmleval.pooled.weighted_curves import sweep_columns, sweep_entries
from xmleval.states.contents import Contents, expect
from xmleval.states.curve_values import Needs, add_points, curve_values
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import Arrays
from xmleval.states.summed_keys import SummedKeys
from xmleval.view.view import View

CELLS, COLUMNS = "cells", "columns"
GOOD, BAD, TRUTH = "relevant", "irrelevant", "truth"


class WeightedScores(SummedKeys):
    """Sums of weights by score, or by label and score; all unlisted entries are one tie group.

    Formulas receive the `Curve` of all entries, or of each label.
    """

    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.needs = Needs.of(plan, specs)
        self.dtype = np.dtype(np.float32)  # of scores
        self.totals = np.zeros((2, SUM))  # weights of rows, and of relevant entries
        if self.needs.cells:
            self.sums |= {f"{CELLS}.{kind}": KeySums(1) for kind in (GOOD, BAD)}
        if self.needs.columns:
            self.sums |= {f"{COLUMNS}.{kind}": KeySums(2) for kind in (GOOD, BAD)}
            self.sums[f"{COLUMNS}.{TRUTH}"] = KeySums(1)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        weight, ranking, truth = view.block.weight, view.ranking, view.block.truth
        assert weight is not None
        assert ranking.scores is not None
        weights, flags = np.repeat(weight, row_sizes(ranking.ptr)), view.relevant_entries
        for kind, entries in ((GOOD, flags), (BAD, ~flags)):
            scores = ranking.scores[entries]
            if self.needs.cells:
                self.sums[f"{CELLS}.{kind}"].add(tabulated([scores], weights[entries]))
            if self.needs.columns:
                table = tabulated([ranking.labels[entries], scores], weights[entries])
                self.sums[f"{COLUMNS}.{kind}"].add(table)
        if self.needs.columns:
            table = tabulated([truth.labels], np.repeat(weight, view.n_relevant))
            self.sums[f"{COLUMNS}.{TRUTH}"].add(table)
        totals = self.totals.copy()
        add_weights(weight, np.ones(weight.size), totals[0])
        add_weights(weight, view.n_relevant.astype(np.float64), totals[1])
        self.totals = totals
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, ranking.scores.dtype)
        self.spill_beyond(self._share)

    def merge(self, added: WeightedScores) -> None:
        """Merge a state of other rows."""
        super().merge(added)
        totals = self.totals.copy()
        for total, part in zip(totals, added.totals, strict=True):
            add_to(total, *part)
        self.totals = totals
        self.dtype = np.result_type(self.dtype, added.dtype)

    def finish(self) -> Results:
        """Return the values of curves."""
        for sums in self.sums.values():
            sums.compact()
        rows, relevant = self.totals
        unlisted = np.nan  # below all
        if self.plan.unlisted is not None:  # rounded to the dtype of the scores
            unlisted = float(as_score(self.plan.unlisted, np.empty(0, self.dtype)))
        entries, points, columns = None, None, None
        options = HEAVIEST, self.resources, self.needs.asked
        if self.needs.cells:
            high, low = times(rows[0], rows[1], float(self.plan.n_labels), 0.0)
            totals = np.array([relevant, minus(high, low, relevant[0], relevant[1])])
            good, bad = (self.sums[f"{CELLS}.{kind}"] for kind in (GOOD, BAD))
            n_points = min(self.plan.curve_points, self.resources.points)
            curve, points = sweep_entries(good, bad, totals, unlisted, *options, n_points)
            entries, points = Curves(curve), thinned(points, n_points)
        if self.needs.columns:
            good, bad, truth = (self.sums[f"{COLUMNS}.{kind}"] for kind in (GOOD, BAD, TRUTH))
            n_labels = self.plan.n_labels
            columns = Curves(sweep_columns(good, bad, truth, rows, n_labels, unlisted, *options))
        results = curve_values(self.plan, self.specs, self.needs, entries, columns)
        if self.plan.curve_points and points is not None:
            add_points(self.plan, self.resources, points, results)
        return results

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"totals": self.totals, "width": np.array([self.dtype.itemsize]), **super().arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        width = int(contents.take("width", 1)[0])
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        self.totals = contents.take("totals", 2, SUM, dtype=np.float64, low=-MOST, high=MOST)
        super().from_contents(contents)


STATE = WeightedScores
