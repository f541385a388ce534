"""Curves of the entries outside each fold of the rows, all folds in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from xmleval.budget import Resources
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.fold_buckets import sweep_fold_buckets
from xmleval.kernels.fold_sweeps import (
    BELOW_LABEL,
    MARK_BITS,
    PIECE,
    RELEVANT,
    distinct_scores,
    sweep_around_pieces,
    sweep_fold_labels,
    walk_folds,
)
from xmleval.kernels.keys import HALF as KEY_HALF
from xmleval.kernels.keys import rank_of_bits
from xmleval.kernels.packing import HALF
from xmleval.kernels.values import N_BUCKETS
from xmleval.pooled.columns import label_ranges
from xmleval.pooled.curves import as_integers, splitters_of
from xmleval.pooled.piles import Pile, Ranges, common_dtype, label_of, score_of
from xmleval.pooled.values import TASKS, Values, as_buckets, cut
from xmleval.records import Floats, Ints, as_score

LABELS_AT_A_TIME = 1 << 12
OfLabels = Callable[[Ints, Ints, Floats, Floats], None]


class FoldPairs(NamedTuple):
    """Pairs in the right order, and tied, Python integers (folds, 2); sums of precision, int64 (folds, 4)."""

    pairs: list[tuple[int, int]]
    precision: Ints


def sweep_value_folds(
    relevant: Sequence[Values],
    irrelevant: Sequence[Values],
    unlisted: Ints,
    level: float | None,
    work: Resources,
    pairs_alone: bool,
) -> FoldPairs:
    """Sweep scores counted by value, best first.

    Parameters
    ----------
    relevant, irrelevant : sequence of Values
        Scores of relevant and of irrelevant entries, for each fold.
    unlisted : int64 (2, folds)
        Numbers of relevant and irrelevant unlisted entries.
    level : float or None
        Score of unlisted entries; None if they rank below all.
    work : Resources
        Memory and threads to use.
    pairs_alone : bool
        Whether precision is not needed.
    """
    n_folds = unlisted.shape[1]
    sides = [[as_buckets([values]) for values in side] for side in (relevant, irrelevant)]
    parts = [np.concatenate([one.parts for one in side]) for side in sides]
    folds = [np.repeat(np.arange(n_folds), [len(one.parts) for one in side]) for side in sides]
    rank = -1 if level is None else int(rank_of_bits(np.float32(level).view(np.uint32)))
    per_bucket: Ints = np.zeros(N_BUCKETS, np.int64)
    for one in (*sides[0], *sides[1]):
        per_bucket += one.sizes
    occurs = per_bucket > 0
    if level is not None:
        occurs[rank >> HALF] = True
    buckets = np.flatnonzero(occurs)
    sizes = np.stack([np.stack([one.sizes[buckets] for one in side], axis=1) for side in sides])
    totals: Ints = sizes.sum(axis=1) + unlisted
    ends = cut(per_bucket, TASKS * work.threads if work.threads > 1 else 1)
    bounds = np.searchsorted(buckets, ends).tolist()

    def count(number: int) -> tuple[Ints, Ints]:
        start, stop = bounds[number], bounds[number + 1]
        above: Ints = sizes[:, stop:].sum(axis=1)
        above += unlisted if rank >> HALF >= ends[number + 1] else 0
        pairs, precision = np.zeros((n_folds, 2, 2), np.int64), np.zeros((n_folds, LIMBS), np.int64)
        sweep_fold_buckets(
            parts[0], parts[1], folds[0], folds[1], buckets, sizes, start, stop, rank, unlisted, above,
            totals, pairs_alone, pairs, precision,
        )  # fmt: skip
        return pairs, precision

    found = work.map(count, range(len(bounds) - 1))
    return _joined(found, unlisted, level, totals)


def sweep_pile_folds(
    relevant: Sequence[Pile],
    irrelevant: Sequence[Pile],
    unlisted: Ints,
    level: float | None,
    work: Resources,
    pairs_alone: bool,
) -> FoldPairs:
    """Sweep scores in piles, best first; see `sweep_value_folds`."""
    piles, n_folds = [*relevant, *irrelevant], unlisted.shape[1]
    splitters, level_at = splitters_of(piles, level, work)
    ranges = Ranges(piles, splitters, work.map)
    sizes = ranges.sizes.reshape(2, n_folds, -1).copy()
    totals: Ints = sizes.sum(axis=2) + unlisted
    none = np.zeros_like(unlisted)

    def count(number: int) -> tuple[Ints, Ints]:
        above: Ints = sizes[:, :, number + 1 :].sum(axis=2)
        above += unlisted if level_at is not None and level_at > number else 0
        pairs, precision = np.zeros((n_folds, 2, 2), np.int64), np.zeros((n_folds, LIMBS), np.int64)
        loaded = [ranges.load(pile, number) for pile in range(2 * n_folds)]
        good, bad = (np.concatenate(loaded[side * n_folds : (side + 1) * n_folds]) for side in range(2))
        ptrs = np.zeros((2, n_folds + 1), np.int64)
        ptrs[:, 1:] = np.cumsum(sizes[:, :, number], axis=1)
        here = number == level_at
        some = np.append(good, good.dtype.type(level)) if here else good.copy()
        some = some[: distinct_scores(some)]
        if not some.size:
            return pairs, precision
        tables = np.empty((2, 2 * PIECE + 1, n_folds), np.int64)
        at = float(good.dtype.type(level)) if here else np.inf
        sweep_around_pieces(
            some, ptrs[0], good, ptrs[1], bad, unlisted if here else none, at, tables, above, totals,
            pairs_alone, pairs, precision,
        )  # fmt: skip
        return pairs, precision

    down = [number for number in range(sizes.shape[2]) if sizes[:, :, number].any() or number == level_at]
    return _joined(work.map(count, down), unlisted, level, totals)


def _joined(
    found: Sequence[tuple[Ints, Ints]], unlisted: Ints, level: float | None, totals: Ints
) -> FoldPairs:
    """Add up what ranges of scores give, and unlisted entries that rank below all."""
    n_folds = unlisted.shape[1]
    found = [*found]
    if level is None and unlisted.any():
        pairs, precision = np.zeros((n_folds, 2, 2), np.int64), np.zeros((n_folds, LIMBS), np.int64)
        counted = np.zeros((2, 3, n_folds), np.int64)
        counted[:, 1] = unlisted
        walk_folds(counted[0], counted[1], totals - unlisted, totals, False, pairs, precision)
        found.append((pairs, precision))
    sums = [(0, 0)] * n_folds
    total: Ints = np.zeros((n_folds, LIMBS), np.int64)
    for pairs, precision in found:
        own = map(as_integers, pairs)
        sums = [(a + c, b + d) for (a, b), (c, d) in zip(sums, own, strict=True)]
        total += precision
        carry(total)
    return FoldPairs(sums, total)


def sweep_label_folds(
    relevant: Sequence[Pile],
    irrelevant: Sequence[Pile],
    labels: Ints,
    n_true: Sequence[Ints],
    n_rows: Ints,
    level: float | None,
    work: Resources,
    pairs_alone: bool,
    use: OfLabels,
) -> None:
    """Sweep the scores of labels, and use what some of them give, in threads.

    Parameters
    ----------
    relevant, irrelevant : sequence of Pile
        Keys of relevant and of irrelevant entries, for each fold.
    labels : int64 (n,)
        Those with relevant rows, increasing; others have no value.
    n_true : sequence of int64 (n_labels,)
        Rows of each fold in which every label is relevant.
    n_rows : int64 (folds,)
        Rows of each fold.
    level, work, pairs_alone
        See `sweep_value_folds`.
    use : callable
        Takes some labels, int64 (m,), their relevant and irrelevant rows in each fold, int64
        (2, folds + 1, m), and what is left without each: pairs, float64 (folds + 1, m, 2), and precision,
        float64 (folds + 1, m). The last fold has no rows: without it, all are left.
    """
    piles = [*relevant, *irrelevant]
    for pile in piles:
        pile.ungroup()  # so that they have the type of keys
    # float64 numbers have no ranks of 32 bits, but those that occur have
    ranked = common_dtype(piles, np.int64) != np.int64
    ranked |= level is not None and level != as_score(level, np.empty(0, np.float32))
    memory = work.memory // 3 if ranked else work.memory  # ranks take twice what keys do
    bounds, ranges = label_ranges(piles, n_true[0].size, Resources(memory, work.threads))
    n_rows = np.append(n_rows, 0)

    def task(number: int) -> None:
        start, stop = bounds[number], bounds[number + 1]
        keys, rank = _marked_keys(ranges, 2 * number, start, level, ranked)
        within = labels[slice(*np.searchsorted(labels, [start, stop]))]
        for at in range(0, within.size, LABELS_AT_A_TIME):
            some = within[at : at + LABELS_AT_A_TIME]
            numbers = some - start
            ends = np.searchsorted(keys, np.array([numbers[0], numbers[-1] + 1]) << BELOW_LABEL)
            own_true = np.stack([*(own.take(some) for own in n_true), np.zeros_like(some)])
            pairs, precision = np.empty((n_rows.size, some.size, 2)), np.empty((n_rows.size, some.size, 1))
            sweep_fold_labels(
                numbers, keys[slice(*ends)], own_true, n_rows, rank, pairs_alone, pairs, precision
            )
            use(some, np.stack([own_true, n_rows[:, None] - own_true]), pairs, precision[..., 0])

    work.map(task, range(len(bounds) - 1))


def _marked_keys(
    ranges: Ranges, number: int, first: int, level: float | None, ranked: bool
) -> tuple[Ints, int]:
    """Return the keys of all folds as `sweep_fold_labels` takes them, and the rank of unlisted entries.

    ranges : of piles of relevant entries, a fold each, and as many of irrelevant ones
    first : the label that has number 0; ranked : whether scores are numbered by their order
    """
    n_folds = len(ranges.cuts) // 2
    ranks = None
    if ranked:
        scores = [score_of(part) for pile in range(2 * n_folds) for part in ranges.parts(pile, number)]
        every = np.concatenate([*scores, [np.inf if level is None else level]])
        ranks = np.unique(every, return_inverse=True)[1]
    keys, place = np.empty(ranges.sizes[:, number].sum(), np.int64), 0
    for pile in range(2 * n_folds):
        mark = RELEVANT + pile if pile < n_folds else pile - n_folds
        for part in ranges.parts(pile, number):
            own = keys[place : place + part.size]
            if ranks is None:
                np.subtract(part, first << KEY_HALF, out=own)
            else:
                own[:] = (label_of(part) - first << KEY_HALF) + ranks[place : place + part.size]
            own <<= MARK_BITS
            own |= mark
            place += part.size
    keys.sort()
    if level is None:
        return keys, -1
    return keys, int(rank_of_bits(np.float32(level).view(np.uint32)) if ranks is None else ranks[-1])
