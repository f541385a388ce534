"""Folders, pipes, sockets and devices in the place of every file that is not truth or scores."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.conftest import IRREGULAR
from tests.made_files import make_scores, make_truth, npz, qrels, trec_run

PLACES = {  # a command line, and the file in it
    "train": ("evaluate Y.npz m --train X.npz --metrics psp", "X.npz"),
    "pred": ("evaluate Y.npz --pred X.npz --metrics f1.micro", "X.npz"),
    "exclude": ("evaluate Y.npz m --exclude X.txt", "X.txt"),
    "labels": ("evaluate names.qrels names.run --labels X.txt", "X.txt"),
    "labels in JSON": ("evaluate names.qrels names.run --labels X.json", "X.json"),
    "inverse propensity": ("evaluate Y.npz m --inverse-propensity X.npy --metrics psp", "X.npy"),
    "inverse propensity in a text": ("evaluate Y.npz m --inverse-propensity X.txt --metrics psp", "X.txt"),
    "rule": ("evaluate Y.npz m --decision X.npz --metrics f1.micro", "X.npz"),
    "rule to apply": ("threshold apply m --rule X.npz --output out.npz", "X.npz"),
    "state": ("merge X.npz", "X.npz"),
    "second state": ("merge state.npz X.npz", "X.npz"),
    "features": (
        "threshold fit Y.npz m --rule row --measure f1.samples --features X.npy --output r.npz", "X.npy"
    ),
    "sparse features": (
        "threshold fit Y.npz m --rule row --measure f1.samples --features X.npz --output r.npz", "X.npz"
    ),
    "features to apply": ("threshold apply m --rule row.npz --features X.npy --output out.npz", "X.npy"),
    "labels of an ARFF file": ("stats Z.arff", "Z.xml"),
    "shard": ("evaluate Y.npz shards", "shards/1.npz"),
    "manifest": ("evaluate Y.npz m --checkpoint kept --resume", "kept/checkpoint.json"),
}  # fmt: skip


@pytest.mark.parametrize("make", [*IRREGULAR, os.mkdir])
@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_regular_file_is_refused_by_name(
    folder: Path, run: Any, refused: Any, name: str, make: Callable[[Path], None]
) -> None:
    line, file = PLACES[name]
    qrels(Path("names"), make_truth())
    trec_run(Path("names"), make_scores())
    for made in ("shards", "kept"):
        Path(made).mkdir()
    npz(Path("shards/0"), make_scores())
    Path("Z.arff").write_text("@relation Z\n@attribute y {0,1}\n@data\n1\n")
    if name == "second state":
        run("evaluate Y.npz m --metrics p@1 --save state.npz")
    if name == "features to apply":
        np.save("x.npy", np.random.default_rng(0).random((60, 2)))
        run("threshold fit Y.npz m --rule row --measure f1.samples --features x.npy --output row.npz")
    make(Path(file))
    said = refused(line)
    assert said.startswith(f"{file}: ")
    assert ("s a directory" if make is os.mkdir else "not a regular file") in said
