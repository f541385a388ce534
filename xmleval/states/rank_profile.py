"""RankProfile: hits by number of relevant labels and rank, for measures linear in the hits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import Resources
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics import Setting
from xmleval.metrics.metric import settle_empty
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_floats
from xmleval.states.contents import Contents, expect
from xmleval.states.kept_rows import KeptRows
from xmleval.states.plan import Plan, kept_of
from xmleval.states.rank_tables import profile_of_rows, slots_of, tables_of
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State
from xmleval.view.facts import Profile
from xmleval.view.view import View

RATIO = "gains/ideals"
MOST_JOINED = 1 << 20  # numbers in the tables of jackknife groups that formulas take at a time


class RankProfile(State):
    """Tables of hits and of propensity-scored gains over (number of relevant labels, rank).

    With jackknife groups, rows of the same number of relevant labels are apart by group.

    Formulas receive a table of hits or gains (group, rank), the `Profile` and the setting, and return the sum
    of the row values of each group.
    """

    by_group = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.depth, self.propensity = 0, None  # tables are no wider than the deepest hit
        for spec in specs:
            self.depth = max(self.depth, spec.k or 0)
            if spec.metric.table != "hits":
                self.propensity = plan.propensity
        self.n_groups = 1 if plan.confidence is None else N_GROUPS
        kept = filter(lambda spec: spec.metric.table != RATIO, kept_of(plan.per_row, specs))
        self.of_rows = {spec.name: spec for spec in kept}
        self.kept = KeptRows(tuple(self.of_rows))
        self.keys: Ints = np.empty(0, np.int64)  # number of relevant labels * number of groups + group
        limbs = (LIMBS,) if plan.weighted else ()  # hits and rows are then fixed-point sums, too
        empty: Ints = np.zeros((0, 0, LIMBS), np.int64)
        self.tables: dict[str, Ints] = {
            "rows": np.zeros((0, 1, *limbs), np.int64),
            "hits": np.zeros((0, 0, *limbs), np.int64),
            **({} if self.propensity is None else {"gains": empty, "ideals": empty}),
        }
        self.n_empty = 0  # rows without relevant labels, regardless of weight

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        slots = slots_of(view.n_relevant, None if self.n_groups == 1 else view.jackknife)
        tables = tables_of(view, slots, self.depth, self.propensity)
        hits = tables["hits"]
        filled = np.flatnonzero(hits.any(axis=(0, *range(2, hits.ndim))))
        for name in tables.keys() & {"hits", "gains"}:
            tables[name] = tables[name][:, : filled[-1] + 1 if filled.size else 0]
        self._add(slots.keys, tables, int(slots.n_rows[slots.keys < self.n_groups].sum()))
        if self.kept.names:
            specs = self.of_rows.values()
            gains = any(spec.metric.table != "hits" for spec in specs)
            rows = profile_of_rows(view, self.depth, self.propensity if gains else None)
            columns = [_terms(spec, rows, self.plan.setting(spec)) for spec in specs]
            self.kept = self.kept.with_rows(view, columns)

    def merge(self, added: RankProfile) -> None:
        """Merge a state of other rows."""
        self._add(added.keys, added.tables, added.n_empty)
        self.kept = self.kept.plus(added.kept.blocks)

    def _add(self, keys: Ints, tables: dict[str, Ints], n_empty: int) -> None:
        """Add tables out of place, since other states may share the old ones."""
        self.n_empty += n_empty
        if not self.keys.size:
            self.keys, self.tables = keys, tables
            return
        all_keys = np.union1d(self.keys, keys)
        mine, theirs = np.searchsorted(all_keys, self.keys), np.searchsorted(all_keys, keys)
        for name, table in self.tables.items():
            width = max(table.shape[1], tables[name].shape[1])
            total = np.zeros((all_keys.size, width, *table.shape[2:]), np.int64)
            total[mine, : table.shape[1]] = table
            total[theirs, : tables[name].shape[1]] += tables[name]
            tables = {**tables, name: _carried(total)}
        self.keys, self.tables = all_keys, tables

    def finish(self) -> Results:
        """Return the means over rows and the ratios of sums over rows."""
        sizes, tables = self.keys, self.tables
        if self.n_groups > 1:
            sizes, starts = np.unique(sizes // self.n_groups, return_index=True)
            tables = {name: _carried(np.add.reduceat(table, starts)) for name, table in tables.items()}
        results, whole = Results(), _profile_of(sizes, tables)
        for spec in self.specs:
            results.values[spec.name] = _values(spec, whole, self.plan, 1)[0]
            if self.n_empty and spec.metric.empty and self.plan.conventions.empty == "skip":
                results.undefined_rows[spec.name] = self.n_empty
        if self.kept.names:
            results.rows = self.kept.columns()
        if self.n_groups > 1:
            values: dict[str, list[float]] = {spec.name: [] for spec in self.specs}
            for n, profile in self._without_groups(sizes, tables):
                for spec in self.specs:
                    values[spec.name] += _values(spec, profile, self.plan, n)
            results.replicates = {name: np.array(column) for name, column in values.items()}
        return results

    def _without_groups(self, sizes: Ints, tables: dict[str, Ints]) -> Iterator[tuple[int, Profile]]:
        """Yield numbers of jackknife groups and the profiles without each, one after another."""
        of_group, rows = self.keys % self.n_groups, self.tables["rows"]
        # jackknife groups with rows, of which some have a weight
        groups = np.unique(of_group[rows.any(axis=(*range(1, rows.ndim),))])
        size = sum(table.size for table in tables.values())
        step = max(1, MOST_JOINED // max(1, size))  # groups at a time, which bounds the memory
        for left_out in (groups[start : start + step] for start in range(0, groups.size, step)):
            n, parts = left_out.size, np.flatnonzero(np.isin(of_group, left_out))
            at = np.searchsorted(left_out, of_group[parts]) * sizes.size
            at += np.searchsorted(sizes, self.keys[parts] // self.n_groups)
            without = {name: np.tile(table, (n, *[1] * (table.ndim - 1))) for name, table in tables.items()}
            for name, table in without.items():
                table[at] -= self.tables[name][parts]
                _carried(table)
            yield n, _profile_of(np.tile(sizes, n), without)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {"keys": self.keys, **self.tables, "n_empty": np.array([self.n_empty]), **self.kept.arrays()}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        n_labels, depth = self.plan.n_labels, self.plan.cut(self.depth)
        self.keys = contents.take("keys", None, high=(n_labels + 1) * self.n_groups - 1)
        expect(bool((np.diff(self.keys) > 0).all()), "keys are not rising")
        n_keys, take = self.keys.size, contents.take_sums if self.plan.weighted else contents.take
        self.tables = {"rows": take("rows", n_keys, 1), "hits": take("hits", n_keys, None)}
        n_ranks = self.tables["hits"].shape[1]
        expect(n_ranks <= depth, f"hits at {n_ranks} ranks")
        if self.propensity is not None:
            self.tables["gains"] = contents.take_sums("gains", n_keys, n_ranks)
            self.tables["ideals"] = ideals = contents.take_sums("ideals", n_keys, None)
            expect(ideals.shape[1] <= min(self.depth, n_labels), f"ideals at {ideals.shape[1]} ranks")
        self.n_empty = int(contents.take("n_empty", 1)[0])
        self.kept = self.kept.restored(contents)


def _profile_of(n_relevant: Ints, tables: dict[str, Ints]) -> Profile:
    real: dict[str, Floats] = {
        name: as_floats(table) if table.ndim == 3 else table.astype(np.float64)
        for name, table in tables.items()
    }
    return Profile(n_relevant, real["rows"][:, 0], real["hits"], real.get("gains"), real.get("ideals"))


def _carried(table: Ints) -> Ints:
    if table.ndim == 3:
        carry(table.reshape(-1, LIMBS))
    return table


def _terms(spec: Spec, profile: Profile, setting: Setting) -> Floats:
    """Return the sum of the row values of each group, NaN for excluded rows."""
    metric = spec.metric
    table = profile.hits if metric.table == "hits" else profile.gains
    terms = metric.value(table, profile, setting)
    return settle_empty(terms, profile.weight, profile.n_relevant, metric.empty, setting.conventions.empty)


def _values(spec: Spec, profile: Profile, plan: Plan, n: int) -> list[float]:
    """Return the mean over rows, or the ratio of sums over rows, of each of n equal parts of the groups."""
    setting = plan.setting(spec)
    terms, over = _terms(spec, profile, setting), profile.weight
    of_ideals, unknown = spec.metric.table == RATIO, np.isnan(terms)
    if of_ideals:
        over = spec.metric.value(profile.ideals, profile, setting)
    elif unknown.any():
        over = np.where(unknown, 0.0, over)
    terms = np.where(unknown, 0.0, terms)
    parts = map(math.fsum, terms.reshape(n, -1).tolist())  # rounded once
    totals = map(math.fsum, over.reshape(n, -1).tolist())
    # rounding can raise a ratio to the ideal sum above 1
    largest = 1.0 if of_ideals else math.inf
    return [
        min(part / total, largest) if total else math.nan for part, total in zip(parts, totals, strict=True)
    ]


STATE = RankProfile
