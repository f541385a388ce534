"""Errors in the words of the command line: files and options, never arguments of functions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

import click

from xmleval.input.errors import InputError

# Keywords of the Python interface that messages mention as NAME= or NAME=value, as they are called here.
KEYWORDS = {
    "y_score": "SCORES",
    "y_pred": "--pred",
    "inverse_propensity": "--train or --inverse-propensity",
    "decision": "--decision",
    "unlisted": "--unlisted",
    "conventions": "--conventions",
    "threads": "--threads",
    "bounds": "--bounds",
    "keep_labels": "--per-label",
    "memory": "--memory",
}
LONGEST = 600  # a damaged header may be quoted whole


def one_line(error: BaseException) -> str:
    """Return what went wrong as one printable line."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "xmleval"
        text = f"{error.format_message().rstrip('.')}; see `{where} --help`"
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory: {error}"
    else:
        text = str(error)
    text = re.sub(r"\s*[\t\r\n]+\s*", " ", text)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 100]} ... {text[-95:]}"


def spell_options(text: str) -> str:
    """Replace keywords of the Python interface, ``decision=top3``, by options, ``--decision top3``.

    What stands in the parentheses of a name, as in ``row(f1.samples,k=8,unlisted=0)``, is part of the name.
    """
    return re.sub(
        rf"\w\([^()]*\)|\b({'|'.join(KEYWORDS)})=(?=([^\s,;]?))",
        lambda found: KEYWORDS[found[1]] + " " * bool(found[2]) if found[1] else found[0],
        text,
    )


@contextlib.contextmanager
def naming_files(files: Mapping[str, object]) -> Iterator[None]:
    """Raise errors about arguments as errors about the files, or options, that they came from."""
    try:
        yield
    except InputError as error:
        text = spell_options(error.message)  # before there are names of files in it
        text = re.sub(r"\by_\w+\b(?!=)", lambda found: str(files.get(found[0], found[0])), text)
        raise ValueError(f"{files.get(error.argument, error.argument)}: {text}") from None
    except ValueError as error:
        raise ValueError(spell_options(str(error))) from None


@contextlib.contextmanager
def spelling_formats() -> Iterator[None]:
    """Raise errors about formats with the option that tells one."""
    try:
        yield
    except ValueError as error:
        raise ValueError(re.sub(r"format=$", "--input-format", str(error))) from None
