"""Records of printed numbers, and the tables, lines and frames that are made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from xmleval.base.errors import import_optional
from xmleval.metrics.spec import Spec
from xmleval.show.tables import Cell, Table, short
from xmleval.statistics.jackknife import Estimate

Number = Callable[[Spec, float], str]  # how a value of a measure is written


def as_shown(spec: Spec, value: float) -> str:
    """Return a value of a measure as tables on a terminal show it."""
    return short(value)


class Record(NamedTuple):
    """A printed number: the value of a measure, of which model, within which group.

    Attributes
    ----------
    spec : Spec
        The measure.
    value : float
        Its value, NaN if undefined.
    model : str
        Name of the model; empty for a report alone.
    kind : str
        ``groups`` of labels, their ``shares``, or ``row_groups``; empty for all rows and labels.
    group : str
        Name of the group.
    bounds : tuple of float, or None
        Lower and upper bound of a value that the scores do not determine.
    estimate : Estimate or None
        Confidence interval and standard error.
    better_than : tuple of str
        The models that this one is significantly better than.
    """

    spec: Spec
    value: float
    model: str = ""
    kind: str = ""
    group: str = ""
    bounds: tuple[float, float] | None = None
    estimate: Estimate | None = None
    better_than: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """The group: its kind and its name."""
        return self.kind, self.group

    def text(self, number: Number = as_shown) -> str:
        """Return the value, with half the width of its confidence interval."""
        return f"{number(self.spec, self.value)}{half_width(self.spec, self.estimate, number)}"


Fields = Mapping[str, Callable[[Any], Any]]  # what a line of CSV has of a record, by its name
ESTIMATED: Fields = {
    "standard_error": lambda record: record.estimate.standard_error if record.estimate else math.nan,
    "confidence_lower": lambda record: record.estimate.lower if record.estimate else math.nan,
    "confidence_upper": lambda record: record.estimate.upper if record.estimate else math.nan,
}
BOUNDS: Fields = {
    "lower": lambda record: record.bounds[0] if record.bounds else math.nan,
    "upper": lambda record: record.bounds[1] if record.bounds else math.nan,
}
MEASURE: Fields = {
    "name": lambda record: record.spec.name,
    "symbol": lambda record: record.spec.symbol,
    "direction": lambda record: record.spec.metric.direction,
}
VALUE: Fields = {**MEASURE, "value": lambda record: record.value, **BOUNDS}


def half_width(spec: Spec, estimate: Estimate | None, number: Number) -> str:
    """Return what follows a value that has a confidence interval: half its width."""
    return "" if estimate is None else f" ±{number(spec, estimate.half_width)}"


def in_percent(spec: Spec) -> bool:
    """Return whether values of a measure, which are at most 1, may be printed times 100."""
    low, high = spec.metric.range
    return low >= -1 and high <= 1


def about_percent(specs: Iterable[Spec], percent: bool) -> list[str]:
    """Return a footnote that names the measures whose values are printed times 100, if any are."""
    names = [str(spec) for spec in specs if percent and in_percent(spec)]
    return [f"values times 100: {', '.join(names)}"] if names else []


def one_number_of_digits(records: Iterable[Record], percent: bool) -> Number:
    """Return how papers print values: as many digits for all of a measure, in per cent where asked."""
    sizes: dict[str, float] = {}
    for record in records:
        if math.isfinite(record.value):
            sizes[record.spec.family] = max(abs(record.value), sizes.get(record.spec.family, 0.0))

    def number(spec: Spec, value: float) -> str:
        if math.isnan(value):
            return "undefined"
        size = sizes.get(spec.family, 0.0)
        n_digits = 4
        if 0 < size < 0.001 or size > 99.99995:  # three digits of a small value, six of a large one
            n_digits = max(0, (2 if size < 1 else 5) - math.floor(math.log10(size)))
        if percent and in_percent(spec):
            value, n_digits = 100 * value, n_digits - 2
        return f"{value:.{n_digits}f}"

    return number


def measure_cells(specs: Iterable[Spec]) -> dict[Any, Cell]:
    """Return the heads of a row for each measure, by name."""
    return {spec.name: Cell(spec.symbol, spec.metric.direction) for spec in specs}


def table_of(
    caption: str,
    corner: str,
    rows: Mapping[Any, Cell],
    columns: Mapping[Any, Cell],
    cells: Mapping[tuple[Any, Any], Cell],
) -> Table:
    """Return a table of cells by row and column, whose heads are given; other cells are empty."""
    empty, lines = Cell(""), [[Cell(corner), *columns.values()]]
    for row, head in rows.items():
        lines.append([head])
        for column in columns:
            lines[-1].append(cells.get((row, column), empty))
    return Table(caption, lines)


def as_frame(header: list[str], lines: Iterable[list[Any]], hidden: Iterable[str] = ()) -> Any:
    """Return a pandas DataFrame of lines of CSV, indexed by the first field, without some columns."""
    pandas = import_optional("pandas", "to_frame()", "pandas")
    lines = [*lines]
    names = pandas.Index([line[0] for line in lines], name=header[0])
    frame = pandas.DataFrame([line[1:] for line in lines], index=names, columns=header[1:])
    return frame.iloc[:, [n for n, name in enumerate(header[1:]) if name not in {*hidden}]]
