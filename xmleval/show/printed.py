"""Printed: a table with a title and footnotes, in every printed form."""

from __future__ import annotations

import json
from typing import Any

from xmleval.show.tables import Rows, Table, as_html, as_latex, as_markdown, as_text

# forms of results, each of a method such as `Printed.to_latex`, and the endings of names of files in it
FORMS: dict[str, tuple[str, ...]] = {
    "table": (), "json": (".json",), "csv": (".csv",), "markdown": (".md", ".markdown"),
    "latex": (".tex", ".latex"),
}  # fmt: skip


class Printed:
    """What is printed as a table: a title, a header with rows, and footnotes."""

    def _title(self) -> str:
        raise NotImplementedError

    def grid(self) -> Rows:
        """Return the header and the rows (@private)."""
        raise NotImplementedError

    def _footnotes(self) -> list[str]:
        raise NotImplementedError

    def footnotes(self) -> list[str]:
        """Return the lines below the table: what its values depend on, what was left out, and `notes`.

        Returns
        -------
        list of str

        Examples
        --------
        >>> evaluate(np.eye(3), np.eye(3) + 1, metrics=["ndcg@3"]).footnotes()
        ['ndcg_ties=order empty=zero unlisted=below']
        """
        return self._footnotes()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values (@private)."""
        raise NotImplementedError

    def part_tables(self) -> list[Table]:
        """Return further tables, of groups of labels or rows (@private)."""
        return []

    def tables(self) -> list[Table]:
        """Return the table under its title, and further ones (@private)."""
        return [Table(self._title(), self.grid()), *self.part_tables()]

    def __str__(self) -> str:
        """Return a table for a terminal."""
        return self.to_text()

    def to_text(self, width: int | None = None, colour: bool = False) -> str:
        """Return the table for a terminal, with the footnotes below.

        Parameters
        ----------
        width : int, optional
            Number of columns of the terminal; default no limit.
        colour : bool, default False
            Whether to colour.

        Returns
        -------
        str

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_text(width=40))
        3 rows x 3 labels
        measure      @1
        ---------------
        P ↑      0.3333
        empty=zero unlisted=below
        """
        return self._text(width, colour)

    def _text(self, width: int | None, colour: bool) -> str:
        return as_text(self.tables(), self.footnotes(), width, colour)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(self.tables(), self.footnotes())

    def to_markdown(self) -> str:
        """Return the table as Markdown, with the footnotes below.

        Returns
        -------
        str

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_markdown())
        | measure | @1 |
        |---|---:|
        | P ↑ | 0.3333 |
        <BLANKLINE>
        empty=zero unlisted=below
        <BLANKLINE>
        """
        return as_markdown(self.tables(), self.footnotes())

    def to_latex(self) -> str:
        r"""Return the table as a LaTeX tabular (package booktabs), with the footnotes as comments.

        Returns
        -------
        str

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_latex())
        % empty=zero unlisted=below
        \begin{tabular}{lr}
        \toprule
        measure & @1 \\
        \midrule
        P $\uparrow$ & 0.3333 \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
        """
        return as_latex(self.tables(), self.footnotes())

    def to_json(self) -> str:
        """Return `to_dict` as JSON; null where a value is undefined.

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> json.loads(report.to_json())["n_rows"]
        3
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)
