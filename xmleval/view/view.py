"""View: a block with its derived facts, each computed on first use."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from xmleval.base.arrays import Bools, Bytes, Floats, Ints, Labels, Scores, as_score, row_sizes
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.input.canonical import Ranking, Truth
from xmleval.input.rows import pointer
from xmleval.kernels.ancestors import count_closed
from xmleval.kernels.extremes import find_extremes
from xmleval.kernels.jackknife import N_GROUPS, find_groups
from xmleval.kernels.keys import find_last, flag_listed
from xmleval.kernels.matching import (
    count_places,
    find_hits,
    find_positions,
    find_ties,
    place_unlisted,
    rank_positions,
    rank_unlisted,
    sort_ranks,
)
from xmleval.kernels.ranking import count_leading, rank_rows
from xmleval.kernels.rows import (
    share_graded_discounts,
    sort_ties,
    sum_discounts,
    sum_ideal_gains,
    sum_precisions,
    sum_tied_discounts,
    summarise_ranks,
    summarise_ties,
)
from xmleval.kernels.sorting import group_rows
from xmleval.numerics.discounts import discount_sums, first_discounts, tabulated_logs
from xmleval.view.block import Block, Hierarchy
from xmleval.view.decision import LISTED, Chosen, Decision, choose
from xmleval.view.facts import Counts, Extremes, TieSummary

Method = TypeVar("Method", bound=Callable[..., Any])
GROUP, GROUP_ORDER = "group", "group order"  # what is known of a truth
COUNTED = 512  # relevant labels of a row up to which counting higher scores of each is faster than sorting


def in_order(ranking: Ranking) -> Ranking:
    """Return a copy of a ranking, sorted best first."""
    assert ranking.scores is not None
    labels, scores = ranking.labels.copy(), ranking.scores.copy()
    rank_rows(ranking.ptr, labels, scores)
    return ranking._replace(labels=labels, scores=scores, ordered=True)


def in_groups(block: Block) -> Block:
    """Return a block with the jackknife group of each row, by default that of its number in all data."""
    if block.jackknife is not None:
        return block
    shared = shared_facts(block)
    if GROUP not in shared:
        shared[GROUP] = np.empty(block.truth.ptr.size - 1, np.uint8)
        find_groups(np.arange(block.first_row, block.first_row + shared[GROUP].size), shared[GROUP])
    return block._replace(jackknife=shared[GROUP])


def shared_facts(block: Block) -> dict[str, Any]:
    """Return what is known of the truth of a block, to which may be added."""
    shared = block.facts is not None and block.facts.truth is block.truth
    return block.facts.shared if shared and block.facts else {}


def once_a_decision(compute: Method) -> Method:
    """Keep what a method of a view returns for each decision."""

    @wraps(compute)
    def kept(view: View, decision: Decision, *arguments: object) -> object:
        value = view.by_decision.get(key := (compute.__name__, decision.name))
        if value is None:
            value = view.by_decision[key] = compute(view, decision, *arguments)
        return value

    return cast(Method, kept)


class View:
    """A block and the facts that measures read from it, computed on first use."""

    all_ranked = True  # whether each listed label has its rank, so that hits can be found in lists

    def __init__(self, block: Block, n_labels: int, unlisted: float | None) -> None:
        self.n_relevant: Ints = row_sizes(block.truth.ptr)
        self.n_rows = self.n_relevant.size
        if block.ranking and not block.ranking.ordered and self.n_relevant.max(initial=0) > COUNTED:
            block = block._replace(ranking=in_order(block.ranking))
        self.block = block
        self.shared = shared_facts(block)
        self.n_labels = n_labels
        self.unlisted = unlisted
        self.by_decision: dict[tuple[str, str], Any] = {}

    @property
    def inside(self) -> View:
        """The same rows without unknown labels, which take no rank; sets stay as decided."""
        return self._inside if self.block.unknown else self

    @cached
    def _inside(self) -> View:
        return Inside(self)

    @cached
    def n_ranked(self) -> int:
        """Number of labels, or more where lists hold unknown labels: no rank exceeds it."""
        ranking = self.block.ranking
        if ranking is None or not self.block.unknown:
            return self.n_labels
        return self.n_labels + int(row_sizes(ranking.ptr).max(initial=0))

    @property
    def ranking(self) -> Ranking:
        """The block's ranking."""
        assert self.block.ranking is not None
        return self.block.ranking

    @property
    def jackknife(self) -> Bytes:
        """Jackknife group of each row."""
        assert self.block.jackknife is not None
        return self.block.jackknife

    @cached
    def n_weighing(self) -> Ints:
        """Number of rows with a positive weight in each jackknife group."""
        weight = self.block.weight
        if weight is not None:
            return np.bincount(self.jackknife[weight > 0], minlength=N_GROUPS)
        return row_sizes(self.group_order[1])

    @property
    def group_order(self) -> tuple[Ints, Ints]:
        """Rows ordered by jackknife group, and where those of each group start."""
        if GROUP_ORDER not in self.shared:
            starts = pointer(np.bincount(self.jackknife, minlength=N_GROUPS))
            rows = np.empty(self.n_rows, np.int64)
            group_rows(self.jackknife, starts[:-1].copy(), rows)
            self.shared[GROUP_ORDER] = rows, starts
        return tuple(self.shared[GROUP_ORDER])

    @cached
    def positions(self) -> Ints:
        """Position (from 1) of each relevant label in its list, 0 if unlisted."""
        ranking, truth = self.ranking, self.block.truth
        positions = np.empty(truth.labels.size, np.int64)
        find_positions(ranking.ptr, ranking.labels, truth.ptr, truth.labels, positions)
        return positions

    @cached
    def relevant_entries(self) -> Bools:
        """Whether each listed entry is relevant."""
        ranking, truth = self.ranking, self.block.truth
        flags = np.empty(ranking.labels.size, np.bool_)
        flag_listed(ranking.ptr, ranking.labels, truth.ptr, truth.labels, flags)
        return flags

    @cached
    def last_scores(self) -> Scores:
        """Lowest score of each row, infinite for an empty list."""
        assert self.ranking.scores is not None
        last = np.empty(self.n_rows, self.ranking.scores.dtype)
        find_last(self.ranking.ptr, self.ranking.scores, last)
        return last

    @cached
    def extremes(self) -> Extremes:
        """Extremes of each row, NaN also if a row with pairs lacks a score for some label."""
        ranking = self.ranking
        assert ranking.scores is not None
        unlisted = np.nan if self.unlisted is None else as_score(self.unlisted, ranking.scores)
        extremes = Extremes(np.empty(self.n_rows), np.empty(self.n_rows))
        flags = self.relevant_entries
        find_extremes(ranking.ptr, ranking.scores, flags, self.n_relevant, self.n_labels, unlisted, *extremes)
        return extremes

    @cached
    def missing(self) -> tuple[Ints, Labels]:
        """Rows and labels of the unlisted relevant labels."""
        unlisted = self.positions == 0
        rows = np.repeat(np.arange(self.n_rows), self.n_relevant)[unlisted]
        return rows, self.block.truth.labels[unlisted]

    @cached
    def n_left(self) -> Ints:
        """Number of unlisted irrelevant labels of each row."""
        n_missing = np.bincount(self.missing[0], minlength=self.n_rows)
        n_irrelevant_listed = row_sizes(self.ranking.ptr) - (self.n_relevant - n_missing)
        n_left: Ints = self.n_labels - self.n_relevant - n_irrelevant_listed
        return n_left

    @cached
    def _counted(self) -> tuple[Ints, Ints, Ints]:
        """Entries above and tied with each listed relevant label, and its rank, for unordered rows."""
        scores = self.ranking.scores
        assert scores is not None
        above, tied, ranks = np.zeros((3, self.positions.size), np.int64)
        count_places(self.positions, self.block.truth.ptr, self.ranking.ptr, scores, above, tied, ranks)
        return above, tied, ranks

    @cached
    def ranks(self) -> Ints:
        """Rank of each relevant label, 0 for unlisted ones unless they have a score."""
        truth, ranking = self.block.truth, self.ranking
        listed_ranks = self.positions if ranking.ordered else self._counted[2]
        if self.unlisted is None:
            return listed_ranks
        ranks = listed_ranks.copy()
        rank_positions(listed_ranks, truth.ptr, ranking.ptr, ranking.n_above, self.n_labels, ranks)
        order, labels = ranking.tie_order, (truth.labels, ranking.labels)
        relevant, listed = labels if order is None else (order.take(ids) for ids in labels)
        rank_unlisted(self.positions, truth.ptr, relevant, ranking.ptr, listed, ranking.n_above, ranks)
        return ranks

    @cached
    def sorted_ranks(self) -> Ints:
        """`ranks`, ascending within each row."""
        ranks = self.ranks.copy()
        sort_ranks(self.block.truth.ptr, ranks)
        return ranks

    @cached
    def standing(self) -> tuple[Ints, Ints]:
        """Numbers of labels above and tied with each relevant label."""
        above, tied = self._standing()
        if self.block.unknown:  # unlisted labels are tied, and unknown ones not among them
            n_unknown = row_sizes(self.ranking.ptr) - row_sizes(self.inside.ranking.ptr)
            tied += np.where(self.positions == 0, np.repeat(n_unknown, self.n_relevant), 0)
        return above, tied

    def _standing(self) -> tuple[Ints, Ints]:
        truth, ranking = self.block.truth, self.ranking
        if not ranking.ordered:
            assert ranking.scores is not None
            above, tied = (array.copy() for array in self._counted[:2])
            unlisted = np.nan if self.unlisted is None else as_score(self.unlisted, ranking.scores)
            place_unlisted(
                self.positions, truth.ptr, ranking.ptr, ranking.scores, unlisted, self.n_labels, above, tied
            )
            return above, tied
        above, tied = np.empty_like(truth.labels, np.int64), np.empty_like(truth.labels, np.int64)
        scores = np.empty(0, np.float32) if ranking.scores is None else ranking.scores
        n_above = ranking.n_above
        if self.unlisted is not None:
            n_above = np.empty_like(n_above)
            count_leading(ranking.ptr, scores, as_score(self.unlisted, scores), False, n_above)
        find_ties(
            self.positions, truth.ptr, ranking.ptr, scores, n_above, ranking.n_above, self.n_labels,
            above, tied,
        )  # fmt: skip
        return above, tied

    @cached
    def placed(self) -> tuple[Ints, Ints]:
        """`standing`, worst first within each row."""
        above, tied = (array.copy() for array in self.standing)
        sort_ties(self.block.truth.ptr, above, tied)
        return above, tied

    @cached
    def ties(self) -> TieSummary:
        """Facts of tie groups per row."""
        worst, sums = np.empty(self.n_rows, np.int64), np.empty((4, self.n_rows))
        summarise_ties(self.block.truth.ptr, *self.placed, worst, *sums)
        return TieSummary(worst, *sums)

    @cached
    def best_ranks(self) -> tuple[Ints, Ints]:
        """First credited rank of each row (0 for none), and hits in its first R ranks (R relevant labels)."""
        first, n_within = np.empty(self.n_rows, np.int64), np.empty(self.n_rows, np.int64)
        summarise_ranks(self.block.truth.ptr, self.ranks, first, n_within)
        return first, n_within

    def precision_sum(self, k: int | None) -> Floats:
        """Return the sum of the precisions at the hits in the top k, or in the whole ranking."""
        out = np.empty(self.n_rows, np.float64)
        sum_precisions(self.block.truth.ptr, self.sorted_ranks, k or self.n_ranked, out)
        return out

    def gain(self, k: int | None, conventions: Conventions) -> Floats:
        """Return the discounted gain of the first k or the whole ranking.

        By the conventions, ties are broken by order or share the mean discount of their ranks, and relevant
        labels gain 1 or their grade.
        """
        out, ptr = np.empty(self.n_rows), self.block.truth.ptr
        tables = first_discounts(k or self.n_ranked), tabulated_logs()
        tied = conventions.ndcg_ties == "average"
        if conventions.graded:
            places = self.standing if tied else self._untied()
            share_graded_discounts(ptr, *self._tie_groups(k, *places), self.gains, *tables, out)
        elif tied:
            sum_tied_discounts(ptr, *self._tie_groups(k, *self.placed), *tables, out)
        else:
            sum_discounts(ptr, self.sorted_ranks, *tables, out)
        return out

    def _untied(self) -> tuple[Ints, Ints]:
        """Return `standing` where ties are broken by order; all labels are above one without a rank."""
        above = np.where(self.ranks == 0, self.n_ranked, self.ranks - 1)
        return above, np.ones_like(above)

    def _tie_groups(self, k: int | None, above: Ints, tied: Ints) -> tuple[Ints, Ints, Ints, Ints, Floats]:
        """Return what of the tie group of each relevant label is credited, see `sum_tied_discounts`."""
        below = self.unlisted is None
        n_credited = self.ranking.n_above if below else np.full(self.n_rows, self.n_ranked)
        deepest = self.n_ranked if k is None else min(k, self.n_ranked)
        start, stop = np.minimum(above, deepest), np.minimum(above + tied, deepest)
        return start, stop, tied, n_credited, discount_sums(stop, deepest) - discount_sums(start, deepest)

    def ideal_gain(self, k: int | None, conventions: Conventions) -> Floats:
        """Return the discounted gain of the ideal ranking."""
        if not conventions.graded:
            return discount_sums(self.n_relevant if k is None else np.minimum(self.n_relevant, k), k)
        out, tables = np.empty(self.n_rows), (first_discounts(k or self.n_labels), tabulated_logs())
        sum_ideal_gains(self.block.truth.ptr, self.gains, k or self.n_labels, *tables, out)
        return out

    @cached
    def gains(self) -> Floats:
        """Gain of each relevant label, of a truth that holds grades."""
        judged = self.block.judged
        assert judged is not None
        assert judged.gains is not None
        return judged.gains[judged.gains > 0]

    @cached
    def _of_judged(self) -> View:
        """The same ranking with the judged labels for relevant ones."""
        judged = self.block.judged
        assert judged is not None
        truth = Truth(judged.ptr, judged.labels)
        return View(self.block._replace(truth=truth, judged=None), self.n_labels, self.unlisted)

    def n_judged(self, k: int) -> Ints:
        """Return how many of the first k labels are judged."""
        view = self._of_judged
        within = np.concatenate(([0], np.cumsum((view.ranks > 0) & (view.ranks <= k))))
        return row_sizes(within[view.block.truth.ptr])

    def n_first(self, k: int) -> Ints:
        """Return how many labels the first k ranks hold, fewer than k where a list is shorter."""
        below = self.unlisted is None
        n_ranked = row_sizes(self.ranking.ptr) if below else np.full(self.n_rows, self.n_labels)
        return np.minimum(n_ranked, k)

    @once_a_decision
    def predicted(self, decision: Decision) -> Chosen:
        """Return the predicted sets under a decision."""
        pred = self.block.pred
        if decision.kind == "pred" or (decision.kind in LISTED and pred is not None):
            assert pred is not None
            return Chosen(row_sizes(pred.ptr), *pred[:2])
        if self.block.unknown and decision.of_each:  # which has numbers for known labels
            return self.inside.predicted(decision)
        return choose(decision, self.ranking, self.n_ranked, self.unlisted)

    @once_a_decision
    def hits(self, decision: Decision) -> tuple[Labels, Ints]:
        """Return the relevant predicted labels under a decision, and their number per row."""
        truth, predicted = self.block.truth, self.predicted(decision)
        n_within = np.empty(self.n_rows, np.int64)
        labels = np.empty(truth.labels.size + 1, truth.labels.dtype)
        n_hits = find_hits(*truth[:2], *predicted, n_within, labels)
        return labels[:n_hits], n_within

    @once_a_decision
    def counts(self, decision: Decision) -> Counts:
        """Return the contingency table of each row under a decision."""
        tp = self.hits(decision)[1].astype(np.float64)
        fp, fn = self.predicted(decision).cut - tp, self.n_relevant - tp
        tn = self.n_labels - fp
        tn -= self.n_relevant
        return Counts(tp, fp, fn, tn)

    @once_a_decision
    def closed_counts(self, decision: Decision, hierarchy: Hierarchy) -> Counts:
        """Return `counts` of sets with the ancestors of their labels."""
        truth, numbers = self.block.truth, np.empty((3, self.n_rows), np.int64)
        predicted = (self if self.block.unknown else self.inside).predicted(decision)
        narrow = self.n_rows < 1 << 30  # two marks a row
        marks = np.zeros(hierarchy.n_nodes, np.int32 if narrow else np.int64)
        up = hierarchy.ptr, hierarchy.labels, marks
        count_closed(truth.ptr, truth.labels, *predicted, *up, numbers)
        n_true, n_predicted, tp = numbers.astype(np.float64)
        tn = hierarchy.n_nodes - n_true - n_predicted + tp
        return Counts(tp, n_predicted - tp, n_true - tp, tn)


class Inside(View):
    """A view without unknown labels; sets are decided with them before."""

    def __init__(self, view: View) -> None:
        block, ranking, pred = view.block, view.block.ranking, view.block.pred
        if ranking is not None:
            keep = ranking.labels < view.n_labels
            ptr = pointer(keep)[ranking.ptr]
            scores = None if ranking.scores is None else ranking.scores[keep]
            ranking = ranking._replace(
                ptr=ptr, labels=ranking.labels[keep], scores=scores, n_above=row_sizes(ptr)
            )
        if pred is not None:
            keep = pred.labels < view.n_labels
            pred = Truth(pointer(keep)[pred.ptr], pred.labels[keep])
        super().__init__(
            block._replace(ranking=ranking, pred=pred, unknown=False), view.n_labels, view.unlisted
        )
        self._whole = weakref.ref(view)  # which keeps this one

    @once_a_decision
    def predicted(self, decision: Decision) -> Chosen:
        """Return the predicted sets under a decision."""
        if decision.of_each:
            return super().predicted(decision)
        whole = self._whole()
        assert whole is not None
        ptr, labels, _ = whole.predicted(decision).as_sets()
        keep = labels < self.n_labels
        ptr = pointer(keep)[ptr]
        return Chosen(row_sizes(ptr), ptr, labels[keep])
