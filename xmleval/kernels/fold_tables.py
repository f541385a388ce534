"""Contingency tables of every label without each fold of the rows, from keys, label * `N_FOLDS` + fold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.kernels.fixed import add_term, add_terms
from xmleval.kernels.folds import FOLD_BITS, N_FOLDS
from xmleval.kernels.jit import kernel
from xmleval.kernels.labels import SMALL_BITS, count_in_bytes
from xmleval.records import Bytes, Floats, Ints, Labels

LABEL_BITS = 9  # labels of a part, whose counts fit in the cache
PART_BITS = LABEL_BITS + FOLD_BITS  # its keys, at most 16
LAST = (1 << PART_BITS) - 1
LAST_FOLD = np.uint64(N_FOLDS - 1)
FACTOR_BITS = 26  # of a number whose product with half of a float64 is exact
FACTOR, LAST_FACTOR = 2.0**FACTOR_BITS, (1 << FACTOR_BITS) - 1
SPLITTER = 2.0 ** (FACTOR_BITS + 1) + 1.0
Shorts = NDArray[np.uint16]


class Parted(NamedTuple):
    """Keys in pieces, those of each piece part by part.

    keys : uint16 (p,), less the first key of their part
    starts : int64 (pieces, parts + 1), where parts start
    """

    keys: Shorts
    starts: Ints


@kernel
def part_piece(keys: Labels, first: int, starts: Ints, parted: Shorts) -> None:
    """Part a piece of keys.

    keys : (p,); first : where the piece starts in ``parted``; starts : int64 (parts + 1,), written
    parted : uint16 (q,), written from ``first`` to first + p
    """
    starts[:] = 0
    for key in keys:
        starts[np.uint64(key >> PART_BITS) + np.uint64(1)] += 1
    starts[0] = first
    for part in range(starts.size - 1):
        starts[part + 1] += starts[part]
    ends = starts.copy()
    for key in keys:
        own = np.uint64(key >> PART_BITS)
        parted[np.uint64(ends[own])] = key & LAST
        ends[own] += 1


@kernel
def count_parted(parted: Parted, first: int, counts: Bytes, carried: Ints) -> Any:
    """Do as `count_in_bytes` with keys, part by part; first : place of key 0 in ``counts``."""
    n_carried: Any = 0
    for part in range(parted.starts.shape[1] - 1):
        for piece in range(parted.starts.shape[0]):
            some = parted.keys[parted.starts[piece, part] : parted.starts[piece, part + 1]]
            n_carried += count_in_bytes(some, first + (part << PART_BITS), counts, carried[n_carried:])
    return n_carried


@kernel
def fill_cells(
    hits: Parted, predicted: Parted, relevant: Parted, held: Ints, part: int, place: int, cells: Ints,
    filled: Shorts,
) -> Any:  # fmt: skip
    """Count hits, predicted and relevant labels of a part in each fold; return how many cells are filled.

    held : int64 (3, c), what is counted beside the keys, that of the part from ``place`` on; or (3, 0)
    cells : int64 (1 << PART_BITS, 3), zeros, written; filled : uint16 ((1 << PART_BITS) + 1,), written
    """
    n: Any = 0
    for step in range(min(cells.shape[0], held.shape[1] - place)):
        for kind in range(3):
            cells[step, kind] = held[kind, place + step]
        filled[np.uint64(n)] = step  # kept if it counts: this needs no branch
        n += np.int64(cells[step, 1] | cells[step, 2] != 0)
    n = count_cells(predicted, part, 1, cells, filled, n)
    n = count_cells(relevant, part, 2, cells, filled, n)
    return count_cells(hits, part, 0, cells, filled, n)  # all in cells that are filled


@kernel
def count_cells(parted: Parted, part: int, kind: int, cells: Ints, filled: Shorts, n: Any) -> Any:
    """Count the keys of a part in the column ``kind`` of cells, and note those that were empty."""
    for piece in range(parted.starts.shape[0]):
        for key in parted.keys[parted.starts[piece, part] : parted.starts[piece, part + 1]]:
            cell = np.uint64(key)
            filled[np.uint64(n)] = key
            n += np.int64(cells[cell, 1] | cells[cell, 2] == 0)
            cells[cell, np.uint64(kind)] += 1
    return n


@kernel
def leave_out(
    hits: Parted, predicted: Parted, relevant: Parted, held: Ints, ends: tuple[int, int], whole: Ints,
    which: Labels, folds: Bytes, counts: Ints,
) -> int:  # fmt: skip
    """Find tp, n_pred and n_true of labels without each fold in which they occur.

    held : int64 (3, c), see `fill_cells`; ends : first part, and where they stop
    whole : int64 (3, n), tp, n_pred and n_true of the labels of the parts, of all rows
    which, folds, counts : int32 (t,), uint8 (t,), int64 (3, t), written: label, counted from the first one,
    its fold, and its tp, n_pred and n_true without that

    Returns how many there are.
    """
    n, cells, filled = 0, np.zeros((1 << PART_BITS, 3), np.int64), np.empty((1 << PART_BITS) + 1, np.uint16)
    for part in range(ends[0], ends[1]):
        place = part - ends[0] << PART_BITS
        for step in range(fill_cells(hits, predicted, relevant, held, part, place, cells, filled)):
            cell = np.uint64(filled[step])
            label = np.uint64(place) + cell >> np.uint64(FOLD_BITS)
            which[n], folds[n] = label, cell & LAST_FOLD
            for kind in range(3):
                counts[kind, n] = whole[kind, label] - cells[cell, np.uint64(kind)]
                cells[cell, np.uint64(kind)] = 0
            n += 1
    return n


@kernel
def tally_place(tp: Any, n_pred: Any, n_true: Any) -> Any:
    """Return the place of small counts in a tally, see `tally_labels`."""
    return ((tp << SMALL_BITS) | n_pred) << SMALL_BITS | n_true


@kernel
def tally_without(
    hits: Parted, predicted: Parted, relevant: Parted, held: Ints, parts: tuple[int, int, int], least: int,
    whole: Ints, n_rows: Ints, n: int, rare: Ints, changes: Any, tables: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Find the contingency tables of all labels without each fold, and tally those of small counts.

    held : int64 (3, c), see `fill_cells`; parts : first of ``whole`` and ``held``, next, and where they stop
    least : `SMALL`, or 0 so that no table is tallied
    whole : int64 (3, l), tp, n_pred and n_true of the labels of the parts, of all rows
    n_rows : int64 (folds,), rows in other folds
    n : how many tables are there already
    rare : int64 (N_TALLIES + 1,), added to: labels with small counts in all rows, and others
    changes : int32 (folds, N_TALLIES + 1), added to: how many labels more have them without the fold
    tables : float64 (4, t, folds), written: tp, fp, fn, tn of other labels, until those of a part do not fit

    Returns the next part, and how many tables are there.
    """
    cells, filled = np.zeros((1 << PART_BITS, 3), np.int64), np.empty((1 << PART_BITS) + 1, np.uint16)
    places, part = np.empty(1 << LABEL_BITS, np.int64), parts[1]
    while part < parts[2]:
        first = part - parts[0] << LABEL_BITS
        n_labels = min(1 << LABEL_BITS, whole.shape[1] - first)
        n_large = 0
        for own in range(n_labels):
            label = np.uint64(first + own)
            tp_all, n_pred_all, n_true_all = whole[0, label], whole[1, label], whole[2, label]
            place = tally_place(tp_all, n_pred_all, n_true_all)
            places[own] = place if tp_all | n_pred_all | n_true_all < least else rare.size - 1
            n_large += places[own] == rare.size - 1
        if n + n_large > tables.shape[1]:
            break
        n_filled = fill_cells(hits, predicted, relevant, held, part, first << FOLD_BITS, cells, filled)
        for own in range(n_labels):
            rare[places[own]] += 1
            if places[own] < rare.size - 1:
                continue
            label = np.uint64(first + own)
            tp_all, n_pred_all, n_true_all = whole[0, label], whole[1, label], whole[2, label]
            for fold in range(N_FOLDS):
                cell = np.uint64((own << FOLD_BITS) | fold)
                tp = tp_all - cells[cell, 0]
                fp, fn = n_pred_all - cells[cell, 1] - tp, n_true_all - cells[cell, 2] - tp
                tables[0, n, fold], tables[1, n, fold], tables[2, n, fold] = tp, fp, fn
                tables[3, n, fold] = n_rows[fold] - tp - fp - fn
            n += 1
        for step in range(n_filled):
            cell = np.uint64(filled[step])
            of_fold, own_place = cell & LAST_FOLD, places[cell >> np.uint64(FOLD_BITS)]
            less = tally_place(cells[cell, 0], cells[cell, 1], cells[cell, 2])
            cells[cell, 0] = cells[cell, 1] = cells[cell, 2] = 0
            # no count is less than what is taken from it, so that the place left is that of the difference
            left = own_place - less if own_place < rare.size - 1 else own_place
            changes[of_fold, np.uint64(own_place)] -= 1
            changes[of_fold, np.uint64(left)] += 1
        part += 1
    return part, n


@kernel
def sum_tables(values: Floats, sums: Ints, n: Ints) -> None:
    """Sum values by fold, but for NaN; exact, so that no grouping of tables changes a bit.

    values : float64 (t, folds); sums : int64 (folds, 4), fixed point, added to
    n : int64 (folds,), how many values, added to
    """
    limbs, terms = sums.T.copy(), np.empty(N_FOLDS)
    for i in range(values.shape[0]):
        for fold in range(N_FOLDS):
            value = values[i, fold]
            n[fold] += value == value
            terms[fold] = value if value == value else 0.0
        add_terms(terms, limbs)
    sums[:] = limbs.T


@kernel
def sum_times(values: Floats, times: Ints, sums: Ints, n: Ints) -> None:
    """Do as `sum_tables` with values of tables that several labels share.

    values : float64 (t, folds), or (t, 1) where they are the same without each fold
    times : int64 (t, folds), how many labels share each table
    """
    limbs, terms, last = sums.T.copy(), np.empty((4, N_FOLDS)), values.shape[1] - 1
    for i in range(values.shape[0]):
        most = np.int64(0)
        for fold in range(N_FOLDS):
            value, several = values[i, min(fold, last)], times[i, fold]
            most |= several
            n[fold] += several if value == value else 0
            value = value if value == value else 0.0
            high = value * SPLITTER - (value * SPLITTER - value)  # of 27 bits, and so is the rest
            few, rest = several & LAST_FACTOR, (several >> FACTOR_BITS) * FACTOR
            terms[0, fold], terms[1, fold] = high * few, (value - high) * few
            terms[2, fold], terms[3, fold] = high * rest, (value - high) * rest
        for part in range(4 if most > LAST_FACTOR else 2):
            add_terms(terms[part], limbs)
    sums[:] = limbs.T


@kernel
def sum_changes(before: Floats, after: Floats, which: Labels, folds: Bytes, sums: Ints, n: Ints) -> None:
    """Add, for each fold, values without it less those of all rows, but for NaN.

    before : float64 (l,), of all rows; after : float64 (t,), without fold ``folds`` and for label ``which``
    sums : int64 (folds, 4), fixed point, added to; n : int64 (folds,), how many values more, added to
    """
    for i in range(after.size):
        fold, old, new = np.uint64(folds[i]), before[np.uint64(which[i])], after[i]
        if old == new:
            continue
        n[fold] += np.int64(new == new) - np.int64(old == old)
        add_term(sums[fold], new if new == new else 0.0)
        add_term(sums[fold], -old if old == old else 0.0)
