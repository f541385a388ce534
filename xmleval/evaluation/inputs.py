"""The inputs of an evaluation, files or values, with rows and labels matched by name or by number."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import MOST_LABELS
from xmleval.base.budget import PIECE_BYTES, Resources, memory_limit
from xmleval.base.errors import InputError, Keyword, Message, counted
from xmleval.base.numerals import whole_number
from xmleval.evaluation.settings import Arguments
from xmleval.files.remote import as_path, is_file
from xmleval.input.columns import is_other_order
from xmleval.input.csr import check_shape
from xmleval.input.door import IdPairs, make_door, pairs_of_rows
from xmleval.input.formats.documents import Fields
from xmleval.input.glances import swapped_notes, unread_grades
from xmleval.input.lines import shown
from xmleval.input.match import Batches, Match, listed_scores, score_pieces, set_pieces
from xmleval.input.objects.named import rows_of_ids
from xmleval.input.objects.take import as_rows, read_named
from xmleval.input.pieces import Pieces, RowReader, count_columns, whole
from xmleval.input.rows import Rows, missing_names_note
from xmleval.input.scores import by_number, has_scores, is_pair
from xmleval.input.shards import Input, find_input, with_fields
from xmleval.input.small_texts import Pairs, read_pairs
from xmleval.input.tensors import shape_of
from xmleval.metrics.spec import DEFAULT_K, expand_metrics

Named = tuple[str, Pieces]  # an input, and the name that messages call it by
LOG = logging.getLogger("xmleval.evaluation")
FIRST_BYTES = 1 << 16  # read to tell what the values of a file are
COUNT_BYTES = 16  # of a label, once its counts are added up


class Inputs(NamedTuple):
    """Inputs whose rows belong together, with the names that messages call them by.

    ``label_names`` are those of labels by number, if they have any; ``by_name`` tells that rows or labels of
    the inputs are matched by name, ``row_names`` are then those of the truth, and ``keyed`` tells that they
    tell rows apart from those of other files. ``pairs`` are excluded from what ``exclude_from`` tells;
    ``sets`` are sets of labels beside the truth, by argument. ``notes`` tell what was
    seen, a list for each report, ``unknown_labels`` the names of those of each. ``of_rows`` has, by argument,
    a name and an entry for each row; ``first_row`` is the number of the first row in the whole data of many
    files, and ``start`` in those that messages number rows in.
    """

    truth: Named
    scores: list[Named]
    sets: dict[str, Named]
    notes: tuple[list[str], ...]
    label_names: list[str] | None = None
    by_name: bool = False
    row_names: Sequence[str] | None = None
    keyed: bool = False
    pairs: Pairs | None = None
    exclude_from: str = "both"
    unknown_labels: tuple[list[str], ...] = ()
    of_rows: Mapping[str, tuple[str, Sequence[Any]]] = MappingProxyType({})
    first_row: int | None = None
    start: int = 0

    def excluded(self, start: int, stop: int) -> dict[str, Any]:
        """Return arguments that exclude the pairs of rows start..stop-1, if there are any pairs."""
        if self.pairs is None:
            return {"exclude_from": self.exclude_from} if "exclude" in self.sets else {}
        pairs = pairs_of_rows(self.pairs.rows, self.pairs.labels, start, stop)
        return {"exclude": pairs, "exclude_from": self.exclude_from}

    def readers(
        self, resources: Resources, first: int = 0
    ) -> tuple[RowReader, list[RowReader], dict[str, RowReader]]:
        """Start reading all of them from a row on."""
        inputs = [self.truth, *self.scores, *self.sets.values()]
        n_bytes, n = resources.piece(len(inputs)), 1 + len(self.scores)
        readers = [RowReader(name, pieces, n_bytes, first) for name, pieces in inputs]
        return readers[0], readers[1:n], dict(zip(self.sets, readers[n:], strict=True))


@dataclass(frozen=True)
class Held:
    """An argument in memory, in the place of files; ``named`` tells whether its rows or labels have names."""

    name: str
    argument: str
    value: Any
    kind: str
    n_labels: int | None
    files: tuple[Path, ...] = ()
    shards: tuple[Any, ...] = ()

    @cached_property
    def _rows(self) -> Rows | None:
        rows = read_named(self.argument, self.value, None)
        return None if rows is None else as_rows(rows)

    @property
    def named(self) -> bool:
        """Whether names of rows or labels are in it."""
        return self._rows is not None and (self._rows.keys is not None or self._rows.named)

    def batches(self) -> Batches:
        """Return what gives its rows."""
        rows = self._rows
        assert rows is not None
        return lambda: [rows if self.argument == "y_score" else rows._replace(best_first=False)]

    def pieces(self) -> Pieces:
        """Return its rows by number."""
        n_labels = self.n_labels
        if isinstance(self.value, list) and n_labels is not None:
            rows = rows_of_ids(self.argument, self.value)
        else:
            width = n_labels if is_pair(self.value) else None
            rows, shape = by_number(self.argument, self.value, width), shape_of(self.value)
            n_labels = shape[1] if shape else None
        if not isinstance(rows, Rows):
            return whole(rows, check_shape(self.argument, rows.shape, None)[1])
        return whole(rows if self.kind == "scores" else rows._replace(best_first=False), n_labels)


Opened = Input | Held


def open_input(
    argument: str, value: Any, input_format: str | None = None, n_labels: int | None = None, name: str = ""
) -> Opened:
    """Return the files that an argument stands for, or what holds a value in their place."""
    kind = {"y_score": "scores", "candidates": "candidates"}.get(argument, "truth")
    if isinstance(value, Input):
        return value
    if is_file(value):
        return find_input(as_path(value), kind, input_format)
    return Held(name or argument, argument, value, kind, n_labels)


def open_rows(
    arguments: Arguments,
    fields: Fields,
    truth: Opened,
    models: Sequence[Opened],
    sets: dict[str, Opened],
    labels: list[str] | None,
    fits: bool,
) -> Inputs:
    """Return the rows of all inputs, by names of rows and labels where they have any."""
    pred, among = sets.get("y_pred"), sets.get("candidates")
    predictions = [*([] if pred is None else [pred]), *models]  # unknown labels of sets are those of all
    holds_both = False
    if not (models or fits) and pred is None and isinstance(truth, Input) and len(truth.shards) == 1:
        path, form = truth.shards[0]
        holds_both = form.holds_both(path)
    if arguments.get("ranked") and (models or pred is not None):
        raise InputError("ranked", "is for predictions in the truth's own file")
    named = holds_both or truth.named or (pred is not None and pred.named)
    models_named = {model.named for model in models}
    if not named and len(models_named) > 1:
        by_kind = {model.named: model.name for model in reversed(models)}
        text = f"{by_kind[True]}: its labels have names, those of {by_kind[False]} are numbers"
        raise ValueError(f"{text}; expected all by name or by number")
    named = named or True in models_named
    if among is not None and named != among.named:
        which, unnamed = (among, truth) if among.named else (truth, among)
        text = f"{which.name}: has names, and {unnamed.name} has none"
        raise ValueError(f"{text}; expected both by name or number")
    exclude, pairs = _exclude_of(arguments)
    if exclude is not None:
        sets = {**sets, "exclude": exclude}
    if named:
        if holds_both:
            sets, predictions = {**sets, "y_pred": truth}, [truth]
        rows = _named_rows(arguments, fields, truth, predictions, sets, holds_both, labels, fits)
    else:
        for model in predictions:
            _refuse_reordered_files(truth, model)
        first = truth.name, truth.pieces()
        by_number = {argument: (opened.name, opened.pieces()) for argument, opened in sets.items()}
        scores = [(model.name, model.pieces()) for model in models]
        rows = Inputs(first, scores, by_number, tuple([list[str]() for _ in models or [truth]]), labels)
    if models and truth.kind == "grades":
        grades = first_rows(*rows.truth)
        for (name, pieces), own_notes in zip(rows.scores[: len(models)], rows.notes, strict=True):
            own_notes += swapped_notes(truth.name, grades, name, first_rows(name, pieces))
    return rows._replace(pairs=pairs, exclude_from=arguments.get("exclude_from", "both"))


def _exclude_of(arguments: Arguments) -> tuple[Held | None, Pairs | None]:
    """Return sets of labels to exclude, or pairs by number, of which there may be a file."""
    exclude: Any = arguments.get("exclude")
    sets = make_door(exclude, arguments.get("exclude_from", "both"), None).sets
    if exclude is None:
        return None, None
    if is_file(exclude):
        return None, read_pairs(as_path(exclude))
    value = sets["exclude"]
    ids = value.ids if isinstance(value, IdPairs) else value
    if isinstance(ids, np.ndarray) and ids.ndim == 2 and ids.shape[1] == 2 and ids.dtype.kind in "iu":
        distinct, first = np.unique(ids, axis=0, return_index=True)
        return None, Pairs(Path("exclude"), distinct[:, 0], distinct[:, 1], first)
    return Held("exclude", "exclude", value, "truth", arguments.get("n_labels")), None


class NamedTruth(NamedTuple):
    """A truth whose rows and labels have names: its rows, and what matches predictions with it.

    ``facts`` are those of its file; ``has_grades`` tells that it has grades above 1.
    """

    pieces: Pieces
    match: Match
    facts: Any
    has_grades: bool


def read_truth(
    truth: Opened,
    labels: list[str] | None,
    why: Message,
    predictions: Sequence[Opened] = (),
    fits: bool = False,
) -> NamedTruth:
    """Read a truth with names; ``why`` it must have them is told of others, unless predictions have names.

    ``labels`` may also name the columns of a truth without names. ``fits`` is that of `Match`.
    """
    match = Match(truth.name, labels or (), listed=labels is not None, fits=fits)
    if labels is not None and is_numbered(truth, labels):
        pieces = truth.pieces()
        if pieces.n_labels not in (None, len(labels)):
            text = f"{truth.name}: {counted(pieces.n_labels or 0, 'labels')}; "
            raise ValueError(Message(text, Keyword("labels"), f" names {len(labels)}"))
        pieces = replace(pieces, n_labels=len(labels))
        with closing(RowReader(truth.name, pieces, PIECE_BYTES)) as reader:
            match.n_rows = reader.count()
        return NamedTruth(pieces, match, None, False)
    placed = match.place("y_true", truth.name, _truth_batches(truth, why, predictions))
    pieces = set_pieces(placed, match, truth.kind == "grades")
    return NamedTruth(pieces, match, placed.origin, placed.most_value > 1)


def _truth_batches(truth: Opened, why: Message, predictions: Sequence[Opened] = ()) -> Batches:
    if (batches := _batches(truth, "truth")) is not None:
        return batches
    named = next((model.name for model in predictions if model.named), None)
    why = why if named is None else Message(f"predictions have names ({named})")
    hint: list[object] = ["; of names on each line, ", Keyword("input_format", "lines")] * (
        ".txt" in truth.name
    )
    if not truth.named:
        hint += [", or ", Keyword("labels"), " with the names of its columns"]
    text = "; expected one file of relevant labels with names"
    raise ValueError(Message(f"{truth.name}: ", why, text, *hint))


def _batches(opened: Opened, kind: str) -> Batches | None:
    """Return what reads one input with names that may hold a truth, or scores; None of others."""
    if isinstance(opened, Held):
        return opened.batches() if opened.named else None
    path, form = opened.shards[0]
    if len(opened.shards) > 1 or form.rows is None or kind not in form.holds:
        return None
    return partial(form.rows, path, opened.kind if kind == "truth" else kind)


def is_numbered(truth: Opened, labels: list[str]) -> bool:
    """Tell whether the labels of a truth are numbers of listed names, and not names themselves."""
    if isinstance(truth, Held) or truth.named:
        return not truth.named
    return truth.shards[0].format.rows is None or all(whole_number(name) is None for name in labels)


def prediction_batches(opened: Opened, facts: Any = None, fields: Fields | None = None) -> Batches:
    """Return what reads predictions whose rows and labels have names, next to a truth with these facts."""
    if getattr(facts, "judged_by", None) is not None and fields is not None and isinstance(opened, Input):
        (opened,) = with_fields(fields._replace(score_of_truth=True), opened)
    if (batches := _batches(opened, "scores")) is None:
        reason = "" if opened.named else "has no names, and others have; "
        raise ValueError(f"{opened.name}: {reason}expected one file of predictions with names")
    return batches


def notes_of(name: str, facts: Any) -> list[str]:
    """Return a note on what was settled in reading a file with names."""
    facts_noted = getattr(facts, "notes", [])
    return [f"{name}: {', '.join(facts_noted)}"] if facts_noted else []


def _candidate_batches(opened: Opened) -> Batches:
    """Return what reads candidates of rows: predictions, or relevant labels with names."""
    if (batches := _batches(opened, "scores")) is None:
        return _truth_batches(opened, Message("has no names, which ", Keyword("y_true"), " has"))
    return lambda: (rows._replace(values=None) for rows in batches())


def _named_rows(
    arguments: Arguments,
    fields: Fields,
    truth: Opened,
    predictions: Sequence[Opened],
    given_sets: Mapping[str, Opened],
    in_truth_file: bool,
    labels: list[str] | None,
    fits: bool,
) -> Inputs:
    """Return the rows of all inputs by name; ``in_truth_file`` tells that sets stand in that of the truth."""
    named = read_truth(truth, labels, Message("has names"), predictions, fits)
    match, shared = named.match, notes_of(truth.name, named.facts)
    asked = [] if fits else expand_metrics(arguments.get("metrics"), arguments.get("k", DEFAULT_K))
    if named.has_grades and truth.kind != "grades" and any(spec.metric.by_row for spec, _ in asked):
        shared.append(unread_grades(truth.name))
    alone = isinstance(truth, Input) and not (in_truth_file or predictions)
    if alone and truth.shards[0].format.for_fields and any(spec.needs for spec, _ in asked):
        LOG.info("%s: none of its fields is known to hold predicted labels; pred_field names it", truth.name)
    sets: dict[str, Named] = {}
    for argument in ("candidates", "exclude"):
        if (opened := given_sets.get(argument)) is not None:
            is_held = isinstance(opened, Held) and argument == "exclude"
            batches = opened.batches() if is_held else _candidate_batches(opened)  # type: ignore[union-attr]
            sets[argument] = opened.name, set_pieces(match.place(argument, opened.name, batches), match)
    shared += match.notes
    match.notes = []
    scores, matches, notes = list[Named](), list[Match](), list[list[str]]()
    for opened in predictions:
        is_sets = opened is given_sets.get("y_pred")
        model = match if is_sets else match.fork()
        batches = prediction_batches(opened, named.facts, fields)
        placed = model.place("y_pred" if is_sets else "y_score", opened.name, batches)
        if is_sets:
            _refuse_other_use(arguments, asked, opened.name, not placed.scored, in_truth_file)
        is_ranked = not is_sets or (in_truth_file and (arguments.get("ranked") or placed.scored))
        is_set = is_sets and not placed.scored and arguments.get("decision") is None
        own_notes = notes_of(opened.name, placed.origin)
        if not placed.scored and isinstance(opened, Input):
            how = " and ".join([*["as sets"] * is_set, *["best first"] * is_ranked])
            hint = [" (", Keyword("ranked"), ": also best first)"] if in_truth_file and not is_ranked else []
            facts = [*getattr(placed.origin, "notes", []), f"no scores, taken {how}"]
            own_notes = [Message(f"{opened.name}: {', '.join(facts)}", *hint)]
        if match.fits:
            model.know_all()
        own_notes += model.notes
        model.notes = []
        if is_set:
            sets["y_pred"] = opened.name, set_pieces(placed, model)
        if is_ranked:
            scores.append((opened.name, score_pieces(placed, model)))
            matches.append(model)
            notes.append(own_notes)
        else:  # those of sets
            shared += own_notes
    matches = matches or [match]
    notes_of_reports = tuple(
        [*shared, *model_notes, *missing_names_note(model.number or (), model.unknown)]
        for model_notes, model in zip(notes or [[]], matches, strict=True)
    )
    return Inputs(
        (truth.name, named.pieces), scores, sets, notes_of_reports, matches[0].label_names, True, match.keys,
        match.keys is not None, unknown_labels=tuple([*model.unknown] for model in matches),
    )  # fmt: skip


def _refuse_other_use(
    arguments: Arguments, asked: Any, name: str, unscored: bool, in_truth_file: bool
) -> None:
    """Refuse predictions that are not what the arguments take them for."""
    ranked = Keyword("ranked")
    if not in_truth_file and not unscored:
        either = Keyword("y_score"), " with ", Keyword("decision")
        raise ValueError(Message(f"{name}: its labels have scores; expected sets, or ", *either))
    if in_truth_file and arguments.get("ranked") and not unscored:
        text = Message(f"{name}: its labels have scores, which rank them; ", ranked, " is for labels without")
        raise ValueError(text)
    if in_truth_file and not arguments.get("ranked") and unscored:
        needing: list[object] = [spec for spec, explicit in asked if explicit and "scores" in spec.needs]
        needing += [Keyword("decision")] * (arguments.get("decision") is not None)
        if needing:
            needs = " needs a ranking, and its labels have no scores; expected "
            raise ValueError(Message(f"{name}: ", needing[0], needs, ranked, " if they stand best first"))


def _refuse_reordered_files(truth: Opened, model: Opened) -> None:
    """Refuse tables of lists by number of which a column has the values of the truth's in another order."""
    shards = [*truth.shards, *model.shards]
    if not (truth.shards and model.shards) or any(shard.format.name != "arrow" for shard in shards):
        return
    from xmleval.input.formats.arrow import columns_beside, hash_columns  # only once it is needed

    true_paths, paths = ([shard.path for shard in side.shards] for side in (truth, model))
    columns = [columns_beside(path, side.kind) for side in (truth, model) for path, _ in side.shards]
    if shared := [name for name in columns[0] if all(name in names for names in columns)]:
        expected, hashes = (hash_columns(paths, shared) for paths in (true_paths, paths))
        for column in filter(lambda name: is_other_order(hashes[name], expected[name]), shared):
            text = f"{model.name}: {column!r} has the values of ", Keyword("y_true"), "'s in another order"
            raise ValueError(Message(*text, "; call it 'instance' in both to join the rows by it"))


def label_counts_of(
    rows: Inputs, resources: Resources, labels: list[str] | None, n_labels: int | None
) -> list[int]:
    """Return the number of labels of each report: without names, what the truth and sets tell.

    Where they do not, each model tells its own, or has the labels of the truth and those that it lists.
    """
    n = max(1, len(rows.scores))
    if rows.by_name:
        if not rows.label_names:
            which = Keyword("labels"), ", the names of all"
            raise ValueError(Message(f"{rows.truth[0]}: no row has a label; give ", *which))
        return [len(rows.label_names)] * n
    sets = [named for argument, named in rows.sets.items() if argument != "exclude"]
    shared = told_by([rows.truth, *sets])
    n_given = len(labels) if labels else n_labels
    if n_given is not None:
        for name, pieces in [rows.truth, *rows.scores]:
            if pieces.n_labels not in (None, n_given):
                argument, size = (
                    Keyword("labels" if labels else "n_labels"),
                    counted(pieces.n_labels or 0, "labels"),
                )
                raise ValueError(Message(f"{name}: {size}; ", argument, f" tells {n_given}"))
        return [n_given] * n
    if shared is not None:
        for scores in rows.scores:
            told_by([shared, scores])
        return [shared[1].n_labels or 0] * n
    of_truth = cache(lambda: _width_of_truth(rows.truth, resources))
    own_widths = [
        _width_of(scores, rows.truth[0], of_truth, resources, notes)
        for scores, notes in zip(rows.scores, rows.notes, strict=False)
    ]
    return own_widths or [of_truth()]


def _width_of_truth(truth: Named, resources: Resources) -> int:
    n_labels = count_columns(truth[1], resources.lone_piece)
    if n_labels < 1:
        raise ValueError(f"{truth[0]}: no row has a label, and nothing tells how many labels there are")
    _expect_few(truth[0], n_labels)
    return n_labels


def _expect_few(name: str, n_labels: int) -> None:
    if n_labels > MOST_LABELS:
        raise ValueError(f"{name}: {n_labels} labels; expected at most {MOST_LABELS}")


def told_by(inputs: Sequence[Named]) -> Named | None:
    """Return the first of several inputs that tells the number of labels; it must be that of the others."""
    sized = [(name, pieces) for name, pieces in inputs if pieces.n_labels is not None]
    for name, pieces in sized:
        first, n_labels, n_own = sized[0][0], sized[0][1].n_labels, pieces.n_labels or 0
        if n_own < 1:
            raise ValueError(f"{name}: {counted(n_own, 'labels')}; expected 1 or more")
        _expect_few(name, n_own)
        if n_own != n_labels:
            hint = "; a list of ids is called NAME_indices.npy" if name.endswith(".npy") else ""
            if (pieces.n_rows, n_own) == (n_labels, sized[0][1].n_rows):
                hint = "; one is the transpose of the other: rows are instances, columns labels"
            text = f"{name}: {counted(n_own, 'labels do not match', 'label does not match')} the {n_labels}"
            raise ValueError(f"{text} of {first}{hint}")
    return sized[0] if sized else None


def _width_of(
    scores: Named,
    truth: str,
    of_truth: Callable[[], int],
    resources: Resources,
    notes: list[str],
) -> int:
    """Return the number of labels of scores whose truth does not tell it, and note that they tell more."""
    sized = told_by([scores])
    if sized is not None:
        return sized[1].n_labels or 0
    n_true, n_own = of_truth(), count_columns(scores[1], resources.lone_piece)
    if not n_true < n_own <= MOST_LABELS:  # ids beyond these are refused with their row
        return n_true
    notes.append(f"{scores[0]}: evaluated with {n_own} labels; its ids go beyond the {n_true} of {truth}")
    return n_own


def refuse_many_labels(name: str, n_labels: int, label_bytes: int = COUNT_BYTES) -> None:
    """Refuse labels whose counts alone would take more memory than there is."""
    memory_limit().check(label_bytes * n_labels, f"{name}: counting {counted(n_labels, 'labels')} ")


def read_scores_alone(
    opened: Opened, label_names: list[str] | None, named_by: object = None
) -> tuple[Rows, list[str], list[str]]:
    """Read scores with names, and the names of its rows and labels.

    Rows are in the order in which they appear first. Labels are those that ``named_by`` names, or the file.
    """
    match = Match(opened.name, label_names or ())
    placed = match.place("y_true", opened.name, prediction_batches(opened))
    names = match.label_names
    if match.unknown:
        text = f"label {shown(next(iter(match.unknown)))} is not one of the {len(names)} of {named_by}; give "
        raise ValueError(Message(f"{opened.name}: {text}", Keyword("labels"), ", the names of all"))
    return listed_scores(placed.rows(), names), [*match.row_names], names


def first_rows(name: str, pieces: Pieces) -> Any:
    """Return the first rows of an input, None where it has none."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        n = reader.ready()
        return reader.take(n) if n else None


def have_scores(name: str, pieces: Pieces, n_labels: int) -> bool:
    """Tell whether labels of predictions come with scores, from the first rows that list any."""
    with closing(RowReader(name, pieces, FIRST_BYTES)) as reader:
        while n := reader.ready():
            scored = has_scores(reader.take(n))
            if scored is not None:
                return scored
    return True
