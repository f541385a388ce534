"""Remote files: their addresses, and what fsspec is asked of them."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path, PosixPath
from typing import Any, TypeVar

T = TypeVar("T")
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "hf": "hf", "http": "http", "https": "http"}
OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "memory"}  # no folders; a file is there when it is whole
GONE, REFUSED = (404, 410), (401, 403)  # statuses of HTTP
LONGEST = 200  # characters of an error that are quoted
ATTEMPTS, PAUSE_SECONDS = 3, 0.2  # where a connection fails
NO_RANGES = "its server does not send it by ranges; download it first"


def patiently(ask: Callable[..., T]) -> Callable[..., T]:
    """Let a function ask a server again where a connection fails."""

    @functools.wraps(ask)
    def asking(*args: Any) -> T:
        for _ in range(ATTEMPTS - 1):
            try:
                return ask(*args)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                time.sleep(PAUSE_SECONDS)
        return ask(*args)

    return asking


class RemotePath(PosixPath):
    """The address of a remote file, ``s3://bucket/scores.npz``, wherever a path is taken.

    The address is kept as given, with the query of a signed one. Each method asks the server anew.
    """

    _url: str

    def __new__(cls, url: str) -> RemotePath:
        """Return a path that keeps the address."""
        path = super().__new__(cls, url)
        path._url = url
        return path

    def __str__(self) -> str:
        """Return the address."""
        return self._url

    __fspath__ = __str__

    def __reduce__(self) -> Any:
        """Pickle the address."""
        return RemotePath, (self._url,)

    @property
    def protocol(self) -> str:
        """What stands before ``://``."""
        return self._url.partition("://")[0]

    @property
    def is_web(self) -> bool:
        """Whether it is of HTTP, which has no folders."""
        return self.protocol in ("http", "https")

    @property
    def is_pattern(self) -> bool:
        """Whether it may stand for several files."""
        return re.search("[*[]" if self.is_web else "[*?[]", self._url) is not None

    def _split(self) -> list[str]:
        """Return what stands before the name, the name, and a query."""
        path, mark, query = self._url.partition("?") if self.is_web else (self._url, "", "")
        return [*path.rstrip("/").rsplit("/", 1), mark + query]

    @property
    def name(self) -> str:
        """The last part of the address, without a query."""
        return self._split()[1]

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in."""
        return RemotePath(self._split()[0])

    def with_name(self, name: str) -> RemotePath:
        """Return the address of another file of the same folder."""
        folder, _, query = self._split()
        return RemotePath(f"{folder}/{name}{query}")

    def __truediv__(self, name: str | os.PathLike[str]) -> RemotePath:
        """Return the address of a file in this folder."""
        return RemotePath(f"{self._url.rstrip('/')}/{name}")

    def absolute(self, strict: bool = False) -> RemotePath:
        """Return itself."""
        return self

    resolve = absolute

    @contextlib.contextmanager
    def _reached(self, what: str = "read") -> Iterator[tuple[Any, str]]:
        """Yield its file system of fsspec and its name there; name it in whatever goes wrong."""
        try:
            from fsspec.core import url_to_fs

            yield url_to_fs(self._url)
        except Exception as error:
            raise _named(error, self._url, what) from None

    @patiently
    def details(self) -> dict[str, Any]:
        """Return what the server reports now: type, size and, where it has them, tag and time."""
        fresh = {"refresh": True, "expand_info": True} if self.protocol == "hf" else {}
        with self._reached() as (system, name):
            system.invalidate_cache(name)
            details: dict[str, Any] = system.info(name, **fresh)
            return details

    @patiently
    def fetch(self, size: int, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop`` of a file of ``size`` bytes."""
        with self._reached() as (system, name):
            if self.is_web:  # this way alone stops where a server sends more than the range
                headers = {**system.kwargs.get("headers", {}), "Accept-Encoding": "identity"}
                file = system.open(name, size=size, cache_type="none", headers=headers)
                try:
                    data: bytes = file._fetch_range(start, stop)
                except ValueError:
                    raise OSError(errno.ENOTSUP, NO_RANGES, self._url) from None
            else:
                # what is not asynchronous opens the file, which would read ahead by itself
                options = {} if getattr(system, "async_impl", False) else {"cache_type": "none"}
                data = system.cat_file(name, start=start, end=stop, **options)
            if len(data) != stop - start:
                raise ValueError(f"{len(data)} bytes came of {stop - start} from byte {start} on")
            return data

    def exists(self, *types: str, **options: Any) -> bool:
        """Tell whether it is there, and of one of some types."""
        try:
            return self.details()["type"] in (types or ("file", "directory"))
        except FileNotFoundError:
            return False

    def is_dir(self, **options: Any) -> bool:
        """Tell whether it is a folder."""
        return not self.is_web and self.exists("directory")

    def is_file(self, **options: Any) -> bool:
        """Tell whether it is a file."""
        return self.exists("file")

    def iterdir(self) -> Generator[RemotePath, None, None]:
        """Yield what is in a folder."""
        with self._reached() as (system, folder):
            system.invalidate_cache(folder)
            yield from map(self._of_system, system.ls(folder, detail=False))

    def matches(self) -> list[Path]:
        """Return the files whose addresses match it as a pattern."""
        with self._reached() as (system, pattern):
            system.invalidate_cache()
            return [self._of_system(name) for name in system.glob(pattern)]

    def _of_system(self, name: str) -> RemotePath:
        return RemotePath(name if "://" in name else f"{self.protocol}://{name.lstrip('/')}")

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder, and those it is in, where its server has any."""
        if self.is_web:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), self._url)
        with self._reached("written") as (system, name):
            if self.protocol not in OBJECT_STORES:
                system.makedirs(name, exist_ok=True)

    @patiently
    def put(self, source: str) -> None:
        """Copy a file of this machine there, where it has its name when it is whole."""
        with self._reached("written") as (system, name):
            if self.protocol in OBJECT_STORES:
                system.put_file(source, name)
            else:
                folder, _, last = name.rpartition("/")
                hidden = f"{folder}/.{last}.{os.urandom(8).hex()}"
                system.put_file(source, hidden)
                system.mv(hidden, name)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        missing = [FileNotFoundError] if missing_ok else []
        with contextlib.suppress(*missing), self._reached("removed") as (system, name):
            system.rm_file(name)


def as_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file on this machine, or of the remote one at an address."""
    if isinstance(name, Path):
        return name
    text = os.fspath(name)
    return RemotePath(text) if "://" in text else Path(text)


def is_there(path: Path) -> bool:
    """Tell whether there is a file, or a link, of that name."""
    return path.exists() if isinstance(path, RemotePath) else os.path.lexists(path)


def _named(error: Exception, url: str, what: str) -> OSError:
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
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if isinstance(cause, PermissionError) or status in REFUSED:
        return PermissionError(errno.EACCES, f"{os.strerror(errno.EACCES)} ({in_one_line(cause)})", url)
    return OSError(errno.EIO, f"cannot be {what}: {in_one_line(cause)}", url)


def in_one_line(error: BaseException) -> str:
    """Return an error of a library in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
