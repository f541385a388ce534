"""Figures of rankings: critical differences, and average ranks by measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from xmleval.show.drawing import NewAxes, add_series, draw_dots
from xmleval.show.style import INK, abridged

if TYPE_CHECKING:
    from xmleval.results.ranking import Ranking

STEP = 0.36  # inches between names of models
WIDTH, MARGIN = 7.2, 0.9  # of a diagram, and above its axis, in inches
MOST_TICKS = 20  # with a number
X_LABEL = "average rank over data sets (1 is best)"


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
