"""Measures of what is predicted: of the number of predicted slots of each label, and of its training rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.exact import as_floats, exact_product
from xmleval.kernels.folds import N_FOLDS
from xmleval.metrics import Setting
from xmleval.plan import Plan
from xmleval.records import Bools, Floats, Ints, Labels, Spread
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.fold_table import Changes, FoldTable
from xmleval.states.label_table import LABELS_AT_A_TIME, LabelTable
from xmleval.threads import Work

SPREAD, SLOTS = "spread", "slots"  # tables of measures
KINDS = (SPREAD, SLOTS)
Asked = Sequence[tuple[Spec, Setting]]


class Sums(NamedTuple):
    """What the values of all measures are computed from; those of disjoint labels are joined.

    spread : distinct numbers of slots and how many labels have each, which may be negative for changes
    weighted : for each measure over slots, the sum of the values of slots, exact
    n_slots : number of slots, in the same units
    """

    spread: Spread
    weighted: list[int]
    n_slots: int


def slot_values(
    specs: Sequence[Spec], table: LabelTable, plan: Plan, work: Work, folds: FoldTable | None = None
) -> Results:
    """Return the values of measures of what is predicted; with folds, without each, too."""
    results = Results()
    if not specs:
        return results
    asked = [(spec, plan.setting(spec)) for spec in specs]
    counts = plan.propensity.counts if plan.propensity else None
    table.join()

    def sums_of(start: int) -> Sums:
        stop = min(start + LABELS_AT_A_TIME, table.n_labels)
        n_pred = table.between(start, stop)[1]
        own = as_floats(n_pred) if table.weighted else n_pred.astype(np.float64)
        return _sums(asked, own, np.ones(own.size, np.int64), None if counts is None else counts[start:stop])

    whole = _joined(work.map(sums_of, range(0, table.n_labels, LABELS_AT_A_TIME)))
    results.values = _values(asked, whole)
    if folds is None:
        return results

    def changes_of(changes: Changes) -> list[Sums]:
        before, after = (own.tp + own.fp for own in (changes.before, changes.after))
        order = np.argsort(changes.folds, kind="stable")
        ends = np.searchsorted(changes.folds[order], np.arange(N_FOLDS + 1))
        found = []
        for start, stop in itertools.pairwise(ends.tolist()):
            some = order[start:stop]
            old, new = before.take(changes.which[some]), after[some]
            changed = old != new
            n_pred = np.concatenate([old[changed], new[changed]])
            sign = np.repeat(np.array([-1, 1]), n_pred.size // 2)
            labels = changes.start + np.tile(changes.which[some][changed], 2)
            found.append(_sums(asked, n_pred, sign, None if counts is None else counts[labels]))
        return found

    changes = folds.map_changes(table, False, changes_of, work)
    filled = np.flatnonzero(folds.rows.any(axis=1)).tolist()
    without = [_values(asked, _joined([whole, *(own[fold] for own in changes)])) for fold in filled]
    results.replicates = {spec.name: np.array([own[spec.name] for own in without]) for spec in specs}
    return results


def _sums(asked: Asked, n_pred: Floats, times: Ints, counts: Labels | None) -> Sums:
    """Return the sums of some labels, each taken so many times.

    counts : number of training rows of each, None if no measure reads it
    """
    spread = Spread(np.empty(0), np.empty(0, np.int64))
    if any(spec.metric.table == SPREAD for spec, _ in asked):
        spread = _distinct(n_pred, times)
    some: Bools = n_pred > 0.0
    n_pred, times = n_pred[some], times[some]
    weighted = []
    for spec, setting in asked:
        if spec.metric.table == SLOTS:
            assert counts is not None
            weighted.append(exact_product(n_pred, times * spec.metric.value(counts[some], setting)))
    return Sums(spread, weighted, exact_product(n_pred, times) if weighted else 0)


def _distinct(n_pred: Floats, times: Ints) -> Spread:
    values, places = np.unique(n_pred, return_inverse=True)
    n_labels = np.zeros(values.size, np.int64)
    np.add.at(n_labels, places, times)
    return Spread(values[n_labels != 0], n_labels[n_labels != 0])


def _joined(several: Sequence[Sums]) -> Sums:
    spreads = [np.concatenate(columns) for columns in zip(*(own.spread for own in several), strict=True)]
    weighted: Any = zip(*(own.weighted for own in several), strict=True)
    return Sums(_distinct(*spreads), [*map(sum, weighted)], sum(own.n_slots for own in several))


def _values(asked: Asked, sums: Sums) -> dict[str, float]:
    found, weighted = {}, iter(sums.weighted)
    for spec, setting in asked:
        if spec.metric.table == SPREAD:
            found[spec.name] = spec.metric.value(sums.spread, setting)
        else:
            above = next(weighted)
            found[spec.name] = above / sums.n_slots if sums.n_slots else math.nan
    return found
