"""Jackknife: the states of each jackknife group of the rows, for values without one group each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from xmleval.budget import Resources, size_text
from xmleval.errors import InputError, Keyword, Message
from xmleval.kernels.jackknife import N_GROUPS, find_groups
from xmleval.plan import Plan
from xmleval.records import Block, Floats, Ints, known_of
from xmleval.results import Results
from xmleval.states.contents import Contents
from xmleval.states.state import Arrays, State, States, state_class
from xmleval.view.parts import part_of
from xmleval.view.view import View

GROUP = "group"  # what is known of a truth


class Jackknife(States):
    """The states of a plan, apart for each jackknife group; the values of all rows are those of their merge.

    Rows are in the group of their number in the whole data, or of their cluster. States that
    know groups, and those of measures without a standard error, are counted for all rows together. Tables may
    take ``memory``, by default that of ``work``.
    """

    def __init__(self, plan: Plan, work: Resources, memory: int | None = None) -> None:
        of_groups = [
            name
            for name, specs in plan.states.items()
            if any(s.smooth for s in specs) and not state_class(name).by_group
        ]
        whole = [name for name in plan.states if name not in of_groups]
        super().__init__(plan, work, _states_of(plan, whole, work))
        share = Resources(max(1, work.memory // N_GROUPS), work.threads)
        self.groups = [States(plan, share, _states_of(plan, of_groups, share)) for _ in range(N_GROUPS)]
        self.n_rows: Ints = np.zeros(N_GROUPS, np.int64)
        self.n_weighing: Ints = np.zeros(N_GROUPS, np.int64)  # rows with a positive weight
        n_bytes = N_GROUPS * self.groups[0].table_bytes
        if n_bytes > (memory or work.memory):
            takes = f"tables of {N_GROUPS} groups of rows take {size_text(n_bytes)}"
            needs = f"{takes}, more than the {size_text(memory or work.memory)} that "
            fix = " leaves them; give more, or fewer measures over labels"
            raise InputError("confidence", Message(needs, Keyword("memory"), fix))

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return super().table_bytes + N_GROUPS * self.groups[0].table_bytes

    @property
    def worker_bytes(self) -> int:
        """Size of the tables of each worker in bytes, independent of the number of rows."""
        return super().worker_bytes + N_GROUPS * self.groups[0].worker_bytes

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if block.jackknife is None:
            known = known_of(block)
            if GROUP not in known:
                group = np.empty(block.truth.ptr.size - 1, np.uint8)
                find_groups(np.arange(block.first_row, block.first_row + group.size), group)
                known[GROUP] = group
            block = block._replace(jackknife=known[GROUP])
        super().update(block)

    def add(self, view: View) -> None:
        """Add the rows of a view."""
        super().add(view)
        if self.groups[0]._states:
            rows, starts = view.group_order
            for group, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
                if start < stop:
                    self.groups[group].add(part_of(view, rows[start:stop]))
        whole = view.block.weight is None
        self.n_rows = self.n_rows + (
            view.n_weighing if whole else np.bincount(view.jackknife, minlength=N_GROUPS)
        )
        self.n_weighing = self.n_weighing + view.n_weighing

    def merge(self, other: States) -> None:
        """Merge the states of other rows, which are unchanged."""
        assert isinstance(other, Jackknife)
        super().merge(other)
        for own, others in zip(self.groups, other.groups, strict=True):
            own.merge(others)
        self.n_rows = self.n_rows + other.n_rows
        self.n_weighing = self.n_weighing + other.n_weighing

    def behind(self, n_rows: int) -> States:
        """Return the same states, but with ``n_rows`` other rows before those that are kept."""
        return self._with(super().behind(n_rows), self.groups, self.n_rows, self.n_weighing)

    def empty(self) -> States:
        """Return empty states to merge with these."""
        none = np.zeros(N_GROUPS, np.int64)
        return self._with(super().empty(), [own.empty() for own in self.groups], none, none)

    def divided(self, n_workers: int, n_blocks: int) -> list[States]:
        """Return the states of each worker, these empty ones first."""
        parts = zip(*(own.divided(n_workers, n_blocks) for own in self.groups), strict=True)
        whole = super().divided(n_workers, n_blocks)
        rows = self.n_rows, self.n_weighing  # none yet
        others = [self._with(own, groups, *rows) for own, groups in zip(whole, parts, strict=True)]
        return [self, *others[1:]]

    def _with(self, whole: States, groups: Sequence[States], n_rows: Ints, n_weighing: Ints) -> Jackknife:
        found = copy(self)
        found._states, found.groups, found.n_rows = whole._states, [*groups], n_rows
        found.n_weighing = n_weighing
        return found

    def discard(self) -> None:
        """Release the external resources of unused states."""
        super().discard()
        for own in self.groups:
            own.discard()

    def finish(self) -> Results:
        """Return the results of all measures, and their values without one jackknife group each."""
        together = {name: state.empty() for name, state in self.groups[0]._states.items()}
        for name, state in together.items():
            state.work = self.work  # not the share of a jackknife group
            for own in self.groups:
                state.merge(own._states[name])
        states = {name: self._states.get(name) or together[name] for name in self.plan.states}
        filled = [own for own, n_rows in zip(self.groups, self.n_weighing, strict=True) if n_rows]
        of_groups: dict[str, Floats] = {}
        if len(filled) > 1:  # before the values of all rows, which may come from the same sweep
            for name, state in together.items():
                of_groups |= state.replicates([own._states[name] for own in filled])
        results = States(self.plan, self.work, states).results(of_groups)
        smooth = [s.name for s in self.plan.specs if s.smooth and s.name in results.values]
        results.replicates = {name: results.replicates[name] for name in smooth if len(filled) > 1}
        return results

    def arrays(self, loose: bool = False) -> Arrays:
        """Return the arrays to save, or ``loose`` ones, for a process that merges them."""
        out = {**super().arrays(loose), "group_rows": self.n_rows, "group_weighing": self.n_weighing}
        for number, own in enumerate(self.groups):
            out |= {f"group{number}/{name}": array for name, array in own.arrays(loose).items()}
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore empty states from what `arrays` returned."""
        self.n_rows = contents.take("group_rows", N_GROUPS, most=contents.n_rows)
        self.n_weighing = contents.take("group_weighing", N_GROUPS)
        for number, own in enumerate(self.groups):
            part = contents.part(f"group{number}/")
            part.n_rows = int(self.n_rows[number])
            try:
                own.from_contents(part)
            except ValueError as error:
                raise ValueError(f"group{number}/{error}") from None
        super().from_contents(contents)


def new_states(plan: Plan, work: Resources, memory: int | None = None) -> States:
    """Return the empty states of a plan; those of groups may take ``memory``, or that of ``work``."""
    return States(plan, work) if plan.confidence is None else Jackknife(plan, work, memory)


def _states_of(plan: Plan, names: Iterable[str], work: Resources) -> dict[str, State]:
    return {name: state_class(name)(plan, plan.states[name], work) for name in names}
