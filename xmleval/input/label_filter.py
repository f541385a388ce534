"""The label filter: pairs to exclude and candidates, applied to rows before anything is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from xmleval.base.arrays import Ints, row_sizes
from xmleval.base.cached import cached
from xmleval.base.errors import ONE_BASED, Field, InputError, Keyword, Message, other_rows, shown
from xmleval.base.notes import Note
from xmleval.input.canonical import RankedRows, Truth
from xmleval.input.cell_marks import CANDIDATES, JUDGED, RESTRICTIONS, UNJUDGED, WITHIN
from xmleval.input.csr import Source, as_array
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.scores import is_pair, list_rows, pair_members
from xmleval.input.sets import relevant_of, set_rows
from xmleval.input.tensors import as_plain, is_sparse
from xmleval.kernels.matching import find_positions

FROM_PREDICTIONS = "exclude_from='predictions'"
NAMES = frozenset([*RESTRICTIONS, FROM_PREDICTIONS])  # of a `LabelFilter`, but for marks
# by whether pairs are excluded from the truth, too
PAIRS = {
    True: "excluded pairs",
    False: "pairs excluded from predictions",
}
T = TypeVar("T", Truth, RankedRows)


@dataclass(frozen=True)
class IdPairs:
    """Rows and labels of pairs by number; unlike an array (n, 2), never a matrix of label sets."""

    ids: Any


@dataclass(frozen=True)
class LabelFilter:
    """Label sets that restrict the labels of rows.

    sets : values of `RESTRICTIONS` that the caller gives, in any form; sources of sets once
        `opened`
    from_truth : whether pairs are excluded from the truth, too
    n_unmatched : number of pairs to exclude whose row or label is in no other argument
    marks : by argument, the mark in the truth that its sets come from, or "truth"
    """

    sets: dict[str, Any] = field(default_factory=dict)
    from_truth: bool = True
    n_unmatched: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)

    @cached
    def names(self) -> frozenset[str]:
        """Names of the arguments that take labels out."""
        names = {*self.sets, *(f"{argument}={mark}" for argument, mark in self.marks.items())}
        if "exclude" in self.sets and not self.from_truth:
            names.add(FROM_PREDICTIONS)
        return frozenset(names)

    def with_sets(self, values: Iterable[Any], n_unmatched: int) -> LabelFilter:
        """Return the filter with other forms of the sets, after their names are matched."""
        sets = dict(zip(self.sets, values, strict=True))
        return replace(self, sets=sets, n_unmatched=n_unmatched)

    def opened(self, truth: Source[Truth]) -> LabelFilter:
        """Return the filter with checked sets for the rows of a truth."""
        sets = {name: _sets_of(name, value, truth) for name, value in self.sets.items()}
        return replace(self, sets=sets)

    @property
    def _left_out(self) -> list[str]:
        """Names of the sets of labels that are removed from truth and predictions."""
        names = ["exclude", UNJUDGED] if self.from_truth else [UNJUDGED]
        return [name for name in names if name in self.sets]

    @property
    def cells(self) -> Source[Truth] | None:
        """Labels of rows of an `opened` filter that are judged or are not; see `what_cells_are`."""
        left_out = [self.sets[name] for name in self._left_out]
        judged: Source[Truth] | None = self.sets.get(JUDGED)
        if judged is not None:
            for sets in left_out:
                judged = _restricted(judged, sets, within=False)
            return judged
        return reduce(_united, left_out) if left_out else None

    def passed(
        self, truth: Source[Truth], pred: Source[Truth] | None
    ) -> tuple[Source[Truth], Source[Truth] | None, Source[Truth] | None]:
        """Return the remaining truth and predicted sets, and the relevant candidates, if any."""
        for name in (*self._left_out, JUDGED):
            truth = self._restrict(truth, name)
        reachable = None
        if CANDIDATES in self.sets:
            reachable = self._restrict(truth, CANDIDATES)
        if pred is not None:
            for name in ("exclude", UNJUDGED, JUDGED):
                pred = self._restrict(pred, name)
        return truth, pred, reachable

    def _restrict(self, rows: Source[Truth], name: str) -> Source[Truth]:
        """Return label sets without those of a name, or restricted to them."""
        sets: Source[Truth] | None = self.sets.get(name)
        if sets is None:
            return rows
        return _restricted(rows, sets, within=name in WITHIN)

    def of_ranking(self, entries: RankedRows, start: int) -> RankedRows:
        """Return the remaining entries of ranked rows, from row ``start`` on."""
        stop = start + entries.ptr.size - 1
        for name, sets in self.sets.items():
            entries = _kept(entries, sets.block(start, stop), name in WITHIN)
        return entries

    def notes(
        self,
        truth: Source[Truth],
        scores: Source[RankedRows] | None,
        pred: Source[Truth] | None,
        least_gain: float,
    ) -> list[Note]:
        """Return a note on how many pairs to exclude occur in the rows.

        ``least_gain`` is that of relevant labels in a truth with grades.
        """
        exclude = self.sets.get("exclude")
        if exclude is None:
            return []
        readers: list[Any] = []
        if self.from_truth:
            readers.append(lambda start, stop: relevant_of(truth.block(start, stop), least_gain))
        if pred is not None:
            readers.append(pred.block)
        if scores is not None:
            readers.append(scores.listed)
        n_matches = n_pairs = start = 0
        for pairs in exclude.blocks():
            stop = start + pairs.ptr.size - 1
            if pairs.labels.size:
                matches = np.zeros(pairs.labels.size, np.bool_)
                for read in readers:
                    matches |= _places(read(start, stop), pairs) > 0
                n_matches += int(matches.sum())
                n_pairs += matches.size
            start = stop
        return [Note("exclude", PAIRS[self.from_truth], n_matches, n_pairs + self.n_unmatched)]


NO_FILTER = LabelFilter()


def make_label_filter(
    exclude: object,
    exclude_from: str,
    candidates: object,
    unjudged: object = None,
    judged: object = None,
) -> LabelFilter:
    """Return the filter for arguments of `evaluate`; pairs with names become a dict of dicts."""
    if exclude_from not in ("both", "predictions"):
        raise InputError(
            "exclude_from", f"{shown(exclude_from)} is neither 'both' nor 'predictions'"
        )
    if exclude_from != "both" and exclude is None:
        raise InputError(
            "exclude_from", Message("needs ", Keyword("exclude"), ", the pairs to exclude")
        )
    sets: dict[str, Any] = {}
    for name, pairs in (("exclude", exclude), (UNJUDGED, unjudged), (JUDGED, judged)):
        if pairs is not None:
            sets[name] = _grouped(pairs)
    if candidates is not None:
        sets[CANDIDATES] = candidates
    return LabelFilter(sets, exclude_from == "both")


def excluded_inputs(names: Collection[str]) -> dict[str, Any]:
    """Return entries on filter inputs for JSON, without file and checksum; see `Report`."""
    inputs: dict[str, Any] = {
        name: {"file": None, "sha256": None} for name in RESTRICTIONS if name in names
    }
    for name in inputs:
        marks = [text.removeprefix(f"{name}=") for text in names if text.startswith(f"{name}=")]
        if marks:
            inputs[name]["cells"] = marks[0]
    if "exclude" in inputs:
        inputs["exclude"]["from"] = "predictions" if FROM_PREDICTIONS in names else "both"
    return inputs


def fewer_labels(names: Collection[str], unlisted: float | None) -> Message | None:
    """Return what measures of all labels need but lack with a filter; None without a filter.

    Raises if a filter cannot be combined with the other options.
    """
    given = [name for name in RESTRICTIONS if name in names]
    if not given:
        return None
    if unlisted is not None:
        score = Field("unlisted", f"{unlisted:g}")
        below = Field("unlisted", "below")
        others = ", including labels that are not judged" if given[0] in (UNJUDGED, JUDGED) else ""
        reason = Message(score, f" gives all labels a score{others}; give ", below)
        raise InputError(given[0], reason)
    if CANDIDATES in names and "y_score" not in names:
        raise InputError(
            CANDIDATES, Message("needs ", Keyword("y_score"), ", by which labels are ranked")
        )
    if CANDIDATES in names:
        return Message("all labels of a row (no ", Keyword(CANDIDATES), ")")
    if FROM_PREDICTIONS in names:
        return Message("all labels of a row (no ", Keyword("exclude"), ")")
    return None


def what_cells_are(names: Collection[str]) -> str:
    """Return which labels a filter with such names lists: "judged", "unjudged" or "" for neither.

    Labels that are not judged are taken out of truth and predictions.
    """
    if JUDGED in names:
        return JUDGED
    if UNJUDGED in names or ("exclude" in names and FROM_PREDICTIONS not in names):
        return UNJUDGED
    return ""


def pairs_of_rows(rows: Ints, labels: Ints, start: int, stop: int) -> Rows:
    """Return the labels of rows start..stop-1, from all pairs sorted by row and label."""
    ptr = np.searchsorted(rows, np.arange(start, stop + 1))
    return rows_by_id(ptr - ptr[0], labels[ptr[0] : ptr[-1]])


def _grouped(value: object) -> object:
    """Return named pairs as a dict of dicts, pairs of ids as `IdPairs`, other values unchanged."""
    if not isinstance(value, list | set):
        return value
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return value
    if not any(isinstance(name, str) for pair in value for name in pair):
        dtype = None if value else np.int64
        return IdPairs(np.array([*value], dtype).reshape(-1, 2))
    rows: dict[Any, dict[Any, int]] = {}
    for row, label in value:
        rows.setdefault(row, {})[label] = 1
    return rows


def is_id_pairs(value: object) -> bool:
    """Return whether a value is pairs of the numbers of a row and a label."""
    pairs = _grouped(value)
    if isinstance(pairs, IdPairs):
        return True
    if not isinstance(pairs, np.ndarray) or pairs.dtype.kind not in "iu":
        return False
    return pairs.ndim == 2 and pairs.shape[1] == 2


def id_pairs(value: object) -> NDArray[Any]:
    """Return pairs of numbers, for which `is_id_pairs` is true, as an array (n, 2)."""
    pairs = _grouped(value)
    return np.asarray(pairs.ids if isinstance(pairs, IdPairs) else pairs)


def _sets_of(argument: str, value: Any, truth: Source[Truth]) -> Source[Truth]:
    """Return label sets of the rows of a truth, also from pairs to exclude and top-k lists."""
    if not isinstance(value, Rows):
        if argument == CANDIDATES:
            value = _candidate_lists(argument, value, truth)
        else:
            value = _excluded_sets(argument, value, truth)
    if argument == JUDGED:
        value = _listed(value)
    if isinstance(value, Rows) and value.best_first:
        value = value.only(value.labels != -1)._replace(values=None)
    sets = set_rows(argument, value, truth.n_labels)
    if sets.n_rows != truth.n_rows:
        raise InputError(argument, other_rows(sets.n_rows, truth.n_rows, "y_true"))
    return sets


def _listed(value: Any) -> Any:
    """Return rows or a sparse matrix without values: listed cells are judged, even zeros."""
    if isinstance(value, Rows) and (value.values is None or value.values.ndim == 1):
        return value._replace(values=None)
    if is_sparse(value):
        matrix = csr_array(value)
        return csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
    return value


def _candidate_lists(argument: str, value: Any, truth: Source[Truth]) -> Any:
    """Return the rows of top-k lists; any other value as a plain array or list of sets."""
    if is_pair(value):
        return list_rows(argument, pair_members(argument, value, truth.n_labels)[0])
    array = as_plain(argument, value)
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        return array
    if array.dtype.kind not in "iu" or array.shape == truth.shape:
        return array
    return list_rows(argument, array)


def _excluded_sets(argument: str, value: Any, truth: Source[Truth]) -> Any:
    """Return the rows of an array of pairs; any other value unchanged."""
    has_pairs = isinstance(value, IdPairs)
    array = as_plain(argument, value.ids if has_pairs else value)
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.shape[1] != 2:
        return value
    return _paired(argument, array, truth.shape, may_be_matrix=not has_pairs)


def _paired(argument: str, array: NDArray[Any], shape: tuple[int, int], may_be_matrix: bool) -> Any:
    """Return the rows of an array (n, 2) of pairs by number, or the array if a boolean matrix."""
    if may_be_matrix and array.shape == shape and bool(((array == 0) | (array == 1)).all()):
        if array.dtype.kind == "b":
            return array
        message = (
            f"0 and 1 of shape {shape} can be pairs or a matrix; give pairs as a list of tuples, "
            "or a matrix of bool"
        )
        raise InputError(argument, message)
    pairs = as_array(argument, array)
    is_outside = (pairs < 0) | (pairs >= shape) | (pairs != np.floor(pairs))
    for bad, column in np.argwhere(is_outside)[:1]:
        noun = ("row", "label id")[column]
        number = pairs[bad, column]
        message = f"{noun} {number} is not in 0..{shape[column] - 1}"
        if number == shape[column] and noun == "label id":
            message += ONE_BASED
        raise InputError(argument, f"pair {bad}: {message}")
    rows, labels = np.unique(pairs.astype(np.int64), axis=0).T
    return pairs_of_rows(rows, labels, 0, shape[0])


def _restricted(rows: Source[Truth], sets: Source[Truth], within: bool) -> Source[Truth]:
    """Return rows with only the labels in the sets if ``within``, otherwise without them."""
    return rows._replace(
        block=lambda *ends: _kept(rows.block(*ends), sets.block(*ends), within),
        bytes_per_row=2 * rows.bytes_per_row + sets.bytes_per_row,
        facts=None,
    )


def _united(first: Source[Truth], second: Source[Truth]) -> Source[Truth]:
    """Return the union of two sets of labels, row by row."""

    def block(start: int, stop: int) -> Truth:
        sets = first.block(start, stop)
        added = _kept(second.block(start, stop), sets, within=False)
        labels = np.concatenate([sets.labels, added.labels])
        rows = np.concatenate([_row_numbers(sets), _row_numbers(added)])
        return Truth(sets.ptr + added.ptr, labels[np.lexsort((labels, rows))])

    return first._replace(
        block=block, bytes_per_row=2 * first.bytes_per_row + 2 * second.bytes_per_row, facts=None
    )


def _row_numbers(sets: Truth) -> Ints:
    """Return the row of every label."""
    return np.repeat(np.arange(sets.ptr.size - 1), row_sizes(sets.ptr))


def _kept(rows: T, sets: Truth, within: bool) -> T:
    """Return rows with only the labels in the sets if ``within``, otherwise without them."""
    places = _places(rows, sets)
    is_in = places > 0
    entries = np.repeat(rows.ptr[:-1], row_sizes(sets.ptr))[is_in] + places[is_in] - 1
    keep = np.full(rows.labels.size, not within)
    keep[entries] = within
    ptr = pointer(keep)[rows.ptr]
    labels = rows.labels[keep]
    if isinstance(rows, Truth):
        gains = rows.gains
        if gains is not None:
            gains = gains[keep]
        return rows._replace(ptr=ptr, labels=labels, gains=gains)
    scores = rows.scores
    if scores is not None:
        scores = scores[keep]
    return rows._replace(ptr=ptr, labels=labels, scores=scores, n_above=row_sizes(ptr))


def _places(rows: Truth | RankedRows | Rows, sets: Truth) -> Ints:
    """Return the place in its row, from 1, of every label of the sets; 0 if the row lacks it."""
    are_narrow = rows.labels.dtype == sets.labels.dtype == np.int32
    dtype = np.int32 if are_narrow else np.int64
    row_labels = np.ascontiguousarray(rows.labels, dtype)
    set_labels = np.ascontiguousarray(sets.labels, dtype)
    places = np.empty(set_labels.size, np.int64)
    find_positions(rows.ptr, row_labels, sets.ptr, set_labels, places)
    return places
