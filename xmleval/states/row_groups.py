"""RowGroups: all measures of each group of rows."""

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

SHARES = 16  # of the memory for pooled scores, as the number of groups is not known before


class RowGroups(Parts):
    """States of each group of rows, as far as groups have been seen."""

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n_expected = 0  # groups
        self.share = resources._replace(memory=max(1, resources.memory // SHARES))

    def part(self, name: str) -> States:
        """Return the states of a group, empty ones where it is new."""
        if name not in self.parts:
            states = States(self.plan.part(), self.share)
            n = max(self.n_expected, 1 + len(self.parts))
            n_bytes = n * table_bytes(states)
            if self.plan.confidence is not None and n_bytes > self.resources.memory:
                tables = f"tables of {n} groups, each with {N_GROUPS} for confidence intervals, take "
                limit = f"{size_text(n_bytes)}, more than the {size_text(self.resources.memory)} that "
                raise InputError(
                    "row_groups", Message(tables, limit, Keyword("memory"), " leaves them; give more")
                )
            self.parts = {**self.parts, name: states}
        return self.parts[name]

    def expect(self, names: Iterable[str]) -> None:
        """Make room for groups that are to come, so that workers share the tables that they can share."""
        self.n_expected = len({*self.parts, *names})
        for name in sorted(names):
            self.part(name)

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield the rows of each group."""
        groups = view.block.row_groups
        assert groups is not None
        for name, rows in zip(groups.names, split_rows(view, groups.of, len(groups.names)), strict=True):
            if rows.n_rows:
                yield name, rows

    @property
    def counted(self) -> dict[str, States]:
        """The groups that have rows, by name: numbers in their order, others in that of texts."""
        names = in_number_order(sorted(name for name, n_rows in self.n_rows.items() if n_rows))
        return {name: self.parts[name] for name in names}

    def finish(self) -> Results:
        """Return the results of each group, by name."""
        groups = Results()
        for name, states in self.counted.items():
            results = states.finish()
            results.notes.clear()
            groups.row_groups[name] = Part(results, self.n_rows[name], self.plan.n_labels)
        return groups

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        names = np.frombuffer(json.dumps([*self.counted]).encode(), np.uint8)
        return {**super().arrays(), "names": names}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        names = json.loads(contents.take("names", None, dtype=np.uint8, high=255).tobytes())
        fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
        expect(fits and len({*names}) == len(names) <= MOST_GROUPS, "names are not those of groups")
        for name in names:
            self.part(name)
        super().from_contents(contents)


STATE = RowGroups
