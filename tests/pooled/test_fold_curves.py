"""Scores counted by value give what sorted scores give, without each fold."""

from __future__ import annotations

import numpy as np
import pytest

from xmleval.pooled.fold_curves import sweep_pile_folds, sweep_value_folds
from xmleval.pooled.piles import Pile
from xmleval.pooled.values import Values
from xmleval.threads import Work

N_FOLDS = 4
WORK = Work(1 << 30, 2)


def values_of(scores: np.ndarray, packed: bool) -> Values:
    values = Values()
    values.add(scores)
    if packed:
        values.pack(WORK)
    return values


def pile_of(scores: np.ndarray) -> Pile:
    pile = Pile()
    pile.add([scores])
    return pile


@pytest.mark.parametrize("level", [None, 0.5, 0.5009765625, -1.0, 2.0])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("n", "width", "digits"),
    [(30, 1.0, 8), (700, 0.004, 8), (700, 0.004, 4), (3, 0.004, 3), (200, 1.0, 2)],  # several or one bucket
)
def test_values_and_piles_agree(n: int, width: float, digits: int, packed: bool, level: float | None) -> None:
    rng = np.random.default_rng(n)
    sides = [
        [np.round(0.5 + width * rng.random(size), digits).astype(np.float32) for size in sizes]
        for sizes in (rng.integers(0, n, N_FOLDS), rng.integers(n, 2 * n, N_FOLDS))
    ]
    sides[0][1] = sides[0][1][:0]
    unlisted = rng.integers(0, 5, (2, N_FOLDS))
    for alone in (True, False):
        values = [[values_of(own, packed and not fold) for fold, own in enumerate(side)] for side in sides]
        found = sweep_value_folds(values[0], values[1], unlisted, level, WORK, alone)
        piles = [[pile_of(own) for own in side] for side in sides]
        want = sweep_pile_folds(piles[0], piles[1], unlisted, level, WORK, alone)
        assert found.pairs == want.pairs
        assert alone or np.array_equal(found.precision, want.precision)
