"""Evaluate models with everything that pages and figures show, next to the requested measures."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Unpack

from xmleval.api.compare import evaluate_models
from xmleval.base.errors import InputError, Keyword, Message
from xmleval.base.keywords import refuse_unknown
from xmleval.evaluation.files import LABEL_TABLES
from xmleval.evaluation.request import (
    SHARED_ARGUMENTS,
    EvaluateOptions,
    Question,
    request_of,
)
from xmleval.evaluation.settings import GIVEN_AS
from xmleval.input.argument_types import ModelsLike, RowsLike
from xmleval.labels.groups import DECILES
from xmleval.metrics.spec import Spec, expand_metrics
from xmleval.results.comparison import Comparison
from xmleval.results.differences import JACKKNIFE

DEEPEST = 10  # every cutoff up to it is drawn, next to the requested ones
POINTS = 200  # of a curve


def evaluate_for_figures(
    models: ModelsLike,
    y_true: RowsLike,
    *,
    complete_lists: bool = False,
    **options: Unpack[EvaluateOptions],
) -> Comparison:
    """Evaluate one or more models, and compare them, with all that figures show."""
    refuse_unknown(options, SHARED_ARGUMENTS)
    request = request_of({**options, "y_true": y_true})
    question = request.question
    arguments = {"y_score", *(name for name, value in options.items() if value is not None)}
    if question.resolved_conventions.graded:
        arguments.add("gains")
    requested = [spec for spec, _ in expand_metrics(question.metrics, question.k)]
    are_compared = len(models) > 1
    if are_compared and not any(spec.needs for spec in requested):
        names = ", ".join(map(str, requested))
        reason = Message("no measure depends on ", Keyword("y_score"), f": {names}")
        raise InputError("metrics", reason)
    question = _question_for_figures(question, requested, arguments, are_compared)
    evaluated = evaluate_models([*models], models, None, False, replace(request, question=question))
    reports = {name: report for name, (report,) in evaluated.reports.items()}
    in_all_reports = [
        spec.name for spec in requested if all(spec.name in report for report in reports.values())
    ]
    return Comparison(
        reports,
        only=in_all_reports,
        test=JACKKNIFE if are_compared else None,
        within=False,
        complete_lists=complete_lists,
        lists_of=evaluated.lists_of,
    )


def _question_for_figures(
    question: Question, requested: Sequence[Spec], arguments: Set[str], are_compared: bool
) -> Question:
    """Return a question that also asks for curves, further cutoffs and values to compare."""
    missing = _missing_needs(arguments)
    rows_kept: bool | list[str] = False
    labels_kept: bool | list[str] = False
    if are_compared:
        rows_kept = [spec.name for spec in requested]
        labels_kept = _measures_by_label(requested, missing)
    label_groups = question.label_groups
    if "label_groups" not in arguments and "y_train" in arguments:
        label_groups = DECILES
    question = replace(question, label_groups=label_groups)
    metrics = question.metrics or ["xmc"]
    return replace(
        question,
        metrics=[*metrics, *_measures_against_k(requested, missing), "statistics"],
        per_row=rows_kept,
        per_label=labels_kept,
        curve_points=POINTS,
        given=question.given_options(0),
    )


def _missing_needs(arguments: Set[str]) -> set[str]:
    """Return the needs of measures that none of the arguments meets."""
    missing = set[str]()
    for need, ways in GIVEN_AS.items():
        names = {getattr(part, "name", "") for part in ways.parts}
        if arguments.isdisjoint(names):
            missing.add(need)
    return missing


def _measures_against_k(requested: Sequence[Spec], missing: Set[str]) -> list[str]:
    """Return the requested measures at k at every small cutoff."""
    names = list[str]()
    for spec in requested:
        # tables of every label at ten cutoffs would not fit in memory
        if spec.k and spec.state not in LABEL_TABLES and missing.isdisjoint(spec.needs):
            name = spec.name.rpartition("@")[0]
            names += [f"{name}@{k}" for k in range(1, DEEPEST + 1)]
    return names


def _measures_by_label(requested: Sequence[Spec], missing: Set[str]) -> list[str]:
    """Return the first measure with values by label, and the first average over labels."""
    by_label = [
        spec for spec in requested if spec.by_label and "propensity" not in missing & {*spec.needs}
    ]
    averages = [spec for spec in by_label if spec.average in ("macro", "weighted")]
    return [spec.name for spec in (*by_label[:1], *averages[:1])]
