"""Piles of keys, unsorted in memory and sorted on disk, and their partition into ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints, Labels, Scores, label_dtype
from xmleval.files.spill import Keys, SortedRun, SpillFile
from xmleval.kernels.keys import HALF, SCANNED, decode_keys, encode_keys, part_keys

SMALL = 1 << 16  # keys up to which arrays are joined as they come in
SAMPLED = 128  # keys of an array sampled to choose ranges
GROUPED_RANGE = 1 << 21  # scores of labels to gather at a time: more only take memory
WRITTEN = 1 << 18  # scores of labels to make keys of at a time
RUNS_AT_ONCE = 4  # sorted runs that a pile is spilled in, to limit the memory for sorting


class Grouped(NamedTuple):
    """Scores grouped by label, unsorted within each: equivalent to keys at half the size.

    ptr : int64 (n_labels + 1,), where the scores of each label start
    scores : float32 or float64; scores outside ptr[0]..ptr[-1] belong to other groups
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
        """Bytes of the scores and of ``ptr``."""
        return self.size * self.scores.itemsize + self.ptr.nbytes

    def keys_of(self, first: int, stop: int) -> Keys:
        """Return the keys of labels first..stop-1."""
        n_labels = self.ptr.size - 1
        ptr = self.ptr[first : stop + 1]
        numbers = np.arange(first, stop, dtype=label_dtype(n_labels))
        labels = np.repeat(numbers, np.diff(ptr))
        return make_keys(labels, self.scores[ptr[0] : ptr[-1]], n_labels)

    def keys(self) -> Iterator[Keys]:
        """Yield the keys of all labels, a range at a time."""
        bounds = split_labels([self], self.size // WRITTEN)
        for first, stop in pairwise(bounds):
            yield self.keys_of(first, stop)


KeysInMemory = Keys | Grouped


def as_keys(part: KeysInMemory) -> Iterable[Keys]:
    """Return a part of a pile as arrays of keys."""
    if isinstance(part, np.ndarray):
        return [part]
    return part.keys()


def split_labels(parts: Sequence[Grouped], n_ranges: int = 1) -> list[int]:
    """Return the bounds of ranges of labels with about equal numbers of scores.

    There are at least ``n_ranges`` ranges if labels allow, and more so that each fits in a cache.
    """
    n_reached: Ints = sum(part.ptr - part.ptr[0] for part in parts)
    n_scores = n_reached[-1]
    n = max(n_ranges, int(n_scores) // GROUPED_RANGE)
    cuts = np.searchsorted(n_reached, n_scores * np.arange(1, n) / n)
    return sorted({0, *cuts.tolist(), n_reached.size - 1})


def append_joined(arrays: list[Any], keys: KeysInMemory) -> None:
    """Append keys to a list; small arrays at its end are joined to limit their number."""
    arrays.append(keys)
    while len(arrays) > 1 and _is_joinable(arrays[-2], arrays[-1]):
        arrays[-2:] = [np.concatenate(arrays[-2:])]


def _is_joinable(first: KeysInMemory, second: KeysInMemory) -> bool:
    """Whether both are small arrays, and the second is at least half as long as the first."""
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return False
    return first.size + second.size <= SMALL and first.size <= 2 * second.size


class Pile:
    """A multiset of keys: arrays in any order, never changed, and sorted runs in a spill file."""

    def __init__(self) -> None:
        self._by_dtype: dict[np.dtype[Any], list[KeysInMemory]] = {}
        self.runs: list[SortedRun] = []
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

    def add(self, arrays: Iterable[KeysInMemory]) -> None:
        """Add arrays."""
        for keys in arrays:
            if keys.size:
                self.n_bytes += keys.nbytes
                append_joined(self._by_dtype.setdefault(keys.dtype, []), keys)

    def replace_array(self, old: Keys, new: Keys) -> None:
        """Replace an array by the same keys in another order."""
        arrays = self._by_dtype.get(old.dtype, [])
        for place, keys in enumerate(arrays):
            if keys is old and new.dtype == old.dtype:
                arrays[place] = new
                return

    def replace_by_runs(self, runs: list[SortedRun]) -> None:
        """Replace all arrays by runs of the same keys.

        A signal handler never finds half of it done.
        """
        nothing: dict[np.dtype[Any], list[KeysInMemory]] = {}
        runs = [*self.runs, *runs]
        # no call, and nothing made, between these: see above
        self._by_dtype = nothing
        self.n_bytes = 0
        self.runs = runs


def spill(arrays: Sequence[KeysInMemory], file: SpillFile) -> list[SortedRun]:
    """Write keys to sorted runs; the arrays are unchanged."""
    runs = [_write_grouped(parts, file) for parts in _select_by_dtype(arrays, Grouped)]
    for parts in _select_by_dtype(arrays, np.ndarray):
        for batch in _split_by_bytes(parts):
            runs.append(_write_sorted(batch, file))
    return runs


def _select_by_dtype(arrays: Sequence[KeysInMemory], kind: type) -> list[list[Any]]:
    """Return the non-empty parts of a kind, in one list for each type of keys."""
    parts: dict[np.dtype[Any], list[KeysInMemory]] = {}
    for keys in arrays:
        if isinstance(keys, kind) and keys.size:
            parts.setdefault(keys.dtype, []).append(keys)
    return [*parts.values()]


def _split_by_bytes(arrays: Sequence[Keys]) -> Iterator[list[Keys]]:
    """Yield lists of consecutive arrays with about 1 / `RUNS_AT_ONCE` of all bytes each."""
    enough = sum(keys.nbytes for keys in arrays) // RUNS_AT_ONCE
    batch: list[Keys] = []
    n_bytes = 0
    for keys in arrays:
        batch.append(keys)
        n_bytes += keys.nbytes
        if n_bytes >= enough:
            yield batch
            batch = []
            n_bytes = 0
    if batch:
        yield batch


def _write_sorted(arrays: Sequence[Keys], file: SpillFile) -> SortedRun:
    """Sort the keys of several arrays together, and write them to a run."""
    keys = np.concatenate(arrays)
    keys.sort()
    return file.write(iter([keys]), keys.size, keys.dtype)


def _write_grouped(parts: Sequence[Grouped], file: SpillFile) -> SortedRun:
    """Write scores grouped by label to a sorted run, a range of labels at a time."""
    size = sum(part.size for part in parts)
    bounds = split_labels(parts, size // WRITTEN)

    def sort_ranges() -> Iterator[Keys]:
        for first, stop in pairwise(bounds):
            keys = np.concatenate([part.keys_of(first, stop) for part in parts])
            keys.sort()
            yield keys

    return file.write(sort_ranges(), size, parts[0].dtype)


def key_dtype(scores: Keys, n_labels: int) -> np.dtype[Any]:
    """Return the type of the keys of scores and their labels.

    float32 scores and labels fit into one integer; float64 ones are the imaginary parts of complex
    numbers, which NumPy sorts by real and then by imaginary part.
    """
    if scores.dtype == np.float32 and n_labels < 1 << 31:
        return np.dtype(np.int64)
    return np.dtype(np.complex128)


def make_keys(labels: Labels, scores: Scores, n_labels: int) -> Keys:
    """Return keys that sort by label and then by score."""
    keys = np.empty(scores.size, key_dtype(scores, n_labels))
    if keys.dtype == np.int64:
        encode_keys(labels, scores.view(np.uint32), keys)
    else:
        keys.real = labels
        keys.imag = scores
    return keys


def label_of(keys: Keys) -> Ints:
    """Return the labels of keys, int64."""
    if keys.dtype == np.int64:
        return keys >> HALF
    return keys.real.astype(np.int64)


def score_of(keys: Keys) -> Scores:
    """Return the scores of keys."""
    if keys.dtype.kind == "f":
        return keys
    if keys.dtype == np.complex128:
        return keys.imag.copy()
    scores = np.empty(keys.size, np.uint32)
    decode_keys(keys, scores)
    return scores.view(np.float32)


def split_before(labels: Ints, dtype: np.dtype[Any]) -> Keys:
    """Return splitters: numbers below every key of a label, and above those of smaller labels."""
    if dtype == np.int64:
        return labels << HALF
    return (labels - 0.5).astype(dtype)


def _labels_after(splitters: Keys) -> Ints:
    """Return the labels that `split_before` made splitters for."""
    if splitters.dtype == np.int64:
        return label_of(splitters)
    labels: Ints = np.ceil(splitters.real).astype(np.int64)
    return labels


def widen(keys: Keys, dtype: np.dtype[Any]) -> Keys:
    """Return keys in a wider type of the same kind; the array itself where it has the type."""
    if keys.dtype == np.int64 and dtype == np.complex128:
        wide = np.empty(keys.size, dtype)
        wide.real = label_of(keys)
        wide.imag = score_of(keys)
        return wide
    return keys.astype(dtype, copy=False)


class CutPart(NamedTuple):
    """A part of a pile and the offsets of its ranges, int64 (ranges + 1,)."""

    part: Keys | Grouped | SortedRun
    offsets: Ints


MapNumbers = Callable[[Callable[[int], CutPart], Sequence[int]], list[CutPart]]


class PileRanges:
    """Piles split by s keys into 2 s + 1 ranges; odd ranges contain keys equal to a splitter.

    piles : their arrays are replaced by partitioned copies
    splitters : (s,), keys, ascending; from `split_before` where scores are grouped by label
    map_numbers : maps a function over numbers, possibly in several threads

    sizes : int64 (piles, ranges), number of keys of each pile in each range
    """

    def __init__(self, piles: Sequence[Pile], splitters: Keys, map_numbers: MapNumbers) -> None:
        self.dtype = splitters.dtype
        self.cuts = _cut_piles(piles, splitters, map_numbers)
        self.sizes: Ints = np.zeros((len(piles), 2 * splitters.size + 1), np.int64)
        for sizes, cuts in zip(self.sizes, self.cuts, strict=True):
            for cut in cuts:
                sizes += np.diff(cut.offsets)

    def load(self, pile: int, number: int) -> Keys:
        """Return the keys of a pile in a range, sorted."""
        keys = np.empty(self.sizes[pile, number], self.dtype)
        place = 0
        for part, offsets in self.cuts[pile]:
            start = int(offsets[number])
            stop = int(offsets[number + 1])
            out = keys[place : place + stop - start]
            if isinstance(part, SortedRun) and part.dtype == self.dtype:
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

    def _read(self, part: Keys | Grouped | SortedRun, start: int, stop: int) -> Keys:
        """Return the keys between two offsets of a part."""
        if isinstance(part, SortedRun):
            keys = np.empty(stop - start, part.dtype)
            part.read(start, keys)
        elif isinstance(part, Grouped):
            labels = np.searchsorted(part.ptr, part.ptr[0] + [start, stop])
            keys = part.keys_of(*labels.tolist())
        else:
            keys = part[start:stop]
        return widen(keys, self.dtype)

    def load_all(self, piles: Sequence[int], number: int) -> Keys:
        """Return the keys of several piles in a range, sorted together."""
        loaded = [self.load(pile, number) for pile in piles]
        if len(loaded) == 1:
            return loaded[0]
        keys = np.concatenate(loaded)
        keys.sort()
        return keys


def _cut_piles(
    piles: Sequence[Pile], splitters: Keys, map_numbers: MapNumbers
) -> list[list[CutPart]]:
    """Return the parts of every pile, cut at the splitters."""
    parts = [(number, part) for number, pile in enumerate(piles) for part in pile.parts()]

    def cut_part(place: int) -> CutPart:
        number, part = parts[place]
        cut = _cut(part, splitters)
        if isinstance(cut.part, np.ndarray):
            piles[number].replace_array(part, cut.part)  # drops this reference to the old array
        return cut

    cuts = map_numbers(cut_part, range(len(parts)))
    by_pile: list[list[CutPart]] = [[] for _ in piles]
    for (number, _), cut in zip(parts, cuts, strict=True):
        by_pile[number].append(cut)
    return by_pile


def _cut(part: Keys | Grouped | SortedRun, splitters: Keys) -> CutPart:
    """Return a part with the offsets of its ranges; keys in an array are partitioned."""
    if isinstance(part, SortedRun):
        return CutPart(part, _run_offsets(part, splitters))
    if isinstance(part, Grouped):
        ends = part.ptr[_labels_after(splitters)] - part.ptr[0]
        return CutPart(part, np.concatenate(([0], np.repeat(ends, 2), [part.size])))
    if not splitters.size:
        return CutPart(part, np.array([0, part.size]))
    return _partition(widen(part, splitters.dtype), splitters)


def _partition(keys: Keys, splitters: Keys) -> CutPart:
    """Return a copy of keys, ordered by range."""
    if keys.dtype == np.complex128:  # kernels cannot compare these
        keys = np.sort(keys)
        sides = [np.searchsorted(keys, splitters, side) for side in ("left", "right")]
        inner = np.stack(sides, axis=1).ravel()
        return CutPart(keys, np.concatenate(([0], inner, [keys.size])))
    offsets = np.empty(2 * splitters.size + 2, np.int64)
    range_dtype: type = np.uint8 if splitters.size <= SCANNED else np.int32
    range_of_key: NDArray[Any] = np.empty(keys.size, range_dtype)
    parted = np.empty_like(keys)
    part_keys(keys, splitters, range_of_key, parted, offsets)
    return CutPart(parted, offsets)


def _run_offsets(run: SortedRun, splitters: Keys) -> Ints:
    """Return the offsets of ranges in a run; its sample limits the keys to read."""
    offsets = np.empty(2 * splitters.size + 2, np.int64)
    offsets[0] = 0
    offsets[-1] = run.size
    sample = widen(run.sample, splitters.dtype)
    sides: tuple[Literal["left", "right"], ...] = ("left", "right")
    for number, splitter in enumerate(splitters):
        for after, side in enumerate(sides):
            place = int(np.searchsorted(sample, splitter, side))
            start = max(0, place - 1) * run.stride
            stop = min(run.size, place * run.stride)
            keys = np.empty(stop - start, run.dtype)
            run.read(start, keys)
            within = np.searchsorted(widen(keys, splitters.dtype), splitter, side)
            offsets[2 * number + 1 + after] = start + within
    return offsets


def common_dtype(piles: Iterable[Pile], default: type) -> np.dtype[Any]:
    """Return the widest type of the keys in piles; the default if there are no keys."""
    dtypes = {part.dtype for pile in piles for part in pile.parts()}
    if not dtypes:
        return np.dtype(default)
    return max(dtypes, key=lambda dtype: dtype.itemsize)


def quantiles(samples: Sequence[tuple[Floats, int]], n_ranges: int) -> Floats:
    """Return ascending numbers that split parts into ranges of about equal size.

    samples : for each part, every stride-th of its numbers, and the stride
    """
    if n_ranges < 2 or not samples:
        return np.empty(0)
    values = np.concatenate([sample for sample, _ in samples])
    weights = np.concatenate([np.full(sample.size, float(stride)) for sample, stride in samples])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    shares = reached[-1] * np.arange(1, n_ranges) / n_ranges
    cuts: Floats = values[order][np.searchsorted(reached, shares)]
    return cuts


def sample_piles(piles: Iterable[Pile]) -> list[tuple[Floats, int]]:
    """Return a sample of the scores, or of the labels, in every part, as `quantiles` takes it."""
    return [_sample(part) for pile in piles for part in pile.parts()]


def _sample(part: Keys | Grouped | SortedRun) -> tuple[Floats, int]:
    """Return every stride-th score or label of a part, float64, and the stride."""
    if isinstance(part, SortedRun):
        return _scores_or_labels(part.sample), part.stride
    stride = max(1, part.size // SAMPLED)
    if isinstance(part, Grouped):
        places = part.ptr[0] + np.arange(0, part.size, stride)
        labels = np.searchsorted(part.ptr, places, "right") - 1
        return labels.astype(np.float64), stride
    return _scores_or_labels(part[::stride]), stride


def _scores_or_labels(keys: Keys) -> Floats:
    """Return scores as float64, or the labels of keys of labels and scores."""
    if keys.dtype.kind == "f":
        return keys.astype(np.float64)
    return label_of(keys).astype(np.float64)
