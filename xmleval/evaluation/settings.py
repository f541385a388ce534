"""Check the arguments of an evaluation, and make its settings and the plan for some inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.conventions import Conventions
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
from xmleval.input.door import NAMES, fewer_labels
from xmleval.input.opened import check_labels
from xmleval.input.scan import Scan
from xmleval.input.vectors import Propensity
from xmleval.labels.groups import DECILES, given_groups
from xmleval.labels.hierarchy import given_hierarchy
from xmleval.labels.propensity import given_or_estimated
from xmleval.metrics.spec import Spec, expand_metrics
from xmleval.states.plan import FLAGS, GIVEN_SETS, LINKED, SCORED, Plan, Settings, make_plan
from xmleval.view.block import Hierarchy
from xmleval.view.decision import Decision, check_decision, check_width, parse_decision
from xmleval.view.rule import Rule, rule_for

KEYED = "keys"  # of rows, by which they are in groups of the jackknife
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
    "grades": Message(Field("gains"), ", as for a truth of grades"),
}


DATA = frozenset(field.name for field in fields(Data))


def argument_of(request: Request, name: str) -> Any:
    """Return what is given under the name of an argument of `evaluate`."""
    if name == "y_train":
        return request.question.training.labels
    return getattr(request.data if name in DATA else request.question, name)


def file_of(argument: str, value: object) -> Path | None:
    """Return the file that an argument is given as, None where it is a value; some are texts themselves."""
    if argument == "y_score" and isinstance(value, Mapping):  # of several models
        value = next(filter(is_file, value.values()), None)
    if not is_file(value) or (argument == "label_groups" and value == DECILES):
        return None
    if argument in FILES_OF_LABELS and isinstance(value, Scan) and value.says_how:
        raise InputError(argument, f"{value} is not read row by row; expected its path alone, without scan")
    if argument == "decision":
        with suppress(ValueError):
            parse_decision(str(value))
            return None
        if as_path(value).suffix != ".npz" and not as_path(value).is_file():
            text = (
                f"{shown(str(value))} is neither topK (top3) nor thresholdT (threshold0.5) nor a saved rule"
            )
            raise InputError("decision", text)
    return as_path(value)


def refuse_scans(request: Request) -> None:
    """Refuse `scan` of files that are not read row by row."""
    for name in FILES_OF_LABELS:
        file_of(name, argument_of(request, name))


def _flag(name: str, question: Question, asked: Collection[tuple[Spec, bool]]) -> Any:
    """Return a flag, or the measures by name that values of rows or labels are kept for; or refuse it."""
    value, takes_names = getattr(question, name), name in ("per_row", "per_label")
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not takes_names or isinstance(value, str) or not isinstance(value, Collection):
        expected = f"neither True nor False{' nor a list of measures' * takes_names}"
        raise InputError(name, f"{shown(value)} is {expected}")
    names = [spec.name for spec, _ in asked]
    specs = [spec for spec, _ in expand_metrics(value, question.k)] if value else []
    unknown = next((spec.name for spec in specs if spec.name not in names), None)
    if unknown is not None:
        raise InputError(name, f"{shown(unknown)} is none of the measures {', '.join(names)}")
    if name == "per_label" and specs and not any(spec.by_label for spec in specs):
        raise InputError(name, f"none of {', '.join(map(str, specs))} has values by label")
    return [spec.name for spec in specs] or False


def without_labels(question: Question) -> Question:
    """Return the part of a question that can be checked before the number of labels is known."""
    is_rule = isinstance(question.decision, Rule)
    return replace(
        question,
        inverse_propensity=None,
        y_train=None,
        label_groups=None,
        hierarchy=None,
        decision=None if is_rule else question.decision,
    )


def check_settings(
    question: Question,
    n_labels: int | None,
    names: list[Any] | None = None,
    closed: bool = True,
) -> Settings:
    """Return the settings of a question, or refuse the first invalid part.

    ``names`` of labels are those of rows; ``closed`` tells whether they were known before these. While the
    number of labels is not known, it is 0, and what depends on it is not checked.
    """
    if question.labels is None and n_labels is None:
        settings = _settings_of(without_labels(question), MOST_LABELS, names, closed)
        return replace(settings, n_labels=0)
    return _settings_of(question, n_labels, names, closed)


def _settings_of(question: Question, n_labels: int | None, names: list[Any] | None, closed: bool) -> Settings:
    """Return the settings of a question about so many labels."""
    labels = None if question.labels is None else check_labels(question.labels, n_labels)
    n_labels = positive_integer("n_labels", len(labels) if labels else n_labels, at_most=MOST_LABELS)
    names = labels or names
    asked = expand_metrics(question.metrics, question.k)
    conventions = question.resolved_conventions
    flags = {name: _flag(name, question, asked) for name in FLAGS}
    propensity, notes = _propensity_of(question, n_labels, names, closed)
    label_groups = None
    if question.label_groups is not None:
        counts = propensity and propensity.counts
        label_groups, new_notes = given_groups(question.label_groups, n_labels, names, closed, counts)
        notes += new_notes
    if propensity and not any("training" in spec.needs for spec, _ in asked):
        propensity = propensity._replace(counts=None)
    hierarchy = None
    if question.hierarchy is not None:
        hierarchy = given_hierarchy(question.hierarchy, n_labels, names, closed)
        notes += _about_hierarchy(hierarchy, names)
    decision = _decision_of(question, conventions, n_labels, names, closed, flags["higher_is_better"])
    if flags["bounds"] and (level := conventions.unlisted_score) is not None:
        score, below = Field("unlisted", f"{level:g}"), Field("unlisted", "below")
        raise InputError("bounds", Message(score, " gives every label a score; bounds need ", below))
    confidence = _confidence_of(question)
    curve_points = 0
    if question.curve_points is not None:
        curve_points = positive_integer("curve_points", question.curve_points, at_least=0)
    return Settings(
        n_labels=n_labels,
        labels=labels,
        asked=asked,
        conventions=conventions,
        propensity=propensity,
        decision=decision,
        label_groups=label_groups,
        hierarchy=hierarchy,
        confidence=confidence,
        curve_points=curve_points,
        on_arguments=notes,
        given=question.given_options(n_labels),
        unknown=labels is not None,
        counts_cells=closed,
        **flags,
    )


def _propensity_of(
    question: Question, n_labels: int, names: list[Any] | None, closed: bool
) -> tuple[Propensity | None, list[str]]:
    """Return the inverse propensities of a question, if any, and notes on them."""
    q, training = question.inverse_propensity, question.training
    propensity, notes = given_or_estimated(q, training, n_labels, names, closed)
    if propensity and propensity.lowest < 1:
        lowest = f" has values below 1 (the lowest is {propensity.lowest:g})"
        hint = ": these look like propensities, not their inverses, which are 1 / p"
        notes = [*notes, Message(Keyword("inverse_propensity"), lowest, hint)]
    return propensity, [*notes]


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


def _confidence_of(question: Question) -> float | None:
    """Return the probability that intervals cover, if they are asked for."""
    if question.confidence is None:
        return None
    confidence = real_number("confidence", question.confidence)
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        within = f"{LEAST_CONFIDENCE}..{MOST_CONFIDENCE}, such as 0.95"
        raise InputError("confidence", f"{shown(question.confidence)} is not a probability within {within}")
    return confidence


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
    """Return for each need of measures whether it is met."""
    q, has_scores = settings.propensity, "y_score" in inputs
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
    """Return the measures that are computed, and what those of groups that are left out need."""
    conventions = settings.conventions
    fewer = None if NAMES.isdisjoint(inputs) else fewer_labels(inputs, conventions.unlisted_score)
    specs, not_computed = list[Spec](), dict[str, Message]()
    for spec, explicit in settings.asked:
        missing = next((GIVEN_AS[need] for need in spec.needs if not met[need]), None)
        needed = (fewer if spec.metric.every_label else None) or missing
        if needed is None:
            specs.append(spec.under(conventions))
        elif explicit:
            at_k = spec.cutoff_hint if needed is GIVEN_AS["sets"] and met["scores"] else ""
            raise ValueError(Message(spec, " needs ", needed, at_k))
        else:
            not_computed[spec.name] = needed
    return specs, not_computed


def _nothing_computed(inputs: frozenset[str], not_computed: Mapping[str, Message]) -> ValueError:
    """Return what to raise where every measure lacks an input."""
    reasons = dict.fromkeys(not_computed.values())
    needed = Message(*[part for reason in reasons for part in (" or ", reason)][1:])
    hint = ("; the group sets needs only ", Keyword("y_pred")) if "y_pred" in inputs else ()
    return ValueError(Message("metrics: nothing can be computed without ", needed, *hint))


def _refuse_improbable(settings: Settings, specs: Sequence[Spec]) -> None:
    """Refuse measures of probabilities where scores are none."""
    probable = next((spec for spec in specs if "probabilities" in spec.needs), None)
    if probable is None:
        return
    if not settings.higher_is_better:
        distances = Keyword("higher_is_better", "False")
        raise ValueError(Message(probable, " needs probabilities, not distances: ", distances))
    level = settings.conventions.unlisted_score
    if settings.conventions.link == "none" and level is not None and not 0 <= level <= 1:
        outside = Field("unlisted", f"{level:g}"), " is outside 0..1; "
        raise InputError("y_score", Message(*outside, probable, " needs probabilities; ", LINKED))


def _refuse_nothing_kept(settings: Settings, specs: Sequence[Spec], met: Mapping[str, bool]) -> None:
    """Refuse to keep values by label, or points of curves, where there are none."""
    if settings.per_label and not (met["sets"] or met["entry scores"] or any(spec.k for spec in specs)):
        either = GIVEN_AS["sets"], ", or ", GIVEN_AS["entry scores"]
        raise ValueError(Message(Keyword("per_label"), " needs ", *either))
    if settings.curve_points and not met["entry scores"]:
        raise ValueError(Message(Keyword("curve_points"), " needs ", GIVEN_AS["entry scores"]))


def _decision_on(settings: Settings, inputs: frozenset[str]) -> Decision | None:
    """Return how sets are given or made, of scores of which higher ones are better."""
    decision = settings.decision
    if "y_pred" in inputs:
        return GIVEN_SETS
    if decision and decision.kind == "threshold" and not settings.higher_is_better:
        return Decision("threshold", 0 - decision.value)
    return decision
