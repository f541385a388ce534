"""Inverse propensities of labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xmleval.base.arrays import Bools, Ints, Labels, label_dtype
from xmleval.base.errors import (
    TRANSPOSED,
    InputError,
    Keyword,
    Message,
    counted,
    positive_integer,
    real_number,
)
from xmleval.base.keywords import refusing_unknown
from xmleval.input.argument_types import RowsLike
from xmleval.input.canonical import Truth
from xmleval.input.csr import Source, as_array
from xmleval.input.match_values import MatchedValues, match_truth
from xmleval.input.objects.named import dense_list
from xmleval.input.opened import check_labels, has_label_names, lists_names
from xmleval.input.plausibility import notes_on_counts
from xmleval.input.sets import set_rows
from xmleval.input.vectors import (
    Propensity,
    check_propensity,
    for_names,
    missing_names_error,
    read_label_values,
    sort_by_names,
)
from xmleval.kernels.labels import count_entries
from xmleval.labels.datasets import DEFAULT, published

CONSTANTS = ("dataset", "a", "b")  # arguments that define the model: a data set, or constants
LABELS_AT_A_TIME = 1 << 18
# Logarithms and powers of NumPy and the C library differ in the last bit between processors; these
# do not. Eleven digits more than a float64 has: results are rounded once. Overflow gives infinity.
EXACT = Context(prec=28, traps=[])


@dataclass(frozen=True)
class TrainingLabels:
    """Training labels, as `evaluate` takes them, and constants of the model of propensities."""

    labels: Any = None
    dataset: str | None = None
    a: float | None = None
    b: float | None = None

    @property
    def constants(self) -> dict[str, Any]:
        """The arguments of `inverse_propensity` that define the model, None for missing ones."""
        return {name: getattr(self, name) for name in CONSTANTS}


class InversePropensity(np.ndarray[tuple[int], np.dtype[np.float64]]):
    """Inverse propensities, float64 (n_labels,), with the constants of their model.

    Read-only, so that the constants stay valid; modify a ``copy()``.

    Attributes
    ----------
    constants : dict of str to float or str
        ``a``, ``b`` and ``n``, the number of training instances; ``dataset`` and ``source``, if a
        and b are published ones.
    label_counts : array of shape (n_labels,), or None
        Number of training instances of each label.
    label_names : list of str, or None
        Names of the labels, if they were given with names.
    numbered : bool
        Whether the caller numbered the labels, not the order in which training names them.
    """

    constants: dict[str, float | str]
    label_counts: Labels | None
    label_names: list[Any] | None
    numbered: bool

    def __array_finalize__(self, source: NDArray[Any] | None) -> None:
        """Pass the constants on to views, but not to new arrays such as those of ``empty_like``."""
        # a view may have them in another order
        self.label_names = None
        self.label_counts = None
        self.numbered = True
        self.constants = {}
        if self.base is not None:
            self.constants = getattr(source, "constants", {})

    def __array_wrap__(
        self, array: NDArray[Any], context: object = None, return_scalar: bool = False
    ) -> Any:
        """Return plain arrays: computed values no longer follow the model."""
        plain = np.asarray(array).view(np.ndarray)
        if return_scalar or plain.ndim == 0:
            return plain[()]
        return plain

    def for_labels(self, names: Sequence[Any]) -> InversePropensity:
        """Return the values of other labels, by name, also of labels that training lacks.

        ValueError is raised where labels had no names, or the model has no value for new ones.
        """
        if self.label_names is None or self.label_counts is None:
            raise ValueError(
                "inverse propensities of labels without names cannot be matched by name"
            )
        counts = for_names(self.label_counts, self.label_names, names, 0)
        return compute_propensities(counts, self.constants, [*names])


@refusing_unknown
def inverse_propensity(
    y_train: RowsLike | None = None,
    a: float | None = None,
    b: float | None = None,
    *,
    label_counts: ArrayLike | None = None,
    n_instances: int | None = None,
    n_labels: int | None = None,
    labels: Sequence[Any] | None = None,
    dataset: str | None = None,
) -> InversePropensity:
    """Estimate inverse propensities by the model of Jain, Prabhu & Varma 2016.

    ``q_j = 1 + C (N_j + B)^(-A)`` with ``C = (ln N - 1) (B + 1)^A``, where N_j of N training
    instances have label j.

    Parameters
    ----------
    y_train : sparse matrix or array, dense 0/1 array, label lists, dict, frame or file, optional
        Training labels (N, n_labels), as `evaluate` takes them; else ``label_counts`` and
        ``n_instances``.
    a, b : float, optional
        Constants of the model, by default 0.55 and 1.5.
    label_counts : array of shape (n_labels,), optional
        N_j of each label.
    n_instances : int, optional
        N; required with ``label_counts``.
    n_labels : int, optional
        Number of labels; required if ``y_train`` is lists of ids.
    labels : list of str, optional
        Names of all labels, by column. If ``y_train`` or this names labels, `evaluate` matches them
        by name.
    dataset : str, optional
        Instead of ``a`` and ``b``: a data set with published constants by its usual name, such as
        ``"LF-AmazonTitles-131K"``, or ``"wikipedia"`` (0.5, 0.4), ``"amazon"`` (0.6, 2.6) or
        ``"default"``.

    Returns
    -------
    InversePropensity
        Read-only float64 array of shape (n_labels,), values at least 1.

    Raises
    ------
    ValueError
        If N is 2 or less (q would be below 1), a count is not an integer within 0..N, a or b is out
        of range, or nothing is published for the data set.

    References
    ----------
    Jain, Prabhu & Varma 2016, "Extreme multi-label loss functions ...", KDD, section 4.

    Examples
    --------
    >>> q = inverse_propensity(label_counts=[0, 1], n_instances=15511)
    >>> [round(float(value), 4) for value in q]
    [12.4551, 9.6493]
    """
    train = None
    if y_train is not None:
        train = match_truth("y_train", y_train, n_labels, labels)
    estimate = _estimate(train, a, b, label_counts, n_instances, n_labels, labels, dataset)
    if train is not None:
        for note in (*train.notes, *_notes_on_ids(estimate)):
            warnings.warn(note, stacklevel=3)
    return estimate


class _TrainingCounts(NamedTuple):
    """Numbers of training instances by label and in all; names as in `InversePropensity`."""

    counts: NDArray[Any]
    n_instances: int
    label_names: list[Any] | None
    numbered: bool


def _estimate(
    train: MatchedValues | None,
    a: float | None = None,
    b: float | None = None,
    label_counts: ArrayLike | None = None,
    n_instances: int | None = None,
    n_labels: int | None = None,
    labels: Sequence[Any] | None = None,
    dataset: str | None = None,
) -> InversePropensity:
    """Return inverse propensities of training labels, or of their counts."""
    a, b, where = _settle_constants(a, b, dataset)
    if (train is None) == (label_counts is None):
        raise InputError("y_train", "give either y_train or label_counts with n_instances")
    if train is None:
        training = _check_counts(label_counts, n_instances, n_labels, labels)
    elif n_instances is None:
        training = _count_training(train)
    else:
        raise InputError(
            "n_instances", "only with label_counts; y_train has its own number of rows"
        )
    if training.n_instances <= 2:
        instances = counted(training.n_instances, "training instances")
        raise InputError("n_instances", f"{instances}; the model needs 3 or more")
    _refuse_counts(training.counts, training.n_instances)
    constants: dict[str, float | str] = {"a": a, "b": b, "n": float(training.n_instances)}
    constants.update(where)
    return compute_propensities(training.counts, constants, training.label_names, training.numbered)


def _settle_constants(
    a: float | None, b: float | None, dataset: str | None
) -> tuple[float, float, dict[str, str]]:
    """Return a and b, and where they are published."""
    if dataset is not None:
        if (a, b) != (None, None):
            raise InputError("dataset", "give either the data set or a and b")
        constants = published(dataset)
        return constants.a, constants.b, constants.where()
    checked_a, checked_b = DEFAULT
    if a is not None:
        checked_a = real_number("a", a)
    if b is not None:
        checked_b = real_number("b", b)
    return checked_a, checked_b, {}


def _count_training(train: MatchedValues) -> _TrainingCounts:
    """Count the training instances by label."""
    truth = set_rows("y_train", train.truth, train.n_labels)
    counts = count_labels_of(truth)
    return _TrainingCounts(counts, truth.n_rows, train.naming.label_names, train.naming.closed)


def _check_counts(
    label_counts: ArrayLike | None,
    n_instances: int | None,
    n_labels: int | None,
    labels: Sequence[Any] | None,
) -> _TrainingCounts:
    """Return counts with their labels, or refuse shapes and numbers that do not fit."""
    column = as_array("label_counts", label_counts)
    names = None
    if labels is not None:
        names = check_labels(labels, column.size)
    counts = column
    if column.ndim == 2 and 1 in column.shape:  # sums over the rows of a sparse matrix
        counts = column.reshape(-1)
    if counts.ndim != 1:
        raise InputError("label_counts", f"shape {column.shape} is not one count per label")
    if n_labels is not None and counts.size != n_labels:
        numbers = f"{counted(counts.size, 'counts')} for {counted(n_labels, 'labels')}"
        raise InputError("label_counts", numbers)
    if n_instances is None:
        raise InputError("n_instances", "needed with label_counts")
    n_instances = positive_integer("n_instances", n_instances, at_least=0)
    return _TrainingCounts(counts, n_instances, names, numbered=True)


def _refuse_counts(counts: NDArray[Any], n_instances: int) -> None:
    """Refuse counts that are fractions, or not in 0..``n_instances``; integers would wrap."""
    if counts.dtype.kind == "f":
        is_fraction = ~np.isfinite(counts) | (counts != np.floor(counts))
        _refuse_where(is_fraction, counts, "an integer")
    is_outside = (counts < 0) | (counts > n_instances)
    _refuse_where(is_outside, counts, f"in 0..{n_instances}")


def _refuse_where(is_bad: Bools, counts: NDArray[Any], requirement: str) -> None:
    """Refuse the first bad count, if any."""
    bad = np.flatnonzero(is_bad)
    if bad.size:
        label = bad[0]
        reason = f"label {label}: count {counts[label]} is not {requirement}"
        raise InputError("label_counts", reason)


def compute_propensities(
    counts: Any,
    constants: Mapping[str, float | str],
    names: list[Any] | None,
    numbered: bool = True,
) -> InversePropensity:
    """Return the inverse propensities of labels from valid numbers of training instances."""
    a, b, n_instances = (float(constants[name]) for name in ("a", "b", "n"))
    distinct = np.unique(counts)
    is_a_valid = 0 <= a < np.inf
    is_b_valid = -1 < b < np.inf and bool((distinct + b > 0).all())
    for name, is_valid in (("a", is_a_valid), ("b", is_b_valid)):
        if not is_valid:
            raise InputError(name, f"a={a:g}, b={b:g}: the model needs a >= 0, N_j + b > 0")
    powers = np.array([_power(int(count) + b, -a) for count in distinct.tolist()])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        scale = np.float64(float(EXACT.ln(int(n_instances))) - 1.0) * _power(b + 1.0, a)
        powers = 1.0 + scale * powers
    weights = np.empty(counts.size)
    # far less memory than numbers of all labels
    for start in range(0, counts.size, LABELS_AT_A_TIME):
        piece = counts[start : start + LABELS_AT_A_TIME]
        weights[start : start + piece.size] = powers[np.searchsorted(distinct, piece)]
    if not np.isfinite(weights).all():
        raise InputError("a", f"a={a:g}, b={b:g}: inverse propensities overflow")
    q: InversePropensity = weights.view(InversePropensity)
    q.constants = {**constants}
    q.label_names = names
    q.numbered = numbered
    q.label_counts = np.array(counts, label_dtype(int(n_instances)))
    q.flags.writeable = q.label_counts.flags.writeable = False
    return q


def resolve_propensities(
    q: object,
    training: TrainingLabels,
    n_labels: int,
    names: list[Any] | None,
    in_order: bool = True,
) -> tuple[Propensity | None, list[str]]:
    """Return inverse propensities, or estimate them from training labels; and notes.

    n_labels, names : number and names of the labels to return values for
    in_order : whether the caller knows the order of the labels
    """
    _refuse_both(q, training)
    if q is not None:
        q, notes = read_label_values("inverse_propensity", q, names)
        values = sort_by_names("inverse_propensity", q, names, in_order)
        return check_propensity(values, n_labels), notes
    if training.labels is None:
        return None, []
    estimate, notes = _estimate_from(training, n_labels, in_order)
    if names is None and estimate.numbered and estimate.size != n_labels:
        reason = f"{counted(estimate.size, 'labels')}; {n_labels} were expected"
        if estimate.constants["n"] == n_labels:
            reason += f"; it {TRANSPOSED}; give its .T"
        raise InputError("y_train", reason)
    _, notes_on_names = read_label_values("y_train", estimate, names)
    notes += notes_on_names
    values = sort_by_names("y_train", estimate, names, in_order)
    return check_propensity(values, n_labels), notes


def _refuse_both(q: object, training: TrainingLabels) -> None:
    """Refuse inverse propensities with training labels or constants, and constants alone."""
    for name, value in {"y_train": training.labels, **training.constants}.items():
        if value is not None and q is not None:
            keyword = Keyword("inverse_propensity")
            raise InputError(name, Message("given together with ", keyword, "; choose one"))
        if value is not None and training.labels is None:
            raise InputError(name, Message("needs ", Keyword("y_train"), ", the training labels"))


def _estimate_from(
    training: TrainingLabels, n_labels: int, in_order: bool
) -> tuple[InversePropensity, list[str]]:
    """Return the inverse propensities of training labels, or those passed for them; and notes."""
    y_train = training.labels
    constants = training.constants
    has_constants = any(value is not None for value in constants.values())
    if isinstance(y_train, InversePropensity) and not has_constants:  # as of several models at once
        return y_train, []
    if not in_order and not lists_names("y_train", y_train):
        raise missing_names_error("y_train")
    train = _match_training(y_train, n_labels, in_order)
    estimate = _estimate(train, **constants)
    return estimate, [*train.notes, *_notes_on_ids(estimate)]


def _notes_on_ids(estimate: InversePropensity) -> list[str]:
    """Return a note if the ids of training labels without names seem to count from 1."""
    if estimate.label_names is not None or estimate.label_counts is None:
        return []
    return notes_on_counts("y_train", estimate.label_counts)


def _match_training(y_train: object, n_labels: int, in_order: bool) -> MatchedValues:
    """Return training labels for a truth of ``n_labels``, which may have no names.

    If labels are not ``in_order``, their ids are names. Nested lists of zeros and ones, one for
    each label, are an array, as in a truth.
    """
    if not in_order or has_label_names("y_train", y_train):
        return match_truth("y_train", y_train, None)
    if n_labels > 1:
        y_train = dense_list("y_train", y_train, n_labels)
    return match_truth("y_train", y_train, n_labels)


def _power(base: float, exponent: float) -> float:
    """Return a positive number to some power, rounded once."""
    return float(EXACT.exp(EXACT.multiply(Decimal(exponent), EXACT.ln(Decimal(base)))))


def count_labels_of(truth: Source[Truth], counts: Ints | None = None) -> Ints:
    """Return how many instances have each label, added in place to ``counts``, if any.

    Counts of labels that do not occur are not written: of very many labels, most take no memory.
    """
    if counts is None:
        counts = np.zeros(truth.n_labels, np.int64)
    for block in truth.blocks():
        count_entries(block.labels, counts)
    return counts
