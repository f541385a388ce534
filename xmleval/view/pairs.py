"""Pairs of a probability and whether the label is relevant, for the first labels of rows."""

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

    scores : float64 (p,); narrow : whether they are float32 scores of the input; hits : bool (p,),
        whether the label is relevant
    tiers : uint8 (p,), number of the first cutoff with the entry; rows : int64 (p,)
    level : score of unlisted labels; n_unlisted, n_relevant : int64 (cutoffs, n), how many unlisted
        labels each cutoff adds in each row, and how many relevant ones; None if they have no score
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
    """Return 1 / (1 + exp(-x)) for each x, float64 (n,), with the same bits on every processor."""
    out = np.empty(values.size)
    write_sigmoid(values, out)
    return out


def log_losses(view: View, link: str, lowest: float, highest: float) -> Floats:
    """Return the sums of `kernels.calibrating.limited_loss` over labels, by row, float64 (n,)."""
    ranking = view.ranking
    n_listed = row_sizes(view.ranking.ptr)
    assert ranking.scores is not None
    level = np.zeros(1)
    scores = ranking.scores.astype(np.float64)
    if view.unlisted is not None:
        level = np.array([as_score(view.unlisted, ranking.scores)])
    if link == "sigmoid":
        scores = sigmoid(scores)
        if view.unlisted is not None:
            level = sigmoid(level)
    hits = view.relevant_entries
    losses = np.empty(view.n_rows)
    sum_log_losses(ranking.ptr, scores, hits, lowest, highest, losses)
    n_hits_before = np.concatenate([[0], np.cumsum(hits)])
    n_hits = np.diff(n_hits_before[ranking.ptr])
    n_unlisted_relevant = view.n_relevant - n_hits
    n_unlisted_irrelevant = view.n_cells - n_listed - n_unlisted_relevant
    for n, is_relevant in ((n_unlisted_relevant, True), (n_unlisted_irrelevant, False)):
        losses += n * limited_loss(float(level[0]), is_relevant, lowest, highest)
    return losses


def pairs_of(view: View, cutoffs: Cutoffs, link: str) -> Pairs:
    """Return the pairs of a block; ``link`` is the convention."""
    ranking = view.ranking
    unlisted = view.unlisted
    n_rows = view.n_rows
    assert ranking.scores is not None
    n_listed = row_sizes(ranking.ptr)
    flags = view.relevant_entries
    n_ranked_unlisted: Ints = np.zeros(n_rows, np.int64)
    if unlisted is not None:
        n_ranked_unlisted = view.n_cells - n_listed
    sizes: Ints = np.empty((len(cutoffs), n_rows), np.int64)
    for row_lengths, k in zip(sizes, cutoffs, strict=True):
        if k is None:
            row_lengths[:] = n_listed + n_ranked_unlisted
        else:
            row_lengths[:] = view.predicted(top(k)).cut
    tiers = np.empty(flags.size, np.uint8)
    hits = np.zeros(sizes.shape, np.int64)
    find_tiers(ranking.ptr, flags, ranking.n_above, n_ranked_unlisted, sizes, tiers, hits)
    n_unlisted = None
    n_relevant = None
    level = np.zeros(1)
    if unlisted is not None:
        n_within = np.clip(sizes - ranking.n_above, 0, n_ranked_unlisted)
        n_unlisted = np.diff(n_within, axis=0, prepend=0)
        n_hits = np.array([_count_hits(view, k) for k in cutoffs])
        n_relevant = np.diff(n_hits - hits, axis=0, prepend=0)
        level = np.array([as_score(unlisted, ranking.scores)])
    scores = ranking.scores.astype(np.float64)
    if link == "sigmoid":
        scores = sigmoid(scores)
        level = sigmoid(level)
    narrow = link == "none" and ranking.scores.dtype == np.float32
    rows = np.repeat(np.arange(n_rows), n_listed)
    return Pairs(scores, narrow, flags, tiers, rows, float(level[0]), n_unlisted, n_relevant)


def _count_hits(view: View, k: int | None) -> Ints:
    """Return the number of relevant labels among the first k, or among all, of every row."""
    if k is None:
        return view.n_relevant
    _, n_hits = view.hits(top(k))
    return n_hits
