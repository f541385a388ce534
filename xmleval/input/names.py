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
NAMES_SHARE = 8  # a table takes 1/8 of the memory left, then another one is begun
SURROGATES = "surrogatepass"  # JSON may contain lone surrogates


class NameTable:
    """Distinct names in order of first occurrence, numbered by their bytes."""

    def __init__(self) -> None:
        self.n_names = 0
        # a random seed: names with equal hashes are compared, which takes longer
        self._seed = np.uint64(random.getrandbits(64))
        self._bytes: Bytes = np.empty(SPARE, np.uint8)
        self._ends: Ints = np.zeros(1, np.int64)
        self._slots = np.zeros(1, np.uint64)

    @property
    def n_bytes(self) -> int:
        """Memory of the table."""
        return self._bytes.nbytes + self._ends.nbytes + self._slots.nbytes

    def numbers(self, text: Bytes, starts: Ints, stops: Ints) -> Ints:
        """Return the numbers of the names in ``text[start:stop]``; new names are added."""
        n_fields = starts.size
        n_field_bytes = int((stops - starts).sum())
        self._make_room(n_fields, n_field_bytes)
        hashes = np.empty(n_fields, np.uint64)
        numbers = np.empty(n_fields, np.int64)
        hash_fields(text, starts, stops, self._seed, hashes)
        self.n_names = number_names(
            text,
            starts,
            stops,
            hashes,
            self._bytes,
            self._ends,
            self._slots,
            self.n_names,
            numbers,
        )
        return numbers

    def texts(self, numbers: Ints) -> list[str]:
        """Return names by number; the bytes from the first to the last are copied once."""
        starts = self._ends[numbers]
        stops = self._ends[numbers + 1]
        first = int(starts.min(initial=self._bytes.size))
        last = int(stops.max(initial=0))
        content = bytes(self._bytes[first:last])
        content_starts = (starts - first).tolist()
        content_stops = (stops - first).tolist()
        places = zip(content_starts, content_stops, strict=True)
        if content.isascii():
            text = content.decode()
            return [text[start:stop] for start, stop in places]
        return [content[start:stop].decode(errors=SURROGATES) for start, stop in places]

    def _make_room(self, n_more: int, n_more_bytes: int) -> None:
        """Grow the arrays for ``n_more`` names."""
        n_most = self.n_names + n_more
        n_bytes_used = int(self._ends[self.n_names])
        n_bytes_needed = n_bytes_used + n_more_bytes + SPARE
        if n_bytes_needed > self._bytes.size:
            self._bytes = _grown(self._bytes, n_bytes_needed)
        if n_most >= self._ends.size:
            self._ends = _grown(self._ends, n_most + 1)
        if 4 * n_most > 3 * self._slots.size:
            n_bits = (4 * n_most // 3).bit_length()
            self._slots = np.zeros(1 << n_bits, np.uint64)
            fill_slots(self._bytes, self._ends, self.n_names, self._seed, self._slots)


class TableNames(Sequence[str]):
    """Names that a table has so far, decoded on access."""

    def __init__(self, table: NameTable) -> None:
        self.table = table
        self._n_names = table.n_names

    def __len__(self) -> int:
        """Return the number of names."""
        return self._n_names

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return a name, or the names of a slice."""
        places = np.arange(self._n_names)
        if isinstance(place, slice):
            return self.at(places[place])
        return self.at(places[[place]])[0]

    def __iter__(self) -> Iterator[str]:
        """Yield each name."""
        return iter(self.at(np.arange(self._n_names)))

    def __contains__(self, name: object) -> bool:
        """Return whether a name is in the table; no label has an empty name."""
        return name != "" and name in [*self]

    def at(self, places: Ints) -> list[str]:
        """Return the names at some places."""
        return self.table.texts(places)


class Names:
    """Numbers names for several threads; a full table is replaced by an empty one."""

    def __init__(self) -> None:
        self._most_bytes = memory_limit().left / NAMES_SHARE
        self._table = NameTable()
        self._lock = threading.Lock()

    def number(self, text: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, TableNames]:
        """Return the number of the name in each ``text[start:stop]``, and the numbered names."""
        with self._lock:
            if self._table.n_bytes > self._most_bytes:
                self._table = NameTable()
            numbers = self._table.numbers(text, starts, stops)
            return numbers, TableNames(self._table)

    def number_texts(self, texts: list[str]) -> tuple[Ints, TableNames] | None:
        """Return numbers of texts, and the numbered names; None if any text is empty."""
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        if not sizes.all():
            return None
        joined = "".join(texts)
        if joined.isascii():
            content = joined.encode()
        else:
            encoded = [text.encode(errors=SURROGATES) for text in texts]
            content = b"".join(encoded)
            sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        stops = np.cumsum(sizes)
        content_bytes = np.frombuffer(content + bytes(SPARE), np.uint8)
        return self.number(content_bytes, stops - sizes, stops)


def _grown(array: NDArray[Scalar], least: int) -> NDArray[Scalar]:
    """Return a larger array that begins with the values of another one."""
    size = max(least, 5 * array.size // 4)
    grown = np.empty(size, array.dtype)
    grown[: array.size] = array
    return grown
