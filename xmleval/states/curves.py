"""Curves of pooled scores, read off piles of keys range by range; how they are cut leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from xmleval.arrays import Bools, Floats, Ints, Scores
from xmleval.kernels.fixed import LIMBS, add_term, carry
from xmleval.kernels.keys import HALF, group_keys, group_pairs
from xmleval.kernels.runs import (
    count_pairs,
    sum_below,
    sum_labels_below,
    sweep,
    sweep_labels,
    trace,
    weigh_group,
)
from xmleval.states.piles import (
    Pile,
    Ranges,
    before_label,
    common_dtype,
    label_of,
    sampled_quantiles,
    score_of,
)
from xmleval.states.spill import Keys

T = TypeVar("T")
LARGE = 1 << 20  # keys from which sorting ranges side by side pays
LEAST_RANGE = 1 << 12  # bytes
SORTED_FROM, SORTED_PER_SCORE = 15_000, 50  # comparisons that take as long as sorting, and per score


class Unlisted(NamedTuple):
    """Cells that share one place: how many are relevant and irrelevant, and their score (None: below all)."""

    relevant: int
    irrelevant: int
    level: float | None


class Last(NamedTuple):
    """Last scores of rows, rising, and the irrelevant cells that the first of them leave open, (m + 1,)."""

    scores: Scores
    n_left: Ints


class Found(NamedTuple):
    """What some cells add to the curve of all of them; see `kernels.runs.sweep`.

    pairs : relevant cells with an irrelevant one, in the right order and level
    precision : fixed point, int64 (4,); peak : float64 (2,); points : float64 (p, 3)
    open_pairs : relevant cells with one that a last score below theirs, or level, leaves open
    """

    pairs: tuple[int, int]
    precision: Ints
    peak: Floats
    points: Floats
    open_pairs: tuple[int, int]


class Work(NamedTuple):
    """Memory that ranges may take together, in bytes, and threads that work on them."""

    memory: int
    threads: int

    def n_ranges(self, piles: Sequence[Pile]) -> int:
        """Return into how many ranges of scores piles are cut; they may differ in size."""
        return max(self._n_parts(piles), 1 if self._is_small(piles) else 2 * self.threads)

    def n_groups(self, piles: Sequence[Pile]) -> int:
        """Return into how many groups of any scores piles are cut, of one size: as many for each thread."""
        n_parts = self._n_parts(piles)
        return n_parts if self._is_small(piles) else -(-n_parts // self.threads) * self.threads

    def _is_small(self, piles: Sequence[Pile]) -> bool:
        return self.threads == 1 or sum(pile.size for pile in piles) <= LARGE

    def _n_parts(self, piles: Sequence[Pile]) -> int:
        n_bytes = sum(pile.size for pile in piles) * common_dtype(piles, np.float32).itemsize
        return max(1, -(-n_bytes // max(LEAST_RANGE, self.memory // (4 * self.threads))))

    def map(self, task: Callable[[int], T], numbers: Sequence[int]) -> list[T]:
        """Return what a task gives for each number, in order."""
        if self.threads == 1 or len(numbers) < 2:
            return [task(number) for number in numbers]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(task, numbers))


def sweep_cells(
    relevant: Sequence[Pile],
    irrelevant: Pile,
    unlisted: Unlisted,
    work: Work,
    *,
    strides: Ints | None = None,
    last: Last | None = None,
) -> Found:
    """Walk down the scores of all cells.

    Parameters
    ----------
    relevant : sequence of Pile
        Scores of relevant cells, in several piles.
    irrelevant : Pile
        Scores of irrelevant cells.
    unlisted : Unlisted
        The cells without a score.
    work : Work
        Memory and threads to use.
    strides : int64 (2,), optional
        Relevant and irrelevant cells from one point of the curve to the next.
    last : Last, optional
        Last scores, to count what they leave open against the first relevant pile.
    """
    piles = [*relevant, irrelevant]
    splitters, level_at = _splitters(piles, unlisted.level, work)
    ranges = Ranges(piles, splitters, work.map)
    listed = np.stack([ranges.sizes[:-1].sum(axis=0), ranges.sizes[-1]])
    without = np.array([unlisted.relevant, unlisted.irrelevant])
    totals: Ints = listed.sum(axis=1) + without
    cells = listed.copy()
    if level_at is not None:
        cells[:, level_at] += without
    above = cells[:, ::-1].cumsum(axis=1)[:, ::-1] - cells

    def count(number: int) -> Found:
        start = np.ascontiguousarray(above[:, number])
        if number % 2:
            group, others = cells[:, number].tolist()
            score = np.full(1, splitters[number // 2])
            found = _tie_group(group, others, float(score[0]), start, totals, strides)
            n_first = int(ranges.sizes[0, number])
            return found._replace(open_pairs=_pairs_left(score, last, n_first))
        first, bad = ranges.load(0, number), ranges.load(len(relevant), number)
        good = first if len(relevant) == 1 else ranges.load_all(range(len(relevant)), number)
        pairs, precision = np.zeros((2, 2), np.int64), np.zeros(LIMBS, np.int64)
        peak, points = np.array([0.0, np.nan]), np.empty((0, 3))
        sweep(good, bad, start, totals, pairs, precision, peak)
        if strides is not None:
            passed = (listed[:, number] // strides).sum() + 3
            points = np.empty((min(int(passed), good.size + bad.size), 3))
            points = points[: trace(good, bad, start, totals, strides, points)]
        return Found(as_integers(pairs), precision, peak, points, _pairs_left(first, last))

    down = [number for number in range(cells.shape[1] - 1, -1, -1) if cells[:, number].any()]
    found = work.map(count, down)
    if level_at is None and without.any():
        seen = cells.sum(axis=1)
        group, others = without.tolist()
        found.append(_tie_group(group, others, -np.inf, seen, totals, strides))
    return _total(found)


def count_cells(relevant: Pile, irrelevant: Pile, unlisted: Unlisted, work: Work) -> Found | None:
    """Count pairs of all cells where nothing else is asked and all scores are held; None where they are not.

    Pairs add up over any parts of the irrelevant scores, so that these need not be brought into ranges.
    """
    dtype = common_dtype([relevant, irrelevant], np.float64)
    held = irrelevant.held()
    mixed = any(keys.dtype != dtype for keys in held)
    many = relevant.n_bytes > work.memory // 4 or irrelevant.size >= 1 << 31
    if relevant.runs or irrelevant.runs or mixed or many:
        return None
    good = np.concatenate([np.empty(0, dtype), *relevant.held()])
    good.sort()
    n_groups = max(1, min(len(held), work.n_groups([relevant, irrelevant])))
    groups = [held[number::n_groups] for number in range(n_groups)]

    def count(number: int) -> tuple[tuple[int, int], tuple[int, int]]:
        bad = np.concatenate([np.empty(0, dtype), *groups[number]])
        bad.sort()
        pairs = np.zeros((2, 2), np.int64)
        count_pairs(good, bad, pairs)
        return as_integers(pairs), _around(bad, unlisted.level)

    counted = work.map(count, range(n_groups))
    right, level = _added(pairs for pairs, _ in counted)
    # pairs of a cell with a score and one without, and of two without
    bad_below, bad_level = _added(around for _, around in counted)
    good_below, good_level = _around(good, unlisted.level)
    right += unlisted.relevant * bad_below + unlisted.irrelevant * (good.size - good_below - good_level)
    level += unlisted.relevant * bad_level + unlisted.irrelevant * good_level
    level += unlisted.relevant * unlisted.irrelevant
    nothing = np.zeros(LIMBS, np.int64), np.full(2, np.nan), np.empty((0, 3))
    return Found((right, level), *nothing, (0, 0))


def _around(scores: Scores, level: float | None) -> tuple[int, int]:
    """Return how many rising scores are below the unlisted cells, and level with them."""
    if level is None:
        return 0, 0
    low, high = (int(np.searchsorted(scores, scores.dtype.type(level), s)) for s in ("left", "right"))
    return low, high - low


def _splitters(piles: Sequence[Pile], level: float | None, work: Work) -> tuple[Keys, int | None]:
    """Return scores to cut piles at, and the number of the range that is the unlisted cells' score."""
    dtype = common_dtype(piles, np.float64)
    chosen = sampled_quantiles(piles, work.n_ranges(piles))
    if level is not None:
        chosen = np.append(chosen, level)
    splitters: Keys = np.unique(chosen.astype(dtype))
    if level is None:
        return splitters, None
    return splitters, 2 * int(np.searchsorted(splitters, dtype.type(level))) + 1


def _tie_group(
    group: int, others: int, score: float, above: Ints, totals: Ints, strides: Ints | None
) -> Found:
    """Count cells of one score: there may be more of them than a kernel counts pairs of."""
    seen, wrong = int(above[0]) + group, int(above[1]) + others
    precision, peak, points = np.zeros(LIMBS, np.int64), np.array([0.0, np.nan]), np.empty((0, 3))
    if group:
        term, f1 = weigh_group(group, seen, wrong, int(totals[0]))
        add_term(precision, term)
        peak[:] = f1, score
    reached: Ints = np.array([seen, wrong])
    if strides is not None and ((reached // strides > above // strides).any() or (reached == totals).all()):
        points = np.array([[score, seen, wrong]])
    pairs = group * (int(totals[1]) - wrong), group * others
    return Found(pairs, precision, peak, points, (0, 0))


def _pairs_left(scores: Scores, last: Last | None, times: int = 1) -> tuple[int, int]:
    """Count pairs of scores, each of several cells, with what last scores leave open."""
    pairs = np.zeros((2, 2), np.int64)
    if last is not None and times:
        sum_below(scores, last.scores, last.n_left, pairs)
    below, level = as_integers(pairs)
    return below * times, level * times


def _total(found: Sequence[Found]) -> Found:
    """Add up what was found, best scores first."""
    precision, peak = np.zeros(LIMBS, np.int64), np.array([0.0, np.nan])
    for part in found:
        precision += part.precision
        carry(precision[None])
        if part.peak[0] > peak[0]:
            peak = part.peak
    return Found(
        _added(part.pairs for part in found),
        precision,
        peak,
        np.concatenate([np.empty((0, 3)), *(part.points for part in found)]),
        _added(part.open_pairs for part in found),
    )


def _added(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    one, other = 0, 0
    for a, b in pairs:
        one, other = one + a, other + b
    return one, other


def as_integers(limbs: Ints) -> tuple[int, int]:
    """Return two sums of pairs, int64 (2, 2), as integers."""
    one, other = ((int(high) << HALF) + int(low) for high, low in limbs)
    return one, other


class Columns(NamedTuple):
    """Sorted scores of consecutive labels: int64 (n + 1,), (s,), rising within each label."""

    ptr: Ints
    scores: Scores


class LabelCurves(NamedTuple):
    """What is found of every label, float64 (n,) or (n, 2); see `kernels.runs.sweep_labels`."""

    pairs: Floats
    precision: Floats
    peak: Floats


def sweep_columns(
    relevant: Sequence[Pile],
    irrelevant: Pile,
    n_labels: int,
    n_cells: Ints | None,
    level: float | None,
    work: Work,
) -> LabelCurves:
    """Walk down the scores of every label.

    Parameters
    ----------
    relevant : sequence of Pile
        Keys of relevant cells, in several piles.
    irrelevant : Pile
        Keys of irrelevant cells.
    n_labels : int
        Number of labels.
    n_cells : int64 (n_labels, 2) or None
        Relevant and irrelevant cells of every label; None where only those with a score count.
    level : float or None
        Score of the cells without one; None where they stand below everything.
    work : Work
        Memory and threads to use.
    """
    found = LabelCurves(np.empty((n_labels, 2)), np.empty(n_labels), np.empty((n_labels, 2)))
    place = np.nan if level is None else level

    def count(start: int, stop: int, good: Columns, bad: Columns) -> None:
        n_listed = np.stack([np.diff(good.ptr), np.diff(bad.ptr)], axis=1)
        in_order = _sort_where_that_pays(n_listed, bad)
        own = LabelCurves(*(array[start:stop] for array in found))
        n_unlisted = np.zeros_like(n_listed) if n_cells is None else n_cells[start:stop] - n_listed
        sweep_labels(*good, *bad, in_order, n_unlisted, place, *own)

    _over_labels(relevant, [irrelevant], n_labels, count, work, sort_other=False)
    return found


def open_columns(relevant: Pile, taken: Sequence[Pile], last: Scores, n_labels: int, work: Work) -> Floats:
    """Count, for every label, pairs of a relevant score with a last score below it, and level, (n, 2).

    ``taken`` are the last scores of the rows that do not count for a label.
    """
    pairs = np.zeros((n_labels, 2))

    def count(start: int, stop: int, good: Columns, gone: Columns) -> None:
        sum_labels_below(*good, *gone, last, pairs[start:stop])

    _over_labels([relevant], taken, n_labels, count, work)
    return pairs


def _over_labels(
    one: Sequence[Pile],
    other: Sequence[Pile],
    n_labels: int,
    count: Callable[[int, int, Columns, Columns], None],
    work: Work,
    sort_other: bool = True,
) -> None:
    """Call a function with ranges of labels and the scores that two groups of piles have for them.

    Scores rise within each label; those of the other group need not, where nobody asks.
    """
    piles = [*one, *other]
    dtype = common_dtype(piles, np.int64)
    cuts = np.unique(sampled_quantiles(piles, work.n_ranges(piles)).astype(np.int64))
    cuts = cuts[cuts > 0]
    bounds = [0, *cuts.tolist(), n_labels]
    ranges = Ranges(piles, before_label(cuts, dtype), work.map)
    groups = range(len(one)), range(len(one), len(piles))

    def task(number: int) -> None:
        start, stop = bounds[number], bounds[number + 1]
        good = _columns(ranges.load_all(groups[0], 2 * number), start, stop)
        if sort_other:
            bad = _columns(ranges.load_all(groups[1], 2 * number), start, stop)
        else:
            keys = ranges.load(len(one), 2 * number, in_order=False)
            bad = _grouped(keys, start, stop)
        count(start, stop, good, bad)

    work.map(task, range(len(bounds) - 1))


def _sort_where_that_pays(n_listed: Ints, bad: Columns) -> Bools:
    """Sort the scores of labels for which counting through them for each relevant one would cost more."""
    n_good, n_bad = n_listed.T
    in_order: Bools = n_good * n_bad > SORTED_FROM + SORTED_PER_SCORE * n_bad
    for label in np.flatnonzero(in_order):
        bad.scores[bad.ptr[label] : bad.ptr[label + 1]].sort()
    return in_order


def _grouped(keys: Keys, start: int, stop: int) -> Columns:
    """Return the scores of keys by label, in any order within each."""
    ptr = np.empty(stop - start + 1, np.int64)
    if keys.dtype == np.int64:
        bits: Any = np.empty(keys.size, np.int32)
        group_keys(keys, start, ptr, bits)
        return Columns(ptr, bits.view(np.float32))
    scores = np.empty(keys.size, np.float64)
    group_pairs(keys.view(np.float64).reshape(-1, 2), start, ptr, scores)
    return Columns(ptr, scores)


def _columns(keys: Keys, start: int, stop: int) -> Columns:
    ptr: Ints = np.searchsorted(label_of(keys), np.arange(start, stop + 1))
    return Columns(ptr, score_of(keys))
