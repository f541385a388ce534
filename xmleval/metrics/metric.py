"""The record that declares a measure. Everything else reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from xmleval.conventions import Conventions
from xmleval.records import Floats, Ints


class Setting(NamedTuple):
    """What a measure's formula may depend on besides the data; ``k`` is None for the whole ranking."""

    k: int | None
    params: dict[str, float]
    conventions: Conventions
    n_labels: int


class Param(NamedTuple):
    """A parameter: a value to show, and the integers it may be; any number from 0 on where None."""

    example: float
    allowed: range | None = None


Best = Callable[[Ints, Setting], Floats]


def one(n_relevant: Ints, setting: Setting) -> Floats:
    """1."""
    return np.ones(n_relevant.size)


def zero(n_relevant: Ints, setting: Setting) -> Floats:
    """0."""
    return np.zeros(n_relevant.size)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One measure: its names, the state it reads, its formula over that, and what is known about it.

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
    state : str or dict of str to str
        Module of `xmleval.states` that counts for it, by average where averages differ. Empty for a measure
        that is computed from its ``parts``.
    value : callable
        The formula, ``value(what the state gives, setting)``; the state's docstring says what it gives.
    parts : tuple of str
        Measures whose values the formula is given instead.
    table : {"hits", "gains", "gains/ideals"}
        Of a `RankProfile`, which table the formula is given; the last is a ratio of sums over rows.
    tied : Metric, optional
        The record that replaces this one where the convention ``ndcg_ties`` is "average".
    needs : tuple of str
        Inputs: of "scores", "scores of entries", "equal weights", "sets" and "propensity".
    averages : tuple of str
        Averages the measure has; empty for none.
    cutoff : {"none", "required", "optional", "all"}
        Whether the name takes ``@k``, or ``@all`` for the whole ranking.
    params : dict of str to Param
        Parameters in parentheses.
    empty : {"", "zero", "undefined"}
        How the convention ``empty`` applies: not at all, to a formula that is 0 without relevant
        labels, or to one that is 0/0 then.
    scaled : bool
        Whether differences of scores count, and not only their order: values have their scale.
    whole : bool
        Whether the whole ranking counts, not only its first k labels.
    every_label : bool
        Whether every label of a row counts, also those that are neither relevant nor listed.
    gapless : bool
        Whether it is undefined where labels have no score.
    bounded : bool
        Whether the lowest and the highest value over all completions of the lists can be told.
    pairs_alone : bool
        Whether the formula reads nothing but pairs of a curve, which cost less.
    threshold : bool
        Whether the micro average is reached at a threshold that is worth reporting.
    direction : {"up", "down", "none"}
        Which values are better.
    range : tuple of float
        Smallest and largest possible value.
    best : callable, optional
        Best attainable value for a truth: row values from the numbers of relevant labels. Measures of sets
        reach it with the relevant sets themselves and 0/0 = 1, label coverage where no instance has more
        than k relevant labels. None where there is no such value, or where it depends on the propensities.
    conventions : tuple of str
        Fields of `Conventions` that matter to the value.
    """

    name: str
    title: str
    symbol: str
    family: str
    formula: str
    reference: str
    state: str | Mapping[str, str] = field(default="", hash=False)
    value: Callable[..., Any]
    parts: tuple[str, ...] = ()
    table: str = "hits"
    tied: Metric | None = None
    needs: tuple[str, ...] = ()
    averages: tuple[str, ...] = ()
    cutoff: str = "none"
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)
    empty: str = ""
    scaled: bool = False
    whole: bool = False
    every_label: bool = False
    gapless: bool = False
    bounded: bool = False
    pairs_alone: bool = False
    threshold: bool = False
    direction: str = "up"
    range: tuple[float, float] = (0.0, 1.0)
    best: Best | None = None
    conventions: tuple[str, ...] = ()


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
