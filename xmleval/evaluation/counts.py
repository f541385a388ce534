"""Counts of rows: batches are added to the immutable counts before, in threads; merged, and reported."""

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
from xmleval.base.threads import in_turns
from xmleval.evaluation.batch import Batch
from xmleval.evaluation.blocks import Blocks, owned
from xmleval.evaluation.row_keys import Kept, united_keys, with_keys
from xmleval.evaluation.settings import KEYED, plan_of
from xmleval.evaluation.spans import COMMON, OWN, Spans, united
from xmleval.input.door import NAMES, excluded_inputs
from xmleval.input.glances import unread_grades
from xmleval.input.scores import has_scores
from xmleval.input.vectors import keys_of_groups
from xmleval.labels.groups import refuse_many_groups
from xmleval.results.report import Report
from xmleval.states.effects import idle_notes
from xmleval.states.plan import SCORED, Plan, Settings
from xmleval.states.results import Results
from xmleval.states.state import States, new_states, refuse_many_cells, table_bytes
from xmleval.view.block import Block

MAX_WAITING = 256  # blocks: looking through them takes time, and small ones take more memory than their rows
WORKERS_BYTES = 1 << 30
ALONE = "alone"  # the source of rows that nothing is merged with
KEPT_BYTES = 31 << 20  # close to the maximum mmap threshold of glibc's malloc


@dataclass(frozen=True)
class Counted:
    """The counts of the rows seen so far, whose plan is fixed by the inputs of the first update."""

    n_rows: int = 0
    plan: Plan | None = None
    inputs: frozenset[str] = frozenset()  # that are given
    states: States | None = None
    waiting: tuple[Block, ...] = ()  # rows not yet counted: each count copies the tables
    score_dtype: str | None = None  # if it affects values
    spans: Spans = field(default_factory=dict)  # of the counted rows
    place: tuple[str, int] = (COMMON, 0)  # source of the next row, empty before it is known, and row in it
    row_groups: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    waiting_bytes: int = 0  # size of the waiting rows
    row_keys: Kept = ()  # hashes of the keys of rows that have keys
    unscored: Counted | None = None  # the same rows as lists without scores, while none of them lists a label


def add_batch(settings: Settings, resources: Resources, counted: Counted, batch: Batch) -> Counted:
    """Return the counts after adding rows, whose places earlier ones must have left free.

    The truth must be checked, by `Batch.with_checked_truth`. Lists that are all empty do not tell whether
    lists have scores: rows are counted both ways until one does.
    """
    if batch.place is not None:
        counted = _at_place(counted, batch.place)
    scored = False if batch.y_score is None else has_scores(batch.y_score)
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
    """Return counts whose next rows come from a place."""
    unscored = None if counted.unscored is None else replace(counted.unscored, place=place)
    return replace(counted, place=place, unscored=unscored)


class Placed(NamedTuple):
    """Where the rows of a batch are among all rows: the number of the first, and what is counted then."""

    start: int
    spans: Spans
    place: tuple[str, int]


def _placed(settings: Settings, counted: Counted, n_rows: int, first_row: int | None) -> Placed:
    """Return the place of some rows, which earlier ones must have left free."""
    (source, row), start, spans = counted.place, counted.n_rows, counted.spans
    if first_row is not None:
        start = positive_integer("first_row", first_row, at_least=0)
    if not n_rows:
        return Placed(start, spans, counted.place)
    if first_row is not None or (settings.per_row and not source):  # one order
        return Placed(start, united(spans, {COMMON: ((start, start + n_rows),)}), counted.place)
    if source == ALONE:  # without any, no source is named, or copies made now would share it
        return Placed(start, spans, counted.place)
    source = source or f"{OWN}{os.urandom(8).hex()}"
    return Placed(start, united(spans, {source: ((row, row + n_rows),)}), (source, row + n_rows))


def _refuse_other_inputs(counted: Counted, inputs: frozenset[str]) -> None:
    """Refuse rows that come with other inputs than those before."""
    before = counted.inputs - {KEYED}
    if counted.plan is not None and inputs != before:
        changed = sorted(inputs ^ before)[0]  # y_score before its scores
        when = "now, but not earlier" if changed in inputs else "earlier, but not now"
        raise InputError(changed, f"given {when}")


def _add_rows(
    settings: Settings,
    resources: Resources,
    counted: Counted,
    scored: bool,
    batch: Batch,
) -> Counted:
    """Return the counts after adding rows, whose predictions have scores or not."""
    keys, n_rows = batch.naming.keys, batch.truth.n_rows
    placed = _placed(settings, counted, n_rows, batch.first_row)
    row_keys = counted.row_keys
    if keys and counted.place[0] != ALONE:
        row_keys = with_keys(row_keys, keys)
    inputs = batch.inputs | {SCORED} if scored else batch.inputs
    plan = counted.plan or plan_of(settings, inputs)
    refuse_many_cells("y_true", plan, counted.n_rows + n_rows)
    if not plan.reads_scores:
        inputs -= {SCORED}
    _refuse_other_inputs(counted, inputs)
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
    states, waiting, waiting_bytes = _counted_or_waiting(plan, resources, counted, blocks)
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
        notes=joined_notes(counted.notes, notes) if notes else counted.notes,
        row_keys=row_keys,
    )


def _are_keyed(counted: Counted, batch: Batch) -> bool:
    """Tell whether all rows so far have keys, by which they are in groups of the jackknife."""
    if not counted.n_rows:
        return batch.clusters is not None
    return KEYED in counted.inputs and (batch.clusters is not None or not batch.truth.n_rows)


def _notes_on(
    settings: Settings, counted: Counted, plan: Plan, batch: Batch, blocks: Blocks
) -> tuple[str, ...]:
    """Return what is told of a batch, and of the settings with the first one."""
    notes = *batch.notes, *settings.on_arguments, *blocks.notes
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


def _counted_or_waiting(
    plan: Plan, resources: Resources, counted: Counted, blocks: Blocks
) -> tuple[States | None, tuple[Block, ...], int]:
    """Return the states, the rows that wait to be counted, and the size of these.

    Rows wait while they are smaller than the tables, which each count copies.
    """
    states, waiting, n_bytes = counted.states, counted.waiting, 0
    earlier = [] if states is None else [states]
    limit = 0 if states is None else min(table_bytes(states), resources.waiting)
    is_small = blocks.n_bytes < limit
    if is_small:
        owned_blocks = resources.map(lambda number: owned(blocks.block(number)), range(blocks.n_blocks))
        waiting, n_bytes = (*waiting, *owned_blocks), counted.waiting_bytes + bytes_of(owned_blocks)
    if is_small and len(waiting) < MAX_WAITING and n_bytes < limit:
        return states, waiting, n_bytes
    return count(plan, resources, earlier, None if is_small else blocks, waiting), (), 0


def with_waiting_counted(resources: Resources, counted: Counted) -> Counted:
    """Return the counts with all waiting rows counted."""
    if counted.unscored is not None:
        counted = replace(counted, unscored=with_waiting_counted(resources, counted.unscored))
    if not counted.waiting or counted.plan is None:
        return counted
    earlier = [] if counted.states is None else [counted.states]
    states = count(counted.plan, resources, earlier, None, counted.waiting)
    return replace(counted, states=states, waiting=(), waiting_bytes=0)


def add_counts(settings: Settings, resources: Resources, counted: Counted, added: Counted) -> Counted:
    """Return the sum of two counts."""
    if added.unscored is not None and (counted.unscored is not None or counted.plan is None):
        without = replace(counted, unscored=None), replace(added, unscored=None)
        total = add_counts(settings, resources, *without)
        earlier = counted.unscored or counted
        return replace(total, unscored=add_counts(settings, resources, earlier, added.unscored))
    counted, added = _listed_alike(counted, added)
    if added.plan is None or added.states is None or (added.n_rows == 0 and counted.plan is not None):
        return counted
    _refuse_unlike(settings, counted, added)
    refuse_many_cells("merge", added.plan, counted.n_rows + added.n_rows)
    row_groups = counted.row_groups | added.row_groups
    refuse_many_groups("merge: row_groups", len(row_groups))
    spans, row_keys = united(counted.spans, added.spans), united_keys(counted.row_keys, added.row_keys)
    mine = with_waiting_counted(resources, counted).states if counted.n_rows else None
    theirs = added.states
    if settings.per_row and COMMON not in added.spans:  # rows of files, which follow one another
        if COMMON in counted.spans:
            raise InputError("merge", "kept rows have indices here, and are those of files there")
        theirs = theirs.behind(counted.n_rows)
    return Counted(
        n_rows=counted.n_rows + added.n_rows,
        plan=added.plan,
        inputs=counted.inputs & added.inputs if counted.n_rows else added.inputs,
        states=count(added.plan, resources, [mine or new_states(added.plan, resources), theirs]),
        score_dtype=counted.score_dtype or added.score_dtype,
        spans=spans,
        place=counted.place,
        row_groups=row_groups,
        notes=joined_notes(counted.notes, added.notes),
        row_keys=row_keys,
    )


def _listed_alike(counted: Counted, added: Counted) -> tuple[Counted, Counted]:
    """Return two counts; rows that list nothing count as the other does, with scores or without."""
    if added.unscored is not None and counted.n_rows and SCORED not in counted.inputs:
        return counted, added.unscored
    if counted.unscored is not None and added.n_rows and SCORED not in added.inputs:
        return counted.unscored, added
    return counted, added


def _refuse_unlike(settings: Settings, counted: Counted, added: Counted) -> None:
    """Refuse to add counts of other inputs, or of rows that intervals cannot tell apart."""
    inputs_here, inputs_there = (sorted(part.inputs - {KEYED}) for part in (counted, added))
    if counted.plan is not None and counted.n_rows and inputs_here != inputs_there:
        raise InputError("merge", f"input differs: {inputs_here} here, {inputs_there} there")
    dtypes = {counted.score_dtype, added.score_dtype} - {None}
    if settings.conventions.unlisted_score is not None and len(dtypes) > 1:
        raise InputError("merge", f"scores are {counted.score_dtype} here, {added.score_dtype} there")
    is_keyed = bool({"clusters", KEYED} & counted.inputs & added.inputs)
    is_numbered = {*counted.spans, *added.spans} == {COMMON}
    if settings.confidence is not None and counted.n_rows and not (is_keyed or is_numbered):
        text = "intervals need the number of each row in all shards; give each shard its "
        reason = " (the number of its first row) or ", Keyword("clusters"), ", or leave out "
        raise InputError("merge", Message(text, Keyword("first_row"), *reason, Keyword("confidence")))


def count(
    plan: Plan,
    resources: Resources,
    earlier: Sequence[States],
    rows: Blocks | None = None,
    waiting: Sequence[Block] = (),
) -> States:
    """Return the states of earlier rows plus ``rows`` and ``waiting``, unchanged even by an interrupt."""
    states = earlier[0].empty() if earlier else new_states(plan, resources)
    if rows is not None and rows.row_groups is not None:
        states.expect(rows.row_groups.names)
    parts = [states]
    try:
        _keep_freed_memory()
        n_rows = rows.n_blocks if rows else 0
        n_blocks = n_rows + len(waiting)

        def update(part: States, number: int) -> None:
            part.update(rows.block(number) if rows and number < n_rows else waiting[number - n_rows])

        if n_blocks == 1:
            update(states, 0)
        elif n_blocks:
            of_each = 1 + table_bytes(states, is_shared=False)
            n_workers = max(1, min(resources.threads, n_blocks, WORKERS_BYTES // of_each))
            parts = states.divided(n_workers, n_blocks)
            # the error with the lowest number is that of the first block with an invalid row
            in_turns(n_blocks, [partial(update, part) for part in parts])
        for each in (*parts[1:], *earlier):
            states.merge(each)
    except BaseException:
        for part in parts:
            part.discard()
        raise
    return states


@cache
def _keep_freed_memory() -> None:
    """Let blocks, and calls one after another, reuse freed memory: that from the system is far slower."""
    np.empty(KEPT_BYTES, np.uint8)  # whose end raises the mmap threshold of malloc; its pages cost nothing


def make_report(settings: Settings, of: Counted, **names: Any) -> Report:
    """Return the report on the counted rows; ``names`` are those of its rows and labels, if any."""
    plan = of.plan
    if plan is None or of.states is None:
        raise ValueError("nothing was counted yet: call update or merge first")
    results = of.states.finish()
    _leave_out_undefined(results)
    if not settings.higher_is_better:
        results.negate_thresholds()
    groups = settings.label_groups
    return Report(
        results=results,
        specs=tuple([spec for spec in plan.specs if spec.name in results.values]),
        conventions=plan.conventions,
        n_rows=of.n_rows,
        n_labels=plan.n_labels,
        decision=_decision_of(settings, plan),
        constants=settings.constants,
        not_computed={**plan.not_computed, **results.not_computed},
        weighted=plan.weighted,
        excluded={} if NAMES.isdisjoint(of.inputs) else excluded_inputs(of.inputs),
        propensity=_propensity_of(settings),
        keeps_rows=bool(plan.per_row),
        higher_is_better=settings.higher_is_better,
        hierarchy=None if plan.hierarchy is None else plan.hierarchy.describe(),
        group_ranges=[] if groups is None else [*groups.ranges],
        confidence_level=settings.confidence,
        notes=[*of.notes, *results.notes.values()],
        **{"label_names": settings.labels, **names},
    )


def _leave_out_undefined(results: Results) -> None:
    """Leave out measures of all labels where predictions have unknown ones."""
    without = {name for name, needed in results.not_computed.items() if needed == ALL_LABELS}
    if without and not results.values:
        raise ValueError(Message("metrics: nothing can be computed without ", ALL_LABELS))
    results.leave_out(without)


def _decision_of(settings: Settings, plan: Plan) -> str | None:
    """Return how scores became sets, as the caller gave it."""
    if plan.decision is None:
        return None
    return str(settings.decision or plan.decision)


def _propensity_of(settings: Settings) -> str | None:
    """Return what a report says of inverse propensities."""
    if settings.propensity is None:
        return None
    return "given" if settings.propensity.lowest >= 1 else "values below 1"
