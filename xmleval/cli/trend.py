"""`xmleval trend`: measures of saved results over days, and their limits."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.api.saved_reports import files_by_name
from xmleval.api.trend import trend as trend_of
from xmleval.cli.check import LIMIT_OPTIONS, Limits
from xmleval.cli.compare import OUTPUTS
from xmleval.cli.files import FILE
from xmleval.cli.messages import spell_options
from xmleval.cli.options import KNOWN_MEASURES, LIST, Opt, command
from xmleval.cli.output import describe_run, write_figure, write_result, write_text
from xmleval.cli.types import NAMES
from xmleval.files.output import refuse_input
from xmleval.results.checks import limits_of
from xmleval.results.result import Result, reword
from xmleval.show.tables import TableStyle

OPTIONS = {
    "metrics": Opt(
        NAMES,
        "NAMES",
        "Measures and groups of them, separated by commas, or within a group of labels or rows, "
        "tail:p@5; default all that every day has. Measures with limits are always shown.",
        extra=LIST,
    ),
    **LIMIT_OPTIONS,
    "model": Opt(str, "NAME"),
    **KNOWN_MEASURES,
    **{name: opt for name, opt in OUTPUTS.items() if name != "rows"},
}
EXAMPLES = """\
xmleval trend day*.json --min p@5=0.4
xmleval trend days --metrics p@1,p@5 \\
    --plot trend.png
"""


@command({"Options": OPTIONS}, trend_of, Result.tables, examples=EXAMPLES)
@click.argument("results", type=FILE, nargs=-1, required=True)
def trend(
    results: tuple[Path, ...],
    metrics: list[str] | None,
    min: Limits | None,
    max: Limits | None,
    model: str | None,
    output_format: str,
    output: Path | None,
    style: TableStyle,
    html: Path | None,
    plot: Path | None,
) -> None:
    """Show measures over days, with intervals and limits.

    RESULTS are JSON or states of `xmleval evaluate` or `merge`, one for each day, in this order; a
    folder stands for its .json and .state files, and a pattern for all files that match, day2
    before day10. Values beyond a limit are marked; `xmleval check` fails on them.
    """
    files = files_by_name("results", results)
    for file in files.values():
        refuse_input(file, [path for path in (output, html, plot) if path is not None])
    result = trend_of(
        files,
        metrics,
        min=limits_of("min", min or ()),
        max=limits_of("max", max or ()),
        model=model,
    )
    if html is not None:
        about = describe_run([*files.values()])
        write_text(reword(result, spell_options).to_html(about=about), html)
    if plot is not None:
        write_figure(result.plot(), plot)
    write_result(result, output_format, output, style)
