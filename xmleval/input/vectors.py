"""Vectors that go with the data, by name or in order: weights and clusters, and values of labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xmleval.base.arrays import Bytes, Floats, Ints, Labels
from xmleval.base.errors import InputError, Keyword, Message, counted, shown
from xmleval.input.columns import LABEL_COLUMN
from xmleval.input.csr import as_array
from xmleval.input.match import BY_POSITION, SAME_ORDER, as_numbers, numbers_of_columns, refuse_order
from xmleval.input.objects.frames import Frame, open_frame
from xmleval.input.rows import rows_by_id
from xmleval.input.tensors import as_list, as_plain
from xmleval.kernels.jackknife import find_groups

# Weights are scaled by one power of two, which changes no mean, so that they lie within 2^-50..1: there
# sums of weights are exact in fixed point, and weighted sums overflow no sooner than plain ones.
LIGHTEST, HEAVIEST = 2.0**-30, 2.0**20
MOST_PROPENSITY = 2.0**30


class Propensity(NamedTuple):
    """Inverse propensities of all labels, float64 (n_labels,), with their minimum and maximum.

    counts : int32 or int64 (n_labels,), number of training rows of each label; None where not known
    constants : what they were computed with, if known
    """

    values: Floats
    lowest: float
    highest: float
    counts: Labels | None
    constants: Mapping[str, float | str]

    def within(self, labels: Ints) -> Propensity:
        """Return those of some labels."""
        q = self.values[labels]
        counts = None if self.counts is None else self.counts[labels]
        return Propensity(q, float(q.min()), float(q.max()), counts, self.constants)


def of_rows(argument: str, value: object, names: list[Any] | None) -> Any:
    """Return a vector with an entry for each row in the order of the names of rows, if both have any."""
    if not isinstance(value, Mapping):
        refuse_order({argument: _keys(value), "y_true": names})
    return by_name(argument, value, names)


def _keys(value: object) -> list[Any] | None:
    """Return the names of the entries of a vector, None if they have none."""
    if hasattr(value, "label_names"):  # of labels, whose groups would be the keys
        return None
    if isinstance(value, Mapping):
        return [*value]
    index = getattr(value, "index", None)
    return None if callable(index) else as_list(index)


def for_names(
    values: ArrayLike, names: Sequence[Any], asked: Sequence[Any], missing: ArrayLike
) -> NDArray[Any]:
    """Return the entries of wanted names, in the first dimension of an array, ``missing`` for others."""
    places = {name: place for place, name in enumerate(names)}
    return np.concatenate([values, [missing]])[[places.get(name, len(places)) for name in asked]]


def _places(argument: str, keys: list[Any]) -> dict[Any, int]:
    """Return the place of each name, or refuse names that have two values."""
    places = {key: place for place, key in enumerate(keys)}
    if len(places) < len(keys):
        twice = next(key for place, key in enumerate(keys) if places[key] != place)
        raise InputError(argument, f"two values for {shown(twice)}")
    return places


def of_labels(argument: str, value: object, names: list[Any] | None) -> tuple[object, list[str]]:
    """Return values of labels, of a frame as a dict by name or as a list, and a note on names beside ids."""
    frame = None if isinstance(value, np.ndarray | list | tuple | Mapping) else open_frame(argument, value)
    if frame is not None:
        value = _values_in_frame(argument, frame)
    keys = getattr(value, "label_names", None) or _keys(value)
    if names is None and keys is not None and numbers_of_columns(keys) is None:
        return value, [f"{argument}: {BY_POSITION.format('y_true')}"]
    return value, []


def _values_in_frame(argument: str, frame: Frame) -> list[Any] | dict[Any, Any]:
    """Return the values of labels by name, or in order where labels are numbered."""
    keys = frame.keys
    columns = frame.columns
    value_columns = [name for name in columns if name != LABEL_COLUMN]
    if len(value_columns) == 1:
        values = frame.values(value_columns[0])
        keys = frame.values(LABEL_COLUMN) if LABEL_COLUMN in columns else keys
    else:
        rows = frame.matrix(columns).tolist()
        if len(rows) != 1:
            shape = f"a frame of {len(rows)} rows and {len(columns)} columns has no value for each label"
            raise InputError(argument, f"{shape}; give one with columns {shown(LABEL_COLUMN)} and the value")
        values = rows[0]
        keys = columns
    if keys is None or keys == [*range(len(keys))]:
        return values
    return dict(zip(_places(argument, keys), values, strict=True))


def nameless(argument: str) -> InputError:
    """Return what to raise of values by number, where only a truth tells the order of labels."""
    which = "has no names, and labels are numbered as y_true names them; give ", Keyword("labels")
    return InputError(argument, Message(*which))


class ValuesOfLabels(Protocol):
    """Values of labels, with the names of the labels."""

    label_names: list[Any]
    numbered: bool

    def for_labels(self, names: Sequence[Any]) -> object:
        """Return the values of other labels."""


def _know_labels(value: object) -> TypeGuard[ValuesOfLabels]:
    return getattr(value, "label_names", None) is not None


def by_name(argument: str, value: object, names: list[Any] | None, in_order: bool = True) -> object:
    """Return a vector in the order of names, if it has any; refuse others unless ``in_order``."""
    if _know_labels(value):
        if names is not None:
            return value if names == value.label_names else value.for_labels(names)
        if not value.numbered:
            which = "knows labels by name, and y_true has none; give ", Keyword("labels")
            raise InputError(argument, Message(*which))
        return value
    keys = _keys(value)
    if keys is None and in_order:
        return value
    if keys is None:
        raise nameless(argument)
    values = _vector_of(value)
    is_dict = isinstance(value, Mapping)
    if names is None:
        return _in_order_of_ids(argument, keys, values, is_dict)
    is_numbered = keys == [*range(len(keys))] and not {*keys}.intersection(names)
    if keys == names or (is_numbered and in_order and not is_dict):  # an index that names nothing
        return values
    return _in_order_of_names(argument, keys, values, names, is_dict)


def _vector_of(value: Any) -> NDArray[Any]:
    """Return the values of a dict or of a series."""
    if not isinstance(value, Mapping):
        return np.asarray(value.to_numpy())
    cells = [*value.values()]
    if any(isinstance(cell, str) for cell in cells):
        return np.array(cells, object)  # else all become texts
    return np.asarray(cells)


def _in_order_of_ids(argument: str, keys: list[Any], values: NDArray[Any], is_dict: bool) -> NDArray[Any]:
    ids = as_numbers(keys)
    if ids is not None:
        return values[np.argsort(ids)]
    if is_dict:
        raise InputError(argument, "has names, and y_true has none; give a list of its values, in order")
    return values


def _in_order_of_names(
    argument: str, keys: list[Any], values: NDArray[Any], names: list[Any], is_dict: bool
) -> NDArray[Any]:
    places = _places(argument, keys)
    missing = next((name for name in names if name not in places), None)
    if missing is not None:
        hint = "" if is_dict or len(keys) != len(names) else SAME_ORDER.format(argument)
        raise InputError(argument, f"no value for {shown(missing)}, which y_true has{hint}")
    return values[[places[name] for name in names]]


def check_weight(value: object, n_rows: int) -> Floats:
    """Return instance weights over the heaviest possible one as float64 (n_rows,), or refuse them."""
    weight = as_array("sample_weight", value).astype(np.float64, copy=False)
    if weight.shape != (n_rows,):
        raise InputError("sample_weight", f"shape {weight.shape} does not match {n_rows} rows")
    bad = ~((weight == 0) | ((weight >= LIGHTEST) & (weight <= HEAVIEST)))
    reason = "is neither 0 nor within 2^-30..2^20, where sums are exact; scale all weights by one factor"
    rows = np.arange(n_rows + 1)
    rows_by_id(rows, rows[:-1], weight).refuse_first("sample_weight", "weight", bad, 0, reason)
    return weight / HEAVIEST


def check_propensity(value: object, n_labels: int | None) -> Propensity:
    """Return a copy of inverse propensities, or refuse them; those of several models were checked before."""
    if isinstance(value, Propensity):
        return value
    array = as_array("inverse_propensity", value)
    if array.ndim != 1 or (n_labels is not None and array.size != n_labels):
        expected = "a vector" if n_labels is None else f"({n_labels},)"
        raise InputError("inverse_propensity", f"shape {array.shape} is not {expected}: one per label")
    weights = np.array(array, np.float64)
    lowest, highest = float(weights.min(initial=np.inf)), float(weights.max(initial=0.0))
    if not (lowest > 0 and highest <= MOST_PROPENSITY):  # both are NaN where any is
        bad = int((~((weights > 0) & (weights <= MOST_PROPENSITY))).argmax())
        message = f"inverse propensity {weights[bad]} is not a number above 0 and at most 2^30"
        raise InputError("inverse_propensity", f"label {bad}: {message}")
    counts = getattr(value, "label_counts", None)
    constants = getattr(value, "constants", {})
    return Propensity(weights, lowest, highest, counts, {**constants})


def groups_of_clusters(value: object, n_rows: int) -> Bytes:
    """Return the jackknife group of each row's cluster, which depends on nothing but the cluster's name."""
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


def _is_name(value: object) -> bool:
    whole = isinstance(value, int | np.integer) and -(1 << 63) <= int(value) < 1 << 63
    return whole or isinstance(value, str)


def _numbers_of(clusters: list[Any]) -> Ints:
    """Return a number for each cluster that depends on its name alone."""
    number = dict[Any, int]()
    for row, cluster in enumerate(clusters):
        if not _is_name(cluster):
            message = f"{shown(cluster)} is neither a string nor an integer of 64 bits"
            raise InputError("clusters", message, row=row, value=cluster)
        if cluster not in number and isinstance(cluster, str):
            code = hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number[cluster] = int.from_bytes(code, "little", signed=True)
    return np.fromiter((number.get(c, c) for c in clusters), np.int64, len(clusters))
