"""Fields of lines of text, and numbers for the names in them.

Texts are as in `kernels.parsing`. A field is a part of a text, from its start to its stop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.checking import HASH
from xmleval.kernels.decimal import LOW, ODD, U0, U1, U8, U32, eight_bytes, scan_decimal
from xmleval.kernels.jit import kernel
from xmleval.kernels.parsing import NEWLINE, RETURN, SPACE

# between the fields of a line: ASCII blanks, as `str.split` knows them
IS_BLANK = np.zeros(256, np.bool_)
IS_BLANK[[9, 11, 12, 13, 28, 29, 30, 31, 32]] = True
QUOTE = 34
Hashes = NDArray[np.uint64]


@kernel
def find_fields(
    text: NDArray[np.uint8],
    n_lines: int,
    n_fields: int,
    kept: Ints,
    starts: Ints,
    stops: Ints,
    lines: Ints,
) -> tuple[int, int]:
    """Find the fields of lines with so many; return the numbers of such lines and of lines read.

    kept : int64 (n_fields,), the column of ``starts`` and ``stops`` for each field, or -1
    starts, stops : int64 (fields, n_lines), written; lines : int64 (n_lines,), written: the line of
        each
    """
    p = U0
    row = 0
    for line in range(n_lines):
        n = 0
        while True:
            while IS_BLANK[text[p]]:
                p += U1
            if text[p] == NEWLINE:
                break
            start = p
            while not IS_BLANK[text[p]] and text[p] != NEWLINE:
                p += U1
            if n == n_fields:
                return row, line
            if kept[n] >= 0:
                starts[kept[n], row] = start
                stops[kept[n], row] = p
            n += 1
        p += U1
        if n == n_fields:
            lines[row] = line
            row += 1
        elif n > 0:
            return row, line
    return row, n_lines


@kernel
def find_cells(
    text: NDArray[np.uint8],
    n_lines: int,
    delimiter: int,
    kept: Ints,
    starts: Ints,
    stops: Ints,
    lines: Ints,
) -> tuple[int, int]:
    """Do as `find_fields` for lines of CSV; blanks at their ends do not count.

    Quotes may be around a whole field that holds none; with others, a line is not read.
    """
    p = U0
    row = 0
    n_fields = kept.size
    for line in range(n_lines):
        begin = p
        end = p
        while text[end] != NEWLINE:
            end += U1
        p = end + U1
        while end > begin and (text[end - U1] == SPACE or text[end - U1] == RETURN):
            end -= U1
        if end == begin:
            continue
        n = 0
        at = begin
        while True:
            start = at
            is_quoted = at < end and text[at] == QUOTE
            if is_quoted:
                start = start + U1
                at = at + U1
                while at < end and text[at] != QUOTE:
                    at += U1
                if at == end or (at + U1 < end and text[at + U1] != delimiter):
                    return row, line
            else:
                while at < end and text[at] != delimiter and text[at] != RETURN:
                    at += U1
                if at < end and text[at] == RETURN:
                    return row, line
            if n == n_fields:
                return row, line
            if kept[n] >= 0:
                starts[kept[n], row] = start
                stops[kept[n], row] = at
            n += 1
            at += np.uint64(is_quoted)
            if at >= end:
                break
            at += U1
        if n != n_fields:
            return row, line
        lines[row] = line
        row += 1
    return row, n_lines


@kernel
def trim_fields(text: NDArray[np.uint8], starts: Ints, stops: Ints) -> int:
    """Trim blanks at both ends of fields, in place; return the number of empty fields."""
    n_empty = 0
    for i in range(starts.size):
        start = np.uint64(starts[i])
        stop = np.uint64(stops[i])
        while start < stop and IS_BLANK[text[start]]:
            start += U1
        while start < stop and IS_BLANK[text[stop - U1]]:
            stop -= U1
        starts[i] = start
        stops[i] = stop
        n_empty += start == stop
    return n_empty


@kernel
def scan_numbers(
    text: NDArray[np.uint8], starts: Ints, stops: Ints, scores: Floats, powers: NDArray[np.int16]
) -> None:
    """Read digits and power of ten of a number from every field, like `parsing.parse_entries`."""
    bits = scores.view(np.uint64)
    for i in range(starts.size):
        behind, digits, power = scan_decimal(text, np.uint64(starts[i]))
        if behind == U0 or behind != np.uint64(stops[i]):
            digits = np.uint64(starts[i])
            power = ODD
        bits[i] = digits
        powers[i] = power


@kernel
def are_equal(
    text: NDArray[np.uint8], start: int, other: NDArray[np.uint8], other_start: int, size: int
) -> bool:
    """Whether ``size`` bytes of two texts are equal; may read `SPARE` bytes more of both."""
    p = np.uint64(start)
    q = np.uint64(other_start)
    left = np.uint64(size)
    while left >= U8:
        if eight_bytes(text, p) != eight_bytes(other, q):
            return False
        p = p + U8
        q = q + U8
        left = left - U8
    if left == U0:
        return True
    differing = (eight_bytes(text, p) ^ eight_bytes(other, q)) << ((U8 - left) * U8)
    return bool(differing == U0)


@kernel
def find_runs(text: NDArray[np.uint8], starts: Ints, stops: Ints, lines: Ints, firsts: Ints) -> int:
    """Find where runs of equal fields on consecutive lines begin, and return how many there are.

    starts, stops, lines : int64 (n,); firsts : int64 (n + 1,), written: the first of each run, and
        n
    """
    n_runs = 0
    for i in range(starts.size):
        size = stops[i] - starts[i]
        is_next = i > 0 and lines[i] == lines[i - 1] + 1 and size == stops[i - 1] - starts[i - 1]
        if not (is_next and are_equal(text, starts[i], text, starts[i - 1], size)):
            firsts[n_runs] = i
            n_runs += 1
    firsts[n_runs] = starts.size
    return n_runs


@kernel
def hash_of(text: NDArray[np.uint8], start: int, stop: int, seed: np.uint64) -> np.uint64:
    """Return a hash of a field, uint64."""
    state = seed ^ (np.uint64(stop - start) * HASH)
    p = np.uint64(start)
    end = np.uint64(stop)
    while p < end:
        word = eight_bytes(text, p)
        if p + U8 > end:
            word &= (U1 << ((end - p) * U8)) - U1
        state = (state ^ word) * HASH
        state ^= state >> U32
        p += U8
    return state


@kernel
def hash_fields(
    text: NDArray[np.uint8], starts: Ints, stops: Ints, seed: np.uint64, hashes: Hashes
) -> None:
    """Hash fields; hashes : uint64 (n,), written."""
    for i in range(starts.size):
        hashes[i] = hash_of(text, starts[i], stops[i], seed)


@kernel
def add_name(
    text: NDArray[np.uint8],
    start: int,
    size: int,
    names: NDArray[np.uint8],
    ends: Ints,
    n_names: int,
) -> None:
    """Write a name behind the others; see `number_names`."""
    begin = ends[n_names]
    for p in range(size):
        names[begin + p] = text[start + p]
    ends[n_names + 1] = begin + size


@kernel
def number_by_hash(
    text: NDArray[np.uint8],
    starts: Ints,
    stops: Ints,
    hashes: Hashes,
    names: NDArray[np.uint8],
    ends: Ints,
    slots: Hashes,
    n_names: int,
    numbers: Ints,
) -> int:
    """Write numbers like `number_names`, but equate names of one hash slot that begin alike."""
    mask = np.uint64(slots.size - 1)
    for i in range(starts.size):
        slot = hashes[i] & mask
        tag = hashes[i] >> U32
        while slots[slot] != U0 and slots[slot] >> U32 != tag:
            slot = (slot + U1) & mask
        if slots[slot] == U0:
            add_name(text, starts[i], stops[i] - starts[i], names, ends, n_names)
            n_names += 1
            slots[slot] = (tag << U32) | np.uint64(n_names)
        numbers[i] = np.int64(slots[slot] & LOW) - 1
    return n_names


@kernel
def number_names(
    text: NDArray[np.uint8],
    starts: Ints,
    stops: Ints,
    hashes: Hashes,
    names: NDArray[np.uint8],
    ends: Ints,
    slots: Hashes,
    n_names: int,
    numbers: Ints,
) -> int:
    """Write the number of the name in every field; return the number of names.

    New names get the numbers from ``n_names`` on.

    All numbers are read from the table before any name is compared: a processor then waits for many
    at once, which is three times as fast where names do not fit in its caches.

    hashes : uint64 (n,), of the fields, see `hash_fields`
    names : uint8, the bytes of all names; ends : int64, where each ends, behind a 0
    slots : uint64 (2^b,), where its hash leads, the leading half of the hash and 1 + the name; 0 if
    free All have room for as many names more as there are fields. numbers : int64 (n,), written
    """
    n_names = number_by_hash(text, starts, stops, hashes, names, ends, slots, n_names, numbers)
    mask = np.uint64(slots.size - 1)
    for i in range(starts.size):
        begin = ends[numbers[i]]
        size = stops[i] - starts[i]
        if ends[numbers[i] + 1] - begin == size and are_equal(text, starts[i], names, begin, size):
            continue
        # another name begins with the same hash
        slot = hashes[i] & mask
        found = np.int64(-1)
        while slots[slot] != U0 and found < 0:
            name = np.int64(slots[slot] & LOW) - 1
            begin = ends[name]
            if ends[name + 1] - begin == size and are_equal(text, starts[i], names, begin, size):
                found = name
            slot = (slot + U1) & mask
        if found < 0:
            add_name(text, starts[i], size, names, ends, n_names)
            found = np.int64(n_names)
            n_names += 1
            slots[slot] = (hashes[i] >> U32 << U32) | np.uint64(n_names)
        numbers[i] = found
    return n_names


@kernel
def fill_slots(
    names: NDArray[np.uint8], ends: Ints, n_names: int, seed: np.uint64, slots: Hashes
) -> None:
    """Fill free slots with names; see `number_names`."""
    mask = np.uint64(slots.size - 1)
    for name in range(n_names):
        hashed = hash_of(names, ends[name], ends[name + 1], seed)
        slot = hashed & mask
        while slots[slot] != U0:
            slot = (slot + U1) & mask
        slots[slot] = (hashed >> U32 << U32) | np.uint64(name + 1)
