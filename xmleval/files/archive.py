"""Read and write .npz archives: no pickle, and sizes are checked because archives are untrusted."""

from __future__ import annotations

import contextlib
import io
import math
import struct
import threading
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.records import Chunks

DEFLATE_LIMIT = 1100  # deflate compresses by at most about 1032 to 1
READ_BYTES = 1 << 20
LOCAL_LENGTHS = 26  # where the header of a member has the lengths of its name and of what follows it
HEADER_BYTES = 10_000  # the longest header that NumPy parses
MOST_NESTED = 500  # brackets or signs in a header
PARSING = threading.RLock()  # filters of warnings, and a counter of Python 3.11's parser, are the process's


class HoldsObjectsError(ValueError):
    """An array is of Python objects, which are not read."""


@contextlib.contextmanager
def open_archive(file: InputFile) -> Iterator[zipfile.ZipFile]:
    """Open an .npz archive after checking that its member sizes are plausible for the file."""
    with file.open() as held:
        try:
            archive = zipfile.ZipFile(held)
        except NotImplementedError as error:  # unsupported zip version
            raise ValueError(str(error)) from None
        except zipfile.BadZipFile as error:
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None  # of reading, which is not what is wrong with it
            held.seek(0)
            cut = held.read(2) == b"PK"
            raise ValueError("the zip archive is cut short" if cut else "not a zip archive") from None
        with archive:
            members = archive.infolist()
            file.has_ends([archive.start_dir, *(info.header_offset for info in members)])
            if sum(info.compress_size for info in members) > file.size:
                raise ValueError("the archive members exceed the size of the file")
            for info in members:
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{info.filename}: unsupported compression method")
                if info.file_size > DEFLATE_LIMIT * max(info.compress_size, 1):
                    raise ValueError(
                        f"{info.filename}: impossible uncompressed size of {info.file_size} bytes"
                    )
            yield archive


def array_names(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the arrays in an archive."""
    names = dict.fromkeys(archive.namelist())  # of duplicate names, the last is read
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


def read_archive(
    file: InputFile,
    wanted: Callable[[str], bool] = lambda name: True,
    *,
    in_pieces: Callable[[str], Any] = lambda name: False,
    allowance: Allowance = UNLIMITED,
) -> dict[str, Any]:
    """Read the wanted arrays of an .npz archive; those ``in_pieces`` as `Chunks`.

    Raise ValueError or zipfile.BadZipFile if it is damaged, contains objects or declares impossible sizes;
    OverLimitError, before anything is unpacked, if the others need more than the allowance.
    """
    arrays: dict[str, Any] = {}
    with open_archive(file) as archive:
        members = {name: archive.getinfo(f"{name}.npy") for name in filter(wanted, array_names(archive))}
        whole = {name: info for name, info in members.items() if not in_pieces(name)}
        allowance.take(sum(info.file_size for info in whole.values()))
        for name, info in members.items():
            arrays[name] = _read_member(archive, info) if name in whole else _chunks_of(file, archive, info)
    return arrays


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, Fortran order and dtype from the header of an .npy file, up to the first byte of data.

    Raise ValueError for a damaged header or a dtype with Python objects.
    """
    try:
        with PARSING, warnings.catch_warnings():
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
        raise HoldsObjectsError("Python objects are not supported")
    if not dtype.itemsize or any(not 0 <= n < 2**62 for n in shape):
        raise ValueError(f"impossible array, {dtype} of shape {shape}")
    return shape, fortran, dtype


def check_headers(file: InputFile) -> None:
    """Refuse an archive of which any array cannot be read, by their headers."""
    with open_archive(file) as archive:
        for name in array_names(archive):
            info = archive.getinfo(f"{name}.npy")
            with _naming_member(info), archive.open(info) as held:
                _checked_header(held, info)


def check_sums(file: InputFile, names: Collection[str] = ()) -> None:
    """Refuse an archive of which an array that is not compressed, by default any, has a wrong checksum.

    Parts of such an array are read past the archive, which checks it at its end alone.
    """
    with open_archive(file) as archive:
        for name in names or array_names(archive):
            info = archive.getinfo(f"{name}.npy")
            if info.compress_type == zipfile.ZIP_STORED:
                with _naming_member(info), archive.open(info) as held:
                    while held.read(READ_BYTES):
                        pass


def _header_bytes(file: IO[bytes], n_length: int) -> bytes:
    """Return a header and the ``n_length`` bytes of its length; NumPy would read any length at once."""
    length = file.read(n_length)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > HEADER_BYTES:
        raise ValueError(f"its header is of {n_bytes} bytes")
    return length + file.read(n_bytes)


class NpyArray:
    """An array of an .npy file, mapped or read a few rows at a time.

    ``shape`` and ``dtype`` are those of its header.
    """

    def __init__(self, file: InputFile) -> None:
        self.file = file
        with file.open() as held:
            self.shape, fortran, self.dtype = read_header(held)
            self._start = held.tell()
        self._by_column = fortran and len(self.shape) > 1 and 0 not in self.shape
        self._whole = self._by_column and file.is_remote
        self.n_bytes = math.prod(self.shape) * self.dtype.itemsize
        n_stored = file.size - self._start
        if self.n_bytes != n_stored:
            raise ValueError(f"{n_stored} bytes of data where the header promises {self.n_bytes}")

    @property
    def whole_bytes(self) -> int:
        """Memory for what is read whole: all of a remote array that is stored by column."""
        return self.n_bytes if self._whole else 0

    @contextlib.contextmanager
    def reading(self, first: int = 0, stop: int | None = None) -> Iterator[Callable[[int], NDArray[Any]]]:
        """Yield a function that returns the next n rows, from row ``first`` on, up to ``stop``."""
        with self.file.open() as held:
            if stop is not None:
                self.file.has_ends([self._start + stop * _row_bytes(self.shape, self.dtype)])
            held.seek(self._start + (0 if self._by_column else first * _row_bytes(self.shape, self.dtype)))
            take = (
                self._columns_of(held, first) if self._by_column else _rows_of(held, self.shape, self.dtype)
            )
            yield _slices_of(take(self.shape[0] - first)) if self._whole else take

    def _columns_of(self, held: IO[bytes], first: int) -> Callable[[int], NDArray[Any]]:
        itemsize = self.dtype.itemsize

        def take(n: int) -> NDArray[Any]:
            nonlocal first
            rows = np.empty((n, *self.shape[1:]), self.dtype, order="F")
            for number, column in enumerate(rows.reshape(n, -1, order="F").T if n else ()):
                held.seek(self._start + (number * self.shape[0] + first) * itemsize)
                column[:] = _exactly(held, n, self.dtype)
            first += n
            return rows

        return take

    def read(self) -> NDArray[Any]:
        """Return all of it."""
        with self.reading() as take:
            return take(self.shape[0])

    def mapped(self) -> NDArray[Any]:
        """Return all of it as a map of the file, read-only; the file must not change while that is in use.

        A remote file is read.
        """
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        if self.file.is_remote:
            return self.read()
        with self.file.open() as held:
            return np.memmap(held, self.dtype, "r", self._start, self.shape, "F" if self._by_column else "C")


class StoredArray:
    """An array of an archive, read a few rows at a time; at its end, its checksum must be right.

    ``shape`` and ``dtype`` are those of its header.
    """

    def __init__(self, file: InputFile, name: str) -> None:
        self.file = file
        self.name = name
        with open_archive(file) as archive:
            if name not in array_names(archive):
                raise ValueError(f"no array {name!r} in it")
            self._info = archive.getinfo(f"{name}.npy")
            with _naming_member(self._info), archive.open(self._info) as held:
                self.shape, fortran, self.dtype = _checked_header(held, self._info)
        self._by_column = fortran and len(self.shape) > 1 and 0 not in self.shape
        self.n_bytes = math.prod(self.shape) * self.dtype.itemsize

    @property
    def whole_bytes(self) -> int:
        """Memory for what is read whole: all of it where it is stored by column, as rows lie scattered."""
        return self.n_bytes if self._by_column else 0

    @property
    def stored(self) -> bool:
        """Whether it is not compressed, so that any of its rows can be read without those before."""
        return self._info.compress_type == zipfile.ZIP_STORED and not self._by_column

    @contextlib.contextmanager
    def reading(self, first: int = 0, stop: int | None = None) -> Iterator[Callable[[int], NDArray[Any]]]:
        """Yield a function that returns the next n rows; of what is `stored`, from any row on, up to any."""
        if first and stop is None and not self.file.is_remote:  # the rest of a file, as where a run goes on
            check_sums(self.file, [self.name])
        if first or stop is not None:
            with self.file.open() as raw:
                _seek_data(raw, self._info)
                read_header(raw)
                start, row_bytes = raw.tell(), _row_bytes(self.shape, self.dtype)
                if stop is not None:
                    self.file.has_ends([start + stop * row_bytes])
                raw.seek(start + first * row_bytes)
                yield _rows_of(raw, self.shape, self.dtype)
            return
        with open_archive(self.file) as archive:
            if self._by_column:
                yield _slices_of(_read_member(archive, self._info))
                return
            with archive.open(self._info) as held:
                read_header(held)
                take = _rows_of(held, self.shape, self.dtype)

                def take_named(n: int) -> NDArray[Any]:
                    with _naming_member(self._info):
                        return take(n)

                yield take_named


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


def npy_chunks(file: InputFile) -> Chunks:
    """Return a vector of an .npy file as `Chunks`, which read it when iterated."""
    array = NpyArray(file)
    if len(array.shape) != 1:
        raise ValueError(f"array of shape {array.shape}, not a vector")
    size, step = array.shape[0], READ_BYTES // array.dtype.itemsize

    def read() -> Iterator[NDArray[Any]]:
        with array.reading() as take:
            for start in range(0, size, step):
                yield take(min(step, size - start))

    return Chunks(array.dtype, size, read)


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


def _chunks_of(file: InputFile, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Chunks:
    """Return a vector of an archive as `Chunks`, which read it when iterated."""
    with _naming_member(info), archive.open(info) as held:
        shape, _, dtype = _checked_header(held, info)
        if len(shape) != 1:
            raise ValueError(f"array of shape {shape}, not a vector")

    def read() -> Iterator[NDArray[Any]]:
        with open_archive(file) as again, _naming_member(info), again.open(info.filename) as held:
            read_header(held)
            step = READ_BYTES // dtype.itemsize * dtype.itemsize
            for chunk in _read_chunks(held, shape[0] * dtype.itemsize, step):
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


def _rows_of(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[int], NDArray[Any]]:
    """Return a function that reads the next n rows of an array in C order."""

    def take(n: int) -> NDArray[Any]:
        return _exactly(file, n * math.prod(shape[1:]), dtype).reshape(n, *shape[1:])

    return take


def _row_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape[1:]) * dtype.itemsize


def _seek_data(held: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Go to the first byte of a member that is not compressed."""
    held.seek(info.header_offset + LOCAL_LENGTHS)
    n_name, n_extra = struct.unpack("<HH", held.read(4))
    held.seek(n_name + n_extra, io.SEEK_CUR)


def _slices_of(rows: NDArray[Any]) -> Callable[[int], NDArray[Any]]:
    place = 0

    def take(n: int) -> NDArray[Any]:
        nonlocal place
        place += n
        return rows[place - n : place]

    return take


def _exactly(file: IO[bytes], n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Read n values into an array that can be written, as kernels are compiled again for one that cannot."""
    found = np.empty(n, dtype)
    room, place = found.view(np.uint8).data, 0
    for piece in _pieces(file, found.nbytes):
        room[place : place + len(piece)] = piece
        place += len(piece)
    if place != found.nbytes:
        raise ValueError("fewer bytes of data than declared in its header")
    return found


@contextlib.contextmanager
def _naming_member(info: zipfile.ZipInfo) -> Iterator[None]:
    try:
        yield
    except (ValueError, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        kind = HoldsObjectsError if isinstance(error, HoldsObjectsError) else ValueError
        raise kind(f"{info.filename}: {error}") from None  # also encryption
