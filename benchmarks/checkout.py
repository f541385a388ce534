"""Run modules of this folder with the package of another checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

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


FORMER = {  # what arguments were called in earlier versions
    "inverse_propensity": "propensity",
    "per_row": "keep_rows",
    "per_label": "keep_labels",
}
ASK = """
import contextlib, xmleval
with contextlib.suppress(ValueError):  # not TypeError, of a name that is not known
    xmleval.Evaluator(['p@1'], n_labels=1, {}=None)
"""


def former_names(checkout: Path) -> dict[str, str]:
    """Return what a version calls arguments that have another name now."""
    asked = {
        name: subprocess.run([sys.executable, "-c", ASK.format(name)], cwd=checkout, capture_output=True)
        for name in FORMER
    }
    return {name: FORMER[name] for name, done in asked.items() if done.returncode}


def renamed(arguments: dict[str, Any], former: dict[str, str]) -> dict[str, Any]:
    """Return arguments under their former names."""
    return {former.get(name, name): value for name, value in arguments.items()}
