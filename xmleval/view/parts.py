"""Parts of a block: some of its rows, or all of them within some of the labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints, Labels, Scores, as_score, label_dtype, row_sizes
from xmleval.base.cached import cached
from xmleval.input.canonical import RankedRows, RawScores, Truth
from xmleval.input.rows import pointer
from xmleval.kernels.jackknife import split_entries
from xmleval.kernels.ranking import count_reaching
from xmleval.kernels.sorting import group_rows
from xmleval.view.block import Block, Groups, JudgedCells
from xmleval.view.decision import Decision, PredictedSets
from xmleval.view.view import View


def split_rows(view: View, groups: NDArray[Any], n_groups: int) -> list[View]:
    """Return one view per group of rows, with its rows in order, numbered anew.

    groups : integers (n,), below ``n_groups``; predicted sets are kept
    """
    starts = pointer(np.bincount(groups, minlength=n_groups))
    order = np.empty(groups.size, np.int64)
    group_rows(groups, starts[:-1].copy(), order)
    split = partial(_split, groups=groups, order=order, starts=starts)
    names = ("truth", "ranking", "pred", "weight", "n_reachable", "jackknife", "judged", "cells")
    fields = {name: split(getattr(view.block, name)) for name in names}
    row_data = {name: split(column) for name, column in view.block.row_data.items()}
    decided: dict[Decision, list[Any]] = {}
    if isinstance(view, WithinLabels):
        decided = {decision: split(sets) for decision, sets in view.decided.items()}
    views: list[View] = []
    for group in range(n_groups):
        parts = {name: parts_by_group[group] for name, parts_by_group in fields.items()}
        parts["row_data"] = {name: columns[group] for name, columns in row_data.items()}
        block = Block(**parts, first_row=0, unknown=view.block.unknown)
        if isinstance(view, WithinLabels):
            sets = {decision: sets_by_group[group] for decision, sets_by_group in decided.items()}
            views.append(WithinLabels(block, view.n_labels, view.unlisted, sets))
        else:
            views.append(View(block, view.n_labels, view.unlisted))
    return views


def _split(
    part: Truth | RankedRows | JudgedCells | NDArray[Any] | None,
    groups: NDArray[Any],
    order: Ints,
    starts: Ints,
) -> list[Any]:
    """Return the rows of every group, from sets, lists or an array; None for None."""
    spans = [*pairwise(starts.tolist())]
    if part is None:
        return [None for _ in spans]
    if isinstance(part, JudgedCells):
        return [part._replace(sets=sets) for sets in _split(part.sets, groups, order, starts)]
    if isinstance(part, np.ndarray):
        return [part[order[start:stop]] for start, stop in spans]
    ptr: Ints = pointer(row_sizes(part.ptr)[order])
    columns: list[NDArray[Any] | None] = []
    for values in part[1:3]:
        column = None
        if values is not None:
            column = np.empty(ptr[-1], values.dtype)
            split_entries(part.ptr, values, groups, ptr[starts[:-1]], column)
        columns.append(column)
    cut_ties: list[Truth | None] = [None for _ in spans]
    if isinstance(part, RankedRows) and part.cut_ties is not None:
        cut_ties = _split(part.cut_ties, groups, order, starts)
    parts: list[Any] = []
    for (start, stop), ties in zip(spans, cut_ties, strict=True):
        entries: list[Any] = [ptr[start : stop + 1] - ptr[start]]
        for column in columns:
            entries.append(None if column is None else column[ptr[start] : ptr[stop]])
        if isinstance(part, Truth):
            parts.append(Truth(*entries))
        else:
            row_ptr, labels, scores = entries
            rows = order[start:stop]
            parts.append(_take_rows(part, rows, row_ptr, labels, scores, ties))
    return parts


def _take_rows(
    ranking: RankedRows,
    rows: Ints,
    ptr: Ints,
    labels: Labels,
    scores: Scores | None,
    cut_ties: Truth | None,
) -> RankedRows:
    """Return some rows of a ranking with their entries, and the labels that were cut from them."""
    raw = RawScores(int(ptr[-1]), False)
    n_above = ranking.n_above[rows]
    return RankedRows(
        ptr, labels, scores, n_above, ranking.ordered, raw, cut_ties, ranking.tie_order
    )


class WithinLabels(View):
    """A view of all rows within some labels, numbered anew.

    sets : sets predicted over all labels, without other labels
    """

    def __init__(
        self, block: Block, n_labels: int, unlisted: float | None, sets: dict[Decision, Truth]
    ):
        super().__init__(block, n_labels, unlisted)
        self.decided = sets

    def predicted(self, decision: Decision) -> PredictedSets:
        """Return the predicted sets under a decision."""
        chosen = self.decided[decision]
        return PredictedSets(row_sizes(chosen.ptr), *chosen[:2])

    def _relevant_from(self, least_gain: float) -> WithinLabels | None:
        block = self._block_from(least_gain)
        if block is None:
            return None
        return WithinLabels(block, self.n_labels, self.unlisted, self.decided)

    def with_relevant(self, least_gain: float | None) -> View:
        """Return the rows that have relevant labels, by their least gain if one is given."""
        return split_rows(self, self._has_relevant(least_gain).astype(np.int64), 2)[1]

    def rows_with_relevant(self, least_gain: float | None) -> Ints:
        """Return the numbers of the rows of `with_relevant`."""
        return np.flatnonzero(self._has_relevant(least_gain))

    def _has_relevant(self, least_gain: float | None) -> Bools:
        view = self if least_gain is None else self.relevant_from(least_gain)
        return view.n_relevant > 0


class Credited(View):
    """A view in which the relevant labels of one group alone have a rank.

    groups : group of each label
    """

    all_ranked = False

    def __init__(self, view: View, groups: NDArray[Any], group: int) -> None:
        super().__init__(view.block, view.n_labels, view.unlisted)
        self._view = view
        self._groups = groups
        self._group = group

    @cached
    def ranks(self) -> Ints:
        """Ranks of relevant labels of the group, 0 for others."""
        is_credited = self._groups.take(self.block.truth.labels) == self._group
        return np.where(is_credited, self._view.ranks, 0)

    def _relevant_from(self, least_gain: float) -> Credited | None:
        view = self._view.relevant_from(least_gain)
        return None if view is self._view else Credited(view, self._groups, self._group)


class LabelParts:
    """Groups of labels, and their labels numbered within each.

    Labels are looked up by `take`: without memory, indexing by int32 can end the process (NumPy
    2.4).

    groups : every label is in one group
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        n_groups = len(groups.names)
        order = np.argsort(groups.of, kind="stable")
        ends = np.concatenate(([0], np.cumsum(np.bincount(groups.of, minlength=n_groups))))
        self.labels = [order[start:stop] for start, stop in pairwise(ends)]
        self._places = np.empty(groups.of.size, label_dtype(groups.of.size))
        for labels in self.labels:
            self._places[labels] = np.arange(labels.size)

    def within(self, view: View, decisions: Iterable[Decision]) -> Iterator[WithinLabels]:
        """Yield a view within each group."""
        block = view.block
        ranking = view.block.ranking
        judged = view.block.judged
        truth = self._split(block.truth)
        cells = view.block.cells
        split_judged = None if judged is None else self._split(judged)
        split_cells = None if cells is None else self._split(cells.sets)
        split_ranking = None if ranking is None else self._split(ranking)
        predicted: dict[Decision, _SplitEntries] = {}
        for decision in decisions:
            predicted[decision] = self._split(view.predicted(decision).as_sets())
        for group, labels in enumerate(self.labels):
            judged_within = None
            if split_judged is not None:
                judged_within = split_judged.sets(group)
            cells_within = None
            if cells is not None and split_cells is not None:
                cells_within = cells._replace(sets=split_cells.sets(group))
            ranking_within = None
            if ranking is not None and split_ranking is not None:
                ranking_within = self._take_entries(
                    ranking, view.unlisted, labels, *split_ranking.entries(group)
                )
            block_within = block._replace(
                truth=truth.sets(group),
                ranking=ranking_within,
                pred=None,
                by_id=False,
                row_groups=None,
                judged=judged_within,
                cells=cells_within,
                n_reachable=None,
            )
            sets = {decision: split.sets(group) for decision, split in predicted.items()}
            yield WithinLabels(block_within, labels.size, view.unlisted, sets)

    def credited(self, view: View) -> Iterator[Credited]:
        """Yield a view for each group, in which labels of other groups have no rank."""
        return (Credited(view, self.groups.of, group) for group in range(len(self.labels)))

    def _split(self, sets: Truth | RankedRows) -> _SplitEntries:
        return _SplitEntries(sets, self.groups, self._places)

    def _take_entries(
        self,
        ranking: RankedRows,
        unlisted: float | None,
        group_labels: Ints,
        ptr: Ints,
        places: Ints,
    ) -> RankedRows:
        """Return the ranking of the labels of a group, which has the entries at some places."""
        scores = None if ranking.scores is None else ranking.scores[places]
        n_above = row_sizes(ptr)
        if unlisted is not None and scores is not None:
            count_reaching(ptr, scores, as_score(unlisted, scores), n_above)
        labels = self._places.take(ranking.labels[places])
        raw = RawScores(places.size, False)
        tie_order = ranking.tie_order
        if tie_order is not None:
            within_group = np.argsort(np.argsort(tie_order.take(group_labels)))
            tie_order = within_group.astype(tie_order.dtype)
        return RankedRows(ptr, labels, scores, n_above, ranking.ordered, raw, tie_order=tie_order)


class _SplitEntries:
    """Entries of rows by the group of their label, in order; labels are numbered in their group."""

    def __init__(self, sets: Truth | RankedRows, groups: Groups, places: Labels) -> None:
        group_of_entry = groups.of.take(sets.labels)
        sizes = np.bincount(group_of_entry, minlength=len(groups.names))
        self._n_rows = sets.ptr.size - 1
        self._labels = places.take(sets.labels)
        self._gains = sets.gains if isinstance(sets, Truth) else None
        self._order = np.argsort(group_of_entry, kind="stable")  # takes linear time for 16 bits
        self._ends = np.concatenate(([0], np.cumsum(sizes)))
        self._rows = np.repeat(np.arange(self._n_rows), row_sizes(sets.ptr))

    def sets(self, group: int) -> Truth:
        """Return the sets within a group."""
        ptr, places = self.entries(group)
        gains = None if self._gains is None else self._gains.take(places)
        return Truth(ptr, self._labels.take(places), gains)

    def entries(self, group: int) -> tuple[Ints, Ints]:
        """Return the row pointer of the entries of a group, and where they are."""
        places = self._order[self._ends[group] : self._ends[group + 1]]
        sizes = np.bincount(self._rows[places], minlength=self._n_rows)
        return np.concatenate(([0], np.cumsum(sizes))), places
