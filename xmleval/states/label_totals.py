"""LabelTotals: tp, n_pred and n_true of every label under one decision rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.arrays import Floats, Ints
from xmleval.kernels.fixed import LIMBS, carry, sum_terms
from xmleval.kernels.labels import count_labels, weigh_labels
from xmleval.states.decisions import Decision
from xmleval.states.facts import Counts, Facts
from xmleval.states.limbs import NO_WEIGHT, Commit, as_floats, saved

MOST_ROWS = 2**31 - 1  # rows up to which counts are 32 bits wide: half as far from the processor


def totals_bytes(n_labels: int, weighted: bool) -> int:
    """Return the memory of the totals of one decision."""
    return 3 * n_labels * (8 * LIMBS if weighted else 4)


class LabelTotals:
    """Totals of every label under one decision rule.

    Counts are int32 (3, n_labels), or int64 where there are more rows; with instance weights they are
    fixed-point sums of weights, int64 (3, n_labels, 4). The order is tp, n_pred, n_true.
    """

    def __init__(self, decision: Decision, n_labels: int, weighted: bool) -> None:
        self.decision = decision
        self.n_labels = n_labels
        self.weighted = weighted
        self.totals: NDArray[Any] = (
            np.zeros((3, n_labels, LIMBS), np.int64) if weighted else np.zeros((3, n_labels), np.int32)
        )
        self.rows: Ints = np.zeros((1, LIMBS), np.int64)  # sum of instance weights

    def prepare(self, facts: Facts) -> Commit:
        """Count a block, in place: the totals of millions of labels are not copied."""
        truth, predicted = facts.block.truth, facts.predicted(self.decision)
        hits, n_within = facts.hits(self.decision)

        def commit() -> None:
            if facts.block.weight is None:
                self._make_room(facts.n_rows)
                self.rows[0, 0] += facts.n_rows
                count_labels(truth.labels, hits, *predicted, self.totals)
            else:
                sum_terms(facts.block.weight, NO_WEIGHT, self.rows[0], self.rows[0])
                weigh_labels(*truth, hits, n_within, *predicted, facts.block.weight, self.totals)

        return commit

    def prepare_merge(self, other: LabelTotals) -> Commit:
        """Add another state of the same decision, in place."""

        def commit() -> None:
            if not self.weighted:
                self._make_room(int(other.rows[0, 0]))
            self.totals += other.totals
            self.rows += other.rows
            carry(self.rows)
            if self.weighted:
                carry(self.totals.reshape(-1, LIMBS))

        return commit

    def _make_room(self, n_rows: int) -> None:
        """Widen the counts where so many more rows need it."""
        if self.rows[0, 0] + n_rows > MOST_ROWS:
            self.totals = self.totals.astype(np.int64)

    def counts(self, start: int = 0, stop: int | None = None) -> Counts:
        """Return the contingency tables of labels start..stop-1, float64 (stop - start,) each."""
        tp, n_pred, n_true = self.totals[:, start:stop]
        rows = self.rows[0] if self.weighted else self.rows[0, 0]
        cells = []  # one after another: they are as large as the labels
        for cell in (tp, n_pred - tp, n_true - tp, rows - n_pred - n_true + tp):
            if self.weighted:  # subtract before rounding: what is nothing must come out as 0
                limbs = cell.copy()
                carry(limbs.reshape(-1, LIMBS))
                cells.append(as_floats(limbs))
            else:
                cells.append(cell.astype(np.float64))
        return Counts(*cells)

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        return {"totals": self.totals.astype(np.int64), "rows": self.rows}

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        totals = saved(arrays, "totals", *self.totals.shape)
        self.rows = saved(arrays, "rows", *self.rows.shape)
        narrow = not self.weighted and self.rows[0, 0] <= MOST_ROWS
        self.totals = totals.astype(np.int32) if narrow else totals
