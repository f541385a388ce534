"""Options that change nothing of what is requested: which a caller gave, and what each is for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.conventions import changed_fields
from xmleval.base.errors import Field, Keyword, Message
from xmleval.labels.groups import are_edges
from xmleval.labels.propensity import CONSTANTS
from xmleval.metrics.spec import DEFAULT_K, MOST_K, Spec, expand_metrics
from xmleval.states.plan import GIVEN_SETS, SCORED, Plan

MOST_NAMES = 5  # measures that a note names
FIELD = "conventions."  # before the name of a field that is given
DEFAULTS: dict[str, Any] = {"higher_is_better": True}


class Purpose(NamedTuple):
    """When an option affects what a plan computes, and what it is for."""

    has_effect: Callable[[Plan], bool]
    text: str


def _needs(*inputs: str) -> Callable[[Plan], bool]:
    """Return a test whether any measure needs one of the inputs."""
    return lambda plan: any(need in inputs for spec in plan.all_specs for need in spec.needs)


def _reads_scores(plan: Plan) -> bool:
    """Tell whether anything is computed from scores or from their order."""
    rules = {*plan.kept_decisions}
    if plan.uses_decision and plan.decision is not None:
        rules.add(plan.decision)
    of_measures = _needs("scores", "entry scores", "probabilities")(plan)
    return of_measures or plan.keep_curves or plan.curve_points > 0 or not rules <= {GIVEN_SETS}


def _field(name: str) -> Callable[[Plan], bool]:
    """Return a test whether a field of the conventions affects any value."""

    def has_effect(plan: Plan) -> bool:
        rule = None if plan.decision is None else str(plan.decision)
        fields = {field for spec in plan.all_specs for field in spec.conventions(rule)}
        if plan.kept_decisions:
            fields.add("zero_division")
        if plan.keep_curves or plan.curve_points > 0:
            fields |= {"auc_ties", "ap_empty", "unlisted"}
        return name in fields

    return has_effect


SETS = "measures of predicted sets, such as f1.micro"
SCORES = "measures of scores or of their order"
PROPENSITIES = "measures with propensities, such as psp@5"
OPTIONS = {
    "k": Purpose(lambda plan: False, "measures at k that are named without a cutoff"),
    "decision": Purpose(lambda plan: plan.uses_decision, SETS),
    "inverse_propensity": Purpose(_needs("propensity", "training"), PROPENSITIES),
    "y_train": Purpose(_needs("propensity", "training"), f"{PROPENSITIES}, and for popularity"),
    **dict.fromkeys(CONSTANTS, Purpose(_needs("propensity"), PROPENSITIES)),
    "hierarchy": Purpose(_needs("hierarchy"), "measures of the group hierarchy, such as h_f1.micro"),
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
    "unlisted": Purpose(_field("unlisted"), SCORES),
    "link": Purpose(_needs("probabilities"), "measures of calibration, such as brier@5"),
}
INPUTS = {
    "y_score": Purpose(_reads_scores, SCORES),
    "y_pred": Purpose(lambda plan: plan.uses_decision, SETS),
    "sample_weight": Purpose(
        lambda plan: any(spec.weighs for spec in plan.all_specs), "measures other than distinct counts"
    ),
}
GAINS = "gains"
GIVEN = tuple(name for name in OPTIONS if name != "k")  # options that count if they are given
OF_GAINS = "measures of gains, such as ndcg@5, and a truth with grades"


def given_options(
    metrics: str | Iterable[str] | None, options: Mapping[str, Any], n_labels: int
) -> frozenset[str]:
    """Return the options, and the fields of conventions, that are given and may be without effect.

    What equals the default does not count. ``k`` counts where no measure is named without a cutoff.
    """
    values = [(name, options.get(name)) for name in GIVEN]
    given = {name for name, value in values if value is not None and not _is_default(name, value)}
    if "y_train" in given and are_edges(options.get("label_groups"), n_labels):
        given.remove("y_train")  # whose labels are counted
    if not _reads_cutoffs(metrics, options):
        given.add("k")
    return frozenset(given | {FIELD + name for name in changed_fields(options.get("conventions"))})


def _is_default(name: str, value: object) -> bool:
    """Tell whether a value of an option is that without it."""
    return isinstance(value, str | bool | np.bool_) and bool(value == DEFAULTS.get(name, False))


def _reads_cutoffs(metrics: str | Iterable[str] | None, options: Mapping[str, Any]) -> bool:
    """Tell whether any measure takes its cutoffs of ``k``, or that is not given."""
    k = options.get("k", DEFAULT_K)
    if isinstance(k, list | tuple) and tuple(k) == DEFAULT_K:
        return True
    kept = [options.get(name) for name in ("per_row", "per_label")]
    lists = [metrics, *(names for names in kept if isinstance(names, list | tuple) and names)]
    return any(expand_metrics(names, MOST_K) != expand_metrics(names, 1) for names in lists)


def idle_notes(plan: Plan) -> list[Message]:
    """Return a note on each option that is given and has no effect on the measures of a plan."""
    purposes = [(name, OPTIONS[name]) for name in OPTIONS if name in plan.given] if plan.given else []
    purposes += [(name, INPUTS[name]) for name in INPUTS if name in plan.inputs]
    idle = [(name, purpose.text) for name, purpose in purposes if not purpose.has_effect(plan)]
    notes = [idle_note(Keyword(name), plan.specs, text) for name, text in idle]
    if not plan.given:
        return notes
    given = [name.removeprefix(FIELD) for name in sorted(plan.given) if name.startswith(FIELD)]
    for name in FIELDS:
        if name in given and not FIELDS[name].has_effect(plan):
            notes.append(idle_note(Field(name), plan.specs, FIELDS[name].text))
    fields = [name for name in given if name != GAINS and name not in FIELDS and not _field(name)(plan)]
    if fields:
        have = "has" if len(fields) == 1 else "have"
        effect = f"{', '.join(fields)} {have} no effect on {few_names(plan.specs)}"
        notes.append(Message(f"conventions: {effect}"))
    return notes


def are_gains_idle(plan: Plan) -> bool:
    """Tell whether gains are given and no measure reads them; a truth with grades may."""
    return FIELD + GAINS in plan.given and not _field(GAINS)(plan) and not _needs("grades")(plan)


def idle_note(option: Keyword, specs: Collection[Spec], purpose: str) -> Message:
    """Return the note on an option that affects none of the measures."""
    return Message(option, f" has no effect on {few_names(specs)}; it is for {purpose}")


def few_names(specs: Iterable[Spec]) -> str:
    """Return the names of the first measures, and the number of others."""
    names = [spec.name for spec in specs]
    others = len(names) - MOST_NAMES
    if others <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {others} more"
