"""Settings: what an evaluation computes. Plan: settings for some inputs, and what to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions, gain_from, gains_to_read
from xmleval.base.data_names import LABEL_DATA
from xmleval.base.errors import Field, Message
from xmleval.input.cell_marks import CANDIDATES
from xmleval.input.label_filter import what_cells_are
from xmleval.input.vectors import Propensity
from xmleval.metrics import TABLE
from xmleval.metrics.declaration import declaration_of
from xmleval.metrics.measure import OWN, ROW_VECTORS, Measure
from xmleval.metrics.spec import SETS_OF_LABELS, Spec, parse_spec
from xmleval.view.block import Groups, Hierarchy
from xmleval.view.decision import Decision, top
from xmleval.view.setting import NO_DATA, Setting

# states that no measure names; for their modules, see `state_class`
ROW_BOUNDS = "row_bounds"
TIE_BOUNDS = "tie_bounds"
DATA_HINTS = "data_hints"
CANDIDATE_BOUNDS = "candidate_bounds"
LABEL_GROUPS = "label_groups"
ROW_GROUPS = "row_groups"
SCORED = "y_score's scores"  # an input, optional in a top-k list
NO_GAPS = Message(Field("unlisted"), " or a score for every label")
LINKED = Message(Field("link", "sigmoid"), " converts logits, and `xmleval calibrate` any scores")
OF_LEVEL = "@"  # in the name of a state, before the level of relevance of its measures
CURVE = parse_spec("auc.micro")  # reads the state that kept curves come from
GIVEN_SETS = Decision("pred")


def _list_states() -> list[str]:
    """Return the names of all states, in the order in which they count."""
    names = list[str]()
    for metric in TABLE:
        if isinstance(metric.state, str):
            names.append(metric.state)
        else:
            names += metric.state.values()
        names.append(metric.weighted_state)
    names += [ROW_VECTORS, ROW_BOUNDS, TIE_BOUNDS]
    names += [DATA_HINTS, CANDIDATE_BOUNDS, LABEL_GROUPS, ROW_GROUPS]
    return [*dict.fromkeys(names)]


STATES = _list_states()
FLAGS = ("per_row", "per_label", "bounds", "higher_is_better")


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """What an evaluation computes; two evaluators can be merged only if it is equal.

    n_labels : number of labels, 0 while it is not known
    labels : names of labels; None without names, and if `named`, where they are kept elsewhere
    requested : the measures, and whether each was requested by its own name
    decision : how scores become sets
    per_row, per_label : whether values are kept: of all measures, of none, or of those named
    higher_is_better : if False, scores are negated, and so is all that is compared with them
    label_groups : groups of labels within which measures are computed, too
    hierarchy : ancestors of labels
    label_data : data by label that measures declare, float64 (n_labels,) each
    unknown : whether predictions may contain unknown labels
    counts_cells : whether, with unknown labels, measures of all labels are computed, since the
        number of labels is known
    argument_notes : notes on the arguments
    given : options of the caller that may be without effect
    """

    n_labels: int
    conventions: Conventions
    labels: list[Any] | None = None
    requested: Sequence[tuple[Spec, bool]] = ()
    propensity: Propensity | None = None
    decision: Decision | None = None
    per_row: bool | Sequence[str] = False
    per_label: bool | Sequence[str] = False
    bounds: bool = False
    higher_is_better: bool = True
    curve_points: int = 0
    label_groups: Groups | None = None
    hierarchy: Hierarchy | None = None
    label_data: Mapping[str, Floats] = field(default_factory=dict)
    confidence: float | None = None
    unknown: bool = False
    counts_cells: bool = True
    named: bool = False
    argument_notes: Sequence[str] = ()
    given: frozenset[str] = frozenset()

    @property
    def own_measures(self) -> list[Measure]:
        """Requested measures that are not in the table."""
        return [spec.metric for spec, _ in self.requested if spec.metric.family == OWN]

    def as_dict(self) -> dict[str, Any]:
        """Return all settings except the propensities as JSON values."""
        groups = self.label_groups
        hierarchy = self.hierarchy
        settings = {
            "n_labels": self.n_labels,
            "labels": self.labels,
            "metrics": [[spec.name, explicit] for spec, explicit in self.requested],
            "conventions": self.conventions.as_dict(),
            "decision": None if self.decision is None else str(self.decision),
            **{name: getattr(self, name) for name in (*FLAGS, "curve_points", "confidence")},
            "label_groups": groups and [[*groups.names], [*groups.ranges]],
            "hierarchy": hierarchy and [hierarchy.digest, [*hierarchy.names]],
        }
        if self.own_measures:
            settings["measures"] = {
                measure.name: declaration_of(measure) for measure in self.own_measures
            }
        if self.label_data:
            settings["label_data"] = [*self.label_data]
        if self.unknown:
            settings["unknown"] = True
            settings["counts_cells"] = self.counts_cells
        return settings

    @property
    def read_gains(self) -> str:
        """Gains that grades of the truth are read as; "binary" where no grades are read."""
        has_levels = any(spec.level for spec, _ in self.requested)
        return gains_to_read(self.conventions, has_levels)

    @property
    def reads_grades(self) -> bool:
        """Whether the truth has grades: by the conventions, or for a measure with a level."""
        return self.read_gains != "binary"

    @property
    def constants(self) -> dict[str, float | str]:
        """Constants of the model of the propensities, if known."""
        if self.propensity is None:
            return {}
        return {**self.propensity.constants}

    @property
    def label_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by label to save, by argument; empty if it was not given."""
        propensity = self.propensity
        groups = self.label_groups
        hierarchy = self.hierarchy
        arrays: dict[str, Any] = {
            "propensity": propensity and propensity.values,
            "label_counts": propensity and propensity.counts,
            "label_groups": groups and groups.of,
            "hierarchy": hierarchy and hierarchy.edges,
            **{f"{LABEL_DATA}.{name}": values for name, values in self.label_data.items()},
        }
        return {name: np.empty(0) if array is None else array for name, array in arrays.items()}

    def unlike(self, settings: Settings) -> str | None:
        """Return a message on the first array by label that differs, or None."""
        arrays = settings.label_arrays
        for name, mine in self.label_arrays.items():
            theirs = arrays[name]
            if mine is theirs:
                continue
            # np.array_equal hides what a handler raises
            if mine.shape != theirs.shape or (mine != theirs).any():
                argument = "y_train" if name == "label_counts" else name
                return f"{argument} differs"
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Settings):
    """The settings for some inputs: which measures are computed, and what to read of rows.

    specs : the measures
    all_specs : the measures, and those that they are computed from
    inputs : names of the arguments that are given next to the truth
    not_computed : measures of groups that the inputs do not allow, and the input they need
    decision : how sets are given or made from scores whose higher values are better
    keep_curves : whether curves of labels are kept
    kept_decisions : rules whose hits are kept by label, and suffixes of their columns: none for
        the rule of the evaluation
    reads : number of leading labels that a measure reads, None for all
    depth : number of leading labels that any of them reads, None for all
    keeps_ties : whether the labels that tie with the last of these are read, too
    reads_scores : whether any measure reads scores, not only their order
    ordered : whether lists must be sorted
    uses_decision : whether any measure reads the sets of the decision, not only those at k
    gapless : measures that need every score, where unlisted labels have none
    probable : a measure that needs probabilities, if any, and the number of leading labels that all
        such measures read
    states : names of the states to count, and the measures that read each
    """

    specs: tuple[Spec, ...] = ()
    all_specs: Sequence[Spec] = ()
    inputs: frozenset[str] = frozenset()
    not_computed: Mapping[str, Message] = field(default_factory=dict)
    keep_curves: bool
    kept_decisions: Mapping[Decision, Sequence[str]]
    reads: Mapping[str, int | None]
    depth: int | None
    keeps_ties: bool
    reads_scores: bool
    ordered: bool
    uses_decision: bool
    gapless: Sequence[Spec]
    probable: tuple[Spec, int] | None
    states: Mapping[str, tuple[Spec, ...]]

    @cached
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return "sample_weight" in self.inputs

    @cached
    def cells_are(self) -> str:
        """What labels of rows inputs give: "judged" or "unjudged"; "" where all are judged."""
        return what_cells_are(self.inputs)

    @cached
    def is_scored(self) -> bool:
        """Whether labels of rankings have scores."""
        return SCORED in self.inputs

    @cached
    def unlisted(self) -> float | None:
        """Score of unlisted labels in rankings, where distances are negated; None below all."""
        score = self.conventions.unlisted_score
        if score is None or self.higher_is_better:
            return score
        return 0 - score

    @property
    def required_gapless(self) -> list[Spec]:
        """Measures that need every score and were requested by name."""
        required = {spec.name for spec, explicit in self.requested if explicit}
        return [spec for spec in self.gapless if spec.name in required]

    @property
    def required_cells(self) -> list[Spec]:
        """Measures requested by name that need all labels."""
        return [spec for spec, explicit in self.requested if explicit and spec.metric.every_label]

    def setting(self, spec: Spec) -> Setting:
        """Return the setting passed to a spec's formula."""
        propensity = None
        if self.propensity is not None and "propensity" in spec.needs:
            propensity = self.propensity.values
        params = dict(spec.params)
        label_data = NO_DATA
        if spec.metric.label_data:
            label_data = {name: self.label_data[name] for name in spec.metric.label_data}
        return Setting(spec.k, params, self.conventions, self.n_labels, propensity, label_data)

    def decide(self, spec: Spec) -> Decision:
        """Return the decision rule of a set measure: the top k, or the evaluation's."""
        if spec.k is not None:
            return top(spec.k)
        assert self.decision is not None
        return self.decision

    @property
    def rules_of_scores(self) -> set[Decision]:
        """The rules by which sets are made from scores."""
        return _rules_of_scores(self, self.all_specs, self.kept_decisions)

    def part(self, specs: tuple[Spec, ...] | None = None, **changed: Any) -> Plan:
        """Return the plan for a part of the data, which keeps only the values of measures.

        specs : the measures; default those of this plan
        changed : settings that differ
        """
        settings: dict[str, Any] = {
            each.name: getattr(self, each.name) for each in fields(Settings)
        }
        settings |= {"per_row": False, "per_label": False, "bounds": False}
        settings |= {"curve_points": 0, "label_groups": None}
        settings |= changed
        if specs is None:
            specs = self.specs
        inputs = self.inputs - {"row_groups", CANDIDATES}
        return make_plan(Settings(**settings), specs, inputs)

    def state_of(self, spec: Spec) -> str:
        """Return the state that a spec reads; empty if it is computed from other measures."""
        return at_level(spec.state_with(self.weighted), spec.level)

    def least_gain(self, level: int) -> float:
        """Return the least gain, as read, of the labels that are relevant at a level."""
        return gain_from(level, self.read_gains)

    def bounded(self, spec: Spec) -> bool:
        """Return whether bounds of a spec are requested and available."""
        return self.bounds and spec.bounded(self.weighted)

    def cut(self, depth: int) -> int:
        """Return a number of leading labels, at most as many as a row can list."""
        return _cut(self, depth)


def select_kept(specs: Iterable[Spec], kept: bool | Sequence[str]) -> list[Spec]:
    """Return the specs whose values are kept, as ``per_row`` or ``per_label`` requests."""
    if isinstance(kept, bool):
        return [*specs] if kept else []
    return [spec for spec in specs if spec.name in kept]


def make_plan(
    settings: Settings,
    specs: tuple[Spec, ...],
    inputs: frozenset[str] = frozenset(),
    not_computed: Mapping[str, Message] | None = None,
) -> Plan:
    """Return the plan that computes some measures from some inputs."""
    parts = [parse_spec(part) for spec in specs for part in spec.parts]
    all_specs = [*specs]
    if parts:
        all_specs = [*dict.fromkeys([*specs, *parts])]
    keep_curves = _keeps_curves(settings, specs, inputs)
    has_curves = keep_curves or settings.curve_points > 0
    kept_decisions = _kept_decisions(settings, specs)
    reading = _find_reading(settings, all_specs, has_curves, kept_decisions)
    return Plan(
        **vars(settings),
        specs=specs,
        all_specs=all_specs,
        inputs=inputs,
        not_computed=not_computed or {},
        keep_curves=keep_curves,
        kept_decisions=kept_decisions,
        **vars(reading),
        gapless=_gapless(settings, all_specs),
        probable=_probable(settings, all_specs, inputs),
        states=_specs_by_state(settings, all_specs, inputs, has_curves, bool(kept_decisions)),
    )


def _keeps_curves(settings: Settings, specs: Sequence[Spec], inputs: frozenset[str]) -> bool:
    """Return whether curves of labels are kept."""
    if not settings.per_label or SCORED not in inputs:
        return False
    if settings.per_label is True:
        return True
    return any("entry scores" in spec.needs for spec in select_kept(specs, settings.per_label))


def _kept_decisions(settings: Settings, specs: Sequence[Spec]) -> dict[Decision, list[str]]:
    """Return the rules whose hits are kept by label, and suffixes of their columns."""
    kept = dict[Decision, list[str]]()
    if not settings.per_label:
        return kept
    kept_specs = select_kept(specs, settings.per_label)
    has_sets = settings.per_label is True or any("sets" in spec.needs for spec in kept_specs)
    if settings.decision is not None and has_sets:
        kept[settings.decision] = [""]
    for cutoff in dict.fromkeys(spec.k for spec in kept_specs if spec.k and not spec.level):
        kept.setdefault(top(cutoff), []).append(f"@{cutoff}")
    return kept


@dataclass
class _Reading:
    """What measures read of rankings; see `Plan`."""

    reads: dict[str, int | None]
    depth: int | None
    keeps_ties: bool
    reads_scores: bool
    ordered: bool
    uses_decision: bool


def _find_reading(
    settings: Settings,
    specs: Sequence[Spec],
    has_curves: bool,
    kept_decisions: Mapping[Decision, Sequence[str]],
) -> _Reading:
    """Return what measures read of rankings."""
    n_in_sets = _count_leading_in_sets(settings.decision)
    keeps_ties = settings.conventions.all_orders
    reads = {spec.name: _count_leading_read(spec, n_in_sets) for spec in specs}
    uses_decision = settings.decision in kept_decisions or any(
        "sets" in spec.needs for spec in specs
    )
    reads_whole = (
        has_curves
        or settings.label_groups is not None
        or any(spec.reads_all for spec in specs)
        or (uses_decision and n_in_sets is None)
        or (keeps_ties and settings.conventions.unlisted_score is not None)
    )
    depth = None
    if not reads_whole:
        depth = _cut(settings, max(1, n_in_sets or 0, *filter(None, reads.values())))
    return _Reading(
        reads=reads,
        depth=depth,
        keeps_ties=keeps_ties and depth is not None,
        reads_scores=has_curves or any(spec.reads_scores for spec in specs),
        ordered=_needs_order(settings, specs, kept_decisions, depth),
        uses_decision=uses_decision,
    )


def _count_leading_in_sets(decision: Decision | None) -> int | None:
    """Return the number of leading labels in the sets of a decision, None for any number."""
    return 0 if decision is None else decision.n_leading


def _count_leading_read(spec: Spec, n_in_sets: int | None) -> int | None:
    """Return the number of leading labels that a measure reads, None for all.

    n_in_sets : number of leading labels in the sets of the decision, None for any number
    """
    if spec.k:
        return spec.k
    if "sets" in spec.needs:
        return n_in_sets
    if spec.reads_all:
        return None
    return int("scores" in spec.needs)  # without a cutoff, one-error reads one


def _needs_order(
    settings: Settings,
    specs: Sequence[Spec],
    kept_decisions: Mapping[Decision, Sequence[str]],
    depth: int | None,
) -> bool:
    """Return whether rows must be sorted.

    Without a depth, rows stay as they are where each set can be selected from them; with a depth,
    cutting sorts them.

    depth : number of leading labels of a row that are read, None for all
    """
    if settings.bounds:
        return True
    if depth is None and any(spec.reads_first_scores for spec in specs):
        return True
    rules = _rules_of_scores(settings, specs, kept_decisions)
    if depth is not None:
        return bool(rules)
    unlisted = settings.conventions.unlisted_score
    return any(rule.needs_order(unlisted) for rule in rules)


def _rules_of_scores(
    settings: Settings, specs: Sequence[Spec], kept_decisions: Mapping[Decision, Sequence[str]]
) -> set[Decision]:
    """Return the rules by which sets are made from scores."""
    rules = {*kept_decisions}
    for spec in specs:
        if spec.of_sets and spec.k is not None:
            rules.add(top(spec.k))
        elif spec.of_sets and settings.decision is not None:
            rules.add(settings.decision)
    rules.discard(GIVEN_SETS)
    return rules


def _gapless(settings: Settings, specs: Sequence[Spec]) -> list[Spec]:
    """Return the measures that need every score, where unlisted labels have none."""
    if settings.conventions.unlisted_score is not None:
        return []
    return [spec for spec in specs if spec.metric.gapless]


def _probable(
    settings: Settings, specs: Sequence[Spec], inputs: frozenset[str]
) -> tuple[Spec, int] | None:
    """Return a measure that needs probabilities and the depth of all such measures, or None."""
    if SCORED not in inputs or settings.conventions.link != "none":
        return None
    probable = [spec for spec in specs if "probabilities" in spec.needs]
    if not probable:
        return None
    return probable[0], max(spec.k or settings.n_labels for spec in probable)


def _specs_by_state(
    settings: Settings,
    specs: Sequence[Spec],
    inputs: frozenset[str],
    has_curves: bool,
    keeps_sets: bool,
) -> dict[str, tuple[Spec, ...]]:
    """Return the names of the states to count, and the measures that read each."""
    weighted = "sample_weight" in inputs
    readers = defaultdict[str, list[Spec]](list)
    for spec in specs:
        name = spec.state_with(weighted)
        if name:
            readers[at_level(name, spec.level)].append(spec)
        if name == "row_sums" and settings.bounds and spec.bounded(weighted):
            readers[at_level(ROW_BOUNDS, spec.level)].append(spec)
        if settings.conventions.ties == "band" and spec.metric.has_orders:
            readers[TIE_BOUNDS].append(spec)
    is_needed = {
        SETS_OF_LABELS: keeps_sets,
        CURVE.state_with(weighted): has_curves,
        DATA_HINTS: True,
        CANDIDATE_BOUNDS: CANDIDATES in inputs,
        LABEL_GROUPS: settings.label_groups is not None,
        ROW_GROUPS: "row_groups" in inputs,
    }
    levels = sorted({spec.level for spec in specs if spec.level})
    names: Sequence[str] = STATES
    if levels:
        names = [at_level(name, level) for name in STATES for level in (0, *levels)]
    return {name: tuple(readers[name]) for name in names if name in readers or is_needed.get(name)}


def at_level(state: str, level: int | None) -> str:
    """Return the name of a state of measures with a level of relevance; None or 0 for none."""
    return f"{state}{OF_LEVEL}{level}" if level and state else state


def level_of(state: str) -> int | None:
    """Return the level of relevance in the name of a state; None without one."""
    _, _, level = state.partition(OF_LEVEL)
    return int(level) if level else None


def _cut(settings: Settings, depth: int) -> int:
    """Return a number of leading labels, at most as many as a row can list."""
    if settings.unknown:
        return depth
    return min(depth, settings.n_labels)
