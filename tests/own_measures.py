"""Measures of papers that xmleval does not have, as the guide on own measures shows them."""

from typing import Any

import numpy as np

import xmleval
from xmleval import BlockRows, Measure, Param
from xmleval.base.arrays import Floats
from xmleval.view.setting import Setting

# guide: fmax
THRESHOLDS = np.linspace(0.01, 1.0, 100)


def share(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def cuts(rows: BlockRows) -> Floats:
    rows = rows.with_ancestors
    listed = rows.listed
    columns = []
    for threshold in THRESHOLDS:
        is_above = listed.scores >= threshold
        n_above = listed.sum_by_row(is_above)
        n_hits = listed.sum_by_row(is_above & rows.hits)
        columns += [share(n_hits, n_above), n_above > 0, share(n_hits, rows.n_relevant)]
    return np.column_stack(columns)


def best_f(means: Floats, setting: Setting) -> float:
    precision, covered, recall = means.reshape(-1, 3).T
    precision = share(precision, covered)
    return float(share(2 * precision * recall, precision + recall).max())


FMAX = Measure("cafa-fmax", rows=cuts, total=best_f, needs=("entry scores", "hierarchy"))
# end


# guide: smin
def uncertainty(rows: BlockRows) -> Floats:
    rows = rows.with_ancestors
    relevant = rows.relevant
    listed = rows.listed
    of_relevant = relevant.sum_by_row(rows.of_labels("ic", relevant.labels))
    information = rows.of_labels("ic", listed.labels)
    columns = []
    for threshold in THRESHOLDS:
        predicted = np.where(listed.scores >= threshold, information, 0.0)
        found = listed.sum_by_row(np.where(rows.hits, predicted, 0.0))
        columns += [of_relevant - found, listed.sum_by_row(predicted) - found]
    return np.column_stack(columns)


def least_distance(means: Floats, setting: Setting) -> float:
    remaining, misinformation = means.reshape(-1, 2).T
    return float(np.hypot(remaining, misinformation).min())


SMIN = Measure(
    "cafa-smin",
    rows=uncertainty,
    total=least_distance,
    needs=("entry scores", "hierarchy"),
    label_data=("ic",),
    direction="down",
    range=(0.0, np.inf),
)
# end


# guide: novelty
def surprise(rows: BlockRows) -> Any:
    popularity = rows.of_labels("popularity", rows.listed.labels, unknown=1.0)
    return share(rows.listed.sum_by_row(-np.log2(popularity)), rows.listed.sizes)


NOVELTY = Measure(
    "rec-novelty",
    rows=surprise,
    cutoff="required",
    label_data=("popularity",),
    range=(0.0, np.inf),
)
# end


# guide: cost
def costs(rows: BlockRows) -> Floats:
    predicted = rows.predicted
    relevant = rows.relevant
    alarms = rows.of_labels("alarm", predicted.labels) * ~relevant.contain(predicted)
    misses = rows.of_labels("miss", relevant.labels) * ~predicted.contain(relevant)
    return predicted.sum_by_row(alarms) + relevant.sum_by_row(misses)


COST = Measure(
    "clinic-cost",
    rows=costs,
    needs=("sets",),
    label_data=("alarm", "miss"),
    direction="down",
    range=(0.0, np.inf),
)
# end


# guide: decay
def decayed(rows: BlockRows) -> Floats:
    weight = 0.5 ** (rows.row_data["age"] / rows.params["half"])
    recall = share(rows.listed.sum_by_row(rows.hits), rows.n_relevant)
    return np.column_stack([weight * recall, weight])


DECAYED = Measure(
    "session-recall",
    rows=decayed,
    total=lambda means, setting: means[0] / means[1] if means[1] else 0.0,
    cutoff="required",
    params={"half": Param(7.0, default=True)},
    row_data=("age",),
)
# end


# guide: invented
def invented(row: xmleval.OneRow) -> float:
    n_invented = 0.0
    for label in row.listed:
        if label >= row.n_labels:
            n_invented += 1.0
    return n_invented / max(1, len(row.listed))


INVENTED = Measure("llm-invented", row=invented, cutoff="required", direction="down")
# end
