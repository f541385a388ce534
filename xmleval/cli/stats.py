"""`xmleval stats`: a data set, described by its labels."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click
from rich.table import Column, Table

from xmleval.api.label_statistics import label_statistics
from xmleval.cli.files import FILE, Scanning
from xmleval.cli.messages import on_terminal, printing_notes
from xmleval.cli.options import FORMAT, INPUTS, OUTPUT, command, format_option
from xmleval.cli.output import show, write_text
from xmleval.input.argument_types import FilePath
from xmleval.show.tables import as_json_value

OPTIONS = {
    "y_train": INPUTS["y_train"]._replace(
        help="Training labels, to count labels that never occur in them."
    ),
    **{
        name: opt
        for name, opt in FORMAT.items()
        if name not in ("scores_label_field", "score_field", "keep")
    },
    "output_format": format_option(),
    "output": OUTPUT,
}


@command({"Options": OPTIONS})
@click.argument("truth", type=FILE)
def stats(
    truth: Path,
    output_format: str,
    output: Path | None,
    scanning: Scanning,
    y_train: FilePath | None,
) -> None:
    """Describe the relevant labels in TRUTH: cardinality, density, diversity, tail, imbalance.

    A folder, or a pattern in quotes, stands for files that follow one another.
    """
    with printing_notes():
        values = label_statistics(scanning.truth(truth), y_train, progress=on_terminal())
    if output_format == "json":
        write_text(json.dumps(as_json_value(values), indent=2), output)
        return
    table = Table("", Column(justify="right"), box=None, pad_edge=False, show_header=False)
    for name, value in values.items():
        text = "undefined" if math.isnan(value) else f"{value:.6g}"
        table.add_row(name, text)
    show(table, path=output)
