"""Errors in the words of the command line: files and options, never arguments of functions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping

import click

from xmleval.cli.help import nearest_to
from xmleval.input.errors import InputError
from xmleval.message import Keyword, Message, printable

# What keywords of the Python interface are called here.
OPTIONS = {
    "y_score": "SCORES",
    "y_pred": "--pred",
    "inverse_propensity": "--inverse-propensity",
    "y_train": "--train",
    "decision": "--decision",
    "candidates": "--candidates",
    "exclude": "--exclude",
    "label_groups": "--label-groups",
    "hierarchy": "--hierarchy",
    "row_groups": "--row-groups",
    "clusters": "--clusters",
    "first_row": "--first-row",
    "unlisted": "--unlisted",
    "gains": "--gains",
    "link": "--link",
    "dataset": "--dataset",
    "conventions": "--conventions",
    "threads": "--threads",
    "bounds": "--bounds",
    "confidence": "--confidence",
    "per_label": "--per-label",
    "per_row": "--per-row",
    "memory": "--memory",
    "format": "--input-format",
    "labels": "--labels",
    "higher_is_better=False": "--lower-is-better",
    "leave_out": "--leave-out",
    "margin": "--margin",
    "rank_constant": "--rank-constant",
    "rule": "--rule",
    "weights": "--weights",
    "model": "--model",
}
LONGEST = 600  # a damaged header may be quoted whole


def one_line(error: BaseException) -> str:
    """Return what went wrong as one printable line."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "xmleval"
        told = error.format_message().rstrip(".")
        if isinstance(error, click.NoSuchOption):  # click lists its guesses by the alphabet
            told = f"{error.message.rstrip('.')}{nearest_to(error.option_name, error.possibilities or ())}"
        text = f"{told}; see `{where} --help`"
    elif isinstance(error, OSError) and error.strerror:
        told = spelled(error.strerror)
        text = told if error.filename is None else f"{error.filename}: {told}"
    elif isinstance(error, InputError):
        text = f"{error.argument}: {spelled(error.message)}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory: {error}"
    else:
        text = spelled(error.args[0]) if len(error.args) == 1 else str(error)
    return _line(text)


def tell(name: object, told: str) -> None:
    """Print a line on stderr about an input, or about what else has a name."""
    click.echo(f"xmleval: {_line(f'{name}: {told}')}", err=True)


def tell_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, where the output has no place for them or is not seen."""
    for note in notes:
        click.echo(f"xmleval: {_line(spelled(note))}", err=True)


def _line(text: str) -> str:
    text = printable(re.sub(r"\s*[\t\r\n]+\s*", " ", text))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 100]} ... {text[-95:]}"


def spelled(told: object) -> str:
    """Return a message with options, ``--decision top3``, for the keywords of Python, ``decision=top3``."""
    return told.spelled(_option) if isinstance(told, Message) else str(told)


def _option(keyword: Keyword) -> str:
    if str(keyword) in OPTIONS:
        return OPTIONS[str(keyword)]
    name = OPTIONS.get(keyword.name)
    return str(keyword) if name is None else f"{name} {keyword.value}".rstrip()


@contextlib.contextmanager
def naming_files(files: Mapping[str, object]) -> Iterator[None]:
    """Raise errors about arguments as errors about the files, or options, that they came from."""
    try:
        yield
    except InputError as error:
        raise ValueError(Message(files.get(error.argument, error.argument), ": ", error.message)) from None
