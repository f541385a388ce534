"""`xmleval calibrate`: fit a map from scores to probabilities on held-out data, and apply it to others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from xmleval.budget import MEMORY, machine_allowance
from xmleval.calibrate.calibrator import METHODS, Calibrator
from xmleval.calibrate.fitting import Fitting
from xmleval.cli.convert import STREAMED_BYTES, refuse_other_kind, writable, write_noted, writer_of
from xmleval.cli.counting import naming_rows, progress
from xmleval.cli.evaluation import budget_of, widths_of
from xmleval.cli.files import INPUT_FORMAT
from xmleval.cli.fitting import count_pair, find_pair, open_pair
from xmleval.cli.help import Choice
from xmleval.cli.messages import naming_files
from xmleval.cli.named_inputs import read_scores_alone
from xmleval.cli.options import COUNT, FILE, LABEL_NAMES, field_options, fields_of, file_option
from xmleval.cli.output import check_outputs, refuse_compressed, write_result
from xmleval.engine.run import make_work
from xmleval.input.formats.format import Format
from xmleval.input.formats.trec import RUN, save
from xmleval.input.pieces import RowReader
from xmleval.input.shards import Input, find_input, with_fields
from xmleval.input.stack import as_rows
from xmleval.message import counted


@click.group()
def calibrate() -> None:
    """Fit probabilities to scores on one data set and apply them to others."""


@calibrate.command(short_help="Fit a map from scores to probabilities.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
@click.option(
    "--method",
    type=Choice([*METHODS]),
    default="isotonic",
    show_default=True,
    help="; ".join(f"{name}: {told}" for name, told in METHODS.items()) + ".",
)
@click.option("--k", "k", type=COUNT, help="Fit to the first k labels of each row; default all listed ones.")
@LABEL_NAMES
@INPUT_FORMAT
@field_options()
@click.option(
    "--memory",
    default=MEMORY,
    show_default=True,
    metavar="SIZE",
    help="Memory, such as 512MB and at least 16MB, for rows that are read and for scores; more of these goes "
    "to temporary files.",
)
@click.option("--threads", type=COUNT, help="Most threads to use; the map does not depend on it.")
@file_option("--output", metavar="MODEL", required=True, help="File for the map, JSON.")
def fit(
    truth: Path,
    scores: Path,
    output: Path,
    method: str,
    k: int | None,
    labels: Path | None,
    input_format: str | None,
    memory: str,
    threads: int | None,
    **fields: Any,
) -> None:
    """Fit a map from SCORES to probabilities against the relevant labels in TRUTH.

    Both are of held-out data. `xmleval calibrate apply MODEL SCORES` makes probabilities of other scores.
    Labels with names are matched by name.
    """
    allowance = machine_allowance()
    relevant, predicted = find_pair(truth, scores, input_format, fields, allowance)
    refuse_compressed(output)
    check_outputs([], [relevant, predicted, labels], [output])
    budget = budget_of(memory)
    fitting = Fitting(method, k)
    rows = open_pair(relevant, predicted, labels)
    pairs = fitting.pairs(widths_of(rows, budget)[0], make_work(budget.evaluator(1), threads))
    count_pair(pairs, rows, budget)
    with naming_files({"y_score": scores}):
        found_map = fitting.calibrator_of(pairs)
    found_map.save(output)
    write_result(str(found_map), None)


@calibrate.command(short_help="Write probabilities in place of scores.")
@click.argument("model", type=FILE)
@click.argument("scores", type=FILE)
@INPUT_FORMAT
@field_options("true-field")
@file_option(
    "--output", metavar="OUT", required=True, help="File to write, in the format that its name tells."
)
def apply(model: Path, scores: Path, input_format: str | None, output: Path, **fields: Any) -> None:
    """Write SCORES with the probabilities that MODEL gives in place of the scores.

    MODEL is a file that `xmleval calibrate fit` wrote. A list keeps its order. SCORES with names are written
    as a TREC run (.run).
    """
    writer, allowance = writer_of(output), machine_allowance()
    refuse_other_kind(output, writer, "scores")
    given = find_input(scores, "scores", input_format, allowance)
    (given,) = with_fields(fields_of(fields, joined=True), given)
    check_outputs([], [given, model], [output])
    check_outputs([], [given, model], writer.beside(output))
    assert writer.write
    found = Calibrator.load(model)
    if given.named:
        if writer is not RUN:
            raise ValueError(f"{given.name}: has names; expected a TREC run (.run) as --output")
        rows, *names = read_scores_alone(given, None)
        save(output, found.apply(rows), "scores", *names)
        _tell_size(rows.n_rows, rows.labels.size)
        return
    _write(output, writer, found, given)


def _write(output: Path, writer: Format, found: Calibrator, given: Input) -> None:
    """Write probabilities as scores are read where the format allows, else once they are whole."""
    pieces, n_rows, n_entries = given.pieces(), 0, 0
    reader = RowReader(given.name, pieces, STREAMED_BYTES)

    def mapped() -> Iterator[Any]:
        nonlocal n_rows, n_entries
        with progress(reader.n_rows, 0) as show:
            for n in iter(reader.ready, 0):
                with naming_rows({"y_score": reader}, reader.n_taken):
                    part = found.apply(reader.take(n))
                n_rows += n
                rows = as_rows(part, "scores")
                n_entries += int((rows.labels >= 0).sum())
                yield rows
                show(reader.n_taken)

    with contextlib.closing(reader):
        data = writable(writer, mapped(), pieces, pieces.n_labels)
        with naming_files({"scores": given.name, "matrix": given.name}):
            write_noted(output, writer, data, "scores", pieces.n_labels)
    _tell_size(n_rows, n_entries)


def _tell_size(n_rows: int, n_entries: int) -> None:
    write_result(f"{counted(n_rows, 'rows')}, {counted(n_entries, 'probabilities', 'probability')}", None)
