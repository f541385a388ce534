"""Check the arguments of one update and split them into blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Bytes, Floats, as_score, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.data_names import ROW_DATA, DataArgument
from xmleval.base.errors import ALL_LABELS, Field, InputError, Keyword, Message, other_rows
from xmleval.evaluation.batch import Batch
from xmleval.input.canonical import RankedRows, Truth
from xmleval.input.cell_marks import JUDGED
from xmleval.input.csr import Source, rows_at_a_time
from xmleval.input.label_filter import NO_FILTER, LabelFilter
from xmleval.input.own_data import check_numbers, refuse_other_data
from xmleval.input.rows import pointer
from xmleval.input.scores import Reading, list_width, ranking_rows
from xmleval.input.sets import relevant_of, set_rows
from xmleval.input.vectors import check_weight, groups_of_clusters
from xmleval.labels.groups import check_row_groups
from xmleval.states.plan import LINKED, NO_GAPS, Plan
from xmleval.view.block import Block, Groups, JudgedCells
from xmleval.view.decision import LISTED, choose, refuse_improbable, refuse_unfit

FEW_ROWS = 16384  # up to so many rows are one block
LEAST_ROWS = 4096  # smaller blocks are not worth a thread


class Blocks:
    """Rows of an update in blocks of ``size`` rows, which are checked when they are made.

    score_dtypes : dtypes of the scores so far, which each block may add to
    n_bytes : approximate size of all blocks
    reachable : relevant labels among the candidates, if there are any
    cells : sets of the labels that are judged, or of those that are not, by the plan
    unknown : whether predictions have unknown labels
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
        self.plan = plan
        self.least_gain = plan.conventions.least_gain
        self.first_row = first_row
        self.by_id = by_id
        self.score_dtypes = score_dtypes
        self.truth = batch.truth
        self.notes = list[str]()
        self.scores: Source[RankedRows] | None = None
        self.pred: Source[Truth] | None = None
        self.reachable: Source[Truth] | None = None
        self.cells: Source[Truth] | None = None
        label_filter = NO_FILTER
        if batch.label_filter.sets:
            label_filter = batch.label_filter.opened(batch.truth)
        reading = _reading(plan, label_filter)
        if batch.y_score is not None:
            self.scores = ranking_rows(batch.y_score, reading)
        if batch.y_pred is not None:
            self.pred = set_rows("y_pred", batch.y_pred, plan.n_labels)
        self.unknown = self._refuse_unfit(batch)
        if label_filter.sets:
            self.notes += label_filter.notes(self.truth, self.scores, self.pred, self.least_gain)
            self.truth, self.pred, self.reachable = label_filter.passed(self.truth, self.pred)
            self.cells = label_filter.cells
        lists_sets = plan.decision is not None and plan.decision.kind in LISTED
        if lists_sets and batch.y_score is not None and plan.unlisted is not None:
            self.pred = _listed_sets(plan, batch.y_score, reading)
        self._add_row_values(batch)
        self._set_size(resources)

    def _refuse_unfit(self, batch: Batch) -> bool:
        """Refuse predictions of other rows, or with unknown labels if measures do not allow them.

        Return whether there are unknown labels.
        """
        sources = dict[str, Source[Any]]()
        if self.scores is not None:
            sources["y_score"] = self.scores
        if self.pred is not None:
            sources["y_pred"] = self.pred
        unknown = [name for name, rows in sources.items() if rows.n_labels > self.plan.n_labels]
        _refuse_unknown(self.plan, unknown)
        _refuse_other_rows(batch, sources, self.plan.n_labels)
        return bool(unknown)

    def _add_row_values(self, batch: Batch) -> None:
        """Check the weights, clusters and groups of rows."""
        n_rows = batch.truth.n_rows
        self.weight: Floats | None = None
        self.jackknife: Bytes | None = None
        self.row_groups: Groups | None = None
        if batch.sample_weight is not None:
            self.weight = check_weight(batch.sample_weight, n_rows)
        if batch.clusters is not None:
            self.jackknife = groups_of_clusters(batch.clusters, n_rows)
        if batch.row_groups is not None:
            self.row_groups = check_row_groups(batch.row_groups, n_rows)
        readers = {spec.name: spec.metric.row_data for spec in self.plan.all_specs}
        refuse_other_data(ROW_DATA, batch.row_data, readers)
        self.row_data = {
            name: check_numbers(DataArgument(ROW_DATA, name), values, n_rows, "row")
            for name, values in batch.row_data.items()
        }

    def _set_size(self, resources: Resources) -> None:
        """Set the number of rows of a block, and the number of blocks."""
        n_rows = self.truth.n_rows
        inputs = self.truth, self.scores, self.pred
        row_bytes = sum([rows.bytes_per_row for rows in inputs if rows])
        self.n_bytes = n_rows * row_bytes
        self.size = resources.block_rows or _even_size(
            n_rows, rows_at_a_time(row_bytes), resources.threads
        )
        self.n_blocks = max(1, -(-n_rows // self.size))  # an empty block carries the dtypes

    def block(self, number: int) -> Block:
        """Return a block, or raise InputError for an invalid row, first for one of the truth."""
        truth = self.truth
        start = number * self.size
        stop = min((number + 1) * self.size, truth.n_rows)
        facts = truth.facts(start, stop) if truth.facts else None
        judged = facts.truth if facts else truth.block(start, stop)
        relevant = relevant_of(judged, self.least_gain)
        cells = None
        if self.cells is not None:
            are_judged = self.plan.cells_are == JUDGED
            cells = JudgedCells(self._known(self.cells.block(start, stop)), are_judged)
        ranking = None
        if self.scores is not None:
            ranking = self._ranking(self.scores, relevant, cells, start, stop)
        n_reachable = None
        if self.reachable is not None:
            reachable = relevant_of(self.reachable.block(start, stop), self.least_gain)
            n_reachable = row_sizes(reachable.ptr)
        pred = None
        if self.pred is not None:
            pred = self.pred.block(start, stop)
        weight = self.weight
        if weight is not None:
            weight = weight[start:stop]
        jackknife = self.jackknife
        if jackknife is not None:
            jackknife = jackknife[start:stop]
        row_data = {name: values[start:stop] for name, values in self.row_data.items()}
        groups = self.row_groups
        if groups is not None:
            groups = groups._replace(of=groups.of[start:stop])
        return Block(
            truth=relevant,
            ranking=ranking,
            pred=pred,
            weight=weight,
            first_row=self.first_row + start,
            by_id=self.by_id,
            jackknife=jackknife,
            n_reachable=n_reachable,
            row_groups=groups,
            judged=None if judged.gains is None else judged,
            cells=cells,
            unknown=self.unknown,
            facts=facts,
            row_data=row_data,
        )

    def _known(self, sets: Truth) -> Truth:
        """Return label sets without unknown labels."""
        is_known = sets.labels < self.plan.n_labels
        if is_known.all():
            return sets
        return Truth(pointer(is_known)[sets.ptr], sets.labels[is_known])

    def _ranking(
        self,
        scores: Source[RankedRows],
        relevant: Truth,
        cells: JudgedCells | None,
        start: int,
        stop: int,
    ) -> RankedRows:
        """Return the ranking of some rows, or refuse scores that the measures do not allow."""
        plan = self.plan
        ranking = scores.block(start, stop)
        if plan.unlisted is not None and stop > start:
            ranking = _of_one_type(ranking, plan.unlisted, self.score_dtypes)
        if plan.required_gapless:
            _refuse_gaps(plan, relevant, ranking, cells, self.unknown, start)
        if plan.probable is not None and ranking.scores is not None:
            spec, depth = plan.probable
            refuse_improbable(ranking, start, depth, spec, " needs probabilities; ", LINKED)
        if plan.decision is not None and plan.uses_decision:
            refuse_unfit(plan.decision, ranking, plan.n_labels, plan.unlisted, start)
        return ranking


def _reading(plan: Plan, label_filter: LabelFilter) -> Reading:
    """Return how scores are read under a plan."""
    left = None
    if label_filter.sets:
        left = label_filter.of_ranking
    return Reading(
        "y_score",
        plan.n_labels,
        plan.unlisted,
        plan.depth,
        ordered=plan.ordered or left is not None,
        higher_is_better=plan.higher_is_better,
        left=left,
        keeps_ties=plan.keeps_ties,
    )


def _refuse_unknown(plan: Plan, unknown: Sequence[str]) -> None:
    """Refuse arguments with unknown labels if measures do not allow them."""
    unlisted_score = plan.conventions.unlisted_score
    if "y_score" in unknown and unlisted_score is not None:
        reason = Message(
            "predicts unknown labels, but ",
            Field("unlisted", f"{unlisted_score:g}"),
            " gives every label a score; add them to ",
            Keyword("labels"),
            " or remove them",
        )
        raise InputError("y_score", reason)
    if unknown and not plan.counts_cells:
        cells = plan.required_cells
        if cells:
            raise InputError(unknown[0], Message(cells[0], " needs ", ALL_LABELS))


def _refuse_other_rows(batch: Batch, sources: Mapping[str, Source[Any]], n_labels: int) -> None:
    """Refuse predictions with another number of rows than the truth."""
    truth = batch.truth
    for argument, rows in sources.items():
        if rows.n_rows != truth.n_rows:
            width = None
            if argument == "y_score":
                width = list_width(batch.y_score, n_labels)
            reason = other_rows(rows.n_rows, truth.n_rows, "y_true", truth.n_labels, width)
            raise InputError(argument, reason)


def _listed_sets(plan: Plan, y_score: Any, reading: Reading) -> Source[Truth]:
    """Return the sets that a decision makes of listed labels; unlisted ones have a score, too."""
    decision = plan.decision
    n_labels = plan.n_labels
    assert decision is not None
    depth = None
    if decision.kind == "listed":
        depth = int(min(decision.value, n_labels))
    listed = ranking_rows(y_score, reading._replace(unlisted=None, depth=depth, ordered=True))

    def choose_listed(start: int, stop: int) -> Truth:
        return choose(decision, listed.block(start, stop), n_labels, None).as_sets()

    return Source(*listed[:3], choose_listed)


def _of_one_type(ranking: RankedRows, unlisted: float, score_dtypes: set[str]) -> RankedRows:
    """Return a ranking, or refuse another type of scores than that of earlier ones.

    The score of unlisted labels is rounded to this type. Rows that list nothing take any type.
    """
    scores: Any = ranking.scores
    if not scores.size and score_dtypes:
        return ranking._replace(scores=scores.astype(next(iter(score_dtypes))))
    if scores.size or as_score(unlisted, np.empty(0, np.float32)) != unlisted:
        score_dtypes.add(scores.dtype.name)
    if len(score_dtypes) > 1:
        text = f"scores are {scores.dtype}, unlike earlier scores; "
        reason = " is rounded to the type of scores, so give all updates the same type"
        raise InputError("y_score", Message(text, Field("unlisted"), reason))
    return ranking


def _even_size(n_rows: int, largest: int, threads: int) -> int:
    """Return a size of blocks, at most ``largest``, that divides rows evenly among threads."""
    n_blocks = -(-n_rows // largest)
    if n_blocks > 1 or n_rows > FEW_ROWS:
        n_blocks = max(n_blocks, min(-(-n_blocks // threads) * threads, n_rows // LEAST_ROWS))
    return max(1, -(-n_rows // max(1, n_blocks)))


def owned(block: Any) -> Any:
    """Return a deep copy of a block, or of a part of it."""
    if isinstance(block, tuple):
        return type(block)(*map(owned, block))
    if isinstance(block, np.ndarray):
        return block.copy()
    if isinstance(block, dict):
        return {name: owned(part) for name, part in block.items()}
    return block


def _refuse_gaps(
    plan: Plan,
    truth: Truth,
    ranking: RankedRows,
    cells: JudgedCells | None,
    unknown: bool,
    start: int,
) -> None:
    """Refuse rows without a score for some label if a requested measure needs every score."""
    n_listed = row_sizes(ranking.ptr)
    n_relevant = row_sizes(truth.ptr)
    n_cells = np.full(n_listed.size, plan.n_labels)
    if cells is not None:
        n_cells = cells.sizes(plan.n_labels)
    if unknown:  # scores of unknown labels do not fill a gap
        n_listed = row_sizes(pointer(ranking.labels < plan.n_labels)[ranking.ptr])
    for spec in plan.required_gapless:
        gap = n_listed < n_cells
        if spec.average == "samples":
            gap &= (n_relevant > 0) & (n_relevant < n_cells)
        if gap.any():
            row = int(gap.argmax())
            listed = f"scores of {n_listed[row]} of {n_cells[row]} labels; "
            reason = Message(listed, spec, " needs ", NO_GAPS)
            raise InputError("y_score", reason, row=start + row)
