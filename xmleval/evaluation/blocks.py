"""Check the arguments of one update and split them into blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from xmleval.errors import (
    ALL_LABELS,
    LIST_TRANSPOSED,
    NO_MATCH,
    TRANSPOSED,
    InputError,
    Keyword,
    Message,
    counted,
)
from xmleval.groups import check_row_groups
from xmleval.input.clusters import folds_of_clusters
from xmleval.input.csr import Source, rows_at_a_time
from xmleval.input.door import OPEN, Door
from xmleval.input.scores import Reading, list_width, ranking_rows
from xmleval.input.sets import relevant_of, set_rows
from xmleval.input.weights import check_weight
from xmleval.plan import LINKED, NO_GAPS, Plan
from xmleval.records import Block, Ranking, Truth, as_score, row_sizes
from xmleval.view.decision import LISTED, choose, refuse_unfit
from xmleval.view.pairs import first_outside

FEW_ROWS, LEAST_ROWS = 16384, 4096  # one block up to the first; no smaller blocks than the second for threads


class Blocks(NamedTuple):
    """Rows split lazily into blocks: ``size`` rows each, made by ``make(start, stop)``.

    ``n_bytes`` is about what all of them take.
    """

    n_rows: int
    size: int
    n_bytes: float
    make: Callable[[int, int], Block]
    row_groups: frozenset[str] = frozenset()  # their names
    notes: Sequence[str] = ()

    @property
    def n_blocks(self) -> int:
        """Number of blocks, at least one: an empty block carries the dtypes."""
        return max(1, -(-self.n_rows // self.size))

    def block(self, number: int) -> Block:
        """Return a block, or raise InputError for an invalid row."""
        start, stop = number * self.size, min((number + 1) * self.size, self.n_rows)
        return self.make(start, stop)


def join_arguments(
    plan: Plan,
    truth: Source[Truth],
    y_score: Any,
    y_pred: Any,
    sample_weight: Any,
    clusters: Any = None,
    *,
    n_labels: int | None,
    first_row: int,
    score_dtypes: set[str],
    threads: int,
    block_rows: int | None,
    door: Door = OPEN,
    row_groups: Any = None,
    by_id: bool = True,
) -> Blocks:
    """Check the arguments of an update; rows are checked as their blocks are made.

    ``n_labels`` is the caller's argument; ``score_dtypes``, the dtypes
    of scores so far, is updated in place. ``door`` takes labels out of rows; ``by_id`` tells that
    labels have no names.
    """
    unlisted, door = plan.unlisted, door.opened(truth, n_labels) if door.sets else door
    level, ordered = plan.conventions.unlisted_score, plan.ordered or bool(door.sets)
    left = door.of_ranking if door.sets else None
    how = Reading("y_score", plan.n_labels, level, plan.depth, ordered, plan.higher_is_better, left)
    scores = None if y_score is None else ranking_rows(y_score, n_labels, how)
    pred = None if y_pred is None else set_rows("y_pred", y_pred, n_labels, plan.n_labels)
    given = {"y_score": scores, "y_pred": pred}
    predictions = [(argument, rows) for argument, rows in given.items() if rows is not None]
    with_unknown = [argument for argument, rows in predictions if rows.n_labels > plan.n_labels]
    _refuse_unknown(plan, with_unknown)
    listed: Source[Ranking] | None = None
    if y_score is not None and unlisted is not None and plan.decision and plan.decision.kind in LISTED:
        # the ranking omits entries that score the same as unlisted labels
        most = int(min(plan.decision.value, plan.n_labels)) if plan.decision.kind == "listed" else None
        listed = ranking_rows(y_score, n_labels, replace(how, unlisted=None, depth=most, ordered=True))
    for argument, rows in predictions:
        if rows.n_rows != truth.n_rows:
            turned = rows.n_rows == truth.n_labels
            hint = f"; y_true {TRANSPOSED}; give y_true.T" if turned else ""
            if argument == "y_score" and list_width(y_score, plan.n_labels) == truth.n_rows:
                hint = f"; the list {LIST_TRANSPOSED}; give the .T of its labels and of its scores"
            told = f"{counted(rows.n_rows, *NO_MATCH)} the {truth.n_rows} of y_true"
            raise InputError(argument, f"{told}{hint}")
    notes = door.notes(truth, scores, pred) if door.sets else []
    truth, pred, reachable = door.passed(truth, pred) if door.sets else (truth, pred, None)
    weight = None if sample_weight is None else check_weight(sample_weight, truth.n_rows)
    fold = None if clusters is None else folds_of_clusters(clusters, truth.n_rows)
    of_rows = None if row_groups is None else check_row_groups(row_groups, truth.n_rows)

    def make(start: int, stop: int) -> Block:
        # first: errors of y_true take precedence
        facts = None if truth.facts is None else truth.facts(start, stop)
        own = facts.truth if facts else truth.block(start, stop)
        relevant = relevant_of(own)
        ranking = None if scores is None else scores.block(start, stop)
        if unlisted is not None and ranking is not None and stop > start:
            ranking = _of_one_type(ranking, unlisted, score_dtypes)
        if ranking is not None:
            _refuse_gaps(plan, relevant, ranking, bool(with_unknown), start)
            _refuse_improbable(plan, ranking, start)
            if plan.decision is not None and plan.uses_decision:
                refuse_unfit(plan.decision, ranking, plan.n_labels, unlisted, start)
        within = None if reachable is None else row_sizes(relevant_of(reachable.block(start, stop)).ptr)
        given = pred or listed
        sets: Any = None if given is None else given.block(start, stop)
        if listed is not None and plan.decision is not None and plan.decision.kind != "listed":
            chosen = choose(plan.decision, sets, plan.n_labels, None)
            sets = Truth(chosen.ptr, chosen.labels)
        return Block(
            truth=relevant,
            ranking=ranking,
            pred=None if sets is None else Truth(sets.ptr, sets.labels),
            weight=None if weight is None else weight[start:stop],
            first_row=first_row + start,
            by_id=by_id,
            fold=None if fold is None else fold[start:stop],
            n_reachable=within,
            row_groups=None if of_rows is None else of_rows._replace(of=of_rows.of[start:stop]),
            judged=None if own.gains is None else own,
            unknown=bool(with_unknown),
            facts=facts,
        )

    row_bytes = sum(rows.bytes_per_row for rows in (truth, scores, pred) if rows is not None)
    size = block_rows or _even_size(truth.n_rows, rows_at_a_time(row_bytes), threads)
    names = frozenset(of_rows.names if of_rows else ())
    return Blocks(truth.n_rows, size, truth.n_rows * row_bytes, make, names, notes)


def _of_one_type(ranking: Ranking, unlisted: float, score_dtypes: set[str]) -> Ranking:
    """Return a ranking with the type of the scores before it, which ``unlisted`` is rounded to; or refuse it.

    Rows that list nothing take any type.
    """
    scores = ranking.scores
    if scores is None:
        return ranking
    if not scores.size and score_dtypes:
        return ranking._replace(scores=scores.astype(next(iter(score_dtypes))))
    if scores.size or as_score(unlisted, np.empty(0, np.float32)) != unlisted:
        score_dtypes.add(scores.dtype.name)
    if len(score_dtypes) > 1:
        told = f"scores are {scores.dtype} where earlier ones were not; "
        reason = " is rounded to their type, so all updates must share one"
        raise InputError("y_score", Message(told, Keyword("unlisted"), reason))
    return ranking


def _even_size(n_rows: int, most: int, threads: int) -> int:
    """Return a block size of at most ``most`` rows that divides the rows evenly among threads."""
    n_blocks = -(-n_rows // most)
    if n_blocks > 1 or n_rows > FEW_ROWS:
        n_blocks = max(n_blocks, min(-(-n_blocks // threads) * threads, n_rows // LEAST_ROWS))
    return max(1, -(-n_rows // max(1, n_blocks)))


def owned(block: Block) -> Block:
    """Return a deep copy of a block."""

    def copied(part: Any) -> Any:
        if isinstance(part, tuple):
            return type(part)(*map(copied, part))
        return part.copy() if isinstance(part, np.ndarray) else part

    found: Block = copied(block)
    return found


def block_bytes(block: Block) -> int:
    """Return the size of a block's arrays in bytes."""
    arrays = [x for part in block for x in (part if isinstance(part, tuple) else [part])]
    return sum(x.nbytes for x in arrays if isinstance(x, np.ndarray))


def _refuse_unknown(plan: Plan, with_unknown: Sequence[str]) -> None:
    """Refuse arguments with unknown labels, if these have a score or a measure needs all labels."""
    level = plan.conventions.unlisted_score
    if "y_score" in with_unknown and level is not None:
        said = Keyword("unlisted", f"{level:g}"), " gives every label a score; name them in "
        told = Message("predicts unknown labels, and ", *said, Keyword("labels"), " or leave them out")
        raise InputError("y_score", told)
    spec = next((spec for spec in plan.specs if spec.metric.every_label and spec.name in plan.insisted), None)
    if with_unknown and spec is not None and not plan.counts_cells:
        raise InputError(with_unknown[0], Message(spec, " needs ", ALL_LABELS))


def _refuse_gaps(plan: Plan, truth: Truth, ranking: Ranking, unknown: bool, start: int) -> None:
    """Refuse rows that lack a score for some label, if a measure requested by name needs every score."""
    insisted = [spec for spec in plan.gapless if spec.name in plan.insisted]
    if not insisted:
        return
    n_listed, n_relevant = row_sizes(ranking.ptr), row_sizes(truth.ptr)
    if unknown:  # these do not fill a gap
        before = np.concatenate(([0], np.cumsum(ranking.labels < plan.n_labels)))
        n_listed = row_sizes(before[ranking.ptr])
    for spec in insisted:
        gap = n_listed < plan.n_labels
        if spec.average == "samples":
            gap &= (n_relevant > 0) & (n_relevant < plan.n_labels)
        if gap.any():
            row = int(gap.argmax())
            listed = f"scores of {n_listed[row]} of {plan.n_labels} labels"
            raise InputError("y_score", Message(listed, "; ", spec, " needs ", NO_GAPS), row=start + row)


def _refuse_improbable(plan: Plan, ranking: Ranking, start: int) -> None:
    """Refuse scores outside 0..1 among those that a measure reads as probabilities."""
    if plan.probable is None or ranking.scores is None:
        return
    spec, depth = plan.probable
    place = first_outside(ranking, depth)
    if place >= 0:
        row = start + int(np.searchsorted(ranking.ptr, place, "right")) - 1
        score = float(ranking.scores[place])
        said = f"score {score:g} of label {ranking.labels[place]} is outside 0..1; "
        told = Message(said, spec, " needs probabilities; ", LINKED)
        raise InputError("y_score", told, row=row, value=score)
