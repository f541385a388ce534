"""Counting blocks of rows, inline or over a thread pool, with the same result."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from xmleval.arrays import Block
from xmleval.coerce import InputError
from xmleval.plan import Plan, States

WORKERS_BYTES = 1 << 30


def count_blocks(
    plan: Plan,
    block: Callable[[int, int], Block],
    n_rows: int,
    size: int,
    threads: int,
    states: States | None,
) -> States:
    """Count rows block by block and return the statistics with these rows added.

    Parameters
    ----------
    plan : Plan
        What to count.
    block : callable
        Gives the checked rows of a range.
    n_rows, size : int
        Number of rows, and of rows in a block.
    threads : int
        Most threads to use; a single block is counted inline, where a pool would cost more.
    states : States or None
        Statistics to add to. They are not touched before every block was accepted.

    Returns
    -------
    States
    """
    if n_rows <= size:
        rows = checked(block, 0, n_rows)
        states = states or States(plan)
        states.update(rows)
        return states
    turn = itertools.count()
    n_blocks = -(-n_rows // size)
    refused: list[tuple[int, BaseException]] = []
    stop = threading.Event()

    def work() -> States:
        found = States(plan)
        while not stop.is_set() and (number := next(turn)) < n_blocks:
            try:
                found.update(checked(block, number * size, min((number + 1) * size, n_rows)))
            except BaseException as error:
                refused.append((number, error))
                stop.set()
        return found

    # each worker holds statistics of its own: not more of them than memory is meant to bear
    n_workers = max(1, min(threads, n_blocks, WORKERS_BYTES // (plan.label_bytes + 1)))
    if n_workers == 1:
        parts = [work()]
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            try:
                parts = [future.result() for future in [pool.submit(work) for _ in range(n_workers)]]
            finally:
                stop.set()
    if refused:
        # blocks are taken in order, so the earliest refusal is that of the first offending row
        raise min(refused, key=lambda item: item[0])[1]
    for part in parts[1:]:
        parts[0].merge(part)
    if states is None:
        return parts[0]
    states.merge(parts[0])
    return states


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
