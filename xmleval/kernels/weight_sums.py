"""Sums of weights by key, in pairs of float64 (high, low) with about twice the precision.

Weights are 0 or within 2^-50..1. The high part is a sum rounded to float64; the low part has the
rest, of 53 bits, so that no order of additions shows. A table holds sums by key, float64 (n, w +
2): the w words of the key, by which its rows rise without repeats, such as a label and a score,
then a sum above 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel
from xmleval.kernels.products import multiply

SUM = 2  # numbers
LEAST = 2.0**-51  # below the least weight: a smaller difference of sums is what rounding leaves
MOST = 2.0**62


@kernel
def joined(high: float, low: float) -> tuple[Any, Any]:
    """Return a sum of two numbers as a pair (Dekker 1971); the second is not the larger one."""
    total = high + low
    return total, low - (total - high)


@kernel
def two_sum(a: float, b: float) -> tuple[Any, Any]:
    """Return the exact sum of two numbers as a pair, after Knuth."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def plus(high: float, low: float, added: float, added_low: float) -> tuple[Any, Any]:
    """Return the sum of two pairs."""
    high, error = two_sum(high, added)
    low, last = two_sum(low, added_low)
    high, error = joined(high, error + low)
    return joined(high, error + last)


@kernel
def minus(high: float, low: float, part: float, part_low: float) -> tuple[Any, Any]:
    """Return a sum of weights less that of some of them."""
    high, low = plus(high, low, -part, -part_low)
    return (high, low) if high >= LEAST else (0.0, 0.0)


@kernel
def times(high: float, low: float, factor: float, factor_low: float) -> tuple[Any, Any]:
    """Return the product of two pairs."""
    product, error = multiply(high, factor)
    return joined(product, error + (high * factor_low + low * factor))


@kernel
def add_to(total: Floats, high: float, low: float) -> None:
    """Add a pair to a sum, float64 (2,)."""
    total[0], total[1] = plus(total[0], total[1], high, low)


@kernel
def add_weights(weight: Floats, count: Floats, total: Floats) -> None:
    """Add weights, each so many times; float64 (n,), (n,), (2,)."""
    for i in range(weight.size):
        high, low = multiply(weight[i], count[i])
        add_to(total, high, low)


@kernel
def add_table(table: Floats, total: Floats) -> None:
    """Add all sums of a table; float64 (n, w + 2), (2,)."""
    at = table.shape[1] - SUM
    for i in range(table.shape[0]):
        add_to(total, table[i, at], table[i, at + 1])


@kernel
def is_below(row: Floats, bound: Floats, n_words: int) -> bool:
    """Return whether the key of a row is below that of another."""
    for word in range(n_words):
        if row[word] != bound[word]:
            below: bool = row[word] < bound[word]
            return below
    return False


@kernel
def is_table(table: Floats, before: Floats, n_words: int) -> bool:
    """Whether keys rise, from a row before on, float64 (w + 2,) or (0,), and sums are above 0.

    NaN is neither.
    """
    for i in range(table.shape[0]):
        for word in range(n_words):
            if np.isnan(table[i, word]):
                return False
        high = table[i, n_words]
        low = table[i, n_words + 1]
        if not (0.0 < high <= MOST and -high <= low <= high):
            return False
        if (i or before.size) and not is_below(table[i - 1] if i else before, table[i], n_words):
            return False
    return True


@kernel
def tabulate(words: Floats, order: Ints, weight: Floats, count: Floats, table: Floats) -> int:
    """Add up the weights of entries by key; return the number of distinct keys.

    words : float64 (w, n), keys of entries; order : int64 (m,), the entries to add, keys rising
    weight : float64 (n,), above 0; count : float64 (n,), how often each counts, or (0,) for once
    table : float64 (m, w + 2), its first rows are written
    """
    n_words = words.shape[0]
    n = 0
    for p in order:
        repeats = n > 0
        for word in range(n_words):
            repeats = repeats and table[n - 1, word] == words[word, p]
        if not repeats:
            for word in range(n_words):
                table[n, word] = words[word, p]
            table[n, n_words] = table[n, n_words + 1] = 0.0
            n += 1
        high, low = multiply(weight[p], count[p]) if count.size else (weight[p], 0.0)
        add_to(table[n - 1, n_words:], high, low)
    return n


@kernel
def merge_tables(a: Floats, b: Floats, out: Floats) -> int:
    """Add two tables by key; return the number of rows that are written, at most those of both."""
    i = 0
    j = 0
    n = 0
    width = out.shape[1]
    n_words = width - SUM
    while i < a.shape[0] or j < b.shape[0]:
        of_a = j == b.shape[0] or (i < a.shape[0] and not is_below(b[j], a[i], n_words))
        of_b = i == a.shape[0] or (j < b.shape[0] and not is_below(a[i], b[j], n_words))
        for column in range(width):
            out[n, column] = a[i, column] if of_a else b[j, column]
        if of_a and of_b:
            add_to(out[n, n_words:], b[j, n_words], b[j, n_words + 1])
        i = i + of_a
        j = j + of_b
        n = n + 1
    return n
