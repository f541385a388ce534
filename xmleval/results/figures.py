"""The kinds of figures of results: functions that ask ``new_axes`` for each panel and draw into it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import Keyword, counted
from xmleval.metrics.spec import Spec
from xmleval.show.drawing import NewAxes, add_series, draw_diagonal, draw_dots, draw_lines
from xmleval.show.style import COLOURS, INK, abridged
from xmleval.show.tables import TEXT_TAILS
from xmleval.statistics.jackknife import estimate

if TYPE_CHECKING:
    from xmleval.results.comparison import Comparison
    from xmleval.results.ranking import Ranking
    from xmleval.results.report import Report

Models = Mapping[str, "Report"]
Specs = Sequence[Spec]
Compared = Optional["Comparison"]
UNDEFINED = (math.nan, math.nan)  # ends of an interval
MOST_PANELS = 6  # of groups
BINS = 10  # of scores
MOST_OUTLIERS = 6
MOST_PAIRS = 6
FEW_POINTS = 2000  # beyond these, points of a square are counted by cells
CELLS = 48  # a side
STEP = 0.36  # inches between names of models in a diagram of ranks
WIDTH, MARGIN = 7.2, 0.9  # of this diagram, and above its axis, in inches
MOST_TICKS = 20  # with a number
X_LABEL = "average rank over data sets (1 is best)"
MOST_ACROSS = 36  # characters of names below a panel; beyond these they are turned


class Kind(NamedTuple):
    """A figure: how it is drawn, what it shows, what it needs, and its heading and caption on a page."""

    draw: Callable[[NewAxes, Models, Specs, Compared], None]
    shows: str = ""
    needs: str | Keyword = ""
    heading: str = ""
    caption: str = ""
    of_tables: bool = False  # shows the measures that the table shows; else all that were computed
    against_k: bool = False  # shows a measure at several cutoffs


def draw_values(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw a row of dots for each measure with values within [0, 1]."""
    symbols = _symbols(specs)
    if symbols:
        level = next(iter(models.values())).confidence_level
        x_label = "value" if level is None else f"value, {level:.4g} interval"
        series = {n: (*_values_of([(report, s) for s in symbols]), True) for n, report in models.items()}
        draw_dots(new_axes, x_label, [*symbols.values()], series)


def draw_differences(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw differences of each pair with their intervals, full where they are significant."""
    symbols = _symbols(specs)
    if comparison is None or not comparison.pairs or not symbols:
        return
    names = dict(zip(comparison.reports, map(abridged, models), strict=True))
    wins = [difference.better for difference in comparison.differences if not difference.kind]
    best = max(comparison.reports, key=wins.count)
    series, is_few = {}, len(comparison.pairs) <= MOST_PAIRS
    for a, b in [pair for pair in comparison.pairs if is_few or best in pair]:
        differences = [comparison.difference(spec.name, a, b) for spec in symbols]
        rows = [(d.value, *(d.estimate or UNDEFINED)[:2], d.better is not None) for d in differences]
        values, *ends, is_significant = np.array(rows).T
        series[f"{names[a]} - {names[b]}"] = values, ends, is_significant
    pair = next(iter(series)) if len(series) == 1 else "difference"
    x_label = f"{pair}, {comparison.level:.4g} interval (full: significant)"
    axes = draw_dots(new_axes, x_label, [*symbols.values()], series)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)


def draw_cutoffs(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw a panel for each measure with two or more cutoffs."""
    families: dict[str, dict[int, Spec]] = {}
    for spec in specs:
        if _is_within(spec, models):
            families.setdefault(spec.family, {})[int(spec.cutoff)] = spec
    for title, members in families.items():
        ks = sorted(members)
        if len(ks) > 1:
            lines = {n: (ks, *_values_of([(report, members[k]) for k in ks])) for n, report in models.items()}
            axes = draw_lines(new_axes, {"title": title, "xlabel": "k", "ylabel": "value"}, lines)
            axes.xaxis.get_major_locator().set_params(integer=True)


def draw_ranks(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw precision at each rank alone, from P@1, P@2, ... without a gap."""
    names = {int(s.cutoff): s.name for s in specs if s.metric.name == "p" and _is_within(s, models)}
    ranks = [*takewhile(names.__contains__, count(1))]
    if len(ranks) < 2:
        return
    lines = {}
    for name, report in models.items():
        results, level, ends = report.results, report.confidence_level, None
        sums = [k * np.r_[results.values[names[k]], results.replicates.get(names[k], ())] for k in ranks]
        values = np.diff(sums, axis=0, prepend=0)  # of all rows, and without each jackknife group
        if level is not None and values.shape[1] > 1:
            estimates = [estimate(float(each[0]), each[1:], level, 0.0, 1.0) for each in values]
            ends = np.array([(each or UNDEFINED)[:2] for each in estimates]).T
        lines[name] = ranks, values[:, 0], ends
    y_label = "share of rows with a relevant label there"
    labels = {"title": "Precision at each rank", "xlabel": "rank", "ylabel": y_label}
    axes = draw_lines(new_axes, labels, lines)
    axes.xaxis.get_major_locator().set_params(integer=True)


def draw_groups(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw a panel for each measure, at its last cutoff, within groups of labels in their order."""
    first, *_ = models.values()
    names = [name for name in first.groups if all(name in report.groups for report in models.values())]
    ranges = dict(zip(first.groups, first.group_ranges, strict=False))
    n_rows = {name: int((re.findall(r"\d+", ranges.get(name, "")) or [0])[0]) for name in names}
    if any(n_rows[a] > n_rows[b] for a, b in pairwise(names)):  # from head to tail, zero-shot labels last
        names.sort(key=lambda name: -n_rows[name])
    parts = {model: [report.groups[name] for name in names] for model, report in models.items()}
    deepest = {spec.family: spec for spec in specs}.values()
    shared = [s for s in deepest if all(s.name in part for of_model in parts.values() for part in of_model)]
    ticks, places = [abridged(ranges.get(name, name), 14) for name in names], range(len(names))
    is_turned = len(ticks) * max(map(len, ticks), default=0) > MOST_ACROSS
    turned = {"rotation": 40, "ha": "right"} if is_turned else {}
    x_label = "labels by training rows" if ranges else "labels"
    for spec in shared[:MOST_PANELS] if names else ():
        lines = {m: (places, *_values_of([(part, spec) for part in of_m])) for m, of_m in parts.items()}
        axes = draw_lines(new_axes, {"title": spec.symbol, "xlabel": x_label, "ylabel": "value"}, lines)
        axes.set_xticks(places, ticks, **turned)


def draw_roc(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw ROC curves of all entries."""
    curves = {name: _listed_part(*report.roc_curve()) for name, report in _with_curves(models).items()}
    labels = {"xlabel": "share of irrelevant entries", "ylabel": "share of relevant entries"}
    if curves:
        draw_diagonal(draw_lines(new_axes, {"title": "ROC", **labels}, curves, most_markers=0))


def draw_precision_recall(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw precision-recall curves of all entries."""
    curves = {name: _listed_part(*report.pr_curve())[::-1] for name, report in _with_curves(models).items()}
    labels = {"title": "Precision and recall", "xlabel": "recall", "ylabel": "precision"}
    if curves:
        draw_lines(new_axes, labels, curves, most_markers=0)


def _listed_part(x: Floats, y: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return a curve from its start to the last listed entry: unlisted ones would add a straight line."""
    is_drawn = np.r_[True, np.isfinite(thresholds[1:])]
    return x[is_drawn], y[is_drawn]


def _with_curves(models: Models) -> Models:
    return {name: report for name, report in models.items() if "micro" in report.results.points}


def draw_scores(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw shares of listed entries above each score, relevant and irrelevant; a panel for each model."""
    for name, report in _with_curves(models).items():
        lines, (fpr, tpr, thresholds) = {}, report.roc_curve()
        is_listed = np.isfinite(thresholds)
        for kind, shares in (("relevant", tpr[is_listed]), ("irrelevant", fpr[is_listed])):
            lines[kind] = thresholds[is_listed], shares / (shares.max(initial=0) or 1)
        y_label = f"share of listed at or {'above' if report.higher_is_better else 'below'}"
        labels = {"title": abridged(name), "xlabel": "score", "ylabel": y_label}
        draw_lines(new_axes, labels, lines, most_markers=0)


def draw_calibration(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw the share of relevant entries by score: of bins of measures, or by points of a curve."""
    y_label = "share that is relevant"
    tables: dict[tuple[Any, ...], Spec] = {}  # the first measure of each table of bins that measures share
    for spec in specs:
        if any(spec.name in report.reliability for report in models.values()):
            tables.setdefault((spec.state, spec.params, spec.k), spec)
    for spec in tables.values():
        bins = [(name, report.results.reliability.get(spec.name)) for name, report in models.items()]
        lines = {n: np.array([b.mean_score, b.hit_rate])[:, b.n > 0] for n, b in bins if b is not None}
        x_label = f"mean score of each bin of {f'first {spec.k} entries' if spec.k else 'listed entries'}"
        labels = {"title": f"Calibration, {spec.symbol}", "xlabel": x_label, "ylabel": y_label}
        draw_diagonal(draw_lines(new_axes, labels, lines))
    curves = {}
    for name, report in () if tables else _with_curves(models).items():
        points = report.results.points["micro"]
        points = points[np.isfinite(points[:, 0])]
        is_share = len(points) > 1 and points[0, 0] <= 1 and points[-1, 0] >= 0
        if is_share and report.higher_is_better:  # distances are no probabilities
            curves[name] = _shares_by_score(points)
    labels = {"title": "Calibration", "xlabel": "score (bins of listed entries)", "ylabel": y_label}
    if curves:
        draw_diagonal(draw_lines(new_axes, labels, curves, most_markers=0))


def _shares_by_score(points: Floats) -> tuple[Floats, Floats]:
    """Return bins of scores between points, and the share of relevant entries in each, as lines with gaps."""
    nearest = [int(np.abs(points[:, 0] - edge).argmin()) for edge in np.linspace(1, 0, BINS + 1)]
    edges = np.unique([0, *nearest, len(points) - 1])
    lines = []
    for start, end in pairwise(edges.tolist()):
        hits, misses = points[end, 1:] - (points[start, 1:] if start else 0)
        share = hits / (hits + misses) if hits + misses else math.nan
        lines.append([(points[end, 0], share), (points[start, 0], share), (math.nan, math.nan)])
    x, y = np.array(lines[::-1]).reshape(-1, 2)[:-1].T
    return x, y


def draw_labels(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw values by label of the first two models; the labels that differ most have their names."""
    if len(models) < 2:
        return
    (a, first), (b, second) = [*models.items()][:2]
    of_first, of_second = first.results.labels, second.results.labels
    choices = [*(spec.label_column for spec in specs), "f1", "ap", "auc", *(f"f1@{spec.k}" for spec in specs)]
    column = next((name for name in choices if name in of_first and name in of_second), None)
    if column is None:
        return
    n = min(of_first[column].size, of_second[column].size)
    x, y = (columns[column][:n].astype(np.float64) for columns in (of_first, of_second))
    labels = np.flatnonzero(~np.isnan(x + y) & (of_first["support"][:n] > 0))
    if not labels.size:
        return
    x, y = x[labels], y[labels]
    x_label, y_label = f"{column} of {abridged(a)}", f"{column} of {abridged(b)}"
    axes = new_axes(title=counted(labels.size, "labels"), xlabel=x_label, ylabel=y_label)
    if labels.size <= FEW_POINTS:
        axes.plot(x, y, "o", color=COLOURS[0], markersize=3, alpha=0.5, markeredgewidth=0)
    else:
        from matplotlib.ticker import EngFormatter

        counts = {"gridsize": CELLS, "mincnt": 1, "bins": "log", "cmap": "viridis_r", "linewidths": 0.1}
        bar = {"label": "labels", "location": "top", "shrink": 0.6, "format": EngFormatter(sep="")}
        axes.figure.colorbar(axes.hexbin(x, y, **counts), ax=axes, **bar).minorticks_off()
    draw_diagonal(axes, min(x.min(), y.min()), max(x.max(), y.max()))
    axes.set_aspect("equal")
    away = np.abs(y - x)
    farthest = [n for n in np.argsort(-away, kind="stable")[:MOST_OUTLIERS].tolist() if away[n] > 0]
    heights = (np.argsort(np.argsort(y[farthest], kind="stable")) + 0.5) / max(len(farthest), 1)
    arrow = {"arrowstyle": "-", "color": COLOURS[1], "linewidth": 0.5, "shrinkA": 2, "shrinkB": 2}
    for n, height in zip(farthest, heights, strict=True):
        name = str(labels[n] if first.label_names is None else first.label_names[labels[n]])
        add_series(axes, name, axes.plot(x[n], y[n], "o", color=COLOURS[1], markersize=4))
        axes.annotate(  # in a column on the right, where no name covers another or a point
            abridged(name, 20), (x[n], y[n]), (1.04, height), textcoords="axes fraction", va="center",
            fontsize=8, annotation_clip=False, arrowprops=arrow,
        )  # fmt: skip


def draw_average_ranks(rankings: Sequence[Ranking], new_axes: NewAxes) -> None:
    """Draw a row of dots for each ranking, a dot for each model."""
    names = {model: shown for ranking in rankings for model, shown in ranking.names.items()}
    series = {names[m]: ([r.average_ranks.get(m, math.nan) for r in rankings], None, True) for m in names}
    draw_dots(new_axes, X_LABEL, [ranking.symbol for ranking in rankings], series)


def draw_critical_differences(rankings: Sequence[Ranking], new_axes: NewAxes) -> None:
    """Draw the critical difference diagram of each ranking (Demsar 2006), of several under its measure.

    Models hang from an axis of average ranks, the best on the left. Bars join models that are not
    significantly different; with a control, a bar spans the ranks that are not significantly different from
    its own.
    """
    for ranking in rankings:
        title = ranking.symbol if len(rankings) > 1 else ""
        ranks, difference, control = ranking.average_ranks, ranking.critical_difference, ranking.control
        low, high = 1, max(len(ranks), 2)
        width = high - low
        bars = [(ranks[a] - 0.008 * width, ranks[b] + 0.008 * width) for a, *_, b in ranking.groups]
        if control is not None:
            bars = [(max(low, ranks[control] - difference), min(high, ranks[control] + difference))]
        depth = 0.5 + 0.25 * len(bars)  # inches from the axis to the first name
        half = -(-len(ranks) // 2)
        height = depth + STEP * half
        axes = new_axes(title=title, xlabel=X_LABEL, size=(WIDTH, height + MARGIN))
        axes.set(xlim=(low - 0.42 * width, high + 0.42 * width), ylim=(height, -0.75))
        axes.set_yticks([0], [ranking.symbol])  # for the numbers
        axes.axis("off")
        axes.plot([low, high], [0, 0], color=INK, linewidth=1)
        for tick in range(low, high + 1):
            axes.plot([tick, tick], [0, -0.1], color=INK, linewidth=1)
            if (tick - low) % -(-high // MOST_TICKS) == 0:
                axes.text(tick, -0.16, str(tick), ha="center", va="bottom")
        axes.plot([low, low + difference], [-0.58, -0.58], color=INK, linewidth=2.2)
        axes.text(low + difference, -0.58, f"  critical difference {difference:.3g}", va="center")
        for n, model in enumerate(ranks):
            is_left, rank, name = n < half, ranks[model], abridged(ranking.names[model])
            y = depth + STEP * (n if is_left else len(ranks) - 1 - n) + 0.1
            end = low - 0.04 * width if is_left else high + 0.04 * width
            axes.plot([rank, rank, end], [0, y, y], color=INK, linewidth=0.8)
            add_series(axes, ranking.names[model], axes.plot([rank], [0], "o", color=INK, markersize=3))
            text = f"{name} ({rank:.3g}) " if is_left else f" ({rank:.3g}) {name}"
            weight = "bold" if model == control else "normal"
            axes.text(end, y, text, ha="right" if is_left else "left", va="center", weight=weight)
        for n, bar in enumerate(bars):
            axes.plot(bar, [0.25 + 0.25 * n] * 2, color=INK, linewidth=3.2)


OF_CURVES = "scores, and curve_points="
KINDS = {
    "values": Kind(
        draw_values, "values of measures with their intervals", "measures within 0 and 1", "Values",
        "Values of each measure; lines are confidence intervals where there are any.", of_tables=True,
    ),
    "differences": Kind(
        draw_differences, "differences of models with their intervals", "a comparison", "Differences",
        "Differences of pairs with their intervals; full marks are significant after Holm's correction.",
        of_tables=True,
    ),
    "cutoffs": Kind(
        draw_cutoffs, "measures against k", "measures at two cutoffs or more, such as p@1 and p@5",
        "Measures against k", "Bands are confidence intervals of each value alone.", against_k=True,
    ),
    "ranks": Kind(
        draw_ranks, "precision at each rank", "p@1, p@2 and so on, without a gap", "Precision at each rank",
        "The share of rows whose label at this rank alone is relevant.", against_k=True,
    ),
    "groups": Kind(
        draw_groups, "measures within groups of labels", Keyword("label_groups"), "Groups of labels",
        "Measures within groups of labels: truth and ranking are restricted to the group, and rows without "
        "its labels are left out.", of_tables=True,
    ),
    "precision_recall": Kind(
        draw_precision_recall, "precision-recall curves", OF_CURVES, "Precision-recall curve",
        "Precision and recall of all entries, by threshold of scores. A curve ends where lists end.",
    ),
    "roc": Kind(
        draw_roc, "ROC curves", OF_CURVES, "ROC curve",
        "Shares of relevant and of irrelevant entries, by threshold of scores. A curve ends where lists end.",
    ),
    "scores": Kind(
        draw_scores, "scores of listed entries, relevant and irrelevant", OF_CURVES, "Scores",
        "Shares of listed entries with this score or a better one, relevant and irrelevant.",
    ),
    "calibration": Kind(
        draw_calibration, "share of relevant entries by score",
        "ece, or scores within 0 and 1 and curve_points=", "Calibration",
        "The share of relevant entries in bins of scores; the bins of calibrated scores cross the diagonal.",
        of_tables=True,
    ),
    "labels": Kind(
        draw_labels, "values by label of two models",
        "two models and per_label=True, with a label that both have a value for", "Labels",
        "Each relevant label by both models; those that differ most have their names.",
    ),
}  # fmt: skip


def _is_within(spec: Spec, models: Models) -> bool:
    """Tell whether a measure has a cutoff that is no larger than the number of labels."""
    return spec.cutoff.isdigit() and int(spec.cutoff) <= max(report.n_labels for report in models.values())


def _symbols(specs: Specs) -> dict[Spec, str]:
    """Return the symbols of measures with values within [0, 1], with the direction of better values."""
    return {s: f"{s.symbol}{TEXT_TAILS[s.metric.direction]}" for s in specs if s.metric.range == (0, 1)}


def _values_of(pairs: Sequence[tuple[Report, Spec]]) -> tuple[Floats, Floats | None]:
    """Return the value of each measure in its report, and the ends of their confidence intervals, if any."""
    values = np.array([report[spec.name] for report, spec in pairs])
    ends = np.array([(report.estimates.get(spec.name) or UNDEFINED)[:2] for report, spec in pairs]).T
    return values, None if np.isnan(ends).all() else ends
