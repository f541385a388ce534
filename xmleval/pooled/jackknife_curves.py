"""Curves of the entries outside each jackknife group of the rows, all groups in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from xmleval.base.arrays import Floats, Ints, as_score
from xmleval.base.budget import Resources
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
from xmleval.pooled.columns import label_ranges
from xmleval.pooled.curves import splitters_of
from xmleval.pooled.piles import Pile, Ranges, common_dtype, label_of, score_of
from xmleval.pooled.values import TASKS, Buckets, Values, as_buckets, cut

LABELS_AT_A_TIME = 1 << 12
SORTED_BYTES = 1 << 22  # keys that are sorted at a time: more take longer


def sweep_values(
    sides: Sequence[Sequence[Values]], unlisted: Ints, level: float | None, resources: Resources
) -> Floats:
    """Sweep scores counted by value, best first; return the sums without each group, float64 (3, groups).

    sides : scores of relevant and of irrelevant entries, those of each group
    unlisted : int64 (2, groups), numbers of relevant and irrelevant unlisted entries
    level : score of unlisted entries; None if they rank below all
    """
    n_groups = unlisted.shape[1]
    rank = -1 if level is None else int(rank_of_bits(np.float32(level).view(np.uint32)))
    n_scores: Ints = np.zeros(N_BUCKETS, np.int64)
    kinds = list[tuple[Buckets, Ints]]()  # and the buckets that occur in each, whose sizes alone are kept
    for values in (values for side in sides for values in side):
        kind = as_buckets([values])
        n_scores += kind.sizes
        filled = np.flatnonzero(kind.sizes)
        kinds.append((kind._replace(sizes=kind.sizes[filled]), filled))
    occurs = n_scores > 0
    if level is not None:
        occurs[rank >> HALF] = True
    buckets = np.flatnonzero(occurs)
    marks, sizes = list[int](), np.zeros((2, buckets.size, n_groups), np.int64)
    for number, (kind, filled) in enumerate(kinds):
        side, group = divmod(number, n_groups)
        marks += [group if side else RELEVANT + group] * len(kind.parts)
        sizes[side, np.searchsorted(buckets, filled), group] = kind.sizes
    parts, of_parts = np.concatenate([kind.parts for kind, _ in kinds]), np.array(marks)
    totals: Ints = sizes.sum(axis=1) + unlisted
    ends = cut(n_scores, TASKS * resources.threads if resources.threads > 1 else 1)
    bounds = np.searchsorted(buckets, ends).tolist()

    def sums_of(number: int) -> Floats:
        start, stop = bounds[number], bounds[number + 1]
        above: Ints = sizes[:, stop:].sum(axis=1)
        above += unlisted if rank >> HALF >= ends[number + 1] else 0
        sums = np.zeros((3, N_SUMS, n_groups))
        sweep_buckets(
            parts, of_parts, buckets[start:stop], sizes[:, start:stop], rank, unlisted, above, totals,
            sums,
        )  # fmt: skip
        return sums

    return _total(resources.map(sums_of, range(len(bounds) - 1)), unlisted, level, totals)


def sweep_piles(
    sides: Sequence[Sequence[Pile]], unlisted: Ints, level: float | None, resources: Resources
) -> Floats:
    """Sweep scores in piles, best first; see `sweep_values`."""
    piles, n_groups = [pile for side in sides for pile in side], unlisted.shape[1]
    splitters, level_at = splitters_of(piles, level, _of_ranges(resources))
    ranges = Ranges(piles, splitters, resources.map)
    sizes = ranges.sizes.reshape(2, n_groups, -1).copy()
    totals: Ints = sizes.sum(axis=2) + unlisted
    none = np.zeros_like(unlisted)

    def sums_of(number: int) -> Floats:
        above: Ints = sizes[:, :, number + 1 :].sum(axis=2)
        above += unlisted if level_at is not None and level_at > number else 0
        tied, keys = none, np.empty(0, np.int64)
        if number % 2:  # of one score
            tied = sizes[:, :, number] + (unlisted if number == level_at else 0)
        else:
            keys, _ = _marked_keys(ranges, number, 0, None, ranked=True)
        sums = np.zeros((3, N_SUMS, n_groups))
        sweep_keys(keys, -1, tied, none.copy(), above, totals, sums)
        return sums

    numbers = [n for n in range(sizes.shape[2]) if sizes[0, :, n].any() or n == level_at]
    return _total(resources.map(sums_of, numbers), unlisted, level, totals)


def _total(pieces: Sequence[Floats], unlisted: Ints, level: float | None, totals: Ints) -> Floats:
    """Add up what ranges of scores give, and unlisted entries that rank below all."""
    if level is None:
        lowest, above = np.zeros((3, N_SUMS, unlisted.shape[1])), totals - unlisted
        sweep_keys(np.empty(0, np.int64), -1, unlisted, np.zeros_like(unlisted), above, totals, lowest)
        pieces = [*pieces, lowest]
    total, error = np.zeros((2, N_SUMS, unlisted.shape[1]))
    for sums, errors, _ in pieces:  # as `add_pending` does
        old, total = total, total + sums
        added = total - old
        error = error + errors + (old - (total - added)) + (sums - added)
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
    """Sweep the scores of labels, and use what some of them give, in threads.

    sides : keys of relevant and of irrelevant entries, those of each group
    labels : int64 (n,), those with relevant rows, increasing; others have no value
    n_true : sequence of int64 (n_labels,), rows of each group in which every label is relevant
    n_rows : int64 (groups,), rows of each group
    level, resources : see `sweep_values`
    use : takes relevant rows of some labels in each group, int64 (groups, m), and the sums without each
        group, float64 (3, groups, m)
    """
    piles = [pile for side in sides for pile in side]
    # float64 numbers have no ranks of 32 bits, but those that occur have
    ranked = common_dtype(piles, np.int64) != np.int64
    ranked |= level is not None and level != as_score(level, np.empty(0, np.float32))
    bounds, ranges = label_ranges(piles, n_true[0].size, _of_ranges(resources))

    def task(number: int) -> None:
        start, stop = bounds[number], bounds[number + 1]
        keys, rank = _marked_keys(ranges, 2 * number, start, level, ranked)
        within = labels[slice(*np.searchsorted(labels, [start, stop]))]
        for at in range(0, within.size, LABELS_AT_A_TIME):
            chosen = within[at : at + LABELS_AT_A_TIME]
            numbers = chosen - start
            ends = np.searchsorted(keys, np.array([numbers[0], numbers[-1] + 1]) << BELOW_LABEL)
            of_groups = np.stack([counts.take(chosen) for counts in n_true])
            sums = np.empty((N_SUMS, *of_groups.shape))
            sweep_labels(numbers, keys[slice(*ends)], of_groups, n_rows, rank, sums)
            use(of_groups, sums)

    resources.map(task, range(len(bounds) - 1))


def _of_ranges(resources: Resources) -> Resources:
    """Return the memory for ranges of keys: numbering their scores takes twice what they do."""
    return resources._replace(memory=min(resources.memory // 3, 4 * resources.threads * SORTED_BYTES))


def _marked_keys(
    ranges: Ranges, number: int, first: int, level: float | None, ranked: bool
) -> tuple[Ints, int]:
    """Return the keys of all groups as `sweep_keys` takes them, and the rank of unlisted entries.

    ranges : of piles of relevant entries, a group each, and as many of irrelevant ones
    first : the label that has number 0; ranked : whether scores are numbered by their order
    """
    n_groups, none = len(ranges.cuts) // 2, -np.inf if level is None else level
    marks = [*range(RELEVANT, RELEVANT + n_groups), *range(n_groups)]
    parts = [(mark, part) for pile, mark in enumerate(marks) for part in ranges.parts(pile, number)]
    if ranked:
        scores = np.concatenate([*(score_of(part) for _, part in parts), [none]])
        ranks = np.unique(scores, return_inverse=True)[1]
        rank = int(ranks[-1])
    else:
        rank = int(rank_of_bits(np.float32(none).view(np.uint32)))
    keys, start = np.empty(ranges.sizes[:, number].sum(), np.int64), 0
    for mark, part in parts:
        marked = keys[start : start + part.size]
        if not ranked:
            np.subtract(part, first << RANK_BITS, out=marked)
        elif part.dtype.kind == "f":
            marked[:] = ranks[start : start + part.size]
        else:
            marked[:] = (label_of(part) - first << RANK_BITS) + ranks[start : start + part.size]
        marked <<= MARK_BITS
        marked |= mark
        start += part.size
    keys.sort()
    return keys, -1 if level is None else rank
