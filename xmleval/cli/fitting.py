"""TRUTH and SCORES that a rule or a map is fitted to: opened by name, checked and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmleval.budget import Allowance, Budget
from xmleval.cli.counting import Inputs, count_rows, progress
from xmleval.cli.evaluation import open_rows
from xmleval.cli.messages import tell
from xmleval.cli.options import FIELD_NAMES, fields_of
from xmleval.cli.patterns import hinting
from xmleval.input.shards import Input, find_input, with_fields


def find_pair(
    truth: Path, scores: Path, input_format: str | None, fields: dict[str, Any], allowance: Allowance
) -> tuple[Input, Input]:
    """Return TRUTH and SCORES; ``fields`` are options of the command by name."""
    own = fields_of({name: fields[name] for name in FIELD_NAMES}, joined=True)
    with hinting([str(truth), str(scores)]):
        found = [find_input(truth, "truth", input_format, allowance)]
    found += [find_input(scores, "scores", input_format, allowance)]
    relevant, predicted = with_fields(own, *found)
    return relevant, predicted


def open_pair(relevant: Input, predicted: Input, labels: Path | None) -> Inputs:
    """Open both, and tell what is noted."""
    with hinting([relevant.name, predicted.name]):
        options = {"labels": labels, "train": None, "exclude": None, "fits": True}
        rows = open_rows(relevant, [predicted], None, options)
    for note in rows.notes[0] if rows.notes else []:
        tell("note", note)
    return rows


def count_pair(collected: Any, rows: Inputs, budget: Budget) -> None:
    """Add all rows to what is fitted to."""
    with progress(rows.truth[1].n_rows, 0) as show:
        count_rows([collected], rows, budget, 0, show)
