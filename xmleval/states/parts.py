"""Parts: states of parts of the data, each like the states of a whole evaluation."""

from __future__ import annotations

from copy import copy
from typing import Self

from xmleval.budget import Resources
from xmleval.plan import Plan
from xmleval.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.state import Arrays, State, States


class Parts(State):
    """States of parts of the data, by name; ``n_rows`` is the number of rows of each."""

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Resources) -> None:
        super().__init__(plan, specs, work)
        self.parts: dict[str, States] = {}
        self.n_rows: dict[str, int] = {}

    def part(self, name: str) -> States:
        """Return the states of a part."""
        return self.parts[name]

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return sum(states.table_bytes for states in self.parts.values())

    @property
    def worker_bytes(self) -> int:
        """Size of the tables of each worker in bytes, independent of the number of rows."""
        return sum(states.worker_bytes for states in self.parts.values())

    def merge(self, other: Parts) -> None:
        """Merge a state of other rows."""
        n_rows = dict(self.n_rows)
        for name, states in other.parts.items():
            self.part(name).merge(states)
            n_rows[name] = n_rows.get(name, 0) + other.n_rows[name]
        self.n_rows = n_rows

    def _with(self, parts: dict[str, States]) -> Self:
        """Return the state with other parts, which are empty."""
        found = copy(self)
        found.parts, found.n_rows = parts, dict.fromkeys(parts, 0)
        return found

    def empty(self) -> Self:
        """Return an empty state to merge with this one."""
        return self._with({name: states.empty() for name, states in self.parts.items()})

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return one state per worker, this empty one first; ``n_blocks`` blocks will be counted in total."""
        own = {name: states.divided(n_workers, n_blocks) for name, states in self.parts.items()}
        others = range(1, n_workers)
        return [self, *(self._with({name: several[n] for name, several in own.items()}) for n in others)]

    def discard(self) -> None:
        """Release the external resources of an unused state."""
        for states in self.parts.values():
            states.discard()

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return self._arrays(loose=False)

    def loose(self) -> Arrays:
        """Return arrays for a process that merges them."""
        return self._arrays(loose=True)

    def _arrays(self, loose: bool) -> Arrays:
        raise NotImplementedError

    def arrays_of(self, parts: dict[str, States], loose: bool) -> Arrays:
        """Return the arrays of parts to save, by their numbers."""
        found = (states.arrays(loose) for states in parts.values())
        return {f"{number}/{key}": a for number, own in enumerate(found) for key, a in own.items()}

    def restore(self, contents: Contents) -> None:
        """Restore the states of the parts, whose names and numbers of rows are known."""
        for number, (name, states) in enumerate(self.parts.items()):
            own = contents.part(f"{number}/")
            own.n_rows = self.n_rows[name]
            try:
                states.from_contents(own)
            except ValueError as error:
                raise ValueError(f"{number}/{error}") from None
