"""Printed: a table with a title and footnotes, in every printed form."""

from __future__ import annotations

from xmleval.report.tables import Cell, Table, as_html, as_latex, as_markdown, as_text


class Printed:
    """What is printed as a table: a title, a header with rows, and footnotes."""

    def _title(self) -> str:
        raise NotImplementedError

    def grid(self) -> list[list[Cell]]:
        """Return the header and the rows."""
        raise NotImplementedError

    def footnotes(self) -> list[str]:
        """Return the lines below the table."""
        raise NotImplementedError

    def part_tables(self) -> list[Table]:
        """Return further tables, of groups of labels or rows."""
        return []

    def __str__(self) -> str:
        """Return a table for a terminal."""
        return self.to_text()

    def to_text(self, width: int | None = None, colour: bool = False) -> str:
        """Return a table for a terminal of ``width`` columns, if given, with colours or without."""
        return as_text(self._title(), self.grid(), self.footnotes(), width, colour, self.part_tables())

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(self._title(), self.grid(), self.footnotes(), self.part_tables())

    def to_markdown(self) -> str:
        """Return the table as Markdown, with the footnotes below.

        Returns
        -------
        str
        """
        return as_markdown(self.grid(), self.footnotes(), self.part_tables())

    def to_latex(self) -> str:
        """Return the table as a LaTeX tabular (package booktabs), with the footnotes as comments.

        Returns
        -------
        str
        """
        return as_latex(self.grid(), self.footnotes(), self.part_tables())
