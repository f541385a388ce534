"""Values of curve measures without each fold of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.budget import Resources
from xmleval.exact import as_floats
from xmleval.plan import Plan
from xmleval.pooled.columns import LabelCurves
from xmleval.pooled.fold_curves import sweep_label_folds, sweep_pile_folds, sweep_value_folds
from xmleval.pooled.piles import Pile
from xmleval.pooled.store import Store
from xmleval.records import Curve, Floats, Ints
from xmleval.spec import Spec
from xmleval.states.curve_values import entry_values, finished, terms_of
from xmleval.states.label_totals import mean_of_sums, mean_sums

FEW = 1 << 17  # scores up to which sorting takes less time than counting by value


def entries_without(
    plan: Plan,
    specs: Sequence[Spec],
    stores: Sequence[Store],
    names: Sequence[str],
    n_cells: Ints,
    level: float | None,
    work: Resources,
) -> dict[str, Floats]:
    """Return micro averages without each fold.

    Parameters
    ----------
    plan, specs : Plan, sequence of Spec
        The measures.
    stores : sequence of Store
        Scores of each fold; ``names`` are those of relevant and of irrelevant entries.
    n_cells : int64 (2, folds)
        Relevant and irrelevant entries of each fold.
    level : float or None
        Score of unlisted entries; None if they rank below all.
    work : Resources
        Memory and threads to use.
    """
    listed = np.array([[store.size(name) for store in stores] for name in names])
    unlisted = n_cells - listed
    alone = all(spec.metric.pairs_alone for spec in specs)
    keyed = any(store.piles[name].parts() for store in stores for name in names)
    if not keyed and listed.sum() > FEW:
        good, bad = ([store.values[name] for store in stores] for name in names)
        swept = sweep_value_folds(good, bad, unlisted, level, work, alone)
    else:
        relevant, irrelevant = ([store.as_pile(name) for store in stores] for name in names)
        swept = sweep_pile_folds(relevant, irrelevant, unlisted, level, work, alone)
    n_relevant, n_irrelevant = (
        np.array([sum(side) - own for own in side], object) for side in n_cells.tolist()
    )
    right, level_pairs = (np.array(side, object) for side in zip(*swept.pairs, strict=True))
    unknown = np.full(len(stores), np.nan)
    curve = Curve(n_relevant, n_irrelevant, right, level_pairs, as_floats(swept.precision), unknown, unknown)
    return {s.name: s.metric.value(curve, plan.setting(s)).astype(np.float64) for s in specs}


def labels_without(
    plan: Plan,
    specs: Sequence[Spec],
    piles: Sequence[Sequence[Pile]],
    n_true: Ints,
    n_true_of: Sequence[Ints],
    n_rows: Ints,
    level: float | None,
    work: Resources,
) -> tuple[dict[str, Floats], LabelCurves]:
    """Return averages over labels without each fold, and the curves of all rows as far as they need them.

    Parameters
    ----------
    piles : sequence of sequence of Pile
        Keys of relevant and of irrelevant entries of each fold.
    n_true, n_true_of : int64 (n_labels,), sequence of int64 (n_labels,)
        Rows in which every label is relevant, and those of each fold.
    n_rows : int64 (folds,)
        Rows of each fold.
    plan, specs, level, work
        See `entries_without`.
    """
    n_labels, n_folds = n_true.size, n_rows.size
    labels = np.flatnonzero(n_true)
    sums = {spec.name: [[_of_empty(spec, n_labels - labels.size, plan)] * n_folds] for spec in specs}
    peak = np.broadcast_to(np.nan, (n_labels, 1, 2))
    whole = LabelCurves(np.zeros((n_labels, 2)), np.zeros((n_labels, 1)), peak)

    def use(some: Ints, n_cells: Ints, pairs: Floats, precision: Floats) -> None:
        counts = (n_cells.sum(axis=1)[:, None] - n_cells).astype(np.float64)
        unknown = np.full_like(precision, np.nan)
        right, level_pairs = pairs[..., 0], pairs[..., 1]
        curve = Curve(counts[0], counts[1], right, level_pairs, precision, unknown, unknown)
        for spec in specs:
            values = entry_values(spec, curve, plan)
            terms = zip(values[:n_folds], counts[0], strict=False)
            sums[spec.name].append([mean_sums(*terms_of(spec, *term, plan)) for term in terms])
        whole.pairs[some], whole.precision[some, 0] = pairs[-1], precision[-1]

    alone = all(spec.metric.pairs_alone for spec in specs)
    sweep_label_folds(piles[0], piles[1], labels, n_true_of, n_rows, level, work, alone, use)
    found: dict[str, Floats] = {}
    for spec in specs:  # exact sums, in any order
        folds = (zip(*own, strict=True) for own in zip(*sums[spec.name], strict=True))
        means = [mean_of_sums([*map(sum, columns)]) for columns in folds]
        found[spec.name] = np.array([finished(spec, mean) for mean in means])
    return found, whole


def _of_empty(spec: Spec, n_labels: int, plan: Plan) -> tuple[Any, Any, Any, int]:
    """Return what so many labels without relevant rows add to the sums of an average over labels."""
    none = np.zeros(1)
    values = entry_values(spec, Curve(*[none] * len(Curve._fields)), plan)
    return mean_sums(*terms_of(spec, values, none, plan), times=np.array([n_labels]))
