"""Listed entries of the rows to which a rule is fitted, collected batch by batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bools, Ints, Labels, Scores, as_score
from xmleval.base.errors import InputError, other_rows
from xmleval.evaluation.batch import Batch
from xmleval.input.canonical import RankedRows
from xmleval.input.csr import rows_at_a_time
from xmleval.input.scores import Reading, ranking_rows
from xmleval.kernels.labels import count_entries
from xmleval.view.block import Block
from xmleval.view.view import View


class Pool(NamedTuple):
    """All entries, row by row, and best first within a row if ``ordered``.

    ranking : labels and scores of the entries
    relevant : bool (s,); whether an entry is relevant
    n_relevant : int64 (m,); relevant labels per row, listed or not
    n_true : int64 (n_labels,); relevant rows per label, listed or not
    floor : score of unlisted labels, rounded to the type of the scores; no threshold is below it
    exact_floor : the same before rounding
    """

    ranking: RankedRows
    relevant: Bools
    n_relevant: Ints
    n_true: Ints
    floor: float
    exact_floor: float

    @property
    def rows(self) -> Ints:
        """Row of every entry."""
        return np.repeat(np.arange(self.n_relevant.size), np.diff(self.ranking.ptr))


class Entries:
    """Entries collected so far.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of unlisted labels; None below all.
    ordered : bool
        Whether rows must be sorted, best first.
    scored : bool
        Whether scores are required, not only their order.
    """

    def __init__(
        self, n_labels: int, unlisted: float | None, *, ordered: bool, scored: bool
    ) -> None:
        self.n_labels = n_labels
        self.unlisted = unlisted
        self.ordered = ordered
        self.scored = scored
        self.n_rows = 0
        self._n_true: Ints = np.zeros(n_labels, np.int64)
        self._sizes: list[Ints] = []
        self._n_above: list[Ints] = []
        self._n_relevant: list[Ints] = []
        self._labels: list[Labels] = []
        self._scores: list[Scores] = []
        self._relevant: list[Bools] = []

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        truth = batch.with_checked_truth(self.n_labels).truth
        if batch.y_score is None:
            raise InputError("y_score", "missing; a rule is fitted to scores")
        reading = Reading("y_score", self.n_labels, self.unlisted, None, self.ordered)
        if batch.label_filter.sets:  # labels that are not judged are left out
            label_filter = batch.label_filter.opened(truth)
            truth, _, _ = label_filter.passed(truth, None)
            reading = reading._replace(ordered=True, left=label_filter.of_ranking)
        scores = ranking_rows(batch.y_score, reading)
        if scores.n_rows != truth.n_rows:
            raise InputError("y_score", other_rows(scores.n_rows, truth.n_rows, "y_true"))
        size = rows_at_a_time(truth.bytes_per_row + scores.bytes_per_row)

        # a function, so that no name keeps a block in memory while the next one is made
        def make_block(start: int) -> Block:
            stop = min(start + size, truth.n_rows)
            return Block(truth.block(start, stop), scores.block(start, stop), None, None, start)

        for start in range(0, truth.n_rows, size):
            self._keep(make_block(start))
        self.n_rows += truth.n_rows

    def _keep(self, block: Block) -> None:
        view = View(block, self.n_labels, self.unlisted)
        ranking = view.ranking
        if ranking.scores is not None:
            self._scores.append(ranking.scores + ranking.scores.dtype.type(0))  # -0.0 as 0.0
        elif self.scored and ranking.labels.size:
            raise InputError("y_score", "thresholds need scores; this list has none")
        self._sizes.append(np.diff(ranking.ptr))
        self._n_above.append(ranking.n_above)
        self._n_relevant.append(view.n_relevant)
        self._labels.append(ranking.labels)
        self._relevant.append(view.relevant_entries)
        count_entries(block.truth.labels, self._n_true)

    def pool(self) -> Pool:
        """Return all entries."""
        # empty arrays set the dtypes if there are no rows
        labels: list[Labels] = [np.empty(0, np.int32), *self._labels]
        sizes = np.concatenate([np.empty(0, np.int64), *self._sizes])
        scores = np.concatenate([np.empty(0, np.float32), *self._scores])
        ranking = RankedRows(
            np.concatenate(([0], np.cumsum(sizes))),
            np.concatenate(labels),
            scores,
            np.concatenate([np.empty(0, np.int64), *self._n_above]),
        )
        floor = -np.inf
        exact_floor = -np.inf
        if self.unlisted is not None:
            floor = as_score(self.unlisted, scores)
            exact_floor = self.unlisted
        return Pool(
            ranking,
            relevant=np.concatenate([np.empty(0, np.bool_), *self._relevant]),
            n_relevant=np.concatenate([np.empty(0, np.int64), *self._n_relevant]),
            n_true=self._n_true,
            floor=floor,
            exact_floor=exact_floor,
        )
