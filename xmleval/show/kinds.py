"""The kinds of figures of reports: the numbers that each shows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import Keyword, Message, did_you_mean
from xmleval.metrics.spec import Spec
from xmleval.show.panels import LONGEST, Outlier, Panel, Series, abridged
from xmleval.show.tables import ARROWS
from xmleval.statistics.jackknife import estimate

Models = Mapping[str, Any]  # reports by name
MOST_PANELS = 6  # of groups, unless measures are named
BINS = 10  # of scores
MOST_OUTLIERS = 6
MOST_PAIRS = 6


class Kind(NamedTuple):
    """A figure: what it shows, what it needs, and its panels."""

    shows: str
    needs: str | Keyword
    panels: Callable[[Models, Sequence[Spec], Any], list[Panel]]


def values(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return a line of dots for each measure with values within [0, 1]."""
    shown = [spec for spec in specs if spec.metric.range == (0, 1)]
    if not shown:
        return []
    places = np.arange(len(shown), dtype=np.float64)
    series = [
        Series(
            name,
            np.array([one[spec.name] for spec in shown]),
            places,
            *_ends([(one, spec) for spec in shown]),
        )
        for name, one in models.items()
    ]
    return [Panel("", _with_intervals("value", models), "measure", series, "dots", _symbols(shown))]


def cutoffs(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return a panel for each measure with two or more cutoffs."""
    families: dict[str, list[Spec]] = {}
    for spec in specs:
        if _is_within(spec, models):
            families.setdefault(spec.family, []).append(spec)
    panels = []
    for title, own in families.items():
        if len(own) > 1:
            own.sort(key=lambda spec: int(spec.cutoff))
            at = np.array([float(spec.cutoff) for spec in own])
            series = [
                Series(
                    name,
                    at,
                    np.array([one[spec.name] for spec in own]),
                    *_ends([(one, spec) for spec in own]),
                )
                for name, one in models.items()
            ]
            panels.append(Panel(title, "k", "value", series))
    return panels


def at_ranks(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return precision at each rank alone, from P@1, P@2, ... without a gap."""
    own = {int(spec.cutoff): spec for spec in specs if spec.metric.name == "p" and _is_within(spec, models)}
    deepest = next((rank - 1 for rank in range(1, len(own) + 2) if rank not in own), 0)
    if deepest < 2:
        return []
    names = [own[rank].name for rank in range(1, deepest + 1)]
    at = np.arange(1.0, deepest + 1)

    def alone(of: Callable[[str], Any]) -> list[Any]:
        hits = [rank * of(name) for rank, name in enumerate(names, 1)]
        return [now - before for now, before in zip(hits, [0.0, *hits], strict=False)]

    series = []
    for name, one in models.items():
        found, ends = alone(one.results.values.__getitem__), None
        if all(each in one.results.replicates for each in names):
            without = alone(one.results.replicates.__getitem__)
            known = [
                estimate(value, own_groups, one.confidence_level, 0.0, 1.0)
                for value, own_groups in zip(found, without, strict=True)
            ]
            ends = [np.array([math.nan if e is None else e[n] for e in known]) for n in (0, 1)]
        series.append(Series(name, at, np.array(found), *(ends or (None, None))))
    return [Panel("Precision at each rank", "rank", "share of rows with a relevant label there", series)]


def groups(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return a panel for each measure, at its last cutoff, within groups of labels in their order."""
    first = next(iter(models.values()))
    names = [name for name in first.groups if all(name in one.groups for one in models.values())]
    if not names:
        return []
    ranges = dict(zip(first.groups, first.group_ranges, strict=False))
    names = _by_frequency(names, ranges)
    parts = {model: [one.groups[name] for name in names] for model, one in models.items()}
    ticks = [ranges.get(name, name) for name in names]
    at = np.arange(len(names), dtype=np.float64)
    panels = []
    deepest = {spec.family: spec for spec in specs}
    for spec in deepest.values():
        if not all(spec.name in part for own in parts.values() for part in own):
            continue
        series = []
        for model, own in parts.items():
            line = np.array([part[spec.name] for part in own])
            series.append(Series(model, at, line, *_ends([(part, spec) for part in own])))
        told = "labels by training rows" if ranges else "labels"
        panels.append(Panel(spec.symbol, told, "value", series, ticks=ticks))
    return panels[:MOST_PANELS]


def _by_frequency(names: list[str], ranges: Mapping[str, str]) -> list[str]:
    """Return names of groups in their order, or from head to tail where zero-shot labels stand before."""
    least = {
        name: int("".join(re.findall(r"^\d+", ranges.get(name, "").lstrip("<>"))) or -1) for name in names
    }
    falls = [least[a] > least[b] for a, b in pairwise(names)]
    mixed = -1 not in least.values() and any(falls) and not all(falls)
    return sorted(names, key=lambda name: -least[name]) if mixed else names


def roc(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return ROC curves of all entries."""
    curves = {name: one.roc_curve() for name, one in models.items() if "micro" in one.results.points}
    series = [Series(name, fpr, tpr) for name, (fpr, tpr, _) in curves.items()]
    told = "share of irrelevant entries", "share of relevant entries"
    return [Panel("ROC", *told, series, "curves", reference="diagonal")] if series else []


def precision_recall(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return precision-recall curves of all entries."""
    curves = {name: one.pr_curve() for name, one in models.items() if "micro" in one.results.points}
    series = [Series(name, recall, precision) for name, (precision, recall, _) in curves.items()]
    return [Panel("Precision and recall", "recall", "precision", series, "curves")] if series else []


def scores(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return shares of listed entries above each score, relevant and irrelevant; a panel for each model."""
    panels = []
    for name, one in models.items():
        if "micro" in one.results.points:
            fpr, tpr, thresholds = one.roc_curve()
            listed = np.isfinite(thresholds)
            series = [
                Series(told, thresholds[listed], share[listed] / (share[listed].max(initial=0) or 1))
                for told, share in (("relevant", tpr), ("irrelevant", fpr))
            ]
            told = f"share of listed at or {'above' if one.higher_is_better else 'below'}"
            panels.append(Panel(abridged(name), "score", told, series, "curves"))
    return panels


def calibration(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return the share of relevant entries by score: of bins of measures, or by points of a curve."""
    tables: dict[tuple[Any, ...], Spec] = {}  # the first measure of each table, which others share
    for spec in specs:
        if any(spec.name in one.reliability for one in models.values()):
            tables.setdefault((spec.state, spec.params, spec.k), spec)
    if tables:
        return [_of_bins(models, spec) for spec in tables.values()]
    series = []
    for name, one in models.items():
        points = one.results.points.get("micro")
        if points is None or not one.higher_is_better:  # distances are no probabilities
            continue
        points = points[np.isfinite(points[:, 0])]
        if len(points) > 1 and points[:, 0].min() >= 0 and points[:, 0].max() <= 1:
            series.append(Series(name, *_reliability(points)))
    told = "score (bins of listed entries)", "share that is relevant"
    return [Panel("Calibration", *told, series, "curves", reference="diagonal")] if series else []


def _of_bins(models: Models, spec: Spec) -> Panel:
    """Return the share of hits against the mean score, in the bins of a measure."""
    series = []
    for name, one in models.items():
        bins = one.reliability.get(spec.name)
        if bins is not None:
            held = bins["n"] > 0
            series.append(Series(name, bins["mean_score"][held], bins["hit_rate"][held]))
    entries = f"first {spec.k} entries" if spec.k else "listed entries"
    told = f"mean score of each bin of {entries}", "share that is relevant"
    return Panel(f"Calibration, {spec.symbol}", *told, series, "lines", reference="diagonal")


def _reliability(points: Floats) -> tuple[Floats, Floats]:
    """Return the ends of bins of scores and the share of relevant entries in each, as lines with gaps.

    Bins end at the points next to equal steps. A bin has no mean score: calibrated ones cross the diagonal.
    """
    nearest = [int(np.abs(points[:, 0] - edge).argmin()) for edge in np.linspace(1, 0, BINS + 1)]
    ends = np.unique([0, *nearest, len(points) - 1])
    lines = []
    for start, end in pairwise(ends.tolist()):
        above = points[start, 1:] if start else np.zeros(2)
        hits, misses = points[end, 1:] - above
        share = hits / (hits + misses) if hits + misses else math.nan
        lines.append([(points[end, 0], share), (points[start, 0], share), (math.nan, math.nan)])
    x, y = np.array(lines[::-1]).reshape(-1, 2)[:-1].T
    return x, y


def differences(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return differences of each pair with their intervals, full where they are significant."""
    if compared is None:
        return []
    shown = [spec for spec in specs if spec.metric.range == (0, 1)]
    places = np.arange(len(shown), dtype=np.float64)
    series = []
    shown_names = dict(zip(compared.reports, models, strict=True))
    for a, b in _pairs(compared):
        found = [compared.difference(spec.name, a, b) for spec in shown]
        ends = [(math.nan, math.nan) if one.estimate is None else one.estimate[:2] for one in found]
        low, high = (np.array(each) for each in zip(*ends, strict=True))
        series.append(
            Series(
                " - ".join(abridged(shown_names[name], LONGEST // 2) for name in (a, b)),
                np.array([one.value for one in found]), places, low, high,
                [one.better is not None for one in found],
            )
        )  # fmt: skip
    told = f"difference, {compared.level:.4g} interval (full: significant)"
    return [Panel("", told, "measure", series, "dots", _symbols(shown), "zero")] if shown else []


def _pairs(compared: Any) -> list[tuple[str, str]]:
    """Return the pairs to draw: of many models, those with the one that wins most tests."""
    if len(compared.pairs) <= MOST_PAIRS:
        return list(compared.pairs)
    wins = [one.better for one in compared.differences]
    best = max(compared.reports, key=wins.count)
    return [pair for pair in compared.pairs if best in pair]


def labels(models: Models, specs: Sequence[Spec], compared: Any) -> list[Panel]:
    """Return values by label of the first two models."""
    if len(models) < 2:
        return []
    (a, first), (b, second) = [*models.items()][:2]
    columns = [spec.label_column for spec in specs] + ["f1", "ap", "auc"]
    columns += [f"f1@{spec.k}" for spec in specs if spec.k]
    held = first.results.labels.keys() & second.results.labels.keys()
    column = next((name for name in columns if name in held), None)
    if column is None:
        return []
    x, y = (one.results.labels[column].astype(np.float64) for one in (first, second))
    x, y = x[: min(x.size, y.size)], y[: min(x.size, y.size)]
    known = ~(np.isnan(x) | np.isnan(y))
    if "support" in held:
        known &= first.results.labels["support"][: x.size] > 0
    if not known.any():
        return []
    away = np.where(known, np.abs(y - x), 0.0)
    far = [n for n in np.argsort(-away, kind="stable")[:MOST_OUTLIERS].tolist() if away[n] > 0]
    names = first.label_names
    outliers = [Outlier(str(n if names is None else names[n]), float(x[n]), float(y[n])) for n in far]
    told = f"{column} of {abridged(a)}", f"{column} of {abridged(b)}"
    return [
        Panel("Labels", *told, [Series("labels", x[known], y[known])], "points", [], "diagonal", outliers)
    ]


OF_CURVES = "scores, and curve_points="
AGAINST_K = "cutoffs", "ranks"  # kinds that need a measure at several cutoffs
OF_TABLES = "values", "differences", "groups", "calibration"  # kinds that show what the table shows
KINDS = {
    "values": Kind("values of measures with their intervals", "measures within 0 and 1", values),
    "differences": Kind("differences of models with their intervals", "a comparison", differences),
    "cutoffs": Kind("measures against k", "measures at two cutoffs or more, such as p@1 and p@5", cutoffs),
    "ranks": Kind("precision at each rank", "p@1, p@2 and so on, without a gap", at_ranks),
    "groups": Kind("measures within groups of labels", Keyword("label_groups"), groups),
    "precision_recall": Kind("precision-recall curves", OF_CURVES, precision_recall),
    "roc": Kind("ROC curves", OF_CURVES, roc),
    "scores": Kind("scores of listed entries, relevant and irrelevant", OF_CURVES, scores),
    "calibration": Kind(
        "share of relevant entries by score",
        "ece, or scores within 0 and 1 and curve_points=",
        calibration,
    ),
    "labels": Kind(
        "values by label of two models",
        "two models and per_label=True, with a label that both have a value for",
        labels,
    ),
}


def panels_of(kind: str, models: Models, specs: Sequence[Spec], compared: Any = None) -> list[Panel]:
    """Return the panels of a kind of figure, or say what it needs.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    models : dict of str to Report
        Reports by name.
    specs : sequence of Spec
        The measures.
    compared : Comparison, optional
        Their differences.
    """
    if kind not in KINDS:
        near = did_you_mean(str(kind), KINDS) or f"there are {', '.join(KINDS)}"
        raise ValueError(f"kind: {kind!r} is no figure; {near}")
    found = KINDS[kind].panels(models, specs, compared)
    if not found:
        raise ValueError(Message(f"kind: {kind!r} needs ", KINDS[kind].needs))
    return found


def _is_within(spec: Spec, models: Models) -> bool:
    """Tell whether a measure has a cutoff that is no larger than the number of labels."""
    return spec.cutoff.isdigit() and int(spec.cutoff) <= max(one.n_labels for one in models.values())


def _symbols(specs: Sequence[Spec]) -> list[str]:
    return [f"{spec.symbol} {ARROWS[spec.metric.direction]}".rstrip() for spec in specs]


def _with_intervals(text: str, models: Models) -> str:
    level = next(iter(models.values())).confidence_level
    return text if level is None else f"{text}, {level:.4g} interval"


def _ends(values: Sequence[tuple[Any, Spec]]) -> tuple[Floats | None, Floats | None]:
    """Return the ends of the confidence intervals of measures of reports, None if there are none."""
    found = [report.confidence.get(spec.name, (math.nan, math.nan)) for report, spec in values]
    if np.isnan(found).all():
        return None, None
    low, high = zip(*found, strict=True)
    return np.array(low), np.array(high)
