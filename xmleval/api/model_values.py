"""Values of models on data sets, in the forms that people have them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, Keyword, Message, counted, real_number
from xmleval.files.remote import as_path, is_file
from xmleval.input.objects.frames import Frame, open_frame
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.results.checks import differing_settings
from xmleval.results.report import Report, load_results
from xmleval.results.saved_results import known_spec
from xmleval.show.tables import short_names

SEVERAL = "expected `xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
LEAVE_OUT = ("data_sets", "models")
OF_MODEL = {"decision": None, "higher_is_better": None}  # settings in which models may differ
MOST_NAMED = 3  # of many missing values
Models = dict[str, Any]
ONE_LEVEL = "expected for each data set a mapping of models to reports, values or numbers"


class Measure(NamedTuple):
    """What is compared: its name as asked for, its record if it has one, and its direction."""

    name: str | None
    spec: Spec | None
    higher_is_better: bool


class ModelValues(NamedTuple):
    """Values of models on data sets, float64 (data sets, models), and what was left out."""

    data_sets: list[str]
    models: list[str]
    values: Floats
    notes: list[str]


def by_data_set(results: Any) -> dict[str, Models]:
    """Return what is known of each model on each data set: a report, values by measure, or a number."""
    frame = None if isinstance(results, Mapping) else open_frame("results", results)
    if frame is not None:
        by_name = _models_of_frame(frame)
    elif isinstance(results, Mapping):
        by_name = {
            str(name): _models_of(str(name), _load_models(as_path(models)) if is_file(models) else models)
            for name, models in results.items()
        }
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
    columns = frame.columns
    names = [str(name) for name in frame.keys or range(len(frame.matrix(columns[:1])))]
    if frame.matrix(columns[:1]).dtype.kind not in "biuf":
        names, columns = [*map(str, frame.matrix(columns[:1])[:, 0])], columns[1:]
    matrix = frame.matrix(columns)
    if matrix.dtype.kind not in "biuf":
        raise InputError(
            "results", "a column holds no numbers; the rows of a frame are data sets, the columns models"
        )
    models = [*map(str, columns)]
    for heads in (names, models):
        if len({*heads}) < len(heads):
            twice = next(name for place, name in enumerate(heads) if name in heads[:place])
            raise InputError("results", f"{twice!r} is there twice")
    return {
        name: dict(zip(models, row, strict=True)) for name, row in zip(names, matrix.tolist(), strict=True)
    }


def _load_models(path: Path) -> dict[str, Report]:
    """Read the reports of two or more models."""
    reports = load_results(path)
    if len(reports) < 2:
        raise ValueError(f"{path}: has one model; {SEVERAL}")
    return reports


def _models_of(data_set: str, results: Any) -> Models:
    results = getattr(results, "reports", results)  # of a `Comparison`
    if isinstance(results, Report) or not isinstance(results, Mapping):
        raise InputError("results", f"{data_set!r} is one {type(results).__name__}; {ONE_LEVEL}")
    models = {str(name): model for name, model in results.items()}
    if models and all(map(_parsed, models)):
        first = next(iter(models))
        raise InputError("results", f"{data_set!r} holds {first!r}, a measure and no model; {ONE_LEVEL}")
    return models


def _parsed(name: Any) -> Spec | None:
    return known_spec(name) if isinstance(name, str) else None


def shared_measures(results: Mapping[str, Models]) -> list[str]:
    """Return the measures that all models have on all data sets, but those that do not describe a model."""
    cells = (model for models in results.values() for model in models.values())
    columns = [model for model in cells if isinstance(model, Mapping)]
    names = [name for name in (columns[0] if columns else ()) if all(name in values for values in columns)]
    return [name for name in names if (spec := _parsed(name)) is None or spec.metric.direction != "none"]


def measure_of(results: Mapping[str, Models], metric: str | None, higher_is_better: bool | None) -> Measure:
    """Return the measure that is asked for, or the only one there is, and its direction."""
    names = shared_measures(results)
    if metric is None:
        if len(names) > 1:
            raise InputError("metric", f"not given; the models have {', '.join(names)}")
        if not names:
            if any(isinstance(model, Mapping) for models in results.values() for model in models.values()):
                raise InputError(
                    "metric", "not given, and there is none that every model has on every data set"
                )
            if higher_is_better is None:
                ways = Keyword("metric"), " or ", Keyword("higher_is_better")
                raise InputError("metric", Message("numbers do not tell which are better; give ", *ways))
            return Measure(None, None, higher_is_better)
        metric = names[0]
    if not isinstance(metric, str):
        raise InputError("metric", f"{metric!r} is not the name of a measure")
    try:
        spec = parse_spec(metric)
    except ValueError as error:
        if higher_is_better is None:
            hint = Message("; a measure of your own needs ", Keyword("higher_is_better"))
            raise InputError("metric", Message(str(error), hint)) from None
        return Measure(metric, None, higher_is_better)
    direction = spec.metric.direction
    if direction == "none":
        raise InputError("metric", f"{spec} describes the labels, and not a model")
    if higher_is_better not in (None, direction == "up"):
        better = "higher" if direction == "up" else "lower"
        raise InputError("higher_is_better", f"{higher_is_better!r}, and {better} is better for {spec}")
    return Measure(spec.name, spec, direction == "up")


def model_values(results: Mapping[str, Models], measure: Measure, leave_out: str | None) -> ModelValues:
    """Return the values of a measure, with one for every model on every data set."""
    if leave_out not in (None, *LEAVE_OUT):
        raise InputError("leave_out", f"{leave_out!r} is neither {LEAVE_OUT[0]!r} nor {LEAVE_OUT[1]!r}")
    names = [[*results], [*dict.fromkeys(model for models in results.values() for model in models)]]
    values = np.full((len(names[0]), len(names[1])), math.nan)
    missing = []
    for i, data_set in enumerate(names[0]):
        _refuse_unlike(data_set, results[data_set], measure.spec)
        for j, model in enumerate(names[1]):
            try:
                values[i, j] = _value(results[data_set].get(model), measure, f"{model} on {data_set}")
            except LookupError as error:
                missing.append(str(error.args[0]))
    notes = []
    if missing and leave_out is None:
        if len(missing) == values.size:
            raise InputError("metric", missing[0])
        left = [f"{len(missing) - MOST_NAMED} more"] if missing[MOST_NAMED:] else []
        reasons = "; ".join([*missing[:MOST_NAMED], *left])
        ways = Keyword("leave_out", repr(LEAVE_OUT[0])), " or ", Keyword("leave_out", repr(LEAVE_OUT[1]))
        needed = "; average ranks need a value of every model on every data set; give "
        raise InputError("results", Message(reasons, needed, *ways))
    if missing:
        axis = LEAVE_OUT.index(leave_out or "")
        whole = ~np.isnan(values).any(1 - axis)
        out = [name for name, kept in zip(names[axis], whole, strict=True) if not kept]
        names[axis] = [name for name in names[axis] if name not in out]
        values = values.compress(whole, axis)
        notes = [f"left out, as a model has no value on a data set: {', '.join(out)}"]
    for heads, units in zip(names, ("data sets", "models"), strict=True):
        _refuse_few(heads, units, " left" if missing else "")
    return ModelValues(names[0], names[1], values, notes)


def _value(model: Any, measure: Measure, where: str) -> float:
    """Return the value of a model; raise LookupError where there is none, with the reason."""
    if isinstance(model, Mapping):
        if measure.name is None:
            raise InputError("metric", f"not given; {where} has {', '.join(map(str, model))}")
        spelled = [measure.name] if measure.name in model else []
        spelled += [name for name in model if measure.spec and _parsed(name) == measure.spec]
        if not spelled:
            raise LookupError(f"{where}: {not_there(measure.name, [*model])}")
        model = model[spelled[0]]
    if model is None:
        raise LookupError(f"no value of {where}")
    try:
        value = real_number("results", model)
    except InputError as error:
        raise InputError("results", f"{where}: {error.reason}") from None
    if math.isnan(value):
        raise LookupError(f"undefined value of {where}")
    return value


def _refuse_unlike(data_set: str, models: Models, spec: Spec | None) -> None:
    """Refuse models that were not evaluated on the same rows, or under the same conventions."""
    specs = [spec] if spec else []
    settings = {
        name: {"n_rows": report.n_rows, **report.settings_of(specs), **OF_MODEL}
        for name, report in models.items()
        if isinstance(report, Report)
    }
    for (name, of_one), (other, of_other) in combinations(settings.items(), 2):
        for setting, (shown, shown_other) in differing_settings(of_one, of_other).items():
            reason = f"{setting} is {shown} for {name} and {shown_other} for {other}"
            raise InputError("results", f"{data_set}: {reason}, whose values cannot be compared")
