"""Reading of results in JSON."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.conventions import Conventions
from xmleval.base.errors import Message, own_measure, shown, shown_names
from xmleval.files.input import InputFile
from xmleval.files.saved import distinct_names, parse_json
from xmleval.input.cell_marks import RESTRICTIONS
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.results import ListLength, Part, Reliability, Results
from xmleval.statistics.jackknife import Estimate, half_width_of
from xmleval.version import SCHEMA

MOST_BYTES = 1 << 26
NUMBERS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # by their values in JSON
EXPECTED = "expected results as `xmleval evaluate --format json` writes them"
TYPES: dict[str, tuple[Any, str]] = {  # of members of a report, with their names in messages
    **dict.fromkeys(("conventions", "groups", "row_groups", "not_computed"), (dict, "an object")),
    **dict.fromkeys(RESTRICTIONS, (dict, "an object")),
    **dict.fromkeys(("decision", "hierarchy"), (str, "a text")),
    "propensity": (dict | str, "an object or a text"),
    "higher_is_better": (bool, "true or false"),
    "confidence_level": (float, "a number between 0 and 1"),
    "notes": (list, "a list of texts"),
}
UNKNOWN_HERE = "not shown, as unknown here: "  # beginning of a note
NO_RESULTS = {  # members of results of other kinds, and what these are
    "data_sets": "results of several data sets; expected those of one",
    "average_ranks": f"a ranking of models, not results; {EXPECTED}",
    "rankings": f"a ranking of models, not results; {EXPECTED}",
    "trend": f"a trend over days, not results; {EXPECTED}",
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
    """Put the name of a file in front of errors on its contents."""
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
    """Return the JSON object in a file of results, or refuse anything else."""
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
    for kind, reason in NO_RESULTS.items():
        if kind in members:
            raise ValueError(reason)
    if not {"values", "reports"} & members.keys():
        raise ValueError(f"JSON without 'values' or 'reports'; {EXPECTED}")
    refuse_other_schema(members)
    reports = _object(members.get("reports", {"": members}), "'reports'")
    if not reports:
        raise ValueError(f"'reports' is empty; {EXPECTED}")
    arguments = {}
    for name, report in reports.items():
        where = f"{name}: " if name else ""
        arguments[name] = _report(_object(report, repr(name)), where)
    return arguments


def refuse_other_schema(members: dict[str, Any]) -> None:
    """Refuse results of another version of the schema."""
    version = _count(members.get("schema"), "'schema'")
    if version != SCHEMA:
        writer = "a later version" if version > SCHEMA else "an earlier version"
        raise ValueError(
            f"results of schema {version}, written by {writer}; this one reads {SCHEMA}"
        )


@contextlib.contextmanager
def refusing_damage(member: str, writer: str) -> Iterator[None]:
    """Refuse a member of results that is not as its writer writes it, on one line."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{member!r} is not as {writer} writes it ({error!r})") from None


def _report(contents: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the arguments of a report."""
    members = _typed_members(contents, where)
    if isinstance(members.get("propensity"), dict):
        members["constants"] = members.pop("propensity")
    notes = members.get("notes", [])
    sizes = {
        size: _count(contents.get(size), f"{where}{size!r}") for size in ("n_rows", "n_labels")
    }
    level = members.get("confidence_level")
    results = _results(contents, where, level)
    label_groups = members.pop("groups", {})
    row_groups = members.pop("row_groups", {})
    for kind, groups in (("groups", label_groups), ("row_groups", row_groups)):
        parts = _read_groups(f"{where}{kind}: ", groups, sizes, level)
        getattr(results, kind).update(parts)
    results.shares.update(_read_shares(f"{where}groups: ", label_groups, sizes, level))
    ranges = [group.get("training_rows") for group in label_groups.values()]
    conventions = members.pop("conventions", {})
    fields = conventions.keys() & Conventions.__dataclass_fields__
    excluded = {name: members.pop(name) for name in RESTRICTIONS if name in members}
    specs = map(known_spec, results.values)
    notes = [note for note in _texts(notes, f"{where}'notes'") if not _is_on_unknown(note)]
    notes += notes_on_unknown(results.values)
    return {
        **members,
        **sizes,
        "results": results,
        "specs": tuple([spec for spec in specs if spec is not None]),
        "conventions": Conventions(**{name: conventions[name] for name in fields}),
        "weighted": contents.get("sample_weight") is not None,
        "excluded": excluded,
        "group_ranges": [] if None in ranges else ranges,
        "notes": notes,
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
    where: str, members: dict[str, Any], sizes: dict[str, int], level: float | None
) -> dict[str, Part]:
    """Return the results of groups by name; they have the sizes of all but where they differ."""
    parts = dict[str, Part]()
    for name, member in members.items():
        group = _object(member, f"{where}{name!r}")
        path = f"{where}{name}: "
        size = [_count(group.get(key, n), f"{path}{key!r}") for key, n in sizes.items()]
        parts[name] = Part(_results(group, path, level), *size)
    return parts


def _read_shares(
    where: str, label_groups: dict[str, Any], sizes: dict[str, int], level: float | None
) -> dict[str, Part]:
    """Return the shares of label groups by name, with the intervals of `SHARE_MEMBERS`."""
    groups = dict[str, Any]()
    for name, group in label_groups.items():
        if group.get("shares"):
            share = {kind: group.get(member) for kind, member in SHARE_MEMBERS.items()}
            groups[name] = {**{size: group.get(size, n) for size, n in sizes.items()}, **share}
    return _read_groups(where, groups, sizes, level)


def _results(contents: dict[str, Any], where: str, level: float | None) -> Results:
    """Return the results of a report or of a group, with intervals of a confidence level."""
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
    short = members.pop("short_lists")
    n_groups = members.pop("jackknife_groups")
    cut = _texts(contents.get("cut_lists") or [], f"{where}'cut_lists'")
    notes = _object(contents.get("notes_on"), f"{where}'notes_on'")
    estimates = dict[str, Estimate]()
    for name, ends in intervals.items():
        if name in values and name in errors and name in n_groups:
            error = errors[name]
            estimates[name] = make_estimate(values[name], ends, error, level, n_groups[name])
    return Results(
        values,
        **members,
        tied=tied,
        short=short,
        cut={str(name): True for name in cut},
        notes=notes,
        estimates=estimates,
    )


def make_estimate(
    value: float, ends: tuple[float, float], error: float, level: float | None, n_groups: int
) -> Estimate:
    """Return the interval and the standard error of a value."""
    half_width = max(abs(end - value) for end in ends)
    if level is not None and n_groups > 1:
        half_width = half_width_of(error, n_groups, level)
    return Estimate(*ends, half_width, error, n_groups)


def known_spec(name: str) -> Spec | None:
    """Return the measure of a name, or None if this version does not have it."""
    try:
        return parse_spec(name)
    except ValueError:
        return None


def notes_on_unknown(names: Iterable[str]) -> list[str]:
    """Return a note on the measures that this process does not know, if there are any."""
    unknown = [name for name in names if known_spec(name) is None]
    if not unknown:
        return []
    text = f"{UNKNOWN_HERE}{shown_names(unknown)}; for measures of your own: "
    return [Message(text, own_measure("MODULE"))]


def describe_unknown(name: str) -> Message:
    """Return the message that a measure of a saved result is not known."""
    text = f"{shown(name)} is not a measure of this version of xmleval"
    if "-" not in name:  # which names of own measures have
        return Message(text)
    return Message(text, "; for one of your own: ", own_measure("MODULE"))


def _is_on_unknown(note: object) -> bool:
    """Whether a note is of another process that did not know measures."""
    return str(note).startswith(UNKNOWN_HERE)


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


def _text(value: object, name: str) -> str:
    """Return a text, or refuse it."""
    if not isinstance(value, str):
        raise _refusal(value, name, "a text")
    return value


def _list_length(value: object, name: str) -> ListLength:
    """Return the mean and the largest number of labels that rows list, or refuse it."""
    if not isinstance(value, dict):
        raise _refusal(value, name, "an object with mean and deepest")
    return ListLength(
        read_saved_number(value.get("mean"), f"{name}: mean"),
        _count(value.get("deepest"), f"{name}: deepest"),
    )


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
    **dict.fromkeys(("values", "thresholds", "standard_errors"), read_saved_number),
    **dict.fromkeys(("tied_rows", "tied_shares"), read_saved_number),
    **dict.fromkeys(("intervals", "confidence", "tie_bounds"), _ends),
    **dict.fromkeys(("undefined_rows", "undefined_labels", "jackknife_groups"), _count),
    "reliability": _bins,
    "short_lists": _list_length,
    "not_computed": _text,
}
SHARE_MEMBERS = {  # members of a label group that its share has, by those that a group has
    "values": "shares",
    "confidence": "shares_confidence",
    "standard_errors": "shares_standard_errors",
    "jackknife_groups": "shares_jackknife_groups",
}
