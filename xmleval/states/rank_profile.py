"""RankProfile: hits by number of relevant labels and rank, for every measure linear in the hits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.exact import NO_WEIGHT, Commit, as_floats, saved
from xmleval.kernels.fixed import LIMBS, carry
from xmleval.kernels.gains import WIDTH, group_rows, sum_leading_gains
from xmleval.kernels.profiles import (
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
from xmleval.records import Floats, Ints, Propensity
from xmleval.view.view import View


class Profile(NamedTuple):
    """What finalisers see: groups of instances with equally many relevant labels, or single instances.

    n_relevant : int64 (g,); weight : float64 (g,), instances of each group or their weights;
    hits : float64 (g, depth), weight of hits at each rank; gains, ideals : the same for propensities of
    hits, and of the best labels, or None without propensities.
    """

    n_relevant: Ints
    weight: Floats
    hits: Floats
    gains: Floats | None
    ideals: Floats | None


class RankProfile:
    """Tables over (number of relevant labels R that occurs, rank).

    Parameters
    ----------
    depth : int
        Deepest rank that counts; tables are only as wide as the deepest hit.
    propensity : Propensity or None
        Inverse propensities, where weighted gains are wanted.
    weighted : bool
        Whether instances have weights: then hits and rows are fixed-point sums as well.
    keep : bool
        Whether to keep each instance's own hits.
    """

    def __init__(
        self, depth: int, propensity: Propensity | None = None, weighted: bool = False, keep: bool = False
    ) -> None:
        self.depth = depth
        self.propensity = propensity
        self.weighted = weighted
        self.keep = keep
        self.n_relevant: Ints = np.empty(0, np.int64)
        cell = (LIMBS,) if weighted else ()
        self.tables: dict[str, Ints] = {
            "rows": np.zeros((0, 1, *cell), np.int64),
            "hits": np.zeros((0, 0, *cell), np.int64),
        }
        if propensity is not None:
            self.tables["gains"] = np.zeros((0, 0, LIMBS), np.int64)
            self.tables["ideals"] = np.zeros((0, 0, LIMBS), np.int64)
        self.n_empty = 0  # rows without relevant labels, whatever they weigh
        self.kept: list[tuple[int, Profile]] = []

    def prepare(self, view: View) -> Commit:
        """Count a block."""
        per_size = np.bincount(view.n_relevant, minlength=1)
        present = np.flatnonzero(per_size)
        slots = np.zeros(per_size.size, np.int64)
        slots[present] = np.arange(present.size)
        widest = min(self.depth, int(present.max(initial=0)))
        found = {"rows": per_size[present][:, None]}
        if self._splits(view.n_rows):
            hits, gains, ideals = self._sum_split(view, per_size[present], slots, widest)
            found |= {"hits": hits, "gains": _limbs_of(gains), "ideals": _limbs_of(ideals)}
        else:
            found |= self._sum_limbs(view, present.size, slots, widest)
        hits = found["hits"]
        deepest = int(np.flatnonzero(hits.any(axis=(0, *range(2, hits.ndim)))).max(initial=-1)) + 1
        found |= {name: found[name][:, :deepest] for name in ("hits", "gains") if name in found}
        own = [(view.block.first_row, self._own(view))] if self.keep and view.n_rows else []
        return self._take(present, found, int(per_size[0]), own)

    def _width(self, view: View) -> int:
        """Return the deepest rank that counts."""
        return min(self.depth, int(view.ranks.max(initial=0)))

    def _splits(self, n_rows: int) -> bool:
        """Tell whether the faster sums of gains are exact for so many rows."""
        if self.weighted or self.propensity is None or self.propensity.least < 1.0:
            return False
        return n_rows < MOST_TERMS and n_rows * self.propensity.most < LARGEST_SUM

    def _sum_split(self, view: View, n_rows: Ints, slots: Ints, widest: int) -> tuple[Ints, Floats, Floats]:
        """Return hits, gains and ideals in split sums; ``n_rows`` of each slot."""
        assert self.propensity is not None
        ptr, labels = view.block.truth
        ideals = np.zeros((n_rows.size, widest, 2))
        width = min(self.depth, longest_row(view.ranking.ptr))
        if view.ranking.ordered and view.unlisted is None and max(width, widest) <= WIDTH:
            hits, gains = np.zeros((n_rows.size, width), np.int64), np.zeros((n_rows.size, width, 2))
            group_ptr = np.concatenate([[0], np.cumsum(n_rows)])
            order = np.empty(view.n_rows, np.int64)
            group_rows(view.n_relevant, group_ptr[slots], order)
            sum_leading_gains(
                ptr, labels, view.ranking.ptr, view.ranking.labels, order, group_ptr,
                self.propensity.values, hits, gains, ideals,
            )  # fmt: skip
            return hits, gains, ideals
        width = self._width(view)
        hits = np.zeros((n_rows.size, width + 1), np.int64)
        gains = np.zeros((n_rows.size, width + 1, 2))
        count_hits(ptr, view.ranks, slots, hits)
        sum_exact_gains(ptr, labels, view.ranks, slots, self.propensity.values, gains, ideals)
        return hits[:, 1:], gains[:, 1:], ideals

    def _sum_limbs(self, view: View, n_slots: int, slots: Ints, widest: int) -> dict[str, Ints]:
        """Return hits, and gains and ideals in fixed point; with weights, hits and rows as well."""
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

    def prepare_merge(self, other: RankProfile) -> Commit:
        """Add another state of the same depth and propensities."""
        return self._take(other.n_relevant, other.tables, other.n_empty, other.kept)

    def _take(
        self, n_relevant: Ints, found: dict[str, Ints], n_empty: int, kept: list[tuple[int, Profile]]
    ) -> Commit:
        tables: dict[str, Ints] = {}
        both = np.union1d(self.n_relevant, n_relevant)
        mine, theirs = np.searchsorted(both, self.n_relevant), np.searchsorted(both, n_relevant)
        for name, old in self.tables.items():
            new = found[name]
            width = max(old.shape[1], new.shape[1])
            table = np.zeros((both.size, width, *old.shape[2:]), np.int64)
            table[mine, : old.shape[1]] = old
            table[theirs, : new.shape[1]] += new
            if table.ndim == 3:
                carry(table.reshape(-1, LIMBS))
            tables[name] = table
        all_kept, n_empty = [*self.kept, *kept], self.n_empty + n_empty

        def commit() -> None:
            self.n_relevant, self.tables, self.n_empty, self.kept = both, tables, n_empty, all_kept

        return commit

    def _own(self, view: View) -> Profile:
        """Return the profile of every single instance of a block."""
        ptr, labels = view.block.truth
        n = view.n_rows
        propensity = NO_WEIGHT if self.propensity is None else self.propensity.values
        hits = np.zeros((n, self._width(view)))
        gains = np.zeros(hits.shape if propensity.size else (0, 0))
        keep_hits(ptr, labels, view.ranks, propensity, hits, gains)
        return Profile(view.n_relevant, np.ones(n), hits, gains if propensity.size else None, None)

    def profile(self) -> Profile:
        """Return the tables of all instances counted."""
        tables: dict[str, Floats] = {
            name: as_floats(table) if table.ndim == 3 else table.astype(np.float64)
            for name, table in self.tables.items()
        }
        return Profile(
            self.n_relevant, tables["rows"][:, 0], tables["hits"], tables.get("gains"), tables.get("ideals")
        )

    def rows(self) -> Profile:
        """Return the kept profiles of single instances, in row order."""
        chunks = [chunk for _, chunk in sorted(self.kept, key=lambda item: item[0])]
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

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        out: dict[str, Ints | Floats] = {"n_relevant": self.n_relevant, **self.tables}
        out["n_empty"] = np.array([self.n_empty])
        for number, (first_row, own) in enumerate(self.kept):
            out[f"kept{number}.{first_row}.n_relevant"] = own.n_relevant
            out[f"kept{number}.{first_row}.hits"] = own.hits
            if own.gains is not None:
                out[f"kept{number}.{first_row}.gains"] = own.gains
        return out

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        self.n_relevant = saved(arrays, "n_relevant", None)
        if (np.diff(self.n_relevant, prepend=-1) <= 0).any():
            raise ValueError("n_relevant does not rise")
        self.tables = {
            name: saved(arrays, name, self.n_relevant.size, 1 if name == "rows" else None, *table.shape[2:])
            for name, table in self.tables.items()
        }
        self.n_empty = int(saved(arrays, "n_empty", 1)[0])
        self.kept = []
        for name, n_relevant in arrays.items():
            if name.startswith("kept") and name.endswith(".n_relevant"):
                stem = name.removesuffix("n_relevant")
                gains = arrays.get(stem + "gains")
                own = Profile(
                    n_relevant=n_relevant.astype(np.int64),
                    weight=np.ones(n_relevant.size),
                    hits=arrays[stem + "hits"].astype(np.float64),
                    gains=None if gains is None else gains.astype(np.float64),
                    ideals=None,
                )
                self.kept.append((int(stem.split(".")[1]), own))


def _limbs_of(sums: Floats) -> Ints:
    """Return split sums, float64 (slots, places, 2), in fixed point."""
    limbs = np.zeros((*sums.shape[:2], LIMBS), np.int64)
    add_split_sums(np.ascontiguousarray(sums).reshape(-1, 2), limbs.reshape(-1, LIMBS))
    return limbs
