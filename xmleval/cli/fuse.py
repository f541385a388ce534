"""`xmleval fuse`: the lists of several models, joined into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from xmleval.api.fuse import OTHER_NAMES, RULES
from xmleval.api.fuse import fuse as fuse_files
from xmleval.cli.convert import WRITTEN
from xmleval.cli.files import FILE
from xmleval.cli.messages import notes_told, tell_notes
from xmleval.cli.options import FORMAT, INPUTS, MEASURES, Opt, command
from xmleval.cli.output import write_text
from xmleval.cli.types import COUNT, NUMBER, Choice, Parsed, read_names, read_number
from xmleval.errors import counted
from xmleval.evaluation.convert import save_run, write, writer_of
from xmleval.evaluation.inputs import open_input, read_scores_alone
from xmleval.evaluation.reading import naming_files
from xmleval.input.csr import matrix_rows
from xmleval.input.scores import list_rows
from xmleval.input.tensors import is_sparse


def read_weights(text: str) -> list[float]:
    """Cut a list of numbers at its commas."""
    return [*map(read_number, read_names(text))]


OPTIONS = {
    "rule": Opt(
        Choice([*RULES, *OTHER_NAMES]), "RULE",
        "What a label adds up, over the SCORES that list it; `xmleval.fuse` and the guide explain. "
        f"Also known as: {', '.join(f'{other} ({name})' for other, name in OTHER_NAMES.items())}.",
    ),
    "k": Opt(COUNT, "N"),
    "weights": Opt(Parsed(read_weights), "LIST", "Weights of the SCORES, such as 1,0.5."),
    "rank_constant": Opt(NUMBER, "NUMBER", "Of rrf: what ranks are added to; else 60."),
    "n_labels": INPUTS["n_labels"],
    "higher_is_better": MEASURES["higher_is_better"],
    **{name: opt for name, opt in FORMAT.items() if name != "true_field"},
    "output": WRITTEN,
}  # fmt: skip


@command({"Options": OPTIONS}, fuse_files)
@click.argument("scores", type=FILE, nargs=-1, required=True)
def fuse(scores: tuple[Path, ...], output: Path, rule: str, **options: Any) -> None:
    """Join the lists of several models into one, row by row.

    Each of SCORES is a file, a folder or a pattern, as `xmleval evaluate` takes them, held in memory. Ties
    are broken by the smaller label. Files with names are matched by them; OUT is then a TREC run (.run).
    """
    writer = writer_of(output, "scores")
    with notes_told(), naming_files({"predictions": "SCORES"}):
        fused = fuse_files([*scores], rule, **options)
    if isinstance(fused, dict | list):
        rows, *names = read_scores_alone(open_input("y_score", fused), None)
        save_run(output, writer, str(scores[0]), rows, *names)
        n_labels = len(names[1])
    else:
        width = fused.shape[1] if is_sparse(fused) else None
        rows = list_rows("y_score", *fused) if width is None else matrix_rows("y_score", fused, None)
        tell_notes(write(output, writer, rows, "scores", width))
        n_labels = width or int(rows.labels.max(initial=0)) + 1
    size = f"{counted(rows.n_rows, 'rows')} x {counted(n_labels, 'labels')}"
    listed = f"{int((rows.labels >= 0).sum())} listed ({OTHER_NAMES.get(rule, rule)} of {len(scores)})"
    write_text(f"{size}, {listed}")
