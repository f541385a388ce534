"""Arrays of .npy files and .npz archives: untrusted, so no pickle, and sizes are checked."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import threading
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from xmleval.base.arrays import Chunks
from xmleval.base.errors import shown
from xmleval.files.input import InputFile
from xmleval.files.remote import in_one_line

# deflate compresses by at most about 1032 to 1
PACKED = {
    zipfile.ZIP_STORED: 1,
    zipfile.ZIP_DEFLATED: 1100,
}
READ_BYTES = 1 << 20
HEAD_BYTES = 10_240  # read of each array at once: NumPy parses headers of up to 10,000 bytes
# warning filters, and a counter in the parser of Python 3.11, are shared by all threads
PARSING = threading.Lock()
DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,  # raised for encrypted members
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


class Stream(Protocol):
    """Bytes that are read in order."""

    def readinto(self, view: bytearray | memoryview, /) -> int:
        """Read some of the next bytes, and return their number."""
        ...


class Array(NamedTuple):
    """An array as its header describes it.

    n_bytes : of all its data
    any_row : whether rows can be read without those before
    start : where its header begins in the file, or the compressed bytes that contain it
    member : its member of an archive, None in an .npy file
    content : all its data, if it is small
    """

    file: InputFile
    name: str
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]
    row_bytes: int
    n_bytes: int
    any_row: bool
    header_bytes: int
    start: int
    member: zipfile.ZipInfo | None
    content: bytes | None

    def __str__(self) -> str:
        """Return a description for messages."""
        return f"{self.name} is {self.dtype} of shape {self.shape}".removeprefix(" is ")

    def read(self, handle: io.BufferedIOBase | None) -> NDArray[Any]:
        """Return the whole array, from the open file or from its content."""
        if handle is None:
            stream: Stream = io.BytesIO(self.content or b"")
        else:
            stream = self._stream(handle, 0, None)
        if self.by_column:
            return self._read_into(stream, self.shape[::-1]).T
        return self._read_into(stream, self.shape)

    @contextlib.contextmanager
    def rows(
        self, first: int = 0, stop: int | None = None
    ) -> Iterator[Callable[[int, int], NDArray[Any]]]:
        """Yield ``take(start, stop)``, to be called for rows from ``first`` on, in order.

        The call that reads the last row checks the checksum.
        """
        end = self.file.size
        if self.member is not None:
            end = self.member.compress_size
        if stop is not None:
            end = self.header_bytes + stop * self.row_bytes
        with self.file.open(self.start + end) as handle:
            if self.by_column:
                values = self.read(handle)
                yield lambda start, stop: values[start:stop]
            else:
                stream = self._stream(handle, first, stop)
                yield lambda start, stop: self._read_into(stream, (stop - start, *self.shape[1:]))

    def chunks(self) -> Chunks:
        """Return a vector as `Chunks`, which read it when iterated."""
        if len(self.shape) != 1:
            raise ValueError(f"{self.name} is of shape {self.shape}")
        return Chunks(
            self.dtype, self.shape[0], partial(self.batches, READ_BYTES // self.dtype.itemsize)
        )

    def batches(self, step: int, first: int = 0, stop: int | None = None) -> Iterator[NDArray[Any]]:
        """Yield ``step`` rows at a time, at least one batch, from ``first`` up to ``stop``."""
        end = self.shape[0] if stop is None else stop
        with self.rows(first, None if end == self.shape[0] else end) as take:
            for start in range(first, max(end, first + 1), step):
                yield take(start, min(start + step, end))

    def _stream(self, handle: io.BufferedIOBase, first: int, stop: int | None) -> Stream:
        """Return the bytes of rows; a member of an archive checks its checksum at its end."""
        n_before = self.header_bytes + first * self.row_bytes
        is_part = stop is not None or (first and self.file.is_remote)
        if self.member is None or (is_part and self.any_row):
            handle.seek(self.start + n_before)
            return handle
        handle.seek(self.start)
        stream: Stream = _StoredMember(handle, self.member)
        if self.member.compress_type != zipfile.ZIP_STORED:
            stream = zipfile.ZipExtFile(handle, "r", self.member)
        with _naming(self.member):
            for place in range(0, n_before, READ_BYTES):
                stream.readinto(bytearray(min(READ_BYTES, n_before - place)))
        return stream

    def _read_into(self, stream: Stream, shape: tuple[int, ...]) -> NDArray[Any]:
        """Read a new array, writable because kernels are compiled again for read-only ones."""
        with _naming(self.member):
            if self.dtype.hasobject:
                raise ValueError("Python objects are not supported")
            values = np.empty(shape, self.dtype)
            view = values.reshape(-1).view(np.uint8).data
            for start in range(0, len(view), READ_BYTES):
                part = view[start : start + READ_BYTES]
                if stream.readinto(part) < len(part):
                    raise ValueError("fewer bytes of data than declared in its header")
            return values


class _StoredMember:
    """An uncompressed member of an archive and its checksum, without the copies of `zipfile`."""

    def __init__(self, handle: io.BufferedIOBase, member: zipfile.ZipInfo) -> None:
        self._handle = handle
        self._member = member
        self._left = member.file_size
        self._sum = 0

    def readinto(self, view: bytearray | memoryview) -> int:
        """Read some of the next bytes."""
        n = self._handle.readinto(view)
        self._sum = zlib.crc32(view[:n], self._sum)
        self._left = self._left - n
        if not self._left and self._sum != self._member.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {shown(self._member.filename)}")
        return n


def read_arrays(arrays: Iterable[Array]) -> list[NDArray[Any]]:
    """Return whole arrays."""
    values = list[NDArray[Any]]()
    for (file, content), members in itertools.groupby(arrays, attrgetter("file", "content")):
        with file.open(0) if content is None else contextlib.nullcontext() as handle:
            for array in members:
                values.append(array.read(handle))
    return values


def open_npy(file: InputFile) -> Array:
    """Return the array of an .npy file; refuse a damaged header or size."""
    with file.open(0) as handle:
        return _read_header(file, handle)


class Archive(dict[str, Array]):
    """The arrays of an .npz archive by name; the last array of a name counts.

    Damaged and impossible arrays are refused.
    """

    def __init__(self, file: InputFile) -> None:
        super().__init__()
        self.file = file
        with file.open(0) as handle:
            try:
                archive = zipfile.ZipFile(handle)
            except (zipfile.BadZipFile, NotImplementedError) as error:
                if isinstance(error.__context__, OSError):
                    # the file cannot be read, which says nothing about the archive
                    raise error.__context__ from None
                raise ValueError("not a zip archive, or cut short") from None
            for info in archive.infolist():
                if info.file_size > PACKED.get(info.compress_type, 0) * max(info.compress_size, 1):
                    sizes = f"{info.file_size} bytes do not fit in {info.compress_size}"
                    raise ValueError(f"{info.filename}: {sizes}")
                if info.filename.endswith(".npy"):
                    with _naming(info), archive.open(info) as stream:
                        array = _read_header(file, stream, info, handle.tell())
                    self[array.name] = array

    def __missing__(self, name: str) -> Array:
        """Refuse an array that is not there."""
        raise ValueError(f"no array {shown(name)} in it")

    def load_sparse(self) -> Any:
        """Return the matrix of `scipy.sparse.save_npz`; its index values are not checked."""
        import scipy.sparse  # imported here to keep start-up fast

        with self.file.open() as handle:
            try:
                matrix = scipy.sparse.load_npz(handle)
            except DAMAGE as error:
                raise ValueError(in_one_line(error).strip("'")) from None
        return getattr(scipy.sparse, f"{matrix.format}_array")(matrix)


def check_sums(file: InputFile) -> None:
    """Refuse an archive with a wrong checksum, which reading parts of it does not check."""
    with file.open() as handle:
        name = zipfile.ZipFile(handle).testzip()
    if name is not None:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {shown(name)}")


def _read_header(
    file: InputFile, stream: IO[bytes], member: zipfile.ZipInfo | None = None, start: int = 0
) -> Array:
    """Return an array as its header describes it; refuse an impossible header."""
    head = io.BytesIO(stream.read(HEAD_BYTES))
    shape, by_column, dtype = _parse_header(head)
    if not dtype.itemsize or not 0 <= min(shape, default=0) <= max(shape, default=0) < 2**62:
        raise ValueError(f"impossible array, {dtype} of shape {shape}")
    by_column = by_column and len(shape) > 1 and 0 not in shape
    name = ""
    is_packed = False
    n_all = file.size
    if member is not None:
        name = member.filename.removesuffix(".npy")
        n_all = member.file_size
        is_packed = member.compress_type != zipfile.ZIP_STORED
    header_bytes = head.tell()
    n_stored = n_all - header_bytes
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != n_stored and not dtype.hasobject:
        raise ValueError(f"{n_stored} bytes of data where the header promises {n_bytes}")
    content = None
    if n_all <= HEAD_BYTES:
        content = head.getvalue()[header_bytes:]
    return Array(
        file=file,
        name=name,
        shape=shape,
        by_column=by_column,
        dtype=dtype,
        row_bytes=math.prod(shape[1:]) * dtype.itemsize,
        n_bytes=n_bytes,
        any_row=not (by_column or is_packed),
        header_bytes=header_bytes,
        start=start,
        member=member,
        content=content,
    )


def _parse_header(head: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, whether the array is stored by column, and the dtype in a header."""
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2
            major, _ = npy.read_magic(head)
            read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            return read(head)
    except (*DAMAGE, MemoryError) as error:  # Python's parser raises it for deeply nested brackets
        raise ValueError(f"not a NumPy array ({in_one_line(error)})") from None


@contextlib.contextmanager
def _naming(member: zipfile.ZipInfo | None) -> Iterator[None]:
    """Name a member of an archive in errors about it."""
    try:
        yield
    except (ValueError, RuntimeError, zlib.error, EOFError) as error:
        if member is None:
            raise ValueError(str(error)) from None
        raise ValueError(f"{member.filename}: {error}") from None


def write_archive(file: IO[bytes], arrays: Iterable[tuple[str, NDArray[Any] | Chunks]]) -> None:
    """Write arrays as `numpy.savez` does, `Chunks` piece by piece."""
    archive = zipfile.ZipFile(file, "w")
    try:
        for name, array in arrays:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                if isinstance(array, Chunks):
                    write_chunks(member, array)
                else:
                    npy.write_array(member, array, allow_pickle=False)
    except BaseException:
        # closing it with a member open would raise another error in place of this one
        archive.fp = None
        raise
    archive.close()


def write_chunks(file: IO[bytes], array: Chunks) -> None:
    """Write a vector as an .npy file, piece by piece."""
    header = {
        "descr": npy.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": (array.size,),
    }
    npy.write_array_header_1_0(file, header)
    for keys in array.read():
        file.write(np.ascontiguousarray(keys).view(np.uint8).data)
