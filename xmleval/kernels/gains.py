"""Hits, gains and ideal gains at the first ranks, many instances side by side.

Instances with equally many relevant labels are taken together, `LANES` at a time, so that no branch depends
on the data, and all but the gather of propensities is arithmetic on vectors. Buffers of lanes are flat and
their strides constant: the compiler then sees that the columns of a buffer do not overlap.
"""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.kernels.profiles import SPLIT_HIGH, SPLIT_LOW
from xmleval.records import Floats, Ints, Labels

LANES = 32
WIDTH = 8  # numbers that the sorting network takes at a time, and the deepest rank


@kernel
def group_rows(n_relevant: Ints, following: Ints, order: Ints) -> None:
    """Write the rows with equally many relevant labels together.

    n_relevant : int64 (n,); following : int64 (largest R + 1,), where the rows of each number start, changed
    order : int64 (n,), written
    """
    for i in range(n_relevant.size):
        # unsigned: a signed index is first asked whether it counts from the end
        n = np.uint64(n_relevant[i])
        place = following[n]
        order[np.uint64(place)] = i
        following[n] = place + 1


@kernel
def sort_lanes(held: Floats) -> None:
    """Bring 8 numbers of each lane into falling order by a sorting network. held : float64 (8 LANES,)."""
    for x in range(LANES):
        a, b, c, d = held[x], held[LANES + x], held[2 * LANES + x], held[3 * LANES + x]
        e, f, g, h = held[4 * LANES + x], held[5 * LANES + x], held[6 * LANES + x], held[7 * LANES + x]
        a, b = max(a, b), min(a, b)
        c, d = max(c, d), min(c, d)
        e, f = max(e, f), min(e, f)
        g, h = max(g, h), min(g, h)
        a, c = max(a, c), min(a, c)
        b, d = max(b, d), min(b, d)
        e, g = max(e, g), min(e, g)
        f, h = max(f, h), min(f, h)
        b, c = max(b, c), min(b, c)
        f, g = max(f, g), min(f, g)
        a, e = max(a, e), min(a, e)
        d, h = max(d, h), min(d, h)
        b, f = max(b, f), min(b, f)
        c, g = max(c, g), min(c, g)
        b, e = max(b, e), min(b, e)
        d, g = max(d, g), min(d, g)
        c, e = max(c, e), min(c, e)
        d, f = max(d, f), min(d, f)
        d, e = max(d, e), min(d, e)
        held[x], held[LANES + x], held[2 * LANES + x], held[3 * LANES + x] = a, b, c, d
        held[4 * LANES + x], held[5 * LANES + x], held[6 * LANES + x], held[7 * LANES + x] = e, f, g, h


@kernel
def merge_lanes(held: Floats, best: Floats) -> None:
    """Keep the largest 8 of two falling eights in each lane, falling. held, best : float64 (8 LANES,)."""
    for x in range(LANES):
        # the better half of both, which falls and then rises, and is then brought into order
        a = max(held[x], best[7 * LANES + x])
        b = max(held[LANES + x], best[6 * LANES + x])
        c = max(held[2 * LANES + x], best[5 * LANES + x])
        d = max(held[3 * LANES + x], best[4 * LANES + x])
        e = max(held[4 * LANES + x], best[3 * LANES + x])
        f = max(held[5 * LANES + x], best[2 * LANES + x])
        g = max(held[6 * LANES + x], best[LANES + x])
        h = max(held[7 * LANES + x], best[x])
        a, e = max(a, e), min(a, e)
        b, f = max(b, f), min(b, f)
        c, g = max(c, g), min(c, g)
        d, h = max(d, h), min(d, h)
        a, c = max(a, c), min(a, c)
        b, d = max(b, d), min(b, d)
        e, g = max(e, g), min(e, g)
        f, h = max(f, h), min(f, h)
        a, b = max(a, b), min(a, b)
        c, d = max(c, d), min(c, d)
        e, f = max(e, f), min(e, f)
        g, h = max(g, h), min(g, h)
        best[x], best[LANES + x], best[2 * LANES + x], best[3 * LANES + x] = a, b, c, d
        best[4 * LANES + x], best[5 * LANES + x], best[6 * LANES + x], best[7 * LANES + x] = e, f, g, h


@kernel
def split_lanes(values: Floats, depth: int, high: Floats, low: Floats) -> None:
    """Add numbers to their sums, split as `profiles.sum_exact_gains` does.

    values, high, low : float64 (8 LANES,); depth : how many of each lane count
    """
    for x in range(depth * LANES):
        whole = (values[x] + SPLIT_HIGH) - SPLIT_HIGH
        high[x] += whole
        low[x] += ((values[x] - whole) + SPLIT_LOW) - SPLIT_LOW


@kernel
def match_lanes(relevant: Labels, listed: Labels, found: Labels, depth: int) -> None:
    """Mark the listed labels of each lane that are among 8 relevant ones.

    relevant, listed : (8 LANES,); found : int32 (8 LANES,), 1 where they are, unchanged elsewhere
    depth : how many of the 8 listed labels to look at
    """
    for r in range(depth):
        for x in range(LANES):
            place = np.uint64(r * LANES + x)
            label = listed[place]
            found[place] |= (
                (relevant[x] == label)
                | (relevant[LANES + x] == label)
                | (relevant[2 * LANES + x] == label)
                | (relevant[3 * LANES + x] == label)
                | (relevant[4 * LANES + x] == label)
                | (relevant[5 * LANES + x] == label)
                | (relevant[6 * LANES + x] == label)
                | (relevant[7 * LANES + x] == label)
            )


@kernel
def sum_leading_gains(
    true_ptr: Ints,
    true_labels: Labels,
    ranks: Ints,
    list_ptr: Ints,
    list_labels: Labels,
    order: Ints,
    group_ptr: Ints,
    propensity: Floats,
    hits: Ints,
    gains: Floats,
    ideals: Floats,
) -> None:
    """Count hits, and sum hit propensities and the largest propensities, by slot and rank.

    The terms are split as in `profiles.sum_exact_gains`, so that their sums are exact in any order.

    ranks : int64 (t,), rank of each relevant label, 0 for none; at most one label of a row has a rank;
    or (0,) where ranks are places in the lists, and are found here
    list_ptr, list_labels : int64 (n + 1,), (s,) distinct labels of each row, read only without ranks
    order : int64 (n,), as of `group_rows`; group_ptr : int64 (slots + 1,), rows of each slot, summed
    propensity : float64 (n_labels,), all positive
    hits : int64 (slots, w), gains : float64 (slots, w, 2), ideals : float64 (slots, v, 2), w and v at most 8,
    added to
    """
    depth, n_ideals, matching = hits.shape[1], ideals.shape[1], ranks.size == 0
    firsts, lists, n_listed = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    held, best = np.empty(WIDTH * LANES), np.empty(WIDTH * LANES)
    got = np.empty((1 + WIDTH) * LANES)  # what is no hit goes to rank 0, which spares a branch
    sums, counts = np.empty((4, WIDTH * LANES)), np.empty(WIDTH * LANES, np.int64)
    relevant = np.empty(WIDTH * LANES, true_labels.dtype)
    listed, found = np.empty_like(relevant), np.empty(WIDTH * LANES, np.int32)
    for slot in range(group_ptr.size - 1):
        begin, end = group_ptr[slot], group_ptr[slot + 1]
        n = true_ptr[order[begin] + 1] - true_ptr[order[begin]]
        if n == 0:
            continue
        sums[:] = 0.0
        counts[:] = 0
        for start in range(begin, end, LANES):
            width = min(LANES, end - start)
            for x in range(width):
                firsts[x] = true_ptr[order[start + x]]
            if matching:
                found[:] = 0
                listed[:] = -1
                for x in range(width):
                    i = order[start + x]
                    lists[x], n_listed[x] = list_ptr[i], list_ptr[i + 1] - list_ptr[i]
                for r in range(depth):
                    for x in range(width):
                        if r < n_listed[x]:
                            listed[np.uint64(r * LANES + x)] = list_labels[np.uint64(lists[x] + r)]
            else:
                got[:] = 0.0
            for chunk in range(0, n, WIDTH):
                several = min(WIDTH, n - chunk)
                if width < LANES or several < WIDTH:
                    held[:] = 0.0
                    relevant[:] = -2
                for t in range(several):
                    if matching:
                        for x in range(width):
                            label = true_labels[np.uint64(firsts[x] + (chunk + t))]
                            relevant[t * LANES + x] = label
                            held[t * LANES + x] = propensity[np.uint64(label)]
                        continue
                    for x in range(width):
                        place = np.uint64(firsts[x] + (chunk + t))
                        value = propensity[np.uint64(true_labels[place])]
                        held[t * LANES + x] = value
                        rank = ranks[place]
                        rank = rank if rank <= depth else 0
                        got[np.uint64(rank * LANES + x)] = value
                sort_lanes(held)
                if chunk == 0:
                    held, best = best, held
                else:
                    merge_lanes(held, best)
                if matching:
                    match_lanes(relevant, listed, found, depth)
            if matching:
                for x in range(depth * LANES):
                    place = np.uint64(x)
                    hit = found[place]  # 0 or 1: a product spares a branch
                    got[np.uint64(LANES + x)] = propensity[np.uint64(listed[place] * hit)] * hit
            split_lanes(got[LANES:], depth, sums[0], sums[1])
            split_lanes(best, n_ideals, sums[2], sums[3])
            for x in range(depth * LANES):
                counts[x] += got[LANES + x] > 0.0
        for x in range(LANES):
            for r in range(depth):
                hits[slot, r] += counts[r * LANES + x]
                gains[slot, r, 0] += sums[0, r * LANES + x]
                gains[slot, r, 1] += sums[1, r * LANES + x]
            for r in range(n_ideals):
                ideals[slot, r, 0] += sums[2, r * LANES + x]
                ideals[slot, r, 1] += sums[3, r * LANES + x]
