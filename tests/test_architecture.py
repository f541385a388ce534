"""Imports go from upper rooms to lower ones; each library and each effect has its rooms."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "xmleval"
ROOT = PACKAGE.parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = ("xmleval", "tests", "benchmarks", "scripts")

# from the top down; a room imports itself and rooms of lower floors
FLOORS = """
__main__
cli
dask ray
demo integrations
cluster
api
statistics io propensity_fit fusion
evaluator
calibrate
thresholds
comparing report
page figures
engine
states
pooled
results jackknife plan
spec
spellings
metrics
view
groups
propensity hierarchy effectiveness
datasets
input
files
threads
budget
discounts exact rounding
kernels
records conventions cached version
notes numerals
message
""".strip().splitlines()
ROOMS = {room: number for number, floor in enumerate(FLOORS) for room in floor.split()}
# imports within a floor or upwards, which become fewer
EXCEPTIONS = {
    ("budget", "input"), ("comparing", "integrations"), ("comparing", "report"),
    ("engine", "thresholds"), ("figures", "integrations"), ("figures", "report"), ("page", "figures"),
    ("page", "integrations"), ("page", "report"), ("report", "comparing"), ("report", "integrations"),
}  # fmt: skip
HOSTS = {
    "accelerate", "dask", "distributed", "lightning", "mlflow", "pandas", "polars", "ray", "sklearn", "torch",
    "torchmetrics", "transformers", "wandb",
}  # fmt: skip
READING = {"read_text", "read_bytes", "load_npz", "fromfile", "memmap", "memory_map"}  # by name


def name_of(path: Path) -> str:
    """Name a module within the package."""
    words = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def imports(path: Path) -> Iterator[str]:
    """Yield each name that a file imports, wherever in it; under ``if TYPE_CHECKING``, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(path: Path) -> set[str]:
    """Name the other rooms of the package that a file imports."""
    rooms = {name.split(".")[1] for name in imports(path) if name.startswith("xmleval.")}
    return rooms - {name_of(path).split(".")[0]}


def calls(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield what each call calls, and which of its arguments are set to true."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            true = {str(k.arg) for k in node.keywords if ast.unparse(k.value) == "True"}
            yield ast.unparse(node.func), true


def test_imports_go_down() -> None:
    edges = {(name_of(path).split(".")[0], room) for path in SOURCES for room in rooms_imported(path)}
    inside = {(room, imported) for room, imported in edges if room}  # the package itself names all
    assert {edge for edge in inside if ROOMS[edge[0]] >= ROOMS[edge[1]]} == EXCEPTIONS


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_each_library_and_each_effect_has_its_rooms(path: Path) -> None:
    room, imported, called = name_of(path).split(".")[0], list(imports(path)), list(calls(path))
    libraries, names = {name.split(".")[0] for name in imported}, {name for name, _ in called}
    assert path.name != "utils.py"
    assert not libraries & {"pickle", "marshal", "shelve"}
    assert room == "integrations" or not libraries & HOSTS
    assert "numba" not in libraries or room == "kernels"
    assert "scipy" not in libraries or room not in ("kernels", "metrics")
    assert not libraries & {"click", "rich", "typer"} or room == "cli"
    assert not {"eval", "exec", "numba.prange", "prange"} & {*names, *imported}
    assert not {"parallel", "fastmath", "allow_pickle"} & set().union(*(true for _, true in called))
    assert "print" not in names or room == "cli"
    assert not {"open", "os.open"} & names or room in ("files", "cli")
    assert not READING & {name.rpartition(".")[2] for name in names} or room == "files"


def test_every_output_goes_through_one_function() -> None:
    """Files are opened to be written where they get no name, or are no outputs: devices, locks and spills."""

    def writes(call: ast.Call) -> bool:
        name, _, arguments = ast.unparse(call).partition("(")
        return (
            name.rpartition(".")[2] in ("mkstemp", "NamedTemporaryFile", "TemporaryFile", "tofile")
            or name.endswith((".write_text", ".write_bytes"))
            or (name == "os.open" and any(flag in arguments for flag in ("O_WRONLY", "O_RDWR", "O_CREAT")))
            or (name == "open" and any(f"'{mode}" in arguments for mode in ("w", "a", "x", "r+")))
        )

    found = {
        str(path.relative_to(PACKAGE))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and writes(node)
    }
    assert found == {
        "files/lock.py", "files/output.py", "cli/output.py", "cli/stdout.py", "cli/lock.py", "pooled/spill.py"
    }  # fmt: skip


def test_top_level_holds_nothing_else() -> None:
    files = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"}
    names = {path.name for path in ROOT.iterdir()}
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        names = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith(".")} <= {*files, *FOLDERS}


def test_import_compiles_nothing_and_loads_no_command_line() -> None:
    code = """
import importlib, pkgutil, sys, xmleval.api.measures, xmleval.kernels
from numba.core import event
bad = {"click", "rich", "matplotlib", "pyarrow", "sklearn", "pandas", "torch"} & set(sys.modules)
rooms = pkgutil.iter_modules(xmleval.kernels.__path__, "xmleval.kernels.")
compiled = [n for m in [importlib.import_module(room.name) for room in rooms]
            for n, f in vars(m).items() if hasattr(f, "signatures") and f.signatures]
print(sorted(bad), compiled)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


@pytest.mark.slow
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
