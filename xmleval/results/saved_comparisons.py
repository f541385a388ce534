"""Reading of comparisons in JSON: the differences that were tested, and their settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xmleval.results.differences import Difference
from xmleval.results.places import Place
from xmleval.results.saved_results import known_spec
from xmleval.statistics.jackknife import Estimate
from xmleval.statistics.paired import Outcomes


class Tests(NamedTuple):
    """Differences with corrected p-values, and the number of tests that were corrected together."""

    differences: Sequence[Difference]
    n_tests: int


class SavedComparison(NamedTuple):
    """What JSON holds of a comparison besides its reports."""

    test: str
    baseline: str | None
    complete_lists: bool
    tests: Tests


def read_comparison(contents: Mapping[str, Any]) -> SavedComparison | None:
    """Return the tests in the contents of a file; None if models were not compared."""
    members = contents.get("comparison")
    if members is None:
        return None
    try:
        differences = [*_differences(members)]
        return SavedComparison(
            members["test"],
            members.get("baseline"),
            members.get("complete_lists", False),
            Tests(differences, members["n_tests"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"'comparison' is not as `xmleval compare` writes it ({error!r})"
        ) from None


def _differences(members: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences of all rows and labels, then those within groups."""
    for place, saved in _places(members):
        for each in saved:
            difference = _difference(each, place)
            if difference is not None:
                yield difference


def _places(members: Mapping[str, Any]) -> Iterator[tuple[Place, list[dict[str, Any]]]]:
    """Yield places with their differences, in the order in which they are tested."""
    yield ("", ""), members["differences"]
    label_groups = members.get("groups", {})
    for group, contents in label_groups.items():
        yield ("groups", group), contents["differences"]
    for group, contents in label_groups.items():
        yield ("shares", group), contents.get("shares", [])
    for group, contents in members.get("row_groups", {}).items():
        yield ("row_groups", group), contents["differences"]


def _difference(saved: Mapping[str, Any], place: Place) -> Difference | None:
    """Return a difference; None if this version does not have its measure."""
    spec = known_spec(saved["name"])
    if spec is None:
        return None
    value = _number(saved["difference"])
    outcomes = None
    if saved["wins"] is not None:
        outcomes = Outcomes(saved["wins"], saved["ties"], saved["losses"])
    return Difference(
        spec,
        saved["a"],
        saved["b"],
        value,
        _number(saved["value_a"]),
        _number(saved["value_b"]),
        *place,
        _estimate(saved, value),
        _number(saved["p_value"]),
        outcomes,
        _number(saved["corrected_p_value"]),
        saved["better"],
    )


def _estimate(saved: Mapping[str, Any], value: float) -> Estimate | None:
    """Return the confidence interval and the standard error of a difference, if it has them."""
    if saved["standard_error"] is None:
        return None
    lower = _number(saved["confidence_lower"])
    upper = _number(saved["confidence_upper"])
    half_width = max(abs(lower - value), abs(upper - value))
    return Estimate(lower, upper, half_width, _number(saved["standard_error"]), 0)


def _number(value: float | str | None) -> float:
    """Return a number; null is NaN, and infinite numbers are texts."""
    return math.nan if value is None else float(value)
