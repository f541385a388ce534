"""The kinds of figures of results: functions that make panels of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count, pairwise, takewhile
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import Keyword, counted
from xmleval.metrics.spec import Spec
from xmleval.results.differences import Difference
from xmleval.results.shown import Compared, Ranked, Reported, Shown
from xmleval.show.panels import DotPanel, LinePanel, Panel, PointPanel, RankPanel, Series, Values
from xmleval.show.style import abridged
from xmleval.show.tables import TEXT_TAILS
from xmleval.statistics.jackknife import estimate

UNDEFINED = (math.nan, math.nan)  # ends of an interval
MOST_PANELS = 6  # of groups
BINS = 10  # of scores
MOST_OUTLIERS = 6
MOST_PAIRS = 6
RELEVANT_SHARE = "share that is relevant"
X_LABEL = "average rank over data sets (1 is best)"
LONGEST_RANGE = 14  # characters below a panel of groups
BAR_ENDS = 0.008  # of the width of a diagram of ranks, by which a bar is longer than its group


class Kind(NamedTuple):
    """A kind of figure: a function that makes its panels, and texts about it."""

    make: Callable[[Shown], Sequence[Panel]]
    shows: str = ""
    needs: str | Keyword = ""  # results without which there are no panels
    heading: str = ""  # on a page
    caption: str = ""
    of_tables: bool = False  # shows the measures that the table shows; else all that were computed
    against_k: bool = False  # shows a measure at several cutoffs


def dots_of_values(shown: Shown) -> list[Panel]:
    """Make a row of dots for each measure with values within [0, 1]."""
    ticks = _ticks(shown.specs)
    if not ticks:
        return []
    level = next(iter(shown.models.values())).confidence_level
    x_label = "value" if level is None else f"value, {level:.4g} interval"
    series = [
        _series(name, range(len(ticks)), [(report, spec) for spec in ticks])
        for name, report in shown.models.items()
    ]
    return [DotPanel(series, x_label=x_label, ticks=[*ticks.values()])]


def dots_of_differences(shown: Shown) -> list[Panel]:
    """Make dots of the differences of pairs with their intervals, full where they are significant."""
    ticks = _ticks(shown.specs)
    compared = shown.compared
    if compared is None or not compared.pairs or not ticks:
        return []
    names = dict(zip(compared.names, _distinct_names(shown.models), strict=True))
    series = [
        _differences(f"{names[a]} - {names[b]}", [compared.difference(spec.name, a, b) for spec in ticks])
        for a, b in _pairs_to_draw(compared)
    ]
    subject = series[0].name if len(series) == 1 else "difference"
    x_label = f"{subject}, {compared.level:.4g} interval (full: significant)"
    return [DotPanel(series, x_label=x_label, ticks=[*ticks.values()], has_zero=True)]


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Return names cut to fit, or in full where cut ones would be the same."""
    full = [*names]
    cut = [*map(abridged, full)]
    return cut if len({*cut}) == len({*full}) else full


def _pairs_to_draw(compared: Compared) -> list[tuple[str, str]]:
    """Return all pairs where they are few, or those with the model that is better most often."""
    if len(compared.pairs) <= MOST_PAIRS:
        return compared.pairs
    wins = [difference.better for difference in compared.differences if not difference.kind]
    best = max(compared.names, key=wins.count)
    return [pair for pair in compared.pairs if best in pair]


def _differences(name: str, differences: Sequence[Difference]) -> Series:
    """Return the differences of two models."""
    values = np.array([each.value for each in differences])
    ends = np.array([(each.estimate or UNDEFINED)[:2] for each in differences]).T
    is_significant = np.array([each.better is not None for each in differences])
    return Series(name, range(len(differences)), values, ends, is_significant)


def lines_of_cutoffs(shown: Shown) -> list[Panel]:
    """Make a panel for each measure with two or more cutoffs."""
    families: dict[str, dict[int, Spec]] = {}
    for spec in shown.specs:
        if _is_within(spec, shown.models):
            families.setdefault(spec.family, {})[int(spec.cutoff)] = spec
    panels = list[Panel]()
    for title, members in families.items():
        ks = sorted(members)
        if len(ks) > 1:
            lines = [
                _series(name, ks, [(report, members[k]) for k in ks]) for name, report in shown.models.items()
            ]
            panels.append(LinePanel(lines, title, "k", "value", are_whole=True))
    return panels


def lines_of_ranks(shown: Shown) -> list[Panel]:
    """Make lines of precision at each rank alone, from P@1, P@2, ... without a gap."""
    names = {
        int(spec.cutoff): spec.name
        for spec in shown.specs
        if spec.metric.name == "p" and _is_within(spec, shown.models)
    }
    ranks = [*takewhile(names.__contains__, count(1))]
    if len(ranks) < 2:
        return []
    measures = [names[k] for k in ranks]
    lines = [_precision_by_rank(name, report, measures) for name, report in shown.models.items()]
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
    estimates = [estimate(float(each[0]), each[1:], level, 0.0, 1.0) for each in values]
    ends = np.array([(each or UNDEFINED)[:2] for each in estimates]).T
    return Series(name, ranks, values[:, 0], ends)


def lines_of_groups(shown: Shown) -> list[Panel]:
    """Make a panel for each measure, at its last cutoff, within groups of labels in their order."""
    groups = {model: report.groups for model, report in shown.models.items()}
    first = next(iter(groups))
    ranges = dict(zip(groups[first], shown.models[first].group_ranges, strict=False))
    names = _from_head_to_tail(_in_all(groups[first], groups.values()), ranges)
    if not names:
        return []
    parts = {model: [of_model[name] for name in names] for model, of_model in groups.items()}
    measured = [part.results.values for of_model in parts.values() for part in of_model]
    deepest = {spec.family: spec for spec in shown.specs}.values()
    specs = {spec.name: spec for spec in deepest}
    ticks = [abridged(ranges.get(name, name), LONGEST_RANGE) for name in names]
    x_label = "labels by training rows" if ranges else "labels"
    panels = list[Panel]()
    for measure in _in_all(specs, measured)[:MOST_PANELS]:
        spec = specs[measure]
        lines = [
            _series(model, range(len(names)), [(part, spec) for part in of_model])
            for model, of_model in parts.items()
        ]
        panels.append(LinePanel(lines, spec.symbol, x_label, "value", ticks))
    return panels


def _in_all(names: Iterable[str], mappings: Collection[Mapping[str, object]]) -> list[str]:
    return [name for name in names if all(name in each for each in mappings)]


def _from_head_to_tail(names: list[str], ranges: Mapping[str, str]) -> list[str]:
    """Return groups by falling numbers of training rows, zero-shot labels last, unless these rise already."""
    firsts = {name: re.findall(r"\d+", ranges.get(name, "")) for name in names}
    n_rows = {name: int(numbers[0]) if numbers else 0 for name, numbers in firsts.items()}
    if any(n_rows[a] > n_rows[b] for a, b in pairwise(names)):
        return sorted(names, key=lambda name: -n_rows[name])
    return names


def roc_curves(shown: Shown) -> list[Panel]:
    """Make ROC curves of all entries."""
    curves = [
        Series(name, *_listed_part(*report.roc_curve())) for name, report in _with_curves(shown).items()
    ]
    if not curves:
        return []
    x_label = "share of irrelevant entries"
    y_label = "share of relevant entries"
    return [LinePanel(curves, "ROC", x_label, y_label, most_markers=0, has_diagonal=True)]


def precision_recall_curves(shown: Shown) -> list[Panel]:
    """Make precision-recall curves of all entries."""
    curves = list[Series]()
    for name, report in _with_curves(shown).items():
        precision, recall = _listed_part(*report.pr_curve())
        curves.append(Series(name, recall, precision))
    if not curves:
        return []
    return [LinePanel(curves, "Precision and recall", "recall", "precision", most_markers=0)]


def _listed_part(x: Floats, y: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return a curve from its start to the last listed entry: unlisted ones would add a straight line."""
    is_drawn = np.r_[True, np.isfinite(thresholds[1:])]
    return x[is_drawn], y[is_drawn]


def _with_curves(shown: Shown) -> dict[str, Reported]:
    return {name: report for name, report in shown.models.items() if "micro" in report.results.points}


def curves_of_scores(shown: Shown) -> list[Panel]:
    """Make shares of listed entries above each score, relevant and irrelevant; a panel for each model."""
    panels = list[Panel]()
    for name, report in _with_curves(shown).items():
        fpr, tpr, thresholds = report.roc_curve()
        is_listed = np.isfinite(thresholds)
        lines = list[Series]()
        for kind, shares in (("relevant", tpr[is_listed]), ("irrelevant", fpr[is_listed])):
            largest = shares.max(initial=0) or 1
            lines.append(Series(kind, thresholds[is_listed], shares / largest))
        side = "above" if report.higher_is_better else "below"
        panels.append(
            LinePanel(lines, abridged(name), "score", f"share of listed at or {side}", most_markers=0)
        )
    return panels


def lines_of_calibration(shown: Shown) -> list[Panel]:
    """Make the share of relevant entries by score: of bins of measures, or by points of a curve."""
    return _calibration_by_bins(shown) or _calibration_by_points(shown)


def _calibration_by_bins(shown: Shown) -> list[Panel]:
    """Make a panel for each table of bins, under the first of its measures."""
    kept = {name: report.results.reliability for name, report in shown.models.items()}
    tables = dict[object, Spec]()
    for spec in shown.specs:
        if any(spec.name in of_model for of_model in kept.values()):
            tables.setdefault((spec.state, spec.params, spec.k), spec)
    panels = list[Panel]()
    for spec in tables.values():
        lines = list[Series]()
        for name, of_model in kept.items():
            if spec.name in of_model:
                bins = of_model[spec.name]
                is_filled = bins.n > 0
                lines.append(Series(name, bins.mean_score[is_filled], bins.hit_rate[is_filled]))
        entries = f"first {spec.k} entries" if spec.k else "listed entries"
        x_label = f"mean score of each bin of {entries}"
        title = f"Calibration, {spec.symbol}"
        panels.append(LinePanel(lines, title, x_label, RELEVANT_SHARE, has_diagonal=True))
    return panels


def _calibration_by_points(shown: Shown) -> list[Panel]:
    """Make one panel of the models whose scores are within 0 and 1."""
    curves = list[Series]()
    for name, report in _with_curves(shown).items():
        points = report.results.points["micro"]
        points = points[np.isfinite(points[:, 0])]
        is_share = len(points) > 1 and points[0, 0] <= 1 and points[-1, 0] >= 0
        if is_share and report.higher_is_better:  # distances are no probabilities
            curves.append(Series(name, *_shares_by_score(points)))
    if not curves:
        return []
    x_label = "score (bins of listed entries)"
    return [LinePanel(curves, "Calibration", x_label, RELEVANT_SHARE, most_markers=0, has_diagonal=True)]


def _shares_by_score(points: Floats) -> tuple[Floats, Floats]:
    """Return bins of scores between points, and the share of relevant entries in each, as lines with gaps."""
    nearest = [int(np.abs(points[:, 0] - edge).argmin()) for edge in np.linspace(1, 0, BINS + 1)]
    edges = np.unique([0, *nearest, len(points) - 1])
    lines = []
    for start, end in pairwise(edges.tolist()):
        hits, misses = points[end, 1:] - (points[start, 1:] if start else 0)
        share = hits / (hits + misses) if hits + misses else math.nan
        lines.append([(points[end, 0], share), (points[start, 0], share), UNDEFINED])
    x, y = np.array(lines[::-1]).reshape(-1, 2)[:-1].T
    return x, y


def points_of_labels(shown: Shown) -> list[Panel]:
    """Make a point for each label by the first two models; the labels that differ most have their names."""
    if len(shown.models) < 2:
        return []
    (a, first), (b, second) = [*shown.models.items()][:2]
    of_first = first.results.labels
    of_second = second.results.labels
    column = _shared_column(shown.specs, of_first, of_second)
    if column is None:
        return []
    n_labels = min(of_first[column].size, of_second[column].size)
    x = of_first[column][:n_labels].astype(np.float64)
    y = of_second[column][:n_labels].astype(np.float64)
    labels = np.flatnonzero(~np.isnan(x + y) & (of_first["support"][:n_labels] > 0))
    if not labels.size:
        return []
    x = x[labels]
    y = y[labels]
    names = range(n_labels) if first.label_names is None else first.label_names
    outliers = [Series(str(names[int(labels[n])]), x[[n]], y[[n]]) for n in _farthest(np.abs(y - x))]
    x_label = f"{column} of {abridged(a)}"
    y_label = f"{column} of {abridged(b)}"
    title = counted(labels.size, "labels")
    return [PointPanel(series=outliers, title=title, x_label=x_label, y_label=y_label, x=x, y=y)]


def _shared_column(
    specs: Sequence[Spec], of_first: Mapping[str, Floats], of_second: Mapping[str, Floats]
) -> str | None:
    """Return the first measure with values by label of both models."""
    columns = [spec.label_column for spec in specs]
    columns += ["f1", "ap", "auc", *(f"f1@{spec.k}" for spec in specs)]
    return next((name for name in columns if name in of_first and name in of_second), None)


def _farthest(distances: Floats) -> list[int]:
    """Return the numbers of the points farthest from the diagonal."""
    farthest = np.argsort(-distances, kind="stable")[:MOST_OUTLIERS].tolist()
    return [n for n in farthest if distances[n] > 0]


def dots_of_average_ranks(rankings: Sequence[Ranked]) -> list[Panel]:
    """Make a row of dots for each ranking, a dot for each model."""
    names = {model: name for ranking in rankings for model, name in ranking.names.items()}
    places = range(len(rankings))
    series = [
        Series(name, places, [ranking.average_ranks.get(model, math.nan) for ranking in rankings])
        for model, name in names.items()
    ]
    ticks = [abridged(ranking.symbol) for ranking in rankings]
    return [DotPanel(series, x_label=X_LABEL, ticks=ticks)]


def diagrams_of_ranks(rankings: Sequence[Ranked]) -> list[Panel]:
    """Make critical difference diagrams (Demsar 2006); of several rankings, each under its measure."""
    panels = list[Panel]()
    for ranking in rankings:
        names = ranking.names
        panels.append(
            RankPanel(
                [Series(names[model], [0], [rank]) for model, rank in ranking.average_ranks.items()],
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
    """Return the first and last rank of each group; with a control, of all ranks similar to its own."""
    ranks = ranking.average_ranks
    low = 1
    high = max(len(ranks), 2)
    if ranking.control is not None:
        center = ranks[ranking.control]
        difference = ranking.critical_difference
        return [(max(low, center - difference), min(high, center + difference))]
    longer = BAR_ENDS * (high - low)
    return [(ranks[group[0]] - longer, ranks[group[-1]] + longer) for group in ranking.groups]


OF_CURVES = "scores, and curve_points="
KINDS = {
    "values": Kind(
        dots_of_values, "values of measures with their intervals", "measures within 0 and 1", "Values",
        "Values of each measure; lines are confidence intervals where there are any.", of_tables=True,
    ),
    "differences": Kind(
        dots_of_differences, "differences of models with their intervals", "a comparison", "Differences",
        "Differences of pairs with their intervals; full marks are significant after Holm's correction.",
        of_tables=True,
    ),
    "cutoffs": Kind(
        lines_of_cutoffs, "measures against k", "measures at two cutoffs or more, such as p@1 and p@5",
        "Measures against k", "Bands are confidence intervals of each value alone.", against_k=True,
    ),
    "ranks": Kind(
        lines_of_ranks, "precision at each rank", "p@1, p@2 and so on, without a gap",
        "Precision at each rank", "The share of rows whose label at this rank alone is relevant.",
        against_k=True,
    ),
    "groups": Kind(
        lines_of_groups, "measures within groups of labels", Keyword("label_groups"), "Groups of labels",
        "Measures within groups of labels: truth and ranking are restricted to the group, and rows without "
        "its labels are left out.", of_tables=True,
    ),
    "precision_recall": Kind(
        precision_recall_curves, "precision-recall curves", OF_CURVES, "Precision-recall curve",
        "Precision and recall of all entries, by threshold of scores. A curve ends where lists end.",
    ),
    "roc": Kind(
        roc_curves, "ROC curves", OF_CURVES, "ROC curve",
        "Shares of relevant and of irrelevant entries, by threshold of scores. A curve ends where lists end.",
    ),
    "scores": Kind(
        curves_of_scores, "scores of listed entries, relevant and irrelevant", OF_CURVES, "Scores",
        "Shares of listed entries with this score or a better one, relevant and irrelevant.",
    ),
    "calibration": Kind(
        lines_of_calibration, "share of relevant entries by score",
        "ece, or scores within 0 and 1 and curve_points=", "Calibration",
        "The share of relevant entries in bins of scores; the bins of calibrated scores cross the diagonal.",
        of_tables=True,
    ),
    "labels": Kind(
        points_of_labels, "values by label of two models",
        "two models and per_label=True, with a label that both have a value for", "Labels",
        "Each relevant label by both models; those that differ most have their names.",
    ),
}  # fmt: skip


def _is_within(spec: Spec, models: Mapping[str, Reported]) -> bool:
    """Return whether a measure has a cutoff that is no larger than the number of labels."""
    return spec.cutoff.isdigit() and int(spec.cutoff) <= max(report.n_labels for report in models.values())


def _ticks(specs: Sequence[Spec]) -> dict[Spec, str]:
    """Return the symbols of measures with values within [0, 1], with the direction of better values."""
    return {
        spec: abridged(f"{spec.symbol}{TEXT_TAILS[spec.metric.direction]}")
        for spec in specs
        if spec.metric.range == (0, 1)
    }


def _series(name: str, places: Values, cells: Sequence[tuple[Reported, Spec]]) -> Series:
    """Return the value of each measure in its report, with the confidence intervals if there are any."""
    values = np.array([report[spec.name] for report, spec in cells])
    ends = np.array([(report.estimates.get(spec.name) or UNDEFINED)[:2] for report, spec in cells]).T
    return Series(name, places, values, None if np.isnan(ends).all() else ends)
