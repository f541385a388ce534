"""`xmleval merge`: one result from shards that were evaluated elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.budget import MEMORY, Budget, memory_bytes
from xmleval.cli.details import write_labels, write_rows
from xmleval.cli.forms import WRITERS, written
from xmleval.cli.messages import naming_files
from xmleval.cli.options import FILE, OUTPUT, PER_LABEL, PER_ROW, file_option, format_option
from xmleval.cli.output import check_outputs, write_result
from xmleval.evaluator import Evaluator
from xmleval.message import Message


@click.command()
@click.argument("states", type=FILE, nargs=-1, required=True)
@file_option("--save", "state", help="File for the state of all together.")
@format_option(list(WRITERS))
@OUTPUT
@PER_LABEL
@PER_ROW
@click.option("--memory", default=MEMORY, show_default=True, metavar="SIZE", help="Memory for pooled scores.")
def merge(
    states: tuple[Path, ...],
    state: Path | None,
    output_format: str,
    output: Path | None,
    per_label_file: Path | None,
    per_row_file: Path | None,
    memory: str,
) -> None:
    """Combine STATES that `xmleval evaluate --save` wrote for shards of the same evaluation.

    The result is that of evaluating all rows at once, to the last bit; intervals need shards that were given
    --first-row, --clusters or ids of rows. Rows of --per-row are numbered by --first-row, else in the order
    of STATES.
    """
    check_outputs([output, per_label_file, per_row_file], states, [state])
    with naming_files({"memory": "--memory"}):
        budget = Budget(memory_bytes("memory", memory))
    allowance = budget.allowance()
    whole = Evaluator.within(states[0], allowance, budget.memory)
    for unit, wanted in (("label", per_label_file), ("row", per_row_file)):
        if wanted is not None and not whole.settings[f"per_{unit}"]:
            raise ValueError(f"{states[0]}: {unit}s were not kept; --save it together with --per-{unit}")
    for path in states[1:]:
        try:
            taken = allowance.taken
            with naming_files({"first_row": "--first-row"}):
                whole.merge(Evaluator.within(path, allowance, budget.memory))
            allowance.taken = taken
        except ValueError as error:
            told = error.args[0] if error.args and isinstance(error.args[0], Message) else Message(error)
            first, *rest = told.parts
            named = Message(f"{path}: ", str(first).removeprefix("merge: "), *rest)
            raise ValueError(told if told.startswith(str(path)) else named) from None
    report = whole.compute()
    if per_label_file is not None:
        write_labels({str(states[0]): report}, per_label_file)
    if per_row_file is not None:
        write_rows({str(states[0]): report}, per_row_file)
    if state is not None:
        whole.save(state)
    write_result(written({str(states[0]): report}, output_format, output), output)
