"""The number of labels of inputs without names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.budget import Resources, memory_limit
from xmleval.base.errors import Keyword, Message, counted
from xmleval.evaluation.matched_inputs import MatchedInputs, NamedPieces
from xmleval.input.cell_marks import PAIRS_OF_ROWS
from xmleval.input.pieces import LabelUse, Pieces

MARKED_SHARE = 8  # one in so many bytes of memory marks a label that occurs
COUNT_BYTES = 16  # per label, once its counts are added up


def label_counts_of(
    rows: MatchedInputs, resources: Resources, labels: list[str] | None, n_expected: int | None
) -> list[int]:
    """Return the number of labels of every report.

    Without names, it is ``n_expected``, the number that the caller gives, or the width of the truth
    and of sets, or else of the scores of the model. If none is known, it is one more than the
    largest id in the truth, or in the lists of the model if these have larger ids.
    """
    if rows.by_name:
        if rows.label_names is None:
            text = f"{rows.truth[0]}: no row has a label; give "
            raise ValueError(Message(text, Keyword("labels"), ", the names of all"))
        return [len(rows.label_names)] * len(rows.namings)
    argument = "labels" if labels else "n_labels"
    sized: list[Any] = [(Keyword(argument), replace(rows.truth[1], n_labels=n_expected))]
    sized += [rows.truth, *_counted_sets(rows)]
    common_label_count(sized)
    label_counts = list[int]()
    in_truth: LabelUse | None = None
    for place, notes in enumerate(rows.notes):
        scores = rows.scores[place : place + 1]
        n_common = common_label_count([*sized, *scores])
        if is_label_count_known(n_expected, rows, scores):
            label_counts.append(n_common or 0)
            continue
        if in_truth is None:
            in_truth = _labels_in_truth(rows.truth, resources)
        n_occurring = _count_occurring_labels(rows, scores, in_truth, resources, notes)
        label_counts.append(n_occurring)
    return label_counts


def _counted_sets(rows: MatchedInputs) -> list[NamedPieces]:
    """Return the sets that must have the same number of labels: all but exclusions."""
    return [named for argument, named in rows.sets.items() if argument not in PAIRS_OF_ROWS]


def _labels_in_truth(truth: NamedPieces, resources: Resources) -> LabelUse:
    """Return the labels that occur in the truth, or refuse one without labels."""
    name, pieces = truth
    in_truth = LabelUse(int(memory_limit().left // MARKED_SHARE))
    in_truth.read(pieces, resources.lone_piece)
    if in_truth.n_labels < 1:
        text = "no row has a label, so the number of labels is not known"
        raise ValueError(f"{name}: {text}")
    return in_truth


def _count_occurring_labels(
    rows: MatchedInputs,
    scores: Sequence[NamedPieces],
    in_truth: LabelUse,
    resources: Resources,
    notes: list[str],
) -> int:
    """Return the number of labels of a report from the ids that occur, and add notes on it."""
    truth = rows.truth[0]
    n_labels = in_truth.n_labels
    use = in_truth.copy()
    for name, pieces in scores:
        use.read(pieces, resources.lone_piece)
        # larger ids are refused with their row
        if in_truth.n_labels < use.n_labels <= MOST_LABELS:
            beyond = f"its ids go beyond the {in_truth.n_labels} labels of {truth}"
            notes.append(f"{name}: evaluated with {use.n_labels} labels, as {beyond}")
            n_labels = use.n_labels
    y_pred = rows.sets.get("y_pred")
    if y_pred is not None:
        use.read(y_pred[1], resources.lone_piece)
    if scores or y_pred is not None:
        notes += unused_notes(truth, n_labels, use.count())
    return n_labels


def is_label_count_known(
    n_expected: int | None, rows: MatchedInputs, scores: Sequence[NamedPieces]
) -> bool:
    """Return whether the caller or an input knows the number of labels, not only the largest id."""
    if n_expected is not None:
        return True
    inputs = [rows.truth, *_counted_sets(rows), *scores]
    return any(pieces.n_labels is not None and not pieces.ends_at_largest for _, pieces in inputs)


def refuse_other_training_labels(
    train: NamedPieces, rows: MatchedInputs, n_labels: int, n_expected: int | None
) -> None:
    """Refuse training labels whose number of labels is known and differs from a report's."""
    name, pieces = train
    n_trained = pieces.n_labels
    if n_trained is None or pieces.ends_at_largest:
        return
    truth_name, truth = rows.truth
    if n_trained > n_labels and not is_label_count_known(n_expected, rows, rows.scores):
        text = f"{name}: {counted(n_trained, 'labels')}, but the largest id in {truth_name} "
        raise ValueError(
            Message(f"{text}or in scores is {n_labels - 1}; give ", Keyword("n_labels"))
        )
    common_label_count([(truth_name, replace(truth, n_labels=n_labels)), train])


def unused_notes(truth: str, n_labels: int, n_used: int) -> list[Message]:
    """Return a note if most labels occur nowhere, which happens if codes are read as ids."""
    if 2 * n_used >= n_labels:
        return []
    text = (
        f"{truth}: {n_labels - n_used} of {n_labels} labels have no row and no score, "
        f"as the largest id is {n_labels - 1}; averages over labels may count them; give "
    )
    return [Message(text, Keyword("n_labels"), ", or names if the ids are codes")]


def common_label_count(inputs: Sequence[tuple[Any, Pieces]]) -> int | None:
    """Return the number of labels of inputs that know it, or refuse inputs that differ."""
    sized = [
        (name, pieces, pieces.n_labels) for name, pieces in inputs if pieces.n_labels is not None
    ]
    if not sized:
        return None
    first_name, first_pieces, expected = sized[0]
    for name, pieces, n_labels in sized:
        if n_labels < 1:
            raise ValueError(f"{name}: {counted(n_labels, 'labels')}; expected 1 or more")
        if n_labels != expected:
            hint = ""
            if (pieces.n_rows, n_labels) == (expected, first_pieces.n_rows):
                hint = "; one is the transpose of the other: rows are instances, columns labels"
            elif name.endswith(".npy"):
                hint = "; call a file of label ids NAME_indices.npy"
            text = counted(n_labels, "labels do not match", "label does not match")
            raise ValueError(Message(f"{name}: {text} the {expected} of ", first_name, hint))
    return expected


def refuse_many_labels(name: str, n_labels: int, label_bytes: int = COUNT_BYTES) -> None:
    """Refuse a number of labels whose counts alone would exceed the memory limit."""
    memory_limit().check(label_bytes * n_labels, f"{name}: counting {counted(n_labels, 'labels')} ")
