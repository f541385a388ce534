"""Imports follow one graph without cycles; files stay small; each library and effect has its rooms."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "xmleval"
ROOT = PACKAGE.parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = ("xmleval", "tests", "benchmarks", "scripts")

# A part is a module or a folder of the package; a folder that is split here does not include the parts
# named for themselves. Each may import itself, what stands beside it, and nothing else of the package.
GRAPH = {
    "version": "",
    "records": "",
    "message": "",
    "notes": "message",
    "numerals": "",
    "conventions": "message numerals",
    "cached": "",
    "kernels": "records",
    "discounts": "records kernels",
    "files": "records message budget threads",
    "exact": "records kernels",
    "rounding": "records",
    # arrays, checked
    "input.errors": "records message",
    "input.columns": "",
    "input.missing": "",
    "budget": "message input.errors",
    "threads": "budget",
    "input.tensors": "input.errors",
    "input.csr": "records message kernels input.errors input.tensors",
    "input.pairs": "input.errors input.csr",
    "input.glances": "records input.errors",
    "input.written": "",
    "input.ties": "records cached kernels",
    "input.ranked": "records kernels input.ties",
    "input.scores": (
        "records message kernels input.errors input.tensors input.csr input.pairs input.glances input.ties"
        " input.ranked"
    ),
    "input.judgements": "records message input.errors input.csr",
    "input.sets": "records message input.errors input.tensors input.csr input.judgements input.glances",
    "input.weights": "records input.errors input.csr",
    "input.clusters": "records message kernels input.errors input.tensors",
    "input.objects": (
        "records message notes input.errors input.columns input.missing input.tensors input.csr input.written"
        " input.ties input.glances"
    ),
    "datasets": "message input.errors",
    "propensity": "records message datasets kernels input.errors input.csr input.objects input.sets",
    "groups": "records message propensity input.errors input.csr input.objects input.sets",
    "hierarchy": "records message budget kernels input.errors input.csr input.tensors",
    "effectiveness": "records input.errors input.csr",
    # files
    "input": (
        "records message numerals kernels budget files threads input.errors input.csr input.pairs"
        " input.columns input.scores input.sets input.written input.ties input.missing input.glances"
    ),
    # measures
    "view": "records message numerals conventions cached discounts kernels input.errors",
    "metrics": "records conventions discounts exact view",
    "spellings": "message metrics",
    "spec": "numerals conventions input.errors metrics spellings",
    "plan": "records message conventions cached view metrics spec",
    "results": "records",
    "jackknife": "records",
    # what is counted
    "pooled": "records message kernels threads",
    "states": (
        "records message cached kernels exact budget threads input.errors input.weights view discounts"
        " metrics spec plan results pooled"
    ),
    # evaluation
    "thresholds.linear": "records kernels input.errors input.csr",
    "thresholds.rule": (
        "records message numerals kernels budget files input.errors input.csr input.objects input.scores view"
        " thresholds.linear"
    ),
    "engine": (
        "records message notes conventions datasets files input.errors budget threads input.tensors input.csr"
        " input.ties input.pairs input.scores input.judgements input.sets input.objects input.weights"
        " input.clusters input.ranked input.glances"
        " propensity groups view"
        " spec plan states thresholds.rule"
        " hierarchy"
    ),
    "thresholds": (
        "records message conventions kernels budget threads input.errors input.csr input.objects input.scores"
        " input.sets view spec metrics plan pooled states engine thresholds.linear thresholds.rule"
    ),
    "fusion": "records message kernels input.errors input.csr input.scores",
    "calibrate": (
        "records message conventions budget threads files kernels input.errors input.csr input.pairs"
        " input.tensors input.objects input.sets input.weights spec plan pooled states engine"
    ),
    "integrations.library": "",
    "report.tables": "message numerals",
    "figures": "records message jackknife spec input.errors integrations.library report.tables",
    "page": "version message figures integrations.library report.tables",
    "comparing.paired": "records kernels exact rounding",
    "comparing.differences": "records message input.errors spec results jackknife rounding comparing.paired",
    "report.saved_results": "version conventions files spec",
    "report.saved_rows": "records numerals rounding files report.saved_results report.tables",
    "report.gates": "message input.errors rounding spellings spec report.saved_results report.saved_rows",
    "report.checks": "message spellings report.saved_results report.saved_rows report.gates",
    "report": (
        "version records message conventions cached input.errors spellings spec results jackknife rounding"
        " comparing.paired comparing.differences integrations.library report.tables figures page"
    ),
    "comparing": (
        "records message input.errors input.objects version spec spellings rounding report"
        " report.saved_results"
        " report.tables figures page integrations.library"
    ),
    "evaluator": (
        "message notes budget files input.errors input.objects spec thresholds.rule engine report states"
    ),
    "statistics": "records kernels input.errors input.csr input.sets propensity evaluator",
    "io": "input",
    "propensity_fit": "records message input.errors input.csr input.sets propensity",
    "api": (
        "records message conventions files input.errors input.csr input.sets input.tensors input.objects"
        " propensity groups spec budget engine thresholds thresholds.rule comparing.differences report input"
        " input.pairs input.clusters input.weights threads fusion discounts states figures"
        " report.saved_results report.saved_rows report.gates report.checks evaluator"
        " hierarchy"
    ),
    "demo": "records files propensity report api",
    "cluster": (
        "version records message discounts budget threads files input input.errors engine"
        " report spec evaluator states"
    ),
    "integrations": (
        "records message budget files input.errors input.csr input.scores input.sets input.weights input spec"
        " engine evaluator report api cluster integrations.library input.objects"
    ),
    "dask": "integrations",
    "ray": "integrations",
    # what people call
    "cli": (
        "version calibrate records message notes numerals conventions files input.errors budget threads"
        " input.csr input.scores input.sets datasets propensity groups kernels input view metrics spec"
        " thresholds.linear thresholds.rule engine thresholds report report.saved_results report.saved_rows"
        " report.gates report.checks comparing comparing.differences evaluator statistics demo report.tables"
        " figures integrations.library cluster integrations fusion hierarchy"
        " input.objects"
    ),
    "": (
        "version calibrate conventions input.objects propensity propensity_fit groups effectiveness"
        " thresholds report comparing evaluator statistics io api"
    ),
    "__main__": "cli",
}
EDGES = {part: set(allowed.split()) for part, allowed in GRAPH.items()}
MOST_LINES = 420
HOSTS = {
    "accelerate", "dask", "distributed", "lightning", "mlflow", "pandas", "polars", "ray", "sklearn", "torch",
    "torchmetrics", "transformers", "wandb",
}  # fmt: skip
READING = {"read_text", "read_bytes", "load_npz", "fromfile", "memmap", "memory_map"}  # by name


def name_of(path: Path) -> str:
    """Name a module within the package."""
    words = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def part_of(module: str) -> str:
    """Find the part that a module belongs to."""
    while module and module not in EDGES:
        module = module.rpartition(".")[0]
    return module


def imports(path: Path) -> Iterator[str]:
    """Yield each name that a file imports, wherever in it; under ``if TYPE_CHECKING``, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def parts_imported(path: Path) -> set[str]:
    """Name the other parts of the package that a file imports."""
    inside = [name.split(".", 1)[1:] for name in imports(path) if name.split(".")[0] in ("xmleval", "")]
    return {part_of("".join(name)) for name in inside} - {part_of(name_of(path))}


def calls(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield what each call calls, and which of its arguments are set to true."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            true = {str(k.arg) for k in node.keywords if ast.unparse(k.value) == "True"}
            yield ast.unparse(node.func), true


def test_the_graph_has_no_cycle() -> None:
    assert set().union(*EDGES.values()) <= set(EDGES) - {""}  # no module imports the package itself
    assert set(TopologicalSorter(EDGES).static_order()) == set(EDGES)


def test_imports_follow_the_graph() -> None:
    extra = {name_of(path): parts_imported(path) - EDGES[part_of(name_of(path))] for path in SOURCES}
    assert {module: parts for module, parts in extra.items() if parts} == {}


def test_the_graph_names_every_part_and_no_edge_too_many() -> None:
    used: dict[str, set[str]] = {}
    for path in SOURCES:
        used.setdefault(part_of(name_of(path)), set()).update(parts_imported(path))
    assert [path for path in SOURCES if not part_of(name_of(path))] == [PACKAGE / "__init__.py"]
    assert {part: allowed - used[part] for part, allowed in EDGES.items() if allowed - used[part]} == {}


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


def test_files_stay_small() -> None:
    files = [path for name in FOLDERS for path in (ROOT / name).rglob("*.py")]
    examples = re.compile(
        r"\n +Examples\n +-{8}\n.*?(?=\"\"\")", re.DOTALL
    )  # which are no code to keep in mind
    lines = {path: examples.sub("", path.read_text()).count("\n") for path in files}
    assert [path for path, n in lines.items() if n > MOST_LINES] == []


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
