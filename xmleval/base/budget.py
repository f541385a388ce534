"""Memory sizes: how they are parsed and shared out, and the refusal of files that need more."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple, TypeVar

from xmleval.base.errors import InputError, Keyword, Message, positive_integer, shown
from xmleval.base.threads import MOST_THREADS, map_in_turns

T = TypeVar("T")
LEAST_POINTS = 1000  # points of a curve, however little memory there is
MEMORY = "1GiB"  # default limit
UNITS = {
    "b": 1,
    **{f"{letter}b": 1000 ** (i + 1) for i, letter in enumerate("kmgt")},
    **{f"{letter}ib": 1024 ** (i + 1) for i, letter in enumerate("kmgt")},
}
PIECE_BYTES = 1 << 26  # size of the rows read at a time without a memory limit
LEAST_WHOLE = 16 << 20  # files that need less memory are read in any case


class OverLimitError(ValueError):
    """A file needs more memory than it may take; `naming` says which."""


class MemoryLimit:
    """Memory for files that cannot be read in pieces, shared by all reading within `limited`.

    limit : bytes
    memory : bytes of which the limit is a share; None for the memory of this machine
    """

    def __init__(self, limit: float, memory: int | None = None) -> None:
        self.limit = limit
        self.in_use = 0
        self._memory = memory

    @property
    def left(self) -> float:
        """Bytes that are not taken."""
        return max(self.limit - self.in_use, 0)

    def check(self, n_bytes: float, where: str = "") -> None:
        """Refuse to take ``n_bytes`` more than the limit leaves, before they are allocated."""
        if n_bytes <= self.left:
            return
        already = ""
        if self.in_use:
            already = f" in addition to {size_text(self.in_use)} in use"
        need = (
            f"{where}needs {size_text(n_bytes)} of memory or more{already}, above the limit of "
            f"{size_text(self.limit)}, a share of "
        )
        if self._memory is None:
            raise OverLimitError(Message(need, "the memory of this machine"))
        total = Keyword("memory", size_text(self._memory))
        raise OverLimitError(Message(need, total, "; give more ", Keyword("memory")))

    def take(self, n_bytes: int, where: str = "") -> None:
        """Count memory that is about to be allocated, or refuse it."""
        self.check(n_bytes, where)
        self.in_use += n_bytes

    @contextlib.contextmanager
    def lent(self, n_bytes: int = 0) -> Iterator[None]:
        """Take memory for a while: at the end it is free again, with all that was taken since."""
        before = self.in_use
        self.take(n_bytes)
        try:
            yield
        finally:
            self.in_use = before


LIMIT: ContextVar[MemoryLimit | None] = ContextVar("memory limit", default=None)


@contextlib.contextmanager
def limited(limit: MemoryLimit) -> Iterator[None]:
    """Set the memory limit for reading files, also in the threads of a `threads.Call`."""
    before = LIMIT.set(limit)
    try:
        yield
    finally:
        LIMIT.reset(before)


def memory_limit() -> MemoryLimit:
    """Return the memory limit for reading files, by default that of this machine for each need."""
    return LIMIT.get() or machine_limit()


def machine_limit() -> MemoryLimit:
    """Return physical memory as the limit; infinite if the system does not report it."""
    if not hasattr(os, "sysconf"):
        return MemoryLimit(math.inf)
    return MemoryLimit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def size_text(n_bytes: float) -> str:
    """Return an amount of memory as messages show it, such as ``1.5 GiB``."""
    power = max(0, min(4, (int(n_bytes).bit_length() - 1) // 10))
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{n_bytes / 1024**power:.4g} {unit}"


class Resources(NamedTuple):
    """Memory in bytes and its shares, the largest number of threads, and the size of row blocks.

    No other module chooses fractions of memory. Evaluation of files uses half for reading rows and
    gives the rest to its evaluators. An evaluator uses three quarters of its share for pooled
    scores and the rest for sorting them. If ``block_rows`` is None, blocks fit the caches.
    """

    memory: int
    threads: int = 1
    block_rows: int | None = None

    def map(self, task: Callable[[int], T], numbers: Sequence[int]) -> list[T]:
        """Return the results of a task for each number, in order."""
        return map_in_turns(task, numbers, self.threads)

    def limit(self) -> MemoryLimit:
        """Return the memory limit for files that cannot be read in pieces."""
        memory = max(self.memory, LEAST_WHOLE)
        return MemoryLimit(memory - memory // 8, memory)

    def without(self, limit: MemoryLimit) -> Resources:
        """Return the resources that remain when files were read whole within a limit."""
        return self._replace(memory=max(self.memory - limit.in_use, self.memory // 8, 1))

    def piece(self, n_inputs: int) -> int:
        """Return the piece size of one of ``n_inputs``, with a piece in use and one read ahead."""
        return max(1, self.memory // 2 // (2 * n_inputs))

    def evaluator(self, n_evaluators: int) -> Resources:
        """Return the share of one of ``n_evaluators``."""
        return self._replace(memory=max(1, self.memory // 2 // max(1, n_evaluators)))

    @property
    def lone_piece(self) -> int:
        """Size of a piece of an input read alone."""
        return max(1, self.memory // 8)

    @property
    def waiting(self) -> int:
        """Largest size of blocks that wait to be counted."""
        return self.memory // 8

    @property
    def pooled(self) -> int:
        """Size of pooled scores in memory at which they are spilled."""
        return self.memory * 3 // 4

    def left_for_pooled(self, n_bytes: int) -> int:
        """Return the bytes that pooled scores of new rows may take next to ``n_bytes`` of old."""
        return max(self.pooled - n_bytes, self.pooled // 8)

    def summed(self, n_bytes: int = 0) -> int:
        """Return the bytes that sums of weights by score may take next to ``n_bytes`` of old.

        Merging two arrays of sums takes as much again.
        """
        limit = self.memory * 3 // 8
        return max(limit - n_bytes, limit // 8)

    @property
    def copied(self) -> int:
        """Largest array of pooled scores that may be copied."""
        return self.memory // 16

    @property
    def points(self) -> int:
        """Most points of a curve, of three numbers each."""
        return max(LEAST_POINTS, self.copied // (3 * 8))

    @property
    def sorted(self) -> int:
        """Largest array of pooled scores that one thread sorts."""
        return self.memory // (4 * self.threads)


def available_processors() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_resources(memory: object, threads: object, block_rows: object = None) -> Resources:
    """Check ``memory``, ``threads`` and ``block_rows``."""
    if block_rows is not None:
        block_rows = positive_integer("block_rows", block_rows)
    if threads is None:
        threads = min(available_processors(), MOST_THREADS)
    else:
        threads = positive_integer("threads", threads, at_most=MOST_THREADS)
    return Resources(memory_bytes("memory", memory), threads, block_rows)


def memory_bytes(argument: str, value: object) -> int:
    """Return an amount of memory in bytes.

    It is a whole number, or a text with a unit: B, kB to TB (powers of 1000) or KiB to TiB (1024).
    """
    if isinstance(value, str):
        return _parse_bytes(argument, value)
    return positive_integer(argument, value)


@lru_cache(maxsize=16)  # small evaluations are called often
def _parse_bytes(argument: str, value: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", value.lower(), re.ASCII)
    n_bytes = 0.0
    if match is not None:
        number, unit = match.groups()
        n_bytes = float(number) * UNITS.get(unit or "b", 0)
    if not 1 <= n_bytes < 2**63:
        raise InputError(
            argument, f"{shown(value)} is not an amount of memory, such as 512MB or 2GiB"
        )
    return int(n_bytes)
