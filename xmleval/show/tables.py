"""Tables in every printed form: each form writes cells of text with one function."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from xmleval.base.errors import printable
from xmleval.base.numerals import decimal_number

# Forms of results, each with a method such as `to_latex`, and the endings of their file names.
FORMS: dict[str, tuple[str, ...]] = {
    "table": (),
    "json": (".json",),
    "csv": (".csv",),
    "markdown": (".md", ".markdown"),
    "latex": (".tex", ".latex"),
}
# Marks of cells: the direction of better values, or that a value is better than another, the first
# or the second of all.
ARROWS = {"up": "↑", "down": "↓", "none": ""}
TEXT_TAILS = {
    "": "",
    "none": "",
    "up": " ↑",
    "down": " ↓",
    "best": " *",
    "first": " *",
    "second": "  ",
    "other": "  ",
}
LATEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "]": "{]}",
        "±": r"\textpm{}",
        **{c: f"\\{c}" for c in "&%$#_{}"},
    }
)
HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
MARKDOWN_ESCAPES = str.maketrans({c: f"\\{c}" for c in r"\`*_{}[]<>|~$&"})
LETTER = re.compile("[^\\W\\d_]")
MINUS = re.compile("(?<![^ (\\[{},])-(?=[.0-9])")  # of a number
SEPARATORS = "._-/"  # of words in the name of a file
GAP = "  "
# points of LaTeX, at ten points: half the space between columns, and characters
SEPARATION = 6
CAPITAL = 7.4
SMALL_LETTER = 4.6
CHARACTER = 5
SUPERSCRIPT = 3.7
# bold and green
BEST = "\x1b[1;32m"
PLAIN = "\x1b[0m"
FORMULA = tuple("=+-@＝＋－＠")  # first characters of formulas in spreadsheets
QUOTED = re.compile(r'[",;\t]')
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


class Cell(NamedTuple):
    """A text, such as a name or a number, with its mark and a superscript."""

    text: str
    tail: str = ""  # a key of `TEXT_TAILS`
    above: str = ""


class TableStyle(TypedDict, total=False):
    """How tables show values: the keywords of ``tables`` of a result."""

    rows: str | None
    percent: bool
    digits: int | None
    intervals: bool


EMPTY = Cell("")
Rows = Sequence[Sequence[Cell]]
Heads = Mapping[Any, Cell]  # of rows or columns, by the keys of `Cells`
Cells = Mapping[tuple[Any, Any], Cell]  # by row and column


class Table(NamedTuple):
    """A header and rows under a caption.

    rows : the header, then rows; an empty one is a rule
    kind : of the figure they belong to, if any
    n_heads : number of first columns that hold heads of rows
    spans : heads of as many further columns each, above the header
    """

    caption: str
    rows: Rows
    kind: str = ""
    n_heads: int = 1
    spans: Sequence[tuple[str, int]] = ()


def lines_of(table: Table) -> list[Sequence[Cell]]:
    """Return the rows without rules, with the spans within the header, for forms of text."""
    lines = [row for row in table.rows if row]
    if not table.spans:
        return lines
    heads = [text for text, n_columns in table.spans for _ in range(n_columns)]
    header = [*lines[0][: table.n_heads]]
    for text, cell in zip(heads, lines[0][table.n_heads :], strict=True):
        header.append(cell._replace(text=f"{text} {cell.text}"))
    return [header, *lines[1:]]


def full_lines(table: Table) -> list[Sequence[Cell]]:
    """Return the lines with the first head of several in each row, so that rows can be sorted."""
    header, *rows = lines_of(table)
    if table.n_heads == 1:
        return [header, *rows]
    lines = [header]
    head = EMPTY
    for first, *others in rows:
        head = first if first != EMPTY else head
        lines.append([head, *others])
    return lines


def turned(table: Table, corner: str) -> Table:
    """Return a table with its columns as rows, under another head of the first column."""
    (_, *heads), *rows = table.rows
    return table._replace(rows=[*zip([Cell(corner), *heads], *rows, strict=True)])


def rows_of(lines: Iterable[Iterable[str]]) -> Rows:
    """Return a table of texts."""
    return [[*map(Cell, line)] for line in lines]


def table_of(
    caption: str, corner: str, rows: Heads, columns: Heads, cells: Cells, kind: str = ""
) -> Table:
    """Return a table of cells by row and column, with their heads; other cells are empty."""
    lines = [[Cell(corner), *columns.values()]]
    for row, head in rows.items():
        lines.append([head, *[cells.get((row, column), EMPTY) for column in columns]])
    return Table(caption, lines, kind)


def short(value: float) -> str:
    """Return a value as tables show it."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"  # losses are small with a million labels
    if abs(value) < 99.99995:
        return f"{value:.4f}"
    return f"{value:.6g}"  # at most six digits


class TableForm(NamedTuple):
    """How a printed form writes cells.

    escapes : replacements of characters, as for `str.translate`
    marks : format of a marked text, by the tail of its cell
    above : format of a superscript
    """

    escapes: Mapping[int, str]
    marks: Mapping[str, str]
    above: str

    def text(self, text: str) -> str:
        """Return text with characters escaped, so that this form shows it unchanged."""
        return printable(text).translate(self.escapes)

    def written(self, cell: Cell) -> str:
        """Return a cell in this form."""
        text = self.marks[cell.tail].format(self.text(cell.text))
        if not cell.above:
            return text
        return f"{text}{self.above.format(cell.above)}"


MARKS = {key: f"{{}}{tail.rstrip() and tail}" for key, tail in TEXT_TAILS.items()}
LATEX_MARKS = MARKS | {
    "up": r"{} $\uparrow$",
    "down": r"{} $\downarrow$",
    "best": r"\textbf{{{}}}",
    "first": r"\textbf{{{}}}",
    "second": r"\underline{{{}}}",
}
MARKDOWN_MARKS = MARKS | {"first": "**{}**", "second": "<u>{}</u>"}
HTML_MARKS = MARKS | {"first": "<b>{}</b>", "second": "<u>{}</u>"}
MARKDOWN = TableForm(MARKDOWN_ESCAPES, MARKDOWN_MARKS, "<sup>{}</sup>")
HTML = TableForm(HTML_ESCAPES, HTML_MARKS, MARKDOWN.above)
LATEX = TableForm(LATEX_ESCAPES, LATEX_MARKS, "$^{{{}}}$")


def csv_text(value: str | float | None) -> str:
    """Return a field of a CSV file.

    Numbers are in full precision, undefined ones empty. A text that a spreadsheet would take for a
    formula gets a leading apostrophe, as OWASP advises; numbers such as -1 do not. Control
    characters, such as a tab or a newline in front of a formula, become escapes.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        is_nan = value != value
        return "" if is_nan else repr(value)
    text = CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), value)
    if text.lstrip("'").startswith(FORMULA) and decimal_number(text) is None:
        text = f"'{text}"
    if not QUOTED.search(text):
        return text
    quoted = text.replace('"', '""')
    return f'"{quoted}"'


def names_of_files(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders only if the names are not unique."""
    names = [path.name for path in paths]
    if len({*names}) == len(names):
        return names
    return [*map(str, paths)]


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the words that all of them begin or end with.

    Each name keeps at least one letter.

    Examples
    --------
    >>> short_names(["out/bert_test.npz", "out/xlnet_test.npz"])
    ['bert', 'xlnet']
    """
    if len(names) < 2:
        return [*names]
    # cut shared endings, which start the reversed names, then shared beginnings
    reversed_names = _without_shared_start([name[::-1] for name in names])
    return _without_shared_start([name[::-1] for name in reversed_names])


def _without_shared_start(names: Sequence[str]) -> list[str]:
    """Return two names or more without the words that all of them begin with."""
    # all names share what the first and the last in order share
    first = min(names)
    last = max(names)
    n_cut = 0
    for n, character in enumerate(first, 1):
        is_shared = character in SEPARATORS and last.startswith(first[:n])
        if is_shared and all(LETTER.search(name[n:]) for name in names):
            n_cut = n
    return [name[n_cut:] for name in names]


def as_text(
    tables: Sequence[Table],
    footnotes: Sequence[str],
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Return tables for a terminal; lines are no wider than ``width``, as far as words allow."""
    texts = []
    for table in tables:
        blocks: list[Rows] = [lines_of(table)]
        if width is not None:
            blocks = _fitted(table, width)
        lines = "\n\n".join(_lined_up(block, table.n_heads, colour) for block in blocks)
        texts.append("\n".join([folded(printable(table.caption), width), lines]))
    notes = [folded(printable(line), width) for line in footnotes]
    return "\n".join(["\n\n".join(texts), *notes])


def folded(text: str, width: int | None) -> str:
    """Return text in lines that break between words only."""
    if width is None or len(text) <= width:
        return text
    return textwrap.fill(
        text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _fitted(table: Table, width: int) -> list[Rows]:
    """Return a table or its transpose, in blocks of columns: the narrower, or the fewer blocks."""
    rows = lines_of(table)
    forms = [_blocks(rows, table.n_heads, width)]
    if table.n_heads == 1:
        turned = [*zip([EMPTY, *rows[0][1:]], *rows[1:], strict=True)]
        forms.append(_blocks(turned, 1, width))

    def size(blocks: list[Rows]) -> tuple[int, int]:
        """Return the width of the widest block, if above the limit, and the number of blocks."""
        return max(width, *(sum(_widths(block, table.n_heads)) for block in blocks)), len(blocks)

    return min(forms, key=size)


def _blocks(rows: Rows, n_heads: int, width: int) -> list[Rows]:
    """Cut a table into the fewest even blocks of columns that fit, each with the heads of rows."""
    all_widths = _widths(rows, n_heads)
    heads = sum(all_widths[:n_heads])
    widths = all_widths[n_heads:]
    for n_blocks in range(1, len(widths) + 1):
        size = -(-len(widths) // n_blocks)
        starts = range(0, len(widths), size)
        widest = max(sum(widths[start : start + size]) for start in starts)
        if size == 1 or heads + widest <= width:
            break
    blocks = list[Rows]()
    for start in starts:
        columns = slice(n_heads + start, n_heads + start + size)
        blocks.append([[*row[:n_heads], *row[columns]] for row in rows])
    return blocks


def _widths(rows: Rows, n_heads: int) -> list[int]:
    """Return the widths of columns in characters."""
    return [len(column[0]) for column in _columns(rows, n_heads)]


def _columns(rows: Rows, n_heads: int) -> list[list[str]]:
    """Return columns of texts, each padded to one width, with superscripts aligned.

    All columns but the first start with a gap.
    """
    columns = []
    for place, cells in enumerate(zip(*rows, strict=True)):
        texts = [f"{printable(cell.text)}{TEXT_TAILS[cell.tail]}" for cell in cells]
        n_above = max(len(cell.above) for cell in cells)
        if n_above:
            texts = [
                f"{text} {cell.above.ljust(n_above)}"
                for text, cell in zip(texts, cells, strict=True)
            ]
        width = max(map(len, texts))
        gap = GAP if place else ""
        if place < n_heads:
            columns.append([gap + text.ljust(width) for text in texts])
        else:
            columns.append([gap + text.rjust(width) for text in texts])
    return columns


def _lined_up(rows: Rows, n_heads: int, colour: bool) -> str:
    """Return a table in lines, with a rule below the header."""
    lines = list[str]()
    n_rule = 0
    for row, texts in zip(rows, zip(*_columns(rows, n_heads), strict=True), strict=True):
        line = "".join(texts).rstrip()
        n_rule = max(n_rule, len(line))
        if colour:
            line = "".join(map(_coloured, row, texts)).rstrip()
        lines.append(line)
    return "\n".join([lines[0], "-" * n_rule, *lines[1:]])


def _coloured(cell: Cell, text: str) -> str:
    """Return the text of a cell, in colour if its value is the best."""
    return f"{BEST}{text}{PLAIN}" if cell.tail in ("best", "first") else text


def as_markdown(tables: Sequence[Table], footnotes: Sequence[str]) -> str:
    """Return Markdown tables, all but the first under their captions."""
    blocks = []
    for table in tables:
        header, *body = [f"| {' | '.join(map(MARKDOWN.written, row))} |" for row in lines_of(table)]
        n_columns = len(table.rows[0])
        rule = f"|{'---|' * table.n_heads}{'---:|' * (n_columns - table.n_heads)}"
        blocks += [MARKDOWN.text(table.caption), "\n".join([header, rule, *body])]
    below = "\n".join(f"{MARKDOWN.text(line)}  " for line in footnotes)
    return "\n\n".join([*blocks[1:], below]).rstrip() + "\n"


def as_latex(tables: Sequence[Table], footnotes: Sequence[str]) -> str:
    """Return tabulars (package booktabs), with notes as comments.

    Captions and rows of one cell are headings. The first table has no caption.
    """
    comments = [f"% {printable(line)}" for line in footnotes]
    blocks = list[str]()
    for table in tables:
        caption = table.caption if blocks else None
        blocks.append(_as_tabular(table, caption))
    return "\n".join([*comments, "\n\n".join(blocks)]) + "\n"


def _as_tabular(table: Table, caption: str | None) -> str:
    """Return a tabular, under its caption if there is one."""
    n_columns = len(table.rows[0])
    over_all = rf"\multicolumn{{{n_columns}}}{{l}}"
    lines = list[str]()
    for n, row in enumerate(table.rows):
        texts = [*map(LATEX.written, row)]
        if n:
            texts[table.n_heads :] = [MINUS.sub("$-$", text) for text in texts[table.n_heads :]]
        if not row:
            lines.append(r"\midrule")
        elif len(row) == 1:
            lines.append(rf"\midrule {over_all}{{{texts[0]}}} \\")
        else:
            lines.append(rf"{' & '.join(texts)} \\")
    header, *body = lines
    alignment = "l" * table.n_heads + "r" * (n_columns - table.n_heads)
    top = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    if caption is not None:
        top.append(rf"{over_all}{{{LATEX.text(caption)}}} \\")
    top += _span_lines(table)
    return "\n".join([*top, header, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])


def _span_lines(table: Table) -> list[str]:
    """Return the line of LaTeX with heads of several columns, and that with the rules below."""
    if not table.spans:
        return []
    texts = [""] * table.n_heads
    rules = list[str]()
    first = table.n_heads + 1
    for text, n_columns in table.spans:
        texts.append(rf"\multicolumn{{{n_columns}}}{{c}}{{{LATEX.text(text)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + n_columns - 1}}}")
        first += n_columns
    return [rf"{' & '.join(texts)} \\", " ".join(rules)]


def latex_points(tables: Sequence[Table]) -> int:
    """Return about how wide the widest tabular is, at ten points, in points."""
    widest = 0.0
    for table in tables:
        rows = [row for row in table.rows if len(row) > 1]
        n_columns = len(rows[0])
        width = 2.0 * SEPARATION * n_columns
        for column in zip(*rows, strict=True):
            width += max(_latex_width(cell) for cell in column)
        widest = max(widest, width)
    return round(widest)


def _latex_width(cell: Cell) -> float:
    """Return about how wide a cell is, in points."""
    width = SUPERSCRIPT * len(cell.above)
    for character in cell.text:
        if character.isupper() or character == "@":
            width += CAPITAL
        else:
            width += SMALL_LETTER if character.islower() else CHARACTER
    if cell.tail in ("up", "down"):
        width += 2 * CHARACTER
    return width


def as_html(tables: Sequence[Table], footnotes: Sequence[str]) -> str:
    """Return HTML tables, with their captions above and the footnotes below."""
    blocks = list[str]()
    for table in tables:
        lines = []
        rows = lines_of(table)
        for tag, row in zip(["th", *["td"] * len(rows)], rows, strict=False):
            texts = [*map(HTML.written, row)]
            heads = "".join(
                f'<th style="text-align: left">{text}</th>' for text in texts[: table.n_heads]
            )
            cells = "".join(f"<{tag}>{text}</{tag}>" for text in texts[table.n_heads :])
            lines.append(f"<tr>{heads}{cells}</tr>")
        blocks += [
            f"<p>{HTML.text(table.caption)}</p>",
            "<table>",
            "<thead>",
            lines[0],
            "</thead>",
            "<tbody>",
        ]
        blocks += [*lines[1:], "</tbody>", "</table>"]
    below = (f"<p><small>{HTML.text(note)}</small></p>" for note in footnotes)
    return "\n".join(["<div>", *blocks, *below, "</div>"])


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return CSV with numbers in full precision; undefined numbers are empty."""
    return "".join(f"{','.join(map(csv_text, row))}\n" for row in (header, *rows))


def as_json_value(value: object) -> Any:
    """Return a value as JSON has it, with the members of lists, tuples, arrays and mappings.

    Undefined numbers are None, infinite ones texts.
    """
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if isinstance(value, np.ndarray):
        return as_json_value(value.tolist())
    if hasattr(value, "_asdict"):
        return as_json_value(value._asdict())
    if isinstance(value, Mapping):
        return {name: as_json_value(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [*map(as_json_value, value)]
    return value
