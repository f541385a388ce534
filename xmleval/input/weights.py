"""Vectors that go with the data: instance weights and clusters, and label propensities."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Bytes, Floats, Ints, Labels
from xmleval.base.errors import InputError, counted
from xmleval.input.csr import as_array, refuse_first
from xmleval.input.rows import rows_by_id
from xmleval.input.tensors import as_plain
from xmleval.kernels.jackknife import find_groups

# Weights are scaled by one power of two, which changes no mean, so that they lie within 2^-50..1: there
# sums of weights are exact in fixed point, and weighted sums overflow no sooner than plain ones.
LIGHTEST, HEAVIEST = 2.0**-30, 2.0**20
MOST_PROPENSITY = 2.0**30


class Propensity(NamedTuple):
    """Inverse propensities of all labels, float64 (n_labels,), with their minimum and maximum.

    counts : int32 or int64 (n_labels,), number of training rows of each label; None where not known
    """

    values: Floats
    lowest: float
    highest: float
    counts: Labels | None = None

    def within(self, labels: Ints) -> Propensity:
        """Return those of some labels."""
        q, counts = self.values[labels], None if self.counts is None else self.counts[labels]
        return Propensity(q, float(q.min()), float(q.max()), counts)


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


def groups_of_clusters(value: Any, n_rows: int) -> Bytes:
    """Return the jackknife group of each row's cluster, uint8 (n_rows,), or refuse what are no clusters.

    The group depends on nothing but the cluster itself, so that no cutting or order of the rows changes it.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError("clusters", "masked arrays are not supported; fill or drop the masked entries")
    if isinstance(value, list | tuple):  # NumPy would make texts of all
        value = np.array(value, object)
    clusters = np.asarray(as_plain("clusters", value))
    if clusters.shape != (n_rows,):
        raise InputError("clusters", f"shape {clusters.shape} does not match {counted(n_rows, 'rows')}")
    is_whole = clusters.dtype.kind in "iub"  # of unsigned ones the same bits
    numbers = clusters.astype(np.int64) if is_whole else _numbers_of(clusters.tolist())
    groups = np.empty(n_rows, np.uint8)
    find_groups(numbers, groups)
    return groups


def keys_of_groups(keys: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return names of rows that can decide on jackknife groups, None if some are not integers or strings."""
    return keys if keys is not None and all(map(_is_name, keys)) else None


def _is_name(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and -(1 << 63) <= int(value) < 1 << 63
    return whole or isinstance(value, str)


def _numbers_of(clusters: list[Any]) -> Ints:
    """Return a number for each cluster that depends on its name alone."""
    number = dict[Any, int]()
    for row, cluster in enumerate(clusters):
        if not _is_name(cluster):
            message = f"{cluster!r} is neither a string nor an integer of 64 bits"
            raise InputError("clusters", message, row=row, value=cluster)
        if cluster not in number and isinstance(cluster, str):
            code = hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number[cluster] = int.from_bytes(code, "little", signed=True)
    return np.fromiter((number.get(c, c) for c in clusters), np.int64, len(clusters))
