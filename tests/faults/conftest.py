"""A folder of valid files, and what commands refuse that leave all of it as it is."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.made_files import make_scores, make_truth, npy, npz

METRICS = "--metrics p@1,ndcg@3,lrap,auc.micro"


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


IRREGULAR = [os.mkfifo, make_socket, make_device]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A current folder with valid files; whatever a test adds to it, commands must leave as it is."""
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    npz(Path("Y"), make_truth())
    npy(Path("m"), make_scores())
    yield tmp_path / "here"
    assert not any((tmp_path / "temporary").iterdir())


@pytest.fixture
def says(folder: Path, refused: Any) -> Callable[[str], str]:
    """Return what a command line is refused with, in pieces and at once, having changed no file."""

    def said(line: str) -> str:
        outputs = "--output out --save state --checkpoint kept" if line.startswith("evaluate") else ""
        outputs += f" {METRICS}" if outputs and "--metrics" not in line else ""
        before = contents(folder)
        memories = ("", "--memory 2KB") if outputs else ("",)
        found = set()
        for memory in memories:
            found.add(refused(f"{line} {outputs} {memory}"))
            if Path("kept").is_dir():
                shutil.rmtree("kept")  # made before the fault is met; slow runs have saved something in it
        assert contents(folder) == before
        assert len({only.split(":")[0] for only in found}) == 1
        return str(min(found))

    return said


def contents(folder: Path) -> dict[Path, bytes | None]:
    readable = [path for path in folder.rglob("*") if os.access(path, os.R_OK)]
    return {path: path.read_bytes() if path.is_file() else None for path in readable}
