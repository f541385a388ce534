"""Records of printed numbers, and the tables, lines and frames that are made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.spec import Spec
from xmleval.show.tables import Cell, short
from xmleval.statistics.jackknife import Estimate

SIGNS = {"up": 1, "down": -1, "none": 0}  # by the direction of a measure
Number = Callable[[Spec, float], str]  # how a value of a measure is written
UNKNOWN: Floats = np.empty(0)  # values without each jackknife group of a measure that has none


def as_shown(spec: Spec, value: float) -> str:
    """Return a value of a measure as tables on a terminal show it."""
    return short(value)


class Record(NamedTuple):
    """The value of a measure: of which model, within which group."""

    spec: Spec  # the measure
    value: float  # NaN if undefined
    model: str = ""  # empty for a report alone
    kind: str = ""  # ``groups`` of labels, their ``shares``, or ``row_groups``; empty for all rows and labels
    group: str = ""
    bounds: tuple[float, float] | None = None  # lower and upper bound, where the scores do not determine it
    estimate: Estimate | None = None  # confidence interval and standard error
    better_than: tuple[str, ...] = ()  # the models that this one is significantly better than

    def text(self, number: Number = as_shown, bounded: bool = False) -> str:
        """Return the value, with half the width of its confidence interval, and with its bounds if asked."""
        text = f"{number(self.spec, self.value)}{half_width(self.spec, self.estimate, number)}"
        if bounded and self.bounds:
            text += f" [{', '.join(number(self.spec, end) for end in self.bounds)}]"
        return text


Fields = Mapping[str, Callable[[Any], Any]]  # what a line of CSV has of a record, by its name
Lines = tuple[list[str], list[list[Any]]]  # a header, and lines of CSV


def fields_of(**paths: str) -> Fields:
    """Return what reads attributes of a record, by their paths; None behind one that is None."""
    return {name: partial(_read, path=path.split(".")) for name, path in paths.items()}


def _read(record: object, path: Sequence[str]) -> object:
    for name in path:
        record = None if record is None else getattr(record, name)
    return record


VALUE = fields_of(value="value")
ESTIMATED = fields_of(
    standard_error="estimate.standard_error",
    confidence_lower="estimate.lower",
    confidence_upper="estimate.upper",
)
BOUNDS: Fields = {
    "lower": lambda record: record.bounds and record.bounds[0],
    "upper": lambda record: record.bounds and record.bounds[1],
}
MEASURE = fields_of(name="spec.name", symbol="spec.symbol", direction="spec.metric.direction")


def measure_lines(
    records: Iterable[Record], bounded: bool, estimated: bool = False, by_model: bool = False
) -> Lines:
    """Return a line of CSV for each measure, with the columns of each model and of its groups."""
    records = [*records]
    bounds = BOUNDS if bounded or any(record.bounds for record in records) else {}
    whole: Fields = {**VALUE, **bounds, **(ESTIMATED if estimated else {})}
    heads = dict[tuple[str, str], str]()
    lines = dict[str, tuple[list[Any], dict[tuple[str, str], Any]]]()
    for record in records:
        _, line = lines.setdefault(record.spec.name, ([read(record) for read in MEASURE.values()], {}))
        fields = {f"{record.kind} {record.group}": VALUE["value"]} if record.kind else whole
        for name, field in fields.items():
            of_model = record.model if name == "value" else f"{record.model} {name}"
            heads[record.model, name] = of_model if by_model else name
            line[record.model, name] = field(record)
    return [*MEASURE, *heads.values()], [[*start, *map(line.get, heads)] for start, line in lines.values()]


def members(records: Iterable[Any], fields: Fields) -> list[dict[str, Any]]:
    """Return a JSON object for each record."""
    return [{name: field(record) for name, field in fields.items()} for record in records]


def half_width(spec: Spec, estimate: Estimate | None, number: Number) -> str:
    """Return what follows a value that has a confidence interval: half its width."""
    return "" if estimate is None else f" ±{number(spec, estimate.half_width)}"


def signed(value: float, number: Callable[[float], str] = short) -> str:
    """Return a change as tables show it."""
    return f"{'+' if value > 0 else ''}{number(value)}"


def listed(names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each text that has names."""
    return [f"{text}: {', '.join(of_text)}" for text, of_text in names.items() if of_text]


def one_number_of_digits(values: Iterable[tuple[Spec, float]], times_100: Collection[Spec]) -> Number:
    """Return how papers print values: as many digits for all of a measure, and some times 100."""
    sizes: dict[str, float] = {}
    for spec, value in values:
        if math.isfinite(value):
            sizes[spec.family] = max(abs(value), sizes.get(spec.family, 0.0))

    def number(spec: Spec, value: float) -> str:
        if math.isnan(value):
            return "undefined"
        size, n_digits = sizes.get(spec.family, 0.0), 4
        if 0 < size < 0.001 or size > 99.99995:  # three digits of a small value, six of a large one
            n_digits = max(0, (2 if size < 1 else 5) - math.floor(math.log10(size)))
        if spec in times_100:
            value, n_digits = 100 * value, max(0, n_digits - 2)
        return f"{value:.{n_digits}f}"

    return number


def symbols_of(specs: Iterable[Spec]) -> dict[Any, Cell]:
    """Return the heads of a row for each measure, by name."""
    return {spec.name: Cell(spec.symbol, spec.metric.direction) for spec in specs}
