"""Hashes of the keys of counted rows, 8 bytes each, to refuse rows that are counted twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.errors import InputError, counted, shown

ROW_KEY_BYTES = 8
PIECE = 1 << 16  # keys hashed at a time: texts take four bytes a character
LONG = 64  # texts of up to so many characters are hashed together
# odd numbers of random bits
MIX = 0x9E3779B97F4A7C15
TEXT = 0xD6E8FEB86659FD93
NUMBER = 0xA0761D6478BD642F
INT64 = 1 << 63
# sorted hashes without repeats, each array more than twice as long as the next
Kept = tuple[Ints, ...]


def hash_keys(keys: Sequence[Any]) -> Ints:
    """Return a hash for every key, int64 (n,), the same in all processes and on all machines.

    Keys that are equal in Python have the same hash if they are texts or numbers; other keys are
    hashed by their `repr`.
    """
    pieces = [_hash_piece(keys[start : start + PIECE]) for start in range(0, len(keys), PIECE)]
    return np.concatenate([np.empty(0, np.int64), *pieces])


def _hash_piece(keys: Sequence[Any]) -> Ints:
    """Return the hashes of some keys; keys of one type are hashed together."""
    hasher_by_type = {kind: _hasher_of(kind) for kind in {*map(type, keys)}}
    hashers = {*hasher_by_type.values()}
    if len(hashers) == 1:
        return hashers.pop()(keys)
    hashes: Ints = np.empty(len(keys), np.int64)
    for hasher in hashers:
        places = [place for place, key in enumerate(keys) if hasher_by_type[type(key)] is hasher]
        hashes[places] = hasher([keys[place] for place in places])
    return hashes


def _hasher_of(kind: type[Any]) -> Callable[[Sequence[Any]], Ints]:
    """Return the function that hashes keys of a type."""
    if issubclass(kind, str):
        return _hash_texts
    if issubclass(kind, int | np.integer | np.bool_):
        return _hash_numbers
    return _hash_others


def _hash_texts(texts: Sequence[str]) -> Ints:
    """Return the hashes of texts."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if sizes.max(initial=0) <= LONG:
        return _hash_short_texts(texts, sizes)
    is_long = sizes > LONG
    long_places = np.flatnonzero(is_long).tolist()
    short_places = np.flatnonzero(~is_long).tolist()
    hashes: Ints = np.empty(len(texts), np.int64)
    hashes[is_long] = [_digest(texts[place]) for place in long_places]
    short_texts = [texts[place] for place in short_places]
    hashes[~is_long] = _hash_short_texts(short_texts, sizes[~is_long])
    return hashes


def _hash_short_texts(texts: Sequence[str], sizes: Ints) -> Ints:
    """Return the hashes of texts, computed character by character for all texts at once."""
    longest = int(sizes.max(initial=0))
    shortest = int(sizes.min(initial=longest))
    width = max(1, longest)
    characters = np.array(texts, f"<U{width}").view("<u4").reshape(len(texts), width)
    state = sizes.astype(np.uint64) * np.uint64(TEXT)
    for place in range(longest):
        column = np.ascontiguousarray(characters[:, place], np.uint64)
        mixed = _mixed(state ^ column)
        if place >= shortest:  # keep the state of texts that have ended
            mixed = np.where(sizes > place, mixed, state)
        state = mixed
    return _as_hashes(state)


def _hash_numbers(numbers: Sequence[Any]) -> Ints:
    """Return the hashes of integers; beyond 64 bits, their digits are hashed."""
    if not all(-INT64 <= number < INT64 for number in (min(numbers), max(numbers))):
        return np.array([_hash_number(int(number)) for number in numbers], np.int64)
    state = np.array(numbers, np.int64).view(np.uint64)
    return _as_hashes(_mixed(state ^ np.uint64(NUMBER)))


def _hash_number(number: int) -> int:
    """Return the hash of an integer of any size."""
    if -INT64 <= number < INT64:
        return int(_hash_numbers([number])[0])
    return _digest(f"number {number}")


def _hash_others(keys: Sequence[Any]) -> Ints:
    """Return the hashes of keys of other types."""
    return np.array([_hash_other(key) for key in keys], np.int64)


def _hash_other(key: Any) -> int:
    """Return the hash of a key; a whole float has the hash of the integer, as in Python."""
    if not isinstance(key, float | np.floating):
        return _digest(f"{type(key).__name__} {key!r}")
    number = float(key)
    if number.is_integer():
        return _hash_number(int(number))
    return _digest(f"float {number!r}")


def _mixed(state: Any) -> Any:
    """Return 64-bit numbers in which each bit depends on many, uint64 (n,)."""
    state = state * np.uint64(MIX)
    return state ^ (state >> np.uint64(32))


def _as_hashes(state: Any) -> Ints:
    """Return mixed numbers as hashes, int64 (n,)."""
    hashes: Ints = _mixed(state).view(np.int64)
    return hashes


def _digest(text: str) -> int:
    """Return a cryptographic hash of a text."""
    code = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)


def with_keys(kept: Kept, keys: Sequence[Any]) -> Kept:
    """Return the hashes with those of further keys, or refuse a key that was counted before."""
    hashes = hash_keys(keys)
    rising = np.sort(hashes)
    counted_before = [rising[_is_among(rising, part)] for part in kept]
    if any(part.size for part in counted_before):
        row = int(np.isin(hashes, np.concatenate(counted_before)).argmax())
        reason = f"probably the same key, {shown(keys[row])}, was counted before"
        hint = (
            "count each row once, under a key of its own or without keys; reset() begins a new pass"
        )
        raise InputError("y_true", f"{reason}; {hint}", row=row, value=keys[row])
    is_repeated = rising[1:] == rising[:-1]  # hashes of different keys may be equal
    if is_repeated.any():
        rising = rising[np.append(True, ~is_repeated)]
    return _stacked([*kept, rising])


def united_keys(kept: Kept, added: Kept) -> Kept:
    """Return the hashes of the rows of both, or refuse rows that are in both."""
    if not (kept and added):
        return kept or added
    hashes = np.sort(np.concatenate([*kept, *added]))
    n_repeated = int(np.count_nonzero(hashes[1:] == hashes[:-1]))
    if n_repeated:
        reason = counted(
            n_repeated, "rows probably have the same keys", "row probably has the same key"
        )
        hint = "count each row once, without rows that a sampler repeats"
        raise InputError("merge", f"{reason} in both; {hint}")
    return (hashes,)


def saved_keys(kept: Kept) -> Ints:
    """Return all hashes, rising: the same for any order of the rows."""
    return np.sort(np.concatenate([np.empty(0, np.int64), *kept]))


def restored_keys(hashes: Any, n_rows: int) -> Kept:
    """Return the hashes from the result of `saved_keys`; raise ValueError for anything else."""
    is_vector = hashes.dtype == np.int64 and hashes.ndim == 1 and hashes.size <= n_rows
    if not is_vector or (hashes[1:] <= hashes[:-1]).any():
        raise ValueError("row_keys are no keys of rows")
    return (hashes,) if hashes.size else ()


def _is_among(hashes: Ints, rising: Ints) -> Any:
    """Return for every hash whether it is among rising ones, bool (n,)."""
    places = np.minimum(np.searchsorted(rising, hashes), rising.size - 1)
    return rising[places] == hashes


def _stacked(parts: list[Ints]) -> Kept:
    """Join the last arrays of similar length, so that n small updates cost n log n."""
    while len(parts) > 1 and parts[-2].size <= 2 * parts[-1].size:
        parts[-2:] = [np.sort(np.concatenate(parts[-2:]))]
    return tuple(part for part in parts if part.size)
