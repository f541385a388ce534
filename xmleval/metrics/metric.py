"""The record that declares a measure; everything else reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.conventions import Conventions


class Setting(NamedTuple):
    """Settings that a formula depends on; ``k`` is None for the whole ranking."""

    k: int | None
    params: dict[str, float]
    conventions: Conventions
    n_labels: int
    propensity: Floats | None = None  # inverse propensities of labels, if the measure reads any


class Param(NamedTuple):
    """A parameter: an example, and the values allowed.

    These are numbers of at least 0: of ``allowed`` integers, shares above 0, numbers between 0 and
    1 (``below_one``), or from 0 to 1 (``unit``), if any is given. With ``default``, the
    example is the value where none is given.
    """

    example: float
    allowed: range | None = None
    default: bool = False
    share: bool = False
    below_one: bool = False
    unit: bool = False


Best = Callable[[Ints, Setting], Floats]


def best_one(n_relevant: Ints, setting: Setting) -> Floats:
    """1."""
    return np.ones(n_relevant.size)


def best_zero(n_relevant: Ints, setting: Setting) -> Floats:
    """0."""
    return np.zeros(n_relevant.size)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator != 0)


def share(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; undefined where the denominator is 0."""
    quotients: Floats = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotients, where=denominator != 0)
    return quotients


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One measure: names, state, formula and properties."""

    name: str  # name in the grammar `name[.average][(param=value)][@k]`
    title: str  # on one line
    symbol: str  # as printed, with `{k}`, `{average}` and parameters to fill in
    family: str  # such as "at k"
    formula: str  # in plain text; symbols as in docs/measures.md
    reference: str  # source of the formula
    # module of `xmleval.states` that it reads, by average where averages differ; empty for a
    # measure that is computed from its `parts`
    state: str | Mapping[str, str] = field(default="", hash=False)
    # module that it reads instead where rows have weights; empty for the same
    weighted_state: str = ""
    # the formula: a function of the state's result (see the state's docstring) and a `Setting`
    value: Callable[..., Any]
    parts: tuple[str, ...] = ()  # measures whose values the formula takes instead of a state
    # {"hits", "gains", "gains/ideals", "spread", "slots"}: which table of a `RankProfile` the
    # formula takes; "gains/ideals" gives a ratio of sums over rows. Of `LabelTotals`: "spread"
    # takes the `Spread` of predicted slots over labels, "slots" the numbers of training rows of
    # labels, and returns a whole number for each, which is averaged over slots
    table: str = "hits"
    # formula used instead, on the state "row_sums", where the truth holds grades, by the convention
    # `gains`, or equal scores share discounts, by `ties`
    by_row: Callable[..., Any] | None = None
    # formula used instead, on the state `expected_state`, where values are expected over all orders
    # of equal scores, by `ties`; of a `RankProfile`, whose tables are then of expected hits, the
    # formula of row values alone
    expected: Callable[..., Any] | None = None
    expected_state: str = "row_sums"
    discounted: bool = False  # of a `RankProfile`: whether the rank of a hit matters within first k
    # required inputs: "scores", "entry scores", "probabilities", "sets", "propensity", "training"
    # or "grades"
    needs: tuple[str, ...] = ()
    averages: tuple[str, ...] = ()
    # {"none", "required", "optional", "all"}: whether the name takes `@k`, or `@all` for the whole
    # ranking
    cutoff: str = "none"
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)  # in parentheses
    # {"", "zero", "undefined"}: value of the formula without relevant labels, for the convention
    # `empty`: 0 or 0/0; "" if the convention does not apply
    empty: str = ""
    # {"", "hits", "any", "first", "order"}: what of the order of equal scores it depends on: which
    # labels are among those that it reads, whether any relevant one is, the rank of the first
    # relevant one, or all ranks
    ties: str = ""
    # whether it depends on which labels are relevant, not on grades or predictions alone
    of_relevance: bool = True
    whole: bool = False  # whether it depends on the whole ranking, not only on the first k labels
    every_label: bool = False  # whether it depends on labels that are neither relevant nor listed
    gapless: bool = False  # whether it is undefined where labels have no score
    # averages, "" for none, of which bounds over all scores of unlisted labels can be computed
    bounded: tuple[str, ...] = ()
    # whether the formula needs only the pair counts of a curve, which are cheaper
    pairs_alone: bool = False
    # {"", "recall", "precision", "fallout", "area"}: what it asks of a curve of pooled scores
    # beside what every sweep gives: the largest recall with a precision, the largest precision with
    # a recall, the smallest false positive rate with a recall, or the area up to a false positive
    # rate, which its parameter names. `peak`, `threshold` and `precision` of the curve that the
    # formula gets are about that
    curve_query: str = ""
    # whether the report gives the threshold at which the micro average is reached
    threshold: bool = False
    # averages, "" for none, that the jackknife gives no valid standard error of: of extremes,
    # maxima over thresholds and distinct counts
    unsmooth: tuple[str, ...] = ()
    direction: str = "up"  # {"up", "down", "none"}: which values are better
    range: tuple[float, float] = (0.0, 1.0)  # smallest and largest possible value
    # best attainable row values, from the number of relevant labels. Measures of sets reach it with
    # the relevant sets and 0/0 = 1, label coverage if no row has more than k relevant labels. None
    # if there is no such value, or if it depends on the propensities
    best: Best | None = None
    conventions: tuple[str, ...] = ()  # fields of `Conventions` that affect the value

    @property
    def has_orders(self) -> bool:
        """Whether its values can be expected over all orders of equal scores."""
        return self.expected is not None or self.state == "rank_profile"

    @property
    def general(self) -> bool:
        """Whether the group ``all`` has it: it takes no parameter, and scores of any kind."""
        return not self.params and "probabilities" not in self.needs


def settle_empty(
    values: Floats, weight: Floats | float, n_relevant: Ints, empty: str, rule: str
) -> Floats:
    """Set values without relevant labels, by row or group; ``rule`` is the convention ``empty``."""
    if not empty:
        return values
    if rule == "skip":
        settled: Floats | float = np.nan
    elif rule == "one" and empty == "undefined":
        settled = weight
    else:
        settled = 0.0
    return np.where(n_relevant == 0, settled, values)
