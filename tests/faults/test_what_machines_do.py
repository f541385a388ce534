"""Damage, mounts, policies and odd files: an error or the right value, and nothing is lost."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.commands import process
from tests.damage import answer
from tests.made_files import make_scores, make_truth, npy, npz

WORDS = ["evaluate", "Y.npz", "m", "--metrics", "p@1", "--output", "o.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(Path("Y"), make_truth())
    npy(Path("m"), make_scores())
    return tmp_path


def failing(number: int) -> Any:
    """Return a function of the system that fails."""
    return mock.Mock(side_effect=OSError(number, os.strerror(number)))


def test_lines_that_csv_cannot_read_are_refused() -> None:
    Path("g.txt").write_bytes(b"0,a\r1,b\r2,c\n")
    code, _, err = answer([*WORDS, "--row-groups", "g.txt"])
    assert (code, err.count("\n")) == (2, 1)
    assert "g.txt: line 1: it has a carriage return; save the file with lines that end in" in err


def test_outputs_that_are_mounts_are_written_in_place(monkeypatch: Any) -> None:
    Path("o.json").write_text("old")
    os.chmod("o.json", 0o600)
    before = os.stat("o.json")
    files = sorted(os.listdir())
    monkeypatch.setattr(os, "replace", failing(errno.EBUSY))
    assert answer(WORDS)[0] == 0
    assert '"p@1"' in Path("o.json").read_text()
    assert os.stat("o.json").st_mode == before.st_mode  # a private file stays private
    assert os.stat("o.json").st_ino == before.st_ino
    assert sorted(os.listdir()) == files


def test_a_mount_that_cannot_be_written_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("o.json").write_text("old")
    monkeypatch.setattr(os, "replace", failing(errno.EBUSY))
    monkeypatch.setattr(shutil, "copyfile", failing(errno.ENOSPC))
    code, _, err = answer(WORDS)
    assert (code, err.count("\n")) == (2, 1)
    assert "o.json: No space left on device; the output is whole in " in err
    (hidden,) = [name for name in os.listdir() if name.startswith(".o.json")]
    assert hidden in err
    assert '"p@1"' in Path(hidden).read_text()


def test_statistics_of_no_rows_are_undefined() -> None:
    Path("none.txt").write_text("0 30\n")
    statistics = json.loads(
        answer(["stats", "none.txt", "--train", "Y.npz", "--format", "json"])[1]
    )
    assert (statistics["n_rows"], statistics["n_labels"], statistics["label_cardinality"]) == (
        0,
        30,
        None,
    )


def test_names_that_look_like_patterns_are_names() -> None:
    for name in ("z[1]", "z1"):
        npy(Path(name), make_scores(seed=1 if name == "z[1]" else 9))
    words = "evaluate Y.npz {} --metrics p@1 --format csv"
    expected = answer(words.format("m").split())
    assert expected[0] == 0
    for name in ("z[1]", "z[1]_indices.npy", "[m]*"):
        assert answer(words.format(name).split()) == expected


@pytest.mark.slow
def test_kernels_read_only_within_their_arrays() -> None:
    code = """
import numpy as np, xmleval
y = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
s = np.array([[.9, .2, .3], [.1, .7, .6], [.3, .2, .8]])
names = ["auc.micro", "p@1", "lrap", "ndcg@3", "risk(coverage=1)@1", "f1.samples@1", "ap.geometric"]
values = dict(xmleval.evaluate(y, s, metrics=names, conventions={"zero_division": float("nan")}))
values["none"] = xmleval.evaluate(y * [1, 1, 0], s, metrics="ap.geometric")["ap.geometric"]
print(values)
"""
    plain = process(code, python="-c")
    checked = process(code, python="-c", env={"NUMBA_DISABLE_JIT": "1"})
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout == plain.stdout
