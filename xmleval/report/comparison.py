"""Several reports side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from xmleval.message import counted
from xmleval.report.frames import as_frame
from xmleval.report.printed import Printed
from xmleval.report.report import Report
from xmleval.report.tables import Cell, Table, as_csv, as_text, short, short_names
from xmleval.spec import Spec
from xmleval.version import SCHEMA

SAME_DEPTH = 1.01  # ratio of numbers of labels up to which lists hold as much


class Comparison(Printed):
    """Reports of the same measures, by name.

    Parameters
    ----------
    reports : dict of str to Report
        At least one; tables show the measures that all of them have.

    Attributes
    ----------
    notes : list of str
        What was seen in the data; with the name of its report, unless all have the note.
    """

    def __init__(self, reports: Mapping[str, Report]) -> None:
        self.reports = dict(reports)
        first = next(iter(self.reports.values()))
        self.specs = [spec for spec in first.specs if all(spec.name in r for r in self.reports.values())]
        self._own_notes = self._unequal_depths()
        self.notes = _shared_first({name: report.notes for name, report in self.reports.items()})
        self.notes += self._own_notes

    def footnotes(self) -> list[str]:
        """Return the lines below the table, those that not all reports have with the name of theirs."""
        lines = _shared_first({name: report.footnotes() for name, report in self.reports.items()})
        return [*lines, *(f"note: {note}" for note in self._own_notes)]

    def _is_fair(self, spec: Spec) -> bool:
        """Tell whether all lists hold about as many of the labels that a measure reads."""
        reports = self.reports.values()
        depths = [report.results.short.get(spec.name, float(report.n_labels)) for report in reports]
        short = any(spec.name in report.results.short for report in reports)
        return not short or max(depths) <= SAME_DEPTH * min(depths)

    def _unequal_depths(self) -> list[str]:
        """Name the measures whose best value is not marked, and how many labels a row lists."""
        unfair = [str(spec) for spec in self.specs if not self._is_fair(spec)]
        if not unfair:
            return []
        short = {name: report.results.short for name, report in self.reports.items()}
        held = [f"{name} {next(iter(own.values())):.4g}" for name, own in short.items() if own]
        depths = f"lists hold different numbers of labels a row ({', '.join(held)})"
        return [f"{depths}, so that no value is marked as better for {', '.join(unfair)}"]

    def grid(self) -> list[list[Cell]]:
        """Return a header and one row per measure."""
        rows = [[Cell("measure"), *(Cell(name, "other") for name in self.reports)]]
        for spec in self.specs:
            values = [report[spec.name] for report in self.reports.values()]
            known = [value for value in values if not math.isnan(value)]
            best = {"up": max, "down": min}.get(spec.metric.direction) if self._is_fair(spec) else None
            marked = best(known) if best and known and min(known) < max(known) else math.nan
            row = [Cell(spec.symbol, spec.metric.direction)]
            for value, report in zip(values, self.reports.values(), strict=True):
                ends = report.intervals.get(spec.name)
                bounds = "" if ends is None else f" [{', '.join(map(short, ends))}]"
                shown = f"{report.shown(spec)}{bounds}"
                row.append(Cell(shown, "best" if value == marked else "other"))
            rows.append(row)
        return rows

    def part_tables(self, names: Iterable[str] | None = None) -> list[Table]:
        """Return a table for each group that all reports have, under names of the reports."""
        found = []
        for kind, of in (("groups", "labels"), ("row_groups", "rows")):
            several = [getattr(report, kind) for report in self.reports.values()]
            for group in (group for group in several[0] if all(group in other for other in several)):
                own = Comparison({n: other[group] for n, other in zip(self.reports, several, strict=True)})
                one = several[0][group]
                sizes = f"{counted(one.n_labels, 'labels')}, {counted(one.n_rows, 'rows')}"
                header, *rows = own.grid()
                header = [header[0], *(Cell(name, "other") for name in names or self.reports)]
                found.append(Table(f"group of {of} {group}: {sizes}", [header, *rows]))
        return found

    def _title(self, names: Iterable[str] | None = None) -> str:
        """Tell the size of the data, and of which report where the labels are not the same."""
        widths = [report.n_labels for report in self.reports.values()]
        several = (f"{n} ({name})" for n, name in zip(widths, names or self.reports, strict=True))
        labels = f"{', '.join(several)} labels" if len(set(widths)) > 1 else counted(widths[0], "labels")
        n_rows = next(iter(self.reports.values())).n_rows
        return f"{counted(n_rows, 'rows')} x {labels}; * better"

    def to_text(self, width: int | None = None, colour: bool = False) -> str:
        """Return a table for a terminal of ``width`` columns, if given, under short names of the reports."""
        header, *rows = self.grid()
        names = short_names([*self.reports])
        header = [header[0], *(Cell(name, "other") for name in names)]
        tables = self.part_tables(names)
        return as_text(self._title(names), [header, *rows], self.footnotes(), width, colour, tables)

    def to_json(self) -> str:
        """Return JSON with the reports by name under ``reports``, and all notes under ``notes``."""
        reports = {name: report.to_dict() for name, report in self.reports.items()}
        return json.dumps(
            {"schema": SCHEMA, "reports": reports, "notes": self.notes}, indent=2, allow_nan=False
        )

    def to_csv(self) -> str:
        """Return CSV: name, symbol and direction of each measure, and value and bounds by report."""
        return as_csv(*self._records())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row for each measure, with a column of values for each report."""
        header, rows = self._records()
        bounded = any(report.intervals for report in self.reports.values())
        ends = tuple(f"{name} {end}" for name in self.reports for end in ("lower", "upper"))
        shown = [n for n, head in enumerate(header) if bounded or head not in ends]
        return as_frame(header, rows, shown[1:])

    def _records(self) -> tuple[list[str], list[list[str | float]]]:
        columns = {name: report.part_columns() for name, report in self.reports.items()}
        heads = [
            head
            for name, own in columns.items()
            for head in (name, f"{name} lower", f"{name} upper", *(f"{name} {part}" for part in own))
        ]
        rows: list[list[str | float]] = []
        for spec in self.specs:
            row: list[str | float] = [spec.name, spec.symbol, spec.metric.direction]
            for report in self.reports.values():
                row += [report[spec.name], *report.intervals.get(spec.name, (math.nan, math.nan))]
                row += report.part_values(spec)
            rows.append(row)
        return ["name", "symbol", "direction", *heads], rows


def _shared_first(lines: Mapping[str, list[str]]) -> list[str]:
    """Return the lines that all reports have, and the others, behind the names of theirs if without them."""
    first = next(iter(lines.values()))
    shared = [line for line in first if all(line in own for own in lines.values())]
    own_lines = [(name, line) for name, own in lines.items() for line in own if line not in shared]
    return [*shared, *(line if f"{name}: " in line else f"{name}: {line}" for name, line in own_lines)]
