"""`rank`: average ranks of models over data sets, with the tests of Demsar 2006."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import combinations, compress
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, Keyword, Message, counted, did_you_mean, real_number
from xmleval.files.remote import as_path, is_file
from xmleval.input.objects.frames import Frame, open_frame
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.results.checks import differing_settings
from xmleval.results.ranking import Ranking
from xmleval.results.report import Report, load_results
from xmleval.results.saved_results import known_spec
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
SEVERAL = "expected `xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
LEAVE_OUT = ("data_sets", "models")
OF_MODEL = {"decision": None, "higher_is_better": None}  # settings in which models may differ
NONE_SHARED = "there is none that every model has on every data set"
MOST_NAMED = 3  # of many missing values
Models = dict[str, Any]
Measure = Spec | str | None  # what is compared; a measure of your own has a name alone, numbers have none
ONE_LEVEL = "expected for each data set a mapping of models to reports, values or numbers"


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
    measure, is_up = measure_of(by_name, metric, higher_is_better)
    (data_sets, names), values, notes = model_values(by_name, measure, leave_out)
    ranks = ranks_within_rows(values, is_up)
    means = ranks.sum(0) / len(ranks)
    order = np.argsort(means, kind="stable")
    models, means, ranks, values = [names[j] for j in order], means[order], ranks[:, order], values[:, order]
    control = None if control is None else _control(control, models)
    difference = critical_difference(len(ranks), len(models), level, control is not None)
    if control is None:
        runs = [models[run] for run in find_groups(means.tolist(), difference)]
    else:
        runs = [[*compress(models, np.abs(means - means[models.index(control)]) < difference)]]
    tests = omnibus_tests(ranks)
    return Ranking(
        metric=None if measure is None else str(measure),
        higher_is_better=is_up,
        n_data_sets=len(ranks),
        alpha=level,
        control=control,
        average_ranks=dict(zip(models, means.tolist(), strict=True)),
        ranks=_by_name(data_sets, models, ranks),
        values=_by_name(data_sets, models, values),
        corrected=omnibus_tests(ranks, corrected=True) if count_ties(ranks) else {},
        critical_difference=difference,
        groups=[run for run in runs if len(run) > 1],
        notes=[*notes, *_cautions(ranks.shape, tests["iman_davenport"].p_value, level)],
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


def by_data_set(results: Any) -> dict[str, Models]:
    """Return what is known of each model on each data set: a report, values by measure, or a number."""
    if isinstance(results, Mapping):
        by_name = {str(name): _models_of(str(name), models) for name, models in results.items()}
    elif (frame := open_frame("results", results)) is not None:
        by_name = _models_of_frame(frame)
    else:
        raise InputError("results", f"{type(results).__name__} is neither a mapping nor a frame; {ONE_LEVEL}")
    _refuse_few(by_name, "data sets")
    return by_name


def by_short_names(full: Mapping[str, Models]) -> tuple[Mapping[str, Models], list[str]]:
    """Return models by the short names that tables have where only these are the same for all; and notes."""
    short = {
        data_set: dict(zip(short_names([*models]), models.values(), strict=True))
        for data_set, models in full.items()
    }
    n_full, n_short = (len({frozenset(models) for models in named.values()}) for named in (full, short))
    if n_full == 1 or n_short > 1:
        return full, []
    return short, ["models are matched by the part of their names that differs within a data set"]


def _refuse_few(names: Collection[str], units: str, left: str = "") -> None:
    if len(names) < 2:
        raise InputError("results", f"{counted(len(names), units)}{left}; average ranks need 2 or more")


def _models_of_frame(frame: Frame) -> dict[str, Models]:
    """Return the rows of a frame; they are called as its index or its first column has it, or numbered."""
    first, columns = frame.matrix(frame.columns[:1]), frame.columns
    names = frame.keys or range(len(first))
    if first.dtype.kind not in "biuf":
        names, columns = first[:, 0], columns[1:]
    matrix = frame.matrix(columns)
    if matrix.dtype.kind not in "biuf":
        raise InputError(
            "results", "a column holds no numbers; the rows of a frame are data sets, the columns models"
        )
    data_sets, models = [*map(str, names)], [*map(str, columns)]
    for name, n in (*Counter(data_sets).items(), *Counter(models).items()):
        if n > 1:
            raise InputError("results", f"{name!r} is there twice")
    return _by_name(data_sets, models, matrix)


def _models_of(data_set: str, results: Any) -> Models:
    if is_file(results):
        path = as_path(results)
        results = load_results(path)
        if len(results) < 2:
            raise ValueError(f"{path}: has one model; {SEVERAL}")
    results = getattr(results, "reports", results)  # of a `Comparison`
    if isinstance(results, Report) or not isinstance(results, Mapping):
        raise InputError("results", f"{data_set!r} is one {type(results).__name__}; {ONE_LEVEL}")
    models = {str(name): model for name, model in results.items()}
    if models and all(map(known_spec, models)):
        first = next(iter(models))
        raise InputError("results", f"{data_set!r} holds {first!r}, a measure and no model; {ONE_LEVEL}")
    return models


def shared_measures(results: Mapping[str, Models]) -> list[str] | None:
    """Return the measures of models that all have on all data sets; None if no model has any by name."""
    cells = (model for models in results.values() for model in models.values())
    columns = [model for model in cells if isinstance(model, Mapping)]
    names = [name for name in columns[0] if all(name in values for values in columns)] if columns else []
    specs = {name: known_spec(str(name)) for name in names}
    of_models = [name for name, spec in specs.items() if spec is None or spec.metric.direction != "none"]
    return of_models if columns else None


def measure_of(
    results: Mapping[str, Models], metric: str | None, higher_is_better: bool | None
) -> tuple[Measure, bool]:
    """Return the measure that is asked for, or the only one there is, and whether higher is better."""
    names = shared_measures(results) if metric is None else None
    if names is not None and len(names) != 1:
        models_have = f"the models have {', '.join(names)}"
        raise InputError("metric", f"not given; {models_have if names else NONE_SHARED}")
    metric = metric if names is None else names[0]
    if not isinstance(metric, str | None):
        raise InputError("metric", f"{metric!r} is not the name of a measure")
    try:
        spec = None if metric is None else parse_spec(metric)
    except ValueError as error:
        if higher_is_better is None:
            hint = Message("; a measure of your own needs ", Keyword("higher_is_better"))
            raise InputError("metric", Message(str(error), hint)) from None
        spec = None
    if spec is None and higher_is_better is None:
        ways = Keyword("metric"), " or ", Keyword("higher_is_better")
        raise InputError("metric", Message("numbers do not tell which are better; give ", *ways))
    if spec is None:
        return metric, bool(higher_is_better)
    direction = spec.metric.direction
    if direction == "none":
        raise InputError("metric", f"{spec} describes the labels, and not a model")
    if higher_is_better not in (None, direction == "up"):
        better = "higher" if direction == "up" else "lower"
        raise InputError("higher_is_better", f"{higher_is_better!r}, and {better} is better for {spec}")
    return spec, direction == "up"


def model_values(
    results: Mapping[str, Models], measure: Measure, leave_out: str | None
) -> tuple[list[list[str]], Floats, list[str]]:
    """Return data sets and models, their values, (data sets, models), without gaps, and what was left out."""
    if leave_out not in (None, *LEAVE_OUT):
        raise InputError("leave_out", f"{leave_out!r} is neither {LEAVE_OUT[0]!r} nor {LEAVE_OUT[1]!r}")
    names = [[*results], [*dict.fromkeys(model for models in results.values() for model in models)]]
    cells = []
    for data_set, models in results.items():
        _refuse_unlike(data_set, models, measure)
        cells += [_value(models.get(model), measure, f"{model} on {data_set}") for model in names[1]]
    missing = [cell for cell in cells if isinstance(cell, str)]
    numbers = [math.nan if isinstance(cell, str) else cell for cell in cells]
    values = np.array(numbers).reshape(len(names[0]), len(names[1]))
    if missing and leave_out is None:
        if len(missing) == values.size:
            raise InputError("metric", missing[0])
        n_more = len(missing) - MOST_NAMED
        reasons = "; ".join([*missing[:MOST_NAMED], *([f"{n_more} more"] if n_more > 0 else [])])
        ways = Keyword("leave_out", repr(LEAVE_OUT[0])), " or ", Keyword("leave_out", repr(LEAVE_OUT[1]))
        needed = "; average ranks need a value of every model on every data set; give "
        raise InputError("results", Message(reasons, needed, *ways))
    notes = []
    if leave_out is not None and missing:
        axis = LEAVE_OUT.index(leave_out)
        is_whole = ~np.isnan(values).any(1 - axis)
        left_out = ", ".join(compress(names[axis], ~is_whole))
        names[axis], values = [*compress(names[axis], is_whole)], values.compress(is_whole, axis)
        notes = [f"left out, as a model has no value on a data set: {left_out}"]
    for heads, units in zip(names, ("data sets", "models"), strict=True):
        _refuse_few(heads, units, " left" if missing else "")
    return names, values, notes


def _value(model: Any, measure: Measure, where: str) -> float | str:
    """Return the value of a model, or why there is none."""
    if isinstance(model, Mapping):
        if measure is None:
            raise InputError("metric", f"not given; {where} has {', '.join(map(str, model))}")
        spelled = [str(measure)] if str(measure) in model else []
        spelled += [name for name in model if known_spec(str(name)) == measure]
        if not spelled:
            return f"{where}: {not_there(str(measure), [*model])}"
        model = model[spelled[0]]
    if model is None:
        return f"no value of {where}"
    try:
        value = real_number("results", model)
    except InputError as error:
        raise InputError("results", f"{where}: {error.reason}") from None
    return f"undefined value of {where}" if math.isnan(value) else value


def _refuse_unlike(data_set: str, models: Models, measure: Measure) -> None:
    """Refuse models that were not evaluated on the same rows, or under the same conventions."""
    specs = [measure] if isinstance(measure, Spec) else []
    settings = {
        name: {"n_rows": report.n_rows, **report.settings_of(specs), **OF_MODEL}
        for name, report in models.items()
        if isinstance(report, Report)
    }
    for (name, of_one), (other, of_other) in combinations(settings.items(), 2):
        for setting, (shown, shown_other) in differing_settings(of_one, of_other).items():
            reason = f"{setting} is {shown} for {name} and {shown_other} for {other}"
            raise InputError("results", f"{data_set}: {reason}, whose values cannot be compared")
