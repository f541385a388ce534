"""The few array records that cross module borders, and their dtypes.

A block is a run of consecutive instances in canonical form: labels in CSR order, ``ptr`` always starting
at 0. Everything below `xmleval.input` sees only these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Labels = NDArray[Any]  # int32, or int64 where there are more than 2^31 - 1 labels
Scores = NDArray[Any]  # float32 or float64, as given


class Truth(NamedTuple):
    """Label sets of some instances, also used for predicted sets.

    ptr : int64 (n + 1,); labels : int32 or int64 (t,), strictly increasing within an instance.
    """

    ptr: Ints
    labels: Labels


class Ranking(NamedTuple):
    """Listed labels of some instances, best first, or in any order where ``ordered`` is False.

    ptr : int64 (n + 1,); labels : (s,); scores : (s,) not increasing within an instance, or None;
    n_above : int64 (n,), how many entries rank above the labels that are not listed, the leading ones.
    Without order, earlier ones of equal scores rank above later ones.
    """

    ptr: Ints
    labels: Labels
    scores: Scores | None
    n_above: Ints
    ordered: bool = True


class Propensity(NamedTuple):
    """Inverse propensities of all labels, float64 (n_labels,), and the least and the largest of them."""

    values: Floats
    least: float
    most: float


class Block(NamedTuple):
    """Canonical input of consecutive instances; ``weight`` is float64 (n,), 0 or 2^-50..1, or None.

    ``pred`` holds given sets; or, in any order, those of a decision "listed" where unlisted labels compete.
    """

    truth: Truth
    ranking: Ranking | None
    pred: Truth | None
    weight: Floats | None
    first_row: int


class Counts(NamedTuple):
    """Entries of the contingency table, float64 each: per instance, per label or in total."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats


class Extremes(NamedTuple):
    """Lowest relevant and highest irrelevant scores, of rows or labels, float64 (n,); NaN without pairs."""

    lowest: Floats
    highest: Floats


class Profile(NamedTuple):
    """Groups of instances with equally many relevant labels, or single instances.

    n_relevant : int64 (g,); weight : float64 (g,), instances of each group or their weights;
    hits : float64 (g, depth), weight of hits at each rank; gains, ideals : the same for propensities of
    hits, and of the best labels, or None without propensities.
    """

    n_relevant: Ints
    weight: Floats
    hits: Floats
    gains: Floats | None
    ideals: Floats | None


class Curve(NamedTuple):
    """What curves of pooled scores say: of all entries together, or of each label, float64 (n,).

    Of all entries together, where counts may be of any size, they are arrays of Python integers.

    n_relevant, n_irrelevant : entries; right, level : (relevant, irrelevant) pairs in the right order, and
    tied; precision : sum over relevant entries of the precision at the end of their tie group;
    peak, threshold : largest F1 of a cut between tie groups, and the lowest score above the cut.
    """

    n_relevant: NDArray[Any]
    n_irrelevant: NDArray[Any]
    right: NDArray[Any]
    level: NDArray[Any]
    precision: Floats
    peak: Floats
    threshold: Floats


class Bracket(NamedTuple):
    """Exact numbers of (relevant, irrelevant) pairs: all, surely right, surely tied, and unknown."""

    pairs: int
    right: int
    level: int
    unknown: int


class Chunks(NamedTuple):
    """A vector that is read in pieces, because it may be larger than memory."""

    dtype: np.dtype[Any]
    size: int
    read: Callable[[], Iterator[NDArray[Any]]]


def label_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the narrowest integer type that holds every label id."""
    return np.dtype(np.int32 if n_labels <= np.iinfo(np.int32).max else np.int64)


def row_sizes(ptr: Ints) -> Ints:
    """Return how many entries each row has, int64 (n,), as `np.diff` does, which takes longer to start."""
    return ptr[1:] - ptr[:-1]


def as_score(value: float, scores: Scores) -> float:
    """Return a number rounded to the type of scores, as NumPy compares it with them."""
    return float(as_scores(np.float64(value), scores))


def as_scores(values: Any, scores: Scores) -> Scores:
    """Return float64 numbers rounded to the type of scores."""
    with np.errstate(over="ignore"):  # beyond float32 they are infinite
        rounded: Scores = values.astype(scores.dtype)
    return rounded
