"""The listed labels of instances, best first."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Bools, Ints, Labels, Scores
from xmleval.kernels.jit import kernel, kernel_with_work
from xmleval.kernels.sorting import longest_row, sort_down

MOST_STEPS = 1 << 30  # that an int32 counts
BOUND_LANES = 16  # lanes whose maxima bound the best of a part
SHARE = 6  # entries that one bound is for, as it gets loose towards 8
MOST_PARTS = 3  # bounds of a row
MOST_FOUND = 64  # entries up to which counting the better ones of each beats inserting
WORTH = 80  # entries times depth from which on a bound pays
STEP = 64  # entries tested together


@kernel
def rank_rows(ptr: Ints, labels: Labels, scores: Scores) -> None:
    """Sort each row by score downwards, in place and stably.

    ptr : int64 (n + 1,); labels, scores : (s,), moved together
    """
    spare = longest_row(ptr)
    spare_scores = scores[:spare].copy()
    spare_labels = labels[:spare].copy()
    for i in range(ptr.size - 1):
        sort_down(scores, labels, ptr[i], ptr[i + 1], spare_scores, spare_labels)


@kernel
def head_pointer(ptr: Ints, depth: int) -> Ints:
    """Return the CSR pointer, int64 (n + 1,), of rows cut to at most ``depth`` entries."""
    out = np.zeros(ptr.size, np.int64)
    for i in range(ptr.size - 1):
        out[i + 1] = out[i] + min(depth, ptr[i + 1] - ptr[i])
    return out


def n_copied(ptr: Ints, values: Scores, head_ptr: Ints, heads: Scores) -> int:
    """Return the number of leading entries."""
    return heads.size


@kernel_with_work(n_copied)
def copy_heads(ptr: Ints, values: Scores, head_ptr: Ints, heads: Scores) -> None:
    """Copy the leading entries of all rows.

    ptr, values : int64 (n + 1,), (s,); head_ptr : int64 (n + 1,); heads : (head_ptr[-1],), written
    """
    for i in range(ptr.size - 1):
        for p in range(head_ptr[i + 1] - head_ptr[i]):
            heads[head_ptr[i] + p] = values[ptr[i] + p]


@kernel
def steps_of(ptr: Ints, scores: Scores) -> tuple[int, int, int, int]:
    """Count scores above, below and equal to the one before in their row, and NaN scores.

    ptr, scores : int64 (n + 1,), (s,)
    """
    n_above = 0
    n_below = 0
    n_equal = 0
    n_nan = int(scores.size > 0 and scores[0] != scores[0])
    for start in range(1, scores.size, MOST_STEPS):  # one pass over all rows vectorises
        above = np.int32(0)
        below = np.int32(0)
        equal = np.int32(0)
        nan = np.int32(0)
        later = scores[start : start + MOST_STEPS]
        earlier = scores[start - 1 : start - 1 + later.size]
        for p in range(later.size):
            above = np.int32(above + np.int32(later[p] > earlier[p]))
            below = np.int32(below + np.int32(later[p] < earlier[p]))
            equal = np.int32(equal + np.int32(later[p] == earlier[p]))
            nan = np.int32(nan + np.int32(later[p] != later[p]))
        n_above = n_above + int(above)
        n_below = n_below + int(below)
        n_equal = n_equal + int(equal)
        n_nan = n_nan + int(nan)
    for i in range(1, ptr.size - 1):
        start = ptr[i]
        # from the last score of one row to the next row
        if 0 < start < scores.size and ptr[i + 1] > start:
            n_above -= scores[start] > scores[start - 1]
            n_below -= scores[start] < scores[start - 1]
            n_equal -= scores[start] == scores[start - 1]
    return n_above, n_below, n_equal, n_nan


@kernel
def rises_unsorted(ptr: Ints, places: Ints, scores: Scores) -> bool:
    """Tell whether any score is above the one in front of it, in a row whose ids were not in order.

    ptr, scores : int64 (n + 1,), (s,), as they were written; places : int64 (s,), where entries
    stood that are in the order of their ids
    """
    for i in range(ptr.size - 1):
        moved = rises = False
        for p in range(ptr[i], ptr[i + 1]):
            moved |= places[p] != p
            rises |= p > ptr[i] and scores[p] > scores[p - 1]
        if moved and rises:
            return True
    return False


@kernel
def bound_part(row: Scores, depth: int, best: Scores) -> float:
    """Return a score that at least ``depth`` entries of a row reach, and seldom many more.

    The maxima of 16 interleaved lanes, reduced to 8 and sorted, are those of as many entries.

    row : at least BOUND_LANES entries; depth : at most 8; best : (BOUND_LANES,) of their type,
        overwritten
    """
    for x in range(BOUND_LANES):
        best[x] = row[x]
    start = BOUND_LANES
    while start + BOUND_LANES <= row.size:
        for x in range(BOUND_LANES):
            best[x] = row[start + x] if row[start + x] > best[x] else best[x]
        start += BOUND_LANES
    for x in range(row.size - start):
        best[x] = row[start + x] if row[start + x] > best[x] else best[x]
    for x in range(8):
        best[x] = best[x + 8] if best[x + 8] > best[x] else best[x]
    a = best[0]
    b = best[1]
    c = best[2]
    d = best[3]
    e = best[4]
    f = best[5]
    g = best[6]
    h = best[7]
    a, b, c, d = max(a, b), min(a, b), max(c, d), min(c, d)
    e, f, g, h = max(e, f), min(e, f), max(g, h), min(g, h)
    a, c, b, d = max(a, c), min(a, c), max(b, d), min(b, d)
    e, g, f, h = max(e, g), min(e, g), max(f, h), min(f, h)
    b, c, f, g = max(b, c), min(b, c), max(f, g), min(f, g)
    a, e, d, h = max(a, e), min(a, e), max(d, h), min(d, h)
    b, f, c, g = max(b, f), min(b, f), max(c, g), min(c, g)
    b, e, d, g = max(b, e), min(b, e), max(d, g), min(d, g)
    c, e, d, f = max(c, e), min(c, e), max(d, f), min(d, f)
    d, e = max(d, e), min(d, e)
    best[0] = a
    best[1] = b
    best[2] = c
    best[3] = d
    best[4] = e
    best[5] = f
    best[6] = g
    best[7] = h
    bound: float = best[depth - 1]
    return bound


@kernel
def collect_reaching(row: Scores, bound: float, reaching: Ints) -> int:
    """Collect the places of the entries that reach a bound, without a branch for each.

    row : (s,)
    reaching : int64 (MOST_FOUND + STEP,), places written in order
    Returns how many there are, or some number above MOST_FOUND where they are more.
    """
    n = np.uint64(0)  # unsigned, which avoids Numba's negative-index check
    for start in range(0, row.size, STEP):
        part = row[start : start + STEP]
        reaches = False
        for s in range(part.size):  # vectorises, and in wide rows most steps have none
            reaches |= part[s] >= bound
        if reaches and n <= np.uint64(MOST_FOUND):
            for s in range(part.size):
                reaching[n] = start + s
                n += np.uint64(part[s] >= bound)
    return int(np.int64(n))


@kernel
def order_few(
    row: Scores, reaching: Ints, n: int, values: Scores, places: Ints, order: Ints
) -> None:
    """Sort entries by score downwards and stably, by counting better ones.

    row : (s,); reaching : int64 (n or more,), increasing places in the row
    order : int64 (MOST_FOUND,), its first n are written, best first
    values, places : (MOST_FOUND,) as the row, int64 (MOST_FOUND,); overwritten
    """
    for q in range(n):
        score = row[reaching[q]]
        place = 0
        values[q] = score
        for p in range(q):
            before = values[p] >= score
            place += before
            places[p] += not before
        places[q] = place
    for q in range(n):
        order[places[q]] = reaching[q]


@kernel
def insert_heads(labels: Labels, scores: Scores, head_labels: Labels, head_scores: Scores) -> bool:
    """Write the best entries of one row in order, by insertion; ties keep the order they came in.

    labels, scores : (s,); head_labels, head_scores : (1 or more, at most s), written
    Returns whether an entry that is not written has the score of the last one that is.
    """
    depth = head_scores.size
    n_held = 0
    tied = False
    for p in range(scores.size):
        score = scores[p]
        if n_held == depth and score <= head_scores[depth - 1]:
            tied |= score == head_scores[depth - 1]
            continue
        j = min(n_held, depth - 1)
        dropped = head_scores[j]
        while j > 0 and head_scores[j - 1] < score:
            head_scores[j] = head_scores[j - 1]
            head_labels[j] = head_labels[j - 1]
            j -= 1
        head_scores[j] = score
        head_labels[j] = labels[p]
        if n_held == depth:  # what was skipped before has at most the score that was dropped
            tied = dropped == head_scores[depth - 1]
        n_held = min(n_held + 1, depth)
    return tied


@kernel
def select_heads(
    ptr: Ints,
    labels: Labels,
    scores: Scores,
    head_ptr: Ints,
    head_labels: Labels,
    head_scores: Scores,
    tied: Bools,
) -> None:
    """Write the best entries of all rows in order; ties keep their order.

    For small depths, only the entries that reach a bound are ordered; otherwise all are inserted.
    Each part of the row has its share of the depth; the lowest bound of all parts holds for the
    row. That is found here, as a call for each row would take a tenth longer.

    ptr, labels, scores : int64 (n + 1,), (s,), (s,); head_ptr : int64 (n + 1,), from `head_pointer`
    head_labels, head_scores : (head_ptr[-1],), written
    tied : (n,), written: whether an entry that is left has the score of the last one of its row
    """
    best = np.empty(BOUND_LANES, scores.dtype)
    values = np.empty(MOST_FOUND, scores.dtype)
    reaching = np.empty(MOST_FOUND + STEP, np.int64)
    places = np.empty(MOST_FOUND, np.int64)
    order = np.empty(MOST_FOUND, np.int64)
    for i in range(ptr.size - 1):
        first = ptr[i]
        lo = head_ptr[i]
        depth = head_ptr[i + 1] - head_ptr[i]
        tied[i] = False
        if depth == 0:
            continue
        row = scores[first : ptr[i + 1]]
        n_found = MOST_FOUND + 1
        n_parts = -(-depth // SHARE)
        enough = n_parts * (BOUND_LANES + MOST_PARTS) <= row.size and depth * row.size >= WORTH
        if n_parts <= MOST_PARTS and enough:
            share = -(-depth // n_parts)
            width = -(-row.size // n_parts)
            bound = scores.dtype.type(np.inf)
            for start in range(0, row.size, width):
                next_bound = bound_part(row[start : start + width], share, best)
                bound = next_bound if next_bound < bound else bound
            n_found = collect_reaching(row, bound, reaching)
        if n_found > MOST_FOUND:
            heads = head_labels[lo : lo + depth], head_scores[lo : lo + depth]
            tied[i] = insert_heads(labels[first : ptr[i + 1]], row, *heads)
            continue
        order_few(row, reaching, n_found, values, places, order)
        for r in range(depth):
            p = first + order[r]
            head_scores[lo + r] = scores[p]
            head_labels[lo + r] = labels[p]
        if n_found > depth:
            tied[i] = row[order[depth]] == row[order[depth - 1]]


@kernel
def count_leading(
    ptr: Ints, scores: Scores, value: float, with_equal: bool, n_leading: Ints
) -> None:
    """Count the leading entries of rows (best first) above a value, or at and above it.

    ptr : int64 (n + 1,); scores : (s,), best first; n_leading : int64 (n,), written
    """
    for i in range(ptr.size - 1):
        lo = ptr[i]
        hi = ptr[i + 1]
        while lo < hi:
            middle = (lo + hi) // 2
            if scores[middle] > value or (with_equal and scores[middle] == value):
                lo = middle + 1
            else:
                hi = middle
        n_leading[i] = lo - ptr[i]


@kernel
def count_reaching(ptr: Ints, scores: Scores, value: float, n_reaching: Ints) -> None:
    """Count the entries of rows, in any order, at or above a value.

    ptr : int64 (n + 1,); scores : (s,); n_reaching : int64 (n,), written
    """
    for i in range(ptr.size - 1):
        n = 0
        for p in range(ptr[i], ptr[i + 1]):
            n += scores[p] >= value
        n_reaching[i] = n


@kernel
def fill_heads(
    ptr: Ints, labels: Labels, n_above: Ints, n_labels: int, head_ptr: Ints, head_labels: Labels
) -> None:
    """Write the first labels of rows where unlisted labels compete, in the order of ids.

    The order is: the ``n_above`` leading entries, the unlisted labels by id, the other entries.

    ptr, labels : int64 (n + 1,), (s,), best first; n_above : int64 (n,)
    head_ptr : int64 (n + 1,), how many labels each row gets; head_labels : (head_ptr[-1],), written
    """
    depth = longest_row(head_ptr)
    listed = labels[:0].copy()
    if labels.size:
        listed = np.empty(longest_row(ptr), labels.dtype)
    for i in range(ptr.size - 1):
        lo = ptr[i]
        n = ptr[i + 1] - ptr[i]
        out = head_ptr[i]
        stop = head_ptr[i + 1]
        for p in range(min(n_above[i], stop - out)):
            head_labels[out] = labels[lo + p]
            out += 1
        if out < stop and n < n_labels:
            # ids below n + depth hold enough unlisted labels; only listed ids there matter
            n_low = 0
            for p in range(lo, lo + n):
                if labels[p] < n + depth:
                    listed[n_low] = labels[p]
                    n_low += 1
            listed[:n_low].sort()
            label = 0
            at = 0
            while out < stop and label < n_labels:
                if at < n_low and listed[at] == label:
                    at += 1
                else:
                    head_labels[out] = label
                    out += 1
                label += 1
        for p in range(n_above[i], n):
            if out < stop:
                head_labels[out] = labels[lo + p]
                out += 1
