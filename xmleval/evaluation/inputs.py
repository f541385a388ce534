"""The inputs of an evaluation, files or values, with rows and labels matched by name or by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.errors import renaming
from xmleval.evaluation.match_files import FileMatch
from xmleval.evaluation.matched_inputs import (
    MatchedInputs,
    NamedPieces,
    OpenedInputs,
    first_rows,
    read_grades,
    unmatched_pairs,
)
from xmleval.evaluation.request import Request
from xmleval.files.remote import as_path, is_file
from xmleval.input.door import RESTRICTIONS, Door, IdPairs, make_door
from xmleval.input.glances import swapped_notes, unread_grades
from xmleval.input.match_values import MatchedValues, MatchOptions, Naming, match_values
from xmleval.input.opened import Opened, OpenedValue, kind_of
from xmleval.input.pieces import Pieces, whole
from xmleval.input.rows import Origin, Rows, missing_names_note, rows_by_id
from xmleval.input.sets import set_rows
from xmleval.input.shards import OpenedFiles, find_scan
from xmleval.input.small_texts import Pairs, read_pairs
from xmleval.labels.hierarchy import nodes_of
from xmleval.metrics.spec import expand_metrics


def open_input(argument: str, value: object, n_labels: int | None = None, name: str = "") -> Opened:
    """Return the files that an argument stands for, or its value."""
    if isinstance(value, Opened):
        return value
    if is_file(value):
        return find_scan(argument, value)
    return OpenedValue(name or argument, kind_of(argument), argument, value=value, n_labels=n_labels)


def match_inputs(
    request: Request, inputs: Mapping[str, Sequence[Opened]], labels: list[Any] | None, fits: bool
) -> MatchedInputs:
    """Return the rows of all inputs, by names of rows and labels where they have any."""
    pairs, given = _with_excluded(request, _given(inputs, fits))
    if given.are_values and not given.share_restrictions:
        matched = _match_values(request, given, labels, fits)
    elif given.in_truth_file or given.have_names:
        names = None if labels is None else [*map(str, labels)]  # as in files
        matched = FileMatch(request, given, names, fits).matched()
    else:
        matched = _match_by_number(request, given, labels)
    if given.truth.kind == "grades":
        _note_swapped(matched)
    return matched._replace(pairs=pairs, exclude_from=request.data.exclude_from)


def _given(inputs: Mapping[str, Sequence[Opened]], fits: bool) -> OpenedInputs:
    """Return what is given, with a truth that holds predictions, too, as predicted sets."""
    (truth,), models = inputs["y_true"], inputs["y_score"]
    sets = {name: inputs[name][0] for name in ("y_pred", "candidates") if name in inputs}
    is_alone = not models and "y_pred" not in sets and not fits
    if is_alone and isinstance(truth, OpenedFiles) and truth.holds_both:
        sets["y_pred"] = truth
    return OpenedInputs(truth, models, sets)


def _with_excluded(request: Request, given: OpenedInputs) -> tuple[Pairs | None, OpenedInputs]:
    """Return what is excluded as pairs by number, or else among the sets."""
    exclude, exclude_from = request.data.exclude, request.data.exclude_from
    if exclude is None and exclude_from == "both":
        return None, given
    value = make_door(exclude, exclude_from, None).sets["exclude"]
    if is_file(exclude):
        return read_pairs(as_path(exclude)), given
    ids = value.ids if isinstance(value, IdPairs) else value
    if isinstance(ids, np.ndarray) and ids.ndim == 2 and ids.shape[1] == 2 and ids.dtype.kind in "iu":
        distinct, first = np.unique(ids, axis=0, return_index=True)
        return Pairs(Path("exclude"), distinct[:, 0], distinct[:, 1], first, "pair"), given
    excluded = OpenedValue("exclude", "truth", "exclude", value=value, n_labels=request.question.n_labels)
    return None, given._replace(sets={**given.sets, "exclude": excluded})


def _note_swapped(matched: MatchedInputs) -> None:
    """Note where grades of the truth look like scores, and scores like grades."""
    if not matched.scores:
        return
    grades = first_rows(*matched.truth)
    for (name, pieces), notes in zip(matched.scores, matched.notes, strict=True):
        notes += swapped_notes(matched.truth[0], grades, name, first_rows(name, pieces))


def _match_by_number(request: Request, given: OpenedInputs, labels: list[str] | None) -> MatchedInputs:
    """Return the rows of inputs without names, which are in one order and number labels alike."""
    for model in given.predictions:
        model.refuse_other_order(given.truth)
    truth, sets, true_pieces = given.truth, dict(given.sets), given.truth.pieces()
    candidates = sets.get("candidates")
    if isinstance(candidates, OpenedValue):
        width = true_pieces.n_labels or request.question.n_labels or len(labels or ())
        sets["candidates"] = candidates.as_candidates(width)
    matched = MatchedInputs(
        (truth.name, true_pieces),
        [(model.name, model.pieces()) for model in given.models],
        {argument: (opened.name, opened.pieces()) for argument, opened in sets.items()},
        [Naming(labels) for _ in given.models or [truth]],
        [list[str]() for _ in given.models or [truth]],
    )
    for place, notes in enumerate(matched.notes):
        notes += _notes_on_numbers([truth, *given.models[place : place + 1], *sets.values()])
        notes += missing_names_note(labels or ())
    return matched


def _notes_on_numbers(inputs: Sequence[Opened]) -> list[str]:
    """Return what was seen in inputs that were read by number, of values in memory first."""
    notes = [note for opened in inputs if isinstance(opened, OpenedValue) for note in opened.notes]
    for opened in inputs:
        if not isinstance(opened, OpenedValue):
            notes += Origin(notes=[*opened.pieces().notes]).noted(opened.name)
    return notes


def _match_values(
    request: Request, given: OpenedInputs, labels: list[Any] | None, fits: bool
) -> MatchedInputs:
    """Return the rows of inputs of which none is a file, each model matched with the truth alone."""
    question = request.question
    options = MatchOptions(
        question.n_labels,
        labels,
        graded=None if fits else given.truth.kind == "grades",
        fits=fits,
        nodes=() if fits else nodes_of(question.hierarchy),
    )
    shared, scores = dict[str, NamedPieces](), list[NamedPieces]()
    namings, notes = list[Naming](), list[list[str]]()
    models: Sequence[Opened | None] = given.models or [None]
    for model in models:
        with renaming("y_score", "y_score" if model is None else model.name):
            of_model = match_values(_values_with(given, model), options)
        if not shared:
            shared = _pieces_of_sets(given, of_model)
        if model is not None:
            rows = _pieces_of_value("y_score", of_model.values["y_score"], model.kind, of_model.n_labels)
            scores.append((model.name, rows))
        naming = of_model.naming
        namings.append(replace(naming, row_names=naming.reported_row_names))
        notes.append(_notes_on_values(request, of_model, fits))
    by_name = namings[-1].label_names is not None or bool(namings[-1].unknown)
    return MatchedInputs(shared.pop("y_true"), scores, shared, namings, notes, by_name)


def _values_with(given: OpenedInputs, model: Opened | None) -> dict[str, OpenedValue]:
    """Return the values of one evaluation under the names of its arguments."""
    opened = {
        "y_true": given.truth,
        "y_score": model,
        "y_pred": given.sets.get("y_pred"),
        "exclude": given.sets.get("exclude"),
        "candidates": given.sets.get("candidates"),
    }
    values = {name: each for name, each in opened.items() if isinstance(each, OpenedValue)}
    return {name: OpenedValue(name, each.kind, name, value=each.value) for name, each in values.items()}


def _pieces_of_sets(given: OpenedInputs, matched: MatchedValues) -> dict[str, NamedPieces]:
    """Return the rows of the truth and of sets beside it, which all models share."""
    values, n_labels = dict(matched.values), matched.n_labels
    values.pop("y_score", None)
    restrictions = {name: values[name] for name in RESTRICTIONS if name in values}
    door = Door(restrictions).opened(set_rows("y_true", values["y_true"], n_labels))
    for name, source in door.sets.items():
        block = source.block(0, source.n_rows)
        names = getattr(values[name], "names", None)
        values[name] = rows_by_id(block.ptr, block.labels)._replace(names=names)
    opened = {"y_true": given.truth, **given.sets}
    return {
        argument: (opened[argument].name, _pieces_of_value(argument, value, given.truth.kind, n_labels))
        for argument, value in values.items()
    }


def _pieces_of_value(argument: str, value: Any, kind: str, n_labels: int | None) -> Pieces:
    """Return the rows of a value that `match_values` returned."""
    if not isinstance(value, Rows):
        return OpenedValue(argument, kind, argument, value=value, n_labels=n_labels).pieces()
    return whole(value if argument == "y_score" else value._replace(best_first=False), n_labels)


def _notes_on_values(request: Request, matched: MatchedValues, fits: bool) -> list[str]:
    """Return what was seen in matching values, for a report."""
    naming, question = matched.naming, request.question
    notes = [*matched.notes, *unmatched_pairs(request.data.exclude_from, naming.n_unmatched_pairs)]
    if naming.has_unread_grades and not fits and read_grades(expand_metrics(question.metrics, question.k)):
        notes.append(unread_grades("y_true"))
    return notes
