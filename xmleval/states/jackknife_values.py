"""Values of curve measures without each jackknife group of the rows."""

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
from xmleval.states.curve_values import entry_values, finished, terms_of
from xmleval.states.label_totals import mean_of_sums, mean_sums
from xmleval.states.plan import Plan
from xmleval.view.facts import Curve

FEW = 1 << 17  # scores up to which sorting takes less time than counting by value


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
    stores : scores of each group; ``names`` are those of relevant and of irrelevant entries
    n_cells : int64 (2, groups), relevant and irrelevant entries of each group
    level : score of unlisted entries; None if they rank below all
    """
    n_listed = np.array([[store.size(name) for store in stores] for name in names])
    keyed = any(store.piles[name].parts() for store in stores for name in names)
    if not keyed and n_listed.sum() > FEW:
        values = [[store.values[name] for store in stores] for name in names]
        sums = sweep_values(values, n_cells - n_listed, level, resources)
    else:
        piles = [[store.as_pile(name) for store in stores] for name in names]
        sums = sweep_piles(piles, n_cells - n_listed, level, resources)
    curve = _curve_of((n_cells.sum(axis=1, keepdims=True) - n_cells).astype(np.float64), sums)
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
    n_true : sequence of int64 (n_labels,), rows of each group in which every label is relevant
    n_rows : int64 (groups,), rows of each group
    plan, specs, level, resources : see `entries_without`
    """
    n_labels, n_groups = n_true[0].size, n_rows.size
    labels = np.flatnonzero(sum(n_true))
    terms = {spec.name: [[_of_empty(spec, n_labels - labels.size, plan)] * n_groups] for spec in specs}
    all_rows = int(n_rows.sum())

    def use(n_relevant: Ints, sums: Floats) -> None:
        relevant = n_relevant.sum(axis=0) - n_relevant
        counts = np.stack([relevant, all_rows - n_rows[:, None] - relevant]).astype(np.float64)
        curve = _curve_of(counts, sums)
        for spec in specs:
            values = zip(entry_values(spec, curve, plan), counts[0], strict=True)
            terms[spec.name].append([mean_sums(*terms_of(spec, *of_group, plan)) for of_group in values])

    sweep_label_groups(piles, labels, n_true, n_rows, level, resources, use)
    replicates: dict[str, Floats] = {}
    for spec in specs:  # exact sums, in any order
        of_groups = (zip(*pieces, strict=True) for pieces in zip(*terms[spec.name], strict=True))
        means = [mean_of_sums([*map(sum, columns)]) for columns in of_groups]
        replicates[spec.name] = np.array([finished(spec, mean) for mean in means])
    return replicates


def _curve_of(counts: Floats, sums: Floats) -> Curve:
    """Return curves from their numbers of entries, float64 (2, ...), and sums, float64 (3, ...)."""
    unknown = np.full(counts.shape[1:], np.nan)
    return Curve(counts[0], counts[1], sums[0], sums[1], sums[2], unknown, unknown)


def _of_empty(spec: Spec, n_labels: int, plan: Plan) -> tuple[Any, Any, Any, int]:
    """Return what so many labels without relevant rows add to the sums of an average over labels."""
    none = np.zeros(1)
    values = entry_values(spec, Curve(*[none] * len(Curve._fields)), plan)
    return mean_sums(*terms_of(spec, values, none, plan), times=np.array([n_labels]))
