"""Match the rows and labels of files, and of values next to files, by name."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.budget import PIECE_BYTES
from xmleval.base.errors import InputError, Keyword, Message, ScanField, counted, shown
from xmleval.base.notes import Note
from xmleval.evaluation.label_counts import common_label_count
from xmleval.evaluation.matched_inputs import LOG, MatchedInputs, NamedPieces, OpenedInputs
from xmleval.evaluation.request import Request
from xmleval.input.cell_marks import CANDIDATES, JUDGED, UNJUDGED, keeps_values
from xmleval.input.label_filter import PAIRS
from xmleval.input.match import (
    IN_ORDER,
    LEFT_OUT,
    Batches,
    Match,
    are_in_other_order,
    as_scores,
    names_of_columns,
    refuse_other_numbers,
    score_pieces,
    set_pieces,
)
from xmleval.input.match_values import Naming
from xmleval.input.matched_rows import PlacedRows
from xmleval.input.objects.named import dense_list
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import Pieces, RowReader
from xmleval.input.plausibility import unread_grades
from xmleval.input.rows import BY_KEY, Origin, Rows, array_rows, missing_names_note
from xmleval.input.shards import OpenedFiles
from xmleval.labels.hierarchy import list_nodes
from xmleval.metrics.spec import Spec, expand_metrics

DIGITS = 18  # of integers of 64 bits
NAMELESS = "has no names, but ", Keyword("y_true"), " has"


class NamedTruth(NamedTuple):
    """A truth with names.

    match : matches predictions with the truth
    has_grades : whether any grade is above 1
    """

    pieces: Pieces
    match: Match
    has_grades: bool


def _naming_of(match: Match, label_names: list[Any] | None) -> Naming:
    """Return the names of rows and labels after a match; all models share those of labels."""
    return Naming(
        label_names=label_names,
        closed=match.closed,
        row_names=match.keys,
        by_key=match.by == BY_KEY,
        unknown=match.unknown_names,
    )


def read_truth(
    truth: Opened, labels: list[str] | None, predictions: Sequence[Opened] = (), fits: bool = False
) -> NamedTruth:
    """Return a truth with names.

    ``labels`` may also name the columns of a truth without names. ``fits`` is that of `Match`.
    """
    names: Sequence[str] = labels or ()
    in_order = is_in_order(truth, predictions)
    if in_order and not names:
        names = names_of_columns(truth.label_columns or (), (), [])
    if not names:
        names = truth.label_columns or ()
    match = Match(truth.name, names, listed=labels is not None, fits=fits)
    if labels is None or not truth.numbers_labels(labels):
        batches = _truth_batches(truth, predictions)
        if in_order:
            batches = partial(_without_keys, batches, truth.name, predictions[0].name)
        placed = match.place("y_true", truth.name, batches)
        if in_order and labels is None and are_in_other_order(truth.label_columns or ()):
            match.notes.append(f"{truth.name}: {IN_ORDER}")
        if in_order and match.origin is not None and match.origin.id_column is not None:
            left_out = LEFT_OUT.format(shown(match.origin.id_column), "predictions have")
            match.notes.append(f"{truth.name}: {left_out}")
        pieces = set_pieces(placed, match, keeps_values(truth.kind))
        return NamedTruth(pieces, match, placed.most_value > 1)
    pieces = replace(truth.pieces(), n_labels=len(labels))
    common_label_count([(Keyword("labels"), pieces), (truth.name, truth.pieces())])
    with closing(RowReader(truth.name, pieces, PIECE_BYTES)) as reader:
        match.n_rows = reader.count()
    return NamedTruth(pieces, match, False)


def is_in_order(truth: Opened, predictions: Sequence[Opened]) -> bool:
    """Return whether rows and labels of predictions are those of a wide truth by position."""
    if truth.label_columns is None or not predictions:
        return False
    return not any(model.named for model in predictions)


def _without_keys(batches: Batches, truth: str, predictions: str) -> Iterator[Rows]:
    """Yield rows without their keys; refuse keys that number the rows in another order."""
    numbers = array("q")
    are_numbers = True
    for rows in batches():
        are_numbers = are_numbers and all(map(_is_number, rows.keys or ()))
        if are_numbers:
            numbers.extend(map(int, rows.keys or ()))
        yield rows._replace(keys=None, match=None)
    if are_numbers:
        refuse_other_numbers(truth, np.array(numbers), predictions)


def _is_number(key: object) -> bool:
    """Return whether a key may be the number of a row."""
    text = str(key)
    return text.isdecimal() and len(text) <= DIGITS


def _pieces_in_order(model: Opened, n_labels: int) -> Pieces:
    """Return the rows of predictions without names; lists that are no array are of label ids."""
    if isinstance(model, OpenedValue) and isinstance(model.plain, list):
        value = dense_list(model.argument, model.plain, n_labels)
        model = replace(model, value=value, n_labels=n_labels)
    return model.pieces()


def _batches_in_order(pieces: Pieces, is_ranking: bool) -> Iterator[Rows]:
    """Yield the rows of predictions without names, as lists of label ids."""
    for rows in pieces.read(PIECE_BYTES):
        listed = rows
        if not isinstance(rows, Rows):
            listed = array_rows(rows).part(0, len(rows), zeros=is_ranking)
            listed = listed._replace(labels=listed.labels.astype(np.int64), are_columns=False)
        yield listed if is_ranking else listed._replace(values=None, best_first=False)


def _truth_batches(truth: Opened, predictions: Sequence[Opened] = ()) -> Batches:
    """Return a reader of relevant labels with names; refuse a truth without names."""
    batches = truth.batches("truth")
    if batches is not None:
        return batches
    named_predictions = [model.name for model in predictions if model.named]
    reason: Sequence[object] = NAMELESS
    if named_predictions:
        reason = [f"has no names, but predictions have ({named_predictions[0]})"]
    elif truth.named:
        reason = ["has names"]
    hint: list[object] = []
    if ".txt" in truth.name:
        hint += ["; for lines of names, give ", ScanField("input_format", "lines")]
    if not truth.named:
        hint += [", or ", Keyword("labels"), ", the names of its columns"]
    text = "; expected relevant labels with names"
    raise ValueError(Message(f"{truth.name}: ", *reason, text, *hint))


def prediction_batches(opened: Opened, facts: Origin | None = None) -> Batches:
    """Return a reader of predictions with names of rows and labels.

    ``facts`` are those of the truth, on which the reading of files of judgements depends.
    """
    is_judged = facts is not None and facts.judged_by is not None
    if is_judged and isinstance(opened, OpenedFiles):
        opened = opened.beside_judgements()
    batches = opened.batches("scores")
    if batches is None:
        text = "expected predictions with names"
        if not opened.named:
            text = f"has no names, but other inputs have; {text}"
        raise ValueError(f"{opened.name}: {text}")
    return batches


def _candidate_batches(opened: Opened) -> Batches:
    """Return a reader of candidates: predictions, or relevant labels with names."""
    if isinstance(opened, OpenedFiles) and opened.label_columns is not None:
        return _truth_batches(opened)
    batches = opened.batches("scores")
    if batches is None:
        return _truth_batches(opened)
    return lambda: (rows._replace(values=None) for rows in batches())


def notes_of(name: str, facts: Origin | None, *remarks: str) -> list[str]:
    """Return a note on how a file with names was read, with these remarks."""
    return (facts or Origin()).noted(name, *remarks)


def read_grades(requested: Sequence[tuple[Spec, bool]]) -> bool:
    """Return whether any measure could use the grades of a truth."""
    return any(spec.metric.by_row for spec, _ in requested)


def unmatched_pairs(exclude_from: str, n_pairs: int) -> list[Note]:
    """Return a note on excluded pairs whose row or label is in no other input, if there are any."""
    if not n_pairs:
        return []
    return [Note("exclude", PAIRS[exclude_from == "both"], 0, n_pairs)]


class FileMatch:
    """The match by name of files, and of values next to files.

    shared : notes of all reports
    sets : sets of labels, by argument
    in_order : whether predictions have no names, which are those of a wide truth by position
    """

    def __init__(
        self, request: Request, inputs: OpenedInputs, labels: list[str] | None, fits: bool
    ) -> None:
        self.request = request
        self.inputs = inputs
        self.fits = fits
        question = request.question
        self.requested = list[tuple[Spec, bool]]()
        if not fits:
            self.requested = expand_metrics(question.metrics, question.k)
        self.truth = read_truth(inputs.truth, labels, inputs.predictions, fits)
        self.match = self.truth.match
        self.in_order = is_in_order(inputs.truth, inputs.predictions)
        self.match.higher_is_better = question.higher_is_better
        if not fits:
            self.match.add_nodes(list_nodes(question.hierarchy))
        truth = inputs.truth
        self.shared = notes_of(truth.name, self.match.origin, *truth.remarks)
        self.sets = dict[str, NamedPieces]()

    def matched(self) -> MatchedInputs:
        """Return the rows of all inputs by name."""
        self._note_truth()
        self._place_restrictions()
        scores = list[NamedPieces]()
        matches = list[Match]()
        for model in self.inputs.predictions:
            placed = self._place(model)
            if placed.ranks:
                pieces = score_pieces(placed.rows, placed.match, by_number=self.in_order)
                scores.append((model.name, pieces))
                matches.append(placed.match)
        label_names = self.match.label_names or None
        namings = list[Naming]()
        notes = list[list[str]]()
        for match in matches or [self.match]:
            naming = _naming_of(match, label_names)
            namings.append(naming)
            missing = missing_names_note(self.match.number or (), naming.unknown)
            notes.append([*self.shared, *match.notes, *missing])
        truth = self.inputs.truth.name, self.truth.pieces
        return MatchedInputs(truth, scores, self.sets, namings, notes, by_name=True)

    def _note_truth(self) -> None:
        """Note grades that no measure reads, and log a hint on a table without predictions."""
        truth = self.inputs.truth
        is_graded = self.request.question.reads_grades
        if self.truth.has_grades and not is_graded and read_grades(self.requested):
            self.shared.append(unread_grades(truth.name))
        needs_predictions = not self.inputs.predictions and any(
            spec.needs for spec, _ in self.requested
        )
        if needs_predictions and isinstance(truth, OpenedFiles) and truth.format.for_fields:
            LOG.info(
                "%s: no field is called like predicted labels; "
                "give the file as y_score or y_pred, too, with the name of the field",
                truth.name,
            )

    def _place_restrictions(self) -> None:
        """Match candidates and exclusions; all models share their unknown labels."""
        for argument, batches_of in (
            (CANDIDATES, _candidate_batches),
            ("exclude", _truth_batches),
            (UNJUDGED, _truth_batches),
            (JUDGED, _truth_batches),
        ):
            opened = self.inputs.sets.get(argument)
            if opened is not None:
                placed = self.match.place(argument, opened.name, batches_of(opened))
                self.shared += notes_of(opened.name, placed.origin)
                pieces = set_pieces(placed, self.match, argument == JUDGED)
                self.sets[argument] = opened.name, pieces
        pairs = unmatched_pairs(self.request.data.exclude_from, self.match.n_unmatched_pairs)
        self.shared += [*self.match.notes, *pairs]
        self.match.notes = []

    def _place(self, model: Opened) -> _PlacedModel:
        """Match predictions, as sets, as a ranking or as both."""
        is_sets = model is self.inputs.sets.get("y_pred")
        match = self.match if is_sets else self.match.fork()
        if self.in_order:
            batches = self._batches_by_position(model, match)
        else:
            batches = self._batches(model, match)
        rows = match.place("y_pred" if is_sets else "y_score", model.name, batches)
        in_truth_file = self.inputs.in_truth_file
        decision = self.request.question.decision
        if is_sets:
            _refuse_other_use(model.name, rows.scored, in_truth_file, decision, self.requested)
        ranks = not is_sets or (in_truth_file and rows.scored)
        picks = is_sets and not rows.scored and decision is None
        remarks = []
        if not rows.scored and isinstance(model, OpenedFiles) and model.label_columns is None:
            remarks.append(_use_without_scores(picks, ranks, in_truth_file))
        if self.fits:
            match.know_all()
        match.notes = [*notes_of(model.name, rows.origin, *remarks), *match.notes]
        if picks:
            self.sets["y_pred"] = model.name, set_pieces(rows, match)
        if not ranks:  # all reports have the notes on sets
            self.shared += match.notes
            match.notes = []
        return _PlacedModel(rows, match, ranks)

    def _batches_by_position(self, model: Opened, match: Match) -> Batches:
        """Return a reader of predictions whose labels are the columns of the truth, in order."""
        pieces = _pieces_in_order(model, match.n_labels)
        if pieces.n_labels not in (None, match.n_labels):
            text = (
                f"{counted(pieces.n_labels or 0, 'labels')}, but {match.truth} has {match.n_labels}"
            )
            raise InputError(
                model.name, f"{text}; give the same labels, in the order of its columns"
            )
        names_of_columns(match.label_names, [model.name], match.notes)
        is_sets = model is self.inputs.sets.get("y_pred")
        return partial(_batches_in_order, pieces, not is_sets)

    def _batches(self, model: Opened, match: Match) -> Batches:
        """Return a reader of predictions; the columns of a wide table name all its labels."""
        if not isinstance(model, OpenedValue):
            return self._file_batches(model)
        file_rows = model.rows_as_in_files
        columns = model.columns_as_in_files
        if file_rows is None or columns is None or not (file_rows.named and columns.are_columns):
            return prediction_batches(model, self.match.origin)
        if columns.origin is not None and columns.origin.id_column is not None:
            id_column = columns.origin.id_column
            match.notes.append(f"{model.name}: rows are matched by column {shown(id_column)}")
        rows = columns.part(0, columns.n_rows)._replace(keys=file_rows.keys, match=file_rows.match)
        return lambda: [rows]

    def _file_batches(self, model: Opened) -> Batches:
        """Return a reader of predictions in files."""
        if model.label_columns is None:
            return prediction_batches(model, self.match.origin)
        is_sets = model is self.inputs.sets.get("y_pred")
        batches = _truth_batches(model) if is_sets else prediction_batches(model)
        return lambda: (rows._replace(are_columns=True) for rows in batches())


class _PlacedModel(NamedTuple):
    """Predictions whose rows and labels are matched, and whether they rank labels."""

    rows: PlacedRows
    match: Match
    ranks: bool


def _use_without_scores(picks: bool, ranks: bool, in_truth_file: bool) -> Message:
    """Return the remark on predictions without scores."""
    uses = []
    if picks:
        uses.append("as sets")
    if ranks:
        uses.append("best first")
    hint: list[object] = []
    if in_truth_file and not ranks:
        hint = [" (give it as ", Keyword("y_score"), ", too, for a ranking)"]
    return Message(f"no scores, taken {' and '.join(uses)}", *hint)


def _refuse_other_use(
    name: str,
    scored: bool,
    in_truth_file: bool,
    rule: object,
    requested: Sequence[tuple[Spec, bool]],
) -> None:
    """Refuse predictions that do not fit the arguments: scores for sets, or sets for scores."""
    decision = Keyword("decision")
    if scored and not in_truth_file:
        text = f"{name}: its labels have scores; expected sets, or "
        rule = Keyword("decision", "threshold>=-inf")
        raise ValueError(Message(text, Keyword("y_score"), " with ", rule, ", to take all of them"))
    if scored or not in_truth_file:
        return
    needing: list[object] = [
        spec for spec, explicit in requested if explicit and "scores" in spec.needs
    ]
    if rule is not None:
        needing.append(decision)
    if needing:
        needs = (
            " needs a ranking, but its labels have no scores; if they stand best first, give it as "
        )
        raise ValueError(Message(f"{name}: ", needing[0], needs, Keyword("y_score"), ", too"))


def read_scores_alone(
    opened: Opened, label_names: list[str] | None, named_by: object = None
) -> Rows:
    """Read scores with the names of rows and labels.

    Rows are in the order in which they appear first. Labels are ``label_names``, which
    ``named_by`` has, or those of the file.
    """
    match = Match(opened.name, label_names or ())
    placed = match.place("y_true", opened.name, prediction_batches(opened))
    names = match.label_names
    if match.unknown:
        label = shown(next(iter(match.unknown)))
        known = f"the {len(names)} labels of {named_by}"
        text = f"{opened.name}: label {label} is not one of {known}; give "
        raise ValueError(Message(text, Keyword("labels"), ", the names of all"))
    rows = as_scores(placed.rows(), names)
    return rows._replace(keys=match.keys, match=match.by, names=names, origin=match.origin)
