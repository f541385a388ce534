"""Values of measures by their definitions in `oracles`, for the problems that Hypothesis draws."""

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
    if problem.form in ("list", "ragged"):
        case.kind = "list"
    if "y_train" in arguments:
        rows = arguments["y_train"]
        counts = [sum(j in row for row in rows) for j in range(problem.n_labels)]
        case.label_counts = counts
        case.inverse_propensity = [rounded_once(count, len(rows)) for count in counts]
    if problem.conventions.graded:
        case.grades = problem.truth
    return case


def value_of(spec: Spec, case: Case) -> float:
    """Return the value of a measure."""
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
