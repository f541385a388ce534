"""Scores and top-k lists, converted to rankings that are sorted or picked, and cut to a depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints, Labels, Scores, as_score, label_dtype, row_sizes
from xmleval.base.errors import Field, InputError, Message, counted
from xmleval.input.canonical import RankedRows, RawScores, Truth
from xmleval.input.csr import (
    NO_PAIR,
    Source,
    as_array,
    check_shape,
    matrix_rows,
    refuse_code,
    sorted_part,
)
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
from xmleval.kernels.ties import append_ties, collect_cut_ties, count_cut_ties, flag_cut_ties

PICKED_BYTES = 8.0  # an entry of a matrix that is only read, to pick the best or cell by cell
LOSSY = "lqLQg"  # types that float64 may not represent exactly
SELECTED = 32  # depth up to which keeping the best of a row beats sorting it
SHALLOW = 18  # depth up to which it also beats counting what is above each relevant label of a row


class Reading(NamedTuple):
    """How scores are read.

    argument : its name in messages
    n_labels : number of labels
    unlisted : score of unlisted labels in rankings, None where they rank below everything
    depth : number of leading labels of a row that are needed, None for all
    ordered : whether labels are needed best first; if not, matrices are left in the order of their
        labels
    higher_is_better : if not, scores are distances, which are negated in rankings
    left : drops labels from the entries of rows before they are ranked; takes the first row's
        number, too
    keeps_ties : whether rows keep the labels that tie with the last leading one
    """

    argument: str
    n_labels: int
    unlisted: float | None = None
    depth: int | None = None
    ordered: bool = True
    higher_is_better: bool = True
    left: Callable[[RankedRows, int], RankedRows] | None = None
    keeps_ties: bool = False

    @property
    def picks(self) -> bool:
        """Whether the best few of a row are picked, which orders them even if not ``ordered``."""
        if self.depth is None:
            return False
        return self.depth <= (SELECTED if self.ordered else SHALLOW)

    def scores(self, rows: Rows, start: int, may_be_nan: bool = False) -> Scores:
        """Return scores as float32 or float64 without loss; refuse NaN and inexact numbers."""
        values = rows.values
        assert values is not None
        is_float32 = np.can_cast(values, np.float32)
        scores: Scores = values.astype(np.float32 if is_float32 else np.float64, copy=False)
        if values.dtype.char in LOSSY:
            # a float of a large integer may exceed the integer type
            with np.errstate(invalid="ignore"):
                is_changed = scores.astype(values.dtype) != values
            is_lost = is_changed & ~np.isnan(scores)
            rows.refuse_first(self.argument, "score", is_lost, start, "is not exact in float64")
        if not may_be_nan and scores.size and np.isnan(scores.min()):
            reason = "is not a number; scores must be ordered"
            rows.refuse_first(self.argument, "score", np.isnan(scores), start, reason)
        if not self.higher_is_better:
            scores = 0 - scores
        return np.ascontiguousarray(scores)


def ranking_rows(value: object, reading: Reading) -> Source[RankedRows]:
    """Check scores without names, in any form, and rank them by block; refuse NaN and bad ids."""
    argument = reading.argument
    if reading.unlisted is not None:
        # the labels that compete with unlisted ones depend on every listed one
        reading = reading._replace(depth=None)
    if is_sparse(value) and reading.unlisted != 0:
        refuse_padding(argument, value)
    rows = by_number(argument, value, reading.n_labels)
    if isinstance(rows, Rows):
        n_labels = max(reading.n_labels, len(rows.names or ()))
        return _rank_listed(reading._replace(n_labels=n_labels), rows)
    shape = rows.shape
    if rows.ndim == 2 and shape[1] != reading.n_labels and rows.dtype.kind in "iu":
        ids = "; give a top-k list as a pair: (labels, scores) or (labels, None)"
        width = counted(shape[1], "labels")
        raise InputError(
            argument, f"shape {shape} has {width}, but there are {reading.n_labels}{ids}"
        )
    check_shape(argument, shape, reading.n_labels)
    return _rank_listed(reading, array_rows(rows))


def by_number(argument: str, value: object, n_labels: int | None) -> Any:
    """Return scores without names as rows by id, or as a dense array."""
    if is_pair(value):
        labels, scores = pair_members(argument, value, n_labels)
        return list_rows(argument, labels, scores)
    value = as_plain(argument, value)
    if is_sparse(value):
        names = getattr(value, "label_names", None)
        rows = matrix_rows(argument, value, n_labels)
        return rows._replace(names=names, is_written=names is not None)
    if isinstance(value, Rows):
        return value
    return as_array(argument, value)


def pair_members(
    argument: str, value: Pair, n_labels: int | None
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return labels and scores of a pair, found by name in a dict or the result of `torch.topk`.

    Without names, the member of integers has the labels.
    """
    is_named = True
    if isinstance(value, Mapping):
        members: tuple[Any, ...] = value.get("indices"), value.get("scores")
    elif hasattr(value, "indices") and hasattr(value, "values"):
        members = value.indices, value.values
    else:
        is_named = False
        members = value
    if len(members) != 2:
        raise InputError(argument, NO_PAIR.format(len(members)))
    labels = as_array(argument, members[0])
    if members[1] is None:
        return labels, None
    scores = as_array(argument, members[1])
    if is_named or scores.dtype.kind not in "iu":
        return labels, scores
    if labels.dtype.kind == "f":
        return scores, labels
    if _are_both_ids(labels, scores, n_labels):
        message = "both arrays of the pair are integers, so it is not clear which has the labels"
        raise InputError(argument, f"{message}; convert the scores to floats")
    return labels, scores


def _are_both_ids(labels: NDArray[Any], scores: NDArray[Any], n_labels: int | None) -> bool:
    """Return whether integer scores may be label ids just as the labels may."""
    if labels.dtype.kind not in "iu" or not labels.size or not scores.size:
        return False
    end = np.inf if n_labels is None else n_labels
    lowest = min(labels.min(), scores.min())
    highest = max(labels.max(), scores.max())
    return bool(lowest >= -1 and highest < end)


def is_pair(value: object) -> TypeGuard[Pair]:
    """Return whether a value is a pair of labels and scores, in order or by name."""
    is_tuple = isinstance(value, tuple) and not isinstance(value, Rows)
    return is_tuple or (isinstance(value, Mapping) and not is_sparse(value))


def list_width(value: object, n_labels: int) -> int | None:
    """Return the common length of all rows of a top-k list; None if lengths differ or no list."""
    rows = value
    if is_pair(value):
        rows = list_rows("y_score", *pair_members("y_score", value, n_labels))
    if not isinstance(rows, Rows) or not rows.best_first:
        return None
    sizes = {*row_sizes(rows.ptr).tolist()}
    return sizes.pop() if len(sizes) == 1 else None


def has_scores(value: object) -> bool | None:
    """Return whether a ranking has scores, which bare lists lack; None if it lists no label."""
    if isinstance(value, Rows):
        if value.values is not None:
            return True
        return False if value.labels.size else None
    if not is_pair(value):
        return True
    if isinstance(value, Mapping):
        return value.get("scores") is not None
    return len(value) == 2 and value[1] is not None


def refuse_padding(argument: str, matrix: Any) -> None:
    """Refuse stored zeros in blocks: they may be scores, or only fill a block."""
    has_blocks = matrix.format == "bsr" and matrix.blocksize != (1, 1)
    if has_blocks and not np.asarray(matrix.data).all():
        message = (
            "zeros in the blocks of a bsr matrix may be scores or padding; call .tocsr() to keep "
            "them, and then .eliminate_zeros() to drop them, or give "
        )
        hint = ", by which every zero is unlisted"
        raise InputError(argument, Message(message, Field("unlisted", "0.0"), hint))


def is_binary(scores: NDArray[Any]) -> bool:
    """Return whether every score is 0 or 1, decided by the first ones where they suffice."""
    if scores.size and scores.flat[0] not in (0, 1):
        return False
    first = scores[:1024]
    if not ((first == 0) | (first == 1)).all():
        return False
    return bool(((scores == 0) | (scores == 1)).all())


def list_rows(argument: str, labels: NDArray[Any], scores: NDArray[Any] | None = None) -> Rows:
    """Return the rows of arrays (m, k) of labels and their scores."""
    if labels.ndim != 2 or (labels.dtype.kind not in "iu" and labels.size):
        expected = "labels of a top-k list must be integers of shape (m, k)"
        message = f"{expected}, not {labels.dtype} of shape {labels.shape}"
        raise InputError(argument, message)
    if scores is not None and scores.shape != labels.shape:
        message = f"labels of shape {labels.shape} have scores of shape {scores.shape}"
        raise InputError(argument, message)
    n_rows, width = labels.shape
    ptr = np.arange(n_rows + 1, dtype=label_dtype(labels.size)) * width
    values = None if scores is None else scores.reshape(-1)
    return rows_by_id(ptr, labels.reshape(-1), values, best_first=True)


def _rank_listed(reading: Reading, rows: Rows) -> Source[RankedRows]:
    """Return rankings of rows that list labels best first, or in any order with their scores."""
    is_list = rows.best_first or rows.values is None
    if rows.values is None and not rows.labels.size:
        rows = rows._replace(values=np.empty(0, np.float64))  # rows that list nothing lack no score
    tie_order: Labels | None = None
    if reading.unlisted is not None:
        tie_order = _order_of_ties(reading, rows, reading.unlisted)
    is_counted = rows.is_matrix and not reading.ordered
    if is_counted:  # counting what is above a few of all labels is as fast as picking the best
        reading = reading._replace(depth=None)
    rank_block = _rank_entries
    if is_list:
        reading = reading._replace(ordered=True)
        rank_block = _rank_list
    read_rows = _cells_of(rows) if rows.is_matrix else rows.part

    def block(start: int, stop: int) -> RankedRows:
        ranking = rank_block(reading, read_rows(start, stop), start)
        return ranking._replace(tie_order=tie_order)

    if is_list:
        entry_bytes = 24.0
    elif reading.picks or is_counted:
        entry_bytes = PICKED_BYTES
    else:
        entry_bytes = 32.0
    mean_size = int(rows.ptr[-1]) / max(rows.n_rows, 1)
    row_bytes = entry_bytes * mean_size
    return Source(rows.n_rows, reading.n_labels, row_bytes, block, listed=rows.part)


def _cells_of(matrix: Rows) -> Callable[[int, int], Rows]:
    """Return a function like `Rows.part` whose blocks of one size share their labels."""
    block_of_size = dict[int, Rows]()

    def read_rows(start: int, stop: int) -> Rows:
        n_rows = stop - start
        if n_rows not in block_of_size:
            block_of_size[n_rows] = matrix.part(0, n_rows)
        cells = np.asarray(matrix.values)[start:stop].reshape(-1)
        return block_of_size[n_rows]._replace(values=cells)

    return read_rows


def _order_of_ties(reading: Reading, rows: Rows, unlisted: float) -> Labels | None:
    """Return the order of labels that tie with unlisted ones, None if by id; refuse bare lists."""
    if rows.values is None:
        score = unlisted if reading.higher_is_better else 0 - unlisted
        reason = " is compared with scores, but this list has none"
        raise InputError(reading.argument, Message(Field("unlisted", f"{score:g}"), reason))
    names = rows.names
    if names is None or len(names) != reading.n_labels:
        return None
    if not all(isinstance(name, str) for name in names):
        return None
    return name_places(names).astype(label_dtype(reading.n_labels))


def _rank_entries(reading: Reading, rows: Rows, start: int) -> RankedRows:
    """Rank labels in any order; ties are broken by id or, among names, by the order as written."""
    if rows.are_columns and rows.labels.size == rows.n_rows * reading.n_labels:
        scores = reading.scores(rows, start)
        raw = RawScores(0, is_binary(scores))
        return _rank(reading, rows.ptr, rows.labels, scores, start, raw)
    if rows.named and reading.unlisted is None:
        ranking = _rank_as_written(reading, rows, start)
        if ranking is not None:
            return ranking
    return _rank_sorted(reading, rows, start)


def _rank_as_written(reading: Reading, rows: Rows, start: int) -> RankedRows | None:
    """Return rows whose scores never rise in the order as written, None if they need sorting."""
    scores = reading.scores(rows, start, may_be_nan=True)
    seen = np.empty(2, np.int64)
    n_above, n_below, n_equal, n_nan = steps_of(rows.ptr, scores)
    ids = _contiguous_ids(rows.labels)
    if n_above or n_nan or check_list(rows.ptr, ids, reading.n_labels, seen)[0] != FINE:
        return None
    missing, highest = seen.tolist()
    raw = RawScores(
        0,
        is_binary(np.asarray(rows.values)),
        rises=False,
        falls=rows.is_written and reading.higher_is_better and n_below > 0,
        missing=missing,
        highest=highest,
        ties=n_equal > 0,
    )
    labels = ids.astype(label_dtype(reading.n_labels), copy=False)
    return _rank(reading, rows.ptr, labels, scores, start, raw, in_order=True)


def _rank_sorted(reading: Reading, rows: Rows, start: int) -> RankedRows:
    """Rank labels in any order, after sorting them by id to check them."""
    sorted_rows, places = sorted_part(reading.argument, rows, reading.n_labels, start)
    ptr = sorted_rows.ptr
    labels = sorted_rows.labels
    scores = reading.scores(sorted_rows, start)
    missing, highest = look_at_ids(labels)
    binary = is_binary(np.asarray(sorted_rows.values))
    written_scores = scores
    if places is not None:
        written_scores = reading.scores(rows, start)
    is_written = rows.is_written and reading.higher_is_better
    # rows with rising ids have no order; where scores fall in one, they are no distances in other
    # blocks
    rises = is_written and places is not None and rises_unsorted(ptr, places, written_scores)
    falls = is_written and steps_of(ptr, written_scores)[1] > 0
    raw = RawScores(0, binary, rises, falls, missing, highest)
    if places is not None and rows.named:
        labels = rows.labels.astype(labels.dtype)
        scores = written_scores
    if reading.unlisted is not None:
        # an entry with the score of unlisted labels is the same as no entry; ties then go by id
        # among all of them
        is_competing = scores != as_score(reading.unlisted, scores)
        ptr = pointer(is_competing)[ptr]
        labels = labels[is_competing]
        scores = scores[is_competing]
    return _rank(reading, ptr, labels, scores, start, raw)


def _contiguous_ids(labels: Labels) -> Labels:
    """Return labels as `check_list` takes them: contiguous, of int32 or int64."""
    is_id_type = labels.dtype in (np.int32, np.int64)
    return np.ascontiguousarray(labels, None if is_id_type else np.int64)


def _rank_list(reading: Reading, rows: Rows, start: int) -> RankedRows:
    """Check ids that are given best first, and rank them where their scores rise."""
    ptr = rows.ptr
    seen = np.empty(2, np.int64)
    ids = _contiguous_ids(rows.labels)
    code, row, place = check_list(ptr, ids, reading.n_labels, seen)
    if code == BAD_LABEL:
        is_empty = rows.labels == -1
        if is_empty.any():
            return _rank_list(reading, rows.only(~is_empty), start)
    if code != FINE:
        label = int(rows.labels[place])
        slots = " (or -1, an empty slot)"
        refuse_code(reading.argument, code, start + row, label, reading.n_labels, slots)
    labels = ids.astype(label_dtype(reading.n_labels), copy=False)
    missing, highest = seen.tolist()
    if rows.values is None:
        raw = RawScores(0, False, missing=missing, highest=highest, ties=False)
        return _rank(reading, ptr, labels, None, start, raw, in_order=True)
    scores = reading.scores(rows, start, may_be_nan=True)
    n_above, n_below, n_equal, n_nan = steps_of(ptr, scores)
    if n_nan:
        scores = reading.scores(rows, start)  # which refuses them
    in_order = n_above == 0
    raw = RawScores(
        0,
        is_binary(np.asarray(rows.values)),
        rises=reading.higher_is_better and not in_order,  # distances do
        falls=n_below > 0,
        missing=missing,
        highest=highest,
        ties=n_equal > 0 or not in_order,
    )
    return _rank(reading, ptr, labels, scores, start, raw, in_order)


def _rank(
    reading: Reading,
    ptr: Ints,
    labels: Labels,
    scores: Scores | None,
    start: int,
    raw: RawScores,
    in_order: bool = False,
) -> RankedRows:
    """Rank entries; ties keep their order, and listed labels rank above unlisted ones on ties."""
    ranking = RankedRows(ptr, labels, scores, row_sizes(ptr))
    if reading.left:
        ranking = reading.left(ranking, start)
    ptr, labels, scores = ranking[:3]
    ranking = ranking._replace(raw=raw._replace(n_listed=labels.size))
    if scores is None:
        return _cut(ranking, reading)
    unlisted = reading.unlisted
    if not in_order:
        if reading.picks:
            return _cut(ranking, reading, in_order=False)
        if not reading.ordered:
            if unlisted is not None:
                count_reaching(ptr, scores, as_score(unlisted, scores), ranking.n_above)
            return ranking._replace(ordered=False)
        labels = labels.copy()
        scores = scores.copy()
        rank_rows(ptr, labels, scores)
        ranking = ranking._replace(labels=labels, scores=scores)
    if unlisted is not None:
        count_leading(ptr, scores, as_score(unlisted, scores), True, ranking.n_above)
    return _cut(ranking, reading)


def _cut(ranking: RankedRows, reading: Reading, in_order: bool = True) -> RankedRows:
    """Return the best entries by row, with further labels that tie with the last one."""
    if reading.depth is None:
        return ranking
    ptr, labels, scores = ranking[:3]
    head_ptr = head_pointer(ptr, reading.depth)
    if in_order and head_ptr[-1] == ptr[-1]:
        return ranking
    heads = np.empty(head_ptr[-1], labels.dtype)
    head_scores: Scores | None = None
    cut_ties: Truth | None = None
    if scores is None:
        copy_heads(ptr, labels, head_ptr, heads)
    else:
        head_scores = np.empty(head_ptr[-1], scores.dtype)
        has_cut_ties = np.zeros(ptr.size - 1, np.bool_)
        if not in_order:
            select_heads(ptr, labels, scores, head_ptr, heads, head_scores, has_cut_ties)
        else:
            copy_heads(ptr, labels, head_ptr, heads)
            copy_heads(ptr, scores, head_ptr, head_scores)
            if ranking.has_ties:
                flag_cut_ties(ptr, scores, head_ptr, has_cut_ties)
        if has_cut_ties.any():
            cut_ptr = np.empty(ptr.size, np.int64)
            count_cut_ties(ptr, scores, head_ptr, head_scores, has_cut_ties, cut_ptr)
            cut_labels = np.empty(cut_ptr[-1], labels.dtype)
            collect_cut_ties(ptr, labels, scores, head_ptr, head_scores, cut_ptr, cut_labels)
            cut_ties = Truth(cut_ptr, cut_labels)
    n_above = np.minimum(ranking.n_above, row_sizes(head_ptr))
    cut = ranking._replace(
        ptr=head_ptr, labels=heads, scores=head_scores, n_above=n_above, cut_ties=cut_ties
    )
    return with_cut_ties(cut) if reading.keeps_ties else cut


def select_leading(ranking: RankedRows, depth: int) -> RankedRows:
    """Return the best entries of unsorted rows, best first."""
    return _cut(ranking._replace(ordered=True), Reading("y_score", 0, depth=depth), in_order=False)


def with_cut_ties(ranking: RankedRows) -> RankedRows:
    """Return rows with the labels that tie with their last one; all labels have a rank."""
    cut_ties = ranking.cut_ties
    if cut_ties is None:
        return ranking
    heads, head_scores = ranking[1:3]
    assert head_scores is not None
    ptr = ranking.ptr + cut_ties.ptr
    labels = np.empty(ptr[-1], heads.dtype)
    scores = np.empty(ptr[-1], head_scores.dtype)
    append_ties(ranking.ptr, heads, head_scores, *cut_ties[:2], ptr, labels, scores)
    return ranking._replace(
        ptr=ptr, labels=labels, scores=scores, n_above=row_sizes(ptr), cut_ties=None
    )
