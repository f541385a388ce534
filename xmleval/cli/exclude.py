"""Pairs of a row and a label that are taken out, and which measures can do without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmleval.budget import Allowance
from xmleval.cli.counting import Inputs
from xmleval.cli.messages import tell
from xmleval.evaluator import Evaluator
from xmleval.files.input import digest
from xmleval.input.exclusion import read_pairs, without_pairs
from xmleval.input.pieces import Pieces
from xmleval.input.shards import Input
from xmleval.spec import Spec, conventions_of, expand_metrics


def without(rows: Inputs, options: dict[str, Any], allowance: Allowance) -> Inputs:
    """Take pairs out of all inputs, or refuse what would still see them."""
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
    left_out = [spec.name for spec, _ in asked if _counts_all(spec)]
    if len(left_out) == len(asked):
        names = ", ".join(options["metrics"])
        raise ValueError(
            f"{names}: all count all labels of a row; --exclude is for measures at k and of sets"
        )
    if left_out:
        tell("not computed with --exclude", ", ".join(left_out))
    pairs = read_pairs(options["exclude"], allowance)

    def less(given: tuple[str, Pieces]) -> tuple[str, Pieces]:
        return given[0], without_pairs(given[1], pairs)

    from_truth = options["exclude_from"] == "both"
    truth = without_pairs(rows.truth[1], pairs, all_rows=True, kept=not from_truth)
    return rows._replace(
        truth=(rows.truth[0], truth),
        scores=[less(one) for one in rows.scores],
        pred=rows.pred and less(rows.pred),
        pairs=pairs,
    )


def identified(exclude: Path | None, exclude_from: str, candidates: Input | None) -> dict[str, Any]:
    """Return what leaves labels out, by the name and the contents of its files."""
    found: dict[str, Any] = {}
    if exclude is not None:
        found["exclude"] = {"file": exclude.name, "sha256": digest([exclude]), "from": exclude_from}
    if candidates is not None:
        name = Path(candidates.name).name
        found["candidates"] = {"file": name, "sha256": digest(candidates.files)}
    return found


def leave_out_counting_all(evaluator: Evaluator) -> None:
    """Take members of groups that count all labels of a row out of what an evaluator is to compute."""
    evaluator.leave_out([spec.name for spec in evaluator.asked if _counts_all(spec)])


def _counts_all(spec: Spec) -> bool:
    return spec.metric.every_label
