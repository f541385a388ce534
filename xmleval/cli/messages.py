"""Errors in the words of the command line: files and options, never arguments of functions."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator

import click

from xmleval.cli.help import nearest_to
from xmleval.errors import InputError, Keyword, Message, printable

# What keywords of the Python interface are called here, beside the options of `xmleval.cli.options`.
OTHERS = {
    "higher_is_better=False": "--lower-is-better",
    **{name: f"--{name.replace('_', '-')}" for name in (
        "per_label", "per_row", "leave_out", "margin", "rank_constant", "rule", "weights", "model", "test",
        "min", "max", "no_worse_than", "worst", "baseline", "seeds", "features", "measure", "fbr", "fallback",
        "method", "n_labels",
    )},
}  # fmt: skip
ARGUMENT = re.compile(r"(?<![\w./-])(y_true|y_score|y_pred|y_train|pred_field)(?![\w./=-])")  # in plain text
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
        text = f"{_option(Keyword(error.argument))}: {spelled(error.message)}"
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
    text = told.spelled(_option) if isinstance(told, Message) else str(told)
    return ARGUMENT.sub(lambda found: _option(Keyword(found[0])), text)


def _option(keyword: Keyword) -> str:
    from xmleval.cli.options import FLAGS  # only once something is wrong: it imports the formats

    options = OTHERS | FLAGS | {f"{name}=True": flag for name, flag in FLAGS.items()}
    if str(keyword) in options:
        return options[str(keyword)]
    name = options.get(keyword.name)
    return (
        (str(keyword) if keyword.value else keyword.name)
        if name is None
        else f"{name} {keyword.value}".rstrip()
    )


def on_terminal() -> bool:
    """Tell whether errors, and bars, go to a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def notes_told() -> Iterator[None]:
    """Print on stderr what functions without a report warn of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    tell_notes(one.message.args[0] if isinstance(one.message, Warning) else one.message for one in caught)
