"""The oracle of intervals: every way to complete truncated lists, one after another, and the plain formulas.

An unlisted label of a row may take any score up to the row's last (least) one, in a row without scores any;
below every stored score there is always room, above them only where none is infinite.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from tests.oracles.metrics import NAN, TIE_WEIGHT, Case, convention, mean, ranking_row, row_weights

ROWS = ("coverage", "coverage_error", "ranking_loss", "lrap", "auc.samples")
POOLED = ("auc.micro",)
Interval = tuple[float, float]
Row = list[tuple[int, float]]


def scored(row: list[tuple[int, float | None]]) -> Row:
    """A list with scores; where it has none, its places are distinct ones."""
    return [(j, float(-place) if s is None else s) for place, (j, s) in enumerate(row)]


def orders(case: Case, i: int) -> Iterator[Row]:
    """Every complete ranking of a row: unlisted labels tie with the last one, or below in any order."""
    assert case.listed is not None
    listed = scored(case.listed[i])
    levels = sorted({s for _, s in listed})
    known = [(j, float(levels.index(s))) for j, s in listed]
    missing = [j for j in range(case.n_labels) if j not in dict(known)]
    for depths in itertools.product(range(len(missing) + 1), repeat=len(missing)):
        yield [*known, *((j, -float(depth)) for j, depth in zip(missing, depths, strict=True))]


def row_ends(name: str, case: Case, i: int) -> Interval:
    """Smallest and largest value of a row, nan where it is left out."""
    found = []
    for row in orders(case, i):
        complete = Case(
            truth=[case.truth[i]], n_labels=case.n_labels, listed=[[*row]], conventions=case.conventions
        )
        found.append(ranking_row(name.removesuffix(".samples"), complete, 0))
    return min(found), max(found)


def places(case: Case) -> tuple[list[list[dict[int, int]]], list[tuple[int, int, range]]]:
    """Scores of all rows as integers that sort alike, and of each unlisted cell the places it may take.

    Between neighbours, below all and above all there are as many places as there are unlisted cells.
    """
    assert case.listed is not None
    rows = [dict(scored(row)) for row in case.listed]
    levels = sorted({s for row in rows for s in row.values()})
    n_missing = sum(case.n_labels - len(row) for row in rows)
    step = n_missing + 1
    place = {s: (n + 1) * step for n, s in enumerate(levels)}
    top = len(levels) * step + (0 if levels and levels[-1] == math.inf else n_missing)
    known = [[{j: place[s]} for j, s in row.items()] for row in rows]
    free = []
    for i, row in enumerate(rows):
        last = min((place[s] for s in row.values()), default=top)
        free += [(i, j, range(1, last + 1)) for j in range(case.n_labels) if j not in row]
    return known, free


def pooled_ends(case: Case) -> dict[str, Interval]:
    """Smallest and largest area under the curve of all cells."""
    known, free = places(case)
    grid: list[list[int]] = [[0] * case.n_labels for _ in case.truth]
    for i, cells in enumerate(known):
        for j, place in (item for cell in cells for item in cell.items()):
            grid[i][j] = place
    found: list[float] = []
    for chosen in itertools.product(*(options for _, _, options in free)):
        for (i, j, _), place in zip(free, chosen, strict=True):
            grid[i][j] = place
        placed = [
            (j in y, row[j]) for row, y in zip(grid, case.truth, strict=True) for j in range(case.n_labels)
        ]
        good, bad = ([place for hit, place in placed if hit == kind] for kind in (True, False))
        found.append(area(good, bad, str(convention(case, "auc_ties"))))
    return {"auc.micro": (min(found), max(found))}


def area(good: list[int], bad: list[int], ties: str) -> float:
    """Number of pairs f+ > f- plus credit for those f+ = f-, over that of all pairs."""
    right = sum(u > v for u in good for v in bad)
    level = sum(u == v for u in good for v in bad)
    return (right + TIE_WEIGHT[ties] * level) / (len(good) * len(bad)) if good and bad else NAN


def intervals(case: Case) -> dict[str, Interval]:
    """Intervals of every measure of rows: completions of rows are chosen row by row."""
    found = {}
    for name in ROWS:
        ends = [row_ends(name, case, i) for i in range(len(case.truth))]
        weights = row_weights(case)
        found[name] = mean([a for a, _ in ends], weights), mean([b for _, b in ends], weights)
    return found


def extreme(case: Case, best: bool) -> Case:
    """The completion in which unlisted labels of one class share the last score, the others are below all.

    The relevant ones share it at best; at worst they are below the irrelevant ones, each on its own place.
    """
    assert case.listed is not None
    finite = [s for row in case.listed for _, s in scored(row) if math.isfinite(s)]
    floor = min(finite, default=0.0) - 1
    ceiling = math.inf
    if all(s != math.inf for row in case.listed for _, s in scored(row)):
        ceiling = max(finite, default=0.0) + 1
    rows: list[list[tuple[int, float | None]]] = []
    for i, (row, y) in enumerate(zip(case.listed, case.truth, strict=True)):
        listed = scored(row)
        last = min((s for _, s in listed), default=ceiling)
        missing = [j for j in range(case.n_labels) if j not in dict(listed)]
        complete: list[tuple[int, float | None]] = [*listed]
        for n, j in enumerate(missing):
            below = floor - 1 - (0 if best else i * case.n_labels + n)
            complete.append((j, last if (j in y) == best else below))
        rows.append(complete)
    return replace(case, listed=rows)
