"""The script that writes tables and outputs of examples into the documentation."""

from __future__ import annotations

import pytest

from scripts.readme import main, with_outputs, with_tables


def test_outputs_are_written_below_their_commands() -> None:
    text = with_outputs("```console\n$ xmleval stats --help\nformer\n```\n")
    assert text.startswith("```console\n$ xmleval stats --help\nUsage: xmleval stats")
    assert "former" not in text
    with pytest.raises(RuntimeError, match=r"^xmleval stats none\.npz: exit 2"):
        with_outputs("```console\n$ xmleval stats none.npz\n```\n")


def test_tables_are_written_between_their_marks() -> None:
    text = "before\n<!-- formats: written by scripts/readme.py -->\nold\n<!-- end of formats -->\nafter\n"
    before, table, after = with_tables(text).split(" -->\n")[0:3]
    assert before.startswith("before\n")
    assert table.startswith("| format | what it is |")
    assert after == "after\n"


def test_the_commands_of_the_documentation_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["command", "test"])
    assert capsys.readouterr().out.startswith("python3 -m venv")
    main(["shell"])
    assert all(line.startswith("xmleval ") for line in capsys.readouterr().out.splitlines())
