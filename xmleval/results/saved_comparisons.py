"""Reading of comparisons in JSON: the differences that were tested, and their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xmleval.results.differences import Difference
from xmleval.results.places import Place
from xmleval.results.saved_results import (
    SHARE_MEMBERS,
    known_spec,
    make_estimate,
    read_saved_number,
    refusing_damage,
)
from xmleval.statistics.paired import Outcomes

NUMBER_FIELDS = (  # of a difference, by name
    "difference",
    "value_a",
    "value_b",
    "standard_error",
    "confidence_lower",
    "confidence_upper",
    "p_value",
    "corrected_p_value",
)


class CorrectedDifferences(NamedTuple):
    """Differences with corrected p-values, and the number of tests that were corrected together."""

    differences: Sequence[Difference]
    n_tests: int


class SavedComparison(NamedTuple):
    """The fields of a comparison in JSON, besides its reports."""

    test: str
    baseline: str | None
    complete_lists: bool
    tests: CorrectedDifferences


def read_comparison(contents: Mapping[str, Any]) -> SavedComparison | None:
    """Return the tests in the contents of a file; None if models were not compared."""
    members = contents.get("comparison")
    if members is None:
        return None
    with refusing_damage("comparison", "`xmleval compare`"):
        differences = [*_differences(members, contents["reports"])]
        return SavedComparison(
            members["test"],
            members.get("baseline"),
            members.get("complete_lists", False),
            CorrectedDifferences(differences, members["n_tests"]),
        )


def _differences(members: Mapping[str, Any], reports: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences of all rows and labels, then those within groups."""
    level = members["confidence_level"]
    for place, saved in _places(members):
        for each in saved:
            n_groups = _count_groups(reports[each["a"]], place, each["name"])
            difference = _difference(each, place, level, n_groups)
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


def _count_groups(report: Mapping[str, Any], place: Place, measure: str) -> int:
    """Return the number of jackknife groups of a measure at a place; 0 if it has none."""
    kind, group = place
    member = "jackknife_groups"
    if kind == "shares":
        member = SHARE_MEMBERS[member]
        kind = "groups"
    part = report[kind][group] if kind else report
    return int(part.get(member, {}).get(measure, 0))


def _difference(
    saved: Mapping[str, Any], place: Place, level: float, n_groups: int
) -> Difference | None:
    """Return a difference; None if this version does not have its measure."""
    spec = known_spec(saved["name"])
    if spec is None:
        return None
    numbers = {name: read_saved_number(saved[name], f"{spec}: {name}") for name in NUMBER_FIELDS}
    outcomes = None
    if saved["wins"] is not None:
        outcomes = Outcomes(saved["wins"], saved["ties"], saved["losses"])
    estimate = None
    if saved["standard_error"] is not None:
        ends = (numbers["confidence_lower"], numbers["confidence_upper"])
        error = numbers["standard_error"]
        estimate = make_estimate(numbers["difference"], ends, error, level, n_groups)
    return Difference(
        spec,
        saved["a"],
        saved["b"],
        numbers["difference"],
        numbers["value_a"],
        numbers["value_b"],
        *place,
        estimate,
        numbers["p_value"],
        outcomes,
        numbers["corrected_p_value"],
        saved["better"],
        saved.get("same_as"),
    )
