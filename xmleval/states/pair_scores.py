"""PairScores: exact sums of weights of pairs by score, for bins that hold the same number of pairs each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.input.vectors import HEAVIEST
from xmleval.kernels.calibrating import N_COLUMNS, add_to_masses
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.weight_sums import SUM, add_to
from xmleval.metrics.spec import Spec
from xmleval.pooled.weight_sums import KeySums, Ranges, merged, n_ranges, tabulated
from xmleval.states.calibration import binned, bins_of, cutoffs_of, reliability_of
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import MOST_CELLS
from xmleval.states.summed_keys import SummedKeys
from xmleval.view.facts import Binned
from xmleval.view.pairs import pairs_of
from xmleval.view.view import View

HITS, MISSES = "hits", "misses"


class PairScores(SummedKeys):
    """Weights of the pairs that each cutoff adds to the one before, by score; a row weighs 1 without weights.

    Formulas receive `Binned`. Pairs of one score are in one bin, that in which the last one of them is.
    """

    of_labels = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.cutoffs = cutoffs_of(specs)
        self.sums = {f"{k or 'all'}.{kind}": KeySums(1) for k in self.cutoffs for kind in (HITS, MISSES)}

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of pairs, where unlisted labels have a score."""
        of_all = plan.unlisted is not None and any(spec.k is None for spec in specs)
        return MOST_CELLS if of_all else None

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        pairs = pairs_of(view, self.cutoffs, self.plan.conventions.link)
        weight = np.ones(view.n_rows) if view.block.weight is None else view.block.weight
        level = np.full(view.n_rows, pairs.level)
        for tier, k in enumerate(self.cutoffs):
            for kind, hit in ((HITS, True), (MISSES, False)):
                pairs_here = np.flatnonzero((pairs.tiers == tier) & (pairs.hits == hit))
                sums = self.sums[f"{k or 'all'}.{kind}"]
                sums.add(tabulated([pairs.scores[pairs_here]], weight[pairs.rows[pairs_here]]))
                if pairs.n_unlisted is not None and pairs.n_relevant is not None:
                    n_hits = pairs.n_relevant[tier]
                    times = n_hits if hit else pairs.n_unlisted[tier] - n_hits
                    sums.add(tabulated([level], weight, times))
        self.spill_beyond(self._share)

    def finish(self) -> Results:
        """Return the values of the measures, and the tables of their bins."""
        results, unit = Results(), HEAVIEST if self.plan.weighted else 1.0
        for spec in self.specs:
            bins, ends = self.masses(spec.k, bins_of(spec))
            results.values[spec.name] = spec.metric.value(bins, self.plan.setting(spec))
            results.reliability[spec.name] = reliability_of(bins, ends[0], ends[1], unit)
        return results

    def masses(self, k: int | None, bins: int) -> tuple[Binned, Floats]:
        """Return the sums of bins that hold the same number of pairs, and their lowest and highest scores."""
        hits, misses = self.totals(k)
        total = hits.copy()
        add_to(total, *misses)
        sums, ends = np.zeros((bins, N_COLUMNS, LIMBS), np.int64), np.full((2, bins), np.nan)
        reached = np.zeros(SUM)
        for tables in self.tables(k):
            add_to_masses(*tables, total, reached, sums, ends)
        return binned(sums), ends

    def totals(self, k: int | None) -> Floats:
        """Return the weights of hits and of misses at a cutoff, float64 (2, 2)."""
        totals = np.zeros((2, SUM))
        for total, side in zip(totals, self.sides(k), strict=True):
            for sums in side:
                add_to(total, *sums.total)
        return totals

    def tables(self, k: int | None) -> Iterator[tuple[Floats, Floats]]:
        """Yield the weights of hits and of misses at a cutoff by score, ascending, a range at a time."""
        hits, misses = self.sides(k)
        for sums in (*hits, *misses):
            sums.compact()
        ranges = Ranges([*hits, *misses], n_ranges([*hits, *misses], self.resources))
        for number in range(ranges.n):
            tables = [ranges.load(which, number) for which in range(2 * len(hits))]
            yield merged(tables[: len(hits)], 1), merged(tables[len(hits) :], 1)

    def sides(self, k: int | None) -> tuple[list[KeySums], list[KeySums]]:
        """Return the sums of hits and of misses that a cutoff adds up."""
        up_to = self.cutoffs[: self.cutoffs.index(k) + 1]
        hits, misses = (
            [self.sums[f"{cutoff or 'all'}.{kind}"] for cutoff in up_to] for kind in (HITS, MISSES)
        )
        return hits, misses


STATE = PairScores
