"""Parts of a block: some of its rows, or all of them within some of the labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.cached import cached
from xmleval.kernels.jackknife import point_to_rows, take_entries
from xmleval.kernels.ranking import count_reaching
from xmleval.records import (
    Block,
    Bools,
    Floats,
    Given,
    Groups,
    Ints,
    Labels,
    Ranking,
    Truth,
    as_score,
    label_dtype,
    row_sizes,
)
from xmleval.view.decision import Chosen, Decision
from xmleval.view.view import View


def rows_of(block: Block, rows: Ints) -> Block:
    """Return some rows of a block, which keep what does not depend on their numbers or on other rows."""
    truth, ranking, pred, weight, n_reachable, judged = (
        block.truth, block.ranking, block.pred, block.weight, block.n_reachable, block.judged,
    )  # fmt: skip
    return Block(
        truth=_sets_of(truth, rows),
        ranking=None if ranking is None else _lists_of(ranking, rows),
        pred=None if pred is None else _sets_of(pred, rows),
        weight=None if weight is None else weight[rows],
        first_row=0,
        n_reachable=None if n_reachable is None else n_reachable[rows],
        jackknife=None if block.jackknife is None else block.jackknife[rows],
        judged=None if judged is None else _sets_of(judged, rows),
        unknown=block.unknown,
    )


def _sets_of(sets: Truth, rows: Ints) -> Truth:
    ptr = np.empty(rows.size + 1, np.int64)
    point_to_rows(sets.ptr, rows, ptr)
    gains = None if sets.gains is None else _taken(sets.ptr, sets.gains, rows, ptr)
    return Truth(ptr, _taken(sets.ptr, sets.labels, rows, ptr), gains)


def _lists_of(lists: Ranking, rows: Ints) -> Ranking:
    ptr = np.empty(rows.size + 1, np.int64)
    point_to_rows(lists.ptr, rows, ptr)
    labels = _taken(lists.ptr, lists.labels, rows, ptr)
    scores = None if lists.scores is None else _taken(lists.ptr, lists.scores, rows, ptr)
    return Ranking(ptr, labels, scores, lists.n_above[rows], lists.ordered, Given(labels.size, False))


def _taken(ptr: Ints, entries: NDArray[Any], rows: Ints, taken_ptr: Ints) -> NDArray[Any]:
    taken = np.empty(taken_ptr[-1], entries.dtype)
    take_entries(ptr, entries, rows, taken)
    return taken


class WithinLabels(View):
    """A view of all rows within some labels, numbered anew; sets are decided over all labels before."""

    def __init__(self, block: Block, n_labels: int, unlisted: float | None, sets: dict[Decision, Truth]):
        super().__init__(block, n_labels, unlisted)
        self._sets = sets

    def predicted(self, decision: Decision) -> Chosen:
        """Return the predicted sets under a decision."""
        chosen = self._sets[decision]
        return Chosen(row_sizes(chosen.ptr), *chosen[:2])

    @cached
    def with_relevant(self) -> WithinLabels:
        """The rows that have relevant labels."""
        return self.of_rows(np.flatnonzero(self.n_relevant))

    def of_rows(self, rows: Ints) -> WithinLabels:
        """Return some of the rows."""
        sets = {decision: _sets_of(chosen, rows) for decision, chosen in self._sets.items()}
        return WithinLabels(rows_of(self.block, rows), self.n_labels, self.unlisted, sets)


def part_of(view: View, rows: Ints) -> View:
    """Return some of the rows of a view, whose sets stay as they were decided."""
    if isinstance(view, WithinLabels):
        return view.of_rows(rows)
    return View(rows_of(view.block, rows), view.n_labels, view.unlisted)


class Credited(View):
    """A view in which some of the relevant labels have no rank; ``ideals`` keeps sums that all share."""

    def __init__(self, view: View, credited: Bools, ideals: list[Floats]) -> None:
        super().__init__(view.block, view.n_labels, view.unlisted)
        self.ranks = np.where(credited, view.ranks, 0)
        self.ideals = ideals


class LabelParts:
    """Groups of labels, and their labels numbered within each.

    Labels are looked up by `take`: without memory, indexing by int32 can end the process (NumPy 2.4).

    Parameters
    ----------
    groups : Groups
        Every label is in one group.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        n_groups = len(groups.names)
        order = np.argsort(groups.of, kind="stable")
        ends = np.concatenate(([0], np.cumsum(np.bincount(groups.of, minlength=n_groups))))
        self.labels = [order[start:stop] for start, stop in pairwise(ends)]
        self._places = np.empty(groups.of.size, label_dtype(groups.of.size))
        for own in self.labels:
            self._places[own] = np.arange(own.size)

    def within(self, view: View, decisions: Iterable[Decision]) -> Iterator[WithinLabels]:
        """Yield a view within each group."""
        block, ranking = view.block, view.block.ranking
        truth = _Split(block.truth.ptr, block.truth.labels, self.groups)
        judged = block.judged
        split = None if judged is None else _Split(judged.ptr, judged.labels, self.groups)
        listed = None if ranking is None else _Split(ranking.ptr, ranking.labels, self.groups)
        chosen = {}
        for decision in decisions:
            cut, ptr, labels = view.predicted(decision)
            chosen_ptr = np.concatenate(([0], np.cumsum(cut)))
            at = np.repeat(ptr[:-1] - chosen_ptr[:-1], cut) + np.arange(chosen_ptr[-1])
            chosen[decision] = labels[at], _Split(chosen_ptr, labels[at], self.groups)
        for group, own in enumerate(self.labels):
            relevant = self._renumbered(block.truth.labels, *truth.entries(group))
            sets = {
                decision: self._renumbered(labels, *split.entries(group))
                for decision, (labels, split) in chosen.items()
            }
            within = None
            if ranking is not None and listed is not None:
                within = self._ranking(ranking, view.unlisted, own, *listed.entries(group))
            one = block._replace(truth=relevant, ranking=within, pred=None, by_id=False, row_groups=None)
            if judged is not None and split is not None:
                ptr, at = split.entries(group)
                assert judged.gains is not None
                renumbered = self._renumbered(judged.labels, ptr, at)
                one = one._replace(judged=renumbered._replace(gains=judged.gains[at]))
            yield WithinLabels(one._replace(n_reachable=None), own.size, view.unlisted, sets)

    def credited(self, view: View) -> Iterator[Credited]:
        """Yield a view for each group, in which no label of another has a rank."""
        of = self.groups.of.take(view.block.truth.labels)
        ideals: list[Floats] = []
        return (Credited(view, of == group, ideals) for group in range(len(self.labels)))

    def _renumbered(self, labels: Labels, ptr: Ints, at: Ints) -> Truth:
        return Truth(ptr, self._places.take(labels[at]))

    def _ranking(self, ranking: Ranking, unlisted: float | None, own: Ints, ptr: Ints, at: Ints) -> Ranking:
        scores = None if ranking.scores is None else ranking.scores[at]
        n_above = row_sizes(ptr)
        if unlisted is not None and scores is not None:
            count_reaching(ptr, scores, as_score(unlisted, scores), n_above)
        labels, given = self._places.take(ranking.labels[at]), Given(at.size, False)
        order = ranking.tie_order
        if order is not None:
            order = np.argsort(np.argsort(order.take(own))).astype(order.dtype)
        return Ranking(ptr, labels, scores, n_above, ranking.ordered, given, tie_order=order)


class _Split:
    """Entries of rows by the group of their label, which keep their order."""

    def __init__(self, ptr: Ints, labels: Labels, groups: Groups) -> None:
        of, self._n_rows = groups.of.take(labels), ptr.size - 1
        self._order = np.argsort(of, kind="stable")  # linear in their number for 16 bits
        self._ends = np.concatenate(([0], np.cumsum(np.bincount(of, minlength=len(groups.names)))))
        self._rows = np.repeat(np.arange(self._n_rows), row_sizes(ptr))

    def entries(self, group: int) -> tuple[Ints, Ints]:
        """Return the row pointer of the entries of a group, and where they are."""
        at = self._order[self._ends[group] : self._ends[group + 1]]
        return np.concatenate(([0], np.cumsum(np.bincount(self._rows[at], minlength=self._n_rows)))), at
