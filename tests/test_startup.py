"""What starts quickly imports no more than it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import xmleval
from xmleval.cli import COMMANDS, program

ROOT = Path(__file__).parents[1]


def imported(code: str) -> set[str]:
    """Return the packages that are imported once a new process has run the code."""
    code += "\nimport sys\nprint('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_import_loads_no_other_package() -> None:
    assert not imported("import xmleval") & {"numpy", "numba", "scipy", "click", "rich", "fsspec"}


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["metrics"], ["metrics", "psp@5"]], ids=str)
def test_help_needs_neither_numba_nor_scipy(words: list[str]) -> None:
    loaded = imported(f"from xmleval.cli import main\nassert main({words}) == 0")
    assert "click" in loaded
    assert not loaded & {"numba", "scipy"}
    if "metrics" not in words:
        assert not loaded & {"numpy", "rich"}


def test_public_names_are_found_and_listed() -> None:
    code = (
        "import xmleval\nassert {*xmleval.__all__} <= {*dir(xmleval)}\nfrom xmleval import *\nevaluate, io\n"
    )
    code += "import sys\nassert 'xmleval.states.score_runs' not in sys.modules"  # states load on demand
    assert "numba" in imported(code)
    for name in xmleval.__all__:
        assert getattr(xmleval, name) is getattr(xmleval, name)
    with pytest.raises(AttributeError, match="module 'xmleval' has no attribute 'Evaluate'"):
        _ = xmleval.Evaluate  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_listed_commands_are_there(name: str) -> None:
    found = program.get_command(click.Context(program), name)
    assert found is not None
    assert found.name == name
    assert found.help


def test_all_commands_are_listed() -> None:
    files = (ROOT / "xmleval" / "cli").glob("*.py")
    found = {path.stem for path in files if f"\ndef {path.stem}(" in path.read_text()}
    assert found == set(COMMANDS)
