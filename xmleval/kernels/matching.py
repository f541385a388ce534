"""Places, ranks and ties of the relevant labels of instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.base.arrays import Ints, Labels, Scores
from xmleval.kernels.decimal import U0, U1, U2, U3, U4
from xmleval.kernels.jit import kernel, kernel_with_work
from xmleval.kernels.sorting import copy_to, longest_row, sort_up

# relevant labels of a row up to which comparing all pairs of labels beats binary search
COMPARED = 256
VECTOR = 16  # labels that are compared at once
PAIRS = 12  # of labels that plain Python compares in the time it takes for another entry
FEW_MISSING = 8  # unlisted relevant labels of a row up to which comparing beats sorting the list


@kernel
def place_of(row: Labels, label: int) -> int:
    """Return the 1-based place of a label in a row, 0 if absent. row : (s,), distinct labels.

    There is no early exit, so that it vectorises: up to twice as fast in lists of 100. In rows that
    list all labels by id the first comparison is enough: 15 times as fast with 4,000 labels.
    """
    if label < row.size and row[label] == label:
        return label + 1
    place = 0
    for s in range(row.size):
        place = s + 1 if row[s] == label else place
    return place


@kernel
def index_of(labels: Labels, label: int) -> Any:
    """Return the index of a label among increasing ones, -1 if it is not there."""
    at = np.searchsorted(labels, label)
    return at if at < labels.size and labels[at] == label else -1


def n_compared(n_listed: Ints, true_ptr: Ints) -> int:
    """Return the work of comparing each relevant label with the listed entries of its instance."""
    return int(n_listed @ np.diff(true_ptr)) // PAIRS + n_listed.size + int(true_ptr[-1])


@kernel_with_work(lambda list_ptr, _, true_ptr, *others: n_compared(np.diff(list_ptr), true_ptr))
def find_positions(
    list_ptr: Ints, list_labels: Labels, true_ptr: Ints, true_labels: Labels, positions: Ints
) -> None:
    """Find each relevant label in its instance's list.

    list_ptr, list_labels : int64 (n + 1,), (s,) distinct labels of each row, in any order
    true_ptr, true_labels : int64 (n + 1,), (t,) strictly increasing within each row
    positions : int64 (t,), written: 1-based place in the row's list, 0 where it is not listed
    """
    for i in range(true_ptr.size - 1):
        row = list_labels[list_ptr[i] : list_ptr[i + 1]]
        first = true_ptr[i]
        last = true_ptr[i + 1]
        if last - first > COMPARED:
            positions[first:last] = 0
            for s in range(row.size):
                t = index_of(true_labels[first:last], row[s])
                if t >= 0:
                    positions[first + t] = s + 1
        elif row.size == 5:
            # the usual top five stay at hand for all relevant labels, over which this vectorises: 2
            # to 6 times as fast as the loop below, but only half as fast in a function
            a = row[U0]
            b = row[U1]
            c = row[U2]
            d = row[U3]
            e = row[U4]
            for t in range(np.uint64(first), np.uint64(last)):
                label = true_labels[t]
                place = 0
                place = 1 if label == a else place
                place = 2 if label == b else place
                place = 3 if label == c else place
                place = 4 if label == d else place
                positions[t] = 5 if label == e else place
        else:
            for t in range(first, last):
                positions[t] = place_of(row, true_labels[t])


@kernel
def search_hits(truth: Labels, row: Labels, hits: Labels) -> int:
    """Write the labels of a row that are among increasing ones; return how many there are.

    Within `find_hits` this loop slows down the others by a seventh, though it never runs.
    """
    n_hits = 0
    for label in row:
        hits[n_hits] = label
        n_hits += index_of(truth, label) >= 0
    return n_hits


@kernel_with_work(lambda true_ptr, _, cut, *others: n_compared(cut, true_ptr))
def find_hits(
    true_ptr: Ints,
    true_labels: Labels,
    cut: Ints,
    list_ptr: Ints,
    list_labels: Labels,
    n_within: Ints,
    hits: Labels,
) -> int:
    """Write the relevant labels among the leading entries of lists; return their number.

    Comparing vectorises over the longer of the two sides: in lists of 5, comparing with the list is
    1.2 times as fast for 5 relevant labels and half as fast for 36. The loops stand first and in
    full: calls take 1.15 times as long.

    cut : int64 (n,), entries of each list that count; the others are as in `find_positions`
    n_within : int64 (n,), written: how many each instance has; they stand together
    hits : (t + 1,), written; each label is written before it is known to count, which needs no
        branch
    """
    n_hits = 0
    for i in range(true_ptr.size - 1):
        before = n_hits
        first = true_ptr[i]
        n_relevant = true_ptr[i + 1] - true_ptr[i]
        start = list_ptr[i]
        n = cut[i]
        if n_relevant < VECTOR or (n_relevant < n and n_relevant <= COMPARED):
            row = list_labels[start : start + n]
            # unsigned: see `find_duplicate`
            for t in range(np.uint64(first), np.uint64(first + n_relevant)):
                label = true_labels[t]
                is_hit = False
                for s in range(n):
                    is_hit |= row[s] == label
                hits[np.uint64(n_hits)] = label
                n_hits += is_hit
        elif n_relevant <= COMPARED:
            # whole vectors, the last of which overlaps: 1.3 times as fast with 36 labels, since the
            # compiler compares a rest one by one; it does so for `range(VECTOR)`, too
            truth = true_labels[first : first + n_relevant]
            last = true_labels[first + n_relevant - VECTOR : first + n_relevant]
            for s in range(start, start + n):
                label = list_labels[s]
                is_hit = False
                for t in range(truth.size // VECTOR * VECTOR):
                    is_hit |= truth[np.uint64(t)] == label
                for t in range(last.size // VECTOR * VECTOR):
                    is_hit |= last[np.uint64(t)] == label
                hits[np.uint64(n_hits)] = label
                n_hits += is_hit
        else:
            truth = true_labels[first : first + n_relevant]
            n_hits += search_hits(truth, list_labels[start : start + n], hits[n_hits:])
        n_within[i] = n_hits - before
    return n_hits


@kernel
def rank_positions(
    positions: Ints, true_ptr: Ints, list_ptr: Ints, n_above: Ints, n_labels: int, ranks: Ints
) -> None:
    """Turn places in the list into ranks among all labels, where unlisted labels compete.

    positions, true_ptr, list_ptr : as in `find_positions`
    n_above : int64 (n,), entries of each list above the unlisted labels
    ranks : int64 (t,), written for listed labels only
    """
    for i in range(true_ptr.size - 1):
        n_unlisted = n_labels - (list_ptr[i + 1] - list_ptr[i])
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if positions[t]:
                ranks[t] = positions[t] + (n_unlisted if positions[t] > n_above[i] else 0)


@kernel
def rank_unlisted(
    positions: Ints,
    true_ptr: Ints,
    true_labels: Labels,
    list_ptr: Ints,
    list_labels: Labels,
    n_above: Ints,
    ranks: Ints,
) -> None:
    """Rank the relevant labels that are not listed: by id, behind the ``n_above`` leading entries.

    Label j has rank n_above + 1 + j - #(listed ids below j): no loop over unlisted labels.

    positions, true_ptr, true_labels, list_ptr, list_labels : as in `find_positions`
    n_above : int64 (n,), entries of each list above the unlisted labels
    ranks : int64 (t,), written for unlisted labels only
    """
    listed = list_labels[:0].copy()
    if list_labels.size:
        listed = np.empty(longest_row(list_ptr), list_labels.dtype)
    for i in range(true_ptr.size - 1):
        lo = list_ptr[i]
        n = list_ptr[i + 1] - list_ptr[i]
        first = true_ptr[i]
        last = true_ptr[i + 1]
        n_missing = 0
        for t in range(first, last):
            n_missing += positions[t] == 0
        if n_missing == 0:
            continue
        if n_missing > FEW_MISSING:
            copy_to(listed[:n], list_labels[lo : lo + n])
            listed[:n].sort()
        for t in range(first, last):
            if positions[t]:
                continue
            label = true_labels[t]
            n_smaller = 0
            if n_missing > FEW_MISSING:
                n_smaller = np.searchsorted(listed[:n], label)
            else:
                for s in range(lo, lo + n):
                    n_smaller += list_labels[s] < label
            ranks[t] = n_above[i] + 1 + label - n_smaller


@kernel
def tie_group(row: Scores, place: int) -> tuple[int, int]:
    """Return where the scores equal to row[place] start and stop; row : (s,), best first."""
    score = row[place]
    start = place
    left = 0
    while left < start:
        middle = (left + start) // 2
        if row[middle] > score:
            left = middle + 1
        else:
            start = middle
    stop = place + 1
    right = row.size
    while stop < right:
        middle = (stop + right) // 2
        if row[middle] == score:
            stop = middle + 1
        else:
            right = middle
    return start, stop


@kernel
def find_ties(
    positions: Ints,
    true_ptr: Ints,
    list_ptr: Ints,
    scores: Scores,
    n_above: Ints,
    n_reaching: Ints,
    n_cells: Ints,
    above: Ints,
    tied: Ints,
) -> None:
    """Count for each relevant label the labels with a higher score, and those tied with it.

    positions, true_ptr, list_ptr : as in `find_positions`
    scores : (s,) best first, or (0,) for lists without scores, which have no ties
    n_above, n_reaching : int64 (n,), entries above the unlisted labels, and above or tied with them
    n_cells : int64 (n,), labels of each row, listed or not
    above, tied : int64 (t,), written; ``tied`` counts the label itself
    """
    for i in range(true_ptr.size - 1):
        lo = list_ptr[i]
        hi = list_ptr[i + 1]
        n_unlisted = n_cells[i] - (hi - lo)
        group = n_reaching[i] - n_above[i] + n_unlisted
        for t in range(true_ptr[i], true_ptr[i + 1]):
            place = positions[t] - 1
            if place < 0 or n_above[i] <= place < n_reaching[i]:
                above[t] = n_above[i]
                tied[t] = group
                continue
            start = place
            stop = place + 1
            if scores.size:
                start, stop = tie_group(scores[lo:hi], place)
            above[t] = start + (n_unlisted if place >= n_reaching[i] else 0)
            tied[t] = stop - start


@kernel_with_work(lambda _, true_ptr, list_ptr, *others: n_compared(np.diff(list_ptr), true_ptr))
def count_places(
    positions: Ints,
    true_ptr: Ints,
    list_ptr: Ints,
    scores: Scores,
    above: Ints,
    tied: Ints,
    ranks: Ints,
) -> None:
    """Count the listed entries above each relevant label and tied with it, in lists of any order.

    For a few relevant labels a row, this is many times as fast as sorting the row.

    positions, true_ptr, list_ptr : as in `find_positions`; scores : (s,)
    above, tied, ranks : int64 (t,), written for listed labels: entries with a higher score, with
        the same, and the rank in a stable sort
    """
    for i in range(true_ptr.size - 1):
        row = scores[list_ptr[i] : list_ptr[i + 1]]
        for t in range(true_ptr[i], true_ptr[i + 1]):
            place = positions[t]
            if place == 0:
                continue
            score = row[place - 1]
            greater = 0
            equal = 0
            earlier = 0
            for s in range(row.size):
                greater += row[s] > score
                equal += row[s] == score
            if equal > 1:
                for s in range(place - 1):
                    earlier += row[s] == score
            above[t] = greater
            tied[t] = equal
            ranks[t] = greater + earlier + 1


@kernel
def place_unlisted(
    positions: Ints,
    true_ptr: Ints,
    list_ptr: Ints,
    scores: Scores,
    unlisted: float,
    n_cells: Ints,
    above: Ints,
    tied: Ints,
) -> None:
    """Include unlisted labels in the counts of `count_places`.

    positions, true_ptr, list_ptr : as in `find_positions`; scores : (s,), in any order within a row
    unlisted : score of the unlisted labels, NaN if they rank below all listed ones
    n_cells : int64 (n,), labels of each row, listed or not
    above, tied : int64 (t,), changed for listed labels, written for unlisted ones
    """
    below = np.isnan(unlisted)
    for i in range(true_ptr.size - 1):
        row = scores[list_ptr[i] : list_ptr[i + 1]]
        n_unlisted = n_cells[i] - row.size
        greater = 0
        equal = 0
        if below:
            greater = row.size
        else:
            for s in range(row.size):
                greater += row[s] > unlisted
                equal += row[s] == unlisted
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if positions[t] == 0:
                above[t] = greater
                tied[t] = equal + n_unlisted
            elif not below:
                score = row[positions[t] - 1]
                above[t] += n_unlisted if unlisted > score else 0
                tied[t] += n_unlisted if unlisted == score else 0


@kernel
def sort_ranks(true_ptr: Ints, ranks: Ints) -> None:
    """Sort the ranks of every instance upwards in place; true_ptr, ranks : int64 (n + 1,), (t,)."""
    for i in range(true_ptr.size - 1):
        sort_up(ranks, true_ptr[i], true_ptr[i + 1])
