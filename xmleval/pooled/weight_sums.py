"""Sums of weights by key: sorted tables in memory and in files, merged as they grow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Chunks, Floats, Ints, bytes_of
from xmleval.base.budget import Resources
from xmleval.files.spill import SortedRun, SpillFile
from xmleval.kernels.weight_sums import SUM, add_table, add_to, is_table, merge_tables, tabulate
from xmleval.pooled.piles import make_keys, quantiles

WORD = 8  # bytes
# least ratio of a part to the next: two of about equal size merge, one of twice the size does not
GROWTH = 1.5
SAMPLED = 256  # rows of a table sampled to choose ranges
LEAST_RANGE = 1 << 14  # bytes
UNIT_BITS = 104
ONE = 1 << UNIT_BITS  # units in the weight 1
Part = TypeVar("Part", Floats, SortedRun)


def as_units(total: Floats, power: int = 1) -> int:
    """Return a sum of weights, float64 (2,), as an integer in units of 1 / `ONE`.

    power : of a sum of products, the number of factors; the unit has the same power
    """
    high, low = np.ldexp(total, power * UNIT_BITS).tolist()
    return int(high) + int(low)


def tabulate_weights(
    words: Sequence[NDArray[Any]], weight: Floats, count: Ints | None = None
) -> Floats:
    """Return the table of entries by key, float64 (distinct, w + 2), without weights of 0.

    words : w arrays (n,), the keys: scores, or labels and scores
    weight : (n,), of each entry
    count : (n,), how many times each entry counts; None for once
    """
    counted = weight > 0
    if count is not None:
        counted &= count > 0
    scores = words[-1] + words[-1].dtype.type(0)  # both zeros are one
    words = [*words[:-1], scores]
    order = _sort_words(words)
    order = order[counted[order]]
    table = np.empty((order.size, len(words) + SUM))
    times = np.empty(0) if count is None else count.astype(np.float64)
    columns = np.stack(words).astype(np.float64)
    return _shrink(table, tabulate(columns, order, weight, times, table))


def _sort_words(words: Sequence[NDArray[Any]]) -> Ints:
    """Return the order of keys by their first word, then by the next, and so on."""
    if len(words) == 2 and [word.dtype for word in words] == [np.int32, np.float32]:
        return np.argsort(make_keys(words[0], words[1], 0))
    order: Ints = np.argsort(words[-1])
    for word in words[-2::-1]:
        order = order[np.argsort(word[order], kind="stable")]
    return order


def _shrink(table: Floats, n: int) -> Floats:
    """Return the first rows of an array that nobody else refers to, and free the other rows."""
    if n < len(table):
        table.resize((n, table.shape[1]), refcheck=False)
    return table


def merged(tables: Sequence[Floats], n_words: int) -> Floats:
    """Return the sum of tables by key, small ones first."""
    left = [table for table in sorted(tables, key=len) if len(table)]
    if not left:
        return np.empty((0, n_words + SUM))
    while len(left) > 1:
        first, second = left[:2]
        out = np.empty((len(first) + len(second), n_words + SUM))
        n = merge_tables(first, second, out)
        left = sorted([_shrink(out, n), *left[2:]], key=len)
    return left[0]


class KeySums:
    """Sums of weights by key: tables in memory and sorted runs in files.

    Each part is more than `GROWTH` times as large as the next, and never changed. Equal keys are
    added up when two tables of about equal size are merged: n entries in small batches cost
    n log n, and keys that recur take no more memory.

    n_words : words of a key
    """

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words
        self.tables: list[Floats] = []
        self.runs: list[SortedRun] = []
        self.total = np.zeros(SUM)

    @property
    def parts(self) -> list[Any]:
        """All tables and runs."""
        return [*self.tables, *self.runs]

    def add(self, table: Floats) -> None:
        """Add a table."""
        total = self.total.copy()
        add_table(table, total)
        self.tables = self._with_tables([table])
        self.total = total

    def merge(self, added: KeySums) -> None:
        """Add the sums of another collection, which is unchanged."""
        total = self.total.copy()
        add_to(total, *added.total)
        self.runs = _join_growing([*self.runs, *added.runs], self._join_runs)
        self.tables = self._with_tables(added.tables)
        self.total = total

    def _with_tables(self, tables: Sequence[Floats]) -> list[Floats]:
        """Return the tables of this collection and more, merged where two are about as large."""
        return _join_growing([*self.tables, *tables], lambda *pair: merged(pair, self.n_words))

    def _join_runs(self, *pair: SortedRun) -> SortedRun:
        """Merge two runs to one, a range at a time."""
        size = sum(run.size for run in pair)
        n_bytes = size * (self.n_words + SUM) * WORD
        pair_sums = KeySums(self.n_words)
        pair_sums.runs = [*pair]
        ranges = WeightRanges([pair_sums], n_bytes >> 20)
        return self._write((ranges.load(0, number) for number in range(ranges.n)), size)

    def _write(self, tables: Iterable[Floats], size: int) -> SortedRun:
        """Write tables of rising keys to a run in a new file; ``size`` limits all their rows."""
        dtype = np.dtype(f"V{WORD * (self.n_words + SUM)}")
        records = (
            np.ascontiguousarray(table).view(dtype).reshape(-1) for table in tables if len(table)
        )
        return SpillFile().write(records, size, dtype)

    def spill(self) -> None:
        """Write the tables to a run; no signal handler can find half of it done."""
        table = self.compact()
        if len(table):
            nothing: list[Floats] = []
            run = self._write([table], len(table))
            runs = _join_growing([*self.runs, run], self._join_runs)
            self.tables = nothing
            self.runs = runs

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
        self.runs = [self._write([table], len(table)) for table in state["runs"]]

    def arrays(self) -> dict[str, NDArray[Any] | Chunks]:
        """Return the tables to save, as vectors: that of memory, and those of files."""
        arrays: dict[str, NDArray[Any] | Chunks] = {"held": self.compact().reshape(-1)}
        for number, run in enumerate(self.runs):
            size = run.size * (self.n_words + SUM)
            arrays[f"run{number}"] = Chunks(np.dtype(np.float64), size, partial(_read_words, run))
        return arrays

    def restore(self, vector: Chunks, on_disk: bool) -> None:
        """Add a saved table; raise ValueError if the vector is not a valid one."""
        width = self.n_words + SUM
        if vector.dtype != np.float64 or vector.size % width:
            raise ValueError(f"sums are {vector.dtype} of size {vector.size}")
        if on_disk:
            self._restore_on_disk(vector)
            return
        for table in self._read_saved(vector):
            self.add(table)

    def _restore_on_disk(self, vector: Chunks) -> None:
        """Write a saved table to a run."""
        total = self.total.copy()

        def count_tables() -> Iterator[Floats]:
            for table in self._read_saved(vector):
                add_table(table, total)
                yield table

        run = self._write(count_tables(), vector.size // (self.n_words + SUM))
        self.runs = _join_growing([*self.runs, run], self._join_runs)
        self.total = total

    def _read_saved(self, vector: Chunks) -> Iterator[Floats]:
        """Yield a saved table in pieces, or raise ValueError where keys or sums are invalid."""
        width = self.n_words + SUM
        last_row = np.empty(0)
        left = np.empty(0)
        for piece in vector.read():
            words = np.concatenate([left, piece])
            table = words[: words.size // width * width].reshape(-1, width)
            left = words[table.size :]
            if not is_table(table, last_row, self.n_words):
                raise ValueError("sums are out of range or not sorted")
            if len(table):
                last_row = table[-1]
            yield table


def _join_growing(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> list[Part]:
    """Join neighbours among parts until each is more than `GROWTH` times as large as the next."""
    stack: list[Part] = []
    for part in parts:
        if part.size:
            stack.append(part)
        while len(stack) > 1 and stack[-2].size <= GROWTH * stack[-1].size:
            stack[-2:] = [join(*stack[-2:])]
    return stack


def _read_words(run: SortedRun) -> Iterator[Floats]:
    """Yield the words of a run in chunks."""
    for piece in run.chunks():
        yield piece.view(np.float64)


def n_ranges(collections: Sequence[KeySums], resources: Resources) -> int:
    """Return the number of ranges to load: 1 in memory, and enough that each fits from files."""
    if not any(sums.runs for sums in collections):
        return 1
    n_bytes = sum(run.size * run.dtype.itemsize for sums in collections for run in sums.runs)
    n_bytes += bytes_of([sums.tables for sums in collections])
    return -(-n_bytes // max(LEAST_RANGE, resources.sorted // 2))


class WeightRanges:
    """Collections of sums, cut by the first words of keys into ranges of about equal size.

    collections : the sums to cut
    n_wanted : number of ranges to aim at

    n : number of ranges
    cuts : float64 (n - 1,), first words of keys at which ranges start
    """

    def __init__(self, collections: Sequence[KeySums], n_wanted: int) -> None:
        self._n_words = [sums.n_words for sums in collections]
        self._parts = [sums.parts for sums in collections]  # another thread may merge or spill them
        samples = [_sample(part) for parts in self._parts for part in parts]
        self.cuts = np.unique(quantiles(samples, n_wanted))
        self.n = self.cuts.size + 1
        self._places = [[_places(part, self.cuts) for part in parts] for parts in self._parts]

    def load(self, collection: int, number: int) -> Floats:
        """Return the table of a collection in a range, both by number."""
        tables = []
        for part, places in zip(self._parts[collection], self._places[collection], strict=True):
            tables.append(_read(part, places[number], places[number + 1]))
        return merged(tables, self._n_words[collection])


def _read(part: Floats | SortedRun, start: int, stop: int) -> Floats:
    """Return rows of a table or of a run."""
    if not isinstance(part, SortedRun):
        return part[start:stop]
    rows = np.empty(stop - start, part.dtype)
    part.read(start, rows)
    return _rows(rows)


def _rows(records: NDArray[Any]) -> Floats:
    """Return records of a run as a table."""
    return records.view(np.float64).reshape(records.size, records.dtype.itemsize // WORD)


def _sample(part: Floats | SortedRun) -> tuple[Floats, int]:
    """Return the first words of some rows, and the number of rows from one to the next."""
    if isinstance(part, SortedRun):
        n_sampled = -(-part.size // part.stride)
        return _rows(part.sample)[:n_sampled, 0], part.stride
    stride = max(1, len(part) // SAMPLED)
    return part[::stride, 0], stride


def _places(part: Floats | SortedRun, cuts: Floats) -> list[int]:
    """Return where each range starts in a part, and the end."""
    if not isinstance(part, SortedRun):
        starts = [bisect_left(part[:, 0], cut) for cut in cuts.tolist()]
        return [0, *starts, len(part)]
    sample, stride = _sample(part)
    sampled_places = np.searchsorted(sample, cuts)
    starts = []
    for cut, place in zip(cuts.tolist(), sampled_places.tolist(), strict=True):
        first = max(0, place - 1) * stride
        rows = _read(part, first, min(part.size, place * stride))
        starts.append(first + bisect_left(rows[:, 0], cut))
    return [0, *starts, part.size]
