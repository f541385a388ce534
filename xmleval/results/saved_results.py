"""Results that were written as JSON."""

from __future__ import annotations

import contextlib
import glob
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.conventions import Conventions
from xmleval.files.input import InputFile
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.results import Part, Reliability, Results
from xmleval.statistics.jackknife import Estimate
from xmleval.version import SCHEMA

MOST_BYTES = 1 << 26
OF_DATA = ("n_rows", "n_labels")
NUMBERS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # what JSON has no numbers for
SEVERAL = "expected `xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
EXPECTED = "expected results as `xmleval evaluate --format json` writes them"


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Read the JSON of one report or of several.

    Parameters
    ----------
    path : Path
        File that `Report.to_json`, that of several reports or the command line wrote.

    Returns
    -------
    dict of str to dict
        Arguments of each `Report` by its name, in the order of the file; those of a report alone by ``""``.

    Raises
    ------
    ValueError
        If the file holds anything else, a name twice, or results of another version of the schema; the
        message names the file.
    """
    with naming_file(path):
        return arguments_of(_parsed(path))


def arguments_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of the reports that JSON values hold; see `read_results`."""
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


def _report(found: dict[str, Any], where: str) -> dict[str, Any]:
    for name in OF_DATA:
        if type(found.get(name)) is not int or found[name] < 0:
            raise ValueError(f"{where}{name!r} is {_shown(found.get(name))}; expected a whole number")
    conventions = _optional(found, "conventions", where)
    known = {one.name: conventions[one.name] for one in fields(Conventions) if one.name in conventions}
    groups, row_groups = (_optional(found, kind, where) for kind in ("groups", "row_groups"))
    results = _results(found, where)
    results.groups = _parts(found, groups, "groups", "values", where)
    shares = {
        name: group for name, group in groups.items() if isinstance(group, dict) and group.get("shares")
    }
    results.shares = _parts(found, shares, "groups", "shares", where)
    results.row_groups = _parts(found, row_groups, "row_groups", "values", where)
    ranges = [group.get("training_rows") for group in groups.values()]
    propensity = found.get("propensity")
    return dict(  # noqa: C408
        results=results,
        specs=tuple([spec for name in results.values if (spec := known_spec(name)) is not None]),
        conventions=Conventions(**known),
        n_rows=found["n_rows"],
        n_labels=found["n_labels"],
        decision=found.get("decision"),
        constants=propensity if isinstance(propensity, dict) else {},
        not_computed=_optional(found, "not_computed", where),
        weighted=found.get("sample_weight") is not None,
        excluded={name: found[name] for name in ("exclude", "candidates") if found.get(name) is not None},
        propensity=None if isinstance(propensity, dict) else propensity,
        hierarchy=found.get("hierarchy"),
        confidence_level=found.get("confidence_level"),
        higher_is_better=found.get("higher_is_better", True),
        group_ranges=[] if None in ranges else ranges,
        notes=[*(found.get("notes") or ())],
    )


def _parts(
    found: dict[str, Any], groups: dict[str, Any], kind: str, values: str, where: str
) -> dict[str, Part]:
    """Return the results of groups, of which ``values`` is the member that holds the values."""
    parts = {}
    for name in groups:
        group = _object(groups, name, f"{where}{kind}: ")
        sizes = [group.get(size, found[size]) for size in OF_DATA]
        named = group if values == "values" else {"values": group[values]}
        parts[name] = Part(_results(named, f"{where}{kind}: {name}: "), *sizes)
    return parts


def _results(found: dict[str, Any], where: str) -> Results:
    """Return the numbers of a report, or of a group."""
    values, errors = _values(found, where), _numbers(found, "standard_errors", where)
    estimates = {
        name: Estimate(lower, upper, max(values[name] - lower, upper - values[name]), errors[name], 0)
        for name, (lower, upper) in _ends(found, "confidence", where).items()
        if name in values and name in errors
    }
    bins = _optional(found, "reliability", where)
    return Results(
        values=values,
        estimates=estimates,
        intervals=_ends(found, "intervals", where),
        thresholds=_numbers(found, "thresholds", where),
        undefined_rows=_optional(found, "undefined_rows", where),
        undefined_labels=_optional(found, "undefined_labels", where),
        reliability={name: _bins(_object(bins, name, where), f"{where}{name}: ") for name in bins},
    )


def _bins(found: dict[str, Any], where: str) -> Reliability:
    columns = (_column(found.get(name), f"{where}{name}") for name in Reliability._fields)
    return Reliability(*map(np.array, columns))


def _numbers(found: dict[str, Any], kind: str, where: str) -> dict[str, float]:
    return {name: _number(value, f"{where}{name}") for name, value in _optional(found, kind, where).items()}


def _ends(found: dict[str, Any], kind: str, where: str) -> dict[str, tuple[float, float]]:
    """Return the lower and the upper end of intervals, by name."""
    ends = {}
    for name, pair in _optional(found, kind, where).items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{where}{kind}: {name} is {_shown(pair)}; expected two numbers")
        lower, upper = _column(pair, f"{where}{name}")
        ends[name] = lower, upper
    return ends


def known_spec(name: str) -> Spec | None:
    """Return the measure of a name, None for one that this version does not have."""
    try:
        return parse_spec(name)
    except ValueError:
        return None


def _values(found: dict[str, Any], where: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, value in _object(found, "values", where).items():
        canonical = str(known_spec(name) or name)  # that of a later measure as it is
        if canonical in values:
            raise ValueError(f"{where}{_shown(name)} is there twice, also as {canonical!r}")
        values[canonical] = _number(value, f"{where}{name}")
    return values


def _optional(found: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    """Return an object, an empty one if it is not there."""
    return {} if found.get(name) is None else _object(found, name, where)


def _object(found: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    held = found.get(name)
    if not isinstance(held, dict):
        raise ValueError(f"{where}{name!r} is {_shown(held)}; expected an object")
    return held


def _column(values: Any, name: str) -> list[float]:
    if not isinstance(values, list):
        raise ValueError(f"{name} is {_shown(values)}; expected a list of numbers")
    return [_number(value, name) for value in values]


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
