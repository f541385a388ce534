"""A tiny block on which a formula of rows is tried when its measure is defined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.base.conventions import Conventions
from xmleval.input.canonical import RankedRows, Truth
from xmleval.input.rows import pointer
from xmleval.view.block import Block, Hierarchy
from xmleval.view.block_rows import BlockRows
from xmleval.view.decision import top
from xmleval.view.facts import Counts, Curve, Profile
from xmleval.view.setting import Setting
from xmleval.view.view import View

Lists = Sequence[Sequence[int]]
N_LABELS = 6
RELEVANT: Lists = ([0, 2, 5], [1], [], [3, 4])
LISTED: Lists = ([2, 1, 0, 4], [1, 5], [3, 6], [])  # best first; 6 is an unknown label
SCORES: Sequence[Sequence[float]] = ([0.9, 0.5, 0.5, 0.25], [0.75, 0.125], [0.5, 0.25], [])
EDGES = ((0, 2), (1, 2), (3, 5))  # of children to parents


def example_rows(
    k: int | None = None,
    params: Mapping[str, float] = MappingProxyType({}),
    label_data: Iterable[str] = (),
    row_data: Iterable[str] = (),
) -> BlockRows:
    """Return four rows of six labels, on which a formula can be tried.

    One row has no relevant labels, one lists nothing, and one lists an unknown label. Measures are
    tried on these rows when they are defined.

    Parameters
    ----------
    k : int, optional
        Cutoff.
    params : dict of str to float, optional
        Parameters.
    label_data, row_data : iterable of str, optional
        Names of data by label and by row, which are numbers between 0 and 1.

    Examples
    --------
    >>> rows = xmleval.testing.example_rows(k=2)
    >>> (rows.listed.sum_by_row(rows.hits) / rows.k).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    data = {name: some_numbers(len(RELEVANT)) for name in row_data}
    ptr, labels = _flat(LISTED)
    scores = np.concatenate(SCORES)
    block = Block(
        truth=Truth(*_flat(RELEVANT)),
        ranking=RankedRows(ptr, labels, scores, np.diff(ptr)),
        pred=None,
        weight=None,
        first_row=0,
        unknown=True,
        row_data=data,
    )
    setting = trial_setting(k, params, label_data)
    return BlockRows(View(block, N_LABELS, None), setting, top(k or 2), _hierarchy(), tuple(data))


def trial_setting(k: int | None, params: Mapping[str, float], label_data: Iterable[str]) -> Setting:
    """Return settings for six labels, with some inverse propensities and data by label."""
    return Setting(
        k,
        dict(params),
        Conventions(),
        N_LABELS,
        propensity=1.0 + some_numbers(N_LABELS),
        label_data={name: some_numbers(N_LABELS) for name in label_data},
    )


def trial_facts(state: str) -> tuple[Any, ...]:
    """Return what a formula of a state receives before the setting, for four labels or groups."""
    ones = np.ones(4)
    counts = np.array([2, 3, 0, 5])
    if state == "label_totals":
        return (Counts(tp=1.0 * counts, fp=ones, fn=ones - 1.0, tn=3 * ones),)
    if state == "score_runs":
        n = np.array([4, 3, 2, 1])
        return (Curve(n, n, n, n - 1, precision=ones, peak=ones / 2, threshold=ones / 2),)
    hits = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    profile = Profile(counts, 1.0 * counts, hits, gains=2 * hits, ideals=3 * hits)
    return hits, profile


def some_numbers(n: int) -> Floats:
    """Return numbers between 0 and 1."""
    return (1.0 + np.arange(n)) / (n + 1)


def _flat(rows: Iterable[Iterable[int]]) -> tuple[Ints, Labels]:
    """Return rows as a row pointer and labels."""
    lists = [[*row] for row in rows]
    labels = np.array([label for row in lists for label in row], np.int32)
    return pointer([len(row) for row in lists]), labels


def _hierarchy() -> Hierarchy:
    """Return labels with some ancestors."""
    parents = dict(EDGES)
    ancestors = [[label] for label in range(N_LABELS)]
    for child, parent in parents.items():
        ancestors[child].append(parent)
    ptr, labels = _flat(ancestors)
    return Hierarchy(ptr, labels, N_LABELS, np.array(EDGES), "", None, N_LABELS)
