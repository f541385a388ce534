"""LIMO takes the steps of its algorithm, written plainly."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from scripts.limo.__main__ import main
from scripts.limo.learner import fit_limo

MASK = 2**64 - 1


class Stream:
    """SplitMix64 (Steele, Lea & Flood 2014) in Python's integers."""

    def __init__(self, state: int) -> None:
        self.state = state

    def draw(self, n: int) -> int:
        """Return one of 0..n-1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        bits = self.state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
        return int(((bits ^ (bits >> 31)) >> 11) / 2**53 * n)

    def choose(self, items: list[int]) -> int:
        return items[self.draw(len(items))]

    def weighted(self, weights: list[int]) -> int:
        """Return the first item whose cumulative weight exceeds a draw."""
        total = self.draw(sum(weights))
        return int(np.searchsorted(np.cumsum(weights), total, side="right"))


def literal_limo(
    x: Any, y: Any, lam1: float, lam2: float, eta: float, epochs: int, seed: int
) -> Any:
    """Return the average of all iterates; every step touches and adds all weights."""
    m, d = x.shape
    n_labels = y.shape[1]
    rng = np.random.default_rng(seed)
    w = rng.normal(0.0, 1 / math.sqrt(d), (n_labels, d)).T.copy()
    state = rng.integers(2**64, size=1, dtype=np.uint64)[0]
    stream = Stream(int(state))
    relevant = [np.flatnonzero(row).tolist() for row in y]
    irrelevant = [np.flatnonzero(row == 0).tolist() for row in y]
    positive = [np.flatnonzero(column).tolist() for column in y.T]
    negative = [np.flatnonzero(column == 0).tolist() for column in y.T]
    row_weights = [len(a) * len(b) for a, b in zip(relevant, irrelevant, strict=True)]
    label_weights = [len(a) * len(b) for a, b in zip(positive, negative, strict=True)]
    n_steps = epochs * m * max(round(y.sum() / m), 1)
    total = np.zeros_like(w)
    for _ in range(n_steps):
        i = stream.weighted(row_weights)
        u = stream.choose(relevant[i])
        v = stream.choose(irrelevant[i])
        if w[:, u] @ x[i] - w[:, v] @ x[i] < 1:
            w[:, u] -= eta * (-lam1 * x[i] + w[:, u])
            w[:, v] -= eta * (lam1 * x[i] + w[:, v])
        j = stream.weighted(label_weights)
        a = stream.choose(positive[j])
        b = stream.choose(negative[j])
        if w[:, j] @ x[a] - w[:, j] @ x[b] < 1:
            w[:, j] -= eta * (lam2 * (x[b] - x[a]) + w[:, j])
        total += w
    return total / n_steps


@pytest.mark.parametrize(("lam1", "lam2", "eta"), [(1.0, 1.0, 0.3), (100.0, 3.0, 0.01)])
def test_fit_limo_takes_the_steps_of_the_algorithm(lam1: float, lam2: float, eta: float) -> None:
    rng = np.random.default_rng(int(lam1))
    x = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.4)
    noise = rng.random((30, 6))
    shares = rng.choice([0.1, 0.5, 0.9], (30, 1))
    y = (noise < shares).astype(int)
    # rows and columns that are full, empty or neither
    y[0] = 0
    y[1] = 1
    y[:, 0] = rng.integers(2)
    options: dict[str, Any] = {"lam1": lam1, "lam2": lam2, "eta": eta, "epochs": 10, "seed": 3}
    fit = fit_limo(sp.csr_array(x), sp.csr_array(y), **options)
    expected = literal_limo(x, y, **options)
    np.testing.assert_allclose(fit.average, expected, rtol=0, atol=1e-10 * np.abs(fit.last).max())


def test_limo_asks_for_matplotlib_before_it_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(
        "scripts.limo.synthetic.run_synthetic", lambda *arguments: pytest.fail("it trains")
    )
    assert main(["synthetic", "--output", str(tmp_path / "limo")]) == 2
    error = "error: a figure of the results needs matplotlib: pip install 'xmleval[plot]'\n"
    assert capsys.readouterr().err == error
    assert not (tmp_path / "limo").exists()
