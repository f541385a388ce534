"""Reports of results in memory or in files: JSON, or saved evaluators."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xmleval.base.errors import InputError, shown
from xmleval.files.input import InputFile
from xmleval.files.remote import RemotePath, as_path
from xmleval.files.saved import is_state
from xmleval.results.report import Report, load_results

if TYPE_CHECKING:
    from xmleval.evaluation.evaluator import Evaluator
    from xmleval.input.argument_types import FilePath

# anything that contains a report, or several by name
ResultsLike: TypeAlias = "Evaluator | Mapping[str, object] | FilePath"
FORMS = "give a report, a dict of reports, an evaluator, a dict from to_dict(), or a path"
ARCHIVE_START = b"PK\x03\x04"  # first bytes of a saved evaluator
ENDINGS = (".json", ".state")  # of files of results in a folder
FIRST_BYTES = 1 << 12  # that show whether JSON is of results
FIRST_MEMBER = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(schema|reports|values)"\s*:')


def load_reports(argument: str, value: object) -> tuple[str, Mapping[str, Report]]:
    """Return the name of results for messages, and the reports by name.

    The name of a report alone is ``""``.
    """
    if isinstance(value, str | os.PathLike):
        path = as_path(value)
        value = load_file(path)
        argument = str(path)
    return argument, _reports_by_name(argument, value)


def _reports_by_name(argument: str, value: object) -> Mapping[str, Report]:
    """Return the reports of results by name, or refuse anything else."""
    if hasattr(value, "compute"):  # an evaluator
        value = value.compute()
    if isinstance(value, Report):
        return {"": value}
    reports = getattr(value, "reports", value)
    if not isinstance(reports, Mapping):
        raise InputError(argument, f"{type(value).__name__} is not a result; {FORMS}")
    if not any(isinstance(report, Report) for report in reports.values()):
        try:
            reports = load_results(json.loads(json.dumps(reports)))
        except (TypeError, ValueError) as error:
            raise InputError(argument, f"{error}; {FORMS}") from None
    for name, report in reports.items():
        if not isinstance(report, Report):
            raise InputError(
                argument, f"{shown(name)} is of type {type(report).__name__}, not a report"
            )
    return reports


def load_file(path: Path) -> Evaluator | Mapping[str, Report]:
    """Return the evaluator or the results that a file contains."""
    if not _first_bytes(path).startswith(ARCHIVE_START):
        return load_results(path)
    from xmleval.evaluation.evaluator import Evaluator  # only here: slow to import

    return Evaluator.load(path)


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file; of an empty one none, which is refused as results."""
    with contextlib.suppress(ValueError), InputFile(path).open() as file:
        start: bytes = file.read(FIRST_BYTES)
        return start
    return b""


def holds_results(path: Path) -> bool:
    """Return whether a file, or the first of a folder or pattern, is JSON of results or a state."""
    files = [path] if isinstance(path, RemotePath) else _match_files(path)
    try:
        start = _first_bytes(files[0]) if files else b""
    except OSError:  # raised again where it is read
        return False
    if start.startswith(ARCHIVE_START):
        return is_state(files[0])
    return b'"schema"' in start and FIRST_MEMBER.match(start) is not None


def files_by_name(argument: str, paths: Iterable[FilePath]) -> dict[str, Path]:
    """Return files of results by their names without ending, with folders only if needed.

    A folder stands for its .json and .state files, and a pattern for all files that match, in the
    order of the numbers in their names.
    """
    files = list[Path]()
    for path in map(as_path, paths):
        matching = _match_files(path)
        if not matching:
            text = f"{path}: no such file; give JSON of results, or saved states"
            raise InputError(argument, text)
        files += matching
    for file, n in Counter(file.resolve() for file in files).items():
        if n > 1:
            raise InputError(argument, f"{file.name} is given twice; expected different files")
    names = [file.stem for file in files]
    if len({*names}) < len(names):
        names = [str(file.with_suffix("")) for file in files]
    by_name = dict[str, Path]()
    for name, file in zip(names, files, strict=True):
        earlier = by_name.setdefault(name, file)
        if earlier != file:
            text = f"{earlier} and {file.name} have the same name; give one of them, or a pattern"
            raise InputError(argument, text)
    return by_name


def _match_files(path: Path) -> list[Path]:
    """Return the files of a folder or a pattern in order, or else the path itself."""
    is_folder = path.is_dir()
    is_pattern = not path.exists() and glob.escape(str(path)) != str(path)
    if not is_folder and not is_pattern:
        return [path]
    from xmleval.input.shards import in_order  # imports all formats

    if is_folder:
        return sorted((file for file in path.iterdir() if file.suffix in ENDINGS), key=in_order)
    return sorted(map(Path, glob.glob(str(path))), key=in_order)
