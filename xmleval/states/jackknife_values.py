"""Values of curve measures without each jackknife group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import Resources
from xmleval.metrics.spec import Spec
from xmleval.pooled.jackknife_curves import sweep_label_groups, sweep_piles, sweep_values
from xmleval.pooled.piles import Pile
from xmleval.pooled.store import Store
from xmleval.states.curve_values import entry_values, finish_average, select_terms
from xmleval.states.label_totals import mean_of_sums, mean_sums
from xmleval.states.plan import Plan
from xmleval.view.facts import Curve

FEW = 1 << 17  # number of scores up to which sorting is faster than counting by value


def entries_without(
    plan: Plan,
    specs: Sequence[Spec],
    stores: Sequence[Store],
    names: Sequence[str],
    n_cells: Ints,
    level: float | None,
    resources: Resources,
) -> dict[str, Floats]:
    """Return micro averages without each group.

    plan, specs : the measures
    stores : scores of each group
    names : names in ``stores`` of relevant and of irrelevant entries
    n_cells : int64 (2, groups), relevant and irrelevant entries of each group
    level : score of unlisted entries; None if they rank below all
    """
    n_listed = np.array([[store.size(name) for store in stores] for name in names])
    has_keys = any(store.piles[name].parts() for store in stores for name in names)
    if has_keys or n_listed.sum() <= FEW:
        piles = [[store.as_pile(name) for store in stores] for name in names]
        sums = sweep_piles(piles, n_cells - n_listed, level, resources)
    else:
        values = [[store.values[name] for store in stores] for name in names]
        sums = sweep_values(values, n_cells - n_listed, level, resources)
    n_without = n_cells.sum(axis=1, keepdims=True) - n_cells
    curve = _make_curve(n_without.astype(np.float64), sums)
    return {spec.name: spec.metric.value(curve, plan.setting(spec)) for spec in specs}


def labels_without(
    plan: Plan,
    specs: Sequence[Spec],
    piles: Sequence[Sequence[Pile]],
    n_true: Sequence[Ints],
    n_rows: Ints,
    level: float | None,
    resources: Resources,
) -> dict[str, Floats]:
    """Return averages over labels without each group.

    piles : keys of relevant and of irrelevant entries of each group
    n_true : int64 (n_labels,) for each group, its rows in which every label is relevant
    n_rows : int64 (groups,), rows of each group
    plan, specs, level, resources : see `entries_without`
    """
    n_labels = n_true[0].size
    n_groups = n_rows.size
    n_all_rows = int(n_rows.sum())
    labels = np.flatnonzero(sum(n_true))
    # sums over labels, by measure: for each piece of the labels, those without each group
    pieces = {
        spec.name: [[_sum_empty(spec, n_labels - labels.size, plan)] * n_groups] for spec in specs
    }

    def add_piece(n_relevant: Ints, sums: Floats) -> None:
        n_relevant = n_relevant.sum(axis=0) - n_relevant
        n_irrelevant = n_all_rows - n_rows[:, None] - n_relevant
        counts = np.stack([n_relevant, n_irrelevant]).astype(np.float64)
        curve = _make_curve(counts, sums)
        for spec in specs:
            piece = []
            rows = zip(entry_values(spec, curve, plan), counts[0], strict=True)
            for values, support in rows:
                piece.append(mean_sums(*select_terms(spec, values, support, plan)))
            pieces[spec.name].append(piece)

    sweep_label_groups(piles, labels, n_true, n_rows, level, resources, add_piece)
    replicates: dict[str, Floats] = {}
    for spec in specs:
        averages = []
        for group_pieces in zip(*pieces[spec.name], strict=True):
            sums = [*map(sum, zip(*group_pieces, strict=True))]  # exact, in any order
            averages.append(finish_average(spec, mean_of_sums(sums)))
        replicates[spec.name] = np.array(averages)
    return replicates


def _make_curve(counts: Floats, sums: Floats) -> Curve:
    """Return curves from their numbers of entries, float64 (2, ...), and sums, float64 (3, ...)."""
    unknown = np.full(counts.shape[1:], np.nan)
    return Curve(counts[0], counts[1], sums[0], sums[1], sums[2], unknown, unknown)


def _sum_empty(spec: Spec, n_labels: int, plan: Plan) -> tuple[Any, Any, Any, int]:
    """Return the sums for an average over ``n_labels`` labels without relevant rows."""
    zero = np.zeros(1)
    values = entry_values(spec, Curve(*[zero] * len(Curve._fields)), plan)
    return mean_sums(*select_terms(spec, values, zero, plan), times=np.array([n_labels]))
