"""The protocol of all states, and what the states of one plan do together."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Self

from xmleval.plan import Plan
from xmleval.records import Block
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.threads import Work
from xmleval.view.view import View

Arrays = dict[str, Any]


class State:
    """Mergeable statistics of some rows, for the measures that read them.

    The file of a state ends with ``STATE = ItsClass``; the record of a measure names the file. States of
    disjoint rows merge to the state of all of them, to the last bit, in any order and grouping. ``update``
    and ``merge`` change nothing but the state itself; arrays that others may share are replaced. They need
    not take care of faults: whoever calls them drops the state if they fail.

    Parameters
    ----------
    plan : Plan
        What is computed.
    specs : tuple of Spec
        The measures that read this state.
    work : Work
        Memory and threads to use.
    """

    shared = False  # whether workers fill the same state

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        self.plan = plan
        self.specs = specs
        self.work = work

    @property
    def table_bytes(self) -> int:
        """Memory of what it holds whatever the number of rows."""
        return 0

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        raise NotImplementedError

    def merge(self, other: Self) -> None:
        """Add a state of other rows, which stays as it is."""
        raise NotImplementedError

    def finish(self) -> Results:
        """Return the values of the measures; the state stays as it is."""
        raise NotImplementedError

    def arrays(self) -> Arrays:
        """Return what a saved state holds."""
        raise NotImplementedError

    def from_arrays(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave, in an empty state, or raise an error."""
        raise NotImplementedError

    def empty(self) -> Self:
        """Return an empty state that is going to be merged with this one."""
        return type(self)(self.plan, self.specs, self.work)

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return states that workers may fill side by side, this empty one first.

        n_blocks : blocks of rows that they are going to count together
        """
        return [self, *(self.empty() for _ in range(n_workers - 1))]

    def spill(self) -> None:
        """Move to disk what may be there, so that who saves the state again and again writes it once."""

    def discard(self) -> None:
        """Give back what outlives the state, which nobody is going to use."""


class States:
    """The states of a plan.

    Parameters
    ----------
    plan : Plan
        What is computed.
    work : Work
        Memory and threads to use.
    states : dict of str to State, optional
        Default empty ones.
    """

    def __init__(self, plan: Plan, work: Work, states: dict[str, State] | None = None) -> None:
        self.plan = plan
        self.work = work
        if states is None:
            states = {name: state_class(name)(plan, specs, work) for name, specs in plan.states.items()}
        self._states = states

    @property
    def table_bytes(self) -> int:
        """Memory of what they hold whatever the number of rows."""
        return sum(state.table_bytes for state in self._states.values())

    @property
    def worker_bytes(self) -> int:
        """Memory of what each worker holds whatever the number of rows."""
        return sum(state.table_bytes for state in self._states.values() if not state.shared)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        view = View(block, self.plan.n_labels, self.plan.unlisted)
        for state in self._states.values():
            state.update(view)

    def merge(self, other: States) -> None:
        """Add the states of other rows, which stay as they are."""
        for name, state in self._states.items():
            if state is not other._states[name]:  # workers may share one
                state.merge(other._states[name])

    def empty(self) -> States:
        """Return empty states that are going to be merged with these."""
        return States(self.plan, self.work, {name: state.empty() for name, state in self._states.items()})

    def divided(self, n_workers: int, n_blocks: int) -> list[States]:
        """Return states that workers may fill side by side, these empty ones first."""
        parts = {name: state.divided(n_workers, n_blocks) for name, state in self._states.items()}
        return [
            self if not number else States(self.plan, self.work, {n: own[number] for n, own in parts.items()})
            for number in range(n_workers)
        ]

    def discard(self) -> None:
        """Give back what outlives the states, which nobody is going to use."""
        for state in self._states.values():
            state.discard()

    def spill(self) -> None:
        """Move to disk what may be there."""
        for state in self._states.values():
            state.spill()

    def finish(self) -> Results:
        """Return the values of the measures and what belongs to them."""
        results = Results()
        for state in self._states.values():
            results.add(state.finish())
        values = results.values
        for spec in self.plan.specs:
            if spec.metric.parts:
                parts = [values[part] for part in spec.metric.parts]
                values[spec.name] = spec.metric.value(parts, self.plan.setting(spec))
        for name, ends in results.intervals.items():  # rounding shall not leave the value outside
            results.intervals[name] = min(values[name], *ends), max(values[name], *ends)
        return results.only([spec.name for spec in self.plan.specs if spec.name not in results.left_open])

    def arrays(self) -> Arrays:
        """Return what saved states hold."""
        return {
            f"{name}/{key}": a for name, state in self._states.items() for key, a in state.arrays().items()
        }

    def from_arrays(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave, in empty states."""
        for name, state in self._states.items():
            prefix = f"{name}/"
            state.from_arrays({k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)})


def state_class(name: str) -> type[State]:
    """Return the state in a file of this folder; most evaluations need but one or two."""
    found: type[State] = importlib.import_module(f"xmleval.states.{name}").STATE
    return found


def in_row_order(chunks: Sequence[tuple[int, Any]]) -> list[Any]:
    """Return what was kept of blocks, given with the number of their first row, in the order of the rows."""
    return [kept for _, kept in sorted(chunks, key=lambda chunk: chunk[0])]
