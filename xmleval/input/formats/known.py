"""The formats of files by name and ending: those of xmleval, and those of installed packages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache

from xmleval.base.installed import load_installed
from xmleval.input.formats.arrays import DENSE, NPY, NPZ
from xmleval.input.formats.arrow import ARROW
from xmleval.input.formats.documents import CSV, JSON, JSONL
from xmleval.input.formats.format import Format
from xmleval.input.formats.label_lines import LINES, SVMLIGHT, XMC
from xmleval.input.formats.trec import QRELS, RUN

ENTRY_POINTS = "xmleval.formats"
FORMATS = NPZ, NPY, DENSE, XMC, SVMLIGHT, QRELS, RUN, ARROW, CSV, JSONL, JSON, LINES
BY_NAME = {form.name: form for form in FORMATS}
_in_use: list[Format] = []  # formats that are being tested


@cache
def installed_formats() -> tuple[Format, ...]:
    """Return the formats that packages offer by entry points of the group "xmleval.formats".

    These are read when a name or an ending is not that of another format. ARFF is one of them.
    """
    forms = list[Format]()
    for name, form in load_installed(ENTRY_POINTS).items():
        if not isinstance(form, Format):
            raise ValueError(f"entry point {name} of {ENTRY_POINTS} is not a Format")
        if form.name in BY_NAME:
            text = f"xmleval has a format {form.name}; take another name"
            raise ValueError(f"entry point {name} of {ENTRY_POINTS}: {text}")
        if form.name in {other.name for other in forms}:
            text = f"two formats of {ENTRY_POINTS} are called {form.name}"
            raise ValueError(f"{text}; uninstall one of their packages")
        forms.append(form)
    return tuple(forms)


def known_formats() -> tuple[Format, ...]:
    """Return all formats, with those of installed packages.

    Examples
    --------
    >>> "arff" in [form.name for form in xmleval.io.known_formats()]
    True
    """
    return (*FORMATS, *installed_formats(), *_in_use)


def format_named(name: str) -> Format | None:
    """Return the format of a name, None for an unknown name."""
    if name in BY_NAME:
        return BY_NAME[name]
    return next((form for form in known_formats() if form.name == name), None)


def format_known_as(name: str) -> Format:
    """Return the format of a name, or refuse one that no package installed here offers."""
    form = format_named(name)
    if form is None:
        raise ValueError(f"format {name}: no installed package offers it")
    return form


def format_of_ending(file_name: str) -> Format | None:
    """Return the format of the ending of a file's name, None for an unknown ending."""
    file_name = file_name.lower()
    for forms in (lambda: FORMATS, known_formats):
        for form in forms():
            if file_name.endswith(form.extensions):
                return form
    return None


@contextlib.contextmanager
def format_in_use(form: Format) -> Iterator[None]:
    """Make a format known that no entry point offers, for tests."""
    _in_use.append(form)
    try:
        yield
    finally:
        _in_use.remove(form)
