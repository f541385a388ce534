"""Results of every label and of every row, as CSV or JSON Lines that start with the worst."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.errors import InputError
from xmleval.metrics.spec import Spec
from xmleval.results.report import Report
from xmleval.show.tables import as_csv, as_json_value, csv_text

COUNTS = ("tp", "fp", "fn")
ROW_STATES = ("row_sums", "rank_profile")  # states that keep row values
ALL_LABELS = ("calibration", "predicted")  # families of all labels together
SUMS_TABLE = "gains/ideals"  # the table of measures that are ratios of sums over rows
LINES = 1 << 14  # at a time
Columns = dict[str, NDArray[Any]]


def without_labels(report: Report) -> list[str]:
    """Return the measures of all labels together, which have no values by label."""
    specs = [spec for spec in report.specs if spec.metric.family in ALL_LABELS]
    return [
        spec.name
        for spec in specs
        if not (spec.average and spec.label_column in report.results.labels)
    ]


def refuse_no_rows(specs: Sequence[Spec]) -> None:
    """Refuse measures if no measure has row values."""
    if not any(spec.state in ROW_STATES and spec.metric.table != SUMS_TABLE for spec in specs):
        names = ", ".join(map(str, specs))
        raise InputError("per_row", f"no measure is a mean over rows, such as p@5: {names}")


def label_columns(report: Report) -> Columns:
    """Return the columns of every label, the worst label first."""
    columns = report.per_label()
    averages = {
        spec.label_column: spec
        for spec in report.specs
        if spec.average and spec.label_column in columns
    }
    counts = [column for column in columns if column.partition("@")[0] in COUNTS]
    misses = [column for column in reversed(counts) if column.startswith("fn")]
    first = [*averages, *misses, "support"][0]
    keys = columns[first]
    if first not in averages or averages[first].metric.direction == "down":
        keys = -keys
    order = np.lexsort([-columns["support"], keys])
    names = ["name", "support", *counts, *averages]
    if "peak_f1" in averages:
        names.append("threshold")
    sorted_columns: Columns = {"label": order}
    for name in names:
        if name in columns:
            sorted_columns[name] = np.asarray(columns[name])[order]
    return sorted_columns


def row_columns(report: Report) -> Columns:
    """Return the columns of every row, the worst row first."""
    columns = report.per_row()
    first = next(spec for spec in report.specs if spec.name in columns)
    keys = columns[first.name]
    if first.metric.direction == "down":
        keys = -keys
    order = np.argsort(keys, kind="stable")
    sorted_columns: Columns = {"row": order}
    for name, values in columns.items():
        sorted_columns[name] = np.asarray(values)[order]
    return sorted_columns


def csv_lines(
    reports: Mapping[str, Report], columns_of: Callable[[Report], Columns]
) -> Iterator[str]:
    """Yield the columns of reports as CSV; several reports also have a column of model names."""
    header = [*dict.fromkeys(name for report in reports.values() for name in columns_of(report))]
    model_head = ["scores"] if len(reports) > 1 else []
    yield as_csv([*model_head, *header], ())
    for model, report in reports.items():
        columns = columns_of(report)
        absent = np.full(columns[header[0]].size, "", object)  # columns of other reports alone
        table = [columns.get(name, absent) for name in header]
        if model_head:
            table.insert(0, np.full(absent.size, model, object))
        for start in range(0, absent.size, LINES):
            rows = zip(*(column[start : start + LINES].tolist() for column in table), strict=True)
            yield "".join(",".join(map(field, row)) + "\n" for row in rows)


def json_lines(
    reports: Mapping[str, Report], columns_of: Callable[[Report], Columns]
) -> Iterator[str]:
    """Yield an object for each row of the same table; undefined values are null."""
    for model, report in reports.items():
        columns = columns_of(report)
        model_name = {"scores": model} if len(reports) > 1 else {}
        for values in zip(*(column.tolist() for column in columns.values()), strict=True):
            row = model_name | dict(zip(columns, values, strict=True))
            yield f"{json.dumps(as_json_value(row), ensure_ascii=False)}\n"


def field(value: float | str) -> str:
    """Return a field of CSV, counts without a point; undefined values are empty."""
    if not isinstance(value, str) and math.isfinite(value) and value == int(value):
        value = int(value)
    return csv_text(value)
