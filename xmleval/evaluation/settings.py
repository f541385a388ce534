"""Check the arguments of an evaluation; make its settings, and the plan for its inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.arrays import MOST_LABELS, Floats
from xmleval.base.conventions import Conventions
from xmleval.base.data_names import LABEL_DATA, ROW_DATA, DataArgument
from xmleval.base.errors import (
    Field,
    InputError,
    Keyword,
    Message,
    counted,
    positive_integer,
    real_number,
    shown,
)
from xmleval.evaluation.request import Data, Question, Request
from xmleval.files.remote import as_path, is_file
from xmleval.input.cell_marks import JUDGED, UNJUDGED, is_mark, is_truth
from xmleval.input.label_filter import NAMES, fewer_labels
from xmleval.input.match import PREDICTIONS
from xmleval.input.opened import check_labels
from xmleval.input.own_data import check_numbers, data_by_name, refuse_other_data
from xmleval.input.scan import Scan, has_options
from xmleval.input.vectors import Propensity, read_label_values, sort_by_names
from xmleval.labels.groups import DECILES, resolve_groups
from xmleval.labels.hierarchy import given_hierarchy
from xmleval.labels.propensity import resolve_propensities
from xmleval.metrics.spec import Spec, expand_metrics, notes_on_trec_map
from xmleval.states.plan import FLAGS, GIVEN_SETS, LINKED, SCORED, Plan, Settings, make_plan
from xmleval.view.block import Hierarchy
from xmleval.view.decision import (
    NO_RULE,
    Decision,
    check_decision,
    check_width,
    label_thresholds,
    parse_decision,
)
from xmleval.view.rule import Rule, rule_for

KEYED = "keys"  # an input: keys of rows, which determine their jackknife groups
MISSING = "missing; expected the relevant labels of each row"
LEAST_CONFIDENCE = 0.5
MOST_CONFIDENCE = 0.9999
FILES_OF_LABELS = (  # arguments whose files are not read row by row
    "labels",
    "inverse_propensity",
    "label_groups",
    "hierarchy",
    "row_groups",
    "clusters",
    "sample_weight",
    "exclude",
    "decision",
)
# arguments that can be files
FILES = (
    "y_true",
    "y_score",
    "y_pred",
    "y_train",
    "unjudged",
    "judged",
    "candidates",
    *FILES_OF_LABELS,
)
GIVEN_AS = {  # the arguments that meet the needs of measures
    "scores": Message(Keyword("y_score")),
    **dict.fromkeys(["entry scores", "probabilities"], Message("scores in ", Keyword("y_score"))),
    "sets": Message(Keyword("y_pred"), " or ", Keyword("decision")),
    "propensity": Message(Keyword("y_train"), " or ", Keyword("inverse_propensity")),
    "hierarchy": Message(Keyword("hierarchy")),
    "training": Message(Keyword("y_train")),
    "grades": Message(Field("gains"), ", for a truth with grades"),
}
DATA = frozenset(field.name for field in fields(Data))


def argument_of(request: Request, name: str) -> Any:
    """Return the value of an argument of `evaluate` by its name."""
    if name == "y_train":
        return request.question.training.labels
    if name in DATA:
        return getattr(request.data, name)
    return getattr(request.question, name)


def file_of(argument: str, value: object) -> Path | None:
    """Return the file of an argument; None for a value, which may be a string such as "top3"."""
    if argument in PREDICTIONS and isinstance(value, Mapping):  # of several models
        value = next(filter(is_file, value.values()), None)
    if not is_file(value) or _is_word(argument, value):
        return None
    if argument in FILES_OF_LABELS and isinstance(value, Scan) and has_options(value):
        raise InputError(argument, f"{value} is not read row by row; give its path without scan")
    if argument == "decision":
        with suppress(ValueError):
            parse_decision(str(value))
            return None
        if as_path(value).suffix != ".npz" and not as_path(value).is_file():
            text = f"{shown(str(value))} is {NO_RULE} nor a file of a rule"
            raise InputError("decision", text)
    return as_path(value)


def files_of_data(request: Request) -> dict[str, Path]:
    """Return the files among the data by label and by row of measures, by argument and name."""
    files = dict[str, Path]()
    given = (LABEL_DATA, request.question.label_data), (ROW_DATA, request.data.row_data)
    for argument, data in given:
        for name, value in data_by_name(argument, data).items():
            if is_file(value):
                files[DataArgument(argument, name)] = as_path(value)
    return files


def _is_word(argument: str, value: object) -> bool:
    """Return whether a text is a word for the value of an argument, not the name of a file."""
    if argument == UNJUDGED:
        return is_mark(value)
    if argument == JUDGED:
        return is_truth(value)
    return argument == "label_groups" and value == DECILES


def refuse_scans(request: Request) -> None:
    """Refuse `scan` of files that are not read row by row."""
    for name in FILES_OF_LABELS:
        file_of(name, argument_of(request, name))


def _flag(name: str, question: Question, requested: Collection[tuple[Spec, bool]]) -> Any:
    """Return a flag, or the names of the measures whose values it keeps, or refuse it."""
    value = getattr(question, name)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if name not in ("per_row", "per_label"):
        raise InputError(name, f"{shown(value)} is neither True nor False")
    if isinstance(value, str) or not isinstance(value, Collection):
        text = f"{shown(value)} is neither True nor False nor a list of measures"
        raise InputError(name, text)
    if not value:
        return False
    specs = [spec for spec, _ in expand_metrics(value, question.k)]
    _refuse_other_measures(name, specs, requested)
    return [spec.name for spec in specs] or False


def _refuse_other_measures(
    name: str, specs: Sequence[Spec], requested: Collection[tuple[Spec, bool]]
) -> None:
    """Refuse to keep values of measures that are not requested or have no values by label."""
    requested_names = [spec.name for spec, _ in requested]
    for spec in specs:
        if spec.name not in requested_names:
            text = f"{shown(spec.name)} is not one of the measures {', '.join(requested_names)}"
            raise InputError(name, text)
    if name == "per_label" and specs and not any(spec.by_label for spec in specs):
        raise InputError(name, f"no measure has values by label: {', '.join(map(str, specs))}")


def without_labels(question: Question) -> Question:
    """Return the part of a question that can be checked before the number of labels is known."""
    is_of_labels = isinstance(question.decision, Rule) or is_thresholds(question.decision)
    return replace(
        question,
        inverse_propensity=None,
        y_train=None,
        label_groups=None,
        hierarchy=None,
        label_data=None,
        checks_labels=False,
        decision=None if is_of_labels else question.decision,
    )


def check_settings(
    question: Question,
    n_labels: int | None,
    names: list[Any] | None = None,
    closed: bool = True,
) -> Settings:
    """Return the settings of a question, or refuse the first invalid part.

    ``names`` are the names of labels in the rows; ``closed`` is whether they were known before the
    rows were read. While the number of labels is unknown, it is 0, and arguments that depend on it
    are not checked.
    """
    if question.labels is None and n_labels is None:
        settings = _settings_of(without_labels(question), MOST_LABELS, names, closed)
        return replace(settings, n_labels=0)
    return _settings_of(question, n_labels, names, closed)


def _settings_of(
    question: Question, n_labels: int | None, names: list[Any] | None, closed: bool
) -> Settings:
    """Return the settings of a question about so many labels."""
    labels = None
    if question.labels is not None:
        labels = check_labels(question.labels, n_labels)
    n_labels = positive_integer(
        "n_labels", len(labels) if labels else n_labels, at_most=MOST_LABELS
    )
    names = labels or names
    requested = expand_metrics(question.metrics, question.k)
    conventions = question.resolved_conventions
    flags = {name: _flag(name, question, requested) for name in FLAGS}
    propensity, notes = _propensity_of(question, n_labels, names, closed)
    notes += notes_on_trec_map(question.metrics, requested, conventions)
    label_groups = None
    if question.label_groups is not None:
        counts = propensity and propensity.counts
        label_groups, new_notes = resolve_groups(
            question.label_groups, n_labels, names, closed, counts
        )
        notes += new_notes
    if propensity and not any("training" in spec.needs for spec, _ in requested):
        propensity = propensity._replace(counts=None)
    hierarchy = None
    if question.hierarchy is not None:
        hierarchy = given_hierarchy(question.hierarchy, n_labels, names, closed)
        notes += _notes_on_hierarchy(hierarchy, names)
    if is_thresholds(question.decision):
        thresholds, new_notes = read_label_values("decision", question.decision, names)
        notes += new_notes
        thresholds = sort_by_names("decision", thresholds, names, closed)
        question = replace(question, decision=label_thresholds(thresholds, n_labels))
    decision = _decision_of(
        question, conventions, n_labels, names, closed, flags["higher_is_better"]
    )
    if label_groups is not None:
        _refuse_data_of_nodes(requested)
    label_data, new_notes = _label_data_of(question, requested, n_labels, names, closed)
    notes += new_notes
    if flags["bounds"]:
        _refuse_bounds(conventions)
    confidence = _confidence_of(question)
    curve_points = 0
    if question.curve_points is not None:
        curve_points = positive_integer("curve_points", question.curve_points, at_least=0)
    return Settings(
        n_labels=n_labels,
        labels=labels,
        requested=requested,
        conventions=conventions,
        propensity=propensity,
        decision=decision,
        label_groups=label_groups,
        hierarchy=hierarchy,
        label_data=label_data,
        confidence=confidence,
        curve_points=curve_points,
        argument_notes=notes,
        given=question.given_options(n_labels),
        unknown=labels is not None,
        counts_cells=closed,
        **flags,
    )


def _refuse_data_of_nodes(requested: Sequence[tuple[Spec, bool]]) -> None:
    """Refuse groups of labels with data of labels and their ancestors, which may be outside."""
    for spec, _ in requested:
        if spec.metric.label_data and "hierarchy" in spec.needs:
            text = f"measure {spec} reads data of ancestors, which are in other groups; leave out "
            raise InputError("label_groups", Message(text, Keyword("label_groups")))


def _label_data_of(
    question: Question,
    requested: Sequence[tuple[Spec, bool]],
    n_labels: int,
    names: list[Any] | None,
    closed: bool,
) -> tuple[dict[str, Floats], list[str]]:
    """Return the data by label that measures declare, in the order of the labels, and notes."""
    given = data_by_name(LABEL_DATA, question.label_data)
    readers = {spec.name: spec.metric.label_data for spec, _ in requested}
    if question.checks_labels:
        refuse_other_data(LABEL_DATA, given, readers)
    label_data = dict[str, Floats]()
    notes = list[str]()
    for name, value in given.items():
        argument = DataArgument(LABEL_DATA, name)
        values, new_notes = read_label_values(argument, value, names)
        values = sort_by_names(argument, values, names, closed)
        label_data[name] = check_numbers(argument, values, n_labels, "label")
        notes += new_notes
    return label_data, notes


def _propensity_of(
    question: Question, n_labels: int, names: list[Any] | None, closed: bool
) -> tuple[Propensity | None, list[str]]:
    """Return the inverse propensities of a question, if any, and notes on them."""
    q = question.inverse_propensity
    training = question.training
    propensity, notes = resolve_propensities(q, training, n_labels, names, closed)
    if propensity and propensity.lowest < 1:
        lowest = f" has values below 1 (the lowest is {propensity.lowest:g})"
        hint = ": these look like propensities; give their inverses, 1 / p"
        notes = [*notes, Message(Keyword("inverse_propensity"), lowest, hint)]
    return propensity, [*notes]


def is_thresholds(decision: object) -> bool:
    """Return whether a decision is a threshold for each label, not a rule or its name."""
    is_rule = isinstance(decision, str | Path | Rule | Decision | Scan | float | int)
    return decision is not None and not is_rule


def _decision_of(
    question: Question,
    conventions: Conventions,
    n_labels: int,
    names: list[Any] | None,
    closed: bool,
    higher_is_better: bool,
) -> Decision | None:
    """Return how scores become sets, for these labels."""
    if question.decision is None:
        return None
    rule = rule_for(question.decision, names, closed)
    is_fitted = isinstance(rule, Rule)
    if is_fitted:
        check_width(rule.decision, rule.n_labels, n_labels)
    decision = parse_decision(rule.decision if is_fitted else rule)
    check_decision(decision, conventions, n_labels, higher_is_better, is_fitted)
    return decision


def _refuse_bounds(conventions: Conventions) -> None:
    """Refuse bounds over the scores of unlisted labels if these have one, or next to others."""
    if conventions.ties == "band":
        band = Field("ties", "band")
        reason = Message(
            "cannot be given with ", band, ", as a measure has one interval; leave one out"
        )
        raise InputError("bounds", reason)
    if conventions.unlisted_score is not None:
        score = Field("unlisted", f"{conventions.unlisted_score:g}")
        below = Field("unlisted", "below")
        reason = Message(score, " gives every label a score; bounds need ", below)
        raise InputError("bounds", reason)


def _confidence_of(question: Question) -> float | None:
    """Return the probability that intervals cover, if intervals are requested."""
    if question.confidence is None:
        return None
    confidence = real_number("confidence", question.confidence)
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        expected = f"{LEAST_CONFIDENCE}..{MOST_CONFIDENCE}, such as 0.95"
        text = f"{shown(question.confidence)} is not a probability within {expected}"
        raise InputError("confidence", text)
    return confidence


def _notes_on_hierarchy(hierarchy: Hierarchy | None, names: Sequence[Any] | None) -> list[Message]:
    """Return notes on a node above all labels, and on labels that may have other names as nodes."""
    notes = list[Message]()
    if hierarchy is None:
        return notes
    if hierarchy.top is not None:
        text = (
            f" has {shown(hierarchy.top)} above all labels, "
            "so it counts in every set that is not empty; "
        )
        hint = "leave out edges to it, as is usual for a root"
        notes.append(Message(Keyword("hierarchy"), text, hint))
    missing = np.setdiff1d(np.arange(hierarchy.n_labels), hierarchy.edges)
    if hierarchy.names and names is not None and missing.size:
        label = names[int(missing[0])]
        other_nodes = counted(len(hierarchy.names), "other nodes")
        text = f" lacks {missing.size} of {hierarchy.n_labels} labels, such as {label!r}"
        hint = f", but has {other_nodes}, such as {hierarchy.names[0]!r}; compare their names"
        notes.append(Message(Keyword("hierarchy"), text, hint))
    return notes


def plan_of(settings: Settings, inputs: frozenset[str]) -> Plan:
    """Return the plan for some inputs: measures requested by name, and possible ones of groups."""
    _refuse_inputs(settings, inputs)
    met = _met_needs(settings, inputs)
    specs, not_computed = _computed_of(settings, inputs, met)
    if not specs:
        raise _nothing_computed(inputs, not_computed)
    _refuse_improbable(settings, specs)
    _refuse_nothing_kept(settings, specs, met)
    decision = _decision_on(settings, inputs)
    if decision is not settings.decision:
        settings = replace(settings, decision=decision)
    return make_plan(settings, tuple(specs), inputs, not_computed)


def _refuse_inputs(settings: Settings, inputs: frozenset[str]) -> None:
    """Refuse inputs that do not go with the settings."""
    if not settings.n_labels:
        raise InputError("n_labels", "missing; expected the number of labels")
    if "y_pred" in inputs and settings.decision is not None:
        rule = Keyword("decision", str(settings.decision))
        raise InputError("y_pred", Message("given together with ", rule, "; choose one"))
    if "clusters" in inputs and settings.confidence is None:
        give = Message("clusters are for intervals; give ", Keyword("confidence"), ", such as 0.95")
        raise InputError("clusters", give)


def _met_needs(settings: Settings, inputs: frozenset[str]) -> dict[str, bool]:
    """Return whether each need of measures is met."""
    q = settings.propensity
    has_scores = "y_score" in inputs
    return {
        "scores": has_scores,
        "entry scores": SCORED in inputs,
        "probabilities": SCORED in inputs,
        "sets": "y_pred" in inputs or (settings.decision is not None and has_scores),
        "grades": settings.conventions.graded,
        "hierarchy": settings.hierarchy is not None,
        "propensity": q is not None,
        "training": q is not None and q.counts is not None,
    }


def _computed_of(
    settings: Settings, inputs: frozenset[str], met: Mapping[str, bool]
) -> tuple[list[Spec], dict[str, Message]]:
    """Return the measures to compute, and the missing inputs of measures that are not computed.

    Only measures of a group may lack inputs; one requested by name is refused.
    """
    conventions = settings.conventions
    restricted = None
    if not NAMES.isdisjoint(inputs):
        restricted = fewer_labels(inputs, conventions.unlisted_score)
    specs = list[Spec]()
    not_computed = dict[str, Message]()
    for spec, is_explicit in settings.requested:
        lacking = [need for need in spec.needs if not met[need]]
        if spec.level:  # for which the truth is read with grades
            lacking = [need for need in lacking if need != "grades"]
        needed = GIVEN_AS[lacking[0]] if lacking else None
        if spec.metric.every_label:
            needed = restricted or needed
        if needed is None:
            specs.append(spec.under(conventions))
        elif is_explicit:
            hint = ""
            if needed is GIVEN_AS["sets"] and met["scores"]:
                hint = spec.cutoff_hint
            raise ValueError(Message(spec, " needs ", needed, hint))
        else:
            not_computed[spec.name] = needed
    return specs, not_computed


def _nothing_computed(inputs: frozenset[str], not_computed: Mapping[str, Message]) -> ValueError:
    """Return the error for measures that all lack an input."""
    parts: list[object] = ["metrics: nothing can be computed without "]
    for place, needed in enumerate(dict.fromkeys(not_computed.values())):
        if place > 0:
            parts.append(" or ")
        parts.append(needed)
    if "y_pred" in inputs:
        parts += ["; the group sets needs only ", Keyword("y_pred")]
    return ValueError(Message(*parts))


def _refuse_improbable(settings: Settings, specs: Sequence[Spec]) -> None:
    """Refuse measures of probabilities if scores are not probabilities."""
    probable = next((spec for spec in specs if "probabilities" in spec.needs), None)
    if probable is None:
        return
    if not settings.higher_is_better:
        distances = Keyword("higher_is_better", "False")
        raise ValueError(
            Message(probable, " needs probabilities, but scores are distances by ", distances)
        )
    unlisted_score = settings.conventions.unlisted_score
    if settings.conventions.link != "none" or unlisted_score is None:
        return
    if not 0 <= unlisted_score <= 1:
        score = Field("unlisted", f"{unlisted_score:g}")
        needs = " is outside 0..1; ", probable, " needs probabilities; ", LINKED
        raise InputError("y_score", Message(score, *needs))


def _refuse_nothing_kept(
    settings: Settings, specs: Sequence[Spec], met: Mapping[str, bool]
) -> None:
    """Refuse to keep values by label, or points of curves, if no measure has any."""
    have_label_values = met["sets"] or met["entry scores"] or any(spec.by_label for spec in specs)
    if settings.per_label and not have_label_values:
        needed = GIVEN_AS["sets"], ", or ", GIVEN_AS["entry scores"]
        raise ValueError(Message(Keyword("per_label"), " needs ", *needed))
    if settings.curve_points and not met["entry scores"]:
        raise ValueError(Message(Keyword("curve_points"), " needs ", GIVEN_AS["entry scores"]))


def _decision_on(settings: Settings, inputs: frozenset[str]) -> Decision | None:
    """Return the rule that gives the sets, from scores where higher ones are better."""
    decision = settings.decision
    if "y_pred" in inputs:
        return GIVEN_SETS
    if decision is None or settings.higher_is_better:
        return decision
    if decision.kind == "threshold":
        return replace(decision, value=0 - decision.value)
    if decision.kind == "labels":
        return replace(decision, numbers=0 - decision.numbers)
    return decision
