"""How kernels are compiled and cached: whatever is wrong, they are compiled, and a warning says so."""

from __future__ import annotations

import _thread
import errno
import os
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

from xmleval.kernels import jit
from xmleval.kernels.jit import kernel

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")


def double(values: Any) -> Any:
    return values * 2


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, in which one kernel is."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit, "_told", [], raising=False)
    kernel(double)(np.arange(3))
    return tmp_path / "cache"


def compute() -> list[str]:
    """Compute twice in what is a new process to the cache, and return the warnings."""
    jit._told.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for compiled in (kernel(double), kernel(double)):
            assert compiled(np.arange(3)).tolist() == [0, 2, 4]
    return [str(warning.message) for warning in caught]


def test_whole_cache_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.FunctionCache, "save_overload", None)
    assert compute() == []


@pytest.mark.parametrize("damage", ["empty", "cut", "random", "zeros", "folder"])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_kernels_are_compiled_where_their_cache_is_damaged(cache: Path, suffix: str, damage: str) -> None:
    (path,) = cache.rglob(f"*.{suffix}")
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        noise = np.random.default_rng(0).bytes(len(whole))
        contents = {
            "empty": b"",
            "cut": whole[: len(whole) // 2],
            "random": noise,
            "zeros": bytes(len(whole)),
        }
        path.write_bytes(contents[damage])
    (warning,) = compute()
    assert warning.startswith(f"{path.parent}: this cache of kernels ")
    assert warning.endswith("; kernels are compiled again")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("call", ["open", "ensure"])
def test_kernels_are_compiled_where_no_cache_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_told", [], raising=False)
    refuse = failing(OSError(number, os.strerror(number)))
    if call == "open":
        monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", refuse)
    else:
        monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refuse)
    (warning,) = compute()
    assert (os.strerror(number) if call == "open" else "no cache of kernels can be written") in warning


@pytest.mark.parametrize(
    ("call", "error", "raised"),
    [
        ("_load_index", TimeoutError(), TimeoutError),  # of a signal handler
        ("load", MemoryError(), MemoryError),
        ("save", OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError),
    ],
)
def test_signals_and_lack_of_memory_are_no_damage(
    cache: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException, raised: type[BaseException]
) -> None:
    for path in cache.rglob("*.nb[ci]") if call == "save" else ():
        path.unlink()
    monkeypatch.setattr(caching.IndexDataCacheFile, call, failing(error))
    with warnings.catch_warnings(action="error"), pytest.raises(raised):
        kernel(double)(np.arange(3))


def test_command_line_warns_in_one_line() -> None:
    code = """
import sys
from xmleval import __main__, cli
def run():
    from xmleval.kernels import jit
    jit._tell("no room")
    jit._tell("no room either")
    return 3
cli.main = run
sys.exit(__main__.main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "xmleval: no room; kernels are compiled again\n")


@pytest.mark.filterwarnings("ignore:no cache of kernels")
def test_signal_handler_that_raises_leaves_a_kernel_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: Any = kernel(lambda number: 2 * number)
    compile_it, threads, has_compiled = compiled.compile, [], threading.Event()

    def compile_interrupted(signature: object) -> object:
        threads.append(threading.current_thread())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        try:
            return compile_it(signature)
        finally:
            has_compiled.set()

    monkeypatch.setattr(compiled, "compile", compile_interrupted)
    before = signal.signal(signal.SIGALRM, failing(TimeoutError()))
    try:
        with pytest.raises(TimeoutError):
            compiled(2)
    finally:
        signal.signal(signal.SIGALRM, before)
    (thread,) = threads
    assert thread is not threading.main_thread()
    assert has_compiled.wait(60)
    assert compiled(2) == 4
    assert threads == [thread]  # compiled once, in spite of the handler


@pytest.mark.filterwarnings("ignore:no cache of kernels")
@pytest.mark.parametrize("begins", [None, False, True], ids=["never", "late", "without memory"])
def test_thread_that_cannot_run_delays_nothing(monkeypatch: pytest.MonkeyPatch, begins: bool | None) -> None:
    """A thread ends before its first line where there is no memory for its frame."""
    late: list[Any] = []
    compiled: Any = kernel(double)
    start_thread = _thread.start_new_thread

    def start(function: Any, args: Any) -> int:
        if begins:
            monkeypatch.setattr(compiled, "compile", failing(MemoryError()))
            return int(start_thread(function, args))
        late.append(function)
        return 0

    monkeypatch.setattr(_thread, "start_new_thread", start)
    monkeypatch.setattr(jit, "START_SECONDS", 0.05)
    if begins:
        with pytest.raises(MemoryError):
            compiled(2)
        return
    assert compiled(2) == 4
    if begins is False:
        late[0]()  # and compiles nothing more
        assert compiled(2) == 4
