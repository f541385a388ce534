"""Keys of untrusted files, checked as they are read, since kernels do not check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.kernels.labels import count_entries
from xmleval.kernels.packing import check_packed
from xmleval.kernels.values import N_BUCKETS
from xmleval.pooled.piles import key_dtype, label_of, score_of
from xmleval.pooled.spill import Keys
from xmleval.pooled.values import Packed
from xmleval.records import MOST_ENTRIES, Chunks, Ints
from xmleval.states.contents import Contents, expect


def key_types(dtype: np.dtype[Any], n_labels: int | None = None) -> set[np.dtype[Any]]:
    """Return the types of keys of scores no wider than ``dtype``; with ``n_labels``, of keys by label."""
    scores = [np.empty(0, np.float32), np.empty(0, dtype)]
    return {some.dtype if n_labels is None else key_dtype(some, n_labels) for some in scores}


def checked_keys(
    name: str, keys: Chunks, dtype: np.dtype[Any], n_labels: int | None, counts: Ints
) -> Iterator[Keys]:
    """Yield keys, and add their number, or that of each label, to ``counts``; raise ValueError if invalid."""
    expect(keys.dtype in key_types(dtype, n_labels), f"{name} scores are {keys.dtype}")
    yield np.empty(0, keys.dtype)
    for part in keys.read():
        fits = not np.isnan(score_of(part)).any()
        if n_labels is not None:
            wide = part.dtype.kind == "c"
            labels = part.real if wide else label_of(part)
            fits &= bool(0 <= labels.min(initial=0) <= labels.max(initial=0) < n_labels)  # False for NaN
            fits &= not wide or bool((labels == np.floor(labels)).all())
        expect(fits, f"{name} scores are out of range")
        if n_labels is None:
            counts += part.size
        else:
            count_entries(label_of(part), counts)
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
    held: list[Keys] = []
    for keys in chunks:
        held.append(keys)
        if sum(part.nbytes for part in held) >= n_bytes:
            yield np.concatenate(held)
            held = []
    if held:
        yield np.concatenate(held)


def checked_counts(name: str, contents: Contents) -> Iterator[Packed]:
    """Yield counts by value, in pieces; raise ValueError if invalid."""
    first = int(contents.take(f"first.{name}", 1, most=N_BUCKETS)[0])
    starts = contents.take(f"starts.{name}", None)
    places = contents.take_chunks(f"{name}.places")
    fits = places.dtype == np.int64 and 0 < starts.size <= N_BUCKETS + 1 - first
    fits &= bool(starts[:1].sum() == 0 and (starts[1:] >= starts[:-1]).all() and not (starts % 8).any())
    expect(fits and int(starts[-1]) == 8 * places.size, f"{name} counts are not where they should be")
    waiting, done, n_scores = np.empty(0, np.int64), 0, 0
    for piece in places.read():
        waiting = np.concatenate([waiting, piece])
        stop = int(np.searchsorted(starts, starts[done] + waiting.nbytes, "right")) - 1
        if stop > done:
            own = starts[done : stop + 1] - starts[done]
            size = check_packed(first + done, own, waiting)
            n_scores += size
            expect(size >= 0 and n_scores < MOST_ENTRIES, f"{name} counts are out of range")
            if size:
                yield Packed(first + done, own, waiting[: own[-1] // 8].copy(), size)
            waiting, done = waiting[own[-1] // 8 :], stop
