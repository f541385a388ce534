"""`xmleval check`: a gate for saved results."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from xmleval.api.check import check as check_reports
from xmleval.base.errors import shown
from xmleval.base.numerals import score_number
from xmleval.cli.files import FILE
from xmleval.cli.messages import write_stdout
from xmleval.cli.options import KNOWN_MEASURES, LIST, Opt, command
from xmleval.cli.types import Choice, Parsed
from xmleval.metrics.lists import parse_names
from xmleval.results.checks import limits_of

Limits = list[tuple[str, float]]  # measures and their limits
FAILED = 1
FORMS = ("lines", "markdown")  # of a result
MARGIN = "VALUE or NAME=VALUE"  # a value alone is for all names


def read_limits(text: str, form: str = "NAME=VALUE") -> Limits:
    """Read a list of NAME=VALUE, separated by commas."""
    limits = []
    for item in parse_names(text):
        name, sign, number = item.rpartition("=")
        value = score_number(number.strip())
        is_for_all = form == MARGIN and not sign
        if value is None or not (name or is_for_all):
            raise ValueError(f"{shown(item)} is not {form}, as in ndcg@5=0.01.")
        limits.append((name, value))
    return limits


LIMITS = Parsed(read_limits)
LIMIT_OPTIONS = {
    "min": Opt(
        LIMITS,
        "NAME=VALUE",
        "Least value of a measure, also within a group, tail:p@5=0.3; repeat it for others.",
        extra=LIST,
    ),
    "max": Opt(
        LIMITS,
        "NAME=VALUE",
        "Largest value of a measure, such as a loss; repeat it for others.",
        extra=LIST,
    ),
}
SECTIONS = {
    "Limits": LIMIT_OPTIONS,
    "Earlier results": {
        "no_worse_than": Opt(FILE, "LAST"),
        "margin": Opt(
            Parsed(partial(read_limits, form=MARGIN)),
            "VALUE",
            "How much worse than in LAST measures may be, VALUE for all or NAME=VALUE for one; "
            "default 0.",
            extra=LIST,
        ),
    },
    "Reports": {
        "model": Opt(str, "NAME"),
        **KNOWN_MEASURES,
        "output_format": Opt(
            Choice(FORMS),
            "FORM",
            "Form of the result: lines, or a Markdown table; default lines.",
            "--format",
            extra={"default": "lines", "show_default": False},
        ),
    },
}
EXAMPLES = """\
xmleval check new.json \\
    --min ndcg@5=0.61 --max coverage=40
xmleval check new.json \\
    --no-worse-than last.json --margin 0.002
"""


@command(SECTIONS, check_reports, examples=EXAMPLES)
@click.argument("results", type=FILE)
def check(
    results: Path,
    min: Limits | None,
    max: Limits | None,
    no_worse_than: Path | None,
    margin: Limits | None,
    model: str | None,
    output_format: str,
) -> int:
    """Check RESULTS, JSON or a state of `xmleval evaluate` or `merge`, against limits or earlier results.

    The exit code is 0 if no check fails; 1 after a line on standard output for each measure that is
    beyond its limit, worse, undefined or missing; 2 for invalid usage, for files that cannot be
    read, and where LAST is of other data or conventions.
    """  # noqa: E501
    checked = check_reports(
        results,
        min=limits_of("min", min or ()),
        max=limits_of("max", max or ()),
        no_worse_than=no_worse_than,
        margin=limits_of("margin", margin or (), margins=True),
        model=model,
    )
    text = checked.to_markdown() if output_format == "markdown" else f"{checked}\n"
    write_stdout(text)
    return 0 if checked else FAILED
