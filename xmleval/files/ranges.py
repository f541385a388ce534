"""Remote files read by ranges of bytes, ahead of their use where reads follow one another."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from xmleval.budget import Allowance
from xmleval.threads import Pool

LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 12 << 10, 1 << 23  # the least holds the header of an array
AHEAD_BYTES = 1 << 20  # of a block, from which on the next one is fetched meanwhile
KEPT_BLOCKS = 8  # of a file that is read in any order, such as of its columns
READERS = 8  # with two blocks each, that share an eighth of a memory limit


class RangeReader(io.RawIOBase):
    """A remote file as an open file; ``fetch`` returns its bytes between two positions.

    Up to ``end``, blocks grow while reads follow one another, and the next one is fetched in another thread.
    """

    _share = MOST_BLOCK_BYTES  # of a memory limit

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, end: int) -> None:
        super().__init__()
        self._fetch, self._size, self._end = fetch, size, min(end, size)
        self._place = 0
        self._blocks: deque[tuple[int, bytes]] = deque(maxlen=1 if end else KEPT_BLOCKS)  # and their places
        self._most = min(self._share, MOST_BLOCK_BYTES)
        self._next: Future[bytes] | None = None
        self._pool = Pool(1)

    @classmethod
    def share(cls, allowance: Allowance) -> None:
        """Take the blocks of one more reader from a memory limit, which tells their size from now on."""
        if allowance.limit is not None:
            n_bytes = min(allowance.limit // (16 * READERS), MOST_BLOCK_BYTES)
            allowance.take(2 * n_bytes)
            cls._share = max(n_bytes, LEAST_BLOCK_BYTES)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

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
        """Fetch a block that has the next byte, or take the one that was fetched meanwhile."""
        place, ahead, self._next = self._place, self._next, None
        start, last = self._blocks[-1] if self._blocks else (0, b"")
        length, in_order = len(last), place == start + len(last) and place < self._end
        if self._end:
            last = b""
            self._blocks.clear()  # two are held at a time, not three
        if ahead is None or not in_order:
            length = min(max(n_bytes, LEAST_BLOCK_BYTES, 2 * length * in_order), self._most)
            block = self._fetch(place, min(place + length, self._end if place < self._end else self._size))
        else:
            block = ahead.result()
        self._blocks.append((place, block))
        start, length = place + len(block), min(2 * len(block), self._most)
        if in_order and start < self._end and len(block) >= min(AHEAD_BYTES, self._most):
            self._next = self._pool.submit(self._fetch, start, min(start + length, self._end))
        return place, block

    def close(self) -> None:
        """Stop reading ahead."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._blocks.clear()
        self._next = None
        super().close()
