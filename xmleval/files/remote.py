"""Remote files: their addresses, requests to fsspec, and their bytes in growing ranges."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import textwrap
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path, PosixPath
from typing import Any, TypeGuard, TypeVar

from xmleval.base.budget import memory_limit
from xmleval.base.errors import shown

T = TypeVar("T")
Request = Callable[[Any, str], T]  # takes a file system and a name in it
EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "hf": "hf",
    "http": "http",
    "https": "http",
}
OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "memory"}  # no folders; files appear when complete
# HTTP statuses
MISSING_STATUSES = (404, 410)
REFUSED_STATUSES = (401, 403)
PARTIAL_STATUS = 206
BEYOND_END_STATUS = 416
LONGEST_NAME = 255  # bytes of a name, as file systems allow
LONGEST_ERROR = 200  # characters of an error that are quoted
# after a connection fails
ATTEMPTS = 3
PAUSE_SECONDS = 0.2
NO_RANGES = "its server does not report its size, or does not send byte ranges; download it first"
# the least is enough for the header of an array
LEAST_BLOCK_BYTES = 12 << 10
MOST_BLOCK_BYTES = 1 << 24
READERS = 8  # they have a block each and share an eighth of the memory limit


class RemotePath(PosixPath):
    """The address of a remote file, ``s3://bucket/scores.npz``, wherever a path is taken.

    The address is kept as given, with the query of a signed one. Each method asks the server anew.
    """

    _url: str
    _address_parts: tuple[str, str, str]  # folder, name and query
    protocol: str
    is_web: bool  # of HTTP, which has no folders

    def __new__(cls, url: str) -> RemotePath:
        """Return a path that keeps the address."""
        path = super().__new__(cls, url)
        path._url = url
        path.protocol = url.partition("://")[0]
        path.is_web = path.protocol in ("http", "https")
        address = url
        mark = query = ""
        if path.is_web:
            address, mark, query = url.partition("?")
        folder, _, name = address.rstrip("/").rpartition("/")
        path._address_parts = folder, name, mark + query
        return path

    def __str__(self) -> str:
        """Return the address."""
        return self._url

    __fspath__ = __str__

    def __reduce__(self) -> tuple[type[RemotePath], tuple[str]]:
        """Pickle the address."""
        return RemotePath, (self._url,)

    @property
    def name(self) -> str:
        """The last part of the address, without a query."""
        return self._address_parts[1]

    @property
    def parent(self) -> RemotePath:
        """The folder of the file."""
        return RemotePath(self._address_parts[0])

    def with_name(self, name: str) -> RemotePath:
        """Return the address of another file in the same folder."""
        folder, _, query = self._address_parts
        return RemotePath(f"{folder}/{name}{query}")

    def __truediv__(self, name: str | os.PathLike[str]) -> RemotePath:
        """Return the address of a file in this folder."""
        return RemotePath(f"{self._url.rstrip('/')}/{name}")

    def absolute(self, strict: bool = False) -> RemotePath:
        """Return itself."""
        return self

    resolve = absolute

    def _request(
        self,
        request: Request[T],
        action: str = "read",
        listed: bool = False,
        attempts: int = ATTEMPTS,
    ) -> T:
        """Send a request to the file system, again if a connection fails; errors name the address.

        ``listed`` discards cached listings.
        """
        try:
            from fsspec.core import url_to_fs

            system, name = url_to_fs(self._url)
            if listed:
                system.invalidate_cache()
            return request(system, name)
        except Exception as error:
            os_error = _as_os_error(error, self._url, action)
            if os_error.errno != errno.EIO or attempts == 1:
                raise os_error from None
        time.sleep(PAUSE_SECONDS)
        return self._request(request, action, listed, attempts - 1)

    def details(self) -> dict[str, Any]:
        """Return what the server reports now: type, size and, if available, tag and time."""
        options = dict[str, bool]()
        if self.protocol == "hf":
            options = {"refresh": True, "expand_info": True}
        return self._request(lambda system, name: dict(system.info(name, **options)), listed=True)

    def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop`` of a file."""

        def request(system: Any, name: str) -> bytes:
            if self.is_web:
                from fsspec.asyn import sync

                data: bytes = sync(system.loop, _fetch_from_web, system, name, start, stop)
            elif getattr(system, "async_impl", False):
                data = system.cat_file(name, start=start, end=stop)
            else:  # opens the file, and would read ahead by default
                data = system.cat_file(name, start=start, end=stop, cache_type="none")
            if len(data) != stop - start:
                raise ValueError(
                    f"received {len(data)} of {stop - start} bytes from byte {start} on"
                )
            return data

        return self._request(request)

    def exists(self, *types: str, **options: object) -> bool:
        """Return whether the file or folder exists, with one of the types if any are given."""
        with contextlib.suppress(FileNotFoundError):
            return self.details()["type"] in (types or ("file", "directory"))
        return False

    def is_dir(self, **options: object) -> bool:
        """Return whether the address is a folder."""
        return not self.is_web and self.exists("directory")

    def is_file(self, **options: object) -> bool:
        """Return whether the address is a file."""
        return self.exists("file")

    def iterdir(self) -> Generator[RemotePath, None, None]:
        """Yield the contents of a folder."""
        yield from self._list_paths(lambda system, folder: system.ls(folder, detail=False))

    def matches(self) -> list[Path]:
        """Return the files whose addresses match the address as a pattern."""
        return self._list_paths(lambda system, pattern: system.glob(pattern))

    def _list_paths(self, request: Request[list[str]]) -> list[Any]:
        paths = list[RemotePath]()
        for name in self._request(request, listed=True):
            if "://" in name:
                paths.append(RemotePath(name))
            else:
                paths.append(RemotePath(f"{self.protocol}://{name.lstrip('/')}"))
        return paths

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder with its parents, unless its server has no folders."""
        if self.protocol not in OBJECT_STORES:
            self._request(lambda system, name: system.makedirs(name, exist_ok=True), "written")

    def put(self, source: str) -> None:
        """Copy a local file to the address, which appears when it is complete."""
        if self.protocol in OBJECT_STORES:
            self._request(lambda system, name: system.put_file(source, name), "written")
            return
        hidden = self.with_name(f".{self.name}.{os.urandom(8).hex()}")
        hidden._request(lambda system, name: system.put_file(source, name), "written")
        self._request(lambda system, name: system.mv(str(hidden), name), "written")

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        with contextlib.suppress(*([FileNotFoundError] if missing_ok else [])):
            self._request(lambda system, name: system.rm_file(name), "removed")


async def _fetch_from_web(system: Any, url: str, start: int, stop: int) -> bytes:
    """Return the bytes of a range, with one more if the server sends more than the range."""
    options = {**system.kwargs}
    headers = {
        **options.pop("headers", {}),
        "Accept-Encoding": "identity",
        "Range": f"bytes={start}-{stop - 1}",
    }
    session = await system.set_session()
    async with session.get(system.encode_url(url), headers=headers, **options) as response:
        if response.status == BEYOND_END_STATUS:
            return b""
        response.raise_for_status()
        is_range = response.status == PARTIAL_STATUS or _is_first_byte(response.headers, start)
        if start and not is_range:
            raise OSError(errno.ENOTSUP, NO_RANGES, url)
        # one more byte shows that a range is too long; of a whole file, only the beginning is read
        most = stop - start + is_range
        data = bytearray()
        while len(data) < most and (chunk := await response.content.read(most - len(data))):
            data += chunk
        if len(data) == most:
            response.close()  # what follows is never received
        return bytes(data)


def _is_first_byte(headers: Mapping[str, str], start: int) -> bool:
    """Return whether headers declare that the content begins with byte ``start``."""
    declared = re.match(r"bytes (\d{1,18})-", headers.get("Content-Range", ""))
    return declared is not None and int(declared[1]) == start


class OpenFile(io.RawIOBase):
    """An open file of ``size`` bytes with a position for reading."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to another position."""
        self._place = max(0, offset + (0, self._place, self._size)[whence])
        return self._place


class RemoteFile(OpenFile):
    """A remote file as an open file, read in blocks.

    Up to ``end``, blocks double in size while reads follow one another.
    """

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, end: int) -> None:
        super().__init__(size)
        share = memory_limit().limit / (8 * READERS)
        self._largest = int(max(LEAST_BLOCK_BYTES, min(share, MOST_BLOCK_BYTES)))
        self._fetch = fetch
        self._end = min(end, size)
        self._start = 0
        self._block = b""

    def readinto(self, buffer: Any) -> int:
        """Read some of the next bytes."""
        offset = self._place - self._start
        if not 0 <= offset < len(self._block) and self._place < self._size:
            self._fetch_block(len(buffer))
            offset = 0
        part = memoryview(self._block)[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)

    def _fetch_block(self, n_wanted: int) -> None:
        """Fetch the block at the position, with ``n_wanted`` bytes or more if limits allow it."""
        place = self._place
        stop = self._size
        n_doubled = 0
        if place < self._end:
            stop = self._end
            if place == self._start + len(self._block):
                n_doubled = 2 * len(self._block)
        n_bytes = min(max(n_doubled, n_wanted, LEAST_BLOCK_BYTES), self._largest)
        self._start = place
        self._block = b""  # frees the old block before the next one is fetched
        self._block = self._fetch(place, min(place + n_bytes, stop))


def as_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a local file, or of the remote file at an address."""
    if isinstance(name, Path):
        return name
    text = os.fspath(name) if is_file(name) else ""
    if not text:
        raise ValueError(f"{shown(name)} is not the name of a file")
    if "://" in text:
        return RemotePath(text)
    path = Path(text)
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise ValueError(f"{shown(text)} is not the name of a file: it has {len(text)} characters")
    return path


def is_file(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether an argument is the name of a file, a folder or a pattern, local or remote."""
    return isinstance(value, str) or hasattr(type(value), "__fspath__")


def is_there(path: Path) -> bool:
    """Return whether a file, or a link, of that name exists."""
    if isinstance(path, RemotePath):
        return path.exists()
    return os.path.lexists(path)


def _as_os_error(error: Exception, url: str, action: str) -> OSError:
    """Return an error about a remote file as a system error that names the address."""
    if isinstance(error, OSError) and error.filename == url:
        return error
    if isinstance(error, ImportError):
        return OSError(errno.EPROTONOSUPPORT, _missing_package(error, url), url)
    cause: BaseException = error
    is_web_error = type(error.__cause__).__module__.startswith("aiohttp")
    if isinstance(error, FileNotFoundError) and is_web_error:
        cause = error.__cause__ or error  # fsspec reports any such cause as a missing file
    response = getattr(cause, "response", None)
    status = getattr(cause, "status", getattr(response, "status_code", None))
    if isinstance(cause, FileNotFoundError) or status in MISSING_STATUSES:
        return OSError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if isinstance(cause, PermissionError) or status in REFUSED_STATUSES:
        return OSError(errno.EACCES, f"{os.strerror(errno.EACCES)} ({in_one_line(cause)})", url)
    return OSError(errno.EIO, f"cannot be {action}: {in_one_line(cause)}", url)


def _missing_package(error: ImportError, url: str) -> str:
    """Return a message on the package that a protocol needs."""
    protocol = url.partition("://")[0]
    extra = EXTRAS.get(protocol)
    if not extra and error.name == "fsspec":
        extra = "remote"
    if not extra:
        return in_one_line(error)
    return f"{protocol}:// needs `pip install 'xmleval[{extra}]'`"


def in_one_line(error: BaseException) -> str:
    """Return the message of a library's error in one line."""
    return textwrap.shorten(str(error) or type(error).__name__, LONGEST_ERROR, placeholder="...")
