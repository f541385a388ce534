"""Maps of values over two constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xmleval.figures.drawing import checked_axes
from xmleval.figures.panels import abridged
from xmleval.figures.style import INK, SETTINGS
from xmleval.integrations.library import library
from xmleval.records import Floats, Ints

MOST_NUMBERS = 80  # points of a map up to which each has its number
MOST_TICKS = 12


def draw_maps(
    a: Floats, b: Floats, values: Mapping[str, Floats], best: Ints, title: str, ax: Any = None
) -> Any:
    """Draw a map for each model, on one scale, and return the axes.

    Points at which another model than here is the best are crossed out, if there are several models.

    a, b : float64 (n,), (m,); values : float64 (n, m), by model
    best : int64 (n, m), number of the best model
    """
    library("matplotlib", "plot()", "plot")
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS | {"axes.grid": False}):
        if ax is not None:
            axes = checked_axes(ax, len(values))
        else:
            from matplotlib import pyplot

            wide, high = 0.62 * b.size, 0.42 * a.size
            if a.size * b.size > MOST_NUMBERS:
                wide, high = min(wide, 6.0), min(high, 5.0)
            size = max(3.4, wide) * len(values) + 0.8, max(2.8, high)
            figure = pyplot.figure(figsize=size, layout="constrained")
            axes = [*np.atleast_1d(figure.subplots(1, len(values), squeeze=False)[0])]
        low, high = (float(f([f(own) for own in values.values()])) for f in (np.min, np.max))
        for number, (one, (name, own)) in enumerate(zip(axes, values.items(), strict=True)):
            drawn = one.imshow(own, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
            for set_ticks, constants in ((one.set_xticks, b), (one.set_yticks, a)):
                places = range(0, constants.size, 1 + (constants.size - 1) // MOST_TICKS)
                set_ticks(places, [f"{constants[place]:.3g}" for place in places])
            one.set_xlabel("B")
            one.set_ylabel("A")
            one.set_title(f"{title} of {abridged(name)}" if len(values) > 1 else title)
            for place in np.ndindex(own.shape):
                light = own[place] > (low + high) / 2
                behind = len(values) > 1 and best[place] != number
                if own.size <= MOST_NUMBERS:
                    weight = "normal" if behind or len(values) == 1 else "bold"
                    one.text(
                        place[1], place[0], f"{own[place]:.3f}", ha="center", va="center", fontsize=7,
                        weight=weight, color=INK if light else "white",
                    )  # fmt: skip
                elif behind:
                    one.plot(place[1], place[0], "x", color=INK if light else "white", markersize=3)
            _mark_changes(one, best)
        axes[0].figure.colorbar(drawn, ax=axes, label=title)
    return axes[0] if len(axes) == 1 else np.array(axes, object)


def _mark_changes(axes: Any, best: Ints) -> None:
    """Draw lines between points with different best models."""
    for i, j in zip(*np.nonzero(best[1:] != best[:-1]), strict=True):
        axes.plot([j - 0.5, j + 0.5], [i + 0.5] * 2, color="white", linewidth=2.5)
    for i, j in zip(*np.nonzero(best[:, 1:] != best[:, :-1]), strict=True):
        axes.plot([j + 0.5] * 2, [i - 0.5, i + 0.5], color="white", linewidth=2.5)
