"""Parts: the base class of states that count parts of the data, each with states for it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.budget import Resources
from xmleval.metrics.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.plan import Plan
from xmleval.states.relabelling import Relabelling
from xmleval.states.state import Arrays, State, States
from xmleval.view.formulas import FormulaError
from xmleval.view.view import View


class Parts(State):
    """States of parts of the data.

    A subclass defines `split` and `finish`, and fills ``parts`` in ``__init__`` or in `part`.

    parts : the states of each part, by name
    n_rows : number of rows of each part, by name
    sums : int64, counts of a subclass that are added up when states are merged
    """

    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.parts: dict[str, States] = {}
        self.n_rows: dict[str, int] = {}
        self.sums: Ints = np.zeros(0, np.int64)

    def part(self, name: str) -> States:
        """Return the states of a part."""
        return self.parts[name]

    @property
    def counted(self) -> dict[str, States]:
        """The parts to save, by name."""
        return self.parts

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield part by part the name and the rows in a block, and add to the sums."""
        raise NotImplementedError

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        n_rows = dict(self.n_rows)
        for name, rows in self.split(view):
            try:
                self.part(name).add(rows)
            except FormulaError as error:
                self.locate(error, name, view)
                raise
            n_rows[name] = n_rows.get(name, 0) + rows.n_rows
        self.n_rows = n_rows

    def locate(self, error: FormulaError, name: str, view: View) -> None:
        """Replace the row in a part, which an error has, by that in the block, if it is known."""
        error.row = None

    def merge(self, added: Parts) -> None:
        """Merge a state of other rows."""
        n_rows = dict(self.n_rows)
        for name, states in added.parts.items():
            self.part(name).merge(states)
            n_rows[name] = n_rows.get(name, 0) + added.n_rows[name]
        self.n_rows = n_rows
        self.sums = self.sums + added.sums

    def _with_parts(self, parts: dict[str, States]) -> Self:
        """Return an empty state with these parts, which are empty."""
        state = copy(self)
        state.parts = parts
        state.n_rows = dict.fromkeys(parts, 0)
        state.sums = np.zeros_like(self.sums)
        return state

    def empty(self) -> Self:
        """Return an empty state to merge with this one."""
        return self._with_parts({name: states.empty() for name, states in self.parts.items()})

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return one state per worker, this empty one first."""
        divided = {name: states.divided(n_workers, n_blocks) for name, states in self.parts.items()}
        workers = [self]
        for number in range(1, n_workers):
            parts = {name: by_worker[number] for name, by_worker in divided.items()}
            workers.append(self._with_parts(parts))
        return workers

    def behind(self, n_rows: int) -> Self:
        """Return a copy with kept row values of the parts moved behind ``n_rows`` other rows."""
        moved = super().behind(n_rows)
        moved.parts = {name: states.behind(n_rows) for name, states in self.parts.items()}
        return moved

    def discard(self) -> None:
        """Release the external resources of an unused state."""
        for states in self.parts.values():
            states.discard()

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        arrays = self.own_arrays()
        for number, states in enumerate(self.counted.values()):
            arrays |= {f"{number}/{key}": array for key, array in states.arrays().items()}
        return arrays

    def own_arrays(self) -> Arrays:
        """Return the arrays to save, without those of the parts."""
        n_rows = np.array([self.n_rows[name] for name in self.counted], np.int64)
        return {"n_rows": n_rows, "sums": self.sums}

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels."""
        arrays = self.own_arrays()
        for number, states in enumerate(self.counted.values()):
            relabelled = states.relabelled_arrays(labels)
            arrays |= {f"{number}/{key}": array for key, array in relabelled.items()}
        return arrays

    def from_contents(self, contents: Contents) -> None:
        """Restore the state, whose parts exist and are empty, from what `arrays` returned."""
        n_rows = contents.take("n_rows", len(self.parts), high=contents.n_rows).tolist()
        self.n_rows = dict(zip(self.parts, n_rows, strict=True))
        self.sums = contents.take("sums", *self.sums.shape)
        for number, (name, states) in enumerate(self.parts.items()):
            part = contents.part(f"{number}/")
            part.n_rows = self.n_rows[name]
            try:
                states.from_contents(part)
            except ValueError as error:
                raise ValueError(f"{number}/{error}") from None
