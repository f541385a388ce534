"""Tables in every printed form, from cells of text that go through one function for each form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from xmleval.message import printable
from xmleval.numerals import decimal_number

# What follows the text of a cell: the direction of better values, or whether a value is the best of its row.
ARROWS = {"up": "↑", "down": "↓", "none": ""}
TEXT_TAILS = {"": "", "none": "", "up": " ↑", "down": " ↓", "best": " *", "other": "  "}
MARKDOWN_TAILS = TEXT_TAILS | {"other": ""}
LATEX_TAILS = {
    "": "", "none": "", "up": r" $\uparrow$", "down": r" $\downarrow$", "best": "$^*$", "other": ""
}  # fmt: skip

LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}", **{c: f"\\{c}" for c in "&%$#_{}"},
}  # fmt: skip
MARKDOWN = re.compile(r"[\\`*_{}\[\]<>|~$&]")
FORMULA = tuple("=+-@＝＋－＠")  # what a spreadsheet takes for the beginning of a formula
QUOTED = re.compile(r'[",;\t]')
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Cell(NamedTuple):
    """A text, such as a name or a number, and what follows it: a key of the tails above."""

    text: str
    tail: str = ""


Rows = Sequence[Sequence[Cell]]


def short(value: float) -> str:
    """Return a value as tables show it."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"  # losses are small with a million labels
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def latex_text(text: str) -> str:
    """Return text that LaTeX prints as it stands."""
    return "".join(LATEX.get(c, c) for c in printable(text))


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it stands."""
    return MARKDOWN.sub(r"\\\g<0>", printable(text))


def csv_text(value: str | float) -> str:
    """Return a field of a CSV file.

    Numbers are in full precision, undefined ones empty. A text that a spreadsheet would take for a formula
    gets a leading apostrophe, as OWASP advises; numbers such as -1 do not. Control characters, such as a tab
    or a newline in front of a formula, become escapes.
    """
    if not isinstance(value, str):
        return "" if value != value else repr(value)
    text = CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    if text.lstrip("'").startswith(FORMULA) and decimal_number(text) is None:
        text = f"'{text}"
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if QUOTED.search(text) else text


def common_start(texts: Sequence[str]) -> str:
    """Return the longest text that all of some texts start with."""
    first, last = min(texts), max(texts)  # what these share, all share
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:n]


def as_text(title: str, rows: Rows, footnotes: Sequence[str]) -> str:
    """Return a table for a terminal."""
    shown = [[f"{printable(cell.text)}{TEXT_TAILS[cell.tail]}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in shown]
    rule = "-" * max(len(line.rstrip()) for line in lines)
    below = map(printable, footnotes)
    return "\n".join([title, lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), *below])


def as_markdown(rows: Rows, footnotes: Sequence[str]) -> str:
    """Return a Markdown table."""
    shown = [[f"{markdown_text(cell.text)}{MARKDOWN_TAILS[cell.tail]}" for cell in row] for row in rows]
    header, *body = [f"| {' | '.join(row)} |" for row in shown]
    rule = f"|---|{'---:|' * (len(rows[0]) - 1)}"
    below = (f"{markdown_text(line)}  " for line in footnotes)
    return "\n".join([header, rule, *body, "", *below]).rstrip() + "\n"


def as_latex(rows: Rows, footnotes: Sequence[str]) -> str:
    """Return a LaTeX tabular (package booktabs), the footnotes in comments."""
    shown = [[f"{latex_text(cell.text)}{LATEX_TAILS[cell.tail]}" for cell in row] for row in rows]
    header, *body = [" & ".join(row) + r" \\" for row in shown]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
    table = [begin, r"\toprule", header, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*(f"% {printable(line)}" for line in footnotes), *table]) + "\n"


def html_text(text: str) -> str:
    """Return text that HTML shows as it stands."""
    return escape(printable(text))


def as_html(title: str, rows: Rows, notes: Sequence[str]) -> str:
    """Return an HTML table, with the title above and the notes below."""
    shown = [[html_text(f"{cell.text}{MARKDOWN_TAILS[cell.tail]}") for cell in row] for row in rows]
    header, *body = [
        f'<tr><th style="text-align: left">{name}</th>{_between(tag, texts)}</tr>'
        for tag, (name, *texts) in zip(["th", *["td"] * (len(shown) - 1)], shown, strict=True)
    ]
    table = ["<table>", "<thead>", header, "</thead>", "<tbody>", *body, "</tbody>", "</table>"]
    around = [
        f"<p>{html_text(title)}</p>",
        *table,
        *(f"<p><small>{html_text(note)}</small></p>" for note in notes),
    ]
    return "\n".join(["<div>", *around, "</div>"])


def _between(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{text}</{tag}>" for text in texts)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """Return CSV with numbers in full precision; undefined numbers are empty."""
    return "".join(f"{','.join(map(csv_text, row))}\n" for row in (header, *rows))


def as_json_value(value: float) -> float | str | None:
    """Return a number as a JSON value."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)
