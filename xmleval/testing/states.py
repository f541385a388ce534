"""The laws of a state: any cut, order and grouping of rows, saved or not, gives the same bits."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from xmleval.evaluation.evaluator import Evaluator
from xmleval.metrics.spec import parse_spec
from xmleval.states.state import State, state_class
from xmleval.testing.problems import DrawnProblem, draw_problem, drawn, load_hypothesis

EXAMPLES = 60


def check_state(
    state: type[State] | str, metrics: list[str], *, examples: int = EXAMPLES, **options: Any
) -> None:
    """Check the laws of a state on drawn problems, through measures that read it.

    Parameters
    ----------
    state : State subclass or str
        The state, or the name of its module; see `State` for its contract.
    metrics : list of str
        Names of measures that read it.
    examples : int, default 60
        Number of problems.
    options : optional
        Further arguments of `Evaluator`, such as ``confidence=0.9``.

    Raises
    ------
    AssertionError
        If a law is broken: batches of one row, in any order of merging, have the values of all rows
        at once; merging leaves the other state as it was; a saved state is loaded as it was, with
        weights or without.
    ValueError
        If a measure does not read the state.

    Examples
    --------
    >>> xmleval.testing.check_state("row_sums", ["mrr@2"], examples=3)
    """
    name = state if isinstance(state, str) else state.__module__.rpartition(".")[2]
    checked = state_class(name) if isinstance(state, str) else state
    for metric in metrics:
        spec = parse_spec(metric)
        if name not in (spec.state, spec.metric.weighted_state):
            raise ValueError(f"{metric} reads the state {spec.state}, not {name}")
    st = load_hypothesis().strategies

    @drawn(examples)
    def check(data: Any) -> None:
        problem = draw_problem(data.draw)
        weights = None
        if data.draw(st.booleans()):
            weights = [data.draw(st.integers(0, 9)) / 8 for _ in problem.relevant]
        order = data.draw(st.permutations(range(problem.n_rows)))
        broken = _find_broken(problem, metrics, weights, order, options)
        if broken:
            raise AssertionError(f"{checked.__name__}: {broken}; problem: {problem}")

    check()


def _find_broken(
    problem: DrawnProblem,
    metrics: list[str],
    weights: list[float] | None,
    order: list[int],
    options: dict[str, Any],
) -> str:
    """Return the law that is broken, or an empty text."""
    expected = _counted(problem, metrics, weights, options, range(problem.n_rows), 0)
    total = Evaluator(metrics, n_labels=problem.n_labels, **options)
    for row in order:
        part = _counted(problem, metrics, weights, options, [row], row)
        before = _contents(part)
        total.merge(part)
        if _contents(part) != before:
            return "merging changed the state that was added"
    if _contents(total) != _contents(expected):
        return f"rows merged one by one, in the order {order}, do not have the bits of all at once"
    return ""


def _counted(
    problem: DrawnProblem,
    metrics: list[str],
    weights: list[float] | None,
    options: dict[str, Any],
    rows: Any,
    first_row: int,
) -> Evaluator:
    """Return an evaluator that counted some rows, after it was saved and loaded."""
    part = problem.rows([*rows])
    evaluator = Evaluator(metrics, n_labels=problem.n_labels, **options)
    weight = None
    if weights is not None:
        weight = np.array([weights[row] for row in rows])
    evaluator.update(part.y_true, part.y_score, sample_weight=weight, first_row=first_row)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state.npz")
        evaluator.save(path)
        return Evaluator.load(path)


def _contents(evaluator: Evaluator) -> list[tuple[str, str]]:
    """Return the values of an evaluator, in all bits."""
    return [(name, float(value).hex()) for name, value in evaluator.compute().items()]
