"""WeightedScores: weights of relevant and irrelevant entries by score, for pooled measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, as_score, row_sizes
from xmleval.base.budget import Resources
from xmleval.input.cell_marks import JUDGED
from xmleval.input.vectors import HEAVIEST
from xmleval.kernels.weight_sums import MOST, SUM, add_to, add_weights, minus, times
from xmleval.metrics.spec import Spec
from xmleval.pooled.curves import Curves, thin_points
from xmleval.pooled.weight_sums import KeySums, tabulate_weights
from xmleval.pooled.weighted_curves import sweep_columns, sweep_entries
from xmleval.states.contents import Contents, expect
from xmleval.states.curve_values import Needs, add_points, curve_values
from xmleval.states.plan import Plan
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import Results
from xmleval.states.state import Arrays
from xmleval.states.summed_keys import SummedKeys
from xmleval.view.view import View

CELLS = "cells"
COLUMNS = "columns"
GOOD = "relevant"
BAD = "irrelevant"
TRUTH = "truth"
JUDGEMENTS = "judgements"


class WeightedScores(SummedKeys):
    """Sums of weights by score, or by label and score; all unlisted entries are one tie group.

    Formulas receive the `Curve` of all entries, or of each label.

    needs : the curves that the measures require
    dtype : of scores
    totals : float64 (3, 2), weights of rows, of relevant entries and of given cells
    """

    counts_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.needs = Needs.of(plan, specs)
        self.dtype = np.dtype(np.float32)
        self.totals = np.zeros((3, SUM))
        if self.needs.cells:
            self.sums |= {f"{CELLS}.{kind}": KeySums(1) for kind in (GOOD, BAD)}
        if self.needs.columns:
            self.sums |= {f"{COLUMNS}.{kind}": KeySums(2) for kind in (GOOD, BAD)}
            kinds = [TRUTH, JUDGEMENTS] if plan.cells_are else [TRUTH]
            self.sums |= {f"{COLUMNS}.{kind}": KeySums(1) for kind in kinds}

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        weight = view.block.weight
        ranking = view.ranking
        truth = view.block.truth
        assert weight is not None
        assert ranking.scores is not None
        entry_weights = np.repeat(weight, row_sizes(ranking.ptr))
        is_relevant = view.relevant_entries
        for kind, selected in ((GOOD, is_relevant), (BAD, ~is_relevant)):
            scores = ranking.scores[selected]
            if self.needs.cells:
                table = tabulate_weights([scores], entry_weights[selected])
                self.sums[f"{CELLS}.{kind}"].add(table)
            if self.needs.columns:
                table = tabulate_weights(
                    [ranking.labels[selected], scores], entry_weights[selected]
                )
                self.sums[f"{COLUMNS}.{kind}"].add(table)
        totals = self.totals.copy()
        add_weights(weight, np.ones(weight.size), totals[0])
        sets_by_kind = {TRUTH: truth}
        if view.block.cells is not None:
            sets_by_kind[JUDGEMENTS] = view.block.cells.sets
        for number, (kind, sets) in enumerate(sets_by_kind.items(), start=1):
            sizes = row_sizes(sets.ptr)
            add_weights(weight, sizes.astype(np.float64), totals[number])
            if self.needs.columns:
                table = tabulate_weights([sets.labels], np.repeat(weight, sizes))
                self.sums[f"{COLUMNS}.{kind}"].add(table)
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
        entries = None
        points = None
        columns = None
        if self.needs.cells:
            entries, points = self._sweep_cells()
        if self.needs.columns:
            columns = self._sweep_columns()
        results = curve_values(self.plan, self.specs, self.needs, entries, columns)
        if self.plan.curve_points and points is not None:
            add_points(self.plan, self.resources, points, results)
        return results

    def _sweep_cells(self) -> tuple[Curves, Floats]:
        """Return the curve of all entries, and its points."""
        rows, relevant, cells = self.totals
        high, low = cells
        if self.plan.cells_are != JUDGED:
            all_cells = times(rows[0], rows[1], float(self.plan.n_labels), 0.0)
            high, low = minus(*all_cells, *cells)
        irrelevant = minus(high, low, *relevant)
        n_points = min(self.plan.curve_points, self.resources.points)
        curve, points = sweep_entries(
            self.sums[f"{CELLS}.{GOOD}"],
            self.sums[f"{CELLS}.{BAD}"],
            np.array([relevant, irrelevant]),
            self._unlisted_score(),
            HEAVIEST,
            self.resources,
            self.needs.cell_queries,
            n_points,
        )
        return Curves(curve), thin_points(points, n_points)

    def _sweep_columns(self) -> Curves:
        """Return the curves of every label."""
        curves = sweep_columns(
            self.sums[f"{COLUMNS}.{GOOD}"],
            self.sums[f"{COLUMNS}.{BAD}"],
            self.sums[f"{COLUMNS}.{TRUTH}"],
            self.sums.get(f"{COLUMNS}.{JUDGEMENTS}", KeySums(1)),
            None if self.plan.cells_are == JUDGED else self.totals[0],
            self.plan.n_labels,
            self._unlisted_score(),
            HEAVIEST,
            self.resources,
            self.needs.queries,
        )
        return Curves(curves)

    def _unlisted_score(self) -> float:
        """Return the score of unlisted entries in the dtype of the others; NaN if below all."""
        if self.plan.unlisted is None:
            return np.nan
        return float(as_score(self.plan.unlisted, np.empty(0, self.dtype)))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"totals": self.totals, "width": np.array([self.dtype.itemsize]), **super().arrays()}

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels."""
        arrays = dict[str, Any]()
        for name, array in self.arrays().items():
            arrays[name] = array
            if name.startswith(f"{COLUMNS}."):
                sums = self.sums[name.rpartition(".")[0]]
                arrays[name] = labels.table(array, sums.n_words + SUM)
        return arrays

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        width = int(contents.take("width", 1)[0])
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        self.totals = contents.take("totals", 3, SUM, dtype=np.float64, low=-MOST, high=MOST)
        super().from_contents(contents)


STATE = WeightedScores
