"""Options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from xmleval.cli.help import Choice
from xmleval.cli.paths import FileName
from xmleval.conventions import resolve_conventions
from xmleval.input.csr import MOST_LABELS
from xmleval.input.formats.documents import Fields
from xmleval.numerals import decimal_number, whole_number

FILE = FileName()


class Whole(click.IntRange):
    """A whole number in plain digits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number, or refuse what is none."""
        if isinstance(value, str) and whole_number(value) is None:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.types.FloatParamType):
    """A number in plain decimal notation."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number, or refuse what is none."""
        if isinstance(value, str) and decimal_number(value) is None:
            self.fail(f"{value!r} is not a number.", param, ctx)
        return super().convert(value, param, ctx)


class ConventionsText(Choice):
    """A preset of conventions, fields with their values, or both."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text, or refuse what it says."""
        if not re.search("[=,]", str(value)):
            return super().convert(value, param, ctx)
        try:
            resolve_conventions(value)
        except ValueError as error:
            self.fail(str(error).removeprefix("conventions: "), param, ctx)
        return value


NUMBER, WHOLE, COUNT = Number(), Whole(), Whole(min=1)
LABEL_COUNT = Whole(min=1, max=MOST_LABELS)
SUFFIXES = {".md": "markdown", ".tex": "latex"}
OTHER_FORMS = {".csv", ".html", ".jsonl", ".parquet", ".pdf", ".tsv", ".xlsx", ".yaml", ".yml"}
Decorator = Callable[[Any], Any]


def file_option(*names: str, help: str, metavar: str = "FILE", required: bool = False) -> Decorator:
    """Return an option that takes a file."""
    return click.option(*names, type=FILE, metavar=metavar, required=required, help=help)


def format_option(forms: Sequence[str] = ("table", "json")) -> Decorator:
    """Return the option for the form of the result, by default that of the suffix of --output."""
    suffixes = {f".{form}": form for form in forms} | SUFFIXES

    def by_suffix(context: click.Context, parameter: click.Parameter, form: str | None) -> str:
        output: Path | None = context.params.get("output")  # read first, see `OUTPUT`
        suffix = "" if form or output is None else output.suffix.lower()
        found = suffixes.get(suffix, "table")
        if found not in forms or (suffix in OTHER_FORMS and suffix not in suffixes):
            told = f"--output: no result is written as {suffix}; --format names the form: {', '.join(forms)}"
            raise click.UsageError(told, context)
        return form or found

    return click.option(
        "--format",
        "output_format",
        type=Choice(forms),
        metavar="FORM",
        callback=by_suffix,
        help=f"Form of the result: {', '.join(forms)}; default by the suffix of --output, else a table.",
    )


OUTPUT = click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    is_eager=True,
    help="File for the result, written whole or not at all; default stdout.",
)
PER_LABEL = file_option(
    "--per-label",
    "per_label_file",
    help="CSV file for every label: support, tp, fp, fn and the averages over labels asked for, worst first.",
)
PER_ROW = file_option(
    "--per-row", "per_row_file", help="CSV file for every row: the measures of rows asked for, worst first."
)
LABEL_NAMES = file_option("--labels", help="Names of the labels by column, one a line or a JSON list.")


def split_names(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """Cut lists of names at their commas, those in parentheses aside."""
    names = [name.strip() for text in texts for name in re.split(r",(?![^()]*\))", text)]
    if not all(names):
        raise click.BadParameter(f"{','.join(texts)!r} has an empty name.", context, parameter)
    return names


def field_options(*left_out: str) -> Decorator:
    """Return the options for fields of CSV and JSON Lines, but those that a command has no use for."""

    def add(command: Any) -> Any:
        for name, told in reversed(FIELDS.items()):
            if name not in left_out:
                kind = "TEXT" if name == "separator" else "NAME"
                command = click.option(f"--{name}", metavar=kind, help=told)(command)
        return command

    return add


FIELDS = {
    "true-field": "Of CSV and JSON Lines: the field of relevant labels.",
    "pred-field": "Likewise: the field of predicted labels; `evaluate` also finds them in TRUTH's own file.",
    "score-field": "The field of their scores, where these stand in one of their own.",
    "id-field": "The field by which rows of several files are joined.",
    "separator": "What stands between the labels of a field, such as ';'; JSON lists need none.",
}


FIELD_NAMES = [name.replace("-", "_") for name in FIELDS]


def fields_of(options: dict[str, Any], joined: bool) -> Fields:
    """Return what options tell about fields."""
    separator = options.get("separator")
    if separator is not None:
        separator = {r"\t": "\t"}.get(separator, separator)
        if not separator:
            raise click.UsageError("--separator is empty", click.get_current_context())
    true, pred, score, instance = (options.get(f"{name}_field") for name in ("true", "pred", "score", "id"))
    return Fields(true, pred, score, instance, separator, joined)
