"""Tables in every printed form, from cells of text that go through one function for each form."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.errors import printable
from xmleval.base.numerals import decimal_number

# Forms of results, each of a method such as `to_latex`, and the endings of names of files in it.
FORMS: dict[str, tuple[str, ...]] = {
    "table": (), "json": (".json",), "csv": (".csv",), "markdown": (".md", ".markdown"),
    "latex": (".tex", ".latex"),
}  # fmt: skip
# What marks the text of a cell: the direction of better values, or that a value is the best or second best.
ARROWS = {"up": "↑", "down": "↓", "none": ""}
TEXT_TAILS = {"": "", "none": "", "up": " ↑", "down": " ↓", "best": " *", "second": "  ", "other": "  "}
LATEX_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}", "±": r"\textpm{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
})  # fmt: skip
HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
MARKDOWN_ESCAPES = str.maketrans({c: f"\\{c}" for c in r"\`*_{}[]<>|~$&"})
LETTER = re.compile("[^\\W\\d_]")
SEPARATORS = "._-/"  # of words in the name of a file
GAP = "  "
BEST, PLAIN = "\x1b[1;32m", "\x1b[0m"  # bold and green
FORMULA = tuple("=+-@＝＋－＠")  # what a spreadsheet takes for the beginning of a formula
QUOTED = re.compile(r'[",;\t]')
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Cell(NamedTuple):
    """A text, such as a name or a number, what follows it (a key of the tails above), and a superscript."""

    text: str
    tail: str = ""
    above: str = ""


EMPTY = Cell("")
Rows = Sequence[Sequence[Cell]]
Heads = Mapping[Any, Cell]  # of rows or columns, by what they are of
Cells = Mapping[tuple[Any, Any], Cell]  # by row and column


class Table(NamedTuple):
    """A header and rows under a caption; ``kind`` is that of the figure they belong to, if any."""

    caption: str
    rows: Rows
    kind: str = ""


def rows_of(lines: Iterable[Iterable[str]]) -> Rows:
    """Return a table of texts."""
    return [[*map(Cell, line)] for line in lines]


def table_of(caption: str, corner: str, rows: Heads, columns: Heads, cells: Cells, kind: str = "") -> Table:
    """Return a table of cells by row and column, whose heads are given; other cells are empty."""
    lines = [[head, *[cells.get((row, name), EMPTY) for name in columns]] for row, head in rows.items()]
    return Table(caption, [[Cell(corner), *columns.values()], *lines], kind)


def short(value: float) -> str:
    """Return a value as tables show it."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"  # losses are small with a million labels
    return f"{value:.4f}" if abs(value) < 99.99995 else f"{value:.6g}"  # at most six digits


class Form(NamedTuple):
    """How a printed form escapes characters, how it marks a text, by key, and a superscript."""

    escapes: Mapping[int, str]
    marks: Mapping[str, str]
    above: str

    def text(self, text: str) -> str:
        """Return text that this form shows as it stands."""
        return printable(text).translate(self.escapes)

    def written(self, cell: Cell) -> str:
        """Return a cell in this form."""
        text = self.marks[cell.tail].format(self.text(cell.text))
        return f"{text}{self.above.format(cell.above)}" if cell.above else text


MARKS = {key: f"{{}}{tail.rstrip() and tail}" for key, tail in TEXT_TAILS.items()}
LATEX_MARKS = MARKS | {
    "up": r"{} $\uparrow$", "down": r"{} $\downarrow$",
    "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}",
}  # fmt: skip
MARKDOWN = Form(MARKDOWN_ESCAPES, MARKS, "<sup>{}</sup>")
HTML = Form(HTML_ESCAPES, MARKS, MARKDOWN.above)
LATEX = Form(LATEX_ESCAPES, LATEX_MARKS, "$^{{{}}}$")


def csv_text(value: str | float | None) -> str:
    """Return a field of a CSV file.

    Numbers are in full precision, undefined ones empty. A text that a spreadsheet would take for a formula
    gets a leading apostrophe, as OWASP advises; numbers such as -1 do not. Control characters, such as a tab
    or a newline in front of a formula, become escapes.
    """
    if not isinstance(value, str):
        return "" if value is None or value != value else repr(value)
    text = CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), value)
    if text.lstrip("'").startswith(FORMULA) and decimal_number(text) is None:
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def names_of_files(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders only where they would be alike."""
    names = [path.name for path in paths]
    return names if len({*names}) == len(names) else [*map(str, paths)]


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the words that all of them end or begin with, as far as words are left of each.

    Examples
    --------
    >>> short_names(["out/bert_test.npz", "out/xlnet_test.npz"])
    ['bert', 'xlnet']
    """
    shortened = [*names]
    for _ in range(2 if len(names) > 1 else 0):  # cut what all end with, and then what all begin with
        turned = [name[::-1] for name in shortened]
        first, last = min(turned), max(turned)  # what these share, all share
        shared = [n for n, c in enumerate(first, 1) if c in SEPARATORS and last.startswith(first[:n])]
        n_cut = max((n for n in shared if all(LETTER.search(name[n:]) for name in turned)), default=0)
        shortened = [name[n_cut:] for name in turned]
    return shortened


def as_text(
    tables: Sequence[Table], footnotes: Sequence[str], width: int | None = None, colour: bool = False
) -> str:
    """Return tables for a terminal; lines are no wider than ``width``, as far as words allow."""
    texts, fold = [], partial(folded, width=width)
    for caption, rows, _ in tables:
        blocks = map(partial(_lined_up, colour=colour), [rows] if width is None else _fitted(rows, width))
        texts.append("\n".join([fold(printable(caption)), "\n\n".join(blocks)]))
    return "\n".join(["\n\n".join(texts), *map(fold, map(printable, footnotes))])


def folded(text: str, width: int | None) -> str:
    """Return text in lines that break between words only."""
    if width is None or len(text) <= width:
        return text
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _fitted(rows: Rows, width: int) -> list[Rows]:
    """Return a table whole, or its rows as columns, or either cut into blocks of columns."""
    turned = [*zip([EMPTY, *rows[0][1:]], *rows[1:], strict=True)]
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
    return [len(column[0]) for column in _columns(rows)]


def _columns(rows: Rows) -> list[list[str]]:
    """Return columns of texts of one width, all but the first behind a gap; superscripts line up, too."""
    columns = []
    for place, column in enumerate(zip(*rows, strict=True)):
        texts = [f"{printable(cell.text)}{TEXT_TAILS[cell.tail]}" for cell in column]
        *_, letters = zip(*column, strict=True)
        if any(letters):
            widest = max(map(len, letters))
            texts = [f"{text} {above.ljust(widest)}" for text, above in zip(texts, letters, strict=True)]
        width = max(map(len, texts))
        columns.append([GAP + text.rjust(width) if place else text.ljust(width) for text in texts])
    return columns


def _lined_up(rows: Rows, colour: bool) -> str:
    """Return a table in lines, under a header and a rule."""
    lines, shown = list[str](), list[str]()
    for row, texts in zip(rows, zip(*_columns(rows), strict=True), strict=True):
        lines.append("".join(texts).rstrip())
        pairs = zip(row, texts, strict=True)
        marked = [f"{BEST}{text}{PLAIN}" if cell.tail == "best" else text for cell, text in pairs]
        shown.append("".join(marked).rstrip() if colour else lines[-1])
    return "\n".join([shown[0], "-" * max(map(len, lines)), *shown[1:]])


def as_markdown(tables: Sequence[Table], footnotes: Sequence[str]) -> str:
    """Return Markdown tables, all but the first under their captions."""
    blocks = []
    for caption, rows, _ in tables:
        header, *body = [f"| {' | '.join(map(MARKDOWN.written, row))} |" for row in rows]
        rule = f"|---|{'---:|' * (len(rows[0]) - 1)}"
        blocks += [MARKDOWN.text(caption), "\n".join([header, rule, *body])]
    below = "\n".join(f"{MARKDOWN.text(line)}  " for line in footnotes)
    return "\n\n".join([*blocks[1:], below]).rstrip() + "\n"


def as_latex(tables: Sequence[Table], footnotes: Sequence[str]) -> str:
    """Return tabulars (package booktabs); notes are comments, captions and rows of one cell are headings.

    The first table has no caption.
    """
    blocks = list[str]()
    for caption, rows, _ in tables:
        heading = rf"\midrule \multicolumn{{{len(rows[0])}}}{{l}}"
        texts = [[*map(LATEX.written, row)] for row in rows]
        lines = [f"{heading}{{{row[0]}}}" if len(row) == 1 else " & ".join(row) for row in texts]
        header, *body = [rf"{line} \\" for line in lines]
        begin = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
        title = [] if not blocks else [rf"\multicolumn{{{len(rows[0])}}}{{l}}{{{LATEX.text(caption)}}} \\"]
        top = [begin, r"\toprule", *title, header, r"\midrule"]
        blocks.append("\n".join([*top, *body, r"\bottomrule", r"\end{tabular}"]))
    return "\n".join([*(f"% {printable(line)}" for line in footnotes), "\n\n".join(blocks)]) + "\n"


def as_html(tables: Sequence[Table], footnotes: Sequence[str]) -> str:
    """Return HTML tables, with their captions above and the footnotes below."""
    blocks = list[str]()
    for caption, rows, _ in tables:
        lines = []
        for tag, row in zip(["th", *["td"] * len(rows)], rows, strict=False):
            name, *texts = map(HTML.written, row)
            cells = "".join(f"<{tag}>{text}</{tag}>" for text in texts)
            lines.append(f'<tr><th style="text-align: left">{name}</th>{cells}</tr>')
        blocks += [f"<p>{HTML.text(caption)}</p>", "<table>", "<thead>", lines[0], "</thead>", "<tbody>"]
        blocks += [*lines[1:], "</tbody>", "</table>"]
    below = (f"<p><small>{HTML.text(note)}</small></p>" for note in footnotes)
    return "\n".join(["<div>", *blocks, *below, "</div>"])


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return CSV with numbers in full precision; undefined numbers are empty."""
    return "".join(f"{','.join(map(csv_text, row))}\n" for row in (header, *rows))


def as_json_value(value: object) -> Any:
    """Return what JSON has: None for undefined numbers, texts for infinite ones, lists and dicts of these."""
    if isinstance(value, float):
        return None if math.isnan(value) else value if math.isfinite(value) else str(value)
    if hasattr(value, "_asdict") or isinstance(value, np.ndarray):
        return as_json_value(value.tolist() if isinstance(value, np.ndarray) else value._asdict())
    if isinstance(value, Mapping):
        return {name: as_json_value(member) for name, member in value.items()}
    return [*map(as_json_value, value)] if isinstance(value, list | tuple) else value
