"""Facts of rows, of labels and of all entries, from which measures are computed."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints


class Counts(NamedTuple):
    """Contingency table, float64 each: per row, per label or in total."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats


class Spread(NamedTuple):
    """Distinct numbers of predicted slots, and how many labels have each number.

    values : float64 (d,), ascending; n_labels : int64 (d,)
    """

    values: Floats
    n_labels: Ints


class Extremes(NamedTuple):
    """Lowest relevant and highest irrelevant score of rows or labels.

    Both are float64 (n,), NaN without pairs.
    """

    lowest: Floats
    highest: Floats


class FirstGroup(NamedTuple):
    """The first tie group with relevant labels, by row, int64 (n,) each.

    above, tied, n_relevant : numbers of labels above and in the group, and of relevant ones in it
    """

    above: Ints
    tied: Ints
    n_relevant: Ints


class TieSummary(NamedTuple):
    """Facts of tie groups per row; see `xmleval.kernels.rows.summarise_ties`."""

    worst: Ints
    n_reversed: Floats
    n_tied: Floats
    precision: Floats
    peak: Floats


class Profile(NamedTuple):
    """Groups of rows with the same number of relevant labels, or single rows.

    n_relevant : int64 (g,); weight : float64 (g,), total weight of each group;
    hits : float64 (g, depth), weight of hits at each rank; gains, ideals : the same for the inverse
    propensities of hits and of the ideal ranking, or None without propensities;
    cutoffs : over all orders of equal scores, hits and gains are down to each of these, expected;
    shared_hits, shared_gains : those at each rank, for discounted measures; None elsewhere.
    """

    n_relevant: Ints
    weight: Floats
    hits: Floats
    gains: Floats | None
    ideals: Floats | None
    cutoffs: Ints | None = None
    shared_hits: Floats | None = None
    shared_gains: Floats | None = None


class Curve(NamedTuple):
    """Curve statistics of all pooled entries, or of every label, float64 (n,).

    Counts of all pooled entries are arrays of Python integers, which cannot overflow.

    n_relevant, n_irrelevant : entries; right, level : (relevant, irrelevant) pairs in the right
    order, and tied; precision : sum over relevant entries of the precision at the end of their tie
    group;
    peak, threshold : highest F1 of a cut between tie groups, and the lowest score above the cut.
    """

    n_relevant: NDArray[Any]
    n_irrelevant: NDArray[Any]
    right: NDArray[Any]
    level: NDArray[Any]
    precision: Floats
    peak: Floats
    threshold: Floats


class Accepted(NamedTuple):
    """Risk of rows that are accepted by their largest score.

    area : mean over rows of the risk of those with at least their score; risk, threshold : risk of
    the fewest rows that reach a coverage, and the lowest largest score among them.
    """

    area: float
    risk: float
    threshold: float


class Binned(NamedTuple):
    """Sums of pairs of a score and a hit by bin, Python integers in units of `exact.SCALE`.

    n, hits, scores : object (bins,), weights of pairs and of hits, and weighted scores
    squares, logs : squared errors and logarithmic losses of all; 0 if no measure needs them
    """

    n: NDArray[Any]
    hits: NDArray[Any]
    scores: NDArray[Any]
    squares: int
    logs: int
