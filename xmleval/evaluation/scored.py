"""Rows with scores, counted into one state batch by batch, for what is fitted to them."""

from __future__ import annotations

from typing import Any

from xmleval.base.budget import Resources
from xmleval.base.errors import InputError
from xmleval.evaluation.blocks import Batch, Blocks
from xmleval.evaluation.counts import count
from xmleval.input.objects.take import Taken
from xmleval.input.scores import has_scores
from xmleval.input.sets import set_rows
from xmleval.states.plan import Plan
from xmleval.states.state import States, state_class


class ScoredRows:
    """Rows collected so far in one state, within memory; more of them are in temporary files.

    Subclasses name the ``state``, and say in ``missing`` and ``bare`` what is wrong without scores.
    """

    state = missing = bare = ""

    def __init__(self, plan: Plan, resources: Resources) -> None:
        self.n_labels = plan.n_labels
        self.resources = resources
        self.n_rows = 0
        self._dtypes: set[str] = set()
        self._plan = plan
        empty_state = state_class(self.state)(plan, plan.specs, resources)
        self._states = States(plan, resources, {self.state: empty_state})

    def update(self, y_true: Any, y_score: Any = None, *, sample_weight: Any = None) -> None:
        """Add rows; arguments are those of `xmleval.evaluate`."""
        truth = set_rows("y_true", y_true, self.n_labels)
        if y_score is None:
            raise InputError("y_score", self.missing)
        if has_scores(y_score) is False:
            raise InputError("y_score", self.bare)
        batch = Batch(Taken((), None), truth, y_score, sample_weight=sample_weight)
        rows = Blocks(self._plan, batch, self.resources, 0, self._dtypes)
        self._states = count(self._plan, self.resources, self._states, rows)
        self.n_rows += truth.n_rows

    @property
    def counted(self) -> Any:
        """The state of the rows so far."""
        return self._states[self.state]
