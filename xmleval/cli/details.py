"""Results of every label and of every row, as CSV that starts with the worst."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.cli.messages import tell
from xmleval.cli.output import write_columns
from xmleval.records import Floats, Ints
from xmleval.report.report import Report
from xmleval.spec import Spec

COUNTS = ("tp", "fp", "fn")
OF_ROWS = ("row_sums", "rank_profile")  # states that keep row values
ALL_LABELS = ("calibration", "predicted")  # families of all labels together
OF_SUMS = "gains/ideals"  # what ratios of sums over rows are computed from
Table = dict[str, NDArray[Any]]


def write_labels(reports: Mapping[str, Report], path: Path) -> None:
    """Write support, hits and misses of every label, and the averages over labels that were asked for.

    Labels are ordered by the first of these measures, or else by their misses; the reports of several SCORES
    follow one another.
    """

    def values_of(report: Report) -> Table:
        columns, asked = report.per_label(), _averages(report)
        counted = [column for column in report.results.labels if column.partition("@")[0] in COUNTS]
        names = ["support", *counted, *asked, *["threshold"] * ("peak_f1" in asked)]
        order = np.lexsort((np.arange(report.n_labels), -columns["support"]))
        misses = [column for column in counted if column.startswith("fn")]
        if asked or misses:
            first = next(iter(asked), *misses[-1:])
            direction = asked[first].metric.direction if asked else "down"
            order = _worst_first(columns[first], direction, order)
        return {"label": order} | {name: columns[name][order] for name in names}

    _write(reports, path, values_of, {name: report.label_names for name, report in reports.items()})
    report = next(iter(reports.values()))
    specs = [spec for spec in report.specs if spec.metric.family in ALL_LABELS]
    labels = report.results.labels
    none = [spec.name for spec in specs if not (spec.average and spec.label_column in labels)]
    if none:
        tell(path, f"{', '.join(none)}: no values by label")


def write_rows(reports: Mapping[str, Report], path: Path) -> None:
    """Write the row values of the measures that were asked for, ordered by the first of them."""

    def values_of(report: Report) -> Table:
        columns, order = report.per_row(), np.arange(report.n_rows)
        for spec in [spec for spec in report.specs if spec.name in columns][:1]:
            order = _worst_first(columns[spec.name], spec.metric.direction, order)
        return {"row": order} | {name: values[order] for name, values in columns.items()}

    _write(reports, path, values_of, dict.fromkeys(reports, next(iter(reports.values())).row_names))


def refuse_no_rows(specs: Sequence[Spec]) -> None:
    """Refuse measures none of which has row values."""
    if not any(spec.state in OF_ROWS and spec.metric.table != OF_SUMS for spec in specs):
        names = ", ".join(spec.name for spec in specs)
        raise ValueError(f"--per-row: none of {names} is a mean over rows, as p@5 is")


def _averages(report: Report) -> dict[str, Spec]:
    """Return the averages over labels that were asked for, by the column of their values."""
    labels = report.results.labels
    return {spec.label_column: spec for spec in report.specs if spec.average and spec.label_column in labels}


def _worst_first(values: Floats, direction: str, order: Ints) -> Ints:
    """Sort by values, the worst first and undefined ones last, equal ones as they are."""
    keys = -values if direction == "down" else values
    sorted_order: Ints = order[np.argsort(keys[order], kind="stable")]
    return sorted_order


def _write(
    reports: Mapping[str, Report], path: Path, values_of: Callable[[Report], Table], names: Mapping[str, Any]
) -> None:
    """Write the table of each report, with the name of its SCORES where there are several, and names."""

    def tables() -> Iterator[Table]:
        for model, report in reports.items():
            values = values_of(report)
            (what, order), *columns = values.items()
            beside = {"scores": np.full(order.size, model, object)} if len(reports) > 1 else {}
            own = {} if names[model] is None else {"name": np.array(names[model], object)[order]}
            yield beside | {what: order} | own | dict(columns)

    header = dict[str, None]()
    for table in tables():
        header |= dict.fromkeys(table)
    write_columns(tables(), path, [*header])
