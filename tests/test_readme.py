"""README.md says what the program does: its examples run, its tables are current."""

from __future__ import annotations

import doctest
from pathlib import Path

from benchmarks.comparisons import FAMILIES
from benchmarks.tables import read_results, report
from scripts.readme import (
    README,
    RESULTS,
    install_command,
    measures_table,
    speed_tables,
    with_outputs,
    with_tables,
)
from xmleval.input.formats.registry import FORMATS


def test_python_examples_run() -> None:
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_speed_is_that_of_the_last_full_run() -> None:
    found = read_results(RESULTS)
    assert set(found) == {"comparison", "threads", "growth", "startup"}
    assert all(part["scale"] == 1 for part in found.values())
    cases = {(record["family"], record["workload"]) for record in found["comparison"]["records"]}
    assert cases == {(family, name) for family, case in FAMILIES.items() for name in case.workloads}
    assert (RESULTS / "tables.md").read_text() == report(found)
    assert (RESULTS / "growth.svg").stat().st_size < 100_000
    assert speed_tables() in README.read_text()


def test_tables_are_current() -> None:
    text = README.read_text()
    assert measures_table() in text
    assert with_tables(text) == text


def test_shell_examples_print_what_is_shown() -> None:
    text = README.read_text()
    assert with_outputs(text) == text


def test_every_format_is_named() -> None:
    text = README.read_text()
    for known in FORMATS:
        assert f"`{known.name}`" in text
        assert all(ending.removesuffix(".gz") in text for ending in known.extensions)


def test_first_screen_installs_and_runs() -> None:
    text = README.read_text()
    first_screen = "\n".join(text.splitlines()[:30])
    for kind in ("demo", "test"):
        command = install_command(first_screen, kind)
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_license_is_there() -> None:
    assert "BSD 3-Clause" in (Path(README).parent / "LICENSE").read_text()
