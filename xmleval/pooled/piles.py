"""Piles of keys, unsorted in memory and sorted on disk, and their partition into ranges."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints, Labels, Scores, label_dtype
from xmleval.files.spill import Keys, Run, SpillFile
from xmleval.kernels.keys import HALF, SCANNED, decode_keys, encode_keys, part_keys

Over = Callable[[Callable[[int], "Cut"], Sequence[int]], list["Cut"]]
SMALL = 1 << 16  # keys up to which arrays are joined as they come in
SAMPLED = 128  # keys of an array sampled to choose ranges
GROUPED_RANGE = 1 << 21  # scores of labels to gather at a time: more only take memory
WRITTEN = 1 << 18  # scores of labels to make keys of at a time
RUNS_AT_ONCE = 4  # sorted runs that a pile is spilled in, to limit the memory for sorting


class Grouped(NamedTuple):
    """Scores grouped by label, unsorted within each: equivalent to keys at half the size.

    ptr : int64 (n_labels + 1,), where the scores of each label start
    scores : float32 or float64, of which scores outside ptr[0]..ptr[-1] belong to other groups
    """

    ptr: Ints
    scores: Scores

    @property
    def size(self) -> int:
        """Number of scores."""
        return int(self.ptr[-1] - self.ptr[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the keys."""
        return key_dtype(self.scores, self.ptr.size - 1)

    @property
    def nbytes(self) -> int:
        """Size of the scores, and of where those of each label start."""
        return self.size * self.scores.itemsize + self.ptr.nbytes

    def keys_of(self, first: int, stop: int) -> Keys:
        """Return the keys of labels first..stop-1."""
        n_labels = self.ptr.size - 1
        ptr = self.ptr[first : stop + 1]
        labels = np.repeat(np.arange(first, stop, dtype=label_dtype(n_labels)), np.diff(ptr))
        return make_keys(labels, self.scores[ptr[0] : ptr[-1]], n_labels)

    def keys(self) -> Iterator[Keys]:
        """Yield the keys of all labels, a range at a time."""
        for first, stop in pairwise(label_bounds([self], self.size // WRITTEN)):
            yield self.keys_of(first, stop)


Held = Keys | Grouped


def as_keys(part: Held) -> Iterable[Keys]:
    """Return a part of a pile as arrays of keys."""
    return [part] if isinstance(part, np.ndarray) else part.keys()


def label_bounds(parts: Sequence[Grouped], n_ranges: int = 1) -> list[int]:
    """Return the bounds of ranges of labels that hold about as many scores, not too many for a cache."""
    reached: Ints = sum(part.ptr - part.ptr[0] for part in parts)
    n = max(n_ranges, int(reached[-1]) // GROUPED_RANGE)
    cuts = np.searchsorted(reached, reached[-1] * np.arange(1, n) / n)
    return sorted({0, *cuts.tolist(), reached.size - 1})


def append_joined(arrays: list[Any], keys: Held) -> None:
    """Append keys to a list; small arrays at its end are joined to limit their number."""
    arrays.append(keys)
    while (
        len(arrays) > 1
        and all(isinstance(part, np.ndarray) for part in arrays[-2:])
        and arrays[-2].size + arrays[-1].size <= SMALL
        and arrays[-2].size <= 2 * arrays[-1].size
    ):
        arrays[-2:] = [np.concatenate(arrays[-2:])]


class Pile:
    """A multiset of keys: arrays in any order, never changed, and sorted runs in a spill file."""

    def __init__(self) -> None:
        self._by_dtype: dict[np.dtype[Any], list[Held]] = {}
        self.runs: list[Run] = []
        self.n_bytes = 0  # of the arrays

    @property
    def size(self) -> int:
        """Number of keys."""
        return sum(part.size for part in self.parts())

    def arrays(self) -> list[Any]:
        """Return the parts in memory, which `as_keys` converts to arrays of keys."""
        return [part for parts in self._by_dtype.values() for part in parts]

    def parts(self) -> list[Any]:
        """Return all arrays and runs."""
        return [*self.arrays(), *self.runs]

    def add(self, arrays: Iterable[Held]) -> None:
        """Add arrays."""
        for keys in arrays:
            if keys.size:
                self.n_bytes += keys.nbytes
                append_joined(self._by_dtype.setdefault(keys.dtype, []), keys)

    def put(self, old: Keys, new: Keys) -> None:
        """Replace an array by the same keys in another order."""
        tail = self._by_dtype.get(old.dtype, [])
        for place, keys in enumerate(tail):
            if keys is old and new.dtype == old.dtype:
                tail[place] = new
                return

    def hold_on_disk(self, runs: list[Run]) -> None:
        """Replace all arrays by runs of the same keys; no signal handler can find half of it done."""
        nothing: dict[np.dtype[Any], list[Held]] = {}
        runs = [*self.runs, *runs]
        self._by_dtype, self.n_bytes, self.runs = nothing, 0, runs


def spill(arrays: Sequence[Held], file: SpillFile) -> list[Run]:
    """Write keys to sorted runs; the arrays are unchanged."""
    runs = [_write_grouped(parts, file) for parts in _by_dtype(arrays, Grouped)]
    for parts in _by_dtype(arrays, np.ndarray):
        enough = sum(keys.nbytes for keys in parts) // RUNS_AT_ONCE
        group: list[Keys] = []
        for keys in parts:
            group.append(keys)
            if keys is parts[-1] or sum(keys.nbytes for keys in group) >= enough:
                joined = np.concatenate(group)
                joined.sort()
                runs.append(file.write(iter([joined]), joined.size, joined.dtype))
                group = []
    return runs


def _by_dtype(arrays: Sequence[Held], kind: type) -> list[list[Any]]:
    """Return the parts of a kind that hold any keys, those with keys of one type together."""
    parts: dict[np.dtype[Any], list[Held]] = {}
    for keys in arrays:
        if isinstance(keys, kind) and keys.size:
            parts.setdefault(keys.dtype, []).append(keys)
    return [*parts.values()]


def _write_grouped(parts: Sequence[Grouped], file: SpillFile) -> Run:
    """Write scores grouped by label to a sorted run, a range of labels at a time."""

    def sorted_keys(first: int, stop: int) -> Keys:
        keys = np.concatenate([part.keys_of(first, stop) for part in parts])
        keys.sort()
        return keys

    size = sum(part.size for part in parts)
    chunks = itertools.starmap(sorted_keys, pairwise(label_bounds(parts, size // WRITTEN)))
    return file.write(chunks, size, parts[0].dtype)


def key_dtype(scores: Keys, n_labels: int) -> np.dtype[Any]:
    """Return the type of the keys of scores and their labels.

    float32 scores and labels fit into one integer; float64 ones are the imaginary parts of complex
    numbers, which NumPy sorts by real and then by imaginary part.
    """
    return np.dtype(np.int64 if scores.dtype == np.float32 and n_labels < 1 << 31 else np.complex128)


def make_keys(labels: Labels, scores: Scores, n_labels: int) -> Keys:
    """Return keys that sort by label and then by score."""
    keys = np.empty(scores.size, key_dtype(scores, n_labels))
    if keys.dtype == np.int64:
        encode_keys(labels, scores.view(np.uint32), keys)
    else:
        keys.real, keys.imag = labels, scores
    return keys


def label_of(keys: Keys) -> Ints:
    """Return the labels of keys, int64."""
    return keys >> HALF if keys.dtype == np.int64 else keys.real.astype(np.int64)


def score_of(keys: Keys) -> Scores:
    """Return the scores of keys."""
    if keys.dtype.kind == "f":
        return keys
    if keys.dtype == np.complex128:
        return keys.imag.copy()
    scores = np.empty(keys.size, np.uint32)
    decode_keys(keys, scores)
    return scores.view(np.float32)


def before_label(labels: Ints, dtype: np.dtype[Any]) -> Keys:
    """Return numbers below every key of a label and above every key of the label before it."""
    return labels << HALF if dtype == np.int64 else (labels - 0.5).astype(dtype)


def _labels_before(numbers: Keys) -> Ints:
    """Return the labels that `before_label` was given."""
    return label_of(numbers) if numbers.dtype == np.int64 else np.ceil(numbers.real).astype(np.int64)


def widened(keys: Keys, dtype: np.dtype[Any]) -> Keys:
    """Return keys in a wider type of the same kind; the array itself where it has the type."""
    if keys.dtype == np.int64 and dtype == np.complex128:
        wide = np.empty(keys.size, dtype)
        wide.real, wide.imag = label_of(keys), score_of(keys)
        return wide
    return keys.astype(dtype, copy=False)


class Cut(NamedTuple):
    """A part of a pile and the offsets of its ranges, int64 (ranges + 1,)."""

    part: Keys | Grouped | Run
    offsets: Ints


class Ranges:
    """Piles split by s keys into 2 s + 1 ranges; odd ranges hold keys equal to a splitter.

    piles : their arrays are replaced by partitioned copies
    splitters : (s,), keys, ascending; those from `before_label` where scores are grouped by label
    over : maps a function over numbers, possibly in several threads
    """

    def __init__(self, piles: Sequence[Pile], splitters: Keys, over: Over) -> None:
        self.dtype = splitters.dtype
        parts = [(number, part) for number, pile in enumerate(piles) for part in pile.parts()]

        def cut_part(number: int) -> Cut:
            pile, part = parts[number]
            cut = _cut(part, splitters)
            if isinstance(cut.part, np.ndarray):
                piles[pile].put(part, cut.part)  # drops this reference to the old array
            return cut

        cuts = over(cut_part, range(len(parts)))
        self.cuts: list[list[Cut]] = [[] for _ in piles]
        for (number, _), cut in zip(parts, cuts, strict=True):
            self.cuts[number].append(cut)
        self.sizes: Ints = np.zeros((len(piles), 2 * splitters.size + 1), np.int64)
        for sizes, cuts in zip(self.sizes, self.cuts, strict=True):
            for cut in cuts:
                sizes += np.diff(cut.offsets)

    def load(self, pile: int, number: int) -> Keys:
        """Return the keys of a pile in a range, sorted."""
        keys = np.empty(self.sizes[pile, number], self.dtype)
        place = 0
        for part, offsets in self.cuts[pile]:
            start, stop = int(offsets[number]), int(offsets[number + 1])
            out = keys[place : place + stop - start]
            if isinstance(part, Run) and part.dtype == self.dtype:
                part.read(start, out)
            else:
                out[:] = self._read(part, start, stop)
            place += stop - start
        keys.sort()
        return keys

    def parts(self, pile: int, number: int) -> Iterator[Keys]:
        """Iterate over arrays of the keys of a pile in a range, only to be read."""
        for part, offsets in self.cuts[pile]:
            yield self._read(part, int(offsets[number]), int(offsets[number + 1]))

    def _read(self, part: Keys | Grouped | Run, start: int, stop: int) -> Keys:
        if isinstance(part, Run):
            keys = np.empty(stop - start, part.dtype)
            part.read(start, keys)
        elif isinstance(part, Grouped):
            keys = part.keys_of(*np.searchsorted(part.ptr, part.ptr[0] + [start, stop]).tolist())
        else:
            keys = part[start:stop]
        return widened(keys, self.dtype)

    def load_all(self, piles: Sequence[int], number: int) -> Keys:
        """Return the keys of several piles in a range, sorted together."""
        loaded = [self.load(pile, number) for pile in piles]
        if len(loaded) == 1:
            return loaded[0]
        keys = np.concatenate(loaded)
        keys.sort()
        return keys


def _cut(part: Keys | Grouped | Run, splitters: Keys) -> Cut:
    if isinstance(part, Run):
        return Cut(part, _run_offsets(part, splitters))
    if isinstance(part, Grouped):
        ends = part.ptr[_labels_before(splitters)] - part.ptr[0]
        return Cut(part, np.concatenate(([0], np.repeat(ends, 2), [part.size])))
    if not splitters.size:
        return Cut(part, np.array([0, part.size]))
    if part.dtype != splitters.dtype:
        part = widened(part, splitters.dtype)
    if part.dtype == np.complex128:  # kernels cannot compare these
        part = np.sort(part)
        sides = [np.searchsorted(part, splitters, side) for side in ("left", "right")]
        return Cut(part, np.concatenate(([0], np.stack(sides, axis=1).ravel(), [part.size])))
    offsets = np.empty(2 * splitters.size + 2, np.int64)
    bucket: NDArray[Any] = np.empty(part.size, np.uint8 if splitters.size <= SCANNED else np.int32)
    parted = np.empty_like(part)
    part_keys(part, splitters, bucket, parted, offsets)
    return Cut(parted, offsets)


def _run_offsets(run: Run, splitters: Keys) -> Ints:
    """Return the offsets of ranges in a run; its sample limits the keys to read."""
    offsets = np.empty(2 * splitters.size + 2, np.int64)
    offsets[0], offsets[-1] = 0, run.size
    sample = widened(run.sample, splitters.dtype)
    sides: tuple[Literal["left", "right"], ...] = ("left", "right")
    for number, splitter in enumerate(splitters):
        for after, side in enumerate(sides):
            place = int(np.searchsorted(sample, splitter, side))
            start = max(0, place - 1) * run.stride
            keys = np.empty(min(run.size, place * run.stride) - start, run.dtype)
            run.read(start, keys)
            within = np.searchsorted(widened(keys, splitters.dtype), splitter, side)
            offsets[2 * number + 1 + after] = start + within
    return offsets


def common_dtype(piles: Iterable[Pile], otherwise: type) -> np.dtype[Any]:
    """Return the type that holds every key."""
    kinds = {part.dtype for pile in piles for part in pile.parts()}
    return max(kinds, key=lambda dtype: dtype.itemsize) if kinds else np.dtype(otherwise)


def quantiles(samples: Sequence[tuple[Floats, int]], n_ranges: int) -> Floats:
    """Return numbers that split parts into ranges of about equal size, from some of each, every so many."""
    if n_ranges < 2 or not samples:
        return np.empty(0)
    values = np.concatenate([sample for sample, _ in samples])
    weights = np.concatenate([np.full(sample.size, float(stride)) for sample, stride in samples])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    cuts: Floats = values[order][np.searchsorted(reached, reached[-1] * np.arange(1, n_ranges) / n_ranges)]
    return cuts


def sampled(piles: Iterable[Pile]) -> list[tuple[Floats, int]]:
    """Return scores, or labels, of each part of piles as `quantiles` takes them."""
    samples = []
    for part in (part for pile in piles for part in pile.parts()):
        stride = part.stride if isinstance(part, Run) else max(1, part.size // SAMPLED)
        if isinstance(part, Grouped):
            places = part.ptr[0] + np.arange(0, part.size, stride)
            values = np.searchsorted(part.ptr, places, "right") - 1
        else:
            sample = part.sample if isinstance(part, Run) else part[::stride]
            values = label_of(sample) if sample.dtype.kind != "f" else sample
        samples.append((values.astype(np.float64), stride))
    return samples
