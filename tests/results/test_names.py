"""Names of any kind in every form: they are read back unchanged, and nothing in them is run."""

import copy
import csv
import io
import json
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.damage import answer
from tests.examples import S, T
from tests.results.notebooks import page_of
from xmleval import Comparison, Report, evaluate

HOSTILE = [
    "R&D_100%",
    r"\input{x}",
    "a|b",
    "two\nlines",
    "\x1b[31mred",
    "[red]x[/red]",
    ":smile:",
    "bad\udcff",
    "=1+1",
    "+1",
    "-1",
    "-x",
    "@SUM(A1)",
    "\t=1",
    "\r\n=1",
    "'=1",
    "''",
    '"quoted"',
    'a";=1',
    "a,=1",
    "",
    " ",
    "  x ",
    "~^#$",
    "<b>",
    "[x](javascript:y)",
    "`x`",
    "*x* __y__",
    "\x00",
    "\x7f",
    "\x9b31m",
    "\u202etxt",
    "\u2028",
    "\ufeff=1",
    "é日本",
    "\\",
    "\\\\",
    "% x",
    "&amp;",
    "^^M",
    "[2em]",
    "*",
    "measure",
    "＝1",
    "a\u200cb",
    "x" * 10_000,
    "<script>alert(1)</script>",
    "نموذج",
    "\u202e\u2066نموذج",
]
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
LATEX = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textbar{}": "|",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textpm{}": "±",
    "{[}": "[",
    "{]}": "]",
}
MARKDOWN_TOKEN = re.compile(r"\\[!-/:-@\[-`{-~]|[^\\`*_{}\[\]<>|~$&\x00-\x1f]")
FORMULA = tuple("=+-@＝＋－＠")  # how a formula begins
NUMBER = re.compile(r"[-+]?(inf|nan|[0-9]+\.?[0-9]*(e[-+]?[0-9]+)?|\.[0-9]+)", re.IGNORECASE)
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def escape(text: str) -> str:
    return text.encode("unicode_escape").decode()


def printable(name: str) -> str:
    return "".join(c if c.isprintable() else escape(c) for c in name)


def decoded(token: re.Pattern[str], text: str, characters: dict[str, str]) -> str:
    """Return the text that tokens encode: a listed character, or the last letter of the token."""
    tokens = token.findall(text)
    assert "".join(tokens) == text
    return "".join(characters.get(each, each[-1]) for each in tokens)


@hostile
def test_latex_escapes_names(names: list[str]) -> None:
    lines = comparison_of(names).to_latex().splitlines()
    header = lines[lines.index(r"\toprule") + 1]
    cells = header.removesuffix(r" \\").split(" & ")[1:]
    assert [decoded(LATEX_TOKEN, cell, LATEX) for cell in cells] == [*map(printable, names)]
    assert all(line.startswith("% ") for line in lines[: lines.index(r"\toprule") - 1])
    assert r"MAP\_R@2 $\uparrow$ & " in lines[-6]


@hostile
def test_markdown_escapes_names(names: list[str]) -> None:
    header, rule, *body = comparison_of(names).to_markdown().splitlines()
    cells = re.split(r" (?<!\\)\| ", header.removeprefix("| measure | ").removesuffix(" |"))
    assert [decoded(MARKDOWN_TOKEN, cell, {}) for cell in cells] == [*map(printable, names)]
    assert rule == f"|---|{'---:|' * len(names)}"
    assert [line[:4] for line in body[:4]] == ["| P@", "| MA", "| nD", ""]


@hostile
def test_csv_escapes_names(names: list[str]) -> None:
    header, *rows = csv.reader(io.StringIO(comparison_of(names).to_csv()))
    quoted = [cell[:1] == "'" and cell.lstrip("'").startswith(FORMULA) for cell in header[3::3]]
    cells = [cell[is_quoted:] for cell, is_quoted in zip(header[3::3], quoted, strict=True)]
    assert cells == [CONTROL.sub(lambda match: escape(match[0]), name) for name in names]
    assert not any(cell.startswith(FORMULA) and not NUMBER.fullmatch(cell) for cell in header)
    values = [[float(cell) for cell in row[3::3]] for row in rows]
    assert values == [[report()[name]] * len(names) for name in report()]


@hostile
def test_html_escapes_names(names: list[str]) -> None:
    root = ElementTree.fromstring(page_of(comparison_of(names)))
    assert [*map(len, root.iter("tr"))] == [1 + len(names)] * 4
    heads = [cell.text or "" for cell in next(root.iter("tr"))]
    assert heads[1:] == [*map(printable, names)]
    tags = {element.tag for element in root.iter()}
    assert tags == {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "small"}


@given(value=st.floats(allow_nan=False))
def test_csv_keeps_numbers(value: float) -> None:
    changed = copy.deepcopy(report())
    changed.results.values = dict.fromkeys(report(), value)
    header, *rows = csv.reader(io.StringIO(Comparison({repr(value): changed}).to_csv()))
    assert header[3] == repr(value)
    assert [float(row[3]) for row in rows] == [value] * 3


@hostile
def test_json_escapes_names(names: list[str]) -> None:
    text = comparison_of(names).to_json()
    assert list(json.loads(text)["reports"]) == names
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())


@hostile
def test_text_escapes_names(names: list[str]) -> None:
    lines = str(comparison_of(names)).split("\n")
    assert len(lines) == 6 + len(comparison_of(names).footnotes())
    assert all(line.isprintable() for line in lines)
    assert all(printable(name).strip() in lines[1] for name in names)


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_names_are_one_line_and_printable(name: str) -> None:
    command_lines = [
        ["--", name, name],
        ["--metrics", name, "--", "a", "b"],
        [f"--{name}", "a", "b"],
    ]
    for words in command_lines:
        code, out, err = answer(["evaluate", *words])
        assert code == 2
        assert out == ""
        assert err[-1] == "\n"
        assert err[:-1].isprintable()
        if name in ("[red]x[/red]", ":smile:"):
            assert name in err
