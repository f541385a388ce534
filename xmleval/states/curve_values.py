"""Values of curve measures, and which curves of pooled scores they need."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.base.errors import Keyword, Message
from xmleval.kernels.sweeps import AREA, ENVELOPE, FALLOUT, PRECISION, RECALL
from xmleval.metrics.curves import AP, AUC
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.numerics.discounts import logs_of
from xmleval.pooled.curves import NO_QUERIES, Curves
from xmleval.states.label_totals import mean_over_labels
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.view.facts import Curve
from xmleval.view.setting import Setting

EXACT = Context(prec=28)  # powers of the C library differ between processors
# codes of `Measure.curve_query`
QUERY_CODES = {
    "recall": RECALL,
    "precision": PRECISION,
    "fallout": FALLOUT,
    "area": AREA,
    "envelope": ENVELOPE,
}


class Needs(NamedTuple):
    """Curves that measures require.

    cells : whether they need the curve of all entries
    columns : whether they need the curve of each label
    bounds : whether they need bounds of the curve of all entries
    pairs_alone : whether all entries need only pair counts: no precision, peak, points or bounds
    queries : float64 (n, 2), code and number of each query; see `kernels.sweeps.CurveSums`
    """

    cells: bool
    columns: bool
    bounds: bool
    pairs_alone: bool = False
    queries: Floats = NO_QUERIES

    @classmethod
    def of(cls, plan: Plan, specs: tuple[Spec, ...]) -> Needs:
        """Return the needs of the specs of a plan."""
        averages = {spec.average for spec in specs}
        bounds = any(map(plan.bounded, specs))
        micro = [spec for spec in specs if spec.average == "micro"]
        pairs_suffice = all(spec.metric.pairs_alone for spec in micro)
        found = dict.fromkeys(_find_query(spec) for spec in specs if spec.metric.curve_query)
        queries = sorted(found, key=lambda query: query[0] == ENVELOPE)  # those of labels last
        return cls(
            cells=bool(micro) or plan.curve_points > 0,
            columns=plan.keep_curves or bool(averages - {"micro"}),
            bounds=bounds,
            pairs_alone=pairs_suffice and not (plan.curve_points or bounds),
            queries=np.array(queries).reshape(-1, 2),
        )

    @property
    def cell_queries(self) -> Floats:
        """The queries of the curve of all entries, the first ones: an envelope is of labels."""
        queries: Floats = self.queries[self.queries[:, 0] != ENVELOPE]
        return queries

    def select_query(self, curve: Curve, spec: Spec) -> Curve:
        """Return a curve with the answers to the query of a spec, instead of those to all."""
        column = 0  # of specs without a query
        if spec.metric.curve_query:
            column = 1 + self.queries.tolist().index([*_find_query(spec)])
        return curve._replace(
            precision=curve.precision[:, column],
            peak=curve.peak[:, column],
            threshold=curve.threshold[:, column],
        )


def _find_query(spec: Spec) -> tuple[float, ...]:
    """Return the code and the number of the query of a spec that has one."""
    return QUERY_CODES[spec.metric.curve_query], *dict(spec.params).values()


def add_points(plan: Plan, resources: Resources, points: Floats, results: Results) -> None:
    """Add the points of the curve of all entries, and a note if the memory limits their number."""
    results.points["micro"] = points
    limit = resources.points
    if limit < plan.curve_points:
        requested = Keyword("curve_points", f"{plan.curve_points}")
        share = f": at most {limit} points are kept, the share of "
        results.notes["points"] = Message(requested, share, Keyword("memory"))


def curve_values(
    plan: Plan,
    specs: tuple[Spec, ...],
    needs: Needs,
    entries: Curves | None,
    columns: Curves | None,
) -> Results:
    """Return the values of specs from the curve of all entries and the curves of labels.

    entries, columns : the curves, None if no spec needs them
    """
    results = Results()
    for spec in specs:
        curves = entries if spec.average == "micro" else columns
        assert curves
        _add_value(spec, curves, plan, needs, results)
    if plan.keep_curves and columns:
        results.labels = _label_columns(columns.value, plan, specs, needs)
    return results


def _add_value(spec: Spec, curves: Curves, plan: Plan, needs: Needs, results: Results) -> None:
    """Add the value of a spec, and its interval, undefined labels and threshold, if any."""
    name = spec.name
    curve = needs.select_query(curves.value, spec)
    values = entry_values(spec, curve, plan)
    results.values[name] = _average(spec, values, curve, plan)
    if spec.average != "micro":
        n_undefined = int(np.count_nonzero(np.isnan(values)))
        if n_undefined:
            results.undefined_labels[name] = n_undefined
    elif spec.metric.threshold:
        results.thresholds[name] = float(curve.threshold[0])
    if plan.bounded(spec) and curves.worst and curves.best:
        worst, best = (
            _average(spec, spec.metric.value(end, plan.setting(spec)), end, plan)
            for end in (curves.worst, curves.best)
        )
        results.intervals[name] = worst, best


def entry_values(spec: Spec, curve: Curve, plan: Plan) -> Floats:
    """Return the values of a curve measure; NaN for 0 if their product is taken."""
    values: Floats = spec.metric.value(curve, plan.setting(spec))
    if spec.average == "geometric":
        return np.where(values > 0, values, np.nan)
    return values


def _average(spec: Spec, values: Floats, curve: Curve, plan: Plan) -> float:
    """Return the value of all entries, or the average over labels."""
    if spec.average == "micro":
        return float(values[0])
    terms, weights = select_terms(spec, values, curve.n_relevant, plan)
    return finish_average(spec, mean_over_labels(terms, weights))


def select_terms(
    spec: Spec, values: Floats, n_relevant: Floats, plan: Plan
) -> tuple[Floats, Floats | None]:
    """Return the terms of an average over labels, NaN for excluded labels, and any weights."""
    # the best threshold predicts nothing for labels without relevant entries
    if plan.conventions.labels != "all":
        values = np.where(n_relevant > 0, values, np.nan)
    if spec.average == "geometric":
        values = logs_of(1.0 / values)
    weights = n_relevant if spec.average == "weighted" else None
    return values, weights


def finish_average(spec: Spec, mean: float) -> float:
    """Return an average from the mean of the terms of `select_terms`."""
    if spec.average != "geometric" or math.isnan(mean):
        return mean
    return float(EXACT.power(2, Decimal(-mean)))


def _label_columns(
    curves: Curve, plan: Plan, specs: tuple[Spec, ...], needs: Needs
) -> dict[str, Floats]:
    """Return the per-label results, by the name of the column."""
    setting = Setting(None, {}, plan.conventions, plan.n_labels)
    curve = needs.select_query(curves, parse_spec("ap.micro"))
    columns = {
        "support": curve.n_relevant,
        "auc": AUC.value(curve, setting),
        "ap": AP.value(curve, setting),
        "peak_f1": curve.peak,
        "threshold": curve.threshold,
    }
    for spec in specs:
        if spec.metric.curve_query and spec.average != "micro":
            queried = needs.select_query(curves, spec)
            name = spec.label_column
            columns[name] = spec.metric.value(queried, plan.setting(spec))
            if spec.metric.threshold:
                columns[f"threshold_of_{name}"] = queried.threshold
    return columns
