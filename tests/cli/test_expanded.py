"""Shards whose patterns a shell has expanded are recognised, those of TRUTH, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write shards of a truth and of scores."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for folder in (".", "b"):
        Path(folder).mkdir(exist_ok=True)
        for shard, n_rows in enumerate((3, 3, 2), 9):
            sp.save_npz(f"{folder}/Y_{shard}.npz", sp.csr_array((rng.random((n_rows, 4)) < 0.4).astype(int)))
            sp.save_npz(f"{folder}/S_{shard}.npz", sp.csr_array(rng.random((n_rows, 4))))
    return tmp_path


Y, S = "Y_9.npz Y_10.npz Y_11.npz", "S_9.npz S_10.npz S_11.npz"


@pytest.mark.parametrize(
    ("words", "patterns"),
    [
        (f"{Y} {S}", "'Y_*.npz' 'S_*.npz'"),
        ("Y_10.npz Y_11.npz Y_9.npz S_10.npz S_11.npz S_9.npz", "'Y_*.npz' 'S_*.npz'"),
        (f"{Y} S_*.npz", "'Y_*.npz' 'S_*.npz'"),
        (f"{Y} b", "'Y_*.npz' b"),
        ("b/Y_10.npz b/Y_11.npz b/Y_9.npz b/S_10.npz b/S_11.npz b/S_9.npz", "'b/Y_*.npz' 'b/S_*.npz'"),
    ],
)
def test_expanded_patterns_are_recognised(folder: Path, refused: Any, words: str, patterns: str) -> None:
    first, second, *_ = words.split()
    said = refused(f"evaluate {words} --metrics p@1")
    told = f"TRUTH would be {first} alone, and {second} one of SCORES"
    assert said == f"{told}; quote the patterns: {patterns}"


def test_quoted_patterns_are_evaluated(folder: Path, run: Any) -> None:
    assert run("evaluate Y_*.npz S_*.npz --metrics p@1").startswith("8 rows x 4 labels")


@pytest.mark.parametrize(
    "words", ["Y_9.npz S_9.npz R_10.npz", "Y_9.npz Y_10.npz", "Y_9.npz Y_10.npz S_9.npz S_10.npz"]
)
def test_what_may_be_meant_is_evaluated(folder: Path, run: Any, words: str) -> None:
    write("R_10.npz", 3)
    assert run(f"evaluate {words} --metrics p@1").startswith("3 rows x 4 labels")


def write(name: str, n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    matrix = rng.random((n_rows, 4))
    sp.save_npz(name, sp.csr_array(matrix if name.startswith("S") else (matrix < 0.4).astype(int)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            f"{Y} S.npz",
            "Y_11.npz: 2 rows do not match the 3 of Y_9.npz; do Y_9.npz and Y_10.npz and Y_11.npz",
        ),
        (
            "Y_9.npz Y_10.npz S_6.npz",
            "S_6.npz: 6 rows do not match the 3 of Y_9.npz; do Y_9.npz and Y_10.npz",
        ),
        (
            "t_1.txt t_2.txt S_6.npz",
            "S_6.npz: 6 rows do not match the 3 of t_1.txt; do t_1.txt and t_2.txt",
        ),
    ],
)
def test_an_expanded_truth_beside_whole_scores(folder: Path, refused: Any, words: str, said: str) -> None:
    write("S.npz", 8)
    write("S_6.npz", 6)
    for shard in "12":
        Path(f"t_{shard}.txt").write_text("0\n1\n3\n")
    pattern = {"Y": "Y_*.npz" if "11" in words else "give", "t": "t_*.txt"}[words[0]]
    told = refused(f"evaluate {words} --metrics p@1")
    assert told.startswith(said)
    assert " follow one another as TRUTH? " in told
    assert pattern in told


def test_other_sizes_do_not_ask_for_a_pattern(folder: Path, refused: Any) -> None:
    write("S_7.npz", 7)
    told = "S_7.npz: 7 rows do not match the 3 of Y_9.npz"
    assert refused("evaluate Y_9.npz Y_10.npz S_7.npz --metrics p@1") == told
    assert refused("evaluate Y_9.npz S_7.npz --metrics p@1") == told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Y_9.npz S_9.npz S_10.npz", True),
        ("Y_10.npz S_9.npz S_10.npz", True),
        ("Y_9.npz S_9.npz", False),
        ("Y_9.npz S_10.npz", False),
        ("Y_9.npz S_9.npz S_3.npz", False),  # there is no Y_3
        ("Y_9.npz S_9.npz R_10.npz", False),
        ("Y.npz S_9.npz S_10.npz", False),
    ],
)
def test_scores_of_other_shards_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, told: bool
) -> None:
    for name in ("S_3.npz", "R_10.npz", "Y.npz"):
        write(name, 3)
    assert main(["evaluate", *words.split(), "--metrics", "p@1"]) == 0
    own, other = ("9", "10") if words.startswith("Y_9") else ("10", "9")
    line = (
        f"note: S_{other}.npz: evaluated on Y_{own}.npz, though Y_{other}.npz is there; "
        "files that follow one another are given as 'Y_*.npz' 'S_*.npz'\n"
    )
    out, err = capsys.readouterr()
    assert (line in out, err) == (told, "")
