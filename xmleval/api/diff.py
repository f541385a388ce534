"""`diff`: the rows and labels that changed most between two models."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Unpack

from xmleval.api.compare import add_tie_bounds, evaluate_models
from xmleval.base.errors import InputError, Keyword, Message, positive_integer
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.evaluation.request import SHARED_ARGUMENTS, EvaluateOptions, request_of
from xmleval.files.remote import as_path
from xmleval.input.argument_types import RowsLike
from xmleval.metrics.spec import parse_spec
from xmleval.results.diff import Diff, find_changes
from xmleval.show.tables import names_of_files, short_names

OF_MEASURES = ("metrics", "per_row", "per_label")  # options of `evaluate` that `diff` sets


def diff(
    y_true: RowsLike,
    a: RowsLike,
    b: RowsLike | None = None,
    /,
    *,
    metric: str = "ndcg@5",
    worst: int = 20,
    **options: Unpack[EvaluateOptions],
) -> Diff:
    """Find the rows, and the labels, that changed most from one model to another.

    Parameters
    ----------
    y_true
        Relevant labels, as in `evaluate`.
    a, b
        Scores of two models, each as ``y_score`` of `evaluate`; changes are from ``a`` to ``b``.
        Models in files are called by the words in which the names of the files differ.
    metric : str, default "ndcg@5"
        The measure. Rows have values of means over rows; labels those of averages over labels, and
        otherwise hits at the cutoff of the measure.
    worst : int, default 20
        Largest number of rows, and of labels; of equal changes, losses come first.
    options : dict
        ``decision``, ``conventions``, ``exclude`` and others of `evaluate`, but ``metrics``,
        ``per_row`` and ``per_label``.

    Returns
    -------
    Diff
        Prints each row with its truth and both lists; ``rows`` and ``labels`` have them.

    Raises
    ------
    ValueError
        If input is invalid (the message names the model), or the measure has values neither by row
        nor by label.

    Examples
    --------
    >>> y_true = np.array([[1, 0, 1], [0, 1, 0]])
    >>> old, new = np.array([[[3, 2, 1], [1, 3, 2]], [[3, 1, 2], [3, 2, 1]]])
    >>> print(diff(y_true, old, new, metric="p@1"))
    P@1 ↑: 1.0000 (a) -> 0.5000 (b), -0.5000; 0 rows better, 1 worse, 1 equal
    <BLANKLINE>
    row 1: 1.0000 -> 0.0000, -1.0000
      truth  1
      a      1*
      b      0
    <BLANKLINE>
    labels by tp@1:
      1: 1 -> 0, -1 (1 row with it)
    <BLANKLINE>
    * relevant
    """
    for name in options:
        if name in OF_MEASURES:
            text = "diff keeps rows and labels of one measure, "
            raise InputError(name, Message(text, Keyword("metric"), "; leave this out"))
    shared = [name for name in SHARED_ARGUMENTS if name not in OF_MEASURES]
    refuse_unknown(options, keywords_of(diff), shared)
    for name, scores in (("a", a), ("b", b)):
        if scores is None:
            expected = "expected the scores of a model, after the truth: diff(y_true, a, b)"
            raise InputError(name, f"is missing; {expected}")
    worst = positive_integer("worst", worst)
    spec = parse_spec(metric)
    if not (spec.has_row_values or spec.by_label):
        raise InputError("metric", f"{spec} has no values by row or by label; give another")
    request = request_of({**options, "y_true": y_true, "metrics": [metric]})
    given = request.question.given_options(0)
    question = replace(request.question, per_row=True, per_label=spec.by_label, given=given)
    request = replace(request, question=question)
    names = _names_of(a, b)
    models = dict(zip(names, (a, b), strict=True))
    evaluated = evaluate_models(names, models, None, False, request)
    add_tie_bounds(evaluated, request)
    reports = {name: report for name, (report,) in evaluated.reports.items()}
    return find_changes([spec], reports, worst, evaluated.lists_of)


def _names_of(a: object, b: object) -> list[str]:
    """Return the names of two models: those of their files if these differ, else a and b."""
    if isinstance(a, str | os.PathLike) and isinstance(b, str | os.PathLike):
        file_names = short_names(names_of_files([as_path(a), as_path(b)]))
        if file_names[0] != file_names[1]:
            return file_names
    return ["a", "b"]
