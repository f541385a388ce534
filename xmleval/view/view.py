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
from xmleval.input.canonical import RankedRows, Truth
from xmleval.input.rows import pointer
from xmleval.input.sets import relevant_of
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
from xmleval.kernels.powers import sum_powers
from xmleval.kernels.preferences import count_preferences, find_interpolated, sum_cascades
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
from xmleval.kernels.tie_orders import (
    find_first_groups,
    find_first_groups_of_lists,
    place_ranks,
)
from xmleval.numerics.discounts import discount_sums, first_discounts, tabulated_logs
from xmleval.view.block import Block, Hierarchy
from xmleval.view.decision import LISTED, Decision, PredictedSets, choose, leading_entries
from xmleval.view.expected import Expected
from xmleval.view.facts import Counts, Extremes, FirstGroup, TieSummary

Method = TypeVar("Method", bound=Callable[..., Any])
# names of facts of a truth
GROUP = "group"
GROUP_ORDER = "group order"
# relevant labels of a row up to which counting higher scores of each is faster than sorting
COUNTED = 512


def sort_ranking(ranking: RankedRows) -> RankedRows:
    """Return a copy of a ranking, sorted best first."""
    assert ranking.scores is not None
    labels = ranking.labels.copy()
    scores = ranking.scores.copy()
    rank_rows(ranking.ptr, labels, scores)
    return ranking._replace(labels=labels, scores=scores, ordered=True)


def add_jackknife_groups(block: Block) -> Block:
    """Return a block with jackknife groups, by default those of row numbers in all data."""
    if block.jackknife is not None:
        return block
    shared = shared_facts(block)
    if GROUP not in shared:
        n_rows = block.truth.ptr.size - 1
        shared[GROUP] = np.empty(n_rows, np.uint8)
        row_numbers = np.arange(block.first_row, block.first_row + n_rows)
        find_groups(row_numbers, shared[GROUP])
    return block._replace(jackknife=shared[GROUP])


def shared_facts(block: Block) -> dict[str, Any]:
    """Return the facts of the truth of a block by name, to which facts may be added."""
    if block.facts is not None and block.facts.truth is block.truth:
        return block.facts.shared
    return {}


def cached_by_decision(compute: Method) -> Method:
    """Make a method of a view compute its value once for each decision."""

    @wraps(compute)
    def compute_once(view: View, decision: Decision, *arguments: object) -> object:
        key = (compute.__name__, decision.name)
        value = view.by_decision.get(key)
        if value is None:
            value = compute(view, decision, *arguments)
            view.by_decision[key] = value
        return value

    return cast(Method, compute_once)


class View:
    """A block and the facts that measures read from it, computed on first use."""

    all_ranked = True  # whether each listed label has its rank, so that hits can be found in lists

    def __init__(self, block: Block, n_labels: int, unlisted: float | None) -> None:
        self.n_relevant: Ints = row_sizes(block.truth.ptr)
        self.n_rows = self.n_relevant.size
        ranking = block.ranking
        if ranking and not ranking.ordered and self.n_relevant.max(initial=0) > COUNTED:
            block = block._replace(ranking=sort_ranking(ranking))
        self.block = block
        self.shared = shared_facts(block)
        self.n_labels = n_labels
        self.unlisted = unlisted
        self.by_decision: dict[tuple[str, str], Any] = {}
        self.by_least_gain: dict[float, View | None] = {}

    @property
    def inside(self) -> View:
        """The same rows without unknown labels, which take no rank; predicted sets are kept."""
        return self._inside if self.block.unknown else self

    @cached
    def _inside(self) -> View:
        return Inside(self)

    @cached
    def n_cells(self) -> Ints:
        """Numbers of judged labels of rows, relevant or not."""
        if self.block.cells is None:
            return np.full(self.n_rows, self.n_labels)
        return self.block.cells.sizes(self.n_labels)

    @cached
    def n_ranked(self) -> int:
        """Number of labels, or more where lists contain unknown labels: no rank exceeds it."""
        ranking = self.block.ranking
        if ranking is None or not self.block.unknown:
            return self.n_labels
        return self.n_labels + int(row_sizes(ranking.ptr).max(initial=0))

    @property
    def ranking(self) -> RankedRows:
        """The block's ranking."""
        assert self.block.ranking is not None
        return self.block.ranking

    @property
    def jackknife(self) -> Bytes:
        """Jackknife groups of rows."""
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
        """Rows ordered by jackknife group, and where each group starts."""
        if GROUP_ORDER not in self.shared:
            starts = pointer(np.bincount(self.jackknife, minlength=N_GROUPS))
            rows = np.empty(self.n_rows, np.int64)
            group_rows(self.jackknife, starts[:-1].copy(), rows)
            self.shared[GROUP_ORDER] = rows, starts
        return tuple(self.shared[GROUP_ORDER])

    @cached
    def positions(self) -> Ints:
        """Positions (from 1) of relevant labels in their lists, 0 if unlisted."""
        ranking = self.ranking
        truth = self.block.truth
        positions = np.empty(truth.labels.size, np.int64)
        find_positions(ranking.ptr, ranking.labels, truth.ptr, truth.labels, positions)
        return positions

    @cached
    def relevant_entries(self) -> Bools:
        """Whether each listed entry is relevant."""
        ranking = self.ranking
        truth = self.block.truth
        flags = np.empty(ranking.labels.size, np.bool_)
        flag_listed(ranking.ptr, ranking.labels, truth.ptr, truth.labels, flags)
        return flags

    @cached
    def last_scores(self) -> Scores:
        """Lowest scores of rows, infinite for an empty list."""
        assert self.ranking.scores is not None
        last = np.empty(self.n_rows, self.ranking.scores.dtype)
        find_last(self.ranking.ptr, self.ranking.scores, last)
        return last

    @cached
    def extremes(self) -> Extremes:
        """Extremes of rows, NaN also if a row with pairs lacks a score for some label."""
        ranking = self.ranking
        assert ranking.scores is not None
        unlisted = self._unlisted_score(ranking.scores)
        extremes = Extremes(np.empty(self.n_rows), np.empty(self.n_rows))
        flags = self.relevant_entries
        find_extremes(
            ranking.ptr, ranking.scores, flags, self.n_relevant, self.n_cells, unlisted, *extremes
        )
        return extremes

    def _unlisted_score(self, scores: Scores) -> float:
        """Return the score of unlisted labels as listed scores have it, NaN for below all."""
        if self.unlisted is None:
            return np.nan
        return as_score(self.unlisted, scores)

    @cached
    def missing(self) -> tuple[Ints, Labels]:
        """Rows and labels of the unlisted relevant labels."""
        unlisted = self.positions == 0
        rows = np.repeat(np.arange(self.n_rows), self.n_relevant)[unlisted]
        return rows, self.block.truth.labels[unlisted]

    @cached
    def n_unlisted_irrelevant(self) -> Ints:
        """Numbers of unlisted irrelevant labels, by row."""
        n_missing = np.bincount(self.missing[0], minlength=self.n_rows)
        n_irrelevant_listed = row_sizes(self.ranking.ptr) - (self.n_relevant - n_missing)
        return self.n_cells - self.n_relevant - n_irrelevant_listed

    @cached
    def _counted(self) -> tuple[Ints, Ints, Ints]:
        """Entries above and tied with listed relevant labels, and ranks, for unordered rows."""
        scores = self.ranking.scores
        assert scores is not None
        above, tied, ranks = np.zeros((3, self.positions.size), np.int64)
        count_places(
            self.positions, self.block.truth.ptr, self.ranking.ptr, scores, above, tied, ranks
        )
        return above, tied, ranks

    @cached
    def ranks(self) -> Ints:
        """Ranks of relevant labels, 0 for unlisted ones unless they have a score."""
        truth = self.block.truth
        ranking = self.ranking
        if ranking.ordered:
            listed_ranks = self.positions
        else:
            _, _, listed_ranks = self._counted
        if self.unlisted is None:
            return listed_ranks
        ranks = listed_ranks.copy()
        rank_positions(listed_ranks, truth.ptr, ranking.ptr, ranking.n_above, self.n_labels, ranks)
        relevant = truth.labels
        listed = ranking.labels
        order = ranking.tie_order
        if order is not None:
            relevant = order.take(relevant)
            listed = order.take(listed)
        rank_unlisted(
            self.positions, truth.ptr, relevant, ranking.ptr, listed, ranking.n_above, ranks
        )
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
        if self.ranking.ordered:
            above, tied = self._find_standing()
        else:
            above, tied = self._count_standing()
        if self.block.unknown:  # unlisted labels are tied, and unknown ones not among them
            n_unknown = row_sizes(self.ranking.ptr) - row_sizes(self.inside.ranking.ptr)
            tied += np.where(self.positions == 0, np.repeat(n_unknown, self.n_relevant), 0)
        return above, tied

    def _count_standing(self) -> tuple[Ints, Ints]:
        """Return `standing` in rows that are not ordered."""
        truth = self.block.truth
        ranking = self.ranking
        assert ranking.scores is not None
        above, tied = (array.copy() for array in self._counted[:2])
        place_unlisted(
            self.positions,
            truth.ptr,
            ranking.ptr,
            ranking.scores,
            self._unlisted_score(ranking.scores),
            self.n_cells,
            above,
            tied,
        )
        return above, tied

    def _find_standing(self) -> tuple[Ints, Ints]:
        """Return `standing` in ordered rows."""
        truth = self.block.truth
        ranking = self.ranking
        above = np.empty_like(truth.labels, np.int64)
        tied = np.empty_like(truth.labels, np.int64)
        scores = self._list_scores
        n_above = ranking.n_above
        if self.unlisted is not None:
            n_above = np.empty_like(n_above)
            count_leading(ranking.ptr, scores, as_score(self.unlisted, scores), False, n_above)
        find_ties(
            self.positions,
            truth.ptr,
            ranking.ptr,
            scores,
            n_above,
            ranking.n_above,
            self.n_cells,
            above,
            tied,
        )
        return above, tied

    @property
    def ranks_are_places(self) -> bool:
        """Whether the rank of every listed label is its place in the list, and others have none."""
        return self.all_ranked and self.ranking.ordered and self.unlisted is None

    @cached
    def placed(self) -> tuple[Ints, Ints]:
        """`standing`, worst first within each row."""
        if self.ranks_are_places and not self.block.unknown:
            return self._placed_by_rank()
        above, tied = (array.copy() for array in self.standing)
        sort_ties(self.block.truth.ptr, above, tied)
        return above, tied

    def _placed_by_rank(self) -> tuple[Ints, Ints]:
        """Return `placed` in lists whose places are the ranks."""
        ranks = self.sorted_ranks
        above, tied = np.empty((2, ranks.size), np.int64)
        ptr = self.block.truth.ptr
        place_ranks(ptr, ranks, self.ranking.ptr, self._list_scores, self.n_cells, above, tied)
        return above, tied

    @property
    def _list_scores(self) -> Scores:
        """Scores of lists, none for lists without."""
        scores = self.ranking.scores
        return np.empty(0, np.float32) if scores is None else scores

    @cached
    def first_group(self) -> FirstGroup:
        """The first tie group with relevant labels, by row."""
        group = FirstGroup(*np.empty((3, self.n_rows), np.int64))
        ptr = self.block.truth.ptr
        if self.ranks_are_places:
            lists = self.ranking.ptr, self._list_scores
            find_first_groups_of_lists(ptr, self.ranks, *lists, *group)
        else:
            find_first_groups(ptr, *self.standing, *group)
        return group

    @cached
    def ties(self) -> TieSummary:
        """Facts of tie groups per row."""
        worst = np.empty(self.n_rows, np.int64)
        sums = np.empty((4, self.n_rows))
        summarise_ties(self.block.truth.ptr, *self.placed, worst, *sums)
        return TieSummary(worst, *sums)

    @cached
    def best_ranks(self) -> tuple[Ints, Ints]:
        """First credited ranks of rows (0 for none), and hits in their first R ranks.

        R is the number of relevant labels of a row.
        """
        first = np.empty(self.n_rows, np.int64)
        n_within = np.empty(self.n_rows, np.int64)
        summarise_ranks(self.block.truth.ptr, self.ranks, first, n_within)
        return first, n_within

    def precision_sum(self, k: int | None) -> Floats:
        """Return the sum of the precisions at the hits in the top k, or in the whole ranking."""
        out = np.empty(self.n_rows, np.float64)
        sum_precisions(self.block.truth.ptr, self.sorted_ranks, k or self.n_ranked, out)
        return out

    def power_sum(self, base: float, k: int | None) -> Floats:
        """Return the sum of base^(rank - 1) over the hits in the top k, or in the whole ranking."""
        out = np.empty(self.n_rows)
        sum_powers(self.block.truth.ptr, self.sorted_ranks, k or self.n_ranked, base, out)
        return out

    def gain(self, k: int | None, conventions: Conventions) -> Floats:
        """Return the discounted gain of the first k or the whole ranking.

        By the conventions, ties are broken by order or share the mean discount of their ranks, and
        relevant labels gain 1 or their grade.
        """
        tied = conventions.shares_discounts
        if conventions.has_gains:
            places = self.standing if tied else self._untied()
            return self._sum_shares(k, *places, self.gains)
        out = np.empty(self.n_rows)
        ptr = self.block.truth.ptr
        tables = first_discounts(k or self.n_ranked), tabulated_logs()
        if tied:
            sum_tied_discounts(ptr, *self._tie_groups(k, *self.placed), *tables, out)
        else:
            sum_discounts(ptr, self.sorted_ranks, *tables, out)
        return out

    def shared_gain(self, k: int | None, gains: Floats) -> Floats:
        """Return the discounted gain where equal scores share the mean discount of their ranks.

        gains : float64 (t,), of relevant labels
        """
        return self._sum_shares(k, *self.standing, gains)

    def _sum_shares(self, k: int | None, above: Ints, tied: Ints, gains: Floats) -> Floats:
        """Return the sum of gains times the mean discount of their tie group."""
        out = np.empty(self.n_rows)
        tables = first_discounts(k or self.n_ranked), tabulated_logs()
        groups = self._tie_groups(k, above, tied)
        share_graded_discounts(self.block.truth.ptr, *groups, gains, *tables, out)
        return out

    def _untied(self) -> tuple[Ints, Ints]:
        """Return `standing` with ties broken by order; labels without a rank are below all."""
        above = np.where(self.ranks == 0, self.n_ranked, self.ranks - 1)
        return above, np.ones_like(above)

    @cached
    def n_credited(self) -> Ints:
        """Number of labels with a rank, by row; the others earn nothing at k."""
        if self.unlisted is None:
            return self.ranking.n_above
        return np.full(self.n_rows, self.n_ranked)

    @property
    def expected(self) -> Expected:
        """Mean values over all orders of equal scores."""
        return Expected(self.block.truth.ptr, self)

    def _tie_groups(
        self, k: int | None, above: Ints, tied: Ints
    ) -> tuple[Ints, Ints, Ints, Ints, Floats]:
        """Return the credited part of tie groups of relevant labels, for `sum_tied_discounts`."""
        deepest = self.n_ranked
        if k is not None:
            deepest = min(k, deepest)
        start = np.minimum(above, deepest)
        stop = np.minimum(above + tied, deepest)
        discounts = discount_sums(stop, deepest) - discount_sums(start, deepest)
        return start, stop, tied, self.n_credited, discounts

    def ideal_gain(self, k: int | None, conventions: Conventions) -> Floats:
        """Return the discounted gain of the ideal ranking."""
        return self.ideal_gain_of(k, self.gains if conventions.has_gains else None)

    def ideal_gain_of(self, k: int | None, gains: Floats | None) -> Floats:
        """Return the discounted gain of the ideal ranking.

        gains : float64 (t,), of relevant labels; None for 1
        """
        if gains is None:
            n_ranks = self.n_relevant if k is None else np.minimum(self.n_relevant, k)
            return discount_sums(n_ranks, k)
        out = np.empty(self.n_rows)
        tables = (first_discounts(k or self.n_labels), tabulated_logs())
        sum_ideal_gains(self.block.truth.ptr, gains, k or self.n_labels, *tables, out)
        return out

    @cached
    def gains(self) -> Floats:
        """Gains of relevant labels, for a truth with grades."""
        judged = self.block.judged
        assert judged is not None
        assert judged.gains is not None
        return judged.gains[judged.gains > 0]

    @property
    def of_gains(self) -> View:
        """The same rows, in which all labels with a positive gain are relevant."""
        return self._of_gains or self

    @cached
    def _of_gains(self) -> View | None:
        """`of_gains`, None where these labels are the relevant ones."""
        judged = self.block.judged
        if judged is None:
            return None
        positive = relevant_of(judged)
        if positive.labels.size == self.block.truth.labels.size:
            return None
        return View(self.block._replace(truth=positive), self.n_labels, self.unlisted)

    def relevant_from(self, least_gain: float) -> View:
        """Return the same rows, in which labels from a gain on are relevant; 0 for all above 0."""
        if least_gain not in self.by_least_gain:
            self.by_least_gain[least_gain] = self._relevant_from(least_gain)
        return self.by_least_gain[least_gain] or self

    def _relevant_from(self, least_gain: float) -> View | None:
        """Return `relevant_from`, None where these labels are the relevant ones."""
        block = self._block_from(least_gain)
        return None if block is None else View(block, self.n_labels, self.unlisted)

    def _block_from(self, least_gain: float) -> Block | None:
        """Return the block of `relevant_from`, None where its labels are the relevant ones."""
        judged = self.block.judged
        if judged is None:
            return None
        relevant = relevant_of(judged, least_gain)
        if relevant.labels.size == self.block.truth.labels.size:
            return None
        return self.block._replace(truth=relevant)

    @cached
    def judged_view(self) -> View:
        """The same ranking, in which all judged labels are relevant."""
        judged = self.block.judged
        assert judged is not None
        truth = Truth(judged.ptr, judged.labels)
        return View(self.block._replace(truth=truth, judged=None), self.n_labels, self.unlisted)

    @cached
    def judged_irrelevant_view(self) -> View:
        """The same ranking, in which the judged labels that are not relevant are."""
        judged = self.block.judged
        assert judged is not None
        positions = np.empty(self.block.truth.labels.size, np.int64)
        find_positions(*judged[:2], *self.block.truth[:2], positions)
        is_irrelevant = np.ones(judged.labels.size, np.bool_)
        is_irrelevant[np.repeat(judged.ptr[:-1], self.n_relevant) + positions - 1] = False
        truth = Truth(pointer(is_irrelevant)[judged.ptr], judged.labels[is_irrelevant])
        return View(self.block._replace(truth=truth, judged=None), self.n_labels, self.unlisted)

    @cached
    def preferences(self) -> tuple[Ints, Ints]:
        """Numbers of ranked relevant labels, and of judged irrelevant ones above each, at most R.

        The latter are summed over the labels of a row.
        """
        other = self.judged_irrelevant_view
        n_ranked, n_above = np.empty((2, self.n_rows), np.int64)
        ranks = self.block.truth.ptr, self.sorted_ranks, other.block.truth.ptr, other.sorted_ranks
        count_preferences(*ranks, n_ranked, n_above)
        return n_ranked, n_above

    def cascade_sum(self, shares: Floats, k: int) -> Floats:
        """Return the expected reciprocal of the rank at which a reader stops in the top k.

        shares : float64 (t,), chance of each relevant label to satisfy the reader
        """
        ptr = self.block.truth.ptr
        rows = np.repeat(np.arange(self.n_rows), self.n_relevant)
        order = np.lexsort((self.ranks, rows))
        out = np.empty(self.n_rows)
        sum_cascades(ptr, self.ranks[order], shares[order], k, out)
        return out

    def interpolated_precision(self, n_needed: Ints) -> Floats:
        """Return the largest precision at any rank with at least a number of hits, by row."""
        out = np.empty(self.n_rows)
        find_interpolated(self.block.truth.ptr, self.sorted_ranks, n_needed, out)
        return out

    def n_judged(self, k: int) -> Ints:
        """Return how many of the first k labels are judged."""
        view = self.judged_view
        is_first = (view.ranks > 0) & (view.ranks <= k)
        n_first_before = np.concatenate(([0], np.cumsum(is_first)))
        return row_sizes(n_first_before[view.block.truth.ptr])

    def n_first(self, k: int) -> Ints:
        """Return the number of labels in the first k ranks, less than k where a list is shorter."""
        if self.unlisted is None:
            n_ranked = row_sizes(self.ranking.ptr)
        else:
            n_ranked = np.full(self.n_rows, self.n_labels)
        return np.minimum(n_ranked, k)

    @cached_by_decision
    def predicted(self, decision: Decision) -> PredictedSets:
        """Return the predicted sets under a decision."""
        pred = self.block.pred
        if decision.kind == "pred" or (decision.kind in LISTED and pred is not None):
            assert pred is not None
            return PredictedSets(row_sizes(pred.ptr), *pred[:2])
        if self.block.unknown and decision.of_each:  # it has no numbers for unknown labels
            return self.inside.predicted(decision)
        return choose(decision, self.candidates(decision), self.n_ranked, self.unlisted)

    @cached_by_decision
    def candidates(self, decision: Decision) -> RankedRows:
        """Return the entries from which sets are chosen, best first."""
        if self.ranking.ordered:
            return self.ranking
        return leading_entries(decision, self.ranking)

    @cached_by_decision
    def hits(self, decision: Decision) -> tuple[Labels, Ints]:
        """Return the relevant predicted labels under a decision, and their number per row."""
        truth = self.block.truth
        predicted = self.predicted(decision)
        n_within = np.empty(self.n_rows, np.int64)
        labels = np.empty(truth.labels.size + 1, truth.labels.dtype)
        n_hits = find_hits(*truth[:2], *predicted, n_within, labels)
        return labels[:n_hits], n_within

    @cached_by_decision
    def counts(self, decision: Decision) -> Counts:
        """Return the contingency tables of rows under a decision."""
        tp = self.hits(decision)[1].astype(np.float64)
        fp = self.predicted(decision).cut - tp
        fn = self.n_relevant - tp
        tn = self.n_cells - fp
        tn -= self.n_relevant
        return Counts(tp, fp, fn, tn)

    @cached_by_decision
    def closed_counts(self, decision: Decision, hierarchy: Hierarchy) -> Counts:
        """Return `counts` of sets with the ancestors of their labels."""
        truth = self.block.truth
        numbers = np.empty((3, self.n_rows), np.int64)
        predicted = self.predicted(decision)
        has_few_rows = self.n_rows < 1 << 30  # two marks a row
        marks = np.zeros(hierarchy.n_nodes, np.int32 if has_few_rows else np.int64)
        ancestors = hierarchy.ptr, hierarchy.labels, marks
        count_closed(truth.ptr, truth.labels, *predicted, *ancestors, numbers)
        n_true, n_predicted, tp = numbers.astype(np.float64)
        tn = hierarchy.n_nodes - n_true - n_predicted + tp
        return Counts(tp, n_predicted - tp, n_true - tp, tn)


class Inside(View):
    """A view without unknown labels; sets are decided with them before."""

    def __init__(self, view: View) -> None:
        block = view.block
        ranking = view.block.ranking
        pred = view.block.pred
        if ranking is not None:
            keep = ranking.labels < view.n_labels
            ptr = pointer(keep)[ranking.ptr]
            scores = ranking.scores
            if scores is not None:
                scores = scores[keep]
            ranking = ranking._replace(
                ptr=ptr, labels=ranking.labels[keep], scores=scores, n_above=row_sizes(ptr)
            )
        if pred is not None:
            keep = pred.labels < view.n_labels
            pred = Truth(pointer(keep)[pred.ptr], pred.labels[keep])
        block = block._replace(ranking=ranking, pred=pred, unknown=False)
        super().__init__(block, view.n_labels, view.unlisted)
        self._whole = weakref.ref(view)  # which keeps this one

    def _relevant_from(self, least_gain: float) -> View | None:
        whole = self._whole()
        assert whole is not None
        view = whole.relevant_from(least_gain)
        return None if view is whole else view.inside

    @cached_by_decision
    def predicted(self, decision: Decision) -> PredictedSets:
        """Return the predicted sets under a decision."""
        if decision.of_each:
            return super().predicted(decision)
        whole = self._whole()
        assert whole is not None
        ptr, labels, _ = whole.predicted(decision).as_sets()
        keep = labels < self.n_labels
        ptr = pointer(keep)[ptr]
        return PredictedSets(row_sizes(ptr), ptr, labels[keep])
