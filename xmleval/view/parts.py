"""Parts of a block: some of its rows, or all of them within some of the labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Ints, Labels, as_score, label_dtype, row_sizes
from xmleval.base.cached import cached
from xmleval.input.canonical import Ranking, RawScores, Truth
from xmleval.input.rows import pointer
from xmleval.kernels.jackknife import split_entries
from xmleval.kernels.ranking import count_reaching
from xmleval.kernels.sorting import group_rows
from xmleval.view.block import Block, Groups
from xmleval.view.decision import Chosen, Decision
from xmleval.view.view import View


def split_rows(view: View, groups: NDArray[Any], n_groups: int) -> list[View]:
    """Return a view of the rows of each group; they keep what does not depend on their numbers.

    groups : integers (n,), below ``n_groups``; sets stay as they were decided
    """
    starts, order = pointer(np.bincount(groups, minlength=n_groups)), np.empty(groups.size, np.int64)
    group_rows(groups, starts[:-1].copy(), order)
    split = partial(_split, groups=groups, order=order, starts=starts)
    names = ("truth", "ranking", "pred", "weight", "n_reachable", "jackknife", "judged")
    parts_of = {name: split(getattr(view.block, name)) for name in names}
    decided = view.decided if isinstance(view, WithinLabels) else {}
    sets_of = {decision: split(sets) for decision, sets in decided.items()}
    views = list[View]()
    for group in range(n_groups):
        parts = {name: parts[group] for name, parts in parts_of.items()}
        block = Block(**parts, first_row=0, unknown=view.block.unknown)
        sets = {decision: parts[group] for decision, parts in sets_of.items()}
        of_view = block, view.n_labels, view.unlisted
        views.append(WithinLabels(*of_view, sets) if isinstance(view, WithinLabels) else View(*of_view))
    return views


def _split(
    part: Truth | Ranking | NDArray[Any] | None, groups: NDArray[Any], order: Ints, starts: Ints
) -> list[Any]:
    """Return the rows of each group of sets, of lists, or of an array; None of None."""
    spans = [*pairwise(starts.tolist())]
    if part is None or isinstance(part, np.ndarray):
        return [part if part is None else part[order[start:stop]] for start, stop in spans]
    ptr: Ints = pointer(row_sizes(part.ptr)[order])
    columns = [None if values is None else np.empty(ptr[-1], values.dtype) for values in part[1:3]]
    for values, column in zip(part[1:3], columns, strict=True):
        if values is not None and column is not None:
            split_entries(part.ptr, values, groups, ptr[starts[:-1]], column)
    parts = list[Any]()
    for start, stop in spans:
        first, last = ptr[start], ptr[stop]
        within: list[Any] = [ptr[start : stop + 1] - first]
        within += [None if column is None else column[first:last] for column in columns]
        if isinstance(part, Truth):
            parts.append(Truth(*within))
        else:
            raw, n_above = RawScores(int(last - first), False), part.n_above[order[start:stop]]
            lists = within[0], within[1], within[2], n_above, part.ordered, raw
            parts.append(Ranking(*lists, tie_order=part.tie_order))
    return parts


class WithinLabels(View):
    """A view of all rows within some labels, numbered anew; sets are decided over all labels before."""

    def __init__(self, block: Block, n_labels: int, unlisted: float | None, sets: dict[Decision, Truth]):
        super().__init__(block, n_labels, unlisted)
        self.decided = sets

    def predicted(self, decision: Decision) -> Chosen:
        """Return the predicted sets under a decision."""
        chosen = self.decided[decision]
        return Chosen(row_sizes(chosen.ptr), *chosen[:2])

    @cached
    def with_relevant(self) -> View:
        """The rows that have relevant labels."""
        return split_rows(self, np.minimum(self.n_relevant, 1), 2)[1]


class Credited(View):
    """A view in which some of the relevant labels have no rank."""

    all_ranked = False

    def __init__(self, view: View, credited: Bools) -> None:
        super().__init__(view.block, view.n_labels, view.unlisted)
        self.ranks = np.where(credited, view.ranks, 0)


class LabelParts:
    """Groups of labels, and their labels numbered within each.

    Labels are looked up by `take`: without memory, indexing by int32 can end the process (NumPy 2.4).

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
        block, ranking, judged = view.block, view.block.ranking, view.block.judged
        truth, judgements = self._split(block.truth), None if judged is None else self._split(judged)
        listed = None if ranking is None else self._split(ranking)
        chosen = {decision: self._split(view.predicted(decision).as_sets()) for decision in decisions}
        for group, labels in enumerate(self.labels):
            lists = None
            if ranking is not None and listed is not None:
                lists = self._ranking(ranking, view.unlisted, labels, *listed.entries(group))
            within = block._replace(
                truth=truth.sets(group), ranking=lists, pred=None, by_id=False, row_groups=None,
                judged=None if judgements is None else judgements.sets(group), n_reachable=None,
            )  # fmt: skip
            sets = {decision: split.sets(group) for decision, split in chosen.items()}
            yield WithinLabels(within, labels.size, view.unlisted, sets)

    def credited(self, view: View) -> Iterator[Credited]:
        """Yield a view for each group, in which no label of another has a rank."""
        of = self.groups.of.take(view.block.truth.labels)
        return (Credited(view, of == group) for group in range(len(self.labels)))

    def _split(self, sets: Truth | Ranking) -> _Split:
        return _Split(sets, self.groups, self._places)

    def _ranking(self, ranking: Ranking, unlisted: float | None, kept: Ints, ptr: Ints, at: Ints) -> Ranking:
        scores = None if ranking.scores is None else ranking.scores[at]
        n_above = row_sizes(ptr)
        if unlisted is not None and scores is not None:
            count_reaching(ptr, scores, as_score(unlisted, scores), n_above)
        labels, raw = self._places.take(ranking.labels[at]), RawScores(at.size, False)
        order = ranking.tie_order
        if order is not None:
            order = np.argsort(np.argsort(order.take(kept))).astype(order.dtype)
        return Ranking(ptr, labels, scores, n_above, ranking.ordered, raw, tie_order=order)


class _Split:
    """Entries of rows by the group of their label, in their order; labels are numbered within each group."""

    def __init__(self, sets: Truth | Ranking, groups: Groups, places: Labels) -> None:
        of, self._n_rows = groups.of.take(sets.labels), sets.ptr.size - 1
        self._labels, self._gains = places.take(sets.labels), sets.gains if isinstance(sets, Truth) else None
        self._order = np.argsort(of, kind="stable")  # linear in their number for 16 bits
        self._ends = np.concatenate(([0], np.cumsum(np.bincount(of, minlength=len(groups.names)))))
        self._rows = np.repeat(np.arange(self._n_rows), row_sizes(sets.ptr))

    def sets(self, group: int) -> Truth:
        """Return the sets within a group."""
        ptr, at = self.entries(group)
        return Truth(ptr, self._labels.take(at), None if self._gains is None else self._gains.take(at))

    def entries(self, group: int) -> tuple[Ints, Ints]:
        """Return the row pointer of the entries of a group, and where they are."""
        at = self._order[self._ends[group] : self._ends[group + 1]]
        return np.concatenate(([0], np.cumsum(np.bincount(self._rows[at], minlength=self._n_rows)))), at
