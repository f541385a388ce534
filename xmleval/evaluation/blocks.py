"""Check the arguments of one update and split them into blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import as_score, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.errors import ALL_LABELS, Field, InputError, Keyword, Message, other_rows
from xmleval.evaluation.batch import Batch
from xmleval.input.canonical import Ranking, Truth
from xmleval.input.csr import Source, rows_at_a_time
from xmleval.input.door import OPEN, Door
from xmleval.input.rows import pointer
from xmleval.input.scores import Reading, list_width, ranking_rows
from xmleval.input.sets import relevant_of, set_rows
from xmleval.input.vectors import check_weight, groups_of_clusters
from xmleval.labels.groups import check_row_groups
from xmleval.states.plan import LINKED, NO_GAPS, Plan
from xmleval.view.block import Block
from xmleval.view.decision import LISTED, choose, refuse_improbable, refuse_unfit

FEW_ROWS, LEAST_ROWS = 16384, 4096  # one block up to the first; no smaller blocks than the second for threads


class Blocks:
    """The rows of an update in blocks of ``size`` rows, which are checked as they are made.

    ``score_dtypes`` are those of the scores so far, which grow; ``n_bytes`` is about what all blocks take.
    ``reachable`` are the relevant labels among the candidates, if there are any.
    """

    def __init__(
        self,
        plan: Plan,
        batch: Batch,
        resources: Resources,
        first_row: int,
        score_dtypes: set[str],
        by_id: bool = True,
    ) -> None:
        self.plan, self.first_row, self.by_id, self.score_dtypes = plan, first_row, by_id, score_dtypes
        self.truth = batch.truth
        self.notes = list[str]()
        self.reachable: Source[Truth] | None = None
        door = batch.door.opened(batch.truth) if batch.door.sets else OPEN
        how = _reading(plan, door)
        self.scores = None if batch.y_score is None else ranking_rows(batch.y_score, how)
        self.pred = None if batch.y_pred is None else set_rows("y_pred", batch.y_pred, plan.n_labels)
        self.unknown = self._refuse_unfit(batch)
        if door.sets:
            self.notes += door.notes(self.truth, self.scores, self.pred)
            self.truth, self.pred, self.reachable = door.passed(self.truth, self.pred)
        lists_sets = plan.decision is not None and plan.decision.kind in LISTED
        if lists_sets and batch.y_score is not None and plan.unlisted is not None:
            self.pred = _listed_sets(plan, batch.y_score, how)
        self._add_vectors(batch)
        self._cut(resources)

    def _refuse_unfit(self, batch: Batch) -> bool:
        """Refuse predictions of other rows, or with unknown labels where these have no meaning.

        Tells whether there are unknown labels.
        """
        given = {"y_score": self.scores, "y_pred": self.pred}
        sources: dict[str, Source[Any]] = {name: rows for name, rows in given.items() if rows is not None}
        unknown = [name for name, rows in sources.items() if rows.n_labels > self.plan.n_labels]
        _refuse_unknown(self.plan, unknown)
        _refuse_other_rows(batch, sources, self.plan.n_labels)
        return bool(unknown)

    def _add_vectors(self, batch: Batch) -> None:
        """Check what has a value for each row."""
        n_rows = batch.truth.n_rows
        weight, clusters, groups = batch.sample_weight, batch.clusters, batch.row_groups
        self.weight = None if weight is None else check_weight(weight, n_rows)
        self.jackknife = None if clusters is None else groups_of_clusters(clusters, n_rows)
        self.row_groups = None if groups is None else check_row_groups(groups, n_rows)

    def _cut(self, resources: Resources) -> None:
        """Settle how many rows a block has."""
        n_rows = self.truth.n_rows
        row_bytes = sum([rows.bytes_per_row for rows in (self.truth, self.scores, self.pred) if rows])
        self.n_bytes = n_rows * row_bytes
        self.size = resources.block_rows or _even_size(n_rows, rows_at_a_time(row_bytes), resources.threads)
        self.n_blocks = max(1, -(-n_rows // self.size))  # an empty block carries the dtypes

    def block(self, number: int) -> Block:
        """Return a block, or raise InputError for an invalid row, of the truth before others."""
        truth, reachable, groups = self.truth, self.reachable, self.row_groups
        start, stop = number * self.size, min((number + 1) * self.size, truth.n_rows)
        facts = None if truth.facts is None else truth.facts(start, stop)
        judged = facts.truth if facts else truth.block(start, stop)
        relevant = relevant_of(judged)
        ranking = None if self.scores is None else self._ranking(self.scores, relevant, start, stop)
        within = None if reachable is None else row_sizes(relevant_of(reachable.block(start, stop)).ptr)
        return Block(
            truth=relevant,
            ranking=ranking,
            pred=None if self.pred is None else self.pred.block(start, stop),
            weight=None if self.weight is None else self.weight[start:stop],
            first_row=self.first_row + start,
            by_id=self.by_id,
            jackknife=None if self.jackknife is None else self.jackknife[start:stop],
            n_reachable=within,
            row_groups=None if groups is None else groups._replace(of=groups.of[start:stop]),
            judged=None if judged.gains is None else judged,
            unknown=self.unknown,
            facts=facts,
        )

    def _ranking(self, scores: Source[Ranking], relevant: Truth, start: int, stop: int) -> Ranking:
        plan, ranking = self.plan, scores.block(start, stop)
        if plan.unlisted is not None and stop > start:
            ranking = _of_one_type(ranking, plan.unlisted, self.score_dtypes)
        if plan.required_gapless:
            _refuse_gaps(plan, relevant, ranking, self.unknown, start)
        if plan.probable is not None and ranking.scores is not None:
            spec, depth = plan.probable
            refuse_improbable(ranking, start, depth, spec, " needs probabilities; ", LINKED)
        if plan.decision is not None and plan.uses_decision:
            refuse_unfit(plan.decision, ranking, plan.n_labels, plan.unlisted, start)
        return ranking


def _reading(plan: Plan, door: Door) -> Reading:
    """Return how scores are read."""
    left = door.of_ranking if door.sets else None
    return Reading(
        "y_score",
        plan.n_labels,
        plan.unlisted,
        plan.depth,
        ordered=plan.ordered or left is not None,
        higher_is_better=plan.higher_is_better,
        left=left,
    )


def _refuse_unknown(plan: Plan, unknown: Sequence[str]) -> None:
    """Refuse arguments with unknown labels where these have no meaning."""
    level = plan.conventions.unlisted_score
    if "y_score" in unknown and level is not None:
        named = Field("unlisted", f"{level:g}"), " gives every label a score; name them in "
        reason = Message("predicts unknown labels, and ", *named, Keyword("labels"), " or leave them out")
        raise InputError("y_score", reason)
    if unknown and not plan.counts_cells and (cells := plan.required_cells):
        raise InputError(unknown[0], Message(cells[0], " needs ", ALL_LABELS))


def _refuse_other_rows(batch: Batch, sources: Mapping[str, Source[Any]], n_labels: int) -> None:
    """Refuse predictions with another number of rows than the truth."""
    truth = batch.truth
    for argument, rows in sources.items():
        if rows.n_rows != truth.n_rows:
            width = list_width(batch.y_score, n_labels) if argument == "y_score" else None
            unlike = other_rows(rows.n_rows, truth.n_rows, "y_true", truth.n_labels, width)
            raise InputError(argument, unlike)


def _listed_sets(plan: Plan, y_score: Any, how: Reading) -> Source[Truth]:
    """Return the sets that a decision makes of listed labels alone, where others have a score, too."""
    decision, n_labels = plan.decision, plan.n_labels
    assert decision is not None
    depth = int(min(decision.value, n_labels)) if decision.kind == "listed" else None
    listed = ranking_rows(y_score, how._replace(unlisted=None, depth=depth, ordered=True))

    def choose_listed(start: int, stop: int) -> Truth:
        return choose(decision, listed.block(start, stop), n_labels, None).as_sets()

    return Source(*listed[:3], choose_listed)


def _of_one_type(ranking: Ranking, unlisted: float, score_dtypes: set[str]) -> Ranking:
    """Return a ranking with the type of the scores before it, which ``unlisted`` is rounded to; or refuse it.

    Rows that list nothing take any type.
    """
    scores: Any = ranking.scores
    if not scores.size and score_dtypes:
        return ranking._replace(scores=scores.astype(next(iter(score_dtypes))))
    if scores.size or as_score(unlisted, np.empty(0, np.float32)) != unlisted:
        score_dtypes.add(scores.dtype.name)
    if len(score_dtypes) > 1:
        text = f"scores are {scores.dtype} where earlier ones were not; "
        reason = " is rounded to their type, so all updates must share one"
        raise InputError("y_score", Message(text, Field("unlisted"), reason))
    return ranking


def _even_size(n_rows: int, largest: int, threads: int) -> int:
    """Return a block size of at most ``largest`` rows that divides the rows evenly among threads."""
    n_blocks = -(-n_rows // largest)
    if n_blocks > 1 or n_rows > FEW_ROWS:
        n_blocks = max(n_blocks, min(-(-n_blocks // threads) * threads, n_rows // LEAST_ROWS))
    return max(1, -(-n_rows // max(1, n_blocks)))


def owned(block: Any) -> Any:
    """Return a deep copy of a block, or of a part of it."""
    if isinstance(block, tuple):
        return type(block)(*map(owned, block))
    return block.copy() if isinstance(block, np.ndarray) else block


def _refuse_gaps(plan: Plan, truth: Truth, ranking: Ranking, unknown: bool, start: int) -> None:
    """Refuse rows that lack a score for some label, if a measure requested by name needs every score."""
    n_listed, n_relevant = row_sizes(ranking.ptr), row_sizes(truth.ptr)
    if unknown:  # these do not fill a gap
        n_listed = row_sizes(pointer(ranking.labels < plan.n_labels)[ranking.ptr])
    for spec in plan.required_gapless:
        gap = n_listed < plan.n_labels
        if spec.average == "samples":
            gap &= (n_relevant > 0) & (n_relevant < plan.n_labels)
        if gap.any():
            row = int(gap.argmax())
            listed = f"scores of {n_listed[row]} of {plan.n_labels} labels"
            raise InputError("y_score", Message(listed, "; ", spec, " needs ", NO_GAPS), row=start + row)
