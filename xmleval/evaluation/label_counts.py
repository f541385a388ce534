"""The numbers of labels that inputs without names tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.budget import Resources, memory_limit
from xmleval.base.errors import Keyword, Message, counted
from xmleval.evaluation.matched_inputs import MatchedInputs, NamedPieces
from xmleval.input.pieces import LabelUse, Pieces

MARKED_SHARE = 8  # one byte in so many of memory marks a label that occurs
COUNT_BYTES = 16  # of a label, once its counts are added up


def label_counts_of(
    rows: MatchedInputs, resources: Resources, labels: list[str] | None, n_labels: int | None
) -> list[int]:
    """Return the number of labels of each report: without names, what the truth and sets tell.

    Where they do not, each model tells its own, or has the labels of the truth and those that it lists.
    """
    if rows.by_name:
        if rows.label_names is None:
            which = Keyword("labels"), ", the names of all"
            raise ValueError(Message(f"{rows.truth[0]}: no row has a label; give ", *which))
        return [len(rows.label_names)] * len(rows.namings)
    n_given, argument = (len(labels), "labels") if labels else (n_labels, "n_labels")
    sized: list[Any] = [(Keyword(argument), replace(rows.truth[1], n_labels=n_given))]
    sized += [rows.truth, *(named for argument, named in rows.sets.items() if argument != "exclude")]
    common_label_count(sized)
    label_counts = list[int]()
    in_truth: LabelUse | None = None
    for place, notes in enumerate(rows.notes):
        scores = rows.scores[place : place + 1]
        n_own = common_label_count([*sized, *scores])
        if is_label_count_known(n_given, rows, scores):
            label_counts.append(n_own or 0)
            continue
        if in_truth is None:
            in_truth = LabelUse(int(memory_limit().left // MARKED_SHARE))
            in_truth.read(rows.truth[1], resources.lone_piece)
        n_true = in_truth.n_labels
        if n_true < 1:
            text = "no row has a label, and nothing tells how many labels there are"
            raise ValueError(f"{rows.truth[0]}: {text}")
        use, n_own = in_truth.copy(), n_true
        for name, pieces in scores:
            use.read(pieces, resources.lone_piece)
            if n_true < use.n_labels <= MOST_LABELS:  # ids beyond these are refused with their row
                beyond = f"its ids go beyond the {n_true} of {rows.truth[0]}"
                notes.append(f"{name}: evaluated with {use.n_labels} labels; {beyond}")
                n_own = use.n_labels
        if "y_pred" in rows.sets:
            use.read(rows.sets["y_pred"][1], resources.lone_piece)
        if scores or "y_pred" in rows.sets:
            notes += unused_notes(rows.truth[0], n_own, use.count())
        label_counts.append(n_own)
    return label_counts


def is_label_count_known(n_given: int | None, rows: MatchedInputs, scores: Sequence[NamedPieces]) -> bool:
    """Tell whether an input knows the number of labels, more than its largest id."""
    sets = (named for argument, named in rows.sets.items() if argument != "exclude")
    sized = [pieces for _, pieces in (rows.truth, *sets, *scores) if pieces.n_labels is not None]
    return n_given is not None or not all(pieces.ends_at_largest for pieces in sized)


def unused_notes(truth: str, n_labels: int, n_used: int) -> list[Message]:
    """Return a note where most labels occur nowhere, as where codes are read as ids."""
    if 2 * n_used >= n_labels:
        return []
    unused = f"{truth}: {n_labels - n_used} of {n_labels} labels have no row and no score, as the largest id "
    text = f"{unused}is {n_labels - 1}; averages over labels may count them; give "
    return [Message(text, Keyword("n_labels"), ", or names if the ids are codes")]


def common_label_count(inputs: Sequence[tuple[Any, Pieces]]) -> int | None:
    """Return the number of labels that the first of several inputs tells; it must be that of the others."""
    sized = [(name, pieces, pieces.n_labels) for name, pieces in inputs if pieces.n_labels is not None]
    for name, pieces, n_labels in sized:
        first, pieces_of_first, expected = sized[0]
        if n_labels < 1:
            raise ValueError(f"{name}: {counted(n_labels, 'labels')}; expected 1 or more")
        if n_labels != expected:
            hint = "; a list of ids is called NAME_indices.npy" if name.endswith(".npy") else ""
            if (pieces.n_rows, n_labels) == (expected, pieces_of_first.n_rows):
                hint = "; one is the transpose of the other: rows are instances, columns labels"
            text = counted(n_labels, "labels do not match", "label does not match")
            raise ValueError(Message(f"{name}: {text} the {expected} of ", first, hint))
    return sized[0][2] if sized else None


def refuse_many_labels(name: str, n_labels: int, label_bytes: int = COUNT_BYTES) -> None:
    """Refuse labels whose counts alone would take more memory than there is."""
    memory_limit().check(label_bytes * n_labels, f"{name}: counting {counted(n_labels, 'labels')} ")
