"""Ordering the listed labels of each instance, best first."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.jit import kernel
from xmleval.kernels.sorting import longest_row, sort_down
from xmleval.records import Ints, Labels, Scores

MOST_RISES = 1 << 30  # that 32 bits count
LANES = 16  # lanes whose maxima bound the best of a row
SHARE, MOST_PARTS = 6, 3  # heads that one bound is for, as it gets loose towards 8, and bounds of a row
FEW = 64  # entries up to which counting the better ones of each beats inserting
WORTH = 80  # entries times depth from which on it is worth to look for a bound
PART = 64  # entries that are looked at together


@kernel
def rank_rows(ptr: Ints, labels: Labels, scores: Scores) -> None:
    """Order each row by score downwards, in place; ties keep the order they came in.

    ptr : int64 (n + 1,); labels, scores : (s,), moved together
    """
    spare = longest_row(ptr)
    spare_scores, spare_labels = scores[:spare].copy(), labels[:spare].copy()
    for i in range(ptr.size - 1):
        sort_down(scores, labels, ptr[i], ptr[i + 1], spare_scores, spare_labels)


@kernel
def head_pointer(ptr: Ints, depth: int) -> Ints:
    """Return the CSR pointer of rows cut to at most ``depth`` entries."""
    out = np.zeros(ptr.size, np.int64)
    for i in range(ptr.size - 1):
        out[i + 1] = out[i] + min(depth, ptr[i + 1] - ptr[i])
    return out


@kernel
def copy_heads(ptr: Ints, values: Scores, head_ptr: Ints, heads: Scores) -> None:
    """Copy the leading entries of each row; heads : (head_ptr[-1],), written."""
    for i in range(ptr.size - 1):
        for p in range(head_ptr[i + 1] - head_ptr[i]):
            heads[head_ptr[i] + p] = values[ptr[i] + p]


@kernel
def falls(ptr: Ints, scores: Scores) -> bool:
    """Tell whether no row's scores rise, and none is NaN."""
    n_rises, n_unordered = 0, int(scores.size > 0 and scores[0] != scores[0])
    for start in range(1, scores.size, MOST_RISES):  # over all rows, which vectorises
        several, unordered = np.int32(0), np.int32(0)
        later = scores[start : start + MOST_RISES]
        earlier = scores[start - 1 : start - 1 + later.size]
        for p in range(later.size):
            several = np.int32(several + np.int32(later[p] > earlier[p]))
            unordered = np.int32(unordered + np.int32(later[p] != later[p]))
        n_rises, n_unordered = n_rises + int(several), n_unordered + int(unordered)
    for i in range(1, ptr.size - 1):  # rises where rows begin are none
        start = ptr[i]
        if 0 < start < scores.size and ptr[i + 1] > start:
            n_rises -= scores[start] > scores[start - 1]
    return n_rises == 0 and n_unordered == 0


@kernel
def bound_part(row: Scores, depth: int, best: Scores) -> float:
    """Return a score that at least ``depth`` entries of a row reach, and seldom many more.

    The row is dealt out to 16 and then 8 lanes, whose maxima belong to as many entries and are sorted.

    row : at least LANES entries; depth : at most 8; best : (LANES,) of their type, overwritten
    """
    for x in range(LANES):
        best[x] = row[x]
    start = LANES
    while start + LANES <= row.size:
        for x in range(LANES):
            best[x] = row[start + x] if row[start + x] > best[x] else best[x]
        start += LANES
    for x in range(row.size - start):
        best[x] = row[start + x] if row[start + x] > best[x] else best[x]
    for x in range(8):
        best[x] = best[x + 8] if best[x + 8] > best[x] else best[x]
    a, b, c, d, e, f, g, h = best[0], best[1], best[2], best[3], best[4], best[5], best[6], best[7]
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
    best[0], best[1], best[2], best[3] = a, b, c, d
    best[4], best[5], best[6], best[7] = e, f, g, h
    bound: float = best[depth - 1]
    return bound


@kernel
def collect_reaching(row: Scores, bound: float, found: Ints) -> int:
    """Collect the places of the entries that reach a bound, without a branch for each.

    found : int64 (FEW + PART,), places written in order
    Returns how many there are, or some number above FEW where they are more.
    """
    n = np.uint64(0)  # unsigned: a signed index is first asked whether it counts from the end
    for start in range(0, row.size, PART):
        part = row[start : start + PART]
        some = False
        for s in range(part.size):  # vectorises, and wide rows have next to nothing in most parts
            some |= part[s] >= bound
        if some and n <= np.uint64(FEW):
            for s in range(part.size):
                found[n] = start + s
                n += np.uint64(part[s] >= bound)
    return int(np.int64(n))


@kernel
def order_few(row: Scores, found: Ints, n: int, values: Scores, places: Ints, order: Ints) -> None:
    """Order entries by score downwards, by counting the better ones of each; ties keep their order.

    found : int64, at least n places in the row; order : int64 (FEW,), gets them best first
    values, places : (FEW,) as the row, int64 (FEW,); overwritten
    """
    for q in range(n):
        score, place = row[found[q]], 0
        values[q] = score
        for p in range(q):
            before = values[p] >= score
            place += before
            places[p] += not before
        places[q] = place
    for q in range(n):
        order[places[q]] = found[q]


@kernel
def select_heads(
    ptr: Ints, labels: Labels, scores: Scores, head_ptr: Ints, head_labels: Labels, head_scores: Scores
) -> None:
    """Write the best entries of each row in order; ties keep the order they came in.

    Of shallow heads few entries come into question: those that reach a bound which is found in passing.

    ptr, labels, scores : int64 (n + 1,), (s,), (s,); head_ptr from `head_pointer`; the rest is written
    """
    best, values = np.empty(LANES, scores.dtype), np.empty(FEW, scores.dtype)
    infinite = scores.dtype.type(np.inf)
    found, places, order = np.empty(FEW + PART, np.int64), np.empty(FEW, np.int64), np.empty(FEW, np.int64)
    for i in range(ptr.size - 1):
        first, n = ptr[i], ptr[i + 1] - ptr[i]
        lo, depth = head_ptr[i], head_ptr[i + 1] - head_ptr[i]
        if depth == 0:
            continue
        n_parts = -(-depth // SHARE)
        if n_parts <= MOST_PARTS and n_parts * (LANES + MOST_PARTS) <= n and depth * n >= WORTH:
            row = scores[first : first + n]
            share, width, bound = -(-depth // n_parts), -(-n // n_parts), infinite
            for start in range(0, n, width):  # so many of each part reach the least bound of all
                other = bound_part(row[start : start + width], share, best)
                bound = other if other < bound else bound
            n_found = collect_reaching(row, bound, found)
            if n_found <= FEW:
                order_few(row, found, n_found, values, places, order)
                for r in range(depth):
                    p = first + order[r]
                    head_scores[lo + r], head_labels[lo + r] = scores[p], labels[p]
                continue
        held = 0
        for p in range(first, first + n):
            score = scores[p]
            if held == depth and score <= head_scores[lo + depth - 1]:
                continue
            j = lo + (held if held < depth else depth - 1)
            while j > lo and head_scores[j - 1] < score:
                head_scores[j], head_labels[j] = head_scores[j - 1], head_labels[j - 1]
                j -= 1
            head_scores[j], head_labels[j] = score, labels[p]
            if held < depth:
                held += 1


@kernel
def count_leading(ptr: Ints, scores: Scores, value: float, with_equal: bool, n_leading: Ints) -> None:
    """Count the leading entries of each row (best first) above a value, or at and above it.

    ptr : int64 (n + 1,); scores : (s,); n_leading : int64 (n,), written
    """
    for i in range(ptr.size - 1):
        lo, hi = ptr[i], ptr[i + 1]
        while lo < hi:
            middle = (lo + hi) // 2
            if scores[middle] > value or (with_equal and scores[middle] == value):
                lo = middle + 1
            else:
                hi = middle
        n_leading[i] = lo - ptr[i]


@kernel
def count_reaching(ptr: Ints, scores: Scores, value: float, n_reaching: Ints) -> None:
    """Count the entries of each row, in any order, at and above a value; n_reaching : int64 (n,), written."""
    for i in range(ptr.size - 1):
        n = 0
        for p in range(ptr[i], ptr[i + 1]):
            n += scores[p] >= value
        n_reaching[i] = n


@kernel
def fill_heads(
    ptr: Ints, labels: Labels, n_above: Ints, n_labels: int, head_ptr: Ints, head_labels: Labels
) -> None:
    """Write the first labels of each row where unlisted labels compete, in the order of their ids.

    The order is: the ``n_above`` leading entries, the unlisted labels by id, the other entries.
    head_ptr : int64 (n + 1,), how many labels each row wants; head_labels is written
    """
    depth = longest_row(head_ptr)
    listed = labels[:0].copy()
    if labels.size:
        listed = np.empty(longest_row(ptr), labels.dtype)
    for i in range(ptr.size - 1):
        lo, n = ptr[i], ptr[i + 1] - ptr[i]
        out, stop = head_ptr[i], head_ptr[i + 1]
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
            label, at = 0, 0
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
