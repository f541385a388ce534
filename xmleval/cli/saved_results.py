"""Pages and figures of saved results, in place of TRUTH and SCORES."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from xmleval.api.saved_reports import files_by_name, holds_results, load_reports
from xmleval.base.errors import InputError
from xmleval.cli.data_sets import command_line_options
from xmleval.cli.files import MODEL_FILE, NamedFile
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


def split_names(truth: Path, scores: Sequence[NamedFile]) -> list[NamedFile]:
    """Return TRUTH and SCORES as files that may have a name before them."""
    return [MODEL_FILE.convert(str(truth), None, None), *scores]


def name_files(files: Sequence[NamedFile]) -> dict[str, Path]:
    """Return files of results by the names before them, else by their own."""
    given_names = {path: name for name, path in files if name}
    paths_by_name = files_by_name("results", [path for _, path in files])
    for path in given_names.keys() - {*paths_by_name.values()}:
        text = f"{path} is a folder or a pattern; give one file after a name"
        raise InputError("results", text)
    by_name = dict[str, Path]()
    for own_name, path in paths_by_name.items():
        name = given_names.get(path, own_name)
        if name in by_name:
            text = f"{path}: has the same name as {by_name[name]}, {name}; give another"
            raise InputError("results", text)
        by_name[name] = path
    return by_name


def load_saved(files: Sequence[NamedFile], metrics: Iterable[str] | None) -> Comparison:
    """Return the reports of files of results, side by side, with the measures to show.

    A file of models that were compared keeps their differences.
    """
    paths = name_files(files)
    loaded = {name: load_reports("results", path)[1] for name, path in paths.items()}
    first, *others = paths
    if not others and "" not in loaded[first]:
        if any(name for name, _ in files):
            text = f"{first}={paths[first]}: has several models; give the file without a name"
            raise InputError("results", text)
        return _select_measures(Comparison.load(paths[first]), metrics)
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
    return [f"the numbers of rows differ: {', '.join(n_rows)}"]
