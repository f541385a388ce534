"""A page of results: tables, figures and text in one HTML file that needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xmleval.base.errors import import_optional, printable
from xmleval.show.drawing import as_image, layout_of
from xmleval.show.panels import Panel
from xmleval.show.tables import ARROWS, Cell, Table, full_lines, lines_of, rows_of
from xmleval.version import __version__

SPOKEN = {"up": "higher is better", "down": "lower is better"}
MOST_ROWS = 1200  # of the numbers below a figure
MOST_TABLES = 3  # below a figure; more are folded
# in pixels, as page.css sets them
COLUMN = 590  # of two columns on a screen of 1280
SHRUNK = 1.2  # times its column, up to which a figure is shrunk to fit into it
CHARACTER = 7.9  # of a number
PADDING = 15  # of a cell
LEAST_NAME = 120  # of the first column
LEAST_TEXT = 130  # of a column of texts, whose lines break
INCH = 96
WORDS = re.compile(r"[^ /]+")  # of a head, between which lines break


class Section(NamedTuple):
    """Tables and lines of text under a heading, below a figure if there is one."""

    heading: str
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()  # notes on the tables
    panels: Sequence[Panel] = ()  # of the figure
    caption: str = ""  # what the figure shows

    @property
    def is_folded(self) -> bool:
        """Whether tables are shown on request."""
        return bool(self.panels) and len(self.tables) > MOST_TABLES

    @property
    def is_wide(self) -> bool:
        """Whether it needs the width of both columns of a page."""
        n_parts = len(self.tables) + bool(self.panels)
        return n_parts > 1 or has_wide_figure(self) or any(map(is_wide_table, self.tables))

    @property
    def numbers(self) -> list[Table]:
        """Tables of the numbers of the panels; above MOST_ROWS rows, evenly spaced ones."""
        tables = []
        for panel in self.panels:
            header, *rows = panel.numbers()
            caption = panel.title or self.heading
            step = -(-len(rows) * len(self.panels) // MOST_ROWS) or 1
            if step > 1:
                n_rows = len(rows)
                rows = rows[::step]
                caption += f" ({len(rows)} of {n_rows} rows)"
            tables.append(Table(caption, rows_of([header, *rows])))
        return tables


def has_wide_figure(section: Section) -> bool:
    """Return whether a figure does not fit into one of two columns, even if it is shrunk."""
    return bool(section.panels) and INCH * layout_of(section.panels).width > SHRUNK * COLUMN


def is_wide_table(table: Table) -> bool:
    """Return whether a table seems not to fit into one of two columns."""
    _, *columns = zip(*lines_of(table), strict=True)
    width = float(LEAST_NAME)
    for head, *cells in columns:
        if cells and not is_number(cells[0]):
            width += LEAST_TEXT
            continue
        sizes = [len(word) for word in WORDS.findall(head.text)]
        sizes += [len(cell.text) + len(cell.above) for cell in cells]
        width += CHARACTER * max(sizes, default=0) + PADDING
    return width > COLUMN


def is_number(cell: Cell) -> bool:
    """Return whether a cell has a number, which is aligned on the right."""
    return cell.text.startswith(tuple("+-0123456789<"))


def as_page(
    title: str, summary: Sequence[str], sections: Iterable[Section], about: Mapping[str, str]
) -> str:
    """Return a page as HTML: a summary, sections, how it was made."""
    jinja2 = import_optional("jinja2", "to_html()", "html")
    import_optional("matplotlib", "to_html()", "html")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("xmleval.show", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = printable
    environment.filters["full_lines"] = full_lines
    template = environment.get_template("page.html.jinja")
    page = template.render(
        title=title,
        summary=summary,
        sections=[*sections],
        about={"xmleval": __version__, **about},
        as_image=as_image,
        layout_of=layout_of,
        has_wide_figure=has_wide_figure,
        is_wide_table=is_wide_table,
        arrows=ARROWS,
        spoken=SPOKEN,
        is_number=is_number,
        version=__version__,
    )
    return str(page)
