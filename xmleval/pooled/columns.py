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
from xmleval.pooled.curves import NOTHING, n_ranges
from xmleval.pooled.piles import (
    Grouped,
    Pile,
    Ranges,
    before_label,
    common_dtype,
    label_bounds,
    label_of,
    make_keys,
    quantiles,
    sampled,
    score_of,
)

SORTED_FROM, SORTED_PER_SCORE = 15_000, 50  # cost of sorting in comparisons: fixed, and per score
LONG = 1 << 12  # scores of a label from which NumPy's sort is faster


class Columns(NamedTuple):
    """Scores of consecutive labels, grouped by label: int64 (n + 1,), (s,)."""

    ptr: Ints
    scores: Scores


def sweep_columns(
    relevant: Pile,
    irrelevant: Pile,
    n_labels: int,
    n_cells: Ints,
    level: float | None,
    resources: Resources,
    asked: Floats = NOTHING,
) -> LabelCurves:
    """Sweep the scores of every label, best first.

    relevant, irrelevant : keys of relevant and of irrelevant entries
    n_cells : int64 (n_labels, 2), relevant and irrelevant rows of every label
    level : score of unlisted entries; None if they rank below all
    asked : float64 (n, 2), what else is asked of each curve, see `kernels.sweeps.CurveSums`
    """
    curves = LabelCurves.empty(n_labels, asked)
    place = np.nan if level is None else level

    def count(start: int, stop: int, good: Columns, bad: Columns) -> None:
        n_listed = np.stack([np.diff(good.ptr), np.diff(bad.ptr)], axis=1)
        in_order = _sort_where_that_pays(n_listed, bad)
        n_unlisted = n_cells[start:stop] - n_listed
        sweep_labels(*good, *bad, in_order, n_unlisted, place, asked, curves.part(start, stop))

    over_labels(relevant, irrelevant, n_labels, count, resources)
    return curves


def over_labels(
    relevant: Pile,
    irrelevant: Pile,
    n_labels: int,
    count: Callable[[int, int, Columns, Columns], None],
    resources: Resources,
) -> None:
    """Call a function for ranges of labels with their scores in two piles.

    Relevant scores ascend within each label, irrelevant ones are in any order.
    """
    piles = [relevant, irrelevant]
    grouped = _grouped(piles)
    if grouped is not None:
        _over_grouped(grouped, count, n_ranges(piles, resources), resources)
        return
    bounds, ranges = label_ranges(piles, n_labels, resources._replace(memory=2 * resources.memory // 3))

    def task(number: int) -> None:
        start, stop = bounds[number], bounds[number + 1]
        good = _columns(ranges.load(0, 2 * number), start, stop)
        count(start, stop, good, grouped_keys(ranges.parts(1, 2 * number), ranges.dtype, start, stop))

    resources.map(task, range(len(bounds) - 1))


def label_ranges(piles: Sequence[Pile], n_labels: int, resources: Resources) -> tuple[list[int], Ranges]:
    """Return the bounds of ranges of labels, and the piles split at them; the even ranges hold the keys."""
    dtype = common_dtype(piles, np.int64)
    cuts = quantiles(sampled(piles), n_ranges(piles, resources)).astype(np.int64)
    cuts = np.union1d(cuts[cuts > 0], np.arange(MOST_LABELS, n_labels, MOST_LABELS))
    return [0, *cuts.tolist(), n_labels], Ranges(piles, before_label(cuts, dtype), resources.map)


def _grouped(piles: Sequence[Pile]) -> list[list[Grouped]] | None:
    """Return the parts of piles, None if there are none, or some that are not grouped by label."""
    parts_of = [pile.parts() for pile in piles]
    if any(parts_of) and all(isinstance(part, Grouped) for parts in parts_of for part in parts):
        return parts_of
    return None


def _over_grouped(
    piles: Sequence[Sequence[Grouped]],
    count: Callable[[int, int, Columns, Columns], None],
    n_least: int,
    resources: Resources,
) -> None:
    """Do the same as `over_labels` for the parts of piles that are grouped by label."""
    bounds = label_bounds([part for parts in piles for part in parts], n_least)

    def task(number: int) -> None:
        start, stop = bounds[number], bounds[number + 1]
        good, bad = (_gathered(parts, start, stop) for parts in piles)
        sort_each(good)
        count(start, stop, good, bad)

    resources.map(task, range(len(bounds) - 1))


def _gathered(parts: Sequence[Grouped], start: int, stop: int) -> Columns:
    """Join the scores of labels start..stop-1 of several arrays, unsorted within each label."""
    ptr = np.zeros(stop - start + 1, np.int64)
    for part in parts:
        ptr += part.ptr[start : stop + 1] - part.ptr[start]
    dtype = np.result_type(np.float32, *(part.scores.dtype for part in parts))
    if len(parts) == 1:  # one copy, which is twice as fast where both lie alike in their pages
        (part,) = parts
        return Columns(ptr, part.scores[part.ptr[start] : part.ptr[stop]].astype(dtype))
    columns = Columns(ptr, np.empty(ptr[-1], dtype))
    place_of = ptr[:-1].copy()
    for part in parts:
        append_columns(part.ptr[start : stop + 1], part.scores, place_of, columns.scores)
    return columns


def sort_each(columns: Columns) -> None:
    """Sort the scores of every label, in place."""
    ptr, scores = columns
    n_labels = ptr.size - 1
    if scores.dtype == np.float32 and scores.size <= LONG * n_labels:
        # as keys, which NumPy sorts 1.5 to 9 times as fast as Numba does the scores of short labels
        keys = make_keys(np.repeat(np.arange(n_labels, dtype=np.int32), np.diff(ptr)), scores, n_labels)
        keys.sort()
        scores[:] = score_of(keys)
        return
    sort_columns(ptr, scores, LONG)
    _sort_labels(columns, np.diff(ptr) > LONG)


def _sort_where_that_pays(n_listed: Ints, bad: Columns) -> Bools:
    """Sort the scores of labels for which scanning them for each relevant score would cost more."""
    n_good, n_bad = n_listed.T
    in_order: Bools = n_good * n_bad > SORTED_FROM + SORTED_PER_SCORE * n_bad
    _sort_labels(bad, in_order)
    return in_order


def _sort_labels(columns: Columns, flags: Bools) -> None:
    """Sort the scores of each flagged label, in place."""
    for label in np.flatnonzero(flags):
        columns.scores[columns.ptr[label] : columns.ptr[label + 1]].sort()


def grouped_keys(parts: Iterable[Keys], dtype: np.dtype[Any], start: int, stop: int) -> Columns:
    """Group the scores of keys of a type by label, unsorted within each."""
    parts = [*parts]
    ptr = np.zeros(stop - start + 1, np.int64)
    for keys in parts:
        if dtype == np.int64:
            fits = count_keys(keys, start, ptr[1:])
            assert fits  # or scores would be written outside
        else:
            ptr[1:] += np.bincount(label_of(keys) - start, minlength=stop - start)
    np.cumsum(ptr, out=ptr)
    place_of = ptr[:-1].copy()
    scores = np.empty(ptr[-1], np.float32 if dtype == np.int64 else np.float64)
    for keys in parts:
        if dtype == np.int64:
            place_keys(keys, start, place_of, scores.view(np.uint32))
        else:
            place_pairs(keys.view(np.float64).reshape(-1, 2), start, place_of, scores)
    return Columns(ptr, scores)


def _columns(keys: Keys, start: int, stop: int) -> Columns:
    ptr: Ints = np.searchsorted(label_of(keys), np.arange(start, stop + 1))
    return Columns(ptr, score_of(keys))
