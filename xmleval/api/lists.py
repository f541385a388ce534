"""Rows of two models, to show: their relevant labels, and the first labels of both lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmleval.engine.chosen import chosen_rows
from xmleval.input.door import make_door
from xmleval.input.objects.take import take
from xmleval.records import Ints
from xmleval.report.changes import Lists, shown_depth
from xmleval.report.report import Report
from xmleval.spec import Spec


def lists_of(
    truth: Any,
    models: Mapping[str, Any],
    reports: Mapping[str, Report],
    options: Mapping[str, Any],
    spec: Spec,
    rows: Ints,
) -> list[Lists]:
    """Return what to show of some rows.

    ``models`` are the scores of the ``reports``, two by name, and ``options`` those of `evaluate`.
    """
    first = next(iter(reports.values()))
    door = make_door(options.get("exclude"), options.get("exclude_from", "both"), options.get("candidates"))
    n_labels, labels, graded = options.get("n_labels"), options.get("labels"), first.conventions.graded
    found = []
    for name, report in reports.items():
        taken = take(truth, models[name], None, n_labels, labels, graded, **door.sets)
        y_true, y_score, _, *sets = taken.inputs
        asked = rows, report.n_labels, shown_depth(spec), first.conventions, first.higher_is_better
        found.append(chosen_rows(y_true, y_score, *asked, door.with_sets(sets, 0)))
    return [Lists(*own) for own in zip(found[0][0], *(lists for _, lists in found), strict=True)]
