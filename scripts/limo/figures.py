"""Figures: a line of dots per measure, a dot per method; and points in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from xmleval.base.arrays import Floats
from xmleval.show.diagrams import X_LABEL
from xmleval.show.drawing import NewAxes, draw, draw_dots, save
from xmleval.show.style import SETTINGS

METHODS = "LIMO", "LIMO-label", "LIMO-inst", "BR-SVM", "ML-kNN", "GFM"


def draw_methods(
    new_axes: NewAxes, values: Mapping[tuple[str, str], float], measures: Mapping[str, str], x_label: str
) -> None:
    """Draw a row of dots per measure; ``measures`` maps names to titles."""
    series = {
        method: (np.array([values.get((measure, method), np.nan) for measure in measures]), None, True)
        for method in METHODS
        if any((measure, method) in values for measure in measures)
    }
    draw_dots(new_axes, x_label, [*measures.values()], series)


def save_both(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG, reproducibly."""
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    for path in paths:
        save(figure.axes[0], path, path.suffix[1:])
    return paths


def draw_ranks(
    folder: Path, ranks: Mapping[tuple[str, str], float], measures: Mapping[str, str]
) -> list[Path]:
    """Draw average ranks (figure 4 of the paper)."""
    (axes,) = draw(lambda new_axes: draw_methods(new_axes, ranks, measures, X_LABEL))
    return save_both(axes.figure, folder, "average_ranks")


def draw_relative(
    folder: Path, values: Sequence[Mapping[tuple[str, str], float]], measures: Sequence[Mapping[str, str]]
) -> list[Path]:
    """Draw relative values under both rules side by side (figures 2 and 3 of the paper)."""
    x_label = "relative value (1 is best, 0 is worst)"

    def draw_both(new_axes: NewAxes) -> None:
        for of_rule, names in zip(values, measures, strict=True):
            draw_methods(new_axes, of_rule, names, x_label)

    return save_both(draw(draw_both)[0].figure, folder, "relative_values")


def draw_regions(folder: Path, points: Floats, labels: Any) -> list[Path]:
    """Draw where each label of the synthetic data is relevant."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(8.0, 2.3))
        for label in range(labels.shape[1]):
            axes = figure.add_axes((0.03 + 0.245 * label, 0.05, 0.22, 0.80))
            for relevant, colour in ((0, "#dddddd"), (1, "#0072b2")):
                chosen = points[labels[:, label] == relevant]
                axes.plot(chosen[:, 0], chosen[:, 1], ".", color=colour, markersize=1.5, rasterized=True)
            axes.set_title(f"label {label + 1}", fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_aspect("equal")
            axes.spines[["top", "right"]].set_visible(True)
            axes.grid(visible=False)
        return save_both(figure, folder, "regions")
