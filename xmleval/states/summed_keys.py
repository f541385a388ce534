"""SummedKeys: the base class of states with sums of weights by key, spilled to files if large."""

from __future__ import annotations

from typing import Self

from xmleval.base.arrays import bytes_of
from xmleval.base.budget import Resources
from xmleval.metrics.spec import Spec
from xmleval.pooled.weight_sums import KeySums
from xmleval.states.contents import Contents
from xmleval.states.plan import Plan
from xmleval.states.state import Arrays, State


class SummedKeys(State):
    """Sums of weights by key.

    sums : the sums, by name, which a subclass creates and fills
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self._share = resources.summed()  # bytes in memory above which updates spill
        self.sums: dict[str, KeySums] = {}

    @property
    def held_bytes(self) -> int:
        """Size of the sums in memory, in bytes."""
        return bytes_of([sums.tables for sums in self.sums.values()])

    def spill_beyond(self, share: int) -> None:
        """Spill sums larger than ``share`` bytes, so that repeated saves write them once."""
        if self.held_bytes > share:
            for sums in self.sums.values():
                sums.spill()

    def merge(self, added: Self) -> None:
        """Merge a state of other rows."""
        for name, sums in self.sums.items():
            sums.merge(added.sums[name])
        self.spill_beyond(self.resources.summed())

    def empty(self) -> Self:
        """Return an empty state to merge with this one."""
        state = super().empty()
        state._share = self.resources.summed(self.held_bytes)
        return state

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return one state per worker, this empty one first."""
        parts = super().divided(n_workers, n_blocks)
        share = self._share // n_workers
        for part in parts:
            part._share = share
        return parts

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

    def from_contents(self, contents: Contents) -> None:
        """Restore the sums from what `arrays` returned."""
        for name, sums in self.sums.items():
            sums.restore(contents.take_chunks(f"{name}.held"), False)
            for run in contents.numbered(f"{name}.run"):
                sums.restore(contents.take_chunks(run), True)
            self.spill_beyond(self.resources.summed())
