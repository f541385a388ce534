"""Files with faults, and the message that all readers raise for each."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

BOTH = ("truth", "scores")


class Fault(NamedTuple):
    """A file that is refused.

    message : what follows the file's name, up to what was expected; "..." stands for any words, and
        " | " parts the message of a reader of all rows from that of one that reads a few at a time
    kinds : what the file is read as
    """

    name: str
    data: bytes | Callable[[Path], Any]
    message: str
    kinds: tuple[str, ...] = BOTH

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"[:60]

    def write(self, path: Path) -> None:
        """Write the file."""
        if isinstance(self.data, bytes):
            path.write_bytes(self.data)
        else:
            self.data(path)

    def check(self, message: str, name: object) -> None:
        """Check the message of a reader."""
        actual = fault_in(message, name)
        patterns = []
        for alternative in self.message.split(" | "):
            parts = alternative.split("...")
            patterns.append(".*".join(map(re.escape, parts)))
        assert re.fullmatch("|".join(patterns), actual), f"{actual!r} is not {self.message!r}"


def fault_in(message: str, name: object) -> str:
    """Return the fault in a printable message of ``name: fault; expected ...``."""
    assert message.isprintable()
    assert message.startswith(f"{name}: "), message
    fault, _, expected = message.removeprefix(f"{name}: ").partition("; expected ")
    assert expected, message
    return fault


def refused(path: Path, read: Callable[[Path], Any]) -> str:
    """Return the fault that a reader finds in a file."""
    with pytest.raises((ValueError, OSError)) as caught:
        read(path)
    return fault_in(str(caught.value), path)
