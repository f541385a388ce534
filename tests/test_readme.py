"""The README: it is short, begins with installing, and its numbers are current."""

import pytest

from benchmarks.cases import CASES
from benchmarks.peers import PEERS
from benchmarks.tables import PARTS, read_results, report
from scripts import readme


def test_tables_of_speed_are_those_of_the_last_full_run() -> None:
    results = read_results(readme.RESULTS)
    assert set(results) == set(PARTS)
    assert all(part["scale"] == 1 for part in results.values())
    cases = {(record["family"], record["workload"]) for record in results["comparison"]["records"]}
    assert cases == {(name, workload) for name in PEERS for workload in CASES[name].libraries}
    assert (readme.RESULTS / "tables.md").read_text() == report(results)


def test_readme_is_short_and_begins_with_installing() -> None:
    text = readme.README.read_text("utf-8")
    assert text.count("\n") <= 180
    first_screen = "\n".join(text.splitlines()[:35])
    for kind in ("demo", "test"):
        assert readme.install_command(first_screen, kind).startswith(
            "python3 -m venv .venv && .venv/bin/pip install "
        )


def test_with_outputs_writes_outputs_below_their_commands() -> None:
    text = readme.with_outputs("```console\n$ xmleval stats --help\nformer\n```\n")
    assert text.startswith("```console\n$ xmleval stats --help\nUsage: xmleval stats")
    assert "former" not in text
    with pytest.raises(RuntimeError, match=r"^xmleval stats none\.npz: exit 2"):
        readme.with_outputs("```console\n$ xmleval stats none.npz\n```\n")


def test_with_tables_writes_tables_between_their_marks() -> None:
    text = (
        "before\n<!-- formats: written by scripts/readme.py -->\n"
        "old\n<!-- end of formats -->\nafter\n"
    )
    before, table, after = readme.with_tables(text).split(" -->\n")[0:3]
    assert before.startswith("before\n")
    assert table.startswith("| format | what it is |")
    assert after == "after\n"


def test_readme_script_prints_commands_of_the_documentation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    readme.main(["command", "test"])
    assert capsys.readouterr().out.startswith("python3 -m venv")
    readme.main(["shell"])
    assert capsys.readouterr().out.startswith("xmleval demo --save demo\n")
