"""Sorted runs of keys in an unlinked temporary file."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.errors import Keyword, Message

Keys = NDArray[Any]  # scores, or numbers that sort like (label, score)
SAMPLES = 4096  # keys of a run that stay in memory, so that a search needs one short read
LEAST_STRIDE = 64  # so that the samples of many short runs are small
CHUNK_BYTES = 1 << 22


class _Temporary:
    """An unlinked file, closed when it is no longer referenced."""

    def __init__(self) -> None:
        file = tempfile.TemporaryFile(prefix="xmleval-", buffering=0)  # noqa: SIM115
        self.number = file.fileno()
        self.owner = os.getpid()
        self.end = 0
        weakref.finalize(self, file.close)

    def move(self, call: Callable[[int, list[Any], int], int], keys: Keys, offset: int) -> None:
        """Read or write all keys at an offset, by ``os.preadv`` or ``os.pwritev``."""
        view = keys.view(np.uint8).data
        while view:
            n_bytes = call(self.number, [view], offset)
            if not n_bytes:
                raise OSError(
                    errno.EIO, "spilled scores cannot be read back", tempfile.gettempdir()
                )
            view = view[n_bytes:]
            offset = offset + n_bytes


@dataclass(frozen=True, eq=False)
class SortedRun:
    """Ascending keys at an offset of a file.

    sample : every stride-th key
    """

    file: _Temporary
    offset: int
    size: int
    stride: int
    sample: Keys

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the keys."""
        return self.sample.dtype

    def read(self, start: int, out: Keys) -> None:
        """Fill an array with the keys from a position."""
        self.file.move(os.preadv, out, self.offset + start * self.dtype.itemsize)

    def chunks(self) -> Iterator[Keys]:
        """Yield all keys in chunks."""
        step = CHUNK_BYTES // self.dtype.itemsize
        for start in range(0, self.size, step):
            keys = np.empty(min(step, self.size - start), self.dtype)
            self.read(start, keys)
            yield keys


class SpillFile:
    """Runs appended to one file; safe for concurrent reads and writes by threads."""

    def __init__(self) -> None:
        self._file: _Temporary | None = None
        self._runs: weakref.WeakSet[SortedRun] = weakref.WeakSet()  # that are still referenced
        self._writing: set[object] = set()  # a mark for each write after the last run
        self._lock = threading.RLock()  # a signal handler may come back to it

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy as an empty file."""
        return SpillFile, ()

    def write(self, chunks: Iterator[Keys], size: int, dtype: np.dtype[Any]) -> SortedRun:
        """Append sorted keys; on failure, such as a full disk, the file is unchanged."""
        stride = max(LEAST_STRIDE, -(-size // SAMPLES))
        samples = [np.empty(0, dtype)]
        n_bytes = size * dtype.itemsize
        n_written = 0
        writer = object()
        try:
            self._writing.add(writer)
            with self._lock:
                file = self._open_file()
                start = file.end  # between this and the next line no signal handler can run
                file.end = start + n_bytes
            for keys in chunks:
                samples.append(keys[-n_written % stride :: stride].copy())
                offset = start + n_written * dtype.itemsize
                file.move(os.pwritev, np.ascontiguousarray(keys), offset)
                n_written += keys.size
            run = SortedRun(file, start, n_written, stride, np.concatenate(samples))
            self._runs.add(run)
            return run
        except OSError as error:
            raise _naming_folder(error, n_bytes) from None
        finally:
            self._writing.discard(writer)
            self.trim()

    def expect_room(self, n_bytes: int) -> None:
        """Raise OSError if the temporary folder has less free space."""
        with self._lock:
            disk = os.fstatvfs(self._open_file().number)
        # some file systems report no size
        if disk.f_blocks and disk.f_bavail * disk.f_frsize < n_bytes:
            raise _naming_folder(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), n_bytes)

    def _open_file(self) -> _Temporary:
        """Return the file; a forked process opens a new one."""
        if self._file is None or self._file.owner != os.getpid():
            self._file = _Temporary()
        return self._file

    def holds(self, run: SortedRun) -> bool:
        """Return whether a run is in this file."""
        return run.file is self._file

    def trim(self) -> None:
        """Truncate the file after the last run in use; copies of a state share the file."""
        with self._lock:
            file = self._file
            if file is None or file.owner != os.getpid() or self._writing:
                return
            before = file.end
            runs = [run for run in self._runs if self.holds(run)]
            end = max((run.offset + run.size * run.dtype.itemsize for run in runs), default=0)
            if file.end == before:  # otherwise a signal handler has written in the meantime
                file.end = end
                os.ftruncate(file.number, end)


def _naming_folder(error: OSError, n_bytes: int) -> OSError:
    """Return the error with the folder, the size and a remedy."""
    if error.errno is None:  # raised by a signal handler, such as TimeoutError
        return error
    text = f"{error.strerror}, while {n_bytes} bytes were spilled; earlier counts are kept"
    message = Message(text)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "; set TMPDIR to a folder with free space, or raise "
        message = Message(text, remedy, Keyword("memory"))
    return OSError(error.errno, message, tempfile.gettempdir())
