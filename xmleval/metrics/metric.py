"""The record that declares a measure. Everything else reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from xmleval.conventions import Conventions
from xmleval.pooled.curves import Curve
from xmleval.records import Floats, Ints
from xmleval.states.key_counts import Bracket
from xmleval.states.rank_profile import Profile
from xmleval.view.view import Counts, Extremes, View


class Setting(NamedTuple):
    """What a measure's formula may depend on besides the data."""

    k: int | None
    params: dict[str, float]
    conventions: Conventions
    n_labels: int


class Param(NamedTuple):
    """A parameter: a value to show, and the integers it may be; any number from 0 on where None."""

    example: float
    allowed: range | None = None


Terms = Callable[[Floats, Profile, Setting], Floats]
Rows = Callable[[View, Setting], Floats]
CountsValue = Callable[[Counts, Setting], Floats]
CurveValue = Callable[[Curve, Setting], Floats]
ExtremesValue = Callable[[Extremes, Setting], Floats]
Interval = Callable[[Bracket, Setting], tuple[float, float]]
Best = Callable[[Ints, Setting], Floats]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One measure: its names, its formula over one statistic, and what is known about it.

    Exactly one of the formulas is given; it decides which statistic the measure reads.

    Parameters
    ----------
    name : str
        Name in the grammar ``name[.average][(param=value)][@k]``.
    title, symbol : str
        One line for people, and the printed symbol (``{k}``, ``{average}`` and parameters filled in).
    family : str
        Group of the printed table.
    formula : str
        Formula in plain text; R relevant labels, h predicted ones, l labels.
    reference : str
        Where the formula comes from.
    terms : callable, optional
        Sum of the row values of each group of a `Profile`, from a table of hits or gains.
    table : {"hits", "gains", "gains/ideals"}
        Which table ``terms`` is given; the last is a ratio of sums over rows.
    rows : callable, optional
        Row values from `View`; NaN leaves a row out.
    counts : callable, optional
        Value of a contingency table, for rows, labels and totals alike.
    labels : callable, optional
        Value of a label's contingency table, NaN where it is left out of the mean over labels.
    curve : callable, optional
        Value from curves of pooled scores, of all cells together and of labels alike.
    bracket : callable, optional
        Least and largest value from scores counted by their leading bits; the value is their middle.
    extremes : callable, optional
        Value from lowest relevant and highest irrelevant scores, of rows and labels alike.
    combine, parts : callable and tuple of str, optional
        Value from the values of other measures, named by their specs.
    distinct : callable, optional
        Value from the number of distinct label sets and of rows.
    tied_rows : callable, optional
        Replaces the formula where the convention ``ndcg_ties`` is "average".
    averages : tuple of str
        Averages the measure has; empty for none.
    cutoff : {"none", "required", "optional"}
        Whether the name takes ``@k``.
    params : dict of str to Param
        Parameters in parentheses.
    empty : {"", "zero", "undefined"}
        How the convention ``empty`` applies: not at all, to a formula that is 0 without relevant
        labels, or to one that is 0/0 then.
    scaled : bool
        Whether differences of scores count, and not only their order: values have their scale.
    whole : bool
        Whether the whole ranking counts, not only its first k labels.
    bounded : bool
        Whether the least and the largest value over all completions of the lists can be told.
    pairs_alone : bool
        Whether ``curve`` reads nothing but pairs, which cost less.
    direction : {"up", "down", "none"}
        Which values are better.
    range : tuple of float
        Smallest and largest possible value.
    best : float or callable, optional
        Best attainable value for a truth: a number, or row values from the numbers of relevant labels.
        Measures of sets reach it with the relevant sets themselves and 0/0 = 1, label coverage where
        no instance has more than k relevant labels. None where there is no such value, or where it
        depends on the propensities.
    conventions : tuple of str
        Fields of `Conventions` that matter to the value.
    """

    name: str
    title: str
    symbol: str
    family: str
    formula: str
    reference: str
    terms: Terms | None = None
    table: str = "hits"
    rows: Rows | None = None
    counts: CountsValue | None = None
    labels: CountsValue | None = None
    curve: CurveValue | None = None
    bracket: Interval | None = None
    extremes: ExtremesValue | None = None
    combine: Callable[[list[float], Setting], float] | None = None
    parts: tuple[str, ...] = ()
    distinct: Callable[[int, int], float] | None = None
    tied_rows: Rows | None = None
    averages: tuple[str, ...] = ()
    cutoff: str = "none"
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)
    empty: str = ""
    scaled: bool = False
    whole: bool = False
    bounded: bool = False
    pairs_alone: bool = False
    direction: str = "up"
    range: tuple[float, float] = (0.0, 1.0)
    best: float | Best | None = None
    conventions: tuple[str, ...] = ()

    def needs(self, average: str | None, k: int | None) -> tuple[str, ...]:
        """Return which inputs a value needs: of "scores", "sets" and "propensity"."""
        if self.family == "statistics":
            return ()
        if self.curve or self.bracket:
            return ("scores", "equal weights", "cell scores")
        if self.extremes:
            return ("scores", "cell scores")
        if self.table != "hits":
            return ("scores", "propensity")
        if self.family == "sets":
            return ("sets",) if k is None else ("scores",)
        return ("scores",)


def settle_empty(values: Floats, weight: Floats | float, n_relevant: Ints, empty: str, rule: str) -> Floats:
    """Give instances (or groups) without relevant labels the value that the convention asks for.

    ``empty`` is the record's field of that name, ``rule`` the convention's: "zero", "skip" or "one".
    """
    if not empty:
        return values
    if rule == "skip":
        settled: Any = np.nan
    elif rule == "one" and empty == "undefined":
        settled = weight
    else:
        settled = 0.0
    return np.where(n_relevant == 0, settled, values)
