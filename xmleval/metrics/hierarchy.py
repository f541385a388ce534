"""Measures of predicted sets in a hierarchy: ancestors of labels are relevant, and predicted, with them."""

from __future__ import annotations

from functools import partial

from xmleval.metrics.metric import Metric, one
from xmleval.metrics.sets import fbeta, precision, recall

SILLA = "Kiritchenko, Matwin & Famili 2005; Silla & Freitas 2011 (DMKD 22)"
IN_HIERARCHY = partial(
    Metric,
    family="hierarchy",
    reference=SILLA,
    state={"samples": "row_sums", "micro": "row_counts"},
    needs=("sets", "hierarchy"),
    averages=("samples", "micro"),
    cutoff="optional",
    best=one,
    conventions=("zero_division", "unlisted"),
)

TABLE = (
    IN_HIERARCHY(
        name="h_precision",
        title="precision of the predicted set with all ancestors",
        symbol="hP {average}",
        formula="|h+ and Y+| / |h+|, where + adds the ancestors",
        value=precision,
    ),
    IN_HIERARCHY(
        name="h_recall",
        title="recall of the predicted set with all ancestors",
        symbol="hR {average}",
        formula="|h+ and Y+| / |Y+|, where + adds the ancestors",
        value=recall,
    ),
    IN_HIERARCHY(
        name="h_f1",
        title="F1 of the predicted set with all ancestors",
        symbol="hF1 {average}",
        formula="2 |h+ and Y+| / (|h+| + |Y+|), where + adds the ancestors",
        value=fbeta,
    ),
)
