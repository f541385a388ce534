"""Results that were written as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
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
NUMBERS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # what JSON has no numbers for
EXPECTED = "expected results as `xmleval evaluate --format json` writes them"


def read_results(source: Path | dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of each `Report` in a file, or in what is there, by name; one alone has none."""
    if isinstance(source, dict):
        return _arguments_of(source)
    try:
        return _arguments_of(_parsed(source))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{source}: {error}") from None


def _arguments_of(contents: Any) -> dict[str, dict[str, Any]]:
    names = contents.keys() if isinstance(contents, dict) else frozenset[str]()
    if {"average_ranks", "rankings"} & names:
        raise ValueError(f"a ranking of models, and no results; {EXPECTED}")
    if not {"values", "reports"} & names:
        raise ValueError(f"JSON without 'values' or 'reports'; {EXPECTED}")
    version = _count(contents.get("schema"), "'schema'")
    if version != SCHEMA:
        writer = "a later version" if version > SCHEMA else "an earlier version"
        raise ValueError(f"results of schema {version}, written by {writer}; this one reads {SCHEMA}")
    if "reports" not in contents:
        return {"": _report(contents, "")}
    reports = _object(contents, "reports", "", required=True)
    if not reports:
        raise ValueError(f"'reports' is empty; {EXPECTED}")
    return {name: _report(_object(reports, name, "", required=True), f"{name}: ") for name in reports}


def _parsed(path: Path) -> Any:
    with InputFile(path).open() as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB; {EXPECTED}")
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ValueError(f"not text in UTF-8; {EXPECTED}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON ({error.msg}); {EXPECTED}") from None
    except RecursionError:
        raise ValueError(f"nested without end; {EXPECTED}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{_shown(name)} is there twice")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; an undefined value is null")


def _report(contents: dict[str, Any], where: str) -> dict[str, Any]:
    sizes = {size: _count(contents.get(size), f"{where}{size!r}") for size in ("n_rows", "n_labels")}
    conventions = _object(contents, "conventions", where)
    results = _results(contents, where)
    for kind in ("groups", "row_groups"):
        groups = _object(contents, kind, where)
        for name in groups:
            group, path = _object(groups, name, f"{where}{kind}: ", True), f"{where}{kind}: {name}: "
            size = [_count(group.get(size, n), f"{path}{size!r}") for size, n in sizes.items()]
            getattr(results, kind)[name] = Part(_results(group, path), *size)
            if group.get("shares"):
                results.shares[name] = Part(_results({"values": group["shares"]}, path), *size)
    ranges = [group.get("training_rows") for group in (contents.get("groups") or {}).values()]
    texts = {name: _member(contents, name, where, str | None, "a text") for name in ("decision", "hierarchy")}
    propensity = _member(contents, "propensity", where, dict | str | None, "an object or a text")
    level = contents.get("confidence_level")
    higher = _member(contents, "higher_is_better", where, bool | None, "true or false")
    notes = _member(contents, "notes", where, list | None, "a list of texts") or []
    is_model = isinstance(propensity, dict)
    return {
        "results": results,
        "specs": tuple([spec for name in results.values if (spec := known_spec(name)) is not None]),
        "conventions": Conventions(
            **{f.name: conventions[f.name] for f in fields(Conventions) if f.name in conventions}
        ),
        **sizes,
        "constants": propensity if is_model else {},
        "not_computed": _object(contents, "not_computed", where),
        "weighted": contents.get("sample_weight") is not None,
        "excluded": {n: pairs for n in ("exclude", "candidates") if (pairs := _object(contents, n, where))},
        "propensity": None if is_model else propensity,
        "higher_is_better": higher is not False,
        "group_ranges": [] if None in ranges else ranges,
        "notes": [_member({"notes": note}, "notes", where, str, "texts") for note in notes],
        "confidence_level": None if level is None else _number(level, f"{where}'confidence_level'"),
        **texts,
    }


def _results(contents: dict[str, Any], where: str) -> Results:
    members: dict[str, dict[str, Any]] = {
        kind: {
            name: read(value, f"{where}{kind}: {name}")
            for name, value in _object(contents, kind, where, kind == "values").items()
        }
        for kind, read in MEMBERS.items()
    }
    values: dict[str, float] = {}
    for name, value in members["values"].items():
        canonical = str(known_spec(name) or name)  # that of a later measure as it is
        if canonical in values:
            raise ValueError(f"{where}{_shown(name)} is there twice, also as {canonical!r}")
        values[canonical] = value
    errors, ends = members.pop("standard_errors"), members.pop("confidence")
    estimates = {
        name: Estimate(lower, upper, max(values[name] - lower, upper - values[name]), errors[name], 0)
        for name, (lower, upper) in ends.items()
        if name in values and name in errors
    }
    return Results(**members | {"values": values, "estimates": estimates})


def known_spec(name: str) -> Spec | None:
    """Return the measure of a name, None for one that this version does not have."""
    try:
        return parse_spec(name)
    except ValueError:
        return None


def _object(contents: dict[str, Any], name: str, where: str, required: bool = False) -> dict[str, Any]:
    """Return a member that is an object, an empty one if it is null or not there."""
    return _member(contents, name, where, dict if required else dict | None, "an object") or {}


def _member(contents: dict[str, Any], name: str, where: str, kind: Any, expected: str) -> Any:
    """Return a member of some type, None where there is none."""
    member = contents.get(name)
    if not isinstance(member, kind):
        raise ValueError(f"{where}{name!r} is {_shown(member)}; expected {expected}")
    return member


def _count(number: Any, name: str) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{name} is {_shown(number)}; expected a whole number")
    return number


def _ends(pair: Any, name: str) -> tuple[float, float]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError(f"{name} is {_shown(pair)}; expected two numbers")
    return _number(pair[0], name), _number(pair[1], name)


def _bins(columns: Any, name: str) -> Reliability:
    if not isinstance(columns, dict) or not all(
        isinstance(columns.get(n), list) for n in Reliability._fields
    ):
        raise ValueError(f"{name} is {_shown(columns)}; expected lists {', '.join(Reliability._fields)}")
    return Reliability(*(np.array([_number(x, name) for x in columns[n]]) for n in Reliability._fields))


def _number(value: Any, name: str) -> float:
    if isinstance(value, str | None) and value in NUMBERS:
        return NUMBERS[value]
    if type(value) not in (int, float) or abs(value) > 1e308:
        raise ValueError(f"{name} is {_shown(value)}; expected a number, or null if it is undefined")
    return float(value)


MEMBERS: dict[str, Callable[[Any, str], Any]] = {  # of results, and how a value of each is read
    "values": _number,
    "intervals": _ends,
    "confidence": _ends,
    "standard_errors": _number,
    "thresholds": _number,
    "undefined_rows": _count,
    "undefined_labels": _count,
    "reliability": _bins,
}


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:40]}..."
