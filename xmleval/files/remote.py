"""Files that are not on this machine: their addresses, and how they are reached through fsspec."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path, PosixPath
from typing import Any

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "hf": "hf", "http": "http", "https": "http"}
AT_ONCE = (
    "s3",
    "s3a",
    "gs",
    "gcs",
    "memory",
)  # where there are no folders, and a file is there when it is whole
GONE, REFUSED = (404, 410), (401, 403)  # statuses of HTTP
LONGEST = 200  # characters of an error that are quoted


class RemotePath(PosixPath):
    """The address of a remote file, ``s3://bucket/scores.npz``, wherever a path is taken.

    What is asked of it is asked of its server, anew each time; what is derived from it is one, too.
    """

    _url: str

    def __new__(cls, url: str) -> RemotePath:
        """Return a path that keeps the address as it was given."""
        made = super().__new__(cls, url)
        made._url = url
        return made

    def __str__(self) -> str:
        """Return the address."""
        return self._url

    def __fspath__(self) -> str:
        """Return the address, which no function of the system opens."""
        return self._url

    def __reduce__(self) -> Any:
        """Return what another process makes it of."""
        return RemotePath, (self._url,)

    @property
    def is_web(self) -> bool:
        """Whether it is of HTTP, which has no folders."""
        return self._url.startswith(("http://", "https://"))

    @property
    def _at_once(self) -> bool:
        return self._url.startswith(tuple(f"{protocol}://" for protocol in AT_ONCE))

    def _split(self) -> tuple[str, str, str]:
        """Return what stands before the name, the name, and a query."""
        path, mark, query = self._url.partition("?") if self.is_web else (self._url, "", "")
        folder, _, name = path.rstrip("/").rpartition("/")
        return folder, name, mark + query

    @property
    def name(self) -> str:
        """The last part of the address, without a query."""
        return self._split()[1]

    @property
    def parent(self) -> RemotePath:
        """What it is in."""
        return RemotePath(self._split()[0])

    def with_name(self, name: str) -> RemotePath:
        """Return the address of another file beside it."""
        folder, _, query = self._split()
        return RemotePath(f"{folder}/{name}{query}")

    def __truediv__(self, name: str | os.PathLike[str]) -> RemotePath:
        """Return the address of what is in it."""
        return RemotePath(f"{self._url.rstrip('/')}/{name}")

    def resolve(self, strict: bool = False) -> RemotePath:
        """Return itself: addresses are absolute."""
        return self

    def absolute(self) -> RemotePath:
        """Return itself."""
        return self

    @property
    def is_pattern(self) -> bool:
        """Whether it may stand for several files."""
        return re.search("[*[]" if self.is_web else "[*?[]", self._url) is not None

    def details(self) -> dict[str, Any]:
        """Return what the server tells of it now: its size and, as far as there are, its tag and time."""
        with reaching(self._url):
            system, path = self.system()
            system.invalidate_cache(path)
            fresh = {"refresh": True, "expand_info": True} if self._url.startswith("hf://") else {}
            found: dict[str, Any] = system.info(path, **fresh)
            return found

    def system(self) -> tuple[Any, str]:
        """Return the file system of fsspec that has it, and what it is called there."""
        from fsspec.core import url_to_fs

        system, path = url_to_fs(self._url)
        return system, path

    def exists(self, **more: Any) -> bool:
        """Tell whether it is there."""
        return self._type() is not None

    def is_dir(self, **more: Any) -> bool:
        """Tell whether it is a folder."""
        return not self.is_web and self._type() == "directory"

    def is_file(self, **more: Any) -> bool:
        """Tell whether it is a file."""
        return self._type() == "file"

    def _type(self) -> str | None:
        try:
            return str(self.details()["type"])
        except FileNotFoundError:
            return None

    def iterdir(self) -> Generator[RemotePath, None, None]:
        """Yield what is in a folder."""
        with reaching(self._url):
            system, path = self.system()
            system.invalidate_cache(path)
            found = system.ls(path, detail=False)
        yield from map(self._like, found)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder, and those it is in, where its server has any."""
        if self.is_web:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), self._url)
        with reaching(self._url, "written"):
            system, path = self.system()
            if not self._at_once:
                system.makedirs(path, exist_ok=True)

    def put(self, source: str) -> None:
        """Copy a file of this machine there, where it has its name when it is whole."""
        with reaching(self._url, "written"):
            system, path = self.system()
            if self._at_once:
                system.put_file(source, path)
                return
            folder, _, name = path.rpartition("/")
            hidden = f"{folder}/.{name}.{os.urandom(8).hex()}"
            system.put_file(source, hidden)
            system.mv(hidden, path)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        with (
            contextlib.suppress(*([FileNotFoundError] if missing_ok else [])),
            reaching(self._url, "removed"),
        ):
            system, path = self.system()
            system.rm_file(path)

    def rmdir(self) -> None:
        """Remove an empty folder, where its server has any."""
        with reaching(self._url, "removed"):
            system, path = self.system()
            if not self._at_once:
                system.rmdir(path)

    def matches(self) -> list[Path]:
        """Return the files whose addresses match it as a pattern."""
        with reaching(self._url):
            system, path = self.system()
            system.invalidate_cache()
            return [self._like(found) for found in system.glob(path)]

    def _like(self, found: str) -> RemotePath:
        protocol = self._url.partition("://")[0]
        return RemotePath(found if "://" in found else f"{protocol}://{found.lstrip('/')}")


def as_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file on this machine, or of the remote one whose address is given."""
    if isinstance(name, Path):
        return name
    text = os.fspath(name)
    return RemotePath(text) if "://" in text else Path(text)


def is_there(path: Path) -> bool:
    """Tell whether there is a file, or a link, of that name."""
    return path.exists() if isinstance(path, RemotePath) else os.path.lexists(path)


@contextlib.contextmanager
def reaching(url: str, what: str = "read") -> Iterator[None]:
    """Raise what goes wrong on the way to a file that is to be read as errors of the system that name it."""
    try:
        yield
    except ImportError as error:
        protocol = url.partition("://")[0]
        extra = EXTRAS.get(protocol) or ("remote" if error.name == "fsspec" else "")
        needed = f"{protocol}:// needs `pip install 'xmleval[{extra}]'`" if extra else _line(error)
        raise OSError(errno.EPROTONOSUPPORT, needed, url) from None
    except Exception as error:
        found: BaseException = error
        if isinstance(error, FileNotFoundError) and type(error.__cause__).__module__.startswith("aiohttp"):
            found = error.__cause__ or error  # whatever it is, fsspec says that there is no file
        status = getattr(found, "status", getattr(getattr(found, "response", None), "status_code", None))
        if isinstance(found, FileNotFoundError) or status in GONE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
        if isinstance(found, PermissionError) or status in REFUSED:
            told = f"{os.strerror(errno.EACCES)} ({_line(found)})"
            raise PermissionError(errno.EACCES, told, url) from None
        raise OSError(errno.EIO, f"cannot be {what}: {_line(found)}", url) from None


def _line(error: BaseException) -> str:
    """Return an error of a library in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
