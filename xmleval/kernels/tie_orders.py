"""Expected values over all orders of equal scores, and the best and the worst of these orders.

Relevant labels come worst first within each instance (`rows.sort_ties`), with the number of labels
above each and the size of its tie group. A group that begins at ``n_credited`` or later has labels
that no list holds, which earn nothing.
"""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.fixed import LIMBS, add_share, add_term, as_float
from xmleval.kernels.jit import kernel
from xmleval.kernels.powers import power_of

LEAST = 2.0**-200  # terms below it change no sum of larger ones


@kernel
def find_group(above: Ints, first: int, stop: int) -> int:
    """Return where the tie group of the relevant label at ``stop - 1`` begins; first <= it."""
    start = stop - 1
    while start > first and above[start - 1] == above[stop - 1]:
        start -= 1
    return start


@kernel
def expect_hits(
    true_ptr: Ints, above: Ints, tied: Ints, n_credited: Ints, cutoffs: Ints, hits: Floats
) -> None:
    """Write the expected number of hits in the first ranks.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,), worst first
    n_credited, cutoffs : int64 (n,); hits : float64 (n,), written
    """
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        stop = true_ptr[i + 1]
        n_hits = 0
        hits[i] = 0.0
        while stop > first and above[stop - 1] < min(n_credited[i], cutoffs[i]):
            start = find_group(above, first, stop)
            n_inside = cutoffs[i] - above[stop - 1]
            if n_inside < tied[stop - 1]:
                hits[i] = (stop - start) * n_inside / tied[stop - 1]
                break
            n_hits += stop - start
            stop = start
        hits[i] += n_hits


@kernel
def expect_any_hit(
    true_ptr: Ints, above: Ints, tied: Ints, n_credited: Ints, k: int, chance: Floats
) -> None:
    """Write the chance that any of the first k labels is relevant; arrays as in `expect_hits`."""
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        stop = true_ptr[i + 1]
        chance[i] = 0.0
        if stop == first or above[stop - 1] >= min(n_credited[i], k):
            continue
        n_relevant = stop - find_group(above, first, stop)
        n_tied = tied[stop - 1]
        n_inside = min(k - above[stop - 1], n_tied)
        # no hit: none of the fewer of both, labels inside and relevant ones, meets the other
        few = min(n_inside, n_relevant)
        many = max(n_inside, n_relevant)
        miss = 1.0
        for j in range(few):
            miss *= max(n_tied - many - j, 0) / (n_tied - j)
        chance[i] = 1.0 - miss


@kernel
def expect_reciprocal_rank(
    true_ptr: Ints, above: Ints, tied: Ints, n_credited: Ints, k: int, reciprocal: Floats
) -> None:
    """Write the expected 1 / rank of the first relevant label, 0 beyond k; as in `expect_hits`."""
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        stop = true_ptr[i + 1]
        reciprocal[i] = 0.0
        if stop == first or above[stop - 1] >= min(n_credited[i], k):
            continue
        n_relevant = stop - find_group(above, first, stop)
        n_above = above[stop - 1]
        n_tied = tied[stop - 1]
        miss = 1.0  # chance that no label before is relevant
        for j in range(min(k - n_above, n_tied - n_relevant + 1)):
            n_left = n_tied - j
            reciprocal[i] += miss * (n_relevant / n_left) / (n_above + j + 1)
            miss *= (n_left - n_relevant) / n_left
            if miss < LEAST:  # of a long group: no later term changes the sum
                break


@kernel
def expect_precisions(
    true_ptr: Ints, above: Ints, tied: Ints, n_credited: Ints, k: int, precision: Floats
) -> None:
    """Write the expected sum of the precision at each hit in the first k; as in `expect_hits`.

    A label of a group of n with r relevant ones is relevant with chance r / n, and then each other
    one with chance (r - 1) / (n - 1).
    """
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        stop = true_ptr[i + 1]
        n_before = 0  # relevant labels in groups before
        precision[i] = 0.0
        while stop > first and above[stop - 1] < min(n_credited[i], k):
            start = find_group(above, first, stop)
            n_relevant = stop - start
            n_above = above[stop - 1]
            n_tied = tied[stop - 1]
            chance = n_relevant / n_tied
            step = (n_relevant - 1) / max(n_tied - 1, 1)
            for j in range(min(k - n_above, n_tied)):
                precision[i] += chance * ((n_before + 1 + j * step) / (n_above + j + 1))
            n_before += n_relevant
            stop = start


@kernel
def expect_gains(
    true_ptr: Ints,
    above: Ints,
    tied: Ints,
    n_credited: Ints,
    k: int,
    gains: Floats,
    total_gain: Floats,
) -> None:
    """Write the expected gains of the first k labels, in fixed point: labels in any order.

    gains : float64 (t,), of the relevant labels; the other arrays as in `expect_hits`, in any order
    total_gain : float64 (n,), written
    """
    total = np.empty(LIMBS, np.int64)
    for i in range(true_ptr.size - 1):
        total[:] = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            n_inside = min(k - above[t], tied[t])
            if n_inside > 0 and above[t] < n_credited[i]:
                add_term(total, gains[t] * (n_inside / tied[t]))
        total_gain[i] = as_float(total)


@kernel
def expect_powers(
    true_ptr: Ints, above: Ints, tied: Ints, n_credited: Ints, k: int, base: float, sums: Floats
) -> None:
    """Write the expected sum of base^(rank - 1) over hits in the first k; as in `expect_hits`."""
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        stop = true_ptr[i + 1]
        sums[i] = 0.0
        while stop > first and above[stop - 1] < min(n_credited[i], k):
            start = find_group(above, first, stop)
            chance = (stop - start) / tied[stop - 1]
            power = power_of(base, above[stop - 1])
            for _ in range(min(k - above[stop - 1], tied[stop - 1])):
                sums[i] += chance * power
                power *= base
                if power < LEAST:  # of a long group: no later term changes the sum
                    break
            stop = start


@kernel
def expect_last_rank(true_ptr: Ints, above: Ints, tied: Ints, last: Floats) -> None:
    """Write the expected rank of the last relevant label, 0 without one; as in `expect_hits`."""
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        last[i] = 0.0
        if true_ptr[i + 1] > first:
            stop = first + 1
            while stop < true_ptr[i + 1] and above[stop] == above[first]:
                stop += 1
            n_relevant = stop - first
            # the largest of r of n places
            last[i] = above[first] + n_relevant * (tied[first] + 1) / (n_relevant + 1)


@kernel
def order_ties(
    true_ptr: Ints, above: Ints, tied: Ints, gains: Floats, best: bool, places: Ints
) -> None:
    """Write the places of relevant labels, from 1, in the best or the worst order of equal scores.

    The best order lists relevant labels first, the largest gain first; the worst order the other
    way round.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,), in any order
    gains : float64 (t,), of the relevant labels, or (0,) if all are the same
    places : int64 (t,), written
    """
    for i in range(true_ptr.size - 1):
        for t in range(true_ptr[i], true_ptr[i + 1]):
            places[t] = above[t] + 1
            if tied[t] == 1:
                continue
            n_before = 0  # relevant labels of the group with a larger gain, or in front
            for u in range(true_ptr[i], true_ptr[i + 1]):
                if above[u] != above[t]:
                    continue
                if gains.size and gains[u] != gains[t]:
                    n_before += gains[u] > gains[t]
                else:
                    n_before += u < t
            if best:
                places[t] += n_before
            else:
                places[t] += tied[t] - 1 - n_before


@kernel
def share_hits(
    true_ptr: Ints,
    above: Ints,
    tied: Ints,
    ranks: Ints,
    slots: Ints,
    gains: Floats,
    weight: Floats,
    table: Ints,
) -> None:
    """Move hits of tied labels from their ranks to all ranks of their groups, in equal shares.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,), in the order of the labels
    ranks : int64 (t,), ranks at which hits were counted, 0 for labels that are no hits
    slots : int64 (n,), slot of each instance
    gains : float64 (t,), of the relevant labels, or (0,) if all are 1
    weight : float64 (n,), or (0,) if all are 1
    table : int64 (slots, ranks, 4), changed
    """
    depth = table.shape[1]
    for i in range(true_ptr.size - 1):
        sums = table[slots[i]]
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if ranks[t] == 0 or tied[t] == 1:
                continue
            amount = gains[t] if gains.size else 1.0
            if weight.size:
                amount *= weight[i]
            if ranks[t] <= depth:
                add_term(sums[ranks[t] - 1], -amount)
            for place in range(above[t], min(above[t] + tied[t], depth)):
                if gains.size or weight.size:
                    add_term(sums[place], amount / tied[t])
                else:
                    add_share(sums[place], 1, tied[t], 1)


@kernel
def share_leading_hits(
    true_ptr: Ints,
    above: Ints,
    tied: Ints,
    ranks: Ints,
    slots: Ints,
    gains: Floats,
    weight: Floats,
    cutoffs: Ints,
    table: Ints,
) -> None:
    """Make hits down to cutoffs expected ones, over all orders of equal scores.

    cutoffs : int64 (c,); table : int64 (slots, c, 4), hits down to each cutoff, changed
    The other arrays are those of `share_hits`.
    """
    for i in range(true_ptr.size - 1):
        sums = table[slots[i]]
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if ranks[t] == 0 or tied[t] == 1:
                continue
            amount = gains[t] if gains.size else 1.0
            if weight.size:
                amount *= weight[i]
            for place in range(cutoffs.size):
                n_inside = min(cutoffs[place] - above[t], tied[t])
                if n_inside <= 0 or n_inside == tied[t]:  # a group whole inside is as counted
                    continue
                if ranks[t] <= cutoffs[place]:
                    add_term(sums[place], -amount)
                if gains.size or weight.size:
                    add_term(sums[place], amount * (n_inside / tied[t]))
                else:
                    add_share(sums[place], n_inside, tied[t], 1)
