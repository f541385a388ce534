"""Outputs: files that appear under their name when they are whole, and leave nothing when they are not."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from xmleval.files.ranges import patiently
from xmleval.files.remote import RemotePath

PREFIX = 50  # characters of a name that a hidden name begins with; all of them may be too many


class _Output(io.FileIO):
    """A file whose write errors tell the path that it will have, and its size so far.

    It has no ``fileno``: NumPy would write past this class, and raise errors without a reason.
    """

    def __init__(self, number: int, path: Path) -> None:
        super().__init__(number, "wb")
        self._path = path

    def fileno(self) -> int:
        """Refuse."""
        raise io.UnsupportedOperation("fileno")

    def write(self, data: Any, /) -> int:
        """Write some bytes."""
        with naming_output(self._path, self):
            return super().write(data)


@contextlib.contextmanager
def naming_output(path: Path, file: _Output | None = None) -> Iterator[None]:
    """Raise errors of the system as errors that name an output, and the size of its file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # raised by a signal handler, such as TimeoutError
            raise
        size = "" if file is None else f", after {file.tell()} bytes"
        raise OSError(error.errno, f"{error.strerror}{size}", str(path)) from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the place of ``path``, or of what it links to, on success.

    Until then it has no name, so that nothing is left of it however the process ends; what is replaced needs
    a hidden name for the last instant. Where the file system has no unnamed files, it has a hidden name all
    along, and is deleted on failure. What takes the place of a remote file is one of this machine until it is
    copied.
    """
    if isinstance(path, RemotePath):
        with _sending(path) as file:
            yield file
        return
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} exists and is not a regular file")
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    hidden = os.path.join(folder, f".{name[:PREFIX]}.{os.urandom(8).hex()}")
    try:
        with naming_output(path):
            unnamed = _open_unnamed(folder)
            number = _create(hidden) if unnamed is None else unnamed
            with contextlib.suppress(OSError):  # of what is not there, or another user's
                os.fchmod(number, os.stat(target).st_mode & 0o777)
        with io.BufferedWriter(_Output(number, path)) as file:
            yield file
            file.flush()
            with naming_output(path):
                os.fsync(number)
                linked = unnamed is not None and _link(number, target, hidden)
        with naming_output(path):
            if not linked:
                _rename(hidden, target)
    except _InPlaceError as error:
        raise OSError(*error.args, str(path)) from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(hidden)
        raise


@contextlib.contextmanager
def _sending(path: RemotePath) -> Iterator[IO[bytes]]:
    """Yield a temporary file that is copied to a remote one on success."""
    folder = tempfile.gettempdir()
    hidden = os.path.join(folder, f"xmleval-{os.urandom(8).hex()}")
    unnamed = _open_unnamed(folder)
    number = _create(hidden) if unnamed is None else unnamed
    try:
        with io.BufferedWriter(_Output(number, Path(folder))) as file:
            yield file
            file.flush()
            source = hidden if unnamed is None else f"/proc/self/fd/{number}"
            patiently(lambda: path.put(source))
    finally:
        if unnamed is None:
            os.unlink(hidden)


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _open_unnamed(folder: str) -> int | None:
    """Open a file without a name; None where it cannot be had, or could not be given a name later."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        number = os.open(folder, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666)
    except OSError:  # creating a file tells whether this is what is wrong
        return None
    if not os.path.exists(f"/proc/self/fd/{number}"):
        os.close(number)
        return None
    return number


def _link(number: int, target: str, hidden: str) -> bool:
    """Give an open file its name, or a hidden one where that is taken or links are forbidden; tell which."""
    source = f"/proc/self/fd/{number}"
    try:
        os.link(source, target, src_dir_fd=number, follow_symlinks=True)  # without a descriptor it may not
    except FileExistsError:
        try:
            os.link(source, hidden, src_dir_fd=number, follow_symlinks=True)
        except OSError as error:
            _refuse_unless_forbidden(error)
            _copy(source, hidden, os.O_CREAT | os.O_EXCL)
        return False
    except OSError as error:
        _refuse_unless_forbidden(error)
        _copy(source, hidden, os.O_CREAT | os.O_EXCL)
        return False
    return True


def _refuse_unless_forbidden(error: OSError) -> None:
    """Raise an error again, but for what a security policy or a file system without links says."""
    if error.errno not in (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EXDEV):
        raise error


def _rename(hidden: str, target: str) -> None:
    """Let a file take the place of another, or of what it holds where that is mounted by itself."""
    try:
        os.replace(hidden, target)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        try:
            _copy(hidden, target, os.O_TRUNC)
        except OSError as failed:
            raise _InPlaceError(failed.errno, f"{failed.strerror}; the output is whole in {hidden}") from None
        os.unlink(hidden)


class _InPlaceError(Exception):
    """A file that cannot be replaced is half-written, and what should be in it has a hidden name."""


def _copy(source: str, target: str, flags: int) -> None:
    """Copy what a file holds, and who may read it."""
    with open(source, "rb") as held:
        mode = os.fstat(held.fileno()).st_mode & 0o777
        number = os.open(target, os.O_WRONLY | os.O_CLOEXEC | flags, mode)
        with open(number, "wb") as file:
            shutil.copyfileobj(held, file)
            file.flush()
            os.fsync(number)
