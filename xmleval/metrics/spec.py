"""Names of measures: parse and print ``name[.average][(param=value)][@k]``, or ``@all``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from xmleval.base.cached import cached
from xmleval.base.conventions import (
    MOST_GRADE,
    Conventions,
    names_field,
    resolve_conventions,
)
from xmleval.base.errors import Message, own_measure, positive_integer, shown
from xmleval.base.numerals import decimal_number, whole_number
from xmleval.metrics import ALIASES, GROUPS, TABLE, Measure
from xmleval.metrics.entry_points import defined_measure
from xmleval.metrics.lists import as_cutoffs, as_names
from xmleval.metrics.measure import DEFINED, OWN, OWN_NAME, Metrics, Param, variant
from xmleval.metrics.spellings import (
    AMBIGUOUS,
    canonical,
    meaning,
    nearest,
    plain,
    without_params,
)

GRAMMAR = re.compile(
    r"(?P<name>[a-z0-9_\-]+)"
    r"(\.(?P<average>[a-z_]+))?"
    r"(\((?P<params>[^()]*)\))?"
    r"(@(?P<k>-?[0-9]+|all))?"
)
TREC_NDCG = re.compile(r"\s*ndcg_cut([_.@].*)?\s*", re.IGNORECASE)
LEVELLED = re.compile(r"[^(]*\([^()]*\brel\s*=[^()]*\).*", re.IGNORECASE)
TREC_NAME = re.compile(r"\s*((ndcg_cut|map_cut|P|recall|success)_[0-9]+|recip_rank|Rprec)\s*")
DEFAULT_K = (1, 3, 5)
MOST_K = (1 << 31) - 1
MOST_DIGITS = 400
SETS_OF_LABELS = "label_totals"  # the state that counts predicted sets by label
LEVEL = "rel"  # the parameter that sets the level of relevance of a measure


@dataclass(frozen=True)
class Spec:
    """One measure with its average, parameters and cutoff; as text, its canonical name.

    params : parameters of the formula
    level : least grade of the labels that are relevant for this measure, by ``rel=`` in its name;
        None for that of the conventions
    """

    metric: Measure
    average: str | None = None
    params: tuple[tuple[str, float], ...] = ()
    k: int | None = None
    level: int | None = None

    def __repr__(self) -> str:
        """Return the name in angle brackets."""
        return f"<Spec {self.name}>"

    @cached
    def name(self) -> str:
        """The name that parses to this spec."""
        text = self.metric.name
        if self.average:
            text += f".{self.average}"
        params = [f"{name}={self.metric.params[name].text(value)}" for name, value in self.params]
        if self.level:
            params.append(f"{LEVEL}={self.level}")
        if params:
            text += f"({','.join(params)})"
        if self.cutoff:
            text += f"@{self.cutoff}"
        return text

    @cached
    def cutoff(self) -> str:
        """The text after ``@``: a number, "all", or empty."""
        if self.k:
            return str(self.k)
        return "all" if self.metric.cutoff == "all" else ""

    @cached
    def state(self) -> str:
        """Name of the state it reads; empty if it is computed from other measures."""
        state = self.metric.state
        return state if isinstance(state, str) else state[self.average or ""]

    @cached
    def needs(self) -> tuple[str, ...]:
        """Inputs it needs, as named in `Measure.needs`; the top k labels are a set."""
        return tuple("scores" if self.k and need == "sets" else need for need in self.metric.needs)

    @cached
    def parts(self) -> tuple[str, ...]:
        """Names of the measures, at its cutoff, from whose values it is computed."""
        return tuple(f"{part}@{self.k}" if self.k else part for part in self.metric.parts)

    @property
    def reads_first_scores(self) -> bool:
        """Whether it reads the scores of the first k labels."""
        return "probabilities" in self.metric.needs and self.k is not None

    @cached
    def of_sets(self) -> bool:
        """Whether it reads predicted sets, or the first k labels as sets."""
        is_of_sets = "sets" in self.metric.needs or self.state == SETS_OF_LABELS
        return is_of_sets or self.reads_first_scores

    @cached
    def ties(self) -> str:
        """What it depends on of the order of equal scores, as in `Measure.ties`."""
        return self.metric.ties or ("hits" if self.of_sets else "")

    @cached
    def scores_of_all(self) -> bool:
        """Whether it reads the scores of all listed labels."""
        needs = self.metric.needs
        return "entry scores" in needs or ("probabilities" in needs and self.k is None)

    @property
    def reads_scores(self) -> bool:
        """Whether it reads scores, not only their order."""
        return self.scores_of_all or "probabilities" in self.needs

    @property
    def reads_all(self) -> bool:
        """Whether it reads all listed labels."""
        return self.metric.whole or self.scores_of_all

    def state_with(self, weighted: bool) -> str:
        """Return the state that it reads where rows have weights or not; see `state`."""
        return (weighted and self.metric.weighted_state) or self.state

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    @property
    def label_column(self) -> str:
        """The name of the values by label that it averages: ``f1@5`` for ``f1.macro@5``."""
        return self.name.replace(f".{self.average}", "", 1)

    @property
    def family(self) -> str:
        """The printed symbol without a cutoff, such as ``nDCG``."""
        return self.symbol.removesuffix(f"@{self.cutoff}")

    @property
    def by_label(self) -> bool:
        """Whether labels have values of it, or hits at its cutoff or in its sets."""
        if self.level:  # hits by label are those of the conventions
            return False
        return (
            bool(self.k) or self.average in ("macro", "micro", "weighted") or "sets" in self.needs
        )

    @property
    def smooth(self) -> bool:
        """Whether the jackknife gives a valid standard error."""
        return (self.average or "") not in self.metric.unsmooth

    @property
    def has_row_values(self) -> bool:
        """Whether it is a mean of values of rows."""
        table = self.metric.table
        return self.state == "row_sums" or (
            self.state == "rank_profile" and table != "gains/ideals"
        )

    @property
    def weighs(self) -> bool:
        """Whether weights of rows affect it: neither distinct counts nor extremes have any."""
        return self.smooth or bool(self.metric.weighted_state)

    def bounded(self, weighted: bool) -> bool:
        """Return whether bounds over all scores of unlisted labels can be computed."""
        pooled = weighted and self.metric.weighted_state
        return (self.average or "") in self.metric.bounded and not pooled

    @property
    def cutoff_hint(self) -> str:
        """A hint that scores suffice for the name with a cutoff; empty if it takes none."""
        k = max(DEFAULT_K)
        try:
            return f"; {parse_spec(f'{self.name}@{k}')} takes the first {k} labels"
        except ValueError:
            return ""

    def under(self, conventions: Conventions) -> Spec:
        """Return the spec with the metric record that applies under the conventions."""
        metric = self.metric
        if conventions.all_orders and metric.has_orders:
            return replace(self, metric=_over_all_orders(metric, conventions.has_gains))
        tied = conventions.shares_discounts
        if not (metric.by_row and (tied or conventions.has_gains)):
            return self
        # the best values of grades are not known without these
        best = None if conventions.has_gains and metric.range[1] > 1 else metric.best
        by_row = variant(
            metric,
            state="row_sums",
            value=metric.by_row,
            by_row=None,
            best=best,
            whole=metric.whole or tied,
            ties="" if tied else metric.ties,
        )
        return replace(self, metric=by_row)

    @property
    def reads_gains(self) -> bool:
        """Whether it reads gains of relevant labels, where the truth has grades."""
        return "gains" in self.metric.conventions

    def conventions(self, decision: str | None) -> list[str]:
        """Return the fields of `Conventions` that affect the value of sets of a decision rule."""
        without_effect = {
            "labels": self.average not in ("macro", "of_macros"),
            "ap_empty": self.average == "geometric",
            "unlisted": decision == "pred" and "sets" in self.needs,
        }
        return [name for name in self.metric.conventions if not without_effect.get(name)]

    @property
    def symbol(self) -> str:
        """The printed symbol, such as ``nDCG@5``."""
        values = {name: self.metric.params[name].text(value) for name, value in self.params}
        text = self.metric.symbol.format(k=self.k, average=self.average, **values)
        if self.cutoff:
            text = text.removesuffix(f"@{self.cutoff}")
        if self.level:
            text = _with_level(text, self.level)
        return f"{text}@{self.cutoff}" if self.cutoff else text


@lru_cache(maxsize=256)
def _over_all_orders(metric: Measure, has_gains: bool) -> Measure:
    """Return the record of a measure whose values are expected over all orders of equal scores."""
    if metric.state == "rank_profile" and not (metric.by_row and has_gains):
        return variant(metric, by_row=None, ties="")
    assert metric.expected is not None
    return variant(
        metric,
        state=metric.expected_state,
        table="hits",
        value=metric.expected,
        by_row=None,
        ties="",
    )


def _with_level(symbol: str, level: int) -> str:
    """Return a symbol without cutoff with the level of relevance in parentheses."""
    if symbol.endswith(")"):
        return f"{symbol[:-1]}, {LEVEL}={level})"
    return f"{symbol} ({LEVEL}={level})"


def parse_spec(text: str) -> Spec:
    """Parse the name of a measure in any case: ``p@5``, ``f1.macro@5``, ``fbeta.samples(beta=2)``.

    ValueError is raised where the name is unknown, or its average, parameter or cutoff is missing
    or invalid.
    """
    return _parse_spec(text, defined_measure(text))


@lru_cache(maxsize=1024)
def _parse_spec(text: str, own: Measure | None) -> Spec:
    """Return the spec of a name in the table, or of a measure that is not in the table."""
    match = GRAMMAR.fullmatch(canonical(text) if own is None else plain(text))
    if match is None or len(match["k"] or "") > MOST_DIGITS:
        hint = "; give several names as a list" if "," in text else ""
        raise ValueError(
            f"{shown(text)} is not a measure name: name[.average][(param=value)][@k]{hint}"
        )
    average = match["average"]
    is_whole = match["k"] == "all"
    k = None if is_whole else whole_number(match["k"])
    table = TABLE if own is None else (own,)
    metrics = _metrics_with_average(text, match["name"], average, table)
    if k is not None and not 0 < k <= MOST_K:
        limit = "positive" if k <= 0 else "below 2^31"
        raise ValueError(f"{shown(text)}: k={k} is not {limit}")
    metrics = _metrics_with_cutoff(text, metrics, k, is_whole)
    items = (match["params"] or "").split(",") if match["params"] else []
    levels = [item for item in items if item.partition("=")[0] == LEVEL]
    items = [item for item in items if item not in levels]
    metric = _metric_with_params(metrics, {item.partition("=")[0] for item in items if item})
    level = _parse_level(text, metric, average, levels)
    return Spec(metric, average, _parse_params(text, metric, average, items), k, level)


def _metrics_with_average(
    text: str, name: str, average: str | None, table: Sequence[Measure]
) -> list[Measure]:
    """Return the metrics of a name that have the average; there is at least one."""
    metrics = [metric for metric in table if metric.name == name]
    choices = list(
        dict.fromkeys(f"{name}.{each}" for metric in metrics for each in metric.averages)
    )
    choices += [alias for alias in ALIASES if alias.startswith(f"{name}.")]
    if not metrics and not choices:
        within = "" if text == name else f"{shown(text)}: "
        reason = f"{within}unknown measure {shown(name)}; {nearest(name)}"
        if OWN_NAME.fullmatch(name):
            reason = Message(reason, "; for one of your own: ", own_measure("MODULE"))
        raise _unknown(text, reason)
    averaged = [metric for metric in metrics if average in (metric.averages or (None,))]
    if averaged:
        return averaged
    problem = f"no average {shown(average)}" if average else "needs an average"
    choose = "it takes none"
    if choices:
        choose = f"choose from {', '.join(choices)}"
    raise _unknown(text, f"{shown(text)}: {problem}; {choose}")


def _metrics_with_cutoff(
    text: str, metrics: Sequence[Measure], k: int | None, is_whole: bool
) -> list[Measure]:
    """Return the metrics that take the cutoff, or none; there is at least one."""
    if is_whole:
        cutoff = "all"
        problem = "takes no @all"
    elif k is None:
        cutoff = "none"
        problem = "needs a cutoff, as in @5"
    else:
        cutoff = "required"
        problem = "takes no @k"
    taken = {cutoff} if is_whole else {cutoff, "optional"}
    with_cutoff = [metric for metric in metrics if metric.cutoff in taken]
    if not with_cutoff:
        raise _unknown(text, f"{shown(text)}: {metrics[0].name} {problem}")
    return with_cutoff


def _metric_with_params(metrics: Sequence[Measure], names: set[str]) -> Measure:
    """Return the first metric that has the parameters, and none without; else the first of all."""
    for metric in metrics:
        if names <= metric.params.keys() and bool(names) == bool(metric.params):
            return metric
    return metrics[0]


def _unknown(text: str, reason: str) -> ValueError:
    """Return the error of an unknown name: what other programs mean by it, or the reason."""
    meant = meaning(text)
    return ValueError(f"{shown(text)}: here it is {meant}" if meant else reason)


def _parse_level(
    text: str, metric: Measure, average: str | None, items: Sequence[str]
) -> int | None:
    """Return the level of relevance that a name sets, or None; refuse it where it is unused."""
    if not items:
        return None
    if len(items) > 1:
        raise ValueError(f"{shown(text)}: {LEVEL} is given twice")
    if not metric.has_levels(average):
        name = f"{metric.name}.{average}" if average else metric.name
        raise ValueError(f"{shown(text)}: {name} takes no {LEVEL}{_why_no_level(metric)}")
    value = items[0].partition("=")[2]
    number = decimal_number(value)
    if number is None or not number.is_integer() or not 1 <= number < MOST_GRADE:
        raise ValueError(f"{shown(text)}: {LEVEL}={shown(value)} is not a whole number from 1")
    return int(number)


def _why_no_level(metric: Measure) -> str:
    """Return why a measure takes no level, to end a message."""
    if "gains" in metric.conventions or metric.name == "err":
        return ": it reads the gains of all grades"
    if not metric.of_relevance:
        return ": it does not depend on which labels are relevant"
    return '; conventions="relevant_from=2" sets the level of all measures'


def _parse_params(
    text: str, metric: Measure, average: str | None, items: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    """Return the parameters of a measure by name, with defaults for missing ones."""
    name_and_average = metric.name
    if average:
        name_and_average += f".{average}"
    numbers: dict[str, float] = {}
    for item in items:
        name, _, value = item.partition("=")
        if name in numbers:
            raise ValueError(f"{shown(text)}: {name} is given twice")
        if name not in metric.params:
            raise ValueError(f"{shown(text)}: {name_and_average} has no parameter {shown(name)}")
        numbers[name] = _parse_param(text, metric.params[name], name, value)
    for name, param in metric.params.items():
        if name in numbers:
            continue
        if not param.default:
            example = f"{name_and_average}({name}={param.text(param.example)})"
            _, at, cutoff = text.partition("@")
            if cutoff:
                example += at + cutoff
            raise ValueError(f"{shown(text)}: needs {name}, as in {example}")
        numbers[name] = param.example
    return tuple((name, numbers[name]) for name in metric.params)


def _parse_param(text: str, param: Param, name: str, value: str) -> float:
    """Return the number that a parameter is set to, if the parameter allows it."""
    if param.words:
        if value not in param.words:
            words = ", ".join(param.words)
            raise ValueError(f"{shown(text)}: {name}={shown(value)} is not one of {words}")
        return float(param.words.index(value))
    number = decimal_number(value)
    if number is None:
        raise ValueError(f"{shown(text)}: {name}={shown(value)} is not a number")
    problem = ""
    if not 0 <= number < 1e150:
        problem = "a non-negative number"
    elif param.allowed and not (number.is_integer() and int(number) in param.allowed):
        problem = f"an integer in {param.allowed[0]}..{param.allowed[-1]}"
    elif param.share and not 0 < number <= 1:
        problem = "above 0 and at most 1"
    elif param.below_one and not 0 < number < 1:
        problem = "above 0 and below 1"
    elif param.unit and number > 1:
        problem = "from 0 to 1"
    if problem:
        raise ValueError(f"{shown(text)}: {name}={value} is not {problem}")
    return number


def conventions_of(
    metrics: Metrics | None, given: str | Conventions | Mapping[str, Any] | None
) -> Conventions:
    """Return the conventions that are given, with the gains of trec_eval's spelling of nDCG."""
    conventions = resolve_conventions(given)
    if conventions.has_gains or names_field(given, "gains"):
        return conventions
    if any(map(_has_grades, _texts_of(metrics))):
        return replace(conventions, gains="linear")
    return conventions


def has_levels(metrics: object) -> bool:
    """Return whether a name in a list of measures sets a level of relevance, valid or not."""
    return any(map(LEVELLED.fullmatch, _texts_of(metrics)))


def _texts_of(metrics: object) -> list[str]:
    """Return names of measures as texts, none of anything but a list of names."""
    if isinstance(metrics, list | tuple):
        return [*map(str, metrics)]
    return []


def notes_on_trec_map(
    metrics: object, requested: Iterable[tuple[Spec, bool]], conventions: Conventions
) -> list[str]:
    """Return a note on ``map@k`` among spellings of trec_eval, whose MAP divides by R.

    ``requested`` are the specs of ``metrics``, as `expand_metrics` returns them.
    """
    if conventions.map_norm != "capped":
        return []
    named = [spec for spec, is_explicit in requested if is_explicit]
    capped = [spec for spec in named if spec.metric.name == "map" and spec.k]
    if not capped or not any(map(TREC_NAME.fullmatch, _texts_of(metrics))):
        return []
    k = capped[0].k
    text = f"{capped[0]} divides by min(k, R), but trec_eval's map_cut_{k} by R"
    return [f"{text}: use map_r@{k} for its values, and map@all for those of its map"]


@lru_cache(maxsize=1024)
def _has_grades(name: str) -> bool:
    """Whether a measure by this name has grades for gains."""
    return TREC_NDCG.fullmatch(name) is not None


def expand_metrics(
    metrics: Metrics | None, ks: int | str | Iterable[int] = DEFAULT_K
) -> list[tuple[Spec, bool]]:
    """Expand names of measures and groups, by default ``xmc``, to distinct specs in order.

    Each comes with whether it was requested by its own name. ``ks`` are the cutoffs of measures at
    k that are named without one. ValueError is raised where a name does not parse or a cutoff is
    not a positive integer.
    """
    requested = ["xmc"] if metrics is None else as_names(metrics)
    if not isinstance(requested, list | tuple):
        raise ValueError(f"metrics: {shown(metrics)} is neither a name nor a list of names")
    cutoffs = DEFAULT_K if ks is DEFAULT_K else _cutoffs(ks)
    if not requested or not cutoffs:
        raise ValueError("metrics and k must not be empty")
    explicit_of: dict[str, tuple[Spec, bool]] = {}
    for item in requested:
        if isinstance(item, Measure):
            item = current_name(item)
        if not isinstance(item, str):
            raise ValueError(f"metrics: {shown(item)} is neither a name nor a measure")
        group = item.strip().lower()
        is_explicit = group not in (*GROUPS, "all")
        specs = _named(item, cutoffs) if is_explicit else _members(group, cutoffs)
        for spec in specs:
            earlier = explicit_of.get(spec.name)
            was_explicit = earlier is not None and earlier[1]
            explicit_of[spec.name] = (spec, is_explicit or was_explicit)
    return list(explicit_of.values())


def current_name(measure: Measure) -> str:
    """Return the name of a measure that is not in the table, or refuse an earlier definition."""
    if measure.family == OWN and DEFINED.get(measure.name) is not measure:
        text = "was defined again since; give the new measure, or its name"
        raise ValueError(f"metrics: {shown(measure.name)} {text}")
    return measure.name


def _cutoffs(ks: object) -> tuple[int, ...]:
    """Return cutoffs, one or several, which must be positive integers."""
    ks = as_cutoffs(ks)
    if isinstance(ks, Iterable) and getattr(ks, "ndim", 1) != 0:
        return tuple(positive_integer("k", k) for k in ks)
    return (positive_integer("k", ks),)


def _named(text: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    """Return the measures of a name, at each cutoff if it takes one and has none."""
    own = defined_measure(text)
    if own is None:
        return _named_in_table(text, ks)
    if "@" in text or own.cutoff != "required":
        return (parse_spec(text),)
    return tuple(parse_spec(f"{text.strip()}@{k}") for k in ks)


@lru_cache(maxsize=256)
def _named_in_table(text: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    name = canonical(text)
    is_at_each_k = "".join(text.lower().split()).endswith("@k")
    if "@" in name or (name in AMBIGUOUS and not is_at_each_k):
        return (parse_spec(text),)
    plain_name = without_params(name)
    cutoffs = {m.cutoff for m in TABLE if m.name == plain_name} - {"all"}
    # names such as prec and success are in the table with a cutoff alone
    only_at_k = not cutoffs and canonical(f"{plain_name}@") in {f"{m.name}@" for m in TABLE}
    if cutoffs == {"required"} or only_at_k or is_at_each_k:
        return tuple(parse_spec(f"{name}@{k}") for k in ks)
    return (parse_spec(text),)


@lru_cache(maxsize=64)
def _members(group: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    """Return the measures of a group, at each cutoff that they take."""
    if group == "all":
        return tuple(
            Spec(metric, average, (), k)
            for metric in TABLE
            if metric.general
            for k in _cutoffs_of(metric, ks)
            for average in metric.averages or (None,)
        )
    names: list[str] = []
    for name in GROUPS[group]:
        if name.endswith("@"):
            names += [f"{name}{k}" for k in ks]
        else:
            names.append(name)
    return tuple(parse_spec(name) for name in names)


def _cutoffs_of(metric: Measure, ks: tuple[int, ...]) -> list[int | None]:
    """Return the cutoffs that a metric takes; None means all labels."""
    cutoffs = list[int | None]()
    if metric.cutoff != "required":
        cutoffs.append(None)
    if metric.cutoff in ("required", "optional"):
        cutoffs += ks
    return cutoffs
