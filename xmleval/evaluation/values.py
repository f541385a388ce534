"""Evaluation of values in memory, of one model or of several one after another."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from xmleval.base.budget import MEMORY, check_resources
from xmleval.base.errors import renaming
from xmleval.evaluation.counts import Counted, read_batch, with_batch
from xmleval.evaluation.evaluator import make_report
from xmleval.evaluation.settings import check_settings
from xmleval.input.csr import Source
from xmleval.input.objects.take import is_nameless
from xmleval.input.sets import remembered
from xmleval.metrics.spec import conventions_of
from xmleval.results.report import Report


def evaluate_values(arguments: Mapping[str, Any], predictions: Mapping[str, tuple[Any, Any]]) -> list[Report]:
    """Return a report for the scores and the sets of each model, by name.

    Several models share a truth without names, which is checked once, and settings for the same labels.
    """
    options, are_several = {**arguments, "labels": None}, len(predictions) > 1
    metrics, y_true = arguments.get("metrics"), arguments.get("y_true")
    conventions = conventions_of(metrics, arguments)
    threads, block_rows = arguments.get("threads"), arguments.get("block_rows")
    resources = check_resources(arguments.get("memory", MEMORY), threads, block_rows)
    settings, of_labels, reports = None, None, list[Report]()
    for name, (y_score, y_pred) in predictions.items():
        with ExitStack() as errors:
            for argument in ("y_score", "y_pred") if name else ():
                errors.enter_context(renaming(argument, f"{argument} of {name!r}"))
            rows = {**arguments, "y_true": y_true, "y_score": y_score, "y_pred": y_pred}
            named = arguments.get("n_labels"), arguments.get("labels"), conventions
            batch = read_batch(*named, conventions.graded, rows)
            if are_several and is_nameless("y_true", y_true) and not isinstance(y_true, Source):
                y_true = remembered(batch.truth)
                batch = batch._replace(truth=y_true)
            matched = batch.matched  # names of labels are those of the rows
            labels = batch.truth.n_labels, matched.label_names, matched.closed
            if settings is None or labels != of_labels:
                settings, of_labels = check_settings(metrics, options, *labels), labels
            of_model = settings
            if matched.unknown or not matched.closed:
                of_model = replace(settings, unknown=bool(matched.unknown), counts_cells=matched.closed)
            report = make_report(of_model, with_batch(of_model, resources, Counted(), batch))
        if matched.label_names is not None or matched.row_names is not None:
            counts = matched.row_names == [*range(report.n_rows)]  # an index that names nothing
            names: Any = {"label_names": matched.label_names, "unknown_labels": matched.unknown}
            report = replace(report, row_names=None if counts else matched.row_names, **names)
        reports.append(report)
    return reports
