"""Keys in untrusted files, checked while they are read, since kernels do not check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.base.arrays import Chunks, Ints
from xmleval.files.spill import Keys
from xmleval.kernels.keys import count_keys
from xmleval.kernels.packing import check_packed
from xmleval.kernels.values import N_BUCKETS
from xmleval.pooled.piles import key_dtype, score_of
from xmleval.pooled.values import Packed
from xmleval.states.contents import Contents, expect


def key_types(dtype: np.dtype[Any], n_labels: int | None = None) -> set[np.dtype[Any]]:
    """Return the types of keys of scores that are at most as wide as ``dtype``.

    n_labels : number of labels, for keys of a label and a score; None for keys that are scores
    """
    scores = [np.empty(0, np.float32), np.empty(0, dtype)]
    if n_labels is None:
        return {array.dtype for array in scores}
    return {key_dtype(array, n_labels) for array in scores}


def checked_keys(
    name: str, keys: Chunks, dtype: np.dtype[Any], n_labels: int | None
) -> Iterator[Keys]:
    """Yield scores, or keys of a label and a score, in chunks, the first one empty.

    Raise ValueError if any has another type, another label or is NaN.
    """
    expect(keys.dtype in key_types(dtype, n_labels), f"{name} scores are {keys.dtype}")
    counts = np.zeros(n_labels or 0, np.int64)
    yield np.empty(0, keys.dtype)
    for chunk in keys.read():
        chunk = _join_arrays([chunk])
        if chunk.dtype == np.int64:
            fits = count_keys(chunk, 0, counts)
        else:
            labels = chunk.real if n_labels else np.zeros(1)
            # false for NaN
            fits = bool(0 <= labels.min(initial=0) <= labels.max(initial=0) < (n_labels or 1))
            fits &= not np.isnan(score_of(chunk)).any()
        expect(fits, f"{name} scores are out of range")
        yield chunk


def checked_order(chunks: Iterator[Keys]) -> Iterator[Keys]:
    """Yield the chunks of keys; raise ValueError if the keys are not ascending."""
    last = np.empty(0)
    for keys in chunks:
        with_last = np.concatenate([last.astype(keys.dtype), keys])
        if (with_last[1:] < with_last[:-1]).any():
            raise ValueError("a run of scores is not sorted")
        if keys.size:
            last = keys[-1:]
        yield keys


def join_chunks(chunks: Iterator[Keys], n_bytes: int) -> Iterator[Keys]:
    """Yield keys in larger arrays, of at least ``n_bytes`` except for the last."""
    waiting: list[Keys] = []
    for keys in chunks:
        waiting.append(keys)
        if sum(part.nbytes for part in waiting) >= n_bytes:
            yield _join_arrays(waiting)
            waiting = []
    if waiting:
        yield _join_arrays(waiting)


def _join_arrays(arrays: list[Keys]) -> Keys:
    """Return one array that kernels take; a single array is not copied if it can be written."""
    filled = [array for array in arrays if array.size] or arrays[:1]
    joined = filled[0] if len(filled) == 1 else np.concatenate(filled)
    return np.require(joined, requirements=["C", "A", "W"])


def checked_counts(name: str, contents: Contents) -> Iterator[Packed]:
    """Yield counts by value, in pieces of whole buckets; raise ValueError if any is invalid."""
    first = int(contents.take(f"first.{name}", 1, high=N_BUCKETS)[0])
    starts = contents.take(f"starts.{name}", None)
    places = contents.take_chunks(f"{name}.places")
    expect(
        _have_places(starts, places, N_BUCKETS - first),
        f"{name} counts are not where they should be",
    )
    waiting = np.empty(0, np.int64)
    bucket = 0  # the first one that waits
    for piece in places.read():
        waiting = np.concatenate([waiting, piece])
        stop = int(np.searchsorted(starts, starts[bucket] + waiting.nbytes, "right")) - 1
        if stop > bucket:
            within = starts[bucket : stop + 1] - starts[bucket]
            size = int(check_packed(first + bucket, within, waiting))
            expect(size >= 0, f"{name} counts are out of range")
            n_places = within[-1] // 8
            if size:
                yield Packed(first + bucket, within, waiting[:n_places].copy(), size)
            waiting = waiting[n_places:]
            bucket = stop


def _have_places(starts: Ints, places: Chunks, most: int) -> bool:
    """Return whether ``starts``, in bytes, divide all places among at most ``most`` buckets."""
    if places.dtype != np.int64 or not 0 < starts.size <= most + 1:
        return False
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or (starts % 8).any():
        return False
    return int(starts[-1]) == 8 * places.size
