"""LabelGroups: measures within groups of labels, and what each group adds to measures of all labels."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from xmleval.base.arrays import Ints, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.errors import printable
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.parts import Parts
from xmleval.states.plan import Plan
from xmleval.states.rank_profile import RankProfile
from xmleval.states.results import ListLength, Part, Results
from xmleval.states.state import State, States, new_states, state_class
from xmleval.view.parts import LabelParts
from xmleval.view.view import View

ROWS, LABELS, SHARE = "rows", "labels", "share"
KINDS = (ROWS, LABELS)  # of measures
PROFILE = "rank_profile"


class LabelGroups(Parts):
    """States of each group of labels.

    Measures of rows are those of the rows that have relevant labels of the group, with truth, ranking and
    predicted sets within it. Measures of labels and of entries are those of the group's labels in all rows.
    Sets are decided over all labels. Measures that are linear in the hits also have the group's part of them.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        assert plan.label_groups is not None
        self.groups, self.splits = plan.label_groups, LabelParts(plan.label_groups)
        kinds: dict[str, list[Spec]] = {ROWS: [], LABELS: []}
        for spec in plan.specs:
            kinds[LABELS if _is_of_labels(plan, spec) else ROWS].append(spec)
        self.label_measures = {spec.name for spec in kinds[LABELS]}
        self.decisions = dict.fromkeys(plan.decide(spec) for spec in plan.all_specs if spec.of_sets)
        linear = tuple(spec for spec in plan.specs if plan.state_of(spec) == PROFILE)
        resources = resources._replace(memory=max(1, resources.memory // len(self.groups.names)))
        for name, labels in zip(self.groups.names, self.splits.labels, strict=True):
            within = plan.part(
                n_labels=labels.size,
                propensity=plan.propensity and plan.propensity.within(labels),
                hierarchy=plan.hierarchy and plan.hierarchy.of(labels),
            )
            for kind, asked in kinds.items():
                if asked or kind == ROWS:
                    self.parts[f"{kind}/{name}"] = new_states(within.part(specs=tuple(asked)), resources)
            if linear:
                whole = plan.part(specs=linear)
                profile: dict[str, State] = {PROFILE: RankProfile(whole, linear, resources)}
                self.parts[f"{SHARE}/{name}"] = States(whole, resources, profile)
        self.n_rows = dict.fromkeys(self.parts, 0)
        ranked = [spec.name for spec in plan.specs if not spec.of_sets]
        self.depths = {name: plan.reads[name] or plan.n_labels for name in ranked if plan.reads[name] != 0}
        cutoffs = sorted({*self.depths.values()})
        widths = [[min(k, labels.size) for k in cutoffs] for labels in self.splits.labels]
        self.widths: Ints = np.array(widths, np.int64)  # labels that measures read, by group and cutoff
        self.column = {k: column for column, k in enumerate(cutoffs)}
        # of these, how many are listed, by `KINDS`: in rows with relevant labels, and in all rows
        self.sums = np.zeros((len(KINDS), *self.widths.shape), np.int64)

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield the rows within each group, and those of them that have relevant labels."""
        names, n_listed = self.groups.names, self.sums.copy()
        for number, rows in enumerate(self.splits.within(view.inside, self.decisions)):
            name = names[number]
            if f"{LABELS}/{name}" in self.parts:
                yield f"{LABELS}/{name}", rows
            yield f"{ROWS}/{name}", rows.with_relevant
            for kind, part in enumerate(
                (rows.with_relevant, rows) if self.label_measures else (rows.with_relevant,)
            ):
                ranking = part.block.ranking
                if ranking is not None:
                    sizes = row_sizes(ranking.ptr)
                    n_listed[kind, number] += np.minimum(sizes[:, None], self.widths[number]).sum(axis=0)
        self.sums = n_listed
        if f"{SHARE}/{names[0]}" in self.parts:
            for name, credited in zip(names, self.splits.credited(view), strict=True):
                yield f"{SHARE}/{name}", credited

    def finish(self) -> Results:
        """Return the results of each group, and a note on short lists."""
        results, few, specs = Results(), list[str](), self.plan.specs
        linear = [spec for spec in specs if self.plan.state_of(spec) == PROFILE]
        undefined = [spec.name for spec in linear if spec.metric.empty == "undefined"]
        undefined = undefined if self.plan.conventions.empty == "one" else []
        for number, (name, labels) in enumerate(zip(self.groups.names, self.splits.labels, strict=True)):
            within, n_rows = Results(), self.n_rows[f"{ROWS}/{name}"]
            for kind in (ROWS, LABELS):
                if f"{kind}/{name}" in self.parts:
                    within.add(self.parts[f"{kind}/{name}"].finish())
            within.keep_only([spec.name for spec in specs])
            within.notes.clear()
            within.short = self._short_lists(number)
            results.groups[name] = Part(within, n_rows, labels.size)
            at_k = [spec for spec in specs if spec.k and spec.name in within.short]
            if at_k and self.plan.unlisted is None:
                deepest = max(at_k, key=lambda spec: spec.k or 0)
                width = min(deepest.k or 0, labels.size)
                few.append(f"{printable(name)} {within.short[deepest.name].mean:.3g} of {width}")
            if f"{SHARE}/{name}" in self.parts:
                states = self.parts[f"{SHARE}/{name}"]
                share = states.finish()
                if undefined and states[PROFILE].n_empty:  # type: ignore[attr-defined]
                    share.values |= dict.fromkeys(undefined, math.nan)
                    because = "rows without relevant labels count 1 and belong to no group"
                    results.notes["shares"] = f"no shares of groups of {', '.join(undefined)}: {because}"
                results.shares[name] = Part(share, self.n_rows[f"{SHARE}/{name}"], labels.size)
        if few:
            lists = f"lists hold few labels of a group ({', '.join(few)} in rows where it is relevant)"
            results.notes["groups"] = f"{lists}: measures at k within it count the missing ones as wrong"
        return results

    def _short_lists(self, group: int) -> dict[str, ListLength]:
        """Return the measures that read more labels than some row lists, and how many rows list."""
        widths = self.widths[group].tolist()
        short = dict[str, ListLength]()
        for name, depth in self.depths.items():
            kind = int(name in self.label_measures)
            n_rows = self.n_rows[f"{KINDS[kind]}/{self.groups.names[group]}"]
            column = self.column[depth]
            n_listed = int(self.sums[kind, group, column])
            if n_listed < n_rows * widths[column]:
                short[name] = ListLength(n_listed / n_rows, widths[column])
        return short


def _is_of_labels(plan: Plan, spec: Spec) -> bool:
    """Tell whether a measure is of labels or of entries, not of rows."""
    parts = [parse_spec(part) for part in spec.metric.parts] or [spec]
    return all(state_class(plan.state_of(part)).of_labels for part in parts)


STATE = LabelGroups
