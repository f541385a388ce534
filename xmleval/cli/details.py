"""Results of every label and of every row, as CSV that starts with the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.cli.messages import tell
from xmleval.cli.output import write_columns
from xmleval.records import Floats, Ints
from xmleval.report.changes import changed_labels, label_column, values_of_label
from xmleval.report.report import Report
from xmleval.spec import Spec

COUNTS = ("tp", "fp", "fn")
OF_ROWS = ("row_sums", "rank_profile")  # states that keep row values
ALL_LABELS = ("calibration", "predicted")  # families of all labels together
OF_SUMS = "gains/ideals"  # what ratios of sums over rows are computed from
SHOWN = 5  # labels that changed most
Names = Sequence[str] | None


def write_labels(reports: Mapping[str, Report], path: Path) -> None:
    """Write support, hits and misses of every label, and the averages over labels that were asked for.

    Labels are ordered by the first of these measures, or else by their misses; the reports of several SCORES
    follow one another.
    """
    several = [(name, report.label_names) for name, report in reports.items()]
    columns = [column for report in reports.values() for column in _columns_of_labels(report)]
    header = _header("label", reports, any(own is not None for _, own in several), columns)
    write_columns((_labels_of(name, reports, own) for name, own in several), path, header)
    _tell_none(path, reports[several[0][0]])
    for name, own in several[1:]:
        _tell_changed(path, reports, name, own)


def _tell_none(path: Path, report: Report) -> None:
    """Name the measures whose values the counts of labels do not tell, either."""
    columns = report.per_label()
    specs = [spec for spec in report.specs if spec.metric.family in ALL_LABELS]
    none = [spec.name for spec in specs if not (spec.average and spec.label_column in columns)]
    if none:
        tell(path, f"{', '.join(none)}: no values by label")


def _tell_changed(path: Path, reports: Mapping[str, Report], name: str, names: Names) -> None:
    """Name the labels that changed most from the first report to another."""
    first, *_ = reports
    own, other = (reports[one].results.labels for one in (first, name))
    shared = own.keys() & other.keys()
    column = next(filter(None, (label_column(spec, shared) for spec in reports[name].specs)), "")
    labels = changed_labels(column, own, other, SHOWN, names) if column else []
    if labels:
        told = ", ".join(f"{one.name or one.number} {values_of_label(column, one)[2]}" for one in labels)
        tell(path, f"labels that changed most from {first} to {name} by {column}: {told}")


def write_rows(reports: Mapping[str, Report], path: Path) -> None:
    """Write the row values of the measures that were asked for, ordered by the first of them."""
    names = next(iter(reports.values())).row_names
    columns = [column for report in reports.values() for column in report.results.rows]
    header = _header("row", reports, names is not None, columns)
    write_columns((_rows_of(name, reports, names) for name in reports), path, header)


def refuse_no_rows(specs: Sequence[Spec]) -> None:
    """Refuse measures none of which has row values."""
    if not any(spec.state in OF_ROWS and spec.metric.table != OF_SUMS for spec in specs):
        names = ", ".join(spec.name for spec in specs)
        raise ValueError(f"--per-row: none of {names} is a mean over rows, as p@5 is")


def _header(what: str, reports: Mapping[str, Report], has_names: bool, columns: Sequence[str]) -> list[str]:
    """Return the columns of the tables of all reports, of which some may lack some."""
    first = [*(["scores"] if len(reports) > 1 else []), what, *(["name"] if has_names else [])]
    return [*dict.fromkeys([*first, *columns])]


def _columns_of_labels(report: Report) -> list[str]:
    """Return the columns of support, hits and misses, and of the averages that were asked for."""
    asked = _specs_of_columns(report)
    counted = [column for column in report.results.labels if column.partition("@")[0] in COUNTS]
    return ["support", *counted, *asked, *(["threshold"] if "peak_f1" in asked else [])]


def _specs_of_columns(report: Report) -> dict[str, Spec]:
    """Return the averages over labels that were asked for, by the column of their values."""
    labels = report.results.labels
    return {spec.label_column: spec for spec in report.specs if spec.average and spec.label_column in labels}


def _labels_of(name: str, reports: Mapping[str, Report], names: Names) -> dict[str, NDArray[Any]]:
    report, found = reports[name], reports[name].per_label()
    columns, asked = _columns_of_labels(report), _specs_of_columns(report)
    order = np.lexsort((np.arange(report.n_labels), -found["support"]))
    misses = [column for column in columns if column.startswith("fn")]
    if asked:
        first, spec = next(iter(asked.items()))
        order = _worst_first(found[first], spec.metric.direction, order)
    elif misses:
        order = _worst_first(found[misses[-1]], "down", order)
    return _table(name, reports, "label", order, names) | {column: found[column][order] for column in columns}


def _rows_of(name: str, reports: Mapping[str, Report], names: Names) -> dict[str, NDArray[Any]]:
    report, found = reports[name], reports[name].per_row()
    order = np.arange(report.n_rows)
    if found:
        first = next(spec for spec in report.specs if spec.name in found)
        order = _worst_first(found[first.name], first.metric.direction, order)
    return _table(name, reports, "row", order, names) | {key: values[order] for key, values in found.items()}


def _worst_first(values: Floats, direction: str, order: Ints) -> Ints:
    """Sort by values, the worst first and undefined ones last, equal ones as they are."""
    keys = -values if direction == "down" else values
    sorted_order: Ints = order[np.argsort(keys[order], kind="stable")]
    return sorted_order


def _table(
    name: str, reports: Mapping[str, Report], what: str, order: Ints, names: Names
) -> dict[str, NDArray[Any]]:
    """Return the columns that tell what a line is about."""
    columns: dict[str, NDArray[Any]] = {}
    if len(reports) > 1:
        columns["scores"] = np.full(order.size, name, object)
    columns[what] = order
    if names is not None:
        columns["name"] = np.array(names, object)[order]
    return columns
