"""Tables in every printed form, from rows of strings with the header first, and notes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

ARROWS = {"up": "↑", "down": "↓", "none": ""}  # direction of better values
LATEX_ARROWS = {"up": r" $\uparrow$", "down": r" $\downarrow$", "none": ""}
Rows = Sequence[Sequence[str]]


def short(value: float) -> str:
    """Return a value as tables show it."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"  # losses are small with a million labels
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def as_text(title: str, rows: Rows, notes: Sequence[str]) -> str:
    """Return a table for a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    rule = "-" * max(len(line.rstrip()) for line in lines)
    return "\n".join([title, lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), *notes])


def as_markdown(rows: Rows, notes: Sequence[str]) -> str:
    """Return a Markdown table."""
    header, *body = [f"| {' | '.join(cell.strip() for cell in row)} |" for row in rows]
    rule = f"|---|{'---:|' * (len(rows[0]) - 1)}"
    return "\n".join([header, rule, *body, "", *(f"{note}  " for note in notes)]).rstrip() + "\n"


def as_latex(rows: Rows, notes: Sequence[str]) -> str:
    """Return a LaTeX tabular (package booktabs), the notes in comments."""
    header, *body = [" & ".join(cell.strip().replace("_", r"\_") for cell in row) + r" \\" for row in rows]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
    table = [begin, r"\toprule", header, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*(f"% {note}" for note in notes), *table]) + "\n"


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """Return CSV with numbers in full precision; undefined numbers are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(
            [cell if isinstance(cell, str) else "" if cell != cell else repr(cell) for cell in row]
        )
    return out.getvalue()
