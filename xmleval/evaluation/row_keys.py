"""Hashes of the keys of the rows that were counted, 8 bytes each, so that no row counts twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.errors import InputError, counted, shown

ROW_KEY_BYTES = 8
PIECE = 1 << 16  # keys hashed at a time: texts take four bytes a character
LONG = 64  # characters of a text up to which texts are hashed together
MIX, TEXT, NUMBER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F  # odd, of random bits
INT64 = 1 << 63
Kept = tuple[Ints, ...]  # sorted hashes without repeats, each array more than twice as long as the next


def hash_keys(keys: Sequence[Any]) -> Ints:
    """Return a hash of each key, int64 (n,), the same in every process and on every machine.

    Keys that are equal in Python have the same hash if they are texts or numbers; others go by their `repr`.
    """
    pieces = [_hash_piece(keys[start : start + PIECE]) for start in range(0, len(keys), PIECE)]
    return np.concatenate([np.empty(0, np.int64), *pieces])


def _hash_piece(keys: Sequence[Any]) -> Ints:
    """Return the hashes of some keys, those of each type together."""
    hashers = {kind: _hasher_of(kind) for kind in {*map(type, keys)}}
    several = {*hashers.values()}
    if len(several) == 1:
        return several.pop()(keys)
    hashes: Ints = np.empty(len(keys), np.int64)
    for hasher in several:
        places = [place for place, key in enumerate(keys) if hashers[type(key)] is hasher]
        hashes[places] = hasher([keys[place] for place in places])
    return hashes


def _hasher_of(kind: type[Any]) -> Callable[[Sequence[Any]], Ints]:
    if issubclass(kind, str):
        return _hash_texts
    return _hash_numbers if issubclass(kind, int | np.integer | np.bool_) else _hash_others


def _hash_texts(texts: Sequence[str]) -> Ints:
    """Return the hashes of texts; of short ones character by character, all texts at a time."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    longest = int(sizes.max(initial=0))
    if longest > LONG:
        is_long = sizes > LONG
        hashes: Ints = np.empty(len(texts), np.int64)
        hashes[is_long] = [_digest(texts[place]) for place in np.flatnonzero(is_long).tolist()]
        hashes[~is_long] = _hash_texts([texts[place] for place in np.flatnonzero(~is_long).tolist()])
        return hashes
    width = max(1, longest)
    characters = np.array(texts, f"<U{width}").view("<u4").reshape(len(texts), width)
    state = sizes.astype(np.uint64) * np.uint64(TEXT)
    shortest = int(sizes.min(initial=longest))
    for place in range(longest):
        column = np.ascontiguousarray(characters[:, place], np.uint64)
        mixed = _mixed(state ^ column)
        state = mixed if place < shortest else np.where(sizes > place, mixed, state)
    return _as_hashes(state)


def _hash_numbers(numbers: Sequence[Any]) -> Ints:
    """Return the hashes of integers; those beyond 64 bits go by their digits."""
    if not all(-INT64 <= number < INT64 for number in (min(numbers), max(numbers))):
        return np.array([_hash_number(int(number)) for number in numbers], np.int64)
    state = np.array(numbers, np.int64).view(np.uint64)
    return _as_hashes(_mixed(state ^ np.uint64(NUMBER)))


def _hash_number(number: int) -> int:
    is_narrow = -INT64 <= number < INT64
    return int(_hash_numbers([number])[0]) if is_narrow else _digest(f"number {number}")


def _hash_others(keys: Sequence[Any]) -> Ints:
    """Return the hashes of keys of other types."""
    return np.array([_hash_other(key) for key in keys], np.int64)


def _hash_other(key: Any) -> int:
    """Return the hash of a key; a float that is whole is that number, as in Python."""
    if not isinstance(key, float | np.floating):
        return _digest(f"{type(key).__name__} {key!r}")
    number = float(key)
    return _hash_number(int(number)) if number.is_integer() else _digest(f"float {number!r}")


def _mixed(state: Any) -> Any:
    """Return 64-bit numbers in which each bit depends on many, uint64 (n,)."""
    state = state * np.uint64(MIX)
    return state ^ (state >> np.uint64(32))


def _as_hashes(state: Any) -> Ints:
    hashes: Ints = _mixed(state).view(np.int64)
    return hashes


def _digest(text: str) -> int:
    code = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)


def with_keys(kept: Kept, keys: Sequence[Any]) -> Kept:
    """Return hashes with those of further rows, or refuse a key that was counted before."""
    hashes = hash_keys(keys)
    rising = np.sort(hashes)
    before = [rising[_are_among(rising, part)] for part in kept]
    if any(part.size for part in before):
        row = int(np.isin(hashes, np.concatenate(before)).argmax())
        twice = f"probably the same key, {shown(keys[row])}, was counted before"
        fix = "count each row once, under a key of its own or without keys; reset() begins a new pass"
        raise InputError("y_true", f"{twice}; {fix}", row=row, value=keys[row])
    if (repeated := rising[1:] == rising[:-1]).any():  # of keys that differ
        rising = rising[np.append(True, ~repeated)]
    return _stacked([*kept, rising])


def united_keys(kept: Kept, added: Kept) -> Kept:
    """Return the hashes of the rows of both, or refuse rows that both hold."""
    if not (kept and added):
        return kept or added
    hashes = np.sort(np.concatenate([*kept, *added]))
    if n_twice := int(np.count_nonzero(hashes[1:] == hashes[:-1])):
        twice = counted(n_twice, "rows have probably the same keys", "row has probably the same key")
        fix = "count each row once, without those that a sampler repeats"
        raise InputError("merge", f"{twice} here and there; {fix}")
    return (hashes,)


def saved_keys(kept: Kept) -> Ints:
    """Return all hashes, rising, which no order of rows changes."""
    return np.sort(np.concatenate([np.empty(0, np.int64), *kept]))


def restored_keys(hashes: Any, n_rows: int) -> Kept:
    """Return what `saved_keys` returned; ValueError for anything else."""
    is_vector = hashes.dtype == np.int64 and hashes.ndim == 1 and hashes.size <= n_rows
    if not is_vector or (hashes[1:] <= hashes[:-1]).any():
        raise ValueError("row_keys are no keys of rows")
    return (hashes,) if hashes.size else ()


def _are_among(hashes: Ints, rising: Ints) -> Any:
    """Return which hashes are among rising ones, bool (n,)."""
    places = np.minimum(np.searchsorted(rising, hashes), rising.size - 1)
    return rising[places] == hashes


def _stacked(parts: list[Ints]) -> Kept:
    """Join the last arrays while they are not much shorter, so that n small updates cost n log n."""
    while len(parts) > 1 and parts[-2].size <= 2 * parts[-1].size:
        parts[-2:] = [np.sort(np.concatenate(parts[-2:]))]
    return tuple(part for part in parts if part.size)
