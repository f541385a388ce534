"""Entries of rows, best first: sorted or picked, cut to a depth, ties in order."""

from __future__ import annotations

import numpy as np

from xmleval.kernels.ranking import (
    copy_heads,
    count_leading,
    count_reaching,
    head_pointer,
    rank_rows,
    select_heads,
)
from xmleval.kernels.ties import (
    collect_cut_ties,
    count_cut_ties,
    flag_cut_ties,
    has_equal_neighbours,
)
from xmleval.records import (
    Bools,
    Ints,
    Labels,
    Ranking,
    Scores,
    Truth,
    as_score,
    row_sizes,
)

SELECTED = 32  # depth up to which keeping the best of a row beats sorting it
SHALLOW = 18  # depth up to which it also beats counting what is above each relevant label of a row


def picks(depth: int | None, ordered: bool) -> bool:
    """Tell whether the best few of a row are picked, in order even where that is not asked for."""
    return depth is not None and depth <= (SELECTED if ordered else SHALLOW)


def rank_entries(entries: Ranking, level: float | None, depth: int | None, ordered: bool) -> Ranking:
    """Rank entries whose ids rise within each row, where unlisted labels have the score ``level``, if any."""
    ptr, labels, scores = entries.ptr, entries.labels, entries.scores
    assert scores is not None
    if picks(depth, ordered):
        assert depth is not None
        head_ptr = head_pointer(ptr, depth)
        heads, head_scores = np.empty(head_ptr[-1], labels.dtype), np.empty(head_ptr[-1], scores.dtype)
        tied = np.empty(ptr.size - 1, np.bool_)
        select_heads(ptr, labels, scores, head_ptr, heads, head_scores, tied)
        cut_ties = _cut_ties(ptr, labels, scores, head_ptr, head_scores, tied)
        best = entries._replace(ptr=head_ptr, labels=heads, scores=head_scores, cut_ties=cut_ties)
        return with_level(best._replace(n_above=row_sizes(head_ptr)), level)
    if ordered:
        labels, scores = labels.copy(), scores.copy()
        rank_rows(ptr, labels, scores)
        return with_level(entries._replace(labels=labels, scores=scores), level, depth)
    n_above = row_sizes(ptr)
    if level is not None:
        count_reaching(ptr, scores, as_score(level, scores), n_above)
    return entries._replace(n_above=n_above, ordered=False)


def with_level(ranking: Ranking, level: float | None, depth: int | None = None) -> Ranking:
    """Cut to the depth, and find where the unlisted labels stand: behind listed ones of their own score."""
    if level is not None and ranking.scores is not None:
        n_above = np.empty_like(ranking.n_above)
        count_leading(ranking.ptr, ranking.scores, as_score(level, ranking.scores), True, n_above)
        ranking = ranking._replace(n_above=n_above)
    return ranking if depth is None else cut_heads(ranking, depth)


def cut_heads(ranking: Ranking, depth: int) -> Ranking:
    """Return the first ``depth`` entries of rows that are in order; the ranking itself if that is all."""
    ptr, labels, scores = ranking.ptr, ranking.labels, ranking.scores
    head_ptr = head_pointer(ptr, depth)
    if head_ptr[-1] == ptr[-1]:
        return ranking
    heads, head_scores, cut_ties = np.empty(head_ptr[-1], labels.dtype), None, None
    copy_heads(ptr, labels, head_ptr, heads)
    if scores is not None:
        head_scores = np.empty(head_ptr[-1], scores.dtype)
        copy_heads(ptr, scores, head_ptr, head_scores)
        if has_equal_neighbours(scores):
            tied = np.empty(ptr.size - 1, np.bool_)
            flag_cut_ties(ptr, scores, head_ptr, tied)
            cut_ties = _cut_ties(ptr, labels, scores, head_ptr, head_scores, tied)
    n_above = np.minimum(ranking.n_above, row_sizes(head_ptr))
    return ranking._replace(
        ptr=head_ptr, labels=heads, scores=head_scores, n_above=n_above, cut_ties=cut_ties
    )


def append_cut_ties(ranking: Ranking) -> Ranking:
    """Return rows that end with all labels of their last score, so that labels may be taken out of them."""
    cut, scores = ranking.cut_ties, ranking.scores
    if cut is None or scores is None:
        return ranking
    sizes, ends = row_sizes(cut.ptr), ranking.ptr[1:]
    places = np.repeat(ends, sizes)
    labels = np.insert(ranking.labels, places, cut.labels)
    scores = np.insert(scores, places, np.repeat(scores[ends - 1], sizes))
    ptr = ranking.ptr + cut.ptr
    return ranking._replace(ptr=ptr, labels=labels, scores=scores, n_above=row_sizes(ptr), cut_ties=None)


def _cut_ties(
    ptr: Ints, labels: Labels, scores: Scores, head_ptr: Ints, heads: Scores, tied: Bools
) -> Truth | None:
    """Return the labels of flagged rows that were cut and tie with the last one kept, None without any."""
    if not tied.any():
        return None
    cut_ptr = np.empty(ptr.size, np.int64)
    count_cut_ties(ptr, scores, head_ptr, heads, tied, cut_ptr)
    cut = np.empty(cut_ptr[-1], labels.dtype)
    collect_cut_ties(ptr, labels, scores, head_ptr, heads, cut_ptr, cut)
    return Truth(cut_ptr, cut)
