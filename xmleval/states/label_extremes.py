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
from xmleval.states.plan import Plan, select_kept
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State, unjudged_rows
from xmleval.view.facts import Extremes
from xmleval.view.parts import split_rows
from xmleval.view.view import View


class LabelExtremes(State):
    """Extremes of every label over its listed entries; unlisted ones are counted.

    Formulas receive the `Extremes` of all labels, with the score that unlisted entries share.

    n_rows : number of rows with a positive weight
    dtype : of scores
    counts : int64 (3, n_labels), rows in which each label is relevant and listed, irrelevant and
        listed, and relevant
    n_unjudged : int64 (n_labels,), rows in which each label is not judged; (1,) if all are
    """

    counts_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n_rows = 0
        self.dtype = np.dtype(np.float32)
        self.counts: Ints = np.zeros((3, plan.n_labels), np.int64)
        self.n_unjudged: Ints = np.zeros(plan.n_labels if plan.cells_are else 1, np.int64)
        end_bytes = 2 * plan.n_labels * np.dtype(np.float64).itemsize
        self.table_bytes = bytes_of(self.counts) + end_bytes

    @cached
    def ends(self) -> Floats:
        """Lowest relevant and highest irrelevant scores, float64 (2, n_labels).

        They are allocated on first use, since a file may claim any number of labels.
        """
        ends: Floats = np.repeat([[np.inf], [-np.inf]], self.plan.n_labels, axis=1)
        return ends

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        ranking = view.ranking
        truth = view.block.truth
        scores = ranking.scores
        assert scores is not None
        weight = view.block.weight
        if weight is None:
            weight = NO_WEIGHT
        widen_extremes(
            ranking.ptr,
            ranking.labels,
            scores,
            view.relevant_entries,
            truth.ptr,
            truth.labels,
            weight,
            self.ends,
            self.counts,
        )
        if view.block.cells is not None:
            weighing = view
            if weight.size:
                weighing = split_rows(view, (weight > 0).astype(np.int64), 2)[1]
            cells = weighing.block.cells
            assert cells is not None
            self.n_unjudged += cells.count_unjudged(view.n_labels)
        self.n_rows += view.n_rows - int(np.count_nonzero(weight == 0))
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, scores.dtype)

    def merge(self, added: LabelExtremes) -> None:
        """Merge a state of other rows, in place: no other state shares the arrays."""
        np.minimum(self.ends[0], added.ends[0], out=self.ends[0])
        np.maximum(self.ends[1], added.ends[1], out=self.ends[1])
        self.counts += added.counts
        self.n_unjudged += added.n_unjudged
        self.n_rows += added.n_rows
        self.dtype = np.result_type(self.dtype, added.dtype)

    def finish(self) -> Results:
        """Return the means over labels."""
        results = Results()
        extremes = self.extremes()
        has_scores = self.plan.unlisted is not None or self._lists_all()
        kept = select_kept(self.specs, self.plan.per_label)
        for spec in self.specs:
            values = spec.metric.value(extremes, self.plan.setting(spec))
            results.values[spec.name] = exact_mean(values)
            if (np.abs(values) >= LARGE).any():
                results.notes[f"large {spec.name}"] = ABOUT_LARGE.format(spec.name)
            n_undefined = int(np.count_nonzero(np.isnan(values)))
            if n_undefined:
                results.undefined_labels[spec.name] = n_undefined
            if has_scores and spec in kept:
                # the support of that state is weighted
                if SETS_OF_LABELS not in self.plan.states:
                    results.labels["support"] = self.counts[2].astype(np.float64)
                results.labels[spec.metric.name] = values
        return results

    def _lists_all(self) -> bool:
        """Return whether every row lists all judged labels."""
        n_listed = self.counts[:2].sum(axis=0)
        return bool((n_listed == self.n_rows - self.n_unjudged).all())

    def extremes(self) -> Extremes:
        """Return the extremes of every label; NaN without relevant or irrelevant rows."""
        unlisted = np.nan
        if self.plan.unlisted is not None:
            unlisted = as_score(self.plan.unlisted, np.empty(0, self.dtype))
        n_relevant_listed, n_irrelevant_listed, n_relevant = self.counts
        n_irrelevant = self.n_rows - self.n_unjudged - n_relevant
        lowest, highest = self.ends
        lowest = np.where(n_relevant > n_relevant_listed, np.minimum(lowest, unlisted), lowest)
        highest = np.where(
            n_irrelevant > n_irrelevant_listed, np.maximum(highest, unlisted), highest
        )
        has_pairs = (n_relevant > 0) & (n_irrelevant > 0)
        return Extremes(np.where(has_pairs, lowest, np.nan), np.where(has_pairs, highest, np.nan))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        sizes = np.array([self.n_rows, self.dtype.itemsize])
        arrays = {"ends": self.ends, "counts": self.counts, "sizes": sizes}
        if self.plan.cells_are:
            arrays["n_unjudged"] = self.n_unjudged
        return arrays

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels."""
        arrays = self.arrays()
        lowest, highest = self.ends
        ends = [labels.spread(lowest, 0, np.inf), labels.spread(highest, 0, -np.inf)]
        arrays |= {"ends": np.stack(ends), "counts": labels.spread(self.counts, 1)}
        if self.plan.cells_are:
            arrays["n_unjudged"] = labels.spread(
                self.n_unjudged, 0, unjudged_rows(self.plan, self.n_rows)
            )
        return arrays

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows, width = contents.take("sizes", 2).tolist()
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        self.counts = contents.take("counts", *self.counts.shape)
        if self.plan.cells_are:
            self.n_unjudged = contents.take("n_unjudged", self.plan.n_labels, high=self.n_rows)
        self.ends = contents.take("ends", 2, self.plan.n_labels, dtype=np.float64, low=None)


STATE = LabelExtremes
