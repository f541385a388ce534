"""Files with faults, and what is said of each by whatever reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

BOTH = ("truth", "scores")


class Fault(NamedTuple):
    """A file that is refused.

    said : what follows the file's name, up to what was expected; "..." stands for any words
    kinds : what the file is read as
    in_pieces : what is said instead by what reads some rows at a time
    """

    name: str
    held: bytes | Callable[[Path], Any]
    said: str
    kinds: tuple[str, ...] = BOTH
    in_pieces: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"[:60]

    def write(self) -> Path:
        """Write the file into the current folder."""
        path = Path(self.name)
        if isinstance(self.held, bytes):
            path.write_bytes(self.held)
        else:
            self.held(path)
        return path

    def check(self, message: str, in_pieces: bool = False) -> None:
        """Check what a message says."""
        found = fault_in(message, self.name)
        said = self.said if self.in_pieces is None or not in_pieces else self.in_pieces
        pattern = ".*".join(re.escape(words) for words in said.split("..."))
        assert re.fullmatch(pattern, found), f"{found!r} is not {said!r}"


def message_of(read: Callable[[Path], Any], path: Path) -> str:
    """Return what a reader refuses a file with."""
    with pytest.raises((ValueError, OSError)) as caught:
        read(path)
    return str(caught.value)


def fault_in(message: str, name: object) -> str:
    """Return the fault in a message, one printable line: the file's name, the fault, what was expected."""
    assert message.isprintable()
    assert message.startswith(f"{name}: "), message
    found, _, expected = message.removeprefix(f"{name}: ").partition("; expected ")
    assert expected, message
    return found


def refused(path: Path, read: Callable[[Path], Any]) -> str:
    """Return the fault that a reader finds in a file."""
    return fault_in(message_of(read, path), path)
