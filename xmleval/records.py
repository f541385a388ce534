"""Array records shared between modules, and their dtypes.

A block holds consecutive rows in canonical form: labels in CSR order, ``ptr`` starting at 0. Code below
`xmleval.input` sees only these records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 1000  # of labels, or of rows

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Labels = NDArray[Any]  # int32, or int64 with more than 2^31 - 1 labels
Scores = NDArray[Any]  # float32 or float64, as given

LEAST_GAIN, MOST_GAIN = 2.0**-30, 2.0**32  # so that sums over a row are exact

NARROW, WIDE = np.dtype(np.int32), np.dtype(np.int64)  # of labels

MOST_ENTRIES = 1 << 62  # rows times labels, where measures count all entries


class Truth(NamedTuple):
    """Label sets of rows, relevant or predicted.

    ptr : int64 (n + 1,); labels : int32 or int64 (t,), strictly increasing within a row.
    gains : float64 (t,), 0 or `LEAST_GAIN`..`MOST_GAIN` of judged labels, of which those with a positive gain
    are relevant; None where all are.
    """

    ptr: Ints
    labels: Labels
    gains: Floats | None = None


LEAST_STEPS = 6  # from a score of a row to the next, fewer of which may all rise by chance


class Given(NamedTuple):
    """What was seen of scores before they were ranked and cut to a depth.

    n_listed : number of entries; binary : whether every score is 0 or 1; rises, falls : whether scores of
    some row rise or fall in a list, whose order the caller chose; missing, highest : what `look_at_ids`
    returns, of all cells of a matrix that id 0 is there.
    """

    n_listed: int
    binary: bool
    rises: bool = False
    falls: bool = False
    missing: int = 0
    highest: int = -1


class Ranking(NamedTuple):
    """Listed labels of rows, best first, or in any order if ``ordered`` is False.

    ptr : int64 (n + 1,); labels : (s,); scores : (s,) nonincreasing within a row, or None;
    n_above : int64 (n,), number of leading entries that rank above the unlisted labels.
    If not ordered, earlier entries of equal scores rank first.
    given : what was seen, where it was
    cut_ties : labels that were cut from the end of each row and score as its last one, None if there are none
    tie_order : (n_labels,), place of each label among unlisted ones, where they compete; None: by id
    """

    ptr: Ints
    labels: Labels
    scores: Scores | None
    n_above: Ints
    ordered: bool = True
    given: Given | None = None
    cut_ties: Truth | None = None
    tie_order: Labels | None = None


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


class Groups(NamedTuple):
    """Groups of labels or rows: names, the group of each, and any ranges of labels such as "1-10".

    of : uint16 (n_labels,), or int64 (n,) of rows
    """

    names: list[str]
    of: NDArray[Any]
    ranges: Sequence[str] = ()


class Hierarchy(NamedTuple):
    """Labels and their ancestors, in a CSR row of each label, itself first.

    ptr : int64 (n_labels + 1,); labels : (t,), below ``n_nodes``: labels, and ancestors that are none
    edges : int64 (e, 2), each child and parent once, sorted; digest : hexadecimal SHA-256 of them
    top : what is an ancestor of all labels, by name or number; None if nothing is
    """

    ptr: Ints
    labels: Labels
    n_nodes: int
    edges: Ints
    digest: str
    top: Any

    def of(self, labels: Ints) -> Hierarchy:
        """Return the rows of some labels, which are numbered anew; their ancestors keep their numbers."""
        sizes = np.diff(self.ptr)[labels]
        ptr = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(self.ptr[labels] - ptr[:-1], sizes) + np.arange(ptr[-1])
        return self._replace(ptr=ptr, labels=self.labels[at])

    def describe(self) -> str:
        """Return the number of edges and the beginning of their digest."""
        return f"{len(self.edges)} edges, SHA-256 {self.digest[:12]}"


class Facts(NamedTuple):
    """The truth of some rows, and what is known of it by name, for all models that are compared on them."""

    truth: Truth
    known: dict[str, Any]


class Block(NamedTuple):
    """Canonical input of consecutive rows; ``weight`` is float64 (n,), 0 or 2^-50..1, or None.

    ``pred`` holds given sets; or, in any order, those of a decision "listed" if unlisted labels have a score.
    ``by_id``: whether the caller numbered the labels, which have no names. ``n_reachable``: int64 (n,),
    number of relevant labels of each row that can be ranked, None where all can. ``jackknife``: uint8 (n,),
    where rows have clusters or keys, None where the number of a row decides. ``row_groups``: the groups of
    rows that have results of their own, None without any. ``judged``: the labels that were judged, of
    which ``truth`` has the relevant ones, where the truth holds grades. ``unknown``: whether ``ranking`` or
    ``pred`` may hold unknown labels, by ids from the number of labels upward.
    """

    truth: Truth
    ranking: Ranking | None
    pred: Truth | None
    weight: Floats | None
    first_row: int
    by_id: bool = False
    n_reachable: Ints | None = None
    row_groups: Groups | None = None
    jackknife: Bytes | None = None
    judged: Truth | None = None
    unknown: bool = False
    facts: Facts | None = None


class Counts(NamedTuple):
    """Contingency table, float64 each: per row, per label or in total."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats


class Spread(NamedTuple):
    """Distinct numbers of predicted slots, float64 (d,), ascending, and how many labels have each, int64."""

    values: Floats
    n_labels: Ints


class Extremes(NamedTuple):
    """Lowest relevant and highest irrelevant score of rows or labels, float64 (n,); NaN without pairs."""

    lowest: Floats
    highest: Floats


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
    propensities of hits and of the ideal ranking, or None without propensities.
    """

    n_relevant: Ints
    weight: Floats
    hits: Floats
    gains: Floats | None
    ideals: Floats | None


class Curve(NamedTuple):
    """Curve statistics of all pooled entries or of each label, float64 (n,).

    Counts of all pooled entries are arrays of Python integers, which cannot overflow.

    n_relevant, n_irrelevant : entries; right, level : (relevant, irrelevant) pairs in the right order, and
    tied; precision : sum over relevant entries of the precision at the end of their tie group;
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

    area : mean over rows of the risk of those with at least their score; risk, threshold : risk of the fewest
    rows that reach a coverage, and the lowest largest score among them.
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


class Reliability(NamedTuple):
    """Bins of scores, float64 (bins,) each: ends, weight of pairs, mean score and share of hits or NaN."""

    lower: Floats
    upper: Floats
    n: Floats
    mean_score: Floats
    hit_rate: Floats


class Chunks(NamedTuple):
    """A vector read in pieces because it may exceed memory."""

    dtype: np.dtype[Any]
    size: int
    read: Callable[[], Iterator[NDArray[Any]]]


def known_of(block: Block) -> dict[str, Any]:
    """Return what is known of the truth of a block, to which may be added."""
    shared = block.facts is not None and block.facts.truth is block.truth
    return block.facts.known if shared and block.facts else {}


def label_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the narrowest integer type that holds every label id."""
    return NARROW if n_labels < 1 << 31 else WIDE


def row_sizes(ptr: Ints) -> Ints:
    """Return the number of entries of each row, int64 (n,); less call overhead than `np.diff`."""
    return ptr[1:] - ptr[:-1]


def as_score(value: float, scores: Scores) -> float:
    """Return a number rounded to the dtype of scores, as in NumPy comparisons."""
    return float(as_scores(np.float64(value), scores))


def as_scores(values: Any, scores: Scores) -> Scores:
    """Return float64 numbers rounded to the dtype of scores."""
    with np.errstate(over="ignore"):  # overflow to infinity in float32
        rounded: Scores = values.astype(scores.dtype)
    return rounded
