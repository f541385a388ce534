"""The house keeps its floors: imports only downwards, small files, one place for each thing."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "xmleval"
ROOT = PACKAGE.parent
FLOORS = {
    "version": 0, "records": 0, "conventions": 0, "cached": 0, "message": 0, "kernels": 1, "files": 2,
    "input": 3, "budget": 3,
    "exact": 4, "threads": 4, "propensity": 4, "view": 5, "pooled": 6, "states": 7, "metrics": 8, "spec": 9,
    "engine": 10, "effectiveness": 10, "thresholds": 10, "report": 10, "evaluator": 10, "io": 10, "api": 11,
    "statistics": 11, "demo": 11, "cli": 12, "__init__": 13, "__main__": 13,
}  # fmt: skip
SOURCES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return each imported module, and whether it is imported at the top of the file."""
    tree = ast.parse(path.read_text())
    found = []
    for node in ast.walk(tree):
        top = node in tree.body
        if isinstance(node, ast.Import):
            found += [(alias.name, top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name, top) for name in (inner if node.module == "xmleval" else [node.module])]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_downwards(path: Path) -> None:
    for module, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "xmleval" and len(parts) > 1 and parts[1] in FLOORS and room(path) != "__init__":
            assert FLOORS[parts[1]] <= FLOORS[room(path)], module
        if parts[0] == "numba":
            assert room(path) == "kernels"
        if parts[0] == "scipy":
            assert room(path) not in ("kernels", "metrics")
        if parts[0] in ("click", "rich", "typer"):
            assert room(path) == "cli"
        assert parts[0] not in ("pickle", "sklearn", "pandas", "torch")


def test_files_stay_small() -> None:
    files = [
        path
        for folder in ("xmleval", "tests", "benchmarks", "scripts")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert [path for path in files if path.read_text().count("\n") > 400] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_finalisers_see_no_kernels(path: Path) -> None:
    text = path.read_text()
    assert path.name != "utils.py"
    for forbidden in ("prange", "parallel=True", "fastmath", "allow_pickle=True", "eval(", "exec("):
        assert forbidden not in text
    if room(path) in ("metrics", "spec", "results", "report"):
        assert not [m for m, _ in imports(path) if m.startswith("xmleval.kernels")]
    if FLOORS[room(path)] < 8:
        assert "print(" not in text.replace(">>> print(", "")
    if FLOORS[room(path)] < 6:
        assert "open(" not in text


def test_every_room_has_a_floor() -> None:
    assert {room(path) for path in SOURCES} == set(FLOORS)


def test_top_level_holds_nothing_else() -> None:
    allowed = {"pyproject.toml", "README.md", "LICENSE", "xmleval", "tests", "benchmarks", "scripts"}
    names = {path.name for path in ROOT.iterdir()}
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        names = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith(".")} <= allowed


def test_import_compiles_nothing_and_loads_no_command_line() -> None:
    code = """
import importlib, pkgutil, sys, xmleval
from numba.core import event
bad = {"click", "rich", "matplotlib", "pyarrow", "sklearn", "pandas"} & set(sys.modules)
rooms = pkgutil.iter_modules(xmleval.kernels.__path__, "xmleval.kernels.")
compiled = [n for m in [importlib.import_module(room.name) for room in rooms]
            for n, f in vars(m).items() if hasattr(f, "signatures") and f.signatures]
print(sorted(bad), compiled)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


def test_kernels_run_where_no_cache_can_be_written() -> None:
    code = """
import numba.core.caching as caching
def refuse(self):
    raise OSError("read-only")
caching._CacheLocator.ensure_cache_path = refuse
import numpy as np, xmleval
print(xmleval.precision_at_k(np.array([[1, 0, 1]]), np.array([[0.9, 0.5, 0.2]]), k=1))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"


def test_values_survive_a_fork() -> None:
    code = """
import os, numpy as np, xmleval
truth, scores = np.eye(300, dtype=int), np.random.default_rng(0).random((300, 300))
once = xmleval.evaluate(truth, scores, threads=2, block_rows=10).to_json()
child = os.fork()
if child == 0:
    os._exit(xmleval.evaluate(truth, scores, threads=2, block_rows=10).to_json() != once)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
