"""Tables of the rows of one block, by number of relevant labels, jackknife group and rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bytes, Floats, Ints
from xmleval.input.vectors import Propensity
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.gains import WIDTH, sum_leading_gains
from xmleval.kernels.hit_tables import (
    LARGEST_SUM,
    MOST_TERMS,
    add_split_sums,
    count_hits,
    count_leading_hits,
    place_gains,
    sum_exact_gains,
    sum_gains,
    sum_ideals,
)
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.kernels.sorting import group_rows, longest_row
from xmleval.kernels.tie_orders import share_hits, share_hits_of_lists
from xmleval.numerics.exact import NO_WEIGHT
from xmleval.view.facts import Profile
from xmleval.view.view import View

NO_PROPENSITY = NO_WEIGHT  # kernels read this as 1 for every label


class Slots(NamedTuple):
    """Slots of tables, one for each key of the rows that add to them.

    keys : int64 (s,), ascending: number of relevant labels * number of jackknife groups + group
    n_rows : int64 (s,), number of rows of each slot
    slot_by_row : int64 (n,), slot of each row
    """

    keys: Ints
    n_rows: Ints
    slot_by_row: Ints


def find_slots(numbers: Ints, groups: Bytes | None = None) -> Slots:
    """Return the slots of rows.

    numbers : number of relevant labels of each row
    groups : jackknife group of each row, if any
    """
    n_rows = np.bincount(numbers)  # no number is far above the number of rows
    filled = n_rows.nonzero()[0]
    slots = np.empty(n_rows.size, np.int64)
    slots[filled] = np.arange(filled.size)
    by_number = Slots(filled, n_rows[filled], slots.take(numbers))
    if groups is None:
        return by_number
    by_group = find_slots(by_number.slot_by_row * N_GROUPS + groups)
    sizes = by_number.keys[by_group.keys // N_GROUPS]
    return by_group._replace(keys=sizes * N_GROUPS + by_group.keys % N_GROUPS)


def count_tables(
    view: View, slots: Slots, depth: int, propensity: Propensity | None
) -> dict[str, Ints]:
    """Return the rows and hits of a block and, with propensities, its gains and ideal gains.

    Weighted numbers and all gains are fixed-point sums. Gains are added up in one of three ways,
    with equal results. Split sums are faster than limbs, but exact only without weights and in a
    limited range. For short lists in order, vector lanes are still faster, and also find the hits.
    """
    is_plain = view.block.weight is None and view.ranks_are_places
    if is_plain and propensity is None:
        return _count_leading(view, slots, depth)
    if propensity is None:
        return _count_ranked(view, slots, depth)
    n_places = min(depth, int(view.n_relevant.max(initial=0)))  # of ideal gains
    has_split = view.block.weight is None and _are_splits_exact(propensity, view.n_rows)
    if is_plain and has_split and n_places <= WIDTH:
        width = min(depth, longest_row(view.ranking.ptr))
        if width <= WIDTH:
            return _count_by_lanes(view, slots, width, n_places, propensity.values)
    tables = _count_ranked(view, slots, depth)
    sum_tables = _sum_split_gains if has_split else _sum_gains
    return tables | sum_tables(view, slots, tables["hits"].shape[1], n_places, propensity.values)


def share_ties(
    view: View, slots: Slots, table: Ints, cutoffs: Ints, depth: int, propensity: Floats
) -> tuple[Ints, Ints]:
    """Return hits, or gains, expected over all orders of equal scores, from those in order.

    They are those down to each cutoff, int64 (slots, c, limbs), and those at each rank, int64
    (slots, ranks, limbs).

    table : hits, or gains, by rank in order
    cutoffs : int64 (c,), ascending
    depth : largest rank of hits by rank, 0 for none
    propensity : float64 (n_labels,), what labels gain, or (0,) if all gain 1
    """
    n_slots = table.shape[0]
    leading = _limbs(n_slots, cutoffs.size)
    for place, cutoff in enumerate(cutoffs.tolist()):
        _add_counts(table[:, :cutoff].sum(axis=1), leading[:, place])
    carry(leading.reshape(-1, LIMBS))
    has_ties = _may_have_ties(view)
    width = min(depth, table.shape[1])
    if depth and has_ties:  # a tie group may end behind the last hit
        width = min(depth, max(width, _last_tied_rank(view)))
    shared = _limbs(n_slots, width)
    _add_counts(table[:, :depth], shared[:, : table.shape[1]])
    if has_ties:
        _share(view, slots, propensity, cutoffs, leading, shared)
    return leading, shared


def _may_have_ties(view: View) -> bool:
    """Return whether scores of a block may be equal."""
    ranking = view.ranking
    if not (ranking.ordered and view.unlisted is None):
        return True
    return ranking.scores is not None and (ranking.raw is None or ranking.raw.ties)


def _last_tied_rank(view: View) -> int:
    """Return a rank that no tie group of a hit ends behind."""
    if view.ranks_are_places:
        return longest_row(view.ranking.ptr)
    above, tied = view.standing
    return int((above + tied)[view.ranks > 0].max(initial=0))


def _share(
    view: View, slots: Slots, propensity: Floats, cutoffs: Ints, leading: Ints, shared: Ints
) -> None:
    """Make hits, or gains, of a block expected ones; see `share_ties`."""
    ptr, labels = view.block.truth[:2]
    weight = view.block.weight
    if weight is None:
        weight = NO_WEIGHT
    tables = cutoffs, leading, shared
    if view.ranks_are_places:
        assert view.ranking.scores is not None
        lists = *view.ranking[:2], view.ranking.scores
        share_hits_of_lists(ptr, labels, *lists, slots.slot_by_row, propensity, weight, *tables)
        return
    gains = propensity
    if propensity.size:
        gains = propensity[labels]
    share_hits(ptr, *view.standing, view.ranks, slots.slot_by_row, gains, weight, *tables)


def _add_counts(counts: Ints, sums: Ints) -> None:
    """Add integers, or fixed-point sums, to fixed-point sums."""
    if counts.ndim == sums.ndim:
        sums += counts
    else:
        sums[..., 0] += counts


def _count_leading(view: View, slots: Slots, depth: int) -> dict[str, Ints]:
    """Return the rows and hits of lists whose places are their ranks, without weights."""
    width = min(depth, longest_row(view.ranking.ptr))
    hits = np.zeros((slots.keys.size, width), np.int64)
    count_leading_hits(*view.block.truth[:2], *view.ranking[:2], slots.slot_by_row, hits)
    return {"rows": slots.n_rows[:, None], "hits": hits}


def _count_ranked(view: View, slots: Slots, depth: int) -> dict[str, Ints]:
    """Return the rows and hits of any lists."""
    ptr, labels = view.block.truth[:2]
    weight = view.block.weight
    ranks = view.ranks
    n_slots = slots.keys.size
    width = min(depth, int(ranks.max(initial=0)))
    if weight is None:
        hits = np.zeros((n_slots, width + 1), np.int64)
        count_hits(ptr, ranks, slots.slot_by_row, hits)
        return {"rows": slots.n_rows[:, None], "hits": hits[:, 1:]}
    tables = {"rows": _limbs(n_slots, 1), "hits": _limbs(n_slots, width)}
    # the weights of rows are those of hits at rank 1, one for each row
    row_ptr = np.arange(view.n_rows + 1)
    row_ranks = np.ones(view.n_rows, np.int64)
    common = slots.slot_by_row, NO_PROPENSITY, weight
    sum_gains(row_ptr, labels, row_ranks, *common, tables["rows"])
    sum_gains(ptr, labels, ranks, *common, tables["hits"])
    return tables


def _sum_split_gains(
    view: View, slots: Slots, width: int, n_places: int, propensity: Floats
) -> dict[str, Ints]:
    """Return the gains and ideal gains, added up in split sums."""
    ptr, labels = view.block.truth[:2]
    n_slots = slots.keys.size
    gains = np.zeros((n_slots, width + 1, 2))
    ideals = np.zeros((n_slots, n_places, 2))
    sum_exact_gains(ptr, labels, view.ranks, slots.slot_by_row, propensity, gains, ideals)
    return {"gains": _as_limbs(gains[:, 1:]), "ideals": _as_limbs(ideals)}


def _sum_gains(
    view: View, slots: Slots, width: int, n_places: int, propensity: Floats
) -> dict[str, Ints]:
    """Return the gains and ideal gains, added up in limbs."""
    ptr, labels = view.block.truth[:2]
    weight = view.block.weight
    if weight is None:
        weight = NO_WEIGHT
    n_slots = slots.keys.size
    gains = _limbs(n_slots, width)
    ideals = _limbs(n_slots, n_places)
    sum_gains(ptr, labels, view.ranks, slots.slot_by_row, propensity, weight, gains)
    sum_ideals(ptr, labels, slots.slot_by_row, propensity, weight, ideals)
    return {"gains": gains, "ideals": ideals}


def _count_by_lanes(
    view: View, slots: Slots, width: int, n_places: int, propensity: Floats
) -> dict[str, Ints]:
    """Return all tables of lists of up to `WIDTH` labels whose places are their ranks."""
    n_slots = slots.keys.size
    starts = np.append(0, np.cumsum(slots.n_rows))
    order = np.empty(view.n_rows, np.int64)
    group_rows(slots.slot_by_row, starts[:-1].copy(), order)
    hits = np.zeros((n_slots, width), np.int64)
    gains = np.zeros((n_slots, width, 2))
    ideals = np.zeros((n_slots, n_places, 2))
    sum_leading_gains(
        *view.block.truth[:2], *view.ranking[:2], order, starts, propensity, hits, gains, ideals
    )
    return {
        "rows": slots.n_rows[:, None],
        "hits": hits,
        "gains": _as_limbs(gains),
        "ideals": _as_limbs(ideals),
    }


def _are_splits_exact(propensity: Propensity, n_rows: int) -> bool:
    """Return whether split sums of the gains of so many rows are exact."""
    return (
        propensity.lowest >= 1 and n_rows < MOST_TERMS and n_rows * propensity.highest < LARGEST_SUM
    )


def _limbs(*shape: int) -> Ints:
    return np.zeros((*shape, LIMBS), np.int64)


def _as_limbs(sums: Floats) -> Ints:
    """Return split sums, float64 (slots, places, 2), in fixed point."""
    limbs = _limbs(*sums.shape[:2])
    add_split_sums(np.ascontiguousarray(sums).reshape(-1, 2), limbs.reshape(-1, LIMBS))
    return limbs


def profile_of_rows(view: View, depth: int, propensity: Propensity | None) -> Profile:
    """Return the profile of the single rows of a block, with gains if propensities are given."""
    ptr, labels = view.block.truth[:2]
    width = min(depth, int(view.ranks.max(initial=0)))
    hits = np.zeros((width, view.n_rows)).T  # formulas add up columns
    place_gains(ptr, labels, view.ranks, NO_PROPENSITY, hits)
    gains = None
    if propensity is not None:
        gains = np.zeros((width, view.n_rows)).T
        place_gains(ptr, labels, view.ranks, propensity.values, gains)
    return Profile(view.n_relevant, np.ones(view.n_rows), hits, gains, None)
