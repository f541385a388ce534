"""Conditions on results: limits, and values no worse than earlier results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from xmleval.base.errors import InputError, Message, did_you_mean, shown
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.numerics.rounding import bound_rounding, subtract
from xmleval.results.fairness import include_no_difference
from xmleval.results.places import KINDS, SIZES
from xmleval.results.record import SIGNS
from xmleval.results.report import Report, settings_of
from xmleval.results.saved_results import describe_unknown, known_spec
from xmleval.states.results import Results
from xmleval.statistics.jackknife import Estimate, estimate

DIGEST = "sha256"  # of a file of excluded labels or of candidates
FEWEST_DIGITS = 4
ALL_DIGITS = 17
CONFIDENCE = 0.95
GroupValues = dict[str, tuple[str, Mapping[str, float]]]


class Failure(NamedTuple):
    """A value that does not meet a condition."""

    model: str  # name of its report; empty for a report alone
    measure: str  # within a group with that of the group in front, as in ``tail:p@5``
    value: float  # NaN if it is undefined or missing
    # minimum or maximum; of earlier results, the worst value that passes; NaN if not known
    limit: float
    reason: str  # what is wrong, on one line


def limits_of(
    argument: str, pairs: Iterable[tuple[str, float]], margins: bool = False
) -> dict[str, float]:
    """Return limits, or margins, by canonical name with that of a group; "" is for all values."""
    limits: dict[str, float] = {}
    for name, value in pairs:
        group, colon, measure = name.rpartition(":")
        spec = parse_spec(measure) if name else None
        canonical = f"{group}{colon}{spec or ''}"
        if canonical in limits:
            raise InputError(argument, f"{canonical or 'a value for all'} is given twice")
        text = f"{name}={_plain(value)}" if name else _plain(value)
        if margins and not value >= 0:
            raise InputError(argument, f"{text!r} is negative")
        if spec is not None and not margins:
            lowest, highest = spec.metric.range
            if not lowest <= value <= highest:
                valid = f"{canonical} is between {lowest:g} and {highest:g}"
                raise InputError(argument, f"{text!r}: {valid}")
        limits[canonical] = value
    return limits


def find_violations(report: Report, limits: Mapping[str, float], side: str) -> Iterator[Failure]:
    """Yield each value that is undefined, missing, or beyond its limit.

    By the convention ``ties=band``, the value of every order of equal scores must be within limits.

    ``side`` is "minimum" or "maximum".
    """
    groups = _group_values(report)
    bands = _group_bands(report)
    for name, limit in limits.items():
        value = _find_value(groups, name)
        if isinstance(value, str):
            yield Failure("", name, math.nan, limit, value)
            continue
        if math.isnan(value):
            reason = f"{name} is undefined; its {side} is {_plain(limit)}"
            yield Failure("", name, value, limit, reason)
            continue
        lowest, highest = _find_band(bands, name, value)
        ends = (lowest, highest) if side == "minimum" else (highest, lowest)
        if _is_beyond(ends[0], limit, side):
            reason = _reason_beyond(name, ends, limit, side)
            yield Failure("", name, ends[0], limit, reason)


def _is_beyond(value: float, limit: float, side: str) -> bool:
    """Return whether a value is below its minimum, or above its maximum."""
    excess = subtract(value, limit) if side == "maximum" else subtract(limit, value)
    return bool(excess > 0)


def _reason_beyond(name: str, ends: tuple[float, float], limit: float, side: str) -> str:
    """Return how a value is beyond its limit.

    ends : the worst value over all orders of equal scores, as to the limit, and the best one
    """
    worst, best = ends
    where = "below" if side == "minimum" else "above"
    beyond = f"{where} the {side} {_plain(limit)}"
    if subtract(worst, best) == 0:
        return f"{name} {_digits(worst, limit)} is {beyond}"
    if _is_beyond(best, limit, side):
        bound = "at most" if side == "minimum" else "at least"
        best_text = f"{bound} {_digits(best, limit)}"
        return f"{name} is {beyond} in every order of equal scores: {best_text}"
    ends_text = f"{_digits(worst, limit)} in one order of equal scores, {_digits(best, limit)}"
    return f"{name} is decided by ties: {ends_text} in another; the {side} is {_plain(limit)}"


def _group_values(report: Report) -> GroupValues:
    """Return the values of all, by ``""``, and of groups, by the names of their columns in CSV.

    Each is a pair of the name of the group and values by measure. The name has the kind of the
    group in front, as in "groups tail", only if it is not unique without.
    """
    return {column: (name, results.values) for column, (name, results) in _groups(report).items()}


def _group_bands(report: Report) -> dict[str, Mapping[str, Any]]:
    """Return the smallest and largest values over all orders of equal scores, by any group's name.

    They are empty but by the convention ``ties=band``.
    """
    bands = dict[str, Mapping[str, Any]]()
    if report.conventions.ties == "band":
        for column, (name, results) in _groups(report).items():
            bands[column] = bands[name] = results.intervals
    return bands


def _find_band(
    bands: Mapping[str, Mapping[str, Any]], name: str, value: float
) -> tuple[float, float]:
    """Return the smallest and largest value by its name; the value where no order changes it."""
    group, _, measure = name.rpartition(":")
    lowest, highest = bands.get(group, {}).get(measure, (value, value))
    return lowest, highest


def _groups(report: Report) -> dict[str, tuple[str, Results]]:
    """Return the names and the results of all and of groups, as `_group_values` does values."""
    parts = {
        (kind, name): part for kind in KINDS for name, part in getattr(report.results, kind).items()
    }
    counts = Counter(name for kind, name in parts if kind != "shares")
    columns = {f"{kind} {name}" for kind, name in parts}
    groups = {"": ("", report.results)}
    for (kind, name), part in parts.items():
        column = f"{kind} {name}"
        is_unique = kind != "shares" and counts[name] == 1 and name not in columns
        groups[column] = (name if is_unique else column, part.results)
    return groups


def _find_value(groups: GroupValues, name: str) -> float | str:
    """Return a value by its name, or the reason why it is missing."""
    group, _, measure = name.rpartition(":")
    values = dict(groups.values()).get(group)
    if group in groups:
        values = groups[group][1]
    if values is None:
        return _missing_group(groups, name, group)
    if measure in values:
        return values[measure]
    within = f" within {group}" if group else ""
    return not_there(measure, [*values]) + within


def _missing_group(groups: GroupValues, name: str, group: str) -> str:
    """Return the reason why a group is not there; refuse a name of two groups."""
    if f"groups {group}" in groups:
        expected = f"groups {group} or row_groups {group}"
        raise ValueError(
            f"{shown(group)} is both a group of labels and a group of rows; give {expected}"
        )
    names = [
        short
        for column, (short, _) in groups.items()
        if column and not column.startswith("shares ")
    ]
    hint = did_you_mean(group, names)
    if not hint:
        listed = ", ".join(names[:6]) or "none"
        if len(names) > 6:
            listed += ", ..."
        hint = f"it has {listed}"
    return f"{shown(name)}: no group {shown(group)} in this report; {hint}"


def values_of(report: Report) -> Iterator[tuple[str, str, float]]:
    """Yield each value of a report and of its groups: its name, the measure, and the value."""
    for column, (group, values) in _group_values(report).items():
        if not column.startswith("shares "):
            start = f"{group}:" if column else ""
            for measure, value in values.items():
                yield f"{start}{measure}", measure, value


def _parse_known(name: str, where: str) -> Spec:
    """Return the measure of a value, or refuse one that this version does not have."""
    spec = known_spec(name)
    if spec is None:
        raise ValueError(Message(f"{where}: ", describe_unknown(name)))
    return spec


def compare_values(
    new: Report,
    old: Report,
    where: str,
    margins: Mapping[str, float],
    paired: Mapping[str, Estimate],
) -> Iterator[tuple[str, Failure | None]]:
    """Yield each earlier value with its failure, if it is now worse, undefined or missing.

    Of measures without a better direction, only failures are yielded.

    ``where`` names the earlier results in messages. The margin within a group counts before that of
    the measure and that of all, ``""``; the interval of a difference in ``paired``, new minus old,
    before values.
    """
    groups = _group_values(new)
    bands = _group_bands(new)
    earlier_bands = _group_bands(old)
    for name, measure, before in values_of(old):
        value = _find_value(groups, name)
        sign = SIGNS[_parse_known(measure, where).metric.direction]
        margin = margins.get(name, margins.get(measure, margins.get("", 0.0)))
        limit = before - sign * margin
        if isinstance(value, str):
            yield name, Failure("", name, math.nan, limit, value)
            continue
        change = f"{name} {_digits(value, limit)} is worse than {_digits(before, value)}"
        reason = f"{change} in {where}"
        if margin:
            reason += f" by more than {_plain(abs(margin))}"
        allowed = margin + float(bound_rounding(before, value))
        is_worse = sign * (before - value) > allowed
        if math.isnan(value) or math.isnan(before):
            is_worse = True
            source = where if math.isnan(before) else "these results"
            reason = f"{name} is undefined in {source}, so a change cannot be judged"
        elif sign and name in paired:
            lower, upper, _, _, n_rows = paired[name]
            is_worse = -max(sign * lower, sign * upper) > allowed
            interval = f"{CONFIDENCE:.0%} interval of the difference {lower:.3g} to {upper:.3g}"
            reason += f"; {interval} over {n_rows} rows"
        if is_worse:
            band = _find_band(bands, name, value)
            earlier_band = _find_band(earlier_bands, name, before)
            if include_no_difference(band, earlier_band):
                reason += "; decided by ties: values over all orders of equal scores overlap"
            yield name, Failure("", name, value, limit, reason)
        elif sign:
            yield name, None


def paired_differences(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Estimate]:
    """Return the mean differences by row, new minus old, with t intervals by the jackknife."""
    estimates: dict[str, Estimate] = {}
    for name in new.keys() & old.keys():
        differences = subtract(np.asarray(new[name]), np.asarray(old[name]))
        differences = differences[~np.isnan(differences)]
        n = differences.size
        if n > 1:
            without_row = (differences.sum() - differences) / (n - 1)
            interval = estimate(float(differences.mean()), without_row, CONFIDENCE)
            if interval:
                estimates[name] = interval
    return estimates


def refuse_unlike(new: Report, old: Report, where: str) -> None:
    """Refuse results of other data or, for measures that both have, under other settings."""
    shared = [name for name in old if name in new]
    specs = [_parse_known(name, where) for name in shared]
    settings = new._settings() | new.conventions.as_dict() | _sizes(new)
    earlier = _sizes(old) | settings_of(old, specs)
    unlike = [
        f"{name} is {old_setting} instead of {new_setting}"
        for name, (new_setting, old_setting) in differing_settings(settings, earlier).items()
    ]
    for name, spec in zip(shared, specs, strict=True):
        if spec.metric.direction == "none" and not _are_equal(new[name], old[name]):
            change = f"{_plain(old[name])} instead of {_plain(new[name])}"
            unlike.append(f"{name}, of the relevant labels, is {change}")
    if unlike:
        raise ValueError(f"{where}: not comparable: {', '.join(unlike)}")


def _are_equal(a: float, b: float) -> bool:
    """Return whether two values are equal up to rounding, or both undefined."""
    return subtract(a, b) == 0 or (math.isnan(a) and math.isnan(b))


def _sizes(report: Report) -> dict[str, Any]:
    """Return the sizes of a report and of its groups, and the training rows of label groups."""
    sizes: dict[str, Any] = {"number of rows": report.n_rows, "number of labels": report.n_labels}
    for kind, names in SIZES.items():
        for group, part in getattr(report.results, kind).items():
            for name in names:
                sizes[f"{name} of {kind} {group}"] = getattr(part, name)
    for group, training_rows in zip_longest(report.results.groups, report.group_ranges):
        sizes[f"training_rows of groups {group}"] = training_rows
    return sizes


def differing_settings(
    settings: Mapping[str, Any], earlier: Mapping[str, Any]
) -> dict[str, tuple[object, object]]:
    """Return the settings that both have and that differ, as messages show them."""
    return {
        name: (setting_text(settings[name]), setting_text(setting))
        for name, setting in earlier.items()
        if name in settings and not _is_same(settings[name], setting)
    }


def _is_same(a: object, b: object) -> bool:
    """Return whether two settings are the same.

    Files are compared by their digests if both are known, and never by name.
    """
    if not (_is_file(a) and _is_file(b)):
        return bool(a == b)
    ignored = {"file"}
    if not (a[DIGEST] and b[DIGEST]):
        ignored.add(DIGEST)
    contents_a = {name: value for name, value in a.items() if name not in ignored}
    contents_b = {name: value for name, value in b.items() if name not in ignored}
    return contents_a == contents_b


def _is_file(setting: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a setting describes a file of labels."""
    return isinstance(setting, dict) and DIGEST in setting


def setting_text(setting: object) -> object:
    """Return a setting as messages show it."""
    if _is_file(setting):
        text = str(setting["file"] or "given")
        if setting[DIGEST]:
            text += f" (SHA-256 {setting[DIGEST][:8]})"
        if setting.get("from") == "predictions":
            text += " from predictions alone"
        return text
    if isinstance(setting, dict):
        return " ".join(f"{name}={value}" for name, value in setting.items())
    return "none" if setting is None else setting


def _digits(value: float, neighbour: float) -> str:
    """Return a number with the fewest digits that distinguish it from its neighbour."""
    for n in range(FEWEST_DIGITS, ALL_DIGITS):
        text = f"{value:.{n}g}"
        if text != f"{neighbour:.{n}g}":
            return text
    return repr(value)


def _plain(value: float) -> str:
    """Return a number with few digits if these are exact, otherwise with all."""
    text = f"{value:g}"
    return text if float(text) == value else repr(value)
