"""Values of measures from their definitions in `oracles`, for the problems that Hypothesis draws."""

from tests.oracles import (
    abstaining,
    calibration,
    curves,
    hierarchy,
    judged,
    losses,
    margins,
    metrics,
    predicted,
)
from tests.oracles.metrics import Case
from tests.oracles.propensity import rounded_once
from tests.problems import Problem, Spec

MEASURES = metrics.MEASURES.union(
    *(each.MEASURES for each in (abstaining, calibration, curves, hierarchy)),
    *(each.MEASURES for each in (judged, losses, margins, predicted)),
)


def case_of(problem: Problem) -> Case:
    """Return what the definitions take."""
    arguments, q, counts = problem.arguments, problem.arguments.get("inverse_propensity"), None
    if "y_train" in arguments:
        y_train = problem.options()["y_train"]
        counts = y_train.sum(axis=0).astype(int).tolist()
        q = [rounded_once(count, y_train.shape[0]) for count in counts]
    return Case(
        truth=problem.relevant(),
        n_labels=problem.n_labels,
        listed=None if problem.form == "none" else problem.listed,
        kind="list" if problem.form in ("list", "ragged") else "matrix",
        pred=arguments.get("y_pred"),
        weights=arguments.get("sample_weight"),
        inverse_propensity=q,
        edges=arguments.get("hierarchy", []),
        label_counts=counts,
        conventions=vars(problem.conventions),
        grades=problem.truth if problem.conventions.graded else None,
    )


def value_of(spec: Spec, case: Case) -> float:
    """Return the value of a measure."""
    name, params = spec.metric.name, dict(spec.params)
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
    if spec.metric.family == "losses" or name == "judged":
        return metrics.mean(rows_of(spec, case) or [], metrics.row_weights(case))
    return metrics.value(name, case, spec.average, spec.cutoff, **params)


def rows_of(spec: Spec, case: Case) -> list[float] | None:
    """Return the values of rows, NaN where one does not count; None if there are none."""
    name, params = spec.metric.name, dict(spec.params)
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
    return metrics.rows(name, case, spec.average, spec.cutoff, **params)
