"""Every fault of a file is said alike by the reader, by what reads it in pieces, and by the command line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults import arrays, arrow, texts
from tests.faults.fault import Fault, message_of
from xmleval.budget import UNLIMITED
from xmleval.input.formats.registry import find_format, read_scores, read_truth

READERS: dict[str, Callable[[Path], Any]] = {"truth": read_truth, "scores": read_scores}
PIECES = (1, 40, 1 << 20)


def read_in_pieces(path: Path, kind: str, n_bytes: int) -> Any:
    pieces = find_format(path)[0].pieces
    return READERS[kind](path) if pieces is None else list(pieces(path, kind, UNLIMITED).read(n_bytes))


def check_readers(fault: Fault, path: Path) -> None:
    for kind in fault.kinds:
        fault.check(message_of(READERS[kind], path))
        for n_bytes in PIECES:
            fault.check(message_of(partial(read_in_pieces, kind=kind, n_bytes=n_bytes), path), True)


def check_everywhere(fault: Fault, path: Path, refused: Any) -> None:
    """Read a file in every way, and leave nothing else behind."""
    before = {held: held.read_bytes() for held in Path().iterdir()}
    check_readers(fault, path)
    for kind in fault.kinds:
        fault.check(refused(f"convert {path} out.npz --kind {kind}"), True)
    assert {held: held.read_bytes() for held in Path().iterdir()} == before


@pytest.mark.parametrize("fault", [*texts.FAULTS, *arrays.FAULTS, *arrow.FAULTS], ids=str)
def test_a_fault_is_said_alike(fault: Fault, tmp_path: Path, monkeypatch: Any, refused: Any) -> None:
    monkeypatch.chdir(tmp_path)
    path = fault.write()
    path = path.with_name(path.name.replace("_scores", "_indices"))  # either stands for both
    check_everywhere(fault, path, refused)
    held = path.read_bytes()
    if path.suffix in (".txt", ".svm", ".arff") and held[:2] != b"\x1f\x8b":
        path.write_bytes(gzip.compress(held))
        check_everywhere(fault, path, refused)


@pytest.mark.parametrize("fault", arrow.NAMED, ids=str)
def test_names_are_no_numbers(fault: Fault, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    check_readers(fault, fault.write())
