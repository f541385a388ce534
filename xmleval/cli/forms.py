"""Results in every form that can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from xmleval.cli.messages import spelled, tell, tell_notes
from xmleval.cli.output import screen
from xmleval.notes import Note
from xmleval.report.changes import Diff
from xmleval.report.report import Report

WRITERS: dict[str, Callable[[Any], str]] = {
    "table": str,
    "json": lambda report: str(report.to_json()),
    "csv": lambda report: str(report.to_csv()),
    "markdown": lambda report: str(report.to_markdown()),
    "latex": lambda report: str(report.to_latex()),
}


def in_form(result: Any, form: str, output: Path | None = None) -> str:
    """Return a result in a form; tables fit the terminal that they go to.

    CSV is a table alone: notes and what was not computed go to standard error. So do the counts of what does
    not match, where the result goes to a file. JSON, which programs read, has the keywords of Python; the
    other forms have options for them.
    """
    if form != "csv" and output is not None:
        tell_counts(result)
    if form != "json":
        result = in_options(result)
    if form == "csv":
        for line in result.footnotes():
            if "note: " in line or line.startswith("not computed"):
                tell(*line.split(": ", 1))
    if form == "table" and output is None:
        return str(result.to_text(*screen()))
    return WRITERS[form](result)


def tell_counts(result: Any) -> None:
    """Print the notes with a count on standard error, for results that go to a file."""
    reports = result.reports.values() if hasattr(result, "reports") else [result]
    tell_notes(dict.fromkeys(note for one in reports for note in one.notes if isinstance(note, Note)))


def in_options(result: Any) -> Any:
    """Say what was seen, and what is missing, in options, as people at a terminal give them."""
    if isinstance(result, Report):
        missing = {name: spelled(text) for name, text in result.not_computed.items()}
        return replace(result, not_computed=missing, notes=[*map(spelled, result.notes)])
    notes = [*map(spelled, result.notes)]
    if isinstance(result, Diff):
        return replace(result, notes=notes)
    told = copy(result)
    told.notes = notes
    if hasattr(result, "reports"):
        told.reports = {name: in_options(report) for name, report in result.reports.items()}
    return told
