"""Models evaluated with all that pages and figures show, beside the measures that are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from xmleval.api.compare import evaluate_models
from xmleval.base.errors import InputError, Keyword, Message
from xmleval.evaluation.files import LABEL_TABLES
from xmleval.evaluation.request import OF_MODELS, EvaluateOptions, refuse_unknown, request_of
from xmleval.evaluation.settings import GIVEN_AS
from xmleval.input.argument_types import ModelsLike, RowsLike
from xmleval.labels.groups import DECILES
from xmleval.metrics.spec import expand_metrics
from xmleval.results.comparison import Comparison
from xmleval.results.differences import JACKKNIFE

DEEPEST, POINTS = 10, 200  # cutoff up to which each k is drawn, besides those asked for; points of curves


def evaluate_for_figures(
    models: ModelsLike,
    y_true: RowsLike,
    *,
    complete_lists: bool = False,
    **options: Unpack[EvaluateOptions],
) -> Comparison:
    """Evaluate one or more models, and compare them, with all that figures show."""
    refuse_unknown(options, OF_MODELS)
    request = request_of({**options, "y_true": y_true})
    question = request.question
    arguments = {"y_score", *(name for name, value in options.items() if value is not None)}
    if question.resolved_conventions.graded:
        arguments.add("gains")
    asked = [spec for spec, _ in expand_metrics(question.metrics, question.k)]
    are_compared = len(models) > 1
    if are_compared and not any(spec.needs for spec in asked):
        text = f"none of {', '.join(map(str, asked))} depends on "
        raise InputError("metrics", Message(text, Keyword("y_score")))
    keywords = {need: {getattr(part, "name", "") for part in ways.parts} for need, ways in GIVEN_AS.items()}
    missing = {need for need, names in keywords.items() if arguments.isdisjoint(names)}
    against_k = [
        f"{spec.name.rpartition('@')[0]}@{k}"
        for spec in asked  # but tables of every label at ten cutoffs would not fit
        if spec.k and spec.state not in LABEL_TABLES and missing.isdisjoint(spec.needs)
        for k in range(1, DEEPEST + 1)
    ]
    by_label = [spec for spec in asked if spec.by_label and "propensity" not in missing & {*spec.needs}]
    averages = [spec for spec in by_label if spec.average in ("macro", "weighted")]
    shown_by_label = [spec.name for spec in (*by_label[:1], *averages[:1])]
    if "label_groups" not in arguments and "y_train" in arguments:
        question = replace(question, label_groups=DECILES)
    question = replace(
        question,
        metrics=[*(question.metrics or ["xmc"]), *against_k, "statistics"],
        per_row=[spec.name for spec in asked] if are_compared else False,
        per_label=shown_by_label if are_compared else False,
        curve_points=POINTS,
        given=question.given_options(0),
    )
    evaluated = evaluate_models([*models], models, None, False, replace(request, question=question))
    reports = {name: report for name, (report,) in evaluated.reports.items()}
    names = [spec.name for spec in asked if all(spec.name in report for report in reports.values())]
    test = JACKKNIFE if are_compared else None
    return Comparison(
        reports,
        only=names,
        test=test,
        within=False,
        complete_lists=complete_lists,
        lists_of=evaluated.lists_of,
    )
