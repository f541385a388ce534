"""Counting blocks of rows, inline or over a thread pool, with the same result."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import numpy as np

from xmleval.engine.plan import States
from xmleval.exact import Commit
from xmleval.input.errors import InputError
from xmleval.records import Block
from xmleval.threads import in_turns

WORKERS_BYTES = 1 << 30
KEPT_BYTES = 31 << 20  # about the most that the C library's allocator can be taught to keep
FEW_ROWS, LEAST_ROWS = 16384, 4096  # up to which, and for less than which, a thread costs more than it gives


def even_blocks(n_rows: int, most: int, threads: int) -> int:
    """Return how many rows make a block, of those that threads can share evenly.

    n_rows : rows in all; most : rows that a block may have; threads : most threads
    """
    n_blocks = -(-n_rows // most)
    if n_blocks > 1 or n_rows > FEW_ROWS:
        n_blocks = max(n_blocks, min(-(-n_blocks // threads) * threads, n_rows // LEAST_ROWS))
    return max(1, -(-n_rows // max(1, n_blocks)))


def count_blocks(
    states: States,
    block: Callable[[int, int], Block],
    n_rows: int,
    size: int,
    threads: int,
    fresh: bool = False,
) -> list[Commit]:
    """Count rows block by block, as far as anything may fail.

    Parameters
    ----------
    states : States
        Statistics to add to; they are not touched, unless they are fresh.
    block : callable
        Gives the checked rows of a range.
    n_rows, size : int
        Number of rows, and of rows in a block.
    threads : int
        Most threads to use; a single block is counted inline, where a pool would cost more.
    fresh : bool
        Whether the statistics are empty, and dropped if this fails: then the first worker fills them.

    Returns
    -------
    list of callables
        What adds these rows to the statistics when called.
    """
    if n_rows <= size:
        return states.prepare(checked(block, 0, n_rows))
    # Freed arrays up to this size then stay with the process: what one block leaves, the next one takes, and
    # memory from the system is far slower. An array that nobody writes to costs next to nothing.
    np.empty(KEPT_BYTES, np.uint8)
    n_blocks = -(-n_rows // size)

    def count(part: States, number: int) -> None:
        rows = checked(block, number * size, min((number + 1) * size, n_rows))
        for commit in part.prepare(rows):
            commit()

    # each worker holds statistics of its own, but for totals of labels: no more than memory shall bear
    n_workers = max(1, min(threads, n_blocks, WORKERS_BYTES // (states.plan.worker_bytes + 1)))
    parts = states.of_workers(n_workers, fresh)
    states.share_memory(parts, n_blocks)
    # the failure that comes first by number is that of the first offending row
    in_turns(n_blocks, [partial(count, part) for part in parts])
    states.share_memory(parts[:1])
    for part in parts[1:]:
        for commit in parts[0].prepare_merge(part):
            commit()
    return [] if fresh else states.prepare_merge(parts[0])


def checked(block: Callable[[int, int], Block], start: int, stop: int) -> Block:
    """Return a block, or refuse its first offending row: whole blocks are checked fault by fault."""
    try:
        return block(start, stop)
    except InputError:
        while stop - start > 1:
            middle = (start + stop) // 2
            try:
                block(start, middle)
            except InputError:
                stop = middle
            else:
                start = middle
        block(start, stop)
        raise


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
