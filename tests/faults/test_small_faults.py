"""Files of little in them, names that look like patterns, and lines that say which file it was."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import process
from tests.made_files import make_scores, make_truth, npy, npz
from xmleval.input.vector import read_inverse_propensity


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "Y", make_truth())
    npy(tmp_path / "m", make_scores())
    (tmp_path / "none.txt").write_text("0 30\n")
    (tmp_path / "wide.txt").write_text("1 1000000000000\n3:1\n")
    return tmp_path


def test_statistics_of_no_rows(folder: Path, run: Any) -> None:
    found = json.loads(run("stats none.txt --train Y.npz --format json"))
    assert (found["n_rows"], found["n_labels"], found["label_cardinality"]) == (0, 30, None)
    assert "label_cardinality          undefined" in run("stats none.txt --train Y.npz")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("evaluate Y.npz m --train none.txt", "none.txt: 0 training instances; the model needs 3 or more"),
        ("stats wide.txt", "wide.txt: 1000000000000 labels; counting them takes more than the memory"),
        ("convert nope.npz Z.txt", "nope.npz: No such file or directory"),
        ("evaluate Y.npz 'n[1]'", "n[1]: no file matches"),
    ],
)
def test_the_file_is_named(folder: Path, refused: Any, line: str, said: str) -> None:
    assert refused(line).startswith(said)


def test_only_endings_that_are_written_are_expected(folder: Path, refused: Any) -> None:
    said = refused("convert Y.npz Y.xyz --kind truth")
    assert said.endswith(".run.gz, .parquet")
    assert ".svm" not in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("line", ["stats Y.npz", "metrics p", "evaluate Y.npz m"])
def test_a_full_stdout_is_named(folder: Path, line: str) -> None:
    with open("/dev/full", "w") as full:
        done = process("xmleval", *line.split(), stdout=full)
    assert (done.returncode, done.stderr) == (2, "xmleval: stdout: No space left on device\n")


def test_names_that_look_like_patterns(folder: Path, run: Any) -> None:
    npy(folder / "z[1]", make_scores())
    npy(folder / "z1", make_scores(seed=9))
    line = "evaluate Y.npz {} --metrics p@1 --format csv"
    assert run(line.format("'z[1]'")) == run(line.format("m"))
    assert run(line.format("'z[1]_indices.npy'")) == run(line.format("m"))
    assert run(line.format("'[m]*'")) == run(line.format("m"))


@pytest.mark.parametrize("change", ["plain", "gzip", "bom", "crlf"])
def test_propensities_in_any_text(tmp_path: Path, change: str) -> None:
    held = b"12.5\n  9.5 \n1e3\n\n \n"
    held = {
        "plain": held,
        "gzip": gzip.compress(held),
        "bom": b"\xef\xbb\xbf" + held,
        "crlf": held.replace(b"\n", b"\r\n"),
    }[change]
    (tmp_path / "q").write_bytes(held)
    np.testing.assert_array_equal(read_inverse_propensity(tmp_path / "q"), [12.5, 9.5, 1000])


def test_propensities_with_a_gap(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1.5\n\n\n2.5\n")
    with pytest.raises(ValueError, match="q: line 2: '' is not a number; expected one inverse prop"):
        read_inverse_propensity(tmp_path / "q")
