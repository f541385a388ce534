"""Rows that states are fed with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.conftest import csr
from xmleval.records import Block, Ranking, Truth
from xmleval.states.label_sets import LabelSets
from xmleval.states.row_sums import RowSums
from xmleval.view.decision import Decision
from xmleval.view.view import View

N_LABELS = 40
PRED, TOP = Decision("pred"), Decision("top", 3.0)


@dataclass
class Data:
    """Rows as plain lists, of very different numbers of relevant labels and depths."""

    truth: list[list[int]]
    listed: list[list[int]]
    pred: list[list[int]]
    weight: Any
    values: list[Any]
    weighted: bool

    @property
    def n(self) -> int:
        return len(self.truth)

    def view(self, lo: int, hi: int) -> View:
        ptr, labels = csr(self.listed[lo:hi], np.int32)
        block = Block(
            Truth(*csr(self.truth[lo:hi], np.int32)),
            Ranking(ptr, labels, None, np.diff(ptr)),
            Truth(*csr(self.pred[lo:hi], np.int32)),
            self.weight[lo:hi] if self.weighted else None,
            lo,
        )
        return View(block, N_LABELS, None, PRED)


def random_weights(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Instance weights of all sizes that blocks may have, and some of 0."""
    weight = np.minimum(2.0 ** rng.integers(-50, 1, n) * (1.0 + rng.random(n)), 1.0)
    return np.where(rng.random(n) < 0.2, 0.0, weight)


def random_data(seed: int, n: int, weighted: bool = False) -> Data:
    rng = np.random.default_rng(seed)

    def some(sizes: list[int]) -> list[int]:
        found: list[int] = rng.permutation(N_LABELS)[: rng.choice(sizes)].tolist()
        return found

    values = [
        rng.random(n),
        np.where(rng.random(n) < 0.3, math.nan, 2.0 ** rng.integers(-50, 40, n) * rng.random(n)),
        np.full(n, math.nan),
    ]
    weight = random_weights(rng, n)
    return Data(
        [sorted(some([0, 0, 1, 2, 5, 30, N_LABELS])) for _ in range(n)],
        [some([0, 1, 4, 9, N_LABELS]) for _ in range(n)],
        [sorted(some([0, 1, 3, 20])) for _ in range(n)],
        weight,
        values,
        weighted,
    )


def add(state: Any, data: Data, lo: int, hi: int) -> Any:
    view = data.view(lo, hi)
    if isinstance(state, RowSums):
        state.prepare([column[lo:hi] for column in data.values], view.block.weight, lo)()
    elif isinstance(state, LabelSets):
        state.prepare(view.block.truth)()
    else:
        state.prepare(view)()
    return state
