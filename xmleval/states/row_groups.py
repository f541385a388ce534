"""RowGroups: all measures, row group by row group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np

from xmleval.base.budget import Resources, size_text
from xmleval.base.errors import InputError, Keyword, Message
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.labels.groups import in_number_order
from xmleval.metrics.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.parts import Parts
from xmleval.states.plan import Plan
from xmleval.states.results import Part, Results
from xmleval.states.state import Arrays, States, table_bytes
from xmleval.view.block import MOST_GROUPS
from xmleval.view.parts import split_rows
from xmleval.view.view import View

SHARES = 16  # parts of the memory for pooled scores: the number of groups is not known before


class RowGroups(Parts):
    """States by row group that has occurred or is expected."""

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n_expected = 0  # groups
        self.share = resources._replace(memory=max(1, resources.memory // SHARES))

    def part(self, name: str) -> States:
        """Return the states of a group, empty ones if it is new."""
        if name not in self.parts:
            states = States(self.plan.part(), self.share)
            self._check_memory(states)
            self.parts = {**self.parts, name: states}
        return self.parts[name]

    def _check_memory(self, states: States) -> None:
        """Refuse one more group if the tables for confidence intervals exceed the memory."""
        n = max(self.n_expected, 1 + len(self.parts))
        n_bytes = n * table_bytes(states)
        if self.plan.confidence is None or n_bytes <= self.resources.memory:
            return
        tables = f"tables of {n} groups, each with {N_GROUPS} for confidence intervals, take "
        limit = f"{size_text(n_bytes)}, more than the {size_text(self.resources.memory)} that "
        fix = " leaves them; give more"
        raise InputError("row_groups", Message(tables, limit, Keyword("memory"), fix))

    def expect(self, names: Iterable[str]) -> None:
        """Prepare the states of groups of the next rows, so that workers can share tables."""
        self.n_expected = len({*self.parts, *names})
        for name in sorted(names):
            self.part(name)

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield group by group the name and the rows in a block."""
        groups = view.block.row_groups
        assert groups is not None
        views = split_rows(view, groups.of, len(groups.names))
        for name, rows in zip(groups.names, views, strict=True):
            if rows.n_rows:
                yield name, rows

    @property
    def counted(self) -> dict[str, States]:
        """The groups that have rows, by name, in numerical order if all names are numbers."""
        names = in_number_order(sorted(name for name, n_rows in self.n_rows.items() if n_rows))
        return {name: self.parts[name] for name in names}

    def finish(self) -> Results:
        """Return the results by group."""
        results = Results()
        for name, states in self.counted.items():
            group = states.finish()
            group.notes.clear()
            results.row_groups[name] = Part(group, self.n_rows[name], self.plan.n_labels)
        return results

    def own_arrays(self) -> Arrays:
        """Return the arrays to save, without those of the groups."""
        names = np.frombuffer(json.dumps([*self.counted]).encode(), np.uint8)
        return {**super().own_arrays(), "names": names}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        text = contents.take("names", None, dtype=np.uint8, high=255).tobytes()
        names = json.loads(text)
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        fits = is_list and len({*names}) == len(names) <= MOST_GROUPS
        expect(fits, "names are not those of groups")
        for name in names:
            self.part(name)
        super().from_contents(contents)


STATE = RowGroups
