"""Results that were written as JSON."""

from __future__ import annotations

import contextlib
import glob
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from xmleval.conventions import Conventions
from xmleval.files.input import InputFile
from xmleval.spec import Spec, parse_spec
from xmleval.version import SCHEMA

MOST_BYTES = 1 << 26
OF_DATA = ("n_rows", "n_labels")
BESIDE = ("decision", "higher_is_better", "propensity", "hierarchy", "sample_weight", "exclude", "candidates")
NUMBERS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # what JSON has no numbers for
KINDS = ("groups", "row_groups")  # of parts that have values of their own
SHARES = "shares"
SEVERAL = "expected `xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
EXPECTED = "expected results as `xmleval evaluate --format json` writes them"


class SavedPart(NamedTuple):
    """Values within a group by canonical name, and what tells that two groups are not the same."""

    values: dict[str, float]
    sizes: dict[str, Any]


@dataclass(frozen=True)
class SavedReport:
    """One report of a file.

    Parameters
    ----------
    values : dict of str to float
        Values by canonical name; NaN if undefined.
    n_rows, n_labels : int
        Size of the truth.
    settings : dict
        What affects values: the fields of `Conventions`, ``decision``, ``higher_is_better``, ``propensity``,
        ``hierarchy``, ``sample_weight``, ``exclude`` and ``candidates``, as in the file; those that it lacks
        have the value that they had before.
    parts : dict of str to SavedPart
        Groups by the names of their columns in CSV: "groups tail", "shares tail", "row_groups en".
    """

    values: dict[str, float]
    n_rows: int
    n_labels: int
    settings: dict[str, Any]
    parts: dict[str, SavedPart] = field(default_factory=dict)

    def column(self, group: str) -> str | None:
        """Return the column of a group, by its name or that of the column; None if there is none."""
        if group in self.parts:
            return group
        found = [own for own in (f"{kind} {group}" for kind in KINDS) if own in self.parts]
        if len(found) > 1:
            raise ValueError(f"{group!r} is a group of labels and one of rows; expected {' or '.join(found)}")
        return next(iter(found), None)

    def shown(self, column: str) -> str:
        """Return the name of a group, or its column where the name is not enough."""
        kind, _, group = column.partition(" ")
        other = any(f"{one} {group}" in self.parts for one in KINDS if one != kind)
        return column if other or group in self.parts or kind == SHARES else group

    def values_of(self, column: str) -> dict[str, float]:
        """Return the values within a group, and those of the whole without a name."""
        return self.parts[column].values if column else self.values

    def spec(self, name: str) -> Spec:
        """Return the measure of a value, or refuse one that this version does not have."""
        try:
            return parse_spec(name)
        except ValueError:
            raise ValueError(f"{name!r} is not a measure of this version of xmleval") from None

    def direction(self, name: str) -> str:
        """Return which values of a measure are better: "up", "down" or "none"."""
        return self.spec(name).metric.direction


def load_results(path: Path) -> dict[str, SavedReport]:
    """Read the JSON of one report or of several.

    Parameters
    ----------
    path : Path
        File that `Report.to_json`, that of several reports or the command line wrote.

    Returns
    -------
    dict of str to SavedReport
        Reports by name, in the order of the file; a report alone, which has none, by ``""``.

    Raises
    ------
    ValueError
        If the file holds anything else, a name twice, or results of another version of the schema; the
        message names the file.
    """
    with naming_file(path):
        return reports_of(_parsed(path))


def reports_of(found: dict[str, Any]) -> dict[str, SavedReport]:
    """Return the reports that JSON values hold; see `load_results`."""
    if not {"values", "reports"} & {*found}:
        raise ValueError(f"JSON without 'values' or 'reports'; {EXPECTED}")
    version = found.get("schema")
    if type(version) is not int or version < 0:
        raise ValueError(f"'schema' is {_shown(version)}; expected a whole number")
    if version != SCHEMA:
        writer = "a later version" if version > SCHEMA else "an earlier version"
        raise ValueError(f"results of schema {version}, written by {writer}; this one reads {SCHEMA}")
    if "reports" not in found:
        return {"": _report(found, "")}
    reports = _object(found, "reports", "")
    if not reports:
        raise ValueError(f"'reports' is empty; {EXPECTED}")
    return {name: _report(_object(reports, name, ""), f"{name}: ") for name in reports}


@contextlib.contextmanager
def naming_file(path: object) -> Iterator[None]:
    """Name a file, or what was given in its place, in whatever goes wrong with it."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parsed(path: Path) -> dict[str, Any]:
    with InputFile(path).open() as file:
        held = file.read(MOST_BYTES + 1)
    if len(held) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB; {EXPECTED}")
    try:
        text = held.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ValueError(f"not text in UTF-8; {EXPECTED}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON ({error.msg}); {EXPECTED}") from None
    except RecursionError:
        raise ValueError(f"nested without end; {EXPECTED}") from None
    if not isinstance(found, dict):
        raise ValueError(f"JSON without 'values' or 'reports'; {EXPECTED}")
    return found


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{_shown(next(name for name in names if names.count(name) > 1))} is there twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; an undefined value is null")


def _report(found: dict[str, Any], where: str) -> SavedReport:
    for name in OF_DATA:
        if type(found.get(name)) is not int or found[name] < 0:
            raise ValueError(f"{where}{name!r} is {_shown(found.get(name))}; expected a whole number")
    settings = Conventions().as_dict() | _object({"conventions": {}} | found, "conventions", where)
    parts = {}
    for kind in KINDS:
        groups = _object({kind: found.get(kind) or {}}, kind, where)
        for name in groups:
            told = f"{where}{kind}: {name}: "
            group = _object(groups, name, f"{where}{kind}: ")
            sizes = {size: group.get(size) for size in (*OF_DATA, "training_rows")}
            parts[f"{kind} {name}"] = SavedPart(_values(group, "values", told), sizes)
            if group.get(SHARES):
                parts[f"{SHARES} {name}"] = SavedPart(_values(group, SHARES, told), sizes)
    return SavedReport(
        _values(found, "values", where),
        found["n_rows"],
        found["n_labels"],
        settings | {name: found.get(name) for name in BESIDE},
        parts,
    )


def _values(found: dict[str, Any], kind: str, where: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, value in _object(found, kind, where).items():
        canonical = _canonical(name)
        if canonical in values:
            raise ValueError(f"{where}{_shown(name)} is there twice, also as {canonical!r}")
        values[canonical] = _number(value, f"{where}{name}")
    return values


def _canonical(name: str) -> str:
    """Return the name of a measure as this version spells it; names of later measures as they are."""
    try:
        return str(parse_spec(name))
    except ValueError:
        return name


def _object(found: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    held = found.get(name)
    if not isinstance(held, dict):
        raise ValueError(f"{where}{name!r} is {_shown(held)}; expected an object")
    return held


def _number(value: Any, name: str) -> float:
    if isinstance(value, str | None) and value in NUMBERS:
        return NUMBERS[value]
    if type(value) not in (int, float) or abs(value) > 1e308:
        raise ValueError(f"{name} is {_shown(value)}; expected a number, or null if it is undefined")
    return float(value)


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:40]}..."


def files_by_data_set(paths: Iterable[Path]) -> dict[str, Path]:
    """Return the files that names stand for, by the data sets: with folders only where these are needed.

    A folder stands for all of its .json files, and a pattern for those that match.
    """
    files = list[Path]()
    for path in paths:
        named = [path] if path.exists() or not glob.has_magic(str(path)) else map(Path, glob.glob(str(path)))
        matching = sorted(path.glob("*.json") if path.is_dir() else named)
        if not matching:
            raise ValueError(f"{path}: no .json file is there; {SEVERAL}")
        files += matching
    resolved = [file.resolve() for file in files]
    for place, file in enumerate(files):
        if resolved[place] in resolved[:place]:
            raise ValueError(f"{file}: given twice; expected a file for each data set")
    names = [file.stem for file in files]
    names = names if len({*names}) == len(names) else [str(file.with_suffix("")) for file in files]
    return dict(zip(names, files, strict=True))


def load_models(path: Path) -> dict[str, SavedReport]:
    """Read the reports of two or more models."""
    reports = load_results(path)
    if len(reports) < 2:
        raise ValueError(f"{path}: has one model; {SEVERAL}")
    return reports
