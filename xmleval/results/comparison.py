"""Several reports side by side."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xmleval.cached import cached
from xmleval.errors import counted
from xmleval.results.frames import as_frame
from xmleval.results.plotted import Plotted
from xmleval.results.report import Report
from xmleval.rounding import subtract
from xmleval.show.printed import Printed
from xmleval.show.tables import Cell, Table, as_csv, as_text, short, short_names
from xmleval.spec import Spec
from xmleval.version import SCHEMA

SAME_DEPTH = 1.01  # ratio of numbers of labels up to which lists hold as much
EQUAL_DEPTH = 1.0  # within groups of labels, of which lists lose some where they are cut


class Comparison(Printed, Plotted):
    """Reports of the same measures, by name.

    Parameters
    ----------
    reports : dict of str to Report
        At least one; tables show the measures that all of them have.
    only : collection of str, optional
        Names of the measures that tables show; figures show others, too. Default all.
    same_depth : float, default 1.01
        Ratio of the numbers of labels a row lists up to which these are taken for equal.

    Attributes
    ----------
    level : float or None
        Their confidence.
    notes : list of str
        What was seen in the data; with the name of its report, unless all have the note.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import Comparison, evaluate
    >>> models = {"a": np.eye(4), "b": np.eye(4)[[0, 1, 1, 3]]}
    >>> reports = {name: evaluate(np.eye(4), scores, metrics=["p@1"]) for name, scores in models.items()}
    >>> Comparison(reports).reports["b"]["p@1"]
    0.75
    """

    unfair = "no value is marked as best for"  # where lists differ
    _legend = "; * best"

    def __init__(
        self,
        reports: Mapping[str, Report],
        *,
        only: Collection[str] | None = None,
        same_depth: float = SAME_DEPTH,
    ) -> None:
        self.reports, self.same_depth = dict(reports), same_depth
        first = next(iter(self.reports.values()))
        self._shared = [spec for spec in first.specs if all(spec.name in r for r in self.reports.values())]
        self.specs = [spec for spec in self._shared if only is None or spec.name in only]
        self.level = first.confidence_level
        self._own_notes = self._unequal_depths()
        self.notes = _shared_first({name: report.notes for name, report in self.reports.items()})
        self.notes += self._own_notes

    def _plotted(self) -> Sequence[Spec]:
        return self._shared

    def _models(self) -> Mapping[str, Report]:
        return dict(zip(short_names([*self.reports]), self.reports.values(), strict=True))

    def _footnotes(self) -> list[str]:
        """Return the lines of all reports, those that not all have with the name of theirs."""
        names = {spec.name for spec in self.specs}
        lines = _shared_first(
            {
                name: replace(report, specs=tuple([s for s in report.specs if s.name in names])).footnotes()
                for name, report in self.reports.items()
            }
        )
        return [*self._about_marks(), *lines, *(f"note: {note}" for note in self._own_notes)]

    def _about_marks(self) -> list[str]:
        """Return lines that tell what marks mean, where the title alone does not."""
        return []

    def _is_fair(self, spec: Spec, names: Collection[str] = ()) -> bool:
        """Tell whether lists, by default all, hold about as many of the labels that a measure reads."""
        reports = [self.reports[name] for name in names or self.reports]
        depths = [report.results.short.get(spec.name, float(report.n_labels)) for report in reports]
        short = any(spec.name in report.results.short for report in reports)
        return not short or max(depths) <= self.same_depth * min(depths)

    def _unequal_depths(self) -> list[str]:
        """Name the measures whose best value is not marked, and how many labels a row lists."""
        unfair = [spec for spec in self.specs if not self._is_fair(spec)]
        if not unfair:
            return []
        depths = {
            name: [report.results.short[spec.name] for spec in unfair if spec.name in report.results.short]
            for name, report in self.reports.items()
        }
        shown = [f"{name} {max(several):.4g}" for name, several in depths.items() if several]
        told = f"lists hold different numbers of labels a row ({', '.join(shown)})"
        return [f"{told}, so that {self.unfair} {', '.join(map(str, unfair))}"]

    @cached
    def _best(self) -> dict[str, float]:
        """The best value of each measure that has one to mark, by name."""
        best: dict[str, float] = {}
        for spec in self.specs:
            values = [report[spec.name] for report in self.reports.values()]
            known = [value for value in values if not math.isnan(value)]
            if len(known) > 1 and spec.metric.direction != "none" and self._is_fair(spec):
                low, high = min(known), max(known)
                if subtract(high, low):
                    best[spec.name] = high if spec.metric.direction == "up" else low
        return best

    def _cell(self, spec: Spec, name: str) -> Cell:
        """Return the value of a report, marked where it is the best."""
        report = self.reports[name]
        ends = report.intervals.get(spec.name)
        bounds = "" if ends is None else f" [{', '.join(map(short, ends))}]"
        best = subtract(report[spec.name], self._best.get(spec.name, math.nan)) == 0
        return Cell(f"{report.shown(spec)}{bounds}", "best" if best else "other")

    def grid(self) -> list[list[Cell]]:
        """Return a header and one row per measure (@private)."""
        return self.grid_of([*self.reports])

    def grid_of(self, names: Iterable[str]) -> list[list[Cell]]:
        """Return the grid under other names of the reports (@private)."""
        rows = [[Cell("measure"), *(Cell(name, "other") for name in names)]]
        for spec in self.specs:
            cells = (self._cell(spec, name) for name in self.reports)
            rows.append([Cell(spec.symbol, spec.metric.direction), *cells])
        return rows

    def part_tables(self, names: Iterable[str] | None = None) -> list[Table]:
        """Return a table for each group that all reports have, under names of the reports (@private)."""
        found = []
        for kind, of in (("groups", "labels"), ("row_groups", "rows")):
            several = [getattr(report, kind) for report in self.reports.values()]
            for group in (group for group in several[0] if all(group in other for other in several)):
                parts = {n: other[group] for n, other in zip(self.reports, several, strict=True)}
                depth = EQUAL_DEPTH if of == "labels" else SAME_DEPTH
                own = Comparison(parts, only=[spec.name for spec in self.specs], same_depth=depth)
                header, *rows = own.grid()
                header = [header[0], *(Cell(name, "other") for name in names or self.reports)]
                found.append(Table(own._caption(of, group), [header, *rows]))
        return found

    def _caption(self, of: str, group: str) -> str:
        """Return the name of the group that these reports are of, and its size."""
        one = next(iter(self.reports.values()))
        return f"group of {of} {group}: {counted(one.n_labels, 'labels')}, {counted(one.n_rows, 'rows')}"

    def _title(self, names: Iterable[str] | None = None) -> str:
        return f"{self.size(names)}{self._legend}"

    def size(self, names: Iterable[str] | None = None) -> str:
        """Tell the size of the data, and of which report where the labels are not the same (@private)."""
        widths = [report.n_labels for report in self.reports.values()]
        several = (f"{n} ({name})" for n, name in zip(widths, names or self.reports, strict=True))
        labels = f"{', '.join(several)} labels" if len(set(widths)) > 1 else counted(widths[0], "labels")
        n_rows = next(iter(self.reports.values())).n_rows
        return f"{counted(n_rows, 'rows')} x {labels}"

    def tables_by_kind(self, names: Sequence[str] | None) -> dict[str, list[Table]]:
        """Return further tables by the kind of their figure, under names of the reports (@private)."""
        return {"groups": self.part_tables(names)}

    def _text(self, width: int | None, colour: bool) -> str:
        names = short_names([*self.reports])
        tables = self.part_tables(names)
        return as_text(self._title(names), self.grid_of(names), self.footnotes(), width, colour, tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the reports as JSON values.

        Returns
        -------
        dict
            The reports by name under ``reports``, and all notes under ``notes``.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import compare
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(models, np.eye(40), metrics=["p@1"])
        >>> compared.to_dict()["reports"]["b"]["values"]
        {'p@1': 0.5}
        """
        reports = {name: report.to_dict() for name, report in self.reports.items()}
        return {"schema": SCHEMA, "reports": reports, "notes": self.notes}

    def to_csv(self) -> str:
        """Return CSV in full precision.

        Returns
        -------
        str
            A line for each measure: name, symbol and direction, and value and bounds by report. Of models
            compared by `compare`, a line for each measure of each pair, also within groups.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import Comparison, evaluate
        >>> print(Comparison({"a": evaluate(np.eye(3), np.eye(3), metrics=["p@1"])}).to_csv())
        name,symbol,direction,a,a lower,a upper
        p@1,P@1,up,1.0,,
        <BLANKLINE>
        """
        return as_csv(*self._records())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The lines of `to_csv`, by name of the measure; bounds only if there are any.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import Comparison, evaluate
        >>> compared = Comparison({"a": evaluate(np.eye(3), np.eye(3), metrics=["p@1"])})
        >>> compared.to_frame()["a"].tolist()  # doctest: +SKIP
        [1.0]
        """
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
