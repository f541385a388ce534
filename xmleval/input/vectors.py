"""Vectors next to the data, by name or in order: weights, clusters and values of labels."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xmleval.base.arrays import Bytes, Floats, Ints, Labels
from xmleval.base.errors import InputError, Keyword, Message, counted, shown
from xmleval.input.columns import LABEL_COLUMN
from xmleval.input.csr import as_array
from xmleval.input.match import (
    BY_POSITION,
    SAME_ORDER,
    as_numbers,
    numbers_of_columns,
    refuse_order,
)
from xmleval.input.objects.frames import Frame, open_frame
from xmleval.input.row_columns import RowColumn
from xmleval.input.rows import called_like, rows_by_id
from xmleval.input.tensors import as_list, as_plain
from xmleval.kernels.jackknife import find_groups

# Weights are scaled by one power of two, which changes no mean, so that they lie within 2^-50..1:
# there sums of weights are exact in fixed point, and weighted sums overflow no sooner than plain
# ones.
LIGHTEST = 2.0**-30
HEAVIEST = 2.0**20
MOST_PROPENSITY = 2.0**30


class Propensity(NamedTuple):
    """Inverse propensities of all labels, float64 (n_labels,), with their minimum and maximum.

    counts : int32 or int64 (n_labels,), number of training rows of each label; None if unknown
    constants : the constants that they were computed with, if known
    """

    values: Floats
    lowest: float
    highest: float
    counts: Labels | None
    constants: Mapping[str, float | str]

    def within(self, labels: Ints) -> Propensity:
        """Return the inverse propensities of some labels."""
        values = self.values[labels]
        counts = None if self.counts is None else self.counts[labels]
        return Propensity(values, float(values.min()), float(values.max()), counts, self.constants)


def match_row_values(argument: str, value: object, names: list[Any] | None) -> Any:
    """Return a vector with an entry per row, sorted by the names of rows if both have names."""
    if isinstance(value, RowColumn):
        return value.sorted_by(names)
    if not isinstance(value, Mapping):
        refuse_order({argument: _keys(value), "y_true": names})
    return sort_by_names(argument, value, names)


def _keys(value: object) -> list[Any] | None:
    """Return the names of the entries of a vector, None if they have none."""
    if hasattr(value, "label_names"):  # values of labels, whose keys may be groups
        return None
    if isinstance(value, Mapping):
        return [*value]
    index = getattr(value, "index", None)
    if callable(index):
        return None
    return as_list(index)


def for_names(
    values: ArrayLike, names: Sequence[Any], asked: Sequence[Any], missing: ArrayLike
) -> NDArray[Any]:
    """Return the entries of ``asked`` names along the first axis; ``missing`` if unknown."""
    place_of = {name: place for place, name in enumerate(names)}
    places = [place_of.get(name, len(place_of)) for name in asked]
    return np.concatenate([values, [missing]])[places]


def _places(argument: str, keys: list[Any]) -> dict[Any, int]:
    """Return a dict from names to their places; refuse a name that occurs twice."""
    place_of = {key: place for place, key in enumerate(keys)}
    if len(place_of) < len(keys):
        duplicate = next(key for place, key in enumerate(keys) if place_of[key] != place)
        raise InputError(argument, f"two values for {shown(duplicate)}")
    return place_of


def read_label_values(
    argument: str, value: object, names: list[Any] | None
) -> tuple[object, list[str]]:
    """Return values of labels, and a note if only they have names.

    The values of a frame are returned as a dict by name, or as a list.
    """
    if not isinstance(value, np.ndarray | list | tuple | Mapping):
        frame = open_frame(argument, value)
        if frame is not None:
            value = _values_in_frame(argument, frame)
    keys = getattr(value, "label_names", None) or _keys(value)
    if names is None and keys is not None and numbers_of_columns(keys) is None:
        return value, [f"{argument}: {BY_POSITION.format('y_true')}"]
    return value, []


def _values_in_frame(argument: str, frame: Frame) -> list[Any] | dict[Any, Any]:
    """Return the values of labels by name, or in order if labels are numbered."""
    keys = frame.keys
    columns = frame.columns
    value_columns = [name for name in columns if name != LABEL_COLUMN]
    if len(value_columns) == 1:
        values = frame.values(value_columns[0])
        if LABEL_COLUMN in columns:
            keys = frame.values(LABEL_COLUMN)
    else:
        rows = frame.matrix(columns).tolist()
        if len(rows) != 1:
            shape = f"a frame of {len(rows)} rows and {len(columns)} columns"
            advice = f"give a frame with columns {shown(LABEL_COLUMN)} and the value"
            raise InputError(argument, f"{shape} has no value for each label; {advice}")
        values = rows[0]
        keys = columns
    if keys is None or keys == [*range(len(keys))]:
        return values
    return dict(zip(_places(argument, keys), values, strict=True))


def missing_names_error(argument: str) -> InputError:
    """Return the error about values by number when only a truth defines the order of labels."""
    reason = "has no names, but labels are numbered as y_true names them; give "
    return InputError(argument, Message(reason, Keyword("labels")))


class ValuesOfLabels(Protocol):
    """Values of labels, with the names of the labels."""

    label_names: list[Any]
    numbered: bool

    def for_labels(self, names: Sequence[Any]) -> object:
        """Return the values of other labels."""


def _has_label_names(value: object) -> TypeGuard[ValuesOfLabels]:
    return getattr(value, "label_names", None) is not None


def sort_by_names(
    argument: str, value: object, names: list[Any] | None, in_order: bool = True
) -> object:
    """Return a vector sorted by names; refuse one without names unless ``in_order``."""
    if _has_label_names(value):
        return _values_for_labels(argument, value, names)
    keys = _keys(value)
    if keys is None and in_order:
        return value
    if keys is None:
        raise missing_names_error(argument)
    values = _vector_of(value)
    is_dict = isinstance(value, Mapping)
    if names is None:
        return _sorted_by_ids(argument, keys, values, is_dict)
    has_default_index = keys == [*range(len(keys))] and not {*keys}.intersection(names)
    if keys == names or (has_default_index and in_order and not is_dict):
        return values
    return _sorted_by_names(argument, keys, values, names, is_dict)


def _values_for_labels(argument: str, value: ValuesOfLabels, names: list[Any] | None) -> object:
    """Return values for the labels of a truth, or refuse values by name if it has no names."""
    if names is not None:
        if names == value.label_names:
            return value
        return value.for_labels(names)
    if not value.numbered:
        reason = "has names of labels, but y_true has none; give "
        raise InputError(argument, Message(reason, Keyword("labels")))
    return value


def _vector_of(value: Any) -> NDArray[Any]:
    """Return the values of a dict or of a series."""
    if not isinstance(value, Mapping):
        return np.asarray(value.to_numpy())
    cells = [*value.values()]
    if any(isinstance(cell, str) for cell in cells):
        return np.array(cells, object)  # without object, all become texts
    return np.asarray(cells)


def _sorted_by_ids(
    argument: str, keys: list[Any], values: NDArray[Any], is_dict: bool
) -> NDArray[Any]:
    """Return values sorted by numeric keys; a series with other keys is in order already."""
    ids = as_numbers(keys)
    if ids is not None:
        return values[np.argsort(ids)]
    if is_dict:
        reason = "has names, but y_true has none; give a list of its values, in order"
        raise InputError(argument, reason)
    return values


def _sorted_by_names(
    argument: str, keys: list[Any], values: NDArray[Any], names: list[Any], is_dict: bool
) -> NDArray[Any]:
    """Return values in the order of names, or refuse a name without value."""
    place_of = _places(argument, called_like(names, keys))
    missing = next((name for name in names if name not in place_of), None)
    if missing is not None:
        may_be_in_order = not is_dict and len(keys) == len(names)
        hint = SAME_ORDER.format(argument) if may_be_in_order else ""
        raise InputError(argument, f"no value for {shown(missing)}, which y_true has{hint}")
    places = [place_of[name] for name in names]
    return values[places]


def check_weight(value: object, n_rows: int) -> Floats:
    """Return checked instance weights, divided by `HEAVIEST`, as float64 (n_rows,)."""
    weight = as_array("sample_weight", value).astype(np.float64, copy=False)
    if weight.shape != (n_rows,):
        raise InputError("sample_weight", f"shape {weight.shape} does not match {n_rows} rows")
    is_bad = ~((weight == 0) | ((weight >= LIGHTEST) & (weight <= HEAVIEST)))
    reason = (
        "is neither 0 nor within 2^-30..2^20, where sums are exact; scale all weights by one factor"
    )
    ptr = np.arange(n_rows + 1)
    rows = rows_by_id(ptr, ptr[:-1], weight)
    rows.refuse_first("sample_weight", "weight", is_bad, 0, reason)
    return weight / HEAVIEST


def check_propensity(value: object, n_labels: int | None) -> Propensity:
    """Return a checked copy of inverse propensities; a `Propensity` was checked before."""
    if isinstance(value, Propensity):
        return value
    array = as_array("inverse_propensity", value)
    if array.ndim != 1 or (n_labels is not None and array.size != n_labels):
        expected = "a vector" if n_labels is None else f"({n_labels},)"
        message = f"shape {array.shape} is not {expected}: one per label"
        raise InputError("inverse_propensity", message)
    weights = np.array(array, np.float64)
    lowest = float(weights.min(initial=np.inf))
    highest = float(weights.max(initial=0.0))
    if not (lowest > 0 and highest <= MOST_PROPENSITY):  # both are NaN if any weight is
        is_bad = ~((weights > 0) & (weights <= MOST_PROPENSITY))
        label = int(is_bad.argmax())
        message = f"inverse propensity {weights[label]} is not a number above 0 and at most 2^30"
        raise InputError("inverse_propensity", f"label {label}: {message}")
    counts = getattr(value, "label_counts", None)
    constants = getattr(value, "constants", {})
    return Propensity(weights, lowest, highest, counts, {**constants})


DIGITS = re.compile(r"0|-?[1-9][0-9]{0,18}")  # of an integer as Python prints it


def groups_of_clusters(value: object, n_rows: int) -> Bytes:
    """Return jackknife groups of rows, which depend only on the names of their clusters."""
    if isinstance(value, np.ma.MaskedArray):
        message = "masked arrays are not supported; fill or drop the masked entries"
        raise InputError("clusters", message)
    if isinstance(value, list | tuple):  # NumPy would convert all to texts
        value = np.array(value, object)
    clusters = np.asarray(as_plain("clusters", value))
    if clusters.shape != (n_rows,):
        message = f"shape {clusters.shape} does not match {counted(n_rows, 'rows')}"
        raise InputError("clusters", message)
    if clusters.dtype.kind in "iub":
        numbers = clusters.astype(np.int64)  # unsigned integers keep their bits
    else:
        numbers = _numbers_of(clusters.tolist())
    groups = np.empty(n_rows, np.uint8)
    find_groups(numbers, groups)
    return groups


def keys_of_groups(keys: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return names of rows if they can define jackknife groups: integers of 64 bits or strings."""
    if keys is None or not all(map(_is_name, keys)):
        return None
    return keys


def _is_name(value: object) -> bool:
    """Return whether a value is a string or an integer of 64 bits."""
    if isinstance(value, int | np.integer):
        return -(1 << 63) <= int(value) < 1 << 63
    return isinstance(value, str)


def _number_of_text(cluster: str) -> int:
    """Return the integer whose digits a text is, or else a hash of the text."""
    if DIGITS.fullmatch(cluster) and _is_name(int(cluster)):
        return int(cluster)
    encoded = cluster.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(encoded, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _numbers_of(clusters: list[Any]) -> Ints:
    """Return for each row a number that depends only on the name of its cluster.

    A text of the digits of an integer is that integer, as texts of files may be.
    """
    number_of = dict[Any, int]()
    for row, cluster in enumerate(clusters):
        if not _is_name(cluster):
            message = f"{shown(cluster)} is neither a string nor an integer of 64 bits"
            raise InputError("clusters", message, row=row, value=cluster)
        if cluster not in number_of and isinstance(cluster, str):
            number_of[cluster] = _number_of_text(cluster)
    numbers = (number_of.get(cluster, cluster) for cluster in clusters)
    return np.fromiter(numbers, np.int64, len(clusters))
