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
OF_ROWS = ("row_sums", "rank_profile")  # states that keep row values
ALL_LABELS = ("calibration", "predicted")  # families of all labels together
OF_SUMS = "gains/ideals"  # what ratios of sums over rows are computed from
LINES = 1 << 14  # at a time
Columns = dict[str, NDArray[Any]]


def without_labels(report: Report) -> list[str]:
    """Return the measures of all labels together, which have no values by label."""
    specs = [spec for spec in report.specs if spec.metric.family in ALL_LABELS]
    return [spec.name for spec in specs if not (spec.average and spec.label_column in report.results.labels)]


def refuse_no_rows(specs: Sequence[Spec]) -> None:
    """Refuse measures none of which has row values."""
    if not any(spec.state in OF_ROWS and spec.metric.table != OF_SUMS for spec in specs):
        raise InputError("per_row", f"none of {', '.join(map(str, specs))} is a mean over rows, as p@5 is")


def label_columns(report: Report) -> Columns:
    """Return the columns of every label, the worst label first."""
    columns = report.per_label()
    averages = {s.label_column: s for s in report.specs if s.average and s.label_column in columns}
    counts = [column for column in columns if column.partition("@")[0] in COUNTS]
    first = [*averages, *(column for column in reversed(counts) if column.startswith("fn")), "support"][0]
    falls = first not in averages or averages[first].metric.direction == "down"
    order = np.lexsort([-columns["support"], -columns[first] if falls else columns[first]])
    names = ["name", "support", *counts, *averages, *["threshold"] * ("peak_f1" in averages)]
    return {"label": order} | {name: np.asarray(columns[name])[order] for name in names if name in columns}


def row_columns(report: Report) -> Columns:
    """Return the columns of every row, the worst row first."""
    columns = report.per_row()
    first = next(spec for spec in report.specs if spec.name in columns)
    falls = first.metric.direction == "down"
    order = np.argsort(-columns[first.name] if falls else columns[first.name], kind="stable")
    return {"row": order} | {name: np.asarray(values)[order] for name, values in columns.items()}


def csv_lines(reports: Mapping[str, Report], columns_of: Callable[[Report], Columns]) -> Iterator[str]:
    """Yield the columns of each report as CSV, with the name of its model where there are several."""
    header = [*dict.fromkeys(name for report in reports.values() for name in columns_of(report))]
    are_many = len(reports) > 1
    yield as_csv([*["scores"] * are_many, *header], ())
    for model, report in reports.items():
        columns = columns_of(report)
        absent = np.full(columns[header[0]].size, "", object)  # what another report has alone
        table = [np.full(absent.size, model, object)] * are_many
        table += [columns.get(name, absent) for name in header]
        for start in range(0, absent.size, LINES):
            rows = zip(*(column[start : start + LINES].tolist() for column in table), strict=True)
            yield "".join(",".join(map(field, row)) + "\n" for row in rows)


def json_lines(reports: Mapping[str, Report], columns_of: Callable[[Report], Columns]) -> Iterator[str]:
    """Yield an object for each row of the same table; what is undefined is null."""
    for model, report in reports.items():
        columns = columns_of(report)
        model_name = {"scores": model} if len(reports) > 1 else {}
        for values in zip(*(column.tolist() for column in columns.values()), strict=True):
            row = model_name | dict(zip(columns, values, strict=True))
            yield f"{json.dumps(as_json_value(row), ensure_ascii=False)}\n"


def field(value: float | str) -> str:
    """Return a field of CSV, counts without a point; what is undefined is left empty."""
    is_whole = not isinstance(value, str) and math.isfinite(value) and value == int(value)
    return csv_text(int(value) if is_whole else value)
