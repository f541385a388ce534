"""TopScores: weights of rows and hits by the largest score of a row, for measures of abstaining."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Scores, as_score, row_sizes
from xmleval.base.budget import Resources
from xmleval.kernels.abstaining import accept
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.weight_sums import SUM
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_floats
from xmleval.pooled.weight_sums import KeySums, WeightRanges, n_ranges, tabulate_weights
from xmleval.states.contents import Contents
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import Arrays
from xmleval.states.summed_keys import SummedKeys
from xmleval.view.facts import Accepted
from xmleval.view.view import View

ROWS = "rows"


class TopScores(SummedKeys):
    """Weights of rows, and of their hits in the first k, by the largest score of the row.

    Formulas receive `Accepted`.
    """

    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.cutoffs = {f"hits{spec.k}": spec.k for spec in specs if spec.k}  # by sum
        self.sums = {name: KeySums(1) for name in (ROWS, *self.cutoffs)}
        self.n_empty = 0  # excluded rows, without relevant labels

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        weight = view.block.weight
        if weight is None:
            weight = np.ones(view.n_rows)
        if self.plan.conventions.empty == "skip":
            weight = np.where(view.n_relevant > 0, weight, 0.0)
            self.n_empty += int(np.count_nonzero(view.n_relevant == 0))
        largest = largest_scores(view)
        rows = np.repeat(np.arange(view.n_rows), view.n_relevant)  # of relevant labels
        self.sums[ROWS].add(tabulate_weights([largest], weight))
        for name, k in self.cutoffs.items():
            is_hit = (view.ranks > 0) & (view.ranks <= k)
            n_hits = np.bincount(rows[is_hit], minlength=view.n_rows)
            self.sums[name].add(tabulate_weights([largest], weight, n_hits))
        self.spill_beyond(self._share)

    def merge(self, added: TopScores) -> None:
        """Merge a state of other rows."""
        super().merge(added)
        self.n_empty += added.n_empty

    def finish(self) -> Results:
        """Return the values of the measures, and the scores from which rows are accepted."""
        results = Results()
        for name, k in self.cutoffs.items():
            specs = [spec for spec in self.specs if spec.k == k]
            coverages = np.array([dict(spec.params).get("coverage", 1) for spec in specs])
            accepted_by_spec = self._accept(name, k, coverages)
            for spec, accepted in zip(specs, accepted_by_spec, strict=True):
                results.values[spec.name] = spec.metric.value(accepted, self.plan.setting(spec))
                if spec.metric.threshold:
                    results.thresholds[spec.name] = accepted.threshold
                if self.n_empty:
                    results.undefined_rows[spec.name] = self.n_empty
        return results

    def _accept(self, name: str, k: int, coverages: Floats) -> list[Accepted]:
        """Return the risk of the rows that are accepted at each coverage.

        name : name of the sums of hits
        """
        collections = [self.sums[ROWS], self.sums[name]]
        ranges = WeightRanges(collections, n_ranges(collections, self.resources))
        total = float(self.sums[ROWS].total[0])
        counted = np.zeros((2, SUM))
        area = np.zeros(LIMBS, np.int64)
        reached = np.full((coverages.size, 2), np.nan)
        for number in reversed(range(ranges.n)):
            rows = ranges.load(0, number)
            hits = ranges.load(1, number)
            accept(rows, hits, total, k, coverages, counted, area, reached)
        mean = np.nan
        if total:
            mean = float(as_floats(area[None])[0])
        return [Accepted(mean, *pair) for pair in reached.tolist()]

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"n_empty": np.array([self.n_empty]), **super().arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_empty = int(contents.take("n_empty", 1)[0])
        super().from_contents(contents)


def largest_scores(view: View) -> Scores:
    """Return the largest scores by row, unlisted labels included; -inf without scores."""
    ptr = view.ranking.ptr
    scores = view.ranking.scores
    assert scores is not None
    sizes = row_sizes(ptr)
    largest = np.full(view.n_rows, -np.inf, scores.dtype)
    filled = sizes > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(scores, ptr[:-1][filled])
    if view.unlisted is not None:
        level = scores.dtype.type(as_score(view.unlisted, scores))
        largest = np.where(sizes < view.n_cells, np.maximum(largest, level), largest)
    return largest


STATE = TopScores
