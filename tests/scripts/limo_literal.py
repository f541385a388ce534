"""LIMO and its baselines, written plainly from their definitions and independent of the tested code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

MASK = 2**64 - 1


class Stream:
    """SplitMix64 (Steele, Lea & Flood 2014) in Python's integers."""

    def __init__(self, state: int) -> None:
        self.state = state

    def draw(self, n: int) -> int:
        """One of 0..n-1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        bits = self.state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
        bits ^= bits >> 31
        return int((bits >> 11) / 2**53 * n)

    def choose(self, items: list[int]) -> int:
        return items[self.draw(len(items))]

    def weighted(self, weights: list[int]) -> int:
        """The first item whose sum of weights passes a draw."""
        drawn, total = self.draw(sum(weights)), 0
        for item, weight in enumerate(weights):
            total += weight
            if drawn < total:
                return item
        raise AssertionError


def limo(
    x: Any,
    y: Any,
    lam1: float,
    lam2: float,
    eta: float,
    epochs: int,
    uniform: bool,
    seed: int,
    idle: bool,
) -> tuple[Any, Any]:
    """The average of all iterates and the last one, both (d, l); every step touches and adds all weights."""
    (m, d), n_labels = x.shape, y.shape[1]
    rng = np.random.default_rng(seed)
    w = rng.normal(0.0, 1 / math.sqrt(d), (n_labels, d)).T.copy()
    stream = Stream(int(rng.integers(2**64, size=1, dtype=np.uint64)[0]))
    labels_of = [[j for j in range(n_labels) if y[i, j]] for i in range(m)]
    rows_of = [[i for i in range(m) if y[i, j]] for j in range(n_labels)]
    row_weights = [1 if uniform else len(r) * (n_labels - len(r)) for r in labels_of]
    label_weights = [len(c) * (m - len(c)) for c in rows_of]
    n_steps = epochs * m * max(round(sum(map(len, labels_of)) / m), 1)
    total = np.zeros_like(w)

    def step_of_labels() -> None:
        i = stream.weighted(row_weights)
        others = [j for j in range(n_labels) if j not in labels_of[i]]
        if not labels_of[i] or not others:
            return
        u, v = stream.choose(labels_of[i]), stream.choose(others)
        if w[:, u] @ x[i] - w[:, v] @ x[i] < 1:
            w[:, u] = w[:, u] - eta * (-lam1 * x[i] + w[:, u])
            w[:, v] = w[:, v] - eta * (lam1 * x[i] + w[:, v])

    def step_of_rows() -> None:
        if uniform:
            a = stream.weighted(row_weights)
            if not labels_of[a]:
                return
            j = stream.choose(labels_of[a])
        else:
            j = stream.weighted(label_weights)
        others = [i for i in range(m) if i not in rows_of[j]]
        if not others:
            return
        if not uniform:
            a = stream.choose(rows_of[j])
        b = stream.choose(others)
        if w[:, j] @ x[a] - w[:, j] @ x[b] < 1:
            w[:, j] = w[:, j] - eta * (lam2 * (x[b] - x[a]) + w[:, j])

    for _ in range(n_steps):
        if lam1 or idle:
            step_of_labels()
        if lam2 or idle:
            step_of_rows()
        total += w
    return total / n_steps, w


def mlknn(x_train: Any, y_train: Any, x: Any, k: int, s: float, own: bool = False) -> Any:
    """Posteriors of ML-kNN, label by label and count by count; with ``own``, x is x_train."""
    m, n_labels = y_train.shape

    def nearest(point: Any, without: int | None = None) -> list[int]:
        rows = [i for i in range(m) if i != without]
        return sorted(rows, key=lambda i: math.dist(point, x_train[i]))[:k]

    around = [nearest(x_train[i], i) for i in range(m)]
    found = np.empty((len(x), n_labels))
    for j in range(n_labels):
        prior = (s + sum(y_train[:, j])) / (2 * s + m)
        with_it, without = [0] * (k + 1), [0] * (k + 1)
        for i in range(m):
            votes = sum(y_train[n, j] for n in around[i])
            (with_it if y_train[i, j] else without)[votes] += 1
        for row, point in enumerate(x):
            votes = sum(y_train[n, j] for n in nearest(point, row if own else None))
            yes = prior * (s + with_it[votes]) / (s * (k + 1) + sum(with_it))
            no = (1 - prior) * (s + without[votes]) / (s * (k + 1) + sum(without))
            found[row, j] = yes / (yes + no)
    return found


def expected_f1(predicted: set[int], sets: list[set[int]]) -> float:
    """Mean F1 of a set with those given, 1 for two empty ones."""
    both = [(len(predicted & true), len(predicted) + len(true)) for true in sets]
    return sum(2 * hits / size if size else 1.0 for hits, size in both) / len(sets)


def subsets(n_labels: int) -> Iterator[set[int]]:
    for size in range(n_labels + 1):
        yield from map(set, itertools.combinations(range(n_labels), size))
