"""Reading .npz archives that may lie: no pickle, no promise believed before it is checked."""

from __future__ import annotations

import contextlib
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

from xmleval.records import Chunks

DEFLATE_LIMIT = 1100  # deflate cannot shrink more than about 1032 times
READ_BYTES = 1 << 20


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an .npz archive none of whose members promises more than the file can hold."""
    try:
        archive = zipfile.ZipFile(path)
    except NotImplementedError as error:  # of a zip version
        raise ValueError(str(error)) from None
    except zipfile.BadZipFile:
        with open(path, "rb") as file:
            cut = file.read(2) == b"PK"
        raise ValueError("the zip archive is cut short" if cut else "not a zip archive") from None
    with archive:
        members = archive.infolist()
        if sum(info.compress_size for info in members) > path.stat().st_size:
            raise ValueError("its entries promise more bytes than the file holds")
        for info in members:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{info.filename} is compressed by a method that NumPy does not write")
            if info.file_size > DEFLATE_LIMIT * max(info.compress_size, 1):
                raise ValueError(f"{info.filename} promises {info.file_size} bytes that it cannot hold")
        yield archive


def array_names(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the arrays in an archive."""
    names = dict.fromkeys(archive.namelist())  # the last one of a name counts
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


def read_archive(
    path: Path, wanted: Callable[[str], bool] = lambda name: True, *, in_pieces: str | None = None
) -> dict[str, Any]:
    """Read arrays of an .npz archive, those whose name is wanted.

    Vectors whose names begin with ``in_pieces`` are left in the file, to be read in pieces. An archive that
    is damaged, holds objects, or promises more than it can hold is refused by ValueError or
    zipfile.BadZipFile.
    """
    arrays: dict[str, Any] = {}
    with open_archive(path) as archive:
        for name in filter(wanted, array_names(archive)):
            info = archive.getinfo(f"{name}.npy")
            large = in_pieces is not None and name.startswith(in_pieces)
            arrays[name] = _chunks_of(path, archive, info) if large else _read_member(archive, info)
    return arrays


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the shape, whether the order is Fortran's, and the dtype from the header of an .npy file.

    The file is at the start of the header, and afterwards at the first byte of data. Objects are refused.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            major, _ = npy.read_magic(file)
            read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
    except (ValueError, TypeError, LookupError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"no NumPy array ({error})") from None
    except (RecursionError, MemoryError):  # nested brackets without end
        raise ValueError("no NumPy array (its header cannot be parsed)") from None
    if dtype.hasobject:
        raise ValueError("Python objects, which are never read")
    if not dtype.itemsize or any(not 0 <= n < 2**62 for n in shape):
        raise ValueError(f"an impossible array, {dtype} of shape {shape}")
    return shape, fortran, dtype


class StoredArray:
    """An array of an archive, whose rows are read from front to back: mapped from the file, or inflated.

    ``shape`` and ``dtype`` are as its header tells them; ``fortran`` tells whether it is stored by column:
    its rows cannot be read then.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        with open_archive(path) as archive:
            if name not in array_names(archive):
                raise ValueError(f"no array {name!r} in it")
            self._info = archive.getinfo(f"{name}.npy")
            with _naming_member(self._info), archive.open(self._info) as file:
                self.shape, fortran, self.dtype = _checked_header(file, self._info)
                self.fortran = fortran and len(self.shape) > 1
                self._header = file.tell()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Callable[[int], NDArray[Any]]]:
        """Give a function that returns the next rows, as many as it is told."""
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        if self._info.compress_type == zipfile.ZIP_STORED:
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
                        raise ValueError(f"fewer than the {self.shape[0]} rows that its header promises")
                return np.frombuffer(data, self.dtype).reshape(n, *self.shape[1:])

            yield take

    def _mapped(self, row_bytes: int) -> Callable[[int], NDArray[Any]]:
        with open(self.path, "rb") as file:
            file.seek(self._info.header_offset + 26)
            lengths = file.read(4)  # of the name and of the extra field that stand before the data
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
    """Write arrays as `numpy.savez` does, those in pieces as they come."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                if isinstance(array, Chunks):
                    write_chunks(member, array)
                else:
                    npy.write_array(member, array, allow_pickle=False)


def npy_chunks(path: Path) -> Chunks:
    """Return a vector in an .npy file, whose data are read when they are asked for."""
    with open(path, "rb") as file:
        shape, _, dtype = read_header(file)
        start = file.tell()
        if len(shape) != 1 or os.fstat(file.fileno()).st_size - start != shape[0] * dtype.itemsize:
            raise ValueError(f"{path} is cut short, or no vector")

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
    """Return a vector whose data are read when they are asked for."""
    with _naming_member(info), archive.open(info) as file:
        shape, _, dtype = _checked_header(file, info)
        if len(shape) != 1:
            raise ValueError(f"an array of shape {shape}")

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
        raise ValueError(f"{n_bytes} bytes of data by its header, {n_stored} by its entry")
    return shape, fortran, dtype


def _read_chunks(file: IO[bytes], n_bytes: int, step: int = READ_BYTES) -> Iterator[bytes]:
    """Yield the rest of a file, which is to hold so many bytes, in pieces of ``step``."""
    n_read = 0
    while chunk := b"".join(_pieces(file, step)):
        n_read += len(chunk)
        if n_read > n_bytes:
            raise ValueError(f"more than the {n_bytes} bytes of data that its header promises")
        yield chunk
    if n_read != n_bytes:
        raise ValueError(f"{n_read} bytes of data, not {n_bytes}")


def _pieces(file: IO[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield so many bytes, in the pieces that the archive gives."""
    while n_bytes and (piece := file.read(n_bytes)):
        n_bytes -= len(piece)
        yield piece


@contextlib.contextmanager
def _naming_member(info: zipfile.ZipInfo) -> Iterator[None]:
    try:
        yield
    except (ValueError, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        raise ValueError(f"{info.filename} holds {error}") from None  # also encryption
