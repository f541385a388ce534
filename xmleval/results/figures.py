"""The kinds of figures of results: functions that make panels of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count, pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import Keyword, counted
from xmleval.metrics.spec import Spec
from xmleval.results.differences import Difference
from xmleval.results.shown import Compared, FigureData, Ranked, Reported
from xmleval.show.panels import DotPanel, LinePanel, Panel, PointPanel, RankPanel, Series, Values
from xmleval.show.style import abridged
from xmleval.show.tables import TEXT_TAILS
from xmleval.statistics.jackknife import Estimate, estimate

UNDEFINED = (math.nan, math.nan)  # ends of an interval
MOST_PANELS = 6  # of groups
BINS = 10  # of scores
MOST_OUTLIERS = 6
MOST_PAIRS = 6
RELEVANT_SHARE = "share that is relevant"
X_LABEL = "average rank over data sets (1 is best)"
LONGEST_RANGE = 14  # characters of a tick with the training rows of a group


class Kind(NamedTuple):
    """A kind of figure: a function that makes its panels, and texts about it."""

    make: Callable[[FigureData], Sequence[Panel]]
    shows: str = ""
    needs: str | Keyword = ""  # results without which there are no panels
    heading: str = ""  # on a page
    caption: str = ""
    in_tables: bool = False  # shows the measures that the table shows; else all that were computed
    against_k: bool = False  # shows a measure at several cutoffs


def dots_of_values(data: FigureData) -> list[Panel]:
    """Make a row of dots for each measure with values within [0, 1]."""
    ticks = _ticks(data.specs)
    if not ticks:
        return []
    level = next(iter(data.models.values())).confidence_level
    x_label = "value"
    if level is not None:
        x_label += f", {level:.4g} interval"
    series = [
        _value_series(name, range(len(ticks)), [(report, spec) for spec in ticks])
        for name, report in data.models.items()
    ]
    return [DotPanel(series, x_label=x_label, ticks=[*ticks.values()])]


def dots_of_differences(data: FigureData) -> list[Panel]:
    """Make dots of the differences of pairs with their intervals, full if significant."""
    ticks = _ticks(data.specs)
    comparison = data.comparison
    if comparison is None or not comparison.pairs or not ticks:
        return []
    names = dict(zip(comparison._names, _distinct_names(data.models), strict=True))
    series = list[Series]()
    for a, b in _pairs_to_draw(comparison):
        differences = [comparison.difference(spec.name, a, b) for spec in ticks]
        series.append(_difference_series(f"{names[a]} - {names[b]}", differences))
    subject = "difference"
    if len(series) == 1:
        subject = series[0].name
    x_label = f"{subject}, {comparison.level:.4g} interval (full: significant)"
    return [DotPanel(series, x_label=x_label, ticks=[*ticks.values()], has_zero=True)]


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Return abridged names, or full names if abridged ones would be the same."""
    full = [*names]
    abridged_names = [*map(abridged, full)]
    if len({*abridged_names}) < len({*full}):
        return full
    return abridged_names


def _pairs_to_draw(comparison: Compared) -> list[tuple[str, str]]:
    """Return all pairs if they are few, or those with the model that is better most often."""
    if len(comparison.pairs) <= MOST_PAIRS:
        return comparison.pairs
    wins = [difference.better for difference in comparison.differences if not difference.kind]
    best = max(comparison._names, key=wins.count)
    return [pair for pair in comparison.pairs if best in pair]


def _difference_series(name: str, differences: Sequence[Difference]) -> Series:
    """Return the differences of two models with their intervals."""
    values = np.array([each.value for each in differences])
    ends = _interval_ends([each.estimate for each in differences])
    is_significant = np.array([each.better is not None for each in differences])
    return Series(name, range(len(differences)), values, ends, is_significant)


def lines_of_cutoffs(data: FigureData) -> list[Panel]:
    """Make a panel for each measure with two or more cutoffs."""
    families: dict[str, dict[int, Spec]] = {}
    for spec in data.specs:
        if _has_cutoff_within(spec, data.models):
            families.setdefault(spec.family, {})[int(spec.cutoff)] = spec
    panels = list[Panel]()
    for title, specs in families.items():
        cutoffs = sorted(specs)
        if len(cutoffs) > 1:
            lines = [
                _value_series(name, cutoffs, [(report, specs[k]) for k in cutoffs])
                for name, report in data.models.items()
            ]
            panels.append(LinePanel(lines, title, "k", "value", are_whole=True))
    return panels


def lines_of_ranks(data: FigureData) -> list[Panel]:
    """Make lines of precision at each rank alone, from P@1, P@2, ... without a gap."""
    names = {
        int(spec.cutoff): spec.name
        for spec in data.specs
        if spec.metric.name == "p" and _has_cutoff_within(spec, data.models)
    }
    ranks = [*takewhile(names.__contains__, count(1))]
    if len(ranks) < 2:
        return []
    measures = [names[k] for k in ranks]
    lines = [_precision_by_rank(name, report, measures) for name, report in data.models.items()]
    y_label = "share of rows with a relevant label there"
    return [LinePanel(lines, "Precision at each rank", "rank", y_label, are_whole=True)]


def _precision_by_rank(name: str, report: Reported, measures: Sequence[str]) -> Series:
    """Return precision at ranks 1, 2, ... alone, from measures P@1, P@2, ..."""
    ranks = range(1, len(measures) + 1)
    results = report.results
    sums = [
        k * np.r_[results.values[measure], results.replicates.get(measure, ())]
        for k, measure in zip(ranks, measures, strict=True)
    ]
    values = np.diff(sums, axis=0, prepend=0)  # of all rows, and without each jackknife group
    level = report.confidence_level
    if level is None or values.shape[1] == 1:
        return Series(name, ranks, values[:, 0])
    estimates = [estimate(float(row[0]), row[1:], level, 0.0, 1.0) for row in values]
    return Series(name, ranks, values[:, 0], _interval_ends(estimates))


def dots_of_groups(data: FigureData) -> list[Panel]:
    """Make a panel for each measure, at its last cutoff, with a row of dots for each group."""
    model_groups = {model: report.groups for model, report in data.models.items()}
    first_model = next(iter(model_groups))
    first_groups = model_groups[first_model]
    ranges = dict(zip(first_groups, data.models[first_model].group_ranges, strict=False))
    names = _from_head_to_tail(_names_in_all(first_groups, model_groups.values()), ranges)
    if not names:
        return []
    ticks = [abridged(ranges.get(name, name), LONGEST_RANGE) for name in names]
    y_label = "group"
    if ranges:
        y_label = "training rows"
    return _panels_by_group(data.specs, model_groups, names, ticks, y_label)


def dots_of_row_groups(data: FigureData) -> list[Panel]:
    """Make a panel for each measure, with a row of dots for each group of rows in their order."""
    model_groups = {model: report.row_groups for model, report in data.models.items()}
    first_groups = next(iter(model_groups.values()))
    names = _names_in_all(first_groups, model_groups.values())
    if not names:
        return []
    ticks = [abridged(name, LONGEST_RANGE) for name in names]
    return _panels_by_group(data.specs, model_groups, names, ticks, "group")


def _panels_by_group(
    specs: Sequence[Spec],
    model_groups: Mapping[str, Mapping[str, Reported]],
    names: Sequence[str],
    ticks: list[str],
    y_label: str,
) -> list[Panel]:
    """Return a panel for each measure, at its last cutoff, with the values within groups."""
    reports = {model: [groups[name] for name in names] for model, groups in model_groups.items()}
    panels = list[Panel]()
    for spec in _specs_of_groups(specs, reports.values())[:MOST_PANELS]:
        series = [
            _value_series(model, range(len(names)), [(report, spec) for report in group_reports])
            for model, group_reports in reports.items()
        ]
        panels.append(DotPanel(series, spec.symbol, "value", y_label, ticks))
    return panels


def _specs_of_groups(
    specs: Sequence[Spec], model_reports: Iterable[Sequence[Reported]]
) -> list[Spec]:
    """Return the measures that all groups have, each at its last cutoff."""
    values = [report.results.values for reports in model_reports for report in reports]
    last = {spec.family: spec for spec in specs}.values()
    return [spec for spec in last if all(spec.name in group_values for group_values in values)]


def _names_in_all(names: Iterable[str], mappings: Collection[Mapping[str, object]]) -> list[str]:
    """Return the names that all mappings have."""
    return [name for name in names if all(name in mapping for mapping in mappings)]


def _from_head_to_tail(names: list[str], ranges: Mapping[str, str]) -> list[str]:
    """Return groups by falling numbers of training rows, unless these rise already.

    Zero-shot labels are last.
    """
    n_rows = dict[str, int]()
    for name in names:
        numbers = re.findall(r"\d+", ranges.get(name, ""))
        n_rows[name] = int(numbers[0]) if numbers else 0
    if any(n_rows[a] > n_rows[b] for a, b in pairwise(names)):
        return sorted(names, key=lambda name: -n_rows[name])
    return names


def roc_curves(data: FigureData) -> list[Panel]:
    """Make ROC curves of all entries."""
    curves = [
        Series(name, *_listed_part(*report.roc_curve()))
        for name, report in _reports_with_curves(data).items()
    ]
    if not curves:
        return []
    x_label = "share of irrelevant entries"
    y_label = "share of relevant entries"
    return [LinePanel(curves, "ROC", x_label, y_label, has_markers=False, has_diagonal=True)]


def precision_recall_curves(data: FigureData) -> list[Panel]:
    """Make precision-recall curves of all entries."""
    curves = list[Series]()
    for name, report in _reports_with_curves(data).items():
        precision, recall = _listed_part(*report.pr_curve())
        curves.append(Series(name, recall, precision))
    if not curves:
        return []
    return [LinePanel(curves, "Precision and recall", "recall", "precision", has_markers=False)]


def _listed_part(x: Floats, y: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return a curve up to the last listed entry; unlisted ones would add a straight line."""
    is_drawn = np.r_[True, np.isfinite(thresholds[1:])]
    return x[is_drawn], y[is_drawn]


def _reports_with_curves(data: FigureData) -> dict[str, Reported]:
    """Return the reports that keep points of curves, by model."""
    return {
        name: report for name, report in data.models.items() if "micro" in report.results.points
    }


def curves_of_scores(data: FigureData) -> list[Panel]:
    """Make shares of relevant and irrelevant listed entries above each score, by model."""
    panels = list[Panel]()
    for name, report in _reports_with_curves(data).items():
        fpr, tpr, thresholds = report.roc_curve()
        is_listed = np.isfinite(thresholds)
        lines = list[Series]()
        for kind, shares in (("relevant", tpr[is_listed]), ("irrelevant", fpr[is_listed])):
            largest = shares.max(initial=0) or 1
            lines.append(Series(kind, thresholds[is_listed], shares / largest))
        side = "above" if report.higher_is_better else "below"
        y_label = f"share of listed at or {side}"
        panels.append(LinePanel(lines, abridged(name), "score", y_label, has_markers=False))
    return panels


def lines_of_calibration(data: FigureData) -> list[Panel]:
    """Make the share of relevant entries by score: of bins of measures, or by points of a curve."""
    return _calibration_by_bins(data) or _calibration_by_points(data)


def _calibration_by_bins(data: FigureData) -> list[Panel]:
    """Make a panel for each table of bins, under the first of its measures."""
    model_bins = {name: report.results.reliability for name, report in data.models.items()}
    tables = dict[object, Spec]()
    for spec in data.specs:
        if any(spec.name in bins_of for bins_of in model_bins.values()):
            tables.setdefault((spec.state, spec.params, spec.k), spec)
    panels = list[Panel]()
    for spec in tables.values():
        lines = list[Series]()
        for name, bins_of in model_bins.items():
            if spec.name in bins_of:
                bins = bins_of[spec.name]
                is_filled = bins.n > 0
                lines.append(Series(name, bins.mean_score[is_filled], bins.hit_rate[is_filled]))
        entries = "listed entries"
        if spec.k:
            entries = f"first {spec.k} entries"
        x_label = f"mean score of each bin of {entries}"
        title = f"Calibration, {spec.symbol}"
        panels.append(LinePanel(lines, title, x_label, RELEVANT_SHARE, has_diagonal=True))
    return panels


def _calibration_by_points(data: FigureData) -> list[Panel]:
    """Make one panel of the models whose scores are within 0 and 1."""
    curves = list[Series]()
    for name, report in _reports_with_curves(data).items():
        points = report.results.points["micro"]
        points = points[np.isfinite(points[:, 0])]
        is_share = len(points) > 1 and points[0, 0] <= 1 and points[-1, 0] >= 0
        if is_share and report.higher_is_better:  # distances are no probabilities
            curves.append(Series(name, *_shares_by_score(points)))
    if not curves:
        return []
    return [
        LinePanel(
            curves,
            title="Calibration",
            x_label="score (bins of listed entries)",
            y_label=RELEVANT_SHARE,
            has_markers=False,
            has_diagonal=True,
        )
    ]


def _shares_by_score(points: Floats) -> tuple[Floats, Floats]:
    """Return scores and shares of relevant entries as a line for each bin, with gaps between.

    Bins reach from point to point.
    """
    nearest = [int(np.abs(points[:, 0] - edge).argmin()) for edge in np.linspace(1, 0, BINS + 1)]
    edges = np.unique([0, *nearest, len(points) - 1])
    lines = []
    for start, end in pairwise(edges.tolist()):
        hits, misses = points[end, 1:]
        if start:
            hits, misses = points[end, 1:] - points[start, 1:]
        share = hits / (hits + misses) if hits + misses else math.nan
        lines.append([(points[end, 0], share), (points[start, 0], share), UNDEFINED])
    x, y = np.array(lines[::-1]).reshape(-1, 2)[:-1].T
    return x, y


def points_of_labels(data: FigureData) -> list[Panel]:
    """Make a point for each label by the first two models; labels that differ most are named."""
    if len(data.models) < 2:
        return []
    (a, first), (b, second) = [*data.models.items()][:2]
    first_columns = first.results.labels
    second_columns = second.results.labels
    column = _shared_column(data.specs, first_columns, second_columns)
    if column is None:
        return []
    n_labels = min(first_columns[column].size, second_columns[column].size)
    x = first_columns[column][:n_labels].astype(np.float64)
    y = second_columns[column][:n_labels].astype(np.float64)
    labels = np.flatnonzero(~np.isnan(x + y) & (first_columns["support"][:n_labels] > 0))
    if not labels.size:
        return []
    x = x[labels]
    y = y[labels]
    names: Sequence[Any] = range(n_labels)
    if first.label_names is not None:
        names = first.label_names
    outliers = list[Series]()
    for n in _farthest(np.abs(y - x)):
        name = str(names[int(labels[n])])
        outliers.append(Series(name, x[[n]], y[[n]]))
    x_label = f"{column} of {abridged(a)}"
    y_label = f"{column} of {abridged(b)}"
    title = counted(labels.size, "labels")
    return [PointPanel(series=outliers, title=title, x_label=x_label, y_label=y_label, x=x, y=y)]


def _shared_column(
    specs: Sequence[Spec],
    first_columns: Mapping[str, Floats],
    second_columns: Mapping[str, Floats],
) -> str | None:
    """Return the first measure with values by label of both models."""
    columns = [spec.label_column for spec in specs]
    columns += ["f1", "ap", "auc", *(f"f1@{spec.k}" for spec in specs)]
    for column in columns:
        if column in first_columns and column in second_columns:
            return column
    return None


def _farthest(distances: Floats) -> list[int]:
    """Return the numbers of the points farthest from the diagonal."""
    farthest = np.argsort(-distances, kind="stable")[:MOST_OUTLIERS].tolist()
    return [n for n in farthest if distances[n] > 0]


def dots_of_average_ranks(rankings: Sequence[Ranked]) -> list[Panel]:
    """Make a row of dots for each ranking, a dot for each model."""
    names = {model: name for ranking in rankings for model, name in ranking._names.items()}
    places = range(len(rankings))
    series = list[Series]()
    for model, name in names.items():
        ranks = [ranking.average_ranks.get(model, math.nan) for ranking in rankings]
        series.append(Series(name, places, ranks))
    ticks = [abridged(ranking.symbol) for ranking in rankings]
    return [DotPanel(series, x_label=X_LABEL, ticks=ticks)]


def diagrams_of_ranks(rankings: Sequence[Ranked]) -> list[Panel]:
    """Make critical difference diagrams (Demsar 2006), titled by measure if there are several."""
    panels = list[Panel]()
    for ranking in rankings:
        names = ranking._names
        average_ranks = ranking.average_ranks.items()
        panels.append(
            RankPanel(
                [Series(names[model], [0], [rank]) for model, rank in average_ranks],
                title=ranking.symbol if len(rankings) > 1 else "",
                x_label=X_LABEL,
                ticks=[ranking.symbol],
                critical_difference=ranking.critical_difference,
                control=None if ranking.control is None else names[ranking.control],
                bars=_bars(ranking),
            )
        )
    return panels


def _bars(ranking: Ranked) -> list[tuple[float, float]]:
    """Return the first and last rank of models that do not differ significantly, by group.

    With a control, these are the limits of all ranks that are not significantly different.
    """
    ranks = ranking.average_ranks
    if ranking.control is None:
        return [(ranks[group[0]], ranks[group[-1]]) for group in ranking.groups]
    center = ranks[ranking.control]
    low = max(1, center - ranking.critical_difference)
    high = min(max(len(ranks), 2), center + ranking.critical_difference)
    return [(low, high)]


CURVE_INPUTS = "scores, and curve_points="
KINDS = {
    "values": Kind(
        dots_of_values,
        "values of measures with their intervals",
        "measures within 0 and 1",
        "Values",
        "Values of each measure; lines are confidence intervals where there are any.",
        in_tables=True,
    ),
    "differences": Kind(
        dots_of_differences,
        "differences of models with their intervals",
        "a comparison",
        "Differences",
        "Differences of pairs with their intervals; "
        "full marks are significant after Holm's correction.",
        in_tables=True,
    ),
    "cutoffs": Kind(
        lines_of_cutoffs,
        "measures against k",
        "measures at two cutoffs or more, such as p@1 and p@5",
        "Measures against k",
        "Bands are confidence intervals of each value alone.",
        against_k=True,
    ),
    "ranks": Kind(
        lines_of_ranks,
        "precision at each rank",
        "p@1, p@2 and so on, without a gap",
        "Precision at each rank",
        "The share of rows whose label at this rank alone is relevant.",
        against_k=True,
    ),
    "groups": Kind(
        dots_of_groups,
        "measures within groups of labels",
        Keyword("label_groups"),
        "Groups of labels",
        "Measures within groups of labels: truth and ranking are restricted to the group, "
        "and rows without its labels are left out. Lines are confidence intervals.",
        in_tables=True,
    ),
    "row_groups": Kind(
        dots_of_row_groups,
        "measures within groups of rows",
        Keyword("row_groups"),
        "Groups of rows",
        "Measures of the rows of each group alone. Lines are confidence intervals.",
        in_tables=True,
    ),
    "precision_recall": Kind(
        precision_recall_curves,
        "precision-recall curves",
        CURVE_INPUTS,
        "Precision-recall curve",
        "Precision and recall of all entries, by threshold of scores. "
        "A curve ends where lists end.",
    ),
    "roc": Kind(
        roc_curves,
        "ROC curves",
        CURVE_INPUTS,
        "ROC curve",
        "Shares of relevant and of irrelevant entries, by threshold of scores. "
        "A curve ends where lists end.",
    ),
    "scores": Kind(
        curves_of_scores,
        "scores of listed entries, relevant and irrelevant",
        CURVE_INPUTS,
        "Scores",
        "Shares of listed entries with this score or a better one, relevant and irrelevant.",
    ),
    "calibration": Kind(
        lines_of_calibration,
        "share of relevant entries by score",
        "ece, or scores within 0 and 1 and curve_points=",
        "Calibration",
        "The share of relevant entries in bins of scores; "
        "the bins of calibrated scores cross the diagonal.",
        in_tables=True,
    ),
    "labels": Kind(
        points_of_labels,
        "values by label of two models",
        "two models and per_label=True, with a label that both have a value for",
        "Labels",
        "Each relevant label by both models; those that differ most have their names.",
    ),
}


def _has_cutoff_within(spec: Spec, models: Mapping[str, Reported]) -> bool:
    """Return whether a measure has a cutoff that is no larger than the number of labels."""
    if not spec.cutoff.isdigit():
        return False
    return int(spec.cutoff) <= max(report.n_labels for report in models.values())


def _ticks(specs: Sequence[Spec]) -> dict[Spec, str]:
    """Return symbols, with arrows towards better values, of measures within [0, 1]."""
    return {
        spec: abridged(f"{spec.symbol}{TEXT_TAILS[spec.metric.direction]}")
        for spec in specs
        if spec.metric.range == (0, 1)
    }


def _value_series(name: str, places: Values, cells: Sequence[tuple[Reported, Spec]]) -> Series:
    """Return values of measures in reports, with confidence intervals if there are any."""
    values = np.array([report[spec.name] for report, spec in cells])
    ends = _interval_ends([report.estimates.get(spec.name) for report, spec in cells])
    return Series(name, places, values, None if np.isnan(ends).all() else ends)


def _interval_ends(estimates: Sequence[Estimate | None]) -> Floats:
    """Return lower and upper ends of intervals, NaN without an interval; float64 (2, n)."""
    return np.array([(each or UNDEFINED)[:2] for each in estimates]).T
