"""Labels of rows that are left out of an evaluation, or within which alone labels are ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from xmleval.input.csr import (
    Source,
    Stored,
    WithOthers,
    as_array,
    checked,
    is_sparse,
    stored_csr,
)
from xmleval.input.errors import InputError
from xmleval.input.glances import lists_several
from xmleval.input.pairs import is_pair, pair_members
from xmleval.input.ranked import append_cut_ties, cut_heads
from xmleval.input.scores import ranking_rows
from xmleval.input.sets import set_rows
from xmleval.input.tensors import as_plain
from xmleval.input.ties import NamedColumns
from xmleval.message import NO_MATCH, Keyword, Message, counted
from xmleval.notes import Note
from xmleval.plan import Plan
from xmleval.records import Bools, Given, Ints, Judged, Ranking, Truth, row_sizes

LEAST_DEPTH = 2  # which tells whether rows list several labels


class IdPairs:
    """Rows and labels of pairs by number, which no array of their shape can be mistaken for."""

    def __init__(self, ids: Any) -> None:
        self.ids = ids


Rows = TypeVar("Rows", Truth, Ranking)
ENTRIES_AT_A_TIME = 1 << 20  # of rows that pairs are looked for in


def beside(exclude: Any, candidates: Any, exclude_from: str) -> dict[str, Any]:
    """Return what is given of both by name; pairs that have names become a dict of lists."""
    if exclude_from not in ("both", "predictions"):
        raise InputError("exclude_from", f"{exclude_from!r} is neither 'both' nor 'predictions'")
    if exclude_from != "both" and exclude is None:
        raise InputError("exclude_from", Message("needs the pairs to exclude, ", Keyword("exclude")))
    given = {"exclude": _grouped(exclude), "candidates": candidates}
    return {name: value for name, value in given.items() if value is not None}


def _grouped(value: Any) -> Any:
    """Return pairs of a row and a label that have names as a dict of lists, anything else as it is."""
    pairs = isinstance(value, list | set) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in value
    )
    if not pairs:
        return value
    value = [*value]
    if not value:
        return IdPairs(np.empty((0, 2), np.int64))
    if not any(isinstance(name, str) for name in value[0]):
        return IdPairs(np.array(value))
    rows: dict[Any, dict[Any, int]] = {}
    for row, label in value:
        rows.setdefault(row, {})[label] = 1
    return rows


def _pair_rows(argument: str, value: Any, n_rows: int, n_labels: int, given: int | None) -> Source[Truth]:
    """Accept sets of labels as those of all rows.

    An array of another shape holds pairs of a row and a label to exclude, or ids of candidates, -1 for none,
    as the labels of a top-k list do. One of the same shape holds pairs if it has other values than 0 and 1.
    """
    listed_pairs = isinstance(value, IdPairs)
    value = value.ids if listed_pairs else value
    is_list = argument == "candidates" and is_pair(value) and not isinstance(value, Stored)
    value = pair_members(argument, value, n_labels)[0] if is_list else as_plain(argument, value)
    other = isinstance(value, np.ndarray) and value.ndim == 2 and value.shape != (n_rows, n_labels)
    if argument == "exclude" and isinstance(value, np.ndarray) and value.shape == (n_rows, 2) and not other:
        other = listed_pairs or not bool(((value == 0) | (value == 1)).all())
        if not other and value.dtype.kind != "b":
            told = f"0 and 1 of shape {value.shape} can be pairs or a matrix; give pairs as a list of tuples"
            raise InputError(argument, f"{told}, or a matrix of bool")
    if argument == "candidates" and (other or is_list) and value.dtype.kind in "iu" and value.ndim == 2:
        listed = value != -1
        ptr = np.concatenate(([0], np.cumsum(listed.sum(axis=1))))
        value = Stored(ptr, value[listed], None, n_labels)
    elif other and argument == "exclude" and value.shape[1] == 2:
        pairs = as_array(argument, value)
        for kind, ids, n in (("row", pairs[:, 0], n_rows), ("label id", pairs[:, 1], n_labels)):
            bad = np.flatnonzero((ids < 0) | (ids >= n) | (ids != np.floor(ids)))
            if bad.size:
                raise InputError(argument, f"pair {bad[0]}: {kind} {ids[bad[0]]} is not in 0..{n - 1}")
        rows, labels = np.unique(pairs.astype(np.int64), axis=0).T
        value = Stored(np.searchsorted(rows, np.arange(n_rows + 1)), labels, None, n_labels)
    found = set_rows(argument, value, given, n_labels)
    if found.n_rows != n_rows:
        raise InputError(argument, f"{counted(found.n_rows, *NO_MATCH)} the {n_rows} of y_true")
    return found


def _rankings(
    plan: Plan,
    y_score: Any,
    given: int | None,
    exclude: Source[Truth] | None,
    candidates: Source[Truth] | None,
) -> Source[Ranking]:
    """Return scores without some labels, or within candidates alone."""
    depth = plan.depth
    if depth is not None:
        sizes = (row_sizes(block.ptr) for block in exclude.blocks()) if exclude else ()
        most = max((int(size.max(initial=0)) for size in sizes), default=0)
        depth = None if candidates else plan.cut(max(depth, LEAST_DEPTH) + most)
    found = ranking_rows("y_score", y_score, given, plan.n_labels, None, depth, True, plan.higher_is_better)
    if exclude is not None:
        found = _restricted(found, exclude, False)
    if candidates is not None:
        found = _restricted(found, candidates, True)

    def block(start: int, stop: int) -> Ranking:
        ranking = found.block(start, stop)
        if plan.depth is None:
            return ranking
        return cut_heads(ranking, plan.depth)

    return found._replace(block=block)


def _are_entries(ptr: Ints, labels: Ints, rows: Ints, of_pairs: Ints) -> Bools:
    """Tell which pairs of a row and a label are entries of rows, whose labels may be in any order."""
    found = np.zeros(rows.size, np.bool_)
    sizes = ptr[rows + 1].astype(np.int64) - ptr[rows]
    ends = np.cumsum(sizes)
    start = 0
    while start < rows.size:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + ENTRIES_AT_A_TIME, "right")))
        own = sizes[start:stop]
        pair = np.repeat(np.arange(start, stop), own)
        place = np.arange(pair.size) - np.repeat(ends[start:stop] - own - before, own) + ptr[rows[pair]]
        found[pair[labels[place] == of_pairs[pair]]] = True
        start = stop
    return found


def _as_entries(plan: Plan, value: Any, given: int | None) -> Stored | Source[Ranking] | None:
    """Return the labels that scores list, None for dense scores, which have a place for every label."""
    if isinstance(value, WithOthers):
        rows = _as_entries(plan, value.rows, None)
        return rows._replace(n_labels=value.width) if isinstance(rows, Stored) else rows
    if isinstance(value, Stored | Source):
        return value
    if is_pair(value):
        labels = pair_members("y_score", value, plan.n_labels)[0]
        ptr = np.arange(len(labels) + 1) * (labels.size // max(len(labels), 1))
        return Stored(ptr, labels.reshape(-1), None, plan.n_labels)
    if given is not None and isinstance(value, list):
        return ranking_rows("y_score", value, given, plan.n_labels, None, None, True, plan.higher_is_better)
    value = value if is_sparse(value) or isinstance(value, NamedColumns) else as_plain("y_score", value)
    return stored_csr("y_score", value, None) if is_sparse(value) else None


def _count_matches(
    gone: Source[Truth], sets: Sequence[Source[Truth]], scores: Stored | Source[Ranking] | None
) -> tuple[int, int]:
    """Return how many pairs are in sets or scores, and how many there are."""
    sources: list[Source[Any]] = [own for own in sets if own.n_rows == gone.n_rows]
    sources += [scores] if isinstance(scores, Source) and scores.n_rows == gone.n_rows else []
    n_matches = n_pairs = start = 0
    for block in gone.blocks():
        stop = start + block.ptr.size - 1
        rows = np.repeat(np.arange(start, stop), row_sizes(block.ptr))
        found = np.zeros(rows.size, np.bool_)
        if isinstance(scores, Stored) and scores.ptr.size - 1 == gone.n_rows:
            found |= _are_entries(scores.ptr, scores.labels, rows, block.labels)
        for own in sources if rows.size else ():
            entries = checked(own.block, start, stop)
            found |= _are_entries(entries.ptr, entries.labels, rows - start, block.labels)
        n_matches, n_pairs, start = n_matches + int(found.sum()), n_pairs + found.size, stop
    return n_matches, n_pairs


def _note_on_pairs(
    plan: Plan,
    gone: Source[Truth],
    sets: Sequence[Source[Truth]],
    y_score: Any,
    given: int | None,
    exclude_from: str,
    n_unmatched: int,
) -> Note:
    """Return how many pairs are excluded; ``n_unmatched`` more have a row or a label that is nowhere."""
    kind = "excluded pairs" if exclude_from == "both" else "pairs excluded from predictions"
    scores = None if y_score is None else _as_entries(plan, y_score, given)
    n_matches, n_pairs = _count_matches(gone, sets, scores)
    if y_score is not None and scores is None:  # dense
        n_matches = n_pairs
    return Note("exclude", kind, n_matches, n_pairs + n_unmatched)


def restrict(
    plan: Plan,
    truth: Source[Truth],
    y_score: Any,
    y_pred: Any,
    n_labels: int | None,
    exclude_from: str,
    exclude: Any = None,
    candidates: Any = None,
    n_unmatched_pairs: int = 0,
) -> tuple[Source[Truth], Any, Any, Source[Truth] | None, list[str]]:
    """Return truth, scores and sets without what is excluded, scores within candidates.

    Then come the truth within candidates, None without any, and notes; ``n_unmatched_pairs`` are to be
    excluded, too, and have a row or a label that is nowhere.
    """
    size = truth.n_rows, truth.n_labels, n_labels
    gone = None if exclude is None else _pair_rows("exclude", exclude, *size)
    among = None if candidates is None else _pair_rows("candidates", candidates, *size)
    notes: list[str] = []
    kept = truth
    if gone is not None:
        y_pred = None if y_pred is None else set_rows("y_pred", y_pred, n_labels, truth.n_labels)
        sets = [*([truth] if exclude_from == "both" else []), *([] if y_pred is None else [y_pred])]
        notes.append(_note_on_pairs(plan, gone, sets, y_score, n_labels, exclude_from, n_unmatched_pairs))
        kept = _restricted(truth, gone, False) if exclude_from == "both" else truth
        y_pred = None if y_pred is None else _restricted(y_pred, gone, False)
    if y_score is not None:
        y_score = _rankings(plan, y_score, n_labels, gone, among)
    return kept, y_score, y_pred, None if among is None else _restricted(kept, among, True), notes


def _restricted(rows: Source[Rows], others: Source[Truth], within: bool) -> Source[Rows]:
    """Return rows with the labels that are in others alone, or with those that are not."""

    def of(make: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
        def block(start: int, stop: int) -> Any:
            own = make(start, stop)
            if isinstance(own, Ranking):
                own = append_cut_ties(own)
            keep = _members(own, others.block(start, stop), rows.n_labels) == within
            kept_before = np.concatenate(([0], np.cumsum(keep)))
            ptr, labels = kept_before[own.ptr], own.labels[keep]
            if isinstance(own, Ranking):
                scores = None if own.scores is None else own.scores[keep]
                n_above = row_sizes(ptr)
                return Ranking(ptr, labels, scores, n_above, own.ordered, _given_of(own, ptr, labels.size))
            return Judged(ptr, labels, own.gains[keep]) if isinstance(own, Judged) else Truth(ptr, labels)

        return block

    n_bytes = 2 * rows.bytes_per_row + others.bytes_per_row
    judged = None if rows.judged is None else of(rows.judged)
    return rows._replace(block=of(rows.block), bytes_per_row=n_bytes, judged=judged, facts=None)


def _given_of(ranking: Ranking, ptr: Ints, n_left: int) -> Given | None:
    """Return what was seen of lists, whose lengths are those of what is left of them."""
    given = ranking.given
    if given is None:
        return None
    n_listed = given.n_listed - (ranking.labels.size - n_left)
    return given._replace(n_listed=n_listed, several=lists_several(ptr))


def _members(rows: Truth | Judged | Ranking, others: Truth, n_labels: int) -> Bools:
    """Tell which entries of rows are in others."""
    known, asked = _cells(others, n_labels), _cells(rows, n_labels)
    if not known.size:
        return np.zeros(asked.size, np.bool_)
    found: Bools = known[np.minimum(np.searchsorted(known, asked), known.size - 1)] == asked
    return found


def _cells(rows: Truth | Judged | Ranking, n_labels: int) -> Ints:
    """Return the numbers of entries among the cells of a block, which fit in 64 bits."""
    cells: Ints = np.repeat(np.arange(rows.ptr.size - 1) * n_labels, row_sizes(rows.ptr))
    # of one type, as NumPy may crash where it lacks the memory to convert one while it adds
    cells += rows.labels.astype(np.int64)
    return cells
