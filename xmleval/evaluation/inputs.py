"""Match the rows and labels of files and values, by name or by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import InputError, renaming
from xmleval.evaluation.match_files import FileMatch, read_grades, unmatched_pairs
from xmleval.evaluation.matched_inputs import MatchedInputs, NamedPieces, OpenedInputs
from xmleval.evaluation.reading import first_rows
from xmleval.evaluation.request import Request, cells_of
from xmleval.files.remote import as_path, is_file
from xmleval.input.cell_marks import (
    CANDIDATES,
    JUDGED,
    NO_MARKS,
    RESTRICTIONS,
    UNJUDGED,
    marks_of,
)
from xmleval.input.label_filter import LabelFilter, id_pairs, is_id_pairs, make_label_filter
from xmleval.input.match_values import MatchedValues, MatchOptions, Naming, match_values
from xmleval.input.opened import Opened, OpenedValue, kind_of
from xmleval.input.pieces import Pieces, whole
from xmleval.input.plausibility import swapped_notes, unread_grades
from xmleval.input.rows import Origin, Rows, missing_names_note, rows_by_id
from xmleval.input.scan import Scan
from xmleval.input.sets import set_rows
from xmleval.input.shards import OpenedFiles, find_scan
from xmleval.input.text_columns import TextPairs, read_pairs
from xmleval.labels.hierarchy import list_nodes
from xmleval.metrics.spec import expand_metrics

PAIR_ENDINGS = (".txt", ".txt.gz")  # of text files of pairs of numbers
SETS_OF_ROWS = ("y_pred", UNJUDGED, JUDGED, CANDIDATES)


def open_input(argument: str, value: object, n_labels: int | None = None, name: str = "") -> Opened:
    """Return the files or the value of an argument, opened."""
    if isinstance(value, Opened):
        return value
    if is_file(value):
        return find_scan(argument, value)
    return OpenedValue(
        name or argument, kind_of(argument), argument, value=value, n_labels=n_labels
    )


def match_inputs(
    request: Request, inputs: Mapping[str, Sequence[Opened]], labels: list[Any] | None, fits: bool
) -> MatchedInputs:
    """Return the rows of all inputs, matched by the names of rows and labels if there are any."""
    pairs, opened = _with_pairs(request, _opened_inputs(inputs, fits))
    if opened.are_values and not opened.share_restrictions:
        matched = _match_values(request, opened, labels, fits)
    elif opened.in_truth_file or opened.have_names:
        label_names = labels
        if labels is not None:
            label_names = [*map(str, labels)]  # names in files are strings
        matched = FileMatch(request, opened, label_names, fits).matched()
    else:
        matched = _match_by_number(request, opened, labels)
    if request.question.reads_grades:
        _note_swapped(matched)
    marks = marks_of(request.data.unjudged, request.data.judged)
    return matched._replace(
        pairs=pairs,
        exclude_from=request.data.exclude_from,
        marks=marks,
        graded=request.question.reads_grades,
    )


def _opened_inputs(inputs: Mapping[str, Sequence[Opened]], fits: bool) -> OpenedInputs:
    """Return the inputs; a truth file with predictions also gives the predicted sets."""
    (truth,) = inputs["y_true"]
    models = inputs["y_score"]
    sets = {name: inputs[name][0] for name in SETS_OF_ROWS if name in inputs}
    is_alone = not models and "y_pred" not in sets and not fits
    if is_alone and isinstance(truth, OpenedFiles) and truth.holds_both:
        sets["y_pred"] = truth
    return OpenedInputs(truth, models, sets)


def are_pairs(value: object) -> bool:
    """Return whether sets of labels are given as pairs of numbers, in memory or in a text file."""
    if is_file(value):
        return not isinstance(value, Scan) and as_path(value).name.endswith(PAIR_ENDINGS)
    return is_id_pairs(value)


def _with_pairs(
    request: Request, opened: OpenedInputs
) -> tuple[dict[str, TextPairs], OpenedInputs]:
    """Return pairs of numbers by argument, and the inputs with any other exclusions."""
    data = request.data
    pairs = dict[str, TextPairs]()
    for name, value in cells_of(data).items():
        if are_pairs(value):
            pairs[name] = _read_pairs(name, value, opened)
    if data.exclude is None and data.exclude_from == "both":
        return pairs, opened
    value = make_label_filter(data.exclude, data.exclude_from, None).sets["exclude"]
    if is_file(data.exclude) or is_id_pairs(value):
        pairs["exclude"] = _read_pairs("exclude", value, opened)
        return pairs, opened
    excluded = OpenedValue(
        "exclude", "truth", "exclude", value=value, n_labels=request.question.n_labels
    )
    return pairs, opened._replace(sets={**opened.sets, "exclude": excluded})


def _read_pairs(argument: str, value: Any, opened: OpenedInputs) -> TextPairs:
    """Return pairs of numbers, or refuse them next to names."""
    if is_file(value):
        return read_pairs(as_path(value))
    if opened.truth.named and opened.truth.label_columns is None:
        reason = "has pairs of numbers, but rows or labels have names; give pairs of names"
        raise InputError(argument, reason)
    distinct, first = np.unique(id_pairs(value), axis=0, return_index=True)
    return TextPairs(Path(argument), distinct[:, 0], distinct[:, 1], first, "pair")


def _note_swapped(matched: MatchedInputs) -> None:
    """Add a note if the grades of the truth look like scores, and scores like grades."""
    if not matched.scores:
        return
    grades = first_rows(*matched.truth)
    for (name, pieces), notes in zip(matched.scores, matched.notes, strict=True):
        notes += swapped_notes(matched.truth[0], grades, name, first_rows(name, pieces))


def _match_by_number(
    request: Request, inputs: OpenedInputs, labels: list[str] | None
) -> MatchedInputs:
    """Return the rows of inputs without names: rows and labels have the same numbers in all."""
    truth = inputs.truth
    for model in inputs.predictions:
        model.refuse_other_order(truth)
    sets = dict(inputs.sets)
    truth_rows = truth.pieces()
    candidates = sets.get("candidates")
    if isinstance(candidates, OpenedValue):
        width = truth_rows.n_labels or request.question.n_labels or len(labels or ())
        sets["candidates"] = candidates.as_candidates(width)
    n_reports = len(inputs.models) or 1
    matched = MatchedInputs(
        (truth.name, truth_rows),
        [(model.name, model.pieces()) for model in inputs.models],
        {argument: (opened.name, opened.pieces()) for argument, opened in sets.items()},
        [Naming(labels) for _ in range(n_reports)],
        [list[str]() for _ in range(n_reports)],
    )
    for place, notes in enumerate(matched.notes):
        model_inputs = inputs.models[place : place + 1]
        notes += _notes_on_numbers([truth, *model_inputs, *sets.values()])
        notes += missing_names_note(labels or ())
    return matched


def _notes_on_numbers(inputs: Sequence[Opened]) -> list[str]:
    """Return notes on inputs that were read by number, first on values in memory."""
    notes = list[str]()
    for opened in inputs:
        if isinstance(opened, OpenedValue):
            notes += opened.notes
    for opened in inputs:
        if not isinstance(opened, OpenedValue):
            notes += Origin(notes=[*opened.pieces().notes]).noted(opened.name)
    return notes


def _match_values(
    request: Request, inputs: OpenedInputs, labels: list[Any] | None, fits: bool
) -> MatchedInputs:
    """Return the rows of values in memory; models are matched with the truth one by one."""
    question = request.question
    options = MatchOptions(
        question.n_labels, labels, fits=fits, higher_is_better=question.higher_is_better
    )
    marks = marks_of(request.data.unjudged, request.data.judged)
    options = options._replace(has_marks=marks != NO_MARKS)
    if not fits:
        nodes = list_nodes(question.hierarchy)
        options = options._replace(graded=question.reads_grades, nodes=nodes)
    shared = dict[str, NamedPieces]()
    scores = list[NamedPieces]()
    namings = list[Naming]()
    notes = list[list[str]]()
    models: Sequence[Opened | None] = inputs.models or [None]
    for model in models:
        with renaming("y_score", "y_score" if model is None else model.name):
            matched = match_values(_values_by_argument(inputs, model), options)
        if not shared:
            shared = _shared_rows(inputs, matched)
        if model is not None:
            y_score = matched.values["y_score"]
            rows = _pieces_of_value("y_score", y_score, model.kind, matched.n_labels)
            scores.append((model.name, rows))
        naming = matched.naming
        namings.append(replace(naming, row_names=naming.reported_row_names))
        notes.append(_notes_on_values(request, matched, fits))
    by_name = namings[-1].label_names is not None or bool(namings[-1].unknown)
    return MatchedInputs(shared.pop("y_true"), scores, shared, namings, notes, by_name)


def _values_by_argument(inputs: OpenedInputs, model: Opened | None) -> dict[str, OpenedValue]:
    """Return the values of one evaluation, named by their arguments."""
    opened_inputs = {
        "y_true": inputs.truth,
        "y_score": model,
        "y_pred": inputs.sets.get("y_pred"),
        **{name: inputs.sets.get(name) for name in RESTRICTIONS},
    }
    values = dict[str, OpenedValue]()
    for argument, opened in opened_inputs.items():
        if isinstance(opened, OpenedValue):
            values[argument] = OpenedValue(argument, opened.kind, argument, value=opened.value)
    return values


def _shared_rows(inputs: OpenedInputs, matched: MatchedValues) -> dict[str, NamedPieces]:
    """Return the rows of the truth and of sets of labels, which all models share."""
    values = dict(matched.values)
    n_labels = matched.n_labels
    values.pop("y_score", None)
    restrictions = {name: values[name] for name in RESTRICTIONS if name in values}
    label_filter = LabelFilter(restrictions).opened(set_rows("y_true", values["y_true"], n_labels))
    for name, source in label_filter.sets.items():
        block = source.block(0, source.n_rows)
        names = getattr(values[name], "names", None)
        values[name] = rows_by_id(block.ptr, block.labels)._replace(names=names)
    opened = {"y_true": inputs.truth, **inputs.sets}
    shared = dict[str, NamedPieces]()
    for argument, value in values.items():
        pieces = _pieces_of_value(argument, value, inputs.truth.kind, n_labels)
        shared[argument] = opened[argument].name, pieces
    return shared


def _pieces_of_value(argument: str, value: Any, kind: str, n_labels: int | None) -> Pieces:
    """Return the rows of a value that `match_values` returned."""
    if not isinstance(value, Rows):
        return OpenedValue(argument, kind, argument, value=value, n_labels=n_labels).pieces()
    if argument != "y_score":
        value = value._replace(best_first=False)
    return whole(value, n_labels)


def _notes_on_values(request: Request, matched: MatchedValues, fits: bool) -> list[str]:
    """Return the notes of a report on the match of values."""
    naming = matched.naming
    question = request.question
    notes = [*matched.notes, *unmatched_pairs(request.data.exclude_from, naming.n_unmatched_pairs)]
    if naming.has_unread_grades and not fits:
        requested = expand_metrics(question.metrics, question.k)
        if read_grades(requested):
            notes.append(unread_grades("y_true"))
    return notes
