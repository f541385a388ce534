"""Values of measures by their definitions in `oracles`, for the problems that Hypothesis draws."""

from dataclasses import replace

from tests.oracles import (
    abstaining,
    calibration,
    curves,
    hierarchy,
    judged,
    judgements,
    losses,
    margins,
    metrics,
    persistence,
    predicted,
)
from tests.oracles.metrics import Case
from tests.oracles.propensity import rounded_once
from tests.problems import Problem, Spec

MEASURES = (
    metrics.MEASURES
    | abstaining.MEASURES
    | calibration.MEASURES
    | curves.MEASURES
    | hierarchy.MEASURES
    | judged.MEASURES
    | judgements.MEASURES
    | losses.MEASURES
    | margins.MEASURES
    | persistence.MEASURES
    | predicted.MEASURES
)


def case_of(problem: Problem) -> Case:
    """Return the problem as the definitions take it."""
    arguments = problem.arguments
    case = Case(
        truth=problem.relevant(),
        n_labels=problem.n_labels,
        pred=arguments.get("y_pred"),
        weights=arguments.get("sample_weight"),
        inverse_propensity=arguments.get("inverse_propensity"),
        edges=arguments.get("hierarchy", []),
        conventions=vars(problem.conventions),
    )
    if problem.form != "none":
        case.listed = problem.listed
    if not {"exclude", "unjudged", "judged"}.isdisjoint(arguments):
        leave_out(case, left_out_of(problem))
    if problem.form in ("list", "ragged"):
        case.kind = "list"
    if "y_train" in arguments:
        rows = arguments["y_train"]
        counts = [sum(j in row for row in rows) for j in range(problem.n_labels)]
        case.label_counts = counts
        case.inverse_propensity = [rounded_once(count, len(rows)) for count in counts]
    rows = zip(problem.truth, case.left_out or [set()] * problem.n_rows, strict=True)
    case.all_grades = [{j: g for j, g in row.items() if j not in out} for row, out in rows]
    if problem.conventions.graded:
        case.grades = case.all_grades
    return case


def at_level(case: Case, level: int | None) -> Case:
    """Return the problem in which labels of a grade from a level on are relevant."""
    if level is None:
        return case
    assert case.all_grades is not None
    least = level if level > 1 else 2.0**-30
    truth = [{label for label, grade in row.items() if grade >= least} for row in case.all_grades]
    return replace(case, truth=truth, grades=case.all_grades)


def left_out_of(problem: Problem) -> list[set[int]]:
    """Return the labels of rows that are not judged."""
    left_out: list[set[int]] = [set() for _ in range(problem.n_rows)]
    for name in ("exclude", "unjudged"):
        for row, labels in zip(left_out, problem.arguments.get(name, ()), strict=False):
            row |= labels
    for row, labels in zip(left_out, problem.arguments.get("judged", ()), strict=False):
        row |= {*range(problem.n_labels)} - labels
    return left_out


def leave_out(case: Case, left_out: list[set[int]]) -> None:
    """Take labels of rows out of the truth and of the predictions."""
    case.left_out = left_out
    case.truth = [row - out for row, out in zip(case.truth, left_out, strict=True)]
    if case.pred is not None:
        case.pred = [row - out for row, out in zip(case.pred, left_out, strict=True)]
    if case.listed is not None:
        rows = zip(case.listed, left_out, strict=True)
        case.listed = [[entry for entry in row if entry[0] not in out] for row, out in rows]


def value_of(spec: Spec, case: Case) -> float:
    """Return the value of a measure."""
    case = at_level(case, spec.level)
    name = spec.metric.name
    params = dict(spec.params)
    if spec.metric.family == "curves":
        return curves.value(name, case, spec.average, **params)
    if spec.metric.family == "hierarchy":
        return hierarchy.value(name, case, spec.average, spec.cutoff)
    if spec.metric.family == "abstaining":
        return abstaining.value(case, int(spec.cutoff), **params)
    if spec.metric.family == "margins":
        return margins.value(name, case, spec.average)
    if spec.metric.family == "predicted":
        return predicted.value(name, case, spec.k, **params)
    if spec.metric.family == "calibration":
        return calibration.value(name, case, spec.cutoff, **params)
    of_rows = ("judged", *persistence.NAMES, *judgements.NAMES)
    if spec.metric.family == "losses" or name in of_rows:
        return metrics.mean(rows_of(spec, case) or [], metrics.row_weights(case))
    return metrics.value(name, case, spec.average, spec.cutoff, **params)


def rows_of(spec: Spec, case: Case) -> list[float] | None:
    """Return the values of rows, NaN for skipped ones; None if the measure is no mean of rows."""
    case = at_level(case, spec.level)
    name = spec.metric.name
    params = dict(spec.params)
    if spec.metric.family in ("curves", "abstaining", "calibration", "predicted"):
        return None
    if spec.metric.family == "hierarchy":
        return hierarchy.rows(name, case, spec.average, spec.cutoff)
    if spec.metric.family == "margins":
        return margins.rows(name, case, spec.average)
    if spec.metric.family == "losses":
        return losses.rows(name, case, **params)
    if name == "judged":
        return judged.rows(case, spec.k or 0)
    if name in judgements.NAMES:
        return judgements.rows(name, case, spec.k, **params)
    if name in persistence.NAMES:
        return persistence.rows(name, case, spec.cutoff, **params)
    return metrics.rows(name, case, spec.average, spec.cutoff, **params)
