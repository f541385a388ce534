"""Panels drawn by matplotlib."""

from __future__ import annotations

import base64
import io
import math
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, counted, import_optional
from xmleval.show.panels import Panel, Series, abridged
from xmleval.show.style import COLOURS, INK, SETTINGS, look

FEW_POINTS = 2000  # beyond these, points of a square are counted by cells
CELLS = 48  # a side
MOST_BANDS = 6  # series whose intervals are drawn; more cover each other
MOST_MARKERS = 25  # of a line; beyond these it has none
MOST_ACROSS = 36  # characters of names below a panel; beyond these they are turned
SIZE = 3.4, 2.7  # of a panel, in inches
FORMS = "png", "svg", "pdf"


def draw(panels: Sequence[Panel], ax: Any = None) -> Any:
    """Draw panels side by side and below one another, and return their axes.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw.
    ax : matplotlib Axes, or array of as many as panels, optional
        Axes to draw into; default a new figure.

    Returns
    -------
    Axes, or ndarray of Axes if there are several panels
    """
    import_optional("matplotlib", "plot()", "plot")
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS):
        if ax is None:
            from matplotlib import pyplot

            axes = _new_axes(pyplot.figure, panels)
        else:
            axes = checked_axes(ax, len(panels))
        for panel, one in zip(panels, axes, strict=True):
            draw_panel(panel, one)
        if ax is None:
            _add_legend(axes[0].figure)
        elif max(len(panel.series) for panel in panels) > 1:
            axes[0].legend()
    return axes[0] if len(axes) == 1 else np.array(axes, object)


def checked_axes(ax: Any, n_panels: int) -> list[Any]:
    """Return the axes of a caller, one for each panel, or refuse them."""
    from matplotlib.axes import Axes

    axes = [*np.atleast_1d(np.asarray(ax, object)).ravel()]
    wrong = next((one for one in axes if not isinstance(one, Axes)), None)
    if wrong is not None:
        raise InputError("ax", f"{type(wrong).__name__} is no Axes of matplotlib")
    if len(axes) != n_panels:
        raise InputError("ax", f"has {len(axes)} axes, and the figure {counted(n_panels, 'panels')}")
    return axes


def figure_of(panels: Sequence[Panel]) -> Any:
    """Return a figure of panels that no window shows."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(SETTINGS):
        axes = _new_axes(Figure, panels)
        for panel, one in zip(panels, axes, strict=True):
            draw_panel(panel, one)
        _add_legend(axes[0].figure)
    return axes[0].figure


def as_image(figure: Any) -> str:
    """Return the address of a figure for a page, which holds it as SVG."""
    import matplotlib as mpl

    file = io.BytesIO()
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # browsers have fonts for what one font lacks
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"


def save(axes: Any, file: Any, form: str) -> None:
    """Write the figure of axes to a path or binary file, in one of `FORMS`; equal ones give equal bytes."""
    import matplotlib as mpl

    figure = np.atleast_1d(np.asarray(axes, object)).ravel()[0].figure
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        if form == "svg":
            warnings.filterwarnings("ignore", "Glyph")  # as in `as_svg`
        figure.savefig(file, format=form, dpi=200, bbox_inches="tight", metadata=metadata)


def _new_axes(new_figure: Any, panels: Sequence[Panel]) -> list[Any]:
    """Return axes of a new figure for panels, at most three in a row."""
    columns = columns_of(panels)
    rows = -(-len(panels) // columns)
    width, height = SIZE
    if any(panel.form == "dots" for panel in panels):
        tick = max(0.3, 0.1 * max(len(panel.series) for panel in panels))
        width, height = 5.6, max(1.0 + tick * max(len(panel.ticks) for panel in panels), 1.8)
    elif len(panels) == 1:
        width, height = 4.6, 3.6
    names = dict.fromkeys(abridged(one.name) for panel in panels for one in panel.series)
    legend = 0.2 * -(-len(names) // _columns_of(names, width * columns)) if len(names) > 1 else 0.0
    figure = new_figure(figsize=(width * columns, height * rows + legend), layout="constrained")
    return [figure.add_subplot(rows, columns, n + 1) for n in range(len(panels))]


def columns_of(panels: Sequence[Panel]) -> int:
    """Return how many panels stand side by side."""
    return min(3, len(panels)) if len(panels) != 4 else 2


def _columns_of(names: Collection[str], inches: float) -> int:
    """Return how many columns of a legend fit."""
    return max(1, min(len(names), math.floor(inches / (0.09 * max(map(len, names)) + 0.55))))


def _add_legend(figure: Any) -> None:
    """Add a legend below the panels, with each series once, if there are several."""
    handles: dict[str, Any] = {}
    for one in figure.axes:
        for handle, name in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    if len(handles) > 1:
        columns = _columns_of(handles, figure.get_size_inches()[0])
        figure.legend([*handles.values()], [*handles], loc="outside lower center", ncols=columns)


def draw_panel(panel: Panel, axes: Any) -> None:
    """Draw one panel into its axes."""
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel("" if panel.form == "dots" else panel.y_label)
    {"dots": _draw_dots, "points": _draw_points}.get(panel.form, _draw_lines)(panel, axes)
    if panel.reference == "diagonal":
        low, high = (0, 1) if panel.form != "points" else axes.get_xlim()
        axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    elif panel.reference == "zero":
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)


def _draw_lines(panel: Panel, axes: Any) -> None:
    for n, one in enumerate(panel.series):
        style = look(n)
        if panel.form == "curves" or one.x.size > MOST_MARKERS:
            style["marker"] = ""
        axes.plot(one.x, one.y, label=abridged(one.name), **style)
        if one.low is not None and one.high is not None and len(panel.series) <= MOST_BANDS:
            axes.fill_between(one.x, one.low, one.high, color=style["color"], alpha=0.15, linewidth=0)
    if panel.ticks:
        names = [abridged(name, 14) for name in panel.ticks]
        turned = max(map(len, names)) * len(names) > MOST_ACROSS
        axes.set_xticks(range(len(names)), names, rotation=40 * turned, ha="right" if turned else "center")
    elif panel.form == "lines" and all(
        (one.x == np.round(one.x)).all() and one.x.size <= MOST_MARKERS for one in panel.series
    ):
        axes.xaxis.get_major_locator().set_params(integer=True)


def _draw_dots(panel: Panel, axes: Any) -> None:
    """Draw a line of dots for each tick, those of several series a little apart."""
    n_series = len(panel.series)
    for n, one in enumerate(panel.series):
        style = look(n) | {"linestyle": ""}
        y = one.y + ((n + 0.5) / n_series - 0.5) * 0.7 if n_series > 1 else one.y
        if one.low is not None and one.high is not None:
            axes.hlines(y, one.low, one.high, color=style["color"], linewidth=1.4)
        full = np.ones(one.x.size, bool) if not len(one.marked) else np.asarray(one.marked, bool)
        axes.plot(one.x[full], y[full], label=abridged(one.name), **style)
        if not full.all():
            axes.plot(one.x[~full], y[~full], **style, markerfacecolor="white")
    axes.set_yticks(range(len(panel.ticks)), [abridged(name) for name in panel.ticks])
    axes.set_ylim(len(panel.ticks) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _draw_points(panel: Panel, axes: Any) -> None:
    """Draw points in a square; many as cells by their number."""
    one: Series = panel.series[0]
    if one.x.size <= FEW_POINTS:
        axes.plot(one.x, one.y, "o", color=COLOURS[0], markersize=3, alpha=0.5, markeredgewidth=0)
    else:
        from matplotlib.colors import LogNorm

        cells = {"gridsize": CELLS, "mincnt": 1, "norm": LogNorm(), "cmap": "viridis_r", "linewidths": 0.1}
        drawn = axes.hexbin(one.x, one.y, **cells)
        most = int(drawn.get_array().max())
        ticks = [10**n for n in range(len(str(most)))] if most >= 10 else [1, most][:most]
        bar = axes.figure.colorbar(drawn, ax=axes, label="labels", location="top", shrink=0.6, ticks=ticks)
        bar.ax.set_xticks(ticks, [_rounded(tick) for tick in ticks])
        bar.ax.set_xticks([], minor=True)
    low, high = np.nanmin([one.x, one.y]), np.nanmax([one.x, one.y])
    gap = 0.04 * ((high - low) or 1)
    axes.set_xlim(low - gap, high + gap)
    axes.set_ylim(low - gap, high + gap)
    axes.set_aspect("equal")
    # names stand in a column on the right, where none covers another or a point
    lines = sorted(panel.outliers, key=lambda outlier: outlier.y)
    span = high - low + 2 * gap
    places = _spread([(outlier.y - low + gap) / span for outlier in lines], 0.075)
    for place, outlier in zip(places, lines, strict=True):
        axes.plot([outlier.x], [outlier.y], "o", color=COLOURS[1], markersize=4)
        axes.annotate(
            abridged(outlier.name, 20), (outlier.x, outlier.y), (1.04, place), textcoords="axes fraction",
            va="center", fontsize=8, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": COLOURS[1], "linewidth": 0.5, "shrinkA": 2, "shrinkB": 2},
        )  # fmt: skip


def _rounded(n: int) -> str:
    """Return a number of labels in few characters, such as 10k."""
    return next((f"{n // unit}{sign}" for unit, sign in ((10**6, "M"), (1000, "k")) if n >= unit), str(n))


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Return rising places at least a gap apart, near where they were, within [0, 1] if they fit."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap) if found else place)
    over = max(0.0, found[-1] - 1) if found else 0.0
    top = 1.0
    for n in range(len(found) - 1, -1, -1):
        if over and found[n] > top:
            found[n] = top
        top = found[n] - gap
    return found
