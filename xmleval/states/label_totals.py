"""LabelTotals: contingency tables of every label under each requested decision rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.exact import SCALE, as_integer, scaled_sum
from xmleval.input.weights import HEAVIEST
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.fold_tables import sum_changes, sum_tables, sum_times
from xmleval.kernels.folds import N_FOLDS
from xmleval.metrics import Setting
from xmleval.metrics.sets import F1, PRECISION, RECALL
from xmleval.plan import Plan
from xmleval.records import Counts, Floats, Ints
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.fold_table import Changes, FoldTable
from xmleval.states.label_slots import KINDS, slot_values
from xmleval.states.label_table import LabelTable
from xmleval.states.state import Arrays, State
from xmleval.threads import Work
from xmleval.view.decision import Decision
from xmleval.view.view import View

Known = dict[Any, Floats]  # values of the same tables by formula and parameters
Changed = tuple[Ints, Ints]  # limbs (columns, folds, 4), number of values (folds,)


class LabelTotals(State):
    """A `LabelTable` for each decision rule; formulas receive `Counts` per label."""

    by_fold = True
    shared = True
    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        kept = plan.kept_decisions
        self.decided: dict[Decision, list[Spec]] = {}
        for spec in specs:
            self.decided.setdefault(plan.decide(spec), []).append(spec)
        decisions = dict.fromkeys([*self.decided, *kept])
        self.tables = {d: LabelTable(d, plan.n_labels, plan.weighted) for d in decisions}
        self.folds: dict[Decision, FoldTable] = {}
        if plan.confidence is not None:
            self.folds = {d: FoldTable(d, plan.n_labels, plan.weighted) for d in self.decided}

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return sum(table.n_bytes for table in self._tables)

    @property
    def fold_bytes(self) -> int:
        """Size of what is counted for each fold in bytes."""
        return sum(table.n_bytes for table in self.folds.values())

    @property
    def _tables(self) -> list[LabelTable]:
        return [*self.tables.values(), *self.folds.values()]

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        for table in self._tables:
            table.update(view)

    def merge(self, other: LabelTotals) -> None:
        """Merge a state of other rows."""
        for mine, others in zip(self._tables, other._tables, strict=True):
            mine.merge(others)

    def divided(self, n_workers: int, n_blocks: int) -> list[LabelTotals]:
        """Return this state for all workers, which share its tables."""
        if n_workers > 1:
            for table in self._tables:
                table.share()
        return [self] * n_workers

    def finish(self) -> Results:
        """Return averages over labels, one decision at a time to limit memory."""
        results, plan = Results(), self.plan
        for decision, table in self.tables.items():
            specs, folds = self.decided.get(decision, []), self.folds.get(decision)
            of_slots = [spec for spec in specs if spec.metric.table in KINDS]
            others = [spec for spec in specs if spec.metric.table not in KINDS]
            results.add(label_values(others, table, plan, self.work, folds))
            results.add(slot_values(of_slots, table, plan, self.work, folds))
            if decision in plan.kept_decisions:
                self._add_columns(results, decision, table.counts(self.work))
        return results

    def _add_columns(self, results: Results, decision: Decision, counts: Counts) -> None:
        """Add per-label results under one decision."""
        plan = self.plan
        unit = HEAVIEST if plan.weighted else 1.0  # weights are stored as fractions of the largest
        results.labels["support"] = unit * (counts.tp + counts.fn)
        setting = Setting(None, {}, plan.conventions, plan.n_labels)
        columns = {name: unit * getattr(counts, name) for name in ("tp", "fp", "fn")}
        columns |= {metric.name: metric.value(counts, setting) for metric in (PRECISION, RECALL, F1)}
        for suffix in plan.kept_decisions[decision]:
            results.labels |= {f"{name}{suffix}": column for name, column in columns.items()}
        micro = [spec for spec in plan.states.get("row_counts", ()) if "hierarchy" not in spec.needs]
        for spec in [*self.specs, *micro]:
            if spec.average and plan.decide(spec) == decision:
                results.labels[spec.label_column] = spec.metric.value(counts, plan.setting(spec))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        kinds = (("", self.tables), ("folds ", self.folds))
        return {
            f"{kind}{decision}/{key}": array
            for kind, tables in kinds
            for decision, table in tables.items()
            for key, array in table.arrays().items()
        }

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        for decision, table in self.tables.items():
            own = contents.part(f"{decision}/")
            table.from_contents(own)
            table.expect_tables(contents.n_rows)
            own.done()
        for decision, folds in self.folds.items():
            own = contents.part(f"folds {decision}/")
            folds.from_contents(own)
            folds.expect_sum(self.tables[decision])
            own.done()


def label_values(
    specs: Sequence[Spec], table: LabelTable, plan: Plan, work: Work, folds: FoldTable | None = None
) -> Results:
    """Average formulas over labels, or apply them to the totals of all; with folds, without each, too."""
    results = Results()
    if not specs:
        return results
    settings = [(spec, plan.setting(spec)) for spec in specs]

    def sums_of(counts: Counts, times: Ints | None) -> list[tuple[Any, ...]]:
        known: Known = {}
        return [_label_sums(spec, counts, times, setting, known) for spec, setting in settings]

    columns = zip(*table.map_tables(sums_of, work), strict=True)
    whole = [[sum(column) for column in zip(*sums, strict=True)] for sums in columns]
    for (spec, _), sums in zip(settings, whole, strict=True):
        results.values[spec.name] = mean_of_sums(sums)
    if folds is None:
        return results

    if folds.weighted:
        of_specs = _sums_of_changes(settings, whole, table, folds, work)
    else:
        of_specs = _sums_without(settings, table, folds, work)
    filled = np.flatnonzero(folds.rows.any(axis=1))
    for (spec, _), of_folds in zip(settings, of_specs, strict=True):
        results.replicates[spec.name] = np.array([mean_of_sums(of_folds[fold]) for fold in filled])
    return results


def _sums_without(
    settings: Sequence[tuple[Spec, Setting]], table: LabelTable, folds: FoldTable, work: Work
) -> list[list[Sequence[Any]]]:
    """Return the sums over labels for the value of each spec without each fold."""

    def sums_of(counts: Counts, times: Ints | None) -> list[Changed]:
        found, known = [], Known()
        for spec, setting in settings:
            columns = _columns(spec, counts, setting, known)
            sums, n = np.zeros((len(columns), N_FOLDS, LIMBS), np.int64), np.zeros(N_FOLDS, np.int64)
            for column, own in zip(columns, sums, strict=True):
                n[:] = 0  # the last one tells how many values there are
                if times is None:
                    sum_tables(column, own, n)
                else:
                    sum_times(column, times, own, n)
            found.append((sums, n))
        return found

    pieces_of = zip(*folds.map_without(table, sums_of, work), strict=True)
    return [_of_folds(*_added_up(pieces)) for pieces in pieces_of]


def _sums_of_changes(
    settings: Sequence[tuple[Spec, Setting]],
    whole: Sequence[Sequence[Any]],
    table: LabelTable,
    folds: FoldTable,
    work: Work,
) -> list[list[Sequence[Any]]]:
    """Return the sums over labels for the value of each spec without each fold, from those of all rows."""
    found: list[Any] = [None] * len(settings)
    for every in (False, True):
        places = [n for n, (spec, _) in enumerate(settings) if spec.metric.every_label == every]
        if not places:
            continue

        def changes_of(changes: Changes, places: Sequence[int] = places) -> list[Changed]:
            return [_changed_sums(changes, *settings[n]) for n in places]

        pieces_of = zip(*folds.map_changes(table, every, changes_of, work), strict=True)
        for place, pieces in zip(places, pieces_of, strict=True):
            of_folds = _of_folds(*_added_up(pieces))
            found[place] = [[a + b for a, b in zip(whole[place], own, strict=True)] for own in of_folds]
    return found


def _added_up(pieces: Sequence[Changed]) -> Changed:
    """Add sums of disjoint labels."""
    limbs, n = pieces[0]
    for more, n_more in pieces[1:]:
        limbs, n = limbs + more, n + n_more
        carry(limbs.reshape(-1, LIMBS))
    return limbs, n


def _of_folds(limbs: Ints, n: Ints) -> list[Sequence[Any]]:
    """Return what `mean_of_sums` takes of each fold."""
    none = [0] * (3 - len(limbs))  # of a plain mean
    return [[*none, *map(as_integer, limbs[:, fold]), int(n[fold])] for fold in range(N_FOLDS)]


def _changed_sums(changes: Changes, spec: Spec, setting: Setting) -> Changed:
    """Return how the sums of each column change without each fold, and how many values more there are."""
    before, after = (_columns(spec, counts, setting, {}) for counts in (changes.before, changes.after))
    sums, n = np.zeros((len(after), N_FOLDS, LIMBS), np.int64), np.zeros((len(after), N_FOLDS), np.int64)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        sum_changes(old, new, changes.which, changes.folds, sums[number], n[number])
    return sums, n[-1]


def _label_sums(
    spec: Spec, counts: Counts, times: Ints | None, setting: Setting, known: Known
) -> tuple[Any, ...]:
    """Return the sums over labels for the value of a spec; ``times`` labels share each table."""
    columns = _columns(spec, counts, setting, known)
    return _with_number([scaled_sum(column, times) for column in columns], columns[-1], times)


def _columns(spec: Spec, counts: Counts, setting: Setting, known: Known) -> Sequence[Floats]:
    """Return what is summed over labels for the value of a spec; values are ``known`` to other averages."""
    formula, support = (spec.metric.value, *spec.params), counts.tp + counts.fn
    if formula not in known:
        known[formula] = spec.metric.value(counts, setting)
    values = known[formula]
    if spec.average == "weighted":
        return _mean_columns(values, support)
    rule = setting.conventions.labels if "labels" in spec.metric.conventions else "all"
    if rule != "all":
        values = np.where((support if rule == "present" else support + counts.fp) > 0, values, np.nan)
    return _mean_columns(values)


def mean_over_labels(values: Floats, support: Floats | None = None) -> float:
    """Average the defined values weighted by support; unweighted if all support is 0, as in scikit-learn."""
    return mean_of_sums(mean_sums(values, support))


def mean_sums(
    values: Floats, support: Floats | None = None, times: Ints | None = None
) -> tuple[Any, Any, Any, int]:
    """Return sums over the defined values: value * support, support and value, scaled, and their number.

    times : multiplicity of each value; None for 1
    """
    columns = _mean_columns(values, support)
    return _with_number([scaled_sum(column, times) for column in columns], values, times)


def _with_number(sums: Sequence[Any], values: Floats, times: Ints | None) -> tuple[Any, Any, Any, int]:
    """Return the sums of `_mean_columns`, 0 for those not there, and the number of defined values."""
    defined = ~np.isnan(values)
    n = int(np.count_nonzero(defined) if times is None else times[defined].sum())
    by_support, support = sums[:2] if len(sums) > 1 else (0, 0)
    return by_support, support, sums[-1], n


def _mean_columns(values: Floats, support: Floats | None = None) -> list[Floats]:
    """Return what is summed for an average: value * support and support, if given, and value."""
    if support is None:
        return [values]
    return [values * support, np.where(np.isnan(values), np.nan, support), values]


def mean_of_sums(sums: Sequence[Any]) -> float:
    """Return the average from the sums of `mean_sums`; NaN without any value."""
    by_support, support, plain, n = sums
    if support:
        return float(by_support / support)
    return float(plain / (n * SCALE)) if n else math.nan


STATE = LabelTotals
