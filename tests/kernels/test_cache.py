"""The cache of kernels is never needed: whatever is wrong with it, kernels are compiled, and that is told."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config
from numba.core import caching

from xmleval.kernels import jit

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")


def doubled(values: Any) -> Any:
    return values * 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the cache, in which one kernel is."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit, "_told", [], raising=False)
    jit.kernel(doubled)(np.arange(3))
    return tmp_path / "cache"


def computed() -> list[str]:
    """Compute twice in what is a new process to the cache, and return the warnings."""
    jit._told.clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for kernel in (jit.kernel(doubled), jit.kernel(doubled)):
            assert kernel(np.arange(3)).tolist() == [0, 2, 4]
    return [str(warning.message) for warning in told]


def test_a_whole_cache_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.FunctionCache, "save_overload", None)
    assert computed() == []


@pytest.mark.parametrize("held", ["empty", "cut", "random", "zeros", "folder"])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damage_stops_nothing(folder: Path, ending: str, held: str) -> None:
    (path,) = folder.rglob(f"*.{ending}")
    whole = path.read_bytes()
    path.unlink()
    if held == "folder":
        path.mkdir()
    else:
        noise = np.random.default_rng(0).bytes(len(whole))
        new = {"empty": b"", "cut": whole[: len(whole) // 2], "random": noise, "zeros": bytes(len(whole))}
        path.write_bytes(new[held])
    told = computed()
    assert len(told) == 1
    assert told[0].startswith(f"{path.parent}: this cache of kernels ")
    assert told[0].endswith("; kernels are compiled again")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EMFILE])
@pytest.mark.parametrize("call", ["open", "ensure"])
def test_what_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_told", [], raising=False)
    if call == "open":
        monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", refuse)
    else:
        monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refuse)
    (told,) = computed()
    assert (os.strerror(number) if call == "open" else "no cache of kernels can be written") in told


def test_signal_handlers_are_heard(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(*arguments: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(caching.IndexDataCacheFile, "_load_index", handler)
    with pytest.raises(TimeoutError):
        jit.kernel(doubled)(np.arange(3))


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
@pytest.mark.parametrize("call", ["load", "save"])
def test_lack_of_memory_is_no_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: Exception
) -> None:
    def fail(*arguments: Any) -> Any:
        raise error

    if call == "save":
        for path in folder.rglob("*.nb[ci]"):
            path.unlink()
    monkeypatch.setattr(caching.IndexDataCacheFile, call, fail)
    with warnings.catch_warnings(action="error"), pytest.raises(MemoryError):
        jit.kernel(doubled)(np.arange(3))


def test_the_command_line_tells_it_in_one_line() -> None:
    code = """
import warnings, sys
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
