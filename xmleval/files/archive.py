"""Arrays of .npy files and .npz archives: no pickle, and sizes are checked because files are untrusted."""

from __future__ import annotations

import contextlib
import io
import math
import threading
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import in_one_line
from xmleval.records import Chunks

DEFLATE_LIMIT = 1100  # deflate compresses by at most about 1032 to 1
READ_BYTES = 1 << 20
HEAD_BYTES = 10_240  # read of each array at once: NumPy parses headers of up to 10,000 bytes
LOCAL_LENGTHS = 26  # where the header of a member has the lengths of its name and of what follows it
PARSING = threading.Lock()  # filters of warnings, and a counter of Python 3.11's parser, are the process's
DAMAGE = (
    ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip  # encryption is a RuntimeError


class Array(NamedTuple):
    """An array as its header describes it.

    start : where its header lies in the file, or the compressed bytes that hold it
    member : its entry of an archive, None of an .npy file
    """

    file: InputFile
    name: str
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]
    header_bytes: int
    start: int
    member: zipfile.ZipInfo | None

    def __str__(self) -> str:
        """Return what messages say of it."""
        return f"{self.name} is {self.dtype} of shape {self.shape}".removeprefix(" is ")

    @property
    def row_bytes(self) -> int:
        """Size of a row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def n_bytes(self) -> int:
        """Size of all its data."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def any_row(self) -> bool:
        """Whether rows can be read without those before."""
        return not (self.by_column or (self.member and self.member.compress_type != zipfile.ZIP_STORED))

    def read(self) -> NDArray[Any]:
        """Return all of it."""
        with self._opened(0, None) as take:
            return take(self.shape[::-1]).T if self.by_column else take(self.shape)

    @contextlib.contextmanager
    def rows(self, first: int = 0, stop: int | None = None) -> Iterator[Callable[[int, int], NDArray[Any]]]:
        """Yield ``take(start, stop)``, which returns rows, from ``first`` on and one after another.

        Where all rows to the end are taken, a wrong checksum is refused there. Columns are read at once.
        """
        if self.by_column:
            values = self.read()
            yield lambda start, stop: values[start:stop]
        else:
            with self._opened(first, stop) as take:
                yield lambda start, stop: take((stop - start, *self.shape[1:]))

    def chunks(self) -> Chunks:
        """Return a vector as `Chunks`, which read it when iterated."""
        if len(self.shape) != 1:
            raise ValueError(f"array of shape {self.shape}, not a vector")
        size, step = self.shape[0], READ_BYTES // self.dtype.itemsize

        def read() -> Iterator[NDArray[Any]]:
            with self.rows() as take:
                for start in range(0, size, step):
                    yield take(start, min(start + step, size))

        return Chunks(self.dtype, size, read)

    def mapped(self) -> NDArray[Any]:
        """Return the array of an .npy file as a read-only map of it, or that of a remote one as read."""
        if self.file.is_remote or 0 in self.shape:
            return self.read()
        order: Literal["F", "C"] = "F" if self.by_column else "C"
        return np.memmap(self.file.path, self.dtype, "r", self.header_bytes, self.shape, order)

    @contextlib.contextmanager
    def _opened(self, first: int, stop: int | None) -> Iterator[Callable[[tuple[int, ...]], NDArray[Any]]]:
        """Yield what reads the next rows; of a member of an archive, it checks the checksum at the end."""
        n_before = self.header_bytes + first * self.row_bytes
        n_stored = self.member.compress_size if self.member else self.file.size
        end = self.start + (n_stored if stop is None else self.header_bytes + stop * self.row_bytes)
        is_part = stop is not None or (first and self.file.is_remote)
        with self.file.open(end) as handle:
            stream: Any = handle
            if self.member is None or (is_part and self.any_row):
                handle.seek(self.start + n_before)
            else:
                handle.seek(self.start)
                stream = zipfile.ZipExtFile(handle, "r", self.member)
                for place in range(0, n_before, READ_BYTES):
                    stream.read(min(READ_BYTES, n_before - place))
            yield partial(self._read, stream)

    def _read(self, stream: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """Read into a new array, which can be written: kernels are compiled again for one that cannot."""
        with _naming(self.name, self.member):
            if self.dtype.hasobject:
                raise ValueError("Python objects are not supported")
            values = np.empty(shape, self.dtype)
            view: Any = values.reshape(-1).view(np.uint8).data
            for start in range(0, len(view), READ_BYTES):
                part = view[start : start + READ_BYTES]
                if stream.readinto(part) < len(part):
                    raise ValueError("fewer bytes of data than declared in its header")
            return values


def read_arrays(arrays: Iterable[Array], allowance: Allowance = UNLIMITED) -> list[NDArray[Any]]:
    """Return whole arrays; raise OverLimitError, before anything is unpacked, if there is no memory."""
    arrays = [*arrays]
    allowance.take(sum(array.n_bytes for array in arrays))
    return [array.read() for array in arrays]


def open_npy(file: InputFile) -> Array:
    """Return the array of an .npy file; refuse a damaged header or size."""
    with file.open(0) as handle:
        return _described(file, "", handle, file.size, 0)


class Archive(dict[str, Array]):
    """The arrays of an .npz archive by their names, the last of those of one name.

    Damaged headers and impossible sizes are refused with a ValueError or `zipfile.BadZipFile`.
    """

    def __init__(self, file: InputFile) -> None:
        self.file = file
        with file.open(0) as handle:
            super().__init__((array.name, array) for array in _archived(file, handle))

    def __missing__(self, name: str) -> Array:
        """Refuse an array that is not there."""
        raise ValueError(f"no array {name!r} in it")

    def load_sparse(self) -> Any:
        """Return the matrix that `scipy.sparse.save_npz` wrote; its index values are not checked."""
        import scipy.sparse  # imported here to keep start-up fast

        with self.file.open() as handle:
            try:
                matrix = scipy.sparse.load_npz(handle)
            except DAMAGE as error:
                raise ValueError(in_one_line(error).strip("'")) from None
        return getattr(scipy.sparse, f"{matrix.format}_array")(matrix)


def check_sums(file: InputFile) -> None:
    """Refuse an archive of which an array has a wrong checksum, as no reader of parts checks it."""
    with file.open() as handle:
        name = zipfile.ZipFile(handle).testzip()
    if name is not None:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {name!r}")


def _described(
    file: InputFile, name: str, stream: IO[bytes], n_bytes: int, start: int,
    member: zipfile.ZipInfo | None = None,
) -> Array:  # fmt: skip
    """Return what the header of an array says of it, or refuse it."""
    head = io.BytesIO(stream.read(HEAD_BYTES))
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2
            major, _ = npy.read_magic(head)
            read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            shape, by_column, dtype = read(head)
    except (*DAMAGE, MemoryError) as error:  # which Python's parser raises where brackets nest deeply
        raise ValueError(f"not a NumPy array ({in_one_line(error)})") from None
    if not dtype.itemsize or any(not 0 <= n < 2**62 for n in shape):
        raise ValueError(f"impossible array, {dtype} of shape {shape}")
    by_column = by_column and len(shape) > 1 and 0 not in shape
    array = Array(file, name, shape, by_column, dtype, head.tell(), start, member)
    n_stored = n_bytes - array.header_bytes
    if array.n_bytes != n_stored and not dtype.hasobject:
        raise ValueError(f"{n_stored} bytes of data where the header promises {array.n_bytes}")
    return array


def _archived(file: InputFile, handle: io.BufferedReader[Any]) -> Iterator[Array]:
    """Yield the arrays of an archive whose sizes are plausible."""
    try:
        archive = zipfile.ZipFile(handle)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None  # of reading, which is not what is wrong with it
        raise ValueError("not a zip archive, or cut short") from None
    for info in archive.infolist():
        limit = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: DEFLATE_LIMIT}.get(info.compress_type, 0)
        if info.file_size > limit * max(info.compress_size, 1):
            raise ValueError(f"{info.filename}: {info.file_size} bytes, which deflate packs into more")
        name = info.filename.removesuffix(".npy")
        if name != info.filename:
            with _naming(name, info), archive.open(info) as stream:
                start = info.header_offset + LOCAL_LENGTHS
                handle.seek(start)
                start += 4 + int(np.frombuffer(handle.read(4), "<u2").sum())
                yield _described(file, name, stream, info.file_size, start, info)


@contextlib.contextmanager
def _naming(name: str, member: zipfile.ZipInfo | None) -> Iterator[None]:
    """Name a member of an archive in what goes wrong with it."""
    try:
        yield
    except (ValueError, RuntimeError, zlib.error, EOFError) as error:
        raise ValueError(f"{name}.npy: {error}" if member else str(error)) from None


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


def write_chunks(file: IO[bytes], array: Chunks) -> None:
    """Write a vector as an .npy file, piece by piece."""
    header = {"descr": npy.dtype_to_descr(array.dtype), "fortran_order": False, "shape": (array.size,)}
    npy.write_array_header_1_0(file, header)
    for keys in array.read():
        file.write(np.ascontiguousarray(keys).view(np.uint8).data)
