"""`diff`: the rows and labels that changed most between two models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmleval.api.compare import evaluate_models, names_of
from xmleval.base.errors import InputError, Keyword, Message, positive_integer
from xmleval.evaluation.settings import ARGUMENTS, GIVEN, refuse_unknown
from xmleval.metrics.spec import parse_spec
from xmleval.results.diff import Diff, find_changes
from xmleval.states.effects import given_options


def diff(
    models: Mapping[str, Any], y_true: Any, *, metric: str = "ndcg@5", worst: int = 20, **options: Any
) -> Diff:
    """Find the rows, and the labels, that changed most from one model to another.

    Parameters
    ----------
    models, y_true
        As in `compare`, of two models; changes are from the first to the second.
    metric : str, default "ndcg@5"
        The measure. Rows have values of means over rows; labels those of averages over labels, and otherwise
        hits at the cutoff of the measure.
    worst : int, default 20
        Largest number of rows, and of labels; of equal changes, losses come first.
    options : dict
        ``decision``, ``conventions``, ``exclude`` and others of `evaluate`, but ``metrics``, ``per_row`` and
        ``per_label``.

    Returns
    -------
    Diff
        Prints each row with its truth and both lists; ``rows`` and ``labels`` have them.

    Raises
    ------
    ValueError
        If input is invalid (the message names the model), or the measure has values neither by row nor by
        label.

    Examples
    --------
    >>> y_true = np.array([[1, 0, 1], [0, 1, 0]])
    >>> old, new = np.array([[[3, 2, 1], [1, 3, 2]], [[3, 1, 2], [3, 2, 1]]])
    >>> print(diff({"old": old, "new": new}, y_true, metric="p@1"))
    P@1 ↑: 1.0000 (old) -> 0.5000 (new), -0.5000; 0 rows better, 1 worse, 1 as good
    <BLANKLINE>
    row 1: 1.0000 -> 0.0000, -1.0000
      truth  1
      old    1*
      new    0
    <BLANKLINE>
    labels by tp@1:
      1: 1 -> 0, -1 (1 row with it)
    <BLANKLINE>
    * relevant
    """
    names = names_of(models, None)
    if len(names) != 2:
        raise InputError("models", f"{len(names)} given; expected two")
    worst, spec = positive_integer("worst", worst), parse_spec(metric)
    arguments = {"metrics": [metric], "per_row": True, "per_label": spec.by_label}
    for name in filter(arguments.__contains__, options):
        reason = "diff keeps rows and labels of one measure, ", Keyword("metric"), "; leave this out"
        raise InputError(name, Message(*reason))
    refuse_unknown(options, ARGUMENTS)
    given = given_options([metric], options, 0)
    asked = {**arguments, **options, GIVEN: given}
    models_evaluated = evaluate_models(names, models, y_true, None, False, asked)
    reports = {name: report for name, (report,) in models_evaluated.reports.items()}
    return find_changes([spec], reports, worst, models_evaluated.lists_of)
