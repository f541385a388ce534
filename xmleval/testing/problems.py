"""Small problems that the checks draw: relevant labels, scores and data of a few rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmleval.base.arrays import Floats
from xmleval.base.errors import import_optional

MOST_ROWS = 7
MOST_LABELS = 6
GRID = 8  # scores are eighths, so that some are equal


@dataclass(frozen=True)
class DrawnProblem:
    """Rows of relevant labels and of scores, and data that measures declare.

    relevant : label ids of each row; scores : scores by label id, of each row
    label_data, row_data : numbers by label and by row
    pairs : (child, parent) pairs of labels
    """

    n_labels: int
    relevant: Sequence[Sequence[int]]
    scores: Sequence[Mapping[int, float]]
    label_data: Mapping[str, Sequence[float]] = field(default_factory=dict)
    row_data: Mapping[str, Sequence[float]] = field(default_factory=dict)
    pairs: Sequence[tuple[int, int]] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.relevant)

    def rows(self, numbers: Sequence[int]) -> DrawnProblem:
        """Return some rows, in this order."""
        return DrawnProblem(
            self.n_labels,
            [self.relevant[row] for row in numbers],
            [self.scores[row] for row in numbers],
            self.label_data,
            {name: [values[row] for row in numbers] for name, values in self.row_data.items()},
            self.pairs,
        )

    @property
    def y_true(self) -> Any:
        """Relevant labels as a sparse array."""
        entries = [(row, label) for row, labels in enumerate(self.relevant) for label in labels]
        return self._sparse(entries, np.ones(len(entries)))

    @property
    def y_score(self) -> Any:
        """Scores as a sparse array; zeros are stored."""
        entries = [(row, label) for row, scores in enumerate(self.scores) for label in scores]
        values = [score for scores in self.scores for score in scores.values()]
        return self._sparse(entries, np.array(values, np.float64))

    def _sparse(self, entries: Sequence[tuple[int, int]], values: Floats) -> Any:
        """Return values at (row, label) pairs as a sparse array."""
        rows, labels = np.array(entries, np.int64).reshape(-1, 2).T
        return sp.csr_array((values, (rows, labels)), shape=(self.n_rows, self.n_labels))

    def __str__(self) -> str:
        """Return the problem as Python that makes it anew."""
        lines = [
            f"relevant labels {[[*labels] for labels in self.relevant]}",
            f"scores {[{**scores} for scores in self.scores]}",
            f"{self.n_labels} labels",
        ]
        for name, data in (("label_data", self.label_data), ("row_data", self.row_data)):
            if data:
                lines.append(f"{name} { {key: [*values] for key, values in data.items()} }")
        if self.pairs:
            lines.append(f"hierarchy {[*self.pairs]}")
        return "; ".join(lines)


def load_hypothesis() -> ModuleType:
    """Return Hypothesis, or say how to install it."""
    return import_optional("hypothesis", "xmleval.testing", "testing")


def drawn(examples: int) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Return a decorator: run a check of drawn data on so many examples, the same every time."""
    hypothesis = load_hypothesis()
    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[*hypothesis.HealthCheck],
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate],  # problems are small, and to shrink them takes minutes
    )

    def decorate(check: Callable[[Any], None]) -> Callable[[], None]:
        given: Callable[[], None] = hypothesis.given(hypothesis.strategies.data())(check)
        run: Callable[[], None] = settings(given)
        return run

    return decorate


def draw_problem(
    draw: Callable[[Any], Any],
    label_data: Sequence[str] = (),
    row_data: Sequence[str] = (),
    has_hierarchy: bool = False,
) -> DrawnProblem:
    """Return a problem; ``draw`` draws from a strategy of Hypothesis."""
    st = load_hypothesis().strategies
    n_labels = draw(st.integers(2, MOST_LABELS))
    n_rows = draw(st.integers(1, MOST_ROWS))
    labels = st.integers(0, n_labels - 1)
    relevant = [sorted(draw(st.sets(labels))) for _ in range(n_rows)]
    eighths = st.integers(1, GRID).map(lambda eighth: eighth / GRID)
    scores = [draw(st.dictionaries(labels, eighths)) for _ in range(n_rows)]
    numbers = st.integers(1, 99).map(lambda number: number / 100)
    by_label = {name: [draw(numbers) for _ in range(n_labels)] for name in label_data}
    by_row = {name: [draw(numbers) for _ in range(n_rows)] for name in row_data}
    pairs = list[tuple[int, int]]()
    if has_hierarchy:
        for child in range(1, n_labels):
            if draw(st.booleans()):
                pairs.append((child, draw(st.integers(0, child - 1))))
        pairs = pairs or [(1, 0)]
    return DrawnProblem(n_labels, relevant, scores, by_label, by_row, pairs)
