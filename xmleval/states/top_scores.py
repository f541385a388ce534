"""TopScores: rows and their hits by the largest score of a row, for measures of abstaining."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Scores, as_score, row_sizes
from xmleval.base.budget import Resources
from xmleval.kernels.abstaining import accept
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.weight_sums import SUM
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_floats
from xmleval.pooled.weight_sums import KeySums, Ranges, n_ranges, tabulated
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

    Formulas receive what is `Accepted`.
    """

    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.of_hits = {f"hits{spec.k}": spec.k for spec in specs if spec.k}
        self.sums = {name: KeySums(1) for name in (ROWS, *self.of_hits)}
        self.n_empty = 0  # rows left out, as they have no relevant labels

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        weight = np.ones(view.n_rows) if view.block.weight is None else view.block.weight
        if self.plan.conventions.empty == "skip":
            weight = np.where(view.n_relevant > 0, weight, 0.0)
            self.n_empty += int(np.count_nonzero(view.n_relevant == 0))
        largest, of_label = largest_scores(view), np.repeat(np.arange(view.n_rows), view.n_relevant)
        self.sums[ROWS].add(tabulated([largest], weight))
        for name, k in self.of_hits.items():
            n_hits = np.bincount(of_label[(view.ranks > 0) & (view.ranks <= k)], minlength=view.n_rows)
            self.sums[name].add(tabulated([largest], weight, n_hits))
        self.spill_beyond(self._share)

    def merge(self, added: TopScores) -> None:
        """Merge a state of other rows."""
        super().merge(added)
        self.n_empty += added.n_empty

    def finish(self) -> Results:
        """Return the values of the measures, and the scores from which rows are accepted."""
        results = Results()
        for name, k in self.of_hits.items():
            specs = [spec for spec in self.specs if spec.k == k]
            of_coverages = self._accepted(
                name, k, np.array([dict(spec.params).get("coverage", 1) for spec in specs])
            )
            for spec, accepted in zip(specs, of_coverages, strict=True):
                results.values[spec.name] = spec.metric.value(accepted, self.plan.setting(spec))
                if spec.metric.threshold:
                    results.thresholds[spec.name] = accepted.threshold
                if self.n_empty:
                    results.undefined_rows[spec.name] = self.n_empty
        return results

    def _accepted(self, name: str, k: int, coverages: Floats) -> list[Accepted]:
        """Return what is accepted at each coverage."""
        collections = [self.sums[ROWS], self.sums[name]]
        ranges = Ranges(collections, n_ranges(collections, self.resources))
        total, seen = float(self.sums[ROWS].total[0]), np.zeros((2, SUM))
        area, reached = np.zeros(LIMBS, np.int64), np.full((coverages.size, 2), np.nan)
        for number in reversed(range(ranges.n)):
            rows, hits = (ranges.load(which, number) for which in range(2))
            accept(rows, hits, total, k, coverages, seen, area, reached)
        mean = float(as_floats(area[None])[0]) if total else np.nan
        return [Accepted(mean, *pair) for pair in reached.tolist()]

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"n_empty": np.array([self.n_empty]), **super().arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_empty = int(contents.take("n_empty", 1)[0])
        super().from_contents(contents)


def largest_scores(view: View) -> Scores:
    """Return the largest score of each row, that of unlisted labels included; -inf where there is none."""
    ptr, scores = view.ranking.ptr, view.ranking.scores
    assert scores is not None
    sizes = row_sizes(ptr)
    largest = np.full(view.n_rows, -np.inf, scores.dtype)
    filled = sizes > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(scores, ptr[:-1][filled])
    if view.unlisted is not None:
        level = scores.dtype.type(as_score(view.unlisted, scores))
        largest = np.where(sizes < view.n_labels, np.maximum(largest, level), largest)
    return largest


STATE = TopScores
