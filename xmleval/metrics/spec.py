"""Names of measures: parse and print ``name[.average][(param=value)][@k]``, or ``@all``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions, names_field, resolve_conventions
from xmleval.base.errors import positive_integer, shown
from xmleval.base.numerals import decimal_number, whole_number
from xmleval.metrics import ALIASES, GROUPS, TABLE, Metric
from xmleval.metrics.spellings import AMBIGUOUS, canonical, meaning, nearest

GRAMMAR = re.compile(
    r"(?P<name>[a-z0-9_\-]+)(\.(?P<average>[a-z_]+))?(\((?P<params>[^()]*)\))?(@(?P<k>-?[0-9]+|all))?"
)
TREC_NDCG = re.compile(r"\s*ndcg_cut([_.@].*)?\s*", re.IGNORECASE)
DEFAULT_K = (1, 3, 5)
MOST_K = (1 << 31) - 1
MOST_DIGITS = 400
SETS_OF_LABELS = "label_totals"  # the state that counts predicted sets by label


@dataclass(frozen=True)
class Spec:
    """One measure with its average, parameters and cutoff; its string form is the canonical name."""

    metric: Metric
    average: str | None = None
    params: tuple[tuple[str, float], ...] = ()
    k: int | None = None

    @cached
    def name(self) -> str:
        """The name that parses to this spec."""
        average = f".{self.average}" if self.average else ""
        shown = ",".join(f"{name}={_number(value)}" for name, value in self.params)
        at_k = f"@{self.cutoff}" if self.cutoff else ""
        return f"{self.metric.name}{average}{f'({shown})' if shown else ''}{at_k}"

    @cached
    def cutoff(self) -> str:
        """The text after ``@``: a number, "all", or empty."""
        return str(self.k) if self.k else "all" if self.metric.cutoff == "all" else ""

    @cached
    def state(self) -> str:
        """Name of the state it reads; empty if it is computed from other measures."""
        state = self.metric.state
        return state if isinstance(state, str) else state[self.average or ""]

    @cached
    def needs(self) -> tuple[str, ...]:
        """Inputs it needs, as named in `Metric.needs`; the top k labels are a set."""
        return tuple("scores" if self.k and need == "sets" else need for need in self.metric.needs)

    @cached
    def of_sets(self) -> bool:
        """Whether it reads predicted sets, or the first labels in place of these."""
        needs = self.metric.needs
        of_first = "probabilities" in needs and self.k is not None
        return "sets" in needs or self.state == SETS_OF_LABELS or of_first

    @cached
    def ties(self) -> str:
        """What it depends on of the order of equal scores, as in `Metric.ties`."""
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
        """Return the name of the values by label that it averages, e.g. ``f1@5`` for ``f1.macro@5``."""
        return self.name.replace(f".{self.average}", "", 1)

    @property
    def family(self) -> str:
        """Return the printed symbol without a cutoff, e.g. ``nDCG``."""
        return self.symbol.removesuffix(f"@{self.cutoff}")

    @property
    def by_label(self) -> bool:
        """Whether labels have values of it, or hits at its cutoff or in its sets."""
        return bool(self.k) or self.average in ("macro", "micro", "weighted") or "sets" in self.needs

    @property
    def smooth(self) -> bool:
        """Whether the jackknife gives a valid standard error."""
        return (self.average or "") not in self.metric.unsmooth

    @property
    def has_row_values(self) -> bool:
        """Whether it is a mean of values of rows."""
        table = self.metric.table
        return self.state == "row_sums" or (self.state == "rank_profile" and table != "gains/ideals")

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
        """Return the name with a cutoff, for which scores suffice, as a hint; empty if it takes none."""
        k = max(DEFAULT_K)
        try:
            return f"; {parse_spec(f'{self.name}@{k}')} takes the first {k} labels"
        except ValueError:
            return ""

    def under(self, conventions: Conventions) -> Spec:
        """Return the spec with the metric record that applies under the conventions."""
        metric, tied = self.metric, conventions.ndcg_ties == "average"
        if not (metric.by_row and (tied or conventions.graded)):
            return self
        # the best values of grades are not known without these
        best = None if conventions.graded and metric.range[1] > 1 else metric.best
        by_row = replace(
            metric, state="row_sums", value=metric.by_row, by_row=None, best=best, whole=metric.whole or tied,
            ties="" if tied else metric.ties,
        )  # fmt: skip
        return replace(self, metric=by_row)

    def conventions(self, decision: str | None) -> list[str]:
        """Return the fields of `Conventions` that affect the value, if sets are made by ``decision``."""
        left_out = {
            "labels": self.average not in ("macro", "of_macros"),
            "unlisted": decision == "pred" and "sets" in self.needs,
        }
        return [name for name in self.metric.conventions if not left_out.get(name)]

    @property
    def symbol(self) -> str:
        """Return the printed symbol, e.g. ``nDCG@5``."""
        values = {name: _number(value) for name, value in self.params} if self.params else {}
        text = self.metric.symbol.format(k=self.k, average=self.average, **values)
        named = not self.cutoff or text.endswith(f"@{self.cutoff}")
        return text if named else f"{text}@{self.cutoff}"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


@lru_cache(maxsize=1024)
def parse_spec(text: str) -> Spec:
    """Parse the name of a measure in any case, such as ``p@5``, ``f1.macro@5`` or ``fbeta.samples(beta=2)``.

    ValueError is raised where the name is unknown, or its average, parameter or cutoff is missing or invalid.
    """
    match = GRAMMAR.fullmatch(canonical(text))
    if match is None or len(match["k"] or "") > MOST_DIGITS:
        hint = "; give several names as a list" if "," in text else ""
        raise ValueError(f"{shown(text)} is not a measure name: name[.average][(param=value)][@k]{hint}")
    name, average = match["name"], match["average"]
    whole = match["k"] == "all"
    k = None if whole else whole_number(match["k"])
    rows = [metric for metric in TABLE if metric.name == name]
    averages = list(dict.fromkeys(f"{name}.{a}" for metric in rows for a in metric.averages))
    averages += [alias for alias in ALIASES if alias.startswith(f"{name}.")]
    if not rows and not averages:
        within = "" if text == name else f"{shown(text)}: "
        raise _unknown(text, f"{within}unknown measure {shown(name)}; {nearest(name)}")
    rows = [metric for metric in rows if average in (metric.averages or (None,))]
    if not rows:
        choices = ", ".join(averages)
        problem = f"no average {shown(average)}" if average else "needs an average"
        choose = f"choose from {choices}" if choices else "it takes none"
        raise _unknown(text, f"{shown(text)}: {problem}; {choose}")
    if k is not None and not 0 < k <= MOST_K:
        raise ValueError(f"{shown(text)}: k={k} is not {'positive' if k <= 0 else 'below 2^31'}")
    asked = "all" if whole else "none" if k is None else "required"
    rows = [m for m in rows if m.cutoff == asked or (m.cutoff == "optional" and not whole)]
    if not rows:
        why = {"none": "needs a cutoff, as in @5", "required": "takes no @k", "all": "takes no @all"}
        raise _unknown(text, f"{shown(text)}: {name} {why[asked]}")
    named = {item.partition("=")[0] for item in (match["params"] or "").split(",") if item}
    rows = [m for m in rows if named <= {*m.params} and (named or not m.params)] or rows
    return Spec(rows[0], average, _parse_params(text, rows[0], average, match["params"]), k)


def _unknown(text: str, reason: str) -> ValueError:
    """Return the error of a name: what it means here if other programs have it, otherwise the reason."""
    meant = meaning(text)
    return ValueError(f"{shown(text)}: here it is {meant}" if meant else reason)


def _parse_params(
    text: str, metric: Metric, average: str | None, text_of_params: str | None
) -> tuple[tuple[str, float], ...]:
    numbers: dict[str, float] = {}
    for item in (text_of_params or "").split(",") if text_of_params else []:
        name, _, value = item.partition("=")
        if name in numbers:
            raise ValueError(f"{shown(text)}: {name} is given twice")
        if name not in metric.params:
            of = f".{average}" if average else ""
            raise ValueError(f"{shown(text)}: {metric.name}{of} has no parameter {shown(name)}")
        number = decimal_number(value)
        if number is None:
            raise ValueError(f"{shown(text)}: {name}={shown(value)} is not a number")
        if not 0 <= number < 1e150:
            raise ValueError(f"{shown(text)}: {name}={value} is not a non-negative number")
        numbers[name] = number
        allowed = metric.params[name].allowed
        if allowed and not (number.is_integer() and int(number) in allowed):
            raise ValueError(
                f"{shown(text)}: {name}={value} is not an integer in {allowed[0]}..{allowed[-1]}"
            )
        if metric.params[name].share and not 0 < number <= 1:
            raise ValueError(f"{shown(text)}: {name}={value} is not above 0 and at most 1")
    for name, param in metric.params.items():
        if name not in numbers and param.default:
            numbers[name] = param.example
        elif name not in numbers:
            _, _, cutoff = text.partition("@")
            of = f".{average}" if average else ""
            as_in = f"{metric.name}{of}({name}={param.example:g}){f'@{cutoff}' if cutoff else ''}"
            raise ValueError(f"{shown(text)}: needs {name}, as in {as_in}")
    return tuple(numbers.items())


def conventions_of(
    metrics: str | Iterable[str] | None, given: str | Conventions | Mapping[str, Any] | None
) -> Conventions:
    """Return the conventions that are given, with the gains of trec_eval's spelling of nDCG."""
    conventions = resolve_conventions(given)
    names = [metrics] if isinstance(metrics, str) else metrics if isinstance(metrics, list | tuple) else []
    is_open = not conventions.graded and not names_field(given, "gains")
    if is_open and any(map(_has_grades, map(str, names))):
        conventions = replace(conventions, gains="linear")
    return conventions


@lru_cache(maxsize=1024)
def _has_grades(name: str) -> bool:
    """Tell whether a measure by this name has grades for gains."""
    return TREC_NDCG.fullmatch(name) is not None


def as_names(metrics: object) -> object:
    """Return names of measures that can be read twice, also of an iterator; what are none as they are."""
    if isinstance(metrics, Iterable) and not isinstance(metrics, str | list | tuple):
        return [*metrics]
    return metrics


def expand_metrics(
    metrics: str | Iterable[str] | None, ks: int | Iterable[int] = DEFAULT_K
) -> list[tuple[Spec, bool]]:
    """Expand names of measures and groups, by default ``xmc``, to specs, in order and without duplicates.

    Each comes with whether it was requested by its own name. ``ks`` are the cutoffs of measures at k that are
    named without one. ValueError is raised where a name does not parse or a cutoff is not a positive integer.
    """
    if not (metrics is None or isinstance(metrics, Iterable)):
        raise ValueError(f"metrics: {shown(metrics)} is neither a name nor a list of names")
    asked = ["xmc"] if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    listed_ks: Iterable[Any] = ks if isinstance(ks, Iterable) and getattr(ks, "ndim", 1) != 0 else [ks]
    cutoffs = DEFAULT_K if ks is DEFAULT_K else tuple(positive_integer("k", k) for k in listed_ks)
    if not asked or not cutoffs:
        raise ValueError("metrics and k must not be empty")
    explicit_of: dict[str, tuple[Spec, bool]] = {}
    for item in asked:
        if not isinstance(item, str):
            raise ValueError(f"metrics: {shown(item)} is not a name")
        explicit = item.strip().lower() not in (*GROUPS, "all")
        for spec in _named(item, cutoffs) if explicit else _members(item.strip().lower(), cutoffs):
            earlier = explicit_of.get(spec.name)
            explicit_of[spec.name] = (spec, explicit or (earlier is not None and earlier[1]))
    return list(explicit_of.values())


@lru_cache(maxsize=256)
def _named(text: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    name = canonical(text)
    is_at_each_k = "".join(text.lower().split()).endswith("@k")
    if "@" in name or (name in AMBIGUOUS and not is_at_each_k):
        return (parse_spec(text),)
    cutoffs = {m.cutoff for m in TABLE if m.name == name} - {"all"}
    only_at_k = not cutoffs and canonical(f"{name}@") in {f"{m.name}@" for m in TABLE}  # prec, success ...
    if cutoffs == {"required"} or only_at_k or is_at_each_k:
        return tuple(parse_spec(f"{name}@{k}") for k in ks)
    return (parse_spec(text),)


@lru_cache(maxsize=64)
def _members(group: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    if group != "all":
        names = [[f"{n}{k}" for k in ks] if n.endswith("@") else [n] for n in GROUPS[group]]
        return tuple(parse_spec(name) for at_ks in names for name in at_ks)
    specs: list[Spec] = []
    for metric in TABLE:
        cutoffs: list[int | None] = [None] if metric.cutoff != "required" else []
        cutoffs += ks if metric.cutoff in ("required", "optional") else []
        if metric.general:
            specs += [Spec(metric, average, (), k) for k in cutoffs for average in metric.averages or (None,)]
    return tuple(specs)
