"""Expected, best and worst values over all orders of equal scores.

Relevant labels come worst first within each instance (`rows.sort_ties`), with the number of labels
above each and the size of its tie group. A group that begins at ``n_credited`` or later has labels
that no list holds, which earn nothing.
"""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels, Scores
from xmleval.kernels.fixed import LIMBS, add_share, add_term, as_float
from xmleval.kernels.jit import kernel
from xmleval.kernels.matching import index_of
from xmleval.kernels.powers import power_of
from xmleval.kernels.rows import UNRANKED

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
def find_equal(scores: Scores, lo: int, hi: int, place: int) -> tuple[int, int]:
    """Return the places from ``lo`` on at which the scores equal to that at a place start and stop.

    scores : (s,), best first from ``lo`` to ``hi``, or (0,) where none are equal
    """
    start = place
    stop = place + 1
    if scores.size:
        score = scores[lo + place]
        while start > 0 and scores[lo + start - 1] == score:
            start -= 1
        while lo + stop < hi and scores[lo + stop] == score:
            stop += 1
    return start, stop


@kernel
def find_first_groups(
    true_ptr: Ints, above: Ints, tied: Ints, first_above: Ints, first_tied: Ints, n_relevant: Ints
) -> None:
    """Find the first tie group with relevant labels, row by row.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,), in any order
    first_above, first_tied, n_relevant : int64 (n,), written: numbers of labels above and in the
        group, and of relevant ones in it; `UNRANKED` labels are above where none is relevant
    """
    for i in range(true_ptr.size - 1):
        first_above[i] = UNRANKED
        first_tied[i] = n_relevant[i] = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if above[t] < first_above[i]:
                first_above[i] = above[t]
                first_tied[i] = tied[t]
                n_relevant[i] = 0
            n_relevant[i] += above[t] == first_above[i]


@kernel
def find_first_groups_of_lists(
    true_ptr: Ints,
    ranks: Ints,
    list_ptr: Ints,
    scores: Scores,
    first_above: Ints,
    first_tied: Ints,
    n_relevant: Ints,
) -> None:
    """Find the same in lists, of labels with a rank alone.

    ranks : int64 (t,), places in the lists from 1, 0 for unlisted labels
    list_ptr : int64 (n + 1,); scores : (s,), best first, or (0,) without any
    """
    for i in range(true_ptr.size - 1):
        lowest = UNRANKED
        for t in range(true_ptr[i], true_ptr[i + 1]):
            rank = ranks[t] if ranks[t] else UNRANKED  # without a branch, as in `summarise_ranks`
            lowest = min(lowest, rank)
        first_above[i] = UNRANKED
        first_tied[i] = n_relevant[i] = 0
        if lowest == UNRANKED:
            continue
        start, stop = find_equal(scores, list_ptr[i], list_ptr[i + 1], lowest - 1)
        first_above[i] = start
        first_tied[i] = stop - start
        n_relevant[i] = 1
        if stop - start > 1:
            n_relevant[i] = 0
            for t in range(true_ptr[i], true_ptr[i + 1]):
                n_relevant[i] += start < ranks[t] <= stop


@kernel
def place_ranks(
    true_ptr: Ints,
    sorted_ranks: Ints,
    list_ptr: Ints,
    scores: Scores,
    n_cells: Ints,
    above: Ints,
    tied: Ints,
) -> None:
    """Count labels above and tied with each relevant label, from ranks in lists.

    true_ptr, list_ptr : int64 (n + 1,)
    sorted_ranks : int64 (t,), places in the lists from 1, increasing, 0 for unlisted labels, which
        are below all others
    scores : (s,), best first, or (0,) without any; n_cells : int64 (n,), labels of each row
    above, tied : int64 (t,), written, worst first
    """
    for i in range(true_ptr.size - 1):
        lo = list_ptr[i]
        hi = list_ptr[i + 1]
        out = true_ptr[i]
        first = out
        while first < true_ptr[i + 1] and sorted_ranks[first] == 0:
            above[out] = hi - lo
            tied[out] = n_cells[i] - (hi - lo)
            out += 1
            first += 1
        start = stop = 0
        for t in range(true_ptr[i + 1] - 1, first - 1, -1):
            place = sorted_ranks[t] - 1
            if not start <= place < stop:
                start, stop = find_equal(scores, lo, hi, place)
            above[out] = start
            tied[out] = stop - start
            out += 1


@kernel
def expect_any_hit(
    above: Ints, tied: Ints, n_relevant: Ints, n_credited: Ints, k: int, chance: Floats
) -> None:
    """Write the chance that any of the first k labels is relevant.

    above, tied, n_relevant : int64 (n,), of the first group, from `find_first_groups`
    n_credited : int64 (n,); chance : float64 (n,), written
    """
    for i in range(above.size):
        chance[i] = 0.0
        if above[i] >= min(n_credited[i], k):
            continue
        n_inside = min(k - above[i], tied[i])
        # no hit: none of the fewer of both, labels inside and relevant ones, meets the other
        few = min(n_inside, n_relevant[i])
        many = max(n_inside, n_relevant[i])
        miss = 1.0
        for j in range(few):
            miss *= max(tied[i] - many - j, 0) / (tied[i] - j)
        chance[i] = 1.0 - miss


@kernel
def expect_reciprocal_rank(
    above: Ints, tied: Ints, n_relevant: Ints, n_credited: Ints, k: int, reciprocal: Floats
) -> None:
    """Write the expected 1 / rank of the first relevant label, 0 beyond k; as `expect_any_hit`."""
    for i in range(above.size):
        reciprocal[i] = 0.0
        if above[i] >= min(n_credited[i], k):
            continue
        miss = 1.0  # chance that no label before is relevant
        for j in range(min(k - above[i], tied[i] - n_relevant[i] + 1)):
            n_left = tied[i] - j
            reciprocal[i] += miss * (n_relevant[i] / n_left) / (above[i] + j + 1)
            miss *= (n_left - n_relevant[i]) / n_left
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
def share_hit(sums: Ints, group: tuple[int, int, int], amount: float, is_whole: bool) -> None:
    """Move a hit from its rank to all ranks of its group, in equal shares.

    sums : int64 (ranks, 4), changed
    group : places from 0 where the tie group starts and stops, and that of the hit
    is_whole : whether the amount is 1
    """
    start, stop, place = group
    n_tied = stop - start
    if place < sums.shape[0]:
        add_term(sums[place], -amount)
    for rank in range(start, min(stop, sums.shape[0])):
        if is_whole:
            add_share(sums[rank], 1, n_tied, 1)
        else:
            add_term(sums[rank], amount / n_tied)


@kernel
def share_leading_hit(
    sums: Ints, cutoffs: Ints, group: tuple[int, int, int], amount: float, is_whole: bool
) -> None:
    """Make a hit down to each cutoff an expected one; sums : int64 (c, 4), changed.

    The other arguments are those of `share_hit`.
    """
    start, stop, place = group
    n_tied = stop - start
    for c in range(cutoffs.size):
        n_inside = min(cutoffs[c] - start, n_tied)
        if n_inside <= 0 or n_inside == n_tied:  # a group whole inside is as counted
            continue
        if place < cutoffs[c]:
            add_term(sums[c], -amount)
        if is_whole:
            add_share(sums[c], n_inside, n_tied, 1)
        else:
            add_term(sums[c], amount * (n_inside / n_tied))


@kernel
def share_hits(
    true_ptr: Ints,
    above: Ints,
    tied: Ints,
    ranks: Ints,
    slots: Ints,
    gains: Floats,
    weight: Floats,
    cutoffs: Ints,
    leading: Ints,
    shared: Ints,
) -> None:
    """Make hits expected ones, over all orders of equal scores.

    Those of tied labels move from their ranks to all ranks of their groups, in equal shares.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,), in the order of the labels
    ranks : int64 (t,), ranks at which hits were counted, 0 for labels that are no hits
    slots : int64 (n,), slot of each instance
    gains : float64 (t,), of the relevant labels, or (0,) if all are 1
    weight : float64 (n,), or (0,) if all are 1
    cutoffs : int64 (c,); leading : int64 (slots, c, 4), hits down to each cutoff, changed
    shared : int64 (slots, ranks, 4), hits at each rank, changed
    """
    for i in range(true_ptr.size - 1):
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if ranks[t] == 0 or tied[t] == 1:
                continue
            amount = gains[t] if gains.size else 1.0
            if weight.size:
                amount *= weight[i]
            is_whole = not (gains.size or weight.size)
            group = above[t], above[t] + tied[t], ranks[t] - 1
            share_leading_hit(leading[slots[i]], cutoffs, group, amount, is_whole)
            share_hit(shared[slots[i]], group, amount, is_whole)


@kernel
def share_hits_of_lists(  # noqa: PLR0913 - the arrays of a block, and tables
    true_ptr: Ints,
    true_labels: Labels,
    list_ptr: Ints,
    list_labels: Labels,
    scores: Scores,
    slots: Ints,
    propensity: Floats,
    weight: Floats,
    cutoffs: Ints,
    leading: Ints,
    shared: Ints,
) -> None:
    """Make hits expected ones, over all orders of equal scores, where ranks are places in lists.

    It does what `share_hits` does, and reads no more of a row than the tie
    groups that begin within the cutoffs.

    true_ptr, true_labels : int64 (n + 1,), (t,), increasing within each row
    list_ptr, list_labels, scores : int64 (n + 1,), (s,), (s,), best first within each row
    slots : int64 (n,), slot of each instance
    propensity : float64 (n_labels,); weight : float64 (n,); either (0,) where all are 1
    cutoffs : int64 (c,), ascending
    leading : int64 (slots, c, 4), hits down to each cutoff, changed
    shared : int64 (slots, ranks, 4), hits at each rank, changed
    """
    deepest = max(shared.shape[1], cutoffs[-1] if cutoffs.size else 0)
    for i in range(true_ptr.size - 1):
        lo = list_ptr[i]
        n = list_ptr[i + 1] - lo
        truth = true_labels[true_ptr[i] : true_ptr[i + 1]]
        start = 0
        while start < min(n, deepest):
            stop = start + 1
            while stop < n and scores[lo + stop] == scores[lo + start]:
                stop += 1
            if stop - start > 1:
                for place in range(start, stop):
                    label = list_labels[lo + place]
                    if index_of(truth, label) < 0:
                        continue
                    amount = propensity[label] if propensity.size else 1.0
                    if weight.size:
                        amount *= weight[i]
                    is_whole = not (propensity.size or weight.size)
                    group = start, stop, place
                    share_leading_hit(leading[slots[i]], cutoffs, group, amount, is_whole)
                    share_hit(shared[slots[i]], group, amount, is_whole)
            start = stop
