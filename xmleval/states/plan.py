"""Settings: what an evaluation is asked for. Plan: the settings for some inputs, and what they read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import Field, Message
from xmleval.input.door import WITHIN
from xmleval.input.vectors import Propensity
from xmleval.metrics import TABLE, Setting
from xmleval.metrics.spec import SETS_OF_LABELS, Spec, parse_spec
from xmleval.view.block import Groups, Hierarchy
from xmleval.view.decision import Decision, top

ROW_BOUNDS, SEEN, CEILING = "row_bounds", "seen", "ceiling"  # states not named by any measure
LABEL_GROUPS, ROW_GROUPS = "label_groups", "row_groups"  # likewise
SCORED = "y_score's scores"  # an input, optional in a top-k list
NO_GAPS = Message(Field("unlisted"), " or a score for every label")
LINKED = Message(Field("link", "sigmoid"), " makes them of logits, and `xmleval calibrate` of any scores")
CURVE = parse_spec("auc.micro")  # what reads the state that kept curves come from
GIVEN_SETS = Decision("pred")
STATES = [
    *dict.fromkeys(
        name
        for m in TABLE
        for name in (*([m.state] if isinstance(m.state, str) else m.state.values()), m.weighted_state)
    ),
    ROW_BOUNDS, SEEN, CEILING, LABEL_GROUPS, ROW_GROUPS,
]  # fmt: skip
FLAGS = ("per_row", "per_label", "bounds", "higher_is_better")


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """What an evaluation is asked for, which two evaluators must share to be merged."""

    n_labels: int  # 0 while it is not known
    conventions: Conventions
    labels: list[Any] | None = None  # names of labels, kept elsewhere if `named`
    asked: Sequence[tuple[Spec, bool]] = ()  # measures, and whether each was requested by its own name
    propensity: Propensity | None = None
    decision: Decision | None = None  # how scores become sets
    per_row: bool | Sequence[str] = False  # whether values are kept: of all measures, of none, or of these
    per_label: bool | Sequence[str] = False
    bounds: bool = False
    higher_is_better: bool = True  # else scores are negated, as is all that is compared with them
    curve_points: int = 0
    label_groups: Groups | None = None  # within which measures are computed, too
    hierarchy: Hierarchy | None = None  # ancestors of labels
    confidence: float | None = None
    unknown: bool = False  # whether predictions may hold unknown labels
    counts_cells: bool = True  # whether measures of all labels are then computed: their number is known
    named: bool = False
    on_arguments: Sequence[str] = ()  # notes on the arguments
    given: frozenset[str] = frozenset()  # options of the caller that may be without effect

    def as_dict(self) -> dict[str, Any]:
        """Return all settings except the propensities as JSON values."""
        return {
            "n_labels": self.n_labels,
            "labels": self.labels,
            "metrics": [[spec.name, explicit] for spec, explicit in self.asked],
            "conventions": self.conventions.as_dict(),
            "decision": None if self.decision is None else str(self.decision),
            **{name: getattr(self, name) for name in (*FLAGS, "curve_points", "confidence")},
            "label_groups": self.label_groups and [[*self.label_groups.names], [*self.label_groups.ranges]],
            "hierarchy": self.hierarchy and [self.hierarchy.digest, [*self.hierarchy.names]],
            **({"unknown": True, "counts_cells": self.counts_cells} if self.unknown else {}),
        }

    @property
    def constants(self) -> dict[str, float | str]:
        """What the propensities were computed with, if known."""
        return {} if self.propensity is None else {**self.propensity.constants}

    @property
    def of_labels(self) -> dict[str, NDArray[Any]]:
        """Arrays of labels to save, by the argument that gave them; empty if not given."""
        q, groups, hierarchy = self.propensity, self.label_groups, self.hierarchy
        arrays: dict[str, Any] = {"propensity": q and q.values, "label_counts": q and q.counts}
        arrays |= {"label_groups": groups and groups.of, "hierarchy": hierarchy and hierarchy.edges}
        return {name: np.empty(0) if array is None else array for name, array in arrays.items()}

    def unlike(self, theirs_of: Settings) -> str | None:
        """Return what is said of the first array of labels that differs, or None."""
        for (name, mine), theirs in zip(self.of_labels.items(), theirs_of.of_labels.values(), strict=True):
            # np.array_equal hides what a handler raises
            if mine is not theirs and (mine.shape != theirs.shape or (mine != theirs).any()):
                return f"{'y_train' if name == 'label_counts' else name} differs"
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Settings):
    """The settings for some inputs: the measures that these allow, and what they read of rows.

    specs, all_specs : the measures, and with those that they are computed from
    inputs : names of the arguments that are given beside the truth
    not_computed : measures of groups that are left out, and the input they need
    decision : how sets are given or made, of scores of which higher ones are better
    keep_curves : whether curves of labels are kept
    kept_decisions : rules whose hits are kept by label, and suffixes of their columns: none for that of the
        evaluation
    reads : number of leading labels that a measure reads, None for all
    depth : number of leading labels that any of them reads, None for all
    reads_scores : whether any measure reads scores, not only their order
    ordered : whether lists must be sorted
    uses_decision : whether any measure reads the sets of the decision, not only those at k
    gapless : measures that need every score, where unlisted labels have none
    probable : a measure that needs probabilities, and of how many leading labels; None if there is none
    states : those to count, and the measures that read each
    """

    specs: tuple[Spec, ...] = ()
    all_specs: Sequence[Spec] = ()
    inputs: frozenset[str] = frozenset()
    not_computed: Mapping[str, Message] = field(default_factory=dict)
    keep_curves: bool
    kept_decisions: Mapping[Decision, Sequence[str]]
    reads: Mapping[str, int | None]
    depth: int | None
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
    def is_scored(self) -> bool:
        """Whether labels of rankings have scores."""
        return SCORED in self.inputs

    @cached
    def unlisted(self) -> float | None:
        """Score of unlisted labels in rankings, where distances are negated; None below all."""
        level = self.conventions.unlisted_score
        return level if self.higher_is_better or level is None else 0 - level

    @property
    def required_gapless(self) -> list[Spec]:
        """Measures that need every score and were requested by name."""
        required = {spec.name for spec, explicit in self.asked if explicit}
        return [spec for spec in self.gapless if spec.name in required]

    @property
    def required_cells(self) -> list[Spec]:
        """Measures requested by name that need all labels."""
        return [spec for spec, explicit in self.asked if explicit and spec.metric.every_label]

    def setting(self, spec: Spec) -> Setting:
        """Return the setting passed to a spec's formula."""
        return Setting(spec.k, dict(spec.params), self.conventions, self.n_labels)

    def decide(self, spec: Spec) -> Decision:
        """Return the decision rule of a set measure: the top k, or the evaluation's."""
        decision = self.decision if spec.k is None else top(spec.k)
        assert decision is not None
        return decision

    def part(self, specs: tuple[Spec, ...] | None = None, **changed: Any) -> Plan:
        """Return the plan for a part of the data, of which nothing is kept but values."""
        settings: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(Settings)}
        settings |= {"per_row": False, "per_label": False, "bounds": False}
        settings |= {"curve_points": 0, "label_groups": None}
        specs = self.specs if specs is None else specs
        return make_plan(Settings(**settings | changed), specs, self.inputs - {"row_groups", WITHIN})

    def state_of(self, spec: Spec) -> str:
        """Return the state that a spec reads; empty if it is computed from other measures."""
        return spec.state_with(self.weighted)

    def bounded(self, spec: Spec) -> bool:
        """Return whether bounds of a spec are requested and available."""
        return self.bounds and spec.bounded(self.weighted)

    def cut(self, depth: int) -> int:
        """Return a number of leading labels, not more than a row can list."""
        return _cut(self, depth)


def kept_of(kept: bool | Sequence[str], specs: Iterable[Spec]) -> list[Spec]:
    """Return the specs whose values by row, or by label, are kept."""
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
    parts = [parse_spec(part) for spec in specs for part in spec.metric.parts]
    all_specs = [*dict.fromkeys([*specs, *parts])] if parts else [*specs]
    keep_curves = _keeps_curves(settings, specs, inputs)
    has_curves = keep_curves or settings.curve_points > 0
    kept_decisions = _kept_decisions(settings, specs)
    read = _read(settings, all_specs, has_curves, kept_decisions)
    return Plan(
        **vars(settings),
        specs=specs,
        all_specs=all_specs,
        inputs=inputs,
        not_computed=not_computed or {},
        keep_curves=keep_curves,
        kept_decisions=kept_decisions,
        **vars(read),
        gapless=_gapless(settings, all_specs),
        probable=_probable(settings, all_specs, inputs),
        states=_states(settings, all_specs, inputs, has_curves, bool(kept_decisions)),
    )


def _keeps_curves(settings: Settings, specs: Sequence[Spec], inputs: frozenset[str]) -> bool:
    """Tell whether curves of labels are kept."""
    if not settings.per_label or SCORED not in inputs:
        return False
    kept = kept_of(settings.per_label, specs)
    return settings.per_label is True or any("entry scores" in spec.needs for spec in kept)


def _kept_decisions(settings: Settings, specs: Sequence[Spec]) -> dict[Decision, list[str]]:
    """Return the rules whose hits are kept by label, and suffixes of their columns."""
    kept = dict[Decision, list[str]]()
    if not settings.per_label:
        return kept
    by_label = kept_of(settings.per_label, specs)
    has_sets = settings.per_label is True or any("sets" in spec.needs for spec in by_label)
    if settings.decision is not None and has_sets:
        kept[settings.decision] = [""]
    for cutoff in dict.fromkeys(spec.k for spec in by_label if spec.k):
        kept.setdefault(top(cutoff), []).append(f"@{cutoff}")
    return kept


@dataclass
class _Read:
    """What measures read of rankings; see `Plan`."""

    reads: dict[str, int | None]
    depth: int | None
    reads_scores: bool
    ordered: bool
    uses_decision: bool


def _read(
    settings: Settings,
    specs: Sequence[Spec],
    has_curves: bool,
    kept_decisions: Mapping[Decision, Sequence[str]],
) -> _Read:
    """Return what measures read of rankings."""
    n_decided = _n_decided(settings.decision)
    reads = {spec.name: _n_read(spec, n_decided) for spec in specs}
    uses_decision = settings.decision in kept_decisions or any("sets" in spec.needs for spec in specs)
    is_whole = has_curves or settings.label_groups is not None or any(spec.reads_all for spec in specs)
    if uses_decision and n_decided is None:
        is_whole = True
    n_leading = max(1, n_decided or 0, *filter(None, reads.values()))
    return _Read(
        reads=reads,
        depth=None if is_whole else _cut(settings, n_leading),
        reads_scores=has_curves or any(spec.reads_scores for spec in specs),
        ordered=_needs_order(settings, specs, kept_decisions),
        uses_decision=uses_decision,
    )


def _n_decided(decision: Decision | None) -> int | None:
    """Return the number of leading labels in the sets of a decision, None for any number."""
    if decision is None or decision.kind == "pred":
        return 0
    return int(decision.value) if decision.kind in ("top", "listed") else None


def _n_read(spec: Spec, n_decided: int | None) -> int | None:
    """Return how many leading labels a measure reads, None for all; without a cutoff, one-error reads one."""
    if spec.k:
        return spec.k
    if "sets" in spec.needs:
        return n_decided
    if spec.reads_all:
        return None
    return int("scores" in spec.needs)


def _needs_order(
    settings: Settings, specs: Sequence[Spec], kept_decisions: Mapping[Decision, Sequence[str]]
) -> bool:
    """Tell whether lists must be sorted."""
    if settings.bounds or [*kept_decisions] not in ([], [GIVEN_SETS]):
        return True
    makes_sets = _n_decided(settings.decision) != 0
    return any(spec.of_sets and (spec.k is not None or makes_sets) for spec in specs)


def _gapless(settings: Settings, specs: Sequence[Spec]) -> list[Spec]:
    """Return the measures that need every score, where unlisted labels have none."""
    if settings.conventions.unlisted_score is not None:
        return []
    return [spec for spec in specs if spec.metric.gapless]


def _probable(settings: Settings, specs: Sequence[Spec], inputs: frozenset[str]) -> tuple[Spec, int] | None:
    """Return a measure that needs probabilities, and of how many leading labels; None if there is none."""
    if SCORED not in inputs or settings.conventions.link != "none":
        return None
    probable = [spec for spec in specs if "probabilities" in spec.needs]
    if not probable:
        return None
    return probable[0], max(spec.k or settings.n_labels for spec in probable)


def _states(
    settings: Settings, specs: Sequence[Spec], inputs: frozenset[str], has_curves: bool, keeps_sets: bool
) -> dict[str, tuple[Spec, ...]]:
    """Return the states to count, and the measures that read each."""
    weighted = "sample_weight" in inputs
    readers = defaultdict[str, list[Spec]](list)
    for spec in specs:
        name = spec.state_with(weighted)
        if name:
            readers[name].append(spec)
        if name == "row_sums" and settings.bounds and spec.bounded(weighted):
            readers[ROW_BOUNDS].append(spec)
    without_readers = {
        SETS_OF_LABELS: keeps_sets,
        CURVE.state_with(weighted): has_curves,
        SEEN: True,
        CEILING: WITHIN in inputs,
        LABEL_GROUPS: settings.label_groups is not None,
        ROW_GROUPS: "row_groups" in inputs,
    }
    return {name: tuple(readers[name]) for name in STATES if name in readers or without_readers.get(name)}


def _cut(settings: Settings, depth: int) -> int:
    """Return a number of leading labels, not more than a row can list."""
    return depth if settings.unknown else min(depth, settings.n_labels)
