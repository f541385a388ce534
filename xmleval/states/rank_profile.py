"""RankProfile: hits by number of relevant labels and rank, for measures linear in the hits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmleval.exact import NO_WEIGHT, as_floats
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.folds import N_FOLDS
from xmleval.kernels.gains import WIDTH, group_rows, sum_leading_gains
from xmleval.kernels.hit_tables import (
    LARGEST_SUM,
    MOST_TERMS,
    add_split_sums,
    count_hits,
    keep_hits,
    sum_exact_gains,
    sum_gains,
    sum_hits,
    sum_ideals,
)
from xmleval.kernels.sorting import longest_row
from xmleval.metrics import Setting
from xmleval.metrics.metric import settle_empty
from xmleval.plan import Plan, kept_of
from xmleval.records import Floats, Ints, Profile
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, at_least_zero, ceilings, expect, total
from xmleval.states.state import Arrays, State, in_row_order
from xmleval.threads import Work
from xmleval.view.view import View

RATIO = "gains/ideals"
MOST_JOINED = 1 << 20  # numbers in the tables of folds that formulas take at a time
BY_FOLD = 1 << 44  # a number of relevant labels with its fold is fold * BY_FOLD + number


class RankProfile(State):
    """Tables of hits and of propensity-scored gains over (number of relevant labels, rank).

    With folds, rows of the same number of relevant labels are apart by fold.

    Formulas receive a table of hits or gains (group, rank), the `Profile` and the setting, and return the sum
    of the row values of each group.
    """

    by_fold = True
    with_others = True
    by_list = True  # whether all hits of lists count, which are then found while gains are added up

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        self.depth = max([spec.k or 0 for spec in specs])  # tables are no wider than the deepest hit
        gains = any(spec.metric.table != "hits" for spec in specs)
        self.propensity = plan.propensity if gains else None
        self.weighted = plan.weighted  # hits and rows are then fixed-point sums too
        self.keep = bool(plan.keep_rows)
        self.folds = plan.confidence is not None
        self.n_relevant: Ints = np.empty(0, np.int64)
        entry = (LIMBS,) if self.weighted else ()
        self.tables: dict[str, Ints] = {
            "rows": np.zeros((0, 1, *entry), np.int64),
            "hits": np.zeros((0, 0, *entry), np.int64),
        }
        if self.propensity is not None:
            self.tables["gains"] = np.zeros((0, 0, LIMBS), np.int64)
            self.tables["ideals"] = np.zeros((0, 0, LIMBS), np.int64)
        self.n_empty = 0  # rows without relevant labels, regardless of weight
        self.kept: Sequence[tuple[int, Profile]] = []

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        keys, most = view.n_relevant, int(view.n_relevant.max(initial=0))
        if self.folds:
            keys = keys + view.folds.astype(np.int64) * (most + 1)
        per_key = np.bincount(keys, minlength=1)
        (present,) = per_key.nonzero()
        slots = np.zeros(per_key.size, np.int64)
        slots[present] = np.arange(present.size)
        widest = min(self.depth, most)
        found = {"rows": per_key[present][:, None]}
        if self._splits(view.n_rows):
            hits, gains, ideals = self._sum_split(view, per_key[present], keys, slots, widest)
            found |= {"hits": hits, "gains": _limbs_of(gains), "ideals": _limbs_of(ideals)}
        else:
            found |= self._sum_limbs(view, present.size, slots[keys], widest)
        hits = found["hits"]
        filled = np.flatnonzero(hits.any(axis=(0, *range(2, hits.ndim))))
        deepest = int(filled[-1]) + 1 if filled.size else 0
        found |= {name: found[name][:, :deepest] for name in ("hits", "gains") if name in found}
        own = [(view.block.first_row, self._own(view))] if self.keep and view.n_rows else []
        n_empty = int(per_key[:: most + 1].sum())
        self._add(present + present // (most + 1) * (BY_FOLD - most - 1), found, n_empty, own)

    def _width(self, view: View) -> int:
        """Return the lowest credited rank of the block, at most ``depth``."""
        return min(self.depth, int(view.ranks.max(initial=0)))

    def _splits(self, n_rows: int) -> bool:
        """Return whether the faster split sums of gains are exact for this number of rows."""
        if self.weighted or self.propensity is None or self.propensity.lowest < 1.0:
            return False
        return n_rows < MOST_TERMS and n_rows * self.propensity.highest < LARGEST_SUM

    def _sum_split(
        self, view: View, n_rows: Ints, keys: Ints, slots: Ints, widest: int
    ) -> tuple[Ints, Floats, Floats]:
        """Return hits, gains and ideals as split sums.

        ``n_rows`` is the size of each slot, ``keys`` those of the rows, ``slots`` those of the keys.
        """
        assert self.propensity is not None
        ptr, labels = view.block.truth
        known = self._known_ideals(view)
        ideals = np.zeros((n_rows.size, widest if known is None else 0, 2))
        width = min(self.depth, longest_row(view.ranking.ptr))
        in_order = view.ranking.ordered and view.unlisted is None
        if self.by_list and in_order and max(width, widest) <= WIDTH:
            hits, gains = np.zeros((n_rows.size, width), np.int64), np.zeros((n_rows.size, width, 2))
            group_ptr = np.concatenate([[0], np.cumsum(n_rows)])
            order = np.empty(view.n_rows, np.int64)
            group_rows(keys, group_ptr[slots], order)
            sum_leading_gains(
                ptr, labels, view.ranking.ptr, view.ranking.labels, order, group_ptr,
                self.propensity.values, hits, gains, ideals,
            )  # fmt: skip
            return hits, gains, ideals
        width = self._width(view)
        hits = np.zeros((n_rows.size, width + 1), np.int64)
        gains = np.zeros((n_rows.size, width + 1, 2))
        count_hits(ptr, view.ranks, slots[keys], hits)
        sum_exact_gains(ptr, labels, view.ranks, slots[keys], self.propensity.values, gains, ideals)
        return hits[:, 1:], gains[:, 1:], ideals if known is None else known

    def _known_ideals(self, view: View) -> Floats | None:
        """Return the split sums of ideals where they are known already."""
        return None

    def _sum_limbs(self, view: View, n_slots: int, slots: Ints, widest: int) -> dict[str, Ints]:
        """Return hits, gains and ideals, the last two in fixed point; with weights all, and rows."""
        (ptr, labels), width = view.block.truth, self._width(view)
        weight = NO_WEIGHT if view.block.weight is None else view.block.weight
        found: dict[str, Ints] = {}
        if self.weighted:
            found["rows"] = np.zeros((n_slots, 1, LIMBS), np.int64)
            found["hits"] = np.zeros((n_slots, width, LIMBS), np.int64)
            sum_hits(ptr, view.ranks, slots, weight, found["rows"][:, 0], found["hits"])
        else:
            hits = np.zeros((n_slots, width + 1), np.int64)
            count_hits(ptr, view.ranks, slots, hits)
            found["hits"] = hits[:, 1:]
        if self.propensity is not None:
            found["gains"] = np.zeros((n_slots, width, LIMBS), np.int64)
            found["ideals"] = np.zeros((n_slots, widest, LIMBS), np.int64)
            sum_gains(ptr, labels, view.ranks, slots, self.propensity.values, weight, found["gains"])
            sum_ideals(ptr, labels, slots, self.propensity.values, weight, found["ideals"])
        return found

    def merge(self, other: RankProfile) -> None:
        """Merge a state of other rows."""
        self._add(other.n_relevant, other.tables, other.n_empty, other.kept)

    def _add(
        self, n_relevant: Ints, found: dict[str, Ints], n_empty: int, kept: Sequence[tuple[int, Profile]]
    ) -> None:
        """Add tables out of place, since other states may share the old ones."""
        self.kept, self.n_empty = [*self.kept, *kept], self.n_empty + n_empty
        if not self.n_relevant.size:
            self.n_relevant, self.tables = n_relevant, {name: found[name] for name in self.tables}
            return
        both = np.union1d(self.n_relevant, n_relevant)
        mine, theirs = np.searchsorted(both, self.n_relevant), np.searchsorted(both, n_relevant)
        tables: dict[str, Ints] = {}
        for name, old in self.tables.items():
            new = found[name]
            width = max(old.shape[1], new.shape[1])
            table = np.zeros((both.size, width, *old.shape[2:]), np.int64)
            table[mine, : old.shape[1]] = old
            table[theirs, : new.shape[1]] += new
            tables[name] = _carried(table)
        self.n_relevant, self.tables = both, tables

    def _own(self, view: View) -> Profile:
        """Return the profiles of the single rows of a block."""
        ptr, labels = view.block.truth
        n = view.n_rows
        propensity = NO_WEIGHT if self.propensity is None else self.propensity.values
        hits = np.zeros((n, self._width(view)))
        gains = np.zeros(hits.shape if propensity.size else (0, 0))
        keep_hits(ptr, labels, view.ranks, propensity, hits, gains)
        return Profile(view.n_relevant, np.ones(n), hits, gains if propensity.size else None, None)

    def profile(self) -> Profile:
        """Return the tables of all rows counted."""
        return _profile_of(self.n_relevant, self.tables)

    def finish(self) -> Results:
        """Return the means over rows and the ratios of sums over rows."""
        sizes, tables, where = self.n_relevant, self.tables, np.empty(0, np.int64)
        if self.folds:
            sizes, where = np.unique(self.n_relevant % BY_FOLD, return_inverse=True)
            tables = {name: _summed(table, where, sizes.size) for name, table in self.tables.items()}
        results, profile = Results(), _profile_of(sizes, tables)
        rows, kept = self.rows() if self.keep else None, kept_of(self.plan.keep_rows, self.specs)
        for spec in self.specs:
            name, setting = spec.name, self.plan.setting(spec)
            (results.values[name],) = _values(spec, profile, setting)
            if rows and spec in kept and spec.metric.table != RATIO:
                results.rows[name] = _terms(spec, rows, setting)
            if self.n_empty and spec.metric.empty and self.plan.conventions.empty == "skip":
                results.rows_left_out[name] = self.n_empty
        if self.folds:
            results.replicates = self._replicates(sizes, tables, where)
        return results

    def _replicates(self, sizes: Ints, tables: dict[str, Ints], where: Ints) -> dict[str, Floats]:
        """Return the values without each fold; ``where`` each group is in the tables of all folds."""
        of_group, rows = self.n_relevant // BY_FOLD, self.tables["rows"]
        folds = np.unique(of_group[rows.any(axis=(*range(1, rows.ndim),))])  # without rows of weight 0 alone
        size = sum(table.size for table in tables.values())
        step = max(1, MOST_JOINED // max(1, size))  # folds at a time, which bounds the memory
        values: dict[str, list[float]] = {spec.name: [] for spec in self.specs}
        for start in range(0, folds.size, step):
            own = [np.flatnonzero(of_group == fold) for fold in folds[start : start + step]]
            joined = {
                name: np.concatenate([_less(table, where[which], self.tables[name][which]) for which in own])
                for name, table in tables.items()
            }
            profile = _profile_of(np.tile(sizes, len(own)), joined)
            for spec in self.specs:
                values[spec.name] += _values(spec, profile, self.plan.setting(spec), len(own))
        return {name: np.array(several) for name, several in values.items()}

    def rows(self) -> Profile:
        """Return the kept profiles of single rows, in row order."""
        chunks: list[Profile] = in_row_order(self.kept)
        width = max((chunk.hits.shape[1] for chunk in chunks), default=0)

        def joined(tables: list[Floats]) -> Floats:
            wide = [np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables]
            return np.concatenate(wide) if wide else np.empty((0, 0))

        return Profile(
            np.concatenate([np.empty(0, np.int64), *(chunk.n_relevant for chunk in chunks)]),
            np.concatenate([np.empty(0), *(chunk.weight for chunk in chunks)]),
            joined([chunk.hits for chunk in chunks]),
            None if self.propensity is None else joined([c.gains for c in chunks if c.gains is not None]),
            None,
        )

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        out: Arrays = {"n_relevant": self.n_relevant, **self.tables}
        out["n_empty"] = np.array([self.n_empty])
        for number, (first_row, own) in enumerate(self.kept):
            out[f"kept{number}.{first_row}.n_relevant"] = own.n_relevant
            out[f"kept{number}.{first_row}.hits"] = own.hits
            if own.gains is not None:
                out[f"kept{number}.{first_row}.gains"] = own.gains
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        n_rows, n_labels = contents.n_rows, self.plan.n_labels
        most = (N_FOLDS - 1) * BY_FOLD + n_labels if self.folds else n_labels
        self.n_relevant = contents.take("n_relevant", None, most=most)
        expect(bool((np.diff(self.n_relevant) > 0).all()), "n_relevant is not rising")
        expect(bool((self.n_relevant % BY_FOLD <= n_labels).all()), "n_relevant is out of range")
        n_groups = self.n_relevant.size
        take: Any = contents.take_sums if self.weighted else contents.take
        rows, hits = take("rows", n_groups, 1, most=n_rows), take("hits", n_groups, None, most=n_rows)
        expect(at_least_zero(rows - hits, self.weighted), "hits has more hits than rows")
        fits = self.weighted or (bool(rows.all()) and total(rows) == n_rows)
        expect(fits, f"rows does not add up to {n_rows}")
        if self.folds:
            of_folds = np.zeros(N_FOLDS, np.int64)
            np.add.at(
                of_folds, self.n_relevant // BY_FOLD, ceilings(rows[:, 0]) if self.weighted else rows[:, 0]
            )
            contents.expect_folds("rows", of_folds, self.weighted)
        expect(hits.shape[1] <= self.plan.cut(self.depth), f"hits at {hits.shape[1]} ranks")
        self.tables = {"rows": rows, "hits": hits}
        if self.propensity is not None:
            self.tables["gains"] = contents.take_sums("gains", *hits.shape[:2])
            self.tables["ideals"] = ideals = contents.take_sums("ideals", n_groups, None)
            expect(ideals.shape[1] <= min(self.depth, n_labels), f"ideals at {ideals.shape[1]} ranks")
        self.n_empty = int(contents.take("n_empty", 1, most=n_rows)[0])
        empty = self.n_relevant % BY_FOLD == 0
        n_empty = None if self.weighted and empty.any() else int(rows[empty].sum())
        expect(n_empty in (None, self.n_empty), f"n_empty is {self.n_empty}")
        if self.keep:
            self.kept = [self._kept(contents, *found) for found in contents.kept(".n_relevant")]
            n_kept = sum(own.n_relevant.size for _, own in self.kept)
            expect(n_kept == n_rows, f"{n_kept} rows are kept, not {n_rows}")

    def _kept(self, contents: Contents, stem: str, first_row: int) -> tuple[int, Profile]:
        """Take profiles of single rows."""
        n_relevant = contents.take(f"{stem}.n_relevant", None, most=self.plan.n_labels)
        n, real = n_relevant.size, {"dtype": np.float64}
        hits = contents.take(f"{stem}.hits", n, None, most=1.0, **real)
        expect(hits.shape[1] <= self.plan.cut(self.depth), f"{stem}.hits at {hits.shape[1]} ranks")
        gains = None
        if self.propensity is not None:
            gains = contents.take(f"{stem}.gains", *hits.shape, most=self.propensity.highest, **real)
        return first_row, Profile(n_relevant, np.ones(n), hits, gains, None)


def _profile_of(n_relevant: Ints, tables: dict[str, Ints]) -> Profile:
    real: dict[str, Floats] = {
        name: as_floats(table) if table.ndim == 3 else table.astype(np.float64)
        for name, table in tables.items()
    }
    return Profile(n_relevant, real["rows"][:, 0], real["hits"], real.get("gains"), real.get("ideals"))


def _summed(table: Ints, where: Ints, n: int) -> Ints:
    """Add up the groups of a table that have the same place."""
    found = np.zeros((n, *table.shape[1:]), np.int64)
    np.add.at(found, where, table)
    return _carried(found)


def _less(table: Ints, where: Ints, part: Ints) -> Ints:
    """Return a table less the groups of a part, at different places."""
    found = table.copy()
    found[where] -= part
    return _carried(found)


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


def _values(spec: Spec, profile: Profile, setting: Setting, n: int = 1) -> list[float]:
    """Return the mean over rows, or the ratio of sums over rows, of each of n equal parts of the groups."""
    terms = _terms(spec, profile, setting)
    over = profile.weight
    if spec.metric.table == RATIO:
        over = spec.metric.value(profile.ideals, profile, setting)
    else:
        over = np.where(np.isnan(terms), 0.0, over)
    terms = np.where(np.isnan(terms), 0.0, terms)
    sums = [
        (math.fsum(part), math.fsum(whole))
        for part, whole in zip(terms.reshape(n, -1), over.reshape(n, -1), strict=True)
    ]
    # rounding can raise a ratio to the ideal sum above 1
    most = 1.0 if spec.metric.table == RATIO else math.inf
    return [min(part / whole, most) if whole else math.nan for part, whole in sums]


def _limbs_of(sums: Floats) -> Ints:
    """Return split sums, float64 (slots, places, 2), in fixed point."""
    limbs = np.zeros((*sums.shape[:2], LIMBS), np.int64)
    add_split_sums(np.ascontiguousarray(sums).reshape(-1, 2), limbs.reshape(-1, LIMBS))
    return limbs


STATE = RankProfile
