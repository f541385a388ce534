"""Means over reports of several training seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xmleval.results.report import Report

NOT_AVERAGED = ("intervals", "thresholds", "labels", "points", "groups", "shares", "row_groups")  # over seeds


def mean_of(reports: Sequence[Report]) -> Report:
    """Return a report of the means of several of the same rows."""
    first = reports[0]
    if len(reports) == 1:
        return first
    several = [report.results for report in reports]
    names = [name for name in first.results.values if all(name in own.values for own in several)]

    def mean(kind: str) -> dict[str, Any]:
        held = [getattr(own, kind) for own in several]
        if kind == "rows":
            held = [{name: np.asarray(values) for name, values in own.items()} for own in held]
        shared = [name for name in names if all(name in own for own in held)]
        return {name: sum(own[name] for own in held) / len(held) for name in shared}

    own = {kind: mean(kind) for kind in ("values", "rows", "replicates")}
    depths = [[one.short[name] for one in several if name in one.short] for name in names]
    own["short"] = {name: sum(some) / len(some) for name, some in zip(names, depths, strict=True) if some}
    notes = list(dict.fromkeys(note for report in reports for note in report.notes))
    gone: dict[str, Any] = {kind: {} for kind in NOT_AVERAGED}
    return replace(first, results=replace(first.results, **own, **gone), notes=notes)


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of values of several seeds and their standard deviation, NaN of one."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def labels_of(reports: Sequence[Report]) -> dict[str, Any]:
    """Return the values by label, the means of several reports."""
    first, *others = (report.results.labels for report in reports)
    if not others:
        return first
    shared = [name for name in first if all(name in own for own in others)]
    return {name: np.mean([own[name] for own in (first, *others)], axis=0) for name in shared}
