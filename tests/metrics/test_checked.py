"""The laws that a measure of a package must obey, on measures of the table, beside plain loops."""

import math
import re
from collections.abc import Callable

import pytest

from tests.own_measures import DECAYED, FMAX, NOVELTY
from xmleval import Measure
from xmleval.testing import PlainRow, check_measure

K = 2


def first(row: PlainRow) -> list[int]:
    return row.listed[:K]


def precision(row: PlainRow) -> float:
    return len(row.relevant.intersection(first(row))) / K


def recall(row: PlainRow) -> float:
    return len(row.relevant.intersection(first(row))) / len(row.relevant) if row.relevant else 0.0


def reciprocal_rank(row: PlainRow) -> float:
    return max([1 / rank for rank, label in ranked(row) if label in row.relevant], default=0.0)


def discounted_gain(row: PlainRow) -> float:
    n_ideal = min(K, len(row.relevant))
    if n_ideal == 0:
        return 0.0
    gain = sum(1 / math.log2(rank + 1) for rank, label in ranked(row) if label in row.relevant)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, n_ideal + 1))


def hit(row: PlainRow) -> float:
    return float(not row.relevant.isdisjoint(first(row)))


def ranked(row: PlainRow) -> list[tuple[int, int]]:
    return [*enumerate(first(row), 1)]


LOOPS: dict[str, Callable[[PlainRow], float]] = {
    "p@2": precision,
    "r@2": recall,
    "mrr@2": reciprocal_rank,
    "ndcg@2": discounted_gain,
    "hit@2": hit,
}


@pytest.mark.parametrize("name", LOOPS)
def test_measure_obeys_the_laws_that_packages_check(name: str) -> None:
    check_measure(name, LOOPS[name], examples=10)


@pytest.mark.parametrize(
    ("measure", "name", "data"),
    [
        (NOVELTY, "rec-novelty@2", r"; label_data \{'popularity': \[[0-9., ]+\]\}"),
        (DECAYED, "session-recall(half=7)@2", r"; row_data \{'age': \[[0-9., ]+\]\}"),
        (FMAX, "cafa-fmax", r"; hierarchy \[\([0-9]+, [0-9]+\).*\]"),
        ("p@2", "p@2", ""),
    ],
    ids=["label_data", "row_data", "hierarchy", "none"],
)
def test_broken_law_is_shown_with_the_data_that_the_measure_reads(
    measure: Measure | str, name: str, data: str
) -> None:
    law = "the value is that of the oracle: 0.0, by the oracle 99.0"
    problem = rf"relevant labels \[.*\]; scores \[.*\]; [0-9]+ labels{data}"
    message = rf"{re.escape(name)}: {law}; problem: {problem}"
    with pytest.raises(AssertionError) as error:
        check_measure(measure, lambda rows: 99.0, examples=2)
    assert re.fullmatch(message, str(error.value).splitlines()[0])


def test_errors_of_an_oracle_are_shown_as_a_broken_law() -> None:
    message = r"^p@2: the value is that of the oracle: ZeroDivisionError: division by zero; problem"
    with pytest.raises(AssertionError, match=message):
        check_measure("p@2", lambda row: 1 / 0, examples=2)


@pytest.mark.parametrize("name", ["auc.micro", "f1.macro@2"])
def test_measures_without_values_of_rows_cannot_be_checked(name: str) -> None:
    message = f"^{re.escape(name)}: check_measure is for measures with values of rows$"
    with pytest.raises(ValueError, match=message):
        check_measure(name, lambda row: 0.0, examples=2)


def test_a_value_beside_an_undefined_one_is_a_difference() -> None:
    def no_value(row: PlainRow) -> float:
        return math.nan

    with pytest.raises(AssertionError, match="nan"):
        check_measure("p@2", no_value, examples=10)
