"""Figures: a line of dots per measure, a dot per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from xmleval.records import Floats

# colours for colour-blind readers (Okabe & Ito), and shapes for grey prints
LOOKS = {
    "LIMO": ("#000000", "o"),
    "LIMO-label": ("#0072b2", ">"),
    "LIMO-inst": ("#d55e00", "<"),
    "BR-SVM": ("#009e73", "s"),
    "ML-kNN": ("#cc79a7", "D"),
    "GFM": ("#e69f00", "^"),
}
STYLE = {
    "svg.hashsalt": "limo",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_dots(axes: Any, values: Mapping[tuple[str, str], float], measures: Mapping[str, str]) -> None:
    """Draw a line of dots per measure, the first on top; ``measures`` maps names to titles."""
    for place, measure in enumerate(measures):
        axes.axhline(place, color="#dddddd", linewidth=0.8, zorder=0)
        points: dict[float, list[str]] = {}
        for method in LOOKS:
            if (measure, method) in values:
                points.setdefault(round(values[measure, method], 2), []).append(method)
        for x, methods in points.items():
            for i, method in enumerate(methods):  # side by side if equal
                colour, marker = LOOKS[method]
                shift = (i - (len(methods) - 1) / 2) * 0.28
                axes.plot(x, place + shift, marker, color=colour, markersize=6, label=method, clip_on=False)
    axes.set_yticks(range(len(measures)), list(measures.values()))
    axes.set_ylim(len(measures) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def add_legend(figure: Any, axes: Any) -> None:
    """Add a legend above the axes, with each method once."""
    by_name: dict[str, Any] = {}
    for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
        by_name.setdefault(name, handle)
    names = [name for name in LOOKS if name in by_name]
    figure.legend(
        [by_name[name] for name in names], names, loc="upper center", ncols=len(names), frameon=False,
        handletextpad=0.1, columnspacing=1.2,
    )  # fmt: skip


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG, reproducibly."""
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, dpi=150, facecolor="white", metadata=metadata)
    return paths


def draw_ranks(
    folder: Path, ranks: Mapping[tuple[str, str], float], measures: Mapping[str, str]
) -> list[Path]:
    """Draw average ranks (figure 4 of the paper)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.8, 4.2))
        axes = figure.add_axes((0.21, 0.12, 0.76, 0.78))
        draw_dots(axes, ranks, measures)
        axes.set_xlabel("average rank over data sets (1 is best)")
        axes.set_xticks(range(1, len({method for _, method in ranks}) + 1))
        add_legend(figure, axes)
        return save(figure, folder, "average_ranks")


def draw_relative(
    folder: Path, values: Sequence[Mapping[tuple[str, str], float]], measures: Sequence[Mapping[str, str]]
) -> list[Path]:
    """Draw relative values under both rules side by side (figures 2 and 3 of the paper)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.8))
        for i, (panel, names) in enumerate(zip(values, measures, strict=True)):
            axes = figure.add_axes((0.16 + 0.49 * i, 0.13, 0.33, 0.76))
            draw_dots(axes, panel, names)
            axes.set_xlabel("relative value (1 is best, 0 is worst)")
            add_legend(figure, axes) if i == 0 else None
        return save(figure, folder, "relative_values")


def draw_regions(folder: Path, points: Floats, labels: Any) -> list[Path]:
    """Draw where each label of the synthetic data is relevant."""
    with mpl.rc_context(STYLE):
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
        return save(figure, folder, "regions")
