"""Pages of commands and statements, mistakes included, and their answers.

Each section runs in an empty folder, after the blocks above the first section. In `console` blocks,
lines that start with `$ ` are run; `cat > FILE` writes the lines below. In `python` blocks, lines
that start with `>>> ` are typed; others prepare. In an answer, `...` matches any lines, or any text
within a line. A section with `<!-- needs NAME -->` is skipped where a module is missing. The exit
code is 2 where the last line begins with `xmleval: `, else 0, unless a line shows another.
`python -m tests.transcripts` updates the answers.
"""

import contextlib
import difflib
import io
import re
import shlex
import traceback
import warnings
from pathlib import Path
from typing import Any

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
        BLOCK.sub(lambda block: answered_block(block, names), head)
        return BLOCK.sub(lambda block: answered_block(block, names), section)


def answered_block(block: re.Match[str], names: dict[str, object]) -> str:
    """Run a block, and return it with today's answers."""
    answers = {"console": answer_to_command, "python": answer_to_python}
    answer = answers[block["language"]]

    def answered_entry(entry: re.Match[str]) -> str:
        typed = entry["typed"]
        expected = entry["expected"]
        source = re.sub(r"^(?:\$|>>>|\.\.\.) ", "", typed, flags=re.M)
        printed = answer(source, expected, names)
        stripped = re.sub(r"[ \t]+$", "", printed, flags=re.M)
        return typed + updated(expected, stripped)

    if not ENTRY.search(block["lines"]):
        exec(compile(block["lines"], "setup", "exec"), names)
    return f"```{block['language']}\n{ENTRY.sub(answered_entry, block['lines'])}```"


def answer_to_command(command: str, expected: str, names: dict[str, object]) -> str:
    """Run a command line; return its output, with the exit code unless the last line implies it."""
    program, *words = shlex.split(command)
    if ">" in words:
        text = expected
        if program != "cat":
            text = words[0].encode().decode("unicode_escape")
        Path(words[-1]).write_text(text, encoding="utf-8")
        return expected
    if program == "cat":
        return Path(words[0]).read_text(encoding="utf-8")
    if program == "python":
        done = process(*words[1:])
        code = done.returncode
        printed = done.stdout + done.stderr
    else:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = main(words)
        printed = out.getvalue()
    last_line = printed.rpartition("\n")[0].rpartition("\n")[2]
    implied = 2 if last_line.startswith("xmleval: ") else 0
    if code == implied:
        return printed
    return f"{printed}exit code {code}\n"


def answer_to_python(source: str, expected: str, names: dict[str, object]) -> str:
    """Run a statement; return its warnings, its output and the last line of its error."""
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        warnings.simplefilter("always")
        try:
            exec(compile(source, "typed", "single"), names)
        except Exception as error:
            print(*traceback.format_exception_only(error), sep="", end="")
    lines = [f"{warning.category.__name__}: {warning.message}\n" for warning in caught]
    return "".join(lines) + out.getvalue()


def updated(expected: str, answer: str) -> str:
    """Return the expected answer if it fits, or with changed lines if these do, or the answer."""
    if fits(expected, answer):
        return expected
    lines = answer.splitlines(keepends=True)
    changed = ""
    for line in expected.splitlines(keepends=True):
        if any(fits(line, each) for each in ["\n", *lines]):
            changed += line
        else:
            closest = difflib.get_close_matches(line, lines, 1) or [line]
            changed += closest[0]
    return changed if fits(changed, answer) else answer


def fits(expected: str, answer: str) -> bool:
    """Return whether an answer matches the expected one, where ``...`` matches any text."""
    parts = re.split(r"(^\.\.\.\n|\.\.\.)", expected, flags=re.M)
    patterns = ({"...\n": r"(.*\n)*?", "...": ".*?"}.get(part, re.escape(part)) for part in parts)
    return re.fullmatch("".join(patterns), answer) is not None


def page_sections() -> list[Any]:
    """Return sections of all pages, each with the head of its page."""
    parameters = []
    for path in PAGES:
        head, *sections = SECTION.split(path.read_text(encoding="utf-8"))
        for section in sections:
            title = section[3:].splitlines()[0]
            parameters.append(pytest.param(head, section, id=f"{path.stem}: {title}"))
    return parameters


@pytest.mark.parametrize(("head", "section"), page_sections())
def test_answers_are_as_shown(head: str, section: str, tmp_path: Path) -> None:
    for module in NEEDS.findall(section):
        pytest.importorskip(module)
    today = answered(head, section, tmp_path).splitlines()
    diff = difflib.unified_diff(section.splitlines(), today, "page", "today", lineterm="")
    changes = [*diff]
    if changes:
        pytest.fail("\n".join(changes), pytrace=False)
