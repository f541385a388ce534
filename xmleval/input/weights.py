"""Vectors that go with the data: instance weights and label propensities."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.errors import InputError
from xmleval.input.csr import as_array, refuse_first
from xmleval.input.rows import rows_by_id
from xmleval.records import Floats, Propensity

# Weights are scaled by one power of two, which changes no mean, so that they lie within 2^-50..1: there
# sums of weights are exact in fixed point, and weighted sums overflow no sooner than plain ones.
LIGHTEST, HEAVIEST = 2.0**-30, 2.0**20
MOST_PROPENSITY = 2.0**30


def check_weight(value: Any, n_rows: int) -> Floats:
    """Return instance weights over the heaviest possible one as float64 (n_rows,), or refuse them."""
    weight = as_array("sample_weight", value).astype(np.float64, copy=False)
    if weight.shape != (n_rows,):
        raise InputError("sample_weight", f"shape {weight.shape} does not match {n_rows} rows")
    bad = ~((weight == 0) | ((weight >= LIGHTEST) & (weight <= HEAVIEST)))
    reason = "is neither 0 nor within 2^-30..2^20, where sums are exact; scale all weights by one factor"
    rows = np.arange(n_rows + 1)
    refuse_first("sample_weight", "weight", bad, rows_by_id(rows, rows[:-1], weight), 0, reason)
    return weight / HEAVIEST


def check_propensity(value: Any, n_labels: int | None) -> Propensity:
    """Return a copy of inverse propensities, or refuse them; those of several models were checked before."""
    if isinstance(value, Propensity):
        return value
    given = as_array("inverse_propensity", value)
    if given.ndim != 1 or (n_labels is not None and given.size != n_labels):
        expected = "a vector" if n_labels is None else f"({n_labels},)"
        raise InputError("inverse_propensity", f"shape {given.shape} is not {expected}: one per label")
    weights = np.array(given, np.float64)
    least, most = float(weights.min(initial=np.inf)), float(weights.max(initial=0.0))
    if not (least > 0 and most <= MOST_PROPENSITY):  # both are NaN where any is
        bad = int((~((weights > 0) & (weights <= MOST_PROPENSITY))).argmax())
        raise InputError(
            "inverse_propensity",
            f"label {bad}: inverse propensity {weights[bad]} is not a number above 0 and at most 2^30",
        )
    return Propensity(weights, least, most, getattr(value, "label_counts", None))
