"""LabelSets: the number of distinct label sets."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.budget import Resources
from xmleval.base.threads import map_in_turns
from xmleval.kernels.rows import HASH_GROUPS, drop_repeats, group_by_hash, hash_rows
from xmleval.metrics.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import Arrays, State
from xmleval.view.view import View

ENOUGH = 1 << 16  # fingerprints that one thread joins
ENOUGH_MERGED = 1 << 20  # fingerprints of merged states, which all threads join at the end


class LabelSets(State):
    """Distinct 128-bit fingerprints of label sets, without weights.

    Formulas receive the number of fingerprints and the number of rows. The probability that any two
    of a billion sets share a fingerprint is below 1e-20.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n_rows = 0
        self._distinct: Ints = np.empty((0, 2), np.int64)
        # joined once there are more than in `_distinct`, which keeps time linear
        self._recent: list[Ints] = []

    def fingerprints(self) -> Ints:
        """Return the distinct fingerprints, int64 (d, 2), in any order."""
        if not self._recent:
            return self._distinct
        return self._join(self.resources.threads)

    def _join(self, threads: int = 1) -> Ints:
        """Return all fingerprints without repeats."""
        rows = np.concatenate([self._distinct, *self._recent])
        starts = np.empty(HASH_GROUPS + 1, np.int64)
        grouped = np.empty_like(rows)
        group_by_hash(rows, starts, grouped)  # repeats are in the same group

        def find_distinct(group: int) -> Ints:
            members = grouped[starts[group] : starts[group + 1]]
            distinct = np.empty_like(members)
            return distinct[: drop_repeats(members, distinct)]

        if len(rows) <= ENOUGH:
            threads = 1
        return np.concatenate(map_in_turns(find_distinct, range(HASH_GROUPS), threads))

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        truth = view.block.truth
        fingerprints = np.empty((view.n_rows, 2), np.int64)
        hash_rows(truth.ptr, truth.labels, fingerprints)
        self._add([fingerprints], view.n_rows, ENOUGH)

    def merge(self, added: LabelSets) -> None:
        """Merge a state of other rows."""
        self._add([added._distinct, *added._recent], added.n_rows, ENOUGH_MERGED)

    def _add(self, recent: list[Ints], n_rows: int, limit: int) -> None:
        """Add fingerprints, and remove repeats once too many have accumulated."""
        self._recent = [*self._recent, *filter(len, recent)]
        self.n_rows = self.n_rows + n_rows
        if sum(map(len, self._recent)) > max(len(self._distinct), limit):
            self._distinct = self._join()
            self._recent = []

    def finish(self) -> Results:
        """Return the values of the measures."""
        sizes = len(self.fingerprints()), self.n_rows
        results = Results()
        for spec in self.specs:
            results.values[spec.name] = spec.metric.value(sizes, self.plan.setting(spec))
        return results

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        fingerprints = self.fingerprints()
        return {"fingerprints": fingerprints[np.lexsort(fingerprints.T)]}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows = contents.n_rows
        self._distinct = contents.take("fingerprints", None, 2, low=None)


STATE = LabelSets
