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
from xmleval.input.cell_marks import JUDGED
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.kept_rows import KeptRows
from xmleval.states.plan import OF_LEVEL, ROW_GROUPS, Plan, level_of
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import Results
from xmleval.view.block import Block
from xmleval.view.view import View, add_jackknife_groups

Arrays = dict[str, Any]
# limit of the number of cells, rows times labels: sums of two smaller counts fit in 64 bits
MOST_CELLS = 1 << 62
MOST_LOSSES = MOST_CELLS >> 6  # the same for sums of losses, each below 2^6
JACKKNIFE = "jackknife"  # the state that counts other states by jackknife group


class State:
    """Mergeable statistics of rows, for the measures that read them.

    The module of a state ends with ``STATE = ItsClass``, and metric records name that module
    (`Measure.state`). A subclass defines `update`, `merge`, `finish`, `arrays` and `from_contents`,
    and observes the following rules.

    Merging
        States of disjoint rows, merged in any order and grouping, must give the bits of the state
        of all rows. Floats are therefore not added up: sums are integers or in fixed point
        (`numerics.exact`, `kernels.fixed`).
    Failure
        A memory error or an interrupt can stop `update` and `merge` anywhere; the caller then drops
        the state. They change only the state itself, and replace arrays that other states may
        share: these must stay as they were.
    Weights
        ``view.block.weight`` has the weight of each row, float64 (n_rows,), 0 included, divided by
        `HEAVIEST`; it is None if no weights were given (`Plan.weighted`). Nothing is weighted
        before a state sees it: a state that ignores ``weight`` silently gives unweighted values.
        A count, or a sum that is not divided by another, is multiplied by `HEAVIEST` in `finish`.
        If weights need another kind of state, measures name its module in `Measure.weighted_state`.
    Unknown labels
        Predictions may contain labels that the truth does not have, with ids from
        ``plan.n_labels`` upward. By default a state receives ``view.inside``, in which these labels
        are dropped and take no rank; predicted sets are decided before. A state with
        ``with_unknown = True`` receives the view of all predictions. It must not index arrays of
        ``n_labels`` by predicted ids, and reads ``view.inside`` for measures of all labels
        (`Measure.every_label`).
    Levels of relevance
        Measures with a level (``rel=2`` in the name) have states of their own, whose names end with
        it, as "rank_profile@2". Such a state receives a view in which labels of this grade and
        above are relevant.
    Standard errors
        With ``plan.confidence``, each row is in one of `N_GROUPS` jackknife groups, and the values
        without each group are needed. A state with ``by_group = True`` counts rows by group
        (``view.jackknife``, uint8 (n_rows,)), and `finish` returns these values in
        ``Results.replicates``. Otherwise, if any of its measures has a standard error, the state
        "jackknife" counts `N_GROUPS` states of the class, merges them and calls `replicates`,
        which a subclass overrides if it has a faster way than merging all groups but one.
    Memory
        ``resources`` limits what grows with the rows. ``table_bytes`` is the size of the tables
        whose size does not: it limits the number of workers, and updates smaller than the tables
        wait, to be counted together.

    plan : the settings, and what they read
    specs : the measures that read this state
    resources : the memory and the threads of this state
    by_group : whether it counts rows by jackknife group; see above
    shared : whether the workers of one update fill the same state, which `divided` returns for
        each; `update` then runs in several threads at a time, and ``table_bytes`` counts once, not
        for each worker
    counts_labels : whether its measures are of labels or entries in all rows, not of rows: within a
        label group they are computed over all rows, not only over those with relevant labels of
        the group
    with_unknown : whether it receives unknown labels; see above
    table_bytes : size of the tables, however many rows are counted; set in ``__init__``
    parts : states of parts of the data, by name
    kept : row values that were requested (``per_row``)
    """

    by_group = False
    shared = False
    counts_labels = False
    with_unknown = False
    table_bytes = 0
    parts: Mapping[str, States] = MappingProxyType({})
    kept = KeptRows()

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        self.plan = plan
        self.specs = specs
        self.resources = resources

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the number of cells (rows times labels) that its counts cannot reach, if any.

        None if no count grows with the cells.
        """
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

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels.

        A subclass overrides this if its arrays depend on the labels.
        """
        return self.arrays()

    def from_contents(self, contents: Contents) -> None:
        """Restore an empty state from what `arrays` returned; raise ValueError if it is invalid.

        A file may be made up: every index that kernels use must be checked, so that a state which
        is accepted can be merged and finished.
        """
        raise NotImplementedError

    def empty(self) -> Self:
        """Return an empty state to merge with this one."""
        return type(self)(self.plan, self.specs, self.resources)

    def divided(self, n_workers: int, n_blocks: int) -> list[Self]:
        """Return one state per worker, this empty one first.

        n_blocks : number of blocks that all of them will count
        """
        return [self, *(self.empty() for _ in range(n_workers - 1))]

    def behind(self, n_rows: int) -> Self:
        """Return a copy with kept row values moved behind ``n_rows`` other rows."""
        moved = copy(self)
        moved.kept = self.kept.behind(n_rows)
        return moved

    def discard(self) -> None:
        """Release the external resources of an unused state."""

    def replicates(self, groups: Sequence[Self]) -> dict[str, Floats]:
        """Return the values without each group that this state was merged from, float64 (n,)."""
        values = [state.finish().values for state in _merge_all_but_each(self, groups)]
        return {name: np.array([by_name[name] for by_name in values]) for name in values[0]}


def _merge_all_but_each(
    template: State, groups: Sequence[State], outside: Sequence[State] = ()
) -> Iterator[State]:
    """Yield, for each jackknife group, the merge of all other groups and of those ``outside``.

    Halving the groups takes n log n merges.
    """
    if len(groups) == 1:
        yield merge_states(template, outside)
        return
    middle = len(groups) // 2
    first = groups[:middle]
    second = groups[middle:]
    for left_out, merged in ((first, second), (second, first)):
        without = merge_states(template, [*outside, *merged])
        yield from _merge_all_but_each(template, left_out, [without])


def merge_states(template: State, states: Sequence[State]) -> State:
    """Return the merge of states, which are unchanged, in a new state like ``template``."""
    merged = template.empty()
    for state in states:
        merged.merge(state)
    return merged


class States:
    """The states of a plan.

    states : the states; default empty ones
    """

    def __init__(
        self, plan: Plan, resources: Resources, states: dict[str, State] | None = None
    ) -> None:
        self.plan = plan
        self.resources = resources
        self._states = _make_states(plan, resources) if states is None else states

    def __getitem__(self, name: str) -> State:
        """Return a state by its name."""
        return self._states[name]

    def __contains__(self, name: str) -> bool:
        """Return whether a state has this name."""
        return name in self._states

    def __iter__(self) -> Iterator[State]:
        """Iterate over the states."""
        return iter(self._states.values())

    @property
    def row_groups(self) -> frozenset[str]:
        """Names of the row groups."""
        return frozenset(getattr(self._states.get(ROW_GROUPS), "parts", ()))

    def expect(self, row_groups: Iterable[str]) -> None:
        """Prepare the states of row groups that the next rows are in."""
        if ROW_GROUPS in self._states:
            self._states[ROW_GROUPS].expect(row_groups)  # type: ignore[attr-defined]

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if self.plan.confidence is not None:
            block = add_jackknife_groups(block)
        self.add(View(block, self.plan.n_labels, self.plan.unlisted))

    def add(self, view: View) -> None:
        """Add the rows of a view."""
        for name, state in self._states.items():
            level = level_of(name)
            rows = view if level is None else view.relevant_from(self.plan.least_gain(level))
            state.update(rows if state.with_unknown else rows.inside)

    def merge(self, added: States) -> None:
        """Merge the states of other rows, which are unchanged."""
        for name, state in self._states.items():
            if state is not added._states[name]:  # workers may share one
                state.merge(added._states[name])

    def behind(self, n_rows: int) -> States:
        """Return the states with kept row values moved behind ``n_rows`` other rows."""
        moved = {name: state.behind(n_rows) for name, state in self._states.items()}
        return States(self.plan, self.resources, moved)

    def empty(self) -> States:
        """Return empty states to merge with these."""
        empty_states = {name: state.empty() for name, state in self._states.items()}
        return States(self.plan, self.resources, empty_states)

    def divided(self, n_workers: int, n_blocks: int) -> list[States]:
        """Return one collection of states per worker, this empty one first."""
        divided = {name: state.divided(n_workers, n_blocks) for name, state in self._states.items()}
        workers = [self]
        for number in range(1, n_workers):
            states = {name: by_worker[number] for name, by_worker in divided.items()}
            workers.append(States(self.plan, self.resources, states))
        return workers

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
        specs = self.plan.specs
        for spec in specs:
            if spec.parts:
                self._add_combined(spec, results)
        values = results.values
        for name, ends in results.intervals.items():  # rounding may put the value outside
            results.intervals[name] = min(values[name], *ends), max(values[name], *ends)
        if results.replicates:
            smooth = {spec.name for spec in specs if spec.smooth}
            results.replicates = {
                name: column
                for name, column in results.replicates.items()
                if name in smooth and column.size > 1
            }
        results.keep_only([spec.name for spec in specs if spec.name not in results.not_computed])
        return results

    def _add_combined(self, spec: Spec, results: Results) -> None:
        """Add the value and the replicates of a measure of other measures."""
        setting = self.plan.setting(spec)
        parts = [results.values[part] for part in spec.parts]
        results.values[spec.name] = spec.metric.value(parts, setting)
        columns = [results.replicates.get(part) for part in spec.parts]
        if any(column is None for column in columns):
            return
        replicates = [spec.metric.value([*row], setting) for row in zip(*columns, strict=True)]
        results.replicates[spec.name] = np.array(replicates)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return _with_names({name: state.arrays() for name, state in self._states.items()})

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels."""
        arrays = {name: state.relabelled_arrays(labels) for name, state in self._states.items()}
        return _with_names(arrays)

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


def _with_names(arrays: Mapping[str, Arrays]) -> Arrays:
    """Return the arrays of several states, with the name of the state in front of theirs."""
    return {
        f"{name}/{key}": array for name, saved in arrays.items() for key, array in saved.items()
    }


def _make_states(plan: Plan, resources: Resources) -> dict[str, State]:
    """Return the empty states of a plan, by name."""
    specs_by_state = plan.states
    if plan.confidence is not None:
        specs_by_state = _with_jackknife(plan)
    else:
        # label groups and row groups pool scores, too
        n_shares = 1 + (plan.label_groups is not None) + ("row_groups" in plan.inputs)
        resources = resources._replace(memory=max(1, resources.memory // n_shares))
    return {
        name: state_class(name)(plan, specs, resources) for name, specs in specs_by_state.items()
    }


def table_bytes(states: Iterable[State], is_shared: bool = True) -> int:
    """Return the size of the tables of states and of their parts.

    is_shared : whether tables that workers share count, too
    """
    n_bytes = 0
    for state in states:
        n_bytes += sum(table_bytes(part, is_shared) for part in state.parts.values())
        if is_shared or not state.shared:
            n_bytes += state.table_bytes
    return n_bytes


def new_states(plan: Plan, resources: Resources) -> States:
    """Return the empty states of a plan; refuse jackknife tables that exceed the memory."""
    states = States(plan, resources)
    if plan.confidence is None or JACKKNIFE not in states:
        return states
    n_bytes = table_bytes([states[JACKKNIFE]])
    if n_bytes > resources.memory:
        tables = f"tables of {N_GROUPS} groups of rows take {size_text(n_bytes)}"
        excess = f"{tables}, more than the {size_text(resources.memory)} that "
        fix = " leaves them; give more, or fewer measures over labels"
        raise InputError("confidence", Message(excess, Keyword("memory"), fix))
    return states


def refuse_many_cells(argument: str, plan: Plan, n_rows: int) -> None:
    """Refuse rows whose cells are too many for a state that counts all cells."""
    n_cells = n_rows * plan.n_labels
    if n_cells < MOST_LOSSES:
        return
    for name, specs in plan.states.items():
        limit = state_class(name).most_cells(plan, specs)
        if limit is not None and n_cells >= limit:
            size = f"{n_rows} rows of {plan.n_labels} labels"
            excess = f"{size} have 2^{limit.bit_length() - 1} cells or more"
            reader = specs[0] if specs else Keyword("curve_points")
            fix = f"; give fewer rows or labels, or leave out {reader}, which counts all cells"
            raise InputError(argument, Message(excess, fix))


def unjudged_rows(plan: Plan, n_rows: int) -> int:
    """Return how many of some rows do not judge a label that none of them has."""
    return n_rows if plan.cells_are == JUDGED else 0


@cache
def state_class(name: str) -> type[State]:
    """Import a state class by name on demand, since most evaluations need only one or two.

    A level of relevance in the name does not change the class.
    """
    module = importlib.import_module(f"xmleval.states.{name.partition(OF_LEVEL)[0]}")
    state_type: type[State] = module.STATE
    return state_type


def jackknife_states(plan: Plan) -> list[str]:
    """Return the names of the states to count for each jackknife group, for standard errors."""
    smooth = [name for name, specs in plan.states.items() if any(spec.smooth for spec in specs)]
    return [name for name in smooth if not state_class(name).by_group]


def _with_jackknife(plan: Plan) -> dict[str, tuple[Spec, ...]]:
    """Return measures by state, with one state for all that are counted by group."""
    grouped = jackknife_states(plan)
    specs_by_state = {name: specs for name, specs in plan.states.items() if name not in grouped}
    if grouped:
        specs_by_state[JACKKNIFE] = ()
    return specs_by_state
