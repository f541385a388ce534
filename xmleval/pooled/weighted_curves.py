"""Curves of weighted entries: of all together, and of each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.kernels.fixed import as_float
from xmleval.kernels.weight_sums import DIGIT, PRODUCTS, SUM, labels_fit, sums_before
from xmleval.kernels.weighted_sweeps import scale_of, sweep_labels, sweep_open, sweep_sums
from xmleval.pooled.curves import NOTHING, none_yet
from xmleval.pooled.weight_sums import ONE, KeySums, Ranges, as_units, by_word, from_units, merged
from xmleval.records import Floats, Ints
from xmleval.threads import Work

LEAST_RANGE = 1 << 14  # bytes


class Swept(NamedTuple):
    """Curve statistics of all weighted entries, the unit of weights being 1 / `ONE`.

    right, level : pairs in the right order, and tied; precision : weights times precision at their tie group,
    and areas; peak : largest F1 and its score, and best cuts; points : float64 (p, 3), see `sweep_sums`
    """

    right: int
    level: int
    precision: Floats
    peak: Floats
    points: Floats


def wanted_ranges(collections: Sequence[KeySums], work: Work) -> int:
    """Return the number of ranges to sweep: one in memory, for each thread, and so many that each fits."""
    if not any(sums.runs for sums in collections):
        return 1
    n_bytes = sum(run.size * run.dtype.itemsize for sums in collections for run in sums.runs)
    n_bytes += sum(sums.n_bytes for sums in collections)
    return -(-n_bytes // max(LEAST_RANGE, work.budget.sorted(work.threads) // 2))


def sweep_entries(
    relevant: Sequence[KeySums],
    irrelevant: Sequence[KeySums],
    totals: tuple[int, int],
    unlisted: int,
    unit: float,
    work: Work,
    n_points: int = 0,
    asked: Floats = NOTHING,
) -> Swept:
    """Sweep the scores of all entries, best first.

    Parameters
    ----------
    relevant, irrelevant : sequence of KeySums
        Weights by score, which are added up.
    totals : tuple of int
        Weights of all relevant and of all irrelevant entries, in units; the rest is unlisted.
    unlisted : int
        The key of unlisted entries.
    unit : float
        The weight that is held as 1.
    work : Work
        Memory and threads to use.
    n_points : int
        Number of points of the curve; 0 for none.
    asked : float64 (n, 2), optional
        What else is asked of the curve, see `kernels.sweeps.reach`.
    """
    groups = relevant, irrelevant
    listed = [sum(as_units(sums.total) for sums in group) for group in groups]
    without = np.stack([from_units(total - own) for total, own in zip(totals, listed, strict=True)])
    whole = np.stack([from_units(total) for total in totals])
    ranges = Ranges([*relevant, *irrelevant], wanted_ranges([*relevant, *irrelevant], work))
    numbers = range(len(relevant)), range(len(relevant), len(relevant) + len(irrelevant))
    seen, pairs = np.zeros((2, SUM), np.int64), np.zeros((2, PRODUCTS), np.int64)
    precision, peak = none_yet(asked)
    points: list[Floats] = []
    strides = np.array([2 * own / ONE * unit / max(n_points, 1) for own in listed])
    strides = np.where(strides < 1, strides, np.ceil(strides)) / unit
    strides = np.maximum(strides, np.finfo(np.float64).tiny)  # of unlisted entries alone, any weight passes
    scale = scale_of(unit * totals[0] / ONE, unit)
    for number in reversed(range(ranges.n)):
        good, bad = (merged([ranges.load(which, number) for which in group], 1) for group in numbers)
        extra = without if ranges.holds(number, unlisted) else np.zeros_like(without)
        own = np.empty((min(len(good) + len(bad) + 1, n_points + 8) if n_points else 0, 3))
        n = sweep_sums(
            good, bad, unlisted, extra, whole, seen, scale, asked, pairs, precision, peak, strides, own
        )  # fmt: skip
        points.append(own[:n])
    right, level = (sum(digit << DIGIT * place for place, digit in enumerate(own.tolist())) for own in pairs)
    found = np.concatenate(points)
    found[:, 1:] *= unit
    return Swept(right, level, np.array([as_float(own) for own in precision]) / scale * ONE, peak, found)


class LabelCurves(NamedTuple):
    """Curve statistics of weighted entries of every label, see `kernels.weighted_sweeps.sweep_labels`."""

    sums: Floats
    pairs: Floats
    precision: Floats
    peak: Floats


def sweep_columns(
    relevant: Sequence[KeySums],
    irrelevant: Sequence[KeySums],
    truth: KeySums,
    rows: Ints,
    n_labels: int,
    unlisted: int,
    unit: float,
    work: Work,
    asked: Floats = NOTHING,
) -> LabelCurves:
    """Sweep the scores of every label, best first.

    Parameters
    ----------
    relevant, irrelevant : sequence of KeySums
        Weights by label and score, which are added up.
    truth : KeySums
        Weights of relevant entries by label.
    rows : int64 (3,)
        Sum of the weights of all rows.
    n_labels : int
        Number of labels.
    unlisted : int
        The key of unlisted entries.
    unit : float
        The weight that is held as 1.
    work : Work
        Memory and threads to use.
    asked : float64 (n, 2), optional
        What else is asked of each curve, see `kernels.sweeps.reach`.
    """
    n, pairs = 1 + len(asked), (n_labels, 2)
    found = LabelCurves(np.empty(pairs), np.empty(pairs), np.empty((n_labels, n)), np.empty((n_labels, n, 2)))
    collections = [*relevant, *irrelevant, truth]
    ranges = Ranges(collections, max(wanted_ranges(collections, work), work.threads))
    bounds = [0, *ranges.cuts.tolist(), n_labels]
    split = len(relevant)

    def task(number: int) -> None:
        tables = [ranges.load(which, number) for which in range(len(collections))]
        good, bad = merged(tables[:split], 2), merged(tables[split:-1], 2)
        start, stop = bounds[number], bounds[number + 1]
        own = (array[start:stop] for array in found)
        sweep_labels(good, bad, tables[-1], rows, start, unlisted, unit, asked, *own)

    work.map(task, range(ranges.n))
    return found


def open_columns(
    relevant: KeySums,
    irrelevant: KeySums,
    gone: Sequence[KeySums],
    last: KeySums,
    n_labels: int,
    unit: float,
    work: Work,
) -> Floats:
    """Sum the weights of pairs of every label, (n, 2), see `kernels.weighted_sweeps.sweep_open`."""
    pairs = np.empty((n_labels, 2))
    collections = [relevant, irrelevant, *gone]
    ranges = Ranges(collections, max(wanted_ranges(collections, work), work.threads))
    bounds = [0, *ranges.cuts.tolist(), n_labels]
    lowest = Ranges([last], 1).load(0, 0)
    reached = np.empty((len(lowest) + 1, SUM), np.int64)
    sums_before(lowest, reached)

    def task(number: int) -> None:
        good, bad, *others = (ranges.load(which, number) for which in range(len(collections)))
        own = pairs[bounds[number] : bounds[number + 1]]
        sweep_open(good, bad, merged(others, 2), lowest, reached, bounds[number], unit, own)

    work.map(task, range(ranges.n))
    return pairs


def fits(relevant: KeySums, irrelevant: KeySums, truth: KeySums, rows: Ints, work: Work) -> bool:
    """Return whether no label has more listed than relevant or irrelevant entries."""
    collections = [relevant, irrelevant, truth]
    ranges = Ranges(collections, wanted_ranges(collections, work))
    for number in range(ranges.n):
        good, bad, true = (ranges.load(which, number) for which in range(3))
        if not labels_fit(good, bad, true, rows):
            return False
    return True


def same_sums(one: Sequence[KeySums], other: Sequence[KeySums], work: Work) -> bool:
    """Return whether the sums by first words are the same in two groups of collections."""
    collections, split = [*one, *other], len(one)
    ranges = Ranges(collections, wanted_ranges(collections, work))
    for number in range(ranges.n):
        tables = [by_word(ranges.load(which, number)) for which in range(len(collections))]
        if not np.array_equal(merged(tables[:split], 1), merged(tables[split:], 1)):
            return False
    return True
