"""Check the arguments of an evaluation, and make its settings and the plan for some inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.conventions import Conventions
from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    counted,
    did_you_mean,
    positive_integer,
    real_number,
    shown,
)
from xmleval.files.remote import as_path, is_file
from xmleval.input.door import NAMES, fewer_labels
from xmleval.input.objects.take import check_labels
from xmleval.labels.groups import DECILES, given_groups
from xmleval.labels.hierarchy import given_hierarchy
from xmleval.labels.propensity import CONSTANTS, constants_of, given_or_estimated
from xmleval.metrics.spec import DEFAULT_K, Spec, as_names, conventions_of, expand_metrics
from xmleval.states.effects import given_options
from xmleval.states.plan import FLAGS, GIVEN_SETS, LINKED, SCORED, Plan, Settings
from xmleval.view.block import Hierarchy
from xmleval.view.decision import Decision, check_decision, check_width, parse_decision
from xmleval.view.rule import Rule, rule_for

KEYED = "keys"  # of rows, by which they are in groups of the jackknife
GIVEN = "given"  # among the arguments: options that the caller gave, where others are added to them
OF_PROPENSITY = frozenset(["inverse_propensity", "y_train", *CONSTANTS])
OF_LABELS = ("labels", *OF_PROPENSITY, "label_groups", "hierarchy")
MISSING = "missing; expected the relevant labels of each row"
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.9999
FILES_OF_LABELS = (  # arguments whose files are not read row by row
    "labels", "inverse_propensity", "label_groups", "hierarchy", "row_groups", "clusters", "sample_weight",
    "exclude", "decision",
)  # fmt: skip
FILES = ("y_true", "y_score", "y_pred", "y_train", "candidates", *FILES_OF_LABELS)  # what can be files
GIVEN_AS = {
    "scores": Message(Keyword("y_score")),
    **dict.fromkeys(["entry scores", "probabilities"], Message("scores in ", Keyword("y_score"))),
    "sets": Message(Keyword("y_pred"), " or ", Keyword("decision")),
    "propensity": Message(Keyword("y_train"), " or ", Keyword("inverse_propensity")),
    "hierarchy": Message(Keyword("hierarchy")),
    "training": Message(Keyword("y_train")),
    "grades": Message(Keyword("gains"), ", as for a truth of grades"),
}


class Options(TypedDict, total=False):
    """Options of `evaluate` and `Evaluator` that decide what is computed."""

    labels: Any
    k: int | Iterable[int]
    inverse_propensity: Any
    y_train: Any
    dataset: str | None
    a: float | None
    b: float | None
    decision: str | Rule | Decision | None
    conventions: str | Conventions | Mapping[str, Any] | None
    unlisted: str | float | None
    gains: str | None
    link: str | None
    bounds: bool
    per_row: bool | Iterable[str]
    per_label: bool | Iterable[str]
    higher_is_better: bool
    curve_points: int | None
    label_groups: Any
    hierarchy: Any
    confidence: float | None


class FileOptions(TypedDict, total=False):
    """How files are read; see `evaluate`."""

    input_format: str | None
    true_field: str | None
    pred_field: str | None
    score_field: str | None
    id_field: str | None
    separator: str | None
    progress: bool | Callable[[int, int | None], object]


class EvaluateOptions(Options, FileOptions, total=False):
    """Arguments of `evaluate` but the truth and the scores."""

    y_pred: Any
    metrics: str | Iterable[str] | None
    n_labels: int | None
    sample_weight: Any
    row_groups: Any
    exclude: Any
    exclude_from: str
    candidates: Any
    clusters: Any
    first_row: int | None
    ranked: bool
    memory: int | str
    threads: int | None
    block_rows: int | None
    checkpoint: str | os.PathLike[str] | None
    resume: bool
    save: str | os.PathLike[str] | None
    workers: int | None
    scheduler: str | None


ARGUMENTS = dict.fromkeys(["y_true", "y_score", *EvaluateOptions.__annotations__])  # of `evaluate`


def refuse_unknown(options: Iterable[str], names: Iterable[str]) -> None:
    """Refuse arguments by name that a function does not have."""
    for name in options:
        if name not in names:
            hint = did_you_mean(name, names) or f"options are {', '.join(sorted(names))}"
            raise TypeError(f"there is no option {shown(name)}; {hint}")


def file_of(argument: str, value: Any) -> Path | None:
    """Return the file that an argument is given as, None where it is a value; some are texts themselves."""
    if argument == "y_score" and isinstance(value, Mapping):  # of several models
        value = next(filter(is_file, value.values()), None)
    if not is_file(value) or (argument == "label_groups" and value == DECILES):
        return None
    if argument == "decision":
        with suppress(ValueError):
            parse_decision(value)
            return None
        if as_path(value).suffix != ".npz" and not as_path(value).is_file():
            text = (
                f"{shown(str(value))} is neither topK (top3) nor thresholdT (threshold0.5) nor a saved rule"
            )
            raise InputError("decision", text)
    return as_path(value)


def _flag(name: str, options: Mapping[str, Any], asked: Collection[tuple[Spec, bool]]) -> Any:
    """Return a flag, or the measures by name that values of rows or labels are kept for; or refuse it."""
    value, takes_names = options.get(name, getattr(Settings, name)), name in ("per_row", "per_label")
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not takes_names or isinstance(value, str) or not isinstance(value, Collection):
        expected = f"neither True nor False{' nor a list of measures' * takes_names}"
        raise InputError(name, f"{shown(value)} is {expected}")
    names = [spec.name for spec, _ in asked]
    specs = [spec for spec, _ in expand_metrics(value, options.get("k", DEFAULT_K))] if value else []
    unknown = next((spec.name for spec in specs if spec.name not in names), None)
    if unknown is not None:
        raise InputError(name, f"{shown(unknown)} is none of the measures {', '.join(names)}")
    if name == "per_label" and specs and not any(spec.by_label for spec in specs):
        raise InputError(name, f"none of {', '.join(map(str, specs))} has values by label")
    return [spec.name for spec in specs] or False


def check_settings(
    metrics: str | Iterable[str] | None,
    options: Mapping[str, Any],
    n_labels: int | None,
    names: list[Any] | None = None,
    closed: bool = True,
) -> Settings:
    """Return the settings of options, or refuse the first invalid one; other arguments may be among them.

    ``names`` of labels are those of rows; ``closed`` tells whether they were known before these. While the
    number of labels is not known, it is 0, and what depends on it is not checked.
    """
    metrics = as_names(metrics)
    of_labels = {name: value for name in OF_LABELS if (value := options.get(name)) is not None}
    labels, rule = of_labels.get("labels"), options.get("decision")
    unsettled = (metrics, options) if labels is None and n_labels is None else None
    if unsettled:
        of_labels, n_labels, rule = {}, MOST_LABELS, None if isinstance(rule, Rule) else rule
    labels = None if labels is None else check_labels(labels, n_labels)
    n_labels = positive_integer("n_labels", len(labels) if labels else n_labels, at_most=MOST_LABELS)
    names, asked = labels or names, expand_metrics(metrics, options.get("k", DEFAULT_K))
    conventions, propensity, notes = conventions_of(metrics, options), None, list[str]()
    settings: dict[str, Any] = {name: _flag(name, options, asked) for name in FLAGS}
    settings |= {"n_labels": 0 if unsettled else n_labels, "labels": labels, "asked": asked}
    if not OF_PROPENSITY.isdisjoint(of_labels):
        q, y_train = of_labels.get("inverse_propensity"), of_labels.get("y_train")
        propensity, new_notes = given_or_estimated(q, y_train, constants_of(options), n_labels, names, closed)
        notes += new_notes
        if propensity and propensity.lowest < 1:
            lowest = f" has values below 1 (the lowest is {propensity.lowest:g})"
            hint = ": these look like propensities, not their inverses, which are 1 / p"
            notes.append(Message(Keyword("inverse_propensity"), lowest, hint))
    if "label_groups" in of_labels:
        value, counts = of_labels["label_groups"], propensity and propensity.counts
        settings["label_groups"], new_notes = given_groups(value, n_labels, names, closed, counts)
        notes += new_notes
    if propensity and not any("training" in spec.needs for spec, _ in asked):
        propensity = propensity._replace(counts=None)
    if "hierarchy" in of_labels:
        settings["hierarchy"] = given_hierarchy(of_labels["hierarchy"], n_labels, names, closed)
        notes += _about_hierarchy(settings["hierarchy"], names)
    if rule is not None:
        rule = rule_for(rule, names, closed)
        if is_fitted := isinstance(rule, Rule):
            check_width(rule.decision, rule.n_labels, n_labels)
        settings["decision"] = parse_decision(rule.decision if is_fitted else rule)
        higher_is_better = settings["higher_is_better"]
        check_decision(settings["decision"], conventions, n_labels, higher_is_better, is_fitted)
    if settings["bounds"] and (level := conventions.unlisted_score) is not None:
        score, below = Keyword("unlisted", f"{level:g}"), Keyword("unlisted", "'below'")
        raise InputError("bounds", Message(score, " gives every label a score; bounds need ", below))
    if (confidence := options.get("confidence")) is not None:
        settings["confidence"] = real_number("confidence", confidence)
        if not LEAST_CONFIDENCE <= settings["confidence"] <= MOST_CONFIDENCE:
            within = f"{LEAST_CONFIDENCE}..{MOST_CONFIDENCE}, such as 0.95"
            raise InputError("confidence", f"{shown(confidence)} is not a probability within {within}")
    if (curve_points := options.get("curve_points")) is not None:
        settings["curve_points"] = positive_integer("curve_points", curve_points, at_least=0)
    settings |= {"conventions": conventions, "propensity": propensity, "on_arguments": notes}
    given = options.get(GIVEN)
    settings["given"] = given_options(metrics, options, n_labels) if given is None else given
    return Settings(**settings, unsettled=unsettled, unknown=labels is not None, counts_cells=closed)


def _about_hierarchy(hierarchy: Hierarchy | None, names: Sequence[Any] | None) -> list[Message]:
    """Return notes on a node above all labels, and on names of labels and of nodes that may be unlike."""
    notes = list[Message]()
    if hierarchy is None:
        return notes
    if hierarchy.top is not None:
        above = f" has {shown(hierarchy.top)} above all labels: it counts in every set that is not empty; "
        hint = "without edges to it, it does not, as authors leave out a root"
        notes.append(Message(Keyword("hierarchy"), above, hint))
    lacking = np.setdiff1d(np.arange(hierarchy.n_labels), hierarchy.edges)
    if hierarchy.names and names is not None and lacking.size:
        lacks = f" lacks {lacking.size} of {hierarchy.n_labels} labels, such as {names[int(lacking[0])]!r}"
        others = counted(len(hierarchy.names), "other nodes")
        has = f", and has {others}, such as {hierarchy.names[0]!r}: compare their names"
        notes.append(Message(Keyword("hierarchy"), lacks, has))
    return notes


def plan_of(settings: Settings, inputs: frozenset[str]) -> Plan:
    """Return the plan for some inputs: measures requested by name, and those of groups that these allow."""
    decision, conventions, q = settings.decision, settings.conventions, settings.propensity
    if settings.unsettled:
        raise InputError("n_labels", "missing; expected the number of labels")
    if "y_pred" in inputs and decision is not None:
        rule = Keyword("decision", str(decision))
        raise InputError("y_pred", Message("given together with ", rule, "; choose one"))
    if "clusters" in inputs and settings.confidence is None:
        give = Message("clusters are for intervals; give ", Keyword("confidence"), ", such as 0.95")
        raise InputError("clusters", give)
    met = {
        "scores": "y_score" in inputs,
        **dict.fromkeys(["entry scores", "probabilities"], SCORED in inputs),
        "sets": "y_pred" in inputs or (decision is not None and "y_score" in inputs),
        "grades": conventions.graded,
        "hierarchy": settings.hierarchy is not None,
        "propensity": q is not None,
        "training": q is not None and q.counts is not None,
    }
    level, higher_is_better = conventions.unlisted_score, settings.higher_is_better
    fewer = None if NAMES.isdisjoint(inputs) else fewer_labels(inputs, level)
    specs, not_computed = list[Spec](), dict[str, Message]()
    for spec, explicit in settings.asked:
        missing = next((GIVEN_AS[need] for need in spec.needs if not met[need]), None)
        needed = (fewer if spec.metric.every_label else None) or missing
        if needed and explicit:
            at_k = spec.cutoff_hint if needed is GIVEN_AS["sets"] and met["scores"] else ""
            raise ValueError(Message(spec, " needs ", needed, at_k))
        if needed:
            not_computed[spec.name] = needed
        else:
            specs.append(spec.under(conventions))
    if not specs:
        reasons = dict.fromkeys(not_computed.values())
        needed = Message(*[part for reason in reasons for part in (" or ", reason)][1:])
        hint = ("; the group sets needs only ", Keyword("y_pred")) if "y_pred" in inputs else ()
        raise ValueError(Message("metrics: nothing can be computed without ", needed, *hint))
    probable = next((spec for spec in specs if "probabilities" in spec.needs), None)
    if probable and not higher_is_better:
        distances = Keyword("higher_is_better", "False")
        raise ValueError(Message(probable, " needs probabilities, not distances: ", distances))
    if probable and conventions.link == "none" and level is not None and not 0 <= level <= 1:
        outside = Message(f"{level:g} is outside 0..1; ", probable, " needs probabilities; ", LINKED)
        raise InputError("unlisted", outside)
    if settings.per_label and not (met["sets"] or met["entry scores"] or any(spec.k for spec in specs)):
        either = GIVEN_AS["sets"], ", or ", GIVEN_AS["entry scores"]
        raise ValueError(Message(Keyword("per_label"), " needs ", *either))
    if settings.curve_points and not met["entry scores"]:
        raise ValueError(Message(Keyword("curve_points"), " needs ", GIVEN_AS["entry scores"]))
    if "y_pred" in inputs:
        decision = GIVEN_SETS
    elif decision and decision.kind == "threshold" and not higher_is_better:
        decision = Decision("threshold", 0 - decision.value)
    of_plan = vars(settings) | {"decision": decision, "specs": tuple(specs), "not_computed": not_computed}
    return Plan(**of_plan, inputs=inputs)
