"""Remote files read by ranges of bytes: short reads by pages that are kept, long ones ahead of their use."""

from __future__ import annotations

import errno
import functools
import io
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from xmleval.budget import Allowance
from xmleval.threads import Pool

PAGE_BYTES, KEPT_PAGES = 1 << 15, 128  # of short reads of all files
AHEAD_BYTES, MOST_BLOCK_BYTES = 1 << 20, 1 << 23  # of a block: from which on the next one is fetched; at most
READERS = 8  # with two blocks each, that share an eighth of a memory limit
KEPT_BLOCKS = 8  # of a file that is not read in order, such as of its columns
Fetch = Callable[[int, int], bytes]


class RangeReader(io.RawIOBase):
    """A remote file as an open file; ``fetch`` returns its bytes between two positions.

    Where reads follow one another ``in_order``, blocks grow, and the next one is fetched in another thread
    while one is used, up to ``end``.
    """

    _share = MOST_BLOCK_BYTES  # of a memory limit

    def __init__(self, fetch: Fetch, size: int, in_order: bool, end: int | None = None) -> None:
        super().__init__()
        self._fetch, self._size, self._in_order = fetch, size, in_order
        self._end = min(end or size, size)
        self._place = 0
        self._block = 0, b""  # where it begins
        self._blocks: deque[tuple[int, bytes]] = deque(maxlen=KEPT_BLOCKS)  # where not in order
        self._length = 0  # bytes that the last block could have
        self._most = min(self._share, MOST_BLOCK_BYTES)
        self._next: Future[bytes] | None = None
        self._pool = Pool(1)

    @classmethod
    def share(cls, allowance: Allowance) -> None:
        """Take the blocks of one more reader from a memory limit, which tells their size from now on."""
        if allowance.limit is not None:
            n_bytes = min(allowance.limit // (16 * READERS), MOST_BLOCK_BYTES)
            allowance.take(2 * n_bytes)
            cls._share = max(n_bytes, PAGE_BYTES)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to another position."""
        place = offset + (0, self._place, self._size)[whence]
        if place < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._place = place
        return place

    def readinto(self, buffer: Any) -> int:
        """Read some of the next bytes."""
        view, place = memoryview(buffer).cast("B"), self._place
        if not len(view) or place >= self._size:
            return 0
        blocks = (block for block in (self._block, *self._blocks) if 0 <= place - block[0] < len(block[1]))
        start, data = self._block = next(blocks, None) or self._load(len(view))
        part = memoryview(data)[place - start :][: len(view)]
        view[: len(part)] = part
        self._place += len(part)
        return len(part)

    def _load(self, n_wanted: int) -> tuple[int, bytes]:
        """Return where a block begins, and the block, which has the next byte."""
        place, last_stop = self._place, self._block[0] + len(self._block[1])
        follows = self._in_order and place == last_stop
        ahead, self._next = self._next, None
        self._block = 0, b""  # two are held at a time, not three
        if not follows and n_wanted <= PAGE_BYTES:
            start, self._length = place // PAGE_BYTES * PAGE_BYTES, PAGE_BYTES
            return start, _page(self._fetch, start, min(start + PAGE_BYTES, self._size))
        end = self._end if place < self._end else self._size
        n_bytes = n_wanted if self._in_order else n_wanted + PAGE_BYTES  # with what a buffer takes beside it
        self._length = min(max(n_bytes, 2 * self._length * follows), self._most)
        if ahead is not None and follows:
            data = ahead.result()
        else:
            data = self._fetch(place, min(place + self._length, end))
        if not self._in_order:
            self._blocks.append((place, data))
        elif self._length >= min(AHEAD_BYTES, self._most) and place + len(data) < end:
            start, length = place + len(data), min(2 * self._length, self._most)
            self._next = self._pool.submit(self._fetch, start, min(start + length, end))
        return place, data

    def close(self) -> None:
        """Stop reading ahead."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._block, self._next = (0, b""), None
        self._blocks.clear()
        super().close()


@functools.lru_cache(KEPT_PAGES)
def _page(fetch: Fetch, start: int, stop: int) -> bytes:
    return fetch(start, stop)
