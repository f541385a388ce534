"""Labels of tables without a column of them: the candidates of a query, numbered by their rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from xmleval.base.errors import shown
from xmleval.input.columns import TableColumns


class LabelCounter:
    """Numbers labels 0, 1, ... in every row, in the order in which they are read.

    sizes : number of labels so far, by the text of the key of a row
    numbers_rows : whether rows have no names either, as groups given by their sizes
    digests : digests of an unread column that differs among the labels of a row, by name
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.numbers_rows = False
        self.digests: dict[Hashable, set[int]] = {}

    def add_digests(self, digests: Mapping[Any, int]) -> None:
        """Add the digests of the unread columns of a table, once."""
        for name, digest in digests.items():
            self.digests.setdefault(name, set()).add(digest)

    def other_column(self, counter: LabelCounter) -> Hashable:
        """Return an unread column that another input has in another order, or None.

        Its labels may then be in another order, too.
        """
        for name, digests in self.digests.items():
            if counter.digests.get(name, digests) != digests:
                return name
        return None

    def next(self, key: Hashable) -> str:
        """Return the name of the next label of a row."""
        text = str(key)
        number = self.sizes.get(text, 0)
        self.sizes[text] = number + 1
        return str(number)

    def names(self, keys: Iterable[Hashable]) -> list[str]:
        """Return the names of labels by the keys of their rows."""
        return [*map(self.next, keys)]

    def first_difference(self, sizes: dict[str, int]) -> tuple[str, int, int] | None:
        """Return the first row that another input has, with both numbers of labels, if any."""
        for key, size in self.sizes.items():
            if sizes.get(key, size) != size:
                return key, size, sizes[key]
        return None


def notes_on_numbered(columns: TableColumns[Any], kind: str) -> list[str]:
    """Return the note on labels that are numbered as no column has them."""
    if not columns.is_guess:
        return []
    noun = "scores" if kind == "scores" else "judgements"
    text = f"no column has labels, so the lines of each {shown(columns.instance)} are numbered"
    return [f"{text}; {noun} are in {shown(columns.value)}"]
