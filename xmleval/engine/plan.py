"""Which statistics a set of measures needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmleval.cached import cached
from xmleval.conventions import Conventions
from xmleval.exact import Commit
from xmleval.message import Keyword, Message
from xmleval.metrics import Setting
from xmleval.metrics.metric import settle_empty
from xmleval.pooled.score_runs import Needs, ScoreRuns
from xmleval.pooled.spill import Memory, SpillFile
from xmleval.records import Block, Floats, Ints, Propensity, row_sizes
from xmleval.spec import Spec, parse_spec
from xmleval.states.key_counts import KeyCounts
from xmleval.states.label_extremes import LabelExtremes
from xmleval.states.label_sets import LabelSets
from xmleval.states.label_totals import LabelTotals
from xmleval.states.rank_profile import RankProfile
from xmleval.states.row_sums import RowSums
from xmleval.view.decision import Decision
from xmleval.view.view import Completion, View

ENDS = ("worst", "best")
GAPS = {"samples": "rows with pairs", "macro": "rows"}  # what must list all labels, by average
NO_GAPS = Message(Keyword("unlisted"), " or a score for every label")

GIVEN_AS = {
    "scores": Message(Keyword("y_score")),
    "cell scores": Message("scores in ", Keyword("y_score")),
    "equal weights": Message("rows without ", Keyword("sample_weight")),
    "sets": Message(Keyword("y_pred"), " or ", Keyword("decision")),
    "propensity": Message(Keyword("inverse_propensity")),
}


def missing_input(spec: Spec, inputs: set[str]) -> Message | None:
    """Return the argument that a spec needs and nobody gave, or None."""
    return next((GIVEN_AS[need] for need in spec.needs if need not in inputs), None)


@dataclass(frozen=True)
class Plan:
    """Measures to compute and everything their values depend on besides the data."""

    specs: tuple[Spec, ...]
    n_labels: int
    conventions: Conventions
    propensity: Propensity | None
    decision: Decision | None
    weighted: bool
    keep_rows: bool
    keep_labels: bool = False  # totals under the decision, where there is one
    keep_curves: bool = False  # curves of each label
    bounds: bool = False
    curve_points: int = 0
    insisted: frozenset[str] = frozenset()  # specs that were asked for by name

    def setting(self, spec: Spec) -> Setting:
        """Return what a spec's formula depends on."""
        return Setting(spec.k, dict(spec.params), self.conventions, self.n_labels)

    def reads(self, spec: Spec) -> str:
        """Return which statistic a spec reads, by a name that `reading` takes."""
        metric = spec.metric
        if metric.tied_rows and self.conventions.ndcg_ties == "average":
            return "rows"
        if metric.counts:
            return "rows" if spec.average == "samples" else "labels"
        if metric.extremes:
            return "rows" if spec.average == "samples" else "extremes"
        kinds = {
            "profile": metric.terms, "rows": metric.rows, "labels": metric.labels,
            "runs": metric.curve, "keys": metric.bracket, "sets": metric.distinct, "parts": metric.combine,
        }  # fmt: skip
        return next(kind for kind, formula in kinds.items() if formula)

    def decide(self, spec: Spec) -> Decision:
        """Return the decision rule of a set measure: the top k, or that of the evaluation."""
        decision = self.decision if spec.k is None else Decision("top", float(spec.k))
        assert decision is not None
        return decision

    @cached
    def every(self) -> list[Spec]:
        """The specs and the parts that others are combined from, without repeats."""
        parts = [parse_spec(part) for spec in self.specs for part in spec.metric.parts]
        return list({str(spec): spec for spec in (*self.specs, *parts)}.values())

    @cached
    def _by_kind(self) -> dict[str, tuple[Spec, ...]]:
        found: dict[str, tuple[Spec, ...]] = {}
        for spec in self.every:
            kind = self.reads(spec)
            found[kind] = (*found.get(kind, ()), spec)
        return found

    def reading(self, kind: str) -> tuple[Spec, ...]:
        """Return the specs that read one kind of statistic."""
        return self._by_kind.get(kind, ())

    @property
    def decisions(self) -> list[Decision]:
        """The decision rules whose totals per label are counted."""
        kept = [self.decision] if self.keep_labels and self.decision else []
        return list(dict.fromkeys([*(self.decide(spec) for spec in self.reading("labels")), *kept]))

    @property
    def extremes(self) -> list[Spec]:
        """The specs that compare scores of rows and labels, whatever their order."""
        return [spec for spec in self.every if spec.metric.extremes]

    @property
    def gapless(self) -> list[Spec]:
        """The specs that need a score for every label."""
        return self.extremes if self.conventions.unlisted_score is None else []

    @property
    def bits(self) -> list[int]:
        """Numbers of leading bits that scores are counted by."""
        return list(dict.fromkeys(int(dict(spec.params)["bits"]) for spec in self.reading("keys")))

    @cached
    def curves(self) -> Needs:
        """What is asked of pooled scores."""
        specs = self.reading("runs")
        averages = {spec.average for spec in specs}
        return Needs(
            cells="micro" in averages or self.curve_points > 0,
            columns=self.keep_curves or bool(averages - {"micro"}),
            bounds=any(map(self.bounded, specs)),
            pairs_alone=not (self.curve_points or any(map(self.bounded, specs)))
            and all(spec.metric.pairs_alone for spec in specs if spec.average == "micro"),
        )

    def bounded(self, spec: Spec) -> bool:
        """Tell whether the least and the largest value of a spec are wanted, and can be told."""
        return self.bounds and spec.metric.bounded

    @property
    def worker_bytes(self) -> int:
        """Memory of what each worker has of its own and grows with the labels or with a parameter."""
        tables = sum(2 * 8 << bits for bits in self.bits)
        return tables + (5 * 8 * self.n_labels if self.reading("extremes") else 0)

    @property
    def depth(self) -> int | None:
        """Leading labels of a ranking that the measures look at; None for all."""
        decision = self.decision
        tied = self.conventions.ndcg_ties == "average"
        if any(spec.metric.whole or (tied and spec.metric.tied_rows) for spec in self.every):
            return None
        if self.curves.scores or self.bits or self.extremes:
            return None
        if decision and decision.kind not in ("pred", "top", "listed") and self.uses_decision:
            return None
        at_k = [spec.k or 0 for spec in self.every]
        if decision and decision.kind in ("top", "listed"):
            at_k.append(int(decision.value))
        return min(max([1, *at_k]), self.n_labels)  # one-error looks at the first label

    @property
    def uses_decision(self) -> bool:
        """Whether the sets of the decision are asked for, not only those at k."""
        return self._keeps_decided or any(spec.needs == ("sets",) for spec in self.every)

    @property
    def ordered(self) -> bool:
        """Whether labels are needed in order, not only the places of the relevant ones."""
        return self.bounds or self._keeps_decided or any(map(self._decides, self.every))

    @property
    def _keeps_decided(self) -> bool:
        return self.keep_labels and self.decision is not None and self.decision.kind != "pred"

    def _decides(self, spec: Spec) -> bool:
        """Tell whether a spec reads sets that scores are turned into."""
        of_sets = spec.metric.counts or spec.metric.labels or "sets" in spec.needs
        return bool(of_sets) and self.decide(spec).kind != "pred"

    def row_values(self, spec: Spec, view: View) -> Floats:
        """Return a spec's values of the rows of a block, NaN where a row is left out."""
        metric, setting = spec.metric, self.setting(spec)
        if metric.counts:
            return metric.counts(view.counts(self.decide(spec)), setting)
        if metric.extremes:
            return metric.extremes(view.extremes, setting)
        tied = setting.conventions.ndcg_ties == "average"
        formula = metric.tied_rows if metric.tied_rows and tied else metric.rows
        assert formula is not None
        found = formula(view, setting)
        return settle_empty(found, 1.0, view.n_relevant, metric.empty, setting.conventions.empty)


class States:
    """The statistics of a plan: each a mergeable state.

    Parameters
    ----------
    plan : Plan
        Measures to compute.
    memory : Memory
        Where scores are held and spilled.
    beside : States, optional
        Empty statistics of another worker, whose tables of labels these fill as well.
    """

    def __init__(self, plan: Plan, memory: Memory, beside: States | None = None) -> None:
        self.plan = plan
        self._memory = memory
        profile = plan.reading("profile")
        gains = plan.propensity if any(spec.metric.table != "hits" for spec in profile) else None
        depth = max((spec.k or 0 for spec in profile), default=0)
        self.profile = RankProfile(depth, gains, plan.weighted, plan.keep_rows) if profile else None
        self.row_specs = plan.reading("rows")
        scaled = [str(spec) for spec in self.row_specs if spec.metric.scaled]
        self.rows = RowSums([str(spec) for spec in self.row_specs], plan.keep_rows, scaled)
        self.gaps = RowSums([*GAPS.values()]) if plan.gapless else None
        bounded = filter(plan.bounded, self.row_specs)
        self.bounded_specs = list(bounded)
        self.row_bounds = RowSums([f"{spec} {end}" for spec in self.bounded_specs for end in ENDS])
        self.totals: dict[Decision, LabelTotals] = {
            d: LabelTotals(d, plan.n_labels, plan.weighted, beside.totals[d] if beside else None)
            for d in plan.decisions
        }
        self.sets = LabelSets() if plan.reading("sets") else None
        score = plan.conventions.unlisted_score
        needs = plan.curves
        self.runs = ScoreRuns(plan.n_labels, score, needs, memory) if needs.scores else None
        self.keys = {bits: KeyCounts(plan.n_labels, score, bits) for bits in plan.bits}
        self.extremes = LabelExtremes(plan.n_labels, score) if plan.reading("extremes") else None

    @contextlib.contextmanager
    def undoing_spills(self) -> Iterator[None]:
        """Give back the room of what was spilled in the block if it fails."""
        mark = self.runs.memory.file.mark() if self.runs else None
        try:
            yield
        except BaseException:
            if self.runs and mark:
                self.runs.memory.file.rewind(mark)
            raise

    def of_workers(self, n_workers: int, fresh: bool) -> list[States]:
        """Return empty statistics for workers, which spill to the same file and count in the same tables.

        fresh : whether these statistics are empty, and to be those of the first worker
        """
        memory = self._memory._replace(file=self.runs.memory.file if self.runs else SpillFile())
        first = self if fresh else States(self.plan, memory)
        return [first, *(States(self.plan, memory, beside=first) for _ in range(n_workers - 1))]

    def share_memory(self, parts: list[States], n_blocks: int = 1) -> None:
        """Let parts, of which these statistics may be one, hold as many scores as there is room for.

        n_blocks : blocks that the parts are going to count
        """
        if self.runs is None:
            return
        own = 0 if self in parts else self.runs.held_bytes
        share = max(self._memory.held - own, self._memory.held // 8) // len(parts)
        for part in parts:
            if part.runs:
                part.runs.memory = part.runs.memory._replace(held=share)
                part.runs.n_blocks, part.runs.n_workers = -(-n_blocks // len(parts)), len(parts)

    def prepare(self, block: Block) -> list[Commit]:
        """Count a block as far as anything may fail; what is returned changes the states when called."""
        plan = self.plan
        view = View(block, plan.n_labels, plan.conventions.unlisted_score, plan.decision)
        values = [plan.row_values(spec, view) for spec in self.row_specs]
        commits = [self.rows.prepare(values, block.weight, block.first_row)]
        if self.bounded_specs:
            ends = [Completion(view, best) for best in (False, True)]
            values = [plan.row_values(spec, end) for spec in self.bounded_specs for end in ends]
            commits.append(self.row_bounds.prepare(values, block.weight, block.first_row))
        if self.profile:
            commits.append(self.profile.prepare(view))
        if self.sets:
            commits.append(self.sets.prepare(block.truth))
        commits += [totals.prepare(view) for totals in self.totals.values()]
        commits += [counts.prepare(view) for counts in self.keys.values()]
        if self.gaps:
            commits.append(self.gaps.prepare(_gaps(view), None, block.first_row))
        if self.extremes:
            commits.append(self.extremes.prepare(view))
        if self.runs:  # last: what it spilled would be lost if another failed
            commits.append(self.runs.prepare(view))
        return commits

    def prepare_merge(self, other: States) -> list[Commit]:
        """Add the statistics of another part of the data, as `prepare` adds a block."""
        mine, theirs = dict(self._named()), dict(other._named())
        return [state.prepare_merge(theirs[name]) for name, state in mine.items()]

    def _named(self) -> Iterable[tuple[str, Any]]:
        yield "rows", self.rows
        if self.bounded_specs:
            yield "row bounds", self.row_bounds
        if self.profile:
            yield "profile", self.profile
        for decision, totals in self.totals.items():
            yield f"totals-{decision}", totals
        if self.sets:
            yield "sets", self.sets
        for bits, counts in self.keys.items():
            yield f"keys-{bits}", counts
        if self.gaps:
            yield "gaps", self.gaps
        if self.extremes:
            yield "extremes", self.extremes
        if self.runs:
            yield "runs", self.runs

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        return {
            f"{name}/{key}": array for name, state in self._named() for key, array in state.arrays().items()
        }

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        for name, state in self._named():
            prefix = f"{name}/"
            state.restore({k[len(prefix) :]: a for k, a in arrays.items() if k.startswith(prefix)})

    def left_open(self) -> dict[str, str]:
        """Return the specs that rows without a score for every label leave open, and what they need."""
        if self.gaps is None:
            return {}
        open_averages = [average for average, n in zip(GAPS, self.gaps.n_defined, strict=True) if n]
        return {str(spec): NO_GAPS for spec in self.plan.gapless if spec.average in open_averages}

    def n_left_out(self, spec: Spec) -> int:
        """Return how many rows the mean of a spec leaves out because it is undefined there."""
        kind = self.plan.reads(spec)
        if kind == "rows":
            return self.rows.n_rows - int(self.rows.n_defined[self.rows.keys.index(str(spec))])
        skipped = kind == "profile" and spec.metric.empty and self.plan.conventions.empty == "skip"
        return self.profile.n_empty if skipped and self.profile else 0


def _gaps(view: View) -> list[Floats]:
    """Mark the rows, with pairs and of all, that do not list every label; NaN for the others."""
    short = row_sizes(view.ranking.ptr) < view.n_labels
    pairs = (view.n_relevant > 0) & (view.n_relevant < view.n_labels)
    return [np.where(gap, 1.0, np.nan) for gap in (short & pairs, short)]
