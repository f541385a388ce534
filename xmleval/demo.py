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

N_TRAIN, N_VALID, N_TEST, N_LABELS, DEPTH = 2000, 1000, 1000, 1500, 20
N_RELEVANT = 5  # labels of a row in `make_lists`
MEASURES = ("xmc", "hit@5", "mrr@5", "f1.macro@5", "label_coverage@5")
# Weight of a label's training frequency, and of its relevance, in the scores of each model
WEIGHTS = {"head": (0.8, 6.0), "tail": (-0.3, 7.0)}

TopLists = tuple[NDArray[np.int32], NDArray[np.float32]]  # labels and scores of each row


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
    """Draw top-k lists, and relevant labels that are rather among the first ones of a list.

    Slot i of a row draws from the labels that leave i when divided by the number of slots, so that no label
    is drawn twice; the slots behind the list hold labels that it misses.
    """
    rng, slots = np.random.default_rng(0), k + N_RELEVANT
    drawn = ((n_labels // slots) ** rng.random((n_rows, slots))).astype(np.int32) - 1  # by a power law
    labels = rng.permuted(drawn * slots + np.arange(slots, dtype=np.int32), axis=1)
    early = np.argsort(rng.random((n_rows, slots)) * np.arange(1, slots + 1), axis=1)[:, :N_RELEVANT]
    relevant = np.sort(np.take_along_axis(labels, early, axis=1), axis=1).ravel()
    rows = np.arange(n_rows + 1, dtype=np.int32) * N_RELEVANT
    y_true = scipy.sparse.csr_array((np.ones(relevant.size, np.float32), relevant, rows), (n_rows, n_labels))
    scores = np.sort(rng.random((n_rows, k), np.float32), axis=1)[:, ::-1]
    return y_true, (np.ascontiguousarray(labels[:, :k]), np.ascontiguousarray(scores))


def evaluate_demo(demo: Demo) -> dict[str, Report]:
    """Evaluate both models with propensities from the training labels."""
    q = inverse_propensity(demo.y_train)
    return {
        name: evaluate(demo.y_test, ranked, metrics=MEASURES, inverse_propensity=q)
        for name, ranked in demo.models.items()
    }


def save_demo(demo: Demo, folder: Path) -> list[Path]:
    """Write the demo to files, each of them atomically, and return these.

    ValueError is raised where the folder has other files than an earlier demo.
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
        # a tree: labels from 10 on are below the tenth of their number
        "hierarchy.tsv": lambda file: file.writelines(
            b"%d\t%d\n" % (n, n // 10) for n in range(10, N_LABELS)
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in writers)
    if strangers:
        raise ValueError(
            f"{folder}: holds {strangers[0]!r}; expected a new folder, or that of an earlier demo"
        )
    for file_name, write in writers.items():
        with replacing(folder / file_name) as file:
            write(file)
    return [folder / file_name for file_name in writers]


def _documents(demo: Demo) -> str:
    """Return test instances with their labels as tags, and the first three of a model as predicted ones."""
    lines, truth = ["id,tags,predicted\n"], demo.y_test
    for row, listed in enumerate(demo.models["head"][0][:, :3].tolist()):
        relevant = truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist()
        cells = [";".join(f"tag{label}" for label in labels) for labels in (relevant, listed)]
        lines.append(f"doc{row},{','.join(cells)}\n")
    return "".join(lines)


def _draw_labels(rng: np.random.Generator, n_rows: int, log_frequency: Floats) -> scipy.sparse.csr_array:
    """Draw distinct labels for every row: those of largest log frequency plus Gumbel noise."""
    sizes = 1 + rng.poisson(2.0, n_rows)
    order = np.argsort(-(log_frequency + rng.gumbel(size=(n_rows, log_frequency.size))), axis=1)
    chosen = np.arange(log_frequency.size) < sizes[:, None]
    rows = np.repeat(np.arange(n_rows), sizes)
    ones = np.ones(rows.size, np.float32)
    return scipy.sparse.csr_array((ones, (rows, order[chosen])), shape=(n_rows, log_frequency.size))


def _predict(rng: np.random.Generator, truth: scipy.sparse.csr_array, prior: Floats) -> dict[str, TopLists]:
    """Return the top-k lists of both models: weighted sums of relevance and frequency, plus noise."""
    relevant, models = truth.toarray(), {}
    for name, (bias, signal) in WEIGHTS.items():
        scores = signal * relevant + bias * prior + rng.gumbel(size=relevant.shape)
        labels = np.argsort(-scores, axis=1)[:, :DEPTH]
        top = np.take_along_axis(scores, labels, axis=1)
        models[name] = labels.astype(np.int32), top.astype(np.float32)
    return models
