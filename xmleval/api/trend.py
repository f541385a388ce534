"""`trend`: measures of saved results over days."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from xmleval.api.check import check_limits
from xmleval.api.saved_reports import ResultsLike, files_by_name, load_reports
from xmleval.base.conventions import Conventions
from xmleval.base.errors import InputError, shown, shown_names
from xmleval.input.argument_types import FilePath
from xmleval.input.cell_marks import RESTRICTIONS
from xmleval.metrics.spec import Spec, expand_metrics, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.results.checks import setting_text
from xmleval.results.ranking import by_short_names
from xmleval.results.report import Report, settings_of
from xmleval.results.saved_results import notes_on_unknown
from xmleval.results.trend import Reports, Trend, TrendMeasure, report_of

EXPECTED_DAYS = "expected a dict of results by day, or a list of files"
MAY_DIFFER = ("higher_is_better",)  # values are comparable, as in `rank`


def trend(
    results: Mapping[str, ResultsLike] | Iterable[FilePath] | FilePath,
    metrics: str | Iterable[str] | None = None,
    *,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    model: str | None = None,
) -> Trend:
    """Show measures over days, with their intervals and limits.

    Parameters
    ----------
    results : dict of str to results, or list of paths, or path
        The results of each day, in order: a `Report`, a comparison, an `Evaluator`, what
        ``to_dict`` returns, or a file of results as JSON or of a saved evaluator. Files in a list
        are named without their ending; a folder stands for its .json and .state files, a pattern
        for all files that match, day2 before day10.
    metrics : str or iterable of str, optional
        Measures and groups of them, within a group of labels or rows with its name in front, as in
        ``"tail:p@5"``; default all that every day has. Measures with limits are always shown.
    min, max : dict of str to float, optional
        Least and largest value of measures, by name, as in `check`.
    model : str, optional
        Show only this one of several reports of each day.

    Returns
    -------
    Trend
        Values by day, with all printed forms; ``failures`` has what is beyond a limit.

    Raises
    ------
    ValueError
        If there are no results, a measure is on no day, a limit is none that the measure can have,
        or values of two days were computed under different conventions.

    Examples
    --------
    >>> first = evaluate(np.eye(4), np.eye(4), metrics=["p@1"])
    >>> second = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 2]], metrics=["p@1"])
    >>> result = trend({"day1": first, "day2": second}, min={"p@1": 0.6})
    >>> result.failures["day2"][0].reason
    'p@1 0.5 is below the minimum 0.6'
    """
    limits = {"min": check_limits("min", min), "max": check_limits("max", max)}
    loaded = {day: load_reports(day, value)[1] for day, value in _results_by_day(results).items()}
    notes = list[str]()
    days: Mapping[str, Reports]
    if model is None:
        days, notes = _with_models_matched(loaded)
    else:
        days = {day: _select_model(day, reports, model) for day, reports in loaded.items()}
    measures, left_out = _measures_of(days, metrics, [*limits["min"], *limits["max"]])
    notes += left_out
    notes += _notes_on_settings(days, measures)
    return Trend(days=days, measures=measures, notes=notes, **limits)


def _results_by_day(results: object) -> dict[str, Any]:
    """Return results by the name of their day, or refuse anything else."""
    if isinstance(results, Report) or hasattr(results, "reports"):
        reason = f"{type(results).__name__} is the results of one day; {EXPECTED_DAYS}"
        raise InputError("results", reason)
    if isinstance(results, str | os.PathLike):
        results = [results]
    by_day: Mapping[Any, Any]
    if isinstance(results, Mapping):
        by_day = results
    elif isinstance(results, Iterable):
        paths = [*results]
        wrong = [path for path in paths if not isinstance(path, str | os.PathLike)]
        if wrong:
            raise InputError(
                "results", f"{type(wrong[0]).__name__} has no name for its day; {EXPECTED_DAYS}"
            )
        by_day = files_by_name("results", paths)
    else:
        raise InputError(
            "results", f"{type(results).__name__} is not a result by day; {EXPECTED_DAYS}"
        )
    if not by_day:
        raise InputError("results", f"no results are given; {EXPECTED_DAYS}")
    return {str(day): value for day, value in by_day.items()}


def _with_models_matched(days: Mapping[str, Reports]) -> tuple[Mapping[str, Reports], list[str]]:
    """Return reports with one name for a model on all days, and notes."""
    if all(len(reports) == 1 for reports in days.values()):
        names = [*dict.fromkeys(name for reports in days.values() for name in reports)]
        alone = {day: {"": report} for day, (report,) in _values_of(days)}
        notes = []
        if len(names) > 1:
            named = shown_names([name for name in names if name])
            notes = [f"each day has one report, and all are shown as one model: {named}"]
        return alone, notes
    nameless = [day for day, reports in days.items() if "" in reports]
    if nameless:
        text = f"{nameless[0]}: its report has no name, but other days have several reports"
        raise InputError("results", text)
    matched, notes = by_short_names({day: dict(reports) for day, reports in days.items()})
    models = [*dict.fromkeys(model for reports in matched.values() for model in reports)]
    for model in models:
        missing = [day for day, reports in matched.items() if model not in reports]
        if missing:
            notes.append(f"no report of {model} on {shown_names(missing)}")
    return matched, notes


def _values_of(days: Mapping[str, Reports]) -> Iterator[tuple[str, tuple[Report, ...]]]:
    """Yield the names of days, and their reports."""
    for day, reports in days.items():
        yield day, (*reports.values(),)


def _select_model(day: str, reports: Reports, model: str) -> Reports:
    """Return the report of a model on a day."""
    if model in reports:
        return {"": reports[model]}
    reason = f"{day} has no report {shown(model)}; it has {shown_names(reports)}"
    if [*reports] == [""]:
        reason = f"{shown(model)} is given, but the report of {day} has no name; leave this out"
    raise InputError("model", reason)


def _measures_of(
    days: Mapping[str, Reports], metrics: str | Iterable[str] | None, limited: list[str]
) -> tuple[list[TrendMeasure], list[str]]:
    """Return the measures to show, all with limits among them, and notes on the others."""
    reports = [report for of_day in days.values() for report in of_day.values()]
    notes = notes_on_unknown(dict.fromkeys(name for report in reports for name in report))
    measures = dict[TrendMeasure, None]()
    if metrics is None:
        shared, others = _split_by_presence(reports)
        if not shared and not limited:
            raise InputError(
                "results", "no measure has values on all days; give metrics that some days have"
            )
        measures = dict.fromkeys(map(TrendMeasure, shared))
        left_out = [str(spec) for spec in others if spec.name not in limited]
        if left_out:
            notes.append(f"left out, as some days lack them: {', '.join(left_out)}")
    names = [metrics] if isinstance(metrics, str) else metrics or ()
    for name in names:
        measures |= dict.fromkeys(_expand(name, reports))
    for name in limited:
        group, _, measure = name.rpartition(":")
        measures[TrendMeasure(parse_spec(measure), group)] = None
    return [*measures], [*notes, *_notes_on_gaps(days, measures)]


def _split_by_presence(reports: Sequence[Report]) -> tuple[list[Spec], list[Spec]]:
    """Return the measures that all reports have, and the measures that only some have."""
    shared = list[Spec]()
    others = list[Spec]()
    names = dict.fromkeys(spec.name for report in reports for spec in report.specs)
    for spec in map(parse_spec, names):  # records of measures differ by conventions
        is_shared = all(spec.name in report for report in reports)
        (shared if is_shared else others).append(spec)
    return shared, others


def _notes_on_gaps(days: Mapping[str, Reports], measures: Iterable[TrendMeasure]) -> list[str]:
    """Return a note on each measure without a value on some days."""
    notes = list[str]()
    for measure in measures:
        missing = list[str]()
        for day, of_day in days.items():
            if any(report_of(measure, report) is None for report in of_day.values()):
                missing.append(day)
        if missing:
            notes.append(f"{measure.name} has no value on {shown_names(missing)}")
    return notes


def _expand(name: str, reports: list[Report]) -> list[TrendMeasure]:
    """Return the measures that a name selects, within a group if it has one in front."""
    group, _, measure = name.rpartition(":")
    specs = dict.fromkeys(spec for report in reports for spec in report.specs)
    cutoffs = sorted({spec.k for spec in specs if spec.k}) or [1]
    selected = [TrendMeasure(spec, group) for spec, _ in expand_metrics(measure, cutoffs)]
    present = [
        each for each in selected if any(report_of(each, report) is not None for report in reports)
    ]
    if not present:
        raise InputError("metrics", not_there(name, [spec.name for spec in specs]))
    return present


def _notes_on_settings(days: Mapping[str, Reports], measures: list[TrendMeasure]) -> list[str]:
    """Return notes on settings that differ between reports; refuse other conventions."""
    specs = [*dict.fromkeys(measure.spec for measure in measures)]
    places = defaultdict[str, dict[str, list[str]]](dict)  # by setting and its text
    for day, reports in days.items():
        for model, report in reports.items():
            place = f"{model} on {day}" if model else day
            settings = {"number of labels": report.n_labels, **settings_of(report, specs)}
            settings["confidence"] = report.confidence_level
            for name, value in settings.items():
                text = str(setting_text(value))
                if name in RESTRICTIONS:  # each day has its own
                    text = "none" if value is None else "given"
                if name not in MAY_DIFFER:
                    places[name].setdefault(text, []).append(place)
    notes = list[str]()
    for name, places_by_text in places.items():
        if len(places_by_text) > 1:
            texts = [f"{text} ({shown_names(of)})" for text, of in places_by_text.items()]
            if name in Conventions.__dataclass_fields__:
                reason = f"{name} is {' and '.join(texts)}; such values cannot be compared"
                raise InputError("results", reason)
            notes.append(f"{name} differs: {', '.join(texts)}")
    return notes
