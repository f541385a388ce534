"""Figures with matplotlib: panels drawn into axes, side by side and below one another."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xmleval.base.errors import InputError, counted, import_optional
from xmleval.show.panels import (
    DotPanel,
    LinePanel,
    Panel,
    PointPanel,
    RankPanel,
    Series,
    TrendPanel,
)
from xmleval.show.style import COLOURS, INK, SETTINGS, abridged, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MARKERS = 25  # of a line; longer lines have none
MOST_BANDS = 6  # series whose intervals are drawn; more cover each other
MOST_BELOW = 4  # wide panels in one column
MOST_TICKS = 20  # of ranks, with a number
MOST_DAYS = 14  # with a name, of a trend
FEW_POINTS = 2000  # beyond these, points of a square are counted by cells
CELLS = 48  # a side
# in inches
SIZE = (3.4, 2.7)  # of a panel
ALONE = (4.6, 3.6)  # of a panel without others
WIDTH_OF_DOTS = 5.6  # of rows of dots
WIDTH_OF_RANKS = 7.2  # of a diagram of ranks
WIDE = 7.0  # from which on panels are below one another
STEP = 0.36  # between names of models in a diagram of ranks
BAR_STEP = 0.25  # between its bars
BAR_ENDS = 0.008  # of its width, by which a bar is longer than its group
MARGIN = 0.9  # above its axis

SomeAxes: TypeAlias = "Axes | Sequence[Axes] | NDArray[np.object_]"  # of one panel, or of several


def plot(panels: Sequence[Panel], ax: SomeAxes | None = None, missing: str = "") -> Any:
    """Draw panels into a pyplot figure, or given axes; return Axes, or an array of several."""
    import_optional("matplotlib", "plot()", "plot")
    from matplotlib import pyplot

    axes = draw(panels, pyplot.figure, ax)
    if not axes:
        raise ValueError(missing)
    if len(axes) == 1:
        return axes[0]
    return np.array(axes, object)


def draw(
    panels: Sequence[Panel],
    new_figure: Callable[..., Figure] | None = None,
    ax: SomeAxes | None = None,
) -> list[Axes]:
    """Draw panels into a new figure, by default one that no window shows, or axes of the caller."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    axes: list[Axes] = []
    if ax is not None:
        axes = _check_axes(ax, len(panels))
    if not panels:
        return []
    with mpl.rc_context(SETTINGS):
        if ax is None:
            figure = (new_figure or Figure)(layout="constrained")
            axes = [figure.add_subplot() for _ in panels]
        for panel_axes, panel in zip(axes, panels, strict=True):
            labels = {"title": panel.title, "xlabel": panel.x_label, "ylabel": panel.y_label}
            panel_axes.set(**{name: text for name, text in labels.items() if text})
            DRAWERS[type(panel)](panel_axes, panel)
        if ax is None:
            _arrange(axes, layout_of(panels))
        elif len(_legend(axes)) > 1:
            axes[0].legend(_legend(axes).values(), _legend(axes))
    return axes


def _check_axes(ax: SomeAxes, n_panels: int) -> list[Axes]:
    """Return the axes of a caller, one for each panel, or refuse them."""
    from matplotlib.axes import Axes

    all_axes = [*np.atleast_1d(np.asarray(ax, object)).ravel()]
    for axes in all_axes:
        if not isinstance(axes, Axes):
            raise InputError("ax", f"{type(axes).__name__} is not an Axes of matplotlib")
    if n_panels and len(all_axes) != n_panels:
        panels = counted(n_panels, "panels")
        raise InputError("ax", f"has {len(all_axes)} axes, but the figure has {panels}")
    return all_axes


class PanelLayout(NamedTuple):
    """Panels in rows and columns, each with its width and height in inches."""

    n_columns: int
    rows: Sequence[Sequence[tuple[float, float]]]

    @property
    def width(self) -> float:
        """Width of all columns."""
        return self.n_columns * max(width for row in self.rows for width, _ in row)


def layout_of(panels: Sequence[Panel]) -> PanelLayout:
    """Return how panels are placed."""
    sizes = [_size_of(panel, len(panels) == 1) for panel in panels]
    n_columns = _n_columns(len(panels))
    if max(width for width, _ in sizes) >= WIDE:
        n_columns = 1 if len(panels) <= MOST_BELOW else 2
    starts = range(0, len(sizes), n_columns)
    return PanelLayout(n_columns, [sizes[start : start + n_columns] for start in starts])


def _size_of(panel: Panel, is_alone: bool) -> tuple[float, float]:
    """Return width and height of a panel in inches."""
    if isinstance(panel, RankPanel):
        return WIDTH_OF_RANKS, _height_of(panel) + MARGIN
    if isinstance(panel, DotPanel):
        height = 1.0 + max(0.3, 0.1 * len(panel.series)) * len(panel.ticks)
        return WIDTH_OF_DOTS if is_alone else SIZE[0], max(height, 1.8)
    return ALONE if is_alone else SIZE


def _n_columns(n_panels: int) -> int:
    """Return how many panels of common size stand side by side."""
    if n_panels == 4:
        return 2
    return min(3, n_panels)


def _arrange(axes: Sequence[Any], layout: PanelLayout) -> None:
    """Place panels in rows and columns, with one legend of all series below them."""
    figure = axes[0].figure
    heights = [max(height for _, height in row) for row in layout.rows]
    grid = figure.add_gridspec(len(heights), layout.n_columns, height_ratios=heights)
    for panel_axes, place in zip(axes, grid, strict=False):
        panel_axes.set_subplotspec(place)
    n_legend_lines = _add_legend(figure, _legend(axes), layout.width)
    figure.set_size_inches(layout.width, sum(heights) + 0.2 * n_legend_lines)


def _add_legend(figure: Any, series: Mapping[str, Any], width: float) -> int:
    """Add a legend below the panels if there are several series; return its number of lines."""
    if len(series) < 2:
        return 0
    longest = max(map(len, series))
    n_fitting = max(1, int(width / (0.09 * longest + 0.55)))
    n_columns = min(len(series), n_fitting)
    figure.legend(series.values(), series, loc="outside lower center", ncols=n_columns)
    return -(-len(series) // n_columns)


def _legend(axes: Iterable[Any]) -> Mapping[str, Any]:
    """Return the series by the names in a legend, except of axes whose texts name them."""
    series = {
        container.get_label(): container
        for panel_axes in axes
        if not panel_axes.texts
        for container in panel_axes.containers
    }
    names = [*map(abridged, series)]
    if len({*names}) < len(names):
        return series
    return dict(zip(names, series.values(), strict=True))


def _draw_lines(axes: Any, panel: LinePanel) -> None:
    """Draw lines, with bands if these are few."""
    has_bands = len(panel.series) <= MOST_BANDS
    most_markers = MOST_MARKERS if panel.has_markers else 0
    n_before = len(axes.containers)  # of the caller
    for n, (name, x, y, ends, _) in enumerate(panel.series, n_before):
        style = look(n)
        if len(x) > most_markers:
            style["marker"] = ""
        bands = []
        if ends is not None:
            band = {"color": style["color"], "alpha": 0.15, "linewidth": 0, "visible": has_bands}
            bands = [axes.fill_between(x, *ends, **band)]
        _add_series(axes, name, axes.plot(x, y, **style), bands)
    if panel.are_whole:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if panel.has_diagonal:
        _draw_diagonal(axes, 0, 1)


def _draw_trend(axes: Any, panel: TrendPanel) -> None:
    """Draw lines over days, dashed lines at limits, and the names of some days if they are many."""
    n_before = len(axes.containers)
    _draw_lines(axes, panel)
    for n, (_, x, y, _, is_full) in enumerate(panel.series, n_before):
        style = {**look(n), "linestyle": ""}
        axes.plot(x, np.where(is_full, np.nan, y), **style, markerfacecolor="white", zorder=3)
    for limit in panel.limits:
        axes.axhline(limit, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1)
    step = -(-len(panel.ticks) // MOST_DAYS)
    style = {"rotation": 40, "ha": "right"} if step > 1 else {}
    axes.set_xticks(range(0, len(panel.ticks), step), panel.ticks[::step], **style)


def _draw_dots(axes: Any, panel: DotPanel) -> None:
    """Draw a row of dots for each tick, with their intervals."""
    n_rows = len(panel.ticks)
    for n, (name, rows, x, ends, is_full) in enumerate(panel.series):
        offset = ((n + 0.5) / len(panel.series) - 0.5) * 0.7
        y = np.asarray(rows) + offset
        style = {**look(n), "linestyle": ""}
        intervals = []
        if ends is not None:
            intervals = [axes.hlines(y, *ends, color=style["color"], linewidth=1.4)]
        _add_series(axes, name, axes.plot(x, y, **style), intervals)
        axes.plot(np.where(is_full, np.nan, x), y, **style, markerfacecolor="white")
    axes.set(yticks=range(n_rows), yticklabels=panel.ticks, ylim=(n_rows - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    if panel.has_zero:
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)


def _draw_points(axes: Any, panel: PointPanel) -> None:
    """Draw points, or counts of many points, around the diagonal of a square."""
    x = panel.x
    y = panel.y
    if x.size <= FEW_POINTS:
        axes.plot(x, y, "o", color=COLOURS[0], markersize=3, alpha=0.5, markeredgewidth=0)
    else:
        _draw_counts(axes, panel)
    _draw_diagonal(axes, min(x.min(), y.min()), max(x.max(), y.max()))
    axes.set_aspect("equal")
    _draw_names(axes, panel.series)


def _draw_names(axes: Any, series: Sequence[Series]) -> None:
    """Draw points with their names in a column on the right, where names cover nothing."""
    order = np.argsort([each.values[0] for each in series], kind="stable")
    heights = (np.argsort(order) + 0.5) / max(len(series), 1)
    arrow = {"arrowstyle": "-", "color": COLOURS[1], "linewidth": 0.5, "shrinkA": 2, "shrinkB": 2}
    for (name, x, y, *_), height in zip(series, heights, strict=True):
        _add_series(axes, name, axes.plot(x, y, "o", color=COLOURS[1], markersize=4))
        axes.annotate(
            abridged(name, 20),
            (x[0], y[0]),
            (1.04, height),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            annotation_clip=False,
            arrowprops=arrow,
        )


def _draw_counts(axes: Any, panel: PointPanel) -> None:
    """Draw how many points there are in each cell of a square."""
    from matplotlib.ticker import EngFormatter

    cells = axes.hexbin(
        panel.x, panel.y, gridsize=CELLS, mincnt=1, bins="log", cmap="viridis_r", linewidths=0.1
    )
    bar = axes.figure.colorbar(
        cells, ax=axes, label="labels", location="top", shrink=0.6, format=EngFormatter(sep="")
    )
    bar.minorticks_off()


def _draw_ranks(axes: Any, panel: RankPanel) -> None:
    """Draw a critical difference diagram (Demsar 2006).

    Models hang from an axis of average ranks, the best on the left. Bars join models that are not
    significantly different; with a control, a bar spans the ranks that are not significantly
    different from its own.
    """
    low = 1
    high = max(len(panel.series), 2)
    width = high - low
    axes.set(xlim=(low - 0.42 * width, high + 0.42 * width), ylim=(_height_of(panel), -0.75))
    axes.set_yticks([0], panel.ticks)
    axes.axis("off")
    _draw_rank_axis(axes, low, high)
    end = low + panel.critical_difference
    axes.plot([low, end], [-0.58, -0.58], color=INK, linewidth=2.2)
    axes.text(end, -0.58, f"  critical difference {panel.critical_difference:.3g}", va="center")
    for n in range(len(panel.series)):
        _draw_model(axes, panel, n, low, high)
    extension = BAR_ENDS * width if panel.control is None else 0.0
    for n, (first, last) in enumerate(panel.bars, 1):
        y = BAR_STEP * n
        axes.plot([first - extension, last + extension], [y, y], color=INK, linewidth=3.2)


def _draw_rank_axis(axes: Any, low: int, high: int) -> None:
    """Draw the axis of a diagram of ranks, with a tick for each rank."""
    axes.plot([low, high], [0, 0], color=INK, linewidth=1)
    tick_step = -(-high // MOST_TICKS)
    for tick in range(low, high + 1):
        axes.plot([tick, tick], [0, -0.1], color=INK, linewidth=1)
        if (tick - low) % tick_step == 0:
            axes.text(tick, -0.16, str(tick), ha="center", va="bottom")


def _draw_model(axes: Any, panel: RankPanel, n: int, low: int, high: int) -> None:
    """Draw the line from the rank of a model to its name, on the left or on the right."""
    series = panel.series[n]
    (rank,) = series.values
    margin = 0.04 * (high - low)
    name = abridged(series.name)
    if n < _n_left(panel):
        line = n
        end = low - margin
        text = f"{name} ({rank:.3g}) "
        alignment = "right"
    else:
        line = len(panel.series) - 1 - n
        end = high + margin
        text = f" ({rank:.3g}) {name}"
        alignment = "left"
    y = _depth_of(panel) + STEP * line + 0.1
    axes.plot([rank, rank, end], [0, y, y], color=INK, linewidth=0.8)
    _add_series(axes, series.name, axes.plot([rank], [0], "o", color=INK, markersize=3))
    weight = "bold" if series.name == panel.control else "normal"
    axes.text(end, y, text, ha=alignment, va="center", weight=weight)


def _n_left(panel: RankPanel) -> int:
    """Return how many models have their names on the left of a diagram of ranks."""
    return -(-len(panel.series) // 2)


def _depth_of(panel: RankPanel) -> float:
    """Return how far the first names are below the axis of a diagram of ranks."""
    return 0.5 + BAR_STEP * len(panel.bars)


def _height_of(panel: RankPanel) -> float:
    """Return how far a diagram of ranks reaches below its axis."""
    return _depth_of(panel) + STEP * _n_left(panel)


DRAWERS: dict[type[Panel], Callable[[Axes, Any], None]] = {
    LinePanel: _draw_lines,
    TrendPanel: _draw_trend,
    DotPanel: _draw_dots,
    PointPanel: _draw_points,
    RankPanel: _draw_ranks,
}


def _draw_diagonal(axes: Any, low: float, high: float) -> None:
    """Draw the line on which x and y are equal."""
    axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


def _add_series(axes: Any, name: str, lines: Sequence[Any], intervals: Sequence[Any] = ()) -> None:
    """Keep the line and the intervals of a series under its name, for the legend."""
    from matplotlib.container import ErrorbarContainer

    series = ErrorbarContainer((*lines, (), tuple(intervals)))
    axes.add_container(series)
    series.set_label(name)  # only now: matplotlib puts a name of its own for an empty one


def as_image(panels: Sequence[Panel]) -> str:
    """Return a figure as SVG, in the address of an image of a page."""
    file = io.BytesIO()
    save(draw(panels), file, "svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"


def save(axes: SomeAxes, file: Path | IO[bytes], form: str) -> None:
    """Write the figure of axes as png, svg or pdf; equal figures give equal bytes."""
    import matplotlib as mpl

    figure = np.atleast_1d(np.asarray(axes, object)).ravel()[0].figure
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        if form == "svg":
            # browsers have fonts for characters that one font lacks
            warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(file, format=form, dpi=200, bbox_inches="tight", metadata=metadata)
