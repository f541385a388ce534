"""Records of printed numbers, and the tables, lines and frames that are made of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.spec import Spec
from xmleval.show.tables import Cell, short
from xmleval.statistics.jackknife import Estimate

SIGNS = {"up": 1, "down": -1, "none": 0}  # by the direction of a measure
DIGITS = 4  # after the point
UNKNOWN: Floats = np.empty(0)  # values without each jackknife group of a measure that has none


@dataclass(frozen=True)
class Number:
    """How tables write the value of a measure.

    Parameters
    ----------
    digits : dict of str to int, optional
        Digits after the point, by family of measures; default as `short` writes a value.
    times_100 : collection of str
        Names of the measures whose values are shown times 100.
    intervals : bool
        Whether half the width of a confidence interval follows a value.
    """

    digits: Mapping[str, int] | None = None
    times_100: Collection[str] = ()
    intervals: bool = True

    def __call__(self, spec: Spec, value: float) -> str:
        """Return a value of a measure as text."""
        if self.digits is None:
            return short(value)
        if math.isnan(value):
            return "undefined"
        if spec.name in self.times_100:
            value = 100 * value
        return f"{value:.{self.digits.get(spec.family, DIGITS)}f}"


AS_SHOWN = Number()  # as tables on a terminal write values


class Footnote(NamedTuple):
    """A line below the tables, and its subject."""

    text: str
    about: str = ""  # a kind of figure, or `SETTINGS`; empty for the values


SETTINGS = "settings"


class Record(NamedTuple):
    """The value of a measure, with its model and its group."""

    spec: Spec  # the measure
    value: float  # NaN if undefined
    model: str = ""  # empty for a report alone
    # ``groups`` of labels, their ``shares``, or ``row_groups``; empty for all rows and labels
    kind: str = ""
    group: str = ""
    # lower and upper bound, where the scores do not determine it
    bounds: tuple[float, float] | None = None
    estimate: Estimate | None = None  # confidence interval and standard error
    better_than: tuple[str, ...] = ()  # the models that this one is significantly better than
    data_set: str = ""  # of several

    def _text(self, number: Number = AS_SHOWN, bounded: bool = False) -> str:
        """Return the value with half the width of its confidence interval, and bounds if asked."""
        text = f"{number(self.spec, self.value)}{half_width(self.spec, self.estimate, number)}"
        if bounded and self.bounds:
            text += f" [{', '.join(number(self.spec, end) for end in self.bounds)}]"
        return text


Fields = Mapping[str, Callable[[Any], Any]]  # functions that read a field of a record, by name
Lines = tuple[list[str], list[list[Any]]]  # a header, and lines of CSV


def fields_of(**paths: str) -> Fields:
    """Return functions that read attributes of a record, by name, from their paths.

    They return None if an attribute on the path is None.
    """
    return {name: partial(_read, path=path.split(".")) for name, path in paths.items()}


def _read(record: object, path: Sequence[str]) -> object:
    """Return the attribute at the end of a path."""
    for name in path:
        if record is None:
            return None
        record = getattr(record, name)
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
    """Return a line of CSV for each measure, with the columns of all models and groups."""
    records = [*records]
    fields: dict[str, Callable[[Any], Any]] = {**VALUE}
    if bounded or any(record.bounds for record in records):
        fields |= BOUNDS
    if estimated:
        fields |= ESTIMATED
    heads = dict[tuple[str, str], str]()  # by model and field
    starts = dict[str, list[Any]]()
    values = defaultdict[str, dict[tuple[str, str], Any]](dict)
    for record in records:
        measure = record.spec.name
        if measure not in starts:
            starts[measure] = [read_start(record) for read_start in MEASURE.values()]
        record_fields: Fields = fields
        if record.kind:
            record_fields = {f"{record.kind} {record.group}": VALUE["value"]}
        for name, read in record_fields.items():
            heads[record.model, name] = column_head(record.model, name) if by_model else name
            values[measure][record.model, name] = read(record)
    lines = [[*start, *map(values[measure].get, heads)] for measure, start in starts.items()]
    return [*MEASURE, *heads.values()], lines


def column_head(name: str, field: str) -> str:
    """Return the head of a column of CSV with a field of a model or measure."""
    return name if field == "value" else f"{name} {field}"


def members(records: Iterable[Any], fields: Fields) -> list[dict[str, Any]]:
    """Return a JSON object for each record."""
    return [{name: field(record) for name, field in fields.items()} for record in records]


def half_width(spec: Spec, estimate: Estimate | None, number: Number) -> str:
    """Return half the width of a confidence interval, as it follows a value; nothing without."""
    if estimate is None or not number.intervals:
        return ""
    return f" ±{number(spec, estimate.half_width)}"


def signed(value: float, number: Callable[[float], str] = short) -> str:
    """Return a change as tables show it."""
    sign = "+" if value > 0 else ""
    return f"{sign}{number(value)}"


def listed(names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each text that has names."""
    return [f"{text}: {', '.join(text_names)}" for text, text_names in names.items() if text_names]


def digits_of(
    values: Iterable[tuple[Spec, float]], times_100: Collection[str], digits: int | None
) -> dict[str, int]:
    """Return the digits after the point by family of measures.

    ``digits`` is the number for all; default four, three digits of small values, six of large ones,
    and two less for values that are shown times 100.
    """
    largest = defaultdict[str, float](float)
    are_times_100 = dict[str, bool]()
    for spec, value in values:
        are_times_100[spec.family] = spec.name in times_100
        largest[spec.family] = max(largest[spec.family], abs(value) if math.isfinite(value) else 0)
    if digits is not None:
        return dict.fromkeys(largest, digits)
    by_family = dict[str, int]()
    for family, size in largest.items():
        n_digits = DIGITS
        if 0 < size < 0.001 or size > 99.99995:
            n_digits = max(0, (2 if size < 1 else 5) - math.floor(math.log10(size)))
        if are_times_100[family]:
            n_digits = max(0, n_digits - 2)
        by_family[family] = n_digits
    return by_family


def symbols_of(specs: Iterable[Spec]) -> dict[Any, Cell]:
    """Return the heads of the rows of measures, by name."""
    return {spec.name: Cell(spec.symbol, spec.metric.direction) for spec in specs}
