"""A small generated data set with predictions of two different models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from xmleval.api.evaluate import evaluate
from xmleval.base.arrays import Floats
from xmleval.files.output import replacing
from xmleval.labels.propensity import inverse_propensity
from xmleval.results.report import Report

N_TRAIN = 2000
N_VALID = 1000
N_TEST = 1000
N_LABELS = 1500
DEPTH = 20
N_RELEVANT = 5  # labels of a row in `make_lists`
MEASURES = ("xmc", "hit@5", "mrr@5", "f1.macro@5", "label_coverage@5")
# weights of a label's training frequency, and of its relevance, in the scores of a model
WEIGHTS = {"head": (0.8, 6.0), "tail": (-0.3, 7.0)}

TopLists = tuple[NDArray[np.int32], NDArray[np.float32]]  # labels and scores of every row


class Demo(NamedTuple):
    """Labels of training, test and validation instances, and top-k lists of two models."""

    y_train: scipy.sparse.csr_array
    y_test: scipy.sparse.csr_array
    models: dict[str, TopLists]
    y_valid: scipy.sparse.csr_array
    models_valid: dict[str, TopLists]


def make_demo(seed: int = 0) -> Demo:
    """Draw labels by a power law, and predictions of a model for the head and one for the tail.

    Examples
    --------
    >>> make_demo().y_test.shape
    (1000, 1500)
    """
    rng = np.random.default_rng(seed)
    log_frequency = -np.log(np.arange(1.0, N_LABELS + 1))
    rng.shuffle(log_frequency)
    y_train = _draw_labels(rng, N_TRAIN, log_frequency)
    y_test = _draw_labels(rng, N_TEST, log_frequency)
    prior = np.log1p(np.bincount(y_train.indices, minlength=N_LABELS))
    models = _predict(rng, y_test, prior)
    y_valid = _draw_labels(rng, N_VALID, log_frequency)
    return Demo(y_train, y_test, models, y_valid, _predict(rng, y_valid, prior))


def make_lists(n_rows: int, n_labels: int, k: int) -> tuple[scipy.sparse.csr_array, TopLists]:
    """Draw top-k lists, and relevant labels that tend to be early in a list.

    Slot i of a row draws from the labels with remainder i when divided by the number of slots, so
    that no label is drawn twice; the slots after the list are relevant labels that it misses.
    """
    rng = np.random.default_rng(0)
    n_slots = k + N_RELEVANT
    quotients = _draw_power_law(rng, n_labels // n_slots, (n_rows, n_slots))
    labels = rng.permuted(quotients * n_slots + np.arange(n_slots, dtype=np.int32), axis=1)
    relevant_slots = _draw_early_slots(rng, (n_rows, n_slots))[:, :N_RELEVANT]
    relevant = np.take_along_axis(labels, relevant_slots, axis=1)
    relevant = np.sort(relevant, axis=1).ravel()
    ptr = np.arange(n_rows + 1, dtype=np.int32) * N_RELEVANT
    ones = np.ones(relevant.size, np.float32)
    y_true = scipy.sparse.csr_array((ones, relevant, ptr), (n_rows, n_labels))
    scores = np.sort(rng.random((n_rows, k), np.float32), axis=1)[:, ::-1]
    return y_true, (np.ascontiguousarray(labels[:, :k]), np.ascontiguousarray(scores))


def _draw_power_law(rng: np.random.Generator, n: int, shape: tuple[int, int]) -> NDArray[np.int32]:
    """Draw numbers from 0 to below n - 1, low ones most often."""
    return (n ** rng.random(shape)).astype(np.int32) - 1


def _draw_early_slots(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.intp]:
    """Return the slots of every row in random order, with early ones rather first."""
    _, n_slots = shape
    return np.argsort(rng.random(shape) * np.arange(1, n_slots + 1), axis=1)


def evaluate_demo(demo: Demo) -> dict[str, Report]:
    """Evaluate both models with propensities from the training labels."""
    q = inverse_propensity(demo.y_train)
    return {
        name: evaluate(demo.y_test, lists, metrics=MEASURES, inverse_propensity=q)
        for name, lists in demo.models.items()
    }


def save_demo(demo: Demo, folder: Path) -> list[Path]:
    """Write the demo to files, every file atomically, and return their paths.

    ValueError is raised if the folder has other files than those of an earlier demo.
    """
    lists = {}
    for models, end in ((demo.models_valid, "_valid"), (demo.models, "")):
        for name, (labels, scores) in models.items():
            lists[f"model_{name}{end}_indices.npy"] = partial(np.save, arr=labels)
            lists[f"model_{name}{end}_scores.npy"] = partial(np.save, arr=scores)
    writers: dict[str, Callable[[IO[bytes]], object]] = {
        "Y_train.npz": partial(scipy.sparse.save_npz, matrix=demo.y_train),
        "Y_valid.npz": partial(scipy.sparse.save_npz, matrix=demo.y_valid),
        "Y_test.npz": partial(scipy.sparse.save_npz, matrix=demo.y_test),
        **lists,
        "docs.csv": lambda file: file.write(_documents(demo).encode()),
        # a tree: the parent of a label from 10 on is a tenth of its number
        "hierarchy.tsv": lambda file: file.writelines(
            b"%d\t%d\n" % (label, label // 10) for label in range(10, N_LABELS)
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    unknown = sorted(path.name for path in folder.iterdir() if path.name not in writers)
    if unknown:
        raise ValueError(
            f"{folder}: contains {unknown[0]!r}; give a new folder or that of an earlier demo"
        )
    for file_name, write in writers.items():
        with replacing(folder / file_name) as file:
            write(file)
    return [folder / file_name for file_name in writers]


def _documents(demo: Demo) -> str:
    """Return a CSV of test instances with their labels as tags, and three predicted ones."""
    lines = ["id,tags,predicted\n"]
    truth = demo.y_test
    labels, _ = demo.models["head"]
    for row, predicted in enumerate(labels[:, :3].tolist()):
        relevant = truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist()
        lines.append(f"doc{row},{_join_tags(relevant)},{_join_tags(predicted)}\n")
    return "".join(lines)


def _join_tags(labels: list[int]) -> str:
    return ";".join(f"tag{label}" for label in labels)


def _draw_labels(
    rng: np.random.Generator, n_rows: int, log_frequency: Floats
) -> scipy.sparse.csr_array:
    """Draw distinct labels for every row: the largest of log frequency plus Gumbel noise."""
    shape = (n_rows, log_frequency.size)
    sizes = 1 + rng.poisson(2.0, n_rows)
    order = np.argsort(-(log_frequency + rng.gumbel(size=shape)), axis=1)
    is_drawn = np.arange(log_frequency.size) < sizes[:, None]
    rows = np.repeat(np.arange(n_rows), sizes)
    ones = np.ones(rows.size, np.float32)
    return scipy.sparse.csr_array((ones, (rows, order[is_drawn])), shape=shape)


def _predict(
    rng: np.random.Generator, truth: scipy.sparse.csr_array, prior: Floats
) -> dict[str, TopLists]:
    """Return top-k lists of both models, by weighted relevance and frequency plus noise."""
    relevant = truth.toarray()
    models = {}
    for name, (bias, signal) in WEIGHTS.items():
        scores = signal * relevant + bias * prior + rng.gumbel(size=relevant.shape)
        labels = np.argsort(-scores, axis=1)[:, :DEPTH]
        top = np.take_along_axis(scores, labels, axis=1)
        models[name] = labels.astype(np.int32), top.astype(np.float32)
    return models
