"""Scores and top-k lists, brought into rankings: sorted or picked, cut to a depth, ties in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints, Labels, Scores, as_score, label_dtype, row_sizes
from xmleval.base.errors import Field, InputError, Message, counted
from xmleval.input.canonical import Ranking, RawScores, Truth
from xmleval.input.csr import NO_PAIR, Source, as_array, check_shape, matrix_rows, refuse_code, sorted_part
from xmleval.input.objects.named import Pair
from xmleval.input.rows import Rows, array_rows, name_places, pointer, rows_by_id
from xmleval.input.tensors import as_plain, is_sparse
from xmleval.kernels.checking import BAD_LABEL, FINE, check_list, look_at_ids
from xmleval.kernels.ranking import (
    copy_heads,
    count_leading,
    count_reaching,
    head_pointer,
    rank_rows,
    rises_unsorted,
    select_heads,
    steps_of,
)
from xmleval.kernels.ties import collect_cut_ties, count_cut_ties, flag_cut_ties

PICKED_BYTES = 8.0  # of an entry in a matrix that is only read, for the best of its rows or cell by cell
LOSSY = "lqLQg"  # types that float64 may not hold
SELECTED = 32  # depth up to which keeping the best of a row beats sorting it
SHALLOW = 18  # depth up to which it also beats counting what is above each relevant label of a row


class Reading(NamedTuple):
    """How scores are read.

    argument : what messages call them; n_labels : number of labels
    unlisted : score in rankings of labels that are not listed, None where they rank below everything
    depth : number of leading labels of a row that are needed, None for all
    ordered : whether labels are needed best first; if not, matrices are left in the order of their labels
    higher_is_better : if not, they are distances, which are negated in rankings
    left : takes labels out of the entries of rows from a number on, before they are ranked
    """

    argument: str
    n_labels: int
    unlisted: float | None = None
    depth: int | None = None
    ordered: bool = True
    higher_is_better: bool = True
    left: Callable[[Ranking, int], Ranking] | None = None

    @property
    def picks(self) -> bool:
        """Whether the best few of a row are picked, in order even where that is not asked for."""
        return self.depth is not None and self.depth <= (SELECTED if self.ordered else SHALLOW)

    def scores(self, rows: Rows, start: int, may_be_nan: bool = False) -> Scores:
        """Return scores as float32 or float64 without loss, or refuse what float64 cannot hold, or order."""
        values = rows.values
        assert values is not None
        dtype = np.float32 if np.can_cast(values, np.float32) else np.float64
        scores: Scores = values.astype(dtype, copy=False)
        if values.dtype.char in LOSSY:
            with np.errstate(invalid="ignore"):  # of integers whose float is too large for their type
                lost = (scores.astype(values.dtype) != values) & ~np.isnan(scores)
            rows.refuse_first(self.argument, "score", lost, start, "is not exact in float64")
        if not may_be_nan and scores.size and np.isnan(scores.min()):
            reason = "is not a number; scores must be ordered"
            rows.refuse_first(self.argument, "score", np.isnan(scores), start, reason)
        return np.ascontiguousarray(scores if self.higher_is_better else 0 - scores)


def ranking_rows(value: object, how: Reading) -> Source[Ranking]:
    """Accept scores without names, in any form, and rank them block by block; refuse NaN and bad ids."""
    if how.unlisted is not None:
        how = how._replace(depth=None)  # what competes with unlisted labels depends on every listed one
    if is_sparse(value) and how.unlisted != 0:
        refuse_padding(how.argument, value)
    rows = by_number(how.argument, value, how.n_labels)
    if isinstance(rows, Rows):
        return _listed_rows(how._replace(n_labels=max(how.n_labels, len(rows.names or ()))), rows)
    shape = rows.shape
    if rows.ndim == 2 and shape[1] != how.n_labels and rows.dtype.kind in "iu":
        ids = "; label ids are given as a pair of labels and their scores or None"
        message = f"shape {shape} has {counted(shape[1], 'labels')}, not {how.n_labels}{ids}"
        raise InputError(how.argument, message)
    check_shape(how.argument, shape, how.n_labels)
    return _listed_rows(how, array_rows(rows))


def by_number(argument: str, value: object, n_labels: int | None) -> Any:
    """Return scores without names as rows by id, or as a dense array."""
    if is_pair(value):
        return list_rows(argument, *pair_members(argument, value, n_labels))
    value = as_plain(argument, value)
    if is_sparse(value):
        names = getattr(value, "label_names", None)
        return matrix_rows(argument, value, n_labels)._replace(names=names, is_written=names is not None)
    return value if isinstance(value, Rows) else as_array(argument, value)


def pair_members(
    argument: str, value: Pair, n_labels: int | None
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return labels and scores: members of a dict or of `torch.topk` by name, else integers are labels."""
    named = True
    if isinstance(value, Mapping):
        value = value.get("indices"), value.get("scores")
    elif hasattr(value, "indices") and hasattr(value, "values"):
        value = value.indices, value.values
    else:
        named = False
    if len(value) != 2:
        raise InputError(argument, NO_PAIR.format(len(value)))
    labels = as_array(argument, value[0])
    if value[1] is None:
        return labels, None
    scores = as_array(argument, value[1])
    if not named and scores.dtype.kind in "iu":
        if labels.dtype.kind == "f":
            return scores, labels
        end = np.inf if n_labels is None else n_labels
        are_ints = labels.dtype.kind in "iu" and labels.size > 0 and scores.size > 0
        if are_ints and min(labels.min(), scores.min()) >= -1 and max(labels.max(), scores.max()) < end:
            message = "two arrays of integers that can both be labels"
            raise InputError(argument, f"{message}; give the scores as floating-point numbers")
    return labels, scores


def is_pair(value: object) -> TypeGuard[Pair]:
    """Tell whether a value holds labels and scores, or labels alone."""
    is_tuple = isinstance(value, tuple) and not isinstance(value, Rows)
    return is_tuple or (isinstance(value, Mapping) and not is_sparse(value))


def list_width(value: object, n_labels: int) -> int | None:
    """Return how many labels each row of a top-k list holds, if all as many; None of anything else."""
    rows = list_rows("y_score", *pair_members("y_score", value, n_labels)) if is_pair(value) else value
    sizes = {*row_sizes(rows.ptr).tolist()} if isinstance(rows, Rows) and rows.best_first else ()
    return sizes.pop() if len(sizes) == 1 else None


def has_scores(value: object) -> bool | None:
    """Tell whether labels of a ranking come with scores, as bare lists do not; None where none is listed."""
    if isinstance(value, Rows):
        return value.values is not None or (False if value.labels.size else None)
    if not is_pair(value):
        return True
    members = (None, value.get("scores")) if isinstance(value, Mapping) else value
    return len(members) == 2 and members[1] is not None


def refuse_padding(argument: str, matrix: Any) -> None:
    """Refuse blocks with zeros in them: a stored zero is a score, one that fills a block is none."""
    padded = matrix.format == "bsr" and matrix.blocksize != (1, 1) and not np.asarray(matrix.data).all()
    if padded:
        message = "zeros in the blocks of a bsr matrix may be scores or padding; its .tocsr() keeps them, "
        message += "eliminate_zeros() of that drops them; or give "
        fix = Field("unlisted", "0.0"), " where every zero counts as not listed"
        raise InputError(argument, Message(message, *fix))


def is_binary(scores: NDArray[Any]) -> bool:
    """Tell whether every score is 0 or 1, looking at few of them where the first ones tell."""
    if scores.size and scores.flat[0] not in (0, 1):
        return False
    few = scores[:1024]
    return bool(((few == 0) | (few == 1)).all() and ((scores == 0) | (scores == 1)).all())


def list_rows(argument: str, labels: NDArray[Any], scores: NDArray[Any] | None = None) -> Rows:
    """Return the rows of arrays (m, k) of labels and their scores."""
    if labels.ndim != 2 or (labels.dtype.kind not in "iu" and labels.size):
        message = f"labels of a top-k list must be integers of shape (m, k), not {labels.dtype} of shape "
        raise InputError(argument, f"{message}{labels.shape}")
    if scores is not None and scores.shape != labels.shape:
        raise InputError(argument, f"labels of shape {labels.shape} have scores of shape {scores.shape}")
    ptr = np.arange(len(labels) + 1, dtype=label_dtype(labels.size)) * labels.shape[1]
    return rows_by_id(ptr, labels.reshape(-1), None if scores is None else scores.reshape(-1), True)


def _listed_rows(how: Reading, rows: Rows) -> Source[Ranking]:
    """Accept labels of each row: best first, or in any order with their scores, or a score for each label."""
    is_list = rows.best_first or rows.values is None
    if rows.values is None and not rows.labels.size:
        rows = rows._replace(values=np.empty(0, np.float64))  # rows that list nothing lack no score
    order = None if how.unlisted is None else _order_of_ties(how, rows, how.unlisted)
    is_counted = rows.is_matrix and not how.ordered
    if is_counted:  # what is above a few of all labels, which is as fast as picking the best
        how = how._replace(depth=None)
    ranked = _ranked_entries
    if is_list:
        how = how._replace(ordered=True)
        ranked = _ranked_list
    every_cell = dict[int, Rows]()  # blocks of one size share their labels

    def block(start: int, stop: int) -> Ranking:
        if rows.is_matrix:
            if stop - start not in every_cell:
                every_cell[stop - start] = rows.part(0, stop - start)
            cells = np.asarray(rows.values)[start:stop].reshape(-1)
            part = every_cell[stop - start]._replace(values=cells)
        else:
            part = rows.part(start, stop)
        return ranked(how, part, start)._replace(tie_order=order)

    row_bytes = 24.0 if is_list else PICKED_BYTES if how.picks or is_counted else 32.0
    mean_size = int(rows.ptr[-1]) / max(rows.n_rows, 1)
    return Source(rows.n_rows, how.n_labels, row_bytes * mean_size, block, listed=rows.part)


def _order_of_ties(how: Reading, rows: Rows, unlisted: float) -> Labels | None:
    """Return the places that order ties with unlisted labels, None by id, or refuse lists without scores."""
    if rows.values is None:
        level = unlisted if how.higher_is_better else 0 - unlisted
        compares = Field("unlisted", f"{level:g}"), " compares with scores; this list has none"
        raise InputError(how.argument, Message(*compares))
    names = rows.names
    if names is None or len(names) != how.n_labels or not all(isinstance(name, str) for name in names):
        return None
    return name_places(names).astype(label_dtype(how.n_labels))


def _ranked_entries(how: Reading, rows: Rows, start: int) -> Ranking:
    """Check scores of labels in any order, of which equal ones rank by id or, with names, as they stand."""
    if rows.are_columns and rows.labels.size == rows.n_rows * how.n_labels:
        scores = how.scores(rows, start)
        return _ranked(how, rows.ptr, rows.labels, scores, start, RawScores(0, is_binary(scores)))
    if rows.named and how.unlisted is None and (ranking := _ranked_as_written(how, rows, start)):
        return ranking
    part, places = sorted_part(how.argument, rows, how.n_labels, start)
    ptr = part.ptr
    labels = part.labels
    scores = how.scores(part, start)
    seen = look_at_ids(labels)
    binary = is_binary(np.asarray(part.values))
    written = scores if places is None else how.scores(rows, start)
    is_written = rows.is_written and how.higher_is_better
    # rows with rising ids have no order; where scores fall in one, they are no distances in other blocks
    rises = is_written and places is not None and rises_unsorted(ptr, places, written)
    drops = is_written and steps_of(ptr, written)[1] > 0
    if places is not None and rows.named:
        labels, scores = rows.labels.astype(labels.dtype), written
    if how.unlisted is not None:
        # such an entry says what its absence would say; ties then go by id among all of them
        competing = scores != as_score(how.unlisted, scores)
        ptr, labels, scores = pointer(competing)[ptr], labels[competing], scores[competing]
    return _ranked(how, ptr, labels, scores, start, RawScores(0, binary, rises, drops, *seen))


def _ranked_as_written(how: Reading, rows: Rows, start: int) -> Ranking | None:
    """Return rows whose scores never rise as they stand, None if they need a closer look."""
    scores = how.scores(rows, start, may_be_nan=True)
    seen = np.empty(2, np.int64)
    n_above, n_below, n_equal, n_nan = steps_of(rows.ptr, scores)
    ids = _as_ids(rows.labels)
    if n_above or n_nan or check_list(rows.ptr, ids, how.n_labels, seen)[0] != FINE:
        return None
    missing, highest = seen.tolist()
    drops = rows.is_written and how.higher_is_better and n_below > 0
    raw = RawScores(0, is_binary(np.asarray(rows.values)), False, drops, missing, highest, n_equal > 0)
    labels = ids.astype(label_dtype(how.n_labels), copy=False)
    return _ranked(how, rows.ptr, labels, scores, start, raw, in_order=True)


def _as_ids(labels: Labels) -> Labels:
    """Return labels as `check_list` takes them."""
    return np.ascontiguousarray(labels, None if labels.dtype in (np.int32, np.int64) else np.int64)


def _ranked_list(how: Reading, rows: Rows, start: int) -> Ranking:
    """Check ids that are given best first, and order them where their scores do not fall."""
    ptr = rows.ptr
    labels = rows.labels
    seen = np.empty(2, np.int64)
    ids = _as_ids(labels)
    code, row, place = check_list(ptr, ids, how.n_labels, seen)
    if code == BAD_LABEL and (empty := labels == -1).any():
        return _ranked_list(how, rows.only(~empty), start)
    if code != FINE:
        slots = " (or -1, an empty slot)"
        refuse_code(how.argument, code, start + row, int(labels[place]), how.n_labels, slots)
    labels = ids.astype(label_dtype(how.n_labels), copy=False)
    missing, highest = seen.tolist()
    if rows.values is None:
        raw = RawScores(0, False, missing=missing, highest=highest, ties=False)
        return _ranked(how, ptr, labels, None, start, raw, in_order=True)
    scores = how.scores(rows, start, may_be_nan=True)
    n_above, n_below, n_equal, n_nan = steps_of(ptr, scores)
    if n_nan:
        scores = how.scores(rows, start)  # which refuses them
    in_order = n_above == 0
    rises = how.higher_is_better and not in_order  # distances do
    ties = n_equal > 0 or not in_order
    raw = RawScores(0, is_binary(np.asarray(rows.values)), rises, n_below > 0, missing, highest, ties)
    return _ranked(how, ptr, labels, scores, start, raw, in_order)


def _ranked(
    how: Reading,
    ptr: Ints,
    labels: Labels,
    scores: Scores | None,
    start: int,
    raw: RawScores,
    in_order: bool = False,
) -> Ranking:
    """Rank entries, equal ones as they stand; unlisted labels stand behind listed ones of their score."""
    ranking = Ranking(ptr, labels, scores, row_sizes(ptr))
    ranking = how.left(ranking, start) if how.left else ranking
    ptr, labels, scores = ranking[:3]
    ranking = ranking._replace(raw=raw._replace(n_listed=labels.size))
    level = how.unlisted
    if scores is not None and not in_order:
        if how.depth is not None and how.picks:
            return _best(ranking, how.depth, in_order=False)
        if not how.ordered:
            if level is not None:
                count_reaching(ptr, scores, as_score(level, scores), ranking.n_above)
            return ranking._replace(ordered=False)
        labels = labels.copy()
        scores = scores.copy()
        rank_rows(ptr, labels, scores)
        ranking = ranking._replace(labels=labels, scores=scores)
    if level is not None and scores is not None:
        count_leading(ptr, scores, as_score(level, scores), True, ranking.n_above)
    return ranking if how.depth is None else _best(ranking, how.depth)


def _best(ranking: Ranking, depth: int, in_order: bool = True) -> Ranking:
    """Return the best ``depth`` entries of each row, and the labels that were cut and tie with the last."""
    ptr, labels, scores = ranking[:3]
    head_ptr = head_pointer(ptr, depth)
    if in_order and head_ptr[-1] == ptr[-1]:
        return ranking
    heads = np.empty(head_ptr[-1], labels.dtype)
    head_scores: Scores | None = None
    cut_ties: Truth | None = None
    if scores is None:
        copy_heads(ptr, labels, head_ptr, heads)
    else:
        head_scores = np.empty(head_ptr[-1], scores.dtype)
        tied = np.zeros(ptr.size - 1, np.bool_)
        if not in_order:
            select_heads(ptr, labels, scores, head_ptr, heads, head_scores, tied)
        else:
            copy_heads(ptr, labels, head_ptr, heads)
            copy_heads(ptr, scores, head_ptr, head_scores)
            if ranking.has_ties:
                flag_cut_ties(ptr, scores, head_ptr, tied)
        if tied.any():
            cut_ptr = np.empty(ptr.size, np.int64)
            count_cut_ties(ptr, scores, head_ptr, head_scores, tied, cut_ptr)
            cut_ties = Truth(cut_ptr, np.empty(cut_ptr[-1], labels.dtype))
            collect_cut_ties(ptr, labels, scores, head_ptr, head_scores, *cut_ties[:2])
    n_above = np.minimum(ranking.n_above, row_sizes(head_ptr))
    return ranking._replace(
        ptr=head_ptr, labels=heads, scores=head_scores, n_above=n_above, cut_ties=cut_ties
    )
