"""Figures of rankings: critical differences, and average ranks by measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import import_optional
from xmleval.show.drawing import checked_axes
from xmleval.show.panels import Panel, Series, abridged
from xmleval.show.style import INK, SETTINGS

STEP = 0.36  # inches between names of models
DIAGRAM_WIDTH, DIAGRAM_MARGIN = 7.2, 0.9  # of a diagram, and above its axis, in inches
MOST_BELOW = 4  # diagrams in one column
MOST_TICKS = 20  # with a number


class Diagram(NamedTuple):
    """A critical difference diagram: average ranks, from which difference on they differ, and what is joined.

    groups : models of which no two are significantly different; control : model that others are compared with
    """

    title: str
    ranks: Mapping[str, float]
    difference: float
    groups: Sequence[Sequence[str]]
    control: str | None

    @property
    def bars(self) -> list[Sequence[str]]:
        """Groups that a bar joins; with a control, none."""
        return [own for own in self.groups if len(own) > 1] if self.control is None else []

    @property
    def depth(self) -> float:
        """Inches from the axis to the first name."""
        return 0.5 + 0.25 * max(len(self.bars), self.control is not None)

    @property
    def height(self) -> float:
        """Inches from the axis to the end."""
        return self.depth + STEP * -(-len(self.ranks) // 2)


def average_ranks(ranks: Mapping[str, Mapping[str, float]]) -> Panel:
    """Return a line of dots for each measure, from ranks by measure and model."""
    models = list(dict.fromkeys(model for own in ranks.values() for model in own))
    places = np.arange(len(ranks), dtype=np.float64)
    series = [
        Series(model, np.array([own.get(model, np.nan) for own in ranks.values()]), places)
        for model in models
    ]
    return Panel("", "average rank over data sets (1 is best)", "measure", series, "dots", [*ranks])


def draw_critical_differences(diagrams: Sequence[Diagram], ax: Any = None, new_figure: Any = None) -> Any:
    """Draw critical difference diagrams (Demsar 2006), and return the axes of each.

    Parameters
    ----------
    diagrams : sequence of Diagram
        What to draw, below one another, many of them in two columns.
    ax : matplotlib Axes, or array of as many as diagrams, optional
        Axes to draw into; default a new figure.
    new_figure : callable, optional
        Makes the figure; default that of `pyplot`.

    Returns
    -------
    Axes, or ndarray of Axes if there are several diagrams
    """
    import_optional("matplotlib", "plot()", "plot")
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS):
        if ax is None and new_figure is None:
            from matplotlib import pyplot

            new_figure = pyplot.figure
        axes = _new_axes(diagrams, new_figure) if ax is None else checked_axes(ax, len(diagrams))
        for diagram, one in zip(diagrams, axes, strict=True):
            _draw_critical_difference(diagram, one)
    return axes[0] if len(axes) == 1 else np.array(axes, object)


def _new_axes(diagrams: Sequence[Diagram], new_figure: Any) -> list[Any]:
    """Return axes of a new figure for diagrams, as high as each needs."""
    columns = 1 if len(diagrams) <= MOST_BELOW else 2
    rows = [diagrams[start : start + columns] for start in range(0, len(diagrams), columns)]
    heights = [max(diagram.height for diagram in row) + DIAGRAM_MARGIN for row in rows]
    figure = new_figure(figsize=(DIAGRAM_WIDTH * columns, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(rows), columns, height_ratios=heights)
    return [figure.add_subplot(grid[divmod(n, columns)]) for n in range(len(diagrams))]


def _draw_critical_difference(diagram: Diagram, ax: Any) -> None:
    """Draw one diagram into its axes.

    Models hang from an axis of average ranks, the best on the left. Bars join models that are not
    significantly different; with a control, a bar spans the ranks that are not significantly different from
    its own.
    """
    ranks, difference, control = diagram.ranks, diagram.difference, diagram.control
    order = sorted(ranks, key=lambda model: ranks[model])
    half = -(-len(order) // 2)
    low, high = 1, max(len(order), 2)
    ax.set_title(diagram.title)
    ax.set_xlim(low - 0.42 * (high - low), high + 0.42 * (high - low))
    ax.set_ylim(diagram.height, -0.75)
    ax.axis("off")
    ax.plot([low, high], [0, 0], color=INK, linewidth=1)
    step = -(-high // MOST_TICKS)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, -0.1], color=INK, linewidth=1)
        if (tick - low) % step == 0:
            ax.text(tick, -0.16, str(tick), ha="center", va="bottom")
    ax.plot([low, low + difference], [-0.58, -0.58], color=INK, linewidth=2.2)
    ax.text(low + difference, -0.58, f"  critical difference {difference:.3g}", va="center")
    for n, model in enumerate(order):
        left = n < half
        y = diagram.depth + STEP * (n if left else len(order) - 1 - n) + 0.1
        end = low - 0.04 * (high - low) if left else high + 0.04 * (high - low)
        rank = ranks[model]
        ax.plot([rank, rank, end], [0, y, y], color=INK, linewidth=0.8)
        told = f"{abridged(model)} ({rank:.3g})" if left else f"({rank:.3g}) {abridged(model)}"
        ax.text(
            end, y, f"{told} " if left else f" {told}", ha="right" if left else "left", va="center",
            weight="bold" if model == control else "normal",
        )  # fmt: skip
    edge = 0.008 * (high - low)
    for n, own in enumerate(diagram.bars):
        ends = [ranks[model] for model in own]
        ax.plot([min(ends) - edge, max(ends) + edge], [0.25 + 0.25 * n] * 2, color=INK, linewidth=3.2)
    if control is not None:
        ends = [max(low, ranks[control] - difference), min(high, ranks[control] + difference)]
        ax.plot(ends, [0.25] * 2, color=INK, linewidth=3.2)
