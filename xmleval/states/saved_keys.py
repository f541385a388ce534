"""Keys of untrusted files, checked as they are read, since kernels do not check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xmleval.kernels.labels import count_entries
from xmleval.pooled.piles import key_dtype, label_of, score_of
from xmleval.pooled.spill import Keys
from xmleval.records import Chunks, Ints
from xmleval.states.contents import expect


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
