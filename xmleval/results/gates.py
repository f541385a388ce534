"""Conditions on saved results: limits, and no fall below earlier results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import InputError, did_you_mean
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.numerics.rounding import bound_rounding, subtract
from xmleval.results.report import KINDS, Report
from xmleval.results.saved_results import known_spec

DIGEST = "sha256"  # of a file of labels that are left out, or within which alone labels are ranked
FEWEST_DIGITS, ALL_DIGITS = 4, 17
CONFIDENCE = 0.95


class Difference(NamedTuple):
    """Confidence interval of a mean difference, and the number of rows that have both values."""

    lower: float
    upper: float
    n_rows: int


class Failure(NamedTuple):
    """A measure that does not hold.

    Attributes
    ----------
    model : str
        Name of its report; empty for a report alone.
    measure : str
        Name of the measure, within a group with that of the group in front, as in ``tail:p@5``.
    value : float
        Its value, NaN if it is undefined or missing.
    limit : float
        Its minimum or maximum; of earlier results, the worst value that holds. NaN if it is not known.
    told : str
        What is wrong, on one line.
    """

    model: str
    measure: str
    value: float
    limit: float
    told: str


def target(name: str) -> str:
    """Return the canonical name of a measure; within a group, that of the group stays in front."""
    group, colon, measure = name.rpartition(":")
    return f"{group}{colon}{parse_spec(measure)}"


def limits_of(argument: str, given: Iterable[tuple[str, float]], margins: bool = False) -> dict[str, float]:
    """Return limits by canonical name, or refuse values that the measures cannot have.

    Parameters
    ----------
    argument : str
        What messages call them.
    given : iterable of (str, float)
        Names and limits, or margins; ``""`` is for all measures.
    margins : bool
        Whether these are margins.
    """
    found: dict[str, float] = {}
    for name, value in given:
        item = repr(f"{name}={_plain(value)}" if name else _plain(value))
        canonical = target(name) if name else ""
        if canonical in found:
            raise InputError(argument, f"{canonical or 'a value for all'} is given twice")
        if margins and not value >= 0:
            raise InputError(argument, f"{item} is negative")
        if not margins:
            lowest, highest = parse_spec(canonical.rpartition(":")[2]).metric.range
            if not lowest <= value <= highest:
                told = f"{item}: {canonical} is between {lowest:g} and {highest:g}"
                raise InputError(argument, told)
        found[canonical] = value
    return found


def beyond_limits(report: Report, limits: Mapping[str, float], side: str) -> Iterator[Failure]:
    """Yield each measure below its minimum or above its maximum, undefined or missing.

    Parameters
    ----------
    report : Report
        The results.
    limits : dict of str to float
        Limits by canonical name, see `limits_of`.
    side : {"minimum", "maximum"}
        What the limits are.
    """
    for name, limit in limits.items():
        value = _value_of(report, name)
        if isinstance(value, str):
            yield Failure("", name, math.nan, limit, value)
        elif math.isnan(value):
            yield Failure("", name, value, limit, f"{name} is undefined; its {side} is {_plain(limit)}")
        elif (subtract(value, limit) if side == "maximum" else subtract(limit, value)) > 0:
            where = "below" if side == "minimum" else "above"
            told = f"{name} {_told(value, limit)} is {where} the {side} {_plain(limit)}"
            yield Failure("", name, value, limit, told)


def _value_of(report: Report, name: str) -> float | str:
    """Return a value, or why there is none."""
    group, _, measure = name.rpartition(":")
    columns = report.values_by_group()
    column = _column(report, group) if group else ""
    if column is None:
        names = [_shown_group(report, own) for own in columns if not own.startswith("shares ")]
        few = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        near = did_you_mean(group, names) or (f"it has {few}" if names else "it has none")
        return f"{name!r}: no group {group!r} in this report; {near}"
    values = columns[column] if column else report.results.values
    if measure in values:
        return values[measure]
    where = f" within {group}" if column else ""
    return not_there(measure, [*values]) + where


def _column(report: Report, group: str) -> str | None:
    """Return the column of a group in CSV, by its name or that of the column; None if there is none."""
    columns = report.values_by_group()
    if group in columns:
        return group
    named = [column for kind in KINDS if kind != "shares" and (column := f"{kind} {group}") in columns]
    if len(named) > 1:
        raise ValueError(f"{group!r} is a group of labels and one of rows; expected {' or '.join(named)}")
    return next(iter(named), None)


def _shown_group(report: Report, column: str) -> str:
    """Return the name of a group, or its column where the name is not enough."""
    kind, _, group = column.partition(" ")
    columns = report.values_by_group()
    is_both = all(f"{each} {group}" in columns for each in ("groups", "row_groups"))
    return column if is_both or group in columns or kind == "shares" else group


def _spec(name: str) -> Spec:
    """Return the measure of a value, or refuse one that this version does not have."""
    spec = known_spec(name)
    if spec is None:
        raise ValueError(f"{name!r} is not a measure of this version of xmleval")
    return spec


def _direction(name: str) -> str:
    return _spec(name).metric.direction


def worse(
    new: Report,
    old: Report,
    where: str,
    margins: Mapping[str, float],
    differences: Mapping[str, Difference],
) -> Iterator[Failure]:
    """Yield each measure of earlier results that is worse, undefined or missing, also within groups.

    Parameters
    ----------
    new, old : Report
        The results, and earlier ones that are `alike`.
    where : str
        What messages call the earlier ones.
    margins : dict of str to float
        By how much measures may be worse, by name; ``""`` for all others. Within a group, that of the group
        counts, else that of the measure.
    differences : dict of str to Difference
        Paired differences, new minus old, of the measures whose values by row are known. These are worse
        where the whole interval is; the others, where the value is.
    """
    for name, measure, before in held(old):
        value, sign = _value_of(new, name), {"up": 1, "down": -1}.get(_direction(measure), 0)
        margin = margins.get(name, margins.get(measure, margins.get("", 0.0)))
        if isinstance(value, str):
            yield Failure("", name, math.nan, before - sign * margin, value)
            continue
        after, told = value, ""
        least = margin + float(bound_rounding(before, after))
        if math.isnan(after) or math.isnan(before):
            where_not = where if math.isnan(before) else "these results"
            told = f"{name} is undefined in {where_not}, so that nothing is known about a change"
        elif sign and name in differences:
            found = differences[name]
            if -max(sign * found.lower, sign * found.upper) > least:
                interval = f"{found.lower:.3g} to {found.upper:.3g} over {found.n_rows} rows"
                of = f"{CONFIDENCE:.0%} interval of the difference"
                told = f"{_fall(name, after, before, where, sign * margin)}; {of} {interval}"
        elif sign and sign * (before - after) > least:
            told = _fall(name, after, before, where, sign * margin)
        if told:
            yield Failure("", name, after, before - sign * margin, told)


def paired_differences(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Difference]:
    """Return the differences by row, new minus old, of the measures that both have: t intervals of means."""
    from scipy.special import stdtrit  # only here: most checks do not need it

    found = {}
    for name in new.keys() & old.keys():
        gaps = subtract(np.asarray(new[name]), np.asarray(old[name]))
        gaps = gaps[~np.isnan(gaps)]
        if gaps.size > 1:
            half = stdtrit(gaps.size - 1, (1 + CONFIDENCE) / 2) * gaps.std(ddof=1) / math.sqrt(gaps.size)
            found[name] = Difference(float(gaps.mean() - half), float(gaps.mean() + half), gaps.size)
    return found


def held(report: Report) -> Iterator[tuple[str, str, float]]:
    """Yield each value of a report and of its groups: its name, the measure, and the value."""
    yield from ((name, name, value) for name, value in report.items())
    for column, values in report.values_by_group().items():
        if not column.startswith("shares "):
            shown = _shown_group(report, column)
            yield from ((f"{shown}:{name}", name, value) for name, value in values.items())


def compared(old: Report) -> list[str]:
    """Return the measures of earlier results of which some values are better than others."""
    return [name for name, measure, _ in held(old) if _direction(measure) != "none"]


def refuse_unlike(new: Report, old: Report) -> None:
    """Refuse to compare results of other data or, for measures that both have, under other settings."""
    sizes = [("rows", new.n_rows, old.n_rows), ("labels", new.n_labels, old.n_labels)]
    found = [f"{before} {what} instead of {now}" for what, now, before in sizes if now != before]
    for kind in ("groups", "row_groups"):
        now_parts, before_parts = (_sizes(report, kind) for report in (new, old))
        for group in before_parts.keys() & now_parts.keys():
            shown = _shown_group(old, f"{kind} {group}")
            for size, before in before_parts[group].items():
                now = now_parts[group][size]
                found += [f"{size} of group {shown} is {before} instead of {now}"] * (now != before)
    shared = [name for name in old if name in new]
    for name in _settings(old, shared):
        now, before = ((report.settings() | report.conventions.as_dict())[name] for report in (new, old))
        if _without_file(now, before) != _without_file(before, now):
            found.append(f"{name} is {_shown(before)} instead of {_shown(now)}")
    for name in shared:
        value, earlier = new[name], old[name]
        if _direction(name) == "none" and not _same(value, earlier):
            found.append(f"{name}, of the relevant labels, is {_plain(earlier)} instead of {_plain(value)}")
    if found:
        raise ValueError(f"not comparable: {', '.join(found)}")


def _sizes(report: Report, kind: str) -> dict[str, dict[str, Any]]:
    """Return what tells that two groups are not the same, by name."""
    parts = getattr(report.results, kind)
    if kind == "row_groups":
        return {name: {"n_rows": part.n_rows} for name, part in parts.items()}
    ranges: list[Any] = report.group_ranges or [None] * len(parts)
    return {
        name: {"n_rows": part.n_rows, "n_labels": part.n_labels, "training_rows": of}
        for of, (name, part) in zip(ranges, parts.items(), strict=True)
    }


def _settings(report: Report, names: Iterable[str]) -> list[str]:
    """Return the settings that affect some measures."""
    specs = [_spec(name) for name in names]
    decision = report.decision
    found = [name for spec in specs for name in spec.conventions(decision)]
    found += ["decision"] if any("sets" in spec.needs for spec in specs) else []
    of_training = any({"propensity", "training"} & {*spec.needs} for spec in specs)
    found += ["propensity"] if of_training else []
    found += ["hierarchy"] if any("hierarchy" in spec.needs for spec in specs) else []
    return [*dict.fromkeys(found), "higher_is_better", "sample_weight", "exclude", "candidates"]


def _without_file(setting: Any, other: Any) -> Any:
    """Return a setting; of a file, what it holds, as far as both tell it, and not its name."""
    if not (isinstance(setting, dict) and isinstance(other, dict)) or DIGEST not in setting:
        return setting
    known = setting[DIGEST] and other.get(DIGEST)
    return {name: value for name, value in setting.items() if name != "file" and (known or name != DIGEST)}


def _shown(setting: object) -> object:
    if isinstance(setting, dict) and DIGEST in setting:
        digest = f" (SHA-256 {setting[DIGEST][:8]})" if setting[DIGEST] else ""
        whence = " from predictions alone" if setting.get("from") == "predictions" else ""
        return f"{setting['file'] or 'given'}{digest}{whence}"
    if isinstance(setting, dict):
        return " ".join(f"{name}={value}" for name, value in setting.items())
    return "none" if setting is None else setting


def _same(one: float, other: float) -> bool:
    return subtract(one, other) == 0 or (math.isnan(one) and math.isnan(other))


def _fall(name: str, after: float, before: float, where: str, margin: float) -> str:
    by = f" by more than {_plain(abs(margin))}" if margin else ""
    return f"{name} {_told(after, before - margin)} is worse than {_told(before, after)} in {where}{by}"


def _told(value: float, other: float) -> str:
    """Return a number with as few digits as tell it from another."""
    for digits in range(FEWEST_DIGITS, ALL_DIGITS):
        text = f"{value:.{digits}g}"
        if text != f"{other:.{digits}g}":
            return text
    return repr(value)


def _plain(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
