"""Pairs of a row and a label that are excluded, and which measures can do without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmleval.budget import Allowance
from xmleval.cli.counting import Inputs
from xmleval.files.input import digest
from xmleval.input.exclusion import read_pairs, without_pairs
from xmleval.input.shards import Input
from xmleval.spec import Spec, conventions_of, expand_metrics


def with_pairs(rows: Inputs, options: dict[str, Any], allowance: Allowance) -> Inputs:
    """Return inputs with the pairs to exclude, or refuse what would still see them."""
    unlisted = conventions_of(options["metrics"], options).unlisted_score
    if unlisted is not None:
        preset = options["unlisted"] is None
        given = (
            f"--conventions {options['conventions']}, which" if preset else f"--unlisted {unlisted:g}, which"
        )
        raise ValueError(
            f"--exclude with {given} gives every unlisted label a score: excluded ones would compete "
            "by it; expected --unlisted below"
        )
    asked = expand_metrics(options["metrics"], options["k"])
    for spec, explicit in asked:
        if explicit and _counts_all(spec):
            raise ValueError(
                f"{spec}: counts all labels of a row; --exclude is for measures at k and of sets"
            )
    if all(_counts_all(spec) for spec, _ in asked):
        names = ", ".join(options["metrics"])
        raise ValueError(
            f"{names}: all count all labels of a row; --exclude is for measures at k and of sets"
        )
    pairs = read_pairs(options["exclude"], allowance)
    return rows._replace(pairs=pairs, exclude_from=options["exclude_from"])


def without_excluded(rows: Inputs) -> Inputs:
    """Return truth and scores as they are evaluated, to be shown."""
    pairs = rows.pairs
    if pairs is None:
        return rows
    truth, scores = rows.truth, [(name, without_pairs(pieces, pairs)) for name, pieces in rows.scores]
    if rows.exclude_from == "both":
        truth = truth[0], without_pairs(truth[1], pairs)
    return rows._replace(truth=truth, scores=scores)


def identified(exclude: Path | None, exclude_from: str, candidates: Input | None) -> dict[str, Any]:
    """Return what leaves labels out, by the name and the contents of its files."""
    found: dict[str, Any] = {}
    if exclude is not None:
        found["exclude"] = {"file": exclude.name, "sha256": digest(exclude), "from": exclude_from}
    if candidates is not None:
        name = Path(candidates.name).name
        found["candidates"] = {"file": name, "sha256": digest(*candidates.files)}
    return found


def _counts_all(spec: Spec) -> bool:
    return spec.metric.every_label
