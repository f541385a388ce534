"""Names of labels, numbered by their bytes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bytes, Ints
from xmleval.base.budget import memory_limit
from xmleval.kernels.decimal import SPARE
from xmleval.kernels.fields import fill_slots, hash_fields, number_names

Scalar = TypeVar("Scalar", bound=np.generic)
NAMES_SHARE = 8  # of what is left, for a table of names before another one is begun
SURROGATES = "surrogatepass"  # which JSON may hold


class NameTable:
    """Distinct names in the order in which they come, numbered by their bytes."""

    def __init__(self) -> None:
        self.n_names = 0
        self._seed = np.uint64(random.getrandbits(64))  # names of one hash are compared, which takes longer
        self._bytes: Bytes = np.empty(SPARE, np.uint8)
        self._ends: Ints = np.zeros(1, np.int64)
        self._slots = np.zeros(1, np.uint64)

    @property
    def n_bytes(self) -> int:
        """Memory of the table."""
        return self._bytes.nbytes + self._ends.nbytes + self._slots.nbytes

    def numbers(self, text: Bytes, starts: Ints, stops: Ints) -> Ints:
        """Return the number of each field."""
        n = starts.size
        self._make_room(n, int((stops - starts).sum()))
        hashes, numbers = np.empty(n, np.uint64), np.empty(n, np.int64)
        hash_fields(text, starts, stops, self._seed, hashes)
        tables = self._bytes, self._ends, self._slots
        self.n_names = number_names(text, starts, stops, hashes, *tables, self.n_names, numbers)
        return numbers

    def texts(self, numbers: Ints) -> list[str]:
        """Return names by number; all between the first and the last are decoded, once."""
        starts, stops = self._ends[numbers], self._ends[numbers + 1]
        first, last = int(starts.min(initial=self._bytes.size)), int(stops.max(initial=0))
        content = bytes(self._bytes[first:last])
        places = zip((starts - first).tolist(), (stops - first).tolist(), strict=True)
        if content.isascii():
            text = content.decode()
            return [text[start:stop] for start, stop in places]
        return [content[start:stop].decode(errors=SURROGATES) for start, stop in places]

    def _make_room(self, n: int, n_bytes: int) -> None:
        """Make room for so many names more, of so many bytes."""
        most = self.n_names + n
        if (n_bytes := int(self._ends[self.n_names]) + n_bytes + SPARE) > self._bytes.size:
            self._bytes = _grown(self._bytes, n_bytes)
        if most >= self._ends.size:
            self._ends = _grown(self._ends, most + 1)
        if 4 * most > 3 * self._slots.size:
            self._slots = np.zeros(1 << (4 * most // 3).bit_length(), np.uint64)
            fill_slots(self._bytes, self._ends, self.n_names, self._seed, self._slots)


class TableNames(Sequence[str]):
    """The names of a table so far, of which texts are made where they are asked for."""

    def __init__(self, table: NameTable) -> None:
        self.table = table
        self._n_names = table.n_names

    def __len__(self) -> int:
        """Return how many names there are."""
        return self._n_names

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return a name, or the names of a slice."""
        if isinstance(place, slice):
            return self.at(np.arange(self._n_names)[place])
        return self.at(np.arange(self._n_names)[[place]])[0]

    def __iter__(self) -> Iterator[str]:
        """Yield each name."""
        return iter(self.at(np.arange(self._n_names)))

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is among these; no label is empty."""
        return name != "" and name in [*self]

    def at(self, places: Ints) -> list[str]:
        """Return the names at some places."""
        return self.table.texts(places)


class Names:
    """Names that threads number, by one table while it needs no more than some bytes, then by another one."""

    def __init__(self) -> None:
        self._most_bytes = memory_limit().left / NAMES_SHARE
        self._table = NameTable()
        self._lock = threading.Lock()

    def number(self, text: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, TableNames]:
        """Return the place of each field among names, and these."""
        with self._lock:
            if self._table.n_bytes > self._most_bytes:
                self._table = NameTable()
            return self._table.numbers(text, starts, stops), TableNames(self._table)

    def number_texts(self, texts: list[str]) -> tuple[Ints, TableNames] | None:
        """Return the same of texts, None if any is empty."""
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        if not sizes.all():
            return None
        joined = "".join(texts)
        if joined.isascii():
            content = joined.encode()
        else:
            parts = [text.encode(errors=SURROGATES) for text in texts]
            content = b"".join(parts)
            sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        stops = np.cumsum(sizes)
        return self.number(np.frombuffer(content + bytes(SPARE), np.uint8), stops - sizes, stops)


def _grown(array: NDArray[Scalar], least: int) -> NDArray[Scalar]:
    """Return a larger array that begins with another one."""
    grown = np.empty(max(least, 5 * array.size // 4), array.dtype)
    grown[: array.size] = array
    return grown
