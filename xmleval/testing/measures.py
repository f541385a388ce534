"""The laws of a measure: its value by a plain loop, and the same bits on every route."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmleval.api.evaluate import evaluate
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.request import Running
from xmleval.kernels.jit import in_compiled_kernels
from xmleval.metrics.measure import STATES_OF_ROWS, Measure
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.testing.problems import DrawnProblem, draw_problem, drawn

CLOSE = 1e-9  # of a value by another formula
K = 2
EXAMPLES = 60
OTHERS = ("p@3", "mrr@2")  # computed in the same call; one reads more of a list
Oracle = Callable[..., float]


@dataclass(frozen=True)
class PlainRow:
    """A row in plain Python, from which an oracle computes its value.

    Parameters
    ----------
    relevant : set of int
        Relevant labels.
    listed : list of int
        All labels that have a score, best first; of equal scores, the smaller label is first.
    scores : list of float
        Their scores.
    n_labels : int
        Number of labels. Labels that the truth does not know have ids from here on, and no data.
    k : int or None
        Cutoff.
    params : dict of str to float
        Parameters.
    label_data : dict of str to list of float
        Data by label.
    row_data : dict of str to float
        Data of the row.
    ancestors : list of set of int
        Each label with its ancestors.
    """

    relevant: set[int]
    listed: list[int]
    scores: list[float]
    n_labels: int
    k: int | None = None
    params: Mapping[str, float] = field(default_factory=dict)
    label_data: Mapping[str, Sequence[float]] = field(default_factory=dict)
    row_data: Mapping[str, float] = field(default_factory=dict)
    ancestors: Sequence[set[int]] = ()


@dataclass(frozen=True)
class CheckedMeasure:
    """A measure that is checked, as it is requested.

    options : further arguments of `evaluate`
    """

    spec: Spec
    options: Mapping[str, Any]

    def arguments(self, problem: DrawnProblem) -> dict[str, Any]:
        """Return the arguments of an evaluation but the rows."""
        arguments = {"metrics": [self.spec.name], **self.options}
        if problem.label_data:
            arguments["label_data"] = {**problem.label_data}
        if problem.pairs:
            arguments["hierarchy"] = [*problem.pairs]
        return arguments

    def evaluate(self, problem: DrawnProblem, **further: Any) -> Any:
        """Return the report on a problem."""
        arguments = self.arguments(problem) | rows_of(problem) | further
        return evaluate(problem.y_true, problem.y_score, **arguments)

    def value(self, problem: DrawnProblem, **further: Any) -> float:
        """Return the value of a problem."""
        return float(self.evaluate(problem, **further)[self.spec.name])


def rows_of(problem: DrawnProblem) -> dict[str, Any]:
    """Return the arguments with a value for each row."""
    if not problem.row_data:
        return {}
    return {"row_data": {name: np.array(values) for name, values in problem.row_data.items()}}


def check_measure(
    measure: Measure | str,
    oracle: Oracle,
    *,
    params: Mapping[str, float] | None = None,
    examples: int = EXAMPLES,
    workers: bool = False,
    **options: Any,
) -> None:
    """Check the laws of a measure on drawn problems.

    Parameters
    ----------
    measure : Measure or str
        A measure, at k = 2 if it takes a cutoff; or a name, with its cutoff.
    oracle : callable
        The same measure as a plain loop: a function of a `PlainRow`, which returns the value of the
        row; of a measure with ``total``, a function of the list of all rows, which returns the
        value.
    params : dict of str to float, optional
        Values of parameters, by default their examples.
    examples : int, default 60
        Number of problems.
    workers : bool, default False
        Also count in two processes, once. The measure must be defined in a module that can be
        imported.
    options : optional
        Further arguments of `evaluate`, such as ``decision="top2"``.

    Raises
    ------
    AssertionError
        If a law is broken. The laws: the value is that of the oracle; the same call gives the same
        bits; blocks, batches, merges of saved counts, files, names and threads give the same bits;
        the order of rows and equal weights change nothing; a row of weight 0 does not count; groups
        of rows have the values of their rows; intervals contain the value; labels that the truth
        does not know count as the oracle says; other measures in the same call change nothing.

    Examples
    --------
    >>> def first_is_relevant(row):
    ...     return float(row.listed[:1] != [] and row.listed[0] in row.relevant)
    >>> xmleval.testing.check_measure("p@1", first_is_relevant, examples=5)
    """
    checked = CheckedMeasure(_spec_of(measure, params), options)
    metric = checked.spec.metric
    if metric.state not in STATES_OF_ROWS and not metric.of_rows:
        raise ValueError(f"{checked.spec.name}: check_measure is for measures with values of rows")
    has_hierarchy = "hierarchy" in metric.needs

    @drawn(examples)
    def check(data: Any) -> None:
        problem = draw_problem(data.draw, metric.label_data, metric.row_data, has_hierarchy)
        for law, sentence in LAWS.items():
            _check_law(law, sentence, checked, oracle, problem)

    check()
    if workers:
        problem = _fixed_problem(metric, has_hierarchy)
        _check_law(_same_with_workers, WITH_WORKERS, checked, oracle, problem)


def _spec_of(measure: Measure | str, params: Mapping[str, float] | None) -> Spec:
    """Return the spec that is checked."""
    if isinstance(measure, str):
        return parse_spec(measure)
    name = measure.name
    if measure.averages:
        name += f".{measure.averages[0]}"
    values = {key: param.example for key, param in measure.params.items()} | dict(params or {})
    if values:
        name += "(" + ",".join(f"{key}={value!r}" for key, value in values.items()) + ")"
    if measure.cutoff == "required":
        name += f"@{K}"
    return parse_spec(name)


Law = Callable[[CheckedMeasure, Oracle, DrawnProblem], str]


def _check_law(
    law: Law,
    sentence: str,
    checked: CheckedMeasure,
    oracle: Oracle,
    problem: DrawnProblem,
) -> None:
    """Raise an AssertionError if a law is broken, or cannot be checked for an error."""
    try:
        broken = law(checked, oracle, problem)
    except Exception as error:
        broken = f"{type(error).__name__}: {error}"
    if broken:
        raise AssertionError(f"{checked.spec.name}: {sentence}: {broken}; problem: {problem}")


def _difference(value: float, expected: float, what: str) -> str:
    """Return how two values differ in any bit; "" if they are the same."""
    if value == expected or (math.isnan(value) and math.isnan(expected)):
        return ""
    return f"{value!r} {what}, {expected!r} in one call"


def _equals_oracle(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare the value with that of the oracle."""
    return _difference_from_oracle(checked.spec, checked.value(problem), oracle, problem)


def _difference_from_oracle(spec: Spec, value: float, oracle: Oracle, problem: DrawnProblem) -> str:
    """Return how a value differs from that of the oracle; "" if it is the same."""
    rows = plain_rows(spec, problem)
    if spec.metric.total is not None:
        expected = oracle(rows)
    else:
        values = [oracle(row) for row in rows]
        expected = math.fsum(values) / len(values)
    if math.isnan(value) and math.isnan(expected):
        return ""
    if abs(value - expected) <= CLOSE * max(1.0, abs(expected)):
        return ""
    return f"{value!r}, by the oracle {expected!r}"


def plain_rows(spec: Spec, problem: DrawnProblem) -> list[PlainRow]:
    """Return the rows of a problem in plain Python."""
    ancestors = ancestors_of(problem)
    rows = list[PlainRow]()
    for number, scores in enumerate(problem.scores):
        listed = sorted(scores, key=lambda label: (-scores[label], label))
        row_data = {name: values[number] for name, values in problem.row_data.items()}
        row = PlainRow(
            relevant={*problem.relevant[number]},
            listed=listed,
            scores=[scores[label] for label in listed],
            n_labels=problem.n_labels,
            k=spec.k,
            params=dict(spec.params),
            label_data=problem.label_data,
            row_data=row_data,
            ancestors=ancestors,
        )
        rows.append(row)
    return rows


def ancestors_of(problem: DrawnProblem) -> list[set[int]]:
    """Return each label with its ancestors."""
    parents = dict(problem.pairs)
    ancestors = list[set[int]]()
    for label in range(problem.n_labels):
        above = {label}
        while label in parents:
            label = parents[label]
            above.add(label)
        ancestors.append(above)
    return ancestors


def _same_again(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare two calls."""
    return _difference(checked.value(problem), checked.value(problem), "in a second call")


def _same_in_blocks(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare blocks of one row with one block."""
    alone = checked.value(problem, running=Running(block_rows=1), threads=2)
    return _difference(alone, checked.value(problem), "in blocks of one row")


def _same_compiled(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare a compiled formula of one row with plain Python."""
    if checked.spec.metric.row is None:
        return ""
    value = checked.value(problem)

    with in_compiled_kernels():
        return _difference(checked.value(problem), value, "compiled")


def _same_in_any_order(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare the rows in reversed order."""
    backwards = problem.rows([*range(problem.n_rows)][::-1])
    return _difference(checked.value(backwards), checked.value(problem), "in reversed order")


def _same_when_merged(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare parts that are saved, loaded and merged."""
    middle = problem.n_rows // 2
    parts = [problem.rows(range(middle)), problem.rows(range(middle, problem.n_rows))]
    evaluators = list[Evaluator]()
    with tempfile.TemporaryDirectory() as folder:
        for place, part in enumerate(parts):
            evaluator = Evaluator(n_labels=problem.n_labels, **checked.arguments(problem))
            evaluator.update(part.y_true, part.y_score, **rows_of(part))
            path = os.path.join(folder, f"{place}.npz")
            evaluator.save(path)
            evaluators.append(Evaluator.load(path))
    first, second = evaluators
    merged = second.merge(first).compute()[checked.spec.name]
    return _difference(merged, checked.value(problem), "of merged parts")


def _same_in_files(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare files with arrays."""
    with tempfile.TemporaryDirectory() as folder:
        value = _value_of_files(checked, problem, Path(folder))
    return _difference(value, checked.value(problem), "of files")


def _value_of_files(
    checked: CheckedMeasure, problem: DrawnProblem, folder: Path, running: Running | None = None
) -> float:
    """Return the value of a problem in files."""
    sp.save_npz(folder / "truth.npz", problem.y_true)
    sp.save_npz(folder / "scores.npz", problem.y_score)
    arguments = checked.arguments(problem) | rows_of(problem)
    paths = folder / "truth.npz", folder / "scores.npz"
    report: Any = evaluate(*paths, running=running, **arguments)
    return float(report[checked.spec.name])


def _same_by_name(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare names with numbers of rows and labels."""
    if not any(problem.relevant):
        return ""
    # of equal scores, the later name is first
    labels = [f"label {problem.n_labels - label:02}" for label in range(problem.n_labels)]
    rows = [f"row {row}" for row in range(problem.n_rows)]
    truth = {
        row: [labels[label] for label in relevant]
        for row, relevant in zip(rows, problem.relevant, strict=True)
    }
    scores = {
        row: {labels[label]: score for label, score in by_label.items()}
        for row, by_label in zip(rows, problem.scores, strict=True)
    }
    arguments = checked.arguments(problem) | {"labels": labels}
    if problem.label_data:
        arguments["label_data"] = {
            name: dict(zip(labels, values, strict=True))
            for name, values in problem.label_data.items()
        }
    if problem.row_data:
        arguments["row_data"] = {
            name: dict(zip(rows[::-1], values[::-1], strict=True))
            for name, values in problem.row_data.items()
        }
    if problem.pairs:
        arguments["hierarchy"] = [(labels[low], labels[high]) for low, high in problem.pairs]
    value = float(evaluate(truth, scores, **arguments)[checked.spec.name])
    return _difference(value, checked.value(problem), "by name")


def _allows_unknown(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare predictions of a label that the truth does not know with the oracle."""
    if checked.spec.metric.every_label or problem.pairs:
        return ""
    labels = [f"label {problem.n_labels - label:02}" for label in range(problem.n_labels)]
    unknown = problem.n_labels
    truth = [[labels[label] for label in relevant] for relevant in problem.relevant]
    with_unknown = replace(problem, scores=[{unknown: 2.0, **row} for row in problem.scores])
    scores = [
        {"label 00" if label == unknown else labels[label]: score for label, score in row.items()}
        for row in with_unknown.scores
    ]
    arguments = checked.arguments(problem) | rows_of(problem) | {"labels": labels}
    value = float(evaluate(truth, scores, **arguments)[checked.spec.name])
    return _difference_from_oracle(checked.spec, value, oracle, with_unknown)


def _weighs_rows(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare weighted rows with rows without weights."""
    value = checked.value(problem)
    weighted = checked.value(problem, sample_weight=np.full(problem.n_rows, 3.0))
    if abs(weighted - value) > CLOSE * max(1.0, abs(value)):
        return f"{weighted!r} with equal weights, {value!r} without"
    if problem.n_rows == 1:
        return ""
    weights = np.ones(problem.n_rows)
    weights[0] = 0.0
    without = checked.value(problem.rows(range(1, problem.n_rows)))
    weighted = checked.value(problem, sample_weight=weights)
    if abs(weighted - without) > CLOSE * max(1.0, abs(without)):
        return f"{weighted!r} with weight 0 of the first row, {without!r} without this row"
    return ""


def _has_row_groups(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare groups of rows with their rows alone."""
    groups = np.array([row % 2 for row in range(problem.n_rows)])
    report = checked.evaluate(problem, row_groups=groups)
    for name, part in report.row_groups.items():
        rows = [row for row in range(problem.n_rows) if str(groups[row]) == str(name)]
        expected = checked.value(problem.rows(rows))
        broken = _difference(float(part[checked.spec.name]), expected, f"of group {name}")
        if broken:
            return broken
    return ""


def _has_intervals(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare with a call that has intervals."""
    report = checked.evaluate(problem, confidence=0.9)
    broken = _difference(float(report[checked.spec.name]), checked.value(problem), "with intervals")
    interval = report.confidence.get(checked.spec.name)
    if not broken and interval is not None:
        low, high = interval[-2:]
        if not low <= report[checked.spec.name] <= high:
            return f"{report[checked.spec.name]!r} is outside {low!r}..{high!r}"
    return broken


def _same_beside_others(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare the value with that beside other measures, before and behind them."""
    name = checked.spec.name
    others = [other for other in OTHERS if other != name]
    before = checked.evaluate(problem, metrics=[name, *others])
    behind = checked.evaluate(problem, metrics=[*others, name])
    broken = _difference(float(before[name]), checked.value(problem), "beside other measures")
    if broken:
        return broken
    alone: Any = evaluate(problem.y_true, problem.y_score, metrics=others)
    for other in others:
        for together in (before, behind):
            if repr(together[other]) != repr(alone[other]):
                return f"{other} is {together[other]!r} beside it, {alone[other]!r} alone"
    return _difference(behind[name], before[name], "behind other measures")


def _same_with_workers(checked: CheckedMeasure, oracle: Oracle, problem: DrawnProblem) -> str:
    """Compare two processes with one."""
    with tempfile.TemporaryDirectory() as folder:
        value = _value_of_files(checked, problem, Path(folder), Running(executor=2))
    return _difference(value, checked.value(problem), "with two workers")


def _fixed_problem(metric: Measure, has_hierarchy: bool) -> DrawnProblem:
    """Return a problem that is not drawn."""
    relevant = [[0, 2], [1], [], [2], [0, 1, 2]]
    scores = [{0: 0.5, 1: 0.25}, {1: 0.5, 2: 0.5}, {0: 1.0}, {}, {2: 0.125, 0: 0.75}]
    return DrawnProblem(
        3,
        relevant,
        scores,
        {name: [0.25, 0.5, 0.75] for name in metric.label_data},
        {name: [0.125, 0.25, 0.5, 0.75, 0.875] for name in metric.row_data},
        [(1, 0), (2, 0)] if has_hierarchy else [],
    )


LAWS: Mapping[Law, str] = {
    _same_compiled: "a formula of one row has the bits of plain Python when it is compiled",
    _equals_oracle: "the value is that of the oracle",
    _same_again: "the same call gives the same bits",
    _same_in_blocks: "the value of a row depends on this row alone",
    _same_in_any_order: "the order of rows does not matter",
    _same_when_merged: "counts of parts, saved, loaded and merged, have the value of all rows",
    _same_in_files: "files have the value of arrays",
    _same_by_name: "named rows and labels have the value of numbered ones",
    _allows_unknown: "a label that the truth does not know counts as the oracle says",
    _weighs_rows: "equal weights change nothing, and a row of weight 0 does not count",
    _has_row_groups: "groups of rows have the values of their rows",
    _has_intervals: "intervals contain the value, which does not depend on them",
    _same_beside_others: "other measures in the same call change nothing, nor are they changed",
}
WITH_WORKERS = "two processes have the value of one"
