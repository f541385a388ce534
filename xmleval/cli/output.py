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
from xmleval.cli.files import list_files
from xmleval.cli.messages import print_notes, spell_options, write_stdout
from xmleval.files.input import digest
from xmleval.files.output import naming_output, replacing
from xmleval.results.details import (
    csv_lines,
    json_lines,
    label_columns,
    row_columns,
    without_labels,
)
from xmleval.results.report import Report
from xmleval.results.result import Result, reword
from xmleval.show.tables import TableStyle

if TYPE_CHECKING:
    from xmleval.show.drawing import SomeAxes

MOST_FILES = 20  # files whose digests a page shows
WIDE = 200  # columns without a terminal


def program_name() -> str:
    """Return how to run this program again: its name if a shell finds it, otherwise its path."""
    started = Path(sys.argv[0])
    if (started.parent.name, started.name) == ("xmleval", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m xmleval"
    on_path = shutil.which("xmleval")
    if started.stem != "xmleval" or (on_path and Path(on_path).resolve() == started.resolve()):
        return "xmleval"
    return shlex.quote(str(started))


def screen() -> tuple[int | None, bool]:
    """Return the columns of the terminal, None if stdout is not one, and whether it has colours."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None, False
    has_colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return shutil.get_terminal_size().columns, has_colours


def show(*parts: RenderableType, path: Path | None = None) -> None:
    """Print text unchanged and tables in the width of the terminal, or write them to a file."""
    text = io.StringIO()
    columns = None
    if path is None:
        columns, _ = screen()
    console = Console(
        file=text,
        force_terminal=bool(columns) or None,
        width=columns or WIDE,
        highlight=False,
        markup=False,
        emoji=False,
    )
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
    encoded_lines = (line.encode() for line in lines)
    with naming_output(path):
        if is_device:
            with open(path, "wb") as device:
                device.writelines(encoded_lines)
        else:
            with replacing(path) as file:
                file.writelines(encoded_lines)


def write_result(result: Result[Any], form: str, path: Path | None, style: TableStyle) -> None:
    """Write a result in a form; on a terminal, a table fits its width.

    CSV is a table alone: notes and a list of measures that were not computed go to standard error.
    If the result goes to a file, so do notes with counts. JSON, which programs read, has the
    keywords of Python; the other forms have options instead.
    """
    if form != "csv" and path is not None:
        print_counts(result)
    if form != "json":
        result = reword(result, spell_options)  # in options, as people at a terminal give them
    if form == "csv":
        for line in result.footnotes():
            if "note: " in line or line.startswith("not computed"):
                print_notes([line])
    write_text(format_result(form, result, path, style), path)


def format_result(form: str, result: Result[Any], path: Path | None, style: TableStyle) -> str:
    """Return a result in a form; a table that goes to a terminal fits its width."""
    if form == "json":
        return result.to_json()
    if form == "csv":
        return result.to_csv()
    if form == "markdown":
        return result.to_markdown(**style)
    if form == "latex":
        return result.to_latex(**style)
    if form != "table":
        return result.to(form)
    width, has_colours = screen() if path is None else (None, False)
    return result.to_text(width, has_colours, **style)


def write_details(
    reports: Mapping[str, Report], per_label: Path | None, per_row: Path | None
) -> None:
    """Write the values of every label and every row, as CSV or JSON Lines by the file's ending."""
    if per_label is not None:
        write_lines(_format_lines(per_label, reports, label_columns), per_label)
        missing = without_labels(next(iter(reports.values())))
        if missing:
            print_notes([f"{per_label}: {', '.join(missing)}: no values by label"])
    if per_row is not None:
        write_lines(_format_lines(per_row, reports, row_columns), per_row)


def _format_lines(
    path: Path, reports: Mapping[str, Report], make_columns: Callable[[Report], Any]
) -> Iterator[str]:
    if path.suffix.lower() == ".jsonl":
        return json_lines(reports, make_columns)
    return csv_lines(reports, make_columns)


def print_counts(result: Result[Any]) -> None:
    """Print the notes with a count on standard error, for results that go to a file."""
    notes = [note for each in _parts_of(result) for note in each.notes if isinstance(note, Note)]
    print_notes(dict.fromkeys(notes))


def _parts_of(result: Result[Any]) -> list[Result[Any]]:
    """Return the reports of a comparison or of comparisons by data set, or the result itself."""
    if isinstance(result, Report) or not isinstance(result, Mapping):
        return [result]
    return [part for each in result.values() for part in _parts_of(each)]


def write_figure(axes: SomeAxes, path: Path) -> None:
    """Write the figure of axes, whole or not at all; a note warns if its font lacks characters."""
    from xmleval.show.drawing import save

    with warnings.catch_warnings(record=True) as drawing_warnings, replacing(path) as file:
        save(axes, file, path.suffix.lower()[1:])
    if any("missing from" in str(warning.message) for warning in drawing_warnings):
        text = "its font lacks some characters of the names; a page, or an .svg file, shows them"
        print_notes([f"{path}: {text}"])


def describe_run(paths: Sequence[Path | None]) -> dict[str, str]:
    """Return the command and the digests of all files that were read."""
    files = [*dict.fromkeys(file for path in paths if path for file in list_files(path))]
    facts = {"Command": shlex.join(["xmleval", *sys.argv[1:]]), "Python": sys.version.split()[0]}
    for file in files[:MOST_FILES]:
        if file.exists():
            facts[f"SHA-256 of {file}"] = digest(file)
    n_more = len(files) - MOST_FILES
    if n_more > 0:
        facts["More files"] = f"{n_more}, not listed"
    return facts
