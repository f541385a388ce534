"""A word on a terminal before kernels are compiled, and `xmleval warmup`."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba import config

from tests.commands import process
from tests.terminal import on_terminal, plain
from xmleval.cli import warmup

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
COMPILES = """
import sys
import numpy as np
from xmleval.cli import main
from xmleval.kernels import jit
def doubled(values): return values * 2
assert main(["--version"]) == 0
jit.kernel(doubled)(np.arange(3))
"""
WORD = "xmleval: compiling kernels, once, about 4 to 14 s"


def test_the_first_word_on_a_terminal_and_only_once(tmp_path: Path) -> None:
    (tmp_path / "compiles.py").write_text(COMPILES)  # a cache needs a file
    for told in (f"{WORD}\n", ""):
        out, shown = on_terminal(
            tmp_path, "compiles.py", variables={"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        )
        assert (out[:8], shown) == ("xmleval ", told)


EVALUATES = """
import numpy as np
import xmleval
print(xmleval.evaluate(np.eye(3), np.eye(3) + 0.1, metrics="p@1")["p@1"])
"""


def test_python_users_are_told_once_why_they_wait(tmp_path: Path) -> None:
    (tmp_path / "evaluates.py").write_text(EVALUATES)
    for told in (f"{WORD}\n", ""):  # a warning of Python's would be an error
        variables = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = process("-W", "error", "evaluates.py", python="-B", cwd=tmp_path, env=variables)
        assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", told)


def test_no_word_in_a_pipe_or_of_one_kernel_in_python(tmp_path: Path) -> None:
    (tmp_path / "compiles.py").write_text(COMPILES)
    (tmp_path / "python.py").write_text(COMPILES.replace("assert main", "# assert main"))
    done = process("-u", "compiles.py", python="-B", cwd=tmp_path, env={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    _, shown = on_terminal(tmp_path, "python.py", variables={"NUMBA_CACHE_DIR": str(tmp_path / "other")})
    assert shown == ""


def test_nothing_is_promised_where_no_cache_can_be_written(tmp_path: Path) -> None:
    refuse = "import numba.core.caching as caching\ndef refuse(self): raise OSError('read-only')\n"
    refuse += "caching._CacheLocator.ensure_cache_path = refuse\n"
    (tmp_path / "compiles.py").write_text(refuse + COMPILES)
    _, shown = on_terminal(tmp_path, "-W", "ignore", "compiles.py")
    assert shown == "xmleval: compiling kernels, about 4 to 14 s\n"


@pytest.mark.slow
def test_warmup_leaves_nothing_to_compile(tmp_path: Path) -> None:
    # the cache of all tests, which holds most kernels already
    for _ in range(2):
        _, shown = on_terminal(tmp_path, "-m", "xmleval", "warmup", piped=False)
        assert "; kept in " in plain(shown)
        if plain(shown).startswith("0 kernels compiled in "):
            break
    else:
        pytest.fail(plain(shown))
    _, shown = on_terminal(tmp_path, "-m", "xmleval", "demo")
    assert shown == ""


def test_warmup_covers_every_group() -> None:
    assert any("--metrics all" in options for options in warmup.OPTIONS)
