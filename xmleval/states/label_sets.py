"""LabelSets: the number of distinct label sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.budget import Resources
from xmleval.kernels.rows import HASH_GROUPS, drop_repeats, group_by_hash, hash_rows
from xmleval.plan import Plan
from xmleval.records import Ints
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.state import Arrays, State
from xmleval.threads import map_in_turns
from xmleval.view.view import View

ENOUGH = 1 << 16
MOST_PARTS = 16


class Grouped(NamedTuple):
    """Grouped fingerprints, see `kernels.rows.group_by_hash`."""

    starts: Ints
    rows: Ints

    @classmethod
    def of(cls, rows: Ints) -> Grouped:
        """Group fingerprints."""
        found = cls(np.empty(HASH_GROUPS + 1, np.int64), np.empty_like(rows))
        group_by_hash(rows, *found)
        return found


class LabelSets(State):
    """Distinct 128-bit fingerprints of label sets; formulas receive their number and that of the rows.

    The probability that any two of a billion sets share a fingerprint is below 1e-20.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Resources) -> None:
        super().__init__(plan, specs, work)
        self.n_rows = 0
        self._distinct: list[Grouped] = []  # each without duplicates; several after merges
        self._recent: list[Ints] = []  # joined once larger than the others, which keeps time linear

    def fingerprints(self) -> Ints:
        """Return the distinct fingerprints, int64 (d, 2), in any order."""
        if not self._recent and len(self._distinct) == 1:
            return self._distinct[0].rows
        return self._joined(self.work.threads).rows

    def _joined(self, threads: int = 1) -> Grouped:
        return _without_repeats([*self._distinct, *map(Grouped.of, _whole(self._recent))], threads)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        truth = view.block.truth
        found = np.empty((view.n_rows, 2), np.int64)
        hash_rows(truth.ptr, truth.labels, found)
        self._add([], [found] if view.n_rows else [], view.n_rows, ENOUGH)

    def merge(self, other: LabelSets) -> None:
        """Merge a state of other rows."""
        self._add(other._distinct, other._recent, other.n_rows, MOST_PARTS * ENOUGH)

    def _add(self, distinct: list[Grouped], recent: list[Ints], n_rows: int, most: int) -> None:
        """Add fingerprints, and remove duplicates once too many have accumulated."""
        self._distinct, self._recent = [*self._distinct, *distinct], [*self._recent, *recent]
        self.n_rows += n_rows
        n_distinct = sum(len(part.rows) for part in self._distinct)
        if len(self._distinct) > MOST_PARTS or sum(map(len, self._recent)) > max(n_distinct, most):
            self._distinct, self._recent = [self._joined()], []
        elif len(self._recent) > MOST_PARTS:
            self._recent = _whole(self._recent)

    def finish(self) -> Results:
        """Return the values of the formulas."""
        sizes = len(self.fingerprints()), self.n_rows
        return Results(values={s.name: s.metric.value(sizes, self.plan.setting(s)) for s in self.specs})

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        found = self.fingerprints()
        return {"fingerprints": found[np.lexsort(found.T)], "n_rows": np.array([self.n_rows])}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows = contents.n_rows
        contents.take("n_rows", 1, least=self.n_rows, most=self.n_rows)
        found: Ints = contents.take("fingerprints", None, 2, least=None)
        (low, high), (next_low, next_high) = found[:-1].T, found[1:].T
        rising = (high < next_high) | ((high == next_high) & (low < next_low))
        expect(bool(rising.all()), "fingerprints are not rising")
        fits = min(1, self.n_rows) <= len(found) <= self.n_rows
        expect(fits, f"{len(found)} label sets of {self.n_rows} rows")
        self._distinct, self._recent = [Grouped.of(found)], []


def _whole(parts: list[Ints]) -> list[Ints]:
    """Concatenate arrays to a list of at most one."""
    return [np.concatenate(parts)] if parts else []


def _without_repeats(parts: list[Grouped], threads: int = 1) -> Grouped:
    """Merge grouped fingerprints and drop duplicates, group by group."""

    def of_group(group: int) -> Ints:
        nothing = np.empty((0, 2), np.int64)
        own = [part.rows[part.starts[group] : part.starts[group + 1]] for part in parts]
        rows = np.concatenate([nothing, *own])
        distinct = np.empty_like(rows)
        return distinct[: drop_repeats(rows, distinct)]

    n_rows = sum(len(part.rows) for part in parts)
    found = map_in_turns(of_group, range(HASH_GROUPS), threads if n_rows > ENOUGH else 1)
    return Grouped(np.cumsum([0, *map(len, found)]), np.concatenate(found))


STATE = LabelSets
