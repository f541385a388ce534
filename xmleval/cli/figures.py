"""Pages and figures in files."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xmleval.cli.messages import tell
from xmleval.cli.options import FILE, Opt
from xmleval.cli.output import files_of
from xmleval.figures.drawing import FORMS, save
from xmleval.files.input import digest
from xmleval.files.output import replacing
from xmleval.integrations.library import library

HTML = Opt(FILE, None, "Also write a page with tables and figures.")
PAGE_ENDINGS = (".html", ".htm")
MOST_FILES = 20  # whose digests a page has
PLOT = Opt(FILE, None, "Also draw the figure, as .png, .svg or .pdf.")


def check_figure(path: Path | None) -> None:
    """Refuse a figure that cannot be drawn, before anything is computed."""
    if path is None:
        return
    if path.suffix.lower().removeprefix(".") not in FORMS:
        raise ValueError(f"{path}: a figure is written as {', '.join(f'.{form}' for form in FORMS)}")
    _refuse_without("matplotlib", "plot")
    os.environ.setdefault("MPLBACKEND", "agg")  # no window is opened


def check_page(path: Path | None) -> None:
    """Refuse a page that cannot be made, before anything is computed."""
    if path is not None:
        if path.suffix and path.suffix.lower() not in PAGE_ENDINGS:
            raise ValueError(f"{path}: a page is written as {', '.join(PAGE_ENDINGS)}")
        _refuse_without("jinja2", "html")
        _refuse_without("matplotlib", "html")


def write_figure(axes: Any, path: Path) -> None:
    """Write the figure of axes, whole or not at all, and tell of characters that its font lacks."""
    with warnings.catch_warnings(record=True) as caught, replacing(path) as file:
        save(axes, file, path.suffix.lower()[1:])
    if any("missing from" in str(one.message) for one in caught):
        tell(path, "its font lacks some characters of the names; a page, or an .svg file, shows them")


def about(paths: Sequence[Path | None]) -> dict[str, str]:
    """Return the command, and the digest of each file that was read."""
    files = [*dict.fromkeys(file for path in paths if path for file in files_of(path))]
    found = {"Command": shlex.join(["xmleval", *sys.argv[1:]]), "Python": sys.version.split()[0]}
    found |= {f"SHA-256 of {path}": digest(path) for path in files[:MOST_FILES] if path.exists()}
    more = len(files) - MOST_FILES
    return found | ({"More files": f"{more}, not listed"} if more > 0 else {})


def _refuse_without(name: str, extra: str) -> None:
    try:
        library(name, {"plot": "a figure", "html": "a page"}[extra], extra)
    except ImportError as error:
        raise ValueError(str(error)) from None
