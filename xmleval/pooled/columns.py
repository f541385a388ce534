"""Curves of every label, from piles of keys or from scores grouped by label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Bools, Floats, Ints, Scores
from xmleval.base.budget import Resources
from xmleval.files.spill import Keys
from xmleval.kernels.columns import append_columns, sort_columns
from xmleval.kernels.jackknife_sweeps import MOST_LABELS
from xmleval.kernels.keys import count_keys, place_keys, place_pairs
from xmleval.kernels.sweeps import LabelCurves, sweep_labels
from xmleval.pooled.curves import NO_QUERIES, count_ranges
from xmleval.pooled.piles import (
    Grouped,
    Pile,
    PileRanges,
    common_dtype,
    label_of,
    make_keys,
    quantiles,
    sample_piles,
    score_of,
    split_before,
    split_labels,
)

# cost of sorting, in comparisons
SORTED_FROM = 15_000  # fixed
SORTED_PER_SCORE = 50
LONG = 1 << 12  # scores of a label from which NumPy's sort is faster


class LabelScores(NamedTuple):
    """Scores of consecutive labels, grouped by label: int64 (n + 1,), (s,)."""

    ptr: Ints
    scores: Scores


# takes the first label of a range, its end, and the relevant and the irrelevant scores
VisitLabels = Callable[[int, int, LabelScores, LabelScores], None]


def sweep_columns(
    relevant: Pile,
    irrelevant: Pile,
    n_labels: int,
    n_cells: Ints,
    level: float | None,
    resources: Resources,
    queries: Floats = NO_QUERIES,
) -> LabelCurves:
    """Sweep the scores of every label, best first.

    relevant, irrelevant : keys of relevant and of irrelevant entries
    n_cells : int64 (n_labels, 2), relevant and irrelevant rows of every label
    level : score of unlisted entries; None if they rank below all
    queries : float64 (n, 2), further statistics of each curve, see `kernels.sweeps.CurveSums`
    """
    curves = LabelCurves.empty(n_labels, queries)
    unlisted_score = np.nan if level is None else level

    def sweep(start: int, stop: int, good: LabelScores, bad: LabelScores) -> None:
        n_listed = np.stack([np.diff(good.ptr), np.diff(bad.ptr)], axis=1)
        in_order = _sort_where_that_pays(n_listed, bad)
        n_unlisted = n_cells[start:stop] - n_listed
        part = curves.part(start, stop)
        sweep_labels(*good, *bad, in_order, n_unlisted, unlisted_score, queries, part)

    visit_labels(relevant, irrelevant, n_labels, sweep, resources)
    return curves


def visit_labels(
    relevant: Pile, irrelevant: Pile, n_labels: int, visit: VisitLabels, resources: Resources
) -> None:
    """Call a function for ranges of labels with their scores in two piles.

    Relevant scores ascend within each label, irrelevant ones are in any order.
    """
    piles = [relevant, irrelevant]
    parts_of_piles = _grouped_parts(piles)
    if parts_of_piles is not None:
        _visit_grouped(parts_of_piles, visit, count_ranges(piles, resources), resources)
        return
    less_memory = resources._replace(memory=2 * resources.memory // 3)
    bounds, ranges = split_by_label(piles, n_labels, less_memory)

    def visit_range(number: int) -> None:
        start = bounds[number]
        stop = bounds[number + 1]
        good = _split_sorted_keys(ranges.load(0, 2 * number), start, stop)
        bad = group_keys(ranges.parts(1, 2 * number), ranges.dtype, start, stop)
        visit(start, stop, good, bad)

    resources.map(visit_range, range(len(bounds) - 1))


def split_by_label(
    piles: Sequence[Pile], n_labels: int, resources: Resources
) -> tuple[list[int], PileRanges]:
    """Return the bounds of ranges of labels, and the piles split at them.

    The even ranges of the piles contain the keys, as no key equals a splitter.
    """
    dtype = common_dtype(piles, np.int64)
    cuts = quantiles(sample_piles(piles), count_ranges(piles, resources)).astype(np.int64)
    cuts = np.union1d(cuts[cuts > 0], np.arange(MOST_LABELS, n_labels, MOST_LABELS))
    bounds = [0, *cuts.tolist(), n_labels]
    return bounds, PileRanges(piles, split_before(cuts, dtype), resources.map)


def _grouped_parts(piles: Sequence[Pile]) -> list[list[Grouped]] | None:
    """Return the parts of every pile; None without any, or if some are not grouped by label."""
    parts_of_piles = [pile.parts() for pile in piles]
    if not any(parts_of_piles):
        return None
    for parts in parts_of_piles:
        if not all(isinstance(part, Grouped) for part in parts):
            return None
    return parts_of_piles


def _visit_grouped(
    parts_of_piles: Sequence[Sequence[Grouped]],
    visit: VisitLabels,
    n_least: int,
    resources: Resources,
) -> None:
    """Do the same as `visit_labels` for parts that are grouped by label."""
    bounds = split_labels([part for parts in parts_of_piles for part in parts], n_least)

    def visit_range(number: int) -> None:
        start = bounds[number]
        stop = bounds[number + 1]
        good, bad = (_gather_scores(parts, start, stop) for parts in parts_of_piles)
        sort_each(good)
        visit(start, stop, good, bad)

    resources.map(visit_range, range(len(bounds) - 1))


def _gather_scores(parts: Sequence[Grouped], start: int, stop: int) -> LabelScores:
    """Join the scores of labels start..stop-1 of several arrays, unsorted within each label."""
    ptr = np.zeros(stop - start + 1, np.int64)
    for part in parts:
        ptr += part.ptr[start : stop + 1] - part.ptr[start]
    dtype = np.result_type(np.float32, *(part.scores.dtype for part in parts))
    if len(parts) == 1:  # one copy, which is twice as fast where both lie alike in their pages
        (part,) = parts
        return LabelScores(ptr, part.scores[part.ptr[start] : part.ptr[stop]].astype(dtype))
    columns = LabelScores(ptr, np.empty(ptr[-1], dtype))
    next_places = ptr[:-1].copy()
    for part in parts:
        append_columns(part.ptr[start : stop + 1], part.scores, next_places, columns.scores)
    return columns


def sort_each(columns: LabelScores) -> None:
    """Sort the scores of every label, in place."""
    ptr, scores = columns
    n_labels = ptr.size - 1
    if scores.dtype == np.float32 and scores.size <= LONG * n_labels:
        # as keys, which NumPy sorts 1.5 to 9 times as fast as Numba does the scores of short labels
        labels = np.repeat(np.arange(n_labels, dtype=np.int32), np.diff(ptr))
        keys = make_keys(labels, scores, n_labels)
        del labels  # takes memory while keys are sorted
        keys.sort()
        scores[:] = score_of(keys)
        return
    sort_columns(ptr, scores, LONG)
    _sort_labels(columns, np.diff(ptr) > LONG)


def _sort_where_that_pays(n_listed: Ints, bad: LabelScores) -> Bools:
    """Sort the scores of labels for which scanning them for each relevant score would cost more."""
    n_good, n_bad = n_listed.T
    in_order: Bools = n_good * n_bad > SORTED_FROM + SORTED_PER_SCORE * n_bad
    _sort_labels(bad, in_order)
    return in_order


def _sort_labels(columns: LabelScores, flags: Bools) -> None:
    """Sort the scores of the flagged labels, in place."""
    for label in np.flatnonzero(flags):
        columns.scores[columns.ptr[label] : columns.ptr[label + 1]].sort()


def group_keys(arrays: Iterable[Keys], dtype: np.dtype[Any], start: int, stop: int) -> LabelScores:
    """Group the scores of keys of a type by label, unsorted within each."""
    arrays = [*arrays]
    packed = dtype == np.int64
    ptr = np.zeros(stop - start + 1, np.int64)
    for keys in arrays:
        if packed:
            fits = count_keys(keys, start, ptr[1:])
            assert fits  # or scores would be written outside
        else:
            ptr[1:] += np.bincount(label_of(keys) - start, minlength=stop - start)
    np.cumsum(ptr, out=ptr)
    next_places = ptr[:-1].copy()
    scores = np.empty(ptr[-1], np.float32 if packed else np.float64)
    for keys in arrays:
        if packed:
            place_keys(keys, start, next_places, scores.view(np.uint32))
        else:
            place_pairs(keys.view(np.float64).reshape(-1, 2), start, next_places, scores)
    return LabelScores(ptr, scores)


def _split_sorted_keys(keys: Keys, start: int, stop: int) -> LabelScores:
    """Return the scores of sorted keys, grouped by label."""
    ptr: Ints = np.searchsorted(label_of(keys), np.arange(start, stop + 1))
    return LabelScores(ptr, score_of(keys))
