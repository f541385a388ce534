"""`xmleval merge`: one result from shards that were evaluated elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.base.budget import MEMORY, Resources, limited, memory_bytes, memory_limit
from xmleval.base.errors import InputError, Keyword, Message
from xmleval.cli.evaluate import OF_RESULT
from xmleval.cli.files import FILE, STATE
from xmleval.cli.options import Opt, command
from xmleval.cli.output import write_details, write_result
from xmleval.evaluation.evaluator import Evaluator

OPTIONS = {
    "save": Opt(STATE, None, "File for the state of all together."),
    **OF_RESULT,
    "memory": Opt(str, "SIZE", "Memory for pooled scores.", extra={"default": MEMORY, "show_default": True}),
}


@command({"Options": OPTIONS})
@click.argument("states", type=FILE, nargs=-1, required=True)
def merge(
    states: tuple[Path, ...], save: Path | None, output_format: str, output: Path | None,
    per_label_file: Path | None, per_row_file: Path | None, memory: str,
) -> None:  # fmt: skip
    """Combine STATES that `xmleval evaluate --save` wrote for shards of the same evaluation.

    The result is that of evaluating all rows at once, to the last bit; intervals need shards that were given
    --first-row, --clusters or ids of rows. Rows of --per-row are numbered by --first-row, else in the order
    of STATES.
    """
    budget = Resources(memory_bytes("memory", memory))
    click.get_current_context().with_resource(limited(budget.limit()))
    whole = Evaluator.load(states[0], memory=budget.memory)
    for unit, file in (("label", per_label_file), ("row", per_row_file)):
        if file is not None and not whole.settings[f"per_{unit}"]:
            raise ValueError(f"{states[0]}: {unit}s were not kept; --save it together with --per-{unit}")
    for path in states[1:]:
        try:
            with memory_limit().lent():
                whole.merge(Evaluator.load(path, memory=budget.memory))
        except InputError as error:
            argument = [] if error.argument == "merge" else [Keyword(error.argument), ": "]
            raise InputError(str(path), Message(*argument, error.message)) from None
    report = whole.compute()
    write_details({str(states[0]): report}, per_label_file, per_row_file)
    if save is not None:
        whole.save(save)
    write_result(report, output_format, output)
