"""Folds: groups of rows that the jackknife leaves out one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.kernels.fixed import UNCARRIED, carry, split_term
from xmleval.kernels.jit import kernel
from xmleval.records import Bytes, Floats, Ints, Labels

FOLD_BITS = 5  # at most 8
N_FOLDS = 1 << FOLD_BITS
PART_BITS = 9 + FOLD_BITS  # labels of a part, whose counts fit in the cache, and their folds
FEW_TERMS = UNCARRIED // 2  # changes, of two terms each, between carries
MIX, SHIFT_1, SHIFT_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(30), np.uint64(27)
MULTIPLY_1, MULTIPLY_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TOP = np.uint64(64 - FOLD_BITS)


@kernel
def fold_of(number: Any) -> Any:
    """Return the fold of a number, by the finaliser of SplitMix64 (Steele, Lea & Flood 2014, OOPSLA)."""
    mixed = np.uint64(number) + MIX
    mixed = (mixed ^ (mixed >> SHIFT_1)) * MULTIPLY_1
    mixed = (mixed ^ (mixed >> SHIFT_2)) * MULTIPLY_2
    return (mixed ^ (mixed >> np.uint64(31))) >> TOP


@kernel
def find_folds(numbers: Ints, folds: Bytes) -> None:
    """Find the fold of each number, int64 (n,) and uint8 (n,)."""
    for i in range(numbers.size):
        folds[i] = np.uint8(fold_of(numbers[i]))


@kernel
def order_by_fold(folds: Bytes, starts: Ints, rows: Ints) -> None:
    """Order rows by fold, ascending within each.

    folds : uint8 (n,); starts : int64 (N_FOLDS + 1,), where the rows of each fold start; rows : int64 (n,)
    """
    starts[:] = 0
    for i in range(folds.size):
        starts[folds[i] + 1] += 1
    for fold in range(N_FOLDS):
        starts[fold + 1] += starts[fold]
    places = starts[:N_FOLDS].copy()
    for i in range(folds.size):
        rows[places[folds[i]]] = i
        places[folds[i]] += 1


@kernel
def key_labels(labels: Labels, n_within: Ints, folds: Bytes, keys: Labels) -> None:
    """Find the key of each label, label * `N_FOLDS` + fold of its row.

    labels : (p,), row by row; n_within : int64 (n,), how many of them each row has; folds : uint8 (n,)
    keys : (p,), written
    """
    place = np.uint64(0)  # unsigned, which avoids Numba's negative-index check
    for i in range(n_within.size):
        fold = np.int64(folds[i])
        for _ in range(n_within[i]):
            keys[place] = (np.int64(labels[place]) << FOLD_BITS) | fold
            place += np.uint64(1)


@kernel
def count_parts(keys: Labels, sizes: Ints) -> None:
    """Count the keys of each part of the labels; keys : (p,); sizes : int64 (parts,), added to."""
    for key in keys:
        sizes[np.uint64(key) >> np.uint64(PART_BITS)] += 1


@kernel
def part_keys(keys: Labels, ends: Ints, parted: Labels) -> None:
    """Copy keys to their parts; ends : int64 (parts,), where to continue each, changed; parted : written."""
    for key in keys:
        part = np.uint64(key) >> np.uint64(PART_BITS)
        parted[np.uint64(ends[part])] = key
        ends[part] += 1


@kernel
def count_cells(keys: Labels, first: int, kind: int, cells: Ints) -> None:
    """Count keys; first : key of the first cell; cells : int64 (c, 3), the column ``kind`` added to."""
    for key in keys:
        cells[np.uint64(key - first), np.uint64(kind)] += 1


@kernel
def leave_out(
    hits: Labels, predicted: Labels, relevant: Labels, starts: Ints, held: Ints, ends: tuple[int, int],
    every: bool, scan: bool, whole: Ints, n_rows: Ints, which: Labels, folds: Bytes, tables: Floats,
) -> int:  # fmt: skip
    """Find the contingency tables of labels without each fold, where the label occurs in the fold.

    hits, predicted, relevant : keys of what is counted for a fold, by part; starts : int64 (3, parts + 1)
    held : int64 (3, c), what is counted besides, for each key of the parts; or (3, 0)
    ends : first part, and where they stop
    every, scan : whether to find those of every label and fold, and whether to look at all, as with ``held``
    whole : int64 (3, n), tp, n_pred and n_true of the labels of the parts, of all rows
    n_rows : int64 (folds,), rows in other folds
    which, folds, tables : int32 (t,), uint8 (t,), float64 (4, t), written: label of each table, counted from
    the first one, its fold, and tp, fp, fn and tn

    Returns how many tables there are.
    """
    n, cells = 0, np.zeros((1 << PART_BITS, 3), np.int64)
    first_key, more = ends[0] << PART_BITS, held.shape[1] > 0
    for part in range(ends[0], ends[1]):
        first = part << PART_BITS
        count_cells(hits[starts[0, part] : starts[0, part + 1]], first, 0, cells)
        walked = predicted[starts[1, part] : starts[1, part + 1]]
        others = relevant[starts[2, part] : starts[2, part + 1]]
        count_cells(walked, first, 1, cells)
        count_cells(others, first, 2, cells)
        n_walked = min(1 << PART_BITS, (whole.shape[1] << FOLD_BITS) + first_key - first)
        if not scan:
            n_walked = walked.size + others.size
        for step in range(n_walked):
            cell = np.uint64(step)
            if not scan:
                key = walked[step] if step < walked.size else others[step - walked.size]
                cell = np.uint64(key - first)
            tp, n_pred, n_true = cells[cell, 0], cells[cell, 1], cells[cell, 2]
            place = np.uint64(first - first_key) + cell
            if more:
                tp, n_pred, n_true = tp + held[0, place], n_pred + held[1, place], n_true + held[2, place]
            if not every and n_pred | n_true == 0:
                continue
            cells[cell, 0] = cells[cell, 1] = cells[cell, 2] = 0
            label, fold = place >> np.uint64(FOLD_BITS), place & np.uint64(N_FOLDS - 1)
            tp, n_pred, n_true = whole[0, label] - tp, whole[1, label] - n_pred, whole[2, label] - n_true
            which[n], folds[n] = label, fold
            tables[0, n], tables[1, n], tables[2, n] = tp, n_pred - tp, n_true - tp
            tables[3, n] = n_rows[fold] - n_pred - n_true + tp
            n += 1
    return n


@kernel
def sum_changes(before: Floats, after: Floats, which: Labels, folds: Bytes, sums: Ints, n: Ints) -> None:
    """Add, for each fold, values without it less those of all rows, but for NaN.

    before : float64 (l,), of all rows; after : float64 (t,), without fold ``folds`` and for label ``which``
    sums : int64 (folds, 4), fixed point, added to; n : int64 (folds,), how many values more, added to
    """
    for i in range(after.size):
        if i % FEW_TERMS == FEW_TERMS - 1:
            carry(sums)
        fold, old, new = np.uint64(folds[i]), before[np.uint64(which[i])], after[i]
        if old == new:
            continue
        if new == new:
            n[fold] += 1
        else:
            new = 0.0
        if old == old:
            n[fold] -= 1
        else:
            old = 0.0
        old_0, old_1, old_2, old_3 = split_term(old)
        new_0, new_1, new_2, new_3 = split_term(new)
        sums[fold, 0] += new_0 - old_0
        sums[fold, 1] += new_1 - old_1
        sums[fold, 2] += new_2 - old_2
        sums[fold, 3] += new_3 - old_3
    carry(sums)


@kernel
def point_to_rows(ptr: Ints, rows: Ints, taken_ptr: Ints) -> None:
    """Find where the entries of some rows start once they follow one another, int64 (n + 1,)."""
    taken_ptr[0] = 0
    for i in range(rows.size):
        taken_ptr[i + 1] = taken_ptr[i] + ptr[rows[i] + 1] - ptr[rows[i]]


@kernel
def take_entries(ptr: Ints, entries: NDArray[Any], rows: Ints, taken: NDArray[Any]) -> None:
    """Copy the entries of some rows."""
    place = np.uint64(0)  # unsigned, which avoids Numba's negative-index check
    for i in range(rows.size):
        start, stop = np.uint64(ptr[rows[i]]), np.uint64(ptr[rows[i] + 1])
        for entry in range(stop - start):
            taken[place + entry] = entries[start + entry]
        place += stop - start
