"""Results in every form that can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from xmleval.cli.messages import spelled, tell, tell_notes
from xmleval.cli.output import screen
from xmleval.notes import Note
from xmleval.report.comparison import Comparison
from xmleval.report.report import Report

WRITERS: dict[str, Callable[[Any], str]] = {
    "table": str,
    "json": lambda report: str(report.to_json()),
    "csv": lambda report: str(report.to_csv()),
    "markdown": lambda report: str(report.to_markdown()),
    "latex": lambda report: str(report.to_latex()),
}


def written(
    reports: dict[str, Report],
    form: str,
    output: Path | None = None,
    together: Callable[[dict[str, Report]], Any] = Comparison,
) -> str:
    """Return one report, or several together, in a form; tables fit the terminal that they go to.

    CSV is a table alone: notes and what was not computed go to standard error. So do the counts of what does
    not match, where the result goes to a file. JSON, which programs read, has the keywords of Python; the
    other forms have options for them.
    """
    if form != "csv" and output is not None:
        tell_counts(reports.values())
    if form != "json":
        reports = {name: in_options(report) for name, report in reports.items()}
    whole_result = next(iter(reports.values())) if len(reports) == 1 else together(reports)
    if form == "csv":
        for line in whole_result.footnotes():
            if "note: " in line or line.startswith("not computed"):
                tell(*line.split(": ", 1))
    if form == "table" and output is None:
        return whole_result.to_text(*screen())
    return WRITERS[form](whole_result)


def tell_counts(reports: Iterable[Report]) -> None:
    """Print the notes with a count on standard error, for results that go to a file."""
    tell_notes(dict.fromkeys(note for report in reports for note in report.notes if isinstance(note, Note)))


def in_options(report: Report) -> Report:
    """Say what was seen, and what is missing, in options, as people at a terminal give them."""
    missing = {name: spelled(text) for name, text in report.not_computed.items()}
    return replace(report, not_computed=missing, notes=[*map(spelled, report.notes)])
