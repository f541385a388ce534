"""The kinds of figures of results: functions that ask ``new_axes`` for each panel and draw into it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import Keyword, counted
from xmleval.metrics.spec import Spec
from xmleval.show.drawing import NewAxes, add_series, draw_diagonal, draw_dots, draw_line
from xmleval.show.style import COLOURS, INK, abridged
from xmleval.show.tables import ARROWS
from xmleval.statistics.jackknife import estimate

if TYPE_CHECKING:
    from xmleval.results.comparison import Comparison
    from xmleval.results.ranking import Ranking
    from xmleval.results.report import Report

Models = Mapping[str, "Report"]
Specs = Sequence[Spec]
Compared = Optional["Comparison"]
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
    specs = [spec for spec in specs if spec.metric.range == (0, 1)]
    if specs:
        level = next(iter(models.values())).confidence_level
        x_label = "value" if level is None else f"value, {level:.4g} interval"
        series = {n: (*_values_of([(report, s) for s in specs]), True) for n, report in models.items()}
        draw_dots(new_axes, x_label, _symbols(specs), series)


def draw_differences(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw differences of each pair with their intervals, full where they are significant."""
    specs = [spec for spec in specs if spec.metric.range == (0, 1)]
    if comparison is None or not comparison.pairs or not specs:
        return
    names = dict(zip(comparison.reports, models, strict=True))
    wins = [difference.better for difference in comparison.differences if not difference.kind]
    best = max(comparison.reports, key=wins.count)
    series, is_few = {}, len(comparison.pairs) <= MOST_PAIRS
    for a, b in [pair for pair in comparison.pairs if is_few or best in pair]:
        differences = [comparison.difference(spec.name, a, b) for spec in specs]
        values = np.array([difference.value for difference in differences])
        bounds = [(math.nan, math.nan) if d.estimate is None else d.estimate[:2] for d in differences]
        is_significant = np.array([difference.better is not None for difference in differences])
        series[f"{abridged(names[a])} - {abridged(names[b])}"] = values, np.array(bounds).T, is_significant
    pair = next(iter(series)) if len(series) == 1 else "difference"
    x_label = f"{pair}, {comparison.level:.4g} interval (full: significant)"
    axes = draw_dots(new_axes, x_label, _symbols(specs), series)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)


def draw_cutoffs(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw a panel for each measure with two or more cutoffs."""
    families: dict[str, list[Spec]] = {}
    for spec in specs:
        if _is_within(spec, models):
            families.setdefault(spec.family, []).append(spec)
    for title, members in families.items():
        if len(members) > 1:
            members.sort(key=lambda spec: int(spec.cutoff))
            axes = new_axes(title=title, xlabel="k", ylabel="value")
            for name, report in models.items():
                cutoffs = [int(spec.cutoff) for spec in members]
                draw_line(axes, name, cutoffs, *_values_of([(report, spec) for spec in members]))
            axes.xaxis.get_major_locator().set_params(integer=True)


def draw_ranks(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw precision at each rank alone, from P@1, P@2, ... without a gap."""
    names = {int(s.cutoff): s.name for s in specs if s.metric.name == "p" and _is_within(s, models)}
    deepest = next((rank - 1 for rank in range(1, len(names) + 2) if rank not in names), 0)
    if deepest < 2:
        return
    ranks = range(1, deepest + 1)

    def at_ranks(column: Mapping[str, Any]) -> Any:
        return np.diff([rank * np.asarray(column[names[rank]]) for rank in ranks], axis=0, prepend=0)

    title, y_label = "Precision at each rank", "share of rows with a relevant label there"
    axes = new_axes(title=title, xlabel="rank", ylabel=y_label)
    for name, report in models.items():
        values, ends, level = at_ranks(report.results.values), None, report.confidence_level
        replicates = report.results.replicates
        if level is not None and all(names[rank] in replicates for rank in ranks):
            pairs = zip(values.tolist(), at_ranks(replicates), strict=True)
            estimates = [estimate(value, each, level, 0.0, 1.0) for value, each in pairs]
            ends = np.array([e[:2] if e else (math.nan, math.nan) for e in estimates]).T
        draw_line(axes, name, ranks, values, ends)
    axes.xaxis.get_major_locator().set_params(integer=True)


def draw_groups(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw a panel for each measure, at its last cutoff, within groups of labels in their order."""
    first, *_ = models.values()
    names = [name for name in first.groups if all(name in report.groups for report in models.values())]
    ranges = dict(zip(first.groups, first.group_ranges, strict=False))
    names = _by_frequency(names, ranges)
    parts = {model: [report.groups[name] for name in names] for model, report in models.items()}
    deepest = {spec.family: spec for spec in specs}.values()
    shared = [s for s in deepest if all(s.name in part for of_model in parts.values() for part in of_model)]
    ticks = [abridged(ranges.get(name, name), 14) for name in names]
    is_turned = len(ticks) * max(map(len, ticks), default=0) > MOST_ACROSS
    for spec in shared[:MOST_PANELS] if names else ():
        x_label = "labels by training rows" if ranges else "labels"
        axes = new_axes(title=spec.symbol, xlabel=x_label, ylabel="value")
        for model, of_model in parts.items():
            draw_line(axes, model, range(len(names)), *_values_of([(part, spec) for part in of_model]))
        turned = {"rotation": 40, "ha": "right"} if is_turned else {}
        axes.set_xticks(range(len(ticks)), ticks, **turned)


def _by_frequency(names: list[str], ranges: Mapping[str, str]) -> list[str]:
    """Return names of groups in their order, or from head to tail where zero-shot labels stand before."""
    smallest = {name: re.match(r"[<>]*(\d+)", ranges.get(name, "")) for name in names}
    n_rows = {name: -1 if match is None else int(match[1]) for name, match in smallest.items()}
    falls = [n_rows[a] > n_rows[b] for a, b in pairwise(names)]
    is_mixed = -1 not in n_rows.values() and any(falls) and not all(falls)
    return sorted(names, key=lambda name: -n_rows[name]) if is_mixed else names


def draw_roc(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw ROC curves of all entries."""
    curves = {name: report.roc_curve() for name, report in _with_curves(models).items()}
    if curves:
        axes = new_axes(title="ROC", xlabel="share of irrelevant entries", ylabel="share of relevant entries")
        _draw_curves(axes, curves)
        draw_diagonal(axes)


def draw_precision_recall(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw precision-recall curves of all entries."""
    curves = {name: report.pr_curve() for name, report in _with_curves(models).items()}
    if curves:
        axes = new_axes(title="Precision and recall", xlabel="recall", ylabel="precision")
        _draw_curves(axes, {name: (x, y, thresholds) for name, (y, x, thresholds) in curves.items()})


def _draw_curves(axes: Any, curves: Mapping[str, tuple[Floats, Floats, Floats]]) -> None:
    """Draw curves from their start as far as entries are listed: unlisted ones would add a straight line."""
    for name, (x, y, thresholds) in curves.items():
        is_drawn = np.isfinite(thresholds)
        is_drawn[0] = True
        draw_line(axes, name, x[is_drawn], y[is_drawn], marker="")


def _with_curves(models: Models) -> Models:
    return {name: report for name, report in models.items() if "micro" in report.results.points}


def draw_scores(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw shares of listed entries above each score, relevant and irrelevant; a panel for each model."""
    for name, report in _with_curves(models).items():
        fpr, tpr, thresholds = report.roc_curve()
        is_listed = np.isfinite(thresholds)
        y_label = f"share of listed at or {'above' if report.higher_is_better else 'below'}"
        axes = new_axes(title=abridged(name), xlabel="score", ylabel=y_label)
        for kind, shares in (("relevant", tpr), ("irrelevant", fpr)):
            of_listed = shares[is_listed] / (shares[is_listed].max(initial=0) or 1)
            draw_line(axes, kind, thresholds[is_listed], of_listed, marker="")


def draw_calibration(new_axes: NewAxes, models: Models, specs: Specs, comparison: Compared) -> None:
    """Draw the share of relevant entries by score: of bins of measures, or by points of a curve."""
    tables: dict[tuple[Any, ...], Spec] = {}  # the first measure of each table of bins that measures share
    for spec in specs:
        if any(spec.name in report.reliability for report in models.values()):
            tables.setdefault((spec.state, spec.params, spec.k), spec)
    panels: dict[tuple[str, str], dict[str, Any]] = {}  # lines by name, by title and what x is
    for spec in tables.values():
        x_label = f"mean score of each bin of {f'first {spec.k} entries' if spec.k else 'listed entries'}"
        bins = {name: report.results.reliability.get(spec.name) for name, report in models.items()}
        panels[f"Calibration, {spec.symbol}", x_label] = {
            name: (of_model.mean_score[of_model.n > 0], of_model.hit_rate[of_model.n > 0])
            for name, of_model in bins.items()
            if of_model is not None
        }
    for name, report in () if tables else _with_curves(models).items():
        points = report.results.points["micro"]
        points = points[np.isfinite(points[:, 0])]
        is_share = len(points) > 1 and points[:, 0].min() >= 0 and points[:, 0].max() <= 1
        if is_share and report.higher_is_better:  # distances are no probabilities
            lines = panels.setdefault(("Calibration", "score (bins of listed entries)"), {})
            lines[name] = _shares_by_score(points)
    for (title, x_label), lines in panels.items():
        axes = new_axes(title=title, xlabel=x_label, ylabel="share that is relevant")
        for name, line in lines.items():
            draw_line(axes, name, *line, **({} if tables else {"marker": ""}))
        draw_diagonal(axes)


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
    at_k = (f"f1@{spec.k}" for spec in specs if spec.k)
    choices = [*(spec.label_column for spec in specs), "f1", "ap", "auc", *at_k]
    columns = first.results.labels.keys() & second.results.labels.keys()
    column = next((name for name in choices if name in columns), None)
    if column is None:
        return
    n = min(report.results.labels[column].size for report in (first, second))
    x, y = (report.results.labels[column][:n].astype(np.float64) for report in (first, second))
    is_drawn = ~np.isnan(x + y)
    if "support" in columns:
        is_drawn &= first.results.labels["support"][:n] > 0
    if not is_drawn.any():
        return
    x_label, y_label = f"{column} of {abridged(a)}", f"{column} of {abridged(b)}"
    axes = new_axes(title=counted(int(is_drawn.sum()), "labels"), xlabel=x_label, ylabel=y_label)
    if is_drawn.sum() <= FEW_POINTS:
        style = {"color": COLOURS[0], "markersize": 3, "alpha": 0.5, "markeredgewidth": 0}
        axes.plot(x[is_drawn], y[is_drawn], "o", **style)
    else:
        from matplotlib.ticker import EngFormatter

        counts = {"gridsize": CELLS, "mincnt": 1, "bins": "log", "cmap": "viridis_r", "linewidths": 0.1}
        cells = axes.hexbin(x[is_drawn], y[is_drawn], **counts)
        bar = {"label": "labels", "location": "top", "shrink": 0.6, "format": EngFormatter(sep="")}
        axes.figure.colorbar(cells, ax=axes, **bar).minorticks_off()
    values = np.concatenate([x[is_drawn], y[is_drawn]])
    draw_diagonal(axes, values.min(), values.max())
    axes.set_aspect("equal")
    away = np.where(is_drawn, np.abs(y - x), 0.0)
    farthest = [n for n in np.argsort(-away, kind="stable")[:MOST_OUTLIERS].tolist() if away[n] > 0]
    heights = (np.argsort(np.argsort(y[farthest], kind="stable")) + 0.5) / max(len(farthest), 1)
    arrow = {"arrowstyle": "-", "color": COLOURS[1], "linewidth": 0.5, "shrinkA": 2, "shrinkB": 2}
    for label, height in zip(farthest, heights, strict=True):
        name = str(label if first.label_names is None else first.label_names[label])
        add_series(axes, name, axes.plot(x[label], y[label], "o", color=COLOURS[1], markersize=4))
        axes.annotate(  # in a column on the right, where no name covers another or a point
            abridged(name, 20), (x[label], y[label]), (1.04, height), textcoords="axes fraction", va="center",
            fontsize=8, annotation_clip=False, arrowprops=arrow,
        )  # fmt: skip


def draw_average_ranks(rankings: Sequence[Ranking], new_axes: NewAxes) -> None:
    """Draw a row of dots for each ranking, a dot for each model."""
    names = {model: shown for ranking in rankings for model, shown in ranking.names.items()}
    series = {
        shown: (np.array([ranking.average_ranks.get(model, np.nan) for ranking in rankings]), None, True)
        for model, shown in names.items()
    }
    draw_dots(new_axes, X_LABEL, [ranking.symbol for ranking in rankings], series)


def draw_critical_differences(rankings: Sequence[Ranking], new_axes: NewAxes) -> None:
    """Draw a diagram for each ranking, under its measure where there are several."""
    for ranking in rankings:
        draw_critical_difference(ranking, new_axes, ranking.symbol if len(rankings) > 1 else "")


def draw_critical_difference(ranking: Ranking, new_axes: NewAxes, title: str = "") -> None:
    """Draw the critical difference diagram of a ranking (Demsar 2006).

    Models hang from an axis of average ranks, the best on the left. Bars join models that are not
    significantly different; with a control, a bar spans the ranks that are not significantly different from
    its own.
    """
    ranks, difference, control = ranking.average_ranks, ranking.critical_difference, ranking.control
    low, high = 1, max(len(ranks), 2)
    width = high - low
    if control is None:
        bars = [(ranks[a] - 0.008 * width, ranks[b] + 0.008 * width) for a, *_, b in ranking.groups]
    else:
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


def _symbols(specs: Specs) -> list[str]:
    return [f"{spec.symbol} {ARROWS[spec.metric.direction]}".rstrip() for spec in specs]


def _values_of(pairs: Sequence[tuple[Report, Spec]]) -> tuple[Floats, Floats | None]:
    """Return the value of each measure in its report, and the ends of their confidence intervals, if any."""
    values = np.array([report[spec.name] for report, spec in pairs])
    ends = np.array([report.confidence.get(spec.name, (math.nan, math.nan)) for report, spec in pairs]).T
    return values, None if np.isnan(ends).all() else ends
