"""Immutable counts of rows: add batches in threads, merge, and report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import bytes_of
from xmleval.base.budget import Resources
from xmleval.base.errors import ALL_LABELS, InputError, Keyword, Message, positive_integer
from xmleval.base.notes import joined_notes
from xmleval.base.threads import run_workers
from xmleval.evaluation.batch import Batch
from xmleval.evaluation.blocks import Blocks, owned
from xmleval.evaluation.row_keys import Kept, united_keys, with_keys
from xmleval.evaluation.settings import KEYED, plan_of
from xmleval.evaluation.spans import COMMON, OWN, Spans, united
from xmleval.input.label_filter import NAMES, excluded_inputs
from xmleval.input.plausibility import unread_grades
from xmleval.input.rows import Rows
from xmleval.input.scores import has_scores
from xmleval.input.vectors import keys_of_groups
from xmleval.labels.groups import refuse_many_groups
from xmleval.results.report import Report
from xmleval.states.effects import idle_notes
from xmleval.states.plan import SCORED, Plan, Settings
from xmleval.states.results import Results
from xmleval.states.state import States, new_states, refuse_many_cells, table_bytes
from xmleval.view.block import Block
from xmleval.view.formulas import FormulaError

# waiting blocks: they take time to look through, and small ones more memory than their rows
MAX_WAITING = 256
WORKERS_BYTES = 1 << 30
ALONE = "alone"  # source of rows that are never merged
KEPT_BYTES = 31 << 20  # close to the maximum mmap threshold of glibc's malloc


@dataclass(frozen=True)
class Counted:
    """The counts of the rows seen so far, whose plan is fixed by the inputs of the first update."""

    n_rows: int = 0
    plan: Plan | None = None
    inputs: frozenset[str] = frozenset()  # names of the inputs
    states: States | None = None
    waiting: tuple[Block, ...] = ()  # rows not yet counted: each count copies the tables
    score_dtype: str | None = None  # if it affects values
    spans: Spans = field(default_factory=dict)  # of the counted rows
    place: tuple[str, int] = (COMMON, 0)  # source of the next row, empty if unknown, and row in it
    row_groups: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    waiting_bytes: int = 0  # size of the waiting rows
    row_keys: Kept = ()  # hashes of the keys of rows that have keys
    ranks_by_id: bool = False  # whether equal scores of any rows rank by label id
    # counts of the same rows as lists without scores, while no row lists a label
    unscored: Counted | None = None


def add_batch(settings: Settings, resources: Resources, counted: Counted, batch: Batch) -> Counted:
    """Return the counts after adding rows, or refuse rows whose places are counted already.

    The truth must be checked, by `Batch.with_checked_truth`. While all lists are empty, it is not
    known whether lists have scores, and rows are counted both ways.
    """
    if batch.place is not None:
        counted = _at_place(counted, batch.place)
    scored: bool | None = False
    if batch.y_score is not None:
        scored = has_scores(batch.y_score)
    added = partial(_add_rows, settings, resources, batch=batch)
    if scored is None and counted.plan is not None and counted.unscored is None:
        scored = SCORED in counted.inputs  # as earlier lists showed
    unscored = counted.unscored or counted
    if scored is not None:
        return added(counted if scored else unscored, scored)
    after = added(counted, True)
    try:
        return replace(after, unscored=added(unscored, False))
    except ValueError:  # a measure needs scores
        return after


def _at_place(counted: Counted, place: tuple[str, int]) -> Counted:
    """Return the counts with the place that the next rows come from."""
    unscored = counted.unscored
    if unscored is not None:
        unscored = replace(unscored, place=place)
    return replace(counted, place=place, unscored=unscored)


class Placed(NamedTuple):
    """Place of a batch among all rows.

    start : number of its first row
    spans, place : those of `Counted` after the batch
    """

    start: int
    spans: Spans
    place: tuple[str, int]


def _placed(settings: Settings, counted: Counted, n_rows: int, first_row: int | None) -> Placed:
    """Return the place of some rows, or refuse rows that are counted already."""
    source, row = counted.place
    start = counted.n_rows
    spans = counted.spans
    if first_row is not None:
        start = positive_integer("first_row", first_row, at_least=0)
    if not n_rows:
        return Placed(start, spans, counted.place)
    if first_row is not None or (settings.per_row and not source):  # one order of all rows
        return Placed(start, united(spans, {COMMON: ((start, start + n_rows),)}), counted.place)
    if source == ALONE:
        return Placed(start, spans, counted.place)
    # named with the first rows only: copies of an empty evaluator must not share a source
    source = source or f"{OWN}{os.urandom(8).hex()}"
    return Placed(start, united(spans, {source: ((row, row + n_rows),)}), (source, row + n_rows))


def _read_inputs(plan: Plan, inputs: frozenset[str]) -> frozenset[str]:
    """Return the inputs that all rows must have alike: scores only where measures read them."""
    if plan.reads_scores:
        return inputs - {KEYED}
    return inputs - {KEYED, SCORED}


def _refuse_other_inputs(counted: Counted, plan: Plan, inputs: frozenset[str]) -> None:
    """Refuse rows with other inputs than earlier rows."""
    inputs = _read_inputs(plan, inputs)
    before = _read_inputs(plan, counted.inputs)
    if counted.plan is not None and inputs != before:
        changed = sorted(inputs ^ before)[0]  # y_score before its scores
        if changed in inputs:
            raise InputError(changed, "given now, but not earlier")
        raise InputError(changed, "given earlier, but not now")


def _add_rows(
    settings: Settings,
    resources: Resources,
    counted: Counted,
    scored: bool,
    batch: Batch,
) -> Counted:
    """Return the counts after adding rows, whose predictions count as with scores or without."""
    keys = batch.naming.keys
    n_rows = batch.truth.n_rows
    placed = _placed(settings, counted, n_rows, batch.first_row)
    row_keys = counted.row_keys
    if keys and counted.place[0] != ALONE:
        row_keys = with_keys(row_keys, keys)
    inputs = batch.inputs
    if scored:
        inputs |= {SCORED}
    plan = counted.plan or plan_of(settings, inputs)
    refuse_many_cells("y_true", plan, counted.n_rows + n_rows)
    _refuse_other_inputs(counted, plan, inputs)
    if counted.plan is not None:  # the first rows tell whether lists have scores
        inputs = inputs - {SCORED} | counted.inputs & {SCORED}
    if settings.confidence is not None and batch.clusters is None:
        batch = batch._replace(clusters=keys_of_groups(keys))
        if _are_keyed(counted, batch):
            inputs |= {KEYED}
    dtypes = set[str]()
    if counted.score_dtype is not None:
        dtypes.add(counted.score_dtype)
    by_id = batch.naming.by_id and not settings.named
    blocks = Blocks(plan, batch, resources, placed.start, dtypes, by_id)
    notes = _notes_on(settings, counted, plan, batch, blocks)
    row_groups = _row_groups_with(counted, blocks)
    states, waiting, waiting_bytes = _count_or_keep(plan, resources, counted, blocks)
    all_notes = counted.notes
    if notes:
        all_notes = joined_notes(all_notes, notes)
    return Counted(
        n_rows=counted.n_rows + n_rows,
        plan=plan,
        inputs=inputs,
        states=states,
        waiting=waiting,
        waiting_bytes=waiting_bytes,
        score_dtype=next(iter(dtypes), None),
        spans=placed.spans,
        place=placed.place,
        row_groups=row_groups,
        notes=all_notes,
        row_keys=row_keys,
        ranks_by_id=counted.ranks_by_id or (n_rows > 0 and _ranks_by_id(batch.y_score)),
    )


def _ranks_by_id(y_score: object) -> bool:
    """Return whether equal scores rank by label id, and neither by name nor as listed."""
    if isinstance(y_score, tuple):
        return isinstance(y_score, Rows) and not (y_score.best_first or _has_texts(y_score.names))
    return y_score is not None


def _has_texts(names: Sequence[Any] | None) -> bool:
    """Return whether names are texts."""
    return names is not None and len(names) > 0 and isinstance(names[0], str)


def _are_keyed(counted: Counted, batch: Batch) -> bool:
    """Return whether all rows so far have keys, which determine their jackknife groups."""
    if not counted.n_rows:
        return batch.clusters is not None
    return KEYED in counted.inputs and (batch.clusters is not None or not batch.truth.n_rows)


def _notes_on(
    settings: Settings, counted: Counted, plan: Plan, batch: Batch, blocks: Blocks
) -> tuple[str, ...]:
    """Return the notes on a batch, with the first batch also those on the settings."""
    notes = *batch.notes, *settings.argument_notes, *blocks.notes
    if counted.plan is None:
        notes = *notes, *idle_notes(plan)
    if batch.naming.has_unread_grades and any(spec.metric.by_row for spec in plan.specs):
        notes = *notes, unread_grades("y_true")
    return notes


def _row_groups_with(counted: Counted, blocks: Blocks) -> frozenset[str]:
    """Return the names of the groups of all rows."""
    if blocks.row_groups is None:
        return counted.row_groups
    row_groups = counted.row_groups.union(blocks.row_groups.names)
    refuse_many_groups("row_groups", len(row_groups))
    return row_groups


def _count_or_keep(
    plan: Plan, resources: Resources, counted: Counted, blocks: Blocks
) -> tuple[States | None, tuple[Block, ...], int]:
    """Return the states, the blocks that wait to be counted, and their size in bytes.

    Blocks wait while they are smaller than the tables, which are copied when blocks are counted.
    """
    states = counted.states
    waiting = counted.waiting
    n_bytes = 0
    earlier = list[States]()
    limit = 0
    if states is not None:
        earlier = [states]
        limit = min(table_bytes(states), resources.waiting)
    is_small = blocks.n_bytes < limit
    if is_small:
        owned_blocks = resources.map(
            lambda number: owned(blocks.block(number)), range(blocks.n_blocks)
        )
        waiting = (*waiting, *owned_blocks)
        n_bytes = counted.waiting_bytes + bytes_of(owned_blocks)
    if is_small and len(waiting) < MAX_WAITING and n_bytes < limit:
        return states, waiting, n_bytes
    return count(plan, resources, earlier, None if is_small else blocks, waiting), (), 0


def with_waiting_counted(resources: Resources, counted: Counted) -> Counted:
    """Return the counts with all waiting rows counted."""
    if counted.unscored is not None:
        counted = replace(counted, unscored=with_waiting_counted(resources, counted.unscored))
    if not counted.waiting or counted.plan is None:
        return counted
    earlier = list[States]()
    if counted.states is not None:
        earlier = [counted.states]
    states = count(counted.plan, resources, earlier, None, counted.waiting)
    return replace(counted, states=states, waiting=(), waiting_bytes=0)


def add_counts(
    settings: Settings, resources: Resources, counted: Counted, added: Counted
) -> Counted:
    """Return the sum of two counts."""
    if added.unscored is not None and (counted.unscored is not None or counted.plan is None):
        return _add_both_ways(settings, resources, counted, added, added.unscored)
    counted, added = _listed_alike(counted, added)
    if added.plan is None or added.states is None:
        return counted
    if added.n_rows == 0 and counted.plan is not None:
        return counted
    _refuse_unlike(settings, counted, added)
    refuse_many_cells("merge", added.plan, counted.n_rows + added.n_rows)
    row_groups = counted.row_groups | added.row_groups
    refuse_many_groups("merge: row_groups", len(row_groups))
    spans = united(counted.spans, added.spans)
    row_keys = united_keys(counted.row_keys, added.row_keys)
    inputs = added.inputs
    states = None
    if counted.n_rows:
        inputs &= counted.inputs
        states = with_waiting_counted(resources, counted).states
    added_states = added.states
    if settings.per_row and COMMON not in added.spans:  # rows of files, which follow one another
        if COMMON in counted.spans:
            raise InputError("merge", "rows are kept by index here, but by file there")
        added_states = added_states.behind(counted.n_rows)
    states = states or new_states(added.plan, resources)
    return Counted(
        n_rows=counted.n_rows + added.n_rows,
        plan=added.plan,
        inputs=inputs,
        states=count(added.plan, resources, [states, added_states]),
        score_dtype=counted.score_dtype or added.score_dtype,
        spans=spans,
        place=counted.place,
        row_groups=row_groups,
        notes=joined_notes(counted.notes, added.notes),
        row_keys=row_keys,
        ranks_by_id=counted.ranks_by_id or added.ranks_by_id,
    )


def _add_both_ways(
    settings: Settings, resources: Resources, counted: Counted, added: Counted, unscored: Counted
) -> Counted:
    """Return the sum of two counts of rows that list nothing, as with scores and as without."""
    total = add_counts(
        settings, resources, replace(counted, unscored=None), replace(added, unscored=None)
    )
    earlier = counted.unscored or counted
    return replace(total, unscored=add_counts(settings, resources, earlier, unscored))


def _listed_alike(counted: Counted, added: Counted) -> tuple[Counted, Counted]:
    """Return two counts; if the rows of one list nothing, they count as those of the other."""
    if added.unscored is not None and counted.n_rows and SCORED not in counted.inputs:
        return counted, added.unscored
    if counted.unscored is not None and added.n_rows and SCORED not in added.inputs:
        return counted.unscored, added
    return counted, added


def _refuse_unlike(settings: Settings, counted: Counted, added: Counted) -> None:
    """Refuse counts of other inputs, or with intervals counts of rows without numbers or keys."""
    assert added.plan is not None
    inputs_here = sorted(_read_inputs(added.plan, counted.inputs))
    inputs_there = sorted(_read_inputs(added.plan, added.inputs))
    if counted.plan is not None and counted.n_rows and inputs_here != inputs_there:
        raise InputError("merge", f"input differs: {inputs_here} here, {inputs_there} there")
    dtypes = {counted.score_dtype, added.score_dtype} - {None}
    if settings.conventions.unlisted_score is not None and len(dtypes) > 1:
        text = f"scores are {counted.score_dtype} here, {added.score_dtype} there"
        raise InputError("merge", text)
    is_keyed = bool({"clusters", KEYED} & counted.inputs & added.inputs)
    is_numbered = {*counted.spans, *added.spans} == {COMMON}
    if settings.confidence is not None and counted.n_rows and not (is_keyed or is_numbered):
        reason = Message(
            "intervals need the number of each row in all shards; give each shard its ",
            Keyword("first_row"),
            " (the number of its first row) or ",
            Keyword("clusters"),
            ", or leave out ",
            Keyword("confidence"),
        )
        raise InputError("merge", reason)


def count(
    plan: Plan,
    resources: Resources,
    earlier: Sequence[States],
    rows: Blocks | None = None,
    waiting: Sequence[Block] = (),
) -> States:
    """Return the sum of earlier states and the states of rows and of waiting blocks.

    Earlier states are unchanged, even after an interrupt.
    """
    states = earlier[0].empty() if earlier else new_states(plan, resources)
    if rows is not None and rows.row_groups is not None:
        states.expect(rows.row_groups.names)
    parts = [states]
    try:
        _keep_freed_memory()
        n_new = rows.n_blocks if rows else 0
        n_blocks = n_new + len(waiting)

        def update(part: States, number: int) -> None:
            if rows and number < n_new:
                _add_block(part, rows.block(number), number * rows.size)
            else:
                _add_block(part, waiting[number - n_new], None)

        if n_blocks == 1:
            update(states, 0)
        elif n_blocks:
            worker_bytes = 1 + table_bytes(states, is_shared=False)
            n_workers = max(1, min(resources.threads, n_blocks, WORKERS_BYTES // worker_bytes))
            parts = states.divided(n_workers, n_blocks)
            # raises the error of the first block with an invalid row
            run_workers(n_blocks, [partial(update, part) for part in parts])
        for part in (*parts[1:], *earlier):
            states.merge(part)
    except BaseException:
        for part in parts:
            part.discard()
        raise
    return states


def _add_block(part: States, block: Block, first_row: int | None) -> None:
    """Add a block; errors of a measure's own formula get the number of their row in the batch.

    first_row : number of the first row of the block, None if it is not known
    """
    try:
        part.update(block)
    except FormulaError as error:
        row = None
        if first_row is not None and error.row is not None:
            row = first_row + error.row
        raise InputError(error.measure, error.reason, row=row) from error.__cause__


@cache
def _keep_freed_memory() -> None:
    """Let blocks and later calls reuse freed memory: memory from the system is far slower."""
    # freeing the array raises the mmap threshold of malloc; its pages are never touched
    np.empty(KEPT_BYTES, np.uint8)


def make_report(settings: Settings, counted: Counted, **names: Any) -> Report:
    """Return the report on the counted rows; ``names`` are those of rows and labels, if any."""
    plan = counted.plan
    if plan is None or counted.states is None:
        raise ValueError("nothing is counted yet; call update or merge first")
    results = counted.states.finish()
    _leave_out_undefined(results)
    if not settings.higher_is_better:
        results.negate_thresholds()
    excluded = {}
    if not NAMES.isdisjoint(counted.inputs):
        excluded = excluded_inputs(counted.inputs)
    hierarchy = plan.hierarchy
    groups = settings.label_groups
    return Report(
        results=results,
        specs=tuple([spec for spec in plan.specs if spec.name in results.values]),
        conventions=plan.conventions,
        n_rows=counted.n_rows,
        n_labels=plan.n_labels,
        decision=_decision_of(settings, plan),
        constants=settings.constants,
        not_computed={**plan.not_computed, **results.not_computed},
        weighted=plan.weighted,
        excluded=excluded,
        propensity=_propensity_of(settings),
        keeps_rows=bool(plan.per_row),
        higher_is_better=settings.higher_is_better,
        hierarchy=None if hierarchy is None else hierarchy.describe(),
        group_ranges=[] if groups is None else [*groups.ranges],
        confidence_level=settings.confidence,
        notes=[*counted.notes, *results.notes.values()],
        **{"label_names": settings.labels, **names},
    )


def _leave_out_undefined(results: Results) -> None:
    """Drop measures that need all labels if predictions have unknown ones."""
    undefined = {name for name, needed in results.not_computed.items() if needed == ALL_LABELS}
    if undefined and not results.values:
        raise ValueError(Message("metrics: nothing can be computed without ", ALL_LABELS))
    results.leave_out(undefined)


def _decision_of(settings: Settings, plan: Plan) -> str | None:
    """Return how scores became sets, as the caller gave it."""
    if plan.decision is None:
        return None
    return str(settings.decision or plan.decision)


def _propensity_of(settings: Settings) -> str | None:
    """Return the entry of a report on inverse propensities."""
    if settings.propensity is None:
        return None
    if settings.propensity.lowest < 1:
        return "values below 1"
    return "given"
