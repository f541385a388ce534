"""`xmleval stats`: a data set, described by its labels."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse
from rich.table import Table

from xmleval.budget import PIECE_BYTES, machine_allowance
from xmleval.cli.counting import count_training, read_sets
from xmleval.cli.files import INPUT_FORMAT, refuse_many_labels
from xmleval.cli.messages import tell_notes
from xmleval.cli.named_inputs import count_named_training, read_numbered_truth
from xmleval.cli.options import FILE, OUTPUT, field_options, fields_of, file_option, format_option
from xmleval.cli.output import check_outputs, show, write_result
from xmleval.input.pieces import count_columns
from xmleval.input.sets import set_rows
from xmleval.input.shards import Input, find_input, with_fields
from xmleval.statistics import LabelStatistics


@click.command()
@click.argument("truth", type=FILE)
@file_option("--train", metavar="Y_TRAIN", help="Training labels, for labels never seen in them.")
@INPUT_FORMAT
@field_options("pred-field", "score-field")
@format_option()
@OUTPUT
def stats(
    truth: Path,
    train: Path | None,
    input_format: str | None,
    output_format: str,
    output: Path | None,
    **fields: Any,
) -> None:
    """Describe the relevant labels in TRUTH: cardinality, density, diversity, tail, imbalance.

    A folder, or a pattern in quotes, stands for files that follow one another.
    """
    allowance = machine_allowance()
    given = find_input(truth, "truth", input_format, allowance)
    beside = None if train is None else find_input(train, "truth", input_format, allowance)
    given, beside = with_fields(fields_of(fields, joined=True), given, beside)
    check_outputs([output], [given, beside])
    values = _named_values(given, beside) if given.named else _values(given, beside)
    if output_format == "json" or output is not None:
        plain = {name: None if math.isnan(value) else value for name, value in values.items()}
        write_result(json.dumps(plain, indent=2), output)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in values.items():
        table.add_row(name, "undefined" if math.isnan(value) else f"{value:.6g}")
    show(table)


def _named_values(given: Input, train: Input | None) -> dict[str, float]:
    """Return the statistics of labels with names."""
    rows, label_names = read_numbered_truth(given)
    _expect_labels(given, len(label_names))
    found = LabelStatistics(len(label_names))
    found.update(set_rows("y_true", rows, len(label_names)))
    if train is None:
        return found.values(None)
    notes: list[str] = []
    counts = count_named_training(train, label_names, None, [notes])[0]
    tell_notes(notes)
    return found.values(counts)


def _expect_labels(given: Input, n_labels: int) -> None:
    if n_labels < 1:
        raise ValueError(f"{given.name}: 0 labels; expected 1 or more")


def _values(given: Input, train: Input | None) -> dict[str, float]:
    pieces = given.pieces()
    n_labels = count_columns(pieces, PIECE_BYTES)
    _expect_labels(given, n_labels)
    refuse_many_labels(given.name, n_labels, given.allowance)
    found = LabelStatistics(n_labels)
    if not read_sets("y_true", given.name, pieces, n_labels, PIECE_BYTES, found.update):
        found.update(set_rows("y_true", scipy.sparse.csr_array((0, n_labels), dtype=np.uint8), None))
    if train is None:
        return found.values()
    if train.named:
        raise ValueError(f"{train.name}: has names, which {given.name} has not")
    return found.values(count_training(train.name, train.pieces(), n_labels, PIECE_BYTES, train.allowance)[0])
