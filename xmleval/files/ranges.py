"""Remote files by ranges of their bytes: short reads from pages that are kept, long ones read ahead."""

from __future__ import annotations

import errno
import io
import os
import time
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from xmleval.budget import Allowance
from xmleval.files.remote import RemotePath, reaching
from xmleval.threads import Pool

T = TypeVar("T")
PAGE_BYTES = 1 << 15
KEPT_PAGES = 128  # of all files together
STREAMED_BYTES = 1 << 20  # of a block from which on the next one is fetched before it is asked for
MOST_BLOCK_BYTES = 1 << 24
KEPT_BLOCKS = 8  # of a file that is not read in order, such as of its columns
MOST_AHEAD_BYTES = 1 << 27  # of blocks of all files together
ATTEMPTS, PAUSE_SECONDS = 3, 0.2  # where a connection fails
TAGS = (
    "ETag", "etag", "Content-MD5", "Digest", "generation", "VersionId", "blob_id", "xet_hash",
    "Last-Modified", "LastModified", "last_modified", "updated", "mtime", "created",
)  # fmt: skip  # what file systems of fsspec tell that differs between versions of a file
NO_SIZE = "its server does not tell its size; download it first"
NO_RANGES = "its server does not send it by ranges; download it first"


def patiently(ask: Callable[[], T]) -> T:
    """Return what is asked of a server, trying again where a connection fails."""
    for left in reversed(range(ATTEMPTS)):
        try:
            return ask()
        except OSError as error:
            if error.errno != errno.EIO or not left:
                raise
            time.sleep(PAUSE_SECONDS)
    raise AssertionError


class RemoteVersion(NamedTuple):
    """Size of a remote file, and what else its server tells of its version."""

    size: int
    tags: tuple[str, ...]

    @classmethod
    def of(cls, path: RemotePath) -> RemoteVersion:
        """Return the version that is there now, or refuse what cannot be read by ranges."""
        found = patiently(path.details)
        if found["type"] == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if found["size"] is None or not found.get("partial", True):
            raise OSError(errno.ENOTSUP, NO_RANGES if found["size"] else NO_SIZE, str(path))
        return cls(int(found["size"]), tuple(f"{name} {found[name]}" for name in TAGS if found.get(name)))

    def __str__(self) -> str:
        """Return all of it in words."""
        return ", ".join([f"{self.size} bytes", *self.tags])


def refuse_other(version: object, found: object) -> None:
    """Refuse a file whose version is not the one that its first bytes were of."""
    if version != found:
        raise OSError(f"changed while it was read, from {version} to {found}")


class Source:
    """A version of a remote file, of which any bytes can be read.

    ``ends`` are positions at which those who read in order may stop, the last one that of the file.
    """

    def __init__(self, path: RemotePath) -> None:
        self.path = path
        self.version = RemoteVersion.of(path)
        self.ends = [self.version.size]
        self._system, self._name = path.system()
        self._file: Any = None
        self._unchecked = False

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop``, trying again where a connection fails."""
        self._unchecked = True

        def fetch() -> bytes | None:
            with reaching(str(self.path)):
                data = self._fetch(start, stop)
                if data is not None and len(data) != stop - start:
                    raise OSError(f"{len(data)} bytes came of {stop - start} from byte {start} on")
                return data

        try:
            data = patiently(fetch)
        except OSError:
            self.check()  # which tells why, where it is another file by now
            raise
        if data is None:
            raise OSError(errno.ENOTSUP, NO_RANGES, str(self.path))
        return data

    def _fetch(self, start: int, stop: int) -> bytes | None:
        """Return the bytes that a server sends, None if it would send the whole file."""
        if not self.path.is_web:
            # what is not asynchronous opens the file, which would read ahead of its own
            more = {} if getattr(self._system, "async_impl", False) else {"cache_type": "none"}
            found: bytes = self._system.cat_file(self._name, start=start, end=stop, **more)
            return found
        from fsspec.asyn import sync

        if self._file is None:
            own = self._system.kwargs.get("headers", {})
            headers = {**own, "Accept-Encoding": "identity"}
            size = self.version.size
            self._file = self._system.open(self._name, size=size, cache_type="none", headers=headers)
        try:  # alone of all ways, this one stops where a server sends more than the range
            found = sync(self._system.loop, self._file.async_fetch_range, start, stop)
        except ValueError:
            return None
        return found

    def page(self, number: int) -> bytes:
        """Return one of the pages of the file."""
        held = PAGES.get((self, number))
        if held is None:
            start = number * PAGE_BYTES
            held = PAGES[self, number] = self.read(start, min(start + PAGE_BYTES, self.version.size))
            while len(PAGES) > KEPT_PAGES:
                PAGES.popitem(last=False)
        return held

    def check(self) -> None:
        """Compare the version that is there now, if anything was read since that was done last."""
        if self._unchecked:
            self._unchecked = False
            refuse_other(self.version, RemoteVersion.of(self.path))


PAGES: OrderedDict[tuple[Source, int], bytes] = OrderedDict()


class ReadAhead:
    """Memory for the blocks of all files that are being read: of each, one in use and one on its way."""

    def __init__(self) -> None:
        self._n_bytes = MOST_AHEAD_BYTES // 2
        self._allowance: Allowance | None = None
        self._readers: set[int] = set()  # numbers of what is open: threads may add and discard them

    def take_from(self, allowance: Allowance) -> None:
        """Take the memory from that of a command, once."""
        if allowance.limit is not None and self._allowance is not allowance:
            self._n_bytes = min(allowance.limit // 8, MOST_AHEAD_BYTES)
            allowance.take(self._n_bytes)
            self._allowance = allowance

    def add(self, reader: RangeReader) -> None:
        """Share it with one more reader."""
        self._readers.add(id(reader))

    def discard(self, reader: RangeReader) -> None:
        """Share it with one reader less."""
        self._readers.discard(id(reader))

    @property
    def block(self) -> int:
        """Largest block of each reader."""
        return max(PAGE_BYTES, min(MOST_BLOCK_BYTES, self._n_bytes // (2 * max(1, len(self._readers)))))


READ_AHEAD = ReadAhead()


class RangeReader(io.RawIOBase):
    """A remote file as an open file.

    Short reads here and there are of pages. Where one read follows another, blocks grow, and the next one is
    fetched in another thread while the last one is used, up to the next of the ends of the file's source.
    What is not read ``in_order`` is fetched as it is asked for.
    """

    def __init__(self, source: Source, in_order: bool) -> None:
        super().__init__()
        self._source, self._in_order = source, in_order
        self._place = 0
        self._block, self._start = b"", 0
        self._most = 0  # bytes that the last block could have
        self._others: deque[tuple[int, bytes]] = deque(maxlen=KEPT_BLOCKS)  # where not in order
        self._next: tuple[int, Future[bytes]] | None = None  # where it starts
        self._pool: Pool | None = None
        READ_AHEAD.add(self)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to another position."""
        place = offset + (0, self._place, self._source.version.size)[whence]
        if place < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._place = place
        return place

    def readinto(self, buffer: Any) -> int:
        """Read some of the next bytes."""
        view = memoryview(buffer).cast("B")
        left = self._source.version.size - self._place
        if left <= 0 or not len(view):
            return 0
        if not self._start <= self._place < self._start + len(self._block):
            (self._load if self._in_order else self._find)(len(view))
        part = memoryview(self._block)[self._place - self._start :][: len(view)]
        view[: len(part)] = part
        self._place += len(part)
        return len(part)

    def _find(self, n_wanted: int) -> None:
        """Get the block that the next byte is in, as it is asked for."""
        place, size = self._place, self._source.version.size
        number = place // PAGE_BYTES
        held = (one for one in self._others if one[0] <= place < one[0] + len(one[1]))
        found = next(held, None)
        if found is None and n_wanted <= PAGE_BYTES:
            found = number * PAGE_BYTES, self._source.page(number)
        elif found is None:
            stop = place + min(n_wanted, READ_AHEAD.block) + PAGE_BYTES  # and what a buffer takes beside it
            found = place, self._source.read(place, min(stop, size))
            self._others.append(found)
        self._start, self._block = found

    def _load(self, n_wanted: int) -> None:
        """Get the block that the next byte is in, and begin to fetch the next one."""
        place, most = self._place, READ_AHEAD.block
        ends = self._source.ends
        number = bisect_right(ends, place)
        follows = place == self._start + len(self._block) and not (number and ends[number - 1] == place)
        end = ends[number]
        expected, self._next = self._next, None
        self._block = b""  # two are held at a time, not three
        if expected is not None and expected[0] == place:
            self._most = min(2 * self._most, most)
            self._block, self._start = expected[1].result(), place
        elif n_wanted <= PAGE_BYTES and not follows:
            self._most, number = PAGE_BYTES, place // PAGE_BYTES
            self._block, self._start = self._source.page(number), number * PAGE_BYTES
            return
        else:
            self._most = min(max(n_wanted, 2 * self._most * follows), most)
            self._block, self._start = self._source.read(place, min(place + self._most, end)), place
        stop = self._start + len(self._block)
        if stop < end and self._most >= min(STREAMED_BYTES, most):
            self._pool = self._pool or Pool(1)
            further = min(stop + min(2 * self._most, most), end)
            self._next = stop, self._pool.submit(self._source.read, stop, further)

    def close(self) -> None:
        """Stop reading ahead."""
        READ_AHEAD.discard(self)
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._block, self._next = b"", None
        self._others.clear()
        super().close()
