"""Keys of untrusted files, checked as they are read, since kernels do not check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.base.arrays import Chunks
from xmleval.files.spill import Keys
from xmleval.kernels.keys import count_keys
from xmleval.kernels.packing import check_packed
from xmleval.kernels.values import N_BUCKETS
from xmleval.pooled.piles import key_dtype, score_of
from xmleval.pooled.values import Packed
from xmleval.states.contents import Contents, expect


def key_types(dtype: np.dtype[Any], n_labels: int | None = None) -> set[np.dtype[Any]]:
    """Return the types of keys of scores no wider than ``dtype``; with ``n_labels``, of keys by label."""
    scores = [np.empty(0, np.float32), np.empty(0, dtype)]
    return {array.dtype if n_labels is None else key_dtype(array, n_labels) for array in scores}


def checked_keys(name: str, keys: Chunks, dtype: np.dtype[Any], n_labels: int | None) -> Iterator[Keys]:
    """Yield scores, or keys of some labels and scores; raise ValueError if any has another type or is NaN."""
    expect(keys.dtype in key_types(dtype, n_labels), f"{name} scores are {keys.dtype}")
    counts = np.zeros(n_labels or 0, np.int64)
    yield np.empty(0, keys.dtype)
    for part in keys.read():
        part = _together([part])
        if part.dtype == np.int64:
            fits = count_keys(part, 0, counts)
        else:
            labels = part.real if n_labels else np.zeros(1)
            fits = bool(0 <= labels.min(initial=0) <= labels.max(initial=0) < (n_labels or 1))  # not for NaN
            fits &= not np.isnan(score_of(part)).any()
        expect(fits, f"{name} scores are out of range")
        yield part


def rising(chunks: Iterator[Keys]) -> Iterator[Keys]:
    """Yield keys, or raise ValueError unless they are ascending."""
    last = np.empty(0)
    for keys in chunks:
        whole = np.concatenate([last.astype(keys.dtype), keys])
        if (whole[1:] < whole[:-1]).any():
            raise ValueError("a run of scores is not sorted")
        last = keys[-1:] if keys.size else last
        yield keys


def joined(chunks: Iterator[Keys], n_bytes: int) -> Iterator[Keys]:
    """Yield keys in larger arrays, of ``n_bytes`` or one chunk more."""
    waiting: list[Keys] = []
    for keys in chunks:
        waiting.append(keys)
        if sum(part.nbytes for part in waiting) >= n_bytes:
            yield _together(waiting)
            waiting = []
    if waiting:
        yield _together(waiting)


def _together(arrays: list[Keys]) -> Keys:
    """Return arrays as one that kernels take; the array itself if it is the only one and can be written."""
    filled = [array for array in arrays if array.size] or arrays[:1]
    return np.require(filled[0] if len(filled) == 1 else np.concatenate(filled), requirements=["C", "A", "W"])


def checked_counts(name: str, contents: Contents) -> Iterator[Packed]:
    """Yield counts by value, in pieces; raise ValueError if invalid."""
    first = int(contents.take(f"first.{name}", 1, high=N_BUCKETS)[0])
    starts = contents.take(f"starts.{name}", None)
    places = contents.take_chunks(f"{name}.places")
    fits = places.dtype == np.int64 and 0 < starts.size <= N_BUCKETS + 1 - first
    fits &= bool(starts[:1].sum() == 0 and (starts[1:] >= starts[:-1]).all() and not (starts % 8).any())
    expect(fits and int(starts[-1]) == 8 * places.size, f"{name} counts are not where they should be")
    waiting, done = np.empty(0, np.int64), 0
    for piece in places.read():
        waiting = np.concatenate([waiting, piece])
        stop = int(np.searchsorted(starts, starts[done] + waiting.nbytes, "right")) - 1
        if stop > done:
            within = starts[done : stop + 1] - starts[done]
            size = int(check_packed(first + done, within, waiting))
            expect(size >= 0, f"{name} counts are out of range")
            if size:
                yield Packed(first + done, within, waiting[: within[-1] // 8].copy(), size)
            waiting, done = waiting[within[-1] // 8 :], stop
