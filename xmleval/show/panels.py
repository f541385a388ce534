"""Panels of figures as numbers and names, which `drawing` draws and pages list and describe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bools, Floats

Values = Sequence[float] | Floats


class Series(NamedTuple):
    """Values at places, under a name."""

    name: str
    places: Values  # NaN in the gaps of a line
    values: Values
    ends: Floats | None = None  # of intervals, lower and upper: (2, n), NaN where there is none
    is_full: Bools | bool = True  # whether marks are full; others are hollow


@dataclass(frozen=True, eq=False)
class Panel:
    """Series under a title, with the labels of the two axes."""

    series: Sequence[Series]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    ticks: Sequence[str] = ()  # names of the places 0, 1 and so on, where places have names

    def numbers(self) -> list[list[str]]:
        """Return a header and the numbers, with the columns that are needed."""
        rows = [[*self._column_names(), "lower", "upper"]]
        for series in self.series:
            rows += self._rows_of(series)
        is_unnamed = [series.name for series in self.series] == [""]
        have_ends = any(series.ends is not None for series in self.series)
        first = 1 if is_unnamed else 0
        last = 5 if have_ends else 3
        return [row[first:last] for row in rows]

    def words(self) -> str:
        """Return a sentence that can replace the picture."""
        start = f"{self.title}: " if self.title else ""
        return f"{start}{self._subject()}{self._value_summary()}."

    def _rows_of(self, series: Series) -> Iterator[list[str]]:
        """Yield name, place, value and ends as texts, without the gaps of a line."""
        ends = series.ends
        if ends is None:
            ends = np.full((2, len(series.places)), np.nan)
        for place, *numbers in zip(series.places, series.values, *ends, strict=True):
            if not np.isnan(place):
                place_name = four_digits(place)
                if self.ticks:
                    place_name = self.ticks[int(place)]
                yield [series.name, place_name, *map(four_digits, numbers)]

    def _column_names(self) -> list[str]:
        """Return the names of the columns of series, places and values."""
        return ["series", self.x_label, self.y_label]

    def _subject(self) -> str:
        """Return the words for the two axes."""
        return f"{self.y_label} against {self.x_label}"

    def _value_summary(self) -> str:
        """Return the ranges of values by series, as the end of a sentence."""
        ranges = filter(None, map(_range_of, self.series))
        return f"; {', '.join(ranges) or 'no value is defined'}"


@dataclass(frozen=True, eq=False)
class LinePanel(Panel):
    """Lines, with bands of intervals."""

    has_markers: bool = True  # where points are few
    has_diagonal: bool = False
    are_whole: bool = False  # places are whole numbers


@dataclass(frozen=True, eq=False)
class TrendPanel(LinePanel):
    """Lines over days, with limits on the values; marks beyond a limit are hollow."""

    limits: Sequence[float] = ()


@dataclass(frozen=True, eq=False)
class DotPanel(Panel):
    """Dots with intervals: a row for each tick, in which each series has a dot.

    Ticks are measures, unless ``y_label`` says what they are.
    """

    has_zero: bool = False  # whether there is a line at 0

    def _column_names(self) -> list[str]:
        return ["series", self.y_label or "measure", self.x_label]

    def _subject(self) -> str:
        return f"{self.x_label} by {self.y_label}" if self.y_label else self.x_label


@dataclass(frozen=True, eq=False)
class RankPanel(DotPanel):
    """Average ranks of models in a diagram: a series for each model, the best first."""

    critical_difference: float = np.nan
    control: str | None = None  # name of the series with which others are compared
    bars: Sequence[tuple[float, float]] = ()  # ranks that do not differ significantly


@dataclass(frozen=True, eq=False, kw_only=True)
class PointPanel(Panel):
    """Many points in a square; the series are single points that have names."""

    x: Floats
    y: Floats

    def _column_names(self) -> list[str]:
        return ["label", self.x_label, self.y_label]

    def _value_summary(self) -> str:
        names = ", ".join(series.name for series in self.series)
        if not names:
            return ""
        return f". Farthest from the diagonal: {names}"


def _range_of(series: Series) -> str:
    """Return the name of a series with its lowest and highest value; nothing if undefined."""
    values = np.asarray(series.values, np.float64)
    values = values[~np.isnan(values)]
    if not values.size:
        return ""
    lowest = four_digits(values.min())
    highest = four_digits(values.max())
    return f"{series.name} from {lowest} to {highest}".lstrip()


def four_digits(value: float) -> str:
    """Return a number with four digits; nothing if it is undefined."""
    return "" if np.isnan(value) else f"{value:.4g}"
