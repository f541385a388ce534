"""Values of rows and labels, in memory or in files: propensities, groups, hierarchies, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.arrays import Ints
from xmleval.base.budget import PIECE_BYTES, Resources
from xmleval.base.data_names import LABEL_DATA, DataArgument
from xmleval.base.errors import InputError, naming_files, positive_integer, shown
from xmleval.base.notes import Note
from xmleval.base.numerals import decimal_number, id_number
from xmleval.evaluation.batch import BatchLocation
from xmleval.evaluation.label_counts import refuse_many_labels, refuse_other_training_labels
from xmleval.evaluation.match_files import notes_of, read_truth
from xmleval.evaluation.matched_inputs import MatchedInputs
from xmleval.evaluation.request import Question, Request, row_fields
from xmleval.evaluation.settings import file_of
from xmleval.input.opened import Opened
from xmleval.input.own_data import data_by_name
from xmleval.input.pieces import Pieces, RowReader
from xmleval.input.plausibility import notes_on_counts
from xmleval.input.row_columns import ColumnValueError, TruthColumn, is_column, refuse_other_texts
from xmleval.input.rows import Origin
from xmleval.input.sets import set_rows
from xmleval.input.shards import OpenedFiles
from xmleval.input.text_columns import (
    has_two_columns,
    is_csv,
    load_numbers,
    read_edges,
    read_group_lines,
)
from xmleval.input.vectors import for_names, match_row_values
from xmleval.labels.hierarchy import given_hierarchy
from xmleval.labels.propensity import count_labels_of, inverse_propensity
from xmleval.view.block import Hierarchy
from xmleval.view.rule import Rule

Counts = tuple[Ints, int]  # number of training rows with each label, and of all training rows
TEXTS_OF_THRESHOLDS = (".csv", ".tsv", ".txt")  # other files hold saved rules
GROUPING = ("row_groups", "clusters")  # values of rows that are names


def training_counts(
    train: Opened,
    rows: MatchedInputs,
    labels: list[str] | None,
    label_counts: Sequence[int],
    n_expected: int | None,
    resources: Resources,
) -> list[Counts]:
    """Return the counts of training rows for each report.

    ``labels`` are the names of the columns of training labels without names, if they are known;
    ``n_expected`` is the number of labels that the caller gives.
    """
    if rows.by_name:
        counts_by_name = _training_counts_by_name(train, rows, labels)
        return [counts_by_name] * len(rows.namings)
    if train.named:
        raise ValueError(f"{train.name}: has names, but {rows.truth[0]} has none")
    pieces = train.pieces()
    rows.note(Origin(notes=[*pieces.notes]).noted(train.name))
    counts = dict[int, Counts]()
    for n_labels in {*label_counts}:
        refuse_other_training_labels((train.name, pieces), rows, n_labels, n_expected)
        counts[n_labels] = _count_training(train.name, pieces, n_labels, resources.lone_piece)
    most_labels = max(label_counts)
    rows.note(notes_on_counts(train.name, counts[most_labels][0]))
    return [counts[n_labels] for n_labels in label_counts]


def _training_counts_by_name(
    train: Opened, rows: MatchedInputs, labels: list[str] | None
) -> Counts:
    """Return the counts of training rows for the labels of the reports, and note ignored labels."""
    column_names = labels
    if labels is not None and not train.numbers_labels(labels):
        column_names = None
    pieces, match, _ = read_truth(train, column_names)
    names = match.label_names
    label_names = rows.label_names or []
    counts, n_rows = _count_training(train.name, pieces, max(1, len(names)), PIECE_BYTES)
    n_ignored = len({*names} - {*label_names})
    rows.note(notes_of(train.name, match.origin))
    if n_ignored:
        rows.note([Note(train.name, "ignored labels", n_ignored)])
    return for_names(counts[: len(names)], names, label_names, 0), n_rows


def _count_training(name: str, pieces: Pieces, n_labels: int, n_bytes: int) -> Counts:
    """Return the number of training rows with each label, and of all training rows."""
    refuse_many_labels(name, n_labels)
    counts = np.zeros(n_labels, np.int64)
    with closing(RowReader(name, pieces, n_bytes)) as reader:
        while n := reader.ready():
            with BatchLocation({"y_train": reader}, first=reader.n_taken).locating_errors():
                count_labels_of(set_rows("y_train", reader.take(n), n_labels), counts)
    return counts, reader.n_taken


def with_files_read(
    question: Question,
    paths: Mapping[str, Path],
    rows: MatchedInputs,
    n_labels: int,
    trained: Counts | None,
) -> tuple[Question, list[str]]:
    """Return a question with the contents of its files, for the labels of a report, and notes.

    ``paths`` are the files, by argument; ``trained`` are the counts of training rows.
    """
    values = dict[str, Any]()
    notes = list[str]()
    names = rows.label_names
    if trained is not None and question.inverse_propensity is None:
        counts: Any = {"label_counts": trained[0], "n_instances": trained[1], "labels": names}
        with naming_files({"n_instances": paths.get("y_train")}):
            q = inverse_propensity(**counts, **question.training.constants)
        values = {"y_train": None, "inverse_propensity": q}
    elif "inverse_propensity" in paths:
        values["inverse_propensity"] = load_numbers(paths["inverse_propensity"])
    if "label_groups" in paths:
        values["label_groups"], new_notes = _groups_in_file(paths["label_groups"], names, n_labels)
        notes += new_notes
    if "hierarchy" in paths:
        values["hierarchy"] = _hierarchy_in_file(paths["hierarchy"], rows, n_labels)
    label_data = dict(data_by_name(LABEL_DATA, question.label_data))
    for name in label_data:
        argument = DataArgument(LABEL_DATA, name)
        path = paths.get(argument)
        if path is not None and path.suffix == ".npy":
            label_data[name] = load_numbers(path, "number per label")
        elif path is not None:
            label_data[name] = _numbers_of_labels(argument, "number", path, names, n_labels)
    if label_data:
        values["label_data"] = label_data
    rule = question.decision
    if "decision" in paths:
        rule = _rule_in_file(paths["decision"], names, n_labels)
    values["decision"] = rule
    if isinstance(rule, Rule) and rule.by_name and names is not None:
        n_unknown = len({*names}.difference(rule.label_names or ()))
        if n_unknown:
            name = str(paths.get("decision", "decision"))
            notes.append(Note(name, "labels unknown in fitting", n_unknown))
    return replace(question, **values), notes


def _rule_in_file(path: Path, names: list[Any] | None, n_labels: int) -> Any:
    """Return a saved rule, or thresholds of labels: a number, or a label and a number, a line."""
    if path.suffix == ".npy":
        return load_numbers(path, "threshold per label")
    if path.suffix not in TEXTS_OF_THRESHOLDS:
        return Rule.load(path)
    return _numbers_of_labels("decision", "threshold", path, names, n_labels)


def _numbers_of_labels(
    argument: str, noun: str, path: Path, names: list[Any] | None, n_labels: int
) -> Any:
    """Return numbers from lines of a number, or of a label and a number, by name if it has any."""
    lines = read_group_lines(argument, path)
    texts, _ = lines.by_number("label", names, n_labels)
    numbers = {label: decimal_number(text) for label, text in texts.items()}
    for label, number in numbers.items():
        if number is None:
            shown_label = shown(label if names is None else names[label])
            text = f"the {noun} of label {shown_label}, {shown(texts[label])}, is not a number"
            raise InputError(argument, text)
    if names is None or not lines.has_keys:
        return numbers if lines.has_keys else [*numbers.values()]
    return {names[label]: number for label, number in numbers.items()}


def _groups_in_file(path: Path, names: list[Any] | None, n_labels: int) -> tuple[Any, list[str]]:
    """Return the groups of labels, by name if labels have names, and notes."""
    lines = read_group_lines("label_groups", path)
    groups, n_unknown = lines.by_number("label", names, n_labels)
    notes = lines.notes_on_header(n_labels)
    if n_unknown:
        notes.append(Note(str(path), "ignored labels", n_unknown))
    if not lines.has_keys:
        return [*groups.values()], notes
    if names is None:
        return groups, notes
    return {names[label]: group for label, group in groups.items()}, notes


def _hierarchy_in_file(path: Path, rows: MatchedInputs, n_labels: int) -> Hierarchy | None:
    """Return a hierarchy of labels by name or by number; nodes that are no labels have names."""
    edges = read_edges(path)
    names = rows.label_names
    pairs: Any = [*edges.values()]
    if names is None:
        pairs = [[_id_or_name(text) for text in pair] for pair in pairs]
    places = [f"line {line}" for line in edges]
    closed = not rows.by_name or rows.namings[0].closed
    return given_hierarchy(pairs, n_labels, names, closed, places)


def _id_or_name(text: str) -> int | str:
    """Return a node as a label id if it is a number, else as a name."""
    number = id_number(text)
    return text if number is None else number


def with_row_columns(
    request: Request, inputs: dict[str, list[Opened]]
) -> tuple[Request, dict[str, list[Opened]]]:
    """Return a request with the columns that are values of rows, and inputs without these.

    They are columns of the truth in files that are tables. Columns of these names in the files of
    training labels and predictions are no labels, either.
    """
    (truth,) = inputs["y_true"]
    names = request.data.row_columns
    if not names:
        return request, inputs
    if not isinstance(truth, OpenedFiles) or not truth.columns:
        refuse_other_texts(names)
        return request, inputs
    columns: dict[str, Any] = {
        argument: TruthColumn(name)
        for argument, name in names.items()
        if is_column(argument, name, truth.columns)
    }
    column_names = tuple([column.name for column in columns.values()])
    without_columns = dict[str, list[Opened]]()
    for argument, opened_inputs in inputs.items():
        without_columns[argument] = [
            replace(opened, row_values=column_names) if isinstance(opened, OpenedFiles) else opened
            for opened in opened_inputs
        ]
    row_values = row_fields(request.data.row_values | columns)
    return replace(request, data=replace(request.data, **row_values)), without_columns


def with_values_of_rows(rows: MatchedInputs, request: Request, truth: Opened) -> MatchedInputs:
    """Return inputs with the weights, groups and clusters of rows; ``truth`` may have columns."""
    row_values = dict[str, tuple[str, Any]]()
    names = rows.row_names
    if request.question.confidence is not None and names is not None and rows.namings[0].by_key:
        row_values["clusters"] = rows.truth[0], names
    for argument, value in request.data.row_values.items():
        path = file_of(argument, value)
        if isinstance(value, TruthColumn) and isinstance(truth, OpenedFiles):
            name = f"{truth.name}: column {shown(value.name)}"
            row_values[argument] = name, _column_of_truth(argument, truth, value.name, names)
        elif path is not None:
            row_values[argument] = str(path), _values_in_file(argument, path, rows)
        else:
            row_values[argument] = argument, _values_of_rows(argument, value, names)
    first_row = request.running.first_row
    if first_row is not None:
        first_row = positive_integer("first_row", first_row, at_least=0)
    return rows._replace(row_values=row_values, first_row=first_row)


def _column_of_truth(
    argument: str, truth: OpenedFiles, name: str, names: list[Any] | None
) -> list[Any]:
    """Return the values of a column of the truth in the order of the rows: names, or numbers."""
    column = truth.row_column(name)
    try:
        values = column.sorted_by(names)
    except ColumnValueError as error:
        raise ValueError(f"{truth.name}: {error}") from None
    if argument in GROUPING:
        return values
    numbers = [*map(_number_of, values)]
    if None in numbers:
        row = numbers.index(None)
        text = f"{shown(values[row])} for row {shown(row if names is None else names[row])}"
        raise ValueError(f"{truth.name}: column {shown(name)} has {text}; expected a number")
    return numbers


def _number_of(value: Any) -> Any:
    """Return the number in a text, None if there is no number; other values unchanged."""
    return decimal_number(value) if isinstance(value, str) else value


def _values_of_rows(argument: str, value: Any, names: list[Any] | None) -> Any:
    """Return values in the order of the rows, as an array or a list."""
    values = match_row_values(argument, value, names)
    if isinstance(values, list):
        return values  # NumPy would turn missing values of a list into strings
    return np.asarray(values)


def _values_in_file(argument: str, path: Path, rows: MatchedInputs) -> Any:
    """Return the groups, clusters or numbers of rows from a file, in the order of the rows."""
    if argument in GROUPING:
        return _groups_of_rows(argument, path, rows)
    noun = "weight" if argument == "sample_weight" else "number"
    if has_two_columns(path):
        texts = _groups_of_rows(argument, path, rows)
        return [_number_in_file(path, noun, row, text) for row, text in enumerate(texts)]
    numbers = load_numbers(path, f"{noun} per row", by_row=True)
    is_named = is_csv(path) and numbers.size - 1 == _count_rows(rows)
    if is_named and numbers[0] == 0:  # pandas calls a column without a name 0
        rows.note([f"{path}: the first line, '0', is read as the name of the column"])
        return numbers[1:]
    return numbers


def _number_in_file(path: Path, noun: str, row: int, text: str) -> float:
    """Return the number of a row, or refuse a text that is not a number."""
    number = decimal_number(text)
    if number is None:
        raise ValueError(f"{path}: {noun} {shown(text)} of row {row} is not a number")
    return number


def _count_rows(rows: MatchedInputs) -> int:
    """Return the number of rows; files that do not state it are read for it."""
    if rows.row_names is not None:
        return len(rows.row_names)
    name, pieces = rows.truth
    if pieces.n_rows is not None:
        return pieces.n_rows
    with closing(RowReader(name, pieces, PIECE_BYTES)) as reader:
        return reader.count() or 0


def _groups_of_rows(argument: str, path: Path, rows: MatchedInputs) -> list[str]:
    """Return the groups of rows from a file, in the order of the rows."""
    names = rows.row_names
    n_rows = rows.truth[1].n_rows
    if names is not None or is_csv(path):
        n_rows = _count_rows(rows)
    lines = read_group_lines(argument, path)
    groups, n_unknown = lines.by_number("row", names, n_rows)
    if n_unknown:
        rows.note([Note(str(path), "unmatched rows", n_unknown)])
    rows.note(lines.notes_on_header(n_rows))
    if lines.has_keys:
        for row in range(n_rows or len(groups)):
            if row not in groups:
                name = names[row] if names else row
                hint = ""
                if lines.has_index:
                    hint = "; its first column has no name: write the keys of the rows there"
                raise ValueError(f"{path}: no {lines.noun} for row {name}{hint}")
    return [groups[row] for row in range(len(groups))]
