"""LabelExtremes: lowest relevant and highest irrelevant score of every label."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.exact import NO_WEIGHT, Commit, saved
from xmleval.kernels.extremes import widen_extremes
from xmleval.records import Floats, Ints, as_score
from xmleval.view.view import Extremes, View


class LabelExtremes:
    """Extremes of every label over its listed cells; the others are counted and have one score.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of the unlisted cells; None where they have none.
    """

    def __init__(self, n_labels: int, unlisted: float | None) -> None:
        self.unlisted = unlisted
        self.n_rows = 0  # that weigh something
        self.dtype = np.dtype(np.float32)  # of scores
        self.ends: Floats = np.repeat([[np.inf], [-np.inf]], n_labels, axis=1)
        self.counts: Ints = np.zeros((3, n_labels), np.int64)  # relevant, irrelevant listed; relevant

    def prepare(self, view: View) -> Commit:
        """Take the scores of a block, in place."""
        ranking, flags, truth = view.ranking, view.relevant_entries, view.block.truth
        scores = ranking.scores
        assert scores is not None
        weight = NO_WEIGHT if view.block.weight is None else view.block.weight
        n_rows = view.n_rows - int(np.count_nonzero(weight == 0))

        def commit() -> None:
            widen_extremes(ranking.ptr, ranking.labels, scores, flags, *truth, weight, self.ends, self.counts)
            self.n_rows += n_rows
            if view.n_rows:
                self.dtype = np.result_type(self.dtype, scores.dtype)

        return commit

    def prepare_merge(self, other: LabelExtremes) -> Commit:
        """Add another state, in place."""

        def commit() -> None:
            np.minimum(self.ends[0], other.ends[0], out=self.ends[0])
            np.maximum(self.ends[1], other.ends[1], out=self.ends[1])
            self.counts += other.counts
            self.n_rows += other.n_rows
            self.dtype = np.result_type(self.dtype, other.dtype)

        return commit

    def extremes(self) -> Extremes:
        """Return the extremes of every label over all its cells; NaN where it lacks one of the classes."""
        level = np.nan
        if self.unlisted is not None:
            level = as_score(self.unlisted, np.empty(0, self.dtype))
        good, bad, n_true = self.counts
        n_false = self.n_rows - n_true
        lowest = np.where(n_true > good, np.minimum(self.ends[0], level), self.ends[0])
        highest = np.where(n_false > bad, np.maximum(self.ends[1], level), self.ends[1])
        pairs = (n_true > 0) & (n_false > 0)
        return Extremes(np.where(pairs, lowest, np.nan), np.where(pairs, highest, np.nan))

    def arrays(self) -> dict[str, Any]:
        """Return what a saved state holds."""
        sizes = np.array([self.n_rows, self.dtype.itemsize])
        return {"ends": self.ends, "counts": self.counts, "sizes": sizes}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over what `arrays` gave."""
        self.counts = saved(arrays, "counts", *self.counts.shape)
        n_rows, width = saved(arrays, "sizes", 2).tolist()
        self.n_rows, self.dtype = n_rows, np.dtype(f"f{width}")
        ends = arrays["ends"]
        if ends.dtype != np.float64 or ends.shape != self.ends.shape or np.isnan(ends).any():
            raise ValueError(f"ends are {ends.dtype} of shape {ends.shape}")
        self.ends = ends.astype(np.float64)
