"""Figures: a line of dots per measure, a dot per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.results.figures import X_LABEL
from xmleval.show.drawing import NewAxes, draw, draw_dots, save

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


def write(axes: Any, path: Path) -> Path:
    """Write the figure of some axes as SVG, reproducibly."""
    save(axes, path, "svg")
    return path


def draw_ranks(folder: Path, ranks: Mapping[tuple[str, str], float], measures: Mapping[str, str]) -> Path:
    """Draw average ranks (figure 4 of the paper)."""
    (axes,) = draw(lambda new_axes: draw_methods(new_axes, ranks, measures, X_LABEL))
    return write(axes, folder / "average_ranks.svg")


def draw_relative(
    folder: Path, values: Sequence[Mapping[tuple[str, str], float]], measures: Sequence[Mapping[str, str]]
) -> Path:
    """Draw relative values under both rules side by side (figures 2 and 3 of the paper)."""
    x_label = "relative value (1 is best, 0 is worst)"

    def draw_both(new_axes: NewAxes) -> None:
        for of_rule, names in zip(values, measures, strict=True):
            draw_methods(new_axes, of_rule, names, x_label)

    return write(draw(draw_both)[0], folder / "relative_values.svg")
