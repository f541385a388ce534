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

N_ROWS = 20_000  # enough for several threads
N_LABELS = 40
DEPTH = 8
OPTIONS: tuple[EvaluateOptions, ...] = (
    # the first options have few kernels in common
    {"metrics": "curves", "conventions": "unlisted=0"},
    {"metrics": "sets", "decision": "top3"},
    {"metrics": "calibration"},
    {"metrics": "all", "decision": "threshold0.5", "conventions": "unlisted=0"},
    {"metrics": ["xmc", "sets"], "decision": "top3"},
    {"metrics": "all", "decision": "top3", "bounds": True},
)
WEIGHTS = np.linspace(1, 2, N_ROWS)
INPUTS = (
    ("Y.npz", "m_indices.npy"),
    ("Y.npz", "m.npz"),
    ("Y.npz", "dense.npy"),
    ("Y.txt", "m.txt"),
)


@click.command()
def warmup() -> None:
    """Compile the kernels that commands need, and keep them; several processes compile at once."""
    start = time.monotonic()
    silence()
    with tempfile.TemporaryDirectory() as name, Processes(available_processors()) as processes:
        folder = Path(name)
        write_files(folder)
        futures = [
            processes.submit(count_compiled, evaluate_files, folder, options) for options in OPTIONS
        ]
        actions = (
            evaluate_with_intervals,
            evaluate_weighted,
            evaluate_named,
            evaluate_generated,
            compare_files,
        )
        futures += [processes.submit(count_compiled, action, folder) for action in actions]
        n_compiled = sum([future.result() for future in processes.as_completed(futures)])
    seconds = time.monotonic() - start
    text = f"{n_compiled + COMPILED.n} kernels compiled in {seconds:.0f} s"
    if folders:
        text += f"; kept in {', '.join(sorted(folders))}"
    else:
        text += ", not kept: set NUMBA_CACHE_DIR to a folder"
    show(text)


def silence() -> None:
    """Print no messages about compiling in this process: they recommend this command."""
    logging.getLogger("xmleval.kernels").setLevel(logging.CRITICAL)


def write_files(folder: Path) -> None:
    """Write labels, and predictions as lists and matrices."""
    y_true, (labels, scores) = make_lists(N_ROWS, N_LABELS, DEPTH)
    ptr = np.arange(N_ROWS + 1) * DEPTH
    matrix = scipy.sparse.csr_array((scores.ravel(), labels.ravel(), ptr), shape=y_true.shape)
    np.save(folder / "m_indices.npy", labels)
    np.save(folder / "m_scores.npy", scores)
    np.save(folder / "dense.npy", matrix.toarray())
    write_qrels(folder / "Y.qrels", y_true)
    write_run(folder / "m.run", matrix)
    rows = np.repeat(np.arange(N_ROWS), DEPTH)
    entries = zip(rows, matrix.indices, matrix.data, strict=True)
    lines = [f"{row},{label},{score!s}\n" for row, label, score in entries]
    (folder / "m.csv").write_text("".join(["query_id,doc_id,score\n", *lines]))
    records = [
        json.dumps({"id": row, "labels": row_labels, "scores": row_scores})
        for row, (row_labels, row_scores) in enumerate(
            zip(labels.astype(str).tolist(), scores.astype(float).tolist(), strict=True)
        )
    ]
    (folder / "m.jsonl").write_text("".join(f"{record}\n" for record in records))
    scipy.sparse.save_npz(folder / "Y.npz", y_true)
    write_xmc(folder / "Y.txt", y_true, "truth")
    scipy.sparse.save_npz(folder / "m.npz", matrix)
    write_xmc(folder / "m.txt", matrix, "scores")


def count_compiled(action: Callable[..., None], *arguments: object) -> int:
    """Return how many kernels had to be compiled for an action; all kernels run compiled in it."""
    WORK.is_small = False
    silence()
    before = COMPILED.n
    action(*arguments)
    return COMPILED.n - before


def evaluate_files(folder: Path, options: EvaluateOptions) -> None:
    """Evaluate all files with one thread and with two."""
    for names in INPUTS:
        for threads in (1, 2):
            thread_options: EvaluateOptions = {**options, "threads": threads}
            evaluate_file(folder, names, **thread_options)


def evaluate_file(folder: Path, names: tuple[str, str], **options: Unpack[EvaluateOptions]) -> None:
    """Evaluate a file of predictions against a file of relevant labels."""
    truth_name, prediction_name = names
    y_true = folder / truth_name
    options["y_train"] = y_true
    evaluate(y_true, folder / prediction_name, **options)


def evaluate_with_intervals(folder: Path) -> None:
    """Evaluate a matrix with intervals."""
    evaluate_file(
        folder, INPUTS[1], metrics="all", decision="top3", conventions="unlisted=0", confidence=0.95
    )


def evaluate_weighted(folder: Path) -> None:
    """Evaluate with weights of rows; their intervals have separate kernels."""
    for names in (INPUTS[1], INPUTS[3]):
        evaluate_file(
            folder,
            names,
            metrics="all",
            decision="top3",
            conventions="unlisted=0",
            sample_weight=WEIGHTS,
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
