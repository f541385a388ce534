"""Faults of what stands beside the data: options, saved states, outputs, names of files."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import process
from tests.faults.conftest import contents
from tests.made_files import make_scores, make_truth, npy, npz, qrels, trec_run
from xmleval.cli import main
from xmleval.input.inverse_propensity import read_inverse_propensity


@pytest.mark.parametrize(
    "option", ["--train", "--pred", "--inverse-propensity", "--exclude", "--labels", "--decision"]
)
@pytest.mark.parametrize("fault", ["missing", "empty", "folder", "garbage", "cut"])
def test_files_of_options(says: Any, option: str, fault: str) -> None:
    qrels(Path("names"), make_truth())
    trec_run(Path("names"), make_scores())
    name = {
        "--train": "t.npz",
        "--pred": "t.npz",
        "--decision": "t.npz",
        "--inverse-propensity": "q.npy",
    }.get(option, "t.txt")
    path = Path(name)
    if fault == "folder":
        path.mkdir()
    elif fault == "empty":
        path.touch()
    elif fault == "garbage":
        path.write_bytes(b"\xff\xfe\x00" * 40)
    elif fault == "cut":
        npz(Path("t"), make_truth())
        held = Path("t.npz").read_bytes()
        Path("t.npz").unlink()
        np.save("q.npy", np.ones(30))
        held = Path("q.npy").read_bytes() if name == "q.npy" else held
        Path("q.npy").unlink()
        path.write_bytes(held[: len(held) - 30])
    files = "names.qrels names.run" if option == "--labels" else "Y.npz m --metrics p@1"
    if option == "--pred":
        files = "Y.npz --metrics f1.micro"
    assert path.name in says(f"evaluate {files} {option} {path}").split(":")[0]


def test_states_to_merge(says: Any, run: Any) -> None:
    run("evaluate Y.npz m --save s.npz")
    held = Path("s.npz").read_bytes()
    for change in (held[:-9], held[: len(held) // 2], b"", pickle.dumps([1]), b"PK\x03\x04"):
        Path("bad.npz").write_bytes(change)
        for line in ("merge s.npz bad.npz", "merge bad.npz"):
            assert says(line).startswith("bad.npz: not a saved evaluator, or damaged")
    assert says("merge s.npz none.npz") == "none.npz: No such file or directory"
    assert says("merge s.npz .").startswith(".: ")


def test_labels_beyond_all_memory(says: Any) -> None:
    Path("Z.txt").write_text("1 1000000000000\n5:1\n")
    Path("z.txt").write_text("1 1000000000000\n5:0.5\n")
    found = says("evaluate Z.txt z.txt --metrics f1.macro@3")
    assert found.startswith(
        "Z.txt: counting 1000000000000 labels needs 109.1 TiB of memory or more; expected "
    )


def test_nothing_of_the_outputs_is_left(folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    before = contents(folder)
    monkeypatch.setattr(os, "fsync", full)
    for words in ("--output out", "--save state", "--per-label labels.csv"):
        assert main(["evaluate", "Y.npz", "m", *words.split()]) == 2
        assert capsys.readouterr().err == f"xmleval: {words.split()[1]}: No space left on device\n"
    assert main(["convert", "Y.npz", "Z.txt", "--kind", "truth"]) == 2
    assert contents(folder) == before


def test_statistics_of_no_rows(folder: Path, run: Any) -> None:
    Path("none.txt").write_text("0 30\n")
    found = json.loads(run("stats none.txt --train Y.npz --format json"))
    assert (found["n_rows"], found["n_labels"], found["label_cardinality"]) == (0, 30, None)
    assert "label_cardinality          undefined" in run("stats none.txt --train Y.npz")


@pytest.mark.slow
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
