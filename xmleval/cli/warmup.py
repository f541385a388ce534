"""`xmleval warmup`: compile the kernels once, so that no later command waits for them."""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse

from xmleval.api.evaluate import evaluate
from xmleval.cli.output import show
from xmleval.demo import evaluate_demo, make_demo, make_lists
from xmleval.io import write_xmc
from xmleval.kernels.jit import Cache, folders

N_ROWS, N_LABELS, DEPTH = 20_000, 40, 8  # enough rows for several threads
OPTIONS: tuple[dict[str, Any], ...] = (
    {"metrics": "all", "decision": "top3", "bounds": True},
    {"metrics": "all", "decision": "threshold0.5", "unlisted": "0.0"},
    {"metrics": ["xmc", "sets"], "decision": "top3"},
)
INPUTS = (("Y.npz", "m_indices.npy"), ("Y.npz", "m.npz"), ("Y.npz", "dense.npy"), ("Y.txt", "m.txt"))


@click.command()
def warmup() -> None:
    """Compile the kernels that `xmleval evaluate` needs, and keep them.

    Otherwise each command compiles what it needs when it needs it first.
    """
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        evaluate_everything(Path(folder))
    evaluate_demo(make_demo())
    done = f"{Cache.n_compiled} kernels compiled in {time.monotonic() - start:.0f} s"
    where = ", ".join(sorted(folders))
    show(f"{done}; kept in {where}" if where else f"{done}, not kept: set NUMBA_CACHE_DIR to a folder")


def evaluate_everything(folder: Path) -> None:
    """Evaluate all measures of lists and matrices in files, by one thread and by two."""
    y_true, (labels, scores) = make_lists(N_ROWS, N_LABELS, DEPTH)
    rows = np.arange(N_ROWS + 1) * DEPTH
    listed = scipy.sparse.csr_array((scores.ravel(), labels.ravel(), rows), shape=y_true.shape)
    for name, array in (("m_indices", labels), ("m_scores", scores), ("dense", listed.toarray())):
        np.save(folder / f"{name}.npy", array)
    for name, matrix, kind in (("Y", y_true, "truth"), ("m", listed, "scores")):
        scipy.sparse.save_npz(folder / f"{name}.npz", matrix)
        write_xmc(folder / f"{name}.txt", matrix, kind)
    for (truth, predictions), options, threads in itertools.product(INPUTS, OPTIONS, (1, 2)):
        y_true = folder / truth
        evaluate(y_true, folder / predictions, y_train=y_true, threads=threads, **options)
