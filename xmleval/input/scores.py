"""Scores and top-k lists, brought into rankings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import (
    Source,
    as_array,
    check_shape,
    is_sparse,
    matrix_rows,
    refuse_code,
    refuse_first,
    sorted_part,
)
from xmleval.input.errors import InputError, LabelRangeError, positive_integer
from xmleval.input.glances import is_binary, lists_several
from xmleval.input.objects.named import rows_of_ids
from xmleval.input.pairs import is_pair, pair_has_scores, pair_members
from xmleval.input.ranked import picks, rank_entries, with_level
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.tensors import as_plain
from xmleval.input.ties import NamedColumns, tie_order
from xmleval.kernels.checking import BAD_LABEL, FINE, check_list, look_at_rows
from xmleval.kernels.ranking import falls, falls_somewhere, rank_rows, rises_unsorted
from xmleval.message import Keyword, Message, counted
from xmleval.records import Given, Ints, Labels, Ranking, Scores, as_score, label_dtype, row_sizes

PICKED_BYTES = 8.0  # of an entry in a matrix that is only read, for the best of its rows or cell by cell
LOSSY = "lqLQg"  # types that float64 may not hold


@dataclass(frozen=True)
class Reading:
    """How scores are read.

    argument : what messages call them; n_labels : number of labels
    unlisted : score of labels that are not listed, None where they rank below everything
    depth : number of leading labels of a row that are needed, None for all
    ordered : whether labels are needed best first; if not, matrices are left in the order of their labels
    higher_is_better : if not, they are distances: they are negated, and ``unlisted``, too
    """

    argument: str
    n_labels: int
    unlisted: float | None = None
    depth: int | None = None
    ordered: bool = True
    higher_is_better: bool = True

    @property
    def level(self) -> float | None:
        """Score of unlisted labels in rankings."""
        return self.unlisted if self.higher_is_better or self.unlisted is None else 0 - self.unlisted

    def scores(self, values: NDArray[Any], ptr: Ints, start: int) -> Scores:
        """Return scores as float32 or float64 without loss, or refuse what float64 cannot hold."""
        dtype = np.float32 if np.can_cast(values, np.float32) else np.float64
        scores: Scores = values.astype(dtype, copy=False)
        if values.dtype.char in LOSSY:
            lost = np.abs(scores) >= 2**53 if values.dtype.kind in "iu" else scores != values
            places = np.flatnonzero(lost & ~np.isnan(scores))
            lost[:] = False
            lost[places] = [scores[place].item() != values[place].item() for place in places]
            refuse_first(self.argument, "score", lost, values, ptr, start, "is not exact in float64")
        return np.ascontiguousarray(scores if self.higher_is_better else 0 - scores)

    def refuse_nan(self, scores: Scores, ptr: Ints, start: int) -> None:
        """Refuse scores that cannot be ordered."""
        if scores.size and np.isnan(scores.min()):
            reason = "is not a number; scores must be ordered"
            refuse_first(self.argument, "score", np.isnan(scores), scores, ptr, start, reason)


def ranking_rows(value: Any, n_labels: int | None, how: Reading) -> Source[Ranking]:
    """Accept scores in any form and rank them block by block.

    ``value`` is a sparse matrix or array, rows by id, a dense array, a (labels, scores) pair whose scores may
    be None, or, where the caller gave ``n_labels``, ragged lists. NaN, ids that are out of range or twice in
    a row, and other shapes are refused.
    """
    if n_labels is not None:
        positive_integer("n_labels", n_labels)
    if how.unlisted is not None:
        how = replace(how, depth=None)  # what competes with unlisted labels depends on every listed one
    if isinstance(value, NamedColumns):
        return _dense_rows(replace(how, n_labels=value.labels.size), value.matrix, value)
    if is_pair(value):
        return _pair_rows(how, *pair_members(how.argument, value, how.n_labels))
    value = as_plain(how.argument, value)
    if is_sparse(value):
        if how.unlisted != 0:
            refuse_padding(how.argument, value)
        names = getattr(value, "label_names", None)
        rows = matrix_rows(how.argument, value, how.n_labels)
        value = rows._replace(names=names, is_written=names is not None)
    elif n_labels is not None and isinstance(value, list):
        value = rows_of_ids(how.argument, value)._replace(best_first=True)
    if isinstance(value, Rows):
        return _listed_rows(replace(how, n_labels=max(how.n_labels, len(value.names or ()))), value)
    array = as_array(how.argument, value)
    if array.ndim == 2 and array.shape[1] != how.n_labels and array.dtype.kind in "iu":
        ids = "; label ids are given as a pair of labels and their scores or None"
        said = f"shape {array.shape} has {counted(array.shape[1], 'labels')}, not {how.n_labels}{ids}"
        raise InputError(how.argument, said)
    return _dense_rows(how, array)


def has_scores(value: Any, n_labels: int | None) -> bool | None:
    """Tell whether labels of a ranking come with scores, as bare lists do not; None where none is listed."""
    if isinstance(value, Rows):
        return value.values is not None or (False if value.labels.size else None)
    if is_pair(value):
        return pair_has_scores(value)
    if n_labels is None or not isinstance(value, list):
        return True
    first = next((item for row in value if hasattr(row, "__iter__") for item in row), None)
    return None if first is None else isinstance(first, tuple | list)


def refuse_padding(argument: str, matrix: Any) -> None:
    """Refuse blocks with zeros in them: a stored zero is a score, one that fills a block is none."""
    padded = matrix.format == "bsr" and matrix.blocksize != (1, 1) and not np.asarray(matrix.data).all()
    if padded:
        said = "zeros in the blocks of a bsr matrix may be scores or padding; give CSR, or "
        fix = Keyword("unlisted", "0.0"), " where every zero counts as not listed"
        raise InputError(argument, Message(said, *fix))


def _dense_rows(how: Reading, array: NDArray[Any], named: NamedColumns | None = None) -> Source[Ranking]:
    """Accept a score for every label, in the order of their ids or of the columns of ``named``."""
    n_rows, width = check_shape(how.argument, array.shape, how.n_labels)
    ids = np.arange(width, dtype=label_dtype(width)) if named is None else named.labels
    order = None  # of the columns, so that of equal scores the first is ranked first
    if named is not None and how.ordered:
        order = np.argsort(named.columns.ranks)
        ids = ids[order]
    # where every label stands at its id, counting what is above a few is as fast
    depth = how.depth if how.ordered else None
    known_cells: dict[int, tuple[Ints, Labels]] = {}  # blocks are of one size, but for the last

    def every_cell(n: int) -> tuple[Ints, Labels]:
        if n not in known_cells:
            labels = np.empty((n, width), label_dtype(width))
            labels[:] = ids  # unlike tile, this lets other threads work
            known_cells[n] = np.arange(n + 1) * width, labels.reshape(-1)
        return known_cells[n]

    def block(start: int, stop: int) -> Ranking:
        ptr, labels = every_cell(stop - start)
        cells = array[start:stop] if order is None else array[start:stop].take(order, axis=1)
        scores = how.scores(cells.reshape(-1), ptr, start)
        how.refuse_nan(scores, ptr, start)
        given = Given(scores.size, is_binary(scores), several=width > 1 and stop > start)
        entries = Ranking(ptr, labels, scores, row_sizes(ptr), given=given)
        ranking = rank_entries(entries, how.level, depth, how.ordered)
        return ranking if named is None or how.ordered else ranking._replace(columns=named.columns)

    return Source(n_rows, width, (24.0 if how.ordered else PICKED_BYTES) * width, block)


def _pair_rows(how: Reading, labels: NDArray[Any], scores: NDArray[Any] | None) -> Source[Ranking]:
    """Accept a top-k list of arrays (m, k), of which views that are not contiguous are copied by block."""
    if labels.ndim != 2 or (labels.dtype.kind not in "iu" and labels.size):
        said = f"labels of a top-k list must be integers of shape (m, k), not {labels.dtype} of shape "
        raise InputError(how.argument, f"{said}{labels.shape}")
    if scores is not None and scores.shape != labels.shape:
        raise InputError(how.argument, f"labels of shape {labels.shape} have scores of shape {scores.shape}")
    if scores is None and not labels.size:
        scores = np.empty(labels.shape)  # rows that list nothing lack no score
    n_rows, width = labels.shape

    def part(start: int, stop: int) -> Rows:
        values = None if scores is None else scores[start:stop].reshape(-1)
        ptr = np.arange(stop - start + 1) * width
        return rows_by_id(ptr, labels[start:stop].reshape(-1), values, best_first=True)

    def block(start: int, stop: int) -> Ranking:
        return _ranked_list(how, part(start, stop), start)

    first = _listed_rows(how, part(0, min(n_rows, 1)))
    return first._replace(n_rows=n_rows, block=block, listed=part)


def _listed_rows(how: Reading, rows: Rows) -> Source[Ranking]:
    """Accept labels of each row: best first, or in any order with their scores."""
    is_list, row_bytes = rows.best_first or rows.values is None, 24.0
    if rows.values is None and not rows.labels.size:
        rows = rows._replace(values=np.empty(0, np.float64))  # rows that list nothing lack no score
    if rows.values is None and how.unlisted is not None:
        compares = Keyword("unlisted", f"{how.unlisted:g}"), " compares with scores; this list has none"
        raise InputError(how.argument, Message(*compares))
    if not is_list:
        row_bytes = PICKED_BYTES if picks(how.depth, how.ordered) else 32.0
    order = tie_order(rows.names, how.level, how.n_labels)

    def block(start: int, stop: int) -> Ranking:
        if is_list:
            return _ranked_list(how, rows.part(start, stop), start)._replace(tie_order=order)
        return _ranked_entries(how, rows, start, stop)._replace(tie_order=order)

    mean_size = int(rows.ptr[-1]) / max(rows.n_rows, 1)
    return Source(rows.n_rows, how.n_labels, row_bytes * mean_size, block, listed=rows.part)


def _ranked_entries(how: Reading, rows: Rows, start: int, stop: int) -> Ranking:
    """Check scores of labels in any order, of which equal ones rank by id or, with names, as they stand."""
    part, places = sorted_part(how.argument, rows, how.n_labels, start, stop)
    ptr, labels, data = part.ptr, part.labels, part.values
    assert data is not None
    scores = written = how.scores(data, ptr, start)
    how.refuse_nan(scores, ptr, start)
    seen_ids = look_at_rows(ptr, labels)
    is_written = rows.is_written and how.higher_is_better
    if places is not None and (is_written or rows.named):
        written = np.empty_like(scores)
        written[places] = scores
    # rows with rising ids have no order; where scores fall in one, they are no distances in other blocks
    rises = is_written and places is not None and rises_unsorted(ptr, places, written)
    drops = is_written and falls_somewhere(ptr, written)
    if places is not None and rows.named:
        labels, scores = rows.part(start, stop).labels.astype(labels.dtype), written
    if how.level is not None:
        # such an entry says what its absence would say; ties then go by id among all of them
        competing = scores != as_score(how.level, scores)
        ptr, labels, scores = pointer(competing)[ptr], labels[competing], scores[competing]
    given = Given(scores.size, is_binary(data), rises, drops, lists_several(ptr), *seen_ids)
    listed = Ranking(ptr, labels, scores, row_sizes(ptr), given=given)
    return rank_entries(listed, how.level, how.depth, how.ordered)


def _ranked_list(how: Reading, rows: Rows, start: int) -> Ranking:
    """Check ids that are given best first, and order them where their scores do not fall."""
    n_labels, seen_ids = how.n_labels, np.empty(2, np.int64)
    ids = rows.labels if rows.labels.dtype in (np.int32, np.int64) else rows.labels.astype(np.int64)
    ids = np.ascontiguousarray(ids)
    code, row, position = check_list(rows.ptr, ids, n_labels, seen_ids)
    if code == BAD_LABEL:
        bad = (rows.labels < -1) | (rows.labels >= n_labels)  # as stored: unsigned ids may have become -1
        reason = f"is not in 0..{n_labels - 1} (or -1, an empty slot)"
        refuse_first(
            how.argument, "label id", bad, rows.labels, rows.ptr, start, reason, error=LabelRangeError
        )
        rows = rows._replace(labels=ids).only(ids >= 0)
        ids = rows.labels
        code, row, position = check_list(rows.ptr, ids, n_labels, seen_ids)
    if code != FINE:
        refuse_code(how.argument, code, start + row, int(ids[position]), n_labels)
    ptr, labels = rows.ptr, ids.astype(label_dtype(n_labels), copy=False)
    given = Given(labels.size, False, False, False, lists_several(ptr), *seen_ids.tolist())
    scores = None if rows.values is None else how.scores(rows.values, ptr, start)
    if scores is not None:
        in_order = falls(ptr, scores)
        rises, drops = how.higher_is_better and not in_order, falls_somewhere(ptr, scores)  # distances rise
        given = given._replace(binary=is_binary(scores), rises=rises, falls=drops)
        if not in_order:
            how.refuse_nan(scores, ptr, start)
            labels, scores = labels.copy(), scores.copy()
            rank_rows(ptr, labels, scores)
    return with_level(Ranking(ptr, labels, scores, row_sizes(ptr), given=given), how.level, how.depth)
