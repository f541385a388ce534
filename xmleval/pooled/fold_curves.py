"""Curves of the entries outside each fold of the rows, all folds in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.fold_buckets import sweep_fold_buckets
from xmleval.kernels.fold_sweeps import (
    PIECE,
    distinct_scores,
    sweep_around_pieces,
    sweep_fold_labels,
    walk_folds,
)
from xmleval.kernels.packing import HALF
from xmleval.kernels.values import N_BUCKETS, rank_of_bits
from xmleval.pooled.columns import grouped_keys, label_ranges
from xmleval.pooled.curves import as_integers, splitters_of
from xmleval.pooled.piles import Pile, Ranges
from xmleval.pooled.values import TASKS, Values, as_buckets, cut
from xmleval.records import Floats, Ints
from xmleval.threads import Work

LABELS_AT_A_TIME = 1 << 12
CELLS_AT_A_TIME = 1 << 21  # labels times folds of a range
OfLabels = Callable[[Ints, Floats, Floats], None]


class FoldPairs(NamedTuple):
    """Pairs in the right order, and tied, Python integers (folds, 2); sums of precision, int64 (folds, 4)."""

    pairs: list[tuple[int, int]]
    precision: Ints


def sweep_value_folds(
    relevant: Sequence[Values],
    irrelevant: Sequence[Values],
    unlisted: Ints,
    level: float | None,
    work: Work,
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
    work : Work
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
    work: Work,
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
        ptrs = np.zeros((2, n_folds, 2), np.int64)
        ends = np.cumsum(sizes[:, :, number], axis=1)
        ptrs[:, :, 1], ptrs[:, 1:, 0] = ends, ends[:, :-1]
        here = number == level_at
        some = np.append(good, good.dtype.type(level)) if here else good.copy()
        some = some[: distinct_scores(some)]
        if not some.size:
            return pairs, precision
        tables = np.empty((2, 2 * PIECE + 1, n_folds), np.int64)
        at = float(good.dtype.type(level)) if here else np.inf
        sweep_around_pieces(
            some, ptrs[0], good, ptrs[1], bad, True, 0, unlisted if here else none, at, tables, above, totals,
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
    n_true: Sequence[Ints],
    n_rows: Ints,
    level: float | None,
    work: Work,
    pairs_alone: bool,
    use: OfLabels,
) -> None:
    """Sweep the scores of every label, and use what some labels give, in threads.

    Parameters
    ----------
    relevant, irrelevant : sequence of Pile
        Keys of relevant and of irrelevant entries, for each fold.
    n_true : sequence of int64 (n_labels,)
        Rows of each fold in which every label is relevant.
    n_rows : int64 (folds,)
        Rows of each fold.
    level, work, pairs_alone
        See `sweep_value_folds`.
    use : callable
        Takes the relevant and irrelevant rows of some labels in each fold, int64 (2, folds, n), and what is
        left without each: pairs, float64 (folds, n, 2), and precision, float64 (folds, n). Labels without
        relevant rows, which have no value, are left out.
    """
    piles, n_labels, n_folds = [*relevant, *irrelevant], n_true[0].size, n_rows.size
    bounds, ranges = label_ranges(piles, n_labels, work, -(-n_labels * n_folds // CELLS_AT_A_TIME))
    place = np.nan if level is None else level

    def task(number: int) -> None:
        start, stop = bounds[number], bounds[number + 1]
        sides = []
        for first in (0, n_folds):
            own = [
                grouped_keys(ranges.parts(first + fold, 2 * number), ranges.dtype, start, stop)
                for fold in range(n_folds)
            ]
            before = np.cumsum([0, *(columns.scores.size for columns in own)])[:-1]
            ptr = np.stack([columns.ptr for columns in own]) + before[:, None]
            sides.append((ptr, np.concatenate([columns.scores for columns in own])))
        (good_ptr, good), (bad_ptr, bad) = sides
        own_true = np.stack([own[start:stop] for own in n_true])
        labels = np.flatnonzero(own_true.any(axis=0))
        for at in range(0, max(1, labels.size), LABELS_AT_A_TIME):
            some = labels[at : at + LABELS_AT_A_TIME]
            pairs, precision = np.empty((n_folds, some.size, 2)), np.empty((n_folds, some.size, 1))
            sweep_fold_labels(
                some, good_ptr, good, bad_ptr, bad, own_true, n_rows, place, pairs_alone, pairs, precision
            )
            relevant = own_true[:, some]
            use(np.stack([relevant, n_rows[:, None] - relevant]), pairs, precision[..., 0])

    work.map(task, range(len(bounds) - 1))
