"""Rows of two models, to show: their relevant labels, and the first labels of both lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmleval.engine.chosen import first_labels, relevant_labels
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
    unlisted, higher_is_better = first.conventions.unlisted_score, first.higher_is_better
    score = unlisted if higher_is_better or unlisted is None else 0 - unlisted
    found, lists = [], []
    for name, report in reports.items():
        n_labels, graded = options.get("n_labels"), first.conventions.graded
        held = take(truth, models[name], None, n_labels, options.get("labels"), graded, True)
        lists.append(
            first_labels(
                "y_score", held.inputs[1], rows, report.n_labels, shown_depth(spec), score, higher_is_better
            )
        )
        found.append(relevant_labels(held.inputs[0], rows, report.n_labels, first.conventions.gains))
    return [Lists(*own) for own in zip(found[0], *lists, strict=True)]
