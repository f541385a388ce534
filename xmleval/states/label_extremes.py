"""LabelExtremes: lowest relevant and highest irrelevant score of every label."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints, as_score, bytes_of
from xmleval.base.budget import Resources
from xmleval.base.cached import cached
from xmleval.kernels.extremes import widen_extremes
from xmleval.metrics.spec import SETS_OF_LABELS, Spec
from xmleval.numerics.exact import ABOUT_LARGE, LARGE, NO_WEIGHT, exact_mean
from xmleval.states.contents import Contents, expect
from xmleval.states.plan import Plan, kept_of
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State
from xmleval.view.facts import Extremes
from xmleval.view.view import View


class LabelExtremes(State):
    """Extremes of every label over its listed entries; unlisted ones are counted and share one score.

    Formulas receive the `Extremes` of all labels.
    """

    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n_rows = 0  # with a positive weight
        self.dtype = np.dtype(np.float32)  # of scores
        self.counts: Ints = np.zeros((3, plan.n_labels), np.int64)  # relevant, irrelevant listed; relevant
        self.table_bytes = bytes_of(self.counts) + 2 * plan.n_labels * np.dtype(np.float64).itemsize

    @cached
    def ends(self) -> Floats:
        """Lowest relevant and highest irrelevant scores, made when needed: files may claim many labels."""
        ends: Floats = np.repeat([[np.inf], [-np.inf]], self.plan.n_labels, axis=1)
        return ends

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        ranking, truth = view.ranking, view.block.truth
        scores = ranking.scores
        assert scores is not None
        weight = NO_WEIGHT if view.block.weight is None else view.block.weight
        flags = view.relevant_entries
        widen_extremes(ranking.ptr, ranking.labels, scores, flags, *truth[:2], weight, self.ends, self.counts)
        self.n_rows += view.n_rows - int(np.count_nonzero(weight == 0))
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, scores.dtype)

    def merge(self, added: LabelExtremes) -> None:
        """Merge a state of other rows, in place: no other state shares the arrays."""
        np.minimum(self.ends[0], added.ends[0], out=self.ends[0])
        np.maximum(self.ends[1], added.ends[1], out=self.ends[1])
        self.counts += added.counts
        self.n_rows += added.n_rows
        self.dtype = np.result_type(self.dtype, added.dtype)

    def finish(self) -> Results:
        """Return the means over labels."""
        results, extremes = Results(), self.extremes()
        closed = self.plan.unlisted is not None or bool((self.counts[:2].sum(axis=0) == self.n_rows).all())
        kept = kept_of(self.plan.per_label, self.specs)
        for spec in self.specs:
            values = spec.metric.value(extremes, self.plan.setting(spec))
            results.values[spec.name] = exact_mean(values)
            if (np.abs(values) >= LARGE).any():
                results.notes[f"large {spec.name}"] = ABOUT_LARGE.format(spec.name)
            n_left_out = int(np.count_nonzero(np.isnan(values)))
            if n_left_out:
                results.undefined_labels[spec.name] = n_left_out
            if closed and spec in kept:
                if SETS_OF_LABELS not in self.plan.states:  # whose support is weighted
                    results.labels["support"] = self.counts[2].astype(np.float64)
                results.labels[spec.metric.name] = values
        return results

    def extremes(self) -> Extremes:
        """Return the extremes of every label over all rows; NaN without relevant or irrelevant rows."""
        unlisted = np.nan
        if self.plan.unlisted is not None:
            unlisted = as_score(self.plan.unlisted, np.empty(0, self.dtype))
        good, bad, n_true = self.counts
        n_false = self.n_rows - n_true
        lowest = np.where(n_true > good, np.minimum(self.ends[0], unlisted), self.ends[0])
        highest = np.where(n_false > bad, np.maximum(self.ends[1], unlisted), self.ends[1])
        pairs = (n_true > 0) & (n_false > 0)
        return Extremes(np.where(pairs, lowest, np.nan), np.where(pairs, highest, np.nan))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        sizes = np.array([self.n_rows, self.dtype.itemsize])
        return {"ends": self.ends, "counts": self.counts, "sizes": sizes}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows, width = contents.take("sizes", 2).tolist()
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        self.counts = contents.take("counts", *self.counts.shape)
        self.ends = contents.take("ends", 2, self.plan.n_labels, dtype=np.float64, low=None)


STATE = LabelExtremes
