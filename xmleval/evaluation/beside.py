"""What goes with rows and labels, given as values or in files: propensities, groups, hierarchies, weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.budget import PIECE_BYTES, Resources
from xmleval.base.errors import InputError, Keyword, Message, naming_files, positive_integer
from xmleval.base.notes import Note
from xmleval.base.numerals import whole_number
from xmleval.evaluation.inputs import Inputs, is_numbered, notes_of, read_truth, refuse_many_labels
from xmleval.evaluation.reading import naming_rows
from xmleval.evaluation.settings import Arguments, file_of
from xmleval.input.pieces import Pieces, RowReader
from xmleval.input.sets import set_rows
from xmleval.input.small_texts import load_numbers, read_edges, read_group_lines
from xmleval.input.vectors import Propensity, check_propensity, of_rows
from xmleval.labels.groups import OTHER, given_groups
from xmleval.labels.hierarchy import given_hierarchy
from xmleval.labels.propensity import constants_of, count_labels_of, given_or_estimated, inverse_propensity
from xmleval.view.block import Hierarchy


def training_counts(
    train: Any, rows: Inputs, labels: list[str] | None, widths: Sequence[int], resources: Resources
) -> tuple[list[Any], int]:
    """Return how many training rows have each label, for each report or once, and how many rows there are.

    ``labels`` are the names of the columns of training labels without names, if they are known.
    """
    if not rows.by_name:
        if train.named:
            raise ValueError(f"{train.name}: has names, which {rows.truth[0]} has not")
        pieces = train.pieces()
        counts = {n: _count_training(train.name, pieces, n, resources.lone_piece) for n in {*widths}}
        return [counts[n][0] for n in widths], counts[widths[0]][1]
    columns = labels if labels is not None and is_numbered(train, labels) else None
    truth = read_truth(train, columns, Message("has no names, which ", Keyword("y_true"), " has"))
    names, label_names = truth.match.label_names, rows.label_names or []
    width = max(1, len(names))  # as where no row has a label
    per_label, n_rows = _count_training(train.name, truth.pieces, width, PIECE_BYTES)
    count_of = dict(zip(names, per_label.tolist(), strict=False))
    n_ignored = len(count_of.keys() - {*label_names})
    ignored = [Note(train.name, "ignored labels", n_ignored)] * (n_ignored > 0)
    for notes in rows.notes:
        notes += [*notes_of(train.name, truth.facts), *ignored]
    return [np.array([count_of.get(name, 0) for name in label_names], np.int64)], n_rows


def _count_training(name: str, pieces: Pieces, n_labels: int, n_bytes: int) -> tuple[Ints, int]:
    refuse_many_labels(name, n_labels)
    counts = np.zeros(n_labels, np.int64)
    with closing(RowReader(name, pieces, n_bytes)) as reader:
        while n := reader.ready():
            with naming_rows({"y_train": reader}, reader.n_taken):
                count_labels_of(set_rows("y_train", reader.take(n), n_labels), counts)
    return counts, reader.n_taken


def propensity_of(
    arguments: Arguments, counts: Any, n_rows: int, n_labels: int, names: list[Any] | None, closed: bool,
) -> tuple[Propensity | None, list[str]]:  # fmt: skip
    """Return inverse propensities, read or estimated, for the labels of a report; and notes."""
    q, y_train = arguments.get("inverse_propensity"), arguments.get("y_train")
    constants = constants_of(arguments)
    if counts is not None:
        if q is not None:
            chosen = Keyword("inverse_propensity")
            raise InputError("y_train", Message("given together with ", chosen, "; choose one"))
        with naming_files({"n_instances": file_of("y_train", y_train)}):
            q = inverse_propensity(label_counts=counts, n_instances=n_rows, n_labels=n_labels, **constants)
        return check_propensity(q, n_labels), []
    path = file_of("inverse_propensity", q)
    with naming_files({"inverse_propensity": path} if path else {}):
        q = q if path is None else load_numbers(path)
        return given_or_estimated(q, y_train, constants, n_labels, names, closed)


def label_groups_of(
    value: Any, q: Propensity | None, names: list[Any] | None, n_labels: int, closed: bool
) -> tuple[Any, list[str]]:
    """Return groups of the labels of a report, and notes; labels that a file lacks are in another group."""
    path = file_of("label_groups", value)
    if path is None:
        return given_groups(value, n_labels, names, closed, None if q is None else q.counts)
    lines = read_group_lines("label_groups", path)
    groups, n_unknown = lines.by_number("label", names, n_labels)
    if not lines.has_keys and len(groups) != n_labels:
        raise ValueError(f"{path}: {len(groups)} groups; expected one for each of {n_labels} labels")
    notes = [Note(str(path), "ignored labels", n_unknown)] * (n_unknown > 0)
    of_labels = [groups.get(label, OTHER) for label in range(n_labels)]
    return given_groups(of_labels, n_labels, None)[0], [*notes]


def hierarchy_of(value: Any, n_labels: int, names: list[Any] | None, closed: bool) -> Hierarchy | None:
    """Return the hierarchy of the labels of a report."""
    path = file_of("hierarchy", value)
    if path is None:
        return given_hierarchy(value, n_labels, names, closed)
    edges = read_edges(path)
    pairs: Any = [*edges.values()]
    if names is None:
        pairs = [[text if (n := whole_number(text)) is None else n for text in pair] for pair in pairs]
    with naming_files({"hierarchy": path}):
        return given_hierarchy(pairs, n_labels, names, closed, [f"line {line}" for line in edges])


def with_values_of_rows(rows: Inputs, arguments: Arguments) -> Inputs:
    """Return inputs with what has a value for each row: weights, row groups and clusters."""
    of_rows_found: dict[str, tuple[str, Any]] = {}
    if arguments.get("confidence") is not None and rows.keyed and rows.row_names is not None:
        of_rows_found["clusters"] = rows.truth[0], rows.row_names
    for argument in ("sample_weight", "row_groups", "clusters"):
        value = arguments.get(argument)
        path = file_of(argument, value)
        if path is not None and argument == "sample_weight":
            of_rows_found[argument] = str(path), load_numbers(path, "weight per row")
        elif path is not None:
            of_rows_found[argument] = str(path), _groups_of_rows(argument, rows, path)
        elif value is not None:
            names = None if rows.row_names is None else [*rows.row_names]
            of_rows_found[argument] = argument, np.asarray(of_rows(argument, value, names))
    if (first := arguments.get("first_row")) is not None:
        first = positive_integer("first_row", first, at_least=0)
    return rows._replace(of_rows=of_rows_found, first_row=first)


def _groups_of_rows(argument: str, rows: Inputs, path: Path) -> list[str]:
    """Return the group or cluster of each row in a file."""
    n_rows = len(rows.row_names) if rows.row_names is not None else rows.truth[1].n_rows
    lines = read_group_lines(argument, path)
    groups, n_unknown = lines.by_number("row", rows.row_names, n_rows)
    for notes in rows.notes:
        notes += [Note(str(path), "unmatched rows", n_unknown)] * (n_unknown > 0)
    missing = next((row for row in range(n_rows or len(groups)) if row not in groups), None)
    if missing is not None and lines.has_keys:
        name = missing if rows.row_names is None else rows.row_names[missing]
        raise ValueError(f"{path}: no {lines.noun} for row {name}")
    return [groups[row] for row in range(len(groups))]
