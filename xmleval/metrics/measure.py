"""The record that declares a measure; everything else reads it."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import shown
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.kernels.own_rows import FormulaOfRow
    from xmleval.view.block_rows import BlockRows

OWN = "own"  # family of measures that are not in the table
OWN_NAME = re.compile(r"[a-z][a-z0-9_]*(-[a-z0-9_]+)+")
NAME_OF_DATA = re.compile(r"[a-z][a-z0-9_]*")
DIRECTIONS = ("up", "down", "none")
CUTOFFS = ("none", "required", "optional")
NEEDS = ("scores", "entry scores", "sets", "grades", "hierarchy", "propensity")
EMPTY = ("", "zero", "undefined")
FORMULAS = ("rows", "row", "total", "value")
ROUNDING = 1e-9
LEVEL = "rel"  # a parameter of many measures, which sets the level of relevance
ROW_SUMS = "row_sums"
ROW_VECTORS = "row_vectors"
STATES_OF_FORMULAS = ("label_totals", "rank_profile", "score_runs")
AVERAGES = ("macro", "micro", "weighted")


class Param(NamedTuple):
    """A parameter of a measure: an example, and the numbers that are allowed.

    Parameters
    ----------
    example : float
        An example of its value.
    allowed : range, optional
        Integers that are allowed; by default, any number of at least 0.
    default : bool, default False
        Whether the example is the value where none is given.
    share : bool, default False
        Whether it must be above 0 and at most 1.
    below_one : bool, default False
        Whether it must be above 0 and below 1.
    unit : bool, default False
        Whether it must be from 0 to 1.
    words : tuple of str, optional
        Words of which the parameter is one; its number is the place of the word.

    Examples
    --------
    >>> xmleval.Param(7.0, default=True).example
    7.0
    """

    example: float
    allowed: range | None = None
    default: bool = False
    share: bool = False
    below_one: bool = False
    unit: bool = False
    words: tuple[str, ...] = ()

    def text(self, value: float) -> str:
        """Return a value as it is written in a name.

        Parameters
        ----------
        value : float
            A value that is allowed.

        Examples
        --------
        >>> xmleval.Param(7.0).text(2.5)
        '2.5'
        """
        if self.words:
            return self.words[int(value)]
        return str(int(value)) if value.is_integer() else repr(value)


Best = Callable[[Ints, Setting], Floats]
STATES_OF_ROWS = ("rank_profile", "row_sums", "row_ratios")  # that read no labels across rows


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


def no_value(*facts: object) -> Any:
    """Stand for the formula of a measure that has none of a state."""
    raise NotImplementedError


@dataclass(frozen=True)
class Measure:
    """A measure: its name, its formula and what these need to be computed everywhere.

    A measure is given in ``metrics=`` next to names, and afterwards its name is read wherever names
    of measures are. Streaming, merging, threads, files, workers, intervals, comparisons, groups,
    tables and pages follow from the record. The fields below are those that a measure of your own
    may need; the measures of xmleval are records of this class, too, and use further ones.

    Parameters
    ----------
    name : str
        Two words or more, joined by hyphens: ``"lab-novelty"``. Names of xmleval never have a
        hyphen, so that no later version can clash. With a cutoff or parameters it is used as
        ``"lab-novelty@5"`` or ``"lab-recall(days=7)@5"``.
    rows : callable, optional
        Formula of the rows of a block: a function of a `BlockRows`, which returns the value of each
        row, float64 (n_rows,). The value of the measure is their mean. The function sees rows in
        blocks that are cut anywhere, in several threads at a time: a value may depend on its own
        row only, and the function keeps nothing from call to call.
    row : callable, optional
        Formula of one row instead: a function of a `OneRow`, which returns its value. It is
        compiled by Numba where that pays, so that it may have loops, and must be in the part of
        Python that Numba compiles.
    total : callable, optional
        With ``rows`` that returns several values for each row, float64 (n_rows, n): a function of
        their means over rows, float64 (n,), and the `Setting`, which returns the value.
    value : callable, optional
        With ``state``: a function of what the state counts and of the `Setting`; see
        ``xmleval/docs/own-measure.md``.
    state : {"label_totals", "rank_profile", "score_runs"}, optional
        What is counted: contingency tables of labels, hits by rank, or curves of pooled scores.
    direction : {"up", "down", "none"}, default "up"
        Which values are better.
    range : (float, float), default (0.0, 1.0)
        Smallest and largest possible value; a value outside is refused, also of single rows.
    cutoff : {"none", "required", "optional"}, default "none"
        Whether the name takes ``@k``.
    params : dict of str to Param, optional
        Numbers in parentheses after the name, with an example or a default of each.
    needs : tuple of str, optional
        What the formula reads in addition to the truth: ``"scores"`` (a ranking, the default of
        formulas of rows), ``"entry scores"`` (its numbers, too, which lists may lack), ``"sets"``,
        ``"grades"``, ``"hierarchy"``, ``"propensity"``.
    label_data, row_data : tuple of str, optional
        Names of numbers by label or by row that the formula reads; they are given as
        ``label_data={"cost": ...}`` and ``row_data={"age": ...}``, in all forms of
        ``inverse_propensity`` and ``sample_weight``.
    averages : tuple of str, optional
        Of ``state="label_totals"`` and ``"score_runs"``: averages that the name takes, of
        ``"macro"``, ``"micro"`` (not of label_totals) and ``"weighted"``.
    empty : {"", "zero", "undefined"}, default ""
        Whether rows without relevant labels follow the convention ``empty``: "zero" for a formula
        that is 0 there, "undefined" for one that is 0/0. With "", the formula decides.
    version : int, default 1
        Raise it when the formula changes: saved counts of other versions are refused.
    title, symbol, formula, reference : str, optional
        What ``xmleval metrics NAME`` and tables print: one line, the symbol with ``{k}`` and
        parameters in braces, the formula in plain text, and its source.

    Raises
    ------
    ValueError
        If a field is invalid, or the formula does not return floats of the right shape for four
        rows of six labels, one of them without relevant labels and one that lists nothing.

    Examples
    --------
    >>> def first_half(rows):
    ...     in_half = rows.listed.labels < rows.n_labels / 2
    ...     return rows.listed.sum_by_row(in_half) / rows.k
    >>> half = Measure("example-first_half", rows=first_half, cutoff="required")
    >>> report = evaluate(np.eye(4), np.eye(4)[::-1] + 1, metrics=["p@1", half], k=1)
    >>> report["example-first_half@1"]
    0.5
    """

    # name in the grammar `name[.average][(param=value)][@k]`
    name: str
    _: KW_ONLY
    rows: Callable[..., Any] | None = None
    row: Callable[..., Any] | None = None
    total: Callable[..., Any] | None = None
    # the formula: a function of the state's result (see the state's docstring) and a `Setting`
    value: Callable[..., Any] = no_value
    # module of `xmleval.states` that it reads, by average where averages differ; empty for a
    # measure that is computed from its `parts`
    state: str | Mapping[str, str] = field(default="", hash=False)
    direction: str = "up"  # {"up", "down", "none"}: which values are better
    range: tuple[float, float] = (0.0, 1.0)  # smallest and largest possible value
    # {"none", "required", "optional", "all"}: whether the name takes `@k`, or `@all` for the whole
    # ranking
    cutoff: str = "none"
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)  # in parentheses
    # required inputs: "scores", "entry scores", "probabilities", "sets", "propensity", "training"
    # or "grades"
    needs: tuple[str, ...] = ()
    label_data: tuple[str, ...] = ()
    row_data: tuple[str, ...] = ()
    averages: tuple[str, ...] = ()
    # {"", "zero", "undefined"}: value of the formula without relevant labels, for the convention
    # `empty`: 0 or 0/0; "" if the convention does not apply
    empty: str = ""
    version: int = 1
    title: str = ""  # on one line
    symbol: str = ""  # as printed, with `{k}`, `{average}` and parameters to fill in
    formula: str = ""  # in plain text; symbols as in docs/measures.md
    reference: str = ""  # source of the formula
    family: str = OWN  # such as "at k"
    # module that it reads instead where rows have weights; empty for the same
    weighted_state: str = ""
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
    # {"", "recall", "precision", "fallout", "area", "envelope"}: what it asks of a curve of scores
    # beside what every sweep gives: the largest recall with a precision, the largest precision with
    # a recall, the smallest false positive rate with a recall, or the area up to a false positive
    # rate, which its parameter names, or the area under the largest precision from each recall on,
    # of curves of labels alone. `peak`, `threshold` and `precision` of the curve that the
    # formula gets are about that
    curve_query: str = ""
    # whether the report gives the threshold at which the micro average is reached
    threshold: bool = False
    # averages, "" for none, that the jackknife gives no valid standard error of: of extremes,
    # maxima over thresholds and distinct counts
    unsmooth: tuple[str, ...] = ()
    # best attainable row values, from the number of relevant labels. Measures of sets reach it with
    # the relevant sets and 0/0 = 1, label coverage if no row has more than k relevant labels. None
    # if there is no such value, or if it depends on the propensities
    best: Best | None = None
    conventions: tuple[str, ...] = ()  # fields of `Conventions` that affect the value

    def __post_init__(self) -> None:
        """Check a measure that is not in the table, and make its name known."""
        if self.family == OWN:
            define(self)

    @property
    def module(self) -> str:
        """Name of the module that defines its formula."""
        formula = self.rows or self.row or self.value
        return str(getattr(formula, "__module__", None) or "?")

    @property
    def of_rows(self) -> bool:
        """Whether the user wrote its formula of rows."""
        return self.rows is not None or self.row is not None

    @property
    def has_orders(self) -> bool:
        """Whether its values can be expected over all orders of equal scores."""
        return self.expected is not None or self.state == "rank_profile"

    def has_levels(self, average: str | None) -> bool:
        """Return whether a name with an average takes ``rel=``, the least grade of relevant labels.

        These are measures of rows that depend on which labels are relevant, and not on grades
        (@private).
        """
        state = self.state if isinstance(self.state, str) else self.state[average or ""]
        is_of_gains = "gains" in self.conventions
        return state in STATES_OF_ROWS and self.of_relevance and not (is_of_gains or self.gapless)

    @property
    def general(self) -> bool:
        """Whether the group ``all`` has it: it takes no parameter, and scores of any kind."""
        return self.family != OWN and not self.params and "probabilities" not in self.needs


Metrics = str | Iterable[str | Measure]
# measures that are not in the table, by name, as they were last defined
DEFINED: dict[str, Measure] = {}


def listed(metrics: Measure | Metrics | None) -> Metrics | None:
    """Return measures unchanged, a single one as a list."""
    return [metrics] if isinstance(metrics, Measure) else metrics


def define(measure: Measure) -> None:
    """Check a measure that is not in the table, fill in its other fields, and keep its name.

    A measure of the same name from the same module takes the place of the earlier one, as when a
    cell of a notebook runs again.
    """
    try:
        _check_name(measure)
        _check_formula(measure)
        _check_fields(measure)
        for name, value in _filled_in(measure).items():
            object.__setattr__(measure, name, value)
        _try_formula(measure)
    except ValueError as error:
        raise ValueError(f"measure {shown(measure.name)}: {error}") from error.__cause__
    earlier = DEFINED.get(measure.name)
    if earlier is not None and earlier.module != measure.module:
        raise ValueError(
            f"measure {shown(measure.name)}: {earlier.module} has defined this name; take another"
        )
    DEFINED[measure.name] = measure


def _check_name(measure: Measure) -> None:
    """Refuse a name that is no text of two or more words, joined by hyphens."""
    name = measure.name
    if not isinstance(name, str) or not OWN_NAME.fullmatch(name):
        raise ValueError(
            "expected a name of lower-case words joined by hyphens, such as 'lab-novelty'"
        )


def _check_formula(measure: Measure) -> None:
    """Refuse a measure that has no formula, or several."""
    formulas = [name for name in ("rows", "row") if getattr(measure, name) is not None]
    if measure.value is not no_value:
        formulas.append("value")
    if len(formulas) != 1:
        has = " and ".join(formulas) or "none"
        raise ValueError(f"expected one formula: rows=, row= or value=; it has {has}")
    if measure.total is not None and measure.rows is None:
        raise ValueError("total= is a function of the means of what rows= returns")
    if (formulas == ["value"]) != (measure.state in STATES_OF_FORMULAS):
        raise ValueError(f"value= needs state=, one of {', '.join(STATES_OF_FORMULAS)}")
    for name in (*formulas, "total"):
        if getattr(measure, name) is not None and not is_function(getattr(measure, name)):
            raise ValueError(f"{name}={shown(getattr(measure, name))} is not a function")


def _check_fields(measure: Measure) -> None:
    """Refuse fields that are invalid."""
    for name, allowed in (("direction", DIRECTIONS), ("cutoff", CUTOFFS), ("empty", EMPTY)):
        value = getattr(measure, name)
        if value not in allowed:
            expected = ", ".join(map(repr, allowed))
            raise ValueError(f"{name}={shown(value)} is not one of {expected}")
    for name, choices in (("needs", NEEDS), ("averages", AVERAGES)):
        values = getattr(measure, name)
        if not isinstance(values, tuple) or not {*values} <= {*choices}:
            raise ValueError(f"{name}={shown(values)} is not a tuple of {', '.join(choices)}")
    _check_averages(measure)
    _check_data(measure)
    _check_params(measure)
    _check_range(measure)


def _check_averages(measure: Measure) -> None:
    """Refuse averages of rows, and a measure of labels without averages."""
    is_averaged = measure.state in ("label_totals", "score_runs")
    if bool(measure.averages) != is_averaged:
        need = "needs averages=" if is_averaged else "takes no averages="
        raise ValueError(f"a measure of {measure.state or 'rows'} {need}")
    if measure.state == "label_totals" and "micro" in measure.averages:
        ratio = "for a ratio of sums over all rows and labels, give rows= and total="
        raise ValueError(f'a measure of label_totals has "macro" and "weighted" averages; {ratio}')
    if measure.state == "rank_profile" and measure.cutoff != "required":
        raise ValueError('a measure of state="rank_profile" needs cutoff="required"')


def _check_data(measure: Measure) -> None:
    """Refuse data and needs that the formula cannot read."""
    for name in ("label_data", "row_data"):
        values = getattr(measure, name)
        if not isinstance(values, tuple) or not all(map(_is_data_name, values)):
            raise ValueError(f"{name}={shown(values)} is not a tuple of lower-case names")
        if values and not measure.of_rows:
            raise ValueError(f"{name}= is for formulas of rows")
    unread = {*measure.needs} - {"scores", "entry scores"}
    if measure.row is not None and unread:
        raise ValueError(f"row= does not read {', '.join(sorted(unread))}; give rows=")
    if measure.empty and measure.total is not None:
        raise ValueError("empty= is for formulas of one value for each row, not for total=")


def _check_range(measure: Measure) -> None:
    """Refuse an invalid version or range."""
    if not isinstance(measure.version, int) or measure.version < 1:
        raise ValueError(f"version={shown(measure.version)} is not a whole number from 1")
    ends = measure.range
    are_numbers = isinstance(ends, tuple) and all(isinstance(end, int | float) for end in ends)
    if not (are_numbers and len(ends) == 2 and ends[0] < ends[1]):
        raise ValueError(f"range={shown(ends)} is not a pair of a lower and a higher number")


def _check_params(measure: Measure) -> None:
    """Refuse parameters that names of measures cannot have."""
    params = measure.params
    is_dict = isinstance(params, Mapping)
    if not is_dict or not all(isinstance(param, Param) for param in params.values()):
        raise ValueError(f"params={shown(params)} is not a dict of xmleval.Param")
    for name in params:
        if not _is_data_name(name) or name == LEVEL:
            raise ValueError(f"params: {shown(name)} is not a lower-case name other than {LEVEL!r}")


def _is_data_name(name: object) -> bool:
    """Whether a name of data by row or label can be used."""
    return isinstance(name, str) and NAME_OF_DATA.fullmatch(name) is not None


def _filled_in(measure: Measure) -> dict[str, Any]:
    """Return the fields that follow from others."""
    needs = measure.needs
    if not {"scores", "entry scores", "sets"} & {*needs}:
        needs = (_need_of(measure), *needs)
    state = measure.state
    if measure.of_rows:
        state = ROW_SUMS if measure.total is None else ROW_VECTORS
    return {
        "needs": needs,
        "state": state,
        "value": measure.value if measure.of_rows else _checked_formula(measure),
        "title": measure.title or measure.name,
        "symbol": measure.symbol or _symbol_of(measure),
        "formula": measure.formula or "a formula of its own",
        "reference": measure.reference or measure.module,
        "whole": measure.of_rows and measure.cutoff != "required",
        "ties": measure.ties or ("hits" if "sets" in needs else "order"),
        "conventions": measure.conventions or _conventions_of(measure),
    }


def _symbol_of(measure: Measure) -> str:
    """Return the name with its average and parameters in braces, as tables print it."""
    symbol = measure.name
    if measure.averages:
        symbol += ".{average}"
    if measure.params:
        symbol += "(" + ",".join(f"{name}={{{name}}}" for name in measure.params) + ")"
    return symbol


def _conventions_of(measure: Measure) -> tuple[str, ...]:
    """Return the conventions that affect any formula with such needs."""
    conventions = ["unlisted"]
    if measure.empty:
        conventions.append("empty")
    if "grades" in measure.needs:
        conventions.append("gains")
    return tuple(conventions)


def _need_of(measure: Measure) -> str:
    """Return what a measure that names no predictions reads of them."""
    if measure.state == "label_totals":
        return "sets"
    has_numbers = measure.state == "score_runs" or "hierarchy" in measure.needs
    return "entry scores" if has_numbers else "scores"


def is_function(value: object) -> bool:
    """Whether a value is a function, or a `functools.partial` of one."""
    if isinstance(value, partial):
        return is_function(value.func)
    return inspect.isfunction(value)


def _try_formula(measure: Measure) -> None:
    """Run the formula on a tiny example."""
    k = None if measure.cutoff == "none" else 2
    params = {name: param.example for name, param in measure.params.items()}
    if measure.of_rows:
        trial_values(measure, k, params)
        return
    from xmleval.view.formulas import FormulaError  # loads kernels
    from xmleval.view.trial import trial_facts, trial_setting

    setting = trial_setting(k, params, measure.label_data)
    try:
        measure.value(*trial_facts(str(measure.state)), setting)
    except FormulaError as error:
        raise ValueError(error.reason) from error


def _checked_formula(measure: Measure) -> Callable[..., Any]:
    """Return the formula of a state, whose values are checked each time."""
    formula = measure.value

    @wraps(formula)
    def checked(*facts: Any) -> Any:
        from xmleval.view.formulas import values_of_facts

        limits = measure.range
        if measure.state == "rank_profile":  # sums of the values of rows
            limits = (-math.inf, math.inf)
        return values_of_facts(measure.name, formula, facts, limits)

    return checked


def trial_values(measure: Measure, k: int | None, params: Mapping[str, float]) -> Floats:
    """Return what a formula of rows returns for four rows of six labels."""
    from xmleval.view.formulas import FormulaError  # loads kernels
    from xmleval.view.trial import example_rows

    rows = example_rows(k, params, measure.label_data, measure.row_data)
    if "sets" not in measure.needs:
        rows = replace(rows, decision=None)
    if "hierarchy" not in measure.needs:
        rows = replace(rows, hierarchy=None)
    try:
        values = values_of(measure, rows)
        if measure.total is not None:
            total_of(measure, values.mean(axis=0), rows.setting)
    except FormulaError as error:
        row = "" if error.row is None else f" in row {error.row}"
        raise ValueError(f"{error.reason}{row}, for an example of 4 rows and 6 labels") from error
    return values


def values_of(measure: Measure, rows: BlockRows) -> Floats:
    """Return the values of rows by a measure's own formula, float64 (n_rows,) or (n_rows, n).

    Rows without relevant labels may have any value where the convention ``empty`` decides.
    """
    from xmleval.view import formulas  # loads kernels

    if measure.rows is None:
        assert measure.row is not None
        values = formulas.values_of_each_row(kernel_of(measure.row), rows)
    else:
        values = formulas.values_of_rows(measure.rows, rows, measure.total is not None)
    if measure.total is not None:
        formulas.refuse_vectors(values)
        return values
    is_settled = rows.n_relevant == 0 if measure.empty else None
    formulas.refuse_values(values, measure.range, is_settled)
    return values


def total_of(measure: Measure, means: Floats, setting: Setting) -> float:
    """Return the value of a measure from the means of its vectors over rows."""
    from xmleval.view.formulas import FormulaError

    assert measure.total is not None
    try:
        result = measure.total(means, setting)
    except Exception as error:
        reason = f"total= raised {type(error).__name__}: {error}"
        raise FormulaError(reason, measure=measure.name) from error
    if not isinstance(result, int | float | np.number):
        reason = f"total= returned {shown(result)}; expected one number"
        raise FormulaError(reason, measure=measure.name)
    value = float(result)
    low, high = measure.range
    if not (math.isfinite(value) and low - ROUNDING <= value <= high + ROUNDING):
        reason = f"total= returned {value}; expected a number in {low:g}..{high:g}"
        raise FormulaError(reason, measure=measure.name)
    return value


@cache
def kernel_of(row: Callable[..., Any]) -> FormulaOfRow:
    """Return a formula of one row as a kernel."""
    from xmleval.kernels.own_rows import FormulaOfRow

    return FormulaOfRow(row)


def variant(measure: Measure, **changed: Any) -> Measure:
    """Return a copy of a record with other fields, which is not defined as a measure."""
    changed_copy = copy(measure)
    for name, value in changed.items():
        object.__setattr__(changed_copy, name, value)
    return changed_copy


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
