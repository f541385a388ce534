"""Decimal text to the nearest double.

Where digits and power of ten are both doubles, one operation is enough (Clinger, "How to read
floating point numbers accurately", 1990); the other numbers take the Eisel-Lemire algorithm
(Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51, 2021).

Texts are uint8 and end in a byte that belongs to no number and `SPARE` more that may be read.
Positions are uint64, which avoids Numba's negative-index check.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats
from xmleval.kernels.jit import Whole, kernel

# powers of ten between which a product can be a finite double
LEAST = -342
MOST = 308
EXACT = 22  # powers of ten up to here are doubles
SPARE = 8  # bytes behind a text that may be read
FAR = 30000  # largest power that is handled
ODD = -32768  # mark of a number that is not
PLUS = 43
MINUS = 45
POINT = 46
ZERO = np.uint8(48)
NINE = np.uint8(9)

TENS = np.array([float(10**q) for q in range(EXACT + 1)])
SCALES = np.array([10**n for n in range(9)], np.uint64)
# below it, n more digits fit in 62 bits
ROOM = np.array([10 ** (18 - n) for n in range(9)], np.uint64)
LOW = np.uint64(0xFFFFFFFF)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
TOP = np.uint64(1 << 63)
HIDDEN = np.uint64(1 << 52)  # the bit of a double's fraction that is not stored
GUARD = np.uint64(0x1FF)  # bits of a product below those that rounding uses: all ones leave it open
ONES = np.uint64(0x0101010101010101)
ZEROS = ONES * np.uint64(48)
SIXES = ONES * np.uint64(118)
TOPS = ONES * np.uint64(128)
PAIRS = np.uint64(0x000000FF000000FF)
UPPER_PAIRS = np.uint64(100 + (1000000 << 32))
LOWER_PAIRS = np.uint64(1 + (10000 << 32))
U0, U1, U2, U3, U4, U5, U6, U7, U8, U9, U10 = (np.uint64(n) for n in range(11))
U16, U24, U32, U40, U48, U52, U56, U63, U64 = (
    np.uint64(n) for n in (16, 24, 32, 40, 48, 52, 56, 63, 64)
)


def _powers_of_five() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 5^q as (high, low).

    They are truncated, so that a product is never too large. Reciprocals down to 5^-27 are rounded
    up: their products with 64 bits then show exactly which quotients are whole.
    """
    rows = []
    for q in range(LEAST, MOST + 1):
        power = 5 ** abs(q)
        if q < 0:
            leading = (1 << (power - 1).bit_length() + 127) // power + (q >= -27)
        else:
            leading = power << 128 >> power.bit_length()
        rows.append((leading >> 64, leading & (1 << 64) - 1))
    return np.array(rows, np.uint64)


FIVES = _powers_of_five()


@kernel
def multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the 128-bit product of two uint64 as (high, low)."""
    a_high = a >> U32
    a_low = a & LOW
    b_high = b >> U32
    b_low = b & LOW
    low = a_low * b_low
    middle = a_high * b_low + (low >> U32)
    cross = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> U32) + (cross >> U32), (cross << U32) | (low & LOW)


@kernel
def normalise(digits: np.uint64) -> tuple[np.uint64, int]:
    """Shift a uint64, not 0, to the left until its highest bit is set; return it and the shift."""
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if digits >> np.uint64(64 - step) == U0:
            digits = digits << np.uint64(step)
            shift += step
    return digits, shift


@kernel
def scale(digits: np.uint64, power: Whole) -> tuple[np.uint64, np.uint64]:
    """Return the leading 128 bits of normalised digits times 5^power, truncated, as (high, low).

    The low 64 bits of the table's entry are needed only where the high ones leave the rounding
    open.
    """
    row = power - LEAST
    high, low = multiply(digits, FIVES[row, 0])
    if high & GUARD == GUARD:
        carry, _ = multiply(digits, FIVES[row, 1])
        low = low + carry
        if low < carry:
            high = high + U1
    return high, low


@kernel
def nearest(digits: np.uint64, power: Whole) -> tuple[bool, np.uint64]:
    """Whether digits * 10^power is decided, and the bits of the nearest double: Eisel-Lemire.

    The steps are those of algorithm 1 of Lemire (2021). Undecided are the few products whose
    rounding needs more than 128 bits, and results that are not normal doubles.

    digits : uint64, not 0; power : int64
    """
    if power < LEAST or power > MOST:
        return False, U0
    digits, shift = normalise(digits)
    high, low = scale(digits, power)
    if low == ALL and not -27 <= power <= 55:  # truncation may have changed the bits above
        return False, U0

    # the leading 54 bits, one more than a double's, and the binary exponent: floor(log2(10^power))
    # and shifts
    upper = high >> U63
    fraction = high >> (upper + U9)
    exponent = ((217706 * power) >> 16) + 63 + np.int64(upper) - shift + 1023
    if exponent <= 0:  # subnormal
        return False, U0

    # round half to even; only small powers can be exactly half-way
    if low <= U1 and -4 <= power <= 23 and fraction & U3 == U1 and fraction << (upper + U9) == high:
        fraction = fraction & ~U1
    fraction = (fraction + (fraction & U1)) >> U1
    if fraction >= HIDDEN << U1:  # rounded up to the next power of two
        fraction = HIDDEN
        exponent += 1
    if exponent >= 2047:  # infinite
        return False, U0
    return True, (fraction & ~HIDDEN) | (np.uint64(exponent) << U52)


@kernel
def eight_bytes(text: NDArray[np.uint8], p: np.uint64) -> np.uint64:
    """Return text[p:p + 8] as one little-endian uint64; compiled to a single load."""
    return (
        np.uint64(text[p])
        | np.uint64(text[p + U1]) << U8
        | np.uint64(text[p + U2]) << U16
        | np.uint64(text[p + U3]) << U24
        | np.uint64(text[p + U4]) << U32
        | np.uint64(text[p + U5]) << U40
        | np.uint64(text[p + U6]) << U48
        | np.uint64(text[p + U7]) << U56
    )


@kernel
def leading_digits(text: NDArray[np.uint8], p: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return how many digits, up to eight, start at text[p], and their value.

    Eight bytes are handled as one number: digits are combined to pairs, pairs to fours, fours to
    eight.
    """
    digits = eight_bytes(text, p) ^ ZEROS
    non_digits = (
        (digits + SIXES) | digits
    ) & TOPS  # bytes that are no digit, and some behind the first
    n = (((non_digits & (U0 - non_digits)) >> U7) - U1 & ONES) * ONES >> U56
    if n == U0:
        return n, U0
    digits = digits << (U64 - U8 * n)
    digits = digits * U10 + (digits >> U8)
    return n, ((digits & PAIRS) * UPPER_PAIRS + ((digits >> U16) & PAIRS) * LOWER_PAIRS) >> U32


@kernel
def scan_decimal(text: NDArray[np.uint8], p: np.uint64) -> tuple[np.uint64, np.uint64, Whole]:
    """Split the number at text[p]: return the position behind it, its digits and power of ten.

    The highest bit of the digits is the sign. The position is 0 for anything but plain decimal
    notation with up to 18 significant digits. The caller checks what follows the number.
    """
    negative = text[p] == MINUS
    if negative or text[p] == PLUS:
        p += U1
    start = p
    digits = U0
    n = U8
    power: Whole = 0
    # one digit, a point: 1.3 times as fast for scores below 10
    if text[p + U1] == POINT and text[p] - ZERO <= NINE:
        digits = np.uint64(text[p] - ZERO)
        p += U1
        n = U1
    while n == U8:
        n, value = leading_digits(text, p)
        if digits >= ROOM[n]:
            return U0, U0, 0
        digits = digits * SCALES[n] + value
        p += n
    if text[p] == POINT:
        p += U1
        start += U1
        point = p
        n = U8
        while n == U8:
            n, value = leading_digits(text, p)
            if digits >= ROOM[n]:
                return U0, U0, 0
            digits = digits * SCALES[n] + value
            p += n
        power = -np.int64(p - point)
    if p == start:
        return U0, U0, 0
    if text[p] | 32 == 101:  # e
        p += U1
        falls = text[p] == MINUS
        if falls or text[p] == PLUS:
            p += U1
        n, value = leading_digits(text, p)
        if n == U0 or n > U4:
            return U0, U0, 0
        power += -np.int64(value) if falls else np.int64(value)
        p += n
    if power < -FAR or power > FAR:
        return U0, U0, 0
    return p, (digits | TOP if negative else digits), power


@kernel
def round_decimals(scores: Floats, powers: NDArray[np.int16], start: int) -> int:
    """Replace digits, as `scan_decimal` returns them, by the nearest doubles, in place.

    Returns the first entry from ``start`` on that is not decided here, such as those with power
    ODD, or s.

    scores : float64 (s,), at first the bits of the digits
    powers : int16 (s,), powers of ten
    """
    bits = scores.view(np.uint64)
    for e in range(start, scores.size):
        power = np.int64(powers[e])
        digits = bits[e] & ~TOP
        negative = bits[e] >= TOP
        if digits <= HIDDEN and -EXACT <= power <= EXACT:  # Clinger: both are doubles
            value = np.float64(np.int64(digits))
            value = value / TENS[-power] if power < 0 else value * TENS[power]
            scores[e] = -value if negative else value
        elif power == ODD:
            return e
        elif digits != U0:
            decided, number = nearest(digits, power)
            if not decided:
                return e
            bits[e] = number | TOP if negative else number
    return scores.size
