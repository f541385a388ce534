"""Measures over days: values with their intervals, and limits."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.cached import cached
from xmleval.base.errors import counted
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.results.checks import Failure, find_violations
from xmleval.results.figures import Kind
from xmleval.results.places import KINDS
from xmleval.results.record import (
    AS_SHOWN,
    ESTIMATED,
    VALUE,
    Fields,
    Footnote,
    Lines,
    Number,
    Record,
    column_head,
    fields_of,
    members,
)
from xmleval.results.report import Report, load_results
from xmleval.results.result import Facts, Result
from xmleval.results.saved_results import (
    naming_file,
    read_contents,
    refuse_other_schema,
    refusing_damage,
)
from xmleval.results.shown import FigureData
from xmleval.show.page import Section, as_page
from xmleval.show.panels import Panel, Series, TrendPanel
from xmleval.show.style import abridged
from xmleval.show.tables import TEXT_TAILS, Cell, Table, short, table_of
from xmleval.statistics.jackknife import Estimate
from xmleval.version import SCHEMA, __version__

Reports = Mapping[str, Report]  # of a day, by model; the name of a report alone is ""
NO_INTERVAL = (math.nan, math.nan)
BEYOND = "!"  # marks values beyond their limits
CAPTION = (
    "Values of each day; bands are confidence intervals, dashed lines limits, "
    "and hollow marks values beyond them."
)


class TrendMeasure(NamedTuple):
    """A measure of a trend, within a group if that has a name."""

    spec: Spec
    group: str = ""  # as limits name it

    @property
    def name(self) -> str:
        """Its name, with that of the group in front, as in ``tail:p@5``."""
        return f"{self.group}:{self.spec.name}" if self.group else self.spec.name

    @property
    def symbol(self) -> str:
        """What tables and figures call it."""
        return f"{self.spec.symbol} of {self.group}" if self.group else self.spec.symbol


def report_of(measure: TrendMeasure, report: Report) -> Report | None:
    """Return the report, or that of the group in it, with a value of a measure, or None."""
    part: Report | None = report
    if measure.group:
        part = _find_group(report, measure.group)
    if part is None or measure.spec.name not in part.results.values:
        return None
    return part


def _find_group(report: Report, name: str) -> Report | None:
    """Return the report of a group, as limits name it; None if there is no such group."""
    for kind in KINDS:
        groups: Mapping[str, Report] = getattr(report, kind)
        names = [name.removeprefix(f"{kind} ")]
        if kind == "shares" and names == [name]:  # shares always have their kind in front
            continue
        if names[0] in groups:
            return groups[names[0]]
    return None


class DayValue(NamedTuple):
    """The value of a measure on a day."""

    day: str
    measure: TrendMeasure  # with its ``spec``, ``group`` and ``name``
    value: float  # NaN if undefined
    model: str = ""  # empty for a report alone
    n_rows: int = 0
    n_labels: int = 0
    estimate: Estimate | None = None  # confidence interval and standard error
    holds: bool | None = None  # whether it is within its limits; None without any


FIELDS: Fields = {
    **fields_of(day="day", model="model", name="measure.name", value="value"),
    **ESTIMATED,
    **fields_of(n_rows="n_rows", n_labels="n_labels", holds="holds"),
}


@dataclass(frozen=True, eq=False)
class Trend(Result[DayValue]):
    """Measures over days, with their limits.

    Attributes
    ----------
    days : dict of str to dict of str to Report
        The reports of models by day; the name of a report alone is ``""``.
    measures : list of TrendMeasure
        Each has a ``spec`` and the ``group`` within which it was computed.
    min, max : dict of str to float
        Least and largest value by measure, as in `check`.
    notes : list of str
        What differs between days, and what was left out.

    Examples
    --------
    >>> lists = {"day1": [0, 1, 2, 3], "day2": [0, 1, 3, 2]}
    >>> days = {
    ...     day: evaluate(np.eye(4), np.eye(4)[rows], metrics=["p@1"])
    ...     for day, rows in lists.items()
    ... }
    >>> result = xmleval.trend(days, min={"p@1": 0.6})
    >>> [(record.day, record.value, record.holds) for record in result.records()]
    [('day1', 1.0, True), ('day2', 0.5, False)]
    >>> print(result)
    2 days x 1 measure
    day      rows   P@1 ↑
    -----------------------
    day1        4  1.0000
    day2        4  0.5000 !
    minimum        0.6000
    ties=order empty=zero unlisted=below
    ! beyond a limit, on 1 of 2 days
    day2: p@1 0.5 is below the minimum 0.6
    """

    _has_rows: ClassVar[Sequence[str]] = ("days",)

    days: Mapping[str, Reports]
    measures: Sequence[TrendMeasure]
    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trend:
        """Read a trend from JSON written by `to_json` or ``xmleval trend --output TREND.json``.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ValueError
            If the file holds anything else, or results of another version of the schema.

        Examples
        --------
        >>> from pathlib import Path
        >>> day = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 2]], metrics=["p@1"])
        >>> Path("trend.json").write_text(xmleval.trend({"day1": day}).to_json()) > 0
        True
        >>> Trend.load("trend.json").records()[0].value
        0.5
        """
        file = as_path(path)
        with naming_file(file):
            contents = read_contents(file)
            if "trend" not in contents:
                raise ValueError("JSON without 'trend'; give JSON of `xmleval trend`")
            refuse_other_schema(contents)
            with refusing_damage("trend", "`xmleval trend`"):
                return _read_trend(contents)

    @property
    def models(self) -> list[str]:
        """Names of the models, in order; ``[""]`` for a report alone on each day."""
        return [*dict.fromkeys(model for reports in self.days.values() for model in reports)]

    @cached
    def failures(self) -> dict[str, list[Failure]]:
        """What is beyond its limit, undefined or missing, by day.

        Examples
        --------
        >>> day = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 2]], metrics=["p@1"])
        >>> xmleval.trend({"day1": day}, min={"p@1": 0.6}).failures["day1"][0].reason
        'p@1 0.5 is below the minimum 0.6'
        """
        failures = dict[str, list[Failure]]()
        for day, reports in self.days.items():
            of_day = list[Failure]()
            for model, report in reports.items():
                for limits, side in ((self.min, "minimum"), (self.max, "maximum")):
                    violations = find_violations(report, limits, side)
                    of_day += [failure._replace(model=model) for failure in violations]
            if of_day:
                failures[day] = of_day
        return failures

    @cached
    def _values(self) -> dict[tuple[str, str, TrendMeasure], DayValue]:
        """Values by day, model and measure; the report of a day may lack some."""
        values = dict[tuple[str, str, TrendMeasure], DayValue]()
        for day, reports in self.days.items():
            failing = {(each.model, each.measure) for each in self.failures.get(day, ())}
            for model, report in reports.items():
                for measure in self.measures:
                    part = report_of(measure, report)
                    if part is None:
                        continue
                    holds = None
                    if measure.name in self.min or measure.name in self.max:
                        holds = (model, measure.name) not in failing
                    record = part._record(measure.spec)
                    values[day, model, measure] = DayValue(
                        day=day,
                        measure=measure,
                        value=record.value,
                        model=model,
                        n_rows=part.n_rows,
                        n_labels=part.n_labels,
                        estimate=record.estimate,
                        holds=holds,
                    )
        return values

    def _title(self) -> str:
        n_measures = counted(len(self.measures), "measures")
        return f"{counted(len(self.days), 'days')} x {n_measures}"

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Trend: {', '.join(self.days)}; {self._title()}>"

    def _specs(self, in_tables: bool = True) -> list[Spec]:
        return [*dict.fromkeys(measure.spec for measure in self.measures)]

    def records(self) -> list[DayValue]:
        return [*self._values.values()]

    def _printed(self) -> Iterator[tuple[Spec, float]]:
        for record in self.records():
            yield record.measure.spec, record.value
        for measure in self.measures:
            for _, limit in self._limits_of(measure):
                yield measure.spec, limit

    def _limits_of(self, measure: TrendMeasure) -> list[tuple[str, float]]:
        """Return the sides and the limits of a measure."""
        sides = (("minimum", self.min), ("maximum", self.max))
        return [(side, limits[measure.name]) for side, limits in sides if measure.name in limits]

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        return [self._table(model, number) for model in self.models]

    def _table(self, model: str, number: Number) -> Table:
        """Return the values of a model, with a row for each day and for the limits."""
        columns = {"": Cell("rows")}
        rows = {("day", day): Cell(day) for day in self.days}
        cells = dict[Any, Cell]()
        for day, reports in self.days.items():
            if model in reports:
                cells[("day", day), ""] = Cell(str(reports[model].n_rows))
        for measure in self.measures:
            columns[measure.name] = Cell(measure.symbol, measure.spec.metric.direction)
            for day in self.days:
                if (day, model, measure) in self._values:
                    value = self._values[day, model, measure]
                    cells[("day", day), measure.name] = _cell_of(value, number)
            for side, limit in self._limits_of(measure):
                rows["limit", side] = Cell(side)
                cells[("limit", side), measure.name] = Cell(number(measure.spec, limit))
        caption = f"{model}: {self._title()}" if model else self._title()
        return table_of(caption, "day", rows, columns, cells)

    def _placed_footnotes(self) -> list[Footnote]:
        reports = [report for of_day in self.days.values() for report in of_day.values()]
        lines = [*filter(None, [_conventions_text(reports[0], self._specs())])]
        levels = {report.confidence_level for report in reports} - {None}
        if len(levels) == 1 and any(record.estimate for record in self.records()):
            level = levels.pop() or 0.0
            lines.append(f"± {100 * level:.4g}% confidence over the test rows of each day")
        if self.failures:
            n_days = counted(len(self.days), "days")
            lines.append(f"{BEYOND} beyond a limit, on {len(self.failures)} of {n_days}")
        elif self.min or self.max:
            lines.append("all days are within the limits")
        for day, failures in self.failures.items():
            for failure in failures:
                model = f"{failure.model}: " if failure.model else ""
                lines.append(f"{day}: {model}{failure.reason}")
        lines += [f"note: {note}" for note in self.notes]
        return [*map(Footnote, lines)]

    def _kinds(self) -> Mapping[str, Kind]:
        return {"trend": Kind(self._panels_of, "values over days")}

    def _panels_of(self, data: FigureData) -> list[Panel]:
        """Return a panel for each measure, with a line for each model."""
        measures = [measure for measure in self.measures if measure.spec in data.specs]
        return [self._panel(measure) for measure in measures]

    def _panel(self, measure: TrendMeasure) -> TrendPanel:
        """Return the lines of a measure, with its limits."""
        limits = self._limits_of(measure)
        title = f"{measure.symbol}{TEXT_TAILS[measure.spec.metric.direction]}"
        for side, limit in limits:
            title += f", {side} {limit:g}"
        return TrendPanel(
            [self._line(model, measure) for model in self.models],
            title,
            "day",
            "value",
            [*map(abridged, self.days)],
            limits=[limit for _, limit in limits],
        )

    def _line(self, model: str, measure: TrendMeasure) -> Series:
        """Return the values of a model by day, NaN without a value."""
        numbers = list[float]()
        intervals = list[tuple[float, float]]()
        is_full = list[bool]()
        for day in self.days:
            value = self._values.get((day, model, measure))
            interval = NO_INTERVAL
            if value is not None and value.estimate is not None:
                interval = (value.estimate.lower, value.estimate.upper)
            numbers.append(math.nan if value is None else value.value)
            intervals.append(interval)
            is_full.append(value is None or value.holds is not False)
        ends: Floats | None = np.array(intervals).T
        if np.isnan(intervals).all():
            ends = None
        places = range(len(numbers))
        return Series(model, places, np.array(numbers), ends, np.array(is_full))

    def _page(self, title: str | None, about: Facts | None) -> str:
        sections = [
            Section("Results", self.tables(), self.footnotes()),
            Section("Trend", panels=self._panels("trend"), caption=CAPTION),
        ]
        return as_page(title or "Trend over days", self._summary(), sections, about or {})

    def _summary(self) -> list[str]:
        """Return sentences on the models' first measure, and one on the limits."""
        sentences = [*filter(None, map(self._change_text, self.models))]
        if self.failures:
            sentences.append(f"Beyond a limit: {', '.join(self.failures)}.")
        elif self.min or self.max:
            sentences.append("All days are within the limits.")
        return sentences

    def _change_text(self, model: str) -> str:
        """Return a sentence on the first and the last value of the first measure."""
        measure = self.measures[0]
        values = [
            value for (_, of, what), value in self._values.items() if (of, what) == (model, measure)
        ]
        if not values:
            return ""
        first = values[0]
        last = values[-1]
        subject = f"{measure.symbol} of {model}" if model else measure.symbol
        start = f"{subject} is {short(last.value)} on {last.day}"
        if first is last:
            return f"{start}."
        return f"{start}, and was {short(first.value)} on {first.day}."

    def _lines(self, bounded: bool) -> Lines:
        fields = VALUE
        if any(record.estimate for record in self.records()):
            fields = {**fields, **ESTIMATED}
        has_models = self.models != [""]
        header = ["day", *(["model"] if has_models else []), "rows", "labels"]
        for measure in self.measures:
            header += [column_head(measure.name, name) for name in fields]
        lines = list[list[Any]]()
        for day, reports in self.days.items():
            for model, report in reports.items():
                line = [day, *([model] if has_models else []), report.n_rows, report.n_labels]
                for measure in self.measures:
                    value = self._values.get((day, model, measure))
                    line += [None if value is None else read(value) for read in fields.values()]
                lines.append(line)
        return header, lines

    def _members(self) -> dict[str, Any]:
        measures = [
            {
                "name": measure.name,
                "symbol": measure.symbol,
                "direction": measure.spec.metric.direction,
                **dict(self._limits_of(measure)),
            }
            for measure in self.measures
        ]
        contents = {
            "days": [*self.days],
            "models": self.models,
            "measures": measures,
            "values": members(self.records(), FIELDS),
            "limits": {"min": self.min, "max": self.max},
            "reports": {
                day: {model: report.to_dict() for model, report in reports.items()}
                for day, reports in self.days.items()
            },
        }
        return {"schema": SCHEMA, "trend": contents, "notes": self.notes, "version": __version__}


def _read_trend(contents: Mapping[str, Any]) -> Trend:
    """Return the trend in the contents of a file."""
    saved = contents["trend"]
    days = dict[str, Reports]()
    for day, reports in saved["reports"].items():
        days[day] = {model: load_results(report)[""] for model, report in reports.items()}
    measures = list[TrendMeasure]()
    for measure in saved["measures"]:
        group, _, name = measure["name"].rpartition(":")
        measures.append(TrendMeasure(parse_spec(name), group))
    limits = {side: dict(saved["limits"][side]) for side in ("min", "max")}
    return Trend(days=days, measures=measures, notes=[*contents["notes"]], **limits)


def _cell_of(value: DayValue, number: Number) -> Cell:
    """Return a value with half the width of its interval, marked if beyond its limit."""
    record = Record(value.measure.spec, value.value, estimate=value.estimate)
    return Cell(record._text(number), above=BEYOND if value.holds is False else "")


def _conventions_text(report: Report, specs: Sequence[Spec]) -> str:
    """Return the conventions that affect the measures, on one line."""
    names = [name for spec in specs for name in spec.conventions(report.decision)]
    return report.conventions.signature(names)
