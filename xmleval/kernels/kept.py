"""Whether a compiled kernel is cached on disk, found without loading Numba."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

OF_USERS = ("~/.cache/numba", "~/Library/Caches/numba", "~/AppData/Local/numba/Cache")


def index_name(function: Callable[..., Any]) -> str:
    """Return the name, without ending, of the index file of a compiled kernel."""
    code = function.__code__
    module = function.__module__.rpartition(".")[2]
    return f"{module}.{code.co_qualname}-{code.co_firstlineno}.{sys.implementation.cache_tag}"


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether a kernel was compiled from these sources by this Numba, for any types."""
    name = f"{index_name(function)}.nbi"
    try:
        return any(
            _is_current(folder / name)
            for folder in cache_folders(os.environ.get("NUMBA_CACHE_DIR"))
        )
    except OSError as error:
        if error.errno is None:  # raised by a signal handler, such as TimeoutError
            raise
        return False  # of another user, or just removed


def _is_current(index: Path) -> bool:
    """Whether an index was written by this Numba with the hash of the sources."""
    if not index.is_file():
        return False
    content = index.read_bytes()
    return hash_of_sources() in content and numba_version() in content


@cache
def cache_folders(named: str | None) -> list[Path]:
    """Return folders where Numba may have cached kernels; named : one for all caches, if any."""
    if named:
        return [*Path(named).glob("kernels_*")]
    given = os.environ.get("XDG_CACHE_HOME")
    of_users = [os.path.join(given, "numba")] if given else map(os.path.expanduser, OF_USERS)
    in_numba = [kept for folder in of_users for kept in Path(folder).glob("kernels_*")]
    return [Path(__file__).parent / "__pycache__", *in_numba]


@cache
def numba_version() -> bytes:
    """Return the version of Numba that is installed, b"" if it does not say."""
    try:
        return importlib.metadata.version("numba").encode()
    except importlib.metadata.PackageNotFoundError:
        return b""


@cache
def hash_of_sources() -> bytes:
    """Return the hash of all files of kernels, which are compiled into each other."""
    digest = sha256()
    sources = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".py")]
    for source in sorted(sources, key=lambda file: file.name):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.digest()
