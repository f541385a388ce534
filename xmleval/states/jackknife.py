"""Jackknife: states by jackknife group of rows, for the values without one group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xmleval.base.budget import Resources
from xmleval.kernels.jackknife import N_GROUPS
from xmleval.metrics.spec import Spec
from xmleval.states.parts import Parts
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.state import States, jackknife_states, state_class
from xmleval.view.parts import split_rows
from xmleval.view.view import View


class Jackknife(Parts):
    """States by jackknife group of rows, which are merged for the values of all rows.

    These are the states of measures with a standard error that do not count by group themselves
    (`State.by_group`). The sums are the numbers of rows with a positive weight, by group.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        share = resources._replace(memory=max(1, resources.memory // N_GROUPS))
        for group in range(N_GROUPS):
            states = {
                name: state_class(name)(plan, plan.states[name], share)
                for name in jackknife_states(plan)
            }
            self.parts[str(group)] = States(plan, share, states)
        self.n_rows = dict.fromkeys(self.parts, 0)
        self.sums = np.zeros(N_GROUPS, np.int64)

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield group by group the number, as text, and the rows in a block."""
        self.sums = self.sums + view.n_weighing
        for group, rows in enumerate(split_rows(view, view.jackknife, N_GROUPS)):
            if rows.n_rows:
                yield str(group), rows

    def finish(self) -> Results:
        """Return the results of all rows, and the values without each group."""
        results = Results()
        groups = [*self.parts.values()]
        weighing = [group for group, n in zip(groups, self.sums, strict=True) if n]
        for name in jackknife_states(self.plan):
            merged = groups[0][name].empty()
            merged.resources = self.resources  # not the share of a group
            for group in groups:
                merged.merge(group[name])
            # before the values of all rows, which may come from the same sweep
            if len(weighing) > 1:
                results.replicates |= merged.replicates([group[name] for group in weighing])
            results.add(merged.finish())
        return results


STATE = Jackknife
