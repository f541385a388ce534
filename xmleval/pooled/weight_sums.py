"""Sums of weights by key: sorted tables in memory and in files, merged as they grow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Chunks, Floats, Ints, bytes_of
from xmleval.base.budget import Resources
from xmleval.files.spill import Run, SpillFile
from xmleval.kernels.weight_sums import SUM, add_table, add_to, is_table, merge_tables, tabulate
from xmleval.pooled.piles import make_keys, quantiles

WORD = 8  # bytes
GROWTH = 1.5  # so that two of about equal size are merged, and two of one size with one of the next are not
SAMPLED = 256  # rows of a table sampled to choose ranges
LEAST_RANGE = 1 << 14  # bytes
UNIT_BITS = 104
ONE = 1 << UNIT_BITS  # units in the weight 1
Part = TypeVar("Part", Floats, Run)


def as_units(total: Floats, power: int = 1) -> int:
    """Return a sum of products of so many weights, float64 (2,), as an integer in units of 1 / `ONE`."""
    high, low = np.ldexp(total, power * UNIT_BITS).tolist()
    return int(high) + int(low)


def tabulated(words: Sequence[NDArray[Any]], weight: Floats, count: Ints | None = None) -> Floats:
    """Return the table of entries by key, float64 (distinct, w + 2); weights of 0 are left out.

    words : w arrays (n,), the keys: scores, or labels and scores; weight, count : (n,), of each entry, which
    counts so many times
    """
    counted = weight > 0 if count is None else (weight > 0) & (count > 0)
    words = [*words[:-1], words[-1] + words[-1].dtype.type(0)]  # both zeros are one
    packed = len(words) == 2 and [word.dtype for word in words] == [np.int32, np.float32]
    order: Ints = np.argsort(make_keys(words[0], words[1], 0) if packed else words[-1])
    for word in [] if packed else words[-2::-1]:
        order = order[np.argsort(word[order], kind="stable")]
    order = order[counted[order]]
    table = np.empty((order.size, len(words) + SUM))
    times = np.empty(0) if count is None else count.astype(np.float64)
    return _shrunk(table, tabulate(np.stack(words).astype(np.float64), order, weight, times, table))


def _shrunk(table: Floats, n: int) -> Floats:
    """Return the first rows of an array that nobody else refers to; the rest is given back."""
    if n < len(table):
        table.resize((n, table.shape[1]), refcheck=False)
    return table


def merged(tables: Sequence[Floats], n_words: int) -> Floats:
    """Return the sum of tables by key, small ones first."""
    left = [table for table in sorted(tables, key=len) if len(table)]
    while len(left) > 1:
        first, second = left[:2]
        out = np.empty((len(first) + len(second), n_words + SUM))
        left = sorted([_shrunk(out, merge_tables(first, second, out)), *left[2:]], key=len)
    return left[0] if left else np.empty((0, n_words + SUM))


class KeySums:
    """Sums of weights by key: tables in memory and sorted runs in files, each `GROWTH` times the next.

    Tables and runs are never changed. Equal keys are added up when two tables of about equal size are merged:
    n entries in small batches cost n log n, and keys that recur take no more memory.

    n_words : words of a key
    """

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words
        self.tables: list[Floats] = []
        self.runs: list[Run] = []
        self.total = np.zeros(SUM)

    @property
    def parts(self) -> list[Any]:
        """All tables and runs."""
        return [*self.tables, *self.runs]

    def add(self, table: Floats) -> None:
        """Add a table."""
        total = self.total.copy()
        add_table(table, total)
        self.tables, self.total = self._with_tables([table]), total

    def merge(self, added: KeySums) -> None:
        """Add the sums of another collection, which is unchanged."""
        total = self.total.copy()
        add_to(total, *added.total)
        self.runs = _stacked([*self.runs, *added.runs], self._joined)
        self.tables, self.total = self._with_tables(added.tables), total

    def _with_tables(self, tables: Sequence[Floats]) -> list[Floats]:
        return _stacked([*self.tables, *tables], lambda *pair: merged(pair, self.n_words))

    def _joined(self, *pair: Run) -> Run:
        """Merge two runs to one, a range at a time."""
        size = sum(run.size for run in pair)
        pair_sums = KeySums(self.n_words)
        pair_sums.runs = [*pair]
        ranges = Ranges([pair_sums], size * (self.n_words + SUM) * WORD >> 20)
        return self._written((ranges.load(0, number) for number in range(ranges.n)), size)

    def _written(self, tables: Iterator[Floats], size: int) -> Run:
        """Write tables of rising keys, of at most so many rows together, to a run in a file of its own."""
        dtype = np.dtype(f"V{WORD * (self.n_words + SUM)}")
        flat = (np.ascontiguousarray(table).view(dtype).reshape(-1) for table in tables if len(table))
        return SpillFile().write(flat, size, dtype)

    def spill(self) -> None:
        """Write the tables to a run; no signal handler can find half of it done."""
        table = self.compact()
        if len(table):
            nothing: list[Floats] = []
            runs = _stacked([*self.runs, self._written(iter([table]), len(table))], self._joined)
            self.tables, self.runs = nothing, runs

    def compact(self) -> Floats:
        """Merge the tables in memory to one, and return it."""
        table = merged(self.tables, self.n_words)
        self.tables = [table] if len(table) else []
        return table

    def __getstate__(self) -> dict[str, Any]:
        """Return the collection with tables in place of files, which cannot be copied."""
        return {**self.__dict__, "runs": [_read(run, 0, run.size) for run in self.runs]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the collection of `__getstate__`."""
        self.__dict__ |= state
        self.runs = [self._written(iter([table]), len(table)) for table in state["runs"]]

    def arrays(self) -> dict[str, NDArray[Any] | Chunks]:
        """Return the tables to save, as vectors: that of memory, and those of files."""
        arrays: dict[str, NDArray[Any] | Chunks] = {"held": self.compact().reshape(-1)}
        for number, run in enumerate(self.runs):
            size = run.size * (self.n_words + SUM)
            arrays[f"run{number}"] = Chunks(np.dtype(np.float64), size, partial(_words, run))
        return arrays

    def restore(self, vector: Chunks, on_disk: bool) -> None:
        """Add a saved table; raise ValueError if it is none."""
        width = self.n_words + SUM
        if vector.dtype != np.float64 or vector.size % width:
            raise ValueError(f"sums are {vector.dtype} of size {vector.size}")

        def checked() -> Iterator[Floats]:
            last = left = np.empty(0)
            for piece in vector.read():
                words = np.concatenate([left, piece])
                table = words[: words.size // width * width].reshape(-1, width)
                left = words[table.size :]
                if not is_table(table, last, self.n_words):
                    raise ValueError("sums are out of range or not sorted")
                last = table[-1] if len(table) else last
                yield table

        if not on_disk:
            for table in checked():
                self.add(table)
            return
        total = self.total.copy()

        def counted() -> Iterator[Floats]:
            for table in checked():
                add_table(table, total)
                yield table

        run = self._written(counted(), vector.size // width)
        self.runs, self.total = _stacked([*self.runs, *[run] * (run.size > 0)], self._joined), total


def _stacked(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> list[Part]:
    """Return parts, of which two are joined until none is less than `GROWTH` times the next."""
    stack: list[Part] = []
    for part in parts:
        stack += [part] if part.size else []
        while len(stack) > 1 and stack[-2].size <= GROWTH * stack[-1].size:
            stack[-2:] = [join(*stack[-2:])]
    return stack


def _words(run: Run) -> Iterator[Floats]:
    for piece in run.chunks():
        yield piece.view(np.float64)


def n_ranges(collections: Sequence[KeySums], resources: Resources) -> int:
    """Return the number of ranges to load: one in memory, and so many from files that each fits."""
    if not any(sums.runs for sums in collections):
        return 1
    n_bytes = sum(run.size * run.dtype.itemsize for sums in collections for run in sums.runs)
    n_bytes += bytes_of([sums.tables for sums in collections])
    return -(-n_bytes // max(LEAST_RANGE, resources.sorted // 2))


class Ranges:
    """Collections of sums, cut by the first words of keys into ``n`` ranges, at least as many as wanted.

    collections : what is cut
    wanted : number of ranges of about equal size
    """

    def __init__(self, collections: Sequence[KeySums], n_wanted: int) -> None:
        self._n_words = [sums.n_words for sums in collections]
        self._parts = [sums.parts for sums in collections]  # another thread may merge or spill them
        self.cuts = np.unique(quantiles([_sample(part) for parts in self._parts for part in parts], n_wanted))
        self.n = self.cuts.size + 1
        self._places = [[_places(part, self.cuts) for part in parts] for parts in self._parts]

    def load(self, which: int, number: int) -> Floats:
        """Return the table of a collection in a range."""
        parts = zip(self._parts[which], self._places[which], strict=True)
        tables = [_read(part, *places[number : number + 2]) for part, places in parts]
        return merged(tables, self._n_words[which])


def _read(part: Floats | Run, start: int, stop: int) -> Floats:
    if not isinstance(part, Run):
        return part[start:stop]
    rows = np.empty(stop - start, part.dtype)
    part.read(start, rows)
    return _rows(rows)


def _rows(records: NDArray[Any]) -> Floats:
    """Return records of a run as a table."""
    return records.view(np.float64).reshape(records.size, records.dtype.itemsize // WORD)


def _sample(part: Floats | Run) -> tuple[Floats, int]:
    """Return the first words of some rows, and the number of rows from one to the next."""
    if isinstance(part, Run):
        return _rows(part.sample)[: -(-part.size // part.stride), 0], part.stride
    stride = max(1, len(part) // SAMPLED)
    return part[::stride, 0], stride


def _places(part: Floats | Run, cuts: Floats) -> list[int]:
    """Return where each range starts in a part, and the end."""
    if not isinstance(part, Run):
        return [0, *(bisect_left(part[:, 0], cut) for cut in cuts.tolist()), len(part)]
    sample, stride = _sample(part)
    places = [0]
    for cut, place in zip(cuts.tolist(), np.searchsorted(sample, cuts).tolist(), strict=True):
        start = max(0, place - 1) * stride
        rows = _read(part, start, min(part.size, place * stride))
        places.append(start + bisect_left(rows[:, 0], cut))
    return [*places, part.size]
