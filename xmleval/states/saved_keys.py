"""Keys of untrusted files, checked as they are read, since kernels do not check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.files.spill import Keys
from xmleval.kernels.keys import count_keys
from xmleval.kernels.labels import count_entries
from xmleval.kernels.packing import HALF, LEAST_RANK, MINUS_ZERO, MOST_RANK, check_packed
from xmleval.kernels.values import N_BUCKETS
from xmleval.pooled.piles import Grouped, key_dtype, label_of, score_of
from xmleval.pooled.values import Ordered, Packed
from xmleval.records import MOST_ENTRIES, Chunks, Ints
from xmleval.states.contents import Contents, expect, total


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
        part = _together([part])
        if part.dtype == np.int64:
            expect(count_keys(part, 0, counts), f"{name} scores are out of range")
            yield part
            continue
        fits = not np.isnan(score_of(part)).any()
        if n_labels is not None:
            labels = part.real
            fits &= bool(0 <= labels.min(initial=0) <= labels.max(initial=0) < n_labels)  # False for NaN
            fits &= bool((labels == np.floor(labels)).all())
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
            yield _together(held)
            held = []
    if held:
        yield _together(held)


def _together(arrays: list[Any]) -> Any:
    """Return arrays as one that kernels take; the array itself if it is the only one and can be written."""
    some = [array for array in arrays if array.size] or arrays[:1]
    return np.require(some[0] if len(some) == 1 else np.concatenate(some), requirements=["C", "A", "W"])


def loose(key: str, part: Ordered | Grouped) -> dict[str, Any]:
    """Return scores ordered by bucket, or grouped by label, as arrays that begin with a name."""
    if isinstance(part, Grouped):
        scores = part.scores[part.ptr[0] : part.ptr[-1]]
        return {f"sizes.{key}": np.diff(part.ptr), key: scores}
    starts = np.append(np.uint32(part.first), part.starts)
    return {f"starts.{key}": starts, key: part.places[: part.size]}


def checked_ordered(key: str, contents: Contents) -> Ordered:
    """Take scores ordered by bucket; raise ValueError if invalid."""
    first, *_ = starts = contents.take(f"starts.{key}", None, dtype=np.uint32)
    places = _together([np.empty(0, np.uint16), *contents.take_chunks(key).read()])
    starts = starts[1:]
    fits = places.dtype == np.uint16 and 0 < starts.size <= N_BUCKETS + 1 - int(first) and starts[0] == 0
    expect(fits and bool((starts[1:] >= starts[:-1]).all()) and starts[-1] == places.size, f"{key} is cut")
    for low, high in ((0, LEAST_RANK), (MINUS_ZERO - 1, MINUS_ZERO), (MOST_RANK + 1, 1 << 32)):
        # of the buckets that hold these ranks, only the first and the last have others, too
        for bucket in {low >> HALF, (high - 1) >> HALF}:
            if first <= bucket < first + starts.size - 1:
                own = places[starts[bucket - first] : starts[bucket - first + 1]].astype(np.int64)
                own += bucket << HALF
                expect(not ((low <= own) & (own < high)).any(), f"{key} scores are out of range")
        inner = np.clip(np.array([(low >> HALF) + 1, (high - 1) >> HALF]) - int(first), 0, starts.size - 1)
        expect(inner[0] >= inner[1] or starts[inner[0]] == starts[inner[1]], f"{key} scores are out of range")
    return Ordered(int(first), starts, places)


def checked_grouped(
    key: str, contents: Contents, dtype: np.dtype[Any], n_labels: int
) -> tuple[Grouped, Ints]:
    """Take scores grouped by label, and their number by label; raise ValueError if invalid."""
    sizes = contents.take(f"sizes.{key}", n_labels)
    chunks = contents.take_chunks(key)
    scores = _together([np.empty(0, chunks.dtype), *chunks.read()])
    fits = scores.dtype in key_types(dtype) and total(sizes) == scores.size
    expect(fits and not np.isnan(scores).any(), f"{key} scores are out of range")
    ptr = np.zeros(n_labels + 1, np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return Grouped(ptr, scores), sizes


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
