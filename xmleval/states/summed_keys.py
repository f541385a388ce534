"""SummedKeys: the base class of states that hold exact sums of weights by key, beyond memory in files."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from xmleval.kernels.weight_sums import SUM
from xmleval.plan import Plan
from xmleval.pooled.weight_sums import KeySums
from xmleval.records import Ints
from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.state import Arrays, State
from xmleval.threads import Work

TOTALS = "totals"


class SummedKeys(State):
    """Sums by key in ``sums``, by name, which a subclass fills."""

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        self._share = work.budget.summed()  # bytes that updates may hold
        self.sums: dict[str, KeySums] = {}

    @property
    def held_bytes(self) -> int:
        """Size of the sums in memory."""
        return sum(sums.n_bytes for sums in self.sums.values())

    def spill_beyond(self, share: int) -> None:
        """Spill the sums in memory if they are larger."""
        if self.held_bytes > share:
            self.spill()

    def merge(self, other: Self) -> None:
        """Merge a state of other rows."""
        for name, sums in self.sums.items():
            sums.merge(other.sums[name])
        self.spill_beyond(self.work.budget.summed())

    def empty(self) -> Self:
        """Return an empty state to merge with this one."""
        found = super().empty()
        found._share = self.work.budget.summed(self.held_bytes)
        return found

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return one state per worker, this empty one first."""
        parts = super().divided(n_workers, n_blocks)
        share = self._share // n_workers
        for part in parts:
            part._share = share
        return parts

    def spill(self) -> None:
        """Spill the sums in memory, so that repeated saves write them once."""
        for sums in self.sums.values():
            sums.spill()

    def discard(self) -> None:
        """Release the files of spilled sums."""
        for sums in self.sums.values():
            sums.runs = []

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {
            f"{name}.{part}": array
            for name, sums in self.sums.items()
            for part, array in sums.arrays().items()
        }

    @property
    def all_totals(self) -> Ints:
        """The total of each name, to be saved where nothing else tells that a part of the sums is missing."""
        return np.array([sums.total for sums in self.sums.values()])

    def check_totals(self, contents: Contents) -> None:
        """Refuse sums whose totals are not the saved ones."""
        totals = contents.take(TOTALS, len(self.sums), SUM, least=None)
        expect(np.array_equal(totals, self.all_totals), f"{TOTALS} is not that of the sums")

    def restore(self, contents: Contents, name: str, low: list[int], high: list[int]) -> None:
        """Restore the sums of a name, whose keys and sums lie within what is given."""
        for part in ("held", "run"):
            for key in contents.numbered(f"{name}.{part}"):
                vector: Any = contents.take_chunks(key)
                self.sums[name].restore(vector, part == "run", low, high)
                self.spill_beyond(self.work.budget.summed())
