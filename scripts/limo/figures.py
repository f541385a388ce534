"""Figures: a line of dots per measure, a dot per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.results.figures import X_LABEL
from xmleval.show.drawing import draw, save
from xmleval.show.panels import DotPanel, Series
from xmleval.show.style import abridged

METHODS = "LIMO", "LIMO-label", "LIMO-inst", "BR-SVM", "ML-kNN", "GFM"


def dots_of_methods(
    values: Mapping[tuple[str, str], float], measures: Mapping[str, str], x_label: str
) -> DotPanel:
    """Make a row of dots per measure; ``measures`` maps names to titles."""
    series = [
        Series(
            method,
            range(len(measures)),
            [values.get((measure, method), np.nan) for measure in measures],
        )
        for method in METHODS
        if any((measure, method) in values for measure in measures)
    ]
    return DotPanel(series, x_label=x_label, ticks=[*map(abridged, measures.values())])


def write(axes: Any, path: Path) -> Path:
    """Write the figure of some axes as SVG, reproducibly."""
    save(axes, path, "svg")
    return path


def draw_ranks(
    folder: Path, ranks: Mapping[tuple[str, str], float], measures: Mapping[str, str]
) -> Path:
    """Draw average ranks (figure 4 of the paper)."""
    panels = [dots_of_methods(ranks, measures, X_LABEL)]
    return write(draw(panels), folder / "average_ranks.svg")


def draw_relative(
    folder: Path,
    values: Sequence[Mapping[tuple[str, str], float]],
    measures: Sequence[Mapping[str, str]],
) -> Path:
    """Draw relative values under both rules side by side (figures 2 and 3 of the paper)."""
    x_label = "relative value (1 is best, 0 is worst)"
    pairs = zip(values, measures, strict=True)
    panels = [dots_of_methods(rule_values, titles, x_label) for rule_values, titles in pairs]
    return write(draw(panels), folder / "relative_values.svg")
