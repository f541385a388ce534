"""`rank`: average ranks of models over data sets, with the tests of Demsar 2006."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.api.model_values import by_data_set, measure_of, model_values
from xmleval.base.errors import InputError, did_you_mean, real_number
from xmleval.results.ranking import Ranking
from xmleval.show.tables import short_names
from xmleval.statistics.friedman import (
    count_ties,
    critical_difference,
    find_groups,
    omnibus_tests,
    ranks_within_rows,
)

ALPHA = 0.05
FEW_DATA_SETS, FEW_MODELS = 10, 5  # up to which chi-square is no good approximation


def rank(
    results: Any,
    metric: str | None = None,
    *,
    higher_is_better: bool | None = None,
    control: str | None = None,
    alpha: float = ALPHA,
    leave_out: str | None = None,
) -> Ranking:
    """Compare models over several data sets by their average ranks (Demsar 2006).

    Parameters
    ----------
    results : mapping of data sets to mappings of models, or frame of shape (data sets, models)
        For each model a `Report`, values by measure, or a number; in place of models, a file of results as
        JSON. Each model needs a value on each data set.
    metric : str, optional
        Measure, in any accepted spelling; default the only one that all models have. Of numbers alone, it
        tells the direction.
    higher_is_better : bool, optional
        Whether higher values are better, for a measure of your own.
    control : str, optional
        Model with which the others are compared, by the test of Bonferroni and Dunn, which sees smaller
        differences. Default: all pairs are compared, by that of Nemenyi.
    alpha : float, default 0.05
        Level of significance, within (0, 1).
    leave_out : {"data_sets", "models"}, optional
        Leave out the data sets on which some model has no value, or the models without a value on some data
        set. Default: missing and undefined values are refused.

    Returns
    -------
    Ranking
        Average ranks, tests, critical difference, and the groups of models that do not differ significantly.

    Raises
    ------
    ValueError
        If there are fewer than two data sets or models; if a value is missing, or was computed on other rows
        or under other conventions than those beside it; if the measure or its direction is not known.

    Examples
    --------
    >>> values = {"bibtex": {"lr": 0.64, "knn": 0.58}, "delicious": {"lr": 0.69, "knn": 0.66}}
    >>> found = rank(values, "p@1")
    >>> found.average_ranks
    {'lr': 1.0, 'knn': 2.0}
    >>> found.groups
    [['lr', 'knn']]
    """
    level = real_number("alpha", alpha)
    if not 0 < level < 1:
        raise InputError("alpha", f"{alpha!r} is not between 0 and 1")
    by_name = by_data_set(results)
    measure = measure_of(by_name, metric, higher_is_better)
    compared = model_values(by_name, measure, leave_out)
    ranks = ranks_within_rows(compared.values, measure.higher_is_better)
    means = ranks.sum(0) / len(ranks)
    order = np.argsort(means, kind="stable")
    models = [compared.models[j] for j in order]
    control = None if control is None else _control(control, models)
    difference = critical_difference(len(ranks), len(models), level, control is not None)
    if control is None:
        runs = [models[run] for run in find_groups(means[order].tolist(), difference)]
    else:
        near = np.abs(means[order] - means[compared.models.index(control)]) < difference
        runs = [[model for model, is_near in zip(models, near, strict=True) if is_near]]
    tests = omnibus_tests(ranks)
    return Ranking(
        metric=measure.name,
        higher_is_better=measure.higher_is_better,
        n_data_sets=len(ranks),
        alpha=level,
        control=control,
        average_ranks={compared.models[j]: float(means[j]) for j in order},
        ranks=_by_name(compared.data_sets, models, ranks[:, order]),
        values=_by_name(compared.data_sets, models, compared.values[:, order]),
        corrected=omnibus_tests(ranks, corrected=True) if count_ties(ranks) else {},
        critical_difference=difference,
        groups=[run for run in runs if len(run) > 1],
        notes=[*compared.notes, *_cautions(ranks.shape, tests["iman_davenport"].p_value, level)],
        **tests,
    )


def _by_name(data_sets: list[str], models: list[str], matrix: Any) -> dict[str, dict[str, float]]:
    rows = zip(data_sets, matrix.tolist(), strict=True)
    return {name: dict(zip(models, row, strict=True)) for name, row in rows}


def _control(name: str, models: list[str]) -> str:
    """Return the model of a name, or of the short name that tables have."""
    full = dict(zip(short_names(models), models, strict=True)) | {model: model for model in models}
    if name not in full:
        near = did_you_mean(str(name), full) or f"there are {', '.join(models)}"
        raise InputError("control", f"{name!r} is none of the models; {near}")
    return full[name]


def _cautions(shape: tuple[int, ...], p_value: float, alpha: float) -> list[str]:
    n, k = shape
    notes = []
    if not p_value < alpha:
        notes.append(
            f"no difference seen: p of F is not below {alpha:g}, and Demsar 2006 then tests no pairs"
        )
    if k == 2:
        notes.append("for two models, Demsar 2006 recommends Wilcoxon's signed-rank test of the values")
    if n <= FEW_DATA_SETS or k <= FEW_MODELS:
        large = f"more than {FEW_DATA_SETS} data sets and {FEW_MODELS} models"
        notes.append(f"chi-square and F are approximations for {large}; exact values are not offered")
    return notes
