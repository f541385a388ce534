"""LabelGroupStates: measures within label groups, and the groups' shares in the measures."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from xmleval.base.arrays import Ints, Labels, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.errors import printable, shown
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.parts import Parts
from xmleval.states.plan import OF_LEVEL, Plan, at_level
from xmleval.states.rank_profile import RankProfile
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import ListLength, Part, Results
from xmleval.states.state import Arrays, State, States, new_states, state_class
from xmleval.view.formulas import FormulaError
from xmleval.view.parts import LabelParts
from xmleval.view.view import View

# kinds of states; their names are KIND/GROUP, or KIND@LEVEL/GROUP for rows with labels of a level
ROWS = "rows"
LABELS = "labels"
SHARE = "share"
PROFILE = "rank_profile"


class LabelGroupStates(Parts):
    """States by label group.

    Measures of rows are those of the rows that have relevant labels of the group, with truth,
    ranking and predicted sets within it. Measures of labels and of entries are those of the group's
    labels in all rows. Sets are decided over all labels. Measures that are linear in the hits also
    have a share of the measure of all labels.

    label_measures : names of the measures of labels and of entries
    kinds : kinds of states of measures; those of rows by level of relevance, None for none
    decisions : rules whose sets measures read
    depths : number of leading labels that each measure of rankings reads
    columns : column of each of these depths in the following tables
    widths : int64 (groups, depths), number of labels of a group that are read
    sums : int64 (kinds, groups, depths), number of these that are listed: in rows with relevant
        labels, and in all rows
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        assert plan.label_groups is not None
        self.groups = plan.label_groups
        self.splits = LabelParts(plan.label_groups)
        self.label_measures = {spec.name for spec in plan.specs if _counts_labels(plan, spec)}
        levels = sorted({spec.level or 0 for spec in plan.all_specs} | {0})
        self.kinds: dict[str, int | None] = {ROWS: None, LABELS: None}
        self.kinds |= {at_level(ROWS, level): level for level in levels if level}
        self.decisions = dict.fromkeys(plan.decide(spec) for spec in plan.all_specs if spec.of_sets)
        share = resources._replace(memory=max(1, resources.memory // len(self.groups.names)))
        for name, labels in zip(self.groups.names, self.splits.labels, strict=True):
            self._add_group(name, labels, share)
        self.n_rows = dict.fromkeys(self.parts, 0)
        ranked = [spec.name for spec in plan.specs if not spec.of_sets]
        self.depths = {
            name: plan.reads[name] or plan.n_labels for name in ranked if plan.reads[name] != 0
        }
        depths = sorted({*self.depths.values()})
        self.columns = {depth: column for column, depth in enumerate(depths)}
        widths = [[min(depth, labels.size) for depth in depths] for labels in self.splits.labels]
        self.widths: Ints = np.array(widths, np.int64)
        self.sums = np.zeros((len(self.kinds), *self.widths.shape), np.int64)

    def _add_group(self, name: str, labels: Labels, resources: Resources) -> None:
        """Add the states of a group: of measures of rows, of other measures, and of shares."""
        plan = self.plan
        group_plan = plan.part(
            n_labels=labels.size,
            propensity=plan.propensity and plan.propensity.within(labels),
            hierarchy=plan.hierarchy and plan.hierarchy.of(labels),
            label_data={name: values[labels] for name, values in plan.label_data.items()},
        )
        for kind in self.kinds:
            specs = tuple(spec for spec in plan.specs if self._kind_of(spec) == kind)
            if specs or kind == ROWS:
                states = new_states(group_plan.part(specs=specs), resources)
                self.parts[f"{kind}/{name}"] = states
        linear = tuple(self._linear_specs())
        if linear:
            share_plan = plan.part(specs=linear)
            profiles: dict[str, State] = {
                state: RankProfile(share_plan, specs, resources)
                for state, specs in share_plan.states.items()
                if specs
            }
            self.parts[f"{SHARE}/{name}"] = States(share_plan, resources, profiles)

    def _kind_of(self, spec: Spec) -> str:
        """Return the kind of the states of a measure."""
        return LABELS if spec.name in self.label_measures else at_level(ROWS, spec.level)

    def _linear_specs(self) -> list[Spec]:
        """Return the measures that are linear in the hits."""
        states = self.plan.states
        return [spec for name in states if _is_profile(name) for spec in states[name]]

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield the rows within each group, those with relevant labels, and those for shares."""
        plan = self.plan
        names = self.groups.names
        n_listed = self.sums.copy()
        for number, rows in enumerate(self.splits.within(view.inside, self.decisions)):
            name = names[number]
            for place, (kind, level) in enumerate(self.kinds.items()):
                if f"{kind}/{name}" not in self.parts:
                    continue
                part: View = rows
                if kind != LABELS:
                    part = rows.with_relevant(None if level is None else plan.least_gain(level))
                yield f"{kind}/{name}", part
                ranking = part.block.ranking
                if ranking is not None:
                    sizes = row_sizes(ranking.ptr)
                    n_read = np.minimum(sizes[:, None], self.widths[number])
                    n_listed[place, number] += n_read.sum(axis=0)
        self.sums = n_listed
        if f"{SHARE}/{names[0]}" in self.parts:
            for name, credited in zip(names, self.splits.credited(view), strict=True):
                yield f"{SHARE}/{name}", credited

    def locate(self, error: FormulaError, name: str, view: View) -> None:
        """Name the group in an error, and the row in the block."""
        kind, _, group = name.partition("/")
        error.reason = f"in the label group {shown(group)}: {error.reason}"
        level = self.kinds.get(kind)
        has_all_rows = kind in (LABELS, SHARE)
        if error.row is None or has_all_rows:
            return
        within = [*self.splits.within(view.inside, self.decisions)]
        rows = within[self.groups.names.index(group)]
        kept = rows.rows_with_relevant(None if level is None else self.plan.least_gain(level))
        error.row = int(kept[error.row])

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels, also within groups."""
        assert labels.groups is not None
        names = labels.groups.names
        order = [self.groups.names.index(name) for name in names]
        parts = [f"{kind}/{name}" for name in names for kind in (*self.kinds, SHARE)]
        parts = [part for part in parts if part in self.parts]
        within = dict[str, Relabelling]()
        for name, place, new in zip(names, order, LabelParts(labels.groups).labels, strict=True):
            within[name] = labels.within(self.splits.labels[place], new)
        arrays: Arrays = {"n_rows": np.array([self.n_rows[part] for part in parts], np.int64)}
        for number, part in enumerate(parts):
            kind, _, name = part.partition("/")
            part_labels = labels if kind == SHARE else within[name]
            relabelled = self.parts[part].relabelled_arrays(part_labels)
            arrays |= {f"{number}/{key}": array for key, array in relabelled.items()}
        depths = {
            name: labels.n_labels if self.plan.reads[name] is None else depth
            for name, depth in self.depths.items()
        }
        columns = {depth: column for column, depth in enumerate(sorted({*depths.values()}))}
        sums = np.zeros((*self.sums.shape[:2], len(columns)), np.int64)
        for name, depth in depths.items():
            sums[..., columns[depth]] = self.sums[:, order, self.columns[self.depths[name]]]
        return {**arrays, "sums": sums}

    def finish(self) -> Results:
        """Return the results by group, and a note on short lists."""
        results = Results()
        short_groups = list[str]()
        for number, name in enumerate(self.groups.names):
            within = self._finish_group(number)
            n_rows = self.n_rows[f"{ROWS}/{name}"]
            n_labels = self.splits.labels[number].size
            results.groups[name] = Part(within, n_rows, n_labels)
            if self.plan.unlisted is None:
                short_groups += self._describe_short(name, n_labels, within)
            if f"{SHARE}/{name}" in self.parts:
                share = self._finish_share(name, results)
                results.shares[name] = Part(share, self.n_rows[f"{SHARE}/{name}"], n_labels)
        if short_groups:
            groups = f"({', '.join(short_groups)} on average in rows where the group is relevant)"
            results.notes["groups"] = (
                f"lists have few labels of a group {groups}: measures at k within it count "
                "missing labels as wrong"
            )
        without_share = self._without_share()
        if without_share:
            results.notes["no shares"] = (
                f"no shares of groups of {', '.join(without_share)}: grades, or all orders of "
                "equal scores, are not counted by label"
            )
        return results

    def _without_share(self) -> list[str]:
        """Return the measures that have shares of groups by other conventions alone."""
        shared = {spec.name for spec in self._linear_specs()}
        by_default = [spec for spec in self.plan.specs if parse_spec(spec.name).state == PROFILE]
        return [spec.name for spec in by_default if spec.name not in shared]

    def _finish_group(self, number: int) -> Results:
        """Return the results within a group."""
        name = self.groups.names[number]
        results = Results()
        for kind in self.kinds:
            if f"{kind}/{name}" in self.parts:
                results.add(self.parts[f"{kind}/{name}"].finish())
        results.keep_only([spec.name for spec in self.plan.specs])
        results.notes.clear()
        results.short = self._short_lists(number)
        return results

    def _describe_short(self, name: str, n_labels: int, results: Results) -> list[str]:
        """Return how many labels of a group lists have, if a measure at k reads more."""
        cutoffs = {spec.name: spec.k for spec in self.plan.specs if spec.k}
        short = [measure for measure in cutoffs if measure in results.short]
        if not short:
            return []
        deepest = max(short, key=lambda measure: cutoffs[measure])
        width = min(cutoffs[deepest], n_labels)
        return [f"{printable(name)} {results.short[deepest].mean:.3g} of {width}"]

    def _finish_share(self, name: str, results: Results) -> Results:
        """Return the shares of a group; add a note to ``results`` if some are undefined."""
        states = self.parts[f"{SHARE}/{name}"]
        share = states.finish()
        if self.plan.conventions.empty != "one":
            return share
        undefined = list[str]()
        for profile in states:
            assert isinstance(profile, RankProfile)
            if profile.n_empty:
                undefined += [s.name for s in profile.specs if s.metric.empty == "undefined"]
        if undefined:
            share.values |= dict.fromkeys(undefined, math.nan)
            reason = "rows without relevant labels count 1 and belong to no group"
            results.notes["shares"] = f"no shares of groups of {', '.join(undefined)}: {reason}"
        return share

    def _short_lists(self, group: int) -> dict[str, ListLength]:
        """Return the measures that read more labels than some row lists, and the list lengths."""
        widths = self.widths[group].tolist()
        kinds = [*self.kinds]
        kind_of = {spec.name: self._kind_of(spec) for spec in self.plan.specs}
        short = dict[str, ListLength]()
        for name, depth in self.depths.items():
            kind = kind_of[name]
            n_rows = self.n_rows[f"{kind}/{self.groups.names[group]}"]
            column = self.columns[depth]
            n_listed = int(self.sums[kinds.index(kind), group, column])
            if n_listed < n_rows * widths[column]:
                short[name] = ListLength(n_listed / n_rows, widths[column])
        return short


def _is_profile(state: str) -> bool:
    """Return whether a state is a rank profile, at any level of relevance."""
    return state.partition(OF_LEVEL)[0] == PROFILE


def _counts_labels(plan: Plan, spec: Spec) -> bool:
    """Return whether a measure is of labels or of entries, not of rows."""
    parts = [parse_spec(part) for part in spec.parts] or [spec]
    return all(state_class(plan.state_of(part)).counts_labels for part in parts)


STATE = LabelGroupStates
