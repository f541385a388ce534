"""The order of labels with names and equal scores: the later name is first, as in trec_eval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmleval.base.arrays import Ints, Labels, Scores
from xmleval.base.cached import cached


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """A dense matrix of scores whose columns are labels by name, in the order of equal scores.

    matrix : (m, l); labels : (l,), label id of each column
    """

    matrix: Scores
    labels: Labels


class LabelNames(list[Any]):
    """Names of labels, put in order once."""

    @cached
    def places(self) -> Ints:
        """The place of each name among all, the last name first, as text."""
        return name_places([*self])


def name_places(names: Sequence[object]) -> Ints:
    """Return the place of each name among all, the last name first, as text."""
    if isinstance(names, LabelNames):
        return names.places
    order = sorted(range(len(names)), key=[*map(str, names)].__getitem__, reverse=True)
    places = np.empty(len(names), np.int64)
    places[order] = np.arange(len(names))
    return places


def order_ties(ptr: Ints, labels: Labels, scores: Scores, names: Sequence[str]) -> Labels:
    """Return the labels of rows, of which those with equal scores stand in the order of their names.

    ptr : int64 (n + 1,); labels, scores : (s,), as they were written; names : the name of each label
    """
    from xmleval.kernels.ranking import rank_rows  # imports Numba, which start-up does not need

    places, ranked_scores = np.arange(labels.size), scores.astype(np.float64)
    rank_rows(ptr, places, ranked_scores)
    rows = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    same = (ranked_scores[1:] == ranked_scores[:-1]) & (rows[1:] == rows[:-1])
    if not same.any():
        return labels
    tied = np.append(same, False) | np.append(False, same)
    places, groups = places[tied], np.append(0, np.cumsum(~same))[tied]  # which the sort leaves as written
    ordered = labels.copy()
    ordered[places] = labels[places][np.lexsort((name_places(names)[labels[places]], groups))]
    return ordered
