"""Pairs: scores of the first labels of each row as probabilities, and whether each label is relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bools, Bytes, Floats, Ints, Scores, as_score, row_sizes
from xmleval.kernels.calibrating import find_tiers, limited_loss, sum_log_losses, write_sigmoid
from xmleval.view.decision import top
from xmleval.view.view import View

Cutoffs = Sequence[int | None]  # ascending; None, of all entries, last


class Pairs(NamedTuple):
    """Listed entries of a block, and unlisted ones where they have a score.

    scores : float64 (p,); narrow : whether they were given as float32; hits : bool (p,), whether relevant
    tiers : uint8 (p,), number of the first cutoff with the entry; rows : int64 (p,)
    level : score of unlisted labels; n_unlisted, n_relevant : int64 (cutoffs, n), how many of them each
        cutoff adds in each row, and how many relevant ones; None if they have no score
    """

    scores: Floats
    narrow: bool
    hits: Bools
    tiers: Bytes
    rows: Ints
    level: float
    n_unlisted: Ints | None
    n_relevant: Ints | None


def sigmoid(values: Scores) -> Floats:
    """Return 1 / (1 + exp(-x)) of each value, the same bits on every processor; float64 (n,)."""
    out = np.empty(values.size)
    write_sigmoid(values, out)
    return out


def log_losses(view: View, link: str, lowest: float, highest: float) -> Floats:
    """Return the sum over all labels of each row of `kernels.calibrating.limited_loss`; float64 (n,)."""
    ranking, n_listed = view.ranking, row_sizes(view.ranking.ptr)
    assert ranking.scores is not None
    level, scores = np.zeros(1), ranking.scores.astype(np.float64)
    if link == "sigmoid":
        scores = sigmoid(scores)
    if view.unlisted is not None:
        level = np.array([as_score(view.unlisted, ranking.scores)])
        level = sigmoid(level) if link == "sigmoid" else level
    hits, losses = view.relevant_entries, np.empty(view.n_rows)
    sum_log_losses(ranking.ptr, scores, hits, lowest, highest, losses)
    n_hits = np.diff(np.concatenate([[0], np.cumsum(hits)])[ranking.ptr])
    n_missed = view.n_relevant - n_hits
    n_others = view.n_labels - n_listed - n_missed
    for n, hit in ((n_missed, True), (n_others, False)):
        losses += n * limited_loss(float(level[0]), hit, lowest, highest)
    return losses


def pairs_of(view: View, cutoffs: Cutoffs, link: str) -> Pairs:
    """Return the pairs of a block; ``link`` is the convention."""
    ranking, unlisted, n_rows = view.ranking, view.unlisted, view.n_rows
    assert ranking.scores is not None
    n_listed, flags = row_sizes(ranking.ptr), view.relevant_entries
    n_below = np.zeros(n_rows, np.int64) if unlisted is None else view.n_labels - n_listed
    sizes: Ints = np.empty((len(cutoffs), n_rows), np.int64)
    for size, k in zip(sizes, cutoffs, strict=True):
        size[:] = n_listed + n_below if k is None else view.predicted(top(k)).cut
    tiers, hits = np.empty(flags.size, np.uint8), np.zeros(sizes.shape, np.int64)
    find_tiers(ranking.ptr, flags, ranking.n_above, n_below, sizes, tiers, hits)
    n_unlisted, n_relevant, level = None, None, np.zeros(1)
    if unlisted is not None:
        n_hits = [view.n_relevant if k is None else view.hits(top(k))[1] for k in cutoffs]
        n_unlisted, n_relevant = (
            np.diff(counts, axis=0, prepend=0)
            for counts in (np.clip(sizes - ranking.n_above, 0, n_below), np.array(n_hits) - hits)
        )
        level = np.array([as_score(unlisted, ranking.scores)])
    scores = ranking.scores.astype(np.float64)
    if link == "sigmoid":
        scores, level = sigmoid(scores), sigmoid(level)
    narrow = link == "none" and ranking.scores.dtype == np.float32
    rows = np.repeat(np.arange(n_rows), n_listed)
    return Pairs(scores, narrow, flags, tiers, rows, float(level[0]), n_unlisted, n_relevant)
