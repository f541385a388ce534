"""Rules and scores by names of rows and labels, where no truth gives them their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import scipy.sparse

from xmleval.cli.inputs import Input, Shard
from xmleval.io import Named
from xmleval.io.arrow import EXPECTED, opened
from xmleval.io.arrow_names import BATCH_BYTES
from xmleval.io.columns import INSTANCE, find_columns, refuse_null, texts
from xmleval.io.format import naming
from xmleval.io.numbered import numbered_lines, shown
from xmleval.io.trec import RUN
from xmleval.io.trec import SCORES as RUN_EXPECTED
from xmleval.thresholds import Rule

LABEL_NAMES = click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Names of the labels by column, one a line or a JSON list.",
)


def rule_for(rule: Rule, path: Path, label_names: Sequence[str] | None) -> Rule:
    """Return a saved rule for the labels of inputs, by name where they have names."""
    if label_names is None:
        if rule.decision.kind == "labels" and rule.label_names is not None:
            raise ValueError(f"{path}: knows labels by name; expected inputs with names of labels")
        return rule
    try:
        found = rule.for_labels(label_names)
    except ValueError as error:
        raise ValueError(f"{path}: {error}; expected inputs without names") from None
    if rule.decision.kind == "labels" and rule.label_names is not None:
        n_unknown = len(set(label_names).difference(rule.label_names))
        if n_unknown:
            told = f"{n_unknown} labels were not there in fitting and are never predicted"
            click.echo(f"xmleval: {path}: {told}", err=True)
    return found


def read_scores_alone(given: Input, label_names: list[str], named_by: Path) -> Named:
    """Read scores whose rows and labels have names: rows in the order in which they appear first."""
    shard = given.shards[0]
    readers = shard.format.named
    if len(given.shards) > 1 or readers is None or readers.scores is None:
        raise ValueError(f"{given.name}: expected one file of scores with names")
    rows = list(dict.fromkeys(_row_names(shard)))
    none = scipy.sparse.csr_array((len(rows), len(label_names)), dtype=np.uint8)
    found = readers.scores(shard.path, Named(none, rows, label_names))
    if found.n_new_labels:
        name = shown(found.label_names[len(label_names)])
        raise ValueError(
            f"{given.name}: label {name} is not one of the {len(label_names)} of {named_by}; "
            "expected --labels with the names of all"
        )
    return found


def _row_names(shard: Shard) -> Iterator[str]:
    """Yield the name of the row of each entry, or of each list of them."""
    if shard.format is RUN:
        with naming(shard.path, RUN_EXPECTED):
            for _, line in numbered_lines(shard.path):
                yield from line.split(maxsplit=1)[:1]
        return
    with naming(shard.path, EXPECTED), opened(shard.path) as file:
        _, columns = find_columns(file.schema, "scores", unscored=False)
        first = 0
        for batch in file.batches(columns[:1], BATCH_BYTES):
            if columns[0] in INSTANCE:
                refuse_null(batch.column(columns[0]), columns[0], first)
                yield from texts(batch.column(columns[0]), columns[0])
            else:
                yield from map(str, range(first, first + batch.num_rows))
            first += batch.num_rows
