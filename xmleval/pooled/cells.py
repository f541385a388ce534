"""Pair counts of all entries, which do not need all scores sorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmleval.kernels.bands import count_bands, gather_band
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.sweeps import count_pairs
from xmleval.pooled.bands import Banded
from xmleval.pooled.curves import Found, Unlisted, added, as_integers, n_groups
from xmleval.pooled.piles import Pile, as_keys, common_dtype
from xmleval.pooled.spill import Keys
from xmleval.records import Ints, Scores
from xmleval.threads import Work

MOST = 1 << 31  # scores whose pairs kernels can count
TASKS = 8  # tasks per thread, each a range of bands
SPARSE = 4  # float32 numbers per score from which sorting is faster than a table of them


def count_cells(relevant: Pile, irrelevant: Pile, unlisted: Unlisted, work: Work) -> Found | None:
    """Count pairs of all entries; None if a sweep must count them.

    That is if scores are spilled, too many or of several dtypes, or the relevant ones take much memory.

    Parameters
    ----------
    relevant, irrelevant : Pile
        Scores of entries.
    unlisted : Unlisted
        The unlisted entries.
    work : Work
        Memory and threads to use.
    """
    held = [part for pile in (relevant, irrelevant) for part in pile.held()]
    few = max(relevant.size, irrelevant.size) < MOST and relevant.n_bytes <= work.budget.counted
    all_held = few and not (relevant.runs or irrelevant.runs)
    arrays = {id(part.scores) if isinstance(part, Banded) else None for part in held}
    in_bands = all_held and len(arrays) == 1 and arrays != {None}
    if not in_bands:
        relevant.ungroup()
        irrelevant.ungroup()
    dtype = common_dtype([relevant, irrelevant], np.float64)
    if not all_held or any(part.dtype != dtype for part in held):
        return None
    if not (relevant.size and irrelevant.size):
        pairs = 0, 0
    elif in_bands:
        pairs = _count_in_bands(relevant.held(), irrelevant.held(), work)
    else:
        pairs = _count_in_order(relevant, irrelevant, work)
    right, level = pairs
    # pairs of a listed and an unlisted entry, and of two unlisted ones
    good_below, good_level = _around(relevant, unlisted.level, work)
    bad_below, bad_level = _around(irrelevant, unlisted.level, work)
    good_above = relevant.size - good_below - good_level
    right += unlisted.relevant * bad_below + unlisted.irrelevant * good_above
    level += unlisted.relevant * bad_level + unlisted.irrelevant * good_level
    level += unlisted.relevant * unlisted.irrelevant
    nothing = np.zeros(LIMBS, np.int64), np.full(2, np.nan), np.empty((0, 3))
    return Found((right, level), *nothing, (0, 0))


def _around(pile: Pile, level: float | None, work: Work) -> tuple[int, int]:
    """Return the numbers of scores below and tied with the unlisted score."""
    if level is None:
        return 0, 0
    held = pile.held()

    def count(number: int) -> tuple[int, int]:
        part = held[number]
        score = part.dtype.type(level)
        return added((int((keys < score).sum()), int((keys == score).sum())) for keys in as_keys(part))

    return added(work.map(count, range(len(held))))


def _count_in_order(relevant: Pile, irrelevant: Pile, work: Work) -> tuple[int, int]:
    """Count pairs of sorted scores, in parts of the irrelevant ones."""

    def in_order(arrays: list[Keys]) -> Scores:
        keys = arrays[0] if work.last and len(arrays) == 1 else np.concatenate(arrays)
        keys.sort()
        return keys

    good_groups = _in_groups(relevant, work.threads)
    good = work.map(lambda number: in_order(good_groups[number]), range(len(good_groups)))
    bad_groups = _in_groups(irrelevant, n_groups([relevant, irrelevant], work))

    def count(number: int) -> tuple[int, int]:
        bad = in_order(bad_groups[number])
        pairs = np.zeros((2, 2), np.int64)
        for scores in good:
            count_pairs(scores, bad, pairs)
        return as_integers(pairs)

    return added(work.map(count, range(len(bad_groups))))


def _in_groups(pile: Pile, most: int) -> list[list[Keys]]:
    """Return the arrays of a pile in at most ``most`` groups."""
    held = pile.held()
    return [held[number::most] for number in range(min(len(held), most))]


def _count_in_bands(relevant: Sequence[Banded], irrelevant: Sequence[Banded], work: Work) -> tuple[int, int]:
    """Count pairs of scores in one array band by band; dense bands by a table of their numbers."""
    bands, scores = irrelevant[0].bands, irrelevant[0].scores
    good, bad = (np.concatenate([part.starts for part in parts]) for parts in (relevant, irrelevant))
    n_good, n_bad = (np.diff(starts, axis=1).sum(axis=0) for starts in (good, bad))
    both = (n_good > 0) & (n_bad > 0)
    n_numbers, most = np.diff(bands.first), work.budget.swept(work.threads)  # scores at a time
    dense = (n_numbers <= SPARSE * (n_good + n_bad)) & (n_numbers <= most)
    reached = np.cumsum(n_good + n_bad)
    shares = reached[-1] * np.arange(1, TASKS * work.threads) // (TASKS * work.threads)
    ends = [0, *np.searchsorted(reached, shares).tolist(), both.size]
    sparse = np.flatnonzero(both & ~dense).tolist()

    def count(task: int) -> tuple[int, int]:
        if task < len(sparse):
            band, pairs = sparse[task], np.zeros((2, 2), np.int64)
            ordered = _sorted(scores, good, band)
            groups = (bad[:, band + 1] - bad[:, band]).cumsum() // most
            for starts in np.split(bad, np.flatnonzero(np.diff(groups)) + 1):
                count_pairs(ordered, _sorted(scores, starts, band), pairs)
            return as_integers(pairs)
        begin, end = ends[task - len(sparse) :][:2]
        sums = np.zeros(2, np.int64)
        count_bands(scores.view(np.int32), good, bad, begin, end, bands.first, both & dense, sums)
        below, up_to = sums.tolist()
        return below, up_to - below

    right, level = added(work.map(count, range(len(sparse) + len(ends) - 1)))
    n_lower = np.cumsum(n_bad) - n_bad
    return right + sum(a * b for a, b in zip(n_good.tolist(), n_lower.tolist(), strict=True)), level


def _sorted(scores: Scores, starts: Ints, band: int) -> Scores:
    """Return the scores of a band, ascending."""
    found = np.empty(int((starts[:, band + 1] - starts[:, band]).sum()), scores.dtype)
    gather_band(scores, starts, band, found)
    found.sort()
    return found
