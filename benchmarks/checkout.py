"""Run modules of this folder with the package of another checkout."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = """
import importlib, sys
folder, checkout, module = sys.argv[1:4]
del sys.argv[1:4]
sys.path.insert(0, checkout)
import xmleval
sys.path[0] = folder
importlib.import_module(module).main()
"""


def command_with(checkout: Path, module: str, *words: str) -> list[str]:
    """Return the command that runs a module with the package of a checkout."""
    return [sys.executable, "-P", "-c", START, str(ROOT), str(checkout), f"benchmarks.{module}", *words]
