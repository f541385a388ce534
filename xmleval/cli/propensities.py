"""Inverse propensities of labels, from training labels or from a file."""

from __future__ import annotations

from typing import Any

from xmleval.budget import Allowance
from xmleval.cli.messages import naming_files
from xmleval.input.shards import Input
from xmleval.input.small_texts import load_inverse_propensity
from xmleval.propensity import inverse_propensity


def propensities_of(
    options: dict[str, Any],
    train: Input | None,
    counts: Any,
    n_rows: int,
    label_names: list[str] | None,
    allowance: Allowance,
) -> list[Any]:
    """Estimate inverse propensities from training labels, or read them: for each report, or one for all."""
    if train is None:
        path = options["inverse_propensity"]
        if path is not None and label_names is not None and options["labels"] is None:
            unordered = "has no names, and labels are numbered as TRUTH names them"
            raise ValueError(f"{path}: {unordered}; give --labels, their order")
        return [None if path is None else load_inverse_propensity(path, allowance)]
    constants = ("a", "b", "dataset")
    with naming_files({"n_instances": train.name, **{name: f"--{name}" for name in constants}}):
        return [
            inverse_propensity(
                **{name: options[name] for name in constants},
                label_counts=own,
                n_instances=n_rows,
                n_labels=own.size,
            )
            for own in counts
        ]
