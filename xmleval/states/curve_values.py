"""Values of curve measures, and which curves of pooled scores they need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmleval.message import Keyword, Message
from xmleval.metrics import Setting
from xmleval.metrics.curves import AP, AUC
from xmleval.plan import Plan
from xmleval.pooled.curves import Curves
from xmleval.records import Curve, Floats
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.label_totals import mean_over_labels
from xmleval.threads import Work


class Needs(NamedTuple):
    """Required curves: of all entries (``cells``), of each label (``columns``), and their bounds.

    With ``pairs_alone``, all entries need only pair counts: no precision, peak, points or bounds.
    """

    cells: bool
    columns: bool
    bounds: bool
    pairs_alone: bool = False

    @classmethod
    def of(cls, plan: Plan, specs: tuple[Spec, ...]) -> Needs:
        """Return the needs of the specs of a plan."""
        averages, bounds = {spec.average for spec in specs}, any(map(plan.bounded, specs))
        return cls(
            cells="micro" in averages or plan.curve_points > 0,
            columns=plan.keep_curves or bool(averages - {"micro"}),
            bounds=bounds,
            pairs_alone=not (plan.curve_points or bounds)
            and all(spec.metric.pairs_alone for spec in specs if spec.average == "micro"),
        )


def add_points(plan: Plan, work: Work, points: Floats, results: Results) -> None:
    """Add the points of the curve of all entries, and tell where memory holds fewer than were asked for."""
    results.points["micro"] = points
    most = work.budget.points
    if most < plan.curve_points:
        asked, share = Keyword("curve_points", f"{plan.curve_points}"), Keyword("memory")
        results.notes["points"] = Message(asked, f": at most {most} points are kept, the share of ", share)


def curve_values(
    plan: Plan, specs: tuple[Spec, ...], entries: Curves | None, columns: Curves | None
) -> Results:
    """Return the values of specs from the curves of all entries and of each label."""
    results = Results()
    for spec in specs:
        name, curves = spec.name, entries if spec.average == "micro" else columns
        assert curves
        values = spec.metric.value(curves.value, plan.setting(spec))
        results.values[name] = _averaged(spec, values, curves.value, plan)
        n_left_out = int(np.count_nonzero(np.isnan(values)))
        if spec.average != "micro" and n_left_out:
            results.labels_left_out[name] = n_left_out
        if spec.average == "micro" and spec.metric.threshold:
            results.thresholds[name] = float(curves.value.threshold[0])
        if plan.bounded(spec) and curves.worst and curves.best:
            worst, best = (
                _averaged(spec, spec.metric.value(curve, plan.setting(spec)), curve, plan)
                for curve in (curves.worst, curves.best)
            )
            results.intervals[name] = worst, best
    if plan.keep_curves and columns:
        results.labels = _columns_of(columns.value, plan)
    return results


def _averaged(spec: Spec, values: Floats, curve: Curve, plan: Plan) -> float:
    if spec.average == "micro":
        return float(values[0])
    return mean_over_labels(*terms_of(spec, values, curve.n_relevant, plan))


def terms_of(spec: Spec, values: Floats, n_relevant: Floats, plan: Plan) -> tuple[Floats, Floats | None]:
    """Return the values that an average over labels takes, NaN for none, and their weights, if any."""
    if plan.conventions.labels != "all":  # the best cut predicts nothing for labels without relevant entries
        values = np.where(n_relevant > 0, values, np.nan)
    return values, n_relevant if spec.average == "weighted" else None


def _columns_of(curve: Curve, plan: Plan) -> dict[str, Floats]:
    """Return the per-label results."""
    setting = Setting(None, {}, plan.conventions, plan.n_labels)
    return {
        "support": curve.n_relevant,
        "auc": AUC.value(curve, setting),
        "ap": AP.value(curve, setting),
        "peak_f1": curve.peak,
        "threshold": curve.threshold,
    }
