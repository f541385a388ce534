"""RankProfile: hits by number of relevant labels and rank, for measures linear in the hits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from xmleval.budget import Resources
from xmleval.exact import NO_WEIGHT, as_floats
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.gains import SIZE, WIDTH, sum_leading_gains
from xmleval.kernels.hit_tables import (
    LARGEST_SUM,
    MOST_TERMS,
    add_at,
    add_split_sums,
    count_hits,
    sum_exact_gains,
    sum_gains,
    sum_hits,
    sum_ideals,
    unite,
)
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.kernels.sorting import longest_row
from xmleval.metrics import Setting
from xmleval.metrics.metric import settle_empty
from xmleval.plan import Plan, kept_of
from xmleval.records import Bytes, Floats, Ints, Profile, RowValues
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.kept_hits import BYTE, KeptHits
from xmleval.states.rank_slots import BY_GROUP, Slots
from xmleval.states.state import Arrays, State, in_row_order
from xmleval.view.view import View

RATIO = "gains/ideals"
SLOTS, IDEALS, LANES = "slots", "ideals", "lanes"  # what is known of a truth
ALL: Ints = np.array([-1])  # the jackknife group that no row is in, so that all are left without it
MOST_JOINED = 1 << 20  # numbers in the tables of jackknife groups that formulas take at a time


class RankProfile(State):
    """Tables of hits and of propensity-scored gains over (number of relevant labels, rank).

    With jackknife groups, rows of the same number of relevant labels are apart by group.

    Formulas receive a table of hits or gains (group, rank), the `Profile` and the setting, and return the sum
    of the row values of each group.
    """

    by_group = True
    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Resources) -> None:
        super().__init__(plan, specs, work)
        self.depth = max([spec.k or 0 for spec in specs])  # tables are no wider than the deepest hit
        gains = any(spec.metric.table != "hits" for spec in specs)
        self.propensity = plan.propensity if gains else None
        self.weighted = plan.weighted  # hits and rows are then fixed-point sums too
        kept = [spec for spec in kept_of(plan.per_row, specs) if spec.metric.table != RATIO]
        self.of_rows = kept  # the measures whose row values are kept
        self.keep = bool(kept)
        self.keep_gains = any(spec.metric.table != "hits" for spec in kept)
        self.groups = plan.confidence is not None
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
        self.kept: Sequence[tuple[int, KeptHits]] = []

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        if SLOTS not in view.known:
            view.known[SLOTS] = Slots(view, self.groups)
        slots: Slots = view.known[SLOTS]
        widest = min(self.depth, slots.most)
        found = {"rows": slots.n_rows[:, None]}
        leading = self._leading(view, widest)
        marked = self.keep and not self.keep_gains and not self.weighted
        marked = marked and (leading is not None or self._width(view) <= BYTE)
        marks: Bytes = np.zeros((view.n_rows, int(marked)), np.uint8)
        if self._splits(view.n_rows):
            hits, gains, ideals = self._sum_split(view, slots, widest, leading, marks)
            found |= {"hits": hits, "gains": _limbs_of(gains), "ideals": _limbs_of(ideals)}
        else:
            found |= self._sum_limbs(view, slots, widest, marks)
        hits = found["hits"]
        filled = np.flatnonzero(hits.any(axis=(0, *range(2, hits.ndim))))
        deepest = int(filled[-1]) + 1 if filled.size else 0
        found |= {name: found[name][:, :deepest] for name in ("hits", "gains") if name in found}
        own = [(view.block.first_row, self._own(view, marks))] if self.keep and view.n_rows else []
        self._add(slots.n_relevant, found, slots.n_empty, own)

    def _width(self, view: View) -> int:
        """Return the lowest credited rank of the block, at most ``depth``."""
        return min(self.depth, int(view.ranks.max(initial=0)))

    def _splits(self, n_rows: int) -> bool:
        """Return whether the faster split sums of gains are exact for this number of rows."""
        if self.weighted or self.propensity is None or self.propensity.lowest < 1.0:
            return False
        return n_rows < MOST_TERMS and n_rows * self.propensity.highest < LARGEST_SUM

    def _leading(self, view: View, widest: int) -> int | None:
        """Return how many first labels of lists to look at, None if hits are not found in the lists."""
        in_order = view.ranking.ordered and view.unlisted is None
        if not (view.all_ranked and in_order and self._splits(view.n_rows) and widest <= WIDTH):
            return None
        width = min(self.depth, longest_row(view.ranking.ptr))
        return width if width <= WIDTH else None

    def _sum_split(
        self, view: View, slots: Slots, widest: int, leading: int | None, marks: Bytes
    ) -> tuple[Ints, Floats, Floats]:
        """Return hits, gains and ideals as split sums; and write ``marks`` if asked for."""
        assert self.propensity is not None
        (ptr, labels), n_slots = view.block.truth[:2], slots.n_rows.size
        known = None if leading is not None and LANES not in view.known else view.known.get(IDEALS)
        ideals = np.zeros((n_slots, widest if known is None else 0, 2))
        if leading is not None:
            hits, gains = np.zeros((n_slots, leading), np.int64), np.zeros((n_slots, leading, 2))
            if known is None:
                facts = view.block.facts
                shared = facts is not None and facts.known is view.known  # with models that follow
                view.known[LANES] = np.empty((slots.n_lanes * shared, SIZE), labels.dtype)
            sum_leading_gains(
                ptr, labels, view.ranking.ptr, view.ranking.labels, *slots.grouped, self.propensity.values,
                view.known[LANES], marks, hits, gains, ideals,
            )  # fmt: skip
        else:
            width = self._width(view)
            hits, gains = np.zeros((n_slots, width + 1), np.int64), np.zeros((n_slots, width + 1, 2))
            count_hits(ptr, view.ranks, slots.of_rows, hits, marks)
            sum_exact_gains(ptr, labels, view.ranks, slots.of_rows, self.propensity.values, gains, ideals)
            hits, gains = hits[:, 1:], gains[:, 1:]
        if known is None:
            view.known[IDEALS] = known = ideals
        return hits, gains, known

    def _sum_limbs(self, view: View, several: Slots, widest: int, marks: Bytes) -> dict[str, Ints]:
        """Return hits, gains and ideals, the last two in fixed point; with weights all, and rows."""
        (ptr, labels), width = view.block.truth[:2], self._width(view)
        n_slots, slots = several.n_rows.size, several.of_rows
        weight = NO_WEIGHT if view.block.weight is None else view.block.weight
        found: dict[str, Ints] = {}
        if self.weighted:
            found["rows"] = np.zeros((n_slots, 1, LIMBS), np.int64)
            found["hits"] = np.zeros((n_slots, width, LIMBS), np.int64)
            sum_hits(ptr, view.ranks, slots, weight, found["rows"][:, 0], found["hits"])
        else:
            hits = np.zeros((n_slots, width + 1), np.int64)
            count_hits(ptr, view.ranks, slots, hits, marks)
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
        self, n_relevant: Ints, found: dict[str, Ints], n_empty: int, kept: Sequence[tuple[int, KeptHits]]
    ) -> None:
        """Add tables out of place, since other states may share the old ones."""
        self.kept, self.n_empty = [*self.kept, *kept], self.n_empty + n_empty
        if not self.n_relevant.size:
            self.n_relevant, self.tables = n_relevant, {name: found[name] for name in self.tables}
            return
        mine, theirs = np.empty_like(self.n_relevant), np.empty_like(n_relevant)
        both = np.empty(mine.size + theirs.size, np.int64)
        both = both[: unite(self.n_relevant, n_relevant, both, mine, theirs)]
        places, n, old = [mine, theirs], both.size, self.tables
        self.tables = {name: _joined(places, [own, found[name]], n) for name, own in old.items()}
        self.n_relevant = both

    def _own(self, view: View, marks: Bytes) -> KeptHits:
        """Return the hits of the single rows of a block, of which ``marks`` may be known."""
        if marks.shape[1]:
            return KeptHits(view.n_relevant, marks, None)
        return KeptHits.of(view, self._width(view), self.propensity if self.keep_gains else None)

    def profile(self) -> Profile:
        """Return the tables of all rows counted."""
        return _profile_of(self.n_relevant, self.tables)

    def finish(self) -> Results:
        """Return the means over rows and the ratios of sums over rows."""
        results = Results()
        for name, (value, *others) in self._all_values().items():
            results.values[name] = value
            if self.groups:
                results.replicates[name] = np.array(others)
        for spec in self.specs:
            if self.n_empty and spec.metric.empty and self.plan.conventions.empty == "skip":
                results.undefined_rows[spec.name] = self.n_empty
        if self.keep:
            results.rows = self._rows()
        return results

    def _rows(self) -> dict[str, Floats | RowValues]:
        """Return the row values of the measures that are kept."""
        rows = KeptHits.joined(in_row_order(self.kept))
        different, of = rows.distinct()
        found: dict[str, Floats | RowValues] = {}
        for spec in self.of_rows:
            own = different if spec.metric.table == "hits" else rows.profile()
            terms = _terms(spec, own, self.plan.setting(spec))
            found[spec.name] = RowValues(terms, of) if own is different else terms
        return found

    def _all_values(self) -> dict[str, list[float]]:
        """Return the values of all rows and, with jackknife groups, those without each."""
        if not self.groups:
            whole = _profile_of(self.n_relevant, self.tables)
            return {spec.name: _values(spec, whole, self.plan, 1) for spec in self.specs}
        sizes, where = np.unique(self.n_relevant % BY_GROUP, return_inverse=True)
        tables = {name: _joined([where], [table], sizes.size) for name, table in self.tables.items()}
        of_group, rows = self.n_relevant // BY_GROUP, self.tables["rows"]
        # jackknife groups with rows, of which some have a weight
        left_out = np.union1d(ALL, of_group[rows.any(axis=(*range(1, rows.ndim),))])
        size = sum(table.size for table in tables.values())
        step = max(1, MOST_JOINED // max(1, size))  # jackknife groups at a time, which bounds the memory
        values: dict[str, list[float]] = {spec.name: [] for spec in self.specs}
        for start in range(0, left_out.size, step):
            some = left_out[start : start + step]
            own = np.flatnonzero(np.isin(of_group, some))
            at = np.searchsorted(some, of_group[own]) * sizes.size + where[own]
            parts = {name: table[own] for name, table in self.tables.items()}
            joined = {name: _less(table, some.size, at, parts[name]) for name, table in tables.items()}
            profile = _profile_of(np.tile(sizes, some.size), joined)
            for spec in self.specs:
                values[spec.name] += _values(spec, profile, self.plan, some.size)
        return values

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        out: Arrays = {"n_relevant": self.n_relevant, **self.tables}
        out["n_empty"] = np.array([self.n_empty])
        for number, (first_row, own) in enumerate(self.kept):
            out[f"kept{number}.{first_row}.n_relevant"] = own.n_relevant
            out[f"kept{number}.{first_row}.marks"] = own.marks
            if own.gains is not None:
                out[f"kept{number}.{first_row}.gains"] = own.gains
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        n_labels, depth = self.plan.n_labels, self.plan.cut(self.depth)
        most = (N_GROUPS - 1) * BY_GROUP + n_labels if self.groups else n_labels
        self.n_relevant = contents.take("n_relevant", None, most=most)
        expect(bool((np.diff(self.n_relevant) > 0).all()), "n_relevant is not rising")
        expect(bool((self.n_relevant % BY_GROUP <= n_labels).all()), "n_relevant is out of range")
        n_groups, take = self.n_relevant.size, contents.take_sums if self.weighted else contents.take
        self.tables = {"rows": take("rows", n_groups, 1), "hits": take("hits", n_groups, None)}
        n_ranks = self.tables["hits"].shape[1]
        expect(n_ranks <= depth, f"hits at {n_ranks} ranks")
        if self.propensity is not None:
            self.tables["gains"] = contents.take_sums("gains", n_groups, n_ranks)
            self.tables["ideals"] = ideals = contents.take_sums("ideals", n_groups, None)
            expect(ideals.shape[1] <= min(self.depth, n_labels), f"ideals at {ideals.shape[1]} ranks")
        self.n_empty = int(contents.take("n_empty", 1)[0])
        if self.keep:
            keeps_gains = self.propensity is not None and self.keep_gains
            self.kept = [
                (first_row, KeptHits.taken(contents, stem, n_labels, depth, keeps_gains))
                for stem, first_row in contents.kept(".n_relevant")
            ]
            n_kept = sum(own.n_relevant.size for _, own in self.kept)
            expect(n_kept == contents.n_rows, f"{n_kept} rows are kept, not {contents.n_rows}")


def _profile_of(n_relevant: Ints, tables: dict[str, Ints]) -> Profile:
    real: dict[str, Floats] = {
        name: as_floats(table) if table.ndim == 3 else table.astype(np.float64)
        for name, table in tables.items()
    }
    return Profile(n_relevant, real["rows"][:, 0], real["hits"], real.get("gains"), real.get("ideals"))


def _joined(places: Sequence[Ints], tables: Sequence[Ints], n: int) -> Ints:
    """Add up tables, whose groups go to places of their own among n."""
    width = max(table.shape[1] for table in tables)
    found = np.zeros((n, width, *tables[0].shape[2:]), np.int64)
    flat = found.reshape(n, math.prod(found.shape[1:]))
    for own, table in zip(places, tables, strict=True):
        add_at(own, table.reshape(own.size, math.prod(table.shape[1:])), flat)
    return _carried(found)


def _less(table: Ints, n: int, at: Ints, parts: Ints) -> Ints:
    """Return n times a table, one after another, less parts at different places."""
    found = np.tile(table, (n, *(1 for _ in table.shape[1:])))
    found[at] -= parts
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
    parts, whole = terms.reshape(n, -1), over.reshape(n, -1)
    # numbers of rows add up exactly in any order
    sums = _sums(whole) if of_ideals or plan.weighted else whole.sum(axis=1).tolist()
    # rounding can raise a ratio to the ideal sum above 1
    most = 1.0 if of_ideals else math.inf
    pairs = zip(_sums(parts), sums, strict=True)
    return [min(part / all_of_it, most) if all_of_it else math.nan for part, all_of_it in pairs]


def _sums(parts: Floats) -> list[float]:
    """Return the sum of each row, rounded once."""
    return [math.fsum(part) for part in parts.tolist()]


def _limbs_of(sums: Floats) -> Ints:
    """Return split sums, float64 (slots, places, 2), in fixed point."""
    limbs = np.zeros((*sums.shape[:2], LIMBS), np.int64)
    add_split_sums(np.ascontiguousarray(sums).reshape(-1, 2), limbs.reshape(-1, LIMBS))
    return limbs


STATE = RankProfile
