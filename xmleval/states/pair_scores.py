"""PairScores: exact sums of weights of pairs by score, for bins that hold the same number of pairs each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xmleval.input.weights import HEAVIEST
from xmleval.kernels.calibrating import N_COLUMNS, add_to_masses
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.weight_sums import SUM
from xmleval.plan import Plan
from xmleval.pooled.weight_sums import (
    ONE,
    KeySums,
    Ranges,
    as_units,
    from_units,
    merged,
    score_keys,
    tabulated,
)
from xmleval.pooled.weighted_curves import wanted_ranges
from xmleval.records import Binned, Floats, Ints
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.calibration import binned, bins_of, cutoffs_of, reliability_of
from xmleval.states.contents import Contents, expect
from xmleval.states.state import Arrays
from xmleval.states.summed_keys import TOTALS, SummedKeys
from xmleval.threads import Work
from xmleval.view.pairs import pairs_of
from xmleval.view.view import View

HITS, MISSES = "hits", "misses"


class PairScores(SummedKeys):
    """Weights of the pairs that each cutoff adds to the one before, by score; a row weighs 1 without weights.

    Formulas receive `Binned`. Pairs of one score are in one bin, that in which the last one of them is.
    """

    of_labels = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        self.cutoffs = cutoffs_of(specs)
        self.sums = {f"{k or 'all'}.{kind}": KeySums(1) for k in self.cutoffs for kind in (HITS, MISSES)}

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        pairs = pairs_of(view, self.cutoffs, self.plan.conventions.link)
        weight = np.ones(view.n_rows) if view.block.weight is None else view.block.weight
        keys = score_keys(pairs.scores)
        level = np.full(view.n_rows, score_keys(np.array([pairs.level]))[0])
        for tier, k in enumerate(self.cutoffs):
            for kind, hit in ((HITS, True), (MISSES, False)):
                own = np.flatnonzero((pairs.tiers == tier) & (pairs.hits == hit))
                sums = self.sums[f"{k or 'all'}.{kind}"]
                sums.add(tabulated([keys[own]], weight[pairs.rows[own]]))
                if pairs.n_unlisted is not None and pairs.n_relevant is not None:
                    n_hits = pairs.n_relevant[tier]
                    times = n_hits if hit else pairs.n_unlisted[tier] - n_hits
                    sums.add(tabulated([level], weight, times))
        self.spill_beyond(self._share)

    def finish(self) -> Results:
        """Return the values of the measures, and the tables of their bins."""
        results, unit = Results(), HEAVIEST if self.plan.weighted else 1.0
        for spec in self.specs:
            found, ends = self.masses(spec.k, bins_of(spec))
            results.values[spec.name] = spec.metric.value(found, self.plan.setting(spec))
            results.reliability[spec.name] = reliability_of(found, ends[0], ends[1], unit)
        return results

    def masses(self, k: int | None, bins: int) -> tuple[Binned, Floats]:
        """Return the sums of bins that hold the same number of pairs, and their lowest and highest scores."""
        total = self.n_pairs(k)
        cuts = np.array([from_units(total * number // bins) for number in range(1, bins)], np.int64)
        sums, ends = np.zeros((bins, N_COLUMNS, LIMBS), np.int64), np.full((2, bins), np.nan)
        reached: Ints = np.zeros(SUM, np.int64)
        for hits, misses in self.tables(k):
            add_to_masses(hits, misses, cuts.reshape(-1, SUM), reached, sums, ends)
        return binned(sums), ends

    def n_pairs(self, k: int | None) -> int:
        """Return the weight of the pairs at a cutoff, in units."""
        return sum(as_units(sums.total) for several in self.parts(k) for sums in several)

    def tables(self, k: int | None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the weights of hits and of misses at a cutoff by score, ascending, a range at a time."""
        hits, misses = self.parts(k)
        for sums in (*hits, *misses):
            sums.compact()
        ranges = Ranges([*hits, *misses], wanted_ranges([*hits, *misses], self.work))
        for number in range(ranges.n):
            tables = [ranges.load(which, number) for which in range(2 * len(hits))]
            yield merged(tables[: len(hits)], 1), merged(tables[len(hits) :], 1)

    def parts(self, k: int | None) -> tuple[list[KeySums], list[KeySums]]:
        """Return the sums of hits and of misses that a cutoff adds up."""
        up_to = self.cutoffs[: self.cutoffs.index(k) + 1]
        hits, misses = ([self.sums[f"{one or 'all'}.{kind}"] for one in up_to] for kind in (HITS, MISSES))
        return hits, misses

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {TOTALS: self.all_totals, **super().arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        low, high = (int(end) for end in score_keys(np.array([0.0, 1.0])))
        most = contents.n_rows * self.plan.most_listed
        for name in self.sums:
            self.restore(contents, name, [low, 0], [high, most])
        self.check_totals(contents)
        expect(self.n_pairs(self.cutoffs[-1]) <= most * ONE, f"there are more than {most} pairs")


STATE = PairScores
