"""`xmleval merge`: one result from shards that were evaluated elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.base.budget import MEMORY, Resources, limited, memory_bytes, memory_limit
from xmleval.base.errors import InputError, Keyword, Message
from xmleval.cli.evaluate import RESULT_OPTIONS
from xmleval.cli.files import FILE, STATE
from xmleval.cli.options import KNOWN_MEASURES, Opt, command
from xmleval.cli.output import write_details, write_result
from xmleval.evaluation.evaluator import Evaluator
from xmleval.results.result import Result
from xmleval.show.tables import TableStyle

OPTIONS = {
    "save": Opt(STATE, None, "File for the merged state."),
    **RESULT_OPTIONS,
    **KNOWN_MEASURES,
    "memory": Opt(
        str, "SIZE", "Memory for pooled scores.", extra={"default": MEMORY, "show_default": True}
    ),
}


@command({"Options": OPTIONS}, Result.tables)
@click.argument("states", type=FILE, nargs=-1, required=True)
def merge(
    states: tuple[Path, ...],
    save: Path | None,
    output_format: str,
    output: Path | None,
    style: TableStyle,
    per_label_file: Path | None,
    per_row_file: Path | None,
    memory: str,
) -> None:
    """Combine STATES that `xmleval evaluate --save` wrote for shards of the same evaluation.

    The result is that of evaluating all rows at once, to the last bit; intervals need shards that
    were given --first-row, --clusters or ids of rows. Rows of --per-row are numbered by
    --first-row, else in the order of STATES.
    """
    resources = Resources(memory_bytes("memory", memory))
    click.get_current_context().with_resource(limited(resources.limit()))
    first_state, *further_states = states
    evaluator = Evaluator.load(first_state, memory=resources.memory)
    for unit, file in (("label", per_label_file), ("row", per_row_file)):
        if file is not None and not evaluator.settings[f"per_{unit}"]:
            raise ValueError(
                f"{first_state}: has no values by {unit}; "
                f"save it again with --save and --per-{unit}"
            )
    for path in further_states:
        try:
            with memory_limit().lent():
                evaluator.merge(Evaluator.load(path, memory=resources.memory))
        except InputError as error:
            message = error.message
            if error.argument != "merge":
                message = Message(Keyword(error.argument), ": ", message)
            raise InputError(str(path), message) from None
    report = evaluator.compute()
    write_details({str(first_state): report}, per_label_file, per_row_file)
    if save is not None:
        evaluator.save(save)
    write_result(report, output_format, output, style)
