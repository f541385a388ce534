"""A page of results: tables, figures and text in one HTML file that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xmleval.base.errors import import_optional, printable
from xmleval.show.drawing import as_image, columns_of, figure_of
from xmleval.show.panels import Panel, as_table, described
from xmleval.show.tables import ARROWS, Cell, Table
from xmleval.version import __version__

SPOKEN = {"up": "higher is better", "down": "lower is better"}
PARTS = "page.html.jinja", "page.css", "page.js"
MOST_ROWS = 1200  # of the numbers beside a figure


@dataclass(frozen=True)
class Figure:
    """A figure under a heading: its panels, and a line on what it shows."""

    heading: str
    text: str
    panels: Sequence[Panel]
    tables: Sequence[Table] = ()
    more: str = ""  # on tables that are left out
    drawn: Any = None  # a figure of matplotlib, where panels alone do not tell how


@dataclass(frozen=True)
class Section:
    """Tables and lines of text under a heading."""

    heading: str
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Page:
    """What a page shows, from the top.

    Parameters
    ----------
    title : str
        Name of what was evaluated.
    summary : list of str
        The result in a sentence or two.
    results : Section
        The main table with its notes.
    figures : list of Figure
        Figures in order.
    sections : list of Section
        Further tables.
    about : dict of str to str
        How it was computed.
    """

    title: str
    summary: Sequence[str]
    results: Section
    figures: Sequence[Figure] = ()
    sections: Sequence[Section] = ()
    about: Mapping[str, str] = field(default_factory=dict)


def as_page(page: Page) -> str:
    """Return a page as HTML.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is not installed.
    """
    jinja2 = import_optional("jinja2", "to_html()", "html")
    import_optional("matplotlib", "to_html()", "html")
    markup = import_optional("markupsafe", "to_html()", "html").Markup
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = printable
    here = jinja2.PackageLoader("xmleval.show", ".")
    parts = {name: here.get_source(environment, name)[0] for name in PARTS}
    template = environment.from_string(parts["page.html.jinja"])
    figures = []
    for figure in page.figures:
        numbers = [(panel.title or figure.heading, as_table(panel)) for panel in figure.panels]
        figures.append(
            {
                "heading": figure.heading,
                "text": figure.text,
                "tables": figure.tables,
                "more": figure.more,
                "described": " ".join(described(panel) for panel in figure.panels),
                "columns": columns_of(figure.panels),
                "image": as_image(figure.drawn or figure_of(figure.panels)),
                "numbers": [
                    (told, header, rows[:: -(-len(rows) * len(numbers) // MOST_ROWS) or 1], len(rows))
                    for told, (header, rows) in numbers
                ],
            }
        )
    text: str = template.render(
        page=page,
        figures=figures,
        style=markup(parts["page.css"]),
        script=markup(parts["page.js"]),
        is_number=_is_number,
        arrows=ARROWS,
        spoken=SPOKEN,
        version=__version__,
    )
    return text


def _is_number(cell: Cell) -> bool:
    """Tell whether a cell stands on the right of its column."""
    return cell.text[:1] in "+-0123456789<" and cell.text != ""


def rows_of(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[list[Cell]]:
    """Return a table of texts."""
    return [[*map(Cell, header)], *([Cell(str(text)) for text in row] for row in rows)]
