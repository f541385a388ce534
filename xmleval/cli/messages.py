"""What is printed: results on stdout; on stderr lines in the words of the command line, files and options."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator

import click

from xmleval.base.errors import InputError, Keyword, Message, did_you_mean, printable

FLAGS = {  # what arguments of functions are called here; a command adds its options
    "y_true": "TRUTH",
    "y_score": "SCORES",
    "executor": "--workers",
    "results": "RESULTS",
    "per_label": "--per-label",
    "per_row": "--per-row",
    "higher_is_better=False": "--lower-is-better",
}
ARGUMENT = re.compile(r"(?<![\w./-])(y_true|y_score|y_pred|y_train)(?![\w./=-])")  # in plain text
LONGEST = 600  # a damaged header may be quoted whole


def bare(option: str) -> str:
    """Return the name of an option without the dashes, which all have in common."""
    return option.lstrip("-").lower()


def one_line(error: BaseException) -> str:
    """Return what went wrong as one printable line."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "xmleval"
        message = error.format_message().rstrip(".")
        if isinstance(error, click.NoSuchOption):  # click lists its guesses by the alphabet
            near = did_you_mean(error.option_name, error.possibilities or (), bare)
            message = f"{error.message.rstrip('.')}{near and f'; {near}'}"
        text = f"{message}; see `{where} --help`"
    elif isinstance(error, OSError) and error.strerror:
        message = spelled(error.strerror)
        text = message if error.filename is None else f"{error.filename}: {message}"
    elif isinstance(error, InputError):
        text = f"{_option(Keyword(error.argument))}: {spelled(error.message)}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory: {error}"
    else:
        text = spelled(error.args[0]) if len(error.args) == 1 else str(error)
    return _line(text)


def tell_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, where the output has no place for them or is not seen."""
    for note in notes:
        click.echo(f"xmleval: {_line(spelled(note))}", err=True)


def _line(text: str) -> str:
    text = printable(re.sub(r"\s*[\t\r\n]+\s*", " ", text))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 100]} ... {text[-95:]}"


def spelled(message: object) -> str:
    """Return a message with options, ``--decision top3``, for the keywords of Python, ``decision=top3``."""
    text = message.spelled(_option) if isinstance(message, Message) else str(message)
    return ARGUMENT.sub(lambda match: _option(Keyword(match[0])), text)


def _option(keyword: Keyword) -> str:
    if str(keyword) in FLAGS:
        return FLAGS[str(keyword)]
    if keyword.name not in FLAGS:
        return str(keyword) if keyword.value else keyword.name
    value = "" if keyword.value == "True" else f" {keyword.value}"
    return f"{FLAGS[keyword.name]}{value}".rstrip()


def on_terminal() -> bool:
    """Tell whether errors, and bars, go to a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def notes_told() -> Iterator[None]:
    """Print on stderr what functions without a report warn of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    tell_notes(note.message.args[0] if isinstance(note.message, Warning) else note.message for note in caught)


class Printer(logging.Handler):
    """Print messages to what is stderr when they arrive: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        if sys.stderr is not None:
            text = spelled(self.format(record)).removeprefix("xmleval: ")
            print(f"xmleval: {text}", file=sys.stderr, flush=True)


PRINTER = Printer()


def print_messages() -> None:
    """Print on stderr what evaluations tell, and that kernels are compiled."""
    logging.getLogger("xmleval").addHandler(PRINTER)
    logging.getLogger("xmleval.evaluation").setLevel(logging.INFO)


def write_stdout(text: str) -> None:
    """Write text to stdout; errors name it, and send later output to the null device."""
    if sys.stdout is None:  # closed by whoever started the process
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "stdout")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise type(error)(error.errno, error.strerror, "stdout") from None
