"""Remote files read by ranges of bytes, which grow where reads follow one another."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable
from typing import Any

from xmleval.budget import LIMIT

LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 12 << 10, 1 << 24  # the least holds the header of an array
KEPT_BLOCKS = 8  # of a file that is read in any order, such as of its columns
READERS = 8  # with a block each, that share an eighth of a memory limit


class RangeReader(io.RawIOBase):
    """A remote file as an open file; ``fetch`` returns its bytes between two positions.

    Up to ``end``, blocks grow while reads follow one another.
    """

    _share = MOST_BLOCK_BYTES  # of a memory limit

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, end: int) -> None:
        super().__init__()
        self._fetch, self._size, self._end = fetch, size, min(end, size)
        self._place = 0
        self._blocks = deque([(0, b"")], KEPT_BLOCKS)  # and their places

    @classmethod
    def share(cls) -> None:
        """Take the blocks of one more reader from a memory limit, which tells their size from now on."""
        if (limit := LIMIT.get()) is not None:
            n_bytes = int(min(limit.limit // (8 * READERS), MOST_BLOCK_BYTES))
            limit.take(n_bytes)
            cls._share = max(n_bytes, LEAST_BLOCK_BYTES)

    def readable(self) -> bool:
        """Return True."""
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to another position."""
        self._place = max(0, offset + (0, self._place, self._size)[whence])
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Read some of the next bytes."""
        view, place = memoryview(buffer).cast("B"), self._place
        n_bytes = min(len(view), self._size - place)
        if n_bytes <= 0:
            return 0
        blocks = (block for block in self._blocks if 0 <= place - block[0] < len(block[1]))
        start, block = next(blocks, None) or self._load(n_bytes)
        part = memoryview(block)[place - start :][:n_bytes]
        view[: len(part)] = part
        self._place += len(part)
        return len(part)

    def _load(self, n_bytes: int) -> tuple[int, bytes]:
        """Fetch a block that has the next byte; it is twice the last one if it follows that in order."""
        (start, last), stop, place = self._blocks[-1], self._size, self._place
        if place < self._end:
            n_bytes = max(n_bytes, 2 * len(last) if place == start + len(last) else 0)
            stop, last = self._end, b""
            self._blocks.clear()  # one is held at a time, not two
        n_bytes = min(max(n_bytes, LEAST_BLOCK_BYTES), self._share, MOST_BLOCK_BYTES)
        self._blocks.append((place, self._fetch(place, min(place + n_bytes, stop))))
        return self._blocks[-1]
