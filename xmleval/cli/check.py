"""`xmleval check`: a gate for saved results."""

from __future__ import annotations

import re
from pathlib import Path

import click

from xmleval.cli.help import Sectioned
from xmleval.cli.paths import FileName
from xmleval.cli.stdout import write_stdout
from xmleval.message import counted, did_you_mean, printable
from xmleval.numerals import decimal_number
from xmleval.report.gates import beyond_limits, compared, refuse_unlike, worse
from xmleval.report.saved_results import SavedReport, load_results, naming_file
from xmleval.report.saved_rows import paired_differences
from xmleval.spec import parse_spec
from xmleval.spellings import not_there

Reports = dict[str, SavedReport]
FILE = FileName()
FAILED = 1
SECTIONS = {
    "Limits": "minimum maximum",
    "Earlier results": "last margins rows last_rows",
    "Reports": "model help",
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
    found: dict[str, float] = {}
    is_margin = parameter.name == "margins"
    for item in re.split(r",(?![^()]*\))", ",".join(texts)) if texts else []:
        name, sign, text = item.rpartition("=")
        value = decimal_number(text.strip())
        if value is None or value != value or (not sign and not is_margin):
            form = "VALUE or NAME=VALUE" if is_margin else "NAME=VALUE"
            raise click.BadParameter(f"{item!r} is not {form}, as in ndcg@5=0.01.", context, parameter)
        spec = parse_spec(name) if sign else None
        canonical = str(spec or "")
        if canonical in found:
            raise click.BadParameter(f"{canonical or 'a value for all'} is given twice.", context, parameter)
        lowest, highest = spec.metric.range if spec else (0.0, float("inf"))
        if is_margin and value < 0:
            raise click.BadParameter(f"{item!r} is negative.", context, parameter)
        if not is_margin and not lowest <= value <= highest:
            told = f"{item!r}: {canonical} is between {lowest:g} and {highest:g}."
            raise click.BadParameter(told, context, parameter)
        found[canonical] = value
    return found


@click.command(cls=Sectioned, sections=SECTIONS, epilog=EXAMPLES)
@click.argument("results", type=FILE)
@click.option(
    "--min", "minimum", multiple=True, callback=read_limits, metavar="NAME=VALUE",
    help="Least value of a measure that holds; repeat it for others.",
)  # fmt: skip
@click.option(
    "--max", "maximum", multiple=True, callback=read_limits, metavar="NAME=VALUE",
    help="Likewise the largest, as for losses.",
)  # fmt: skip
@click.option(
    "--no-worse-than", "last", type=FILE, metavar="LAST",
    help="Earlier results: every measure in them must be in RESULTS, and no worse.",
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
    reports, earlier = load_results(results), {} if last is None else load_results(last)
    if model is not None and {*reports, *earlier} == {""}:
        raise ValueError(f"--model {model!r}: {results} holds one report, which has no name")
    reports = _chosen(reports, model, results)
    held = {(name, measure) for name in reports for measure in (*minimum, *maximum)}
    failures = [
        (name, line)
        for name, report in reports.items()
        for limits, side in ((minimum, "minimum"), (maximum, "maximum"))
        for line in beyond_limits(report, limits, side)
    ]
    if last is not None:
        earlier = _chosen(earlier, model, last)
        known = [*dict.fromkeys(name for old in earlier.values() for name in old.values)]
        for name in margins.keys() - {"", *known}:
            raise ValueError(f"{last}: --margin: {not_there(name, known)}")
        for name, old_name in _pairs(reports, earlier, results, last):
            if name not in reports:
                failures.append((name, f"no report of this name, which is in {last}"))
                continue
            new, old = reports[name], earlier[old_name]
            with naming_file(last):
                refuse_unlike(new, old)
                held |= {(name, measure) for measure in compared(old)}
            by_row = {}
            if rows is not None and last_rows is not None:
                by_row = paired_differences((rows, name, new), (last_rows, old_name, old))
            failures += [(name, line) for line in worse(new, old, str(last), margins, by_row)]
    if not held and not failures:
        raise ValueError(f"{last}: no measure to compare with")
    for name, line in failures:
        write_stdout(printable(f"{name}: {line}" if name else line) + "\n")
    if not failures:
        write_stdout(f"{counted(len(held), 'measures hold', 'measure holds')}\n")
    return FAILED if failures else 0


def _chosen(reports: Reports, model: str | None, path: Path) -> Reports:
    """Return the report of a name, or all; one that has no name is always chosen."""
    if model is None or [*reports] == [""]:
        return reports
    if model not in reports:
        near = did_you_mean(model, reports) or f"it has {', '.join(reports)}"
        raise ValueError(f"{path}: has no report {model!r}; {near}")
    return {model: reports[model]}


def _pairs(reports: Reports, earlier: Reports, results: Path, last: Path) -> list[tuple[str, str]]:
    """Return the names under which reports are in both files: the same, unless one file has none."""
    if ("" in reports) == ("" in earlier):
        return [(name, name) for name in earlier]
    if len(reports) > 1 or len(earlier) > 1:
        one, several = (results, last) if "" in reports else (last, results)
        raise ValueError(f"{one}: its report has no name; --model tells which of {several} goes with it")
    return [(next(iter(reports)), next(iter(earlier)))]
