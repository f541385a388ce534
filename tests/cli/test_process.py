"""The process of the command line: how it starts, and how it ends when it is told to."""

from __future__ import annotations

import importlib
import signal
import tomllib
from pathlib import Path

import pytest

from tests.commands import process

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import signal, sys
name, number = sys.argv[1], int(sys.argv[2])
sys.argv[1:] = ["evaluate", "nowhere", "nowhere"]
class Telling:
    def find_spec(self, module, path=None, target=None):
        if module == name:
            signal.raise_signal(number)
from xmleval import __main__
sys.meta_path.insert(0, Telling())
sys.exit(__main__.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["click", "xmleval.cli.evaluate", "numpy", "numba", "xmleval.kernels.jit"])
def test_a_signal_during_imports_ends_it_without_a_traceback(name: str, number: int) -> None:
    done = process(SCRIPT, name, str(int(number)), python="-c")
    assert done.returncode in (128 + number, -number)
    assert (done.stdout, done.stderr.strip()) == ("", "")


def test_every_way_to_start_it_is_one() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["xmleval"].partition(":")
    assert list(scripts) == ["xmleval"]
    assert (module, callable(getattr(importlib.import_module(module), name))) == ("xmleval.__main__", True)


def test_nohup_is_respected() -> None:
    code = """
import signal
from xmleval import __main__, cli
signal.signal(signal.SIGHUP, signal.SIG_IGN)
cli.main = lambda: signal.raise_signal(signal.SIGHUP) or 5
raise SystemExit(__main__.main())
"""
    assert process(code, python="-c").returncode == 5


def test_importing_the_library_sets_nothing_of_the_process() -> None:
    code = """
import os, signal, warnings
def held():
    return os.environ.copy(), [signal.getsignal(n) for n in signal.valid_signals()], warnings.showwarning
before = held()
import xmleval.cli.evaluate, xmleval.__main__
assert held() == before
"""
    assert process(code, python="-c").returncode == 0
