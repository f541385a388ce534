"""Inputs and rules whose rows and labels have names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from xmleval.cli.files import Input
from xmleval.cli.messages import tell
from xmleval.input.lines import shown
from xmleval.input.names import Named, NameIndex
from xmleval.records import Ints
from xmleval.thresholds import Rule


def read_named(truth: Input, scores: list[Input], labels: list[str] | None) -> tuple[Named, list[Named]]:
    """Read a truth and predictions whose rows and labels have names, with the same columns for all."""
    found = _truth_alone(truth, labels, "predictions have names" if scores else "has names")
    n_own = len(found.label_names)
    read: list[Named] = []
    for given in scores:
        own = given.shards[0].format.named
        if len(given.shards) > 1 or own is None or own.scores is None:
            raise ValueError(f"{given.name}: expected one file of predictions with names, as TRUTH has them")
        read.append(own.scores(given.shards[0].path, found, given.allowance))
        if read[-1].other_row is not None and found.row_names:
            raise ValueError(
                f"{given.name}: no row is one of {truth.name}, as {shown(read[-1].other_row)} is not; "
                f"expected names like {shown(found.row_names[0])}"
            )
        found = found.widened(read[-1].label_names)  # labels that only predictions name are labels, too
    return found, [_widened(named, found.label_names, n_own) for named in read]


def _truth_alone(truth: Input, labels: list[str] | None, why: str) -> Named:
    reader = truth.shards[0].format.named
    if len(truth.shards) > 1 or reader is None or reader.truth is None:
        raise ValueError(f"{truth.name}: {why}; expected one file of relevant labels with names")
    return reader.truth(truth.shards[0].path, labels, truth.allowance)


def _widened(named: Named, label_names: list[str], n_own: int) -> Named:
    """Return predictions with the labels of all, and how many the truth alone does not have."""
    new = np.unique(named.matrix.indices[named.matrix.indices >= n_own])
    return replace(named.widened(label_names), n_new_labels=new.size)


def read_numbered_truth(given: Input) -> Named:
    """Read relevant labels with names as a numbered matrix, and tell how rows and labels are numbered."""
    found = _truth_alone(given, None, "has names")
    told = "rows and labels are numbered in the order in which it names them first"
    tell(given.name, told)
    return found


def count_named_training(train: Input, label_names: Sequence[str]) -> tuple[Ints, int]:
    """Return how many training rows have each label that others name, and how many rows there are."""
    found = _truth_alone(train, None, "has no names, which TRUTH has")
    index = NameIndex(label_names)
    places = [index.find(name) for name in found.label_names]
    counts = np.zeros(len(index), np.int64)
    own = np.bincount(found.matrix.indices, minlength=len(places))
    for place, count in zip(places, own.tolist(), strict=True):
        if place is not None:
            counts[place] = count
    if n_other := places.count(None):
        told = f"{n_other} labels are in no other input and do not count"
        tell(train.name, told)
    return counts, len(found.row_names)


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
            tell(path, told)
    return found


def read_scores_alone(given: Input, label_names: list[str], named_by: Path) -> Named:
    """Read scores whose rows and labels have names: rows in the order in which they appear first."""
    readers = given.shards[0].format.named
    if len(given.shards) > 1 or readers is None or readers.scores is None:
        raise ValueError(f"{given.name}: expected one file of scores with names")
    found = readers.scores(given.shards[0].path, label_names, given.allowance)
    if found.n_new_labels:
        name = shown(found.label_names[len(label_names)])
        raise ValueError(
            f"{given.name}: label {name} is not one of the {len(label_names)} of {named_by}; "
            "expected --labels with the names of all"
        )
    return found
