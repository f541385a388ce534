"""Counting blocks of rows, inline or in several threads, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from xmleval.budget import memory_bytes
from xmleval.engine.blocks import Blocks
from xmleval.input.errors import positive_integer
from xmleval.plan import Plan
from xmleval.records import Block
from xmleval.states.state import States
from xmleval.threads import Work, available_processors, in_turns

WORKERS_BYTES = 1 << 30
KEPT_BYTES = 31 << 20  # about the most that the C library's allocator can be taught to keep


def make_work(memory: Any, threads: Any, last: bool = False) -> Work:
    """Accept the arguments that tell how much memory and how many threads to use."""
    n_threads = available_processors() if threads is None else positive_integer("threads", threads)
    return Work(memory_bytes("memory", memory), n_threads, last)


def count(
    plan: Plan, work: Work, earlier: States | None, rows: Blocks | None, waiting: Sequence[Block] = ()
) -> States:
    """Return the states of earlier rows and others, together.

    Nothing that is given changes: if anything fails, a signal handler that raises included, the earlier
    states are what they were.

    Parameters
    ----------
    plan, work : Plan, Work
        What to compute, with which memory and threads.
    earlier : States or None
        Rows that are counted.
    rows : Blocks or None
        Rows to count.
    waiting : sequence of Block
        More of them.
    """
    states = States(plan, work) if earlier is None else earlier.empty()
    try:
        blocks: list[Callable[[], Block]] = []
        blocks += [partial(rows.block, number) for number in range(rows.n_blocks)] if rows else []
        blocks += [partial(_itself, block) for block in waiting]
        if len(blocks) == 1:
            states.update(blocks[0]())
        else:
            # Freed arrays up to this size then stay with the process: what one block leaves, the next one
            # takes, and memory from the system is far slower. An array that nobody writes to costs nothing.
            np.empty(KEPT_BYTES, np.uint8)
            n_workers = max(1, min(work.threads, len(blocks), WORKERS_BYTES // (states.worker_bytes + 1)))
            parts = states.divided(n_workers, len(blocks))

            def update(part: States, number: int) -> None:
                part.update(blocks[number]())

            # the failure that comes first by number is that of the first offending row
            in_turns(len(blocks), [partial(update, part) for part in parts])
            for part in parts[1:]:
                states.merge(part)
        if earlier is not None:
            states.merge(earlier)
    except BaseException:
        states.discard()
        raise
    return states


def _itself(block: Block) -> Block:
    return block


def merged(one: States, other: States) -> States:
    """Return the states of the rows of both, which stay as they are."""
    states = one.empty()
    try:
        states.merge(one)
        states.merge(other)
    except BaseException:
        states.discard()
        raise
    return states
