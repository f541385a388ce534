"""`xmleval warmup`: compile the kernels once, so that no later command waits for them."""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import click
import numpy as np
import scipy.sparse

from xmleval.api.compare import compare
from xmleval.api.evaluate import evaluate
from xmleval.base.budget import available_processors
from xmleval.base.work import WORK
from xmleval.cli.output import show
from xmleval.cluster.processes import Processes
from xmleval.demo import evaluate_demo, make_demo, make_lists
from xmleval.evaluation.request import EvaluateOptions
from xmleval.io import write_qrels, write_run, write_xmc
from xmleval.kernels.compiling import COMPILED, folders

N_ROWS, N_LABELS, DEPTH = 20_000, 40, 8  # enough rows for several threads
OPTIONS: tuple[EvaluateOptions, ...] = (
    {"metrics": "curves", "conventions": "unlisted=0"},  # the first ones have few kernels in common
    {"metrics": "sets", "decision": "top3"},
    {"metrics": "calibration"},
    {"metrics": "all", "decision": "threshold0.5", "conventions": "unlisted=0"},
    {"metrics": ["xmc", "sets"], "decision": "top3"},
    {"metrics": "all", "decision": "top3", "bounds": True},
)
WEIGHTS = np.linspace(1, 2, N_ROWS)
INPUTS = (("Y.npz", "m_indices.npy"), ("Y.npz", "m.npz"), ("Y.npz", "dense.npy"), ("Y.txt", "m.txt"))


@click.command()
def warmup() -> None:
    """Compile the kernels that commands need, and keep them; several processes compile at once."""
    start = time.monotonic()
    silence()
    with tempfile.TemporaryDirectory() as name, Processes(available_processors()) as processes:
        folder = Path(name)
        write_files(folder)
        futures = [processes.submit(count_compiled, evaluate_files, folder, options) for options in OPTIONS]
        others = evaluate_with_intervals, evaluate_weighted, evaluate_named, evaluate_generated, compare_files
        futures += [processes.submit(count_compiled, action, folder) for action in others]
        n_compiled = sum([future.result() for future in processes.as_completed(futures)])
    done = f"{n_compiled + COMPILED.n} kernels compiled in {time.monotonic() - start:.0f} s"
    where = ", ".join(sorted(folders))
    show(f"{done}; kept in {where}" if where else f"{done}, not kept: set NUMBA_CACHE_DIR to a folder")


def silence() -> None:
    """Let this process say nothing of compiling, for which messages name this command."""
    logging.getLogger("xmleval.kernels").setLevel(logging.CRITICAL)


def write_files(folder: Path) -> None:
    """Write labels, and predictions as lists and matrices."""
    y_true, (labels, scores) = make_lists(N_ROWS, N_LABELS, DEPTH)
    rows = np.arange(N_ROWS + 1) * DEPTH
    listed = scipy.sparse.csr_array((scores.ravel(), labels.ravel(), rows), shape=y_true.shape)
    for name, array in (("m_indices", labels), ("m_scores", scores), ("dense", listed.toarray())):
        np.save(folder / f"{name}.npy", array)
    write_qrels(folder / "Y.qrels", y_true)
    write_run(folder / "m.run", listed)
    entries = zip(np.repeat(np.arange(N_ROWS), DEPTH), listed.indices, listed.data, strict=True)
    lines = [f"{row},{label},{score!s}\n" for row, label, score in entries]
    (folder / "m.csv").write_text("".join(["query_id,doc_id,score\n", *lines]))
    columns = zip(labels.astype(str).tolist(), scores.astype(float).tolist(), strict=True)
    records = [{"id": row, "labels": names, "scores": values} for row, (names, values) in enumerate(columns)]
    (folder / "m.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    for name, matrix, kind in (("Y", y_true, "truth"), ("m", listed, "scores")):
        scipy.sparse.save_npz(folder / f"{name}.npz", matrix)
        write_xmc(folder / f"{name}.txt", matrix, kind)


def count_compiled(action: Callable[..., None], *arguments: object) -> int:
    """Return how many kernels had to be compiled for an action, in which all of them run compiled."""
    WORK.is_small = False
    silence()
    before = COMPILED.n
    action(*arguments)
    return COMPILED.n - before


def evaluate_files(folder: Path, options: EvaluateOptions) -> None:
    """Evaluate all files by one thread and by two."""
    for names in INPUTS:
        for threads in (1, 2):
            of_threads: EvaluateOptions = {**options, "threads": threads}
            evaluate_file(folder, names, **of_threads)


def evaluate_file(folder: Path, names: tuple[str, str], **options: Unpack[EvaluateOptions]) -> None:
    """Evaluate a file."""
    y_true, y_pred = folder / names[0], folder / names[1]
    options["y_train"] = y_true
    evaluate(y_true, y_pred, **options)


def evaluate_with_intervals(folder: Path) -> None:
    """Evaluate a matrix with intervals."""
    evaluate_file(
        folder, INPUTS[1], metrics="all", decision="top3", conventions="unlisted=0", confidence=0.95
    )


def evaluate_weighted(folder: Path) -> None:
    """Evaluate with weights of rows, whose intervals have kernels of their own."""
    for names in INPUTS[1], INPUTS[3]:
        evaluate_file(
            folder, names, metrics="all", decision="top3", conventions="unlisted=0", sample_weight=WEIGHTS
        )
        evaluate_file(folder, names, metrics="curves", sample_weight=WEIGHTS, confidence=0.95)


def evaluate_named(folder: Path) -> None:
    """Evaluate files whose rows and labels have names."""
    for predictions in ("m.run", "m.csv", "m.jsonl"):
        evaluate(folder / "Y.qrels", folder / predictions, metrics="p@1")


def evaluate_generated(folder: Path) -> None:
    """Evaluate the generated data of `xmleval demo`."""
    evaluate_demo(make_demo())


def compare_files(folder: Path) -> None:
    """Compare two files."""
    y_true = folder / "Y.npz"
    compare(y_true, {"lists": folder / "m_indices.npy", "matrix": folder / "m.npz"}, y_train=y_true)
