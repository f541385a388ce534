"""Arrays of .npy files and .npz archives: no pickle, and sizes are checked because files are untrusted."""

from __future__ import annotations

import contextlib
import io
import math
import struct
import threading
import tokenize
import warnings
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Literal, NamedTuple

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
MOST_OPEN = 64  # files that stay open between readings
DAMAGE = (ValueError, RuntimeError, zlib.error, EOFError)  # of a member; encryption is a RuntimeError


class Array(NamedTuple):
    """An array as its header describes it.

    ``start`` is where its header lies in the file, None where it is compressed; ``member`` its entry of an
    archive. Where it is stored ``by_column``, it may have to be read ``whole``.
    """

    name: str
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]
    header_bytes: int
    start: int | None
    member: zipfile.ZipInfo | None
    whole: bool

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
        return self.start is not None and not self.whole


class ArrayFile:
    """The array "" of an .npy file, or all arrays of an .npz archive by their names.

    The file is opened once: all headers are read then, and it stays open for rows, unless many files do or it
    is remote. Damaged headers and impossible sizes are refused with a ValueError or `zipfile.BadZipFile`.
    """

    def __init__(self, file: InputFile, packed: bool = True) -> None:
        self.file, self.path = file, file.path
        self._kept: tuple[contextlib.ExitStack, io.BufferedReader[Any]] | None = None
        with self.opened() as handle:
            described = _archived(file, handle) if packed else [_described(file, "", handle, file.size, 0)]
            self.arrays = {array.name: array for array in described}  # the last of those of one name

    def __contains__(self, name: str) -> bool:
        """Tell whether it has an array of that name."""
        return name in self.arrays

    def __getitem__(self, name: str) -> Array:
        """Return an array, or refuse one that is not there or holds Python objects."""
        if name not in self:
            raise ValueError(f"no array {name!r} in it")
        array = self.arrays[name]
        if array.dtype.hasobject:
            with _naming_member(array.member):
                raise ValueError("Python objects are not supported")
        return array

    @contextlib.contextmanager
    def opened(self) -> Iterator[io.BufferedReader[Any]]:
        """Yield the open file, compared at the end with what it was at the beginning."""
        (stack, handle), self._kept = self._kept or (contextlib.ExitStack(), None), None
        with stack:
            if handle is None:
                handle = stack.enter_context(self.file.open())
                weakref.finalize(self, handle.close)
            else:
                self.file.check(handle.raw)
            handle.seek(0)
            yield handle
            if not self.file.is_remote and (self in OPEN or len(OPEN) < MOST_OPEN):
                self.file.check(handle.raw)
                OPEN.add(self)
                self._kept = stack.pop_all(), handle

    @contextlib.contextmanager
    def reading(self) -> Iterator[Callable[..., Callable[[int], NDArray[Any]]]]:
        """Yield ``rows(array, first=0, stop=None)``, which returns a function that takes the next n rows.

        Where all rows to the end are read, a wrong checksum is refused there.
        """
        with contextlib.ExitStack() as more, self.opened() as handle:

            def rows(array: Array, first: int = 0, stop: int | None = None) -> Callable[[int], NDArray[Any]]:
                own = more.enter_context(self.file.open()) if self.file.is_remote else handle
                if stop is not None and array.start is not None:
                    self.file.has_ends([array.start + array.header_bytes + stop * array.row_bytes])
                return _Rows(array, own, first, stop is None and not (first and self.file.is_remote)).take

            yield rows

    def read(self, *names: str, allowance: Allowance = UNLIMITED) -> list[NDArray[Any]]:
        """Return whole arrays; raise OverLimitError, before anything is unpacked, if there is no memory."""
        arrays = [self[name] for name in names]
        allowance.take(sum(array.n_bytes for array in arrays))
        with self.opened() as handle:
            return [_Rows(array, handle).read() for array in arrays]

    def chunks(self, name: str = "") -> Chunks:
        """Return a vector as `Chunks`, which read it when iterated."""
        array = self[name]
        if len(array.shape) != 1:
            raise ValueError(f"array of shape {array.shape}, not a vector")
        size, step = array.shape[0], READ_BYTES // array.dtype.itemsize

        def read() -> Iterator[NDArray[Any]]:
            with self.reading() as rows:
                take = rows(array)
                for start in range(0, size, step):
                    yield take(min(step, size - start))

        return Chunks(array.dtype, size, read)

    def mapped(self) -> NDArray[Any]:
        """Return the array of an .npy file as a read-only map of it, or that of a remote one as read."""
        if self.file.is_remote or 0 in self[""].shape:
            return self.read("")[0]
        array = self[""]
        order: Literal["F", "C"] = "F" if array.by_column else "C"
        return np.memmap(self.path, array.dtype, "r", array.header_bytes, array.shape, order)

    def load_sparse(self) -> Any:
        """Return the matrix of any storage scheme that `scipy.sparse.save_npz` wrote, or refuse it."""
        import scipy.sparse  # imported here to keep start-up fast

        try:
            with self.opened() as handle, PARSING, warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*created on Python 2")
                return scipy.sparse.load_npz(handle)
        except (*DAMAGE, ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(" ".join(str(error).split()).strip("'")) from None

    def check_sums(self) -> None:
        """Refuse a wrong checksum of an array that is not compressed, as no reader of parts checks it."""
        with self.opened() as handle:
            for array in self.arrays.values():
                if array.start is not None:
                    _Rows(array, handle).skip(array.n_bytes)


OPEN: weakref.WeakSet[ArrayFile] = weakref.WeakSet()


class _Rows:
    """Rows of an array from row ``first`` on, read from a file that others may read too.

    If ``checked``, those before are read as well, for the checksum.
    """

    def __init__(
        self, array: Array, handle: io.BufferedReader[Any], first: int = 0, checked: bool = True
    ) -> None:
        self._array, self._handle, self._row = array, handle, first
        self._all: NDArray[Any] | None = None
        self._stream: Any = None
        if array.start is None and array.member is not None:
            self._stream = _open_zip(handle).open(array.member)
        self._checked = array.member if checked and not self._stream else None
        self._place, self._sum = array.start or 0, 0
        self._data = self._place + array.header_bytes
        self.skip(array.header_bytes + (0 if array.by_column else first * array.row_bytes))

    def take(self, n: int) -> NDArray[Any]:
        """Return the next rows."""
        array, first = self._array, self._row
        self._row += n
        if array.whole:
            self._all = self.read() if self._all is None else self._all
            return self._all[first : self._row]
        rows = np.empty((n, *array.shape[1:]), array.dtype, order="F" if array.by_column else "C")
        if not array.by_column:
            self._fill(rows.reshape(-1))
        elif n:
            for number, column in enumerate(rows.reshape(n, -1, order="F").T):
                self._place = self._data + (number * array.shape[0] + first) * array.dtype.itemsize
                self._fill(column)
        return rows

    def read(self) -> NDArray[Any]:
        """Return all rows."""
        values = np.empty(math.prod(self._array.shape), self._array.dtype)
        self._fill(values)
        return values.reshape(self._array.shape, order="F" if self._array.by_column else "C")

    def skip(self, n_bytes: int) -> None:
        """Pass over bytes, which are read where the checksum or the compression needs them."""
        if not self._checked and not self._stream:
            self._place += n_bytes
            return
        unused = np.empty(min(n_bytes, READ_BYTES), np.uint8)
        for start in range(0, n_bytes, READ_BYTES):
            self._fill(unused[: n_bytes - start])

    def _fill(self, values: NDArray[Any]) -> None:
        """Read into an array, which can be written: kernels are compiled again for one that cannot."""
        view, n = values.view(np.uint8).data, 0
        with _naming_member(self._array.member):
            while n < len(view):
                n_read = self._read_into(view[n : n + READ_BYTES])
                if not n_read:
                    raise ValueError("fewer bytes of data than declared in its header")
                n += n_read

    def _read_into(self, view: memoryview) -> int:
        if self._stream:
            return int(self._stream.readinto(view))
        self._handle.seek(self._place)
        n = self._handle.readinto(view)
        self._place += n
        if self._checked:
            self._sum = zlib.crc32(view[:n], self._sum)
            if self._place == self._data + self._array.n_bytes and self._sum != self._checked.CRC:
                raise zipfile.BadZipFile(f"Bad CRC-32 for file {self._checked.filename!r}")
        return n


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, whether it is stored by column, and dtype from the header of an .npy file, or refuse it."""
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2
            major, _ = npy.read_magic(file)
            read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            length = file.read(2 if major == 1 else 4)
            n_bytes = int.from_bytes(length, "little")  # of which NumPy would read any number at once
            header = length + file.read(min(n_bytes, HEADER_BYTES))
            if max(map(header.count, (b"(", b"[", b"{", b"-", b"+", b"~"))) > MOST_NESTED:
                raise ValueError("its header cannot be parsed")  # for Python's parser, a lack of memory
            shape, by_column, dtype = read(io.BytesIO(header))
    except RecursionError:
        raise ValueError("not a NumPy array (its header cannot be parsed)") from None
    except (ValueError, TypeError, LookupError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"not a NumPy array ({error})") from None
    if not dtype.itemsize or any(not 0 <= n < 2**62 for n in shape):
        raise ValueError(f"impossible array, {dtype} of shape {shape}")
    return shape, by_column and len(shape) > 1 and 0 not in shape, dtype


def _described(
    file: InputFile,
    name: str,
    stream: IO[bytes],
    n_bytes: int,
    start: int | None,
    member: zipfile.ZipInfo | None = None,
) -> Array:
    """Return what the next bytes of a stream, the header of an array, say of it."""
    shape, by_column, dtype = read_header(stream)
    whole = by_column and (member is not None or file.is_remote)
    array = Array(name, shape, by_column, dtype, stream.tell(), start, member, whole)
    n_stored = n_bytes - array.header_bytes
    if array.n_bytes != n_stored and not dtype.hasobject:
        raise ValueError(f"{n_stored} bytes of data where the header promises {array.n_bytes}")
    return array


def _archived(file: InputFile, handle: io.BufferedReader[Any]) -> Iterator[Array]:
    """Yield the arrays of an archive whose sizes are plausible."""
    archive = _open_zip(handle)
    members = archive.infolist()
    file.has_ends([archive.start_dir, *(info.header_offset for info in members)])
    if sum(info.compress_size for info in members) > file.size:
        raise ValueError("the archive members exceed the size of the file")
    for info in members:
        ratio = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: DEFLATE_LIMIT}.get(info.compress_type)
        if ratio is None:
            raise ValueError(f"{info.filename}: unsupported compression method")
        if info.file_size > ratio * max(info.compress_size, 1):
            raise ValueError(f"{info.filename}: impossible uncompressed size of {info.file_size} bytes")
        if info.filename.endswith(".npy"):
            with _naming_member(info), archive.open(info) as stream:
                start = None
                if ratio == 1:
                    handle.seek(info.header_offset + LOCAL_LENGTHS)
                    start = info.header_offset + LOCAL_LENGTHS + 4 + sum(struct.unpack("<HH", handle.read(4)))
                name = info.filename.removesuffix(".npy")
                yield _described(file, name, stream, info.file_size, start, info)


def _open_zip(handle: io.BufferedReader[Any]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(handle)
    except NotImplementedError as error:  # unsupported zip version
        raise ValueError(str(error)) from None
    except zipfile.BadZipFile as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None  # of reading, which is not what is wrong with it
        raise ValueError("not a zip archive, or cut short") from None


@contextlib.contextmanager
def _naming_member(member: zipfile.ZipInfo | None) -> Iterator[None]:
    """Name a member of an archive in what goes wrong with it."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"{member.filename}: {error}" if member else str(error)) from None


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
