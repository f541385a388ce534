"""Scores and top-k lists, brought into rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import (
    Entries,
    Source,
    Stored,
    WithOthers,
    as_array,
    as_list,
    check_shape,
    cut_entries,
    is_sparse,
    keep_entries,
    refuse_code,
    rows_of,
    stored_csr,
    stored_lists,
)
from xmleval.input.errors import InputError, LabelRangeError, positive_integer
from xmleval.input.glances import is_binary, lists_several
from xmleval.input.pairs import is_pair, pair_has_scores, pair_members
from xmleval.input.ranked import picks, rank_entries, rank_ties_by_name, with_level
from xmleval.input.tensors import as_plain
from xmleval.input.ties import NamedColumns, tie_order
from xmleval.kernels.checking import BAD_LABEL, FINE, check_list, look_at_rows
from xmleval.kernels.ranking import (
    falls,
    falls_somewhere,
    rank_rows,
    rises_unsorted,
)
from xmleval.message import Keyword, Message, counted
from xmleval.records import (
    Given,
    Ints,
    Labels,
    Ranking,
    Scores,
    Truth,
    as_score,
    label_dtype,
)

PICKED_BYTES = 8.0  # of an entry in a matrix that is only read, for the best of its rows or cell by cell
EXACT_FLOAT32 = ("?", "b", "B", "h", "H", "e", "f")  # types that float32 holds without loss


def ranking_rows(
    argument: str,
    value: Any,
    n_labels: int | None,
    known: int,
    unlisted: float | None = None,
    depth: int | None = None,
    ordered: bool = True,
    higher_is_better: bool = True,
) -> Source[Ranking]:
    """Accept scores in any form and rank them block by block.

    ``argument`` is what messages call ``value``: a sparse matrix or array, a dense array, a (labels, scores)
    pair whose scores may be None, or, where ``n_labels`` is given, ragged lists. The truth has ``known``
    labels; ``n_labels`` is what the caller gave. Labels that are not listed score ``unlisted``, None ranks
    them below everything. The leading ``depth`` labels of a row are needed, all if None, and best first if
    ``ordered``: if not, matrices are left in the order of their labels. Without ``higher_is_better``,
    scores of rankings are negated, and ``unlisted``, too. NaN, ids that are out of range or twice in a row,
    and other shapes are refused.
    """
    if n_labels is not None:
        positive_integer("n_labels", n_labels)
    if unlisted is not None:
        depth = None  # what competes with unlisted labels depends on every listed one
    if isinstance(value, Source):
        return value
    if isinstance(value, WithOthers):
        return ranking_rows(
            argument, value.rows, None, value.width, unlisted, depth, ordered, higher_is_better
        )
    if isinstance(value, NamedColumns):
        return _dense_rows(argument, value.matrix, known, unlisted, depth, ordered, higher_is_better, value)
    if isinstance(value, Stored):
        return _stored_list(argument, value, unlisted, depth, higher_is_better)
    if is_pair(value):
        return _list_rows(
            argument, *pair_members(argument, value, known), known, unlisted, depth, higher_is_better
        )
    if not is_sparse(value):
        value = as_plain(argument, value)
    if is_sparse(value):
        if unlisted != 0:
            refuse_padding(argument, value)
        return _sparse_rows(argument, value, known, unlisted, depth, ordered, higher_is_better)
    if n_labels is not None and isinstance(value, list):
        return _ragged_rows(argument, value, known, unlisted, depth, higher_is_better)
    array = as_array(argument, value)
    if array.ndim == 2 and array.shape[1] != known and array.dtype.kind in "iu":
        ids = "; label ids are given as a pair of labels and their scores or None"
        raise InputError(
            argument, f"shape {array.shape} has {counted(array.shape[1], 'labels')}, not {known}{ids}"
        )
    return _dense_rows(argument, array, known, unlisted, depth, ordered, higher_is_better)


def has_scores(value: Any, n_labels: int | None) -> bool | None:
    """Tell whether labels of a ranking come with scores, as bare lists do not; None where none is listed."""
    if isinstance(value, Source):
        return True
    if isinstance(value, WithOthers):
        value = value.rows
    if isinstance(value, Stored):
        return value.data is not None or (False if value.labels.size else None)
    if is_pair(value):
        return pair_has_scores(value)
    if n_labels is None or not isinstance(value, list):
        return True
    first = next((item for row in value if hasattr(row, "__iter__") for item in row), None)
    return None if first is None else isinstance(first, tuple | list)


def ordered_scores(
    argument: str, values: NDArray[Any], ptr: Ints, start: int, higher_is_better: bool = True
) -> Scores:
    """Return scores as float32 or float64 without loss; refuse NaN and what float64 cannot hold."""
    scores = _exact_scores(argument, values, ptr, start, higher_is_better)
    _refuse_nan(argument, scores, ptr, start)
    return scores


def _exact_scores(
    argument: str, values: NDArray[Any], ptr: Ints, start: int, higher_is_better: bool
) -> Scores:
    scores: Scores
    if values.dtype.char in EXACT_FLOAT32:
        scores = values.astype(np.float32, copy=False)
    else:
        scores = values.astype(np.float64, copy=False)
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            large = np.flatnonzero(
                (values > 2**53) | (values < -(2**53) if values.dtype.kind == "i" else False)
            )
            lost = [p for p in large if int(scores[p]) != int(values[p])][:1]
        else:
            lost = list(np.flatnonzero((scores != values) & (values == values))[:1])
        if lost:
            row = start + int(rows_of(ptr, np.array(lost))[0])
            value = values[lost[0]]
            raise InputError(argument, f"score {value} is not exact in float64", row=row, value=value)
    return np.ascontiguousarray(scores if higher_is_better else 0 - scores)


def _refuse_nan(argument: str, scores: Scores, ptr: Ints, start: int) -> None:
    if scores.size and np.isnan(scores.min()):
        row = start + int(rows_of(ptr, np.flatnonzero(np.isnan(scores))[:1])[0])
        raise InputError(
            argument, "score nan is not a number; scores must be ordered", row=row, value=float("nan")
        )


def refuse_padding(argument: str, matrix: Any) -> None:
    """Refuse blocks with zeros in them: a stored zero is a score, one that fills a block is none."""
    padded = matrix.format == "bsr" and matrix.blocksize != (1, 1) and not np.asarray(matrix.data).all()
    if padded:
        raise InputError(
            argument,
            Message(
                "zeros in the blocks of a bsr matrix may be scores or padding; give CSR, or ",
                Keyword("unlisted", "0.0"),
                " where every zero counts as not listed",
            ),
        )


def _dense_rows(
    argument: str,
    array: NDArray[Any],
    known: int,
    unlisted: float | None,
    depth: int | None,
    ordered: bool,
    higher_is_better: bool,
    named: NamedColumns | None = None,
) -> Source[Ranking]:
    """Accept a score for every label, in the order of their ids or of the columns of ``named``."""
    n_rows, width = check_shape(argument, array.shape, known)
    ids = np.arange(width) if named is None else named.labels
    if not ordered:
        depth = None  # where every label stands at its id, counting what is above a few is as fast

    known_cells: dict[int, tuple[Ints, Labels]] = {}  # blocks are of one size, but for the last

    def every_cell(n: int) -> tuple[Ints, Labels]:
        if n not in known_cells:
            labels = np.empty((n, width), label_dtype(width))
            labels[:] = ids  # unlike tile, this lets other threads work
            known_cells[n] = np.arange(n + 1) * width, labels.reshape(-1)
        return known_cells[n]

    def block(start: int, stop: int) -> Ranking:
        ptr, labels = every_cell(stop - start)
        scores = ordered_scores(argument, array[start:stop].reshape(-1), ptr, start, higher_is_better)
        given = Given(scores.size, is_binary(scores), several=width > 1 and stop > start)
        ranking = rank_entries(given, ptr, labels, scores, unlisted, depth, ordered)
        if named is None:
            return ranking
        if not ordered:
            return ranking._replace(columns=named.columns)
        return rank_ties_by_name(ranking, scores, named, depth)

    return Source(n_rows, width, (24.0 if ordered else PICKED_BYTES) * width, block)


def _sparse_rows(
    argument: str,
    matrix: Any,
    known: int,
    unlisted: float | None,
    depth: int | None,
    ordered: bool,
    higher_is_better: bool,
) -> Source[Ranking]:
    stored = stored_csr(argument, matrix, known)
    is_written = higher_is_better and getattr(matrix, "is_written", False)
    ties_in_order = getattr(matrix, "ties_in_order", False)
    n_rows, order = stored.ptr.size - 1, tie_order(getattr(matrix, "label_names", None), unlisted, known)

    def block(start: int, stop: int) -> Ranking:
        entries = cut_entries(argument, stored, start, stop)
        assert entries.data is not None
        data = entries.data
        scores = ordered_scores(argument, data, entries.ptr, start, higher_is_better)
        rises, drops = _as_written(entries, scores) if is_written else (False, False)
        seen_ids = look_at_rows(entries.ptr, entries.labels)
        if ties_in_order and entries.places is not None:
            entries, scores = _as_stored(entries, scores)
        ptr, labels = entries.ptr, entries.labels
        if unlisted is not None:
            # such an entry says what its absence would say; ties then go by id among all of them
            competing = scores != as_score(unlisted, scores)
            ptr, labels, *_ = keep_entries(entries, competing)
            scores = scores[competing]
        given = Given(scores.size, is_binary(data), rises, drops, lists_several(ptr), *seen_ids)
        return rank_entries(given, ptr, labels, scores, unlisted, depth, ordered)._replace(tie_order=order)

    per_entry = PICKED_BYTES if picks(depth, ordered) else 32.0
    per_row = per_entry * int(stored.ptr[-1]) / max(n_rows, 1)
    return Source(n_rows, stored.n_labels, per_row, block, listed=stored.listed)


def _as_stored(entries: Entries, scores: Scores) -> tuple[Entries, Scores]:
    """Return entries, and their scores, in the places where they stood before they were sorted by id."""
    places = entries.places
    assert places is not None
    assert entries.data is not None
    stored = np.empty_like(places)
    stored[places] = np.arange(places.size)
    ordered = Entries(entries.ptr, entries.labels[stored], entries.data[stored])
    return ordered, scores[stored]


def _as_written(entries: Entries, scores: Scores) -> tuple[bool, bool]:
    """Tell whether scores rise and fall in the order of the file; rows with rising ids have no order.

    Where scores fall in such a row, they are no distances in others, however the rows are cut into blocks.
    """
    if entries.places is None:
        return False, falls_somewhere(entries.ptr, scores)
    written = np.empty_like(scores)
    written[entries.places] = scores
    return rises_unsorted(entries.ptr, entries.places, written), falls_somewhere(entries.ptr, written)


def _list_rows(
    argument: str,
    labels: NDArray[Any],
    scores: NDArray[Any] | None,
    n_labels: int,
    unlisted: float | None,
    depth: int | None,
    higher_is_better: bool,
) -> Source[Ranking]:
    if labels.ndim != 2 or (labels.dtype.kind not in "iu" and labels.size):
        raise InputError(
            argument,
            f"labels of a top-k list must be integers of shape (m, k), not {labels.dtype} of "
            f"shape {labels.shape}",
        )
    if scores is not None and scores.shape != labels.shape:
        raise InputError(argument, f"labels of shape {labels.shape} have scores of shape {scores.shape}")
    if scores is None:
        _refuse_unlisted(argument, unlisted, higher_is_better)
    n_rows, width = labels.shape

    def listed(start: int, stop: int) -> Truth:
        return Truth(np.arange(stop - start + 1, dtype=np.int64) * width, labels[start:stop].reshape(-1))

    def block(start: int, stop: int) -> Ranking:
        ptr, ids = listed(start, stop)
        values = None if scores is None else scores[start:stop].reshape(-1)
        return _ranked_list(argument, ptr, ids, values, start, n_labels, unlisted, depth, higher_is_better)

    return Source(n_rows, n_labels, 24.0 * width, block, listed=listed)


def _refuse_unlisted(argument: str, unlisted: float | None, higher_is_better: bool) -> None:
    if unlisted is not None:
        given = unlisted if higher_is_better else 0 - unlisted
        compares = Keyword("unlisted", f"{given:g}"), " compares with scores; this list has none"
        raise InputError(argument, Message(*compares))


def _ranked_list(
    argument: str,
    ptr: Ints,
    ids: NDArray[Any],
    values: NDArray[Any] | None,
    start: int,
    n_labels: int,
    unlisted: float | None,
    depth: int | None,
    higher_is_better: bool,
) -> Ranking:
    """Check ids that are given best first, and order them where their scores do not fall."""
    given = ids
    if ids.dtype not in (np.int32, np.int64):
        ids = ids.astype(np.int64)
    ids = np.ascontiguousarray(ids)
    seen_ids: Ints = np.empty(2, np.int64)
    code, row, position = check_list(ptr, ids, n_labels, seen_ids)
    if code == BAD_LABEL:
        bad = np.flatnonzero((given < -1) | (given >= n_labels))  # an unsigned id may have become -1
        if bad.size:
            row, label = start + int(rows_of(ptr, bad[:1])[0]), int(given[bad[0]])
            expected = f"0..{n_labels - 1} (or -1, an empty slot)"
            raise LabelRangeError(argument, f"label id {label} is not in {expected}", row=row, value=label)
        ptr, ids, values, _ = keep_entries(Entries(ptr, ids, values), ids >= 0)
        code, row, position = check_list(ptr, ids, n_labels, seen_ids)
    if code != FINE:
        refuse_code(argument, code, start + row, int(ids[position]), n_labels)
    labels = ids.astype(label_dtype(n_labels), copy=False)
    if values is None:
        given_ids = Given(labels.size, False, False, False, lists_several(ptr), *seen_ids.tolist())
        return with_level(given_ids, ptr, labels, None, unlisted, depth)
    scores = _exact_scores(argument, values, ptr, start, higher_is_better)
    in_order = falls(ptr, scores)
    if not in_order:
        _refuse_nan(argument, scores, ptr, start)
    rises = higher_is_better and not in_order  # distances rise
    drops, several = falls_somewhere(ptr, scores), lists_several(ptr)
    seen = Given(scores.size, is_binary(scores), rises, drops, several, *seen_ids.tolist())
    if not in_order:
        labels, scores = labels.copy(), scores.copy()
        rank_rows(ptr, labels, scores)
    return with_level(seen, ptr, labels, scores, unlisted, depth)


def _ragged_rows(
    argument: str,
    lists: list[Any],
    n_labels: int,
    unlisted: float | None,
    depth: int | None,
    higher_is_better: bool,
) -> Source[Ranking]:
    """Accept one list per row, of ids or of (id, score) pairs, best first."""
    rows = [as_list(argument, row, items) for row, items in enumerate(lists)]
    with_scores = any(isinstance(item, tuple | list) for items in rows for item in items[:1]) or not any(rows)
    scores: list[float] = []
    if with_scores:
        scores = [_score_of(argument, row, pair) for row, pairs in enumerate(rows) for pair in pairs]
        rows = [[pair[0] for pair in pairs] for pairs in rows]
    stored = stored_lists(argument, rows, n_labels)
    data = np.array(scores, np.float64) if with_scores else None
    return _stored_list(argument, stored._replace(data=data), unlisted, depth, higher_is_better)


def _stored_list(
    argument: str, stored: Stored, unlisted: float | None, depth: int | None, higher_is_better: bool
) -> Source[Ranking]:
    """Accept labels of each row, best first, and their scores, if there are any."""
    data, n_rows = stored.data, stored.ptr.size - 1
    order = tie_order(stored.label_names, unlisted, stored.n_labels)
    if data is None and not stored.labels.size:
        data = np.empty(0, np.float64)  # rows that list nothing lack no score
    if data is None:
        _refuse_unlisted(argument, unlisted, higher_is_better)

    def block(start: int, stop: int) -> Ranking:
        lo, hi = int(stored.ptr[start]), int(stored.ptr[stop])
        ptr = stored.ptr[start : stop + 1] - lo
        values = None if data is None else data[lo:hi]
        labels = stored.labels[lo:hi]
        rows = argument, ptr, labels, values, start, stored.n_labels, unlisted, depth, higher_is_better
        return _ranked_list(*rows)._replace(tie_order=order)

    per_row = 32.0 * stored.labels.size / max(n_rows, 1)
    return Source(n_rows, stored.n_labels, per_row, block, listed=stored.listed)


def _score_of(argument: str, row: int, pair: Any) -> float:
    """Return the score of an (id, score) pair as a float of the same value, or refuse it."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(argument, f"{pair!r} is not an (id, score) pair", row=row, value=pair)
    try:
        score = float(pair[1])
        lost = score != pair[1] and score == score
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, f"score {pair[1]!r} is not a number", row=row, value=pair[1]) from None
    if lost or isinstance(pair[1], str):
        raise InputError(argument, f"score {pair[1]!r} is not exact in float64", row=row, value=pair[1])
    return score
