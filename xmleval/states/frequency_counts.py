"""FrequencyCounts: hits and ideal rankings by training frequency of their labels, for any propensities."""

from __future__ import annotations

import numpy as np

from xmleval.plan import Plan
from xmleval.records import Ints
from xmleval.states.state import State
from xmleval.threads import Work
from xmleval.view.view import View


class FrequencyCounts(State):
    """Hits, and labels of the ideal ranking, by frequency, rank and capped number of relevant labels.

    The k largest inverse propensities of a row are those of its rarest labels under any constants A and B:
    these counts give propensity-scored measures under all of them.

    Parameters
    ----------
    plan, work
        See `State`.
    of_label : int64 (n_labels,)
        Number of the training frequency of each label, from the lowest frequency on.
    depth : int
        Deepest rank that counts.
    """

    with_unknown = True

    def __init__(self, plan: Plan, work: Work, of_label: Ints, depth: int) -> None:
        super().__init__(plan, (), work)
        self.of_label, self.depth = of_label, depth
        shape = int(of_label.max(initial=-1)) + 1, depth, depth
        self.hits: Ints = np.zeros(shape, np.int64)
        self.ideals: Ints = np.zeros(shape, np.int64)

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return self.hits.nbytes + self.ideals.nbytes

    def empty(self) -> FrequencyCounts:
        """Return an empty state to merge with this one."""
        return FrequencyCounts(self.plan, self.work, self.of_label, self.depth)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        rows = np.repeat(np.arange(view.n_rows), view.n_relevant)
        frequency = self.of_label.take(view.block.truth.labels)
        capped = np.minimum(view.n_relevant, self.depth)[rows] - 1
        hit = (view.ranks > 0) & (view.ranks <= self.depth)
        order = np.argsort(rows * np.int64(len(self.hits)) + frequency)  # the rarest labels of each row first
        place = np.arange(rows.size) - view.block.truth.ptr[:-1][rows]
        first = place < self.depth
        self._add(self.hits, frequency[hit], view.ranks[hit] - 1, capped[hit])
        self._add(self.ideals, frequency[order][first], place[first], capped[first])

    def _add(self, table: Ints, frequency: Ints, place: Ints, capped: Ints) -> None:
        """Count in a table, in place: no other state shares it."""
        np.add.at(table.reshape(-1), (frequency * self.depth + place) * self.depth + capped, 1)

    def merge(self, other: FrequencyCounts) -> None:
        """Merge a state of other rows."""
        self.hits, self.ideals = self.hits + other.hits, self.ideals + other.ideals
