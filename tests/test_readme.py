"""The documentation: its examples run, its tables are current, and its links are valid."""

import doctest
import re
from pathlib import Path

import pytest

import xmleval
from benchmarks.cases import CASES
from benchmarks.peers import PEERS
from benchmarks.tables import PARTS, read_results, report
from scripts import readme
from xmleval.base.conventions import CHOICES
from xmleval.io import known_formats
from xmleval.metrics import GROUPS

PAGES = [*readme.DOCUMENTS, *(readme.ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md"))]
TRANSCRIPTS = (readme.ROOT / "tests" / "transcripts").glob("*.md")
REPOSITORY = "https://github.com/xmleval/xmleval"
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.M)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(readme.ROOT))


@pytest.mark.parametrize(
    "path", [path for path in readme.DOCUMENTS if "\n>>> " in read(path)], ids=name_of
)
def test_python_examples_run(path: Path) -> None:
    failed, tried = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert (failed, tried) == (0, read(path).count("\n>>> "))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in readme.DOCUMENTS if readme.shell_commands(read(path))], ids=name_of
)
def test_shell_examples_print_what_is_shown(path: Path) -> None:
    text = read(path)
    assert readme.with_outputs(text) == text


def test_tables_are_current_and_documents_complete() -> None:
    texts = {path: read(path) for path in readme.DOCUMENTS}
    assert all(readme.with_tables(text) == text for text in texts.values())
    for name in readme.TABLES:
        marker = f"<!-- {name}: written by scripts/readme.py -->"
        assert sum(text.count(marker) for text in texts.values()) == 1
    folders = [readme.ROOT / name for name in ("xmleval", "tests", "benchmarks", "scripts")]
    made = readme.RESULTS / "tables.md"
    files = {path for folder in folders for path in folder.rglob("*.md")} - {made, *TRANSCRIPTS}
    assert files == {*readme.DOCUMENTS} - {readme.README}


def test_all_groups_of_measures_are_named() -> None:
    sentence = read(readme.README).partition("Groups: ")[2].partition("\n\n")[0]
    docstring = " ".join(str(xmleval.evaluate.__doc__).split()).partition("and the groups ")[2]
    for text in (sentence, docstring.partition("k : int")[0]):
        assert re.findall(r"`+([a-z0-9]+)`+", text) == [*GROUPS, "all"]


def test_tables_of_speed_are_those_of_the_last_full_run() -> None:
    results = read_results(readme.RESULTS)
    assert set(results) == set(PARTS)
    assert all(part["scale"] == 1 for part in results.values())
    cases = {(record["family"], record["workload"]) for record in results["comparison"]["records"]}
    assert cases == {(name, workload) for name in PEERS for workload in CASES[name].libraries}
    assert (readme.RESULTS / "tables.md").read_text() == report(results)


def test_every_format_and_convention_is_named() -> None:
    formats = read(readme.ROOT / "xmleval" / "input" / "README.md")
    for format in known_formats():
        assert f"`{format.name}`" in formats
        assert all(ending.removesuffix(".gz") in formats for ending in format.extensions)
    rows = {}
    for line in read(readme.README).splitlines():
        if line.startswith("| `"):
            rows[line.split("`")[1]] = line
    for name, choices in CHOICES.items():
        for choice in choices:
            text = f"{choice:g}" if isinstance(choice, float) else str(choice)
            assert f"`{text}`" in rows[name]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_are_valid(path: Path) -> None:
    text = readme.EXAMPLES.sub("", read(path))
    for inline, defined in LINK.findall(text):
        link = inline or defined
        target, _, _ = link.partition("#")
        if path == readme.README:
            # package indexes show this page without other files
            assert link.startswith("https://")
        if target.startswith(f"{REPOSITORY}/blob/main/"):
            assert (readme.ROOT / target.removeprefix(f"{REPOSITORY}/blob/main/")).is_file()
        elif not target.startswith("https://"):
            assert (path.parent / target).is_file()


def test_readme_is_short_and_begins_with_installing() -> None:
    text = read(readme.README)
    assert text.count("\n") < 250
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
    assert all(line.startswith("xmleval ") for line in capsys.readouterr().out.splitlines())
