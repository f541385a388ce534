"""The door: pairs to exclude and candidates take labels out of rows before anything is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints, row_sizes
from xmleval.base.cached import cached
from xmleval.base.errors import Field, InputError, Keyword, Message, other_rows, shown
from xmleval.base.notes import Note
from xmleval.input.canonical import Ranking, Truth
from xmleval.input.csr import Source, as_array
from xmleval.input.rows import Rows, pointer, rows_by_id
from xmleval.input.scores import is_pair, list_rows, pair_members
from xmleval.input.sets import relevant_of, set_rows
from xmleval.input.tensors import as_plain
from xmleval.kernels.matching import find_positions

WITHIN = "candidates"
FROM_PREDICTIONS = "exclude_from='predictions'"
RESTRICTIONS = ("exclude", "candidates")  # which take labels out of rows
NAMES = frozenset([*RESTRICTIONS, FROM_PREDICTIONS])  # of what can be given
PAIRS = {True: "excluded pairs", False: "pairs excluded from predictions"}  # by whether the truth lacks them
T = TypeVar("T", Truth, Ranking)


@dataclass(frozen=True)
class IdPairs:
    """Rows and labels of pairs by number, which no array of their shape can be mistaken for."""

    ids: Any


@dataclass(frozen=True)
class Door:
    """What takes labels out of rows.

    sets : those given of ``exclude`` and ``candidates``, in any form, or sources of sets once `opened`
    from_truth : whether pairs are excluded from the truth, too
    n_unmatched : number of pairs to exclude whose row or label is in no other argument
    """

    sets: dict[str, Any] = field(default_factory=dict)
    from_truth: bool = True
    n_unmatched: int = 0

    @cached
    def names(self) -> frozenset[str]:
        """Names of the arguments that take labels out."""
        return frozenset([*self.sets, *([] if self.from_truth else [FROM_PREDICTIONS])])

    def with_sets(self, values: Iterable[Any], n_unmatched: int) -> Door:
        """Return the door with other forms of the sets, whose names are matched."""
        return replace(self, sets=dict(zip(self.sets, values, strict=True)), n_unmatched=n_unmatched)

    def opened(self, truth: Source[Truth]) -> Door:
        """Return the door with checked sets for the rows of a truth."""
        return replace(self, sets={name: _sets_of(name, value, truth) for name, value in self.sets.items()})

    def passed(
        self, truth: Source[Truth], pred: Source[Truth] | None
    ) -> tuple[Source[Truth], Source[Truth] | None, Source[Truth] | None]:
        """Return the labels that are left of rows, and the relevant ones among the candidates, if any."""

        def left(rows: Source[Truth], name: str) -> Source[Truth]:
            sets: Source[Truth] | None = self.sets.get(name)
            if sets is None:
                return rows
            return rows._replace(
                block=lambda *ends: _kept(rows.block(*ends), sets.block(*ends), name == WITHIN),
                bytes_per_row=2 * rows.bytes_per_row + sets.bytes_per_row,
                facts=None,
            )

        truth = left(truth, "exclude") if self.from_truth else truth
        reachable = left(truth, WITHIN) if WITHIN in self.sets else None
        return truth, None if pred is None else left(pred, "exclude"), reachable

    def of_ranking(self, entries: Ranking, start: int) -> Ranking:
        """Return the entries of rows from ``start`` on that are left."""
        stop = start + entries.ptr.size - 1
        for name, sets in self.sets.items():
            entries = _kept(entries, sets.block(start, stop), name == WITHIN)
        return entries

    def notes(
        self, truth: Source[Truth], scores: Source[Ranking] | None, pred: Source[Truth] | None
    ) -> list[Note]:
        """Return how many of the pairs to exclude are in the rows that they are excluded from."""
        exclude = self.sets.get("exclude")
        if exclude is None:
            return []
        makes: list[Any] = [lambda start, stop: relevant_of(truth.block(start, stop))] * self.from_truth
        makes += ([] if pred is None else [pred.block]) + ([] if scores is None else [scores.listed])
        n_matches = n_pairs = start = 0
        for pairs in exclude.blocks():
            stop, matches = start + pairs.ptr.size - 1, np.zeros(pairs.labels.size, np.bool_)
            for make in makes if matches.size else ():
                matches |= _places(make(start, stop), pairs) > 0
            n_matches, n_pairs, start = n_matches + int(matches.sum()), n_pairs + matches.size, stop
        return [Note("exclude", PAIRS[self.from_truth], n_matches, n_pairs + self.n_unmatched)]


OPEN = Door()


def make_door(exclude: object, exclude_from: str, candidates: object) -> Door:
    """Return what is given of the arguments of `evaluate`; pairs that have names become a dict of lists."""
    if exclude_from not in ("both", "predictions"):
        raise InputError("exclude_from", f"{shown(exclude_from)} is neither 'both' nor 'predictions'")
    if exclude_from != "both" and exclude is None:
        raise InputError("exclude_from", Message("needs the pairs to exclude, ", Keyword("exclude")))
    sets = {} if exclude is None else {"exclude": _grouped(exclude)}
    sets |= {} if candidates is None else {WITHIN: candidates}
    return Door(sets, exclude_from == "both")


def excluded_inputs(names: Collection[str]) -> dict[str, Any]:
    """Return the inputs that leave labels out as JSON values, as far as they are known; see `Report`."""
    inputs: dict[str, Any] = {name: {"file": None, "sha256": None} for name in RESTRICTIONS if name in names}
    if "exclude" in inputs:
        inputs["exclude"]["from"] = "predictions" if FROM_PREDICTIONS in names else "both"
    return inputs


def fewer_labels(names: Collection[str], unlisted: float | None) -> Message | None:
    """Return what measures of all labels lack where some are taken out of rows, None where none are."""
    name = "exclude" if "exclude" in names else WITHIN
    if name not in names:
        return None
    if unlisted is not None:
        score, below = Field("unlisted", f"{unlisted:g}"), Field("unlisted", "below")
        raise InputError(name, Message(score, " gives all labels a score; expected ", below))
    if WITHIN in names and "y_score" not in names:
        raise InputError(WITHIN, Message("ranked by ", Keyword("y_score"), ", which is not given"))
    return Message("all labels of a row (no ", Keyword(name), ")")


def pairs_of_rows(rows: Ints, labels: Ints, start: int, stop: int) -> Rows:
    """Return the pairs of rows start..stop-1, of all that are sorted by row and label."""
    ptr = np.searchsorted(rows, np.arange(start, stop + 1))
    return rows_by_id(ptr - ptr[0], labels[ptr[0] : ptr[-1]])


def _grouped(value: object) -> object:
    """Return pairs of a row and a label that have names as a dict of lists, anything else as it is."""
    if not isinstance(value, list | set):
        return value
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return value
    if not any(isinstance(name, str) for pair in value for name in pair):
        return IdPairs(np.array([*value], None if value else np.int64).reshape(-1, 2))
    rows: dict[Any, dict[Any, int]] = {}
    for row, label in value:
        rows.setdefault(row, {})[label] = 1
    return rows


def _sets_of(argument: str, value: Any, truth: Source[Truth]) -> Source[Truth]:
    """Accept sets of labels as those of the rows of a truth, also pairs to exclude and top-k lists."""
    of_candidates = argument == WITHIN
    if of_candidates and is_pair(value):
        value = list_rows(argument, pair_members(argument, value, truth.n_labels)[0])
    elif not isinstance(value, Rows):
        array = as_plain(argument, value.ids if isinstance(value, IdPairs) else value)
        is_matrix = not isinstance(array, np.ndarray) or array.ndim != 2
        if of_candidates:
            is_matrix = is_matrix or array.dtype.kind not in "iu" or array.shape == truth.shape
            value = array if is_matrix else list_rows(argument, array)
        elif not is_matrix and array.shape[1] == 2:
            value = _paired(argument, array, truth.shape, not isinstance(value, IdPairs))
    if isinstance(value, Rows) and value.best_first:
        value = value.only(value.labels != -1)._replace(values=None)
    sets = set_rows(argument, value, truth.n_labels)
    if sets.n_rows != truth.n_rows:
        raise InputError(argument, other_rows(sets.n_rows, truth.n_rows, "y_true"))
    return sets


def _paired(argument: str, array: NDArray[Any], shape: tuple[int, int], may_be_matrix: bool) -> Any:
    """Return the rows of an array (n, 2) of pairs by number; the array if it is a matrix of sets."""
    if may_be_matrix and array.shape == shape and bool(((array == 0) | (array == 1)).all()):
        if array.dtype.kind == "b":
            return array
        message = f"0 and 1 of shape {shape} can be pairs or a matrix; give pairs as a list of tuples"
        raise InputError(argument, f"{message}, or a matrix of bool")
    pairs = as_array(argument, array)
    outside = (pairs < 0) | (pairs >= shape) | (pairs != np.floor(pairs))
    for bad, column in np.argwhere(outside)[:1]:
        message = f"{('row', 'label id')[column]} {pairs[bad, column]} is not in 0..{shape[column] - 1}"
        raise InputError(argument, f"pair {bad}: {message}")
    rows, labels = np.unique(pairs.astype(np.int64), axis=0).T
    return pairs_of_rows(rows, labels, 0, shape[0])


def _kept(rows: T, sets: Truth, within: bool) -> T:
    """Return rows with the labels that are in sets alone, or with those that are not."""
    places = _places(rows, sets)
    is_in, keep = places > 0, np.full(rows.labels.size, not within)
    keep[np.repeat(rows.ptr[:-1], row_sizes(sets.ptr))[is_in] + places[is_in] - 1] = within
    ptr, labels = pointer(keep)[rows.ptr], rows.labels[keep]
    if isinstance(rows, Truth):
        return rows._replace(ptr=ptr, labels=labels, gains=None if rows.gains is None else rows.gains[keep])
    scores = None if rows.scores is None else rows.scores[keep]
    return rows._replace(ptr=ptr, labels=labels, scores=scores, n_above=row_sizes(ptr))


def _places(rows: Truth | Ranking | Rows, sets: Truth) -> Ints:
    """Return the place of each label of sets in its row, from 1; 0 where it is not there."""
    kind = np.int32 if rows.labels.dtype == sets.labels.dtype == np.int32 else np.int64
    in_rows, in_sets = (np.ascontiguousarray(side.labels, kind) for side in (rows, sets))
    places = np.empty(in_sets.size, np.int64)
    find_positions(rows.ptr, in_rows, sets.ptr, in_sets, places)
    return places
