"""Rows that belong together, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import evaluate

N_ROWS = 60


@pytest.fixture
def made(folder: Path) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    truth = sp.csr_array((rng.random((N_ROWS, 7)) < 0.3).astype(np.int8))
    scores = sp.csr_array(rng.random((N_ROWS, 7)).astype(np.float32))
    sp.save_npz(folder / "Y.npz", sp.csr_matrix(truth))
    sp.save_npz(folder / "s.npz", sp.csr_matrix(scores))
    return truth, scores


@pytest.mark.parametrize("keyed", [False, True])
def test_clusters_are_those_of_python(
    folder: Path, run: Callable[..., str], made: tuple[Any, Any], keyed: bool
) -> None:
    clusters = [f"document {row // 4}" for row in range(N_ROWS)]
    lines = [f"{row}\t{name}" if keyed else name for row, name in enumerate(clusters)]
    (folder / "c.txt").write_text("\n".join(lines) + "\n")
    told = run("evaluate Y.npz s.npz --metrics p,auc.micro --confidence 0.9 --clusters c.txt --format json")
    expected = evaluate(*made, metrics=["p", "auc.micro"], confidence=0.9, clusters=clusters)
    assert json.loads(told)["confidence"] == {name: [*ends] for name, ends in expected.confidence.items()}
    alone = evaluate(*made, metrics=["p", "auc.micro"], confidence=0.9)
    assert expected.confidence != alone.confidence
