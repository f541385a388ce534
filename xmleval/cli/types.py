"""Types of the values of options: words, numbers, lists, and names that stand for files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import click

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.conventions import resolve_conventions
from xmleval.base.errors import did_you_mean, shown
from xmleval.base.numerals import decimal_number, whole_number
from xmleval.cli.files import FILE
from xmleval.cli.messages import bare
from xmleval.labels.groups import DECILES
from xmleval.view.decision import parse_decision

T = TypeVar("T")
MOST_CUTOFFS = 1000  # of one range


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some words; a wrong one is answered with the nearest."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word, or refuse what is none."""
        try:
            word: str = super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = did_you_mean(str(value), self.choices, bare)
            self.fail(f"{error.message.rstrip('.')}{near and f'; {near}'}", param, ctx)
        return word


class Whole(click.IntRange):
    """A whole number in plain digits."""

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number, or refuse what is none."""
        if not isinstance(value, str):
            return super().convert(value, param, ctx)
        number = whole_number(value)
        if number is None:
            self.fail(f"{shown(value)} is not a whole number.", param, ctx)
        return super().convert(number, param, ctx)


class Parsed(click.ParamType, Generic[T]):  # type: ignore[type-arg]
    """A text that a function reads; it raises ValueError with what is wrong."""

    name = "text"

    def __init__(self, read: Callable[[str], T]) -> None:
        self.read = read

    def convert(self, value: str | T, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return what the text says, or refuse it."""
        try:
            return self.read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(re.sub("^conventions(: |=)", "", str(error)), param, ctx)


def read_number(text: str) -> float:
    """Return a number in plain decimal notation."""
    number = decimal_number(text)
    if number is None:
        raise ValueError(f"{shown(text)} is not a number.")
    return number


def read_names(text: str) -> list[str]:
    """Cut a list of names at its commas, those in parentheses aside."""
    names = [*map(str.strip, re.split(r",(?![^()]*\))", text))]
    if not all(names):
        raise ValueError(f"{shown(text)} has an empty name.")
    return names


def read_cutoffs(text: str) -> list[int]:
    """Cut a list of cutoffs and of ranges of them at its commas."""
    cutoffs: dict[int, None] = {}
    for item in text.split(","):
        ends = [whole_number(end.strip(" ")) or 0 for end in item.split("-")]
        if not 1 <= ends[0] <= ends[-1] or len(ends) > 2:
            raise ValueError(f"{shown(text)} is not a list of positive integers, as in 1,3,5 or 1-20.")
        if ends[-1] - ends[0] >= MOST_CUTOFFS:
            raise ValueError(f"{shown(item)} is more than {MOST_CUTOFFS} cutoffs.")
        cutoffs |= dict.fromkeys(range(ends[0], ends[-1] + 1))
    return [*cutoffs]


def read_groups(text: str) -> list[int] | str | Path:
    """Return numbers of training rows, deciles, or the path of a file."""
    if text == DECILES:
        return text
    words = text.split(",")
    edges = [edge for word in words if (edge := whole_number(word.strip(" "))) is not None]
    if len(edges) < len(words):
        return FILE.convert(text, None, None)
    return edges


def read_decision(text: str) -> str | Path:
    """Return a rule that is named, or the path of a file."""
    try:
        parse_decision(text)
    except ValueError:
        return FILE.convert(text, None, None)
    return text


COUNT, LABEL_COUNT = Whole(min=1), Whole(min=1, max=MOST_LABELS)
NUMBER, NAMES, CUTOFFS = Parsed(read_number), Parsed(read_names), Parsed(read_cutoffs)
LABEL_GROUPS, DECISION = Parsed(read_groups), Parsed(read_decision)
CONVENTIONS = Parsed(lambda text: resolve_conventions(text) and text)
