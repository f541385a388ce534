"""Figures of rankings: critical differences, and average ranks by measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xmleval.figures.drawing import checked_axes
from xmleval.figures.panels import Panel, Series, abridged
from xmleval.figures.style import INK, SETTINGS
from xmleval.integrations.library import library

STEP = 0.36  # inches between names of models


def average_ranks(ranks: Mapping[str, Mapping[str, float]]) -> Panel:
    """Return a line of dots for each measure, from ranks by measure and model."""
    models = list(dict.fromkeys(model for own in ranks.values() for model in own))
    places = np.arange(len(ranks), dtype=np.float64)
    series = [
        Series(model, np.array([own.get(model, np.nan) for own in ranks.values()]), places)
        for model in models
    ]
    return Panel("", "average rank over data sets (1 is best)", "measure", series, "dots", [*ranks])


def draw_critical_difference(
    ranks: Mapping[str, float],
    difference: float,
    groups: Sequence[Sequence[str]],
    control: str | None,
    ax: Any = None,
    new_figure: Any = None,
) -> Any:
    """Draw a critical difference diagram (Demsar 2006), and return the axes.

    Models hang from an axis of average ranks, the best on the left. Bars join models that are not
    significantly different; with a control, a bar spans the ranks that are not significantly different from
    its own.
    """
    library("matplotlib", "plot()", "plot")
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS):
        order = sorted(ranks, key=lambda model: ranks[model])
        half = -(-len(order) // 2)
        bars = [own for own in groups if len(own) > 1] if control is None else []
        depth = 0.5 + 0.25 * max(len(bars), control is not None)
        height = depth + STEP * half
        if ax is not None:
            (ax,) = checked_axes(ax, 1)
        else:
            if new_figure is None:
                from matplotlib import pyplot

                new_figure = pyplot.figure
            ax = new_figure(figsize=(7.2, height + 0.9), layout="constrained").add_subplot()
        low, high = 1, max(len(order), 2)
        ax.set_xlim(low - 0.42 * (high - low), high + 0.42 * (high - low))
        ax.set_ylim(height, -0.75)
        ax.axis("off")
        ax.plot([low, high], [0, 0], color=INK, linewidth=1)
        for tick in range(low, high + 1):
            ax.plot([tick, tick], [0, -0.1], color=INK, linewidth=1)
            ax.text(tick, -0.16, str(tick), ha="center", va="bottom")
        ax.plot([low, low + difference], [-0.58, -0.58], color=INK, linewidth=2.2)
        ax.text(low + difference, -0.58, f"  critical difference {difference:.3g}", va="center")
        for n, model in enumerate(order):
            left = n < half
            y = depth + STEP * (n if left else len(order) - 1 - n) + 0.1
            end = low - 0.04 * (high - low) if left else high + 0.04 * (high - low)
            rank = ranks[model]
            ax.plot([rank, rank, end], [0, y, y], color=INK, linewidth=0.8)
            told = f"{abridged(model)} ({rank:.3g})" if left else f"({rank:.3g}) {abridged(model)}"
            weight = "bold" if model == control else "normal"
            ax.text(
                end,
                y,
                f"{told} " if left else f" {told}",
                ha="right" if left else "left",
                va="center",
                weight=weight,
            )
        edge = 0.008 * (high - low)
        for n, own in enumerate(bars):
            ends = [ranks[model] for model in own]
            ax.plot([min(ends) - edge, max(ends) + edge], [0.25 + 0.25 * n] * 2, color=INK, linewidth=3.2)
        if control is not None:
            ends = [max(low, ranks[control] - difference), min(high, ranks[control] + difference)]
            ax.plot(ends, [0.25] * 2, color=INK, linewidth=3.2)
    return ax
