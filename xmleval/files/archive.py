"""Read and write .npz archives: no pickle, and sizes are checked because archives are untrusted."""

from __future__ import annotations

import contextlib
import io
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.records import Chunks

DEFLATE_LIMIT = 1100  # deflate compresses by at most about 1032 to 1
READ_BYTES = 1 << 20
HEADER_BYTES = 10_000  # the longest header that NumPy parses
MOST_NESTED = 500  # brackets or signs in a header


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an .npz archive after checking that its member sizes are plausible for the file."""
    try:
        archive = zipfile.ZipFile(path)
    except NotImplementedError as error:  # unsupported zip version
        raise ValueError(str(error)) from None
    except zipfile.BadZipFile:
        with open(path, "rb") as file:
            cut = file.read(2) == b"PK"
        raise ValueError("the zip archive is cut short" if cut else "not a zip archive") from None
    with archive:
        members = archive.infolist()
        if sum(info.compress_size for info in members) > path.stat().st_size:
            raise ValueError("the archive members exceed the size of the file")
        for info in members:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{info.filename}: unsupported compression method")
            if info.file_size > DEFLATE_LIMIT * max(info.compress_size, 1):
                raise ValueError(f"{info.filename}: impossible uncompressed size of {info.file_size} bytes")
        yield archive


def array_names(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the arrays in an archive."""
    names = dict.fromkeys(archive.namelist())  # of duplicate names, the last is read
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


def read_archive(
    path: Path,
    wanted: Callable[[str], bool] = lambda name: True,
    *,
    in_pieces: str | None = None,
    allowance: Allowance = UNLIMITED,
) -> dict[str, Any]:
    """Read the wanted arrays of an .npz archive; those named ``in_pieces...`` as `Chunks`.

    Raise ValueError or zipfile.BadZipFile if it is damaged, contains objects or declares impossible sizes;
    OverLimitError, before anything is unpacked, if the others need more than the allowance.
    """
    arrays: dict[str, Any] = {}
    with open_archive(path) as archive:
        members = {name: archive.getinfo(f"{name}.npy") for name in filter(wanted, array_names(archive))}
        whole = {
            name: info for name, info in members.items() if not (in_pieces and name.startswith(in_pieces))
        }
        allowance.take(sum(info.file_size for info in whole.values()))
        for name, info in members.items():
            arrays[name] = _read_member(archive, info) if name in whole else _chunks_of(path, archive, info)
    return arrays


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, Fortran order and dtype from the header of an .npy file, up to the first byte of data.

    Raise ValueError for a damaged header or a dtype with Python objects.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2
            major, _ = npy.read_magic(file)
            read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            header = _header_bytes(file, 2 if major == 1 else 4)
            if max(map(header.count, (b"(", b"[", b"{", b"-", b"+", b"~"))) > MOST_NESTED:
                raise ValueError("its header cannot be parsed")  # for Python's parser, a lack of memory
            shape, fortran, dtype = read(io.BytesIO(header))
    except RecursionError:
        raise ValueError("not a NumPy array (its header cannot be parsed)") from None
    except (ValueError, TypeError, LookupError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"not a NumPy array ({error})") from None
    if dtype.hasobject:
        raise ValueError("Python objects are not supported")
    if not dtype.itemsize or any(not 0 <= n < 2**62 for n in shape):
        raise ValueError(f"impossible array, {dtype} of shape {shape}")
    return shape, fortran, dtype


def check_headers(path: Path) -> None:
    """Refuse an archive of which any array cannot be read, by their headers."""
    with open_archive(path) as archive:
        for name in array_names(archive):
            info = archive.getinfo(f"{name}.npy")
            with _naming_member(info), archive.open(info) as file:
                _checked_header(file, info)


def _header_bytes(file: IO[bytes], n_length: int) -> bytes:
    """Return a header and the ``n_length`` bytes of its length; NumPy would read any length at once."""
    length = file.read(n_length)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > HEADER_BYTES:
        raise ValueError(f"its header is of {n_bytes} bytes")
    return length + file.read(n_bytes)


class StoredArray:
    """An array of an archive, read row by row: memory-mapped, or decompressed as it is read.

    ``shape`` and ``dtype`` are those of its header; with ``fortran``, by column, rows cannot be read.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        with open_archive(path) as archive:
            if name not in array_names(archive):
                raise ValueError(f"no array {name!r} in it")
            self._info = archive.getinfo(f"{name}.npy")
            with _naming_member(self._info), archive.open(self._info) as file:
                self.shape, fortran, self.dtype = _checked_header(file, self._info)
                self.fortran = fortran and len(self.shape) > 1
                self._header = file.tell()
        self.row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        self.n_bytes = math.prod(self.shape) * self.dtype.itemsize

    @property
    def mapped(self) -> bool:
        """Whether it is stored as it is, so that it can be mapped into memory."""
        return self._info.compress_type == zipfile.ZIP_STORED

    @contextlib.contextmanager
    def reading(self) -> Iterator[Callable[[int], NDArray[Any]]]:
        """Yield a function that returns the next n rows."""
        row_bytes = self.row_bytes
        if self.mapped:
            yield self._mapped(row_bytes)
            return
        with zipfile.ZipFile(self.path) as archive, archive.open(self._info) as file:
            file.seek(self._header)

            def take(n: int) -> NDArray[Any]:
                if not n * row_bytes:
                    return np.empty((n, *self.shape[1:]), self.dtype)
                with _naming_member(self._info):
                    data = b"".join(_pieces(file, n * row_bytes))
                    if len(data) != n * row_bytes:
                        raise ValueError(f"fewer than the {self.shape[0]} rows declared in its header")
                return np.frombuffer(data, self.dtype).reshape(n, *self.shape[1:])

            yield take

    def _mapped(self, row_bytes: int) -> Callable[[int], NDArray[Any]]:
        with open(self.path, "rb") as file:
            file.seek(self._info.header_offset + 26)
            lengths = file.read(4)  # lengths of the name and of the extra field, which precede the data
            place = file.tell() + sum(struct.unpack("<2H", lengths)) + self._header

        def take(n: int) -> NDArray[Any]:
            nonlocal place
            shape = (n, *self.shape[1:])
            if not n * row_bytes:
                return np.empty(shape, self.dtype)
            offset, place = place, place + n * row_bytes
            # a map of its own, so that what was read does not stay in memory
            return np.memmap(self.path, self.dtype, "r", offset, shape)

        return take


def write_archive(file: IO[bytes], arrays: Mapping[str, NDArray[Any] | Chunks]) -> None:
    """Write arrays as `numpy.savez` does, `Chunks` piece by piece."""
    archive = zipfile.ZipFile(file, "w")
    try:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                if isinstance(array, Chunks):
                    write_chunks(member, array)
                else:
                    npy.write_array(member, array, allow_pickle=False)
    except BaseException:
        archive.fp = None  # closing it with a member open would raise another error in place of this one
        raise
    archive.close()


def npy_chunks(path: Path) -> Chunks:
    """Return a vector of an .npy file as `Chunks`, which read it when iterated."""
    with open(path, "rb") as file:
        shape, _, dtype = read_header(file)
        start = file.tell()
        if len(shape) != 1 or os.fstat(file.fileno()).st_size - start != shape[0] * dtype.itemsize:
            raise ValueError(f"{path}: truncated, or not a vector")

    def read() -> Iterator[NDArray[Any]]:
        with open(path, "rb") as again:
            again.seek(start)
            step = READ_BYTES // dtype.itemsize
            for place in range(0, shape[0], step):
                yield np.fromfile(again, dtype, min(step, shape[0] - place))

    return Chunks(dtype, shape[0], read)


def write_chunks(file: IO[bytes], array: Chunks) -> None:
    """Write a vector as an .npy file, piece by piece."""
    header = {"descr": npy.dtype_to_descr(array.dtype), "fortran_order": False, "shape": (array.size,)}
    npy.write_array_header_1_0(file, header)
    for keys in array.read():
        file.write(np.ascontiguousarray(keys).view(np.uint8).data)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    with _naming_member(info), archive.open(info) as file:
        shape, fortran, dtype = _checked_header(file, info)
        data = np.empty(math.prod(shape) * dtype.itemsize, np.uint8)  # writable, without a second copy
        place = 0
        for chunk in _read_chunks(file, data.size):
            data[place : place + len(chunk)] = np.frombuffer(chunk, np.uint8)
            place += len(chunk)
    return data.view(dtype).reshape(shape, order="F" if fortran else "C")


def _chunks_of(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Chunks:
    """Return a vector of an archive as `Chunks`, which read it when iterated."""
    with _naming_member(info), archive.open(info) as file:
        shape, _, dtype = _checked_header(file, info)
        if len(shape) != 1:
            raise ValueError(f"array of shape {shape}, not a vector")

    def read() -> Iterator[NDArray[Any]]:
        with zipfile.ZipFile(path) as again, _naming_member(info), again.open(info.filename) as file:
            read_header(file)
            step = READ_BYTES // dtype.itemsize * dtype.itemsize
            for chunk in _read_chunks(file, shape[0] * dtype.itemsize, step):
                yield np.frombuffer(chunk, dtype)

    return Chunks(dtype, shape[0], read)


def _checked_header(file: IO[bytes], info: zipfile.ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    shape, fortran, dtype = read_header(file)
    n_bytes, n_stored = math.prod(shape) * dtype.itemsize, info.file_size - file.tell()
    if n_bytes != n_stored:
        raise ValueError(f"the header declares {n_bytes} bytes of data, the archive {n_stored}")
    return shape, fortran, dtype


def _read_chunks(file: IO[bytes], n_bytes: int, step: int = READ_BYTES) -> Iterator[bytes]:
    """Yield the rest of a file in pieces of ``step``; raise ValueError unless it is ``n_bytes`` long."""
    n_read = 0
    while chunk := b"".join(_pieces(file, step)):
        n_read += len(chunk)
        if n_read > n_bytes:
            raise ValueError(f"more than the {n_bytes} bytes of data declared in its header")
        yield chunk
    if n_read != n_bytes:
        raise ValueError(f"{n_read} bytes of data, not {n_bytes}")


def _pieces(file: IO[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield up to ``n_bytes`` in the pieces that the archive returns."""
    while n_bytes and (piece := file.read(n_bytes)):
        n_bytes -= len(piece)
        yield piece


@contextlib.contextmanager
def _naming_member(info: zipfile.ZipInfo) -> Iterator[None]:
    try:
        yield
    except (ValueError, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        raise ValueError(f"{info.filename}: {error}") from None  # also encryption
