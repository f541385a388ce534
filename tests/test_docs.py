"""The documentation: every block runs, its tables are current, its links and anchors are valid."""

import doctest
import json
import re
import shlex
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

import xmleval
from scripts import docs, measure_pages, readme
from xmleval.base.conventions import CHOICES, Conventions
from xmleval.cli import main
from xmleval.io import known_formats
from xmleval.metrics import GROUPS, TABLE
from xmleval.metrics.measure import DEFINED

ROOT = readme.ROOT
PAGES = readme.PAGES
OTHERS = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md")]
REPOSITORY = "https://github.com/xmleval/xmleval/blob/main/"
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.M)
RUN_BY = re.compile(r"<!-- (run by (\S+)|not run: .+) -->\n+$")
NOT_RUN = (  # commands in `sh` that other steps run, or that take long
    "python3 -m venv",
    ". .venv/bin/activate",
    "pip install",
    "python -m benchmarks",
    "PYXCLIB=PYTHON python -m benchmarks",
    "python -m pytest benchmarks",
    "python -m scripts.limo",
)
DATA = {"text", "yaml", "json"}  # blocks that show data


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def with_text(pattern: str) -> list[Path]:
    """Return the documents in which a pattern occurs."""
    return [path for path in readme.DOCUMENTS if re.search(pattern, read(path), re.M)]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the demo's files, which the examples of all pages use."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    assert main(["demo", "--save", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("path", with_text("^>>> "), ids=name_of)
def test_python_examples_run(
    path: Path, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(demo, "demo")
    with patch.dict(DEFINED, clear=True):  # tests define measures of the same names
        failed, tried = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert (failed, tried) == (0, len(re.findall(r"^>>> ", read(path), re.M)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in readme.DOCUMENTS if readme.shell_commands(read(path))], ids=name_of
)
def test_shell_examples_print_what_is_shown(path: Path) -> None:
    text = read(path)
    assert readme.with_outputs(text) == text


@pytest.mark.slow
def test_figures_are_drawn_by_the_commands_that_are_shown(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(demo, "demo")
    text = read(PAGES / "figures.md")
    commands = [block[3] for block in FENCE.finditer(text) if block[2] == "bash"]
    for line in readme.joined("".join(commands)).splitlines():
        assert main(shlex.split(line)[1:]) == 0
        assert Path(shlex.split(line)[-1]).stat().st_size > 0


def kind_of(language: str, body: str, before: str) -> str:
    """Return how a block is tested, or what it lacks."""
    marked = RUN_BY.search(before)
    if marked and marked[2]:
        return "run by a test" if (ROOT / marked[2]).is_file() else f"no {marked[2]}"
    if marked:
        return "not run, with a reason"
    if language == "python" and body.startswith(">>> "):
        return "doctest"
    if language == "console" and body.startswith("$ "):
        return "shell"
    if language == "sh":
        for line in body.splitlines():
            if not line.lstrip().startswith(("xmleval ", "#", "--", *NOT_RUN)):
                return f"a line that is not run: {line}"
        return "shell"
    if language in DATA:
        return "data"
    return "nothing runs it"


@pytest.mark.parametrize("path", readme.DOCUMENTS, ids=name_of)
def test_every_block_is_tested_or_says_why_not(path: Path) -> None:
    text = read(path)
    kinds = {
        block[0]: kind_of(block[2], block[3], text[: block.start()])
        for block in FENCE.finditer(text)
    }
    tested = {"run by a test", "not run, with a reason", "doctest", "shell", "data"}
    assert {block: kind for block, kind in kinds.items() if kind not in tested} == {}
    assert len(re.findall("^ *```", text, re.M)) == 2 * len(FENCE.findall(text))


@pytest.mark.parametrize("path", with_text(r"<!-- run by "), ids=name_of)
def test_blocks_are_in_the_tests_that_run_them(path: Path) -> None:
    text = read(path)
    for block in FENCE.finditer(text):
        marked = RUN_BY.search(text[: block.start()])
        if marked and marked[2]:
            assert path.stem in read(ROOT / marked[2])  # which reads the block from the page


def test_blocks_without_a_test_are_found() -> None:
    for text, kind in (
        ("```python\nx = 1\n```\n", "nothing runs it"),
        ("```bash\nls\n```\n", "nothing runs it"),
        ("```sh\nls\n```\n", "a line that is not run: ls"),
        ("<!-- run by tests/none.py -->\n```python\nx\n```\n", "no tests/none.py"),
        ("<!-- not run: needs a network -->\n```bash\nls\n```\n", "not run, with a reason"),
    ):
        block = next(FENCE.finditer(text))
        assert kind_of(block[2], block[3], text[: block.start()]) == kind


def test_code_fits_the_column_of_text() -> None:
    wide = [
        line
        for path in (*PAGES.glob("*.md"), ROOT / "README.md")
        for block in FENCE.finditer(read(path))
        for line in block[3].splitlines()
        if line.startswith((">>> ", "... ", "$ ", "xmleval ")) and len(line) > 95
    ]
    assert wide == []


def test_tables_are_current_and_documents_complete() -> None:
    texts = {path: read(path) for path in readme.DOCUMENTS}
    assert all(readme.with_tables(text) == text for text in texts.values())
    for name in (*readme.TABLES, *readme.family_tables()):
        marker = f"<!-- {name}: written by scripts/readme.py -->"
        assert sum(text.count(marker) for text in texts.values()) == 1
    folders = [ROOT / name for name in ("xmleval", "tests", "benchmarks", "scripts")]
    transcripts = (ROOT / "tests" / "transcripts").glob("*.md")
    made = {readme.RESULTS / "tables.md", *transcripts}
    files = {path for folder in folders for path in folder.rglob("*.md")} - made
    assert files == {*readme.DOCUMENTS} - {readme.README}


def test_every_page_has_a_place_on_the_site() -> None:
    names = {path.stem for path in PAGES.glob("*.md")}
    families = {measure_pages.page_of(family) for family in measure_pages.families()}
    assert {page.name for page in docs.SITE} | families | {"README"} == names
    for page in docs.SITE:
        assert page.section in docs.SECTIONS
        if page.name in names:
            assert read(PAGES / f"{page.name}.md").startswith(f"# {page.title}\n")


def test_every_public_name_is_in_the_reference() -> None:
    listed = [name for names in docs.API.values() for name in names.split()]
    assert sorted(listed) == sorted({*xmleval.__all__} - {"__version__", *docs.MODULES})


def test_every_measure_has_a_section_with_an_example_by_hand() -> None:
    headings = [measure_pages.heading_of(metric) for metric in TABLE]
    assert sorted(headings) == sorted(measure_pages.ABOUT)
    for metric in TABLE:
        about = measure_pages.ABOUT[measure_pages.heading_of(metric)]
        if about.hand:
            expected = [eval(text, dict(measure_pages.HAND)) for text in about.hand.split("; ")]
            values = list(measure_pages.values_of(metric).values())
            assert values == pytest.approx(expected, abs=1e-12), metric.name


def test_all_groups_of_measures_are_named() -> None:
    sentence = read(PAGES / "measures.md").partition("Groups: ")[2].partition("\n\n")[0]
    docstring = " ".join(str(xmleval.evaluate.__doc__).split()).partition("and the groups ")[2]
    for text in (sentence, docstring.partition("k : int")[0]):
        assert re.findall(r"`+([a-z0-9]+)`+", text) == [*GROUPS, "all"]


def test_every_format_and_convention_is_named() -> None:
    formats = read(PAGES / "formats.md")
    for format in known_formats():
        assert f"`{format.name}`" in formats
        assert all(ending.removesuffix(".gz") in formats for ending in format.extensions)
    conventions = read(PAGES / "conventions.md")
    for name in Conventions().as_dict():
        assert f"\n### `{name}`\n" in conventions
        for choice in CHOICES.get(name, ()):
            text = f"{choice:g}" if isinstance(choice, float) else str(choice)
            assert f"`{text}`" in conventions


def test_notebooks_have_the_code_of_their_pages() -> None:
    for name in docs.NOTEBOOKS:
        text = read(PAGES / f"{name}.md")
        cells = json.loads(docs.notebook_of(text))["cells"]
        code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert code.count("!") == len(readme.shell_commands(text))
        assert len(cells) > len(FENCE.findall(text))
        assert ">>>" not in code


def anchors_of(path: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#{1,3} (.+)$", re.sub(r"```.*?```", "", read(path), flags=re.S), re.M)
    slugs = set()
    for heading in headings:
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slugs.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return slugs


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=name_of)
def test_no_link_to_a_page_has_the_name_of_a_function_as_its_text(path: Path) -> None:
    """The site links such a name to the reference, and a link in a link has no text."""
    assert re.findall(r"\[`xmleval\.[\w.]+`\]\(\w.*?\)", FENCE.sub("", read(path))) == []


@pytest.mark.parametrize("path", [*readme.DOCUMENTS, *OTHERS], ids=name_of)
def test_links_are_valid(path: Path) -> None:
    text = FENCE.sub("", read(path))
    for inline, defined in LINK.findall(text):
        link = inline or defined
        target, _, anchor = link.partition("#")
        if path == readme.README:
            # package indexes show this page without other files
            assert link.startswith("https://")
        if target.startswith(REPOSITORY):
            file = ROOT / target.removeprefix(REPOSITORY)
        elif target.startswith("https://"):
            continue
        else:
            file = path.parent / target if target else path
            if path.parent == PAGES:  # the wheel and the site have no other files
                assert file.parent == PAGES, link
        assert file.is_file(), link
        if anchor and file.suffix == ".md":
            assert anchor in anchors_of(file), link
