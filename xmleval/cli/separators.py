"""Notes on labels that seem to be cut at another separator than the one in the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from xmleval.input.formats.label_cells import SEPARATORS, UNCUT
from xmleval.input.lines import shown
from xmleval.input.names import Named

UNUSUAL = "/\t"  # separators that also stand in names: told where no predicted label is known


def unused_separator(separator: str | None, several: Iterable[Named]) -> list[str]:
    """Tell of a given separator that no field has, where one has another."""
    fields = [*several]
    uncut = next((named.uncut for named in fields if named.uncut), "")
    other = UNCUT.search(uncut)
    if separator is None or other is None or any(named.is_cut for named in fields):
        return []
    return [f"--separator {separator!r} is in no field; --separator {other[0]!r} cuts {shown(uncut)}"]


def unknown_labels(named: Named, own: Sequence[str], separator: str | None, *, is_cut: bool) -> list[str]:
    """Tell of predicted labels that a truth does not have, as they seem to be cut otherwise than its own.

    ``own`` are the labels of the truth; ``is_cut`` tells whether a separator stands between them.
    """
    if not named.n_new_labels or not own:
        return []
    known, listed = set(own), named.label_names[len(own) :]
    new = set(listed)
    any_known = bool((named.matrix.indices < len(own)).any())
    for mark in SEPARATORS + UNUSUAL * (not any_known):
        joined = _joined(mark, listed, known, known) or _joined(mark, own, known | new, new)
        if joined is not None:
            told = f"{shown(joined)} is one label, and {shown(_parts(joined, mark)[0])} another"
            return [f"{told}; {_remedy(mark, separator, is_cut)}"]
    if any_known:
        return []
    for mark in SEPARATORS + UNUSUAL:
        common = _all_parts(mark, own) & _all_parts(mark, new)
        if common:
            told = f"no label of it is in the truth; cut at {mark!r}, {shown(min(common))} would be"
            return [f"{told}; {_remedy(mark, separator, is_cut)}"]
    return unknown_names(named, own)


def unknown_names(named: Named, own: Sequence[str]) -> list[str]:
    """Tell that a truth has no predicted label, if so."""
    if not named.n_new_labels or not own or (named.matrix.indices < len(own)).any():
        return []
    first = named.label_names[int(np.min(named.matrix.indices))]
    return [f"no label of it is in the truth: {shown(first)} is not, {shown(own[0])} is"]


def _remedy(mark: str, separator: str | None, is_cut: bool) -> str:
    if not is_cut:
        return f"--separator {mark!r} cuts both"
    if separator is not None and mark in SEPARATORS:
        return "without --separator, each field is cut at its own"
    return "expected the same separator in all fields"


def _joined(mark: str, names: Iterable[str], known: set[str], needed: set[str]) -> str | None:
    """Return a name whose parts are all known, and one of them needed."""
    for name in names:
        if mark in name:
            parts = _parts(name, mark)
            if len(parts) > 1 and known.issuperset(parts) and not needed.isdisjoint(parts):
                return name
    return None


def _all_parts(mark: str, names: Iterable[str]) -> set[str]:
    return {part for name in names for part in _parts(name, mark)}


def _parts(name: str, mark: str) -> list[str]:
    return [part for text in name.split(mark) if (part := text.strip())]
