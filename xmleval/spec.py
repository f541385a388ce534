"""Names of measures: parse and print ``name[.average][(param=value)][@k]``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xmleval.cached import cached
from xmleval.conventions import Conventions
from xmleval.input.errors import positive_integer
from xmleval.message import Keyword, Message
from xmleval.metrics import ALIASES, GROUPS, TABLE, Metric
from xmleval.view.decision import Decision

GRAMMAR = re.compile(
    r"(?P<name>[a-z0-9_\-]+)(\.(?P<average>[a-z_]+))?(\((?P<params>[^()]*)\))?(@(?P<k>-?[0-9]+))?"
)
DEFAULT_K = (1, 3, 5)
MOST_K = (1 << 31) - 1


@dataclass(frozen=True)
class Spec:
    """One measure with its average, parameters and cutoff settled; prints in the grammar."""

    metric: Metric
    average: str | None = None
    params: tuple[tuple[str, float], ...] = ()
    k: int | None = None

    def __str__(self) -> str:
        """Return the name that parses to this spec."""
        return self._name

    @cached
    def _name(self) -> str:
        average = f".{self.average}" if self.average else ""
        shown = ",".join(f"{name}={_number(value)}" for name, value in self.params)
        return f"{self.metric.name}{average}{f'({shown})' if shown else ''}{self._cutoff}"

    @property
    def symbol(self) -> str:
        """Return the printed symbol, e.g. ``nDCG@5``."""
        values = {name: _number(value) for name, value in self.params}
        text = self.metric.symbol.format(k=self.k, average=self.average, **values)
        return text if "{k}" in self.metric.symbol else f"{text}{self._cutoff}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Inputs the value needs: of "scores", "sets" and "propensity"."""
        return self.metric.needs(self.average, self.k)

    @property
    def _cutoff(self) -> str:
        return "" if self.k is None else f"@{self.k}"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


@lru_cache(maxsize=1024)
def parse_spec(text: str) -> Spec:
    """Parse the name of one measure.

    Parameters
    ----------
    text : str
        For example ``p@5``, ``f1.macro@5`` or ``fbeta.samples(beta=2)``; case does not matter.

    Returns
    -------
    Spec

    Raises
    ------
    ValueError
        If the name is unknown, or its average, parameter or cutoff is missing, unknown or not positive.
    """
    found = GRAMMAR.fullmatch(_canonical(text))
    if found is None:
        hint = "; give several names as a list" if "," in text else ""
        raise ValueError(f"{text!r} is not a measure's name: name[.average][(param=value)][@k]{hint}")
    name, average = found["name"], found["average"]
    k = None if found["k"] is None else int(found["k"])
    rows = [metric for metric in TABLE if metric.name == name]
    averages = list(dict.fromkeys(f"{name}.{a}" for metric in rows for a in metric.averages))
    averages += [alias for alias in ALIASES if alias.startswith(f"{name}.")]
    if not rows and not averages:
        raise ValueError(f"{text!r}: there is no measure {name!r}; `xmleval metrics` lists all")
    rows = [metric for metric in rows if average in (metric.averages or (None,))]
    if not rows:
        known = ", ".join(averages)
        said = f"no average {average!r}" if average else "needs an average"
        raise ValueError(f"{text!r}: {said}; " + (f"choose from {known}" if known else "it takes none"))
    if k is not None and not 0 < k <= MOST_K:
        raise ValueError(f"{text!r}: k={k} is not {'positive' if k <= 0 else 'below 2^31'}")
    rows = [m for m in rows if m.cutoff == "optional" or (m.cutoff == "required") == (k is not None)]
    if not rows:
        raise ValueError(f"{text!r}: {name} " + ("needs a cutoff, as in @5" if k is None else "takes no @k"))
    named = {item.partition("=")[0] for item in (found["params"] or "").split(",") if item}
    rows = [m for m in rows if named <= {*m.params} and (named or not m.params)] or rows
    return Spec(rows[0], average, _parse_params(text, rows[0], average, found["params"]), k)


def _canonical(text: str) -> str:
    text = text.strip().lower().replace(" ", "")
    for alias, name in ALIASES.items():
        if text == alias or text.startswith(alias + "@") or (alias.endswith("@") and text.startswith(alias)):
            return name + text[len(alias) :]
    return text


def _parse_params(
    text: str, metric: Metric, average: str | None, given: str | None
) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for item in (given or "").split(",") if given else []:
        name, _, value = item.partition("=")
        if name in found:
            raise ValueError(f"{text!r}: {name} is given twice")
        if name not in metric.params:
            raise ValueError(f"{text!r}: {metric.name} has no parameter {name!r}")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"{text!r}: {name}={value!r} is not a number") from None
        if not 0 <= found[name] < 1e150:
            raise ValueError(f"{text!r}: {name}={value} is not a number of 0 or more")
        allowed = metric.params[name].allowed
        if allowed and found[name] not in allowed:
            raise ValueError(f"{text!r}: {name}={value} is not an integer in {allowed[0]}..{allowed[-1]}")
    for name, param in metric.params.items():
        if name not in found:
            as_in = f"{metric.name}.{average}({name}={param.example:g})"
            raise ValueError(f"{text!r}: needs {name}, as in {as_in}")
    return tuple(found.items())


def expand_metrics(
    metrics: str | Iterable[str] | None, ks: int | Iterable[int] = DEFAULT_K
) -> list[tuple[Spec, bool]]:
    """Turn names and groups into specs, in order and without repeats.

    Parameters
    ----------
    metrics : str, iterable of str, or None
        Names of measures and of groups; None for the group ``xmc``.
    ks : int or iterable of int
        Cutoffs of measures at k that are named without one.

    Returns
    -------
    list of (Spec, bool)
        Each spec, and whether it was asked for by its own name.

    Raises
    ------
    ValueError
        If a name does not parse or a cutoff is not a positive integer.
    """
    if not (metrics is None or isinstance(metrics, Iterable)):
        raise ValueError(f"metrics: {metrics!r} is neither a name nor a list of names")
    asked = ["xmc"] if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    several: Iterable[Any] = ks if isinstance(ks, Iterable) and getattr(ks, "ndim", 1) != 0 else [ks]
    cutoffs = tuple(positive_integer("k", k) for k in several)
    if not asked or not cutoffs:
        raise ValueError("metrics and k must not be empty")
    found: dict[str, tuple[Spec, bool]] = {}
    for item in asked:
        if not isinstance(item, str):
            raise ValueError(f"metrics: {item!r} is not a name")
        explicit = item.strip().lower() not in (*GROUPS, "all")
        for spec in _named(item, cutoffs) if explicit else _members(item.strip().lower(), cutoffs):
            known = found.get(str(spec))
            found[str(spec)] = (spec, explicit or (known is not None and known[1]))
    return list(found.values())


@lru_cache(maxsize=256)
def _named(text: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    if "@" in text:
        return (parse_spec(text),)
    name = _canonical(text)
    cutoffs = {m.cutoff for m in TABLE if m.name == name}
    only_at_k = not cutoffs and _canonical(f"{text}@") in {f"{m.name}@" for m in TABLE}  # prec, success ...
    if cutoffs == {"required"} or only_at_k:
        return tuple(parse_spec(f"{text}@{k}") for k in ks)
    return (parse_spec(text),)


@lru_cache(maxsize=64)
def _members(group: str, ks: tuple[int, ...]) -> tuple[Spec, ...]:
    if group != "all":
        names = [[f"{n}{k}" for k in ks] if n.endswith("@") else [n] for n in GROUPS[group]]
        return tuple(parse_spec(name) for several in names for name in several)
    specs: list[Spec] = []
    for metric in TABLE:
        cutoffs: list[int | None] = [None] if metric.cutoff != "required" else []
        cutoffs += ks if metric.cutoff != "none" else []
        if not metric.params:
            specs += [Spec(metric, average, (), k) for k in cutoffs for average in metric.averages or (None,)]
    return tuple(specs)


def parse_decision(rule: str | Decision | None) -> Decision | None:
    """Parse ``top3`` or ``threshold0.5``.

    Parameters
    ----------
    rule : str, Decision or None
        How scores become sets: the k best labels, or all with a score strictly above a number; or what a
        fitted rule does.

    Returns
    -------
    Decision or None

    Raises
    ------
    ValueError
        If the rule is neither, k is not positive or the threshold is NaN.
    """
    if rule is None or isinstance(rule, Decision):
        return rule
    text = rule.strip().lower() if isinstance(rule, str) else ""
    found = re.fullmatch(r"(top(?=[0-9]+$)|threshold)(.+)", text)
    try:
        if found is None:
            raise ValueError
        value = float(int(found[2])) if found[1] == "top" else float(found[2])
        if value != value or (found[1] == "top" and value <= 0):
            raise ValueError
    except ValueError:
        neither = " is neither topK (top3) nor thresholdT (threshold0.5)"
        raise ValueError(Message(Keyword("decision", repr(rule)), neither)) from None
    return Decision(found[1], value)


def check_width(decision: Decision, n_fitted: int, n_labels: int) -> None:
    """Refuse a rule that was fitted to another number of labels."""
    if n_fitted != n_labels:
        given = Keyword("decision", str(decision))
        raise ValueError(Message(given, f" has {n_fitted} labels; {n_labels} were expected"))


def check_decision(decision: Decision | None, conventions: Conventions, n_labels: int) -> None:
    """Refuse a threshold that every unlisted label would pass, and rules for other data."""
    score = conventions.unlisted_score
    if decision is None:
        return
    given = Keyword("decision", str(decision))
    if decision.kind == "features":
        raise ValueError(Message(given, " looks at features; apply it to them, and give ", Keyword("y_pred")))
    if decision.kind == "labels":
        check_width(decision, decision.numbers.size, n_labels)
    if decision.kind == "rows" and (None if math.isnan(decision.value) else decision.value) != score:
        other = Keyword("unlisted"), f" than {conventions.unlisted}"
        raise ValueError(Message(given, " was fitted for another ", *other))
    least = decision.value if decision.kind == "threshold" else decision.numbers.min(initial=math.inf)
    if decision.kind in ("threshold", "labels") and score is not None and least < score:
        level = Keyword("unlisted", f"{score:g}")
        raise ValueError(Message(given, " with ", level, " would predict every unlisted label"))
