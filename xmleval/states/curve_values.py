"""Values of curve measures, and which curves of pooled scores they need."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.base.errors import Keyword, Message
from xmleval.kernels.sweeps import AREA, FALLOUT, PRECISION, RECALL
from xmleval.metrics import Setting
from xmleval.metrics.curves import AP, AUC
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.numerics.discounts import logs_of
from xmleval.pooled.curves import NOTHING, Curves
from xmleval.states.label_totals import mean_over_labels
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.view.facts import Curve

EXACT = Context(prec=28)  # powers of the C library differ between processors
ASKED = {"recall": RECALL, "precision": PRECISION, "fallout": FALLOUT, "area": AREA}  # by `Metric.asks`


class Needs(NamedTuple):
    """Required curves: of all entries (``cells``), with ``bounds``, and of each label (``columns``).

    With ``pairs_alone``, all entries need only pair counts: no precision, peak, points or bounds. ``asked``
    is what measures ask of curves, see `kernels.sweeps.CurveSums`.
    """

    cells: bool
    columns: bool
    bounds: bool
    pairs_alone: bool = False
    asked: Floats = NOTHING

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
            asked=np.array([*dict.fromkeys(map(_asked, filter(_asked, specs)))]).reshape(-1, 2),
        )

    def of_spec(self, curve: Curve, spec: Spec) -> Curve:
        """Return a curve with what a spec asks of it, instead of all that was asked."""
        at = 1 + self.asked.tolist().index([*_asked(spec)]) if spec.metric.asks else 0
        arrays = (curve.precision[:, at], curve.peak[:, at], curve.threshold[:, at])
        return curve._replace(**dict(zip(("precision", "peak", "threshold"), arrays, strict=True)))


def _asked(spec: Spec) -> tuple[float, ...]:
    """Return what a spec asks of curves and its number, or nothing."""
    return (ASKED[spec.metric.asks], *dict(spec.params).values()) if spec.metric.asks else ()


def add_points(plan: Plan, resources: Resources, points: Floats, results: Results) -> None:
    """Add the points of the curve of all entries, and tell where memory holds fewer than were asked for."""
    results.points["micro"] = points
    limit = resources.points
    if limit < plan.curve_points:
        asked, share = Keyword("curve_points", f"{plan.curve_points}"), Keyword("memory")
        results.notes["points"] = Message(asked, f": at most {limit} points are kept, the share of ", share)


def curve_values(
    plan: Plan, specs: tuple[Spec, ...], needs: Needs, entries: Curves | None, columns: Curves | None
) -> Results:
    """Return the values of specs from the curves of all entries and of each label."""
    results = Results()
    for spec in specs:
        name, curves = spec.name, entries if spec.average == "micro" else columns
        assert curves
        curve = needs.of_spec(curves.value, spec)
        values = entry_values(spec, curve, plan)
        results.values[name] = _averaged(spec, values, curve, plan)
        n_left_out = int(np.count_nonzero(np.isnan(values)))
        if spec.average != "micro" and n_left_out:
            results.undefined_labels[name] = n_left_out
        if spec.average == "micro" and spec.metric.threshold:
            results.thresholds[name] = float(curve.threshold[0])
        if plan.bounded(spec) and curves.worst and curves.best:
            worst, best = (
                _averaged(spec, spec.metric.value(curve, plan.setting(spec)), curve, plan)
                for curve in (curves.worst, curves.best)
            )
            results.intervals[name] = worst, best
    if plan.keep_curves and columns:
        results.labels = _columns_of(columns.value, plan, specs, needs)
    return results


def entry_values(spec: Spec, curve: Curve, plan: Plan) -> Floats:
    """Return the values of a curve measure, of all entries or of labels; no product takes those of 0."""
    values: Floats = spec.metric.value(curve, plan.setting(spec))
    return np.where(values > 0, values, np.nan) if spec.average == "geometric" else values


def _averaged(spec: Spec, values: Floats, curve: Curve, plan: Plan) -> float:
    if spec.average == "micro":
        return float(values[0])
    return finished(spec, mean_over_labels(*terms_of(spec, values, curve.n_relevant, plan)))


def terms_of(spec: Spec, values: Floats, n_relevant: Floats, plan: Plan) -> tuple[Floats, Floats | None]:
    """Return the values that an average over labels takes, NaN for none, and their weights, if any."""
    if plan.conventions.labels != "all":  # the best cut predicts nothing for labels without relevant entries
        values = np.where(n_relevant > 0, values, np.nan)
    if spec.average == "geometric":
        values = logs_of(1.0 / values)
    return values, n_relevant if spec.average == "weighted" else None


def finished(spec: Spec, mean: float) -> float:
    """Return an average from the mean of `terms_of`."""
    return float(EXACT.power(2, Decimal(-mean))) if spec.average == "geometric" and mean == mean else mean


def _columns_of(curves: Curve, plan: Plan, specs: tuple[Spec, ...], needs: Needs) -> dict[str, Floats]:
    """Return the per-label results."""
    setting = Setting(None, {}, plan.conventions, plan.n_labels)
    asking = {}
    for spec in specs:
        if spec.metric.asks and spec.average != "micro":
            of_spec, name = needs.of_spec(curves, spec), spec.label_column
            asking[name] = spec.metric.value(of_spec, plan.setting(spec))
            if spec.metric.threshold:
                asking[f"threshold_of_{name}"] = of_spec.threshold
    curve = needs.of_spec(curves, parse_spec("ap.micro"))
    return {
        "support": curve.n_relevant,
        "auc": AUC.value(curve, setting),
        "ap": AP.value(curve, setting),
        "peak_f1": curve.peak,
        "threshold": curve.threshold,
        **asking,
    }
