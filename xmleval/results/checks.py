"""Conditions on results: limits, and no fall below earlier results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import InputError, did_you_mean, shown
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.numerics.rounding import bound_rounding, subtract
from xmleval.results.places import KINDS, SIZES
from xmleval.results.record import SIGNS
from xmleval.results.report import Report
from xmleval.results.saved_results import known_spec
from xmleval.statistics.jackknife import Estimate, estimate

DIGEST = "sha256"  # of a file of labels that are left out, or within which alone labels are ranked
FEWEST_DIGITS, ALL_DIGITS = 4, 17
CONFIDENCE = 0.95
Groups = dict[str, tuple[str, Mapping[str, float]]]


class Failure(NamedTuple):
    """A measure that does not hold."""

    model: str  # name of its report; empty for a report alone
    measure: str  # within a group with that of the group in front, as in ``tail:p@5``
    value: float  # NaN if it is undefined or missing
    limit: float  # minimum or maximum; of earlier results, the worst value that holds; NaN if not known
    reason: str  # what is wrong, on one line


def limits_of(argument: str, pairs: Iterable[tuple[str, float]], margins: bool = False) -> dict[str, float]:
    """Return limits, or margins, by canonical name behind that of a group; an empty name is for all."""
    limits: dict[str, float] = {}
    for name, value in pairs:
        item = repr(f"{name}={_plain(value)}" if name else _plain(value))
        group, colon, measure = name.rpartition(":")
        spec = parse_spec(measure) if name else None
        canonical = f"{group}{colon}{spec or ''}"
        if canonical in limits:
            raise InputError(argument, f"{canonical or 'a value for all'} is given twice")
        if margins and not value >= 0:
            raise InputError(argument, f"{item} is negative")
        if spec is not None and not margins:
            lowest, highest = spec.metric.range
            if not lowest <= value <= highest:
                raise InputError(argument, f"{item}: {canonical} is between {lowest:g} and {highest:g}")
        limits[canonical] = value
    return limits


def beyond_limits(report: Report, limits: Mapping[str, float], side: str) -> Iterator[Failure]:
    """Yield each measure below its minimum or above its maximum, as ``side`` says, undefined or missing."""
    groups = _groups(report)
    for name, limit in limits.items():
        value = _value(groups, name)
        if isinstance(value, str):
            yield Failure("", name, math.nan, limit, value)
        elif math.isnan(value):
            yield Failure("", name, value, limit, f"{name} is undefined; its {side} is {_plain(limit)}")
        elif (subtract(value, limit) if side == "maximum" else subtract(limit, value)) > 0:
            where = "below" if side == "minimum" else "above"
            line = f"{name} {_digits(value, limit)} is {where} the {side} {_plain(limit)}"
            yield Failure("", name, value, limit, line)


def _groups(report: Report) -> Groups:
    """Return names and values of the whole, by ``""``, and of groups, by the names of their columns in CSV.

    The name of a group has its kind in front, as in "groups tail", only where this tells it from others.
    """
    parts = {(kind, name): part for kind in KINDS for name, part in getattr(report.results, kind).items()}
    counts, columns = Counter(name for kind, name in parts if kind != "shares"), {*map(" ".join, parts)}
    groups: Groups = {"": ("", report.results.values)}
    for (kind, name), part in parts.items():
        is_unique = kind != "shares" and counts[name] == 1 and name not in columns
        groups[f"{kind} {name}"] = (name if is_unique else f"{kind} {name}"), part.results.values
    return groups


def _value(groups: Groups, name: str) -> float | str:
    """Return a value by its name, or why there is none."""
    within, _, measure = name.rpartition(":")
    values = dict(groups.values()).get(within) if within not in groups else groups[within][1]
    if values is not None and measure in values:
        return values[measure]
    if values is not None:
        return not_there(measure, [*values]) + (f" within {within}" if within else "")
    if f"groups {within}" in groups:
        expected = f"groups {within} or row_groups {within}"
        raise ValueError(f"{shown(within)} is a group of labels and one of rows; expected {expected}")
    names = [short for column, (short, _) in groups.items() if column and not column.startswith("shares ")]
    few = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    near = did_you_mean(within, names) or (f"it has {few}" if names else "it has none")
    return f"{shown(name)}: no group {shown(within)} in this report; {near}"


def values_of(report: Report) -> Iterator[tuple[str, str, float]]:
    """Yield each value of a report and of its groups: its name, the measure, and the value."""
    for column, (group, values) in _groups(report).items():
        if not column.startswith("shares "):
            start = f"{group}:" if column else ""
            yield from ((f"{start}{name}", name, value) for name, value in values.items())


def _spec(name: str, where: str) -> Spec:
    """Return the measure of a value, or refuse one that this version does not have."""
    spec = known_spec(name)
    if spec is None:
        raise ValueError(f"{where}: {shown(name)} is not a measure of this version of xmleval")
    return spec


def compare_values(
    new: Report, old: Report, where: str, margins: Mapping[str, float], paired: Mapping[str, Estimate]
) -> Iterator[tuple[str, Failure | None]]:
    """Yield each earlier value, also within groups, and what is wrong: it is worse, undefined or missing.

    Of measures without a better direction, only what is wrong.

    ``where`` is what messages call the earlier results. The margin within a group counts before that of the
    measure and that of all, ``""``; the interval of a difference in ``paired``, new minus old, before values.
    """
    groups = _groups(new)
    for name, measure, before in values_of(old):
        value, sign = _value(groups, name), SIGNS[_spec(measure, where).metric.direction]
        margin = margins.get(name, margins.get(measure, margins.get("", 0.0)))
        limit = before - sign * margin
        if isinstance(value, str):
            yield name, Failure("", name, math.nan, limit, value)
            continue
        allowed = margin + float(bound_rounding(before, value))
        by = f" by more than {_plain(abs(margin))}" if margin else ""
        line = f"{name} {_digits(value, limit)} is worse than {_digits(before, value)} in {where}{by}"
        is_worse = sign * (before - value) > allowed
        if math.isnan(value) or math.isnan(before):
            is_worse = True
            where_not = where if math.isnan(before) else "these results"
            line = f"{name} is undefined in {where_not}, so that nothing is known about a change"
        elif sign and name in paired:
            lower, upper, _, _, n_rows = paired[name]
            is_worse = -max(sign * lower, sign * upper) > allowed
            interval = f"{CONFIDENCE:.0%} interval of the difference {lower:.3g} to {upper:.3g}"
            line = f"{line}; {interval} over {n_rows} rows"
        if sign or is_worse:
            yield name, Failure("", name, value, limit, line) if is_worse else None


def paired_differences(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Estimate]:
    """Return the mean differences by row, new minus old, with the t intervals that the jackknife gives."""
    estimates: dict[str, Estimate] = {}
    for name in new.keys() & old.keys():
        gaps = subtract(np.asarray(new[name]), np.asarray(old[name]))
        gaps = gaps[~np.isnan(gaps)]
        if gaps.size > 1:
            without_row = (gaps.sum() - gaps) / (gaps.size - 1)
            interval = estimate(float(gaps.mean()), without_row, CONFIDENCE)
            estimates |= {name: interval} if interval else {}
    return estimates


def refuse_unlike(new: Report, old: Report, where: str) -> None:
    """Refuse to compare results of other data or, for measures that both have, under other settings."""
    shared = [name for name in old if name in new]
    settings = new.settings() | new.conventions.as_dict() | _sizes(new)
    before = _sizes(old) | old.settings_of([_spec(name, where) for name in shared])
    differing = differing_settings(settings, before)
    unlike = [f"{name} is {was} instead of {is_now}" for name, (is_now, was) in differing.items()]
    for name in shared:
        value, earlier = new[name], old[name]
        is_same = subtract(value, earlier) == 0 or (math.isnan(value) and math.isnan(earlier))
        if _spec(name, where).metric.direction == "none" and not is_same:
            unlike.append(f"{name}, of the relevant labels, is {_plain(earlier)} instead of {_plain(value)}")
    if unlike:
        raise ValueError(f"{where}: not comparable: {', '.join(unlike)}")


def _sizes(report: Report) -> dict[str, Any]:
    """Return the sizes of a report and of its groups, with the training rows of these."""
    sizes: dict[str, Any] = {"number of rows": report.n_rows, "number of labels": report.n_labels}
    for kind, names in SIZES.items():
        for group, part in getattr(report.results, kind).items():
            sizes |= {f"{name} of {kind} {group}": getattr(part, name) for name in names}
    for group, training_rows in zip_longest(report.results.groups, report.group_ranges):
        sizes[f"training_rows of groups {group}"] = training_rows
    return sizes


def differing_settings(
    settings: Mapping[str, Any], earlier: Mapping[str, Any]
) -> dict[str, tuple[object, object]]:
    """Return the settings that both have and that differ, as messages show them."""
    return {
        name: (_shown(settings[name]), _shown(setting))
        for name, setting in earlier.items()
        if name in settings and not _is_same(settings[name], setting)
    }


def _is_same(a: object, b: object) -> bool:
    """Tell whether two settings are the same; of files, by their digests if both are known, not by name."""
    if not (isinstance(a, dict) and isinstance(b, dict) and DIGEST in a and DIGEST in b):
        return bool(a == b)
    ignored = {"file"} if a[DIGEST] and b[DIGEST] else {"file", DIGEST}
    contents = [{name: value for name, value in each.items() if name not in ignored} for each in (a, b)]
    return contents[0] == contents[1]


def _shown(setting: object) -> object:
    """Return a setting as messages show it."""
    if isinstance(setting, dict) and DIGEST in setting:
        digest = f" (SHA-256 {setting[DIGEST][:8]})" if setting[DIGEST] else ""
        source = " from predictions alone" if setting.get("from") == "predictions" else ""
        return f"{setting['file'] or 'given'}{digest}{source}"
    if isinstance(setting, dict):
        return " ".join(f"{name}={value}" for name, value in setting.items())
    return "none" if setting is None else setting


def _digits(value: float, neighbour: float) -> str:
    """Return a number with as few digits as tell it from another."""
    texts = ((f"{value:.{n}g}", f"{neighbour:.{n}g}") for n in range(FEWEST_DIGITS, ALL_DIGITS))
    return next((text for text, of_neighbour in texts if text != of_neighbour), repr(value))


def _plain(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
