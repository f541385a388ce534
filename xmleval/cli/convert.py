"""`xmleval convert`: relevant labels and scores from one format into another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from xmleval.base.errors import InputError
from xmleval.cli.files import FILE, Output, Scanning
from xmleval.cli.messages import on_terminal, print_notes
from xmleval.cli.options import FORMAT, REQUIRED, Opt, command
from xmleval.cli.types import LABEL_COUNT
from xmleval.evaluation.convert import convert_files, writer_of

OPTIONS = {
    "kind": Opt(
        click.Choice(["truth", "scores"]), None, "What IN contains, if its format allows both."
    ),
    "n_labels": Opt(LABEL_COUNT, "N", "Number of labels, if IN does not determine it."),
    "like": Opt(
        FILE,
        "TRUTH",
        "Relevant labels with names, which give rows and labels their numbers.",
    ),
    **FORMAT,
}


class DataFile(Output):
    """The path of a file in one of the formats; a list is a pair of files."""

    def files(self, path: Path) -> Sequence[Path]:
        """Return the files that are written."""
        return [path, *writer_of(path).companions(path)]


DATA = DataFile("data", None)
WRITTEN = Opt(DATA, "OUT", "File to write, in the format of its ending.", extra=REQUIRED)


@command({"Options": OPTIONS})
@click.argument("source", metavar="IN", type=FILE)
@click.argument("target", metavar="OUT", type=DATA)
def convert(
    source: Path,
    target: Path,
    scanning: Scanning,
    kind: str | None,
    n_labels: int | None,
    like: Path | None,
) -> None:
    """Read IN, a file, a folder or a pattern, and write OUT in the format of its ending.

    The data are read into memory, except for a matrix by number that becomes text or Parquet. Names
    of rows and labels are kept in .parquet, .csv, .jsonl, .qrels and .run. In other formats, and
    with --like, they become numbers, in the order of TRUTH.
    """
    if kind == "truth" and scanning.scores_label_field is not None:
        raise InputError("scores_label_field", "is for scores, but IN has relevant labels")
    if kind == "scores" and scanning.label_field is not None and like is None:
        raise InputError("label_field", "is for relevant labels, but IN has scores")
    scan_source = scanning.truth if kind == "truth" else scanning.scores
    data = scan_source(source)
    truth = None if like is None else scanning.truth(like)
    print_notes(convert_files(data, target, kind, n_labels, truth, on_terminal()))
