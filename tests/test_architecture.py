"""Imports go from upper rooms to lower ones; each library and each effect has its rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import GenericAlias

import pytest

from tests.commands import process

PACKAGE = Path(__file__).parents[1] / "xmleval"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# from the top down; a room imports itself and rooms of lower floors
FLOORS = """
__main__ > cli dask ray > demo integrations > api > calibrate thresholds cluster > evaluation
> results > states > metrics labels pooled > view statistics io effectiveness > input numerics
> files kernels show > base version
"""
ROOMS = {room: number for number, floor in enumerate(FLOORS.split(">")) for room in floor.split()}
HOSTS = {
    "accelerate", "dask", "distributed", "lightning", "mlflow", "pandas", "polars", "ray", "sklearn", "torch",
    "torchmetrics", "transformers", "wandb",
}  # fmt: skip
READING = {"read_text", "read_bytes", "load_npz", "fromfile", "memmap", "memory_map"}  # by name


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0].replace("__init__", "")


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield each name that a file imports, wherever in it; under ``if TYPE_CHECKING``, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def writes(call: str) -> bool:
    """Whether a call opens a file to be written."""
    name, _, arguments = call.partition("(")
    return (
        name.rpartition(".")[2] in ("mkstemp", "NamedTemporaryFile", "TemporaryFile", "tofile")
        or name.endswith((".write_text", ".write_bytes"))
        or (name == "os.open" and any(flag in arguments for flag in ("O_WRONLY", "O_RDWR", "O_CREAT")))
        or (name == "open" and any(f"'{mode}" in arguments for mode in ("w", "a", "x", "r+")))
    )


def test_imports_go_down_and_effects_have_their_rooms() -> None:
    edges, writers = set(), set()
    for path in SOURCES:
        room, tree = room_of(path), ast.parse(path.read_text())
        imported = set(imports(tree))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        called = {ast.unparse(call.func) for call in calls}
        true = {k.arg for call in calls for k in call.keywords if ast.unparse(k.value) == "True"}
        libraries = {name.split(".")[0] for name in imported}
        edges |= {(room, name.split(".")[1]) for name in imported if name.startswith("xmleval.")}
        if any(writes(ast.unparse(call)) for call in calls):
            writers.add(str(path.relative_to(PACKAGE)))
        assert path.name != "utils.py"
        assert not libraries & {"pickle", "marshal", "shelve"}, path
        assert room == "integrations" or path.match("cluster/dask.py") or not libraries & HOSTS, path
        assert "matplotlib" not in libraries or path.match("show/drawing.py"), path
        assert "numba" not in libraries or path.match("kernels/compiling.py"), path
        assert "scipy" not in libraries or room not in ("kernels", "metrics"), path
        assert not libraries & {"click", "typer"} or room == "cli", path
        assert "rich" not in libraries or room == "cli" or path.match("evaluation/progress.py"), path
        assert not {"eval", "exec", "numba.prange", "prange"} & (called | imported), path
        assert not {"parallel", "fastmath", "allow_pickle"} & true, path
        assert "print" not in called or room == "cli", path
        if not path.match("base/address_space.py"):  # which reads what the system says
            assert not {"open", "os.open"} & called or room in ("files", "cli"), path
        if room != "files" and not path.match("kernels/kept.py"):  # which reads the sources of kernels
            assert not READING & {name.rpartition(".")[2] for name in called}, path
    inside = {edge for edge in edges if edge[0] and edge[0] != edge[1]}  # the package itself names all
    assert not {edge for edge in inside if ROOMS[edge[0]] >= ROOMS[edge[1]]}
    expected = {f"files/{name}" for name in ("output.py", "spill.py")}
    assert writers == expected | {f"cli/{name}" for name in ("messages.py", "output.py")}


def test_no_files_import_each_other_in_a_circle() -> None:
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in SOURCES}
    graph = {
        name: {
            each if each in names else each.rpartition(".")[0]
            for each in imports(ast.parse(path.read_text()))
        }
        for name, path in names.items()
        if path.name != "__init__.py"
    }
    TopologicalSorter({name: of & graph.keys() for name, of in graph.items()}).prepare()  # refuses circles


def test_kernels_take_no_more_than_types_from_elsewhere() -> None:
    """The contents of their folder say whether a compiled kernel is theirs."""
    folder = PACKAGE / "kernels"
    for path in {*folder.glob("*.py")} - {folder / f"{name}.py" for name in ("__init__", "jit", "compiling")}:
        for name in imports(ast.parse(path.read_text())):
            if name.startswith("xmleval.") and not name.startswith("xmleval.kernels."):
                module, _, member = name.rpartition(".")
                assert isinstance(getattr(import_module(module), member), GenericAlias), f"{path}: {name}"


SCRIPTS = {
    "importing compiles nothing": ("""
import importlib, pkgutil, sys, xmleval.api.measures, xmleval.kernels
bad = {"click", "rich", "matplotlib", "pyarrow", "sklearn", "pandas", "torch"} & set(sys.modules)
rooms = pkgutil.iter_modules(xmleval.kernels.__path__, "xmleval.kernels.")
print(sorted(bad), [n for m in [importlib.import_module(room.name) for room in rooms]
                    for n, f in vars(m).items() if hasattr(f, "signatures") and f.signatures])
""", "[] []"),
    "values survive a fork": ("""
import os, numpy as np, xmleval
truth, scores = np.eye(300, dtype=int), np.random.default_rng(0).random((300, 300))
running = xmleval.Running(block_rows=10)
json = xmleval.evaluate(truth, scores, threads=2, running=running).to_json()
child = os.fork()
if child == 0:
    os._exit(xmleval.evaluate(truth, scores, threads=2, running=running).to_json() != json)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""", "0"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_fresh_interpreter(name: str) -> None:
    script, expected = SCRIPTS[name]
    done = process(script, python="-c")
    assert done.stdout.strip() == expected, done.stderr
