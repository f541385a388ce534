"""Reading of comparisons in JSON: the differences that were tested, and their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xmleval.results.differences import Difference
from xmleval.results.places import Place
from xmleval.results.saved_results import known_spec, make_estimate, read_saved_number
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
    """What JSON holds of a comparison besides its reports."""

    test: str
    baseline: str | None
    complete_lists: bool
    tests: CorrectedDifferences


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
            CorrectedDifferences(differences, members["n_tests"]),
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
    numbers = {name: read_saved_number(saved[name], f"{spec}: {name}") for name in NUMBER_FIELDS}
    outcomes = None
    if saved["wins"] is not None:
        outcomes = Outcomes(saved["wins"], saved["ties"], saved["losses"])
    estimate = None
    if saved["standard_error"] is not None:
        ends = (numbers["confidence_lower"], numbers["confidence_upper"])
        estimate = make_estimate(numbers["difference"], ends, numbers["standard_error"])
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
    )
