"""Curves of the entries outside each jackknife group of the rows, all groups in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, as_score
from xmleval.base.budget import Resources
from xmleval.files.spill import Keys
from xmleval.kernels.jackknife_sweeps import (
    BELOW_LABEL,
    MARK_BITS,
    N_SUMS,
    RELEVANT,
    sweep_buckets,
    sweep_keys,
    sweep_labels,
)
from xmleval.kernels.keys import HALF as RANK_BITS
from xmleval.kernels.keys import rank_of_bits
from xmleval.kernels.packing import HALF
from xmleval.kernels.values import N_BUCKETS
from xmleval.pooled.columns import split_by_label
from xmleval.pooled.curves import choose_splitters
from xmleval.pooled.piles import Pile, PileRanges, common_dtype, label_of, score_of
from xmleval.pooled.values import TASKS, Buckets, Values, as_buckets, cut

LABELS_AT_A_TIME = 1 << 12
SORTED_BYTES = 1 << 22  # keys that are sorted at a time: more take longer


class _GroupBuckets(NamedTuple):
    """Scores counted by value of every side and jackknife group, as `sweep_buckets` takes them.

    parts : int64 (p, FIELDS); marks : int64 (p,), side and group of each part
    buckets : int64 (b,), those with scores, and that of unlisted entries
    sizes : int64 (2, b, groups), number of scores
    n_scores : int64 (N_BUCKETS,), number of all scores
    sources : keep the arrays of the parts
    """

    parts: Ints
    marks: Ints
    buckets: Ints
    sizes: Ints
    n_scores: Ints
    sources: list[Buckets]


def sweep_values(
    sides: Sequence[Sequence[Values]], unlisted: Ints, level: float | None, resources: Resources
) -> Floats:
    """Sweep scores counted by value, best first; return the sums without each group.

    sides : scores of relevant and of irrelevant entries, those of each group
    unlisted : int64 (2, groups), numbers of relevant and irrelevant unlisted entries
    level : score of unlisted entries; None if they rank below all

    The sums are float64 (3, groups).
    """
    n_groups = unlisted.shape[1]
    rank = -1
    unlisted_bucket = -1
    if level is not None:
        rank = _rank_of(level)
        unlisted_bucket = rank >> HALF
    groups = _join_groups(sides, n_groups, unlisted_bucket)
    totals: Ints = groups.sizes.sum(axis=1) + unlisted
    n_tasks = 1
    if resources.threads > 1:
        n_tasks = TASKS * resources.threads
    ends = cut(groups.n_scores, n_tasks)
    bounds = np.searchsorted(groups.buckets, ends).tolist()

    def sweep_range(number: int) -> Floats:
        start = bounds[number]
        stop = bounds[number + 1]
        above: Ints = groups.sizes[:, stop:].sum(axis=1)
        if unlisted_bucket >= ends[number + 1]:
            above += unlisted
        sums = np.zeros((3, N_SUMS, n_groups))
        sweep_buckets(
            groups.parts,
            groups.marks,
            groups.buckets[start:stop],
            groups.sizes[:, start:stop],
            rank,
            unlisted,
            above,
            totals,
            sums,
        )
        return sums

    pieces = resources.map(sweep_range, range(len(bounds) - 1))
    return _add_up(pieces, unlisted, level, totals)


def _rank_of(score: float) -> int:
    """Return the rank of a float32 score among all bit patterns."""
    return int(rank_of_bits(np.float32(score).view(np.uint32)))


def _join_groups(
    sides: Sequence[Sequence[Values]], n_groups: int, unlisted_bucket: int
) -> _GroupBuckets:
    """Return the scores of all groups; the bucket of unlisted entries, if not -1, is included."""
    n_scores: Ints = np.zeros(N_BUCKETS, np.int64)
    sources: list[Buckets] = []
    filled_buckets: list[Ints] = []
    for side in sides:
        for values in side:
            source = as_buckets([values])
            n_scores += source.sizes
            filled = np.flatnonzero(source.sizes)
            # of all the sizes, only those of buckets with scores are kept
            sources.append(source._replace(sizes=source.sizes[filled]))
            filled_buckets.append(filled)
    occurs = n_scores > 0
    if unlisted_bucket >= 0:
        occurs[unlisted_bucket] = True
    buckets = np.flatnonzero(occurs)
    marks: list[int] = []
    sizes = np.zeros((2, buckets.size, n_groups), np.int64)
    for number, (source, filled) in enumerate(zip(sources, filled_buckets, strict=True)):
        side_number, group = divmod(number, n_groups)
        mark = group if side_number else RELEVANT + group
        marks += [mark] * len(source.parts)
        sizes[side_number, np.searchsorted(buckets, filled), group] = source.sizes
    parts = np.concatenate([source.parts for source in sources])
    return _GroupBuckets(parts, np.array(marks), buckets, sizes, n_scores, sources)


def sweep_piles(
    sides: Sequence[Sequence[Pile]], unlisted: Ints, level: float | None, resources: Resources
) -> Floats:
    """Sweep scores in piles, best first; see `sweep_values`."""
    piles = [pile for side in sides for pile in side]
    n_groups = unlisted.shape[1]
    splitters, unlisted_range = choose_splitters(piles, level, _limit_ranges(resources))
    ranges = PileRanges(piles, splitters, resources.map)
    sizes = ranges.sizes.reshape(2, n_groups, -1).copy()
    totals: Ints = sizes.sum(axis=2) + unlisted
    none = np.zeros_like(unlisted)

    def sweep_range(number: int) -> Floats:
        above: Ints = sizes[:, :, number + 1 :].sum(axis=2)
        if unlisted_range is not None and unlisted_range > number:
            above += unlisted
        tied = none
        keys = np.empty(0, np.int64)
        if number % 2:  # a range of one score
            tied = sizes[:, :, number].copy()
            if number == unlisted_range:
                tied += unlisted
        else:
            keys, _ = _mark_keys(ranges, number, 0, None, ranked=True)
        sums = np.zeros((3, N_SUMS, n_groups))
        sweep_keys(keys, -1, tied, none.copy(), above, totals, sums)
        return sums

    numbers = [n for n in range(sizes.shape[2]) if sizes[0, :, n].any() or n == unlisted_range]
    return _add_up(resources.map(sweep_range, numbers), unlisted, level, totals)


def _add_up(pieces: Sequence[Floats], unlisted: Ints, level: float | None, totals: Ints) -> Floats:
    """Add up the sums of ranges of scores, and of unlisted entries if they rank below all."""
    if level is None:
        lowest = np.zeros((3, N_SUMS, unlisted.shape[1]))
        no_keys = np.empty(0, np.int64)
        above = totals - unlisted
        sweep_keys(no_keys, -1, unlisted, np.zeros_like(unlisted), above, totals, lowest)
        pieces = [*pieces, lowest]
    total, error = np.zeros((2, N_SUMS, unlisted.shape[1]))
    for sums, errors, _ in pieces:  # as `add_pending` does
        before = total
        total = before + sums
        added = total - before
        error = error + errors + (before - (total - added)) + (sums - added)
    result: Floats = total + error
    return result


def sweep_label_groups(
    sides: Sequence[Sequence[Pile]],
    labels: Ints,
    n_true: Sequence[Ints],
    n_rows: Ints,
    level: float | None,
    resources: Resources,
    use: Callable[[Ints, Floats], None],
) -> None:
    """Sweep the scores of labels, and use the sums of some labels at a time, in threads.

    sides : keys of relevant and of irrelevant entries, those of each group
    labels : int64 (n,), those with relevant rows, increasing; others have no value
    n_true : sequence of int64 (n_labels,), rows of each group in which every label is relevant
    n_rows : int64 (groups,), rows of each group
    level, resources : see `sweep_values`
    use : takes relevant rows of some labels in each group, int64 (groups, m), and the sums without
        each group, float64 (3, groups, m)
    """
    piles = [pile for side in sides for pile in side]
    # float64 numbers have no ranks of 32 bits, but those that occur have
    ranked = common_dtype(piles, np.int64) != np.int64
    ranked |= level is not None and level != as_score(level, np.empty(0, np.float32))
    bounds, ranges = split_by_label(piles, n_true[0].size, _limit_ranges(resources))

    def sweep_range(number: int) -> None:
        start = bounds[number]
        stop = bounds[number + 1]
        keys, rank = _mark_keys(ranges, 2 * number, start, level, ranked)
        within = labels[slice(*np.searchsorted(labels, [start, stop]))]
        for place in range(0, within.size, LABELS_AT_A_TIME):
            chosen = within[place : place + LABELS_AT_A_TIME]
            numbers = chosen - start
            first_and_end = np.array([numbers[0], numbers[-1] + 1])
            key_bounds = np.searchsorted(keys, first_and_end << BELOW_LABEL)
            n_relevant = np.stack([counts.take(chosen) for counts in n_true])
            sums = np.empty((N_SUMS, *n_relevant.shape))
            sweep_labels(numbers, keys[slice(*key_bounds)], n_relevant, n_rows, rank, sums)
            use(n_relevant, sums)

    resources.map(sweep_range, range(len(bounds) - 1))


def _limit_ranges(resources: Resources) -> Resources:
    """Return resources for ranges of keys: their ranks take twice the memory of the keys."""
    memory = min(resources.memory // 3, 4 * resources.threads * SORTED_BYTES)
    return resources._replace(memory=memory)


def _mark_keys(
    ranges: PileRanges, number: int, first: int, level: float | None, ranked: bool
) -> tuple[Ints, int]:
    """Return the keys of all groups as `sweep_keys` takes them, and the rank of unlisted entries.

    ranges : of piles of relevant entries, a group each, and as many of irrelevant ones
    first : the label that has number 0; ranked : whether scores are numbered by their order
    """
    n_groups = len(ranges.cuts) // 2
    unlisted_score = -np.inf if level is None else level
    marks = [*range(RELEVANT, RELEVANT + n_groups), *range(n_groups)]
    parts = [(mark, part) for pile, mark in enumerate(marks) for part in ranges.parts(pile, number)]
    ranks: Ints = np.empty(0, np.int64)
    if ranked:
        scores = np.concatenate([*(score_of(part) for _, part in parts), [unlisted_score]])
        ranks = np.unique(scores, return_inverse=True)[1]
        rank = int(ranks[-1])
    else:
        rank = _rank_of(unlisted_score)
    keys = np.empty(ranges.sizes[:, number].sum(), np.int64)
    start = 0
    for mark, part in parts:
        stop = start + part.size
        marked = keys[start:stop]
        if ranked:
            _write_ranked(part, first, ranks[start:stop], marked)
        else:
            np.subtract(part, first << RANK_BITS, out=marked)
        marked <<= MARK_BITS
        marked |= mark
        start = stop
    keys.sort()
    if level is None:
        return keys, -1
    return keys, rank


def _write_ranked(part: Keys, first: int, ranks: Ints, out: Ints) -> None:
    """Write the labels of keys, numbered from the first, with the ranks of their scores."""
    if part.dtype.kind == "f":
        out[:] = ranks
    else:
        out[:] = (label_of(part) - first << RANK_BITS) + ranks
