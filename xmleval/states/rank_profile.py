"""RankProfile: hits by number of relevant labels and rank, for measures linear in the hits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.budget import Resources
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics.measure import settle_empty
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_floats
from xmleval.states.contents import Contents, expect
from xmleval.states.kept_rows import KeptRows
from xmleval.states.plan import Plan, select_kept
from xmleval.states.rank_tables import (
    NO_PROPENSITY,
    Slots,
    count_tables,
    find_slots,
    profile_of_rows,
    share_ties,
)
from xmleval.states.results import Results
from xmleval.states.row_sums import row_values
from xmleval.states.state import Arrays, State
from xmleval.view.facts import Profile
from xmleval.view.setting import Setting
from xmleval.view.view import View

RATIO = "gains/ideals"
UNRANKED = ("rows", "ideals")  # tables that have no ranks of hits
MOST_JOINED = 1 << 20  # numbers in the tables of jackknife groups that formulas take at a time


class RankProfile(State):
    """Tables of hits and of propensity-scored gains over (number of relevant labels, rank).

    A slot has the rows of one number of relevant labels and, if there are any, of one jackknife
    group. Formulas receive a table of hits or gains (slot, rank), the `Profile` and the setting,
    and return the sum of the row values of each slot.

    Over all orders of equal scores, by the convention `ties`, hits and gains are expected ones, as
    fixed-point sums: down to each cutoff, and for discounted measures at each rank, where those of
    tied labels are shared by the ranks of their group.

    depth : largest rank in the tables, which are no wider than the deepest hit
    over_orders : whether hits are expected over all orders of equal scores
    cutoffs : int64 (c,), ascending, of measures that are not discounted
    discounted : kinds of tables, hits and gains, that are also kept by rank
    propensity : None if no measure reads gains
    kept_specs : measures whose row values are kept, by name
    keys : int64 (s,), number of relevant labels * number of jackknife groups + group, of each slot
    tables : by name, int64 (s, ranks), or fixed-point sums (s, ranks, limbs)
    n_empty : number of rows without relevant labels, regardless of weight
    """

    by_group = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.depth = 0
        self.propensity = None
        for spec in specs:
            self.depth = max(self.depth, spec.k or 0)
            if spec.metric.table != "hits":
                self.propensity = plan.propensity
        self.over_orders = plan.conventions.all_orders
        self.cutoffs: Ints = np.empty(0, np.int64)
        self.discounted = list[str]()
        if self.over_orders:
            cutoffs = {spec.k or 0 for spec in specs if not spec.metric.discounted}
            self.cutoffs = np.array(sorted(cutoffs), np.int64)
            kinds = [_kind_of(spec) for spec in specs if spec.metric.discounted]
            self.discounted = [*dict.fromkeys(kinds)]
        self.n_groups = 1 if plan.confidence is None else N_GROUPS
        kept = select_kept(specs, plan.per_row)
        self.kept_specs = {spec.name: spec for spec in kept if spec.metric.table != RATIO}
        self.kept = KeptRows(tuple(self.kept_specs))
        self.keys: Ints = np.empty(0, np.int64)
        self.tables = self._empty_tables()
        self.n_empty = 0

    def _empty_tables(self) -> dict[str, Ints]:
        """Return tables without slots."""
        limbs = (LIMBS,) if self.plan.weighted else ()  # rows and hits are then fixed-point sums
        empty: Ints = np.zeros((0, 0, LIMBS), np.int64)
        tables: dict[str, Ints] = {
            "rows": np.zeros((0, 1, *limbs), np.int64),
            "hits": np.zeros((0, 0, *limbs), np.int64),
        }
        if self.propensity is not None:
            tables["gains"] = empty
            tables["ideals"] = empty
        if self.over_orders:
            for kind in tables.keys() - UNRANKED:
                tables[kind] = np.zeros((0, self.cutoffs.size, LIMBS), np.int64)
            tables |= dict.fromkeys(map(_shared, self.discounted), empty)
        return tables

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        groups = None if self.n_groups == 1 else view.jackknife
        slots = find_slots(view.n_relevant, groups)
        tables = count_tables(view, slots, self.depth, self.propensity)
        if self.over_orders:
            tables |= self._share_ties(view, slots, tables)
        ranked = self._ranked_tables()
        deepest = max((_deepest_hit(tables[name]) for name in ranked), default=0)
        for name in ranked:
            tables[name] = _with_ranks(tables[name], deepest)
        is_empty = slots.keys < self.n_groups
        self._add(slots.keys, tables, int(slots.n_rows[is_empty].sum()))
        if self.kept.names:
            self._keep_rows(view)

    def _share_ties(self, view: View, slots: Slots, tables: dict[str, Ints]) -> dict[str, Ints]:
        """Return the tables of expected hits and gains of a block, from those in order."""
        shared = dict[str, Ints]()
        for kind in tables.keys() - UNRANKED:
            propensity = NO_PROPENSITY
            if kind == "gains":
                assert self.propensity is not None
                propensity = self.propensity.values
            depth = self.depth if kind in self.discounted else 0
            leading, by_rank = share_ties(
                view, slots, tables[kind], self.cutoffs, depth, propensity
            )
            shared[kind] = leading
            if depth:
                shared[_shared(kind)] = by_rank
        return shared

    def _ranked_tables(self) -> list[str]:
        """Return the names of the tables by rank."""
        if self.over_orders:
            return [*map(_shared, self.discounted)]
        return [name for name in self.tables if name not in UNRANKED]

    def _keep_rows(self, view: View) -> None:
        """Keep the row values of a block."""
        if self.over_orders:
            columns = [row_values(spec, view, self.plan) for spec in self.kept_specs.values()]
            self.kept = self.kept.with_rows(view, columns)
            return
        specs = self.kept_specs.values()
        propensity = None
        if any(spec.metric.table != "hits" for spec in specs):
            propensity = self.propensity
        rows = profile_of_rows(view, self.depth, propensity)
        columns = [_sum_row_values(spec, rows, self.plan.setting(spec)) for spec in specs]
        self.kept = self.kept.with_rows(view, columns)

    def merge(self, added: RankProfile) -> None:
        """Merge a state of other rows."""
        self._add(added.keys, added.tables, added.n_empty)
        self.kept = self.kept.plus(added.kept.blocks)

    def _add(self, keys: Ints, tables: dict[str, Ints], n_empty: int) -> None:
        """Add tables out of place, since other states may share the old ones."""
        self.n_empty += n_empty
        if not self.keys.size:
            self.keys = keys
            self.tables = tables
            return
        all_keys = np.union1d(self.keys, keys)
        places = np.searchsorted(all_keys, self.keys)
        added_places = np.searchsorted(all_keys, keys)
        totals = dict(tables)
        for name, table in self.tables.items():
            added = tables[name]
            width = max(table.shape[1], added.shape[1])
            total = np.zeros((all_keys.size, width, *table.shape[2:]), np.int64)
            total[places, : table.shape[1]] = table
            total[added_places, : added.shape[1]] += added
            totals[name] = _carry_table(total)
        self.keys = all_keys
        self.tables = totals

    def finish(self) -> Results:
        """Return the means over rows and the ratios of sums over rows."""
        sizes = self.keys
        tables = self.tables
        if self.n_groups > 1:
            sizes, starts = np.unique(sizes // self.n_groups, return_index=True)
            tables = {
                name: _carry_table(np.add.reduceat(table, starts)) for name, table in tables.items()
            }
        results = Results()
        profile = self._make_profile(sizes, tables)
        has_excluded = self.n_empty > 0 and self.plan.conventions.empty == "skip"
        for spec in self.specs:
            results.values[spec.name] = _compute_values(spec, profile, self.plan, 1)[0]
            if has_excluded and spec.metric.empty:
                results.undefined_rows[spec.name] = self.n_empty
        if self.kept.names:
            results.rows = self.kept.columns()
        if self.n_groups > 1:
            results.replicates = self._values_without_groups(sizes, tables)
        return results

    def _values_without_groups(self, sizes: Ints, tables: dict[str, Ints]) -> dict[str, Floats]:
        """Return the values without each jackknife group that has a weight.

        sizes, tables : numbers of relevant labels of the slots of all groups together, and tables
        """
        values: dict[str, list[float]] = {spec.name: [] for spec in self.specs}
        for n, profile in self._profiles_without_groups(sizes, tables):
            for spec in self.specs:
                values[spec.name] += _compute_values(spec, profile, self.plan, n)
        return {name: np.array(column) for name, column in values.items()}

    def _profiles_without_groups(
        self, sizes: Ints, tables: dict[str, Ints]
    ) -> Iterator[tuple[int, Profile]]:
        """Yield numbers of jackknife groups, and the joined profiles without each of them."""
        groups = self.keys % self.n_groups
        rows = self.tables["rows"]
        weighing = np.unique(groups[rows.any(axis=(*range(1, rows.ndim),))])
        n_numbers = sum(table.size for table in tables.values())
        step = max(1, MOST_JOINED // max(1, n_numbers))  # groups at a time: limits the memory
        for start in range(0, weighing.size, step):
            left_out = weighing[start : start + step]
            n = left_out.size
            slots = np.flatnonzero(np.isin(groups, left_out))
            places = np.searchsorted(left_out, groups[slots]) * sizes.size
            places += np.searchsorted(sizes, self.keys[slots] // self.n_groups)
            without = {}
            for name, table in tables.items():
                repeats = np.tile(table, (n, *[1] * (table.ndim - 1)))
                repeats[places] -= self.tables[name][slots]
                without[name] = _carry_table(repeats)
            yield n, self._make_profile(np.tile(sizes, n), without)

    def _make_profile(self, n_relevant: Ints, tables: dict[str, Ints]) -> Profile:
        """Return the profile of tables of integers or of fixed-point sums."""
        floats: dict[str, Any] = {}
        for name, table in tables.items():
            floats[name] = as_floats(table) if table.ndim == 3 else table.astype(np.float64)
        weight = floats.pop("rows")[:, 0]
        floats = {"gains": None, "ideals": None, **floats}
        if self.over_orders:
            floats["cutoffs"] = self.cutoffs
        return Profile(n_relevant, weight, **floats)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {
            "keys": self.keys,
            **self.tables,
            "n_empty": np.array([self.n_empty]),
            **self.kept.arrays(),
        }

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        n_labels = self.plan.n_labels
        depth = self.plan.cut(self.depth)
        self.keys = contents.take("keys", None, high=(n_labels + 1) * self.n_groups - 1)
        expect(bool((np.diff(self.keys) > 0).all()), "keys are not rising")
        n_keys = self.keys.size
        take = contents.take_sums if self.plan.weighted else contents.take
        self.tables = {"rows": take("rows", n_keys, 1)}
        if self.over_orders:
            self.tables["hits"] = contents.take_sums("hits", n_keys, self.cutoffs.size)
        else:
            self.tables["hits"] = take("hits", n_keys, None)
        n_ranks = self.tables["hits"].shape[1]
        expect(self.over_orders or n_ranks <= depth, f"hits at {n_ranks} ranks")
        if self.propensity is not None:
            self.tables["gains"] = contents.take_sums("gains", n_keys, n_ranks)
            self.tables["ideals"] = contents.take_sums("ideals", n_keys, None)
            n_places = self.tables["ideals"].shape[1]
            expect(n_places <= min(self.depth, n_labels), f"ideals at {n_places} ranks")
        for kind in self.discounted:
            table = contents.take_sums(_shared(kind), n_keys, None)
            expect(table.shape[1] <= depth, f"{_shared(kind)} at {table.shape[1]} ranks")
            self.tables[_shared(kind)] = table
        self.n_empty = int(contents.take("n_empty", 1)[0])
        self.kept = self.kept.restored(contents)


def _kind_of(spec: Spec) -> str:
    """Return which table a measure reads: hits or gains."""
    return "hits" if spec.metric.table == "hits" else "gains"


def _shared(kind: str) -> str:
    """Return the name of the table of hits or of gains that has every rank."""
    return f"shared_{kind}"


def _deepest_hit(table: Ints) -> int:
    """Return the last rank at which a table is not 0."""
    filled = np.flatnonzero(table.any(axis=(0, *range(2, table.ndim))))
    return int(filled[-1]) + 1 if filled.size else 0


def _with_ranks(table: Ints, n_ranks: int) -> Ints:
    """Return a table of so many ranks; further ranks than it had are 0."""
    if table.shape[1] >= n_ranks:
        return table[:, :n_ranks]
    wider = np.zeros((table.shape[0], n_ranks, *table.shape[2:]), np.int64)
    wider[:, : table.shape[1]] = table
    return wider


def _carry_table(table: Ints) -> Ints:
    """Carry fixed-point sums in place, and return the table."""
    if table.ndim == 3:
        carry(table.reshape(-1, LIMBS))
    return table


def _sum_row_values(spec: Spec, profile: Profile, setting: Setting) -> Floats:
    """Return the sums of row values by slot, NaN for excluded rows."""
    metric = spec.metric
    kind = _kind_of(spec)
    table = getattr(profile, kind)
    if profile.cutoffs is not None and metric.discounted:
        table = getattr(profile, _shared(kind))
    elif profile.cutoffs is not None:
        place = int(np.searchsorted(profile.cutoffs, setting.k or 0))
        table = table[:, place : place + 1]
    sums = metric.value(table, profile, setting)
    return settle_empty(
        sums, profile.weight, profile.n_relevant, metric.empty, setting.conventions.empty
    )


def _compute_values(spec: Spec, profile: Profile, plan: Plan, n: int) -> list[float]:
    """Return means over rows, or ratios of sums over rows, for n equal parts."""
    setting = plan.setting(spec)
    numerators = _sum_row_values(spec, profile, setting)
    denominators = profile.weight
    is_ratio = spec.metric.table == RATIO
    is_excluded = np.isnan(numerators)
    if is_ratio:
        denominators = spec.metric.value(profile.ideals, profile, setting)
    elif is_excluded.any():
        denominators = np.where(is_excluded, 0.0, denominators)
    numerators = np.where(is_excluded, 0.0, numerators)
    sums = map(math.fsum, numerators.reshape(n, -1).tolist())  # rounded once
    totals = map(math.fsum, denominators.reshape(n, -1).tolist())
    # rounding can raise a ratio to the ideal sum above 1
    largest = 1.0 if is_ratio else math.inf
    return [
        min(part / total, largest) if total else math.nan
        for part, total in zip(sums, totals, strict=True)
    ]


STATE = RankProfile
