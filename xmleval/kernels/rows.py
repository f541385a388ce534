"""Values of single instances, from the ranks and ties of their relevant labels."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels, Scores
from xmleval.kernels.discounting import discount_of
from xmleval.kernels.fixed import LIMBS, add_term, as_float
from xmleval.kernels.hit_tables import keep_largest
from xmleval.kernels.jit import kernel
from xmleval.kernels.sorting import longest_row, sort_down

SHORT_GROUP = 64  # ranks of a tie group whose discounts are summed one by one
# numbers of labels below 2^40 are split in halves, whose products with one another fit
PART_BITS = 20
PART = (1 << PART_BITS) - 1
WHOLE = float(1 << PART_BITS)
UNRANKED = 1 << 62  # above every rank
HASH_BITS = 5
HASH_GROUPS = 1 << HASH_BITS


@kernel
def sort_ties(true_ptr: Ints, above: Ints, tied: Ints) -> None:
    """Order each instance's relevant labels worst first, in place.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,), from `matching.find_ties`
    """
    spare = longest_row(true_ptr)
    spare_above = above[:spare].copy()
    spare_tied = tied[:spare].copy()
    for i in range(true_ptr.size - 1):
        sort_down(above, tied, true_ptr[i], true_ptr[i + 1], spare_above, spare_tied)


@kernel
def complete_ties(
    positions: Ints,
    true_ptr: Ints,
    list_ptr: Ints,
    scores: Scores,
    n_cells: Ints,
    best: bool,
    above: Ints,
    tied: Ints,
) -> None:
    """Move the unlisted labels to the best or the worst ranks they may have.

    true_ptr, list_ptr : int64 (n + 1,)
    positions : int64 (t,), 1-based place of each relevant label in its row's list, 0 where it is
        not listed
    scores : (s,) best first, or (0,) for lists without scores, which have no ties
    n_cells : int64 (n,), labels of each row, listed or not
    above, tied : int64 (t,) from `matching.find_ties`, changed: at best, all relevant unlisted
        labels tie with the last listed one; at worst, the irrelevant ones do, and the relevant ones
        rank last, untied
    """
    for i in range(true_ptr.size - 1):
        lo = list_ptr[i]
        hi = list_ptr[i + 1]
        group = hi - 1  # start of the entries tied with the last one
        while group > lo and scores.size and scores[group - 1] == scores[hi - 1]:
            group -= 1
        group = max(group, lo)
        n_missing = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            n_missing += positions[t] == 0
        joining = n_missing if best else n_cells[i] - (hi - lo) - n_missing
        placed = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if positions[t] > group - lo:
                tied[t] += joining
            elif positions[t] == 0 and best:
                above[t] = group - lo
                tied[t] = hi - group + n_missing
            elif positions[t] == 0:
                above[t] = n_cells[i] - n_missing + placed
                tied[t] = 1
                placed += 1


@kernel
def summarise_ties(
    true_ptr: Ints,
    above: Ints,
    tied: Ints,
    worst: Ints,
    n_reversed: Floats,
    n_tied: Floats,
    precision: Floats,
    peak: Floats,
) -> None:
    """Summarise each instance over its tie groups, best group first.

    true_ptr : int64 (n + 1,); above, tied : int64 (t,) from `sort_ties`
    worst : int64 (n,), written: last rank that a relevant label may get, 0 without relevant labels
    n_reversed, n_tied : float64 (n,), written: (relevant, irrelevant) pairs in the wrong order, and
        tied, rounded once: there can be more than 2^63
    precision : float64 (n,), written: sum over relevant labels of (relevant at or above) / (all at
        or above)
    peak : float64 (n,), written: largest F1 of a prefix of the ranking, tie groups whole
    """
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        t = true_ptr[i + 1]
        n_relevant = t - first
        reversed_high = 0
        reversed_low = 0
        tied_high = 0
        tied_low = 0
        worst[i] = 0
        precision[i] = peak[i] = 0.0
        seen = 0
        while t > first:
            start = t
            while t > first and above[t - 1] == above[start - 1]:
                t -= 1
            n_here = start - t
            n_above = above[start - 1]
            n_equal = tied[start - 1]
            reversed_high += n_here * ((n_above - seen) >> PART_BITS)
            reversed_low += n_here * ((n_above - seen) & PART)
            tied_high += n_here * ((n_equal - n_here) >> PART_BITS)
            tied_low += n_here * ((n_equal - n_here) & PART)
            seen += n_here
            worst[i] = n_above + n_equal
            precision[i] += n_here * (seen / worst[i])
            peak[i] = max(peak[i], 2.0 * seen / (worst[i] + n_relevant))
        n_reversed[i] = float(reversed_high + (reversed_low >> PART_BITS)) * WHOLE + (
            reversed_low & PART
        )
        n_tied[i] = float(tied_high + (tied_low >> PART_BITS)) * WHOLE + (tied_low & PART)


@kernel
def summarise_ranks(true_ptr: Ints, ranks: Ints, first: Ints, n_within: Ints) -> None:
    """Find the best rank of a relevant label, and count those within the first R.

    true_ptr : int64 (n + 1,)
    ranks : int64 (t,), 0 for labels that get no credit
    first, n_within : int64 (n,), written; ``first`` is 0 where no relevant label has a rank
    """
    for i in range(true_ptr.size - 1):
        n_relevant = true_ptr[i + 1] - true_ptr[i]
        lowest = UNRANKED
        n_here = 0
        # without branches, which would be mispredicted
        for t in range(true_ptr[i], true_ptr[i + 1]):
            rank = ranks[t] if ranks[t] else UNRANKED
            lowest = min(lowest, rank)
            n_here += rank <= n_relevant
        first[i] = lowest if lowest < UNRANKED else 0
        n_within[i] = n_here


@kernel
def sum_precisions(true_ptr: Ints, sorted_ranks: Ints, k: int, precision: Floats) -> None:
    """Sum the precision at each hit among the first k ranks.

    true_ptr : int64 (n + 1,); sorted_ranks : int64 (t,), increasing, 0 for none
    precision : float64 (n,), written
    """
    for i in range(true_ptr.size - 1):
        hits = 0
        precision[i] = 0.0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            rank = sorted_ranks[t]
            if 0 < rank <= k:
                hits += 1
                precision[i] += hits / rank


@kernel
def sum_discounts(
    true_ptr: Ints, sorted_ranks: Ints, table: Floats, logs: Floats, gain: Floats
) -> None:
    """Sum 1 / log2(1 + rank) over the relevant labels, best first.

    true_ptr : int64 (n + 1,); sorted_ranks : int64 (t,), increasing, 0 for labels without a rank
    gain : float64 (n,), written
    table, logs : as in `discounting.discount_of`
    """
    for i in range(true_ptr.size - 1):
        gain[i] = 0.0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if sorted_ranks[t]:
                gain[i] += discount_of(sorted_ranks[t], table, logs)


@kernel
def sum_tied_discounts(
    true_ptr: Ints,
    start: Ints,
    stop: Ints,
    tied: Ints,
    n_credited: Ints,
    long: Floats,
    table: Floats,
    logs: Floats,
    gain: Floats,
) -> None:
    """Sum discounts, where each relevant label gets the mean discount of its tie group.

    true_ptr : int64 (n + 1,)
    start, stop : int64 (t,), ranks of the group that count: start + 1..stop; worst label first
    tied : int64 (t,), size of the group
    n_credited : int64 (n,), groups that start at this rank or later get nothing
    long : float64 (t,), sum of the group's discounts as a difference of cumulative sums, for long
        groups
    table, logs : as in `discounting.discount_of`
    gain : float64 (n,), written
    """
    for i in range(true_ptr.size - 1):
        gain[i] = 0.0
        for t in range(true_ptr[i + 1] - 1, true_ptr[i] - 1, -1):  # best first
            if start[t] >= n_credited[i]:
                continue
            gain[i] += group_discounts(start[t], stop[t], long[t], table, logs) / tied[t]


@kernel
def sum_ideal_gains(
    true_ptr: Ints, gains: Floats, k: int, table: Floats, logs: Floats, gain: Floats
) -> None:
    """Sum the discounted gains of the ideal first k, in fixed point.

    true_ptr : int64 (n + 1,); gains : float64 (t,), of the relevant labels; gain : float64 (n,),
        written
    table, logs : as in `discounting.discount_of`
    """
    total = np.empty(LIMBS, np.int64)
    row = np.empty(longest_row(true_ptr), np.float64)
    best = np.empty(min(k, row.size), np.float64)
    for i in range(true_ptr.size - 1):
        first = true_ptr[i]
        n = true_ptr[i + 1] - true_ptr[i]
        for t in range(n):
            row[t] = gains[first + t]
        total[:] = 0
        for r in range(keep_largest(row[:n], best)):
            add_term(total, best[r] * discount_of(r + 1, table, logs))
        gain[i] = as_float(total)


@kernel
def share_graded_discounts(
    true_ptr: Ints,
    start: Ints,
    stop: Ints,
    tied: Ints,
    n_credited: Ints,
    long: Floats,
    gains: Floats,
    table: Floats,
    logs: Floats,
    gain: Floats,
) -> None:
    """Sum gains times the mean discount of their tie group, in fixed point: in any order.

    gains : float64 (t,), of the relevant labels; the other arrays as in `sum_tied_discounts`, in
        any order
    """
    total = np.empty(LIMBS, np.int64)
    for i in range(true_ptr.size - 1):
        total[:] = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if start[t] < n_credited[i]:
                shared = group_discounts(start[t], stop[t], long[t], table, logs)
                add_term(total, gains[t] * (shared / tied[t]))
        gain[i] = as_float(total)


@kernel
def group_discounts(start: int, stop: int, long: float, table: Floats, logs: Floats) -> float:
    """Return the sum of the discounts of ranks start + 1..stop; ``long`` is it for long groups."""
    if stop - start > SHORT_GROUP:
        return long
    total = 0.0  # a difference of cumulative sums would cancel
    for rank in range(start + 1, stop + 1):
        total += discount_of(rank, table, logs)
    return total


@kernel
def hash_rows(ptr: Ints, labels: Labels, fingerprint: Ints) -> None:
    """Fingerprint each label set by two independent 64-bit hashes.

    ptr, labels : int64 (n + 1,), (t,), increasing within each row; fingerprint : int64 (n, 2),
        written
    """
    for i in range(ptr.size - 1):
        a = np.uint64(0x9E3779B97F4A7C15)
        b = np.uint64(0xD1B54A32D192ED03)
        for p in range(ptr[i], ptr[i + 1]):
            label = np.uint64(labels[p])
            a = (a ^ label) * np.uint64(0xBF58476D1CE4E5B9)
            a ^= a >> np.uint64(29)
            b = (b + label) * np.uint64(0x94D049BB133111EB)
            b ^= b >> np.uint64(31)
        fingerprint[i, 0] = np.int64(a)
        fingerprint[i, 1] = np.int64(b)


@kernel
def group_by_hash(fingerprint: Ints, starts: Ints, grouped: Ints) -> None:
    """Group fingerprints by the leading bits of the first hash.

    fingerprint, grouped : int64 (n, 2)
    starts : int64 (HASH_GROUPS + 1,), written: where each group starts, and the end
    """
    following = np.zeros(HASH_GROUPS, np.int64)
    for i in range(len(fingerprint)):
        following[(fingerprint[i, 0] >> 64 - HASH_BITS) + HASH_GROUPS // 2] += 1
    starts[0] = 0
    for group in range(HASH_GROUPS):
        starts[group + 1] = starts[group] + following[group]
        following[group] = starts[group]
    for i in range(len(fingerprint)):
        group = (fingerprint[i, 0] >> 64 - HASH_BITS) + HASH_GROUPS // 2
        grouped[following[group], 0] = fingerprint[i, 0]
        grouped[following[group], 1] = fingerprint[i, 1]
        following[group] += 1


@kernel
def drop_repeats(fingerprint: Ints, distinct: Ints) -> int:
    """Write each distinct fingerprint once, in order; return their number; both int64 (n, 2)."""
    n_slots = 1
    while n_slots < 2 * len(fingerprint):
        n_slots *= 2
    # 1 + place in ``distinct``, 0 if free
    slots = np.zeros(n_slots, np.int64)
    n_distinct = 0
    for i in range(len(fingerprint)):
        first = fingerprint[i, 0]
        second = fingerprint[i, 1]
        slot = second & (n_slots - 1)
        while slots[slot]:
            place = slots[slot] - 1
            if distinct[place, 0] == first and distinct[place, 1] == second:
                break
            slot = (slot + 1) & (n_slots - 1)
        if not slots[slot]:
            distinct[n_distinct, 0] = first
            distinct[n_distinct, 1] = second
            n_distinct += 1
            slots[slot] = n_distinct
    return n_distinct
