"""The oracle of intervals: all ways to complete truncated lists, and the plain formulas.

An unlisted label of a row may take any score up to the row's last (least) one, in a row without
scores any; below every stored score there is always room, above them only where none is infinite.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tests.oracles.metrics import NAN, TIE_WEIGHT, Case, convention, mean, ranking_row, row_weights

ROWS = ("coverage", "coverage_error", "ranking_loss", "lrap", "auc.samples")
POOLED = ("auc.micro",)
Interval = tuple[float, float]
Row = list[tuple[int, float]]


class FreeCell(NamedTuple):
    """An unlisted label of a row, and the places that it may take."""

    row: int
    label: int
    places: range


def scored(row: list[tuple[int, float | None]]) -> Row:
    """A list with scores; a list without them gets distinct ones, by position."""
    return [(j, float(-position) if s is None else s) for position, (j, s) in enumerate(row)]


def scored_rows(case: Case) -> list[Row]:
    assert case.listed is not None
    return [scored(row) for row in case.listed]


def unlisted(row: Row, n_labels: int) -> list[int]:
    """The labels that a row does not list."""
    listed = {j for j, _ in row}
    return [j for j in range(n_labels) if j not in listed]


def orders(case: Case, i: int) -> Iterator[Row]:
    """Every complete ranking of a row; unlisted labels tie with the last one or are below it."""
    row = scored_rows(case)[i]
    levels = sorted({s for _, s in row})
    ranked = [(j, float(levels.index(s))) for j, s in row]
    free = unlisted(row, case.n_labels)
    for depths in itertools.product(range(len(free) + 1), repeat=len(free)):
        completion = [(j, -float(depth)) for j, depth in zip(free, depths, strict=True)]
        yield ranked + completion


def row_ends(name: str, case: Case, i: int) -> Interval:
    """Smallest and largest value of a row; nan where it is skipped."""
    values = []
    for order in orders(case, i):
        complete = Case(
            truth=[case.truth[i]],
            n_labels=case.n_labels,
            listed=[[*order]],
            conventions=case.conventions,
        )
        values.append(ranking_row(name.removesuffix(".samples"), complete, 0))
    return min(values), max(values)


def places(case: Case) -> tuple[list[dict[int, int]], list[FreeCell]]:
    """Places of the listed labels of all rows: integers in the order of scores; and free cells.

    Between neighbours, below all and above all there are as many places as there are unlisted
    cells.
    """
    rows = scored_rows(case)
    levels = sorted({s for row in rows for _, s in row})
    n_free = sum(case.n_labels - len(row) for row in rows)
    step = n_free + 1
    place = {level: n * step for n, level in enumerate(levels, 1)}
    highest = len(levels) * step
    if math.inf not in levels:
        highest += n_free
    listed = [{j: place[s] for j, s in row} for row in rows]
    free = []
    for i, row in enumerate(rows):
        last = min(listed[i].values(), default=highest)
        free += [FreeCell(i, j, range(1, last + 1)) for j in unlisted(row, case.n_labels)]
    return listed, free


def pooled_ends(case: Case) -> dict[str, Interval]:
    """Smallest and largest area under the curve of all cells."""
    listed, free = places(case)
    grid = [[row.get(j, 0) for j in range(case.n_labels)] for row in listed]
    ties = str(convention(case, "auc_ties"))
    areas: list[float] = []
    for completion in itertools.product(*(cell.places for cell in free)):
        for cell, place in zip(free, completion, strict=True):
            grid[cell.row][cell.label] = place
        areas.append(area_of_grid(grid, case.truth, ties))
    return {"auc.micro": (min(areas), max(areas))}


def area_of_grid(grid: list[list[int]], truth: list[set[int]], ties: str) -> float:
    """Area under the curve of all cells."""
    relevant = []
    irrelevant = []
    for row, y in zip(grid, truth, strict=True):
        for j, place in enumerate(row):
            if j in y:
                relevant.append(place)
            else:
                irrelevant.append(place)
    return area(relevant, irrelevant, ties)


def area(relevant: list[int], irrelevant: list[int], ties: str) -> float:
    """Number of pairs f+ > f- plus credit for those f+ = f-, over that of all pairs."""
    pairs = [(u, v) for u in relevant for v in irrelevant]
    if not pairs:
        return NAN
    n_right = sum(u > v for u, v in pairs)
    n_tied = sum(u == v for u, v in pairs)
    return (n_right + TIE_WEIGHT[ties] * n_tied) / len(pairs)


def intervals(case: Case) -> dict[str, Interval]:
    """Intervals of every measure of rows; each row is completed by itself."""
    weights = row_weights(case)
    intervals = {}
    for name in ROWS:
        ends = [row_ends(name, case, i) for i in range(len(case.truth))]
        lowest = mean([low for low, _ in ends], weights)
        highest = mean([high for _, high in ends], weights)
        intervals[name] = (lowest, highest)
    return intervals


def extreme(case: Case, best: bool) -> Case:
    """The best or the worst completion of all rows.

    At best, unlisted relevant labels share the last score of their row and irrelevant ones are
    below all. At worst, irrelevant ones share the last score, and relevant ones are below all, each
    on a place without ties.
    """
    assert case.listed is not None
    rows = scored_rows(case)
    scores = [s for row in rows for _, s in row]
    finite = [s for s in scores if math.isfinite(s)]
    floor = min(finite, default=0.0) - 1
    ceiling = math.inf if math.inf in scores else max(finite, default=0.0) + 1
    listed: list[list[tuple[int, float | None]]] = []
    for i, (row, y) in enumerate(zip(rows, case.truth, strict=True)):
        last = min((s for _, s in row), default=ceiling)
        complete: list[tuple[int, float | None]] = [*row]
        for n, j in enumerate(unlisted(row, case.n_labels)):
            if (j in y) == best:
                complete.append((j, last))
            elif best:
                complete.append((j, floor - 1))
            else:
                complete.append((j, floor - 1 - i * case.n_labels - n))
        listed.append(complete)
    return replace(case, listed=listed)
