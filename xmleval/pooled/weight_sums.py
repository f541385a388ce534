"""Exact sums of weights by key: sorted tables in memory and in files, merged as they grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.files.spill import Run, SpillFile
from xmleval.kernels.fixed import BITS
from xmleval.kernels.weight_sums import (
    HIGHEST,
    SUM,
    by_first_word,
    find_word,
    is_table,
    merge_tables,
    tabulate,
    total_of,
)
from xmleval.records import Chunks, Floats, Ints, Scores

WORD = 8  # bytes
GROWTH = 1.5  # so that two of about equal size are merged, and two of one size with one of the next are not
SAMPLED = 256  # rows of a table sampled to choose ranges
ONE = 1 << (2 * BITS)  # units in the weight 1


def as_units(total: Ints) -> int:
    """Return a sum of weights, int64 (3,), as an integer in units of 2^-104."""
    whole, first, second = total.tolist()
    found: int = (((whole << BITS) + first) << BITS) + second
    return found


def from_units(units: int) -> Ints:
    """Return the sum of weights that `as_units` returns as ``units``."""
    mask = (1 << BITS) - 1
    return np.array([units >> (2 * BITS), (units >> BITS) & mask, units & mask], np.int64)


def added(one: Ints, other: Ints) -> Ints:
    """Return the sum of two sums of weights, int64 (3,)."""
    total = one.copy()
    total_of(other[None], total)
    return total


def score_keys(scores: Scores) -> Ints:
    """Return integers in the order of scores, int64 (n,); both zeros are one."""
    bits: Ints = (scores.astype(np.float64) + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & HIGHEST)


def tabulated(
    words: Sequence[Ints], weight: Floats, times: Ints | None = None, packed: Ints | None = None
) -> Ints:
    """Return the table of entries by key, int64 (distinct, w + 3); weights of 0 are left out.

    words : w arrays int64 (n,), the keys; weight, times : (n,), of each entry, which counts ``times``
    packed : int64 (n,), numbers in the order of the keys, which are sorted faster
    """
    times = np.empty(0, np.int64) if times is None else times
    counted = weight > 0 if not times.size else (weight > 0) & (times > 0)
    order: Ints = np.argsort(words[-1] if packed is None else packed)
    for word in words[-2::-1] if packed is None else []:
        order = order[np.argsort(word[order], kind="stable")]
    order = order[counted[order]]
    table = np.empty((order.size, len(words) + SUM), np.int64)
    return _shrunk(table, tabulate(np.stack(words), order, weight, times, table))


def _shrunk(table: Ints, n: int) -> Ints:
    """Return the first rows of an array that nobody else refers to; the rest is given back."""
    if n < len(table):
        table.resize((n, table.shape[1]), refcheck=False)
    return table


def by_word(table: Ints) -> Ints:
    """Return the sums of a table by the first words of its keys."""
    out = np.empty((len(table), 1 + SUM), np.int64)
    return _shrunk(out, by_first_word(table, out))


def merged(tables: Sequence[Ints], n_words: int) -> Ints:
    """Return the sum of tables by key, small ones first."""
    left = [table for table in sorted(tables, key=len) if len(table)]
    while len(left) > 1:
        one, other = left[:2]
        out = np.empty((len(one) + len(other), n_words + SUM), np.int64)
        left = sorted([_shrunk(out, merge_tables(one, other, n_words, out)), *left[2:]], key=len)
    return left[0] if left else np.empty((0, n_words + SUM), np.int64)


class KeySums:
    """Exact sums of weights by key: tables in memory and sorted runs in files, each `GROWTH` times the next.

    Tables and runs are never changed. Equal keys are added up when two tables of about equal size are merged:
    n entries in small batches cost n log n, and keys that recur take no more memory.

    Parameters
    ----------
    n_words : int
        Words of a key.
    """

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words
        self.tables: list[Ints] = []
        self.runs: list[Run] = []
        self.total: Ints = np.zeros(SUM, np.int64)

    @property
    def n_bytes(self) -> int:
        """Size of the tables in memory."""
        return sum(table.nbytes for table in self.tables)

    @property
    def parts(self) -> list[Ints | Run]:
        """All tables and runs."""
        return [*self.tables, *self.runs]

    @property
    def _dtype(self) -> np.dtype[Any]:
        return np.dtype(f"V{WORD * (self.n_words + SUM)}")

    def add(self, table: Ints) -> None:
        """Add a table."""
        total = self.total.copy()
        total_of(table, total)
        self.total = total
        self._push(table)

    def merge(self, other: KeySums) -> None:
        """Add the sums of another collection, which is unchanged."""
        self.total = added(self.total, other.total)
        tables = sorted([*self.tables, *other.tables], key=len, reverse=True)
        runs = sorted([*self.runs, *other.runs], key=lambda run: run.size, reverse=True)
        self.tables, self.runs = [], []
        for table in tables:
            self._push(table)
        for run in runs:
            self.runs = self._with_run(self.runs, run)

    def _push(self, table: Ints) -> None:
        tables = [*self.tables, table] if len(table) else self.tables
        while len(tables) > 1 and len(tables[-2]) <= GROWTH * len(tables[-1]):
            tables = [*tables[:-2], merged(tables[-2:], self.n_words)]
        self.tables = tables

    def _with_run(self, runs: list[Run], run: Run) -> list[Run]:
        """Return runs and one more, merged where two are of about equal size."""
        runs = [*runs, run]
        while len(runs) > 1 and runs[-2].size <= GROWTH * runs[-1].size:
            pair = KeySums(self.n_words)
            pair.runs = runs[-2:]
            most = sum(run.size for run in pair.runs)
            ranges = Ranges([pair], most * self._dtype.itemsize >> 20)
            tables = (ranges.load(0, number) for number in range(ranges.n))
            runs = [*runs[:-2], self.written(tables, most)]
        return runs

    def written(self, tables: Iterator[Ints], most: int) -> Run:
        """Write tables of rising keys, of at most so many rows together, to a run in a file of its own."""
        flat = (np.ascontiguousarray(table).view(self._dtype).reshape(-1) for table in tables if len(table))
        return SpillFile().write(flat, most, self._dtype)

    def spill(self) -> None:
        """Write the tables to a run; no signal handler can find half of it done."""
        table = self.compact()
        if len(table):
            nothing: list[Ints] = []
            runs = self._with_run(self.runs, self.written(iter([table]), len(table)))
            self.tables, self.runs = nothing, runs

    def compact(self) -> Ints:
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
        self.runs = [self.written(iter([table]), len(table)) for table in state["runs"]]

    def arrays(self) -> dict[str, NDArray[Any] | Chunks]:
        """Return the tables to save, as vectors: that of memory, and those of files."""
        table = self.compact()
        found: dict[str, NDArray[Any] | Chunks] = {}
        if len(table):
            found["held0"] = table.reshape(-1)
        for number, run in enumerate(self.runs):
            size = run.size * (self.n_words + SUM)
            found[f"run{number}"] = Chunks(np.dtype(np.int64), size, partial(_words, run))
        return found

    def restore(self, vector: Chunks, on_disk: bool, low: Sequence[int], high: Sequence[int]) -> None:
        """Add a saved table; raise ValueError if it is invalid, see `is_table`."""
        width, total = self.n_words + SUM, self.total.copy()
        if vector.dtype != np.int64 or vector.size % width:
            raise ValueError(f"sums are {vector.dtype} of size {vector.size}")

        def checked() -> Iterator[Ints]:
            last = rest = np.empty(0, np.int64)
            for piece in vector.read():
                words = np.concatenate([rest, piece])
                table = words[: words.size // width * width].reshape(-1, width)
                rest = words[table.size :]
                if not is_table(table, last, np.array(low), np.array(high), total):
                    raise ValueError("sums are out of range or not sorted")
                last = table[-1] if len(table) else last
                yield table

        if on_disk:
            run = self.written(checked(), vector.size // width)
            if run.size:
                self.runs = self._with_run(self.runs, run)
        else:
            for table in checked():
                self._push(table)
        self.total = total


def _words(run: Run) -> Iterator[Ints]:
    for piece in run.chunks():
        yield piece.view(np.int64)


class Ranges:
    """Collections of sums, cut by the first words of keys into ``n`` ranges, at least as many as wanted.

    Parameters
    ----------
    collections : sequence of KeySums
        What is cut.
    wanted : int
        Number of ranges of about equal size.
    """

    def __init__(self, collections: Sequence[KeySums], wanted: int) -> None:
        self._n_words = [sums.n_words for sums in collections]
        self._parts = [sums.parts for sums in collections]  # another thread may merge or spill them
        self.cuts = _quantiles([part for parts in self._parts for part in parts], wanted)
        self.n = self.cuts.size + 1
        self._places = [[_places(part, self.cuts) for part in parts] for parts in self._parts]

    def holds(self, number: int, word: int) -> bool:
        """Return whether a first word is in a range."""
        return int(np.searchsorted(self.cuts, word, "right")) == number

    def load(self, which: int, number: int) -> Ints:
        """Return the table of a collection in a range."""
        tables = []
        for part, places in zip(self._parts[which], self._places[which], strict=True):
            start, stop = places[number : number + 2].tolist()
            tables.append(_read(part, start, stop))
        return merged(tables, self._n_words[which])


def _read(part: Ints | Run, start: int, stop: int) -> Ints:
    if not isinstance(part, Run):
        return part[start:stop]
    rows = np.empty(stop - start, part.dtype)
    part.read(start, rows)
    return rows.view(np.int64).reshape(stop - start, part.dtype.itemsize // WORD)


def _sample(part: Ints | Run) -> tuple[Ints, int]:
    """Return the first words of some rows, and the number of rows from one to the next."""
    if isinstance(part, Run):
        n, width = -(-part.size // part.stride), part.dtype.itemsize // WORD
        return part.sample[:n].view(np.int64).reshape(n, width)[:, 0], part.stride
    stride = max(1, len(part) // SAMPLED)
    return part[::stride, 0], stride


def _quantiles(parts: Sequence[Ints | Run], wanted: int) -> Ints:
    """Return first words that cut parts into ranges of about equal size, rising."""
    samples = [_sample(part) for part in parts]
    if wanted < 2 or not samples:
        return np.empty(0, np.int64)
    words = np.concatenate([sample for sample, _ in samples])
    weights = np.concatenate([np.full(sample.size, stride) for sample, stride in samples])
    order = np.argsort(words, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, reached[-1] * np.arange(1, wanted) // wanted)
    found: Ints = np.unique(words[order][at])
    return found


def _places(part: Ints | Run, cuts: Ints) -> Ints:
    """Return where each range starts in a part, and the end."""
    if not isinstance(part, Run):
        found = [find_word(part, cut) for cut in cuts.tolist()]
        return np.array([0, *found, len(part)], np.int64)
    sample, stride = _sample(part)
    found = [0]
    for cut, place in zip(cuts.tolist(), np.searchsorted(sample, cuts).tolist(), strict=True):
        start = max(0, place - 1) * stride
        found.append(start + find_word(_read(part, start, min(part.size, place * stride)), cut))
    return np.array([*found, part.size], np.int64)
