"""Results that were written as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
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
NUMBERS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # what JSON has no numbers for
EXPECTED = "expected results as `xmleval evaluate --format json` writes them"
TYPES: dict[str, tuple[Any, str]] = {  # of members of a report, and what messages call them
    **dict.fromkeys(("conventions", "groups", "row_groups", "not_computed"), (dict, "an object")),
    **dict.fromkeys(("exclude", "candidates"), (dict, "an object")),
    **dict.fromkeys(("decision", "hierarchy"), (str, "a text")),
    "propensity": (dict | str, "an object or a text"),
    "higher_is_better": (bool, "true or false"),
    "confidence_level": (float, "a number between 0 and 1"),
    "notes": (list, "a list of texts"),
}


def read_results(source: Path | dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of each `Report` in a file, or in what is there, by name; one alone has none."""
    if isinstance(source, dict):
        return _arguments_of(source)
    try:
        with InputFile(source).open() as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MiB; {EXPECTED}")
        return _arguments_of(parse_json(text.decode("utf-8-sig")))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{source}: not JSON ({error}); {EXPECTED}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{source}: {error}") from None


def _arguments_of(contents: object) -> dict[str, dict[str, Any]]:
    members: dict[str, Any] = contents if isinstance(contents, dict) else {}
    if {"average_ranks", "rankings"} & members.keys():
        raise ValueError(f"a ranking of models, and no results; {EXPECTED}")
    if not {"values", "reports"} & members.keys():
        raise ValueError(f"JSON without 'values' or 'reports'; {EXPECTED}")
    version = _count(members.get("schema"), "'schema'")
    if version != SCHEMA:
        writer = "a later version" if version > SCHEMA else "an earlier version"
        raise ValueError(f"results of schema {version}, written by {writer}; this one reads {SCHEMA}")
    reports = _object(members.get("reports", {"": members}), "'reports'")
    if not reports:
        raise ValueError(f"'reports' is empty; {EXPECTED}")
    return {n: _report(_object(each, repr(n)), f"{n}: " if n else "") for n, each in reports.items()}


def _report(contents: dict[str, Any], where: str) -> dict[str, Any]:
    members = {name: contents[name] for name in TYPES if contents.get(name) is not None}
    for name, member in members.items():
        if not isinstance(member, TYPES[name][0]):
            raise _refusal(member, f"{where}{name!r}", TYPES[name][1])
    if isinstance(members.get("propensity"), dict):
        members["constants"] = members.pop("propensity")
    notes = members.get("notes", [])
    sizes = {size: _count(contents.get(size), f"{where}{size!r}") for size in ("n_rows", "n_labels")}
    results, ranges = _results(contents, where), []
    for kind in ("groups", "row_groups"):
        for name, member in members.pop(kind, {}).items():
            group, path = _object(member, f"{where}{kind}: {name!r}"), f"{where}{kind}: {name}: "
            size = [_count(group.get(size, n), f"{path}{size!r}") for size, n in sizes.items()]
            getattr(results, kind)[name] = Part(_results(group, path), *size)
            ranges += [group.get("training_rows")] if kind == "groups" else []
            if group.get("shares"):
                results.shares[name] = Part(_results({"values": group["shares"]}, path), *size)
    conventions, pairs = members.pop("conventions", {}), ("exclude", "candidates")
    excluded = {name: members.pop(name) for name in pairs if name in members}
    fields = conventions.keys() & Conventions.__dataclass_fields__
    return {
        **members,
        **sizes,
        "results": results,
        "specs": tuple([spec for name in results.values if (spec := known_spec(name)) is not None]),
        "conventions": Conventions(**{name: conventions[name] for name in fields}),
        "weighted": contents.get("sample_weight") is not None,
        "excluded": excluded,
        "group_ranges": [] if None in ranges else ranges,
        "notes": _texts(notes, f"{where}'notes'"),
    }


def _results(contents: dict[str, Any], where: str) -> Results:
    members = dict[str, dict[str, Any]]()
    for kind, read in READERS.items():
        pairs = _object(contents.get(kind), f"{where}{kind!r}", required=kind == "values").items()
        members[kind] = {name: read(value, f"{where}{kind}: {name}") for name, value in pairs}
    pairs = members.pop("values").items()
    values = distinct_names((str(known_spec(name) or name), value) for name, value in pairs)
    errors, ends, tied = (members.pop(kind) for kind in ("standard_errors", "confidence", "tied_rows"))
    shared = [name for name in ends if name in values and name in errors]
    halves = {name: max(abs(end - values[name]) for end in ends[name]) for name in shared}
    estimates = {n: Estimate(ends[n][0], ends[n][1], halves[n], errors[n], 0) for n in shared}
    return Results(values, **members, tied=tied, estimates=estimates)


def known_spec(name: str) -> Spec | None:
    """Return the measure of a name, None for one that this version does not have."""
    try:
        return parse_spec(name)
    except ValueError:
        return None


def _refusal(value: object, name: str, expected: str) -> ValueError:
    """Return the error of an invalid value."""
    text = json.dumps(value, default=str)
    return ValueError(f"{name} is {text if len(text) <= 40 else f'{text[:40]}...'}; expected {expected}")


def _object(value: object, name: str, required: bool = False) -> dict[str, Any]:
    """Return an object, an empty one if it is null or not there, unless it is required."""
    if value is None and not required:
        return {}
    if not isinstance(value, dict):
        raise _refusal(value, name, "an object")
    return value


def _texts(value: list[object], name: str) -> list[object]:
    if not all(isinstance(text, str) for text in value):
        raise _refusal(value, name, "texts")
    return value


def _count(value: object, name: str) -> int:
    if type(value) is int and value >= 0:
        return value
    raise _refusal(value, name, "a whole number")


def _number(value: object, name: str) -> float:
    if isinstance(value, str | None) and value in NUMBERS:
        return NUMBERS[value]
    if (type(value) is int or type(value) is float) and abs(value) <= 1e308:
        return float(value)
    raise _refusal(value, name, "a number, or null if it is undefined")


def _ends(value: object, name: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise _refusal(value, name, "two numbers")
    lower, upper = value
    return _number(lower, name), _number(upper, name)


def _bins(value: object, name: str) -> Reliability:
    names = Reliability._fields
    if not isinstance(value, dict) or not all(isinstance(value.get(column), list) for column in names):
        raise _refusal(value, name, f"lists {', '.join(names)}")
    return Reliability(*(np.array([_number(x, name) for x in value[column]]) for column in names))


READERS: dict[str, Callable[[Any, str], Any]] = {  # of results, by what each value is read with
    **dict.fromkeys(("values", "thresholds", "standard_errors", "tied_rows"), _number),
    **dict.fromkeys(("intervals", "confidence"), _ends),
    **dict.fromkeys(("undefined_rows", "undefined_labels"), _count),
    "reliability": _bins,
}
