"""PairScores: exact sums of the weights of pairs by score, for bins of equal numbers of pairs."""

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
from xmleval.pooled.weight_sums import KeySums, WeightRanges, merged, n_ranges, tabulate_weights
from xmleval.states.calibration import bin_sums, get_n_bins, list_cutoffs, make_reliability
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import MOST_CELLS
from xmleval.states.summed_keys import SummedKeys
from xmleval.view.facts import Binned
from xmleval.view.pairs import pairs_of
from xmleval.view.view import View

HITS = "hits"
MISSES = "misses"


class PairScores(SummedKeys):
    """Weights of hits and of misses by score.

    Each sum has the pairs that a cutoff adds to the previous one; without weights, a row weighs 1.
    Formulas receive `Binned`. Pairs of equal score are in the same bin, the one of the last pair.
    """

    counts_labels = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.cutoffs = list_cutoffs(specs)
        self.sums = {
            _sum_name(k, kind): KeySums(1) for k in self.cutoffs for kind in (HITS, MISSES)
        }

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of pairs, if unlisted labels have a score."""
        if plan.unlisted is not None and any(spec.k is None for spec in specs):
            return MOST_CELLS
        return None

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        pairs = pairs_of(view, self.cutoffs, self.plan.conventions.link)
        weight = view.block.weight
        if weight is None:
            weight = np.ones(view.n_rows)
        unlisted_scores = np.full(view.n_rows, pairs.level)
        for tier, k in enumerate(self.cutoffs):
            for kind, is_hit in ((HITS, True), (MISSES, False)):
                selected = np.flatnonzero((pairs.tiers == tier) & (pairs.hits == is_hit))
                sums = self.sums[_sum_name(k, kind)]
                sums.add(tabulate_weights([pairs.scores[selected]], weight[pairs.rows[selected]]))
                if pairs.n_unlisted is None or pairs.n_relevant is None:
                    continue
                n_unlisted = pairs.n_relevant[tier]
                if not is_hit:
                    n_unlisted = pairs.n_unlisted[tier] - n_unlisted
                sums.add(tabulate_weights([unlisted_scores], weight, n_unlisted))
        self.spill_beyond(self._share)

    def finish(self) -> Results:
        """Return the values of the measures, and the tables of their bins."""
        results = Results()
        unit = HEAVIEST if self.plan.weighted else 1.0
        for spec in self.specs:
            binned, (lowest, highest) = self.masses(spec.k, get_n_bins(spec))
            results.values[spec.name] = spec.metric.value(binned, self.plan.setting(spec))
            results.reliability[spec.name] = make_reliability(binned, lowest, highest, unit)
        return results

    def masses(self, k: int | None, n_bins: int) -> tuple[Binned, Floats]:
        """Return the sums of bins of equal weight, and their lowest and highest scores."""
        hits, misses = self.totals(k)
        total = hits.copy()
        add_to(total, *misses)
        sums = np.zeros((n_bins, N_COLUMNS, LIMBS), np.int64)
        ends = np.full((2, n_bins), np.nan)
        reached = np.zeros(SUM)
        for tables in self.tables(k):
            add_to_masses(*tables, total, reached, sums, ends)
        return bin_sums(sums), ends

    def totals(self, k: int | None) -> Floats:
        """Return the weights of hits and of misses at a cutoff, float64 (2, 2)."""
        totals = np.zeros((2, SUM))
        for total, kind in zip(totals, (HITS, MISSES), strict=True):
            for sums in self._sums_up_to(k, kind):
                add_to(total, *sums.total)
        return totals

    def tables(self, k: int | None) -> Iterator[tuple[Floats, Floats]]:
        """Yield the weights of hits and of misses by score at a cutoff, in ascending ranges."""
        hits = self._sums_up_to(k, HITS)
        all_sums = [*hits, *self._sums_up_to(k, MISSES)]
        for sums in all_sums:
            sums.compact()
        ranges = WeightRanges(all_sums, n_ranges(all_sums, self.resources))
        for number in range(ranges.n):
            tables = [ranges.load(i, number) for i in range(len(all_sums))]
            yield merged(tables[: len(hits)], 1), merged(tables[len(hits) :], 1)

    def _sums_up_to(self, k: int | None, kind: str) -> list[KeySums]:
        """Return the sums of hits or of misses whose pairs a cutoff includes."""
        cutoffs = self.cutoffs[: self.cutoffs.index(k) + 1]
        return [self.sums[_sum_name(cutoff, kind)] for cutoff in cutoffs]


def _sum_name(k: int | None, kind: str) -> str:
    """Return the name of the sums of hits or of misses that a cutoff adds."""
    return f"{k or 'all'}.{kind}"


STATE = PairScores
