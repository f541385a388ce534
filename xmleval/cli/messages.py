"""Printing of results on stdout, and on stderr of messages that name files and options."""

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

from xmleval.base.data_names import DataArgument
from xmleval.base.errors import Field, InputError, Keyword, Message, did_you_mean, printable

FLAGS = {  # spelling of the arguments of functions; a command adds its options
    "y_true": "TRUTH",
    "y_score": "SCORES",
    "executor": "--workers",
    "measure": "--measure",
    "results": "RESULTS",
    "per_label": "--per-label",
    "per_row": "--per-row",
    "higher_is_better=False": "--lower-is-better",
    "complete_lists=True": "--complete-lists",
    "intervals=False": "--no-intervals",
}
ARGUMENT = re.compile(r"(?<![\w./-])(y_true|y_score|y_pred|y_train)(?![\w./=-])")  # in plain text
LONGEST = 600  # a damaged header may be quoted whole


def strip_dashes(option: str) -> str:
    """Return the name of an option without dashes, in lower case, for comparison."""
    return option.lstrip("-").lower()


def format_error(error: BaseException) -> str:
    """Return an error as one printable line."""
    if isinstance(error, click.UsageError):
        text = _format_usage_error(error)
    elif isinstance(error, OSError) and error.strerror:
        text = spell_options(error.strerror)
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    elif isinstance(error, InputError):
        text = f"{_option(Keyword(error.argument))}: {spell_options(error.message)}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory: {error}"
    elif len(error.args) == 1:
        text = spell_options(error.args[0])
    else:
        text = str(error)
    return _line(text)


def _format_usage_error(error: click.UsageError) -> str:
    """Return an error of click, with hints that are the same for all kinds."""
    if isinstance(error, click.NoSuchOption):  # click lists its guesses by the alphabet
        message = error.message.rstrip(".")
        near = did_you_mean(error.option_name, error.possibilities or (), strip_dashes)
        if near:
            message += f"; {near}"
    else:
        message = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "xmleval"
    return f"{message}; see `{command} --help`"


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, if the output has no place for them or goes to a file."""
    for note in notes:
        click.echo(f"xmleval: {_line(spell_options(note))}", err=True)


def _line(text: str) -> str:
    text = printable(re.sub(r"\s*[\t\r\n]+\s*", " ", text))
    if len(text) > LONGEST:
        return f"{text[: LONGEST - 100]} ... {text[-95:]}"
    return text


def spell_options(message: object) -> str:
    """Return a message with options such as ``--decision top3`` instead of ``decision=top3``."""
    text = str(message)
    if isinstance(message, Message):
        text = message.spelled(_option)
    return ARGUMENT.sub(lambda match: _option(Keyword(match[0])), text)


def _option(keyword: Keyword) -> str:
    """Return the option for a keyword of Python, or the keyword if no option has it."""
    if str(keyword) in FLAGS:
        return FLAGS[str(keyword)]
    if isinstance(keyword.name, DataArgument):
        return f"{FLAGS[keyword.name.argument]} {keyword.name.name}"
    if isinstance(keyword, Field) and keyword.name not in FLAGS and "conventions" in FLAGS:
        return f"{FLAGS['conventions']} {keyword.name}={keyword.value or '...'}"
    if keyword.name not in FLAGS:
        return str(keyword) if keyword.value else keyword.name
    flag = FLAGS[keyword.name]
    if keyword.value == "True":
        return flag.rstrip()
    return f"{flag} {keyword.value}".rstrip()


def on_terminal() -> bool:
    """Whether errors and progress bars go to a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def printing_notes() -> Iterator[None]:
    """Print the warnings of functions without a report on stderr, as notes."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always", UserWarning)
        yield
    messages = [record.message for record in records]
    print_notes(
        message.args[0] if isinstance(message, Warning) else message for message in messages
    )


class Printer(logging.Handler):
    """Print messages to the stderr of the moment: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        if sys.stderr is not None:
            text = spell_options(self.format(record)).removeprefix("xmleval: ")
            print(f"xmleval: {text}", file=sys.stderr, flush=True)


PRINTER = Printer()


def print_messages() -> None:
    """Print messages of evaluations and of compiling kernels on stderr."""
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
