"""Inputs and rules whose rows and labels have names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from xmleval.budget import PIECE_BYTES, Allowance, Budget
from xmleval.cli.counting import Inputs, count_training, read_sets
from xmleval.cli.messages import tell
from xmleval.input.csr import Source
from xmleval.input.lines import shown
from xmleval.input.names import INDEX_BYTES, Gathering, Named, load_names
from xmleval.input.pieces import Pieces
from xmleval.input.reader import whole
from xmleval.input.shards import Input
from xmleval.input.stack import all_cells, filled_lists, make_csr, stack
from xmleval.message import counted
from xmleval.notes import Note
from xmleval.numerals import whole_number
from xmleval.records import Ints, Truth
from xmleval.spec import expand_metrics
from xmleval.thresholds import Rule

LabelNames = Sequence[list[str]]  # of each report


def read_named(
    truth: Input,
    scores: list[Input],
    pred: Input | None,
    labels: list[str] | None,
    counts_others: bool = False,
) -> tuple[Named, list[Named], Named | None]:
    """Read a truth, SCORES and other predictions whose rows and labels have names.

    The first columns of all are the labels of the truth and then those that the other predictions add. Behind
    them, each of SCORES has those that it alone adds, whatever else is evaluated beside it. Where ``labels``
    are all that are evaluated, those that predictions add are refused, unless ``counts_others``.
    """
    found = _truth_alone(truth, labels, "has names", [*scores, *([] if pred is None else [pred])])
    n_own, like = len(found.label_names), replace(found, closed=found.closed and not counts_others)

    def read(given: Input) -> Named:
        own = given.shards[0].format.named
        if len(given.shards) > 1 or own is None or own.scores is None:
            raise ValueError(f"{given.name}: expected one file of predictions with names, as TRUTH has them")
        named = own.scores(given.shards[0].path, like, given.allowance)
        _refuse_other_rows(given.name, truth.name, named, found)
        if not truth.named and found.by_order and named.n_ignored:
            raise ValueError(
                f"{given.name}: rows of other names than 0 to {len(found.row_names) - 1}, as the rows of "
                f"{truth.name} are numbered: {named.n_ignored}"
            )
        new = np.unique(named.matrix.indices[named.matrix.indices >= n_own])
        return replace(named, n_new_labels=new.size)

    other = None if pred is None else read(pred)
    if other is not None and not found.closed:
        found = like = found.widened(other.label_names)
    return found, [read(given) for given in scores], other


def _truth_alone(
    truth: Input, labels: list[str] | None, why: str, predictions: Sequence[Input] = ()
) -> Named:
    """Read a truth with names; ``why`` it must have them is told of others, unless predictions have names."""
    if labels is not None and _is_numbered(truth, labels):
        return _numbered_alone(truth, labels)
    reader = truth.shards[0].format.named
    if len(truth.shards) == 1 and reader is not None and reader.truth is not None:
        read = reader.grades if truth.kind == "grades" and reader.grades else reader.truth
        return read(truth.shards[0].path, labels, truth.allowance)
    named = next((given.name for given in predictions if given.named), None)
    why = why if named is None else f"predictions have names ({named})"
    hint = "; of names on each line, --input-format lines" if ".txt" in truth.name else ""
    if not truth.named:
        hint += ", or --labels with the names of its columns"
    raise ValueError(f"{truth.name}: {why}; expected one file of relevant labels with names{hint}")


def _is_numbered(truth: Input, labels: list[str]) -> bool:
    """Tell whether the labels of a truth are numbers of listed names, and not names themselves."""
    return not truth.named and (
        truth.shards[0].format.named is None or all(whole_number(name) is None for name in labels)
    )


def _numbered_alone(truth: Input, labels: list[str]) -> Named:
    """Read a numbered truth whose columns have these names; its rows are called by their numbers."""
    pieces, n_labels = truth.pieces(), len(labels)
    if pieces.n_labels not in (None, n_labels):
        raise ValueError(
            f"{truth.name}: {counted(pieces.n_labels or 0, 'labels')}; --labels names {n_labels}"
        )
    blocks: list[Truth] = []

    def take(rows: Source[Truth]) -> None:
        for block in rows.blocks():
            truth.allowance.take(block.ptr.nbytes + block.labels.nbytes + block.labels.size)
            blocks.append(block)

    if truth.kind == "grades":
        matrix = stack(_taken_from(truth.allowance, pieces), n_labels, np.float64)
        n_rows = matrix.shape[0]
    else:
        n_rows = read_sets("y_true", truth.name, pieces, n_labels, PIECE_BYTES, take)
        ones = (make_csr(one.ptr, one.labels, np.ones(one.labels.size, np.uint8), n_labels) for one in blocks)
        matrix = stack(ones, n_labels, np.uint8)
    truth.allowance.take(INDEX_BYTES * n_rows)
    return Named(matrix, [*map(str, range(n_rows))], labels, closed=True, by_order=True)


def _taken_from(allowance: Allowance, pieces: Pieces) -> Iterator[Any]:
    """Yield the rows of a truth with grades, which are checked where they are counted."""
    for piece in pieces.read(PIECE_BYTES):
        found = piece if scipy.sparse.issparse(piece) else all_cells(piece)
        allowance.take(found.data.nbytes + found.indices.nbytes + found.indptr.nbytes)
        yield found


def read_candidates(given: Input, truth: str, found: Named) -> Named:
    """Read the candidates of rows of a truth, as predictions or as relevant labels with names."""
    readers, path = given.shards[0].format.named, given.shards[0].path
    if len(given.shards) > 1 or readers is None:
        raise ValueError(f"{given.name}: expected one file of candidates with names, as TRUTH has them")
    if readers.scores is not None:
        named = readers.scores(path, found, given.allowance)
    else:
        own, gathering = _truth_alone(given, None, ""), Gathering(found)
        entries = own.matrix.tocoo()
        for place, (row, label) in enumerate(zip(entries.row.tolist(), entries.col.tolist(), strict=True)):
            gathering.add(own.row_names[row], own.label_names[label], 1.0, place)
        named = gathering.finish(given.allowance)
    _refuse_other_rows(given.name, truth, named, found)
    return named


def candidates_among(named: Named, label_names: Sequence[str]) -> Pieces:
    """Return candidates among the labels of a report; others are neither relevant nor predicted."""
    index = {name: number for number, name in enumerate(label_names)}
    columns = np.array([index.get(name, -1) for name in named.label_names], np.int64)
    ids = columns[named.matrix.indices]
    kept = ids >= 0
    ptr = np.concatenate(([0], np.cumsum(kept)))[named.matrix.indptr]
    shape = named.matrix.shape[0], len(label_names)
    return whole(scipy.sparse.csr_array((np.ones(int(ptr[-1]), np.uint8), ids[kept], ptr), shape=shape))


def _refuse_other_rows(name: str, truth: str, named: Named, found: Named) -> None:
    if named.other_row is not None and found.row_names:
        raise ValueError(
            f"{name}: no row is one of {truth}, as {shown(named.other_row)} is not; "
            f"expected names like {shown(found.row_names[0])}"
        )


def holds_both(truth: Input) -> bool:
    """Tell whether a file of relevant labels also has predictions."""
    path, readers = truth.shards[0].path, truth.shards[0].format.named
    return len(truth.shards) == 1 and readers is not None and readers.holds_both(path, truth.allowance)


def pieces_of(named: Named) -> Pieces:
    """Return the rows of predictions: a sparse array, or lists in their order where they have no scores."""
    if not named.unscored:
        return whole(named.matrix)
    held = named.matrix
    ptr, ordered = held.indptr, np.empty_like(held.indices)
    ordered[np.repeat(ptr[:-1], np.diff(ptr)) - held.data.astype(ptr.dtype) - 1] = held.indices

    def read(n_bytes: int) -> Iterator[Any]:
        return ((block, None) for block in filled_lists(ptr, ordered, n_bytes))

    return Pieces(held.shape[0], held.shape[1], read)


def sets_of(named: Named) -> Pieces:
    """Return predictions without scores as sets."""
    ones = np.ones(named.matrix.nnz, np.uint8)
    matrix = scipy.sparse.csr_array(
        (ones, named.matrix.indices, named.matrix.indptr), shape=named.matrix.shape
    )
    return whole(matrix)


def _evaluated(predictions: Pieces, truth: Named) -> Pieces:
    """Return predictions beside a truth, in which labels beside those of a closed list are not evaluated."""
    n_labels, width = len(truth.label_names), predictions.n_labels
    if not truth.closed or width == n_labels:
        return predictions
    return replace(predictions, n_labels=n_labels, width=width)


def named_rows(
    truth: Input,
    several: list[Input],
    other: Input | None,
    own: bool,
    options: dict[str, Any],
    among: Input | None = None,
) -> Inputs:
    """Return the rows of a truth, of SCORES and of what other predictions there are, by name.

    With the option ``counts_others``, predictions may hold labels beside those of ``labels``.
    """
    labels = None if options["labels"] is None else load_names(options["labels"], truth.allowance)
    found, read, read_other = read_named(truth, several, other, labels, bool(options.get("counts_others")))
    scores, pred, notes = list[tuple[str, Pieces]](), None, list[list[str]]()
    predictions = [*zip(several, read, strict=True)]
    if other is not None and read_other is not None:
        predictions.append((other, read_other))
    n_others = 0 if read_other is None or found.closed else read_other.n_new_labels
    names = found.label_names[: len(found.label_names) - n_others]
    for given, named in predictions:
        is_other = named is read_other
        if is_other:
            _refuse_other_use(given.name, named, own, options)
        is_ranked = not is_other or (own and (options["ranked"] or not named.unscored))
        is_set = is_other and named.unscored and options["decision"] is None
        how = " and ".join([*["as sets"] * is_set, *["best first"] * is_ranked])
        hint = " (--ranked: also best first)" if own and not is_ranked else ""
        taken = [f"no scores, taken {how}{hint}"] if named.unscored else []
        notes.append(_notes(given.name, [*named.told, *taken]) + _notes(given.name, _unknown(named, names)))
        if found.closed and named.n_new_labels:
            example = shown(named.label_names[len(names)])
            kind = "labels beyond the list"
            notes[-1].append(Note(given.name, kind, named.n_new_labels, example=example))
            named = replace(named, n_new_labels=0)
        notes[-1] += unmatched(given.name, named)
        if is_set:
            pred = given.name, _evaluated(sets_of(named), found)
        if is_ranked:
            scores.append((given.name, _evaluated(pieces_of(named), found)))
    shared = _notes(truth.name, found.told)
    if found.has_grades and truth.kind != "grades" and "gains" in options:  # what it could be read with
        asked = expand_metrics(options["metrics"], options["k"])
        unread = f"{truth.name}: grades above 1 count as 1, unless --gains is given"
        shared += [unread] * any(spec.metric.graded for spec, _ in asked)
    if len(notes) > len(scores):  # those of sets
        shared += notes.pop()
    rows = (truth.name, whole(found.matrix)), scores, pred
    label_names = tuple(named.label_names for named in read or [found])
    other_labels = tuple(own[len(found.label_names) :] for own in label_names)
    if found.closed:
        label_names = tuple(found.label_names for _ in label_names)
    all_notes = tuple([*shared, *own_notes] for own_notes in notes or [[]])
    candidates: list[tuple[str, Pieces]] = []
    if among is not None:
        held = read_candidates(among, truth.name, found)
        if held.n_empty:
            for own_notes in all_notes:
                own_notes.append(Note(among.name, "rows without candidates", held.n_empty))
        candidates = [(among.name, candidates_among(held, names)) for names in label_names]
    return Inputs(
        *rows,
        label_names=label_names,
        row_names=found.row_names,
        notes=all_notes,
        candidates=candidates,
        other_labels=other_labels if found.closed else (),
        keyed=not found.by_order,
    )


def _notes(name: str, told: Sequence[str]) -> list[str]:
    return [f"{name}: {', '.join(told)}"] if told else []


def _unknown(named: Named, labels: Sequence[str]) -> list[str]:
    """Return a note where a truth has no predicted label."""
    if not named.n_new_labels or not labels or (named.matrix.indices < len(labels)).any():
        return []
    first = named.label_names[int(np.min(named.matrix.indices))]
    return [f"no label of it is in the truth: {shown(first)} is not, {shown(labels[0])} is"]


def _refuse_other_use(name: str, named: Named, own: bool, options: dict[str, Any]) -> None:
    """Refuse predictions that are not what the options take them for."""
    if not own and not named.unscored:
        raise ValueError(f"{name}: its labels have scores; expected sets, or SCORES with --decision")
    if own and options["ranked"] and not named.unscored:
        raise ValueError(f"{name}: its labels have scores, which rank them; --ranked is for labels without")
    if own and not options["ranked"] and named.unscored:
        asked = expand_metrics(options["metrics"], options["k"])
        needing = [str(spec) for spec, explicit in asked if explicit and "scores" in spec.needs]
        if options["decision"] is not None:
            needing.append("--decision")
        if needing:
            what = f"{needing[0]} needs a ranking, and its labels have no scores"
            raise ValueError(f"{name}: {what}; expected --ranked if they stand best first")


def unmatched(name: str, named: Any) -> list[str]:
    """Return notes on the rows and labels of predictions that are not those of the truth."""
    counts = {
        "rows without predictions": named.n_empty,
        "ignored rows": named.n_ignored,
        "unknown labels": named.n_new_labels,
    }
    return [Note(name, kind, n) for kind, n in counts.items() if n]


def read_numbered_truth(given: Input) -> Named:
    """Read relevant labels with names as a numbered matrix, and tell how rows and labels are numbered."""
    found = _truth_alone(given, None, "has names")
    told = "rows and labels are numbered in the order in which it names them first"
    tell(given.name, ", ".join([*found.told, told]))
    return found


def count_named_training(
    train: Input, label_names: LabelNames, labels: list[str] | None, notes: Sequence[list[str]]
) -> tuple[list[Ints], int]:
    """Return how many training rows have each label of each list of names, and how many rows there are.

    ``labels`` are the names of the columns of training labels without names, if they are known. What is seen
    is added to ``notes``, a list for each list of names.
    """
    if labels is not None and _is_numbered(train, labels):
        found = _numbered_alone(train, labels)
    else:
        found = _truth_alone(train, None, "has no names, which TRUTH has")
    own = np.bincount(found.matrix.indices, minlength=len(found.label_names))
    count_of = dict(zip(found.label_names, own.tolist(), strict=True))
    for names, own_notes in zip(label_names, notes, strict=True):
        own_notes += _notes(train.name, found.told)
        if n_other := len(count_of.keys() - {*names}):
            own_notes.append(Note(train.name, "ignored labels", n_other))
    counts = [np.array([count_of.get(name, 0) for name in names], np.int64) for names in label_names]
    return counts, len(found.row_names)


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
        listed = None if options["labels"] is None else rows.label_names[0]
        return count_named_training(train, rows.label_names, listed, rows.notes)
    if train.named:
        raise ValueError(f"{train.name}: has names, which {rows.truth[0]} has not")
    pieces, n_bytes = train.pieces(), budget.lone_piece
    by_width = {width: count_training(train.name, pieces, width, n_bytes, allowance) for width in {*widths}}
    return [by_width[width][0] for width in widths], by_width[widths[0]][1]


def rules_for(
    rule: Rule, path: Path, label_names: LabelNames | None, notes: Sequence[list[str]]
) -> list[Rule]:
    """Return a saved rule for the labels of each list of names, by number, or as it is without any.

    What is seen is added to ``notes``, a list for each list of names.
    """
    if label_names is None:
        if rule.by_name:
            raise ValueError(f"{path}: knows labels by name; expected inputs with names of labels")
        return [rule]
    try:
        found = [replace(rule.for_labels(names), label_names=None) for names in label_names]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for names, own_notes in zip(label_names, notes, strict=True):
        if rule.by_name and (n_unknown := len({*names}.difference(rule.label_names or ()))):
            own_notes.append(Note(str(path), "labels unknown in fitting", n_unknown))
    return found


def read_scores_alone(given: Input, label_names: list[str], named_by: Path) -> Named:
    """Read scores whose rows and labels have names: rows in the order in which they appear first."""
    readers = given.shards[0].format.named
    if len(given.shards) > 1 or readers is None or readers.scores is None:
        raise ValueError(f"{given.name}: expected one file of scores with names")
    found = readers.scores(given.shards[0].path, label_names, given.allowance)
    if found.n_new_labels:
        name = shown(found.label_names[len(label_names)])
        raise ValueError(
            f"{given.name}: label {name} is not one of the {len(label_names)} of {named_by}; "
            "expected --labels with the names of all"
        )
    return found


def read_scores_by_name(given: Input) -> Named:
    """Read scores whose rows and labels have names, in the order in which they appear first."""
    readers = given.shards[0].format.named
    if len(given.shards) > 1 or readers is None or readers.scores is None:
        raise ValueError(f"{given.name}: expected one file of scores with names")
    return readers.scores(given.shards[0].path, [], given.allowance)
