"""Count blocks of rows in one or several threads, with bit-identical results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from xmleval.budget import memory_bytes
from xmleval.engine.blocks import Blocks
from xmleval.errors import positive_integer
from xmleval.plan import Plan
from xmleval.records import Block
from xmleval.states.folds import new_states
from xmleval.states.state import States
from xmleval.threads import MOST_THREADS, Work, available_processors, in_turns

WORKERS_BYTES = 1 << 30
KEPT_BYTES = 31 << 20  # close to the maximum mmap threshold of glibc's malloc


def make_work(memory: Any, threads: Any) -> Work:
    """Check ``memory`` and ``threads``."""
    known = min(available_processors(), MOST_THREADS)
    n_threads = known if threads is None else positive_integer("threads", threads, most=MOST_THREADS)
    return Work(memory_bytes("memory", memory), n_threads)


def count(
    plan: Plan, work: Work, earlier: States | None, rows: Blocks | None, waiting: Sequence[Block] = ()
) -> States:
    """Return the states of earlier rows plus ``rows`` and ``waiting``.

    The arguments are never changed, even if a signal handler raises.
    """
    states = new_states(plan, work) if earlier is None else earlier.empty()
    states.expect(rows.row_groups if rows else ())
    parts = [states]
    try:
        blocks: list[Callable[[], Block]] = []
        blocks += [partial(rows.block, number) for number in range(rows.n_blocks)] if rows else []
        blocks += [partial(_itself, block) for block in waiting]
        _keep_freed_memory()
        if len(blocks) == 1:
            states.update(blocks[0]())
        else:
            n_workers = max(1, min(work.threads, len(blocks), WORKERS_BYTES // (states.worker_bytes + 1)))
            parts = states.divided(n_workers, len(blocks))

            def update(part: States, number: int) -> None:
                part.update(blocks[number]())

            # the error with the lowest number is that of the first block with an invalid row
            in_turns(len(blocks), [partial(update, part) for part in parts])
            for part in parts[1:]:
                states.merge(part)
        if earlier is not None:
            states.merge(earlier)
    except BaseException:
        for part in parts:
            part.discard()
        raise
    return states


@cache
def _keep_freed_memory() -> None:
    """Let blocks, and calls one after another, reuse freed memory: that from the system is far slower.

    Freeing an array this large raises the mmap threshold of malloc for the rest of the process; untouched
    pages cost nothing.
    """
    np.empty(KEPT_BYTES, np.uint8)


def _itself(block: Block) -> Block:
    return block


def merged(one: States, other: States) -> States:
    """Return the merged states of two sets of rows; the arguments are unchanged."""
    states = one.empty()
    try:
        states.merge(one)
        states.merge(other)
    except BaseException:
        states.discard()
        raise
    return states
