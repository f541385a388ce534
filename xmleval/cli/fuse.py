"""`xmleval fuse`: the lists of several models, joined into one."""

from __future__ import annotations

from pathlib import Path

import click

from xmleval.api.fuse import NORM_SPELLINGS, NORMS, RULE_SPELLINGS, RULES, Fusion, fuse_rows
from xmleval.api.fuse import fuse as fuse_files
from xmleval.base.errors import counted, naming_files
from xmleval.cli.convert import WRITTEN
from xmleval.cli.files import FILE, Scanning
from xmleval.cli.messages import print_notes, printing_notes
from xmleval.cli.options import FORMAT, INPUTS, MEASURES, Opt, command
from xmleval.cli.output import write_text
from xmleval.cli.types import COUNT, NUMBER, Choice, Parsed, read_number
from xmleval.evaluation.convert import find_files, write_data, writer_of
from xmleval.metrics.lists import parse_names

WEIGHTS = Parsed(lambda text: [*map(read_number, parse_names(text))])
OPTIONS = {
    "rule": Opt(
        Choice([*RULES, *RULE_SPELLINGS]),
        "RULE",
        f"How a label is scored from all SCORES that list it: {', '.join(RULES)}, or their names "
        "in ranx; see `xmleval.fuse`.",
    ),
    "norm": Opt(
        Choice([*NORMS, *NORM_SPELLINGS]),
        "NORM",
        f"How the scores of each row are normalised before: {', '.join(NORMS)}; default: not.",
    ),
    "k": Opt(COUNT, "N"),
    "weights": Opt(WEIGHTS, "LIST", "Weights of the SCORES, such as 1,0.5."),
    "rank_constant": Opt(
        NUMBER, "NUMBER", "Constant of rrf, to which ranks are added; default 60."
    ),
    "n_labels": INPUTS["n_labels"],
    "higher_is_better": MEASURES["higher_is_better"],
    **{name: opt for name, opt in FORMAT.items() if name != "label_field"},
    "output": WRITTEN,
}


@command({"Options": OPTIONS}, fuse_files)
@click.argument("scores", type=FILE, nargs=-1, required=True)
def fuse(
    scores: tuple[Path, ...],
    output: Path,
    scanning: Scanning,
    rule: str,
    norm: str | None,
    k: int | None,
    weights: list[float] | None,
    rank_constant: float | None,
    n_labels: int | None,
    higher_is_better: bool,
) -> None:
    """Join the lists of several models into one, row by row.

    Each of SCORES is a file, a folder or a pattern, as `xmleval evaluate` takes them, held in
    memory. Ties are broken by the smaller label. Files with names are matched by them, and OUT has
    them.
    """
    scans = [*map(scanning.scores, scores)]
    files = find_files([(scan, "scores") for scan in scans])
    named_files = (file.name for file in files if file.named)
    writer_of(output, "scores", next(named_files, None))  # refuses before anything is read
    with printing_notes(), naming_files({"predictions": "SCORES"}):
        fusion = Fusion(
            rule=rule,
            norm=norm,
            k=k,
            weights=weights,
            rank_constant=rank_constant,
            n_labels=n_labels,
            higher_is_better=higher_is_better,
        )
        rows, n_labels = fuse_rows(scans, fusion)
    print_notes(write_data(str(scores[0]), rows, "scores", output, n_labels))
    size = f"{counted(rows.n_rows, 'rows')} x {counted(n_labels, 'labels')}"
    scale = f", norm {norm}" if norm else ""
    write_text(f"{size}, {rows.labels.size} listed ({rule} of {len(scores)}{scale})")
