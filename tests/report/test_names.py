"""Names of any kind in every form: they come back as they were, and nothing in them takes effect."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import S, T
from xmleval import Comparison, Report, evaluate
from xmleval.cli import main
from xmleval.cli.messages import one_line, tell
from xmleval.message import printable
from xmleval.numerals import decimal_number
from xmleval.report.tables import CONTROL, FORMULA, LATEX, csv_text, latex_text, markdown_text

HOSTILE = [
    "R&D_100%", r"\input{x}", "a|b", "two\nlines", "\x1b[31mred", "[red]x[/red]", ":smile:", "bad\udcff",
    "=1+1", "+1", "-1", "-x", "@SUM(A1)", "\t=1", "\r\n=1", "'=1", "''", '"quoted"', 'a";=1', "a,=1", "", " ",
    "  x ", "~^#$", "<b>", "[x](javascript:y)", "`x`", "*x* __y__", "\x00", "\x7f", "\x9b31m", "\u202etxt",
    "\u2028", "\ufeff=1", "é日本", "\\",
    "\\\\", "% x", "&amp;", "^^M", "[2em]", "*", "measure", "＝1", "a\u200cb", "x" * 10_000,
    "<script>alert(1)</script>", "نموذج", "\u202e\u2066نموذج",
]  # fmt: skip
ANY = st.one_of(
    st.text(st.characters(), max_size=12),  # with surrogates
    st.text(st.sampled_from("\\&%$#_{}~^|`*<>[]\n\r\t\x1b=+-@'\"; ,ax\udcff"), max_size=8),
)


@cache
def report() -> Report:
    return evaluate(T, S, metrics=["p@1", "map_r@2", "ndcg@3"])


def comparison_of(names: list[str]) -> Comparison:
    return Comparison(dict.fromkeys(names, report()))


def hostile(test: Any) -> Any:
    """Run a law on lists of names."""
    law = given(names=st.lists(ANY, min_size=1, max_size=3, unique=True))(test)
    for start in range(0, len(HOSTILE), 3):
        law = example(names=HOSTILE[start : start + 3])(law)
    return law


LATEX_TOKEN = re.compile(
    r"\\textbackslash\{\}|\\text[a-z]+\{\}|\{[\[\]]\}|\\[&%$#_{}]|[^\\&%$#_{}~^<>|\[\]\x00-\x1f]"
)
MARKDOWN_TOKEN = re.compile(r"\\[!-/:-@\[-`{-~]|[^\\`*_{}\[\]<>|~$&\x00-\x1f]")


def from_latex(text: str) -> str:
    tokens, back = LATEX_TOKEN.findall(text), {escaped: c for c, escaped in LATEX.items()}
    assert "".join(tokens) == text
    return "".join(back.get(token, token) for token in tokens)


def from_markdown(text: str) -> str:
    tokens = MARKDOWN_TOKEN.findall(text)
    assert "".join(tokens) == text
    return "".join(token[-1] for token in tokens)


def from_csv(text: str) -> str:
    return text[1:] if text[:1] == "'" and text.lstrip("'").startswith(FORMULA) else text


@hostile
def test_latex(names: list[str]) -> None:
    assert [from_latex(latex_text(name)) for name in names] == [*map(printable, names)]
    lines = comparison_of(names).to_latex().splitlines()
    header = lines[lines.index(r"\toprule") + 1]
    cells = header.removesuffix(r" \\").split(" & ")
    assert [*map(from_latex, cells[1:])] == [*map(printable, names)]
    assert all(line.startswith("% ") for line in lines[: lines.index(r"\toprule") - 1])
    assert r"MAP\_R@2 $\uparrow$ & " in lines[-4]


@hostile
def test_markdown(names: list[str]) -> None:
    assert [from_markdown(markdown_text(name)) for name in names] == [*map(printable, names)]
    header, rule, *body = comparison_of(names).to_markdown().splitlines()
    assert header == f"| measure | {' | '.join(map(markdown_text, names))} |"
    assert rule == f"|---|{'---:|' * len(names)}"
    assert [line[:4] for line in body[:4]] == ["| P@", "| MA", "| nD", ""]


@hostile
def test_csv(names: list[str]) -> None:
    header, *rows = csv.reader(io.StringIO(comparison_of(names).to_csv()))
    cells = header[3::3]
    assert [CONTROL.sub(escape, name) for name in names] == [*map(from_csv, cells)]
    assert not any(cell.startswith(FORMULA) and decimal_number(cell) is None for cell in header)
    assert [[float(cell) for cell in row[3::3]] for row in rows] == [
        [report()[name]] * len(names) for name in report()
    ]


def escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


@hostile
def test_html(names: list[str]) -> None:
    root = ElementTree.fromstring(comparison_of(names)._repr_html_())
    assert [*map(len, root.iter("tr"))] == [1 + len(names)] * 4
    heads = [cell.text or "" for cell in next(root.iter("tr"))]
    assert heads[1:] == [*map(printable, names)]
    tags = {element.tag for element in root.iter()}
    assert tags == {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "small"}


@given(value=st.floats(allow_nan=False))
def test_numbers_of_csv_stay_numbers(value: float) -> None:
    assert float(csv_text(value)) == value
    assert csv_text(repr(value)) == repr(value)


@hostile
def test_json(names: list[str]) -> None:
    text = comparison_of(names).to_json()
    assert list(json.loads(text)["reports"]) == names
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())


@hostile
def test_text(names: list[str]) -> None:
    lines = str(comparison_of(names)).split("\n")
    assert len(lines) == 6 + len(comparison_of(names).footnotes())
    assert all(line.isprintable() for line in lines)
    assert all(printable(name).strip() in lines[1] for name in names)


@pytest.mark.parametrize("name", HOSTILE)
def test_lines_on_a_terminal_are_printable(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for error in (ValueError(f"{name}: x"), FileNotFoundError(2, "x", name), click.BadParameter(name)):
        assert one_line(error).isprintable()
    tell(name, "a message")
    err = capsys.readouterr().err
    assert err.endswith("a message\n")
    assert err.removesuffix("\n").isprintable()
    if name in ("[red]x[/red]", ":smile:"):
        assert err == f"xmleval: {name}: a message\n"


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "latex"])
def test_names_of_files_are_printable(folder: Path, capfd: Any, form: str) -> None:
    names = [name for name in HOSTILE if name.strip() and not {"\x00", "/"} & {*name} and len(name) < 200]
    for name in names:
        np.save(f"{name}_indices.npy", np.load("m_indices.npy"))
    files = [f"./{name}_indices.npy" for name in names]
    words = ["evaluate", "Y_test.npz", "--metrics", "p@1", "--format", form]
    texts = []
    for output in ([], ["--output", "out.txt"]):
        assert main([*words, *output, "--", *files]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        texts.append(Path("out.txt").read_text(encoding="utf-8") if output else out)
    for text in texts:
        assert all(line.isprintable() for line in text.replace("\u200c", "").split("\n"))
        assert "R" in text
