"""Every reader and every fault: exit 2 after one line that names the file, and nothing left behind."""

from __future__ import annotations

import gzip
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npy, npz, qrels, trec_run
from xmleval.cli import main

METRICS = "--metrics p@1,ndcg@3,lrap,auc.micro"
FORMATS = [*(("truth", name) for name in TRUTHS), *(("scores", name) for name in SCORES)]
FORMATS += [("names", "qrels"), ("names", "run")]
TEXT = ("xmc", "xmc-data", "svmlight", "mulan", "qrels", "run")


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
        found = {refused(f"{line} {outputs} {memory}") for memory in memories}
        if Path("kept").is_dir():
            Path("kept").rmdir()  # it is made, and empty
        assert contents(folder) == before
        assert len({only.split(":")[0] for only in found}) == 1
        return str(min(found))

    return said


def contents(folder: Path) -> dict[Path, bytes | None]:
    readable = [path for path in folder.rglob("*") if os.access(path, os.R_OK)]
    return {path: path.read_bytes() if path.is_file() else None for path in readable}


def place(role: str, name: str) -> tuple[Path, str]:
    """Write a valid file, and return it with the command line that reads it."""
    if role == "names":
        paths = qrels(Path("Z"), make_truth()), trec_run(Path("z"), make_scores())
        return paths[name == "run"], f"evaluate {paths[0]} {paths[1]}"
    if role == "truth":
        path = TRUTHS[name](Path("Z"), make_truth())
        return path, f"evaluate {path} m"
    path = SCORES[name](Path("z"), make_scores())
    return path, f"evaluate Y.npz {path}"


def beginning(said: str, path: Path) -> str:
    """What is said of a file, which comes first."""
    assert said.startswith(f"{path}: "), said
    return said.removeprefix(f"{path}: ")


# ------------------------------------------------------------------------------------ of every format


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_valid_files_are_read(folder: Path, run: Any, role: str, name: str) -> None:
    run(f"{place(role, name)[1]} {METRICS}")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_cut_short(says: Any, role: str, name: str, share: float) -> None:
    path, line = place(role, name)
    held = path.read_bytes()
    stop = int(share * len(held))
    if name in TEXT:  # within a line, lest what is left be another valid file
        lines = held.splitlines(keepends=True)
        whole = int(share * len(lines))
        stop = len(b"".join(lines[:whole])) + (7 if name == "mulan" else 3)
    path.write_bytes(held[:stop])
    assert says(line).startswith(f"{path}: ")


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_empty_missing_and_a_folder(says: Any, role: str, name: str) -> None:
    path, line = place(role, name)
    path.write_bytes(b"")
    assert beginning(says(line), path).startswith("the file is empty; expected ")
    path.unlink()
    assert beginning(says(line), path).startswith("No such file or directory")
    path.mkdir()
    assert beginning(says(line), path).startswith("is a directory; expected")


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_no_permission(says: Any, role: str, name: str) -> None:
    path, line = place(role, name)
    path.chmod(0)
    assert beginning(says(line), path).startswith("Permission denied; expected ")
    path.chmod(0o600)


@pytest.mark.parametrize(
    "held", [b"\x00" * 100, b"garbage\n" * 20, bytes(range(256)), b"PK\x03\x04", b"\xff" * 90]
)
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_garbage(says: Any, role: str, name: str, held: bytes) -> None:
    path, line = place(role, name)
    path.write_bytes(held)
    assert "; expected " in beginning(says(line), path)


@pytest.mark.parametrize("fault", ["garbage", "packed garbage", "cut", "flipped", "trailing"])
@pytest.mark.parametrize(("role", "name"), [(role, name) for role, name in FORMATS if name in TEXT])
def test_gzip_of_garbage(says: Any, role: str, name: str, fault: str) -> None:
    path, line = place(role, name)
    packed = gzip.compress(path.read_bytes())
    flipped = bytearray(packed)
    flipped[len(flipped) // 2] ^= 0x10
    path.write_bytes({
        "garbage": b"\x1f\x8b" + b"garbage" * 9,
        "packed garbage": gzip.compress(b"garbage \xff\x00" * 99),
        "cut": packed[:-20],
        "flipped": bytes(flipped),
        "trailing": packed + b"garbage",
    }[fault])  # fmt: skip
    said = beginning(says(line), path)
    assert "; expected " in said
    if fault not in ("packed garbage", "flipped"):  # which may show before the end
        assert "gzip" in said


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_both_sizes_where_rows_differ(says: Any, refused: Any, role: str, name: str) -> None:
    if role == "names":
        pytest.skip("rows are matched by name")
    made = (TRUTHS if role == "truth" else SCORES)[name]
    path = made(Path("less"), make_truth(59) if role == "truth" else make_scores(59))
    sizes = "60 rows do not match the 59 of" if role == "truth" else "59 rows do not match the 60 of"
    line = f"evaluate {path} m" if role == "truth" else f"evaluate Y.npz {path}"
    named = ("m", path) if role == "truth" else (path, "Y.npz")
    assert says(line) == f"{named[0]}: {sizes} {named[1]}"


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_both_sizes_where_labels_differ(says: Any, role: str, name: str) -> None:
    if role == "names":
        pytest.skip("labels are matched by name")
    made = (TRUTHS if role == "truth" else SCORES)[name]
    path = made(Path("wide"), make_truth(60, 33) if role == "truth" else make_scores(60, 33))
    npz(Path("m33"), make_scores(60, 30))
    said = says(f"evaluate {path} m33.npz" if role == "truth" else f"evaluate Y.npz {path}")
    if name in ("npy", "npz-list", "npz-list-packed"):  # which do not tell a number of labels
        assert "label id 3" in said
        assert "is not in 0..29" in said
    else:
        assert "33" in said or name.startswith("svmlight")  # as wide as the rows so far
        assert "30" in said


# ------------------------------------------------------------------------------- files beside the data


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
    assert says("evaluate Z.txt z.txt --metrics f1.macro@3").startswith("not enough memory: ")


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
