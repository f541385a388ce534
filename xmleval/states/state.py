"""The base class of states, and the collection of the states of one plan."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources, size_text
from xmleval.base.errors import InputError, Keyword, Message
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.kept_rows import KeptRows
from xmleval.states.plan import ROW_GROUPS, Plan
from xmleval.states.results import Results
from xmleval.view.block import Block
from xmleval.view.view import View, in_groups

Arrays = dict[str, Any]
MOST_CELLS = 1 << 62  # rows times labels that cannot be counted: sums of two smaller counts fit in 64 bits
MOST_LOSSES = MOST_CELLS >> 6  # cells whose losses, below 2^6 each, cannot be added up
JACKKNIFE = "jackknife"  # the state of those that are counted apart for each jackknife group


class State:
    """Mergeable statistics of rows, for the measures that read them.

    The module of a state ends with ``STATE = ItsClass``; metric records name the module. Merging states of
    disjoint rows in any order and grouping gives the bits of the state of all rows. ``update`` and ``merge``
    change only the state itself and replace arrays that others may share; if they fail, the caller drops it.

    specs : the measures that read this state
    """

    by_group = False  # whether it gives replicates itself where rows are in jackknife groups
    shared = False  # whether workers fill the same state
    of_labels = False  # whether it counts labels, or entries, over all rows
    with_unknown = False  # whether it takes predictions with unknown labels
    table_bytes = 0  # size of the tables that a state promises to take, however many rows it counts
    parts: Mapping[str, States] = MappingProxyType({})  # states of parts of the data
    kept = KeptRows()  # values of rows

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        self.plan = plan
        self.specs = specs
        self.resources = resources

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the number of cells, rows times labels, that is too many for its counts; None without."""
        return None

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        raise NotImplementedError

    def merge(self, added: Self) -> None:
        """Merge a state of other rows, which is unchanged."""
        raise NotImplementedError

    def finish(self) -> Results:
        """Return the values of the measures; the state is unchanged."""
        raise NotImplementedError

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        raise NotImplementedError

    def from_contents(self, contents: Contents) -> None:
        """Restore an empty state from what `arrays` returned; raise ValueError if any is invalid.

        What is accepted can be merged and finished.
        """
        raise NotImplementedError

    def empty(self) -> Self:
        """Return an empty state to merge with this one."""
        return type(self)(self.plan, self.specs, self.resources)

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return one state per worker, this empty one first; ``n_blocks`` blocks will be counted in total."""
        return [self, *(self.empty() for _ in range(n_workers - 1))]

    def discard(self) -> None:
        """Release the external resources of an unused state."""

    def replicates(self, groups: Sequence[Self]) -> dict[str, Floats]:
        """Return the values of this state without each group that it was merged from, float64 (n,)."""
        values = [state.finish().values for state in _without_each(self, groups)]
        return {name: np.array([of_rest[name] for of_rest in values]) for name in values[0]}


def _without_each(empty: State, groups: Sequence[State], outside: Sequence[State] = ()) -> Iterator[State]:
    """Yield, for each jackknife group, the merge of all others; halving them takes n log n merges."""
    if len(groups) == 1:
        yield merged_of(empty, outside)
        return
    half = len(groups) // 2
    for inside, left in ((groups[:half], groups[half:]), (groups[half:], groups[:half])):
        yield from _without_each(empty, inside, [merged_of(empty, [*outside, *left])])


def merged_of(like: State, states: Sequence[State]) -> State:
    """Return the merge of states, which are unchanged."""
    merged = like.empty()
    for state in states:
        merged.merge(state)
    return merged


class States:
    """The states of a plan.

    states : the states; default empty ones
    """

    def __init__(self, plan: Plan, resources: Resources, states: dict[str, State] | None = None) -> None:
        self.plan = plan
        self.resources = resources
        if states is None:
            of_groups = plan.label_groups is not None, "row_groups" in plan.inputs  # with scores of their own
            share = (
                resources
                if plan.confidence
                else resources._replace(memory=max(1, resources.memory // (1 + sum(of_groups))))
            )
            specs_of = plan.states if plan.confidence is None else of_whole(plan)
            states = {name: state_class(name)(plan, specs, share) for name, specs in specs_of.items()}
        self._states = states

    def __getitem__(self, name: str) -> State:
        """Return a state by its name."""
        return self._states[name]

    def __contains__(self, name: str) -> bool:
        """Return whether there is a state of a name."""
        return name in self._states

    def __iter__(self) -> Iterator[State]:
        """Iterate over the states."""
        return iter(self._states.values())

    @property
    def row_groups(self) -> frozenset[str]:
        """Names of the groups of rows."""
        return frozenset(getattr(self._states.get(ROW_GROUPS), "parts", ()))

    def expect(self, row_groups: Iterable[str]) -> None:
        """Make room for groups of rows that are to come."""
        if ROW_GROUPS in self._states:
            self._states[ROW_GROUPS].expect(row_groups)  # type: ignore[attr-defined]

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        block = block if self.plan.confidence is None else in_groups(block)
        self.add(View(block, self.plan.n_labels, self.plan.unlisted))

    def add(self, view: View) -> None:
        """Add the rows of a view."""
        inside = view.inside if view.block.unknown else view
        for state in self._states.values():
            state.update(view if state.with_unknown else inside)

    def merge(self, added: States) -> None:
        """Merge the states of other rows, which are unchanged."""
        for name, state in self._states.items():
            if state is not added._states[name]:  # workers may share one
                state.merge(added._states[name])

    def behind(self, n_rows: int) -> States:
        """Return the same states, but with ``n_rows`` other rows before those that are kept."""
        moved = {name: copy(state) for name, state in self._states.items()}
        for state in moved.values():
            state.kept = state.kept.behind(n_rows)
        return States(self.plan, self.resources, moved)

    def empty(self) -> States:
        """Return empty states to merge with these."""
        return States(
            self.plan, self.resources, {name: state.empty() for name, state in self._states.items()}
        )

    def divided(self, n_workers: int, n_blocks: int) -> list[States]:
        """Return the states of each worker, these empty ones first."""
        parts = {name: state.divided(n_workers, n_blocks) for name, state in self._states.items()}
        return [
            self
            if not number
            else States(self.plan, self.resources, {n: states[number] for n, states in parts.items()})
            for number in range(n_workers)
        ]

    def discard(self) -> None:
        """Release the external resources of unused states."""
        for state in self._states.values():
            state.discard()

    def finish(self) -> Results:
        """Return the results of all measures."""
        first, *remaining = self._states.values()
        results = first.finish()
        for state in remaining:
            results.add(state.finish())
        values, names = results.values, list[str]()
        for spec in self.plan.specs:
            if spec.name not in results.not_computed:
                names.append(spec.name)
            if spec.metric.parts:
                parts = [values[part] for part in spec.metric.parts]
                values[spec.name] = spec.metric.value(parts, self.plan.setting(spec))
                columns = [results.replicates.get(part) for part in spec.metric.parts]
                if not any(column is None for column in columns):
                    results.replicates[spec.name] = np.array(
                        [
                            spec.metric.value([*row], self.plan.setting(spec))
                            for row in zip(*columns, strict=True)
                        ]
                    )
        for name, ends in results.intervals.items():  # rounding may put the value outside
            results.intervals[name] = min(values[name], *ends), max(values[name], *ends)
        if results.replicates:
            smooth = {spec.name for spec in self.plan.specs if spec.smooth}
            results.replicates = {n: r for n, r in results.replicates.items() if n in smooth and r.size > 1}
        results.keep_only(names)
        return results

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        arrays = {name: state.arrays() for name, state in self._states.items()}
        return {f"{name}/{key}": array for name, of in arrays.items() for key, array in of.items()}

    def from_contents(self, contents: Contents) -> None:
        """Restore empty states from what `arrays` returned."""
        for name, state in self._states.items():
            part = contents.part(f"{name}/")
            try:
                state.from_contents(part)
                part.done()
            except ValueError as error:
                raise ValueError(f"{name}/{error}") from None
        contents.done()


def table_bytes(states: Iterable[State], is_shared: bool = True) -> int:
    """Return the size of the tables of states and their parts, without those that workers share if asked."""
    of_parts = [table_bytes(part, is_shared) for state in states for part in state.parts.values()]
    return sum(of_parts) + sum(state.table_bytes for state in states if is_shared or not state.shared)


def new_states(plan: Plan, resources: Resources) -> States:
    """Return the empty states of a plan; refuse tables of groups that exceed the memory."""
    states = States(plan, resources)
    if plan.confidence is None or JACKKNIFE not in states:
        return states
    n_bytes = table_bytes([states[JACKKNIFE]])
    if n_bytes > resources.memory:
        takes = f"tables of {N_GROUPS} groups of rows take {size_text(n_bytes)}"
        needs = f"{takes}, more than the {size_text(resources.memory)} that "
        fix = " leaves them; give more, or fewer measures over labels"
        raise InputError("confidence", Message(needs, Keyword("memory"), fix))
    return states


def refuse_many_cells(argument: str, plan: Plan, n_rows: int) -> None:
    """Refuse rows whose cells are too many for a state that counts all cells."""
    n_cells = n_rows * plan.n_labels
    if n_cells < MOST_LOSSES:
        return
    for name, specs in plan.states.items():
        limit = state_class(name).most_cells(plan, specs)
        if limit is not None and n_cells >= limit:
            cells = f"{n_rows} rows of {plan.n_labels} labels have 2^{limit.bit_length() - 1} cells or more"
            counting = specs[0] if specs else Keyword("curve_points")
            fix = f"; give fewer rows or labels, or leave out {counting}, which counts all cells"
            raise InputError(argument, Message(cells, fix))


@cache
def state_class(name: str) -> type[State]:
    """Import a state class by name on demand, since most evaluations need only one or two."""
    state_type: type[State] = importlib.import_module(f"xmleval.states.{name}").STATE
    return state_type


def jackknife_states(plan: Plan) -> list[str]:
    """Return the names of the states that are counted apart for each jackknife group, for standard errors."""
    smooth = [name for name, specs in plan.states.items() if any(spec.smooth for spec in specs)]
    return [name for name in smooth if not state_class(name).by_group]


def of_whole(plan: Plan) -> dict[str, tuple[Spec, ...]]:
    """Return the states of all rows, one of which counts others by group, and the measures that read each."""
    grouped = jackknife_states(plan)
    whole = {name: specs for name, specs in plan.states.items() if name not in grouped}
    return {**whole, JACKKNIFE: ()} if grouped else whole
