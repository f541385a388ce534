"""Sorted runs of keys in a temporary file that has no name, so that it vanishes with the process."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.pooled.bands import Shared

Keys = NDArray[Any]  # scores, or numbers that sort like (label, score)
SAMPLES = 4096  # keys of a run that are kept in memory, to find any other with one short read
LEAST_STRIDE = 64  # so that the samples of many short runs stay small, too
CHUNK_BYTES = 1 << 22
COPIED_BYTES = 8 << 20  # of an array of keys that is copied to be sorted


class _Temporary:
    """A file without a name, closed when nothing refers to it any more."""

    def __init__(self) -> None:
        file = tempfile.TemporaryFile(prefix="xmleval-", buffering=0)  # noqa: SIM115
        self.number = file.fileno()
        weakref.finalize(self, file.close)


class SpillFile:
    """Runs one after another in a file; any number of threads may write and read."""

    def __init__(self) -> None:
        self._file: _Temporary | None = None
        self._owner = 0
        self._end = 0
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()  # that somebody refers to
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Begin a file of its own wherever a copy goes."""
        return SpillFile, ()

    def write(self, chunks: Iterator[Keys], size: int, dtype: np.dtype[Any]) -> Run:
        """Append sorted keys, given in pieces; where that fails, the file is as it was.

        Raises
        ------
        OSError
            If the temporary folder has no room, or cannot be written.
        """
        stride = max(LEAST_STRIDE, -(-size // SAMPLES))
        sample = np.empty(-(-size // stride), dtype)
        done = 0
        with self._lock:
            try:
                file, start = self._opened(), self._end
            except OSError as error:
                raise _naming_folder(error, size * dtype.itemsize) from None
            try:
                for keys in chunks:
                    first = -done % stride  # of these keys, the first that is sampled
                    found = keys[first::stride]
                    place = -(-done // stride)
                    sample[place : place + found.size] = found
                    _write_all(file, start + done * dtype.itemsize, keys)
                    done += keys.size
            except BaseException as error:
                os.ftruncate(file.number, start)
                if isinstance(error, OSError):
                    raise _naming_folder(error, size * dtype.itemsize) from None
                raise
            self._end = start + done * dtype.itemsize
            run = Run(file, start, done, stride, sample)
            self._runs.add(run)
        return run

    def _opened(self) -> _Temporary:
        """Return the file; a process that was forked writes to one of its own."""
        if self._file is None or self._owner != os.getpid():
            self._file, self._owner, self._end = _Temporary(), os.getpid(), 0
        return self._file

    def holds(self, run: Run) -> bool:
        """Tell whether a run is in this file."""
        return run.file is self._file

    def trim(self) -> None:
        """Give back the room behind the last run that anybody refers to: copies of states share a file."""
        with self._lock:
            if self._file is not None and self._owner == os.getpid():
                ends = [run.offset + run.size * run.dtype.itemsize for run in self._runs if self.holds(run)]
                self._end = max(ends, default=0)
                os.ftruncate(self._file.number, self._end)


def _write_all(file: _Temporary, offset: int, keys: Keys) -> None:
    view = np.ascontiguousarray(keys).view(np.uint8).data
    while view:
        n_written = os.pwrite(file.number, view, offset)
        view, offset = view[n_written:], offset + n_written


def _read_all(file: _Temporary, offset: int, out: Keys) -> None:
    view = out.view(np.uint8).data
    while view:
        found = os.pread(file.number, min(len(view), CHUNK_BYTES), offset)
        if not found:
            raise OSError(errno.EIO, "spilled scores cannot be read back", tempfile.gettempdir())
        view[: len(found)] = found
        view, offset = view[len(found) :], offset + len(found)


def _naming_folder(error: OSError, n_bytes: int) -> OSError:
    """Say what was to be written where, and what helps."""
    if error.errno is None:  # of a signal handler, such as TimeoutError
        return error
    text = f"{error.strerror}, while {n_bytes} bytes of scores were spilled; what was counted before is kept"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        text += "; set TMPDIR to a folder with room, or raise memory="
    return OSError(error.errno, text, tempfile.gettempdir())


@dataclass(frozen=True, eq=False)
class Run:
    """Keys in rising order, from an offset of a file; ``sample`` holds every stride-th."""

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
        """Fill an array with the keys from a position on."""
        if out.size:
            _read_all(self.file, self.offset + start * self.dtype.itemsize, out)

    def chunks(self) -> Iterator[Keys]:
        """Yield all keys, some at a time."""
        step = CHUNK_BYTES // self.dtype.itemsize
        for start in range(0, self.size, step):
            keys = np.empty(min(step, self.size - start), self.dtype)
            self.read(start, keys)
            yield keys


class Memory(NamedTuple):
    """Bytes of keys that a state may hold before it spills them, where to, and bytes of its largest array.

    ``shared`` brings scores into bands as they come, where nobody reads them twice.
    """

    held: int
    file: SpillFile
    room: int
    shared: Shared | None = None

    @classmethod
    def of(cls, memory: int, threads: int, last: bool) -> Memory:
        """Leave a quarter of the memory for sorting; arrays may be large where that needs no copy of them.

        last : whether who sorts them is the last to read them
        """
        room = memory // (4 * threads) if last else min(memory // 16, COPIED_BYTES)
        return cls(memory * 3 // 4, SpillFile(), room, Shared() if last else None)
