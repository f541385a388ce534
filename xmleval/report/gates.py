"""Conditions on saved results: limits, and no fall below earlier results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from xmleval.report.saved_results import SavedReport
from xmleval.report.saved_rows import CONFIDENCE, Difference
from xmleval.spellings import not_there

ROUNDING = 2.0**-50  # of a difference of two values, relative to them
FEWEST_DIGITS, ALL_DIGITS = 4, 17


def beyond_limits(report: SavedReport, limits: Mapping[str, float], side: str) -> Iterator[str]:
    """Yield a line for each measure below its minimum or above its maximum, undefined or missing.

    Parameters
    ----------
    report : SavedReport
        The results.
    limits : dict of str to float
        Limits by canonical name.
    side : {"minimum", "maximum"}
        What the limits are.
    """
    for name, limit in limits.items():
        value = report.values.get(name)
        if value is None:
            yield not_there(name, [*report.values])
        elif math.isnan(value):
            yield f"{name} is undefined; its {side} is {_plain(limit)}"
        elif value < limit if side == "minimum" else value > limit:
            where = "below" if side == "minimum" else "above"
            yield f"{name} {_told(value, limit)} is {where} the {side} {_plain(limit)}"


def worse(
    new: SavedReport,
    old: SavedReport,
    where: str,
    margins: Mapping[str, float],
    differences: Mapping[str, Difference],
) -> Iterator[str]:
    """Yield a line for each measure of earlier results that is worse, undefined or missing.

    Parameters
    ----------
    new, old : SavedReport
        The results, and earlier ones that are `alike`.
    where : str
        What messages call the earlier ones.
    margins : dict of str to float
        By how much measures may be worse, by name; ``""`` for all others.
    differences : dict of str to Difference
        Paired differences, new minus old, of the measures whose values by row are known. These are worse
        where the whole interval is; the others, where the value is.
    """
    for name, before in old.values.items():
        after, sign = new.values.get(name), {"up": 1, "down": -1}.get(old.direction(name), 0)
        margin = margins.get(name, margins.get("", 0.0))
        if after is None:
            yield not_there(name, [*new.values])
        elif math.isnan(after) or math.isnan(before):
            where_not = where if math.isnan(before) else "these results"
            yield f"{name} is undefined in {where_not}, so that nothing is known about a change"
        elif sign and name in differences:
            found = differences[name]
            if max(sign * found.lower, sign * found.upper) < -margin:
                interval = f"{found.lower:.3g} to {found.upper:.3g} over {found.n_rows} rows"
                told = f"{CONFIDENCE:.0%} interval of the difference"
                yield f"{_fall(name, after, before, where, sign * margin)}; {told} {interval}"
        elif sign and sign * (before - after) > margin + (
            ROUNDING * max(abs(before), abs(after)) if margin else 0.0
        ):
            yield _fall(name, after, before, where, sign * margin)


def compared(old: SavedReport) -> list[str]:
    """Return the measures of earlier results of which some values are better than others."""
    return [name for name in old.values if old.direction(name) != "none"]


def refuse_unlike(new: SavedReport, old: SavedReport) -> None:
    """Refuse to compare results of other data or, for measures that both have, under other settings."""
    sizes = [("rows", new.n_rows, old.n_rows), ("labels", new.n_labels, old.n_labels)]
    found = [f"{before} {what} instead of {now}" for what, now, before in sizes if now != before]
    shared = [name for name in old.values if name in new.values]
    for name in _settings(old, shared):
        now, before = new.settings[name], old.settings[name]
        if now != before:
            found.append(f"{name} is {_shown(before)} instead of {_shown(now)}")
    for name in shared:
        value, earlier = new.values[name], old.values[name]
        if old.direction(name) == "none" and not _same(value, earlier):
            found.append(f"{name}, of the relevant labels, is {_plain(earlier)} instead of {_plain(value)}")
    if found:
        raise ValueError(f"not comparable: {', '.join(found)}")


def _settings(report: SavedReport, names: Iterable[str]) -> list[str]:
    """Return the settings that affect some measures."""
    specs = [report.spec(name) for name in names]
    decision = report.settings["decision"]
    found = [name for spec in specs for name in spec.conventions(decision)]
    found += ["decision"] if any("sets" in spec.needs for spec in specs) else []
    found += ["propensity"] if any("propensity" in spec.needs for spec in specs) else []
    return [*dict.fromkeys(found), "larger", "sample_weight"]


def _shown(setting: object) -> object:
    if isinstance(setting, dict):
        return " ".join(f"{name}={value}" for name, value in setting.items())
    return "none" if setting is None else setting


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


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
