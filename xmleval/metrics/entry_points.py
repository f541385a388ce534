"""Measures that are not in the table, by name: those defined so far, and those of packages."""

from __future__ import annotations

from xmleval.base.installed import load_installed
from xmleval.metrics.measure import DEFINED, Measure
from xmleval.metrics.spellings import canonical, is_in_table, plain

ENTRY_POINTS = "xmleval.measures"


def defined_measure(text: str) -> Measure | None:
    """Return the measure that is not in the table and that a name begins with; None for others.

    An installed package may offer it: the name of its entry point in the group "xmleval.measures"
    is that of the measure, and what it names is imported now.
    """
    if "-" not in text:
        return None
    name = plain(text).split("@")[0].split("(")[0].split(".")[0]
    if name not in DEFINED and not is_in_table(canonical(text)):
        _load(name)
    return DEFINED.get(name)


def _load(name: str) -> None:
    """Import the entry points of a name, if there are any."""
    for measure in load_installed(ENTRY_POINTS, name).values():
        if not isinstance(measure, Measure) or measure.name != name:
            raise ValueError(f"entry point {name} of {ENTRY_POINTS} is not the measure {name}")
