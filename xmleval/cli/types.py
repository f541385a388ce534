"""Types of the values of options: words, numbers, lists, rules and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

import click

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.conventions import resolve_conventions
from xmleval.base.errors import did_you_mean, shown
from xmleval.base.numerals import decimal_number, whole_number
from xmleval.cli.files import FILE
from xmleval.cli.messages import strip_dashes
from xmleval.labels.groups import DECILES
from xmleval.metrics.lists import parse_cutoffs, parse_names
from xmleval.view.decision import parse_decision

T = TypeVar("T")


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some words; the error about an unknown word has the nearest."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the word, or refuse an unknown one."""
        try:
            word: str = super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = did_you_mean(str(value), self.choices, strip_dashes)
            hint = f"; {near}" if near else ""
            self.fail(f"{error.message.rstrip('.')}{hint}", param, ctx)
        return word


class InstalledChoice(Choice):
    """One of some words, or of the words that installed packages add.

    installed : called where a word is none of the others
    """

    def __init__(self, choices: Iterable[str], installed: Callable[[], Iterable[str]]) -> None:
        super().__init__([*choices])
        self.installed = installed

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the word, or refuse an unknown one."""
        if value not in self.choices:
            all_words = Choice([*self.choices, *self.installed()])
            return all_words.convert(value, param, ctx)
        return super().convert(value, param, ctx)


class Whole(click.IntRange):
    """A whole number in plain digits."""

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return a number, or refuse another text."""
        if not isinstance(value, str):
            return super().convert(value, param, ctx)
        number = whole_number(value)
        if number is None:
            self.fail(f"{shown(value)} is not a whole number.", param, ctx)
        return super().convert(number, param, ctx)


class Parsed(click.ParamType, Generic[T]):  # type: ignore[type-arg]
    """A text that a function parses, which raises ValueError for a wrong one."""

    name = "text"

    def __init__(self, read: Callable[[str], T]) -> None:
        self.read = read

    def convert(
        self, value: str | T, param: click.Parameter | None, ctx: click.Context | None
    ) -> T:
        """Return the parsed text, or refuse it."""
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(re.sub("^conventions(: |=)", "", str(error)), param, ctx)


def read_number(text: str) -> float:
    """Return a number in plain decimal notation."""
    number = decimal_number(text)
    if number is None:
        raise ValueError(f"{shown(text)} is not a number.")
    return number


def read_groups(text: str) -> list[int] | str | Path:
    """Return numbers of training rows, deciles, or the path of a file."""
    if text == DECILES:
        return text
    edges = list[int]()
    for word in text.split(","):
        edge = whole_number(word.strip(" "))
        if edge is None:
            return FILE.convert(text, None, None)
        edges.append(edge)
    return edges


def read_decision(text: str) -> str | Path:
    """Return the name of a decision rule, or the path of a file."""
    try:
        parse_decision(text)
    except ValueError:
        return FILE.convert(text, None, None)
    return text


COUNT = Whole(min=1)
LABEL_COUNT = Whole(min=1, max=MOST_LABELS)
NUMBER = Parsed(read_number)
NAMES = Parsed(parse_names)
CUTOFFS = Parsed(parse_cutoffs)
LABEL_GROUPS = Parsed(read_groups)
DECISION = Parsed(read_decision)
CONVENTIONS = Parsed(lambda text: resolve_conventions(text) and text)
