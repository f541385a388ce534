"""Lists written as one text, in Python as on the command line: ``"p@1,p@3"`` and ``"1-5"``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from xmleval.base.errors import shown
from xmleval.base.numerals import whole_number

MOST_CUTOFFS = 1000  # cutoffs of a range


def parse_names(text: str) -> list[str]:
    """Split a list of names at its commas, except those in parentheses.

    Examples
    --------
    >>> parse_names("p@5, pooled(a=1,b=2)@5")
    ['p@5', 'pooled(a=1,b=2)@5']
    """
    names = [*map(str.strip, re.split(r",(?![^()]*\))", text))]
    if not all(names):
        raise ValueError(f"{shown(text)} has an empty name")
    return names


def parse_cutoffs(text: str) -> list[int]:
    """Return the cutoffs of a list of numbers and ranges, split at its commas, each cutoff once.

    Examples
    --------
    >>> parse_cutoffs("1-3,10")
    [1, 2, 3, 10]
    """
    cutoffs: dict[int, None] = {}
    for item in text.split(","):
        ends = [whole_number(end.strip(" ")) or 0 for end in item.split("-")]
        first = ends[0]
        last = ends[-1]
        if not 1 <= first <= last or len(ends) > 2:
            raise ValueError(
                f"{shown(text)} is not a list of positive integers, as in 1,3,5 or 1-20"
            )
        if last - first >= MOST_CUTOFFS:
            raise ValueError(f"{shown(item)} is more than {MOST_CUTOFFS} cutoffs")
        cutoffs.update(dict.fromkeys(range(first, last + 1)))
    return [*cutoffs]


def as_names(metrics: object) -> object:
    """Return names in one text, or from an iterator, which is read once, as a list.

    Texts in a list are split at their commas, too.
    """
    if isinstance(metrics, str):
        return _split_names(metrics)
    if not isinstance(metrics, Iterable):
        return metrics
    names = [*metrics]
    if any(isinstance(name, str) and "," in name for name in names):
        parts = (_split_names(name) if isinstance(name, str) else [name] for name in names)
        return [*chain.from_iterable(parts)]
    return metrics if isinstance(metrics, list | tuple) else names


def _split_names(text: str) -> list[str]:
    """Return the names in a text."""
    if "," not in text:
        return [text]  # as it is, for messages
    try:
        return parse_names(text)
    except ValueError as error:
        raise ValueError(f"metrics: {error}") from None


def as_cutoffs(k: object) -> object:
    """Return cutoffs in one text as a list, and others unchanged."""
    if isinstance(k, str):
        try:
            return parse_cutoffs(k)
        except ValueError as error:
            raise ValueError(f"k: {error}") from None
    return k
