"""Plan: the measures to compute and all that their values depend on besides the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xmleval.cached import cached
from xmleval.conventions import Conventions
from xmleval.errors import Keyword, Message
from xmleval.metrics import TABLE, Setting
from xmleval.records import Groups, Hierarchy, Propensity
from xmleval.spec import Spec, parse_spec
from xmleval.view.decision import Decision, top

GAPS, ROW_BOUNDS, SEEN, CEILING = "gaps", "row_bounds", "seen", "ceiling"  # states not named by any measure
LABEL_GROUPS, ROW_GROUPS = "label_groups", "row_groups"  # likewise
NO_GAPS = Message(Keyword("unlisted"), " or a score for every label")
LINKED = Message(Keyword("link", "'sigmoid'"), " makes them of logits, and `xmleval calibrate` of any scores")
SETS_OF_LABELS = "label_totals"
CURVE = parse_spec("auc.micro")  # what reads the state that kept curves come from
ORDER = [
    *dict.fromkeys(
        name
        for m in TABLE
        for name in (*([m.state] if isinstance(m.state, str) else m.state.values()), m.weighted_state)
    )
]


@dataclass(frozen=True)
class Plan:
    """Measures to compute and all that their values depend on besides the data."""

    specs: tuple[Spec, ...]
    n_labels: int
    conventions: Conventions
    propensity: Propensity | None
    decision: Decision | None
    weighted: bool
    per_row: bool | Sequence[str]  # of all measures, of none, or of these
    within: str | None = None  # the argument with the labels of a row that alone are ranked
    unknown: bool = False  # whether predictions may hold unknown labels
    counts_cells: bool = True  # also where they do: the number of labels is then known
    per_label: bool | Sequence[str] = False  # likewise
    keep_curves: bool = False  # keep per-label curves
    bounds: bool = False
    any_scores: bool = False  # to fit probabilities to, which they need not be
    higher_is_better: bool = (
        True  # scores are better; else they are negated, as is all that is compared with them
    )
    curve_points: int = 0
    label_groups: Groups | None = None
    hierarchy: Hierarchy | None = None
    row_groups: bool = False
    confidence: float | None = None  # of intervals, None for none
    insisted: frozenset[str] = frozenset()  # specs requested by name
    not_computed: dict[str, Message] = field(default_factory=dict)  # skipped group members: missing input

    def setting(self, spec: Spec) -> Setting:
        """Return the setting passed to a spec's formula."""
        return Setting(spec.k, dict(spec.params), self.conventions, self.n_labels)

    @cached
    def unlisted(self) -> float | None:
        """Score of unlisted labels; None if they rank below every listed label."""
        given = self.conventions.unlisted_score
        return given if self.higher_is_better or given is None else 0 - given

    def decide(self, spec: Spec) -> Decision:
        """Return the decision rule of a set measure: the top k, or the evaluation's."""
        decision = self.decision if spec.k is None else top(spec.k)
        assert decision is not None
        return decision

    @cached
    def every(self) -> list[Spec]:
        """The specs and the parts they are computed from, without duplicates."""
        parts = [parse_spec(part) for spec in self.specs for part in spec.metric.parts]
        return list(dict.fromkeys([*self.specs, *parts])) if parts else [*self.specs]

    @cached
    def states(self) -> dict[str, tuple[Spec, ...]]:
        """The states to count, and the specs that read each."""
        found: dict[str, tuple[Spec, ...]] = {}
        for spec in self.every:
            if name := self.state_of(spec):
                found[name] = (*found.get(name, ()), spec)
        bounded = [spec for spec in found.get("row_sums", ()) if self.bounds and spec.metric.bounded]
        if bounded:
            found[ROW_BOUNDS] = tuple(bounded)
        if self.gapless:
            found[GAPS] = tuple(self.gapless)
        if self.kept_decisions:
            found.setdefault(SETS_OF_LABELS, ())
        if self.keep_curves or self.curve_points:
            found.setdefault(self.state_of(CURVE), ())
        found[SEEN] = ()
        beside = {CEILING: self.within, LABEL_GROUPS: self.label_groups, ROW_GROUPS: self.row_groups}
        found |= {name: () for name, given in beside.items() if given}
        return {name: found[name] for name in (*ORDER, ROW_BOUNDS, GAPS, SEEN, *beside) if name in found}

    def part(self, **changed: Any) -> Plan:
        """Return the plan for a part of the data, of which nothing is kept but values."""
        flags = ("per_row", "per_label", "keep_curves", "bounds", "row_groups")
        nothing: dict[str, Any] = {
            **dict.fromkeys(flags, False),
            "curve_points": 0,
            "label_groups": None,
            "within": None,
        }
        return replace(self, **nothing | changed)

    def state_of(self, spec: Spec) -> str:
        """Return the state that a spec reads; empty if it is computed from other measures."""
        return (self.weighted and spec.metric.weighted_state) or spec.state

    @cached
    def kept_decisions(self) -> dict[Decision, list[str]]:
        """The rules whose hits and misses are kept by label, with the suffixes of their columns.

        They are the evaluation's, which has no suffix, and the top k of measures; both can be the same rule.
        """
        kept = kept_of(self.per_label, self.specs)
        decided = self.per_label is True or any("sets" in spec.needs for spec in kept)
        suffixes: dict[Decision, list[str]] = {self.decision: [""]} if self.decision and decided else {}
        for k in dict.fromkeys(spec.k for spec in kept if spec.k):
            suffixes.setdefault(top(k), []).append(f"@{k}")
        return suffixes

    @cached
    def gapless(self) -> list[Spec]:
        """The specs that need a score for every label, if unlisted labels have none."""
        return [spec for spec in self.every if spec.metric.gapless] if self.unlisted is None else []

    def bounded(self, spec: Spec) -> bool:
        """Return whether bounds of a spec are requested and available."""
        return self.bounds and spec.metric.bounded

    @cached
    def reads_scores(self) -> bool:
        """Whether any measure reads score values, not only the order within a row."""
        return self._reads_all_scores or any("probabilities" in spec.needs for spec in self.every)

    @cached
    def _reads_all_scores(self) -> bool:
        """Whether any measure reads the scores of all listed labels."""
        curves = self.keep_curves or self.curve_points > 0
        return curves or any(_reads_scores_of_all(spec) for spec in self.every)

    @cached
    def probable(self) -> tuple[Spec, int] | None:
        """A measure that needs probabilities, and of how many leading labels; None if none or with a link."""
        needing = [spec for spec in self.every if "probabilities" in spec.needs]
        if not needing or self.any_scores or self.conventions.link != "none":
            return None
        return needing[0], max(spec.k or self.n_labels for spec in needing)

    @cached
    def depth(self) -> int | None:
        """Depth of the ranking that the measures read; None for all of it."""
        decision = self.decision
        if self.label_groups or self._reads_all_scores or any(spec.metric.whole for spec in self.every):
            return None
        if decision and decision.kind not in ("pred", "top", "listed") and self.uses_decision:
            return None
        at_k = [spec.k or 0 for spec in self.every]
        if decision and decision.kind in ("top", "listed"):
            at_k.append(int(decision.value))
        return self.cut(max([1, *at_k]))  # one-error reads the first label

    def cut(self, depth: int) -> int:
        """Return a number of leading labels, not more than a row can list."""
        return depth if self.unknown else min(depth, self.n_labels)

    @property
    def most_listed(self) -> int:
        """Largest number of labels that a row can list."""
        return 1 << 40 if self.unknown else self.n_labels

    def reads(self, spec: Spec) -> int | None:
        """Return the number of leading labels that a spec reads, None for the whole ranking."""
        if spec.k:
            return spec.k
        if "sets" in spec.needs:
            decision = self.decide(spec)
            if decision.kind in ("top", "listed"):
                return int(decision.value)
            return 0 if decision.kind == "pred" else None
        if spec.metric.whole or _reads_scores_of_all(spec):
            return None
        return 1 if "scores" in spec.needs else 0  # one-error reads the first label

    @cached
    def deepest(self) -> int:
        """Greatest number of leading labels that a measure reads, but for those of the whole ranking."""
        return max([self.reads(spec) or 0 for spec in self.every], default=0)

    @cached
    def uses_decision(self) -> bool:
        """Whether any measure reads sets predicted by the decision, not only those at k."""
        kept = self.decision in self.kept_decisions and self.decision != Decision("pred")
        return kept or any("sets" in spec.needs for spec in self.every)

    @cached
    def ordered(self) -> bool:
        """Whether listed labels must be sorted, beyond the ranks of the relevant ones."""
        return self.bounds or self._keeps_decided or any(map(self._decides, self.every))

    @property
    def _keeps_decided(self) -> bool:
        return any(decision.kind != "pred" for decision in self.kept_decisions)

    def _decides(self, spec: Spec) -> bool:
        """Return whether a spec reads sets derived from scores."""
        return is_of_sets(spec) and self.decide(spec).kind != "pred"


def kept_of(kept: bool | Sequence[str], specs: Iterable[Spec]) -> list[Spec]:
    """Return the specs whose values by row, or by label, are kept."""
    return [spec for spec in specs if kept is True or (kept and spec.name in kept)]


def is_of_sets(spec: Spec) -> bool:
    """Tell whether a measure reads predicted sets, or the first labels in place of these."""
    of_first = "probabilities" in spec.needs and spec.k is not None
    return "sets" in spec.metric.needs or spec.state == SETS_OF_LABELS or of_first


def _reads_scores_of_all(spec: Spec) -> bool:
    return "entry scores" in spec.needs or ("probabilities" in spec.needs and spec.k is None)
