"""Outputs: files that appear under their name only when complete, and locked folders."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from xmleval.files.remote import RemotePath

LOCK = "checkpoint.lock"
KNOWN_ENDINGS = {  # of files whose names show their contents
    ".txt",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".ndjson",
    ".md",
    ".markdown",
    ".tex",
    ".latex",
    ".html",
    ".htm",
    ".xml",
    ".yaml",
    ".yml",
    ".toml",
    ".xlsx",
    ".svg",
    ".png",
    ".pdf",
    ".gif",
    ".jpg",
    ".jpeg",
    ".npz",
    ".npy",
    ".mat",
    ".parquet",
    ".arrow",
    ".feather",
    ".run",
    ".qrels",
    ".lines",
    ".svm",
    ".svmlight",
    ".libsvm",
    ".arff",
    ".state",
    ".pkl",
    ".pickle",
    ".gz",
    ".bz2",
    ".xz",
    ".zst",
    ".zip",
}
# endings of states and rules, which are archives of arrays
ARCHIVE = (
    "",
    ".state",
    ".npz",
    ".zip",
)
HTML_ENDINGS = ("", ".html", ".htm")
PREFIX = 50  # characters of a name that its hidden name begins with, which must not be too long


class _Output(io.BufferedWriter):
    """A file without a number.

    NumPy would write past the buffer to the number, and raise errors without a reason.
    """

    def fileno(self) -> int:
        """Refuse."""
        raise io.UnsupportedOperation("fileno")


def refuse_unwritable(path: Path) -> None:
    """Refuse a local file that cannot be written, before anything is computed."""
    if isinstance(path, RemotePath):
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "exists and is not a regular file", str(path))
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(path))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def refuse_ending(path: Path, noun: str, endings: Sequence[str], others: bool = True) -> None:
    """Refuse a name whose ending shows other contents than the file would have.

    ``endings`` are the endings of such a file, "" for names without one; ``others`` also allows
    endings that show nothing.
    """
    suffix = path.suffix.lower()
    if suffix not in endings and not (others and suffix not in KNOWN_ENDINGS):
        raise ValueError(f"{path}: {noun} is written as {', '.join(filter(None, endings))}")


def refuse_input(file: Path, outputs: Iterable[Path]) -> None:
    """Refuse outputs that would replace an input."""
    for path in outputs:
        local = not isinstance(file, RemotePath) and not isinstance(path, RemotePath)
        if local and file.exists() and path.exists() and path.samefile(file):
            raise ValueError(f"{path}: is an input; expected another file for the output")


def refuse_link(path: Path) -> None:
    """Refuse a link in place of a file of a run; another user may have put it there."""
    if not isinstance(path, RemotePath) and path.is_symlink():
        reason = "is a symbolic link, which is not followed here; remove it"
        raise FileExistsError(errno.EEXIST, reason, str(path))


@contextlib.contextmanager
def naming_output(path: Path, hidden: str = "", hint: str = "") -> Iterator[None]:
    """Name an output in system errors that name no file or its hidden file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # raised by a signal handler
            raise
        if error.filename not in (None, hidden):  # about an input
            raise
        raise OSError(error.errno, f"{error.strerror}{hint}", str(path)) from None


@contextlib.contextmanager
def replacing(path: Path, follow_links: bool = True) -> Iterator[IO[bytes]]:
    """Yield a file under a hidden name, which on success takes the place of ``path``.

    If ``path`` is a link, its target is replaced, or it is refused if links are not followed.
    """
    if isinstance(path, RemotePath):
        with naming_output(path), tempfile.NamedTemporaryFile(prefix="xmleval-") as file:
            yield file
            file.flush()
            path.put(file.name)
        return
    if not follow_links:
        refuse_link(path)
    refuse_unwritable(path)
    target = os.path.realpath(path) if follow_links else os.path.abspath(path)
    folder, name = os.path.split(target)
    hidden = os.path.join(folder, f".{name[:PREFIX]}.{os.urandom(8).hex()}")
    try:
        with naming_output(path, hidden):
            number = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            with _Output(io.FileIO(number, "wb")) as output:
                _copy_mode(target, number)
                yield output
                output.flush()
                os.fsync(number)
            try:
                os.replace(hidden, target)
                return
            except OSError as error:
                # EBUSY: the target is a mounted file, which is overwritten below
                if error.errno != errno.EBUSY or not follow_links:
                    raise
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(hidden)
        raise
    with naming_output(path, target, f"; the output is whole in {hidden}"):
        shutil.copyfile(hidden, target)
    os.unlink(hidden)


def _copy_mode(target: str, number: int) -> None:
    """Give an open file the permissions of the file that it will replace, if possible."""
    with contextlib.suppress(OSError):  # the target does not exist, or is another user's
        status = os.lstat(target)
        if stat.S_ISREG(status.st_mode):
            os.fchmod(number, status.st_mode & 0o777)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder that no other process may lock; at the end, remove it if it is empty."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file; expected a folder")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    with os.fdopen(number) as file:
        if os.fstat(file.fileno()).st_size:
            raise ValueError(f"{path}: not a lock of this version; expected a folder without it")
        in_use = False
        try:
            # the lock is released when the process ends in any way
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            in_use = not os.path.samestat(os.fstat(file.fileno()), os.stat(path))
        except (BlockingIOError, FileNotFoundError):  # not found: its process ends at this moment
            in_use = True
        except OSError as error:
            message = f"{folder}: cannot be locked ({error.strerror}); no other process may use it"
            warnings.warn(message, stacklevel=2)
        if in_use:
            raise ValueError(f"{folder}: in use by another process; expected another folder")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                folder.rmdir()
