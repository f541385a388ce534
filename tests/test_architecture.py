"""Imports go from upper rooms to lower ones; libraries and effects are restricted to rooms."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
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
__main__ > cli dask ray testing > demo integrations > api > calibrate thresholds cluster
> evaluation > results > states > metrics labels pooled > view statistics io effectiveness
> input numerics > files kernels show > base version
"""
ROOMS = {room: number for number, floor in enumerate(FLOORS.split(">")) for room in floor.split()}
HOSTS = {
    "accelerate",
    "dask",
    "distributed",
    "lightning",
    "mlflow",
    "pandas",
    "polars",
    "ray",
    "sklearn",
    "torch",
    "torchmetrics",
    "transformers",
    "wandb",
}
READING = {"read_text", "read_bytes", "load_npz", "fromfile", "memmap", "memory_map"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0].replace("__init__", "")


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a file imports anywhere, under ``if TYPE_CHECKING``, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def writes(call: str) -> bool:
    """Whether a call opens a file to be written."""
    name, _, arguments = call.partition("(")
    if name.rpartition(".")[2] in ("mkstemp", "NamedTemporaryFile", "TemporaryFile", "tofile"):
        return True
    if name.endswith((".write_text", ".write_bytes")):
        return True
    if name == "os.open":
        return any(flag in arguments for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
    return name == "open" and any(f"'{mode}" in arguments for mode in ("w", "a", "x", "r+"))


class Source:
    """A file of the package: its room, imports and calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.room = room_of(path)
        tree = ast.parse(path.read_text())
        self.imported = {*imports(tree)}
        self.libraries = {name.split(".")[0] for name in self.imported}
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        keywords = [keyword for call in calls for keyword in call.keywords]
        self.calls = {ast.unparse(call) for call in calls}
        self.called = {ast.unparse(call.func) for call in calls}
        self.switched_on = {k.arg for k in keywords if ast.unparse(k.value) == "True"}

    def rooms(self) -> set[str]:
        """Return the rooms that the file imports."""
        return {name.split(".")[1] for name in self.imported if name.startswith("xmleval.")}

    def wrong_libraries(self) -> set[str]:
        """Return the libraries that belong to other rooms or files."""
        wrong = self.libraries & {"pickle", "marshal", "shelve"}
        if self.room != "integrations" and not self.path.match("cluster/dask.py"):
            wrong |= self.libraries & HOSTS
        if not self.path.match("show/drawing.py"):
            wrong |= self.libraries & {"matplotlib"}
        if not self.path.match("kernels/compiling.py"):
            wrong |= self.libraries & {"numba"}
        if self.room in ("kernels", "metrics"):
            wrong |= self.libraries & {"scipy"}
        if self.room != "cli":
            wrong |= self.libraries & {"click", "typer"}
            if not self.path.match("evaluation/progress.py"):
                wrong |= self.libraries & {"rich"}
        return wrong

    def wrong_calls(self) -> set[str | None]:
        """Return functions and options that nobody may use, or only other rooms or files."""
        wrong: set[str | None] = set()
        wrong |= {"eval", "exec", "numba.prange", "prange"} & (self.called | self.imported)
        wrong |= self.switched_on & {"parallel", "fastmath", "allow_pickle"}
        if self.room != "cli":
            wrong |= self.called & {"print"}
        # address_space reads files of the system
        if self.room not in ("files", "cli") and not self.path.match("base/address_space.py"):
            wrong |= self.called & {"open", "os.open"}
        # kept reads the sources of kernels
        # testing cuts files that it wrote
        of_tests = self.path.match("testing/formats.py")
        if self.room != "files" and not (of_tests or self.path.match("kernels/kept.py")):
            wrong |= {name.rpartition(".")[2] for name in self.called} & READING
        return wrong


def test_imports_go_down_and_effects_have_their_rooms() -> None:
    edges = set()
    writers = set()
    for path in SOURCES:
        assert path.name != "utils.py"
        source = Source(path)
        assert source.wrong_libraries() == set(), path
        assert source.wrong_calls() == set(), path
        edges |= {(source.room, room) for room in source.rooms()}
        if any(map(writes, source.calls)):
            writers.add(str(path.relative_to(PACKAGE)))
    for room, imported in edges:
        # the package itself imports from all rooms
        if room and room != imported:
            assert ROOMS[room] < ROOMS[imported], f"{room} imports {imported}"
    writers.remove("testing/formats.py")  # which writes files to be cut
    assert writers == {"files/output.py", "files/spill.py", "cli/messages.py", "cli/output.py"}


def test_imports_of_files_form_no_circle() -> None:
    modules = {}
    for path in SOURCES:
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        modules[name] = path
    graph = {}
    for name, path in modules.items():
        if path.name != "__init__.py":
            graph[name] = imported_modules(path, modules.keys())
    edges = {name: imported & graph.keys() for name, imported in graph.items()}
    TopologicalSorter(edges).prepare()  # raises CycleError


def imported_modules(path: Path, modules: Collection[str]) -> set[str]:
    """Return the modules that a file imports, or imports names from."""
    names = set()
    for name in imports(ast.parse(path.read_text())):
        names.add(name if name in modules else name.rpartition(".")[0])
    return names


def test_kernels_import_only_types_from_other_rooms() -> None:
    """The contents of their folder identify a compiled kernel."""
    for path in (PACKAGE / "kernels").glob("*.py"):
        if path.name in ("__init__.py", "jit.py", "compiling.py"):
            continue
        for name in imports(ast.parse(path.read_text())):
            if name.startswith("xmleval.") and not name.startswith("xmleval.kernels."):
                module, _, member = name.rpartition(".")
                value = getattr(import_module(module), member)
                assert isinstance(value, GenericAlias), f"{path}: {name}"


SCRIPTS = {
    "importing compiles nothing": (
        """
import importlib, pkgutil, sys, xmleval.api.measures, xmleval.kernels
bad = {"click", "rich", "matplotlib", "pyarrow", "sklearn", "pandas", "torch"} & set(sys.modules)
rooms = pkgutil.iter_modules(xmleval.kernels.__path__, "xmleval.kernels.")
print(sorted(bad), [n for m in [importlib.import_module(room.name) for room in rooms]
                    for n, f in vars(m).items() if hasattr(f, "signatures") and f.signatures])
""",
        "[] []",
    ),
    "values survive a fork": (
        """
import os, numpy as np, xmleval
truth, scores = np.eye(300, dtype=int), np.random.default_rng(0).random((300, 300))
running = xmleval.Running(block_rows=10)
json = xmleval.evaluate(truth, scores, threads=2, running=running).to_json()
child = os.fork()
if child == 0:
    os._exit(xmleval.evaluate(truth, scores, threads=2, running=running).to_json() != json)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        "0",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_fresh_interpreter(name: str) -> None:
    script, expected = SCRIPTS[name]
    done = process(script, python="-c")
    assert done.stdout.strip() == expected, done.stderr
