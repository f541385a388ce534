"""Reading of results in JSON."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.conventions import Conventions
from xmleval.files.input import InputFile
from xmleval.files.saved import distinct_names, parse_json
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.results import Part, Reliability, Results
from xmleval.statistics.jackknife import Estimate
from xmleval.version import SCHEMA

MOST_BYTES = 1 << 26
NUMBERS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # by their values in JSON
EXPECTED = "expected results as `xmleval evaluate --format json` writes them"
TYPES: dict[str, tuple[Any, str]] = {  # of members of a report, with their names in messages
    **dict.fromkeys(("conventions", "groups", "row_groups", "not_computed"), (dict, "an object")),
    **dict.fromkeys(("exclude", "candidates"), (dict, "an object")),
    **dict.fromkeys(("decision", "hierarchy"), (str, "a text")),
    "propensity": (dict | str, "an object or a text"),
    "higher_is_better": (bool, "true or false"),
    "confidence_level": (float, "a number between 0 and 1"),
    "notes": (list, "a list of texts"),
}


def read_results(source: Path | dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of `Report`, by its name, from a file or from its contents.

    A single report has the name "".
    """
    if isinstance(source, dict):
        return _arguments_of(source)
    with naming_file(source):
        return _arguments_of(read_contents(source))


@contextlib.contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Put the name of a file in front of errors on what it holds."""
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        text = str(error)
        if text.startswith(f"{path}: "):
            raise
        raise ValueError(f"{path}: {text}") from None


def read_contents(path: Path) -> dict[str, Any]:
    """Return the JSON of a file of results, or refuse what is no object."""
    with naming_file(path):
        try:
            with InputFile(path).open() as file:
                text = file.read(MOST_BYTES + 1)
            if len(text) > MOST_BYTES:
                raise ValueError(f"more than {MOST_BYTES >> 20} MiB; {EXPECTED}")
            contents = parse_json(text.decode("utf-8-sig"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"not JSON ({error}); {EXPECTED}") from None
    return contents if isinstance(contents, dict) else {}


def _arguments_of(members: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of the reports in the contents of a file, by name."""
    if "data_sets" in members:
        raise ValueError("results of several data sets; expected those of one")
    if {"average_ranks", "rankings"} & members.keys():
        raise ValueError(f"a ranking of models, and no results; {EXPECTED}")
    if "trend" in members:
        raise ValueError(f"a trend over days, and no results; {EXPECTED}")
    if not {"values", "reports"} & members.keys():
        raise ValueError(f"JSON without 'values' or 'reports'; {EXPECTED}")
    version = _count(members.get("schema"), "'schema'")
    if version != SCHEMA:
        writer = "a later version" if version > SCHEMA else "an earlier version"
        raise ValueError(
            f"results of schema {version}, written by {writer}; this one reads {SCHEMA}"
        )
    reports = _object(members.get("reports", {"": members}), "'reports'")
    if not reports:
        raise ValueError(f"'reports' is empty; {EXPECTED}")
    arguments = {}
    for name, report in reports.items():
        where = f"{name}: " if name else ""
        arguments[name] = _report(_object(report, repr(name)), where)
    return arguments


def _report(contents: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the arguments of a report."""
    members = _typed_members(contents, where)
    if isinstance(members.get("propensity"), dict):
        members["constants"] = members.pop("propensity")
    notes = members.get("notes", [])
    sizes = {
        size: _count(contents.get(size), f"{where}{size!r}") for size in ("n_rows", "n_labels")
    }
    results = _results(contents, where)
    label_groups = members.pop("groups", {})
    _read_groups("groups", label_groups, sizes, results, where)
    _read_groups("row_groups", members.pop("row_groups", {}), sizes, results, where)
    ranges = [group.get("training_rows") for group in label_groups.values()]
    conventions = members.pop("conventions", {})
    fields = conventions.keys() & Conventions.__dataclass_fields__
    excluded = {name: members.pop(name) for name in ("exclude", "candidates") if name in members}
    specs = map(known_spec, results.values)
    return {
        **members,
        **sizes,
        "results": results,
        "specs": tuple([spec for spec in specs if spec is not None]),
        "conventions": Conventions(**{name: conventions[name] for name in fields}),
        "weighted": contents.get("sample_weight") is not None,
        "excluded": excluded,
        "group_ranges": [] if None in ranges else ranges,
        "notes": _texts(notes, f"{where}'notes'"),
    }


def _typed_members(contents: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the members of a report that are not null, and refuse those of other types."""
    members = {name: contents[name] for name in TYPES if contents.get(name) is not None}
    for name, member in members.items():
        expected_type, expected = TYPES[name]
        if not isinstance(member, expected_type):
            raise _refusal(member, f"{where}{name!r}", expected)
    return members


def _read_groups(
    kind: str, members: dict[str, Any], sizes: dict[str, int], results: Results, where: str
) -> None:
    """Add the results of groups of a kind, and of their shares, to those of all."""
    groups = getattr(results, kind)
    for name, member in members.items():
        group = _object(member, f"{where}{kind}: {name!r}")
        path = f"{where}{kind}: {name}: "
        size = [_count(group.get(key, n), f"{path}{key!r}") for key, n in sizes.items()]
        groups[name] = Part(_results(group, path), *size)
        if group.get("shares"):
            results.shares[name] = Part(_results({"values": group["shares"]}, path), *size)


def _results(contents: dict[str, Any], where: str) -> Results:
    """Return the results of a report or of a group."""
    members = dict[str, dict[str, Any]]()
    for kind, read in READERS.items():
        by_name = _object(contents.get(kind), f"{where}{kind!r}", required=kind == "values")
        members[kind] = {
            name: read(value, f"{where}{kind}: {name}") for name, value in by_name.items()
        }
    pairs = members.pop("values").items()
    values = distinct_names((str(known_spec(name) or name), value) for name, value in pairs)
    errors = members.pop("standard_errors")
    intervals = members.pop("confidence")
    tied = members.pop("tied_rows")
    estimates = dict[str, Estimate]()
    for name, (lower, upper) in intervals.items():
        if name in values and name in errors:
            estimates[name] = make_estimate(values[name], (lower, upper), errors[name])
    return Results(values, **members, tied=tied, estimates=estimates)


def make_estimate(value: float, ends: tuple[float, float], error: float) -> Estimate:
    """Return the interval and the standard error of a value; JSON has no number of groups."""
    half_width = max(abs(end - value) for end in ends)
    return Estimate(*ends, half_width, error, 0)


def known_spec(name: str) -> Spec | None:
    """Return the measure of a name, or None if this version does not have it."""
    try:
        return parse_spec(name)
    except ValueError:
        return None


def _refusal(value: object, name: str, expected: str) -> ValueError:
    """Return the error of an invalid value."""
    text = json.dumps(value, default=str)
    if len(text) > 40:
        text = f"{text[:40]}..."
    return ValueError(f"{name} is {text}; expected {expected}")


def _object(value: object, name: str, required: bool = False) -> dict[str, Any]:
    """Return an object, or an empty one for null or a missing value that is not required."""
    if value is None and not required:
        return {}
    if not isinstance(value, dict):
        raise _refusal(value, name, "an object")
    return value


def _texts(value: list[object], name: str) -> list[object]:
    """Return a list of texts, or refuse it."""
    if not all(isinstance(text, str) for text in value):
        raise _refusal(value, name, "texts")
    return value


def _count(value: object, name: str) -> int:
    """Return a whole number from 0, or refuse it."""
    if type(value) is int and value >= 0:
        return value
    raise _refusal(value, name, "a whole number")


def read_saved_number(value: object, name: str) -> float:
    """Return a number, or refuse it; null is NaN, and infinite numbers are texts."""
    if isinstance(value, str | None) and value in NUMBERS:
        return NUMBERS[value]
    if (type(value) is int or type(value) is float) and abs(value) <= 1e308:
        return float(value)
    raise _refusal(value, name, "a number, or null if it is undefined")


def _ends(value: object, name: str) -> tuple[float, float]:
    """Return the two ends of an interval, or refuse them."""
    if not isinstance(value, list) or len(value) != 2:
        raise _refusal(value, name, "two numbers")
    lower, upper = value
    return read_saved_number(lower, name), read_saved_number(upper, name)


def _bins(value: object, name: str) -> Reliability:
    """Return the bins of a measure of calibration, or refuse them."""
    names = Reliability._fields
    columns = dict[str, Any]()
    if isinstance(value, dict):
        columns = {column: value.get(column) for column in names}
    if not columns or not all(isinstance(column, list) for column in columns.values()):
        raise _refusal(value, name, f"lists {', '.join(names)}")
    arrays = [
        np.array([read_saved_number(number, name) for number in column])
        for column in columns.values()
    ]
    return Reliability(*arrays)


READERS: dict[str, Callable[[Any, str], Any]] = {  # of the values of results, by kind
    **dict.fromkeys(("values", "thresholds", "standard_errors", "tied_rows"), read_saved_number),
    **dict.fromkeys(("intervals", "confidence"), _ends),
    **dict.fromkeys(("undefined_rows", "undefined_labels"), _count),
    "reliability": _bins,
}
