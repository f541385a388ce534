"""Scores and top-k lists, brought into rankings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import (
    Entries,
    Source,
    as_array,
    check_shape,
    cut_entries,
    is_sparse,
    keep_entries,
    matrix_rows,
    refuse_code,
    rows_of,
)
from xmleval.input.errors import InputError, LabelRangeError, positive_integer
from xmleval.input.glances import is_binary, lists_several
from xmleval.input.objects.named import rows_of_ids
from xmleval.input.pairs import is_pair, pair_has_scores, pair_members
from xmleval.input.ranked import picks, rank_entries, rank_ties_by_name, with_level
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.tensors import as_plain
from xmleval.input.ties import NamedColumns, tie_order
from xmleval.kernels.checking import BAD_LABEL, FINE, check_list, look_at_rows
from xmleval.kernels.ranking import falls, falls_somewhere, rank_rows, rises_unsorted
from xmleval.message import Keyword, Message, counted
from xmleval.records import Given, Ints, Labels, Ranking, Scores, as_score, label_dtype, row_sizes

PICKED_BYTES = 8.0  # of an entry in a matrix that is only read, for the best of its rows or cell by cell
EXACT_FLOAT32 = ("?", "b", "B", "h", "H", "e", "f")  # types that float32 holds without loss


@dataclass(frozen=True)
class Reading:
    """How scores are read.

    Parameters
    ----------
    argument : str
        What messages call them.
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of labels that are not listed, None where they rank below everything.
    depth : int or None
        Number of leading labels of a row that are needed, None for all.
    ordered : bool
        Whether labels are needed best first; if not, matrices are left in the order of their labels.
    higher_is_better : bool
        If not, they are distances: they are negated, and ``unlisted``, too.
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
                raise InputError(
                    self.argument, f"score {value} is not exact in float64", row=row, value=value
                )
        return np.ascontiguousarray(scores if self.higher_is_better else 0 - scores)

    def refuse_nan(self, scores: Scores, ptr: Ints, start: int) -> None:
        """Refuse scores that cannot be ordered."""
        if scores.size and np.isnan(scores.min()):
            row = start + int(rows_of(ptr, np.flatnonzero(np.isnan(scores))[:1])[0])
            said = "score nan is not a number; scores must be ordered"
            raise InputError(self.argument, said, row=row, value=float("nan"))


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
    if is_pair(value) and not isinstance(value, Rows):
        return _list_rows(how, *pair_members(how.argument, value, how.n_labels))
    if not is_sparse(value):
        value = as_plain(how.argument, value)
    if is_sparse(value):
        if how.unlisted != 0:
            refuse_padding(how.argument, value)
        rows, names = matrix_rows(how.argument, value, how.n_labels), getattr(value, "label_names", None)
        value = rows._replace(names=names, is_written=names is not None)
    if n_labels is not None and isinstance(value, list):
        value = rows_of_ids(how.argument, value)._replace(best_first=True)
    if isinstance(value, Rows):
        how = replace(how, n_labels=max(how.n_labels, len(value.names or ())))
        is_list = value.best_first or value.values is None
        return _listed_rows(how, value) if is_list else _entry_rows(how, value)
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
    ids = np.arange(width) if named is None else named.labels
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
        scores = how.scores(array[start:stop].reshape(-1), ptr, start)
        how.refuse_nan(scores, ptr, start)
        given = Given(scores.size, is_binary(scores), several=width > 1 and stop > start)
        entries = Ranking(ptr, labels, scores, row_sizes(ptr), given=given)
        ranking = rank_entries(entries, how.level, depth, how.ordered)
        if named is None:
            return ranking
        if not how.ordered:
            return ranking._replace(columns=named.columns)
        return rank_ties_by_name(ranking, scores, named, depth)

    return Source(n_rows, width, (24.0 if how.ordered else PICKED_BYTES) * width, block)


def _entry_rows(how: Reading, rows: Rows) -> Source[Ranking]:
    """Accept scores of labels in any order, of which equal ones rank by id or, with names, as they stand."""
    is_written, level = rows.is_written and how.higher_is_better, how.level
    ties_in_order, order = rows.named, tie_order(rows.names, level, how.n_labels)

    def block(start: int, stop: int) -> Ranking:
        ptr, labels, data, places = cut_entries(how.argument, rows, how.n_labels, start, stop)
        assert data is not None
        scores = written = how.scores(data, ptr, start)
        how.refuse_nan(scores, ptr, start)
        seen_ids = look_at_rows(ptr, labels)
        if places is not None and (is_written or ties_in_order):
            written = np.empty_like(scores)
            written[places] = scores
        # rows with rising ids have no order; where scores fall in one, they are no distances in other blocks
        rises = is_written and places is not None and rises_unsorted(ptr, places, written)
        drops = is_written and falls_somewhere(ptr, written)
        if places is not None and ties_in_order:
            labels, scores = rows.part(start, stop).labels.astype(labels.dtype), written
        if level is not None:
            # such an entry says what its absence would say; ties then go by id among all of them
            competing = scores != as_score(level, scores)
            ptr, labels, *_ = keep_entries(Entries(ptr, labels, None), competing)
            scores = scores[competing]
        given = Given(scores.size, is_binary(data), rises, drops, lists_several(ptr), *seen_ids)
        listed = Ranking(ptr, labels, scores, row_sizes(ptr), given=given, tie_order=order)
        return rank_entries(listed, level, how.depth, how.ordered)

    row_bytes = (PICKED_BYTES if picks(how.depth, how.ordered) else 32.0) * _mean_size(rows)
    return Source(rows.n_rows, how.n_labels, row_bytes, block, listed=rows.part)


def _mean_size(rows: Rows) -> float:
    return int(rows.ptr[-1]) / max(rows.n_rows, 1)


def _list_rows(how: Reading, labels: NDArray[Any], scores: NDArray[Any] | None) -> Source[Ranking]:
    if labels.ndim != 2 or (labels.dtype.kind not in "iu" and labels.size):
        said = f"labels of a top-k list must be integers of shape (m, k), not {labels.dtype} of shape "
        raise InputError(how.argument, f"{said}{labels.shape}")
    if scores is not None and scores.shape != labels.shape:
        raise InputError(how.argument, f"labels of shape {labels.shape} have scores of shape {scores.shape}")
    if scores is None:
        _refuse_unlisted(how)
    n_rows, width = labels.shape

    def listed(start: int, stop: int) -> Rows:
        values = None if scores is None else scores[start:stop].reshape(-1)
        return rows_by_id(np.arange(stop - start + 1) * width, labels[start:stop].reshape(-1), values)

    def block(start: int, stop: int) -> Ranking:
        return _ranked_list(how, listed(start, stop), start)

    return Source(n_rows, how.n_labels, 24.0 * width, block, listed=listed)


def _refuse_unlisted(how: Reading) -> None:
    if how.unlisted is not None:
        compares = Keyword("unlisted", f"{how.unlisted:g}"), " compares with scores; this list has none"
        raise InputError(how.argument, Message(*compares))


def _ranked_list(how: Reading, rows: Rows, start: int) -> Ranking:
    """Check ids that are given best first, and order them where their scores do not fall."""
    ptr, ids, values, n_labels = rows.ptr, rows.labels, rows.values, how.n_labels
    if ids.dtype not in (np.int32, np.int64):
        ids = ids.astype(np.int64)
    ids = np.ascontiguousarray(ids)
    seen_ids: Ints = np.empty(2, np.int64)
    code, row, position = check_list(ptr, ids, n_labels, seen_ids)
    if code == BAD_LABEL:
        stored = rows.labels  # unsigned ids may have become -1
        bad = np.flatnonzero((stored < -1) | (stored >= n_labels))
        if bad.size:
            row, label = start + int(rows_of(ptr, bad[:1])[0]), int(stored[bad[0]])
            said = f"label id {label} is not in 0..{n_labels - 1} (or -1, an empty slot)"
            raise LabelRangeError(how.argument, said, row=row, value=label)
        ptr, ids, values, _ = keep_entries(Entries(ptr, ids, values), ids >= 0)
        code, row, position = check_list(ptr, ids, n_labels, seen_ids)
    if code != FINE:
        refuse_code(how.argument, code, start + row, int(ids[position]), n_labels)
    labels = ids.astype(label_dtype(n_labels), copy=False)
    several = lists_several(ptr)
    if values is None:
        given = Given(labels.size, False, False, False, several, *seen_ids.tolist())
        return with_level(Ranking(ptr, labels, None, row_sizes(ptr), given=given), how.level, how.depth)
    scores = how.scores(values, ptr, start)
    in_order = falls(ptr, scores)
    rises, drops = how.higher_is_better and not in_order, falls_somewhere(ptr, scores)  # distances rise
    given = Given(scores.size, is_binary(scores), rises, drops, several, *seen_ids.tolist())
    if not in_order:
        how.refuse_nan(scores, ptr, start)
        labels, scores = labels.copy(), scores.copy()
        rank_rows(ptr, labels, scores)
    return with_level(Ranking(ptr, labels, scores, row_sizes(ptr), given=given), how.level, how.depth)


def _listed_rows(how: Reading, rows: Rows) -> Source[Ranking]:
    """Accept labels of each row, best first, and their scores, if there are any."""
    if rows.values is None and not rows.labels.size:
        rows = rows._replace(values=np.empty(0, np.float64))  # rows that list nothing lack no score
    if rows.values is None:
        _refuse_unlisted(how)
    order = tie_order(rows.names, how.level, how.n_labels)

    def block(start: int, stop: int) -> Ranking:
        return _ranked_list(how, rows.part(start, stop), start)._replace(tie_order=order)

    return Source(rows.n_rows, how.n_labels, 32.0 * _mean_size(rows), block, listed=rows.part)
