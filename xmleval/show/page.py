"""A page of results: tables, figures and text in one HTML file that needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xmleval.base.errors import import_optional, printable
from xmleval.show.drawing import as_image, columns_of
from xmleval.show.panels import Panel
from xmleval.show.tables import ARROWS, Table, rows_of
from xmleval.version import __version__

SPOKEN = {"up": "higher is better", "down": "lower is better"}
MOST_ROWS = 1200  # of the numbers below a figure


class Section(NamedTuple):
    """Tables and lines of text under a heading, below a figure if there is one."""

    heading: str
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()  # notes on the tables
    panels: Sequence[Panel] = ()  # of the figure
    caption: str = ""  # what the figure shows

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
    template = environment.get_template("page.html.jinja")
    page = template.render(
        title=title,
        summary=summary,
        sections=[*sections],
        about={"xmleval": __version__, **about},
        as_image=as_image,
        columns_of=columns_of,
        arrows=ARROWS,
        spoken=SPOKEN,
        is_number=lambda cell: cell.text.startswith(tuple("+-0123456789<")),
        version=__version__,
    )
    return str(page)
