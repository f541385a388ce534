"""Exact sums of weights by key, and of products of such sums.

A sum of weights is three int64 limbs: the whole part, then two fractions of 52 bits. Weights are 0 or within
2^-50..1 and have 53 bits, so that sums are exact. A table holds sums by key, int64 (n, words + 3): the words
of the key, by which its rows rise without repeats, then the limbs of a sum above 0.
"""

from __future__ import annotations

import math

import numpy as np

from xmleval.kernels.fixed import BITS, MASK, ONE, split_term
from xmleval.kernels.jit import kernel
from xmleval.records import Floats, Ints

SUM = 3  # limbs
DIGIT, N_DIGITS = 26, 7  # bits, and digits of a sum
LOW = (1 << DIGIT) - 1
PRODUCTS = 16  # digits of a sum of products
UNCARRIED = 64  # products that can be added without a carry
PART, MOST_TIMES = 20, 1 << 36
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1  # the first is a key below all scores
MINUS_ZERO = -1  # what its key would be: it counts as 0


@kernel
def add_sum(total: Ints, whole: int, first: int, second: int, sign: int) -> None:
    """Add a sum, or subtract it (sign -1), where the difference is not negative; total : int64 (3,)."""
    second = total[2] + sign * second
    first = total[1] + sign * first + (second >> BITS)
    total[0] += sign * whole + (first >> BITS)
    total[1] = first & MASK
    total[2] = second & MASK


@kernel
def add_times(total: Ints, weight: float, times: int) -> None:
    """Add a weight several times, fewer than 2^56; total : int64 (3,)."""
    while times > 0:
        some = times if times < MOST_TIMES else times & ((1 << PART) - 1)
        whole, first, second, _ = split_term(weight)
        # fractions in two halves, so that products fit in 63 bits
        half = BITS // 2
        low = (second & LOW) * some
        high = (second >> half) * some + (low >> half)
        second = ((high & LOW) << half) + (low & LOW)
        low = (first & LOW) * some + (high >> half)
        high = (first >> half) * some + (low >> half)
        first = ((high & LOW) << half) + (low & LOW)
        add_sum(total, whole * some + (high >> half), first, second, 1)
        if times == some:
            break
        times >>= PART
        weight *= 1 << PART


@kernel
def sum_weights(weight: Floats, times: Ints, total: Ints) -> None:
    """Add weights, each several times; float64 (n,), int64 (n,), int64 (3,)."""
    for i in range(weight.size):
        add_times(total, weight[i], times[i])


@kernel
def compare(one: Ints, other: Ints, n_words: int) -> int:
    """Return -1, 0 or 1 as the key of one row is below, equal to or above that of another."""
    for word in range(n_words):
        if one[word] != other[word]:
            return -1 if one[word] < other[word] else 1
    return 0


@kernel
def tabulate(words: Ints, order: Ints, weight: Floats, times: Ints, table: Ints) -> int:
    """Add up the weights of entries by key; return the number of distinct keys.

    words : int64 (w, n), keys of entries; order : int64 (m,), the entries to add, keys rising
    weight : float64 (n,), above 0; times : int64 (n,), how often each counts, or (0,) for once
    table : int64 (m, w + 3), its first rows are written
    """
    n_words, n = words.shape[0], 0
    for p in order:
        known = n > 0
        for word in range(n_words):
            known = known and table[n - 1, word] == words[word, p]
        if not known:
            for word in range(n_words):
                table[n, word] = words[word, p]
            table[n, n_words:] = 0
            n += 1
        if times.size:
            add_times(table[n - 1, n_words:], weight[p], times[p])
        else:
            whole, first, second, _ = split_term(weight[p])
            add_sum(table[n - 1, n_words:], whole, first, second, 1)
    return n


@kernel
def merge_tables(one: Ints, other: Ints, n_words: int, out: Ints) -> int:
    """Add two tables by key; return the number of rows that are written, at most those of both."""
    i, j, n = 0, 0, 0
    while i < one.shape[0] or j < other.shape[0]:
        if i == one.shape[0]:
            order = 1
        elif j == other.shape[0]:
            order = -1
        else:
            order = -1 if one[i, 0] < other[j, 0] else 1
            if one[i, 0] == other[j, 0]:
                order = compare(one[i], other[j], n_words)
        if order <= 0:
            out[n] = one[i]
        else:
            out[n] = other[j]
        if order == 0:
            add_sum(out[n, n_words:], other[j, n_words], other[j, n_words + 1], other[j, n_words + 2], 1)
        i += order <= 0
        j += order >= 0
        n += 1
    return n


@kernel
def find_word(table: Ints, word: int) -> int:
    """Return the first row of a table whose first word is not below a word."""
    low, high = 0, table.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if table[middle, 0] < word:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def total_of(table: Ints, total: Ints) -> None:
    """Add all sums of a table; int64 (n, w + 3), (3,)."""
    n_words = table.shape[1] - SUM
    for i in range(table.shape[0]):
        add_sum(total, table[i, n_words], table[i, n_words + 1], table[i, n_words + 2], 1)


@kernel
def sums_before(table: Ints, out: Ints) -> None:
    """Write the sum of the rows before each row, and of all; int64 (n, w + 3), (n + 1, 3)."""
    out[0], n_words = 0, table.shape[1] - SUM
    for i in range(table.shape[0]):
        out[i + 1] = out[i]
        add_sum(out[i + 1], table[i, n_words], table[i, n_words + 1], table[i, n_words + 2], 1)


@kernel
def by_first_word(table: Ints, out: Ints) -> int:
    """Add up the sums of keys with the same first word; return the number of rows written.

    table : int64 (n, w + 3); out : int64 (n, 4), written
    """
    n, n_words = 0, table.shape[1] - SUM
    for i in range(table.shape[0]):
        if n == 0 or out[n - 1, 0] != table[i, 0]:
            out[n, 0] = table[i, 0]
            out[n, 1:] = 0
            n += 1
        add_sum(out[n - 1, 1:], table[i, n_words], table[i, n_words + 1], table[i, n_words + 2], 1)
    return n


@kernel
def is_table(table: Ints, before: Ints, low: Ints, high: Ints, total: Ints) -> bool:
    """Return whether a table is valid, and add its sums to a total; False where that passes ``high``.

    table : int64 (n, w + 3); before : int64 (w + 3,), a row that all rows follow, or (0,)
    low, high : int64 (w + 1,), what the words of keys and the whole part of the total may be
    total : int64 (3,), added to
    """
    n_words = low.size - 1
    for i in range(table.shape[0]):
        row = table[i]
        last = before if i == 0 else table[i - 1]
        if last.size and compare(last, row, n_words) >= 0:
            return False
        for word in range(n_words):
            if not low[word] <= row[word] <= high[word] or (word == n_words - 1 and row[word] == MINUS_ZERO):
                return False
        whole, first, second = row[n_words], row[n_words + 1], row[n_words + 2]
        if not 0 <= whole <= high[n_words] or first >> BITS or second >> BITS or not whole | first | second:
            return False
        add_sum(total, whole, first, second, 1)
        if not 0 <= total[0] <= high[n_words]:
            return False
    return True


@kernel
def labels_fit(relevant: Ints, irrelevant: Ints, truth: Ints, rows: Ints) -> bool:
    """Return whether no label has more listed than relevant or irrelevant entries; as in `sweep_labels`."""
    i, j, t = 0, 0, 0
    left = np.zeros((2, SUM), np.int64)
    while i < relevant.shape[0] or j < irrelevant.shape[0] or t < truth.shape[0]:
        label = HIGHEST
        if i < relevant.shape[0]:
            label = relevant[i, 0]
        if j < irrelevant.shape[0]:
            label = min(label, irrelevant[j, 0])
        if t < truth.shape[0]:
            label = min(label, truth[t, 0])
        left[0], left[1] = 0, rows
        if t < truth.shape[0] and truth[t, 0] == label:
            left[0] = truth[t, 1:]
            add_sum(left[1], truth[t, 1], truth[t, 2], truth[t, 3], -1)
            t += 1
        while i < relevant.shape[0] and relevant[i, 0] == label:
            add_sum(left[0], relevant[i, 2], relevant[i, 3], relevant[i, 4], -1)
            i += 1
        while j < irrelevant.shape[0] and irrelevant[j, 0] == label:
            add_sum(left[1], irrelevant[j, 2], irrelevant[j, 3], irrelevant[j, 4], -1)
            j += 1
        if left[0, 0] < 0 or left[1, 0] < 0:
            return False
    return True


@kernel
def round_sum(total: Ints) -> float:
    """Return a sum, int64 (3,), as float64, rounded once."""
    whole, first, second, scale = total[0], total[1], total[2], 1.0
    if whole == 0:
        whole, first, second, scale = first, second, 0, 1.0 / ONE
    if whole == 0:
        whole, first, scale = first, 0, scale / ONE
    if whole == 0:
        return 0.0
    for _ in range(2):  # 55 bits or more, so that a last bit for all that is left out rounds correctly
        shift = max(0, min(BITS, 62 - math.frexp(float(whole))[1]))  # 2^62 - 1 rounds to more bits
        whole = (whole << shift) | (first >> (BITS - shift))
        first = (first << shift) & MASK
        if shift == BITS:
            first, second = second, 0
        scale /= float(1 << shift)
    return float(whole | (first != 0) | (second != 0)) * scale


@kernel
def split_digits(total: Ints, digits: Ints) -> None:
    """Write the digits of a sum, lowest first; int64 (3,), int64 (7,)."""
    whole, first, second = total
    digits[0], digits[1] = second & LOW, second >> DIGIT
    digits[2], digits[3] = first & LOW, first >> DIGIT
    digits[4], digits[5], digits[6] = whole & LOW, (whole >> DIGIT) & LOW, whole >> (2 * DIGIT)


@kernel
def add_products(one: Ints, other: Ints, total: Ints) -> None:
    """Add a product to a sum of products without a carry; int64 (7,), (7,), (16,)."""
    for i in range(N_DIGITS):
        if one[i]:
            for j in range(N_DIGITS):
                total[i + j] += one[i] * other[j]


@kernel
def carry_products(total: Ints) -> None:
    """Carry between the digits of a sum of products, int64 (16,)."""
    for digit in range(PRODUCTS - 1):
        total[digit + 1] += total[digit] >> DIGIT
        total[digit] &= LOW


@kernel
def round_products(total: Ints) -> float:
    """Return a sum of products, int64 (16,), as float64, rounded once."""
    top = PRODUCTS - 1
    while top > 0 and total[top] == 0:
        top -= 1
    if total[top] == 0:
        return 0.0
    whole, rest, sticky = total[top] << DIGIT, np.int64(0), False
    for back in range(1, top + 1):
        digit = total[top - back]
        if back == 1:
            whole |= digit
        elif back <= 3:
            rest |= digit << (DIGIT * (3 - back))
        else:
            sticky |= digit != 0
    shift = 62 - math.frexp(float(whole))[1]
    whole = (whole << shift) | (rest >> (BITS - shift))
    sticky |= (rest & ((1 << (BITS - shift)) - 1)) != 0
    found: float = math.ldexp(float(whole | sticky), DIGIT * (top - 1) - shift - 4 * BITS)
    return found
