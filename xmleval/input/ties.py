"""The order of labels with names and equal scores: the later name is first, as in trec_eval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.records import Ints, Labels, Scores, label_dtype


class NamedColumns(NamedTuple):
    """A dense matrix of scores whose columns are labels in an order of their own.

    columns : int64 (l,), the columns of the matrix in the order in which equal scores rank
    labels : (l,), label id of each of them
    """

    matrix: Scores
    columns: Ints
    labels: Labels


def places_of(names: Sequence[str]) -> Ints:
    """Return the place of each name among all, the last name first."""
    order = sorted(range(len(names)), key=names.__getitem__, reverse=True)
    places = np.empty(len(names), np.int64)
    places[order] = np.arange(len(names))
    return places


def tie_order(names: Sequence[object] | None, unlisted: float | None, n_labels: int) -> Labels | None:
    """Return the place of each label among unlisted ones, None where they do not compete or have no names."""
    if unlisted is None or names is None:
        return None
    texts = [name for name in names if isinstance(name, str)]
    return places_of(texts).astype(label_dtype(n_labels)) if len(texts) == n_labels else None


def order_ties(ptr: Ints, labels: Labels, scores: Scores, names: Sequence[str]) -> Labels:
    """Return the labels of rows, of which those with equal scores stand in the order of their names.

    ptr : int64 (n + 1,); labels, scores : (s,), as they were written; names : the name of each label
    """
    rows = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    order = np.lexsort((scores, rows))
    same = (np.diff(rows[order]) == 0) & (scores[order[1:]] == scores[order[:-1]])
    if not same.any():
        return labels
    tied = np.append(same, False) | np.append(False, same)
    group = np.cumsum(np.append(True, ~same))[tied]
    places = order[tied]  # the sort is stable: they rise within a group
    known, own = np.unique(labels[places], return_inverse=True)
    rank = places_of([names[label] for label in known.tolist()])[own]
    ordered = labels.copy()
    ordered[places] = labels[places][np.lexsort((rank, group))]
    return ordered
