"""Every fault of a file has one message: from the reader, from what reads it in pieces, from commands."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.damage import answer, contents
from tests.faults import arrays, arrow, texts
from tests.faults.fault import Fault
from xmleval.budget import UNLIMITED
from xmleval.io import find_format, read_scores, read_truth

READERS: dict[str, Callable[[Path], Any]] = {"truth": read_truth, "scores": read_scores}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def messages(path: Path, kind: str, converted: bool) -> list[str]:
    """Return what a file is refused with by all that read it."""
    pieces: Any = find_format(path)[0].pieces
    readers: list[Callable[[], Any]] = [lambda: READERS[kind](path)]
    for n_bytes in (1, 40, 1 << 20) if pieces else ():
        readers.append(partial(lambda n_bytes: list(pieces(path, kind, UNLIMITED).read(n_bytes)), n_bytes))
    caught = []
    for read in readers:
        with pytest.raises((ValueError, OSError)) as error:
            read()
        caught.append(str(error.value))
    if converted:
        code, out, err = answer(["convert", str(path), "out.npz", "--kind", kind])
        assert (code, out) == (2, "")
        caught.append(err.removeprefix("xmleval: ").removesuffix("\n"))
    return caught


@pytest.mark.parametrize("fault", [*texts.FAULTS, *arrays.FAULTS, *arrow.FAULTS], ids=str)
def test_a_fault_has_one_message(fault: Fault, folder: Path) -> None:
    fault.write(Path(fault.name).absolute())
    path = Path(fault.name.replace("_scores", "_indices"))  # either stands for both
    is_text = path.suffix in (".txt", ".svm", ".arff") and path.read_bytes()[:2] != b"\x1f\x8b"
    for packed in (False, True)[: 1 + is_text]:
        if packed:
            path.write_bytes(gzip.compress(path.read_bytes()))
        before = contents(folder)
        for kind in fault.kinds:
            for message in messages(path, kind, "names..." not in fault.message):  # which commands take
                fault.check(message, fault.name)
        assert contents(folder) == before
