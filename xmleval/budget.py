"""Memory: amounts of it, and what it is split into."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from xmleval.input.errors import InputError, positive_integer

UNITS = {
    "b": 1,
    **{f"{letter}b": 1000 ** (i + 1) for i, letter in enumerate("kmgt")},
    **{f"{letter}ib": 1024 ** (i + 1) for i, letter in enumerate("kmgt")},
}
PIECE_BYTES = 1 << 26  # of rows of a file that are read at a time where no memory is given


class Budget(NamedTuple):
    """Shares of an amount of memory, all in bytes: fractions of memory are chosen here and nowhere else.

    The command line keeps half of its memory for rows that are read and gives the rest to its evaluators.
    An evaluator holds pooled scores in three quarters of its own and leaves the last one for sorting them.
    """

    memory: int

    def piece(self, n_inputs: int) -> int:
        """Return the size of a piece of each of several inputs: one is in use, and one is read ahead."""
        return max(1, self.memory // 2 // (2 * n_inputs))

    def evaluator(self, n_evaluators: int) -> int:
        """Return what each of several evaluators may use."""
        return max(1, self.memory // 2 // max(1, n_evaluators))

    @property
    def lone_piece(self) -> int:
        """Rows that are read at a time from an input that is read by itself."""
        return max(1, self.memory // 8)

    @property
    def waiting(self) -> int:
        """Blocks that are not counted yet."""
        return self.memory // 8

    @property
    def held(self) -> int:
        """Pooled scores that are held before they go to a file."""
        return self.memory * 3 // 4

    @property
    def copied(self) -> int:
        """The largest array of pooled scores, where it may have to be copied."""
        return self.memory // 16

    def sorted(self, threads: int) -> int:
        """Return the size of the largest array of pooled scores that a thread sorts."""
        return self.memory // (4 * threads)

    @property
    def counted(self) -> int:
        """Pooled scores that are counted without being sorted into ranges."""
        return self.memory // 4

    def swept(self, threads: int) -> int:
        """Return the size of the pooled scores that a thread takes at a time out of counted ranges."""
        return self.memory // (16 * threads)


def memory_bytes(argument: str, value: Any) -> int:
    """Return an amount of memory in bytes, or refuse it.

    It is a number of bytes, or a number with a unit: B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB
    (of 1024).
    """
    if not isinstance(value, str):
        return positive_integer(argument, value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", value.lower(), re.ASCII)
    n_bytes = 0.0 if found is None else float(found[1]) * UNITS.get(found[2] or "b", 0)
    if not 1 <= n_bytes < 2**63:
        raise InputError(argument, f"{value!r} is not an amount of memory, such as 512MB or 2GiB")
    return int(n_bytes)
