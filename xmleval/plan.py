"""Which statistics a set of measures needs, and the measures' values from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xmleval.arrays import Block, Floats, Ints
from xmleval.conventions import Conventions
from xmleval.metrics import Setting
from xmleval.metrics.metric import settle_empty
from xmleval.spec import Spec, parse_spec
from xmleval.states import (
    Commit,
    Counts,
    Decision,
    Facts,
    LabelSets,
    LabelTotals,
    Profile,
    RankProfile,
    RowSums,
    ScoreRuns,
    totals_bytes,
)

GIVEN_AS = {
    "scores": "y_score=",
    "cell scores": "scores in y_score=",
    "equal weights": "rows without sample_weight=",
    "sets": "y_pred= or decision=",
    "propensity": "propensity=",
}


def missing_input(spec: Spec, inputs: set[str]) -> str | None:
    """Return the argument that a spec needs and nobody gave, or None."""
    return next((GIVEN_AS[need] for need in spec.needs if need not in inputs), None)


@dataclass(frozen=True)
class Plan:
    """Measures to compute and everything their values depend on besides the data."""

    specs: tuple[Spec, ...]
    n_labels: int
    conventions: Conventions
    propensity: Floats | None
    decision: Decision | None
    weighted: bool
    keep_rows: bool

    def setting(self, spec: Spec) -> Setting:
        """Return what a spec's formula depends on."""
        return Setting(spec.k, dict(spec.params), self.conventions, self.n_labels)

    def reads(self, spec: Spec) -> str:
        """Return which statistic a spec reads: "profile", "rows", "labels", "runs", "sets" or "parts"."""
        metric = spec.metric
        if metric.tied_rows and self.conventions.ndcg_ties == "average":
            return "rows"
        if metric.counts:
            return "rows" if spec.average == "samples" else "labels"
        kinds = {
            "profile": metric.terms, "rows": metric.rows, "labels": metric.labels,
            "runs": metric.curve, "sets": metric.distinct, "parts": metric.combine,
        }  # fmt: skip
        return next(kind for kind, formula in kinds.items() if formula)

    def decide(self, spec: Spec) -> Decision:
        """Return the decision rule of a set measure: the top k, or that of the evaluation."""
        decision = self.decision if spec.k is None else Decision("top", float(spec.k))
        assert decision is not None
        return decision

    @cached_property
    def every(self) -> list[Spec]:
        """The specs and the parts that others are combined from, without repeats."""
        parts = [parse_spec(part) for spec in self.specs for part in spec.metric.parts]
        return list({str(spec): spec for spec in (*self.specs, *parts)}.values())

    def reading(self, kind: str) -> list[Spec]:
        """Return the specs that read one kind of statistic."""
        return [spec for spec in self.every if self.reads(spec) == kind]

    @property
    def decisions(self) -> list[Decision]:
        """The decision rules whose totals per label are counted."""
        return list(dict.fromkeys(self.decide(spec) for spec in self.reading("labels")))

    @property
    def label_bytes(self) -> int:
        """Memory of the totals per label, the one statistic that grows with the labels."""
        return len(self.decisions) * totals_bytes(self.n_labels, self.weighted)

    @property
    def depth(self) -> int | None:
        """Leading labels of a ranking that the measures look at; None for all."""
        at_k = [spec.k or 0 for spec in self.every]
        tied = self.conventions.ndcg_ties == "average"
        whole = any(spec.metric.whole or (tied and spec.metric.tied_rows) for spec in self.every)
        threshold = self.decision is not None and self.decision.kind == "threshold"
        if whole or (threshold and any(spec.needs == ("sets",) for spec in self.every)):
            return None
        if self.decision is not None and self.decision.kind == "top":
            at_k.append(int(self.decision.value))
        return min(max([1, *at_k]), self.n_labels)  # one-error looks at the first label

    def row_values(self, spec: Spec, facts: Facts) -> Floats:
        """Return a spec's values of the rows of a block, NaN where a row is left out."""
        metric, setting = spec.metric, self.setting(spec)
        if metric.counts:
            return metric.counts(facts.counts(self.decide(spec)), setting)
        tied = setting.conventions.ndcg_ties == "average"
        formula = metric.tied_rows if metric.tied_rows and tied else metric.rows
        assert formula is not None
        found = formula(facts, setting)
        return settle_empty(found, 1.0, facts.n_relevant, metric.empty, setting.conventions.empty)


class States:
    """The statistics of a plan: each a mergeable state."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        profile = plan.reading("profile")
        gains = plan.propensity if any(spec.metric.table != "hits" for spec in profile) else None
        depth = max((spec.k or 0 for spec in profile), default=0)
        self.profile = RankProfile(depth, gains, plan.weighted, plan.keep_rows) if profile else None
        self.row_specs = plan.reading("rows")
        self.rows = RowSums([str(spec) for spec in self.row_specs], plan.keep_rows)
        self.totals = {d: LabelTotals(d, plan.n_labels, plan.weighted) for d in plan.decisions}
        self.sets = LabelSets() if plan.reading("sets") else None
        curves = plan.reading("runs")
        by_label = any(spec.average != "micro" for spec in curves)
        score = plan.conventions.unlisted_score
        self.runs = ScoreRuns(plan.n_labels, score, by_label) if curves else None

    def prepare(self, block: Block) -> list[Commit]:
        """Count a block as far as anything may fail; what is returned changes the states when called."""
        facts = Facts(block, self.plan.n_labels, self.plan.conventions.unlisted_score, self.plan.decision)
        values = [self.plan.row_values(spec, facts) for spec in self.row_specs]
        commits = [self.rows.prepare(values, block.weight, block.first_row)]
        if self.profile:
            commits.append(self.profile.prepare(facts))
        if self.sets:
            commits.append(self.sets.prepare(block.truth))
        if self.runs:
            commits.append(self.runs.prepare(facts))
        return commits + [totals.prepare(facts) for totals in self.totals.values()]

    def prepare_merge(self, other: States) -> list[Commit]:
        """Add the statistics of another part of the data, as `prepare` adds a block."""
        commits = [self.rows.prepare_merge(other.rows)]
        if self.profile and other.profile:
            commits.append(self.profile.prepare_merge(other.profile))
        if self.sets and other.sets:
            commits.append(self.sets.prepare_merge(other.sets))
        if self.runs and other.runs:
            commits.append(self.runs.prepare_merge(other.runs))
        return commits + [totals.prepare_merge(other.totals[d]) for d, totals in self.totals.items()]

    def _named(self) -> Iterable[tuple[str, RankProfile | RowSums | LabelTotals | LabelSets | ScoreRuns]]:
        yield "rows", self.rows
        if self.profile:
            yield "profile", self.profile
        for decision, totals in self.totals.items():
            yield f"totals-{decision}", totals
        if self.sets:
            yield "sets", self.sets
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

    def values(self) -> tuple[dict[str, float], dict[str, int]]:
        """Return every spec's value by name, NaN where it is undefined, and how many labels it leaves out."""
        profile = self.profile.profile() if self.profile else None
        found: dict[str, float] = {}
        by_label: dict[Decision, list[Spec]] = {}
        for spec in self.plan.every:
            kind, name, setting = self.plan.reads(spec), str(spec), self.plan.setting(spec)
            if kind == "profile" and profile:
                found[name] = profile_value(spec, profile, setting)
            elif kind == "rows":
                found[name] = self.rows.mean(name, self.plan.weighted)
            elif kind == "labels":
                by_label.setdefault(self.plan.decide(spec), []).append(spec)
            elif self.sets and spec.metric.distinct:
                found[name] = spec.metric.distinct(len(self.sets.fingerprints), self.sets.n_rows)
        curves, labels_left_out = self._curve_values()
        found |= curves
        for decision, specs in by_label.items():
            counts = self.totals[decision].counts()  # as large as the labels: one decision at a time
            for spec in specs:
                found[str(spec)] = label_value(spec, counts, self.plan.setting(spec))
        for spec in self.plan.specs:
            if spec.metric.combine:
                parts = [found[part] for part in spec.metric.parts]
                found[str(spec)] = spec.metric.combine(parts, self.plan.setting(spec))
        return {str(spec): found[str(spec)] for spec in self.plan.specs}, labels_left_out

    def _curve_values(self) -> tuple[dict[str, float], dict[str, int]]:
        """Return values of pooled scores, which are sorted here, and how many labels each leaves out."""
        found: dict[str, float] = {}
        left_out: dict[str, int] = {}
        specs = self.plan.reading("runs")
        if self.runs is None:
            return found, left_out
        pooled = self.runs.pooled() if any(spec.average == "micro" for spec in specs) else None
        labels = self.runs.labels() if self.runs.by_label else None
        for spec in specs:
            assert spec.metric.curve
            setting, name = self.plan.setting(spec), str(spec)
            if spec.average == "micro" and pooled:
                found[name] = float(spec.metric.curve(pooled, setting)[0])
            elif labels:
                values = spec.metric.curve(labels, setting)
                found[name] = mean_over_labels(
                    values, labels.n_relevant if spec.average == "weighted" else None
                )
                left_out[name] = int(np.count_nonzero(np.isnan(values)))
        return found, {name: n for name, n in left_out.items() if n}

    def n_left_out(self, spec: Spec) -> int:
        """Return how many rows the mean of a spec leaves out because it is undefined there."""
        kind = self.plan.reads(spec)
        if kind == "rows":
            return self.rows.n_rows - int(self.rows.n_defined[self.rows.keys.index(str(spec))])
        skipped = kind == "profile" and spec.metric.empty and self.plan.conventions.empty == "skip"
        return self.profile.n_empty if skipped and self.profile else 0

    def row_values(self, spec: Spec) -> Floats | None:
        """Return the kept row values of one spec, NaN where a row is left out; None if it has none."""
        kind = self.plan.reads(spec)
        if kind == "rows":
            return self.rows.rows(str(spec))
        if kind != "profile" or spec.metric.table == "gains/ideals" or not self.profile:
            return None
        return profile_terms(spec, self.profile.rows(), self.plan.setting(spec))


def profile_terms(spec: Spec, profile: Profile, setting: Setting) -> Floats:
    """Return the sum of the row values of each group, NaN where rows are left out."""
    metric = spec.metric
    table = profile.hits if metric.table == "hits" else profile.gains
    assert metric.terms
    assert table is not None
    terms = metric.terms(table, profile, setting)
    return settle_empty(terms, profile.weight, profile.n_relevant, metric.empty, setting.conventions.empty)


def profile_value(spec: Spec, profile: Profile, setting: Setting) -> float:
    """Return a mean over rows, or a ratio of sums over rows."""
    terms = profile_terms(spec, profile, setting)
    if spec.metric.table == "gains/ideals":
        assert spec.metric.terms
        assert profile.ideals is not None
        over = math.fsum(spec.metric.terms(profile.ideals, profile, setting))
    else:
        over = math.fsum(profile.weight[~np.isnan(terms)])
    total = math.fsum(terms[~np.isnan(terms)])
    if not over:
        return math.nan
    # a ratio to the best sum possible may round to more than 1
    return min(total / over, 1.0) if spec.metric.table == "gains/ideals" else total / over


def label_value(spec: Spec, counts: Counts, setting: Setting) -> float:
    """Average a formula over labels, or apply it to the totals of all labels."""
    if spec.metric.labels:
        return spec.metric.labels(counts, setting)
    formula = spec.metric.counts
    assert formula is not None
    if spec.average == "micro":
        return float(formula(Counts(*(np.array([column.sum()]) for column in counts)), setting)[0])
    values = formula(counts, setting)
    support = counts.tp + counts.fn
    if spec.average == "weighted":
        return mean_over_labels(values, support)
    rule = setting.conventions.labels
    if rule != "all":
        values = np.where((support if rule == "present" else support + counts.fp) > 0, values, np.nan)
    return mean_over_labels(values)


def mean_over_labels(values: Floats, support: Floats | None = None) -> float:
    """Average what is defined, by support; where nothing has any, plainly, as scikit-learn does."""
    defined = ~np.isnan(values)
    total = 0.0 if support is None else support[defined].sum()
    if support is not None and total:
        return float((values[defined] * support[defined]).sum() / total)
    return float(values[defined].mean()) if defined.any() else math.nan
