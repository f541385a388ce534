"""`rank`: average ranks of models over data sets, with the tests of Demsar 2006."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from xmleval.api.compare import (
    COMPUTED,
    add_tie_bounds,
    evaluate_models,
    inputs_of,
    names_of,
    naming_data_set,
)
from xmleval.base.errors import InputError
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.evaluation.request import SHARED_ARGUMENTS, request_of
from xmleval.files.remote import is_file
from xmleval.results.data_sets import Comparisons
from xmleval.results.ranking import Models, Ranking, by_data_set, rank_by
from xmleval.results.rankings import Rankings


@overload
def rank(
    results: object,
    metrics: str | None = None,
    *,
    higher_is_better: bool | None = None,
    control: str | None = None,
    alpha: float = 0.05,
    leave_out: str | None = None,
    **options: Any,
) -> Ranking: ...


@overload
def rank(
    results: object,
    metrics: Sequence[str],
    *,
    higher_is_better: bool | None = None,
    control: str | None = None,
    alpha: float = 0.05,
    leave_out: str | None = None,
    **options: Any,
) -> Rankings: ...


def rank(
    results: object,
    metrics: str | Sequence[str] | None = None,
    *,
    higher_is_better: bool | None = None,
    control: str | None = None,
    alpha: float = 0.05,
    leave_out: str | None = None,
    **options: Any,
) -> Ranking | Rankings:
    """Compare models over several data sets by their average ranks (Demsar 2006).

    Parameters
    ----------
    results : mapping of data sets to mappings of models, or frame of shape (data sets, models)
        For each model a `Report`, values by measure, or a number; in place of models, a file of
        results as JSON, or a pair ``(y_true, models)`` that is evaluated first, as in `compare`.
        Or `Comparisons`, or a file of them. Each model needs a value on each data set.
    metrics : str or list of str, optional
        Measure, in any accepted spelling, or several for a table of all; default the only one that
        all models have. For results that are only numbers, it determines the direction.
    higher_is_better : bool, optional
        Whether higher values are better, for a measure of your own.
    control : str, optional
        Model with which all others are compared, by the test of Bonferroni and Dunn, which detects
        smaller differences. Default: all pairs are compared, by the test of Nemenyi.
    alpha : float, default 0.05
        Level of significance, within (0, 1).
    leave_out : {"data_sets", "models"}, optional
        Leave out the data sets on which some model has no value, or the models without a value on
        some data set. Default: missing and undefined values are an error.
    options : dict
        ``conventions`` and others of `evaluate`, for data sets that are evaluated first.

    Returns
    -------
    Ranking
        Average ranks, tests, critical difference, and the groups of models that do not differ
        significantly. Of a list of measures, `Rankings`: one table, and a `Ranking` of each.
        Two models count as tied on a data set where the order of equal scores can make either of
        them the better one, as in `compare`; a note names them.

    Raises
    ------
    ValueError
        If there are fewer than two data sets or models; if a value is missing, or was computed on
        other rows or under other conventions than those beside it; if the measure or its direction
        is not known.

    Examples
    --------
    >>> values = {"bibtex": {"lr": 0.64, "knn": 0.58}, "delicious": {"lr": 0.69, "knn": 0.66}}
    >>> found = rank(values, "p@1")
    >>> found.average_ranks
    {'lr': 1.0, 'knn': 2.0}
    >>> found.groups
    [['lr', 'knn']]
    """
    refuse_unknown(options, keywords_of(rank), SHARED_ARGUMENTS)
    names = _names_of(metrics)
    requested = metrics if metrics is None else [str(name) for name in names]
    by_name = by_data_set(evaluate_data_sets(results, requested, options))
    return rank_models(
        by_name,
        metrics,
        higher_is_better=higher_is_better,
        control=control,
        alpha=alpha,
        leave_out=leave_out,
    )


def _names_of(metrics: str | Sequence[str] | None) -> list[str | None]:
    """Return measures as a list, or refuse an empty one."""
    if isinstance(metrics, str) or metrics is None:
        return [metrics]
    if not metrics:
        raise InputError("metrics", "no measure given; expected one or more")
    return [*metrics]


def rank_models(
    by_name: Mapping[str, Models],
    metrics: str | Sequence[str] | None,
    *,
    higher_is_better: bool | None = None,
    control: str | None = None,
    alpha: float = 0.05,
    leave_out: str | None = None,
) -> Ranking | Rankings:
    """Rank models by their results on each data set, which `by_data_set` has matched."""
    rankings = dict[str, Ranking]()
    for name in _names_of(metrics):
        ranking = rank_by(
            by_name,
            name,
            higher_is_better=higher_is_better,
            control=control,
            alpha=alpha,
            leave_out=leave_out,
        )
        rankings[ranking.metric or ""] = ranking
    if isinstance(metrics, str) or metrics is None:
        return next(iter(rankings.values()))
    return Rankings(rankings)


def evaluate_data_sets(
    results: object, metrics: str | Sequence[str] | None, options: Mapping[str, Any]
) -> object:
    """Return results with the reports of those data sets that are truths and models."""
    by_data_set_name = results
    if is_file(results):
        by_data_set_name = Comparisons.load(results)
    tuples = dict[object, Any]()
    if isinstance(by_data_set_name, Mapping):
        tuples = {name: each for name, each in by_data_set_name.items() if isinstance(each, tuple)}
    if not tuples:
        for option in options:
            raise InputError(option, COMPUTED)
        return by_data_set_name
    reports = dict[object, object]()
    for name, data_set in tuples.items():
        with naming_data_set(str(name)):
            truth, models, own = inputs_of(data_set)
            reports[name] = _reports(truth, models, {"metrics": metrics, **options, **own})
    assert isinstance(by_data_set_name, Mapping)
    return {**by_data_set_name, **reports}


def _reports(truth: Any, models: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the reports of models on a data set, by name."""
    names = names_of(models, None)
    refuse_unknown(options, SHARED_ARGUMENTS)
    request = request_of({**options, "y_true": truth})
    evaluated = evaluate_models(names, models, None, False, request)
    add_tie_bounds(evaluated, request)
    return {name: report for name, (report,) in evaluated.reports.items()}
