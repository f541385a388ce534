"""Compiling and caching of kernels: an unusable cache is a warning, and they are compiled."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config
from numba.core import caching

import xmleval
from tests.commands import process
from xmleval.kernels import compiling, jit, kept
from xmleval.kernels.compiling import COMPILED, Cache, Files, compiled


def double(values: Any) -> Any:
    return values * 2


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache, with one kernel in it."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(Cache, "warned", False)
    compiled(double)(np.arange(3))
    return tmp_path / "cache"


def compute() -> list[str]:
    """Compute twice, as in a new process without loaded kernels, and return the warnings."""
    Cache.warned = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in (compiled(double), compiled(double)):
            assert each(np.arange(3)).tolist() == [0, 2, 4]
    return [str(warning.message) for warning in caught]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["empty", "cut", "zeros"])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_kernels_are_compiled_where_their_cache_is_damaged(
    cache: Path, suffix: str, damage: str
) -> None:
    (path,) = cache.rglob(f"*.{suffix}")
    whole = path.read_bytes()
    damaged = {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "zeros": bytes(len(whole)),
    }
    path.write_bytes(damaged[damage])
    (warning,) = compute()
    assert warning.startswith(f"{path.parent}: this cache of kernels ")
    assert warning.endswith("; kernels are compiled again")


@pytest.mark.parametrize(
    ("owner", "call", "message"),
    [
        (caching.IndexDataCacheFile, "_open_for_write", "No space left"),
        (caching._CacheLocator, "ensure_cache_path", "the cache of kernels cannot be written"),
    ],
    ids=["open", "ensure"],
)
def test_kernels_are_compiled_where_no_cache_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, call: str, message: str
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Cache, "warned", False)
    refuse = failing(OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(owner, call, refuse)
    before = COMPILED.n
    (warning,) = compute()
    assert COMPILED.n > before  # messages report this number
    assert message in warning


@pytest.mark.parametrize(
    ("call", "error", "raised"),
    [
        ("_load_index", TimeoutError(), TimeoutError),  # of a signal handler
        ("_save_data", OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError),
    ],
)
def test_compiled_raises_errors_of_signals_and_memory(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    error: BaseException,
    raised: type[BaseException],
) -> None:
    if call == "_save_data":
        for path in cache.rglob("*.nb[ci]"):
            path.unlink()
    monkeypatch.setattr(caching.IndexDataCacheFile, call, failing(error))
    with warnings.catch_warnings(action="error"), pytest.raises(raised):
        compiled(double)(np.arange(3))


def test_kernels_saved_by_two_processes_at_once_are_both_right(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in cache.rglob("*.nb[ci]"):
        path.unlink()
    save = caching.IndexDataCacheFile._save_data
    numbers = np.arange(3)
    fractions = np.arange(3) / 2

    def save_after_the_other(*arguments: Any) -> None:
        with monkeypatch.context() as other:
            other.setattr(caching.IndexDataCacheFile, "_save_data", save)
            other.setattr(caching.IndexDataCacheFile, "_load_index", lambda file: {})  # read before
            compiled(double)(fractions)
        save(*arguments)

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", save_after_the_other)
    compiled(double)(numbers)
    monkeypatch.undo()
    monkeypatch.setattr(config, "CACHE_DIR", str(cache))
    with warnings.catch_warnings(action="error"):
        assert compiled(double)(fractions).tolist() == [0, 1, 2]
        assert compiled(double)(numbers).tolist() == [0, 2, 4]


def test_cache_warns_once_in_one_line_on_the_command_line() -> None:
    code = """
import sys
from xmleval import __main__, cli
def run():
    from xmleval.kernels.compiling import Cache
    Cache.warn("no room")
    Cache.warn("no room either")
    return 3
cli.main = run
sys.exit(__main__.main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "xmleval: no room; kernels are compiled again\n")


@pytest.mark.filterwarnings("ignore:no cache of kernels")
def test_signal_handler_that_raises_leaves_a_kernel_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    doubling: Any = compiled(lambda number: 2 * number)
    compile_it = doubling.compile
    threads = []
    has_compiled = threading.Event()

    def compile_interrupted(signature: object) -> object:
        threads.append(threading.current_thread())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        try:
            return compile_it(signature)
        finally:
            has_compiled.set()

    monkeypatch.setattr(doubling, "compile", compile_interrupted)
    before = signal.signal(signal.SIGALRM, failing(TimeoutError()))
    try:
        with pytest.raises(TimeoutError):
            doubling(2)
    finally:
        signal.signal(signal.SIGALRM, before)
    (thread,) = threads
    assert thread is not threading.main_thread()
    assert has_compiled.wait(60)
    assert doubling(2) == 4
    assert threads == [thread]  # compiled once, in spite of the handler


CALLER = """
from xmleval.kernels.callee import TERM, scale
from xmleval.kernels.jit import kernel

@kernel
def compute(value):
    return scale(value) + TERM
"""
CALLEE = """
from xmleval.kernels.jit import kernel

TERM = 1

@kernel
def scale(value):
    return 2 * value
"""
CALLS = """
from xmleval.kernels.caller import compute, TERM
print(compute.made_compiled()(10))
from xmleval.kernels.compiling import COMPILED
print(COMPILED.n)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("2 * value", "3 * value", "31"),
        ("TERM = 1", "TERM = 5", "25"),
    ],
    ids=["callee", "constant"],
)
def test_kernel_is_compiled_again_where_another_file_changed(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    package = tmp_path / "xmleval"
    shutil.copytree(Path(xmleval.__file__).parent / "base", package / "base")
    folder = package / "kernels"
    folder.mkdir()
    for module in (jit, kept, compiling):
        shutil.copy(str(module.__file__), folder)
    callee = folder / "callee.py"
    for file in (package / "__init__.py", folder / "__init__.py"):
        file.touch()
    (folder / "caller.py").write_text(CALLER)
    callee.write_text(CALLEE)
    environment = {
        "PYTHONPATH": str(tmp_path),
        # Python itself takes a file of the same time and size for the same
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run() -> list[str]:
        done = process(CALLS, python="-c", env=environment, cwd=tmp_path)
        lines = done.stderr.splitlines()
        assert all("compiling kernels, once" in line for line in lines)  # on a slow machine
        return done.stdout.split()

    assert run() == ["21", "2"]
    assert run() == ["21", "0"]
    times = callee.stat()
    callee.write_text(CALLEE.replace(old, new))
    os.utime(callee, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run() == [expected, "2"]


def test_kernel_of_other_sources_is_not_loaded_under_the_same_name(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:  # a process that began before the sources changed
        earlier.setattr(compiling, "hash_of_sources", lambda: b"earlier")
        earlier.setattr(Files, "_save_index", lambda *_: None)  # it is about to
        compiled(double)(np.arange(3))
    before = COMPILED.n
    assert compiled(double)(np.arange(3)).tolist() == [0, 2, 4]
    assert COMPILED.n == before + 1
