"""The curve of all entries from scores counted by value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.kernels.keys import rank_of_bits
from xmleval.kernels.packing import HALF, N_PLACES
from xmleval.kernels.sweeps import trace
from xmleval.kernels.values import N_BUCKETS, sweep_buckets
from xmleval.pooled.curves import (
    LARGE,
    NO_QUERIES,
    Last,
    PartialCurve,
    Unlisted,
    add_pairs,
    add_up,
    as_curve_sums,
    as_integers,
    count_open_pairs,
    count_tie_group,
    empty_sums,
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
    queries: Floats = NO_QUERIES,
    pairs_alone: bool = False,
) -> PartialCurve:
    """Sweep the scores of all entries, best first; see `curves.sweep_piles`.

    ``last`` is for one multiset of relevant scores. With ``pairs_alone``, there is no precision and
    no peak.
    """
    good = as_buckets(relevant)
    bad = as_buckets([irrelevant])
    n_unlisted = np.array([unlisted.relevant, unlisted.irrelevant])
    listed = np.stack([good.sizes, bad.sizes])
    cells = listed.copy()
    totals: Ints = cells.sum(axis=1) + n_unlisted
    rank = -1
    unlisted_bucket = -1
    if unlisted.level is not None:
        rank = int(rank_of_bits(np.float32(unlisted.level).view(np.uint32)))
        unlisted_bucket = rank >> HALF
        cells[:, unlisted_bucket] += n_unlisted
    from_bucket = cells[:, ::-1].cumsum(axis=1)[:, ::-1]  # entries above each bucket, and in it
    sizes = listed.sum(axis=0)
    n_tasks = 1
    if sizes.sum() > LARGE:
        n_tasks = TASKS * resources.threads
    bounds = cut(sizes, n_tasks)
    table_dtype = max(good.table_dtype, bad.table_dtype, key=lambda dtype: dtype.itemsize)

    def count_from(bucket: int) -> Ints:
        """Return the relevant and irrelevant entries in a bucket and above."""
        if bucket == N_BUCKETS:
            return np.zeros(2, np.int64)
        return np.ascontiguousarray(from_bucket[:, bucket])

    def trace_range(start: int, stop: int, strides: Ints) -> Floats:
        """Return the points of the curve in a range of buckets."""
        pieces = []
        inner_bounds = joint_bounds([good, bad], start, stop)
        for first, end in zip(inner_bounds[-2::-1], inner_bounds[:0:-1], strict=True):
            n_good = 0
            n_bad = 0
            if first <= unlisted_bucket < end:
                n_good = unlisted.relevant
                n_bad = unlisted.irrelevant
            good_runs = join_distinct(good, first, end, unlisted.level, n_good)
            bad_runs = join_distinct(bad, first, end, unlisted.level, n_bad)
            n_most = int((cells[:, first:end].sum(axis=1) // strides).sum() + 3)
            points = np.empty((min(n_most, good_runs[0].size + bad_runs[0].size), 3))
            n = trace(*good_runs, *bad_runs, count_from(end), totals, strides, points)
            pieces.append(points[:n])
        return np.concatenate(pieces)

    def sweep_range(number: int) -> PartialCurve:
        start = bounds[number]
        stop = bounds[number + 1]
        pairs = np.zeros((2, 2), np.int64)
        precision, peak = empty_sums(queries)
        sweep_buckets(
            good.parts,
            bad.parts,
            np.ascontiguousarray(listed[:, start:stop]),
            count_from(stop),
            start,
            rank,
            n_unlisted,
            pairs_alone,
            np.zeros((2, N_PLACES), table_dtype),
            as_curve_sums(totals, pairs, precision, peak, queries),
        )
        points = np.empty((0, 3))
        if strides is not None:
            points = trace_range(start, stop, strides)
        open_pairs = (0, 0)
        if last is not None:
            runs = distinct(good, start, stop)
            open_pairs = add_pairs(count_open_pairs(*run, last) for run in runs)
        return PartialCurve(as_integers(pairs), precision, peak, points, open_pairs)

    pieces = resources.map(sweep_range, range(len(bounds) - 2, -1, -1))
    if unlisted.level is None and n_unlisted.any():
        n_good, n_bad = n_unlisted.tolist()
        above = totals - n_unlisted
        pieces.append(count_tie_group(n_good, n_bad, -np.inf, above, totals, strides, queries))
    return add_up(pieces, queries)


def join_distinct(
    side: Buckets, first: int, stop: int, level: float | None = None, n_unlisted: int = 0
) -> tuple[Scores, Ints]:
    """Return the distinct scores in a range of buckets, and their counts.

    level, n_unlisted : the score of unlisted entries and their number, which are counted, too
    """
    runs = [*distinct(side, first, stop)]
    scores, counts = (np.concatenate(arrays) for arrays in zip(*runs, strict=True))
    if n_unlisted:
        unlisted_score = np.float32(level)
        place = int(np.searchsorted(scores, unlisted_score))
        if place == scores.size or scores[place] != unlisted_score:
            scores = np.insert(scores, place, unlisted_score)
            counts = np.insert(counts, place, 0)
        counts[place] += n_unlisted
    return scores, counts
