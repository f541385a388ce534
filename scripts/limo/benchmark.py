"""LIMO and its baselines on five real data sets: random splits, eleven measures, ranks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from scripts.limo.baselines import find_neighbours, gfm_sets, mlknn_scores, svm_scores
from scripts.limo.evaluation import Scores, Values, evaluate_scores, evaluate_sets
from scripts.limo.records import Record
from scripts.limo.variants import HELD_OUT, LEARNERS, VARIANTS, Split, hold_out, limo_scores

DATA_SETS = ("cal500", "enron", "medical", "corel5k", "bibtex")
BASELINES = ("BR-SVM", "ML-kNN", "GFM")
METHODS = (*LEARNERS, *BASELINES)
TRAIN_SHARE = 0.7
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def read_data(folder: Path, name: str) -> tuple[Any, Any]:
    """Return features and labels of all instances as CSR, the training files first."""
    parts = [
        [scipy.sparse.load_npz(folder / name / f"{side}_{part}.npz") for part in ("train", "test")]
        for side in "XY"
    ]
    x, y = (scipy.sparse.csr_array(scipy.sparse.vstack(part)) for part in parts)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"{folder / name}: {x.shape[0]} rows of features, {y.shape[0]} of labels")
    return x.astype(np.float64), y


def split_data(x: Any, y: Any, seed: int, repetition: int) -> Split:
    """Return a random split, with features scaled by their largest training value."""
    rng = np.random.default_rng([seed, repetition])
    order = rng.permutation(x.shape[0])
    n_train = round(TRAIN_SHARE * x.shape[0])
    train = np.sort(order[:n_train])
    test = np.sort(order[n_train:])
    largest = abs(x[train]).max(axis=0).toarray().ravel()
    scale = scipy.sparse.diags_array(1.0 / np.where(largest > 0, largest, 1.0))
    x_train, x_test = (scipy.sparse.csr_array(x[rows] @ scale) for rows in (train, test))
    return Split(x_train, y[train], x_test, y[test], int(rng.integers(2**31)))


def evaluate_methods(split: Split) -> Iterator[tuple[str, Scores | None, Values]]:
    """Yield each method with its scores (None if it has none) and values."""
    near = find_neighbours(split.x_train, split.x_test)
    scores = {name: limo_scores(split, *lams) for name, lams in LEARNERS.items()}
    train, test = svm_scores(split.x_train, split.y_train, split.x_train, split.x_test)
    scores["BR-SVM"] = Scores(train, test, threshold=0.0)
    scores["ML-kNN"] = Scores(*mlknn_scores(split.y_train, near), threshold=0.5)
    for name, method_scores in scores.items():
        yield name, method_scores, evaluate_scores(split.y_train, split.y_test, method_scores)
    yield "GFM", None, evaluate_sets(split.y_test, gfm_sets(split.y_train, near))


def run_split(
    folder: Path, name: str, seed: int, repetition: int, variants: Sequence[str]
) -> list[Record]:
    """Return the values of all methods and variants on one split.

    Only LIMO and BR-SVM need held-out scores, because ML-kNN leaves the scored instance out.
    """
    split = split_data(*read_data(folder, name), seed, repetition)
    records: list[Record] = []

    def record(method: str, variant: str, values: Values) -> None:
        records.extend(
            Record(name, repetition, method, variant, *key, value) for key, value in values.items()
        )

    for method, scores, values in evaluate_methods(split):
        record(method, "", values)
        if method == "BR-SVM" and scores is not None and HELD_OUT in variants:
            train = hold_out(split, lambda x, y, other: svm_scores(x, y, other)[0])
            held_out = scores._replace(train=train)
            record(method, HELD_OUT, evaluate_scores(split.y_train, split.y_test, held_out))
    for variant in variants:
        for method, lams in LEARNERS.items():
            scores = limo_scores(split, *lams, variant=variant)
            record(method, variant, evaluate_scores(split.y_train, split.y_test, scores))
    return records


def run_benchmark(
    folder: Path, repetitions: int, seed: int, workers: int, variants: Sequence[str] = VARIANTS
) -> Iterator[tuple[str, int, list[Record]]]:
    """Yield data set, repetition and records, the slowest data sets first.

    Workers are spawned, so that they inherit no threads, and use one thread each.
    """
    jobs = [(name, repetition) for name in reversed(DATA_SETS) for repetition in range(repetitions)]
    for name in DATA_SETS:
        read_data(folder, name)  # fail early if a file is missing
    os.environ |= dict.fromkeys(THREADS, "1")
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = {
            job: pool.submit(run_split, folder, job[0], seed, job[1], variants) for job in jobs
        }
        try:
            for (name, repetition), future in futures.items():
                yield name, repetition, future.result()
        finally:
            pool.shutdown(cancel_futures=True)  # do not wait for the rest after an error
