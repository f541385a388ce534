"""Groups of rows that the jackknife leaves out one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bytes, Ints
from xmleval.kernels.jit import kernel

GROUP_BITS = 5
N_GROUPS = 1 << GROUP_BITS
MIX, SHIFT_1, SHIFT_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(30), np.uint64(27)
MULTIPLY_1, MULTIPLY_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TOP = np.uint64(64 - GROUP_BITS)


@kernel
def group_of(number: Any) -> Any:
    """Return the group of a number, by the finaliser of SplitMix64 (Steele, Lea & Flood 2014, OOPSLA)."""
    mixed = np.uint64(number) + MIX
    mixed = (mixed ^ (mixed >> SHIFT_1)) * MULTIPLY_1
    mixed = (mixed ^ (mixed >> SHIFT_2)) * MULTIPLY_2
    return (mixed ^ (mixed >> np.uint64(31))) >> TOP


@kernel
def find_groups(numbers: Ints, groups: Bytes) -> None:
    """Find the jackknife group of each number, int64 (n,) and uint8 (n,)."""
    for i in range(numbers.size):
        groups[i] = np.uint8(group_of(numbers[i]))


@kernel
def point_to_rows(ptr: Ints, rows: Ints, taken_ptr: Ints) -> None:
    """Find where the entries of some rows start once they follow one another, int64 (n + 1,)."""
    taken_ptr[0] = 0
    for i in range(rows.size):
        taken_ptr[i + 1] = taken_ptr[i] + ptr[rows[i] + 1] - ptr[rows[i]]


@kernel
def take_entries(ptr: Ints, entries: NDArray[Any], rows: Ints, out: NDArray[Any]) -> None:
    """Copy the entries of some rows."""
    place = np.uint64(0)  # unsigned, which avoids Numba's negative-index check
    for i in range(rows.size):
        start, stop = np.uint64(ptr[rows[i]]), np.uint64(ptr[rows[i] + 1])
        for entry in range(stop - start):
            out[place + entry] = entries[start + entry]
        place += stop - start
