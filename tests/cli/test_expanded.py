"""Shards whose patterns a shell has expanded are recognised, those of TRUTH, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp


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
    "words", ["Y_9.npz S_9.npz S_10.npz", "Y_9.npz Y_10.npz", "Y_9.npz Y_10.npz S_9.npz S_10.npz"]
)
def test_what_may_be_meant_is_evaluated(folder: Path, run: Any, words: str) -> None:
    assert run(f"evaluate {words} --metrics p@1").startswith("3 rows x 4 labels")
