"""Sweeps down the scores of weighted entries, tie groups whole."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.fixed import ONE, add_term
from xmleval.kernels.jit import kernel
from xmleval.kernels.sorting import copy_to
from xmleval.kernels.sweeps import reach
from xmleval.kernels.weight_sums import (
    HIGHEST,
    LOWEST,
    N_DIGITS,
    PRODUCTS,
    SUM,
    UNCARRIED,
    add_products,
    add_sum,
    carry_products,
    find_word,
    round_products,
    round_sum,
    split_digits,
    total_of,
)
from xmleval.records import Floats, Ints


@kernel
def count_group(
    group: Ints, others: Ints, key: int, totals: Ints, seen: Ints, scale: float, room: Ints, pairs: Ints,
    precision: Ints, peak: Floats,
) -> None:  # fmt: skip
    """Count a tie group; arguments as in `sweep_sums`, the first rows of ``precision`` and ``peak``.

    group, others : int64 (3,), sums of its relevant and of its irrelevant entries
    room : int64 (3, 7), overwritten
    """
    add_sum(seen[1], others[0], others[1], others[2], 1)
    if group[0] == 0 and group[1] == 0 and group[2] == 0:
        return
    add_sum(seen[0], group[0], group[1], group[2], 1)
    all_seen = room[2, :SUM]
    copy_to(all_seen, totals[1])
    add_sum(all_seen, seen[1, 0], seen[1, 1], seen[1, 2], -1)
    split_digits(group, room[0])
    split_digits(all_seen, room[1])
    add_products(room[0], room[1], pairs[0])
    split_digits(others, room[1])
    add_products(room[0], room[1], pairs[1])
    copy_to(all_seen, seen[0])
    add_sum(all_seen, seen[1, 0], seen[1, 1], seen[1, 2], 1)
    hits = round_sum(seen[0])
    add_term(precision, round_sum(group) * scale * (hits / round_sum(all_seen)))
    add_sum(all_seen, totals[0, 0], totals[0, 1], totals[0, 2], 1)
    f1 = 2.0 * hits / round_sum(all_seen)
    if f1 > peak[0]:
        peak[0], peak[1] = f1, score_of(key)


@kernel
def reach_group(
    asked: Floats, group: Ints, others: Ints, key: int, totals: Ints, seen: Ints, scale: float, room: Ints,
    precision: Ints, peak: Floats,
) -> None:  # fmt: skip
    """Take the cut at the end of a tie group for what is asked, after `count_group`."""
    if group[0] == 0 and group[1] == 0 and group[2] == 0:
        return
    all_seen = room[2, :SUM]
    copy_to(all_seen, seen[0])
    add_sum(all_seen, seen[1, 0], seen[1, 1], seen[1, 2], 1)
    reach(
        asked, round_sum(group) * scale, round_sum(others), score_of(key), round_sum(seen[0]),
        round_sum(seen[1]), round_sum(all_seen), round_sum(totals[0]), round_sum(totals[1]), precision[1:],
        peak[1:],
    )  # fmt: skip


@kernel
def score_of(key: int) -> float:
    """Return the score of a key, -inf for `LOWEST`."""
    if key == LOWEST:
        return -np.inf
    score: float = np.int64(key ^ ((key >> 63) & HIGHEST)).view(np.float64)
    return score


@kernel
def sweep_sums(
    relevant: Ints, irrelevant: Ints, extra_key: int, extra: Ints, totals: Ints, seen: Ints, scale: float,
    asked: Floats, pairs: Ints, precision: Ints, peak: Floats, strides: Floats, points: Floats,
) -> int:  # fmt: skip
    """Count pairs, precision and the best F1 of weighted entries that are ranked together, from above.

    relevant, irrelevant : int64 (n, w + 3), (m, w + 3), tables whose last key word is the score
    extra_key, extra : key of one more tie group, and int64 (2, 3), its sums; it may have none
    totals : int64 (2, 3), sums of all relevant and of all irrelevant entries
    seen : int64 (2, 3), those above, to which these are added
    scale : power of two by which the weights are multiplied in ``precision``
    asked : float64 (n, 2), what else is asked of the curve, see `sweeps.reach`
    pairs : int64 (2, 16), added to: sums of products of the weights of pairs in the right order, and tied
    precision : int64 (1 + n, 4), fixed point, added to: sum over relevant entries of their weight times the
        precision at their group's end, then the areas of `reach`
    peak : float64 (1 + n, 2), replaced by better ones: largest F1 of a cut so far and its score, then the
        cuts of `reach`
    strides : float64 (2,), relevant and irrelevant weight from one point of the curve to the next
    points : float64 (p, 3), written: score, relevant and irrelevant weight at or above it; or (0, 3) for none
    Returns the number of points.
    """
    at = relevant.shape[1] - SUM - 1  # word of the score
    i, j, n_points, n_groups = relevant.shape[0] - 1, irrelevant.shape[0] - 1, 0, 0
    waiting = bool(extra.any())
    group, room = np.zeros((2, SUM), np.int64), np.zeros((3, N_DIGITS), np.int64)
    before, first, best = np.zeros(2), precision[0], peak[0]
    while i >= 0 or j >= 0 or waiting:
        key = extra_key if waiting else LOWEST
        if i >= 0:
            key = max(key, relevant[i, at])
        if not points.shape[0]:  # only groups with relevant entries matter
            start = j
            while j >= 0 and irrelevant[j, at] > key:
                j -= 1
            total_of(irrelevant[j + 1 : start + 1], seen[1])
        if j >= 0:
            key = max(key, irrelevant[j, at])
        group[:] = 0
        if waiting and key == extra_key:
            group[:] = extra
            waiting = False
        if i >= 0 and relevant[i, at] == key:
            add_sum(group[0], relevant[i, at + 1], relevant[i, at + 2], relevant[i, at + 3], 1)
            i -= 1
        if j >= 0 and irrelevant[j, at] == key:
            add_sum(group[1], irrelevant[j, at + 1], irrelevant[j, at + 2], irrelevant[j, at + 3], 1)
            j -= 1
        if points.shape[0]:
            before[0], before[1] = round_sum(seen[0]), round_sum(seen[1])
        count_group(group[0], group[1], key, totals, seen, scale, room, pairs, first, best)
        if asked.shape[0]:
            reach_group(
                asked, group[0], group[1], key, totals, seen, scale, room, precision, peak
            )  # fmt: skip
        n_groups += 1
        if n_groups % UNCARRIED == 0:
            carry_products(pairs[0])
            carry_products(pairs[1])
        if points.shape[0]:
            passed = True  # at the end
            for kind in range(2):
                for limb in range(SUM):
                    passed = passed and seen[kind, limb] == totals[kind, limb]
            for kind in range(2):
                now = round_sum(seen[kind])
                passed = passed or np.floor(now / strides[kind]) > np.floor(before[kind] / strides[kind])
            if passed:
                points[n_points, 0] = score_of(key)
                points[n_points, 1], points[n_points, 2] = round_sum(seen[0]), round_sum(seen[1])
                n_points += 1
    carry_products(pairs[0])
    carry_products(pairs[1])
    return n_points


@kernel
def sweep_labels(
    relevant: Ints, irrelevant: Ints, truth: Ints, rows: Ints, first: int, unlisted: int, unit: float,
    asked: Floats, sums: Floats, pairs: Floats, precision: Floats, peak: Floats,
) -> None:  # fmt: skip
    """Do the same as `sweep_sums` for every label of a range.

    relevant, irrelevant : int64 (n, 5), (m, 5), tables by label and score; truth : int64 (t, 4), by label
    rows : int64 (3,), sum of the weights of all rows
    first, unlisted : the first label; key of all entries that are not in the tables
    unit : the weight that is held as 1
    sums, pairs : float64 (n_labels, 2); precision : float64 (n_labels, 1 + n); peak : float64
        (n_labels, 1 + n, 2); written: sums of relevant and of irrelevant entries, pairs in the right order
        and tied, the rest as in `sweep_sums`
    """
    n = 1 + asked.shape[0]
    i, j, t = 0, 0, 0
    totals, seen = np.zeros((2, SUM), np.int64), np.zeros((2, SUM), np.int64)
    extra, products = np.zeros((2, SUM), np.int64), np.zeros((2, PRODUCTS), np.int64)
    total, strides, points = np.zeros((n, 4), np.int64), np.zeros(2), np.zeros((0, 3))
    for place in range(precision.shape[0]):
        label = first + place
        i0, j0 = i, j
        while i < relevant.shape[0] and relevant[i, 0] == label:
            i += 1
        while j < irrelevant.shape[0] and irrelevant[j, 0] == label:
            j += 1
        totals[0], totals[1] = 0, rows
        if t < truth.shape[0] and truth[t, 0] == label:
            totals[0] = truth[t, 1:]
            add_sum(totals[1], truth[t, 1], truth[t, 2], truth[t, 3], -1)
            t += 1
        sums[place, 0], sums[place, 1] = unit * round_sum(totals[0]), unit * round_sum(totals[1])
        pairs[place], precision[place], peak[place, :, 0], peak[place, :, 1] = 0.0, 0.0, 0.0, np.nan
        if not totals[0].any():
            continue
        seen[:], products[:], total[:] = 0, 0, 0
        total_of(relevant[i0:i], seen[0])
        total_of(irrelevant[j0:j], seen[1])
        for kind in range(2):
            extra[kind] = totals[kind]
            add_sum(extra[kind], seen[kind, 0], seen[kind, 1], seen[kind, 2], -1)
        seen[:] = 0
        scale = scale_of(sums[place, 0], unit)
        sweep_sums(
            relevant[i0:i], irrelevant[j0:j], unlisted, extra, totals, seen, scale, asked, products, total,
            peak[place], strides, points,
        )  # fmt: skip
        for kind in range(2):
            pairs[place, kind] = unit * unit * round_products(products[kind])
        for at in range(n):
            fraction = total[at, 1] / ONE + total[at, 2] / (float(ONE) * ONE)
            precision[place, at] = (total[at, 0] + fraction) * (unit / scale)


@kernel
def scale_of(weight: float, unit: float) -> float:
    """Return what to multiply terms by, so that a fixed-point sum of them holds a total weight of ``weight``.

    It is ``unit`` as a rule, which makes sums of integer weights those of repeated rows to the last bit.
    """
    if weight >= 2.0**60:
        return 1.0
    return unit if weight >= 1.0 else unit * 2.0**30


@kernel
def add_below(table: Ints, start: int, label: int, key: int, total: Ints, sign: int) -> int:
    """Add the sums of a label's scores below a key, from a row on; return the row after them.

    table : int64 (n, 5), by label and score; total : int64 (3,), added to, or subtracted from (sign -1)
    """
    while start < table.shape[0] and (
        table[start, 0] < label or (table[start, 0] == label and table[start, 1] < key)
    ):
        if table[start, 0] == label:
            add_sum(total, table[start, 2], table[start, 3], table[start, 4], sign)
        start += 1
    return start


@kernel
def sweep_open(
    relevant: Ints, irrelevant: Ints, gone: Ints, last: Ints, reached: Ints, first: int, unit: float,
    pairs: Floats,
) -> None:  # fmt: skip
    """Sum the weights of pairs of every label if unlisted irrelevant entries get the last score of their row.

    relevant, irrelevant : int64 (n, 5), (m, 5), tables by label and score; relevant entries beyond them have
        no pair in the right order, nor tied
    gone : int64 (g, 5), table by label and last score of the rows whose entry is listed or relevant
    last, reached : int64 (r, 4), table by last score of all rows; int64 (r + 1, 3), its sums up to each row
    first : the first label; unit : the weight that is held as 1
    pairs : float64 (n_labels, 2), written: pairs in the right order, and tied
    """
    i, j, g = 0, 0, 0
    passed, found = np.zeros(SUM, np.int64), np.zeros((2, SUM), np.int64)
    products, digits = np.zeros((2, PRODUCTS), np.int64), np.zeros((2, N_DIGITS), np.int64)
    for place in range(pairs.shape[0]):
        label, n_groups = first + place, 0
        passed[:], products[:] = 0, 0
        while i < relevant.shape[0] and relevant[i, 0] == label:
            key = relevant[i, 1]
            j = add_below(irrelevant, j, label, key, passed, 1)
            g = add_below(gone, g, label, key, passed, -1)
            at = find_word(last, key)
            found[0], found[1] = passed, 0
            add_sum(found[0], reached[at, 0], reached[at, 1], reached[at, 2], 1)
            if at < last.shape[0] and last[at, 0] == key:
                add_sum(found[1], last[at, 1], last[at, 2], last[at, 3], 1)
            if j < irrelevant.shape[0] and irrelevant[j, 0] == label and irrelevant[j, 1] == key:
                add_sum(found[1], irrelevant[j, 2], irrelevant[j, 3], irrelevant[j, 4], 1)
            if g < gone.shape[0] and gone[g, 0] == label and gone[g, 1] == key:
                add_sum(found[1], gone[g, 2], gone[g, 3], gone[g, 4], -1)
            split_digits(relevant[i, 2:], digits[0])
            n_groups += 1
            for kind in range(2):
                split_digits(found[kind], digits[1])
                add_products(digits[0], digits[1], products[kind])
                if n_groups % UNCARRIED == 0:
                    carry_products(products[kind])
            i += 1
        for kind in range(2):
            carry_products(products[kind])
            pairs[place, kind] = unit * unit * round_products(products[kind])
