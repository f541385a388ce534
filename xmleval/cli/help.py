"""Help on the command line: options in sections, and the names nearest to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

import click

NARROW = 60  # columns below which the help of an option is on lines of its own


def nearest_to(name: str, known: Collection[str]) -> str:
    """Return a hint with the name nearest to an unknown one, empty where none is near."""
    by_word = {one.lstrip("-"): one for one in known}  # all options have the dashes in common
    found = difflib.get_close_matches(name.lower().lstrip("-"), by_word, n=1)
    return f"; did you mean {by_word[found[0]]!r}?" if found else ""


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some words; a wrong one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, or refuse what is none."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}{nearest_to(str(value), list(self.choices))}", param, ctx)


class Sectioned(click.Command):
    """A command whose help lists its options in sections.

    Parameters
    ----------
    sections : dict of str to collection of str
        Names of parameters by title; others are in the last section.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Collection[str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.sections = {title: [*names] for title, names in sections.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        last = [*self.sections][-1]
        of = {name: title for title, names in self.sections.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in self.sections}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                rows[of.get(param.name or "", last)].append(record)
        for title, records in rows.items():
            with formatter.section(title):
                formatter.write_dl(records, col_max=30 if formatter.width >= NARROW else 6)
