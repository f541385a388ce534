"""Tables of the rows of one block, by number of relevant labels, jackknife group and rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bytes, Floats, Ints
from xmleval.input.vectors import Propensity
from xmleval.kernels.fixed import LIMBS
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
from xmleval.numerics.exact import NO_WEIGHT
from xmleval.view.facts import Profile
from xmleval.view.view import View

NO_PROPENSITY = NO_WEIGHT  # kernels read this as 1 for every label


class Slots(NamedTuple):
    """The slots of the tables that rows add to: one for each key that they have.

    keys : int64 (s,), rising: number of relevant labels * number of jackknife groups + group
    n_rows : int64 (s,); of_rows : int64 (n,), slot of each row
    """

    keys: Ints
    n_rows: Ints
    of_rows: Ints


def slots_of(numbers: Ints, groups: Bytes | None = None) -> Slots:
    """Return the slots of rows by their numbers of relevant labels and, if any, their jackknife groups."""
    n_rows = np.bincount(numbers)  # no number is far above that of the rows
    filled = n_rows.nonzero()[0]
    places = np.empty(n_rows.size, np.int64)
    places[filled] = np.arange(filled.size)
    slots = Slots(filled, n_rows[filled], places.take(numbers))
    if groups is None:
        return slots
    keys, n_rows, of_rows = slots_of(slots.of_rows * N_GROUPS + groups)
    return Slots(slots.keys[keys // N_GROUPS] * N_GROUPS + keys % N_GROUPS, n_rows, of_rows)


def tables_of(view: View, slots: Slots, depth: int, propensity: Propensity | None) -> dict[str, Ints]:
    """Return the rows and hits of a block and, with propensities, its gains and ideal gains.

    Weighted numbers and all gains are fixed-point sums. Gains are added up in one of three ways, with equal
    results. Split sums are faster than limbs, but exact only without weights and in some range. Of short
    lists in order, vector lanes are faster still, and find the hits on their way.
    """
    (ptr, labels), weight, n_slots = view.block.truth[:2], view.block.weight, slots.keys.size
    n_places = min(depth, int(view.n_relevant.max(initial=0)))  # of ideal gains
    splits = propensity is not None and weight is None and _splits(propensity, view.n_rows)
    if propensity is not None and splits and n_places <= WIDTH and _ranks_are_places(view):
        width = min(depth, longest_row(view.ranking.ptr))
        if width <= WIDTH:
            return _tables_by_lanes(view, slots, width, n_places, propensity.values)
    if propensity is None and weight is None and _ranks_are_places(view):
        hits = np.zeros((n_slots, min(depth, longest_row(view.ranking.ptr))), np.int64)
        count_leading_hits(ptr, labels, *view.ranking[:2], slots.of_rows, hits)
        return {"rows": slots.n_rows[:, None], "hits": hits}
    ranks, of_rows = view.ranks, slots.of_rows
    width = min(depth, int(ranks.max(initial=0)))
    if weight is None:
        hits = np.zeros((n_slots, width + 1), np.int64)
        count_hits(ptr, ranks, of_rows, hits)
        tables = {"rows": slots.n_rows[:, None], "hits": hits[:, 1:]}
    else:
        tables = {"rows": _limbs(n_slots, 1), "hits": _limbs(n_slots, width)}
        each_at_first = np.arange(view.n_rows + 1), labels, np.ones(view.n_rows, np.int64)
        sum_gains(*each_at_first, of_rows, NO_PROPENSITY, weight, tables["rows"])
        sum_gains(ptr, labels, ranks, of_rows, NO_PROPENSITY, weight, tables["hits"])
    if propensity is not None and splits:
        gains, ideals = np.zeros((n_slots, width + 1, 2)), np.zeros((n_slots, n_places, 2))
        sum_exact_gains(ptr, labels, ranks, of_rows, propensity.values, gains, ideals)
        tables |= {"gains": _in_limbs(gains[:, 1:]), "ideals": _in_limbs(ideals)}
    elif propensity is not None:
        weight = NO_WEIGHT if weight is None else weight
        tables |= {"gains": _limbs(n_slots, width), "ideals": _limbs(n_slots, n_places)}
        sum_gains(ptr, labels, ranks, of_rows, propensity.values, weight, tables["gains"])
        sum_ideals(ptr, labels, of_rows, propensity.values, weight, tables["ideals"])
    return tables


def _tables_by_lanes(view: View, slots: Slots, width: int, n_places: int, q: Floats) -> dict[str, Ints]:
    """Return the tables of lists of up to `WIDTH` labels, whose places are their ranks."""
    n_slots, starts = slots.keys.size, np.append(0, np.cumsum(slots.n_rows))
    order = np.empty(view.n_rows, np.int64)
    group_rows(slots.of_rows, starts[:-1].copy(), order)
    hits, gains = np.zeros((n_slots, width), np.int64), np.zeros((n_slots, width, 2))
    ideals = np.zeros((n_slots, n_places, 2))
    sum_leading_gains(*view.block.truth[:2], *view.ranking[:2], order, starts, q, hits, gains, ideals)
    tables = {"rows": slots.n_rows[:, None], "hits": hits}
    return {**tables, "gains": _in_limbs(gains), "ideals": _in_limbs(ideals)}


def _ranks_are_places(view: View) -> bool:
    """Return whether the rank of every listed label is its place in the list."""
    return view.all_ranked and view.ranking.ordered and view.unlisted is None


def _splits(propensity: Propensity, n_rows: int) -> bool:
    """Return whether split sums of the gains of a number of rows are exact."""
    return propensity.lowest >= 1 and n_rows < MOST_TERMS and n_rows * propensity.highest < LARGEST_SUM


def _limbs(*shape: int) -> Ints:
    return np.zeros((*shape, LIMBS), np.int64)


def _in_limbs(sums: Floats) -> Ints:
    """Return split sums, float64 (slots, places, 2), in fixed point."""
    limbs = _limbs(*sums.shape[:2])
    add_split_sums(np.ascontiguousarray(sums).reshape(-1, 2), limbs.reshape(-1, LIMBS))
    return limbs


def profile_of_rows(view: View, depth: int, propensity: Propensity | None) -> Profile:
    """Return the profile of the single rows of a block, with gains if propensities are needed."""
    (ptr, labels), width = view.block.truth[:2], min(depth, int(view.ranks.max(initial=0)))
    hits = np.zeros((width, view.n_rows)).T  # formulas add up columns
    place_gains(ptr, labels, view.ranks, NO_PROPENSITY, hits)
    gains = None if propensity is None else np.zeros((width, view.n_rows)).T
    if gains is not None and propensity is not None:
        place_gains(ptr, labels, view.ranks, propensity.values, gains)
    return Profile(view.n_relevant, np.ones(view.n_rows), hits, gains, None)
