"""Measures of predictions, from the labels' numbers of predicted slots and training rows.

A slot is a place in a predicted set or in the first k labels of a list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.base.budget import Resources
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import LARGE_UNIT, scaled_sum
from xmleval.states.label_table import LABELS_AT_A_TIME, LabelTable
from xmleval.states.plan import Plan
from xmleval.view.facts import Spread
from xmleval.view.setting import Setting

# tables of measures
SPREAD = "spread"
SLOTS = "slots"
KINDS = (SPREAD, SLOTS)
Settings = Sequence[tuple[Spec, Setting]]


class Sums(NamedTuple):
    """Sums over some labels, from which the values of all measures are computed.

    spread : distinct numbers of slots, in `LARGE_UNIT`, and how many labels have each
    weighted : for each measure over slots, the exact sum of the values of slots
    n_slots : exact number of slots, in the same units; 0 if no measure reads it
    """

    spread: Spread
    weighted: list[int]
    n_slots: int


def slot_values(
    specs: Sequence[Spec], table: LabelTable, plan: Plan, resources: Resources
) -> dict[str, float]:
    """Return the values of measures of predictions."""
    if not specs:
        return {}
    settings = [(spec, plan.setting(spec)) for spec in specs]
    propensity = plan.propensity
    counts = propensity.counts if propensity else None
    table.join()

    def sum_range(start: int) -> Sums:
        stop = min(start + LABELS_AT_A_TIME, table.n_labels)
        n_trained = None if counts is None else counts[start:stop]
        return _sum_labels(settings, table.n_pred(start, stop), n_trained)

    pieces = resources.map(sum_range, range(0, table.n_labels, LABELS_AT_A_TIME))
    return _compute_values(settings, _join_sums(pieces))


def _sum_labels(settings: Settings, n_slots: Floats, n_trained: Labels | None) -> Sums:
    """Return the sums over a range of labels.

    n_slots : number of predicted slots of each
    n_trained : number of training rows of each, None if no measure reads it
    """
    spread = Spread(np.empty(0), np.empty(0, np.int64))
    if any(spec.metric.table == SPREAD for spec, _ in settings):
        values, n_labels = _count_distinct(n_slots)
        spread = Spread(values / LARGE_UNIT, n_labels)
    is_predicted = n_slots > 0.0
    n_slots = n_slots[is_predicted] / LARGE_UNIT
    weighted = []
    for spec, setting in settings:
        if spec.metric.table == SLOTS:
            assert n_trained is not None
            values = spec.metric.value(n_trained[is_predicted], setting)
            weighted.append(scaled_sum(n_slots, values.astype(np.int64)))
    return Sums(spread, weighted, scaled_sum(n_slots) if weighted else 0)


def _count_distinct(n_slots: Floats) -> Spread:
    """Return the distinct numbers of slots, ascending, and how many labels have each."""
    n_whole = n_slots.astype(np.int64)
    if n_slots.max(initial=0.0) > n_slots.size or (n_whole != n_slots).any():
        return Spread(*np.unique(n_slots, return_counts=True))
    n_labels = np.bincount(n_whole)  # small integers: faster
    values = np.flatnonzero(n_labels)
    return Spread(values.astype(np.float64), n_labels[values])


def _join_sums(pieces: Sequence[Sums]) -> Sums:
    """Return the sums over all labels."""
    values = np.concatenate([piece.spread[0] for piece in pieces])
    n_labels = np.concatenate([piece.spread[1] for piece in pieces])
    values, places = np.unique(values, return_inverse=True)
    n_joined: Ints = np.zeros(values.size, np.int64)
    np.add.at(n_joined, places, n_labels)
    weighted = [sum(column) for column in zip(*(piece.weighted for piece in pieces), strict=True)]
    return Sums(Spread(values, n_joined), weighted, sum(piece.n_slots for piece in pieces))


def _compute_values(settings: Settings, sums: Sums) -> dict[str, float]:
    """Return the values of the measures."""
    values = {}
    weighted = iter(sums.weighted)
    for spec, setting in settings:
        if spec.metric.table == SPREAD:
            values[spec.name] = spec.metric.value(sums.spread, setting)
        else:
            total = next(weighted)
            values[spec.name] = total / sums.n_slots if sums.n_slots else math.nan
    return values
