"""`xmleval check`: a gate for saved results."""

from __future__ import annotations

import re
from pathlib import Path

import click

from xmleval.cli.help import Sectioned
from xmleval.cli.paths import FileName
from xmleval.cli.stdout import write_stdout
from xmleval.input.errors import InputError
from xmleval.numerals import decimal_number
from xmleval.report.checks import Pair, Results, check_results
from xmleval.report.gates import limits_of
from xmleval.report.saved_results import load_results
from xmleval.report.saved_rows import Difference, paired_differences

FILE = FileName()
FAILED = 1
SECTIONS = {
    "Limits": ["minimum", "maximum"],
    "Earlier results": ["last", "margins", "rows", "last_rows"],
    "Reports": ["model"],
}
EXAMPLES = """Examples:

\b
  xmleval check new.json \\
      --min ndcg@5=0.61 --max coverage=40
  xmleval check new.json \\
      --no-worse-than last.json --margin 0.002
  xmleval check new.json \\
      --no-worse-than last.json \\
      --rows new.csv --last-rows last.csv
"""


def read_limits(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float]:
    """Read NAME=VALUE, several by commas or by options; of margins also VALUE, for all names."""
    found = list[tuple[str, float]]()
    is_margin = parameter.name == "margins"
    for item in re.split(r",(?![^()]*\))", ",".join(texts)) if texts else []:
        name, sign, text = item.rpartition("=")
        value = decimal_number(text.strip())
        if value is None or value != value or (not sign and not is_margin) or (sign and not name):
            form = "VALUE or NAME=VALUE" if is_margin else "NAME=VALUE"
            raise click.BadParameter(f"{item!r} is not {form}, as in ndcg@5=0.01.", context, parameter)
        found.append((name, value))
    try:
        return limits_of(parameter.opts[0], found, is_margin)
    except InputError as error:
        raise click.BadParameter(f"{error.message}.", context, parameter) from None


@click.command(cls=Sectioned, sections=SECTIONS, epilog=EXAMPLES)
@click.argument("results", type=FILE)
@click.option(
    "--min", "minimum", multiple=True, callback=read_limits, metavar="NAME=VALUE",
    help="Least value of a measure that holds, or within a group, tail:p@5=0.3; repeat it for others.",
)  # fmt: skip
@click.option(
    "--max", "maximum", multiple=True, callback=read_limits, metavar="NAME=VALUE",
    help="Likewise the largest, as for losses.",
)  # fmt: skip
@click.option(
    "--no-worse-than", "last", type=FILE, metavar="LAST",
    help="Earlier results: every measure in them, also within groups, must be in RESULTS, and no worse.",
)  # fmt: skip
@click.option(
    "--margin", "margins", multiple=True, callback=read_limits, metavar="VALUE",
    help="By how much a measure may be worse than in LAST, of one measure NAME=VALUE; default 0.",
)  # fmt: skip
@click.option(
    "--rows", type=FILE, metavar="FILE",
    help="Row values of RESULTS (--per-row of `evaluate`). A measure with row values is then worse only if "
    "the whole 95 % interval of the mean difference by row is.",
)  # fmt: skip
@click.option("--last-rows", type=FILE, metavar="FILE", help="Row values of LAST, for --rows.")
@click.option("--model", metavar="NAME", help="Check only this one of several reports.")
def check(
    results: Path,
    minimum: dict[str, float],
    maximum: dict[str, float],
    last: Path | None,
    margins: dict[str, float],
    rows: Path | None,
    last_rows: Path | None,
    model: str | None,
) -> int:
    """Check RESULTS, JSON that `xmleval evaluate` or `merge` wrote, against limits or earlier results.

    The exit code is 0 if all holds; 1 after a line on standard output for each measure that is beyond its
    limit, worse, undefined or missing; 2 for invalid usage, for files that cannot be read, and where LAST is
    of other data or conventions.
    """
    context = click.get_current_context()
    if not (minimum or maximum or last):
        raise click.UsageError("nothing to check: give --min, --max or --no-worse-than", context)
    if last is None and (margins or rows or last_rows):
        raise click.UsageError("--margin, --rows and --last-rows need --no-worse-than", context)
    if (rows is None) != (last_rows is None):
        raise click.UsageError("--rows and --last-rows need each other", context)
    new, old = (None if path is None else Results(str(path), load_results(path)) for path in (results, last))
    assert new is not None

    def by_row(one: Pair, other: Pair) -> dict[str, Difference]:
        if rows is None or last_rows is None:
            return {}
        return paired_differences((rows, *one), (last_rows, *other))

    checked = check_results(new, old, minimum, maximum, margins, model, by_row)
    write_stdout(f"{checked}\n")
    return 0 if checked else FAILED
