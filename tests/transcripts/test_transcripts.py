"""Pages of what people type, mistakes included, and what is answered.

Each section runs in an empty folder, after the blocks above the first section. In `console` blocks, lines
that start with `$ ` are run; `cat > FILE` writes the lines below. In `python` blocks, lines that start with
`>>> ` are typed; others prepare. In an answer, `...` is any lines, or any text within a line. A section with
`<!-- needs NAME -->` is skipped where a module is missing. The exit code is 2 where the last line begins with
`xmleval: `, else 0, if no line tells it. `python -m tests.transcripts` updates the answers.
"""

import contextlib
import difflib
import io
import re
import shlex
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.commands import main, process

PAGES = sorted(Path(__file__).parent.glob("*.md"))
SECTION = re.compile(r"^(?=## )", re.M)
BLOCK = re.compile(r"^```(?P<language>console|python)\n(?P<lines>.*?)^```$", re.M | re.S)
ENTRY = re.compile(r"(?P<typed>(?:\$|>>>) .*\n(?:\.\.\. .+\n)*)(?P<expected>(?:(?!\$ |>>> ).*\n)*)")
NEEDS = re.compile("<!-- needs (.+) -->")


def answered(head: str, section: str, folder: Path) -> str:
    """Run the blocks of a section in a folder, and return it with today's answers."""
    names: dict[str, object] = {"np": np, "sp": sp, "Path": Path, "xmleval": xmleval}
    with contextlib.chdir(folder):
        return [BLOCK.sub(lambda block: answered_block(block, names), text) for text in (head, section)][1]


def answered_block(block: re.Match[str], names: dict[str, object]) -> str:
    """Run a block, and return it with today's answers."""
    answer = answer_to_command if block["language"] == "console" else answer_to_python

    def answered_entry(entry: re.Match[str]) -> str:
        typed, expected = entry["typed"], entry["expected"]
        printed = answer(re.sub(r"^(?:\$|>>>|\.\.\.) ", "", typed, flags=re.M), expected, names)
        return typed + updated(expected, re.sub(r"[ \t]+$", "", printed, flags=re.M))

    if not ENTRY.search(block["lines"]):
        exec(compile(block["lines"], "setup", "exec"), names)
    return f"```{block['language']}\n{ENTRY.sub(answered_entry, block['lines'])}```"


def answer_to_command(command: str, expected: str, names: dict[str, object]) -> str:
    """Run a command line, and return what it prints, and its exit code if its last line does not tell it."""
    program, *words = shlex.split(command)
    if ">" in words:
        text = expected if program == "cat" else words[0].encode().decode("unicode_escape")
        Path(words[-1]).write_text(text, encoding="utf-8")
        return expected
    if program == "cat":
        return Path(words[0]).read_text(encoding="utf-8")
    if program == "python":
        done = process(*words[1:])
        code, printed = done.returncode, done.stdout + done.stderr
    else:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = main(words)
        printed = out.getvalue()
    usual = 2 if printed.rpartition("\n")[0].rpartition("\n")[2].startswith("xmleval: ") else 0
    return printed if code == usual else f"{printed}exit code {code}\n"


def answer_to_python(source: str, expected: str, names: dict[str, object]) -> str:
    """Run a statement, and return its warnings, what it prints and the last line of its error."""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as out:
        warnings.simplefilter("always")
        try:
            exec(compile(source, "typed", "single"), names)
        except Exception as error:
            print(*traceback.format_exception_only(error), sep="", end="")
    return "".join(f"{each.category.__name__}: {each.message}\n" for each in caught) + out.getvalue()


def updated(expected: str, answer: str) -> str:
    """Return what is expected if it fits, or with the lines changed that do not, or else the whole answer."""
    if fits(expected, answer):
        return expected
    lines = answer.splitlines(keepends=True)
    changed = "".join(
        line if any(fits(line, each) for each in ["\n", *lines]) else closest
        for line in expected.splitlines(keepends=True)
        for closest in difflib.get_close_matches(line, lines, 1) or [line]
    )
    return changed if fits(changed, answer) else answer


def fits(expected: str, answer: str) -> bool:
    """Whether an answer is one of those that the expected one stands for."""
    parts = re.split(r"(^\.\.\.\n|\.\.\.)", expected, flags=re.M)
    patterns = ({"...\n": r"(.*\n)*?", "...": ".*?"}.get(part, re.escape(part)) for part in parts)
    return re.fullmatch("".join(patterns), answer) is not None


SECTIONS = [
    pytest.param(head, section, id=f"{path.stem}: {section[3:].splitlines()[0]}")
    for path in PAGES
    for head, *sections in [SECTION.split(path.read_text(encoding="utf-8"))]
    for section in sections
]


@pytest.mark.parametrize(("head", "section"), SECTIONS)
def test_answers_are_as_shown(head: str, section: str, tmp_path: Path) -> None:
    for module in NEEDS.findall(section):
        pytest.importorskip(module)
    today = answered(head, section, tmp_path).splitlines()
    if changes := [*difflib.unified_diff(section.splitlines(), today, "page", "today", lineterm="")]:
        pytest.fail("\n".join(changes), pytrace=False)
