"""KeyCounts: histograms of scores by leading bits, which bound measures of all scores."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.keys import count_leading_bits
from xmleval.kernels.products import LIMB_BITS, sum_products
from xmleval.plan import Plan
from xmleval.records import MOST_ENTRIES, Bracket, Ints, as_score
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect, total
from xmleval.states.state import Arrays, State
from xmleval.threads import Work
from xmleval.view.view import View


class KeyCounts(State):
    """Histograms of relevant and irrelevant entries by leading bits of float32 scores, per number of bits.

    Formulas receive a `Bracket` and return the lower and the upper bound.
    """

    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        numbers = {_bits_of(spec) for spec in specs}
        self.counts: dict[int, Ints] = {b: np.zeros((2, 1 << b), np.int64) for b in numbers}  # relevant, not
        self.sizes: Ints = np.zeros(2, np.int64)  # rows, relevant entries

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return sum(counts.nbytes for counts in self.counts.values())

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        ranking, flags = view.ranking, view.relevant_entries
        assert ranking.scores is not None
        with np.errstate(over="ignore"):  # rounding preserves the order, also to infinity
            scores = ranking.scores.astype(np.float32, copy=False)
        for bits, counts in self.counts.items():
            count_leading_bits(flags, scores.view(np.int32), 32 - bits, counts)
        self.sizes = self.sizes + np.array([view.n_rows, view.block.truth.labels.size])

    def merge(self, other: KeyCounts) -> None:
        """Merge a state of other rows, in place: no other state shares the tables."""
        for bits, counts in self.counts.items():
            counts += other.counts[bits]
        self.sizes = self.sizes + other.sizes

    def finish(self) -> Results:
        """Return each interval and its midpoint."""
        results = Results()
        for spec in self.specs:
            ends = spec.metric.value(self.bracket(_bits_of(spec)), self.plan.setting(spec))
            results.values[spec.name], results.intervals[spec.name] = sum(ends) / 2, ends
        return results

    def bracket(self, bits: int) -> Bracket:
        """Return the pair counts that the histograms determine."""
        unlisted, counts = self.plan.unlisted, self.counts[bits]
        n_rows, n_true = self.sizes.tolist()
        totals = np.array([n_true, n_rows * self.plan.n_labels - n_true])
        without = totals - counts.sum(axis=1)
        if unlisted is None:
            good, bad = np.append(without[:, None], counts, axis=1)
        else:
            place = _place(unlisted, bits)
            good, bad = counts.copy()
            good[place] += without[0]
            bad[place] += without[1]
        below = np.cumsum(bad) - bad
        level = int(without[0]) * int(without[1])
        known = _products(good, below)
        return Bracket(int(totals[0]) * int(totals[1]), known, level, _products(good, bad) - level)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"sizes": self.sizes, **{f"counts{bits}": counts for bits, counts in self.counts.items()}}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        n_rows = contents.n_rows
        n_entries = n_rows * self.plan.n_labels
        expect(n_entries < MOST_ENTRIES, f"{n_entries} entries")
        self.sizes = contents.take("sizes", 2, least=[n_rows, 0], most=[n_rows, n_entries])
        n_true = int(self.sizes[1])
        for bits, counts in self.counts.items():
            self.counts[bits] = found = contents.take(f"counts{bits}", *counts.shape)
            fits = total(found[0]) <= n_true and total(found[1]) <= n_entries - n_true
            expect(fits, f"counts{bits} has more entries than there are")


def _bits_of(spec: Spec) -> int:
    return int(dict(spec.params)["bits"])


def _place(score: float, bits: int) -> int:
    """Return the bin of a score."""
    counts = np.zeros((2, 1 << bits), np.int64)
    key = np.array([as_score(score, np.empty(0, np.float32))], np.float32)
    count_leading_bits(np.ones(1, np.bool_), key.view(np.int32), 32 - bits, counts)
    return int(counts[0].argmax())


def _products(one: Ints, other: Ints) -> int:
    """Return the exact sum of products."""
    limbs = np.zeros(2, np.int64)
    sum_products(one, other, limbs)
    return (int(limbs[0]) << LIMB_BITS) + int(limbs[1])


STATE = KeyCounts
