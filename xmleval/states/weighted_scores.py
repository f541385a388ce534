"""WeightedScores: weights of relevant and of irrelevant entries by score, for measures of pooled scores."""

from __future__ import annotations

import numpy as np

from xmleval.input.weights import HEAVIEST
from xmleval.kernels.fixed import MASK
from xmleval.kernels.weight_sums import LOWEST, SUM, sum_weights
from xmleval.plan import Plan
from xmleval.pooled.curves import Curves, thinned
from xmleval.pooled.weight_sums import ONE, KeySums, added, as_units, score_keys, tabulated
from xmleval.pooled.weighted_curves import fits, open_columns, same_sums, sweep_columns, sweep_entries
from xmleval.records import MOST_ENTRIES, Curve, Floats, Ints, Scores, as_score, row_sizes
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.curve_values import Needs, add_points, curve_values
from xmleval.states.state import Arrays
from xmleval.states.summed_keys import SummedKeys
from xmleval.threads import Work
from xmleval.view.view import View

CELLS, COLUMNS = "cells", "columns"
GOOD, BAD, TRUTH, MISSING, LEFT, TAKEN, LAST = (
    "relevant", "irrelevant", "truth", "missing", "left", "taken", "last"
)  # fmt: skip


class WeightedScores(SummedKeys):
    """Exact sums of weights by score, or by label and score; all unlisted entries are one tie group.

    Formulas receive the `Curve` of all entries, or of each label.
    """

    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        self.needs = Needs.of(plan, specs)
        self.dtype = np.dtype(np.float32)  # of scores
        self.totals: Ints = np.zeros((2, SUM), np.int64)  # weights of rows, and of relevant entries
        groups = [CELLS] * self.needs.cells + [COLUMNS] * self.needs.columns
        self.sums = {
            f"{by}.{kind}": KeySums(2 if by == COLUMNS else 1) for by in groups for kind in (GOOD, BAD)
        }
        if self.needs.columns:
            self.sums[f"{COLUMNS}.{TRUTH}"] = KeySums(1)
        if self.needs.cells and self.needs.bounds:
            self.sums |= {f"{CELLS}.{kind}": KeySums(1) for kind in (MISSING, LEFT)}
        if self.needs.columns and self.needs.bounds:
            self.sums |= {f"{COLUMNS}.{kind}": KeySums(2) for kind in (MISSING, TAKEN)}
            self.sums[f"{COLUMNS}.{LAST}"] = KeySums(1)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        weight, ranking, truth = view.block.weight, view.ranking, view.block.truth
        assert weight is not None
        assert ranking.scores is not None
        each, keys = np.repeat(weight, row_sizes(ranking.ptr)), score_keys(ranking.scores)
        flags = view.relevant_entries
        for kind, own in ((GOOD, flags), (BAD, ~flags)):
            if self.needs.cells:
                self.sums[f"{CELLS}.{kind}"].add(tabulated([keys[own]], each[own]))
            if self.needs.columns:
                labels, packed = ranking.labels[own].astype(np.int64), None
                if ranking.scores.dtype == np.float32 and self.plan.n_labels < 1 << 31:
                    packed = (labels << 32) + _ranks_of(ranking.scores[own])
                table = tabulated([labels, keys[own]], each[own], packed=packed)
                self.sums[f"{COLUMNS}.{kind}"].add(table)
        if self.needs.columns:
            words = [truth.labels.astype(np.int64)]
            self.sums[f"{COLUMNS}.{TRUTH}"].add(tabulated(words, np.repeat(weight, view.n_relevant)))
        if self.needs.bounds:
            self._add_open(view, weight)
        totals = self.totals.copy()
        sum_weights(weight, np.ones(weight.size, np.int64), totals[0])
        if self.needs.cells:
            sum_weights(weight, view.n_relevant, totals[1])
        self.totals = totals
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, ranking.scores.dtype)
        self.spill_beyond(self._share)

    def _add_open(self, view: View, weight: Floats) -> None:
        """Add what bounds read: the weights of entries by the last score of their row."""
        last, (rows, labels) = score_keys(view.last_scores), view.missing
        if self.needs.cells:
            self.sums[f"{CELLS}.{MISSING}"].add(tabulated([last[rows]], weight[rows]))
            self.sums[f"{CELLS}.{LEFT}"].add(tabulated([last], weight, view.n_left))
        if self.needs.columns:
            listed = np.repeat(np.arange(view.n_rows), row_sizes(view.ranking.ptr))
            for kind, own, of in ((MISSING, rows, labels), (TAKEN, listed, view.ranking.labels)):
                words = [of.astype(np.int64), last[own]]
                self.sums[f"{COLUMNS}.{kind}"].add(tabulated(words, weight[own]))
            self.sums[f"{COLUMNS}.{LAST}"].add(tabulated([last], weight))

    def merge(self, other: WeightedScores) -> None:
        """Merge a state of other rows."""
        super().merge(other)
        self.totals = np.stack([added(*pair) for pair in zip(self.totals, other.totals, strict=True)])
        self.dtype = np.result_type(self.dtype, other.dtype)

    def finish(self) -> Results:
        """Return the values of curves."""
        for sums in self.sums.values():
            sums.compact()
        entries, points, columns = None, None, None
        if self.needs.cells:
            entries, points = self.cells()
        if self.needs.columns:
            columns = self.columns()
        results = curve_values(self.plan, self.specs, self.needs, entries, columns)
        if self.plan.curve_points and points is not None:
            add_points(self.plan, self.work, points, results)
        return results

    def _entries(self) -> tuple[int, int]:
        """Return the weights of all relevant and of all irrelevant entries, in units."""
        rows, relevant = map(as_units, self.totals)
        return relevant, rows * self.plan.n_labels - relevant

    def cells(self) -> tuple[Curves, Floats]:
        """Return the curves of all entries, arrays of size 1, and points of the first curve."""
        totals, n_points = self._entries(), min(self.plan.curve_points, self.work.budget.points)
        good, bad = self.sums[f"{CELLS}.{GOOD}"], self.sums[f"{CELLS}.{BAD}"]
        found = sweep_entries(
            [good], [bad], totals, self._level(), HEAVIEST, self.work, n_points, self.needs.asked
        )

        def curve(right: int, level: int, *rest: Floats) -> Curve:
            sums = [np.array([n], object) for n in (*totals, right, level)]
            return Curve._make([*sums, *(np.array([value]) for value in rest or (np.nan,) * 3)])

        value = curve(found.right, found.level, found.precision, *found.peak.T)
        points = thinned(found.points, n_points)
        if not self.needs.bounds:
            return Curves(value, None, None), points
        missing, left = self.sums[f"{CELLS}.{MISSING}"], self.sums[f"{CELLS}.{LEFT}"]
        worst = sweep_entries([good], [bad, left], totals, LOWEST, HEAVIEST, self.work)
        best = sweep_entries([good, missing], [bad], totals, LOWEST, HEAVIEST, self.work)
        return Curves(value, curve(worst.right, worst.level), curve(best.right, best.level)), points

    def columns(self) -> Curves:
        """Return the curves of every label."""
        good, bad, truth = (self.sums[f"{COLUMNS}.{kind}"] for kind in (GOOD, BAD, TRUTH))
        n_labels, work = self.plan.n_labels, self.work

        def swept(relevant: list[KeySums], unlisted: int) -> Curve:
            found = sweep_columns(
                relevant, [bad], truth, self.totals[0], n_labels, unlisted, HEAVIEST, work, self.needs.asked
            )  # fmt: skip
            (n_relevant, n_irrelevant), (right, level) = found.sums.T, found.pairs.T
            return Curve(
                n_relevant,
                n_irrelevant,
                right,
                level,
                found.precision,
                found.peak[..., 0],
                found.peak[..., 1],
            )

        value = swept([good], self._level())
        if not self.needs.bounds:
            return Curves(value, None, None)
        missing, taken, last = (self.sums[f"{COLUMNS}.{kind}"] for kind in (MISSING, TAKEN, LAST))
        right, level = open_columns(good, bad, [missing, taken], last, n_labels, HEAVIEST, work).T
        return Curves(value, value._replace(right=right, level=level), swept([good, missing], LOWEST))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"totals": self.totals, "width": np.array([self.dtype.itemsize]), **super().arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        width = int(contents.take("width", 1)[0])
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        n_entries = contents.n_rows * self.plan.n_labels
        most = np.array([[contents.n_rows, MASK, MASK], [MOST_ENTRIES, MASK, MASK]])
        self.totals = contents.take("totals", 2, SUM, most=most)
        rows, relevant = map(as_units, self.totals)
        expect(
            rows <= contents.n_rows * ONE and relevant <= rows * self.plan.n_labels, "totals is out of range"
        )
        for name in self.sums:
            by, kind = name.split(".")
            self.restore(contents, name, *self._key_range(by, kind))
        self._expect_totals(n_entries)

    def _key_range(self, by: str, kind: str) -> tuple[list[int], list[int]]:
        """Return what the words of keys may be, and the whole part of their sums."""
        score = [int(end) for end in score_keys(np.array([-np.inf, np.inf]))]
        label = [0, self.plan.n_labels - 1]
        words = (
            [label, score] if self.sums[f"{by}.{kind}"].n_words == 2 else [label if kind == TRUTH else score]
        )
        low, high = zip(*words, [0, MOST_ENTRIES], strict=True)
        return [*low], [*high]

    def _expect_totals(self, n_entries: int) -> None:
        """Refuse sums that are not those of the entries they are of."""
        totals = self._entries()
        if self.needs.cells:
            expect(n_entries < MOST_ENTRIES, f"{n_entries} entries")
            listed = [as_units(self.sums[f"{CELLS}.{kind}"].total) for kind in (GOOD, BAD)]
            left = [total - own for total, own in zip(totals, listed, strict=True)]
            expect(min(left) >= 0, "cells has more entries than there are")
            if self.needs.bounds:
                found = [as_units(self.sums[f"{CELLS}.{kind}"].total) for kind in (MISSING, LEFT)]
                expect(found == left, "cells has other unlisted entries than there are")
        if self.needs.columns:
            good, bad, truth = (self.sums[f"{COLUMNS}.{kind}"] for kind in (GOOD, BAD, TRUTH))
            fit = fits(good, bad, truth, self.totals[0], self.work)
            expect(fit, "columns has more entries than there are")
            same = not self.needs.cells or np.array_equal(truth.total, self.totals[1])
            expect(same, "columns has other relevant entries than there are")
        if self.needs.columns and self.needs.bounds:
            missing, taken, last = (self.sums[f"{COLUMNS}.{kind}"] for kind in (MISSING, TAKEN, LAST))
            same = same_sums([good, missing], [truth], self.work)
            same = same and same_sums([good, bad], [taken], self.work)
            same = same and np.array_equal(last.total, self.totals[0])
            expect(same, "columns has other last scores than its entries")

    def _level(self) -> int:
        """Return the key of unlisted entries, whose score is rounded to the dtype of the others."""
        unlisted = self.plan.unlisted
        if unlisted is None:
            return LOWEST
        return int(score_keys(np.array([as_score(unlisted, np.empty(0, self.dtype))]))[0])


def _ranks_of(scores: Scores) -> Ints:
    """Return the ranks of float32 scores among all float32 numbers, int64 (n,)."""
    found: Ints = (scores + np.float32(0)).view(np.int32).astype(np.int64)
    return (found ^ ((found >> 31) & 0x7FFFFFFF)) + (1 << 31)


STATE = WeightedScores
