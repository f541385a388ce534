"""Pages and figures of saved results, in place of TRUTH and SCORES."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from xmleval.api.saved_reports import files_by_name, holds_results, load_reports
from xmleval.cli.data_sets import command_line_options
from xmleval.cli.messages import FLAGS, spell_options
from xmleval.results.comparison import Comparison, select_measures
from xmleval.results.report import Report
from xmleval.results.result import reword


def is_saved(truth: Path, scores: Sequence[object]) -> bool:
    """Return whether the files are saved results; refuse TRUTH without SCORES."""
    is_missing = not truth.exists() and not scores  # refused where it is read
    if is_missing or holds_results(truth):
        return True
    if not scores:
        raise click.UsageError("Missing argument 'SCORES...'.", click.get_current_context())
    return False


def refuse_evaluation_options(allowed: Collection[str]) -> None:
    """Refuse options that say how to evaluate, which saved results are past."""
    context = click.get_current_context()
    parameters = {each.name or "": each for each in context.command.params}
    for name in command_line_options(parameters):
        if isinstance(parameters[name], click.Option) and name not in allowed:
            flag = FLAGS.get(name, parameters[name].opts[0])
            text = f"{flag} is for TRUTH and SCORES; saved results are computed already"
            raise click.UsageError(text, context)


def load_saved(paths: Sequence[Path], metrics: Iterable[str] | None) -> Comparison:
    """Return the reports of files of results, side by side, with the measures to show.

    A file of models that were compared keeps their differences.
    """
    files = files_by_name("results", paths)
    loaded = {name: load_reports("results", path)[1] for name, path in files.items()}
    first, *others = files
    if not others and "" not in loaded[first]:
        return _select_measures(Comparison.load(files[first]), metrics)
    return _select_measures(_merge_reports(loaded), metrics)


def _select_measures(result: Comparison, metrics: Iterable[str] | None) -> Comparison:
    """Return reports with the measures to show; messages of the result name options."""
    if metrics is not None:
        result = select_measures(result, metrics)
    return reword(result, spell_options)


def _merge_reports(loaded: Mapping[str, Mapping[str, Report]]) -> Comparison:
    """Return the reports of files, by the names of files and models."""
    reports = dict[str, Report]()
    for name, by_model in loaded.items():
        for model, report in by_model.items():
            reports[_name_of(name, model, len(loaded))] = report
    notes = _notes_on(reports)
    reports = {
        name: replace(report, notes=[*notes, *report.notes]) for name, report in reports.items()
    }
    return Comparison(reports)


def _name_of(file: str, model: str, n_files: int) -> str:
    """Return the name of a report: that of its model, of its file, or of both."""
    if not model:
        return file
    if n_files == 1:
        return model
    return f"{file}: {model}"


def _notes_on(reports: Mapping[str, Report]) -> list[str]:
    """Return a note if reports are of other numbers of rows, whose values are of other data."""
    n_rows = [f"{report.n_rows} ({name})" for name, report in reports.items()]
    if len({report.n_rows for report in reports.values()}) == 1:
        return []
    return [f"values are of different rows, of which there are {', '.join(n_rows)}"]
