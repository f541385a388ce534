"""The values of a plan's measures, from finished statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xmleval.engine.plan import ENDS, Plan, States
from xmleval.exact import exact_mean
from xmleval.input.weights import HEAVIEST
from xmleval.metrics import Setting
from xmleval.metrics.curves import AP, AUC
from xmleval.metrics.metric import settle_empty
from xmleval.metrics.sets import F1, PRECISION, RECALL
from xmleval.pooled.curves import Curve, Work
from xmleval.records import Floats, Ints
from xmleval.spec import Spec
from xmleval.states.label_totals import LabelTotals
from xmleval.states.rank_profile import Profile
from xmleval.view.view import Counts

Columns = dict[str, Any]


@dataclass
class Results:
    """Values by name (NaN where they are undefined), and what belongs to them.

    Parameters
    ----------
    values : dict of str to float
        Values of the specs.
    intervals : dict of str to tuple of float
        Least and largest value, where the scores do not tell it.
    labels_left_out : dict of str to int
        Labels that a mean over labels leaves out.
    thresholds : dict of str to float
        Least score that is predicted where a measure looks for the best one.
    labels : dict of str to array
        Results of every label.
    points : float64 (p, 3) or None
        Points of the curve of all cells: score, relevant and irrelevant cells at or above it.
    left_open : dict of str to str
        Specs without a value because of what the rows turned out to be, and what they need.
    """

    values: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    labels_left_out: dict[str, int] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    labels: Columns = field(default_factory=dict)
    points: Floats | None = None
    left_open: dict[str, str] = field(default_factory=dict)


def compute_results(states: States, work: Work) -> Results:
    """Return the value of every spec of the plan, and what belongs to it."""
    plan, results = states.plan, Results()
    found = results.values
    profile = states.profile.profile() if states.profile else None
    for spec in plan.every:
        kind, name, setting = plan.reads(spec), str(spec), plan.setting(spec)
        if kind == "profile" and profile:
            found[name] = profile_value(spec, profile, setting)
        elif kind == "rows":
            found[name] = states.rows.mean(name, plan.weighted)
        elif kind == "keys" and spec.metric.bracket:
            ends = spec.metric.bracket(states.keys[int(setting.params["bits"])].bracket(), setting)
            found[name], results.intervals[name] = sum(ends) / 2, ends
        elif states.sets and spec.metric.distinct:
            n_distinct = len(states.sets.fingerprints(work.threads))
            found[name] = spec.metric.distinct(n_distinct, states.sets.n_rows)
    for spec in states.bounded_specs:
        means = [states.row_bounds.mean(f"{spec} {end}", plan.weighted) for end in ENDS]
        results.intervals[str(spec)] = _interval(found[str(spec)], *means)
    _add_label_values(results, states, work)
    _add_curve_values(results, states, work)
    _add_margins(results, states)
    for spec in plan.specs:
        if spec.metric.combine:
            parts = [found[part] for part in spec.metric.parts]
            found[str(spec)] = spec.metric.combine(parts, plan.setting(spec))
    results.left_open = states.left_open()
    results.values = {str(s): found[str(s)] for s in plan.specs if str(s) not in results.left_open}
    return results


def _add_label_values(results: Results, states: States, work: Work) -> None:
    """Add measures over labels, one decision at a time: counts are as large as the labels."""
    plan = states.plan
    for decision, totals in states.totals.items():
        specs = [spec for spec in plan.reading("labels") if plan.decide(spec) == decision]
        results.values |= label_values(specs, totals, plan, work)
        if plan.keep_labels:
            counts = totals.counts(work)
            at_k = f"@{decision.value:.0f}" if decision.kind == "top" and decision != plan.decision else ""
            unit = HEAVIEST if plan.weighted else 1.0  # weights are counted in parts of the heaviest one
            results.labels["support"] = unit * (counts.tp + counts.fn)
            results.labels |= {f"{name}{at_k}": unit * getattr(counts, name) for name in ("tp", "fp", "fn")}
            for metric in (PRECISION, RECALL, F1):
                assert metric.counts
                setting = Setting(None, {}, plan.conventions, plan.n_labels)
                results.labels[f"{metric.name}{at_k}"] = metric.counts(counts, setting)


def _add_curve_values(results: Results, states: States, work: Work) -> None:
    """Add measures of pooled scores, which are sorted here."""
    plan, runs = states.plan, states.runs
    if runs is None:
        return
    cells, columns = None, None
    if runs.needs.cells:
        cells, points = runs.cells(work, plan.curve_points)
        results.points = points if plan.curve_points else None
    if runs.needs.columns:
        columns = runs.columns(work)
    for spec in plan.reading("runs"):
        name = str(spec)
        curves = cells if spec.average == "micro" else columns
        assert curves
        values = _curve_values(spec, curves.value, plan)
        results.values[name] = _averaged(spec, values, curves.value, plan)
        if spec.average != "micro":
            n_left_out = int(np.count_nonzero(np.isnan(values)))
            results.labels_left_out |= {name: n_left_out} if n_left_out else {}
        elif spec.metric.name == "peak_f1":
            results.thresholds[name] = float(curves.value.threshold[0])
        if plan.bounded(spec) and curves.worst and curves.best:
            ends = [
                _averaged(spec, _curve_values(spec, curve, plan), curve, plan)
                for curve in (curves.worst, curves.best)
            ]
            results.intervals[name] = _interval(results.values[name], *ends)
    if plan.keep_curves and columns:
        curve, setting = columns.value, Setting(None, {}, plan.conventions, plan.n_labels)
        assert AUC.curve
        assert AP.curve
        results.labels |= {
            "support": curve.n_relevant,
            "auc": AUC.curve(curve, setting),
            "ap": AP.curve(curve, setting),
            "peak_f1": curve.peak,
            "threshold": curve.threshold,
        }


def _add_margins(results: Results, states: States) -> None:
    """Add means over labels of what their extremes tell."""
    if states.extremes is None:
        return
    plan, extremes, closed = states.plan, states.extremes.extremes(), not states.left_open()
    for spec in plan.reading("extremes"):
        assert spec.metric.extremes
        values = spec.metric.extremes(extremes, plan.setting(spec))
        results.values[str(spec)] = exact_mean(values)
        n_left_out = int(np.count_nonzero(np.isnan(values)))
        results.labels_left_out |= {str(spec): n_left_out} if n_left_out and closed else {}
        if plan.keep_labels and closed:
            results.labels.setdefault("support", states.extremes.counts[2].astype(np.float64))
            results.labels[spec.metric.name] = values


def _curve_values(spec: Spec, curve: Curve, plan: Plan) -> Floats:
    assert spec.metric.curve
    return spec.metric.curve(curve, plan.setting(spec))


def _averaged(spec: Spec, values: Floats, curve: Curve, plan: Plan) -> float:
    if spec.average == "micro":
        return float(values[0])
    if plan.conventions.labels != "all":  # nothing is predicted for the others at their best
        values = np.where(curve.n_relevant > 0, values, np.nan)
    return mean_over_labels(values, curve.n_relevant if spec.average == "weighted" else None)


def _interval(value: float, *ends: float) -> tuple[float, float]:
    """Return the ends in order; rounding shall not leave the value outside."""
    return min(value, *ends), max(value, *ends)


def profile_terms(spec: Spec, profile: Profile, setting: Setting) -> Floats:
    """Return the sum of the row values of each group, NaN where rows are left out."""
    metric = spec.metric
    table = profile.hits if metric.table == "hits" else profile.gains
    assert metric.terms
    assert table is not None
    terms = metric.terms(table, profile, setting)
    return settle_empty(terms, profile.weight, profile.n_relevant, metric.empty, setting.conventions.empty)


def profile_value(spec: Spec, profile: Profile, setting: Setting) -> float:
    """Return a mean over rows, or a ratio of sums over rows."""
    terms = profile_terms(spec, profile, setting)
    if spec.metric.table == "gains/ideals":
        assert spec.metric.terms
        assert profile.ideals is not None
        over = math.fsum(spec.metric.terms(profile.ideals, profile, setting))
    else:
        over = math.fsum(profile.weight[~np.isnan(terms)])
    total = math.fsum(terms[~np.isnan(terms)])
    if not over:
        return math.nan
    # a ratio to the best sum possible may round to more than 1
    return min(total / over, 1.0) if spec.metric.table == "gains/ideals" else total / over


def label_values(specs: Sequence[Spec], totals: LabelTotals, plan: Plan, work: Work) -> dict[str, float]:
    """Average formulas over labels, or apply them to the totals of all labels."""
    if not specs:
        return {}
    settings = [(spec, plan.setting(spec)) for spec in specs]

    def sums_of(counts: Counts, times: Ints | None) -> list[tuple[float, ...]]:
        return [_label_sums(spec, counts, times, setting) for spec, setting in settings]

    found: dict[str, float] = {}
    columns = zip(*totals.map_tables(sums_of, work), strict=True)
    for (spec, setting), sums in zip(settings, columns, strict=True):
        whole = [math.fsum(column) for column in zip(*sums, strict=True)]
        if spec.average == "micro":
            assert spec.metric.counts
            counts = Counts(*map(np.atleast_1d, whole))
            found[str(spec)] = float(spec.metric.counts(counts, setting)[0])
        else:
            found[str(spec)] = _mean_of(whole)
    return found


def _label_sums(spec: Spec, counts: Counts, times: Ints | None, setting: Setting) -> tuple[float, ...]:
    """Return what is summed over labels, for the value of a spec; so many of them have each table."""
    if spec.average == "micro":
        return tuple(float((column if times is None else column * times).sum()) for column in counts)
    formula = spec.metric.labels or spec.metric.counts
    assert formula
    values, support = formula(counts, setting), counts.tp + counts.fn
    if spec.average == "weighted":
        return _mean_sums(values, support, times)
    rule = setting.conventions.labels
    if rule != "all" and not spec.metric.labels:
        values = np.where((support if rule == "present" else support + counts.fp) > 0, values, np.nan)
    return _mean_sums(values, times=times)


def mean_over_labels(values: Floats, support: Floats | None = None) -> float:
    """Average what is defined, by support; where nothing has any, plainly, as scikit-learn does."""
    return _mean_of(_mean_sums(values, support))


def _mean_sums(
    values: Floats, support: Floats | None = None, times: Ints | None = None
) -> tuple[float, float, float, float]:
    """Return the sums of values by support and of support, and of values and ones, where defined.

    times : how often each of them counts; None where all do once
    """
    defined = ~np.isnan(values)
    values = values[defined]
    n = float(values.size)
    if times is not None:
        times = times[defined]
        values, n = values * times, float(times.sum())
    if support is None:
        return 0.0, 0.0, float(values.sum()), n
    support = support[defined]
    weight = support if times is None else support * times
    return float((values * support).sum()), float(weight.sum()), float(values.sum()), n


def _mean_of(sums: Sequence[float]) -> float:
    by_support, support, plain, n = sums
    if support:
        return by_support / support
    return plain / n if n else math.nan


def kept_row_values(states: States, spec: Spec) -> Floats | None:
    """Return the kept row values of one spec, NaN where a row is left out; None if it has none."""
    kind = states.plan.reads(spec)
    if kind == "rows":
        return states.rows.rows(str(spec))
    if kind != "profile" or spec.metric.table == "gains/ideals" or not states.profile:
        return None
    return profile_terms(spec, states.profile.rows(), states.plan.setting(spec))
