"""Sorted runs of keys in a temporary file that has no name, so that it vanishes with the process."""

from __future__ import annotations

import errno
import tempfile
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[Any]  # scores, or numbers that sort like (label, score)
SAMPLES = 4096  # keys of a run that are kept in memory, to find any other with one short read
CHUNK_BYTES = 1 << 22


class SpillFile:
    """Runs one after another in a file; any number of threads may write and read."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = threading.Lock()

    def write(self, chunks: Iterator[Keys], size: int, dtype: np.dtype[Any]) -> Run:
        """Append sorted keys, given in pieces; where that fails, the file is as it was.

        Raises
        ------
        OSError
            If the temporary folder has no room, or cannot be written.
        """
        stride = max(1, -(-size // SAMPLES))
        sample = np.empty(-(-size // stride), dtype)
        done = 0
        with self._lock:
            start = self._end
            try:
                if self._file is None:
                    self._file = tempfile.TemporaryFile(prefix="xmleval-", buffering=0)  # noqa: SIM115
                    weakref.finalize(self, self._file.close)
                self._file.seek(start)
                for keys in chunks:
                    first = -done % stride  # of these keys, the first that is sampled
                    found = keys[first::stride]
                    place = -(-done // stride)
                    sample[place : place + found.size] = found
                    _write_all(self._file, keys)
                    done += keys.size
            except BaseException as error:
                if self._file is not None:
                    self._file.truncate(start)
                if isinstance(error, OSError):
                    raise _naming_folder(error, size * dtype.itemsize) from None
                raise
            self._end = start + done * dtype.itemsize
        return Run(self, start, done, stride, sample)

    def forget(self, runs: list[Run]) -> None:
        """Give back the room of runs, given in the order they were written, if nothing was written since."""
        with self._lock:
            for run in reversed(runs):
                stop = run.offset + run.size * run.dtype.itemsize
                if self._file is not None and stop == self._end:
                    self._file.truncate(run.offset)
                    self._end = run.offset

    def read(self, offset: int, out: Keys) -> None:
        """Fill an array with what stands at an offset."""
        view = out.view(np.uint8).data
        with self._lock:
            assert self._file is not None
            self._file.seek(offset)
            while view:
                n_read = self._file.readinto(view)  # type: ignore[attr-defined]
                if not n_read:
                    raise OSError(errno.EIO, "spilled scores cannot be read back", tempfile.gettempdir())
                view = view[n_read:]


def _write_all(file: IO[bytes], keys: Keys) -> None:
    view = np.ascontiguousarray(keys).view(np.uint8).data
    while view:
        view = view[file.write(view) :]


def _naming_folder(error: OSError, n_bytes: int) -> OSError:
    """Say what was to be written where, and what helps."""
    text = (
        f"{error.strerror}, while {n_bytes} bytes of scores were spilled to temporary files; these rows were "
        "not counted, earlier ones are kept; set TMPDIR to a folder with room, or raise memory="
    )
    return OSError(error.errno, text, tempfile.gettempdir())


@dataclass(frozen=True, eq=False)
class Run:
    """Keys in rising order, from an offset of a spill file; ``sample`` holds every stride-th."""

    file: SpillFile
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
            self.file.read(self.offset + start * self.dtype.itemsize, out)

    def chunks(self) -> Iterator[Keys]:
        """Yield all keys, some at a time."""
        step = CHUNK_BYTES // self.dtype.itemsize
        for start in range(0, self.size, step):
            keys = np.empty(min(step, self.size - start), self.dtype)
            self.read(start, keys)
            yield keys
