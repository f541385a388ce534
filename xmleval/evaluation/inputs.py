"""The inputs of an evaluation, files or values, with rows and labels matched by name or by number."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.budget import PIECE_BYTES, Resources, memory_limit
from xmleval.base.errors import Keyword, Message, ScanField, counted, renaming, shown
from xmleval.base.notes import Note
from xmleval.evaluation.request import Request
from xmleval.files.remote import as_path, is_file
from xmleval.input.door import PAIRS, RESTRICTIONS, Door, IdPairs, make_door
from xmleval.input.glances import swapped_notes, unread_grades
from xmleval.input.match import (
    Batches,
    Match,
    as_scores,
    score_pieces,
    set_pieces,
)
from xmleval.input.matching import MatchedValues, Naming, Rules, match_values
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import LabelUse, Pieces, RowReader, whole
from xmleval.input.placed import PlacedRows
from xmleval.input.rows import BY_KEY, Origin, Rows, missing_names_note, rows_by_id
from xmleval.input.scores import has_scores
from xmleval.input.sets import set_rows
from xmleval.input.shards import OpenedFiles, find_scan, kind_of
from xmleval.input.small_texts import Pairs, read_pairs
from xmleval.labels.hierarchy import nodes_of
from xmleval.metrics.spec import Spec, expand_metrics

Named = tuple[str, Pieces]  # an input, and the name that messages call it by
LOG = logging.getLogger("xmleval.evaluation")
NAMELESS = "has no names, which ", Keyword("y_true"), " has"
FIRST_BYTES = 1 << 16  # read to tell what the values of a file are
MARKED_SHARE = 8  # one byte in so many of memory marks a label that occurs
COUNT_BYTES = 16  # of a label, once its counts are added up


class Matched(NamedTuple):
    """Inputs whose rows are in one order and whose labels have the truth's numbers.

    truth, scores, sets : rows, those of the scores of each model, and sets of labels by argument
    namings : names of rows and labels, and notes, of each report
    by_name : whether rows or labels are matched by name
    pairs : what is excluded by the numbers of a row and a label, from what ``exclude_from`` tells
    of_rows : a name and an entry for each row, by argument
    first_row, start : number of the first row in the whole data of many files, and in these
    """

    truth: Named
    scores: list[Named]
    sets: dict[str, Named]
    namings: Sequence[Naming] = ()
    by_name: bool = False
    pairs: Pairs | None = None
    exclude_from: str = "both"
    of_rows: Mapping[str, tuple[str, Sequence[Any]]] = MappingProxyType({})
    first_row: int | None = None
    start: int = 0

    @property
    def label_names(self) -> list[Any] | None:
        """Names of labels by number, if they have any."""
        return self.namings[0].label_names

    @property
    def row_names(self) -> list[Any] | None:
        """Names of rows in order, if they have any."""
        return self.namings[0].row_names

    def note(self, notes: Sequence[str]) -> None:
        """Add notes to each report."""
        for naming in self.namings:
            naming.notes += notes


def open_input(argument: str, value: Any, n_labels: int | None = None, name: str = "") -> Opened:
    """Return the files that an argument stands for, or its value."""
    if isinstance(value, Opened):
        return value
    if is_file(value):
        return find_scan(argument, value)
    return OpenedValue(name or argument, kind_of(argument), argument, value=value, n_labels=n_labels)


class _Inputs(NamedTuple):
    """What is given for each argument that has a row for each instance, before it is matched.

    Predicted sets may stand in the truth's own file, which is then both.
    """

    truth: Opened
    models: Sequence[Opened]
    sets: Mapping[str, Opened]

    @property
    def predictions(self) -> list[Opened]:
        """Predicted sets, and the scores of models."""
        y_pred = self.sets.get("y_pred")
        return [*self.models] if y_pred is None else [y_pred, *self.models]

    @property
    def in_truth_file(self) -> bool:
        """Whether predictions stand in the file of the truth."""
        return self.sets.get("y_pred") is self.truth

    @property
    def are_values(self) -> bool:
        """Whether none of them is a file."""
        return all(isinstance(each, OpenedValue) for each in (self.truth, *self.models, *self.sets.values()))

    @property
    def have_names(self) -> bool:
        """Whether rows or labels of the truth or of predictions have names."""
        return self.truth.named or any(model.named for model in self.predictions)

    @property
    def share_restrictions(self) -> bool:
        """Whether several models share sets whose unknown labels each of them numbers in its own way."""
        return len(self.models) > 1 and not self.sets.keys().isdisjoint(RESTRICTIONS)


def match_inputs(
    request: Request, inputs: Mapping[str, Sequence[Opened]], labels: list[Any] | None, fits: bool
) -> Matched:
    """Return the rows of all inputs, by names of rows and labels where they have any."""
    pairs, given = _with_excluded(request, _given(inputs, fits))
    if given.are_values and not given.share_restrictions:
        matched = _match_values(request, given, labels, fits)
    elif given.in_truth_file or given.have_names:
        names = None if labels is None else [*map(str, labels)]  # as in files
        matched = _FileMatch(request, given, names, fits).matched()
    else:
        matched = _match_by_number(request, given, labels)
    if given.truth.kind == "grades":
        _note_swapped(matched)
    return matched._replace(pairs=pairs, exclude_from=request.data.exclude_from)


def _given(inputs: Mapping[str, Sequence[Opened]], fits: bool) -> _Inputs:
    """Return what is given, with a truth that holds predictions, too, as predicted sets."""
    (truth,), models = inputs["y_true"], inputs["y_score"]
    sets = {name: inputs[name][0] for name in ("y_pred", "candidates") if name in inputs}
    is_alone = not models and "y_pred" not in sets and not fits
    if is_alone and isinstance(truth, OpenedFiles) and truth.holds_both:
        sets["y_pred"] = truth
    return _Inputs(truth, models, sets)


def _with_excluded(request: Request, given: _Inputs) -> tuple[Pairs | None, _Inputs]:
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


def _note_swapped(matched: Matched) -> None:
    """Note where grades of the truth look like scores, and scores like grades."""
    if not matched.scores:
        return
    grades = first_rows(*matched.truth)
    for (name, pieces), naming in zip(matched.scores, matched.namings, strict=True):
        naming.notes += swapped_notes(matched.truth[0], grades, name, first_rows(name, pieces))


def _match_by_number(request: Request, given: _Inputs, labels: list[str] | None) -> Matched:
    """Return the rows of inputs without names, which are in one order and number labels alike."""
    for model in given.predictions:
        model.refuse_other_order(given.truth)
    truth, sets, true_pieces = given.truth, dict(given.sets), given.truth.pieces()
    candidates = sets.get("candidates")
    if isinstance(candidates, OpenedValue):
        width = true_pieces.n_labels or request.question.n_labels or len(labels or ())
        sets["candidates"] = candidates.as_candidates(width)
    matched = Matched(
        (truth.name, true_pieces),
        [(model.name, model.pieces()) for model in given.models],
        {argument: (opened.name, opened.pieces()) for argument, opened in sets.items()},
        [Naming(labels) for _ in given.models or [truth]],
    )
    for place, naming in enumerate(matched.namings):
        naming.notes += _notes_on_numbers([truth, *given.models[place : place + 1], *sets.values()])
        naming.notes += missing_names_note(labels or ())
    return matched


def _notes_on_numbers(inputs: Sequence[Opened]) -> list[str]:
    """Return what was seen in inputs that were read by number, of values in memory first."""
    notes = [note for opened in inputs if isinstance(opened, OpenedValue) for note in opened.notes]
    for opened in inputs:
        if not isinstance(opened, OpenedValue):
            notes += Origin(notes=[*opened.pieces().notes]).noted(opened.name)
    return notes


def _match_values(request: Request, given: _Inputs, labels: list[Any] | None, fits: bool) -> Matched:
    """Return the rows of inputs of which none is a file, each model matched with the truth alone."""
    question = request.question
    rules = Rules(
        question.n_labels,
        labels,
        graded=None if fits else given.truth.kind == "grades",
        fits=fits,
        nodes=() if fits else nodes_of(question.hierarchy),
    )
    shared, scores, namings = dict[str, Named](), list[Named](), list[Naming]()
    models: Sequence[Opened | None] = given.models or [None]
    for model in models:
        with renaming("y_score", "y_score" if model is None else model.name):
            of_model = match_values(_values_with(given, model), rules)
        if not shared:
            shared = _pieces_of_sets(given, of_model)
        if model is not None:
            rows = _pieces_of_value("y_score", of_model.values["y_score"], model.kind, of_model.n_labels)
            scores.append((model.name, rows))
        namings.append(_naming_of_values(request, of_model, fits))
    by_name = namings[-1].label_names is not None or bool(namings[-1].unknown)
    return Matched(shared.pop("y_true"), scores, shared, namings, by_name)


def _values_with(given: _Inputs, model: Opened | None) -> dict[str, OpenedValue]:
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


def _pieces_of_sets(given: _Inputs, matched: MatchedValues) -> dict[str, Named]:
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


def _naming_of_values(request: Request, matched: MatchedValues, fits: bool) -> Naming:
    """Return the names of a report on values, with notes on all that was seen."""
    naming, question = matched.naming, request.question
    notes = [*naming.notes, *_unmatched_pairs(request.data.exclude_from, naming.n_unmatched_pairs)]
    if naming.has_unread_grades and not fits and _read_grades(expand_metrics(question.metrics, question.k)):
        notes.append(unread_grades("y_true"))
    return replace(naming, row_names=naming.names_of_rows, notes=notes)


def _read_grades(asked: Sequence[tuple[Spec, bool]]) -> bool:
    """Tell whether any measure would read grades of the truth."""
    return any(spec.metric.by_row for spec, _ in asked)


def _unmatched_pairs(exclude_from: str, n_pairs: int) -> list[Note]:
    """Return a note on pairs to exclude whose row or label is in no other input, if there are any."""
    return [Note("exclude", PAIRS[exclude_from == "both"], 0, n_pairs)] if n_pairs else []


class NamedTruth(NamedTuple):
    """A truth with names: its rows, what matches predictions with it, and whether it has grades above 1."""

    pieces: Pieces
    match: Match
    has_grades: bool


def _naming_of(match: Match) -> Naming:
    """Return what a match settled, but for the names of labels, which all models share."""
    return Naming(
        closed=match.closed,
        row_names=match.keys,
        by_key=match.by == BY_KEY,
        unknown=match.unknown_names,
        notes=match.notes,
    )


def read_truth(
    truth: Opened, labels: list[str] | None, predictions: Sequence[Opened] = (), fits: bool = False
) -> NamedTruth:
    """Return a truth with names.

    ``labels`` may also name the columns of a truth without names. ``fits`` is that of `Match`.
    """
    columns = truth.columns_beside_files if isinstance(truth, OpenedValue) else None
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


class _FileMatch:
    """The match of files, and of values beside them, of which some have names.

    shared : notes of all reports
    sets : sets of labels beside the truth
    """

    def __init__(self, request: Request, given: _Inputs, labels: list[str] | None, fits: bool) -> None:
        self.request, self.given, self.fits = request, given, fits
        question = request.question
        self.asked = [] if fits else expand_metrics(question.metrics, question.k)
        self.truth = read_truth(given.truth, labels, given.predictions, fits)
        self.match = self.truth.match
        if not fits:
            self.match.add_nodes(nodes_of(question.hierarchy))
        self.shared = notes_of(given.truth.name, self.match.origin)
        self.sets = dict[str, Named]()

    def matched(self) -> Matched:
        """Return the rows of all inputs by name."""
        self._note_truth()
        self._place_restrictions()
        scores, namings = list[Named](), list[Naming]()
        for model in self.given.predictions:
            placed = self._place(model)
            if placed.ranks:
                scores.append((model.name, score_pieces(placed.rows, placed.match)))
                namings.append(_naming_of(placed.match))
        namings = namings or [_naming_of(self.match)]
        label_names = self.match.label_names or None
        for naming in namings:
            missing = missing_names_note(self.match.number or (), naming.unknown)
            naming.label_names = label_names
            naming.notes = [*self.shared, *naming.notes, *missing]
        return Matched((self.given.truth.name, self.truth.pieces), scores, self.sets, namings, by_name=True)

    def _note_truth(self) -> None:
        """Note grades that nothing reads, and say where a table may hold predictions, too."""
        truth = self.given.truth
        if self.truth.has_grades and truth.kind != "grades" and _read_grades(self.asked):
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
        pairs = _unmatched_pairs(self.request.data.exclude_from, self.match.n_unmatched_pairs)
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
        plain = model.rows_beside_files if isinstance(model, OpenedValue) else None
        columns = model.columns_beside_files if isinstance(model, OpenedValue) else None
        if plain is None or columns is None or not (plain.named and columns.are_columns):
            return prediction_batches(model, self.match.origin)
        id_column = None if columns.origin is None else columns.origin.id_column
        if id_column is not None:
            match.notes.append(f"{model.name}: rows are matched by column {shown(id_column)}")
        rows = columns.part(0, columns.n_rows)._replace(keys=plain.keys, match=plain.match)
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


def label_counts_of(
    rows: Matched, resources: Resources, labels: list[str] | None, n_labels: int | None
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
    for place, naming in enumerate(rows.namings):
        scores = rows.scores[place : place + 1]
        n_own = common_label_count([*sized, *scores])
        if is_told(n_given, rows, scores):
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
                naming.notes.append(f"{name}: evaluated with {use.n_labels} labels; {beyond}")
                n_own = use.n_labels
        if "y_pred" in rows.sets:
            use.read(rows.sets["y_pred"][1], resources.lone_piece)
        if scores or "y_pred" in rows.sets:
            naming.notes += unused_notes(rows.truth[0], n_own, use.count())
        label_counts.append(n_own)
    return label_counts


def is_told(n_given: int | None, rows: Matched, scores: Sequence[Named]) -> bool:
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


def first_rows(name: str, pieces: Pieces) -> Any:
    """Return the first rows of an input, None where it has none."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        n = reader.ready()
        return reader.take(n) if n else None


def have_scores(name: str, pieces: Pieces) -> bool:
    """Tell whether labels of predictions come with scores, from the first rows that list any."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        scored = (has_scores(reader.take(n)) for n in iter(reader.ready, 0))
        return next((each for each in scored if each is not None), True)
