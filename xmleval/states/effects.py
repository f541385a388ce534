"""Notes on options without effect: which options a caller gave, and what each one is for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.conventions import changed_fields, names_field
from xmleval.base.errors import Field, Keyword, Message
from xmleval.labels.groups import are_edges
from xmleval.labels.propensity import CONSTANTS
from xmleval.metrics.measure import Metrics
from xmleval.metrics.spec import DEFAULT_K, MOST_K, Spec, expand_metrics
from xmleval.states.plan import GIVEN_SETS, SCORED, Plan

MOST_NAMES = 5  # measures that a note names
FIELD = "conventions."  # begins the name of a field that is given
DEFAULTS: dict[str, Any] = {"higher_is_better": True}


class Purpose(NamedTuple):
    """Measures that an option is for.

    has_effect : whether the option affects what a plan computes
    text : the measures, as a note names them
    """

    has_effect: Callable[[Plan], bool]
    text: str


def _needs(*inputs: str) -> Callable[[Plan], bool]:
    """Return a test whether any measure of a plan needs one of the inputs."""
    return lambda plan: any(need in inputs for spec in plan.all_specs for need in spec.needs)


def _reads_scores(plan: Plan) -> bool:
    """Return whether anything is computed from scores or from their order."""
    if _needs("scores", "entry scores", "probabilities")(plan) or _has_curves(plan):
        return True
    rules = {*plan.kept_decisions}
    if plan.uses_decision and plan.decision is not None:
        rules.add(plan.decision)
    return not rules <= {GIVEN_SETS}


def _has_curves(plan: Plan) -> bool:
    """Return whether curves or points of curves are kept."""
    return plan.keep_curves or plan.curve_points > 0


def _reads_field(name: str) -> Callable[[Plan], bool]:
    """Return a test whether a field of the conventions affects any value of a plan."""

    def has_effect(plan: Plan) -> bool:
        rule = None if plan.decision is None else str(plan.decision)
        fields = {field for spec in plan.all_specs for field in spec.conventions(rule)}
        if plan.kept_decisions:
            fields.add("zero_division")
        if _has_curves(plan):
            fields |= {"auc_ties", "ap_empty", "unlisted"}
        return name in fields

    return has_effect


def reads_relevance(spec: Spec, plan: Plan) -> bool:
    """Return whether a measure depends on which labels are relevant by the conventions.

    Measures of gains or of judgements do not, nor do those with a level of relevance of their own.
    """
    if spec.level or (spec.reads_gains and plan.conventions.has_gains):
        return False
    return spec.metric.of_relevance


SETS = "measures of predicted sets, such as f1.micro"
SCORES = "measures of scores or of their order"
PROPENSITIES = "measures with propensities, such as psp@5"
OPTIONS = {
    "k": Purpose(lambda plan: False, "measures at k that are named without a cutoff"),
    "decision": Purpose(lambda plan: plan.uses_decision, SETS),
    "inverse_propensity": Purpose(_needs("propensity", "training"), PROPENSITIES),
    "y_train": Purpose(_needs("propensity", "training"), f"{PROPENSITIES}, and for popularity"),
    **dict.fromkeys(CONSTANTS, Purpose(_needs("propensity"), PROPENSITIES)),
    "hierarchy": Purpose(
        _needs("hierarchy"), "measures of the group hierarchy, such as h_f1.micro"
    ),
    "higher_is_better": Purpose(lambda plan: SCORED in plan.inputs and _reads_scores(plan), SCORES),
    "bounds": Purpose(
        lambda plan: any(map(plan.bounded, plan.specs)),
        "coverage, ranking_loss, lrap and, without weights, auc",
    ),
    "per_row": Purpose(
        lambda plan: any(spec.has_row_values for spec in plan.specs), "means over rows, such as p@5"
    ),
}
FIELDS = {
    "unlisted": Purpose(_reads_field("unlisted"), SCORES),
    "relevant_from": Purpose(
        lambda plan: any(reads_relevance(spec, plan) for spec in plan.all_specs),
        "measures of relevant labels, such as p@5",
    ),
    "link": Purpose(_needs("probabilities"), "measures of calibration, such as brier@5"),
}  # fields of the conventions
INPUTS = {
    "y_score": Purpose(_reads_scores, SCORES),
    "y_pred": Purpose(lambda plan: plan.uses_decision, SETS),
    "sample_weight": Purpose(
        lambda plan: any(spec.weighs for spec in plan.all_specs),
        "measures other than distinct counts",
    ),
}
GAINS = "gains"
RELEVANT_FROM = "relevant_from"
GIVEN = tuple(name for name in OPTIONS if name != "k")  # options that count if they have a value
OF_GAINS = "measures of gains, such as ndcg@5, and a truth with grades"


def given_options(
    metrics: Metrics | None, options: Mapping[str, Any], n_labels: int
) -> frozenset[str]:
    """Return the options, and the fields of conventions, that are given and may be without effect.

    A value that equals the default does not count. ``k`` counts if no measure is named without a
    cutoff.
    """
    values = [(name, options.get(name)) for name in GIVEN]
    given = {name for name, value in values if value is not None and not _is_default(name, value)}
    if "y_train" in given and are_edges(options.get("label_groups"), n_labels):
        given.remove("y_train")  # its labels are counted for the groups
    if not _reads_cutoffs(metrics, options):
        given.add("k")
    given.update(FIELD + name for name in changed_fields(options.get("conventions")))
    for name in (RELEVANT_FROM, GAINS):  # their defaults, too, answer a note
        if names_field(options.get("conventions"), name):
            given.add(FIELD + name)
    return frozenset(given)


def _is_default(name: str, value: object) -> bool:
    """Return whether a value of an option is its default."""
    return isinstance(value, str | bool | np.bool_) and bool(value == DEFAULTS.get(name, False))


def _reads_cutoffs(metrics: Metrics | None, options: Mapping[str, Any]) -> bool:
    """Return whether ``k`` has its default value or gives any measure its cutoffs."""
    k = options.get("k", DEFAULT_K)
    if isinstance(k, list | tuple) and tuple(k) == DEFAULT_K:
        return True
    lists: list[Any] = [metrics]
    for option in ("per_row", "per_label"):
        names = options.get(option)
        if isinstance(names, list | tuple) and names:
            lists.append(names)
    return any(expand_metrics(names, MOST_K) != expand_metrics(names, 1) for names in lists)


def idle_notes(plan: Plan) -> list[Message]:
    """Return a note on each option that is given and has no effect on the measures of a plan."""
    purposes = [(name, OPTIONS[name]) for name in OPTIONS if name in plan.given]
    purposes += [(name, INPUTS[name]) for name in INPUTS if name in plan.inputs]
    notes = [
        idle_note(Keyword(name), plan.specs, purpose.text)
        for name, purpose in purposes
        if not purpose.has_effect(plan)
    ]
    return notes + _idle_field_notes(plan)


def _idle_field_notes(plan: Plan) -> list[Message]:
    """Return a note on each field of conventions with a purpose, and one on all other fields."""
    notes = list[Message]()
    given = [name.removeprefix(FIELD) for name in sorted(plan.given) if name.startswith(FIELD)]
    for name, purpose in FIELDS.items():
        if name in given and not purpose.has_effect(plan):
            notes.append(idle_note(Field(name), plan.specs, purpose.text))
    without_purpose = [name for name in given if name != GAINS and name not in FIELDS]
    idle = [name for name in without_purpose if not _reads_field(name)(plan)]
    if idle:
        have = "has" if len(idle) == 1 else "have"
        effect = f"{', '.join(idle)} {have} no effect on {few_names(plan.specs)}"
        notes.append(Message(f"conventions: {effect}"))
    return notes


def are_gains_idle(plan: Plan) -> bool:
    """Return whether gains are given and no measure reads them, except from a truth with grades."""
    if FIELD + GAINS not in plan.given or not plan.conventions.has_gains:
        return False
    return not _reads_field(GAINS)(plan) and not _needs("grades")(plan)


def idle_note(option: Keyword, specs: Collection[Spec], purpose: str) -> Message:
    """Return the note on an option that affects none of the measures."""
    return Message(option, f" has no effect on {few_names(specs)}; it is for {purpose}")


def few_names(specs: Iterable[Spec]) -> str:
    """Return the names of the first measures, and how many more there are."""
    names = [spec.name for spec in specs]
    n_more = len(names) - MOST_NAMES
    if n_more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {n_more} more"
