"""Forms of results that installed packages offer, by entry points."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from xmleval.base.errors import shown_names
from xmleval.base.installed import load_installed
from xmleval.show.tables import FORMS

ENTRY_POINTS = "xmleval.outputs"
Output = Callable[[list[Any], list[Any]], str]


@cache
def installed_outputs() -> dict[str, Output]:
    """Return the functions that packages offer by entry points of the group "xmleval.outputs".

    Each takes the records and the tables of a result, and returns a text.
    """
    return load_installed(ENTRY_POINTS)


def find_output(name: str) -> Output:
    """Return the function of a form, or refuse one that no installed package offers."""
    if name in FORMS:
        method = "to_text" if name == "table" else f"to_{name}"
        raise ValueError(f"{name!r} is a form of xmleval: call {method}()")
    outputs = installed_outputs()
    if name not in outputs:
        known = f"; installed forms are {shown_names(outputs)}" if outputs else ""
        raise ValueError(f"no installed package offers results in the form {name!r}{known}")
    return outputs[name]
