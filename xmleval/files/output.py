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

from xmleval.files.remote import RemotePath

PREFIX = 50  # characters of a name that a hidden name begins with; all of them may be too many


class _Output(io.FileIO):
    """A new file whose write errors name ``path``, and its size so far.

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

    Until then it has a hidden name in the same folder, and is deleted on failure. A remote file is copied
    from a temporary one.
    """
    if isinstance(path, RemotePath):
        with tempfile.TemporaryDirectory(prefix="xmleval-") as folder:
            local = Path(folder, path.name)
            with replacing(local) as file:
                yield file
            path.put(str(local))
        return
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} exists and is not a regular file")
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    hidden = os.path.join(folder, f".{name[:PREFIX]}.{os.urandom(8).hex()}")
    with naming_output(path):
        number = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with contextlib.suppress(OSError):  # of what is not there, or another user's
            os.fchmod(number, os.stat(target).st_mode & 0o777)
        with io.BufferedWriter(_Output(number, path)) as file:
            yield file
            file.flush()
            with naming_output(path):
                os.fsync(number)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(hidden)
        raise
    _move(hidden, target, path)


def _move(hidden: str, target: str, path: Path) -> None:
    """Let a file take the place of another, or its bytes where that is mounted by itself."""
    try:
        os.replace(hidden, target)
        return
    except OSError as error:
        if error.errno != errno.EBUSY:
            os.unlink(hidden)
            raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        shutil.copyfile(hidden, target)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; the output is whole in {hidden}", str(path)) from None
    os.unlink(hidden)
