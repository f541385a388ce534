"""Where results go: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

from xmleval.base.errors import printable
from xmleval.base.notes import Note
from xmleval.cli.files import files_of
from xmleval.cli.messages import spelled, tell_notes, write_stdout
from xmleval.files.input import digest
from xmleval.files.output import naming_output, replacing
from xmleval.results.details import csv_lines, json_lines, label_columns, row_columns, without_labels
from xmleval.results.report import Report
from xmleval.results.result import Result

if TYPE_CHECKING:
    from xmleval.show.drawing import SomeAxes

MOST_FILES = 20  # whose digests a page has
WIDE = 200  # columns where no terminal sets them


def program_name() -> str:
    """Return what to type to run this program again: its name where a shell finds it, otherwise its path."""
    started = Path(sys.argv[0])
    if (started.parent.name, started.name) == ("xmleval", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m xmleval"
    on_path = shutil.which("xmleval")
    if started.stem != "xmleval" or (on_path and Path(on_path).resolve() == started.resolve()):
        return "xmleval"
    return shlex.quote(str(started))


def screen() -> tuple[int | None, bool]:
    """Return the columns of the terminal that stdout is, None if it is none, and whether it has colours."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None, False
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return shutil.get_terminal_size().columns, colour


def show(*parts: RenderableType, path: Path | None = None) -> None:
    """Print text as it stands, and tables in the width of the terminal; or write them to a file."""
    text, columns = io.StringIO(), None if path is not None else screen()[0]
    console = Console(
        file=text, force_terminal=bool(columns) or None, width=columns or WIDE, highlight=False, markup=False,
        emoji=False,
    )  # fmt: skip
    for part in parts:
        if isinstance(part, str):  # a command must stay one line
            console.print(*map(printable, part.split("\n")), sep="\n", soft_wrap=True)
        else:
            console.print(part)
    write_text("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()), path)


def write_text(text: str, path: Path | None = None) -> None:
    """Write a text, ending in one newline, to a file or stdout."""
    text = text.rstrip("\n") + "\n"
    if path is None:
        write_stdout(text)
    else:
        write_lines([text], path)


def write_lines(lines: Iterable[str], path: Path) -> None:
    """Write text to a file."""
    is_device = path.exists() and not path.is_file()  # or a pipe, which must not be replaced
    with naming_output(path), open(path, "wb") if is_device else replacing(path) as file:
        file.writelines(text.encode() for text in lines)


def write_result(result: Result[Any], form: str, path: Path | None) -> None:
    """Write a result in a form; a table fits the terminal that it goes to.

    CSV is a table alone: notes and what was not computed go to standard error. So do the counts of what does
    not match, where the result goes to a file. JSON, which programs read, has the keywords of Python; the
    other forms have options for them.
    """
    if form != "csv" and path is not None:
        tell_counts(result)
    if form != "json":
        result = result.worded(spelled)  # in options, as people at a terminal give them
    if form == "csv":
        for line in result.footnotes():
            if "note: " in line or line.startswith("not computed"):
                tell_notes([line])
    write_text(text_in(form, result, path), path)


def text_in(form: str, result: Result[Any], path: Path | None) -> str:
    """Return a result in a form; a table fits the terminal where it goes to one."""
    if form == "table":
        return str(result.to_text(*screen()) if path is None else result)
    return str(getattr(result, f"to_{form}")())


def write_details(reports: Mapping[str, Report], per_label: Path | None, per_row: Path | None) -> None:
    """Write the results of every label, and of every row, in the form that the name of a file tells."""
    if per_label is not None:
        write_lines(_lines_in(per_label, reports, label_columns), per_label)
        if missing := without_labels(next(iter(reports.values()))):
            tell_notes([f"{per_label}: {', '.join(missing)}: no values by label"])
    if per_row is not None:
        write_lines(_lines_in(per_row, reports, row_columns), per_row)


def _lines_in(
    path: Path, reports: Mapping[str, Report], columns_of: Callable[[Report], Any]
) -> Iterator[str]:
    lines = json_lines if path.suffix.lower() == ".jsonl" else csv_lines
    return lines(reports, columns_of)


def tell_counts(result: Result[Any]) -> None:
    """Print the notes with a count on standard error, for results that go to a file."""
    reports = result.reports.values() if hasattr(result, "reports") else [result]
    tell_notes(dict.fromkeys(note for report in reports for note in report.notes if isinstance(note, Note)))


def write_figure(axes: SomeAxes, path: Path) -> None:
    """Write the figure of axes, whole or not at all, and tell of characters that its font lacks."""
    from xmleval.show.drawing import save

    with warnings.catch_warnings(record=True) as caught, replacing(path) as file:
        save(axes, file, path.suffix.lower()[1:])
    if any("missing from" in str(warning.message) for warning in caught):
        text = "its font lacks some characters of the names; a page, or an .svg file, shows them"
        tell_notes([f"{path}: {text}"])


def about(paths: Sequence[Path | None]) -> dict[str, str]:
    """Return the command, and the digest of each file that was read."""
    files = [*dict.fromkeys(file for path in paths if path for file in files_of(path))]
    facts = {"Command": shlex.join(["xmleval", *sys.argv[1:]]), "Python": sys.version.split()[0]}
    facts |= {f"SHA-256 of {path}": digest(path) for path in files[:MOST_FILES] if path.exists()}
    n_other = len(files) - MOST_FILES
    return facts | ({"More files": f"{n_other}, not listed"} if n_other > 0 else {})
