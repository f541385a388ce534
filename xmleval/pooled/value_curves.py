"""The curve of all entries from scores counted by value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.kernels.keys import rank_of_bits
from xmleval.kernels.packing import HALF, N_PLACES
from xmleval.kernels.sweeps import trace
from xmleval.kernels.values import sweep_buckets
from xmleval.pooled.curves import (
    LARGE,
    NOTHING,
    Found,
    Last,
    Unlisted,
    added,
    added_up,
    as_integers,
    none_yet,
    pairs_left,
    sums_of,
    tie_group,
)
from xmleval.pooled.values import TASKS, Buckets, Values, as_buckets, cut, distinct, joint_bounds


def sweep_values(
    relevant: Sequence[Values],
    irrelevant: Values,
    unlisted: Unlisted,
    resources: Resources,
    *,
    strides: Ints | None = None,
    last: Last | None = None,
    asked: Floats = NOTHING,
    pairs_alone: bool = False,
) -> Found:
    """Sweep the scores of all entries, best first; see `curves.sweep_piles`.

    ``last`` is for one multiset of relevant scores. With ``pairs_alone``, there is no precision and no peak.
    """
    good, bad = as_buckets(relevant), as_buckets([irrelevant])
    without = np.array([unlisted.relevant, unlisted.irrelevant])
    level = -1
    listed = np.stack([good.sizes, bad.sizes])
    cells = listed.copy()
    if unlisted.level is not None:
        level = int(rank_of_bits(np.float32(unlisted.level).view(np.uint32)))
        cells[:, level >> HALF] += without
    totals: Ints = cells.sum(axis=1) if unlisted.level is not None else cells.sum(axis=1) + without
    above = cells[:, ::-1].cumsum(axis=1)[:, ::-1]  # of each bucket, and in it
    sizes = listed.sum(axis=0)
    bounds = cut(sizes, 1 if sizes.sum() <= LARGE else TASKS * resources.threads)
    dtype = max(good.table_dtype, bad.table_dtype, key=lambda dtype: dtype.itemsize)

    def before(bucket: int) -> Ints:
        return np.zeros(2, np.int64) if bucket == above.shape[1] else np.ascontiguousarray(above[:, bucket])

    def points_of(start: int, stop: int, strides: Ints) -> Floats:
        pieces, cuts = [], joint_bounds([good, bad], start, stop)
        for first, end in zip(cuts[-2::-1], cuts[:0:-1], strict=True):
            within = unlisted if first <= level >> HALF < end and level >= 0 else None
            runs = [joined(side, first, end, within, kind) for kind, side in enumerate((good, bad))]
            passed = (cells[:, first:end].sum(axis=1) // strides).sum() + 3
            points = np.empty((min(int(passed), runs[0][0].size + runs[1][0].size), 3))
            pieces.append(points[: trace(*runs[0], *runs[1], before(end), totals, strides, points)])
        return np.concatenate(pieces)

    def count(number: int) -> Found:
        start, stop = bounds[number], bounds[number + 1]
        pairs, open_pairs = np.zeros((2, 2), np.int64), (0, 0)
        precision, peak = none_yet(asked)
        sweep_buckets(
            good.parts, bad.parts, np.ascontiguousarray(listed[:, start:stop]), before(stop), start, level,
            without, pairs_alone, np.zeros((2, N_PLACES), dtype),
            sums_of(totals, pairs, precision, peak, asked),
        )  # fmt: skip
        points = np.empty((0, 3)) if strides is None else points_of(start, stop, strides)
        if last is not None:
            open_pairs = added(pairs_left(*run, last) for run in distinct(good, start, stop))
        return Found(as_integers(pairs), precision, peak, points, open_pairs)

    pieces = resources.map(count, range(len(bounds) - 2, -1, -1))
    if unlisted.level is None and without.any():
        group, n_bad = without.tolist()
        pieces.append(tie_group(group, n_bad, -np.inf, totals - without, totals, strides, asked))
    return added_up(pieces, asked)


def joined(
    side: Buckets, first: int, stop: int, unlisted: Unlisted | None = None, kind: int = 0
) -> tuple[Scores, Ints]:
    """Return the distinct scores in a range of buckets and their counts, with those of unlisted entries."""
    runs = [*distinct(side, first, stop)]
    scores, counts = (np.concatenate(arrays) for arrays in zip(*runs, strict=True))
    if unlisted is not None and unlisted[kind]:
        level = np.float32(unlisted.level)
        place = int(np.searchsorted(scores, level))
        if place == scores.size or scores[place] != level:
            scores, counts = np.insert(scores, place, level), np.insert(counts, place, 0)
        counts[place] += unlisted[kind]
    return scores, counts
