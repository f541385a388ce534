"""Rows to fit thresholds or calibrators to, collected in one state."""

from __future__ import annotations

from typing import Any

from xmleval.base.budget import Resources
from xmleval.base.errors import InputError
from xmleval.evaluation.batch import Batch
from xmleval.evaluation.blocks import Blocks
from xmleval.evaluation.counts import count
from xmleval.input.scores import has_scores
from xmleval.states.plan import Plan
from xmleval.states.state import States, state_class


class ScoredRows:
    """Rows collected so far in one state; beyond the memory limit, they go to temporary files.

    Subclasses set ``state``, the name of the state, and the messages ``missing``, without
    predictions, and ``bare``, without scores.
    """

    state = missing = bare = ""

    def __init__(self, plan: Plan, resources: Resources) -> None:
        self.n_labels = plan.n_labels
        self.resources = resources
        self._plan = plan
        self._dtypes = set[str]()
        empty_state = state_class(self.state)(plan, plan.specs, resources)
        self._states = States(plan, resources, {self.state: empty_state})

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        batch = batch.with_checked_truth(self.n_labels)
        if batch.y_score is None:
            raise InputError("y_score", self.missing)
        if has_scores(batch.y_score) is False:
            raise InputError("y_score", self.bare)
        rows = Blocks(self._plan, batch, self.resources, 0, self._dtypes)
        self._states = count(self._plan, self.resources, [self._states], rows)

    @property
    def counted(self) -> Any:
        """The state of the rows so far."""
        return self._states[self.state]
