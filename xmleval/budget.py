"""Memory sizes: parsing, and the shares given to each use."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from xmleval.input.errors import InputError, positive_integer

UNITS = {
    "b": 1,
    **{f"{letter}b": 1000 ** (i + 1) for i, letter in enumerate("kmgt")},
    **{f"{letter}ib": 1024 ** (i + 1) for i, letter in enumerate("kmgt")},
}
PIECE_BYTES = 1 << 26  # rows of a file read at a time if no memory limit is given


class Budget(NamedTuple):
    """Shares of a memory limit, all in bytes; no other module chooses fractions of memory.

    The command line uses half for reading rows and gives the rest to its evaluators. An evaluator uses three
    quarters of its share for pooled scores and the rest for sorting them.
    """

    memory: int

    def piece(self, n_inputs: int) -> int:
        """Return the piece size of each of several inputs; each has one piece in use and one read ahead."""
        return max(1, self.memory // 2 // (2 * n_inputs))

    def evaluator(self, n_evaluators: int) -> int:
        """Return the share of each of several evaluators."""
        return max(1, self.memory // 2 // max(1, n_evaluators))

    @property
    def lone_piece(self) -> int:
        """Size of a piece of an input read alone."""
        return max(1, self.memory // 8)

    @property
    def waiting(self) -> int:
        """Blocks waiting to be counted."""
        return self.memory // 8

    @property
    def held(self) -> int:
        """Pooled scores held before they are spilled."""
        return self.memory * 3 // 4

    def beside(self, n_bytes: int) -> int:
        """Return the pooled scores that new rows may hold beside those that are held."""
        return max(self.held - n_bytes, self.held // 8)

    @property
    def copied(self) -> int:
        """Largest array of pooled scores that may be copied."""
        return self.memory // 16

    def sorted(self, threads: int) -> int:
        """Return the largest array of pooled scores that one thread sorts."""
        return self.memory // (4 * threads)

    @property
    def counted(self) -> int:
        """Pooled scores counted without partitioning into ranges."""
        return self.memory // 4

    def swept(self, threads: int) -> int:
        """Return the pooled scores that one thread reads at a time from counted ranges."""
        return self.memory // (16 * threads)


def memory_bytes(argument: str, value: Any) -> int:
    """Parse an amount of memory: bytes, or a number with a unit, B, kB..TB (1000) or KiB..TiB (1024)."""
    if not isinstance(value, str):
        return positive_integer(argument, value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", value.lower(), re.ASCII)
    n_bytes = 0.0 if found is None else float(found[1]) * UNITS.get(found[2] or "b", 0)
    if not 1 <= n_bytes < 2**63:
        raise InputError(argument, f"{value!r} is not an amount of memory, such as 512MB or 2GiB")
    return int(n_bytes)
