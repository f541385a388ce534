"""Means over reports of several training seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xmleval.results.report import Report

NOT_AVERAGED = ("intervals", "thresholds", "labels", "points", "groups", "shares", "row_groups")


def mean_of(reports: Sequence[Report]) -> Report:
    """Return a report of the means of several of the same rows."""
    first = reports[0]
    if len(reports) == 1:
        return first
    seeds = [report.results for report in reports]
    names = [name for name in first.results.values if all(name in results.values for results in seeds)]

    def mean(kind: str) -> dict[str, Any]:
        columns = [getattr(results, kind) for results in seeds]
        shared = [name for name in names if all(name in column for column in columns)]
        return {name: sum(column[name] for column in columns) / len(columns) for name in shared}

    means = {kind: mean(kind) for kind in ("values", "rows", "replicates")}
    depths = {name: [results.short[name] for results in seeds if name in results.short] for name in names}
    means["short"] = {name: sum(of_name) / len(of_name) for name, of_name in depths.items() if of_name}
    means |= {kind: {} for kind in NOT_AVERAGED}
    notes = list(dict.fromkeys(note for report in reports for note in report.notes))
    return replace(first, results=replace(first.results, **means), notes=notes)


def labels_of(reports: Sequence[Report]) -> dict[str, Any]:
    """Return the values by label, the means of several reports."""
    first, *following = (report.results.labels for report in reports)
    if not following:
        return first
    shared = [name for name in first if all(name in columns for columns in following)]
    return {name: np.mean([columns[name] for columns in (first, *following)], axis=0) for name in shared}
