"""Files, and values beside them, with rows and labels matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from xmleval.base.budget import PIECE_BYTES
from xmleval.base.errors import Keyword, Message, ScanField, shown
from xmleval.evaluation.label_counts import common_label_count
from xmleval.evaluation.matched_inputs import (
    LOG,
    MatchedInputs,
    NamedPieces,
    OpenedInputs,
    read_grades,
    unmatched_pairs,
)
from xmleval.evaluation.request import Request
from xmleval.input.glances import unread_grades
from xmleval.input.match import Batches, Match, as_scores, score_pieces, set_pieces
from xmleval.input.match_values import Naming
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import Pieces, RowReader
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, Origin, Rows, missing_names_note
from xmleval.input.shards import OpenedFiles
from xmleval.labels.hierarchy import nodes_of
from xmleval.metrics.spec import Spec, expand_metrics

NAMELESS = "has no names, which ", Keyword("y_true"), " has"


class NamedTruth(NamedTuple):
    """A truth with names: its rows, what matches predictions with it, and whether it has grades above 1."""

    pieces: Pieces
    match: Match
    has_grades: bool


def _naming_of(match: Match, label_names: list[Any] | None) -> Naming:
    """Return the names that a match settled; all models share those of labels."""
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
    columns = truth.columns_as_in_files if isinstance(truth, OpenedValue) else None
    names = labels or ()
    if not names and columns is not None and columns.are_columns:
        names = [*(columns.names or ())]
    match = Match(truth.name, names, listed=labels is not None, fits=fits)
    if labels is None or not truth.numbers_labels(labels):
        placed = match.place("y_true", truth.name, _truth_batches(truth, predictions))
        return NamedTruth(set_pieces(placed, match, truth.kind == "grades"), match, placed.most_value > 1)
    pieces = replace(truth.pieces(), n_labels=len(labels))
    common_label_count([(Keyword("labels"), pieces), (truth.name, truth.pieces())])
    with closing(RowReader(truth.name, pieces, PIECE_BYTES)) as reader:
        match.n_rows = reader.count()
    return NamedTruth(pieces, match, False)


def _truth_batches(truth: Opened, predictions: Sequence[Opened] = ()) -> Batches:
    """Return what reads relevant labels with names, which they must have if predictions have them."""
    batches = truth.batches("truth")
    if batches is not None:
        return batches
    named = [model.name for model in predictions if model.named]
    reason: Sequence[object] = NAMELESS
    if named:
        reason = [f"predictions have names ({named[0]})"]
    elif truth.named:
        reason = ["has names"]
    hint: list[object] = []
    if ".txt" in truth.name:
        hint += ["; of names on each line, ", ScanField("input_format", "lines")]
    if not truth.named:
        hint += [", or ", Keyword("labels"), " with the names of its columns"]
    text = "; expected relevant labels with names"
    raise ValueError(Message(f"{truth.name}: ", *reason, text, *hint))


def prediction_batches(opened: Opened, facts: Origin | None = None) -> Batches:
    """Return what reads predictions whose rows and labels have names, next to a truth with these facts."""
    is_judged = facts is not None and facts.judged_by is not None
    if is_judged and isinstance(opened, OpenedFiles):
        opened = opened.beside_judgements()
    batches = opened.batches("scores")
    if batches is None:
        reason = "" if opened.named else "has no names, and others have; "
        raise ValueError(f"{opened.name}: {reason}expected predictions with names")
    return batches


def _candidate_batches(opened: Opened) -> Batches:
    """Return what reads candidates of rows: predictions, or relevant labels with names."""
    batches = opened.batches("scores")
    if batches is None:
        return _truth_batches(opened)
    return lambda: (rows._replace(values=None) for rows in batches())


def notes_of(name: str, facts: Origin | None, *remarks: str) -> list[str]:
    """Return a note on what was settled in reading a file with names, and these remarks."""
    return (facts or Origin()).noted(name, *remarks)


class FileMatch:
    """The match of files, and of values beside them, of which some have names.

    shared : notes of all reports
    sets : sets of labels beside the truth
    """

    def __init__(self, request: Request, given: OpenedInputs, labels: list[str] | None, fits: bool) -> None:
        self.request, self.given, self.fits = request, given, fits
        question = request.question
        self.asked = [] if fits else expand_metrics(question.metrics, question.k)
        self.truth = read_truth(given.truth, labels, given.predictions, fits)
        self.match = self.truth.match
        if not fits:
            self.match.add_nodes(nodes_of(question.hierarchy))
        self.shared = notes_of(given.truth.name, self.match.origin)
        self.sets = dict[str, NamedPieces]()

    def matched(self) -> MatchedInputs:
        """Return the rows of all inputs by name."""
        self._note_truth()
        self._place_restrictions()
        scores, matches = list[NamedPieces](), list[Match]()
        for model in self.given.predictions:
            placed = self._place(model)
            if placed.ranks:
                scores.append((model.name, score_pieces(placed.rows, placed.match)))
                matches.append(placed.match)
        label_names = self.match.label_names or None
        namings, notes = list[Naming](), list[list[str]]()
        for match in matches or [self.match]:
            naming = _naming_of(match, label_names)
            namings.append(naming)
            missing = missing_names_note(self.match.number or (), naming.unknown)
            notes.append([*self.shared, *match.notes, *missing])
        truth = self.given.truth.name, self.truth.pieces
        return MatchedInputs(truth, scores, self.sets, namings, notes, by_name=True)

    def _note_truth(self) -> None:
        """Note grades that nothing reads, and say where a table may hold predictions, too."""
        truth = self.given.truth
        if self.truth.has_grades and truth.kind != "grades" and read_grades(self.asked):
            self.shared.append(unread_grades(truth.name))
        needs_predictions = not self.given.predictions and any(spec.needs for spec, _ in self.asked)
        if needs_predictions and isinstance(truth, OpenedFiles) and truth.format.for_fields:
            LOG.info(
                "%s: none of its fields is known to hold predicted labels; give it as y_score or y_pred, "
                "too, with the name of the field",
                truth.name,
            )

    def _place_restrictions(self) -> None:
        """Match candidates and what is excluded, whose unknown labels all models share."""
        for argument, batches_of in (("candidates", _candidate_batches), ("exclude", _truth_batches)):
            opened = self.given.sets.get(argument)
            if opened is not None:
                placed = self.match.place(argument, opened.name, batches_of(opened))
                self.shared += notes_of(opened.name, placed.origin)
                self.sets[argument] = opened.name, set_pieces(placed, self.match)
        pairs = unmatched_pairs(self.request.data.exclude_from, self.match.n_unmatched_pairs)
        self.shared += [*self.match.notes, *pairs]
        self.match.notes = []

    def _place(self, model: Opened) -> _PlacedModel:
        """Match predictions, as sets, as a ranking or as both."""
        is_sets = model is self.given.sets.get("y_pred")
        match = self.match if is_sets else self.match.fork()
        batches = self._batches(model, match)
        rows = match.place("y_pred" if is_sets else "y_score", model.name, batches)
        in_truth_file, decision = self.given.in_truth_file, self.request.question.decision
        if is_sets:
            _refuse_other_use(model.name, rows.scored, in_truth_file, decision, self.asked)
        ranks = not is_sets or (in_truth_file and rows.scored)
        picks = is_sets and not rows.scored and decision is None
        remarks = []
        if not rows.scored and isinstance(model, OpenedFiles):
            remarks.append(_use_without_scores(picks, ranks, in_truth_file))
        if self.fits:
            match.know_all()
        match.notes = [*notes_of(model.name, rows.origin, *remarks), *match.notes]
        if picks:
            self.sets["y_pred"] = model.name, set_pieces(rows, match)
        if not ranks:  # notes on sets are those of all
            self.shared += match.notes
            match.notes = []
        return _PlacedModel(rows, match, ranks)

    def _batches(self, model: Opened, match: Match) -> Batches:
        """Return what reads predictions; a wide frame tells by its columns what labels there are."""
        if not isinstance(model, OpenedValue):
            return prediction_batches(model, self.match.origin)
        file_rows, columns = model.rows_as_in_files, model.columns_as_in_files
        if file_rows is None or columns is None or not (file_rows.named and columns.are_columns):
            return prediction_batches(model, self.match.origin)
        id_column = None if columns.origin is None else columns.origin.id_column
        if id_column is not None:
            match.notes.append(f"{model.name}: rows are matched by column {shown(id_column)}")
        rows = columns.part(0, columns.n_rows)._replace(keys=file_rows.keys, match=file_rows.match)
        return lambda: [rows]


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
    name: str, scored: bool, in_truth_file: bool, rule: object, asked: Sequence[tuple[Spec, bool]]
) -> None:
    """Refuse predictions that are not what the arguments take them for."""
    decision = Keyword("decision")
    if scored and not in_truth_file:
        text = f"{name}: its labels have scores; expected sets, or "
        raise ValueError(Message(text, Keyword("y_score"), " with ", decision))
    if scored or not in_truth_file:
        return
    needing: list[object] = [spec for spec, explicit in asked if explicit and "scores" in spec.needs]
    if rule is not None:
        needing.append(decision)
    if needing:
        needs = " needs a ranking, and its labels have no scores; if they stand best first, give it as "
        raise ValueError(Message(f"{name}: ", needing[0], needs, Keyword("y_score"), ", too"))


def read_scores_alone(opened: Opened, label_names: list[str] | None, named_by: object = None) -> Rows:
    """Read scores with the names of rows and labels.

    Rows are in the order in which they appear first. Labels are those that ``named_by`` names, or the file.
    """
    match = Match(opened.name, label_names or ())
    placed = match.place("y_true", opened.name, prediction_batches(opened))
    names = match.label_names
    if match.unknown:
        text = f"label {shown(next(iter(match.unknown)))} is not one of the {len(names)} of {named_by}; give "
        raise ValueError(Message(f"{opened.name}: {text}", Keyword("labels"), ", the names of all"))
    rows = as_scores(placed.rows(), names)
    return rows._replace(keys=match.keys, match=match.by, names=names, origin=match.origin)
