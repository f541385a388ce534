"""Numbers as text: floats in the fewest digits that are read back as the same bits, as `repr` writes them.

The digits are those of Schubfach (Giulietti, "The Schubfach way to render doubles", 2020): of the shortest
decimals that round to a number, the one nearest to it.

Texts are uint8. Positions are uint64, which avoids Numba's negative-index check.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.kernels.decimal import U0, U1, U2, U3, multiply
from xmleval.kernels.jit import kernel
from xmleval.records import Ints, Labels

LONGEST = 48  # bytes of an entry: a label, a colon, a number, and what separates it
LEAST, MOST = -292, 324  # powers of ten that floats are scaled by
SPACE, NEWLINE, COLON, POINT, PLUS, MINUS, ZERO, LETTER_E = (np.uint8(ord(c)) for c in " \n:.+-0e")
U4, TEN, FORTY, HUNDRED = np.uint64(4), np.uint64(10), np.uint64(40), np.uint64(100)
MOST_DIGITS = np.uint64(20)  # of an integer
WHOLE_TENS = np.array([10**n for n in range(20)], np.uint64)
PAIRS = np.frombuffer("".join(f"{n:02}" for n in range(100)).encode(), np.uint8)
NAN, INF = np.frombuffer(b"nan", np.uint8), np.frombuffer(b"inf", np.uint8)


def _powers_of_ten() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 10^k, rounded up, as (high, low)."""
    rows = []
    for k in range(LEAST, MOST + 1):
        over, under = (10**k, 1) if k >= 0 else (1, 10**-k)
        shift = 128 - (over.bit_length() if k >= 0 else 1 - (under - 1).bit_length())
        leading = -(-(over << shift) // under) if shift >= 0 else -(-over >> -shift)
        rows.append((leading >> 64, leading & (1 << 64) - 1))
    return np.array(rows, np.uint64)


TENS = _powers_of_ten()


@kernel
def scaled(power: Any, digits: Any) -> Any:
    """Return digits times a power of ten, in units of its last bits, rounded to odd."""
    high, low = multiply(TENS[power - LEAST, 0], digits)
    more, _ = multiply(TENS[power - LEAST, 1], digits)
    low += more
    if low < more:
        high += U1
    return high | np.uint64(low > U1)


@kernel
def shortest(fraction: Any, exponent: Any, fraction_bits: Any, bias: Any) -> tuple[Any, Any]:
    """Return digits and a power of ten: the shortest decimal that rounds to a float, not 0 and finite.

    The steps are those of figures 4 and 6 of the paper.

    fraction : uint64, the stored bits; exponent : int64, as it is stored
    fraction_bits, bias : int64, of the type of the float
    """
    hidden = U1 << np.uint64(fraction_bits)
    c, q = (fraction | hidden, exponent - bias) if exponent != 0 else (fraction, np.int64(1) - bias)
    if 0 <= -q <= fraction_bits and c & ((U1 << np.uint64(-q)) - U1) == U0:  # an integer
        return c >> np.uint64(-q), np.int64(0)
    odd = c & U1
    closer = np.int64(fraction == U0 and exponent > 1)  # the next lower float is only half as far
    k = (q * 1262611 - closer * 524031) >> 22
    h = np.uint64(q + ((-k * 1741647) >> 19) + 1)
    lower = scaled(-k, (U4 * c - U2 + np.uint64(closer)) << h) + odd
    value = scaled(-k, (U4 * c) << h)
    upper = scaled(-k, (U4 * c + U2) << h) - odd
    s = value >> U2
    if s >= TEN:
        tens = s // TEN
        below, above = lower <= FORTY * tens, FORTY * tens + FORTY <= upper
        if below != above:
            return tens + np.uint64(above), k + 1
    below, above = lower <= U4 * s, U4 * s + U4 <= upper
    if below != above:
        return s + np.uint64(above), k
    middle = U4 * s + U2
    up = value > middle or (value == middle and s & U1 != U0)
    return s + np.uint64(up), k


@kernel
def count_digits(value: Any) -> Any:
    """Return the number of decimal digits of an integer, uint64."""
    n = U1
    while n < MOST_DIGITS and value >= WHOLE_TENS[n]:
        n += U1
    return n


@kernel
def put_digits(text: NDArray[np.uint8], p: Any, value: Any, n: Any) -> Any:
    """Write an integer, uint64, of n digits, and return the position behind it."""
    q = p + n
    while value >= HUNDRED:
        rest = value // HUNDRED
        pair = U2 * (value - HUNDRED * rest)
        q -= U2
        text[q], text[q + U1] = PAIRS[pair], PAIRS[pair + U1]
        value = rest
    if value >= TEN:
        text[p], text[p + U1] = PAIRS[U2 * value], PAIRS[U2 * value + U1]
    else:
        text[p] = ZERO + np.uint8(value)
    return p + n


@kernel
def put_zeros(text: NDArray[np.uint8], p: Any, n: Any) -> Any:
    """Write zeros, and return the position behind them."""
    for _ in range(n):
        text[p] = ZERO
        p += U1
    return p


@kernel
def put_decimal(text: NDArray[np.uint8], p: Any, digits: Any, power: Any) -> Any:
    """Write digits * 10^power as `repr` does, and return the position behind it."""
    while digits % TEN == U0:
        digits //= TEN
        power += 1
    n_digits = count_digits(digits)
    n = np.int64(n_digits)
    point = n + power  # digits before the decimal point
    if -4 < point <= 0:
        text[p], text[p + U1] = ZERO, POINT
        return put_digits(text, put_zeros(text, p + U2, -point), digits, n_digits)
    if n <= point <= 16:
        end = put_zeros(text, put_digits(text, p, digits, n_digits), power)
        text[end], text[end + U1] = POINT, ZERO
        return end + U2
    before = point if 0 < point <= 16 else np.int64(1)
    if before < n:
        end = put_digits(text, p + U1, digits, n_digits)
        for q in range(before):
            text[p + np.uint64(q)] = text[p + np.uint64(q) + U1]
        text[p + np.uint64(before)] = POINT
    else:
        end = put_digits(text, p, digits, n_digits)
    if before == point:
        return end
    text[end], text[end + U1] = LETTER_E, MINUS if point < 1 else PLUS
    size = np.uint64(abs(point - 1))
    end += U2
    if size < TEN:
        end = put_zeros(text, end, 1)
    return put_digits(text, end, size, count_digits(size))


@kernel
def put_float(text: NDArray[np.uint8], p: Any, bits: Any, fraction_bits: Any, exponent_bits: Any) -> Any:
    """Write a float, and return the position behind it."""
    largest = (np.int64(1) << exponent_bits) - 1
    fraction = bits & ((U1 << np.uint64(fraction_bits)) - U1)
    exponent = np.int64(bits >> np.uint64(fraction_bits)) & largest
    if bits >> np.uint64(fraction_bits + exponent_bits) and not (exponent == largest and fraction != U0):
        text[p] = MINUS
        p += U1
    if exponent == largest:
        word = INF if fraction == U0 else NAN
        for q in range(3):
            text[p + np.uint64(q)] = word[q]
        return p + U3
    if fraction == U0 and exponent == 0:
        text[p], text[p + U1], text[p + U2] = ZERO, POINT, ZERO
        return p + U3
    digits, power = shortest(fraction, exponent, fraction_bits, (largest >> 1) + fraction_bits)
    return put_decimal(text, p, digits, power)


@kernel
def write_floats(
    ptr: Ints,
    labels: Labels,
    bits: NDArray[Any],
    fraction_bits: int,
    exponent_bits: int,
    text: NDArray[np.uint8],
) -> int:
    """Write rows as lines of ``label:score``, and return the number of bytes.

    bits : uint64 (s,) or uint32 (s,), those of scores with so many bits of fraction and exponent
    text : uint8, with `LONGEST` bytes for each entry and one for each row; written
    """
    p = U0
    for row in range(ptr.size - 1):
        for e in range(ptr[row], ptr[row + 1]):
            label = np.uint64(labels[e])
            p = put_digits(text, p, label, count_digits(label))
            text[p] = COLON
            p = put_float(text, p + U1, np.uint64(bits[e]), fraction_bits, exponent_bits)
            text[p] = SPACE
            p += U1
        if ptr[row + 1] > ptr[row]:
            p -= U1  # the last space
        text[p] = NEWLINE
        p += U1
    return int(p)


@kernel
def write_integers(
    ptr: Ints,
    labels: Labels,
    negative: NDArray[np.bool_],
    sizes: NDArray[np.uint64],
    text: NDArray[np.uint8],
) -> int:
    """Write rows of integers, given by sign and size, as `write_floats` does."""
    p = U0
    for row in range(ptr.size - 1):
        for e in range(ptr[row], ptr[row + 1]):
            label = np.uint64(labels[e])
            p = put_digits(text, p, label, count_digits(label))
            text[p] = COLON
            p += U1
            if negative[e]:
                text[p] = MINUS
                p += U1
            p = put_digits(text, p, sizes[e], count_digits(sizes[e]))
            text[p] = SPACE
            p += U1
        if ptr[row + 1] > ptr[row]:
            p -= U1
        text[p] = NEWLINE
        p += U1
    return int(p)
