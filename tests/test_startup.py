"""Imports of the package and of quick commands, and lists of public names and commands."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import xmleval
from tests.commands import Run, process

HELP = "from xmleval.cli import main\nassert main({}) == 0"
STATES = (
    "from xmleval import *\nevaluate, io\n"
    "import sys\nassert 'xmleval.states.score_runs' not in sys.modules"
)
FIRST = "import numpy as np, xmleval\nxmleval.evaluate(np.eye(30), np.eye(30) / 2, metrics='p@5')"


@pytest.mark.parametrize(
    ("code", "loaded", "not_loaded"),
    [
        ("import xmleval", set(), {"numpy", "numba", "scipy", "click", "rich", "fsspec"}),
        (HELP.format(["--help"]), {"click"}, {"numba", "scipy", "numpy", "rich"}),
        (HELP.format(["metrics", "psp@5"]), {"click"}, {"numba", "scipy"}),
        (HELP.format(["evaluate", "--help"]), {"click"}, {"numba"}),
        (STATES, {"numpy"}, {"numba"}),  # states load on demand
        (FIRST, {"numpy"}, {"numba"}),  # kernels run as plain Python while work is small
    ],
)
def test_startup_imports_no_more_than_needed(
    code: str, loaded: set[str], not_loaded: set[str]
) -> None:
    listing = f"{code}\nimport sys\nprint('\\n' + ' '.join(sys.modules))"
    done = process(listing, python="-c", env={"XMLEVAL_WAY": ""})
    assert done.returncode == 0, done.stderr
    modules = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert loaded <= modules
    assert not not_loaded & modules


def test_public_names_are_listed() -> None:
    assert {*xmleval.__all__} <= {*dir(xmleval)}
    for name in {*xmleval.__all__} - {"__version__"}:
        value = getattr(xmleval, name)
        if isinstance(value, ModuleType):
            assert value.__name__ == f"xmleval.{name}"
        else:
            assert vars(import_module(value.__module__))[name] is value
    with pytest.raises(AttributeError, match="module 'xmleval' has no attribute 'Evaluate'"):
        _ = xmleval.Evaluate  # type: ignore[attr-defined]


def test_commands_are_listed(run: Run) -> None:
    files = Path(xmleval.__file__).with_name("cli").glob("*.py")
    defined = {path.stem for path in files if f"\ndef {path.stem}(" in path.read_text()}
    listing = run("--help").partition("Commands:")[2]
    commands = re.findall(r"^  ([a-z]+)  +\w", listing, re.M)
    assert defined == {*commands}
    for name in commands:
        usage, description, *_ = run(f"{name} --help").split("\n\n")
        assert usage.startswith(f"Usage: xmleval {name} ")
        assert description.startswith("  ")
