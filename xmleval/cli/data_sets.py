"""Several data sets on the command line: truths and models by name, or files of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from xmleval.cli.files import NamedFile, Scanning
from xmleval.files.remote import as_path, is_file
from xmleval.input.scan import Scan
from xmleval.labels.propensity import TrainingLabels

PLACE = "{}"  # of the name of a data set, in a path
DataSets = dict[str, tuple[Any, dict[str, Any], dict[str, Any]]]


def data_sets_of(
    truths: Sequence[NamedFile],
    models: Sequence[NamedFile],
    scanning: Scanning,
    options: Mapping[str, Any],
) -> DataSets:
    """Return truth, models and options with files, by the name of the data set."""
    _refuse_incomplete(truths, models)
    data_sets: DataSets = {}
    for name, truth in truths:
        if name in data_sets:
            raise click.UsageError(f"--truth {name} is given twice")
        files = {model: scanning.scores(_fill_name(path, name)) for model, path in models}
        own = {option: _fill_name(value, name) for option, value in options.items()}
        own = {option: value for option, value in own.items() if value is not options[option]}
        data_sets[name] = scanning.truth(_fill_name(truth, name)), files, own
    return data_sets


def _refuse_incomplete(truths: Sequence[NamedFile], models: Sequence[NamedFile]) -> None:
    """Refuse truths without models, models without truths, and models of one name or one file."""
    if not truths or not models:
        lacking = "--model" if truths else "--truth"
        raise click.UsageError(f"{lacking} is missing; expected data sets and models by name")
    for name, n in Counter(name for name, _ in models).items():
        if n > 1:
            raise click.UsageError(f"--model {name} is given twice")
    for name, path in models:
        if len(truths) > 1 and PLACE not in str(path):
            text = f"--model {name}={path} is one file for {len(truths)} data sets"
            raise click.UsageError(f"{text}; write {PLACE} in place of their names")


def _fill_name(value: Any, name: str) -> Any:
    """Return a value with the name of a data set in the path that it may be."""
    if isinstance(value, Scan):
        path = _fill_name(value.path, name)
        return value if path is value.path else replace(value, path=path)
    if isinstance(value, TrainingLabels):
        labels = _fill_name(value.labels, name)
        return value if labels is value.labels else replace(value, labels=labels)
    if not is_file(value) or PLACE not in str(value):
        return value
    path = str(value).replace(PLACE, name)
    return path if isinstance(value, str) else as_path(path)  # a text may name a column, too


def list_data_set_files(truths: Iterable[NamedFile], models: Iterable[NamedFile]) -> list[Path]:
    """Return the files of all data sets."""
    files = list[Path]()
    for name, truth in truths:
        files.append(_fill_name(truth, name))
        files += [_fill_name(path, name) for _, path in models]
    return files


def command_line_options(names: Iterable[str]) -> list[str]:
    """Return the options of the current command that were given, among some names."""
    context = click.get_current_context()
    return [
        name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]
