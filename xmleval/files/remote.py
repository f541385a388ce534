"""Remote files: their addresses, what fsspec is asked of them, and their bytes by ranges that grow."""

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
Ask = Callable[[Any, str], T]  # of a file system and a name in it
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "hf": "hf", "http": "http", "https": "http"}
OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "memory"}  # no folders; a file is there when it is whole
GONE, REFUSED, PARTIAL, BEYOND_END = (404, 410), (401, 403), 206, 416  # statuses of HTTP
LONGEST_NAME = 255  # bytes of a name that file systems take
LONGEST = 200  # characters of an error that are quoted
ATTEMPTS, PAUSE_SECONDS = 3, 0.2  # where a connection fails
NO_RANGES = "its server does not tell its size, or does not send it by ranges; download it first"
LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 12 << 10, 1 << 24  # the least holds the header of an array
READERS = 8  # with a block each, that share an eighth of a memory limit


class RemotePath(PosixPath):
    """The address of a remote file, ``s3://bucket/scores.npz``, wherever a path is taken.

    The address is kept as given, with the query of a signed one. Each method asks the server anew.
    """

    _url: str
    _split: tuple[str, str, str]  # folder, name and query
    protocol: str
    is_web: bool  # of HTTP, which has no folders

    def __new__(cls, url: str) -> RemotePath:
        """Return a path that keeps the address."""
        path = super().__new__(cls, url)
        path._url, path.protocol = url, url.partition("://")[0]
        path.is_web = path.protocol in ("http", "https")
        address, mark, query = url.partition("?") if path.is_web else (url, "", "")
        folder, _, name = address.rstrip("/").rpartition("/")
        path._split = folder, name, mark + query
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
        return self._split[1]

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in."""
        return RemotePath(self._split[0])

    def with_name(self, name: str) -> RemotePath:
        """Return the address of another file of the same folder."""
        folder, _, query = self._split
        return RemotePath(f"{folder}/{name}{query}")

    def __truediv__(self, name: str | os.PathLike[str]) -> RemotePath:
        """Return the address of a file in this folder."""
        return RemotePath(f"{self._url.rstrip('/')}/{name}")

    def absolute(self, strict: bool = False) -> RemotePath:
        """Return itself."""
        return self

    resolve = absolute

    def _ask(self, ask: Ask[T], action: str = "read", listed: bool = False, attempts: int = ATTEMPTS) -> T:
        """Ask its file system by its name there, again where a connection fails; name it in errors."""
        try:
            from fsspec.core import url_to_fs

            system, name = url_to_fs(self._url)
            if listed:
                system.invalidate_cache()
            return ask(system, name)
        except Exception as error:
            named = _named(error, self._url, action)
            if named.errno != errno.EIO or attempts == 1:
                raise named from None
        time.sleep(PAUSE_SECONDS)
        return self._ask(ask, action, listed, attempts - 1)

    def details(self) -> dict[str, Any]:
        """Return what the server reports now: type, size and, where it has them, tag and time."""
        fresh = {"refresh": True, "expand_info": True} if self.protocol == "hf" else {}
        return self._ask(lambda system, name: dict(system.info(name, **fresh)), listed=True)

    def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop`` of a file."""

        def ask(system: Any, name: str) -> bytes:
            if self.is_web:
                from fsspec.asyn import sync

                data: bytes = sync(system.loop, _fetch_from_web, system, name, start, stop)
            else:
                # what is not asynchronous opens the file, which would read ahead by itself
                options = {} if getattr(system, "async_impl", False) else {"cache_type": "none"}
                data = system.cat_file(name, start=start, end=stop, **options)
            if len(data) != stop - start:
                raise ValueError(f"{len(data)} bytes came of {stop - start} from byte {start} on")
            return data

        return self._ask(ask)

    def exists(self, *types: str, **options: object) -> bool:
        """Tell whether it is there, and of one of some types."""
        with contextlib.suppress(FileNotFoundError):
            return self.details()["type"] in (types or ("file", "directory"))
        return False

    def is_dir(self, **options: object) -> bool:
        """Tell whether it is a folder."""
        return not self.is_web and self.exists("directory")

    def is_file(self, **options: object) -> bool:
        """Tell whether it is a file."""
        return self.exists("file")

    def iterdir(self) -> Generator[RemotePath, None, None]:
        """Yield what is in a folder."""
        yield from self._listed(lambda system, folder: system.ls(folder, detail=False))

    def matches(self) -> list[Path]:
        """Return the files whose addresses match it as a pattern."""
        return self._listed(lambda system, pattern: system.glob(pattern))

    def _listed(self, ask: Ask[list[str]]) -> list[Any]:
        names = self._ask(ask, listed=True)
        return [RemotePath(n if "://" in n else f"{self.protocol}://{n.lstrip('/')}") for n in names]

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder, and those it is in, where its server has any."""
        if self.protocol not in OBJECT_STORES:
            self._ask(lambda system, name: system.makedirs(name, exist_ok=True), "written")

    def put(self, source: str) -> None:
        """Copy a file of this machine there, where it has its name when it is whole."""
        hidden = self.with_name(f".{self.name}.{os.urandom(8).hex()}")
        first = self if self.protocol in OBJECT_STORES else hidden
        first._ask(lambda system, name: system.put_file(source, name), "written")
        if first is hidden:
            self._ask(lambda system, name: system.mv(str(hidden), name), "written")

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        with contextlib.suppress(*([FileNotFoundError] if missing_ok else [])):
            self._ask(lambda system, name: system.rm_file(name), "removed")


async def _fetch_from_web(system: Any, url: str, start: int, stop: int) -> bytes:
    """Return the bytes of a range, and one more if a server sends more, which is not read."""
    options = {**system.kwargs}
    headers = {
        **options.pop("headers", {}),
        "Accept-Encoding": "identity",
        "Range": f"bytes={start}-{stop - 1}",
    }
    session = await system.set_session()
    async with session.get(system.encode_url(url), headers=headers, **options) as response:
        if response.status == BEYOND_END:
            return b""
        response.raise_for_status()
        is_range = response.status == PARTIAL or _is_first_byte(response.headers, start)
        if start and not is_range:
            raise OSError(errno.ENOTSUP, NO_RANGES, url)
        most = stop - start + is_range  # of what is no range, the beginning alone is asked for
        data = bytearray()
        while len(data) < most and (chunk := await response.content.read(most - len(data))):
            data += chunk
        if len(data) == most:
            response.close()  # what follows is never received
        return bytes(data)


def _is_first_byte(headers: Mapping[str, str], start: int) -> bool:
    """Tell whether headers say that an answer begins with a byte."""
    found = re.match(r"bytes (\d{1,18})-", headers.get("Content-Range", ""))
    return found is not None and int(found[1]) == start


class OpenFile(io.RawIOBase):
    """An open file of ``size`` bytes, read from a place of its own."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size, self._place = size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to another position."""
        self._place = max(0, offset + (0, self._place, self._size)[whence])
        return self._place


class RemoteFile(OpenFile):
    """A remote file as an open file, in blocks; up to ``end``, they double while reads follow one another."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, end: int) -> None:
        super().__init__(size)
        share = memory_limit().limit / (8 * READERS)
        self._largest = int(max(LEAST_BLOCK_BYTES, min(share, MOST_BLOCK_BYTES)))
        self._fetch, self._end, self._start, self._block = fetch, min(end, size), 0, b""

    def readinto(self, buffer: Any) -> int:
        """Read some of the next bytes."""
        at, place = self._place - self._start, self._place
        if not 0 <= at < len(self._block) and place < self._size:
            doubled = 2 * len(self._block) if place < self._end and at == len(self._block) else 0
            n_bytes = min(max(doubled, len(buffer), LEAST_BLOCK_BYTES), self._largest)
            stop = self._end if place < self._end else self._size
            at, self._start, self._block = 0, place, b""  # one is held at a time, not two
            self._block = self._fetch(place, min(place + n_bytes, stop))
        part = memoryview(self._block)[at : at + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)


def as_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file on this machine, or of the remote one at an address."""
    if isinstance(name, Path):
        return name
    if not is_file(name) or not (text := os.fspath(name)):
        raise ValueError(f"{shown(name)} is not the name of a file")
    if "://" in text:
        return RemotePath(text)
    path = Path(text)
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise ValueError(f"{shown(text)} is not the name of a file: it has {len(text)} characters")
    return path


def is_file(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether an argument is a file, a folder or a pattern, on this machine or elsewhere."""
    return isinstance(value, str) or hasattr(type(value), "__fspath__")


def is_there(path: Path) -> bool:
    """Tell whether there is a file, or a link, of that name."""
    return path.exists() if isinstance(path, RemotePath) else os.path.lexists(path)


def _named(error: Exception, url: str, action: str) -> OSError:
    """Return what went wrong on the way to a remote file as an error of the system that names it."""
    if isinstance(error, OSError) and error.filename == url:
        return error
    if isinstance(error, ImportError):
        protocol = url.partition("://")[0]
        extra = EXTRAS.get(protocol) or ("remote" if error.name == "fsspec" else "")
        needed = f"{protocol}:// needs `pip install 'xmleval[{extra}]'`" if extra else in_one_line(error)
        return OSError(errno.EPROTONOSUPPORT, needed, url)
    cause: BaseException = error
    if isinstance(error, FileNotFoundError) and type(error.__cause__).__module__.startswith("aiohttp"):
        cause = error.__cause__ or error  # whatever it is, fsspec says that there is no file
    status = getattr(cause, "status", getattr(getattr(cause, "response", None), "status_code", None))
    if isinstance(cause, FileNotFoundError) or status in GONE:
        return OSError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if isinstance(cause, PermissionError) or status in REFUSED:
        return OSError(errno.EACCES, f"{os.strerror(errno.EACCES)} ({in_one_line(cause)})", url)
    return OSError(errno.EIO, f"cannot be {action}: {in_one_line(cause)}", url)


def in_one_line(error: BaseException) -> str:
    """Return an error of a library in one line."""
    return textwrap.shorten(str(error) or type(error).__name__, LONGEST, placeholder="...")
