"""The numbers of a figure, before they are drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import printable

LONGEST = 28  # characters of a name in a figure


class Series(NamedTuple):
    """Points of one model: places, values and, where they are known, the ends of their intervals."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    marked: Sequence[bool] = ()  # points that are drawn full; all if empty


class Outlier(NamedTuple):
    """A point that has its name beside it."""

    name: str
    x: float
    y: float


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title, x_label, y_label : str
        What is shown.
    series : list of Series
        The points.
    form : {"lines", "curves", "dots", "points"}
        Lines with a marker at each point; lines without; a line of dots for each of ``ticks``, from the top;
        or points in a square, by number where they are many.
    ticks : list of str
        Names of the places 0, 1, ..., if places have names.
    reference : {"", "zero", "diagonal"}
        A line to compare with.
    outliers : list of Outlier
        Points with names.
    """

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    form: str = "lines"
    ticks: list[str] = field(default_factory=list)
    reference: str = ""
    outliers: list[Outlier] = field(default_factory=list)


def abridged(name: str, longest: int = LONGEST) -> str:
    """Return a name for a figure: printable, on one line, and cut where it is too long.

    Examples
    --------
    >>> abridged("a name that goes on and on and on and on")
    'a name that goes on and on …'
    """
    text = "".join(c for c in printable(name) if unicodedata.category(c)[0] != "C")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def as_table(panel: Panel) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the numbers of a panel, rounded as people read them."""
    place = (panel.y_label if panel.form == "dots" else panel.x_label) or "group"
    value = panel.x_label if panel.form == "dots" else panel.y_label
    if panel.form == "points":
        header = ["label", panel.x_label, panel.y_label]
        return header, [[one.name, shown(one.x), shown(one.y)] for one in panel.outliers]
    bounded = any(one.low is not None for one in panel.series)
    named = any(one.name for one in panel.series)  # a report alone has no name
    header = [*(["series"] if named else []), place, value, *(["lower", "upper"] if bounded else [])]
    rows = []
    for one in panel.series:
        places, values = (one.y, one.x) if panel.form == "dots" else (one.x, one.y)
        for n, (x, y) in enumerate(zip(places.tolist(), values.tolist(), strict=True)):
            if np.isnan(x):  # a gap of a line
                continue
            row = [one.name] if named else []
            row += [panel.ticks[round(x)] if panel.ticks else shown(x), shown(y)]
            if bounded:
                row += (
                    ["", ""]
                    if one.low is None or one.high is None
                    else [shown(one.low[n]), shown(one.high[n])]
                )
            rows.append(row)
    return header, rows


def shown(value: float) -> str:
    """Return a number with four digits; nothing if it is undefined."""
    return "" if np.isnan(value) else f"{value:.4g}"


def described(panel: Panel) -> str:
    """Return a sentence that stands for the picture."""
    if panel.form == "points":
        n = sum(one.x.size for one in panel.series)
        named = ", ".join(one.name for one in panel.outliers)
        outside = f" Farthest from the diagonal: {named}." if named else ""
        return f"{panel.title}: {panel.y_label} against {panel.x_label} of {n} labels.{outside}"
    told = []
    for one in panel.series:
        values = one.x if panel.form == "dots" else one.y
        known = values[~np.isnan(values)]
        if known.size:
            told.append(f"{one.name} from {shown(known.min())} to {shown(known.max())}".lstrip())
    what = panel.x_label if panel.form == "dots" else f"{panel.y_label} against {panel.x_label or 'groups'}"
    title = f"{panel.title}: " if panel.title else ""
    return f"{title}{what}; {', '.join(told) or 'no value is defined'}."
