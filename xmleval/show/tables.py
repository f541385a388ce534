"""Tables in every printed form, from cells of text that go through one function for each form."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xmleval.base.errors import printable
from xmleval.base.numerals import decimal_number

# What follows the text of a cell: the direction of better values, or whether a value is the best of its row.
ARROWS = {"up": "↑", "down": "↓", "none": ""}
TEXT_TAILS = {"": "", "none": "", "up": " ↑", "down": " ↓", "best": " *", "other": "  "}
MARKDOWN_TAILS = TEXT_TAILS | {"other": ""}
LATEX_TAILS = {
    "": "", "none": "", "up": r" $\uparrow$", "down": r" $\downarrow$", "best": "$^*$", "other": ""
}  # fmt: skip

ABOVE, LATEX_ABOVE = "<sup>{}</sup>", "$^{{{}}}$"

LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}", "±": r"\textpm{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}  # fmt: skip
HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
MARKDOWN = re.compile(r"[\\`*_{}\[\]<>|~$&]")
LETTER = re.compile("[^\\W\\d_]")
SEPARATORS = "._-/"  # of words in the name of a file
GAP = "  "
BEST, PLAIN = "\x1b[1;32m", "\x1b[0m"  # bold and green
FORMULA = tuple("=+-@＝＋－＠")  # what a spreadsheet takes for the beginning of a formula
QUOTED = re.compile(r'[",;\t]')
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Cell(NamedTuple):
    """A text, such as a name or a number, what follows it (a key of the tails above), and a superscript.

    Superscripts of a column are padded to one width, which lines up their numbers on a terminal.
    """

    text: str
    tail: str = ""
    above: str = ""

    def with_above(self, shown: str, form: str) -> str:
        """Return the text as shown, with the superscript in its form."""
        return f"{shown}{form.format(self.above.strip())}" if self.above.strip() else shown


Rows = Sequence[Sequence[Cell]]


class Table(NamedTuple):
    """A further table under a caption."""

    caption: str
    rows: Rows


def short(value: float) -> str:
    """Return a value as tables show it."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"  # losses are small with a million labels
    return f"{value:.4f}" if abs(value) < 99.99995 else f"{value:.6g}"  # at most six digits


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


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the words that all of them end or begin with, as far as words are left of each.

    Examples
    --------
    >>> short_names(["out/bert_test.npz", "out/xlnet_test.npz"])
    ['bert', 'xlnet']
    >>> short_names(["model_1.npz", "model_2.npz"])
    ['model_1', 'model_2']
    """
    backwards = _without_start([name[::-1] for name in names])
    return _without_start([name[::-1] for name in backwards])


def _without_start(names: list[str]) -> list[str]:
    shared = common_start(names) if len(names) > 1 else ""
    for n in range(len(shared), 0, -1):
        if shared[n - 1] in SEPARATORS and all(LETTER.search(name[n:]) for name in names):
            return [name[n:] for name in names]
    return names


def as_text(
    title: str,
    rows: Rows,
    footnotes: Sequence[str],
    width: int | None = None,
    colour: bool = False,
    more: Sequence[Table] = (),
) -> str:
    """Return a table, and more, for a terminal; lines are no wider than ``width``, as far as words allow."""
    tables = []
    for told, own in (Table(title, rows), *more):
        blocks = [own] if width is None else _fitted(own, width)
        lines = "\n\n".join(_lined_up(block, colour) for block in blocks)
        tables.append(f"{folded(printable(told), width)}\n{lines}")
    return "\n".join(["\n\n".join(tables), *(folded(printable(note), width) for note in footnotes)])


def folded(text: str, width: int | None) -> str:
    """Return text in lines that break between words only."""
    if width is None or len(text) <= width:
        return text
    lines = textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _fitted(rows: Rows, width: int) -> list[Rows]:
    """Return a table whole, or its rows as columns, or either cut into blocks of columns."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    turned[0][0] = Cell("")
    forms = [_blocks(rows, width), _blocks(turned, width)]
    return min(forms, key=lambda blocks: (max(width, *(sum(_widths(b)) for b in blocks)), len(blocks)))


def _blocks(rows: Rows, width: int) -> list[Rows]:
    """Cut a table into the fewest even blocks of columns that fit, each with the first column."""
    first, *widths = _widths(rows)
    for n_blocks in range(1, len(widths) + 1):
        size = -(-len(widths) // n_blocks)
        starts = range(0, len(widths), size)
        if size == 1 or all(first + sum(widths[start : start + size]) <= width for start in starts):
            break
    return [[[row[0], *row[1 + start : 1 + start + size]] for row in rows] for start in starts]


def _widths(rows: Rows) -> list[int]:
    """Return the widths of columns, with the gaps before all but the first."""
    widths = [max(map(len, map(_text_of, column))) for column in zip(*rows, strict=True)]
    return [widths[0], *(width + len(GAP) for width in widths[1:])]


def _text_of(cell: Cell) -> str:
    above = f" {cell.above}" if cell.above else ""
    return f"{printable(cell.text)}{TEXT_TAILS[cell.tail]}{above}"


def _lined_up(rows: Rows, colour: bool) -> str:
    """Return a table in lines, under a header and a rule."""
    first, *others = _widths(rows)

    def line(row: Sequence[Cell]) -> str:
        texts = [_text_of(row[0]).ljust(first)]
        texts += [_text_of(cell).rjust(width) for cell, width in zip(row[1:], others, strict=True)]
        if colour:
            texts = [
                f"{BEST}{text}{PLAIN}" if cell.tail == "best" else text
                for text, cell in zip(texts, row, strict=True)
            ]
        return "".join(texts).rstrip()

    lines = [line(row) for row in rows]
    rule = "-" * max(len(text.replace(BEST, "").replace(PLAIN, "")) for text in lines)
    return "\n".join([lines[0], rule, *lines[1:]])


def as_markdown(rows: Rows, footnotes: Sequence[str], more: Sequence[Table] = ()) -> str:
    """Return Markdown tables."""
    tables = [_markdown_lines(rows)]
    for told, own in more:
        tables += ["", markdown_text(told), "", _markdown_lines(own)]
    below = (f"{markdown_text(line)}  " for line in footnotes)
    return "\n".join([*tables, "", *below]).rstrip() + "\n"


def _markdown_lines(rows: Rows) -> str:
    shown = [
        [cell.with_above(f"{markdown_text(cell.text)}{MARKDOWN_TAILS[cell.tail]}", ABOVE) for cell in row]
        for row in rows
    ]
    header, *body = [f"| {' | '.join(row)} |" for row in shown]
    rule = f"|---|{'---:|' * (len(rows[0]) - 1)}"
    return "\n".join([header, rule, *body])


def as_latex(rows: Rows, footnotes: Sequence[str], more: Sequence[Table] = ()) -> str:
    """Return LaTeX tabulars (package booktabs), the footnotes and captions in comments."""
    tables = [_latex_lines(rows), *(f"% {printable(told)}\n{_latex_lines(own)}" for told, own in more)]
    return "\n".join([*(f"% {printable(line)}" for line in footnotes), "\n\n".join(tables)]) + "\n"


def _latex_lines(rows: Rows) -> str:
    shown = [
        [cell.with_above(f"{latex_text(cell.text)}{LATEX_TAILS[cell.tail]}", LATEX_ABOVE) for cell in row]
        for row in rows
    ]
    header, *body = [" & ".join(row) + r" \\" for row in shown]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
    return "\n".join([begin, r"\toprule", header, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])


def html_text(text: str) -> str:
    """Return text that HTML shows as it stands."""
    return printable(text).translate(HTML)


def as_html(title: str, rows: Rows, notes: Sequence[str], more: Sequence[Table] = ()) -> str:
    """Return HTML tables, with their titles above and the notes below."""
    tables = [f"<p>{html_text(told)}</p>\n{_html_lines(own)}" for told, own in (Table(title, rows), *more)]
    below = (f"<p><small>{html_text(note)}</small></p>" for note in notes)
    return "\n".join(["<div>", *tables, *below, "</div>"])


def _html_lines(rows: Rows) -> str:
    shown = [
        [cell.with_above(html_text(f"{cell.text}{MARKDOWN_TAILS[cell.tail]}"), ABOVE) for cell in row]
        for row in rows
    ]
    header, *body = [
        f'<tr><th style="text-align: left">{name}</th>{_between(tag, texts)}</tr>'
        for tag, (name, *texts) in zip(["th", *["td"] * (len(shown) - 1)], shown, strict=True)
    ]
    return "\n".join(["<table>", "<thead>", header, "</thead>", "<tbody>", *body, "</tbody>", "</table>"])


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
