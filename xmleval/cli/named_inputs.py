"""Inputs and rules whose rows and labels have names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xmleval.budget import PIECE_BYTES, Allowance, Budget
from xmleval.cli.counting import Inputs, count_rows_of, count_training
from xmleval.cli.messages import tell, tell_notes
from xmleval.cli.options import fields_of
from xmleval.input.formats.documents import Fields
from xmleval.input.lines import shown
from xmleval.input.match import Batches, Match, listed_scores
from xmleval.input.names import score_pieces, set_pieces
from xmleval.input.pieces import Pieces
from xmleval.input.rows import FileNotes, Rows, missing_names_note
from xmleval.input.shards import Input, with_fields
from xmleval.input.small_texts import load_names
from xmleval.message import counted
from xmleval.notes import Note
from xmleval.numerals import whole_number
from xmleval.records import Ints
from xmleval.spec import expand_metrics
from xmleval.thresholds import Rule


class NamedTruth(NamedTuple):
    """A truth whose rows and labels have names: its rows, and what matches predictions with it.

    ``facts`` are those of its file; ``has_grades`` tells that it has grades above 1.
    """

    pieces: Pieces
    match: Match
    facts: FileNotes
    has_grades: bool


def read_truth(
    truth: Input,
    labels: list[str] | None,
    why: str,
    predictions: Sequence[Input] = (),
    fits: bool = False,
) -> NamedTruth:
    """Read a truth with names; ``why`` it must have them is told of others, unless predictions have names.

    ``labels`` may also name the columns of a truth without names. ``fits`` is that of `Match`.
    """
    match = Match(truth.name, labels or (), listed=labels is not None, fits=fits)
    if labels is not None and _is_numbered(truth, labels):
        pieces = truth.pieces()
        if pieces.n_labels not in (None, len(labels)):
            counts = f"{counted(pieces.n_labels or 0, 'labels')}; --labels names {len(labels)}"
            raise ValueError(f"{truth.name}: {counts}")
        pieces = replace(pieces, n_labels=len(labels))
        match.n_rows = count_rows_of(truth.name, pieces)
        return NamedTruth(pieces, match, FileNotes(), False)
    placed = match.place("y_true", truth.name, _truth_batches(truth, why, predictions), truth.allowance)
    pieces = set_pieces(placed, match, truth.kind == "grades")
    return NamedTruth(pieces, match, placed.origin, placed.most_value > 1)


def _truth_batches(truth: Input, why: str, predictions: Sequence[Input] = ()) -> Batches:
    if (batches := _batches(truth, "truth")) is not None:
        return batches
    named = next((given.name for given in predictions if given.named), None)
    why = why if named is None else f"predictions have names ({named})"
    hint = "; of names on each line, --input-format lines" if ".txt" in truth.name else ""
    if not truth.named:
        hint += ", or --labels with the names of its columns"
    raise ValueError(f"{truth.name}: {why}; expected one file of relevant labels with names{hint}")


def _batches(given: Input, kind: str) -> Batches | None:
    """Return what reads one file with names that may hold a truth, or scores; None of others."""
    path, known = given.shards[0]
    if len(given.shards) > 1 or known.rows is None or kind not in known.holds:
        return None
    return partial(known.rows, path, given.kind if kind == "truth" else kind, given.allowance)


def _is_numbered(truth: Input, labels: list[str]) -> bool:
    """Tell whether the labels of a truth are numbers of listed names, and not names themselves."""
    return not truth.named and (
        truth.shards[0].format.rows is None or all(whole_number(name) is None for name in labels)
    )


def prediction_batches(given: Input, facts: FileNotes | None = None, fields: Fields | None = None) -> Batches:
    """Return what reads predictions whose rows and labels have names, next to a truth with these facts."""
    if facts is not None and facts.judged_by is not None and fields is not None:
        (given,) = with_fields(fields._replace(score_of_truth=True), given)
    if (batches := _batches(given, "scores")) is None:
        raise ValueError(f"{given.name}: expected one file of predictions with names")
    return batches


def read_predictions(given: Input) -> Rows:
    """Read predictions whose rows and labels have names, by their own names alone."""
    match = Match(given.name, ())
    rows = match.place("y_true", given.name, prediction_batches(given), given.allowance).rows()
    return rows._replace(keys=match.keys, match=match.by, names=match.names, origin=match.origin)


def read_like(truth: Input, scores: Sequence[Input]) -> tuple[Match, list[tuple[Rows, list[str]]]]:
    """Read a truth, and predictions in line with it with the names of their labels; tell what is seen."""
    named, models = read_truth(truth, None, "has names", scores), list[tuple[Rows, list[str]]]()
    tell_notes(_notes(truth.name, named.facts.notes))
    for predictions in scores:
        batches, match = prediction_batches(predictions, named.facts), named.match.fork()
        placed = match.place("y_score", predictions.name, batches, predictions.allowance)
        tell_notes([*_notes(predictions.name, placed.origin.notes), *match.notes])
        models.append((placed.rows(), match.names))
    return named.match, models


def _candidate_batches(given: Input) -> Batches:
    """Return what reads candidates of rows: predictions, or relevant labels with names."""
    if (batches := _batches(given, "scores")) is None:
        return _truth_batches(given, "has no names, which TRUTH has")
    return lambda: (rows._replace(values=None) for rows in batches())


def holds_both(truth: Input) -> bool:
    """Tell whether a file of relevant labels also has predictions."""
    path, known = truth.shards[0]
    return len(truth.shards) == 1 and known.holds_both(path, truth.allowance)


def named_rows(
    truth: Input,
    scores_files: list[Input],
    sets_file: Input | None,
    in_truth_file: bool,
    options: dict[str, Any],
    candidates_file: Input | None = None,
) -> Inputs:
    """Return the rows of a truth, of SCORES and of a file of predicted sets, by name.

    ``in_truth_file`` tells that the sets stand in that of the truth; the option ``fits`` that something is
    fitted to them.
    """
    labels = None if options["labels"] is None else load_names(options["labels"], truth.allowance)
    predictions = [*scores_files, *([] if sets_file is None else [sets_file])]
    named = read_truth(truth, labels, "has names", predictions, bool(options.get("fits")))
    fields, match = fields_of(options, joined=True), named.match
    pred, shared = None, _notes(truth.name, named.facts.notes)
    if named.has_grades and truth.kind != "grades" and "gains" in options:  # what it could be read with
        asked = expand_metrics(options["metrics"], options["k"])
        unread = f"{truth.name}: grades above 1 count as 1, unless --gains is given"
        shared += [unread] * any(spec.metric.graded for spec, _ in asked)
    scores, matches, notes = list[tuple[str, Pieces]](), list[Match](), list[list[str]]()
    candidates: list[tuple[str, Pieces]] = []
    if candidates_file is not None:
        batches, allowance = _candidate_batches(candidates_file), candidates_file.allowance
        placed = match.place("candidates", candidates_file.name, batches, allowance)
        candidates = [(candidates_file.name, set_pieces(placed, match))]
        shared += match.notes
        match.notes = []
    # unknown labels of candidates and of sets are those of all
    for file in [*predictions[len(scores_files) :], *scores_files]:
        is_sets = file is sets_file
        model = match if is_sets else match.fork()
        role, batches = "y_pred" if is_sets else "y_score", prediction_batches(file, named.facts, fields)
        placed = model.place(role, file.name, batches, file.allowance)
        if is_sets:
            _refuse_other_use(file.name, not placed.scored, in_truth_file, options)
        is_ranked = not is_sets or (in_truth_file and (options["ranked"] or placed.scored))
        is_set = is_sets and not placed.scored and options["decision"] is None
        how = " and ".join([*["as sets"] * is_set, *["best first"] * is_ranked])
        hint = " (--ranked: also best first)" if in_truth_file and not is_ranked else ""
        taken = [] if placed.scored else [f"no scores, taken {how}{hint}"]
        notes_of_file = _notes(file.name, [*placed.origin.notes, *taken])
        if match.fits:
            model.know_all()
        notes_of_file += model.notes
        model.notes = []
        if is_set:
            pred = file.name, set_pieces(placed, model)
        if is_ranked:
            scores.append((file.name, score_pieces(placed, model)))
            matches.append(model)
            notes.append(notes_of_file)
        else:  # those of sets
            shared += notes_of_file
    matches = matches or [match]
    all_notes = tuple(
        [*shared, *notes_of_model, *missing_names_note(model.number or (), model.unknown)]
        for notes_of_model, model in zip(notes or [[]], matches, strict=True)
    )
    return Inputs(
        (truth.name, named.pieces),
        scores,
        pred,
        label_names=matches[0].label_names,
        row_names=match.keys,
        notes=all_notes,
        candidates=candidates,
        unknown_labels=tuple([*model.unknown] for model in matches),
        keyed=match.keys is not None,
    )


def _notes(name: str, told: Sequence[str]) -> list[str]:
    return [f"{name}: {', '.join(told)}"] if told else []


def _refuse_other_use(name: str, unscored: bool, in_truth_file: bool, options: dict[str, Any]) -> None:
    """Refuse predictions that are not what the options take them for."""
    if not in_truth_file and not unscored:
        raise ValueError(f"{name}: its labels have scores; expected sets, or SCORES with --decision")
    if in_truth_file and options["ranked"] and not unscored:
        raise ValueError(f"{name}: its labels have scores, which rank them; --ranked is for labels without")
    if in_truth_file and not options["ranked"] and unscored:
        asked = expand_metrics(options["metrics"], options["k"])
        needing = [str(spec) for spec, explicit in asked if explicit and "scores" in spec.needs]
        if options["decision"] is not None:
            needing.append("--decision")
        if needing:
            what = f"{needing[0]} needs a ranking, and its labels have no scores"
            raise ValueError(f"{name}: {what}; expected --ranked if they stand best first")


def read_numbered_truth(given: Input) -> tuple[Rows, list[str]]:
    """Read relevant labels with names by number, and their names; tell how they are numbered."""
    named = read_truth(given, None, "has names")
    order = "rows and labels are numbered in the order in which it names them first"
    tell(given.name, ", ".join([*named.facts.notes, order]))
    return next(named.pieces.read(sys.maxsize)), named.match.label_names


def count_named_training(
    train: Input, label_names: list[str], labels: list[str] | None, notes: Sequence[list[str]]
) -> tuple[Ints, int]:
    """Return how many training rows have each label, and how many rows there are.

    ``labels`` are the names of the columns of training labels without names, if they are known. What is seen
    is added to ``notes``, a list for each report.
    """
    is_numbered = labels is not None and _is_numbered(train, labels)
    truth = read_truth(train, labels if is_numbered else None, "has no names, which TRUTH has")
    names = truth.match.label_names
    width = max(1, len(names))  # as where no row has a label
    per_label, n_rows = count_training(train.name, truth.pieces, width, PIECE_BYTES, train.allowance)
    count_of = dict(zip(names, per_label.tolist(), strict=False))
    n_ignored = len(count_of.keys() - {*label_names})
    ignored = [Note(train.name, "ignored labels", n_ignored)] * (n_ignored > 0)
    for own_notes in notes:
        own_notes += [*_notes(train.name, truth.facts.notes), *ignored]
    return np.array([count_of.get(name, 0) for name in label_names], np.int64), n_rows


def training_counts(
    options: dict[str, Any],
    train: Input | None,
    rows: Inputs,
    widths: list[int],
    budget: Budget,
    allowance: Allowance,
) -> tuple[list[Any] | None, int]:
    """Return how many training rows have each label, for each report, and how many rows there are."""
    if train is None:
        return None, 0
    if rows.label_names is not None:
        listed = None if options["labels"] is None else rows.label_names
        counts, n_rows = count_named_training(train, rows.label_names, listed, rows.notes)
        return [counts] * len(widths), n_rows
    if train.named:
        raise ValueError(f"{train.name}: has names, which {rows.truth[0]} has not")
    pieces, n_bytes = train.pieces(), budget.lone_piece
    by_width = {width: count_training(train.name, pieces, width, n_bytes, allowance) for width in {*widths}}
    return [by_width[width][0] for width in widths], by_width[widths[0]][1]


def rule_for(rule: Rule, path: Path, label_names: list[str] | None, notes: Sequence[list[str]]) -> Rule:
    """Return a saved rule for labels by number, or as it is without their names.

    What is seen is added to ``notes``, a list for each report.
    """
    if label_names is None:
        if rule.by_name:
            raise ValueError(f"{path}: knows labels by name; expected inputs with names of labels")
        return rule
    try:
        found = replace(rule.for_labels(label_names), label_names=None)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if rule.by_name and (n_unknown := len({*label_names}.difference(rule.label_names or ()))):
        for own_notes in notes:
            own_notes.append(Note(str(path), "labels unknown in fitting", n_unknown))
    return found


def read_scores_alone(
    given: Input, label_names: list[str] | None, named_by: Path | None = None
) -> tuple[Rows, list[str], list[str]]:
    """Read scores with names, and the names of its rows and labels.

    Rows are in the order in which they appear first. Labels are those that ``named_by`` names, or the file.
    """
    match = Match(given.name, label_names or ())
    placed = match.place("y_true", given.name, prediction_batches(given), given.allowance)
    names = match.label_names
    if match.unknown:
        raise ValueError(
            f"{given.name}: label {shown(next(iter(match.unknown)))} is not one of the {len(names)} of "
            f"{named_by}; expected --labels with the names of all"
        )
    return listed_scores(placed.rows(), names), [*match.row_names], names
