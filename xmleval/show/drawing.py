"""Figures with matplotlib: axes that a figure asks for, series in them, and their numbers read back."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xmleval.base.errors import InputError, counted, import_optional
from xmleval.show.style import INK, SETTINGS, abridged, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BANDS = 6  # series whose intervals are drawn; more cover each other
MOST_MARKERS = 25  # of a line; beyond these it has none
MOST_BELOW = 4  # wide panels in one column
SIZE, ALONE, WIDE = (3.4, 2.7), (4.6, 3.6), 7.0  # of a panel, of one without others, in inches

NewAxes = Callable[..., Any]  # of title=, xlabel=, ylabel= and size=, in inches
Draw = Callable[[NewAxes], object]  # asks for the axes of each panel, and draws into them
SomeAxes: TypeAlias = "Axes | Sequence[Axes] | NDArray[np.object_]"  # of one panel, or of several


def plot(draw_panels: Draw, ax: SomeAxes | None = None, missing: str = "") -> Any:
    """Draw panels into a figure of pyplot, or axes of the caller, and return Axes or an array of them."""
    import_optional("matplotlib", "plot()", "plot")
    from matplotlib import pyplot

    axes = draw(draw_panels, pyplot.figure, ax)
    if not axes:
        raise ValueError(missing)
    return axes[0] if len(axes) == 1 else np.array(axes, object)


def draw(
    draw_panels: Draw, new_figure: Callable[..., Figure] | None = None, ax: SomeAxes | None = None
) -> list[Axes]:
    """Draw panels into a new figure, by default one that no window shows, or axes of the caller."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    to_fill = None if ax is None else iter(_checked(ax, len(draw(draw_panels))))
    axes: list[Axes] = []
    sizes: list[tuple[float, float]] = []

    def new_axes(size: tuple[float, float] = SIZE, **labels: str) -> Axes:
        if to_fill is None:
            figure = axes[0].figure if axes else (new_figure or Figure)(layout="constrained")
            axes.append(figure.add_subplot())
        else:
            axes.append(next(to_fill))
        axes[-1].set(**labels)
        sizes.append(size)
        return axes[-1]

    with mpl.rc_context(SETTINGS):
        draw_panels(new_axes)
        if axes and to_fill is None:
            _arrange(axes, [ALONE] if sizes == [SIZE] else sizes)
        elif len(_legend(axes)) > 1:
            axes[0].legend(_legend(axes).values(), _legend(axes))
    return axes


def _checked(ax: SomeAxes, n_panels: int) -> list[Axes]:
    """Return the axes of a caller, one for each panel, or refuse them."""
    from matplotlib.axes import Axes

    axes = [*np.atleast_1d(np.asarray(ax, object)).ravel()]
    wrong = next((each for each in axes if not isinstance(each, Axes)), None)
    if wrong is not None:
        raise InputError("ax", f"{type(wrong).__name__} is no Axes of matplotlib")
    if n_panels and len(axes) != n_panels:
        raise InputError("ax", f"has {len(axes)} axes, and the figure {counted(n_panels, 'panels')}")
    return axes


def _arrange(axes: Sequence[Any], sizes: Sequence[tuple[float, float]]) -> None:
    """Put panels side by side and below one another, and each series once into a legend below them."""
    figure, width = axes[0].figure, max(width for width, _ in sizes)
    columns = columns_of(len(axes)) if width < WIDE else 1 if len(axes) <= MOST_BELOW else 2
    rows = [sizes[start : start + columns] for start in range(0, len(sizes), columns)]
    heights = [max(height for _, height in row) for row in rows]
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    for each, place in zip(axes, grid, strict=False):
        each.set_subplotspec(place)
    series, n_lines = _legend(axes), 0
    if len(series) > 1:
        across = min(len(series), max(1, int(width * columns / (0.09 * max(map(len, series)) + 0.55))))
        n_lines = -(-len(series) // across)
        figure.legend(series.values(), series, loc="outside lower center", ncols=across)
    figure.set_size_inches(width * columns, sum(heights) + 0.2 * n_lines)


def columns_of(n_panels: int) -> int:
    """Return how many panels of common size stand side by side."""
    return min(3, n_panels) if n_panels != 4 else 2


def _legend(axes: Sequence[Any]) -> dict[str, Any]:
    """Return the series of panels by name, as a legend has them; not of panels whose texts name them."""
    series = {each.get_label(): each for panel in axes if not panel.texts for each in panel.containers}
    names = [*map(abridged, series)]
    return dict(zip(names if len({*names}) == len(names) else series, series.values(), strict=True))


def draw_lines(
    new_axes: NewAxes, labels: Mapping[str, str], series: Mapping[str, Any], most_markers: int = MOST_MARKERS
) -> Any:
    """Draw series as lines: of each x and y, and where there are any, the ends of intervals, with a band."""
    axes = new_axes(**labels)
    for name, (x, y, *ends) in series.items():
        style = look(len(axes.containers)) | ({"marker": ""} if len(x) > most_markers else {})
        band = {"color": style["color"], "alpha": 0.15, "linewidth": 0, "visible": len(series) <= MOST_BANDS}
        bands = [axes.fill_between(x, *each, **band) for each in ends if each is not None]
        add_series(axes, name, axes.plot(x, y, **style), bands)
    return axes


def draw_dots(new_axes: NewAxes, x_label: str, ticks: Sequence[str], series: Mapping[str, Any]) -> Any:
    """Draw a row of dots for each tick: of each series its values, the ends of intervals, which are full."""
    height = 1.0 + max(0.3, 0.1 * len(series)) * len(ticks)
    axes = new_axes(xlabel=x_label, size=(5.6, max(height, 1.8)))
    for n, (name, (x, ends, is_full)) in enumerate(series.items()):
        y = np.arange(len(ticks)) + ((n + 0.5) / len(series) - 0.5) * 0.7
        style = look(n) | {"linestyle": ""}
        intervals = [] if ends is None else [axes.hlines(y, *ends, color=style["color"], linewidth=1.4)]
        add_series(axes, name, axes.plot(x, y, **style), intervals)
        axes.plot(np.where(is_full, np.nan, x), y, **style, markerfacecolor="white")
    axes.set(yticks=range(len(ticks)), yticklabels=map(abridged, ticks), ylim=(len(ticks) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    return axes


def draw_diagonal(axes: Axes, low: float = 0, high: float = 1) -> None:
    """Draw the line on which x and y are equal."""
    axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


def add_series(axes: Axes, name: str, lines: Sequence[Any], intervals: Sequence[Any] = ()) -> None:
    """Note which line, and which intervals, are a series, for the legend and the numbers."""
    from matplotlib.container import ErrorbarContainer

    series = ErrorbarContainer((*lines, (), tuple(intervals)))
    axes.add_container(series)
    series.set_label(name)  # only now: matplotlib puts a name of its own for an empty one


def read(axes: Axes) -> tuple[list[list[str]], str]:
    """Return a header and the numbers that axes show, and a sentence that stands for the picture."""
    from matplotlib.ticker import ScalarFormatter

    title = f"{axes.get_title(loc='left')}: ".removeprefix(": ")
    x_label, y_label = axes.get_xlabel(), axes.get_ylabel()
    tick_texts = [axis.get_major_formatter() for axis in (axes.xaxis, axes.yaxis)]
    have_names = [not isinstance(each, ScalarFormatter) for each in tick_texts]
    are_labels = not axes.containers or (axes.texts and not any(have_names))  # some points have names
    place = int(have_names[1])  # the axis, 0 or 1, along which values are at places
    labels = [y_label or "measure", x_label] if place else [x_label, y_label]
    rows, ranges = [["label" if are_labels else "series", *labels, "lower", "upper"]], []
    for series in axes.containers:
        name, points = str(series.get_label()), series[0].get_xydata()
        ends: dict[float, list[float]] = {}
        for vertex in (vertex for each in series[2] for path in each.get_paths() for vertex in path.vertices):
            ends.setdefault(vertex[place], []).append(vertex[1 - place])
        for at, value in points[~np.isnan(points[:, place])][:, [place, 1 - place]]:  # without gaps of a line
            bounds = ends.get(at, [np.nan])
            text = tick_texts[place](round(at)) if have_names[place] else shown(at)
            rows.append([name, text, *map(shown, (value, min(bounds), max(bounds)))])
        values = points[~np.isnan(points[:, 1 - place]), 1 - place]
        if values.size:
            ranges.append(f"{name} from {shown(values.min())} to {shown(values.max())}".lstrip())
    bounded = any(intervals for _, _, intervals in axes.containers)
    columns = slice(0 if are_labels or any(row[0] for row in rows[1:]) else 1, 5 if bounded else 3)
    content = x_label if place else f"{y_label} against {x_label}"
    names = ", ".join(str(series.get_label()) for series in axes.containers)
    text = f"; {', '.join(ranges) or 'no value is defined'}."
    if are_labels:
        text = f". Farthest from the diagonal: {names}." if names else "."
    return [row[columns] for row in rows], f"{title}{content}{text}"


def shown(value: float) -> str:
    """Return a number with four digits; nothing if it is undefined."""
    return "" if np.isnan(value) else f"{value:.4g}"


def as_image(axes: SomeAxes) -> str:
    """Return the address of the figure of axes for a page, which holds it as SVG."""
    file = io.BytesIO()
    save(axes, file, "svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"


def save(axes: SomeAxes, file: Path | IO[bytes], form: str) -> None:
    """Write the figure of axes to a path or binary file, as png, svg or pdf; equal ones give equal bytes."""
    import matplotlib as mpl

    figure = np.atleast_1d(np.asarray(axes, object)).ravel()[0].figure
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        if form == "svg":
            warnings.filterwarnings("ignore", "Glyph")  # browsers have fonts for what one font lacks
        figure.savefig(file, format=form, dpi=200, bbox_inches="tight", metadata=metadata)
