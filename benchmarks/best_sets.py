"""Compare decision rules for macro F1 at k with those of xCOLUMNs: python -m benchmarks.best_sets FOLDER.

FOLDER holds data sets as `benchmarks.real_models` reads them. Half of the test rows are for fitting, the
other half for evaluation, five times. Needs `pip install xcolumns autograd` for its columns:

* "top k": the k highest scores
* "weighted": `xmleval.thresholds.fit(..., "f1.macro@k")` on the first half
* "FW": xCOLUMNs' Frank-Wolfe classifier on the first half
* "BCA": xCOLUMNs' block coordinate ascent, over the rows to evaluate, without their truth
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import xmleval
from xmleval.thresholds import fit

SPLITS = 5
MODELS = "lr", "svm", "pecos", "omikuji", "napkinxc_plt", "knn10"
NAMES = ("top k", "weighted", "FW", "BCA")


def scores_of(folder: Path, model: str) -> Any:
    """Return the scores of a model as CSR, None if there are none."""
    sparse, dense = folder / f"scores_{model}.npz", folder / f"dense_{model}.npz"
    if sparse.exists():
        return sp.csr_matrix(sp.load_npz(sparse), dtype=np.float32)
    if dense.exists():
        return sp.csr_matrix(np.load(dense)["scores"], dtype=np.float32)
    return None


def peers(k: int) -> dict[str, Callable[..., Any]]:
    """Return xCOLUMNs' two ways, by name, none if it is not installed."""
    try:
        from xcolumns import block_coordinate, frank_wolfe
        from xcolumns.metrics import macro_f1_score_on_conf_matrix
    except ImportError:
        return {}

    def weighted(y_true: Any, scores: Any, others: Any) -> Any:
        found = frank_wolfe.find_classifier_using_fw(
            y_true.toarray().astype(np.float32), scores.toarray(), macro_f1_score_on_conf_matrix, k, seed=0
        )
        return frank_wolfe.predict_using_randomized_weighted_classifier(
            others.toarray(), k, found.a, found.b, found.p, seed=0
        )

    def ascent(y_true: Any, scores: Any, others: Any) -> Any:
        return block_coordinate.predict_optimizing_macro_f1_score_using_bc(others, k=k, seed=0)

    return {"FW": weighted, "BCA": ascent}


def row(folder: Path, model: str, k: int) -> str | None:
    """Return a line of the table: means over splits of macro F1 of sets, and seconds."""
    scores = scores_of(folder, model)
    if scores is None or scores.data.min() < 0:  # xCOLUMNs takes probabilities
        return None
    truth = sp.csr_matrix(sp.load_npz(folder / "Y_test.npz"), dtype=np.int8)
    values: dict[str, list[float]] = {name: [] for name in NAMES}
    seconds = dict.fromkeys(NAMES, 0.0)
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(truth.shape[0])
        known, held = order[: truth.shape[0] // 2], order[truth.shape[0] // 2 :]
        ways: dict[str, Callable[..., Any]] = {
            "top k": lambda y, s, t: fit(y, s, rule="top", k=k).apply(t),
            "weighted": lambda y, s, t: fit(y, s, f"f1.macro@{k}").apply(t),
            **peers(k),
        }
        for name, way in ways.items():
            start = time.process_time()
            sets = sp.csr_matrix(way(truth[known], scores[known], scores[held])) != 0
            seconds[name] += (time.process_time() - start) / SPLITS
            values[name].append(xmleval.evaluate(truth[held], y_pred=sets, metrics="f1.macro")["f1.macro"])
    shown = [f"{np.mean(values[n]):.4f} ({seconds[n]:.2f} s)" if values[n] else "" for n in NAMES]
    return f"| {folder.name} | {model} | {k} | {' | '.join(shown)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data-sets", nargs="+", default=["bibtex", "corel5k", "enron", "medical"])
    parser.add_argument("--k", type=int, default=3)
    given = parser.parse_args()
    print(f"| data set | model | k | {' | '.join(NAMES)} |\n|---|---|---|{'---|' * len(NAMES)}")
    for name in given.data_sets:
        for model in MODELS:
            line = row(given.folder / name, model, given.k)
            if line:
                print(line, flush=True)


if __name__ == "__main__":
    main()
