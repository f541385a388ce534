"""Settings: what an evaluation is asked for. Plan: the settings for some inputs, and what they read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    n_labels: int
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
    unsettled: Any = None  # the question, until the number of labels is known

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


class Plan(Settings):
    """The settings for some inputs: the measures that these allow, and what they read of rows.

    ``decision`` is how sets are given or made, as it applies to scores of which higher ones are better;
    ``not_computed`` has measures of groups that are left out, and the input they need.
    """

    __setattr__ = object.__setattr__  # far faster; nothing is set once it is made
    probable: tuple[Spec, int] | None

    def __init__(
        self,
        specs: tuple[Spec, ...],
        inputs: frozenset[str] = frozenset(),
        not_computed: Mapping[str, Message] | tuple[()] = (),
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.specs, self.inputs, self.not_computed = specs, inputs, dict(not_computed)
        parts = [parse_spec(part) for spec in specs for part in spec.metric.parts]
        self.all_specs = [*dict.fromkeys([*specs, *parts])] if parts else [*specs]  # with parts
        self.weighted, self.is_scored = "sample_weight" in inputs, SCORED in inputs
        level = self.conventions.unlisted_score
        self.unlisted = level if self.higher_is_better or level is None else 0 - level  # None: below all
        self._set_kept()
        curves = self.keep_curves or self.curve_points > 0
        self._set_reads(curves)
        self._set_required()
        self._set_states(curves)

    def _set_kept(self) -> None:
        """Set what is kept of labels.

        keep_curves : whether curves of labels are kept
        kept_decisions : rules whose hits are kept by label, and suffixes of their columns: none for that of
            the evaluation
        """
        self.keep_curves = False
        self.kept_decisions = kept = dict[Decision, list[str]]()
        if not self.per_label:
            return
        by_label, of_all = kept_of(self.per_label, self.specs), self.per_label is True
        if self.is_scored:
            self.keep_curves = of_all or any("entry scores" in spec.needs for spec in by_label)
        if self.decision is not None and (of_all or any("sets" in spec.needs for spec in by_label)):
            kept[self.decision] = [""]
        for cutoff in dict.fromkeys(spec.k for spec in by_label if spec.k):
            kept.setdefault(top(cutoff), []).append(f"@{cutoff}")

    @property
    def n_decided(self) -> int | None:
        """Number of leading labels in the sets of the decision, None for any number."""
        if self.decision is None or self.decision.kind == "pred":
            return 0
        return int(self.decision.value) if self.decision.kind in ("top", "listed") else None

    def _set_reads(self, curves: bool) -> None:
        """Set what measures read of a ranking.

        reads : number of leading labels, by measure; None for all
        depth : labels that are read of a ranking, None for all
        reads_scores : whether any measure reads scores, not only their order
        ordered : whether lists must be sorted
        uses_decision : whether any measure reads the sets of the decision, not only those at k
        """
        kept, n_decided = self.kept_decisions, self.n_decided
        self.reads = dict[str, int | None]()
        self.reads_scores = curves
        self.ordered = self.bounds or [*kept] not in ([], [GIVEN_SETS])
        self.uses_decision = self.decision in kept
        whole = curves or self.label_groups is not None
        for spec in self.all_specs:
            is_of_all, is_of_sets = spec.metric.whole or spec.scores_of_all, "sets" in spec.needs
            self.reads_scores |= spec.scores_of_all or "probabilities" in spec.needs
            whole |= is_of_all
            self.uses_decision |= is_of_sets
            self.ordered |= spec.of_sets and (spec.k is not None or n_decided != 0)
            n_read = n_decided if is_of_sets else None if is_of_all else int("scores" in spec.needs)
            self.reads[spec.name] = spec.k or n_read  # without a cutoff, one-error reads the first label
        whole |= self.uses_decision and n_decided is None
        n_leading = max(1, n_decided or 0, *filter(None, self.reads.values()))
        self.depth = None if whole else self.cut(n_leading)

    def _set_required(self) -> None:
        """Set which measures refuse some scores.

        gapless : measures that need every score, where unlisted labels have none
        required_gapless : those of them that were requested by name
        probable : a measure that needs probabilities, and of how many leading labels; None if there is none
        """
        self.gapless, self.required_gapless, self.probable = list[Spec](), list[Spec](), None
        if self.conventions.unlisted_score is None:
            self.gapless = [spec for spec in self.all_specs if spec.metric.gapless]
        if self.gapless:
            required = {spec.name for spec, explicit in self.asked if explicit}
            self.required_gapless = [spec for spec in self.gapless if spec.name in required]
        if self.is_scored and self.conventions.link == "none":
            probable = [spec for spec in self.all_specs if "probabilities" in spec.needs]
            if probable:
                self.probable = probable[0], max(spec.k or self.n_labels for spec in probable)

    def _set_states(self, curves: bool) -> None:
        """Set ``states``: those to count, and the measures that read each."""
        readers = defaultdict[str, list[Spec]](list)
        for spec in self.all_specs:
            if name := self.state_of(spec):
                readers[name].append(spec)
            if self.bounds and name == "row_sums" and self.bounded(spec):
                readers[ROW_BOUNDS].append(spec)
        without_readers = {
            SETS_OF_LABELS: self.kept_decisions,
            CURVE.metric.weighted_state if self.weighted else CURVE.state: curves,
            SEEN: True,
            CEILING: WITHIN in self.inputs,
            LABEL_GROUPS: self.label_groups,
            ROW_GROUPS: "row_groups" in self.inputs,
        }
        self.states = {n: tuple(readers[n]) for n in STATES if n in readers or without_readers.get(n)}

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

    def part(self, **changed: Any) -> Plan:
        """Return the plan for a part of the data, of which nothing is kept but values."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)} | {"specs": self.specs}
        settings |= {"per_row": False, "per_label": False, "bounds": False}
        settings |= {"curve_points": 0, "label_groups": None}
        return Plan(inputs=self.inputs - {"row_groups", WITHIN}, **settings | changed)

    def state_of(self, spec: Spec) -> str:
        """Return the state that a spec reads; empty if it is computed from other measures."""
        return (self.weighted and spec.metric.weighted_state) or spec.state

    def bounded(self, spec: Spec) -> bool:
        """Return whether bounds of a spec are requested and available."""
        return self.bounds and spec.bounded(self.weighted)

    def cut(self, depth: int) -> int:
        """Return a number of leading labels, not more than a row can list."""
        return depth if self.unknown else min(depth, self.n_labels)


def kept_of(kept: bool | Sequence[str], specs: Iterable[Spec]) -> list[Spec]:
    """Return the specs whose values by row, or by label, are kept."""
    if isinstance(kept, bool):
        return [*specs] if kept else []
    return [spec for spec in specs if spec.name in kept]
