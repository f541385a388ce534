"""The inputs of an evaluation, files or values, with rows and labels matched by name or by number."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.budget import PIECE_BYTES, Resources, memory_limit
from xmleval.base.errors import InputError, Keyword, Message, ScanField, counted, renaming, shown
from xmleval.base.notes import Note
from xmleval.base.numerals import whole_number
from xmleval.evaluation.request import Request
from xmleval.files.remote import as_path, is_file
from xmleval.input.columns import is_other_order
from xmleval.input.csr import check_shape
from xmleval.input.door import PAIRS, RESTRICTIONS, IdPairs, make_door, pairs_of_rows
from xmleval.input.glances import swapped_notes, unread_grades
from xmleval.input.match import (
    Batches,
    Match,
    as_scores,
    as_sets,
    refuse_scores,
    score_pieces,
    set_pieces,
)
from xmleval.input.objects.named import as_own_rows, rows_of_ids
from xmleval.input.objects.take import as_rows, read_named, take
from xmleval.input.pieces import LabelUse, Pieces, RowReader, whole
from xmleval.input.rows import BY_KEY, Origin, Rows, missing_names_note, rows_by_id
from xmleval.input.scores import by_number, has_scores, is_pair, list_rows, refuse_padding
from xmleval.input.sets import set_rows
from xmleval.input.shards import Input, beside_judgements, find_scan, kind_of
from xmleval.input.small_texts import Pairs, read_pairs
from xmleval.input.tensors import is_sparse, shape_of
from xmleval.labels.hierarchy import nodes_of
from xmleval.metrics.spec import expand_metrics

Named = tuple[str, Pieces]  # an input, and the name that messages call it by
LOG = logging.getLogger("xmleval.evaluation")
NAMELESS = "has no names, which ", Keyword("y_true"), " has"
FIRST_BYTES = 1 << 16  # read to tell what the values of a file are
MARKED_SHARE = 8  # one byte in so many of memory marks a label that occurs
COUNT_BYTES = 16  # of a label, once its counts are added up


class Inputs(NamedTuple):
    """Inputs whose rows belong together, with the names that messages call them by.

    ``matches`` have, for each report, the names of its labels, unknown ones, and notes; ``by_name`` tells
    that rows or labels are matched by name. ``sets`` are sets of labels beside the truth, ``of_rows`` a name
    and an entry for each row, by argument. ``pairs`` are excluded from what ``exclude_from`` tells.
    ``first_row`` is the number of the first row in the whole data of many files, ``start`` in these.
    """

    truth: Named
    scores: list[Named]
    sets: dict[str, Named]
    matches: Sequence[Match] = ()
    by_name: bool = False
    pairs: Pairs | None = None
    exclude_from: str = "both"
    of_rows: Mapping[str, tuple[str, Sequence[Any]]] = MappingProxyType({})
    first_row: int | None = None
    start: int = 0

    @property
    def label_names(self) -> list[Any] | None:
        """Names of labels by number, if they have any."""
        return self.matches[0].label_names or None

    def note(self, notes: Sequence[str]) -> None:
        """Add notes to each report."""
        for match in self.matches:
            match.notes += notes

    def arguments_of(self, start: int, stop: int) -> dict[str, Any]:
        """Return the arguments of rows start..stop-1 that no reader has."""
        arguments: dict[str, Any] = {name: values[start:stop] for name, (_, values) in self.of_rows.items()}
        if self.first_row is not None:
            arguments["first_row"] = self.first_row + start
        if self.pairs is not None:
            arguments["exclude"] = pairs_of_rows(self.pairs.rows, self.pairs.labels, start, stop)
        if self.exclude_from != "both":
            arguments["exclude_from"] = self.exclude_from
        return arguments


@dataclass(frozen=True)
class Held(Input):
    """An argument in memory, in the place of files; errors about it name it."""

    value: Any = None
    n_labels: int | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def read(self) -> Rows | None:
        """Its rows or columns where these have names, of label sets those that are in them."""
        with renaming(self.argument, self.name):
            rows = read_named(self.argument, as_own_rows(self.argument, self.value), None)
            if rows is None or self.argument == "y_score" or self.kind == "grades":
                return rows
            if not rows.are_columns:
                refuse_scores(self.argument, rows, None)
                return rows
            relevant = set_rows(self.argument, rows).block(0, rows.n_rows)
        return rows._replace(ptr=relevant.ptr, labels=relevant.labels, values=None)

    @cached_property
    def rows(self) -> Rows | None:
        """Its rows where rows or labels have names."""
        with renaming("y_score", self.name):
            rows = None if self.read is None else as_rows(self.read)
        if rows is None or (rows.keys is None and not rows.named):
            return None
        return rows if self.argument == "y_score" else rows._replace(best_first=False)

    @property
    def named(self) -> bool:
        """Whether names of rows or labels are in it."""
        return self.rows is not None

    def pieces(self) -> Pieces:
        """Return its rows by number."""
        value, n_labels = as_own_rows(self.argument, self.value), self.n_labels
        with renaming(self.argument, self.name):
            if self.read is not None and self.read.are_columns:
                match = Match("y_true", None)
                match.n_labels = len(self.read.names or ())
                rows, n_labels = match.place_rows(self.argument, self.name, self.read), match.n_labels
                self.notes[:] = match.notes
            elif isinstance(value, list) and n_labels is not None:
                rows = rows_of_ids(self.argument, value)
            elif self.read is not None:
                if self.argument == "y_true" and n_labels is None:
                    which = Keyword("n_labels"), ", their number, or ", Keyword("labels"), ", their names"
                    message = Message("does not tell what labels there are; give ", *which)
                    raise InputError(self.argument, message)
                is_scores = self.kind == "scores"
                rows = as_scores(self.read, None) if is_scores else as_sets(self.read, self.kind == "grades")
                rows = rows._replace(keys=None, match=None, names=None)
            else:
                if self.kind == "scores" and is_sparse(value):
                    refuse_padding(self.argument, value)
                width, shape = n_labels if is_pair(value) else None, shape_of(value)
                rows, n_labels = by_number(self.argument, value, width), shape[1] if shape else None
            if not isinstance(rows, Rows):
                return whole(rows, check_shape(self.argument, rows.shape, None)[1])
        return whole(rows if self.kind == "scores" else rows._replace(best_first=False), n_labels)


def open_input(argument: str, value: Any, n_labels: int | None = None, name: str = "") -> Input:
    """Return the files that an argument stands for, or what holds a value in their place."""
    if isinstance(value, Input):
        return value
    if is_file(value):
        return find_scan(argument, value)
    return hold_value(name or argument, kind_of(argument), argument, value, n_labels)


def hold_value(name: str, kind: str, argument: str, value: Any, n_labels: int | None) -> Held:
    """Return a value in the place of files."""
    return Held(name, kind, shards=[], argument=argument, value=value, n_labels=n_labels)


def open_rows(
    request: Request,
    inputs: Mapping[str, Sequence[Input]],
    labels: list[str] | None,
    fits: bool,
) -> Inputs:
    """Return the rows of all inputs, by names of rows and labels where they have any."""
    (truth,), models = inputs["y_true"], inputs["y_score"]
    sets = {name: inputs[name][0] for name in ("y_pred", "candidates") if name in inputs}
    predictions = [*inputs.get("y_pred", ()), *models]
    shards = [] if predictions or fits else truth.shards
    in_truth_file = bool(shards) and shards[0].format.holds_both(shards[0].path)
    exclude, exclude_from = request.data.exclude, request.data.exclude_from
    if exclude is not None or exclude_from != "both":
        exclude = _exclude_of(exclude, exclude_from, request.question.n_labels)
    if isinstance(exclude, Held):
        sets = {**sets, "exclude": exclude}
    # several models share sets, which may name labels that each of them numbers in its own way
    share_sets = len(models) > 1 and not sets.keys().isdisjoint(RESTRICTIONS)
    if not share_sets and all(isinstance(each, Held) for each in (truth, *predictions, *sets.values())):
        rows = _rows_in_memory(request, truth, models, sets, labels, fits)
    elif in_truth_file or truth.named or any(model.named for model in predictions):
        labels = None if labels is None else [*map(str, labels)]  # as in files
        if in_truth_file:
            sets, predictions = {**sets, "y_pred": truth}, [truth]
        rows = _rows_by_name(request, truth, predictions, sets, labels, fits)
    else:
        rows = _rows_by_number(request, truth, predictions, models, sets, labels)
    if models and truth.kind == "grades":
        grades = first_rows(*rows.truth)
        for (name, pieces), match in zip(rows.scores, rows.matches, strict=True):
            match.notes += swapped_notes(truth.name, grades, name, first_rows(name, pieces))
    return rows._replace(pairs=exclude if isinstance(exclude, Pairs) else None, exclude_from=exclude_from)


def _rows_by_number(
    request: Request,
    truth: Input,
    predictions: Sequence[Input],
    models: Sequence[Input],
    sets: Mapping[str, Input],
    labels: list[str] | None,
) -> Inputs:
    """Return the rows of inputs without names, which are in one order and number labels alike."""
    if truth.shards and truth.shards[0].format.name == "arrow":
        for model in predictions:
            _refuse_reordered_files(truth, model)
    true_pieces, candidates = truth.pieces(), sets.get("candidates")
    if isinstance(candidates, Held):
        width = true_pieces.n_labels or request.question.n_labels or len(labels or ())
        sets = {**sets, "candidates": _candidates_by_id(candidates, width)}
    rows = Inputs(
        (truth.name, true_pieces),
        [(model.name, model.pieces()) for model in models],
        {argument: (opened.name, opened.pieces()) for argument, opened in sets.items()},
        [Match(truth.name, labels) for _ in models or [truth]],
    )
    for place, match in enumerate(rows.matches):
        match.notes += _notes_on_numbers([truth, *models[place : place + 1], *sets.values()])
        match.notes += missing_names_note(labels or ())
    return rows


def _notes_on_numbers(inputs: Sequence[Input]) -> list[str]:
    """Return what was seen in inputs that were read by number, of values in memory first."""
    notes = [note for opened in inputs if isinstance(opened, Held) for note in opened.notes]
    for opened in inputs:
        if not isinstance(opened, Held):
            notes += Origin(notes=[*opened.pieces().notes]).noted(opened.name)
    return notes


def _candidates_by_id(candidates: Held, width: int) -> Held:
    """Return an array of label ids, which no matrix of this width is (0 if not known), as rows by id."""
    ids = candidates.value
    if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu":
        return candidates
    if ids.shape[1] == (width or ids.shape[1]) and (ids >= 0).all():
        return candidates
    rows = list_rows("candidates", ids)
    rows = rows.only(rows.labels != -1)._replace(best_first=False)
    return replace(candidates, value=rows, n_labels=width or None)


def _rows_in_memory(
    request: Request,
    truth: Any,
    models: Sequence[Any],
    sets: Mapping[str, Any],
    labels: list[Any] | None,
    fits: bool,
) -> Inputs:
    """Return the rows of inputs of which none is a file, matched as those of arguments."""
    inputs, scores, matches = dict[str, Named](), list[Named](), list[Match]()
    values = {argument: opened.value for argument, opened in sets.items()}
    question = request.question
    exclude_from = request.data.exclude_from if "exclude" in values else "both"
    door = make_door(values.get("exclude"), exclude_from, values.get("candidates"))
    n_labels, graded = question.n_labels, None if fits else truth.kind == "grades"
    asked = [] if fits else expand_metrics(question.metrics, question.k)
    nodes = () if fits else nodes_of(question.hierarchy)
    for model in models or [None]:
        with renaming("y_score", "y_score" if model is None else model.name):
            y_score, y_pred = None if model is None else model.value, values.get("y_pred")
            named = n_labels, labels, graded, fits, nodes
            taken = take(truth.value, y_score, y_pred, *named, **door.sets)
        y_true, y_score, y_pred, *of_door = taken.inputs
        if not inputs:
            opened = door.with_sets(of_door, 0).opened(set_rows("y_true", y_true, taken.n_labels))
            matched = {"y_true": y_true, "y_pred": y_pred}
            for (name, source), value in zip(opened.sets.items(), of_door, strict=True):
                block, label_names = source.block(0, source.n_rows), getattr(value, "names", None)
                matched[name] = rows_by_id(block.ptr, block.labels)._replace(names=label_names)
            names = {"y_true": truth.name} | {name: opened.name for name, opened in sets.items()}
            inputs = {
                name: (names[name], _pieces(name, value, truth.kind, taken.n_labels))
                for name, value in matched.items()
                if value is not None
            }
        if model is not None:
            scores.append((model.name, _pieces("y_score", y_score, model.kind, taken.n_labels)))
        keys = None if taken.row_names == [*range(inputs["y_true"][1].n_rows or 0)] else taken.row_names
        match = Match(truth.name, taken.label_names, keys=keys, by=None if taken.keys is None else BY_KEY)
        match.closed, match.unknown = taken.closed, dict.fromkeys(taken.unknown, 0)
        pairs = _unmatched_pairs(request.data.exclude_from, taken.n_unmatched_pairs)
        grades = taken.grades and any(spec.metric.by_row for spec, _ in asked)
        match.notes = [*taken.notes, *pairs, *[unread_grades("y_true")] * grades]
        matches.append(match)
    by_name = taken.label_names is not None or bool(taken.unknown)
    return Inputs(inputs.pop("y_true"), scores, inputs, matches, by_name)


def _unmatched_pairs(exclude_from: str, n_pairs: int) -> list[Note]:
    """Return a note on pairs to exclude whose row or label is in no other input, if there are any."""
    kind = PAIRS[exclude_from == "both"]
    return [Note("exclude", kind, 0, n_pairs)] * (n_pairs > 0)


def _pieces(argument: str, value: Any, kind: str, n_labels: int | None) -> Pieces:
    """Return rows by number of an argument that `take` returned."""
    if not isinstance(value, Rows):
        return hold_value(argument, kind, argument, value, n_labels).pieces()
    return whole(value if argument == "y_score" else value._replace(best_first=False), n_labels)


def _exclude_of(value: Any, exclude_from: str, n_labels: int | None) -> Held | Pairs:
    """Return labels to exclude as sets, or as pairs by number."""
    sets = make_door(value, exclude_from, None).sets
    if is_file(value):
        return read_pairs(as_path(value))
    value = sets["exclude"]
    ids = value.ids if isinstance(value, IdPairs) else value
    if isinstance(ids, np.ndarray) and ids.ndim == 2 and ids.shape[1] == 2 and ids.dtype.kind in "iu":
        distinct, first = np.unique(ids, axis=0, return_index=True)
        return Pairs(Path("exclude"), distinct[:, 0], distinct[:, 1], first, "pair")
    return hold_value("exclude", "truth", "exclude", value, n_labels)


def read_truth(
    truth: Input, labels: list[str] | None, predictions: Sequence[Input] = (), fits: bool = False
) -> tuple[Pieces, Match, bool]:
    """Return a truth with names, what matches predictions with it, and whether it has grades above 1.

    ``labels`` may also name the columns of a truth without names. ``fits`` is that of `Match`.
    """
    columns = truth.read if isinstance(truth, Held) else None
    names = labels or (columns.names if columns is not None and columns.are_columns else None) or ()
    match = Match(truth.name, names, listed=labels is not None, fits=fits)
    if labels is None or not is_numbered(truth, labels):
        placed = match.place("y_true", truth.name, _truth_batches(truth, predictions))
        return set_pieces(placed, match, truth.kind == "grades"), match, placed.most_value > 1
    pieces = replace(truth.pieces(), n_labels=len(labels))
    common_label_count([(Keyword("labels"), pieces), (truth.name, truth.pieces())])
    with closing(RowReader(truth.name, pieces, PIECE_BYTES)) as reader:
        match.n_rows = reader.count()
    return pieces, match, False


def is_numbered(truth: Input, labels: list[str]) -> bool:
    """Tell whether the labels of a truth are numbers of listed names, and not names themselves."""
    if truth.named or not truth.shards:
        return not truth.named
    form = truth.shards[0].format
    return form.rows is None or form.are_ids or all(whole_number(name) is None for name in labels)


def _batches(opened: Input, kind: str) -> Batches | None:
    """Return what reads one input with names that may hold a truth, or scores; None of others."""
    if isinstance(opened, Held):
        rows = opened.rows
        return None if rows is None else lambda: [rows]
    form = opened.shards[0].format
    is_nameless = form.rows is None or (form.are_ids and not opened.named)
    if form.rows is None or is_nameless or kind not in form.holds:
        return None
    return partial(form.rows, opened.paths, opened.kind if kind == "truth" else kind)


def _truth_batches(truth: Input, predictions: Sequence[Input] = ()) -> Batches:
    """Return what reads relevant labels with names, which they must have if predictions have them."""
    if (batches := _batches(truth, "truth")) is not None:
        return batches
    named = [model.name for model in predictions if model.named]
    reason = [f"predictions have names ({named[0]})"] if named else ["has names"] if truth.named else NAMELESS
    hint = ["; of names on each line, ", ScanField("input_format", "lines")] if ".txt" in truth.name else []
    if not truth.named:
        hint += [", or ", Keyword("labels"), " with the names of its columns"]
    text = "; expected relevant labels with names"
    raise ValueError(Message(f"{truth.name}: ", *reason, text, *hint))


def prediction_batches(opened: Input, facts: Any = None) -> Batches:
    """Return what reads predictions whose rows and labels have names, next to a truth with these facts."""
    if getattr(facts, "judged_by", None) is not None:
        opened = beside_judgements(opened)
    if (batches := _batches(opened, "scores")) is None:
        reason = "" if opened.named else "has no names, and others have; "
        raise ValueError(f"{opened.name}: {reason}expected predictions with names")
    return batches


def _candidate_batches(opened: Input) -> Batches:
    """Return what reads candidates of rows: predictions, or relevant labels with names."""
    if (batches := _batches(opened, "scores")) is None:
        return _truth_batches(opened)
    return lambda: (rows._replace(values=None) for rows in batches())


def notes_of(name: str, facts: Any, *remarks: str) -> list[str]:
    """Return a note on what was settled in reading a file with names, and these remarks."""
    return (facts or Origin()).noted(name, *remarks)


def _rows_by_name(
    request: Request,
    truth: Input,
    predictions: Sequence[Input],
    sets: Mapping[str, Input],
    labels: list[str] | None,
    fits: bool,
) -> Inputs:
    """Return the rows of all inputs by name; predicted sets may stand in the truth's own file."""
    question = request.question
    in_truth_file = sets.get("y_pred") is truth
    pieces, match, has_grades = read_truth(truth, labels, predictions, fits)
    if not fits:
        match.add_nodes(nodes_of(question.hierarchy))
    shared, facts = notes_of(truth.name, match.origin), match.origin
    asked = [] if fits else expand_metrics(question.metrics, question.k)
    if has_grades and truth.kind != "grades" and any(spec.metric.by_row for spec, _ in asked):
        shared.append(unread_grades(truth.name))
    for_fields = truth.shards and truth.shards[0].format.for_fields
    if for_fields and not predictions and any(spec.needs for spec, _ in asked):
        LOG.info(
            "%s: none of its fields is known to hold predicted labels; give it as y_score or y_pred, too, "
            "with the name of the field",
            truth.name,
        )
    rows = Inputs((truth.name, pieces), [], {}, [], by_name=True)
    for argument, batches_of in (("candidates", _candidate_batches), ("exclude", _truth_batches)):
        if (opened := sets.get(argument)) is not None:
            placed = match.place(argument, opened.name, batches_of(opened))
            shared += notes_of(opened.name, placed.origin)
            rows.sets[argument] = opened.name, set_pieces(placed, match)
    shared += [*match.notes, *_unmatched_pairs(request.data.exclude_from, match.n_unmatched_pairs)]
    match.notes, matches = [], list[Match]()
    for opened in predictions:
        is_sets = opened is sets.get("y_pred")
        model = match if is_sets else match.fork()
        batches = prediction_batches(opened, facts)
        plain, columns = (opened.rows, opened.read) if isinstance(opened, Held) else (None, None)
        if plain is not None and plain.named and columns is not None and columns.are_columns:
            columns = columns.part(0, columns.n_rows)._replace(keys=plain.keys, match=plain.match)
            batches = partial(list, [columns])  # which tell what labels there are
            if (id_column := getattr(columns.origin, "id_column", None)) is not None:
                model.notes.append(f"{opened.name}: rows are matched by column {shown(id_column)}")
        placed = model.place("y_pred" if is_sets else "y_score", opened.name, batches)
        if is_sets:
            _refuse_other_use(opened.name, placed.scored, in_truth_file, question.decision, asked)
        ranks = not is_sets or (in_truth_file and placed.scored)
        picks = is_sets and not placed.scored and question.decision is None
        notes = notes_of(opened.name, placed.origin)
        if not placed.scored and opened.shards:
            how = " and ".join([*["as sets"] * picks, *["best first"] * ranks])
            is_hinted = in_truth_file and not ranks
            hint = [" (give it as ", Keyword("y_score"), ", too, for a ranking)"] if is_hinted else []
            notes = notes_of(opened.name, placed.origin, Message(f"no scores, taken {how}", *hint))
        if fits:
            model.know_all()
        model.notes = [*notes, *model.notes]
        if picks:
            rows.sets["y_pred"] = opened.name, set_pieces(placed, model)
        if ranks:
            rows.scores.append((opened.name, score_pieces(placed, model)))
            matches.append(model)
        else:  # notes on sets are those of all
            shared, model.notes = [*shared, *model.notes], []
    for model in matches or [match]:
        model.notes = [*shared, *model.notes, *missing_names_note(model.number or (), model.unknown_names)]
    return rows._replace(matches=matches or [match])


def _refuse_other_use(name: str, scored: bool, in_truth_file: bool, rule: object, asked: Any) -> None:
    """Refuse predictions that are not what the arguments take them for."""
    decision = Keyword("decision")
    if scored and not in_truth_file:
        text = f"{name}: its labels have scores; expected sets, or "
        raise ValueError(Message(text, Keyword("y_score"), " with ", decision))
    if in_truth_file and not scored:
        needing: list[object] = [spec for spec, explicit in asked if explicit and "scores" in spec.needs]
        needing += [decision] * (rule is not None)
        if needing:
            needs = " needs a ranking, and its labels have no scores; if they stand best first, give it as "
            raise ValueError(Message(f"{name}: ", needing[0], needs, Keyword("y_score"), ", too"))


def _refuse_reordered_files(truth: Input, model: Input) -> None:
    """Refuse tables of lists by number of which a column has the values of the truth's in another order."""
    shards = [*truth.shards, *model.shards]
    if not model.shards or any(shard.format.name != "arrow" for shard in shards):
        return
    from xmleval.input.formats.arrow import columns_beside, hash_columns  # only once it is needed

    true_paths, paths = ([shard.path for shard in side.shards] for side in (truth, model))
    columns = [columns_beside(path, side.kind) for side in (truth, model) for path, _ in side.shards]
    if shared := [name for name in columns[0] if all(name in names for names in columns)]:
        expected, hashes = (hash_columns(paths, shared) for paths in (true_paths, paths))
        for column in filter(lambda name: is_other_order(hashes[name], expected[name]), shared):
            text = (
                (f"{model.name}: {shown(column)} has the values of "),
                Keyword("y_true"),
                "'s in another order",
            )
            raise ValueError(Message(*text, "; call it 'instance' in both to join the rows by it"))


def label_counts_of(
    rows: Inputs, resources: Resources, labels: list[str] | None, n_labels: int | None
) -> list[int]:
    """Return the number of labels of each report: without names, what the truth and sets tell.

    Where they do not, each model tells its own, or has the labels of the truth and those that it lists.
    """
    if rows.by_name:
        if rows.label_names is None:
            which = Keyword("labels"), ", the names of all"
            raise ValueError(Message(f"{rows.truth[0]}: no row has a label; give ", *which))
        return [len(rows.label_names)] * len(rows.matches)
    n_given, argument = (len(labels), "labels") if labels else (n_labels, "n_labels")
    sized: list[Any] = [(Keyword(argument), replace(rows.truth[1], n_labels=n_given))]
    sized += [rows.truth, *(named for argument, named in rows.sets.items() if argument != "exclude")]
    common_label_count(sized)
    label_counts = list[int]()
    in_truth: LabelUse | None = None
    for place, match in enumerate(rows.matches):
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
                match.notes.append(f"{name}: evaluated with {use.n_labels} labels; {beyond}")
                n_own = use.n_labels
        if "y_pred" in rows.sets:
            use.read(rows.sets["y_pred"][1], resources.lone_piece)
        if scores or "y_pred" in rows.sets:
            match.notes += unused_notes(rows.truth[0], n_own, use.count())
        label_counts.append(n_own)
    return label_counts


def is_told(n_given: int | None, rows: Inputs, scores: Sequence[Named]) -> bool:
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


def read_scores_alone(opened: Input, label_names: list[str] | None, named_by: object = None) -> Rows:
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
