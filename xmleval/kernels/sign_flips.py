"""Sums of terms under random signs, for the randomisation test of paired values."""

from __future__ import annotations

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.kernels.jit import kernel, kernel_with_work

WORD = 64  # signs that one random number gives
BYTES = 8  # tables for a word, one for each byte of its signs
SUMS = 256  # entries of a table
STEP = np.uint64(0x9E3779B97F4A7C15)  # of Weyl's sequence in SplitMix64 (Steele, Lea & Flood 2014)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
U1 = np.uint64(1)
U8 = np.uint64(8)
U27 = np.uint64(27)
U30 = np.uint64(30)
U31 = np.uint64(31)
LAST = np.uint64(SUMS - 1)


@kernel
def mixed(bits: np.uint64) -> np.uint64:
    """Return the output of SplitMix64 for a state, uint64."""
    bits = (bits ^ (bits >> U30)) * FIRST
    bits = (bits ^ (bits >> U27)) * SECOND
    return bits ^ (bits >> U31)


@kernel
def fill_signed_sums(terms: Ints, start: int, tables: Ints) -> None:
    """Fill tables, int64 (8, 256), with sums of 8 terms each, from ``start``, by bits of signs."""
    for table in range(BYTES):
        tables[table, 0] = 0
        for bit in range(BYTES):
            term = terms[start + table * BYTES + bit]
            n_known = 1 << bit
            for signs in range(n_known):
                tables[table, n_known + signs] = tables[table, signs] + term
                tables[table, signs] -= term


def n_looked_up(terms: Ints, seed: np.uint64, first_draw: int, sums: Ints) -> int:
    """Return how many entries of tables are written and read."""
    return terms.size // WORD * BYTES * (SUMS + sums.size)


@kernel_with_work(n_looked_up)
def add_signed_sums(terms: Ints, seed: np.uint64, first_draw: int, sums: Ints) -> None:
    """Add the terms to each draw's sum, each with a random sign.

    The signs are a function of seed, draw and position alone, so that draws may be cut anywhere.

    terms : int64 (n,), n a multiple of 64; seed : uint64; sums : int64 (d,), draws from
        ``first_draw``
    """
    keys = np.empty(sums.size, np.uint64)
    for draw in range(sums.size):
        keys[draw] = mixed(seed + STEP * np.uint64(first_draw + draw + 1))
    tables = np.empty((BYTES, SUMS), np.int64)
    for word in range(terms.size // WORD):
        fill_signed_sums(terms, word * WORD, tables)
        place = STEP * np.uint64(word + 1)
        for draw in range(sums.size):
            bits = mixed(keys[draw] + place)
            total = np.int64(0)
            for table in range(BYTES):
                total += tables[table, bits & LAST]
                bits >>= U8
            sums[draw] += total
