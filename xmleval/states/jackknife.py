"""Jackknife: the states of each jackknife group of the rows, for values without one group each."""

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
    """States of each jackknife group of the rows; the values of all rows are those of their merge.

    These are the states of measures with a standard error that do not know groups themselves. The sums are
    the numbers of rows with a positive weight.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        share = resources._replace(memory=max(1, resources.memory // N_GROUPS))
        for number in range(N_GROUPS):
            states = {n: state_class(n)(plan, plan.states[n], share) for n in jackknife_states(plan)}
            self.parts[str(number)] = States(plan, share, states)
        self.n_rows, self.sums = dict.fromkeys(self.parts, 0), np.zeros(N_GROUPS, np.int64)

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield the rows of each group."""
        self.sums = self.sums + view.n_weighing
        for group, rows in enumerate(split_rows(view, view.jackknife, N_GROUPS)):
            if rows.n_rows:
                yield str(group), rows

    def finish(self) -> Results:
        """Return the results of all rows, and the values without one group each."""
        results, groups = Results(), [*self.parts.values()]
        filled = [states for states, n_weighing in zip(groups, self.sums, strict=True) if n_weighing]
        for name in jackknife_states(self.plan):
            state = groups[0][name].empty()
            state.resources = self.resources  # not the share of a group
            for states in groups:
                state.merge(states[name])
            if len(filled) > 1:  # before the values of all rows, which may come from the same sweep
                results.replicates |= state.replicates([states[name] for states in filled])
            results.add(state.finish())
        return results


STATE = Jackknife
