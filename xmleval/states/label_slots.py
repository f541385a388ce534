"""Measures of what is predicted: of the number of predicted slots of each label, and of its training rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.base.budget import Resources
from xmleval.metrics import Setting
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import LARGE_UNIT, scaled_sum
from xmleval.states.label_table import LABELS_AT_A_TIME, LabelTable
from xmleval.states.plan import Plan
from xmleval.view.facts import Spread

SPREAD, SLOTS = "spread", "slots"  # tables of measures
KINDS = (SPREAD, SLOTS)
Settings = Sequence[tuple[Spec, Setting]]


class Sums(NamedTuple):
    """What the values of all measures are computed from; those of disjoint labels are joined.

    spread : distinct numbers of slots, in `LARGE_UNIT`, and how many labels have each
    weighted : for each measure over slots, the sum of the values of slots, exact
    n_slots : number of slots, in the same units
    """

    spread: Spread
    weighted: list[int]
    n_slots: int


def slot_values(
    specs: Sequence[Spec], table: LabelTable, plan: Plan, resources: Resources
) -> dict[str, float]:
    """Return the values of measures of what is predicted."""
    if not specs:
        return {}
    settings = [(spec, plan.setting(spec)) for spec in specs]
    counts = plan.propensity.counts if plan.propensity else None
    table.join()

    def sums_of(start: int) -> Sums:
        stop = min(start + LABELS_AT_A_TIME, table.n_labels)
        of_labels = None if counts is None else counts[start:stop]
        return _sums(settings, table.n_pred(start, stop), of_labels)

    return _values(settings, _joined(resources.map(sums_of, range(0, table.n_labels, LABELS_AT_A_TIME))))


def _sums(settings: Settings, n_slots: Floats, counts: Labels | None) -> Sums:
    """Return the sums of a range of labels.

    counts : number of training rows of each, None if no measure reads it
    """
    spread = Spread(np.empty(0), np.empty(0, np.int64))
    if any(spec.metric.table == SPREAD for spec, _ in settings):
        values, n_labels = _distinct(n_slots)
        spread = Spread(values / LARGE_UNIT, n_labels)
    predicted = n_slots > 0.0
    n_slots = n_slots[predicted] / LARGE_UNIT
    weighted = []
    for spec, setting in settings:
        if spec.metric.table == SLOTS:
            assert counts is not None
            weighted.append(
                scaled_sum(n_slots, spec.metric.value(counts[predicted], setting).astype(np.int64))
            )
    return Sums(spread, weighted, scaled_sum(n_slots) if weighted else 0)


def _distinct(n_slots: Floats) -> Spread:
    """Return the distinct numbers of slots and how many labels have each; small integers are tallied."""
    n_whole = n_slots.astype(np.int64)
    if n_slots.max(initial=0.0) > n_slots.size or (n_whole != n_slots).any():
        return Spread(*np.unique(n_slots, return_counts=True))
    n_labels = np.bincount(n_whole)
    values = np.flatnonzero(n_labels)
    return Spread(values.astype(np.float64), n_labels[values])


def _joined(pieces: Sequence[Sums]) -> Sums:
    values, n_labels = (np.concatenate(columns) for columns in zip(*(p.spread for p in pieces), strict=True))
    values, places = np.unique(values, return_inverse=True)
    n_joined: Ints = np.zeros(values.size, np.int64)
    np.add.at(n_joined, places, n_labels)
    weighted = zip(*(piece.weighted for piece in pieces), strict=True)
    return Sums(Spread(values, n_joined), [*map(sum, weighted)], sum(piece.n_slots for piece in pieces))


def _values(settings: Settings, sums: Sums) -> dict[str, float]:
    values, weighted = {}, iter(sums.weighted)
    for spec, setting in settings:
        if spec.metric.table == SPREAD:
            values[spec.name] = spec.metric.value(sums.spread, setting)
        else:
            above = next(weighted)
            values[spec.name] = above / sums.n_slots if sums.n_slots else math.nan
    return values
