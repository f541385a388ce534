"""Where results go: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import errno
import math
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console, RenderableType

from xmleval.cli.stdout import naming_stdout, write_stdout
from xmleval.errors import printable
from xmleval.files.output import naming_output, refuse_input, refuse_unwritable, replacing
from xmleval.files.remote import RemotePath
from xmleval.report.tables import csv_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_AT_A_TIME = 1 << 14
COMPRESSED = {".bz2", ".gz", ".xz", ".zip", ".zst"}
WIDE = 200  # columns where no terminal sets them


def check_outputs(
    paths: Sequence[Path | None],
    inputs: Iterable[Any] = (),
    save: Sequence[Path] = (),
    input_format: Any = None,
) -> None:
    """Refuse outputs that cannot be written, or would replace an input, before anything is computed.

    ``paths`` may be pipes and devices, and are not compressed; what is to ``save`` is a file. Of inputs,
    those that are no paths are passed over.
    """
    given = [path for path in (*paths, *save) if path is not None]
    for path in given:
        if isinstance(path, RemotePath):
            raise ValueError(f"{path}: is not on this machine; expected a local file for the output")
        if path not in save and path.exists() and not path.is_file() and not path.is_dir():
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            continue
        if path not in save:
            refuse_compressed(path)
        refuse_unwritable(path)
    if len({path.resolve() for path in given}) < len(given):
        raise click.UsageError("two outputs have one name", click.get_current_context())
    there = [path for path in given if path.exists()]
    for one in inputs if there else ():
        for file in [one, *files_of(one, input_format)] if isinstance(one, Path) else ():
            refuse_input(file, there)


def files_of(path: Path, input_format: str | None = None) -> list[Path]:
    """Return the files of rows that a path stands for, or itself."""
    from xmleval.input.shards import find_input  # imports all formats

    try:
        return find_input(path, "scores", input_format).files
    except (ValueError, OSError):
        return [path]


def refuse_compressed(path: Path) -> None:
    """Refuse a name of a compressed file, which programs could not read: what is written is plain."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise ValueError(
            f"{path}: results are not written compressed; expected a name without {suffix}, such as "
            f"{path.stem if Path(path.stem).suffix else 'result.json'}"
        )


def program_name() -> str:
    """Return what to type to run this program again: its name where a shell finds it, otherwise its path."""
    started = Path(sys.argv[0])
    if (started.parent.name, started.name) == ("xmleval", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m xmleval"
    found = shutil.which("xmleval")
    if started.stem != "xmleval" or (found and Path(found).resolve() == started.resolve()):
        return "xmleval"
    return shlex.quote(str(started))


def screen() -> tuple[int | None, bool]:
    """Return the columns of the terminal that stdout is, None if it is none, and whether it has colours."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None, False
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return shutil.get_terminal_size().columns, colour


def write_result(text: str, path: Path | None) -> None:
    """Write a result, ending in one newline."""
    text = text.rstrip("\n") + "\n"
    if path is None:
        write_stdout(text)
    else:
        _write(iter([text]), path)


def write_columns(tables: Iterable[Mapping[str, NDArray[Any]]], path: Path, header: Sequence[str]) -> None:
    """Write tables as CSV under one header, one after another; what is undefined or absent is left empty."""
    _write(_csv_of(tables, header), path)


def _csv_of(tables: Iterable[Mapping[str, NDArray[Any]]], header: Sequence[str]) -> Iterator[str]:
    yield ",".join(map(csv_text, header)) + "\n"
    for table in tables:
        n_rows = min(column.size for column in table.values())
        absent = np.full(n_rows, "", object)
        columns = [table.get(name, absent) for name in header]
        for start in range(0, n_rows, ROWS_AT_A_TIME):
            rows = zip(*(column[start : start + ROWS_AT_A_TIME].tolist() for column in columns), strict=True)
            yield "".join(",".join(map(_field, row)) + "\n" for row in rows)


def _field(value: float | str) -> str:
    """Return a field of CSV, counts without a point."""
    whole = not isinstance(value, str) and math.isfinite(value) and value == int(value)
    return csv_text(int(value) if whole else value)


def _write(parts: Iterator[str], path: Path) -> None:
    lines = (text.encode() for text in parts)
    if path.exists() and not path.is_file():  # a pipe or device takes bytes; it must not be replaced
        with naming_output(path), open(path, "wb") as device:
            device.writelines(lines)
        return
    with replacing(path) as file:
        file.writelines(lines)


def show(*parts: RenderableType) -> None:
    """Print text as it stands, and tables in the width of the terminal."""
    width = None if sys.stdout is not None and sys.stdout.isatty() else WIDE
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with naming_stdout(), console.capture() as captured:  # capturing still flushes stdout
        for part in parts:
            if isinstance(part, str):  # a command must stay one line
                console.print(*map(printable, part.split("\n")), sep="\n", soft_wrap=True)
            else:
                console.print(part)
    write_stdout("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
