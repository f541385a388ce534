"""Sweeps down pooled scores without one jackknife group of rows at a time, all in one pass.

Entries are counted in int64 (2, groups): relevant and irrelevant ones of each group. Scores of all
entries come counted by value, see `kernels.values`, or as sorted keys, as those of labels do: from
the highest bit on, the label, the rank of the score, whether the entry is relevant, and its group.

Sums are float64 (3, 3, groups): sums, their rounding errors, and what is pending of some tie
groups, of the entries outside each group: pairs in the right order, tied pairs, and for every
relevant entry the precision at the end of its tie group.
"""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.kernels.addresses import array_at
from xmleval.kernels.jackknife import GROUP_BITS, N_GROUPS
from xmleval.kernels.jit import kernel, kernel_with_work
from xmleval.kernels.keys import HALF as RANK_BITS
from xmleval.kernels.packing import FEW, HALF, HEADER, N_PLACES, add_packed
from xmleval.kernels.values import (
    DATA,
    FIRST,
    LAST,
    OFFSETS,
    PACKED,
    STOP,
    clear_table,
    list_bucket,
    sort_places,
)

# above the group, so that of equal scores those of relevant entries are the last
RELEVANT = N_GROUPS
MARK_BITS = GROUP_BITS + 1  # of a key
BELOW_LABEL = RANK_BITS + MARK_BITS
LAST_RANK = (1 << RANK_BITS) - 1
MOST_LABELS = (1 << 63 - BELOW_LABEL) - 1  # so that the number behind the last fits, too
PIECE = 1 << 13  # tie groups of a bucket at a time, which bounds the lines; their sums are pending
N_SUMS = 3
RIGHT, TIED, PRECISION = range(N_SUMS)
PENDING = 2


@kernel
def add_pending(sums: Floats) -> None:
    """Add pending terms to the sums and their rounding errors (Knuth's TwoSum)."""
    for kind in range(N_SUMS):
        for group in range(sums.shape[2]):
            term = sums[PENDING, kind, group]
            old = sums[0, kind, group]
            new = old + term
            added = new - old
            sums[0, kind, group] = new
            sums[1, kind, group] += (old - (new - added)) + (term - added)
            sums[PENDING, kind, group] = 0.0


@kernel
def leave_out(tied: Ints, between: Ints, above: Ints, totals: Ints, sums: Floats) -> None:
    """Add pairs and precision of a tie group to the pending terms, without each jackknife group.

    tied : int64 (2, groups), relevant and irrelevant entries of the tie group, which are added to
        ``above``
    between : int64 (groups,), irrelevant entries between it and the one before, likewise
    above, totals : int64 (2, groups), entries that rank above, and all; sums : see the top of the
        file
    """
    n_good = np.int64(0)
    n_tied = np.int64(0)
    hits = np.int64(0)
    wrong = np.int64(0)
    n_bad = np.int64(0)
    for group in range(tied.shape[1]):
        above[0, group] += tied[0, group]
        above[1, group] += between[group] + tied[1, group]
        n_good += tied[0, group]
        n_tied += tied[1, group]
        hits += above[0, group]
        wrong += above[1, group]
        n_bad += totals[1, group]
    for group in range(tied.shape[1]):
        left = np.float64(n_good - tied[0, group])
        hits_left = hits - above[0, group]
        wrong_left = wrong - above[1, group]
        sums[PENDING, RIGHT, group] += left * (n_bad - totals[1, group] - wrong_left)
        sums[PENDING, TIED, group] += left * (n_tied - tied[1, group])
        # 0 where the group alone has entries
        sums[PENDING, PRECISION, group] += left * (hits_left / max(hits_left + wrong_left, 1))


@kernel
def count_key(key: int, n: int, counted: Ints) -> None:
    """Count the entry of a key n times; counted : int64 (2, groups), added to."""
    counted[1 - ((key >> GROUP_BITS) & 1), key & (RELEVANT - 1)] += n


def n_counted(keys: Ints, level: int, unlisted: Ints, *_: object) -> int:
    """Return the number of entries, for each group."""
    return int(keys.size * unlisted.shape[1])


@kernel_with_work(n_counted)
def sweep_keys(
    keys: Ints, level: int, unlisted: Ints, tied: Ints, above: Ints, totals: Ints, sums: Floats
) -> None:
    """Sweep the entries of one label, best first.

    keys : int64 (s,), increasing; level : rank of the score of unlisted entries, -1 if they rank
        below all
    unlisted : int64 (2, groups), unlisted entries; tied : as large, overwritten
    above, totals, sums : as in `leave_out`
    """
    p = keys.size
    passed = False  # whether the unlisted entries are passed
    none = np.zeros(tied.shape[1], np.int64)
    while p > 0 or not passed:
        rank = (keys[p - 1] >> MARK_BITS) & LAST_RANK if p > 0 else -1
        if not passed and level >= rank:
            rank = level
            passed = True
            tied[:] = unlisted
        elif keys[p - 1] & RELEVANT:
            tied[:] = 0
        else:  # an irrelevant entry, with no relevant one of the same score
            p -= 1
            count_key(keys[p], 1, above)
            continue
        while p > 0 and (keys[p - 1] >> MARK_BITS) & LAST_RANK == rank:
            p -= 1
            count_key(keys[p], 1, tied)
        leave_out(tied, none, above, totals, sums)
        add_pending(sums)


def n_counted_by_label(labels: Ints, keys: Ints, n_true: Ints, n_rows: Ints, *_: object) -> int:
    """Return the number of entries and labels, for each group."""
    return int((keys.size + labels.size) * n_rows.size)


@kernel_with_work(n_counted_by_label)
def sweep_labels(
    labels: Ints, keys: Ints, n_true: Ints, n_rows: Ints, level: int, values: Floats
) -> None:
    """Sweep the entries of all labels.

    labels : int64 (n,), increasing; keys : int64 (s,), increasing, of any labels
    n_true : int64 (groups, n), rows in which each label is relevant; n_rows : int64 (groups,), all
        rows
    level : as in `sweep_keys`; values : float64 (3, groups, n), written: the sums
    """
    n_groups = n_rows.size
    totals = np.empty((2, n_groups), np.int64)
    unlisted = np.empty((2, n_groups), np.int64)
    above = np.empty_like(totals)
    tied = np.empty_like(totals)
    sums = np.empty((3, N_SUMS, n_groups))
    stop = keys.size
    for at in range(labels.size - 1, -1, -1):
        for group in range(n_groups):
            totals[0, group] = n_true[group, at]
            totals[1, group] = n_rows[group] - n_true[group, at]
        unlisted[:] = totals
        above[:] = 0
        sums[:] = 0.0
        while stop > 0 and keys[stop - 1] >> BELOW_LABEL > labels[at]:
            stop -= 1
        start = stop
        while start > 0 and keys[start - 1] >> BELOW_LABEL == labels[at]:
            start -= 1
            count_key(keys[start], -1, unlisted)
        sweep_keys(keys[start:stop], level, unlisted, tied, above, totals, sums)
        stop = start
        for kind in range(N_SUMS):
            for group in range(n_groups):
                values[kind, group, at] = sums[0, kind, group] + sums[1, kind, group]


@kernel
def count_lines(
    part: Ints, bucket: int, line_of: Labels, table: Ints, listed: Labels, counted: Ints
) -> None:
    """Count the scores of a part in a bucket by the line of their place, see `lines_around`.

    part : int64 (FIELDS,), see `kernels.values`; line_of : int32 (N_PLACES,)
    table : int64 (N_PLACES,), zeros, and again at the end; listed : uint16 (N_PLACES + 1,),
        overwritten
    counted : int64 (n,), added to
    """
    first = part[FIRST]
    stop = part[STOP]
    if not first <= bucket < stop:
        return
    if not part[PACKED]:
        starts = array_at(part[OFFSETS], stop - first + 1, np.uint32)
        start = np.int64(starts[bucket - first])
        end = np.int64(starts[bucket - first + 1])
        for place in array_at(part[DATA] + 2 * start, end - start, np.uint16):
            counted[line_of[place]] += 1
        return
    offsets = array_at(part[OFFSETS], stop - first + 1, np.int64)
    if offsets[bucket - first] == offsets[bucket - first + 1]:
        return
    at = part[DATA] + offsets[bucket - first]
    few = array_at(at, HEADER, np.int64)[1] <= FEW
    n_listed = add_packed(at, table, listed, 0 if few else -1)
    for i in range(n_listed if few else N_PLACES):
        place = np.int64(listed[i]) if few else i
        counted[line_of[place]] += table[place]
    clear_table(table, listed, n_listed)


@kernel
def lines_around(places: Labels, start: int, stop: int, line_of: Labels) -> None:
    """Find the line of every place in a table of tie groups and the gaps between them.

    Line 2 i + 1 is that of the i-th of places[start:stop], line 2 i that of the places between it
    and the one before; the last even line takes those above the last one. A line behind it takes
    the places that are counted with other tie groups. Of the places 5, 8 and 20, start 1 and stop
    2: 8 is in line 1, 9 to 19 in line 2, and all others in line 3.

    places : uint16 (n,), increasing; line_of : int32 (N_PLACES,), written
    """
    line_of[:] = 2 * (stop - start) + 1
    reached = np.int64(places[start]) if start > 0 else 0
    for i in range(start, stop):
        place = np.int64(places[i])
        line_of[reached:place] = 2 * (i - start)
        line_of[place] = 2 * (i - start) + 1
        reached = place + 1
    line_of[reached : np.int64(places[stop]) if stop < places.size else N_PLACES] = 2 * (
        stop - start
    )


def n_swept(parts: Ints, marks: Ints, buckets: Ints, sizes: Ints, *_: object) -> int:
    """Return the number of scores of some buckets, for each group, and of a table of places."""
    return int(sizes.sum() * sizes.shape[2]) + N_PLACES


@kernel_with_work(n_swept)
def sweep_buckets(
    parts: Ints,
    marks: Ints,
    buckets: Ints,
    sizes: Ints,
    level: int,
    unlisted: Ints,
    above: Ints,
    totals: Ints,
    sums: Floats,
) -> None:
    """Sweep scores counted by value in some buckets, best first.

    parts : of the scores, those of relevant entries first, as they must stand
    marks : int64 (p,), jackknife group of each part, and `RELEVANT` more if its entries are
        relevant
    buckets : int64 (b,), increasing; sizes : int64 (2, b, groups), relevant and irrelevant scores
        of each
    level : as in `sweep_keys`; if it is -1, or in none of these buckets, unlisted entries are not
        counted
    unlisted, above, totals, sums : as in `sweep_keys`
    """
    listed = np.empty(N_PLACES + 1, np.uint16)
    spare = np.empty(N_PLACES + 1, np.uint16)
    table = np.zeros(N_PLACES, np.int64)
    line_of = np.empty(N_PLACES, np.int32)
    counted = np.empty((2 * PIECE + 2, 2, sizes.shape[2]), np.int64)
    relevant = parts[: np.count_nonzero(marks >= RELEVANT)]
    for number in range(buckets.size - 1, -1, -1):
        bucket = buckets[number]
        n_relevant = sizes[0, number].sum()
        at_level = level & LAST if level >> HALF == bucket else -1
        if n_relevant == 0 and at_level < 0:
            above[1] += sizes[1, number]
            continue
        n_listed, n = list_bucket(relevant, bucket, n_relevant, table, listed, spare)
        new = at_level >= 0 and table[at_level] == 0  # a tie group of its own
        # the places alone are needed here; they are counted by group below
        clear_table(table, listed, n if n_listed >= 0 else -1)
        if new:
            listed[n] = np.uint16(at_level)
            n += 1
            sort_places(listed, n, spare)
        for end in range(n, 0, -PIECE):
            start = max(0, end - PIECE)
            lines_around(listed[:n], start, end, line_of)
            n_lines = 2 * (end - start) + 1
            counted[: n_lines + 1] = 0
            for p in range(parts.shape[0]):
                side = 1 - (marks[p] >> GROUP_BITS)
                group = marks[p] & (RELEVANT - 1)
                count_lines(parts[p], bucket, line_of, table, spare, counted[:, side, group])
            if at_level >= 0 and line_of[at_level] < n_lines:
                counted[line_of[at_level]] += unlisted
            for line in range(n_lines - 2, -1, -2):
                leave_out(counted[line], counted[line + 1, 1], above, totals, sums)
            above[1] += counted[0, 1]
            add_pending(sums)
