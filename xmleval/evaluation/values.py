"""Evaluate values in memory, all rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from xmleval.base.budget import Resources, check_resources
from xmleval.base.errors import renaming, shown
from xmleval.evaluation.batch import Batch, open_batch
from xmleval.evaluation.counts import ALONE, Counted, add_batch, make_report
from xmleval.evaluation.request import Request
from xmleval.evaluation.same_labels import notes_on_training
from xmleval.evaluation.settings import check_settings
from xmleval.input.csr import Source
from xmleval.input.match_values import MatchOptions
from xmleval.input.opened import is_nameless
from xmleval.input.sets import cache_blocks
from xmleval.labels.hierarchy import as_edges, list_nodes
from xmleval.results.report import Report
from xmleval.states.plan import Settings


def evaluate_values(request: Request, predictions: Mapping[str, tuple[Any, Any]]) -> list[Report]:
    """Return a report for every model, in order; ``predictions`` are its scores and sets, by name.

    Several models share a truth without names, which is checked once, and settings for the same
    labels.
    """
    question = request.question
    data = request.data
    matched_question = question
    if question.labels is not None or question.hierarchy is not None:
        hierarchy = as_edges(question.hierarchy)
        # the match finds the names of the labels
        matched_question = replace(question, labels=None, hierarchy=hierarchy)
    nodes = list_nodes(matched_question.hierarchy)
    options = MatchOptions(
        question.n_labels,
        question.labels,
        question.reads_grades,
        nodes=nodes,
        higher_is_better=question.higher_is_better,
    )
    resources = check_resources(request.memory, request.threads, request.running.block_rows)
    notes = notes_on_training(data.y_true, question.training.labels)
    settings: Settings | None = None
    labels: tuple[Any, ...] | None = None
    reports = list[Report]()
    for name, (y_score, y_pred) in predictions.items():
        with ExitStack() as errors:
            if name:  # one of several
                data = replace(data, y_score=y_score, y_pred=y_pred)
                errors.enter_context(renaming("y_score", f"y_score of {shown(name)}"))
                errors.enter_context(renaming("y_pred", f"y_pred of {shown(name)}"))
            batch = open_batch(data, options, question.read_gains, look_at=question.reads_grades)
            is_shared = len(predictions) > 1 and is_nameless("y_true", data.y_true)
            if is_shared and not isinstance(data.y_true, Source):
                batch = batch._replace(truth=cache_blocks(batch.truth))
                data = replace(data, y_true=batch.truth, **batch.marked_cells)
            batch_labels = batch.truth.n_labels, batch.naming.label_names, batch.naming.closed
            if settings is None or batch_labels != labels:
                settings = check_settings(matched_question, *batch_labels)
                if notes:
                    argument_notes = [*settings.argument_notes, *notes]
                    settings = replace(settings, argument_notes=argument_notes)
                labels = batch_labels
            reports.append(_report_on(settings, resources, batch))
    return reports


def _report_on(settings: Settings, resources: Resources, batch: Batch) -> Report:
    """Return the report on a batch of all rows."""
    naming = batch.naming
    if naming.unknown:
        settings = replace(settings, unknown=True)
    counted = add_batch(settings, resources, Counted(place=(ALONE, 0)), batch)
    return make_report(
        settings,
        counted,
        label_names=naming.label_names,
        row_names=naming.reported_row_names,
        unknown_labels=naming.unknown,
    )
