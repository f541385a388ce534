"""A small generated data set with predictions of two different models."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

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
DOCUMENTS, HIERARCHY = "docs.csv", "hierarchy.tsv"
MEASURES = ("xmc", "hit@5", "mrr@5", "f1.macro@5", "label_coverage@5")
# Weight of a label's training frequency, and of its relevance, in the scores of each model
BIAS = {"head": 0.8, "tail": -0.3}
SIGNAL = {"head": 6.0, "tail": 7.0}


Lists = dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]]


class Demo(NamedTuple):
    """Labels of training, test and validation instances, and top-k lists of two models."""

    y_train: scipy.sparse.csr_array
    y_test: scipy.sparse.csr_array
    models: Lists
    y_valid: scipy.sparse.csr_array
    models_valid: Lists


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


def make_lists(
    n_rows: int, n_labels: int, k: int
) -> tuple[scipy.sparse.csr_array, tuple[NDArray[np.int32], NDArray[np.float32]]]:
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
    arrays: dict[str, NDArray[np.int32] | NDArray[np.float32]] = {}
    for models, end in ((demo.models_valid, "_valid"), (demo.models, "")):
        for name, (labels, scores) in models.items():
            arrays[f"model_{name}{end}_indices.npy"] = labels
            arrays[f"model_{name}{end}_scores.npy"] = scores
    matrices = {"Y_train.npz": demo.y_train, "Y_valid.npz": demo.y_valid, "Y_test.npz": demo.y_test}
    expected = {*arrays, *matrices, DOCUMENTS, HIERARCHY}
    folder.mkdir(parents=True, exist_ok=True)
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in expected)
    if strangers:
        raise ValueError(
            f"{folder}: holds {strangers[0]!r}; expected a new folder, or that of an earlier demo"
        )
    for file_name, matrix in matrices.items():
        with replacing(folder / file_name) as file:
            scipy.sparse.save_npz(file, matrix)
    for file_name, array in arrays.items():
        with replacing(folder / file_name) as file:
            np.save(file, array)
    for file_name, text in ((DOCUMENTS, _documents(demo)), (HIERARCHY, _hierarchy())):
        with replacing(folder / file_name) as file:
            file.write(text.encode())
    return [folder / file_name for file_name in (*matrices, *arrays, DOCUMENTS, HIERARCHY)]


def _hierarchy() -> str:
    """Return children and parents of a tree: labels from 10 on are below the tenth of their number."""
    return "".join(f"{label}\t{label // 10}\n" for label in range(10, N_LABELS))


def _documents(demo: Demo) -> str:
    """Return test instances with their labels as tags, and the first three of a model as predicted ones."""
    truth, predicted = demo.y_test, demo.models["head"][0][:, :3].tolist()
    lines = ["id,tags,predicted"]
    for row, listed in enumerate(predicted):
        relevant = truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist()
        cells = (";".join(f"tag{label}" for label in labels) for labels in (relevant, listed))
        lines.append(f"doc{row},{','.join(cells)}")
    return "\n".join([*lines, ""])


def _draw_labels(rng: np.random.Generator, n_rows: int, log_frequency: Floats) -> scipy.sparse.csr_array:
    """Draw distinct labels for every row: those of largest log frequency plus Gumbel noise."""
    sizes = 1 + rng.poisson(2.0, n_rows)
    order = np.argsort(-(log_frequency + rng.gumbel(size=(n_rows, log_frequency.size))), axis=1)
    chosen = np.arange(log_frequency.size) < sizes[:, None]
    rows = np.repeat(np.arange(n_rows), sizes)
    ones = np.ones(rows.size, np.float32)
    return scipy.sparse.csr_array((ones, (rows, order[chosen])), shape=(n_rows, log_frequency.size))


def _predict(rng: np.random.Generator, truth: scipy.sparse.csr_array, prior: Floats) -> Lists:
    """Return the top-k lists of both models: weighted sums of relevance and frequency, plus noise."""
    relevant = truth.toarray()
    models = {}
    for name, bias in BIAS.items():
        noise = rng.gumbel(size=relevant.shape)
        models[name] = _top(SIGNAL[name] * relevant + bias * prior + noise)
    return models


def _top(scores: Floats) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the labels and scores of the first `DEPTH` ranks."""
    labels = np.argsort(-scores, axis=1)[:, :DEPTH]
    return labels.astype(np.int32), np.take_along_axis(scores, labels, axis=1).astype(np.float32)
