"""The laws that a measure of a package must obey, on measures of the table, beside plain loops."""

import math
from collections.abc import Callable

import pytest

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
